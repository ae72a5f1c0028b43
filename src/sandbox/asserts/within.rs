//! The tests of a Rust file that stand beside what they test: its items under `#[cfg(test)]`, and functions with a test's attribute. Pure; not
//! a parser: brackets are matched in the code alone, where Rust's own have to match too. What is no item for certain is left with the rest.

use super::code::{Piece, blanked, pieces};
use super::languages::RUST_STYLE;
use crate::sandbox::detect::steers_tests;
use regex::Regex;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

/// The most attributes and lines of comments above a mark that belong to its item.
const MOST_ABOVE: usize = 40;

/// What begins an item that is compiled for tests alone.
static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"#\[\s*(?:cfg\s*\(\s*test\s*\)\s*\]|(?:\w+\s*::\s*)*(?:test|rstest|test_case|quickcheck)\b)").ok()
});

/// How an item begins, after its attributes. An attribute may stand before a field, an arm or a parameter too, where a comma and not a bracket
/// ends what it is about.
static ITEM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^(?:pub(?:\s*\([^()]*\))?\s+)?(?:(?:default|const|async|unsafe)\s+)*(?:(?:mod|fn|struct|enum|trait|type|static)\s+\w|const\s+\w+\s*:|impl\b|use\b|macro_rules\s*!)",
    )
    .ok()
});

/// A module whose code stands in a file of its own.
static OUTSIDE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\bmod\s+(\w+)\s*;").ok());

/// A file's text apart from its tests, and they. White space of code counts as one space, comments end with a line feed, strings stay as they are.
#[derive(Debug, PartialEq, Eq)]
pub struct Parted {
    /// Each item of its tests but for imports, with what its module's attributes say of when it is compiled.
    pub tests: Vec<String>,
    /// Everything else.
    pub rest: String,
}

/// Parts the text of a Rust file.
pub fn parted(text: &str) -> Parted {
    let file = File::new(text);
    let (mut tests, mut rest, mut at) = (Vec::new(), Vec::new(), 0);
    for Marked { start, body, end, attributes } in file.marked() {
        rest.push(file.shown(at..start));
        match file.inner(body..end) {
            Some(inner) => {
                let when: String = attributes.into_iter().map(|it| file.shown(it)).filter(|it| decides(it)).collect();
                tests.extend(file.items(inner).into_iter().map(|item| format!("{when}{item}")));
            }
            None => tests.extend(file.item(start, body..end)),
        }
        at = end;
    }
    rest.push(file.shown(at..text.len()));
    let mut joined = String::new();
    for part in rest.iter().filter(|part| !part.is_empty()) {
        joined.push_str(if joined.is_empty() || joined.ends_with('\n') { "" } else { " " });
        joined.push_str(part);
    }
    Parted { tests, rest: joined }
}

/// The text of `base` with the tests of `branch` behind it in place of its own. None where in either a test stands within another item, because
/// its place in the other file is not known; and where either has macros among its tests, whose place counts, or the branch a module with a file
/// of its own that the base lacks and that is no file of tests by its name, which are laid over anyway.
pub fn with_tests_of(base: &str, branch: &str) -> Option<String> {
    let (base, branch) = (File::new(base), File::new(branch));
    let (own, theirs) = (base.marked(), branch.marked());
    let unknown = base.has_within(&own) || branch.has_within(&theirs) || base.has_macros(&own);
    let known = base.outside(&own);
    let comes_along = |name: &str| known.contains(name) || steers_tests(&format!("src/{name}.rs"));
    if unknown || branch.has_macros(&theirs) || !branch.outside(&theirs).iter().all(|name| comes_along(name)) {
        return None;
    }
    let (mut text, mut at) = (String::new(), 0);
    for it in &own {
        text.push_str(base.text.get(at..it.start)?);
        at = it.end;
    }
    text.push_str(base.text.get(at..)?);
    for it in &theirs {
        text.push('\n');
        text.push_str(branch.text.get(it.start..it.end)?);
    }
    text.push('\n');
    Some(text)
}

/// An item that is compiled for tests alone: where it begins, where behind its attributes, and where it ends.
struct Marked {
    start: usize,
    body: usize,
    end: usize,
    attributes: Vec<Range<usize>>,
}

