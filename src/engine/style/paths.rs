//! Which file a block of an answer is about.
//!
//! Owns: the path of a block, from its own words (info, heading, first comment) or the text before it, and which paths may be new. Paths are
//! resolved against what was shown: the path of the example, or one outside of the tree, is never written. Must not: read what the block
//! holds besides. Tests: `paths_tests.rs`.

use domain::Look;

use super::blocks::Block;

/// Path of the file in the example conversation; models copy it.
pub(in crate::engine) const EXAMPLE: &str = "hello/greeting.py";

/// Endings by which a word is a path of code, also where no known file has them.
const KINDS: [&str; 12] = ["py", "js", "mjs", "cjs", "jsx", "ts", "tsx", "rs", "go", "java", "rb", "cpp"];
/// Languages of blocks that are commands or output.
const CONSOLE: [&str; 6] = ["bash", "sh", "shell", "console", "text", "output"];
const SIGNS: [&str; 5] = ["//", "#", "--", "/*", "<!--"];

/// A block's path.
#[derive(Debug, PartialEq)]
pub(super) enum BlockPath {
    /// The block says it itself: beside its fence, in the line above it, or in its first comment.
    Own(String),
    /// It follows from the text before it, or there is only one file.
    Near(String),
}

/// The block's path, if it has one. `asked` are the words.
pub(super) fn path(block: &Block<'_>, look: &Look, asked: &str) -> Option<BlockPath> {
    let heading = block.before.first().and_then(|line| looks_like_a_path(line));
    let comment = commented(&block.text);
    let resolved = |word: &str| known(word, look).or_else(|| new_file(word, look, asked));
    let info = in_line(block.info, look).or_else(|| new_in(block.info, look, asked));
    let own = info.or_else(|| heading.and_then(resolved)).or_else(|| comment.and_then(resolved));
    if let Some(path) = own {
        return Some(BlockPath::Own(path));
    }
    // A path that is neither known nor possible is another file's all the same.
    let is_path = |word: &str| word.contains('/') || is_code(word, look);
    let is_other = heading.is_some_and(is_path) || comment.is_some_and(|word| is_code(word, look));
    near(block, look, asked, is_other).map(BlockPath::Near)
}

/// The path that the text before a block, or a comment on something else, names; otherwise that of the only file.
fn near(block: &Block<'_>, look: &Look, asked: &str, is_other: bool) -> Option<String> {
    let nearest = block.before.first().copied().unwrap_or_default();
    let new = || new_in(nearest, look, asked);
    let small = nearest.to_lowercase();
    let made = (small.contains("creat") || small.contains("new file")).then(new).flatten();
    let first = block.text.lines().next().unwrap_or_default();
    let comment = SIGNS.iter().any(|sign| first.trim_start().starts_with(sign)).then_some(first);
    // What stands above a heading is about something else.
    let is_headed = looks_like_a_path(nearest).is_some_and(|word| is_code(word, look));
    let second = block.before.get(1).copied().filter(|_| !is_headed);
    let found = made
        .or_else(|| in_line(nearest, look))
        .or_else(new)
        .or_else(|| second.into_iter().chain(comment).find_map(|line| in_line(line, look)));
    let language = block.info.split_whitespace().next().unwrap_or_default().to_lowercase();
    let names_other = || words(nearest).any(|word| stands_out(nearest, word) && is_code(word, look));
    if found.is_some() || CONSOLE.contains(&language.as_str()) || is_other || names_other() {
        return found;
    }
    let mut named = block.before.iter().filter_map(|line| in_line(line, look));
    match look.files.as_slice() {
        [only] => Some(only.path.clone()),
        _ => named.next().filter(|path| named.all(|other| other == *path)),
    }
}

/// A block of several files as one of each: a comment that is nothing but a known path begins the next one.
pub(super) fn split<'a>(block: Block<'a>, look: &Look) -> Vec<Block<'a>> {
    let begins = |line: &str| {
        let is_margin = !line.starts_with(char::is_whitespace);
        is_margin && commented(line).is_some_and(|word| is_code(word, look) && known(word, look).is_some())
    };
    let is_several = begins(block.text.lines().next().unwrap_or_default());
    let mut out = vec![Block { info: block.info, before: block.before, text: String::new() }];
    for (at, line) in block.text.split_inclusive('\n').enumerate() {
        if at > 0 && is_several && begins(line) {
            // The path beside the fence is that of the first part.
            let info = if in_line(block.info, look).is_some() { "" } else { block.info };
            out.push(Block { info, before: Vec::new(), text: String::new() });
        }
        if let Some(last) = out.last_mut() {
            last.text.push_str(line);
        }
    }
    out
}

