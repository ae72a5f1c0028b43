//! Reads pytest: blocks under *ERRORS* and *FAILURES* in any traceback style, and the short summary at the end.
//!
//! Blocks have place and message, the summary has full names; both are combined.

use std::sync::LazyLock;

use regex::Regex;

use super::lines::{message, number, place, regex};
use super::{HELD, Item, Severity, Tool, python};

static SECTION: LazyLock<Regex> = LazyLock::new(|| regex(r"^=+ (.+?) =+$"));
static HEAD: LazyLock<Regex> = LazyLock::new(|| regex(r"^_+ (.+) _+$"));
static PLACE: LazyLock<Regex> = LazyLock::new(|| regex(r"^([^\s:][^:]*):(\d+): ?(.*)$"));
static SUMMARY: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:FAILED|ERROR|SUBFAIL(?:ED)?((?:\[.*?\]|\(.*?\))*)) (\S.*)$"));
/// A line of the running report of `-v`.
static RUNNING: LazyLock<Regex> = LazyLock::new(|| regex(r"^([^\s:]\S*\.py::.+) (?:FAILED|ERROR)(?: +\[ *\d+%\])?$"));
static PHASE: LazyLock<Regex> = LazyLock::new(|| regex(r"^ERROR (?:at \S+ of|collecting) (.+)$"));
static CAPTURED: LazyLock<Regex> = LazyLock::new(|| regex(r"^-+ (?:Captured|live log) .* -+$"));

/// A line of the summary: `tests/test_a.py::T::test_b - AssertionError: …`
struct SummaryLine<'a> {
    node: &'a str,
    /// The failed part of a test with several parts.
    part: &'a str,
    message: &'a str,
}

impl SummaryLine<'_> {
    fn test(&self) -> Option<String> {
        self.node.contains("::").then(|| match self.part {
            "" => self.node.to_owned(),
            part => format!("{} {part}", self.node),
        })
    }

    /// Whether a block with this head is about it.
    fn is(&self, head: &str) -> bool {
        let (file, test) = self.node.split_once("::").unwrap_or((self.node, ""));
        let mut named = test.replace("::", ".");
        if !self.part.is_empty() {
            named = format!("{named} {}", self.part);
        }
        named == head || (test.is_empty() && file == head)
    }
}

#[derive(Default)]
struct Report<'a> {
    /// Head and lines of each block; with `--tb=line` a block is one line without a head.
    blocks: Vec<(Option<&'a str>, Vec<&'a str>)>,
    summary: Vec<SummaryLine<'a>>,
}

pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    let mut report = sections(lines);
    if report.summary.is_empty() {
        // The summary is cut off or disabled.
        let running =
            lines.iter().filter(|line| line.contains(".py::")).filter_map(|line| RUNNING.captures(line)?.get(1));
        report.summary = running.map(|node| SummaryLine { node: node.as_str(), part: "", message: "" }).collect();
    }
    report.summary.truncate(HELD);
    report.blocks.truncate(HELD);
    let headless = report.blocks.iter().filter(|(head, _)| head.is_none()).count();
    // Blocks without names can only be matched if there is one for each summary line.
    let named = report
        .summary
        .iter()
        .filter(|told| !report.blocks.iter().any(|(head, _)| head.is_some_and(|head| told.is(head))))
        .count();
    if headless != named && !report.summary.is_empty() {
        report.blocks.retain(|(head, _)| head.is_some());
    }
    let mut items = Vec::new();
    for (head, body) in &report.blocks {
        let told = match head {
            Some(head) => report.summary.iter().position(|told| told.is(head)),
            None => (!report.summary.is_empty()).then_some(0),
        };
        items.push(item(*head, body, told.map(|at| report.summary.remove(at))));
    }
    items.extend(report.summary.iter().map(|told| item(None, &[], Some(SummaryLine { ..*told }))));
    items
}

