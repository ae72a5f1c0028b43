//! System calls that the kernel must refuse; whatever they change affects only this short-lived process, which tries them last.

use nix::errno::Errno;
use nix::libc::{self, c_long};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use protocol::probe::{Finding, OPEN};

use super::call::call;

type Call = (u8, &'static str, c_long, [c_long; 5]);

const NEW_USER: c_long = libc::CLONE_NEWUSER as c_long;
const NO: [c_long; 5] = [0; 5];
/// PTRACE_SEIZE: attaches without stopping.
const SEIZE: c_long = 0x4206;
const NO_RANDOM_ADDRESSES: c_long = 0x004_0000;

const CALLS: &[Call] = &[
    (4, "mount", libc::SYS_mount, NO),
    (4, "umount", libc::SYS_umount2, NO),
    (4, "chroot", libc::SYS_chroot, NO),
    (4, "setns", libc::SYS_setns, NO),
    (4, "pivot_root", libc::SYS_pivot_root, NO),
    (4, "open_by_handle_at", libc::SYS_open_by_handle_at, NO),
    (4, "move_mount", libc::SYS_move_mount, NO),
    (4, "open_tree", libc::SYS_open_tree, NO),
    (4, "fsopen", libc::SYS_fsopen, NO),
    (5, "keyctl", libc::SYS_keyctl, NO),
    (5, "add_key", libc::SYS_add_key, NO),
    (5, "request_key", libc::SYS_request_key, NO),
    (5, "bpf", libc::SYS_bpf, NO),
    (5, "io_uring_setup", libc::SYS_io_uring_setup, [1, 0, 0, 0, 0]),
    (5, "userfaultfd", libc::SYS_userfaultfd, NO),
    (5, "perf_event_open", libc::SYS_perf_event_open, NO),
    (5, "memfd_secret", libc::SYS_memfd_secret, NO),
    (5, "kexec_load", libc::SYS_kexec_load, NO),
    (5, "init_module", libc::SYS_init_module, NO),
    (5, "finit_module", libc::SYS_finit_module, [-1, 0, 0, 0, 0]),
    (5, "kcmp", libc::SYS_kcmp, [1, 1, 0, 0, 0]),
    (5, "name_to_handle_at", libc::SYS_name_to_handle_at, NO),
    (5, "fanotify_init", libc::SYS_fanotify_init, NO),
    (5, "pidfd_getfd", libc::SYS_pidfd_getfd, [-1, 0, 0, 0, 0]),
    (5, "quotactl", libc::SYS_quotactl, NO),
    (5, "syslog", libc::SYS_syslog, [10, 0, 0, 0, 0]),
    (6, "process_vm_readv", libc::SYS_process_vm_readv, [1, 0, 0, 0, 0]),
    (6, "ptrace process 1", libc::SYS_ptrace, [SEIZE, 1, 0, 0, 0]),
    (5, "personality", libc::SYS_personality, [NO_RANDOM_ADDRESSES, 0, 0, 0, 0]),
    (3, "clone3", libc::SYS_clone3, NO),
    (3, "clone a user namespace", libc::SYS_clone, [NEW_USER | libc::SIGCHLD as c_long, 0, 0, 0, 0]),
    (3, "unshare the mounts", libc::SYS_unshare, [libc::CLONE_NEWNS as c_long, 0, 0, 0, 0]),
    (3, "unshare the network", libc::SYS_unshare, [libc::CLONE_NEWNET as c_long, 0, 0, 0, 0]),
    (3, "unshare the user", libc::SYS_unshare, [NEW_USER, 0, 0, 0, 0]),
];

/// Family, type and protocol of sockets that no ordinary program opens, by check.
const SOCKETS: &[(u8, &str, [c_long; 3])] = &[
    (7, "raw", [2, 3, 255]),
    (7, "packet", [17, 3, 0]),
    (7, "vsock", [40, 1, 0]),
    (7, "alg", [38, 5, 0]),
    (7, "netfilter", [16, 3, 12]),
    (7, "tipc", [30, 1, 0]),
    (7, "key", [15, 3, 2]),
    (7, "xdp", [44, 3, 0]),
    (7, "sctp", [2, 1, 132]),
    (7, "bluetooth", [31, 3, 1]),
    (7, "raw unix", [1, 3, 0]),
    (7, "sequenced unix", [1, 5, 0]),
    (7, "sequenced", [2, 5, 0]),
    (7, "reliable datagrams", [2, 4, 0]),
    (7, "congestion controlled", [2, 6, 0]),
    (7, "sequenced netlink", [16, 5, 0]),
    (14, "ping socket", [2, 2, 1]),
];

/// To be called last, and only from a single thread.
pub fn calls(out: &mut Vec<Finding>) {
    for (check, what, [family, kind, protocol]) in SOCKETS {
        out.push(Finding::new(*check, *what, call(libc::SYS_socket, [*family, *kind, *protocol, 0, 0])));
    }
    for (what, kind) in [("character device", SFlag::S_IFCHR), ("block device", SFlag::S_IFBLK)] {
        out.push(Finding::new(21, format!("make a {what}"), device(kind)));
    }
    #[cfg(target_arch = "x86_64")]
    out.push(Finding::new(5, "modify_ldt", call(libc::SYS_modify_ldt, NO)));
    for (check, what, number, args) in CALLS {
        out.push(Finding::new(*check, *what, call(*number, *args)));
    }
}

fn device(kind: SFlag) -> String {
    let path = "/tmp/.caisson-device";
    match mknod(path, kind, Mode::from_bits_truncate(0o600), makedev(1, 3)) {
        Err(error) => format!("{error:?}"),
        Ok(()) => {
            // The created file is removed again; only the finding matters.
            let _ = std::fs::remove_file(path);
            OPEN.to_owned()
        }
    }
}

/// The name of an error of the standard library.
pub fn name(error: &std::io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), |code| format!("{:?}", Errno::from_raw(code)))
}
