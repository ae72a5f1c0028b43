//! Why something was not done that the forge, git, a sandbox or the store was asked for: what is only down is tried again and is no
//! verdict. Tests: `tests/stories/`.

use crate::forge::ForgeError;
use crate::git::{GitError, Meaning};
use crate::sandbox::SandboxError;
use crate::store::StoreError;
use domain::Failure;

/// Failed tries after which people are told that a step waits.
pub const TELL_AFTER: i64 = 4;

/// What a forge says that may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// There is no such thing, or the bot's account may not see it.
    Missing,
    /// The token is refused, or the bot's account lacks the right.
    Forbidden,
    /// Its present state is in the way: archived, locked, closed.
    State,
}

/// Why an effect or a reading was not done.
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
        /// Which kind of denial it was.
        denial: Denial,
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
                Failure::ContextFull { .. } => f.write_str("the conversation no longer fits into the model"),
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
            ForgeError::NotFound(_) => Trouble::Doubtful { denial: Denial::Missing, sentence },
            ForgeError::Forbidden(_) => Trouble::Doubtful { denial: Denial::Forbidden, sentence },
            ForgeError::Conflict(_) => Trouble::Doubtful { denial: Denial::State, sentence },
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
            Meaning::Missing => Trouble::Doubtful { denial: Denial::Missing, sentence },
            Meaning::Forbidden => Trouble::Doubtful { denial: Denial::Forbidden, sentence },
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