/// Whether an attribute of a module may decide whether its tests are compiled or run.
fn decides(attribute: &str) -> bool {
    let name = attribute.trim_start_matches(['#', '[', ' ']);
    let plain = ["allow", "expect", "warn", "deny", "doc", "cfg(test)", "cfg (test)"];
    !plain.iter().any(|word| name.starts_with(word))
}

/// A text with its code alone, its pieces in order, and its brackets.
struct File<'a> {
    text: &'a str,
    code: String,
    pieces: Vec<(Range<usize>, Piece)>,
    /// Where each bracket opens, and behind where it closes, by the first; one that never does goes on to the end.
    brackets: Vec<(usize, usize)>,
}

/// The brackets of a code, each once, so that a file full of them is read in time that grows with its length.
fn brackets(code: &str) -> Vec<(usize, usize)> {
    let (mut found, mut open) = (Vec::new(), Vec::new());
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => {
                open.push(found.len());
                found.push((at, code.len()));
            }
            b')' | b']' | b'}' => {
                if let Some(opened) = open.pop() {
                    found[opened].1 = at + 1;
                }
            }
            _ => {}
        }
    }
    found
}

impl<'a> File<'a> {
    fn new(text: &'a str) -> Self {
        let code = blanked(text, &RUST_STYLE);
        Self { text, brackets: brackets(&code), code, pieces: pieces(text, &RUST_STYLE) }
    }
}

