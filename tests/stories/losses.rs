//! Sandbox and router are lost in every way: each is reported as what it was, and only uncommitted work is lost.

use crate::world::{FIX, PATIENCE, REPO, World, git};
use caisson::sandbox::broker::Broker as _;
use caisson::task::Boundary;
use domain::{Event, Loss, OutcomeStatus, PauseReason, Resource, State};
use protocol::broker::End;
use std::time::Duration;

const CONTAINER: &str = "task-1-1";

/// An action that can be interrupted, this many times; then one that ends, and done, repeated because nothing was changed.
fn caught(times: usize) -> String {
    let long = "[[turn]]\ntext = \"This takes long.\"\n\
                call = [{ name = \"bash\", arguments = { command = \"touch started; sleep 60\" } }]\n";
    let end = "[[turn]]\ntext = \"I look again.\"\n\
               call = [{ name = \"bash\", arguments = { command = \"test ! -e started\" } }, { name = \"done\", arguments = { summary = \"Nothing to do.\" } }]\n";
    let again = "[[turn]]\ntext = \"There is nothing to change.\"\n\
                 call = [{ name = \"done\", arguments = { summary = \"Nothing to do.\" } }]\n";
    format!("name = \"long\"\n{}{end}{again}", long.repeat(times))
}

async fn ask(world: &World) -> u64 {
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue")
}

/// Waits until the agent's action runs in this sandbox.
async fn under_way(world: &World) {
    let started = world.broker.workspace(CONTAINER).join("started");
    let seen = async {
        while !started.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, seen).await.expect("the action began");
    std::fs::remove_file(started).expect("removed");
}

async fn losses(world: &World) -> Vec<Loss> {
    let lost = |event| if let Event::SandboxLost { loss, .. } = event { Some(loss) } else { None };
    world.log().await.into_iter().filter_map(lost).collect()
}

