//! Each command in each place where a task's people write: a comment of its issue or its pull request, the text of a review, and a line. It is
//! carried out, answered, or refused with where to write it; and that once.

use crate::own_commands::until;
use crate::world::{FIX, PATIENCE, REPO, World};
use caisson::command::COMMANDS;
use domain::{Event, Task, Verb};
use std::time::{Duration, Instant};

/// Where a text stands: a comment of the issue or the pull request; the text of a review that comments, approves or requests changes; and a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    Issue,
    Pull,
    Review,
    Approval,
    Rejection,
    Line,
}

/// A task at the checkpoint that waits.
struct At {
    issue: u64,
    pull: u64,
    commit: String,
}

impl At {
    /// The world's first task, at its first checkpoint.
    async fn first(world: &World) -> At {
        let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
        let task = world.until_state("awaiting-review").await;
        world.settled().await;
        At::of(issue, &task)
    }

    fn of(issue: u64, task: &Task) -> At {
        let commit = task.checkpoint().and_then(|checkpoint| checkpoint.commit.clone()).expect("a commit");
        At { issue, pull: task.pull.expect("a pull request"), commit: commit.as_str().to_owned() }
    }

    /// Has alice write this text there.
    fn write(&self, world: &World, page: Page, text: &str) {
        let (alice, commit) = (world.alice(), self.commit.as_str());
        let written = match page {
            Page::Issue => alice.comment(REPO, self.issue, text),
            Page::Pull => alice.comment(REPO, self.pull, text),
            Page::Review => alice.review_comment(REPO, self.pull, commit, text),
            Page::Approval => alice.approve_with(REPO, self.pull, commit, text, &[]),
            Page::Rejection => alice.request_changes(REPO, self.pull, commit, text, &[]),
            Page::Line => alice.remark(REPO, self.pull, commit, "", &[("semver.py", 2, text)]),
        };
        written.expect("written");
    }

    /// As [`At::write`], and waits for exactly these answers.
    async fn write_and_hear(&self, world: &World, page: Page, text: &str, expected: &[&str]) {
        let before = self.answers(world).await;
        self.write(world, page, text);
        let expected: Vec<String> = expected.iter().map(|&words| words.to_owned()).collect();
        self.answered(world, &before, &expected).await;
    }

    /// What the bot has answered on issue and pull request: neither the status comment, which is the issue's first, nor reviews.
    async fn answers(&self, world: &World) -> Vec<String> {
        let mut all: Vec<String> = world.said(self.issue).await.into_iter().skip(1).collect();
        all.extend(world.said(self.pull).await);
        all.retain(|text| !text.starts_with("### "));
        all
    }

