//! Whether somebody is among those whom the operator lets give a command: by name and right, in a team as the forge says now, or as an owner
//! of code by the `CODEOWNERS` of the base. What cannot be asked now lets nobody in and refuses nobody: the text waits.
//! Tests: `tests/stories/groups.rs`.

use super::accounts::Accounts;
use super::branch_tips::BranchTips;
use crate::config::Process;
use crate::config::code_owners::{CodeOwners, MAX_BYTES, PLACES};
use crate::config::process::Repository;
use crate::config::who::{Group, bar_of, groups, is_everybody, is_of_readers, word_of};
use crate::forge::{self, Forge};
use crate::git::{GitError, Repos};
use crate::trouble::Trouble;
use domain::{Access, Account, Commit, Task, Verb};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest that the expressions of a `CODEOWNERS` may take on the paths that a task changed.
const MATCHING: Duration = Duration::from_secs(10);

/// The words of the lists that let somebody in, without those that name everybody who may anyway; or whom a list names that does not, as the
/// end of "it is for".
pub(crate) type Admission = Result<Vec<String>, String>;

/// Looks whether the operator lets somebody give a command.
pub struct Groups {
    pub(super) config: Arc<Process>,
    pub(super) forge: Arc<dyn Forge>,
    pub(super) accounts: Arc<Accounts>,
    pub(super) tips: Arc<BranchTips>,
}

impl Groups {
    /// Whether the operator lets this account give this command; `task` is the one that it is given to, if any.
    ///
    /// # Errors
    /// Where the forge, or the repository, does not say now whether the account is one of them.
    pub async fn admits(
        &self,
        entry: &Repository,
        (verb, account, right): (&Verb, &Account, Access),
        task: Option<&Task>,
    ) -> Result<Admission, Trouble> {
        match verb.command() {
            Some(command) => self.admits_to(entry, (command, account, right), task).await,
            None => Ok(Ok(Vec::new())),
        }
    }

    /// As [`Groups::admits`]: whom the operator restricts this command to, if that excludes this account.
    pub async fn barred(
        &self,
        entry: &Repository,
        given: (&Verb, &Account, Access),
        task: Option<&Task>,
    ) -> Result<Option<String>, Trouble> {
        Ok(self.admits(entry, given, task).await?.err())
    }

    /// As [`Groups::admits`], of a command by its name.
    pub(super) async fn admits_to(
        &self,
        entry: &Repository,
        (command, account, right): (&str, &Account, Access),
        task: Option<&Task>,
    ) -> Result<Admission, Trouble> {
        let least = if is_of_readers(command) { Access::Read } else { Access::Write };
        let mut listed = Vec::new();
        for among in self.config.who_of(&entry.key, command) {
            match self.listed(entry, among, (account, right, least), task).await? {
                Ok(word) => listed.extend(word),
                Err(whom) => return Ok(Err(whom)),
            }
        }
        Ok(Ok(listed))
    }

    /// As [`Groups::admits`], of a command of the repository's own, which begins a task: `among` is what its file says; nothing = all writers.
    pub async fn admits_by_file(
        &self,
        entry: &Repository,
        among: &[String],
        (account, right): (&Account, Access),
    ) -> Result<Admission, Trouble> {
        if among.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let listed = self.listed(entry, among, (account, right, Access::Write), None).await?;
        Ok(listed.map(|word| word.into_iter().collect()))
    }

    /// The word of this list that lets the account in, unless that names everybody; an error within is whom the list names.
    async fn listed(
        &self,
        entry: &Repository,
        among: &[String],
        (account, right, least): (&Account, Access, Access),
        task: Option<&Task>,
    ) -> Result<Result<Option<String>, String>, Trouble> {
        if let Some(word) = word_of(among, &account.login, right) {
            return Ok(Ok(Some(word.to_owned()).filter(|word| !is_everybody(word, least))));
        }
        // Nobody is looked up who may not give it anyway.
        if right >= least {
            for (word, group) in groups(among) {
                let is_in = match group {
                    Group::Team { organisation, name } => self.is_in_team((organisation, name), account).await?,
                    Group::CodeOwners => self.is_code_owner(entry, account, task).await?,
                };
                if is_in {
                    return Ok(Ok(Some(word.to_owned())));
                }
            }
        }
        Ok(Err(bar_of(among, &account.login, right).unwrap_or_default()))
    }

    /// A team that the bot may not see has no members here.
    async fn is_in_team(&self, (organisation, name): (&str, &str), account: &Account) -> Result<bool, Trouble> {
        let account = forge::Account { id: account.id, login: account.login.clone() };
        match self.forge.in_team(organisation, name, &account).await? {
            Some(is_in) => Ok(is_in),
            // A forge that is starting also shows no team.
            None if !self.accounts.forge_answers().await => {
                Err(Trouble::later("the forge does not say who is in a team"))
            }
            None => {
                tracing::warn!(organisation, name, "a team of [who] is not there, or the bot may not see who is in it");
                Ok(false)
            }
        }
    }

