//! Processes: their output, how they end, and that none survives a Quiesce.

mod common;
#[path = "../../tests/support/skipped.rs"]
mod skipped;

use std::time::{Duration, Instant};

use common::{LIMITS, Runner, bash, eventually, exec, limits};
use protocol::runner::{Op, Status};
use skipped::skipped;

#[tokio::test]
async fn bash_runs_in_the_workspace_and_both_outputs_are_one_text() {
    let runner = Runner::start();
    let (link, welcome) = runner.attach(1).await;
    assert_eq!((welcome.boot.len(), welcome.runner.len()), (32, 64));
    let done = link.run(1, bash("pwd; echo problem >&2; cat; exit 3"), LIMITS).await.expect("an outcome");
    assert_eq!(done.status, Status::Exited { code: 3 });
    assert_eq!(done.text, format!("{}\nproblem\n", runner.workspace().display()));
    assert_eq!((done.dropped_bytes, done.note), (0, None));
    let done = link.run(2, bash("kill -9 $$"), LIMITS).await.expect("an outcome");
    assert_eq!(done.status, Status::Signaled { signal: 9 });
    // A real-time signal, which has no name.
    let done = link.run(3, bash("kill -34 $$"), LIMITS).await.expect("an outcome");
    assert_eq!(done.status, Status::Signaled { signal: 34 });
    let done = link.run(4, exec(&["no-such-program"], false, false), LIMITS).await.expect("an outcome");
    assert_eq!(done.status, Status::Failed { reason: "no such program: no-such-program".to_owned() });
}

#[tokio::test]
async fn exec_takes_its_environment_and_its_directory() {
    let runner = Runner::start();
    runner.write("sub/file", "");
    let (link, _) = runner.attach(1).await;
    let op = |cwd: &str| Op::Exec {
        argv: ["sh", "-c", "echo $WORD; ls"].map(str::to_owned).to_vec(),
        env: vec![("WORD".to_owned(), "given".to_owned())],
        cwd: cwd.to_owned(),
        input: false,
        output: false,
    };
    assert_eq!(link.run(1, op("sub"), LIMITS).await.expect("an outcome").text, "given\nfile\n");
    let lost = link.run(2, op("nowhere"), LIMITS).await.expect("an outcome");
    assert!(matches!(lost.status, Status::Failed { reason } if reason.starts_with("no such directory")));
}

#[tokio::test]
async fn a_child_has_three_descriptors_its_own_session_and_nothing_of_the_runner() {
    let runner = Runner::start();
    let (link, _) = runner.attach(1).await;
    let script = "ls /proc/self/fd | tr '\\n' ' '; readlink /proc/self/fd/0; echo $(cat /proc/$$/oom_score_adj) \
                  $(ps -o sid= -p $$) $$; cat /proc/$PPID/environ >/dev/null || echo unreadable; ls /proc/$PPID/fd || echo closed";
    let done = link.run(1, bash(script), LIMITS).await.expect("an outcome");
    let lines: Vec<_> = done.text.lines().collect();
    // The fourth is ls's own, for the listed directory.
    assert_eq!(lines[0], "0 1 2 3 /dev/null");
    let words: Vec<_> = lines[1].split(' ').collect();
    assert_eq!(words[0], "400");
    assert_eq!(words[1], words[2]);
    if nix::unistd::geteuid().is_root() {
        skipped("unprivileged", "root reads every process, dumpable or not: that PID 1 cannot be read was not tried");
    } else {
        assert!(done.text.contains("unreadable") && done.text.contains("closed"), "{}", done.text);
    }
}

#[tokio::test]
async fn the_wall_clock_ends_the_group_even_if_it_ignores_sigterm() {
    let runner = Runner::start();
    let (link, _) = runner.attach(1).await;
    let start = Instant::now();
    let script = "trap '' TERM; (trap '' TERM; sleep 600) & echo $! > pid; echo begun; sleep 600";
    let done = link.run(1, bash(script), limits(300, 0)).await.expect("an outcome");
    assert_eq!(done.status, Status::TimedOut);
    assert_eq!(done.text, "begun\n");
    assert!(start.elapsed() < Duration::from_secs(300), "it waited for the sleep to end");
    let pid = runner.read("pid");
    eventually("the end of the group", || !std::path::Path::new(&format!("/proc/{}", pid.trim())).exists());
}

#[tokio::test]
async fn the_wall_clock_ends_the_group_even_if_its_leader_ends_first() {
    let runner = Runner::start();
    let (link, _) = runner.attach(1).await;
    // The shell dies of SIGTERM at once; its child does not, and one in a session of its own is only told of.
    let script = "(trap '' TERM; echo $BASHPID > deaf; exec sleep 600) & setsid sleep 601 & \
                  until [ -s deaf ]; do sleep 0.01; done; echo begun; sleep 600";
    let done = link.run(1, bash(script), limits(2_000, 0)).await.expect("an outcome");
    assert_eq!((done.status, done.text.as_str()), (Status::TimedOut, "begun\n"));
    let note = done.note.expect("a note");
    assert!(note.starts_with("ended after 2000 ms; it left processes in the background"), "{note}");
    let pid = runner.read("deaf");
    eventually("the end of the group", || !std::path::Path::new(&format!("/proc/{}", pid.trim())).exists());
}

