//! `caisson fetch`: what is fetched, and what is refused without touching the clone.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use async_trait::async_trait;
use caisson::fetch::{ApprovalState, Approved, ApprovedSource, Brought, FetchRequest, Offer, Refusal, fetch};
use caisson::git::Branch;
use domain::{Commit, UpstreamChecks, Verdict, VerdictKind};

use crate::world::{FILES, commit, git, git_command, git_in, head, project, url, write};

const BRANCH: &str = "agent/7-fix";

/// A forge with the agent's branch, a developer's clone beside it, and a bot that answers from fields.
pub struct Home {
    pub dir: tempfile::TempDir,
    pub offer: Offer,
    /// What other repositories have of the same branch.
    pub others: Vec<Offer>,
    pub standing: ApprovalState,
    pub delivered: Mutex<Vec<Commit>>,
    /// What it was told of the upstream's CI.
    pub told: Mutex<Vec<UpstreamChecks>>,
}

#[async_trait]
impl ApprovedSource for Home {
    async fn offers(&self, branch: &Branch, repository: Option<&str>) -> Result<Vec<Offer>, String> {
        let all = std::iter::once(&self.offer).chain(&self.others);
        let meant = |it: &&Offer| it.branch == *branch && repository.is_none_or(|key| key == it.repository);
        Ok(all.filter(meant).cloned().collect())
    }

    async fn standing(&self, _offer: &Offer) -> Result<ApprovalState, String> {
        Ok(self.standing.clone())
    }

    async fn delivered(&self, _offer: &Offer, commit: &Commit) -> Result<(), String> {
        self.delivered.lock().unwrap().push(commit.clone());
        Ok(())
    }

    async fn upstream_ci(&self, _offer: &Offer, said: UpstreamChecks) -> Result<(), String> {
        self.told.lock().unwrap().push(said);
        Ok(())
    }
}

fn verdict(kind: VerdictKind) -> Verdict {
    Verdict {
        kind,
        command: None,
        origin: None,
        exit_code: None,
        base_exit_code: None,
        tail: String::new(),
        duration_ms: 0,
        ..Verdict::default()
    }
}

impl Home {
    /// The agent's branch changes `files` on top of the base.
    pub fn new(files: &[(&str, &str)]) -> Self {
        Self::with(|dir| {
            commit(dir, files, "work");
        })
    }

    pub fn with(work: impl FnOnce(&Path)) -> Self {
        Self::on(|forge| project(forge, FILES), work)
    }

    /// As [`Home::with`], on another base.
    pub fn on(begin: impl FnOnce(&Path) -> Commit, work: impl FnOnce(&Path)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let forge = dir.path().join("forge");
        let base = begin(&forge);
        git(dir.path(), &["clone", "--quiet", "forge", "clone"]);
        git(&forge, &["checkout", "--quiet", "-b", BRANCH]);
        work(&forge);
        let tip = head(&forge);
        let offer = Offer {
            task: 7,
            repository: "shop".to_owned(),
            title: "Fix the sum".to_owned(),
            branch: Branch::parse(BRANCH).unwrap(),
            url: url(&forge),
            auth: None,
            base,
            newest: tip.clone(),
            approved: Some(Approved { commit: tip, by: "alice".to_owned() }),
            unapproved: None,
            verdict: Some(verdict(VerdictKind::Passed)),
            upstream: None,
        };
        Self {
            dir,
            offer,
            others: Vec::new(),
            standing: ApprovalState::Stands { by: "alice".to_owned() },
            delivered: Mutex::default(),
            told: Mutex::default(),
        }
    }

    pub fn clone_dir(&self) -> PathBuf {
        self.dir.path().join("clone")
    }

    pub fn request(&self) -> FetchRequest {
        FetchRequest { clone: self.clone_dir(), branch: BRANCH.to_owned(), ..FetchRequest::default() }
    }

    pub async fn brought(&self, request: &FetchRequest) -> Brought {
        fetch(request, self).await.unwrap_or_else(|e| panic!("{e:?}"))
    }

    /// Expects a refusal, with files, refs and index of the clone unchanged.
    pub async fn refused(&self, request: &FetchRequest) -> Refusal {
        let before = self.look();
        let refusal = fetch(request, self).await.expect_err("refused");
        assert_eq!(self.look(), before, "the clone was touched");
        assert!(self.delivered.lock().unwrap().is_empty());
        refusal
    }

