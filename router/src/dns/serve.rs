//! The resolver that sandboxes see: a synthetic address for an allowed name, NXDOMAIN at once for every other.
//!
//! Asks no other server: a look-up alone never leaves the router, so names can't carry data out. UDP and TCP.
//! Tests: `router/tests/lab/`.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::wire::{self, BadQuery};
use crate::access::{AccessControl, NameVerdict};
use crate::shares::Shares;

/// TTL of answers in seconds. The address belongs to the subnet as long as it is open, so a longer TTL would be safe and a shorter one
/// costs look-ups.
const TTL: u32 = 60;
const TCP_IDLE: Duration = Duration::from_secs(5);
const TCP_QUERIES: u32 = 100;
/// Connections at once over all subnets, and of one subnet.
const TCP_OPEN: usize = 256;
const TCP_SHARE: usize = 16;
/// How long to wait for room in a full send buffer.
const FULL: Duration = Duration::from_millis(1);

/// Serves until the socket fails, on its own thread: nothing is awaited between question and answer, and an async runtime would be woken
/// for each answer without need.
///
/// # Errors
/// When there can be no thread, or the socket can't be read any more.
pub async fn udp(access: Arc<AccessControl>, socket: UdpSocket) -> io::Result<()> {
    let (failed, failure) = tokio::sync::oneshot::channel();
    std::thread::Builder::new()
        .name("dns".to_owned())
        .spawn(move || drop(failed.send(answer_all(&access, &socket))))?;
    failure.await.map_err(io::Error::other)?
}

fn answer_all(access: &AccessControl, socket: &UdpSocket) -> io::Result<()> {
    socket.set_write_timeout(Some(FULL))?;
    let mut buffer = [0; wire::MAX_QUERY + 1];
    loop {
        let (len, from) = match socket.recv_from(&mut buffer) {
            Ok(got) => got,
            // An ICMP error for an earlier answer, or a signal.
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::Interrupted) => {
                continue;
            }
            Err(error) => return Err(error),
        };
        if let Some(answer) = reply(access, from, &buffer[..len]) {
            // A full send buffer drops the answer; the client asks again.
            let _ = socket.send_to(&answer, from);
        }
    }
}

/// Serves until the listener fails.
///
/// # Errors
/// Never in practice: failing to accept one connection is waited out.
pub async fn tcp(access: Arc<AccessControl>, listener: TcpListener) -> io::Result<()> {
    let shares = Arc::new(Shares::new(TCP_OPEN));
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let Some(subnet) = subnet_of(&access, from) else { continue };
        let Ok(slot) = shares.take(subnet, TCP_SHARE) else { continue };
        let access = access.clone();
        tokio::spawn(async move {
            let _slot = slot;
            // Errors of one connection come from the client, so nobody has to be told.
            let _ = one_tcp(&access, stream, from).await;
        });
    }
}

async fn one_tcp(access: &AccessControl, mut stream: TcpStream, from: SocketAddr) -> io::Result<()> {
    for _ in 0..TCP_QUERIES {
        let len = usize::from(timeout(TCP_IDLE, stream.read_u16()).await??);
        if len > wire::MAX_QUERY {
            return Ok(());
        }
        let mut query = vec![0; len];
        timeout(TCP_IDLE, stream.read_exact(&mut query)).await??;
        let Some(answer) = reply(access, from, &query) else { return Ok(()) };
        let mut message = u16::try_from(answer.len()).unwrap_or(0).to_be_bytes().to_vec();
        message.extend_from_slice(&answer);
        timeout(TCP_IDLE, stream.write_all(&message)).await??;
    }
    Ok(())
}

fn subnet_of(access: &AccessControl, from: SocketAddr) -> Option<u32> {
    let SocketAddr::V4(from) = from else { return None };
    access.subnet_of(*from.ip())
}

fn reply(access: &AccessControl, from: SocketAddr, bytes: &[u8]) -> Option<Vec<u8>> {
    let subnet = subnet_of(access, from).filter(|subnet| access.may_ask(*subnet))?;
    let query = match wire::parse_query(bytes) {
        Ok(query) => query,
        Err(BadQuery::Ignore) => return None,
        Err(BadQuery::DnsAnswer { id, code }) => return Some(wire::refusal(id, code)),
    };
    match access.look_up(subnet, &query.name) {
        NameVerdict::Denied => Some(wire::answer(&query, wire::NXDOMAIN, None, 0)),
        NameVerdict::Address(address) => {
            // IPv6 and service records get an empty answer: the name exists without such records.
            let address: Option<Ipv4Addr> = matches!(query.kind, wire::A | wire::ANY).then_some(address);
            Some(wire::answer(&query, wire::NOERROR, address, TTL))
        }
    }
}
