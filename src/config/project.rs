//! A repository's own configuration: `.caisson.toml` on its default branch.
//!
//! Owns its grammar, how it narrows the operator's grants, and its wishes. It must not grant anything: whatever exceeds [`Granted`] has no
//! effect until the operator accepted the file's hash (`caisson repo add` shows the wishes). The hosts that the repository's own commands wish
//! for have a hash of their own, accepted with it and judged apart. The file is read at the task's base commit, never from the agent's branch. Tests: below.
//!
//! ```toml
//! test = "cargo test --offline"       # what verification runs
//! setup = ["cargo fetch"]             # wish
//! toolchain = "rust"                  # one that the operator offers (`pick.rs`); an older word for it is `profile`
//! image = "team/builder:3"            # in place of a toolchain: one of the operator's images
//! egress = ["docs.example.org"]       # wish, unless the operator allows the host anyway
//! protected = ["deploy/**"]           # the agent may not change these (on top of the defaults)
//! artifacts = ["dist/*.whl"]          # files of finished work that are attached to its pull request (`artifacts.rs`)
//! [[policy]]                          # a rule about single actions (docs/policy.md)
//! name = "migrations"
//! then = "ask"
//! because = "a migration runs on people's data"
//! path = "migrations/**"
//! hits = ["migrations/3.sql"]
//! [checkpoint]
//! every = 3                           # 1 to 5 actions
//! [budget]
//! usd = 1.5
//! tokens = 200000
//! actions = 40
//! minutes = 30
//! [ci]
//! wait = true                         # wait for the forge's CI before finished work is shown, unless the operator decides that
//! ```

use super::Process;
use super::amounts::micro_usd;
use super::artifacts::{self, ArtifactRules, Artifacts};
use super::lines::KeyLines;
use super::process::Ci;
use super::protected;
use crate::text::one_line;
use domain::{ACTIONS_PER_CHECKPOINT, Budget, CiWait, OwnCommand, TaskKind};
use protocol::router::Rule;
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// The file's name at the root of a repository.
pub const FILE: &str = ".caisson.toml";
/// Longest file that is read, in bytes.
pub const MAX_BYTES: u64 = 64 << 10;
/// Longest command, in bytes.
const MAX_COMMAND: usize = 4096;

/// A project's choice of image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pick {
    /// It names none.
    Open,
    /// This image and no other.
    Asked {
        /// The image's reference.
        image: String,
        /// Name of the toolchain it was picked by; none where the file names the image itself.
        toolchain: Option<String>,
    },
    /// What it asks for is unavailable: why, and what to do.
    Refused(String),
}

/// The parsed file. Untrusted until narrowed by [`Project::within`].
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Project {
    /// Command that verification runs; none = one is found by the files of the task's base commit.
    pub test: Option<String>,
    /// Commands that run before the agent enters a sandbox; without effect until the operator accepted the file.
    pub setup: Vec<String>,
    /// Reference of the image it asks for, in place of `toolchain`.
    pub image: Option<String>,
    /// Name of the toolchain it asks for, such as `rust` or `rust@1.95`.
    #[serde(alias = "profile")]
    pub toolchain: Option<String>,
    /// Rules as written (`host`, `host:port`, `*.suffix`).
    pub egress: Vec<String>,
    /// Glob patterns of protected files, relative to the root.
    pub protected: Vec<String>,
    /// Glob patterns of files that are taken beside finished work, relative to the root.
    pub artifacts: Vec<String>,
    /// `[[policy]]`: rules about single actions, in addition to the operator's; they only restrict.
    pub policy: Vec<crate::policy::Written>,
    /// `[checkpoint]`: how often a person is asked.
    pub checkpoint: Checkpoint,
    /// `[budget]`: what a task may use.
    pub budget: Limits,
    /// `[ci]`: it may ask for a wait.
    pub ci: Ci,
    /// SHA-256 of the file in hexadecimal; empty where there is none.
    #[serde(skip)]
    hash: String,
    /// What the repository's own commands wish to reach; see [`Project::with_networks`].
    #[serde(skip)]
    networks: Vec<Network>,
    /// SHA-256 of `networks` in hexadecimal; empty where there are none.
    #[serde(skip)]
    networks_hash: String,
}

