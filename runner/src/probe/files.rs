//! Traces of the machine in the file system: sockets, writable places, mounts, devices, masked files.

use std::fs::{OpenOptions, read_dir, read_to_string};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{AccessFlags, access};
use protocol::probe::{Finding, OPEN};

use super::kernel::name;

const SOCKETS: &[&str] = &[
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/crio/crio.sock",
    "/run/caisson",
];
/// Directories in which nothing may be created, and files that may not be opened for writing.
const CLOSED: &[&str] = &["/", "/etc", "/usr", "/usr/bin", "/var", "/opt/caisson", "/sys", "/dev"];
const UNWRITABLE: &[&str] = &[
    "/etc/passwd",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/opt/caisson/caisson-runner",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sysrq-trigger",
    "/proc/1/oom_score_adj",
    "/sys/kernel/uevent_helper",
    "/sys/kernel/mm/transparent_hugepage/enabled",
];
/// Places that must be mounted read-only, so that not even root could write there.
const READ_ONLY: &[&str] = &["/", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", "/sys"];
const DEVICES: &[&str] = &[
    "core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty",
    "urandom", "zero",
];
const MASKED: &[&str] = &[
    "/proc/kcore",
    "/proc/keys",
    "/proc/timer_list",
    "/proc/sched_debug",
    "/proc/latency_stats",
    "/proc/interrupts",
    "/proc/config.gz",
    "/proc/cmdline",
    "/proc/kallsyms",
    "/proc/kmsg",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
    "/proc/acpi",
    "/proc/scsi",
];

pub fn look(out: &mut Vec<Finding>) {
    let mounts = Mounts::read();
    for path in SOCKETS {
        let there = Path::new(path).symlink_metadata().is_ok();
        out.push(Finding::new(18, *path, if there { OPEN } else { "absent" }));
    }
    out.push(Finding::new(18, "sockets among the mounts", list(mounts.sockets())));
    for path in CLOSED {
        out.push(Finding::new(19, format!("make a file in {path}"), made_in(Path::new(path))));
    }
    for path in UNWRITABLE {
        out.push(Finding::new(19, format!("write {path}"), opened(Path::new(path))));
    }
    for path in READ_ONLY {
        out.push(Finding::new(19, format!("{path} is mounted"), read_only(path)));
    }
    out.push(Finding::new(19, "write in the cgroup", cgroup(Path::new("/sys/fs/cgroup"))));
    if let Some(mirror) = std::env::var_os("CAISSON_MIRROR").map(PathBuf::from) {
        look_at(&mirror, out);
    }
    out.push(Finding::new(20, "may be written", list(mounts.writable())));
    out.push(Finding::new(20, "mounted for writing", list(mounts.not_read_only())));
    out.push(Finding::new(21, "devices beyond the basic ones", list(devices())));
    for path in MASKED {
        out.push(Finding::new(22, *path, shown(Path::new(path))));
    }
}

/// A repository's mirror, which an agent could use to reach other tasks if it were writable.
fn look_at(mirror: &Path, out: &mut Vec<Finding>) {
    let mut found = |what: &str, seen: String| out.push(Finding::new(24, what, seen));
    found("the mirror is mounted", read_only(&mirror.to_string_lossy()));
    found("make a file in the mirror", made_in(mirror));
    found("make a file among its objects", made_in(&mirror.join("objects/pack")));
    found("write its HEAD", opened(&mirror.join("HEAD")));
}

/// The host name, and which of these words occur in mounts, names and variables.
pub fn surroundings(words: &[String], out: &mut Vec<Finding>) {
    let host = read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    out.push(Finding::new(32, "host name", host.trim()));
    let files = ["/proc/self/mountinfo", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/proc/self/environ"];
    let text: String = files.iter().filter_map(|file| read_to_string(file).ok()).collect();
    out.push(Finding::new(
        32,
        "names of others",
        list(words.iter().filter(|it| text.contains(*it)).cloned().collect()),
    ));
}

fn list(words: Vec<String>) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(" ") }
}

/// Mount points, each with whether it is writable.
pub struct Mounts(Vec<(PathBuf, bool)>);

