//! What a walk leaves out by files of rules, which the sandbox writes: `.git`, what they match, and each directory whose rules are no regular file
//! or too long.
//!
//! Owns the reading of these files, of one descriptor each: without following a link, waiting for a pipe, or reading without end, whatever a
//! process of the sandbox puts there meanwhile. So the walk itself must read none. Tests: below, `tests/survey.rs` and `runner/tests/tools.rs`.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, Match};
use nix::fcntl::OFlag;

/// Files of rules that a walk may read. The later one prevails.
pub const RULES: [&str; 2] = [".gitignore", ".ignore"];
/// Longest file of rules that a walk reads, in bytes.
pub const LONGEST_RULES: u64 = 256 << 10;
/// Longest rule that counts, in bytes: each level of nested alternatives takes stack while a rule is read.
const LONGEST_RULE: usize = 1000;
/// The most `{` of a rule that counts: one that nests more deeply than a regular expression may would take all rules of its file with it.
const MOST_BRACES: usize = 50;

/// A file of rules that must not be read: it is no regular file, or longer than a walk reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OddRules;

/// Opens what lies at this path for reading, and returns it if it is a regular file. Follows no link at the path's end, and waits for no pipe.
///
/// # Errors
/// Where it cannot be opened, as a link cannot.
pub fn open_regular(path: &Path) -> io::Result<Option<File>> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    Ok(file.metadata()?.is_file().then_some(file))
}

/// The rules in a directory's file of this name; none where there is no such file, or a link or directory in its place, as for git.
///
/// # Errors
/// [`OddRules`].
pub fn rules_in(directory: &Path, name: &str) -> Result<Option<Gitignore>, OddRules> {
    let path = directory.join(name);
    // What cannot be opened holds nobody up.
    let Ok(opened) = open_regular(&path) else { return Ok(None) };
    let Some(file) = opened else { return if path.is_dir() { Ok(None) } else { Err(OddRules) } };
    let mut bytes = Vec::new();
    if file.take(LONGEST_RULES + 1).read_to_end(&mut bytes).is_err() {
        return Ok(None);
    }
    if bytes.len() as u64 > LONGEST_RULES {
        return Err(OddRules);
    }
    let mut builder = GitignoreBuilder::new(directory);
    let text = String::from_utf8_lossy(&bytes);
    let counts = |line: &&str| line.len() <= LONGEST_RULE && line.matches('{').count() <= MOST_BRACES;
    for line in text.trim_start_matches('\u{feff}').lines().filter(counts) {
        // A line that is too long, has too many alternatives or can't be parsed matches nothing.
        let _ = builder.add_line(None, line);
    }
    Ok(builder.build().ok())
}

/// A directory of the walk, and its rules in the order of the names.
struct Folder {
    at: PathBuf,
    rules: Vec<Option<Gitignore>>,
}

/// The rules of a walk that goes depth first.
pub struct Rules {
    names: Vec<&'static str>,
    /// From the outermost to where the walk is.
    folders: Mutex<Vec<Folder>>,
}

