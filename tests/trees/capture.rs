//! Prepare, act, capture: from an agent's work to one commit of ours.

use std::sync::Arc;

use caisson::git::checkpoint_ref;
use caisson::sandbox::broker::Broker as _;
use caisson::sandbox::{Captured, SandboxError, Sandboxes, Settings};
use domain::{Action, Commit};
use protocol::runner::{Limits, Status};

use crate::world::{KEY, World, git, git_in};

async fn captured(world: &World, n: u32, parent: &Commit) -> Captured {
    world.sandboxes.captures.capture(&world.capture_spec(1, n, parent)).await.expect("captured")
}

async fn committed(world: &World, n: u32, parent: &Commit) -> (Commit, Vec<(String, String)>, String) {
    match captured(world, n, parent).await {
        Captured::Commit { commit, files, diff, .. } => {
            (commit, files.into_iter().map(|f| (f.path, f.kind)).collect(), diff)
        }
        other => panic!("{other:?}"),
    }
}

async fn reasons(world: &World, n: u32, parent: &Commit) -> String {
    match captured(world, n, parent).await {
        Captured::Refused { reasons } => reasons.join("\n"),
        other => panic!("taken: {other:?}"),
    }
}

#[tokio::test]
async fn work_becomes_one_commit_of_ours() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    world.sandboxes.of_tasks.open(1).await.unwrap();
    let done =
        world.bash(1, "sed -i 's/a - b/a + b/' sum.py && echo note > new.txt && rm README.md && cat sum.py").await;
    assert_eq!(done.outcome.status, Status::Ok, "{}", done.outcome.text);
    assert!(done.outcome.text.contains("a + b"));
    world.bash(1, "mkdir -p build && echo x > build/junk && echo x > a.log && git add -A && git commit -qm mine").await;
    let (commit, files, diff) = committed(&world, 1, &world.base).await;
    let expected = [("README.md", "deleted"), ("new.txt", "added"), ("sum.py", "modified")];
    assert_eq!(files, expected.map(|(p, k)| (p.to_owned(), k.to_owned())));
    assert!(diff.contains("-    return a - b\n+    return a + b\n"), "{diff}");
    let text = world.repos.commit_text(KEY, &commit).await.unwrap();
    assert!(
        text.contains(&format!("\nparent {}\nauthor Caisson <caisson@localhost> 1763000000 +0000\n", world.base)),
        "{text}"
    );
    assert!(text.ends_with("\n\nCheckpoint 1\n\nFor issue 7.\n"), "{text}");
    let repo = world.repos.path(KEY).unwrap();
    assert_eq!(git(&repo, &["rev-parse", &checkpoint_ref(1, 1)]), commit.as_str());
    git(&repo, &["fsck", "--strict", "--no-dangling"]);

    // Captured again, it is the same commit; the work continues from it, and the next has it as its parent.
    assert_eq!(committed(&world, 1, &world.base).await.0, commit);
    world.sandboxes.of_tasks.open(1).await.unwrap();
    world.bash(1, "echo more >> new.txt").await;
    let (next, files, _) = committed(&world, 2, &commit).await;
    assert_eq!(files, [("new.txt".to_owned(), "modified".to_owned())]);
    assert!(world.repos.is_ancestor(KEY, &commit, &next).await.unwrap());
    assert!(matches!(captured(&world, 3, &next).await, Captured::Unchanged { .. }));

    let told = world.doors.told.lock().unwrap().clone();
    let expected =
        ["close 0", "open 0 docs.example.org", "close 0", "close 0", "open 0 docs.example.org", "close 0", "close 0"];
    assert_eq!(told, expected);
    world.sandboxes.of_tasks.remove(1).await.unwrap();
    assert!(world.left().await.is_empty());
}