    pub fn look(&self) -> Vec<(PathBuf, Vec<u8>)> {
        fn walk(dir: &Path, seen: &mut Vec<(PathBuf, Vec<u8>)>) {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    walk(&path, seen);
                } else {
                    seen.push((path.clone(), std::fs::read(&path).unwrap_or_default()));
                }
            }
        }
        let mut seen = Vec::new();
        walk(&self.clone_dir(), &mut seen);
        seen.sort();
        seen
    }
}

pub fn fixed() -> Vec<(&'static str, &'static str)> {
    vec![("sum.py", "def add(a, b):\n    return a + b\n"), ("new/file.txt", "new\n")]
}

#[tokio::test]
async fn a_clean_clone_gets_unstaged_changes() {
    let home = Home::with(|dir| {
        commit(dir, &fixed(), "one");
        std::fs::remove_file(dir.join("README.md")).unwrap();
        commit(dir, &[("build/kept.txt", "changed\n")], "two");
    });
    let brought = home.brought(&home.request()).await;
    assert!(!brought.merged && brought.warnings.is_empty() && brought.branch.is_none());
    let clone = home.clone_dir();
    assert_eq!(
        git(&clone, &["status", "--short", "-uall"]),
        " D README.md\n M build/kept.txt\n M sum.py\n?? new/file.txt"
    );
    assert!(std::fs::read_to_string(clone.join("sum.py")).unwrap().contains("a + b"));
    assert_eq!(*home.delivered.lock().unwrap(), std::slice::from_ref(&home.offer.newest));
    assert_eq!(
        git(&clone, &["for-each-ref", "--format=%(refname)"]).lines().count(),
        3,
        "main, origin/HEAD, origin/main"
    );
}

#[tokio::test]
async fn as_a_branch_the_work_tree_stays() {
    let home = Home::new(&fixed());
    write(&home.clone_dir(), "sum.py", "my own unfinished work\n");
    let request = FetchRequest { as_branch: true, ..home.request() };
    let brought = home.brought(&request).await;
    assert_eq!(brought.branch.unwrap().as_str(), BRANCH);
    let clone = home.clone_dir();
    assert_eq!(git(&clone, &["rev-parse", BRANCH]), home.offer.newest.as_str());
    assert_eq!(git(&clone, &["status", "--short"]), " M sum.py");
    git(&clone, &["fsck", "--strict", "--connectivity-only"]);
    home.brought(&request).await;
    git(&clone, &["update-ref", &format!("refs/heads/{BRANCH}"), home.offer.base.as_str()]);
    home.delivered.lock().unwrap().clear();
    assert!(home.refused(&request).await.what.contains("already has a branch"));
}

#[tokio::test]
async fn only_what_is_approved_verified_and_known() {
    let mut home = Home::new(&fixed());
    let approved = home.offer.approved.take();
    let refusal = home.refused(&home.request()).await;
    assert!(refusal.what.contains("is not approved") && refusal.hint.starts_with("approve it"), "{refusal:?}");
    home.offer.unapproved = Some("bob merged it, and nobody approved it".to_owned());
    let refusal = home.refused(&home.request()).await;
    assert!(refusal.reasons == ["bob merged it, and nobody approved it"], "{refusal:?}");
    assert!(refusal.hint.contains("the task is over") && refusal.hint.contains("--unreviewed"), "{refusal:?}");
    (home.offer.approved, home.offer.unapproved) = (approved, None);
    home.standing = ApprovalState::Withdrawn("the review was dismissed".to_owned());
    let refusal = home.refused(&home.request()).await;
    assert!(refusal.reasons[0].contains("dismissed") && refusal.hint.contains("once more"), "{refusal:?}");
    home.standing = ApprovalState::Stands { by: "alice".to_owned() };
    for kind in [Some(VerdictKind::Failed), Some(VerdictKind::None), None] {
        home.offer.verdict = kind.map(verdict);
        assert!(home.refused(&home.request()).await.hint.contains("--unverified"));
    }
    home.offer.verdict = Some(Verdict { command: Some("npm test".to_owned()), ..verdict(VerdictKind::None) });
    let refusal = home.refused(&home.request()).await;
    assert!(refusal.reasons[0].contains("ran no test"), "{refusal:?}");
    let missing = vec!["tests.test_sum.T.test_add".to_owned()];
    home.offer.verdict = Some(Verdict { exit_code: Some(0), missing, ..verdict(VerdictKind::Failed) });
    let refusal = home.refused(&home.request()).await;
    assert!(refusal.reasons[0].contains("tests of the base did not run"), "{refusal:?}");
    let other = FetchRequest { branch: "agent/8".to_owned(), ..home.request() };
    assert!(home.refused(&other).await.what.contains("no task"));
    let option = FetchRequest { branch: "--upload-pack=x".to_owned(), ..home.request() };
    assert!(home.refused(&option).await.what.contains("no usable branch name"));
    let nowhere = FetchRequest { clone: home.dir.path().join("nowhere"), unverified: true, ..home.request() };
    assert!(home.refused(&nowhere).await.what.contains("cannot be opened"));
    let plain = FetchRequest { clone: home.dir.path().to_owned(), unverified: true, ..home.request() };
    assert!(home.refused(&plain).await.what.contains("no git clone"));
    home.offer.approved = None;
    let loud = FetchRequest { unreviewed: true, unverified: true, ..home.request() };
    let brought = home.brought(&loud).await;
    assert!(brought.warnings[0].starts_with("NOT REVIEWED") && brought.warnings[1].starts_with("NOT VERIFIED"));
}

