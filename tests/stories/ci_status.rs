//! The forge's CI on finished work: waited for where that is configured, shown in the final review, and handed back to the agent where it
//! fails. The wait outlives the process and holds up neither a stop nor a pause.

use crate::world::{PATIENCE, REPO, World};
use caisson::forge::{ForgeWrites as _, NewStatus, RepoRef, StatusState};
use domain::{CiOutcome, Commit, Event, Task};

/// Mends and says done; where the CI fails, mends again and says done.
const WORK: &str = r#"
name = "with a CI"
[[turn]]
expects = ["Versions compare as text"]
call = [
  { name = "edit_file", arguments = { path = "semver.py", old = "    return a > b\n", new = "    return parse(a) > parse(b)\n\n\ndef parse(text):\n    return [int(part) for part in text.split('.')]\n" } },
  { name = "done", arguments = { summary = "It compares numbers." } },
]
[[turn]]
expects = ["continuous integration", "build / unit (push)", "tests/test_lists.py"]
call = [
  { name = "write_file", arguments = { path = "lists.py", content = "ALL = []\n" } },
  { name = "done", arguments = { summary = "The lists are there too." } },
]
"#;

/// A task whose first commit failed in the CI: that commit, and the task as it waits for the next one's.
async fn failed_once() -> (World, Commit, Task) {
    let (world, task) = waiting(ASKS).await;
    let commit = task.ci_awaited.as_ref().expect("waited for").commit.clone();
    let page = world.forge.add_ci_job(REPO, commit.as_str(), LOG).expect("a job");
    set(&world, &task, "build / unit (push)", StatusState::Failure, &page).await;
    let next =
        world.until("a second wait", |task| task.ci_awaited.as_ref().is_some_and(|it| it.commit != commit)).await;
    (world, commit, next)
}

/// A check that is not heard of again is not gone: whoever takes it away mends nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_failure_that_is_not_heard_of_again_stays_open() {
    let (world, _, next) = failed_once().await;
    set(&world, &next, "lint", StatusState::Success, "").await;
    world.clock_moves_on(LONG_ENOUGH);
    let (_, text) = final_review(&world).await;
    assert!(text.contains("⚠️ **1 failure of the CI not seen to pass since**: ci1."), "{text}");
    assert!(
        text.contains("- **ci1** `build / unit (push)`: open, failed on") && text.contains("it said nothing of"),
        "{text}"
    );
}

/// Milliseconds after which a success counts, and after which nothing is nothing.
const LONG_ENOUGH: i64 = 121_000;
const ASKS: &str = "test = \"python3 -m unittest -q tests.test_semver\"\n[ci]\nwait = true\n";
const LOG: &str = "2025-11-05T10:00:00.0000000Z FF\n2025-11-05T10:00:00.0000000Z ======================================================================\n2025-11-05T10:00:00.0000000Z FAIL: test_all (tests.test_lists.Lists.test_all)\n2025-11-05T10:00:00.0000000Z ----------------------------------------------------------------------\n2025-11-05T10:00:00.0000000Z Traceback (most recent call last):\n2025-11-05T10:00:00.0000000Z   File \"/workspace/tests/test_lists.py\", line 7, in test_all\n2025-11-05T10:00:00.0000000Z     self.assertEqual(1, 2)\n2025-11-05T10:00:00.0000000Z AssertionError: 1 != 2\n";

async fn set(world: &World, task: &Task, context: &str, state: StatusState, page: &str) {
    let commit = task.ci_awaited.as_ref().expect("waited for").commit.clone();
    let description = "it says".to_owned();
    let new = NewStatus { context: context.into(), state, description, target_url: page.into() };
    world.look().post_status(&RepoRef::new("lab", "shop"), commit.as_str(), &new).await.expect("a status");
}

/// A bot that waits for the CI of its first finished commit.
async fn waiting(project: &str) -> (World, Task) {
    let world = World::new(WORK).await;
    world.push(&[(".caisson.toml", project)]);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-ci").await;
    (world, task)
}

