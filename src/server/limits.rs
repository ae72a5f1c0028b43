//! Limits of both listeners: connections in all and per address, and how long each lasts; of the hooks also bad signatures per minute. Beyond them
//! connections are closed at once, or answered 429 before a body is read, so that nobody can exhaust the bot or guess secrets. One address is
//! an IPv4 address, or the 64 bits of an IPv6 address that a provider gives to one client. A forge that is refused loses only time,
//! because the bot reads again by itself. Tests: below, in `webhook.rs`, and `tests/stories/hooks.rs`.

use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::serve::{IncomingStream, Listener};
use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Sleep;

const MINUTE: Duration = Duration::from_secs(60);

/// Limits of a listener; the default is the hooks'.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most connections of one address at once.
    pub connections: u32,
    /// The most bad signatures of one address per minute.
    pub bad_signatures: u32,
    /// The most connections of all addresses at once; each takes a file descriptor, of which a process often has only 1,024.
    pub total: u32,
    /// How long a request's body may take to arrive.
    pub body: Duration,
    /// How long a connection may last, with all its requests.
    pub lifetime: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        // Gitea gives up a delivery after five seconds, and makes a new connection where its last one was closed.
        let (body, lifetime) = (Duration::from_secs(10), Duration::from_secs(300));
        Self { connections: 64, bad_signatures: 30, total: 512, body, lifetime }
    }
}

/// Counters of all addresses; an address without connections and recent bad signatures is forgotten.
pub struct ClientLimits {
    limits: Limits,
    counters: Mutex<Counters>,
    /// Counts a connection that was closed at once.
    refused: fn(),
}

struct Counters {
    clients: HashMap<IpAddr, ClientCounters>,
    open: u32,
    swept: Instant,
}

impl Counters {
    /// Forgets, once in a minute, addresses that have only old bad signatures; the others go with their last connection.
    fn sweep(&mut self) {
        if self.swept.elapsed() >= MINUTE {
            self.swept = Instant::now();
            self.clients.retain(|_, client| client.open > 0 || (client.bad > 0 && client.since.elapsed() < MINUTE));
        }
    }
}

struct ClientCounters {
    open: u32,
    bad: u32,
    since: Instant,
}

impl ClientLimits {
    /// Empty counters with these limits, for the hooks.
    pub fn new(limits: Limits) -> Arc<Self> {
        Self::counting(limits, || metrics::counter!("caisson_hooks_total", "result" => "crowded").increment(1))
    }

    /// Empty counters for the operations' listener. With the hooks' connections it leaves descriptors for the rest of the process, whoever on this
    /// machine opens as many as they can. A connection lasts longer, because a page follows a task on one.
    pub fn of_operations() -> Arc<Self> {
        let limits = Limits { connections: 64, total: 128, lifetime: Duration::from_secs(3600), ..Limits::default() };
        Self::counting(limits, || metrics::counter!("caisson_ops_refused_total").increment(1))
    }

    fn counting(limits: Limits, refused: fn()) -> Arc<Self> {
        let counters = Counters { clients: HashMap::new(), open: 0, swept: Instant::now() };
        Arc::new(Self { limits, counters: Mutex::new(counters), refused })
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    fn lock(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for one more connection, released when it is dropped; none at the limit.
    fn enter(self: &Arc<Self>, from: IpAddr) -> Option<Connection> {
        let from = client_of(from);
        let mut counters = self.lock();
        counters.sweep();
        if counters.open >= self.limits.total {
            return None;
        }
        let new = || ClientCounters { open: 0, bad: 0, since: Instant::now() };
        let client = counters.clients.entry(from).or_insert_with(new);
        if client.open >= self.limits.connections {
            return None;
        }
        client.open += 1;
        counters.open += 1;
        Some(Connection { clients: Arc::clone(self), from })
    }

    /// Counts a bad signature.
    pub fn bad_signature(&self, from: IpAddr) {
        if let Some(client) = self.lock().clients.get_mut(&client_of(from)) {
            if client.since.elapsed() >= MINUTE {
                (client.bad, client.since) = (0, Instant::now());
            }
            client.bad += 1;
        }
    }

    fn is_guessing(&self, from: IpAddr) -> bool {
        let counters = self.lock();
        let client = counters.clients.get(&client_of(from));
        client.is_some_and(|it| it.bad >= self.limits.bad_signatures && it.since.elapsed() < MINUTE)
    }
}

/// The address by which a client is counted.
fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        four @ IpAddr::V4(_) => four,
    }
}

