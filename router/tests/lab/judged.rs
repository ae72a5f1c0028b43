//! Names, TLS and HTTP: what passes, and every known way around.

use std::time::Duration;

use caisson_router::dns::wire;
use protocol::router::{Policy, Verdict};

use crate::Lab;
use crate::common::{extension, hello, records, sni};
use crate::internet::{BANNER, ECHO, TLS, WEB};
use crate::net::{EVIL, GOOD, LAN, METADATA};
use crate::router::small_caps;

const SOON: Duration = Duration::from_secs(4);

fn tls(name: &str) -> Vec<u8> {
    records(&hello(&[sni(name)]), 16384)
}

fn get(host: &str) -> Vec<u8> {
    format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes()
}

#[test]
fn names_are_answered_or_denied_without_a_question_upstream() {
    let Some(mut lab) = Lab::open(&["good.test", "*.wild.test"]) else { return };
    let before = lab.net.arrived();
    let sandbox = lab.sandbox(0);
    let (code, address) = sandbox.look_up("Good.test");
    assert_eq!(code, wire::NOERROR);
    assert!(protocol::router::SYNTHETIC.contains(address.unwrap()));
    assert!(sandbox.look_up("x.wild.test").1.is_some());
    for name in
        ["evil.test", "wild.test", "xgood.test", "good.test.evil.test", "169.254.169.254", "localhost", "_x.wild.test"]
    {
        assert_eq!(sandbox.look_up(name), (wire::NXDOMAIN, None), "{name}");
    }
    // A tunnel through denied names, and the same by another resolver: no packet leaves.
    for n in 0..200 {
        assert_eq!(sandbox.look_up(&format!("c2VjcmV0{n}.evil.test")).0, wire::NXDOMAIN);
    }
    let mut aaaa = wire::question(5, "good.test");
    let kind = aaaa.len() - 3;
    for other in [28, 65, 16] {
        aaaa[kind] = other;
        let answer = sandbox.ask(&aaaa).unwrap();
        assert_eq!((answer[3] & 15, answer[7]), (0, 0), "type {other} exists and is empty");
    }
    let mut two = wire::question(5, "good.test");
    two[5] = 2;
    assert_eq!(sandbox.ask(&two), None);
    assert_eq!(lab.sandbox(1).look_up("good.test").0, wire::NXDOMAIN, "a subnet that isn't open");
    assert_eq!(lab.internet.asked(), Vec::<String>::new());
    assert_eq!(lab.net.arrived(), before, "packets left");
    let entry = lab.router.logged("evil.test", |entry| entry.host == "evil.test");
    assert_eq!((entry.verdict, entry.port, entry.reason.as_str()), (Verdict::Denied, 0, "host not allowed"));
}

#[test]
fn tls_is_held_to_its_name() {
    let Some(mut lab) = Lab::open(&["good.test", "cdn.test"]) else { return };
    let sandbox = lab.sandbox(0);
    let fine = tls("good.test");
    assert!(sandbox.call("good.test", TLS, &fine).heard == fine, "the right name passes, unchanged");
    let cut = records(&hello(&[extension(43, &[2, 3, 4]), sni("good.test")]), 3);
    let bytes: Vec<&[u8]> = cut.chunks(1).collect();
    let slow = sandbox.parts(sandbox.address("good.test"), TLS, &bytes, Duration::from_micros(200), SOON);
    assert!(slow.heard == cut, "small records in single bytes pass");
    let hits = lab.internet.connections();
    let address = sandbox.address("good.test");
    let wrong_cut = records(&hello(&[sni("evil.test")]), 2);
    let two_names = records(&hello(&[sni("good.test"), sni("evil.test")]), 16384);
    let cases: [(&str, Vec<u8>, bool); 9] = [
        ("another name", tls("evil.test"), true),
        ("another allowed name", tls("cdn.test"), true),
        ("another name in small records", wrong_cut, true),
        ("two names", two_names, true),
        ("no name", records(&hello(&[]), 16384), true),
        ("a longer name", tls("good.test.evil.test"), true),
        ("HTTP on 443", get("good.test"), false),
        ("SSLv2", vec![0x80, 0x2e, 1, 3, 1, 0, 3, 0, 0], false),
        ("raw bytes", b"SSH-2.0-x\r\n".to_vec(), false),
    ];
    for (what, bytes, alert) in cases {
        let talk = sandbox.say(address, TLS, &bytes);
        assert!(talk.ended, "{what}: {talk:?}");
        let expected: &[u8] = if alert { &[21, 3, 3, 0, 2, 2, 49] } else { &[] };
        assert_eq!(talk.heard, expected, "{what}");
    }
    let on_80 = sandbox.call("good.test", WEB, &tls("good.test"));
    assert!(on_80.refused(), "TLS on 80: {on_80:?}");
    assert_eq!(lab.internet.connections(), hits, "something got through");
    let entry = lab.router.logged("mismatch", |entry| entry.sni.as_deref() == Some("evil.test"));
    assert_eq!((entry.verdict, entry.host.as_str(), entry.port), (Verdict::Denied, "good.test", TLS));
    let passed = lab.router.logged("passed", |entry| entry.verdict == Verdict::Allowed);
    assert_eq!(passed.rule.as_deref(), Some("good.test"));
    assert_eq!((passed.up, passed.down), (fine.len() as u64, fine.len() as u64));
}

