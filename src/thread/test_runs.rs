//! `/test-pr` and `/test-pr-bug`: the command, branch and commit are fixed when the text is taken up, and the run is queued; or the author
//! is told why not. What is run at each push: `pushes.rs`.
//! The caller checks that the author has write access to the code. Tests: `tests/stories/test_runs.rs`.

use super::accounts::Accounts;
use super::answer::Answers;
use super::groups::Groups;
use super::moved::Moves;
use super::read::pull_here;
use crate::clock::now;
use crate::config::Process;
use crate::config::process::Repository;
use crate::forge::{Forge, PullRequest, RepoRef, RepositoryAddresses};
use crate::message::{NotTested, not_tested};
use crate::store::{Cause, NewTestRun, Store, TakenUp};
use crate::trouble::Trouble;
use domain::{Account, Commit, TestRun, Verb};
use std::sync::Arc;
use tokio::sync::Notify;

/// Milliseconds per minute.
const MINUTE_MS: i64 = 60_000;

/// Takes up what people ask to be run on a branch.
pub struct TestRequests {
    pub(super) config: Arc<Process>,
    pub(super) store: Store,
    pub(super) forge: Arc<dyn Forge>,
    pub(super) addresses: Arc<RepositoryAddresses>,
    pub(super) accounts: Arc<Accounts>,
    pub(super) groups: Arc<Groups>,
    pub(super) moves: Arc<Moves>,
    pub(super) answers: Arc<Answers>,
    /// Notified when a test run was queued.
    pub bell: Arc<Notify>,
}

impl TestRequests {
    /// Queues the test run that `poster` asks for on this issue or pull request; `key` is the text's.
    pub async fn test(
        &self,
        entry: &Repository,
        number: u64,
        key: &str,
        (poster, verb): (&Account, &Verb),
    ) -> Result<(), Trouble> {
        let Verb::Test { command, setup, branch, bug, each_push } = verb else { return Ok(()) };
        let most = self.config.tests.per_hour;
        let no = async |why| self.answers.answer_once(entry, number, key, &not_tested(&poster.login, why)).await;
        if most == 0 {
            return no(NotTested::Off).await;
        }
        let at = self.addresses.at(entry)?;
        let pull = pull_here(&*self.forge, &at, number).await?;
        match &pull {
            None if *each_push => return no(NotTested::NoPull).await,
            Some(pull) if *each_push && !pull.open => return no(NotTested::Closed).await,
            None | Some(_) => {}
        }
        if let Some(pull) = pull.as_ref().filter(|pull| branch.is_none() && is_of_fork(pull, &at)) {
            return match of_fork(verb, pull) {
                Some(run) => self.queued(entry, (number, key), poster, run).await,
                None => no(NotTested::Fork).await,
            };
        }
        let (branch, base_branch) = match meant(branch.as_deref(), pull.as_ref(), &at, &entry.default_branch) {
            Ok(meant) => meant,
            Err(why) => return no(why).await,
        };
        if *bug && base_branch == branch {
            return no(NotTested::IsBase(branch)).await;
        }
        let stands = self.forge.branch(&at, branch).await?.and_then(|commit| Commit::parse(&commit).ok());
        let Some(commit) = stands else {
            // A forge that is starting also reports no branch.
            return match self.accounts.forge_answers().await {
                true => no(NotTested::NoBranch(branch)).await,
                false => Err(Trouble::later("the forge does not say where the branch stands")),
            };
        };
        let run = TestRun {
            command: command.clone(),
            setup: setup.clone(),
            bug: *bug,
            branch: branch.to_owned(),
            commit,
            base_branch: base_branch.to_owned(),
            each_push: *each_push,
        };
        self.queued(entry, (number, key), poster, run).await
    }

    /// Puts the run of a text in line, or says that the hour is full.
    async fn queued(
        &self,
        entry: &Repository,
        (number, key): (u64, &str),
        poster: &Account,
        run: TestRun,
    ) -> Result<(), Trouble> {
        let most = self.config.tests.per_hour;
        match self.queue(entry, number, Cause::Text(key.to_owned()), poster, run).await? {
            Some(minutes) => {
                let text = not_tested(&poster.login, NotTested::Full(most, minutes));
                self.answers.answer_once(entry, number, key, &text).await
            }
            None => Ok(()),
        }
    }

    /// Puts a run in line, together with its cause; the minutes until there is room again where the hour is full.
    pub(super) async fn queue(
        &self,
        entry: &Repository,
        number: u64,
        cause: Cause,
        poster: &Account,
        run: TestRun,
    ) -> Result<Option<i64>, Trouble> {
        let (repository, most) = (entry.key.clone(), self.config.tests.per_hour);
        let new = NewTestRun { cause, repository, thread: number, poster: poster.clone(), run, now: now(), most };
        match self.store.take_up_test_run(new).await? {
            TakenUp::Known => {}
            TakenUp::Begun(id) => {
                tracing::info!(run = id, repository = entry.key, number, "a test run was asked for");
                self.bell.notify_one();
            }
            TakenUp::Full(until) => return Ok(Some((until - now()).max(0) / MINUTE_MS + 1)),
        }
        Ok(None)
    }
}