#[tokio::test]
async fn a_flood_keeps_its_head_and_its_tail() {
    let runner = Runner::start();
    let (link, _) = runner.attach(1).await;
    let script = "echo first; head -c 30000000 /dev/zero | tr '\\0' x; echo; echo last";
    let done = link.run(1, bash(script), limits(20_000, 10_000)).await.expect("an outcome");
    assert_eq!(done.status, Status::Ok);
    assert!(done.text.starts_with("first\nxxx") && done.text.ends_with("x\nlast\n"));
    assert!(done.text.len() <= 10_000);
    assert!(done.dropped_bytes > 29_900_000);
    assert!(done.text.contains(&format!("[... {} bytes left out ...]", done.dropped_bytes)));
}

#[tokio::test]
async fn cancel_ends_a_request() {
    let runner = Runner::start();
    let (link, _) = runner.attach(1).await;
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        link.cancel(1).await;
    };
    let (done, ()) = tokio::join!(link.run(1, bash("echo here; sleep 600"), LIMITS), cancel);
    let done = done.expect("an outcome");
    assert_eq!((done.status, done.text.as_str()), (Status::Cancelled, "here\n"));
}

#[tokio::test]
async fn quiesce_leaves_no_process_whatever_it_did_to_hide() {
    let runner = Runner::start();
    let (link, _) = runner.attach(1).await;
    // A double-forked daemon, one in a session of its own, and one that ignores SIGTERM; all write to a file.
    let tick = "while :; do echo tick >> $0; sleep 0.02; done";
    let script = format!(
        "( (sh -c '{tick}' a &) ); setsid sh -c '{tick}' b >/dev/null 2>&1 & trap '' TERM; nohup sh -c '{tick}' c >/dev/null 2>&1 & \
         while ! [ -s a -a -s b -a -s c ]; do sleep 0.02; done; echo up"
    );
    let done = link.run(1, bash(&script), LIMITS).await.expect("an outcome");
    assert_eq!(done.text, "up\n");
    assert!(done.note.is_some_and(|note| note.contains("background")));
    let hanging = link.run(2, bash("sleep 600"), LIMITS);
    let quiesce = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        link.run(3, Op::Quiesce, LIMITS).await
    };
    let (hanging, quiesced) = tokio::join!(hanging, quiesce);
    assert_eq!(quiesced.expect("an outcome").status, Status::Ok);
    assert_eq!(hanging.expect("an outcome").status, Status::Cancelled);
    let sizes = || ["a", "b", "c"].map(|name| runner.read(name).len());
    let before = sizes();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(sizes(), before);
    // It can still be used.
    assert_eq!(link.run(4, bash("echo on"), LIMITS).await.expect("an outcome").text, "on\n");
}

#[tokio::test]
async fn quiesce_ends_a_small_fork_bomb() {
    let runner = Runner::start();
    let (link, _) = runner.attach(1).await;
    // A tree of processes that replace each other for ever.
    let script =
        "f() { [ $1 -gt 4 ] && sleep 600; f $(($1+1)) & f $(($1+1)) & wait; }; f 0 >/dev/null 2>&1 & sleep 0.1";
    link.run(1, bash(script), LIMITS).await.expect("an outcome");
    let done = link.run(2, Op::Quiesce, LIMITS).await.expect("an outcome");
    assert_eq!(done.status, Status::Ok, "{}", done.text);
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", runner.pid())).expect("children");
    assert_eq!(children.trim(), "");
}

#[tokio::test]
async fn orphans_are_waited_for() {
    let runner = Runner::start();
    let (link, _) = runner.attach(1).await;
    link.run(1, bash("for i in 1 2 3 4 5; do (sleep 0.05 &) ; done"), LIMITS).await.expect("an outcome");
    let zombies = || {
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", runner.pid())).expect("children");
        children.split_whitespace().count()
    };
    eventually("the end of the orphans", || zombies() == 0);
}

#[test]
fn sigterm_ends_it_at_once_and_hold_too() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    let mut runner = Runner::start();
    let mut raw = runner.raw();
    raw.hello(1);
    raw.next();
    raw.run(1, 1, "sleep 600");
    kill(Pid::from_raw(runner.pid().cast_signed()), Signal::SIGTERM).expect("a signal");
    assert!(runner.wait().success());

    let mut hold = std::process::Command::new(env!("CARGO_BIN_EXE_caisson-runner")).arg("hold").spawn().expect("hold");
    eventually("a handler for SIGTERM", || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", hold.id())).expect("a status");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("signals caught");
        u64::from_str_radix(caught.trim(), 16).expect("a number") & (1 << (Signal::SIGTERM as u32 - 1)) != 0
    });
    assert!(hold.try_wait().expect("a state").is_none());
    kill(Pid::from_raw(hold.id().cast_signed()), Signal::SIGTERM).expect("a signal");
    assert!(hold.wait().expect("its end").success());
}

#[test]
fn it_says_its_version() {
    let out =
        std::process::Command::new(env!("CARGO_BIN_EXE_caisson-runner")).arg("--version").output().expect("output");
    assert!(String::from_utf8_lossy(&out.stdout).starts_with("caisson-runner 0."));
}
