//! The task machine: its transition table, and its invariants.

mod advance;
mod artifacts;
mod ask;
mod ci;
mod common;
mod goes_on;
mod held;
mod host;
mod judged;
mod liveness;
mod losses;
mod merge;
mod orders;
mod own_command;
mod pauses;
mod plan;
mod posts;
mod properties;
mod rebase;
mod remarks;
mod steer;
mod summaries;
mod table;
mod task_kinds;
mod unfit;
mod words;
