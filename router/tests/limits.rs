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

/// An extension `server_name` with this list in it (RFC 6066 §3), and these bytes after the list.
fn names(list: &[u8], after: &[u8]) -> Result<Option<Hello>, HelloError> {
    let data = [&vec16(list)[..], after].concat();
    read(&records(&hello(&[extension(0, &data)]), 16384))
}

#[test]
fn each_part_of_a_server_name_is_looked_at() {
    let entry = |kind: u8, name: &[u8]| [&[kind][..], &vec16(name)].concat();
    let fine = "a-_.Z9";
    assert_eq!(names(&entry(0, fine.as_bytes()), &[]).unwrap().unwrap().sni.as_deref(), Some("a-_.z9"));
    assert_eq!(names(&entry(1, b"a.test"), &[]), Err(HelloError::Malformed), "not a host name");
    assert_eq!(names(&entry(0, b"a.test"), &[0]), Err(HelloError::Malformed), "bytes after the list");
    assert_eq!(
        names(&[entry(0, b"a.test"), vec![0]].concat(), &[]),
        Err(HelloError::Ambiguous),
        "bytes after the name"
    );
    assert_eq!(names(&[], &[]), Err(HelloError::Malformed), "an empty list");
    for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_alphanumeric() && !b"-_.".contains(byte)) {
        assert_eq!(names(&entry(0, &[b'a', byte]), &[]), Err(HelloError::Malformed), "{byte}");
    }
}

#[test]
fn only_a_client_hello_is_one() {
    for kind in (0..=u8::MAX).filter(|kind| *kind != 1) {
        let mut message = hello(&[sni("a.test")]);
        message[0] = kind;
        assert_eq!(read(&records(&message, 16384)), Err(HelloError::Malformed), "handshake message {kind}");
    }
}

#[test]
fn nothing_behind_the_stated_length_of_a_hello_is_read() {
    // Without extensions the message may end after the compression methods, so what follows could pass for them.
    let whole = made_of(0x0303, &[], &[0, 1], &[0], &vec16(&sni("b.test")));
    let end = whole.len() - vec16(&sni("b.test")).len();
    let mut short = whole.clone();
    short[6..9].copy_from_slice(&u32::try_from(end - 9).unwrap().to_be_bytes()[1..]);
    assert_eq!(read(&whole).unwrap().unwrap().sni.as_deref(), Some("b.test"));
    assert_eq!(read(&short), Err(HelloError::Malformed));
}

#[test]
fn a_hello_has_so_many_extensions_and_no_more() {
    let with = |count: u16| {
        let all: Vec<Vec<u8>> = (1..=count).map(|kind| extension(kind, &[])).collect();
        read(&records(&hello(&all), 16384))
    };
    assert!(with(256).unwrap().is_some());
    assert_eq!(with(257), Err(HelloError::TooLong));
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
    assert_eq!((find_end(&[b'a'; 32 << 10]), find_end(&[b'a'; (32 << 10) + 1]).is_err()), (Ok(None), true), "32 KiB");
    assert_eq!(find_end(b""), Ok(None));
    assert!(find_end(b"\nGET").is_err() && find_end(b"\r\nGET").is_err(), "an empty line in front");
}

