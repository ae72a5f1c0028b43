//! The review of a person's pull request: one text, and the findings that stand on lines of the difference.
//!
//! All that the agent wrote (words, paths) is foreign. Tests: below, with a real Markdown parser.

use super::finding::{Finding, Severity};
use super::render::MAX_BODY;
use crate::text::{code, count, document, prose};
use domain::Commit;
use std::fmt::Write as _;
use url::Url;

/// The most of the agent's summary, and of one finding on its line, in characters.
const SUMMARY: usize = 16_000;
const ON_A_LINE: usize = 4_000;
/// The most of one finding in the text, and of a remark of the bot's.
const IN_TEXT: usize = 600;
/// Findings and places that the text names; more are counted.
const MOST: usize = 60;
/// Longest list of them, in bytes; the summary gets what is left of what the forge takes.
const LIST: usize = 36 << 10;
const MOST_PLACES: usize = 20;

/// A finding that stands on no line of the difference.
pub struct Elsewhere<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// Address of its place for people; none where there is no such place.
    pub link: Option<Url>,
}

/// What the review says.
pub struct PullReview<'a> {
    /// The command that asked for it, without its slash.
    pub command: &'a str,
    /// What the host found by itself, as Markdown of ours; empty where it looked for nothing.
    pub by_host: &'a str,
    /// The commit that was read.
    pub head: &'a Commit,
    /// The branch that the pull request goes to.
    pub target: &'a str,
    /// What the commit was compared with.
    pub from: Option<&'a Commit>,
    /// Where the branch stands now, if it moved meanwhile.
    pub moved: Option<&'a Commit>,
    /// Every finding, also those on lines.
    pub all: &'a [Finding],
    /// Those that the text shows.
    pub elsewhere: &'a [Elsewhere<'a>],
    /// Places that the answer names and that are not there.
    pub not_there: &'a [String],
    /// What is no finding. Untrusted.
    pub summary: &'a str,
    /// A remark about the sandbox.
    pub note: Option<&'a str>,
    /// The model was a recording.
    pub scripted: bool,
}

/// One finding as a comment on its line: its severity first.
pub fn render_finding(finding: &Finding) -> String {
    let words = match finding.words.trim() {
        "" => "> (no words)\n".to_owned(),
        words => document(words, ON_A_LINE),
    };
    format!("{} **{}** — the agent says:\n\n{words}", finding.severity.sign(), finding.severity.word())
}

/// The review's text.
pub fn render_pull_review(view: &PullReview<'_>) -> String {
    let of = match view.command {
        "security" => "Security review",
        "explain" => "Explanation",
        _ => "Review",
    };
    let mut out = format!("### {of} of `{}`\n\n", view.head.short());
    let from = view.from.map(|from| format!(", where it left at `{}`", from.short())).unwrap_or_default();
    // An explanation looks for nothing.
    let nothing = view.command == "explain" && view.all.is_empty();
    let counted = if nothing { String::new() } else { format!(" {}", counted(view)) };
    let _ = writeln!(out, "Read against {}{from}.{counted}\n", code(view.target));
    if let Some(moved) = view.moved {
        let _ = writeln!(
            out,
            "> [!WARNING]\n> ⚠️ Reviewed at `{}`; the branch is at `{}` now. So no finding stands on a line: the lines are those of the commit that was read.\n",
            view.head.short(),
            moved.short()
        );
    }
    if !view.not_there.is_empty() {
        let named: Vec<String> = view.not_there.iter().take(MOST_PLACES).map(|place| code(place)).collect();
        let more = more(view.not_there.len().saturating_sub(MOST_PLACES));
        let _ = writeln!(
            out,
            "> [!WARNING]\n> ⚠️ The answer names places that do not exist at `{}`: {}{more}.\n",
            view.head.short(),
            named.join(", ")
        );
    }
    if !view.by_host.is_empty() {
        let _ = writeln!(out, "{}", view.by_host);
    }
    let (list, foot) = (elsewhere(view), foot(view));
    let room = MAX_BODY.saturating_sub(out.len() + list.len() + foot.len());
    out + &summary(view, room) + &list + &foot
}

