//! A temporary installation: broker, bot and a person as processes and accounts of their own, all of which are removed at the end.
//!
//! Used by `caisson eval`, `make demo` and the bench. Owns: programs that end when dropped (`process.rs`), Caisson as a user runs it
//! (`bot.rs`), a person who opens issues and approves through the forge's API (`person.rs`), and the built-in forge as a program
//! (`forge.rs`). Must not touch an existing installation: names, ports, directories and networks are its own. Tests: `tests/eval.rs`,
//! `tests/trip.rs`.

pub mod bot;
pub mod forge;
pub mod person;
pub mod process;

/// A non-empty environment variable.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
