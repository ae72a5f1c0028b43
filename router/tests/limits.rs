//! What the parsers of untrusted bytes accept at each limit, and one byte beyond it.

mod common;

use caisson_router::proxy::head::{Body, Chunks, MAX_HEAD, Refusal, Request, find_end, judge};
use caisson_router::proxy::hello::{Hello, HelloError, HelloReader, MAX_WIRE};
use common::{extension, hello, records, sni, vec16};

fn read(wire: &[u8]) -> Result<Option<Hello>, HelloError> {
    HelloReader::default().push(wire)
}

/// A hello of these parts, each after its length.
fn made_of(version: u16, session: &[u8], ciphers: &[u8], compressions: &[u8], rest: &[u8]) -> Vec<u8> {
    let vec8 = |bytes: &[u8]| [&[bytes.len() as u8][..], bytes].concat();
    let body =
        [&version.to_be_bytes()[..], &[7; 32], &vec8(session), &vec16(ciphers), &vec8(compressions), rest].concat();
    let len = (body.len() as u32).to_be_bytes();
    records(&[&[1][..], &len[1..], &body].concat(), 16384)
}

#[test]
fn each_part_of_a_hello_is_looked_at() {
    let fine = Ok(Some(Hello { sni: None, ech: false }));
    assert_eq!(read(&made_of(0x0303, &[1; 32], &[0, 1], &[0], &[])), fine, "without extensions");
    assert_eq!(read(&made_of(0x0303, &[], &[0, 1], &[0], &vec16(&[]))), fine);
    for broken in [
        made_of(0x0203, &[], &[0, 1], &[0], &[]),
        made_of(0x0303, &[1; 33], &[0, 1], &[0], &[]),
        made_of(0x0303, &[], &[], &[0], &[]),
        made_of(0x0303, &[], &[0, 1, 2], &[0], &[]),
        made_of(0x0303, &[], &[0, 1], &[], &[]),
        made_of(0x0303, &[], &[0, 1], &[0], &[&vec16(&[])[..], &[0]].concat()),
    ] {
        assert_eq!(read(&broken), Err(HelloError::Malformed), "{broken:?}");
    }
    let named = |length: usize| read(&records(&hello(&[sni(&"a".repeat(length))]), 16384));
    assert_eq!(named(255).unwrap().unwrap().sni, Some("a".repeat(255)));
    assert_eq!(named(256), Err(HelloError::Malformed));
}

#[test]
fn a_hello_is_as_long_as_this_and_no_longer() {
    let padded = hello(&[extension(21, &[0; 17_000])]);
    let mut reader = HelloReader::default();
    let wire = records(&padded, 16384);
    assert!(reader.push(&wire).unwrap().is_some(), "a record of 16,384 bytes");
    assert_eq!(reader.wire(), wire);
    assert_eq!(read(&[22, 3, 1, 0x40, 1]), Err(HelloError::Malformed), "one of 16,385");
    let says = |len: [u8; 3]| read(&[&[22, 3, 1, 0, 4, 1][..], &len].concat());
    assert_eq!((says([0, 0x50, 0]), says([0, 0x50, 1])), (Ok(None), Err(HelloError::TooLong)));
    // Records of one byte each, of a hello that is never complete.
    let endless = records(&[&[1, 0, 0x50, 0][..], &[0; 0x5000]].concat(), 1);
    assert_eq!(read(&endless[..MAX_WIRE - 1]), Ok(None));
    assert_eq!(read(&endless[..MAX_WIRE]), Err(HelloError::TooLong));
}

fn web(text: &str) -> Result<Request, Refusal> {
    let end = find_end(text.as_bytes())?.expect("a whole head");
    judge(&text.as_bytes()[..end], "a.test", 80)
}

fn status(text: &str) -> u16 {
    web(text).err().map_or(200, |refusal| refusal.status)
}

