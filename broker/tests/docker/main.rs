//! The broker with a real engine. Each test has an installation of its own and leaves nothing. Without an engine, or without the images of
//! `compose/images/`, the tests print that and pass, unless `CAISSON_REQUIRE` lists `docker`.

mod brought;
mod containers;
mod disks;
mod engines;
mod hardening;
mod host;
mod lab;
mod layers;
mod mirrors;
#[path = "../../../tests/support/skipped.rs"]
mod skipped;
mod toolchains;
mod way_out;
