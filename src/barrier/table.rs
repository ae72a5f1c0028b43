//! The checks: their numbers, the expected results in words for people, and the accepted findings. Data, judged by `judge.rs`.
//!
//! Numbers and order are fixed: SECURITY.md names them.

use protocol::broker::{ContainerLimits, PROBE_USERS};
use protocol::probe::{NOT_SENT, SENT};

use super::{Expect, flood, history, plan, watch};

/// Condition on a check's findings.
pub enum Wants {
    /// Each of `exact` was found with one of its words (without words, any); every other finding has one of `words`, and there are at least
    /// `least`.
    Findings { exact: Vec<(String, Vec<String>)>, words: &'static [&'static str], least: usize },
    /// The check does not apply here; with the reason.
    Nothing(&'static str),
}

pub struct Check {
    pub number: u8,
    pub what: &'static str,
    pub expected: &'static str,
    pub wants: Wants,
}

/// Refused by the seccomp filter, or by the kernel for lack of a capability.
const DENIED: &[&str] = &["EPERM", "ENOSYS"];
const NO_SOCKET: &[&str] = &["EPERM", "EACCES", "ENOSYS", "EAFNOSUPPORT", "EPROTONOSUPPORT"];
const CLOSED: &[&str] = &["refused", "unreachable", "silent"];
/// Whether a message arrived is decided by the listeners.
const UNHEARD: &[&str] = &["refused", "unreachable", "silent", SENT, NOT_SENT];
const NOT_WRITTEN: &[&str] = &["EROFS", "EACCES", "EPERM", "ENOENT", "read-only"];
const NOT_SHOWN: &[&str] = &["empty", "ENOENT", "EACCES", "EPERM"];
const ENDED: &[&str] = &["reset", "closed", "refused"];
/// A refusal, or nothing if the answer was lost: in either case no address.
const NO_ADDRESS: &[&str] = &["no such name", "no answer"];
const NO_NETWORK: &str = "sandboxes have no network";

fn every(words: &'static [&'static str], least: usize) -> Wants {
    Wants::Findings { exact: Vec::new(), words, least }
}

fn exact<const N: usize>(pairs: [(&str, &[&str]); N]) -> Wants {
    both(pairs, &[], 0)
}

fn both<const N: usize>(pairs: [(&str, &[&str]); N], words: &'static [&'static str], least: usize) -> Wants {
    let owned = |(what, seen): (&str, &[&str])| (what.to_owned(), seen.iter().map(|&word| word.to_owned()).collect());
    Wants::Findings { exact: pairs.into_iter().map(owned).collect(), words, least }
}

/// Expected reports of this machine's listeners.
fn heard(expect: &Expect) -> Vec<(String, Vec<String>)> {
    let own = (plan::HEARD, "the bot alone");
    let machine = expect.router.as_ref().map(|_| (plan::MACHINE_HEARD, plan::ITSELF));
    [own].into_iter().chain(machine).map(|(what, seen)| (what.to_owned(), vec![seen.to_owned()])).collect()
}

/// A condition that applies only with a router.
fn networked(expect: &Expect, wants: impl FnOnce() -> Wants) -> Wants {
    if expect.router.is_some() { wants() } else { Wants::Nothing(NO_NETWORK) }
}

pub fn checks(expect: &Expect) -> Vec<Check> {
    let rows = [kernel(expect), network(expect), proxy(expect), files(expect), beyond(expect)];
    let mut all: Vec<Check> = rows
        .into_iter()
        .flatten()
        .map(|(number, what, expected, wants)| Check { number, what, expected, wants })
        .collect();
    all.sort_by_key(|check| check.number);
    all
}

type Row = (u8, &'static str, &'static str, Wants);

