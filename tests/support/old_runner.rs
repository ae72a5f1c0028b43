//! Connections to a runner that is not ours, simulated over one to the current runner: one of another release, and one that lies.

use std::sync::Arc;

use protocol::frame::{Decoder, Message};
use protocol::runner::{FromRunner, MAX_PAYLOAD, MAX_REQUESTS, Order, RequestStatus, ToRunner};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::Mutex;

/// A connection on which the runner speaks another version: it refuses a host that does not speak it.
pub fn as_version(version: u32, runner: DuplexStream) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (mut from_host, to_host) = tokio::io::split(theirs);
    let (from_runner, mut to_runner) = tokio::io::split(runner);
    let to_host = Arc::new(Mutex::new(to_host));
    let answers = Arc::clone(&to_host);
    tokio::spawn(async move {
        let (mut decoder, mut buffer) = (Decoder::new(MAX_PAYLOAD), vec![0; 64 << 10]);
        while let Ok(count @ 1..) = from_host.read(&mut buffer).await {
            for payload in decoder.push(&buffer[..count]).into_iter().flatten() {
                let mut message: Message<Order> = Message::from_payload(payload).expect("the host's own");
                if let ToRunner::Hello { version: spoken } = &mut message.head.say {
                    if *spoken != version {
                        let reason = format!("this runner speaks version {version}, the host {spoken}");
                        let refused = Message::bare(FromRunner::Refused { epoch: message.head.epoch, reason });
                        let frame = refused.to_frame(MAX_PAYLOAD).expect("a frame");
                        drop(answers.lock().await.write_all(&frame).await);
                        continue;
                    }
                    *spoken = protocol::runner::VERSION;
                }
                drop(to_runner.write_all(&[&[0][..], &message.to_frame(MAX_PAYLOAD).expect("a frame")].concat()).await);
            }
        }
    });
    tokio::spawn(altered(from_runner, to_host, move |head| {
        if let FromRunner::Hello { version: spoken, .. } = head {
            *spoken = version;
        }
    }));
    ours
}

/// A connection on which the runner lists more requests than there may be.
pub fn as_liar(runner: DuplexStream) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (mut from_host, to_host) = tokio::io::split(theirs);
    let (from_runner, mut to_runner) = tokio::io::split(runner);
    tokio::spawn(async move { drop(tokio::io::copy(&mut from_host, &mut to_runner).await) });
    tokio::spawn(altered(from_runner, Arc::new(Mutex::new(to_host)), |head| {
        if let FromRunner::Hello { requests, .. } = head {
            *requests = vec![RequestStatus { id: 1, finished: true }; MAX_REQUESTS + 1];
        }
    }));
    ours
}

/// Passes the runner's messages on to the host, with their heads changed.
async fn altered(
    mut from_runner: ReadHalf<DuplexStream>,
    to_host: Arc<Mutex<WriteHalf<DuplexStream>>>,
    change: impl Fn(&mut FromRunner),
) {
    let (mut decoder, mut buffer) = (Decoder::new(MAX_PAYLOAD), vec![0; 64 << 10]);
    while let Ok(count @ 1..) = from_runner.read(&mut buffer).await {
        for payload in decoder.push(&buffer[..count]).into_iter().flatten() {
            let mut message: Message<FromRunner> = Message::from_payload(payload).expect("the runner's own");
            change(&mut message.head);
            drop(to_host.lock().await.write_all(&message.to_frame(MAX_PAYLOAD).expect("a frame")).await);
        }
    }
    drop(to_host.lock().await.shutdown().await);
}
