//! Finds the files of a tree that are relevant to an issue, and mistakes in a text, without a model.
//!
//! Owns the walk over a tree's texts, their definitions (`outline.rs`), the ranking, and mistakes that a parser finds (`mistakes/`). Only
//! reads files below the given root: no network, no process, no writing. It parses untrusted files, so it runs in a process of its own
//! inside a sandbox (`caisson-runner survey`, `caisson-runner mistakes`), never in `caisson serve`. How it works and how well:
//! `docs/relevant-files.md`. Tests: beside each file and `tests/survey.rs`; measured by `examples/commits/`.

mod imports;
mod index;
mod language;
mod mistakes;
mod outline;
mod parts;
mod rank;
mod rules;
mod survey;
mod tuning;
mod walk;
mod wanted;
mod words;

pub use index::Weight;
pub use language::{FileKind, Language};
pub use mistakes::{Mistake, mistakes};
pub use parts::parts;
pub use rules::{LONGEST_RULES, OddRules, RULES, Rules, open_regular, rules_in};
pub use survey::{survey, survey_with};
pub use tuning::Tuning;
