//! Compares findings with the table: missing, unexpected or wrong ones are mismatches. Pure. Tests: below.

use std::collections::BTreeMap;
use std::fmt::Write;

use protocol::probe::Finding;
use serde::Serialize;

use super::Expect;
use super::table::{Check, Wants, checks};
use crate::text::{cut, one_line};

/// The most mismatches shown of one check.
const SHOWN: usize = 3;

/// Result of one check of the barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every finding is as expected.
    Holds,
    /// A finding is missing, unexpected or wrong.
    Mismatch,
    /// The check does not apply here; `seen` says why.
    NotApplicable,
}

impl Verdict {
    /// Its word in tables for people; a mismatch is in capitals.
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Mismatch => "MISMATCH",
            Self::NotApplicable => "not applicable",
        }
    }
}

/// Result of one check with its description.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The check's fixed number, from 1, as SECURITY.md names it.
    pub number: u8,
    /// Short description of the check.
    pub check: &'static str,
    /// Expected result, in words for people.
    pub expected: &'static str,
    /// The findings. Untrusted.
    pub seen: String,
    /// Whether the findings are as expected.
    pub verdict: Verdict,
}

/// One row for each check, in their order.
pub fn judge(expect: &Expect, findings: &[Finding]) -> Vec<Row> {
    checks(expect).iter().map(|check| row(check, findings)).collect()
}

/// Each mismatch in a sentence.
pub fn mismatches<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<String> {
    let wrong = rows.into_iter().filter(|row| row.verdict == Verdict::Mismatch);
    wrong.map(|row| format!("check {} ({}): {}", row.number, row.check, row.seen)).collect()
}

fn row(check: &Check, findings: &[Finding]) -> Row {
    let own: Vec<&Finding> = findings.iter().filter(|it| it.check == check.number).collect();
    let (verdict, seen) = match &check.wants {
        Wants::Nothing(why) => (Verdict::NotApplicable, (*why).to_owned()),
        Wants::Findings { exact, words, least } => {
            let wrong = faults(&own, exact, words, *least);
            match wrong.is_empty() {
                true => (Verdict::Holds, summary(&own)),
                false => (Verdict::Mismatch, named(&wrong)),
            }
        }
    };
    let seen = one_line(cut(&seen, 400).0);
    Row { number: check.number, check: check.what, expected: check.expected, seen, verdict }
}

fn faults(own: &[&Finding], exact: &[(String, Vec<String>)], words: &[&str], least: usize) -> Vec<String> {
    let known = |finding: &&&Finding| exact.iter().any(|(what, _)| *what == finding.what);
    let mut wrong = Vec::new();
    for (what, right) in exact {
        let found: Vec<_> = own.iter().filter(|finding| finding.what == *what).collect();
        if found.is_empty() {
            wrong.push(format!("{what}: was not told"));
        }
        let odd = found.into_iter().filter(|finding| !right.is_empty() && !right.contains(&finding.seen));
        wrong.extend(odd.map(|finding| format!("{what}: {} instead of {}", finding.seen, right.join(" or "))));
    }
    let rest: Vec<_> = own.iter().filter(|finding| !known(finding)).collect();
    wrong.extend(
        rest.iter()
            .filter(|finding| !words.contains(&finding.seen.as_str()))
            .map(|finding| format!("{}: {}", finding.what, finding.seen)),
    );
    if rest.len() < least {
        wrong.push(format!("only {} of {least} were tried", rest.len()));
    }
    wrong
}

fn named(wrong: &[String]) -> String {
    let mut text = wrong.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; ");
    if wrong.len() > SHOWN {
        let _ = write!(text, "; and {} more", wrong.len() - SHOWN);
    }
    text
}

/// Few findings one by one, many summed by their words.
fn summary(own: &[&Finding]) -> String {
    if own.len() <= SHOWN {
        return own.iter().map(|it| format!("{}: {}", it.what, it.seen)).collect::<Vec<_>>().join("; ");
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in own {
        *counts.entry(&finding.seen).or_default() += 1;
    }
    let word = |(seen, count): (&str, usize)| if count == 1 { seen.to_owned() } else { format!("{seen} ×{count}") };
    counts.into_iter().map(word).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::broker::ContainerLimits;

    fn expect() -> Expect {
        Expect { limits: ContainerLimits::default(), debug: false, router: None, alone: false }
    }

    fn rows(findings: &[(u8, &str, &str)]) -> Vec<Row> {
        let findings: Vec<Finding> =
            findings.iter().map(|(check, what, seen)| Finding::new(*check, *what, *seen)).collect();
        judge(&expect(), &findings)
    }

    fn of(rows: &[Row], number: u8) -> &Row {
        rows.iter().find(|row| row.number == number).unwrap()
    }

    #[test]
    fn there_are_thirty_three_in_order() {
        let numbers: Vec<u8> = rows(&[]).iter().map(|row| row.number).collect();
        assert_eq!(numbers, (1..=33).collect::<Vec<u8>>());
    }

    #[test]
    fn silence_holds_nothing() {
        let held: Vec<u8> =
            rows(&[]).iter().filter(|row| row.verdict == Verdict::Holds).map(|row| row.number).collect();
        assert_eq!(held, [] as [u8; 0]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let none = "0000000000000000";
        let all =
            [(1, "CapInh", none), (1, "CapPrm", none), (1, "CapEff", none), (1, "CapBnd", none), (1, "CapAmb", none)];
        assert_eq!(of(&rows(&all), 1).verdict, Verdict::Holds);
        let mut weak = all;
        weak[3].2 = "0000000000002000";
        let weak = rows(&weak);
        assert_eq!(of(&weak, 1).verdict, Verdict::Mismatch);
        assert!(of(&weak, 1).seen.contains("CapBnd: 0000000000002000"), "{}", of(&weak, 1).seen);
    }

    #[test]
    fn what_is_on_disk_has_any_size_and_what_is_in_memory_its_own() {
        let wrong = |place: &str, workspace_bytes: u64| {
            let limits = ContainerLimits { workspace_bytes, ..ContainerLimits::default() };
            let what = format!("bytes in {place}");
            let told = Finding::new(23, what.clone(), "270582939648");
            let checks = checks(&Expect { limits, ..expect() });
            let check = checks.iter().find(|check| check.number == 23).unwrap();
            let Wants::Findings { exact, words, least } = &check.wants else { panic!("findings are wanted") };
            faults(&[&told], exact, words, *least).iter().any(|fault| fault.starts_with(&what))
        };
        for place in ["/workspace", "/home/agent"] {
            assert!(wrong(place, 1 << 30) && !wrong(place, 0), "{place}");
        }
        assert!(wrong("/tmp", 0), "always in memory");
    }

    #[test]
    fn an_unknown_finding_and_an_untold_one_are_mismatches() {
        let odd = rows(&[(25, "variables like credentials", "none"), (25, "files with a planted secret", "/etc/x")]);
        assert_eq!(of(&odd, 25).seen, "files with a planted secret: /etc/x");
        let few = rows(&[(25, "variables like credentials", "none")]);
        assert_eq!(of(&few, 25).seen, "only 1 of 2 were tried");
    }

    #[test]
    fn a_sandboxs_words_stay_on_their_line() {
        let row = rows(&[(25, "x", "\u{1b}[2J\nfine")]);
        assert!(!of(&row, 25).seen.contains(['\n', '\u{1b}']));
    }
}
