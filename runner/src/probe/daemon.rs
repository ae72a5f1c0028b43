//! What an agent might leave behind, or say in the runner's name.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use nix::unistd::setsid;
use protocol::frame::Message;
use protocol::runner::{FromRunner, MAX_PAYLOAD, Outcome, Status};

/// Parents that end at once: the second is nobody's child any more.
pub const GENERATIONS: u32 = 2;
const TICK: Duration = Duration::from_millis(5);
/// It ends by itself if nobody stops it.
const TICKS: u32 = 120_000;

/// Starts the next generation and ends.
pub fn fork(file: &str, left: u32) -> anyhow::Result<ExitCode> {
    let mut command = Command::new("/proc/self/exe");
    command.args(["probe", "daemon", file, &left.saturating_sub(1).to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(ExitCode::SUCCESS)
}

/// In a session of its own; the last generation writes a byte every few milliseconds and keeps a port open.
pub fn live(file: &str, left: u32) -> anyhow::Result<ExitCode> {
    // Only a leader of a group is refused, and this is none.
    let _ = setsid();
    if left > 0 {
        return fork(file, left);
    }
    let _listener = TcpListener::bind("0.0.0.0:0");
    for _ in 0..TICKS {
        OpenOptions::new().create(true).append(true).open(file)?.write_all(b".")?;
        std::thread::sleep(TICK);
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a whole frame that says another request has ended, into every descriptor that leads anywhere.
pub fn forge(id: u64) -> anyhow::Result<ExitCode> {
    let outcome = Outcome::new(Status::Ok, "forged");
    let frame = Message::bare(FromRunner::Finished { id, outcome }).to_frame(MAX_PAYLOAD)?;
    let mut frame = [&[0][..], &frame].concat();
    frame.push(0);
    // What is refused is what was hoped for.
    let _ = nix::unistd::write(std::io::stdout().as_fd(), &frame);
    let _ = nix::unistd::write(std::io::stderr().as_fd(), &frame);
    for number in 0..64 {
        for process in ["1", "self"] {
            let path = format!("/proc/{process}/fd/{number}");
            let _ = OpenOptions::new().write(true).open(path).and_then(|mut it| it.write_all(&frame));
        }
    }
    Ok(ExitCode::SUCCESS)
}
