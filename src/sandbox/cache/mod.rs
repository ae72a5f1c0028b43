//! Caches that speed up making a sandbox: the repository's mirror, its tree, and results of the project's setup.
//!
//! Also owns how a container is filled from them (`loader.rs`). Correctness does not depend on them: without them everything is sent and
//! made anew.

mod known;
pub(super) mod loader;
pub(super) mod mirror;
pub(super) mod setup;
mod tree;
