//! The parts that carry effects out, put together.

use super::act::Actions;
use super::checks::Checks;
use super::configured_model::ConfiguredModels;
use super::converse::Conversations;
use super::images::Images;
use super::known_commits::KnownCommits;
use super::lifecycle::Lifecycle;
use super::listeners::Listeners;
use super::money::{Paid, SpendingLimits};
use super::permission::Rulebook;
use super::pictures::Pictures;
use super::posts::Posts;
use super::publish::Publisher;
use super::reply::Replies;
use super::review::Talk;
use super::second_look::SecondLook;
use super::summarizer::Summarizer;
use super::turned_away::TurnedAway;
use super::{CiReader, EffectRunner, Egress, Repositories, TestRuns};
use crate::barrier::Inspector;
use crate::config::{Process, Secret};
use crate::forge::{Account, Forge, RepositoryAddresses};
use crate::git::{Auth, Repos};
use crate::llm::Models;
use crate::sandbox::Sandboxes;
use crate::scan::{Advisories, NewestVersions};
use crate::store::Store;
use crate::thread::Threads;
use std::sync::Arc;

/// The dependencies of all effects.
pub struct Dependencies<'a> {
    /// The configuration of this process.
    pub config: Arc<Process>,
    /// Holds tasks, logs and effects.
    pub store: Store,
    /// The forge, as the bot's own account sees it.
    pub forge: Arc<dyn Forge>,
    /// Finds where each configured repository is on the forge now.
    pub addresses: Arc<RepositoryAddresses>,
    /// Reads what people say to tasks.
    pub threads: Arc<Threads>,
    /// The bot's own account.
    pub me: Account,
    /// The credential with which git fetches from and pushes to the forge.
    pub auth: Auth,
    /// The sandboxes of all tasks.
    pub sandboxes: Arc<Sandboxes>,
    /// Inspects each sandbox before anything of an agent runs in it.
    pub inspector: Arc<dyn Inspector>,
    /// The configured models, by role.
    pub models: &'a Models,
    /// The bot's bare repositories in the state directory.
    pub repos: Repos,
    /// Key of the marks in the bot's own posts, of each conversation's fence, and of packs in the store.
    pub mark_key: Secret,
    /// Number of this process's epoch, from [`Store::begin_epoch`].
    pub epoch: i64,
}

/// Dependencies of everything that happens in sandboxes.
struct SharedParts {
    repositories: Arc<Repositories>,
    egress: Arc<Egress>,
    checks: Arc<Checks>,
    lifecycle: Arc<Lifecycle>,
    listeners: Arc<Listeners>,
    pictures: Arc<Pictures>,
    ci: Arc<CiReader>,
}

impl EffectRunner {
    /// Builds the parts and connects them.
    pub fn new(given: Dependencies<'_>) -> Self {
        let models = Arc::new(ConfiguredModels::new(&given.config, given.models, &given.mark_key));
        let shared = given.shared(&models);
        let paid = Arc::<Paid>::default();
        let spending_limits = Arc::new(SpendingLimits {
            paid: paid.clone(),
            repositories: shared.repositories.clone(),
            store: given.store.clone(),
            spending: tokio::sync::Mutex::default(),
        });
        let summarizer = given.summarizer(&models, &spending_limits);
        Self {
            settle_ms: given.config.forge.settle_ms,
            status_edit_ms: i64::try_from(given.config.forge.status_edit_s.saturating_mul(1000)).unwrap_or(i64::MAX),
            test_runs: given.test_runs(&shared),
            ci: shared.ci.clone(),
            actions: given.actions(&shared, &summarizer),
            conversations: given.conversations(&shared, &models, &spending_limits, summarizer),
            publisher: given.publisher(&shared),
            talk: given.talk(&shared, models, spending_limits),
            egress: shared.egress,
            repositories: shared.repositories,
            checks: shared.checks,
            lifecycle: shared.lifecycle,
            threads: given.threads,
            paid,
        }
    }
}

