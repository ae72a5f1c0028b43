//! A command that a person has run on a branch (`/test-pr`, `/test-pr-bug`): run like a verification, answered by one comment, and shown as
//! a commit status. It is not an effect of a task: `bot::test_runs` calls each part, and may repeat it.
//!
//! Posts are found again by their mark; a run is repeated until its result is stored. Tests: `tests/stories/test_runs.rs`.

use super::attachment::{On, attach_once, is_refusal};
use super::checks::apart;
use super::facts::{Through, facts};
use super::images::Choice;
use super::policy::Policy;
use super::posts::{Post, Posts};
use super::repository::Repositories;
use crate::config::process::Repository as Entry;
use crate::forge::{Comment, Forge, NewStatus, RepoRef, StatusState};
use crate::git::Branch;
use crate::message;
use crate::redact;
use crate::sandbox::asserts::may_stand_within;
use crate::sandbox::asserts::within::{parted, with_tests_of};
use crate::sandbox::detect::steers_tests;
use crate::sandbox::kept::is_test;
use crate::sandbox::{self, AskedRun, LaidOver, PrepareSpec, RunOptions, Sandboxes, VerifySpec};
use crate::store::{TestRunRow, sandbox_number};
use crate::trouble::Trouble;
use domain::{Commit, FileFacts, OnBase, TestCounts, TestResult, TestVerdict, Weaker};
use protocol::router::Rule;
use std::sync::Arc;
use std::time::Duration;

/// The most source files that are read for the tests inside of them.
const MOST_READ: usize = 200;
/// The most files with weaker tests that are named.
const MOST_WEAKER: usize = 10;
/// Bytes of an output that are attached where all of it is refused.
const SHORT: usize = 512 << 10;
/// Name of the effect in the marks of answers.
const ANSWER: &str = "test-run";

/// Makes test runs, answers them and sets their status.
pub struct TestRuns {
    pub(super) forge: Arc<dyn Forge>,
    pub(super) sandboxes: Arc<Sandboxes>,
    pub(super) repositories: Arc<Repositories>,
    pub(super) posts: Posts,
    pub(super) settle_ms: u64,
}

/// What the commands of one run have in common.
struct RunInputs {
    spec: VerifySpec,
    kept: Option<String>,
    /// The merge base of the branch and its base branch.
    fork: Option<Commit>,
    /// What the operator lets it reach besides what every sandbox may; empty = no network.
    egress: Vec<Rule>,
    /// All that it can reach with that, in words.
    hosts: Vec<String>,
}

impl TestRuns {
    /// Sets the commit status unless it is the newest already, or a later run has taken it over; it is pending without a result. `at` is the
    /// address of the answer.
    ///
    /// # Errors
    /// Those of the forge.
    pub async fn show(&self, row: &TestRunRow, result: Option<&TestResult>, at: &str) -> Result<(), Trouble> {
        let repository = self.repositories.entry(&*self.configured(row)?)?;
        // Its answer may be tried for hours, and says what came of it.
        if self.repositories.store.is_overtaken(row).await? {
            return Ok(());
        }
        let state = match result.map(TestResult::verdict) {
            None => StatusState::Pending,
            Some(TestVerdict::Passes | TestVerdict::Bug) => StatusState::Success,
            Some(TestVerdict::Fails | TestVerdict::PassesOnBase) => StatusState::Failure,
            Some(TestVerdict::NoTest | TestVerdict::NotLaidOver | TestVerdict::Unclear) => StatusState::Error,
        };
        let context = row.run.context().to_owned();
        let description = message::test_status(row.id, &row.run, result);
        let commit = row.run.commit.as_str();
        let newest = self.forge.statuses(&repository.at, commit).await?;
        if newest.iter().any(|it| it.context == context && it.state == state && it.description == description) {
            return Ok(());
        }
        let new = NewStatus { context, state, description, target_url: at.to_owned() };
        Ok(self.forge.post_status(&repository.at, commit, &new).await?)
    }

