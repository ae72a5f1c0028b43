//! The content of reviews, and how the bot finds its own posts.
//!
//! Owns the reviews' wording and layout (`render`), their data (`view`), and collecting it from a task's log (`gather`, `happened`; for a
//! following attempt `tried`) and the router's (`reached`), how actions ended and which of them are evidence (`evidence`), the inline notes (`notes`, and `hunks` for their lines), what became of people's remarks (`remarks`), the changed files in the order in which to read them (`trees`, `order`, `changed`), why a tree was refused (`refused`), the review of a person's pull request (`finding`, `pull_review`), what static rules found (`rule_scan`), what is depended on (`dependency_scan`, `newest`), the sources that an answer names (`sources`), the state labels and status texts (`label`), the files taken beside finished work (`artifacts`), and
//! the keyed mark (`mark`). Must not query the forge or the store. Tests: `src/checkpoint/tests.rs`.

mod against;
mod artifacts;
mod base_moved;
mod candidates;
mod changed;
mod ci;
mod ci_items;
mod claims;
mod conflict_items;
mod dependency_scan;
mod diff;
mod evidence;
mod finding;
mod folder_rules;
pub mod gather;
pub mod happened;
mod hosts;
mod hunks;
mod items;
pub mod label;
pub mod mark;
mod newest;
mod notes;
mod order;
pub mod overlap;
mod places;
mod pull_review;
pub mod reached;
mod refused;
mod remarks;
#[cfg(test)]
mod remarks_tests;
pub mod render;
#[cfg(test)]
mod risky_tests;
mod rule_scan;
mod sources;
#[cfg(test)]
mod tests;
mod touched;
mod trees;
mod tried;
pub mod view;

pub use dependency_scan::render_dependency_scan;
pub use finding::{Finding, Findings, Severity, findings};
pub use notes::render_notes_in_text;
pub use places::{Cited, places};
pub use pull_review::{Elsewhere, PullReview, render_finding, render_pull_review};
pub use render::{render_checkpoint, render_final, render_notes};
pub use rule_scan::{render_rule_finding, render_rule_scan};
pub use sources::{Looked, Source, render_sources, sources};
pub use tried::tried;
