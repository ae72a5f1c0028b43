//! The commands of a repository's own, as its default branch on the forge has them now: read into the bot's own repository, and kept until
//! that branch has another commit.
//!
//! Owns what is said of them beside the text that begins a task by one (`handler`). They are data: who may give one, and what its task may do,
//! is judged as for the bot's own commands. Tests: `tests/stories/own_commands.rs`.

use super::accounts::Accounts;
use super::branch_tips::{BranchTips, not_now};
use crate::config::Process;
use crate::config::own_commands::OwnCommands;
use crate::config::process::Repository;
use crate::config::project::{Granted, Network};
use crate::egress::overruled;
use crate::forge::Account;
use crate::git::Branch;
use crate::message;
use crate::store::Store;
use crate::trouble::Trouble;
use domain::{Access, Commit};
use protocol::router::Rule;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Reads them out of the bot's own repositories.
pub struct OwnCommandReader {
    pub(super) config: Arc<Process>,
    pub(super) store: Store,
    pub(super) accounts: Arc<Accounts>,
    pub(super) tips: Arc<BranchTips>,
    /// What was read last, by the repository's key.
    pub(super) last: Mutex<HashMap<String, AtTip>>,
}

impl OwnCommandReader {
    fn last(&self, entry: &Repository) -> Option<AtTip> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).get(&entry.key).cloned()
    }

    /// Those of the default branch as it was fetched last, if it was.
    async fn fetched_last(&self, entry: &Repository) -> Option<AtTip> {
        let branch = Branch::parse(&entry.default_branch).ok()?;
        let commit = self.tips.repos.resolve(&entry.key, &branch).await.ok()?;
        let commands = Arc::new(self.tips.repos.own_commands(&entry.key, &commit).await.ok()?);
        Some(AtTip { commit, commands })
    }

    /// Reads them at this commit, which is here.
    async fn keep(&self, entry: &Repository, commit: Commit) -> Result<AtTip, Trouble> {
        let commands = Arc::new(self.tips.repos.own_commands(&entry.key, &commit).await?);
        let found = AtTip { commit, commands };
        self.last.lock().unwrap_or_else(PoisonError::into_inner).insert(entry.key.clone(), found.clone());
        Ok(found)
    }
}

/// The hosts that a task does without.
#[derive(Debug, Default)]
pub struct MissingHosts {
    /// Those that nobody has allowed.
    pub lacks: Vec<String>,
    /// Those that nobody can allow: the operator denies them, or sandboxes have no network.
    pub closed: Vec<String>,
}

/// The commands at the newest commit of a default branch.
#[derive(Debug, Clone)]
pub struct AtTip {
    /// That commit.
    pub commit: Commit,
    /// Its commands.
    pub commands: Arc<OwnCommands>,
}

impl OwnCommandReader {
    /// The repository's own commands now; none where its default branch does not exist yet.
    ///
    /// # Errors
    /// When the forge does not say where that branch ends, or its commit cannot be fetched.
    pub async fn own_commands(&self, entry: &Repository) -> Result<Option<AtTip>, Trouble> {
        self.read_own(entry).await.map_err(not_now)
    }

    async fn read_own(&self, entry: &Repository) -> Result<Option<AtTip>, Trouble> {
        // Of several readings that meet a new commit one fetches it.
        let _one = self.tips.reading.enter(&entry.key, 0).await;
        let Some(commit) = self.tips.tip_of_default(entry).await? else { return Ok(None) };
        if let Some(known) = self.last(entry).filter(|known| known.commit == commit) {
            return Ok(Some(known));
        }
        self.tips.bring(entry, &commit).await?;
        Ok(Some(self.keep(entry, commit).await?))
    }

    /// As [`OwnCommandReader::own_commands`], where a task is at work, for none of whose texts a fetch may be waited for: those of the newest commit
    /// if that is here already, otherwise those that were read last, or those of the commit that was fetched last.
    async fn own_known(&self, entry: &Repository, right: Access) -> Arc<OwnCommands> {
        if right < Access::Read {
            return Arc::default();
        }
        let last = self.last(entry);
        let found = match self.tips.tip_of_default(entry).await {
            Ok(Some(commit)) if last.as_ref().is_some_and(|known| known.commit == commit) => None,
            Ok(Some(commit)) if matches!(self.tips.repos.has(&entry.key, &commit).await, Ok(true)) => {
                self.keep(entry, commit).await.ok()
            }
            Ok(Some(_)) | Err(_) => None,
            Ok(None) => return Arc::default(),
        };
        let known = match found.or(last) {
            Some(known) => Some(known),
            None => self.fetched_last(entry).await,
        };
        known.map(|at_tip| at_tip.commands).unwrap_or_default()
    }

