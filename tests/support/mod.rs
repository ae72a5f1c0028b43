//! What the tests share: starting forges, and a repository on them. Each test crate uses a part of it.

#![allow(dead_code, reason = "each test binary uses its part")]

pub mod dice;
pub mod engine;
pub mod forges;
pub mod gitea;
pub mod home;
pub mod skipped;
