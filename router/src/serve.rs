//! Starts resolver, proxy and control, and ends when one of them ends, because the others must not run alone.
//!
//! Denies everything until it gets a policy. Needs no capability and must not have one. Tests: `router/tests/lab/`.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket};

use crate::access::AccessControl;
use crate::dns::resolve::Resolver;
use crate::settings::{DNS_PORT, PROXY_PORT, Settings};
use crate::{control, dns, proxy};

/// Two sockets and two pipes.
const DESCRIPTORS_PER_CONNECTION: u64 = 6;
const MOST_CONNECTIONS: u64 = 4096;
/// How long a port may still be in use by another process.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Serves until stdin ends.
///
/// # Errors
/// When a port stays taken or a listener fails.
pub async fn run(settings: Settings) -> Result<()> {
    let access = Arc::new(AccessControl::new(settings.pool, settings.subnets, settings.private, settings.public));
    let resolver = Arc::new(Resolver::new(settings.upstream));
    let any = Ipv4Addr::UNSPECIFIED;
    let udp = free(async || UdpSocket::bind((any, DNS_PORT))).await.with_context(|| format!("UDP port {DNS_PORT}"))?;
    let tcp = free(async || listen(DNS_PORT, 128)).await.with_context(|| format!("TCP port {DNS_PORT}"))?;
    let proxy_listener =
        free(async || listen(PROXY_PORT, 1024)).await.with_context(|| format!("TCP port {PROXY_PORT}"))?;
    let mut boot = [0; 16];
    getrandom::fill(&mut boot).context("no random numbers")?;
    let boot = boot.iter().map(|byte| format!("{byte:02x}")).collect();
    let ticking = async {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            access.tick();
        }
    };
    // Runs on the runtime's own threads, so that a new connection wakes no second thread.
    let tcp = tokio::spawn(dns::serve::tcp(access.clone(), tcp));
    let proxy = tokio::spawn(proxy::serve(access.clone(), resolver, proxy_listener, most_connections()));
    tokio::select! {
        ended = dns::serve::udp(access.clone(), udp) => ended.context("resolver (UDP)"),
        ended = tcp => ended?.context("resolver (TCP)"),
        ended = proxy => ended?.context("proxy"),
        ended = control::run(access.clone(), boot, tokio::io::stdin(), tokio::io::stdout()) => ended.context("control"),
        () = ticking => Ok(()),
    }
}

/// Waits for a port in use, because a new router is started before the old one ends.
async fn free<T>(mut bind: impl AsyncFnMut() -> io::Result<T>) -> io::Result<T> {
    let until = Instant::now() + PATIENCE;
    loop {
        match bind().await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < until => {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            done => return done,
        }
    }
}

fn listen(port: u16, backlog: u32) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind((Ipv4Addr::UNSPECIFIED, port).into())?;
    socket.listen(backlog)
}

/// As many connections as the descriptors allow, so that no open connection runs out of them.
fn most_connections() -> usize {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 1024));
    let limit = if setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft };
    let most = (limit.saturating_sub(512) / DESCRIPTORS_PER_CONNECTION).clamp(64, MOST_CONNECTIONS);
    usize::try_from(most).unwrap_or(64)
}
