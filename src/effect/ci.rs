//! Reads what the forge's CI says of a commit. One request for each look, and for failures the forge's own logs of their jobs; decides
//! nothing of a task. Tests: below, `tests/stories/ci_status.rs`.

use super::repository::{Repositories, base};
use crate::forge::{Forge, RepoRef, Status, StatusState};
use crate::redact::without;
use crate::text::{cut, one_line};
use crate::trouble::Trouble;
use domain::{CiAwaited, CiCheck, CiOutcome, CiState, CiWait, Task};
use globset::{Glob, GlobMatcher};
use std::sync::Arc;

/// After so long (milliseconds) without any status that counts, there is none.
const NOTHING_MS: i64 = 120_000;
/// The most checks that are kept of one commit.
const MOST: usize = 50;
/// Characters of a context, and of a description.
const CONTEXT: usize = 200;
const DESCRIPTION: usize = 300;
/// Bytes that are read of the end of a job's log, bytes that are kept of it, and of how many jobs.
const LOG_READ: usize = 256 << 10;
const LOG_KEPT: usize = 6_000;
const LOGS: usize = 3;
const MINUTE_MS: i64 = 60_000;

/// Reads commit statuses that are not the bot's own.
pub struct CiReader {
    pub(super) forge: Arc<dyn Forge>,
    pub(super) repositories: Arc<Repositories>,
}

impl CiReader {
    /// What the wait comes to, by one look after so many milliseconds; none while it goes on.
    ///
    /// # Errors
    /// When the forge cannot be read. Once the time is over that is no error, and nothing is known.
    pub async fn look(
        &self,
        task: &Task,
        awaited: &CiAwaited,
        elapsed_ms: i64,
    ) -> Result<Option<(CiOutcome, Vec<CiCheck>)>, Trouble> {
        let over = elapsed_ms >= i64::from(awaited.wait.timeout_min).saturating_mul(MINUTE_MS);
        let mut checks = match self.read(task, awaited).await {
            Ok(checks) => checks,
            Err(trouble) if over => {
                tracing::warn!(task = task.id.0, %trouble, "the statuses of finished work cannot be read, and the time is over");
                Vec::new()
            }
            Err(trouble @ Trouble::Moved { .. }) => {
                self.repositories.find_again(task).await?;
                return Err(trouble);
            }
            Err(trouble) => return Err(trouble),
        };
        let Some(outcome) = outcome(&awaited.wait, &checks, elapsed_ms, over) else { return Ok(None) };
        if outcome == CiOutcome::Failed {
            self.with_logs(task, awaited, &mut checks).await?;
        }
        Ok(Some((outcome, checks)))
    }

    async fn read(&self, task: &Task, awaited: &CiAwaited) -> Result<Vec<CiCheck>, Trouble> {
        let at = self.repositories.of(task)?.at;
        let statuses = self.forge.statuses(&at, awaited.commit.as_str()).await?;
        Ok(checks(&awaited.wait, &statuses, self.pages().as_deref()))
    }

    /// What is known of the newest pushed commit of a task whose repository has a CI that is waited for; empty where nothing is.
    pub(super) async fn known(&self, task: &Task) -> Result<Vec<CiCheck>, Trouble> {
        let Some(commit) = task.pushed.as_ref().filter(|_| !task.kind.reads_only()) else { return Ok(Vec::new()) };
        let policy = self.repositories.policy(task, &base(task)?).await?;
        let Some(wait) = policy.effective.ci else { return Ok(Vec::new()) };
        let statuses = self.forge.statuses(&policy.repository.at, commit.as_str()).await?;
        Ok(checks(&wait, &statuses, self.pages().as_deref()))
    }

    /// The forge's address for people, without a slash at its end.
    fn pages(&self) -> Option<String> {
        let url = self.repositories.config.people_url()?;
        Some(url.as_str().trim_end_matches('/').to_owned())
    }

