//! Rules about single actions: which need a person's permission, and which are refused.
//!
//! Owns the form of rules, their examples, and the judgement: deny before ask, ask before allow, and what cannot be judged is denied. Rules
//! only restrict: no rule of the operator or a repository allows anything new. Rules about commands match their text, so they prevent
//! accidents; the sandbox is the actual boundary. What is decided without a rule: `secrets`. Must not know tasks or read files. Tests:
//! `tests.rs`, `tests/stories/permission.rs`.

mod place;
#[cfg(test)]
mod tests;

pub use place::plain;

pub mod folders;
pub mod secrets;

use domain::{Action, ActionKind};
use globset::{GlobBuilder, GlobSet};
use place::PathTarget;
use protocol::router::Rule as HostRule;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use url::Url;

/// The most rules of one file.
const MOST_RULES: usize = 50;
/// The most bytes of a pattern, and of its compiled form.
const MOST_PATTERN: usize = 1000;
const MOST_PROGRAM: usize = 256 << 10;
/// The most characters of a name and of a reason.
const MOST_NAME: usize = 60;
const MOST_REASON: usize = 200;
/// The highest count of repetitions that a rule may wait for.
const MOST_REPEATED: u32 = 100;

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
    /// With `path`: the rule is about actions that read by name too (`read_file`, `list_files`, `search`).
    #[serde(default)]
    pub reads: bool,
    /// A host, in the spelling of the rules of `[egress]` (`docs.example.org`, `*.example.org`, `host:8443`), for pages that `web_fetch` reads.
    #[serde(default)]
    pub host: Option<String>,
    /// Short for `after = ["web"]`.
    #[serde(default)]
    pub after_web: bool,
    /// Holds only once text of one of these origins is in the task's conversation, because it may be behind the action. Without `command`,
    /// `path` and `host` the rule is then about every command and change.
    #[serde(default)]
    pub after: Vec<Origin>,
    /// Holds only for an action that was carried out at least so often before it, with the same input and the same result each time
    /// (`src/engine/repeats.rs`). Without `command`, `path` and `host` the rule is then about every action.
    #[serde(default)]
    pub repeated: Option<u32>,
    /// Example commands, paths or hosts that the rule must match.
    #[serde(default)]
    pub hits: Vec<String>,
    /// Example commands, paths or hosts that the rule must not match.
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

/// What is known about an action from its task's log: which origins are in the conversation, and whether it repeats others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ActionContext {
    /// A page was read.
    pub web: bool,
    /// The issue is a stranger's.
    pub stranger: bool,
    /// How often the same was done before with the same result.
    pub repeated: u32,
}

impl ActionContext {
    /// Every origin, and any number of repetitions.
    pub const ALL: ActionContext = ActionContext { web: true, stranger: true, repeated: u32::MAX };

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

impl Ruling {
    /// Both decisions on one action: a denial goes before a question, and of two questions a person gets both reasons.
    #[must_use]
    pub fn and(self, other: Ruling) -> Ruling {
        match (self, other) {
            (Ruling::Deny(reason), _) | (_, Ruling::Deny(reason)) => Ruling::Deny(reason),
            (Ruling::Ask(one), Ruling::Ask(other)) => Ruling::Ask(format!("{one}; {other}")),
            (Ruling::Ask(reason), Ruling::Allow) | (Ruling::Allow, Ruling::Ask(reason)) => Ruling::Ask(reason),
            (Ruling::Allow, Ruling::Allow) => Ruling::Allow,
        }
    }
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
    /// How often the same has to have been done before; 0 where it need not.
    repeated: u32,
}

#[derive(Debug, Clone)]
enum About {
    Command(Regex),
    Path { pattern: Box<GlobSet>, reads: bool },
    Host(HostRule),
    Writes,
    Every,
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

    /// Judges an action in a task of which `seen` is known.
    pub fn judge(&self, action: &Action, seen: ActionContext) -> Ruling {
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
        if self.repeated.is_some_and(|times| !(1..=MOST_REPEATED).contains(&times)) {
            return Err(("repeated", format!("say after how many times the rule holds: 1 to {MOST_REPEATED}")));
        }
        let about = self.about()?;
        let mut after = self.after.clone();
        if self.after_web {
            after.push(Origin::Web);
        }
        let sentence = format!("{} ({})", self.because.trim(), self.name.trim());
        let rule = Rule { then: self.then, sentence, about, after, repeated: self.repeated.unwrap_or(0) };
        rule.tried(&self.hits, &self.misses)?;
        Ok(rule)
    }

