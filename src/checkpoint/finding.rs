//! The findings of a review that an agent wrote: each with its severity and place, read out of its answer as it wrote it.
//!
//! Owns how a finding is told from other words. Whether its place is there, and whether what it says is true, is no matter here. The order of
//! severity and place, and how they are marked, is the model's: `- [blocker] src/a.rs:12 — words`, `**Warning** (src/a.rs:3-5): words`, a heading
//! "Notes" over a list. What is none stays in the summary. Tests: below.

use super::places::{names_file, place};

/// Findings that are read; further ones stay in the summary.
const MOST: usize = 100;
/// Words at the beginning of a line among which severity and place stand.
const HEAD: usize = 5;
/// What stands around a word.
const MARKS: [char; 15] = ['*', '_', '`', '[', ']', '(', ')', '<', '>', '|', '"', '\'', ',', ';', ':'];
/// What stands between the place and the words.
const BETWEEN: [char; 7] = [' ', '\t', ':', '|', '-', '–', '—'];

/// How serious a finding is, according to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The change must not be merged so.
    Blocker,
    /// A likely fault or a risk.
    Warning,
    /// Small, or a question.
    Note,
}

impl Severity {
    /// The word that a review shows.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Blocker => "blocker",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }

    /// The sign before the word.
    pub fn sign(self) -> &'static str {
        match self {
            Severity::Blocker => "🛑",
            Severity::Warning => "⚠️",
            Severity::Note => "💬",
        }
    }

    fn read(word: &str) -> Option<Severity> {
        let word = word.trim_matches(MARKS).trim_end_matches(['.', '!']).to_lowercase();
        match word.as_str() {
            "blocker" | "blockers" | "blocking" | "critical" | "error" | "errors" => Some(Severity::Blocker),
            "warning" | "warnings" | "warn" | "major" => Some(Severity::Warning),
            "note" | "notes" | "nit" | "nits" | "nitpick" | "info" | "minor" | "suggestion" | "suggestions" => {
                Some(Severity::Note)
            }
            _ => None,
        }
    }
}

/// One finding. All but the severity is the agent's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How serious it is; a note where nothing says it.
    pub severity: Severity,
    /// The path as it is written.
    pub path: String,
    /// The first line, from 1 on.
    pub first: u64,
    /// The last line.
    pub last: u64,
    /// What is found.
    pub words: String,
}

/// A review as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// In the agent's order.
    pub all: Vec<Finding>,
    /// What is no finding.
    pub summary: String,
}

impl Findings {
    /// An answer in which none are looked for.
    pub fn none(answer: &str) -> Self {
        Self { all: Vec::new(), summary: answer.to_owned() }
    }
}

/// Reads an agent's review.
pub fn findings(answer: &str) -> Findings {
    let mut reader = read(answer, true);
    if reader.fence.is_some() {
        // One that is never closed hides nothing.
        reader = read(answer, false);
    }
    reader.close();
    let kept: Vec<&str> = reader.rest.iter().map(String::as_str).collect();
    Findings { all: reader.all, summary: kept.join("\n").trim().to_owned() }
}

fn read(answer: &str, fences: bool) -> Reader {
    let mut reader = Reader { plain: !fences, ..Reader::default() };
    for line in answer.lines() {
        reader.take(line);
    }
    reader
}

#[derive(Default)]
struct Reader {
    /// Whether blocks of code are read as other text.
    plain: bool,
    all: Vec<Finding>,
    rest: Vec<String>,
    open: Option<Finding>,
    /// Of the heading above.
    severity: Option<Severity>,
    /// The sign and length that ends the block of code that this is in, which holds no finding.
    fence: Option<(char, usize)>,
    /// A line without words came since the finding's last one.
    blank: bool,
}

