//! Functions that the readers share: lines without colours, paths inside the workspace, messages of limited size.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::text;

/// The most characters of a message, and of one of its lines.
pub(super) const MESSAGE: usize = 600;
const LINE: usize = 180;
/// The longest path that is accepted.
const PATH: usize = 300;
/// The most lines of a message that are read.
const MOST: usize = 200;
/// The most bytes read of an output, and of one of its lines.
const LONGEST: usize = 4 << 20;
const WIDEST: usize = 4_000;

const WORKSPACE: &str = "/workspace/";

/// Directories of third-party code inside the workspace.
const FOREIGN: [&str; 5] = ["node_modules", "site-packages", "dist-packages", ".venv", ".cargo"];

/// CSI and OSC sequences, the choice of a character set (ECMA-35, 14), and the two-character ones (ECMA-48, 5).
static COLOURS: LazyLock<Regex> = LazyLock::new(|| {
    regex("\u{1b}(?:\\[[0-?]*[ -/]*[@-~]|\\][^\u{7}\u{1b}]*(?:\u{7}|\u{1b}\\\\)?|[()*+][ -~]|[@-Z\\\\^_])")
});

/// Compiles one of the readers' own expressions.
pub(super) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the readers' expressions are fixed, and a test runs each")
}

/// The text without terminal control sequences, even cut ones, and with line feeds only; of a long one its beginning and end.
pub(super) fn plain(output: &str) -> String {
    let (head, tail) = ends(output);
    let text = match tail {
        "" => COLOURS.replace_all(head, ""),
        tail => Cow::Owned(format!("{}\n{}", COLOURS.replace_all(head, ""), COLOURS.replace_all(tail, ""))),
    };
    let text = if text.contains('\u{1b}') { Cow::Owned(text.replace('\u{1b}', "")) } else { text };
    match text.contains('\r') {
        // Each update of a progress bar becomes a line.
        true => text.replace("\r\n", "\n").replace('\r', "\n"),
        false => text.into_owned(),
    }
}

/// The whole text, or beginning and end of one that is too long.
fn ends(output: &str) -> (&str, &str) {
    if output.len() <= LONGEST {
        return (output, "");
    }
    let (head, tail) = (output.floor_char_boundary(LONGEST / 2), output.ceil_char_boundary(output.len() - LONGEST / 2));
    (&output[..head], &output[tail..])
}

/// The part of a line that is read.
pub(super) fn bounded(line: &str) -> &str {
    &line[..line.floor_char_boundary(WIDEST)]
}

/// The path relative to the workspace; none for one elsewhere, and for third-party code.
pub(super) fn place(path: &str) -> Option<String> {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let path = path.strip_prefix(WORKSPACE).unwrap_or(path);
    let path = path.strip_prefix("./").unwrap_or(path);
    let odd = path.is_empty() || path.len() > PATH || path.starts_with(['/', '<', '~']) || path.contains(':');
    let hidden = path.chars().any(text::is_hidden);
    let outside = path.split('/').any(|part| part == ".." || FOREIGN.contains(&part));
    (!odd && !hidden && !outside).then(|| path.to_owned())
}

pub(super) fn number(digits: &str) -> Option<u32> {
    digits.parse().ok().filter(|number| *number > 0)
}

/// A path that a tool printed while it ran in the directory `dir`, absolute or below the workspace.
pub(super) fn place_in(dir: &str, path: &str) -> Option<String> {
    let dir = dir.strip_prefix(WORKSPACE.trim_end_matches('/')).map_or(dir, |dir| dir.trim_start_matches('/'));
    if dir.is_empty() || path.starts_with('/') {
        return place(path);
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in dir.split('/').chain(path.split('/')).filter(|part| !matches!(*part, "" | ".")) {
        match part {
            // A path above the workspace has no place.
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    if dir.starts_with('/') { None } else { place(&parts.join("/")) }
}

pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// A message from these lines, without common indentation and surrounding empty lines, and of limited size.
pub(super) fn message<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let mut lines: Vec<&str> = lines.into_iter().take(MOST).map(str::trim_end).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    let depth = lines.iter().filter(|line| !line.is_empty()).map(|line| indent(line)).min().unwrap_or(0);
    let lines: Vec<&str> = lines.iter().map(|line| line.get(depth..).unwrap_or("")).collect();
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
    fitted(&lines[first..])
}

/// The lines that fit: the first, then those that compare values, then the others in order; gaps are marked.
fn fitted(lines: &[&str]) -> String {
    let order = |line: usize| match line {
        0 => 0,
        at if compares(lines[at]) => 1,
        _ => 2,
    };
    let mut wanted: Vec<usize> = (0..lines.len()).collect();
    wanted.sort_by_key(|&at| order(at));
    let mut left = MESSAGE;
    let mut kept = vec![None; lines.len()];
    for at in wanted {
        let (line, missing) = text::cut(lines[at], LINE);
        let line = if missing > 0 { format!("{line}…") } else { line.to_owned() };
        // With a line feed and, at worst, the marker of a gap before it.
        let cost = line.chars().count() + 3;
        if cost <= left {
            left -= cost;
            kept[at] = Some(line);
        }
    }
    let mut out: Vec<String> = Vec::new();
    for line in kept {
        match line {
            Some(line) => out.push(line),
            None if out.last().is_some_and(|last| last == "…") => {}
            None => out.push("…".to_owned()),
        }
    }
    out.join("\n")
}

/// Whether a line shows the expected or the actual value, as one of the tools prints it.
fn compares(line: &str) -> bool {
    let line = line.trim_start();
    let lower = line.to_lowercase();
    ["expected", "received", "actual", "left:", "right:", "got", "want"].iter().any(|word| lower.starts_with(word))
        || ["+ ", "- ", "assert ", "> "].iter().any(|mark| line.starts_with(mark))
        || [" != ", " == ", " !== "].iter().any(|mark| line.contains(mark))
        || lower.contains("expected ")
}