/// Everything that was pushed is on the forge, and the log in the store: of the state directory only the store and the key of the bot's
/// marks cannot be made anew.
#[tokio::test(flavor = "multi_thread")]
async fn local_files_that_are_deleted_come_back() {
    let mut world = World::new(FIX).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.kill();
    let mut deleted = Vec::new();
    for entry in std::fs::read_dir(&world.config.state_dir).expect("read").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("caisson.db") || name == "mark.key" {
            continue;
        }
        let path = entry.path();
        let gone = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        gone.expect("deleted");
        deleted.push(name);
    }
    for name in ["repos", "sandboxes"] {
        assert!(deleted.iter().any(|it| it == name), "{deleted:?}");
    }
    world.start().await;
    world.approve().await;
    world.until_state("final-review").await;
    world.approve().await;
    world.until_state("approved").await;
    world.nothing_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_way_of_losing_a_sandbox_is_told_as_what_it_was_and_work_goes_on() {
    let ways: [(Loss, &str); 5] = [
        (Loss::Stopped, "somebody stopped the sandbox"),
        (Loss::Ended, "first process ended by itself"),
        (Loss::EngineRestarted, "the container engine, or the whole machine, was restarted"),
        (Loss::Removed, "somebody removed the sandbox"),
        (Loss::Restarted, "somebody restarted the sandbox"),
    ];
    for (loss, words) in ways {
        let world = World::new(&caught(1)).await;
        let issue = ask(&world).await;
        under_way(&world).await;
        match loss {
            Loss::Stopped => world.broker.end(CONTAINER, End::Stopped),
            Loss::Ended => world.broker.end(CONTAINER, End::Itself),
            Loss::EngineRestarted => world.broker.end(CONTAINER, End::EngineRestarted),
            Loss::Removed => world.broker.remove(CONTAINER).await.expect("removed"),
            _ => world.broker.restart(CONTAINER),
        }
        world.until_state("awaiting-review").await;
        assert_eq!(losses(&world).await, [loss]);
        assert_eq!(world.ends().await, [OutcomeStatus::Interrupted, OutcomeStatus::Ok], "{loss:?}");
        let review = world.until_said(issue, words).await;
        assert!(review.contains("made anew from the last commit"), "{review}");
        assert!(review.contains("interrupted; it may have run"), "{review}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_runs_out_of_memory_is_made_anew_once_and_then_a_person_is_asked() {
    let world = World::new(&caught(2)).await;
    let issue = ask(&world).await;
    for _ in 0..2 {
        under_way(&world).await;
        world.broker.end(CONTAINER, End::Memory);
    }
    let task = world.until_state("paused").await;
    let exhausted = |state: &State| {
        matches!(state, State::Paused { reason: PauseReason::Exhausted { what: Resource::Memory, .. }, .. })
    };
    assert!(exhausted(&task.state), "{:?}", task.state);
    world.until_said(issue, "`sandbox.memory_mib`").await;
    world.alice().comment(REPO, issue, "/resume").expect("said");
    world.until_state("awaiting-review").await;
    assert_eq!(losses(&world).await, [Loss::Memory, Loss::Memory]);
    world.until_said(issue, "(2 times)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_away_is_waited_for_and_what_it_ended_is_found_when_it_is_back() {
    let world = World::new(&caught(1)).await;
    ask(&world).await;
    under_way(&world).await;
    world.broker.set_away(true);
    world.broker.end(CONTAINER, End::EngineRestarted);
    let asked_again = async {
        while world.broker.in_vain() < 3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asked_again).await.expect("it has asked, and asked again");
    let task = world.task().await;
    assert_eq!((task.state.name(), task.used), ("running", 1), "no verdict, and nothing is counted");
    assert!(losses(&world).await.is_empty());
    world.broker.set_away(false);
    world.until_state("awaiting-review").await;
    assert_eq!(losses(&world).await, [Loss::EngineRestarted]);
    assert_eq!(world.task().await.spent.actions, 2);
}

/// The bot is killed after it made the sandbox anew and before it stored why: after the restart the sandbox exists.
#[tokio::test(flavor = "multi_thread")]
async fn a_loss_is_told_also_where_the_bot_is_killed_once_the_sandbox_is_made_anew() {
    for weak in [false, true] {
        let mut world = World::new(FIX).await;
        ask(&world).await;
        let before = world.until_state("awaiting-review").await.actions;
        let (met, mut reached) = tokio::sync::mpsc::unbounded_channel();
        world.cuts.set(move |row, at| {
            row.effect.kind() == "open" && matches!(at, Boundary::Done) && met.send(row.key.clone()).is_ok()
        });
        world.broker.remove(CONTAINER).await.expect("removed");
        world.approve().await;
        tokio::time::timeout(PATIENCE, reached.recv()).await.expect("in time").expect("made anew");
        assert!(losses(&world).await.is_empty(), "not stored yet");
        world.kill();
        world.cuts.clear();
        if weak {
            // It may not have been inspected either, so it is inspected before anything runs in it.
            world.inspector.0.lock().expect("whole").push("check 9 (routes): routes: default via 10.0.0.1".to_owned());
        }
        world.start().await;
        if weak {
            let pull = world.until_state("paused").await.pull.expect("a pull request");
            assert_eq!(world.task().await.actions, before, "nothing ran");
            world.inspector.0.lock().expect("whole").clear();
            world.alice().comment(REPO, pull, "/resume").expect("said");
        }
        world.until_state("final-review").await;
        let told = losses(&world).await;
        assert_eq!(told, [if weak { Loss::PutAway } else { Loss::Removed }], "weak: {weak}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_approved_is_in_the_sandbox_that_is_made_anew() {
    let script = FIX.replace("git diff --stat || true", "grep -q parse semver.py && touch started && sleep 60");
    // The `done` after the lost action does not count, so it is repeated.
    let again = "\n[[turn]]\ncall = [{ name = \"done\", arguments = { summary = \"Numbers are compared.\" } }]\n";
    let world = World::new(&format!("{script}{again}")).await;
    ask(&world).await;
    world.until_state("awaiting-review").await;
    let before = world.task().await.head;
    world.approve().await;
    under_way(&world).await;
    world.broker.remove(CONTAINER).await.expect("removed");
    let task = world.until_state("final-review").await;
    assert_eq!((task.head, losses(&world).await), (before, vec![Loss::Removed]));
    let semver = world.broker.workspace(CONTAINER).join("semver.py");
    assert!(std::fs::read_to_string(semver).expect("read").contains("parse(a)"), "it stands at the last commit");
    world.approve().await;
    world.until_state("approved").await;
    world.nothing_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fills_the_disk_is_killed_and_a_person_is_asked_what_to_do() {
    let script = caught(1).replace("touch started; sleep 60", "head -c 200M /dev/zero >big; sleep 60");
    let script = script.replace("test ! -e started", "rm big");
    let sandbox = "image = \"local\"\ndisk_mib = 64\ndisk_floor_mib = 0";
    let world = World::in_image(&script, sandbox).await;
    let issue = ask(&world).await;
    world.until_state("paused").await;
    let ends_then = world.ends().await;
    assert!(matches!(&ends_then[..], [OutcomeStatus::DiskSpent { what }] if what.contains("64 MiB")), "{ends_then:?}");
    world.until_said(issue, "`sandbox.disk_mib`").await;
    world.alice().comment(REPO, issue, "/resume").expect("said");
    world.until_state("awaiting-review").await;
    assert_eq!(world.ends().await.last(), Some(&OutcomeStatus::Ok), "what deletes goes on");
    assert!(losses(&world).await.is_empty());
    world.until_said(issue, "disk space ran out").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_task_starts_on_a_disk_that_is_about_to_be_full() {
    let floor = u64::MAX >> 24;
    let sandbox = format!("image = \"local\"\ndisk_floor_mib = {floor}");
    let world = World::in_image(&caught(1), &sandbox).await;
    let issue = ask(&world).await;
    let said = world.until_said(issue, "are to stay free").await;
    assert!(said.contains("tries again by itself"), "{said}");
    let task = world.task().await;
    assert_eq!((task.state.name(), task.actions), ("preparing", 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_router_that_was_gone_is_told_in_the_next_review_and_stops_nothing() {
    let script = caught(1).replace("sleep 60", "until test -e go; do sleep 0.05; done; rm go");
    let world = World::networked(&script, "").await;
    let issue = ask(&world).await;
    under_way(&world).await;
    world.doors.as_ref().expect("a network").replace_router();
    let noted = async || world.log().await.iter().filter(|event| matches!(event, Event::RouterReplaced)).count();
    let seen = async {
        while noted().await == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, seen).await.expect("it was noted while the action ran");
    std::fs::write(world.broker.workspace(CONTAINER).join("go"), "").expect("written");
    world.until_state("awaiting-review").await;
    assert_eq!((noted().await, losses(&world).await.len()), (1, 0));
    world.until_said(issue, "the router was gone for a moment").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_task_began_from_is_kept_before_its_first_checkpoint() {
    let world = World::new(&caught(1)).await;
    ask(&world).await;
    let base = world.until("a base", |task| task.base.is_some()).await.base.expect("a base");
    let repository = world.config.state_dir.join("repos/shop.git");
    assert_eq!(git(&repository, &["rev-parse", "refs/caisson/1/0"]), base.as_str());
}
