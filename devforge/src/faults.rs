//! Faults of single objects that were seen on a real Gitea: a deleted issue, a renamed repository, a refused address. `traps` has the
//! forge's general habits and outages.

use crate::Devforge;
use crate::api::{App, Caller, Shared, no_content};
use crate::names::split;
use crate::world::{Access, Refusal, Repo, Result, World, refuse};
use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

impl Devforge {
    /// Renames a repository; the old name redirects until it is taken.
    pub fn rename(&self, repo: &str, name: &str) -> Result<()> {
        let (owner, _) = split(repo)?;
        let mut world = self.shared.world();
        let at = world.repo(owner, split(repo)?.1, Some("root"), Access::Read)?;
        let owner = world.repos[at].owner.clone();
        move_to(&self.shared, &mut world, at, (&owner, name))
    }

    /// Gives a repository to another owner; the old address redirects until it is taken.
    pub fn transfer(&self, repo: &str, owner: &str) -> Result<()> {
        let (old, name) = split(repo)?;
        let mut world = self.shared.world();
        let at = world.repo(old, name, Some("root"), Access::Read)?;
        let owner = world.account(owner)?.login.clone();
        move_to(&self.shared, &mut world, at, (&owner, name))
    }

    /// Gives an account another login; the old one is free for somebody else.
    pub fn rename_account(&self, login: &str, new: &str) -> Result<()> {
        self.shared.world().rename_account(login, new)
    }

    /// Archives a repository, or takes that back: archived it is read alone.
    pub fn archive(&self, repo: &str, archived: bool) -> Result<()> {
        self.change(repo, |repo| repo.archived = archived)
    }

    /// Deletes a repository with everything in it.
    pub fn delete_repository(&self, repo: &str) -> Result<()> {
        let (owner, name) = split(repo)?;
        let mut world = self.shared.world();
        let at = world.repo(owner, name, Some("root"), Access::Read)?;
        world.repos.remove(at);
        Ok(())
    }

    /// Deletes an issue or pull request with all comments; a pull request's branch stays.
    pub fn delete_issue(&self, repo: &str, number: u64) -> Result<()> {
        let (owner, name) = split(repo)?;
        let mut world = self.shared.world();
        let at = world.repo(owner, name, Some("root"), Access::Read)?;
        delete(&mut world, at, number)
    }

    /// Switches a repository's issues off or on; its pull requests stay.
    pub fn switch_issues(&self, repo: &str, on: bool) -> Result<()> {
        self.change(repo, |repo| repo.has_issues = on)
    }

    /// Switches a repository's pull requests off or on; its issues stay.
    pub fn switch_pulls(&self, repo: &str, on: bool) -> Result<()> {
        self.change(repo, |repo| repo.has_pulls = on)
    }

    fn change(&self, repo: &str, change: impl FnOnce(&mut Repo)) -> Result<()> {
        let (owner, name) = split(repo)?;
        let mut world = self.shared.world();
        let at = world.repo(owner, name, Some("root"), Access::Read)?;
        change(&mut world.repos[at]);
        Ok(())
    }

    /// Answers every address that ends with one of these with its status until the next call. `POST /x` applies only to posts.
    pub fn refuse(&self, addresses: &[(&str, u16)]) {
        self.shared.switches.refuse(addresses.iter().map(|(end, status)| ((*end).to_owned(), *status)).collect());
    }

    /// Moves the times of everything in a repository back by so many seconds; 404 if there is none.
    pub fn age(&self, repo: &str, seconds: i64) -> Result<()> {
        let (owner, name) = split(repo)?;
        let mut world = self.shared.world();
        let at = world.repo(owner, name, Some("root"), Access::Read)?;
        for issue in world.repos[at].issues.values_mut() {
            (issue.created, issue.updated) = (issue.created - seconds, issue.updated - seconds);
            for comment in &mut issue.comments {
                (comment.created, comment.updated) = (comment.created - seconds, comment.updated - seconds);
            }
            issue.changes.iter_mut().for_each(|change| change.at -= seconds);
        }
        world.repos[at].created -= seconds;
        Ok(())
    }

    /// Renames a label of a repository; its name in the timeline changes too, as in Gitea.
    pub fn rename_label(&self, repo: &str, from: &str, to: &str) -> Result<()> {
        let (owner, name) = split(repo)?;
        let mut world = self.shared.world();
        let at = world.repo(owner, name, Some("root"), Access::Read)?;
        let found = world.repos[at].labels.iter_mut().find(|label| label.name == from);
        let Some(label) = found else { return refuse(404, "label does not exist") };
        to.clone_into(&mut label.name);
        Ok(())
    }

    /// Number of requests so far for addresses (without the query) that `about` accepts.
    pub fn requests(&self, about: impl Fn(&str) -> bool) -> u64 {
        self.shared.switches.requests(about)
    }

    /// How many requests [`Devforge::refuse`] has answered.
    pub fn times_refused(&self) -> u64 {
        self.shared.switches.times_refused()
    }
}

