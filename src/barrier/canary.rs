//! The outside part of the self-test: a listener on every address of this process's network, a planted secret, a name server.
//!
//! Each has a control that must arrive, because hearing nothing would otherwise prove nothing. A listener counts only what begins with its
//! token, which the probe sends, and connections that are too many to be read: this machine is reached by others too. Tests: below.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesOrdered;
use nix::ifaddrs::getifaddrs;
use protocol::probe::CANARY;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinHandle;

/// How long a connection may take to send the token. That it stood is reported by the probe itself.
const PATIENCE: Duration = Duration::from_secs(1);
/// Connections that are read at the same time; each further one counts unread.
const AT_ONCE: usize = 64;

/// Peers that were heard, or names that were asked for.
type CanaryLog = Arc<Mutex<Vec<String>>>;

fn note(heard: &CanaryLog, what: String) {
    heard.lock().unwrap_or_else(PoisonError::into_inner).push(what);
}

fn take(heard: &CanaryLog) -> Vec<String> {
    std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Sixteen random bytes in hex.
pub fn random() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(hex::encode(bytes))
}

/// Listens with TCP and UDP on one port of every address, as long as this lives.
pub struct Listener {
    pub port: u16,
    /// What it hears begins with this.
    pub token: Arc<str>,
    heard: CanaryLog,
    works: Vec<JoinHandle<()>>,
}

impl Listener {
    /// Hears only what begins with the token.
    pub async fn start(token: &str) -> std::io::Result<Listener> {
        let (heard, token) = (CanaryLog::default(), Arc::<str>::from(token));
        // IPv6 and IPv4, where the machine has both.
        let tcp = match TcpListener::bind("[::]:0").await {
            Ok(listener) => listener,
            Err(_) => TcpListener::bind("0.0.0.0:0").await?,
        };
        let at = tcp.local_addr()?;
        let udp = UdpSocket::bind(at).await?;
        let streams = tokio::spawn(hear_streams(tcp, token.clone(), heard.clone()));
        let datagrams = tokio::spawn(hear_datagrams(udp, token.clone(), heard.clone()));
        Ok(Listener { port: at.port(), token, heard, works: vec![streams, datagrams] })
    }

    /// The peers heard before its own control, which is sent here; connections arrive in order.
    pub async fn heard_since(&self) -> String {
        let control = self.control().await;
        for _ in 0..200 {
            let own = self.heard.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|it| it == "127.0.0.1");
            if control.is_err() || own {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let heard = take(&self.heard);
        match heard.iter().find(|from| *from != "127.0.0.1") {
            Some(stranger) => format!("{stranger}, and {} in all", heard.len()),
            None if heard.is_empty() => "not even the bot".to_owned(),
            None => "the bot alone".to_owned(),
        }
    }

    async fn control(&self) -> std::io::Result<()> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await?;
        stream.write_all(self.token.as_bytes()).await
    }
}

/// Notes connections in their order, so that the control comes after everything accepted before it.
async fn hear_streams(tcp: TcpListener, token: Arc<str>, heard: CanaryLog) {
    let mut reading: FuturesOrdered<BoxFuture<'static, Option<SocketAddr>>> = FuturesOrdered::new();
    loop {
        tokio::select! {
            accepted = tcp.accept() => {
                let Ok((stream, from)) = accepted else { return };
                let (token, surplus) = (token.clone(), reading.len() >= AT_ONCE);
                let carrier = async move { (surplus || carries(stream, token.as_bytes()).await).then_some(from) };
                reading.push_back(Box::pin(carrier));
            }
            Some(carrier) = reading.next() => {
                if let Some(from) = carrier {
                    note(&heard, from.ip().to_canonical().to_string());
                }
            }
        }
    }
}

/// Whether the connection begins with the token; nothing after that is read.
async fn carries(mut stream: TcpStream, token: &[u8]) -> bool {
    let mut beginning = vec![0; token.len()];
    let read = tokio::time::timeout(PATIENCE, stream.read_exact(&mut beginning)).await;
    matches!(read, Ok(Ok(_))) && beginning == token
}

