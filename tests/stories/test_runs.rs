//! `/test-pr` and `/test-pr-bug`: a command on a branch, answered once and shown as a commit status, also if the bot is killed meanwhile.

use crate::world::{FIX, PATIENCE, REPO, TEST, World, git};
use caisson::barrier::BarrierState;
use caisson::forge::{ForgeReads as _, ForgeWrites as _, NewPull, RepoRef, StatusState};
use std::path::Path;
use std::time::{Duration, Instant};

const COMMAND: &str = "python3 -m unittest -q tests.test_semver";
const MENDED: &str = "def newer(a, b):\n    return parse(a) > parse(b)\n\n\ndef parse(text):\n    return [int(part) for part in text.split('.')]\n";

pub fn at() -> RepoRef {
    RepoRef::new("lab", "shop")
}

/// Pushes a branch off `main` with these files; returns its commit.
pub fn branch(world: &World, name: &str, files: &[(&str, &str)]) -> String {
    let work = world.dir.path().join("project");
    git(&work, &["checkout", "-q", "-b", name, "main"]);
    for (path, text) in files {
        std::fs::write(work.join(path), text).expect("written");
    }
    git(&work, &["add", "."]);
    git(&work, &["commit", "-q", "-m", "A branch"]);
    let header = format!("http.extraHeader=Authorization: token {}", world.forge.admin_token());
    git(&work, &["-c", &header, "push", "-q", &format!("{}/{REPO}.git", world.forge.url()), name]);
    let commit = git(&work, &["rev-parse", "HEAD"]);
    git(&work, &["checkout", "-q", "main"]);
    commit
}

pub fn issue(world: &World) -> u64 {
    world.alice().open_issue(REPO, "About a branch", "Does it work?").expect("issue")
}

pub fn say(world: &World, number: u64, words: &str) {
    world.alice().comment(REPO, number, words).expect("said");
}

async fn status(world: &World, commit: &str, context: &str) -> Option<(StatusState, String)> {
    let all = world.look().statuses(&at(), commit).await.expect("statuses");
    all.into_iter().find(|it| it.context == context).map(|it| (it.state, it.description))
}

