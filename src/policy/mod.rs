//! Rules about single actions: which need a person's permission, and which are refused.
//!
//! Owns the form of rules, their examples, and the judgement: deny before ask, ask before allow, and what cannot be judged is denied. Rules
//! only restrict: no rule of the operator or a repository allows anything new. Rules about commands match their text, so they prevent
//! accidents; the sandbox is the actual boundary. Must not know tasks or read files. Tests: below, `tests/stories/permission.rs`.

use domain::{Action, ActionKind};
use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

/// The most rules of one file.
const MOST_RULES: usize = 50;
/// The most bytes of a pattern, and of its compiled form.
const MOST_PATTERN: usize = 1000;
const MOST_PROGRAM: usize = 256 << 10;
/// The most characters of a name and of a reason.
const MOST_NAME: usize = 60;
const MOST_REASON: usize = 200;

/// One `[[policy]]` as written in a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// A short name, shown with the reason.
    pub name: String,
    /// `ask` or `deny`.
    pub then: Then,
    /// Reason in one line, for the person who is asked and the agent that is refused.
    pub because: String,
    /// A regular expression that matches anywhere in a command's text.
    #[serde(default)]
    pub command: Option<String>,
    /// A pattern of paths relative to the root (`migrations/**`), for actions that change files by name.
    #[serde(default)]
    pub path: Option<String>,
    /// Whether it is about every command and change after a web page was read in this task, because the page may be behind it.
    #[serde(default)]
    pub after_web: bool,
    /// Example commands or paths that the rule must match.
    #[serde(default)]
    pub hits: Vec<String>,
    /// Example commands or paths that the rule must not match.
    #[serde(default)]
    pub misses: Vec<String>,
}

/// What happens to a matching action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Then {
    /// It waits for a person's permission.
    Ask,
    /// It is refused.
    Deny,
}

/// Judgement of one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// No rule matches.
    Allow,
    /// A person has to permit it; rule and reason.
    Ask(String),
    /// It is denied; rule and reason.
    Deny(String),
}

/// Validated rules.
#[derive(Debug, Clone, Default)]
pub struct Rules(Vec<Rule>);

#[derive(Debug, Clone)]
struct Rule {
    then: Then,
    sentence: String,
    about: About,
}

#[derive(Debug, Clone)]
enum About {
    Command(Regex),
    Path(Box<GlobMatcher>),
    AfterWeb,
}

impl Rules {
    /// Validates rules, including their examples.
    ///
    /// # Errors
    /// Index of the first wrong rule, the wrong key, and what to write instead.
    pub fn read(written: &[Written]) -> Result<Self, (usize, &'static str, String)> {
        if written.len() > MOST_RULES {
            return Err((
                MOST_RULES,
                "name",
                format!("there are more than {MOST_RULES} rules; write fewer, wider ones"),
            ));
        }
        let rules = written.iter().enumerate().map(|(at, rule)| rule.read().map_err(|(key, why)| (at, key, why)));
        rules.collect::<Result<_, _>>().map(Self)
    }

    /// Appends the rules of another file.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// Judges an action. `after_web`: a web page was read in this task before.
    pub fn judge(&self, action: &Action, after_web: bool) -> Ruling {
        let about = |then: Then| self.0.iter().find(|rule| rule.then == then && rule.is_about(action, after_web));
        match (about(Then::Deny), about(Then::Ask)) {
            (Some(rule), _) => Ruling::Deny(rule.sentence.clone()),
            (None, Some(rule)) => Ruling::Ask(rule.sentence.clone()),
            (None, None) => Ruling::Allow,
        }
    }
}

impl Written {
    fn read(&self) -> Result<Rule, (&'static str, String)> {
        let line = |text: &str, most: usize| {
            !text.trim().is_empty() && text.chars().count() <= most && !text.contains(char::is_control)
        };
        if !line(&self.name, MOST_NAME) {
            return Err(("name", format!("name the rule in one line of up to {MOST_NAME} characters")));
        }
        if !line(&self.because, MOST_REASON) {
            return Err(("because", format!("say in one line of up to {MOST_REASON} characters why the rule stands")));
        }
        let about = self.about()?;
        let rule = Rule { then: self.then, sentence: format!("{} ({})", self.because.trim(), self.name.trim()), about };
        rule.tried(&self.hits, &self.misses)?;
        Ok(rule)
    }

