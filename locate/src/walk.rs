//! The files of a tree and their texts.
//!
//! Leaves out what `.gitignore` matches, links, binaries and long files; number and bytes of files are limited. The order is deterministic.
//! Must not write, and must not leave the root. Tests: `tests/survey.rs`.

use std::io::Read;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use protocol::survey::MAX_PATH;

use crate::language::FileKind;
use crate::rules::{RULES, Rules, open_regular};

/// Longest file that is read, in bytes.
pub const LONGEST: u64 = 512 << 10;
/// The most files that are read.
pub const MOST: usize = 20_000;
/// The most bytes that are read.
pub const BYTES: u64 = 64 << 20;
/// The most entries of the tree that are visited.
const ENTRIES: usize = 400_000;

/// One file of the tree.
#[derive(Debug)]
pub struct Entry {
    /// Relative to the root, with `/`.
    pub path: String,
    pub kind: FileKind,
    pub bytes: u64,
}

/// The files below a root.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    /// Files that may be read: sources, then tests, then the rest; each group sorted by path.
    pub entries: Vec<Entry>,
    /// Number of files beyond a limit, or whose name is not UTF-8.
    pub passed_over: u64,
}

impl Tree {
    pub fn below(root: &Path) -> Self {
        let mut builder = WalkBuilder::new(root);
        // The rules are read here alone.
        builder.standard_filters(false).follow_links(false).sort_by_file_name(std::ffi::OsStr::cmp);
        if let Some(rules) = Rules::of_walk(root, &RULES[..1], false).or_else(|| Rules::of_walk(root, &[], false)) {
            builder.filter_entry(move |entry| rules.takes(entry));
        }
        let (mut entries, mut passed_over) = (Vec::new(), 0);
        for found in
            builder.build().take(ENTRIES).flatten().filter(|it| it.file_type().is_some_and(|kind| kind.is_file()))
        {
            let path = found.path().strip_prefix(root).ok().and_then(Path::to_str);
            let size = found.metadata().map(|it| it.len());
            match (path, size) {
                (Some(path), Ok(bytes)) if bytes <= LONGEST && fits(path) => {
                    entries.push(Entry { path: path.to_owned(), kind: FileKind::of(path), bytes });
                }
                _ => passed_over += 1,
            }
        }
        entries.sort_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
        let mut left = BYTES;
        let fit = entries
            .iter()
            .take(MOST)
            .take_while(|it| left.checked_sub(it.bytes).map(|rest| left = rest).is_some())
            .count();
        passed_over += (entries.len() - fit) as u64;
        entries.truncate(fit);
        Self { root: root.to_owned(), entries, passed_over }
    }

    /// A file's text, and whether it is exact UTF-8; `None` for a binary file, one that is too long as UTF-8, and one deleted meanwhile.
    pub fn read(&self, path: &str) -> Option<(String, bool)> {
        let mut bytes = Vec::new();
        open_regular(&self.root.join(path)).ok()??.take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
        if bytes.len() as u64 > LONGEST || bytes.iter().take(8 << 10).any(|&byte| byte == 0) {
            return None;
        }
        match String::from_utf8(bytes) {
            Ok(text) => Some((text, true)),
            Err(other) => {
                // Each byte of an older encoding may become three.
                let text = String::from_utf8_lossy(other.as_bytes()).into_owned();
                (text.len() as u64 <= LONGEST).then_some((text, false))
            }
        }
    }
}

/// Whether an answer can contain the path.
fn fits(path: &str) -> bool {
    path.len() <= MAX_PATH && !path.chars().any(char::is_control)
}