/// What the agent says beside its findings, in at most so many bytes.
fn summary(view: &PullReview<'_>, room: usize) -> String {
    let head = "The agent says:\n\n";
    match view.summary.trim() {
        "" if view.all.is_empty() => "The agent ended without an answer.\n".to_owned(),
        "" => String::new(),
        summary => format!("{head}{}", within(summary, room.saturating_sub(head.len()))),
    }
}

/// A document of at most [`SUMMARY`] characters, and of so few that it has at most `room` bytes: one character may have four.
fn within(text: &str, room: usize) -> String {
    let mut most = SUMMARY.min(text.chars().count());
    loop {
        let shown = document(text, most);
        if shown.len() <= room || most == 0 {
            return shown;
        }
        most = most * room / shown.len();
    }
}

/// What stands below all else.
fn foot(view: &PullReview<'_>) -> String {
    let mut out = String::new();
    if let Some(note) = view.note {
        let _ = write!(out, "\n> [!NOTE]\n> {}\n", prose(note, IN_TEXT));
    }
    let wrote = if view.by_host.is_empty() { "a model wrote this" } else { "a model wrote all but the table" };
    let _ = writeln!(
        out,
        "\n**What now**: {wrote}. It approves and rejects nothing, and nothing was changed or run. `/{}` reads the newest commit again.",
        view.command
    );
    if view.scripted {
        out.push_str("\n<sub>the model was a recording</sub>\n");
    }
    out
}

/// How many findings there are of each severity, and where they stand.
fn counted(view: &PullReview<'_>) -> String {
    if view.all.is_empty() {
        return "No finding with a place.".to_owned();
    }
    let of = |severity: Severity| view.all.iter().filter(|finding| finding.severity == severity).count() as u64;
    let each = [Severity::Blocker, Severity::Warning, Severity::Note].map(|it| (of(it), it.word()));
    let named: Vec<String> = each.iter().filter(|(n, _)| *n > 0).map(|(n, word)| count(*n, word)).collect();
    let on_lines = view.all.len().saturating_sub(view.elsewhere.len());
    let place = match (on_lines, view.elsewhere.len()) {
        (_, 0) => "on their lines".to_owned(),
        (0, _) => "below".to_owned(),
        (lines, rest) => format!("{lines} on their lines, {rest} below"),
    };
    format!("{}: {place}.", named.join(", "))
}

fn elsewhere(view: &PullReview<'_>) -> String {
    if view.elsewhere.is_empty() {
        return String::new();
    }
    let mut out = "\n**Findings that stand on no line here**\n\n".to_owned();
    let room = LIST.saturating_sub(view.by_host.len());
    let mut told = 0;
    for Elsewhere { finding, link } in view.elsewhere.iter().take(MOST) {
        let lines = match finding.last {
            last if last > finding.first => format!("{}-{last}", finding.first),
            _ => finding.first.to_string(),
        };
        let place = code(&format!("{}:{lines}", finding.path));
        let place = link.as_ref().map_or(place.clone(), |link| format!("[{place}](<{link}>)"));
        let words = prose(&finding.words, IN_TEXT);
        let line = format!("- {} **{}** {place} — {words}\n", finding.severity.sign(), finding.severity.word());
        if out.len() + line.len() > room {
            break;
        }
        out.push_str(&line);
        told += 1;
    }
    let rest = view.elsewhere.len() - told;
    if rest > 0 {
        let _ = writeln!(out, "- …{}", more(rest));
    }
    out
}

