//! Parsers of untrusted bytes: what they accept, what they refuse, and that nothing makes them panic or grow. `PROPTEST_CASES=1000000` lets
//! the random part run for minutes instead of a second.

mod common;

use caisson_router::dns::wire::{self, BadQuery};
use caisson_router::proxy::head::{Body, Chunks, MAX_HEAD, Refusal, Request, find_end, judge};
use caisson_router::proxy::hello::{Hello, HelloError, HelloReader, MAX_WIRE};
use common::{extension, hello, records, sni, vec16};
use proptest::prelude::*;
use protocol::router::Rule;

fn read(wire: &[u8], step: usize) -> Result<Option<Hello>, HelloError> {
    let mut reader = HelloReader::default();
    for part in wire.chunks(step) {
        if let Some(hello) = reader.push(part)? {
            assert_eq!(reader.wire(), &wire[..reader.wire().len()]);
            return Ok(Some(hello));
        }
    }
    Ok(None)
}

#[test]
fn a_hello_is_read_however_it_is_cut() {
    let message = hello(&[extension(43, &[2, 3, 4]), sni("Docs.Example.test"), extension(0x0a0a, &[])]);
    let expected = Hello { sni: Some("docs.example.test".into()), ech: false };
    for record in [1, 3, 40, 16384] {
        for step in [1, 2, 7, 5000] {
            let wire = records(&message, record);
            assert_eq!(read(&wire, step), Ok(Some(expected.clone())), "records of {record}, steps of {step}");
        }
    }
}

#[test]
fn odd_hellos_are_refused_or_marked() {
    let one = |extensions: &[Vec<u8>]| read(&records(&hello(extensions), 16384), 5000);
    assert_eq!(one(&[]).unwrap().unwrap().sni, None);
    assert_eq!(one(&[sni("a.test"), sni("b.test")]), Err(HelloError::Ambiguous));
    let two = [&[0][..], &vec16(b"a.test"), &[0], &vec16(b"b.test")].concat();
    assert_eq!(one(&[extension(0, &vec16(&two))]), Err(HelloError::Ambiguous));
    assert_eq!(one(&[sni("a\0.test")]), Err(HelloError::Malformed));
    assert_eq!(one(&[sni("")]), Err(HelloError::Malformed));
    assert!(one(&[sni("a.test"), extension(0xfe0d, &[0])]).unwrap().unwrap().ech);
    assert_eq!(read(b"GET / HTTP/1.1\r\n", 5), Err(HelloError::NotTls));
    assert_eq!(read(&[0x80, 46, 1, 3, 1], 5), Err(HelloError::NotTls));
    assert_eq!(read(&[22, 2, 0, 0, 5], 5), Err(HelloError::NotTls));
    assert_eq!(read(&[22, 3, 1, 0, 0], 5), Err(HelloError::Malformed));
    assert_eq!(read(&[22, 3, 1, 0xff, 0xff], 5), Err(HelloError::Malformed));
    let trailing = [hello(&[sni("a.test")]), vec![1, 0, 0, 0]].concat();
    assert_eq!(read(&records(&trailing, 16384), 5000), Err(HelloError::Malformed));
    let server = [2, 0, 0, 0];
    assert_eq!(read(&records(&server, 16384), 5000), Err(HelloError::Malformed));
    let mixed = [records(&hello(&[sni("a.test")])[..9], 9), vec![21, 3, 3, 0, 2, 1, 0]].concat();
    assert_eq!(read(&mixed, 5000), Err(HelloError::Malformed));
}

#[test]
fn an_endless_hello_is_cut_off() {
    let big = [&[1, 0, 0x4f, 0x00][..], &[0; 0x4f00]].concat();
    let wire = records(&big, 1);
    assert_eq!(read(&wire, 1000), Err(HelloError::TooLong));
    let claims = [&[22, 3, 1, 0, 4, 1, 1, 0, 0][..]].concat();
    assert_eq!(read(&claims, 100), Err(HelloError::TooLong));
}

fn web(text: &str) -> Result<Request, Refusal> {
    let end = find_end(text.as_bytes())?.expect("a whole head");
    judge(&text.as_bytes()[..end], "a.test", 80)
}

