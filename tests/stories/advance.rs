//! `/approve next 3`: the work continues past checkpoints until one is risky or final, or somebody says something.

use crate::world::{REPO, World};
use domain::{Access, Event, Task};

/// This many checkpoints of five actions each, then done. The first action of each leaves time for a comment.
fn script(checkpoints: usize, last: &str) -> String {
    let slow = r#"  { name = "bash", arguments = { command = "sleep 0.2; echo x >> notes.txt" } },"#;
    let quick = r#"  { name = "bash", arguments = { command = "echo x >> notes.txt" } },"#;
    let five = format!("[[turn]]\ncall = [\n{slow}\n{quick}\n{quick}\n{quick}\n{last}\n]\n");
    format!("name = \"long work\"\n{}{MENDS}", five.repeat(checkpoints))
}

/// One more action, then done.
const MENDS: &str = r#"
[[turn]]
call = [
  { name = "write_file", arguments = { path = "semver.py", content = "def newer(a, b):\n    return [int(x) for x in a.split('.')] > [int(x) for x in b.split('.')]\n" } },
  { name = "done", arguments = { summary = "It compares numbers." } },
]
"#;

const QUICK: &str = r#"  { name = "bash", arguments = { command = "echo y >> notes.txt" } },"#;

/// A task at checkpoint 1 with this comment of alice's on its pull request, whose number is returned.
async fn approved(world: &World, words: &str) -> u64 {
    world.alice().open_issue(REPO, "Take notes", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let pull = task.pull.expect("a pull request");
    world.alice().comment(REPO, pull, words).expect("said");
    pull
}

fn waits(n: u32) -> impl Fn(&Task) -> bool {
    move |task| task.state.name() == "awaiting-review" && task.checkpoint().is_some_and(|at| at.n == n)
}

/// For each used decision, whether it was given in advance.
async fn used(world: &World) -> Vec<bool> {
    let one = |event: Event| match event {
        Event::DecisionUsed { decision, .. } => Some(decision.in_advance),
        _ => None,
    };
    world.log().await.into_iter().filter_map(one).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn checkpoints_approved_in_advance_are_posted_and_passed_but_not_the_final_one() {
    let world = World::new(&script(3, QUICK)).await;
    let pull = approved(&world, "/approve next 3").await;
    world.until_said(pull, "the next 3 checkpoints").await;
    world.until_state("final-review").await;
    for (n, left) in [(2, "2 more after this one"), (3, "1 more after this one")] {
        let review = world.until_said(pull, &format!("### Checkpoint {n} ")).await;
        assert!(review.contains("**Approved in advance** by `alice`") && review.contains(left), "{review}");
    }
    let review = world.until_said(pull, "### Final review").await;
    assert!(review.contains("**Not approved in advance**"), "{review}");
    assert_eq!(used(&world).await, [false, true, true]);
}

/// Killed repeatedly while it continues by itself: each checkpoint is still posted and decided once.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_in_advance_survives_kills_and_is_used_once_each() {
    let mut world = World::new(&script(3, QUICK)).await;
    let pull = approved(&world, "/approve next 3").await;
    world.until("an approval in advance", |task| task.advance.is_some()).await;
    let mut lives = 0;
    loop {
        // Each run of the bot gets at least three events further, because a model call that is only started repeatedly is given up.
        let further = world.task().await.seq + 3 + lives % 4;
        let at_the_end = |task: &Task| task.state.name() == "final-review";
        if at_the_end(&world.until("a few events more", |task| task.seq >= further || at_the_end(task)).await) {
            break;
        }
        world.kill();
        world.start().await;
        lives += 1;
    }
    assert!(lives >= 5, "killed {lives} times");
    world.until_state("final-review").await;
    assert_eq!(used(&world).await, [false, true, true]);
    let started = |event: &&Event| matches!(event, Event::ActionStarted { .. });
    assert_eq!(world.log().await.iter().filter(started).count(), 16, "no action lost or repeated");
    let said = world.said(pull).await;
    for n in 1..=4 {
        let mark = format!("caisson:1:review:{n} ");
        assert_eq!(said.iter().filter(|text| text.contains(&mark)).count(), 1, "one review of checkpoint {n}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_right_is_asked_when_an_approval_in_advance_is_used() {
    let world = World::new(&script(2, QUICK)).await;
    let pull = approved(&world, "/approve next 3").await;
    world.until("an approval in advance", |task| task.advance.is_some()).await;
    world.forge.add_collaborator(REPO, "alice", devforge::Access::Read).expect("taken back");
    // It says no more than is known: the operator's list, or a further approval that is needed, ends it so as well.
    world.until_said(pull, "because they may not approve it any more, or not alone").await;
    world.until("checkpoint 2", waits(2)).await;
    let log = world.log().await;
    let right = |e: &Event| matches!(e, Event::DecisionUsed { decision, .. } if decision.right < Access::Write);
    assert!(!log.iter().any(right));
    assert_eq!(used(&world).await, [false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remark_ends_an_approval_in_advance() {
    let world = World::new(&script(2, QUICK)).await;
    let pull = approved(&world, "/approve next 21").await;
    world.until_said(pull, "/approve [c3, commit, or next 3]").await;
    world.alice().comment(REPO, pull, "/approve next 2").expect("said");
    world.until("an approval in advance", |task| task.advance.is_some()).await;
    world.alice().comment(REPO, pull, "Wait, let me look at the next one myself.").expect("said");
    world.until_said(pull, "`alice` wrote something else").await;
    world.until("checkpoint 2", waits(2)).await;
    world.heard(pull).await;
    assert!(waits(2)(&world.task().await));
    assert_eq!(used(&world).await, [false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_that_steers_tests_is_never_approved_in_advance() {
    let steers = r#"  { name = "bash", arguments = { command = "echo '# skip' >> tests/test_semver.py" } },"#;
    let world = World::new(&script(2, QUICK).replacen(QUICK, "@", 1).replace(QUICK, steers).replace('@', QUICK)).await;
    let pull = approved(&world, "/approve next 3").await;
    let review = world.until_said(pull, "### Checkpoint 2 ").await;
    assert!(review.contains("never a change of files that steer tests"), "{review}");
    world.until("checkpoint 2", waits(2)).await;
    assert_eq!(used(&world).await, [false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn code_behind_the_first_line_of_a_key_is_shown_and_its_file_is_never_approved_in_advance() {
    let line = |word: &str| format!("{word} = '-----{word} {} KEY-----'", "PRIVATE");
    let content = format!("{}\\nimport os; os.system('true')\\n{}\\n", line("BEGIN"), line("END"));
    let hides = format!("  {{ name = \"write_file\", arguments = {{ path = \"a.py\", content = \"{content}\" }} }},");
    let world = World::new(&script(2, QUICK).replacen(QUICK, "@", 1).replace(QUICK, &hides).replace('@', QUICK)).await;
    let pull = approved(&world, "/approve next 2").await;
    let review = world.until_said(pull, "### Checkpoint 2 ").await;
    assert!(review.contains("+import os; os.system('true')\n"), "{review}");
    assert!(review.contains("**Not shown here, or not whole**: `a.py` ("), "{review}");
    assert!(review.contains("never a change that can't be shown whole"), "{review}");
    world.until("checkpoint 2", waits(2)).await;
    assert_eq!(used(&world).await, [false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_in_which_much_was_sent_is_never_approved_in_advance() {
    let world = World::with(&script(2, QUICK), "[egress]\nupload_note_kib = 3").await;
    world.alice().open_issue(REPO, "Take notes", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let line = |seq: i64, host: &str, up| {
        let entry = serde_json::json!({
            "seq": seq, "ts": i64::MAX, "berth": 0, "verdict": "allowed", "rule": "*.up.example", "because": "our mirror",
            "host": host, "port": 443, "up": up, "down": 0, "ms": 1, "reason": "", "count": 1,
        });
        (seq, entry.to_string())
    };
    let other = world.by_hand().await;
    for (seq, body) in [line(1, "a.up.example", 3000), line(2, "b.up.example", 200)] {
        let sql = "INSERT INTO egress (task, seq, at, body) VALUES ($1, $2, 9223372036854775807, $3)";
        sqlx::query(sql).bind(task.id.0).bind(seq).bind(body).execute(&other).await.expect("kept");
    }
    let pull = task.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/approve next 3").expect("said");
    let review = world.until_said(pull, "### Checkpoint 2 ").await;
    assert!(review.contains("sent 3.2 kB to `*.up.example` (`our mirror`)."), "{review}");
    assert!(review.contains("never a checkpoint in which much was sent to a host"), "{review}");
    world.until("checkpoint 2", waits(2)).await;
    assert_eq!(used(&world).await, [false]);
}
