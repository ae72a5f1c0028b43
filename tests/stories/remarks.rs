//! Remarks of a review as items with a state: answered by the agent, shown in every later review, withdrawn by their author.

use crate::world::{FIX, REPO, World};
use caisson::forge::{ForgeReads as _, RepoRef};
use caisson::task::Boundary;
use domain::{Event, RemarkState, Task};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// After the request for changes: one remark is dealt with, one answered, one left open; then a further checkpoint, and the end.
const ANSWERS: &str = r#"
[[turn]]
expects = ["asks for changes", "r1: `semver.py`, line 6", "use a tuple", "r2: `semver.py`, line 2", "r3: `tests/test_semver.py`, line 1"]
text = "I use a tuple."
call = [
  { name = "edit_file", arguments = { path = "semver.py", old = "    return [int(part) for part in text.split('.')]\n", new = "    return tuple(int(part) for part in text.split('.'))\n" } },
  { name = "answer_remark", arguments = { remark = "r9", text = "there is none", addressed = true } },
  { name = "answer_remark", arguments = { remark = "r1", text = "parse() gives a tuple now, @alice", addressed = true } },
  { name = "answer_remark", arguments = { remark = "r2", text = "the name is what others import", addressed = false } },
]
[[turn]]
expects = ["there is no remark r9: open are r1, r3", "counts as addressed once"]
text = "I try it."
call = [
  { name = "bash", arguments = { command = "echo one" } },
  { name = "bash", arguments = { command = "echo two" } },
  { name = "bash", arguments = { command = "echo three" } },
  { name = "bash", arguments = { command = "echo four" } },
]
[[turn]]
expects = ["Remarks still open: r3"]
text = "All is well."
call = [{ name = "done", arguments = { summary = "newer() compares tuples of numbers." } }]
"#;

const NOTES: [(&str, i64, &str); 3] = [
    ("semver.py", 6, "use a tuple"),
    ("semver.py", 2, "why not `is_newer`?"),
    ("tests/test_semver.py", 1, "cover `1.10-rc`\n# and more @all"),
];

fn script(more: &str) -> String {
    let work = FIX.split("[[turn]]").take(3).collect::<Vec<_>>().join("[[turn]]");
    format!("{work}{more}")
}

fn at() -> RepoRef {
    RepoRef::new("lab", "shop")
}

/// Requests changes with three inline remarks on the checkpoint that waits; returns the review.
fn remark(world: &World, task: &Task) -> i64 {
    let commit = task.checkpoint().and_then(|c| c.commit.clone()).expect("a commit");
    let pull = task.pull.expect("a pull request");
    world.alice().request_changes(REPO, pull, commit.as_str(), "Nearly.", &NOTES).expect("posted")
}

async fn at_review(world: &World) -> Task {
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await
}

/// What a review says of remarks.
fn section(review: &str) -> String {
    let lines = review.lines().skip_while(|line| !line.starts_with("**Remarks**"));
    lines.take_while(|line| line.is_empty() || line.starts_with(['*', '-'])).collect::<Vec<_>>().join("\n")
}

/// Checks what the reviews after the remarks say of them.
async fn judged(world: &World, pull: u64) {
    let said = world.said(pull).await;
    let one = |head: &str| {
        let found: Vec<&String> = said.iter().filter(|text| text.starts_with(head)).collect();
        assert_eq!(found.len(), 1, "{head}: {said:#?}");
        found[0].clone()
    };
    assert!(!one("### Checkpoint 1 ").contains("**Remarks**"));
    let second = section(&one("### Checkpoint 2 "));
    for words in [
        "**Remarks** — 1 open, 2 settled since the last review",
        "- **r3** `tests/test_semver.py:1` of `alice`: ``cover `1.10-rc`\\n# and more @all`` · open since checkpoint 1",
        "- **r1** `semver.py:6` of `alice`: addressed at `",
        " gives a tuple now, `@alice`",
        "- **r2** `semver.py:2` of `alice`: answered without a change. The agent says: the name is what others import",
    ] {
        assert!(second.contains(words), "{words} is missing:\n{second}");
    }
    let last = one("### Final review ");
    assert!(last.lines().nth(2).is_some_and(|line| line.starts_with("⚠️ **1 remark is open**: r3.")), "{last}");
    assert!(section(&last).starts_with("**Remarks** — 1 open, 2 settled before"), "{last}");
    let reviews = world.look().reviews(&at(), pull).await.expect("read");
    let second = reviews.iter().find(|review| review.body.starts_with("### Checkpoint 2 ")).expect("posted");
    let notes = world.look().review_comments(&at(), pull, second.id).await.expect("read");
    let told: Vec<_> = notes.iter().filter(|note| note.body.starts_with("**r")).collect();
    let places: Vec<_> = told.iter().map(|note| (note.path.as_str(), note.line, &note.body[..6])).collect();
    assert!(places.contains(&("semver.py", Some(6), "**r1**")), "{notes:#?}");
    let answered = |event: &&Event| matches!(event, Event::RemarkAnswered(_));
    assert_eq!(world.log().await.iter().filter(answered).count(), 2, "each answer once");
}

