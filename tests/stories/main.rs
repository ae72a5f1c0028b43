//! Whole tasks with the real bot: the built-in forge over HTTP, the real runner as plain processes, the scripted model. Real are store,
//! task machine, outbox, handlers, listeners, git and runner. Not real are the engine and the router (tested in `tests/trip.rs`), and the
//! model.

#[path = "../support/dice.rs"]
mod dice;
#[path = "../support/doors.rs"]
mod doors;
#[allow(dead_code, reason = "other suites use the rest")]
#[path = "../support/forges.rs"]
mod forges;
#[path = "../support/gitea.rs"]
mod gitea;
#[allow(dead_code, reason = "other suites use the rest")]
#[path = "../setup/github.rs"]
mod github;
#[path = "../support/local_broker.rs"]
mod local_broker;
#[path = "../support/postgres.rs"]
mod server;
#[path = "../support/skipped.rs"]
mod skipped;
mod world;

mod action_log;
mod actions;
mod advance;
mod answers;
mod approved_again;
mod artifacts;
mod ask;
mod asked_after;
mod audit;
mod bad_input;
mod barrier;
mod base;
mod ci_status;
mod cuts;
mod decisions;
mod delivery;
mod dependencies;
mod elsewhere;
mod entries;
mod fallbacks;
mod faults;
mod files;
mod ground;
mod groups;
mod hooks;
mod hosts;
mod idle;
mod imported;
mod injections;
mod interruptions;
mod kept;
mod kills;
mod known;
mod leases;
mod line;
mod line_ends;
mod long;
mod losses;
mod lost;
mod merge;
mod missing_models;
mod models;
mod money;
mod orders;
mod outages;
mod own_commands;
mod own_hosts;
mod pages;
mod pages_of_attempts;
mod permission;
mod picture;
mod pictures;
mod places;
mod policy;
mod postgres;
mod questions;
mod real;
mod real_forge;
mod rebase;
mod recording;
mod remarks;
mod replies;
mod retry;
mod reviews;
mod risky;
mod rules;
mod scripts;
mod searches;
mod second;
mod second_host;
mod security;
mod several;
mod status_comment;
mod stuck;
mod summaries;
mod switch;
mod task_kinds;
mod terms;
mod test_limits;
mod test_network;
mod test_runs;
mod toolchains;
mod triggers;
mod trip;
mod turns;
mod unread;
mod unstarted;
mod upstream;
mod upstream_issues;
mod waiting;
mod words;
