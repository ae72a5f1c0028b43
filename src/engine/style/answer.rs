//! A model's answer in the style *files*: which files it gives back, and with what text.
//!
//! Owns: finding the code blocks, the path that each is about, and what of a file a block replaces. Paths are resolved against what
//! was shown: an example's path, or one that leaves the tree, is never written. Must not: write anything. Tests: below.

use std::collections::BTreeMap;

use domain::{Action, Call, CallRequest, Look, MOST_FILES, NewFile};
use serde_json::json;

use super::blocks::{Piece, pieces};
use super::{First, check, part};
use crate::sandbox::detect::steers_tests;

/// Where the example conversation's file lies: models copy it.
pub(in crate::engine) const EXAMPLE: &str = "hello/greeting.py";
/// One code block, with the words that may name its file.
#[derive(Debug, PartialEq)]
struct Block<'a> {
    info: &'a str,
    /// The last words before it, the nearest first.
    before: Vec<&'a str>,
    text: String,
}

/// The answer's calls: the files tried apart (with the issue's own check, where there is one), or written at once and then checked. None where nothing usable was given back.
pub(super) fn calls(
    files: Vec<NewFile>,
    command: Option<&str>,
    first: &First,
    look: &Look,
    turn: u32,
) -> Vec<CallRequest> {
    if files.is_empty() || files.len() > MOST_FILES {
        return Vec::new();
    }
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let paths = json!({ "paths": paths });
    let made = match (command.map(str::to_owned), first) {
        (Some(command), First::Tried { words }) => {
            let check = check::of(words, look, &files).map(Box::new);
            vec![("try", paths, Action::Try { files, command, check })]
        }
        (Some(command), First::Written) => {
            let run = ("bash", json!({ "command": command }), Action::Bash { command });
            vec![("write_files", paths, Action::WriteFiles { files }), run]
        }
        (None, _) => vec![("write_files", paths, Action::WriteFiles { files })],
    };
    let call = |(at, (name, arguments, action)): (usize, (&str, serde_json::Value, Action))| CallRequest {
        id: format!("call_{turn}_{at}"),
        name: name.to_owned(),
        arguments,
        call: Call::Action { action },
    };
    made.into_iter().enumerate().map(call).collect()
}

/// The files as they will be. Several blocks of one file are put in one after the other.
pub(super) fn files(text: &str, look: &Look, asked: &str) -> Vec<NewFile> {
    let mut out: BTreeMap<String, String> = BTreeMap::new();
    for block in blocks(text) {
        let Some(path) = path(&block, look) else { continue };
        // Tests stand as they are unless somebody asked for them by name.
        let known = look.files.iter().any(|file| file.path == path) || look.others.contains(&path);
        let name = path.rsplit('/').next().unwrap_or(&path);
        if known && steers_tests(&path) && !asked.contains(name) {
            continue;
        }
        if let Some(content) = content(&block, &path, look, out.get(&path)) {
            out.insert(path, content);
        }
    }
    out.into_iter().map(|(path, content)| NewFile { path, content }).collect()
}

fn content(block: &Block<'_>, path: &str, look: &Look, so_far: Option<&String>) -> Option<String> {
    let shown = look.files.iter().find(|file| file.path == path);
    let Some(shown) = shown else {
        // Of a file that was not shown nothing is known: it can be made, and not replaced.
        return (!look.others.iter().any(|other| other == path) && !part::omits(&block.text, ""))
            .then(|| block.text.clone());
    };
    let base = so_far.map_or(shown.text.as_str(), String::as_str);
    let (old, new) = (base.lines().count(), block.text.lines().count());
    let whole = shown.lines.is_empty() && so_far.is_none() && new * 100 >= old * 60 && !part::omits(&block.text, base);
    let all_of_it = whole && (new >= old || same_beginning(base, &block.text));
    let placed = || part::placed(base, &block.text, &part::Seen::of(&shown.text, &shown.lines));
    match all_of_it {
        true => (block.text.trim_end() != base.trim_end()).then(|| block.text.clone()),
        // Definitions without a certain place are no whole file either.
        false => placed().or_else(|| (whole && !part::defines(&block.text)).then(|| block.text.clone())),
    }
}

