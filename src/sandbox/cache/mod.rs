//! What saves time when a sandbox is made: the repository's mirror, its tree, what the project's setup left.
//!
//! Owns also how a container is filled from them (`stock.rs`). Nothing here is needed to be right: without it everything is sent and made.

mod known;
pub(super) mod mirror;
pub(super) mod setup;
pub(super) mod stock;
mod tree;
