//! The barrier's self-test over a real engine: it holds for a sandbox as tasks get it, and each weakness is caught by its check.
//!
//! Needs Docker, the images and the static runner (`make test`); skipped aloud without, unless `CAISSON_REQUIRE` lists `docker`.

mod holds;
mod lab;
mod own;
mod proof;
#[path = "../support/skipped.rs"]
mod skipped;
mod weak;
