//! Reads ESLint's default report: a file's name, and below it rows like `8:11  error  Expected '===' …  eqeqeq`.

use std::sync::LazyLock;

use regex::Regex;

use super::lines::{message, number, place, regex};
use super::{Item, Severity, Tool};

static ROW: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^ +(\d+):\d+ +(error|warning) +(\S.*?)(?: {2,}([\w@][\w@/.-]*))?$"));

pub(super) fn read(lines: &[&str]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut file = None;
    for line in lines {
        if !line.starts_with(' ') {
            file = Some(*line).filter(|line| line.contains('.') && !line.contains(": "));
        } else if let Some(file) = file.filter(|_| line.contains(" error ") || line.contains(" warning ")) {
            items.extend(row(file, line));
        }
    }
    items
}

fn row(file: &str, line: &str) -> Option<Item> {
    let found = ROW.captures(line)?;
    let severity = if &found[2] == "error" { Severity::Error } else { Severity::Warning };
    let said = match found.get(4) {
        Some(rule) => format!("{} ({})", &found[3], rule.as_str()),
        None => found[3].to_owned(),
    };
    let (file, line) = (place(file), number(&found[1]));
    Some(Item { tool: Tool::Eslint, file, line, severity, message: message([said.as_str()]), test: None })
}
