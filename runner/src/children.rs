//! Starting processes, and waiting for every one that dies below us.
//!
//! PID 1 inherits every orphan, so one place waits for all; `tokio::process` would wait for its own behind our back and is not used.
//! `unsafe` for the few calls between fork and exec.
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
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getppid, setsid};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Raised for every child, so that the kernel, short of memory, picks it and not PID 1, whose death ends the sandbox.
const OOM_SCORE: &str = "400";
/// Descriptors from here on are out of the way of scripts.
const HIGH: i32 = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

/// A process that was started here and is the leader of its own group.
pub struct Child {
    group: Pid,
    /// Resolves when it has been waited for.
    pub exit: oneshot::Receiver<Exit>,
}

impl Child {
    /// The number of the process and of its group.
    pub fn group(&self) -> i32 {
        self.group.as_raw()
    }

    /// Only while `exit` is unresolved: afterwards the number may belong to somebody else.
    pub fn signal_group(&self, signal: Signal) {
        // A group that is gone already is what was wanted.
        let _ = killpg(self.group, signal);
    }
}

#[derive(Default)]
pub struct Children {
    waiting: Mutex<HashMap<Pid, oneshot::Sender<Exit>>>,
}

impl Children {
    /// Starts a process in a session of its own, with no descriptor but the three standard ones and `kept`, which dies with the runner.
    ///
    /// # Errors
    /// What fork or exec say: EAGAIN when no process may be added, ENOENT when there is no such program.
    pub fn spawn(&self, command: &mut Command, kept: Vec<OwnedFd>) -> io::Result<Child> {
        let parent = Pid::this();
        // SAFETY: only async-signal-safe calls, no allocation, between fork and exec.
        unsafe { command.pre_exec(move || set_apart(parent, &kept)) };
        // Held until the child is entered, so that it is not waited for before.
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        let group = Pid::from_raw(child.id().cast_signed());
        let (tell, exit) = oneshot::channel();
        waiting.insert(group, tell);
        // Best effort: without it PID 1 is as likely a victim as its children.
        let _ = std::fs::write(format!("/proc/{group}/oom_score_adj"), OOM_SCORE);
        Ok(Child { group, exit })
    }

    /// Waits for children and orphans as long as the runner lives.
    pub async fn reap(&self) -> anyhow::Result<()> {
        let mut died = signal(SignalKind::child())?;
        loop {
            self.reap_dead();
            died.recv().await;
        }
    }

    /// Waits for all that are dead already.
    pub fn reap_dead(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (pid, exit) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) => (pid, Exit::Code(code)),
                Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, Exit::Signal(signal as i32)),
                Ok(WaitStatus::StillAlive) | Err(_) => return,
                Ok(_) => continue,
            };
            if let Some(tell) = waiting.remove(&pid) {
                // The request may have been given up; an orphan has no one waiting at all.
                let _ = tell.send(exit);
            }
        }
    }
}

/// Another descriptor of the same file, whose number is far from those that scripts use; no child has it unless it is kept for it.
///
/// # Errors
/// Where the process may not have so many descriptors.
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
