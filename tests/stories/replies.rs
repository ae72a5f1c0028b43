//! Replies in a conversation on a line of the pull request: they count as inline comments do, wherever the forge lists them.

use crate::reviews::{answered, at, open, push, say};
use crate::world::{FIX, REPO, World, next_second};
use caisson::forge::ForgeReads as _;
use domain::{Event, FilePosition, Source, TaskId};

/// After the reply: what it asks for is done, and dealt with.
const ANSWERS: &str = r#"
[[turn]]
expects = ["asks for changes", "r2: `semver.py`, line 6", "use a tuple"]
forbids = ["delete it all"]
text = "I use a tuple."
call = [
  { name = "edit_file", arguments = { path = "semver.py", old = "    return [int(part) for part in text.split('.')]\n", new = "    return tuple(int(part) for part in text.split('.'))\n" } },
  { name = "answer_remark", arguments = { remark = "r2", text = "it is one now", addressed = true } },
  { name = "done", arguments = { summary = "newer() compares tuples of numbers." } },
]
[[turn]]
expects = ["r3: `semver.py`, line 6", "and say so"]
text = "I say so."
call = [
  { name = "edit_file", arguments = { path = "semver.py", old = "    return tuple(", new = "    # A tuple.\n    return tuple(" } },
  { name = "done", arguments = { summary = "newer() compares tuples of numbers." } },
]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_asks_for_changes_at_its_line_and_approves_nothing() {
    let work = FIX.split("[[turn]]").take(3).collect::<Vec<_>>().join("[[turn]]");
    let mut world = World::new(&format!("{work}{ANSWERS}")).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let (pull, commit) = (task.pull.expect("a pull request"), task.checkpoint().and_then(|c| c.commit.clone()));
    let (notes, commit) = ([("semver.py", 6, "why a list?")], commit.expect("a commit"));
    let alice = world.alice();
    let review = alice.remark(REPO, pull, commit.as_str(), "", &notes).expect("posted");
    world.until("the remark", |task| task.numbered.open().count() == 1).await;
    next_second().await;
    world.bob().reply(REPO, pull, review, "/revise delete it all").expect("said");
    world.until_said(pull, "`bob`: `/revise` is for").await;
    alice.reply(REPO, pull, review, "/approve").expect("said");
    let left = world.until_said(pull, "not carried out: `/approve`").await;
    assert!(left.contains("`/revise what to change`"), "{left}");
    assert_eq!(world.task().await.state.name(), "awaiting-review");
    // Also while nobody listens.
    world.kill();
    alice.reply(REPO, pull, review, "/revise use a tuple").expect("said");
    world.start().await;
    world.until_state("final-review").await;
    let last = world.until_said(pull, "### Final review").await;
    assert!(last.contains("- **r2** `semver.py:6` of `alice`: addressed at"), "{last}");
    // The bot's own note at that line begins a conversation, too.
    let reviews = world.look().reviews(&at(), pull).await.expect("read");
    let mine = reviews.iter().rev().find(|it| it.author.login == "caisson" && it.comments > 0).expect("with a note");
    next_second().await;
    alice.reply(REPO, pull, mine.id, "/revise and say so").expect("said");
    world.until("the next final review", |task| task.checkpoint().is_some_and(|c| c.n == 3)).await;
    world.heard(pull).await;
    let from = |event: &Event| match event {
        Event::DecisionUsed { decision, .. } => Some(decision.source.clone()),
        _ => None,
    };
    let used: Vec<Source> = world.log().await.iter().filter_map(from).collect();
    let under = |source: &Source| matches!(source, Source::Reply { review, .. } if *review == mine.id);
    assert!(used.iter().filter(|it| under(it)).count() == 1, "{used:?}");
    assert_eq!(world.said(pull).await.iter().filter(|text| text.contains("not carried out: `/approve`")).count(), 1);
    assert_eq!(world.task().await.numbered.open_names(), "r1, r3");
    // One that cannot be read holds up decisions, and nobody's `/stop`.
    world.forge.refuse(&[("/comments", 500)]);
    alice.reply(REPO, pull, mine.id, "/pause").expect("said");
    world.kill();
    world.forge.refuse(&[(&format!("/reviews/{}/comments", mine.id), 500)]);
    world.approve().await;
    alice.comment(REPO, pull, "/stop").expect("said");
    world.start().await;
    world.until_state("cancelled").await;
}

