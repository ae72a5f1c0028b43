//! The house rules that a compiler doesn't hold: arrows between modules run one way, files stay small, nothing of a
//! developer's machine is committed, and what the documents promise is there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "house/additions.rs"]
mod additions;
#[path = "house/floors.rs"]
mod floors;
#[path = "house/hints.rs"]
mod hints;
#[path = "house/project_file.rs"]
mod project_file;
#[path = "house/shapes.rs"]
mod shapes;
#[path = "house/words.rs"]
mod words;

/// Modules of the root package, lowest first; a module may use what stands on a lower floor, never its own or above.
/// (`main.rs` stands on top of all.)
const FLOORS: &[&[&str]] = &[
    &["text", "secret", "supervise", "clock", "disk"],
    &["command", "telemetry", "redact", "policy"],
    &["config"],
    &["store"],
    &["git", "egress", "forge", "line", "llm"],
    &["sandbox", "upstream"],
    &["barrier", "checkpoint", "engine", "scan", "trouble"],
    &["message"],
    &["thread"],
    &["effect"],
    &["task"],
    &["handler"],
    &["server", "fetch"],
    &["bot"],
    &["cli"],
];

const MAX_FILE: usize = 500;
const MAX_FUNCTION: usize = 60;
/// A story may be told in one piece.
const MAX_TEST: usize = 100;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below a folder with one of these endings, without build output.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return out };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            // What tasks of the evaluation begin from and ask for is data, much of it other people's: no rule of this house holds there.
            let foreign = ["eval/repositories", "eval/tasks"].iter().any(|data| path == root().join(data));
            if !foreign && !matches!(name.as_str(), "target" | ".git" | "node_modules") {
                out.extend(files(&path, endings));
            }
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            out.push(path);
        }
    }
    out.sort();
    out
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", shown(path)))
}

/// Modules named after `crate::`, also inside `use crate::{a::b, c}`.
fn used_modules(text: &str) -> Vec<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut out = Vec::new();
    for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
        for rest in line.split("crate::").skip(1) {
            match rest.strip_prefix('{') {
                None => out.push(word(rest)),
                Some(group) => {
                    let mut depth = 0;
                    let mut at_start = true;
                    for (at, c) in group.char_indices() {
                        if at_start && c.is_alphabetic() && depth == 0 {
                            out.push(word(&group[at..]));
                        }
                        depth += i32::from(c == '{') - i32::from(c == '}');
                        at_start = c == ',' || (at_start && c == ' ');
                    }
                }
            }
        }
    }
    out
}

