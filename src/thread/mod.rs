//! What people say in the threads of a task: read from the forge, checked for its author's right and for edits, and fed to the task, each
//! text once.
//!
//! Parts with one job each, put together in `parts.rs`: whose texts count and with what right (`accounts.rs`), who is let in beyond that
//! (`groups.rs`), where branches end (`branch_tips.rs`), edits (`evidence.rs`), the thread as the forge shows it (`read.rs`, `replies.rs`, `withdrawn.rs`), what its texts decide
//! (`decisions.rs`), hosts (`hosts.rs`), further commands (`further.rs`), a repository's own (`own.rs`), `/retry` (`attempt.rs`, `terms.rs`),
//! commands beside any task (`apart.rs`, `test_runs.rs`), answers (`answer.rs`) and what is kept of them (`audit.rs`). `follow.rs` reads a
//! task's thread with them and feeds it.
//!
//! Text is data: only an unedited command of somebody with the right counts. What follows from it is decided in `domain::transition`.
//! Tests: `tests/stories/`.

mod accounts;
mod again;
mod answer;
mod apart;
mod attempt;
mod audit;
mod branch_tips;
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
mod keys;
mod long;
mod moved;
mod own;
mod own_list;
mod parts;
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

pub use accounts::Accounts;
pub use answer::Answers;
pub use apart::CommandsApart;
pub use attempt::Retries;
pub use audit::{Asking, Audit};
pub use evidence::Edits;
pub use feed::Feed;
pub use follow::{Follower, withdrawn_key};
pub use further::{FurtherCommands, beside_key};
pub(crate) use groups::Admission;
pub use groups::Groups;
pub use hosts::{HostCommands, host_key, hosts_key, taken_key};
pub(crate) use inline::asked as asked_on_line;
pub use keys::{SLACK_MS, decision_key, first};
pub use moved::Moves;
pub use own::{AtTip, MissingHosts, OwnCommandReader};
pub use parts::Dependencies;
pub use persons::bare_key;
pub(crate) use read::pull_here;
pub use read::{Hidden, Part, Thread, ThreadReader};
pub use replies::{InlineComments, MARKS as REPLY_MARKS, source as reply_source};
pub use test_runs::TestRequests;
pub use upstream_issues::IssueImports;

use std::sync::Arc;

/// What people say in threads, part by part.
pub struct Threads {
    /// The bot's own account, and what counts of others.
    pub accounts: Arc<Accounts>,
    /// Whether the operator lets somebody give a command.
    pub groups: Arc<Groups>,
    /// Whether texts were edited.
    pub edits: Arc<Edits>,
    /// Repositories that were renamed or given away.
    pub moves: Arc<Moves>,
    /// The threads of tasks as the forge shows them.
    pub reader: Arc<ThreadReader>,
    /// Answers where no task is at work, and those beside a task's own.
    pub answers: Arc<Answers>,
    /// Commands of a text besides the strongest one.
    pub further: Arc<FurtherCommands>,
    /// Hosts that texts allow or deny.
    pub hosts: Arc<HostCommands>,
    /// Commands of repositories' own.
    pub own: Arc<OwnCommandReader>,
    /// Whether, and from what, a `/retry` begins.
    pub retries: Arc<Retries>,
    /// Commands that are carried out beside whatever a task does.
    pub apart: Arc<CommandsApart>,
    /// Feeds what is new in the thread of a task.
    pub follower: Follower,
}