#[tokio::test]
async fn nothing_of_the_agents_git_takes_part() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    let canary = world.dir.path().join("canary");
    let trap = format!("touch {}; cat", canary.display());
    let script = format!(
        "set -e
         mkdir -p .git/hooks && for h in pre-commit post-index-change post-checkout reference-transaction; do
             printf '#!/bin/sh\\n{trap}\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done
         git config filter.evil.clean '{trap}' && git config filter.evil.required true
         git update-index --assume-unchanged sum.py
         git config core.hooksPath \"$PWD/.git/hooks\"
         git config diff.external 'touch {c}' && git config include.path ../evil
         printf '* filter=evil diff=evil\\n' > .git/info/attributes 2>/dev/null || {{ mkdir -p .git/info; printf '* filter=evil\\n' > .git/info/attributes; }}
         printf '[filter \"evil\"]\\n clean = {trap}\\n[core]\\n fsmonitor = {trap}\\n' > $HOME/.gitconfig
         printf 'new.txt\\n' > .git/info/exclude
         git config core.fsmonitor 'touch {c}' && rm -f {c}",
        c = canary.display(),
    );
    let done = world.bash(1, &script).await;
    assert_eq!(done.outcome.status, Status::Ok, "{}", done.outcome.text);
    std::fs::write(world.workspace(1).join("sum.py"), "changed\n").unwrap();
    std::fs::write(world.workspace(1).join("new.txt"), "hidden by exclude\n").unwrap();
    let (_, files, _) = committed(&world, 1, &world.base).await;
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(!canary.exists(), "something of the agent's ran");
}

#[tokio::test]
async fn a_broken_or_missing_git_directory_does_not_matter() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    world.bash(1, "rm -rf .git && echo one > one.txt").await;
    let (first, files, _) = committed(&world, 1, &world.base).await;
    assert_eq!(files, [("one.txt".to_owned(), "added".to_owned())]);
    world.sandboxes.of_tasks.open(1).await.unwrap();
    // A .git directory of its own, with an object planted under the id of the next file.
    world.bash(1, "git init -q . && echo two > two.txt && id=$(git hash-object -w two.txt) && f=.git/objects/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-) && chmod u+w $f && echo rubbish > $f").await;
    let (_, files, diff) = committed(&world, 2, &first).await;
    assert_eq!(files, [("two.txt".to_owned(), "added".to_owned())]);
    assert!(diff.contains("+two\n"), "{diff}");
    // A symbolic link in place of .git.
    world.sandboxes.of_tasks.open(1).await.unwrap();
    world.bash(1, "rm -rf .git && ln -s /nonexistent .git && echo three > two.txt").await;
    assert!(matches!(captured(&world, 3, &first).await, Captured::Commit { .. }));
}

#[tokio::test]
async fn a_base_with_many_links_is_no_obstacle_and_each_change_of_one_is_judged() {
    let mut world = World::new().await;
    for n in 0..2_001 {
        std::os::unix::fs::symlink("README.md", world.upstream().join(format!("link{n}"))).unwrap();
    }
    world.base = crate::world::commit(&world.upstream(), &[], "links");
    world.repos.fetch(KEY, &crate::world::url(&world.upstream()), None).await.unwrap();
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    world.bash(1, "mkdir -p a/b/c/e && touch new.txt a/b/c/e/x && ln -s a/b/c/e d && ln -s d/../../../x out").await;
    let (first, files, _) = committed(&world, 1, &world.base).await;
    assert_eq!(files.len(), 4, "{files:?}");
    world.sandboxes.of_tasks.open(1).await.unwrap();
    world.bash(1, "rm d && mkdir d && echo x > d/file").await;
    let why = reasons(&world, 2, &first).await;
    assert!(why.contains("the link `out` → `d/../../../x` leads out of the repository"), "{why}");
    world.sandboxes.of_tasks.open(1).await.unwrap();
    world.bash(1, "rm out && python3 -c \"import os; [os.symlink('new.txt', f'm{n}') for n in range(2001)]\"").await;
    let why = reasons(&world, 2, &first).await;
    assert!(why.contains("adds or changes 2001 symbolic links; at most 2000"), "{why}");
}

