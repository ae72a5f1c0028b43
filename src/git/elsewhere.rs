//! Content that a tree only refers to: submodules, and files stored by Git LFS; neither is ever fetched.
//!
//! Owns finding them, so that a person is told. Must not fetch anything. Tests: below and `tests/stories/elsewhere.rs`.

use domain::Commit;
use git2::{ObjectType, Repository};

use super::folders::Folders;
use super::read::oid;
use super::{GitError, Repos};

/// The most bytes read of a file of attributes.
const ATTRIBUTES: usize = 64 << 10;
/// The most entries examined, because a few small trees can contain more paths than can be walked.
const ENTRIES: usize = 500_000;
/// The most bytes of all files of attributes: the same one can stand in every folder.
const ALL_ATTRIBUTES: usize = 16 << 20;
/// The most that are kept of each kind, of which the first by name are named; the rest is counted.
const KEPT: usize = 1_000;
/// The most that are named of each kind; the rest is counted.
const NAMED: usize = 5;

/// Submodules and LFS patterns of a tree. Untrusted: escape before showing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Elsewhere {
    submodules: Named,
    /// Patterns of `.gitattributes` with LFS.
    lfs: Named,
    /// Files of attributes, submodules and folders that a limit left out.
    passed_over: usize,
}

/// Names of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Named {
    first: Vec<String>,
    more: usize,
}

impl Named {
    fn add(&mut self, name: impl FnOnce() -> String) {
        match self.first.len() < KEPT {
            true => self.first.push(name()),
            false => self.more += 1,
        }
    }
}

impl Elsewhere {
    /// A sentence for a person; none when the tree has neither.
    pub fn sentence(&self) -> Option<String> {
        let mut said = Vec::new();
        if !self.submodules.first.is_empty() {
            let named = named(&self.submodules);
            said.push(format!(
                "Submodules are not brought into sandboxes; their directories are empty there: {named}."
            ));
        }
        if !self.lfs.first.is_empty() {
            let named = named(&self.lfs);
            said.push(format!("Git LFS is not supported; sandboxes hold its pointers instead of the files: {named}."));
        }
        if self.passed_over > 0 {
            said.push(format!(
                "{} files or folders were not looked through for these: there are too many, or their paths are too long or too deep.",
                self.passed_over
            ));
        }
        (!said.is_empty()).then(|| said.join(" "))
    }
}

fn named(all: &Named) -> String {
    let mut text = all.first.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = all.first.len().saturating_sub(NAMED) + all.more;
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
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
    let (mut all, mut folders) = (Elsewhere::default(), Folders::of(root));
    let (mut seen, mut bytes, odb) = (0, 0, repo.odb()?);
    while let Some(folder) = folders.next() {
        if seen >= ENTRIES {
            all.passed_over += 1 + folders.waiting();
            break;
        }
        for entry in &repo.find_tree(folder.id)? {
            seen += 1;
            let name = String::from_utf8_lossy(entry.name_bytes());
            let Some(path) = folder.path_of(&name) else {
                all.passed_over += 1;
                continue;
            };
            match entry.kind() {
                Some(ObjectType::Commit) => all.submodules.add(|| path),
                Some(ObjectType::Tree) => all.passed_over += usize::from(!folders.add(&folder, &path, entry.id())),
                _ if name == ".gitattributes" => {
                    let size = odb.read_header(entry.id())?.0;
                    if size <= ATTRIBUTES && bytes + size <= ALL_ATTRIBUTES {
                        bytes += size;
                        let above = path.strip_suffix(".gitattributes").unwrap_or_default();
                        patterns(above, odb.read(entry.id())?.data(), &mut all.lfs);
                    } else {
                        all.passed_over += usize::from(size <= ATTRIBUTES);
                    }
                }
                _ => {}
            }
        }
    }
    all.submodules.first.sort();
    all.lfs.first.sort();
    Ok(all)
}

/// Adds the patterns in a file of attributes that use LFS.
fn patterns(above: &str, text: &[u8], found: &mut Named) {
    let text = String::from_utf8_lossy(text);
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let mut words = line.split_whitespace();
        if let Some(pattern) = words.next()
            && words.any(|word| word == "filter=lfs")
        {
            found.add(|| format!("{above}{pattern}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lfs_filters_is_its_own() {
        let text =
            b"# *.x filter=lfs\n*.psd filter=lfs diff=lfs -text\n*.txt text\n  big/** -text filter=lfs\nfilter=lfs\n";
        let mut found = Named::default();
        patterns("art/", text, &mut found);
        assert_eq!(found.first, ["art/*.psd", "art/big/**"]);
        let many = b"*.psd filter=lfs\n".repeat(KEPT + 3);
        patterns("", &many, &mut found);
        assert_eq!((found.first.len(), found.more), (KEPT, 5));
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
        let all = found(&repo, below).unwrap();
        assert!(all.passed_over > 0, "what was not looked at is counted");
        assert_eq!(all, Elsewhere { passed_over: all.passed_over, ..Elsewhere::default() });
    }

    #[test]
    fn what_is_named_is_bounded() {
        assert_eq!(Elsewhere::default().sentence(), None);
        let submodules = Named { first: (0..7).map(|n| format!("lib{n}")).collect(), more: 0 };
        let lfs = Named { first: vec!["*.psd".into()], more: 0 };
        let said = Elsewhere { submodules, lfs, passed_over: 0 }.sentence().unwrap();
        assert!(said.contains("lib0, lib1, lib2, lib3, lib4 and 2 more.") && said.ends_with("files: *.psd."), "{said}");
    }
}
