//! Caisson: a coding-agent bot that lives beside a git forge. `docs/architecture.md` shows the parts.

pub mod barrier;
pub mod bot;
pub mod checkpoint;
pub mod cli;
pub mod clock;
pub mod command;
pub mod config;
pub mod effect;
pub mod egress;
pub mod engine;
pub mod fetch;
pub mod forge;
pub mod git;
pub mod handler;
pub mod llm;
pub mod message;
pub mod sandbox;
pub mod secret;
pub mod server;
pub mod store;
pub mod supervise;
pub mod task;
pub mod telemetry;
pub mod text;
pub mod thread;
pub mod trouble;
