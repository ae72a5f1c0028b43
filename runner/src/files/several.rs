//! Several files written at once: all of them, or the tree stays as it was.
//!
//! Problems that cannot be known beforehand (a full disk, a directory in place of a file) show while the first files are written; those
//! then get their old content back or are deleted. A file that may only be made is refused before that, and by the rename itself if
//! something came there meanwhile.

use std::path::{Path, PathBuf};

use nix::unistd::{UnlinkatFlags, unlinkat};

use super::shown::show;
use super::write::{is_there, make, only_to_be_made, replace};
use super::{FileError, FileResult, Scope, read};
use crate::written::Written;

/// `create`: those of the paths that may only be made.
pub fn write_files(scope: &Scope<'_>, files: &[(String, String)], create: &[String]) -> Result<FileResult, FileError> {
    let mut places = Vec::new();
    for (path, _) in files {
        let relative = scope.workspace.relative(path)?;
        if places.contains(&relative) {
            return FileError::sentence(format!("{} is named twice; nothing was written", show(&relative)));
        }
        places.push(relative);
    }
    let may_only_be_made = |at: &usize| create.contains(&files[*at].0);
    let mut only_new: Vec<usize> = (0..files.len()).filter(may_only_be_made).collect();
    // One that holds just that was made by a write whose end was not heard.
    only_new
        .retain(|at| !matches!(read::content(scope, &places[*at]), Ok(Some(text)) if text == files[*at].1.as_bytes()));
    none_there(scope, only_new.iter().map(|at| &places[*at]))?;
    let before: Vec<Option<Vec<u8>>> =
        places.iter().map(|place| read::content(scope, place)).collect::<Result<_, _>>()?;
    let mut said = Vec::new();
    for (at, (place, (_, text))) in places.iter().zip(files).enumerate() {
        let done = match only_new.contains(&at) {
            true => make(scope, place, text.as_bytes()).map(|()| false),
            false => replace(scope, place, text.as_bytes(), true),
        };
        match done {
            Ok(existed) => {
                let what = if existed { "replaced" } else { "made" };
                said.push(format!("{what} {}: {} lines", show(place), text.lines().count()));
            }
            Err(error) => return Err(taken_back(scope, &places[..at], &before, error)),
        }
    }
    let all = places.iter().zip(before).zip(files);
    let written = all.filter_map(|((place, before), (_, text))| Written::new(show(place), before, text)).collect();
    Ok(FileResult { text: said.join("\n"), written, picture: None })
}

/// An error that names what is there of these.
fn none_there<'a>(scope: &Scope<'_>, places: impl Iterator<Item = &'a PathBuf>) -> Result<(), FileError> {
    let mut there = Vec::new();
    for place in places {
        if is_there(scope, place)? {
            there.push(show(place));
        }
    }
    match there.is_empty() {
        true => Ok(()),
        false => FileError::sentence(format!("{}; nothing was written", only_to_be_made(&there))),
    }
}

fn remove(scope: &Scope<'_>, place: &Path) -> Result<(), FileError> {
    let parent = scope.workspace.open_parent(place, false)?;
    let gone = unlinkat(&parent, place.file_name().unwrap_or_default(), UnlinkatFlags::NoRemoveDir);
    gone.map_err(|error| scope.workspace.explain(place, error.into()))
}

fn taken_back(scope: &Scope<'_>, written: &[PathBuf], before: &[Option<Vec<u8>>], error: FileError) -> FileError {
    let mut stuck = Vec::new();
    for (place, old) in written.iter().zip(before) {
        let back = match old {
            Some(bytes) => replace(scope, place, bytes, false).map(drop),
            None => remove(scope, place),
        };
        if back.is_err() {
            stuck.push(show(place));
        }
    }
    let rest = match stuck.is_empty() {
        true => "nothing was written".to_owned(),
        false => format!("these could not be brought back: {}", stuck.join(", ")),
    };
    match error {
        FileError::Sentence(why) | FileError::Near { sentence: why, .. } => {
            FileError::Sentence(format!("{why}; {rest}"))
        }
        FileError::Io { what, error } => FileError::Io { what: format!("{what} ({rest})"), error },
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tokio_util::sync::CancellationToken;

    use super::super::Workspace;
    use super::*;

    fn files(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn all_are_written_or_none() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("a.py"), "old").expect("a file");
        fs::create_dir(dir.path().join("taken")).expect("a directory");
        let workspace = Workspace::open(dir.path()).expect("a workspace");
        let stop = CancellationToken::new();
        let scope = Scope { workspace: &workspace, cap: 1000, stop: &stop };
        let said = write_files(&scope, &files(&[("a.py", "one\n"), ("new/b.py", "two\n")]), &[]).expect("written");
        assert_eq!(said.text, "replaced a.py: 1 lines\nmade new/b.py: 1 lines");
        let looked: Vec<_> = said.written.iter().map(|file| (file.path.as_str(), file.before.as_deref())).collect();
        assert_eq!(looked, [("a.py", Some("old")), ("new/b.py", None)]);
        for (bad, word) in [
            (files(&[("a.py", "three"), ("c.py", "three"), ("taken", "three")]), "taken is a directory; nothing was"),
            (files(&[("x", "1"), ("./x", "2")]), "x is named twice"),
            (files(&[("a.py", "4"), ("../out", "4")]), "outside"),
        ] {
            let why = write_files(&scope, &bad, &[]).expect_err("refused").to_string();
            assert!(why.contains(word), "{why}");
        }
        let late = files(&[("a.py", "5"), ("made.py", "5"), ("taken", "5")]);
        let why = write_files(&scope, &late, &["made.py".to_owned()]).expect_err("refused").to_string();
        assert!(why.contains("nothing was") && !dir.path().join("made.py").exists(), "{why}");
        let again = write_files(&scope, &files(&[("a.py", "one\n")]), &["a.py".to_owned()]).expect("done before");
        assert_eq!(again.text, "replaced a.py: 1 lines", "it holds just that");
        let there = make(&scope, Path::new("a.py"), b"6").expect_err("there").to_string();
        assert_eq!(there, "a.py is there already and may only be made new");
        assert_eq!(fs::read_to_string(dir.path().join("a.py")).expect("a.py"), "one\n");
        let mut left = fs::read_dir(dir.path()).expect("a directory").map(|one| one.expect("an entry").file_name());
        assert!(left.all(|name| !name.to_string_lossy().ends_with(".tmp")));
        assert!(!dir.path().join("c.py").exists() && !dir.path().join("x").exists());
    }
}
