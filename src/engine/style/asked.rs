//! What an issue names and an answer lacks, by names alone.
//!
//! Owns: which files and names of an issue do not exist yet, and which of these an answer lacks. It proves and refuses nothing: an answer
//! that passes the checks because it does nothing is not accepted at once, and the model is told what is missing. Names that example
//! code only uses are kept apart, because other files and libraries define some of them. Pure. Tests: below.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use domain::{Look, NewFile};
use regex::Regex;

use super::blocks::{Piece, pieces};
use super::definitions;
use crate::text;

static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[A-Za-z_$][\w$]*").expect("a literal"));
/// A string literal.
pub(super) static STRING: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#""[^"]*"|'[^']*'"#).expect("a literal"));
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[\w./-]*[\w-]\.(?:py|js|mjs|cjs|jsx|ts|tsx|rs|go|java|rb|c|h|cpp)\b").expect("a literal")
});
/// A name that is called, or the key of an argument.
static CALLED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"([A-Za-z_$][\w$]*)\s*(?:\(|:[^:]|=[^=>])").expect("a literal"));

/// Words that mark the name beside them as one of code.
const KINDS: &str = "function method option argument parameter field getter setter property class type module struct enum trait constant \
    variable attribute";

/// Languages of code blocks.
const CODE: &str = "py python js javascript jsx ts typescript rs rust go java c cpp ruby";
/// Bytes of an issue that are searched, and the most entries that are reported missing.
const WORDS: usize = 32 << 10;
const MOST: usize = 5;
/// If this many other files are known, the list may be incomplete, so no file is reported missing.
const FILES: usize = 100;

/// Called in many examples, and defined by none.
const COMMON: &str = "return if for while switch match catch def function assert print println len str int log require import raise throw \
    list dict set tuple sorted sum min max map filter range open isinstance stringify vec format";

fn is_among(all: &str, word: &str) -> bool {
    all.split_whitespace().any(|one| one == word)
}

/// What an issue names that does not exist yet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NewNames {
    paths: Vec<String>,
    /// Names in the issue's sentences, and those that its code blocks define.
    names: BTreeSet<String>,
    /// Names that its code blocks only use.
    in_examples: BTreeSet<String>,
}

impl NewNames {
    /// `words` are those of the issue; `look` is what was shown of the workspace.
    pub(super) fn of(words: &str, look: &Look) -> NewNames {
        let words = text::cut(words, WORDS).0;
        let there = || look.files.iter().map(|file| &file.path).chain(&look.others);
        let known = |path: &str| there().any(|it| it == path || it.ends_with(&format!("/{path}")));
        let mut paths: Vec<String> = Vec::new();
        for found in PATH.find_iter(words) {
            let path = found.as_str().trim_start_matches("./");
            let odd = path.starts_with('/') || path.contains("node_modules/") || look.others.len() >= FILES;
            if path.contains('/') && !odd && paths.len() < MOST && !known(path) && !paths.iter().any(|it| it == path) {
                paths.push(path.to_owned());
            }
        }
        let (mut names, mut in_examples) = named(words);
        let shown: BTreeSet<&str> =
            look.files.iter().flat_map(|file| NAME.find_iter(&file.text)).map(|found| found.as_str()).collect();
        let is_new = |name: &String| name.len() > 2 && !shown.contains(name.as_str());
        names.retain(is_new);
        in_examples.retain(|name| is_new(name) && !names.contains(name));
        NewNames { paths, names, in_examples }
    }

    /// What these files lack of it, one sentence each.
    pub(super) fn missing(&self, files: &[NewFile], look: &Look) -> Vec<String> {
        let made = |path: &String| files.iter().any(|file| file.path.ends_with(path.as_str()));
        let held = names_in(files);
        let paths = self.paths.iter().filter(|path| !made(path)).map(|path| format!("there is no file `{path}` yet"));
        let names = self.names.iter().filter(|name| !held.contains(name.as_str()));
        let names = names.map(|name| format!("nothing is named `{name}` yet"));
        let there =
            |file: &NewFile| look.files.iter().any(|shown| shown.path == file.path) || look.others.contains(&file.path);
        let only_new = !files.is_empty() && !files.iter().any(there) && !look.files.is_empty();
        let unused = only_new.then(|| "no file that was there before uses what is new".to_owned());
        paths.chain(names).chain(unused).take(MOST).collect()
    }

    /// How many names these files lack that only the issue's code blocks have.
    pub(super) fn missing_of_examples(&self, files: &[NewFile]) -> usize {
        let held = names_in(files);
        self.in_examples.iter().filter(|name| !held.contains(name.as_str())).count()
    }
}

fn names_in(files: &[NewFile]) -> BTreeSet<&str> {
    files.iter().flat_map(|file| NAME.find_iter(&file.content)).map(|found| found.as_str()).collect()
}

/// Names of code that these words are about, and those that their code blocks only use.
fn named(words: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut names, mut in_examples) = (BTreeSet::new(), BTreeSet::new());
    for piece in pieces(words) {
        match piece {
            // In Markdown four spaces begin a code block, too.
            Piece::Line(line) if line.starts_with("    ") && !line.contains('`') => {
                code(line, &mut names, &mut in_examples);
            }
            Piece::Line(line) => prose(line, &mut names),
            Piece::Block { info, text, .. } if is_among(CODE, info) => {
                text.lines().for_each(|line| code(line, &mut names, &mut in_examples));
            }
            // Output, commands, data.
            Piece::Block { .. } => {}
        }
    }
    (names, in_examples)
}