impl Rules {
    /// Those of a walk from this directory or file, with the rules of all directories above if `above`. None if it would have to read odd ones there.
    pub fn of_walk(start: &Path, names: &[&'static str], above: bool) -> Option<Self> {
        let mut folders = Vec::new();
        for at in start.ancestors().take(if above { usize::MAX } else { 1 }) {
            folders.push(folder(at, names).ok()?);
        }
        folders.reverse();
        Some(Self { names: names.to_vec(), folders: Mutex::new(folders) })
    }

    /// Whether the walk takes this entry. To be asked about each but its start, in the walk's order.
    pub fn takes(&self, entry: &DirEntry) -> bool {
        if entry.file_name() == ".git" {
            return false;
        }
        let (path, is_directory) = (entry.path(), entry.file_type().is_some_and(|kind| kind.is_dir()));
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        while folders.last().is_some_and(|folder| path.parent() != Some(folder.at.as_path())) {
            folders.pop();
        }
        if ignores(&folders, self.names.len(), path, is_directory) {
            return false;
        }
        if is_directory {
            let Ok(here) = folder(path, &self.names) else { return false };
            folders.push(here);
        }
        true
    }
}

fn folder(at: &Path, names: &[&str]) -> Result<Folder, OddRules> {
    let rules = names.iter().map(|name| rules_in(at, name)).collect::<Result<_, _>>()?;
    Ok(Folder { at: at.to_owned(), rules })
}

/// Whether these directories' rules leave a path out: the last name with a rule for it decides, and of one name the nearest directory.
fn ignores(folders: &[Folder], names: usize, path: &Path, is_directory: bool) -> bool {
    for number in (0..names).rev() {
        let files = folders.iter().rev().filter_map(|folder| folder.rules.get(number)?.as_ref());
        for file in files {
            match file.matched(path, is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use ignore::WalkBuilder;
    use std::os::unix::fs::symlink;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn pipe(path: &Path) {
        nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    }

    fn walked(root: &Path, start: &Path, names: &[&'static str], above: bool) -> Vec<String> {
        let rules = Rules::of_walk(start, names, above).expect("rules that can be read");
        let mut builder = WalkBuilder::new(start);
        builder.standard_filters(false).sort_by_file_name(std::ffi::OsStr::cmp);
        let walk = builder.filter_entry(move |entry| rules.takes(entry)).build();
        let files = walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        files.map(|entry| entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn the_nearest_rule_decides_and_the_later_name_before_the_earlier() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        write(root, ".gitignore", "\u{feff}*.log\n/made/\n");
        write(root, ".ignore", "*.tmp\n!kept.log\n");
        write(root, "a/.gitignore", "!own.log\nonly.txt\n");
        for path in
            ["made/x", "a/made/x", "a/own.log", "a/other.log", "a/only.txt", "b/only.txt", "b/x.tmp", "kept.log"]
        {
            write(root, path, "");
        }
        let all = walked(root, root, &RULES, false);
        let left = [".gitignore", ".ignore", "a/.gitignore", "a/made/x", "a/own.log", "b/only.txt", "kept.log"];
        assert_eq!(all, left);
        assert_eq!(walked(root, &root.join("a"), &RULES, true), ["a/.gitignore", "a/made/x", "a/own.log"]);
        let alone = walked(root, &root.join("b"), &RULES, false);
        assert_eq!(alone, ["b/only.txt", "b/x.tmp"], "without what stands above");
        assert!(walked(root, root, &RULES[..1], false).contains(&"b/x.tmp".to_owned()));
    }

    #[test]
    fn neither_a_pipe_nor_a_link_to_one_nor_rules_without_end_are_waited_for_or_read() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for folder in ["long", "piped", "linked", "plain"] {
            write(root, &format!("{folder}/x"), "");
        }
        pipe(&root.join("piped/.gitignore"));
        symlink(root.join("piped/.gitignore"), root.join("linked/.gitignore")).unwrap();
        File::create(root.join("long/.gitignore")).unwrap().set_len(LONGEST_RULES + 1).unwrap();
        std::fs::create_dir(root.join("plain/.gitignore")).unwrap();
        assert_eq!(walked(root, root, &RULES, false), ["linked/x", "plain/x"]);
        assert!(Rules::of_walk(&root.join("piped"), &RULES, false).is_none());
        assert_eq!(rules_in(&root.join("long"), ".gitignore").map(|rules| rules.is_some()), Err(OddRules));
        assert!(matches!(rules_in(&root.join("linked"), ".gitignore"), Ok(None)));
    }

    #[test]
    fn a_rule_that_nests_without_end_takes_no_stack_and_matches_nothing() {
        let dir = tempfile::tempdir().unwrap();
        for levels in [400, 100_000] {
            let nested = format!("{}a{}", "{".repeat(levels), "}".repeat(levels));
            write(dir.path(), ".gitignore", &format!("*.log\n{nested}\n/made/\n"));
            for (path, kept) in [("a", true), ("x.log", false), ("made/x", false)] {
                write(dir.path(), path, "");
                let all = walked(dir.path(), dir.path(), &RULES, false);
                assert_eq!(all.contains(&path.to_owned()), kept, "{levels}: {path}");
            }
        }
    }

    #[test]
    fn what_is_no_regular_file_when_it_is_open_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        pipe(&at("pipe"));
        write(dir.path(), "file", "x");
        symlink(at("file"), at("link")).unwrap();
        assert!(open_regular(&at("pipe")).unwrap().is_none());
        assert!(open_regular(dir.path()).unwrap().is_none());
        assert!(open_regular(&at("file")).unwrap().is_some());
        assert!(open_regular(&at("link")).is_err() && open_regular(&at("none")).is_err());
    }
}
