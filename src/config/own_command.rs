//! A command of a repository's own: one Markdown file of `.caisson/commands` on its default branch.
//!
//! Owns the file's grammar. It must not grant anything: who may give the command, its budget and its checkpoints are only narrowed, and its
//! hosts are wishes ([`super::project::Project::with_networks`]). Which files are read together: `own_commands.rs`. Tests: below.
//!
//! ```text
//! +++
//! description = "Writes the notes of a release"   # one line, shown by /help
//! kind = "explain"                                # fix (default), plan, explain, test, refactor, search, security or deps
//! who = ["admins", "@alice"]                      # or "writers" (default)
//! model = "local"                                 # or role = "planner"
//! checkpoint = 2                                  # 1 to 5 actions
//! budget = "1usd,30actions"
//! network = ["docs.example.org"]                  # a wish
//! read_only = true
//! +++
//! Write the notes of the release {words}.
//! ```

use super::model::Role;
use super::project::{Network, ProjectError, from_toml, line_of_key};
use super::who::{bar_of, group, is_group_of_writers};
use crate::command::{MAX_WORDS, amounts, is_own_name, spec};
use domain::{ACTIONS_PER_CHECKPOINT, Access, Budget, TaskKind};
use protocol::router::Rule;
use serde::Deserialize;

/// The folder that holds the files.
pub const FOLDER: &str = ".caisson/commands";
/// Longest file that is read, in bytes.
pub const MAX_BYTES: u64 = 16 << 10;
/// The line before and after a file's settings.
pub(super) const FENCE: &str = "+++";
/// Stands in a file's text for the words that follow the command.
const WORDS: &str = "{words}";
/// Longest description, in characters.
const MAX_DESCRIPTION: usize = 200;
/// The most hosts, and the most words of `who`.
const MOST: usize = 20;
/// Longest name of a model, in bytes.
const MAX_MODEL: usize = 100;
/// The kinds that such a command may be.
const KINDS: [TaskKind; 8] = [
    TaskKind::Fix,
    TaskKind::Plan,
    TaskKind::Explain,
    TaskKind::Test,
    TaskKind::Refactor,
    TaskKind::Search,
    TaskKind::Security,
    TaskKind::Deps,
];
/// The roles of models that such a command may name.
const ROLES: [Role; 3] = [Role::Worker, Role::Planner, Role::Reviewer];

/// A parsed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnCommand {
    /// Its name: the file's without `.md`.
    pub name: String,
    /// Git's id of the file's content in hexadecimal; empty outside of a repository.
    pub blob: String,
    /// One line about it. Untrusted.
    pub description: String,
    /// The kind of task that it begins, which says what that may do.
    pub kind: TaskKind,
    /// Whom it lets give it, as `[who]` writes it; empty = all who may begin such a task. Untrusted.
    pub who: Vec<String>,
    /// Id of the model that answers; whether people may name it is for whoever begins a task to ask.
    pub model: Option<String>,
    /// The role whose model answers; none where `model` says it, or nothing does.
    pub role: Option<Role>,
    /// Actions between two approvals, 1 to 5.
    pub every: Option<u8>,
    /// Hosts that it wishes to reach, each a rule of the router. Untrusted.
    pub network: Vec<String>,
    /// The most that a task may use at its beginning; 0 in a kind leaves the usual amount.
    pub budget: Budget,
    /// What it asks for, not empty. Untrusted.
    pub body: String,
}

/// A mistake, before its file and line are known: the key, if it is one of a key, and what is wrong.
type Mistake = (&'static str, String);

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Head {
    description: Option<String>,
    kind: Option<String>,
    who: Option<OneOrSeveral>,
    model: Option<String>,
    role: Option<String>,
    checkpoint: Option<i64>,
    budget: Option<String>,
    network: Vec<String>,
    read_only: Option<bool>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "write \"writers\" or \"admins\", or a list such as [\"admins\", \"@alice\"]")]
enum OneOrSeveral {
    One(String),
    Several(Vec<String>),
}

/// The text of a file without a byte order mark, or the line that is no UTF-8 and what to do.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str, (usize, String)> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        (line, "this is no UTF-8; save the file as UTF-8".to_owned())
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

