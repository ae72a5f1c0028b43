//! `/test-pr`: runs a quoted command on a branch, in a clean sandbox; it changes nothing.

use super::options::named;
use super::spec::{Argument, Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "test-pr",
    syntax: "/test-pr \"command\" [branch] [--setup \"command\"] [--each-push]",
    who: Who::Writer,
    effect: "runs the command on the branch's newest commit in a clean sandbox without a network (`--setup` has none either), unless the operator grants hosts, answers with what it printed (all of it as a file, of more than 4 MiB beginning and end), and sets the commit status `caisson/test`; with `--each-push` again at each push to the pull request, until it is closed or somebody writes `/test-pr --off`",
    strength: Strength::Work,
    options: &[],
    read: |argument| read(argument, false),
};

/// Longest accepted command, in characters.
const LONGEST: usize = 1_000;
/// Opening quotes with their closing ones; phones write the second pair.
const QUOTES: [(char, char); 2] = [('"', '"'), ('“', '”')];

/// Reads the arguments of both commands: the quoted command, then a branch and a setup in any order.
pub(super) fn read(argument: &Argument<'_>, bug: bool) -> Result<Verb, String> {
    let line = argument.line();
    if option(line, "off").is_some_and(str::is_empty) {
        return Ok(Verb::TestOff);
    }
    if line.is_empty() {
        return Err("say in quotes what to run".to_owned());
    }
    let (command, mut rest) = quoted(line, "the command")?;
    let (mut setup, mut branch, mut each_push) = (None, None, false);
    while !rest.is_empty() {
        if let Some(after) = option(rest, "each-push") {
            (each_push, rest) = (true, after);
            continue;
        }
        if let Some(value) = option(rest, "setup") {
            if setup.is_some() {
                return Err("--setup stands there twice".to_owned());
            }
            let (value, after) = quoted(value, "what stands behind --setup")?;
            (setup, rest) = (Some(value), after);
            continue;
        }
        let word = rest.split_whitespace().next().unwrap_or_default();
        rest = rest[word.len()..].trim_start();
        if branch.replace(name(word)?).is_some() {
            return Err("behind the command stands more than one word: it is one branch, and quotes inside the command are written \\\"".to_owned());
        }
    }
    if each_push && branch.is_some() {
        return Err("--each-push is about the pull request where it is written: leave the branch out".to_owned());
    }
    Ok(Verb::Test { command, setup, branch, bug, each_push })
}

/// The text after this option, also when a phone made one long dash of the two.
fn option<'a>(rest: &'a str, name: &str) -> Option<&'a str> {
    let after = ["--", "—", "–"].iter().find_map(|dash| rest.strip_prefix(dash)?.strip_prefix(name))?;
    let ends = after.is_empty() || after.starts_with(|c: char| c.is_whitespace() || c == '=');
    ends.then(|| after.trim_start_matches('=').trim_start())
}

fn name(word: &str) -> Result<String, String> {
    let word = word.trim_matches('`');
    if word.contains(':') {
        return Err("it runs branches of this repository only, not a fork's".to_owned());
    }
    if word.starts_with(['-', '—', '–']) {
        return Err("its options are --setup and --each-push".to_owned());
    }
    let none = || "what stands behind the command is no branch's name".to_owned();
    // As in git-check-ref-format; `..` could also lead out of a path of the API's URL.
    if word.contains("..")
        || word.split('/').any(|part| part.is_empty() || part.starts_with('.') || part.ends_with('.'))
    {
        return Err(none());
    }
    named(word, "/._-+#@=").map_err(|_| none())
}

/// Reads a quoted text, in which `\"` stands for the quote, and returns the text after it. `what` names it in the error.
fn quoted<'a>(text: &'a str, what: &str) -> Result<(String, &'a str), String> {
    let missing = || format!("{what} stands in quotes: `\"…\"`");
    let first = text.chars().next().ok_or_else(missing)?;
    let (_, end) = QUOTES.into_iter().find(|(begin, _)| *begin == first).ok_or_else(missing)?;
    let (mut value, mut escaped) = (String::new(), false);
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\\' if !escaped => escaped = true,
            c if c == end && !escaped => return checked(value, &text[at + c.len_utf8()..], what),
            c => {
                // A backslash before anything else is left for the shell.
                if escaped && c != end {
                    value.push('\\');
                }
                escaped = false;
                value.push(c);
            }
        }
    }
    Err(format!("the quote around {} is not closed in this line", what.trim_start_matches("what stands ")))
}

fn checked<'a>(value: String, rest: &'a str, what: &str) -> Result<(String, &'a str), String> {
    if value.trim().is_empty() {
        return Err(format!("{what} is empty"));
    }
    if value.chars().nth(LONGEST).is_some() {
        return Err(format!("{what} has more than 1,000 characters; put it into a script of the branch"));
    }
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return Err(format!("a space has to stand behind the quote around {what}"));
    }
    Ok((value.trim().to_owned(), rest.trim_start()))
}
