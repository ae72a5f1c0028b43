//! The two tasks of a connection: one writes frames in order, one reads them into the inbox.
//!
//! The only part of the connection that uses the stream.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use protocol::frame::{BadFrame, Decoder, Message, encode};
use protocol::runner::{FromRunner, MAX_PAYLOAD, Order, ToRunner};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::inbox::Inbox;
use super::{LinkError, Stream};

/// The most frames that wait for the stream, each slightly larger than `MAX_PAYLOAD` at most.
const QUEUE: usize = 16;
/// How long queued frames may still be written after the connection is dropped.
const LAST_WORDS: Duration = Duration::from_secs(2);
const READ: usize = 64 << 10;

pub(super) struct Wire {
    epoch: u64,
    queue: mpsc::Sender<Vec<u8>>,
    inbox: Arc<Inbox>,
    reader: JoinHandle<()>,
    /// Dropped with the wire, which starts the writer's last two seconds.
    _alive: oneshot::Sender<()>,
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Wire {
    pub(super) fn start(stream: Box<dyn Stream>, epoch: u64, inbox: Arc<Inbox>) -> Self {
        let (from, to) = tokio::io::split(stream);
        let (queue, frames) = mpsc::channel(QUEUE);
        let (alive, dropped) = oneshot::channel();
        let reader = tokio::spawn(read(from, Arc::clone(&inbox)));
        tokio::spawn(write(to, frames, dropped, Arc::clone(&inbox)));
        Self { epoch, queue, inbox, reader, _alive: alive }
    }

    /// Ends an incomplete frame of another host in the runner's stdin, then says Hello.
    pub(super) async fn hello(&self, version: u32) -> Result<(), LinkError> {
        let mut frame = vec![0];
        frame.extend(self.frame(ToRunner::Hello { version }, Bytes::new())?);
        self.enqueue(frame).await
    }

    pub(super) async fn send(&self, say: ToRunner, body: Bytes) -> Result<(), LinkError> {
        let frame = self.frame(say, body)?;
        self.enqueue(frame).await
    }

    /// Sends without waiting; dropped if the queue is full.
    pub(super) fn send_soon(&self, say: ToRunner) {
        if let Ok(frame) = self.frame(say, Bytes::new()) {
            let _ = self.queue.try_send(frame);
        }
    }

    fn frame(&self, say: ToRunner, body: Bytes) -> Result<Vec<u8>, LinkError> {
        let message = Message { head: Order { epoch: self.epoch, say }, body };
        let payload = message.to_payload().map_err(|error| LinkError::Refused(error.to_string()))?;
        if payload.len() > MAX_PAYLOAD {
            return Err(LinkError::TooLarge { cap: MAX_PAYLOAD as u64 });
        }
        Ok(encode(&payload))
    }

    async fn enqueue(&self, frame: Vec<u8>) -> Result<(), LinkError> {
        tokio::select! {
            biased;
            end = self.inbox.ended() => Err(end),
            sent = self.queue.send(frame) => sent.map_err(|_| LinkError::Closed),
        }
    }
}

async fn write(
    mut to: WriteHalf<Box<dyn Stream>>,
    mut frames: mpsc::Receiver<Vec<u8>>,
    dropped: oneshot::Receiver<()>,
    inbox: Arc<Inbox>,
) {
    let work = async {
        while let Some(frame) = frames.recv().await {
            to.write_all(&frame).await?;
            if frames.is_empty() {
                to.flush().await?;
            }
        }
        std::io::Result::Ok(())
    };
    let limit = async {
        let _ = dropped.await;
        tokio::time::sleep(LAST_WORDS).await;
    };
    tokio::select! {
        done = work => if done.is_err() { inbox.end(LinkError::Closed) },
        () = limit => {}
    }
}

/// Ends the connection when its reader ends, so that nobody waits for an answer for ever.
struct Reading(Arc<Inbox>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.end(LinkError::Closed);
    }
}

async fn read(mut from: ReadHalf<Box<dyn Stream>>, inbox: Arc<Inbox>) {
    let _reading = Reading(Arc::clone(&inbox));
    let mut decoder = Decoder::new(MAX_PAYLOAD);
    let mut buffer = vec![0; READ];
    loop {
        let count = match from.read(&mut buffer).await {
            Ok(0) | Err(_) => return inbox.end(LinkError::Closed),
            Ok(count) => count,
        };
        for frame in decoder.push(&buffer[..count]) {
            if let Err(end) = judge(frame, &inbox) {
                return inbox.end(end);
            }
        }
    }
}

/// An unreadable frame is a leftover before the welcome, and a violation after it.
fn judge(frame: Result<Vec<u8>, BadFrame>, inbox: &Inbox) -> Result<(), LinkError> {
    match frame.and_then(Message::<FromRunner>::from_payload) {
        Ok(message) => inbox.take(message),
        Err(_) if !inbox.is_welcomed() => Ok(()),
        Err(error) => Err(LinkError::Protocol(error.to_string())),
    }
}
