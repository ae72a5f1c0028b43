//! How a test says that it did not run, the one way for every test of the workspace (each includes this file by its path).
//!
//! `CAISSON_REQUIRE` is a list of parts whose absence fails the test. `CAISSON_SKIPS` names a file that gets one line for
//! each skip, `reason, tab, test`: what a passing test prints is swallowed, and `make test` shows the file at its end.

use std::io::Write;

/// `part` is the word in `CAISSON_REQUIRE` that forbids this skip; `why` says on one line what is missing.
pub fn skipped(part: &str, why: &str) {
    let required = std::env::var("CAISSON_REQUIRE").is_ok_and(|list| list.split(',').any(|it| it.trim() == part));
    assert!(!required, "CAISSON_REQUIRE lists {part}: {why}");
    eprintln!("skipped: {why}");
    let Some(file) = std::env::var_os("CAISSON_SKIPS") else { return };
    let thread = std::thread::current();
    let line =
        format!("{}\t{}::{}\n", why.replace(['\n', '\t'], " "), env!("CARGO_CRATE_NAME"), thread.name().unwrap_or("?"));
    // One write of one line: tests of several programs append at the same time.
    let written = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(&file)
        .and_then(|mut it| it.write_all(line.as_bytes()));
    written.unwrap_or_else(|why| panic!("CAISSON_SKIPS={}: {why}", file.display()));
}
