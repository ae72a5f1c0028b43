//! Reads gcc and clang: `src/a.c:8:12: error: …` with source and notes below, the linker's errors, and directories that `make` enters.

use std::sync::LazyLock;

use regex::Regex;

use super::lines::{message, number, place_in, regex};
use super::{Item, Severity, Tool};

static HEAD: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^([^\s:][^:]*):(\d+):(?:\d+:)? (fatal error|error|warning|note): (.+)$"));
/// `main.c:(.text+0x34): undefined reference to …`, and with debugging information `main.c:7: …`.
static LINK: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^(?:\S*ld: )?([^\s:][^:]*):(?:(\d+)|\([^)]*\)): ((?:undefined reference to|multiple definition of) .+)$")
});
static FOLDER: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^\S*make(?:\[\d+\])?: (?:(Entering)|Leaving) directory [`'](.+)'$"));
/// The marker line below a source line.
static CARET: LazyLock<Regex> = LazyLock::new(|| regex(r"^[\s~]*\^[\s~^]*$"));

/// Extensions of files that these compilers take.
const ENDINGS: [&str; 19] = [
    "c", "h", "C", "H", "cc", "hh", "cpp", "hpp", "cxx", "hxx", "c++", "h++", "m", "mm", "cu", "inl", "ipp", "tpp", "S",
];
/// The most lines below a head that belong to it.
const BODY: usize = 12;

pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    let mut folders: Vec<&str> = Vec::new();
    let mut items: Vec<Item> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if line.contains(" directory ")
            && let Some(found) = FOLDER.captures(line)
        {
            let folder = found.get(2).map_or("", |folder| folder.as_str());
            if found.get(1).is_some() {
                folders.push(folder)
            } else {
                let _ = folders.pop();
            }
            continue;
        }
        let dir = folders.last().copied().unwrap_or_default();
        if let Some(head) = head(line) {
            let body = &lines[at..at + body(&lines[at..])];
            at += body.len();
            items.extend((head.severity != Severity::Note).then(|| head.item(dir, body)));
        } else if line.contains("undefined reference to") || line.contains("multiple definition of") {
            items.extend(linked(dir, line));
        }
    }
    items
}

struct Head<'a> {
    file: &'a str,
    line: &'a str,
    severity: Severity,
    message: &'a str,
}

impl Head<'_> {
    fn item(&self, dir: &str, body: &[&str]) -> Item {
        let file = place_in(dir, self.file);
        let lines = std::iter::once(self.message).chain(body.iter().copied());
        Item {
            tool: Tool::Gcc,
            file,
            line: number(self.line),
            severity: self.severity,
            message: message(lines),
            test: None,
        }
    }
}

fn head(line: &str) -> Option<Head<'_>> {
    if ![" error: ", " warning: ", " note: "].iter().any(|word| line.contains(word)) {
        return None;
    }
    let found = HEAD.captures(line)?;
    let part = |at: usize| found.get(at).map_or("", |part| part.as_str());
    let severity = match part(3) {
        "warning" => Severity::Warning,
        "note" => Severity::Note,
        _error => Severity::Error,
    };
    is_source(part(1)).then(|| Head { file: part(1), line: part(2), severity, message: part(4) })
}

fn is_source(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

/// Number of lines that belong to the head above: source, markers, and notes with theirs.
fn body(rest: &[&str]) -> usize {
    let mut taken = 0;
    while taken < rest.len().min(BODY) {
        let line = rest[taken];
        // clang prints source lines without indentation.
        let source = line.starts_with(' ') || rest.get(taken + 1).is_some_and(|next| CARET.is_match(next));
        let note = || head(line).is_some_and(|head| head.severity == Severity::Note);
        if line.is_empty() || head(line).is_some_and(|head| head.severity != Severity::Note) || !(source || note()) {
            break;
        }
        taken += 1;
    }
    taken
}

fn linked(dir: &str, line: &str) -> Option<Item> {
    let found = LINK.captures(line)?;
    // The other format names an object file.
    let file = Some(&found[1]).filter(|file| is_source(file)).and_then(|file| place_in(dir, file));
    let line = found.get(2).and_then(|line| number(line.as_str())).filter(|_| file.is_some());
    Some(Item { tool: Tool::Gcc, file, line, severity: Severity::Error, message: message([&found[3]]), test: None })
}
