//! Walks over what commits reach: the content of a pack, where it is cut, and what a store already has.
//!
//! Owns these walks; objects are read from the bot's own repositories as in `read.rs`. Must not write. Tests: `tests/trees/mirror.rs`.

use std::collections::{BTreeSet, HashSet, VecDeque};

use domain::Commit;
use git2::{ObjectType, Oid, Repository};

use super::read::{commit, oid};
use super::{GitError, PackBase, Repos};

impl Repos {
    /// The content of a pack of these commits, `depth` deep and without what `held` has.
    pub(super) async fn pack_content(
        &self,
        key: &str,
        commits: &[Commit],
        depth: u32,
        pack_base: Option<&PackBase>,
    ) -> Result<PackContent, GitError> {
        let tips: Vec<Oid> = commits.iter().map(oid).collect::<Result<_, _>>()?;
        let pack_base = pack_base.cloned();
        self.read(key, move |repo| pack_content(repo, tips, depth.max(1), pack_base.as_ref())).await
    }

    /// Ids of all objects that a commit reaches, including its history.
    ///
    /// # Errors
    /// When an object is missing.
    pub async fn reached(&self, key: &str, commit: &Commit) -> Result<BTreeSet<String>, GitError> {
        let id = oid(commit)?;
        self.read(key, move |repo| reached(repo, id)).await
    }
}

fn reached(repo: &Repository, commit: Oid) -> Result<BTreeSet<String>, GitError> {
    let (mut all, mut waiting) = (BTreeSet::new(), vec![(commit, Some(ObjectType::Commit))]);
    while let Some((id, kind)) = waiting.pop() {
        if !all.insert(id.to_string()) {
            continue;
        }
        match kind {
            Some(ObjectType::Commit) => {
                let commit = repo.find_commit(id)?;
                waiting.extend(commit.parent_ids().map(|id| (id, Some(ObjectType::Commit))));
                waiting.push((commit.tree_id(), Some(ObjectType::Tree)));
            }
            Some(ObjectType::Tree) => {
                let tree = repo.find_tree(id)?;
                // A submodule's commit is not in this repository.
                let own = tree.iter().filter(|entry| entry.kind() != Some(ObjectType::Commit));
                waiting.extend(own.map(|entry| (entry.id(), entry.kind())));
            }
            _ => {}
        }
    }
    Ok(all)
}

/// Content of a pack.
pub(super) struct PackContent {
    /// Commits that are missing in the store.
    pub commits: Vec<Commit>,
    /// Where it is cut: commits at the depth that have parents and are not in the store.
    pub shallow: Vec<Commit>,
    /// Trees of nearby commits in the store, whose content is not sent again.
    pub near: Vec<Oid>,
}

/// The most commits examined to find one in the store.
const NEARBY: usize = 10_000;

fn pack_content(
    repo: &Repository,
    tips: Vec<Oid>,
    depth: u32,
    pack_base: Option<&PackBase>,
) -> Result<PackContent, GitError> {
    let has = pack_base.map(|pack_base| closure(repo, pack_base)).transpose()?.unwrap_or_default();
    let lacking: Vec<Oid> = tips.into_iter().filter(|tip| !has.contains(tip)).collect();
    let mut near = Vec::new();
    if let Some(pack_base) = pack_base.filter(|_| !lacking.is_empty()) {
        near.push(repo.find_commit(oid(&pack_base.head)?)?.tree_id());
        let (mut waiting, mut seen) = (VecDeque::from(lacking.clone()), HashSet::new());
        while let Some(id) = waiting.pop_front().filter(|_| seen.len() < NEARBY) {
            match has.contains(&id) {
                true => near.push(repo.find_commit(id)?.tree_id()),
                false if seen.insert(id) => waiting.extend(repo.find_commit(id)?.parent_ids()),
                false => {}
            }
        }
        near.sort_unstable();
        near.dedup();
    }
    let commits = lacking.iter().copied().map(commit).collect::<Result<_, _>>()?;
    Ok(PackContent { commits, shallow: cut(repo, lacking, depth, &has)?, near })
}

/// Every commit in the store.
fn closure(repo: &Repository, pack_base: &PackBase) -> Result<HashSet<Oid>, GitError> {
    let ends: HashSet<Oid> = pack_base.shallow.iter().map(oid).collect::<Result<_, _>>()?;
    let (mut all, mut waiting) = (HashSet::new(), vec![oid(&pack_base.head)?]);
    while let Some(id) = waiting.pop() {
        if all.insert(id) && !ends.contains(&id) {
            waiting.extend(repo.find_commit(id)?.parent_ids());
        }
    }
    Ok(all)
}

fn cut(repo: &Repository, tips: Vec<Oid>, depth: u32, has: &HashSet<Oid>) -> Result<Vec<Commit>, GitError> {
    let (mut found, mut seen, mut level) = (Vec::new(), has.clone(), tips);
    for at in 1..=depth {
        let mut next = Vec::new();
        for id in level {
            if !seen.insert(id) {
                continue;
            }
            let parents: Vec<Oid> = repo.find_commit(id)?.parent_ids().collect();
            match (parents.iter().all(|id| has.contains(id)), at == depth) {
                (true, _) => {}
                (false, true) => found.push(commit(id)?),
                (false, false) => next.extend(parents.into_iter().filter(|id| !seen.contains(id))),
            }
        }
        level = next;
    }
    Ok(found)
}
