//! What a person said about a task, read from the forge and checked for the author's rights.

use crate::{Bar, Budget, Commit, Millis, OldLine, TaskKind, Terms};
use serde::{Deserialize, Serialize};

/// Why a decision of somebody without write access was refused, as the log has it.
pub const NO_RIGHT: &str = "no write access";

/// Why a command that is none was refused where its author has no write access, as the log has it.
pub const NO_COMMAND: &str = "no command, and no write access";

/// Why a decision was refused because the operator does not list its author for the command, as the log has it.
pub const NOT_AMONG: &str = "not among those whom the operator lets say it";

/// What an account may do with the repository's *code*.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// No access to the code, or no such account.
    None,
    /// May read the code.
    Read,
    /// May write to the code: the least that a decision needs.
    Write,
    /// Administrator of the repository, as the forge tells it.
    Admin,
    /// Owner of the repository, as the forge tells it.
    Owner,
}

/// An account of the forge.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Account {
    /// The forge's id of the account, which stays when the account is renamed.
    pub id: i64,
    /// Login of the account when this was read.
    pub login: String,
}

/// Who may grant a task more than its budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Granters {
    /// Nobody: `/budget` is refused to everybody.
    #[default]
    Nobody,
    /// Accounts with at least [`Access::Admin`].
    Admins,
    /// Accounts with at least [`Access::Write`].
    Writers,
}

impl Granters {
    /// Whether an account with this right may.
    pub fn include(self, right: Access) -> bool {
        match self {
            Granters::Nobody => false,
            Granters::Admins => right >= Access::Admin,
            Granters::Writers => right >= Access::Write,
        }
    }
}

/// The forge object that holds the text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "from", content = "id", rename_all = "snake_case")]
pub enum Source {
    /// The text of an issue, by the forge's id of the issue (not its number in the repository).
    Issue(i64),
    /// A comment of an issue or pull request, by the forge's id of the comment.
    Comment(i64),
    /// A review of a pull request, by the forge's id of the review.
    Review(i64),
    /// An assignment or label of an issue, by its number in the forge's sequence of comments. It says nothing but that.
    Change(i64),
    /// A reply in a conversation on a line of a pull request.
    Reply {
        /// The forge's id of the review under which it is listed.
        review: i64,
        /// The forge's id of the reply, in one sequence with those of comments.
        comment: i64,
    },
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Issue(id) => write!(f, "issue:{id}"),
            // One sequence numbers both, and the forge's deliveries call both comments.
            Source::Comment(id) | Source::Reply { comment: id, .. } => write!(f, "comment:{id}"),
            Source::Review(id) => write!(f, "review:{id}"),
            Source::Change(id) => write!(f, "change:{id}"),
        }
    }
}

/// One remark of a reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// File that the remark is about, relative to the repository's root; none for a remark on the whole.
    pub path: Option<String>,
    /// Line in the new file; none for a remark on the whole or on a removed line.
    pub line: Option<u64>,
    /// The remark as its author wrote it. Untrusted.
    pub text: String,
    /// Login of whoever wrote it.
    pub author: String,
    /// The forge's id of the inline comment; none for a remark on the whole, and in logs of versions that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<i64>,
    /// Line in the old file; none where there is one in the new file, and in logs of versions that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<OldLine>,
}

impl Item {
    /// A remark about the whole change.
    pub fn on_the_whole(text: &str, author: &str) -> Item {
        Item { path: None, line: None, text: text.to_owned(), author: author.to_owned(), comment: None, old: None }
    }
}

