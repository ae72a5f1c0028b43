//! Forks, and the heads of pull requests: Gitea keeps each as `refs/pull/N/head` in the repository that it goes to, wherever its branch is.

use crate::api::{App, Caller, Shared, text};
use crate::git;
use crate::world::{Access, Repo, Result, World, refuse};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

/// `POST /forks`: a fork of the caller's.
pub(crate) async fn create(
    State(app): App,
    caller: Caller,
    Path((o, r)): Path<(String, String)>,
    Json(body): Json<Value>,
) -> Result<Response> {
    let login = {
        let world = app.world();
        caller.at(&world, &o, &r, Access::Read)?;
        caller.signed_in(&world)?.1
    };
    let made = fork(&app, (&o, &r), &login, text(&body, "name")).await?;
    let (owner, name) = made.split_once('/').unwrap_or((made.as_str(), ""));
    let world = app.world();
    let (at, _) = caller.at(&world, owner, name, Access::Read)?;
    Ok((StatusCode::ACCEPTED, Json(world.repo_json(&world.repos[at], caller.login.as_deref()))).into_response())
}

/// Forks a repository that `login` may read; an empty name is its own. Returns the fork's `owner/name`.
pub(crate) async fn fork(shared: &Shared, (owner, name): (&str, &str), login: &str, wanted: &str) -> Result<String> {
    let (of, branch, private, called) = {
        let world = shared.world();
        let at = world.repo(owner, name, Some(login), Access::Read)?;
        let repo = &world.repos[at];
        let called = if wanted.is_empty() { repo.name.clone() } else { wanted.to_owned() };
        if world.repo_at(login, &called).is_some() {
            return refuse(409, "The repository with the same name already exists.");
        }
        (repo.id, repo.default_branch.clone(), repo.private, called)
    };
    let dir = git::path(&shared.root, login, &called);
    let copied = async {
        git::init(&dir, &branch).await?;
        git::copy(&dir, &git::path(&shared.root, owner, name)).await?;
        git::refs(&dir).await
    };
    let refs = copied.await.or_else(|e| refuse(500, format!("{e:#}")))?;
    let mut world = shared.world();
    let id = world.add_repo(login, &called, private, &branch)?;
    if let Some(made) = world.repos.iter_mut().find(|repo| repo.id == id) {
        // The default units of a fork are code and pull requests.
        (made.fork_of, made.has_issues, made.refs) = (Some(of), false, refs);
    }
    Ok(format!("{login}/{called}"))
}

/// Brings `refs/pull/N/head` of every pull request to its head; those that stand there already cost nothing.
pub(crate) async fn keep_heads(shared: &Shared) -> Result<()> {
    let dir = |repo: &Repo| git::path(&shared.root, &repo.owner, &repo.name);
    let behind: Vec<_> = {
        let world = shared.world();
        let of = |id: i64| world.repos.iter().find(move |repo| repo.id == id).map(dir);
        let pulls = world.repos.iter().flat_map(|repo| repo.issues.values().map(move |issue| (repo, issue)));
        pulls
            .filter_map(|(repo, issue)| {
                let pull = issue.pull.as_ref().filter(|pull| issue.open && pull.kept != pull.head_sha)?;
                Some((repo.id, dir(repo), of(pull.from)?, issue.number, pull.head_sha.clone()))
            })
            .collect()
    };
    for (id, to, from, number, commit) in behind {
        git::keep_head(&to, &from, number, &commit).await.or_else(|e| refuse(500, format!("{e:#}")))?;
        let mut world = shared.world();
        let repo = world.repos.iter_mut().find(|repo| repo.id == id);
        if let Some(pull) = repo.and_then(|repo| repo.issues.get_mut(&number)).and_then(|issue| issue.pull.as_mut()) {
            pull.kept = commit;
        }
    }
    Ok(())
}

impl World {
    /// The repository and the branch that the head of a new pull request names: `branch`, or `owner:branch` of a fork.
    pub fn head_repository<'a>(&self, at: usize, head: &'a str) -> Result<(&Repo, &'a str)> {
        let repo = &self.repos[at];
        let Some((owner, branch)) = head.split_once(':') else { return Ok((repo, head)) };
        let is_it = |other: &&Repo| {
            other.owner.eq_ignore_ascii_case(owner) && (other.id == repo.id || other.fork_of == Some(repo.id))
        };
        let found = self.repos.iter().find(is_it);
        found.map_or_else(|| refuse(404, "The target couldn't be found."), |other| Ok((other, branch)))
    }
}