#[tokio::test]
async fn refusals_are_sentences_and_the_task_goes_on() {
    let world = World::with(crate::world::FILES, |s| s.policy.object_bytes = 1 << 20).await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    world.bash(1, "git init -q sub && git -C sub -c user.name=x -c user.email=x commit -q --allow-empty -m x").await;
    assert!(reasons(&world, 1, &world.base).await.contains("`sub` is a git repository inside the repository"));
    world.sandboxes.of_tasks.open(1).await.unwrap();
    world.bash(1, "rm -rf sub; git init -q empty").await;
    reasons(&world, 1, &world.base).await;
    world.sandboxes.of_tasks.open(1).await.unwrap();
    world.bash(1, "rm -rf empty; ln -s /etc/passwd p; printf x > .caisson.toml").await;
    let said = reasons(&world, 1, &world.base).await;
    assert!(
        said.contains("`p` → `/etc/passwd` points to an absolute path")
            && said.contains("`.caisson.toml` is protected"),
        "{said}"
    );
    world.sandboxes.of_tasks.open(1).await.unwrap();
    world.bash(1, "rm p .caisson.toml; git init -q --bare x && touch x/objects/k x/refs/k").await;
    assert!(reasons(&world, 1, &world.base).await.contains("`x/config` belongs to a repository hidden in a directory"));
    world.sandboxes.of_tasks.open(1).await.unwrap();
    world.bash(1, "rm -r x; head -c 2000000 /dev/urandom > big.bin").await;
    assert!(reasons(&world, 1, &world.base).await.contains("MB"));
    world.sandboxes.of_tasks.open(1).await.unwrap();
    world.bash(1, "rm big.bin; mkfifo pipe; echo fine > fine.txt").await;
    assert_eq!(committed(&world, 1, &world.base).await.1.len(), 1, "a pipe is no file");
    assert_eq!(world.left().await, ["task-1-1"]);
}

/// Git opens these files without looking what they are.
#[tokio::test]
async fn a_pipe_in_place_of_a_file_that_git_reads_is_named_at_once() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    for path in [".gitignore", "deep/.gitattributes"] {
        world.sandboxes.of_tasks.open(1).await.unwrap();
        let done = world.bash(1, &format!("mkdir -p deep && rm -f {path} && mkfifo {path} && echo x >> sum.py")).await;
        assert_eq!(done.outcome.status, Status::Ok, "{}", done.outcome.text);
        let began = std::time::Instant::now();
        let why = reasons(&world, 1, &world.base).await;
        // Far below the five minutes that reading may take.
        assert!(why.contains(&format!("./{path} is a pipe")) && began.elapsed().as_secs() < 60, "{why}");
        world.sandboxes.of_tasks.open(1).await.unwrap();
        world.bash(1, &format!("rm {path}")).await;
    }
    committed(&world, 1, &world.base).await;
    // A store that may lead to one is not lent.
    let mut parent = world.base.clone();
    for (n, lent) in [
        "rm -f .git/objects/info/alternates && mkfifo .git/objects/info/alternates",
        "mkdir -p o/info && mkfifo o/info/alternates && echo $PWD/o > .git/objects/info/alternates",
    ]
    .into_iter()
    .enumerate()
    {
        world.sandboxes.of_tasks.open(1).await.unwrap();
        let command =
            format!("mkdir -p .git/objects/info && rm -rf .git/objects/info/alternates && {lent} && echo y >> sum.py");
        let done = world.bash(1, &command).await;
        assert_eq!(done.outcome.status, Status::Ok, "{}", done.outcome.text);
        let began = std::time::Instant::now();
        parent = committed(&world, u32::try_from(n).unwrap() + 2, &parent).await.0;
        assert!(began.elapsed().as_secs() < 60, "far below the five minutes that reading may take");
    }
    // A repository within the tree, wherever its directory is.
    for made in [
        "git init -q sub && rm sub/.git/HEAD && mkfifo sub/.git/HEAD",
        "git init -q sub && mv sub/.git x && rm x/HEAD && mkfifo x/HEAD && echo 'gitdir: ../x' > sub/.git",
        "git init -q sub && mv sub/.git x && rm x/HEAD && mkfifo x/HEAD && ln -s ../x sub/.git",
        "git init -q sub && rm sub/.git/HEAD && mkfifo y && ln -s ../../y sub/.git/HEAD",
    ] {
        world.sandboxes.of_tasks.open(1).await.unwrap();
        let done = world.bash(1, made).await;
        assert_eq!(done.outcome.status, Status::Ok, "{}", done.outcome.text);
        let began = std::time::Instant::now();
        let why = reasons(&world, 9, &parent).await;
        assert!(why.contains("HEAD is a pipe") && began.elapsed().as_secs() < 60, "{made}: {why}");
        world.sandboxes.of_tasks.open(1).await.unwrap();
        world.bash(1, "rm -rf sub x y").await;
    }
}

