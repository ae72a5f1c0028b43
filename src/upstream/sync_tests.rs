//! Bringing a copy in step with an upstream, as two bare repositories.

use super::sync::{BranchRelation, Copy, Moved, Synced, Tags};
use crate::git::{Branch, RemoteUrl, Repos};
use domain::Commit;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An upstream, and a copy of it on "the forge", as two bare repositories; commits are made in a clone of each.
struct Pair {
    dir: tempfile::TempDir,
    repos: Repos,
}

fn git(at: &Path, args: &[&str]) -> String {
    let done = Command::new("git").current_dir(at).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

impl Pair {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["upstream", "forge"] {
            git(dir.path(), &["init", "-q", "--bare", "--initial-branch=main", &format!("{name}.git")]);
        }
        let repos = Repos::new(dir.path().join("repos"));
        let pair = Self { dir, repos };
        pair.commit("upstream", "main", "one");
        pair
    }

    fn bare(&self, name: &str) -> PathBuf {
        self.dir.path().join(format!("{name}.git"))
    }

    /// A commit on top of a branch of one of the two.
    fn commit(&self, name: &str, branch: &str, what: &str) -> Commit {
        let bare = self.bare(name);
        let tree = git(&bare, &["mktree"]);
        let old =
            Command::new("git").current_dir(&bare).args(["rev-parse", "-q", "--verify", branch]).output().unwrap();
        let old = String::from_utf8_lossy(&old.stdout).trim().to_owned();
        let mut args = vec!["-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", &tree, "-m", what];
        if !old.is_empty() {
            args.extend(["-p", &old]);
        }
        let new = git(&bare, &args);
        git(&bare, &["update-ref", &format!("refs/heads/{branch}"), &new]);
        Commit::parse(&new).unwrap()
    }

    fn at(&self, name: &str, what: &str) -> String {
        git(&self.bare(name), &["rev-parse", what])
    }

    async fn run(&self, branches: &[&str], rewritten: Option<&Commit>) -> Synced {
        let url = |name: &str| RemoteUrl::parse(&self.bare(name).display().to_string()).unwrap();
        let (from, to) = (url("upstream"), url("forge"));
        let branches: Vec<Branch> = branches.iter().map(|name| Branch::parse(name).unwrap()).collect();
        let copy = Copy { key: "shop", from: (&from, None), to: (&to, None), branches: &branches };
        let seen = copy.look(&self.repos).await.unwrap();
        let compared = copy.compare_seen(&self.repos, &seen).await.unwrap();
        let rewritten = rewritten.map(|commit| (&branches[0], commit));
        let synced = copy.sync_seen(&self.repos, &seen, rewritten).await.unwrap();
        assert!(!seen.is_in_step(&branches) || !synced.brought(), "what is in step needs nothing: {synced:?}");
        let left = |synced: &Synced| -> Vec<BranchRelation> {
            let of = |moved: &Moved| match moved {
                Moved::Left(standing) | Moved::Brought(standing) => standing.clone(),
                Moved::Raced => panic!("nobody else is here"),
            };
            synced.branches.iter().map(|(_, moved)| of(moved)).collect()
        };
        assert_eq!(left(&compared), left(&synced), "what is compared is what is acted on");
        assert!(!compared.branches.iter().any(|(_, moved)| matches!(moved, Moved::Brought(_))));
        assert_eq!(compared.tags.differ, synced.tags.differ);
        synced
    }

    async fn only(&self, rewritten: Option<&Commit>) -> Moved {
        self.run(&["main"], rewritten).await.branches.remove(0).1
    }
}

