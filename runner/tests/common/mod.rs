//! The built runner as a plain process, used through the host's own link or through raw frames.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use caisson::sandbox::link::{Link, Welcome};
use protocol::frame::{Decoder, Message, encode};
use protocol::runner::{FromRunner, Limits, MAX_PAYLOAD, Op, Order, Outcome, Status, ToRunner, VERSION};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};

pub const LIMITS: Limits = Limits { wall_ms: 20_000, output_bytes: 64 << 10 };

pub fn limits(wall_ms: u64, output_bytes: u64) -> Limits {
    Limits { wall_ms, output_bytes }
}

/// A runner with a workspace of its own. Killed when dropped.
pub struct Runner {
    child: Child,
    pub stdin: Option<ChildStdin>,
    pub stdout: Option<ChildStdout>,
    dir: tempfile::TempDir,
}

impl Drop for Runner {
    fn drop(&mut self) {
        // SIGTERM lets it end its descendants too; SIGKILL is for a runner that hangs.
        let _ = nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(self.child.id().cast_signed()),
            nix::sys::signal::Signal::SIGTERM,
        );
        let deadline = Instant::now() + Duration::from_secs(3);
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Runner {
    pub fn start() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("workspace")).expect("a workspace");
        let mut command = Command::new(env!("CARGO_BIN_EXE_caisson-runner"));
        command.env("CAISSON_WORKSPACE", dir.path().join("workspace"));
        Self::start_as(command, dir)
    }

    /// `command` must start a runner, or pass its bytes on.
    pub fn start_as(mut command: Command, dir: tempfile::TempDir) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the runner starts");
        Self { stdin: child.stdin.take(), stdout: child.stdout.take(), child, dir }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn workspace(&self) -> PathBuf {
        self.dir.path().join("workspace").canonicalize().expect("a workspace")
    }

    /// A directory beside the workspace, outside of it.
    pub fn outside(&self) -> &Path {
        self.dir.path()
    }

    pub fn write(&self, path: &str, content: &str) {
        let path = self.workspace().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::fs::write(path, content).expect("a file");
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.workspace().join(path)).expect("a file")
    }

    pub fn wait(&mut self) -> std::process::ExitStatus {
        self.child.wait().expect("the runner ends")
    }

    /// Another connection over the same pipes, like a second attach to a container.
    pub async fn attach(&self, epoch: u64) -> (Link, Welcome) {
        Link::attach(self.stream(), epoch).await.expect("a link")
    }

    pub fn stream(&self) -> Box<Pipes> {
        let stdin = self.stdin.as_ref().expect("stdin");
        let stdout = self.stdout.as_ref().expect("stdout");
        let fd = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned().expect("a descriptor");
        use std::os::fd::AsFd;
        Box::new(Pipes {
            from: Receiver::from_owned_fd_unchecked(nonblocking(fd(stdout.as_fd()))).expect("a pipe"),
            to: Sender::from_owned_fd_unchecked(nonblocking(fd(stdin.as_fd()))).expect("a pipe"),
        })
    }

    /// The pipes for raw frames. No other connection may be open.
    pub fn raw(&mut self) -> Raw {
        Raw {
            to: self.stdin.take().expect("stdin"),
            from: self.stdout.take().expect("stdout"),
            decoder: Decoder::new(MAX_PAYLOAD),
            ready: Vec::new(),
        }
    }
}

fn nonblocking(fd: std::os::fd::OwnedFd) -> std::os::fd::OwnedFd {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    fcntl(&fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).expect("fcntl");
    fd
}

pub struct Pipes {
    from: Receiver,
    to: Sender,
}

impl AsyncRead for Pipes {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.from).poll_read(cx, buf)
    }
}

impl AsyncWrite for Pipes {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.to).poll_write(cx, buf)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.to).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.to).poll_shutdown(cx)
    }
}

pub struct Raw {
    pub to: ChildStdin,
    pub from: ChildStdout,
    decoder: Decoder,
    ready: Vec<Message<FromRunner>>,
}

impl Raw {
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.to.write_all(bytes).expect("written");
    }

    pub fn say(&mut self, epoch: u64, say: ToRunner) {
        self.say_with(epoch, say, b"");
    }

    pub fn say_with(&mut self, epoch: u64, say: ToRunner, body: &[u8]) {
        let message = Message { head: Order { epoch, say }, body: Bytes::copy_from_slice(body) };
        let frame = encode(&message.to_payload().expect("a payload"));
        self.bytes(&frame);
    }

    pub fn hello(&mut self, epoch: u64) {
        self.say(epoch, ToRunner::Hello { version: VERSION });
    }

    pub fn run(&mut self, epoch: u64, id: u64, command: &str) {
        self.say(epoch, ToRunner::Run { id, op: bash(command), limits: LIMITS });
    }

    /// The next message; panics at the end of the stream.
    pub fn next(&mut self) -> FromRunner {
        let mut buffer = vec![0; 64 << 10];
        while self.ready.is_empty() {
            let count = self.from.read(&mut buffer).expect("read");
            assert!(count > 0, "the runner closed its stdout");
            for payload in self.decoder.push(&buffer[..count]) {
                self.ready.push(Message::from_payload(payload.expect("a good frame")).expect("a message"));
            }
        }
        self.ready.remove(0).head
    }

    pub fn finished(&mut self) -> (u64, Outcome) {
        loop {
            if let FromRunner::Finished { id, outcome } = self.next() {
                return (id, outcome);
            }
        }
    }
}

pub fn bash(command: &str) -> Op {
    Op::Bash { command: command.to_owned(), whole: false }
}

pub fn exec(argv: &[&str], input: bool, output: bool) -> Op {
    let argv = argv.iter().map(|&word| word.to_owned()).collect();
    Op::Exec { argv, env: Vec::new(), cwd: String::new(), input, output }
}

/// Waits until `probe` is true, at most a minute.
pub fn eventually(what: &str, mut probe: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !probe() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A link with consecutive request ids, each acknowledged.
pub struct Requests {
    pub link: Link,
    next: std::cell::Cell<u64>,
}

impl Requests {
    pub async fn of(runner: &Runner) -> Self {
        Self { link: runner.attach(1).await.0, next: std::cell::Cell::new(1) }
    }

    pub async fn outcome(&self, op: Op) -> Outcome {
        let id = self.next.replace(self.next.get() + 1);
        let outcome = self.link.run(id, op, LIMITS).await.expect("an outcome");
        self.link.ack(id).await.expect("acknowledged");
        outcome
    }

    pub async fn run(&self, command: &str) -> Outcome {
        self.outcome(Op::Shell { command: command.to_owned(), background: false }).await
    }

    pub async fn start(&self, command: &str) -> Outcome {
        self.outcome(Op::Shell { command: command.to_owned(), background: true }).await
    }

    /// The result's text, or why it failed.
    pub async fn text(&self, op: Op) -> String {
        let outcome = self.outcome(op).await;
        match outcome.status {
            Status::Ok => outcome.text,
            Status::Failed { reason } => format!("failed: {reason}"),
            other => panic!("{other:?}"),
        }
    }

    /// The output of a command that must succeed.
    pub async fn printed(&self, command: &str) -> String {
        let outcome = self.run(command).await;
        assert_eq!(outcome.status, Status::Ok, "{command}: {}", outcome.text);
        outcome.text
    }
}