impl OwnCommand {
    /// Parses the file with this name (without its folder); `blob` is the id of its content.
    ///
    /// # Errors
    /// File and line of the first mistake, and what to write instead: the name, the lines around the settings, TOML's own errors, an unknown
    /// key, a value out of range, or no text.
    pub fn parse(file_name: &str, blob: &str, bytes: &[u8]) -> Result<Self, ProjectError> {
        let wrong = |line, key: Option<&str>, text: String| mistake(file_name, line, key, text);
        let name = name_of(file_name).map_err(|why| wrong(1, None, why))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(too_long(file_name));
        }
        let text = utf8(bytes).map_err(|(line, why)| wrong(line, None, why))?;
        let parts = Parts::split(text).map_err(|why| wrong(1, None, why))?;
        let path = path_of(file_name);
        // The settings begin in the file's second line.
        let head: Head = toml::from_str(parts.head).map_err(|e| {
            let error = from_toml(&path, parts.head, &e);
            ProjectError { line: error.line + 1, ..error }
        })?;
        let body = parts.body.trim();
        if body.is_empty() {
            let why = format!("there is no text; write below the second line `{FENCE}` what the agent is asked for");
            return Err(wrong(parts.body_line, None, why));
        }
        if let Some(at) = body.find('\0') {
            let before = parts.body.len() - parts.body.trim_start().len() + at;
            let line = parts.body_line + parts.body[..before].matches('\n').count();
            return Err(wrong(line, None, "there is a zero byte in this line; take it out".to_owned()));
        }
        let of_key = |(key, why): Mistake| wrong(line_of_key(parts.head, key) + 1, Some(key), why);
        head.checked(name, blob, body).map_err(of_key)
    }

    /// What it wishes to reach.
    pub fn wish(&self) -> Network {
        Network { name: self.name.clone(), kind: self.kind, who: self.who.clone(), hosts: self.network.clone() }
    }

    /// The file's path in its repository.
    pub fn path(&self) -> String {
        path(&self.name)
    }

    /// What a task is asked for: the file's text with these words in place of `{words}`, or below it where that stands nowhere.
    ///
    /// # Errors
    /// Half a sentence where both together are more than 16,000 characters.
    pub fn filled(&self, words: &str) -> Result<String, String> {
        let (words, places) = (words.trim(), self.body.matches(WORDS).count());
        let added = places.max(1).saturating_mul(words.chars().count());
        if self.body.chars().count().saturating_add(added) > MAX_WORDS {
            return Err("its text and your words in it are more than 16,000 characters".to_owned());
        }
        Ok(match (places, words) {
            (0, "") => self.body.clone(),
            (0, words) => format!("{}\n\n{words}", self.body),
            (_, words) => self.body.replace(WORDS, words),
        })
    }
}

/// Whom these words of a file let give its command, as the end of "it is for", where this account is none of them; no words let everybody.
pub fn bar(who: &[String], login: &str, right: Access) -> Option<String> {
    if who.is_empty() { None } else { bar_of(who, login, right) }
}

/// The error for a file that is longer than [`MAX_BYTES`].
pub(super) fn too_long(file_name: &str) -> ProjectError {
    mistake(file_name, 1, None, format!("the file is longer than {MAX_BYTES} bytes; shorten it"))
}

/// An error in the file with this name.
pub(super) fn mistake(file_name: &str, line: usize, key: Option<&str>, text: String) -> ProjectError {
    ProjectError { file: path_of(file_name), line, key: key.map(str::to_owned), text }
}

/// Where the file of the command with this name lies in its repository.
pub fn path(name: &str) -> String {
    path_of(&format!("{name}.md"))
}

fn path_of(file_name: &str) -> String {
    format!("{FOLDER}/{file_name}")
}

/// The command's name in that of its file.
fn name_of(file_name: &str) -> Result<&str, String> {
    let name = file_name.strip_suffix(".md").unwrap_or(file_name);
    if !is_own_name(name) {
        let why = "a file here is named like its command: 2 to 31 of a-z, 0-9 and `-`, a letter first, then `.md`";
        return Err(format!("{why}; rename it, or move it to another folder"));
    }
    match spec(name) {
        Some(_) => Err(format!("/{name} is a command of the bot, which always comes first; rename the file")),
        None => Ok(name),
    }
}

/// A file's two parts.
pub(super) struct Parts<'a> {
    pub head: &'a str,
    pub body: &'a str,
    /// The line in which `body` begins, counted from 1.
    body_line: usize,
}

