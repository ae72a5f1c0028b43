//! The configured models: one `[model]`, or several `[[model]]`, with their roles.
//!
//! Owns their format and the choice by role. Must not open one (`llm::open` does). `defaults.toml` describes each key. Tests:
//! `model_tests.rs`.

use super::fields::{address, choice, path, price};
use super::origin::Origins;
use domain::TaskKind;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use url::{Host, Url};

/// Protocol of a model's server, or a recording in place of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelKind {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Chat Completions API, which local servers speak too.
    Openai,
    /// OpenAI's Responses API.
    OpenaiResponses,
    /// Google's Gemini API.
    Gemini,
    /// A recording, for tests and the demo; no server is asked.
    Scripted,
}

/// What the configuration knows of one kind; the rest stands in its file of `llm`.
struct KindTraits {
    /// Its spelling in the configuration.
    word: &'static str,
    /// Whether it is a recording.
    recording: bool,
    /// Whether servers of the operator's own speak it, which may want no key.
    local_servers: bool,
    /// Whether its models get pictures if nobody says so. All current ones of Anthropic and Google accept them, some with OpenAI's protocol
    /// refuse them.
    vision: bool,
}

impl ModelKind {
    const fn traits(self) -> KindTraits {
        let (word, recording, local_servers, vision) = match self {
            Self::Anthropic => ("anthropic", false, false, true),
            Self::Openai => ("openai", false, true, false),
            Self::OpenaiResponses => ("openai-responses", false, true, false),
            Self::Gemini => ("gemini", false, false, true),
            Self::Scripted => ("scripted", true, false, true),
        };
        KindTraits { word, recording, local_servers, vision }
    }

    /// Its spelling in the configuration.
    pub const fn word(self) -> &'static str {
        self.traits().word
    }

    /// Whether it is a recording, for which no server is asked.
    pub const fn is_recording(self) -> bool {
        self.traits().recording
    }

    /// Whether servers of the operator's own speak it.
    pub(super) const fn has_local_servers(self) -> bool {
        self.traits().local_servers
    }
}

/// Purpose of a model. Each role belongs to one model; a role without one to the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Works on `/fix`.
    Worker,
    /// Answers `/plan`.
    Planner,
    /// Summarizes older parts of a conversation.
    Summarizer,
    /// Reviews changes of another model.
    Reviewer,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::Worker, Self::Planner, Self::Summarizer, Self::Reviewer];

    /// Its spelling in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Planner => "planner",
            Self::Summarizer => "summarizer",
            Self::Reviewer => "reviewer",
        }
    }
}

/// One model: `[model]`, or one `[[model]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Names the entry: lower-case letters, digits, hyphens.
    pub id: String,
    /// Its roles; empty = every role for the only entry, none for one of several.
    pub roles: Vec<Role>,
    /// Ids of the entries that are asked in its place, in order, when it does not answer.
    pub fallback: Vec<String>,
    /// Whether people may name it: `/model`, and `--model` of `/fix` and `/plan`.
    pub by_name: bool,
    /// Protocol of its server, or a recording in place of one.
    pub kind: ModelKind,
    /// The server's address; none = the provider's own.
    #[serde(deserialize_with = "address")]
    pub base_url: Option<Url>,
    /// The model's name, as the provider spells it; not used for a recording.
    pub name: String,
    /// File with the API key; none = no key is sent, which only a server named by `base_url` may accept.
    #[serde(deserialize_with = "path")]
    pub key_file: Option<PathBuf>,
    /// File with the recording; only for [`ModelKind::Scripted`].
    #[serde(deserialize_with = "path")]
    pub script: Option<PathBuf>,
    /// Tokens that a request and its answer may hold together; at least twice `max_output_tokens`. 0 in the file = as the file of prices says.
    pub context_tokens: u64,
    /// Longest answer that is asked for, in tokens; above 0.
    pub max_output_tokens: u64,
    /// Whether its answers are asked for as streams.
    pub stream: bool,
    /// Whether its requests may name a temperature.
    pub temperature: bool,
    /// Whether each answer in the style `tools` has to be a call.
    pub force_tools: bool,
    /// Whether it is shown pictures; none in the file = as the file of prices says, or its wire.
    #[serde(deserialize_with = "choice")]
    pub vision: Option<bool>,
    /// How it works: by tool calls, text or files.
    pub style: ModelStyle,
    /// Length of its rules in the style `tools`.
    pub prompt: PromptLength,
    /// Dollars for a million tokens, as the other three; none = unknown, 0 = free.
    #[serde(deserialize_with = "price")]
    pub price_input: Option<f64>,
    /// Dollars for a million output tokens; none = unknown, 0 = free.
    #[serde(deserialize_with = "price")]
    pub price_output: Option<f64>,
    /// Dollars for a million tokens read from the provider's prompt cache; 0 = the same as `price_input`.
    pub price_cache_read: f64,
    /// Dollars for a million tokens written to the provider's prompt cache; 0 = a quarter more than `price_input`.
    pub price_cache_write: f64,
    /// Sources of its prices and context window.
    #[serde(skip)]
    pub origins: Origins,
}

