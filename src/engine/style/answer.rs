//! An answer in the style *files*: which files it returns, and their new text.
//!
//! Owns: the calls of an answer, and which part of a file a block replaces. Which file a block is about: `paths.rs`. Must not: write
//! anything. Tests: `answer_tests.rs`.

use std::collections::BTreeMap;

use domain::{Action, Call, CallRequest, Look, MOST_FILES, NewFile};
use serde_json::json;

use super::blocks::{Block, blocks};
use super::paths::{self, BlockPath};
use super::{First, aside, check, part, whole};
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
    let mut out: BTreeMap<String, String> = BTreeMap::new();
    for block in blocks(text, truncated).iter().filter(|block| !aside::is_diff(block)) {
        let Some(BlockPath::Own(path) | BlockPath::Near(path)) = paths::path(block, look, asked) else { continue };
        // Existing tests are not changed unless somebody named them.
        let known = look.files.iter().any(|file| file.path == path) || look.others.contains(&path);
        let name = path.rsplit('/').next().unwrap_or(&path);
        if known && steers_tests(&path) && !asked.contains(name) {
            continue;
        }
        if let Some(content) = content(block, &path, (look, asked), out.get(&path)) {
            out.insert(path, content);
        }
    }
    out.into_iter().map(|(path, content)| NewFile::new(path, content)).collect()
}

fn content(block: &Block<'_>, path: &str, (look, asked): (&Look, &str), so_far: Option<&String>) -> Option<String> {
    let shown = look.files.iter().find(|file| file.path == path);
    let Some(shown) = shown else {
        // The content of a file that was not shown is unknown, so it may be created but not replaced.
        return (!look.others.iter().any(|other| other == path) && !part::omits(&block.text, ""))
            .then(|| block.text.clone());
    };
    let base = so_far.map_or(shown.text.as_str(), String::as_str);
    let (old, new) = (base.lines().count(), block.text.lines().count());
    let large = shown.lines.is_empty() && so_far.is_none() && new * 100 >= old * 60 && !part::omits(&block.text, base);
    let all_of_it = large && (new >= old || same_beginning(base, &block.text));
    let placed = || part::placed(base, &block.text, &part::DefinitionHeads::of(&shown.text, &shown.lines));
    let lacking = all_of_it && whole::lacks(base, &block.text, asked);
    let in_place = (!all_of_it || lacking).then(placed);
    match (all_of_it, in_place.flatten()) {
        (_, Some(text)) => Some(text),
        (true, None) if lacking && !whole::adds(base, &block.text) => None,
        (true, None) => Some(whole::with_tests(base, &block.text)).filter(|text| text.trim_end() != base.trim_end()),
        // Definitions without a certain place are not a whole file either.
        (false, None) => (large && !part::defines(&block.text)).then(|| block.text.clone()),
    }
}

/// Whether both begin with the same non-blank line, so that the block is the whole file.
fn same_beginning(a: &str, b: &str) -> bool {
    let first = |text: &str| text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
    first(a) == first(b)
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
