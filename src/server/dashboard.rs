//! `/dashboard`: a page that shows tasks, their actions, and events as they happen. It is read-only; orders go by the forge or `caisson
//! task`.
//!
//! Owns the routes below `/dashboard`. The page in `dashboard/` loads nothing from elsewhere, and inserts data as text.
//! Tests: below, and `tests/dashboard.rs`.

use super::ops::{Ops, proven};
use super::sessions::{CODE_LASTS, MOST_STREAMS};
use super::shown::{shown, shown_json};
use crate::store::{ActionRow, Store, StoreError, TaskRow};
use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event as Message, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use domain::TaskId;
use futures_util::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::convert::Infallible;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// The most tasks of the list; beyond them only those that have not ended.
const MOST_TASKS: u32 = 200;
/// The most events of a stream that are read at once: a page that reads slowly keeps no more of a long log in memory.
const MOST_EVENTS: u32 = 32;
/// How often a stream looks for new events.
const LOOK: Duration = Duration::from_millis(300);

type Refused = (StatusCode, String);

pub(super) fn routes() -> Router<Arc<Ops>> {
    Router::new()
        .route("/dashboard", get(async || page("text/html; charset=utf-8", include_str!("../../dashboard/index.html"))))
        .route("/dashboard/app.js", get(async || page("text/javascript", include_str!("../../dashboard/app.js"))))
        .route("/dashboard/style.css", get(async || page("text/css", include_str!("../../dashboard/style.css"))))
        .route("/dashboard/code", post(code))
        .route("/dashboard/session", post(session))
        .route("/dashboard/api/tasks", get(tasks))
        .route("/dashboard/api/tasks/{id}", get(task))
        .route("/dashboard/api/tasks/{id}/events", get(events))
        .layer(middleware::from_fn(on_this_machine))
}

/// Content security policy: no external resources or targets, and no embedding.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn page(kind: &'static str, text: &'static str) -> Response {
    let headers: [(HeaderName, &str); 5] = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, Body::from(text)).into_response()
}

/// Answer to `caisson dashboard`.
#[derive(Debug, Serialize, Deserialize)]
pub struct CodeReport {
    /// Code to be typed into the page, valid once.
    pub code: String,
    /// How long it is valid, in seconds.
    pub lasts_s: u64,
}

async fn code(State(ops): State<Arc<Ops>>, headers: HeaderMap) -> Result<Response, Refused> {
    proven(&ops, &headers).map_err(|(status, why)| (status, why.to_owned()))?;
    let code = ops.dashboard.sessions.code().map_err(|why| (StatusCode::SERVICE_UNAVAILABLE, why))?;
    Ok(kept_nowhere(Json(CodeReport { code: code.expose().to_owned(), lasts_s: CODE_LASTS.as_secs() })))
}

#[derive(Deserialize)]
struct Typed {
    code: String,
}

#[derive(Serialize)]
struct Opened {
    session: String,
}

async fn session(State(ops): State<Arc<Ops>>, Json(typed): Json<Typed>) -> Result<Response, Refused> {
    match ops.dashboard.sessions.open(&typed.code).map_err(|why| (StatusCode::SERVICE_UNAVAILABLE, why))? {
        Some(session) => Ok(kept_nowhere(Json(Opened { session: session.expose().to_owned() }))),
        None => {
            let why = "this code is wrong, used, or too old: ask for another one with `caisson dashboard`";
            Err((StatusCode::UNAUTHORIZED, why.to_owned()))
        }
    }
}

/// The session of a request; empty where it has none.
fn given(headers: &HeaderMap) -> &str {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.strip_prefix("Bearer ").unwrap_or_default()
}

/// Refuses requests by a foreign host name (DNS rebinding), whose page would act as the dashboard.
async fn on_this_machine(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match is_this_machine(host) {
        true => next.run(request).await,
        false => {
            let text = "the dashboard answers under localhost and addresses of loopback";
            (StatusCode::MISDIRECTED_REQUEST, text).into_response()
        }
    }
}

/// Whether a request's host is this machine by a name that nobody else can have: `listen.ops` may be any address of loopback.
fn is_this_machine(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name);
    let six = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    name == "localhost"
        || name.parse::<Ipv4Addr>().is_ok_and(|it| it.is_loopback())
        || six.is_some_and(|it| it.parse::<Ipv6Addr>().is_ok_and(|it| it.is_loopback()))
}

fn may_look(ops: &Ops, headers: &HeaderMap) -> Result<(), Refused> {
    match ops.dashboard.sessions.holds(given(headers)) {
        true => Ok(()),
        false => Err((StatusCode::UNAUTHORIZED, "this session is over".to_owned())),
    }
}

fn failed(error: StoreError) -> Refused {
    (StatusCode::SERVICE_UNAVAILABLE, error.to_string())
}

