//! Searching file contents with a regular expression.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};

use super::list::{Filter, walk};
use super::shown::show;
use super::{FileError, MAX_FILE, Scope};

/// Matching lines that are shown.
const SHOWN: usize = 500;
/// Longest part of a line that is shown, in bytes.
const LINE: usize = 400;

struct SearchOutput {
    out: String,
    cap: usize,
    shown: usize,
    left: usize,
    files: usize,
}

/// Collects the matches of one file.
struct InFile<'a> {
    path: &'a str,
    found: &'a mut SearchOutput,
}

impl Sink for InFile<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let all = &mut *self.found;
        if all.shown >= SHOWN || all.out.len() > all.cap.saturating_sub(LINE + 200) {
            all.left += 1;
            return Ok(true);
        }
        let text = String::from_utf8_lossy(found.bytes());
        let text = text.trim_end_matches(['\n', '\r']);
        let end = text.floor_char_boundary(LINE);
        let cut = if end < text.len() { " [...]" } else { "" };
        // Writing to a string can't fail.
        let _ = writeln!(all.out, "{}:{}: {}{cut}", self.path, found.line_number().unwrap_or(0), &text[..end]);
        all.shown += 1;
        Ok(true)
    }
}

fn matcher(pattern: &str) -> Result<RegexMatcher, FileError> {
    let built = RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build(pattern);
    built.map_err(|error| FileError::Sentence(format!("the pattern is no regular expression: {error}")))
}

pub fn search(scope: &Scope<'_>, pattern: &str, path: &str, glob: Option<&str>) -> Result<String, FileError> {
    let matcher = matcher(pattern)?;
    let filter = Filter::new(glob)?;
    let (start, walk) = walk(scope, path, 0)?;
    let root = scope.workspace.root().join(&start);
    let mut searcher = SearcherBuilder::new().binary_detection(BinaryDetection::quit(0)).line_number(true).build();
    let mut found = SearchOutput { out: String::new(), cap: scope.cap, shown: 0, left: 0, files: 0 };
    for entry in walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file())) {
        if scope.stop.is_cancelled() {
            break;
        }
        let below = entry.path().strip_prefix(&root).unwrap_or(entry.path());
        let named = if entry.depth() == 0 { entry.path() } else { below };
        let inside = entry.path().strip_prefix(scope.workspace.root()).unwrap_or(entry.path());
        if filter.accepts(named) {
            found.files += 1;
            search_file(scope, &mut searcher, &matcher, inside, &mut found);
        }
    }
    let SearchOutput { mut out, shown, left, files, .. } = found;
    if shown == 0 {
        return Ok(format!("[no match in {files} files below {}; what .gitignore names is left out]", show(&start)));
    }
    if left > 0 {
        out.push_str(&format!("[{left} more matching lines; search a narrower path, glob or pattern]"));
    }
    Ok(out)
}

/// A file that can't be read (gone meanwhile, no permission, too long) has no matches.
fn search_file(
    scope: &Scope<'_>,
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    inside: &Path,
    found: &mut SearchOutput,
) {
    let Ok(file) = scope.workspace.open_file(inside) else { return };
    if file.metadata().is_ok_and(|meta| meta.len() <= MAX_FILE) {
        let path = show(inside);
        let _ = searcher.search_file(matcher, &file, InFile { path: &path, found });
    }
}