    /// Makes the run in sandboxes of its own, and returns its result and its whole output.
    ///
    /// # Errors
    /// When something is unavailable, or [`Trouble::Failed`] with why it cannot be run. A command that fails or hangs is a result.
    pub async fn run(&self, row: &TestRunRow) -> Result<(TestResult, String), Trouble> {
        let inputs = self.inputs(row).await?;
        let asked = |side| RunOptions {
            setup: row.run.setup.as_deref(),
            kept: inputs.kept.as_deref(),
            side,
            egress: &inputs.egress,
        };
        let on_branch = self.sandboxes.runs.run_asked(&inputs.spec, asked("branch")).await;
        let on_branch = self.without_subnet(&inputs.spec, on_branch).await?;
        let mut log = format!("--- on {} at {}\n{}", row.run.branch, row.run.commit, on_branch.log);
        let mut on_base = None;
        if row.run.bug {
            let base = inputs.fork.clone().ok_or_else(|| {
                Trouble::blocked(format!("the branch has no commit in common with {}", row.run.base_branch))
            })?;
            let spec = VerifySpec { commit: base.clone(), base: row.run.commit.clone(), ..inputs.spec.clone() };
            let (laid, within) = self.laid_over(row, &base).await?;
            let ran = self.sandboxes.runs.run_asked_under(&spec, asked("base"), &laid).await;
            let (ran, files) = self.without_subnet(&spec, ran).await?;
            log.push_str(&format!("--- on its base {base}, under the branch's tests\n{}", ran.log));
            let files = u32::try_from(files).unwrap_or(u32::MAX);
            on_base = Some(OnBase { commit: base, files, within, exit: stored(ran) });
        }
        let weaker = self.weaker(row, inputs.fork.as_ref()).await?;
        let result = TestResult::Ran { on_branch: stored(on_branch), on_base, weaker, hosts: inputs.hosts };
        Ok((result, redact::without(log)))
    }

    /// Gives back the subnet that a run may have had, with its container, before the next one gets it.
    async fn without_subnet<T>(&self, spec: &VerifySpec, ran: sandbox::Result<T>) -> Result<T, Trouble> {
        self.sandboxes.of_tasks.remove(spec.task).await?;
        ran.map_err(apart)
    }

    /// What the operator grants to a run: what every task may reach, then the repository's hosts of test runs, without what is denied.
    /// Nothing where there are none of the latter, nor on a fork's head, which people push who may not write here.
    fn granted(&self, row: &TestRunRow, policy: &Policy<'_>) -> Vec<Rule> {
        if row.run.is_of_fork() || !policy.operators.networked() {
            return Vec::new();
        }
        let tests = self.repositories.config.tests_of(&row.repository);
        let open = tests.hosts.iter().filter_map(|host| Rule::parse(host).ok());
        let open = open.filter(|rule| !policy.operators.denies(rule));
        let own: Vec<Rule> = open.map(|rule| rule.because("granted by the operator to test runs")).collect();
        // Without any the run has no network.
        if own.is_empty() {
            return own;
        }
        let mut rules = self.repositories.config.egress.allowed();
        rules.retain(|rule| !policy.operators.denies(rule));
        rules.extend(own);
        rules.extend(policy.operators.refusals.iter().cloned());
        rules
    }

    /// Posts the answer once, and returns its address; if an `earlier` try may have posted it, it is searched for first.
    ///
    /// # Errors
    /// Those of the forge.
    pub async fn answer(&self, row: &TestRunRow, result: &TestResult, earlier: bool) -> Result<String, Trouble> {
        let repository = self.repositories.entry(&*self.configured(row)?)?;
        if earlier {
            tokio::time::sleep(Duration::from_millis(self.settle_ms)).await;
        }
        let post = Post {
            task: sandbox_number(row.id),
            effect: ANSWER,
            ambiguous: earlier,
            tries: row.tries,
            repository: (&row.repository, &repository.at),
            number: row.thread,
        };
        let text = message::tested(row.id, &row.login, &row.run, result);
        let comment = self.posts.comment(&post, &text).await?;
        if matches!(result, TestResult::Ran { .. }) {
            self.attach(row, &repository.at, &comment).await?;
        }
        Ok(comment.html_url)
    }

    /// Attaches all that is kept of the output to the answer; where the forge takes no file, the answer says so.
    async fn attach(&self, row: &TestRunRow, at: &RepoRef, answer: &Comment) -> Result<(), Trouble> {
        let log = self.repositories.store.test_run(row.id).await?.and_then(|(_, log)| log);
        let Some(log) = log.filter(|log| !log.is_empty()) else { return Ok(()) };
        let name = message::test_log_name(row.id);
        let on = On::Comment(answer.id);
        let attached = match attach_once(&*self.forge, at, on, (name.as_str(), log.as_bytes())).await {
            // It may be too large for the forge, or for what stands before it.
            Err(error) if is_refusal(&error) && log.len() > SHORT => {
                let short = ends(&log, SHORT / 2);
                attach_once(&*self.forge, at, on, (name.as_str(), short.as_bytes())).await
            }
            other => other,
        };
        let refusal = match attached {
            Err(error) if is_refusal(&error) => error,
            other => return Ok(other?),
        };
        let sentence = message::test_log_refused(row.id);
        if answer.body.contains(&sentence) {
            return Ok(());
        }
        // The first refusal may have another reason, such as a forge that is being started.
        if row.tries == 0 {
            return Err(Trouble::later(format!("the output of a run cannot be attached: {refusal}")));
        }
        // The mark by which the answer is found again stays its last line.
        let (text, mark) = answer.body.trim_end().rsplit_once('\n').unwrap_or(("", &answer.body));
        Ok(self.forge.edit_comment(at, answer.id, &format!("{}\n\n{sentence}\n\n{mark}", text.trim_end())).await?)
    }

