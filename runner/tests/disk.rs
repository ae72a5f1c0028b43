//! The watchdog over a workspace on disk, with a real directory and small budgets.

mod common;
#[path = "../../tests/support/skipped.rs"]
mod skipped;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{LIMITS, Runner, bash};
use protocol::runner::{Op, Status};
use skipped::skipped;

fn runner(disk: &str) -> Runner {
    layered(disk, None)
}

/// `layer`: a directory beside the workspace, which then counts as a layer.
fn layered(disk: &str, layer: Option<&str>) -> Runner {
    runner_in(tempfile::tempdir().expect("a directory"), disk, layer)
}

fn runner_in(dir: tempfile::TempDir, disk: &str, layer: Option<&str>) -> Runner {
    let mut command = Command::new(env!("CARGO_BIN_EXE_caisson-runner"));
    for (variable, name) in [("CAISSON_WORKSPACE", Some("workspace")), ("CAISSON_LAYER", layer)] {
        if let Some(name) = name {
            std::fs::create_dir(dir.path().join(name)).expect("made");
            command.env(variable, dir.path().join(name));
        }
    }
    std::fs::create_dir(dir.path().join("home")).expect("made");
    command.env("CAISSON_DISK", disk).env("CAISSON_DISK_HOME", dir.path().join("home"));
    Runner::start_as(command, dir)
}

fn spent(status: &Status) -> &str {
    match status {
        Status::DiskSpent { what } => what,
        other => panic!("it took too much: {other:?}"),
    }
}

#[tokio::test]
async fn what_grows_past_its_budget_is_killed_and_what_deletes_is_not() {
    let runner = runner(&format!("{}:0", 8 << 20));
    let (link, welcome) = runner.attach(1).await;
    assert_eq!(welcome.lacks, None);
    let small = link.run(1, bash("head -c 3M /dev/zero >small"), LIMITS).await.expect("an outcome");
    assert_eq!(small.status, Status::Ok, "{small:?}");
    // Also a process in a session of its own.
    let script = "echo on its way; setsid sleep 1234 & head -c 64M /dev/zero >big; sleep 60";
    let big = link.run(2, bash(script), LIMITS).await.expect("an outcome");
    let said = spent(&big.status);
    assert!(said.contains("8 MiB") && said.contains("sandbox.disk_mib"), "{said}");
    assert_eq!(big.text, "on its way\n", "what it said is kept");
    let mended = link.run(3, bash("pgrep -f 'sleep 123[4]'; rm big && sleep 1"), LIMITS).await.expect("an outcome");
    assert_eq!((mended.status, mended.text.as_str()), (Status::Ok, ""), "nothing runs on, and deleting goes on");
    let again = link.run(4, bash("head -c 3M /dev/zero >other"), LIMITS).await.expect("an outcome");
    assert_eq!(again.status, Status::Ok, "within the budget again");
}

#[tokio::test]
async fn the_home_counts_with_the_workspace() {
    let runner = runner(&format!("{}:0", 8 << 20));
    let (link, _) = runner.attach(1).await;
    let half = link.run(1, bash("head -c 5M /dev/zero >$CAISSON_DISK_HOME/half"), LIMITS).await.expect("an outcome");
    assert_eq!(half.status, Status::Ok, "{half:?}");
    let both = link.run(2, bash("head -c 5M /dev/zero >half; sleep 60"), LIMITS).await.expect("an outcome");
    assert!(spent(&both.status).contains("8 MiB"), "{both:?}");
    let deleted = "rm $CAISSON_DISK_HOME/half; exec 3>$CAISSON_DISK_HOME/gone; rm $CAISSON_DISK_HOME/gone; head -c 64M /dev/zero >&3; sleep 60";
    let unseen = link.run(3, bash(deleted), LIMITS).await.expect("an outcome");
    assert!(spent(&unseen.status).contains("8 MiB"), "{unseen:?}");
}

