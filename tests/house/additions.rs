//! The table *to add … touch …* of `docs/development.md`: a sample of each kind of addition stands in no production file that its row does
//! not name.

use super::{files, read, root, shown};
use regex::Regex;
use std::collections::BTreeSet;

/// The row that names no file in which a sample does not stand.
const PROVIDER: &str = "a model provider";

/// Row of the table, what names a sample of it in the sources, and what `<name>` is for the sample.
const SAMPLES: [(&str, &str, &str); 10] = [
    ("a command", r"\bVerb::Sync\b", "sync"),
    ("a command", r"\bVerb::Budget\b", "budget"),
    ("a kind of task", r"\bTaskKind::Refactor\b", "refactor"),
    ("what begins work without a command", r"\bTrigger::Label\b", "label"),
    ("a tool of the model", r"\bUpdatePlan\b", "update_plan"),
    ("a tool whose reports are read", r"\bTool::Ruff\b", "ruff"),
    ("a setting of a repository (`[[repositories]]`)", r"\bUpstreamIssues\b", "upstream"),
    ("an action", r"\bMoveFile\b", "move_file"),
    (PROVIDER, r"\bGemini\b|\bgemini(_stream)?(::|;)", "gemini"),
    ("an effect", r"\bShowPlan\b", "plan"),
];

/// Files and folders (with a slash at the end) that the row of this kind names.
fn named(kind: &str, name: &str) -> BTreeSet<String> {
    let text = read(&root().join("docs/development.md"));
    let row = text.lines().find(|line| line.trim_start().starts_with(&format!("| {kind} |")));
    let row = row.unwrap_or_else(|| panic!("no row of {kind}"));
    let quoted = row.split('`').skip(1).step_by(2).map(|path| path.replace("<name>", name));
    quoted.filter(|path| path.contains("src/")).collect()
}

/// Whether a module of tests with its body begins here.
fn of_tests(text: &str) -> bool {
    let declared = text.lines().skip(1).find(|line| !line.starts_with("#["));
    declared.is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
}

/// Production files in which the sample stands, outside comments.
fn places(sample: &Regex) -> BTreeSet<String> {
    let folders = ["src", "domain/src", "protocol/src", "runner/src"];
    let all = folders.iter().flat_map(|folder| files(&root().join(folder), &[".rs"]));
    let tests = |name: &str| ["tests", "_tests", "properties", "fixtures"].iter().any(|end| name.ends_with(end));
    all.filter(|path| !tests(&path.file_stem().unwrap_or_default().to_string_lossy()))
        .filter(|path| {
            let text = read(path);
            // A module of tests in a file of its own may be declared above the code.
            let end = text.match_indices("#[cfg(test)]").find(|(at, _)| of_tests(&text[*at..])).map(|(at, _)| at);
            let code = &text[..end.unwrap_or(text.len())];
            code.lines().any(|line| !line.trim_start().starts_with("//") && sample.is_match(line))
        })
        .map(|path| shown(&path))
        .collect()
}

#[test]
fn what_an_addition_touches_stands_in_the_table() {
    let mut missing = Vec::new();
    for (kind, sample, name) in SAMPLES {
        let named = named(kind, name);
        let places = places(&Regex::new(sample).expect("a literal"));
        assert!(places.len() >= 2, "{kind}: the sample stands in {places:?}");
        let within =
            |place: &String| named.iter().any(|path| path == place || path.ends_with('/') && place.starts_with(path));
        missing.extend(places.iter().filter(|place| !within(place)).map(|place| format!("{kind}: {place}")));
    }
    assert!(missing.is_empty(), "docs/development.md does not name them:\n{}", missing.join("\n"));
}

#[test]
fn the_row_of_a_model_provider_names_no_other_source() {
    let (kind, sample, name) = SAMPLES.into_iter().find(|(kind, ..)| *kind == PROVIDER).expect("its sample");
    let mut named = named(kind, name);
    named.retain(|path| path.ends_with(".rs"));
    // The file of its events need not name the kind.
    let stream = format!("src/llm/{name}_stream.rs");
    assert!(named.remove(&stream) && root().join(&stream).is_file(), "{named:?}");
    let mut places = places(&Regex::new(sample).expect("a literal"));
    places.remove(&stream);
    assert_eq!(places, named);
}
