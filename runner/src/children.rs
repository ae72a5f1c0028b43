//! Starts processes, and reaps every process that dies below the runner.
//!
//! PID 1 inherits every orphan, so one place waits for all; `tokio::process` would wait for its own children separately and is not used.
//! `unsafe` for the few calls between fork and exec, and for `waitpid`.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::libc;
use nix::sys::prctl;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, getppid, setsid};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// OOM score of every child, so that the kernel kills it rather than PID 1, whose death ends the sandbox.
const OOM_SCORE: &str = "400";
/// Descriptors from this number on do not collide with those that scripts use.
const HIGH: i32 = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

/// A process started here, which leads its own group.
pub struct Child {
    group: Pid,
    /// Resolves when the process was reaped.
    pub exit: oneshot::Receiver<Exit>,
}

impl Child {
    /// The number of the process and of its group.
    pub fn group(&self) -> i32 {
        self.group.as_raw()
    }

    /// Only while `exit` is unresolved or the group still has a member; afterwards the number may belong to another process.
    pub fn signal_group(&self, signal: Signal) {
        // It is no error if the group is already gone.
        let _ = killpg(self.group, signal);
    }

    /// Whether a process of the group is left, be it the leader or another one.
    pub fn has_members(&self) -> bool {
        killpg(self.group, None::<Signal>).is_ok()
    }
}

#[derive(Default)]
pub struct Children {
    waiting: Mutex<HashMap<Pid, oneshot::Sender<Exit>>>,
}

impl Children {
    /// Starts a process in its own session with only the three standard descriptors and `kept`; it dies with the runner.
    ///
    /// # Errors
    /// Errors of fork or exec: EAGAIN when no process may be added, ENOENT when there is no such program.
    pub fn spawn(&self, command: &mut Command, kept: Vec<OwnedFd>) -> io::Result<Child> {
        let parent = Pid::this();
        // SAFETY: only async-signal-safe calls, no allocation, between fork and exec.
        unsafe { command.pre_exec(move || set_apart(parent, &kept)) };
        // Locked until the child is entered, so that it is not reaped before.
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        let group = Pid::from_raw(child.id().cast_signed());
        let (tell, exit) = oneshot::channel();
        waiting.insert(group, tell);
        // Best effort: without it PID 1 is as likely to be killed as its children.
        let _ = std::fs::write(format!("/proc/{group}/oom_score_adj"), OOM_SCORE);
        Ok(Child { group, exit })
    }

    /// Reaps children and orphans as long as the runner lives.
    pub async fn reap(&self) -> anyhow::Result<()> {
        let mut died = signal(SignalKind::child())?;
        loop {
            self.reap_dead();
            died.recv().await;
        }
    }

    /// Reaps all processes that are already dead.
    pub fn reap_dead(&self) {
        self.reap_of(-1);
    }

    /// As [`Children::reap_dead`], of one group alone: tests of this program run at the same time, and wait for their own processes.
    #[cfg(test)]
    pub fn reap_group(&self, group: i32) {
        self.reap_of(-group);
    }

    /// `which` as `waitpid` takes it.
    fn reap_of(&self, which: i32) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((pid, exit)) = reap_one(which) {
            if let Some(tell) = waiting.remove(&pid) {
                // The request may have been given up, and nobody waits for an orphan.
                let _ = tell.send(exit);
            }
        }
    }
}

/// A child that is already dead, and how it ended; none if there is no such child.
fn reap_one(which: i32) -> Option<(Pid, Exit)> {
    let mut status = 0;
    // `nix` loses the end of a process by a real-time signal, which it has no name for.
    // SAFETY: the kernel writes one number, to a variable that lives longer than the call.
    let pid = unsafe { libc::waitpid(which, &raw mut status, libc::WNOHANG) };
    // Without further flags nothing but an end is reported.
    let exit = match libc::WIFEXITED(status) {
        true => Exit::Code(libc::WEXITSTATUS(status)),
        false => Exit::Signal(libc::WTERMSIG(status)),
    };
    (pid > 0).then_some((Pid::from_raw(pid), exit))
}

/// A duplicate of the descriptor with a high number and close-on-exec.
///
/// # Errors
/// When the process has reached its limit of descriptors.
pub fn high(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let number = fcntl(fd, FcntlArg::F_DUPFD_CLOEXEC(HIGH))?;
    // SAFETY: the kernel just made this number for us; nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Runs in the child, between fork and exec.
fn set_apart(parent: Pid, kept: &[OwnedFd]) -> io::Result<()> {
    setsid()?;
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    if getppid() != parent {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    // Close on exec, not now: the standard library reports a failed exec through a descriptor of its own.
    // SAFETY: a plain system call on descriptor numbers; it touches no memory.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    for fd in kept {
        fcntl(fd, FcntlArg::F_SETFD(FdFlag::empty()))?;
    }
    Ok(())
}