    fn about(&self) -> Result<About, (&'static str, String)> {
        match (&self.command, &self.path, self.after_web) {
            (Some(pattern), None, false) => {
                let wrong = |why: String| ("command", format!("{pattern:?} is no pattern of commands: {why}"));
                if pattern.trim().is_empty() || pattern.len() > MOST_PATTERN {
                    return Err(wrong(format!("it has 1 to {MOST_PATTERN} bytes")));
                }
                let built = RegexBuilder::new(pattern).size_limit(MOST_PROGRAM).build();
                built
                    .map(About::Command)
                    .map_err(|e| wrong(e.to_string().lines().last().unwrap_or_default().to_owned()))
            }
            (None, Some(pattern), false) => {
                let wrong = |why: String| ("path", format!("{pattern:?} is no pattern of paths: {why}"));
                if pattern.trim().is_empty() || pattern.len() > MOST_PATTERN || pattern.starts_with('/') {
                    return Err(wrong(format!("it has 1 to {MOST_PATTERN} bytes and is relative to the root")));
                }
                let built = GlobBuilder::new(pattern).literal_separator(true).build();
                built.map(|glob| About::Path(Box::new(glob.compile_matcher()))).map_err(|e| wrong(e.kind().to_string()))
            }
            (None, None, true) => Ok(About::AfterWeb),
            _ => Err(("command", "a rule is about exactly one of `command`, `path` and `after_web = true`".to_owned())),
        }
    }
}

impl Rule {
    /// Checks the rule's examples.
    fn tried(&self, hits: &[String], misses: &[String]) -> Result<(), (&'static str, String)> {
        if matches!(self.about, About::AfterWeb) {
            return match hits.is_empty() && misses.is_empty() {
                true => Ok(()),
                false => Err(("hits", "a rule about what comes after a page has no examples".to_owned())),
            };
        }
        if hits.is_empty() {
            return Err((
                "hits",
                "give at least one example that the rule is about; it is tried when the file is read".to_owned(),
            ));
        }
        if let Some(missed) = hits.iter().find(|example| !self.holds(example)) {
            return Err(("hits", format!("the rule is not about its own example {missed:?}")));
        }
        match misses.iter().find(|example| self.holds(example)) {
            Some(hit) => Err(("misses", format!("the rule is about {hit:?}, which it should not be"))),
            None => Ok(()),
        }
    }

    fn holds(&self, text: &str) -> bool {
        match &self.about {
            About::Command(pattern) => pattern.is_match(text),
            // A path outside of the workspace is refused rather than let through.
            About::Path(pattern) => plain(text).is_none_or(|path| covers(pattern, &path)),
            About::AfterWeb => false,
        }
    }

    fn is_about(&self, action: &Action, after_web: bool) -> bool {
        match &self.about {
            About::AfterWeb => after_web && action.what().writes() && action.what() != ActionKind::Try,
            About::Command(_) => action.command().is_some_and(|command| self.holds(command)),
            About::Path(_) => action.changed().into_iter().any(|path| self.holds(path)),
        }
    }
}

/// Whether a pattern matches a path, or a directory whose content it matches by a trailing `/**`.
fn covers(pattern: &GlobMatcher, path: &str) -> bool {
    pattern.is_match(path) || pattern.is_match(format!("{path}/\u{1}"))
}