/// Ends of names that only servers in the operator's own networks have; the last is Tailscale's.
const LOCAL_NAMES: [&str; 6] = [".localhost", ".local", ".lan", ".internal", ".home.arpa", ".ts.net"];

/// Largest window in tokens for which `prompt = "auto"` is the short form.
const SMALL_WINDOW: u64 = 16_384;

impl Model {
    /// Whether its server is the operator's own, by its address: there calls written as text count.
    pub fn is_own_server(&self) -> bool {
        self.kind.has_local_servers() && self.is_local()
    }

    /// Whether trial calls decide its style if that is `auto`: its server, the operator's own or a gateway, may have any model.
    pub fn needs_trials(&self) -> bool {
        self.kind.has_local_servers() && self.base_url.is_some()
    }

    /// Whether its server has a local address or name, or it is a recording: what it is sent stays with the operator.
    pub fn is_local(&self) -> bool {
        match self.base_url.as_ref().and_then(Url::host) {
            _ if self.kind.is_recording() => true,
            None => false,
            Some(Host::Ipv4(ip)) => is_inside(ip),
            Some(Host::Ipv6(ip)) => match ip.to_ipv4_mapped() {
                Some(ip) => is_inside(ip),
                None => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
            },
            Some(Host::Domain(name)) => {
                let name = name.trim_end_matches('.');
                !name.contains('.') || LOCAL_NAMES.iter().any(|end| name.ends_with(end))
            }
        }
    }

    /// Whether its cost is unknown, so that it is charged nothing and no limit in dollars applies. A recording costs nothing.
    pub fn is_unpriced(&self) -> bool {
        !self.kind.is_recording() && (self.price_input.is_none() || self.price_output.is_none())
    }

    /// Whether it gets pictures if neither its entry nor a file says so; a vendor's models do at the vendor's own address alone.
    pub(super) fn sees_by_default(&self) -> bool {
        self.kind.traits().vision && (self.kind.is_recording() || self.base_url.is_none())
    }

    /// Whether it gets pictures.
    pub fn sees(&self) -> bool {
        self.vision == Some(true)
    }

    /// Whether it gets the short form of the rules.
    pub fn is_told_briefly(&self) -> bool {
        match self.prompt {
            PromptLength::Auto => self.context_tokens <= SMALL_WINDOW,
            PromptLength::Short => true,
            PromptLength::Long => false,
        }
    }

    /// Its name for people: `openai qwen`; a recording by its file.
    pub fn shown(&self) -> String {
        let script = self.script.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
        let name = if self.kind.is_recording() { script.unwrap_or_default() } else { (&self.name).into() };
        format!("{} {name}", self.kind.word()).trim_end().to_owned()
    }
}

