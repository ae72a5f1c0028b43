#!/usr/bin/env python3
"""Writes sealed.json and debug.json from the filter that the engine itself resolved for a container without capabilities.

  make.py <config.json of such a container> <asm/unistd_64.h>

The first is below /run/docker/containerd/daemon/io.containerd.runtime.v2.task/moby/<id>/ while the container runs
(`docker run -d --cap-drop ALL --network none <image> sleep 60`). Everything allowed there is a name, or a name with
conditions; this script takes away what an agent has no use for and narrows what it keeps. The result is an allowlist.
"""
import json
import pathlib
import re
import sys

# Taken away though the engine's default allows it: kernel surface that ordinary development does not need.
CLOSED = set("""
io_uring_setup io_uring_enter io_uring_register ptrace process_vm_readv process_vm_writev process_madvise
process_mrelease memfd_secret kcmp name_to_handle_at open_by_handle_at fanotify_init fanotify_mark add_key
request_key keyctl bpf perf_event_open userfaultfd mbind set_mempolicy migrate_pages move_pages modify_ldt
adjtimex clock_adjtime socketcall ipc epoll_ctl_old epoll_wait_old pidfd_getfd quotactl acct
""".split())
# Decided below, argument by argument.
NARROWED = {"socket", "socketpair", "personality", "clone", "clone3", "fallocate", "ioctl", "prlimit64",
            "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler", "setpriority", "ioprio_set"}
# Newer than the engine that was asked; each acts on the caller's own memory, descriptors and files only.
ADDED = ["cachestat", "fchmodat2", "futex_requeue", "futex_wait", "futex_wake", "getxattrat", "listxattrat", "mseal",
         "removexattrat", "setxattrat"]
# mknod stays: mkfifo is mknod, and a device node needs CAP_MKNOD anyway.
NEEDED = ["mknod", "mknodat", "execve", "openat", "futex", "rseq", "statx", "close_range"]

EQ = "SCMP_CMP_EQ"
NEW_NAMESPACES = 0x7E020000
# fs.h and xfs_fs.h: ioctls of a `struct space_resv`, among them FS_IOC_RESVSP, are fallocate by another door. The low byte counts.
RESERVING = 0x40305800


def rule(names, args=None, action="SCMP_ACT_ALLOW", errno=None):
    made = {"names": names, "action": action}
    if errno is not None:
        made["errnoRet"] = errno
    if args:
        made["args"] = args
    return made


def equal(*pairs):
    return [{"index": index, "value": value, "op": EQ} for index, value in pairs]


def of_type(kind):
    """A socket's type, whatever its two flags (SOCK_CLOEXEC, SOCK_NONBLOCK) are."""
    return [{"index": 1, "value": 0xFFFFFFFF & ~0x80800, "valueTwo": kind, "op": "SCMP_CMP_MASKED_EQ"}]


def narrowed(personalities):
    unix, inet, inet6, netlink = 1, 2, 10, 16
    stream, datagram, raw, sequenced = 1, 2, 3, 5
    rules = [rule(["socket"], equal((0, unix)) + of_type(kind)) for kind in (stream, datagram)]
    # Browsers speak to their own children in sequenced packets.
    rules += [rule(["socketpair"], equal((0, unix)) + of_type(kind)) for kind in (stream, datagram, sequenced)]
    for family in (inet, inet6):
        for kind, protocol in ((stream, 0), (stream, 6), (datagram, 0), (datagram, 17)):  # 0: what fits, 6: TCP, 17: UDP
            rules.append(rule(["socket"], equal((0, family), (2, protocol)) + of_type(kind)))
    for kind in (raw, datagram):  # NETLINK_ROUTE, for getifaddrs: the C library opens it raw
        rules.append(rule(["socket"], equal((0, netlink), (2, 0)) + of_type(kind)))
    for value in personalities:
        rules.append(rule(["personality"], equal((0, value))))
    no_namespaces = [{"index": 0, "value": NEW_NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]
    rules.append(rule(["clone"], no_namespaces))
    # Its flags lie in memory, where no filter sees them; ENOSYS makes the C library fall back to clone.
    rules.append(rule(["clone3"], action="SCMP_ACT_ERRNO", errno=38))
    # It takes a whole disk in one call; EOPNOTSUPP makes the C library's posix_fallocate fall back to writing.
    rules.append(rule(["fallocate"], action="SCMP_ACT_ERRNO", errno=95))
    # A request differs from those if any one of its bits does; the kernel reads 32.
    for bit in (1 << at for at in range(8, 32)):
        differs = {"index": 1, "value": bit, "valueTwo": bit & ~RESERVING, "op": "SCMP_CMP_MASKED_EQ"}
        rules.append(rule(["ioctl"], [differs]))
    # Of the caller alone (0): any process of the user could else take the processor, or its limits, from process 1, which watches the disk.
    # The number of one of the caller's own threads is refused too, for a filter does not know whose it is: pthread_setaffinity_np,
    # pthread_setschedparam, `renice`, `taskset -p` and setting by `prlimit --pid` fail with EPERM; nice, ulimit and every query work.
    rules.append(rule(["prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"], equal((0, 0))))
    rules.append(rule(["prlimit64"], equal((2, 0))))  # no new limit: a query
    rules.append(rule(["setpriority"], equal((0, 0), (1, 0))))  # PRIO_PROCESS
    rules.append(rule(["ioprio_set"], equal((0, 1), (1, 0))))  # IOPRIO_WHO_PROCESS
    return rules


def profile(names, personalities):
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": 1,
        "archMap": [
            {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []},
            {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": []},
        ],
        "syscalls": [rule(sorted(names))] + narrowed(personalities),
    }


def main():
    config = json.loads(pathlib.Path(sys.argv[1]).read_text())
    known = set(re.findall(r"#define __NR_(\w+)", pathlib.Path(sys.argv[2]).read_text()))
    engine = {name for it in config["linux"]["seccomp"]["syscalls"] if it["action"] == "SCMP_ACT_ALLOW"
              for name in it["names"]}
    names = (engine & known) - CLOSED - NARROWED | set(ADDED)
    missing = [name for name in NEEDED if name not in names]
    if missing:
        sys.exit(f"the filter given lacks {missing}: not a default one")
    here = pathlib.Path(__file__).parent
    debug = names | {"ptrace", "process_vm_readv", "process_vm_writev"}
    no_random_addresses = 0x0040000
    for file, what in (("sealed.json", profile(names, (0, 0xFFFFFFFF))),
                       ("debug.json", profile(debug, (0, no_random_addresses, 0xFFFFFFFF)))):
        (here / file).write_text(json.dumps(what, indent=1) + "\n")


main()