/// What a person asks for, parsed from the text or the state of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum Verb {
    /// Approves a checkpoint, and `next` later ones in advance.
    Approve {
        /// Number of the checkpoint that was named (`c3`); none where none was named.
        checkpoint: Option<u32>,
        /// Commit id or prefix of one that was named, in lower-case hexadecimal; none where none was named.
        commit: Option<String>,
        /// How many later checkpoints are approved in advance, at most [`crate::ADVANCE_LIMIT`]; 0 for none.
        #[serde(default)]
        next: u8,
    },
    /// Asks for changes, by `/revise` or by a review that requests changes.
    Changes {
        /// What to change.
        items: Vec<Item>,
    },
    /// `/stop`: ends the task.
    Stop,
    /// `/pause`: work stops until a person resumes it.
    Pause,
    /// `/retry`: ends the task and starts a new attempt at the same request.
    Retry {
        /// Number of the approved checkpoint that it begins from; none = from the base.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u32>,
    },
    /// `/rebase`: wants the work on the base branch's newest commit.
    Rebase {
        /// The commit at which that branch ends, looked up when this was read; none where the forge has no such branch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tip: Option<Commit>,
    },
    /// `/merge`: wants the pull request of approved work merged on the forge.
    Merge {
        /// Why the operator does not let it, looked up when this was read; none where nothing bars it.
        bar: Option<crate::MergeBar>,
    },
    /// `/resume`: ends a pause.
    Resume,
    /// `/status`: asks where the task stands.
    Status,
    /// `/cost`: asks what was used and what is left.
    Cost,
    /// `/ask`, or a remark that mentions the bot with a question: wants only an answer.
    Ask {
        /// What is asked. Untrusted.
        question: String,
    },
    /// `/help`: asks for the list of commands.
    Help,
    /// `/test-pr`, `/test-pr-bug`: wants a command run on a branch, beside whatever a task does; no task takes it up.
    Test {
        /// What is run. Data.
        command: String,
        /// What is run before it in the same sandbox; none where nothing is. Data.
        setup: Option<String>,
        /// Name of the branch; none = that of the pull request where it is said.
        branch: Option<String>,
        /// Whether it is run on the base as well, to see that it fails there.
        bug: bool,
        /// Whether it is run again at each push to the pull request where it is said.
        #[serde(default)]
        each_push: bool,
    },
    /// `/test-pr --off`: nothing is run at a push to this pull request any more.
    TestOff,
    /// `/sync`: wants the repository brought in step with its upstream, beside whatever a task does; no task takes it up.
    Sync,
    /// `/fix`: starts a task that may write, or lets a read-only task go on as one.
    Fix {
        /// Text after the command and its options; may be empty. Untrusted.
        words: String,
        /// What its options ask for.
        #[serde(default, skip_serializing_if = "Terms::is_empty")]
        terms: Terms,
    },
    /// `/plan`: starts a read-only task.
    Plan {
        /// Text after the command and its options; may be empty. Untrusted.
        words: String,
        /// What its options ask for.
        #[serde(default, skip_serializing_if = "Terms::is_empty")]
        terms: Terms,
    },
    /// Starts a task of one of the other kinds.
    Work {
        /// Which kind; [`Verb::begin`] keeps [`TaskKind::Fix`] and [`TaskKind::Plan`] out of here.
        kind: TaskKind,
        /// What stands behind the command and its options; empty where nothing does. Data.
        words: String,
        /// What its options ask for.
        #[serde(default, skip_serializing_if = "Terms::is_empty")]
        terms: Terms,
    },
    /// A remark without a command; it reaches the agent with the next decision.
    Say {
        /// The remarks of the text.
        items: Vec<Item>,
    },
    /// `/allow`: lets the task reach a host.
    Allow {
        /// The host as a rule of the router is written, in punycode: `host`, `host:port` or `*.suffix`.
        host: String,
        /// Whether it is allowed for the repository's later tasks too.
        repo: bool,
        /// Why the host can't be allowed, looked up when this was read; none where nothing forbids it.
        bar: Option<Bar>,
    },
    /// `/deny`: takes back every grant with this name.
    Deny {
        /// The host as a rule of the router is written; without a port it names grants of every port.
        host: String,
        /// Whether one of the repository's lasting grants has this name.
        kept: bool,
    },
    /// `/budget`: grants more. `ceiling` and `who` are the operator's settings, looked up when this was read.
    Budget {
        /// Amounts to add; 0 in a kind adds nothing.
        more: Budget,
        /// The most that one task may be granted in all; 0 in a kind is no limit.
        #[serde(default)]
        ceiling: Budget,
        /// Who may grant.
        #[serde(default)]
        who: Granters,
    },
    /// `/model`: names the model that answers from the next turn on.
    Model {
        /// Id of the model's entry in the configuration, as it was named.
        id: String,
        /// Ids of the entries that the operator lets commands name, looked up when this was read.
        #[serde(default)]
        among: Vec<String>,
    },
    /// An unknown command, or a known one that can't be followed; then `why` says what is wrong with it.
    Unknown {
        /// The word behind the slash, in lower case and without the slash.
        word: String,
        /// What is wrong with a command that exists, as half a sentence; none where there is no such command.
        #[serde(default)]
        why: Option<String>,
    },
}