#[test]
fn the_end_of_a_head_is_found_up_to_its_limit() {
    assert_eq!(find_end(b"GET / HTTP/1.1\r\n\r\nrest"), Ok(Some(18)));
    let long = |length: usize| {
        let (begin, end) = ("GET / HTTP/1.1\r\nX: ", "\r\n\r\n");
        find_end(format!("{begin}{}{end}", "a".repeat(length - begin.len() - end.len())).as_bytes())
    };
    assert_eq!(long(MAX_HEAD + 1), Ok(Some(MAX_HEAD + 1)), "its last byte is number MAX_HEAD, counted from 0");
    assert!(long(MAX_HEAD + 2).is_err());
    assert_eq!(find_end(&vec![b'a'; MAX_HEAD]), Ok(None));
}

#[test]
fn each_part_of_a_request_line_is_looked_at() {
    let line = |line: &str| status(&format!("{line}\r\nHost: a.test\r\n\r\n"));
    assert_eq!((line("GET / HTTP/1.1"), line(&format!("{} / HTTP/1.1", "M".repeat(32)))), (200, 200));
    for broken in [" / HTTP/1.1", "G(T / HTTP/1.1", "GET  HTTP/1.1", "GET /é HTTP/1.1", "GÉT / HTTP/1.1"] {
        assert_eq!(line(broken), 400, "{broken}");
    }
    assert_eq!(line(&format!("{} / HTTP/1.1", "M".repeat(33))), 400);
    let absolute = web("GET http://a.test/p?q HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
    assert!(absolute.head.starts_with(b"GET /p?q HTTP/1.1\r\n"));
    let other = judge(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", "a.test", 8080).unwrap();
    assert!(other.head.starts_with(b"GET / HTTP/1.1\r\nHost: a.test:8080\r\n"));
    assert_eq!(web("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n").unwrap_err().host.as_deref(), Some("b.test"));
}

#[test]
fn each_field_is_taken_up_to_its_limit() {
    let with = |fields: &str| web(&format!("GET / HTTP/1.1\r\nHost: a.test\r\n{fields}\r\n"));
    let refused = |fields: &str| with(fields).err().map_or(200, |refusal| refusal.status);
    assert!(with(&"X: y\r\n".repeat(127)).is_ok());
    assert_eq!(refused(&"X: y\r\n".repeat(128)), 400);
    assert_eq!(with("Content-Length: 3\r\n").unwrap().body, Body::Length(3));
    assert_eq!(
        with(&format!("Content-Length: {}\r\n", "1".repeat(18))).unwrap().body,
        Body::Length(111_111_111_111_111_111)
    );
    assert_eq!(
        (refused(&format!("Content-Length: {}\r\n", "1".repeat(19))), refused("Content-Length:\r\n")),
        (400, 400)
    );
    for not in [
        "Upgrade: websocket\r\n",
        "Connection: close\r\nUpgrade: websocket\r\n",
        "Connection: Upgrade\r\nUpgrade: other\r\n",
        "Connection: Upgrade\r\n",
    ] {
        assert!(!with(not).unwrap().upgrade, "{not}");
    }
    let socket = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    assert!(with(socket).unwrap().upgrade);
    assert_eq!(refused(&format!("{socket}Upgrade: websocket\r\n")), 400, "twice");
    assert_eq!(refused(&format!("{socket}Content-Length: 3\r\n")), 400, "with a body");
    assert_eq!(status(&format!("GET / HTTP/1.0\r\nHost: a.test\r\n{socket}\r\n")), 400, "in an older version");
}

#[test]
fn chunks_have_lines_trailers_and_sizes_up_to_their_limits() {
    let push = |text: &str| Chunks::default().push(text.as_bytes());
    let line = |length: usize| format!("1;{}\r\n", "x".repeat(length - 4));
    assert!(push(&line(4096)).is_ok() && push(&line(4097)).is_err());
    let trailers = |count: usize| format!("0\r\n{}\r\n", "T: 1\r\n".repeat(count));
    assert_eq!(push(&trailers(32)), Ok((trailers(32).len(), true)));
    assert!(push(&trailers(33)).is_err());
    assert!(push("1;\tx\r\n").is_ok() && push("1;\u{1}x\r\n").is_err());
    assert!(push(&format!("{}\r\n", "1".repeat(15))).is_ok() && push(&format!("{}\r\n", "1".repeat(16))).is_err());
}
