//! One connection: detects its protocol, checks the name in it, connects, and copies.
//!
//! The client's first bytes are judged before anything is asked upstream or sent out. Port 443 must be TLS, port 80 HTTP; on other ports
//! TLS and HTTP are recognised and their names checked as well, and anything else is copied as it is. Must not decide about hosts and
//! ports, which the access control does. Tests: `router/tests/lab/`.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use super::deny::{ACCESS_DENIED, DenialProtocol, INTERNAL_ERROR, break_off, refuse};
use super::head::Refusal;
use super::hello::{HelloError, HelloReader};
use super::pump::{Direction, Meter, pump, receive, send};
use crate::access::{AccessControl, Ticket};
use crate::dns::resolve::{ResolveError, Resolver};

/// How long a client may take until its hello or its request's head is complete.
pub const HEAD_TIME: Duration = Duration::from_secs(10);
/// On a port of no known protocol: how long the client may be silent before the server is connected to, in case it speaks first.
const SERVER_FIRST: Duration = Duration::from_millis(250);
/// Line ends in front of the first words on such a port; what begins with more is refused as HTTP.
const MAX_BLANK: usize = 1024;
const CONNECT: Duration = Duration::from_secs(5);
const AFTER_END: Duration = Duration::from_secs(60);
const TRIES: usize = 3;

#[derive(Debug)]
pub enum End {
    Done,
    Denied {
        answer_as: DenialProtocol,
        reason: String,
    },
    Failed {
        answer_as: DenialProtocol,
        reason: String,
    },
    /// The permission was taken back or used up while it was open, or the request's body is malformed.
    Cut(String),
    /// One side broke the connection off, or its subnet was closed.
    Broken(String),
}

pub struct Session<'a> {
    pub access: &'a AccessControl,
    pub resolver: &'a Resolver,
    pub ticket: &'a Ticket,
    pub client: TcpStream,
    pub upstream: Option<TcpStream>,
    pub meter: Meter,
    /// The name inside TLS or the Host header, if one was seen.
    pub sni: Option<String>,
    pub ip: Option<Ipv4Addr>,
    /// How long a connection of plain HTTP may be idle once the client ended its side.
    pub after_end: Duration,
}

type Step<T> = Result<T, End>;

pub fn denied<T>(answer_as: DenialProtocol, reason: impl Into<String>) -> Step<T> {
    Err(End::Denied { answer_as, reason: reason.into() })
}

pub fn broken(error: io::Error) -> End {
    match error.kind() {
        io::ErrorKind::QuotaExceeded => End::Cut(super::pump::OVER_CAP.to_owned()),
        io::ErrorKind::TimedOut => End::Broken("idle for too long".to_owned()),
        // A body that is no valid chunked coding; no error of a socket has this kind.
        io::ErrorKind::InvalidData => End::Cut(error.to_string()),
        kind => End::Broken(format!("connection lost: {kind}")),
    }
}