impl Reader {
    fn take(&mut self, line: &str) {
        let text = line.trim();
        if let Some((sign, length)) = self.fence {
            // As CommonMark has it: the same sign, at least as often, and nothing behind.
            if fence(text).is_some_and(|(other, found, info)| other == sign && found >= length && info.is_empty()) {
                self.fence = None;
            }
            return self.keep(line);
        }
        let begins = fence(text).filter(|_| !self.plain);
        if let Some((sign, length, _)) = begins.filter(|(sign, _, info)| *sign != '`' || !info.contains('`')) {
            self.fence = Some((sign, length));
            return self.keep(line);
        }
        let set_in = line.starts_with("  ") || line.starts_with('\t');
        let within = self.open.is_some() && !self.blank;
        if let Some(severity) = group(text, within).filter(|_| !set_in) {
            self.close();
            self.severity = Some(severity);
            return;
        }
        let heading = text.starts_with('#');
        if heading {
            self.severity = None;
        }
        if let Some(found) = self.begins(line).filter(|_| self.all.len() < MOST) {
            self.close();
            self.open = Some(found);
            return;
        }
        // A finding goes on until an empty line, behind it while lines are set in; another item of a list or a heading ends it.
        if !text.is_empty() && !set_in && (self.blank || heading || item(text).is_some()) {
            self.close();
        }
        self.blank = text.is_empty();
        self.keep(line);
    }

    fn keep(&mut self, line: &str) {
        match &mut self.open {
            Some(finding) => {
                finding.words.push('\n');
                finding.words.push_str(line.strip_prefix("  ").unwrap_or(line));
            }
            None => self.rest.push(line.to_owned()),
        }
    }

    fn close(&mut self) {
        self.blank = false;
        if let Some(mut finding) = self.open.take() {
            finding.words = finding.words.trim().to_owned();
            self.all.push(finding);
        }
    }

    /// A line that begins a finding: its place stands among the first words, and it has a severity or is an item of a list.
    fn begins(&self, line: &str) -> Option<Finding> {
        let text = line.trim();
        let listed = item(text);
        let mut rest = listed.unwrap_or(text);
        let (mut severity, mut found) = (None, None);
        for _ in 0..HEAD {
            let word = rest.split_whitespace().next()?;
            // Of a link its text.
            let shown = word.split("](").next().unwrap_or(word);
            let bare = shown.trim_matches(MARKS).trim_end_matches('.');
            let after = &rest[rest.find(word)? + word.len()..];
            let is_place = place(bare).filter(|place| found.is_none() && !place.path.is_empty());
            match (Severity::read(word), is_place) {
                (Some(read), _) if severity.is_none() => severity = Some(read),
                (_, Some(place)) => found = Some(place),
                // Signs and dashes between them.
                (None, None) if !word.chars().any(char::is_alphanumeric) => {}
                _ => break,
            }
            rest = after;
            if rest.trim().is_empty() {
                break;
            }
        }
        let found = found.filter(|place| severity.is_some() || (listed.is_some() && names_file(place.path)))?;
        Some(Finding {
            severity: severity.or(self.severity).unwrap_or(Severity::Note),
            path: found.path.trim_start_matches(MARKS).to_owned(),
            first: found.first,
            last: found.last,
            words: rest.trim_start_matches(BETWEEN).trim_end_matches(['|', ' ']).to_owned(),
        })
    }
}

/// The text behind the sign of a list's item.
fn item(text: &str) -> Option<&str> {
    if let Some(rest) = ["- ", "* ", "+ ", "• ", "|"].into_iter().find_map(|sign| text.strip_prefix(sign)) {
        return Some(rest.trim_start());
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.get(digits..).filter(|_| (1..=3).contains(&digits))?;
    rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")).map(str::trim_start)
}

/// Sign, length and what stands behind a line that may begin or end a block of code.
fn fence(text: &str) -> Option<(char, usize, &str)> {
    let sign = text.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == sign).count();
    (length >= 3).then(|| (sign, length, text[length..].trim()))
}