/// The hosts that a command of the repository's own wishes for, and what decides whether to allow them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The command's name.
    pub name: String,
    /// The kind of its tasks.
    pub kind: TaskKind,
    /// Whom its file lets give it; empty = all who may begin such a task. Untrusted.
    pub who: Vec<String>,
    /// The hosts, as rules are written. Untrusted.
    pub hosts: Vec<String>,
}

impl Network {
    /// That of the command by which a task of this kind began.
    pub fn of(kind: TaskKind, own: &OwnCommand) -> Self {
        Self { name: own.name.clone(), kind, who: own.who.clone(), hosts: own.network.clone() }
    }

    fn means(&self, host: &str) -> String {
        let who = if self.who.is_empty() { "all who may".to_owned() } else { self.who.join(", ") };
        let (name, kind) = (&self.name, self.kind.name());
        format!("sandboxes of tasks that /{name} begins (as /{kind}, for {who}) could send data to {host}")
    }
}

/// In an accepted value in place of a hash that is not accepted.
const NONE: &str = "none";

/// Whether an operator may have accepted this: what [`Project::hash`] gives.
pub fn may_be_accepted(value: &str) -> bool {
    let hash = |text: &str| text.len() == 64 && text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    match value.split_once('-') {
        Some((file, networks)) => (file == NONE || hash(file)) && hash(networks),
        None => value.is_empty() || hash(value),
    }
}

fn joined(file: &str, networks: &str) -> String {
    match (file, networks) {
        (file, "") => file.to_owned(),
        ("", networks) => format!("{NONE}-{networks}"),
        (file, networks) => format!("{file}-{networks}"),
    }
}

/// `[checkpoint]`: can only ask a person more often than the operator does.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Checkpoint {
    /// Actions between two approvals: 1 to 5.
    pub every: Option<u8>,
}

/// Requested budgets; each can only lower the operator's.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// US dollars.
    pub usd: Option<f64>,
    /// Tokens of all model calls; none = the operator's limit.
    pub tokens: Option<u64>,
    /// Actions over the whole task; none = the operator's limit.
    pub actions: Option<u64>,
    /// Minutes of work (model calls and actions, not waiting); none = the operator's limit.
    pub minutes: Option<u64>,
}

/// An error in a file, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {}", self.blamed())]
pub struct ProjectError {
    /// Name of the file, as given to [`Project::parse`].
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// The key to blame, without its table; none when it is not known.
    pub key: Option<String>,
    /// What is wrong, for a person to read.
    pub text: String,
}

impl ProjectError {
    fn at(file: &str, line: usize, key: &str, text: String) -> Self {
        Self { file: file.to_owned(), line, key: Some(key.to_owned()), text }
    }

    /// What is wrong, after the key to blame.
    pub fn blamed(&self) -> String {
        self.key.as_ref().map(|key| format!("`{key}`: ")).unwrap_or_default() + &self.text
    }
}

/// The operator's grants to this repository.
#[derive(Debug, Clone, PartialEq)]
pub struct Granted {
    /// The image used when the project names none.
    pub image: String,
    /// References a project may choose from.
    pub images: Vec<String>,
    /// Toolchains besides the base, and the image of each.
    pub toolchains: Vec<(String, String)>,
    /// Hosts every task may reach.
    pub egress: Vec<Rule>,
    /// Actions between two approvals, at most 5.
    pub every: u8,
    /// What a task may use; 0 = no limit of that kind.
    pub budget: Budget,
    /// What the operator says of the forge's CI.
    pub ci: Ci,
    /// How much may be taken beside finished work.
    pub artifacts: Artifacts,
}

