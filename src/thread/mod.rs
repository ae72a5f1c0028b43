//! What people say in the threads of a task: read from the forge, checked for its author's right and for edits, and fed to the task, each
//! text once.
//!
//! Text is data: only an unedited command of somebody with the right counts. What follows from it is decided in `domain::transition`.
//! Tests: `tests/stories/`.

mod again;
mod answer;
mod apart;
mod attempt;
mod audit;
mod by_name;
mod decisions;
mod evidence;
mod feed;
#[cfg(test)]
mod fixtures;
mod follow;
mod further;
mod groups;
mod hosts;
mod inline;
mod long;
mod moved;
mod own;
mod own_list;
mod persons;
#[cfg(test)]
mod places_tests;
mod pushes;
mod read;
mod remarks;
mod replies;
pub(crate) mod terms;
mod test_runs;
mod upstream_issues;
mod withdrawn;
pub(crate) mod words;

pub use audit::Asking;
pub use decisions::{SLACK_MS, decision_key, first};
pub use feed::Feed;
pub use follow::withdrawn_key;
pub use further::beside_key;
pub(crate) use groups::Admission;
pub use hosts::{host_key, hosts_key, taken_key};
pub use own::{AtTip, MissingHosts};
pub use persons::bare_key;
pub use read::{Hidden, Part, Thread};
pub use replies::{MARKS as REPLY_MARKS, source as reply_source};

use crate::clock::Clock;
use crate::config::Process;
use crate::config::process::Repository;
use crate::forge::{Account, Forge, ForgeError, IssueLocks, Refusals, RepoRef, RepositoryAddresses};
use crate::git::{Auth, Repos};
use crate::secret::Secret;
use crate::store::Store;
use crate::trouble::Trouble;
use crate::upstream::Upstreams;
use domain::Access;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Reads the threads of tasks.
pub struct Threads {
    config: Arc<Process>,
    store: Store,
    forge: Arc<dyn Forge>,
    addresses: Arc<RepositoryAddresses>,
    clock: Arc<Clock>,
    /// The bot's own account.
    me: Account,
    /// Lower-case logins of accounts whose texts never count: the bot's own and the operator's automation accounts.
    silent: HashSet<String>,
    /// Notified when a test run was queued.
    tests: Arc<Notify>,
    /// What keeps repositories in step with their upstreams; none without an account for that.
    upstreams: Option<Arc<Upstreams>>,
    /// Reads the commands of repositories' own; without it there are none.
    own: Option<own::OwnReader>,
    /// Key of the marks by which answers are found again.
    mark_key: Secret,
    /// One answer at a time on each issue or pull request.
    turns: IssueLocks,
    /// Answers that the forge refused, by their keys.
    refused: Refusals<String>,
    read_replies: replies::ReadReplies,
}

impl Threads {
    /// `me` is the bot's own account, `sync` the one that synchronises default branches: texts of neither count, nor those of the
    /// configuration's automation accounts. `mark_key` is that of the marks in the bot's posts.
    pub fn new(
        config: Arc<Process>,
        store: Store,
        addresses: Arc<RepositoryAddresses>,
        clock: Arc<Clock>,
        me: Account,
        sync: Option<&Account>,
        mark_key: Secret,
    ) -> Self {
        let mut silent: HashSet<String> = config.automation_accounts.iter().map(|l| l.to_lowercase()).collect();
        silent.insert(me.login.to_lowercase());
        silent.extend(sync.map(|account| account.login.to_lowercase()));
        let forge = addresses.forge().clone();
        let (turns, refused) = (IssueLocks::default(), Refusals::of_rounds(config.forge.poll_s));
        Self {
            config,
            store,
            forge,
            addresses,
            clock,
            me,
            silent,
            tests: Arc::default(),
            upstreams: None,
            own: None,
            mark_key,
            turns,
            refused,
            read_replies: replies::ReadReplies::default(),
        }
    }

    /// Has `/sync` carried out by these.
    pub fn with_upstreams(self, upstreams: Option<Arc<Upstreams>>) -> Self {
        Self { upstreams, ..self }
    }

    /// Has commands of repositories' own read out of these, fetched with this credential.
    pub fn with_own_commands(self, repos: Repos, auth: Auth) -> Self {
        Self { own: Some(own::OwnReader::new(repos, auth)), ..self }
    }

    /// Notified when somebody's test run was queued.
    pub fn test_bell(&self) -> Arc<Notify> {
        self.tests.clone()
    }

    /// Whether texts of this account count at all. Ids below 1 belong to the forge itself.
    pub fn counts(&self, account: &Account) -> bool {
        account.id >= 1 && account.id != self.me.id && !self.silent.contains(&account.login.to_lowercase())
    }

    /// The place where the repository was last seen.
    pub fn place(&self, entry: &Repository) -> Result<RepoRef, ForgeError> {
        self.addresses.at(entry)
    }

    /// That place, if it was looked up within this time.
    pub fn recent_place(&self, entry: &Repository, within: Duration) -> Option<RepoRef> {
        self.addresses.recent(entry, within)
    }

    /// The account's right to the code, asked now. An error if the forge cannot tell, so that nothing is decided yet.
    pub async fn right(
        &self,
        entry: &Repository,
        account: &Account,
        seen: &mut HashMap<i64, Access>,
    ) -> Result<Access, Trouble> {
        if let Some(right) = seen.get(&account.id) {
            return Ok(*right);
        }
        let right = match self.forge.permission(&self.place(entry)?, account).await {
            Ok(right) => words::access(right),
            Err(ForgeError::NotFound(_)) => Access::None,
            Err(other) => return Err(other.into()),
        };
        // A forge that is starting also reports no right.
        if right == Access::None && !self.forge_answers().await {
            return Err(Trouble::later("the forge does not say who may do what"));
        }
        seen.insert(account.id, right);
        Ok(right)
    }

    /// Whether the forge answers its version and accepts our token.
    pub async fn forge_answers(&self) -> bool {
        let (version, me) = tokio::join!(self.forge.version(), self.forge.whoami());
        version.is_ok() && me.is_ok_and(|me| me.id == self.me.id)
    }
}