/// The block's text without a first line that is only a comment with its path, unless the file begins with that line.
pub(super) fn uncommented<'a>(text: &'a str, path: &str, look: &Look) -> &'a str {
    let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
    let is_its_own = commented(text).is_some_and(|word| name(word) == name(path));
    let shown = look.files.iter().find(|file| file.path == path);
    let keeps = shown.is_some_and(|file| file.text.lines().next() == text.lines().next());
    let rest = text.split_once('\n').map(|(_, rest)| rest.trim_start_matches('\n'));
    rest.filter(|rest| is_its_own && !keeps && !rest.is_empty()).unwrap_or(text)
}

/// A line that consists of a path.
pub(super) fn looks_like_a_path(line: &str) -> Option<&str> {
    let mut all = line.split_whitespace().map(|word| word.trim_matches(|c: char| "`*:\"'#()".contains(c)));
    let word = all.by_ref().find(|word| !word.is_empty())?;
    let kind = word.rsplit_once('.').is_some_and(|(_, kind)| kind.starts_with(|c: char| c.is_ascii_alphanumeric()));
    (is_plain(word) && kind && all.all(str::is_empty)).then_some(word)
}

/// The path that a block's first line gives in a comment.
fn commented(text: &str) -> Option<&str> {
    let line = text.lines().next()?.trim();
    let rest = SIGNS.iter().find_map(|sign| line.strip_prefix(sign))?.trim_start_matches(['/', '#', '!', '*']);
    let rest = rest.trim_end_matches("-->").trim_end_matches("*/");
    let is_label = |word: &str| matches!(word.trim().to_lowercase().as_str(), "file" | "filename" | "path");
    let rest = rest.split_once(':').filter(|(word, _)| is_label(word)).map_or(rest, |(_, path)| path);
    looks_like_a_path(rest.split(" (").next().unwrap_or(rest))
}

fn is_plain(path: &str) -> bool {
    path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
}

fn paths(look: &Look) -> impl Iterator<Item = &String> {
    look.files.iter().map(|file| &file.path).chain(&look.others)
}

fn kind(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(_, kind)| kind)
}

/// Whether a word is a path of code by its ending.
fn is_code(word: &str, look: &Look) -> bool {
    kind(word).is_some_and(|own| KINDS.contains(&own) || paths(look).any(|known| kind(known) == Some(own)))
}

/// Whether a word of a sentence is meant as a path: it has a folder, or stands in marks.
fn stands_out(line: &str, word: &str) -> bool {
    word.contains('/') || ['`', '*', '"'].iter().any(|mark| line.contains(&format!("{mark}{word}{mark}")))
}

/// The known file that a line names: by its path, or by the end of a path if only one file matches.
fn in_line(line: &str, look: &Look) -> Option<String> {
    words(line).find_map(|word| known(word, look))
}

/// The new file that a line names.
fn new_in(line: &str, look: &Look, asked: &str) -> Option<String> {
    words(line).filter(|word| stands_out(line, word)).find_map(|word| new_file(word, look, asked))
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
    if let Some(exact) = paths(look).find(|path| *path == word) {
        return Some(exact.clone());
    }
    let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|head| head.ends_with('/'));
    // A folder that is there is not made up in front of a known path.
    let folder = word.rsplit_once('/').map(|(folder, _)| format!("{folder}/"));
    let is_folder = folder.is_some_and(|folder| paths(look).any(|path| path.starts_with(&folder)));
    let mut near = paths(look).filter(|path| ends(path, word) || !is_folder && ends(word, path));
    let first = near.next()?;
    near.next().is_none().then(|| first.clone())
}

/// The path of a new file: one that the issue names, or one next to known files of its kind. It is none of a known path's ends.
fn new_file(word: &str, look: &Look, asked: &str) -> Option<String> {
    let path = word.trim_start_matches("./");
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let own = kind(name).filter(|kind| !kind.is_empty());
    let is_beside = paths(look).any(|known| {
        let (dir, file) = known.rsplit_once('/').unwrap_or(("", known));
        dir == folder && kind(file) == own
    });
    let is_odd = own.is_none()
        || !is_plain(path)
        || path == EXAMPLE
        || path.split('/').any(|part| part.is_empty() || part.starts_with('.'));
    let is_an_end = paths(look).any(|known| known.strip_suffix(path).is_some_and(|head| head.ends_with('/')));
    let is_new_beside = is_beside && (!folder.is_empty() || !is_an_end);
    let is_named = || !is_an_end && words(asked).any(|word| word.trim_start_matches("./") == path);
    (!is_odd && (is_new_beside || is_named())).then(|| path.to_owned())
}

#[cfg(test)]
#[path = "paths_tests.rs"]
mod tests;
