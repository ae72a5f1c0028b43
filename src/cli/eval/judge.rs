//! Judges a commit: hidden tests, the base's tests and the suite, each in a fresh verification sandbox.
//!
//! Owns a broker and sandboxes of its own, beside those of the bot under test, and the repositories of the tasks: hidden tests and
//! reference solutions exist only there. Defines *solved*. Everything in the engine is removed when it is dropped. Tests: below (the
//! verdict), `tests/eval.rs` (the runs).

use super::tasks::{TaskDir, files};
use crate::cli::broker_child::TemporaryBroker;
use crate::cli::printer::{Complaint, Printer};
use crate::config::Process;
use crate::config::project::{Granted, Pick};
use crate::effect::{FromFiles, read_toolchain};
use crate::git::{Auth, Branch, PlainFile, RemoteUrl, Repos};
use crate::sandbox::{Ran, Sandboxes, Settings, VerifySpec};
use anyhow::{Context, Result};
use domain::Commit;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The most characters kept of a failed run's output, as the reason.
const REASON: usize = 300;

pub struct Judge {
    config: Process,
    temporary: TemporaryBroker,
    sandboxes: Sandboxes,
    repos: Repos,
    dir: PathBuf,
    runs: AtomicU32,
}

/// A task's base, ready to be put on a forge.
pub struct Planted {
    pub key: String,
    pub base: Commit,
    pub image: String,
    /// The suite's run on the base, with which a candidate's is compared.
    pub suite: Ran,
    pub hidden: Ran,
}

/// The judgement of one commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judged {
    pub hidden: bool,
    pub suite: bool,
    pub base_tests: bool,
    /// Why it is not solved; empty if it is.
    pub why: String,
}

impl Judged {
    pub fn solved(&self) -> bool {
        self.hidden && self.suite && self.base_tests
    }
}

impl Judge {
    /// `config` is the operator's, with another installation name.
    pub async fn start(config: Process, dir: &Path) -> Result<Judge> {
        let temporary = TemporaryBroker::start(&config).await?;
        let repos = Repos::new(dir.join("begin"));
        let mut settings = Settings::new(dir.join("judge"), &config.sandbox.image);
        settings.profile = config.sandbox.hardening.word().to_owned();
        let sandboxes = Sandboxes::new(temporary.broker.clone(), None, repos.clone(), settings, 1)?;
        Ok(Judge { config, temporary, sandboxes, repos, dir: dir.join("begin"), runs: AtomicU32::new(0) })
    }

    /// Path of a task's repository, for `caisson repo add`.
    pub fn place(&self, key: &str) -> PathBuf {
        self.dir.join(format!("{key}.git"))
    }

    /// Makes the base and runs hidden tests and suite on it.
    ///
    /// # Errors
    /// When the base cannot be made, or hidden tests pass on it, because they would accept any answer.
    pub async fn plant(&self, key: &str, task: &TaskDir) -> Result<Planted> {
        let plain = files(&task.repository)?;
        let mut base = self.repos.commit_files(key, None, &plain, &branch("main")?, "The project").await?;
        if let Some(patch) = &task.base_patch {
            let patched = self.repos.commit_patch(key, &base, patch.clone(), &branch("main")?, "Work goes on").await;
            base = patched.context("base.patch does not fit")?;
        }
        let image = self.image(key, &base).await?;
        let begun = Begun { key, base: &base, image: &image };
        let (hidden, suite) =
            tokio::try_join!(self.hidden(&begun, task, &base), self.run(&begun, &base, task.suite(), "suite"))?;
        if hidden.passed() {
            anyhow::bail!("its hidden tests pass on the base: they would find every answer right");
        }
        Ok(Planted { key: key.to_owned(), base, image, suite, hidden })
    }

    /// Fetches the agent's branch and judges its last commit.
    pub async fn judge(&self, planted: &Planted, task: &TaskDir, from: &From<'_>, commit: &Commit) -> Result<Judged> {
        self.repos
            .fetch(&planted.key, from.url, Some(from.auth))
            .await
            .context("the agent's branch cannot be fetched")?;
        self.judge_commit(planted, task, commit).await
    }

    /// Judges the task's own reference solution.
    pub async fn judge_reference(&self, planted: &Planted, task: &TaskDir) -> Result<Judged> {
        let patch = task.reference.clone().context("it has no reference.patch")?;
        let made =
            self.repos.commit_patch(&planted.key, &planted.base, patch, &branch("reference")?, "Reference").await;
        self.judge_commit(planted, task, &made.context("reference.patch does not fit the base")?).await
    }

