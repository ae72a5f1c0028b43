//! Moves the bytes of one process: captured as text, or streamed in chunks within a window.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use nix::fcntl::{FcntlArg, fcntl};
use protocol::runner::{CHUNK, FromRunner};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};

use crate::handle::Handle;
use crate::host::FrameSender;
use crate::output::Capture;

const READ: usize = 64 << 10;
/// The largest pipe that an unprivileged process may ask for (`/proc/sys/fs/pipe-max-size`).
const WIDE: i32 = 1 << 20;

/// Both ends of a pipe, close-on-exec: reader, writer.
pub fn pipe() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let (from, to) = std::io::pipe()?;
    Ok((from.into(), to.into()))
}

/// A pipe with a large buffer, so that a writer need not wait for the reader; of the usual size where the kernel refuses it.
pub fn wide_pipe() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let (from, to) = pipe()?;
    let _ = fcntl(&to, FcntlArg::F_SETPIPE_SZ(WIDE));
    Ok((from, to))
}

/// Captures output as text. Keeps reading after the limit, because a background process must neither die of a closed pipe nor block on a
/// full one.
pub async fn capture(from: OwnedFd, into: Arc<Mutex<Capture>>) {
    let Ok(mut from) = Receiver::from_owned_fd(from) else { return };
    let mut buffer = vec![0; READ];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        into.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..count]);
    }
}

/// Writes all of the bytes, or fewer if the process ends or closes its stdin.
pub async fn give(to: OwnedFd, bytes: Vec<u8>) {
    let Ok(mut to) = Sender::from_owned_fd(to) else { return };
    let _ = to.write_all(&bytes).await;
}

/// Streams a process's stdout as fast as the host confirms it, then its end.
pub async fn send(from: OwnedFd, handle: Arc<Handle>, sender: Arc<FrameSender>) {
    let Ok(mut from) = Receiver::from_owned_fd(from) else { return handle.fail("its output can't be read") };
    let mut buffer = vec![0; CHUNK];
    let mut sent = 0_u64;
    loop {
        let Ok(count) = from.read(&mut buffer).await else { return handle.fail("its output can't be read") };
        handle.window(sent, count).await;
        if handle.is_detached() {
            return;
        }
        let head = FromRunner::Output { id: handle.id, offset: sent, last: count == 0 };
        if !sender.send_with(head, Bytes::copy_from_slice(&buffer[..count])) {
            return handle.fail("the host does not read its output");
        }
        if count == 0 {
            return;
        }
        sent += count as u64;
    }
}

/// Writes the host's bytes to a process's stdin. If the process closed it, the rest is discarded, so that the host can finish.
pub async fn receive(to: OwnedFd, handle: Arc<Handle>, sender: Arc<FrameSender>) {
    let mut to = Sender::from_owned_fd(to).ok();
    while let Some(bytes) = handle.next().await {
        if let Some(pipe) = &mut to
            && pipe.write_all(&bytes).await.is_err()
        {
            to = None;
        }
        let taken = handle.took(bytes.len());
        if !handle.is_detached() {
            // The message is dropped only if the host reads nothing, and then the stream cannot go on anyway.
            sender.send(FromRunner::Taken { id: handle.id, bytes: taken });
        }
    }
}
