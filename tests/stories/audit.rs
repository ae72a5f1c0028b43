//! What is decided where no task is at work is kept: once of each text, also where the thread is read again and where the bot was killed.

use crate::test_runs::{branch, issue, say};
use crate::world::{FIX, PATIENCE, REPO, World};
use caisson::store::AuditRow;
use std::time::{Duration, Instant};

/// What is kept, the oldest first.
async fn rows(world: &World) -> Vec<AuditRow> {
    world.store().audit("shop", 99).await.expect("read")
}

/// Who gave which command where, and what was decided.
fn shown(rows: &[AuditRow]) -> Vec<String> {
    rows.iter().map(|row| format!("{} /{} on {}: {}", row.login, row.command, row.number, row.outcome)).collect()
}

/// Reads the threads again, and once more in another life.
async fn read_again(world: &mut World, number: u64) {
    world.heard(number).await;
    world.read_now().await.expect("read");
    world.kill();
    world.start().await;
    world.heard(number).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_refused_text_is_kept_once_and_answered_once_for_its_author() {
    let mut world = World::new(FIX).await;
    let issue = issue(&world);
    world.bob().comment(REPO, issue, "/fix it, please").expect("said");
    world.until_said(issue, "`bob`: `/fix` is for").await;
    world.bob().comment(REPO, issue, "/retry").expect("said");
    read_again(&mut world, issue).await;
    let rows = rows(&world).await;
    assert_eq!(shown(&rows), [format!("bob /fix on {issue}: refused"), format!("bob /retry on {issue}: refused")]);
    assert_eq!(rows[0].detail, "`/fix` is for those who may write to the repository");
    assert!(rows[0].source.starts_with("comment:") && rows[0].source != rows[1].source, "{rows:#?}");
    assert!(rows[0].account > 0 && rows[0].at > 0, "{rows:#?}");
    let refused = world.said(issue).await.iter().filter(|text| text.contains("`bob`: `/")).count();
    assert_eq!(refused, 1);
}

/// Killed before anything could be answered.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_kept_before_its_answer_could_be_given_is_kept_once() {
    let mut world = World::new(FIX).await;
    let issue = issue(&world);
    world.heard(issue).await;
    world.forge.refuse(&[("POST /comments", 503)]);
    world.bob().comment(REPO, issue, "/fix it").expect("said");
    let end = Instant::now() + PATIENCE;
    while rows(&world).await.is_empty() {
        assert!(Instant::now() < end, "it was never kept");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.kill();
    world.forge.refuse(&[]);
    world.start().await;
    world.until_said(issue, "`bob`: `/fix` is for").await;
    assert_eq!(shown(&rows(&world).await), [format!("bob /fix on {issue}: refused")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_taken_back_without_a_task_is_kept_once() {
    let mut world = World::networked(FIX, "").await;
    let issue = issue(&world);
    world.kill();
    let by_hand = world.by_hand().await;
    for host in ["semver.org", "semver.org:22"] {
        let sql = "INSERT INTO grants (repository, host, by_id, by_login, source, at) VALUES ('shop', $1, 2, 'alice', 'comment:1', 1)";
        sqlx::query(sql).bind(host).execute(&by_hand).await.expect("allowed");
    }
    by_hand.close().await;
    world.start().await;
    world.bob().comment(REPO, issue, "/deny semver.org").expect("said");
    world.until_said(issue, "`bob`: `/deny` is for").await;
    world.alice().comment(REPO, issue, "/deny semver.org\n/deny nobody.example").expect("said");
    world.until_said(issue, "took back `semver.org`, `semver.org:22` for this repository").await;
    read_again(&mut world, issue).await;
    let rows = rows(&world).await;
    let taken = || format!("alice /deny on {issue}: denied-host");
    assert_eq!(shown(&rows), [format!("bob /deny on {issue}: refused"), taken(), taken()]);
    assert_eq!((rows[1].detail.as_str(), rows[2].detail.as_str()), ("semver.org", "semver.org:22"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_no_task_is_kept_beside_what_begins_one() {
    let mut world = World::new(FIX).await;
    branch(&world, "mend", &[("notes.txt", "nothing\n")]);
    let talk = issue(&world);
    say(&world, talk, "/sync");
    world.until_said(talk, "`/sync` of").await;
    say(&world, talk, "/test-pr \"true # no task\" mend");
    world.until_said(talk, "**passes**").await;
    world.bob().comment(REPO, talk, "/test-pr \"true\" mend").expect("said");
    world.until_said(talk, "`bob`: `/test-pr` is for").await;
    let asked = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    // Beside a task at work, too: its log has nothing of it.
    say(&world, pull, "/sync");
    world.until_said(pull, "`/sync` of").await;
    read_again(&mut world, talk).await;
    let rows = rows(&world).await;
    let all = [
        format!("alice /sync on {talk}: taken-up"),
        format!("alice /test-pr on {talk}: taken-up"),
        format!("bob /test-pr on {talk}: refused"),
        format!("alice /fix on {asked}: began"),
        format!("alice /sync on {pull}: taken-up"),
    ];
    assert_eq!(shown(&rows), all);
    assert_eq!((rows[1].detail.as_str(), rows[3].detail.as_str()), ("true # no task", "task 1"));
}
