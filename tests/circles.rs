//! No two files of a crate import each other, directly or through others.
//!
//! A file may use what its parent module declares (`super::Type`). Tests are left out.

use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Source folders, one crate each.
const CRATES: [&str; 10] = [
    "src",
    "domain/src",
    "broker/src",
    "runner/src",
    "router/src",
    "protocol/src",
    "locate/src",
    "devforge/src",
    "benches/promises",
    "tests/stories",
];

static USE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\buse\s+([^;]+);").expect("a literal"));
static PATH: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(?:crate|super|self)(?:::\w+)+").expect("a literal"));

type Module = Vec<String>;

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|kind| kind == "rs") && !is_test(&path) {
            out.push(path);
        }
    }
}

fn is_test(path: &Path) -> bool {
    path.file_stem().is_some_and(|name| name.to_string_lossy().ends_with("tests"))
}

fn module(root: &Path, file: &Path) -> Module {
    let inside = file.strip_prefix(root).expect("below its crate").with_extension("");
    let mut parts: Module = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// `a::{b, c::{d}}` as `a::b`, `a::c::d`.
fn expand(tree: &str, before: &str, out: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((head, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        return out.push(format!("{before}{path}"));
    };
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut from) = (0_i32, 0);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            if !inner[from..at].trim().is_empty() {
                expand(&inner[from..at], &format!("{before}{head}"), out);
            }
            from = at + 1;
        }
    }
}

/// Every path in a text, in `use` and elsewhere.
fn paths(text: &str) -> Vec<String> {
    let text = text.split("\nmod tests {").next().unwrap_or_default();
    let text: String = text.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect();
    let mut out = Vec::new();
    for found in USE.captures_iter(&text) {
        expand(&found[1], "", &mut out);
    }
    out.extend(PATH.find_iter(&text).map(|found| found.as_str().to_owned()));
    out
}

/// The file of this crate that a path refers to.
fn target(path: &str, own: &Module, known: &BTreeMap<Module, PathBuf>) -> Option<Module> {
    let mut words = path.split("::").peekable();
    let mut at: Module = match *words.peek()? {
        "crate" => Vec::new(),
        "super" | "self" => own.clone(),
        child if known.contains_key(&[own.as_slice(), &[child.to_owned()]].concat()) => own.clone(),
        _ => return None,
    };
    let mut found = None;
    for word in words {
        match word {
            "crate" | "self" => {}
            "super" => drop(at.pop()),
            word => at.push(word.to_owned()),
        }
        if known.contains_key(&at) {
            found = Some(at.clone());
        } else if word != "super" {
            break;
        }
    }
    found.filter(|found| found != own && !own.starts_with(found))
}

/// All modules reachable through these imports; the start only if it is in a cycle.
fn reached<'a>(from: &'a Module, arrows: &'a BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<&'a Module> {
    let mut seen = BTreeSet::new();
    let mut left = vec![from];
    while let Some(at) = left.pop() {
        left.extend(arrows.get(at).into_iter().flatten().filter(|next| seen.insert(*next)));
    }
    seen
}

fn circles(known: &BTreeMap<Module, PathBuf>) -> Vec<String> {
    let arrows: BTreeMap<Module, BTreeSet<Module>> = known
        .iter()
        .map(|(own, file)| {
            let text = fs::read_to_string(file).expect("a source");
            (own.clone(), paths(&text).iter().filter_map(|path| target(path, own, known)).collect())
        })
        .collect();
    known.keys().filter(|own| reached(own, &arrows).contains(own)).map(|own| own.join("/")).collect()
}

#[test]
fn no_files_import_each_other() {
    for name in CRATES {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let mut files = Vec::new();
        sources(&root, &mut files);
        assert!(!files.is_empty(), "{name} is gone: the list is out of date");
        let known = files.into_iter().map(|file| (module(&root, &file), file)).collect();
        let found = circles(&known);
        assert!(found.is_empty(), "{name}: these files import each other, some over others: {}", found.join(", "));
    }
}

#[test]
fn a_circle_is_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write("lib.rs", "mod a;\nmod b;\nmod c;\npub struct Shared;\n");
    write("a.rs", "use crate::{Shared, b::{self, Thing}};\n");
    write("b.rs", "use super::c;\n");
    write("c.rs", "fn one() {\n    crate::a::go();\n}\n");
    let all = || {
        let mut files = Vec::new();
        sources(folder.path(), &mut files);
        files.into_iter().map(|file| (module(folder.path(), &file), file)).collect()
    };
    assert_eq!(circles(&all()), ["a", "b", "c"]);
    write("c.rs", "// crate::a is not used here\nuse super::Shared;\n");
    assert_eq!(circles(&all()), [""; 0]);
}
