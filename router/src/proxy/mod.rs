//! The transparent proxy, where every connection of every sandbox ends and is judged.
//!
//! The firewall redirects connections to synthetic addresses here; the kernel still knows their destination (`SO_ORIGINAL_DST`), and the
//! access control the name behind that address. Owns admission, the end of a connection and its log entry; `session` does what comes
//! between. Tests: `tests.rs` on the loopback interface, `router/tests/lab/`.

pub mod deny;
pub mod head;
pub mod hello;
pub mod pump;
mod session;
mod web;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use protocol::router::Verdict;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::access::{AccessControl, CutReason, Denied, Ticket, blank};
use crate::dns::resolve::Resolver;
use crate::ring::Event;
use crate::shares::Shares;
use deny::{ACCESS_DENIED, DenialProtocol, break_off, refuse};
use session::{End, Session};

/// A subnet may have one of so many parts of all connections, refused ones included.
const PARTS: usize = 8;
/// Connections that a subnet may have beyond its cap, so that the cap gives the reason.
const BEYOND_CAP: usize = 64;
/// How long a client that will be refused may take to send something.
const HEAR: Duration = Duration::from_millis(1000);

/// Accepts until the listener fails. `most`: connections at once over all subnets.
///
/// # Errors
/// Never in practice, because running out of descriptors is waited out.
pub async fn serve(
    access: Arc<AccessControl>,
    resolver: Arc<Resolver>,
    listener: TcpListener,
    most: usize,
) -> io::Result<()> {
    // Accepted sockets inherit these options.
    tune(&listener);
    let shares = Arc::new(Shares::new(most));
    loop {
        let Ok((client, from)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let Some((subnet, wanted)) = whence(&access, &client, from) else {
            break_off(&client);
            continue;
        };
        let share = (most / PARTS).max(access.connection_cap().saturating_add(BEYOND_CAP));
        let slot = match shares.take(subnet, share) {
            Ok(slot) => slot,
            Err(no_room) => {
                break_off(&client);
                let reason = no_room.to_string();
                access.log(Event { reason, ..blank(subnet, "", wanted.1, Verdict::Denied) });
                continue;
            }
        };
        let (access, resolver) = (access.clone(), resolver.clone());
        tokio::spawn(async move {
            let _slot = slot;
            match access.admit(subnet, wanted.0, wanted.1) {
                Ok(ticket) => connection(&access, &resolver, client, ticket).await,
                Err(denied) => turn_away(&access, client, subnet, wanted, denied).await,
            }
        });
    }
}

/// The subnet of a connection's source, and the address and port of its destination.
fn whence(access: &AccessControl, client: &TcpStream, from: SocketAddr) -> Option<(u32, (Ipv4Addr, u16))> {
    let SocketAddr::V4(from) = from else { return None };
    let wanted = getsockopt(&client.as_fd(), sockopt::OriginalDst).ok()?;
    let address = Ipv4Addr::from(u32::from_be(wanted.sin_addr.s_addr));
    Some((access.subnet_of(*from.ip())?, (address, u16::from_be(wanted.sin_port))))
}

/// Disables Nagle's algorithm and enables keep-alive.
fn tune(socket: &impl AsFd) {
    let _ = setsockopt(&socket.as_fd(), sockopt::TcpNoDelay, &true);
    let _ = setsockopt(&socket.as_fd(), sockopt::KeepAlive, &true);
    let _ = setsockopt(&socket.as_fd(), sockopt::TcpKeepIdle, &60);
    let _ = setsockopt(&socket.as_fd(), sockopt::TcpKeepInterval, &20);
    let _ = setsockopt(&socket.as_fd(), sockopt::TcpKeepCount, &3);
}

async fn turn_away(
    access: &AccessControl,
    client: TcpStream,
    subnet: u32,
    (address, port): (Ipv4Addr, u16),
    denied: Denied,
) {
    let host = denied.name.as_deref().unwrap_or_default();
    let (rule, reason) = (denied.rule.clone(), denied.reason.to_owned());
    let ip = denied.name.is_none().then_some(address);
    access.log(Event { rule, reason, ip, ..blank(subnet, host, port, Verdict::Denied) });
    let answer_as = match port {
        80 => DenialProtocol::Http(403),
        443 => DenialProtocol::Tls(ACCESS_DENIED),
        _ => DenialProtocol::None,
    };
    // An answer before the client sent anything would be read as the answer to something else.
    if answer_as == DenialProtocol::None || timeout(HEAR, client.peek(&mut [0])).await.is_err() {
        return break_off(&client);
    }
    let shown = if host.is_empty() { address.to_string() } else { host.to_owned() };
    refuse(&client, answer_as, &format!("{shown}:{port}: {}", denied.reason)).await;
}

/// Handles one admitted connection up to its log entry.
async fn connection(access: &AccessControl, resolver: &Resolver, client: TcpStream, ticket: Ticket) {
    let started = Instant::now();
    let mut changes = access.changes();
    // A change between admission and this line would be missed, so the first check is made at once.
    changes.mark_changed();
    let mut session = Session::new(access, resolver, &ticket, client);
    let end = {
        let mut run = std::pin::pin!(session.run());
        loop {
            tokio::select! {
                end = &mut run => break end,
                _ = changes.changed() => match access.still(&ticket) {
                    Ok(()) => {}
                    Err(why @ CutReason::SubnetClosed) => break End::Broken(why.to_string()),
                    Err(why @ CutReason::TakenBack) => break End::Cut(why.to_string()),
                },
            }
        }
    };
    let (verdict, reason) = match &end {
        End::Done => (Verdict::Allowed, String::new()),
        End::Denied { reason, .. } | End::Cut(reason) => (Verdict::Denied, reason.clone()),
        End::Failed { reason, .. } => (Verdict::Failed, reason.clone()),
        End::Broken(reason) => (Verdict::Allowed, reason.clone()),
    };
    let (up, down) = (session.meter.up.load(Ordering::Relaxed), session.meter.down.load(Ordering::Relaxed));
    let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (rule, sni, ip) = (Some(ticket.rule.clone()), session.sni.take(), session.ip);
    access.log(Event {
        rule,
        sni,
        ip,
        up,
        down,
        ms,
        reason,
        ..blank(ticket.subnet, &ticket.name, ticket.port, verdict)
    });
    session.finish(end).await;
}

#[cfg(test)]
mod tests;
