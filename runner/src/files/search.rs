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
struct Text<'a> {
    file: File,
    stop: &'a CancellationToken,
    /// Whether lines that end with CR LF are read as if they ended with LF, so that `$` matches there.
    without_cr: bool,
    /// Whether the last byte read was a CR that was not given out yet.
    cr: bool,
    piece: Vec<u8>,
    /// How much of the piece was given out.
    given: usize,
}

impl<'a> Text<'a> {
    fn of(file: File, stop: &'a CancellationToken, without_cr: bool) -> Self {
        Self { file, stop, without_cr, cr: false, piece: Vec::new(), given: 0 }
    }

    /// Reads the next piece; false at the file's end.
    fn refill(&mut self) -> io::Result<bool> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("the search was stopped"));
        }
        let mut bytes = [0; PIECE];
        let count = self.file.read(&mut bytes)?;
        let bytes = &bytes[..count];
        // The beginning of UTF-16, where the byte CR may end a character and the byte LF begin the next one.
        if self.piece.is_empty() && !self.cr && (bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")) {
            self.without_cr = false;
        }
        self.piece.clear();
        self.given = 0;
        if !self.without_cr || !self.cr && !bytes.contains(&b'\r') {
            self.piece.extend_from_slice(bytes);
            return Ok(count > 0);
        }
        for &byte in bytes {
            if self.cr && byte != b'\n' {
                self.piece.push(b'\r');
            }
            self.cr = byte == b'\r';
            self.piece.extend((!self.cr).then_some(byte));
        }
        if count == 0 && std::mem::take(&mut self.cr) {
            self.piece.push(b'\r');
        }
        Ok(count > 0 || !self.piece.is_empty())
    }
}

impl Read for Text<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.piece.len() {
            if !self.refill()? {
                return Ok(0);
            }
        }
        let left = &self.piece[self.given..];
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.given += count;
        Ok(count)
    }
}

/// A compiled pattern.
struct Pattern {
    matcher: RegexMatcher,
    /// As in [`Text`]: not where the pattern may name a CR.
    without_cr: bool,
}

#[derive(Default)]
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

impl Pattern {
    fn new(text: &str) -> Result<Self, FileError> {
        let mut builder = RegexMatcherBuilder::new();
        builder.line_terminator(Some(b'\n')).size_limit(PROGRAM).dfa_size_limit(REMEMBERED);
        let built = builder.build(text);
        let matcher =
            built.map_err(|error| FileError::Sentence(format!("the pattern is no regular expression: {error}")))?;
        let names_cr = ["\r", "\\r", "\\x", "\\u", "\\U"].iter().any(|word| text.contains(word));
        Ok(Self { matcher, without_cr: !names_cr })
    }
}

pub fn search(scope: &Scope<'_>, pattern: &str, path: &str, glob: Option<&str>) -> Result<String, FileError> {
    let pattern = Pattern::new(pattern)?;
    let filter = Filter::new(glob)?;
    let (start, walk) = walk(scope, path, 0)?;
    let mut searcher = SearcherBuilder::new().binary_detection(BinaryDetection::quit(0)).line_number(true).build();
    let mut found = SearchOutput { cap: scope.cap, ..SearchOutput::default() };
    for entry in walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file())) {
        if scope.stop.is_cancelled() {
            break;
        }
        let inside = entry.path().strip_prefix(scope.workspace.root()).unwrap_or(entry.path());
        if filter.accepts(&entry, &start, inside) {
            match search_file(scope, &mut searcher, &pattern, inside, &mut found) {
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
    pattern: &Pattern,
    inside: &Path,
    found: &mut SearchOutput,
) -> bool {
    let Ok(file) = scope.workspace.open_file(inside) else { return false };
    let path = show(inside);
    if !file.metadata().is_ok_and(|meta| meta.len() <= MAX_FILE) {
        return false;
    }
    let file = Text::of(file, scope.stop, pattern.without_cr);
    searcher.search_reader(&pattern.matcher, file, InFile { path: &path, found }).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::Workspace;
    use super::*;

    #[test]
    fn a_pattern_that_takes_much_of_pid_1_is_refused() {
        let refused = Pattern::new("x[a-z]{1000000}").err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("exceeds size limit"), "{refused}");
        assert!(Pattern::new(r"^\s*(pub )?fn \w{1,40}\(").is_ok());
    }

    #[test]
    fn a_stopped_search_reads_no_further_in_a_file() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("a"), "needle\n").expect("a file");
        let workspace = Workspace::open(dir.path()).expect("a workspace");
        let pattern = Pattern::new("needle").expect("a pattern");
        let read = |stop: &CancellationToken| {
            let scope = Scope { workspace: &workspace, cap: 1000, stop };
            let mut found = SearchOutput { cap: scope.cap, ..SearchOutput::default() };
            let whole = search_file(&scope, &mut Searcher::new(), &pattern, Path::new("a"), &mut found);
            (whole, found.shown)
        };
        let stop = CancellationToken::new();
        assert_eq!(read(&stop), (true, 1));
        stop.cancel();
        assert_eq!(read(&stop), (false, 0));
    }

    #[test]
    fn the_end_of_a_line_is_found_whatever_ends_it() {
        let dir = tempfile::tempdir().expect("a directory");
        // The line's end lies across two pieces.
        let text = format!("{}one;\r\ntwo;\r\r\n;\rthree\nfour;\n\r", "x".repeat(PIECE - 5));
        std::fs::write(dir.path().join("a"), text).expect("a file");
        let workspace = Workspace::open(dir.path()).expect("a workspace");
        let stop = CancellationToken::new();
        let scope = Scope { workspace: &workspace, cap: 10_000, stop: &stop };
        let lines = |pattern: &str| -> Vec<String> {
            let found = search(&scope, pattern, "a", None).expect("searched");
            found.lines().filter_map(|line| Some(line.split(':').nth(1)?.to_owned())).collect()
        };
        assert_eq!(lines(";$"), ["1", "4"]);
        assert_eq!(lines(r"\r$"), ["1", "2", "5"]);
        assert_eq!(lines("^three$|;.three"), ["3"]);
    }

    #[test]
    fn a_text_of_utf_16_is_read_as_it_is() {
        let dir = tempfile::tempdir().expect("a directory");
        // The last byte of the letter and the first of the line's end are those of CR LF.
        let text = "\u{feff}\u{d85}\nneedle\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        std::fs::write(dir.path().join("a"), text).expect("a file");
        let workspace = Workspace::open(dir.path()).expect("a workspace");
        let stop = CancellationToken::new();
        let scope = Scope { workspace: &workspace, cap: 10_000, stop: &stop };
        let found = search(&scope, "^needle$", "a", None).expect("searched");
        assert_eq!(found.lines().next(), Some("a:2: needle"));
    }
}
