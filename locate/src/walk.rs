//! The files of a tree: which there are, and their texts.
//!
//! What `.gitignore` names, links, binaries and long files are left out; the number and the bytes that are read are bounded.
//! The order is the same for the same tree. Must not write, and must not leave the root. Tests: `tests/survey.rs`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use protocol::survey::MAX_PATH;

use crate::language::FileKind;

/// Longest file that is read, in bytes.
pub const LONGEST: u64 = 512 << 10;
/// Files that are read at most.
pub const MOST: usize = 20_000;
/// Bytes that are read at most.
pub const BYTES: u64 = 64 << 20;
/// Entries of the tree that are looked at at all.
const ENTRIES: usize = 400_000;

/// One file of the tree.
#[derive(Debug)]
pub struct Entry {
    /// Relative to the root, with `/`.
    pub path: String,
    pub kind: FileKind,
    pub bytes: u64,
}

/// What lies below a root.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    /// What may be read: sources first, then tests, then the rest; each by its path.
    pub entries: Vec<Entry>,
    /// Files past a bound, or whose name is no text.
    pub passed_over: u64,
}

impl Tree {
    pub fn below(root: &Path) -> Self {
        let mut builder = WalkBuilder::new(root);
        builder
            .hidden(false)
            .parents(false)
            .require_git(false)
            .git_global(false)
            .git_exclude(false)
            .follow_links(false);
        builder.ignore(false);
        builder.sort_by_file_name(std::ffi::OsStr::cmp).filter_entry(|entry| entry.file_name() != ".git");
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

    /// A file's text, and whether it is that to the letter; `None` for a binary and for what went meanwhile.
    pub fn read(&self, path: &str) -> Option<(String, bool)> {
        let mut bytes = Vec::new();
        File::open(self.root.join(path)).ok()?.take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
        if bytes.len() as u64 > LONGEST || bytes.iter().take(8 << 10).any(|&byte| byte == 0) {
            return None;
        }
        match String::from_utf8(bytes) {
            Ok(text) => Some((text, true)),
            Err(other) => Some((String::from_utf8_lossy(other.as_bytes()).into_owned(), false)),
        }
    }
}

/// A path that an answer can hold.
fn fits(path: &str) -> bool {
    path.len() <= MAX_PATH && !path.chars().any(char::is_control)
}
