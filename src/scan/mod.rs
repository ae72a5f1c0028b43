//! What the host reads in a tree by itself, without a model and without running anything of it: what static rules find (`rules.rs`, `tree.rs`), what is
//! depended on (`dependencies`), which folders are other people's (`foreign.rs`), and what the operator's data says of that: advisories (`advisories`) and
//! newest versions (`newest`).
//!
//! Owns the reading and its limits. Must not decide what is done about it, or how it is worded. What it gives is untrusted where it comes from the tree.

mod advisories;
mod dependencies;
mod foreign;
mod newest;
mod rules;
mod tree;

pub use advisories::Advisories;
pub use dependencies::{Package, day, look_for_dependencies};
pub use foreign::is_foreign;
pub use newest::{NewestLine, NewestVersions, PackageName, is_word, newest_release, of_registries};
pub use tree::look_for_weaknesses;
