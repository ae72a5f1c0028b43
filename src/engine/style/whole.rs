//! What a block that looks like a whole file leaves out.
//!
//! Owns: whether that was asked for, and the tests of a Rust file, which small models leave out of the file that they give back. Pure. Tests:
//! below, `answer_tests.rs`.

use super::{definitions, part};

/// Whether the block lacks a top-level definition of the file that nobody named in `asked`, or all of its imports.
pub(super) fn lacks(base: &str, block: &str, asked: &str) -> bool {
    let lines: Vec<&str> = base.lines().collect();
    let is_lost = |name: &str| !has(block, name) && !has(asked, name);
    let mut top = definitions::all(&lines).into_iter().filter(|one| one.indent == 0);
    top.any(|one| is_name(&one.name) && is_lost(&one.name)) || imports(base) && !imports(block)
}

/// Whether the block has a line that the file has not.
pub(super) fn adds(base: &str, block: &str) -> bool {
    let known: std::collections::HashSet<&str> = base.lines().map(str::trim_end).collect();
    block.lines().any(|line| !known.contains(line.trim_end()))
}

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(in_name)
}

fn has(text: &str, name: &str) -> bool {
    text.split(|c| !in_name(c)).any(|word| word == name)
}

/// Whether something is imported at the top level.
fn imports(text: &str) -> bool {
    text.lines().any(|line| part::imports(line) || !line.starts_with([' ', '\t']) && line.contains("require("))
}

/// The block, and behind it the file's own module of tests if that ends the file and the block leaves it out.
pub(super) fn with_tests(base: &str, block: &str) -> String {
    let tests = base.find("\n#[cfg(test)]\nmod ").map(|at| &base[at..]).filter(|tests| {
        let mut behind = tests.lines().skip(3);
        behind.all(|line| line.is_empty() || line == "}" || line.starts_with([' ', '\t']))
    });
    match tests {
        Some(tests) if !block.contains("#[cfg(test)]") => format!("{}\n{tests}", block.trim_end()),
        Some(_) | None => block.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_asked_to_take_away_is_missed() {
        let base = "import re\n\n\ndef slug(text):\n    return text\n\n\ndef cut(text):\n    return text[:3]\n";
        for (block, asked, is_missed) in [
            ("import re\n\ndef slug(text):\n    return 1\n", "", true),
            ("import re\n\ndef slug(text):\n    return 1\n", "Remove `cut`", false),
            ("def slug(text):\n    return cut(text)\n", "", true),
            ("import os\n\ndef slug(text):\n    return cut(text)\n", "", false),
        ] {
            assert_eq!(lacks(base, block, asked), is_missed, "{block} {asked}");
        }
    }

    #[test]
    fn a_files_own_tests_are_kept_behind_its_new_text() {
        let tests = "\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n}\n";
        let (base, block) = (format!("fn add() {{}}\n{tests}"), "fn add() -> u8 {\n    1\n}\n");
        assert_eq!(with_tests(&base, block), format!("{block}{tests}"));
        assert_eq!(with_tests(&base, &base), base);
        let between = format!("{base}\nfn last() {{}}\n");
        assert_eq!(with_tests(&between, block), block, "what else stands behind them is not known");
    }
}
