//! One raw system call with numeric arguments, for calls without a wrapper of which only the refusal is of interest.
//!
//! `unsafe` because a system call may do anything; these get no pointer but null, so they cannot touch this process's memory.
#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::libc::{self, c_long};
use protocol::probe::OPEN;

/// The error's name, or [`OPEN`] if it succeeded. A call that creates a process ends that process at once.
pub fn call(number: c_long, args: [c_long; 5]) -> String {
    let [a, b, c, d, e] = args;
    // SAFETY: numbers and null pointers only; the kernel answers what it would read or write through them with EFAULT.
    let result = unsafe { libc::syscall(number, a, b, c, d, e) };
    if result == -1 {
        return format!("{:?}", Errno::last());
    }
    if result == 0 && number == libc::SYS_clone {
        // SAFETY: this is the new process, and it only exits.
        unsafe { libc::_exit(0) };
    }
    OPEN.to_owned()
}
