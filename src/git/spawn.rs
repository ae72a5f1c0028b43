#![allow(unsafe_code)] // `pre_exec` is the only way to set a parent-death signal and limits between fork and exec.
//! Starts child processes from one thread that lives as long as the process.
//!
//! Owns: the parent-death signal (a push must not outlive a killed bot and run beside its successor), the child's own
//! process group and its CPU limit. The kernel sends the signal when the *thread* that forked ends, so children are
//! never started from a worker thread that a runtime may retire. Must not know what the child does.
//! Tests: `run.rs` (time-outs end the whole group).

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

struct Order {
    command: Command,
    cpu: Option<Duration>,
    runtime: Handle,
    answer: oneshot::Sender<io::Result<Child>>,
}

/// Starts `command` in its own process group; it ends with this process, and after `cpu` of processor time.
pub(super) async fn spawn(command: Command, cpu: Option<Duration>) -> io::Result<Child> {
    let (answer, started) = oneshot::channel();
    let order = Order { command, cpu, runtime: Handle::current(), answer };
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
            let begin = AssertUnwindSafe(|| start(order.command, order.cpu, &order.runtime));
            let child = catch_unwind(begin).unwrap_or_else(|_| Err(io::Error::other("starting a process panicked")));
            // The caller may have been cancelled; the child is then dropped here and killed by `kill_on_drop`.
            drop(order.answer.send(child));
        }
    })?;
    // If another caller was faster its thread stays, and this one ends with its sender.
    Ok(ORDERS.get_or_init(|| sender))
}

fn start(mut command: Command, cpu: Option<Duration>, runtime: &Handle) -> io::Result<Child> {
    let parent = nix::unistd::getpid();
    command.process_group(0).kill_on_drop(true);
    // SAFETY: only async-signal-safe system calls between fork and exec; nothing allocates.
    unsafe {
        command.pre_exec(move || {
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            if nix::unistd::getppid() != parent {
                return Err(io::Error::from_raw_os_error(nix::libc::ESRCH));
            }
            if let Some(limit) = cpu {
                setrlimit(Resource::RLIMIT_CPU, limit.as_secs().max(1), limit.as_secs().max(1) + 1)?;
            }
            setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
            Ok(())
        });
    }
    let _inside = runtime.enter();
    command.spawn()
}