fn sections<'a>(lines: &[&'a str]) -> Report<'a> {
    let mut report = Report::default();
    let (mut failures, mut summary) = (false, false);
    // Whether a block is open, and inside it the test's output.
    let (mut open, mut captured) = (false, false);
    for line in lines {
        if let Some(section) = line.starts_with('=').then(|| SECTION.captures(line)).flatten() {
            failures = matches!(&section[1], "FAILURES" | "ERRORS");
            summary = &section[1] == "short test summary info";
            open = false;
        } else if summary {
            report.summary.extend(summary_line(line));
        } else if !failures {
            continue;
        } else if let Some(head) = head(line) {
            (open, captured) = (true, false);
            report.blocks.push((Some(head), Vec::new()));
        } else if !open && located(line).is_some() {
            // `--tb=line`: the whole block is `/workspace/tests/test_a.py:11: AssertionError: assert 105 == 150`.
            report.blocks.push((None, vec![line]));
        } else if open {
            captured |= line.starts_with("--") && CAPTURED.is_match(line);
            report.blocks.last_mut().filter(|_| !captured).into_iter().for_each(|(_, body)| body.push(line));
        }
    }
    report
}

/// The test or file in a block's first line; none for the separator between two frames.
fn head(line: &str) -> Option<&str> {
    let head = line.starts_with('_').then(|| HEAD.captures(line)).flatten()?.get(1)?.as_str();
    let name = PHASE.captures(head).and_then(|found| found.get(1)).map_or(head, |name| name.as_str());
    (!name.starts_with("_ ")).then_some(name)
}

fn summary_line<'a>(line: &'a str) -> Option<SummaryLine<'a>> {
    let found = SUMMARY.captures(line)?;
    let part = found.get(1).map_or("", |part| part.as_str());
    let rest = found.get(2)?.as_str();
    // A parameter's value may contain anything, even the separator of name and message.
    let dash = rest.find(" - ");
    let bracket = rest.find('[').filter(|bracket| dash.is_none_or(|dash| *bracket < dash));
    let (node, message) = match bracket {
        Some(_) => rest.split_once("] - ").map_or((rest, ""), |(node, message)| (&rest[..node.len() + 1], message)),
        None => rest.split_once(" - ").unwrap_or((rest, "")),
    };
    Some(SummaryLine { node, part, message })
}

fn item(head: Option<&str>, body: &[&str], told: Option<SummaryLine<'_>>) -> Item {
    let at = body.iter().rev().find_map(|line| located(line));
    let file = match (&at, &told) {
        (Some((file, _)), _) => Some(file.clone()),
        (None, Some(told)) => place(told.node.split("::").next().unwrap_or_default()),
        (None, None) => head.filter(|head| head.ends_with(".py")).and_then(place),
    };
    let mut words = words(body);
    if words.is_empty() {
        words = told.as_ref().map(|told| message([told.message])).unwrap_or_default();
    }
    let test = match &told {
        Some(told) => told.test(),
        None => head.filter(|head| !head.ends_with(".py")).map(str::to_owned),
    };
    Item { tool: Tool::Pytest, file, line: at.map(|(_, line)| line), severity: Severity::Error, message: words, test }
}

fn located(line: &str) -> Option<(String, u32)> {
    let bare = line.strip_prefix('E').unwrap_or(line);
    python::frame(bare).or_else(|| {
        let found = PLACE.captures(line)?;
        Some((place(&found[1])?, number(&found[2])?))
    })
}

/// A line of the exception's message, without its `E`.
fn marked(line: &str) -> Option<&str> {
    line.strip_prefix('E').filter(|rest| rest.is_empty() || rest.starts_with("  "))
}

/// The exception's message: the lines marked with `E`, otherwise the end of a Python traceback, otherwise the one line.
fn words(body: &[&str]) -> String {
    // Of chained exceptions the last one counts.
    let Some(last) = body.iter().rposition(|line| marked(line).is_some()) else {
        return python::traceback(body).map(|broken| broken.message).unwrap_or_else(|| {
            let found = body.first().and_then(|line| PLACE.captures(line));
            found.map(|found| message([&found[3]])).unwrap_or_default()
        });
    };
    let from = body[..=last].iter().rposition(|line| marked(line).is_none()).map_or(0, |at| at + 1);
    message(body[from..=last].iter().filter_map(|line| marked(line)))
}