#[tokio::test(flavor = "multi_thread")]
async fn remarks_are_answered_and_what_is_open_stands_in_every_later_review() {
    let world = World::new(&script(ANSWERS)).await;
    let task = at_review(&world).await;
    let pull = task.pull.expect("a pull request");
    remark(&world, &task);
    let task = world.until("checkpoint 2", |task| task.checkpoint().is_some_and(|c| c.n == 2)).await;
    assert_eq!(task.numbered.open_names(), "r3");
    world.alice().comment(REPO, pull, "/status").expect("said");
    world.until_said(pull, "| open remarks | 1: r3 |").await;
    world.approve().await;
    world.until_state("final-review").await;
    judged(&world, pull).await;
    // Open remarks do not prevent an approval.
    world.approve().await;
    world.until_state("approved").await;
}

/// Kills at this boundary of each kind of effect that remarks pass through.
async fn killed(moment: &'static str, is: fn(Boundary) -> bool) {
    let mut world = World::new(&script(ANSWERS)).await;
    let task = at_review(&world).await;
    let pull = task.pull.expect("a pull request");
    let (met, reached) = channel();
    let mut left = vec!["open", "converse", "act", "seal", "push", "review"];
    world.cuts.set(move |row, boundary| {
        let kind = row.effect.kind();
        // The sixth action is the change itself: one that was cut off is not repeated.
        let here = is(boundary) && left.contains(&kind) && row.key != "act:6";
        left.retain(|other| !here || *other != kind);
        here && met.send(kind).is_ok()
    });
    remark(&world, &task);
    let (end, mut kills, mut approved) = (Instant::now() + Duration::from_secs(200), Vec::new(), false);
    loop {
        if let Ok(kind) = reached.try_recv() {
            kills.push(kind);
            world.kill();
            world.start().await;
        }
        let task = world.task().await;
        if task.state.name() == "awaiting-review" && task.checkpoint().is_some_and(|c| c.n == 2) && !approved {
            approved = true;
            world.approve().await;
        }
        let open = world.store().tasks_with_effects().await.expect("read");
        if task.state.name() == "final-review" && open.is_empty() && kills.len() == 6 {
            break;
        }
        assert!(Instant::now() < end, "{moment}: {kills:?}, {:?}, {open:?}", task.state);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    judged(&world, pull).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn remarks_survive_a_kill_where_each_effect_begins() {
    killed("begun", |boundary| boundary == Boundary::Begun).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn remarks_survive_a_kill_in_the_middle_of_each_effect() {
    killed("under", |boundary| matches!(boundary, Boundary::Under(3) | Boundary::Done)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn remarks_survive_a_kill_where_each_effect_is_closed() {
    killed("closed", |boundary| boundary == Boundary::Closed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_its_author_took_back_is_withdrawn_and_asked_for_no_more() {
    let more = r#"
[[turn]]
expects = ["asks for changes", "r3"]
call = [{ name = "done", arguments = { summary = "newer() compares the parsed numbers." } }]
"#;
    let world = World::new(&script(more)).await;
    let task = at_review(&world).await;
    let pull = task.pull.expect("a pull request");
    world.model.set_away(true);
    let review = remark(&world, &task);
    world.until("the remarks", |task| task.numbered.open().count() == 3).await;
    let notes = world.look().review_comments(&at(), pull, review).await.expect("read");
    world.alice().resolve(REPO, pull, notes[0].id).expect("resolved");
    world.alice().delete_comment(REPO, notes[1].id).expect("deleted");
    world.model.set_away(false);
    let task = world.until_state("final-review").await;
    let last = world.until_said(pull, "### Final review").await;
    for words in [
        "⚠️ **1 remark is open**: r3.",
        "- **r1** `semver.py:6` of `alice`: withdrawn: its conversation was resolved",
        "- **r2** `semver.py:2` of `alice`: withdrawn: it was deleted",
    ] {
        assert!(last.contains(words), "{words} is missing:\n{last}");
    }
    assert_eq!(task.numbered.open_names(), "r3");
    // A review that its author deletes takes the rest along; the thread is read for another reason.
    world.alice().delete_review(REPO, pull, review).expect("deleted");
    world.alice().comment(REPO, pull, "/status").expect("said");
    let task = world.until("the last one", |task| task.numbered.open().next().is_none()).await;
    assert!(matches!(task.numbered.all()[2].state, RemarkState::Withdrawn { .. }), "{:?}", task.numbered);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remark_on_a_line_of_a_review_that_approves_reaches_the_agent() {
    let more = r#"
[[turn]]
expects = ["approved", "r1: `semver.py`, line 6", "use a tuple", "r2: `semver.py`, line 2"]
call = [{ name = "done", arguments = { summary = "newer() compares the parsed numbers." } }]
"#;
    let world = World::new(&script(more)).await;
    let task = at_review(&world).await;
    let pull = task.pull.expect("a pull request");
    let commit = task.checkpoint().and_then(|c| c.commit.clone()).expect("a commit");
    world.alice().remark(REPO, pull, commit.as_str(), "/approve", &NOTES[..2]).expect("posted");
    let task = world.until_state("final-review").await;
    assert_eq!(task.numbered.open_names(), "r1, r2");
    let last = world.until_said(pull, "### Final review").await;
    assert!(last.contains("⚠️ **2 remarks are open**: r1, r2."), "{last}");
    // Of a question beside them nobody would know that they are there.
    let commit = task.checkpoint().and_then(|c| c.commit.clone()).expect("a commit");
    world.alice().remark(REPO, pull, commit.as_str(), "/status", &NOTES[2..]).expect("posted");
    let task = world.until("the third", |task| task.numbered.open().count() == 3).await;
    assert_eq!(task.state.name(), "final-review");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_review_of_the_same_person_withdraws_nothing() {
    let more = r#"
[[turn]]
expects = ["asks for changes", "r3"]
call = [{ name = "done", arguments = { summary = "Nothing is to be done." } }]
[[turn]]
expects = ["asks for changes", "r4: in general", "Shorter, please."]
call = [{ name = "done", arguments = { summary = "Nothing is to be done." } }]
"#;
    let world = World::new(&script(more)).await;
    let task = at_review(&world).await;
    let pull = task.pull.expect("a pull request");
    let first = remark(&world, &task);
    let task = world.until_state("final-review").await;
    let commit = task.checkpoint().and_then(|c| c.commit.clone()).expect("a commit");
    world.alice().request_changes(REPO, pull, commit.as_str(), "Shorter, please.", &[]).expect("posted");
    let task = world.until("another final review", |task| task.checkpoint().is_some_and(|c| c.n > 2 && c.last)).await;
    let reviews = world.look().reviews(&at(), pull).await.expect("read");
    let state = reviews.iter().find(|review| review.id == first).map(|review| review.state);
    assert_eq!(state, Some(caisson::forge::ReviewState::Dismissed), "by the forge itself");
    assert_eq!(task.numbered.open_names(), "r1, r2, r3, r4");
    let said = world.said(pull).await;
    assert!(said.last().is_some_and(|text| text.contains("⚠️ **4 remarks are open**: r1, r2, r3, r4.")), "{said:#?}");
    // On the page its author can only delete what it says; the forge lists it all the same.
    let second = reviews.iter().find(|review| review.body == "Shorter, please.").expect("listed");
    world.alice().delete_comment(REPO, second.number).expect("deleted");
    world.until("the text is gone", |task| task.numbered.open_names() == "r1, r2, r3").await;
    let reviews = world.look().reviews(&at(), pull).await.expect("read");
    assert!(reviews.iter().any(|review| review.id == second.id && review.is_off_page()), "{reviews:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_cannot_say_what_was_taken_back_keeps_no_review_back() {
    let more = r#"
[[turn]]
expects = ["asks for changes"]
call = [{ name = "done", arguments = { summary = "Nothing is to be done." } }]
"#;
    let world = World::new(&script(more)).await;
    let task = at_review(&world).await;
    let pull = task.pull.expect("a pull request");
    world.model.set_away(true);
    let review = remark(&world, &task);
    world.until("the remarks", |task| task.numbered.open().count() == 3).await;
    world.forge.refuse(&[(format!("/reviews/{review}/comments").as_str(), 500)]);
    let before = world.forge.times_refused();
    world.model.set_away(false);
    world.until_state("final-review").await;
    world.until_said(pull, "⚠️ **3 remarks are open**: r1, r2, r3.").await;
    assert!(world.forge.times_refused() > before, "it was asked");
}

/// The review as a whole is not refused: the pause is taken from it, and only the remark is not.
#[tokio::test(flavor = "multi_thread")]
async fn an_edited_remark_beside_a_pause_that_counts_is_told_so() {
    let mut world = World::new(&script("")).await;
    let task = at_review(&world).await;
    let pull = task.pull.expect("a pull request");
    let commit = task.checkpoint().and_then(|c| c.commit.clone()).expect("a commit");
    world.kill();
    let notes = [("semver.py", 6, "use a tuple")];
    let review = world.alice().remark(REPO, pull, commit.as_str(), "/pause", &notes).expect("posted");
    let note = world.alice().notes(REPO, pull, review).expect("notes")[0];
    world.forge.clock_moves_on(5);
    world.forge.as_person("caisson").edit_comment(REPO, note, "use a list").expect("edited");
    world.start().await;
    world.until_said(pull, "your `/pause` counts, but the remarks on lines beside it were not taken up").await;
    let task = world.until_state("paused").await;
    assert!(task.numbered.all().is_empty(), "{:?}", task.numbered);
    let told = world.said(pull).await;
    assert!(told.iter().all(|text| !text.contains("nothing was taken") && !text.contains("nothing runs")), "{told:?}");
}