struct Connection {
    clients: Arc<ClientLimits>,
    from: IpAddr,
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut counters = self.clients.lock();
        counters.open = counters.open.saturating_sub(1);
        let Some(client) = counters.clients.get_mut(&self.from) else { return };
        client.open = client.open.saturating_sub(1);
        if client.open == 0 && client.bad == 0 {
            counters.clients.remove(&self.from);
        }
    }
}

/// A listener with its limits.
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
                Some(connection) => {
                    let end = Box::pin(tokio::time::sleep(self.clients.limits.lifetime));
                    return (CountedStream { stream, end, _connection: connection }, from);
                }
                None => (self.clients.refused)(),
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

/// One connection, which holds its place, and fails after its lifetime: also where a client sends a request's head byte by byte, or reads no
/// response.
pub struct CountedStream {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    _connection: Connection,
}

impl CountedStream {
    fn check_age(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.end.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for CountedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.check_age(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check_age(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check_age(cx)?;
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

    fn limited(connections: u32, total: u32) -> Arc<ClientLimits> {
        ClientLimits::new(Limits { connections, total, bad_signatures: 1, ..Limits::default() })
    }

    #[test]
    fn seats_are_counted_and_given_back() {
        let clients = limited(2, 100);
        let (one, two) = (clients.enter(ME), clients.enter(ME));
        assert!(one.is_some() && two.is_some() && clients.enter(ME).is_none());
        assert!(clients.enter("198.51.100.7".parse().unwrap()).is_some(), "another address has seats of its own");
        drop(one);
        assert!(clients.enter(ME).is_some());
    }

    #[test]
    fn a_network_of_ipv6_is_one_client_and_an_embedded_address_is_its_own() {
        let clients = limited(1, 100);
        let enter = |from: &str| clients.enter(from.parse().unwrap());
        let first = enter("2001:db8:1:2::1");
        assert!(first.is_some() && enter("2001:db8:1:2:ffff:ffff:ffff:ffff").is_none(), "64 bits are one client");
        let next = enter("2001:db8:1:3::1");
        assert!(next.is_some(), "the next network is another one");
        let four = enter("::ffff:198.51.100.7");
        assert!(four.is_some() && enter("198.51.100.7").is_none() && enter("::ffff:198.51.100.8").is_some());
        clients.bad_signature("2001:db8:1:2::5".parse().unwrap());
        assert!(clients.is_guessing("2001:db8:1:2::9".parse().unwrap()));
    }

    #[test]
    fn all_addresses_together_have_a_limit() {
        let clients = limited(2, 3);
        let enter = |from: &str| clients.enter(from.parse().unwrap());
        let all = [enter("198.51.100.1"), enter("198.51.100.2"), enter("198.51.100.3")];
        assert!(all.iter().all(Option::is_some) && enter("198.51.100.4").is_none());
        assert_eq!(clients.lock().clients.len(), 3, "who was refused is not counted");
        drop(all);
        assert!(clients.lock().clients.is_empty() && enter("198.51.100.4").is_some());
    }

    #[test]
    fn old_guesses_are_forgotten() {
        let clients = limited(2, 100);
        let connection = clients.enter(ME);
        clients.bad_signature(ME);
        drop(connection);
        let past = Instant::now().checked_sub(2 * MINUTE).expect("the machine has run for longer");
        let mut counters = clients.lock();
        counters.swept = past;
        counters.clients.get_mut(&ME).unwrap().since = past;
        drop(counters);
        drop(clients.enter("198.51.100.7".parse().unwrap()));
        assert!(clients.lock().clients.is_empty());
    }

    #[test]
    fn who_left_and_did_nothing_bad_is_forgotten_and_a_guesser_is_not() {
        let clients = limited(2, 100);
        drop(clients.enter(ME));
        assert!(clients.lock().clients.is_empty());
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
        let mut listener = LimitedListener { listener, clients: limited(1, 100) };
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
