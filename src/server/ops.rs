//! `/healthz`, `/readyz`, `/metrics`, and requests of `caisson fetch` and `caisson task` to a running bot; on loopback, on a port of its
//! own.

use super::access::{BotProof, OperatorAccess};
use super::sessions::Dashboard;
use crate::barrier::BarrierState;
use crate::forge::Forge;
use crate::git::{Repos, UNBORN};
use crate::sandbox::broker::Broker;
use crate::store::{Deleted, StoreError, StoredEntry};
use crate::supervise::Works;
use crate::task::{Machine, OrderResult};
use crate::upstream::Upstreams;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use domain::{Commit, Input, Order, TaskId, UpstreamChecks};
use metrics_exporter_prometheus::PrometheusHandle;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};

/// The most tasks that `/readyz` names.
const MOST_NAMED: usize = 20;

/// An authorized request to reload the configuration, answered once that is possible or with the reason why not.
pub type Reload = oneshot::Sender<Result<(), String>>;

/// An authorized request to store an entry of a repository, answered once this bot uses it or with the reason why not.
pub struct EntryWish {
    /// The entry, sealed by `caisson repo` with the state directory's key.
    pub entry: StoredEntry,
    /// Receives the answer: status and reason of a failure.
    pub answer: oneshot::Sender<Result<(), (StatusCode, String)>>,
}

/// State of the operations listener.
pub struct Ops {
    /// The driver of all tasks, with the store.
    pub machine: Arc<Machine>,
    /// The bot's bare repositories, from which a deleted task's refs are removed.
    pub repos: Repos,
    /// The forge, asked for its version by `/readyz`.
    pub forge: Arc<dyn Forge>,
    /// The broker, greeted by `/readyz`.
    pub broker: Arc<dyn Broker>,
    /// Renders what `/metrics` answers.
    pub metrics: PrometheusHandle,
    /// Authorizes reports and orders.
    pub access: OperatorAccess,
    /// State of the barrier; not ready before it is proven.
    pub barrier: watch::Receiver<BarrierState>,
    /// The long-running works; a failing one makes the bot not ready.
    pub works: Works,
    /// Sends requests to reload.
    pub reloads: mpsc::Sender<Reload>,
    /// Sends entries to be stored.
    pub entries: mpsc::Sender<EntryWish>,
    /// What keeps repositories in step; none without an account for that.
    pub upstreams: Option<Arc<Upstreams>>,
    /// Sessions of the dashboard.
    pub dashboard: Dashboard,
}

/// Report of `caisson fetch`.
#[derive(Debug, Serialize, Deserialize)]
pub struct FetchedReport {
    /// The task's number.
    pub task: i64,
    /// The commit that is now in a developer's clone.
    pub commit: Commit,
}

/// Report of `caisson fetch --open-pr --wait-ci`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UpstreamCiReport {
    /// The task's number.
    pub task: i64,
    /// Unix milliseconds at which it was read: what was read at another time is another report.
    pub at: i64,
    /// What was read.
    pub checks: UpstreamChecks,
}

impl UpstreamCiReport {
    /// The task, and the input with its key.
    pub fn input(self) -> (TaskId, String, Input) {
        let key = format!("upstream-ci:{}:{}:{}", self.task, self.checks.commit, self.at);
        (TaskId(self.task), key, Input::UpstreamCiEnded(Box::new(self.checks)))
    }
}

/// What a subcommand asks the bot to prove itself by.
#[derive(Debug, Deserialize)]
struct ProofRequest {
    nonce: String,
}

/// Health and metrics need no token; orders and reports do. `at` is the listener's address.
pub(super) fn routes(at: SocketAddr) -> Router<Arc<Ops>> {
    let proof =
        move |State(ops): State<Arc<Ops>>, Query(asked): Query<ProofRequest>| async move { proof(&ops, at, &asked) };
    Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(ready))
        .route("/metrics", get(async |State(ops): State<Arc<Ops>>| ops.metrics.render()))
        .route("/proof", get(proof))
        .route("/reload", post(reload))
        .route("/fetched", post(fetched))
        .route("/upstream-ci", post(upstream_ci))
        .route("/repositories", post(entry))
        .route("/repositories/{key}/round", post(round))
        .route("/tasks/{id}/delete", post(deleted))
        .route("/tasks/{id}/{order}", post(ordered))
}

