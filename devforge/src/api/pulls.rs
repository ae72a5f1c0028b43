//! Pull requests and their reviews; a review is stored in two steps with a gap between them, as in Gitea.

use super::{App, Caller, ListQuery, Shared, created, issues, no_content, text};
use crate::reviews::{NewNote, NewReview, visible};
use crate::traps::hang_up;
use crate::world::{Access, Result, ReviewState, refuse};
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::time::Duration;

type RepoPath = Path<(String, String)>;
type PullPath = Path<(String, String, u64)>;
type ReviewPath = Path<(String, String, u64, i64)>;

/// Long enough for simultaneous requests to share one pending review.
const REVIEW_GAP: Duration = Duration::from_millis(15);

pub(crate) async fn list(
    State(app): App,
    caller: Caller,
    Path((o, r)): RepoPath,
    Query(query): Query<ListQuery>,
) -> Result<Response> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    let repo = &world.repos[at];
    if repo.refs.is_empty() {
        return refuse(404, "The target couldn't be found.");
    }
    let state = query.state.as_deref().unwrap_or("open");
    let wanted = repo.issues.values().filter(|i| i.pull.is_some() && (state == "all" || (state == "open") == i.open));
    Ok(query.page(wanted.map(|i| world.pull_json(repo, i, caller.login.as_deref())).collect()))
}

pub(crate) async fn create(
    State(app): App,
    caller: Caller,
    Path((o, r)): RepoPath,
    Json(body): Json<Value>,
) -> Result<Response> {
    let number = {
        let mut world = app.world();
        caller.signed_in(&world)?;
        let (at, author) = caller.at(&world, &o, &r, Access::Read)?;
        let said = (text(&body, "title"), text(&body, "body"));
        world.open_pull(at, author, said, text(&body, "head"), text(&body, "base"), app.switches.traps())?
    };
    crate::forks::keep_heads(&app).await?;
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    let issue = world.issue(at, number)?;
    Ok(created(world.pull_json(&world.repos[at], issue, caller.login.as_deref())))
}

pub(crate) async fn get(State(app): App, caller: Caller, Path((o, r, n)): PullPath) -> Result<Json<Value>> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    world.pull(at, n)?;
    Ok(Json(world.pull_json(&world.repos[at], world.issue(at, n)?, caller.login.as_deref())))
}

pub(crate) async fn edit(
    State(app): App,
    caller: Caller,
    Path((o, r, n)): PullPath,
    Json(body): Json<Value>,
) -> Result<Response> {
    let mut world = app.world();
    let (at, actor) = caller.at(&world, &o, &r, Access::Read)?;
    world.pull(at, n)?;
    let (title, text, open) = issues::edits(&body);
    world.edit_issue(at, n, actor, title, text, open)?;
    if let Some(base) = body.get("base").and_then(Value::as_str) {
        world.retarget(at, n, actor, base)?;
    }
    Ok(created(world.pull_json(&world.repos[at], world.issue(at, n)?, caller.login.as_deref())))
}

pub(crate) async fn merge(
    State(app): App,
    caller: Caller,
    Path((o, r, n)): PullPath,
    Json(body): Json<Value>,
) -> Result<Response> {
    if text(&body, "Do") != "merge" {
        return refuse(422, "[Do]: Required");
    }
    let actor = {
        let world = app.world();
        caller.signed_in(&world)?;
        caller.at(&world, &o, &r, Access::Write)?.1
    };
    crate::person::merge(&app, (&o, &r), (n, Some(text(&body, "head_commit_id"))), actor).await?;
    Ok(Json(Value::Null).into_response())
}

pub(crate) async fn request_reviewers(
    State(app): App,
    caller: Caller,
    Path((o, r, n)): PullPath,
    Json(body): Json<Value>,
) -> Result<Response> {
    let mut world = app.world();
    let (at, actor) = caller.at(&world, &o, &r, Access::Read)?;
    let logins = body.get("reviewers").and_then(Value::as_array).cloned().unwrap_or_default();
    for login in logins.iter().filter_map(Value::as_str) {
        world.request_review(at, n, actor, login)?;
    }
    Ok(created(json!([])))
}

pub(crate) async fn reviews(State(app): App, caller: Caller, Path((o, r, n)): PullPath) -> Result<Json<Value>> {
    let world = app.world();
    let (at, me) = caller.at(&world, &o, &r, Access::Read)?;
    let (repo, issue) = (&world.repos[at], world.issue(at, n)?);
    let pull = world.pull(at, n)?;
    Ok(Json(pull.reviews.iter().filter(|v| visible(v, me)).map(|v| world.review_json(repo, issue, v)).collect()))
}

