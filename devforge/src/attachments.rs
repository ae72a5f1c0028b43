//! Attachments of issues: uploaded by a form, listed with the issue, and served by id to readers of the repository, as in Gitea
//! (`routers/api/v1/repo/issue_attachment.go`, `routers/web/repo/attachment.go`).

use crate::Person;
use crate::api::{App, Caller};
use crate::hooks::{ISSUES, PULL};
use crate::names::split;
use crate::world::{Access, Attachment, Issue, Result, World, refuse};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

impl Person {
    /// Attaches a file to an issue, with the right of its author or a writer; returns the file's id.
    pub fn attach(&self, repo: &str, number: u64, name: &str, bytes: &[u8]) -> Result<String> {
        self.attached(repo, number, (name, bytes), None)
    }

    /// As `Devforge::attach`, for a forge that stores its files at another address.
    pub fn attach_elsewhere(&self, repo: &str, number: u64, name: &str, address: &str) -> Result<String> {
        self.attached(repo, number, (name, b"elsewhere"), Some(address.to_owned()))
    }

    fn attached(
        &self,
        repo: &str,
        number: u64,
        (name, bytes): (&str, &[u8]),
        elsewhere: Option<String>,
    ) -> Result<String> {
        let (owner, repository) = split(repo)?;
        let mut world = self.shared.world();
        let at = world.repo(owner, repository, Some(&self.login), Access::Read)?;
        let actor = world.account(&self.login)?.id;
        let file = Attachment {
            uuid: uuid::Uuid::new_v4().to_string(),
            name: name.to_owned(),
            bytes: Bytes::copy_from_slice(bytes),
            elsewhere,
        };
        world.attach(at, number, actor, file)
    }
}

impl World {
    fn attach(&mut self, at: usize, number: u64, actor: i64, file: Attachment) -> Result<String> {
        let issue = self.issue(at, number)?;
        if issue.author != actor && !self.may_edit(at, actor, issue.pull.is_some()) {
            return refuse(403, "user should have permission to write issue");
        }
        let kind = if issue.pull.is_some() { PULL } else { ISSUES };
        let (uuid, time) = (file.uuid.clone(), self.now());
        let issue = self.issue_mut(at, number)?;
        issue.attachments.push(file);
        // To Gitea it is an edit of the text, which stays.
        issue.updated = time;
        let changes = json!({ "body": { "from": issue.body } });
        self.emit_issue(at, number, kind, "edited", actor, Some(changes));
        Ok(uuid)
    }

    pub fn assets_json(&self, issue: &Issue) -> Value {
        self.files_json(&issue.attachments, issue.updated)
    }

    fn files_json(&self, files: &[Attachment], updated: i64) -> Value {
        let one = |file: &Attachment| {
            json!({
                "id": 1, "uuid": file.uuid, "name": file.name, "size": file.bytes.len(), "download_count": 0,
                "created_at": crate::json::time(updated),
                "browser_download_url": format!("{}/attachments/{}", self.base, file.uuid),
            })
        };
        files.iter().map(one).collect()
    }
}

/// Endings of the files that are taken, as by default in Gitea (`modules/setting/attachment.go`).
const TAKEN: &str = "avif cpuprofile csv dmp docx fodg fodp fods fodt gif gz jpeg jpg json jsonc log md mov mp4 odf odg odp ods odt patch pdf png pptx svg tgz txt webm webp xls xlsx zip";

type IssuePath = Path<(String, String, u64)>;

pub(crate) async fn list(State(app): App, caller: Caller, Path((o, r, n)): IssuePath) -> Result<Json<Value>> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    Ok(Json(world.assets_json(world.issue(at, n)?)))
}