impl Granted {
    /// What an operator grants the tasks of a repository.
    pub fn of(config: &Process, key: &str) -> Self {
        let sandbox = config.sandbox_of(key);
        Self {
            image: sandbox.image.clone(),
            images: sandbox.images.clone(),
            toolchains: sandbox.offered().map(|(name, image)| (name.to_owned(), image.to_owned())).collect(),
            egress: config.allowed_of(key),
            every: config.every_of(key),
            budget: config.budget_of(key).granted(),
            ci: config.ci_of(key),
            artifacts: config.artifacts_of(key),
        }
    }
}

/// One request beyond the operator's grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// The key in the file.
    pub key: &'static str,
    /// As written in the file. Untrusted: escape before showing.
    pub value: String,
    /// Consequence of accepting it, for the operator.
    pub means: String,
}

/// Two lines: the consequence, and below it the repository's own words.
impl std::fmt::Display for Wish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}\n       {}", self.key, one_line(&self.means), one_line(&self.value))
    }
}

/// The configuration that applies to a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Effective {
    /// The image that the project asks for, or why it is refused.
    pub image: Pick,
    /// Command that verification runs; none = one is found by the files of the task's base commit.
    pub test: Option<String>,
    /// Setup commands; empty unless the wishes were accepted.
    pub setup: Vec<String>,
    /// Rules beyond the operator's own; empty unless the wishes were accepted.
    pub egress: Vec<Rule>,
    /// Glob patterns, relative to the root, of files that the agent may not change, on top of the defaults.
    pub protected: Vec<String>,
    /// Actions between two approvals, 1 to 5.
    pub every: u8,
    /// What a task may use; 0 = no limit of that kind.
    pub budget: Budget,
    /// What is waited for before finished work is shown; none where nothing is.
    pub ci: Option<CiWait>,
    /// What is taken beside finished work; none where nothing is.
    pub artifacts: Option<ArtifactRules>,
}

impl Project {
    /// Parses a file; `file` is its name in errors.
    ///
    /// # Errors
    /// File, line and key of the first mistake: TOML's own, an unknown key, a value out of range, a malformed host or pattern.
    pub fn parse(file: &str, text: &str) -> Result<Self, ProjectError> {
        let project = Self::parse_begun(file, text)?;
        match protected::unmatched(&project.protected) {
            Some(why) => Err(ProjectError::at(file, line_of_key(text, "protected"), "protected", why)),
            None => Ok(project),
        }
    }

    /// As [`Project::parse`], for work that has begun: a pattern that matches nothing, which was no mistake in earlier versions, is left as it is.
    ///
    /// # Errors
    /// As [`Project::parse`], but for that.
    pub fn parse_begun(file: &str, text: &str) -> Result<Self, ProjectError> {
        if text.len() as u64 > MAX_BYTES {
            let text = format!("the file is longer than {MAX_BYTES} bytes; shorten it");
            return Err(ProjectError { file: file.to_owned(), line: 1, key: None, text });
        }
        let mut project: Self = toml::from_str(text).map_err(|e| from_toml(file, text, &e))?;
        project.check().map_err(|(key, why)| ProjectError::at(file, line_of_key(text, key), key, why))?;
        crate::policy::Rules::read(&project.policy).map_err(|(at, key, why)| {
            let line = KeyLines::read(text).ok().and_then(|lines| lines.line(&format!("policy.{at}.{key}")));
            ProjectError::at(file, line.unwrap_or(1), key, why)
        })?;
        project.hash = hex::encode(Sha256::digest(text.as_bytes()));
        Ok(project)
    }

    /// What an operator accepts: the hash of the file, and where commands wish for hosts, behind a dash, that of their wishes; `none` stands
    /// for a file that is not there. Empty where there is neither.
    pub fn hash(&self) -> String {
        joined(&self.hash, &self.networks_hash)
    }