#[tokio::test]
async fn links_with_paths_without_end_in_a_repository_within_the_tree_are_refused() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    world.sandboxes.of_tasks.open(1).await.unwrap();
    // Each level leads to the next one twice.
    let made = "git init -q sub && (cd sub/.git && mkdir d0 && for n in $(seq 30); do \
                mkdir d$n && ln -s ../d$n d$((n - 1))/one && ln -s ../d$n d$((n - 1))/two || exit; done)";
    let done = world.bash(1, made).await;
    assert_eq!(done.outcome.status, Status::Ok, "{}", done.outcome.text);
    let why = reasons(&world, 1, &world.base).await;
    assert!(why.contains("./sub/.git leads to more paths than are looked through"), "{why}");
    world.sandboxes.of_tasks.open(1).await.unwrap();
    world.bash(1, "rm -rf sub && echo x >> sum.py").await;
    committed(&world, 1, &world.base).await;
}

#[tokio::test]
async fn nothing_runs_on_after_a_capture() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    world
        .bash(1, "(setsid sh -c 'while :; do date +%s%N > tick.log; sleep 0.02; done' >/dev/null 2>&1 &) ; sleep 0.2")
        .await;
    captured(&world, 1, &world.base).await;
    let tick = world.workspace(1).join("tick.log");
    let before = std::fs::read(&tick).unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(150)).await;
    assert_eq!(std::fs::read(&tick).unwrap(), before);
}

#[tokio::test]
async fn actions_run_once_and_restarts_are_told() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    let action = Action::Bash { command: "echo run >> runs.log".to_owned() };
    let limits = Limits { wall_ms: 5_000, output_bytes: 1000 };
    for _ in 0..2 {
        let done = world.sandboxes.actions.act(1, 1000, &action, limits).await.unwrap();
        assert!(done.lost.is_none());
    }
    let runs = world.workspace(1).join("runs.log");
    assert_eq!(std::fs::read_to_string(&runs).unwrap(), "run\n");

    // After a restart of the host, sandbox and result are found again.
    let settings = Settings::new(world.dir.path().join("state"), "local");
    let again =
        Sandboxes::new(world.broker.clone(), Some(world.doors.clone()), world.repos.clone(), settings, 2).unwrap();
    let opened =
        |world: &World| world.doors.told.lock().unwrap().iter().filter(|told| told.starts_with("open")).count();
    let before = opened(&world);
    assert!(again.actions.act(1, 1000, &action, limits).await.unwrap().lost.is_none());
    assert_eq!(opened(&world), before + 1, "the router closed it when it met the new life");
    assert!(again.actions.act(1, 1000, &action, limits).await.unwrap().lost.is_none());
    assert_eq!(opened(&world), before + 1);
    assert_eq!(std::fs::read_to_string(&runs).unwrap(), "run\n");
    assert_eq!(
        again.of_tasks.prepare(&world.spec(1)).await.unwrap().boot,
        again.of_tasks.prepare(&world.spec(1)).await.unwrap().boot
    );
    assert!(runs.exists(), "a whole sandbox is not made anew");

    // The runner dies during an action, which is reported and never repeated; the sandbox must then be prepared again.
    let dies = Action::Bash { command: "echo died >> runs.log; kill -KILL $PPID; sleep 5".to_owned() };
    let end = again.actions.act(1, 1001, &dies, limits).await.unwrap();
    assert!(end.lost.is_some(), "{end:?}");
    assert_eq!(std::fs::read_to_string(&runs).unwrap(), "run\ndied\n");
    assert!(matches!(again.actions.act(1, 1002, &action, limits).await, Err(SandboxError::Gone(_))));
    assert!(matches!(again.captures.capture(&world.capture_spec(1, 1, &world.base)).await, Err(SandboxError::Gone(_))));
    again.of_tasks.prepare(&world.spec(1)).await.unwrap();
    assert!(!runs.exists());

    // The container was restarted, so requests to its old boot may have run.
    world.broker.stop("task-1-1").await.unwrap();
    world.broker.start("task-1-1").await.unwrap();
    let third = Settings::new(world.dir.path().join("state"), "local");
    let third = Sandboxes::new(world.broker.clone(), Some(world.doors.clone()), world.repos.clone(), third, 3).unwrap();
    assert!(third.actions.act(1, 1003, &action, limits).await.unwrap().lost.is_some());
    assert!(!runs.exists(), "it was not run");
}

