//! The kinds of tasks: for each its command, what it may change, and which prompt says what is expected of it.
//!
//! Everything that treats kinds differently asks here, by what a kind may change; only wording matches the kinds themselves.

use serde::{Deserialize, Serialize};

/// What a task is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// May write; stops at every fifth action.
    #[default]
    Fix,
    /// Read-only; answers in a comment with what it proposes.
    Plan,
    /// Read-only; answers a question in a comment, with files and lines.
    Explain,
    /// Writes missing tests, and nothing else.
    Test,
    /// Changes how the code is written and not what it does: the base's tests stay and pass.
    Refactor,
    /// Read-only; reviews a person's pull request, and is over with its answer.
    Review,
}

/// Which files a task may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// None: the task only reads.
    Nothing,
    /// All of the repository, within the rules that hold for every task.
    Everything,
    /// Files of tests.
    Tests,
    /// All but files of tests that the base has.
    AllButBaseTests,
}

/// What is true of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskTraits {
    /// The command that begins such a task, without its slash; also its name in the store.
    pub name: &'static str,
    /// What it may change.
    pub scope: Scope,
    /// Name of the prompt that says what is expected beyond the words of the task; none where those say all.
    pub brief: Option<&'static str>,
    /// What is said of a branch that changes something else, as the end of "the branch"; empty where nothing is outside of the scope.
    pub breach: &'static str,
    /// Whether its final review is approvable only if the checks do not fail.
    pub checks_must_hold: bool,
    /// Whether it is asked for on a person's pull request, reads what that one changes, and is over with its answer.
    pub of_a_pull: bool,
}

impl TaskKind {
    /// What is true of this kind.
    pub const fn traits(self) -> TaskTraits {
        let (name, scope) = match self {
            TaskKind::Fix => ("fix", Scope::Everything),
            TaskKind::Plan => ("plan", Scope::Nothing),
            TaskKind::Explain => ("explain", Scope::Nothing),
            TaskKind::Test => ("test", Scope::Tests),
            TaskKind::Refactor => ("refactor", Scope::AllButBaseTests),
            TaskKind::Review => ("review", Scope::Nothing),
        };
        let (brief, breach) = match self {
            TaskKind::Fix | TaskKind::Plan => (None, ""),
            TaskKind::Explain => (Some("work_explain"), ""),
            TaskKind::Test => (Some("work_test"), "changes more than tests"),
            TaskKind::Refactor => (Some("work_refactor"), "changes tests that were there before"),
            TaskKind::Review => (Some("work_review"), ""),
        };
        let (checks_must_hold, of_a_pull) = (matches!(self, TaskKind::Refactor), matches!(self, TaskKind::Review));
        TaskTraits { name, scope, brief, breach, checks_must_hold, of_a_pull }
    }

    /// The command that begins such a task, without its slash.
    pub const fn name(self) -> &'static str {
        self.traits().name
    }

    /// As [`TaskTraits::of_a_pull`].
    pub const fn of_a_pull(self) -> bool {
        self.traits().of_a_pull
    }

    /// Whether the task only reads, and ends in an answer.
    pub const fn reads_only(self) -> bool {
        matches!(self.traits().scope, Scope::Nothing)
    }
}