    /// What of this accepted value still holds: each of its two hashes that is that of this state.
    pub fn still(&self, accepted: &str) -> String {
        let of = |holds: bool, hash: &str| if holds { hash.to_owned() } else { String::new() };
        let file = of(self.is_accepted(Some(accepted)), &self.hash);
        joined(&file, &of(self.are_networks_accepted(Some(accepted)), &self.networks_hash))
    }

    /// Adds what the repository's own commands wish to reach: [`Project::hash`] covers it from then on. The file's own part stays as it is, so
    /// that no command changes what the file was granted.
    #[must_use]
    pub fn with_networks(mut self, networks: Vec<Network>) -> Self {
        if !networks.is_empty() {
            let mut hash = Sha256::new();
            hash.update("caisson wishes of commands 1\n");
            // Debug text has no line break of its own, so no value looks like several.
            for Network { name, kind, who, hosts } in &networks {
                hash.update(format!("{name:?} {} {who:?} {hosts:?}\n", kind.name()));
            }
            self.networks_hash = hex::encode(hash.finalize());
        }
        self.networks = networks;
        self
    }

    /// Rules for those of a task's hosts for which its command wishes in this state of the repository, too, if the commands' hash was accepted:
    /// a command of the same name, kind and people.
    pub fn network_of(&self, accepted: Option<&str>, wanted: &Network) -> Vec<Rule> {
        let same = |it: &&Network| it.name == wanted.name && it.kind == wanted.kind && it.who == wanted.who;
        let Some(wished) = self.networks.iter().find(same).filter(|_| self.are_networks_accepted(accepted)) else {
            return Vec::new();
        };
        let rules = wanted.hosts.iter().filter(|host| wished.hosts.contains(host));
        let because = format!("asked for by the command /{}", wanted.name);
        rules.filter_map(|host| Rule::parse(host).ok()).map(|rule| rule.because(because.clone())).collect()
    }

    /// Whether the operator accepted exactly this file.
    pub fn is_accepted(&self, accepted: Option<&str>) -> bool {
        let file = accepted.map(|it| it.split_once('-').map_or(it, |(file, _)| file));
        !self.hash.is_empty() && file == Some(self.hash.as_str())
    }

    fn are_networks_accepted(&self, accepted: Option<&str>) -> bool {
        let networks = accepted.and_then(|it| it.split_once('-')).map(|(_, networks)| networks);
        !self.networks_hash.is_empty() && networks == Some(self.networks_hash.as_str())
    }

    fn check(&self) -> Result<(), (&'static str, String)> {
        let most = ACTIONS_PER_CHECKPOINT;
        if self.checkpoint.every.is_some_and(|n| n == 0 || n > most) {
            return Err((
                "every",
                format!("a checkpoint comes after 1 to {most} actions; a project can only ask for fewer"),
            ));
        }
        self.check_pick()?;
        for (key, command) in self.test.iter().map(|c| ("test", c)).chain(self.setup.iter().map(|c| ("setup", c))) {
            if command.trim().is_empty() || command.len() > MAX_COMMAND || command.contains('\0') {
                return Err((key, format!("a command has 1 to {MAX_COMMAND} bytes and no zero byte")));
            }
        }
        for wanted in &self.egress {
            Rule::parse(wanted).map_err(|e| ("egress", e.to_string()))?;
        }
        if let Some(why) = protected::problem_of(&self.protected) {
            return Err(("protected", why));
        }
        if let Some(why) = artifacts::problem_of(&self.artifacts) {
            return Err(("artifacts", why));
        }
        if let Some(problem) = self.ci.problem() {
            return Err(problem);
        }
        if self.budget.usd.is_some_and(|usd| !usd.is_finite() || usd <= 0.0) {
            return Err(("usd", "a budget is more than zero".to_owned()));
        }
        for (key, value) in
            [("tokens", self.budget.tokens), ("actions", self.budget.actions), ("minutes", self.budget.minutes)]
        {
            if value == Some(0) {
                return Err((key, "a budget is more than zero".to_owned()));
            }
        }
        Ok(())
    }

