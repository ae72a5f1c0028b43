//! Everything beyond the router: servers that answer anybody, and a name server that records who asked what.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use caisson_router::dns::wire;

use super::net::{DNS, EVIL, GOOD, LAN, METADATA, Net, WIRE_SERVER};

pub const WEB: u16 = 80;
pub const TLS: u16 = 443;
/// Port of a server that speaks first, as SSH does.
pub const BANNER: u16 = 22;
/// Port of a server that echoes.
pub const ECHO: u16 = 7000;
/// Port of a server that sends the number of bytes given in the line it gets; with `sink`, it counts what it gets instead.
pub const BULK: u16 = 9000;

type Hits = HashMap<(Ipv4Addr, u16), Vec<Vec<u8>>>;

#[derive(Clone, Default)]
pub struct Internet {
    /// Connections to each (address, port), with what they sent.
    hits: Arc<Mutex<Hits>>,
    names: Arc<Mutex<Vec<String>>>,
    datagrams: Arc<Mutex<u64>>,
}

/// Serves one connection to this address and port; the last argument is its index there.
pub type Serve = fn(&Internet, TcpStream, (Ipv4Addr, u16), usize);

const USUAL: [(u16, Serve); 6] = [(WEB, web), (8080, web), (TLS, echo), (BANNER, banner), (ECHO, echo), (BULK, bulk)];

impl Internet {
    pub fn start(net: &Net) -> Internet {
        Internet::serving(net, &USUAL)
    }

    /// Starts the name server, and these servers at every address.
    pub fn serving(net: &Net, servers: &[(u16, Serve)]) -> Internet {
        let internet = Internet::default();
        for &(port, serve) in servers {
            let listener = net.within("i", move || TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))).expect("bind");
            let internet = internet.clone();
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let internet = internet.clone();
                    thread::spawn(move || internet.one(stream, serve));
                }
            });
        }
        let (udp, tcp, quic) = net.within("i", || {
            let any = Ipv4Addr::UNSPECIFIED;
            // Bound to its own address, or answers would come from another one.
            (UdpSocket::bind((DNS, 53)), TcpListener::bind((DNS, 53)), UdpSocket::bind((any, 443)))
        });
        internet.name_server(udp.expect("bind"), tcp.expect("bind"));
        let (quic, count) = (quic.expect("bind"), internet.datagrams.clone());
        thread::spawn(move || {
            while quic.recv_from(&mut [0; 2048]).is_ok() {
                *count.lock().unwrap() += 1;
            }
        });
        internet
    }

    fn one(&self, stream: TcpStream, serve: Serve) {
        let Ok(SocketAddr::V4(local)) = stream.local_addr() else { return };
        let place = (*local.ip(), local.port());
        let index = {
            let mut hits = self.hits.lock().unwrap();
            let all = hits.entry(place).or_default();
            all.push(Vec::new());
            all.len() - 1
        };
        serve(self, stream, place, index);
    }

    fn note(&self, place: (Ipv4Addr, u16), index: usize, bytes: &[u8]) {
        self.hits.lock().unwrap().get_mut(&place).unwrap()[index].extend_from_slice(bytes);
    }

    /// What each connection to this address and port sent.
    pub fn hits(&self, address: &str, port: u16) -> Vec<String> {
        let hits = self.hits.lock().unwrap();
        let all = hits.get(&(address.parse().unwrap(), port)).cloned().unwrap_or_default();
        all.into_iter().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
    }

    pub fn connections(&self) -> usize {
        self.hits.lock().unwrap().values().map(Vec::len).sum()
    }

    pub fn asked(&self) -> Vec<String> {
        self.names.lock().unwrap().clone()
    }

    pub fn datagrams(&self) -> u64 {
        *self.datagrams.lock().unwrap()
    }

    fn name_server(&self, udp: UdpSocket, tcp: TcpListener) {
        let internet = self.clone();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok((len, from)) = udp.recv_from(&mut buffer) {
                if let Some(answer) = internet.answer(&buffer[..len], true) {
                    let _ = udp.send_to(&answer, from);
                }
            }
        });
        let internet = self.clone();
        thread::spawn(move || {
            for mut stream in tcp.incoming().flatten() {
                let mut len = [0; 2];
                if stream.read_exact(&mut len).is_err() {
                    continue;
                }
                let mut query = vec![0; usize::from(u16::from_be_bytes(len))];
                if stream.read_exact(&mut query).is_ok()
                    && let Some(answer) = internet.answer(&query, false)
                {
                    let _ = stream.write_all(&u16::try_from(answer.len()).unwrap().to_be_bytes());
                    let _ = stream.write_all(&answer);
                }
            }
        });
    }

    fn answer(&self, bytes: &[u8], udp: bool) -> Option<Vec<u8>> {
        let query = wire::parse_query(bytes).ok()?;
        self.names.lock().unwrap().push(query.name.clone());
        if query.kind == wire::AAAA {
            return Some(wire::answer(&query, wire::NOERROR, None, 0));
        }
        let addresses: &[&str] = match query.name.as_str() {
            "good.test" | "cdn.test" | "other.test" => &[GOOD],
            "evil.test" => &[EVIL],
            "rebind.test" => &[LAN],
            "meta.test" => &[METADATA],
            "wire.test" => &[WIRE_SERVER],
            "loop.test" => &["127.0.0.1"],
            "self.test" => &["10.90.240.1"],
            "mixed.test" => &[GOOD, LAN],
            "nowhere.test" => &["198.51.100.99"],
            "big.test" => &[GOOD],
            "silent.test" => return None,
            name if name.ends_with(".wild.test") => &[GOOD],
            _ => return Some(wire::answer(&query, wire::NXDOMAIN, None, 0)),
        };
        let mut answer = wire::answer(&query, wire::NOERROR, addresses[0].parse().ok(), 1);
        for more in &addresses[1..] {
            let record = answer[answer.len() - 16..].to_vec();
            answer.extend(record);
            let at = answer.len() - 4;
            answer[at..].copy_from_slice(&more.parse::<Ipv4Addr>().unwrap().octets());
            answer[7] += 1;
        }
        if udp && query.name == "big.test" {
            answer[2] |= 0x02;
        }
        Some(answer)
    }
}

