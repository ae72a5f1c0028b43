//! The parts that read, judge and answer what people say, put together.

use super::Threads;
use super::accounts::Accounts;
use super::answer::Answers;
use super::apart::CommandsApart;
use super::attempt::Retries;
use super::audit::Audit;
use super::branch_tips::BranchTips;
use super::decisions::Decisions;
use super::evidence::Edits;
use super::follow::{Dispatcher, Follower};
use super::further::FurtherCommands;
use super::groups::Groups;
use super::hosts::HostCommands;
use super::moved::Moves;
use super::own::OwnCommandReader;
use super::read::ThreadReader;
use super::replies::{InlineComments, ReadReplies};
use super::test_runs::TestRequests;
use crate::clock::Clock;
use crate::config::Process;
use crate::forge::{Account, IssueLocks, Refusals, RepositoryAddresses};
use crate::git::{Auth, Repos};
use crate::secret::Secret;
use crate::store::Store;
use crate::upstream::Upstreams;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

/// What the parts need.
pub struct Dependencies<'a> {
    /// The configuration of this process.
    pub config: Arc<Process>,
    /// Holds tasks, logs, and the keys of what was taken up.
    pub store: Store,
    /// Finds where each configured repository is on the forge now.
    pub addresses: Arc<RepositoryAddresses>,
    /// What the forge's clock said last.
    pub clock: Arc<Clock>,
    /// The bot's own account: its texts never count, as those of the configuration's automation accounts.
    pub me: Account,
    /// The account that synchronises default branches, whose texts never count either.
    pub sync: Option<&'a Account>,
    /// Key of the marks in the bot's posts.
    pub mark_key: Secret,
    /// What carries out `/sync`; none without an account for that.
    pub upstreams: Option<Arc<Upstreams>>,
    /// The bot's own repositories, in which commands of repositories' own and owners of code are read.
    pub repos: Repos,
    /// The credential with which they are fetched.
    pub auth: Auth,
}

/// The parts that several others need.
struct SharedParts {
    accounts: Arc<Accounts>,
    tips: Arc<BranchTips>,
    groups: Arc<Groups>,
    edits: Arc<Edits>,
    moves: Arc<Moves>,
    lines: Arc<InlineComments>,
    audit: Arc<Audit>,
    answers: Arc<Answers>,
    hosts: Arc<HostCommands>,
    own: Arc<OwnCommandReader>,
}

impl Threads {
    /// Builds the parts and connects them.
    pub fn new(given: &Dependencies<'_>) -> Self {
        let shared = given.shared();
        let forge = given.addresses.forge().clone();
        let reader = Arc::new(ThreadReader { forge, lines: shared.lines.clone() });
        let further = Arc::new(FurtherCommands {
            config: given.config.clone(),
            store: given.store.clone(),
            groups: shared.groups.clone(),
            own: shared.own.clone(),
            answers: shared.answers.clone(),
        });
        let retries = Arc::new(Retries {
            config: given.config.clone(),
            store: given.store.clone(),
            groups: shared.groups.clone(),
            tips: shared.tips.clone(),
        });
        let apart = Arc::new(CommandsApart {
            config: given.config.clone(),
            addresses: given.addresses.clone(),
            upstreams: given.upstreams.clone(),
            audit: shared.audit.clone(),
            answers: shared.answers.clone(),
            tests: given.tests(&shared),
        });
        let dispatcher = Dispatcher {
            hosts: shared.hosts.clone(),
            further: further.clone(),
            answers: shared.answers.clone(),
            apart: apart.clone(),
            retries: retries.clone(),
        };
        let follower = Follower {
            config: given.config.clone(),
            store: given.store.clone(),
            addresses: given.addresses.clone(),
            moves: shared.moves.clone(),
            reader: reader.clone(),
            decisions: given.decisions(&shared),
            dispatcher,
        };
        let SharedParts { accounts, groups, edits, moves, answers, hosts, own, .. } = shared;
        Self { accounts, groups, edits, moves, reader, answers, further, hosts, own, retries, apart, follower }
    }
}

