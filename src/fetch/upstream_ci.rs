//! `caisson fetch --open-pr --wait-ci`: waits for what the upstream's CI says of the commit that was pushed there. The pull request is open by
//! then: no failure here takes anything back. Tests: `tests/trees/propose.rs`.

use crate::upstream::GitHub;
use domain::{CiCheck, CiState, Commit};
use std::time::{Duration, Instant};

/// How long and how often the upstream's CI is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Between two looks.
    pub every: Duration,
    /// After so long without any check, there is no CI.
    pub nothing: Duration,
    /// The longest wait.
    pub most: Duration,
}

impl Pace {
    /// A wait of at most so many minutes.
    pub fn minutes(minutes: u64) -> Self {
        let (every, nothing) = (Duration::from_secs(20), Duration::from_secs(120));
        Self { every, nothing, most: Duration::from_secs(minutes.saturating_mul(60)) }
    }
}

/// What the upstream's CI came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpstreamCi {
    /// Every check ended; failed ones first.
    Ended(Vec<CiCheck>),
    /// Not all of them ended in time; what is known of them.
    Late(Vec<CiCheck>),
    /// There is no check of this commit.
    Nothing,
    /// It cannot be read: why.
    Unknown(String),
}

/// Looks until every check has ended in two looks one after the other, because checks are added one by one.
pub(super) async fn wait(github: &GitHub, repository: &str, commit: &Commit, pace: Pace) -> UpstreamCi {
    let (began, mut before) = (Instant::now(), None);
    loop {
        let over = began.elapsed() >= pace.most;
        match github.checks(repository, commit).await {
            Err(error) if over => return UpstreamCi::Unknown(error.to_string()),
            // A limit of requests, or a server that is away, ends with time.
            Err(error) => tracing::debug!(%error, "the upstream's CI is looked at again"),
            Ok(checks) => {
                let pending = checks.iter().any(|check| check.state == CiState::Pending);
                match (checks.is_empty(), pending) {
                    (true, _) if over || began.elapsed() >= pace.nothing => return UpstreamCi::Nothing,
                    (false, false) if over || before == Some(checks.len()) => return UpstreamCi::Ended(checks),
                    (false, true) if over => return UpstreamCi::Late(checks),
                    (false, false) => before = Some(checks.len()),
                    (true, _) | (false, true) => before = None,
                }
            }
        }
        tokio::time::sleep(pace.every).await;
    }
}
