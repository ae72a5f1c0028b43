//! Processes that an agent might leave behind, and frames it might forge in the runner's name.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use nix::unistd::setsid;
use protocol::frame::Message;
use protocol::runner::{FromRunner, MAX_PAYLOAD, Outcome, Status};

/// Number of parents that exit at once, so that the process becomes an orphan.
pub const GENERATIONS: u32 = 2;
const TICK: Duration = Duration::from_millis(5);
/// It ends by itself after so many ticks.
const TICKS: u32 = 120_000;

/// Starts the next generation and exits.
pub fn fork(file: &str, left: u32) -> anyhow::Result<ExitCode> {
    let mut command = Command::new("/proc/self/exe");
    command.args(["probe", "daemon", file, &left.saturating_sub(1).to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(ExitCode::SUCCESS)
}

/// Starts a session; the last generation writes a byte every few milliseconds and keeps a port open.
pub fn live(file: &str, left: u32) -> anyhow::Result<ExitCode> {
    // Only a group leader is refused, and this process is none.
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

/// Writes a forged frame that ends another request into every descriptor that may lead to the host.
pub fn forge(id: u64) -> anyhow::Result<ExitCode> {
    let outcome = Outcome::new(Status::Ok, "forged");
    let frame = Message::bare(FromRunner::Finished { id, outcome }).to_frame(MAX_PAYLOAD)?;
    let mut frame = [&[0][..], &frame].concat();
    frame.push(0);
    // A refused write is the wanted result.
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