    /// Waits until each of these words stands in an answer of its own beside those `before`, and checks that there is no other one.
    async fn answered(&self, world: &World, before: &[String], expected: &[String]) {
        let end = Instant::now() + PATIENCE;
        while self.answers(world).await.len() < before.len() + expected.len() {
            assert!(Instant::now() < end, "waited for {expected:#?}: {:#?}", self.answers(world).await);
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        world.read_now().await.expect("read");
        world.settled().await;
        each_in_its_own(self.answers(world).await, before.iter().chain(expected).map(String::as_str));
    }
}

/// Each of these words stands in an answer of its own, and there is no other answer.
pub fn each_in_its_own<'a>(mut answers: Vec<String>, expected: impl Iterator<Item = &'a str>) {
    for words in expected {
        let found = answers.iter().position(|text| text.contains(words));
        let Some(found) = found else { panic!("{words:?} is in none of {answers:#?}") };
        answers.remove(found);
    }
    assert!(answers.is_empty(), "nobody waits for {answers:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_readers_command_on_a_line_is_answered_or_refused_as_in_a_comment() {
    let world = World::new(FIX).await;
    let at = At::first(&world).await;
    let before = at.answers(&world).await;
    let on_line = |text: &str| {
        world.bob().remark(REPO, at.pull, &at.commit, "", &[("semver.py", 2, text)]).expect("posted");
    };
    for text in ["/status", "rename it", "/approve", "/allow a.test"] {
        on_line(text);
    }
    let refused = "`bob`: `/approve` is for those who may write";
    at.answered(&world, &before, &["| asked by |".to_owned(), refused.to_owned()]).await;
    let before = at.answers(&world).await;
    let why = [("semver.py", 6, "why a list?")];
    let review = world.alice().remark(REPO, at.pull, &at.commit, "", &why).expect("posted");
    world.until("the remark", |task| task.numbered.open().count() == 1).await;
    world.bob().reply(REPO, at.pull, review, "/cost").expect("said");
    at.answered(&world, &before, &["What task 1 has used so far".to_owned()]).await;
    let task = world.task().await;
    assert_eq!((task.state.name(), task.numbered.open().count()), ("awaiting-review", 1));
}

/// Of an approving review the command counts that is more careful, and nothing is approved.
const NOT_APPROVED: &str = "that one was taken up, and nothing was approved";

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_holds_wherever_it_stands_and_a_review_that_approves_beside_it_approves_nothing() {
    let world = World::new(FIX).await;
    let at = At::first(&world).await;
    let pauses = [Page::Issue, Page::Pull, Page::Review, Page::Line, Page::Approval];
    let resumes = [Page::Issue, Page::Pull, Page::Review, Page::Pull, Page::Pull];
    let paused = "The task is paused. `alice` asked for it.";
    for (pauses, resumes) in pauses.into_iter().zip(resumes) {
        match pauses {
            Page::Approval => at.write_and_hear(&world, pauses, "Fine.\n\n/pause", &[paused, NOT_APPROVED]).await,
            _ => at.write_and_hear(&world, pauses, "/pause", &[paused]).await,
        }
        assert_eq!(world.task().await.state.name(), "paused", "{pauses:?}");
        at.write_and_hear(&world, resumes, "/resume", &["The task goes on where it stopped"]).await;
        assert_eq!(world.task().await.state.name(), "awaiting-review", "{resumes:?}");
    }
    at.write_and_hear(&world, Page::Approval, "/rebase", &[NOT_MOVED, NOT_APPROVED]).await;
    let named = "`/pause` contradicts `/approve`; of such the careful one counts";
    at.write_and_hear(&world, Page::Approval, "/approve\n/pause", &[paused, named]).await;
    assert_eq!(world.task().await.state.name(), "paused");
    let used = |event: &Event| matches!(event, Event::DecisionUsed { .. });
    assert!(!world.log().await.iter().any(used), "nothing is decided about the checkpoint");
}

const LIVE: &str = "is already at work on this issue";
const NOT_MOVED: &str = "still ends at the commit that the work stands on";
pub const UNNAMED: &str = "this is no pull request, so say which branch is meant";

/// What leaves the task where it is, with the words of its answer: in a comment of the issue; on the pull request, in a comment and in the text
/// of a review; and whether a line gives the same. Where it does not, its author is told that it is not carried out there.
static STANDING: [(&str, &str, &str, bool); 23] = [
    ("/fix it", LIVE, LIVE, false),
    ("/plan it", LIVE, LIVE, false),
    ("/explain it", LIVE, LIVE, false),
    ("/test it", LIVE, LIVE, false),
    ("/refactor it", LIVE, LIVE, false),
    ("/review it", "`/review` is for a pull request", "this pull request is my own work", false),
    ("/security it", LIVE, LIVE, false),
    ("/deps it", LIVE, LIVE, false),
    ("/search it", LIVE, LIVE, false),
    ("/allow a.test", "allowed `a.test`", "allowed `a.test`", false),
    ("/deny a.test", "took back `a.test`", "took back `a.test`", true),
    ("/budget 5 actions", "granted this task 5 actions more", "granted this task 5 actions more", false),
    ("/model big", "is no model that can be named here", "is no model that can be named here", false),
    ("/resume", "the task isn't paused", "the task isn't paused", false),
    ("/rebase", NOT_MOVED, NOT_MOVED, false),
    ("/merge", "this repository is a copy of another one", "this repository is a copy of another one", false),
    ("/status", "| asked by |", "| asked by |", true),
    ("/cost", "What task 1 has used so far", "What task 1 has used so far", true),
    ("/ask what is done?", "from the task's log and files", "from the task's log and files", true),
    ("/sync", "`/sync` of `alice`", "`/sync` of `alice`", false),
    ("/test-pr \"true\"", UNNAMED, "`/test-pr` of `alice`", false),
    ("/test-pr-bug \"true\"", UNNAMED, "`/test-pr-bug` of `alice`", false),
    ("/help", "A command stands at the beginning of a line", "A command stands at the beginning of a line", true),
];

/// What moves the task, each in the stories below.
const MOVING: [&str; 5] = ["approve", "revise", "pause", "retry", "stop"];

/// The names of the commands of a text that has one on each line.
pub fn names(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix('/')?.split(' ').next()).collect()
}