async fn hear_datagrams(udp: UdpSocket, token: Arc<str>, heard: CanaryLog) {
    let mut buffer = [0; 64];
    while let Ok((length, from)) = udp.recv_from(&mut buffer).await {
        if buffer[..length].starts_with(token.as_bytes()) {
            note(&heard, from.ip().to_canonical().to_string());
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.works.iter().for_each(JoinHandle::abort);
    }
}

/// This machine's addresses, without loopback and link-local ones.
pub fn addresses() -> Vec<IpAddr> {
    let interfaces = getifaddrs().map(Iterator::collect::<Vec<_>>).unwrap_or_default();
    let addresses = interfaces.iter().filter_map(|interface| interface.address.as_ref());
    let mut all: Vec<IpAddr> = addresses
        .filter_map(|at| {
            let four = at.as_sockaddr_in().map(|it| it.ip().into());
            four.or_else(|| at.as_sockaddr_in6().map(|it| it.ip().into()))
        })
        .filter(|ip: &IpAddr| match ip {
            IpAddr::V4(ip) => !ip.is_loopback(),
            IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local(),
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

/// This machine's address towards the internet; addresses of an engine's networks vanish with these.
async fn lasting() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await.ok()?;
    // Only selects a route; nothing is sent. The address is for documentation (RFC 5737).
    let chosen = socket.connect((Ipv4Addr::new(198, 51, 100, 1), 53)).await.and_then(|()| socket.local_addr());
    let any = || addresses().into_iter().find(IpAddr::is_ipv4);
    match chosen.ok().map(|at| at.ip()).filter(|ip| !ip.is_loopback()).or_else(any) {
        Some(IpAddr::V4(own)) => Some(own),
        _ => None,
    }
}

/// A file in the state directory that looks like a secret; removed with this value.
pub struct Planted(PathBuf);

impl Planted {
    pub fn in_state(directory: &Path) -> std::io::Result<Planted> {
        let path = directory.join("barrier.planted");
        let secret = random()?;
        let mut file: File = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&path)?;
        writeln!(file, "{}{secret}", CANARY.concat())?;
        Ok(Planted(path))
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Prefix of names that resolve to this machine's own address.
pub const PRIVATE: &str = "private-";

/// A name server for the test's own router: names with `PRIVATE` resolve to a private address, others do not exist.
pub struct Upstream {
    /// UDP address it listens on, given to the router under test as its upstream server.
    pub at: SocketAddr,
    asked: CanaryLog,
    work: JoinHandle<()>,
}

impl Upstream {
    /// `None` where this machine has no address of its own.
    ///
    /// # Errors
    /// When no port can be opened.
    pub async fn start() -> std::io::Result<Option<Upstream>> {
        let Some(own) = lasting().await else { return Ok(None) };
        let socket = UdpSocket::bind((own, 0)).await?;
        let at = socket.local_addr()?;
        let asked = CanaryLog::default();
        let to = asked.clone();
        let work = tokio::spawn(async move {
            let mut buffer = [0; 1024];
            while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
                let Some((name, end)) = name(&buffer[..length]) else { continue };
                let answer = answer(&buffer[..end], name.starts_with(PRIVATE).then_some(own));
                note(&to, name);
                // A client whose answer is lost asks again.
                let _ = socket.send_to(&answer, from).await;
            }
        });
        Ok(Some(Upstream { at, asked, work }))
    }

    /// Names asked so far, in lower case.
    pub fn asked(&self) -> Vec<String> {
        take(&self.asked)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.work.abort();
    }
}

/// The name a query asks for, and the offset after its question (RFC 1035, 4.1.2).
fn name(query: &[u8]) -> Option<(String, usize)> {
    let mut labels = Vec::new();
    let mut at = 12;
    loop {
        let length = usize::from(*query.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(query.get(at..at + length)?).to_lowercase());
        at += length;
    }
    query.get(at..at + 4)?;
    Some((labels.join("."), at + 4))
}

/// An answer with one A record, or NXDOMAIN.
fn answer(question: &[u8], address: Option<Ipv4Addr>) -> Vec<u8> {
    let mut out = question.to_vec();
    out[2..12].copy_from_slice(&[0x81, if address.is_some() { 0x80 } else { 0x83 }, 0, 1, 0, 0, 0, 0, 0, 0]);
    if let Some(address) = address {
        out[7] = 1;
        out.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4]);
        out.extend_from_slice(&address.octets());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_listener_hears_who_has_the_token_and_no_stranger() {
        let listener = Listener::start("token").await.unwrap();
        assert_eq!(listener.heard_since().await, "the bot alone");
        let own = addresses().into_iter().find(IpAddr::is_ipv4).unwrap();
        let at = (own, listener.port);
        for bytes in [&b"a stranger's"[..], b"", b"tok"] {
            TcpStream::connect(at).await.unwrap().write_all(bytes).await.unwrap();
            UdpSocket::bind((own, 0)).await.unwrap().send_to(bytes, at).await.unwrap();
        }
        assert_eq!(listener.heard_since().await, "the bot alone");
        TcpStream::connect(at).await.unwrap().write_all(b"token").await.unwrap();
        let heard = listener.heard_since().await;
        // The kernel chooses which of its addresses is the source.
        assert!(heard.ends_with("2 in all"), "{heard}");
        UdpSocket::bind((own, 0)).await.unwrap().send_to(b"token", at).await.unwrap();
        let by_datagram = async { while !listener.heard_since().await.ends_with("2 in all") {} };
        tokio::time::timeout(Duration::from_secs(20), by_datagram).await.unwrap();
    }

    #[test]
    fn a_planted_secret_is_closed_to_others_and_goes_again() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("barrier.planted");
        let planted = Planted::in_state(dir.path()).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(std::fs::read_to_string(&path).unwrap().starts_with(&CANARY.concat()));
        drop(planted);
        assert!(!path.exists());
    }

    #[test]
    fn questions_are_read_and_answered() {
        let query = [&[7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], b"\x01A\x04test\0", &[0, 1, 0, 1]].concat();
        assert_eq!(name(&query), Some(("a.test".to_owned(), query.len())));
        let found = answer(&query, Some(Ipv4Addr::new(10, 0, 0, 7)));
        assert_eq!((found[3], found[7], &found[found.len() - 4..]), (0x80, 1, &[10, 0, 0, 7][..]));
        assert_eq!(answer(&query, None)[3] & 0xf, 3);
        assert_eq!(name(&query[..14]), None);
    }
}