    /// The ends of the logs that the forge itself has of failed jobs. A log that cannot be read is left out: the failure stands without it.
    async fn with_logs(&self, task: &Task, awaited: &CiAwaited, checks: &mut [CiCheck]) -> Result<(), Trouble> {
        let at: RepoRef = self.repositories.of(task)?.at;
        let failed = checks.iter_mut().filter(|check| check.state == CiState::Failed && !check.url.is_empty());
        for check in failed.take(LOGS) {
            match self.forge.job_log(&at, awaited.commit.as_str(), &check.url, LOG_READ).await {
                Ok(Some(log)) => check.log = kept(&log),
                Ok(None) => {}
                Err(error) => tracing::warn!(task = task.id.0, %error, "the log of a failed job cannot be read"),
            }
        }
        Ok(())
    }
}

/// The statuses that count, failed ones first. A page on the forge itself has the address that people see.
fn checks(wait: &CiWait, statuses: &[Status], pages: Option<&str>) -> Vec<CiCheck> {
    let patterns = matchers(wait);
    let ours = |context: &str| context == "caisson" || context.starts_with("caisson/");
    let counts =
        |status: &&Status| !ours(&status.context) && patterns.iter().any(|pattern| pattern.is_match(&status.context));
    let mut all: Vec<CiCheck> = statuses.iter().filter(counts).map(|status| check(status, pages)).collect();
    all.sort_by(|a, b| order(a.state).cmp(&order(b.state)).then_with(|| a.context.cmp(&b.context)));
    all.truncate(MOST);
    all
}

fn matchers(wait: &CiWait) -> Vec<GlobMatcher> {
    wait.contexts.iter().filter_map(|text| Glob::new(text).ok()).map(|glob| glob.compile_matcher()).collect()
}

fn order(state: CiState) -> u8 {
    match state {
        CiState::Failed => 0,
        CiState::Pending => 1,
        CiState::Passed => 2,
    }
}

fn check(status: &Status, pages: Option<&str>) -> CiCheck {
    let line = |text: &str, most: usize| {
        let line = one_line(&without(text.to_owned()));
        cut(&line, most).0.to_owned()
    };
    let state = match status.state {
        StatusState::Pending => CiState::Pending,
        StatusState::Success | StatusState::Warning | StatusState::Skipped => CiState::Passed,
        StatusState::Error | StatusState::Failure => CiState::Failed,
    };
    let (context, description) = (line(&status.context, CONTEXT), line(&status.description, DESCRIPTION));
    CiCheck { context, state, description, url: address(&status.target_url, pages), log: String::new() }
}

/// A status's address if a browser could follow it; the forge's own CI names its pages by their path.
fn address(target: &str, pages: Option<&str>) -> String {
    let whole = match (target.strip_prefix('/'), pages) {
        (Some(path), Some(pages)) if !path.starts_with('/') => {
            // The forge may stand below a path, which its own paths begin with.
            let root = url::Url::parse(pages).ok().map(|url| url.origin().ascii_serialization()).unwrap_or_default();
            format!("{root}/{path}")
        }
        _ => target.to_owned(),
    };
    let parsed = url::Url::parse(&without(whole)).ok();
    let parsed = parsed.filter(|url| matches!(url.scheme(), "http" | "https") && url.as_str().len() <= 500);
    parsed.filter(|url| url.username().is_empty() && url.password().is_none()).map(String::from).unwrap_or_default()
}

/// What the checks come to; none while there is something to wait for.
fn outcome(wait: &CiWait, checks: &[CiCheck], elapsed_ms: i64, over: bool) -> Option<CiOutcome> {
    let any = |state: CiState| checks.iter().any(|check| check.state == state);
    let met = |pattern: &GlobMatcher| checks.iter().any(|check| pattern.is_match(&check.context));
    let whole = !any(CiState::Pending) && matchers(wait).iter().all(met);
    match (checks.is_empty(), whole || over) {
        (true, _) if over => Some(CiOutcome::Late),
        (true, _) => (elapsed_ms >= NOTHING_MS).then_some(CiOutcome::Nothing),
        (false, false) => None,
        (false, true) if any(CiState::Failed) => Some(CiOutcome::Failed),
        (false, true) => Some(if whole { CiOutcome::Passed } else { CiOutcome::Late }),
    }
}

/// The end of a job's log without the times that the forge writes before each line, and without credentials.
fn kept(log: &str) -> String {
    let lines: Vec<&str> = log.lines().map(timeless).collect();
    let text = without(lines.join("\n"));
    let mut from = text.len().saturating_sub(LOG_KEPT);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text[from..].to_owned()
}