#[tokio::test]
async fn what_lies_there_at_a_new_boot_counts_and_may_only_shrink() {
    let runner = runner(&format!("{}:0", 8 << 20));
    std::fs::write(runner.workspace().join("before"), vec![1; 32 << 20]).expect("written");
    let (link, _) = runner.attach(1).await;
    assert_eq!(link.run(1, bash("sleep 1; echo >little"), LIMITS).await.expect("an outcome").status, Status::Ok);
    let more = link.run(2, bash("head -c 16M /dev/zero >more; sleep 60"), LIMITS).await.expect("an outcome");
    assert!(spent(&more.status).contains("8 MiB"), "{more:?}");
    assert_eq!(link.run(3, bash("rm before more; sleep 1"), LIMITS).await.expect("an outcome").status, Status::Ok);
    let within = link.run(4, bash("head -c 4M /dev/zero >other; sleep 1"), LIMITS).await.expect("an outcome");
    assert_eq!(within.status, Status::Ok, "there is room again");
}

#[tokio::test]
async fn a_file_that_was_deleted_and_is_still_open_counts() {
    let runner = runner(&format!("{}:0", 8 << 20));
    let (link, _) = runner.attach(1).await;
    let script = "exec 3>gone; rm gone; head -c 64M /dev/zero >&3; sleep 60";
    let unseen = link.run(1, bash(script), LIMITS).await.expect("an outcome");
    assert!(spent(&unseen.status).contains("8 MiB"), "{unseen:?}");
    assert_eq!(
        link.run(2, bash("sleep 1"), LIMITS).await.expect("an outcome").status,
        Status::Ok,
        "it went with its process"
    );
}

#[tokio::test]
async fn of_a_layered_workspace_its_layer_counts_alone() {
    let runner = layered(&format!("{}:0", 8 << 20), Some("layer"));
    std::fs::write(runner.workspace().join("of-the-tree"), vec![1; 32 << 20]).expect("written");
    let (link, _) = runner.attach(1).await;
    let beside = link.run(1, bash("head -c 16M /dev/zero >shared; sleep 1"), LIMITS).await.expect("an outcome");
    assert_eq!(beside.status, Status::Ok);
    let own = link.run(2, bash("head -c 16M /dev/zero >../layer/own; sleep 60"), LIMITS).await.expect("an outcome");
    assert!(spent(&own.status).contains("8 MiB"), "{own:?}");
}

#[tokio::test]
async fn a_command_that_is_over_before_anybody_looked_is_told_all_the_same() {
    let runner = runner(&format!("{}:0", 4 << 20));
    let (link, _) = runner.attach(1).await;
    assert_eq!(link.run(1, bash("true"), LIMITS).await.expect("an outcome").status, Status::Ok);
    let quick = link.run(2, bash("head -c 24M /dev/zero >big; sync big"), LIMITS).await.expect("an outcome");
    // On a disk to which others write, it may be reported with the next command instead.
    let told = match quick.status {
        Status::Ok => link.run(3, bash("true"), LIMITS).await.expect("an outcome").status,
        status => status,
    };
    assert!(spent(&told).contains("4 MiB"));
    assert_eq!(link.run(4, bash("rm big"), LIMITS).await.expect("an outcome").status, Status::Ok);
}

