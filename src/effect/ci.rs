//! Reads what the forge's CI says of a commit: its statuses, and for failures the forge's own logs of their jobs; decides nothing of a task. Tests: below, `tests/stories/ci_status.rs`.

use super::repository::{Repositories, base};
use crate::checkpoint::label;
use crate::forge::{Forge, RepoRef, Status, StatusState};
use crate::redact::without;
use crate::text::{cut, one_line};
use crate::trouble::Trouble;
use domain::{CiAwaited, CiCheck, CiOutcome, CiState, CiWait, Commit, Task};
use globset::{Glob, GlobMatcher};
use std::collections::BTreeSet;
use std::sync::Arc;

/// After so long (milliseconds) without any status that counts, and where none is named, there is none; before, patterns that any status may meet end no wait.
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

/// What one look came to.
pub enum Look {
    /// Something has not ended, or has not been reported yet.
    GoesOn,
    /// All that is there passed. Checks are reported one by one, and a first one that is quick is not all of them, so a later look has to see
    /// the same ones.
    Passing(CommitContexts),
    /// The wait is over.
    Ended(CiOutcome, Kept),
}

/// The contexts that a look saw at a commit.
#[derive(Clone, PartialEq, Eq)]
pub struct CommitContexts {
    commit: Commit,
    contexts: BTreeSet<String>,
}

impl CommitContexts {
    fn of(commit: &Commit, counting: &[&Status]) -> Self {
        let contexts = counting.iter().map(|status| status.context.clone()).collect();
        Self { commit: commit.clone(), contexts }
    }
}

/// The checks that are stored, failed ones first, and how many more there are.
#[derive(Default)]
pub struct Kept {
    pub checks: Vec<CiCheck>,
    pub more: u32,
}

impl Kept {
    /// With those that never reported, behind the failed ones.
    fn with(mut self, missing: Vec<CiCheck>) -> Self {
        self.checks.extend(missing);
        self.checks.sort_by_key(|check| order(check.state));
        let cut = self.checks.len().saturating_sub(MOST);
        self.checks.truncate(MOST);
        self.more = self.more.saturating_add(u32::try_from(cut).unwrap_or(u32::MAX));
        self
    }
}

/// Reads commit statuses that are not the bot's own.
pub struct CiReader {
    pub(super) forge: Arc<dyn Forge>,
    pub(super) repositories: Arc<Repositories>,
}

impl CiReader {
    /// What the wait comes to, by one look after so many milliseconds and by what the look before it saw.
    ///
    /// # Errors
    /// When the forge cannot be read. Once the time is over that is no error, and nothing is known.
    pub async fn look(
        &self,
        task: &Task,
        awaited: &CiAwaited,
        elapsed_ms: i64,
        before: Option<&CommitContexts>,
    ) -> Result<Look, Trouble> {
        let over = is_over(&awaited.wait, elapsed_ms);
        let statuses = match self.read(task, awaited).await {
            Ok(statuses) => statuses,
            Err(trouble) if over => {
                tracing::warn!(task = task.id.0, %trouble, "the statuses of finished work cannot be read, and the time is over");
                return Ok(Look::Ended(CiOutcome::Unread, Kept::default()));
            }
            Err(trouble @ Trouble::Moved { .. }) => {
                self.repositories.find_again(task).await?;
                return Err(trouble);
            }
            Err(trouble) => return Err(trouble),
        };
        let counting = counting(&awaited.wait, &statuses);
        let outcome = match settled(awaited, &counting, elapsed_ms, before) {
            Ok(outcome) => outcome,
            Err(look) => return Ok(look),
        };
        let missing = missing(&awaited.wait, &counting);
        let mut kept = kept_of(counting, self.pages().as_deref()).with(missing);
        if outcome == CiOutcome::Failed {
            self.with_logs(task, awaited, &mut kept.checks).await?;
        }
        Ok(Look::Ended(outcome, kept))
    }

    async fn read(&self, task: &Task, awaited: &CiAwaited) -> Result<Vec<Status>, Trouble> {
        let at = self.repositories.of(task)?.at;
        Ok(self.forge.few_statuses(&at, awaited.commit.as_str()).await?)
    }