impl<'a> Session<'a> {
    pub fn new(
        access: &'a AccessControl,
        resolver: &'a Resolver,
        ticket: &'a Ticket,
        client: TcpStream,
    ) -> Session<'a> {
        let meter = Meter::new(ticket.usage.clone(), ticket.caps);
        Session { access, resolver, ticket, client, upstream: None, meter, sni: None, ip: None, after_end: AFTER_END }
    }

    pub async fn run(&mut self) -> End {
        let end = match self.ticket.port {
            443 => self.tls(Vec::new()).await,
            80 => self.web(Vec::new()).await,
            _ => self.unknown().await,
        };
        end.err().unwrap_or(End::Done)
    }

    /// Closes both sides in a way that fits the end.
    pub async fn finish(self, end: End) {
        match end {
            End::Done => {}
            End::Denied { answer_as, reason } | End::Failed { answer_as, reason } => {
                if let Some(upstream) = &self.upstream {
                    break_off(upstream);
                }
                let shown = format!("{}:{}: {reason}", self.ticket.name, self.ticket.port);
                refuse(&self.client, answer_as, &shown).await;
            }
            End::Cut(_) | End::Broken(_) => {
                break_off(&self.client);
                self.upstream.iter().for_each(break_off);
            }
        }
    }

    /// Collects the hello, checks its name, and only then connects.
    async fn tls(&mut self, first: Vec<u8>) -> Step<()> {
        let deadline = Instant::now() + HEAD_TIME;
        let mut reader = HelloReader::default();
        let mut bytes = first;
        let hello = loop {
            match reader.push(&bytes) {
                Ok(Some(hello)) => break hello,
                Ok(None) => {}
                // A client that does not speak TLS can't read an alert.
                Err(error @ HelloError::NotTls) => return denied(DenialProtocol::None, error.to_string()),
                Err(error) => return denied(DenialProtocol::Tls(ACCESS_DENIED), error.to_string()),
            }
            bytes = self.hear(deadline, DenialProtocol::None, "no TLS hello in time").await?;
        };
        self.sni.clone_from(&hello.sni);
        match hello.sni {
            None => return denied(DenialProtocol::Tls(ACCESS_DENIED), "no server name in the TLS hello"),
            Some(sni) if sni != *self.ticket.name => {
                return denied(DenialProtocol::Tls(ACCESS_DENIED), format!("TLS asks for another name, {sni}"));
            }
            Some(_) if hello.ech && self.ticket.refuse_ech => {
                return denied(DenialProtocol::Tls(ACCESS_DENIED), "the TLS hello may hide another name (ECH)");
            }
            Some(_) => {}
        }
        self.connect(DenialProtocol::Tls(INTERNAL_ERROR)).await?;
        self.carry(reader.wire()).await
    }

    /// Waits for more of the client's first bytes.
    pub async fn hear(&mut self, deadline: Instant, late: DenialProtocol, why: &str) -> Step<Vec<u8>> {
        match timeout_at(deadline, receive(&self.client, 16 << 10, &self.meter)).await {
            Err(_) => denied(late, why),
            Ok(Err(error)) => Err(broken(error)),
            Ok(Ok(bytes)) if bytes.is_empty() => Err(End::Broken("closed before it asked for anything".to_owned())),
            Ok(Ok(bytes)) => Ok(bytes),
        }
    }

    /// A port of no known protocol: the first bytes of either side decide.
    async fn unknown(&mut self) -> Step<()> {
        // Readiness alone may be spurious, so a byte is peeked at.
        let (mut byte, mut other) = ([0], [0]);
        if timeout(SERVER_FIRST, self.client.peek(&mut byte)).await.is_err() {
            self.connect(DenialProtocol::None).await?;
            let Some(upstream) = &self.upstream else { return Err(End::Broken("not connected".to_owned())) };
            tokio::select! {
                said = self.client.peek(&mut byte) => drop(said.map_err(broken)?),
                _ = upstream.peek(&mut other) => return self.carry(&[]).await,
            }
        }
        let deadline = Instant::now() + HEAD_TIME;
        let mut first = Vec::new();
        loop {
            first.extend(self.hear(deadline, DenialProtocol::None, "no first words in time").await?);
            match detect(&first) {
                ClientProtocol::Tls => return self.tls(first).await,
                ClientProtocol::Http => return self.web(first).await,
                ClientProtocol::Other => break,
                ClientProtocol::Unclear => {}
            }
        }
        self.connect(DenialProtocol::None).await?;
        self.carry(&first).await
    }

    /// Resolves the name, checks every address, and connects to one of them.
    pub async fn connect(&mut self, answer_as: DenialProtocol) -> Step<()> {
        if self.upstream.is_some() {
            return Ok(());
        }
        let name = &*self.ticket.name;
        let addresses = match self.resolver.resolve(name, |address| self.access.refuses(address)).await {
            Ok(addresses) => addresses,
            Err(error @ ResolveError::Private(address)) => {
                self.ip = Some(address);
                let answer_as =
                    if let DenialProtocol::Http(_) = answer_as { DenialProtocol::Http(403) } else { answer_as };
                return denied(answer_as, error.to_string());
            }
            Err(error) => return Err(End::Failed { answer_as, reason: error.to_string() }),
        };
        let mut reason = String::new();
        for address in addresses.iter().take(TRIES) {
            self.ip = Some(*address);
            match timeout(CONNECT, TcpStream::connect((*address, self.ticket.port))).await {
                Ok(Ok(stream)) => {
                    self.upstream = Some(stream);
                    return Ok(());
                }
                Ok(Err(error)) => reason = format!("could not connect to {address}: {}", error.kind()),
                Err(_) => reason = format!("could not connect to {address} in time"),
            }
        }
        Err(End::Failed { answer_as, reason })
    }

    /// Sends the bytes read so far, then copies in both directions.
    pub async fn carry(&self, first: &[u8]) -> Step<()> {
        let Some(upstream) = &self.upstream else { return Err(End::Broken("not connected".to_owned())) };
        self.meter.add(Direction::Up, first.len()).map_err(broken)?;
        let up = async {
            send(upstream, first).await?;
            // Set after the first bytes were sent, so that they need not wait for it.
            super::tune(upstream);
            pump(&self.client, upstream, Direction::Up, &self.meter).await
        };
        let down = pump(upstream, &self.client, Direction::Down, &self.meter);
        tokio::try_join!(up, down).map_err(broken)?;
        Ok(())
    }

    pub fn refusal<T>(&mut self, refusal: Refusal) -> Step<T> {
        self.sni = refusal.host;
        denied(DenialProtocol::Http(refusal.status), refusal.reason)
    }
}

