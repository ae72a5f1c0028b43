//! The tests of a Rust file that stand beside what they test: its items under `#[cfg(test)]`, and functions with a test's attribute. Pure; not
//! a parser: brackets are matched in the code alone, where Rust's own have to match too.

use super::code::blanked;
use super::languages::RUST_STYLE;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// What begins an item that is compiled for tests alone.
static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"#\[\s*(?:cfg\s*\(\s*test\s*\)\s*\]|(?:\w+\s*::\s*)*(?:test|rstest|test_case|quickcheck)\b)").ok()
});

/// A file's text apart from its tests, and they.
#[derive(Debug, PartialEq, Eq)]
pub struct Parted {
    /// Each item of its tests but for imports, with single spaces for white space.
    pub tests: Vec<String>,
    /// Everything else, in the same form.
    pub rest: String,
}

/// Parts the text of a Rust file.
pub fn parted(text: &str) -> Parted {
    let code = blanked(text, &RUST_STYLE);
    let (mut tests, mut rest, mut at) = (Vec::new(), String::new(), 0);
    while let Some(start) = MARK.as_ref().and_then(|mark| mark.find_at(&code, at)).map(|found| found.start()) {
        let (_, body) = attributes(&code, start);
        let item = start..end(&code, body);
        rest.push_str(&text[at..start]);
        rest.push('\n');
        match inner(&code, body..item.end) {
            Some(inner) => tests.extend(items(text, &code, inner)),
            None => tests.extend(shown(text, item.clone())),
        }
        at = item.end;
    }
    rest.push_str(&text[at..]);
    Parted { tests, rest: one_spaced(&rest) }
}

/// The end of the attributes that begin here, and where what they are about begins.
fn attributes(code: &str, start: usize) -> (usize, usize) {
    let mut at = start;
    loop {
        let next = at + code[at..].len() - code[at..].trim_start().len();
        if !code[next..].starts_with("#[") {
            return (at, next);
        }
        at = closing(code, next + 1);
    }
}

/// The end of the bracket that opens here, behind it.
fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code[open..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return open + at + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// The end of the item that begins here: its semicolon, or its body's brace with a semicolon that follows.
fn end(code: &str, start: usize) -> usize {
    let mut at = start;
    while let Some(c) = code[at..].chars().next() {
        match c {
            ';' => return at + 1,
            '}' => return at,
            '{' => {
                let behind = closing(code, at);
                let next = code[behind..].trim_start();
                return if next.starts_with(';') { code.len() - next.len() + 1 } else { behind };
            }
            '(' | '[' => at = closing(code, at),
            c => at += c.len_utf8(),
        }
    }
    code.len()
}

/// What stands between the braces of a module.
fn inner(code: &str, item: Range<usize>) -> Option<Range<usize>> {
    let head = &code[item.clone()];
    let open = head.find('{')?;
    let is_module = head[..open].split_whitespace().rev().nth(1) == Some("mod");
    // One that is not closed goes on to the end.
    let end = item.end - usize::from(head.ends_with('}'));
    is_module.then(|| item.start + open + 1..end)
}

/// The items of a module's body but for imports.
fn items(text: &str, code: &str, body: Range<usize>) -> Vec<String> {
    let (mut found, mut at) = (Vec::new(), body.start);
    while at < body.end {
        let (_, start) = attributes(&code[..body.end], at);
        if start >= body.end {
            break;
        }
        let end = end(&code[..body.end], start).max(start + 1);
        let is_import = ["use ", "pub use ", "extern "].iter().any(|word| code[start..].starts_with(word));
        found.extend(shown(text, at..end).filter(|_| !is_import));
        at = end;
    }
    found
}

fn shown(text: &str, range: Range<usize>) -> Option<String> {
    Some(one_spaced(text.get(range)?)).filter(|item| !item.is_empty())
}

fn one_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILE: &str = r##"
use a::b;

/// Not `#[cfg(test)] mod x {`.
pub fn newer(a: &str) -> char { if a == "#[test] {" { '{' } else { 'b' } }

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    const TEN: [&str; 1] = ["}"];

    #[test]
    #[ignore = "{"]
    fn compares() {
        // A } of a comment.
        assert!(newer("1") == 'b');
    }

    fn helper() -> u8 { 1 }
}

#[tokio::test(flavor = "multi_thread")]
async fn alone() { assert!(true) }

fn last() {}
"##;

    #[test]
    fn tests_are_parted_from_what_they_test() {
        let parted = parted(FILE);
        assert_eq!(
            parted.tests,
            [
                r#"const TEN: [&str; 1] = ["}"];"#,
                r#"#[test] #[ignore = "{"] fn compares() { // A } of a comment. assert!(newer("1") == 'b'); }"#,
                "fn helper() -> u8 { 1 }",
                r#"#[tokio::test(flavor = "multi_thread")] async fn alone() { assert!(true) }"#,
            ]
        );
        assert!(parted.rest.starts_with("use a::b; /// Not `#[cfg(test)] mod x {`. pub fn newer"), "{}", parted.rest);
        assert!(parted.rest.ends_with("else { 'b' } } fn last() {}"), "{}", parted.rest);
    }

    #[test]
    fn a_module_of_its_own_file_and_a_file_without_tests() {
        assert_eq!(parted("#[cfg(test)]\nmod tests;\nfn a() {}").tests, ["#[cfg(test)] mod tests;"]);
        assert_eq!(parted("#[cfg(test)]mod t{ fn ૐ").tests, ["fn ૐ"], "not closed");
        assert_eq!(parted("fn a() {}"), Parted { tests: Vec::new(), rest: "fn a() {}".to_owned() });
        let import = parted("fn a() {\n#[cfg(test)]\nuse b::c;\n}\nfn d() {}");
        assert_eq!((import.tests.len(), import.rest.as_str()), (1, "fn a() { } fn d() {}"));
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "(\\PC|\n|#\\[cfg\\(test\\)\\]|#\\[test\\]|mod t|[{}();'\"\\[\\]]){0,60}") {
            let parted = parted(&text);
            prop_assert!(parted.rest.len() <= text.len() + text.matches('#').count());
        }
    }
}