/// Whether both begin with the same line that says something: then the block is the file and no part of it.
fn same_beginning(a: &str, b: &str) -> bool {
    let first = |text: &str| text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
    first(a) == first(b)
}

/// The answer's closed code blocks. One that never ends was cut off, and is none.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut out = Vec::new();
    let mut before: Vec<&str> = Vec::new();
    for piece in pieces(text) {
        match piece {
            Piece::Line(line) if !line.trim().is_empty() => before.insert(0, line.trim()),
            Piece::Block { info, text, closed: true } if !text.trim().is_empty() => {
                out.push(Block { info, before: std::mem::take(&mut before), text });
            }
            Piece::Line(_) | Piece::Block { .. } => {}
        }
    }
    out
}

/// What the block is about: named beside it, in its first comment, in the words before it, or the only file there is.
fn path(block: &Block<'_>, look: &Look) -> Option<String> {
    let console = ["bash", "sh", "shell", "console", "diff", "text", "output"];
    let word = block.info.split_whitespace().next().unwrap_or_default();
    let first = block.text.lines().next().unwrap_or_default();
    let comment = first.trim_start().starts_with(['#', '/', '-', '<']).then_some(first);
    let near = block.before.iter().take(2).copied();
    let named = [block.info].into_iter().chain(near).chain(comment);
    let found = named.filter_map(|line| in_line(line, look)).next();
    if found.is_some() || console.contains(&word.to_lowercase().as_str()) {
        return found;
    }
    if let Some(claimed) = block.before.first().and_then(|line| looks_like_a_path(line)) {
        return new_file(claimed, look);
    }
    let mut told = block.before.iter().filter_map(|line| in_line(line, look));
    match look.files.as_slice() {
        [only] => Some(only.path.clone()),
        _ => told.next().filter(|path| told.all(|other| other == *path)),
    }
}

/// The known file that a line names: by its path, or by the end of one where that is the only such file.
fn in_line(line: &str, look: &Look) -> Option<String> {
    words(line).find_map(|word| known(word, look))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let edge = |c: char| c.is_whitespace() || "`*\"'()[]<>:,#=|".contains(c);
    line.split(edge).map(|word| word.trim_end_matches('.')).filter(|word| word.contains('.') || word.contains('/'))
}

fn known(word: &str, look: &Look) -> Option<String> {
    let word = word.trim_start_matches("./").trim_start_matches("/workspace/").trim_start_matches('/');
    if word.is_empty() || word == EXAMPLE {
        return None;
    }
    let paths = || look.files.iter().map(|file| &file.path).chain(&look.others);
    if let Some(exact) = paths().find(|path| *path == word) {
        return Some(exact.clone());
    }
    let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|head| head.ends_with('/'));
    let mut near = paths().filter(|path| ends(path, word) || ends(word, path));
    let first = near.next()?;
    near.next().is_none().then(|| first.clone())
}

/// A line that is a path and nothing else.
pub(super) fn looks_like_a_path(line: &str) -> Option<&str> {
    let mut all = line.split_whitespace().map(|word| word.trim_matches(|c: char| "`*:\"'#()".contains(c)));
    let word = all.by_ref().find(|word| !word.is_empty())?;
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    (plain && word.contains('.') && all.all(str::is_empty)).then_some(word)
}

/// A new file lies beside files that are there, and is of their kind.
fn new_file(word: &str, look: &Look) -> Option<String> {
    let path = word.trim_start_matches("./");
    let parts: Vec<&str> = path.split('/').collect();
    let (name, folder) = (parts.last()?, parts[..parts.len() - 1].join("/"));
    let kind = name.rsplit_once('.')?.1;
    let beside = look.files.iter().map(|file| &file.path).chain(&look.others).any(|known| {
        let (dir, file) = known.rsplit_once('/').unwrap_or(("", known));
        dir == folder && file.rsplit_once('.').is_some_and(|(_, known)| known == kind)
    });
    let odd = path == EXAMPLE || parts.iter().any(|part| part.is_empty() || part.starts_with('.'));
    (beside && !odd).then(|| path.to_owned())
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