#[tokio::test]
async fn the_approved_commit_and_not_what_came_after() {
    let home = Home::new(&fixed());
    commit(&home.dir.path().join("forge"), &[("evil.txt", "pushed after the approval\n")], "later");
    home.brought(&home.request()).await;
    assert!(!home.clone_dir().join("evil.txt").exists());
    let mut rewritten = Home::new(&fixed());
    rewritten.offer.base = Commit::parse(&"3".repeat(40)).unwrap();
    assert!(rewritten.refused(&rewritten.request()).await.what.contains("does not descend"));
}

#[tokio::test]
async fn uncommitted_untracked_and_ignored_files_are_kept() {
    let mut files = fixed();
    files.push(("build/secret.env", "theirs\n"));
    let home = Home::new(&files);
    let clone = home.clone_dir();
    write(&clone, "README.md", "edited\n");
    assert!(home.refused(&home.request()).await.reasons[0].contains("README.md"));
    git(&clone, &["add", "README.md"]);
    assert!(home.refused(&home.request()).await.what.contains("uncommitted"), "staged");
    git(&clone, &["reset", "--quiet", "--hard"]);
    write(&clone, "new", "a file where a directory should be\n");
    assert!(home.refused(&home.request()).await.reasons[0].starts_with("`new` stands where `new/file.txt`"));
    std::fs::remove_file(clone.join("new")).unwrap();
    write(&clone, "build/secret.env", "mine, and ignored\n");
    assert!(home.refused(&home.request()).await.reasons[0].contains("build/secret.env"), "ignored");
    std::fs::remove_file(clone.join("build/secret.env")).unwrap();
    write(&clone, "untracked.txt", "in nobody's way\n");
    home.brought(&home.request()).await;
}

#[tokio::test]
async fn another_base_is_merged_or_refused() {
    let home = Home::new(&fixed());
    let clone = home.clone_dir();
    commit(&clone, &[("README.md", "# Demo, further\n")], "mine");
    let brought = home.brought(&home.request()).await;
    assert!(brought.merged);
    assert_eq!(git(&clone, &["status", "--short", "-uall"]), " M sum.py\n?? new/file.txt");
    assert_eq!(std::fs::read_to_string(clone.join("README.md")).unwrap(), "# Demo, further\n");

    let other = Home::new(&fixed());
    commit(&other.clone_dir(), &[("sum.py", "def add(a, b):\n    return sum([a, b])\n")], "mine");
    let refusal = other.refused(&other.request()).await;
    assert_eq!(refusal.reasons, ["`sum.py`"]);
    other.brought(&FetchRequest { as_branch: true, ..other.request() }).await;

    // A clone without common history (squashed by hand) still merges against the task's base.
    let squashed = Home::new(&fixed());
    let clone = squashed.clone_dir();
    git(&clone, &["checkout", "--quiet", "--orphan", "squashed"]);
    commit(&clone, &[("more.txt", "x\n")], "squashed");
    assert!(squashed.brought(&squashed.request()).await.merged);
}

