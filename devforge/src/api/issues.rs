//! Issues (pull requests are issues too), comments, labels of an issue, timeline.

use super::{App, Caller, ListQuery, created, no_content, text};
use crate::traps::hang_up;
use crate::world::{Access, Result, ReviewState, refuse};
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::sync::Arc;

type RepoPath = Path<(String, String)>;
type IssuePath = Path<(String, String, u64)>;

pub(crate) async fn list(
    State(app): App,
    caller: Caller,
    Path((o, r)): RepoPath,
    Query(query): Query<ListQuery>,
) -> Result<Response> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    let since = query.since_seconds()?;
    let state = query.state.as_deref().unwrap_or("open");
    let repo = &world.repos[at];
    let off = |kind: &str, has: bool| !has && query.kind.as_deref() == Some(kind);
    if off("issues", repo.has_issues) || off("pulls", repo.has_pulls) {
        return refuse(404, "The target couldn't be found.");
    }
    let by = query.created_by.as_deref().map(|login| world.find_account(login).map_or(0, |account| account.id));
    let wanted = repo.issues.values().rev().filter(|i| {
        let kind = query.kind.as_deref().is_none_or(|k| (k == "pulls") == i.pull.is_some());
        let on = if i.pull.is_some() { repo.has_pulls } else { repo.has_issues };
        i.updated >= since
            && by.is_none_or(|by| i.author == by)
            && kind
            && on
            && (state == "all" || (state == "open") == i.open)
    });
    Ok(query.page(wanted.map(|i| world.issue_json(repo, i)).collect()))
}

pub(crate) async fn create(
    State(app): App,
    caller: Caller,
    Path((o, r)): RepoPath,
    Json(body): Json<Value>,
) -> Result<Response> {
    let mut world = app.world();
    let (_, _) = caller.signed_in(&world)?;
    let (at, author) = caller.at(&world, &o, &r, Access::Read)?;
    let signs = (ids(&body), logins(&body).unwrap_or_default());
    let number = world.open_issue_with(at, author, text(&body, "title"), text(&body, "body"), signs)?;
    let repo = &world.repos[at];
    Ok(created(world.issue_json(repo, world.issue(at, number)?)))
}

pub(crate) async fn get(State(app): App, caller: Caller, Path((o, r, n)): IssuePath) -> Result<Json<Value>> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    Ok(Json(world.issue_json(&world.repos[at], world.issue(at, n)?)))
}

/// Logins that a body assigns, in the list or in the older single field; none where it says nothing.
fn logins(body: &Value) -> Option<Vec<&str>> {
    let (list, one) = (body.get("assignees").and_then(Value::as_array), body.get("assignee").and_then(Value::as_str));
    let listed = list.into_iter().flatten().filter_map(Value::as_str);
    (list.is_some() || one.is_some()).then(|| listed.chain(one).filter(|login| !login.is_empty()).collect())
}

/// Ids of labels in a body.
fn ids(body: &Value) -> Vec<i64> {
    body.get("labels").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_i64).collect()
}

/// The fields of a PATCH on an issue or pull request.
pub(super) fn edits(body: &Value) -> (Option<&str>, Option<&str>, Option<bool>) {
    let of = |name: &str| body.get(name).and_then(Value::as_str);
    (of("title"), of("body"), of("state").map(|s| s == "open"))
}

pub(crate) async fn edit(
    State(app): App,
    caller: Caller,
    Path((o, r, n)): IssuePath,
    Json(body): Json<Value>,
) -> Result<Response> {
    let mut world = app.world();
    let (at, actor) = caller.at(&world, &o, &r, Access::Read)?;
    let (title, text, open) = edits(&body);
    world.edit_issue(at, n, actor, title, text, open)?;
    if let Some(logins) = logins(&body) {
        world.assign(at, n, actor, &logins)?;
    }
    Ok(created(world.issue_json(&world.repos[at], world.issue(at, n)?)))
}

pub(crate) async fn comments(State(app): App, caller: Caller, Path((o, r, n)): IssuePath) -> Result<Json<Value>> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    // Gitea's answer for a deleted issue.
    let issue = world.issue(at, n).or_else(|_| refuse(500, ""))?;
    Ok(Json(issue.comments.iter().map(|c| world.comment_json(&world.repos[at], issue, c)).collect()))
}

pub(crate) async fn comments_of_repo(
    State(app): App,
    caller: Caller,
    Path((o, r)): RepoPath,
    Query(query): Query<ListQuery>,
) -> Result<Response> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    let since = query.since_seconds()?;
    let repo = &world.repos[at];
    let mut found: Vec<_> = repo.issues.values().flat_map(|i| i.comments.iter().map(move |c| (i, c))).collect();
    found.retain(|(_, c)| c.updated >= since);
    found.sort_by_key(|(_, c)| (c.created, c.id));
    Ok(query.page(found.into_iter().map(|(i, c)| world.comment_json(repo, i, c)).collect()))
}

pub(crate) async fn create_comment(
    State(app): App,
    caller: Caller,
    Path((o, r, n)): IssuePath,
    Json(body): Json<Value>,
) -> Result<Response> {
    let (at, author) = {
        let world = app.world();
        caller.signed_in(&world)?;
        caller.at(&world, &o, &r, Access::Read)?
    };
    if let Some(lands_after) = app.switches.take_comment_cut() {
        // The connection ends at once; the comment may still be created later.
        if let Some(delay) = lands_after {
            let (app, body) = (Arc::clone(&app), text(&body, "body").to_owned());
            tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                let _ = app.world().add_comment(at, n, author, &body);
            });
        }
        hang_up();
    }
    let mut world = app.world();
    let id = world.add_comment(at, n, author, text(&body, "body"))?;
    let issue = world.issue(at, n)?;
    let comment = issue.comments.iter().find(|c| c.id == id);
    Ok(created(comment.map_or(Value::Null, |c| world.comment_json(&world.repos[at], issue, c))))
}

