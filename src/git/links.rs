//! The symbolic links of a commit's tree.
//!
//! Owns finding them within limits, because a few small trees can contain more paths than can be walked. Must not follow one. Tests:
//! `src/effect/facts.rs`.

use std::collections::HashMap;

use domain::Commit;
use git2::{ObjectType, Oid, Repository};

use super::folders::Folders;
use super::read::oid;
use super::{GitError, Repos};

/// The mode of a link, as libgit2 gives it.
const LINK: i32 = 0o120_000;
/// The most entries examined.
const ENTRIES: usize = 500_000;
/// The most bytes of a target: no kernel follows a longer one.
const TARGET: usize = 4_096;
/// The most bytes of all paths and targets, because the same link can stand in every folder.
const ALL: usize = 16 << 20;

impl Repos {
    /// Targets of the symbolic links of a commit, by path; those that a limit leaves out are missing.
    ///
    /// # Errors
    /// When the commit, or a tree of it, is missing.
    pub async fn links(&self, key: &str, commit: &Commit) -> Result<HashMap<Vec<u8>, Vec<u8>>, GitError> {
        let id = oid(commit)?;
        self.read(key, move |repo| links_of(repo, repo.find_commit(id)?.tree_id())).await
    }
}

fn links_of(repo: &Repository, root: Oid) -> Result<HashMap<Vec<u8>, Vec<u8>>, GitError> {
    let (mut links, mut folders) = (HashMap::new(), Folders::of(root));
    let (mut seen, mut bytes, odb) = (0_usize, 0_usize, repo.odb()?);
    while let Some(folder) = folders.next() {
        for entry in &repo.find_tree(folder.id)? {
            seen += 1;
            if seen > ENTRIES {
                return Ok(links);
            }
            let is_tree = entry.kind() == Some(ObjectType::Tree);
            if !is_tree && entry.filemode() != LINK {
                continue;
            }
            let name = String::from_utf8_lossy(entry.name_bytes());
            let Some(path) = folder.path_of(&name) else { continue };
            if is_tree {
                folders.add(&folder, &path, entry.id());
                continue;
            }
            let size = odb.read_header(entry.id())?.0;
            if size <= TARGET && bytes + path.len() + size <= ALL {
                bytes += path.len() + size;
                links.insert(path.into_bytes(), odb.read(entry.id())?.data().to_vec());
            }
        }
    }
    Ok(links)
}
