//! A server on loopback that checks each request and answers from a list.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use futures_util::StreamExt;
use serde_json::Value;

/// One answer, given to the next request that passes the check.
pub enum Reply {
    Json(u16, Vec<(&'static str, &'static str)>, Value),
    Text(u16, &'static str, String),
    /// A stream in these pieces; then the connection ends as given.
    Stream(Vec<Vec<u8>>, End),
    /// Half of an answer, then the connection is closed.
    Cut,
    /// No answer.
    Hang,
}

/// How the connection ends after a stream's last piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Closed,
    Broken,
    /// It stays open without further data.
    Open,
}

impl Reply {
    /// A stream of this text, in one piece.
    pub fn events(text: &str) -> Self {
        Reply::Stream(vec![text.as_bytes().to_vec()], End::Closed)
    }

    pub fn ok(body: Value) -> Self {
        Reply::Json(200, vec![], body)
    }

    pub fn status(status: u16, body: Value) -> Self {
        Reply::Json(status, vec![], body)
    }
}

/// Says what is wrong with a request (path with query, headers, body): a status and the vendor's error body.
pub type Check = fn(&str, &HeaderMap, &Value) -> Result<(), (u16, Value)>;

struct Shared {
    check: Check,
    replies: Mutex<VecDeque<Reply>>,
    seen: Mutex<Vec<Value>>,
    raw: Mutex<Vec<String>>,
    refused: Mutex<Vec<Value>>,
}

/// Stops with the test's runtime.
pub struct Vendor {
    pub url: String,
    shared: Arc<Shared>,
}

impl Vendor {
    pub async fn start(check: Check, replies: Vec<Reply>) -> Self {
        let (replies, seen, raw) = (Mutex::new(replies.into()), Mutex::default(), Mutex::default());
        let shared = Arc::new(Shared { check, replies, seen, raw, refused: Mutex::default() });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().fallback(answer).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Vendor { url, shared }
    }

    /// Adds an answer for the next request.
    pub fn answer(&self, reply: Reply) {
        self.shared.replies.lock().unwrap().push_back(reply);
    }

    /// Bodies of the requests that passed the check.
    pub fn seen(&self) -> Vec<Value> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// The same bodies, byte for byte.
    pub fn raw(&self) -> Vec<String> {
        self.shared.raw.lock().unwrap().clone()
    }

    /// Errors of the check; empty after a successful test.
    pub fn refused(&self) -> Vec<Value> {
        self.shared.refused.lock().unwrap().clone()
    }
}

async fn answer(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let raw = String::from_utf8_lossy(&body).into_owned();
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    if let Err((status, error)) = (shared.check)(uri.path_and_query().map_or("", |it| it.as_str()), &headers, &body) {
        shared.refused.lock().unwrap().push(error.clone());
        return json(status, &[], &error);
    }
    shared.seen.lock().unwrap().push(body);
    shared.raw.lock().unwrap().push(raw);
    let reply = shared.replies.lock().unwrap().pop_front().expect("a test gives an answer for each request");
    match reply {
        Reply::Json(status, headers, body) => json(status, &headers, &body),
        Reply::Text(status, kind, text) => {
            Response::builder().status(status).header("content-type", kind).body(Body::from(text)).unwrap()
        }
        Reply::Stream(pieces, end) => stream(pieces, end),
        Reply::Cut => {
            let half = Ok(Bytes::from_static(b"{\"choices\": [{\"mess"));
            let parts = futures_util::stream::iter([half, Err(std::io::Error::other("cut"))]);
            Response::new(Body::from_stream(parts))
        }
        Reply::Hang => {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            Response::new(Body::empty())
        }
    }
}

fn stream(pieces: Vec<Vec<u8>>, end: End) -> Response {
    let pieces = futures_util::stream::iter(pieces.into_iter().map(|piece| Ok(Bytes::from(piece))));
    // Each piece is sent separately.
    let pieces = pieces.then(|piece| async {
        tokio::task::yield_now().await;
        piece
    });
    let body = match end {
        End::Closed => Body::from_stream(pieces),
        End::Broken => {
            let broken = futures_util::stream::once(async { Err(std::io::Error::other("cut")) });
            Body::from_stream(pieces.chain(broken))
        }
        End::Open => Body::from_stream(pieces.chain(futures_util::stream::pending())),
    };
    Response::builder().header("content-type", "text/event-stream; charset=utf-8").body(body).unwrap()
}

fn json(status: u16, headers: &[(&'static str, &'static str)], body: &Value) -> Response {
    let mut builder = Response::builder().status(StatusCode::from_u16(status).unwrap());
    builder = builder.header("content-type", "application/json");
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(Body::from(body.to_string())).unwrap()
}

/// Accepts anything, for tests of the answers alone.
pub fn anything(_: &str, _: &HeaderMap, _: &Value) -> Result<(), (u16, Value)> {
    Ok(())
}
