//! Starts child processes from one thread that lives as long as the process.
//!
//! Owns: the parent-death signal (a push must not outlive a killed bot and run beside its successor), the child's own
//! process group, its limits of processor time, of memory and of what it writes to a file. The kernel sends the signal when the *thread* that started the
//! child ends, so children are never started from a worker thread that a runtime may retire. Must not know what the child does.
//!
//! Signal and limits are set by `setpriv` (util-linux) and `sh`, which become the child: a program that sets them itself between fork and
//! exec copies the page tables of the whole bot for each child, and has every thread fault on what it writes next.
//! Tests: at the end of this file; `run.rs` (time-outs end the whole group).

use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Its words: the parent's process id, seconds of processor time or nothing, 512-byte blocks of the largest file or nothing (the unit of
/// POSIX, in dash and in bash as `sh`), KiB of memory or nothing, then the program and its words. The signal is set when it begins; with another parent by then, the
/// bot was gone before. A write beyond the limit is an error that the program reports, because the signal for it is ignored.
const BEGIN: &str = r#"[ "$PPID" = "$1" ] && ulimit -c 0 || exit 125
if [ -n "$2" ]; then ulimit -S -t "$2" && ulimit -H -t "$(($2 + 1))" || exit 125; fi
if [ -n "$3" ]; then trap '' XFSZ && ulimit -f "$3" || exit 125; fi
if [ -n "$4" ]; then ulimit -v "$4" || exit 125; fi
shift 4; exec "$@""#;

/// Exit codes that say that the program could not be started: [`BEGIN`]'s own, and the shell's. git itself ends with none of them.
pub(super) const NOT_STARTED: RangeInclusive<i32> = 125..=127;

struct Order {
    command: Command,
    runtime: Handle,
    answer: oneshot::Sender<io::Result<Child>>,
}

/// What a child may take; without a number, as much as there is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ChildLimits {
    /// Processor time, in whole seconds, at least one.
    pub cpu: Option<Duration>,
    /// Bytes of each file that it or its children write, in whole blocks of 512, at least one.
    pub file_bytes: Option<u64>,
    /// Bytes of memory, mapped files among them, in whole KiB.
    pub memory: Option<u64>,
}

/// A command that runs `program`, to which words, variables and pipes are added. Started by [`spawn`] it ends with this process, and has these
/// limits.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if there is no such program, or none of those that start it.
pub(super) fn command(program: &str, limits: ChildLimits) -> io::Result<Command> {
    let part = |name: &str| found(name).ok_or(io::ErrorKind::NotFound);
    let program = part(program)?;
    // By its path: only so the standard library starts it without a fork.
    let mut command = Command::new(part("setpriv")?);
    let word = |limit: Option<u64>| limit.map(|limit| limit.to_string()).unwrap_or_default();
    command.args(["--pdeathsig", "KILL"]).arg(part("sh")?).args(["-c", BEGIN, "sh"]);
    command.arg(std::process::id().to_string()).arg(word(limits.cpu.map(|time| time.as_secs().max(1))));
    command.arg(word(limits.file_bytes.map(|bytes| (bytes / 512).max(1))));
    command.arg(word(limits.memory.map(|bytes| bytes / 1024))).arg(program);
    Ok(command)
}

/// The program of this name that `PATH` finds.
fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let runs = |at: &PathBuf| {
        at.is_absolute() && at.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(runs)
}

/// Starts a command of [`command`] in its own process group.
pub(super) async fn spawn(command: Command) -> io::Result<Child> {
    let (answer, started) = oneshot::channel();
    let order = Order { command, runtime: Handle::current(), answer };
    let lost = || io::Error::other("the thread that starts processes is gone");
    thread()?.send(order).map_err(|_| lost())?;
    started.await.map_err(|_| lost())?
}

fn thread() -> io::Result<&'static Sender<Order>> {
    static ORDERS: OnceLock<Sender<Order>> = OnceLock::new();
    if let Some(orders) = ORDERS.get() {
        return Ok(orders);
    }
    let (sender, receiver) = channel::<Order>();
    std::thread::Builder::new().name("git-spawner".to_owned()).spawn(move || {
        for order in receiver {
            // All callers need this thread, so a panic must affect only one order.
            let begin = AssertUnwindSafe(|| start(order.command, &order.runtime));
            let child = catch_unwind(begin).unwrap_or_else(|_| Err(io::Error::other("starting a process panicked")));
            // The caller may have been cancelled; the child is then dropped here and killed by `kill_on_drop`.
            drop(order.answer.send(child));
        }
    })?;
    // If another caller was faster its thread stays, and this one ends with its sender.
    Ok(ORDERS.get_or_init(|| sender))
}

