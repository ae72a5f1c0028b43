//! `POST /webhooks/gitea/<repository key>`: checks size and signature over the raw bytes, stores the delivery, and answers `202`; handling
//! comes later, because Gitea waits at most five seconds and never repeats a delivery. Unverified bytes are not parsed.

use super::limits::{ClientLimits, Peer};
use crate::clock::now;
use crate::config::Secret;
use crate::forge::gitea::parse::subject;
use crate::forge::{SignatureError, verify};
use crate::store::{Delivery, Store, StoreError};
use axum::body::Bytes;
use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRequest, Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Router, response::IntoResponse, response::Response};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Notify;

/// Stores verified deliveries.
pub trait Keep: Send + Sync + 'static {
    /// Returns once it is stored; false when its uuid was known.
    fn keep(&self, delivery: Delivery) -> impl Future<Output = Result<bool, StoreError>> + Send;
}

impl Keep for Store {
    async fn keep(&self, delivery: Delivery) -> Result<bool, StoreError> {
        self.deliver(delivery).await
    }
}

/// Secrets of the hooks by the repository's key, two while one is being rotated; replaceable while the listener runs.
#[derive(Default)]
pub struct HookSecrets(RwLock<Arc<HashMap<String, Vec<Secret>>>>);

impl HookSecrets {
    /// Replaces all secrets.
    pub fn set(&self, all: HashMap<String, Vec<Secret>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(all);
    }

