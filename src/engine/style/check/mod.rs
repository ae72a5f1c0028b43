//! The check made from an issue: its literal examples as a program that runs before and after an answer.
//!
//! Owns: the files that define the called functions, and the program that tries the examples in each language (`harness.*`). Its output is
//! read in `sandbox/verification/issue_check.rs`. Pure: nothing is run here; the program runs in a copy without a network. Tests: below;
//! with real interpreters: `tests/trees/issue_check.rs`.

mod words;

use std::collections::BTreeSet;

use domain::{IssueCheck, Look, NewFile};

use super::definitions;
use crate::sandbox::detect::steers_tests;
use words::{Expected, Line};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Python,
    JavaScript,
    Rust,
}

impl Language {
    fn of(path: &str) -> Option<Self> {
        match path.rsplit_once('.')?.1 {
            "py" => Some(Language::Python),
            "js" | "cjs" | "mjs" => Some(Language::JavaScript),
            "rs" => Some(Language::Rust),
            _ => None,
        }
    }
}

/// The check of an issue with these words, for an answer with these files; none if it has no example that could be run.
pub fn of(words: &str, look: &Look, files: &[NewFile]) -> Option<IssueCheck> {
    let lines = words::lines(words);
    let places = places(&lines, words, look, files);
    let language = Language::of(places.first()?)?;
    let places: Vec<&str> = places.into_iter().filter(|path| Language::of(path) == Some(language)).collect();
    let (file, command, says) = match language {
        Language::Python => python(&lines, &places),
        Language::JavaScript => javascript(&lines, &places),
        Language::Rust => rust(&lines, &places)?,
    };
    Some(IssueCheck { file, command, says })
}

fn says<'a>(lines: impl Iterator<Item = &'a Line>) -> Vec<String> {
    lines.filter_map(sentence).collect()
}

fn sentence(line: &Line) -> Option<String> {
    match line {
        Line::Setup(_) => None,
        Line::Example { call, expected: Expected::Value(value) } => Some(format!("`{call}` should give `{value}`")),
        Line::Example { call, expected: Expected::Printed(text) } => Some(format!("`{call}` should print `{text}`")),
        Line::Example { call, expected: Expected::Error(name) } => Some(format!("`{call}` should raise `{name}`")),
    }
}

/// The files that define the examples' functions, in the answer or in what was shown; if one is not defined yet, the file that the issue
/// names, otherwise the first shown. The one that the issue names is last, because it is loaded over the others.
fn places<'a>(lines: &[Line], words: &str, look: &'a Look, files: &'a [NewFile]) -> Vec<&'a str> {
    let heads = heads(lines);
    if heads.is_empty() {
        return Vec::new();
    }
    let shown = look.files.iter().map(|file| (file.path.as_str(), file.text.as_str()));
    let given = files.iter().map(|file| (file.path.as_str(), file.content.as_str()));
    let is_source = |path: &str| !steers_tests(path) && Language::of(path).is_some();
    let sources: Vec<(&str, &str)> = shown.chain(given).filter(|(path, _)| is_source(path)).collect();
    let defines = |text: &str| text.lines().filter_map(definitions::named).any(|(name, _)| heads.contains(&name));
    let is_named = |path: &str| words.contains(path);
    let mut out: Vec<&str> = Vec::new();
    for (path, _) in sources.iter().filter(|(_, text)| defines(text)) {
        if !out.contains(path) {
            out.push(path);
        }
    }
    if out.is_empty() {
        let named = sources.iter().find(|(path, _)| is_named(path));
        out.extend(named.or(sources.first()).map(|(path, _)| *path));
    }
    out.sort_by_key(|path| is_named(path));
    out
}

/// The first name of each expression.
fn heads(lines: &[Line]) -> BTreeSet<String> {
    let calls = lines.iter().filter_map(|line| match line {
        Line::Example { call, .. } => Some(call.as_str()),
        Line::Setup(_) => None,
    });
    calls.filter_map(head).chain(lines.iter().filter_map(used)).map(str::to_owned).collect()
}

fn head(call: &str) -> Option<&str> {
    let call = call.trim_start_matches("new ").trim_start_matches("await ");
    let end = call.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))?;
    (end > 0).then(|| &call[..end])
}