    /// Asks the forge where the repository is now.
    ///
    /// # Errors
    /// Those of the forge.
    pub async fn find_again(&self, row: &TestRunRow) -> Result<(), Trouble> {
        self.repositories.addresses.look(&*self.configured(row)?).await?;
        Ok(())
    }

    fn configured(&self, row: &TestRunRow) -> Result<Arc<Entry>, Trouble> {
        self.repositories
            .config
            .repository(&row.repository)
            .ok_or_else(|| Trouble::blocked(format!("the repository {} is not configured any more", row.repository)))
    }

    /// Fetches the commits and runs the project's setup: image, setup and limits are those of a task that would begin now.
    async fn inputs(&self, row: &TestRunRow) -> Result<RunInputs, Trouble> {
        let entry = self.configured(row)?;
        let repository = self.repositories.entry(&entry)?;
        let Repositories { repos, auth, .. } = &*self.repositories;
        let (key, commit) = (repository.key.clone(), row.run.commit.clone());
        repos.fetch(&key, &repository.url, Some(auth)).await?;
        let task = sandbox_number(row.id).0;
        // Kept under the run's number, which is no task's, so that a tidying lets go of what others pushed once the run is answered.
        match repos.has(&key, &commit).await? {
            // Perhaps only because another run keeps it.
            true => repos.keep_brought(&key, task, &commit).await?,
            // A fork's, or the branch has moved on and no other one contains it.
            false => repos.fetch_for(&key, &repository.url, Some(auth), task, &commit).await?,
        }
        let trunk = repos.resolve(&key, &Branch::parse(&entry.default_branch)?).await?;
        let target = repos.resolve(&key, &Branch::parse(&row.run.base_branch)?).await?;
        let fork = repos.merge_base(&key, &target, &commit).await?;
        let policy = self.repositories.policy_of(repository, &trunk).await?;
        let choice = Choice { sandboxes: &self.sandboxes, repos, sandbox: policy.operators.sandbox, files: None };
        let image = choice.of(&key, &trunk, &policy.effective.image, Some(row.run.command.as_str())).await?.image;
        let setup = PrepareSpec {
            task,
            attempt: 1,
            repo_key: key.clone(),
            base: trunk.clone(),
            trunk: Some(trunk.clone()),
            image: image.clone(),
            limits: policy.operators.sandbox.limits(),
            network: policy.operators.networked(),
            egress: policy.for_router(),
            setup: Some(policy.setup(&trunk)),
            anew: None,
            merge: None,
            afresh: false,
        };
        // What an earlier try left must not share the setup's subnet.
        self.sandboxes.of_tasks.remove(task).await?;
        let kept = self.sandboxes.runs.set_up(&setup).await;
        // Removes the record of the setup's sandbox, which no longer exists.
        self.sandboxes.of_tasks.remove(task).await?;
        let spec = VerifySpec {
            task,
            commit,
            base: trunk,
            tries: u32::try_from(row.tries).unwrap_or(u32::MAX),
            repo_key: key,
            image,
            command: Some(row.run.command.clone()),
            toolchain: None,
            limits: policy.operators.sandbox.limits(),
            wall_ms: policy.operators.sandbox.verify_wall_s * 1000,
            tests_may_move: false,
        };
        let egress = self.granted(row, &policy);
        let hosts = reached(&egress);
        Ok(RunInputs { spec, kept: kept.map_err(apart)?, fork, egress, hosts })
    }

    /// Removes what an interrupted run left on this host.
    pub(crate) async fn leave(&self, row: &TestRunRow) {
        if let Err(error) = self.sandboxes.of_tasks.remove(sandbox_number(row.id).0).await {
            tracing::warn!(%error, run = row.id, "the sandbox of a test run could not be removed; the next sweep tries again");
        }
    }

