//! The runner's connection to the host: bytes in, frames out, on two threads of their own.
//!
//! A host that stops reading blocks one thread and nothing else. The queue to it is bounded; dropping frames is harmless, because results
//! are kept in the table until they are acknowledged, and a stream with a gap ends its request.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use nix::unistd::{dup2_stdin, dup2_stdout};
use protocol::frame::Message;
use protocol::runner::{FromRunner, MAX_PAYLOAD};
use tokio::sync::mpsc;

/// The most frames that wait for the host to read; streams are limited by their windows long before.
const QUEUE: usize = 1024;
/// The most pieces of input that wait for the session.
const PIECES: usize = 4;
const PIECE: usize = 64 << 10;

/// Sends frames to the attached host; never blocks.
pub struct FrameSender {
    frames: mpsc::Sender<Vec<u8>>,
}

impl FrameSender {
    /// False if the queue is full and the message was dropped.
    pub fn send(&self, head: FromRunner) -> bool {
        self.send_with(head, Bytes::new())
    }

    pub fn send_with(&self, head: FromRunner, body: Bytes) -> bool {
        let Ok(frame) = Message { head, body }.to_frame(MAX_PAYLOAD) else { return false };
        self.frames.try_send(frame).is_ok()
    }
}

pub struct Host {
    pub pieces: mpsc::Receiver<Vec<u8>>,
    pub sender: Arc<FrameSender>,
}

impl Host {
    /// Takes over stdin and stdout, so that no child and no stray `print` uses them; their numbers then lead to `/dev/null` and stderr.
    pub fn take_over_stdio() -> anyhow::Result<Self> {
        let input = private(std::io::stdin().as_fd())?;
        let output = private(std::io::stdout().as_fd())?;
        if let Ok(null) = File::open("/dev/null") {
            dup2_stdin(&null)?;
        }
        dup2_stdout(std::io::stderr().as_fd())?;
        let (to_us, pieces) = mpsc::channel(PIECES);
        let (frames, queue) = mpsc::channel(QUEUE);
        thread::Builder::new().name("from-host".to_owned()).spawn(move || read(File::from(input), &to_us))?;
        thread::Builder::new().name("to-host".to_owned()).spawn(move || write(File::from(output), queue))?;
        Ok(Self { pieces, sender: Arc::new(FrameSender { frames }) })
    }
}

/// A copy of a descriptor that no child inherits.
fn private(fd: BorrowedFd<'_>) -> std::io::Result<OwnedFd> {
    // The standard library duplicates with close-on-exec, above the three standard numbers.
    fd.try_clone_to_owned()
}

fn read(mut input: File, to_us: &mpsc::Sender<Vec<u8>>) {
    let mut buffer = vec![0; PIECE];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                if to_us.blocking_send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn write(mut output: File, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(frame) = queue.blocking_recv() {
        // A reader that went away may come back (an attached container never reports it), so only this frame is lost.
        let _ = output.write_all(&frame);
    }
}