#[tokio::test]
async fn a_branch_is_moved_forward_and_nothing_else_happens_to_it() {
    let pair = Pair::new();
    assert!(matches!(pair.only(None).await, Moved::Brought(BranchRelation::New(_))));
    assert!(matches!(pair.only(None).await, Moved::Left(BranchRelation::Same(_))));
    pair.commit("upstream", "main", "two");
    let three = pair.commit("upstream", "main", "three");
    let moved = pair.only(None).await;
    assert!(
        matches!(&moved, Moved::Brought(BranchRelation::Behind { commits: 2, to, .. }) if *to == three),
        "{moved:?}"
    );
    assert_eq!(pair.at("forge", "main"), three.as_str());
    // What was pushed to the forge stays there.
    let own = pair.commit("forge", "main", "own");
    assert_eq!(pair.only(None).await, Moved::Left(BranchRelation::Ahead { ours: own.clone(), commits: 1 }));
    assert_eq!((pair.at("forge", "main"), pair.at("upstream", "main")), (own.to_string(), three.to_string()));
    let four = pair.commit("upstream", "main", "four");
    let rewritten = BranchRelation::Rewritten { ours: own.clone(), theirs: four.clone(), lost: 1 };
    assert_eq!(pair.only(None).await, Moved::Left(rewritten.clone()));
    assert_eq!(pair.only(Some(&three)).await, Moved::Left(rewritten.clone()), "another commit was named");
    assert_eq!(pair.at("forge", "main"), own.to_string());
    assert_eq!(pair.only(Some(&four)).await, Moved::Brought(rewritten));
    assert_eq!(pair.at("forge", "main"), four.to_string());
}

#[tokio::test]
async fn chosen_branches_come_and_others_do_not() {
    let pair = Pair::new();
    for branch in ["dev", "agent/7-fix", "other"] {
        pair.commit("upstream", branch, branch);
    }
    let synced = pair.run(&["main", "dev", "gone"], None).await;
    assert!(matches!(synced.branches[1].1, Moved::Brought(BranchRelation::New(_))), "{synced:?}");
    assert_eq!(synced.branches[2].1, Moved::Left(BranchRelation::Gone));
    assert_eq!(git(&pair.bare("forge"), &["for-each-ref", "--format=%(refname:short)"]), "dev\nmain");
    assert_eq!(synced.other_head, None);
    git(&pair.bare("upstream"), &["symbolic-ref", "HEAD", "refs/heads/dev"]);
    let other = pair.run(&["main"], None).await.other_head;
    assert_eq!(other.as_ref().map(Branch::as_str), Some("dev"));
}

#[tokio::test]
async fn long_names_come_as_any_others() {
    let pair = Pair::new();
    let names = [50, 126, 200].map(|bytes| "x".repeat(bytes));
    for name in &names {
        let commit = pair.commit("upstream", name, "long");
        git(&pair.bare("upstream"), &["tag", &name.replacen('x', "v", 1), commit.as_str()]);
    }
    let branches: Vec<&str> = names.iter().map(String::as_str).collect();
    let synced = pair.run(&branches, None).await;
    let came = |moved: &Moved| matches!(moved, Moved::Brought(BranchRelation::New(_)));
    assert!(synced.branches.iter().all(|(_, moved)| came(moved)), "{synced:?}");
    assert_eq!(synced.tags, Tags { new: 3, ..Tags::default() });
    for name in branches {
        assert_eq!(pair.at("forge", name), pair.at("upstream", name));
    }
}

#[tokio::test]
async fn tags_are_added_and_never_moved() {
    let pair = Pair::new();
    git(&pair.bare("upstream"), &["tag", "v1", "main"]);
    git(&pair.bare("upstream"), &["-c", "user.name=a", "-c", "user.email=a@b", "tag", "-a", "-m", "x", "v2", "main"]);
    assert_eq!(pair.run(&["main"], None).await.tags, Tags { new: 2, ..Tags::default() });
    assert_eq!(pair.at("forge", "v2"), pair.at("upstream", "v2"), "the tag's own object");
    let v1 = pair.at("forge", "v1");
    let two = pair.commit("upstream", "main", "two");
    git(&pair.bare("upstream"), &["tag", "-f", "v1", two.as_str()]);
    git(&pair.bare("upstream"), &["tag", "v3", two.as_str()]);
    let tags = pair.run(&["main"], None).await.tags;
    assert_eq!(tags, Tags { new: 1, differ: vec![Branch::parse("v1").unwrap()], ..Tags::default() });
    assert_eq!((pair.at("forge", "v1"), pair.at("forge", "v3")), (v1, two.to_string()));
    // What is in the way on the forge, or has a name that git takes and a text does not, keeps no other back.
    git(&pair.bare("upstream"), &["tag", "-d", "v3"]);
    git(&pair.bare("upstream"), &["tag", "v3/one", two.as_str()]);
    git(&pair.bare("upstream"), &["tag", "v4", two.as_str()]);
    let name = std::os::unix::ffi::OsStrExt::from_bytes(b"refs/tags/caf\xe9");
    let name: &std::ffi::OsStr = name;
    let mut odd = Command::new("git");
    odd.current_dir(pair.bare("upstream")).arg("update-ref").arg(name).arg(two.as_str());
    assert!(odd.status().unwrap().success());
    let tags = pair.run(&["main"], None).await.tags;
    assert_eq!((tags.new, tags.failed.len()), (1, 1), "{tags:?}");
    assert!(tags.failed[0].0.as_str() == "v3/one" && pair.at("forge", "v4") == two.to_string());
    let three = pair.commit("upstream", "main", "three");
    assert!(matches!(pair.only(None).await, Moved::Brought(BranchRelation::Behind { to, .. }) if to == three));
}