/// Ready = the store writes a row, forge and broker answer, the barrier is proven, and every work runs; missing ones are named. A task that
/// cannot be read makes the bot *degraded*: it is ready for all others, so a restart of several hosts one after the other goes on.
async fn ready(State(ops): State<Arc<Ops>>) -> Response {
    let mut missing = Vec::new();
    if let Err(error) = ops.machine.store().ready().await {
        missing.push(format!("store: {error}"));
    }
    if let Err(error) = ops.forge.version().await {
        missing.push(format!("forge: {error}"));
    }
    if let Err(error) = ops.broker.hello().await {
        missing.push(format!("broker: {error}"));
    }
    missing.extend(ops.barrier.borrow().reason().map(|why| format!("barrier: {why}")));
    missing.extend(ops.works.wrong());
    let status = if missing.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    missing.extend(degraded(&ops.machine.store().unreadable()));
    match missing.is_empty() {
        true => (status, "ready".to_owned()).into_response(),
        false => (status, missing.join("\n")).into_response(),
    }
}

/// How many tasks cannot be read, and what to do about them; none where all can.
fn degraded(unreadable: &BTreeSet<TaskId>) -> Option<String> {
    let count = match unreadable.len() {
        0 => return None,
        1 => "1 task cannot be read by this version and is".to_owned(),
        count => format!("{count} tasks cannot be read by this version and are"),
    };
    let mut named: Vec<String> = unreadable.iter().take(MOST_NAMED).map(TaskId::to_string).collect();
    if unreadable.len() > MOST_NAMED {
        named.push("…".to_owned());
    }
    let what = "run the version of caisson that wrote them, or a newer one; a damaged row needs a backup of the store";
    Some(format!("degraded: {count} passed over, without a slot ({}); {what}", named.join(", ")))
}

/// Proves to a subcommand that this bot has the token, before it is given an order.
fn proof(ops: &Ops, at: SocketAddr, asked: &ProofRequest) -> Result<Json<BotProof>, StatusCode> {
    ops.access.proof(at, &asked.nonce).map(Json).ok_or(StatusCode::BAD_REQUEST)
}

/// Checks the caller's token or pass; the error is the answer.
pub(super) fn proven(ops: &Ops, headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
    let given = headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let given = given.strip_prefix("Bearer ").unwrap_or_default();
    if ops.access.admits(given) {
        return Ok(());
    }
    Err((StatusCode::UNAUTHORIZED, "the token of the state directory is needed"))
}

/// Restarts with the present configuration file; an invalid one changes nothing, and the answer has the reason.
async fn reload(State(ops): State<Arc<Ops>>, headers: HeaderMap) -> Result<StatusCode, (StatusCode, String)> {
    proven(&ops, &headers).map_err(|(status, why)| (status, why.to_owned()))?;
    let nobody = || (StatusCode::SERVICE_UNAVAILABLE, "the bot is about to end".to_owned());
    let (answer, judged) = oneshot::channel();
    ops.reloads.send(answer).await.map_err(|_| nobody())?;
    match judged.await.map_err(|_| nobody())? {
        Ok(()) => Ok(StatusCode::ACCEPTED),
        Err(why) => Err((StatusCode::UNPROCESSABLE_ENTITY, why)),
    }
}

/// Stores an entry of a repository; after the answer this bot uses it.
async fn entry(
    State(ops): State<Arc<Ops>>,
    headers: HeaderMap,
    Json(entry): Json<StoredEntry>,
) -> Result<StatusCode, (StatusCode, String)> {
    proven(&ops, &headers).map_err(|(status, why)| (status, why.to_owned()))?;
    let nobody = || (StatusCode::SERVICE_UNAVAILABLE, "the bot is about to end".to_owned());
    let (answer, kept) = oneshot::channel();
    ops.entries.send(EntryWish { entry, answer }).await.map_err(|_| nobody())?;
    kept.await.map_err(|_| nobody())?.map(|()| StatusCode::NO_CONTENT)
}

