//! Limits of the sandbox as the kernel reports them: cgroup v1 or v2, the process's own, and sizes of writable mounts.

use std::fs::read_to_string;

use nix::sys::resource::{Resource, getrlimit};
use nix::sys::statvfs::statvfs;
use protocol::probe::Finding;

const CGROUP: &str = "/sys/fs/cgroup";

pub fn look(out: &mut Vec<Finding>) {
    let mut tell = |what: &str, seen: String| out.push(Finding::new(23, what, seen));
    let unified = std::path::Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    tell("processes", first(if unified { &["pids.max"] } else { &["pids/pids.max"] }));
    tell("memory", first(if unified { &["memory.max"] } else { &["memory/memory.limit_in_bytes"] }));
    tell("memory and swap", if unified { with_swap() } else { first(&["memory/memory.memsw.limit_in_bytes"]) });
    tell("processor", cores(unified));
    tell("open files", limit(Resource::RLIMIT_NOFILE));
    tell("core dumps", limit(Resource::RLIMIT_CORE));
    for place in ["/workspace", "/tmp", "/home/agent", "/dev/shm"] {
        let bytes = statvfs(place).map(|it| (it.blocks() * it.fragment_size()).to_string());
        tell(&format!("bytes in {place}"), bytes.unwrap_or_else(|error| format!("{error:?}")));
    }
}

fn read(file: &str) -> Option<String> {
    Some(read_to_string(format!("{CGROUP}/{file}")).ok()?.trim().to_owned())
}

fn first(files: &[&str]) -> String {
    files.iter().find_map(|file| read(file)).unwrap_or_else(|| "unknown".to_owned())
}

/// cgroup v2 counts swap separately.
fn with_swap() -> String {
    let sum =
        || Some((read("memory.max")?.parse::<u64>().ok()? + read("memory.swap.max")?.parse::<u64>().ok()?).to_string());
    sum().unwrap_or_else(|| "unknown".to_owned())
}

/// Cores with two digits, such as `1.50`.
fn cores(unified: bool) -> String {
    let (quota, period) = if unified {
        let text = read("cpu.max").unwrap_or_default();
        let mut words = text.split_whitespace().map(str::to_owned);
        (words.next(), words.next())
    } else {
        let either = |file: &str| read(&format!("cpu/{file}")).or_else(|| read(&format!("cpu,cpuacct/{file}")));
        (either("cpu.cfs_quota_us"), either("cpu.cfs_period_us"))
    };
    let number = |text: Option<String>| text.and_then(|text| text.parse::<f64>().ok()).filter(|it| *it > 0.0);
    match (number(quota), number(period)) {
        (Some(quota), Some(period)) => format!("{:.2}", quota / period),
        _ => "no limit".to_owned(),
    }
}

/// The soft limit, then the hard one.
fn limit(what: Resource) -> String {
    getrlimit(what).map_or_else(|error| format!("{error:?}"), |(soft, hard)| format!("{soft} {hard}"))
}