    fn now(&self) -> Arc<HashMap<String, Vec<Secret>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl From<HashMap<String, Vec<Secret>>> for HookSecrets {
    fn from(all: HashMap<String, Vec<Secret>>) -> Self {
        Self(RwLock::new(Arc::new(all)))
    }
}

/// State of the listener.
pub struct Hooks<K = Store> {
    /// Secrets of the hooks.
    pub secrets: Arc<HookSecrets>,
    /// Where a delivery is kept before it is answered.
    pub store: K,
    /// Notified whenever a delivery was stored.
    pub bell: Arc<Notify>,
    /// Counters of addresses, for bad signatures.
    pub clients: Arc<ClientLimits>,
}

/// The routes, with bodies of at most `max_body` bytes; served behind a [`super::LimitedListener`], which gives a request's address.
pub fn hook_router<K: Keep>(hooks: Arc<Hooks<K>>, max_body: usize) -> Router {
    let guard = axum::middleware::from_fn_with_state(hooks.clients.clone(), super::limits::guard);
    let routes = Router::new().route("/webhooks/gitea/{key}", post(take::<K>));
    routes.layer(DefaultBodyLimit::max(max_body)).layer(guard).with_state(hooks)
}

const DELIVERY: &str = "x-gitea-delivery";
const EVENT_TYPE: &str = "x-gitea-event-type";
const SIGNATURE: &str = "x-hub-signature-256";
/// The most characters of a delivery's id; a UUID has 36.
const LONGEST_ID: usize = 64;

async fn take<K: Keep>(
    State(hooks): State<Arc<Hooks<K>>>,
    ConnectInfo(Peer(from)): ConnectInfo<Peer>,
    Path(key): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let body = match receive(request, hooks.clients.limits().body).await {
        Ok(body) => body,
        Err(refusal) => return *refusal,
    };
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let all = hooks.secrets.now();
    let known = all.get(&key);
    let verified = match known {
        Some(secrets) => verify(secrets, header(SIGNATURE), &body),
        // Verified all the same, so that neither answer nor timing tells an unauthorized caller which repositories exist.
        None => verify(&[Secret::new("nobody")], header(SIGNATURE), &body).and(Err(SignatureError::Mismatch)),
    };
    if let Err(error) = verified {
        hooks.clients.bad_signature(from);
        // Other keys are a caller's invention, and would each make a counter.
        let counted = if known.is_some() { key } else { String::new() };
        metrics::counter!("caisson_hooks_total", "repository" => counted, "result" => "unsigned").increment(1);
        return (StatusCode::UNAUTHORIZED, error.to_string()).into_response();
    }
    let (Some(uuid), Some(event_type)) = (header(DELIVERY), header(EVENT_TYPE)) else {
        let text = "the headers X-Gitea-Delivery and X-Gitea-Event-Type are needed";
        return (StatusCode::BAD_REQUEST, text).into_response();
    };
    if uuid.is_empty() || uuid.len() > LONGEST_ID || event_type.len() > LONGEST_ID {
        return (StatusCode::BAD_REQUEST, "X-Gitea-Delivery is no delivery id").into_response();
    }
    let Ok(about) = subject(event_type, &body) else {
        metrics::counter!("caisson_hooks_total", "result" => "malformed").increment(1);
        return (StatusCode::BAD_REQUEST, "the body is not JSON of its event type").into_response();
    };
    let delivery = Delivery {
        uuid: uuid.to_owned(),
        repository: key,
        event_type: event_type.to_owned(),
        about,
        body: body.to_vec(),
        received_at: now(),
    };
    store(&hooks, delivery).await
}

/// The whole body, if it arrives in time and is not too large.
async fn receive(request: Request, within: Duration) -> Result<Bytes, Box<Response>> {
    match tokio::time::timeout(within, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(refused)) => Err(Box::new(refused.into_response())),
        Err(_) => {
            metrics::counter!("caisson_hooks_total", "result" => "slow").increment(1);
            Err(Box::new((StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time").into_response()))
        }
    }
}

async fn store<K: Keep>(hooks: &Hooks<K>, delivery: Delivery) -> Response {
    let key = delivery.repository.clone();
    match hooks.store.keep(delivery).await {
        Ok(fresh) => {
            hooks.bell.notify_one();
            let result = if fresh { "stored" } else { "known" };
            metrics::counter!("caisson_hooks_total", "repository" => key, "result" => result).increment(1);
            (StatusCode::ACCEPTED, result).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "a delivery could not be stored; the next round of reading finds what it was about");
            (StatusCode::SERVICE_UNAVAILABLE, "not stored").into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::limits::{LimitedListener, Limits};
    use super::*;
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    const MOMENT: Duration = Duration::from_millis(50);

    async fn listening(limits: Limits, dir: &std::path::Path) -> SocketAddr {
        let clients = ClientLimits::new(limits);
        let store = Store::open(dir).await.expect("a store");
        let hooks = Hooks { secrets: Arc::default(), store, bell: Arc::default(), clients: clients.clone() };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let app = hook_router(Arc::new(hooks), 1 << 20).into_make_service_with_connect_info::<Peer>();
        tokio::spawn(async move { axum::serve(LimitedListener { listener, clients }, app).await });
        address
    }

    /// What the listener sends before it closes the connection, while the client says no more than this.
    async fn response(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.expect("connected");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut bytes = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut bytes)).await;
        // A connection may end with a reset.
        drop(read.expect("it was closed"));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[tokio::test]
    async fn a_body_that_does_not_arrive_is_not_waited_for() {
        let dir = tempfile::tempdir().expect("dir");
        let address = listening(Limits { body: MOMENT, ..Limits::default() }, dir.path()).await;
        let request = "POST /webhooks/gitea/shop HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nx";
        let text = response(address, request).await;
        assert!(text.starts_with("HTTP/1.1 408 "), "{text}");
        let whole = request.replace("Length: 10", "Length: 1").replace("Host: x", "Host: x\r\nConnection: close");
        let text = response(address, &whole).await;
        assert!(text.starts_with("HTTP/1.1 401 "), "{text}");
    }

    #[tokio::test]
    async fn a_connection_does_not_last_for_ever() {
        let dir = tempfile::tempdir().expect("dir");
        let address = listening(Limits { lifetime: MOMENT, ..Limits::default() }, dir.path()).await;
        assert_eq!(response(address, "POST /webhooks/gitea/shop HTTP/1.1\r\nHo").await, "");
        let idle = "POST /webhooks/gitea/shop HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
        let text = response(address, idle).await;
        assert!(text.is_empty() || text.starts_with("HTTP/1.1 401 "), "{text}");
    }
}
