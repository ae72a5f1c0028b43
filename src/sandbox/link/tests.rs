//! Connections to a runner that the test plays.

use protocol::frame::Message;
use protocol::runner::{FromRunner, Limits, MAX_PAYLOAD, Op, Outcome, RequestStatus, Status, VERSION};
use tokio::io::{AsyncWriteExt, DuplexStream};

use super::{Link, LinkError};

const EPOCH: u64 = 5;

fn hello(epoch: u64, requests: Vec<RequestStatus>) -> FromRunner {
    let (boot, runner) = (String::new(), String::new());
    FromRunner::Hello { version: VERSION, epoch, boot, runner, requests, lacks: None }
}

async fn say(runner: &mut DuplexStream, head: FromRunner) {
    let frame = Message::bare(head).to_frame(MAX_PAYLOAD).expect("a frame");
    runner.write_all(&frame).await.expect("written");
}

/// A connection to a runner that knows these requests, and the runner's end of it.
async fn attached(requests: Vec<RequestStatus>) -> (Link, DuplexStream) {
    let (ours, mut runner) = tokio::io::duplex(1 << 20);
    say(&mut runner, hello(EPOCH, requests)).await;
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

#[tokio::test]
async fn one_that_a_later_connection_replaces_is_closed_and_may_be_made_anew() {
    let (link, mut runner) = attached(Vec::new()).await;
    say(&mut runner, hello(EPOCH + 1, Vec::new())).await;
    let limits = Limits { wall_ms: 60_000, output_bytes: 0 };
    assert_eq!(link.run(1, Op::Quiesce, limits).await, Err(LinkError::Closed));
    assert_eq!(link.end(), Some(LinkError::Closed));
}

#[tokio::test]
async fn one_without_an_answer_is_over() {
    let (link, _runner) = attached(Vec::new()).await;
    let limits = Limits { wall_ms: 0, output_bytes: 0 };
    assert_eq!(link.run(1, Op::Quiesce, limits).await, Err(LinkError::Timeout));
    assert_eq!(link.end(), Some(LinkError::Timeout));
}
