//! Findings in the output of checks: tool, place, severity, message, test.
//!
//! Owns the readers of each tool's report (one small file per format, listed in `FORMS`) and the comparison of two runs (`difference.rs`).
//! Pure. The output is untrusted, may be cut anywhere and coloured: an item is a hint where to look, never a verdict, and what is not
//! understood is left out. The tool is recognised from the text itself. Tests: `tests.rs`, over outputs of the real tools
//! (`tests/fixtures/checks`).

mod cargo;
mod difference;
mod eslint;
mod gcc;
mod go;
mod java;
mod javac;
mod jest;
mod junit;
mod lines;
mod maven;
mod mypy;
mod node;
mod pytest;
mod python;
mod ruff;
mod rustc;
mod sarif;
mod stack;
mod stored;
mod tap;
#[cfg(test)]
mod tests;
mod tsc;
mod unittest;
mod vitest;
mod xml;

use std::collections::HashSet;
use std::sync::LazyLock;

pub use difference::{Difference, difference};
pub use domain::Severity;
use regex::RegexSet;
pub use stored::{from_report, recognisable, reported};

/// The most items that are read out of one output.
pub const MOST: usize = 200;

/// The most heads, names or lines of a list that a reader compares with each other, so that a crafted output costs no more than another.
const HELD: usize = 200;

/// Tool that reported an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Python's `unittest`.
    Unittest,
    /// Python's `pytest`.
    Pytest,
    /// The type checker `mypy`.
    Mypy,
    /// The linter `ruff`, and those that print its short form, as flake8 does.
    Ruff,
    /// `cargo test`, and panics of what it runs.
    Cargo,
    /// The Rust compiler, under any command.
    Rustc,
    /// The linter `cargo clippy`.
    Clippy,
    /// Node's own test runner in both of its forms, and programs that end with an error nobody caught.
    Node,
    /// The test runner Jest.
    Jest,
    /// The test runner Vitest.
    Vitest,
    /// The TypeScript compiler.
    Tsc,
    /// The linter ESLint.
    Eslint,
    /// `go test`, `go vet`, `go build`.
    Go,
    /// gcc or clang, and the linker they call, by themselves or by `make`.
    Gcc,
    /// The Java compiler.
    Javac,
    /// Maven: its compiler's and its tests' report.
    Maven,
    /// Any program that writes TAP, other than Node.
    Tap,
    /// Any program that wrote a report in JUnit's XML.
    Junit,
    /// Any program that wrote a report in SARIF.
    Sarif,
}

impl Tool {
    /// The tool's name as a person knows it.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Unittest => "unittest",
            Tool::Pytest => "pytest",
            Tool::Mypy => "mypy",
            Tool::Ruff => "ruff",
            Tool::Cargo => "cargo",
            Tool::Rustc => "rustc",
            Tool::Clippy => "clippy",
            Tool::Node => "node",
            Tool::Jest => "jest",
            Tool::Vitest => "vitest",
            Tool::Tsc => "tsc",
            Tool::Eslint => "eslint",
            Tool::Go => "go",
            Tool::Gcc => "gcc",
            Tool::Javac => "javac",
            Tool::Maven => "maven",
            Tool::Tap => "tap",
            Tool::Junit => "junit",
            Tool::Sarif => "sarif",
        }
    }

    /// Whether warnings alone can make its run fail.
    fn fails_by_warnings(self) -> bool {
        match self {
            Tool::Clippy | Tool::Eslint | Tool::Sarif => true,
            Tool::Unittest
            | Tool::Pytest
            | Tool::Mypy
            | Tool::Ruff
            | Tool::Cargo
            | Tool::Rustc
            | Tool::Node
            | Tool::Jest
            | Tool::Vitest
            | Tool::Tsc
            | Tool::Go
            | Tool::Gcc
            | Tool::Javac
            | Tool::Maven
            | Tool::Tap
            | Tool::Junit => false,
        }
    }
}

