//! What a person asks for in an issue, a comment or a review.
//!
//! Owns the commands: a file for each (how it is written, who may give it, its line of the help, the verb it asks for), the list of
//! them (`table.rs`) and how they are found in a text (`parse.rs`). Must not ask the forge anything or decide whether this person may
//! (`handler` does). Tests: `src/command/tests.rs`.

mod allow;
mod amounts;
mod approve;
mod ask;
mod budget;
mod cost;
mod deny;
mod deps;
mod explain;
mod fix;
mod help;
mod host;
mod merge;
mod model;
mod options;
mod parse;
mod pause;
mod plan;
mod rebase;
mod refactor;
mod resume;
mod retry;
mod review;
mod revise;
mod search;
mod security;
mod spec;
mod status;
mod stop;
mod sync;
mod table;
mod test;
mod test_pr;
mod test_pr_bug;
#[cfg(test)]
mod tests;

pub use amounts::amounts;
pub use options::Opt;
pub use parse::{
    Command, OwnNames, Parsed, is_own_name, may_hold_command, only_own, parse, parse_with, without_lines, without_names,
};
pub use spec::{MAX_WORDS, Spec, Strength, Who};
pub use table::{COMMANDS, answer_line, spec};