/// The run on the head of a fork's pull request; none at each push, which people make who may not write here.
fn of_fork(verb: &Verb, pull: &PullRequest) -> Option<TestRun> {
    let Verb::Test { command, setup, bug, each_push: false, .. } = verb else { return None };
    Some(TestRun {
        command: command.clone(),
        setup: setup.clone(),
        bug: *bug,
        // The forge keeps a pull request's head under this name, also where the fork is gone.
        branch: format!("pull/{}/head", pull.number),
        commit: Commit::parse(&pull.head_sha).ok()?,
        base_branch: pull.base_ref.clone(),
        each_push: false,
    })
}

/// Whether a pull request's head lies in another repository, or in one that is gone; or on no branch, where it was pushed for review
/// (AGit), which takes no right to write.
fn is_of_fork(pull: &PullRequest, at: &RepoRef) -> bool {
    let here = pull.head_repo.as_deref().is_some_and(|repo| repo.eq_ignore_ascii_case(&at.to_string()));
    !here || pull.head_ref.starts_with("refs/pull/")
}

/// The branch to test and its base: the pull request's unless another branch is named.
pub(super) fn meant<'a>(
    named: Option<&'a str>,
    pull: Option<&'a PullRequest>,
    at: &RepoRef,
    default: &'a str,
) -> Result<(&'a str, &'a str), NotTested<'a>> {
    // A fork may have a branch of the same name.
    let here = |pull: &&PullRequest| !is_of_fork(pull, at);
    match (named, pull.filter(here)) {
        (Some(named), Some(own)) if own.head_ref == named => Ok((named, &own.base_ref)),
        (Some(named), _) => Ok((named, default)),
        (None, Some(own)) => Ok((&own.head_ref, &own.base_ref)),
        (None, None) if pull.is_some() => Err(NotTested::Fork),
        (None, None) => Err(NotTested::Unnamed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::Account;

    fn pull(head_repo: Option<&str>) -> PullRequest {
        PullRequest {
            id: 1,
            number: 4,
            title: String::new(),
            body: String::new(),
            open: true,
            merged: false,
            merged_by: None,
            draft: false,
            head_ref: "mend".into(),
            head_sha: "a".repeat(40),
            base_ref: "stable".into(),
            base_sha: "b".repeat(40),
            head_repo: head_repo.map(Into::into),
            author: Account { id: 7, login: "u7".into() },
            html_url: String::new(),
            created_at: 0,
            updated_at: 0,
        }
    }

    fn of<'a>(named: Option<&'a str>, pull: Option<&'a PullRequest>) -> Result<String, NotTested<'a>> {
        meant(named, pull, &RepoRef::new("lab", "shop"), "main").map(|(branch, base)| format!("{branch} to {base}"))
    }

    #[test]
    fn a_head_on_no_branch_is_run_as_a_forks_is() {
        let on_no_branch = PullRequest { head_ref: "refs/pull/4/head".into(), ..pull(Some("lab/shop")) };
        assert!(is_of_fork(&on_no_branch, &RepoRef::new("lab", "shop")));
        let verb =
            |each_push| Verb::Test { command: "make check".into(), setup: None, branch: None, bug: false, each_push };
        let run = of_fork(&verb(false), &on_no_branch).expect("run once");
        assert_eq!((run.branch.as_str(), run.commit.as_str()), ("pull/4/head", on_no_branch.head_sha.as_str()));
        assert_eq!(of_fork(&verb(true), &on_no_branch), None);
    }

    #[test]
    fn a_pull_requests_head_is_meant_unless_it_lies_in_a_fork() {
        let own = pull(Some("Lab/shop"));
        assert_eq!(of(None, Some(&own)), Ok("mend to stable".to_owned()));
        assert_eq!(of(Some("mend"), Some(&own)), Ok("mend to stable".to_owned()));
        assert_eq!(of(Some("other"), Some(&own)), Ok("other to main".to_owned()));
        for head in [Some("eve/shop"), None] {
            let fork = pull(head);
            assert_eq!(of(None, Some(&fork)), Err(NotTested::Fork));
            assert_eq!(of(Some("mend"), Some(&fork)), Ok("mend to main".to_owned()), "this repository's own");
        }
        let on_no_branch = PullRequest { head_ref: "refs/pull/4/head".into(), ..pull(Some("lab/shop")) };
        assert_eq!(of(None, Some(&on_no_branch)), Err(NotTested::Fork));
        assert_eq!(of(Some("mend"), Some(&on_no_branch)), Ok("mend to main".to_owned()));
        assert_eq!(of(None, None), Err(NotTested::Unnamed));
        assert_eq!(of(Some("mend"), None), Ok("mend to main".to_owned()));
    }
}
