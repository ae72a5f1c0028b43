//! Which files of a tree matter to an issue, and what is plainly wrong with a text, told without a model.
//!
//! Owns the walk over a tree's texts, what they define (`outline.rs`), the ranking, and the mistakes that a parser sees (`mistakes/`). Reads
//! files below the root that it is given and does nothing else: no network, no process, no writing. It parses what anybody may have written,
//! so it runs in a process of its own inside a sandbox (`caisson-runner survey`, `caisson-runner mistakes`), never in `caisson serve`.
//! How it works and what it is worth: `docs/relevant-files.md`. Tests: beside each file and `tests/survey.rs`; measured by
//! `examples/commits.rs`.

mod imports;
mod index;
mod language;
mod mistakes;
mod outline;
mod parts;
mod rank;
mod survey;
mod tuning;
mod walk;
mod wanted;
mod words;

pub use index::Weight;
pub use language::{FileKind, Language};
pub use mistakes::{Mistake, mistakes};
pub use parts::parts;
pub use survey::{survey, survey_with};
pub use tuning::Tuning;
