//! A minimal resolver: `/etc/hosts`, then one A question to the servers of `/etc/resolv.conf`.
//!
//! The C library's resolver can't be linked statically (it loads modules from the image), and hardly distinguishes NXDOMAIN (the router's
//! answer for every name that is not allowed) from no answer. IPv4 only, like the subnet.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::UdpSocket;
use tokio::time::timeout;

const WAIT: Duration = Duration::from_secs(2);
const TRIES: usize = 2;
pub const TYPE_A: u16 = 1;
const TYPE_PTR: u16 = 12;
const CLASS_IN: u16 = 1;
const NXDOMAIN: u8 = 3;
const REFUSED: u8 = 5;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    #[error("blocked: {0} is not allowed; a person can allow it with /allow {0} (or there is no such host)")]
    Blocked(String),
    #[error("{0} has no IPv4 address")]
    NoAddress(String),
    #[error("the name {0} could not be looked up: no resolver answered; this sandbox may have no network")]
    Silent(String),
    #[error("{0} is no host name")]
    Malformed(String),
}

#[derive(Debug, Clone)]
pub struct Resolver {
    hosts: String,
    servers: Vec<SocketAddr>,
}

/// The resolver of the container's configuration.
pub fn system() -> Resolver {
    let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    let conf = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    Resolver { hosts, servers: servers(&conf) }
}

fn servers(conf: &str) -> Vec<SocketAddr> {
    let named = conf.lines().filter_map(|line| line.trim().strip_prefix("nameserver")?.trim().parse::<IpAddr>().ok());
    named.map(|server| SocketAddr::new(server, 53)).collect()
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let found = resolver.look_up(name.as_str()).await?;
            let addresses: Addrs = Box::new(found.into_iter().map(|ip| SocketAddr::new(ip.into(), 0)));
            Ok(addresses)
        })
    }
}

impl Resolver {
    pub async fn look_up(&self, host: &str) -> Result<Vec<Ipv4Addr>, LookupError> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let known = self.in_hosts(&host);
        if !known.is_empty() {
            return Ok(known);
        }
        match self.asked(&host, TYPE_A).await? {
            DnsAnswer::NoSuchName => Err(LookupError::Blocked(host)),
            DnsAnswer::Records { addresses, .. } if addresses.is_empty() => Err(LookupError::NoAddress(host)),
            DnsAnswer::Records { addresses, .. } => Ok(addresses),
        }
    }

    /// How many names an address (`4.3.2.1.in-addr.arpa`) has.
    pub async fn names_of(&self, host: &str) -> Result<usize, LookupError> {
        match self.asked(host, TYPE_PTR).await? {
            DnsAnswer::NoSuchName => Ok(0),
            DnsAnswer::Records { count, .. } => Ok(count),
        }
    }

    async fn asked(&self, host: &str, kind: u16) -> Result<DnsAnswer, LookupError> {
        let mut id = [0; 2];
        // A predictable id would only help an attacker on the subnet, where only the router is.
        let _ = getrandom::fill(&mut id);
        let question =
            question(u16::from_be_bytes(id), host, kind).ok_or_else(|| LookupError::Malformed(host.to_owned()))?;
        for server in self.servers.iter().cycle().take(self.servers.len() * TRIES) {
            if let Some(answer) = ask(*server, &question).await.and_then(|bytes| parse(&bytes, &question)) {
                return Ok(answer);
            }
        }
        Err(LookupError::Silent(host.to_owned()))
    }

    fn in_hosts(&self, host: &str) -> Vec<Ipv4Addr> {
        let lines = self.hosts.lines().map(|line| line.split('#').next().unwrap_or(""));
        let found = lines.filter_map(|line| {
            let mut words = line.split_whitespace();
            let address = words.next()?.parse().ok()?;
            words.any(|name| name.eq_ignore_ascii_case(host)).then_some(address)
        });
        found.collect()
    }
}

async fn ask(server: SocketAddr, question: &[u8]) -> Option<Vec<u8>> {
    let local: SocketAddr = if server.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(local).await.ok()?;
    socket.connect(server).await.ok()?;
    socket.send(question).await.ok()?;
    let mut answer = vec![0; 1500];
    let count = timeout(WAIT, socket.recv(&mut answer)).await.ok()?.ok()?;
    answer.truncate(count);
    Some(answer)
}

/// A query for one record type (RFC 1035, 4.1); `None` if the text is no name.
pub fn question(id: u16, host: &str, kind: u16) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(host.len() + 18);
    out.extend_from_slice(&id.to_be_bytes());
    // Recursion desired; one question.
    out.extend_from_slice(&[1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in host.split('.') {
        let length = u8::try_from(label.len()).ok().filter(|length| (1..=63).contains(length))?;
        out.push(length);
        out.extend_from_slice(label.as_bytes());
    }
    out.push(0);
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&CLASS_IN.to_be_bytes());
    (host.len() <= 253).then_some(out)
}