#[derive(Debug, PartialEq)]
enum ClientProtocol {
    Tls,
    Http,
    Other,
    /// The bytes so far fit more than one protocol.
    Unclear,
}

fn detect(first: &[u8]) -> ClientProtocol {
    const METHODS: [&str; 10] =
        ["GET ", "HEAD ", "POST ", "PUT ", "PATCH ", "DELETE ", "OPTIONS ", "CONNECT ", "TRACE ", "PRI "];
    // A server may skip empty lines in front of a request; the parser of HTTP refuses them.
    let blank = first.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let words = &first[blank..];
    if first.first() == Some(&22) {
        ClientProtocol::Tls
    } else if blank > MAX_BLANK || METHODS.iter().any(|method| words.starts_with(method.as_bytes())) {
        ClientProtocol::Http
    } else if METHODS.iter().any(|method| method.as_bytes().starts_with(words)) {
        ClientProtocol::Unclear
    } else {
        ClientProtocol::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_words_tell_the_protocol() {
        assert_eq!(detect(b"\x16\x03"), ClientProtocol::Tls);
        assert_eq!(detect(b"GET / HT"), ClientProtocol::Http);
        assert_eq!(detect(b"P"), ClientProtocol::Unclear);
        assert_eq!(detect(b"SSH-2.0-x"), ClientProtocol::Other);
        assert_eq!(detect(b"GETX"), ClientProtocol::Other);
    }

    #[test]
    fn empty_lines_in_front_hide_no_request() {
        for blank in ["\r\n", "\n", "\r", "\r\n\r\n\n"] {
            let after = |words: &str| detect(format!("{blank}{words}").as_bytes());
            assert_eq!(after("GET / HT"), ClientProtocol::Http, "{blank:?}");
            assert_eq!((after(""), after("GE")), (ClientProtocol::Unclear, ClientProtocol::Unclear), "{blank:?}");
            assert_eq!(after("SSH-2.0-x"), ClientProtocol::Other, "{blank:?}");
        }
        assert_eq!(detect(&[b'\n'; MAX_BLANK]), ClientProtocol::Unclear);
        assert_eq!(detect(&[b'\n'; MAX_BLANK + 1]), ClientProtocol::Http, "and refused, instead of stored on and on");
    }
}
