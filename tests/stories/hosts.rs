//! `/allow` and `/deny`: from a comment to the rules of a running sandbox, to the next review, and back.

use crate::world::{FIX, PATIENCE, REPO, World, held, next_second};
use caisson::cli::store::location;
use caisson::sandbox::broker::Broker;
use caisson::store::{Address, RequestText, Store, TakeBack};
use domain::{Account, Source, TaskId};
use std::time::{Duration, Instant};

/// A world with a network and a task whose first action runs until the test ends it; returns the issue's number.
async fn at_work() -> (World, u64) {
    let world = World::networked(&held(), "").await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    (world, issue)
}

pub fn told(world: &World) -> Vec<String> {
    world.doors.as_ref().expect("a network").told.lock().expect("told").clone()
}

/// Waits until this is the newest request to the router.
async fn until_told(world: &World, words: &str) {
    let end = Instant::now() + PATIENCE;
    while told(world).last().map(String::as_str) != Some(words) {
        assert!(Instant::now() < end, "waited for {words:?}: {:#?}", told(world));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_host_reaches_the_running_sandbox_and_stands_in_the_next_review() {
    let (world, issue) = at_work().await;
    world.bob().comment(REPO, issue, "/allow evil.example").expect("said");
    world.until_said(issue, "`bob`: `/allow` is for").await;
    world.alice().comment(REPO, issue, "/allow `Bücher.example:8443`").expect("said");
    until_told(&world, "open 0 xn--bcher-kva.example:8443").await;
    world.until_said(issue, "It can be reached now.").await;
    assert_eq!(world.task().await.actions, 1, "the action still runs");
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    let review = world.until_said(pull, "### Checkpoint 1 ").await;
    let named = "**Hosts since the beginning** — `xn--bcher-kva.example:8443` allowed for this task by `alice`";
    assert!(review.contains(named), "{review}");
    assert_eq!(told(&world).last().map(String::as_str), Some("close 0"));
    world.alice().comment(REPO, pull, "/allow semver.org\n/allow *.example.org\n/deny nobody.example").expect("said");
    for answer in ["allowed `semver.org`", "allowed `*.example.org`", "nobody allowed `nobody.example`"] {
        world.until_said(pull, answer).await;
    }
    assert_eq!(told(&world).last().map(String::as_str), Some("close 0"), "nothing opens while a person is awaited");
    world.broker.remove("task-1-1").await.expect("taken away");
    world.approve().await;
    until_told(&world, "open 0 xn--bcher-kva.example:8443,*.example.org,semver.org").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_a_host_back_and_stops_the_task_in_one_breath_is_answered_for_both() {
    let (world, issue) = at_work().await;
    world.alice().comment(REPO, issue, "/allow semver.org").expect("said");
    world.until_said(issue, "It can be reached now.").await;
    world.alice().comment(REPO, issue, "/deny semver.org\n/stop").expect("said");
    world.until_state("cancelled").await;
    world.until_said(issue, "took back `semver.org`").await;
    world.nothing_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_back_is_gone_from_the_running_sandbox() {
    let world = World::networked(&held(), "").await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix\n\n/allow semver.org").expect("issue");
    world.until("a task", |task| task.request.is_some()).await;
    world.alice().comment(REPO, issue, "/allow semver.org:22").expect("said");
    world.until("an action that runs", |task| task.running.is_some()).await;
    until_told(&world, "open 0 semver.org,semver.org:22").await;
    world.alice().comment(REPO, issue, "/deny semver.org").expect("said");
    until_told(&world, "open 0 ").await;
    world.until_said(issue, "open connections to it were cut").await;
    world.alice().comment(REPO, issue, "/deny semver.org").expect("said");
    world.until_said(issue, "nothing to take back").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_allowed_for_the_repository_is_there_for_later_tasks_until_it_is_taken_back() {
    let world = World::networked(FIX, "").await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let first = world.until_state("awaiting-review").await.pull.expect("a pull request");
    assert_eq!(told(&world).iter().filter(|words| words.starts_with("open")).count(), 1, "{:?}", told(&world));
    world.alice().comment(REPO, first, "/allow semver.org repo").expect("said");
    world.until_said(first, "every later one of this repository").await;
    world.alice().open_issue(REPO, "Versions compare as text, again", "/fix").expect("issue");
    let end = Instant::now() + PATIENCE;
    let second = loop {
        let task = world.store().task(TaskId(2)).await.expect("read");
        if let (Some(pull), "awaiting-review") = (task.pull, task.state.name()) {
            break pull;
        }
        assert!(Instant::now() < end, "{:?}", task.state);
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let opened: Vec<_> = told(&world).into_iter().filter(|words| words.starts_with("open 1")).collect();
    assert_eq!(opened, ["open 1 semver.org"], "all that its sandbox may reach, once for its preparation");
    let review = world.until_said(second, "### Checkpoint 1 ").await;
    assert!(review.contains("`semver.org` allowed for the repository before by `alice`"), "{review}");
    world.alice().comment(REPO, second, "/deny semver.org").expect("said");
    world.until_said(second, "took back").await;
    assert!(world.store().grants("shop").await.expect("read").is_empty());
    world.approve().await;
    until_told(&world, "open 0 ").await;
}

/// As after the entry of the file was given to another repository.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_allowed_for_the_repository_is_not_allowed_for_another_one_under_its_key() {
    let mut world = World::networked(FIX, "").await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix\n\n/allow semver.org repo").expect("issue");
    world.until_state("awaiting-review").await;
    assert_eq!(world.store().grants("shop").await.expect("read").len(), 1);
    world.kill();
    let store = Store::open(location(&world.config).expect("a place")).await.expect("the store");
    let before = Address { repository: "shop".into(), forge_id: 4711, owner: "lab".into(), name: "other".into() };
    store.keep_address(before).await.expect("kept");
    drop(store);
    world.start().await;
    let end = Instant::now() + PATIENCE;
    while !world.store().grants("shop").await.expect("read").is_empty() {
        assert!(Instant::now() < end, "it is still allowed");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_allowed_for_the_repository_is_taken_back_from_an_issue_without_a_task() {
    let world = World::networked(&held(), "").await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix\n\n/allow semver.org repo").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    until_told(&world, "open 0 semver.org").await;
    let talk = world.alice().open_issue(REPO, "What our tasks may reach", "Less, I think.").expect("issue");
    world.bob().comment(REPO, talk, "/deny semver.org").expect("said");
    world.until_said(talk, "`bob`: `/deny` is for").await;
    let edited = world.alice().comment(REPO, talk, "never mind").expect("said");
    next_second().await;
    world.alice().edit_comment(REPO, edited, "/deny semver.org").expect("edited");
    world.until_said(talk, "post it again").await;
    world.alice().comment(REPO, talk, "/allow evil.example repo").expect("said");
    world.until_said(talk, "`evil.example` was not allowed: no task is at work here").await;
    assert_eq!(world.store().grants("shop").await.expect("read").len(), 1, "nobody who may has taken it back yet");
    world.alice().comment(REPO, talk, "Enough:\n\n/deny semver.org\n/deny nobody.example").expect("said");
    until_told(&world, "open 0 ").await;
    let answer = world.until_said(talk, "took back `semver.org` for this repository").await;
    assert!(answer.contains("nobody allowed `nobody.example` for this repository"), "{answer}");
    assert!(world.store().grants("shop").await.expect("read").is_empty());
    assert!(world.task().await.running.is_some(), "the task goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_line_denies_is_taken_back_beside_what_its_review_says() {
    let world = World::networked(FIX, "").await;
    let words = "/fix\n\n/allow a.example\n/allow b.example\n/allow c.example";
    world.alice().open_issue(REPO, "Versions compare as text", words).expect("issue");
    let task = world.until_state("awaiting-review").await;
    let (pull, commit) = (task.pull.expect("a pull request"), task.pushed.expect("a commit"));
    assert_eq!(task.hosts.len(), 3);
    world.bob().remark(REPO, pull, commit.as_str(), "", &[("semver.py", 6, "/deny a.example")]).expect("posted");
    world.until_said(pull, "`bob`: `/deny` is for").await;
    let notes =
        [("semver.py", 6, "/deny a.example"), ("semver.py", 2, "/deny b.example"), ("semver.py", 1, "/approve")];
    let review = world.alice().remark(REPO, pull, commit.as_str(), "Nearly.", &notes).expect("posted");
    for host in ["a.example", "b.example"] {
        world.until_said(pull, &format!("took back `{host}`")).await;
    }
    world.until_said(pull, "not carried out: `/approve`. There").await;
    world.alice().reply(REPO, pull, review, "/deny c.example").expect("posted");
    world.until_said(pull, "took back `c.example`").await;
    let task = world.task().await;
    assert_eq!((task.state.name(), task.hosts.len()), ("awaiting-review", 0));
    assert!(task.numbered.all().is_empty(), "none is a remark: {:?}", task.numbered);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_allowed_for_the_repository_is_taken_back_where_a_task_has_ended() {
    let world = World::networked(FIX, "").await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let (pull, commit) = (task.pull.expect("a pull request"), task.pushed.expect("a commit"));
    let all = "/allow a.example repo\n/allow a.example:22 repo\n/allow b.example repo\n/allow c.example repo";
    world.alice().comment(REPO, pull, all).expect("said");
    world.until_said(pull, "allowed `c.example`").await;
    // Posted directly after the command that ends the task.
    world.alice().comment(REPO, issue, "/stop").expect("said");
    world.alice().comment(REPO, issue, "/deny c.example").expect("said");
    world.until_said(issue, "took back `c.example`").await;
    world.until_state("cancelled").await;
    world.bob().comment(REPO, pull, "/deny a.example").expect("said");
    world.until_said(pull, "`bob`: `/deny` is for").await;
    world.alice().comment(REPO, pull, "/deny a.example").expect("said");
    world.until_said(pull, "took back `a.example`, `a.example:22` for this repository").await;
    world.alice().review_comment(REPO, pull, commit.as_str(), "/deny b.example").expect("said");
    world.until_said(pull, "took back `b.example` for this repository").await;
    world.alice().set_open(REPO, issue, false).expect("closed");
    world.alice().comment(REPO, issue, "/deny b.example").expect("said");
    world.until_said(issue, "nobody allowed `b.example` for this repository").await;
    world.alice().open_issue(REPO, "Versions compare as text, again", "/fix").expect("issue");
    until_told(&world, "open 0 ").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repositorys_own_hosts_are_open_to_its_sandboxes_and_nobody_allows_what_is_denied_to_it() {
    let mut world = World::networked(&held(), "egress.allow = [\"mirror.test\", \"a.shut.test\"]").await;
    let own = "[repositories.egress]\nallow = [\"docs.test:443\"]\ndeny = [\"*.shut.test\"]\n";
    world.reconfigure(|text| text + own).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    // The router's policy opens `a.shut.test` to every sandbox, so the refusal is for this one.
    until_told(&world, "open 0 mirror.test,docs.test:443,!*.shut.test").await;
    world.alice().comment(REPO, issue, "/allow b.shut.test").expect("said");
    let answer = world.until_said(issue, "the operator denies it").await;
    assert!(answer.contains("`*.shut.test`"), "{answer}");
    world.alice().comment(REPO, issue, "/allow semver.org").expect("said");
    until_told(&world, "open 0 mirror.test,docs.test:443,!*.shut.test,semver.org").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_life_cut_off_after_a_host_was_taken_back_leaves_it_to_no_sandbox() {
    let mut world = World::networked(&held(), "").await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix\n\n/allow semver.org repo").expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    until_told(&world, "open 0 semver.org").await;
    world.kill();
    let cut = Store::open(location(&world.config).expect("a place")).await.expect("the store");
    let asked = RequestText {
        repository: "shop".to_owned(),
        key: "comment:1000#0".to_owned(),
        number: 1,
        source: Source::Comment(1000),
        author: Account { id: 2, login: "alice".to_owned() },
        command: "deny".to_owned(),
    };
    let input_key = format!("{}~taken", asked.key);
    let wish = TakeBack { asked, input_key, hosts: vec!["semver.org".to_owned()], now: 1 };
    assert_eq!(cut.take_back(wish).await.expect("written"), ["semver.org"]);
    drop(cut);
    let before = told(&world).len();
    world.start().await;
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
    world.until_state("awaiting-review").await;
    let opened: Vec<_> = told(&world).split_off(before).into_iter().filter(|it| it.starts_with("open")).collect();
    assert!(!opened.is_empty() && opened.iter().all(|words| words == "open 0 "), "{opened:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_life_that_can_write_nothing_behind_a_tasks_beginning_keeps_what_its_text_allows() {
    let world = World::networked(FIX, "").await;
    let other = world.by_hand().await;
    // As if the process ended there: what follows the opening text by itself is never written.
    let cut = match world.config.store.url {
        None => {
            "CREATE TRIGGER cut BEFORE INSERT ON inputs WHEN NEW.key LIKE '%+0' BEGIN SELECT RAISE(ABORT, 'cut'); END"
        }
        Some(_) => {
            "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'cut'; END $$; \
             CREATE TRIGGER cut BEFORE INSERT ON inputs FOR EACH ROW WHEN (NEW.key LIKE '%+0') EXECUTE FUNCTION cut()"
        }
    };
    sqlx::raw_sql(cut).execute(&other).await.expect("made");
    let words = "/fix\n\n/allow semver.org\n/allow crates.example";
    world.alice().open_issue(REPO, "Versions compare as text", words).expect("issue");
    let task = world.until_state("awaiting-review").await;
    let hosts: Vec<&str> = task.hosts.iter().map(|grant| grant.host.as_str()).collect();
    assert_eq!(hosts, ["semver.org", "crates.example"]);
    assert!(told(&world).iter().any(|words| words == "open 0 semver.org,crates.example"), "{:#?}", told(&world));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_and_the_grammar_have_the_last_word() {
    let world = World::networked(FIX, "[egress]\nallow = [\"ok.example\"]\ndeny = [\"*.evil.example\"]").await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/allow x.evil.example").expect("said");
    world.until_said(pull, "the rule `*.evil.example` of the configuration").await;
    world.alice().comment(REPO, pull, "/allow https://a.example/x").expect("said");
    world.until_said(pull, "write the host alone").await;
    world.alice().comment(REPO, issue, "/allow *.co.uk").expect("said");
    world.until_said(issue, "names that anyone can register").await;
    assert!(world.task().await.hosts.is_empty());
    world.approve().await;
    world.until_state("final-review").await;
    let opened: Vec<_> = told(&world).into_iter().filter(|words| words.starts_with("open")).collect();
    assert!(opened.iter().all(|words| words == "open 0 ok.example"), "{opened:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_network_nothing_is_promised() {
    let world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/allow semver.org").expect("said");
    world.until_said(pull, "sandboxes have no network here").await;
}