/// Adds the names that a line of code defines, and those that it calls or uses as keys of arguments.
fn code(line: &str, defined: &mut BTreeSet<String>, out: &mut BTreeSet<String>) {
    let line = STRING.replace_all(line, "\"\"");
    let line = line.split(" # ").next().unwrap_or_default().split(" // ").next().unwrap_or_default();
    if !line.contains('(') && definitions::named(line).is_none() {
        return;
    }
    defined.extend(definitions::named(line).map(|(name, _)| name));
    // The variable that a line assigns to belongs to the example.
    let given = line.split_once(" = ").map_or(line, |(_, value)| value);
    let begins = given.find('(').unwrap_or(0);
    out.extend(CALLED.captures_iter(given).filter_map(|found| {
        let name = found.get(1)?;
        // A method of something else is not asked for.
        if given[..name.start()].ends_with('.') {
            return None;
        }
        let called = given[name.end()..].trim_start().starts_with('(');
        // In a definition a colon after an argument precedes its type; in a call the name before it is a key.
        let meant = if called { !is_among(COMMON, name.as_str()) } else { name.start() > begins };
        meant.then(|| name.as_str().to_owned())
    }));
}

/// Adds names in backticks: calls, and single names that look like code or are said to be.
fn prose(line: &str, out: &mut BTreeSet<String>) {
    let parts: Vec<&str> = line.split('`').collect();
    for (at, part) in parts.iter().enumerate().filter(|(at, _)| at % 2 == 1) {
        let word = |text: &str, last: bool| {
            let mut all = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            let found = if last { all.next_back() } else { all.next() };
            found.is_some_and(|word| is_among(KINDS, &word.trim_end_matches('s').to_lowercase()))
        };
        let single = NAME.find(part).is_some_and(|found| found.as_str() == *part);
        let coded =
            part.contains('_') || part.chars().skip(1).any(char::is_uppercase) && part.chars().any(char::is_lowercase);
        let told = word(parts[at - 1], true) || parts.get(at + 1).is_some_and(|after| word(after, false));
        match single {
            true if coded || told => {
                out.insert((*part).to_owned());
            }
            true => {}
            false if part.contains('(') => {
                let mut called = BTreeSet::new();
                code(part, out, &mut called);
                out.append(&mut called);
            }
            false => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::shown;
    use super::*;

    fn file(path: &str, content: &str) -> NewFile {
        NewFile::new(path, content)
    }

    fn listed(names: &BTreeSet<String>) -> Vec<&str> {
        names.iter().map(String::as_str).collect()
    }

    #[test]
    fn what_is_to_be_made_is_found_in_the_words() {
        let look = shown(&[("src/limiter.js", "class Limiter { constructor(make) {} of(key) {} }")]);
        let no_names: &[&str] = &[];
        for (words, names) in [
            ("`new Limiter(make, { max: 1000 })` keeps `max` keys; give it a getter `size`.", &["max", "size"][..]),
            ("`Limiter.of` is slow for `debug` and `x.y`", &[]),
            ("Please give `HTMLRenderer` an argument `link_rel=None`.", &["HTMLRenderer"]),
            ("The option `link_rel`:\n```python\nmd = make(link_rel=\"x\")\n```", &["link_rel"]),
            (
                "Add\n\n    def round_to(seconds, size):\n        return (seconds + size // 2) // size * size\n",
                &["round_to"],
            ),
            ("Add\n\n    pub enum Operator { Add, Subtract }\n", &["Operator"]),
        ] {
            let found = NewNames::of(words, &look);
            assert_eq!((listed(&found.names), &listed(&found.in_examples)[..]), (names.to_vec(), no_names), "{words}");
        }
        for (words, in_examples) in [
            (
                "```js\nnew Limiter('--level <level>', { ignoreCase: true }).choices(['debug'])\n```",
                &["ignoreCase"][..],
            ),
            ("```python\nmd = make(link_rel=\"x\")\n```", &["link_rel"]),
            ("Run `python3 -m unittest`:\n```sh\nmake(all)\n```", &[]),
            ("```\nTraceback (most recent call last):\n  at _compile (node:1)\n```", &[]),
            ("```js\nletters = split('a')\n```", &["split"]),
            ("It fails:\n```python\napp = make_app()\nLimiter(app, level=2)\n```", &["level", "make_app"]),
        ] {
            let found = NewNames::of(words, &look);
            assert_eq!(
                (listed(&found.in_examples), &listed(&found.names)[..]),
                (in_examples.to_vec(), no_names),
                "{words}"
            );
        }
        let found = NewNames::of("Move it into `src/pieces.js`, out of src/limiter.js and other.js", &look);
        assert_eq!(found.paths, ["src/pieces.js"]);
    }

    #[test]
    fn an_answer_that_leaves_it_out_is_told_what() {
        let look = shown(&[("src/case.js", "function words() {}\nmodule.exports = { words };\n")]);
        let asked = NewNames::of("Move the function `pieces` to `src/pieces.js`", &look);
        let missing = |files: &[NewFile]| asked.missing(files, &look);
        assert_eq!(
            missing(&[file("src/case.js", "x")]),
            ["there is no file `src/pieces.js` yet", "nothing is named `pieces` yet"]
        );
        let new = file("src/pieces.js", "function pieces() {}\n");
        assert_eq!(missing(std::slice::from_ref(&new)), ["no file that was there before uses what is new"]);
        assert_eq!(missing(&[new, file("src/case.js", "require('./pieces')")]), [""; 0]);
        let asked = NewNames::of("It fails:\n```js\napp = makeApp({ debug: true });\n```", &look);
        let clean = [file("src/case.js", "x")];
        assert_eq!((asked.missing(&clean, &look), asked.missing_of_examples(&clean)), (Vec::new(), 2));
        assert_eq!(asked.missing_of_examples(&[file("src/case.js", "makeApp")]), 1);
    }
}
