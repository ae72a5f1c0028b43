//! `/rebase`: a task's work goes on on a newer base, merged in its sandbox; conflicts are resolved there, and a lost sandbox is merged again.

use crate::merge::owner;
use crate::orders::{caisson, said};
use crate::world::{FIX, PATIENCE, REPO, World, git};
use caisson::forge::{ForgeReads as _, RepoRef};
use caisson::git::Repos;
use caisson::sandbox::broker::Broker as _;
use domain::{Commit, Event, Rebased, Task};
use std::path::PathBuf;
use std::time::Duration;

/// What the base branch makes of the line that the task changes.
const OTHER: &str = "def newer(a, b):\n    return str(a) > str(b)\n";

/// FIX until its checkpoint; then an action on the merged files, the conflict resolved, and done.
fn conflicting(first: &str) -> String {
    let (head, _) = FIX.rsplit_once("[[turn]]").expect("three turns");
    format!(
        "{head}[[turn]]\nexpects = [\"stands on a newer base\", \"semver.py\", \"could not be merged\"]\ntext = \"I resolve it.\"\n\
         call = [{{ name = \"bash\", arguments = {{ command = \"{first}\" }} }}]\n\
         [[turn]]\ntext = \"Both.\"\ncall = [\n\
         {{ name = \"bash\", arguments = {{ command = \"grep -c '^<<<<<<< ' semver.py && test -e NEWS.md\" }} }},\n\
         {{ name = \"write_file\", arguments = {{ path = \"semver.py\", content = \"def newer(a, b):\\n    return parse(str(a)) > parse(str(b))\\n\\n\\ndef parse(text):\\n    return [int(part) for part in text.split('.')]\\n\" }} }},\n\
         {{ name = \"done\", arguments = {{ summary = \"Both sides hold.\" }} }},\n]\n"
    )
}

/// What the newer base says that its tests are.
const CHECK: &str = "python3 -m unittest -q tests.test_semver && test -e NEWS.md";

fn main_of(world: &World) -> Commit {
    Commit::parse(&git(&world.dir.path().join("project"), &["rev-parse", "HEAD"])).expect("a commit")
}

fn repos(world: &World) -> Repos {
    Repos::new(world.config.state_dir.join("repos"))
}

/// The commit at which the task's branch ends on the forge.
async fn branch_of(world: &World, task: &Task) -> Option<String> {
    let request = task.request.as_ref().expect("asked");
    world.look().branch(&RepoRef::new("lab", "shop"), &request.branch).await.expect("answered")
}

async fn rebased(world: &World) -> Vec<Rebased> {
    let of = |event| if let Event::Rebased(rebased) = event { Some(*rebased) } else { None };
    world.log().await.into_iter().filter_map(of).collect()
}

async fn at_checkpoint(world: &World) -> (Task, u64) {
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let pull = task.pull.expect("a pull request");
    (task, pull)
}

/// Asks for the newer base and waits for the next checkpoint.
async fn ask(world: &World, pull: u64, state: &str) -> Task {
    let before = world.task().await.checkpoints.len();
    world.alice().comment(REPO, pull, "/rebase").expect("said");
    world.until("the next checkpoint", |task| task.checkpoints.len() > before && task.state.name() == state).await
}

/// A clone of the repository, as a developer has it.
pub fn cloned(world: &World, name: &str) -> PathBuf {
    let header = format!("http.extraHeader=Authorization: token {}", world.forge.admin_token());
    let clone = world.dir.path().join(name);
    let url = format!("{}/{REPO}.git", world.forge.url());
    git(world.dir.path(), &["-c", &header, "clone", "-q", &url, clone.to_str().expect("UTF-8")]);
    clone
}

