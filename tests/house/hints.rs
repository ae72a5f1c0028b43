//! An `attempt` is one line of work of a task (docs/glossary.md): advice to a person is a `hint`.

use super::{read, shown, sources};
use regex::Regex;

/// Declarations of an `attempt` that is a text, in code as rustfmt leaves it.
fn advice() -> Regex {
    let texts = r"(?:Option<)?(?:&(?:'\w+ )?str\b|String\b|impl Into<String>)";
    let values = r#"(?:&?format!\(|"|\|\|)"#;
    let forms = [
        format!(r"\battempt: {texts}"),
        format!(r"\blet (?:mut )?attempt\s*=\s*{values}"),
        format!(r"\bfn attempt\((?:mut )?self, \w+: {texts}"),
    ];
    Regex::new(&forms.join("|")).expect("a pattern")
}

#[test]
fn no_advice_is_called_attempt() {
    let advice = advice();
    let mut found = Vec::new();
    for path in sources().into_iter().filter(|path| !shown(path).ends_with("house/hints.rs")) {
        let text = read(&path);
        found.extend(advice.find_iter(&text).map(|hit| {
            let line = text[..hit.start()].matches('\n').count() + 1;
            format!("{}:{line}: {}", shown(&path), hit.as_str())
        }));
    }
    assert!(found.is_empty(), "call it hint:\n{}", found.join("\n"));
}

#[test]
fn advice_is_told_from_a_line_of_work() {
    let advice = advice();
    for text in [
        "    pub attempt: String,",
        "fn fault(&mut self, found: &str, attempt: &'static str) {",
        "fn new(what: impl Into<String>, attempt: impl Into<String>) -> Self {",
        "    let attempt = format!(\"chown {me}\");",
        "    let attempt =\n        \"start it anew\";",
        "    pub fn attempt(mut self, text: impl Into<String>) -> Complaint {",
    ] {
        assert!(advice.is_match(text), "{text}");
    }
    for text in [
        "    pub attempt: u32,",
        "fn redirect(attempt: Attempt<'_>) -> Action {",
        "fn setup(world: &World, attempt: u32, commands: &[&str]) -> PrepareSpec {",
        "    let attempt = record.attempt + 1;",
        "    pub(crate) async fn attempt(\n        &self,",
        "    pub hint: String,",
    ] {
        assert!(!advice.is_match(text), "{text}");
    }
}
