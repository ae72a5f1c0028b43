//! The host's connection to a runner.
//!
//! Owns one connection: says Hello, sends requests, waits for results, moves streams within a window, and ends the connection at the first
//! message that it did not ask for. Input is untrusted: frames, windows and stored results are limited. Must not decide what is run, nor
//! repeat anything: a request is sent once, and a lost connection is an error that the caller handles by attaching again. Tests:
//! `link/tests.rs`, with the real runner `runner/tests/`.

mod inbox;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use protocol::runner::{CHUNK, Limits, Op, Outcome, RequestStatus, Status, ToRunner, VERSION};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use self::inbox::{Inbox, Part};
use self::wire::Wire;

/// How long a cancelled stream may take to end.
const CANCELLED: Duration = Duration::from_secs(5);

/// How long the results that a runner repeats after its Hello may take.
const REPEATED: Duration = Duration::from_secs(5);

/// Any byte stream to a runner: an attached container, a pipe, a vsock.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// How long a runner may take to answer Hello.
pub(super) const HELLO: Duration = Duration::from_secs(10);
/// Extra time for a result beyond the request's own limit: the runner's grace period after SIGTERM, and transmission.
const MARGIN: Duration = if cfg!(test) { Duration::ZERO } else { Duration::from_secs(20) };

/// Why a request over the connection failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The stream ended or broke (the container is gone, or the engine is), or a later connection took over.
    #[error("the connection to the sandbox is closed")]
    Closed,
    /// The runner or this side refused it; repeating won't help.
    #[error("the sandbox refused: {0}")]
    Refused(String),
    /// The other side sent something that was not asked for; the connection ends and the sandbox is no longer trusted.
    #[error("the sandbox broke the protocol: {0}")]
    Protocol(String),
    /// More bytes came than the caller allowed; the request was cancelled.
    #[error("more than {cap} bytes came out of the sandbox")]
    TooLarge {
        /// The most bytes that the caller allowed.
        cap: u64,
    },
    /// No answer within the request's time, after which the connection is over.
    #[error("the sandbox did not answer in time")]
    Timeout,
    /// The runner did not answer Hello in time.
    #[error("the sandbox's runner did not answer in time")]
    Silent,
}

/// The runner's answer to Hello.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// Random for each process: another value means that earlier requests may or may not have run.
    pub boot: String,
    /// SHA-256 of the runner's binary, in hex.
    pub runner: String,
    /// Requests that are not acknowledged yet.
    pub known: Vec<RequestStatus>,
    /// Why no work should begin there, in the runner's words, so untrusted.
    pub lacks: Option<String>,
}

/// One connection to one runner. Dropping it ends the connection, not the requests.
pub struct Link {
    wire: Wire,
    inbox: Arc<Inbox>,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

/// Cancels a streaming request when its caller goes away, because its stream cannot be resumed.
struct CancelOnDrop<'a> {
    link: &'a Link,
    id: u64,
    armed: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.link.wire.send_soon(ToRunner::Cancel { id: self.id });
        }
    }
}

impl Link {
    /// Takes the stream over with `epoch`, which is higher than that of every connection to the runner before. Leftovers of those are
    /// skipped; a runner that obeys a higher epoch refuses.
    ///
    /// # Errors
    /// `Refused` for a lower epoch or another protocol version, `Silent` after ten seconds, `Closed`.
    pub async fn attach(stream: Box<dyn Stream>, epoch: u64) -> Result<(Link, Welcome), LinkError> {
        Link::attach_as(stream, epoch, VERSION, HELLO).await
    }

