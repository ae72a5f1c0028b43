//! What a person said about a task, already read from the forge and checked for who said it.

use crate::{Bar, Budget, Commit, Millis};
use serde::{Deserialize, Serialize};

/// Why a decision of somebody without write access was refused, as the log has it.
pub const NO_RIGHT: &str = "no write access";

/// What an account may do with the repository's *code*.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    None,
    Read,
    Write,
    Admin,
    Owner,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Account {
    pub id: i64,
    pub login: String,
}

/// Who may grant a task more than its budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Granters {
    #[default]
    Nobody,
    Admins,
    Writers,
}

/// The forge object that carries the words.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "from", content = "id", rename_all = "snake_case")]
pub enum Source {
    Issue(i64),
    Comment(i64),
    Review(i64),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Issue(id) => write!(f, "issue:{id}"),
            Source::Comment(id) => write!(f, "comment:{id}"),
            Source::Review(id) => write!(f, "review:{id}"),
        }
    }
}

/// One remark of a reviewer; `path` and `line` when it stands on a line of the diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    pub path: Option<String>,
    pub line: Option<u64>,
    pub text: String,
    pub author: String,
}

impl Item {
    /// A remark on the whole.
    pub fn on_the_whole(text: &str, author: &str) -> Item {
        Item { path: None, line: None, text: text.to_owned(), author: author.to_owned() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum Verb {
    /// `checkpoint` and `commit` as the person named them; `commit` may be a prefix of at least seven digits.
    /// `next` checkpoints after it are approved in advance.
    Approve {
        checkpoint: Option<u32>,
        commit: Option<String>,
        #[serde(default)]
        next: u8,
    },
    Changes {
        items: Vec<Item>,
    },
    Stop,
    Resume,
    Status,
    Help,
    Fix {
        words: String,
    },
    Plan {
        words: String,
    },
    /// A remark that decides nothing; it reaches the agent with the next decision.
    Say {
        items: Vec<Item>,
    },
    /// `bar` is what stands against it, looked up when this was read.
    Allow {
        host: String,
        repo: bool,
        bar: Option<Bar>,
    },
    /// `kept`: the repository has such a grant, seen when this was read.
    Deny {
        host: String,
        kept: bool,
    },
    /// Grants more. `ceiling` is the most that one task may be granted in all, `who` may grant: both the operator's, looked up
    /// when this was read.
    Budget {
        more: Budget,
        #[serde(default)]
        ceiling: Budget,
        #[serde(default)]
        who: Granters,
    },
    /// No command, or one that can't be followed: then `why` says what is wrong with it.
    Unknown {
        word: String,
        #[serde(default)]
        why: Option<String>,
    },
}

/// One decision, as evidence: who, with what right, when in the forge's order, about which commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub source: Source,
    /// The forge's rising number over comments and reviews: the order that counts.
    pub number: i64,
    pub at: Millis,
    pub poster: Account,
    /// The poster's right to the code, asked when this was read.
    pub right: Access,
    /// The commit that a review names; a comment carries none.
    pub commit: Option<Commit>,
    /// The pull request's head and base when this was read.
    pub head: Option<Commit>,
    pub base: Option<String>,
    /// SHA-256 of the text, hexadecimal; of a review with remarks, of the whole of it.
    pub text_hash: String,
    /// Whether the text was changed after it was posted: then nothing in it counts.
    pub edited: bool,
    /// It was given for this checkpoint before that stood; right, head and base are those of the moment of use.
    #[serde(default)]
    pub in_advance: bool,
    pub verb: Verb,
}

impl Verb {
    /// `/approve` and no more.
    pub fn approve() -> Verb {
        Verb::Approve { checkpoint: None, commit: None, next: 0 }
    }
}