#[test]
fn http_is_held_to_its_host() {
    let Some(lab) = Lab::open(&["good.test", "good.test:8080"]) else { return };
    let sandbox = lab.sandbox(0);
    let fine = sandbox.call("good.test", WEB, &get("good.test"));
    assert!(fine.text().ends_with("hello"), "{fine:?}");
    let other_port = sandbox.call("good.test", 8080, &get("good.test:8080"));
    assert!(other_port.text().ends_with("hello"), "{other_port:?}");
    let offer = b"GET / HTTP/1.1\r\nHost: good.test\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n";
    let offered = sandbox.call("good.test", WEB, offer);
    assert!(offered.text().ends_with("hello"), "an offer of HTTP/2 is passed over: {offered:?}");
    assert!(lab.internet.hits(GOOD, WEB).iter().all(|hit| !hit.contains("h2c")), "and not passed on");
    let hits = lab.internet.connections();
    let cases = [
        ("GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", 80, "403"),
        ("GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", 8080, "403"),
        ("GET / HTTP/1.1\r\n\r\n", 80, "403"),
        ("GET / HTTP/1.1\r\nHost: good.test\r\nHost: evil.test\r\n\r\n", 80, "400"),
        ("GET http://evil.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n", 80, "403"),
        ("GET / HTTP/1.1\r\nHost: good.test\r\n evil.test\r\n\r\n", 80, "400"),
        ("GET / HTTP/1.1\r\nHost : good.test\r\n\r\n", 80, "400"),
        (
            "POST / HTTP/1.1\r\nHost: good.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            80,
            "400",
        ),
        ("CONNECT evil.test:443 HTTP/1.1\r\nHost: good.test\r\n\r\n", 80, "403"),
        ("CONNECT good.test:8080 HTTP/1.1\r\nHost: good.test:8080\r\n\r\n", 8080, "403"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 80, "403"),
        ("GET / HTTP/1.1\nHost: good.test\n", 80, "400"),
    ];
    for (bytes, port, status) in cases {
        let talk = sandbox.call("good.test", port, bytes.as_bytes());
        assert!(talk.text().starts_with(&format!("HTTP/1.1 {status} ")), "{bytes:?}: {}", talk.text());
        assert!(talk.text().contains("caisson: good.test:"), "the reason stands in the body: {}", talk.text());
        assert!(talk.ended, "{bytes:?}: {talk:?}");
    }
    let raw = sandbox.call("good.test", WEB, b"\x01\x02\x03\r\n\r\n");
    assert!(raw.text().starts_with("HTTP/1.1 400 "), "{raw:?}");
    assert_eq!(lab.internet.connections(), hits, "something got through");
}

#[test]
fn a_second_request_never_passes() {
    let Some(lab) = Lab::open(&["good.test"]) else { return };
    let sandbox = lab.sandbox(0);
    let address = sandbox.address("good.test");
    let second = get("evil.test");
    let first_with_body = b"POST / HTTP/1.1\r\nHost: good.test\r\nContent-Length: 2\r\n\r\nok".to_vec();
    let chunked =
        b"POST / HTTP/1.1\r\nHost: good.test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n".to_vec();
    let upgrade = b"GET / HTTP/1.1\r\nHost: good.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n".to_vec();
    for first in [get("good.test"), first_with_body, chunked, upgrade] {
        let pipelined = [first.clone(), second.clone()].concat();
        let talk = sandbox.say(address, WEB, &pipelined);
        assert!(talk.text().ends_with("hello"), "{talk:?}");
        sandbox.parts(address, WEB, &[&first, &second], Duration::from_millis(100), SOON);
    }
    let hits = lab.internet.hits(GOOD, WEB);
    assert_eq!(hits.len(), 8);
    for hit in hits {
        assert!(!hit.contains("evil.test"), "a second request passed: {hit}");
        assert!(hit.contains("Host: good.test\r\n"));
    }
    // After the server switched protocols, the connection is a tunnel to the allowed host, but not before.
    let ws = b"GET /ws HTTP/1.1\r\nHost: good.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    let talk = sandbox.parts(address, WEB, &[ws, b"ping"], Duration::from_millis(50), Duration::from_millis(700));
    assert!(talk.text().starts_with("HTTP/1.1 101") && talk.text().ends_with("ping"), "{talk:?}");
}

