//! An answer in the style *files*: which files it returns, and their new text.
//!
//! Owns: the calls of an answer, and which of its blocks count. Which file a block is about: `paths.rs`; what it makes of that file:
//! `content.rs`. Must not: write anything. Tests: `answer_tests.rs`.

use std::collections::{BTreeMap, BTreeSet};

use domain::{Action, Call, CallRequest, Look, MOST_FILES, NewFile};
use serde_json::json;

use super::blocks::{Block, blocks};
use super::content::{content, removes};
use super::definitions::top_level;
use super::paths::{self, BlockPath};
use super::{First, aside, check};
use crate::sandbox::detect::steers_tests;

/// The most blocks of one answer that are read, because the whole file is searched for each.
const MOST_BLOCKS: usize = 64;
/// How often the files are placed, at most, until each name that moves goes into one that is written.
const ROUNDS: usize = 4;

/// The answer's calls: the files tried in a copy (with the issue's own check, if there is one), or written at once and then checked. None
/// if the answer has nothing usable.
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

/// The new text of each file. Several blocks of one file are applied in order. Of an answer that was cut off its complete blocks count.
pub(super) fn files(text: &str, truncated: bool, look: &Look, asked: &str) -> Vec<NewFile> {
    let blocks: Vec<Block<'_>> =
        blocks(text, truncated).into_iter().flat_map(|block| paths::split(block, look)).collect();
    let mut seen = BTreeSet::new();
    let all = blocks
        .iter()
        .filter(|block| !aside::is_diff(block) && seen.insert((block.info, block.before.first(), block.text.as_str())))
        .take(MOST_BLOCKS);
    let given: Vec<NamedText<'_>> = all.filter_map(|block| named(block, look, asked)).collect();
    // What a file had before was not moved there, and each file has exports and imports of its own.
    let had: BTreeMap<&str, BTreeSet<String>> =
        look.files.iter().map(|file| (file.path.as_str(), top_level(&file.text))).collect();
    let is_own = |name: &String, text: &str| {
        name.contains("exports") || text.lines().any(|line| line.contains("require(") && line.contains(name.as_str()))
    };
    let is_new = |it: &NamedText<'_>, name: &String| {
        had.get(it.path.as_str()).is_none_or(|had| !had.contains(name)) && !is_own(name, it.text)
    };
    let names_of = |it: &NamedText<'_>| it.names.iter().filter(|name| is_new(it, name)).cloned().collect();
    let new: Vec<BTreeSet<String>> = given.iter().map(names_of).collect();
    // A name moves only into a file that is written: where one with new names is not, the others are placed once more.
    let (mut into, mut rounds): (BTreeSet<&str>, usize) = (given.iter().map(|it| it.path.as_str()).collect(), ROUNDS);
    loop {
        let moved = given.iter().map(|it| it.path.as_str()).zip(&new);
        let moved: Vec<(&str, &BTreeSet<String>)> =
            moved.filter(|(path, names)| rounds > 0 && into.contains(path) && !names.is_empty()).collect();
        let out = placed(&given, &moved, look, asked);
        if moved.iter().all(|(path, _)| out.contains_key(path)) {
            return out.into_iter().map(|(path, content)| NewFile::new(path, content)).collect();
        }
        (into, rounds) = (out.into_keys().collect(), rounds - 1);
    }
}

/// The new text of each file that can be written, where these names moved into the file beside them.
fn placed<'a>(
    given: &'a [NamedText<'a>],
    moved: &[(&str, &BTreeSet<String>)],
    look: &Look,
    asked: &str,
) -> BTreeMap<&'a str, String> {
    let mut out: BTreeMap<&str, String> = BTreeMap::new();
    for NamedText { path, text, is_own, names } in given {
        // A program's beginning behind its file is an example.
        if !*is_own && out.contains_key(path.as_str()) && names.len() == 1 && names.contains("main") {
            continue;
        }
        let goes = |name: &str| {
            removes(asked, name) || moved.iter().any(|(other, names)| other != path && names.contains(name))
        };
        let so_far = out.get(path.as_str()).map(String::as_str);
        if let Some(content) = content((text, *is_own), path, look, so_far, &goes) {
            out.insert(path, content);
        }
    }
    out
}

/// The text that a block gives for a file.
struct NamedText<'a> {
    path: String,
    text: &'a str,
    /// Whether the block itself says the path.
    is_own: bool,
    /// What the text defines at its top level.
    names: BTreeSet<String>,
}

/// A block's path and text; none if it is about no file that may be written, or only uses one.
fn named<'a>(block: &'a Block<'_>, look: &Look, asked: &str) -> Option<NamedText<'a>> {
    let shown = |path: &str| look.files.iter().find(|file| file.path == path);
    let is_use = |path: &str| shown(path).is_some_and(|file| aside::is_use(&block.text, path, &file.text));
    let (path, is_own) = match paths::path(block, look, asked)? {
        BlockPath::Own(path) => (path, true),
        BlockPath::Near(path) if is_use(&path) => return None,
        BlockPath::Near(path) => (path, false),
    };
    // Existing tests are not changed unless somebody named them, and what was not shown is not replaced.
    let is_test = steers_tests(&path) && !asked.contains(path.rsplit('/').next().unwrap_or(&path));
    if (shown(&path).is_some() && is_test) || (shown(&path).is_none() && look.others.contains(&path)) {
        return None;
    }
    let text = paths::uncommented(&block.text, &path, look);
    let base = shown(&path).map_or("", |file| file.text.as_str());
    let text = if steers_tests(&path) { text } else { aside::without_example(text, base) };
    Some(NamedText { names: top_level(text), path, text, is_own })
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
