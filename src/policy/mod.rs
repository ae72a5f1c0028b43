//! Rules about single actions: which need a person's permission, and which are refused.
//!
//! Owns the form of rules, their examples, and the judgement: deny before ask, ask before allow, and what cannot be judged is denied. Rules
//! only restrict: no rule of the operator or a repository allows anything new. Rules about commands match their text, so they prevent
//! accidents; the sandbox is the actual boundary. Must not know tasks or read files. Tests: below, `tests/stories/permission.rs`.

pub mod folders;

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
    /// Short for `after = ["web"]`.
    #[serde(default)]
    pub after_web: bool,
    /// Holds only once text of one of these origins is in the task's conversation, because it may be behind the action. Without `command` and
    /// `path` the rule is then about every command and change.
    #[serde(default)]
    pub after: Vec<Origin>,
    /// Example commands or paths that the rule must match.
    #[serde(default)]
    pub hits: Vec<String>,
    /// Example commands or paths that the rule must not match.
    #[serde(default)]
    pub misses: Vec<String>,
}

/// Where a text comes from that nobody with write access stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A page that `web_fetch` read.
    Web,
    /// An issue whose author is not the person with write access who asked for the work.
    Stranger,
}

/// Which origins are in a task's conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// A page was read.
    pub web: bool,
    /// The issue is a stranger's.
    pub stranger: bool,
}

impl Seen {
    /// Every origin.
    pub const ALL: Seen = Seen { web: true, stranger: true };

    fn has(self, origin: Origin) -> bool {
        match origin {
            Origin::Web => self.web,
            Origin::Stranger => self.stranger,
        }
    }
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
    /// The origins of which one has to be in the conversation; empty where none has to.
    after: Vec<Origin>,
}

#[derive(Debug, Clone)]
enum About {
    Command(Regex),
    Path(Box<GlobMatcher>),
    Writes,
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

    /// Judges an action in a task whose conversation has texts of the origins in `seen`.
    pub fn judge(&self, action: &Action, seen: Seen) -> Ruling {
        let about = |then: Then| self.0.iter().find(|rule| rule.then == then && rule.is_about(action, seen));
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
        let mut after = self.after.clone();
        if self.after_web {
            after.push(Origin::Web);
        }
        let sentence = format!("{} ({})", self.because.trim(), self.name.trim());
        let rule = Rule { then: self.then, sentence, about, after };
        rule.tried(&self.hits, &self.misses)?;
        Ok(rule)
    }

    fn about(&self) -> Result<About, (&'static str, String)> {
        match (&self.command, &self.path) {
            (Some(pattern), None) => {
                let wrong = |why: String| ("command", format!("{pattern:?} is no pattern of commands: {why}"));
                if pattern.trim().is_empty() || pattern.len() > MOST_PATTERN {
                    return Err(wrong(format!("it has 1 to {MOST_PATTERN} bytes")));
                }
                let built = RegexBuilder::new(pattern).size_limit(MOST_PROGRAM).build();
                built
                    .map(About::Command)
                    .map_err(|e| wrong(e.to_string().lines().last().unwrap_or_default().to_owned()))
            }
            (None, Some(pattern)) => {
                let wrong = |why: String| ("path", format!("{pattern:?} is no pattern of paths: {why}"));
                if pattern.trim().is_empty() || pattern.len() > MOST_PATTERN || pattern.starts_with('/') {
                    return Err(wrong(format!("it has 1 to {MOST_PATTERN} bytes and is relative to the root")));
                }
                let built = GlobBuilder::new(pattern).literal_separator(true).build();
                built.map(|glob| About::Path(Box::new(glob.compile_matcher()))).map_err(|e| wrong(e.kind().to_string()))
            }
            (None, None) if self.after_web || !self.after.is_empty() => Ok(About::Writes),
            (None, None) => Err(("command", "say what the rule is about: `command`, `path` or `after`".to_owned())),
            (Some(_), Some(_)) => Err(("command", "a rule is about one of `command` and `path`; write two".to_owned())),
        }
    }
}

