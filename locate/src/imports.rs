//! Which files an import may refer to, and which source a test file is named after.
//!
//! Compares paths only, and does not resolve imports as a compiler would. Must not read files. Tests: below.

use crate::language::{Language, ending, stem};

/// Ends of paths (without extension) that the imports of one file may refer to.
pub fn meant(path: &str, imports: &[String], language: Language) -> Vec<String> {
    let mut out = Vec::new();
    for text in imports {
        match language {
            Language::Python => python(path, text, &mut out),
            Language::JavaScript | Language::TypeScript | Language::Tsx => {
                quoted(text).for_each(|it| relative(path, it, &mut out))
            }
            Language::Rust => rust(text, &mut out),
            Language::Java => {
                out.extend(text.split_whitespace().last().map(|it| it.trim_end_matches(';').replace('.', "/")))
            }
            Language::Go => {}
        }
    }
    out.sort();
    out.dedup();
    out
}

fn python(path: &str, text: &str, out: &mut Vec<String>) {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || ",()".contains(c)).filter(|it| !it.is_empty()).collect();
    let modules = match words.as_slice() {
        ["from", module, "import", names @ ..] => {
            let inner = names.iter().map(|name| format!("{module}.{name}"));
            inner.chain([(*module).to_owned()]).collect()
        }
        ["import", names @ ..] => names.iter().map(|&name| name.to_owned()).collect(),
        _ => Vec::new(),
    };
    for module in modules {
        let inner = module.trim_start_matches('.');
        let dots = module.len() - inner.len();
        let mut base: Vec<&str> = if dots > 0 { path.split('/').collect() } else { Vec::new() };
        base.truncate(base.len().saturating_sub(dots));
        base.extend(inner.split('.').filter(|part| !part.is_empty()));
        out.extend((!base.is_empty()).then(|| base.join("/")));
    }
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split(['"', '\'', '`']).skip(1).step_by(2)
}

fn relative(path: &str, to: &str, out: &mut Vec<String>) {
    if !to.starts_with('.') {
        return;
    }
    let mut at: Vec<&str> = path.split('/').collect();
    at.pop();
    for part in to.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(at.pop()),
            part => at.push(part),
        }
    }
    let joined = at.join("/");
    let known = joined.rsplit_once('.').filter(|(_, end)| Language::of(&format!("x.{end}")).is_some());
    out.push(known.map_or(joined.clone(), |(stem, _)| stem.to_owned()));
    out.push(format!("{joined}/index"));
}

/// `use app::net::{client::Client}` may refer to `net/client` or `net`; the first word is a crate or `crate`.
fn rust(text: &str, out: &mut Vec<String>) {
    let path =
        text.trim_start_matches("pub ").trim_start_matches("use ").split(['{', ';', '*']).next().unwrap_or_default();
    let parts: Vec<&str> = path.split("::").map(str::trim).filter(|it| !it.is_empty()).skip(1).collect();
    out.extend((1..=parts.len()).map(|many| parts[..many].join("/")));
}

/// Whether `path` has one of those ends; a package's own file counts as the package.
pub fn is_meant(path: &str, ends: &[String]) -> bool {
    let bare = path.strip_suffix(ending(path)).unwrap_or(path).trim_end_matches('.');
    let package = ["/__init__", "/mod"].iter().find_map(|file| bare.strip_suffix(file)).unwrap_or(bare);
    ends.iter()
        .any(|end| package == end || package.strip_suffix(end.as_str()).is_some_and(|before| before.ends_with('/')))
}

/// Whether `test` is named after `source`: `test_core.py` and `core.py`, `GsonTest.java` and `Gson.java`.
pub fn is_named_after(test: &str, source: &str) -> bool {
    let name = stem(test);
    let heads = ["test_", "test-", "Test"].iter().filter_map(|head| name.strip_prefix(head));
    let tails = ["_test", "_tests", ".test", ".spec", "_spec", "-test", "Test", "Tests"].iter();
    let mut bare = heads.chain(tails.filter_map(|tail| name.strip_suffix(tail)));
    let source = stem(source);
    bare.any(|bare| bare.eq_ignore_ascii_case(source)) || (name == source && test != source)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(path: &str, import: &str, language: Language) -> Vec<String> {
        meant(path, &[import.to_owned()], language)
    }

    #[test]
    fn imports_mean_ends_of_paths() {
        let found = ends("tests/test_a.py", "from click.testing import CliRunner", Language::Python);
        assert!(is_meant("src/click/testing.py", &found) && !is_meant("src/other/testing.py", &found));
        let found = ends("tests/test_a.py", "import click", Language::Python);
        assert!(is_meant("src/click/__init__.py", &found) && !is_meant("src/click/core.py", &found));
        let found = ends("pkg/a/b.py", "from ..c import d", Language::Python);
        assert!(is_meant("pkg/c.py", &found) && is_meant("pkg/c/d.py", &found));
        let found = ends("test/app.js", "const x = require('../lib/view')", Language::JavaScript);
        assert!(is_meant("lib/view.js", &found) && !is_meant("lib/review.js", &found));
        let found = ends("test/app.ts", "import {a} from '../src'", Language::TypeScript);
        assert!(is_meant("src/index.ts", &found));
        let found = ends("tests/it.rs", "use app::net::client::Client;", Language::Rust);
        assert!(is_meant("src/net/client.rs", &found) && is_meant("src/net/mod.rs", &found));
        let found = ends("src/test/java/a/XTest.java", "import a.b.Gson;", Language::Java);
        assert!(is_meant("src/main/java/a/b/Gson.java", &found));
    }

    #[test]
    fn tests_are_named_after_sources() {
        for (test, source) in [
            ("tests/test_core.py", "src/core.py"),
            ("args_test.go", "args.go"),
            ("test/View.spec.ts", "lib/view.ts"),
            ("GsonTest.java", "a/Gson.java"),
        ] {
            assert!(is_named_after(test, source), "{test}");
        }
        assert!(!is_named_after("tests/test_core.py", "src/score.py"));
    }
}
