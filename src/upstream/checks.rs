//! What GitHub's CI says of a commit: its commit statuses and its check runs, each complete (docs.github.com/rest/commits/statuses:
//! *combined status*; docs.github.com/rest/checks/runs: *for a Git reference*; both 200 with `total_count`, at most 100 a page). Every text is
//! untrusted.

use super::github::{GitHub, GitHubError};
use crate::text::{cut, one_line};
use domain::{CiCheck, CiState, Commit};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Entries of a page, and pages that are read of each list.
const PER_PAGE: usize = 100;
const MOST_PAGES: usize = 5;
/// Characters of a name, and of what a check says of itself.
const NAME: usize = 200;
const WORDS: usize = 300;

/// A page of one of the two lists.
trait Page: DeserializeOwned {
    type Entry;

    /// How many there are on all pages, and those of this one.
    fn parts(self) -> (usize, Vec<Self::Entry>);
}

#[derive(Deserialize)]
struct Combined {
    total_count: usize,
    statuses: Vec<Status>,
}

#[derive(Deserialize)]
struct Status {
    context: String,
    state: String,
    description: Option<String>,
    target_url: Option<String>,
}

#[derive(Deserialize)]
struct Runs {
    total_count: usize,
    check_runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    name: String,
    status: String,
    conclusion: Option<String>,
    html_url: Option<String>,
}

impl Page for Combined {
    type Entry = Status;

    fn parts(self) -> (usize, Vec<Status>) {
        (self.total_count, self.statuses)
    }
}

impl Page for Runs {
    type Entry = Run;

    fn parts(self) -> (usize, Vec<Run>) {
        (self.total_count, self.check_runs)
    }
}

impl GitHub {
    /// Every check of a commit, failed ones first.
    ///
    /// # Errors
    /// [`GitHubError`], in words for a person.
    pub async fn checks(&self, repository: &str, commit: &Commit) -> Result<Vec<CiCheck>, GitHubError> {
        let statuses =
            self.all::<Combined>(repository, &format!("/repos/{repository}/commits/{commit}/status")).await?;
        let runs = self.all::<Runs>(repository, &format!("/repos/{repository}/commits/{commit}/check-runs")).await?;
        let mut all: Vec<CiCheck> = statuses.into_iter().map(of_status).chain(runs.into_iter().map(of_run)).collect();
        all.sort_by_key(|check| check.state != CiState::Failed);
        Ok(all)
    }

    async fn all<T: Page>(&self, repository: &str, path: &str) -> Result<Vec<T::Entry>, GitHubError> {
        let mut all = Vec::new();
        for page in 1..=MOST_PAGES {
            let (status, wait, text) = self.ask(&format!("{path}?per_page={PER_PAGE}&page={page}"), None).await?;
            if status != 200 {
                return Err(self.refusal(repository, status, wait, &text));
            }
            let read: T = serde_json::from_str(&text).map_err(|error| self.unreadable(&error))?;
            let (total, entries) = read.parts();
            let last = entries.is_empty();
            all.extend(entries);
            if last || all.len() >= total {
                return Ok(all);
            }
        }
        // A list that is not whole may lack the one that failed.
        let most = MOST_PAGES * PER_PAGE;
        Err(GitHubError::Away { host: self.host(), why: format!("the commit has more than {most} checks") })
    }
}

fn of_status(status: Status) -> CiCheck {
    let state = match status.state.as_str() {
        "success" => CiState::Passed,
        "failure" | "error" => CiState::Failed,
        _ => CiState::Pending,
    };
    shown(&status.context, state, status.description, status.target_url)
}

fn of_run(run: Run) -> CiCheck {
    let state = match (run.status.as_str(), run.conclusion.as_deref()) {
        ("completed", Some("success" | "neutral" | "skipped")) => CiState::Passed,
        ("completed", _) => CiState::Failed,
        _ => CiState::Pending,
    };
    shown(&run.name, state, run.conclusion, run.html_url)
}

fn shown(name: &str, state: CiState, words: Option<String>, url: Option<String>) -> CiCheck {
    let line = |text: &str, most: usize| cut(&one_line(text), most).0.to_owned();
    CiCheck {
        context: line(name, NAME),
        state,
        description: line(&words.unwrap_or_default(), WORDS),
        url: line(&url.unwrap_or_default(), WORDS),
        log: String::new(),
    }
}