#[test]
fn each_part_of_a_request_line_is_looked_at() {
    let line = |line: &str| status(&format!("{line}\r\nHost: a.test\r\n\r\n"));
    assert_eq!((line("GET / HTTP/1.1"), line(&format!("{} / HTTP/1.1", "M".repeat(32)))), (200, 200));
    for broken in [" / HTTP/1.1", "G(T / HTTP/1.1", "GET  HTTP/1.1", "GET /é HTTP/1.1", "GÉT / HTTP/1.1"] {
        assert_eq!(line(broken), 400, "{broken}");
    }
    assert_eq!(line(&format!("{} / HTTP/1.1", "M".repeat(33))), 400);
    assert_eq!((line("PRI * HTTP/1.1"), line("GET / HTTP/2.0"), line("CONNECT / HTTP/1.0")), (403, 403, 403));
    let absolute = web("GET http://a.test/p?q HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
    assert!(absolute.head.starts_with(b"GET /p?q HTTP/1.1\r\n"));
    let other = judge(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", "a.test", 8080).unwrap();
    assert!(other.head.starts_with(b"GET / HTTP/1.1\r\nHost: a.test:8080\r\n"));
    assert_eq!(web("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n").unwrap_err().host.as_deref(), Some("b.test"));
}

#[test]
fn control_characters_are_refused_and_all_other_bytes_pass() {
    let request = |byte: u8| [&b"GET / HTTP/1.1\r\nHost: a.test\r\nX: a"[..], &[byte], b"b\r\n\r\n"].concat();
    for byte in 0..=u8::MAX {
        let passes = byte == b'\t' || (byte >= 0x20 && byte != 0x7f);
        let judged = judge(&request(byte), "a.test", 80);
        assert_eq!(judged.is_ok(), passes, "{byte}");
        let kept = [&b"\r\nX: a"[..], &[byte], b"b\r\n"].concat();
        assert!(judged.is_err() || judged.unwrap().head.windows(kept.len()).any(|part| part == kept), "{byte}");
    }
}

#[test]
fn the_name_of_a_field_is_a_token_and_no_disguise() {
    let with = |field: &str| status(&format!("GET / HTTP/1.1\r\nHost: a.test\r\n{field}: 1\r\n\r\n"));
    for byte in (0x21..0x7f_u8).filter(|byte| *byte != b':') {
        let token = byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        assert_eq!(with(&format!("x{}", char::from(byte))), if token { 200 } else { 400 }, "{}", char::from(byte));
    }
    assert_eq!(
        (with(""), with("Content_Length"), with("CONTENT_length"), with("Transfer_Encoding")),
        (400, 400, 400, 400)
    );
    assert_eq!((with("X_Host"), with("Content_Type"), with("Héader")), (200, 200, 400));
}

#[test]
fn fields_about_this_connection_end_here() {
    let fields =
        "Keep-Alive: 5\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nConnection: X\r\nUpgrade: other\r\nX: y\r\n";
    let request = web(&format!("GET / HTTP/1.1\r\nHost: a.test\r\n{fields}\r\n")).unwrap();
    let head = String::from_utf8(request.head).unwrap();
    assert_eq!(head, "GET / HTTP/1.1\r\nHost: a.test\r\nX: y\r\nConnection: close\r\n\r\n");
    // As Java's client offers HTTP/2 by itself: the server sees none of it, so it can't accept.
    let offers = "Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\nUpgrade: h2c\r\n";
    let request = web(&format!("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n{offers}\r\n")).unwrap();
    let head = String::from_utf8(request.head).unwrap();
    assert_eq!(head, "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nConnection: close\r\n\r\n");
    assert_eq!((request.body, request.upgrade), (Body::Length(3), false));
    let sent = |fields: &str| {
        let request = web(&format!("POST / HTTP/1.1\r\nHost: a.test\r\n{fields}\r\n")).unwrap();
        String::from_utf8(request.head).unwrap()
    };
    assert!(sent("content-length:  3 \r\n").contains("\r\nContent-Length: 3\r\n"));
    assert!(sent("transfer-encoding: chunked\r\n").contains("\r\nTransfer-Encoding: chunked\r\n"));
}

#[test]
fn the_host_is_the_connections_in_every_place() {
    let at = |port: u16, target: &str, host: &str| {
        let text = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        judge(text.as_bytes(), "a.test", port).map_or_else(|refusal| refusal.status, |_| 200)
    };
    for (port, host, wanted) in [
        (80, "a.test", 200),
        (80, "A.TEST.", 200),
        (80, "a.test:80", 200),
        (80, "a.test..", 403),
        (80, "a.test:81", 403),
        (80, "a.test:65616", 403),
        (80, "a.test:", 400),
        (80, "a.test:+80", 400),
        (80, "a.test:80:80", 403),
        (80, "xa.test", 403),
        (80, "a.testx", 403),
        (80, "b.test, a.test", 403),
        (80, "a.test b.test", 403),
        (80, "", 403),
        (8080, "a.test:8080", 200),
        (8080, "a.test", 200),
        (8080, "a.test:80", 403),
    ] {
        assert_eq!(at(port, "/", host), wanted, "{host} on port {port}");
        if !host.contains(' ') && !host.is_empty() {
            assert_eq!(at(port, &format!("http://{host}/"), "a.test"), wanted, "http://{host}/ on port {port}");
        }
    }
    for (target, wanted) in [
        ("*", 200),
        ("HTTP://a.test", 200),
        ("http://a.test?q", 200),
        ("http://a.test#f", 200),
        ("http://b.test?a.test", 403),
        ("http://b.test#a.test", 403),
        ("http://b.test\\a.test/", 403),
        ("ftp://a.test/", 403),
        ("//b.test/", 200),
        ("**", 400),
        ("a.test:80", 400),
    ] {
        assert_eq!(at(80, target, "a.test"), wanted, "{target}");
    }
    let long = format!("{}.test", "b".repeat(300));
    let refusal = web(&format!("GET / HTTP/1.1\r\nHost: {long}\r\n\r\n")).unwrap_err();
    assert_eq!(refusal.host.as_deref(), Some(&long[..253]));
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
    for (size, bytes) in [("1f", 31), ("1F", 31), ("010", 16), ("fff", 4095)] {
        let body = format!("{size}\r\n{}\r\n0\r\n\r\n", "x".repeat(bytes));
        assert_eq!(push(&format!("{body}GET")), Ok((body.len(), true)), "{size}");
    }
    let line = |length: usize| format!("1;{}\r\n", "x".repeat(length - 4));
    assert!(push(&line(4096)).is_ok() && push(&line(4097)).is_err());
    let trailers = |count: usize| format!("0\r\n{}\r\n", "T: 1\r\n".repeat(count));
    assert_eq!(push(&trailers(32)), Ok((trailers(32).len(), true)));
    assert!(push(&trailers(33)).is_err());
    for byte in (0..0x80_u8).filter(|byte| *byte != b'\n') {
        let line = format!("1;{}x\r\n", char::from(byte));
        assert_eq!(push(&line).is_ok(), byte == b'\t' || byte >= 0x20, "{byte}");
    }
    assert!(push(&format!("{}\r\n", "1".repeat(15))).is_ok() && push(&format!("{}\r\n", "1".repeat(16))).is_err());
}