#[derive(Debug, PartialEq, Eq)]
enum DnsAnswer {
    NoSuchName,
    Records { addresses: Vec<Ipv4Addr>, count: usize },
}

/// `None` for bytes that do not answer this question, or report a failure.
fn parse(bytes: &[u8], question: &[u8]) -> Option<DnsAnswer> {
    let header = bytes.first_chunk::<12>()?;
    let response = header[2] & 0x80 != 0;
    if header[..2] != question[..2] || !response {
        return None;
    }
    match header[3] & 0x0f {
        0 => {}
        NXDOMAIN | REFUSED => return Some(DnsAnswer::NoSuchName),
        _ => return None,
    }
    // The question is repeated byte for byte, except for case.
    let mut at = question.len();
    if !bytes.get(12..at)?.eq_ignore_ascii_case(&question[12..]) {
        return None;
    }
    let (mut addresses, mut count) = (Vec::new(), 0);
    for _ in 0..u16::from_be_bytes([header[6], header[7]]) {
        let Some((address, next)) = record(bytes, at) else { break };
        addresses.extend(address);
        count += 1;
        at = next;
    }
    Some(DnsAnswer::Records { addresses, count })
}

/// The record at `at`: its address if it is an A record, and where the next one begins.
fn record(bytes: &[u8], at: usize) -> Option<(Option<Ipv4Addr>, usize)> {
    let fixed = skip_name(bytes, at)?;
    let word = |offset: usize| Some(u16::from_be_bytes([*bytes.get(fixed + offset)?, *bytes.get(fixed + offset + 1)?]));
    let (kind, class, length) = (word(0)?, word(2)?, word(8)?);
    let data = bytes.get(fixed + 10..fixed + 10 + usize::from(length))?;
    let address = <[u8; 4]>::try_from(data).ok().filter(|_| kind == TYPE_A && class == CLASS_IN).map(Ipv4Addr::from);
    Some((address, fixed + 10 + data.len()))
}

fn skip_name(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *bytes.get(at)? {
            0 => return Some(at + 1),
            pointer if pointer & 0xc0 == 0xc0 => return Some(at + 2),
            length => at += 1 + usize::from(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers every question with `flags` and `records`, `count` in number.
    async fn server(flags: [u8; 2], count: u8, records: &'static [u8]) -> Resolver {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        let servers = vec![socket.local_addr().expect("an address")];
        tokio::spawn(async move {
            let mut buffer = [0; 512];
            while let Ok((len, from)) = socket.recv_from(&mut buffer).await {
                let mut answer = buffer[..len].to_vec();
                answer[2..4].copy_from_slice(&flags);
                answer[7] = count;
                answer.extend_from_slice(records);
                let _ = socket.send_to(&answer, from).await;
            }
        });
        Resolver { hosts: "127.0.0.1 localhost # here\n::1 localhost\n".to_owned(), servers }
    }

    #[tokio::test]
    async fn an_address_is_found_behind_an_alias() {
        // CNAME (type 5, two bytes of data), then A 198.18.0.7.
        let records =
            &[0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 1, 0, 2, 0xc0, 12, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 198, 18, 0, 7];
        let resolver = server([0x81, 0x80], 2, records).await;
        assert_eq!(resolver.look_up("Docs.Example.").await, Ok(vec![Ipv4Addr::new(198, 18, 0, 7)]));
        assert_eq!(resolver.look_up("localhost").await, Ok(vec![Ipv4Addr::LOCALHOST]));
    }

    #[tokio::test]
    async fn no_such_name_means_blocked() {
        let resolver = server([0x81, 0x83], 0, &[]).await;
        let said = resolver.look_up("evil.example").await.expect_err("blocked").to_string();
        assert!(
            said.starts_with("blocked: evil.example is not allowed; a person can allow it with /allow evil.example")
        );
    }

    #[tokio::test]
    async fn without_servers_it_says_so_at_once() {
        let resolver = Resolver { hosts: String::new(), servers: Vec::new() };
        assert_eq!(resolver.look_up("a.example").await, Err(LookupError::Silent("a.example".to_owned())));
        assert_eq!(resolver.look_up("a..example").await, Err(LookupError::Malformed("a..example".to_owned())));
    }

    #[test]
    fn cut_and_foreign_answers_are_nothing() {
        let question = question(7, "a.example", TYPE_A).expect("a question");
        let mut answer = question.clone();
        answer[2] = 0x81;
        answer[7] = 1;
        assert_eq!(parse(&answer, &question), Some(DnsAnswer::Records { addresses: vec![], count: 0 }));
        for end in 0..12 {
            assert_eq!(parse(&answer[..end], &question), None);
        }
        answer[0] ^= 1;
        assert_eq!(parse(&answer, &question), None);
        assert_eq!(servers("# x\nnameserver 10.1.2.3\nsearch lan\nnameserver fe80::1\n").len(), 2);
    }
}
