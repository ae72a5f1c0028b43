//! Limits in front of the hooks: connections per address, and bad signatures per minute. Beyond them connections are closed at once, or
//! answered 429 before a body is read, so that nobody can exhaust the bot or guess secrets. A forge that is refused loses only time,
//! because the bot reads again by itself. Tests: below, and `tests/stories/hooks.rs`.

use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::serve::{IncomingStream, Listener};
use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

const MINUTE: Duration = Duration::from_secs(60);

/// Limits of each address.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most connections at once.
    pub connections: u32,
    /// The most bad signatures per minute.
    pub bad_signatures: u32,
}

/// Counters of each address; an address without connections and recent bad signatures is forgotten.
pub struct ClientLimits {
    limits: Limits,
    seen: Mutex<HashMap<IpAddr, ClientCounters>>,
}

struct ClientCounters {
    open: u32,
    bad: u32,
    since: Instant,
}

impl ClientLimits {
    /// Empty counters with these limits.
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, seen: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, ClientCounters>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for one more connection, released when it is dropped; none at the limit.
    fn enter(self: &Arc<Self>, from: IpAddr) -> Option<Connection> {
        let mut seen = self.lock();
        seen.retain(|_, client| client.open > 0 || (client.bad > 0 && client.since.elapsed() < MINUTE));
        let client = seen.entry(from).or_insert_with(|| ClientCounters { open: 0, bad: 0, since: Instant::now() });
        if client.open >= self.limits.connections {
            return None;
        }
        client.open += 1;
        Some(Connection { clients: Arc::clone(self), from })
    }

    /// Counts a bad signature.
    pub fn bad_signature(&self, from: IpAddr) {
        if let Some(client) = self.lock().get_mut(&from) {
            if client.since.elapsed() >= MINUTE {
                (client.bad, client.since) = (0, Instant::now());
            }
            client.bad += 1;
        }
    }

    fn is_guessing(&self, from: IpAddr) -> bool {
        let seen = self.lock();
        seen.get(&from).is_some_and(|it| it.bad >= self.limits.bad_signatures && it.since.elapsed() < MINUTE)
    }
}

struct Connection {
    clients: Arc<ClientLimits>,
    from: IpAddr,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(client) = self.clients.lock().get_mut(&self.from) {
            client.open = client.open.saturating_sub(1);
        }
    }
}

/// The listener of the hooks with its limits.
pub struct LimitedListener {
    /// The listening port.
    pub listener: TcpListener,
    /// Counters of each address.
    pub clients: Arc<ClientLimits>,
}

impl Listener for LimitedListener {
    type Io = CountedStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (CountedStream, SocketAddr) {
        loop {
            let (stream, from) = Listener::accept(&mut self.listener).await;
            match self.clients.enter(from.ip()) {
                Some(connection) => return (CountedStream { stream, _connection: connection }, from),
                None => metrics::counter!("caisson_hooks_total", "result" => "crowded").increment(1),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Address that a request comes from.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

impl Connected<IncomingStream<'_, LimitedListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, LimitedListener>) -> Self {
        Peer(stream.remote_addr().ip())
    }
}

/// Refuses addresses with too many bad signatures before a body is read.
pub(super) async fn guard(
    State(clients): State<Arc<ClientLimits>>,
    ConnectInfo(Peer(from)): ConnectInfo<Peer>,
    request: Request,
    next: Next,
) -> Response {
    if clients.is_guessing(from) {
        metrics::counter!("caisson_hooks_total", "result" => "guessing").increment(1);
        let text = "too many bad signatures came from this address; wait a minute";
        return (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "60")], text).into_response();
    }
    next.run(request).await
}

/// One connection, which holds its place.
pub struct CountedStream {
    stream: TcpStream,
    _connection: Connection,
}

impl AsyncRead for CountedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn seats_are_counted_and_given_back() {
        let clients = ClientLimits::new(Limits { connections: 2, bad_signatures: 1 });
        let (one, two) = (clients.enter(ME), clients.enter(ME));
        assert!(one.is_some() && two.is_some() && clients.enter(ME).is_none());
        assert!(clients.enter("198.51.100.7".parse().unwrap()).is_some(), "another address has seats of its own");
        drop(one);
        assert!(clients.enter(ME).is_some());
    }

    #[test]
    fn who_left_and_did_nothing_bad_is_forgotten_and_a_guesser_is_not() {
        let clients = ClientLimits::new(Limits { connections: 2, bad_signatures: 1 });
        drop(clients.enter(ME));
        drop(clients.enter("198.51.100.7".parse().unwrap()));
        assert_eq!(clients.lock().len(), 1);
        let connection = clients.enter(ME);
        clients.bad_signature(ME);
        drop(connection);
        drop(clients.enter("198.51.100.7".parse().unwrap()));
        assert!(clients.is_guessing(ME), "leaving does not wash it off");
    }

    #[tokio::test]
    async fn a_connection_beyond_the_limit_is_closed_at_once() {
        use tokio::io::AsyncReadExt;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut listener =
            LimitedListener { listener, clients: ClientLimits::new(Limits { connections: 1, bad_signatures: 1 }) };
        let _first = TcpStream::connect(address).await.unwrap();
        let (stream, _) = Listener::accept(&mut listener).await;
        let waiting = tokio::spawn(async move { Listener::accept(&mut listener).await });
        let mut second = TcpStream::connect(address).await.unwrap();
        assert!(matches!(second.read(&mut [0; 8]).await, Ok(0) | Err(_)), "nothing is said to it");
        drop(stream);
        let _third = TcpStream::connect(address).await.unwrap();
        waiting.await.unwrap();
    }
}