    /// As `attach`, in the version of a runner that is known to speak another one; only operations that all versions share may be used.
    ///
    /// # Errors
    /// As those of `attach`, but `Silent` after `patience`.
    pub async fn attach_as(
        stream: Box<dyn Stream>,
        epoch: u64,
        version: u32,
        patience: Duration,
    ) -> Result<(Link, Welcome), LinkError> {
        let inbox = Arc::new(Inbox::new(epoch, version));
        let wire = Wire::start(stream, epoch, Arc::clone(&inbox));
        let link = Link { wire, inbox };
        let welcome = timeout(patience, async {
            link.wire.hello(version).await?;
            link.inbox.welcome().await
        });
        let welcome = welcome.await.map_err(|_| LinkError::Silent)??;
        Ok((link, welcome))
    }

    /// Runs `op` and waits for its result; only waits if the runner already knows `id`. Acknowledge the result once it is stored.
    ///
    /// # Errors
    /// `TooLarge` if the request does not fit a frame; `Refused` for an op that streams; `Timeout`, `Closed`, `Protocol`.
    pub async fn run(&self, id: u64, op: Op, limits: Limits) -> Result<Outcome, LinkError> {
        if op.streams() {
            return Err(LinkError::Refused("an op that streams needs Link::stream".to_owned()));
        }
        let work = async {
            if self.inbox.expect(id, false) {
                self.begin(id, op, limits).await?;
            }
            self.inbox.finished(id).await
        };
        let wall = Duration::from_millis(limits.wall_ms).saturating_add(MARGIN);
        timeout(wall, work).await.map_err(|_| self.unanswered())?
    }

    /// Whether the request was made, on this connection or on one before, and is not acknowledged yet.
    pub fn knows(&self, id: u64) -> bool {
        self.inbox.knows(id)
    }

    /// As `run`, with streams for stdin and stdout. Returns when the request has finished and all output is written. A streaming request
    /// can't be resumed on another connection. `cap`: the most bytes of output.
    ///
    /// # Errors
    /// `TooLarge` above `cap` (the request is cancelled); `Refused` if `id` is known or a local reader or writer fails.
    pub async fn stream(
        &self,
        id: u64,
        op: Op,
        limits: Limits,
        input: Option<&mut (dyn AsyncRead + Send + Unpin)>,
        output: Option<&mut (dyn AsyncWrite + Send + Unpin)>,
        cap: u64,
    ) -> Result<Outcome, LinkError> {
        let Op::Exec { input: wants, output: gives, .. } = &op else {
            return Err(LinkError::Refused("only Exec streams".to_owned()));
        };
        if *wants != input.is_some() || *gives != output.is_some() {
            return Err(LinkError::Refused("the op and its caller disagree about what streams".to_owned()));
        }
        if !self.inbox.expect(id, *gives) {
            return Err(LinkError::Refused(format!("request {id} was streamed before; its bytes are gone")));
        }
        let mut guard = CancelOnDrop { link: self, id, armed: true };
        let work = async {
            self.begin(id, op, limits).await?;
            self.move_bytes(id, input, output, cap).await
        };
        let wall = Duration::from_millis(limits.wall_ms).saturating_add(MARGIN);
        let done = timeout(wall, work).await.map_err(|_| self.unanswered())?;
        if matches!(done, Err(LinkError::TooLarge { .. } | LinkError::Refused(_))) {
            self.cancel(id).await;
            // Best effort: a finished request can be acknowledged, and the caller gets the original error.
            let _ = timeout(CANCELLED, self.inbox.finished(id)).await;
        }
        guard.armed = false;
        done
    }

    /// Asks to cancel the request; its result still comes, as `Cancelled`.
    pub async fn cancel(&self, id: u64) {
        // On a lost connection there is nothing to cancel; the next Hello decides about the request.
        let _ = self.wire.send(ToRunner::Cancel { id }, Bytes::new()).await;
    }

