//! Static rules over the lines of a text: regular expressions from `rules.toml`, and the patterns of credentials that `text` knows.
//!
//! Owns how a rule is read and what keeps a line from counting. It understands no language: it tells a comment only where a line begins as one, and
//! strings, generated code and what flows where not at all. Pure; the expressions take linear time. Tests: below, with each rule's own examples.

use domain::{RuleFinding, RuleSeverity};
use globset::{Glob, GlobSet, GlobSetBuilder};
use regex::{Regex, RegexSet};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;
use std::time::Instant;

use crate::redact::redacted;
use crate::text::{CREDENTIALS, cut};

const WRITTEN: &str = include_str!("rules.toml");
/// Id of the rule that is made of the patterns of credentials.
const CREDENTIAL: &str = "credential";
/// The longest line that is looked at, in bytes: longer ones are made by programs.
const LONGEST_LINE: usize = 2_000;
/// Lines that are looked at before time is looked at again.
const LINES_AT_ONCE: usize = 64;
/// Lines above one that may say why it is right.
const NEAR: usize = 4;
/// Characters kept of a line.
const SHOWN: usize = 160;
/// What stands for a value that a rule hides.
const HIDDEN: &str = "[left out]";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    language: BTreeMap<String, WrittenLanguage>,
    rule: Vec<WrittenRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLanguage {
    files: Vec<String>,
    comments: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    id: String,
    languages: Vec<String>,
    severity: RuleSeverity,
    pattern: String,
    unless: Option<String>,
    unless_near: Option<String>,
    file_has: Option<String>,
    sentence: String,
    instead: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "a test tries them"))]
    hits: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "a test tries them"))]
    misses: Vec<String>,
}

/// One rule, ready to be used.
struct Rule {
    id: String,
    severity: RuleSeverity,
    pattern: Regex,
    unless: Option<Regex>,
    unless_near: Option<Regex>,
    file_has: Option<Regex>,
    sentence: String,
    instead: String,
    /// Whether it knows where a value stands that is not shown.
    hides: bool,
}

/// A language: which files are in it, how its comments begin, and which rules hold there.
struct Language {
    files: GlobSet,
    comments: Vec<String>,
    /// The patterns of `rules`, in the same order.
    patterns: RegexSet,
    rules: Vec<usize>,
}

struct Rules {
    languages: Vec<Language>,
    rules: Vec<Rule>,
    credentials: RegexSet,
}

static RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::read(WRITTEN).expect("the rules are compiled in, and a test tries each"));

/// What a text gave.
#[derive(Debug, Default)]
pub(super) struct TextFindings {
    /// In the order of the lines.
    pub findings: Vec<RuleFinding>,
    /// Lines that were longer than is looked at.
    pub long_lines: u64,
    /// Whether time ended it before the last line.
    pub cut: bool,
}

/// For each language whether its rules hold for a file of this path.
pub(super) fn rules_of(path: &str) -> Vec<bool> {
    RULES.languages.iter().map(|it| it.files.is_match(path)).collect()
}

/// What the rules find in the text of a file with this path, until `end`. Credentials are found in every file; at most `most` findings are kept.
pub(super) fn look(path: &str, text: &str, most: usize, end: Instant) -> TextFindings {
    RULES.look(path, text, most, end)
}

impl Rules {
    fn read(text: &str) -> anyhow::Result<Self> {
        let written: Written = toml::from_str(text)?;
        let optional = |pattern: &Option<String>| pattern.as_deref().map(Regex::new).transpose();
        let mut rules = Vec::new();
        for rule in &written.rule {
            let pattern = Regex::new(&rule.pattern)?;
            rules.push(Rule {
                id: rule.id.clone(),
                severity: rule.severity,
                hides: pattern.capture_names().flatten().any(|name| name == "secret"),
                pattern,
                unless: optional(&rule.unless)?,
                unless_near: optional(&rule.unless_near)?,
                file_has: optional(&rule.file_has)?,
                sentence: rule.sentence.clone(),
                instead: rule.instead.clone(),
            });
        }
        let mut languages = Vec::new();
        for (name, language) in &written.language {
            let of: Vec<usize> = (0..rules.len()).filter(|at| written.rule[*at].languages.contains(name)).collect();
            let mut files = GlobSetBuilder::new();
            for glob in &language.files {
                files.add(Glob::new(glob)?);
            }
            languages.push(Language {
                files: files.build()?,
                comments: language.comments.clone(),
                patterns: RegexSet::new(of.iter().map(|at| &written.rule[*at].pattern))?,
                rules: of,
            });
        }
        let credentials = RegexSet::new(CREDENTIALS.iter().map(|(_, pattern)| pattern))?;
        Ok(Self { languages, rules, credentials })
    }

