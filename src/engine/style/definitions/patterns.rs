//! Destructuring patterns at the top level of a JavaScript file: `const { a, b: c } = process.env`.
//!
//! Owns: which names such a statement binds, and what one takes that another lacks. A pattern of a module that is required is an import
//! (`part/lists.rs`) and no definition. Linear in the statement.

use std::sync::LazyLock;

use regex::Regex;

/// How deep patterns within a pattern are read.
const DEEPEST: usize = 8;
/// The most lines of one statement.
const MOST: usize = 64;

static BEGIN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?:export\s+)?(?:const|let|var)\s*[{\[]").expect("a literal"));
static MODULE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"^require\(\s*["'][^"']+["']\s*\)$"#).expect("a literal"));

/// A statement that takes a value apart.
#[derive(Debug)]
pub(in crate::engine::style) struct Pattern {
    /// Up to its first bracket: `const {`.
    head: String,
    elements: Vec<String>,
    /// The closing bracket, with the type that may stand behind it.
    tail: String,
    /// The value.
    source: String,
    /// The names that it binds.
    pub names: Vec<String>,
}

/// Whether a pattern may begin in this line.
pub(in crate::engine::style) fn begins(line: &str) -> bool {
    BEGIN.is_match(line)
}

/// `lines`: a whole statement. None if it is no pattern, or not every name of it can be read.
pub(in crate::engine::style) fn read(lines: &[&str]) -> Option<Pattern> {
    let head = BEGIN.find(lines.first()?)?;
    let text = lines.iter().take(MOST).map(|line| without_comment(line)).collect::<Vec<_>>().join(" ");
    let inner = text.get(head.end()..)?;
    let (elements, close) = elements(inner)?;
    let (tail, source) = inner[close..].split_once('=')?;
    let (tail, source) = (tail.trim_end(), plain(source.trim().trim_end_matches(';')));
    if source.is_empty() || MODULE.is_match(&source) || !(tail.len() == 1 || tail[1..].trim_start().starts_with(':')) {
        return None;
    }
    let mut names = Vec::new();
    let is_object = head.as_str().ends_with('{');
    elements.iter().try_for_each(|one| bind(one, is_object, DEEPEST, &mut names))?;
    let elements = elements.into_iter().map(plain).collect();
    Some(Pattern { head: head.as_str().to_owned(), elements, tail: tail.to_owned(), source, names })
}

impl Pattern {
    /// The elements of another pattern that this one lacks; none unless both take properties of one value, and the same ones alike.
    pub(in crate::engine::style) fn lacks<'a>(&self, other: &'a Pattern) -> Option<Vec<&'a str>> {
        let is_new = |one: &&str| !self.elements.iter().any(|own| own == one);
        let new: Vec<&str> = other.elements.iter().map(String::as_str).filter(is_new).collect();
        let mut names = Vec::new();
        new.iter().try_for_each(|one| bind(one, true, DEEPEST, &mut names))?;
        let both = [self, other];
        let are_alike = self.source == other.source && both.iter().all(|one| one.head.ends_with('{'));
        // What a rest holds depends on the others.
        let has_rest = both.iter().any(|one| one.elements.iter().any(|element| element.starts_with("...")));
        let is_bound = names.iter().any(|name| self.names.contains(name));
        (are_alike && !is_bound && (new.is_empty() || !has_rest)).then_some(new)
    }

    /// The statement in one line, with further elements, up to its end.
    pub(in crate::engine::style) fn with(&self, more: &[&str]) -> String {
        let Pattern { head, elements, tail, source, .. } = self;
        let all: Vec<&str> = elements.iter().map(String::as_str).chain(more.iter().copied()).collect();
        format!("{head} {} {tail} = {source}", all.join(", "))
    }
}

fn without_comment(line: &str) -> &str {
    let code = line.split(" //").next().unwrap_or_default();
    if code.trim_start().starts_with("//") { "" } else { code.trim_end() }
}

/// The text with single spaces.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The elements of a pattern whose first bracket stands before this text, and where the one that closes it is.
fn elements(text: &str) -> Option<(Vec<&str>, usize)> {
    let signs = signs(text);
    let (close, _) = *signs.last().filter(|(_, sign)| matches!(sign, '}' | ']'))?;
    let (mut all, mut from) = (Vec::new(), 0);
    for (at, _) in signs.into_iter().filter(|(at, sign)| *sign == ',' || *at == close) {
        all.push(text[from..at].trim());
        from = at + 1;
    }
    all.retain(|one| !one.is_empty());
    Some((all, close))
}

/// The signs of a text that are in no brackets and in no string, up to a bracket that closes what was opened before it.
fn signs(text: &str) -> Vec<(usize, char)> {
    let (mut out, mut depth, mut quote, mut escaped) = (Vec::new(), 0_usize, None, false);
    for (at, c) in text.char_indices() {
        if let Some(mark) = quote {
            quote = (c != mark || escaped).then_some(mark);
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            '"' | '\'' | '`' => quote = Some(c),
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' if depth == 0 => {
                out.push((at, c));
                break;
            }
            '}' | ']' | ')' => depth -= 1,
            ',' | ':' | '=' if depth == 0 => out.push((at, c)),
            _ => {}
        }
    }
    out
}

/// Adds the names that one element binds: `a`, `a: b`, `a = 1`, `a: { b }`, `...rest`.
fn bind(element: &str, is_object: bool, deepest: usize, out: &mut Vec<String>) -> Option<()> {
    let element = element.strip_prefix("...").unwrap_or(element);
    let signs = signs(element);
    let default = signs.iter().find(|(_, sign)| *sign == '=').map_or(element.len(), |(at, _)| *at);
    let key = signs.iter().find(|(at, sign)| is_object && *sign == ':' && *at < default);
    let target = element[key.map_or(0, |(at, _)| at + 1)..default].trim();
    if let Some(inner) = target.strip_prefix(['{', '[']) {
        let deepest = deepest.checked_sub(1)?;
        let (all, _) = elements(inner)?;
        return all.into_iter().try_for_each(|one| bind(one, target.starts_with('{'), deepest, out));
    }
    let is_sign = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let is_name = target.chars().all(is_sign) && target.starts_with(|c: char| is_sign(c) && !c.is_numeric());
    is_name.then(|| out.push(target.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Option<Vec<String>> {
        read(&text.lines().collect::<Vec<_>>()).map(|pattern| pattern.names)
    }

    #[test]
    fn a_pattern_binds_each_of_its_names() {
        for (text, expected) in [
            ("const { A, B } = process.env;", vec!["A", "B"]),
            (
                "const {\n  a: b, // the first\n  'c-d': e,\n  f = { g: 1, h: [2] },\n  ...rest\n} = module.exports;",
                vec!["b", "e", "f", "rest"],
            ),
            ("let [a, , [b = ',}'], ...c] = f();", vec!["a", "b", "c"]),
            ("export const { a: { b, c: [d] } = {} }: Shape = load('x', { y: 1 })", vec!["b", "d"]),
            ("const { a } = require('x').promises;", vec!["a"]),
        ] {
            assert_eq!(names(text).unwrap(), expected, "{text}");
        }
        let module = "const { a } = require('x'); // helper";
        for text in [module, "const { a }", "const { a.b } = c;", "const { a = 1;", "x = { a };"] {
            assert_eq!(names(text), None, "{text}");
        }
    }
}
