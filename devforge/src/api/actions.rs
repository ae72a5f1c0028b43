//! Runs of the forge's own CI, their jobs and logs, as the API shows them. Shapes: `modules/structs/repo_actions.go` of Gitea 1.25.4.

use super::{App, Caller};
use crate::Devforge;
use crate::names::split;
use crate::world::{Access, CiJob, Refusal, Repo, Result, refuse};
use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use serde_json::{Value, json};

impl Devforge {
    /// A run of the forge's own CI with one job that has ended on a commit; returns the path that its commit status names.
    pub fn add_ci_job(&self, repo: &str, sha: &str, log: &str) -> std::result::Result<String, Refusal> {
        let (owner, name) = split(repo)?;
        let mut world = self.shared.world();
        let at = world.repo(owner, name, Some("root"), Access::Read)?;
        // Ids are of the whole forge, and a run's page has its number in the repository.
        let (run, id, index) = (world.id(), world.id(), world.repos[at].jobs.len() + 1);
        world.repos[at].jobs.push(CiJob { run, id, index, sha: sha.to_owned(), log: log.to_owned() });
        Ok(page(&world.repos[at], index) + "/jobs/0")
    }
}

fn page(repo: &Repo, index: usize) -> String {
    format!("/{}/{}/actions/runs/{index}", repo.owner, repo.name)
}

#[derive(Deserialize)]
pub(crate) struct RunsQuery {
    #[serde(default)]
    head_sha: String,
}

pub(crate) async fn runs(
    State(app): App,
    caller: Caller,
    Path((o, r)): Path<(String, String)>,
    Query(query): Query<RunsQuery>,
) -> Result<Json<Value>> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    let repo = &world.repos[at];
    let found = repo.jobs.iter().filter(|job| query.head_sha.is_empty() || job.sha == query.head_sha);
    let runs: Vec<Value> = found
        .map(|job| {
            json!({
                "id": job.run, "html_url": format!("{}{}", world.base, page(repo, job.index)), "run_number": job.index,
                "head_sha": job.sha, "status": "completed", "conclusion": "failure",
            })
        })
        .collect();
    Ok(Json(json!({ "total_count": runs.len(), "workflow_runs": runs })))
}

pub(crate) async fn jobs(
    State(app): App,
    caller: Caller,
    Path((o, r, run)): Path<(String, String, i64)>,
) -> Result<Json<Value>> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    let repo = &world.repos[at];
    let jobs: Vec<Value> = (repo.jobs.iter().filter(|job| job.run == run))
        .map(|job| {
            json!({
                "id": job.id, "run_id": run, "name": "unit", "head_sha": job.sha, "status": "completed",
                "conclusion": "failure", "html_url": format!("{}{}/jobs/0", world.base, page(repo, job.index)),
            })
        })
        .collect();
    Ok(Json(json!({ "total_count": jobs.len(), "jobs": jobs })))
}

pub(crate) async fn log(
    State(app): App,
    caller: Caller,
    Path((o, r, id)): Path<(String, String, i64)>,
) -> Result<String> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    match world.repos[at].jobs.iter().find(|job| job.id == id) {
        Some(job) => Ok(job.log.clone()),
        None => refuse(404, "The target couldn't be found."),
    }
}