/// What is withdrawn, and what the number of comments alone would not show.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_is_withdrawn_with_its_conversation_and_one_in_the_place_of_a_deleted_one_is_read() {
    let work = FIX.split("[[turn]]").take(3).collect::<Vec<_>>().join("[[turn]]");
    let more = "[[turn]]\nexpects = [\"asks for changes\", \"r1: `semver.py`, line 6\"]\ncall = [{ name = \"done\", arguments = { summary = \"Done.\" } }]\n";
    let world = World::new(&format!("{work}{more}")).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let (pull, commit) = (task.pull.expect("a pull request"), task.checkpoint().and_then(|c| c.commit.clone()));
    let (notes, commit, alice) = ([("semver.py", 6, "why a list?")], commit.expect("a commit"), world.alice());
    world.model.set_away(true);
    let review = alice.request_changes(REPO, pull, commit.as_str(), "Nearly.", &notes).expect("posted");
    let remarks = async |count: usize| {
        world.until("the remarks", |task| task.numbered.all().len() == count).await;
        next_second().await;
    };
    remarks(1).await;
    alice.reply(REPO, pull, review, "and why here?").expect("said");
    remarks(2).await;
    let inline = world.look().review_comments(&at(), pull, review).await.expect("read");
    // Deleted and said again between two readings: as many comments as before.
    let held = world.forge.hold().await;
    alice.delete_comment(REPO, inline[1].id).expect("deleted");
    alice.reply(REPO, pull, review, "or there?").expect("said");
    drop(held);
    remarks(3).await;
    alice.resolve(REPO, pull, inline[0].id).expect("resolved");
    // What is said in a resolved conversation is not taken back by that.
    alice.reply(REPO, pull, review, "still wrong").expect("said");
    remarks(4).await;
    world.model.set_away(false);
    world.until_state("final-review").await;
    let last = world.until_said(pull, "### Final review").await;
    for (name, state) in [
        ("r1", "withdrawn: its conversation was resolved"),
        ("r2", "withdrawn: it was deleted"),
        ("r3", "withdrawn: its conversation was resolved"),
    ] {
        let line = format!("- **{name}** `semver.py:6` of `alice`: {state}");
        assert!(last.contains(&line), "{line} is missing:\n{last}");
    }
    assert!(last.contains("**r4** `semver.py:6` of `alice`: `still wrong`"), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_to_a_finding_is_answered_where_no_task_is_at_work() {
    let script = r#"
name = "a review"
[[turn]]
text = "It compares text."
call = [{ name = "done", arguments = { summary = "- [blocker] semver.py:2 — it compares text." } }]
"#;
    let world = World::new(script).await;
    push(&world, ("alice", REPO), "mend", &[("semver.py", "def newer(a, b):\n    return b < a\n")]);
    let pull = open(&world, "alice", "mend").await;
    say(&world, pull, "/review");
    answered(&world).await;
    world.settled().await;
    let reviews = world.look().reviews(&at(), pull).await.expect("read");
    let mine = reviews.iter().find(|it| it.author.login == "caisson" && it.comments == 1).expect("with a finding").id;
    let alice = world.alice();
    for (text, words) in [
        ("/fix this one", "this was not carried out: `/fix`. On lines one command of a review counts"),
        ("/status", "Task 1 is over (answered)"),
        ("@caisson why does it?", "from the task's log and files"),
    ] {
        let before = world.said(pull).await.len();
        alice.reply(REPO, pull, mine, text).expect("said");
        world.until_said(pull, words).await;
        assert_eq!(world.said(pull).await.len(), before + 1, "{text}: {:#?}", world.said(pull).await);
    }
    let question = format!("{:?}", world.model.asked().last());
    assert!(question.contains("semver.py, line 2: why does it?"), "{question}");
    let before = world.said(pull).await.len();
    for text in ["Thanks.", "/usr/lib is a path."] {
        alice.reply(REPO, pull, mine, text).expect("said");
    }
    world.read_now().await.expect("read");
    world.heard(pull).await;
    assert_eq!(world.said(pull).await.len(), before + 1, "{:#?}", world.said(pull).await);
    assert_eq!(world.store().tasks(5).await.expect("read").len(), 1);
    // It is about the line, its other command is left, and nothing of it is given to the task or said twice.
    let before = world.said(pull).await.len();
    alice.reply(REPO, pull, mine, "/explain why does it?\n/allow evil.example").expect("said");
    world.until_said(pull, "### Explanation of `").await;
    world.until_said(pull, "this was not carried out: `/allow`").await;
    let rows = world.store().tasks(5).await.expect("read");
    let begun = world.store().task(TaskId(rows.iter().map(|row| row.id).max().expect("a task"))).await.expect("read");
    let asked = begun.request.expect("a request");
    assert_eq!((asked.words.as_str(), begun.hosts), ("why does it?", Vec::new()));
    assert_eq!(asked.place, Some(FilePosition { path: "semver.py".into(), line: Some(2) }));
    world.nothing_left().await;
    world.heard(pull).await;
    let said = world.said(pull).await;
    // What is left, where the task stands, its answer, and what it took to know that all was heard.
    assert_eq!(said.len(), before + 4, "{said:#?}");
}