impl File<'_> {
    /// Its items of tests, in their order; none within another one.
    fn marked(&self) -> Vec<Marked> {
        let (mut all, mut at, mut from) = (Vec::new(), 0, 0);
        while let Some(found) = MARK.as_ref().and_then(|mark| mark.find_at(&self.code, from)) {
            from = found.end();
            let start = self.begins(found.start());
            let (body, attributes) = self.attributes(start);
            if start < at {
                continue;
            }
            if !self.begins_item(start, body) {
                // The other marks up to there are about the same: each for itself they would take quadratic time.
                from = from.max(body);
                continue;
            }
            let end = self.end(body);
            all.push(Marked { start, body, end, attributes });
            (at, from) = (end, end.max(from));
        }
        all
    }

    /// The names of modules with files of their own in these items; of one whose attribute says where its file is, all of the item.
    fn outside(&self, all: &[Marked]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for it in all {
            let code = &self.code[it.start..it.end];
            let names = OUTSIDE.as_ref().into_iter().flat_map(|outside| outside.captures_iter(code));
            match code.contains("path") {
                true => found.extend(names.map(|_| self.shown(it.start..it.end))),
                false => found.extend(names.map(|name| name[1].to_owned())),
            }
        }
        found
    }

    /// Whether one of these is a macro, or brings macros.
    fn has_macros(&self, all: &[Marked]) -> bool {
        let is_one = |it: &Marked| {
            self.code[it.body..it.end].starts_with("macro_rules") || self.code[it.start..it.body].contains("macro_use")
        };
        all.iter().any(is_one)
    }

    /// Whether one of these stands between brackets.
    fn has_within(&self, all: &[Marked]) -> bool {
        // Both are in the order in which they begin, so that each is looked at once.
        let (mut next, mut closed) = (0, 0);
        all.iter().any(|it| {
            while let Some((_, close)) = self.brackets.get(next).filter(|(open, _)| *open < it.start) {
                (next, closed) = (next + 1, closed.max(*close));
            }
            closed > it.start
        })
    }

    /// Where what the attributes are about begins that start here, and they.
    fn attributes(&self, start: usize) -> (usize, Vec<Range<usize>>) {
        let (mut at, mut found) = (start, Vec::new());
        loop {
            let next = at + self.code[at..].len() - self.code[at..].trim_start().len();
            if !self.code[next..].starts_with("#[") {
                return (next, found);
            }
            at = self.closing(next + 1);
            found.push(next..at);
        }
    }

    /// Whether an item with attributes begins at `start`, and without them at `body`.
    fn begins_item(&self, start: usize, body: usize) -> bool {
        let before = self.code[..start].trim_end().chars().next_back();
        before.is_none_or(|c| matches!(c, '{' | '}' | ';' | ']'))
            && ITEM.as_ref().is_some_and(|item| item.is_match(&self.code[body..]))
    }

    /// The end of the bracket that opens here, behind it.
    fn closing(&self, open: usize) -> usize {
        match self.brackets.binary_search_by_key(&open, |(at, _)| *at) {
            Ok(found) => self.brackets[found].1,
            Err(_) => self.code.len(),
        }
    }

    /// Where the item begins whose mark stands here: with the first of its attributes, and with the comments right above them.
    fn begins(&self, mark: usize) -> usize {
        let mut start = mark;
        // More attributes than this are left above it.
        for _ in 0..MOST_ABOVE {
            let above = self.code[..start].trim_end();
            let opened = above.ends_with(']').then(|| self.opening(above.len())).flatten();
            let attribute = opened.filter(|open| self.code[..*open].ends_with('#')).map(|open| open - 1);
            match attribute.or_else(|| self.comment_above(start)) {
                Some(above) => start = above,
                None => break,
            }
        }
        start
    }

    /// Where the bracket opens behind which this stands.
    fn opening(&self, behind: usize) -> Option<usize> {
        let opened = self.code[..behind].rfind('[')?;
        (self.closing(opened) == behind).then_some(opened)
    }

    /// Where the line above begins, if it holds nothing but a line's comment.
    fn comment_above(&self, start: usize) -> Option<usize> {
        let before = self.text[..start].trim_end_matches([' ', '\t']);
        let line = before.strip_suffix('\n')?.len();
        let above = self.text[..line].rfind('\n').map_or(0, |end| end + 1);
        let text = self.text[above..line].trim_start();
        // One about what it stands in is no item's.
        let is_comment = text.starts_with("//") && !text.starts_with("//!") && self.code[above..line].trim().is_empty();
        is_comment.then_some(above)
    }

    /// The end of the item that begins here: its semicolon, or its body's brace with a semicolon that follows.
    fn end(&self, start: usize) -> usize {
        let mut at = start;
        while let Some(c) = self.code[at..].chars().next() {
            match c {
                ';' => return at + 1,
                ')' | ']' | '}' => return at,
                '{' => {
                    let behind = self.closing(at);
                    let next = self.code[behind..].trim_start();
                    return if next.starts_with(';') { self.code.len() - next.len() + 1 } else { behind };
                }
                '(' | '[' => at = self.closing(at),
                c => at += c.len_utf8(),
            }
        }
        self.code.len()
    }

    /// What stands between the braces of a module.
    fn inner(&self, item: Range<usize>) -> Option<Range<usize>> {
        let head = &self.code[item.clone()];
        let open = head.find('{')?;
        let is_module = head[..open].split_whitespace().rev().nth(1) == Some("mod");
        // One that is not closed goes on to the end.
        let end = item.end - usize::from(head.ends_with('}'));
        is_module.then(|| item.start + open + 1..end)
    }

    /// The items of a module's body.
    fn items(&self, body: Range<usize>) -> Vec<String> {
        let (mut found, mut at) = (Vec::new(), body.start);
        while at < body.end {
            let (start, _) = self.attributes(at);
            if start >= body.end {
                break;
            }
            let end =
                self.end(start).clamp(start + self.code[start..].chars().next().map_or(1, char::len_utf8), body.end);
            found.extend(self.item(at, start..end));
            at = end;
        }
        found
    }

    /// An item whose attributes begin at `start`, unless it is an import.
    fn item(&self, start: usize, body: Range<usize>) -> Option<String> {
        let is_import = ["use ", "pub use ", "extern "].iter().any(|word| self.code[body.start..].starts_with(word));
        Some(self.shown(start..body.end)).filter(|item| !is_import && !item.is_empty())
    }

    /// What stands here, in the form that is compared.
    fn shown(&self, range: Range<usize>) -> String {
        let mut out = String::new();
        let first = self.pieces.partition_point(|(piece, _)| piece.end <= range.start);
        for (piece, kind) in self.pieces[first..].iter().take_while(|(piece, _)| piece.start < range.end) {
            let (from, to) = (piece.start.max(range.start), piece.end.min(range.end));
            let Some(part) = self.text.get(from..to).filter(|_| from < to) else { continue };
            match kind {
                Piece::String => out.push_str(part),
                Piece::Comment => {
                    out.push_str(&part.split_whitespace().collect::<Vec<_>>().join(" "));
                    out.push('\n');
                }
                Piece::Code => {
                    for c in part.chars() {
                        match c.is_whitespace() {
                            true if out.is_empty() || out.ends_with([' ', '\n']) => {}
                            true => out.push(' '),
                            false => out.push(c),
                        }
                    }
                }
            }
        }
        out.trim_end_matches(' ').to_owned()
    }
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
        assert!(newer("1  1") == 'b');
    }

    fn helper() -> u8 { 1 }
}

