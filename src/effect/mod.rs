//! Carries out what a transition asked for, one file for each kind. `docs/effects.md` says for each: its key, how it is repeated,
//! what it may leave behind.
//!
//! An effect answers with the input that closes it, or with [`Trouble`]: what is only down is tried again and is no verdict.
//! Nothing here decides what happens next; that is `domain::transition`'s. Tests: `tests/stories/`.

mod act;
mod base;
mod brief;
mod certain;
mod converse;
mod egress;
mod guard;
mod image;
mod lanes;
mod policy;
mod prepare;
mod publish;
mod repository;
mod review;
mod style;
mod talk;
mod verify;
mod view;

pub use certain::{No, Refusals};
pub(crate) use image::{Choice, Chosen, Told, read as read_toolchain};
pub use lanes::Lanes;
pub(crate) use policy::granted;
pub use repository::Repository;

use crate::barrier::Inspector;
use crate::config::process::Role;
use crate::config::{Process, Secret};
use crate::engine::EngineConfig;
use crate::engine::style::Style;
use crate::forge::{Account, Forge, ForgeError, Whereabouts};
use crate::git::{Auth, GitError, Meaning, Repos};
use crate::llm::{Model, Models};
use crate::sandbox::{SandboxError, Sandboxes};
use crate::store::{EffectRow, Store, StoreError};
use domain::{Again, Effect, Failure, Input, Task, TaskId, TaskKind};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// Why an effect was not done.
#[derive(Debug, Clone, PartialEq)]
pub enum Trouble {
    /// Something it needs is down or busy: again later, after `after_ms` or the outbox's own back-off.
    Later {
        /// What is in the way, for people to read.
        sentence: String,
        /// Milliseconds that the other side asked to wait; none where it named no time.
        after_ms: Option<u64>,
    },
    /// The repository has another address: again once it was looked up.
    Moved {
        /// What the forge or git said.
        sentence: String,
    },
    /// The forge says no, which counts only once it is certain.
    Doubtful {
        /// Which kind of "no" it was.
        no: No,
        /// What the forge or git said.
        sentence: String,
    },
    /// It cannot be done as things stand: the effect ends with this failure.
    Failed(Failure),
}

impl Trouble {
    /// [`Trouble::Later`] with the outbox's own back-off.
    pub fn later(sentence: impl Into<String>) -> Self {
        Trouble::Later { sentence: sentence.into(), after_ms: None }
    }

    /// A person has to do something first.
    pub fn blocked(sentence: impl Into<String>) -> Self {
        Trouble::Failed(Failure::Blocked { sentence: sentence.into() })
    }
}

impl std::fmt::Display for Trouble {
    /// The sentence alone.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Later { sentence, .. } | Self::Moved { sentence } | Self::Doubtful { sentence, .. } => {
                f.write_str(sentence)
            }
            Self::Failed(failure) => match failure {
                Failure::Blocked { sentence } | Failure::Fatal { why: sentence } => f.write_str(sentence),
                Failure::ContextFull => f.write_str("the conversation no longer fits into the model"),
                Failure::SandboxGone { loss } => write!(f, "the sandbox is gone: {loss}"),
            },
        }
    }
}

impl From<ForgeError> for Trouble {
    fn from(error: ForgeError) -> Self {
        let sentence = error.to_string();
        match error {
            ForgeError::Unavailable { retry_after_ms, .. } => Trouble::Later { sentence, after_ms: retry_after_ms },
            ForgeError::Ambiguous(_) | ForgeError::Protocol(_) => Trouble::later(sentence),
            ForgeError::Moved(_) => Trouble::Moved { sentence },
            ForgeError::NotFound(_) => Trouble::Doubtful { no: No::Missing, sentence },
            ForgeError::Forbidden(_) => Trouble::Doubtful { no: No::Forbidden, sentence },
            ForgeError::Conflict(_) => Trouble::Doubtful { no: No::State, sentence },
            ForgeError::Invalid(_) | ForgeError::TooLarge(_) => Trouble::blocked(sentence),
        }
    }
}

impl From<GitError> for Trouble {
    fn from(error: GitError) -> Self {
        let sentence = error.to_string();
        match error.meaning() {
            Meaning::Away => Trouble::later(sentence),
            Meaning::Moved => Trouble::Moved { sentence },
            Meaning::Missing => Trouble::Doubtful { no: No::Missing, sentence },
            Meaning::Forbidden => Trouble::Doubtful { no: No::Forbidden, sentence },
            Meaning::Lasting => Trouble::blocked(sentence),
        }
    }
}

impl From<SandboxError> for Trouble {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::Unavailable(why) => Trouble::later(format!("the sandbox cannot be reached: {why}")),
            SandboxError::Gone(loss) => Trouble::Failed(Failure::SandboxGone { loss }),
            SandboxError::Refused(sentence) | SandboxError::Limit(sentence) => Trouble::blocked(sentence),
        }
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Trouble::later(error.to_string())
    }
}