    /// Makes a commit on the base from a patch in git's format.
    ///
    /// # Errors
    /// With git's message when the patch does not apply.
    pub async fn patched(&self, planted: &Planted, patch: Vec<u8>) -> Result<Commit> {
        Ok(self.repos.commit_patch(&planted.key, &planted.base, patch, &self.answer()?, "OfferedAnswer").await?)
    }

    /// Makes a commit on the base from a whole tree; files that it lacks are deleted.
    pub async fn replaced(&self, planted: &Planted, tree: &[PlainFile]) -> Result<Commit> {
        Ok(self.repos.commit_tree(&planted.key, &planted.base, tree, &self.answer()?, "OfferedAnswer").await?)
    }

    fn answer(&self) -> Result<Branch> {
        branch(&format!("answer-{}", self.runs.fetch_add(1, Ordering::Relaxed)))
    }

    pub async fn judge_commit(&self, planted: &Planted, task: &TaskDir, commit: &Commit) -> Result<Judged> {
        let begun = Begun { key: &planted.key, base: &planted.base, image: &planted.image };
        let (hidden, suite) =
            tokio::try_join!(self.hidden(&begun, task, commit), self.run(&begun, commit, task.suite(), "suite"))?;
        let spec = self.spec(&begun, commit, task.suite());
        let base_tests = self.sandboxes.runs.run_with_base_tests(&spec).await?;
        Ok(verdict(planted, task, &hidden, &suite, base_tests.as_ref()))
    }

    /// Runs the hidden tests, put over a commit.
    async fn hidden(&self, begun: &Begun<'_>, task: &TaskDir, commit: &Commit) -> Result<Ran> {
        let name = branch(&format!("judged-{}", self.runs.fetch_add(1, Ordering::Relaxed)))?;
        let laid = self.repos.commit_files(begun.key, Some(commit), &task.hidden, &name, "Judged").await?;
        self.run(begun, &laid, task.spec.hidden.clone(), "hidden").await
    }

    async fn run(&self, begun: &Begun<'_>, commit: &Commit, command: String, side: &str) -> Result<Ran> {
        Ok(self.sandboxes.runs.run_on(&self.spec(begun, commit, command), side).await?)
    }

    fn spec(&self, begun: &Begun<'_>, commit: &Commit, command: String) -> VerifySpec {
        VerifySpec {
            task: 1,
            commit: commit.clone(),
            base: begun.base.clone(),
            tries: self.runs.fetch_add(1, Ordering::Relaxed),
            repo_key: begun.key.to_owned(),
            image: begun.image.to_owned(),
            command: Some(command),
            toolchain: None,
            limits: self.config.sandbox.limits(),
            wall_ms: self.config.sandbox.verify_wall_s * 1000,
            tests_may_move: false,
        }
    }

    /// The image that the bot would use for this base.
    async fn image(&self, key: &str, base: &Commit) -> Result<String> {
        let project = self.repos.project_file(key, base).await?.project?;
        let (sandbox, test) = (&self.config.sandbox, project.test.as_deref());
        let candidates = match project.pick(&Granted::of(&self.config, key)) {
            Pick::Refused(why) => anyhow::bail!(why),
            Pick::Asked { image, .. } => vec![image],
            Pick::Open => match read_toolchain(&self.repos, key, base, sandbox, test).await? {
                FromFiles::Nothing => vec![self.config.sandbox.image.clone()],
                FromFiles::Image { image, .. } => vec![image],
                FromFiles::Toolchain { images, .. } => images.into_iter().map(|(_, image)| image).collect(),
            },
        };
        for image in &candidates {
            if self.sandboxes.image(image).await?.is_some() {
                return Ok(image.clone());
            }
        }
        let hint = "build it with caisson image build <toolchain>";
        Err(Complaint::new(format!("the engine has no image {}", candidates.join(" or "))).hint(hint).into())
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        if let Err(error) = self.temporary.tear_down(&self.config) {
            Printer::terminal().warn(&format!("{error:#}\n`make clean-docker` tries again"));
        }
    }
}

/// Parameters that all runs of one task share.
struct Begun<'a> {
    key: &'a str,
    base: &'a Commit,
    image: &'a str,
}

/// The location of the agent's branch.
pub struct From<'a> {
    pub url: &'a RemoteUrl,
    pub auth: &'a Auth,
}

fn branch(name: &str) -> Result<Branch> {
    Ok(Branch::parse(name)?)
}

