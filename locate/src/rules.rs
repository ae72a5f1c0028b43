//! Which directories a walk may enter: not `.git`, and none whose ignore rules are no regular file or too long, because opening a pipe waits
//! without end, and a line of any length is read into memory.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use ignore::DirEntry;

/// Files of rules that a walk may read.
pub const RULES: [&str; 2] = [".gitignore", ".ignore"];
/// Longest file of rules that a walk reads, in bytes.
pub const LONGEST_RULES: u64 = 256 << 10;

/// Whether one of these files of rules in this directory is longer than a walk reads, or no regular file and not switched off by a link to
/// `/dev/null`.
pub fn has_odd_rules(directory: &Path, names: &[&str]) -> bool {
    let is_null = |found: &Metadata| {
        found.file_type().is_char_device()
            && Path::new("/dev/null").metadata().is_ok_and(|it| it.rdev() == found.rdev())
    };
    let is_odd = |name: &&str| {
        directory.join(name).metadata().is_ok_and(|found| match found.is_file() {
            true => found.len() > LONGEST_RULES,
            false => !found.is_dir() && !is_null(&found),
        })
    };
    names.iter().any(is_odd)
}

/// Whether a walk that reads these files of rules takes this entry. It is not asked about the walk's root: see [`has_odd_rules`].
pub fn may_enter(entry: &DirEntry, names: &[&str]) -> bool {
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    entry.file_name() != ".git" && !(is_directory && has_odd_rules(entry.path(), names))
}