    /// Whether the account owns each file that the task changed and that has an owner; without such a file, whether it owns any.
    async fn is_code_owner(&self, entry: &Repository, account: &Account, task: Option<&Task>) -> Result<bool, Trouble> {
        let repos = &self.tips.repos;
        let base = match task.and_then(|task| task.base.clone()) {
            Some(base) => Some(base),
            None => self.tips.fetched_tip(entry).await?,
        };
        let Some(base) = base else { return Ok(false) };
        // The repositories of this host are a cache, which may have been deleted since.
        self.tips.here(entry, &base).await?;
        let owners = read(repos, &entry.key, &base).await?;
        let head = task.filter(|task| !task.of_a_pull()).and_then(|task| task.head.as_ref());
        let changes = match head.filter(|head| **head != base) {
            Some(head) => {
                self.tips.here(entry, head).await?;
                repos.changes(&entry.key, &base, head).await?
            }
            None => Vec::new(),
        };
        let paths = changes.iter().map(|change| String::from_utf8_lossy(&change.path).into_owned()).collect();
        let Some(sets) = sets_of(owners, paths, MATCHING).await? else {
            tracing::warn!(repository = entry.key, "CODEOWNERS takes too long to match, so nobody is an owner by it");
            return Ok(false);
        };
        for set in &sets {
            if !self.is_in_set(set.iter().map(String::as_str), account).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn is_in_set(&self, set: impl Iterator<Item = &str> + Clone, account: &Account) -> Result<bool, Trouble> {
        if set.clone().any(|owner| owner.eq_ignore_ascii_case(&account.login)) {
            return Ok(true);
        }
        for team in set.filter_map(|owner| owner.split_once('/')) {
            if self.is_in_team(team, account).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// As [`CodeOwners::of`], beside the runtime: hundreds of expressions on thousands of paths would keep its thread from everything else. None
/// where that takes longer than `most`.
async fn sets_of(
    owners: CodeOwners,
    paths: Vec<String>,
    most: Duration,
) -> Result<Option<Vec<BTreeSet<String>>>, Trouble> {
    let begun = Instant::now();
    let matching = move || -> Option<Vec<BTreeSet<String>>> {
        let sets = owners.of(paths.iter().map(String::as_str), || begun.elapsed() < most)?;
        Some(sets.into_iter().map(|set| set.into_iter().map(str::to_owned).collect()).collect())
    };
    let matched = tokio::task::spawn_blocking(matching).await;
    matched.map_err(|e| Trouble::later(format!("CODEOWNERS could not be matched: {e}")))
}

/// The owners at this commit. A file that is too long names nobody.
async fn read(repos: &Repos, key: &str, commit: &Commit) -> Result<CodeOwners, Trouble> {
    for place in PLACES {
        match repos.show(key, commit, place, MAX_BYTES).await {
            Ok(Some(bytes)) => {
                let read = tokio::task::spawn_blocking(move || CodeOwners::read(&String::from_utf8_lossy(&bytes)));
                let read = read.await.map_err(|e| Trouble::later(format!("CODEOWNERS could not be read: {e}")))?;
                return Ok(read.unwrap_or_else(|why| {
                    tracing::warn!(repository = key, place, why, "so nobody is an owner by it");
                    CodeOwners::default()
                }));
            }
            Ok(None) => {}
            Err(GitError::TooLarge { .. }) => {
                tracing::warn!(repository = key, place, "is too long, so nobody is an owner by it");
                return Ok(CodeOwners::default());
            }
            Err(other) => return Err(other.into()),
        }
    }
    Ok(CodeOwners::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(most: Duration) -> impl Future<Output = Result<Option<Vec<BTreeSet<String>>>, Trouble>> {
        let owners = CodeOwners::read("(src/)?.*[ab]{9}.* @Alice\n.*\\\\.md @bob\n").expect("it can be read");
        sets_of(owners, (0..5_000).map(|n| format!("src/{n}.md")).collect(), most)
    }

    #[tokio::test]
    async fn while_paths_are_matched_the_runtime_goes_on() {
        let mut matching = std::pin::pin!(sets(MATCHING));
        let ended = tokio::select! {
            biased;
            _ = &mut matching => true,
            () = std::future::ready(()) => false,
        };
        assert!(!ended, "they were matched on the runtime's own thread");
        assert_eq!(matching.await.expect("matched"), Some(vec![BTreeSet::from(["bob".to_owned()])]));
    }

    #[tokio::test]
    async fn what_takes_too_long_to_match_names_nobody() {
        assert_eq!(sets(Duration::ZERO).await.expect("stopped"), None);
    }
}