/// A heading that is a severity and no more. `within` a finding's words only one that is marked as a heading.
fn group(text: &str, within: bool) -> Option<Severity> {
    let marked = text.starts_with('#') || (!within && (text.starts_with("**") || text.ends_with(':')));
    let word = text.trim_start_matches('#').trim();
    let one = !word.is_empty() && !word.contains(char::is_whitespace);
    if marked && one && place(word).is_none() { Severity::read(word) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<(Severity, String, u64, u64, String)> {
        findings(text).all.into_iter().map(|it| (it.severity, it.path, it.first, it.last, it.words)).collect()
    }

    #[test]
    fn a_finding_is_read_however_a_model_marks_it() {
        for (line, severity, lines) in [
            ("- [blocker] src/a.rs:12 — it panics", Severity::Blocker, (12, 12)),
            ("**Warning** (`src/a.rs:3-5`): it panics", Severity::Warning, (3, 5)),
            ("1. `src/a.rs:7` [note] it panics", Severity::Note, (7, 7)),
            ("- 🛑 **blocker** — **src/a.rs:L9**: it panics", Severity::Blocker, (9, 9)),
            ("* Nit: src/a.rs:2:8 it panics", Severity::Note, (2, 2)),
            ("| critical | src/a.rs:4 | it panics |", Severity::Blocker, (4, 4)),
            ("- src/a.rs:4: it panics", Severity::Note, (4, 4)),
            ("- [note] `src/a.rs:4` — it panics", Severity::Note, (4, 4)),
            ("**[warning] src/a.rs:6** it panics", Severity::Warning, (6, 6)),
            ("- [blocker] [src/a.rs:12](src/a.rs#L12) — it panics", Severity::Blocker, (12, 12)),
            ("- [`src/a.rs:3-5`](https://h.example/src/a.rs#L3-L5): it panics", Severity::Note, (3, 5)),
        ] {
            let wanted = (severity, "src/a.rs".to_owned(), lines.0, lines.1, "it panics".to_owned());
            assert_eq!(read(line), [wanted], "{line}");
        }
        assert_eq!(read("- blocker Makefile:3 no tab")[0].1, "Makefile");
        assert_eq!(read("- note a.py:3 — `b` is *never* used")[0].4, "`b` is *never* used", "words keep their marks");
    }

    #[test]
    fn a_heading_says_the_severity_of_what_stands_under_it_and_other_words_are_the_summary() {
        let text = "It compares numbers now.\n\n## Blockers\n- a.py:1: one\n  more of it\n\n  ```\n  - [note] z.py:1 no finding\n  ```\n- a.py:2: two\n\n### Summary\n- a.py:3: three\nSee a.py:4, it is fine.\nBlocker or not, note: 10:30 is a time.\n";
        let found = findings(text);
        let seen: Vec<_> = found.all.iter().map(|it| (it.severity, it.first, it.words.as_str())).collect();
        let one = "one\nmore of it\n\n```\n- [note] z.py:1 no finding\n```";
        let three = "three\nSee a.py:4, it is fine.\nBlocker or not, note: 10:30 is a time.";
        assert_eq!(seen, [(Severity::Blocker, 1, one), (Severity::Blocker, 2, "two"), (Severity::Note, 3, three)]);
        assert_eq!(found.summary, "It compares numbers now.\n\n### Summary");
        let after = "\n- [blocker] b.py:2 — two";
        for block in ["````\n```\n- [note] z.py:1 x\n```\n````", "```\n~~~\n```", "```x``` is wrong", "````\n```"] {
            let text = format!("- [note] a.py:1 — one\n\n{block}{after}");
            assert_eq!(read(&text).last().map(|it| (it.0, it.2)), Some((Severity::Blocker, 2)), "{block}");
        }
        let words = read("- [note] a.py:3 — it prints\n  error:\n  instead\n- a.py:4: four");
        assert_eq!((words[0].4.as_str(), words[1].0), ("it prints\nerror:\ninstead", Severity::Note));
        assert_eq!(read("Nothing is wrong with src/a.rs:12 or b.py:3."), []);
        assert_eq!(findings("").all, []);
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read_and_nothing_is_lost(text in "(- |\\[blocker\\] |a\\.rs:[0-9]{1,3} |[a-z`*#|: \u{202e}é🛑]|\n){0,60}") {
            let found = findings(&text);
            let letters = |text: &str| text.chars().filter(|c| *c == 'é').count();
            let of = |it: &Finding| letters(&it.words) + letters(&it.path);
            let all = found.all.iter().map(of).sum::<usize>() + letters(&found.summary);
            prop_assert_eq!(all, letters(&text), "{:?}", found);
            prop_assert!(found.all.iter().all(|it| !it.path.is_empty()));
        }
    }
}
