//! Moves bytes between two connections, counting them against the caps.
//!
//! Small transfers are copied; a direction that carries much uses a kernel pipe (`splice(2)`), at a third of the processor time. An idle
//! connection allocates nothing. A direction that ends is shut down on the other side, so that half-closed connections work. Tests:
//! `router/tests/lab/`.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, splice};
use nix::sys::socket::{MsgFlags, Shutdown, recv as nix_recv, send as nix_send, shutdown};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::access::Usage;

const COPY: usize = 16 << 10;
/// Bytes after which a direction is spliced.
const SPLICE_AFTER: u64 = 256 << 10;
const PIPE: usize = 512 << 10;
/// A connection without a byte in either direction for this long is ended.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// Direction in which bytes move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the sandbox to the server.
    Up,
    /// From the server to the sandbox.
    Down,
}

/// Counts the bytes of one connection and of its rule.
#[derive(Debug)]
pub struct Meter {
    /// Bytes of this connection from the sandbox.
    pub up: AtomicU64,
    /// Bytes of this connection to the sandbox.
    pub down: AtomicU64,
    usage: Arc<Usage>,
    caps: (u64, u64),
    start: Instant,
    /// Time of the last byte, in milliseconds after `start`.
    active: AtomicU64,
}

/// Text of the error of [`Meter::add`], an `io::Error` of kind `QuotaExceeded`.
pub const OVER_CAP: &str = "the byte cap of this rule is used up";

impl Meter {
    /// A meter that also counts into `usage`, up to the `caps` (up, down) in bytes.
    #[must_use]
    pub fn new(usage: Arc<Usage>, caps: (u64, u64)) -> Meter {
        let (up, down, active) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Meter { up, down, usage, caps, start: Instant::now(), active }
    }

    /// # Errors
    /// When the rule's bytes are used up.
    pub fn add(&self, way: Direction, bytes: usize) -> io::Result<()> {
        let bytes = bytes as u64;
        let (own, all, cap) = match way {
            Direction::Up => (&self.up, &self.usage.up, self.caps.0),
            Direction::Down => (&self.down, &self.usage.down, self.caps.1),
        };
        own.fetch_add(bytes, Ordering::Relaxed);
        self.active.store(self.ms(), Ordering::Relaxed);
        if all.fetch_add(bytes, Ordering::Relaxed) + bytes > cap {
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, OVER_CAP));
        }
        Ok(())
    }

    /// Milliseconds since the meter was made.
    #[must_use]
    pub fn ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn idle(&self) -> bool {
        u128::from(self.ms() - self.active.load(Ordering::Relaxed).min(self.ms())) >= IDLE.as_millis()
    }

    /// Waits until there was no byte in either direction for so long, counted from now.
    pub async fn idle_for(&self, limit: Duration) {
        let began = self.ms();
        loop {
            let since = self.active.load(Ordering::Relaxed).max(began);
            let left = limit.saturating_sub(Duration::from_millis(self.ms().saturating_sub(since)));
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }
}

/// Sends all of `bytes`.
///
/// # Errors
/// When the other side is gone.
pub async fn send(to: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    send_as(to, bytes, MsgFlags::empty()).await
}

