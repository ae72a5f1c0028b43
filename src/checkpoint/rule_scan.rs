//! What static rules found, as a table that stands whatever a model says: each finding's severity, place and rule.
//!
//! Paths are foreign. Tests: below, with a real Markdown parser.

use crate::text::{code, count, plain_cell, prose_cell};
use domain::{Commit, RuleFinding, RuleScan, RuleSeverity};
use std::fmt::Write as _;
use url::Url;

/// Longest table, in bytes: with all else an answer stays below what the forge takes.
const LONGEST: usize = 18 << 10;
/// The most rows.
const MOST: usize = 60;
/// The most characters of a sentence; they are ours.
const SENTENCE: usize = 300;
/// Said below every table.
const LIMITS: &str = "<sub>A rule looks at one line. It does not understand comments behind code, strings, what flows where, or files that programs made; one that \
                      is silent proves nothing.</sub>\n";

/// The table of a scan of this commit; `link` gives the address of a line for people.
pub fn render_rule_scan(scan: &RuleScan, commit: &Commit, link: &dyn Fn(&str, u64) -> Option<Url>) -> String {
    let below = scan.below.as_ref().map(|path| format!(" below {}", code(path))).unwrap_or_default();
    let lines = if scan.added_only { "the added lines of " } else { "" };
    let files = format!("{lines}{}{below} at `{}`", count(scan.files, "file"), commit.short());
    let mut out = match scan.findings.is_empty() {
        true => format!("**Static rules** found nothing in {files}.\n"),
        false => format!("**What static rules found** in {files}: {}.\n\n", counted(scan)),
    };
    let mut told = 0;
    if !scan.findings.is_empty() {
        out.push_str("| | where | rule | what it says |\n|---|---|---|---|\n");
    }
    for finding in scan.findings.iter().take(MOST) {
        let row = row(finding, link(&finding.path, finding.line));
        if out.len() + row.len() > LONGEST {
            break;
        }
        out.push_str(&row);
        told += 1;
    }
    let rest = (scan.findings.len() - told) as u64 + scan.more;
    if rest > 0 {
        let _ = writeln!(out, "\n…and {} more.", count(rest, "finding"));
    }
    out.push_str(&gaps(scan));
    out.push('\n');
    out.push_str(LIMITS);
    out
}

/// One finding as a comment on its line.
pub fn render_rule_finding(finding: &RuleFinding) -> String {
    format!(
        "{} **{}** — the static rule {} says: {} {}\n\n<sub>It looks at one line and understands no more than that.</sub>\n",
        finding.severity.sign(),
        finding.severity.word(),
        code(&finding.rule),
        finding.sentence,
        finding.instead
    )
}

/// A cell that leads to its address. A bar in that one would end the cell.
pub(super) fn linked(cell: String, link: Option<Url>) -> String {
    match link {
        Some(link) => format!("[{cell}](<{}>)", link.as_str().replace('|', "%7C")),
        None => cell,
    }
}

fn row(finding: &RuleFinding, link: Option<Url>) -> String {
    let place = linked(plain_cell(&format!("{}:{}", finding.path, finding.line)), link);
    let (sign, word) = (finding.severity.sign(), finding.severity.word());
    let says = prose_cell(&format!("{} {}", finding.sentence, finding.instead), SENTENCE);
    format!("| {sign} {word} | {place} | {} | {says} |\n", plain_cell(&finding.rule))
}

/// How many there are of each severity.
fn counted(scan: &RuleScan) -> String {
    let of = |severity: RuleSeverity| scan.findings.iter().filter(|it| it.severity == severity).count();
    let each = [RuleSeverity::High, RuleSeverity::Medium, RuleSeverity::Low].map(|it| (of(it), it.word()));
    let named: Vec<String> = each.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    let more = if scan.more == 0 { String::new() } else { format!(", and {} that were not kept", scan.more) };
    format!("{}{more}", named.join(", "))
}

