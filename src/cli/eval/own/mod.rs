//! An installation for a while: broker, bot and a person as processes and accounts of their own, and at the end nothing of them.
//!
//! Used by `caisson eval`, `make demo` and the bench. Owns: programs that end with their value (`process.rs`), Caisson as somebody would
//! run it (`bot.rs`), a person who opens issues and approves over the forge's API (`person.rs`), and the built-in forge as a program
//! (`forge.rs`). Must not touch an installation that is there already: names, ports, directories and networks are its own.
//! Tests: `tests/eval.rs`, `tests/trip.rs`.

pub mod bot;
pub mod forge;
pub mod person;
pub mod process;

/// A variable that is there and not empty.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