    /// What is known of the newest pushed commit of a task whose repository has a CI that is waited for; empty where nothing is.
    pub(super) async fn known(&self, task: &Task) -> Result<Vec<CiCheck>, Trouble> {
        let Some(commit) = task.pushed.as_ref().filter(|_| !task.kind.reads_only()) else { return Ok(Vec::new()) };
        let policy = self.repositories.policy(task, &base(task)?).await?;
        let Some(wait) = policy.effective.ci else { return Ok(Vec::new()) };
        let statuses = self.forge.few_statuses(&policy.repository.at, commit.as_str()).await?;
        Ok(kept_of(counting(&wait, &statuses), self.pages().as_deref()).checks)
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

/// The statuses that count, whole: what is shortened for the log meets no pattern.
fn counting<'a>(wait: &CiWait, statuses: &'a [Status]) -> Vec<&'a Status> {
    let patterns = matchers(wait);
    let ours = |context: &str| {
        let rest = context.strip_prefix(label::STATUS_CONTEXT);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let counts =
        |status: &&Status| !ours(&status.context) && patterns.iter().any(|pattern| pattern.is_match(&status.context));
    statuses.iter().filter(counts).collect()
}

/// What is stored of them. A page on the forge itself has the address that people see.
fn kept_of(mut counting: Vec<&Status>, pages: Option<&str>) -> Kept {
    counting.sort_by(|a, b| order(state(a)).cmp(&order(state(b))).then_with(|| a.context.cmp(&b.context)));
    let more = u32::try_from(counting.len().saturating_sub(MOST)).unwrap_or(u32::MAX);
    Kept { checks: counting.into_iter().take(MOST).map(|status| check(status, pages)).collect(), more }
}

fn matchers(wait: &CiWait) -> Vec<GlobMatcher> {
    wait.contexts.iter().filter_map(|text| Glob::new(text).ok()).map(|glob| glob.compile_matcher()).collect()
}

/// Whether statuses may still be missing that nobody named: a pattern says how they are called, not how many there are.
fn too_early(wait: &CiWait, elapsed_ms: i64) -> bool {
    // Negative after our clock was set back: the wait has begun some time ago.
    (0..NOTHING_MS).contains(&elapsed_ms) && wait.contexts.iter().any(|pattern| !is_name(pattern))
}

/// Whether a pattern names one check, which is then known to come.
fn is_name(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '[', '{'])
}

/// The checks that are waited for by their names and have no status.
fn missing(wait: &CiWait, counting: &[&Status]) -> Vec<CiCheck> {
    let reported = |name: &String| {
        let matcher = Glob::new(name).map(|glob| glob.compile_matcher());
        matcher.is_ok_and(|matcher| counting.iter().any(|status| matcher.is_match(&status.context)))
    };
    let names = wait.contexts.iter().filter(|name| is_name(name) && !reported(name));
    let check = |name: &String| CiCheck {
        context: cut(&one_line(name), CONTEXT).0.to_owned(),
        state: CiState::Missing,
        description: String::new(),
        url: String::new(),
        log: String::new(),
    };
    names.map(check).collect()
}

fn state(status: &Status) -> CiState {
    match status.state {
        StatusState::Pending => CiState::Pending,
        StatusState::Success | StatusState::Warning | StatusState::Skipped => CiState::Passed,
        StatusState::Error | StatusState::Failure => CiState::Failed,
    }
}

fn order(state: CiState) -> u8 {
    match state {
        CiState::Failed => 0,
        CiState::Missing => 1,
        CiState::Pending => 2,
        CiState::Passed => 3,
    }
}