#[tokio::test]
async fn of_two_repositories_with_the_branch_the_one_of_the_clone_is_taken() {
    let other = Home::with(|dir| {
        git(dir, &["checkout", "--quiet", "--orphan", "unrelated"]);
        commit(dir, &[("secret.txt", "of another repository\n")], "its base");
    });
    let forge = other.dir.path().join("forge");
    let base = head(&forge);
    commit(&forge, &[("secret.txt", "its work\n")], "its work");
    let tip = head(&forge);
    let approved = Some(Approved { commit: tip.clone(), by: "alice".to_owned() });
    let foreign = Offer { repository: "attic".to_owned(), task: 8, base, newest: tip, approved, ..other.offer.clone() };

    let mut home = Home::new(&fixed());
    home.others.push(foreign.clone());
    let refusal = home.refused(&home.request()).await;
    assert_eq!(refusal.reasons, ["shop", "attic"]);
    assert!(refusal.hint.contains("--repository KEY"), "{refusal:?}");
    let named = |key: &str| FetchRequest { repository: Some(key.to_owned()), ..home.request() };
    assert!(home.refused(&named("shed")).await.what.ends_with("in the repository shed"));
    assert_eq!(home.brought(&named("shop")).await.task, 7);

    // The only one that has the branch, and the clone is of another repository.
    let mut home = Home::new(&fixed());
    home.offer = foreign;
    let as_branch = FetchRequest { as_branch: true, ..home.request() };
    for request in [home.request(), as_branch] {
        let refusal = home.refused(&request).await;
        assert!(refusal.what.contains("no history in common with attic"), "{refusal:?}");
    }
    let look = git_command(&home.clone_dir()).args(["cat-file", "-e", home.offer.base.as_str()]).status();
    assert!(!look.unwrap().success(), "nothing of the other repository came in");
}

#[tokio::test]
async fn a_clone_that_was_cut_from_its_history_is_taken_where_its_repository_is_named() {
    let home = Home::new(&fixed());
    let clone = home.clone_dir();
    std::fs::remove_dir_all(clone.join(".git")).unwrap();
    git(&clone, &["init", "--quiet", "-b", "main"]);
    commit(&clone, &[("more.txt", "x\n")], "everything at once");
    assert!(home.refused(&home.request()).await.hint.ends_with("--repository shop"));
    let named = FetchRequest { repository: Some("shop".to_owned()), ..home.request() };
    assert!(home.brought(&named).await.merged);
}

#[tokio::test]
async fn what_acts_by_itself_is_asked_for_by_name() {
    for path in [
        ".envrc",
        ".vscode/tasks.json",
        "AGENTS.md",
        ".github/workflows/ci.yml",
        ".gitattributes",
        ".lfsconfig",
        "sub/CLAUDE.md",
    ] {
        let home = Home::new(&[("sum.py", "x\n"), (path, "x\n")]);
        let refusal = home.refused(&home.request()).await;
        assert!(refusal.reasons.len() == 1 && refusal.reasons[0].contains(path), "{refusal:?}");
        assert!(refusal.hint.contains(&format!("--accept {path}")), "{refusal:?}");
        home.refused(&FetchRequest { as_branch: true, ..home.request() }).await;
        home.brought(&FetchRequest { accept: vec![path.to_owned()], ..home.request() }).await;
        assert!(home.clone_dir().join(path).exists());
    }
    let home = Home::new(&[("Makefile", "test:\n\ttrue\n")]);
    assert!(home.brought(&home.request()).await.notes[0].contains("Makefile"));
}

#[tokio::test]
async fn what_acts_through_a_link_of_the_base_is_asked_for_by_name() {
    for (link, target, path, acts) in [
        (".husky", "scripts/hooks", "scripts/hooks/pre-commit", ".husky/pre-commit"),
        (".cursor/rules", "../docs/rules", "docs/rules/style.mdc", ".cursor/rules/style.mdc"),
        (".envrc", "env/dev.sh", "env/dev.sh", ".envrc"),
        ("CLAUDE.md", "docs/style.md", "docs/style.md", "CLAUDE.md"),
    ] {
        let mut home = Home::with(|dir| {
            if let Some(folder) = Path::new(link).parent() {
                std::fs::create_dir_all(dir.join(folder)).unwrap();
            }
            std::os::unix::fs::symlink(target, dir.join(link)).unwrap();
            commit(dir, &[(path, "before\n")], "the base");
        });
        let clone = home.clone_dir();
        git(&clone, &["pull", "--quiet", "origin", BRANCH]);
        home.offer.base = head(&clone);
        commit(&home.dir.path().join("forge"), &[(path, "after\n"), ("sum.py", "x\n")], "work");
        let tip = head(&home.dir.path().join("forge"));
        (home.offer.newest, home.offer.approved) =
            (tip.clone(), Some(Approved { commit: tip, by: "alice".to_owned() }));
        let refusal = home.refused(&home.request()).await;
        assert!(refusal.reasons.len() == 1 && refusal.reasons[0].starts_with(&format!("`{path}`: ")), "{refusal:?}");
        assert!(refusal.reasons[0].ends_with(&format!("because a link makes it `{acts}`")), "{refusal:?}");
        home.refused(&FetchRequest { as_branch: true, ..home.request() }).await;
        home.brought(&FetchRequest { accept: vec![path.to_owned()], ..home.request() }).await;
        assert_eq!(std::fs::read_to_string(clone.join(path)).unwrap(), "after\n");
    }
}

