//! Configuration of the process (`process`, from documented defaults, a file and the environment) and of a project. Must not use the
//! network. Tests: `src/config/tests.rs`.

pub mod own_command;
pub mod own_commands;
pub mod own_prompts;
pub mod pick;
pub mod process;
pub mod project;
pub mod proposal;
pub mod write;

mod address;
mod amounts;
mod artifacts;
mod bounds;
mod check;
mod ci;
pub mod code_owners;
mod egress;
mod entry;
#[cfg(test)]
mod entry_tests;
mod fields;
mod limits;
mod lines;
mod load;
mod model;
mod origin;
mod own_egress;
mod own_tests;
mod presets;
mod prices;
mod problem;
mod protected;
mod renamed;
mod repositories;
mod rule;
mod secret;
mod shared;
mod slots;
#[cfg(test)]
mod tests;
mod upstream;
pub mod who;

pub use crate::secret::Secret;
pub use address::{database_address, is_socket, unprotected};
pub use artifacts::ArtifactRules;
pub use fields::{is_on_this_machine, web_address};
pub use load::{ConfigError, DEFAULTS};
pub use prices::BUILT_IN as PRICES;
pub use problem::Problem;
pub use process::Process;
pub use rule::OperatorRule;
pub use secret::{SecretError, put_whole, replace_whole};
