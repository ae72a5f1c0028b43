//! Listens on one port of every address, TCP and UDP, until its standard input ends. Tests: below.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use anyhow::{Context, Result};
use protocol::host::{HEARD, Network, TOLD};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

/// Longer than any test that needs it.
const LONGEST: Duration = Duration::from_secs(600);

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
    let mut buffer = [0; 64];
    loop {
        let (from, streamed) = tokio::select! {
            accepted = tcp.accept() => (accepted?.1.ip(), true),
            received = udp.recv_from(&mut buffer) => (received?.1.ip(), false),
            order = orders.next_line(), if awaited.is_none() => {
                let Some(_) = order? else { return Ok(()) };
                control(at.port()).await.context("a control of its own")?;
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

/// The kernel completes the connection before anybody accepts it.
async fn control(port: u16) -> std::io::Result<()> {
    let own = (Ipv4Addr::LOCALHOST, port);
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?.send_to(b"control", own).await?;
    TcpStream::connect(own).await.map(drop)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};

    use tokio::io::AsyncWriteExt;

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

        /// Waits until this was printed.
        async fn until(&self, what: &str) -> String {
            let said = async {
                while !self.text().contains(what) {
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
        let first = said.until("\n").await;
        let network: Network = serde_json::from_str(&first).unwrap();
        let port = network.port.unwrap();
        let own = *network.addresses.iter().find(|ip| ip.is_ipv4()).unwrap();
        // From an address other than loopback's, like another host.
        let stranger = UdpSocket::bind((own, 0)).await.unwrap();
        stranger.send_to(b"x", (own, port)).await.unwrap();
        orders.write_all(b"\n").await.unwrap();
        let all = said.until(TOLD).await;
        let lines: Vec<&str> = all.lines().skip(1).collect();
        assert_eq!(lines.last(), Some(&TOLD));
        // A packet filter of the machine may have translated it to another of the machine's addresses.
        let machine = |line: &&str| network.addresses.iter().any(|ip| **line == format!("{HEARD}{ip}"));
        assert!(lines.iter().any(machine), "{all}");
        assert_eq!(lines.iter().filter(|it| **it == "heard 127.0.0.1").count(), 2, "{all}");
        drop(orders);
        hearing.await.unwrap().unwrap();
    }
}