/// One decision, as evidence: who, with what right, when in the forge's order, about which commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The text that carries it.
    pub source: Source,
    /// The forge's rising number over comments and reviews: the order that counts.
    pub number: i64,
    /// Number of the issue or pull request where the text stands; none in logs of versions that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u64>,
    /// Unix milliseconds at which the text was posted, by the bot's clock; by the forge's for the text that began a
    /// task.
    pub at: Millis,
    /// Account that posted the text.
    pub poster: Account,
    /// The poster's right to the code, asked when this was read.
    pub right: Access,
    /// The commit that a review names; a comment carries none.
    pub commit: Option<Commit>,
    /// The pull request's head and base when this was read.
    pub head: Option<Commit>,
    /// Name of the branch that the pull request aims at; none without a pull request.
    pub base: Option<String>,
    /// SHA-256 of the text, hexadecimal; of a review with remarks, of the whole of it.
    pub text_hash: String,
    /// Whether the text was changed after it was posted: then nothing in it counts.
    pub edited: bool,
    /// It was given for this checkpoint before that stood; right, head and base are those of the moment of use.
    #[serde(default)]
    pub in_advance: bool,
    /// Whom the operator lets say this, where the poster is none of them; as the end of "it is for".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barred: Option<String>,
    /// What of the operator's lists lets the poster say this, where those name fewer than all who otherwise may: `admins`, `@login`,
    /// `team:ORG/NAME`, `code_owners`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<String>,
    /// Who else has to approve, where one person is not enough here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Box<Others>>,
    /// Whether the pull request is merged once this is the final approval, as the operator set it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merges: bool,
    /// Whether it stands in a review that only comments, which approves nothing by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_comments: bool,
    /// What was asked for.
    pub verb: Verb,
}

impl Decision {
    /// What the text `number` says, without further evidence: posted at 0, no commit, head, base or hash, not edited.
    pub fn new(source: Source, number: i64, (poster, right): (Account, Access), verb: Verb) -> Self {
        Decision {
            source,
            number,
            thread: None,
            at: 0,
            poster,
            right,
            commit: None,
            head: None,
            base: None,
            text_hash: String::new(),
            edited: false,
            in_advance: false,
            barred: None,
            listed: Vec::new(),
            others: None,
            merges: false,
            only_comments: false,
            verb,
        }
    }
}

/// Approvals besides one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Others {
    /// How many more people have to approve the same checkpoint; above 0.
    pub needed: u8,
    /// Earlier approvals that were held for this, as they read now.
    pub approvals: Vec<Decision>,
}

