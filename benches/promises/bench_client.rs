//! A client like the agent's tools: it asks the resolver for the name, connects, requests a page and reads it to the end.
//!
//! A separate process, so that it has a namespace's network and `resolv.conf`; makes and times one visit for each line it receives.

use crate::lab::net::Net;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The argument that makes this program a client instead of a bench.
pub const WORD: &str = "visit";
/// The host of the test bed's web servers.
pub const HOST: &str = "good.test";
pub const PAGE: &[u8] = b"hello";

/// The parent's side.
pub struct BenchClient {
    child: Child,
    orders: ChildStdin,
    times: BufReader<ChildStdout>,
}

/// A command in a namespace of the test bed that resolves names with this server.
pub fn resolving(net: &Net, place: &str, server: &str, dir: &Path) -> Command {
    let file = dir.join(format!("resolv-{place}.conf"));
    std::fs::write(&file, format!("nameserver {server}\noptions timeout:1 attempts:2\n")).expect("resolv.conf");
    let script = "mount --bind \"$1\" /etc/resolv.conf && shift && exec \"$@\"";
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &net.name(place), "unshare", "-m", "sh", "-c", script, "sh"]).arg(file);
    command
}

impl BenchClient {
    /// `certificate`: the one to trust, for HTTPS.
    pub fn new(mut command: Command, certificate: Option<&Path>) -> BenchClient {
        command.arg(std::env::current_exe().expect("this program")).arg(WORD).args(certificate);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a client");
        let (orders, times) = (child.stdin.take().expect("stdin"), child.stdout.take().expect("stdout"));
        BenchClient { child, orders, times: BufReader::new(times) }
    }

    pub fn visit(&mut self) -> Duration {
        self.orders.write_all(b"\n").expect("it reads");
        let mut line = String::new();
        self.times.read_line(&mut line).expect("it answers");
        Duration::from_nanos(line.trim().parse().expect("the client's time"))
    }
}

impl Drop for BenchClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The child's side: runs until its stdin ends.
pub fn run(certificate: Option<String>) {
    let trust = certificate.map(|path| trusting(Path::new(&path)));
    for line in std::io::stdin().lines() {
        line.expect("a line");
        let began = Instant::now();
        let body = match &trust {
            None => get(TcpStream::connect((HOST, 80)).expect("connected")),
            Some(trust) => {
                let name = ServerName::try_from(HOST).expect("a name");
                let session = rustls::ClientConnection::new(trust.clone(), name).expect("a session");
                get(rustls::StreamOwned::new(session, TcpStream::connect((HOST, 443)).expect("connected")))
            }
        };
        assert!(body.ends_with(PAGE), "{}", String::from_utf8_lossy(&body));
        println!("{}", began.elapsed().as_nanos());
    }
}

fn get(mut stream: impl Read + Write) -> Vec<u8> {
    let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut body = Vec::new();
    stream.read_to_end(&mut body).expect("answered to its end");
    body
}

/// Each visit makes a full handshake, since newly started tools have no session to resume.
fn trusting(certificate: &Path) -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate).expect("a certificate")).expect("trusted");
    let mut config = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.resumption = rustls::client::Resumption::disabled();
    Arc::new(config)
}
