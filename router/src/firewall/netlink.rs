//! Three functions of rtnetlink: list addresses, add one, wait for a change (rtnetlink(7), linux/if_addr.h).
//!
//! Implemented here because the image should contain no tool but the packet filter's. Lengths are checked although the messages come from
//! the kernel. Tests: at the end of this file, and `router/tests/lab/`.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
};

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_NEWADDR: u16 = 20;
const RTM_GETADDR: u16 = 22;
const REQUEST: u16 = 0x1;
const ACK: u16 = 0x4;
const DUMP: u16 = 0x300;
const CREATE_EXCL: u16 = 0x600;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const AF_INET: u8 = 2;
/// RTMGRP_LINK and RTMGRP_IPV4_IFADDR.
const GROUPS: u32 = 0x1 | 0x10;
/// Milliseconds after which the state is read again in case a message was lost.
const LOOK_AGAIN_MS: u16 = 5000;

pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    pub fn open() -> io::Result<Netlink> {
        Netlink::with_groups(0)
    }

    /// A socket that receives changes of interfaces and addresses.
    pub fn listening() -> io::Result<Netlink> {
        Netlink::with_groups(GROUPS)
    }

    fn with_groups(groups: u32) -> io::Result<Netlink> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, groups))?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// Returns after a change or a time-out.
    pub fn wait(&self) -> io::Result<()> {
        let mut fds = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::from(LOOK_AGAIN_MS))?;
        let mut buffer = [0; 32 << 10];
        // Only the fact matters, so the messages are discarded; an overflow (ENOBUFS) counts as a change too.
        while recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT).is_ok_and(|len| len > 0) {}
        Ok(())
    }

    /// Every IPv4 address with its interface's index.
    pub fn addresses(&mut self) -> io::Result<Vec<(u32, Ipv4Addr)>> {
        self.ask(RTM_GETADDR, REQUEST | DUMP, &[AF_INET, 0, 0, 0, 0, 0, 0, 0])?;
        let mut found = Vec::new();
        loop {
            for (kind, body) in self.answer()? {
                match kind {
                    NLMSG_DONE => return Ok(found),
                    NLMSG_ERROR => return Err(error_of(&body)),
                    RTM_NEWADDR => found.extend(address_of(&body)),
                    _ => {}
                }
            }
        }
    }

    /// Adds `address/32` to an interface; having it already is fine.
    pub fn add(&mut self, index: u32, address: Ipv4Addr) -> io::Result<()> {
        let mut body = vec![AF_INET, 32, 0, 0];
        body.extend(index.to_ne_bytes());
        for kind in [IFA_LOCAL, IFA_ADDRESS] {
            body.extend(8u16.to_ne_bytes());
            body.extend(kind.to_ne_bytes());
            body.extend(address.octets());
        }
        self.ask(RTM_NEWADDR, REQUEST | ACK | CREATE_EXCL, &body)?;
        for (kind, body) in self.answer()? {
            if kind == NLMSG_ERROR {
                let error = error_of(&body);
                let fine = matches!(error.raw_os_error(), Some(0)) || error.kind() == io::ErrorKind::AlreadyExists;
                return if fine { Ok(()) } else { Err(error) };
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }

    fn ask(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        self.sequence += 1;
        let len = u32::try_from(16 + body.len()).map_err(io::Error::other)?;
        let mut message = len.to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend(self.sequence.to_ne_bytes());
        message.extend(0u32.to_ne_bytes());
        message.extend(body);
        send(self.socket.as_raw_fd(), &message, MsgFlags::empty())?;
        Ok(())
    }

    fn answer(&self) -> io::Result<Vec<(u16, Vec<u8>)>> {
        let mut buffer = vec![0; 64 << 10];
        let len = recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
        Ok(messages(&buffer[..len], self.sequence))
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|b| u16::from_ne_bytes([b[0], b[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
}

/// The messages of one datagram that answer this request.
fn messages(mut bytes: &[u8], sequence: u32) -> Vec<(u16, Vec<u8>)> {
    let mut found = Vec::new();
    while let (Some(len), Some(kind)) = (u32_at(bytes, 0), u16_at(bytes, 4)) {
        let len = len as usize;
        let Some(body) = bytes.get(16..len) else { break };
        if u32_at(bytes, 8) == Some(sequence) {
            found.push((kind, body.to_vec()));
        }
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

fn error_of(body: &[u8]) -> io::Error {
    let code = u32_at(body, 0).map_or(0, u32::cast_signed);
    io::Error::from_raw_os_error(code.wrapping_neg())
}

/// Interface index and local address of an RTM_NEWADDR message.
fn address_of(body: &[u8]) -> Option<(u32, Ipv4Addr)> {
    let index = u32_at(body, 4)?;
    let mut attributes = body.get(8..)?;
    while let (Some(len), Some(kind)) = (u16_at(attributes, 0), u16_at(attributes, 2)) {
        let len = usize::from(len);
        let data = attributes.get(4..len)?;
        if let (IFA_LOCAL, [a, b, c, d]) = (kind, data) {
            return Some((index, Ipv4Addr::new(*a, *b, *c, *d)));
        }
        attributes = attributes.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_lists_its_addresses() {
        let found = Netlink::open().and_then(|mut netlink| netlink.addresses());
        assert!(found.is_ok(), "{found:?}");
    }

    #[test]
    fn short_messages_are_no_addresses() {
        assert_eq!(address_of(&[2, 32, 0, 0, 1, 0, 0, 0, 8, 0, 2, 0, 1]), None);
        assert_eq!(messages(&[200, 0, 0, 0, 1, 0, 0, 0], 1), []);
        assert_eq!(messages(&[0; 40], 0), []);
    }
}
