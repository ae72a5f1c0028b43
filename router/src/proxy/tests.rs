//! Whole connections on the loopback interface, without the laboratory: what is refused, how, and what of a request reaches the server.

#[path = "../../tests/common/mod.rs"]
mod common;

use super::*;
use crate::access::NameVerdict;
use crate::dns::wire;
use common::{extension, hello, records, sni};
use protocol::router::{LogEntry, Policy, Rule};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;

/// Fatal alerts `access_denied` and `internal_error` (RFC 8446 §6).
const DENIED: &[u8] = &[21, 3, 3, 0, 2, 2, 49];
const FAILED: &[u8] = &[21, 3, 3, 0, 2, 2, 80];
/// The end of a connection that was let through to a name server that does not answer.
const LET_THROUGH: &str = "the name server did not answer";

/// Access to `a.test` on this port; loopback addresses count as public.
fn access(port: u16, refuse_ech: bool) -> AccessControl {
    let public = vec!["127.0.0.0/8".parse().unwrap()];
    let access = AccessControl::new("10.90.0.0/20".parse().unwrap(), 1, vec![], public);
    access.set_policy(1, Policy { refuse_ech, ..Policy::default() }).unwrap();
    access.grant(0, vec![Rule::parse(&format!("a.test:{port}")).unwrap()]).unwrap();
    access
}

fn ticket(access: &AccessControl, port: u16) -> Ticket {
    let NameVerdict::Address(address) = access.look_up(0, "a.test") else { panic!("denied") };
    access.admit(0, address, port).unwrap()
}

/// A connection on the loopback interface: the client's end and the router's.
async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (client, listener.accept().await.unwrap().0)
}

/// A server for `a.test`, and its port.
async fn server() -> (TcpListener, u16) {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port();
    (server, port)
}

/// Sends the parts over one connection to `a.test`; returns its log entry and what the client received.
async fn talk(access: &AccessControl, resolver: &Resolver, port: u16, parts: &[&[u8]]) -> (LogEntry, Vec<u8>) {
    let (mut client, inside) = pair().await;
    let before = access.last_entry();
    let says = async move {
        for part in parts {
            // It may have been refused, or answered, by what came before.
            let _ = client.write_all(part).await;
            tokio::task::yield_now().await;
        }
        let mut heard = Vec::new();
        // A reset ends it as well. The client is closed then, and with it what is copied in both directions.
        let _ = client.read_to_end(&mut heard).await;
        drop(client);
        heard
    };
    let ((), heard) = tokio::join!(connection(access, resolver, inside, ticket(access, port)), says);
    (access.entry_after(before).expect("its entry in the log"), heard)
}

/// The reason in the log, the name that was asked for, and the answer, if no name server is there.
async fn refused(port: u16, refuse_ech: bool, parts: &[&[u8]]) -> (String, Option<String>, Vec<u8>) {
    let nobody = Resolver::new("127.0.0.1:1".parse().unwrap());
    let (entry, heard) = talk(&access(port, refuse_ech), &nobody, port, parts).await;
    assert_eq!(entry.verdict == Verdict::Failed, entry.reason == LET_THROUGH, "{entry:?}");
    (entry.reason, entry.sni, heard)
}

fn tls(extensions: &[Vec<u8>]) -> Vec<u8> {
    records(&hello(extensions), 16384)
}