impl<'a> Parts<'a> {
    pub(super) fn split(text: &'a str) -> Result<Parts<'a>, String> {
        let first = text.split_inclusive('\n').next().unwrap_or_default();
        match first.trim_end() {
            FENCE => {}
            "---" => return Err(format!("the settings are TOML between two lines `{FENCE}`, not YAML between `---`")),
            _ => return Err(format!("begin with a line `{FENCE}`, then `description = \"…\"`, then a line `{FENCE}`")),
        }
        let mut end = first.len();
        for (at, line) in text[end..].split_inclusive('\n').enumerate() {
            if line.trim_end() == FENCE {
                let (head, body) = (&text[first.len()..end], &text[end + line.len()..]);
                return Ok(Parts { head, body, body_line: at + 3 });
            }
            end += line.len();
        }
        Err(format!("no second line `{FENCE}` ends the settings; write one below them"))
    }
}

impl Head {
    fn checked(self, name: &str, blob: &str, body: &str) -> Result<OwnCommand, Mistake> {
        let description = self.description.as_deref().map(str::trim).unwrap_or_default();
        let is_line = !description.is_empty() && !description.contains(['\n', '\r']);
        if !is_line || description.chars().count() > MAX_DESCRIPTION {
            let why = format!("say in one line of 1 to {MAX_DESCRIPTION} characters what it is for; /help shows it");
            return Err(("description", why));
        }
        let kind = self.kind()?;
        if let Some(model) = &self.model {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
            if !(1..=MAX_MODEL).contains(&model.len()) || !model.chars().all(plain) {
                return Err((
                    "model",
                    "that is no name of a model; write the `id` of one that people may name".to_owned(),
                ));
            }
        }
        let role = self.role()?;
        let network: Vec<String> = self.network.iter().map(|host| host.trim().to_owned()).collect();
        if network.len() > MOST {
            return Err(("network", format!("{} hosts; at most {MOST}", network.len())));
        }
        for host in &network {
            Rule::parse(host).map_err(|e| ("network", e.to_string()))?;
        }
        let budget = match self.budget.as_deref() {
            None => Budget::default(),
            Some(text) => amounts(text).ok_or((
                "budget",
                "write amounts as behind --budget: `2usd`, `30actions`, `20min`, `100ktokens`, or several with commas"
                    .to_owned(),
            ))?,
        };
        Ok(OwnCommand {
            name: name.to_owned(),
            blob: blob.to_owned(),
            description: description.to_owned(),
            kind,
            every: self.every(kind)?,
            who: self.who()?,
            model: self.model,
            role,
            network,
            budget,
            body: body.to_owned(),
        })
    }

    /// The kind of task: as named, otherwise one that writes, or answers where it may only read.
    fn kind(&self) -> Result<TaskKind, Mistake> {
        let known = || KINDS.map(TaskKind::name).join(", ");
        let kind = match self.kind.as_deref() {
            None if self.read_only == Some(true) => TaskKind::Explain,
            None => TaskKind::Fix,
            Some("review") => {
                let why = format!(
                    "/review begins on pull requests, and own commands begin on issues; write one of {}",
                    known()
                );
                return Err(("kind", why));
            }
            Some(text) => {
                let found = KINDS.into_iter().find(|kind| kind.name() == text);
                found.ok_or_else(|| {
                    ("kind", format!("{text:?} is no kind that a command here may have; write one of {}", known()))
                })?
            }
        };
        match self.read_only {
            Some(true) if !kind.reads_only() => {
                let why = format!("a task of the kind {:?} writes; write kind = \"explain\" or \"plan\"", kind.name());
                Err(("read_only", why))
            }
            Some(false) if kind.reads_only() => {
                let why =
                    format!("a task of the kind {:?} only reads; leave this out, or write kind = \"fix\"", kind.name());
                Err(("read_only", why))
            }
            Some(_) | None => Ok(kind),
        }
    }

    /// The role whose model answers: one that the operator gives to a model, so nobody has to be able to name that by its id.
    fn role(&self) -> Result<Option<Role>, Mistake> {
        let Some(text) = self.role.as_deref() else { return Ok(None) };
        if self.model.is_some() {
            return Err(("role", "`model` names one already; write one of the two".to_owned()));
        }
        let known = ROLES.map(Role::word).join(", ");
        let found = ROLES.into_iter().find(|role| role.word() == text);
        found
            .map(Some)
            .ok_or_else(|| ("role", format!("{text:?} is no role that works on tasks; write one of {known}")))
    }

    fn every(&self, kind: TaskKind) -> Result<Option<u8>, Mistake> {
        let Some(given) = self.checkpoint else { return Ok(None) };
        if kind.reads_only() {
            return Err(("checkpoint", "a task that only reads has no checkpoints; leave this out".to_owned()));
        }
        let every = u8::try_from(given).ok().filter(|every| (1..=ACTIONS_PER_CHECKPOINT).contains(every));
        let why = format!("a checkpoint comes after 1 to {ACTIONS_PER_CHECKPOINT} actions");
        every.map(Some).ok_or(("checkpoint", why))
    }

    fn who(&self) -> Result<Vec<String>, Mistake> {
        let words = match &self.who {
            None => return Ok(Vec::new()),
            Some(OneOrSeveral::One(word)) => std::slice::from_ref(word),
            Some(OneOrSeveral::Several(words)) => words,
        };
        if words.is_empty() || words.len() > MOST {
            return Err(("who", format!("name 1 to {MOST}; [\"nobody\"] if that is meant, or leave it out")));
        }
        for word in words {
            if word == "readers" {
                return Err((
                    "who",
                    "to begin a task takes write access to the code; a file only narrows that".to_owned(),
                ));
            }
            if !is_group_of_writers(word) && group(word).is_none() {
                let login = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) && !word.is_empty();
                let hint = if login { format!("; an account is written \"@{word}\"") } else { String::new() };
                return Err((
                    "who",
                    format!("{word:?} is none of writers, admins, nobody, code_owners, team:ORG/NAME, @login{hint}"),
                ));
            }
        }
        Ok(words.to_vec())
    }
}

#[cfg(test)]
#[path = "own_command_tests.rs"]
mod tests;
