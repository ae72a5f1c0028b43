//! Every setting of the container's configuration, tested from inside with an agent's means.

use protocol::broker::Request;

use crate::lab::{IMAGE, Inside, absent, run, spec};

/// Calls that must fail, each with the words that name its error. Run by the image's Python through the C library.
const CALLS: &str = r#"
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(name, number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(number, *args)
    print(name, 'OPEN' if result >= 0 else errno.errorcode[ctypes.get_errno()])
for name, number, *args in [
    ('unshare-user', 272, 0x10000000), ('unshare-net', 272, 0x40000000), ('setns', 308, 0, 0),
    ('clone-user', 56, 0x10000000 | 17, 0, 0, 0, 0), ('mount', 165, 0, 0, 0, 0, 0), ('chroot', 161, b'/tmp'),
    ('ptrace', 101, 0, 0, 0, 0), ('process_vm_readv', 310, 1, 0, 0, 0, 0, 0), ('kcmp', 312, 1, 1, 0, 0, 0),
    ('keyctl', 250, 0, 0), ('add_key', 248, b'user', b'a', b'b', 1, -3), ('bpf', 321, 0, 0, 0),
    ('perf_event_open', 298, 0, 0, 0, 0, 0), ('userfaultfd', 323, 0), ('io_uring_setup', 425, 1, 0),
    ('memfd_secret', 447, 0), ('name_to_handle_at', 303, 0, b'/', 0, 0, 0), ('fanotify_init', 300, 0, 0),
    ('modify_ldt', 154, 0, 0, 0), ('init_module', 175, 0, 0, b''), ('pidfd_getfd', 438, 0, 0, 0),
    ('personality', 135, 0x0040000)]:
    call(name, number, *args)
call('clone3', 435, 0, 0)
for name, family, kind, protocol in [('vsock', 40, 1, 0), ('packet', 17, 3, 0), ('raw', 2, 3, 255), ('alg', 38, 5, 0),
    ('netfilter', 16, 3, 12), ('tipc', 30, 1, 0), ('key', 15, 3, 2), ('xdp', 44, 3, 0), ('sctp', 2, 1, 132), ('bluetooth', 31, 3, 1)]:
    try:
        socket.socket(family, kind, protocol)
        print(name, 'OPEN')
    except OSError as error:
        print(name, errno.errorcode[error.errno])
for name, kind in [('char', 0o020666), ('block', 0o060666)]:
    try:
        os.mknod('/tmp/' + name, kind, os.makedev(1, 3))
        print(name, 'OPEN')
    except OSError as error:
        print(name, errno.errorcode[error.errno])
"#;

/// What ordinary work needs.
const WORK: &str = r#"
set -e
cd /workspace
git init -q a && cd a && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git fsck
printf 'int main(){return 0;}' > a.c && cc a.c -o a.out && ./a.out
cp a.out /tmp/a.out && /tmp/a.out && cp a.out /home/agent/a.out && /home/agent/a.out
mkfifo /tmp/fifo && (echo through > /tmp/fifo & cat /tmp/fifo)
python3 -c 'import multiprocessing as m, socket, asyncio, ctypes
print(m.Pool(2).map(abs, [-1, -2]))
a = socket.socketpair(); s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname())
async def run(): p = await asyncio.create_subprocess_exec("true"); await p.wait()
asyncio.run(run())'
echo fine
"#;