pub(crate) async fn upload(
    State(app): App,
    caller: Caller,
    Path((o, r, n)): IssuePath,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response> {
    let file = sent(&headers, &body)?;
    let mut world = app.world();
    let (at, actor) = caller.at(&world, &o, &r, Access::Read)?;
    world.attach(at, n, actor, file)?;
    let all = world.assets_json(world.issue(at, n)?);
    let last = all.as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
    Ok((StatusCode::CREATED, Json(last)).into_response())
}

/// The form's one file.
fn sent(headers: &HeaderMap, body: &Bytes) -> Result<Attachment> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let boundary = kind.split_once("boundary=").map(|(_, boundary)| boundary).unwrap_or_default();
    let Some((name, bytes)) = part(body, boundary) else { return refuse(400, "request has no form") };
    if !name.rsplit_once('.').is_some_and(|(_, ending)| TAKEN.split(' ').any(|taken| taken == ending)) {
        return refuse(422, "This file cannot be uploaded or modified due to a forbidden file extension or type.");
    }
    Ok(Attachment { uuid: uuid::Uuid::new_v4().to_string(), name, bytes, elsewhere: None })
}

type CommentPath = Path<(String, String, i64)>;

pub(crate) async fn list_of_comment(
    State(app): App,
    caller: Caller,
    Path((o, r, id)): CommentPath,
) -> Result<Json<Value>> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    let mut all = world.repos[at].issues.values().flat_map(|issue| &issue.comments);
    match all.find(|comment| comment.id == id) {
        Some(comment) => Ok(Json(world.files_json(&comment.attachments, comment.updated))),
        None => refuse(404, "comment does not exist"),
    }
}

/// With the right of a writer who wrote the comment, or of an administrator (`issue_comment_attachment.go`).
pub(crate) async fn upload_to_comment(
    State(app): App,
    caller: Caller,
    Path((o, r, id)): CommentPath,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response> {
    let file = sent(&headers, &body)?;
    let mut world = app.world();
    let (at, actor) = caller.at(&world, &o, &r, Access::Read)?;
    let Some((number, place)) = world.comment_at(at, id) else { return refuse(404, "comment does not exist") };
    let issue = world.issue(at, number)?;
    let own = issue.comments[place].author == actor;
    let admin = world.access(&world.repos[at], caller.login.as_deref()) >= Access::Admin;
    if !(own || admin) || !world.may_edit(at, actor, issue.pull.is_some()) {
        return refuse(403, "user should have permission to edit comment");
    }
    let time = world.now();
    let comment = &mut world.issue_mut(at, number)?.comments[place];
    comment.attachments.push(file);
    comment.updated = time;
    let (files, changes) = (comment.attachments.clone(), json!({ "body": { "from": comment.body } }));
    world.emit_comment(at, number, world.comment_value(at, number, id), "edited", actor, Some(changes));
    let all = world.files_json(&files, time);
    let last = all.as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
    Ok((StatusCode::CREATED, Json(last)).into_response())
}

/// Name and bytes of the form's one file.
fn part(body: &Bytes, boundary: &str) -> Option<(String, Bytes)> {
    let find = |needle: &[u8], from: usize| {
        body.get(from..)?.windows(needle.len()).position(|window| window == needle).map(|at| from + at)
    };
    let begin = find(b"\r\n\r\n", 0)? + 4;
    let end = find(format!("\r\n--{boundary}").as_bytes(), begin)?;
    let head = String::from_utf8_lossy(&body[..begin]).into_owned();
    let name = head.split_once("filename=\"")?.1.split_once('"')?.0.to_owned();
    Some((name, body.slice(begin..end)))
}

pub(crate) async fn download(State(app): App, caller: Caller, Path(uuid): Path<String>) -> Result<Response> {
    let world = app.world();
    let all = world.repos.iter().flat_map(|repo| repo.issues.values().map(move |issue| (repo, issue)));
    let of_comments = |issue: &'_ Issue| -> Vec<Attachment> {
        issue.comments.iter().flat_map(|comment| comment.attachments.iter().cloned()).collect()
    };
    let mut files = all.flat_map(|(repo, issue)| {
        issue.attachments.iter().cloned().chain(of_comments(issue)).map(move |file| (repo, file))
    });
    let Some((repo, file)) = files.find(|(_, file)| file.uuid == uuid) else { return refuse(404, "Not found.") };
    if world.repo(&repo.owner, &repo.name, caller.login.as_deref(), Access::Read).is_err() {
        return refuse(404, "Not found.");
    }
    Ok(match &file.elsewhere {
        Some(address) => (StatusCode::SEE_OTHER, [(header::LOCATION, address.clone())]).into_response(),
        None => file.bytes.clone().into_response(),
    })
}