#[tokio::test]
async fn preparation_says_what_is_wrong() {
    let world = World::new().await;
    let mut spec = world.spec(1);
    spec.image = "no-git".to_owned();
    let said = world.sandboxes.of_tasks.prepare(&spec).await.unwrap_err().to_string();
    assert!(said.contains("no-git has no working `git`"), "{said}");
    spec.image = "missing".to_owned();
    assert!(world.sandboxes.of_tasks.prepare(&spec).await.unwrap_err().to_string().contains("missing"));
    spec = world.spec(1);
    spec.base = Commit::parse(&"1".repeat(40)).unwrap();
    let said = world.sandboxes.of_tasks.prepare(&spec).await.unwrap_err().to_string();
    assert!(said.contains("has no commit"), "{said}");
    let settings = Settings::new(world.dir.path().join("state2"), "local");
    let closed = Sandboxes::new(world.broker.clone(), None, world.repos.clone(), settings, 1).unwrap();
    assert!(
        matches!(closed.of_tasks.prepare(&world.spec(2)).await, Err(SandboxError::Refused(_))),
        "no network without a router"
    );
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    assert_eq!(world.sandboxes.of_tasks.reap(&[1]).await.unwrap(), Vec::<String>::new());
    assert_eq!(world.sandboxes.of_tasks.reap(&[]).await.unwrap(), ["task-1-1"]);
}

#[tokio::test]
async fn a_sandbox_holds_only_what_its_base_reaches() {
    let world = World::new().await;
    let up = world.upstream();
    git(&up, &["checkout", "-q", "-b", "other"]);
    crate::world::commit(&up, &[("secret.txt", "of another branch\n")], "secret");
    let secret = git(&up, &["rev-parse", "HEAD:secret.txt"]);
    world.repos.fetch(KEY, &crate::world::url(&up), None).await.unwrap();
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    let all = world
        .bash(1, "git cat-file --batch-all-objects --batch-check; git log --oneline; git status --short; git remote")
        .await;
    assert!(!all.outcome.text.contains(&secret), "{}", all.outcome.text);
    assert!(all.outcome.text.contains("first"));
    assert!(!all.outcome.text.contains("README"), "a clean check-out: {}", all.outcome.text);
}

