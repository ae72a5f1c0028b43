//! `/test-pr` and `/test-pr-bug`: what is run is fixed when the text is taken up, and stands in line from then on; or why nothing is run is
//! answered. Who: somebody with write access to the code, looked at by the caller. Tests: `tests/stories/test_runs.rs`.

use super::Threads;
use crate::clock::now;
use crate::config::process::Repository;
use crate::forge::{ForgeError, PullRequest, RepoRef};
use crate::message::{NotTested, not_tested};
use crate::store::{NewTestRun, TakenUp};
use crate::trouble::Trouble;
use domain::{Commit, TestRun, Verb};

/// Milliseconds of a minute.
const MINUTE_MS: i64 = 60_000;

impl Threads {
    /// Takes up what `login` asks for on this issue or pull request; `key` is the text's.
    pub async fn test(
        &self,
        entry: &Repository,
        number: u64,
        key: &str,
        (login, verb): (&str, &Verb),
    ) -> Result<(), Trouble> {
        let Verb::Test { command, setup, branch, bug } = verb else { return Ok(()) };
        let most = self.config.tests.per_hour;
        let no = async |why| self.answer_once(entry, number, key, &not_tested(login, why)).await;
        if most == 0 {
            return no(NotTested::Off).await;
        }
        let at = self.place(entry)?;
        let pull = self.pull_here(&at, number).await?;
        // A fork's branch of the same name is another one.
        let own = pull.as_ref().filter(|pull| pull.head_repo.as_deref().is_some_and(|of| of.eq_ignore_ascii_case(&at.to_string())));
        let branch = match (branch, own, &pull) {
            (Some(branch), _, _) => branch,
            (None, Some(own), _) => &own.head_ref,
            (None, None, Some(_)) => return no(NotTested::Fork).await,
            (None, None, None) => return no(NotTested::Unnamed).await,
        };
        let base_branch = own.filter(|own| own.head_ref == *branch).map_or(&entry.default_branch, |own| &own.base_ref);
        if *bug && base_branch == branch {
            return no(NotTested::IsBase(branch)).await;
        }
        let stands = self.forge.branch(&at, branch).await?.and_then(|commit| Commit::parse(&commit).ok());
        let Some(commit) = stands else {
            // A forge that starts knows no branch either.
            return match self.forge_answers().await {
                true => no(NotTested::NoBranch(branch)).await,
                false => Err(Trouble::later("the forge does not say where the branch stands")),
            };
        };
        let run = TestRun {
            command: command.clone(),
            setup: setup.clone(),
            bug: *bug,
            branch: branch.clone(),
            commit,
            base_branch: base_branch.clone(),
        };
        let (input_key, repository, login) = (key.to_owned(), entry.key.clone(), login.to_owned());
        let new = NewTestRun { input_key, repository, thread: number, login, run, now: now(), most };
        match self.store.take_up_test_run(new).await? {
            TakenUp::Known => {}
            TakenUp::Begun(id) => {
                tracing::info!(run = id, repository = entry.key, number, "a test run was asked for");
                self.tests.notify_one();
            }
            TakenUp::Full(until) => {
                no(NotTested::Full(most, (until - now()).max(0) / MINUTE_MS + 1)).await?;
            }
        }
        Ok(())
    }

    /// The pull request of this number; none where it is an issue.
    async fn pull_here(&self, at: &RepoRef, number: u64) -> Result<Option<PullRequest>, Trouble> {
        if !self.forge.issue(at, number).await?.is_pull {
            return Ok(None);
        }
        match self.forge.pull(at, number).await {
            Err(ForgeError::NotFound(_)) => Err(Trouble::later("the forge does not show the pull request")),
            found => Ok(Some(found?)),
        }
    }
}
