//! Searching file contents with a regular expression.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use protocol::runner::MAX_FILE;
use tokio_util::sync::CancellationToken;

use super::list::{Filter, walk};
use super::shown::show;
use super::{FileError, Scope};

/// Matching lines that are shown.
const SHOWN: usize = 500;
/// Longest part of a line that is shown, in bytes.
const LINE: usize = 400;
/// The most bytes of a compiled pattern, and of what is remembered while it is matched: both are memory of PID 1, and time for each byte.
const PROGRAM: usize = 10 << 20;
const REMEMBERED: usize = 16 << 20;
/// The most bytes of a file that are read at once.
const PIECE: usize = 8 << 10;

/// A file that can't be read on once the search was stopped, because some patterns take long for each byte.
struct UntilStopped<'a> {
    file: File,
    stop: &'a CancellationToken,
}

impl Read for UntilStopped<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("the search was stopped"));
        }
        let most = buffer.len().min(PIECE);
        self.file.read(&mut buffer[..most])
    }
}

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
    let mut builder = RegexMatcherBuilder::new();
    builder.line_terminator(Some(b'\n')).size_limit(PROGRAM).dfa_size_limit(REMEMBERED);
    let built = builder.build(pattern);
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

/// Whether the file could be searched: not if it is gone meanwhile, may not be read or is too long, or if the search was stopped.
fn search_file(
    scope: &Scope<'_>,
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    inside: &Path,
    found: &mut SearchOutput,
) -> bool {
    let Ok(file) = scope.workspace.open_file(inside) else { return false };
    let path = show(inside);
    if !file.metadata().is_ok_and(|meta| meta.len() <= MAX_FILE) {
        return false;
    }
    let file = UntilStopped { file, stop: scope.stop };
    searcher.search_reader(matcher, file, InFile { path: &path, found }).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::Workspace;
    use super::*;

    #[test]
    fn a_pattern_that_takes_much_of_pid_1_is_refused() {
        let refused = matcher("x[a-z]{1000000}").err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("exceeds size limit"), "{refused}");
        assert!(matcher(r"^\s*(pub )?fn \w{1,40}\(").is_ok());
    }

    #[test]
    fn a_stopped_search_reads_no_further_in_a_file() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("a"), "needle\n").expect("a file");
        let workspace = Workspace::open(dir.path()).expect("a workspace");
        let matcher = matcher("needle").expect("a pattern");
        let read = |stop: &CancellationToken| {
            let scope = Scope { workspace: &workspace, cap: 1000, stop };
            let mut found = SearchOutput { out: String::new(), cap: 1000, shown: 0, left: 0, files: 0, unread: 0 };
            let whole = search_file(&scope, &mut Searcher::new(), &matcher, Path::new("a"), &mut found);
            (whole, found.shown)
        };
        let stop = CancellationToken::new();
        assert_eq!(read(&stop), (true, 1));
        stop.cancel();
        assert_eq!(read(&stop), (false, 0));
    }
}