impl Verb {
    /// Name of the command that asks for this; none for a remark, or for what is no command.
    pub fn command(&self) -> Option<&'static str> {
        Some(match self {
            Verb::Approve { .. } => "approve",
            Verb::Changes { .. } => "revise",
            Verb::Stop => "stop",
            Verb::Pause => "pause",
            Verb::Retry { .. } => "retry",
            Verb::Rebase { .. } => "rebase",
            Verb::Merge { .. } => "merge",
            Verb::Resume => "resume",
            Verb::Status => "status",
            Verb::Cost => "cost",
            Verb::Ask { .. } => "ask",
            Verb::Help => "help",
            Verb::Test { bug: false, .. } => "test-pr",
            Verb::Test { bug: true, .. } => "test-pr-bug",
            Verb::TestOff => "test-pr",
            Verb::Sync => "sync",
            Verb::Fix { .. } => "fix",
            Verb::Plan { .. } => "plan",
            Verb::Work { kind, .. } => kind.name(),
            Verb::Allow { .. } => "allow",
            Verb::Deny { .. } => "deny",
            Verb::Budget { .. } => "budget",
            Verb::Model { .. } => "model",
            Verb::Say { .. } | Verb::Unknown { .. } => return None,
        })
    }

    /// The least right to the code that it takes.
    pub fn least(&self) -> Access {
        match self {
            Verb::Status | Verb::Cost | Verb::Help | Verb::Unknown { .. } => Access::Read,
            Verb::Approve { .. }
            | Verb::Changes { .. }
            | Verb::Stop
            | Verb::Pause
            | Verb::Retry { .. }
            | Verb::Rebase { .. }
            | Verb::Merge { .. }
            | Verb::Resume
            | Verb::Ask { .. }
            | Verb::Test { .. }
            | Verb::TestOff
            | Verb::Sync
            | Verb::Fix { .. }
            | Verb::Plan { .. }
            | Verb::Work { .. }
            | Verb::Say { .. }
            | Verb::Allow { .. }
            | Verb::Deny { .. }
            | Verb::Budget { .. }
            | Verb::Model { .. } => Access::Write,
        }
    }

    /// Whether it is carried out beside whatever a task does, and without one too.
    pub fn is_apart(&self) -> bool {
        matches!(self, Verb::Test { .. } | Verb::TestOff | Verb::Sync)
    }

    /// The host that it allows or denies.
    pub fn host(&self) -> Option<&str> {
        if let Verb::Allow { host, .. } | Verb::Deny { host, .. } = self { Some(host) } else { None }
    }

    /// Asks for a task of this kind.
    pub fn begin(kind: TaskKind, words: String, terms: Terms) -> Verb {
        match kind {
            TaskKind::Fix => Verb::Fix { words, terms },
            TaskKind::Plan => Verb::Plan { words, terms },
            TaskKind::Explain
            | TaskKind::Test
            | TaskKind::Refactor
            | TaskKind::Review
            | TaskKind::Security
            | TaskKind::Deps
            | TaskKind::Search => Verb::Work { kind, words, terms },
        }
    }

    /// The task that it asks for, where no task is at work: kind, words and options; none where it begins none.
    pub fn begins(&self) -> Option<(TaskKind, &str, &Terms)> {
        match self {
            Verb::Fix { words, terms } => Some((TaskKind::Fix, words, terms)),
            Verb::Plan { words, terms } => Some((TaskKind::Plan, words, terms)),
            Verb::Work { kind, words, terms } => Some((*kind, words, terms)),
            Verb::Approve { .. }
            | Verb::Changes { .. }
            | Verb::Stop
            | Verb::Pause
            | Verb::Retry { .. }
            | Verb::Rebase { .. }
            | Verb::Merge { .. }
            | Verb::Resume
            | Verb::Status
            | Verb::Cost
            | Verb::Ask { .. }
            | Verb::Test { .. }
            | Verb::TestOff
            | Verb::Sync
            | Verb::Help
            | Verb::Say { .. }
            | Verb::Allow { .. }
            | Verb::Deny { .. }
            | Verb::Budget { .. }
            | Verb::Model { .. }
            | Verb::Unknown { .. } => None,
        }
    }

    /// `/approve` and no more.
    pub fn approve() -> Verb {
        Verb::Approve { checkpoint: None, commit: None, next: 0 }
    }
}
