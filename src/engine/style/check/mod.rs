//! The check made for an issue: the literal examples of its words as a program that runs before and after an answer.
//!
//! Owns: where the functions that they call lie, and the program that tries them in each language (`harness.*`). What it prints is read
//! in `sandbox/issue_check.rs`. Pure: nothing is run here, and what runs does so in a copy without a network. Tests: below; over real
//! interpreters: `tests/trees/issue_check.rs`.

mod words;

use std::collections::BTreeSet;

use domain::{IssueCheck, Look, NewFile};

use super::definitions;
use crate::sandbox::detect::steers_tests;
use words::{Line, Wanted};

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

/// The check of an issue with these words, over the files that were looked at; none where they hold no example that could be run.
pub fn of(words: &[&str], look: &Look) -> Option<IssueCheck> {
    let lines = words::lines(words);
    let places = places(&lines, words, look);
    let language = Language::of(places.first()?)?;
    let places: Vec<&str> = places.into_iter().filter(|path| Language::of(path) == Some(language)).collect();
    let (file, command) = match language {
        Language::Python => python(&lines, &places),
        Language::JavaScript => javascript(&lines, &places),
        Language::Rust => rust(&lines, &places)?,
    };
    Some(IssueCheck { file, command, says: lines.iter().filter_map(sentence).collect() })
}

fn sentence(line: &Line) -> Option<String> {
    match line {
        Line::Setup(_) => None,
        Line::Example { call, wanted: Wanted::Value(value) } => Some(format!("`{call}` should give `{value}`")),
        Line::Example { call, wanted: Wanted::Error(name) } => Some(format!("`{call}` should raise `{name}`")),
    }
}

/// Where the examples' functions are defined; where one is yet to be made, the file that the issue names, then the first that is shown.
fn places<'a>(lines: &[Line], words: &[&str], look: &'a Look) -> Vec<&'a str> {
    let heads = heads(lines);
    if heads.is_empty() {
        return Vec::new();
    }
    let sources: Vec<_> =
        look.files.iter().filter(|file| !steers_tests(&file.path) && Language::of(&file.path).is_some()).collect();
    let defines = |text: &str| text.lines().filter_map(definitions::named).any(|(name, _)| heads.contains(&name));
    let mut out: Vec<&str> = sources.iter().filter(|file| defines(&file.text)).map(|file| file.path.as_str()).collect();
    if out.is_empty() {
        let named = sources.iter().find(|file| words.iter().any(|text| text.contains(&file.path)));
        out.extend(named.or(sources.first()).map(|file| file.path.as_str()));
    }
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