fn check(status: &Status, pages: Option<&str>) -> CiCheck {
    let line = |text: &str, most: usize| {
        let line = one_line(&without(text.to_owned()));
        cut(&line, most).0.to_owned()
    };
    let state = state(status);
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

fn is_over(wait: &CiWait, elapsed_ms: i64) -> bool {
    elapsed_ms >= i64::from(wait.timeout_min).saturating_mul(MINUTE_MS)
}

/// How the wait ends, or the look after which it goes on. Only a success has to be seen twice: a failure stays one, whatever comes.
fn settled(
    awaited: &CiAwaited,
    counting: &[&Status],
    elapsed_ms: i64,
    before: Option<&CommitContexts>,
) -> Result<CiOutcome, Look> {
    let over = is_over(&awaited.wait, elapsed_ms);
    let Some(outcome) = outcome(&awaited.wait, counting, elapsed_ms, over) else { return Err(Look::GoesOn) };
    if outcome == CiOutcome::Passed && !over {
        let seen = CommitContexts::of(&awaited.commit, counting);
        if before != Some(&seen) || too_early(&awaited.wait, elapsed_ms) {
            return Err(Look::Passing(seen));
        }
    }
    Ok(outcome)
}

/// What the statuses that count come to by themselves; none while there is something to wait for.
fn outcome(wait: &CiWait, counting: &[&Status], elapsed_ms: i64, over: bool) -> Option<CiOutcome> {
    let any = |wanted: CiState| counting.iter().any(|status| state(status) == wanted);
    let met = |pattern: &GlobMatcher| counting.iter().any(|status| pattern.is_match(&status.context));
    let whole = !any(CiState::Pending) && matchers(wait).iter().all(met);
    match (counting.is_empty(), whole || over) {
        // What is named is known to come, however long that takes.
        (true, _) => {
            let none = elapsed_ms >= NOTHING_MS && !wait.contexts.iter().any(|pattern| is_name(pattern));
            (over || none).then_some(CiOutcome::Nothing)
        }
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
        outcome(wait, &counting(wait, statuses), minutes * MINUTE_MS, is_over(wait, minutes * MINUTE_MS))
    }

    fn awaited(contexts: &[&str]) -> CiAwaited {
        let commit = Commit::parse(&"a".repeat(40)).expect("a commit");
        CiAwaited { n: 1, commit, at: 0, wait: wait(contexts) }
    }

    /// How looks at these seconds end, each with its statuses and what the one before it saw.
    fn looks(awaited: &CiAwaited, all: &[(i64, &[Status])]) -> Vec<Option<CiOutcome>> {
        let mut before = None;
        let mut ends = Vec::new();
        for (seconds, statuses) in all {
            let end = settled(awaited, &counting(&awaited.wait, statuses), seconds * 1000, before.as_ref());
            before = match &end {
                Err(Look::Passing(seen)) => Some(seen.clone()),
                Ok(_) | Err(_) => None,
            };
            ends.push(end.ok());
        }
        ends
    }

    #[test]
    fn a_success_is_seen_twice_and_a_pattern_that_any_may_meet_takes_two_minutes() {
        use StatusState::*;
        let cla: &[Status] = &[status("cla", Success)];
        let both: &[Status] = &[status("cla", Success), status("jenkins", Pending)];
        let failed: &[Status] = &[status("cla", Success), status("jenkins", Failure)];
        let passed: &[Status] = &[status("cla", Success), status("jenkins", Success)];
        let any = awaited(&["*"]);
        let end = looks(&any, &[(0, cla), (30, cla), (90, cla), (110, both), (180, both), (300, failed)]);
        assert_eq!(end, [None, None, None, None, None, Some(CiOutcome::Failed)]);
        let end = looks(&any, &[(110, cla), (130, passed), (160, passed)]);
        assert_eq!(end, [None, None, Some(CiOutcome::Passed)], "another set of checks begins anew");
        let end = looks(&any, &[(130, cla), (140, both), (150, cla), (160, cla)]);
        assert_eq!(end, [None, None, None, Some(CiOutcome::Passed)]);
        let end = looks(&awaited(&["cla"]), &[(5, both), (10, both)]);
        assert_eq!(end, [None, Some(CiOutcome::Passed)], "what is named is all that counts");
        assert_eq!(looks(&any, &[(3600, cla)]), [Some(CiOutcome::Passed)], "the time is over");
        let end = looks(&any, &[(-7200, cla), (-7170, cla)]);
        assert_eq!(end, [None, Some(CiOutcome::Passed)], "our clock was set back meanwhile");
        let seen = CommitContexts::of(&any.commit, &counting(&any.wait, cla));
        let later = CiAwaited { commit: Commit::parse(&"b".repeat(40)).expect("a commit"), ..any };
        assert!(settled(&later, &counting(&later.wait, cla), 130_000, Some(&seen)).is_err(), "seen at another commit");
    }

    #[test]
    fn patterns_are_asked_of_every_status_however_many_are_stored() {
        use StatusState::*;
        let mut all: Vec<Status> = (0..55).map(|n| status(&format!("build-{n:02}"), Success)).collect();
        all.push(status("test", Success));
        all.push(status(&format!("test{}-end", "x".repeat(CONTEXT)), Success));
        let two = wait(&["build*", "test", "test*-end"]);
        assert_eq!(judged(&two, &all, 5), Some(CiOutcome::Passed));
        all.push(status("test-z", Failure));
        let kept = kept_of(counting(&wait(&["*"]), &all), None);
        assert_eq!((kept.checks.len(), kept.more), (MOST, 8));
        assert_eq!(kept.checks[0].state, CiState::Failed);
    }

    #[test]
    fn a_forge_without_a_status_has_none_however_short_the_wait() {
        let short = CiWait { timeout_min: 1, ..wait(&["*"]) };
        assert_eq!(judged(&short, &[], 0), None);
        assert_eq!(judged(&short, &[], 1), Some(CiOutcome::Nothing));
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
    fn what_is_named_is_waited_for_to_the_end_and_said_to_be_missing() {
        use StatusState::*;
        let named = wait(&["build", "lint", "test / *"]);
        assert_eq!(judged(&named, &[], 59), None, "it may be slow to begin");
        assert_eq!(judged(&named, &[], 60), Some(CiOutcome::Nothing));
        let some = [status("lint", Success), status("test / a", Success)];
        assert_eq!(judged(&named, &some, 59), None);
        assert_eq!(judged(&named, &some, 60), Some(CiOutcome::Late));
        let counted = counting(&named, &some);
        let kept = kept_of(counted.clone(), None).with(missing(&named, &counted));
        let kept: Vec<_> = kept.checks.iter().map(|it| (it.context.as_str(), it.state)).collect();
        let passed = CiState::Passed;
        assert_eq!(kept, [("build", CiState::Missing), ("lint", passed), ("test / a", passed)]);
        let full: Vec<Status> = (0..MOST).map(|n| status(&n.to_string(), Success)).collect();
        let any = wait(&["*", "build"]);
        let kept = kept_of(counting(&any, &full), None).with(missing(&any, &counting(&any, &full)));
        assert_eq!((kept.checks.len(), kept.more, kept.checks[0].state), (MOST, 1, CiState::Missing));
    }

    #[test]
    fn failures_come_first_and_every_text_is_one_bounded_line() {
        use StatusState::*;
        let long = Status { context: "z".repeat(900), ..status("", Failure) };
        let told = kept_of(
            counting(&wait(&["*"]), &[status("a", Success), long, status("b", Pending)]),
            Some("http://forge.test/sub"),
        )
        .checks;
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
