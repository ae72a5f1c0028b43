//! Names that may mislead a person, a shell or a file system.
//!
//! Owns hidden characters, names that other systems treat as `.git` or as equal, and lengths. Tests: `tests.rs`.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use unicode_normalization::UnicodeNormalization;

use super::Limits;
use crate::git::listing::{Change, DIRECTORY, Entry};
use crate::text::is_hidden;

/// A path for a sentence: printable ASCII and plain letters are kept, everything else is escaped; at most 200 characters.
pub fn shown(path: &[u8]) -> String {
    let mut out = String::from("`");
    for chunk in path.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '`' || c == '\\' || is_hidden(c) || (c.is_whitespace() && c != ' ') {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            } else {
                out.push(c);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    if out.chars().count() > 200 {
        out = out.chars().take(200).collect();
        out.push('…');
    }
    out.push('`');
    out
}

/// Normal form in which names that are the same file on some system are equal: lower case, composed, without ignored characters.
pub fn fold(path: &[u8]) -> String {
    if path.is_ascii() {
        return String::from_utf8_lossy(path).to_ascii_lowercase();
    }
    let text = String::from_utf8_lossy(path);
    let seen: String = text.chars().filter(|c| !ignorable(*c)).collect();
    // Normalized twice, because the lower case of a composed letter may be decomposed (İ).
    let lower: String = seen.nfkc().flat_map(char::to_lowercase).collect();
    lower.replace('ß', "ss").replace('ſ', "s").replace('ς', "σ").nfkc().collect()
}

/// Characters that HFS+ ignores when it compares names.
fn ignorable(c: char) -> bool {
    matches!(u32::from(c), 0x200C..=0x200F | 0x202A..=0x202E | 0x206A..=0x206F | 0xFEFF)
}

/// Why new paths may not have their names. `entries`: the whole new tree. What a directory is called that was there before is the project's
/// business.
pub fn wrong_names(changes: &[Change], entries: &[Entry], limits: &Limits) -> Vec<String> {
    let added: HashSet<&[u8]> = changes.iter().filter(|c| c.status == 'A').map(|c| c.path.as_slice()).collect();
    let wrong: Vec<&[u8]> = added.iter().copied().filter(|path| !wrong_name(path, limits).is_empty()).collect();
    if wrong.is_empty() {
        return Vec::new();
    }
    let files = entries.iter().filter(|entry| entry.mode != DIRECTORY).map(|entry| entry.path.as_slice());
    let before = files.chain(changes.iter().map(|change| change.path.as_slice())).filter(|path| !added.contains(path));
    let directories: HashSet<&[u8]> = before.flat_map(above).collect();
    let known = |path| {
        let deepest = above(path).filter(|dir| directories.contains(dir)).last();
        deepest.map_or(0, |dir| dir.len() + 1)
    };
    wrong.into_iter().flat_map(|path| wrong_behind(path, known(path), limits)).collect()
}

/// Why a new path may not have this name.
pub fn wrong_name(path: &[u8], limits: &Limits) -> Vec<String> {
    wrong_behind(path, 0, limits)
}

/// As [`wrong_name`]; the first `known` bytes, with a slash at their end, were there before.
fn wrong_behind(path: &[u8], known: usize, limits: &Limits) -> Vec<String> {
    let name = shown(path);
    let Ok(text) = std::str::from_utf8(path) else {
        return vec![format!("the name {name} is not UTF-8")];
    };
    let new = &text[known..];
    let mut reasons = Vec::new();
    if path.len() > limits.path_bytes {
        reasons.push(format!("the path {name} has {} bytes; at most {} are taken", path.len(), limits.path_bytes));
    }
    let depth = text.split('/').count();
    if depth > limits.depth {
        reasons.push(format!("{name} lies {} directories deep; at most {} are taken", depth - 1, limits.depth));
    }
    if new.chars().any(is_hidden) {
        reasons
            .push(format!("the name {name} holds characters that nobody sees (control, bidirectional or zero-width)"));
    }
    if known == 0 && text.starts_with('-') {
        reasons.push(format!("the name {name} starts with `-`: programs read it as an option"));
    }
    for why in new.split('/').filter_map(wrong_part) {
        reasons.push(format!("the name {name} {why}"));
    }
    reasons
}

/// Why a part of a path may not have this name, as the end of a sentence that begins "the name … ".
fn wrong_part(part: &str) -> Option<&'static str> {
    let folded = fold(part.as_bytes());
    let bare = folded.trim_end_matches(['.', ' ']);
    let stem = bare.split(['.', ':']).next().unwrap_or_default();
    if part.is_empty() || part == "." || part == ".." {
        return Some("has a part that means another directory");
    }
    if part.len() > 255 {
        return Some("has a part longer than 255 bytes, which file systems cannot store");
    }
    if bare == ".git" || bare.starts_with(".git:") || short_git(bare) {
        return Some("is read as `.git` on some systems");
    }
    if part.contains('\\') {
        return Some("holds a backslash, which other systems read as a directory");
    }
    if part.contains(':') && part.chars().any(|c| c == '$') {
        return Some("names a hidden stream of another file on some systems");
    }
    if part.ends_with('.') || part.ends_with(' ') || part.starts_with(' ') {
        return Some("starts or ends with a space or ends with a dot, which some systems drop");
    }
    if ["con", "prn", "aux", "nul", "conin$", "conout$"].contains(&stem) || device(stem) {
        return Some("is a device on some systems");
    }
    None
}

/// `git~1` and similar: the short names that NTFS gives to `.git`, `.gitmodules` and `.gitattributes`.
fn short_git(folded: &str) -> bool {
    let Some((head, tail)) = folded.split_once('~') else { return false };
    let number = !tail.is_empty() && tail.bytes().all(|b| b.is_ascii_digit());
    number && matches!(head, "git" | "gitmod" | "gitatt" | "gi7eba" | "gi7d29")
}

fn device(stem: &str) -> bool {
    let digit = |rest: &str| rest.len() == 1 && rest.bytes().all(|b| b.is_ascii_digit());
    ["com", "lpt"].iter().any(|kind| stem.strip_prefix(kind).is_some_and(digit))
}

/// The directories above a path, the outermost first.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &path[..end])
}

/// A path and the directories above it.
fn upwards(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    above(path).chain([path])
}

/// Different paths that are the same file on systems that fold case or compose letters, if one of them is new.
pub fn twins<'a>(paths: impl Iterator<Item = &'a [u8]>, added: &HashSet<&[u8]>) -> Vec<String> {
    // Only paths equal to a new path, or to a directory above one, are relevant.
    let mut groups: HashMap<String, Vec<&'a [u8]>> =
        added.iter().flat_map(|path| upwards(path)).map(|path| (fold(path), Vec::new())).collect();
    for path in paths {
        if let Some(group) = groups.get_mut(&fold(path)) {
            group.push(path);
        }
    }
    let new_below = |dir: &[u8]| {
        let inside = |path: &&[u8]| path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest[0] == b'/');
        added.iter().any(inside)
    };
    let mut reasons: Vec<String> = groups
        .into_values()
        .filter(|group| group.len() > 1 && group.iter().any(|path| new_below(path)))
        .map(|mut group| {
            group.sort_unstable();
            let names: Vec<String> = group.iter().take(3).map(|path| shown(path)).collect();
            format!("{} are one and the same file on some systems (case or Unicode form)", names.join(" and "))
        })
        .collect();
    reasons.sort();
    reasons
}