/// Approves until the work is approved, and brings it home.
async fn home(world: &World, holds: &[(&str, &str)]) {
    world.approve().await;
    world.until_state("final-review").await;
    world.approve().await;
    let task = world.until_state("approved").await;
    let (clone, branch) = (cloned(world, "clone"), task.request.expect("asked").branch);
    let out = caisson(world, &["fetch", clone.to_str().expect("UTF-8"), &branch]).await;
    assert!(out.status.success(), "{}", said(&out));
    for (path, text) in holds {
        let found = std::fs::read_to_string(clone.join(path)).expect(path);
        assert!(found.contains(text), "{path}: {found}");
    }
    world.until_state("delivered").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_goes_on_on_a_newer_base_and_comes_home_from_there() {
    let world = World::new(FIX).await;
    let (before, pull) = at_checkpoint(&world).await;
    world.alice().comment(REPO, pull, "/rebase").expect("said");
    world.until_said(pull, "`main` still ends at the commit that the work stands on").await;
    assert_eq!(world.task().await.state, before.state, "nothing was changed");
    world.push(&[("NEWS.md", "news\n")]);
    world.bob().comment(REPO, pull, "/rebase").expect("said");
    world.until_said(pull, "`bob`: `/rebase` is for").await;
    let task = ask(&world, pull, "awaiting-review").await;
    let [moved] = &rebased(&world).await[..] else { panic!("moved once") };
    let (from, head) = (before.base.clone().expect("a base"), before.head.clone().expect("a commit"));
    assert_eq!(*moved, Rebased { from, onto: main_of(&world), head, conflicts: Vec::new() });
    assert_eq!((task.base.as_ref(), task.used, task.turn), (Some(&moved.onto), 0, before.turn), "no model was asked");
    let commit = task.checkpoint().and_then(|at| at.commit.clone()).expect("a commit");
    assert_eq!(branch_of(&world, &task).await.as_deref(), Some(commit.as_str()), "the branch was replaced");
    let text = repos(&world).commit_text("shop", &commit).await.expect("read");
    assert!(text.contains(&format!("parent {}\n", moved.onto)), "{text}");
    let review = world.until_said(pull, "### Checkpoint 2 ").await;
    assert!(review.contains("brought from the base") && review.contains("return parse(a) > parse(b)"), "{review}");
    assert!(!review.contains("moved on") && !review.contains("NEWS.md"), "{review}");
    let shown = caisson(&world, &["task", "show", "1"]).await;
    assert!(said(&shown).contains("brought from the base"), "{}", said(&shown));
    // The earlier approval does not count for the new commit.
    let clone = cloned(&world, "clone");
    let branch = &task.request.as_ref().expect("asked").branch;
    let out = caisson(&world, &["fetch", clone.to_str().expect("UTF-8"), branch]).await;
    assert!(!out.status.success() && said(&out).contains("is not approved"), "{}", said(&out));
    std::fs::remove_dir_all(clone).expect("removed");
    home(&world, &[("semver.py", "parse(a)"), ("NEWS.md", "news")]).await;
    for before in [&moved.from, &moved.head] {
        repos(&world).commit_text("shop", before).await.expect("kept");
    }
}

/// With the rule that `caisson repo add` sets, the branch is replaced; with one that lets nobody do that, a person is told what to do.
#[tokio::test(flavor = "multi_thread")]
async fn a_protected_branch_is_replaced_where_its_rule_lets_the_bot() {
    let world = World::new(FIX).await;
    let (root, repo) = (owner(&world), RepoRef::new("lab", "shop"));
    root.ensure_own_branches(&repo, "agent/**", "caisson").await.expect("protected");
    let (_, pull) = at_checkpoint(&world).await;
    world.push(&[("NEWS.md", "news\n")]);
    let task = ask(&world, pull, "awaiting-review").await;
    assert_eq!(branch_of(&world, &task).await, task.pushed.map(|commit| commit.to_string()), "the branch was replaced");
    root.ensure_protection(&repo, "agent/**", &["caisson"]).await.expect("protected");
    world.push(&[("MORE.md", "more\n")]);
    world.alice().comment(REPO, pull, "/rebase").expect("said");
    let told = world.until_said(pull, "`caisson repo check shop --fix`").await;
    assert!(told.contains("Then write `/resume`"), "{told}");
    let paused = world.until_state("paused").await;
    root.ensure_own_branches(&repo, "agent/**", "caisson").await.expect("protected");
    world.alice().comment(REPO, pull, "/resume").expect("said");
    let task = world.until("the next checkpoint", |task| task.checkpoints.len() > paused.checkpoints.len()).await;
    assert_eq!(branch_of(&world, &task).await, task.pushed.map(|commit| commit.to_string()), "and once more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_is_resolved_by_the_agent_and_shown() {
    let world = World::new(&conflicting("git status --short")).await;
    let (_, pull) = at_checkpoint(&world).await;
    world.push(&[("semver.py", OTHER), ("NEWS.md", "news\n")]);
    let task = ask(&world, pull, "final-review").await;
    let [moved] = &rebased(&world).await[..] else { panic!("moved once") };
    assert_eq!((moved.conflicts.as_slice(), task.marked.len()), (&["semver.py".to_owned()][..], 0));
    let review = world.until_said(pull, "could not be merged by git alone").await;
    assert!(review.contains("semver.py") && !review.contains("marks of a conflict"), "{review}");
    assert!(review.contains("- **x1** `semver.py`: resolved at `"), "{review}");
    assert!(task.base.as_ref() == Some(&moved.onto) && task.rebase.is_none(), "{task:?}");
    world.approve().await;
    world.until_state("approved").await;
}

/// The agent only looks at the conflict; `newer` is the base that it meets there, and `whole` whether nothing else of the work is left.
async fn left_as_it_was(newer: &[(&str, &str)], whole: bool) -> (World, u64) {
    let (head, _) = FIX.rsplit_once("[[turn]]").expect("three turns");
    let look = |n: u32| format!("{{ name = \"bash\", arguments = {{ command = \"head -{n} semver.py\" }} }},\n");
    let looks: String = (1..=5).map(look).collect();
    let end = "[[turn]]\ncall = [{ name = \"done\", arguments = { summary = \"Done.\" } }]\n";
    let world = World::new(&format!("{head}[[turn]]\ncall = [\n{looks}]\n{end}")).await;
    let (_, pull) = at_checkpoint(&world).await;
    world.push(newer);
    let task = ask(&world, pull, "awaiting-review").await;
    let checkpoint = task.checkpoint().expect("a checkpoint");
    assert!(!task.marked.is_empty() && !checkpoint.coverable && checkpoint.commit.is_none() == whole, "{task:?}");
    let review = world.until_said(pull, "### Checkpoint 2 ").await;
    assert!(review.contains("only the newer base's version, are left in `semver.py`"), "{review}");
    assert!(review.contains("- **x1** `semver.py`: open: git could not merge it"), "{review}");
    (world, pull)
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_that_are_left_are_named_and_never_approved_in_advance() {
    let (world, pull) = left_as_it_was(&[("semver.py", OTHER)], false).await;
    // They are in the commit: that it can be merged onto the next base resolves nothing.
    world.push(&[("NEWS.md", "news\n")]);
    world.alice().comment(REPO, pull, "/rebase").expect("said");
    let review = world.until_said(pull, "### Checkpoint 3 ").await;
    assert!(review.contains("- **x1** `semver.py`: open: git could not merge it"), "{review}");
    assert_eq!(world.task().await.marked, ["semver.py"]);
}

/// Of a file that git cannot merge it keeps the base's version, without a mark.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_without_marks_that_is_still_the_newer_bases_is_named_too() {
    left_as_it_was(&[("semver.py", OTHER), (".gitattributes", "semver.py -merge\n")], true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_is_lost_after_the_merge_is_merged_again() {
    let world = World::new(&conflicting("touch started; sleep 60")).await;
    let (_, pull) = at_checkpoint(&world).await;
    world.push(&[("semver.py", OTHER), ("NEWS.md", "news\n")]);
    world.alice().comment(REPO, pull, "/rebase").expect("said");
    let started = world.broker.workspace("task-1-1").join("started");
    let seen = async {
        while !started.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, seen).await.expect("the action began");
    world.broker.remove("task-1-1").await.expect("removed");
    // The next action finds the marks and the new base's file again.
    world.until_state("final-review").await;
    assert_eq!(rebased(&world).await.len(), 1, "moved once");
    let ended: Vec<bool> = world
        .log()
        .await
        .into_iter()
        .filter_map(|event| if let Event::ActionFinished { outcome, .. } = event { Some(outcome) } else { None })
        .map(|outcome| outcome.status.succeeded())
        .collect();
    assert_eq!(ended[ended.len() - 3..], [false, true, true], "interrupted, found, written: {ended:?}");
    world.approve().await;
    world.until_state("approved").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_removed_while_the_checkpoint_is_captured_is_merged_again() {
    let mut world = World::new(FIX).await;
    let (_, pull) = at_checkpoint(&world).await;
    world.push(&[("NEWS.md", "news\n")]);
    world.cuts.set(|row, at| row.key == "seal:2" && at == caisson::task::Boundary::Begun);
    world.alice().comment(REPO, pull, "/rebase").expect("said");
    world.until("the merge", |task| task.to_merge().is_some()).await;
    world.kill();
    world.broker.remove("task-1-1").await.expect("removed");
    world.cuts.clear();
    world.start().await;
    world.until("the checkpoint", |task| task.checkpoints.len() == 2).await;
    assert_eq!(rebased(&world).await.len(), 1, "moved once");
    home(&world, &[("semver.py", "parse(a)"), ("NEWS.md", "news")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn finished_work_is_verified_anew_on_a_base_with_another_history() {
    let world = World::new(FIX).await;
    at_checkpoint(&world).await;
    world.approve().await;
    let before = world.until_state("final-review").await;
    let work = world.dir.path().join("project");
    std::fs::write(work.join("NEWS.md"), "another history\n").expect("written");
    std::fs::write(work.join(".caisson.toml"), format!("test = \"{CHECK}\"\n")).expect("written");
    git(&work, &["add", "."]);
    git(&work, &["commit", "-q", "--amend", "-m", "Another history"]);
    let header = format!("http.extraHeader=Authorization: token {}", world.forge.admin_token());
    git(&work, &["-c", &header, "push", "-q", "-f", &format!("{}/{REPO}.git", world.forge.url()), "main"]);
    let task = ask(&world, before.pull.expect("a pull request"), "final-review").await;
    assert_eq!((task.base.as_ref(), task.turn), (Some(&main_of(&world)), before.turn), "no model was asked");
    let command = task.verdict.as_ref().and_then(|verdict| verdict.command.clone());
    assert_eq!(command.as_deref(), Some(CHECK), "what verifies comes from the new base");
    world.approve().await;
    world.until_state("approved").await;
}
