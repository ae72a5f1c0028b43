//! Reads a call's arguments: tolerates what models commonly do, and describes errors so that a model can act on them.
//!
//! Owns: alternative names of arguments, and numbers and flags written as text. Must not: know any tool. Tests: `tools/tests.rs`.

use serde_json::{Map, Value};

/// Names of the same arguments in other harnesses, which models were trained on.
const ALSO: [(&str, &[&str]); 8] = [
    ("path", &["file_path", "filename", "file", "directory"]),
    ("command", &["cmd", "script"]),
    ("old", &["old_string", "old_str", "old_text"]),
    ("new", &["new_string", "new_str", "new_text"]),
    ("all", &["replace_all"]),
    ("content", &["contents", "file_text", "text"]),
    ("pattern", &["query", "regex"]),
    ("summary", &["answer", "result", "message"]),
];

/// The arguments of one call.
pub(super) struct Arguments<'a> {
    tool: &'a str,
    map: &'a Map<String, Value>,
}

impl<'a> Arguments<'a> {
    pub(super) fn new(tool: &'a str, map: &'a Map<String, Value>) -> Self {
        Self { tool, map }
    }

    pub(super) fn tool(&self) -> &'a str {
        self.tool
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        let spellings = ALSO.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, also)| also);
        let found = self.map.get(name).or_else(|| spellings.iter().find_map(|also| self.map.get(*also)));
        found.filter(|value| !value.is_null())
    }

    /// The argument, whatever its type.
    pub(super) fn value(&self, name: &str) -> Option<&'a Value> {
        self.get(name)
    }

    /// A required text, possibly empty.
    pub(super) fn text(&self, name: &str) -> Result<String, String> {
        match self.get(name) {
            Some(value) => self.as_text(name, value),
            None => Err(self.missing(name)),
        }
    }

    /// A required text that is not blank.
    pub(super) fn words(&self, name: &str) -> Result<String, String> {
        let text = self.text(name)?;
        if text.trim().is_empty() { Err(format!("{}: `{name}` is empty", self.tool)) } else { Ok(text) }
    }

    /// An optional text; an empty one counts as missing.
    pub(super) fn optional(&self, name: &str) -> Result<Option<String>, String> {
        let text = self.get(name).map(|value| self.as_text(name, value)).transpose()?;
        Ok(text.filter(|text| !text.trim().is_empty()))
    }

    /// A whole number from 0.
    pub(super) fn number(&self, name: &str, default: u64) -> Result<u64, String> {
        let value = match self.get(name) {
            Some(value) => value,
            None => return Ok(default),
        };
        let float = value.as_f64().filter(|f| f.fract() == 0.0 && (0.0..1e15).contains(f)).map(|f| f as u64);
        let written = value.as_str().and_then(|text| text.trim().parse().ok());
        value.as_u64().or(float).or(written).ok_or_else(|| {
            format!("{}: `{name}` must be a whole number that isn't negative, not {}", self.tool, shown(value))
        })
    }

    /// Whether the argument is given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// A list of objects, which may be encoded as text; empty if missing.
    pub(super) fn list(&self, name: &str) -> Result<Vec<Map<String, Value>>, String> {
        let wrong = |value: &Value| format!("{}: `{name}` must be a list of objects, not {}", self.tool, shown(value));
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let written = value.as_str().and_then(|text| serde_json::from_str(text).ok());
        let entries = written.as_ref().unwrap_or(value).as_array().ok_or_else(|| wrong(value))?;
        entries.iter().map(|entry| entry.as_object().cloned().ok_or_else(|| wrong(entry))).collect()
    }

    /// A list of texts without empty ones; empty if missing.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let wrong = |value: &Value| format!("{}: `{name}` must be a list of texts, not {}", self.tool, shown(value));
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let entries = value.as_array().ok_or_else(|| wrong(value))?;
        let texts = entries.iter().map(|entry| entry.as_str().map(str::to_owned).ok_or_else(|| wrong(entry)));
        let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
        Ok(texts.into_iter().filter(|text| !text.trim().is_empty()).collect())
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, String> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Ok(true),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => Ok(false),
            Some(other) => Err(format!("{}: `{name}` must be true or false, not {}", self.tool, shown(other))),
        }
    }

    fn as_text(&self, name: &str, value: &Value) -> Result<String, String> {
        match value {
            Value::String(text) => Ok(text.clone()),
            // Some models send a plan or an answer as a list of lines.
            Value::Array(lines) if matches!(name, "plan" | "summary") => Ok(lines
                .iter()
                .map(|l| l.as_str().map_or_else(|| l.to_string(), |t| format!("- {t}")))
                .collect::<Vec<_>>()
                .join("\n")),
            other => Err(format!("{}: `{name}` must be a string, not {}", self.tool, shown(other))),
        }
    }

    fn missing(&self, name: &str) -> String {
        let given: Vec<&str> = self.map.keys().map(String::as_str).take(10).collect();
        let given =
            if given.is_empty() { "no arguments came".to_owned() } else { format!("given: {}", given.join(", ")) };
        format!("{}: `{name}` is missing ({given})", self.tool)
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
