//! State of a running request that is shared with the session: cancellation, input and output window.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use protocol::runner::WINDOW;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Default)]
struct Input {
    buffer: BytesMut,
    /// Bytes received, and bytes that the request has read.
    received: u64,
    taken: u64,
    last: bool,
}

#[derive(Debug)]
pub struct Handle {
    pub id: u64,
    /// Cancelled by `Cancel`, by `Quiesce`, and by a new connection if the request streams.
    pub cancel: CancellationToken,
    /// Whether the connection that read the stream is gone, so that nothing more may be sent.
    detached: AtomicBool,
    input: Mutex<Input>,
    arrived: Notify,
    /// Bytes of output that the host has confirmed.
    taken: AtomicU64,
    opened: Notify,
    fault: Mutex<Option<String>>,
}

impl Handle {
    pub fn new(id: u64) -> Self {
        Self {
            id,
            cancel: CancellationToken::new(),
            detached: AtomicBool::new(false),
            input: Mutex::default(),
            arrived: Notify::new(),
            taken: AtomicU64::new(0),
            opened: Notify::new(),
            fault: Mutex::default(),
        }
    }

    fn input(&self) -> MutexGuard<'_, Input> {
        self.input.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn detach(&self) {
        self.detached.store(true, Ordering::SeqCst);
        self.cancel.cancel();
    }

    pub fn is_detached(&self) -> bool {
        self.detached.load(Ordering::SeqCst)
    }

    /// Ends the request with a failure, because of an error of it or of its host.
    pub fn fail(&self, reason: &str) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason.to_owned());
        self.cancel.cancel();
    }

    pub fn fault(&self) -> Option<String> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds bytes for stdin; a host that exceeds the window or skips bytes ends its request.
    pub fn feed(&self, offset: u64, last: bool, bytes: &[u8]) {
        let mut input = self.input();
        let received = input.received + bytes.len() as u64;
        if input.last || offset != input.received || received > input.taken + WINDOW {
            drop(input);
            return self.fail("its input had a gap or came faster than it was taken");
        }
        input.received = received;
        input.last = last;
        input.buffer.extend_from_slice(bytes);
        drop(input);
        self.arrived.notify_one();
    }

    /// The next bytes for stdin; `None` at their end.
    pub async fn next(&self) -> Option<Bytes> {
        loop {
            {
                let mut input = self.input();
                if !input.buffer.is_empty() {
                    return Some(input.buffer.split().freeze());
                }
                if input.last {
                    return None;
                }
            }
            self.arrived.notified().await;
        }
    }

    /// Counts bytes as read by stdin and gives their sum so far.
    pub fn took(&self, bytes: usize) -> u64 {
        let mut input = self.input();
        input.taken += bytes as u64;
        input.taken
    }

    /// The host confirmed the first `bytes` bytes of output.
    pub fn open_window(&self, bytes: u64) {
        self.taken.fetch_max(bytes, Ordering::SeqCst);
        self.opened.notify_one();
    }

    /// Waits until another `len` bytes after `sent` are within the window.
    pub async fn window(&self, sent: u64, len: usize) {
        while sent + len as u64 > self.taken.load(Ordering::SeqCst).saturating_add(WINDOW) {
            self.opened.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn input_beyond_the_window_or_with_a_gap_ends_the_request() {
        let handle = Handle::new(1);
        handle.feed(0, false, &[1; 10]);
        assert!(handle.fault().is_none());
        assert_eq!(handle.next().await.map(|bytes| bytes.len()), Some(10));
        handle.feed(11, false, &[1; 10]);
        assert!(handle.fault().is_some() && handle.cancel.is_cancelled());

        let handle = Handle::new(2);
        handle.feed(0, false, &vec![1; usize::try_from(WINDOW).expect("fits")]);
        assert!(handle.fault().is_none());
        handle.feed(WINDOW, false, &[1]);
        assert!(handle.fault().is_some());
    }
}