/// Moves a repository to another owner or name.
pub(crate) fn move_to(shared: &Shared, world: &mut World, at: usize, (owner, name): (&str, &str)) -> Result<()> {
    let repo = &mut world.repos[at];
    let old =
        (std::mem::replace(&mut repo.owner, owner.to_owned()), std::mem::replace(&mut repo.name, name.to_owned()));
    let id = repo.id;
    let path = |owner: &str, name: &str| crate::git::path(&shared.root, owner, name);
    let to = path(owner, name);
    if let Some(above) = to.parent() {
        std::fs::create_dir_all(above).or_else(|e| refuse(500, e.to_string()))?;
    }
    std::fs::rename(path(&old.0, &old.1), to).or_else(|e| refuse(500, e.to_string()))?;
    world.old_names.push((old.0, old.1, id));
    Ok(())
}

/// Gitea's answer where a repository is archived: 423 to a change by the API, 403 to a push.
fn archived(world: &World, method: &Method, uri: &axum::http::Uri) -> Option<u16> {
    let path = uri.path();
    let api = path.strip_prefix("/api/v1/repos/");
    let mut parts = api.or(path.strip_prefix('/'))?.splitn(3, '/');
    let (owner, name) = (parts.next()?, parts.next()?);
    let at = world.repo_at(owner, name.strip_suffix(".git").unwrap_or(name))?;
    let pushes = path.ends_with("/git-receive-pack") || uri.query().is_some_and(|q| q.contains("git-receive-pack"));
    let changes = api.is_some() && method != Method::GET;
    match (world.repos[at].archived, changes, pushes) {
        (true, true, _) => Some(423),
        (true, false, true) => Some(403),
        _ => None,
    }
}

/// Whether it is an address of pull requests where a repository has them switched off, which Gitea answers with 404 (`mustAllowPulls` in
/// `routers/api/v1/api.go`).
fn takes_no_pulls(world: &World, path: &str) -> bool {
    let mut parts = path.strip_prefix("/api/v1/repos/").unwrap_or_default().split('/');
    let (Some(owner), Some(name), Some("pulls")) = (parts.next(), parts.next(), parts.next()) else { return false };
    world.repo_at(owner, name).is_some_and(|at| !world.repos[at].has_pulls)
}

fn delete(world: &mut World, at: usize, number: u64) -> Result<()> {
    world.issue(at, number)?;
    world.repos[at].issues.remove(&number);
    Ok(())
}

pub(crate) async fn delete_issue(
    State(app): App,
    caller: Caller,
    Path((o, r, n)): Path<(String, String, u64)>,
) -> Result<Response> {
    let mut world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Admin)?;
    delete(&mut world, at, n)?;
    Ok(no_content())
}

pub(crate) async fn by_id(State(app): App, caller: Caller, Path(id): Path<i64>) -> Result<Json<Value>> {
    let world = app.world();
    let Some(repo) = world.repos.iter().find(|repo| repo.id == id) else {
        return refuse(404, "The target couldn't be found.");
    };
    let (owner, name) = (repo.owner.clone(), repo.name.clone());
    let (at, _) = caller.at(&world, &owner, &name, Access::Read)?;
    Ok(Json(world.repo_json(&world.repos[at], caller.login.as_deref())))
}

/// Runs before any call of API or git: refused addresses, and renamed repositories.
pub(crate) async fn before(State(shared): App, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    shared.switches.count(&path);
    if let Some(status) = shared.switches.refused(request.method().as_str(), &path) {
        return Refusal { status, message: String::new() }.into_response();
    }
    let archived = archived(&shared.world(), request.method(), request.uri());
    if let Some(status) = archived {
        return Refusal { status, message: "the repository is archived".to_owned() }.into_response();
    }
    if takes_no_pulls(&shared.world(), &path) {
        return Refusal { status: 404, message: "The target couldn't be found.".to_owned() }.into_response();
    }
    let elsewhere = elsewhere(&shared.world(), &path);
    match elsewhere {
        Some(location) => (StatusCode::MOVED_PERMANENTLY, [(header::LOCATION, location)]).into_response(),
        None => next.run(request).await,
    }
}

/// The same address at the repository's new name.
fn elsewhere(world: &World, path: &str) -> Option<String> {
    let rest = path.strip_prefix("/api/v1/repos/").or(path.strip_prefix('/'))?;
    let mut parts = rest.splitn(3, '/');
    let (owner, name) = (parts.next()?, parts.next()?);
    let bare = name.strip_suffix(".git").unwrap_or(name);
    if world.repo_at(owner, bare).is_some() {
        return None;
    }
    let moved = world.old_names.iter().rev().find(|(o, n, _)| o == owner && n == bare)?;
    let repo = world.repos.iter().find(|repo| repo.id == moved.2)?;
    Some(path.replacen(&format!("{owner}/{bare}"), &format!("{}/{}", repo.owner, repo.name), 1))
}
