//! The runner as PID 1 of a real, hardened container: what only the kernel's isolation can show.
//! Needs Docker and the image `caisson-sandbox:local` (`compose/images/build.sh`); skipped with a message without them.

mod common;
#[path = "../../tests/support/skipped.rs"]
mod skipped;

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use common::{LIMITS, Runner, bash};
use protocol::runner::{Op, Status};
use skipped::skipped;

const IMAGE: &str = "caisson-sandbox:local";
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A container that is removed when the test ends, however it ends.
struct ContainerInfo {
    name: String,
    runner: Runner,
}

impl Drop for ContainerInfo {
    fn drop(&mut self) {
        let _ = docker(&["rm", "-f", &self.name]).output();
    }
}

fn docker(args: &[&str]) -> Command {
    let mut command = Command::new("docker");
    command.args(args).stdin(Stdio::null());
    command
}

fn container() -> Option<ContainerInfo> {
    if !docker(&["image", "inspect", IMAGE]).output().is_ok_and(|out| out.status.success()) {
        skipped("docker", &format!("Docker or the image {IMAGE} is missing"));
        return None;
    }
    let name = format!("caisson-runner-test-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let binary = format!("{}:/caisson-runner:ro", env!("CARGO_BIN_EXE_caisson-runner"));
    let mut command = docker(&["run", "-i", "--rm", "--name", &name, "--label", "caisson-runner-test", "-v", &binary]);
    command.args("--network none --cap-drop ALL --user 10003:10003 --read-only --log-driver none".split(' '));
    command.args("--security-opt no-new-privileges --pids-limit 40 --memory 96m --memory-swap 96m".split(' '));
    command.args(["--tmpfs", "/tmp:size=1m", "--tmpfs", "/workspace:size=8m,exec,uid=10003,gid=10003"]);
    command.args(["--entrypoint", "/caisson-runner", IMAGE]);
    let runner = Runner::start_as(command, tempfile::tempdir().expect("a directory"));
    Some(ContainerInfo { name, runner })
}

#[tokio::test]
async fn it_is_pid_one_and_no_child_looks_into_it() {
    let Some(container) = container() else { return };
    let (link, _) = container.runner.attach(1).await;
    let script = "cat /proc/1/comm; for f in environ mem maps; do (: < /proc/1/$f) 2>/dev/null || echo no $f; done; \
                  (: >> /proc/1/mem) 2>/dev/null || echo no write; ls /proc/1/fd/ 2>/dev/null || echo no fd; \
                  (sleep 0.01 &); sleep 0.3; ls -d /proc/[0-9]* | wc -l";
    let done = link.run(1, bash(script), LIMITS).await.expect("an outcome");
    // Left are PID 1 and bash, ls or wc, but no zombie of the orphan.
    assert!(done.text.starts_with("caisson-runner\nno environ\nno mem\nno maps\nno write\nno fd\n"), "{}", done.text);
    let count: u32 = done.text.lines().last().and_then(|line| line.parse().ok()).expect("a number");
    assert!(count <= 4, "{}", done.text);
}

#[tokio::test]
async fn memory_processes_and_space_are_told_apart() {
    let Some(container) = container() else { return };
    let (link, _) = container.runner.attach(1).await;
    let memory = link.run(1, bash("head -c 300000000 /dev/zero | tail"), LIMITS).await.expect("an outcome");
    assert!(memory.note.as_deref().is_some_and(|note| note.contains("lack of memory")), "{memory:?}");
    let bare = link.run(2, bash("exec tail /dev/zero"), LIMITS).await.expect("an outcome");
    assert_eq!(bare.status, Status::OutOfMemory, "{bare:?}");

    let full = link.run(3, bash("head -c 20000000 /dev/zero > big; exit 1"), LIMITS).await.expect("an outcome");
    assert_eq!(full.status, Status::DiskFull, "{full:?}");
    let write = Op::WriteFile { path: "new".to_owned(), content: "x".repeat(100_000) };
    assert_eq!(link.run(4, write, LIMITS).await.expect("an outcome").status, Status::DiskFull);
    let read = Op::ListFiles { path: String::new(), glob: None, depth: 0 };
    assert_eq!(link.run(5, read, LIMITS).await.expect("an outcome").text, "big\n");
    link.run(6, bash("rm big"), LIMITS).await.expect("an outcome");

    let forks = link.run(7, bash("for i in $(seq 100); do sleep 60 & done; exit 1"), LIMITS).await.expect("an outcome");
    assert_eq!(forks.status, Status::OutOfPids, "{forks:?}");
    // When no process can be started, the runner still answers, and still stops everything.
    let stuck = link.run(8, bash("true"), LIMITS).await.expect("an outcome");
    assert!(matches!(stuck.status, Status::OutOfPids | Status::Ok), "{stuck:?}");
    let quiesced = link.run(9, Op::Quiesce, LIMITS).await.expect("an outcome");
    assert_eq!(quiesced.status, Status::Ok, "{quiesced:?}");
    let left = link.run(10, bash("ls -d /proc/[0-9]* | wc -l"), LIMITS).await.expect("an outcome");
    assert!(left.text.trim().parse::<u32>().is_ok_and(|count| count <= 4), "{left:?}");
}

#[tokio::test]
async fn a_fork_bomb_is_stopped_and_the_runner_answers() {
    let Some(container) = container() else { return };
    let (link, _) = container.runner.attach(1).await;
    let bomb = link
        .run(1, bash("b() { b | b & }; b 2>/dev/null; sleep 1"), common::limits(5_000, 0))
        .await
        .expect("an outcome");
    assert!(!matches!(bomb.status, Status::Failed { .. }), "{bomb:?}");
    assert_eq!(link.run(2, Op::Quiesce, LIMITS).await.expect("an outcome").status, Status::Ok);
    assert_eq!(link.run(3, bash("echo on"), LIMITS).await.expect("an outcome").text, "on\n");
}

#[tokio::test]
async fn stopping_the_container_takes_no_grace_time() {
    let Some(container) = container() else { return };
    let (link, _) = container.runner.attach(1).await;
    link.run(1, bash("sleep 600 >/dev/null 2>&1 &"), LIMITS).await.expect("an outcome");
    let start = Instant::now();
    assert!(docker(&["stop", "-t", "60", &container.name]).output().expect("docker stop").status.success());
    assert!(start.elapsed() < Duration::from_secs(30), "it waited for the grace time");
}
