//! A connection to a runner of another release, simulated over one to the current runner.

use std::sync::Arc;

use protocol::frame::{Decoder, Message};
use protocol::runner::{FromRunner, MAX_PAYLOAD, Order, ToRunner};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A connection on which the runner speaks another version: it refuses a host that does not speak it.
pub fn as_version(version: u32, runner: tokio::io::DuplexStream) -> tokio::io::DuplexStream {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (mut from_host, to_host) = tokio::io::split(theirs);
    let (mut from_runner, mut to_runner) = tokio::io::split(runner);
    let to_host = Arc::new(tokio::sync::Mutex::new(to_host));
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
    tokio::spawn(async move {
        let (mut decoder, mut buffer) = (Decoder::new(MAX_PAYLOAD), vec![0; 64 << 10]);
        while let Ok(count @ 1..) = from_runner.read(&mut buffer).await {
            for payload in decoder.push(&buffer[..count]).into_iter().flatten() {
                let mut message: Message<FromRunner> = Message::from_payload(payload).expect("the runner's own");
                if let FromRunner::Hello { version: spoken, .. } = &mut message.head {
                    *spoken = version;
                }
                drop(to_host.lock().await.write_all(&message.to_frame(MAX_PAYLOAD).expect("a frame")).await);
            }
        }
        drop(to_host.lock().await.shutdown().await);
    });
    ours
}
