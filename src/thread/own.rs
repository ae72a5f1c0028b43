//! The commands of a repository's own, as its default branch on the forge has them now: read into the bot's own repository, and kept until
//! that branch has another commit.
//!
//! Owns what is said of them beside the text that begins a task by one (`handler`). They are data: who may give one, and what its task may do,
//! is judged as for the bot's own commands. Tests: `tests/stories/own_commands.rs`.

use super::Threads;
use crate::config::own_commands::OwnCommands;
use crate::config::process::Repository;
use crate::config::project::{Granted, Network};
use crate::egress::overruled;
use crate::forge::{Account, IssueLocks};
use crate::git::{Auth, Branch, Repos};
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
    /// One reading with its fetch at a time of each repository.
    reading: IssueLocks,
}

impl OwnReader {
    pub fn new(repos: Repos, auth: Auth) -> Self {
        Self { repos, auth, last: Mutex::default(), reading: IssueLocks::default() }
    }

    fn last(&self, entry: &Repository) -> Option<AtTip> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).get(&entry.key).cloned()
    }

    /// Those of the default branch as it was fetched last, if it was.
    async fn fetched_last(&self, entry: &Repository) -> Option<AtTip> {
        let branch = Branch::parse(&entry.default_branch).ok()?;
        let commit = self.repos.resolve(&entry.key, &branch).await.ok()?;
        let commands = Arc::new(self.repos.own_commands(&entry.key, &commit).await.ok()?);
        Some(AtTip { commit, commands })
    }

    /// Reads them at this commit, which is here.
    async fn keep(&self, entry: &Repository, commit: Commit) -> Result<AtTip, Trouble> {
        let commands = Arc::new(self.repos.own_commands(&entry.key, &commit).await?);
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
        // Of several readings that meet a new commit one fetches it.
        let _one = reader.reading.enter(&entry.key, 0).await;
        let Some(commit) = self.tip_of_default(entry).await? else { return Ok(None) };
        if let Some(known) = reader.last(entry).filter(|known| known.commit == commit) {
            return Ok(Some(known));
        }
        self.bring(reader, entry, &commit).await?;
        Ok(Some(reader.keep(entry, commit).await?))
    }

    /// Fetches a commit of the forge's that is not here yet.
    async fn bring(&self, reader: &OwnReader, entry: &Repository, commit: &Commit) -> Result<(), Trouble> {
        // An error: nothing was ever fetched of this repository.
        if !matches!(reader.repos.has(&entry.key, commit).await, Ok(true)) {
            let url = on_forge(&self.config, &self.place(entry)?)?;
            reader.repos.fetch(&entry.key, &url, Some(&reader.auth)).await?;
        }
        Ok(())
    }

    /// Sees to it that a commit of the forge's is here. One that its branches do not bring is asked for again later.
    pub(super) async fn here(&self, entry: &Repository, commit: &Commit) -> Result<(), Trouble> {
        let Some(reader) = self.own.as_ref() else { return Err(Trouble::later("no repository is here to look into")) };
        self.bring(reader, entry, commit).await?;
        match reader.repos.has(&entry.key, commit).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(Trouble::later(format!("the commit {} is not here", commit.short()))),
        }
    }

    /// The bot's own repositories, and what they are fetched with.
    pub(super) fn repositories(&self) -> Option<(&Repos, &Auth)> {
        self.own.as_ref().map(|reader| (&reader.repos, &reader.auth))
    }

    /// The bot's own repositories.
    pub(super) fn repos(&self) -> Option<&Repos> {
        self.own.as_ref().map(|reader| &reader.repos)
    }

    /// The newest commit of the default branch, which is here then; none where there is no such branch yet.
    pub(super) async fn fetched_tip(&self, entry: &Repository) -> Result<Option<Commit>, Trouble> {
        let Some(reader) = &self.own else { return Ok(None) };
        let _one = reader.reading.enter(&entry.key, 0).await;
        let Some(commit) = self.tip_of_default(entry).await.map_err(not_now)? else { return Ok(None) };
        self.bring(reader, entry, &commit).await.map_err(not_now)?;
        Ok(Some(commit))
    }

    async fn tip_of_default(&self, entry: &Repository) -> Result<Option<Commit>, Trouble> {
        let Some(tip) = self.forge.branch(&self.place(entry)?, &entry.default_branch).await? else { return Ok(None) };
        let commit = Commit::parse(&tip);
        Ok(Some(commit.map_err(|_| Trouble::later("the forge names no commit for the default branch"))?))
    }

    /// As [`Threads::own_commands`], where a task is at work, for none of whose texts a fetch may be waited for: those of the newest commit
    /// if that is here already, otherwise those that were read last, or those of the commit that was fetched last.
    async fn own_known(&self, entry: &Repository, right: Access) -> Arc<OwnCommands> {
        let Some(reader) = self.own.as_ref().filter(|_| right >= Access::Read) else { return Arc::default() };
        let last = reader.last(entry);
        let found = match self.tip_of_default(entry).await {
            Ok(Some(commit)) if last.as_ref().is_some_and(|known| known.commit == commit) => None,
            Ok(Some(commit)) if matches!(reader.repos.has(&entry.key, &commit).await, Ok(true)) => {
                reader.keep(entry, commit).await.ok()
            }
            Ok(Some(_)) | Err(_) => None,
            Ok(None) => return Arc::default(),
        };
        let known = match found.or(last) {
            Some(known) => Some(known),
            None => reader.fetched_last(entry).await,
        };
        known.map(|at_tip| at_tip.commands).unwrap_or_default()
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

    /// Why a word that is no command of the bot is not followed where a task is at work, as half a sentence; none where it is no command of
    /// the repository either.
    pub(super) async fn own_while_at_work(&self, entry: &Repository, word: &str, right: Access) -> Option<String> {
        let known = self.own_known(entry, right).await.get(word).is_some();
        known.then(|| message::OWN_WHILE_AT_WORK.to_owned())
    }

    /// The answer to a command that does not exist, or can't be followed: with those of the repository that may be meant.
    pub async fn unknown_to(&self, entry: &Repository, account: &Account, (word, why): (&str, Option<&str>)) -> String {
        let right = self.right(entry, account, &mut HashMap::new()).await.unwrap_or(Access::None);
        let names = self.own_shown(entry, right).await.names();
        message::unknown_beside(word, why, &names.keys().map(String::as_str).collect::<Vec<_>>())
    }

    /// The answer to `/help` where a task is at work: the table, and the repository's own commands.
    pub async fn help_at_work(&self, entry: &Repository, right: Access) -> String {
        message::help(&*self.own_known(entry, right).await)
    }

    /// As [`Threads::help_at_work`], where none is.
    pub(super) async fn help(&self, entry: &Repository, right: Access) -> String {
        message::help(&*self.own_shown(entry, right).await)
    }

    /// As `help`, to somebody whose right is not known yet.
    pub async fn help_to(&self, entry: &Repository, account: &Account) -> String {
        let right = self.right(entry, account, &mut HashMap::new()).await.unwrap_or(Access::None);
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
        let Some(reader) = self.own.as_ref().filter(|_| !wanted.hosts.is_empty()) else {
            return Ok(MissingHosts::default());
        };
        if !self.config.sandbox_of(&entry.key).networked() {
            return Ok(MissingHosts { closed: wanted.hosts.clone(), ..MissingHosts::default() });
        }
        // That of the newest commit, not of a policy: the task that would have one has not begun.
        let file = reader.repos.project_file(&entry.key, &at_tip.commit).await;
        // Where the file has a mistake no task goes on, so nothing is reached.
        let project = file.map_err(|error| not_now(error.into()))?.project.unwrap_or_default();
        let project = project.with_networks(at_tip.commands.networks());
        let mut granted = Granted::of(&self.config, &entry.key);
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

/// A default branch that cannot be read is no verdict about the issue that is being read.
fn not_now(trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Moved { .. } | Trouble::Later { .. } => trouble,
        Trouble::Doubtful { sentence, .. } => Trouble::later(sentence),
        Trouble::Failed(_) => Trouble::later(trouble.to_string()),
    }
}
