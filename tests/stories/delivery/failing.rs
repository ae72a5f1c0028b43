//! A proxy before a real forge that refuses some of the bot's requests, and loses the answers of others.

use crate::dice::Dice;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use url::Url;

/// Of so many requests one is refused, and one carried out and not answered.
const ONE_OF: u64 = 20;
/// What belongs to one connection and is not passed on.
const OF_A_CONNECTION: [&str; 5] = ["host", "connection", "content-length", "transfer-encoding", "accept-encoding"];

pub struct Failing {
    to: Url,
    http: reqwest::Client,
    dice: Mutex<Dice>,
    pub armed: AtomicBool,
    pub refused: AtomicUsize,
    pub unanswered: AtomicUsize,
}

impl Failing {
    /// Begins to listen; its own address comes with it.
    pub async fn before(to: Url, seed: u64) -> (Arc<Self>, Url) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let here = format!("http://{}/", listener.local_addr().expect("an address"));
        let failing = Arc::new(Self {
            to,
            http: reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().expect("a client"),
            dice: Mutex::new(Dice::of(seed)),
            armed: AtomicBool::new(false),
            refused: AtomicUsize::new(0),
            unanswered: AtomicUsize::new(0),
        });
        let app = Router::new().fallback(pass).layer(DefaultBodyLimit::disable()).with_state(failing.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        (failing, here.parse().expect("an address"))
    }

    async fn answer(&self, method: Method, uri: &Uri, headers: &HeaderMap, body: Bytes) -> Option<Response> {
        let path = uri.path_and_query().map_or("/", |it| it.as_str());
        let url = self.to.join(path.trim_start_matches('/')).ok()?;
        let mut request = self.http.request(method, url).body(body);
        for (name, value) in headers.iter().filter(|(name, _)| !OF_A_CONNECTION.contains(&name.as_str())) {
            request = request.header(name, value);
        }
        let answer = request.send().await.ok()?;
        let mut response = Response::builder().status(answer.status());
        for (name, value) in answer.headers().iter().filter(|(name, _)| !OF_A_CONNECTION.contains(&name.as_str())) {
            response = response.header(name, value);
        }
        response.body(Body::from(answer.bytes().await.ok()?)).ok()
    }
}

async fn pass(
    State(failing): State<Arc<Failing>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let fate = match failing.armed.load(Ordering::SeqCst) {
        true => failing.dice.lock().expect("the dice").roll(ONE_OF),
        false => ONE_OF,
    };
    if fate == 0 {
        failing.refused.fetch_add(1, Ordering::SeqCst);
        return StatusCode::BAD_GATEWAY.into_response();
    }
    let answer = failing.answer(method, &uri, &headers, body).await;
    if fate == 1 {
        failing.unanswered.fetch_add(1, Ordering::SeqCst);
        return StatusCode::GATEWAY_TIMEOUT.into_response();
    }
    answer.unwrap_or_else(|| StatusCode::BAD_GATEWAY.into_response())
}
