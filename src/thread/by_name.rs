//! A question to the bot by its name, in a text that gives no command: the text begins with `@name` and holds a question mark, or names it in a
//! sentence that ends in one. Quotes and code are nobody's question. Of a text that is too long only the beginning is looked at. And a command
//! behind the bot's name, which is none. Pure.

use crate::command::{self, MAX_WORDS};
use crate::redact;
use crate::text::cut as beginning;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// What ends a question: also in Chinese and Japanese, and in Arabic.
const MARKS: [char; 3] = ['?', '？', '؟'];
/// The longest question, in characters.
const LONGEST: usize = 2_000;

/// The question in a remark to the account of this login, cut to the longest question; none where it asks somebody else, or nothing.
pub(super) fn by_name(text: &str, login: &str) -> Option<String> {
    let cut = |text: &str| redact::in_words(text.trim_matches([' ', '\n', ':', ','])).chars().take(LONGEST).collect();
    let (begun, said) = (text.trim_start(), own_words(beginning(text, MAX_WORDS).0));
    if begun.starts_with('@')
        && said.split_whitespace().any(|word| word.trim_end_matches(['*', '_', ')', '"', '\'']).ends_with(MARKS))
        && let Some(end) = name_at(begun, 0, login)
    {
        return Some(cut(&begun[end..]));
    }
    sentences(&said).any(|sentence| sentence.ends_with(MARKS) && names(sentence, login)).then(|| cut(text))
}

/// As [`by_name`], of a text that says nothing beside its questions.
pub(super) fn only_asks(text: &str, login: &str) -> Option<String> {
    let said = own_words(text);
    let asks = sentences(&said).filter(|sentence| !sentence.is_empty()).all(|sentence| sentence.ends_with(MARKS));
    by_name(text, login).filter(|_| asks)
}

/// The name of a command that stands behind this login's name at the beginning of a line, beside whatever commands the text gives.
pub(super) fn command_behind(text: &str, login: &str) -> Option<String> {
    let text = beginning(text, MAX_WORDS).0;
    if !text.lines().any(|line| behind_name(line, login).is_some()) {
        return None;
    }
    let without: Vec<&str> = text.lines().map(|line| behind_name(line, login).unwrap_or(line)).collect();
    let names = |text: &str| command::parse(text, "").commands.into_iter().map(|command| command.name);
    let mut behind: Vec<String> = names(&without.join("\n")).collect();
    for given in names(text) {
        if let Some(at) = behind.iter().position(|name| *name == given) {
            behind.remove(at);
        }
    }
    behind.into_iter().find(|name| command::spec(name).is_some())
}

/// What begins with a slash behind this login's name, with which the line begins.
fn behind_name<'a>(line: &'a str, login: &str) -> Option<&'a str> {
    let end = line.starts_with('@').then(|| name_at(line, 0, login)).flatten()?;
    Some(line[end..].trim_start_matches([' ', '\t', ':', ','])).filter(|rest| rest.starts_with('/'))
}

/// Where the name that begins at this `@` ends, if it is this login's.
fn name_at(text: &str, at: usize, login: &str) -> Option<usize> {
    let rest = &text[at + 1..];
    rest.get(..login.len()).filter(|name| name.eq_ignore_ascii_case(login))?;
    let after = &rest[login.len()..];
    (!after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))).then_some(at + 1 + login.len())
}

fn names(sentence: &str, login: &str) -> bool {
    let begins =
        |at: usize| !sentence[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '@' | '/' | '_' | '-'));
    sentence.match_indices('@').any(|(at, _)| begins(at) && name_at(sentence, at, login).is_some())
}

/// Up to a full stop, an exclamation or question mark with white space behind it, or the end of a line.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut before = ' ';
    text.split(move |c: char| {
        let ends = c == '\n' || c.is_whitespace() && matches!(before, '.' | '!' | '?');
        before = c;
        ends
    })
    .map(str::trim)
}