impl Dependencies<'_> {
    fn shared(&self) -> SharedParts {
        let (config, store, addresses) = (&self.config, &self.store, &self.addresses);
        let forge = addresses.forge();
        let accounts = Arc::new(self.accounts());
        let tips = Arc::new(BranchTips {
            config: config.clone(),
            forge: forge.clone(),
            addresses: addresses.clone(),
            repos: self.repos.clone(),
            auth: self.auth.clone(),
            reading: IssueLocks::default(),
        });
        let groups = Arc::new(Groups {
            config: config.clone(),
            forge: forge.clone(),
            accounts: accounts.clone(),
            tips: tips.clone(),
        });
        let edits = Arc::new(Edits {
            store: store.clone(),
            forge: forge.clone(),
            addresses: addresses.clone(),
            clock: self.clock.clone(),
        });
        let lines = Arc::new(InlineComments {
            store: store.clone(),
            forge: forge.clone(),
            addresses: addresses.clone(),
            accounts: accounts.clone(),
            read_replies: ReadReplies::default(),
        });
        let audit = Arc::new(Audit { store: store.clone() });
        let answers = Arc::new(self.answers(&accounts, &audit));
        let hosts = Arc::new(HostCommands {
            config: config.clone(),
            store: store.clone(),
            groups: groups.clone(),
            answers: answers.clone(),
        });
        let own = Arc::new(OwnCommandReader {
            config: config.clone(),
            store: store.clone(),
            accounts: accounts.clone(),
            tips: tips.clone(),
            last: Mutex::default(),
        });
        let moves = Arc::new(Moves { store: store.clone(), addresses: addresses.clone() });
        SharedParts { accounts, tips, groups, edits, moves, lines, audit, answers, hosts, own }
    }

    fn accounts(&self) -> Accounts {
        let mut silent: HashSet<String> = self.config.automation_accounts.iter().map(|l| l.to_lowercase()).collect();
        silent.insert(self.me.login.to_lowercase());
        silent.extend(self.sync.map(|account| account.login.to_lowercase()));
        let (forge, addresses) = (self.addresses.forge().clone(), self.addresses.clone());
        Accounts { forge, addresses, me: self.me.clone(), silent, sync: self.sync.map(|account| account.id) }
    }

    fn answers(&self, accounts: &Arc<Accounts>, audit: &Arc<Audit>) -> Answers {
        Answers {
            store: self.store.clone(),
            forge: self.addresses.forge().clone(),
            addresses: self.addresses.clone(),
            accounts: accounts.clone(),
            audit: audit.clone(),
            mark_key: self.mark_key.clone(),
            settle_ms: self.config.forge.settle_ms,
            turns: IssueLocks::default(),
            refused: Refusals::of_rounds(self.config.forge.poll_s),
        }
    }

    fn tests(&self, shared: &SharedParts) -> TestRequests {
        TestRequests {
            config: self.config.clone(),
            store: self.store.clone(),
            forge: self.addresses.forge().clone(),
            addresses: self.addresses.clone(),
            accounts: shared.accounts.clone(),
            groups: shared.groups.clone(),
            moves: shared.moves.clone(),
            answers: shared.answers.clone(),
            bell: Arc::default(),
        }
    }

    fn decisions(&self, shared: &SharedParts) -> Decisions {
        Decisions {
            config: self.config.clone(),
            store: self.store.clone(),
            clock: self.clock.clone(),
            accounts: shared.accounts.clone(),
            edits: shared.edits.clone(),
            groups: shared.groups.clone(),
            hosts: shared.hosts.clone(),
            own: shared.own.clone(),
            tips: shared.tips.clone(),
            lines: shared.lines.clone(),
        }
    }
}