/// Whether an address is one of a network's inside, also one that providers and Tailscale share out (100.64.0.0/10, RFC 6598).
fn is_inside(ip: Ipv4Addr) -> bool {
    let [first, second, ..] = ip.octets();
    let shared = first == 100 && second & 0xc0 == 64;
    shared || ip.is_loopback() || ip.is_private() || ip.is_link_local()
}

/// How a model works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelStyle {
    /// Determined by three tests; a model on a vendor's own server is assumed to support tools.
    Auto,
    /// It works by itself, by tool calls.
    Tools,
    /// It works by itself, with one command or file per answer, for models without tool calls.
    Text,
    /// It gets the issue and files and returns changed files, and the host runs the checks; for small models.
    Files,
}

impl ModelStyle {
    /// Its spelling in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Tools => "tools",
            Self::Text => "text",
            Self::Files => "files",
        }
    }
}

/// Length of the rules for a model that works with tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptLength {
    /// Short for a small window.
    Auto,
    /// Without the rules that the host enforces anyway.
    Short,
    /// All of the rules.
    Long,
}

/// `[commands]`: models for single commands, in place of their roles' models. Each table has its line in `defaults.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Commands(BTreeMap<TaskKind, CommandModel>);

/// One command's own model.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandModel {
    /// An entry's `id`; empty = for `/test` and `/refactor` as `/fix`, for what only reads as `/plan`, and for these two as the role.
    pub model: String,
}

impl Commands {
    /// Each kind of task whose command names an entry, with that entry's id.
    pub fn named(&self) -> impl Iterator<Item = (TaskKind, &str)> {
        let named = self.0.iter().filter(|(_, own)| !own.model.is_empty());
        named.map(|(kind, own)| (*kind, own.model.as_str()))
    }
}

/// All models of the configuration, in order; never empty, and after validation one is the worker.
#[derive(Clone, Debug)]
pub struct Models {
    entries: Vec<Model>,
    /// Entries that commands name in place of their role's, by `id`.
    named: Vec<(TaskKind, String)>,
    /// What repositories list, by `id`.
    listed_ids: Vec<String>,
    /// All of them are listed for one repository.
    within: bool,
    /// Whether they were written as `[[model]]`.
    pub(super) listed: bool,
}

impl Models {
    /// All entries, in the order of the configuration.
    pub fn all(&self) -> &[Model] {
        &self.entries
    }

    /// The model for a role. `[commands.fix]` goes before the worker, `[commands.plan]` before the planner.
    pub fn of(&self, role: Role) -> &Model {
        let own = match role {
            Role::Worker => self.of_command(TaskKind::Fix),
            Role::Planner => self.of_command(TaskKind::Plan),
            Role::Summarizer | Role::Reviewer => None,
        };
        let named = |role| self.entries.iter().find(|entry| entry.roles.contains(&role));
        own.or_else(|| named(role)).or_else(|| named(Role::Worker)).unwrap_or(&self.entries[0])
    }

    fn of_command(&self, kind: TaskKind) -> Option<&Model> {
        self.named.iter().find(|(of, _)| *of == kind).and_then(|(_, id)| self.by_id(id))
    }

    /// The commands that name a model for their own tasks alone, with that model; what stands for `/fix` and `/plan` is a role's.
    pub fn of_commands(&self) -> impl Iterator<Item = (TaskKind, &Model)> {
        let own = self.named.iter().filter(|(kind, _)| !matches!(kind, TaskKind::Fix | TaskKind::Plan));
        own.filter_map(|(kind, id)| Some((*kind, self.by_id(id)?)))
    }

    /// Whether an entry has this role, without the worker's fallback.
    pub fn names(&self, role: Role) -> bool {
        self.entries.iter().any(|entry| entry.roles.contains(&role))
    }

    /// Sets the entries that commands name.
    pub(super) fn name(&mut self, commands: &Commands) {
        self.named = commands.named().map(|(kind, id)| (kind, id.to_owned())).collect();
    }

    /// Takes up what repositories list.
    pub(super) fn list(&mut self, ids: Vec<String>) {
        self.listed_ids = ids;
    }