#[tokio::test]
async fn tls_passes_for_its_own_name_alone() {
    let ech = extension(0xfe0d, &[0]);
    let own = Some("a.test".to_owned());
    for port in [443, 8443] {
        let tried = |refuse_ech, bytes: Vec<u8>| async move { refused(port, refuse_ech, &[&bytes]).await };
        assert_eq!(tried(true, tls(&[sni("A.test")])).await, (LET_THROUGH.to_owned(), own.clone(), FAILED.to_vec()));
        let (reason, _, heard) = tried(false, tls(&[sni("a.test"), ech.clone()])).await;
        assert_eq!((reason.as_str(), &heard[..]), (LET_THROUGH, FAILED), "ECH, where it is not refused");
        for (hello, why, name) in [
            (tls(&[]), "no server name in the TLS hello", None),
            (tls(&[sni("b.test")]), "TLS asks for another name, b.test", Some("b.test")),
            (tls(&[sni("x.a.test")]), "TLS asks for another name, x.a.test", Some("x.a.test")),
            (tls(&[sni("a.test.")]), "TLS asks for another name, a.test.", Some("a.test.")),
            (tls(&[sni("a.test"), ech.clone()]), "the TLS hello may hide another name (ECH)", Some("a.test")),
            (tls(&[sni("a.test"), sni("b.test")]), "more than one server name in the TLS hello", None),
        ] {
            let (reason, asked, heard) = tried(true, hello).await;
            assert_eq!((reason.as_str(), asked.as_deref(), &heard[..]), (why, name, DENIED));
        }
    }
    let plain = refused(443, true, &[b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"]).await;
    assert_eq!((plain.0.as_str(), plain.2.len()), ("not TLS", 0), "it cannot read an alert");
}

#[tokio::test]
async fn plain_http_passes_for_its_own_host_alone() {
    for (port, suffix) in [(80, ""), (8080, ":8080")] {
        let ask = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes();
        let whole = ask(&format!("a.test{suffix}"));
        for cut in [1, 2, 16, whole.len()] {
            let (reason, _, heard) = refused(port, true, &[&whole[..cut], &whole[cut..]]).await;
            assert_eq!(reason, LET_THROUGH, "cut after {cut}");
            assert!(heard.starts_with(b"HTTP/1.1 502 Bad Gateway\r\n"), "{}", String::from_utf8_lossy(&heard));
        }
        let (_, asked, heard) = refused(port, true, &[&ask(&format!("b.test{suffix}"))]).await;
        assert_eq!(asked, Some(format!("b.test{suffix}")));
        assert!(heard.starts_with(b"HTTP/1.1 403 Forbidden\r\n"), "{}", String::from_utf8_lossy(&heard));
        let (_, _, heard) = refused(port, true, &[b"GET / HTTP/1.1\nHost: a.test\n\n"]).await;
        assert!(heard.starts_with(b"HTTP/1.1 400 Bad Request\r\n"), "{}", String::from_utf8_lossy(&heard));
    }
    for hello in [&tls(&[sni("a.test")])[..], &[22], &[22, 3, 1, b'\n']] {
        let (reason, _, heard) = refused(80, true, &[hello]).await;
        assert_eq!((reason.as_str(), heard.len()), ("TLS on the port of plain HTTP", 0));
    }
}

#[tokio::test]
async fn every_method_is_recognised_on_any_port() {
    for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PRI"] {
        let bytes = format!("{method} / HTTP/1.1\r\nHost: b.test:8080\r\n\r\n").into_bytes();
        let (reason, _, heard) = refused(8080, true, &[&bytes]).await;
        assert!(heard.starts_with(b"HTTP/1.1 403 "), "{method}: {reason}");
    }
}

#[tokio::test]
async fn an_empty_line_in_front_carries_no_request_past_the_look_at_its_host() {
    let request = &b"GET / HTTP/1.1\r\nHost: b.test:8080\r\n\r\n"[..];
    for blank in [&b"\r\n"[..], b"\n", b"\r\n\r\n", &[b'\n'; 2000]] {
        let whole = [blank, request].concat();
        for parts in [&[&whole[..]][..], &[blank, request]] {
            let (reason, _, heard) = refused(8080, true, parts).await;
            assert!(heard.starts_with(b"HTTP/1.1 400 "), "{reason}: {}", String::from_utf8_lossy(&heard));
        }
    }
}

/// A name server that gives every name this address, or none.
async fn name_server(address: Option<Ipv4Addr>) -> Resolver {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let at = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buffer = [0; 2048];
        while let Ok((len, from)) = socket.recv_from(&mut buffer).await {
            let Ok(query) = wire::parse_query(&buffer[..len]) else { continue };
            let answer = wire::answer(&query, wire::NOERROR, address, 60);
            socket.send_to(&answer, from).await.unwrap();
        }
    });
    Resolver::new(at)
}

