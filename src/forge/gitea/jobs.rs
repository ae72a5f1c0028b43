//! Logs of the forge's own CI: runs of a commit, their jobs, and a job's log. Shapes: `modules/structs/repo_actions.go` of Gitea 1.25.
//! Tests: below, and with a job that a real forge hands out `tests/contract/actions.rs`.

use super::raw::{Raw, seg};
use crate::forge::{ForgeError, Result};
use serde::Deserialize;
use url::Url;

/// Runs of one commit, and jobs of one run, that are looked through.
const MOST: usize = 50;

#[derive(Deserialize)]
struct Runs {
    #[serde(default)]
    workflow_runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    id: i64,
    #[serde(default)]
    html_url: String,
}

#[derive(Deserialize)]
struct Jobs {
    #[serde(default)]
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    id: i64,
    #[serde(default)]
    html_url: String,
}

/// As [`crate::forge::ForgeReads::job_log`]; `base` is the repository's path.
pub(super) async fn log(raw: &Raw, base: &str, commit: &str, page: &str, most: usize) -> Result<Option<String>> {
    let Some(wanted) = path(page).filter(|path| path.contains("/actions/runs/")) else { return Ok(None) };
    let found = find(raw, base, commit, &wanted).await;
    let id = match found {
        Ok(Some(id)) => id,
        // CI is switched off, or a forge without this part of the API.
        Ok(None) | Err(ForgeError::NotFound(_) | ForgeError::Forbidden(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    match raw.tail(&format!("{base}/actions/jobs/{id}/logs"), most).await {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(ForgeError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn find(raw: &Raw, base: &str, commit: &str, wanted: &str) -> Result<Option<i64>> {
    let runs: Runs = raw.get(&format!("{base}/actions/runs?head_sha={}&limit={MOST}", seg(commit))).await?;
    for run in runs.workflow_runs {
        // The page of a job is below that of its run.
        if !path(&run.html_url).is_some_and(|run| wanted.starts_with(&format!("{run}/"))) {
            continue;
        }
        let jobs: Jobs = raw.get(&format!("{base}/actions/runs/{}/jobs?limit={MOST}", run.id)).await?;
        let job = jobs.jobs.into_iter().find(|job| path(&job.html_url).as_deref() == Some(wanted));
        if let Some(job) = job {
            return Ok(Some(job.id));
        }
    }
    Ok(None)
}

/// The path of an address: the same page has one host for people and another for this account.
fn path(address: &str) -> Option<String> {
    Some(Url::parse(address).ok()?.path().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_known_by_its_path() {
        assert_eq!(
            path("http://a.test/lab/shop/actions/runs/3/jobs/0").as_deref(),
            Some("/lab/shop/actions/runs/3/jobs/0")
        );
        assert_eq!(path("/lab/shop"), None);
    }
}
