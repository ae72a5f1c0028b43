//! Reads Maven: its compiler's errors at `A.java:[7,23]`, and tests with `<<< FAILURE!` and their stack.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::lines::{message, number, place, regex};
use super::{Item, Severity, Tool, java};

static BUILD: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^\[(ERROR|WARNING)\] ([^\s:]+\.(?:java|kt)):\[(\d+),\d+\] (.+)$"));
/// `shop.PriceTest.cents -- Time elapsed: …`, and before Surefire 3 `cents(shop.PriceTest)  Time elapsed: …`.
static TEST: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^(?:\[ERROR\] )?(\S.*?)(?:\(([\w.$]+)\))? +(?:-- )?Time elapsed: [\d.,]+ s(?:ec)? +<<< (?:FAILURE|ERROR)!$")
});

/// The most lines below a head that belong to it.
const BODY: usize = 12;
/// The most lines of a stack that are read.
const STACK: usize = 200;

pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut built = HashSet::new();
    for (at, line) in lines.iter().enumerate() {
        let rest = &lines[at + 1..];
        if line.contains(":[") {
            // The end of the log repeats it.
            items.extend(build(line, rest).filter(|item| built.insert(key(item))));
        } else if line.contains("Time elapsed: ") {
            items.extend(test(line, rest));
        }
    }
    items
}

fn key(item: &Item) -> (Option<String>, Option<u32>, String) {
    (item.file.clone(), item.line, item.message.lines().next().unwrap_or_default().to_owned())
}

fn build(line: &str, rest: &[&str]) -> Option<Item> {
    let found = BUILD.captures(line)?;
    let severity = if &found[1] == "ERROR" { Severity::Error } else { Severity::Warning };
    let deeper = rest.iter().take(BODY).take_while(|line| line.starts_with("  ")).copied();
    let said = message(std::iter::once(&found[4]).chain(deeper));
    let (file, line) = (place(&found[2]), number(&found[3]));
    Some(Item { tool: Tool::Maven, file, line, severity, message: said, test: None })
}

fn test(line: &str, rest: &[&str]) -> Option<Item> {
    let found = TEST.captures(line).filter(|found| !found[1].starts_with("Tests run:"))?;
    let test = found.get(2).map_or_else(|| found[1].to_owned(), |class| format!("{}.{}", class.as_str(), &found[1]));
    let class =
        found.get(2).map_or_else(|| test.rsplit_once('.').map_or(test.as_str(), |(class, _)| class), |it| it.as_str());
    let end = rest
        .iter()
        .take(STACK)
        .position(|line| line.is_empty() || line.starts_with('['))
        .unwrap_or(rest.len().min(STACK));
    let body = &rest[..end];
    let stack = body.iter().position(|line| java::is_frame(line)).unwrap_or(body.len());
    let (file, line) = java::innermost(body[stack..].iter().copied(), class).unzip();
    let message = message(body[..stack].iter().copied());
    Some(Item { tool: Tool::Maven, file, line, severity: Severity::Error, message, test: Some(test) })
}
