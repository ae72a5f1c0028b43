//! `caisson fetch --open-pr --wait-ci`: waits for what the upstream's CI says of the commit that was pushed there. The pull request is open by
//! then: no failure here takes anything back. Tests: `tests/trees/propose.rs`.

use crate::redact::without;
use crate::upstream::{GitHub, GitHubError};
use domain::{CiCheck, CiOutcome, CiState, Commit, UpstreamChecks};
use std::future::Future;
use std::time::{Duration, Instant};

/// Checks that the bot is told of.
const MOST_CHECKS: usize = 50;

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

impl UpstreamCi {
    /// What the bot is told of it, without credentials; none where nothing could be read.
    pub(super) fn report(&self, commit: &Commit) -> Option<UpstreamChecks> {
        let (ended, checks) = match self {
            Self::Unknown(_) => return None,
            Self::Nothing => (true, [].as_slice()),
            Self::Ended(checks) => (true, checks.as_slice()),
            Self::Late(checks) => (false, checks.as_slice()),
        };
        let failed = checks.iter().any(|check| check.state == CiState::Failed);
        let outcome = match (failed, ended) {
            (true, _) => CiOutcome::Failed,
            (false, false) => CiOutcome::Late,
            (false, true) if checks.is_empty() => CiOutcome::Nothing,
            (false, true) => CiOutcome::Passed,
        };
        let clean = |check: &CiCheck| CiCheck {
            context: without(check.context.clone()),
            description: without(check.description.clone()),
            url: without(check.url.clone()),
            ..check.clone()
        };
        let more = u32::try_from(checks.len().saturating_sub(MOST_CHECKS)).unwrap_or(u32::MAX);
        let checks = checks.iter().take(MOST_CHECKS).map(clean).collect();
        Some(UpstreamChecks { commit: commit.clone(), outcome, checks, more })
    }
}

/// Looks until every check has ended in two looks one after the other, because checks are added one by one.
pub(super) async fn wait(github: &GitHub, repository: &str, commit: &Commit, pace: Pace) -> UpstreamCi {
    watch(|| github.checks(repository, commit), pace).await
}

async fn watch<F, L>(mut look: L, pace: Pace) -> UpstreamCi
where
    L: FnMut() -> F,
    F: Future<Output = Result<Vec<CiCheck>, GitHubError>>,
{
    let (began, mut before, mut refused) = (Instant::now(), None, false);
    loop {
        let over = began.elapsed() >= pace.most;
        let mut pause = pace.every;
        match look().await {
            // A commit that was pushed a moment ago may not be there yet for every part of the server, so one refusal is no end.
            Err(error) if over || (refused && lasts(&error)) => return UpstreamCi::Unknown(why(&error)),
            // A limit of requests, or a server that is away, ends with time.
            Err(error) => {
                refused = lasts(&error);
                if let GitHubError::Limited { minutes, .. } = &error {
                    // Whoever asks on while there is a limit lengthens it; the last look comes all the same.
                    let limit = Duration::from_secs(minutes.saturating_mul(60));
                    pause = pause.max(limit.min(pace.most.saturating_sub(began.elapsed())));
                }
                tracing::debug!(%error, "the upstream's CI is looked at again");
            }
            Ok(checks) => {
                refused = false;
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
        tokio::time::sleep(pause).await;
    }
}

/// Whether the same answer comes however long is waited.
fn lasts(error: &GitHubError) -> bool {
    matches!(error, GitHubError::Refused { .. } | GitHubError::NotFound { .. })
}

fn why(error: &GitHubError) -> String {
    let hint = if lasts(error) { "; the token needs to read commit statuses and checks there" } else { "" };
    format!("{error}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> GitHubError {
        let (host, message) = ("github.test".into(), "not accessible".into());
        GitHubError::Refused { host, what: "the request", status: 403, message }
    }

    fn away() -> GitHubError {
        GitHubError::Away { host: "github.test".into(), why: "502".into() }
    }

    fn limited() -> GitHubError {
        GitHubError::Limited { host: "github.test".into(), minutes: 17, hint: "" }
    }

    /// What the answers, the last of which is given again and again, come to, and after how many looks.
    type OneLook = fn() -> Result<Vec<CiCheck>, GitHubError>;

    async fn told(answers: &[OneLook], most: u64) -> (UpstreamCi, usize) {
        let short = Duration::from_millis;
        let pace = Pace { every: short(1), nothing: short(20), most: short(most) };
        let mut looks = 0;
        let ci = watch(
            || {
                let answer = answers[looks.min(answers.len() - 1)]();
                looks += 1;
                std::future::ready(answer)
            },
            pace,
        )
        .await;
        (ci, looks)
    }

    #[tokio::test]
    async fn a_token_that_may_not_read_ends_the_wait_with_what_it_lacks() {
        let (ci, looks) = told(&[|| Err(refused())], 60_000).await;
        let UpstreamCi::Unknown(why) = ci else { panic!("{ci:?}") };
        assert!(why.contains("not accessible") && why.contains("commit statuses and checks"), "{why}");
        assert_eq!(looks, 2);
    }

    #[tokio::test]
    async fn one_refusal_and_a_server_that_is_away_end_with_time() {
        let (ci, _) = told(&[|| Err(refused()), || Err(away()), || Err(refused()), || Ok(Vec::new())], 60_000).await;
        assert_eq!(ci, UpstreamCi::Nothing);
        let (ci, looks) = told(&[|| Err(away())], 30).await;
        assert!(looks > 2 && matches!(&ci, UpstreamCi::Unknown(why) if !why.contains("token")), "{ci:?}");
    }

    #[tokio::test]
    async fn a_limit_is_waited_for_and_not_asked_into() {
        let (ci, looks) = told(&[|| Err(limited())], 300).await;
        assert!(matches!(&ci, UpstreamCi::Unknown(why) if why.contains("17 minutes")), "{ci:?}");
        assert_eq!(looks, 2, "at the beginning, and once the time is over");
    }
}
