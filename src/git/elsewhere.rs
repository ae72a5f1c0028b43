//! Content that a tree only refers to: submodules, and files stored by Git LFS; neither is ever fetched.
//!
//! Owns finding them, so that a person is told. Must not fetch anything. Tests: below and `tests/stories/elsewhere.rs`.

use domain::Commit;
use git2::{ObjectType, Repository};

use super::read::oid;
use super::{GitError, Repos};

/// The most bytes read of a file of attributes.
const ATTRIBUTES: usize = 64 << 10;
/// The most entries examined, because a few small trees can contain more paths than can be walked.
const ENTRIES: usize = 500_000;
/// The most that are named of each kind; the rest is counted.
const NAMED: usize = 5;

/// Submodules and LFS patterns of a tree. Untrusted: escape before showing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Elsewhere {
    submodules: Vec<String>,
    /// Patterns of `.gitattributes` with LFS.
    lfs: Vec<String>,
}

impl Elsewhere {
    /// A sentence for a person; none when the tree has neither.
    pub fn sentence(&self) -> Option<String> {
        let mut said = Vec::new();
        if !self.submodules.is_empty() {
            let named = named(&self.submodules);
            said.push(format!(
                "Submodules are not brought into sandboxes; their directories are empty there: {named}."
            ));
        }
        if !self.lfs.is_empty() {
            let named = named(&self.lfs);
            said.push(format!("Git LFS is not supported; sandboxes hold its pointers instead of the files: {named}."));
        }
        (!said.is_empty()).then(|| said.join(" "))
    }
}

fn named(all: &[String]) -> String {
    let mut text = all.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if all.len() > NAMED {
        text.push_str(&format!(" and {} more", all.len() - NAMED));
    }
    text
}

impl Repos {
    /// Submodules and LFS patterns in a commit's tree.
    ///
    /// # Errors
    /// When the commit, or a tree of it, is missing.
    pub async fn elsewhere(&self, key: &str, commit: &Commit) -> Result<Elsewhere, GitError> {
        let id = oid(commit)?;
        self.read(key, move |repo| found(repo, repo.find_commit(id)?.tree_id())).await
    }
}

fn found(repo: &Repository, root: git2::Oid) -> Result<Elsewhere, GitError> {
    let mut all = Elsewhere::default();
    let mut waiting = vec![(String::new(), root)];
    let mut seen = 0;
    while let Some((above, tree)) = waiting.pop().filter(|_| seen < ENTRIES) {
        for entry in &repo.find_tree(tree)? {
            seen += 1;
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            match entry.kind() {
                Some(ObjectType::Commit) => all.submodules.push(format!("{above}{name}")),
                Some(ObjectType::Tree) => waiting.push((format!("{above}{name}/"), entry.id())),
                _ if name == ".gitattributes" => {
                    let odb = repo.odb()?;
                    if odb.read_header(entry.id())?.0 <= ATTRIBUTES {
                        all.lfs.extend(patterns(&above, odb.read(entry.id())?.data()));
                    }
                }
                _ => {}
            }
        }
    }
    all.submodules.sort();
    all.lfs.sort();
    Ok(all)
}

/// Patterns in a file of attributes that use LFS.
fn patterns(above: &str, text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let mut words = line.split_whitespace();
        if let Some(pattern) = words.next()
            && words.any(|word| word == "filter=lfs")
        {
            found.push(format!("{above}{pattern}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lfs_filters_is_its_own() {
        let text =
            b"# *.x filter=lfs\n*.psd filter=lfs diff=lfs -text\n*.txt text\n  big/** -text filter=lfs\nfilter=lfs\n";
        assert_eq!(patterns("art/", text), ["art/*.psd", "art/big/**"]);
    }

    #[test]
    fn a_bomb_of_trees_ends() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(dir.path()).unwrap();
        let mut below = repo.blob(b"x").unwrap();
        for level in 0..12 {
            let mut tree = repo.treebuilder(None).unwrap();
            for number in 0..10 {
                tree.insert(format!("{number}"), below, if level == 0 { 0o100644 } else { 0o040000 }).unwrap();
            }
            below = tree.write().unwrap();
        }
        assert_eq!(found(&repo, below).unwrap(), Elsewhere::default());
    }

    #[test]
    fn what_is_named_is_bounded() {
        assert_eq!(Elsewhere::default().sentence(), None);
        let submodules: Vec<String> = (0..7).map(|n| format!("lib{n}")).collect();
        let said = Elsewhere { submodules, lfs: vec!["*.psd".into()] }.sentence().unwrap();
        assert!(said.contains("lib0, lib1, lib2, lib3, lib4 and 2 more.") && said.ends_with("files: *.psd."), "{said}");
    }
}
