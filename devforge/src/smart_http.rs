//! git over HTTP: checks rights and protected references, and applies pushes; git's `http-backend` does the rest.

use crate::api::{App, Shared, caller, repos};
use crate::git::{self, GitRequest};
use crate::world::{Access, Result, World, refuse};
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::collections::BTreeMap;

/// The right that each of the two services needs.
fn needed(service: &str) -> Result<Access> {
    match service {
        "git-upload-pack" => Ok(Access::Read),
        "git-receive-pack" => Ok(Access::Write),
        _ => refuse(403, "the dumb protocol is not served"),
    }
}

pub(crate) async fn info(
    app: App,
    Path((owner, repo)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let query = query.unwrap_or_default();
    let service = query.split('&').find_map(|p| p.strip_prefix("service=")).unwrap_or_default().to_owned();
    serve(app, (owner, repo, "info/refs"), &service, Method::GET, query, headers, Bytes::new()).await
}

pub(crate) async fn upload(
    app: App,
    Path((o, r)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    serve(app, (o, r, "git-upload-pack"), "git-upload-pack", Method::POST, String::new(), headers, body).await
}

pub(crate) async fn receive(
    app: App,
    Path((o, r)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    // A received push completes even if its client disconnects, and is noticed, as with a real server.
    let push = serve(app, (o, r, "git-receive-pack"), "git-receive-pack", Method::POST, String::new(), headers, body);
    match tokio::spawn(push).await {
        Ok(response) => response,
        Err(e) => refuse::<()>(500, format!("the push ended: {e}")).into_response(),
    }
}

async fn serve(
    State(app): App,
    (owner, repo, rest): (String, String, &'static str),
    service: &str,
    method: Method,
    query: String,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let name = repo.strip_suffix(".git").unwrap_or(&repo).to_owned();
    let Judged { login, denied, forward, kept } = match judge(&app, (&owner, &name), service, &headers, &body) {
        Ok(judged) => judged,
        // git asks for credentials only after a 401 with this header.
        Err(refusal) if refusal.status == 401 => {
            return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Basic realm=\"Gitea\"")]).into_response();
        }
        Err(refusal) => return refusal.into_response(),
    };
    let of = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    let request = GitRequest {
        method: method.to_string(),
        path_info: format!("/{}/{}.git/{rest}", owner.to_lowercase(), name.to_lowercase()),
        query,
        content_type: of("content-type"),
        content_encoding: of("content-encoding"),
        protocol: of("git-protocol"),
        user: login.clone(),
        denied,
        forward,
        kept,
        body,
    };
    let answer = match git::serve(&app.root, request).await {
        Ok(answer) => answer,
        Err(e) => return refuse::<()>(500, format!("{e:#}")).into_response(),
    };
    if rest == "git-receive-pack" {
        noticed(&app, &owner, &name, login.as_deref()).await;
    }
    let mut response = (StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK), answer.body).into_response();
    for (name, value) in answer.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(&value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

#[derive(Default)]
struct Judged {
    login: Option<String>,
    /// The pushed references that branch rules forbid, those that they let move forward alone, and those that nobody may delete.
    denied: Vec<String>,
    forward: Vec<String>,
    kept: Vec<String>,
}

/// The caller, and what the branch rules say of the pushed references.
fn judge(app: &Shared, (owner, name): (&str, &str), service: &str, headers: &HeaderMap, body: &[u8]) -> Result<Judged> {
    let need = needed(service)?;
    let world = app.world();
    let who = caller(&world, headers)?;
    let at = match world.repo(owner, name, who.login.as_deref(), need) {
        // Without a login, a private or read-only repository answers as if credentials were missing.
        Err(_) if who.login.is_none() => return refuse(401, ""),
        other => other?,
    };
    if world.access(&world.repos[at], who.login.as_deref()) < need {
        return refuse(404, "Repository not found");
    }
    let (true, Some(login)) = (service == "git-receive-pack", who.login.as_deref()) else {
        return Ok(Judged { login: who.login, ..Judged::default() });
    };
    let pushed = git::pushed_refs(body);
    let of = |forbids: fn(&World, usize, &str, &str) -> bool| -> Vec<String> {
        pushed.iter().filter(|name| forbids(&world, at, login, name)).cloned().collect()
    };
    let (denied, forward, kept) = (of(repos::is_denied), of(repos::only_forward), of(repos::is_kept));
    Ok(Judged { login: who.login.clone(), denied, forward, kept })
}

/// Reads the references again after a push and applies the changes.
async fn noticed(app: &Shared, owner: &str, name: &str, login: Option<&str>) {
    let Ok(refs) = git::refs(&git::path(&app.root, owner, name)).await else { return };
    let messages = brought(app, (owner, name), &refs).await;
    let traps = app.switches.traps();
    {
        let mut world = app.world();
        let Some(at) = world.repo_at(owner, name) else { return };
        let actor = login.and_then(|l| world.find_account(l)).map_or(0, |a| a.id);
        world.references_changed(at, actor, refs, traps);
        world.close_named(at, actor, &messages);
    }
    if let Err(refusal) = crate::forks::keep_heads(app).await {
        tracing::error!("the head of a pull request was not kept: {}", refusal.message);
    }
}

/// The messages of the commits that the default branch has got; none of a new branch.
async fn brought(app: &Shared, (owner, name): (&str, &str), refs: &BTreeMap<String, String>) -> String {
    let moved = {
        let world = app.world();
        world.repo_at(owner, name).and_then(|at| {
            let branch = format!("refs/heads/{}", world.repos[at].default_branch);
            Some((world.repos[at].refs.get(&branch)?.clone(), refs.get(&branch)?.clone()))
        })
    };
    match moved.filter(|(old, new)| old != new) {
        Some((old, new)) => git::messages(&git::path(&app.root, owner, name), &old, &new).await.unwrap_or_default(),
        None => String::new(),
    }
}
