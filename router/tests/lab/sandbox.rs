//! Queries and connections from a sandbox, with their results.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use caisson_router::dns::wire;

use super::net::Net;

/// After this time without an answer a connection counts as dropped silently. A busy machine takes seconds to answer.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Sandbox<'a> {
    pub net: &'a Net,
    pub subnet: u32,
}

#[derive(Debug)]
pub struct Talk {
    pub connected: bool,
    pub heard: Vec<u8>,
    /// Whether the other side ended it before `patience` was over.
    pub ended: bool,
}

impl Talk {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.heard).into_owned()
    }

    /// Nothing was received, and it ended without a timeout.
    pub fn refused(&self) -> bool {
        self.heard.is_empty() && self.ended
    }
}

impl Sandbox<'_> {
    fn place(&self) -> String {
        format!("s{}", self.subnet)
    }

    pub fn inside<T: Send>(&self, job: impl FnOnce() -> T + Send) -> T {
        self.net.within(&self.place(), job)
    }

    /// Asks the gateway by UDP; returns the answer's code and address.
    pub fn look_up(&self, name: &str) -> (u8, Option<Ipv4Addr>) {
        // Twice, as resolver libraries do.
        let asked = || self.ask(&wire::question(77, name));
        let answer = asked().or_else(asked).expect("an answer");
        let read = wire::parse_answer(&answer, 77, &name.to_lowercase()).expect("an answer to the question");
        (read.code, read.addresses.first().copied())
    }

    pub fn address(&self, name: &str) -> Ipv4Addr {
        self.look_up(name).1.unwrap_or_else(|| panic!("{name} has no address"))
    }

    pub fn ask(&self, query: &[u8]) -> Option<Vec<u8>> {
        let gateway = SocketAddr::from((self.net.gateway(self.subnet), 53));
        self.inside(|| {
            let socket = UdpSocket::bind("0.0.0.0:0").expect("bind");
            socket.connect(gateway).expect("connect");
            socket.set_read_timeout(Some(PATIENCE)).expect("time-out");
            socket.send(query).ok()?;
            let mut buffer = vec![0; 4096];
            let len = socket.recv(&mut buffer).ok()?;
            buffer.truncate(len);
            Some(buffer)
        })
    }

    /// Connects, sends the parts with a pause after each, and reads until the other side ends or `patience` is over.
    pub fn parts(&self, address: Ipv4Addr, port: u16, parts: &[&[u8]], pause: Duration, patience: Duration) -> Talk {
        self.inside(|| {
            let target = SocketAddr::from((address, port));
            let mut stream = match TcpStream::connect_timeout(&target, PATIENCE) {
                Ok(stream) => stream,
                Err(error) => {
                    return Talk { connected: false, heard: vec![], ended: error.kind() != ErrorKind::TimedOut };
                }
            };
            let _ = stream.set_nodelay(true);
            for part in parts {
                if stream.write_all(part).is_err() {
                    break;
                }
                std::thread::sleep(pause);
            }
            let (heard, ended) = listen(&mut stream, patience);
            Talk { connected: true, heard, ended }
        })
    }

    pub fn say(&self, address: Ipv4Addr, port: u16, bytes: &[u8]) -> Talk {
        self.parts(address, port, &[bytes], Duration::ZERO, PATIENCE)
    }

    /// The same with a name.
    pub fn call(&self, name: &str, port: u16, bytes: &[u8]) -> Talk {
        self.say(self.address(name), port, bytes)
    }
}

fn listen(stream: &mut TcpStream, patience: Duration) -> (Vec<u8>, bool) {
    let until = Instant::now() + patience;
    let (mut heard, mut buffer) = (Vec::new(), [0; 1 << 16]);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return (heard, false);
        }
        match stream.read(&mut buffer) {
            Ok(0) => return (heard, true),
            Ok(len) => heard.extend_from_slice(&buffer[..len]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return (heard, false),
            Err(_) => return (heard, true),
        }
    }
}