impl Dependencies<'_> {
    fn shared(&self, models: &Arc<ConfiguredModels>) -> SharedParts {
        let (config, store, sandboxes) = (&self.config, &self.store, &self.sandboxes);
        let repositories = Arc::new(Repositories {
            config: config.clone(),
            store: store.clone(),
            addresses: self.addresses.clone(),
            repos: self.repos.clone(),
            auth: self.auth.clone(),
            pack_key: self.mark_key.clone(),
            known_commits: KnownCommits::default(),
            projects: std::sync::Mutex::default(),
        });
        let egress = Arc::new(Egress {
            store: store.clone(),
            sandboxes: sandboxes.clone(),
            repositories: repositories.clone(),
            reaching: tokio::sync::Mutex::default(),
        });
        let images = Arc::new(Images { sandboxes: sandboxes.clone(), repositories: repositories.clone() });
        let checks = Arc::new(Checks {
            sandboxes: sandboxes.clone(),
            repositories: repositories.clone(),
            images: images.clone(),
        });
        let listeners = Arc::new(Listeners::new(config.clone(), self.forge.clone()));
        let pictures = Arc::new(Pictures { store: store.clone(), forge: self.forge.clone(), models: models.clone() });
        let lifecycle = Arc::new(Lifecycle {
            store: store.clone(),
            sandboxes: sandboxes.clone(),
            repositories: repositories.clone(),
            egress: egress.clone(),
            images,
            checks: checks.clone(),
            pictures: pictures.clone(),
            models: models.clone(),
            advisories: Arc::new(Advisories::new(config.advisories.dir.clone())),
            newest: NewestVersions::new(config.advisories.newest_dir.clone()),
            listeners: listeners.clone(),
            inspector: self.inspector.clone(),
        });
        let ci = Arc::new(CiReader { forge: self.forge.clone(), repositories: repositories.clone() });
        SharedParts { repositories, egress, checks, lifecycle, listeners, pictures, ci }
    }

    fn actions(&self, shared: &SharedParts, summarizer: &Arc<Summarizer>) -> Actions {
        let rulebook = Rulebook { store: self.store.clone(), repositories: shared.repositories.clone() };
        Actions {
            store: self.store.clone(),
            sandboxes: self.sandboxes.clone(),
            repositories: shared.repositories.clone(),
            egress: shared.egress.clone(),
            checks: shared.checks.clone(),
            lifecycle: shared.lifecycle.clone(),
            pictures: shared.pictures.clone(),
            rulebook,
            summarizer: summarizer.clone(),
        }
    }

    fn publisher(&self, shared: &SharedParts) -> Publisher {
        Publisher {
            config: self.config.clone(),
            forge: self.forge.clone(),
            me: self.me.clone(),
            store: self.store.clone(),
            threads: self.threads.clone(),
            sandboxes: self.sandboxes.clone(),
            repositories: shared.repositories.clone(),
            lifecycle: shared.lifecycle.clone(),
            listeners: shared.listeners.clone(),
        }
    }

    fn test_runs(&self, shared: &SharedParts) -> Arc<TestRuns> {
        Arc::new(TestRuns {
            forge: self.forge.clone(),
            sandboxes: self.sandboxes.clone(),
            repositories: shared.repositories.clone(),
            posts: Posts::new(self.forge.clone(), self.store.clone(), self.me.id, self.mark_key.clone()),
            settle_ms: self.config.forge.settle_ms,
        })
    }

    fn summarizer(&self, models: &Arc<ConfiguredModels>, spending_limits: &Arc<SpendingLimits>) -> Arc<Summarizer> {
        Arc::new(Summarizer {
            models: models.clone(),
            store: self.store.clone(),
            spending_limits: spending_limits.clone(),
            epoch: self.epoch,
        })
    }

    fn conversations(
        &self,
        shared: &SharedParts,
        models: &Arc<ConfiguredModels>,
        spending_limits: &Arc<SpendingLimits>,
        summarizer: Arc<Summarizer>,
    ) -> Conversations {
        Conversations {
            store: self.store.clone(),
            sandboxes: self.sandboxes.clone(),
            repositories: shared.repositories.clone(),
            checks: shared.checks.clone(),
            models: models.clone(),
            spending_limits: spending_limits.clone(),
            pictures: shared.pictures.clone(),
            summarizer,
            epoch: self.epoch,
            turned_away: TurnedAway::default(),
        }
    }

    fn talk(&self, shared: &SharedParts, models: Arc<ConfiguredModels>, spending_limits: Arc<SpendingLimits>) -> Talk {
        let second_look = SecondLook {
            models: models.clone(),
            store: self.store.clone(),
            spending_limits: spending_limits.clone(),
            epoch: self.epoch,
        };
        let replies = Replies {
            store: self.store.clone(),
            repositories: shared.repositories.clone(),
            models: models.clone(),
            spending_limits,
            epoch: self.epoch,
        };
        Talk {
            config: self.config.clone(),
            store: self.store.clone(),
            forge: self.forge.clone(),
            threads: self.threads.clone(),
            repositories: shared.repositories.clone(),
            egress: self.sandboxes.egress.clone(),
            models,
            second_look,
            replies,
            posts: Posts::new(self.forge.clone(), self.store.clone(), self.me.id, self.mark_key.clone()),
            ci: shared.ci.clone(),
        }
    }
}
