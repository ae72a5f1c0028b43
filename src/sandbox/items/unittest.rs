//! Reads unittest: a line of `=`, `FAIL: test_a (tests.test_x.T.test_a)`, a line of `-`, a traceback.

use std::sync::LazyLock;

use regex::Regex;

use super::lines::regex;
use super::{Item, Severity, Tool, python};

/// Before 3.11 the parentheses contain only the class.
static HEAD: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:FAIL|ERROR): (\S+) \(([^()\s]+)\)(.*)$"));

/// The most lines of a block that are read.
const LONGEST: usize = 1_000;
/// Prefix of modules that could not be imported.
const LOADER: &str = "unittest.loader._FailedTest";

pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    let heads: Vec<usize> =
        (1..lines.len()).filter(|&at| ruler(lines[at - 1], '=') && HEAD.is_match(lines[at])).collect();
    heads.iter().filter_map(|&head| item(lines, head)).collect()
}

fn ruler(line: &str, of: char) -> bool {
    line.len() >= 70 && line.chars().all(|c| c == of)
}

fn item(lines: &[&str], head: usize) -> Option<Item> {
    let found = HEAD.captures(lines[head])?;
    let rest = &lines[head + 1..lines.len().min(head + 1 + LONGEST)];
    let body = rest.iter().position(|line| ruler(line, '-')).map_or(rest, |at| &rest[at + 1..]);
    let ends = |line: &&str| ruler(line, '=') || ruler(line, '-') || *line == "Stdout:" || *line == "Stderr:";
    let body = &body[..body.iter().position(ends).unwrap_or(body.len())];
    let broken = python::traceback(body);
    let (file, line) = broken.as_ref().and_then(|broken| broken.at.clone()).unzip();
    let message = match broken {
        Some(broken) if !broken.message.is_empty() => broken.message,
        Some(_) | None => super::lines::message(body.iter().copied()),
    };
    Some(Item {
        tool: Tool::Unittest,
        file,
        line,
        severity: Severity::Error,
        message,
        test: name(&found[1], &found[2], &found[3]),
    })
}

/// The name that `python -m unittest` accepts, with the subtest that failed.
fn name(method: &str, place: &str, part: &str) -> Option<String> {
    if place.starts_with(LOADER) {
        return None;
    }
    let whole = place.rsplit('.').next() == Some(method);
    let test = if whole { place.to_owned() } else { format!("{place}.{method}") };
    Some(format!("{test}{part}"))
}
