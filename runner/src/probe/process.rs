//! What this process is and inherited, and what it can do to process 1.

use std::fs::{File, OpenOptions, read_dir, read_to_string};

use protocol::probe::{Finding, OPEN};

use super::kernel::name;

pub fn look(out: &mut Vec<Finding>) {
    // Taken first, because later descriptors are the probe's own.
    out.push(Finding::new(28, "descriptors", descriptors()));
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map_or_else(|| "missing".to_owned(), |value| value.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        out.push(Finding::new(1, set, field(set)));
    }
    for what in ["Uid", "Gid", "NoNewPrivs", "Seccomp"] {
        out.push(Finding::new(2, what, field(what)));
    }
    let one = read_to_string("/proc/1/comm").map_or_else(|error| name(&error), |text| text.trim().to_owned());
    out.push(Finding::new(6, "process 1 is", one));
    out.push(Finding::new(6, "read its environment", tried(File::open("/proc/1/environ"))));
    out.push(Finding::new(6, "read its memory", tried(File::open("/proc/1/mem"))));
    out.push(Finding::new(6, "write its memory", tried(OpenOptions::new().write(true).open("/proc/1/mem"))));
    out.push(Finding::new(28, "descriptors of process 1", tried(read_dir("/proc/1/fd"))));
    out.push(Finding::new(28, "its output", tried(OpenOptions::new().write(true).open("/proc/1/fd/1"))));
}

fn tried<T>(done: std::io::Result<T>) -> String {
    done.map_or_else(|error| name(&error), |_| OPEN.to_owned())
}

/// Numbers of open descriptors, without the one used for listing them.
fn descriptors() -> String {
    let Ok(entries) = read_dir("/proc/self/fd") else { return "unknown".to_owned() };
    let mut numbers: Vec<u32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    // The listing's own descriptor is closed by now and drops out.
    numbers.retain(|number| std::fs::symlink_metadata(format!("/proc/self/fd/{number}")).is_ok());
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

/// Every process by name.
pub fn processes() -> String {
    let Ok(entries) = read_dir("/proc") else { return "unknown".to_owned() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let own = std::process::id();
    let mut names: Vec<String> = pids
        .filter(|pid| *pid != own)
        .filter_map(|pid| Some(read_to_string(format!("/proc/{pid}/comm")).ok()?.trim().to_owned()))
        .collect();
    names.sort();
    names.join(" ")
}
