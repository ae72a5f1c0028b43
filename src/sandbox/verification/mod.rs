//! What a project's own commands say of a commit, each run in a sandbox of its own.
//!
//! Owns the runs (`runs.rs`, kept ones of a base in `base_runs.rs`), and what is made of them: a verdict (`verify.rs`), how a candidate for the work
//! did (`candidate.rs`), what `caisson eval` judges by (`ran.rs`), what a person is told who tries a project out (`trial.rs`) or has a command run
//! on a branch (`asked.rs`). All of it is
//! printed by code under review.

mod against;
pub(super) mod asked;
pub(super) mod base_runs;
pub(super) mod candidate;
mod issue_check;
pub(super) mod ran;
pub(super) mod report;
pub(super) mod runs;
pub(super) mod trial;
pub(super) mod verify;