/// What was not looked at.
fn gaps(scan: &RuleScan) -> String {
    let mut out = String::new();
    let mut passed = Vec::new();
    if scan.passed_over > 0 {
        passed.push(format!(
            "{} (larger than 512 KiB, too deep in folders, or no text)",
            count(scan.passed_over, "file")
        ));
    }
    if scan.long_lines > 0 {
        passed.push(format!("{} of more than 2 000 bytes", count(scan.long_lines, "line")));
    }
    if !passed.is_empty() {
        let _ = writeln!(out, "\nNot looked at: {}.", passed.join(", "));
    }
    if scan.cut {
        out.push_str("\n> [!WARNING]\n> ⚠️ A limit of files, bytes or time ended it early: it is not whole.\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulldown_cmark::{Event, Options, Parser, Tag};

    fn commit() -> Commit {
        Commit::parse(&"a".repeat(40)).unwrap()
    }

    fn finding(severity: RuleSeverity, path: &str, line: u64) -> RuleFinding {
        RuleFinding {
            rule: "python-eval".into(),
            severity,
            path: path.into(),
            line,
            sentence: "Text is run as Python: whoever decides what it says runs code here.".into(),
            instead: "Parse what is expected (`json.loads`).".into(),
            text: "eval(x)".into(),
        }
    }

    fn link(path: &str, line: u64) -> Option<Url> {
        let mut url: Url = "https://forge.example/lab/shop/src/commit/aaaa".parse().unwrap();
        url.path_segments_mut().unwrap().extend(path.split('/'));
        url.set_fragment(Some(&format!("L{line}")));
        Some(url)
    }

    #[test]
    fn findings_stand_in_a_table_with_what_was_not_looked_at() {
        let findings = vec![finding(RuleSeverity::High, "src/a.py", 3), finding(RuleSeverity::Low, "b|c.py", 9)];
        let mut scan = RuleScan { findings, files: 12, ..RuleScan::default() };
        let plain = render_rule_scan(&scan, &commit(), &link);
        (scan.more, scan.passed_over, scan.long_lines) = (3, 2, 1);
        (scan.cut, scan.added_only, scan.below) = (true, true, Some("src".into()));
        let gaps = render_rule_scan(&scan, &commit(), &|_, _| None);
        let none = render_rule_scan(&RuleScan { files: 1, ..RuleScan::default() }, &commit(), &link);
        let note = render_rule_finding(&scan.findings[0]);
        insta::assert_snapshot!("rule_scan", [plain, gaps, none, note].join("\n----\n"));
    }

    #[test]
    fn a_table_has_a_limit_and_the_rest_is_counted() {
        let findings: Vec<_> = (1..=200).map(|line| finding(RuleSeverity::Low, &"p".repeat(120), line)).collect();
        let text = render_rule_scan(&RuleScan { findings, files: 1, ..RuleScan::default() }, &commit(), &link);
        assert!(text.len() < LONGEST + 1_000, "{}", text.len());
        let rows = text.matches("python-eval").count();
        assert!((1..=MOST).contains(&rows) && text.contains(&format!("…and {} findings more.", 200 - rows)), "{rows}");
    }

    #[test]
    fn a_hostile_path_gets_out_of_nothing() {
        for path in ["a)[x](http://evil.example", "a`b>@all<", "<img/src=x>", "a\u{202e}b", "a|b\\", "a\n| @all |"] {
            let scan = RuleScan { findings: vec![finding(RuleSeverity::High, path, 1)], ..RuleScan::default() };
            let text = render_rule_scan(&scan, &commit(), &link);
            for event in Parser::new_ext(&text, Options::ENABLE_TABLES | Options::ENABLE_GFM) {
                match &event {
                    Event::Start(Tag::Link { dest_url, .. }) => {
                        assert!(dest_url.starts_with("https://forge.example/lab/shop/src/commit/"), "{text}");
                    }
                    Event::InlineHtml(html) => assert!(html.contains("sub>"), "{text}"),
                    Event::Html(html) => assert!(html.contains("sub>") || html.trim().is_empty(), "{text}"),
                    Event::Start(Tag::Image { .. }) => panic!("{text}"),
                    Event::Text(words) => assert!(!words.contains('@'), "{text}"),
                    _ => {}
                }
            }
        }
    }
}