#[test]
fn resolved_addresses_are_checked() {
    let names = [
        "rebind.test",
        "meta.test",
        "wire.test",
        "loop.test",
        "self.test",
        "mixed.test",
        "good.test",
        "big.test",
        "gone.test",
    ];
    let Some(mut lab) = Lab::open(&names) else { return };
    let sandbox = lab.sandbox(0);
    for name in &names[..6] {
        let talk = sandbox.call(name, WEB, &get(name));
        assert!(
            talk.text().starts_with("HTTP/1.1 403") && talk.text().contains("not a public address"),
            "{name}: {talk:?}"
        );
        let talk = sandbox.call(name, TLS, &tls(name));
        assert!(talk.ended, "{name}: {talk:?}");
    }
    assert_eq!(lab.internet.connections(), 0);
    assert!(sandbox.call("big.test", WEB, &get("big.test")).text().ends_with("hello"), "asked again by TCP");
    assert!(sandbox.call("gone.test", WEB, &get("gone.test")).text().starts_with("HTTP/1.1 502"));
    let entry = lab.router.logged("rebinding", |entry| entry.host == "rebind.test");
    assert_eq!((entry.verdict, entry.ip), (Verdict::Denied, LAN.parse().ok()));
    // A range of the operator, added while everything runs.
    let policy = Policy { private: vec![format!("{GOOD}/32").parse().unwrap()], ..Policy::default() };
    lab.router.order(&protocol::router::ToRouter::Policy { generation: 2, policy });
    lab.router.answer();
    let hits = lab.internet.connections();
    assert!(lab.sandbox(0).call("good.test", WEB, &get("good.test")).text().starts_with("HTTP/1.1 403"));
    assert_eq!(lab.internet.connections(), hits);
}

#[test]
fn only_the_ports_of_a_rule_are_open_and_raw_ones_are_carried() {
    let Some(lab) = Lab::open(&["good.test", &format!("good.test:{BANNER}"), &format!("good.test:{ECHO}")]) else {
        return;
    };
    let sandbox = lab.sandbox(0);
    let address = sandbox.address("good.test");
    let banner = sandbox.parts(address, BANNER, &[b""], Duration::ZERO, Duration::from_millis(2000));
    assert_eq!(banner.text(), "SSH-2.0-lab\r\n", "the server speaks first");
    let echoed = sandbox.parts(address, ECHO, &[b"any", b"thing"], Duration::from_millis(20), SOON);
    assert_eq!(echoed.text(), "anything");
    let hits = lab.internet.connections();
    assert!(sandbox.say(address, ECHO, &tls("evil.test")).heard.starts_with(&[21]), "TLS is held to the name anywhere");
    assert!(sandbox.say(address, ECHO, &get("evil.test")).text().starts_with("HTTP/1.1 403"));
    for port in [21, 25, 53, 8080, 9000, 15001] {
        let talk = sandbox.say(address, port, b"x");
        assert!(talk.refused(), "{port}: {talk:?}");
    }
    assert_eq!(lab.internet.connections(), hits);
}

#[test]
fn an_address_belongs_to_one_sandbox() {
    let Some(mut lab) = Lab::open(&["good.test"]) else { return };
    lab.router.grant(1, &["evil.test"]);
    let own = lab.sandbox(0).address("good.test");
    let before = lab.net.arrived();
    for address in [own, "198.18.7.7".parse().unwrap(), "198.19.255.254".parse().unwrap()] {
        let talk = lab.sandbox(1).say(address, ECHO, b"x");
        assert!(talk.refused(), "{address}: {talk:?}");
        let talk = lab.sandbox(1).say(address, WEB, &get("good.test"));
        assert!(talk.text().starts_with("HTTP/1.1 403"), "{address}: {talk:?}");
    }
    assert_eq!(lab.net.arrived(), before);
    assert_eq!(lab.sandbox(1).look_up("good.test").0, wire::NXDOMAIN);
}