/// Judges the three runs; the first failure is the reason.
fn verdict(planted: &Planted, task: &TaskDir, hidden: &Ran, suite: &Ran, base_tests: Option<&Ran>) -> Judged {
    let hidden_why = green(hidden, planted.hidden.tests);
    // An answer may rename or join tests, so only one must have run; the base's own are judged below.
    let suite_why = green(suite, planted.suite.tests.map(|count| count.min(1)));
    let skip = &task.spec.skip_base;
    let base_why = match base_tests {
        None => None,
        Some(ran) if skip.is_empty() => green(ran, planted.suite.tests),
        Some(ran) => green_but(ran, skip),
    };
    let named = [("hidden tests", &hidden_why), ("suite", &suite_why), ("the base's tests", &base_why)];
    let why = named.iter().find_map(|(what, why)| why.as_ref().map(|why| format!("{what}: {why}")));
    Judged {
        hidden: hidden_why.is_none(),
        suite: suite_why.is_none(),
        base_tests: base_why.is_none(),
        why: why.unwrap_or_default(),
    }
}

/// Why a run does not pass. If `as_many_as` is given, at least that many tests must have run, because the code under review can end a test
/// program early with exit code 0 and without a test.
fn green(ran: &Ran, as_many_as: Option<u64>) -> Option<String> {
    if !ran.passed() {
        return Some(ended(ran));
    }
    match (as_many_as, ran.tests) {
        (None, Some(0)) => Some("no test ran".to_owned()),
        (None, _) => None,
        (Some(wanted), Some(count)) if count >= wanted => None,
        (Some(wanted), count) => Some(format!("{} tests ran, on the base {wanted}", count.unwrap_or(0))),
    }
}

/// As [`green`], ignoring failures that the reference has too.
fn green_but(ran: &Ran, skip: &[String]) -> Option<String> {
    if ran.passed() {
        return None;
    }
    let others: Vec<&str> = ran.failed.iter().filter(|test| !skip.contains(test)).map(String::as_str).collect();
    match (ran.exit_code, ran.failed.is_empty(), others.is_empty()) {
        (Some(_), false, true) => None,
        (Some(_), false, false) => Some(format!("failed: {}", crate::text::cut(&others.join(", "), REASON).0)),
        _ => Some(ended(ran)),
    }
}

fn ended(ran: &Ran) -> String {
    let lines: Vec<&str> =
        ran.tail.lines().map(str::trim).filter(|line| line.contains(char::is_alphanumeric)).collect();
    let last = lines[lines.len().saturating_sub(3)..].join("; ");
    let code = ran.exit_code.map_or_else(|| "did not end".to_owned(), |code| format!("exit {code}"));
    format!("{code}: {}", crate::text::cut(&last, REASON).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(exit_code: Option<i32>, tests: Option<u64>, failed: &[&str]) -> Ran {
        let failed = failed.iter().map(|&test| test.to_owned()).collect();
        Ran { exit_code, tests, failed, tail: "the end".to_owned(), duration_ms: 1 }
    }

    #[test]
    fn green_without_tests_is_not_green() {
        assert_eq!(green(&ran(Some(0), Some(3), &[]), Some(3)), None);
        assert_eq!(green(&ran(Some(0), None, &[]), None), None, "a program whose report nobody can read");
        assert!(green(&ran(Some(0), None, &[]), Some(1)).is_some(), "it ended before a test ran");
        assert!(green(&ran(Some(0), Some(0), &[]), Some(1)).is_some());
        assert!(green(&ran(Some(0), Some(0), &[]), None).is_some(), "the base did not even begin them");
        assert!(green(&ran(Some(1), Some(3), &[]), Some(3)).expect("red").contains("exit 1"));
        assert!(green(&ran(None, None, &[]), None).expect("red").contains("did not end"));
    }

    #[test]
    fn only_what_the_reference_changes_may_fail() {
        let skip = vec!["t.T.test_old".to_owned()];
        assert_eq!(green_but(&ran(Some(1), Some(2), &["t.T.test_old"]), &skip), None);
        let other = green_but(&ran(Some(1), Some(2), &["t.T.test_old", "t.T.test_b"]), &skip).expect("red");
        assert_eq!(other, "failed: t.T.test_b");
        assert!(green_but(&ran(Some(1), None, &[]), &skip).is_some(), "nobody says what failed");
        assert!(green_but(&ran(None, None, &["t.T.test_old"]), &skip).is_some(), "it never ended");
    }
}
