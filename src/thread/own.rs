//! The commands of a repository's own, as its default branch on the forge has them now: read into the bot's own repository, and kept until
//! that branch has another commit.
//!
//! Owns what is said of them beside the text that begins a task by one (`handler`). They are data: who may give one, and what its task may do,
//! is judged as for the bot's own commands. Tests: `tests/stories/own_commands.rs`.

use super::Threads;
use crate::command::OwnNames;
use crate::config::own_commands::OwnCommands;
use crate::config::process::Repository;
use crate::config::project::{FILE, Granted, MAX_BYTES, Project};
use crate::egress::overruled;
use crate::forge::Account;
use crate::git::{Auth, Repos};
use crate::message;
use crate::trouble::Trouble;
use crate::upstream::on_forge;
use domain::{Access, Commit};
use protocol::router::Rule;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Reads them out of the bot's own repositories.
pub(super) struct OwnReader {
    repos: Repos,
    auth: Auth,
    /// What was read last, by the repository's key.
    last: Mutex<HashMap<String, AtTip>>,
}

impl OwnReader {
    pub fn new(repos: Repos, auth: Auth) -> Self {
        Self { repos, auth, last: Mutex::default() }
    }
}

/// The commands at the newest commit of a default branch.
#[derive(Debug, Clone)]
pub struct AtTip {
    /// That commit.
    pub commit: Commit,
    /// Its commands.
    pub commands: Arc<OwnCommands>,
}

impl Threads {
    /// The repository's own commands now; none where its default branch does not exist yet.
    ///
    /// # Errors
    /// When the forge does not say where that branch ends, or its commit cannot be fetched.
    pub async fn own_commands(&self, entry: &Repository) -> Result<Option<AtTip>, Trouble> {
        let Some(reader) = &self.own else { return Ok(None) };
        self.read_own(reader, entry).await.map_err(not_now)
    }

    async fn read_own(&self, reader: &OwnReader, entry: &Repository) -> Result<Option<AtTip>, Trouble> {
        let at = self.place(entry)?;
        let Some(tip) = self.forge.branch(&at, &entry.default_branch).await? else { return Ok(None) };
        let commit =
            Commit::parse(&tip).map_err(|_| Trouble::later("the forge names no commit for the default branch"))?;
        let last = reader.last.lock().unwrap_or_else(PoisonError::into_inner).get(&entry.key).cloned();
        if let Some(known) = last.filter(|known| known.commit == commit) {
            return Ok(Some(known));
        }
        // An error: nothing was ever fetched of this repository.
        if !matches!(reader.repos.has(&entry.key, &commit).await, Ok(true)) {
            reader.repos.fetch(&entry.key, &on_forge(&self.config, &at)?, Some(&reader.auth)).await?;
        }
        let commands = Arc::new(reader.repos.own_commands(&entry.key, &commit).await?);
        let found = AtTip { commit, commands };
        reader.last.lock().unwrap_or_else(PoisonError::into_inner).insert(entry.key.clone(), found.clone());
        Ok(Some(found))
    }

    /// As [`Threads::own_commands`], for an answer that is given without them as well: none for who may not read the code, and where they
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

    /// Their names for the parser, as far as somebody with this right may read them.
    pub(super) async fn own_names(&self, entry: &Repository, right: Access) -> OwnNames {
        self.own_shown(entry, right).await.names()
    }

    /// Why a word that is no command of the bot is not followed where a task is at work, as half a sentence; none where it is no command of
    /// the repository either.
    pub(super) async fn own_while_at_work(&self, entry: &Repository, word: &str, right: Access) -> Option<String> {
        let known = self.own_shown(entry, right).await.get(word).is_some();
        known.then(|| message::OWN_WHILE_AT_WORK.to_owned())
    }

    /// The answer to a command that does not exist, or can't be followed: with those of the repository that may be meant.
    pub async fn unknown_to(&self, entry: &Repository, account: &Account, (word, why): (&str, Option<&str>)) -> String {
        let right = self.right(entry, account, &mut HashMap::new()).await.unwrap_or(Access::None);
        let names = self.own_names(entry, right).await;
        message::unknown_beside(word, why, &names.keys().map(String::as_str).collect::<Vec<_>>())
    }

    /// The answer to `/help`: the table, and the repository's own commands.
    pub async fn help(&self, entry: &Repository, right: Access) -> String {
        let own = self.own_shown(entry, right).await;
        message::help(&own)
    }

    /// As [`Threads::help`], to somebody whose right is not known yet.
    pub async fn help_to(&self, entry: &Repository, account: &Account) -> String {
        let right = self.right(entry, account, &mut HashMap::new()).await.unwrap_or(Access::None);
        self.help(entry, right).await
    }

    /// Which of the hosts that a command wishes for a task would not reach that begins at this commit: neither the operator's table nor the
    /// accepted hash allows them.
    ///
    /// # Errors
    /// When the commit cannot be read.
    pub async fn lacking(
        &self,
        entry: &Repository,
        at_tip: &AtTip,
        (name, hosts): (&str, &[String]),
    ) -> Result<Vec<String>, Trouble> {
        let Some(reader) = self.own.as_ref().filter(|_| !hosts.is_empty()) else { return Ok(Vec::new()) };
        if !self.config.sandbox_of(&entry.key).networked() {
            return Ok(hosts.to_vec());
        }
        let file = reader.repos.show(&entry.key, &at_tip.commit, FILE, MAX_BYTES).await;
        let project = match file.map_err(|error| not_now(error.into()))? {
            // Where the file has a mistake no task goes on, so nothing is reached.
            Some(bytes) => Project::parse(FILE, &String::from_utf8_lossy(&bytes)).unwrap_or_default(),
            None => Project::default(),
        };
        let project = project.with_networks(at_tip.commands.networks());
        let mut granted = Granted::of(&self.config, &entry.key);
        let accepted = Some(entry.accepted.as_str()).filter(|hash| !hash.is_empty());
        granted.egress.extend(project.network_of(accepted, name, hosts));
        let denied = self.config.egress.denied();
        let reached = |host: &String| {
            Rule::parse(host).is_ok_and(|rule| granted.reaches(&rule) && overruled(&denied, &rule).is_none())
        };
        Ok(hosts.iter().filter(|host| !reached(host)).cloned().collect())
    }
}

/// A default branch that cannot be read is no verdict about the issue that is being read.
fn not_now(trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Moved { .. } | Trouble::Later { .. } => trouble,
        Trouble::Doubtful { sentence, .. } => Trouble::later(sentence),
        Trouble::Failed(_) => Trouble::later(trouble.to_string()),
    }
}