/// Any event but the three known ones leaves the review pending, even GitHub's `APPROVE`.
fn new_review(body: &Value) -> NewReview {
    let state = match text(body, "event") {
        "APPROVED" => ReviewState::Approved,
        "REQUEST_CHANGES" => ReviewState::RequestChanges,
        "COMMENT" => ReviewState::Comment,
        _ => ReviewState::Pending,
    };
    let line = |note: &Value, name: &str| note.get(name).and_then(Value::as_i64).unwrap_or(0);
    let given = body.get("comments").and_then(Value::as_array);
    let notes = given.into_iter().flatten().map(|n| NewNote {
        path: text(n, "path").to_owned(),
        new_line: line(n, "new_position"),
        old_line: line(n, "old_position"),
        body: text(n, "body").to_owned(),
    });
    NewReview {
        state,
        body: text(body, "body").to_owned(),
        commit: text(body, "commit_id").to_owned(),
        notes: notes.collect(),
    }
}

/// How many of these notes are taken before one at which Gitea fails: it looks for a note's line in the file's difference with room for lines
/// of 64 KiB (`modules/git/diff.go`, `CutDiffAroundLine`).
async fn notes_taken(app: &Shared, (o, r): (&str, &str), (at, n): (usize, u64), notes: &[NewNote]) -> Result<usize> {
    let (base, head) = {
        let world = app.world();
        let pull = world.pull(at, n)?;
        (pull.base.clone(), pull.head_sha.clone())
    };
    let dir = crate::git::path(&app.root, o, r);
    let paths: Vec<&str> = notes.iter().map(|note| note.path.as_str()).collect();
    // Almost no review has one, so its files are compared all at once, and only then one by one.
    if paths.is_empty() || crate::git::have_long_line(&dir, (&base, &head), &paths).await == Some(false) {
        return Ok(paths.len());
    }
    for (place, path) in paths.iter().enumerate() {
        if crate::git::have_long_line(&dir, (&base, &head), &[*path]).await == Some(true) {
            return Ok(place);
        }
    }
    Ok(paths.len())
}

pub(crate) async fn create_review(
    State(app): App,
    caller: Caller,
    Path((o, r, n)): PullPath,
    Json(body): Json<Value>,
) -> Result<Json<Value>> {
    let new = new_review(&body);
    let (at, author) = {
        let world = app.world();
        caller.signed_in(&world)?;
        let (at, author) = caller.at(&world, &o, &r, Access::Read)?;
        world.check_review(at, n, author, &new)?;
        (at, author)
    };
    if !new.commit.is_empty() && !crate::git::has_commit(&crate::git::path(&app.root, &o, &r), &new.commit).await {
        return refuse(500, "");
    }
    let taken = notes_taken(&app, (&o, &r), (at, n), &new.notes).await?;
    if taken < new.notes.len() {
        // What was begun stays.
        let mut world = app.world();
        world.begin_review(at, n, author)?;
        world.stage_notes(at, n, author, &new.notes[..taken])?;
        return refuse(500, "");
    }
    if let Some(after) = app.switches.take_review_cut() {
        let staged = app.world().stage_notes(at, n, author, &new.notes[..after.min(new.notes.len())]);
        drop(staged);
        hang_up();
    }
    app.world().stage_notes(at, n, author, &new.notes)?;
    if app.switches.traps().mix_reviews && !new.notes.is_empty() {
        tokio::time::sleep(REVIEW_GAP).await;
    }
    let mut world = app.world();
    let id = world.submit_review(at, n, author, &new)?;
    let (repo, issue) = (&world.repos[at], world.issue(at, n)?);
    let made = world.pull(at, n)?.reviews.iter().find(|v| v.id == id);
    Ok(Json(made.map_or(Value::Null, |v| world.review_json(repo, issue, v))))
}

pub(crate) async fn review_comments(
    State(app): App,
    caller: Caller,
    Path((o, r, n, id)): ReviewPath,
) -> Result<Json<Value>> {
    let world = app.world();
    let (at, me) = caller.at(&world, &o, &r, Access::Read)?;
    let (repo, issue) = (&world.repos[at], world.issue(at, n)?);
    let Some(review) = world.pull(at, n)?.reviews.iter().find(|v| v.id == id && visible(v, me)) else {
        return refuse(404, "review does not exist");
    };
    Ok(Json(review.notes.iter().map(|note| world.inline_json(repo, issue, review, note)).collect()))
}

pub(crate) async fn delete_review(
    State(app): App,
    caller: Caller,
    Path((o, r, n, id)): ReviewPath,
) -> Result<Response> {
    let mut world = app.world();
    let (at, actor) = caller.at(&world, &o, &r, Access::Read)?;
    world.delete_review(at, n, id, actor)?;
    Ok(no_content())
}

pub(crate) async fn dismiss_review(
    State(app): App,
    caller: Caller,
    Path((o, r, n, id)): ReviewPath,
) -> Result<Json<Value>> {
    let mut world = app.world();
    let (at, actor) = caller.at(&world, &o, &r, Access::Read)?;
    world.dismiss_review(at, n, id, actor)?;
    let (repo, issue) = (&world.repos[at], world.issue(at, n)?);
    let found = world.pull(at, n)?.reviews.iter().find(|v| v.id == id);
    Ok(Json(found.map_or(Value::Null, |v| world.review_json(repo, issue, v))))
}
