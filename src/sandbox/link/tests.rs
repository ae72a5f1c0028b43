//! Connections to a runner that the test plays.

use protocol::frame::Message;
use protocol::runner::{FromRunner, MAX_PAYLOAD, Outcome, RequestStatus, Status, VERSION};
use tokio::io::{AsyncWriteExt, DuplexStream};

use super::{Link, LinkError};

const EPOCH: u64 = 5;

async fn say(runner: &mut DuplexStream, head: FromRunner) {
    let frame = Message::bare(head).to_frame(MAX_PAYLOAD).expect("a frame");
    runner.write_all(&frame).await.expect("written");
}

/// A connection to a runner that knows these requests, and the runner's end of it.
async fn attached(requests: Vec<RequestStatus>) -> (Link, DuplexStream) {
    let (ours, mut runner) = tokio::io::duplex(1 << 20);
    let (boot, binary) = (String::new(), String::new());
    let hello = FromRunner::Hello { version: VERSION, epoch: EPOCH, boot, runner: binary, requests, lacks: None };
    say(&mut runner, hello).await;
    (Link::attach(Box::new(ours), EPOCH).await.expect("a link").0, runner)
}

#[tokio::test]
async fn a_result_that_is_repeated_is_acknowledged_once_it_is_here() {
    let known = vec![RequestStatus { id: 7, finished: true }, RequestStatus { id: 8, finished: false }];
    let (link, mut runner) = attached(known).await;
    assert!(matches!(link.ack(8).await, Err(LinkError::Refused(_))), "it still runs");
    let repeated = FromRunner::Finished { id: 7, outcome: Outcome::new(Status::Ok, "") };
    let (acked, ()) = tokio::join!(link.ack(7), say(&mut runner, repeated));
    assert_eq!((acked, link.knows(7), link.end()), (Ok(()), false, None));
}