async fn send_as(to: &TcpStream, mut bytes: &[u8], how: MsgFlags) -> io::Result<()> {
    let how = how | MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
    while !bytes.is_empty() {
        to.writable().await?;
        match to.try_io(Interest::WRITABLE, || Ok(nix_send(to.as_raw_fd(), bytes, how)?)) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads the available bytes, at most `max`; empty at the end of the stream.
///
/// # Errors
/// When the connection broke, or was idle in both directions for too long.
pub async fn receive(from: &TcpStream, max: usize, meter: &Meter) -> io::Result<Vec<u8>> {
    loop {
        readable(from, meter).await?;
        let mut buffer = vec![0; max];
        match from.try_read(&mut buffer) {
            Ok(len) => {
                buffer.truncate(len);
                return Ok(buffer);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether the stream is at its end, with no bytes left.
fn ended(from: &TcpStream) -> bool {
    let look = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
    let found = from.try_io(Interest::READABLE, || Ok(nix_recv(from.as_raw_fd(), &mut [0], look)?));
    matches!(found, Ok(0))
}

async fn readable(from: &TcpStream, meter: &Meter) -> io::Result<()> {
    loop {
        match timeout(IDLE, from.readable()).await {
            Ok(ready) => return ready,
            Err(_) if meter.idle() => return Err(io::ErrorKind::TimedOut.into()),
            Err(_) => {}
        }
    }
}

/// Moves everything until `from` ends, then shuts `to` down in that direction.
///
/// # Errors
/// When either side broke or a cap is used up.
pub async fn pump(from: &TcpStream, to: &TcpStream, way: Direction, meter: &Meter) -> io::Result<()> {
    let mut moved = 0;
    while moved < SPLICE_AFTER {
        let bytes = receive(from, COPY, meter).await?;
        if bytes.is_empty() {
            return end(to);
        }
        if bytes.len() < COPY && ended(from) {
            // MSG_MORE, so that the last bytes and the FIN go in one packet.
            send_as(to, &bytes, MsgFlags::from_bits_retain(nix::libc::MSG_MORE)).await?;
            meter.add(way, bytes.len())?;
            return end(to);
        }
        send(to, &bytes).await?;
        moved += bytes.len() as u64;
        meter.add(way, bytes.len())?;
    }
    match Pipe::new() {
        Some(pipe) => pipe.run(from, to, way, meter).await?,
        // Without descriptors for a pipe it goes on slower.
        None => loop {
            let bytes = receive(from, 4 * COPY, meter).await?;
            if bytes.is_empty() {
                break;
            }
            send(to, &bytes).await?;
            meter.add(way, bytes.len())?;
        },
    }
    end(to)
}

/// Shuts down the direction towards `to`.
///
/// # Errors
/// When the socket refuses.
pub fn end(to: &TcpStream) -> io::Result<()> {
    match shutdown(to.as_raw_fd(), Shutdown::Write) {
        Ok(()) => {
            // Lets a task run that waited for the end, before the clean-up that follows.
            std::thread::yield_now();
            Ok(())
        }
        // The peer is already gone.
        Err(Errno::ENOTCONN) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
}

impl Pipe {
    fn new() -> Option<Pipe> {
        let (out, into) = nix::unistd::pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK).ok()?;
        // Beyond the user's limit of pipe memory this is refused; the default size works as well.
        let _ = fcntl(&into, FcntlArg::F_SETPIPE_SZ(i32::try_from(PIPE).unwrap_or(i32::MAX)));
        Some(Pipe { out, into })
    }

    async fn run(&self, from: &TcpStream, to: &TcpStream, way: Direction, meter: &Meter) -> io::Result<()> {
        loop {
            readable(from, meter).await?;
            // The pipe is empty here, so "would block" can only mean that the source has no bytes.
            let mut held = match from.try_io(Interest::READABLE, || step(from, &self.into, PIPE)) {
                Ok(0) => return Ok(()),
                Ok(held) => held,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error),
            };
            meter.add(way, held)?;
            while held > 0 {
                to.writable().await?;
                match to.try_io(Interest::WRITABLE, || step(&self.out, to, held)) {
                    Ok(sent) => held -= sent,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        held += self.more(from, held, way, meter)?
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Reads more from the source while the other side has no room. A failure means nothing here, because a full pipe and a source without
    /// bytes look alike.
    fn more(&self, from: &TcpStream, held: usize, way: Direction, meter: &Meter) -> io::Result<usize> {
        let more = if held < PIPE { step(from, &self.into, PIPE - held).unwrap_or(0) } else { 0 };
        meter.add(way, more)?;
        Ok(more)
    }
}

fn step(from: impl AsFd, to: impl AsFd, len: usize) -> io::Result<usize> {
    let flags = SpliceFFlags::SPLICE_F_MOVE | SpliceFFlags::SPLICE_F_NONBLOCK;
    Ok(splice(from, None, to, None, len, flags)?)
}
