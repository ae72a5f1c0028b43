//! DNS messages, restricted to what a resolver for addresses needs (RFC 1035).
//!
//! Reads untrusted queries of sandboxes and untrusted answers of the upstream server, and follows compression pointers only backwards. Does
//! no I/O. Tests: `router/tests/parsers.rs`.

use std::net::Ipv4Addr;

/// Record type of an IPv4 address (RFC 1035 §3.2.2).
pub const A: u16 = 1;
/// Record type of an alias (RFC 1035 §3.2.2).
pub const CNAME: u16 = 5;
/// Record type of an IPv6 address (RFC 3596 §2.1).
pub const AAAA: u16 = 28;
/// Query type for all records, written `*` (RFC 1035 §3.2.3).
pub const ANY: u16 = 255;
const IN: u16 = 1;

/// Response code: no error (RFC 1035 §4.1.1).
pub const NOERROR: u8 = 0;
/// Response code: the query is malformed (RFC 1035 §4.1.1).
pub const FORMERR: u8 = 1;
/// Response code: the server failed (RFC 1035 §4.1.1).
pub const SERVFAIL: u8 = 2;
/// Response code: the name does not exist (RFC 1035 §4.1.1).
pub const NXDOMAIN: u8 = 3;
/// Response code: this kind of query is not supported (RFC 1035 §4.1.1).
pub const NOTIMP: u8 = 4;

/// The largest query that is read, in bytes. A name has at most 255, and EDNS options are small.
pub const MAX_QUERY: usize = 2048;

/// A query for one name, as a sandbox sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Id the client chose; the answer repeats it.
    pub id: u16,
    /// Lower case, without the final dot; empty for the root. Bytes that no host name has are shown as `?`.
    pub name: String,
    /// Query type, such as [`A`] or [`AAAA`].
    pub kind: u16,
    /// Whether recursion was asked for (the RD bit); the answer repeats it.
    pub recursion: bool,
    /// The question section as received, which the answer repeats with the client's upper and lower case.
    question: Vec<u8>,
}

/// What to do with a message that is no plain query for one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadQuery {
    /// No answer: not a query, or too broken to answer.
    Ignore,
    /// Answer with this code.
    DnsAnswer {
        /// Id of the query.
        id: u16,
        /// Response code, such as [`FORMERR`].
        code: u8,
    },
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
}

/// Reads one query.
///
/// # Errors
/// What to do with a message that isn't a plain query for one name.
pub fn parse_query(bytes: &[u8]) -> Result<Query, BadQuery> {
    let (Some(id), Some(flags), Some(questions)) = (u16_at(bytes, 0), u16_at(bytes, 2), u16_at(bytes, 4)) else {
        return Err(BadQuery::Ignore);
    };
    if bytes.len() < 12 || bytes.len() > MAX_QUERY || flags & 0x8000 != 0 {
        return Err(BadQuery::Ignore);
    }
    if flags & 0x7800 != 0 {
        return Err(BadQuery::DnsAnswer { id, code: NOTIMP });
    }
    // Two questions have no defined answer, so no ordinary client sends them.
    if questions != 1 {
        return Err(BadQuery::Ignore);
    }
    let broken = BadQuery::DnsAnswer { id, code: FORMERR };
    let (name, end) = plain_name(bytes, 12).ok_or(broken)?;
    let (Some(kind), Some(class)) = (u16_at(bytes, end), u16_at(bytes, end + 2)) else { return Err(broken) };
    if class != IN {
        return Err(BadQuery::DnsAnswer { id, code: NOTIMP });
    }
    Ok(Query { id, name, kind, recursion: flags & 0x0100 != 0, question: bytes[12..end + 4].to_vec() })
}

/// A name without compression, from `at`; with where it ends.
fn plain_name(bytes: &[u8], mut at: usize) -> Option<(String, usize)> {
    let mut name = String::new();
    loop {
        let len = usize::from(*bytes.get(at)?);
        at += 1;
        match len {
            0 => return Some((name, at)),
            1..=63 => push_label(&mut name, bytes.get(at..at + len)?),
            _ => return None,
        }
        at += len;
        if name.len() > 253 {
            return None;
        }
    }
}

fn push_label(name: &mut String, label: &[u8]) {
    if !name.is_empty() {
        name.push('.');
    }
    let shown = |b: &u8| {
        if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_') { b.to_ascii_lowercase() as char } else { '?' }
    };
    name.extend(label.iter().map(shown));
}

/// An answer with no address, one, or an error code.
#[must_use]
pub fn answer(query: &Query, code: u8, address: Option<Ipv4Addr>, ttl: u32) -> Vec<u8> {
    let flags = 0x8080 | u16::from(query.recursion) << 8 | u16::from(code);
    let mut out = header(query.id, flags, 1, u16::from(address.is_some()));
    out.extend_from_slice(&query.question);
    if let Some(address) = address {
        // 0xc00c: a pointer to the name at offset 12.
        out.extend_from_slice(&[0xc0, 0x0c, 0, 1, 0, 1]);
        out.extend_from_slice(&ttl.to_be_bytes());
        out.extend_from_slice(&[0, 4]);
        out.extend_from_slice(&address.octets());
    }
    out
}