/// The name that a line of preparation takes its value from.
fn used(line: &Line) -> Option<&str> {
    match line {
        Line::Setup(text) => head(text.split_once('=').map_or("", |(_, value)| value.trim())),
        Line::Example { .. } => None,
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Numbers the examples and writes each line as code.
fn written(lines: &[Line], example: impl Fn(usize, &str, &str, bool) -> String, setup: bool) -> String {
    let mut out = String::new();
    let mut number = 0;
    for line in lines {
        match line {
            Line::Setup(text) if setup => out.push_str(text),
            Line::Setup(_) => continue,
            Line::Example { call, wanted } => {
                number += 1;
                let (wanted, error) = match wanted {
                    Wanted::Value(value) => (value, false),
                    Wanted::Error(name) => (name, true),
                };
                out.push_str(&example(number, call, wanted, error));
            }
        }
        out.push('\n');
    }
    out
}

fn python(lines: &[Line], places: &[&str]) -> (NewFile, String) {
    let modules: Vec<String> = places.iter().map(|path| module(path)).collect();
    let example = |number: usize, call: &str, wanted: &str, error: bool| {
        let error = if error { "True" } else { "False" };
        format!("_caisson_check({number}, {}, {}, {error})", json(&call), json(&wanted))
    };
    let load = format!("_caisson_load({}, {})\n", json(&modules), json(&heads(lines)));
    let content = format!("{}{load}{}", include_str!("harness.py"), written(lines, example, true));
    let path = ".caisson_issue.py".to_owned();
    // Files that are written within the same second would be taken for what was compiled before.
    let command = format!("PYTHONDONTWRITEBYTECODE=1 python3 {path}");
    (NewFile { path, content }, command)
}

/// `src/shop/cart.py` is imported as `shop.cart`.
fn module(path: &str) -> String {
    let stem = path.trim_end_matches(".py");
    let stem = ["src/", "lib/"].iter().find_map(|root| stem.strip_prefix(root)).unwrap_or(stem);
    stem.trim_end_matches("/__init__").replace('/', ".")
}

fn javascript(lines: &[Line], places: &[&str]) -> (NewFile, String) {
    // What the package itself gives comes first: the files that were looked at decide.
    let paths: Vec<String> =
        [".".to_owned()].into_iter().chain(places.iter().map(|path| format!("./{path}"))).collect();
    let example = |number: usize, call: &str, wanted: &str, error: bool| {
        format!("await caissonCheck({number}, () => eval({}), {}, {error});", json(&call), json(&wanted))
    };
    let body = written(lines, example, true);
    let content = format!(
        "{}(async () => {{\nawait caissonLoad({});\n{body}}})().catch((raised) => {{\nconsole.log(String(raised));\nprocess.exitCode = 1;\n}});\n",
        include_str!("harness.cjs"),
        json(&paths)
    );
    let path = ".caisson_issue.cjs".to_owned();
    let command = format!("node {path}");
    (NewFile { path, content }, command)
}

/// An integration test of the package that the first place belongs to; lines of preparation are left out.
fn rust(lines: &[Line], places: &[&str]) -> Option<(NewFile, String)> {
    let package = match places.first()?.split_once("src/") {
        Some((package, _)) if package.is_empty() || package.ends_with('/') => package.trim_end_matches('/'),
        Some(_) | None => return None,
    };
    let folder = if package.is_empty() { ".".to_owned() } else { format!("./{package}") };
    let example = |number: usize, call: &str, wanted: &str, _: bool| {
        format!("    caisson_check({number}, || format!(\"{{:?}}\", {call}), {wanted:?});")
    };
    let body = written(lines, example, false);
    let content = format!("{}#[test]\nfn examples() {{\n{body}}}\n", include_str!("harness.rs.txt"));
    let path = format!("{folder}/tests/caisson_issue.rs").trim_start_matches("./").to_owned();
    let command = format!(
        "cd '{folder}' && name=$(sed -n 's/^name *= *\"\\([A-Za-z0-9_-]*\\)\".*/\\1/p' Cargo.toml | head -n 1 | tr - _) \
         && sed -i \"s/CAISSON_CRATE/$name/\" tests/caisson_issue.rs \
         && cargo test -q --offline --test caisson_issue -- --nocapture"
    );
    (!folder.contains('\'')).then_some((NewFile { path, content }, command))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ShownFile;

    fn look(files: &[(&str, &str)]) -> Look {
        let shown = files.iter().map(|(path, text)| ShownFile {
            path: (*path).into(),
            text: (*text).into(),
            because: String::new(),
            lines: Vec::new(),
        });
        Look { files: shown.collect(), ..Look::default() }
    }

    #[test]
    fn the_file_that_defines_what_is_called_is_loaded() {
        let look = look(&[
            ("src/shop/cart.py", "def total(items):\n    return 0\n"),
            ("src/shop/text.py", "def show(x):\n    return x\n"),
            ("tests/test_cart.py", "def total(): pass\n"),
        ]);
        let check = of(&["Totals", "`total([1, 2])` should be `3`."], &look).expect("an example");
        assert_eq!(check.says, ["`total([1, 2])` should give `3`"]);
        assert!(check.file.content.contains("_caisson_load([\"shop.cart\"], [\"total\"])"), "{}", check.file.content);
        assert!(check.file.content.ends_with("_caisson_check(1, \"total([1, 2])\", \"3\", False)\n"));
        let made = of(&["`rest(1)` gives 2, in src/shop/text.py"], &look).expect("an example");
        assert!(made.file.content.contains("_caisson_load([\"shop.text\"]"), "the file that the issue names");
        assert_eq!(of(&["Totals are wrong"], &look), None);
        assert_eq!(of(&["`f(1)` gives 2"], &Look::default()), None);
    }

    #[test]
    fn a_rust_example_is_a_test_of_its_package() {
        let look = look(&[("crates/roman/src/read.rs", "pub fn from_roman(text: &str) -> Result<u32, E> {\n}\n")]);
        let check = of(&["`from_roman(\"xiv\")` gives 14"], &look).expect("an example");
        assert_eq!(check.file.path, "crates/roman/tests/caisson_issue.rs");
        assert!(check.file.content.contains("caisson_check(1, || format!(\"{:?}\", from_roman(\"xiv\")), \"14\");"));
        assert!(check.command.starts_with("cd './crates/roman' && "), "{}", check.command);
    }
}
