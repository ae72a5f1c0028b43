//! The router's test bed, with servers fast enough to compare, and a client place that does not use the router.

use crate::bench_client::{BenchClient, PAGE, resolving};
use crate::lab::internet::{Internet, Serve, bulk, echo};
use crate::lab::net::{self, Net};
use crate::lab::router::Router;
use crate::lab::sandbox::Sandbox;
use protocol::router::{Caps, Policy};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

pub const ECHO: u16 = crate::lab::internet::ECHO;
pub const BULK: u16 = crate::lab::internet::BULK;

static TLS: OnceLock<Arc<rustls::ServerConfig>> = OnceLock::new();

/// The rules of the subnets.
pub const RULES: [&str; 3] = ["good.test", "good.test:7000", "good.test:9000"];

pub struct TestBed {
    pub router: Router,
    /// The namespace that reaches the servers without the router.
    pub beside: &'static str,
    pub net: Net,
    pub dir: tempfile::TempDir,
}

/// Why the test bed cannot be set up here.
pub fn missing() -> Option<&'static str> {
    if !crate::lab::program().is_file() {
        return Some("CAISSON_ROUTER does not name the static router (make bench sets it)");
    }
    if !net::possible() {
        return Some("no network namespaces (root and iproute2 are needed)");
    }
    let openssl = Command::new("openssl").arg("version").output();
    (!openssl.is_ok_and(|out| out.status.success())).then_some("no openssl, which makes the lab's certificate")
}

impl TestBed {
    /// Both subnets may reach good.test: pages, streams, echoes.
    pub fn new() -> TestBed {
        let dir = tempfile::tempdir().expect("a directory");
        let net = Net::new();
        let beside = net.beside();
        // One certificate for the whole process is enough.
        let _ = TLS.set(Arc::new(identity(dir.path())));
        let servers: [(u16, Serve); 4] = [(80, http), (443, https), (ECHO, echo), (BULK, bulk)];
        Internet::serving(&net, &servers);
        let caps = Caps { connections: 1000, up: 1 << 40, down: 1 << 40, ..Caps::default() };
        let mut router = Router::start(&net, Policy { caps, ..Policy::default() });
        for subnet in 0..2 {
            router.grant(subnet, &RULES);
        }
        TestBed { router, beside, net, dir }
    }

    pub fn sandbox(&self, subnet: u32) -> Sandbox<'_> {
        Sandbox { net: &self.net, subnet }
    }

    /// One client behind the router, one without it.
    pub fn clients(&self, tls: bool) -> (BenchClient, BenchClient) {
        let certificate = tls.then(|| certificate(self.dir.path()));
        let at = |place: &str, server: &str| {
            BenchClient::new(resolving(&self.net, place, server, self.dir.path()), certificate.as_deref())
        };
        (at("s0", &self.net.gateway(0).to_string()), at(self.beside, net::DNS))
    }
}

fn certificate(dir: &Path) -> PathBuf {
    dir.join("certificate.pem")
}

fn identity(dir: &Path) -> rustls::ServerConfig {
    let (certificate, key) = (certificate(dir), dir.join("key.pem"));
    let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=good.test \
                 -addext subjectAltName=DNS:good.test -addext basicConstraints=critical,CA:FALSE";
    let mut command = Command::new("openssl");
    command.args(words.split_whitespace()).arg("-keyout").arg(&key).arg("-out").arg(&certificate);
    let made = command.output().expect("openssl");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let chain = vec![CertificateDer::from_pem_file(certificate).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_file(key).expect("a key");
    rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).expect("an identity")
}

fn http(_: &Internet, stream: TcpStream, _: (Ipv4Addr, u16), _: usize) {
    page(stream);
}

fn https(_: &Internet, stream: TcpStream, _: (Ipv4Addr, u16), _: usize) {
    let config = TLS.get().expect("set before it serves").clone();
    let session = rustls::ServerConnection::new(config).expect("a session");
    let mut stream = rustls::StreamOwned::new(session, stream);
    page(&mut stream);
    stream.conn.send_close_notify();
    // The client may have disconnected.
    let _ = stream.flush();
}

/// Serves one request with one page.
fn page(mut stream: impl Read + Write) {
    let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
    while !seen.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(len @ 1..) => seen.extend_from_slice(&buffer[..len]),
            _ => return,
        }
    }
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", PAGE.len());
    let _ = stream.write_all(&[head.as_bytes(), PAGE].concat());
}