/// An error without the question, for a query that couldn't be read.
#[must_use]
pub fn refusal(id: u16, code: u8) -> Vec<u8> {
    header(id, 0x8080 | u16::from(code), 0, 0)
}

fn header(id: u16, flags: u16, questions: u16, answers: u16) -> Vec<u8> {
    [id, flags, questions, answers, 0, 0].iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A question for the name's A records. The name must be a checked host name.
#[must_use]
pub fn question(id: u16, name: &str) -> Vec<u8> {
    let mut out = header(id, 0x0100, 1, 0);
    for label in name.split('.').filter(|label| !label.is_empty()) {
        let label = &label.as_bytes()[..label.len().min(63)];
        out.push(u8::try_from(label.len()).unwrap_or(63));
        out.extend_from_slice(label);
    }
    out.extend_from_slice(&[0, 0, 1, 0, 1]);
    out
}

/// What the upstream name server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsAnswer {
    /// Response code, the low four bits of the flags, such as [`NOERROR`].
    pub code: u8,
    /// Whether the answer was truncated, so that it has to be asked for by TCP.
    pub truncated: bool,
    /// Every A record of the answer section that belongs to the name or an alias of it.
    pub addresses: Vec<Ipv4Addr>,
    /// The smallest time to live among them, in seconds.
    pub ttl: u32,
}

/// Reads the upstream's answer to `question(id, name)`; nothing when it isn't one.
#[must_use]
pub fn parse_answer(bytes: &[u8], id: u16, name: &str) -> Option<DnsAnswer> {
    let flags = u16_at(bytes, 2)?;
    if u16_at(bytes, 0)? != id || flags & 0x8000 == 0 || u16_at(bytes, 4)? != 1 {
        return None;
    }
    let (asked, end) = plain_name(bytes, 12)?;
    if asked != name || u16_at(bytes, end)? != A || u16_at(bytes, end + 2)? != IN {
        return None;
    }
    let code = u8::try_from(flags & 0xf).unwrap_or(SERVFAIL);
    let mut answer = DnsAnswer { code, truncated: flags & 0x0200 != 0, addresses: Vec::new(), ttl: u32::MAX };
    if !answer.truncated {
        records(bytes, end + 4, u16_at(bytes, 6)?, asked, &mut answer)?;
    }
    Some(answer)
}

/// Reads the answer section, follows its chain of aliases and skips records of other names. An alias may come after what it leads to,
/// because some servers turn the order of records.
fn records(bytes: &[u8], mut at: usize, count: u16, asked: String, answer: &mut DnsAnswer) -> Option<()> {
    let (mut addresses, mut aliases) = (Vec::new(), Vec::new());
    for _ in 0..count.min(64) {
        let (name, end) = packed_name(bytes, at)?;
        let (kind, class) = (u16_at(bytes, end)?, u16_at(bytes, end + 2)?);
        let ttl = u32::from(u16_at(bytes, end + 4)?) << 16 | u32::from(u16_at(bytes, end + 6)?);
        let len = usize::from(u16_at(bytes, end + 8)?);
        let data = bytes.get(end + 10..end + 10 + len)?;
        at = end + 10 + len;
        match (kind, data) {
            _ if class != IN => {}
            (A, [a, b, c, d]) => addresses.push((name, ttl, Ipv4Addr::new(*a, *b, *c, *d))),
            (CNAME, _) => aliases.push((name, ttl, packed_name(bytes, end + 10)?.0)),
            _ => {}
        }
    }
    let mut owners = vec![asked];
    while let Some(next) = aliases.iter().position(|(name, ..)| owners.last() == Some(name)) {
        // Each is followed once, so that a circle ends.
        let (_, ttl, target) = aliases.remove(next);
        answer.ttl = answer.ttl.min(ttl);
        owners.push(target);
    }
    for (_, ttl, address) in addresses.into_iter().filter(|(name, ..)| owners.contains(name)) {
        answer.ttl = answer.ttl.min(ttl);
        answer.addresses.push(address);
    }
    Some(())
}

/// A name that may end in a backward pointer, and the offset after it.
fn packed_name(bytes: &[u8], start: usize) -> Option<(String, usize)> {
    let (mut name, mut at, mut end, mut limit) = (String::new(), start, None, start);
    loop {
        let len = *bytes.get(at)?;
        at += 1;
        match len {
            0 => return Some((name, end.unwrap_or(at))),
            1..=63 => {
                push_label(&mut name, bytes.get(at..at + usize::from(len))?);
                at += usize::from(len);
            }
            0xc0.. => {
                let target = usize::from(len & 0x3f) << 8 | usize::from(*bytes.get(at)?);
                end.get_or_insert(at + 1);
                // Strictly backwards, so that the loop ends.
                if target >= limit {
                    return None;
                }
                (at, limit) = (target, target);
            }
            _ => return None,
        }
        if name.len() > 253 {
            return None;
        }
    }
}