/// Otherwise a tag that moves at each release would cost a request of GitHub's limit at each comparison, for ever.
#[tokio::test]
async fn a_tag_that_was_moved_upstream_leaves_nothing_to_bring() {
    let pair = Pair::new();
    git(&pair.bare("upstream"), &["tag", "latest", "main"]);
    pair.run(&["main"], None).await;
    let two = pair.commit("upstream", "main", "two");
    git(&pair.bare("upstream"), &["tag", "-f", "latest", two.as_str()]);
    let synced = pair.run(&["main"], None).await;
    assert_eq!(synced.tags.differ, [Branch::parse("latest").unwrap()]);
    let (from, to) = (pair.bare("upstream").display().to_string(), pair.bare("forge").display().to_string());
    let (from, to) = (RemoteUrl::parse(&from).unwrap(), RemoteUrl::parse(&to).unwrap());
    let branches = [Branch::parse("main").unwrap()];
    let copy = Copy { key: "shop", from: (&from, None), to: (&to, None), branches: &branches };
    assert!(copy.look(&pair.repos).await.unwrap().is_in_step(&branches));
}

/// More than are pushed at once, and more refusals than one round tries.
#[tokio::test]
async fn many_tags_that_the_forge_refuses_keep_no_other_back() {
    let pair = Pair::new();
    let (upstream, commit) = (pair.bare("upstream"), pair.at("upstream", "main"));
    let names: Vec<String> =
        (0..250).map(|n| format!("bad/{n:03}")).chain((0..5).map(|n| format!("good/{n}"))).collect();
    let lines: String = names.iter().map(|name| format!("create refs/tags/{name} {commit}\n")).collect();
    let list = pair.dir.path().join("list");
    std::fs::write(&list, lines).unwrap();
    let mut made = Command::new("git");
    made.current_dir(&upstream).args(["update-ref", "--stdin"]).stdin(std::fs::File::open(&list).unwrap());
    assert!(made.status().unwrap().success());
    let hook = pair.bare("forge").join("hooks/update");
    std::fs::write(&hook, "#!/bin/sh\ncase $1 in refs/tags/bad/*) echo protected >&2; exit 1;; esac\n").unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let tags = pair.run(&["main"], None).await.tags;
    assert!(!tags.failed.is_empty(), "{tags:?}");
    for n in 0..5 {
        assert_eq!(pair.at("forge", &format!("refs/tags/good/{n}")), commit);
    }
}

#[tokio::test]
async fn a_branch_that_somebody_moves_meanwhile_is_left() {
    let pair = Pair::new();
    pair.only(None).await;
    let two = pair.commit("upstream", "main", "two");
    let (from, to) = (pair.bare("upstream"), pair.bare("forge"));
    let (from, to) = (RemoteUrl::parse(&from.display().to_string()), RemoteUrl::parse(&to.display().to_string()));
    let (from, to, branches) = (from.unwrap(), to.unwrap(), [Branch::parse("main").unwrap()]);
    let copy = Copy { key: "shop", from: (&from, None), to: (&to, None), branches: &branches };
    let both = copy.look(&pair.repos).await.unwrap();
    let seen = copy.compare_seen(&pair.repos, &both).await.unwrap().branches.remove(0).1;
    let Moved::Left(standing) = seen else { panic!("{seen:?}") };
    let own = pair.commit("forge", "main", "own");
    assert_eq!(copy.bring(&pair.repos, &branches[0], standing, None).await.unwrap(), Moved::Raced);
    assert_eq!(pair.at("forge", "main"), own.to_string(), "not {two}");
}
