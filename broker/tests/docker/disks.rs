//! Workspace and home on the engine's disk: empty, owned by the sandbox's user, and shared with no other container.

use protocol::broker::{ContainerSpec, Purpose, Request};

use crate::lab::{IMAGE, absent, run, spec};

fn on_disk(name: &str, purpose: Purpose) -> ContainerSpec {
    let mut spec = ContainerSpec { purpose, user: 10_009, ..spec(name) };
    spec.limits.workspace_bytes = 0;
    spec
}

const LOOK: &str = "stat -c '%u %g %a' /workspace /home/agent; ls -A /workspace /home/agent; \
                    for at in /workspace /home/agent; do [ $(stat -f -c %T $at) = tmpfs ] || echo disk; done";
const EMPTY: &str = "10009 10009 755\n10009 10009 700\n/home/agent:\n\n/workspace:\ndisk\ndisk";

/// An image in which both directories belong to somebody else and are not empty.
fn foreign(tag: &str) {
    let run =
        "RUN chown 5:5 /workspace /home/agent && chmod 700 /workspace && touch /workspace/theirs /home/agent/theirs";
    let (mut child, file) = (std::process::Command::new("docker"), format!("FROM {IMAGE}\n{run}\n"));
    child.args(["build", "-q", "-t", tag, "-"]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
    let mut child = child.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), file.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn both_are_empty_and_the_agents_whatever_the_image_says_and_outlive_a_stop() {
    if absent(IMAGE) {
        return;
    }
    let tag = format!("caisson-test-{}:disk", std::process::id());
    let image = tag.clone();
    run(
        move |settings| settings.images.push(image),
        async move |lab| {
            foreign(&tag);
            for (name, purpose) in [("one", Purpose::Task), ("two", Purpose::Verify), ("three", Purpose::Setup)] {
                let theirs = ContainerSpec { image: tag.clone(), ..on_disk(name, purpose) };
                assert_eq!(lab.inside(&theirs).await.sh(LOOK).await, EMPTY, "{purpose:?}");
            }
            let mut one = lab.attach("one").await;
            assert_eq!(one.sh("echo mine | tee /workspace/it > ~/it; cat /workspace/it ~/it").await, "mine\nmine");
            lab.done(Request::Stop { name: "one".into() }).await;
            lab.done(Request::Start { name: "one".into() }).await;
            assert_eq!(lab.attach("one").await.sh("cat /workspace/it ~/it").await, "mine\nmine");
            assert_eq!(lab.attach("two").await.sh(LOOK).await, EMPTY, "it has its own");
            for name in ["one", "two", "three"] {
                lab.done(Request::Remove { name: name.into() }).await;
            }
            let left = lab.docker(&["volume", "ls", "-q", "-f", &format!("name=caisson-{}-", lab.installation)]);
            assert!(!left.contains("-work-") && !left.contains("-home-"), "{left}");
            assert_eq!(lab.inside(&on_disk("one", Purpose::Task)).await.sh(LOOK).await, EMPTY, "anew");
            lab.docker(&["rmi", "-f", &tag]);
        },
    )
    .await;
}

/// Calls that allocate space at once, the C library's replacement for them, and requests that are not affected.
const ROOM: &str = r#"python3 - <<'PROGRAM'
import ctypes, errno, fcntl, os, struct
libc = ctypes.CDLL(None, use_errno=True)
for directory in ('/workspace', os.environ['HOME']):
    fd = os.open(directory + '/room', os.O_RDWR | os.O_CREAT)
    def told(name, result):
        print(name, 'OPEN' if result >= 0 else errno.errorcode[ctypes.get_errno()], os.fstat(fd).st_blocks)
    told('fallocate', libc.fallocate(fd, 0, ctypes.c_long(0), ctypes.c_long(16 << 20)))
    for name, request in (('resvsp', 0x40305828), ('resvsp64', 0x4030582a), ('zero', 0x40305839), ('high', 1 << 32 | 0x4030582a)):
        space = struct.pack('hhqqiI4i', 0, 0, 0, 16 << 20, 0, 0, 0, 0, 0, 0)
        told(name, libc.ioctl(fd, ctypes.c_ulong(request), space))
    os.posix_fallocate(fd, 0, 1 << 20)
    print('written', os.fstat(fd).st_size)
read, write = os.pipe()
os.write(write, b'abc')
print('pending', struct.unpack('i', fcntl.ioctl(read, 0x541B, b'....'))[0], os.isatty(0))
try:
    os.truncate('/workspace/room', (64 << 20) + 1)
except OSError as error:
    print('large', errno.errorcode[error.errno])
os.truncate('/workspace/room', 64 << 20)
PROGRAM"#;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_takes_room_on_it_at_once() {
    if absent(IMAGE) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            let mut asked = on_disk("room", Purpose::Task);
            asked.limits.disk_bytes = 64 << 20;
            let said = lab.inside(&asked).await.sh(ROOM).await;
            let one =
                "fallocate ENOTSUP 0\nresvsp EPERM 0\nresvsp64 EPERM 0\nzero EPERM 0\nhigh EPERM 0\nwritten 1048576\n";
            assert_eq!(said, format!("{one}{one}pending 3 False\nlarge EFBIG"));
        },
    )
    .await;
}
