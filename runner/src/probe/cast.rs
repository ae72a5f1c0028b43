//! Datagrams that bypass the sandbox's routes, to find out whether a neighbour on the same link, such as the machine itself, can be
//! reached.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use nix::sys::socket::{MsgFlags, SockaddrIn, sendto, setsockopt, sockopt};
use protocol::probe::{By, Cast, Finding, NOT_SENT, OPEN, SENT};

/// How long an answer is waited for; the first datagram to an address may be lost while the kernel resolves it.
const PATIENCE: Duration = Duration::from_millis(30);
const ROUNDS: usize = 2;
/// Sent without a token.
const UNMARKED: &str = "caisson";
/// An address that no interface has (RFC 5737).
const NOBODYS: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
/// Limited because threads count as processes of the sandbox.
const AT_ONCE: usize = 8;

pub fn all(all: &[Cast], token: &str, out: &mut Vec<Finding>) {
    let interfaces = interfaces();
    let message = if token.is_empty() { UNMARKED } else { token };
    for some in all.chunks(AT_ONCE) {
        let found: Vec<String> = std::thread::scope(|scope| {
            let tried = |it: &Cast| tried(it, message.as_bytes(), &interfaces).to_owned();
            let tries: Vec<_> = some.iter().map(|it| scope.spawn(move || tried(it))).collect();
            tries.into_iter().map(|it| it.join().unwrap_or_else(|_| "not tried".to_owned())).collect()
        });
        out.extend(some.iter().zip(found).map(|(it, seen)| Finding::new(it.check, it.what(), seen)));
    }
}

/// All interfaces but loopback.
fn interfaces() -> Vec<OsString> {
    let devices = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let names = devices.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()));
    names.filter(|name| *name != "lo").map(OsString::from).collect()
}

/// The strongest result over every interface and no particular one.
fn tried(cast: &Cast, message: &[u8], interfaces: &[OsString]) -> &'static str {
    let mut seen = NOT_SENT;
    for _ in 0..ROUNDS {
        for interface in interfaces.iter().map(Some).chain([None]) {
            match once(cast, message, interface) {
                Ok(true) => return OPEN,
                Ok(false) => seen = SENT,
                Err(_) => {}
            }
        }
    }
    seen
}

/// Sends once; true if it was answered.
fn once(cast: &Cast, message: &[u8], interface: Option<&OsString>) -> std::io::Result<bool> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    if let Some(interface) = interface {
        setsockopt(&socket, sockopt::BindToDevice, interface)?;
    }
    let mut flags = MsgFlags::empty();
    match cast.by {
        By::Group => {}
        By::Broadcast => socket.set_broadcast(true)?,
        By::Option => setsockopt(&socket, sockopt::DontRoute, &true)?,
        By::Flag => flags = MsgFlags::from_bits_retain(nix::libc::MSG_DONTROUTE),
    }
    sendto(socket.as_raw_fd(), message, &SockaddrIn::from(cast.to), flags)?;
    answered(&socket)
}

/// Whether another host answered. The kernel delivers a broadcast also to the sandbox's own sockets, one of which may by chance have the
/// port that was sent to.
fn answered(socket: &UdpSocket) -> std::io::Result<bool> {
    let end = Instant::now() + PATIENCE;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        socket.set_read_timeout(Some(left))?;
        match socket.recv_from(&mut [0; 64]) {
            Ok((_, from)) if is_own(from) => {}
            Ok(_) => return Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// Whether the address is one of the sandbox's own, judged by binding it; with `ip_nonlocal_bind` any address can be bound, and then none
/// counts as own.
fn is_own(from: SocketAddr) -> bool {
    let binds = |ip: IpAddr| UdpSocket::bind((ip, 0)).is_ok();
    binds(from.ip()) && !binds(NOBODYS.into())
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddrV4;

    use super::*;

    #[test]
    fn what_leaves_arrives_where_somebody_listens() {
        let listener = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let SocketAddr::V4(to) = listener.local_addr().expect("its address") else { panic!("IPv4") };
        for by in [By::Option, By::Flag] {
            assert_eq!(tried(&Cast { check: 11, by, to }, b"token", &[]), SENT);
            let mut heard = [0; 64];
            let length = listener.recv(&mut heard).expect("arrived");
            assert_eq!(&heard[..length], b"token");
        }
        // An answer of the sandbox's own socket does not count.
        let echo = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let SocketAddr::V4(to) = echo.local_addr().expect("its address") else { panic!("IPv4") };
        let answering = std::thread::spawn(move || {
            for _ in 0..ROUNDS {
                let (_, from) = echo.recv_from(&mut [0; 64]).expect("arrived");
                echo.send_to(b"caisson", from).expect("answered");
            }
        });
        assert_eq!(tried(&Cast { check: 11, by: By::Option, to }, b"token", &[]), SENT);
        answering.join().expect("answered each");
        // Another host's address does count.
        assert!(!is_own((NOBODYS, 9).into()));
        // Broadcasting needs the socket option.
        let to = SocketAddrV4::new(Ipv4Addr::BROADCAST, to.port());
        assert_eq!(tried(&Cast { check: 11, by: By::Group, to }, b"token", &[]), NOT_SENT);
    }
}