impl Rule {
    /// Checks the rule's examples.
    fn tried(&self, hits: &[String], misses: &[String]) -> Result<(), (&'static str, String)> {
        if matches!(self.about, About::Writes) {
            return match hits.is_empty() && misses.is_empty() {
                true => Ok(()),
                false => Err(("hits", "a rule about every command and change has no examples".to_owned())),
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
            About::Writes => false,
        }
    }

    fn is_about(&self, action: &Action, seen: Seen) -> bool {
        if !self.after.is_empty() && !self.after.iter().any(|origin| seen.has(*origin)) {
            return false;
        }
        match &self.about {
            About::Writes => action.what().writes() && action.what() != ActionKind::Try,
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

    const WEB: Seen = Seen { web: true, stranger: false };

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
        assert_eq!(rules.judge(&bash("ls"), WEB), Ruling::Allow);
        assert_eq!(
            rules.judge(&bash("npm i"), Seen::default()),
            Ruling::Ask("npm runs scripts of strangers (npm)".into())
        );
        let denied = Ruling::Deny("nothing is published from here (publishing)".into());
        assert_eq!(rules.judge(&bash("npm publish"), Seen::default()), denied);
        assert_eq!(rules.judge(&Action::Background { command: "cargo publish".into() }, Seen::default()), denied);
    }

    #[test]
    fn a_path_is_known_however_it_is_spelled() {
        let rules = rules(THREE);
        let delete = |path: &str| Action::DeleteFile { path: path.into(), recursive: true };
        for path in
            ["migrations/3.sql", "./src/../migrations//3.sql", "/workspace/migrations/a/b", "migrations", "../x", ""]
        {
            assert!(matches!(rules.judge(&delete(path), Seen::default()), Ruling::Ask(_)), "{path}");
        }
        assert_eq!(rules.judge(&delete("src/migrations.rs"), Seen::default()), Ruling::Allow);
        let moved = Action::MoveFile { from: "a.sql".into(), to: "migrations/a.sql".into() };
        assert!(matches!(rules.judge(&moved, Seen::default()), Ruling::Ask(_)));
        let read = Action::ReadFile { path: "migrations/3.sql".into(), from: 1, lines: 0 };
        assert_eq!(rules.judge(&read, Seen::default()), Ruling::Allow, "reading changes nothing");
    }

    #[test]
    fn after_a_page_was_read_whatever_writes_is_asked_about() {
        let text =
            "[[policy]]\nname = \"web\"\nthen = \"ask\"\nbecause = \"a page may be behind it\"\nafter_web = true\n";
        let rules = rules(text);
        assert_eq!(rules.judge(&bash("ls"), Seen::default()), Ruling::Allow);
        assert!(matches!(rules.judge(&bash("ls"), WEB), Ruling::Ask(_)));
        let read = Action::ReadFile { path: "a".into(), from: 1, lines: 0 };
        assert_eq!(rules.judge(&read, WEB), Ruling::Allow);
    }

    #[test]
    fn a_rule_may_hold_only_once_a_strangers_words_or_a_page_are_there() {
        let text = "[[policy]]\nname = \"npm\"\nthen = \"deny\"\nbecause = \"a stranger may be behind it\"\n\
                    command = 'npm'\nafter = [\"stranger\", \"web\"]\nhits = [\"npm i\"]\n";
        let rules = rules(text);
        assert_eq!(rules.judge(&bash("npm i"), Seen::default()), Ruling::Allow);
        assert!(matches!(rules.judge(&bash("npm i"), WEB), Ruling::Deny(_)));
        let stranger = Seen { web: false, stranger: true };
        assert!(matches!(rules.judge(&bash("npm i"), stranger), Ruling::Deny(_)));
        assert_eq!(rules.judge(&bash("ls"), Seen::ALL), Ruling::Allow, "it is about its command alone");
        let unknown = text.replace("\"web\"", "\"friends\"");
        assert!(toml::from_str::<toml::Table>(&unknown).is_ok());
        assert!(toml::from_str::<Written>(unknown.trim_start_matches("[[policy]]\n")).is_err(), "an unknown origin");
    }

    #[test]
    fn a_question_of_a_repository_softens_no_refusal_of_the_operators() {
        let operators = "[[policy]]\nname = \"web\"\nthen = \"deny\"\nbecause = \"a page\"\nafter_web = true\n";
        let own = "[[policy]]\nname = \"all\"\nthen = \"ask\"\nbecause = \"b\"\ncommand = \".\"\nhits = [\"x\"]\n";
        let both = rules(operators).and(rules(own));
        assert!(matches!(both.judge(&bash("ls"), Seen::default()), Ruling::Ask(_)));
        assert!(matches!(both.judge(&bash("ls"), WEB), Ruling::Deny(_)));
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_named_with_its_key() {
        let base = "[[policy]]\nname = \"a\"\nthen = \"ask\"\nbecause = \"b\"\n";
        for (more, key, words) in [
            ("", "command", "say what the rule is about"),
            ("command = \"a\"\npath = \"b\"\nhits = [\"a\"]\n", "command", "one of `command` and `path`"),
            ("command = \"(\"\nhits = [\"a\"]\n", "command", "no pattern of commands"),
            ("command = \"a\"\n", "hits", "at least one example"),
            ("command = \"a\"\nhits = [\"b\"]\n", "hits", "not about its own example"),
            ("command = \"a\"\nhits = [\"a\"]\nmisses = [\"ba\"]\n", "misses", "which it should not be"),
            ("path = \"/a\"\nhits = [\"a\"]\n", "path", "relative to the root"),
            ("path = \"a{\"\nhits = [\"a\"]\n", "path", "no pattern of paths"),
            ("after_web = true\nhits = [\"a\"]\n", "hits", "has no examples"),
            ("after = []\n", "command", "say what the rule is about"),
        ] {
            let (at, found, why) = Rules::read(&written(&format!("{base}{more}"))).unwrap_err();
            assert!(at == 0 && found == key && why.contains(words), "{more}: {found}: {why}");
        }
        assert!(toml::from_str::<toml::Table>(base).is_ok());
        let allow = base.replace("\"ask\"", "\"allow\"");
        assert!(toml::from_str::<Written>(allow.trim_start_matches("[[policy]]\n")).is_err(), "a rule allows nothing");
    }
}