    fn look(&self, path: &str, text: &str, most: usize, end: Instant) -> TextFindings {
        let languages: Vec<&Language> = self.languages.iter().filter(|it| it.files.is_match(path)).collect();
        let mut found = TextFindings::default();
        let lines: Vec<&str> = text.lines().collect();
        // What the whole file must match is asked once for each rule: a file can have a line that asks for it thousands of times.
        let mut whole: HashMap<usize, bool> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            if at.is_multiple_of(LINES_AT_ONCE) && Instant::now() >= end {
                found.cut = true;
                break;
            }
            if line.len() > LONGEST_LINE {
                found.long_lines += 1;
                continue;
            }
            if found.findings.len() >= most {
                found.cut = true;
                break;
            }
            if let Some(which) = self.credentials.matches(line).iter().next() {
                found.findings.push(credential(path, at, self.shown(line), CREDENTIALS[which].0));
            }
            for language in &languages {
                let comment = language.comments.iter().any(|mark| line.trim_start().starts_with(mark.as_str()));
                let met = language.patterns.matches(line).into_iter().filter(|_| !comment);
                for number_of_rule in met.map(|which| language.rules[which]) {
                    let rule = &self.rules[number_of_rule];
                    if !rule.counts(&lines, at) || !*whole.entry(number_of_rule).or_insert_with(|| rule.is_of(text)) {
                        continue;
                    }
                    // A rule of two languages that a file is in counts once.
                    if !found.findings.iter().rev().take_while(|it| it.line == number(at)).any(|it| it.rule == rule.id)
                    {
                        found.findings.push(rule.finding(path, at, self.shown(line)));
                    }
                }
            }
        }
        found
    }

    /// A line as it may be stored, whichever rule found it: without credentials and without what a rule hides, before it is cut.
    fn shown(&self, line: &str) -> String {
        let mut text = line.trim().to_owned();
        for rule in self.rules.iter().filter(|rule| rule.hides) {
            let found = rule.pattern.captures_iter(&text).filter_map(|found| Some(found.name("secret")?.range()));
            let secrets: Vec<_> = found.collect();
            for range in secrets.into_iter().rev() {
                text.replace_range(range, HIDDEN);
            }
        }
        cut(redacted(&text).0.as_ref(), SHOWN).0.to_owned()
    }
}

impl Rule {
    /// Whether the file has what it must have.
    fn is_of(&self, text: &str) -> bool {
        self.file_has.as_ref().is_none_or(|has| has.is_match(text))
    }

    /// Whether a line that its pattern matches counts, in a file that has what it must have.
    fn counts(&self, lines: &[&str], at: usize) -> bool {
        let near = &lines[at.saturating_sub(NEAR)..=at];
        !self.unless.as_ref().is_some_and(|unless| unless.is_match(lines[at]))
            && !self.unless_near.as_ref().is_some_and(|unless| near.iter().any(|line| unless.is_match(line)))
    }

    fn finding(&self, path: &str, at: usize, text: String) -> RuleFinding {
        RuleFinding {
            rule: self.id.clone(),
            severity: self.severity,
            path: path.to_owned(),
            line: number(at),
            sentence: self.sentence.clone(),
            instead: self.instead.clone(),
            text,
        }
    }
}

fn credential(path: &str, at: usize, text: String, what: &str) -> RuleFinding {
    RuleFinding {
        rule: CREDENTIAL.to_owned(),
        severity: RuleSeverity::High,
        path: path.to_owned(),
        line: number(at),
        sentence: format!("Here stands what looks like {what}; everybody who may read the code reads it."),
        instead: "Revoke it first, for it stays in the history; then read it from the environment or a file outside of the repository."
            .to_owned(),
        text,
    }
}