fn kernel(expect: &Expect) -> Vec<Row> {
    let none: &[&str] = &["0000000000000000"];
    // Real, effective, saved and file system user.
    let user = [PROBE_USERS[0]; 4].map(|user| user.to_string()).join(" ");
    let uid: &[&str] = &[&user];
    let personality: &[&str] = if expect.debug { &["OPEN"] } else { &["EPERM"] };
    // With ptrace in the filter the kernel itself refuses, because process 1 is not dumpable.
    let vm_read: &[&str] = if expect.debug { &["EPERM", "EINVAL", "EFAULT", "OPEN"] } else { &["EPERM"] };
    let capabilities =
        exact([("CapInh", none), ("CapPrm", none), ("CapEff", none), ("CapBnd", none), ("CapAmb", none)]);
    let process = exact([
        ("Uid", uid),
        ("Gid", uid),
        ("NoNewPrivs", &["1"]),
        ("Seccomp", &["2"]),
        (watch::TAKEN, &watch::ALL),
        (watch::MEANWHILE, &[watch::GIVEN]),
    ]);
    let init = both(
        [("process 1 is", &["caisson-runner"]), ("ptrace process 1", &["EPERM"]), ("process_vm_readv", vm_read)],
        &["EACCES"],
        3,
    );
    vec![
        (1, "capabilities", "none in any set", capabilities),
        (2, "user, privileges, filter", "its own, counted alone; no new privileges; filter on", process),
        (3, "new namespaces", "EPERM; clone3 ENOSYS", both([("clone3", &["ENOSYS"])], &["EPERM"], 4)),
        (4, "mount, chroot, setns, pivot_root, handles", "EPERM", every(DENIED, 9)),
        (5, "keys, bpf, io_uring, userfaultfd, perf, modules …", "EPERM or ENOSYS", {
            both([("personality", personality)], DENIED, 16)
        }),
        (6, "process 1", "the runner, and no way into it", init),
        (7, "raw, packet, vsock, alg, netfilter, sequenced … sockets", "denied", every(NO_SOCKET, 16)),
    ]
}

fn network(expect: &Expect) -> Vec<Row> {
    let routes = expect.router.as_ref().map_or_else(|| "none".to_owned(), |router| router.routes.clone());
    let interfaces = if expect.router.is_some() { "eth0 lo" } else { "lo" };
    let off: &[&str] = &["1", "not there"];
    let own = exact([("interfaces", &[interfaces]), ("IPv6 addresses", &["none"]), ("IPv6 is off", off)]);
    let upstream: &[&str] = &["heard of the allowed name alone", plan::NOT_OURS];
    let neighbour = networked(expect, || match expect.alone {
        true => every(CLOSED, 0),
        false => both([("the second sandbox heard", &["itself alone"])], CLOSED, 1),
    });
    let names = both([("a name nobody allowed", NO_ADDRESS), (plan::UPSTREAM, upstream)], CLOSED, 2);
    vec![
        (8, "interfaces", "lo, with a router eth0; no IPv6", own),
        (9, "routes", "none, or all through the router", exact([("routes", &[&routes]), ("IPv6 routes", &["none"])])),
        (10, "metadata, this machine, private networks", "out of reach", every(CLOSED, 4)),
        (11, "a listener of this machine", "out of reach; hears nobody", {
            Wants::Findings { exact: heard(expect), words: UNHEARD, least: 1 }
        }),
        (12, "a second sandbox", "out of reach; hears nobody", neighbour),
        (13, "other resolvers, a name nobody allowed", "no answer; nothing asked upstream", names),
        (14, "ping, UDP 443, IPv6", "denied, out of reach", both([("ping socket", NO_SOCKET)], CLOSED, 1)),
    ]
}

fn proxy(expect: &Expect) -> Vec<Row> {
    // The name has no server, so 502 and alert 80 are the proxy's answers after the connection was allowed.
    let allowed = || exact([("HTTP to an allowed name", &["HTTP 502"]), ("TLS to an allowed name", &["TLS alert 80"])]);
    let denied = || {
        both(
            [
                ("a denied name", NO_ADDRESS),
                ("another Host", &["HTTP 403"]),
                ("a name of a private address", &["HTTP 403", "not ours to make"]),
            ],
            ENDED,
            2,
        )
    };
    let tls =
        || both([("TLS for another name", &["TLS alert 49"]), ("TLS without a name", &["TLS alert 49"])], ENDED, 1);
    let away = || exact([("its name, the router stopped", NO_ADDRESS), ("its address, the router stopped", CLOSED)]);
    let again = || {
        both(
            [
                ("an open connection", ENDED),
                ("an old name", NO_ADDRESS),
                ("host name", &["chamber"]),
                ("names of others", &["none"]),
            ],
            &["refused", "reset", "closed", "TLS alert 49", "0 names", "no such name", "no answer"],
            2,
        )
    };
    vec![
        (15, "an allowed name", "let pass", networked(expect, allowed)),
        (16, "denied name, other Host, other port, private", "refused with a reason", networked(expect, denied)),
        (17, "TLS for another name, without one, no TLS", "closed before anything went out", networked(expect, tls)),
        (27, "the router is stopped", "15 fails", networked(expect, away)),
        (32, "a subnet that is used again", "nothing of before works or shows", networked(expect, again)),
    ]
}