impl Mounts {
    pub fn read() -> Mounts {
        let text = read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let line = |line: &str| {
            let mut words = line.split(' ').skip(4);
            let place = words.next()?.replace("\\040", " ");
            let writes = words.next()?.split(',').any(|option| option == "rw");
            Some((PathBuf::from(place), writes))
        };
        Mounts(text.lines().filter_map(line).collect())
    }

    /// Without masked files (`/dev/null`) and devices, which are no places to write to.
    fn places(&self) -> impl Iterator<Item = &(PathBuf, bool)> {
        self.0.iter().filter(|(place, _)| place.metadata().is_ok_and(|it| !it.file_type().is_char_device()))
    }

    fn sockets(&self) -> Vec<String> {
        let sockets = self.0.iter().filter(|(place, _)| place.metadata().is_ok_and(|it| it.file_type().is_socket()));
        sorted(sockets.map(|(place, _)| place))
    }

    fn writable(&self) -> Vec<String> {
        sorted(self.places().map(|(place, _)| place).filter(|place| access(*place, AccessFlags::W_OK).is_ok()))
    }

    fn not_read_only(&self) -> Vec<String> {
        sorted(self.places().filter(|(_, writes)| *writes).map(|(place, _)| place))
    }

    /// Every mount that may contain files, the root first.
    pub fn roots(&self) -> Vec<PathBuf> {
        let kernel = |place: &Path| ["/proc", "/sys", "/dev"].iter().any(|it| place.starts_with(it));
        let shm = Path::new("/dev/shm");
        self.places().map(|(place, _)| place).filter(|place| !kernel(place) || *place == shm).cloned().collect()
    }
}

fn sorted<'a>(places: impl Iterator<Item = &'a PathBuf>) -> Vec<String> {
    let mut all: Vec<String> = places.map(|place| place.display().to_string()).collect();
    all.sort();
    all.dedup();
    all
}

fn made_in(directory: &Path) -> String {
    let path = directory.join(".caisson-probe");
    match OpenOptions::new().write(true).create_new(true).open(&path) {
        Err(error) => name(&error),
        Ok(_) => {
            // The created file is removed again; only the finding matters.
            let _ = std::fs::remove_file(path);
            OPEN.to_owned()
        }
    }
}

/// Opens the file for writing without writing.
fn opened(path: &Path) -> String {
    OpenOptions::new().write(true).open(path).map_or_else(|error| name(&error), |_| OPEN.to_owned())
}

fn read_only(path: &str) -> String {
    match statvfs(path) {
        Ok(found) if found.flags().contains(FsFlags::ST_RDONLY) => "read-only".to_owned(),
        Ok(_) => "for writing".to_owned(),
        Err(error) => format!("{error:?}"),
    }
}

/// `refused`, or the first writable place: files of the own cgroup, of each controller, or a new group.
fn cgroup(root: &Path) -> String {
    let below = read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    for group in std::iter::once(root.to_owned()).chain(below) {
        let files = read_dir(&group).into_iter().flatten().flatten().map(|entry| entry.path());
        if let Some(open) = files.filter(|path| path.is_file()).find(|path| opened(path) == OPEN) {
            return format!("{OPEN}: {}", open.display());
        }
        if std::fs::create_dir(group.join("caisson-probe")).is_ok() {
            let _ = std::fs::remove_dir(group.join("caisson-probe"));
            return format!("{OPEN}: {}", group.display());
        }
    }
    "refused".to_owned()
}

fn devices() -> Vec<String> {
    let Ok(entries) = read_dir("/dev") else { return vec!["unknown".to_owned()] };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut odd: Vec<String> = names.filter(|name| !DEVICES.contains(&name.as_str())).collect();
    odd.sort();
    odd
}

/// Whether a directory or file has any content.
fn shown(path: &Path) -> String {
    if path.is_dir() {
        return match read_dir(path) {
            Ok(mut entries) => if entries.next().is_none() { "empty" } else { OPEN }.to_owned(),
            Err(error) => name(&error),
        };
    }
    let mut byte = [0; 1];
    match OpenOptions::new().read(true).open(path).and_then(|mut file| file.read(&mut byte)) {
        Ok(0) => "empty".to_owned(),
        Ok(_) => OPEN.to_owned(),
        Err(error) => name(&error),
    }
}