#[test]
fn names_connections_bytes_and_wildcards_are_capped() {
    let Some(mut lab) = Lab::new(Policy { caps: small_caps(), ..Policy::default() }) else { return };
    lab.router.grant(0, &["good.test", "good.test:9000", "*.wild.test"]);
    let sandbox = lab.sandbox(0);
    let wild = (0..40).filter(|n| sandbox.look_up(&format!("d{n}.wild.test")).1.is_some()).count();
    assert!((5..=6).contains(&wild), "{wild} new names under a wildcard");
    assert_eq!(lab.internet.asked(), Vec::<String>::new(), "a look-up alone leaks nothing");
    let address = sandbox.address("good.test");
    let (idle, ninth) = sandbox.inside(|| {
        let idle: Vec<_> = (0..8).map(|_| std::net::TcpStream::connect((address, WEB)).unwrap()).collect();
        std::thread::sleep(Duration::from_millis(200));
        (idle, sandbox.say(address, WEB, &get("good.test")))
    });
    assert!(ninth.text().contains("too many connections"), "{ninth:?}");
    drop(idle);
    std::thread::sleep(Duration::from_millis(200));
    let big = sandbox.parts(address, 9000, &[b"20000000\n"], Duration::ZERO, Duration::from_secs(5));
    assert!(big.heard.len() <= (8 << 20) + (1 << 20), "{} bytes came down", big.heard.len());
    let after = sandbox.say(address, 9000, b"1\n");
    assert!(after.refused(), "{after:?}");
    let entry = lab.router.logged("byte cap", |entry| entry.reason.contains("byte cap") && entry.down > 0);
    assert_eq!((entry.verdict, entry.port), (Verdict::Denied, 9000));
}

#[test]
fn direct_addresses_other_protocols_and_neighbours_are_refused_at_once() {
    let Some(lab) = Lab::open(&["good.test"]) else { return };
    let sandbox = lab.sandbox(0);
    let _ = sandbox.address("good.test");
    let before = lab.net.arrived();
    let neighbour = lab.net.sandbox(1);
    let canary = lab.net.within("s1", || std::net::TcpListener::bind("0.0.0.0:7000")).unwrap();
    canary.set_nonblocking(true).unwrap();
    let own = lab.net.gateway(0);
    let targets = [GOOD, EVIL, LAN, METADATA, "198.51.100.2", "10.90.240.2", "10.90.240.17", "10.90.240.18", "1.1.1.1"];
    for target in targets {
        for port in [WEB, TLS, 53, ECHO, 15001, 15053] {
            // The gateway of any subnet answers queries for names, as intended.
            if port == 53 && target.starts_with("10.90.240.") {
                continue;
            }
            let talk = sandbox.say(target.parse().unwrap(), port, b"GET / HTTP/1.0\r\n\r\n");
            assert!(!talk.connected && talk.ended, "{target}:{port}: {talk:?}");
        }
    }
    for port in [15001, 15053, 80] {
        assert!(!sandbox.say(own, port, b"x").connected, "the router's own port {port}");
    }
    assert!(!sandbox.say(neighbour, ECHO, b"x").connected);
    assert!(canary.accept().is_err(), "the neighbour was reached");
    for (target, port) in [(GOOD, 443), (GOOD, 53), (METADATA, 53), ("198.18.0.5", 443), ("10.90.240.26", 53)] {
        let refused = sandbox.inside(|| {
            let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
            socket.connect((target, port)).unwrap();
            socket.set_read_timeout(Some(SOON)).unwrap();
            let _ = socket.send(&wire::question(1, "c2VjcmV0.evil.test"));
            socket.recv(&mut [0; 512]).map_err(|error| error.kind())
        });
        let refused = refused.expect_err("an answer came");
        assert_ne!(refused, std::io::ErrorKind::WouldBlock, "UDP {target}:{port} fell silent instead of being refused");
    }
    for target in [GOOD, METADATA, "10.90.240.26"] {
        let pinged = sandbox.inside(|| std::process::Command::new("ping").args(["-c1", "-W1", target]).output());
        assert!(!pinged.is_ok_and(|output| output.status.success()), "ping {target}");
    }
    assert_eq!((lab.internet.datagrams(), lab.internet.connections()), (0, 0));
    assert_eq!(lab.net.arrived(), before, "packets left");
}