/// The name from which a preparing line takes its value.
fn used(line: &Line) -> Option<&str> {
    match line {
        Line::Setup(text) => head(text.split_once('=').map_or("", |(_, value)| value.trim())),
        Line::Example { .. } => None,
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Numbers the examples and writes each line as a call of the harness.
fn written<'a>(lines: impl Iterator<Item = &'a Line>, write: impl Fn(usize, &Line) -> String) -> String {
    let mut number = 0;
    let one = |line: &Line| {
        number += usize::from(matches!(line, Line::Example { .. }));
        write(number, line) + "\n"
    };
    lines.map(one).collect()
}

/// The expected value, and the harness's word for how to compare it.
fn expected(expected: &Expected) -> (&str, &'static str) {
    match expected {
        Expected::Value(value) => (value, "value"),
        Expected::Printed(text) => (text, "printed"),
        Expected::Error(name) => (name, "error"),
    }
}

fn python(lines: &[Line], places: &[&str]) -> (NewFile, String, Vec<String>) {
    let modules: Vec<String> = places.iter().map(|path| module(path)).collect();
    let body = written(lines.iter(), |number, line| match line {
        Line::Setup(code) => format!("_caisson_do({})", json(code)),
        Line::Example { call, expected } => {
            let (value, how) = self::expected(expected);
            format!("_caisson_check({number}, {}, {}, {how:?})", json(call), json(&value))
        }
    });
    let load = format!("_caisson_load({}, {})\n", json(&modules), json(&heads(lines)));
    let content = format!("{}{load}{body}", include_str!("harness.py"));
    let path = ".caisson_issue.py".to_owned();
    // Otherwise files written within the same second could be mistaken for earlier compiled ones.
    let command = format!("PYTHONDONTWRITEBYTECODE=1 python3 {path}");
    (NewFile::new(path, content), command, says(lines.iter()))
}

/// `src/shop/cart.py` is imported as `shop.cart`.
fn module(path: &str) -> String {
    let stem = path.trim_end_matches(".py");
    let stem = ["src/", "lib/"].iter().find_map(|root| stem.strip_prefix(root)).unwrap_or(stem);
    stem.trim_end_matches("/__init__").replace('/', ".")
}

fn javascript(lines: &[Line], places: &[&str]) -> (NewFile, String, Vec<String>) {
    // Names from the package itself come first; those of the files override them.
    let own = places.iter().map(|path| format!("./{path}"));
    let paths: Vec<String> = [".".to_owned()].into_iter().chain(own).collect();
    let body = written(lines.iter(), |number, line| match line {
        // Imports were loaded before, and the script is not a module.
        Line::Setup(code) => {
            let imports = |line: &&str| !line.starts_with("import ") && !line.contains("require(");
            let code: Vec<&str> = code.lines().filter(imports).collect();
            format!("await caissonDo({});", json(&code.join("\n")))
        }
        Line::Example { call, expected } => {
            let (value, how) = self::expected(expected);
            format!("await caissonCheck({number}, {}, {}, {how:?});", json(call), json(&value))
        }
    });
    let content = format!(
        "{}(async () => {{\nawait caissonLoad({});\n{body}caissonEnd();\n}})();\n",
        include_str!("harness.cjs"),
        json(&paths)
    );
    let path = ".caisson_issue.cjs".to_owned();
    let command = format!("node {path}");
    (NewFile::new(path, content), command, says(lines.iter()))
}

/// An integration test of the package that contains the first file. Examples that need preparing lines are left out, because code that does
/// not compile would take the others with it.
fn rust(lines: &[Line], places: &[&str]) -> Option<(NewFile, String, Vec<String>)> {
    let package = match places.first()?.split_once("src/") {
        Some((package, _)) if package.is_empty() || package.ends_with('/') => package.trim_end_matches('/'),
        Some(_) | None => return None,
    };
    let folder = if package.is_empty() { ".".to_owned() } else { format!("./{package}") };
    let plain = || lines.iter().take_while(|line| matches!(line, Line::Example { .. }));
    let body = written(plain(), |number, line| match line {
        Line::Setup(_) => String::new(),
        Line::Example { call, expected } => {
            let (value, _) = self::expected(expected);
            format!("    caisson_check({number}, || format!(\"{{:?}}\", {call}), {value:?});")
        }
    });
    let content = format!("{}#[test]\nfn examples() {{\n{body}}}\n", include_str!("harness.rs.txt"));
    let path = format!("{folder}/tests/caisson_issue.rs").trim_start_matches("./").to_owned();
    let command = format!(
        "cd '{folder}' && name=$(sed -n 's/^name *= *\"\\([A-Za-z0-9_-]*\\)\".*/\\1/p' Cargo.toml | head -n 1 | tr - _) \
         && sed -i \"s/CAISSON_CRATE/$name/\" tests/caisson_issue.rs \
         && cargo test -q --offline --test caisson_issue -- --nocapture"
    );
    let says = says(plain());
    (!folder.contains('\'') && !says.is_empty()).then_some((NewFile::new(path, content), command, says))
}

#[cfg(test)]
mod tests {
    use super::super::shown;
    use super::*;

    #[test]
    fn the_file_that_defines_what_is_called_is_loaded() {
        let look = shown(&[
            ("src/shop/cart.py", "def total(items):\n    return 0\n"),
            ("src/shop/text.py", "def show(x):\n    return x\n"),
            ("tests/test_cart.py", "def total(): pass\n"),
        ]);
        let check = of("Totals\n`total([1, 2])` should be `3`.", &look, &[]).expect("an example");
        assert_eq!(check.says, ["`total([1, 2])` should give `3`"]);
        assert!(check.file.content.contains("_caisson_load([\"shop.cart\"], [\"total\"])"), "{}", check.file.content);
        assert!(check.file.content.ends_with("_caisson_check(1, \"total([1, 2])\", \"3\", \"value\")\n"));
        let made = of("`rest(1)` gives 2, in src/shop/text.py", &look, &[]).expect("an example");
        assert!(made.file.content.contains("_caisson_load([\"shop.text\"]"), "the file that the issue names");
        let new = [NewFile::new("src/shop/sum.py", "def rest(x):\n    return 2\n")];
        let made = of("`rest(1)` gives 2", &look, &new).expect("an example");
        assert!(made.file.content.contains("_caisson_load([\"shop.sum\"]"), "where the answer makes it");
        assert_eq!(of("Totals are wrong", &look, &[]), None);
        assert_eq!(of("`f(1)` gives 2", &Look::default(), &[]), None);
    }

    #[test]
    fn a_rust_example_is_a_test_of_its_package() {
        let look = shown(&[("crates/roman/src/read.rs", "pub fn from_roman(text: &str) -> Result<u32, E> {\n}\n")]);
        let check = of("`from_roman(\"xiv\")` gives 14", &look, &[]).expect("an example");
        assert_eq!(check.file.path, "crates/roman/tests/caisson_issue.rs");
        assert!(check.file.content.contains("caisson_check(1, || format!(\"{:?}\", from_roman(\"xiv\")), \"14\");"));
        assert!(check.command.starts_with("cd './crates/roman' && "), "{}", check.command);
    }
}
