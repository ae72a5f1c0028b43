//! What in an answer is no file of it.
//!
//! Owns: which block is a difference, which only uses or tests a file, and where an example behind a file's text begins. Judged by lines and
//! by the names of the file's top level. Tests: `answer_tests.rs`.

use super::blocks::Block;
use super::definitions::{indent, named, top_level};
use crate::sandbox::detect::steers_tests;

/// Beginnings of lines that define tests.
const TESTS: [&str; 6] = ["def test_", "async def test_", "class Test", "describe(", "it(", "test("];
/// Endings that an import may leave out.
const ENDINGS: [&str; 6] = [".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx"];

/// Whether it is a difference and not the text of a file.
pub(super) fn is_diff(block: &Block<'_>) -> bool {
    let word = block.info.split_whitespace().next().unwrap_or_default().to_lowercase();
    let first = block.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    matches!(word.as_str(), "diff" | "patch")
        || ["@@ -", "--- a/", "diff --git "].iter().any(|mark| first.starts_with(mark))
}

/// The text up to a comment that says that an example follows, if only variables and calls stand behind it, and nothing of the file.
pub(super) fn without_example<'a>(text: &'a str, base: &str) -> &'a str {
    let says = |line: &str| {
        let words = line.trim_start_matches(['#', '/', ' ']).to_lowercase();
        let begins =
            ["example", "usage", "sample usage", "test the", "test case"].iter().any(|it| words.starts_with(it));
        begins && (line.starts_with("# ") || line.starts_with("// "))
    };
    let is_named = |line: &str| indent(line) == Some(0) && named(line).is_some();
    // An import alone is no code that an example could follow.
    let is_code = |line: &str| is_named(line) && !line.contains("require(");
    let is_variable = |line: &str| ["const ", "let ", "var "].iter().any(|word| line.starts_with(word));
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if says(line) && !base.lines().any(|known| known.trim_end() == line.trim_end()) {
            let (head, tail) = text.split_at(at);
            let is_end = head.lines().any(is_code)
                && !tail.lines().any(|line| is_named(line) && !is_variable(line))
                && top_level(tail).is_disjoint(&top_level(base));
            return if is_end { head } else { text };
        }
        at += line.len();
    }
    text
}

/// Whether a block without a path of its own uses or tests the file at this path, whose text is `base`, and is no new text of it.
pub(super) fn is_use(text: &str, path: &str, base: &str) -> bool {
    let is_new = |line: &str| !base.lines().any(|known| known.trim_end() == line.trim_end());
    let imports = |line: &&str| imported(line).is_some_and(|module| is_module(&module, path)) && is_new(line);
    let Some(line) = text.lines().find(imports) else {
        let tests = |line: &str| TESTS.iter().any(|form| line.starts_with(form)) && is_new(line);
        // Tests below the file's own definitions are an answer of one file.
        return !steers_tests(path) && text.lines().any(tests) && top_level(text).is_disjoint(&top_level(base));
    };
    // A name without quotes may also be that of a library: `import json` in a file of that name.
    (line.contains(['"', '\'']) && !line.contains("../")) || top_level(text).is_disjoint(&top_level(base))
}

/// The module that a line imports, as a path without an ending; of those in quotes only a file's.
fn imported(line: &str) -> Option<String> {
    let begins = ["import ", "from ", "} from "].iter().any(|word| line.starts_with(word));
    if !begins && !line.contains("require(") {
        return None;
    }
    let Some(quoted) = line.split(['"', '\'']).nth(1) else {
        let word = line.split_whitespace().nth(1).filter(|_| begins)?;
        return Some(word.trim_matches(['.', ',', ';']).replace('.', "/"));
    };
    let path = quoted.starts_with('.').then(|| quoted.trim_start_matches(['.', '/']))?;
    Some(ENDINGS.iter().find_map(|ending| path.strip_suffix(ending)).unwrap_or(path).to_owned())
}

/// Whether a module's name is that of the file at this path.
fn is_module(module: &str, path: &str) -> bool {
    let own = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let own = own.strip_suffix("/__init__").unwrap_or(own);
    !module.is_empty() && own.strip_suffix(module).is_some_and(|head| head.is_empty() || head.ends_with('/'))
}