#[tokio::test]
async fn new_rules_never_open_a_closed_subnet() {
    let world = World::new().await;
    let rules = |host: &str| vec![protocol::router::Rule::parse(host).unwrap()];
    let told = || world.doors.told.lock().unwrap().last().cloned().unwrap_or_default();
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    world.sandboxes.egress.allow(1, rules("z.test")).await.unwrap();
    assert_eq!(*world.doors.told.lock().unwrap(), ["close 0"], "a new one stays closed");
    world.sandboxes.of_tasks.open(1).await.unwrap();
    assert_eq!(*world.doors.told.lock().unwrap(), ["close 0", "open 0 z.test"], "and is told all its rules at once");
    world.sandboxes.egress.allow(1, rules("a.test")).await.unwrap();
    assert_eq!(told(), "open 0 a.test", "at once");
    world.sandboxes.captures.capture(&world.capture_spec(1, 1, &world.base)).await.unwrap();
    world.sandboxes.egress.allow(1, rules("b.test")).await.unwrap();
    assert_eq!(told(), "close 0", "a checkpoint closed it");
    world.sandboxes.of_tasks.open(1).await.unwrap();
    assert_eq!(told(), "open 0 b.test");
    world.sandboxes.of_tasks.remove(1).await.unwrap();
    assert!(matches!(world.sandboxes.egress.allow(1, rules("c.test")).await, Err(SandboxError::Gone(_))));
    assert_eq!(told(), "close 0");
}

#[tokio::test]
async fn a_stopped_sandbox_comes_back_with_its_files_and_nothing_else() {
    let world = World::new().await;
    let sandboxes = &world.sandboxes;
    sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    world.bash(1, "echo work > work.txt; echo junk > a.log; (sleep 300 &)").await;
    sandboxes.of_tasks.rest(1).await.unwrap();
    sandboxes.of_tasks.stop(1).await.unwrap();
    sandboxes.of_tasks.stop(1).await.unwrap();
    assert_eq!(world.doors.told.lock().unwrap().last().map(String::as_str), Some("close 0"));
    sandboxes.of_tasks.open(1).await.unwrap();
    let seen = world.bash(1, "cat work.txt a.log").await;
    assert_eq!(
        (seen.outcome.text.as_str(), seen.lost.is_some()),
        ("work\njunk\n", false),
        "it was expected to be stopped"
    );
    // After a restart the host knows that it was stopped on purpose.
    sandboxes.of_tasks.stop(1).await.unwrap();
    let settings = Settings::new(world.dir.path().join("state"), "local");
    let control = Arc::clone(&world.doors) as Arc<dyn caisson::sandbox::EgressControl>;
    let second =
        Sandboxes::new(Arc::clone(&world.broker) as _, Some(control), world.repos.clone(), settings, 2).unwrap();
    second.of_tasks.open(1).await.unwrap();
    let limits = Limits { wall_ms: 20_000, output_bytes: 10_000 };
    let action = Action::Bash { command: "cat work.txt".to_owned() };
    let acted = second.actions.act(1, 900, &action, limits).await.unwrap();
    assert_eq!((acted.outcome.text.as_str(), acted.lost.is_some()), ("work\n", false));
    second.of_tasks.remove(1).await.unwrap();
}

#[tokio::test]
async fn a_stopped_sandbox_is_taken_with_its_way_out_closed() {
    let world = World::new().await;
    let sandboxes = &world.sandboxes;
    sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    world.bash(1, "echo work > work.txt").await;
    sandboxes.of_tasks.rest(1).await.unwrap();
    sandboxes.of_tasks.stop(1).await.unwrap();
    let told = || world.doors.told.lock().unwrap().clone();
    let before = told().len();
    let (_, files, _) = committed(&world, 1_000_000, &world.base).await;
    assert_eq!(files.len(), 1);
    assert!(told()[before..].iter().all(|words| words == "close 0"), "{:?}", told());
    assert_eq!(sandboxes.of_tasks.open(1).await, Ok(true), "it is inspected before work goes on in it");
    sandboxes.of_tasks.remove(1).await.unwrap();
}

