//! Reads the names of an import or of a list of exports.
//!
//! Owns: their forms in Python, JavaScript and Rust. Pure. Tests: `part_tests.rs`.

use std::sync::LazyLock;

use regex::Regex;

/// How deep the braces of one `use` are read.
const DEEPEST: usize = 8;

static FROM: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^from (\S+) import (?:\(([^()]*)\)|([^()]*))$").expect("a literal"));
static IMPORT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^import (?:([\w$]+)\s*,?\s*)?(?:(\*\s*as\s+[\w$]+)|\{([^{}]*)\})?\s*from\s*(["'][^"']+["'])\s*;?$"#)
        .expect("a literal")
});
static REQUIRE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^(?:const|let|var)\s*\{([^{}]*)\}\s*=\s*require\((["'][^"']+["'])\)\s*;?$"#).expect("a literal")
});
static EXPORT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"^export\s*\{([^{}]*)\}\s*(?:from\s*(["'][^"']+["']))?\s*;?$"#).expect("a literal"));
static USE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^((?:pub(?:\([^)]*\))?\s+)?use) (.*?)\s*;$").expect("a literal"));

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    From,
    Import,
    Require,
    Export,
    Use,
}

/// A statement that names what it imports or exports.
#[derive(Debug)]
pub(super) struct List {
    pub form: Form,
    /// What they are imported from, as it is written; of a `use` its keywords.
    pub module: String,
    /// The names with their new ones; the default of a module has a `=` before it. Of a `use` whole paths.
    pub names: Vec<String>,
}

impl List {
    /// `line`: a whole statement in one line.
    pub(super) fn read(line: &str) -> Option<List> {
        let text = |found: &regex::Captures<'_>, at: usize| found.get(at).map_or("", |it| it.as_str()).to_owned();
        if let Some(found) = USE.captures(line) {
            let mut names = Vec::new();
            paths(&text(&found, 2), "", DEEPEST, &mut names)?;
            return Some(List { form: Form::Use, module: text(&found, 1), names });
        }
        if let Some(found) = IMPORT.captures(line) {
            let mut names: Vec<String> = found.get(1).map(|name| format!("={}", name.as_str())).into_iter().collect();
            names.extend(found.get(2).map(|name| name.as_str().to_owned()));
            names.extend(split(&text(&found, 3)));
            let is_type = line.starts_with("import type ");
            return (!is_type).then(|| List { form: Form::Import, module: text(&found, 4), names });
        }
        let (form, module, names) = if let Some(found) = FROM.captures(line) {
            (Form::From, text(&found, 1), text(&found, 2) + &text(&found, 3))
        } else if let Some(found) = REQUIRE.captures(line) {
            (Form::Require, text(&found, 2), text(&found, 1))
        } else {
            let found = EXPORT.captures(line)?;
            (Form::Export, text(&found, 2), text(&found, 1))
        };
        Some(List { form, module, names: split(&names) })
    }

    /// Whether both are of the same form and module.
    pub(super) fn is_alike(&self, other: &List) -> bool {
        let module = |list: &List| list.module.trim_matches(['"', '\'']).to_owned();
        self.form == other.form && (self.form == Form::Use || module(self) == module(other))
    }

    /// The same statement with these names only.
    pub(super) fn lines(&self, names: &[String]) -> Vec<String> {
        let module = &self.module;
        let all = names.join(", ");
        match self.form {
            Form::From => vec![format!("from {module} import {all}")],
            Form::Require => vec![format!("const {{ {all} }} = require({module});")],
            Form::Export if module.is_empty() => vec![format!("export {{ {all} }};")],
            Form::Export => vec![format!("export {{ {all} }} from {module};")],
            Form::Use => names.iter().map(|name| format!("{module} {name};")).collect(),
            Form::Import => {
                let is_bare = |name: &&String| name.starts_with(['=', '*']);
                let mut parts: Vec<String> =
                    names.iter().filter(is_bare).map(|name| name.trim_start_matches('=').to_owned()).collect();
                let inner: Vec<&str> = names.iter().filter(|name| !is_bare(name)).map(String::as_str).collect();
                if !inner.is_empty() {
                    parts.push(format!("{{ {} }}", inner.join(", ")));
                }
                vec![format!("import {} from {module};", parts.join(", "))]
            }
        }
    }
}

/// The name under which the file knows it.
pub(super) fn local(name: &str) -> &str {
    name.rsplit([' ', ':', '=']).next().unwrap_or(name)
}

fn split(names: &str) -> Vec<String> {
    let words = names.split(',').map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "));
    words.filter(|name| !name.is_empty()).collect()
}

/// The paths of `use`; none if its braces are too deep, or not closed.
fn paths(tree: &str, before: &str, deepest: usize, out: &mut Vec<String>) -> Option<()> {
    let tree = tree.trim();
    let Some((head, rest)) = tree.split_once('{') else {
        let path = format!("{before}{tree}");
        out.extend((!tree.is_empty()).then(|| path.strip_suffix("::self").unwrap_or(&path).to_owned()));
        return Some(());
    };
    let inner = rest.strip_suffix('}').filter(|_| deepest > 0)?;
    let before = format!("{before}{}", head.trim());
    let (mut depth, mut from) = (0_usize, 0);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        depth = match c {
            '{' => depth + 1,
            '}' => depth.checked_sub(1)?,
            _ => depth,
        };
        if c == ',' && depth == 0 {
            paths(&inner[from..at], &before, deepest - 1, out)?;
            from = at + 1;
        }
    }
    Some(())
}
