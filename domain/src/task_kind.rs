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
    /// Read-only; judges what static rules find in the tree, or in what a person's pull request adds, and is then over with its answer.
    Security,
    /// Read-only; answers what the manifests ask for, what is locked, and what of it has a known advisory.
    Deps,
    /// Read-only; looks things up in the tree and at the hosts that the task may reach, and names its sources.
    Search,
}

/// Where a task of a kind is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// On an issue.
    Issues,
    /// On a person's pull request, which it reads.
    Pulls,
    /// On either.
    Both,
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
    /// Where it is asked for. On a person's pull request it reads what that one changes, and is over with its answer.
    pub threads: Threads,
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
            TaskKind::Security => ("security", Scope::Nothing),
            TaskKind::Deps => ("deps", Scope::Nothing),
            TaskKind::Search => ("search", Scope::Nothing),
        };
        let (brief, breach) = match self {
            TaskKind::Fix | TaskKind::Plan => (None, ""),
            TaskKind::Explain => (Some("work_explain"), ""),
            TaskKind::Test => (Some("work_test"), "changes more than tests"),
            TaskKind::Refactor => (Some("work_refactor"), "changes tests that were there before"),
            TaskKind::Review => (Some("work_review"), ""),
            TaskKind::Security => (Some("work_security"), ""),
            TaskKind::Deps => (Some("work_deps"), ""),
            TaskKind::Search => (Some("work_search"), ""),
        };
        let threads = match self {
            TaskKind::Review => Threads::Pulls,
            TaskKind::Security | TaskKind::Explain => Threads::Both,
            TaskKind::Fix
            | TaskKind::Plan
            | TaskKind::Test
            | TaskKind::Refactor
            | TaskKind::Deps
            | TaskKind::Search => Threads::Issues,
        };
        TaskTraits { name, scope, brief, breach, checks_must_hold: matches!(self, TaskKind::Refactor), threads }
    }

    /// The command that begins such a task, without its slash.
    pub const fn name(self) -> &'static str {
        self.traits().name
    }

    /// Whether such a task begins nowhere but on a person's pull request.
    pub const fn of_a_pull(self) -> bool {
        matches!(self.traits().threads, Threads::Pulls)
    }

    /// Whether such a task may begin on a person's pull request, or on an issue.
    pub const fn begins_on(self, pull: bool) -> bool {
        match self.traits().threads {
            Threads::Issues => !pull,
            Threads::Pulls => pull,
            Threads::Both => true,
        }
    }

    /// Whether the task only reads, and ends in an answer.
    pub const fn reads_only(self) -> bool {
        matches!(self.traits().scope, Scope::Nothing)
    }
}
