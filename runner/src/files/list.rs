//! Listing of files, and where a listing or a search begins.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet};
use ignore::{DirEntry, Walk};
use locate::LONGEST_RULES;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;

use super::shown::show;
use super::walker::walker;
use super::{FileError, Scope};

/// Entries that are shown.
const SHOWN: usize = 2000;
/// Longest glob, in bytes: each level of nested alternatives takes stack of PID 1 while a glob is read.
const LONGEST_GLOB: usize = 1000;

/// The directory (or file) to begin at, and a walk from it; `depth` 0 is unlimited.
pub fn walk(scope: &Scope<'_>, path: &str, depth: u32) -> Result<(PathBuf, Walk), FileError> {
    let relative = scope.workspace.relative(path)?;
    // Opening it checks that it is inside the workspace; the walk itself follows no link.
    scope
        .workspace
        .open_at(&relative, OFlag::O_PATH, Mode::empty())
        .map_err(|error| scope.workspace.explain(&relative, error))?;
    let start = scope.workspace.root().join(&relative);
    let start = start.canonicalize().map_err(FileError::io(show(&relative)))?;
    let Ok(inside) = start.strip_prefix(scope.workspace.root()) else {
        return FileError::sentence(format!("{} leads out of the workspace", show(&relative)));
    };
    let inside = inside.to_owned();
    let stop = scope.stop.clone();
    let Some(mut builder) = walker(&start, scope.workspace.has_rules(), move || stop.is_cancelled()) else {
        return FileError::sentence(format!(
            "a .gitignore or .ignore here is no regular file or longer than {} KiB: mend it with bash first",
            LONGEST_RULES >> 10
        ));
    };
    builder.max_depth(if depth == 0 { None } else { usize::try_from(depth).ok() });
    builder.sort_by_file_name(std::ffi::OsStr::cmp);
    Ok((inside, builder.build()))
}

/// A glob over paths below the start, or over names alone if it has no slash. Where the start is a file, over its path in the workspace.
pub struct Filter {
    glob: Option<(GlobSet, bool)>,
}

impl Filter {
    pub fn new(glob: Option<&str>) -> Result<Self, FileError> {
        let Some(text) = glob.filter(|text| !text.is_empty()) else { return Ok(Self { glob: None }) };
        if text.len() > LONGEST_GLOB {
            return FileError::sentence(format!("the glob is longer than {LONGEST_GLOB} bytes"));
        }
        // As a set, because a single matcher panics where alternatives nest too deeply, and that ends PID 1.
        let built = GlobBuilder::new(text).literal_separator(true).build().and_then(|glob| GlobSet::new([glob]));
        let set = built.map_err(|error| FileError::Sentence(format!("the glob {text} is malformed: {error}")))?;
        Ok(Self { glob: Some((set, text.contains('/'))) })
    }

    /// Whether it accepts an entry of the walk from `start`; both paths are relative to the workspace.
    pub fn accepts(&self, entry: &DirEntry, start: &Path, inside: &Path) -> bool {
        match &self.glob {
            None => true,
            Some((glob, true)) if entry.depth() == 0 => glob.is_match(inside),
            Some((glob, true)) => glob.is_match(inside.strip_prefix(start).unwrap_or(inside)),
            Some((glob, false)) => inside.file_name().is_some_and(|name| glob.is_match(name)),
        }
    }
}

pub fn list_files(scope: &Scope<'_>, path: &str, glob: Option<&str>, depth: u32) -> Result<String, FileError> {
    let filter = Filter::new(glob)?;
    let (start, walk) = walk(scope, path, depth)?;
    let (mut out, mut shown, mut left) = (String::new(), 0_usize, 0_usize);
    for entry in walk.flatten() {
        if scope.stop.is_cancelled() {
            break;
        }
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        let inside = entry.path().strip_prefix(scope.workspace.root()).unwrap_or(entry.path());
        if entry.depth() == 0 && is_dir || !filter.accepts(&entry, &start, inside) || (is_dir && glob.is_some()) {
            continue;
        }
        if shown >= SHOWN || out.len() > scope.cap.saturating_sub(500) {
            left += 1;
            continue;
        }
        shown += 1;
        out.push_str(&inside.to_string_lossy());
        out.push_str(if is_dir { "/\n" } else { "\n" });
    }
    if shown == 0 {
        let what = glob.map_or(String::new(), |glob| format!(" that match {glob}"));
        return Ok(format!("[no files{what} in {}; what .gitignore names is left out]", show(&start)));
    }
    if left > 0 {
        out.push_str(&format!("[{left} more; name a directory, a glob or a smaller depth]"));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_that_nests_too_deeply_is_refused_and_ends_nothing() {
        for (levels, words) in [(400, "is malformed"), (100_000, "longer than 1000 bytes")] {
            let glob = format!("{}a{}", "{".repeat(levels), "}".repeat(levels));
            let refused = Filter::new(Some(&glob)).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(refused.contains(words), "{levels}: {refused}");
        }
        assert!(Filter::new(Some("src/{a,{b,c}/d}/*.rs")).is_ok());
    }
}