    /// Files whose tests test less than at the merge base, counted as for a review, or could not be counted.
    async fn weaker(&self, row: &TestRunRow, fork: Option<&Commit>) -> Result<Vec<Weaker>, Trouble> {
        let Some(fork) = fork else { return Ok(Vec::new()) };
        let (repos, key, commit) = (&self.repositories.repos, &row.repository, &row.run.commit);
        let less = |file: FileFacts| {
            let tests = file.tests.filter(TestCounts::weaker)?;
            let (before, after) = match tests {
                TestCounts::Counted { before, after } => (before.assertions, after.assertions),
                TestCounts::Uncounted => (0, 0),
            };
            Some(Weaker { path: file.path, before, after, counts: Some(tests) })
        };
        let changes = repos.changes(key, fork, commit).await?;
        let facts = facts(repos, key, (fork, commit), &changes, &Through::new()).await?;
        let mut found: Vec<Weaker> = facts.into_iter().filter_map(less).collect();
        // What was counted comes first: large files of data cannot be.
        found.sort_by_key(|one| one.counts == Some(TestCounts::Uncounted));
        found.truncate(MOST_WEAKER);
        Ok(found)
    }

    /// Source files of the base with the branch's tests in place of their own, where other tests stand inside of them there. None of them
    /// where one's place in the base's file is not known, or one cannot be read; then how many have other tests.
    async fn laid_over(&self, row: &TestRunRow, base: &Commit) -> Result<(Vec<LaidOver>, u32), Trouble> {
        let (repos, key, commit) = (&self.repositories.repos, &row.repository, &row.run.commit);
        let (mut laid, mut left, mut read) = (Vec::new(), 0, 0);
        for change in repos.changes(key, base, commit).await? {
            let path = String::from_utf8_lossy(&change.path).into_owned();
            if change.deleted() || is_test(&path) || steers_tests(&path) || !may_stand_within(&path) {
                continue;
            }
            read += 1;
            if read > MOST_READ {
                return Ok((Vec::new(), left + 1));
            }
            let before = self.repositories.source(key, base, (&path, &change.old_mode)).await?;
            let after = self.repositories.source(key, commit, (&path, &change.new_mode)).await?;
            let is_there = change.old_mode.starts_with("100");
            match composed(before, after).await? {
                Composed::Same => {}
                Composed::Text(text) if is_there => laid.push(LaidOver { path, mode: change.old_mode.clone(), text }),
                Composed::Text(_) | Composed::Unknown => left += 1,
            }
        }
        // A part of them may not build without the others, which would be no bug that is shown.
        match left {
            0 => Ok((laid, 0)),
            left => Ok((Vec::new(), left + u32::try_from(laid.len()).unwrap_or(u32::MAX))),
        }
    }
}

/// So many bytes, or a few less, of beginning and end of a text that is longer than both.
fn ends(text: &str, each: usize) -> String {
    let (from, to) = (text.floor_char_boundary(each), text.ceil_char_boundary(text.len().saturating_sub(each)));
    format!("{}\n[... {} bytes left out ...]\n{}", &text[..from], to.saturating_sub(from), &text[to..])
}

/// What comes of two versions of a file.
enum Composed {
    /// Both have the same tests.
    Same,
    /// The first one with the second one's tests.
    Text(String),
    /// One cannot be read, or the place of its tests in the other is not known.
    Unknown,
}

/// On a thread that may be busy.
async fn composed(before: Option<Vec<u8>>, after: Option<Vec<u8>>) -> Result<Composed, Trouble> {
    let text = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let Some((before, after)) = text(before).zip(text(after)) else { return Ok(Composed::Unknown) };
    let compose = move || match parted(&before).tests == parted(&after).tests {
        true => Composed::Same,
        false => with_tests_of(&before, &after).map_or(Composed::Unknown, Composed::Text),
    };
    let composing = tokio::task::spawn_blocking(compose).await;
    composing.map_err(|error| Trouble::later(format!("a file could not be parted: {error}")))
}

/// All that a run with these rules can reach, in words.
fn reached(egress: &[Rule]) -> Vec<String> {
    let mut all: Vec<String> = egress.iter().filter(|rule| !rule.is_refusal()).map(Rule::to_string).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Removes secrets before the result is stored.
fn stored(ran: AskedRun) -> domain::TestExit {
    domain::TestExit { tail: redact::without(ran.exit.tail), ..ran.exit }
}

#[cfg(test)]
mod tests {
    use super::ends;

    #[test]
    fn beginning_and_end_are_kept_and_the_rest_is_counted() {
        assert_eq!(ends("abcdefgh", 2), "ab\n[... 4 bytes left out ...]\ngh");
        assert_eq!(ends("äbcdö", 1), "\n[... 7 bytes left out ...]\n");
    }
}