/// The path in the form of a tree; none for one outside of the workspace.
pub fn plain(path: &str) -> Option<String> {
    let path = path.strip_prefix("/workspace/").unwrap_or(path);
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    (!path.starts_with('/') && !parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Vec<Written> {
        #[derive(Deserialize)]
        struct File {
            policy: Vec<Written>,
        }
        toml::from_str::<File>(text).unwrap().policy
    }

    fn rules(text: &str) -> Rules {
        Rules::read(&written(text)).unwrap()
    }

    const THREE: &str = r#"
[[policy]]
name = "migrations"
then = "ask"
because = "a migration runs on people's data"
path = "migrations/**"
hits = ["migrations/3.sql"]
misses = ["src/migrations.rs"]
[[policy]]
name = "publishing"
then = "deny"
because = "nothing is published from here"
command = '\b(cargo|npm) publish\b'
hits = ["cd a && cargo publish"]
misses = ["cargo publisher"]
[[policy]]
name = "npm"
then = "ask"
because = "npm runs scripts of strangers"
command = '\bnpm\b'
hits = ["npm i"]
"#;

    fn bash(command: &str) -> Action {
        Action::Bash { command: command.into() }
    }

    #[test]
    fn a_denial_goes_before_a_question_and_a_question_before_nothing() {
        let rules = rules(THREE);
        assert_eq!(rules.judge(&bash("ls"), true), Ruling::Allow);
        assert_eq!(rules.judge(&bash("npm i"), false), Ruling::Ask("npm runs scripts of strangers (npm)".into()));
        let denied = Ruling::Deny("nothing is published from here (publishing)".into());
        assert_eq!(rules.judge(&bash("npm publish"), false), denied);
        assert_eq!(rules.judge(&Action::Background { command: "cargo publish".into() }, false), denied);
    }

    #[test]
    fn a_path_is_known_however_it_is_spelled() {
        let rules = rules(THREE);
        let delete = |path: &str| Action::DeleteFile { path: path.into(), recursive: true };
        for path in
            ["migrations/3.sql", "./src/../migrations//3.sql", "/workspace/migrations/a/b", "migrations", "../x", ""]
        {
            assert!(matches!(rules.judge(&delete(path), false), Ruling::Ask(_)), "{path}");
        }
        assert_eq!(rules.judge(&delete("src/migrations.rs"), false), Ruling::Allow);
        let moved = Action::MoveFile { from: "a.sql".into(), to: "migrations/a.sql".into() };
        assert!(matches!(rules.judge(&moved, false), Ruling::Ask(_)));
        let read = Action::ReadFile { path: "migrations/3.sql".into(), from: 1, lines: 0 };
        assert_eq!(rules.judge(&read, false), Ruling::Allow, "reading changes nothing");
    }

    #[test]
    fn after_a_page_was_read_whatever_writes_is_asked_about() {
        let text =
            "[[policy]]\nname = \"web\"\nthen = \"ask\"\nbecause = \"a page may be behind it\"\nafter_web = true\n";
        let rules = rules(text);
        assert_eq!(rules.judge(&bash("ls"), false), Ruling::Allow);
        assert!(matches!(rules.judge(&bash("ls"), true), Ruling::Ask(_)));
        let read = Action::ReadFile { path: "a".into(), from: 1, lines: 0 };
        assert_eq!(rules.judge(&read, true), Ruling::Allow);
    }

    #[test]
    fn a_question_of_a_repository_softens_no_refusal_of_the_operators() {
        let operators = "[[policy]]\nname = \"web\"\nthen = \"deny\"\nbecause = \"a page\"\nafter_web = true\n";
        let own = "[[policy]]\nname = \"all\"\nthen = \"ask\"\nbecause = \"b\"\ncommand = \".\"\nhits = [\"x\"]\n";
        let both = rules(operators).and(rules(own));
        assert!(matches!(both.judge(&bash("ls"), false), Ruling::Ask(_)));
        assert!(matches!(both.judge(&bash("ls"), true), Ruling::Deny(_)));
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_named_with_its_key() {
        let base = "[[policy]]\nname = \"a\"\nthen = \"ask\"\nbecause = \"b\"\n";
        for (more, key, words) in [
            ("", "command", "exactly one of"),
            ("command = \"a\"\npath = \"b\"\nhits = [\"a\"]\n", "command", "exactly one of"),
            ("command = \"(\"\nhits = [\"a\"]\n", "command", "no pattern of commands"),
            ("command = \"a\"\n", "hits", "at least one example"),
            ("command = \"a\"\nhits = [\"b\"]\n", "hits", "not about its own example"),
            ("command = \"a\"\nhits = [\"a\"]\nmisses = [\"ba\"]\n", "misses", "which it should not be"),
            ("path = \"/a\"\nhits = [\"a\"]\n", "path", "relative to the root"),
            ("path = \"a{\"\nhits = [\"a\"]\n", "path", "no pattern of paths"),
            ("after_web = true\nhits = [\"a\"]\n", "hits", "has no examples"),
        ] {
            let (at, found, why) = Rules::read(&written(&format!("{base}{more}"))).unwrap_err();
            assert!(at == 0 && found == key && why.contains(words), "{more}: {found}: {why}");
        }
        assert!(toml::from_str::<toml::Table>(base).is_ok());
        let allow = base.replace("\"ask\"", "\"allow\"");
        assert!(toml::from_str::<Written>(allow.trim_start_matches("[[policy]]\n")).is_err(), "a rule allows nothing");
    }
}