#[tokio::test]
async fn a_repository_hidden_in_a_directory_is_asked_for_by_name() {
    let config = "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch canary\n";
    let plain =
        [("x/HEAD", "ref: refs/heads/main\n"), ("x/config", config), ("x/objects/k", "x\n"), ("x/refs/k", "x\n")];
    let common =
        [("x/HEAD", "ref: refs/heads/main\n"), ("x/commondir", "../y\n"), ("y/config", config), ("y/objects/k", "x\n")];
    for files in [&plain[..], &[&common[..], &[("y/refs/k", "x\n")]].concat()] {
        let home = Home::new(files);
        let refusal = home.refused(&home.request()).await;
        assert!(refusal.reasons[0].starts_with("`x/HEAD`: belongs to a repository hidden"), "{refusal:?}");
        home.refused(&FetchRequest { as_branch: true, ..home.request() }).await;
        let accept = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        home.brought(&FetchRequest { accept, ..home.request() }).await;
        let said = git(&home.clone_dir().join("x"), &["config", "core.fsmonitor"]);
        assert_eq!(said, "touch canary", "git takes it for a repository");
    }
}

#[tokio::test]
async fn links_twins_and_submodules() {
    let link = |path: &'static str, target: &'static str| {
        Home::with(move |dir| {
            std::os::unix::fs::symlink(target, dir.join(path)).unwrap();
            commit(dir, &[], "link");
        })
    };
    let home = link("l", "docs");
    assert!(home.refused(&home.request()).await.reasons[0].contains("symbolic link"));
    home.brought(&FetchRequest { accept: vec!["l".to_owned()], ..home.request() }).await;
    let home = link("l", "/etc/passwd");
    let accepted = FetchRequest { accept: vec!["l".to_owned()], ..home.request() };
    assert!(home.refused(&accepted).await.reasons[0].contains("absolute path"), "no flag helps");
    for (one, other) in [("readme.MD", "README.md"), ("caf\u{e9}.txt", "cafe\u{301}.txt")] {
        let home = Home::new(&[(one, "x\n"), (other, "y\n")]);
        assert!(home.refused(&home.request()).await.reasons[0].contains("same file"));
        home.brought(&FetchRequest { accept: vec![one.to_owned(), other.to_owned()], ..home.request() }).await;
    }
    let home = Home::with(|dir| {
        let tree = git(dir, &["ls-tree", "HEAD"]);
        let tree = git_in(dir, &["mktree"], format!("{tree}\n160000 commit {}\tsub\n", head(dir)).as_bytes());
        let tip = git(dir, &["commit-tree", &tree, "-p", "HEAD", "-m", "sub"]);
        git(dir, &["reset", "--quiet", "--hard", &tip]);
    });
    assert!(home.refused(&home.request()).await.reasons[0].contains("submodule"));
}

#[tokio::test]
async fn nothing_of_the_clones_configuration_runs() {
    let home = Home::new(&fixed());
    let clone = home.clone_dir();
    let canary = home.dir.path().join("canary");
    let trap = format!("touch {}; cat", canary.display());
    for (key, value) in [
        ("filter.evil.smudge", trap.as_str()),
        ("filter.evil.clean", &trap),
        ("filter.evil.required", "true"),
        ("core.hooksPath", "evil-hooks"),
        ("core.sshCommand", &trap),
        ("diff.external", &trap),
        ("merge.evil.driver", &trap),
    ] {
        git(&clone, &["config", key, value]);
    }
    write(&clone, ".git/info/attributes", "* filter=evil merge=evil\n");
    for hook in ["post-checkout", "post-index-change", "reference-transaction", "post-merge"] {
        for dir in [".git/hooks", "../evil-hooks"] {
            write(&clone, &format!("{dir}/{hook}"), &format!("#!/bin/sh\ntouch {}\n", canary.display()));
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(clone.join(dir).join(hook), mode).unwrap();
        }
    }
    git(&clone, &["config", "core.fsmonitor", canary.with_extension("sh").to_str().unwrap()]);
    write(home.dir.path(), "canary.sh", &format!("#!/bin/sh\ntouch {}\n", canary.display()));
    home.brought(&home.request()).await;
    home.brought(&FetchRequest { as_branch: true, ..home.request() }).await;
    assert!(!canary.exists(), "something of the clone's configuration ran");
}