/// What a server receives of the parts that end with `last`, if it gives this answer to them; and what the client receives.
async fn passed(parts: &[&[u8]], last: &'static [u8], answer: &'static [u8]) -> (String, String) {
    let (server, port) = server().await;
    let serving = tokio::spawn(async move {
        let (mut stream, _) = server.accept().await.unwrap();
        let mut got = Vec::new();
        while !got.ends_with(last) {
            assert_ne!(stream.read_buf(&mut got).await.unwrap(), 0, "{}", String::from_utf8_lossy(&got));
        }
        stream.write_all(answer).await.unwrap();
        stream.shutdown().await.unwrap();
        let _ = stream.read_to_end(&mut got).await;
        got
    });
    let patience = Duration::from_secs(30);
    let resolver = name_server(Some(Ipv4Addr::LOCALHOST)).await;
    let (_, heard) = timeout(patience, talk(&access(port, true), &resolver, port, parts)).await.expect("an end");
    let got = timeout(patience, serving).await.expect("an end").unwrap();
    let got = String::from_utf8_lossy(&got).replace(&format!(":{port}"), ":PORT");
    (got, String::from_utf8_lossy(&heard).into_owned())
}

#[tokio::test]
async fn a_name_without_an_ipv4_address_is_not_said_to_be_none() {
    let request = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
    let (entry, _) = talk(&access(80, true), &name_server(None).await, 80, &[request]).await;
    assert_eq!(entry.verdict, Verdict::Failed);
    assert_eq!(entry.reason, "the name does not exist, or has no IPv4 address");
}

#[tokio::test]
async fn of_several_requests_only_the_first_reaches_the_server() {
    const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let second = "GET /second HTTP/1.1\r\nHost: b.test\r\n\r\n";
    let head = |rest: &str| format!("POST / HTTP/1.1\r\nHost: a.test:PORT\r\n{rest}Connection: close\r\n\r\n");
    for (field, body, last) in [
        ("Content-Length: 3\r\n", "abc", &b"\r\n\r\nabc"[..]),
        ("Content-Length: 0\r\n", "", b"close\r\n\r\n"),
        ("", "", b"close\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n", b"0\r\n\r\n"),
    ] {
        // The port is only known to `passed`, so an absent one must do in the Host header.
        let request = format!("POST / HTTP/1.1\r\nHost: a.test\r\n{field}\r\n{body}{second}");
        for cut in [request.len() - second.len() - body.len(), request.len()] {
            let parts = [&request.as_bytes()[..cut], &request.as_bytes()[cut..]];
            let (got, heard) = passed(&parts, last, OK).await;
            assert_eq!(got, format!("{}{body}", head(field)), "cut after {cut}");
            assert!(heard.ends_with("\r\n\r\nok"), "{heard}");
        }
    }
}

#[tokio::test]
async fn chunks_that_two_readers_could_understand_differently_are_logged_as_refused() {
    let (server, port) = server().await;
    let serving = tokio::spawn(async move {
        let mut got = Vec::new();
        // A reset ends it as well.
        let _ = server.accept().await.unwrap().0.read_to_end(&mut got).await;
        got
    });
    let resolver = name_server(Some(Ipv4Addr::LOCALHOST)).await;
    let request = b"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n";
    let (entry, _) = talk(&access(port, true), &resolver, port, &[request]).await;
    assert_eq!((entry.verdict, entry.reason.as_str()), (Verdict::Denied, "a chunk's line ends without CR"));
    let got = serving.await.unwrap();
    assert!(!got.windows(2).any(|two| two == b"1\n"), "{}", String::from_utf8_lossy(&got));
}

#[tokio::test]
async fn a_client_that_still_sends_when_it_is_answered_is_heard_out() {
    let (server, port) = server().await;
    let (access, resolver) = (access(port, true), name_server(Some(Ipv4Addr::LOCALHOST)).await);
    let ticket = ticket(&access, port);
    let (mut client, inside) = pair().await;
    let mut session = Session::new(&access, &resolver, &ticket, inside);
    client.write_all(b"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9\r\n\r\nabc").await.unwrap();
    let mut heard = String::new();
    let answered = async {
        let (mut stream, _) = server.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 413 Content Too Large\r\n\r\nno").await.unwrap();
        stream.shutdown().await.unwrap();
        client.read_to_string(&mut heard).await.unwrap();
        stream
    };
    let mut run = std::pin::pin!(session.run());
    let _stream = tokio::select! {
        biased;
        end = &mut run => panic!("{end:?} before the client had its answer"),
        stream = answered => stream,
    };
    assert!(heard.ends_with("no"), "{heard}");
    client.write_all(b"defghi").await.unwrap();
    drop(client);
    let end = timeout(Duration::from_secs(30), run).await.expect("an end");
    assert!(matches!(end, End::Done), "{end:?}");
}