/// `2025-11-05T10:00:00.0000000Z text`, as Gitea stores a line (`modules/actions/log.go`), without its time.
fn timeless(line: &str) -> &str {
    let time = |word: &str| word.len() >= 20 && word.ends_with('Z') && word.get(10..11) == Some("T");
    match line.split_once(' ') {
        Some((first, rest)) if time(first) => rest,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(context: &str, state: StatusState) -> Status {
        Status {
            context: context.into(),
            state,
            description: "said\nso".into(),
            target_url: "/lab/shop/actions/runs/1/jobs/0".into(),
        }
    }

    fn wait(contexts: &[&str]) -> CiWait {
        CiWait { timeout_min: 60, contexts: contexts.iter().map(|text| (*text).to_owned()).collect() }
    }

    fn judged(wait: &CiWait, statuses: &[Status], minutes: i64) -> Option<CiOutcome> {
        let checks = checks(wait, statuses, None);
        outcome(wait, &checks, minutes * MINUTE_MS, minutes >= i64::from(wait.timeout_min))
    }

    #[test]
    fn it_waits_until_all_have_ended_and_every_pattern_is_met() {
        use StatusState::*;
        let all = wait(&["*"]);
        assert_eq!(judged(&all, &[], 1), None);
        assert_eq!(judged(&all, &[], 2), Some(CiOutcome::Nothing));
        assert_eq!(
            judged(&all, &[status("caisson", Pending), status("caisson/test", Failure)], 2),
            Some(CiOutcome::Nothing)
        );
        assert_eq!(judged(&all, &[status("a", Success), status("b", Pending)], 59), None);
        assert_eq!(judged(&all, &[status("a", Success), status("b", Pending)], 60), Some(CiOutcome::Late));
        assert_eq!(judged(&all, &[status("a", Failure), status("b", Pending)], 5), None, "all failures at once");
        assert_eq!(judged(&all, &[status("a", Error), status("b", Pending)], 60), Some(CiOutcome::Failed));
        assert_eq!(judged(&all, &[status("a", Skipped), status("b", Warning)], 1), Some(CiOutcome::Passed));
        let two = wait(&["build*", "test / *"]);
        assert_eq!(judged(&two, &[status("build", Success), status("lint", Failure)], 5), None);
        assert_eq!(
            judged(&two, &[status("build", Success), status("test / unit (push)", Success)], 5),
            Some(CiOutcome::Passed)
        );
        assert_eq!(judged(&two, &[status("build", Success)], 61), Some(CiOutcome::Late));
    }

    #[test]
    fn failures_come_first_and_every_text_is_one_bounded_line() {
        use StatusState::*;
        let long = Status { context: "z".repeat(900), ..status("", Failure) };
        let told =
            checks(&wait(&["*"]), &[status("a", Success), long, status("b", Pending)], Some("http://forge.test/sub"));
        assert_eq!(
            told.iter().map(|it| it.state).collect::<Vec<_>>(),
            [CiState::Failed, CiState::Pending, CiState::Passed]
        );
        assert!(told[0].context.chars().count() <= CONTEXT && !told[0].description.contains('\n'));
        assert_eq!(told[1].url, "http://forge.test/lab/shop/actions/runs/1/jobs/0");
    }

    #[test]
    fn only_addresses_for_a_browser_are_kept() {
        let kept = |target: &str| address(target, Some("https://forge.test"));
        assert_eq!(kept("https://ci.test/1"), "https://ci.test/1");
        assert_eq!(kept("//evil.test/1"), "");
        assert_eq!(kept("javascript:alert(1)"), "");
        assert_eq!(kept("https://user:word@ci.test/1"), "");
        assert_eq!(kept(""), "");
    }

    #[test]
    fn a_jobs_log_loses_its_times_and_keeps_its_end() {
        let log = "2025-11-05T10:00:00.0000000Z Run tests\n2025-11-05T10:00:01.0000000Z FAIL: test_a\nplain line\n";
        assert_eq!(kept(log), "Run tests\nFAIL: test_a\nplain line");
        let long = kept(&format!("{}é end", "x".repeat(LOG_KEPT)));
        assert!(long.ends_with("é end") && long.len() <= LOG_KEPT);
    }
}