fn kept_nowhere(answer: impl IntoResponse) -> Response {
    ([(header::CACHE_CONTROL, "no-store"), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")], answer).into_response()
}

/// What is stored, as it is shown.
fn shown_answer(answer: impl Serialize) -> Result<Response, Refused> {
    let value = serde_json::to_value(answer);
    let value = value.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(kept_nowhere(Json(shown(value))))
}

async fn tasks(State(ops): State<Arc<Ops>>, headers: HeaderMap) -> Result<Response, Refused> {
    may_look(&ops, &headers)?;
    shown_answer(newest_and_live(ops.machine.store(), MOST_TASKS).await.map_err(failed)?)
}

/// So many of the newest tasks, and all older ones that have not ended, which the page counts.
async fn newest_and_live(store: &Store, most: u32) -> Result<Vec<TaskRow>, StoreError> {
    let mut tasks = store.tasks(most).await?;
    // Where fewer are listed there is none that is older.
    let oldest = tasks.last().map(|task| task.id).filter(|_| tasks.len() == most as usize);
    if let Some(oldest) = oldest {
        let live = store.live_tasks().await?;
        tasks.extend(live.into_iter().rev().filter(|task| task.id < oldest));
    }
    Ok(tasks)
}

/// The present state of one task.
#[derive(Serialize)]
struct Shown {
    task: TaskRow,
    actions: Vec<ActionRow>,
}

async fn task(State(ops): State<Arc<Ops>>, Path(id): Path<i64>, headers: HeaderMap) -> Result<Response, Refused> {
    may_look(&ops, &headers)?;
    let (store, id) = (ops.machine.store(), TaskId(id));
    let task = store.task_row(id).await.map_err(failed)?;
    let task = task.ok_or_else(|| (StatusCode::NOT_FOUND, format!("there is no task {id}")))?;
    let mut actions = store.actions(id).await.map_err(failed)?;
    for action in &mut actions {
        action.input = shown_json(&action.input);
    }
    shown_answer(Shown { task, actions })
}

#[derive(Deserialize)]
struct After {
    /// Number of the last known event; 0 for none.
    #[serde(default)]
    after: i64,
}

/// One event of a stream.
#[derive(Serialize)]
struct Line {
    seq: i64,
    at_ms: i64,
    event: Value,
}

/// Streams the events of a task after a given one, and further ones once stored, until the reader disconnects or the bot ends.
async fn events(
    State(ops): State<Arc<Ops>>,
    Path(id): Path<i64>,
    Query(After { after }): Query<After>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    may_look(&ops, &headers)?;
    let (store, id) = (ops.machine.store(), TaskId(id));
    if store.task_row(id).await.map_err(failed)?.is_none() {
        return Err((StatusCode::NOT_FOUND, format!("there is no task {id}")));
    }
    let permit = ops.dashboard.streams.clone().try_acquire_owned();
    let permit = permit.map_err(|_| {
        (StatusCode::TOO_MANY_REQUESTS, format!("{MOST_STREAMS} pages follow tasks already; close one"))
    })?;
    let session = given(&headers).to_owned();
    let told = follow(ops.clone(), session, id, after.max(0), permit)
        .take_until(ops.dashboard.stopping.clone().cancelled_owned());
    Ok(kept_nowhere(Sse::new(told).keep_alive(KeepAlive::default())))
}

/// Ends when the session is over, the store can't be read or the task was deleted; the page then asks again.
fn follow(
    ops: Arc<Ops>,
    session: String,
    id: TaskId,
    after: i64,
    permit: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Message, Infallible>> {
    stream::unfold((ops, session, after, permit), move |(ops, session, after, permit)| async move {
        let store = ops.machine.store();
        loop {
            if !ops.dashboard.sessions.holds(&session) {
                return None;
            }
            if store.task_row(id).await.ok()??.seq > after {
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
        let (mut last, mut messages) = (after, Vec::new());
        for (seq, at_ms, event) in store.log_after(id, after, MOST_EVENTS).await.ok()? {
            let line = Line { seq, at_ms, event: shown(serde_json::to_value(&event).ok()?) };
            messages.push(Ok(Message::default().id(seq.to_string()).json_data(line).ok()?));
            last = seq;
        }
        Some((stream::iter(messages), (ops, session, last, permit)))
    })
    .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{created, feed_at};
    use domain::Input;

    #[tokio::test]
    async fn a_task_that_has_not_ended_is_listed_however_old_it_is() {
        let dir = tempfile::tempdir().expect("dir");
        let store = Store::open(dir.path()).await.expect("open");
        let old = created(&store, "opened:3").await;
        let ended = created(&store, "opened:4").await;
        let new = created(&store, "opened:5").await;
        feed_at(20, &store, &ended, "closed", Input::IssueClosed).await;
        let all = vec![new.id.0, ended.id.0, old.id.0];
        for (most, listed) in [(1, vec![new.id.0, old.id.0]), (3, all.clone()), (4, all)] {
            let tasks = newest_and_live(&store, most).await.expect("read");
            assert_eq!(tasks.iter().map(|task| task.id).collect::<Vec<_>>(), listed);
        }
    }

    #[test]
    fn the_page_answers_at_every_address_that_it_may_listen_on_and_under_no_other_name() {
        for host in ["127.0.0.1:8441", "127.0.0.2:8441", "127.0.0.1", "localhost:8441", "[::1]:8441", "[::1]"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["", "caisson.example:8441", "127.0.0.1.example:8441", "192.0.2.7:8441", "[::2]:8441", "::1"] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