#[tokio::test]
async fn a_client_that_is_gone_ends_its_plain_request_and_one_that_still_reads_gets_the_answer() {
    let patience = Duration::from_secs(30);
    for (gone, after_end) in [(true, Some(Duration::ZERO)), (false, None)] {
        let (server, port) = server().await;
        let (access, resolver) = (access(port, true), name_server(Some(Ipv4Addr::LOCALHOST)).await);
        let ticket = ticket(&access, port);
        let (mut client, inside) = pair().await;
        let mut session = Session::new(&access, &resolver, &ticket, inside);
        session.after_end = after_end.unwrap_or(session.after_end);
        client.write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").await.unwrap();
        client.shutdown().await.unwrap();
        let serves = async {
            let (mut stream, _) = server.accept().await.unwrap();
            if !gone {
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhere").await.unwrap();
                stream.shutdown().await.unwrap();
            }
            stream
        };
        let (end, _stream) = timeout(patience, async { tokio::join!(session.run(), serves) }).await.expect("an end");
        match (gone, end) {
            (true, End::Broken(reason)) => assert_eq!(reason, "idle for too long"),
            (false, End::Done) => {
                let mut heard = String::new();
                timeout(patience, client.read_to_string(&mut heard)).await.expect("an answer").unwrap();
                assert!(heard.ends_with("here"), "{heard}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn data_behind_an_upgrade_passes_once_the_server_agreed() {
    let request = b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nframe";
    let switched = b"HTTP/1.1 101 Switching Protocols\r\n\r\n";
    let (got, heard) = passed(&[request], b"websocket\r\n\r\n", switched).await;
    assert!(got.ends_with("Upgrade: websocket\r\n\r\nframe"), "{got}");
    assert!(heard.starts_with("HTTP/1.1 101 "), "{heard}");
    for answer in [&b"HTTP/1.1 200 OK\r\n\r\n"[..], b"HTTP/1.0 101 \r\n\r\n", b"HTTP/1.1 1010\r\n\r\n"] {
        let (got, heard) = passed(&[request], b"websocket\r\n\r\n", answer).await;
        assert!(got.ends_with("Upgrade: websocket\r\n\r\n"), "nothing more than the request: {got}");
        assert_eq!(heard.as_bytes(), answer);
    }
}

#[tokio::test]
async fn a_hello_and_other_protocols_reach_the_server_unchanged() {
    let (got, heard) = passed(&[b"EHLO me\r\n"], b"me\r\n", b"250 hello\r\n").await;
    assert_eq!((got.as_str(), heard.as_str()), ("EHLO me\r\n", "250 hello\r\n"));
    let bytes = tls(&[sni("a.test")]);
    let (got, _) = passed(&[&bytes[..7], &bytes[7..]], b"a.test", b"x").await;
    assert_eq!(got, String::from_utf8_lossy(&bytes));
}

/// What the log says of a connection that was admitted before this change and is still silent.
async fn cut_by(change: impl FnOnce(&AccessControl)) -> (Verdict, String) {
    let access = access(443, false);
    let ticket = ticket(&access, 443);
    change(&access);
    let (silent, inside) = pair().await;
    let resolver = Resolver::new("127.0.0.1:1".parse().unwrap());
    let before = access.last_entry();
    connection(&access, &resolver, inside, ticket).await;
    let entry = access.entry_after(before).expect("its line in the log");
    drop(silent);
    (entry.verdict, entry.reason)
}

#[tokio::test]
async fn what_is_taken_back_between_admission_and_the_first_look_is_cut() {
    let cut = cut_by(|access| access.grant(0, vec![]).unwrap()).await;
    assert_eq!(cut, (Verdict::Denied, "no longer allowed".to_owned()));
}

#[tokio::test]
async fn what_was_open_when_its_subnet_was_closed_is_no_refusal() {
    let closed = (Verdict::Allowed, "the subnet was closed".to_owned());
    assert_eq!(cut_by(|access| drop(access.close(0))).await, closed);
    let reopened = |access: &AccessControl| {
        drop(access.close(0));
        access.grant(0, vec![]).unwrap();
    };
    assert_eq!(cut_by(reopened).await, closed, "another allocation of the subnet says nothing about this one");
}