#[tokio::test]
async fn what_an_action_leaves_behind_is_watched_too() {
    let runner = runner(&format!("{}:0", 4 << 20));
    let (link, _) = runner.attach(1).await;
    let script = "(sleep 0.3; head -c 96M /dev/zero >big; sleep 60) >/dev/null 2>&1 &";
    assert_eq!(link.run(1, bash(script), LIMITS).await.expect("an outcome").status, Status::Ok);
    let end = Instant::now() + Duration::from_secs(30);
    while size(&runner.workspace().join("big")) < 96 << 20 && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // While no command runs it is looked at now and then, so a few commands may still pass.
    let mut id = 2;
    let status = loop {
        let next = link.run(id, bash("sleep 0.1"), LIMITS).await.expect("an outcome");
        id += 1;
        if next.status != Status::Ok || Instant::now() >= end {
            break next.status;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    assert!(spent(&status).contains("4 MiB"), "{status:?}");
    assert_eq!(link.run(id, bash("rm big"), LIMITS).await.expect("an outcome").status, Status::Ok);
}

#[tokio::test]
async fn files_that_are_written_count_without_any_command() {
    let runner = runner(&format!("{}:0", 4 << 20));
    let (link, _) = runner.attach(1).await;
    let mut written = 0;
    let status = loop {
        let op = Op::WriteFile { path: format!("part{written}"), content: "x".repeat(900_000) };
        written += 1;
        match link.run(written, op, LIMITS).await.expect("an outcome").status {
            Status::Ok if written < 40 => {}
            status => break status,
        }
    };
    assert!(spent(&status).contains("4 MiB") && written > 4, "{written}: {status:?}");
    assert_eq!(link.run(99, bash("rm part*"), LIMITS).await.expect("an outcome").status, Status::Ok);
}

/// A mounted file system of the test.
struct Mounted(std::path::PathBuf);

impl Mounted {
    fn with(dir: &Path, options: &str) -> Option<Mounted> {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "caisson-test"]).arg(dir).status();
        if mounted.is_ok_and(|it| it.success()) {
            return Some(Mounted(dir.to_owned()));
        }
        skipped("root", "a file system with few inodes cannot be mounted here");
        None
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test]
async fn empty_files_take_inodes_and_those_are_held_to_budget_and_floor() {
    // 64 MiB and 2,048 inodes: each inode counts as 32 KiB, so a budget of 8 MiB is 256 of them and a floor of 56 MiB is 1,792.
    let (budget, floor) = (format!("{}:0", 8 << 20), format!("0:{}", 56 << 20));
    for (disk, words) in [(budget, "sandbox.disk_mib"), (floor, "sandbox.disk_floor_mib")] {
        let dir = tempfile::tempdir().expect("a directory");
        let Some(mounted) = Mounted::with(dir.path(), "size=64m,nr_inodes=2048") else { return };
        let runner = runner_in(dir, &disk, None);
        let (link, _) = runner.attach(1).await;
        let few = link.run(1, bash("for n in $(seq 100); do : >few$n; done"), LIMITS).await.expect("an outcome");
        assert_eq!(few.status, Status::Ok, "{few:?}");
        let script = "n=0; while : >many$n; do n=$((n + 1)); [ $((n % 5)) = 0 ] && sleep 0.05; done; sleep 60";
        let many = link.run(2, bash(script), LIMITS).await.expect("an outcome");
        let said = spent(&many.status);
        assert!(said.contains(words) && said.contains("inode"), "{said}");
        let stat = nix::sys::statvfs::statvfs(&mounted.0).expect("asked");
        assert!(stat.files_free() > 500, "neighbours have inodes left: {}", stat.files_free());
        assert_eq!(link.run(3, bash("rm many*; sleep 1"), LIMITS).await.expect("an outcome").status, Status::Ok);
        drop(runner);
    }
}

fn size(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |found| found.len())
}

#[tokio::test]
async fn under_the_floor_nothing_begins_and_nothing_grows_not_even_unseen() {
    let runner = runner(&format!("0:{}", 1_u64 << 60));
    let (link, welcome) = runner.attach(1).await;
    assert!(welcome.lacks.is_some_and(|lacks| lacks.contains("to stay free")), "told before anything runs");
    assert_eq!(link.run(1, bash("true"), LIMITS).await.expect("an outcome").status, Status::Ok, "it takes nothing");
    let grows = link.run(2, bash("head -c 8M /dev/zero >some; sleep 60"), LIMITS).await.expect("an outcome");
    assert!(spent(&grows.status).contains("sandbox.disk_floor_mib"));
    let script = "exec 3>gone; rm gone; head -c 192M /dev/zero >&3; sync; sleep 60";
    let unseen = link.run(3, bash(script), LIMITS).await.expect("an outcome");
    assert!(spent(&unseen.status).contains("left"), "no file shows what it took");
    let read = Op::ListFiles { path: String::new(), glob: None, depth: 0 };
    assert_eq!(link.run(4, read, LIMITS).await.expect("an outcome").text, "some\n");
}

#[test]
fn a_word_that_cannot_be_read_is_no_limit_that_is_silently_missing() {
    let mut runner = runner("lots");
    assert!(!runner.wait().success());
}