    fn rules(&self) -> Vec<Rule> {
        let parsed = self.egress.iter().filter_map(|text| Rule::parse(text).ok());
        parsed.map(|rule| rule.because("asked for by .caisson.toml")).collect()
    }

    /// Requests beyond `granted`, without effect until the hash is accepted.
    pub fn wishes(&self, granted: &Granted) -> Vec<Wish> {
        let mut wishes: Vec<Wish> = self.image_wish(granted).into_iter().collect();
        for command in &self.setup {
            let means = "this command would run before the agent enters, with the network a task has; its result goes to every task".to_owned();
            wishes.push(Wish { key: "setup", value: command.clone(), means });
        }
        for (rule, text) in self.rules().into_iter().zip(&self.egress) {
            if !granted.reaches(&rule) {
                let means = format!("sandboxes of this repository could send data to {text}");
                wishes.push(Wish { key: "egress", value: text.clone(), means });
            }
        }
        for (network, host) in self.networks.iter().flat_map(|it| it.hosts.iter().map(move |host| (it, host))) {
            if Rule::parse(host).is_ok_and(|rule| !granted.reaches(&rule)) {
                let means = network.means(host);
                wishes.push(Wish { key: "network", value: host.clone(), means });
            }
        }
        wishes
    }

    /// The operator's grants narrowed by the file, and widened only if `accepted` is exactly the file's hash.
    ///
    /// An image outside the operator's list is never used, accepted or not, because only the operator changes the list.
    pub fn within(&self, granted: &Granted, accepted: Option<&str>) -> Effective {
        let trusted = self.is_accepted(accepted);
        let budget = &self.budget;
        let wanted = Budget {
            micro_usd: budget.usd.map_or(0, micro_usd),
            tokens: budget.tokens.unwrap_or(0),
            actions: budget.actions.unwrap_or(0),
            work_ms: budget.minutes.map_or(0, |m| m.saturating_mul(60_000)),
        };
        let every = granted.every.clamp(1, ACTIONS_PER_CHECKPOINT);
        Effective {
            image: self.pick(granted),
            test: self.test.clone(),
            setup: if trusted { self.setup.clone() } else { Vec::new() },
            egress: if trusted { self.rules() } else { Vec::new() },
            protected: self.protected.clone(),
            every: self.checkpoint.every.map_or(every, |n| n.min(every)),
            budget: granted.budget.narrowed(&wanted),
            ci: granted.ci.with(&self.ci),
            artifacts: granted.artifacts.with(&self.artifacts),
        }
    }
}

impl Granted {
    /// Whether the operator's own rules already cover this one. A wildcard is covered only by the same wildcard.
    pub fn reaches(&self, wanted: &Rule) -> bool {
        self.egress.iter().any(|own| {
            let host = own.host == wanted.host || !wanted.is_wildcard() && own.covers(&wanted.host);
            host && (own.port == wanted.port || own.port.is_none() && matches!(wanted.port, Some(80 | 443)))
        })
    }
}

pub(super) fn from_toml(file: &str, text: &str, e: &toml::de::Error) -> ProjectError {
    let at = e.span().map_or(0, |span| span.start).min(text.len());
    let line = text.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() + 1;
    let written = text.lines().nth(line - 1).unwrap_or_default();
    let key = written.split('=').next().unwrap_or_default().trim().trim_matches(['[', ']', '"', '\'']).to_owned();
    let key = Some(key).filter(|k| !k.is_empty() && k.len() <= 64);
    ProjectError { file: file.to_owned(), line, key, text: e.message().to_owned() }
}

/// The line that sets a key, for errors that TOML itself does not report.
pub(super) fn line_of_key(text: &str, key: &str) -> usize {
    let sets = |line: &str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
    text.lines().position(sets).map_or(1, |at| at + 1)
}

#[cfg(test)]
#[path = "project_tests.rs"]
pub(super) mod tests;
