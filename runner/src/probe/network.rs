//! Reachability: interfaces and routes as the kernel lists them, and attempts to reach addresses and names.

use std::fs::read_to_string;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use protocol::host::HEARD;
use protocol::probe::{Finding, LookUp, NO_ANSWER, OPEN, Reach, Talk};

use crate::web::dns;

/// A refusal that takes longer is reported as silence.
const PATIENCE: Duration = Duration::from_secs(1);
/// Limited because threads count as processes of the sandbox.
const AT_ONCE: usize = 8;
const RESOLVER: u16 = 53;

pub fn look(out: &mut Vec<Finding>) {
    let devices = read_to_string("/proc/net/dev").unwrap_or_default();
    let mut names: Vec<&str> = devices.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
    names.sort_unstable();
    out.push(Finding::new(8, "interfaces", names.join(" ")));
    let six = read_to_string("/proc/net/if_inet6").unwrap_or_default();
    out.push(Finding::new(8, "IPv6 addresses", some(six.lines().filter_map(|line| line.split(' ').next()))));
    let off = read_to_string("/proc/sys/net/ipv6/conf/all/disable_ipv6");
    out.push(Finding::new(8, "IPv6 is off", off.map_or_else(|_| "not there".to_owned(), |it| it.trim().to_owned())));
    let routes = read_to_string("/proc/net/route").unwrap_or_default();
    let routes: Vec<String> = routes.lines().skip(1).filter_map(route).collect();
    out.push(Finding::new(9, "routes", some(routes.iter().map(String::as_str))));
    let six = read_to_string("/proc/net/ipv6_route").unwrap_or_default();
    let beyond = six.lines().filter_map(|line| line.split_whitespace().last()).filter(|device| *device != "lo");
    out.push(Finding::new(9, "IPv6 routes", some(beyond)));
}

fn some<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// A line of `/proc/net/route`, with hexadecimal numbers in the machine's byte order.
fn route(line: &str) -> Option<String> {
    let mut words = line.split_whitespace().skip(1);
    let mut number = || u32::from_str_radix(words.next()?, 16).ok();
    let (to, via) = (number()?, number()?);
    let mask = u32::from_str_radix(line.split_whitespace().nth(7)?, 16).ok()?;
    let address = |number: u32| Ipv4Addr::from(number.to_ne_bytes());
    let to = if mask == 0 { "default".to_owned() } else { format!("{}/{}", address(to), mask.count_ones()) };
    Some(if via == 0 { to } else { format!("{to} via {}", address(via)) })
}

pub fn reach(all: &[Reach], token: &str, out: &mut Vec<Finding>) {
    for some in all.chunks(AT_ONCE) {
        let found: Vec<String> = std::thread::scope(|scope| {
            let tried = |it: &Reach| if it.udp { udp(it.to, token) } else { tcp(it.to, token) };
            let tries: Vec<_> = some.iter().map(|it| scope.spawn(move || tried(it))).collect();
            tries.into_iter().map(|it| it.join().unwrap_or_else(|_| "not tried".to_owned())).collect()
        });
        out.extend(some.iter().zip(found).map(|(it, seen)| Finding::new(it.check, it.what(), seen)));
    }
}

/// A connection is open whatever becomes of the token.
fn tcp(to: SocketAddr, token: &str) -> String {
    match TcpStream::connect_timeout(&to, PATIENCE) {
        Ok(mut stream) => {
            let _ = stream.write_all(token.as_bytes());
            OPEN.to_owned()
        }
        Err(error) => word(&error),
    }
}

fn udp(to: SocketAddr, token: &str) -> String {
    let tried = || {
        let socket = UdpSocket::bind(if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })?;
        socket.connect(to)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.send(&message(to.port(), token))?;
        socket.recv(&mut [0; 512])
    };
    tried().map_or_else(|error| word(&error), |_| OPEN.to_owned())
}