fn number(at: usize) -> u64 {
    at as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn look(path: &str, text: &str, most: usize) -> TextFindings {
        super::look(path, text, most, Instant::now() + Duration::from_secs(600))
    }

    /// A path in the language of this name.
    fn sample(language: &str) -> &'static str {
        match language {
            "python" => "src/a.py",
            "javascript" => "src/a.ts",
            "rust" => "src/a.rs",
            "go" => "a.go",
            "java" => "src/A.java",
            "c" => "src/a.c",
            "shell" => "bin/a.sh",
            "workflow" => ".github/workflows/a.yml",
            other => panic!("no sample of {other}"),
        }
    }

    fn ids(path: &str, text: &str) -> Vec<(String, u64)> {
        look(path, text, 100).findings.into_iter().map(|it| (it.rule, it.line)).collect()
    }

    #[test]
    fn each_rule_matches_what_it_should_and_not_what_it_should_not() {
        let written: Written = toml::from_str(WRITTEN).unwrap();
        assert!(written.rule.len() >= 30 && written.rule.len() == RULES.rules.len(), "{}", written.rule.len());
        for rule in &written.rule {
            assert!(!rule.hits.is_empty() && !rule.misses.is_empty(), "{} has no examples", rule.id);
            assert!(rule.languages.iter().all(|it| written.language.contains_key(it)), "{}", rule.id);
            assert!(rule.sentence.ends_with('.') && rule.instead.ends_with('.'), "{}", rule.id);
            for language in &rule.languages {
                let path = sample(language);
                let found = |text: &str| ids(path, text).into_iter().any(|(id, _)| id == rule.id);
                assert!(rule.hits.iter().all(|text| found(text)), "{} in {language}: {:?}", rule.id, rule.hits);
            }
            // How a comment begins is another question in each language.
            let found = |text: &str| ids(sample(&rule.languages[0]), text).into_iter().any(|(id, _)| id == rule.id);
            assert!(!rule.misses.iter().any(|text| found(text)), "{}: {:?}", rule.id, rule.misses);
            let twice = written.rule.iter().filter(|other| other.id == rule.id).count();
            assert_eq!(twice, 1, "{} stands there twice", rule.id);
        }
    }

    #[test]
    fn every_language_has_rules_and_its_files_are_told_by_their_names() {
        let written: Written = toml::from_str(WRITTEN).unwrap();
        for name in written.language.keys() {
            let of = written.rule.iter().filter(|rule| rule.languages.contains(name)).count();
            assert!(of >= 2, "{name} has {of} rules");
        }
        assert_eq!(ids("a.py", "x = 1\neval(text)\n"), [("python-eval".to_owned(), 2)]);
        assert_eq!(ids("a.txt", "eval(text)\n"), []);
        assert_eq!(ids("other/workflows/a.yml", "      - run: echo ${{ github.event.issue.title }}\n"), []);
    }

    #[test]
    fn a_credential_is_found_in_every_file_and_never_shown() {
        let token = format!("gh{}_{}", "p", "a1B2".repeat(10));
        let found = look("notes.txt", &format!("one\ntoken {token}\n"), 100).findings;
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!((one.rule.as_str(), one.severity, one.line), ("credential", RuleSeverity::High, 2));
        assert_eq!(one.text, "token [left out by caisson: a GitHub token]");
        assert!(one.sentence.contains("a GitHub token"), "{}", one.sentence);
        // Also where another rule finds something on the same line, and where a rule knows where the value stands.
        let both = look("a.py", &format!("eval(\"{token}\" + x)\n"), 100).findings;
        assert!(both.len() == 2 && both.iter().all(|it| !it.text.contains(&token)), "{both:?}");
        let hidden = look("a.py", "PASSWORD = \"hunter2hunter2\"\n", 100).findings;
        assert_eq!(hidden[0].text, "PASSWORD = \"[left out]\"");
        // Whatever the rule was that found the line.
        let run = look("a.py", "app.run(debug=True, password=\"hunter2hunter2\")\n", 100).findings;
        assert!(run.len() == 2 && run.iter().all(|it| !it.text.contains("hunter2")), "{run:?}");
    }

    #[test]
    fn many_lines_that_ask_for_the_whole_file_take_no_time_for_each() {
        // Every line matches and none counts, for the file never has the rest: asked for each line, it would take minutes.
        let text = "\"text/template\"\n".repeat(32_000);
        let began = Instant::now();
        assert_eq!(ids("a.go", &text), []);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }

    #[test]
    fn time_is_looked_at_within_a_file() {
        let found = super::look("a.py", "eval(y)\n", 10, Instant::now());
        assert!(found.cut && found.findings.is_empty(), "{found:?}");
        assert!(!look("a.py", "eval(y)\n", 10).cut);
    }

    #[test]
    fn long_lines_are_counted_and_findings_have_a_limit() {
        let found = look("a.py", &format!("x = '{}' + eval(y)\neval(y)\n", "a".repeat(3_000)), 100);
        assert_eq!((found.findings.len(), found.long_lines), (1, 1));
        assert_eq!(look("a.py", &"eval(y)\n".repeat(50), 10).findings.len(), 10);
        let wide = format!("eval(y) # {}", "é".repeat(500));
        assert!(look("a.py", &wide, 10).findings[0].text.chars().count() <= SHOWN);
    }
}