    /// Those that a repository lists, in its order. The first of them has each role that none of them names; ids without an entry are
    /// passed over.
    pub(super) fn within(&self, ids: &[String]) -> Self {
        let mut entries: Vec<Model> = ids.iter().filter_map(|id| self.by_id(id)).cloned().collect();
        if entries.is_empty() {
            // No checked configuration lists only what is not there.
            entries.push(self.worker().clone());
        }
        let named = self.named.iter().filter(|(_, id)| ids.contains(id)).cloned().collect();
        Self { entries, named, listed_ids: Vec::new(), within: true, listed: self.listed }
    }

    /// Whether these are what one repository lists.
    pub fn is_within(&self) -> bool {
        self.within
    }

    /// The model for `/fix`, and for every role without a model.
    pub fn worker(&self) -> &Model {
        self.of(Role::Worker)
    }

    /// The entry with this `id`, if there is one.
    pub fn by_id(&self, id: &str) -> Option<&Model> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// The entries that are asked where this one does not answer, in order. What is meant for a local server goes to one that is
    /// not local only where a repository lists both.
    pub fn fallbacks(&self, entry: &Model) -> Vec<&Model> {
        let may = |other: &&Model| self.within || other.is_local() || !entry.is_local();
        entry.fallback.iter().filter_map(|id| self.by_id(id)).filter(may).collect()
    }

    /// Ids of its fallback that [`Models::fallbacks`] leaves out.
    pub fn kept_back<'a>(&self, entry: &'a Model) -> impl Iterator<Item = &'a str> {
        let asked: Vec<String> = self.fallbacks(entry).into_iter().map(|other| other.id.clone()).collect();
        entry.fallback.iter().filter(move |id| !asked.contains(id)).map(String::as_str)
    }

    /// The entries that people may name.
    pub fn nameable(&self) -> impl Iterator<Item = &Model> {
        self.entries.iter().filter(|entry| entry.by_name)
    }

    /// Every entry that may be asked: those with a role, those that commands or people may name, those that repositories list, and
    /// those that stand in for one.
    pub fn used(&self) -> Vec<&Model> {
        let of_roles = Role::ALL.into_iter().map(|role| self.of(role));
        let of_commands = self.of_commands().map(|(_, entry)| entry);
        let first: Vec<&Model> = of_roles.chain(of_commands).chain(self.nameable()).collect();
        let stands_in = |entry: &Model| first.iter().flat_map(|it| self.fallbacks(it)).any(|it| it.id == entry.id);
        let named = |entry: &Model| first.iter().any(|it| it.id == entry.id) || self.listed_ids.contains(&entry.id);
        self.entries.iter().filter(|entry| named(entry) || stands_in(entry)).collect()
    }

    /// The roles of an entry, including those it has as the fallback.
    pub fn roles(&self, entry: &Model) -> Vec<Role> {
        Role::ALL.into_iter().filter(|role| self.of(*role).id == entry.id).collect()
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Model> {
        self.entries.iter_mut()
    }

    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        self.entries.iter_mut().flat_map(|entry| entry.key_file.iter_mut().chain(entry.script.iter_mut()))
    }
}

impl<'de> Deserialize<'de> for Models {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(TableOrList)
    }
}

/// Parses both forms, each with its own errors.
struct TableOrList;

impl<'de> Visitor<'de> for TableOrList {
    type Value = Models;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table [model], or one [[model]] for each model")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Models, A::Error> {
        Model::deserialize(MapAccessDeserializer::new(map)).map(|one| Models {
            entries: vec![one],
            named: Vec::new(),
            listed_ids: Vec::new(),
            within: false,
            listed: false,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Models, A::Error> {
        let entries = Vec::<Model>::deserialize(SeqAccessDeserializer::new(list))?;
        match entries.is_empty() {
            true => Err(serde::de::Error::custom("no model is there; write [model], or one [[model]] for each")),
            false => Ok(Models { entries, named: Vec::new(), listed_ids: Vec::new(), within: false, listed: true }),
        }
    }
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
