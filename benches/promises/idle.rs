//! Memory of an idle sandbox: its runner, the engine's shim process, and what its cgroup is charged for.

use crate::fleet::{BenchSandbox, Fleet, output_of};
use crate::line::Line;
use std::fs;

fn kilobytes(path: &str, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or_else(|_| panic!("{path} has no {name}"))
}

/// Kilobytes charged to the memory cgroup of a process, version 1 or 2.
fn charged(pid: &str) -> u64 {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("its cgroups");
    let path = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        match (fields.next()?, fields.next()?) {
            ("", group) => Some(format!("/sys/fs/cgroup{group}/memory.current")),
            (kinds, group) if kinds.split(',').any(|kind| kind == "memory") => {
                Some(format!("/sys/fs/cgroup/memory{group}/memory.usage_in_bytes"))
            }
            _ => None,
        }
    };
    let mut texts = groups.lines().filter_map(path).filter_map(|path| fs::read_to_string(path).ok());
    texts.next().and_then(|text| text.trim().parse::<u64>().ok()).expect("the cgroup's memory") >> 10
}

/// Averages over all. PSS divides a page among the processes that share it: every runner is the same program, and so is every shim.
pub fn memory(fleet: &Fleet, members: &[BenchSandbox]) -> Line {
    let mut sums = [0; 4];
    for member in members {
        let pid = output_of("docker", &["inspect", "-f", "{{.State.Pid}}", &fleet.container(member)]);
        let shim = parent(&pid);
        sums[0] += kilobytes(&format!("/proc/{shim}/smaps_rollup"), "Pss:");
        sums[1] += kilobytes(&format!("/proc/{pid}/smaps_rollup"), "Pss:");
        sums[2] += charged(&pid);
        sums[3] += kilobytes(&format!("/proc/{pid}/status"), "VmRSS:");
    }
    let count = members.len() as u64;
    let [shim, runner, cgroup, rss] = sums.map(|sum| sum / count);
    // The cgroup is charged for the runner as well: the larger of the two counts.
    let all = runner.max(cgroup) + shim;
    let mib = |kilobytes: u64| kilobytes as f64 / 1024.0;
    Line::promise(
        "memory of an idle sandbox, average of 64: the engine's shim (PSS), and runner (PSS) or cgroup, whichever is more",
        format!(
            "{:.1} MiB: shim {:.1}, runner {:.1} (RSS {:.1}, its text shared by all), cgroup {:.1}",
            mib(all),
            mib(shim),
            mib(runner),
            mib(rss),
            mib(cgroup)
        ),
        "≤ 6 MiB",
        all <= 6 << 10,
    )
}

/// The engine's process that holds the container.
fn parent(pid: &str) -> u64 {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let parent = text.lines().find_map(|line| line.strip_prefix("PPid:")).map(str::trim);
    parent.and_then(|parent| parent.parse().ok()).expect("a parent")
}
