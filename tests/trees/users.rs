//! Each repository has its own user in sandboxes, so that one cannot use up what the kernel counts by user of another.

use std::sync::Arc;

use caisson::sandbox::broker::{Broker as _, SocketBroker};
use caisson::sandbox::{CaptureSpec, Captured, PrepareSpec, Sandboxes, Segment, Settings};
use domain::Action;
use protocol::broker::{ContainerSpec, ProblemKind, Purpose};
use protocol::runner::Limits;

use crate::docker::{IMAGE, in_containers};
use crate::layers::in_container;
use crate::world::{KEY, World, url};

const OTHER: &str = "other";

/// Takes all inotify instances that an unprivileged program can, says so, and holds them; and those that another test's container with
/// the same user gives back meanwhile.
const TAKE_ALL: &str = "python3 -c 'import ctypes, time
libc = ctypes.CDLL(None)
count = 0
while libc.inotify_init() >= 0: count += 1
print(\"took\", count > 0, flush=True)
while True:
    libc.inotify_init() >= 0 or time.sleep(0.005)' >/tmp/taken & while ! test -s /tmp/taken; do sleep 0.05; done; cat /tmp/taken";
const TAKE_ONE: &str = "python3 -c 'import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
print(\"got one\" if libc.inotify_init() >= 0 else errno.errorcode[ctypes.get_errno()])'";

fn sandboxes(world: &World, broker: &Arc<SocketBroker>) -> Sandboxes {
    let settings = Settings { mirror_from_bytes: 0, ..Settings::new(world.dir.path().join("real"), IMAGE) };
    Sandboxes::new(broker.clone(), None, world.repos.clone(), settings, 1).expect("sandboxes")
}

async fn bash(sandboxes: &Sandboxes, task: i64, id: u64, command: &str) -> String {
    let action = Action::Bash { command: command.to_owned() };
    let limits = Limits { wall_ms: 30_000, output_bytes: 4000 };
    sandboxes.actions.act(task, id, &action, limits).await.expect("acted").outcome.text
}

/// Name and user of the repository's mirror.
fn mirror(world: &World, key: &str) -> (String, u64) {
    let text = std::fs::read(world.dir.path().join("real/mirrors.json")).expect("remembered");
    let all: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    (all[key]["name"].as_str().expect("a name").to_owned(), all[key]["user"].as_u64().expect("a user"))
}

#[tokio::test(flavor = "multi_thread")]
async fn in_containers_one_repository_takes_no_inotify_instance_from_another() {
    in_containers(
        "users",
        |_| {},
        |world, broker, _| async move {
            let broker = Arc::new(broker);
            world.repos.fetch(OTHER, &url(&world.upstream()), None).await.expect("fetched");
            let first = sandboxes(&world, &broker);
            for (task, key) in [(1, KEY), (2, OTHER), (3, KEY)] {
                let spec = PrepareSpec { repo_key: key.to_owned(), ..in_container(&world, task).await };
                first.of_tasks.prepare(&spec).await.expect("prepared");
            }
            let look = "id -un; stat -c '%u %g' . ~ sum.py /mirror; whoami >~/mine && touch new && ls -A ~";
            for (task, user) in [(1, 10_003), (2, 10_004), (3, 10_003)] {
                let own = format!("{user} {user}\n").repeat(4);
                assert_eq!(bash(&first, task, 1, look).await, format!("agent-{user}\n{own}mine\n"), "task {task}");
            }
            assert_eq!((mirror(&world, KEY).1, mirror(&world, OTHER).1), (10_003, 10_004));

            assert_eq!(bash(&first, 1, 2, TAKE_ALL).await, "took True\n");
            assert_eq!(bash(&first, 2, 2, TAKE_ONE).await, "got one\n");
            // Another task of the same repository has the same user, which shows that all were taken.
            let mut got = String::new();
            for id in 2..12 {
                got = bash(&first, 3, id, TAKE_ONE).await;
                // What another test gave back is taken within milliseconds.
                if got != "got one\n" {
                    break;
                }
            }
            assert_eq!(got, "EMFILE\n");

            // Quarantine and verification of another repository run as that repository's user.
            let segment = Segment { repo_key: OTHER.to_owned(), ..world.capture_spec(2, 1, &world.base).segment };
            let capture = CaptureSpec { segment, ..world.capture_spec(2, 1, &world.base) };
            assert!(matches!(first.captures.capture(&capture).await, Ok(Captured::Commit { .. })));

            // The broker itself knows whose mirror it is.
            let theirs = ContainerSpec {
                name: "stranger".to_owned(),
                task: None,
                purpose: Purpose::Task,
                user: 10_004,
                image: IMAGE.to_owned(),
                subnet: None,
                limits: in_container(&world, 9).await.limits,
                env: Vec::new(),
                profile: "sealed".to_owned(),
                mirror: Some(mirror(&world, KEY).0),
                layered: false,
            };
            for purpose in [Purpose::Task, Purpose::Quarantine, Purpose::Mirror] {
                let refused = broker.create(&ContainerSpec { purpose, ..theirs.clone() }).await.expect_err("refused");
                assert_eq!(refused.kind, ProblemKind::Refused, "{purpose:?}: {refused}");
            }

            // After a restart the assignment is the same.
            let mirrors = (mirror(&world, KEY), mirror(&world, OTHER));
            let second = sandboxes(&world, &broker);
            let spec = PrepareSpec { repo_key: OTHER.to_owned(), ..in_container(&world, 4).await };
            second.of_tasks.prepare(&spec).await.expect("prepared");
            assert_eq!(bash(&second, 4, 1, "id -u").await, "10004\n");
            assert_eq!((mirror(&world, KEY), mirror(&world, OTHER)), mirrors, "no mirror was made anew");
            for task in 1..=4 {
                second.of_tasks.remove(task).await.expect("removed");
            }
            second.leave().await;
            first.leave().await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_containers_a_mirror_of_an_earlier_release_is_made_anew() {
    in_containers(
        "former",
        |_| {},
        |world, broker, _| async move {
            let broker = Arc::new(broker);
            let first = sandboxes(&world, &broker);
            first.of_tasks.prepare(&in_container(&world, 1).await).await.expect("prepared");
            let path = world.dir.path().join("real/mirrors.json");
            let text = std::fs::read_to_string(&path).expect("remembered");
            let old = mirror(&world, KEY).0;
            std::fs::write(&path, text.replace(",\"user\":10003", "")).expect("as an earlier release wrote it");
            let second = sandboxes(&world, &broker);
            second.of_tasks.prepare(&in_container(&world, 2).await).await.expect("prepared");
            assert_ne!(mirror(&world, KEY).0, old);
            // An existing sandbox keeps its user.
            let see =
                "git log --format=%s -1; git cat-file --batch-all-objects --batch-check | wc -l | grep -c -v '^0$'";
            assert_eq!(bash(&second, 1, 1, see).await, bash(&second, 2, 1, see).await);
            assert!(!broker.remove_mirror(&old).await.expect("asked"), "it has it");
            for task in [1, 2] {
                second.of_tasks.remove(task).await.expect("removed");
            }
            second.leave().await;
            assert!(broker.remove_mirror(&old).await.expect("asked"), "gone with the last sandbox that had it");
        },
    )
    .await;
}
