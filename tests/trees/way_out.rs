//! `/allow` and `/deny` on real parts (`road.rs`), and setup behind the same router. Assigning lines of the router's log to tasks needs
//! none of them: local processes, and an egress control that says how far the log has come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use caisson::sandbox::broker::SocketBroker;
use caisson::sandbox::{Acted, PrepareSpec, Sandboxes, Settings, SetupSpec};
use domain::Action;
use protocol::router::{LogEntry, Rule};
use protocol::runner::Limits;

use crate::road::{lay, on_the_road, run, spec};
use crate::world::{FILES, World};

/// Tries until it gets through, then waits until it is cut off and tries again. Prints times and the number of refusals before.
const INSIDE: &str = r#"python3 - <<'PROGRAM'
import socket, time
def reach():
    s = socket.create_connection(("good.test", 7000), 2); s.sendall(b"x"); assert s.recv(1) == b"y"; return s
refused = 0
while True:
    try: s = reach(); break
    except OSError: refused += 1; time.sleep(0.002)
reached = time.time()
try: s.recv(1)
except OSError: pass
cut = time.time()
try: reach(); again = "reached"
except OSError: again = "refused"
print(refused, reached, cut, again)
PROGRAM"#;

fn line(seq: u64) -> LogEntry {
    let line = serde_json::json!({
        "seq": seq, "ts": 0, "berth": 0, "verdict": "denied", "host": "a.test", "port": 0,
        "up": 0, "down": 0, "ms": 0, "reason": "", "count": 1
    });
    serde_json::from_value(line).expect("a line")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_line_of_the_log_is_the_task_s_to_whom_the_subnet_was_lent() {
    let world = World::with(FILES, |settings| settings.subnets = 1).await;
    let come_to = |last| *world.doors.read.lock().unwrap() = Some(("b1".to_owned(), last));
    let held_by = |seq| world.sandboxes.egress.held_by("b1", &line(seq));
    come_to(10);
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
    world.bash(1, "true").await;
    assert_eq!([held_by(10), held_by(11)], [None, Some(1)]);
    come_to(20);
    world.sandboxes.of_tasks.remove(1).await.expect("removed");
    assert_eq!([held_by(20), held_by(21)], [Some(1), Some(1)], "given back, and lent to nobody yet");
    come_to(22);
    // Its setup uses the subnet first.
    let setup = Some(SetupSpec { commands: vec!["true".to_owned()], commit: world.base.clone(), wall_ms: 900_000 });
    world.sandboxes.of_tasks.prepare(&PrepareSpec { setup, ..world.spec(2) }).await.expect("prepared");
    come_to(30);
    world.sandboxes.of_tasks.remove(2).await.expect("removed");
    // Made anew without another task in between, it has the same allocation.
    world.sandboxes.of_tasks.prepare(&world.spec(2)).await.expect("prepared");
    for seq in [11, 21, 22] {
        assert_eq!(held_by(seq), Some(1), "line {seq}");
    }
    for seq in [23, 30, 31] {
        assert_eq!(held_by(seq), Some(2), "line {seq}");
    }
    // Known after a restart too.
    let settings = Settings { subnets: 1, ..Settings::new(world.dir.path().join("state"), "local") };
    let control = world.doors.clone();
    let again =
        Sandboxes::new(world.broker.clone(), Some(control), world.repos.clone(), settings, 2).expect("sandboxes");
    assert_eq!([again.egress.held_by("b1", &line(22)), again.egress.held_by("b1", &line(23))], [Some(1), Some(2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_lines_are_no_matter_of_a_task_whose_subnet_was_closed_all_the_time() {
    let world = World::new().await;
    let come_to = |last| *world.doors.read.lock().unwrap() = Some(("b1".to_owned(), last));
    come_to(10);
    for task in [1, 2] {
        world.sandboxes.of_tasks.prepare(&world.spec(task)).await.expect("prepared");
        world.sandboxes.of_tasks.open(task).await.expect("opened");
    }
    come_to(20);
    world.sandboxes.of_tasks.rest(2).await.expect("resting");
    come_to(30);
    world.sandboxes.of_tasks.rest(2).await.expect("still resting");
    let may_have = |lines| world.sandboxes.egress.held_between("b1", &lines, 0).into_iter().collect::<Vec<_>>();
    assert_eq!([may_have(15..=25), may_have(20..=20)], [[1, 2], [1, 2]], "some came before it was closed");
    assert_eq!(may_have(21..=25), [1]);
    world.sandboxes.of_tasks.open(2).await.expect("opened again");
    assert_eq!(may_have(31..=35), [1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_it_is_not_known_which_subnets_were_open_every_sandbox_that_was_not_stopped_counts() {
    let world = World::new().await;
    for task in [1, 2] {
        world.sandboxes.of_tasks.prepare(&world.spec(task)).await.expect("prepared");
    }
    world.sandboxes.of_tasks.stop(2).await.expect("stopped");
    assert_eq!(world.sandboxes.egress.held_at_end("b1", None, 0).into_iter().collect::<Vec<_>>(), [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_were_received_are_waited_for_until_they_are_stored() {
    let world = World::new().await;
    let egress = &world.sandboxes.egress;
    let is_stored = async || egress.log_is_stored(1, Duration::ZERO).await;
    *world.doors.read.lock().unwrap() = Some(("b2".to_owned(), 7));
    assert!(is_stored().await, "nobody stores them");
    for (life, last, all) in [("b1", 9, false), ("b2", 6, false), ("b2", 7, true), ("b2", 8, true)] {
        egress.log_stored((life.to_owned(), last));
        assert_eq!(is_stored().await, all, "{life} {last}");
    }
    let (waits, stored) = (egress.clone(), egress.clone());
    stored.log_stored(("b1".to_owned(), 9));
    let waiting = tokio::spawn(async move { waits.log_is_stored(1, Duration::from_secs(300)).await });
    tokio::task::yield_now().await;
    stored.log_stored(("b2".to_owned(), 7));
    assert!(waiting.await.expect("told"));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_closed_subnet_only_what_came_before_it_was_closed_is_waited_for() {
    let world = World::new().await;
    let egress = &world.sandboxes.egress;
    let come_to = |life: &str, last| *world.doors.read.lock().unwrap() = Some((life.to_owned(), last));
    come_to("b1", 10);
    for task in [1, 2] {
        world.sandboxes.of_tasks.prepare(&world.spec(task)).await.expect("prepared");
        world.sandboxes.of_tasks.open(task).await.expect("opened");
    }
    come_to("b1", 20);
    world.sandboxes.of_tasks.rest(2).await.expect("resting");
    come_to("b1", 30);
    let is_stored = async |task| egress.log_is_stored(task, Duration::ZERO).await;
    for (last, all) in [(19, [false, false]), (20, [false, true]), (30, [true, true])] {
        egress.log_stored(("b1".to_owned(), last));
        assert_eq!([is_stored(1).await, is_stored(2).await], all, "{last}");
    }
    // Another life of the router has said more of the open one.
    come_to("b2", 5);
    assert!(!is_stored(2).await, "not everything of the life before is stored");
    egress.log_stored(("b2".to_owned(), 0));
    assert_eq!([is_stored(1).await, is_stored(2).await], [false, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_host_is_reached_at_once_and_cut_when_it_is_taken_back() {
    on_the_road("allow", |world, broker, installation| async move { allowed(&world, &broker, &installation).await })
        .await;
}

async fn allowed(world: &World, broker: &Arc<SocketBroker>, installation: &str) {
    let denied = Arc::new(AtomicU64::new(0));
    let count = denied.clone();
    let on_denied = move || {
        count.fetch_add(1, Ordering::Relaxed);
    };
    let (sandboxes, mut beyond) = lay(world, broker, installation, on_denied).await;
    sandboxes.of_tasks.prepare(&spec(world, &[])).await.expect("prepared");
    sandboxes.of_tasks.open(1).await.expect("opened");
    let acting = tokio::spawn(act(sandboxes.clone()));
    let end = Instant::now() + Duration::from_secs(300);
    while denied.load(Ordering::Relaxed) == 0 {
        assert!(Instant::now() < end && !acting.is_finished(), "the sandbox never tried");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let asked = now();
    sandboxes.egress.allow(1, vec![Rule::parse("good.test:7000").expect("a rule")]).await.expect("allowed");
    let obeyed = now();
    let mut beyond = tokio::task::spawn_blocking(move || {
        beyond.says("hit");
        beyond
    });
    let beyond = (&mut beyond).await.expect("a connection");
    let taken_back = now();
    sandboxes.egress.allow(1, Vec::new()).await.expect("taken back");
    let closed = now();
    let acted = acting.await.expect("ended").outcome.text;
    let [refused, reached, cut, again] = acted.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{acted}") };
    let ms = |from: f64, to: &str| (to.parse::<f64>().expect("an instant") - from) * 1000.0;
    println!(
        "allow: router obeyed after {:.1} ms, first connection {:.1} ms after the call; deny: obeyed after {:.1} ms, cut after {:.1} ms",
        (obeyed - asked) * 1000.0,
        ms(asked, reached),
        (closed - taken_back) * 1000.0,
        ms(taken_back, cut)
    );
    assert!(refused.parse::<u64>().is_ok_and(|times| times > 0), "it was refused first: {acted}");
    assert_eq!(again, "refused");
    drop(beyond);
    run("docker", &["kill", &format!("caisson-{installation}-router")]);
    let (_, cut) =
        tokio::time::timeout(Duration::from_secs(300), sandboxes.egress.router_replaced()).await.expect("noticed");
    assert_eq!(cut, [1], "the task whose way out went with the router is named, and another router stands there");
    sandboxes.egress.allow(1, Vec::new()).await.expect("it obeys");
    sandboxes.of_tasks.remove(1).await.expect("removed");
}

async fn act(sandboxes: Arc<Sandboxes>) -> Acted {
    let action = Action::Bash { command: INSIDE.to_owned() };
    sandboxes.actions.act(1, 1, &action, Limits { wall_ms: 60_000, output_bytes: 4000 }).await.expect("acted")
}

/// Unix seconds; the sandbox has the same clock.
fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs_f64()
}

/// Records which names it can reach.
const SETUP: &str = r#"python3 - > build/reached <<'PROGRAM'
import socket
for name in ("good.test", "other.test"):
    try:
        s = socket.create_connection((name, 7000), 5); s.sendall(b"x"); print(name, s.recv(1).decode())
    except OSError: print(name, "refused")
PROGRAM"#;

#[tokio::test(flavor = "multi_thread")]
async fn setup_reaches_what_is_allowed_and_the_task_after_it_the_same_and_no_more() {
    on_the_road("setup", |world, broker, installation| async move {
        let (sandboxes, mut beyond) = lay(&world, &broker, &installation, || {}).await;
        let setup = Some(SetupSpec { commands: vec![SETUP.to_owned()], commit: world.base.clone(), wall_ms: 900_000 });
        let spec = PrepareSpec { setup, ..spec(&world, &["good.test:7000"]) };
        sandboxes.of_tasks.prepare(&spec).await.expect("prepared");
        sandboxes.of_tasks.open(1).await.expect("opened");
        beyond.says("hit");
        let action = Action::Bash { command: format!("cat build/reached; {SETUP}\ncat build/reached") };
        let acted =
            sandboxes.actions.act(1, 1, &action, Limits { wall_ms: 60_000, output_bytes: 4000 }).await.expect("acted");
        let once = "good.test y\nother.test refused\n";
        assert_eq!(acted.outcome.text, once.repeat(2));
        beyond.says("hit");
        sandboxes.of_tasks.remove(1).await.expect("removed");
    })
    .await;
}
