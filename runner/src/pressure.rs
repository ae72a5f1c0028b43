//! Whether the kernel's limits were hit while a request ran: cgroup counters before and after it, and free space.
//!
//! Exit code 137 alone is ambiguous, and behind `sh -c` the code may be 0, hence the counters (v1 and v2 as seen in `/sys/fs/cgroup` of a
//! container: `memory/memory.oom_control`, `pids/pids.events`; `memory.events`, `pids.events`).

use std::path::Path;

use nix::sys::statvfs::statvfs;
use protocol::runner::Status;

use crate::children::Exit;

const OOM: [(&str, &str); 2] =
    [("/sys/fs/cgroup/memory.events", "oom_kill"), ("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill")];
const PIDS: [(&str, &str); 2] = [("/sys/fs/cgroup/pids.events", "max"), ("/sys/fs/cgroup/pids/pids.events", "max")];
/// Free space below this many bytes counts as none.
const FULL: u64 = 64 << 10;

/// The counters at one moment; `None` where the kernel has none.
#[derive(Debug, Clone, Copy)]
pub struct Pressure {
    oom: Option<u64>,
    pids: Option<u64>,
}

impl Pressure {
    pub fn now() -> Self {
        Self { oom: counter(&OOM), pids: counter(&PIDS) }
    }

    /// The status of a process that ended by itself, and a note for the model.
    pub fn judge(self, exit: Exit, text: &str, workspace: &Path) -> (Status, Option<String>) {
        let after = Self::now();
        let good = exit == Exit::Code(0);
        let plain = match exit {
            Exit::Code(0) => Status::Ok,
            Exit::Code(code) => Status::Exited { code },
            Exit::Signal(signal) => Status::Signaled { signal },
        };
        if rose(self.oom, after.oom) {
            let note = format!("the kernel killed a process of the sandbox for lack of memory ({})", say(exit));
            return (if good { plain } else { Status::OutOfMemory }, Some(note));
        }
        let refused = rose(self.pids, after.pids);
        if refused || (!good && text.contains("fork: ") && text.contains("Resource temporarily unavailable")) {
            let note = format!(
                "the sandbox may not start more processes ({}); end some that run in the background",
                say(exit)
            );
            return (if good { plain } else { Status::OutOfPids }, Some(note));
        }
        match full(workspace) {
            Some(what) if !good => (Status::DiskFull, Some(format!("{what} ({})", say(exit)))),
            Some(what) => (plain, Some(what)),
            None => (plain, None),
        }
    }
}

fn rose(before: Option<u64>, after: Option<u64>) -> bool {
    matches!((before, after), (Some(before), Some(after)) if after > before)
}

fn say(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("ended by signal {signal}"),
    }
}

fn counter(places: &[(&str, &str)]) -> Option<u64> {
    places.iter().find_map(|(path, name)| number(&std::fs::read_to_string(path).ok()?, name))
}

/// The value of one `name value` line.
fn number(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// A sentence if nothing more can be written to the workspace or to `/tmp`.
pub fn full(workspace: &Path) -> Option<String> {
    [workspace, Path::new("/tmp")].into_iter().find_map(|place| {
        let stat = statvfs(place).ok()?;
        if stat.blocks() == 0 {
            return None;
        }
        let bytes = stat.blocks_available().saturating_mul(stat.fragment_size());
        let files = stat.files() > 0 && stat.files_available() == 0;
        (bytes < FULL || files).then(|| {
            let what = if files { "files" } else { "space" };
            format!("no {what} left in {}: delete what is not needed", place.display())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_both_cgroup_versions_are_read() {
        assert_eq!(number("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "oom_kill"), Some(3));
        assert_eq!(number("low 0\nhigh 0\nmax 12\noom 1\noom_kill 2\noom_group_kill 0\n", "oom_kill"), Some(2));
        assert_eq!(number("max 85\n", "max"), Some(85));
        assert_eq!(number("", "max"), None);
    }

    #[test]
    fn a_refused_fork_is_told_from_a_plain_failure() {
        let before = Pressure { oom: None, pids: None };
        let text = "bash: fork: retry: Resource temporarily unavailable";
        let (status, note) = before.judge(Exit::Code(254), text, Path::new("/proc/self"));
        assert_eq!(status, Status::OutOfPids);
        assert!(note.is_some_and(|note| note.contains("exit code 254")));
    }
}