pub async fn until_status(world: &World, commit: &str, context: &str, state: StatusState) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        let found = status(world, commit, context).await;
        if let Some((now, line)) = &found
            && *now == state
        {
            return line.clone();
        }
        assert!(Instant::now() < end, "waited for {state:?}, found {found:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub async fn until_lines(path: &Path, lines: usize) {
    let end = Instant::now() + PATIENCE;
    while std::fs::read_to_string(path).unwrap_or_default().lines().count() < lines {
        assert!(Instant::now() < end, "it never ran");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub async fn until_answered(world: &World) {
    let end = Instant::now() + PATIENCE;
    while !world.store().open_test_runs().await.expect("read").is_empty() {
        assert!(Instant::now() < end, "a run is never closed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_on_exactly_the_branchs_commit_and_is_answered_once() {
    let world = World::new(FIX).await;
    let commit = branch(&world, "mend", &[("semver.py", MENDED)]);
    let red = branch(&world, "red", &[("notes.txt", "nothing\n")]);
    let issue = issue(&world);
    say(&world, issue, &format!("/test-pr \"{COMMAND}; echo '```'; echo @all\" mend"));
    let said = world.until_said(issue, "**passes**").await;
    for words in [&commit[..10], "`mend`", "| 0 |", "@all", "caisson task test-log 1"] {
        assert!(said.contains(words), "{words} is missing:\n{said}");
    }
    assert!(said.contains("````\n"), "nothing gets out of the fence:\n{said}");
    let line = until_status(&world, &commit, "caisson/test", StatusState::Success).await;
    assert!(line.contains("exit status 0") && line.contains("unittest"), "{line}");
    say(&world, issue, &format!("/test-pr \"{COMMAND}\" red"));
    let said = world.until_said(issue, "**fails on the branch**").await;
    assert!(said.contains("FAILED") && said.contains("| 1 |"), "{said}");
    until_status(&world, &red, "caisson/test", StatusState::Failure).await;
    until_answered(&world).await;
    assert_eq!(world.said(issue).await.len(), 2);
    let (row, log) = world.store().test_run(1).await.expect("read").expect("there");
    assert!(row.run.commit.as_str() == commit && log.is_some_and(|log| log.contains("@all")));
    assert!(world.store().tasks(5).await.expect("read").is_empty(), "it is no task");
    world.nothing_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_pull_request_its_head_is_meant_and_setup_runs_in_the_same_sandbox() {
    let world = World::new(FIX).await;
    let commit = branch(&world, "mend", &[("semver.py", MENDED)]);
    let new = NewPull { title: "Mend".into(), body: "It.".into(), head: "mend".into(), base: "main".into() };
    let pull = world.look().open_pull(&at(), &new).await.expect("a pull request").number;
    say(&world, pull, "/test-pr \"cat made\" --setup \"echo \\\"made before\\\" > made\"");
    let said = world.until_said(pull, "**passes**").await;
    assert!(said.contains("made before\n") && said.contains("Before it, in the same sandbox"), "{said}");
    until_status(&world, &commit, "caisson/test", StatusState::Success).await;
    say(&world, pull, "/test-pr \"test ! -e made\"");
    until_answered(&world).await;
    say(&world, pull, "/test-pr \"true\" --setup \"exit 3\"");
    let said = world.until_said(pull, "the setup fails on the branch").await;
    assert!(said.contains("3, of the setup"), "{said}");
    let passed = world.said(pull).await.iter().filter(|text| text.contains("**passes**")).count();
    assert_eq!(passed, 2, "each has a sandbox of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_beside_a_task_moves_the_task_nowhere() {
    let world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let pull = task.pull.expect("a pull request");
    let before = world.log().await.len();
    say(&world, pull, &format!("/test-pr \"{COMMAND}\""));
    let said = world.until_said(pull, "**passes**").await;
    assert!(said.contains(task.pushed.expect("a commit").short()), "{said}");
    until_answered(&world).await;
    assert_eq!(world.log().await.len(), before);
    assert_eq!(world.task().await.state.name(), "awaiting-review");
    world.bob().comment(REPO, pull, "/test-pr \"true\"").expect("said");
    world.until_said(pull, "`bob`: `/test-pr` is for").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_shows_a_bug_where_it_fails_on_the_base_and_passes_on_the_branch() {
    let world = World::new(FIX).await;
    let hundred = TEST.replace("test_ten", "test_hundred").replace("'1.10.0', '1.9.0'", "'1.100.0', '1.99.0'");
    let command = "python3 -m unittest -q tests.test_hundred";
    let shows = branch(&world, "shows", &[("semver.py", MENDED), ("tests/test_hundred.py", &hundred)]);
    let nothing = hundred.replace("'1.100.0', '1.99.0'", "'2', '1'");
    let same = branch(&world, "same", &[("semver.py", MENDED), ("tests/test_hundred.py", &nothing)]);
    let alone = branch(&world, "alone", &[("tests/test_hundred.py", &hundred)]);
    let issue = issue(&world);
    for (name, commit, words, state) in [
        ("shows", shows, "**shows the bug", StatusState::Success),
        ("same", same, "**passes on the base too, so it shows nothing**", StatusState::Failure),
        ("alone", alone, "**fails on the branch**", StatusState::Failure),
    ] {
        say(&world, issue, &format!("/test-pr-bug \"{command}\" {name}"));
        let said = world.until_said(issue, words).await;
        assert!(said.contains("with 1 file of tests"), "{said}");
        until_status(&world, &commit, "caisson/test-bug", state).await;
        assert_eq!(status(&world, &commit, "caisson/test").await, None, "it is no plain run");
    }
    say(&world, issue, &format!("/test-pr-bug \"{command}\" main"));
    world.until_said(issue, "is what a branch is compared with").await;
    world.nothing_left().await;
}

/// The branch's tests inside of a Rust file are laid over the base's file, unless they stand within another item: passing there shows nothing
/// then.
#[tokio::test(flavor = "multi_thread")]
async fn tests_inside_a_source_file_are_laid_over_the_base_where_their_place_is_known() {
    let world = World::new(FIX).await;
    let test = "#[test]\nfn doubles() { assert_eq!(double(2), 4); }\n";
    let file = format!("pub fn double(a: u8) -> u8 {{ a * 2 }}\n{test}");
    world.push(&[("src/it, so.rs", "pub fn double(a: u8) -> u8 { a }\n")]);
    let commit = branch(&world, "inside", &[("src/it, so.rs", &file)]);
    let issue = issue(&world);
    // It has the test on both, and what it tests on the branch alone.
    say(&world, issue, "/test-pr-bug \"grep -q 'fn doubles' src/*.rs && grep -q 'a . 2 }' src/*.rs\" inside");
    let said = world.until_said(issue, "shows the bug").await;
    assert!(said.contains("with 1 file of tests and what steers them from the branch"), "{said}");
    until_status(&world, &commit, "caisson/test-bug", StatusState::Success).await;
    say(&world, issue, "/test-pr-bug \"grep -q 'fn doubles' src/*.rs\" inside");
    world.until_said(issue, "passes on the base too").await;
    let within = format!("pub fn double(a: u8) -> u8 {{ a * 2 }}\nmod inner {{\n{test}}}\n");
    let commit = branch(&world, "within", &[("src/it, so.rs", &within)]);
    say(&world, issue, "/test-pr-bug \"true\" within");
    world.until_said(issue, "where tests inside source files could not be laid over").await;
    until_status(&world, &commit, "caisson/test-bug", StatusState::Error).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_that_asserts_less_is_pointed_out() {
    let world = World::new(FIX).await;
    let hollow = TEST.replace("self.assertTrue(newer('1.10.0', '1.9.0'))", "newer('1.10.0', '1.9.0')");
    branch(&world, "hollow", &[("tests/test_semver.py", &hollow)]);
    let issue = issue(&world);
    say(&world, issue, &format!("/test-pr \"{COMMAND}\" hollow"));
    let said = world.until_said(issue, "**passes**").await;
    assert!(said.contains("- `tests/test_semver.py`: assertions 1 → 0"), "{said}");
    let skipped = TEST.replace("    def test_ten", "    @unittest.skip('later')\n    def test_ten");
    assert_ne!(skipped, TEST);
    branch(&world, "skipped", &[("tests/test_semver.py", &skipped)]);
    say(&world, issue, &format!("/test-pr \"{COMMAND}\" skipped"));
    let said = world.until_said(issue, "skipped 0 → 1").await;
    assert!(said.contains("no test ran") && said.contains("- `tests/test_semver.py`: skipped 0 → 1"), "{said}");
}

/// `kill -9` while the command runs: it is run again, and nothing is posted twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_bot_killed_in_the_middle_of_a_run_begins_it_again() {
    let mut world = World::new(FIX).await;
    let commit = branch(&world, "mend", &[("semver.py", MENDED)]);
    let (ran, go) = (world.dir.path().join("ran"), world.dir.path().join("go"));
    let issue = issue(&world);
    let wait = format!("echo run >> {}; while [ ! -e {} ]; do sleep 0.02; done", ran.display(), go.display());
    say(&world, issue, &format!("/test-pr \"{wait}\" mend"));
    until_lines(&ran, 1).await;
    until_status(&world, &commit, "caisson/test", StatusState::Pending).await;
    world.kill();
    std::fs::write(&go, "").expect("written");
    world.start().await;
    world.until_said(issue, "**passes**").await;
    until_status(&world, &commit, "caisson/test", StatusState::Success).await;
    until_answered(&world).await;
    assert_eq!(std::fs::read_to_string(&ran).expect("ran").lines().count(), 2);
    assert_eq!(world.said(issue).await.len(), 1);
    world.nothing_left().await;
}

/// Killed between the answer and the status: the answer is found again, and nothing is run again.
#[tokio::test(flavor = "multi_thread")]
async fn a_bot_killed_behind_its_answer_only_sets_the_status() {
    let mut world = World::new(FIX).await;
    let commit = branch(&world, "mend", &[("semver.py", MENDED)]);
    let (ran, go) = (world.dir.path().join("ran"), world.dir.path().join("go"));
    let issue = issue(&world);
    let wait = format!("echo run >> {}; while [ ! -e {} ]; do sleep 0.02; done", ran.display(), go.display());
    say(&world, issue, &format!("/test-pr \"{wait}\" mend"));
    until_status(&world, &commit, "caisson/test", StatusState::Pending).await;
    until_lines(&ran, 1).await;
    let address = format!("POST /statuses/{commit}");
    world.forge.refuse(&[(address.as_str(), 502)]);
    std::fs::write(&go, "").expect("written");
    world.until_said(issue, "**passes**").await;
    let end = Instant::now() + PATIENCE;
    while world.forge.times_refused() == 0 {
        assert!(Instant::now() < end, "the status was not tried");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.kill();
    world.forge.refuse(&[]);
    world.start().await;
    until_status(&world, &commit, "caisson/test", StatusState::Success).await;
    until_answered(&world).await;
    assert_eq!(std::fs::read_to_string(&ran).expect("ran").lines().count(), 1);
    assert_eq!(world.said(issue).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_hour_has_so_many_runs_and_none_where_the_operator_says_so() {
    let mut world = World::with(FIX, "tests.per_hour = 1").await;
    let issue = issue(&world);
    say(&world, issue, "/test-pr \"true\" main");
    world.until_said(issue, "**passes**").await;
    say(&world, issue, "/test-pr \"true\" main");
    world.until_said(issue, "the 1 run that this repository may have within an hour").await;
    assert!(world.store().test_run(2).await.expect("read").is_none());
    world.kill();
    let mut config = (*world.config).clone();
    config.tests.per_hour = 0;
    world.config = std::sync::Arc::new(config);
    world.start().await;
    say(&world, issue, "/test-pr \"true\" main");
    world.until_said(issue, "switched that off").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_run_is_answered_and_nothing_runs() {
    let world = World::with(FIX, "who.test-pr-bug = [\"admins\"]").await;
    let issue = issue(&world);
    for (words, answer) in [
        ("/test-pr \"true\" nowhere", "there is no branch `nowhere`"),
        ("/test-pr \"true\"", "this is no pull request, so say which branch"),
        ("/test-pr make test", "stands in quotes"),
        ("/test-pr \"true", "is not closed"),
        ("/test-pr \"true\" bob:mend", "not a fork's"),
        ("/test-pr-bug \"true\" main", "`/test-pr-bug` is for administrators"),
        ("/status\n/test-pr \"true\" nowhere\n/fix it", "Not carried out: `/fix`"),
    ] {
        say(&world, issue, words);
        world.until_said(issue, answer).await;
    }
    world.bob().comment(REPO, issue, "/test-pr \"true\" main").expect("said");
    world.until_said(issue, "`bob`: `/test-pr` is for").await;
    assert!(world.store().test_run(1).await.expect("read").is_none());
    assert!(world.store().tasks(5).await.expect("read").is_empty());
}

/// Pull request of bob's fork at this commit; its number and the commit.
pub async fn of_a_fork(world: &World) -> (u64, String) {
    let fork = world.bob().fork(REPO).await.expect("a fork");
    let work = world.dir.path().join("project");
    git(&work, &["checkout", "-q", "-b", "theirs", "main"]);
    std::fs::write(work.join("semver.py"), MENDED).expect("written");
    std::fs::write(work.join(".caisson.toml"), "setup = [\"false\"]\n").expect("written");
    git(&work, &["add", "."]);
    git(&work, &["commit", "-q", "-m", "From outside"]);
    let token = world.forge.add_token("bob").expect("a token");
    let header = format!("http.extraHeader=Authorization: token {token}");
    git(&work, &["-c", &header, "push", "-q", &format!("{}/{fork}.git", world.forge.url()), "theirs"]);
    let commit = git(&work, &["rev-parse", "HEAD"]);
    git(&work, &["checkout", "-q", "main"]);
    let new = NewPull { title: "Mend".into(), body: "It.".into(), head: "bob:theirs".into(), base: "main".into() };
    (world.look().open_pull(&at(), &new).await.expect("a pull request").number, commit)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forks_pull_request_is_run_at_its_head_for_those_who_may_and_not_at_each_push() {
    let world = World::new(FIX).await;
    let (pull, commit) = of_a_fork(&world).await;
    world.bob().comment(REPO, pull, "/test-pr \"true\"").expect("said");
    world.until_said(pull, "`bob`: `/test-pr` is for").await;
    say(&world, pull, "/test-pr \"true\" --each-push");
    world.until_said(pull, "lies in a fork or on no branch, so people may push to it who may not write here").await;
    assert!(world.store().test_run(1).await.expect("read").is_none());
    say(&world, pull, &format!("/test-pr \"{COMMAND}\""));
    let said = world.until_said(pull, "**passes**").await;
    assert!(said.contains("`pull/1/head`") && said.contains(&commit[..10]), "{said}");
    until_status(&world, &commit, "caisson/test", StatusState::Success).await;
    say(&world, pull, &format!("/test-pr-bug \"{COMMAND}\""));
    world.until_said(pull, "**shows the bug").await;
}

async fn answer(world: &World, number: u64) -> caisson::forge::Comment {
    let all = world.look().comments(&at(), number).await.expect("comments");
    all.into_iter().find(|it| it.author.login == "caisson" && it.body.contains("/test-pr")).expect("an answer")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_output_hangs_on_the_answer_once_without_credentials() {
    let world = World::new(FIX).await;
    branch(&world, "mend", &[("semver.py", MENDED)]);
    let issue = issue(&world);
    let lost = std::sync::atomic::AtomicBool::new(false);
    world.forge.set_faults(move |method, path| {
        let upload = method == "POST" && path.ends_with("/assets");
        (upload && !lost.swap(true, std::sync::atomic::Ordering::SeqCst)).then_some(devforge::Fault::Unanswered)
    });
    let token = format!("gh{}_{}", "p", "a1B2".repeat(10));
    say(&world, issue, &format!("/test-pr \"echo first; seq 100000; echo {token}; echo last\" mend"));
    world.until_said(issue, "**passes**").await;
    until_answered(&world).await;
    let files = world.look().comment_attachments(&at(), answer(&world, issue).await.id).await.expect("files");
    assert_eq!(files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["test-run-1.log"]);
    let text = world.look().attachment(&files[0], 1 << 20).await.expect("the file");
    let text = String::from_utf8(text).expect("text");
    assert!(text.contains("\nfirst\n") && text.contains("\nlast\n"), "{}", &text[..300]);
    // More than twice what the runner keeps of an output.
    let lines: std::collections::HashSet<&str> = text.lines().collect();
    assert!((1..=100_000).all(|n| lines.contains(n.to_string().as_str())), "{} bytes", text.len());
    assert!(!text.lines().any(|line| line == token));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_forge_takes_no_files_the_answer_says_so_once() {
    let world = World::new(FIX).await;
    branch(&world, "mend", &[("semver.py", MENDED)]);
    let issue = issue(&world);
    world.forge.refuse(&[("POST /assets", 404)]);
    say(&world, issue, "/test-pr \"true\" mend");
    let said = world.until_said(issue, "takes no file with the whole output").await;
    assert!(said.contains("caisson task test-log 1"), "{said}");
    until_answered(&world).await;
    assert_eq!(world.said(issue).await.iter().filter(|text| text.contains("**passes**")).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_runs_before_the_barrier_is_proven_and_a_broken_one_is_said() {
    let world = World::new(FIX).await;
    let commit = branch(&world, "mend", &[("semver.py", MENDED)]);
    let ran = world.dir.path().join("ran");
    world.barrier.send(BarrierState::Waiting("it is tried".into())).expect("heard");
    let issue = issue(&world);
    say(&world, issue, &format!("/test-pr \"echo run >> {}\" mend", ran.display()));
    until_status(&world, &commit, "caisson/test", StatusState::Pending).await;
    world.heard(issue).await;
    assert!(!ran.exists());
    world.barrier.send(BarrierState::Refused("the barrier does not hold here".into())).expect("heard");
    let said = world.until_said(issue, "**not run**").await;
    assert!(said.contains("the barrier does not hold here"), "{said}");
    until_status(&world, &commit, "caisson/test", StatusState::Error).await;
    assert!(!ran.exists());
}

/// A pull request of the branch `mend`, at whose pushes the command is run from now on; its number.
pub async fn watched(world: &World, command: &str) -> u64 {
    branch(world, "mend", &[("semver.py", MENDED)]);
    let new = NewPull { title: "Mend".into(), body: "It.".into(), head: "mend".into(), base: "main".into() };
    let pull = world.look().open_pull(&at(), &new).await.expect("a pull request").number;
    say(world, pull, &format!("/test-pr \"{command}\" --each-push"));
    let said = world.until_said(pull, "again at each push").await;
    assert!(said.contains("**passes**"), "{said}");
    until_answered(world).await;
    pull
}

/// Pushes another commit with this file to the branch `mend`; returns it.
pub fn push(world: &World, path: &str, text: &str) -> String {
    let work = world.dir.path().join("project");
    git(&work, &["checkout", "-q", "mend"]);
    std::fs::write(work.join(path), text).expect("written");
    git(&work, &["add", "."]);
    git(&work, &["commit", "-q", "-m", "More"]);
    let header = format!("http.extraHeader=Authorization: token {}", world.forge.admin_token());
    git(&work, &["-c", &header, "push", "-q", &format!("{}/{REPO}.git", world.forge.url()), "mend"]);
    let commit = git(&work, &["rev-parse", "HEAD"]);
    git(&work, &["checkout", "-q", "main"]);
    commit
}

async fn until_unwatched(world: &World, pull: u64) {
    let end = Instant::now() + PATIENCE;
    while !world.store().watched_pull("shop", pull).await.expect("read").is_empty() {
        assert!(Instant::now() < end, "it is watched for ever");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_pull_request_is_tested_at_each_push_until_that_is_taken_back() {
    let mut world = World::new(FIX).await;
    let pull = watched(&world, COMMAND).await;
    let red = push(&world, "semver.py", "def newer(a, b):\n    return a > b\n");
    let said = world.until_said(pull, "**fails on the branch**").await;
    assert!(said.contains(&red[..10]) && said.contains("again at each push"), "{said}");
    until_status(&world, &red, "caisson/test", StatusState::Failure).await;
    until_answered(&world).await;
    // What was pushed while nobody was there is tested once, too.
    world.kill();
    let green = push(&world, "semver.py", MENDED);
    world.start().await;
    until_status(&world, &green, "caisson/test", StatusState::Success).await;
    until_answered(&world).await;
    say(&world, pull, "/test-pr --off");
    world.until_said(pull, "nothing is run at pushes here from now on").await;
    let quiet = push(&world, "notes.txt", "more\n");
    say(&world, pull, "/test-pr \"test -e semver.py\" main");
    world.until_said(pull, "test -e semver.py").await;
    until_answered(&world).await;
    assert_eq!(status(&world, &quiet, "caisson/test").await, None, "nobody asked for it");
    let said = world.said(pull).await;
    assert!(said.iter().all(|text| !text.contains(&quiet[..10])));
    assert_eq!(said.iter().filter(|text| text.contains(&green[..10])).count(), 1, "{said:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pushes_are_tested_only_while_whoever_asked_may_ask_and_the_pull_request_is_open() {
    let mut world = World::with(FIX, "tests.per_hour = 3").await;
    let issue = issue(&world);
    say(&world, issue, "/test-pr \"true\" --each-push");
    world.until_said(issue, "`--each-push` is for a pull request").await;
    let pull = watched(&world, "true").await;
    world.forge.add_collaborator(REPO, "alice", devforge::Access::Read).expect("taken back");
    let first = push(&world, "notes.txt", "one\n");
    let said = world.until_said(pull, "may not have that run any more").await;
    assert!(said.starts_with(&format!("`{}` is not tested", &first[..10])), "{said}");
    until_unwatched(&world, pull).await;
    assert_eq!(status(&world, &first, "caisson/test").await, None);
    world.forge.add_collaborator(REPO, "alice", devforge::Access::Write).expect("given");
    say(&world, pull, "/test-pr \"true\" --each-push");
    until_status(&world, &first, "caisson/test", StatusState::Success).await;
    push(&world, "notes.txt", "two\n");
    let end = Instant::now() + PATIENCE;
    while world.said(pull).await.iter().filter(|text| text.contains("**passes**")).count() < 3 {
        assert!(Instant::now() < end, "{:#?}", world.said(pull).await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let third = push(&world, "notes.txt", "three\n");
    let said = world.until_said(pull, "within an hour are used up").await;
    assert!(said.starts_with(&format!("`{}` is not tested", &third[..10])), "{said}");
    assert!(!world.store().watched_pull("shop", pull).await.expect("read").is_empty(), "the next push is");
    until_status(&world, &third, "caisson/test", StatusState::Pending).await;
    // Each round looks whether there is room, and says nothing more.
    for _ in 0..2 {
        let end = Instant::now() + PATIENCE;
        while world.store().unread().await.expect("read") != [("shop".to_owned(), pull)] {
            assert!(Instant::now() < end, "nobody looks again");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        world.read_now().await.expect("read");
        world.heard(pull).await;
    }
    let said = world.said(pull).await;
    assert_eq!(said.iter().filter(|text| text.contains("within an hour are used up")).count(), 1, "{said:#?}");
    // Where there is room, a round has it tested.
    world.reconfigure(|text| text.replace("per_hour = 3", "per_hour = 9")).await;
    until_status(&world, &third, "caisson/test", StatusState::Success).await;
    world.alice().close(REPO, pull).expect("closed");
    say(&world, pull, "/test-pr \"true\" --each-push");
    world.until_said(pull, "this pull request is closed, so nobody pushes").await;
    until_unwatched(&world, pull).await;
}
