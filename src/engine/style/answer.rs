//! An answer in the style *files*: which files it returns, and their new text.
//!
//! Owns: the calls of an answer, and which of its blocks count. Which file a block is about: `paths.rs`; what it makes of that file:
//! `content.rs`. Must not: write anything. Tests: `answer_tests.rs`.

use std::collections::{BTreeMap, BTreeSet};

use domain::{Action, Call, CallRequest, Look, MOST_FILES, NewFile};
use serde_json::json;

use super::blocks::{Block, blocks};
use super::content::{content, removes, top_level};
use super::paths::{self, BlockPath};
use super::{First, aside, check};
use crate::sandbox::detect::steers_tests;

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
    let blocks = blocks(text, truncated);
    let all = blocks.iter().filter(|block| !aside::is_diff(block));
    let given: Vec<(String, &str)> = all.filter_map(|block| named(block, look, asked)).collect();
    let defined: Vec<(&String, BTreeSet<String>)> = given.iter().map(|(path, text)| (path, top_level(text))).collect();
    let mut out: BTreeMap<&str, String> = BTreeMap::new();
    for (path, text) in &given {
        // Existing tests are not changed unless somebody named them.
        let known = look.files.iter().any(|file| file.path == *path) || look.others.contains(path);
        let name = path.rsplit('/').next().unwrap_or(path);
        if known && steers_tests(path) && !asked.contains(name) {
            continue;
        }
        let moves = |name: &str| defined.iter().any(|(other, names)| *other != path && names.contains(name));
        let goes = |name: &str| removes(asked, name) || moves(name);
        let so_far = out.get(path.as_str()).map(String::as_str);
        if let Some(content) = content(text, path, look, so_far, &goes) {
            out.insert(path, content);
        }
    }
    out.into_iter().map(|(path, content)| NewFile::new(path, content)).collect()
}

/// A block's path and the text that it gives for it; none if it is about no file, or only uses one.
fn named<'a>(block: &'a Block<'_>, look: &Look, asked: &str) -> Option<(String, &'a str)> {
    let shown = |path: &str| look.files.iter().find(|file| file.path == path);
    let is_use = |path: &str| shown(path).is_some_and(|file| aside::is_use(&block.text, path, &file.text));
    let path = match paths::path(block, look, asked)? {
        BlockPath::Own(path) => path,
        BlockPath::Near(path) if is_use(&path) => return None,
        BlockPath::Near(path) => path,
    };
    let text = paths::uncommented(&block.text, &path, look);
    Some((path, text))
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