    fn about(&self) -> Result<About, (&'static str, String)> {
        if self.reads && self.path.is_none() {
            return Err(("reads", "only a rule with a `path` says whether it is about reading too".to_owned()));
        }
        match (&self.command, &self.path, &self.host) {
            (Some(pattern), None, None) => command(pattern),
            (None, Some(pattern), None) => path(pattern, self.reads),
            (None, None, Some(host)) => {
                HostRule::parse(host).map(About::Host).map_err(|error| ("host", error.to_string()))
            }
            (None, None, None) if self.repeated.is_some() => Ok(About::Every),
            (None, None, None) if self.after_web || !self.after.is_empty() => Ok(About::Writes),
            (None, None, None) => Err((
                "command",
                "say what the rule is about: `command`, `path`, `host`, `after` or `repeated`".to_owned(),
            )),
            (_, _, _) => {
                Err(("command", "a rule is about one of `command`, `path` and `host`; write several".to_owned()))
            }
        }
    }
}

fn command(pattern: &str) -> Result<About, (&'static str, String)> {
    let wrong = |why: String| ("command", format!("{pattern:?} is no pattern of commands: {why}"));
    if pattern.trim().is_empty() || pattern.len() > MOST_PATTERN {
        return Err(wrong(format!("it has 1 to {MOST_PATTERN} bytes")));
    }
    let built = RegexBuilder::new(pattern).size_limit(MOST_PROGRAM).build();
    built.map(About::Command).map_err(|e| wrong(e.to_string().lines().last().unwrap_or_default().to_owned()))
}

fn path(pattern: &str, reads: bool) -> Result<About, (&'static str, String)> {
    let wrong = |why: String| ("path", format!("{pattern:?} is no pattern of paths: {why}"));
    if pattern.trim().is_empty() || pattern.len() > MOST_PATTERN || pattern.starts_with('/') {
        return Err(wrong(format!("it has 1 to {MOST_PATTERN} bytes and is relative to the root")));
    }
    // As a set, because a single matcher panics where alternatives nest too deeply.
    let built = GlobBuilder::new(pattern).literal_separator(true).build().and_then(|glob| GlobSet::new([glob]));
    built.map(|set| About::Path { pattern: Box::new(set), reads }).map_err(|e| wrong(e.kind().to_string()))
}

impl Rule {
    /// Checks the rule's examples.
    fn tried(&self, hits: &[String], misses: &[String]) -> Result<(), (&'static str, String)> {
        if matches!(self.about, About::Writes | About::Every) {
            return match hits.is_empty() && misses.is_empty() {
                true => Ok(()),
                false => Err(("hits", "a rule without `command`, `path` and `host` has no examples".to_owned())),
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
            // A change outside of the workspace is refused rather than let through.
            About::Path { pattern, .. } => plain(text).is_none_or(|path| covers(pattern, &path)),
            About::Host(rule) => leads_to(rule, text),
            About::Writes | About::Every => false,
        }
    }

    fn is_about(&self, action: &Action, seen: ActionContext) -> bool {
        if !self.after.is_empty() && !self.after.iter().any(|origin| seen.has(*origin)) {
            return false;
        }
        if seen.repeated < self.repeated {
            return false;
        }
        match &self.about {
            About::Every => true,
            About::Writes => action.what().writes() && action.what() != ActionKind::Try,
            About::Command(_) => action.command().is_some_and(|command| self.holds(command)),
            About::Path { pattern, reads } => {
                let looked_at = action.looked_at().filter(|_| *reads);
                action.changed().into_iter().any(|path| self.holds(path))
                    || looked_at.is_some_and(|path| is_in(pattern, path))
            }
            About::Host(_) => matches!(action, Action::WebFetch { url } if self.holds(url)),
        }
    }
}

/// Whether a pattern matches a path, or a directory whose content it matches by a trailing `/**`.
fn covers(pattern: &GlobSet, path: &str) -> bool {
    pattern.is_match(path) || pattern.is_match(format!("{path}/\u{1}"))
}

/// Whether a pattern matches what is read. Files outside of the workspace, such as whole outputs of commands, are no repository's.
fn is_in(pattern: &GlobSet, path: &str) -> bool {
    match PathTarget::of(path) {
        PathTarget::Inside(path) => covers(pattern, &path),
        PathTarget::Root => pattern.is_match("\u{1}"),
        PathTarget::Outside => false,
    }
}

/// Whether an address, or a host alone, is one of the rule's; what is no address is refused rather than let through.
fn leads_to(rule: &HostRule, text: &str) -> bool {
    let address = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let Ok(url) = Url::parse(&address) else { return true };
    let port = url.port_or_known_default().unwrap_or_default();
    url.host_str().is_none_or(|host| rule.denies(host.strip_suffix('.').unwrap_or(host), port))
}