async fn python(inside: &mut Inside, program: &str) -> String {
    inside.sh(&format!("python3 - <<'PROGRAM'\n{program}\nPROGRAM\n")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kernel_is_shut_from_inside() {
    if absent(IMAGE) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            let mut inside = lab.inside(&spec("kernel")).await;
            let said = python(&mut inside, CALLS).await;
            assert_eq!(said.lines().count(), 35, "{said}");
            assert!(!said.contains("OPEN"), "{said}");
            let errors = ["EPERM", "ENOSYS"];
            let odd: Vec<&str> =
                said.lines().filter(|line| !errors.iter().any(|error| line.ends_with(error))).collect();
            assert!(odd.is_empty(), "refused, but by something else than the barrier: {odd:?}");
            assert!(said.contains("clone3 ENOSYS"), "{said}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_process_has_nothing_to_lose() {
    if absent(IMAGE) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            let mut inside = lab.inside(&spec("process")).await;
            let status = inside.sh("cat /proc/self/status").await;
            for (field, value) in [
                ("Uid:", "10065\t10065\t10065\t10065"),
                ("Gid:", "10065\t10065\t10065\t10065"),
                ("CapInh:", "0000000000000000"),
                ("CapPrm:", "0000000000000000"),
                ("CapEff:", "0000000000000000"),
                ("CapBnd:", "0000000000000000"),
                ("CapAmb:", "0000000000000000"),
                ("NoNewPrivs:", "1"),
                ("Seccomp:", "2"),
            ] {
                let line = status.lines().find(|line| line.starts_with(field)).unwrap_or_default();
                assert_eq!(line.trim_start_matches(field).trim(), value, "{field}");
            }
            assert_eq!(inside.sh("ulimit -n; ulimit -c").await, "512\n0");
            assert_eq!(inside.sh("find / -xdev -perm /6000 -type f 2>/dev/null").await, "");
            assert_eq!(inside.sh("hostname").await, "chamber");
            let env = inside.sh("env | cut -d= -f1 | sort").await;
            assert!(!env.to_lowercase().contains("token") && !env.contains("DOCKER"), "{env}");
            assert_eq!(inside.sh("echo $CAISSON_WORKSPACE $HOME $PWD").await, "/workspace /home/agent /workspace");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_system_is_what_was_given() {
    if absent(IMAGE) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            let mut inside = lab.inside(&spec("files")).await;
            for path in
                ["/x", "/etc/passwd", "/usr/x", "/proc/sys/kernel/hostname", "/opt/caisson/x", "/sys/x", "/var/x"]
            {
                let said = inside.sh(&format!("echo x > {path} && echo WRITTEN")).await;
                assert!(!said.contains("WRITTEN"), "{path}");
            }
            let writable = "find / -xdev -writable \\( -type d -o -type f \\) 2>/dev/null; \
            for it in $(cut -d' ' -f5 /proc/self/mountinfo); do [ ! -c $it ] && [ -w $it ] && echo $it; done";
            let mut writable: Vec<String> = inside.sh(writable).await.lines().map(str::to_owned).collect();
            writable.sort_unstable();
            writable.dedup();
            // Masked files are /dev/null, which is writable for everybody. /dev/mqueue belongs to the container, like /dev/shm.
            assert_eq!(writable, ["/dev/mqueue", "/dev/shm", "/home/agent", "/tmp", "/workspace"]);
            assert_eq!(
                inside.sh("df -B1 --output=size /workspace /tmp /home/agent /dev/shm | tail -n +2 | tr -d ' '").await,
                "67108864\n16777216\n16777216\n67108864"
            );
            assert_eq!(
                inside.sh("stat -c '%u %a' /workspace /tmp /home/agent").await,
                "10065 755\n10065 1777\n10065 700"
            );
            let full = inside.sh("head -c 100000000 /dev/zero > /workspace/full; stat -c %s /workspace/full").await;
            assert!(full.contains("No space left") && full.contains("67108864"), "{full}");
            inside.sh("rm /workspace/full").await;
            assert_eq!(
                inside.sh("ls /dev/kvm /dev/fuse /dev/mem /dev/kmsg /dev/net/tun /dev/sd* /dev/vd* 2>/dev/null").await,
                ""
            );
            assert_eq!(
                inside
                    .sh("wc -c < /proc/cmdline; cat /proc/kcore /proc/keys /proc/kallsyms 2>/dev/null | wc -c; ls -A /sys/firmware")
                    .await,
                "0\n0"
            );
            assert_eq!(inside.sh("ls /var/run/docker.sock /run/docker.sock /run/containerd 2>/dev/null").await, "");
            // The engine mounts only its own three files of the machine, and our two volumes.
            let mounts = lab.docker(&[
                "inspect",
                "-f",
                "{{range .Mounts}}{{.Type}} {{.Destination}} {{.RW}};{{end}}",
                &lab.box_name("files"),
            ]);
            let mut mounts: Vec<&str> = mounts.split_terminator(';').collect();
            mounts.sort_unstable();
            assert_eq!(mounts, ["volume /opt/caisson false", "volume /workspace true"]);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_and_there_is_no_network() {
    if absent(IMAGE) {
        return;
    }
    run(|_| {}, async |lab| {
        let mut inside = lab.inside(&spec("limits")).await;
        assert_eq!(inside.sh("ls /sys/class/net").await, "lo");
        let reach = "python3 -c \"import socket; socket.create_connection(('172.17.0.1', 22), 2)\" 2>&1 | tail -1";
        assert!(inside.sh(reach).await.contains("unreachable"));
        assert_eq!(inside.sh("cat /proc/sys/net/ipv6/conf/all/disable_ipv6 2>/dev/null || echo 1").await, "1");
        let forks = python(&mut inside, "import os, time\nn = 0\ntry:\n  while True:\n    if os.fork() == 0: time.sleep(3); os._exit(0)\n    n += 1\nexcept OSError as e: print('refused' if n < 64 else n)").await;
        assert_eq!(forks, "refused");
        inside.sh("sleep 4").await;
        let memory = python(&mut inside, "x = bytearray(700 << 20); print('HAD IT')").await;
        assert!(!memory.contains("HAD IT"), "{memory}");
        let given = "{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}} {{.HostConfig.NanoCpus}} {{.HostConfig.PidsLimit}} \
            {{.HostConfig.LogConfig.Type}} {{.HostConfig.IpcMode}} {{.HostConfig.RestartPolicy.Name}} {{.HostConfig.NetworkMode}} \
            {{.HostConfig.Privileged}} {{.HostConfig.Binds}} {{.Config.Healthcheck.Test}}";
        assert_eq!(
            lab.docker(&["inspect", "-f", given, &lab.box_name("limits")]),
            "536870912 536870912 1000000000 64 none private no none false <no value> [NONE]"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ordinary_work_goes_on() {
    if absent(IMAGE) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            let mut inside = lab.inside(&spec("work")).await;
            let said = inside.sh(&format!("cat > /tmp/work.sh <<'WORK'\n{WORK}\nWORK\nsh /tmp/work.sh")).await;
            assert!(said.ends_with("fine") && said.contains("through"), "{said}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_debug_profile_traces_and_nothing_more() {
    if absent(IMAGE) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            let mut debug = spec("debug");
            debug.profile = "debug".into();
            let mut inside = lab.inside(&debug).await;
            let said = python(&mut inside, CALLS).await;
            let open: Vec<&str> = said.lines().filter(|line| line.ends_with("OPEN")).collect();
            assert_eq!(open, ["ptrace OPEN", "personality OPEN"], "{said}");
            lab.done(Request::Remove { name: "debug".into() }).await;
        },
    )
    .await;
}