    /// Acknowledges a stored result, so that the runner may forget it. One that the runner repeats after its Hello is waited for, because
    /// nothing expects it once it is forgotten.
    ///
    /// # Errors
    /// `Refused` while the request still runs; `Timeout` if a result is not repeated; `Closed`, or what ended the connection.
    pub async fn ack(&self, id: u64) -> Result<(), LinkError> {
        if self.inbox.is_running(id) {
            return Err(LinkError::Refused(format!("request {id} has not finished")));
        }
        timeout(REPEATED, self.inbox.arrived(id)).await.map_err(|_| LinkError::Timeout)??;
        self.inbox.forget(id);
        self.wire.send(ToRunner::Ack { id }, Bytes::new()).await
    }

    /// Why the connection is over; none while it stands.
    pub fn end(&self) -> Option<LinkError> {
        self.inbox.over()
    }

    /// Ends the connection, because a runner ends each request within its time: whoever asks next attaches anew.
    fn unanswered(&self) -> LinkError {
        self.inbox.end(LinkError::Timeout);
        LinkError::Timeout
    }

    /// Sends the request; if that fails it counts as never made.
    async fn begin(&self, id: u64, op: Op, limits: Limits) -> Result<(), LinkError> {
        let sent = self.wire.send(ToRunner::Run { id, op, limits }, Bytes::new()).await;
        sent.inspect_err(|_| self.inbox.forget(id))
    }

    async fn move_bytes(
        &self,
        id: u64,
        input: Option<&mut (dyn AsyncRead + Send + Unpin)>,
        output: Option<&mut (dyn AsyncWrite + Send + Unpin)>,
        cap: u64,
    ) -> Result<Outcome, LinkError> {
        let feed = async {
            if let Some(reader) = input {
                self.feed(id, reader).await?;
            }
            std::future::pending::<Result<Outcome, LinkError>>().await
        };
        let drain = async {
            let whole = match output {
                Some(writer) => self.drain(id, writer, cap).await?,
                None => true,
            };
            let outcome = self.inbox.finished(id).await?;
            if outcome.status == Status::Ok && !whole {
                return Err(LinkError::Protocol(format!("request {id} succeeded before its output ended")));
            }
            Ok(outcome)
        };
        tokio::select! { fed = feed => fed, drained = drain => drained }
    }

    /// Sends the reader's bytes as fast as the request takes them.
    async fn feed(&self, id: u64, reader: &mut (dyn AsyncRead + Send + Unpin)) -> Result<(), LinkError> {
        let mut sent = 0_u64;
        let mut buffer = vec![0; CHUNK];
        loop {
            let room = self.inbox.room(id, sent).await?;
            let part = usize::try_from(room).unwrap_or(CHUNK).min(CHUNK);
            let count = reader.read(&mut buffer[..part]).await.map_err(|error| local("reading the input", &error))?;
            let body = Bytes::copy_from_slice(&buffer[..count]);
            self.wire.send(ToRunner::Input { id, offset: sent, last: count == 0 }, body).await?;
            sent += count as u64;
            if count == 0 {
                return Ok(());
            }
        }
    }

    /// Writes the request's output; true if its end was seen, false if the request finished without one.
    async fn drain(&self, id: u64, writer: &mut (dyn AsyncWrite + Send + Unpin), cap: u64) -> Result<bool, LinkError> {
        let mut taken = 0_u64;
        loop {
            let bytes = match self.inbox.output(id).await? {
                Part::Bytes(bytes) => bytes,
                Part::End => break,
                Part::Cut => return Ok(false),
            };
            taken += bytes.len() as u64;
            if taken > cap {
                return Err(LinkError::TooLarge { cap });
            }
            writer.write_all(&bytes).await.map_err(|error| local("writing the output", &error))?;
            self.inbox.took(id, taken);
            self.wire.send(ToRunner::Taken { id, bytes: taken }, Bytes::new()).await?;
        }
        writer.flush().await.map_err(|error| local("writing the output", &error))?;
        Ok(true)
    }
}

fn local(what: &str, error: &std::io::Error) -> LinkError {
    LinkError::Refused(format!("{what} failed on this side: {error}"))
}
