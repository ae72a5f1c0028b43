//! Ends every process of the sandbox except the runner.
//!
//! As PID 1, `kill(-1)` reaches exactly the processes of the sandbox. As a plain process (in tests) it would reach the whole machine, so
//! only descendants are killed, found through `/proc`.

use std::collections::{HashMap, HashSet};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::harden::is_init;

/// Kills all processes and gives how many were still there, including unreaped dead ones.
pub fn kill_all(seen: &mut HashSet<i32>) -> usize {
    let there = others();
    seen.extend(&there);
    if is_init() {
        // One sweep by the kernel, which no fork can escape; its answer counts, whatever `/proc` shows.
        let alone = kill(Pid::from_raw(-1), Signal::SIGKILL) == Err(Errno::ESRCH);
        return if alone { 0 } else { there.len().max(1) };
    }
    for &pid in &there {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
    there.len()
}

/// Every other process as PID 1 (one that entered the sandbox from outside has no parent in it), otherwise every descendant.
fn others() -> Vec<i32> {
    let own = std::process::id().cast_signed();
    let parents = processes();
    if is_init() {
        return parents.into_keys().filter(|&pid| pid != own).collect();
    }
    let below = |start: i32| {
        let mut at = start;
        // Limits the walk up the parents, because the table was not read in one instant and may hold a cycle.
        for _ in 0..parents.len() {
            match parents.get(&at) {
                Some(&parent) if parent == own => return true,
                Some(&parent) => at = parent,
                None => return false,
            }
        }
        false
    };
    parents.keys().copied().filter(|&pid| below(pid)).collect()
}

/// Each process and its parent.
fn processes() -> HashMap<i32, i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return HashMap::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| Some((pid, parent(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?))).collect()
}

/// The fourth field of a stat line; the second is a name in parentheses that may contain anything.
fn parent(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_hide_the_parent() {
        assert_eq!(parent("77 (a) b (c) S 12 77 77 0"), Some(12));
        assert_eq!(parent("nonsense"), None);
    }

    #[test]
    fn a_plain_process_never_counts_what_is_not_below_it() {
        assert!(!is_init());
        assert!(!others().contains(&1));
        assert!(!others().contains(&std::process::id().cast_signed()));
    }
}
