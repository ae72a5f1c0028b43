//! Commands where no task is at work, on pull requests of people, on those of ended tasks and on closed issues: each is answered once, and
//! none begins anything.

use crate::own_commands::command;
use crate::places::{UNNAMED, are_all, each_in_its_own, names};
use crate::reviews::{open, push as push_branch, say};
use crate::world::{FIX, PATIENCE, REPO, World, held};
use devforge::Access;
use std::time::{Duration, Instant};

const NO_TASK: &str = "no task belongs to this issue or pull request yet";

/// A person's pull request, with its head.
async fn persons(world: &World) -> (u64, String) {
    let head = push_branch(world, ("alice", REPO), "mend", &[("semver.py", "def newer(a, b):\n    return b < a\n")]);
    (open(world, "alice", "mend").await, head)
}

/// An issue, and its pull request whose task was stopped.
pub async fn stopped(world: &World) -> (u64, u64) {
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    say(world, pull, "/stop");
    world.until_state("cancelled").await;
    world.settled().await;
    (issue, pull)
}

/// How many texts of the bot hold these words.
pub async fn times(world: &World, number: u64, words: &str) -> usize {
    world.said(number).await.iter().filter(|text| text.contains(words)).count()
}

/// Waits until this number was told so often that no task is there.
async fn until_times(world: &World, number: u64, most: usize) {
    let end = Instant::now() + PATIENCE;
    while times(world, number, NO_TASK).await < most {
        assert!(Instant::now() < end, "{:#?}", world.said(number).await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(times(world, number, NO_TASK).await, most);
}

async fn tasks(world: &World) -> usize {
    world.store().tasks(9).await.expect("read").len()
}

/// Says each text, and waits for the words of its answer; at last everything was answered once.
async fn each_answered_once(world: &World, number: u64, texts: &[(&str, &str)]) {
    let before = world.said(number).await.len();
    for (at, (text, words)) in texts.iter().enumerate() {
        say(world, number, text);
        world.until_said(number, words).await;
        assert_eq!(world.said(number).await.len(), before + at + 1, "{text}: {:#?}", world.said(number).await);
    }
    world.read_now().await.expect("read");
    world.heard(number).await;
    assert_eq!(world.said(number).await.len(), before + texts.len() + 1, "{:#?}", world.said(number).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_on_a_persons_pull_request_is_answered_once() {
    let world = World::new(FIX).await;
    let (pull, head) = persons(&world).await;
    say(&world, pull, "A remark, and no command. /status stands in its middle.");
    let texts = [
        ("/help", "A command stands at the beginning of a line"),
        ("/frobnicate", "`/frobnicate` is no command"),
        ("/review --branch x", "`/review` could not be followed"),
        ("/security --frob", "`/security` could not be followed"),
        ("/test-pr \"x", "`/test-pr` could not be followed"),
        ("/approve", NO_TASK),
    ];
    each_answered_once(&world, pull, &texts).await;
    // Another program's command: its author knows by now.
    say(&world, pull, "/lgtm");
    for text in ["/ask what is it?", "/cost", "/stop"] {
        let before = times(&world, pull, NO_TASK).await;
        say(&world, pull, text);
        until_times(&world, pull, before + 1).await;
    }
    let before = times(&world, pull, NO_TASK).await;
    world.alice().review_comment(REPO, pull, &head, "/status").expect("reviewed");
    world.bob().approve(REPO, pull, &head).expect("approved");
    until_times(&world, pull, before + 1).await;
    say(&world, pull, "/status");
    until_times(&world, pull, before + 2).await;
    world.read_now().await.expect("read");
    assert_eq!(times(&world, pull, NO_TASK).await, before + 2, "a review's text is answered, an approval is not");
    assert_eq!(times(&world, pull, "is no command").await, 1);
    assert_eq!(tasks(&world).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_write_is_told_once_on_a_pull_request_whatever_they_write() {
    let world = World::new(FIX).await;
    let (pull, _) = persons(&world).await;
    for text in
        ["/ask why?", "/ask why not?", "/approve", "/frobnicate", "/review --branch x", "/lgtm", "@caisson why?"]
    {
        world.bob().comment(REPO, pull, text).expect("said");
    }
    world.until_said(pull, "`bob`: `/ask` is for").await;
    world.until_said(pull, "`/frobnicate` is no command").await;
    world.heard(pull).await;
    assert_eq!(world.said(pull).await.len(), 3, "{:#?}", world.said(pull).await);
    world.bob().comment(REPO, pull, "/help").expect("said");
    world.until_said(pull, "A command stands at the beginning of a line").await;
    // A right that is given later makes a command of nothing that was refused.
    world.forge.add_collaborator(REPO, "bob", Access::Write).expect("a right");
    world.read_now().await.expect("read");
    world.heard(pull).await;
    assert_eq!(world.said(pull).await.len(), 5, "{:#?}", world.said(pull).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_issue_answers_and_opened_again_begins_nothing_by_what_was_said() {
    let world = World::new(FIX).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "It does.").expect("issue");
    world.alice().close(REPO, issue).expect("closed");
    let texts = [
        ("/fix --frob 3", "`/fix` could not be followed"),
        ("/frobnicate", "`/frobnicate` is no command"),
        ("/help", "A command stands at the beginning of a line"),
        ("/fix", "this issue is closed"),
    ];
    each_answered_once(&world, issue, &texts).await;
    let before = world.said(issue).await.len();
    world.alice().set_open(REPO, issue, true).expect("opened");
    world.heard(issue).await;
    assert_eq!(world.said(issue).await.len(), before + 1);
    assert_eq!(tasks(&world).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_command_begins_nothing_on_a_pull_request_and_is_told_where_it_does() {
    let world = World::new(FIX).await;
    world.push(&[(".caisson/commands/compare.md", &command("", "Compare versions as numbers in {words}.\n"))]);
    let (pull, _) = persons(&world).await;
    say(&world, pull, "/compare it");
    world.until_said(pull, "tasks start in issues").await;
    world.heard(pull).await;
    assert_eq!(world.said(pull).await.len(), 2, "{:#?}", world.said(pull).await);
    assert_eq!(tasks(&world).await, 0);
}

/// What was written before commands were answered there stays as it was, and what is new is answered.
#[tokio::test(flavor = "multi_thread")]
async fn an_old_thread_is_not_answered_as_a_whole() {
    let mut world = World::new(FIX).await;
    let (pull, head) = persons(&world).await;
    world.heard(pull).await;
    world.kill();
    for text in ["/help", "/lgtm", "/ask why?", "@caisson why?"] {
        say(&world, pull, text);
    }
    world.alice().remark(REPO, pull, &head, "", &[("semver.py", 2, "/review")]).expect("reviewed");
    // The version before had no such mark.
    let by_hand = world.by_hand().await;
    let gone = sqlx::query("DELETE FROM watermarks WHERE repository = 'answers:shop'").execute(&by_hand).await;
    assert_eq!(gone.expect("deleted").rows_affected(), 1, "each round notes it");
    by_hand.close().await;
    world.forge.clock_moves_on(1_800);
    world.start().await;
    world.heard(pull).await;
    world.read_now().await.expect("read");
    world.heard(pull).await;
    assert_eq!(world.said(pull).await.len(), 3, "{:#?}", world.said(pull).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_task_answers_from_its_log_on_its_issue_and_its_pull_request() {
    let world = World::new(FIX).await;
    let (issue, pull) = stopped(&world).await;
    let cost = world.task().await.spent.actions;
    for number in [issue, pull] {
        say(&world, number, "/status");
        let said = world.until_said(number, "Task 1 is over (cancelled). `/fix` starts a new one.").await;
        assert!(said.contains(&format!("| actions | {cost} of")), "{said}");
        say(&world, number, "/cost");
        let said = world.until_said(number, "What task 1 has used so far").await;
        assert!(said.contains("It is over; only an answer to a question") && !said.contains("grants more"), "{said}");
        say(&world, number, "/ask what was done?");
        world.until_said(number, "from the task's log and files").await;
        say(&world, number, "/approve");
        world.until_said(number, "so `/approve` has nothing to act on").await;
        say(&world, number, "/revise use a set");
        let said = world.until_said(number, "so `/revise` has nothing to act on").await;
        assert!(said.contains(&format!("`/fix` on issue #{issue} a new task")), "{said}");
        assert_eq!(times(&world, number, NO_TASK).await, 0);
    }
    // Readers are answered what the log says, and refused what takes the right to write.
    world.bob().comment(REPO, pull, "/cost").expect("said");
    world.bob().comment(REPO, pull, "/revise it\n\n/status").expect("said");
    world.until_said(pull, "`bob`: `/revise` is for").await;
    world.heard(pull).await;
    assert_eq!(times(&world, pull, "What task 1 has used so far").await, 2);
    // Everything of one text is answered.
    let statuses = times(&world, issue, "Task 1 is over").await;
    say(&world, issue, "/cost\n\n/status\n\n/frobnicate");
    world.until_said(issue, "`/frobnicate` is no command").await;
    world.heard(issue).await;
    assert_eq!(times(&world, issue, "Task 1 is over").await, statuses + 2);
    assert_eq!(times(&world, issue, "What task 1 has used so far").await, 2);
    assert_eq!(tasks(&world).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_the_bot_by_name_is_answered_without_a_task_too() {
    let world = World::new(FIX).await;
    let (pull, _) = persons(&world).await;
    let issue = world.alice().open_issue(REPO, "A question", "@caisson, who are you?").expect("issue");
    for number in [pull, issue] {
        say(&world, number, "@Caisson: what is this?");
        world.until_said(number, NO_TASK).await;
        say(&world, number, "@caisson thank you.");
        say(&world, number, "Ask @caisson. Will you?");
        world.bob().comment(REPO, number, "@caisson and I?").expect("said");
        world.until_said(number, "`bob`: `/ask` is for").await;
        world.heard(number).await;
        assert_eq!(world.said(number).await.len(), 3, "{:#?}", world.said(number).await);
    }
    let (issue, pull) = stopped(&world).await;
    for (number, question) in [(issue, "@caisson, what was done?"), (pull, "Fine. What was done, @caisson?")] {
        say(&world, number, question);
        world.until_said(number, "from the task's log and files").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_on_a_line_that_reads_nothing_is_answered_and_begins_nothing() {
    let world = World::new(FIX).await;
    let (pull, head) = persons(&world).await;
    let remark = |body: &str, notes: &[(&str, i64, &str)]| {
        world.alice().remark(REPO, pull, &head, body, notes).expect("reviewed")
    };
    remark("", &[("semver.py", 2, "/ask why b < a?")]);
    world.until_said(pull, NO_TASK).await;
    remark("", &[("semver.py", 2, "Why b < a, @caisson?")]);
    until_times(&world, pull, 2).await;
    remark("", &[("semver.py", 2, "/refactor this"), ("semver.py", 1, "rename it"), ("semver.py", 1, "/usr/lib")]);
    let said = world.until_said(pull, "this was not carried out: `/refactor`").await;
    assert!(said.contains("changes files begins in an issue") && !said.contains("usr"), "{said}");
    remark("", &[("semver.py", 2, "/security --frob")]);
    world.until_said(pull, "`/security` could not be followed").await;
    remark("/help", &[("semver.py", 2, "/test-pr \"true\" mend"), ("semver.py", 2, "/fix it")]);
    world.until_said(pull, "A command stands at the beginning of a line").await;
    world.until_said(pull, "this was not carried out: `/test-pr`, `/fix`").await;
    remark("Fine.", &[("semver.py", 2, "Nothing more.")]);
    world.bob().remark(REPO, pull, &head, "", &[("semver.py", 2, "/review")]).expect("reviewed");
    world.bob().remark(REPO, pull, &head, "", &[("semver.py", 2, "/ask why?")]).expect("reviewed");
    world.until_said(pull, "`bob`: `/review` is for").await;
    world.read_now().await.expect("read");
    world.heard(pull).await;
    assert_eq!(world.said(pull).await.len(), 8, "{:#?}", world.said(pull).await);
    assert_eq!(tasks(&world).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_behind_the_bots_name_on_a_line_is_answered_too() {
    let world = World::new(FIX).await;
    let (pull, head) = persons(&world).await;
    world.alice().remark(REPO, pull, &head, "", &[("semver.py", 2, "@caisson /stop")]).expect("reviewed");
    let said = world.until_said(pull, "without my name before it").await;
    assert!(said.contains("`/stop` could not be followed"), "{said}");
    world.alice().remark(REPO, pull, &head, "/help", &[("semver.py", 2, "@caisson, /pause")]).expect("reviewed");
    world.until_said(pull, "this was not carried out: `/pause`").await;
    world.bob().remark(REPO, pull, &head, "", &[("semver.py", 2, "@caisson /stop")]).expect("reviewed");
    world.until_said(pull, "`bob`: `/stop` is for").await;
    world.read_now().await.expect("read");
    world.heard(pull).await;
    assert_eq!(world.said(pull).await.len(), 5, "{:#?}", world.said(pull).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_decides_behind_a_command_that_waits_is_left_for_its_task() {
    let world = World::networked(&held(), "").await;
    let text = "/fix\n\n/allow semver.org repo";
    let first = world.alice().open_issue(REPO, "Versions compare as text", text).expect("issue");
    world.until("an action that runs", |task| task.running.is_some()).await;
    say(&world, first, "/stop");
    world.until_state("cancelled").await;
    world.push(&[(".caisson/commands/compare.md", &command("", "Compare {words}.\n"))]);
    world.forge.refuse(&[("/info/refs", 503), ("/git-upload-pack", 503)]);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "It does.").expect("issue");
    for text in ["/compare it", "/deny semver.org", "/stop", "/help"] {
        say(&world, issue, text);
    }
    world.until_said(issue, "A command stands at the beginning of a line").await;
    world.heard(issue).await;
    assert!(world.store().grants("shop").await.expect("read").is_empty(), "taken back at once");
    world.forge.refuse(&[]);
    let end = Instant::now() + PATIENCE;
    while tasks(&world).await < 2 || !world.store().task(domain::TaskId(2)).await.expect("read").state.ended() {
        assert!(Instant::now() < end, "{:#?}", world.said(issue).await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.settled().await;
    assert_eq!(times(&world, issue, NO_TASK).await, 1, "that of /status alone: {:#?}", world.said(issue).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_carried_out_beside_a_task_does_not_wait_for_one_that_began_behind_it() {
    let mut world = World::new(FIX).await;
    push_branch(&world, ("alice", REPO), "mend", &[("semver.py", "def newer(a, b):\n    return b < a\n")]);
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "It does.").expect("issue");
    world.heard(issue).await;
    world.forge.refuse(&[("/branches/mend", 503)]);
    world.kill();
    say(&world, issue, "/test-pr \"true\" mend");
    say(&world, issue, "/fix");
    world.start().await;
    world.until_state("awaiting-review").await;
    assert!(world.forge.times_refused() > 0, "the branch was looked for");
    world.forge.refuse(&[]);
    world.until_said(issue, "**passes**").await;
    assert_eq!(world.task().await.state.name(), "awaiting-review");
}

const IN_ISSUES: &str = "tasks start in issues";
const CLOSED: &str = "this issue is closed";

/// Each command with the words of its answer: on a person's pull request, where three begin a task instead; and on a closed issue.
static EVERYWHERE: [(&str, Option<&str>, &str); 28] = [
    ("/fix it", Some(IN_ISSUES), CLOSED),
    ("/plan it", Some(IN_ISSUES), CLOSED),
    ("/explain it", None, CLOSED),
    ("/test it", Some(IN_ISSUES), CLOSED),
    ("/refactor it", Some(IN_ISSUES), CLOSED),
    ("/review it", None, "`/review` is for a pull request"),
    ("/security it", None, CLOSED),
    ("/deps it", Some(IN_ISSUES), CLOSED),
    ("/search it", Some(IN_ISSUES), CLOSED),
    ("/approve", Some(NO_TASK), NO_TASK),
    ("/revise it", Some(NO_TASK), NO_TASK),
    ("/allow a.test", Some("`a.test` was not allowed"), "`a.test` was not allowed"),
    ("/deny a.test", Some("nobody allowed `a.test`"), "nobody allowed `a.test`"),
    ("/budget 5 actions", Some(NO_TASK), NO_TASK),
    ("/model big", Some(NO_TASK), NO_TASK),
    ("/pause", Some(NO_TASK), NO_TASK),
    ("/resume", Some(NO_TASK), NO_TASK),
    ("/rebase", Some(NO_TASK), NO_TASK),
    ("/merge", Some(NO_TASK), NO_TASK),
    ("/retry", Some(NO_TASK), NO_TASK),
    ("/stop", Some(NO_TASK), NO_TASK),
    ("/status", Some(NO_TASK), NO_TASK),
    ("/cost", Some(NO_TASK), NO_TASK),
    ("/ask why?", Some(NO_TASK), NO_TASK),
    ("/sync", Some("`/sync` of `alice`"), "`/sync` of `alice`"),
    ("/test-pr \"true\"", Some("`/test-pr` of `alice`"), UNNAMED),
    ("/test-pr-bug \"true\"", Some("`/test-pr-bug` of `alice`"), UNNAMED),
    ("/help", Some("A command stands at the beginning of a line"), "A command stands at the beginning of a line"),
];

/// Says all of these texts at once, and waits until each was answered in its words, and nothing else was said.
async fn all_answered_once(world: &World, number: u64, texts: &[(&str, &str)]) {
    for (text, _) in texts {
        say(world, number, text);
    }
    let end = Instant::now() + PATIENCE;
    while world.said(number).await.len() < texts.len() {
        assert!(Instant::now() < end, "{:#?}", world.said(number).await);
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    world.read_now().await.expect("read");
    each_in_its_own(world.said(number).await, texts.iter().map(|(_, words)| *words));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_command_of_the_product_is_answered_once_on_a_persons_pull_request_and_on_a_closed_issue() {
    are_all(EVERYWHERE.iter().flat_map(|(text, ..)| names(text)).collect());
    let world = World::new(FIX).await;
    let (pull, _) = persons(&world).await;
    let on_pull: Vec<(&str, &str)> =
        EVERYWHERE.iter().filter_map(|(text, on_pull, _)| Some((*text, (*on_pull)?))).collect();
    all_answered_once(&world, pull, &on_pull).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "It does.").expect("issue");
    world.alice().close(REPO, issue).expect("closed");
    let on_issue: Vec<(&str, &str)> = EVERYWHERE.iter().map(|(text, _, on_issue)| (*text, *on_issue)).collect();
    all_answered_once(&world, issue, &on_issue).await;
    assert_eq!(tasks(&world).await, 0);
}
