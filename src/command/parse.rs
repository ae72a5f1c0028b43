//! Finds the commands in a Markdown text: each at the beginning of a line of an ordinary paragraph; never in a quote, a list, code, a table
//! or an HTML comment. Pure.

use super::spec::{Argument, Strength};
use super::table::spec;
use domain::Verb;
use pulldown_cmark::{Event, Options, Parser, Tag};
use std::ops::Range;

/// One command of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The word after the slash, in lower case; it need not be the name of a command.
    pub name: String,
    /// Its priority among the commands of its text; [`Strength::Question`] if it is unknown or malformed.
    pub strength: Strength,
    /// What it asks for; [`Verb::Unknown`] if it is unknown or malformed.
    pub verb: Verb,
}

/// The commands of one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// In the order of the text; the index is the ordinal of an input's key.
    pub commands: Vec<Command>,
    /// Whether it contains no command: it is feedback or talk.
    pub plain: bool,
}

impl Parsed {
    /// The command of the text that counts; of equals the first.
    pub fn strongest(&self) -> Option<&Command> {
        // `max_by_key` returns the last of equals, so the order is reversed.
        self.commands.iter().rev().max_by_key(|command| command.strength)
    }
}

/// Parses a text written by `author` (a login). Never fails: whatever is not a command is plain text.
pub fn parse(text: &str, author: &str) -> Parsed {
    let lines = Lines::read(text);
    let mut commands = Vec::new();
    for (at, (start, word)) in lines.open.iter().enumerate() {
        let end = lines.open.get(at + 1).map_or(text.len(), |(next, _)| *next);
        let after = &text[start + 1 + word.len()..end];
        commands.push(command(word.to_ascii_lowercase(), &Argument { text: after, author }));
    }
    Parsed { plain: commands.is_empty(), commands }
}

/// The text without the names of its commands: `/fix the parser` gives `the parser`.
pub fn without_names(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (start, word) in Lines::read(text).open {
        if spec(&word.to_ascii_lowercase()).is_some() {
            out.push_str(&text[from..start]);
            from = start + 1 + word.len();
        }
    }
    out + &text[from..]
}

fn command(name: String, argument: &Argument<'_>) -> Command {
    let unknown = |why| Verb::Unknown { word: name.clone(), why };
    let (strength, verb) = match spec(&name).map(|spec| (spec.strength, (spec.read)(argument))) {
        Some((strength, Ok(verb))) => (strength, verb),
        Some((_, Err(why))) => (Strength::Question, unknown(Some(why))),
        None => (Strength::Question, unknown(None)),
    };
    Command { name, strength, verb }
}

struct Lines {
    /// For each command, the offset of its slash and its name.
    open: Vec<(usize, String)>,
}

impl Lines {
    fn read(text: &str) -> Lines {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_GFM
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_MATH
            | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
        let mut open = Vec::new();
        // Nesting depth: only what stands directly in a top-level paragraph counts.
        let mut depth = 0_usize;
        let mut paragraph = false;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(tag) => {
                    paragraph |= depth == 0 && matches!(tag, Tag::Paragraph);
                    depth += 1;
                }
                Event::End(_) => {
                    depth -= 1;
                    paragraph &= depth > 0;
                }
                Event::Text(_) => {
                    let Some(word) = command_word(text, &range) else { continue };
                    if paragraph && depth == 1 {
                        open.push((range.start, word.to_owned()));
                    }
                }
                Event::Code(_)
                | Event::InlineMath(_)
                | Event::DisplayMath(_)
                | Event::Html(_)
                | Event::InlineHtml(_)
                | Event::FootnoteReference(_)
                | Event::SoftBreak
                | Event::HardBreak
                | Event::Rule
                | Event::TaskListMarker(_) => {}
            }
        }
        Lines { open }
    }
}

fn starts_source_line(text: &str, at: usize) -> bool {
    // Searched from the end, because a line may be a megabyte long and hold many slashes.
    let before = text[..at].trim_end_matches(' ');
    before.is_empty() || before.ends_with(['\n', '\r'])
}

/// The word after a slash that begins a line, up to white space or the end of the line: ASCII letters, or the name of a command that
/// contains dashes.
fn command_word<'a>(text: &'a str, range: &Range<usize>) -> Option<&'a str> {
    let rest = text[range.start..].strip_prefix('/')?;
    if !starts_source_line(text, range.start) {
        return None;
    }
    let word = rest.split(|c: char| c.is_whitespace()).next().unwrap_or_default();
    let letters = !word.is_empty() && word.len() <= 20 && word.chars().all(|c| c.is_ascii_alphabetic());
    (letters || spec(&word.to_ascii_lowercase()).is_some()).then_some(word)
}
