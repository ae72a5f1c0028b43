//! Connections: at most once, stored results, epochs, noise in the stream, streams with a window.

mod common;

use std::time::Duration;

use caisson::sandbox::link::{Link, LinkError};
use common::{LIMITS, Runner, bash, exec};
use protocol::frame::{Message, encode};
use protocol::runner::{FromRunner, MAX_PAYLOAD, Op, Order, RequestStatus, Status, ToRunner, VERSION};
use tokio::io::AsyncReadExt;

#[test]
fn an_id_runs_once_and_its_result_is_kept_until_acknowledged() {
    let mut runner = Runner::start();
    let mut raw = runner.raw();
    raw.hello(1);
    assert!(matches!(raw.next(), FromRunner::Hello { epoch: 1, requests, .. } if requests.is_empty()));
    for _ in 0..3 {
        raw.run(1, 7, "echo once >> log; sleep 0.1; echo done");
    }
    let (id, first) = raw.finished();
    assert_eq!((id, first.text.as_str()), (7, "done\n"));
    raw.run(1, 7, "echo something else >> log");
    assert_eq!(raw.finished(), (7, first));
    raw.say(1, ToRunner::Ack { id: 7 });
    raw.run(1, 7, "echo again >> log");
    assert!(matches!(raw.finished().1.status, Status::Failed { .. }));
    assert_eq!(runner.read("log"), "once\n");
}

#[test]
fn a_lower_epoch_is_refused_and_a_higher_one_takes_over() {
    let mut runner = Runner::start();
    let mut raw = runner.raw();
    raw.run(5, 1, "echo before hello >> log");
    assert!(matches!(raw.next(), FromRunner::Refused { epoch: 5, .. }));
    raw.hello(5);
    assert!(matches!(raw.next(), FromRunner::Hello { epoch: 5, .. }));
    raw.hello(4);
    raw.run(4, 2, "echo old >> log");
    assert!(matches!(raw.next(), FromRunner::Refused { epoch: 4, .. }));
    assert!(matches!(raw.next(), FromRunner::Refused { epoch: 4, .. }));
    raw.run(5, 3, "echo still >> log");
    raw.finished();
    raw.hello(6);
    let finished = [RequestStatus { id: 3, finished: true }];
    assert!(matches!(raw.next(), FromRunner::Hello { epoch: 6, requests, .. } if requests == finished));
    assert!(matches!(raw.next(), FromRunner::Finished { id: 3, .. }));
    raw.run(5, 4, "echo late >> log");
    assert!(matches!(raw.next(), FromRunner::Refused { epoch: 5, .. }));
    raw.say(7, ToRunner::Hello { version: VERSION + 1 });
    assert!(matches!(raw.next(), FromRunner::Refused { epoch: 7, .. }));
    assert_eq!(runner.read("log"), "still\n");
}

#[test]
fn noise_and_half_frames_on_stdin_are_skipped() {
    let mut runner = Runner::start();
    let mut raw = runner.raw();
    raw.bytes(b"\xff\x03garbage\0\0\x01\0");
    raw.bytes(&vec![7; 3 * MAX_PAYLOAD]);
    raw.bytes(&[0]);
    let message = Message::bare(Order { epoch: 9, say: ToRunner::Hello { version: VERSION } });
    let frame = encode(&message.to_payload().expect("a payload"));
    raw.bytes(&frame[..frame.len() / 2]);
    raw.bytes(&[0]);
    raw.bytes(&encode(b"\x02\0\0\0{}"));
    raw.hello(3);
    assert!(matches!(raw.next(), FromRunner::Hello { epoch: 3, .. }));
    raw.run(3, 1, "echo well");
    assert_eq!(raw.finished().1.text, "well\n");
}

#[tokio::test]
async fn a_second_attach_learns_what_it_missed() {
    let runner = Runner::start();
    let (first, welcome) = runner.attach(1).await;
    let done = first.run(1, bash("echo one"), LIMITS).await.expect("an outcome");
    tokio::select! {
        _ = first.run(2, bash("sleep 0.4; echo two; echo ran >> log"), LIMITS) => panic!("too early"),
        () = tokio::time::sleep(Duration::from_millis(100)) => {}
    }
    drop(first);
    let (second, again) = runner.attach(2).await;
    assert_eq!(again.boot, welcome.boot);
    assert_eq!(again.known, [RequestStatus { id: 1, finished: true }, RequestStatus { id: 2, finished: false }]);
    assert_eq!(second.run(1, bash("echo one"), LIMITS).await, Ok(done));
    assert_eq!(second.run(2, bash("ignored"), LIMITS).await.expect("an outcome").text, "two\n");
    second.ack(1).await.expect("ack");
    second.ack(2).await.expect("ack");
    drop(second);
    let (third, empty) = runner.attach(2).await;
    assert!(empty.known.is_empty());
    let spent = third.run(2, bash("echo twice >> log"), LIMITS).await.expect("an outcome");
    assert!(matches!(spent.status, Status::Failed { .. }));
    assert_eq!(runner.read("log"), "ran\n");
    assert_eq!(
        Link::attach(runner.stream(), 1).await.err().map(|error| matches!(error, LinkError::Refused(_))),
        Some(true)
    );
}

#[tokio::test]
async fn what_an_earlier_connection_left_is_acknowledged_right_after_hello() {
    let runner = Runner::start();
    let (first, _) = runner.attach(1).await;
    first.run(1, bash("head -c 100000 /dev/zero"), LIMITS).await.expect("an outcome");
    drop(first);
    let (second, _) = runner.attach(2).await;
    assert_eq!(second.ack(1).await, Ok(()));
    assert_eq!(second.run(2, bash("echo two"), LIMITS).await.expect("an outcome").text, "two\n");
    drop(second);
    let (_third, left) = runner.attach(3).await;
    assert_eq!(left.known, [RequestStatus { id: 2, finished: true }]);
}

