//! Webhook intake with the store, in either database, against the same listener that only verifies; and PostgreSQL against bare
//! statements of the same size.

use crate::line::{Line, ms, quantile, ratio};
use crate::server::Server;
use caisson::config::Secret;
use caisson::server::{ClientLimits, Hooks, Keep, LimitedListener, Limits, Peer, hook_router};
use caisson::store::{Delivery, Location, Store, StoreError};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use sqlx::{Connection, Executor};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const CONNECTIONS: usize = 32;
const EACH: usize = 150;

/// A body like a real forge's for a comment: about 6 KB.
fn body() -> Vec<u8> {
    include_bytes!("../../tests/fixtures/gitea-1.25.4/issue_comment-created.json").to_vec()
}

fn signature(body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(b"sekret").expect("any length");
    mac.update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

/// Serves with the same connection limits as the bot's listener.
async fn listen(app: axum::Router, clients: Arc<ClientLimits>) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let app = app.into_make_service_with_connect_info::<Peer>();
    tokio::spawn(async move { axum::serve(LimitedListener { listener, clients }, app).await.expect("served") });
    address
}

/// A store that keeps nothing: the listener reads, verifies and answers.
struct Nowhere;

impl Keep for Nowhere {
    async fn keep(&self, _: Delivery) -> Result<bool, StoreError> {
        Ok(true)
    }
}

/// The bot's webhook listener with this store.
async fn listener<K: Keep>(store: K) -> std::net::SocketAddr {
    let secrets = HashMap::from([("shop".to_owned(), vec![Secret::new("sekret")])]);
    let clients = ClientLimits::new(Limits {
        connections: 2 * CONNECTIONS as u32,
        bad_signatures: 1,
        total: 2 * CONNECTIONS as u32,
        ..Limits::default()
    });
    let hooks = Hooks { secrets: Arc::new(secrets.into()), store, bell: Arc::default(), clients: clients.clone() };
    listen(hook_router(Arc::new(hooks), 1 << 20), clients).await
}

/// Posts one after the other on one connection; the time of each.
async fn posts(address: std::net::SocketAddr, count: usize) -> Vec<Duration> {
    let (body, mut times) = (body(), Vec::with_capacity(count));
    let signature = signature(&body);
    let mut stream = TcpStream::connect(address).await.expect("connected");
    stream.set_nodelay(true).expect("set");
    let mut answer = [0u8; 4096];
    // Unique within the run: the port is this connection's own.
    let port = stream.local_addr().expect("an address").port();
    for number in 0..count {
        let head = format!(
            "POST /webhooks/gitea/shop HTTP/1.1\r\nhost: x\r\nx-gitea-delivery: {port}-{number}\r\nx-gitea-event-type: issues\r\n\
             x-hub-signature-256: {signature}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let began = Instant::now();
        stream.write_all(&[head.as_bytes(), &body].concat()).await.expect("sent");
        let read = stream.read(&mut answer).await.expect("answered");
        assert!(answer[..read].starts_with(b"HTTP/1.1 202"), "{}", String::from_utf8_lossy(&answer[..read]));
        times.push(began.elapsed());
    }
    times
}

async fn load(address: std::net::SocketAddr) -> (f64, Duration) {
    let began = Instant::now();
    let works: Vec<_> = (0..CONNECTIONS).map(|_| tokio::spawn(posts(address, EACH))).collect();
    let mut all = Vec::new();
    for work in works {
        all.extend(work.await.expect("joined"));
    }
    let rate = all.len() as f64 / began.elapsed().as_secs_f64();
    (rate, quantile(&mut all, 0.99))
}

/// The best of three, each beside the same load on a listener without a store: requests per second and the 99th percentile.
async fn pair(plain: std::net::SocketAddr, durable: std::net::SocketAddr) -> ((f64, Duration), (f64, Duration)) {
    posts(plain, 20).await;
    posts(durable, 20).await;
    let (mut with, mut without) = ((0.0, Duration::ZERO), (0.0, Duration::ZERO));
    for _ in 0..3 {
        let (b, d) = (load(plain).await, load(durable).await);
        without = if b.0 > without.0 { b } else { without };
        with = if d.0 > with.0 { d } else { with };
    }
    (with, without)
}

pub async fn measure() -> Vec<Line> {
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::open(dir.path()).await.expect("a store");
    let (durable, plain) = (listener(store).await, listener(Nowhere).await);
    let (with, without) = pair(plain, durable).await;
    let single = quantile(&mut posts(durable, 100).await, 0.5);
    let share = with.0 / without.0;
    let late = ratio(with.1, without.1);
    let mut lines = vec![
        Line::promise(
            "webhook intake, durable, 32 connections, against the same listener without a store",
            format!("{:.0}/s against {:.0}/s: {share:.2} ×", with.0, without.0),
            "≥ 0.12 ×",
            share >= 0.12,
        ),
        Line::promise(
            "… its p99",
            format!("{} against {}: {late:.1} ×", ms(with.1), ms(without.1)),
            "≤ 12 ×",
            late <= 12.0,
        ),
        Line::shown("webhook intake, durable, 1 connection, p50", ms(single)),
    ];
    if let Some(server) = Server::durable() {
        lines.extend(in_postgres(&server, plain).await);
    }
    lines
}

/// A server with `fsync` on, as an operator's has.
async fn in_postgres(server: &Server, plain: std::net::SocketAddr) -> Vec<Line> {
    let url: url::Url = server.database().parse().expect("an address");
    let store = Store::open(Location::Postgres(url.clone())).await.expect("a store");
    let durable = listener(store).await;
    let (with, without) = pair(plain, durable).await;
    let share = with.0 / without.0;
    let bare = bare(&url).await;
    let own = with.0 / bare;
    vec![
        Line::promise(
            "… in PostgreSQL",
            format!("{:.0}/s against {:.0}/s: {share:.2} ×", with.0, without.0),
            "≥ 0.05 ×",
            share >= 0.05,
        ),
        Line::promise(
            "… against bare insertions in transactions of 32",
            format!("{:.0}/s against {bare:.0}/s: {own:.2} ×", with.0),
            "≥ 0.6 ×",
            own >= 0.6,
        ),
    ]
}

/// Rows per second of a loop on one connection: the same rows, as many in a transaction as requests come at once.
async fn bare(url: &url::Url) -> f64 {
    let mut connection = sqlx::PgConnection::connect(url.as_str()).await.expect("connected");
    let body = lz4_flex::compress_prepend_size(&body());
    let mut best = 0.0_f64;
    for round in 0..3 {
        let began = Instant::now();
        for burst in 0..EACH {
            connection.execute("BEGIN").await.expect("begun");
            for row in 0..CONNECTIONS {
                let sql = "INSERT INTO deliveries (uuid, repository, event_type, received_at, packing, body, about) \
                           VALUES ($1, 'shop', 'issues', 1, 1, $2, NULL) ON CONFLICT (uuid) DO NOTHING";
                let uuid = format!("{round}-{burst}-{row}");
                sqlx::query(sql).bind(uuid).bind(&body).execute(&mut connection).await.expect("stored");
            }
            connection.execute("COMMIT").await.expect("stored");
        }
        best = best.max((EACH * CONNECTIONS) as f64 / began.elapsed().as_secs_f64());
    }
    best
}
