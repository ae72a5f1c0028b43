//! Policy that changes, subnets that are reused, a router that dies: closed at every moment.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use caisson_router::dns::wire;
use protocol::router::{FromRouter, Policy, ToRouter, VERSION, Verdict};

use crate::Lab;
use crate::internet::{BULK, ECHO, WEB};
use crate::net::GOOD;

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: good.test\r\n\r\n";

fn echoes(stream: &mut TcpStream) -> bool {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
    let mut heard = [0; 4];
    stream.write_all(b"ping").is_ok() && stream.read_exact(&mut heard).is_ok() && &heard == b"ping"
}

/// The other side ends it soon; what was under way may still arrive.
fn is_cut(stream: &mut TcpStream) -> bool {
    (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        !echoes(stream)
    })
}

fn connect(lab: &Lab, name: &str) -> TcpStream {
    let address = lab.sandbox(0).address(name);
    let mut stream = lab.sandbox(0).inside(|| TcpStream::connect((address, ECHO))).unwrap();
    assert!(echoes(&mut stream));
    stream
}

#[test]
fn a_change_of_policy_is_felt_at_once() {
    let Some(mut lab) = Lab::open(&["good.test:7000"]) else { return };
    assert_eq!(lab.sandbox(0).look_up("other.test").0, wire::NXDOMAIN);
    lab.router.grant(0, &["good.test:7000", "other.test"]);
    assert!(lab.sandbox(0).look_up("other.test").1.is_some(), "the very next question is answered by the new rules");
    // Taking a rule back cuts its open connections only.
    let mut kept = connect(&lab, "good.test");
    lab.router.grant(0, &["good.test:7000", "other.test:7000"]);
    let mut cut = connect(&lab, "other.test");
    lab.router.grant(0, &["good.test:7000"]);
    assert!(is_cut(&mut cut) && echoes(&mut kept));
    let policy = Policy { deny: vec![protocol::router::Rule::parse("good.test").unwrap()], ..Policy::default() };
    lab.router.order(&ToRouter::Policy { generation: 2, policy });
    assert_eq!(lab.router.answer(), FromRouter::Applied { generation: 2 });
    assert!(is_cut(&mut kept), "the operator's deny comes first");
    assert!(matches!(
        {
            lab.router.order(&ToRouter::Policy { generation: 2, policy: Policy::default() });
            lab.router.answer()
        },
        FromRouter::Failed { .. }
    ));
}

#[test]
fn a_closed_subnet_is_dead_and_nothing_of_it_is_lent_again() {
    let Some(mut lab) = Lab::open(&["good.test", "good.test:7000"]) else { return };
    let old = lab.sandbox(0).address("good.test");
    let mut open = connect(&lab, "good.test");
    lab.router.close(0);
    assert!(!echoes(&mut open));
    let before = lab.net.arrived();
    assert_eq!(lab.sandbox(0).look_up("good.test").0, wire::NXDOMAIN);
    assert!(lab.sandbox(0).say(old, ECHO, b"x").refused());
    lab.router.grant(0, &["other.test"]);
    assert!(lab.sandbox(0).say(old, ECHO, b"x").refused());
    assert!(lab.sandbox(0).say(old, WEB, GET).text().starts_with("HTTP/1.1 403"));
    assert_eq!(lab.net.arrived(), before);
    let cut = lab.router.logged("the cut connection", |entry| entry.port == ECHO && entry.up > 0);
    assert_eq!((cut.verdict, cut.reason.as_str()), (Verdict::Allowed, "the subnet was closed"));
}

#[test]
fn a_killed_router_leaves_everything_closed_and_a_fresh_one_denies() {
    let Some(mut lab) = Lab::open(&["good.test", "good.test:7000"]) else { return };
    let address = lab.sandbox(0).address("good.test");
    let mut open = connect(&lab, "good.test");
    lab.router.kill_serve();
    let before = lab.net.arrived();
    assert!(!echoes(&mut open));
    let talk = lab.sandbox(0).say(address, WEB, GET);
    assert!(!talk.connected && talk.ended, "{talk:?}");
    assert!(!lab.sandbox(0).say(GOOD.parse().unwrap(), WEB, GET).connected);
    assert_eq!(lab.sandbox(0).ask(&wire::question(1, "good.test")), None);
    lab.router.begin_serving();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(lab.sandbox(0).look_up("good.test").0, wire::NXDOMAIN, "nothing was allowed yet");
    assert!(lab.sandbox(0).say(address, ECHO, b"x").refused());
    lab.router.order(&ToRouter::Grant { subnet: 0, serial: 1, rules: vec![] });
    assert!(matches!(lab.router.answer(), FromRouter::Failed { .. }), "a grant before any policy");
    let sent = lab.net.arrived();
    assert!(sent - before <= 2, "only the end of the cut connection left: {}", sent - before);
    lab.router.order(&ToRouter::Policy { generation: 1, policy: Policy::default() });
    lab.router.answer();
    lab.router.grant(0, &["good.test"]);
    let again = lab.sandbox(0).say(address, WEB, GET);
    assert!(again.text().ends_with("hello"), "the address that was kept still leads there: {again:?}");
}