/// The token for a listener; for a resolver's port, or without a token, a question that any resolver would answer.
fn message(port: u16, token: &str) -> Vec<u8> {
    if token.is_empty() || port == RESOLVER {
        return dns::question(77, "example.com", dns::TYPE_A).unwrap_or_default();
    }
    token.as_bytes().to_vec()
}

fn word(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => "refused",
        ErrorKind::TimedOut | ErrorKind::WouldBlock => "silent",
        _ => "unreachable",
    }
    .to_owned()
}

pub fn look_ups(all: &[LookUp], out: &mut Vec<Finding>) -> anyhow::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let runtime = crate::runtime()?;
    for it in all {
        let seen = runtime.block_on(async {
            match it.reverse {
                true => {
                    dns::system().names_of(&it.name).await.map(|count| format!("{count} names")).map_err(|it| why(&it))
                }
                false => resolved(&it.name).await.map(|address| address.to_string()),
            }
        });
        out.push(Finding::new(it.check, it.what.clone(), seen.unwrap_or_else(|why| why)));
    }
    Ok(())
}

async fn resolved(name: &str) -> Result<Ipv4Addr, String> {
    let found = dns::system().look_up(name).await.map_err(|error| why(&error))?;
    found.first().copied().ok_or_else(|| "no address".to_owned())
}

/// Repeats the question until the time is over, because a resolver may be slow on a busy machine.
async fn resolved_within(name: &str, patience: Duration) -> Result<Ipv4Addr, String> {
    let until = Instant::now() + patience;
    loop {
        match resolved(name).await {
            Err(why) if why == NO_ANSWER && Instant::now() < until => {}
            found => return found,
        }
    }
}

fn why(error: &dns::LookupError) -> String {
    match error {
        dns::LookupError::Blocked(_) => "no such name",
        dns::LookupError::NoAddress(_) => "no address",
        dns::LookupError::Silent(_) => NO_ANSWER,
        dns::LookupError::Malformed(_) => "no name",
    }
    .to_owned()
}

pub fn talks(all: &[Talk], out: &mut Vec<Finding>) -> anyhow::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let runtime = crate::runtime()?;
    for talk in all {
        let address = match talk.host.parse::<Ipv4Addr>() {
            Ok(address) => Ok(address),
            Err(_) => runtime.block_on(resolved_within(&talk.host, Duration::from_millis(talk.wait_ms))),
        };
        let seen = address.map_or_else(|why| why, |address| say(talk, SocketAddr::from((address, talk.port))));
        out.push(Finding::new(talk.check, talk.what.clone(), seen));
    }
    Ok(())
}

/// Connects and sends nothing; prints one line when connected and one when the other side closed.
pub fn hold(host: &str, port: u16) -> anyhow::Result<ExitCode> {
    let address = crate::runtime()?.block_on(resolved(host)).map_err(anyhow::Error::msg)?;
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((address, port)), PATIENCE)?;
    println!("connected");
    let ended = stream.read(&mut [0; 1]);
    println!(
        "{}",
        ended.map_or_else(|_| "reset".to_owned(), |count| if count == 0 { "closed" } else { OPEN }.to_owned())
    );
    Ok(ExitCode::SUCCESS)
}

/// Reads until the other side closes or the time is over.
fn say(talk: &Talk, to: SocketAddr) -> String {
    let patience = Duration::from_millis(talk.wait_ms);
    let mut stream = match TcpStream::connect_timeout(&to, patience) {
        Ok(stream) => stream,
        Err(error) => return word(&error),
    };
    let until = Instant::now() + patience;
    let mut heard = Vec::new();
    let mut ended = stream.write_all(&talk.say).err().map(|error| word(&error));
    let mut buffer = [0; 2048];
    while ended.is_none() && heard.len() < buffer.len() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            ended = Some("still open".to_owned());
            continue;
        }
        match stream.read(&mut buffer) {
            Ok(0) => ended = Some("closed".to_owned()),
            Ok(count) => heard.extend_from_slice(&buffer[..count]),
            Err(error) if word(&error) == "silent" => ended = Some("still open".to_owned()),
            Err(_) => ended = Some("reset".to_owned()),
        }
    }
    spoken(&heard).unwrap_or_else(|| ended.unwrap_or_else(|| format!("{OPEN}: {} bytes", heard.len())))
}

