//! Runs of a project's own commands on a commit, each in a sandbox of its own.
//!
//! Owns the runs (`runs.rs`, stored ones of a base in `base_runs.rs`), and their use: a verdict (`verify.rs`, `output.rs`), results of a candidate
//! (`candidate.rs`), input of `caisson eval` (`ran.rs`), a person's try of a project (`trial.rs`), and a command on a
//! branch (`asked.rs`). All of their output is untrusted.

pub(super) mod against;
pub(super) mod asked;
pub(super) mod base_runs;
pub(super) mod candidate;
mod compared;
mod issue_check;
pub(super) mod output;
pub(super) mod ran;
pub(super) mod report;
pub(super) mod runs;
pub(super) mod trial;
pub(super) mod verify;
