//! Trees in and out: git, sandboxes with the real runner, quarantine, verification, fetch.
//!
//! The runner is a plain process in temporary directories (`tests/support/local_broker.rs`): these tests check the host's side and what it
//! refuses. The isolation of a real container is tested with Docker in `broker/tests/docker`.

#[path = "trees/artifacts.rs"]
mod artifacts;
#[path = "trees/asked.rs"]
mod asked;
#[path = "trees/base_runs.rs"]
mod base_runs;
#[path = "trees/by_products.rs"]
mod by_products;
#[path = "trees/capture.rs"]
mod capture;
#[path = "trees/carry.rs"]
mod carry;
#[path = "trees/contents.rs"]
mod contents;
#[path = "trees/cuts.rs"]
mod cuts;
#[path = "trees/disk.rs"]
mod disk;
#[path = "trees/docker.rs"]
mod docker;
#[path = "support/doors.rs"]
mod doors;
#[path = "trees/edits.rs"]
mod edits;
#[path = "trees/fates.rs"]
mod fates;
#[path = "trees/fetch.rs"]
mod fetch;
#[path = "setup/github.rs"]
#[allow(dead_code, reason = "tests of `caisson setup` use the rest")]
mod github;
#[path = "trees/hostile.rs"]
mod hostile;
#[path = "trees/images.rs"]
mod images;
#[path = "trees/injections.rs"]
mod injections;
#[path = "trees/issue_check.rs"]
mod issue_check;
#[path = "trees/layers.rs"]
mod layers;
#[path = "trees/likeness.rs"]
mod likeness;
#[path = "support/local_broker.rs"]
mod local_broker;
#[path = "trees/losses.rs"]
mod losses;
#[path = "trees/merge.rs"]
mod merge;
#[path = "trees/mirror.rs"]
mod mirror;
#[path = "trees/propose.rs"]
mod propose;
#[path = "trees/push.rs"]
mod push;
#[path = "trees/restarts.rs"]
mod restarts;
#[path = "trees/road.rs"]
mod road;
#[path = "trees/setup.rs"]
mod setup;
#[path = "support/skipped.rs"]
mod skipped;
#[path = "trees/survey.rs"]
mod survey;
#[path = "trees/trial.rs"]
mod trial;
#[path = "trees/users.rs"]
mod users;
#[path = "trees/verify.rs"]
mod verify;
#[path = "trees/way_out.rs"]
mod way_out;
#[path = "trees/world.rs"]
mod world;
