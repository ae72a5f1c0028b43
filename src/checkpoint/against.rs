//! The part of a review about errors and warnings that the base does not have.
//!
//! Owns its wording and the number of reports shown. Reports are untrusted: shown as code or plain text on one line. Tests: below.

use std::fmt::Write as _;

use domain::{Against, Reported};

use crate::text::{code, count};

/// The most reports that are shown.
const SHOWN: usize = 5;

/// The part with a following empty line; empty if the change adds no error and no warning.
pub(super) fn part(against: &Against) -> String {
    if against.new_errors == 0 && against.new_warnings == 0 {
        return String::new();
    }
    let mut out = format!("**Against the base** — {}", head(against));
    out.push_str("\n\n");
    for one in against.new.iter().take(SHOWN) {
        let _ = writeln!(out, "- {}", line(one));
    }
    let shown = u32::try_from(against.new.len().min(SHOWN)).unwrap_or_default();
    if against.new_errors > shown {
        let _ = writeln!(out, "- … and {} more", against.new_errors - shown);
    }
    if shown > 0 {
        out.push('\n');
    }
    out
}

fn head(against: &Against) -> String {
    let mut parts = vec![match against.new_errors {
        0 => "no new error".to_owned(),
        new => format!("❌ {} (reported by code under review)", count(u64::from(new), "new error")),
    }];
    if against.still > 0 {
        parts.push(format!("{} there too", count(u64::from(against.still), "error")));
    }
    if against.gone > 0 {
        parts.push(format!("{} of the base not reported any more", count(u64::from(against.gone), "error")));
    }
    if against.warnings > 0 {
        let warnings = count(u64::from(against.warnings), "warning");
        parts.push(match against.new_warnings {
            0 => warnings,
            new => format!("{warnings}, {new} new"),
        });
    }
    parts.join(" · ")
}

/// Place, test and the first line of the message.
fn line(one: &Reported) -> String {
    let mut parts = Vec::new();
    if let Some(file) = &one.file {
        parts.push(code(&one.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"))));
    }
    parts.extend(one.test.as_deref().map(code));
    let said = one.message.lines().next().unwrap_or_default();
    format!("{} — {}", parts.join(" "), code(said)).trim_start_matches(" — ").to_owned()
}

/// Reports in which every text is this one.
#[cfg(test)]
pub(super) fn hostile(text: &str) -> Against {
    let text = || Some(text.to_owned());
    let (file, test, message) = (text(), text(), text().unwrap_or_default());
    let new = vec![Reported { file, test, message, line: Some(1), ..Reported::default() }];
    Against { new, new_errors: 1, ..Against::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(test: Option<&str>, message: &str) -> Reported {
        let (file, test) = (Some("src/price.py".to_owned()), test.map(str::to_owned));
        Reported { tool: "pytest".into(), file, line: Some(8), message: message.into(), test, ..Reported::default() }
    }

    #[test]
    fn errors_are_shown_and_warnings_counted() {
        let new = vec![
            one(Some("tests/test_price.py::test_cents"), "assert 105 == 150\n  where 105 = …"),
            one(None, "a | b @alice #1 <img src=x>"),
        ];
        let against = Against { new, new_errors: 2, still: 3, gone: 1, warnings: 4, new_warnings: 1 };
        insta::assert_snapshot!(part(&against));
    }

    #[test]
    fn nothing_new_is_no_part() {
        assert_eq!(part(&Against { still: 3, gone: 2, warnings: 9, ..Against::default() }), "");
        let warned = part(&Against { warnings: 9, new_warnings: 2, ..Against::default() });
        assert_eq!(warned, "**Against the base** — no new error · 9 warnings, 2 new\n\n");
        let many = Against { new: vec![one(None, "x"); 10], new_errors: 40, ..Against::default() };
        assert!(part(&many).ends_with("- … and 35 more\n\n"), "{}", part(&many));
    }
}