/// The names of commands as the bot lists them.
fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`/{name}`")).collect::<Vec<_>>().join(", ")
}

/// Each command of the product is among these, once.
pub fn are_all(mut named: Vec<&str>) {
    let mut all: Vec<&str> = COMMANDS.iter().map(|spec| spec.name).collect();
    all.sort_unstable();
    named.sort_unstable();
    assert_eq!(named, all, "each command has its place in these stories");
}

/// What a line is answered that gives this command, which is not carried out there.
fn not_there(text: &str) -> String {
    format!("not carried out: {}. There", listed(&names(text)))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_moves_no_task_is_answered_once_wherever_it_stands() {
    are_all(STANDING.iter().flat_map(|(text, ..)| names(text)).chain(MOVING).collect());
    let world = World::networked(FIX, "").await;
    let at = At::first(&world).await;
    let first = world.task().await;
    for page in [Page::Issue, Page::Pull, Page::Review, Page::Line] {
        let mut texts: Vec<(&str, String)> = Vec::new();
        for (text, on_issue, on_pull, on_line) in STANDING {
            let words = match page {
                Page::Issue => on_issue.to_owned(),
                Page::Line if !on_line => not_there(text),
                Page::Pull | Page::Review | Page::Line | Page::Approval | Page::Rejection => on_pull.to_owned(),
            };
            texts.push((text, words));
        }
        if page == Page::Line {
            // For it to be taken back.
            at.write_and_hear(&world, Page::Pull, "/allow a.test", &["allowed `a.test`"]).await;
            texts.extend(["/approve", "/approve c1", "/retry"].map(|text| (text, not_there(text))));
        }
        let before = at.answers(&world).await;
        for (text, _) in &texts {
            at.write(&world, page, text);
        }
        let expected: Vec<String> = texts.into_iter().map(|(_, words)| words).collect();
        at.answered(&world, &before, &expected).await;
    }
    let task = world.task().await;
    assert_eq!((&task.state, task.used, task.actions), (&first.state, first.used, first.actions));
    assert_eq!(task.granted.actions, first.granted.actions + 15, "not on a line");
    assert!(task.hosts.is_empty(), "{:?}", task.hosts);
    // What may be meant as words about the line is a remark, too.
    let as_words = STANDING.iter().filter(|(text, ..)| text.ends_with(" it")).count();
    assert_eq!(task.numbered.open().count(), as_words);
    assert_eq!(world.store().tasks(5).await.expect("read").len(), 1);
}

/// So many checkpoints, each of five actions.
fn notes(checkpoints: usize) -> String {
    let action = |n: usize, at: usize| {
        format!("  {{ name = \"bash\", arguments = {{ command = \"echo {n}-{at} >> notes.txt\" }} }},\n")
    };
    let turn = |n: usize| {
        let five: String = (1..=5).map(|at| action(n, at)).collect();
        format!("[[turn]]\ncall = [\n{five}]\n")
    };
    let turns: String = (1..=checkpoints).map(turn).collect();
    format!("name = \"takes notes\"\n{turns}")
}

/// What counts for nothing beside a review that approves or requests changes, and is named; the other part of it, of which what asks is
/// answered and hosts are judged; and what only a request for changes outweighs.
const WORK: &str = "/fix it\n/plan it\n/explain it\n/test it\n/refactor it\n/review it\n/security it\n/deps it\n/search it\n/budget 5 actions\n/model big\n/resume";
const REST: &str = "/merge\n/retry\n/sync\n/test-pr \"true\"\n/test-pr-bug \"true\"\n/ask why?\n/status\n/cost\n/help\n/allow a.test\n/deny b.test";
const OUTWEIGHED: &str = "\n/approve\n/pause\n/rebase";

/// Texts that decide about a checkpoint, whether they approve it, and what is answered to them.
fn deciding() -> Vec<(Page, String, bool, Vec<String>)> {
    let plain = |page: Page, text: &str, approves: bool| (page, text.to_owned(), approves, Vec::new());
    let counted = "because the review itself counted";
    let work = format!("Not carried out: {}, {counted}", listed(&names(WORK)));
    let rest = ["merge", "retry", "sync", "test-pr", "test-pr-bug", "ask"];
    let rest = format!("Not carried out: {}, {counted}", listed(&rest));
    let against = format!("the review itself contradicts {};", listed(&["merge", "approve", "pause"]));
    let hosts = ["`a.test` can't be allowed", "nobody allowed `b.test`"].map(str::to_owned);
    let with_hosts = |words: String| [words].into_iter().chain(hosts.clone()).collect::<Vec<_>>();
    vec![
        plain(Page::Issue, "/approve", true),
        plain(Page::Pull, "/approve", true),
        plain(Page::Review, "/approve", true),
        plain(Page::Approval, "/approve", true),
        plain(Page::Issue, "/revise so", false),
        plain(Page::Pull, "/revise so", false),
        plain(Page::Review, "/revise so", false),
        plain(Page::Rejection, "/revise so", false),
        plain(Page::Line, "/revise so", false),
        (Page::Approval, "/revise so".to_owned(), false, vec![NOT_APPROVED.to_owned()]),
        (Page::Approval, "/approve everything".to_owned(), true, vec!["It alone is left out".to_owned()]),
        (Page::Approval, WORK.to_owned(), true, vec![work.clone()]),
        (Page::Approval, REST.to_owned(), true, with_hosts(rest)),
        (Page::Rejection, WORK.to_owned(), false, vec![work]),
        (Page::Rejection, format!("{REST}{OUTWEIGHED}"), false, with_hosts(against)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_decides_about_a_checkpoint_does_so_once_wherever_it_stands() {
    let weighed = [WORK, REST, OUTWEIGHED].into_iter().flat_map(names);
    are_all(weighed.chain(["revise", "stop"]).collect());
    let steps = deciding();
    let world = World::new(&notes(steps.len() + 1)).await;
    let mut at = At::first(&world).await;
    for (n, (page, text, approves, answers)) in (1_u32..).zip(steps) {
        let before = at.answers(&world).await;
        at.write(&world, page, &text);
        let waits = |task: &Task| {
            task.state.name() == "awaiting-review" && task.checkpoint().is_some_and(|checkpoint| checkpoint.n == n + 1)
        };
        let task = world.until("the next checkpoint", waits).await;
        at.answered(&world, &before, &answers).await;
        let approved = |event: Event| match event {
            Event::DecisionUsed { decision, n: of } if of == n => Some(matches!(decision.verb, Verb::Approve { .. })),
            _ => None,
        };
        let used: Vec<bool> = world.log().await.into_iter().filter_map(approved).collect();
        assert_eq!(used, [approves], "{page:?}: {text}");
        at = At::of(at.issue, &task);
    }
}

/// Ends one task after the other by these texts, each of which is answered in these words; behind a `/stop`, `/fix` begins the next one.
async fn each_ends(ends: &[(Page, &str, &[&str])]) {
    let world = World::new(&notes(1)).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    for (nth_end, (page, text, expected)) in ends.iter().enumerate() {
        let id = i64::try_from(nth_end + 1).expect("a number");
        let at = At::of(issue, &until(&world, id, |task| task.state.name() == "awaiting-review").await);
        world.settled().await;
        at.write(&world, *page, text);
        until(&world, id, |task| task.state.name() == "cancelled").await;
        for words in *expected {
            world.until_said(at.pull, words).await;
        }
        if *text == "/stop" {
            world.settled().await;
            if nth_end + 1 < ends.len() {
                at.write(&world, Page::Issue, "/fix");
            }
        }
        world.read_now().await.expect("read");
        let said = world.said(at.pull).await;
        for words in *expected {
            assert_eq!(said.iter().filter(|text| text.contains(words)).count(), 1, "{page:?}: {words}: {said:#?}");
        }
    }
    assert_eq!(world.store().tasks(20).await.expect("read").len(), ends.len());
}

const STOPPED: &[&str] = &["Stopped by `alice`"];

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_begins_the_next_attempt_wherever_it_stands() {
    let again: &[&str] = &["Ended by `alice` for a new attempt"];
    each_ends(&[
        (Page::Issue, "/retry", again),
        (Page::Pull, "/retry", again),
        (Page::Review, "/retry", again),
        (Page::Issue, "/stop", STOPPED),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_the_task_wherever_it_stands() {
    let approving: &[&str] = &["Stopped by `alice`", NOT_APPROVED];
    each_ends(&[
        (Page::Pull, "/stop", STOPPED),
        (Page::Review, "/stop", STOPPED),
        (Page::Line, "/stop", STOPPED),
        (Page::Approval, "/stop", approving),
        (Page::Rejection, "/stop", STOPPED),
    ])
    .await;
}
