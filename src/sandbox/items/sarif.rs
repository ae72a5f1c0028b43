//! Reads SARIF 2.1.0 (OASIS) among other lines: each result of each run, except suppressed ones.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::lines::{message, number, place};
use super::{Item, Severity, Tool};

/// The most documents in one output.
const DOCUMENTS: usize = 8;
/// The most results of one document.
const RESULTS: usize = 2_000;

#[derive(Deserialize)]
struct Log {
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    #[serde(default)]
    results: Option<Vec<Finding>>,
    #[serde(default)]
    tool: Program,
}

#[derive(Deserialize, Default)]
struct Program {
    #[serde(default)]
    driver: Driver,
}

#[derive(Deserialize, Default)]
struct Driver {
    #[serde(default)]
    name: String,
    #[serde(default)]
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: String,
    #[serde(default)]
    default_configuration: Configuration,
}

#[derive(Deserialize, Default)]
struct Configuration {
    #[serde(default)]
    level: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    #[serde(default)]
    rule_id: Option<String>,
    #[serde(default)]
    level: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    message: Words,
    #[serde(default)]
    locations: Vec<Location>,
    #[serde(default)]
    suppressions: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize, Default)]
struct Words {
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    #[serde(default)]
    physical_location: PhysicalLocation,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    #[serde(default)]
    artifact_location: Artifact,
    #[serde(default)]
    region: Region,
}

#[derive(Deserialize, Default)]
struct Artifact {
    #[serde(default)]
    uri: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Region {
    /// Any number; one that is no line number is dropped.
    #[serde(default)]
    start_line: Option<serde_json::Number>,
}

pub(super) fn read(text: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut from = 0;
    for _ in 0..DOCUMENTS {
        let Some(at) = begins(&text[from..]).map(|at| from + at) else { break };
        let mut documents = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Log>();
        match documents.next() {
            Some(Ok(log)) => {
                from = at + documents.byte_offset();
                items.extend(log.runs.iter().flat_map(run).take(RESULTS));
            }
            Some(Err(_)) | None => from = at + 1,
        }
    }
    items
}

/// Position of the next line that begins with a brace.
fn begins(text: &str) -> Option<usize> {
    if text.starts_with('{') { Some(0) } else { text.find("\n{").map(|at| at + 1) }
}

fn run(run: &Run) -> impl Iterator<Item = Item> {
    let findings = run.results.iter().flatten();
    findings.filter_map(|finding| item(&run.tool.driver, finding))
}

/// The item of a result; none if its kind is not a failure or a person suppressed it (3.27.9, 3.27.23).
fn item(driver: &Driver, finding: &Finding) -> Option<Item> {
    let fails = finding.kind.as_deref().is_none_or(|kind| kind == "fail");
    let suppressed = finding.suppressions.as_ref().is_some_and(|all| !all.is_empty());
    if !fails || suppressed {
        return None;
    }
    let rule = finding.rule_id.as_deref().unwrap_or_default();
    let usual = || driver.rules.iter().find(|known| known.id == rule)?.default_configuration.level.as_deref();
    // The default level is a warning (3.27.10).
    let severity = match finding.level.as_deref().or_else(usual) {
        Some("error") => Severity::Error,
        Some("note" | "none") => Severity::Note,
        Some(_) | None => Severity::Warning,
    };
    let place_of = finding.locations.first().map(|location| &location.physical_location);
    let file = place_of.and_then(|at| place(&decoded(&at.artifact_location.uri)));
    let line = place_of.and_then(|at| at.region.start_line.as_ref()).and_then(|line| number(&line.to_string()));
    let line = line.filter(|_| file.is_some());
    let head = [driver.name.as_str(), rule].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let said = if head.is_empty() { finding.message.text.clone() } else { format!("{head}: {}", finding.message.text) };
    Some(Item { tool: Tool::Sarif, file, line, severity, message: message(said.lines()), test: None })
}

/// A URI's path with escapes decoded; unchanged if they give no valid text.
fn decoded(uri: &str) -> String {
    let mut out = Vec::with_capacity(uri.len());
    let mut rest = uri.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escape = after.get(..2).filter(|_| first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &after[2..];
            }
            None => {
                out.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| uri.to_owned())
}
