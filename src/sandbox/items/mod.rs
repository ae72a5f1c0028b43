//! What failed, read out of the output of checks: tool, place, test, message.
//!
//! Owns the reading of eight tools' reports (one small file for each) and the comparison of two runs (`difference.rs`). Pure. The output
//! was printed by code under review, may be cut anywhere and coloured: an item is a hint where to look, never a verdict, and
//! whatever is not understood is left out. Which tool spoke is seen from the lines themselves.
//! Tests: `tests.rs`, over outputs of the real tools (`tests/fixtures/checks`).

mod cargo;
mod difference;
mod go;
mod jest;
mod lines;
mod node;
mod pytest;
mod python;
mod rustc;
mod stack;
mod tap;
#[cfg(test)]
mod tests;
mod tsc;
mod unittest;

use std::collections::HashSet;

pub use difference::{Difference, difference};

/// The most items that are read out of one output.
pub const MOST: usize = 50;

/// The most heads, names or lines of a list that a reader holds against each other: an output made for it costs no more than another.
const HELD: usize = 200;

/// Who reported an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Python's `unittest`.
    Unittest,
    /// Python's `pytest`.
    Pytest,
    /// `cargo test`, and panics of what it runs.
    Cargo,
    /// The compiler, whoever called it.
    Rustc,
    /// The linter `cargo clippy`.
    Clippy,
    /// Node's own test runner in both of its forms, and programs that end with an error nobody caught.
    Node,
    /// The test runner Jest.
    Jest,
    /// The TypeScript compiler.
    Tsc,
    /// `go test`, with what did not build for it.
    Go,
}

/// One failure. Every text in it is foreign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Who reported it.
    pub tool: Tool,
    /// Inside the workspace and relative to it: of a chain of calls, the innermost place there. (Go names files of tests without
    /// their folder; `test` has the package then.)
    pub file: Option<String>,
    /// Line in that file, from 1; none where the tool named none.
    pub line: Option<u32>,
    /// At most 600 characters over several lines; what was expected and what came instead are kept longest.
    pub message: String,
    /// As the tool names it; none where no test failed, but a file could not be read, built or loaded.
    pub test: Option<String>,
}

type Reader = fn(&[&str]) -> Vec<Item>;

/// Each looks for its own tool's lines and gives nothing where there are none.
const READERS: [Reader; 8] =
    [rustc::read, cargo::read, unittest::read, pytest::read, node::read, jest::read, tsc::read, go::read];

/// The failures that this output reports, at most [`MOST`], each once.
pub fn read(output: &str) -> Vec<Item> {
    let text = lines::plain(output);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut known = HashSet::new();
    let all = READERS.iter().flat_map(|reader| reader(&lines));
    let fresh = all.filter(|item| {
        known.insert((item.tool, item.file.clone(), item.line, item.test.clone(), item.message.clone()))
    });
    fresh.take(MOST).collect()
}
