//! Listens on one port of every address, TCP and UDP, until its standard input ends, and reports who sent the token. Tests: below.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use protocol::host::{HEARD, Network, TOLD};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinHandle;

/// Longer than any test that needs it.
const LONGEST: Duration = Duration::from_secs(600);
/// How long a connection may take to send the token. That it stood is reported by the probe itself.
const PATIENCE: Duration = Duration::from_secs(1);
/// Connections that are read at the same time; each further one is reported unread.
const AT_ONCE: usize = 64;

/// # Errors
/// When no port can be opened, or the output can't be written.
pub async fn listen() -> Result<()> {
    let heard = tokio::time::timeout(LONGEST, hear(BufReader::new(tokio::io::stdin()), &mut std::io::stdout())).await;
    heard.unwrap_or(Ok(()))
}

/// Both queues are read in order, so a control comes after everything received before it.
async fn hear(orders: impl AsyncBufRead + Unpin, out: &mut impl Write) -> Result<()> {
    // IPv6 and IPv4, where the machine has both.
    let tcp = match TcpListener::bind("[::]:0").await {
        Ok(listener) => listener,
        Err(_) => TcpListener::bind("0.0.0.0:0").await.context("open a port")?,
    };
    let at = tcp.local_addr()?;
    let udp = UdpSocket::bind(at).await.context("open the port for UDP")?;
    let network = Network { port: Some(at.port()), ..super::report::network(&[])? };
    writeln!(out, "{}", serde_json::to_string(&network)?).and_then(|()| out.flush())?;
    let mut orders = orders.lines();
    // Which parts of a control, connection and datagram, have not arrived yet.
    let mut awaited: Option<(bool, bool)> = None;
    let mut token: Arc<str> = "".into();
    let mut reading = VecDeque::new();
    let mut buffer = [0; 64];
    loop {
        let (from, streamed) = tokio::select! {
            accepted = tcp.accept() => {
                let ((stream, from), token) = (accepted?, token.clone());
                let surplus = reading.len() >= AT_ONCE;
                let carrier = async move { (surplus || carries(stream, token.as_bytes()).await).then(|| from.ip()) };
                reading.push_back(tokio::spawn(carrier));
                continue;
            }
            read = first(&mut reading), if !reading.is_empty() => {
                reading.pop_front();
                let Some(from) = read else { continue };
                (from, true)
            }
            received = udp.recv_from(&mut buffer) => {
                let (length, from) = received?;
                if !buffer[..length].starts_with(token.as_bytes()) {
                    continue;
                }
                (from.ip(), false)
            }
            order = orders.next_line(), if awaited.is_none() => {
                let Some(given) = order? else { return Ok(()) };
                token = given.into();
                control(at.port(), &token).await.context("a control of its own")?;
                awaited = Some((true, true));
                continue;
            }
        };
        let from: IpAddr = from.to_canonical();
        writeln!(out, "{HEARD}{from}")?;
        if let Some((by_stream, by_datagram)) = awaited.as_mut().filter(|_| from.is_loopback()) {
            if streamed {
                *by_stream = false
            } else {
                *by_datagram = false
            }
            if !*by_stream && !*by_datagram {
                awaited = None;
                writeln!(out, "{TOLD}").and_then(|()| out.flush())?;
            }
        }
    }
}

/// The peer of the oldest connection, if it carried the token. The others wait for it, so that all are reported in their order.
async fn first(reading: &mut VecDeque<JoinHandle<Option<IpAddr>>>) -> Option<IpAddr> {
    reading.front_mut()?.await.ok().flatten()
}

/// Whether the connection begins with the token; nothing after that is read.
async fn carries(mut stream: TcpStream, token: &[u8]) -> bool {
    let mut beginning = vec![0; token.len()];
    let read = tokio::time::timeout(PATIENCE, stream.read_exact(&mut beginning)).await;
    matches!(read, Ok(Ok(_))) && beginning == token
}

/// The kernel completes the connection before anybody accepts it.
async fn control(port: u16, token: &str) -> std::io::Result<()> {
    let own = (Ipv4Addr::LOCALHOST, port);
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?.send_to(token.as_bytes(), own).await?;
    TcpStream::connect(own).await?.write_all(token.as_bytes()).await
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;

    #[derive(Clone, Default)]
    struct Recorded(Arc<Mutex<Vec<u8>>>);

    impl Write for Recorded {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            Write::write(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Recorded {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }

        /// Waits until this was printed as often.
        async fn until(&self, what: &str, times: usize) -> String {
            let said = async {
                while self.text().matches(what).count() < times {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(20), said).await.unwrap();
            self.text()
        }
    }

    #[tokio::test]
    async fn whoever_came_first_is_told_before_the_control() {
        let (said, (mut orders, read)) = (Recorded::default(), tokio::io::duplex(64));
        let mut out = said.clone();
        let hearing = tokio::spawn(async move { hear(BufReader::new(read), &mut out).await });
        let first = said.until("\n", 1).await;
        let network: Network = serde_json::from_str(&first).unwrap();
        let port = network.port.unwrap();
        let own = *network.addresses.iter().find(|ip| ip.is_ipv4()).unwrap();
        // From an address other than loopback's, like another host.
        let stranger = UdpSocket::bind((own, 0)).await.unwrap();
        stranger.send_to(b"x", (own, port)).await.unwrap();
        orders.write_all(b"\n").await.unwrap();
        let all = said.until(TOLD, 1).await;
        let lines: Vec<&str> = all.lines().skip(1).collect();
        assert_eq!(lines.last(), Some(&TOLD));
        // A packet filter of the machine may have translated it to another of the machine's addresses.
        let machine = |line: &&str| network.addresses.iter().any(|ip| **line == format!("{HEARD}{ip}"));
        assert!(lines.iter().any(machine), "{all}");
        assert_eq!(lines.iter().filter(|it| **it == "heard 127.0.0.1").count(), 2, "{all}");
        drop(orders);
        hearing.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn once_a_token_is_given_only_what_begins_with_it_is_told() {
        let (said, (mut orders, read)) = (Recorded::default(), tokio::io::duplex(64));
        let mut out = said.clone();
        let hearing = tokio::spawn(async move { hear(BufReader::new(read), &mut out).await });
        let network: Network = serde_json::from_str(&said.until("\n", 1).await).unwrap();
        let own = *network.addresses.iter().find(|ip| ip.is_ipv4()).unwrap();
        let at = (own, network.port.unwrap());
        orders.write_all(b"token\n").await.unwrap();
        let before = said.until(TOLD, 1).await.len();
        for bytes in [&b"a stranger's"[..], b"", b"tok"] {
            UdpSocket::bind((own, 0)).await.unwrap().send_to(bytes, at).await.unwrap();
            TcpStream::connect(at).await.unwrap().write_all(bytes).await.unwrap();
        }
        UdpSocket::bind((own, 0)).await.unwrap().send_to(b"token", at).await.unwrap();
        TcpStream::connect(at).await.unwrap().write_all(b"token, and more").await.unwrap();
        orders.write_all(b"token\n").await.unwrap();
        let all = said.until(TOLD, 2).await;
        let lines: Vec<&str> = all[before..].lines().collect();
        assert_eq!(lines.iter().filter(|it| **it == "heard 127.0.0.1").count(), 2, "its control: {all}");
        assert_eq!(lines.iter().filter(|it| it.starts_with(HEARD)).count(), 4, "and the two with the token: {all}");
        drop(orders);
        hearing.await.unwrap().unwrap();
    }
}