/// Takes an input to a task in the middle of an effect.
#[async_trait::async_trait]
pub trait Feed: Send + Sync {
    /// The task as it then is; none when the key had been used before.
    async fn feed(&self, id: TaskId, key: &str, input: Input) -> Result<Option<Task>, StoreError>;
}

/// A model, and what every conversation with it is made from.
pub struct Speaker {
    /// The model that is asked.
    pub model: Arc<dyn Model>,
    /// What the operator set for its conversations, and the key of their fences.
    pub engine: EngineConfig,
}

impl Speaker {
    /// The configuration's model for a role. `secret` keys the marks of its conversations.
    pub fn of(config: &Process, models: &Models, role: Role, secret: &Secret) -> Self {
        Self { model: models.of(role), engine: EngineConfig::of(secret.clone(), config.models.of(role)) }
    }
}

/// Carries out effects of all tasks, and holds whatever they need.
pub struct EffectRunner {
    /// The configuration of this process.
    pub config: Arc<Process>,
    /// Where tasks, their logs and effects are kept.
    pub store: Store,
    /// The forge, as the bot's own account sees it.
    pub forge: Arc<dyn Forge>,
    /// Where each configured repository is on the forge now.
    pub whereabouts: Arc<Whereabouts>,
    /// The bot's own account.
    pub me: Account,
    /// The credential with which git fetches from and pushes to the forge.
    pub auth: Auth,
    /// The sandboxes of all tasks.
    pub sandboxes: Arc<Sandboxes>,
    /// Asked before anything of an agent runs in a sandbox.
    pub inspector: Arc<dyn Inspector>,
    /// The model that works on `/fix`.
    pub worker: Speaker,
    /// The model that answers `/plan`.
    pub planner: Speaker,
    /// How the worker is talked to, once it is known.
    pub style: tokio::sync::OnceCell<Style>,
    /// The bot's bare repositories in the state directory.
    pub repos: Repos,
    /// Signs the marks by which our own posts are found again.
    pub mark_key: Secret,
    /// The number of this process's life, from [`Store::begin_epoch`].
    pub epoch: i64,
    /// Held while rules are made and told to the router.
    pub reaching: tokio::sync::Mutex<()>,
    /// When each repository was last seen to have no foreign listener.
    pub listened: std::sync::Mutex<HashMap<String, Instant>>,
    /// Pull requests on which our last review of this life was seen whole: nothing of ours is left over there.
    pub tidy: std::sync::Mutex<HashSet<(String, u64)>>,
    /// Posts on one pull request go out one after the other: the forge mixes concurrent ones of one account.
    pub lanes: Lanes,
}

impl EffectRunner {
    /// Does one effect. `row.tries` counts the tries before this one.
    pub async fn perform(&self, task: &Task, row: &EffectRow, feed: &dyn Feed) -> Result<Input, Trouble> {
        if self.ambiguous(row) {
            self.settle().await;
        }
        match &row.effect {
            Effect::Prepare { .. } => self.prepare(task).await,
            Effect::Converse { turn } => self.converse(task, *turn, row, feed).await,
            Effect::Act { number, action } => self.act(task, *number, action, row.tries).await,
            Effect::Seal { n, why } => self.seal(task, *n, *why).await,
            Effect::Push { n, commit, expected } => self.push(task, *n, commit, expected.as_ref()).await,
            Effect::OpenPull => self.open_pull(task, self.ambiguous(row)).await,
            Effect::Review { n, commit, last } => self.review(task, row, *n, commit.as_ref(), *last).await,
            Effect::Verify { n, commit } => self.verify(task, *n, commit, row.tries).await,
            Effect::Open { .. } => self.open(task, row).await,
            Effect::Rest { .. } => self.rest(task).await,
            Effect::Keep { serial } => self.keep(task, *serial).await,
            Effect::Shelve { shelf, .. } => self.shelve(task, *shelf).await,
            Effect::Teardown => self.teardown(task).await,
            Effect::ClosePull => self.close_pull(task).await,
            Effect::ReadyPull => self.ready_pull(task).await,
            Effect::Egress { serial, repo, notice } => self.egress(task, *repo, *serial, notice).await,
            Effect::Comment { notice, .. } => self.comment(task, row, notice).await,
            Effect::Label { name, .. } => self.label(task, name).await,
            Effect::CommitStatus { n, commit, state } => self.commit_status(task, *n, commit, state).await,
            // These two read the forge as the handlers do: the outbox asks them.
            Effect::Recheck { .. } | Effect::Advance { .. } => Ok(Input::Settled),
        }
    }

    /// Who answers in this task as it is now: a plan that is carried out is the worker's.
    fn speaker(&self, task: &Task) -> &Speaker {
        match task.kind {
            TaskKind::Fix => &self.worker,
            TaskKind::Plan => &self.planner,
        }
    }

    /// Whether an earlier try may have posted it without our knowing.
    fn ambiguous(&self, row: &EffectRow) -> bool {
        row.tries > 0 && row.effect.needs().again == Again::ReadBack
    }

    /// Gives what an interrupted request may still do time to land.
    async fn settle(&self) {
        tokio::time::sleep(std::time::Duration::from_millis(self.config.forge.settle_ms)).await;
    }
}