#[tokio::test]
async fn a_quarantine_made_ahead_is_used_once_and_replaced_when_it_is_gone() {
    let world = World::new().await;
    let sandboxes = Arc::clone(&world.sandboxes);
    sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    let spec = world.capture_spec(1, 1, &world.base);
    sandboxes.quarantines.warm(&spec.segment);
    sandboxes.quarantines.warm(&spec.segment);
    world.bash(1, "echo one > one.txt").await;
    let made = async || world.broker.list().await.unwrap().iter().filter(|c| c.name.starts_with("quarantine")).count();
    while made().await == 0 {
        tokio::task::yield_now().await;
    }
    let (first, files, _) = committed(&world, 1, &world.base).await;
    assert_eq!(files.len(), 1);
    let created = world.broker.created.lock().unwrap().iter().filter(|name| name.starts_with("quarantine")).count();
    assert_eq!(created, 1, "the one made in advance was used");
    // The next one is made in advance too, and is lost by the engine.
    sandboxes.of_tasks.open(1).await.unwrap();
    let spec = world.capture_spec(1, 2, &first);
    sandboxes.quarantines.warm(&spec.segment);
    world.bash(1, "echo two > two.txt").await;
    while made().await == 0 {
        tokio::task::yield_now().await;
    }
    let lost = world.broker.created.lock().unwrap().last().cloned().unwrap();
    world.broker.remove(&lost).await.unwrap();
    assert!(matches!(sandboxes.captures.capture(&spec).await.unwrap(), Captured::Commit { .. }));
    // One that is not used is removed with its task.
    sandboxes.quarantines.warm(&world.capture_spec(1, 3, &first).segment);
    sandboxes.of_tasks.remove(1).await.unwrap();
    assert!(world.left().await.is_empty());
}

#[tokio::test]
async fn what_is_only_moved_is_not_new_however_large() {
    // Too large by each of the limits.
    let mut number = 1_u64;
    let noise: String = (0..3 << 20)
        .map(|_| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b' ' + u8::try_from((number >> 33) % 90).unwrap())
        })
        .collect();
    let files = [("data/large", noise.as_str()), ("data/other", "x\n")];
    let world = World::with(&files, |s| {
        (s.tree_pack_bytes, s.policy.object_bytes, s.policy.sum_bytes) = (1 << 20, 1 << 20, 2 << 20);
    })
    .await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    world.bash(1, "mv data moved; echo y >>moved/other").await;
    let (first, files, _) = committed(&world, 1, &world.base).await;
    let of = |kind: &str, path: &str| (kind.to_owned(), path.to_owned());
    let [deleted, added] = ["deleted", "added"];
    let all =
        [of(deleted, "data/large"), of(deleted, "data/other"), of(added, "moved/large"), of(added, "moved/other")];
    assert_eq!(files, all.map(|(kind, path)| (path, kind)));
    // It is complete in the bot's repository, and one byte more would be too much.
    world.repos.complete(KEY, &world.base, &first).await.unwrap();
    world.sandboxes.of_tasks.open(1).await.unwrap();
    world.bash(1, "echo >>moved/large").await;
    assert!(reasons(&world, 2, &first).await.contains("MB"), "now it is new");
}

#[tokio::test]
async fn what_came_home_incomplete_is_named() {
    let world = World::new().await;
    let at = world.dir.path().join("repos").join(format!("{KEY}.git"));
    let (nothing, here) = ("1".repeat(40), git_in(&at, &["hash-object", "-w", "--stdin"], b"here\n"));
    let below = format!("100644 blob {here}\tb\n100644 blob {nothing}\tmissing\n");
    let below = git_in(&at, &["mktree", "--missing"], below.as_bytes());
    let top = git_in(&at, &["mktree"], format!("040000 tree {below}\td\n").as_bytes());
    let commit = git(&at, &["-c", "user.name=x", "-c", "user.email=x", "commit-tree", "-m", "x", &top]);
    let commit = Commit::parse(commit.trim()).unwrap();
    let said = world.repos.complete(KEY, &world.base, &commit).await.unwrap_err().to_string();
    assert!(said.contains("d/missing"), "{said}");
    world.repos.complete(KEY, &commit, &commit).await.unwrap();
}