#[test]
fn a_plain_request_is_written_anew() {
    let request =
        web("GET /x?y HTTP/1.1\r\nhOst: A.test.:80\r\nAccept: */*\r\nConnection: keep-alive\r\nKeep-Alive: 5\r\n\r\n")
            .unwrap();
    let head = String::from_utf8(request.head).unwrap();
    assert_eq!(head, "GET /x?y HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\nConnection: close\r\n\r\n");
    assert_eq!((request.body, request.upgrade), (Body::Length(0), false));
    let absolute = web("GET http://a.test?q HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
    assert!(absolute.head.starts_with(b"GET /?q HTTP/1.1\r\n"));
    let posted = web("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: Chunked\r\n\r\n").unwrap();
    assert_eq!(posted.body, Body::Chunked);
    let socket =
        web("GET / HTTP/1.1\r\nHost: a.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\r\n").unwrap();
    assert!(
        socket.upgrade
            && String::from_utf8_lossy(&socket.head).ends_with("Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    );
}

#[test]
fn what_two_readers_could_understand_differently_is_refused() {
    let cases = [
        ("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n", 403),
        ("GET / HTTP/1.1\r\nHost: a.test:8080\r\n\r\n", 403),
        ("GET / HTTP/1.1\r\nHost: a.test:x\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 403),
        ("GET / HTTP/1.0\r\n\r\n", 403),
        ("GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : a.test\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n Host: a.test\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a.test\r\n folded\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: a.test\n\n", 400),
        ("\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a.test\r\nX: a\rb\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a.test\r\nX: a\0b\r\n\r\n", 400),
        ("GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", 403),
        ("GET http://a.test@b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", 403),
        ("GET https://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", 403),
        ("GET a.test HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
        ("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n", 403),
        ("PRI * HTTP/2.0\r\n\r\n", 403),
        ("GET / HTTP/2.0\r\nHost: a.test\r\n\r\n", 403),
        ("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: +3\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3, 3\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer_Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.0\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("GET /  HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
        ("GET\t/ HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
        ("GET / HTTP/1.1 \r\nHost: a.test\r\n\r\n", 400),
        ("GET / HTTP/1.2\r\nHost: a.test\r\n\r\n", 400),
    ];
    for (text, status) in cases {
        let refusal = web(text).expect_err(text);
        assert_eq!(refusal.status, status, "{text:?}: {}", refusal.reason);
    }
}

#[test]
fn a_bare_line_feed_is_refused_before_the_head_ends() {
    assert!(find_end(b"GET / HTTP/1.1\nHo").is_err());
    assert_eq!(find_end(b"GET / HTTP/1.1\r\nHo"), Ok(None));
    assert!(find_end(&vec![b'a'; MAX_HEAD + 1]).is_err());
}

#[test]
fn chunks_end_where_they_say() {
    let body = b"4;x=y\r\nabcd\r\n0A\r\n0123456789\r\n0\r\nT: 1\r\n\r\n";
    let with_more = [&body[..], b"GET / HTTP/1.1\r\n"].concat();
    for step in [1, 3, 100] {
        let mut chunks = Chunks::default();
        let mut taken = 0;
        for part in with_more.chunks(step) {
            let (own, done) = chunks.push(part).unwrap();
            taken += own;
            if done {
                break;
            }
        }
        assert_eq!(taken, body.len());
    }
    for bad in ["\r\n", "g\r\n", "-1\r\n", "1\nx", "1\r\nxx\r\n", "0x1\r\n", "1 \r\nx", "1111111111111111\r\n"] {
        assert!(Chunks::default().push(bad.as_bytes()).is_err(), "{bad:?}");
    }
}

fn query(name: &str, kind: u16, questions: u8) -> Vec<u8> {
    let mut bytes = vec![1, 2, 1, 0, 0, questions, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        bytes.push(u8::try_from(label.len()).unwrap());
        bytes.extend(label.bytes());
    }
    bytes.push(0);
    bytes.extend(kind.to_be_bytes());
    bytes.extend([0, 1]);
    bytes
}

#[test]
fn queries_are_read_and_answered() {
    let bytes = query("Docs.Example.test", wire::A, 1);
    let parsed = wire::parse_query(&bytes).unwrap();
    assert_eq!((parsed.id, parsed.name.as_str(), parsed.kind), (0x0102, "docs.example.test", 1));
    let address = "198.18.0.1".parse().unwrap();
    let answer = wire::answer(&parsed, wire::NOERROR, Some(address), 60);
    let read = wire::parse_answer(&answer, 0x0102, "docs.example.test").unwrap();
    assert_eq!((read.addresses, read.ttl, read.code), (vec![address], 60, 0));
    assert_eq!(wire::parse_answer(&answer, 0x0103, "docs.example.test"), None);
    assert_eq!(wire::parse_answer(&answer, 0x0102, "evil.test"), None);
    assert_eq!(wire::parse_query(&query("a.test", 1, 2)), Err(BadQuery::Ignore));
    assert_eq!(wire::parse_query(&answer), Err(BadQuery::Ignore));
    let mut pointer = bytes.clone();
    pointer[12] = 0xc0;
    assert!(matches!(wire::parse_query(&pointer), Err(BadQuery::DnsAnswer { code: wire::FORMERR, .. })));
    assert_eq!(wire::parse_query(&vec![0; 5000]), Err(BadQuery::Ignore));
}

#[test]
fn aliases_are_followed_and_strangers_passed_over() {
    let mut bytes = wire::question(9, "a.test");
    bytes[2] = 0x81;
    bytes[7] = 3;
    let record = |name: &[u8], kind: u8, data: &[u8]| [name, &[0, kind, 0, 1, 0, 0, 0, 9], &vec16(data)].concat();
    bytes.extend(record(&[0xc0, 12], 5, &[1, b'b', 0xc0, 14]));
    bytes.extend(record(b"\x04evil\x00", 1, &[6, 6, 6, 6]));
    bytes.extend(record(b"\x01b\x04test\x00", 1, &[9, 9, 9, 9]));
    assert!(bytes.len() < 200);
    // `c0 0e` points into the question, at "test".
    let answer = wire::parse_answer(&bytes, 9, "a.test").unwrap();
    assert_eq!(answer.addresses, ["9.9.9.9".parse::<std::net::Ipv4Addr>().unwrap()]);
    let at = bytes.len() - 26;
    bytes[at] = 0xc0;
    let _ = wire::parse_answer(&bytes, 9, "a.test");
}

#[test]
fn aliases_are_followed_in_any_order_and_a_circle_ends() {
    let record = |name: &[u8], kind: u8, data: &[u8]| [name, &[0, kind, 0, 1, 0, 0, 0, 9], &vec16(data)].concat();
    let (a, b, c) = (b"\x01a\x04test\x00", b"\x01b\x04test\x00", b"\x01c\x04test\x00");
    let all = [record(c, 1, &[9, 9, 9, 9]), record(b, 5, c), record(a, 5, b), record(c, 5, a)];
    let read = |order: &[usize]| {
        let mut bytes = wire::question(9, "a.test");
        bytes[2] = 0x81;
        bytes[7] = u8::try_from(order.len()).unwrap();
        bytes.extend(order.iter().flat_map(|at| all[*at].clone()));
        wire::parse_answer(&bytes, 9, "a.test").unwrap()
    };
    for order in [&[2, 1, 0][..], &[0, 1, 2], &[1, 0, 2], &[0, 3, 1, 2]] {
        let answer = read(order);
        assert_eq!(answer.addresses, ["9.9.9.9".parse::<std::net::Ipv4Addr>().unwrap()], "{order:?}");
        assert_eq!(answer.ttl, 9);
    }
    assert!(read(&[1, 0]).addresses.is_empty(), "of another name");
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn no_bytes_make_the_hello_reader_panic_or_grow(bytes in proptest::collection::vec(any::<u8>(), 0..600), step in 1usize..50) {
        let wire = [&[22, 3, 1, 2, 0, 1, 0, 1][..], &bytes].concat();
        for wire in [&wire[..], &bytes[..]] {
            let mut reader = HelloReader::default();
            for part in wire.chunks(step) {
                if reader.push(part).is_err() { break; }
            }
            prop_assert!(reader.wire().len() <= MAX_WIRE);
        }
    }

    #[test]
    fn a_changed_hello_never_shows_a_name_that_is_not_in_it(at in 0usize..120, value in any::<u8>()) {
        let mut wire = records(&hello(&[sni("docs.example.test"), extension(16, &[0, 3, 2, b'h', b'2'])]), 50);
        let at = at % wire.len();
        wire[at] = value;
        if let Ok(Some(Hello { sni: Some(name), .. })) = read(&wire, 7) {
            let plain: Vec<u8> = wire.to_ascii_lowercase();
            let tail = &name.as_bytes()[name.len().saturating_sub(4)..];
            prop_assert!(plain.windows(tail.len()).any(|part| part == tail));
        }
    }

    #[test]
    fn no_bytes_make_the_head_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = find_end(&bytes);
        let _ = judge(&bytes, "a.test", 80);
        let _ = Chunks::default().push(&bytes);
    }

    #[test]
    fn a_request_that_passes_has_our_host_once_and_no_bare_lines(text in "(GET|POST) [/a-z:.]{1,12} HTTP/1.[01]\r\n((Host|X|Upgrade|Connection|Content-Length): ?[a-z0-9.:]{0,8}\r\n){0,4}\r\n") {
        if let Ok(request) = judge(text.as_bytes(), "a.test", 80) {
            let head = String::from_utf8(request.head).unwrap();
            prop_assert_eq!(head.to_lowercase().matches("\r\nhost:").count(), 1);
            prop_assert!(head.contains("\r\nHost: a.test\r\n"));
            prop_assert_eq!(head.matches('\n').count(), head.matches("\r\n").count());
            prop_assert_eq!(find_end(head.as_bytes()), Ok(Some(head.len())));
        }
    }

    #[test]
    fn chunks_never_take_more_than_there_is(bytes in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'0'), Just(b'2'), any::<u8>()], 0..200)) {
        if let Ok((own, _)) = Chunks::default().push(&bytes) {
            prop_assert!(own <= bytes.len());
        }
    }

    #[test]
    fn no_bytes_make_the_dns_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = wire::parse_query(&bytes);
        let _ = wire::parse_answer(&bytes, 9, "a.test");
        let mut answer = wire::question(9, "a.test");
        answer[2] = 0x81;
        answer[7] = 5;
        answer.extend(&bytes);
        let _ = wire::parse_answer(&answer, 9, "a.test");
    }

    #[test]
    fn a_rule_that_parses_reads_the_same_again(text in "[*]?[.]?[a-zA-Z0-9.:*-]{0,20}") {
        if let Ok(rule) = Rule::parse(&text) {
            prop_assert_eq!(Rule::parse(&rule.to_string()), Ok(rule));
        }
    }

    #[test]
    fn no_text_makes_the_rule_reader_panic(text in any::<String>()) {
        let _ = Rule::parse(&text);
    }
}
