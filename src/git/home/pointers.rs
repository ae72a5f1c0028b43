//! Files that Git LFS keeps: a commit has a pointer to each, a clone the file itself.
//!
//! Owns telling such a file from an edit, because no filter runs here. Must not fetch or write anything. Tests: below and
//! `tests/trees/edits.rs`.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{Home, os_path};
use crate::git::GitError;
use crate::git::listing::{Change, parse_batch};

/// First line of each pointer.
const VERSION: &str = "version https://git-lfs.github.com/spec/v1";
/// The longest one, in bytes.
const LONGEST: u64 = 1024;

/// The file that a pointer names.
#[derive(Debug, PartialEq, Eq)]
struct Pointer {
    /// SHA-256 of its content, in hexadecimal.
    digest: String,
    bytes: u64,
}

impl Pointer {
    /// None of any other text.
    fn parse(text: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(text).ok()?.lines();
        if lines.next()? != VERSION {
            return None;
        }
        let (mut digest, mut bytes) = (None, None);
        for line in lines {
            match line.split_once(' ')? {
                ("oid", id) => digest = Some(id.strip_prefix("sha256:")?.to_owned()),
                ("size", size) => bytes = Some(size.parse().ok()?),
                _ => {}
            }
        }
        Some(Self { digest: digest?, bytes: bytes? })
    }

    /// Whether the file at this path is the one.
    fn names(&self, path: &Path) -> io::Result<bool> {
        let found = path.symlink_metadata()?;
        if !found.is_file() || found.len() != self.bytes {
            return Ok(false);
        }
        let (mut file, mut hash, mut part) = (File::open(path)?, Sha256::new(), vec![0; 1 << 16]);
        loop {
            match file.read(&mut part)? {
                0 => return Ok(hex::encode(hash.finalize()) == self.digest),
                count => hash.update(&part[..count]),
            }
        }
    }
}

impl Home {
    /// Leaves out those of a tree's `changes` in `dir` where a file stands in the place of its pointer.
    pub(super) async fn without_lfs_files(&self, dir: &Path, changes: Vec<Change>) -> Result<Vec<Change>, GitError> {
        let pointers = self.pointers(&changes).await?;
        if pointers.is_empty() {
            return Ok(changes);
        }
        let dir = dir.to_owned();
        let compare = move || {
            let is_file_of = |change: &Change| {
                let pointer = pointers.get(&change.old_id).filter(|_| change.old_mode == change.new_mode);
                // One that cannot be read counts as an edit.
                pointer.is_some_and(|pointer| pointer.names(&dir.join(os_path(&change.path))).unwrap_or(false))
            };
            changes.into_iter().filter(|change| !is_file_of(change)).collect()
        };
        tokio::task::spawn_blocking(compare).await.map_err(|e| GitError::Io(e.to_string()))
    }

    /// The pointers among what these changes are compared with, by id.
    async fn pointers(&self, changes: &[Change]) -> Result<HashMap<String, Pointer>, GitError> {
        let modified = changes.iter().filter(|change| change.status == 'M');
        let ids: BTreeSet<&str> = modified.map(|change| change.old_id.as_str()).collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let sizes = self.cat("--batch-check", &Vec::from_iter(ids)).await?;
        let sizes = String::from_utf8_lossy(&sizes);
        let small: Vec<&str> = sizes.lines().filter_map(small).collect();
        if small.is_empty() {
            return Ok(HashMap::new());
        }
        let texts = parse_batch(&self.cat("--batch", &small).await?).map_err(GitError::Io)?;
        let pointer = |(id, text): (&str, Vec<u8>)| Some((id.to_owned(), Pointer::parse(&text)?));
        Ok(small.into_iter().zip(texts).filter_map(pointer).collect())
    }
}

/// The id of a blob that may be a pointer: `<id> blob <size>`.
fn small(line: &str) -> Option<&str> {
    let (id, size) = line.split_once(" blob ")?;
    size.parse().is_ok_and(|bytes: u64| bytes <= LONGEST).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_names_one_file_and_another_text_none() {
        let digest = "6b752a24800f687461413179918b18b93b11a6e3b72cdf27efdbac90fde4d311";
        let text = format!("{VERSION}\noid sha256:{digest}\nsize 7\n");
        let pointer = Pointer::parse(text.as_bytes()).expect("a pointer");
        assert_eq!(pointer, Pointer { digest: digest.to_owned(), bytes: 7 });
        let dir = tempfile::tempdir().expect("a directory");
        let at = dir.path().join("art.bin");
        for (content, is) in [("pixels\n", true), ("PIXELS\n", false), ("pixels", false)] {
            std::fs::write(&at, content).expect("written");
            assert_eq!(pointer.names(&at).expect("read"), is, "{content:?}");
        }
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&at, &link).expect("a link");
        assert!(!pointer.names(&link).expect("looked at") && pointer.names(&dir.path().join("none")).is_err());
        for other in ["", "x\n", VERSION, &text.replace("sha256:", "md5:"), &text.replace("size 7", "size x")] {
            assert_eq!(Pointer::parse(other.as_bytes()), None, "{other:?}");
        }
        assert_eq!([small("a blob 1024"), small("a blob 1025"), small("a missing")], [Some("a"), None, None]);
    }
}
