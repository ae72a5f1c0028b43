//! An answer in the style *files*: which files it returns, and their new text.
//!
//! Owns: finding the code blocks, the path of each, and which part of a file a block replaces. Paths are resolved against what was shown:
//! the path of the example, or one outside of the tree, is never written. Must not: write anything. Tests: below.

use std::collections::BTreeMap;

use domain::{Action, Call, CallRequest, Look, MOST_FILES, NewFile};
use serde_json::json;

use super::blocks::{Block, blocks};
use super::{First, aside, check, part, whole};
use crate::sandbox::detect::steers_tests;

/// Path of the file in the example conversation; models copy it.
pub(in crate::engine) const EXAMPLE: &str = "hello/greeting.py";

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
        let Some(path) = path(block, look) else { continue };
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

/// The block's path: named beside it, in its first comment, or in the text before it; otherwise that of the only file.
fn path(block: &Block<'_>, look: &Look) -> Option<String> {
    let console = ["bash", "sh", "shell", "console", "diff", "text", "output"];
    let word = block.info.split_whitespace().next().unwrap_or_default();
    let first = block.text.lines().next().unwrap_or_default();
    let comment = first.trim_start().starts_with(['#', '/', '-', '<']).then_some(first);
    let near = block.before.iter().take(2).copied();
    // A line above it that is nothing but a path is its heading: what stands before that is about something else.
    let heading = block.before.first().and_then(|line| looks_like_a_path(line));
    if let Some(path) = heading.filter(|_| in_line(block.info, look).is_none()) {
        let in_a_folder = || path.contains('/').then(|| new_file(path, look)).flatten();
        if let Some(found) = known(path, look).or_else(in_a_folder) {
            return Some(found);
        }
    }
    let named = [block.info].into_iter().chain(near).chain(comment);
    let found = named.filter_map(|line| in_line(line, look)).next();
    if found.is_some() || console.contains(&word.to_lowercase().as_str()) {
        return found;
    }
    if let Some(claimed) = heading {
        return new_file(claimed, look);
    }
    let mut told = block.before.iter().filter_map(|line| in_line(line, look));
    match look.files.as_slice() {
        [only] => Some(only.path.clone()),
        _ => told.next().filter(|path| told.all(|other| other == *path)),
    }
}

/// The known file that a line names: by its path, or by the end of a path if only one file matches.
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
    // A folder that is there is no placeholder in front of a known path.
    let folder = word.rsplit_once('/').map(|(folder, _)| format!("{folder}/"));
    let is_folder = folder.is_some_and(|folder| paths().any(|path| path.starts_with(&folder)));
    let mut near = paths().filter(|path| ends(path, word) || !is_folder && ends(word, path));
    let first = near.next()?;
    near.next().is_none().then(|| first.clone())
}

/// A line that consists of a path.
pub(super) fn looks_like_a_path(line: &str) -> Option<&str> {
    let mut all = line.split_whitespace().map(|word| word.trim_matches(|c: char| "`*:\"'#()".contains(c)));
    let word = all.by_ref().find(|word| !word.is_empty())?;
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let kind = word.rsplit_once('.').is_some_and(|(_, kind)| kind.starts_with(|c: char| c.is_ascii_alphanumeric()));
    (plain && kind && all.all(str::is_empty)).then_some(word)
}

/// The path of a new file, which must be next to existing files of the same type.
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