fn start(mut command: Command, runtime: &Handle) -> io::Result<Child> {
    command.process_group(0).kill_on_drop(true);
    let _inside = runtime.enter();
    command.spawn()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    /// The child's words as `sh` runs them, to its end.
    async fn run(cpu: Option<u64>, script: &str) -> (Option<i32>, Option<i32>, String) {
        run_within(ChildLimits { cpu: cpu.map(Duration::from_secs), ..ChildLimits::default() }, script).await
    }

    async fn run_within(limits: ChildLimits, script: &str) -> (Option<i32>, Option<i32>, String) {
        let mut command = command("sh", limits).expect("installed");
        command.args(["-c", script, "a word", "an odd 'word"]).stdout(Stdio::piped());
        let done = spawn(command).await.expect("started").wait_with_output().await.expect("ended");
        (done.status.code(), done.status.signal(), String::from_utf8(done.stdout).expect("text"))
    }

    #[tokio::test]
    async fn a_child_has_its_words_limits_group_and_the_signal_that_ends_it_with_us() {
        let shown = r#"echo "$0|$1|$(ulimit -c)|$(ulimit -S -t)|$(ulimit -H -t)|$(cut -d' ' -f5 /proc/$$/stat)|$$""#;
        let (code, _, text) = run(Some(7), shown).await;
        let parts: Vec<&str> = text.trim().split('|').collect();
        assert_eq!((code, &parts[..5]), (Some(0), &["a word", "an odd 'word", "0", "7", "8"][..]), "{text}");
        assert_eq!(parts[5], parts[6], "a group of its own");
        assert_eq!(run(None, "ulimit -S -t").await.2, "unlimited\n");
        assert_eq!(run(None, "exit 3").await.0, Some(3));
    }

    #[tokio::test]
    async fn a_child_that_computes_for_too_long_is_ended() {
        let (code, signal, _) = run(Some(1), "while :; do :; done").await;
        assert_eq!((code, signal), (None, Some(nix::libc::SIGXCPU)));
    }

    #[tokio::test]
    async fn a_file_beyond_the_limit_is_an_error_of_who_writes_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file").display().to_string();
        let script = format!("head -c 9000 /dev/zero >'{file}' 2>/dev/null; echo $?; wc -c <'{file}'");
        let limits = ChildLimits { file_bytes: Some(4096), ..ChildLimits::default() };
        let (code, _, text) = run_within(limits, &script).await;
        assert_eq!((code, text.split_whitespace().collect::<Vec<_>>()), (Some(0), vec!["1", "4096"]));
        assert_eq!(run(None, "ulimit -f").await.2, "unlimited\n");
        let limits = ChildLimits { memory: Some(1 << 30), ..ChildLimits::default() };
        assert_eq!(run_within(limits, "ulimit -v").await.2, "1048576\n");
    }

    /// As where the bot was killed before the signal was set.
    #[tokio::test]
    async fn a_child_of_another_parent_begins_nothing() {
        let other = std::process::id().wrapping_add(1).to_string();
        let mut done = std::process::Command::new("sh");
        let done = done.args(["-c", BEGIN, "sh", &other, "", "", "", "echo", "begun"]);
        let done = done.output().expect("run");
        assert_eq!((done.status.code(), done.stdout), (Some(125), Vec::new()));
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_told_from_one_that_fails() {
        let none = command("caisson-is-no-program", ChildLimits::default()).map(drop);
        assert_eq!(none.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    /// A process that starts one, and is killed: what it started ends too.
    #[test]
    fn what_was_started_ends_with_who_started_it() {
        let inner = r#"setpriv --pdeathsig KILL sh -c "$BEGIN" sh $$ '' '' '' sleep 60 & echo $!; wait"#;
        let mut outer = std::process::Command::new("sh");
        let mut outer = outer.args(["-c", inner]).env("BEGIN", BEGIN).stdout(Stdio::piped()).spawn().expect("started");
        let mut line = String::new();
        let out = outer.stdout.take().expect("piped");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("read");
        let child = line.trim().to_owned();
        // Of one that nobody has reaped yet, the state is Z.
        let named = || {
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            let mut parts = stat.split(' ').skip(1);
            let name = parts.next().unwrap_or_default().to_owned();
            if parts.next() == Some("Z") { String::new() } else { name }
        };
        let end = std::time::Instant::now() + Duration::from_secs(20);
        while named() != "(sleep)" && std::time::Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(named(), "(sleep)");
        outer.kill().expect("killed");
        outer.wait().expect("reaped");
        while named() == "(sleep)" && std::time::Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_ne!(named(), "(sleep)", "it outlived who started it");
    }
}