/// Answers 204 without content for anything but a plain comment.
pub(crate) async fn comment(
    State(app): App,
    caller: Caller,
    Path((o, r, id)): Path<(String, String, i64)>,
) -> Result<Response> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    if let Some((number, place)) = world.comment_at(at, id) {
        let issue = world.issue(at, number)?;
        return Ok(Json(world.comment_json(&world.repos[at], issue, &issue.comments[place])).into_response());
    }
    let pulls = world.repos[at].issues.values().filter_map(|i| i.pull.as_ref());
    if pulls.flat_map(|p| &p.reviews).any(|v| v.number == id || v.notes.iter().any(|note| note.id == id)) {
        return Ok(no_content());
    }
    refuse(404, "comment does not exist")
}

pub(crate) async fn edit_comment(
    State(app): App,
    caller: Caller,
    Path((o, r, id)): Path<(String, String, i64)>,
    Json(body): Json<Value>,
) -> Result<Response> {
    if let Some(lands_after) = app.switches.take_edit_cut() {
        let (at, actor) = caller.at(&app.world(), &o, &r, Access::Read)?;
        // The connection ends at once; the edit may still be made later.
        if let Some(delay) = lands_after {
            let (app, body) = (Arc::clone(&app), text(&body, "body").to_owned());
            tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                let _ = app.world().edit_comment(at, id, actor, &body);
            });
        }
        hang_up();
    }
    let mut world = app.world();
    let (at, actor) = caller.at(&world, &o, &r, Access::Read)?;
    if text(&body, "body").is_empty() {
        return refuse(422, "[Body]: Required");
    }
    world.edit_comment(at, id, actor, text(&body, "body"))?;
    let Some((number, place)) = world.comment_at(at, id) else {
        // The text of a review; the answer looks like a comment's.
        let time = crate::json::time(world.now());
        let shown = json!({
            "id": id, "html_url": "", "pull_request_url": "", "issue_url": "", "user": world.user_json(actor),
            "original_author": "", "original_author_id": 0, "body": text(&body, "body"), "assets": [], "created_at": time,
            "updated_at": time,
        });
        return Ok(Json(shown).into_response());
    };
    let issue = world.issue(at, number)?;
    Ok(Json(world.comment_json(&world.repos[at], issue, &issue.comments[place])).into_response())
}

pub(crate) async fn delete_comment(
    State(app): App,
    caller: Caller,
    Path((o, r, id)): Path<(String, String, i64)>,
) -> Result<Response> {
    let mut world = app.world();
    let (at, actor) = caller.at(&world, &o, &r, Access::Read)?;
    world.delete_comment(at, id, actor)?;
    Ok(no_content())
}

pub(crate) async fn labels(State(app): App, caller: Caller, Path((o, r, n)): IssuePath) -> Result<Json<Value>> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    Ok(Json(world.labels_json(&world.repos[at], world.issue(at, n)?).into()))
}

pub(crate) async fn add_labels(
    State(app): App,
    caller: Caller,
    Path((o, r, n)): IssuePath,
    Json(body): Json<Value>,
) -> Result<Json<Value>> {
    let mut world = app.world();
    let (at, actor) = caller.at(&world, &o, &r, Access::Read)?;
    let named = body.get("labels").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let named: Vec<i64> = named.filter_map(|name| world.label_named(at, name).ok()).collect();
    world.add_labels(at, n, actor, &[ids(&body), named].concat())?;
    Ok(Json(world.labels_json(&world.repos[at], world.issue(at, n)?).into()))
}

pub(crate) async fn remove_label(
    State(app): App,
    caller: Caller,
    Path((o, r, n, id)): Path<(String, String, u64, i64)>,
) -> Result<Response> {
    let mut world = app.world();
    let (at, actor) = caller.at(&world, &o, &r, Access::Read)?;
    world.remove_label(at, n, actor, id)?;
    Ok(no_content())
}

/// Comments, submitted reviews and changes, in the order of their numbers.
pub(crate) async fn timeline(State(app): App, caller: Caller, Path((o, r, n)): IssuePath) -> Result<Json<Value>> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    let (repo, issue) = (&world.repos[at], world.issue(at, n)?);
    let mut entries: Vec<(i64, Value)> = Vec::new();
    for comment in &issue.comments {
        let mut value = world.comment_json(repo, issue, comment);
        value["type"] = "comment".into();
        entries.push((comment.id, value));
    }
    let reviews = issue.pull.iter().flat_map(|p| &p.reviews).filter(|v| v.number > 0);
    for review in reviews.filter(|v| !matches!(v.state, ReviewState::Pending | ReviewState::RequestReview)) {
        let html = world.review_json(repo, issue, review)["html_url"].clone();
        entries.push((
            review.number,
            json!({
                "id": review.number, "type": "review", "html_url": html, "user": world.user_json(review.author),
                "body": review.body, "review_id": review.id, "created_at": crate::json::time(review.submitted),
                "updated_at": crate::json::time(review.shown_updated),
            }),
        ));
    }
    let changes = issue.changes.iter().filter_map(|it| Some((it.number, world.change_json(repo, issue, it)?)));
    entries.extend(changes);
    entries.sort_by_key(|(number, _)| *number);
    Ok(Json(entries.into_iter().map(|(_, value)| value).collect()))
}
