//! What is said about commands of a repository's own. Their names are plain words; all else in their files is foreign text.

use super::budget::cut_down;
use crate::config::own_command::{FOLDER, bar, path};
use crate::config::own_commands::OwnCommands;
use crate::text::{code, plain_cell, prose_cell};
use domain::{Access, Budget, OwnCommand, TaskKind};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Why one is not followed where a task is at work, as half a sentence.
pub const OWN_WHILE_AT_WORK: &str =
    "it is a command of this repository and begins a task, and one is at work here; `/stop` ends that one";

/// The most characters shown of whom a file names, and of a description.
pub(super) const MAX_SHOWN: usize = 300;

/// Their table for the help; empty where there are none.
pub(super) fn own_help(commands: &OwnCommands) -> String {
    let mut out = String::new();
    for command in commands.usable() {
        if out.is_empty() {
            let _ = write!(
                out,
                "\nThis repository's own commands (the files of `{FOLDER}` on its default branch) begin a task on an open issue, as the first word of a text:\n\n\
                 | command | who | what it does |\n|---|---|---|\n"
            );
        }
        let whom = bar(&command.who, "", Access::None);
        let _ = writeln!(
            out,
            "| `/{} [options] [words]` | {} | {} ({}) |",
            command.name,
            whom.map_or_else(
                || "those who may write to the repository".to_owned(),
                |whom| prose_cell(&whom, MAX_SHOWN)
            ),
            prose_cell(&command.description, MAX_SHOWN),
            kind(command.kind),
        );
    }
    let places: BTreeSet<String> =
        commands.mistakes().map(|(_, error)| plain_cell(&format!("{}:{}", error.file, error.line))).collect();
    if !places.is_empty() {
        let places = places.into_iter().collect::<Vec<_>>().join(", ");
        let _ = write!(out, "\nNot to be used, because of a mistake: {places}. `caisson command check` says which.\n");
    }
    out
}

/// What a task of this kind does, for the table.
fn kind(kind: TaskKind) -> String {
    let only = if kind.reads_only() { ", and only reads" } else { "" };
    format!("as `/{}`{only}", kind.name())
}

/// What began a task, as the end of a sentence.
pub(super) fn own_because(own: &OwnCommand) -> String {
    format!(
        ", as {} of this repository asks ({} at `{}`)",
        code(&format!("/{}", own.name)),
        code(&path(&own.name)),
        own.commit.short()
    )
}

/// What its file asks for above the usual budget, as a sentence with a space before it; empty where it gets all that it asks for. `began` is
/// the budget with which the task began.
pub(super) fn own_cut(own: &OwnCommand, began: &Budget) -> String {
    let Some((asked, usual)) = cut_down(&own.budget, began) else { return String::new() };
    let name = code(&format!("/{}", own.name));
    format!(" {name} asks for a budget of {asked}, which is cut to the usual {usual}. `/budget …` grants more.")
}

/// The hosts that its task does without, as a sentence with a space before it; empty where it has all of them.
pub(super) fn own_lacks(own: &OwnCommand) -> String {
    let listed = |hosts: &[String]| hosts.iter().map(|host| code(host)).collect::<Vec<_>>().join(", ");
    let (name, mut out) = (code(&format!("/{}", own.name)), String::new());
    if !own.lacks.is_empty() {
        let _ = write!(
            out,
            " {name} asks for hosts that nobody has allowed, so the task goes on without them: {}. `/allow host` lets this task reach one; all its tasks reach them once the operator has accepted them (`caisson repo add … --accept`).",
            listed(&own.lacks)
        );
    }
    if !own.closed.is_empty() {
        let _ = write!(
            out,
            " {name} asks for hosts that no task reaches here, as the operator set it: {}.",
            listed(&own.closed)
        );
    }
    out
}
