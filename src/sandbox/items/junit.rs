//! Reads JUnit XML among other lines: each `testcase` with a `failure` or an `error`.
//!
//! There is no single schema; reads what pytest, Vitest, jest-junit, Node, Surefire and ruff write.

use std::sync::LazyLock;

use regex::Regex;

use super::lines::{message, number, place, regex};
use super::xml::{self, Piece, attribute};
use super::{Item, Severity, Tool, java, stack};

/// A place as pytest prints it; the last one is the innermost.
static PYTHON: LazyLock<Regex> = LazyLock::new(|| regex(r"^([^\s:][^:]*\.py):(\d+): ?.*$"));
/// A place as Vitest prints it.
static MARKED: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s*❯ (?:.* )?([^\s:]+):(\d+):\d+$"));

/// The most failures taken from one output.
const MOST: usize = 2_000;
/// The most bytes read of a failure's text.
const TEXT: usize = 16 << 10;

pub(super) fn read(text: &str) -> Vec<Item> {
    let Some(begin) = text.find("<testsuite") else { return Vec::new() };
    let mut reading = Reading::default();
    for piece in xml::pieces(&text[begin..]) {
        reading.take(piece);
        if reading.items.len() >= MOST {
            break;
        }
    }
    reading.items
}

/// The test whose element is open.
#[derive(Default)]
struct Case {
    class: String,
    name: String,
    file: Option<String>,
    line: Option<u32>,
}

/// Text inside `failure` or `error`.
struct Failure {
    head: String,
    text: String,
}

#[derive(Default)]
struct Reading {
    /// Name of the suite, in which some tools write the file.
    suite: String,
    case: Option<Case>,
    failure: Option<Failure>,
    items: Vec<Item>,
}

impl Reading {
    fn take(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Open { name: "testsuite", attributes, .. } => {
                self.suite = attribute(attributes, "name").unwrap_or_default();
            }
            Piece::Open { name: "testcase", attributes, empty } => {
                let text = |name: &str| attribute(attributes, name);
                let (class, name) = (text("classname").unwrap_or_default(), text("name").unwrap_or_default());
                let line = text("line").and_then(|line| number(&line));
                self.case = (!empty).then_some(Case { class, name, file: text("file"), line });
            }
            Piece::Open { name: "failure" | "error", attributes, empty } if self.case.is_some() => {
                let head = attribute(attributes, "message").unwrap_or_default();
                self.failure = Some(Failure { head, text: String::new() });
                if empty {
                    self.fail();
                }
            }
            Piece::Close { name: "failure" | "error" } => self.fail(),
            Piece::Close { name: "testcase" } => self.case = None,
            Piece::Text(text) => self.add_text(&xml::unescaped(text)),
            Piece::Raw(text) => self.add_text(text),
            Piece::Open { .. } | Piece::Close { .. } => {}
        }
    }

    fn add_text(&mut self, text: &str) {
        if let Some(failure) = &mut self.failure {
            let room = TEXT.saturating_sub(failure.text.len());
            failure.text.push_str(&text[..text.floor_char_boundary(room)]);
        }
    }

    fn fail(&mut self) {
        if let (Some(case), Some(failure)) = (&self.case, self.failure.take()) {
            self.items.push(item(&self.suite, case, &failure));
        }
    }
}

fn item(suite: &str, case: &Case, failure: &Failure) -> Item {
    let lines: Vec<&str> = failure.text.lines().map(str::trim_end).collect();
    let found =
        case.file.as_deref().and_then(place).map(|file| (file, case.line)).or_else(|| innermost(&lines, &case.class));
    // A linter's finding has its line in the element, and the file in the suite's name.
    let named =
        || [suite, &case.class].into_iter().find(|name| is_file(name)).and_then(place).map(|file| (file, case.line));
    let (file, line) = found.or_else(named).map_or((None, None), |(file, line)| (Some(file), line));
    let stack = lines.iter().position(|line| java::is_frame(line) || MARKED.is_match(line) || line.starts_with('⎯'));
    let add_text = match failure.head.trim() {
        "" => message(lines[..stack.unwrap_or(lines.len())].iter().copied()),
        head => message(head.lines()),
    };
    let finding = case.line.is_some() && case.file.is_none();
    let message = if finding { message([format!("{}: {add_text}", case.name).as_str()]) } else { add_text };
    Item { tool: Tool::Junit, file, line, severity: Severity::Error, message, test: (!finding).then(|| name(case)) }
}

fn is_file(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| {
        ["py", "js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "java", "go", "rs", "rb"].contains(&ending)
    })
}

/// The innermost place in the workspace in a failure's text.
fn innermost(lines: &[&str], class: &str) -> Option<(String, Option<u32>)> {
    let of = |found: regex::Captures<'_>| place(&found[1]).zip(number(&found[2]));
    let python = || lines.iter().rev().find_map(|line| PYTHON.captures(line).and_then(of));
    let frames =
        || lines.iter().filter(|line| line.trim_start().starts_with("at ")).find_map(|line| stack::frame(line));
    let marked = || lines.iter().find_map(|line| MARKED.captures(line).and_then(of));
    let java = || java::innermost(lines.iter().copied(), class);
    let (file, line) = java().or_else(python).or_else(marked).or_else(frames)?;
    Some((file, Some(line)))
}

/// Class and name, unless one contains the other.
fn name(case: &Case) -> String {
    let (class, name) = (case.class.trim(), case.name.trim());
    let between = if is_file(class) { " > " } else { "." };
    if class.is_empty() || name.starts_with(class) { name.to_owned() } else { format!("{class}{between}{name}") }
}

/// Drops reports of tests that another tool's reader also reported.
pub(super) fn told_twice(items: &mut Vec<Item>) {
    if !items.iter().any(|item| item.tool == Tool::Junit) {
        return;
    }
    let last = |test: &str| test.rsplit(['.', ':', '/', '>', ' ']).next().unwrap_or_default().to_owned();
    let told: std::collections::HashSet<String> = items
        .iter()
        .filter(|item| item.tool != Tool::Junit)
        .filter_map(|item| Some(last(item.test.as_ref()?)))
        .collect();
    items.retain(|item| item.tool != Tool::Junit || !item.test.as_ref().is_some_and(|test| told.contains(&last(test))));
}
