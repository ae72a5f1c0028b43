//! Searching file contents with a regular expression.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use protocol::runner::MAX_FILE;

use super::list::{Filter, walk};
use super::shown::show;
use super::{FileError, Scope};

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
    unread: usize,
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
    let mut searcher = SearcherBuilder::new().binary_detection(BinaryDetection::quit(0)).line_number(true).build();
    let mut found = SearchOutput { out: String::new(), cap: scope.cap, shown: 0, left: 0, files: 0, unread: 0 };
    for entry in walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file())) {
        if scope.stop.is_cancelled() {
            break;
        }
        let inside = entry.path().strip_prefix(scope.workspace.root()).unwrap_or(entry.path());
        if filter.accepts(&entry, &start, inside) {
            match search_file(scope, &mut searcher, &matcher, inside, &mut found) {
                true => found.files += 1,
                false => found.unread += 1,
            }
        }
    }
    let SearchOutput { mut out, shown, left, files, unread, .. } = found;
    let most = MAX_FILE >> 20;
    let unread = (unread > 0)
        .then(|| format!("{unread} files were not searched: they can't be read or are longer than {most} MiB"));
    if shown == 0 {
        let (start, unread) = (show(&start), unread.map_or(String::new(), |unread| format!("; {unread}")));
        return Ok(format!("[no match in {files} files below {start}{unread}; what .gitignore names is left out]"));
    }
    if let Some(unread) = unread {
        out.push_str(&format!("[{unread}]\n"));
    }
    if left > 0 {
        out.push_str(&format!("[{left} more matching lines; search a narrower path, glob or pattern]"));
    }
    Ok(out)
}

/// Whether the file could be searched: not if it is gone meanwhile, may not be read or is too long.
fn search_file(
    scope: &Scope<'_>,
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    inside: &Path,
    found: &mut SearchOutput,
) -> bool {
    let Ok(file) = scope.workspace.open_file(inside) else { return false };
    let path = show(inside);
    file.metadata().is_ok_and(|meta| meta.len() <= MAX_FILE)
        && searcher.search_file(matcher, &file, InFile { path: &path, found }).is_ok()
}
