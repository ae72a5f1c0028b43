//! Ends denied connections at once, with the reason where the protocol can carry one.
//!
//! HTTP gets a status and a sentence, TLS an alert, everything else a reset. Tests: `router/tests/lab/`.

use std::os::fd::AsFd;
use std::time::Duration;

use nix::sys::socket::{Shutdown, setsockopt, shutdown, sockopt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::pump::send;

/// Protocol in which a denial is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DenialProtocol {
    /// The client speaks HTTP: answer with this status.
    Http(u16),
    /// The client speaks TLS: a fatal alert with this number (RFC 8446 §6.2).
    Tls(u8),
    /// An unknown protocol: reset.
    None,
}

/// TLS alert `access_denied` (RFC 8446 §6.2), for what is not allowed.
pub const ACCESS_DENIED: u8 = 49;
/// TLS alert `internal_error` (RFC 8446 §6.2), for a name without public addresses, or a server that could not be
/// reached.
pub const INTERNAL_ERROR: u8 = 80;

const PATIENCE: Duration = Duration::from_millis(500);

/// Makes closing the connection a reset, so that a broken transfer can't be taken for a complete one.
pub fn break_off(stream: &TcpStream) {
    let linger = nix::libc::linger { l_onoff: 1, l_linger: 0 };
    // Fails only for a socket that is already gone.
    let _ = setsockopt(&stream.as_fd(), sockopt::Linger, &linger);
}

/// Sends the reason, if the protocol can carry it, and ends the connection.
pub async fn refuse(stream: &TcpStream, answer_as: DenialProtocol, reason: &str) {
    let bytes = match answer_as {
        DenialProtocol::Http(status) => http(status, reason),
        DenialProtocol::Tls(alert) => vec![21, 3, 3, 0, 2, 2, alert],
        DenialProtocol::None => return break_off(stream),
    };
    // Data that the client still sends is read for a moment, because unread bytes would turn the close into a reset, and the client would
    // not see the reason.
    let _ = timeout(PATIENCE, async {
        send(stream, &bytes).await?;
        shutdown(std::os::fd::AsRawFd::as_raw_fd(stream), Shutdown::Write)?;
        let mut buffer = [0; 4096];
        for _ in 0..32 {
            stream.readable().await?;
            match stream.try_read(&mut buffer) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok::<(), std::io::Error>(())
    })
    .await;
}

fn http(status: u16, reason: &str) -> Vec<u8> {
    let phrase = match status {
        400 => "Bad Request",
        403 => "Forbidden",
        408 => "Request Timeout",
        _ => "Bad Gateway",
    };
    let shown: String = reason.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    let body = format!("caisson: {shown}\n");
    format!(
        "HTTP/1.1 {status} {phrase}\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