    /// As [`OwnCommandReader::own_commands`], for an answer that is given without them as well: none for who may not read the code, and where they
    /// cannot be read now.
    async fn own_shown(&self, entry: &Repository, right: Access) -> Arc<OwnCommands> {
        if right < Access::Read {
            return Arc::default();
        }
        match self.own_commands(entry).await {
            Ok(found) => found.map(|at_tip| at_tip.commands).unwrap_or_default(),
            Err(trouble) => {
                tracing::warn!(repository = entry.key, %trouble, "the repository's own commands could not be read");
                Arc::default()
            }
        }
    }

    /// Why a word that is no command of the bot is not followed where a task is at work, as half a sentence; none where it is no command of
    /// the repository either.
    pub(super) async fn own_while_at_work(&self, entry: &Repository, word: &str, right: Access) -> Option<String> {
        let known = self.own_known(entry, right).await.get(word).is_some();
        known.then(|| message::OWN_WHILE_AT_WORK.to_owned())
    }

    /// The answer to a command that does not exist, or can't be followed: with those of the repository that may be meant.
    pub async fn unknown_to(&self, entry: &Repository, account: &Account, (word, why): (&str, Option<&str>)) -> String {
        let right = self.accounts.right(entry, account, &mut HashMap::new()).await.unwrap_or(Access::None);
        let names = self.own_shown(entry, right).await.names();
        message::unknown_here(word, why, &names.keys().map(String::as_str).collect::<Vec<_>>())
    }

    /// The answer to `/help` where a task is at work: the table, and the repository's own commands.
    pub async fn help_at_work(&self, entry: &Repository, right: Access) -> String {
        message::help(&*self.own_known(entry, right).await)
    }

    /// As [`OwnCommandReader::help_at_work`], where none is.
    pub(super) async fn help(&self, entry: &Repository, right: Access) -> String {
        message::help(&*self.own_shown(entry, right).await)
    }

    /// As `help`, to somebody whose right is not known yet.
    pub async fn help_to(&self, entry: &Repository, account: &Account) -> String {
        let right = self.accounts.right(entry, account, &mut HashMap::new()).await.unwrap_or(Access::None);
        self.help(entry, right).await
    }

    /// Which of the hosts that a command wishes for a task would not reach that begins at this commit. `more` are those that its text allows.
    ///
    /// # Errors
    /// When the commit, or what people allowed, cannot be read.
    pub async fn lacking(
        &self,
        entry: &Repository,
        at_tip: &AtTip,
        (wanted, more): (&Network, &[String]),
    ) -> Result<MissingHosts, Trouble> {
        if wanted.hosts.is_empty() {
            return Ok(MissingHosts::default());
        }
        if !self.config.sandbox_of(&entry.key).networked() {
            return Ok(MissingHosts { closed: wanted.hosts.clone(), ..MissingHosts::default() });
        }
        // That of the newest commit, not of a policy: the task that would have one has not begun.
        let file = self.tips.repos.project_file(&entry.key, &at_tip.commit).await;
        // Where the file has a mistake no task goes on, so nothing is reached.
        let project = file.map_err(|error| not_now(error.into()))?.project.unwrap_or_default();
        let project = project.with_networks(at_tip.commands.networks());
        let mut granted = Granted::of(&self.config, &entry.key);
        let of_file = project.within(&granted, Some(&entry.accepted)).egress;
        granted.egress.extend(of_file);
        granted.egress.extend(project.network_of(Some(&entry.accepted), wanted));
        let kept = self.store.grants(&entry.key).await?;
        let said = kept.iter().map(|grant| &grant.host).chain(more);
        granted.egress.extend(said.filter_map(|host| Rule::parse(host).ok()));
        let denied = self.config.denied_of(&entry.key);
        let is_denied = |host: &String| Rule::parse(host).is_ok_and(|rule| overruled(&denied, &rule).is_some());
        let (closed, open): (Vec<String>, Vec<String>) = wanted.hosts.iter().cloned().partition(is_denied);
        let reached = |host: &String| Rule::parse(host).is_ok_and(|rule| granted.reaches(&rule));
        Ok(MissingHosts { closed, lacks: open.into_iter().filter(|host| !reached(host)).collect() })
    }
}
