//! Gitea's API below `/api/v1`, as far as Caisson, its setup and the contract suite call it.
//! Owns authentication, refusals and paging. The calls are in `accounts`, `teams`, `repos`, `issues` and `pulls`.

pub(crate) mod accounts;
pub(crate) mod actions;
pub(crate) mod issues;
mod parts;
pub(crate) mod pulls;
pub(crate) mod repos;
pub(crate) mod teams;

use crate::plans::Fault;
use crate::traps::Switches;
use crate::world::{Access, Refusal, Result, World, refuse};
use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

pub(crate) struct Shared {
    pub world: Mutex<World>,
    pub switches: Arc<Switches>,
    pub root: PathBuf,
}

pub(crate) type App = State<Arc<Shared>>;

impl Shared {
    /// A connection that is cut on purpose never holds the lock, but a panicking test might.
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(json!({ "message": self.message, "url": "/api/swagger" }))).into_response()
    }
}

/// The caller by token or password; without a login for a public read.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub login: Option<String>,
    /// Whether the password was used, which is required for creating tokens.
    pub by_password: bool,
}

impl Caller {
    /// The caller's id and login, or 401.
    pub fn signed_in(&self, world: &World) -> Result<(i64, String)> {
        match self.login.as_deref().and_then(|l| world.find_account(l)) {
            Some(account) => Ok((account.id, account.login.clone())),
            None => refuse(401, "token is required"),
        }
    }

    pub fn admin(&self, world: &World) -> Result<()> {
        let (_, login) = self.signed_in(world)?;
        if world.account(&login)?.admin { Ok(()) } else { refuse(403, "user should be the site admin") }
    }

    /// The repository and the caller's id, if the caller has the right.
    pub fn at(&self, world: &World, owner: &str, name: &str, need: Access) -> Result<(usize, i64)> {
        let at = world.repo(owner, name, self.login.as_deref(), need)?;
        Ok((at, self.signed_in(world).map_or(0, |(id, _)| id)))
    }
}

/// The caller by the request's credentials, for the API and git; wrong credentials are refused, never treated as none.
pub(crate) fn caller(world: &World, headers: &HeaderMap) -> Result<Caller> {
    let nobody = Caller { login: None, by_password: false };
    let Some(value) = headers.get(header::AUTHORIZATION) else { return Ok(nobody) };
    let value = value.to_str().unwrap_or_default();
    let found = match value.split_once(' ') {
        Some(("token" | "Bearer", token)) => world.by_token(token).map(|a| (a, false)),
        Some(("Basic", encoded)) => {
            let text = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap_or_default();
            let text = String::from_utf8(text).unwrap_or_default();
            let (user, password) = text.split_once(':').unwrap_or((text.as_str(), ""));
            let by_password = world.by_password(user, password).map(|a| (a, true));
            by_password.or_else(|| [password, user].into_iter().find_map(|t| world.by_token(t)).map(|a| (a, false)))
        }
        _ => None,
    };
    let Some((account, by_password)) = found else { return refuse(401, "invalid username, password or token") };
    let sudo = headers.get("Sudo").and_then(|v| v.to_str().ok()).filter(|_| account.admin);
    match sudo {
        Some(login) => Ok(Caller { login: Some(world.account(login)?.login.clone()), by_password: false }),
        None => Ok(Caller { login: Some(account.login.clone()), by_password }),
    }
}

impl FromRequestParts<Arc<Shared>> for Caller {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self> {
        caller(&shared.world(), &parts.headers)
    }
}

/// During an outage every call is answered with its status before anything is read; with a delay the answer is computed at once and sent
/// later.
pub(crate) async fn outage(State(shared): App, request: axum::extract::Request, next: Next) -> Response {
    let delay = shared.switches.traps().answer_delay;
    let _open = shared.switches.answering.read().await;
    let fault = match shared.switches.outage() {
        Some(0) => Some(Fault::Cut),
        Some(status) => Some(Fault::Refused(status)),
        None => shared.switches.fault(request.method().as_str(), request.uri().path()),
    };
    let mut response = match fault {
        None => next.run(request).await,
        Some(Fault::Cut) => crate::traps::hang_up(),
        Some(Fault::Refused(status)) => refuse::<()>(status, "").into_response(),
        Some(Fault::Unanswered) => {
            drop(next.run(request).await);
            crate::traps::hang_up()
        }
    };
    let date = jiff::Timestamp::from_second(shared.world().now()).unwrap_or_default();
    if let Ok(date) = HeaderValue::from_str(&date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()) {
        response.headers_mut().insert(header::DATE, date);
    }
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    response
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ListQuery {
    page: Option<usize>,
    limit: Option<usize>,
    pub state: Option<String>,
    pub since: Option<String>,
    pub created_by: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

impl ListQuery {
    pub fn since_seconds(&self) -> Result<i64> {
        match &self.since {
            None => Ok(0),
            Some(text) => match text.parse::<jiff::Timestamp>() {
                Ok(time) => Ok(time.as_second()),
                Err(e) => refuse(422, e.to_string()),
            },
        }
    }

    /// One page with its total: 30 by default, at most 50.
    pub fn page(&self, all: Vec<Value>) -> Response {
        let total = all.len();
        let limit = self.limit.filter(|l| *l > 0).unwrap_or(30).min(50);
        let skip = self.page.unwrap_or(1).max(1).saturating_sub(1).saturating_mul(limit);
        let items: Vec<Value> = all.into_iter().skip(skip).take(limit).collect();
        ([("X-Total-Count", total.to_string())], Json(items)).into_response()
    }
}

pub(crate) fn created(value: Value) -> Response {
    (StatusCode::CREATED, Json(value)).into_response()
}

pub(crate) fn no_content() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// A text field of a JSON body; absent reads as empty.
pub(crate) fn text<'a>(body: &'a Value, name: &str) -> &'a str {
    body.get(name).and_then(Value::as_str).unwrap_or_default()
}