/// Reads an HTTP status or a TLS alert, with which the router refuses.
fn spoken(heard: &[u8]) -> Option<String> {
    if let [21, 3, _, 0, 2, _, alert, ..] = heard {
        return Some(format!("TLS alert {alert}"));
    }
    if let Some(status) = heard.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3)) {
        return Some(format!("HTTP {}", String::from_utf8_lossy(status)));
    }
    (!heard.is_empty()).then(|| format!("{OPEN}: {} bytes", heard.len()))
}

/// Accepts every connection to a port until it is killed, and prints the peer of each that begins with the token, or that is one too many to be
/// read.
pub fn listen(port: u16, token: &str) -> anyhow::Result<ExitCode> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))?;
    let reading = AtomicUsize::new(0);
    std::thread::scope(|threads| {
        for stream in listener.incoming().flatten() {
            let from = stream.peer_addr().map_or_else(|_| "somebody".to_owned(), |peer| peer.ip().to_string());
            if reading.load(Ordering::Relaxed) >= AT_ONCE {
                println!("{HEARD}{from}");
                continue;
            }
            reading.fetch_add(1, Ordering::Relaxed);
            let reading = &reading;
            threads.spawn(move || {
                if carries(stream, token.as_bytes()) {
                    println!("{HEARD}{from}");
                }
                reading.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
    Ok(ExitCode::SUCCESS)
}

/// Whether the connection begins with the token; nothing after that is read.
fn carries(mut stream: TcpStream, token: &[u8]) -> bool {
    let mut beginning = vec![0; token.len()];
    let read = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.read_exact(&mut beginning));
    read.is_ok() && beginning == token
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_routes_are_read() {
        let line = "eth0 00000000 01005A0A 0003 0 0 0 00000000 0 0 0";
        assert_eq!(route(line).as_deref(), Some("default via 10.90.0.1"));
        let line = "eth0 00005A0A 00000000 0001 0 0 0 F0FFFFFF 0 0 0";
        assert_eq!(route(line).as_deref(), Some("10.90.0.0/28"));
        assert_eq!(route("nonsense"), None);
    }

    #[test]
    fn a_no_is_told_by_its_own_words() {
        assert_eq!(spoken(&[21, 3, 3, 0, 2, 2, 49]).as_deref(), Some("TLS alert 49"));
        assert_eq!(spoken(b"HTTP/1.1 403 Forbidden\r\n").as_deref(), Some("HTTP 403"));
        assert_eq!(spoken(b"hello").as_deref(), Some("OPEN: 5 bytes"));
        assert_eq!(spoken(b""), None);
    }

    #[test]
    fn a_listener_that_is_there_is_open_and_one_that_is_not_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let to = listener.local_addr().expect("its address");
        assert_eq!(tcp(to, "token"), OPEN);
        let mut heard = String::new();
        listener.accept().expect("it came").0.read_to_string(&mut heard).expect("its bytes");
        assert_eq!(heard, "token");
        drop(listener);
        assert_eq!(tcp(to, "token"), "refused");
    }

    #[test]
    fn a_connection_counts_if_it_begins_with_the_token() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let to = listener.local_addr().expect("its address");
        for (words, counts) in [("token", true), ("token, more", true), ("tok", false), ("other", false), ("", false)] {
            TcpStream::connect(to).expect("connected").write_all(words.as_bytes()).expect("sent");
            let (stream, _) = listener.accept().expect("it came");
            assert_eq!(carries(stream, b"token"), counts, "{words:?}");
        }
    }

    #[test]
    fn a_datagram_is_the_token_and_to_a_resolver_a_question() {
        let question = message(4000, "");
        assert!(question.windows(7).any(|part| part == b"example"));
        assert_eq!(message(4000, "token"), b"token");
        assert_eq!(message(53, "token"), question);
    }
}