#[test]
fn a_new_host_closes_what_it_does_not_know_and_reads_the_log_from_where_it_was() {
    let Some(mut lab) = Lab::open(&["good.test"]) else { return };
    lab.router.grant(1, &["good.test"]);
    let _ = lab.sandbox(0).look_up("evil.test");
    let entry = lab.router.logged("evil.test", |entry| entry.host == "evil.test");
    lab.router.order(&ToRouter::Hello { version: VERSION, nonce: 1, keep: vec![1] });
    lab.router.order(&ToRouter::Log { after: entry.seq });
    lab.router.grant(1, &["good.test"]);
    assert_eq!(lab.sandbox(0).look_up("good.test").0, wire::NXDOMAIN);
    assert!(lab.sandbox(1).look_up("good.test").1.is_some());
    lab.router.order(&ToRouter::Log { after: entry.seq - 1 });
    lab.router.grant(1, &["good.test"]);
    assert_eq!(lab.router.log().iter().filter(|other| **other == entry).count(), 2);
    lab.router.order(&ToRouter::Hello { version: VERSION + 1, nonce: 1, keep: vec![] });
    assert!(matches!(lab.router.answer(), FromRouter::Failed { reason } if reason.contains("version")));
}

#[test]
fn much_is_carried_whole_both_ways() {
    let Some(lab) = Lab::open(&[&format!("good.test:{BULK}")]) else { return };
    let address = lab.sandbox(0).address("good.test");
    let size = 64 << 20;
    let down = lab.sandbox(0).inside(|| {
        let mut stream = TcpStream::connect((address, BULK)).unwrap();
        stream.write_all(format!("{size}\n").as_bytes()).unwrap();
        std::io::copy(&mut stream, &mut std::io::sink()).unwrap()
    });
    assert_eq!(down, size);
    let up = lab.sandbox(0).inside(|| {
        let mut stream = TcpStream::connect((address, BULK)).unwrap();
        stream.write_all(b"sink\n").unwrap();
        std::io::copy(&mut std::io::repeat(7).take(size), &mut stream).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    });
    assert_eq!(up, size.to_string(), "half-closed: the answer comes after the end");
}

#[test]
fn floods_stay_bounded_and_leave_the_neighbour_alone() {
    let Some(mut lab) = Lab::open(&["good.test"]) else { return };
    lab.router.grant(1, &["good.test"]);
    let pid = lab.router.serve_pid();
    let address = lab.sandbox(0).address("good.test");
    let held = lab.sandbox(0).inside(|| {
        // Slow-loris: heads that never end, up to the cap and beyond.
        let mut held = Vec::new();
        for _ in 0..400 {
            let Ok(mut stream) = TcpStream::connect((address, WEB)) else { continue };
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nX: ");
            held.push(stream);
        }
        held
    });
    let gateway = lab.net.gateway(0);
    lab.sandbox(0).inside(|| {
        let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
        for n in 0..3000 {
            let _ = socket.send_to(&wire::question(1, &format!("x{n}.evil.test")), (gateway, 53));
        }
    });
    let neighbour = lab.sandbox(1).call("good.test", WEB, GET);
    assert!(neighbour.text().ends_with("hello"), "{neighbour:?}");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = rss.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 40_000, "{kilobytes} kB");
    let mut first = held.into_iter().next().unwrap();
    first.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut said = String::new();
    let _ = first.read_to_string(&mut said);
    assert!(said.starts_with("HTTP/1.1 408"), "the head took too long: {said:?}");
    assert!(lab.router.log().len() < 2000, "the log is added up");
}

#[test]
fn one_subnets_connections_leave_the_neighbour_room() {
    let Some(mut lab) = Lab::new(Policy::default()) else { return };
    lab.router.kill_serve();
    // 85 connections in all, fewer than one subnet's cap.
    lab.router.begin_serving_within(1024);
    lab.router.greet(Policy::default());
    lab.router.grant(0, &["good.test"]);
    lab.router.grant(1, &["good.test"]);
    let address = lab.sandbox(0).address("good.test");
    let idle = lab
        .sandbox(0)
        .inside(|| (0..100).filter_map(|_| TcpStream::connect((address, WEB)).ok()).collect::<Vec<TcpStream>>());
    let neighbour = lab.sandbox(1).call("good.test", WEB, GET);
    assert!(neighbour.text().ends_with("hello"), "{neighbour:?}");
    lab.router
        .logged("a subnet without room", |entry| entry.subnet == 0 && entry.reason == "too many connections at once");
    drop(idle);
}

#[test]
fn one_subnets_questions_by_tcp_leave_the_neighbour_room() {
    let Some(mut lab) = Lab::open(&["good.test"]) else { return };
    lab.router.grant(1, &["good.test"]);
    let gateway = lab.net.gateway(0);
    let idle = lab
        .sandbox(0)
        .inside(|| (0..300).filter_map(|_| TcpStream::connect((gateway, 53)).ok()).collect::<Vec<TcpStream>>());
    let query = wire::question(1, "good.test");
    let length = u16::try_from(query.len()).unwrap().to_be_bytes();
    let talk = lab.sandbox(1).say(lab.net.gateway(1), 53, &[&length[..], &query].concat());
    let answer = talk.heard.get(2..).and_then(|bytes| wire::parse_answer(bytes, 1, "good.test"));
    assert!(answer.is_some_and(|answer| !answer.addresses.is_empty()), "{talk:?}");
    drop(idle);
}
