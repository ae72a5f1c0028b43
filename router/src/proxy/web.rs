//! Plain HTTP: one request per connection, judged and written anew.
//!
//! The request is sent with `Connection: close`; its body is followed to its end and nothing after it is sent on, so that no second request
//! with another Host passes. A websocket may pass data once the server agreed with 101. Parsing of heads: `head`. Tests:
//! `router/tests/lab/`.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::deny::DenialProtocol;
use super::head::{Body, Chunks, MAX_HEAD, Request, find_end, judge};
use super::pump::{Direction, pump, receive, send};
use super::session::{End, HEAD_TIME, Session, broken};

/// How long a server may take to answer an upgrade.
const UPGRADE_TIME: Duration = Duration::from_secs(30);
/// How long a client that got its whole answer may take to end its side.
const LINGER: Duration = Duration::from_secs(5);
/// The most bytes after the request that are read from the client.
const BEHIND: usize = 256 << 10;

impl Session<'_> {
    /// Reads one request, checks it, and copies it and its answer.
    pub async fn web(&mut self, first: Vec<u8>) -> Result<(), End> {
        let deadline = Instant::now() + HEAD_TIME;
        let mut bytes = first;
        let end = loop {
            match find_end(&bytes) {
                Ok(Some(end)) => break end,
                Ok(None) => {}
                Err(_) if bytes.first() == Some(&22) => {
                    return super::session::denied(DenialProtocol::None, "TLS on the port of plain HTTP");
                }
                Err(refusal) => return self.refusal(refusal),
            }
            if bytes.first() == Some(&22) {
                return super::session::denied(DenialProtocol::None, "TLS on the port of plain HTTP");
            }
            bytes.extend(self.hear(deadline, DenialProtocol::Http(408), "no request in time").await?);
        };
        let request = match judge(&bytes[..end], &self.ticket.name, self.ticket.port) {
            Ok(request) => request,
            Err(refusal) => return self.refusal(refusal),
        };
        let rest = bytes.split_off(end);
        self.connect(DenialProtocol::Http(502)).await?;
        let Some(upstream) = &self.upstream else { return Err(End::Broken("not connected".to_owned())) };
        self.meter.add(Direction::Up, request.head.len()).map_err(broken)?;
        send(upstream, &request.head).await.map_err(broken)?;
        super::tune(upstream);
        if request.upgrade {
            self.websocket(upstream, rest).await
        } else {
            self.exchange(upstream, &request, rest).await
        }
    }

    /// Copies the body up and the answer down, until the answer ends.
    async fn exchange(&self, upstream: &TcpStream, request: &Request, rest: Vec<u8>) -> Result<(), End> {
        let up = async {
            self.body(upstream, request.body, rest).await?;
            if self.discard().await? {
                // A client that only ended its side may still wait for the answer, one that is gone looks the same.
                self.meter.idle_for(self.after_end).await;
                return Err(io::Error::from(io::ErrorKind::TimedOut));
            }
            // The client is no longer read; the answer decides when the connection ends.
            std::future::pending::<io::Result<()>>().await
        };
        let down = pump(upstream, &self.client, Direction::Down, &self.meter);
        tokio::select! {
            Err(error) = up => Err(broken(error)),
            answered = down => {
                answered.map_err(broken)?;
                // What still comes would reset a closed connection, and with it go the answer's bytes that the client has not got yet.
                let _ = timeout(LINGER, self.drain()).await;
                Ok(())
            }
        }
    }

    /// Reads and drops everything until the client ends its side.
    async fn drain(&self) -> io::Result<()> {
        while !receive(&self.client, 16 << 10, &self.meter).await?.is_empty() {}
        Ok(())
    }

    /// Sends exactly the request's body.
    async fn body(&self, upstream: &TcpStream, body: Body, rest: Vec<u8>) -> io::Result<()> {
        let mut bytes = rest;
        let mut left = match body {
            Body::Length(length) => length,
            Body::Chunked => return self.chunked(upstream, bytes).await,
        };
        while left > 0 {
            if bytes.is_empty() {
                bytes = receive(&self.client, 64 << 10, &self.meter).await?;
                if bytes.is_empty() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            let own = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            self.meter.add(Direction::Up, own)?;
            send(upstream, &bytes[..own]).await?;
            left -= own as u64;
            bytes.clear();
        }
        Ok(())
    }

    async fn chunked(&self, upstream: &TcpStream, rest: Vec<u8>) -> io::Result<()> {
        let mut chunks = Chunks::default();
        let mut bytes = rest;
        loop {
            let (own, done) =
                chunks.push(&bytes).map_err(|refusal| io::Error::new(io::ErrorKind::InvalidData, refusal))?;
            self.meter.add(Direction::Up, own)?;
            send(upstream, &bytes[..own]).await?;
            if done {
                return Ok(());
            }
            bytes = receive(&self.client, 64 << 10, &self.meter).await?;
            if bytes.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Reads and drops what follows the request, so that it is never sent on. Whether the client ended its side.
    async fn discard(&self) -> io::Result<bool> {
        let mut behind = 0;
        while behind < BEHIND {
            let bytes = receive(&self.client, 4 << 10, &self.meter).await?;
            if bytes.is_empty() {
                return Ok(true);
            }
            behind += bytes.len();
        }
        Ok(false)
    }

    /// Sends nothing until the server switched protocols; if it does not, only its answer passes.
    async fn websocket(&self, upstream: &TcpStream, rest: Vec<u8>) -> Result<(), End> {
        let mut answer = Vec::new();
        let deadline = Instant::now() + UPGRADE_TIME;
        while !answer.windows(4).any(|four| four == b"\r\n\r\n") {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(bytes) = timeout(left, receive(upstream, 4 << 10, &self.meter)).await else {
                return Err(End::Failed {
                    answer_as: DenialProtocol::Http(502),
                    reason: "no answer to the upgrade in time".to_owned(),
                });
            };
            let bytes = bytes.map_err(broken)?;
            answer.extend_from_slice(&bytes);
            if bytes.is_empty() || answer.len() > MAX_HEAD {
                break;
            }
        }
        self.meter.add(Direction::Down, answer.len()).map_err(broken)?;
        send(&self.client, &answer).await.map_err(broken)?;
        if answer.starts_with(b"HTTP/1.1 101 ") {
            return self.carry(&rest).await;
        }
        super::pump::end(upstream).map_err(broken)?;
        pump(upstream, &self.client, Direction::Down, &self.meter).await.map_err(broken)
    }
}
