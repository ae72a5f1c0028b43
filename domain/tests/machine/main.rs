//! The task machine: its table, and what holds whatever comes in.

mod advance;
mod common;
mod host;
mod losses;
mod properties;
mod table;
