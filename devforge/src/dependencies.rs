//! What an issue or pull request of the same repository depends on (`routers/api/v1/repo/issue_dependency.go` of Gitea).

use crate::Person;
use crate::api::{App, Caller, created};
use crate::world::{Access, Issue, Result, World, refuse};
use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::Value;

type IssuePath = Path<(String, String, u64)>;

impl Person {
    /// Has an issue or pull request depend on another one, with the right to write it.
    pub fn depend(&self, repo: &str, number: u64, on: u64) -> Result<()> {
        self.act(repo, |world, at, me| world.depend(at, number, me, on))
    }
}

impl World {
    fn depend(&mut self, at: usize, number: u64, actor: i64, on: u64) -> Result<()> {
        self.issue(at, on)?;
        if !self.may_edit(at, actor, self.issue(at, number)?.pull.is_some()) {
            return refuse(403, "user should have permission to write issue");
        }
        self.issue_mut(at, number)?.depends_on.push(on);
        Ok(())
    }

    /// Whether something is open that this depends on.
    pub(crate) fn is_held_up(&self, at: usize, issue: &Issue) -> bool {
        issue.depends_on.iter().any(|on| self.issue(at, *on).is_ok_and(|on| on.open))
    }
}

pub(crate) async fn list(State(app): App, caller: Caller, Path((o, r, n)): IssuePath) -> Result<Json<Value>> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    let on = world.issue(at, n)?.depends_on.iter().filter_map(|on| world.issue(at, *on).ok());
    Ok(Json(on.map(|on| world.issue_json(&world.repos[at], on)).collect()))
}

pub(crate) async fn create(
    State(app): App,
    caller: Caller,
    Path((o, r, n)): IssuePath,
    Json(body): Json<Value>,
) -> Result<Response> {
    let mut world = app.world();
    let (at, actor) = caller.at(&world, &o, &r, Access::Read)?;
    world.depend(at, n, actor, body["index"].as_u64().unwrap_or_default())?;
    Ok(created(world.issue_json(&world.repos[at], world.issue(at, n)?)))
}