/// One finding of a tool. Every text in it is untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Item {
    /// Who reported it.
    pub tool: Tool,
    /// Path relative to the workspace; in a call stack, the innermost place inside it. (Go and Java name files of tests without their
    /// directory; `test` has the package then.)
    pub file: Option<String>,
    /// Line in that file, from 1; none where the tool named none.
    pub line: Option<u32>,
    /// Severity; an error unless the tool reports less.
    pub severity: Severity,
    /// At most 600 characters on several lines; expected and actual values are kept longest.
    pub message: String,
    /// The test as the tool names it; none where a file could not be read, built or loaded.
    pub test: Option<String>,
}

/// Whether a format is read by lines or as one text.
#[derive(Clone, Copy)]
enum Reader {
    Lines(fn(&[&str]) -> Vec<Item>),
    Text(fn(&str) -> Vec<Item>),
}

struct Form {
    /// An expression that occurs in every report of this format; without a match its reader is not called.
    mark: &'static str,
    reader: Reader,
}

const fn form(mark: &'static str, read: fn(&[&str]) -> Vec<Item>) -> Form {
    Form { mark, reader: Reader::Lines(read) }
}

const fn document(mark: &'static str, read: fn(&str) -> Vec<Item>) -> Form {
    Form { mark, reader: Reader::Text(read) }
}

/// The formats; each reader gives nothing for output without its tool's lines.
const FORMS: [Form; 18] = [
    form(r"error|warning", rustc::read),
    form(r"failures:| panicked at | stdout ----", cargo::read),
    form(r"FAIL: |ERROR: ", unittest::read),
    form(r"FAILURES|ERRORS|FAILED|ERROR|SUBFAIL", pytest::read),
    form(r"\.pyi?:[0-9]", mypy::read),
    form(r"--> |\.(?:pyi?|ipynb):", ruff::read),
    form(r"\.(?:c|h|C|H|cc|hh|cpp|hpp|cxx|hxx|m|mm|cu|inl|ipp|tpp|S|c\+\+|h\+\+):[0-9(]", gcc::read),
    form(r"✖ |▶ |Node\.js v|not ok ", node::read),
    form(r"●", jest::read),
    form(r" FAIL  ", vitest::read),
    form(r"error TS", tsc::read),
    form(r"[0-9] +(?:error|warning) ", eslint::read),
    form(r"\.go:|--- FAIL", go::read),
    form(r"\.java:[0-9]", javac::read),
    form(r"Time elapsed: |\.java:\[", maven::read),
    form(r"not ok ", tap::read),
    document(r"<testsuite", junit::read),
    document(r#""runs""#, sarif::read),
];

static MARKS: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(FORMS.iter().map(|form| form.mark)).expect("the marks are fixed, and every test of a form uses them")
});

/// The findings of an output without duplicates, errors first, at most [`MOST`]. Takes time linear in the output, of which the middle is
/// skipped beyond 4 MiB.
pub fn read(output: &str) -> Vec<Item> {
    let text = lines::plain(output);
    let spoken = MARKS.matches(&text);
    if !spoken.matched_any() {
        return Vec::new();
    }
    let lines: Vec<&str> = text.lines().map(|line| lines::bounded(line.trim_end())).collect();
    let mut all: Vec<Item> = Vec::new();
    for at in &spoken {
        all.extend(match FORMS[at].reader {
            Reader::Lines(read) => read(&lines),
            Reader::Text(read) => read(&text),
        });
    }
    // A line number is meaningless without a file in the workspace.
    all.iter_mut().filter(|item| item.file.is_none()).for_each(|item| item.line = None);
    let mut known = HashSet::new();
    all.retain(|item: &Item| known.insert(item.clone()));
    junit::told_twice(&mut all);
    all.sort_by_key(|item| item.severity);
    all.truncate(MOST);
    all
}

/// Divides findings into those that made a run fail and the others. A run fails by its errors; without errors, by the warnings of a linter
/// that can be configured so.
pub fn failed_by(items: Vec<Item>) -> (Vec<Item>, Vec<Item>) {
    let errors = items.iter().any(|item| item.severity == Severity::Error);
    items.into_iter().partition(|item| match item.severity {
        Severity::Error => true,
        Severity::Warning => !errors && item.tool.fails_by_warnings(),
        Severity::Note => false,
    })
}

/// The findings that made a failed run with this output fail.
pub fn failures(output: &str) -> Vec<Item> {
    failed_by(read(output)).0
}