fn more(count: usize) -> String {
    if count == 0 { String::new() } else { format!(" and {count} more") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::findings;
    use pulldown_cmark::{Event, Options, Parser, Tag};

    fn commit(digit: char) -> Commit {
        Commit::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn rendered(answer: &str, moved: Option<&Commit>, not_there: &[String]) -> String {
        let read = findings(answer);
        let (head, from) = (commit('a'), commit('b'));
        let link = |finding: &Finding| {
            let mut url: Url = "https://forge.example/lab/shop/src/commit/aaaa".parse().unwrap();
            url.path_segments_mut().unwrap().extend(finding.path.split('/'));
            Some(url)
        };
        let elsewhere: Vec<_> = read.all.iter().map(|finding| Elsewhere { finding, link: link(finding) }).collect();
        let (head, from) = (&head, Some(&from));
        let (all, elsewhere, summary) = (&read.all[..], &elsewhere[..], &read.summary[..]);
        let (target, note, scripted) = ("main", Some("It was given the rules of `AGENTS.md`."), false);
        render_pull_review(&PullReview {
            command: "review",
            by_host: "",
            head,
            target,
            from,
            moved,
            all,
            elsewhere,
            not_there,
            summary,
            note,
            scripted,
        })
    }

    #[test]
    fn a_review_says_what_was_read_what_was_found_and_that_it_decides_nothing() {
        let answer = "It compares numbers.\n\n- [blocker] src/a.rs:3-4 — it panics on `1.x`\n- note b.py:2: a name\n";
        let moved = commit('c');
        insta::assert_snapshot!(
            "pull_review",
            [
                rendered(answer, None, &[]),
                rendered("Fine.", Some(&moved), &["src/a.rs:99".into()]),
                rendered("", None, &[]),
                render_finding(&findings(answer).all[0]),
            ]
            .join("\n----\n")
        );
    }

    #[test]
    fn a_review_in_a_script_of_more_bytes_stays_below_what_a_forge_takes() {
        for sign in ["文", "\u{1f600}", "a"] {
            let words = |most: usize| format!("{} ", sign.repeat(9)).repeat(most / 10);
            let finding = |line: usize| format!("- [note] src/a.rs:{line} — {}\n", words(IN_TEXT));
            let all: String = (1..=MOST).map(finding).collect();
            let text = rendered(&(format!("{}\n\n", words(1_500)).repeat(12) + &all), None, &[]);
            assert!(text.len() <= MAX_BODY, "{sign}: {}", text.len());
            assert!(text.contains("**What now**") && text.contains("more characters)"), "{sign}: {text}");
            let shown = text.matches(sign).count() * sign.len();
            assert!(shown > 10_000, "{sign}: there is room for more than {shown} bytes");
        }
    }

    /// No link but ours, no image, no HTML, no mention, whatever the agent wrote.
    fn check(text: &str) {
        let options = Options::ENABLE_TABLES | Options::ENABLE_GFM | Options::ENABLE_STRIKETHROUGH;
        let mut code = false;
        for event in Parser::new_ext(text, options) {
            match &event {
                Event::Start(Tag::CodeBlock(_)) => code = true,
                Event::End(pulldown_cmark::TagEnd::CodeBlock) => code = false,
                Event::Start(Tag::Link { dest_url, .. }) => {
                    assert!(dest_url.starts_with("https://forge.example/lab/shop/src/commit/"), "{dest_url}: {text}");
                }
                Event::Start(Tag::Image { .. }) | Event::Html(_) | Event::InlineHtml(_) => panic!("{event:?}: {text}"),
                Event::Text(words) if !code => assert!(!words.contains('@') && !words.contains("evil."), "{words}"),
                _ => {}
            }
        }
    }

    #[test]
    fn a_hostile_finding_gets_out_of_nothing() {
        for bad in [
            "![x](http://evil.example/?q=1) @admin o/r#1",
            "</details><script>evil.x()</script> `` ``` @all",
            "[x](http://evil.example)\n  \n  <img src=http://evil.example>",
            "<!-- caisson:1:review:1 0000 -->",
            "| @all |\n  |---|\n  | evil.example |",
        ] {
            for path in [
                "a)[x](http://evil.example",
                "a`b>@all<",
                "<img/src=x>",
                "../../etc/passwd",
                "a\u{202e}b",
                "x](<javascript:evil>)",
            ] {
                let answer = format!("{bad}\n\n- [blocker] {path}:3 {bad}\n- note: `{path}:4` {bad}\n");
                check(&rendered(&answer, Some(&commit('c')), &[format!("{path}:3 {bad}")]));
                for finding in &findings(&answer).all {
                    check(&render_finding(finding));
                }
            }
        }
    }
}