fn files(expect: &Expect) -> Vec<Row> {
    let ours: &[&str] = &["/dev/mqueue /dev/shm /home/agent /tmp /workspace"];
    // With cgroup v1 the directory of controllers, each read-only, is an additional mount.
    let mounted: &[&str] = &[
        "/dev /dev/mqueue /dev/pts /dev/shm /home/agent /proc /tmp /workspace",
        "/dev /dev/mqueue /dev/pts /dev/shm /home/agent /proc /sys/fs/cgroup /tmp /workspace",
    ];
    let absent: &[&str] = &["absent"];
    vec![
        (18, "sockets of engines", "absent", both([("sockets among the mounts", &["none"])], absent, 6)),
        (19, "writing to system, /proc, /sys, cgroup", "read-only, refused", {
            both([("write in the cgroup", &["refused"]), ("/ is mounted", &["read-only"])], NOT_WRITTEN, 20)
        }),
        (20, "what can be written", "workspace, home, /tmp, /dev/shm", {
            exact([("may be written", ours), ("mounted for writing", mounted)])
        }),
        (21, "devices", "the basic ones; none can be made", {
            both([("devices beyond the basic ones", &["none"])], &["EPERM"], 2)
        }),
        (22, "kcore, keys, kallsyms, cmdline, firmware …", "masked or empty", every(NOT_SHOWN, 12)),
        (23, "limits", "as configured", limits(&expect.limits)),
        (
            24,
            "the mirror's mount",
            "read-only; its objects are found",
            both(
                [("the mirror is mounted", &["read-only"]), (history::THROUGH, &["its text", history::NO_GIT])],
                &["EROFS"],
                3,
            ),
        ),
        (25, "planted secrets, credentials", "absent", every(&["none"], 2)),
        (26, "programs with setuid", "none, or of no use", every(&["none"], 1)),
    ]
}

fn limits(limits: &ContainerLimits) -> Wants {
    let bytes = |bytes: u64| vec![bytes.to_string()];
    // A mount on disk is as large as the disk, so any size is accepted.
    let in_memory = |size: u64| if limits.workspace_bytes > 0 { bytes(size) } else { Vec::new() };
    let cores = std::thread::available_parallelism().map_or(limits.cpus, |it| it.get() as f64);
    let share = |cpus: f64| format!("{cpus:.2}");
    // A kernel that doesn't count swap reports so to the engine, and `doctor` tells a person.
    let swap = vec![limits.memory_bytes.to_string(), "unknown".to_owned()];
    let exact = vec![
        ("processes", bytes(limits.pids)),
        ("memory", bytes(limits.memory_bytes)),
        ("memory and swap", swap),
        ("processor", vec![share(limits.cpus), share(limits.cpus.min(cores))]),
        ("open files", vec![format!("{0} {0}", limits.nofile)]),
        ("core dumps", vec!["0 0".to_owned()]),
        ("bytes in /workspace", in_memory(limits.workspace_bytes)),
        ("bytes in /tmp", bytes(limits.tmp_bytes)),
        ("bytes in /home/agent", in_memory(limits.tmp_bytes)),
        ("bytes in /dev/shm", bytes(64 << 20)),
    ];
    let exact = exact.into_iter().map(|(what, words)| (what.to_owned(), words)).collect();
    Wants::Findings { exact, words: &[], least: 0 }
}

fn beyond(expect: &Expect) -> Vec<Row> {
    let frame = both([("descriptors", &["0 1 2"]), ("a forged frame", &["no effect"])], &["EACCES", "EPERM"], 2);
    let daemon = exact([
        ("a daemon ticked", &["before it was stopped"]),
        ("ticks after everything was stopped", &["0"]),
        ("processes", &["caisson-runner"]),
    ]);
    let absent: &[&str] = &["absent", history::NO_GIT];
    vec![
        (28, "descriptors and frames of process 1", "out of reach; a forged frame does nothing", frame),
        (29, "a daemon after everything was stopped", "no tick", daemon),
        (30, "objects of the repository", "what its base reaches, no more", {
            exact([
                (history::ALL, &["what the base reaches", history::NO_GIT]),
                ("another task's commit", absent),
                ("another branch's commit", absent),
                ("a secret that was taken out", absent),
            ])
        }),
        (31, "the router's way out without its proxy", "public addresses alone; this machine hears nobody", {
            networked(expect, || Wants::Findings { exact: heard(expect), words: UNHEARD, least: 4 })
        }),
        (33, "a flood of names and connections", "the neighbour is answered all the same", {
            networked(expect, || exact([(flood::SENT, &[flood::ENOUGH]), (flood::MEANWHILE, &[flood::ANSWERED])]))
        }),
    ]
}
