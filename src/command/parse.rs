//! Finds the commands in a Markdown text: each at the beginning of a line of an ordinary paragraph; never in a quote, a list, code, a table
//! or an HTML comment. Pure.

use super::options::OF_A_START;
use super::spec::{Argument, Strength};
use super::table::spec;
use domain::{TaskKind, Verb};
use pulldown_cmark::{Event, Options, Parser, Tag};
use std::collections::BTreeMap;
use std::ops::Range;

/// The commands of a repository's own by their names: the kind of task that each begins, or half a sentence that says why it cannot be used.
pub type OwnNames = BTreeMap<String, Result<TaskKind, String>>;

/// The longest name of a repository's own command, in bytes.
const LONGEST_OWN: usize = 31;

/// What may end a command that holds back and has a line for itself: people write `/stop.` and `/stop!`. Of any other an old text, which was
/// none when it was written, could begin something.
const MARKS: [char; 2] = ['.', '!'];

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
    /// The command that the text begins with, if it is none of the table, and so may be one of the repository's own.
    pub own: Option<String>,
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
    parse_with(text, author, &OwnNames::new())
}

/// As [`parse`], with the commands of a repository's own: each counts only as the first word of a text, and never where the table has its name.
pub fn parse_with(text: &str, author: &str, own: &OwnNames) -> Parsed {
    let lines = Lines::read(text);
    let first = first_word(text);
    let (mut commands, mut begins) = (Vec::new(), None);
    for (at, (start, word)) in lines.open.iter().enumerate() {
        let end = lines.open.get(at + 1).map_or(text.len(), |(next, _)| *next);
        let (name, text) = (word.to_ascii_lowercase(), &text[name_end(text, *start, word)..end]);
        let argument = Argument { text, author };
        if *start == first && spec(&name).is_none() && is_own_name(&name) {
            begins = Some(name.clone());
            if let Some(kind) = own.get(&name) {
                commands.push(own_command(name, kind, &argument));
                continue;
            }
        }
        commands.push(command(name, &argument));
    }
    Parsed { plain: commands.is_empty(), commands, own: begins }
}

/// Whether a slash begins a line of it, as every command does: whatever has none needs no further look.
pub fn may_hold_command(text: &str) -> bool {
    text.match_indices('/').any(|(at, _)| starts_source_line(text, at))
}

/// Whether a repository's own command may have this name: 2 to 31 lower-case letters, digits and dashes, a letter first.
pub fn is_own_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (2..=LONGEST_OWN).contains(&name.len()) && name.as_bytes()[0].is_ascii_lowercase() && name.bytes().all(plain)
}

/// Whether a text's first word is a command only because a repository may have one of this name: before there were any it was plain text.
pub fn only_own(word: &str) -> bool {
    !is_letters(word) && spec(word).is_none() && is_own_name(word)
}

fn is_letters(word: &str) -> bool {
    !word.is_empty() && word.len() <= 20 && word.chars().all(|c| c.is_ascii_alphabetic())
}

fn own_command(name: String, kind: &Result<TaskKind, String>, argument: &Argument<'_>) -> Command {
    let read = kind.clone().and_then(|kind| {
        let (terms, words) = argument.terms(&OF_A_START)?;
        Ok(Verb::begin(kind, words, terms))
    });
    match read {
        Ok(verb) => Command { name, strength: Strength::Work, verb },
        Err(why) => {
            Command { verb: Verb::Unknown { word: name.clone(), why: Some(why) }, strength: Strength::Question, name }
        }
    }
}

/// Where a text's first word begins.
fn first_word(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// Where what stands behind the command begins whose slash is at `start`.
fn name_end(text: &str, start: usize, word: &str) -> usize {
    let behind = &text[start + 1 + word.len()..];
    text.len() - behind.trim_start_matches(MARKS).len()
}

/// The text without the names of its commands: `/fix the parser` gives `the parser`.
pub fn without_names(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (start, word) in Lines::read(text).open {
        if spec(&word.to_ascii_lowercase()).is_some() {
            out.push_str(&text[from..start]);
            from = name_end(text, start, &word);
        }
    }
    out + &text[from..]
}

/// The text without the lines in which these of its commands stand: `/deny a.test` with words below it gives the words.
pub fn without_lines(text: &str, of: impl Fn(&Verb) -> bool) -> String {
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for ((start, _), command) in Lines::read(text).open.into_iter().zip(parse(text, "").commands) {
        if of(&command.verb) {
            out.push_str(&text[from..start]);
            from = text[start..].find('\n').map_or(text.len(), |at| start + at);
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
        let (mut open, first) = (Vec::new(), first_word(text));
        if !may_hold_command(text) {
            return Lines { open };
        }
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
                    let Some(word) = command_word(text, &range, range.start == first) else { continue };
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
/// contains dashes; where it is the text's first word, whatever may be the name of a repository's own command.
fn command_word<'a>(text: &'a str, range: &Range<usize>, is_first: bool) -> Option<&'a str> {
    let rest = text[range.start..].strip_prefix('/')?;
    if !starts_source_line(text, range.start) {
        return None;
    }
    let word = rest.split(|c: char| c.is_whitespace()).next().unwrap_or_default();
    let alone = rest.lines().next().is_some_and(|line| line.trim_end() == word);
    let bare = word.trim_end_matches(MARKS);
    let holds_back =
        spec(&bare.to_ascii_lowercase()).is_some_and(|it| matches!(it.strength, Strength::Pause | Strength::Stop));
    if alone && holds_back {
        return Some(bare);
    }
    let name = word.to_ascii_lowercase();
    (is_letters(word) || spec(&name).is_some() || is_first && is_own_name(&name)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::{may_hold_command, parse, without_lines, without_names};
    use domain::Verb;

    #[test]
    fn what_holds_back_and_has_a_line_for_itself_may_end_as_a_sentence() {
        let verbs = |text: &str| parse(text, "u7").commands.into_iter().map(|it| it.verb).collect::<Vec<_>>();
        for text in ["/stop.", "Enough.\r\n/Stop!!\r\nPlease.", "/stop!  \nx"] {
            assert_eq!(verbs(text), [Verb::Stop], "{text:?}");
        }
        assert_eq!(verbs("Words.\n/pause.\n/status"), [Verb::Pause, Verb::Status]);
        assert_eq!(without_names("/pause!\nIt leaks.").trim(), "It leaks.");
        for text in ["/stop. /help", "/stop?", "/fix.", "/approve!", "/stop, please", "/stop.now", "/usr.", "/stop/."] {
            assert!(verbs(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_command_is_left_out_with_its_line() {
        let without = |text: &str| without_lines(text, |verb| matches!(verb, Verb::Deny { .. }));
        assert_eq!(without("It leaks.\n/deny a.test\nUse a set."), "It leaks.\n\nUse a set.");
        assert_eq!(without("/deny a.test"), "");
        for text in ["/allow a.test\nUse a set.", "> /deny a.test", ""] {
            assert_eq!(without(text), text);
        }
    }

    #[test]
    fn a_text_without_a_slash_at_the_beginning_of_a_line_holds_no_command() {
        for text in ["/fix", "  /fix", "Words.\n/stop", "Words.\r /stop", "> a quote\n\n   /deny a.test", "`/a`\n/b"] {
            assert!(may_hold_command(text), "{text:?}");
        }
        for text in ["", "Words.", "either/or", "> /fix", "- /fix", "`/fix`", "see https://a.test/b\nand c/d"] {
            assert!(!may_hold_command(text), "{text:?}");
        }
    }
}