/// Has a round of a repository beside its upstream begin soon; the answer does not wait for it.
async fn round(
    State(ops): State<Arc<Ops>>,
    Path(key): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, (StatusCode, String)> {
    proven(&ops, &headers).map_err(|(status, why)| (status, why.to_owned()))?;
    let nobody = || (StatusCode::CONFLICT, "the bot has no account for that (forge.sync_token_file)".to_owned());
    ops.upstreams.as_ref().ok_or_else(nobody)?.ask_for_round(&key);
    Ok(StatusCode::ACCEPTED)
}

/// A successful answer contains the task's state.
async fn ordered(
    State(ops): State<Arc<Ops>>,
    Path((id, order)): Path<(i64, Order)>,
    headers: HeaderMap,
) -> Result<&'static str, (StatusCode, String)> {
    proven(&ops, &headers).map_err(|(status, why)| (status, why.to_owned()))?;
    match ops.machine.order(TaskId(id), order).await {
        Ok(OrderResult::Now(state)) => Ok(state),
        Ok(OrderResult::Unknown) => Err((StatusCode::NOT_FOUND, format!("there is no task {id}"))),
        Ok(OrderResult::Unfit(state)) => Err((StatusCode::CONFLICT, state.to_owned())),
        Err(error) => Err((StatusCode::SERVICE_UNAVAILABLE, error.to_string())),
    }
}

/// Deletes a task; its git objects are removed in the background, unless they may be arriving right now.
async fn deleted(
    State(ops): State<Arc<Ops>>,
    Path(id): Path<i64>,
    headers: HeaderMap,
) -> Result<StatusCode, (StatusCode, String)> {
    proven(&ops, &headers).map_err(|(status, why)| (status, why.to_owned()))?;
    let failed = |error: anyhow::Error| (StatusCode::SERVICE_UNAVAILABLE, format!("{error:#}"));
    let (machine, id) = (&ops.machine, TaskId(id));
    let live = machine.store().task_row(id).await.map_err(|error| failed(error.into()))?.is_some_and(|row| row.live);
    // The result of an effect under way would have no task. What the forge forbids or does not have any more may wait for ever.
    if !live && machine.store().has_work_due(id).await.map_err(|error| failed(error.into()))? {
        return Err((
            StatusCode::LOCKED,
            "what it still owes (words on the forge, its sandbox's end) is under way".to_owned(),
        ));
    }
    let repository = match machine.delete(id, &ops.repos).await.map_err(failed)? {
        Deleted::Gone { repository } => repository,
        Deleted::Live => return Err((StatusCode::CONFLICT, "it has not ended".to_owned())),
        Deleted::Unknown => return Err((StatusCode::NOT_FOUND, format!("there is no task {id}"))),
    };
    tracing::info!(task = id.0, "deleted by the operator");
    let repos = ops.repos.clone();
    tokio::spawn(async move {
        if let Err(error) = repos.tidy(&repository, UNBORN).await {
            tracing::warn!(%error, repository, "a local repository could not be tidied; tried again tomorrow");
        }
    });
    Ok(StatusCode::NO_CONTENT)
}

async fn fetched(State(ops): State<Arc<Ops>>, headers: HeaderMap, Json(report): Json<FetchedReport>) -> Response {
    let id = TaskId(report.task);
    let key = format!("fetched:{id}:{}", report.commit);
    taken(&ops, &headers, (id, key, Input::Fetched { commit: report.commit })).await
}

async fn upstream_ci(
    State(ops): State<Arc<Ops>>,
    headers: HeaderMap,
    Json(report): Json<UpstreamCiReport>,
) -> Response {
    taken(&ops, &headers, report.input()).await
}

/// Gives a report to its task.
async fn taken(ops: &Ops, headers: &HeaderMap, (id, key, input): (TaskId, String, Input)) -> Response {
    if let Err(refusal) = proven(ops, headers) {
        return refusal.into_response();
    }
    match ops.machine.feed(id, &key, input, None).await {
        Ok(_) => StatusCode::NO_CONTENT.into_response(),
        Err(error @ StoreError::NoTask(_)) => (StatusCode::NOT_FOUND, error.to_string()).into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_NAMED, degraded};
    use domain::TaskId;
    use std::collections::BTreeSet;

    #[test]
    fn tasks_that_cannot_be_read_are_counted_and_some_are_named() {
        assert_eq!(degraded(&BTreeSet::new()), None);
        let one = degraded(&BTreeSet::from([TaskId(7)])).expect("degraded");
        assert!(one.starts_with("degraded: 1 task cannot be read by this version") && one.contains(" (7);"), "{one}");
        let all: BTreeSet<TaskId> = (1..=MOST_NAMED as i64 + 1).map(TaskId).collect();
        let many = degraded(&all).expect("degraded");
        assert!(many.starts_with("degraded: 21 tasks cannot be read") && many.contains(", 20, …);"), "{many}");
    }
}
