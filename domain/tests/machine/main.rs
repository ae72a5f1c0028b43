//! The task machine: its table, and what holds whatever comes in.

mod advance;
mod common;
mod host;
mod losses;
mod orders;
mod properties;
mod table;