async fn final_review(world: &World) -> (Task, String) {
    let task = world.until_state("final-review").await;
    let text = world.until_said(task.pull.expect("a pull request"), "### Final review").await;
    (task, text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ci_that_passes_is_told_with_its_pages_before_anybody_is_asked() {
    let (world, task) = waiting(ASKS).await;
    set(&world, &task, "build / unit (push)", StatusState::Pending, "").await;
    set(&world, &task, "caisson/test", StatusState::Failure, "").await;
    world.heard(1).await;
    assert_eq!(world.task().await.state.name(), "awaiting-ci", "it has not ended");
    let said = world.said(1).await.join("\n");
    assert!(said.contains("waiting for the forge's CI"), "{said}");
    set(&world, &task, "build / unit (push)", StatusState::Success, "/lab/shop/actions/runs/1/jobs/0").await;
    world.heard(1).await;
    assert_eq!(world.task().await.state.name(), "awaiting-ci", "another check may come");
    world.clock_moves_on(LONG_ENOUGH);
    let (task, text) = final_review(&world).await;
    let page = format!("[page]({}/lab/shop/actions/runs/1/jobs/0)", world.forge.url());
    for words in ["**CI** — ✅ 1 check passed on", "`build / unit (push)`", page.as_str()] {
        assert!(text.contains(words), "{words} is missing:\n{text}");
    }
    assert!(!text.contains("caisson/test"), "the bot's own statuses are none of the CI:\n{text}");
    assert!(task.ci.is_some_and(|it| it.outcome == CiOutcome::Passed));
    world.approve().await;
    world.until_state("approved").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_goes_back_to_the_agent_with_the_end_of_the_forges_own_log() {
    let (world, commit, next) = failed_once().await;
    let log = world.log().await;
    let ended = log.iter().find_map(|event| match event {
        Event::CiEnded(ended) => Some(ended),
        _ => None,
    });
    let ended = ended.expect("told");
    assert!(ended.returned && ended.log().contains("FAIL: test_all") && !ended.log().contains("2025-11-05"));
    set(&world, &next, "build / unit (push)", StatusState::Success, "").await;
    world.clock_moves_on(LONG_ENOUGH);
    let (task, text) = final_review(&world).await;
    assert_eq!(task.failures, 1);
    assert!(text.contains("**CI** — ✅"), "{text}");
    let newest = next.ci_awaited.as_ref().expect("waited for").commit.clone();
    let gone =
        format!("- **ci1** `build / unit (push)`: gone at `{}`; it had failed on `{}`", newest.short(), commit.short());
    assert!(text.contains("**Failures of the CI** — 1 gone since the last review") && text.contains(&gone), "{text}");
    assert_eq!(
        world.said(task.pull.expect("a pull request")).await.iter().filter(|it| it.contains("### Final")).count(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_ci_and_one_that_does_not_end_are_told_as_such() {
    let (world, _) = waiting(ASKS).await;
    world.clock_moves_on(LONG_ENOUGH);
    let (_, text) = final_review(&world).await;
    assert!(text.contains("no CI reported"), "{text}");

    // A check that is named is known to come.
    let (world, _) = waiting(&format!("{ASKS}contexts = [\"build\"]\n")).await;
    world.clock_moves_on(LONG_ENOUGH);
    world.heard(1).await;
    assert_eq!(world.task().await.state.name(), "awaiting-ci");
    world.clock_moves_on(60 * 60_000);
    let (_, text) = final_review(&world).await;
    assert!(text.contains("no CI reported") && text.contains("`build` never reported"), "{text}");

    let (world, task) = waiting(ASKS).await;
    set(&world, &task, "build", StatusState::Pending, "").await;
    world.clock_moves_on(61 * 60_000);
    let (_, text) = final_review(&world).await;
    assert!(text.contains("the forge's CI did not end in time") && text.contains("⏳ `build`"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wait_outlives_the_process_and_holds_up_neither_pause_nor_stop() {
    let (mut world, task) = waiting(ASKS).await;
    world.kill();
    world.start().await;
    world.alice().comment(REPO, 1, "/pause").expect("said");
    world.until_state("paused").await;
    set(&world, &task, "build", StatusState::Success, "").await;
    world.heard(1).await;
    assert_eq!(world.task().await.state.name(), "paused");
    world.kill();
    world.start().await;
    world.alice().comment(REPO, 1, "/resume").expect("said");
    world.until_state("awaiting-ci").await;
    world.clock_moves_on(LONG_ENOUGH);
    let (_, text) = final_review(&world).await;
    assert!(text.contains("**CI** — ✅ 1 check passed"), "{text}");

    let (world, _) = waiting(ASKS).await;
    world.alice().comment(REPO, 1, "/stop").expect("said");
    world.until_state("cancelled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_cannot_be_read_is_no_result_and_the_operators_word_counts() {
    let (mut world, task) = waiting(ASKS).await;
    set(&world, &task, "build", StatusState::Success, "").await;
    let commit = task.ci_awaited.as_ref().expect("waited for").commit.to_string();
    let read = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (counted, at) = (read.clone(), format!("/commits/{commit}/statuses"));
    world.kill();
    world.forge.set_faults(move |_, path| {
        path.ends_with(&at).then(|| {
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            devforge::Fault::Refused(502)
        })
    });
    world.start().await;
    let end = std::time::Instant::now() + PATIENCE;
    while read.load(std::sync::atomic::Ordering::SeqCst) < 2 {
        assert!(std::time::Instant::now() < end, "it was never read");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(world.task().await.state.name(), "awaiting-ci");
    world.forge.set_faults(|_, _| None);
    world.clock_moves_on(LONG_ENOUGH);
    final_review(&world).await;

    // What the operator forbids is not waited for, whatever the repository asks.
    let mut world = World::new(WORK).await;
    world.push(&[(".caisson.toml", ASKS)]);
    world.reconfigure(|text| format!("{text}[repositories.ci]\nwait = false\n")).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let (task, text) = final_review(&world).await;
    assert!(task.ci.is_none() && !text.contains("**CI**"), "{text}");
}
