//! Asks the upstream resolver for an allowed name's addresses and checks them.
//!
//! The only code that sends a name out of the router, and only for a connection that the policy allowed, never for a look-up alone. One
//! private address among the answers refuses all of them (against DNS rebinding). Keeps a small cache.
//! Tests: `router/tests/lab/` (rebinding, no query for denied names); reading answers: `router/tests/parsers.rs`.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::wire;

const TRIES: u32 = 3;
const WAIT: Duration = Duration::from_millis(1500);
const CACHE: usize = 1024;
/// Seconds that an answer is cached: at least a moment, so that simultaneous connections ask once, at most a minute, so that changes are
/// noticed.
const TTL_SECONDS: std::ops::RangeInclusive<u32> = 2..=60;
/// Seconds that a failure is cached, so that not every connection asks a name server that is silent for the name.
const FAILURE_SECONDS: u32 = 2;
/// The most questions at once: more than one subnet's connections, so that no sandbox can use up all.
const QUESTIONS: usize = 384;

/// Why a name has no addresses that may be connected to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The name server answered NXDOMAIN, or has no IPv4 address for the name.
    #[error("the name does not exist, or has no IPv4 address")]
    NotFound,
    /// The name has this address, which must not be connected to.
    #[error("the name server gave {0}, which is not a public address")]
    Private(Ipv4Addr),
    /// No usable answer came in any of the tries.
    #[error("the name server did not answer")]
    Silent,
    /// The name server answered with this response code (RFC 1035 §4.1.1), which is neither NOERROR nor NXDOMAIN.
    #[error("the name server could not say (code {0})")]
    Server(u8),
}

/// A cached result and the time until which it is valid.
type Kept = (Instant, Resolution);
type Resolution = Result<Arc<[Ipv4Addr]>, ResolveError>;

/// Asks one upstream name server for A records and caches answers and failures.
pub struct Resolver {
    upstream: SocketAddr,
    cache: Mutex<HashMap<String, Kept>>,
    slots: Semaphore,
}

impl Resolver {
    /// A resolver that will ask the name server at `upstream`; nothing is sent yet.
    #[must_use]
    pub fn new(upstream: SocketAddr) -> Resolver {
        Resolver { upstream, cache: Mutex::default(), slots: Semaphore::new(QUESTIONS) }
    }

    /// The name's addresses, all of them public by `refuses`.
    ///
    /// # Errors
    /// [`ResolveError`]; its text is for the log and for the agent.
    pub async fn resolve(
        &self,
        name: &str,
        refuses: impl Fn(Ipv4Addr) -> bool,
    ) -> Result<Arc<[Ipv4Addr]>, ResolveError> {
        let found = match self.cached(name) {
            Some(found) => found,
            None => self.ask(name).await,
        };
        let addresses = found?;
        // Checked at every use and not when stored, because the operator's networks may have changed in between.
        match addresses.iter().find(|address| refuses(**address)) {
            Some(private) => Err(ResolveError::Private(*private)),
            None => Ok(addresses),
        }
    }

    fn cached(&self, name: &str) -> Option<Resolution> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.get(name).filter(|(until, _)| *until > Instant::now()).map(|(_, found)| found.clone())
    }

    async fn ask(&self, name: &str) -> Resolution {
        let _slot = self.slots.acquire().await.map_err(|_| ResolveError::Silent)?;
        // Another connection may have asked while this one waited.
        if let Some(found) = self.cached(name) {
            return found;
        }
        let (found, seconds) = match self.query(name).await {
            None => (Err(ResolveError::Silent), FAILURE_SECONDS),
            Some(answer) => judged(answer),
        };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= CACHE {
            let now = Instant::now();
            cache.retain(|_, (until, _)| *until > now);
            if cache.len() >= CACHE {
                cache.clear();
            }
        }
        cache.insert(name.to_owned(), (Instant::now() + Duration::from_secs(seconds.into()), found.clone()));
        found
    }

    /// Asks by UDP, each try from a new port with a new id; by TCP if the answer was truncated.
    async fn query(&self, name: &str) -> Option<wire::DnsAnswer> {
        for _ in 0..TRIES {
            let id = random_id()?;
            match timeout(WAIT, self.by_udp(name, id)).await {
                Ok(Some(answer)) if answer.truncated => {
                    return timeout(WAIT * 2, self.by_tcp(name, id)).await.ok().flatten();
                }
                Ok(Some(answer)) => return Some(answer),
                Ok(None) => tokio::time::sleep(Duration::from_millis(50)).await,
                Err(_) => {}
            }
        }
        None
    }

    async fn by_udp(&self, name: &str, id: u16) -> Option<wire::DnsAnswer> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await.ok()?;
        socket.connect(self.upstream).await.ok()?;
        socket.send(&wire::question(id, name)).await.ok()?;
        let mut buffer = [0; 4096];
        loop {
            let len = socket.recv(&mut buffer).await.ok()?;
            // Any other packet is forged or late, so the wait continues.
            if let Some(answer) = wire::parse_answer(&buffer[..len], id, name) {
                return Some(answer);
            }
        }
    }

    async fn by_tcp(&self, name: &str, id: u16) -> Option<wire::DnsAnswer> {
        let mut stream = TcpStream::connect(self.upstream).await.ok()?;
        let question = wire::question(id, name);
        let mut message = u16::try_from(question.len()).ok()?.to_be_bytes().to_vec();
        message.extend_from_slice(&question);
        stream.write_all(&message).await.ok()?;
        let len = stream.read_u16().await.ok()?;
        let mut buffer = vec![0; usize::from(len)];
        stream.read_exact(&mut buffer).await.ok()?;
        wire::parse_answer(&buffer, id, name)
    }
}

/// The result of an answer, and for how many seconds it is cached.
fn judged(answer: wire::DnsAnswer) -> (Resolution, u32) {
    match answer.code {
        wire::NOERROR if !answer.addresses.is_empty() => {
            let seconds = answer.ttl.clamp(*TTL_SECONDS.start(), *TTL_SECONDS.end());
            (Ok(answer.addresses.into()), seconds)
        }
        wire::NOERROR | wire::NXDOMAIN => (Err(ResolveError::NotFound), FAILURE_SECONDS),
        code => (Err(ResolveError::Server(code)), FAILURE_SECONDS),
    }
}

fn random_id() -> Option<u16> {
    let mut id = [0; 2];
    getrandom::fill(&mut id).ok()?;
    Some(u16::from_be_bytes(id))
}