#[tokio::test]
async fn twenty_megabytes_go_in_and_come_out_unchanged() {
    let runner = Runner::start();
    let (link, _) = runner.attach(1).await;
    let sent: Vec<u8> = (0..20_u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut reader = &sent[..];
    let mut came = Vec::new();
    let op = exec(&["sh", "-c", "echo aside >&2; exec cat"], true, true);
    let done = link.stream(1, op, LIMITS, Some(&mut reader), Some(&mut came), 1 << 30).await.expect("an outcome");
    assert_eq!((done.status, done.text.as_str()), (Status::Ok, "aside\n"));
    assert!(came == sent);
    link.ack(1).await.expect("ack");
}

#[tokio::test]
async fn a_slow_taker_holds_the_stream_back_and_nothing_else() {
    let runner = Runner::start();
    let (link, _) = runner.attach(1).await;
    let (mut slow_end, mut near) = tokio::io::duplex(1024);
    let op = exec(&["sh", "-c", "head -c 8000000 /dev/zero; echo finished > flag"], false, true);
    let streaming = link.stream(1, op, LIMITS, None, Some(&mut near), 1 << 30);
    let meanwhile = async {
        let other = link.run(2, bash("echo quick; sleep 0.2; ls"), LIMITS).await.expect("an outcome");
        assert_eq!(other.text, "quick\n", "the flood must wait for its window");
        let mut count = 0;
        let mut buffer = vec![0; 64 << 10];
        while count < 8_000_000 {
            count += slow_end.read(&mut buffer).await.expect("bytes");
        }
        count
    };
    let (done, count) = tokio::join!(streaming, meanwhile);
    assert_eq!((done.expect("an outcome").status, count), (Status::Ok, 8_000_000));
}

#[tokio::test]
async fn more_than_the_cap_ends_the_request_and_the_link_goes_on() {
    let runner = Runner::start();
    let (link, _) = runner.attach(1).await;
    let mut came = Vec::new();
    let op = exec(&["cat", "/dev/zero"], false, true);
    let refused = link.stream(1, op, LIMITS, None, Some(&mut came), 3_000_000).await;
    assert_eq!(refused, Err(LinkError::TooLarge { cap: 3_000_000 }));
    assert!(came.len() <= 3_000_000);
    link.ack(1).await.expect("ack");
    assert_eq!(link.run(2, bash("echo on"), LIMITS).await.expect("an outcome").text, "on\n");
}

#[tokio::test]
async fn a_process_that_does_not_read_its_input_is_no_problem() {
    let runner = Runner::start();
    let (link, _) = runner.attach(1).await;
    let input = vec![1; 5 << 20];
    let mut reader = &input[..];
    let op = exec(&["sh", "-c", "exec <&-; sleep 0.3; echo done >&2"], true, false);
    let done = link.stream(1, op, LIMITS, Some(&mut reader), None, 0).await.expect("an outcome");
    assert_eq!((done.status, done.text.as_str()), (Status::Ok, "done\n"));
}

#[tokio::test]
async fn a_stream_does_not_outlive_its_connection() {
    let runner = Runner::start();
    let (link, _) = runner.attach(1).await;
    let mut came = Vec::new();
    let op = exec(&["sh", "-c", "cat /dev/zero"], false, true);
    tokio::select! {
        _ = link.stream(1, op.clone(), LIMITS, None, Some(&mut came), u64::MAX) => panic!("endless"),
        () = tokio::time::sleep(Duration::from_millis(200)) => {}
    }
    drop(link);
    let (link, welcome) = runner.attach(2).await;
    assert_eq!(welcome.known.iter().map(|known| known.id).collect::<Vec<_>>(), [1]);
    assert_eq!(link.run(1, bash("ignored"), LIMITS).await.expect("an outcome").status, Status::Cancelled);
    let again = link.stream(1, op, LIMITS, None, Some(&mut came), 10).await;
    assert!(matches!(again, Err(LinkError::Refused(_))));
    link.ack(1).await.expect("ack");
}

#[tokio::test]
async fn what_is_too_long_for_a_frame_is_an_error_and_not_a_broken_link() {
    let runner = Runner::start();
    let (link, _) = runner.attach(1).await;
    let op = Op::WriteFile { path: "big".to_owned(), content: "x".repeat(MAX_PAYLOAD) };
    assert!(matches!(link.run(1, op, LIMITS).await, Err(LinkError::TooLarge { .. })));
    let controls = bash("head -c 200000 /dev/zero | tr '\\0' '\\001'");
    let done = link.run(2, controls, common::limits(20_000, u64::MAX)).await.expect("an outcome");
    assert_eq!(done.status, Status::Ok);
    assert!(done.dropped_bytes > 0 && done.text.len() > 100_000);
}

#[tokio::test]
async fn the_end_of_the_runner_is_the_end_of_the_link() {
    let runner = Runner::start();
    let (link, _) = runner.attach(1).await;
    let waiting = link.run(1, bash("sleep 600"), LIMITS);
    let end = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(runner.pid().cast_signed()),
            nix::sys::signal::Signal::SIGKILL,
        )
    };
    let (waiting, _) = tokio::join!(waiting, end);
    assert_eq!(waiting, Err(LinkError::Closed));
    assert_eq!(link.ack(9).await, Err(LinkError::Closed));
}
