//! Floods the resolver with questions and connections, to measure the effect on a neighbour.

use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::web::dns;

/// How long one connection attempt is waited for.
const PATIENCE: Duration = Duration::from_millis(50);
/// Connections that are kept open at once.
const HELD: usize = 200;

/// For `time`, asks a resolver for distinct names and connects to a port without sending anything; prints how often.
pub fn flood(resolver: Ipv4Addr, to: SocketAddr, time: Duration) -> anyhow::Result<ExitCode> {
    let until = Instant::now() + time;
    let (names, connections) = std::thread::scope(|scope| {
        let connecting = scope.spawn(|| connect(to, until));
        (ask(resolver, until), connecting.join().unwrap_or_default())
    });
    println!("names {}\nconnections {connections}", names?);
    Ok(ExitCode::SUCCESS)
}

fn ask(resolver: Ipv4Addr, until: Instant) -> anyhow::Result<u64> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect((resolver, 53))?;
    socket.set_nonblocking(true)?;
    let (mut asked, mut answer) = (0, [0; 512]);
    while Instant::now() < until {
        let Some(question) = dns::question(7, &format!("flood-{asked}.invalid"), dns::TYPE_A) else { break };
        // If the send buffer is full the question is skipped; answers are only read to make room.
        if socket.send(&question).is_ok() {
            asked += 1;
        }
        let _ = socket.recv(&mut answer);
    }
    Ok(asked)
}

fn connect(to: SocketAddr, until: Instant) -> u64 {
    let (mut tried, mut held) = (0, Vec::new());
    while Instant::now() < until {
        tried += 1;
        held.extend(TcpStream::connect_timeout(&to, PATIENCE));
        if held.len() > HELD {
            held.clear();
        }
    }
    tried
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_until_its_time_is_over_whatever_becomes_of_it() {
        let until = Instant::now() + Duration::from_millis(50);
        assert!(ask(Ipv4Addr::LOCALHOST, until).expect("asked") > 10);
        let nobody = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        assert!(connect(nobody, Instant::now() + Duration::from_millis(20)) > 1);
    }
}