#[tokio::test(flavor = "multi_thread")]
async fn alone() { assert!(true) }

fn last() {}
"##;

    #[test]
    fn many_marks_of_no_item_are_read_in_time_that_grows_with_them() {
        let began = std::time::Instant::now();
        let marks = "#[test]".repeat(100_000);
        assert!(parted(&marks).tests.is_empty());
        assert!(began.elapsed().as_secs() < 20, "one look at each to the end would take many minutes");
    }

    #[test]
    fn tests_are_parted_from_what_they_test() {
        let parted = parted(FILE);
        assert_eq!(
            parted.tests,
            [
                r#"const TEN: [&str; 1] = ["}"];"#,
                "#[test] #[ignore = \"{\"] fn compares() { // A } of a comment.\nassert!(newer(\"1  1\") == 'b'); }",
                "fn helper() -> u8 { 1 }",
                r#"#[tokio::test(flavor = "multi_thread")] async fn alone() { assert!(true) }"#,
            ]
        );
        assert!(parted.rest.starts_with("use a::b; /// Not `#[cfg(test)] mod x {`.\npub fn newer"), "{}", parted.rest);
        assert!(parted.rest.ends_with("else { 'b' } } fn last() {}"), "{}", parted.rest);
    }

    #[test]
    fn the_tests_of_one_version_take_the_place_of_those_of_another() {
        let base = "fn a() -> u8 { 1 }\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn old() {}\n}\n\nfn b() {}\n";
        let branch = "fn a() -> u8 { 2 }\n#[cfg(test)]\nuse x::y;\nfn c() {}\n// Says two.\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn two() { assert_eq!(a(), 2); }\n}\n";
        let text = with_tests_of(base, branch).expect("none is within another item");
        assert_eq!(
            text,
            "fn a() -> u8 { 1 }\n\n\n\nfn b() {}\n\n#[cfg(test)]\nuse x::y;\n// Says two.\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn two() { assert_eq!(a(), 2); }\n}\n"
        );
        assert_eq!(parted(&text).tests, parted(branch).tests);
        let inner = "mod a { fn b() {} #[test] fn c() {} }";
        assert_eq!((with_tests_of(inner, branch), with_tests_of(base, inner)), (None, None));
        assert_eq!(with_tests_of("fn a() {}", "fn a() {}").as_deref(), Some("fn a() {}\n"));
        let about = "//! About the file.\n#[cfg(test)]\nmod t {}\nfn a() {}";
        assert_eq!(with_tests_of(about, "").as_deref(), Some("//! About the file.\n\nfn a() {}\n"));
        let file = "#[cfg(test)]\nmod cases;";
        assert_eq!(with_tests_of("fn a() {}", file), None, "its file is not there");
        assert_eq!(with_tests_of("fn a() {}", "#[cfg(test)]\nmod t { mod cases; }"), None, "nor this one");
        assert!(with_tests_of("#[cfg(test)]\nmod cases;", "// Now.\n#[cfg(test)]\n#[allow(x)]\nmod cases;").is_some());
        assert!(with_tests_of("fn a() {}", "#[cfg(test)]\nmod tests;").is_some(), "its file comes along");
        let elsewhere = "#[cfg(test)]\n#[path = \"x.rs\"]\nmod tests;";
        assert_eq!((with_tests_of("", elsewhere), with_tests_of(elsewhere, elsewhere).is_some()), (None, true));
        for macros in ["#[cfg(test)]\n#[macro_use]\nmod u {}", "#[cfg(test)]\nmacro_rules! m { () => {} }"] {
            assert_eq!((with_tests_of("", macros), with_tests_of(macros, "")), (None, None), "{macros}");
        }
    }

    #[test]
    fn what_a_comment_or_a_string_holds_is_told_apart_from_code() {
        for (one, other) in [
            ("// First.\ncheck(user)?;", "// First. check(user)?;"),
            ("#[test]\nfn a() {\n// b\nassert!(c);\n}", "#[test]\nfn a() {\n// b assert!(c);\n}"),
            ("fn a() { b(\"  \") }", "fn a() { b(\" \") }"),
            ("/* a */ b();", "/* a b(); */"),
        ] {
            assert_ne!(parted(one), parted(other), "{one}");
        }
        assert_eq!(parted("fn a() {\n    b()\n}"), parted("fn a() { b() }"));
        let between = "fn a() {} // b\n#[cfg(test)]\nmod t {}\nfn c() {}\n#[test]\nfn d() {}\n\nfn e() {}";
        assert_eq!(parted(between).rest, parted("fn a() {} // b\nfn c() {}\nfn e() {}").rest);
    }

    /// Whatever is not known to be an item stays with the rest, where a change of it shows.
    #[test]
    fn an_attribute_on_anything_but_an_item_parts_nothing() {
        for text in [
            "fn f(x: u8) -> u8 { match x { #[cfg(test)] 99 => 0, _ => { hacked() } 1 => 2 } }",
            "struct A { #[cfg(test)] t: u8, pub evil: u8 }",
            "struct A(#[cfg(test)] fn(u8), pub u8);",
            "struct A<#[cfg(test)] const N: usize, T> { evil: T }",
            "enum A { #[cfg(test)] B { c: u8 }, Evil }",
            "fn f(#[cfg(test)] a: fn(u8), evil: u8) {}",
            "fn f() -> A { A { #[cfg(test)] t: 1, evil: 2 } }",
            "fn f() { #[cfg(test)] { a() } evil() }",
            "fn f() { g(#[cfg(test)] struct_of, evil) }",
            "#![cfg(test)]\nfn evil() {}",
            "const A: &str = \"#[cfg(test)] mod t {\"; fn evil() {}",
        ] {
            assert_eq!(parted(text), Parted { tests: Vec::new(), rest: text.replace('\n', " ") });
        }
    }

    #[test]
    fn a_module_of_its_own_file_and_a_file_without_tests() {
        assert_eq!(parted("#[cfg(test)]\nmod tests;\nfn a() {}").tests, ["#[cfg(test)] mod tests;"]);
        assert_eq!(parted("#[cfg(test)]mod t{ fn ૐ").tests, ["fn ૐ"], "not closed");
        assert_eq!(parted("fn a() {}"), Parted { tests: Vec::new(), rest: "fn a() {}".to_owned() });
        let import = parted("fn a() {\n#[cfg(test)]\nuse b::c;\n}\nfn d() {}");
        assert_eq!((import.tests.len(), import.rest.as_str()), (0, "fn a() { } fn d() {}"));
        let off = "#[cfg(test)]\n#[cfg(any())]\nmod tests { #[test] fn a() {} }";
        assert_eq!(parted(off).tests, ["#[cfg(any())]#[test] fn a() {}"], "switched off with its module");
        let above = "fn b() {} // b\n\n// Tests.\n#[cfg(any())]\n#[cfg(test)]\nmod tests { #[test] fn a() {} }";
        assert_eq!(parted(above).tests, parted(off).tests, "also above the mark");
        assert_eq!(parted(above).rest, parted("fn b() {} // b").rest);
        assert_eq!(parted("#[ignore]\n#[test]\nfn a() {}").tests, ["#[ignore] #[test] fn a() {}"]);
    }

    /// What would take minutes if each bracket were looked for anew.
    #[test]
    fn a_file_of_open_brackets_is_read_once() {
        let file = "#[test(".repeat(100_000);
        let parted = parted(&file);
        assert!(parted.tests.is_empty() && parted.rest.len() == file.len());
    }

    proptest! {
        #[test]
        fn nothing_of_the_code_is_lost(text in "(\\PC|\n|//|#\\[cfg\\(test\\)\\]|#\\[test\\]| mod t|fn a|use b;|[{}();'\"\\[\\],]){0,60}") {
            let parted = parted(&text);
            let _ = with_tests_of(&text, &text);
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
            let shown = letters(&parted.rest) + parted.tests.iter().map(|test| letters(test)).sum::<usize>();
            prop_assert!(shown <= letters(&text) + text.len());
            if !text.contains("#[") {
                prop_assert_eq!(shown, letters(&text));
            }
        }
    }
}