/// What the author says in the text: without quotes, code and HTML.
fn own_words(text: &str) -> String {
    let (mut words, mut foreign) = (String::new(), 0_usize);
    for (event, _) in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_GFM).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_) | Tag::CodeBlock(_) | Tag::HtmlBlock) => foreign += 1,
            Event::End(TagEnd::BlockQuote(_) | TagEnd::CodeBlock | TagEnd::HtmlBlock) => foreign -= 1,
            Event::Text(said) if foreign == 0 => words.push_str(&said),
            Event::SoftBreak if foreign == 0 => words.push(' '),
            Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::Heading(_)) | Event::HardBreak => words.push('\n'),
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, MAX_WORDS, by_name, command_behind, only_asks};

    #[test]
    fn a_command_behind_the_name_is_noticed() {
        for (text, name) in [
            ("@caisson /stop", "stop"),
            ("@Caisson: /Fix the parser", "fix"),
            ("Fine.\r\n@caisson, /approve c3\r\n", "approve"),
            ("/approve\n@caisson /stop\n@caisson /approve", "stop"),
            ("/approve\n@caisson /approve", "approve"),
            ("> /stop\n\n@caisson /frob\n@caisson /test-pr \"x\"", "test-pr"),
        ] {
            assert_eq!(command_behind(text, "caisson").as_deref(), Some(name), "{text}");
        }
        for text in [
            "@caisson-dev /stop",
            "@bob /stop",
            "@caisson please /stop",
            "Hey @caisson /stop",
            "> @caisson /stop",
            "```\n@caisson /stop\n```",
            "    @caisson /stop",
            "@caisson /etc/passwd",
            "@caisson /lgtm",
            "/stop\n@caisson /lgtm",
            "/stop\n@caisson, look",
            "@caisson",
            "",
        ] {
            assert_eq!(command_behind(text, "caisson"), None, "{text}");
        }
    }

    #[test]
    fn a_remark_beside_a_question_is_none() {
        for (text, asks) in [
            ("Why a list, @caisson?", true),
            ("@caisson why? And what for?", true),
            ("This leaks, close it here. Or is there a reason, @caisson?", false),
            ("@caisson why a list? Use a set.", false),
        ] {
            assert!(by_name(text, "caisson").is_some() && only_asks(text, "caisson").is_some() == asks, "{text}");
        }
    }

    #[test]
    fn a_sentence_that_names_the_bot_and_asks_is_a_question() {
        for (text, question) in [
            ("@caisson why a list?", "why a list?"),
            ("@Caisson: why a list? I see.", "why a list? I see."),
            ("Why a list, @caisson?", "Why a list, @caisson?"),
            ("Nice work. Why a list, @caisson?\nI wonder.", "Nice work. Why a list, @caisson?\nI wonder."),
            ("Hey @caisson, what is\nleft to do?", "Hey @caisson, what is\nleft to do?"),
            ("@caisson 为什么？", "为什么？"),
            ("- And the tests, (@caisson)?", "- And the tests, (@caisson)?"),
        ] {
            assert_eq!(by_name(text, "caisson").as_deref(), Some(question), "{text}");
        }
    }

    #[test]
    fn of_a_text_that_is_too_long_only_the_beginning_may_ask() {
        let log = "It fails.\n".repeat(MAX_WORDS / 10);
        for asked in [format!("@caisson why?\n{log}"), format!("Why a list, @caisson?\n{log}")] {
            assert_eq!(by_name(&asked, "caisson").map(|question| question.chars().count()), Some(LONGEST));
        }
        assert_eq!(by_name(&format!("{log}Why a list, @caisson?"), "caisson"), None);
    }

    #[test]
    fn what_asks_somebody_else_or_nothing_is_none() {
        for text in [
            "@caisson thanks.",
            "@caisson use `x?.y` here",
            "@caisson done.\n\n> why?",
            "@caisson use what https://x.test/a?b=1 does",
            "Thanks, @caisson. Bob, is that what you meant?",
            "Is it ready, @caisson-dev?",
            "Is it ready, @caisson.org?",
            "Is it ready, bob@caisson?",
            "> Why a list, @caisson?",
            "> Why a list, @caisson?\n\nThat was answered.",
            "`Why a list, @caisson?`",
            "```\nWhy a list, @caisson?\n```",
            "Is that all?",
            "",
        ] {
            assert_eq!(by_name(text, "caisson"), None, "{text}");
        }
    }
}
