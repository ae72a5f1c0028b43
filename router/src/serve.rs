//! Starts resolver, proxy and control, and ends when one of them does: half a router must not stand.
//!
//! Denies everything until told otherwise. Needs no capability and must not have one. Tests: `router/tests/lab/`.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket, UdpSocket};

use crate::dns::resolve::Resolver;
use crate::gate::Gate;
use crate::settings::{DNS_PORT, PROXY_PORT, Settings};
use crate::{control, dns, proxy};

/// Two sockets and two pipes.
const DESCRIPTORS_PER_CONNECTION: u64 = 6;
const MOST_CONNECTIONS: u64 = 4096;

/// Serves until stdin ends.
///
/// # Errors
/// When a port is taken or a listener fails.
pub async fn run(settings: Settings) -> Result<()> {
    let gate = Arc::new(Gate::new(settings.pool, settings.berths, settings.private, settings.public));
    let resolver = Arc::new(Resolver::new(settings.upstream));
    let any = Ipv4Addr::UNSPECIFIED;
    let udp = UdpSocket::bind((any, DNS_PORT)).await.with_context(|| format!("UDP port {DNS_PORT}"))?;
    let tcp = listen(DNS_PORT, 128)?;
    let proxy_listener = listen(PROXY_PORT, 1024)?;
    let mut boot = [0; 16];
    getrandom::fill(&mut boot).context("no random numbers")?;
    let boot = boot.iter().map(|byte| format!("{byte:02x}")).collect();
    let ticking = async {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            gate.tick();
        }
    };
    tokio::select! {
        ended = dns::serve::udp(gate.clone(), udp) => ended.context("resolver (UDP)"),
        ended = dns::serve::tcp(gate.clone(), tcp) => ended.context("resolver (TCP)"),
        ended = proxy::serve(gate.clone(), resolver, proxy_listener, most_connections()) => ended.context("proxy"),
        ended = control::run(gate.clone(), boot, tokio::io::stdin(), tokio::io::stdout()) => ended.context("control"),
        () = ticking => Ok(()),
    }
}

fn listen(port: u16, backlog: u32) -> Result<TcpListener> {
    let bound = || -> std::io::Result<TcpListener> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind((Ipv4Addr::UNSPECIFIED, port).into())?;
        socket.listen(backlog)
    };
    bound().with_context(|| format!("TCP port {port}"))
}

/// As many as the descriptors allow, so that running out of them can't happen in the middle of a connection.
fn most_connections() -> usize {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 1024));
    let limit = if setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft };
    let most = (limit.saturating_sub(512) / DESCRIPTORS_PER_CONNECTION).clamp(64, MOST_CONNECTIONS);
    usize::try_from(most).unwrap_or(64)
}
