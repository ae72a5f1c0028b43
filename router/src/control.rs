//! Reads the host's orders from stdin, and writes answers and the log to stdout.
//!
//! Holds no lock and no memory while it waits for a reader: the log is sent from the ring by number, and a host that attaches later asks
//! for what it missed. The end of stdin ends the program, because without orders nothing may be allowed. Tests: at the end of this file,
//! and `router/tests/lab/`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use protocol::frame::{Decoder, Message};
use protocol::router::{FromRouter, MAX_PAYLOAD, ToRouter, VERSION};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::access::AccessControl;

/// How long connections of a closed subnet may take to end; they are dropped at once, so this is ample.
const CLOSING: Duration = Duration::from_secs(5);
/// Approximate bytes of log entries in one write.
const PIECE: usize = 32 << 10;
/// Marks that the log was not asked for yet.
const SILENT: u64 = u64::MAX;

/// Serves orders until stdin ends.
///
/// # Errors
/// When either stream breaks.
pub async fn run(
    access: Arc<AccessControl>,
    boot: String,
    mut orders: impl AsyncRead + Unpin,
    answers: impl AsyncWrite + Unpin + Send + 'static,
) -> io::Result<()> {
    let sent = Arc::new(AtomicU64::new(SILENT));
    let (queue, waiting) = mpsc::channel(64);
    let writer = tokio::spawn(write(access.clone(), sent.clone(), waiting, answers));
    let mut decoder = Decoder::new(MAX_PAYLOAD);
    let mut buffer = vec![0; 16 << 10];
    loop {
        let len = orders.read(&mut buffer).await?;
        if len == 0 {
            break;
        }
        for payload in decoder.push(&buffer[..len]) {
            let order = payload.and_then(Message::<ToRouter>::from_payload);
            let answer = match order {
                Ok(order) => obey(&access, &boot, &sent, order.head).await,
                Err(bad) => Some(failed(format!("unreadable order: {bad}"))),
            };
            if let Some(answer) = answer
                && queue.send(answer).await.is_err()
            {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
    }
    drop(queue);
    writer.await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn failed(reason: String) -> FromRouter {
    FromRouter::Failed { reason }
}

async fn obey(access: &AccessControl, boot: &str, sent: &AtomicU64, order: ToRouter) -> Option<FromRouter> {
    Some(match order {
        ToRouter::Hello { version, .. } if version != VERSION => failed(format!(
            "this router speaks version {VERSION}, not {version}: use the image that belongs to the bot"
        )),
        ToRouter::Hello { keep, nonce, .. } => {
            sent.store(SILENT, Ordering::Release);
            for subnet in access.open_subnets().into_iter().filter(|subnet| !keep.contains(subnet)) {
                shut(access, subnet).await;
            }
            FromRouter::Hello { version: VERSION, nonce, boot: boot.to_owned(), generation: access.generation() }
        }
        ToRouter::Policy { generation, policy } => match access.set_policy(generation, policy) {
            Ok(()) => FromRouter::Applied { generation },
            Err(reason) => failed(reason),
        },
        ToRouter::Grant { subnet, serial, rules } => match access.grant(subnet, rules) {
            Ok(()) => FromRouter::Granted { subnet, serial },
            Err(reason) => failed(reason),
        },
        ToRouter::Close { subnet } => {
            if shut(access, subnet).await {
                FromRouter::Closed { subnet }
            } else {
                failed(format!("connections of subnet {subnet} did not end"))
            }
        }
        ToRouter::Log { after } => {
            // A number of another start of the router may be higher than the newest one here: then all entries are sent.
            sent.store(if after > access.last_entry() { 0 } else { after }, Ordering::Release);
            access.logged.notify_one();
            return None;
        }
    })
}

/// Closes a subnet and waits until its connections are gone and all their events are in the log.
async fn shut(access: &AccessControl, subnet: u32) -> bool {
    let gone = match access.close(subnet) {
        Some(open) => tokio::time::timeout(CLOSING, none_left(&open)).await.is_ok(),
        None => true,
    };
    access.settle(subnet);
    gone
}

async fn none_left(open: &AtomicU32) {
    while open.load(Ordering::Acquire) > 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn write(
    access: Arc<AccessControl>,
    sent: Arc<AtomicU64>,
    mut waiting: mpsc::Receiver<FromRouter>,
    mut out: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    loop {
        let answer = tokio::select! {
            answer = waiting.recv() => match answer {
                Some(answer) => Some(answer),
                None => return Ok(()),
            },
            () = access.logged.notified() => None,
        };
        let mut bytes = Vec::new();
        // Log entries first, so that a host that reads of a closed subnet has all its entries.
        entries(&access, &sent, &mut out).await?;
        if let Some(answer) = answer {
            if matches!(answer, FromRouter::Hello { .. }) {
                // Ends a frame that may be incomplete from before.
                bytes.push(0);
            }
            bytes.extend(frame(answer)?);
            out.write_all(&bytes).await?;
            out.flush().await?;
        }
    }
}

async fn entries(access: &AccessControl, sent: &AtomicU64, out: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    loop {
        let after = sent.load(Ordering::Acquire);
        let (mut last, mut bytes) = (after, Vec::new());
        while after != SILENT && bytes.len() < PIECE {
            let Some(entry) = access.entry_after(last) else { break };
            last = entry.seq;
            bytes.extend(frame(FromRouter::Entry(entry))?);
        }
        if bytes.is_empty() {
            return out.flush().await;
        }
        out.write_all(&bytes).await?;
        // A `Log` order that came in between takes precedence.
        let _ = sent.compare_exchange(after, last, Ordering::AcqRel, Ordering::Acquire);
    }
}

fn frame(message: FromRouter) -> io::Result<Vec<u8>> {
    Message::bare(message).to_frame(MAX_PAYLOAD).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::blank;
    use protocol::router::{Policy, Verdict};

    #[tokio::test]
    async fn whoever_hears_that_a_subnet_is_closed_has_its_whole_log() {
        let access = Arc::new(AccessControl::new("10.90.0.0/20".parse().unwrap(), 8, vec![], vec![]));
        access.set_policy(1, Policy::default()).unwrap();
        access.grant(1, vec![]).unwrap();
        let (host, router) = tokio::io::duplex(1 << 20);
        let (orders, answers) = tokio::io::split(router);
        let running = tokio::spawn(run(access.clone(), "b1".to_owned(), orders, answers));
        // More than are logged one by one.
        for n in 0..3000 {
            access.log(blank(1, &format!("x{n}.test"), 0, Verdict::Denied));
        }
        let (mut hear, mut say) = tokio::io::split(host);
        for order in [ToRouter::Log { after: 0 }, ToRouter::Close { subnet: 1 }] {
            say.write_all(&Message::bare(order).to_frame(MAX_PAYLOAD).unwrap()).await.unwrap();
        }
        let (mut decoder, mut buffer, mut told) = (Decoder::new(MAX_PAYLOAD), vec![0; 16 << 10], 0);
        'open: loop {
            let len = hear.read(&mut buffer).await.unwrap();
            for payload in decoder.push(&buffer[..len]) {
                match Message::<FromRouter>::from_payload(payload.unwrap()).unwrap().head {
                    FromRouter::Entry(entry) => told += entry.count,
                    FromRouter::Closed { subnet: 1 } => break 'open,
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_eq!(told, 3000);
        running.abort();
    }
}