#[test]
fn arrows_run_one_way() {
    let mut floor = BTreeMap::new();
    for (height, modules) in FLOORS.iter().enumerate() {
        modules.iter().for_each(|module| {
            floor.insert((*module).to_owned(), height);
        });
    }
    let mut wrong = Vec::new();
    for path in files(&root().join("src"), &[".rs"]) {
        let inside = path.strip_prefix(root().join("src")).unwrap();
        let first = inside.iter().next().unwrap().to_string_lossy().into_owned();
        let module = first.trim_end_matches(".rs").to_owned();
        if matches!(module.as_str(), "main" | "lib") {
            continue;
        }
        let Some(from) = floor.get(&module) else {
            wrong.push(format!("{module} has no floor: give it one in FLOORS"));
            continue;
        };
        for used in used_modules(&read(&path)).into_iter().filter(|used| *used != module) {
            match floor.get(&used) {
                Some(to) if to < from => {}
                Some(_) => wrong.push(format!("{} uses {used}, which is not below {module}", shown(&path))),
                None => {}
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn groups_of_modules_are_read() {
    let text = "use crate::{config::{Process, Secret}, text::code};\nuse crate::forge::Forge;\n// crate::not\n";
    assert_eq!(used_modules(text), ["config", "text", "forge"]);
}

fn sources() -> Vec<PathBuf> {
    let crates = ["src", "domain", "protocol", "locate", "runner", "router", "broker", "devforge"];
    let folders = crates.into_iter().chain(["tests", "benches", "fuzz"]);
    folders.flat_map(|folder| files(&root().join(folder), &[".rs"])).collect()
}

#[test]
fn files_stay_small() {
    let mut wrong = Vec::new();
    for path in sources() {
        let text = read(&path);
        let lines = text.lines().count();
        if lines > MAX_FILE {
            wrong.push(format!("{}: {lines} lines; split it (at most {MAX_FILE})", shown(&path)));
        }
        let most = if shown(&path).contains("tests/") { MAX_TEST } else { MAX_FUNCTION };
        wrong.extend(long_functions(&text, most).into_iter().map(|what| format!("{}:{what}", shown(&path))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Relies on rustfmt: a function ends at the first closing brace with its own indentation.
fn long_functions(text: &str, most: usize) -> Vec<String> {
    let mut open: Option<(usize, usize, String)> = None;
    let mut out = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        // The parenthesis of `pub(super)` is none of a signature.
        let bare = code.strip_prefix("pub(").and_then(|rest| rest.split_once(") ")).map_or(code, |(_, rest)| rest);
        let head = bare.split('(').next().unwrap_or_default();
        let begins = head.starts_with("fn ") || head.contains(" fn ");
        if begins && !code.starts_with("//") && open.is_none() {
            open = Some((at, indent, head.to_owned()));
        }
        let Some((start, depth, name)) = &open else { continue };
        // Nothing but one exhaustive match, a line for each event.
        let is_table = name.ends_with("fn omitted");
        if indent == *depth && (code == "}" || (at == *start && (code.ends_with('}') || code.ends_with(';')))) {
            let long = at - start + 1;
            if long > most && !is_table {
                out.push(format!("{}: {name} has {long} lines; split it (at most {most})", start + 1));
            }
            open = None;
        } else if indent == *depth && code.ends_with(';') {
            // A signature without a body, over several lines.
            open = None;
        }
    }
    out
}

#[test]
fn every_source_says_what_it_owns() {
    let silent: Vec<_> = sources()
        .into_iter()
        .filter(|path| {
            !path.ends_with("tests.rs") && !shown(path).contains("tests/") && !shown(path).ends_with("_tests.rs")
        })
        .filter(|path| !read(path).trim_start().starts_with("//!") && !read(path).contains("\n//! "))
        .map(|path| shown(&path))
        .collect();
    assert!(silent.is_empty(), "begin these with `//!`: {silent:?}");
}

#[test]
fn nothing_of_a_machine_is_committed() {
    // Put together here, so that this file doesn't name them.
    let patterns =
        [["/wo", "rk/"].concat(), ["/ro", "ot/"].concat(), ["/ho", "me/"].concat(), ["/opt/", "parts"].concat()];
    let endings =
        [".rs", ".toml", ".md", ".sh", ".yaml", ".yml", ".Dockerfile", "Makefile", ".sql", ".html", ".json", "run"];
    let mut wrong = Vec::new();
    for path in files(root(), &endings) {
        if shown(&path).contains("fixtures/") {
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for (at, line) in text.lines().enumerate() {
            if let Some(pattern) =
                patterns.iter().find(|pattern| line.replace("/home/agent", "").contains(pattern.as_str()))
            {
                wrong.push(format!("{}:{}: {pattern}", shown(&path), at + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Words in backticks of a document.
fn quoted(text: &str) -> Vec<&str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn every_test_named_in_a_document_exists() {
    let mut named = 0;
    let mut wrong = Vec::new();
    for document in ["SECURITY.md", "docs/architecture.md", "docs/effects.md", "docs/development.md"] {
        for word in quoted(&read(&root().join(document))) {
            let Some((file, test)) = word.split_once(".rs::") else { continue };
            named += 1;
            let path = root().join(format!("{file}.rs"));
            let text = fs::read_to_string(&path).unwrap_or_default();
            if !text.contains(&format!("fn {test}(")) && !text.contains(&format!("fn {test}<")) {
                wrong.push(format!("{document}: `{word}` is not there"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(named >= 20, "SECURITY.md names only {named} tests");
}

/// Paths of our sources and documents in a line of prose; a document may be named by the beginning of its path.
fn named_paths(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| c.is_whitespace() || "`(),[]".contains(c));
    let paths = words.map(|word| word.trim_end_matches(['.', ':', ';']).split("::").next().unwrap_or_default());
    paths
        .filter(|path| path.chars().all(|c| c.is_ascii_alphanumeric() || "_./-".contains(c)))
        .filter(|path| path.strip_suffix(".rs").or(path.strip_prefix("docs/")).is_some_and(|rest| !rest.is_empty()))
}

#[test]
fn every_path_in_a_comment_or_a_document_exists() {
    let known: Vec<String> = files(root(), &[".rs", ".md", ".png"]).iter().map(|path| shown(path)).collect();
    let exists = |path: &str| match path.starts_with("docs/") {
        true => known.iter().any(|one| one.starts_with(path)),
        false => known.iter().any(|one| one == path || one.ends_with(&format!("/{path}"))),
    };
    let (mut named, mut wrong) = (0, Vec::new());
    for file in &known {
        let is_code = file.ends_with(".rs");
        let is_document = file.ends_with(".md") && (file.starts_with("docs/") || !file.contains('/'));
        // Decisions and recordings keep the paths of their time.
        if file.starts_with("docs/decisions/") || file.contains("fixtures/") || !(is_code || is_document) {
            continue;
        }
        let text = read(&root().join(file));
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !is_code || line.trim_start().starts_with("//")) {
            let paths: Vec<&str> = named_paths(line).collect();
            named += paths.len();
            wrong.extend(paths.iter().filter(|path| !exists(path)).map(|path| format!("{file}:{}: {path}", at + 1)));
        }
    }
    assert!(wrong.is_empty(), "these do not exist:\n{}", wrong.join("\n"));
    assert!(named >= 400, "only {named} paths were found");
}

#[test]
fn paths_are_found_in_prose() {
    let line = "// Tests: `router/tests/a.rs::test_b`, docs/decisions/0004. Not `src/a.rs:12`, and no `.rs`.";
    assert_eq!(named_paths(line).collect::<Vec<_>>(), ["router/tests/a.rs", "docs/decisions/0004"]);
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let mut wrong = Vec::new();
    for path in files(root(), &[".md"]) {
        for part in read(&path).split("](").skip(1) {
            let target = part.split([')', '#']).next().unwrap_or_default();
            let outside = target.is_empty() || target.contains("://") || target.contains(' ');
            if !outside && !path.parent().unwrap().join(target).exists() {
                wrong.push(format!("{}: {target}", shown(&path)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_kind_of_effect_is_documented() {
    let source = read(&root().join("domain/src/effect.rs"));
    let document = read(&root().join("docs/effects.md"));
    let kinds = source.split("fn kind(").nth(1).and_then(|rest| rest.split("\n    }").next()).unwrap();
    let missing: Vec<_> =
        kinds.split('"').skip(1).step_by(2).filter(|kind| !document.contains(&format!("\n## {kind}\n"))).collect();
    assert!(missing.is_empty(), "docs/effects.md has no section for {missing:?}");
}

#[test]
fn every_metric_is_described() {
    let described = read(&root().join("src/telemetry/metric.rs")) + &read(&root().join("docs/development.md"));
    let mut missing = Vec::new();
    for path in files(&root().join("src"), &[".rs"]) {
        let text = read(&path);
        for name in ["counter!(", "gauge!(", "histogram!("].iter().flat_map(|kind| text.split(kind).skip(1)) {
            let name = name.trim_start().split('"').nth(1).unwrap_or_default().to_owned();
            let known = [format!("\"{name}\""), format!("`{name}`")].iter().all(|shown| described.contains(shown));
            if name.starts_with("caisson_") && !known {
                missing.push(name);
            }
        }
    }
    assert!(missing.is_empty(), "name these in src/telemetry/metric.rs and docs/development.md: {missing:?}");
}

#[test]
fn every_skip_is_counted() {
    // Put together here, so that this file doesn't hold it.
    let printed = ["\"skip", "ped: "].concat();
    let uncounted: Vec<_> = sources()
        .into_iter()
        .filter(|path| shown(path).contains("tests/") && !path.ends_with("tests/support/skipped.rs"))
        .filter(|path| read(path).contains(&printed))
        .map(|path| shown(&path))
        .collect();
    assert!(
        uncounted.is_empty(),
        "these say by themselves that they skip; call tests/support/skipped.rs: {uncounted:?}"
    );
}

/// A command and a tool are one file, and one line of the list.
#[test]
fn a_command_and_a_tool_have_one_place_each() {
    let sources = files(&root().join("src"), &[".rs"]);
    for (folder, word) in [("src/command", "SPEC"), ("src/engine/tools", "TOOL")] {
        let declares = format!("const {word}: ");
        let mut seen = 0;
        for file in files(&root().join(folder), &[".rs"]) {
            if !read(&file).contains(&declares) {
                continue;
            }
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            seen += 1;
            // Of an action, its kind says the name: `domain/tests` holds it there.
            let kind: String = name.split('_').map(capital).collect();
            let own = [
                format!("name: \"{}\"", name.replace('_', "-")),
                format!("name: \"{name}\""),
                format!("name: ActionKind::{kind}.name()"),
            ];
            let declared = own.iter().any(|own| read(&file).contains(own));
            assert!(declared, "{} declares another one", shown(&file));
            let listed = format!("&{name}::{word}");
            let places = sources.iter().filter(|source| read(source).contains(&listed)).count();
            assert_eq!(places, 1, "{name} is listed once, and told by its own declaration everywhere else");
        }
        assert!(seen >= 9, "{folder}: {seen} declarations were found");
    }
}

/// With its first letter large.
fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}