pub fn echo(internet: &Internet, mut stream: TcpStream, place: (Ipv4Addr, u16), index: usize) {
    let mut buffer = [0; 4096];
    while let Ok(len @ 1..) = stream.read(&mut buffer) {
        internet.note(place, index, &buffer[..len]);
        if stream.write_all(&buffer[..len]).is_err() {
            return;
        }
    }
}

fn banner(internet: &Internet, mut stream: TcpStream, place: (Ipv4Addr, u16), index: usize) {
    let _ = stream.write_all(b"SSH-2.0-lab\r\n");
    echo(internet, stream, place, index);
}

/// A lenient server: answers whatever looks like a request, one after the other, and ignores `Connection: close`.
fn web(internet: &Internet, mut stream: TcpStream, place: (Ipv4Addr, u16), index: usize) {
    let _ = stream.set_read_timeout(Some(Duration::from_millis(400)));
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(len @ 1..) = stream.read(&mut buffer) {
        internet.note(place, index, &buffer[..len]);
        seen.extend_from_slice(&buffer[..len]);
        if !seen.windows(4).any(|four| four == b"\r\n\r\n") {
            continue;
        }
        let text = String::from_utf8_lossy(&seen).into_owned();
        seen.clear();
        if text.contains("GET /ws ") && text.contains("Upgrade: websocket") {
            // Long enough to catch a client that does not wait.
            thread::sleep(Duration::from_millis(150));
            let _ = stream
                .write_all(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
            return echo(internet, stream, place, index);
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    }
}

pub fn bulk(internet: &Internet, mut stream: TcpStream, place: (Ipv4Addr, u16), index: usize) {
    let mut line = Vec::new();
    let mut byte = [0];
    while let Ok(1) = stream.read(&mut byte) {
        if byte[0] == b'\n' {
            break;
        }
        line.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&line).into_owned();
    if text == "sink" {
        let total = std::io::copy(&mut stream, &mut std::io::sink()).unwrap_or(0);
        internet.note(place, index, total.to_string().as_bytes());
        let _ = stream.write_all(total.to_string().as_bytes());
        return;
    }
    let mut left: usize = text.parse().unwrap_or(0);
    let block = vec![b'x'; 1 << 16];
    while left > 0 {
        let part = left.min(block.len());
        if stream.write_all(&block[..part]).is_err() {
            return;
        }
        left -= part;
    }
}
