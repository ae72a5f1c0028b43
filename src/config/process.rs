//! The process's own configuration, typed. What each key means stands in `defaults.toml`, and only there.

use super::fields::{address, database, path};
pub use super::model::{Model, ModelKind, ModelStyle, Models, PromptLength, Role};
use super::rule::OperatorRule;
use domain::ACTIONS_PER_CHECKPOINT;
use protocol::broker::ChamberLimits;
use protocol::router::Caps;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use url::Url;

/// Everything in `caisson.toml`. Made by [`Process::load`] only, so that it is always checked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    pub state_dir: PathBuf,
    pub installation: String,
    pub max_tasks: usize,
    pub automation_accounts: Vec<String>,
    pub store: Store,
    pub forge: Forge,
    pub listen: Listen,
    /// `[model]`, or one `[[model]]` for each.
    #[serde(rename = "model")]
    pub models: Models,
    pub sandbox: Sandbox,
    pub router: Router,
    pub egress: Egress,
    pub budget: Budget,
    pub keep: Keep,
    pub broker: Broker,
    #[serde(default)]
    pub repositories: Vec<Repository>,
    /// The file this came from; relative paths have been made absolute against its folder.
    #[serde(skip)]
    pub file: PathBuf,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// A PostgreSQL database's address, without a password; none = SQLite in the state directory.
    #[serde(deserialize_with = "database")]
    pub url: Option<Url>,
    #[serde(deserialize_with = "path")]
    pub password_file: Option<PathBuf>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forge {
    #[serde(deserialize_with = "address")]
    pub url: Option<Url>,
    #[serde(deserialize_with = "address")]
    pub public_url: Option<Url>,
    #[serde(deserialize_with = "address")]
    pub bot_url: Option<Url>,
    #[serde(deserialize_with = "path")]
    pub token_file: Option<PathBuf>,
    #[serde(deserialize_with = "path")]
    pub sync_token_file: Option<PathBuf>,
    pub settle_ms: u64,
    pub poll_s: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    pub webhooks: SocketAddr,
    pub ops: SocketAddr,
    pub max_body_bytes: usize,
    pub connections_per_address: u32,
    pub bad_signatures_per_minute: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    Router,
    None,
}

/// How tight a task's sandbox is; each is a profile of the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Hardening {
    /// As tight as it gets.
    Sealed,
    /// With ptrace inside the sandbox, for debuggers.
    Debug,
}

impl Hardening {
    pub fn word(self) -> &'static str {
        match self {
            Self::Sealed => "sealed",
            Self::Debug => "debug",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sandbox {
    pub image: String,
    pub images: Vec<String>,
    /// Images by the toolchain's name; an empty one is not offered.
    pub toolchains: BTreeMap<String, String>,
    pub network: Network,
    pub hardening: Hardening,
    pub memory_mib: u64,
    pub pids: u32,
    pub cpus: f64,
    pub workspace_mib: u64,
    pub disk_mib: u64,
    pub disk_floor_mib: u64,
    pub tmp_mib: u64,
    pub nofile: u64,
    pub action_wall_s: u64,
    pub action_output_kib: u64,
    pub verify_wall_s: u64,
    pub mirror_from_mib: u64,
    pub setup_wall_s: u64,
    pub setup_mib: u64,
    pub setup_total_mib: u64,
    pub stop_after_s: u64,
    pub evict_after_s: u64,
    pub max_age_s: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Router {
    pub image: String,
    pub berths: u32,
    pub pool: String,
    pub upstream: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Egress {
    pub allow: Vec<String>,
    pub deny: Vec<String>,
    /// `[[egress.rule]]`: rules that say why they stand.
    #[serde(default, rename = "rule")]
    pub rules: Vec<OperatorRule>,
    pub private_ranges: Vec<String>,
    pub refuse_ech: bool,
    pub upload_note_kib: u64,
    pub caps: Caps,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    pub dollars: f64,
    pub tokens: u64,
    pub actions: u32,
    pub minutes: u32,
    pub granted_by: GrantedBy,
    pub most_dollars: f64,
    pub most_tokens: u64,
    pub most_actions: u32,
    pub most_minutes: u32,
}

/// Who may grant a task more with `/budget`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GrantedBy {
    Writers,
    Admins,
    Nobody,
}

impl Budget {
    /// What one task may use.
    pub fn granted(&self) -> domain::Budget {
        amounts(self.dollars, self.tokens, self.actions, self.minutes)
    }

    /// The most that one task may be granted in all.
    pub fn ceiling(&self) -> domain::Budget {
        amounts(self.most_dollars, self.most_tokens, self.most_actions, self.most_minutes)
    }

    pub fn granters(&self) -> domain::Granters {
        match self.granted_by {
            GrantedBy::Writers => domain::Granters::Writers,
            GrantedBy::Admins => domain::Granters::Admins,
            GrantedBy::Nobody => domain::Granters::Nobody,
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked to be finite and not negative; `as` saturates
fn amounts(dollars: f64, tokens: u64, actions: u32, minutes: u32) -> domain::Budget {
    let (micro_usd, work_ms) = ((dollars * 1e6) as u64, u64::from(minutes) * 60_000);
    domain::Budget { micro_usd, tokens, actions: u64::from(actions), work_ms }
}

/// Days; 0 = for ever.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    pub deliveries_days: u32,
    pub details_days: u32,
    pub tasks_days: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Broker {
    pub socket: PathBuf,
    /// Empty = the engine's default.
    pub runtime: String,
    /// `none`, `all`, or ids; the broker judges it.
    pub gpus: String,
    pub plain_workspaces: bool,
}

/// One repository the bot works on.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repository {
    /// Lower-case letters, digits and hyphens: the hook's path and the local repository's folder.
    pub key: String,
    pub owner: String,
    pub name: String,
    pub id: i64,
    pub secret_files: Vec<PathBuf>,
    #[serde(default = "main_branch")]
    pub default_branch: String,
    #[serde(default)]
    pub upstream: String,
    #[serde(default)]
    pub accepted: String,
    #[serde(default)]
    pub accepted_foreign: Vec<String>,
    /// `[repositories.sandbox]`, filled from `[sandbox]`: [`Process::sandbox_of`].
    #[serde(default)]
    pub sandbox: Option<Sandbox>,
    /// `[repositories.budget]`, filled from `[budget]`: [`Process::budget_of`].
    #[serde(default)]
    pub budget: Option<Budget>,
    #[serde(default)]
    pub checkpoint: Checkpoint,
}

/// When a person is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Actions between two approvals, at most [`ACTIONS_PER_CHECKPOINT`], which it is where nothing is said.
    pub every: Option<u8>,
}

fn main_branch() -> String {
    "main".to_owned()
}

impl Sandbox {
    /// Whether there is a way out, and be it to no host.
    pub fn networked(&self) -> bool {
        self.network == Network::Router
    }

    /// What one task's sandbox may use.
    pub fn limits(&self) -> ChamberLimits {
        ChamberLimits {
            memory_bytes: self.memory_mib << 20,
            pids: u64::from(self.pids),
            cpus: self.cpus,
            workspace_bytes: self.workspace_mib << 20,
            disk_bytes: self.disk_mib << 20,
            disk_floor_bytes: self.disk_floor_mib << 20,
            tmp_bytes: self.tmp_mib << 20,
            nofile: self.nofile,
        }
    }
}

impl Sandbox {
    /// Toolchains that are offered, with the image of each.
    pub fn offered(&self) -> impl Iterator<Item = (&str, &str)> {
        self.toolchains
            .iter()
            .filter(|(_, image)| !image.is_empty())
            .map(|(name, image)| (name.as_str(), image.as_str()))
    }

    /// Every image a sandbox may be made from: `image` first, each once.
    pub fn all_images(&self) -> Vec<String> {
        let own = std::iter::once(&self.image).chain(&self.images).cloned();
        each_once(own.chain(self.offered().map(|(_, image)| image.to_owned())))
    }
}

fn each_once(images: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for image in images {
        if !all.contains(&image) {
            all.push(image);
        }
    }
    all
}

impl Process {
    /// Every image that is named here, the router's too.
    pub fn images(&self) -> Vec<String> {
        let mut all = self.sandbox_images();
        all.push(self.router.image.clone());
        all
    }

    /// Every image that a sandbox of any repository may be made from, each once.
    pub fn sandbox_images(&self) -> Vec<String> {
        each_once(self.sandboxes().flat_map(Sandbox::all_images))
    }

    /// As [`Process::sandbox_images`], without those that are offered as toolchains.
    pub fn listed_images(&self) -> Vec<String> {
        each_once(self.sandboxes().flat_map(|sandbox| std::iter::once(&sandbox.image).chain(&sandbox.images)).cloned())
    }

    /// The operator's table, and what repositories have of their own.
    fn sandboxes(&self) -> impl Iterator<Item = &Sandbox> {
        std::iter::once(&self.sandbox).chain(self.repositories.iter().filter_map(|it| it.sandbox.as_ref()))
    }

    /// What sandboxes of this repository are made with.
    pub fn sandbox_of(&self, key: &str) -> &Sandbox {
        self.repository(key).and_then(|repository| repository.sandbox.as_ref()).unwrap_or(&self.sandbox)
    }

    /// What a task of this repository may use.
    pub fn budget_of(&self, key: &str) -> &Budget {
        self.repository(key).and_then(|repository| repository.budget.as_ref()).unwrap_or(&self.budget)
    }

    /// After how many actions a task of this repository asks, 1 to [`ACTIONS_PER_CHECKPOINT`].
    pub fn every_of(&self, key: &str) -> u8 {
        self.repository(key).and_then(|repository| repository.checkpoint.every).unwrap_or(ACTIONS_PER_CHECKPOINT)
    }

    /// The repository of this key.
    pub fn repository(&self, key: &str) -> Option<&Repository> {
        self.repositories.iter().find(|r| r.key == key)
    }

    /// The forge as people reach it. None before `caisson setup`.
    pub fn people_url(&self) -> Option<&Url> {
        self.forge.public_url.as_ref().or(self.forge.url.as_ref())
    }

    /// The hook's address for one repository, as the forge reaches it.
    pub fn hook_url(&self, key: &str) -> String {
        let base = match &self.forge.bot_url {
            Some(url) => url.as_str().trim_end_matches('/').to_owned(),
            None => format!("http://{}", self.listen.webhooks),
        };
        format!("{base}/webhooks/gitea/{key}")
    }

    /// The file whose random bytes key this installation's marks.
    pub fn mark_key_file(&self) -> PathBuf {
        self.state_dir.join("mark.key")
    }

    pub(super) fn make_absolute(&mut self, folder: &Path) {
        let fix = |path: &mut PathBuf| *path = folder.join(&*path);
        fix(&mut self.state_dir);
        // The socket lives with the state unless somebody said where.
        self.broker.socket = self.state_dir.join(&self.broker.socket);
        for optional in [&mut self.forge.token_file, &mut self.forge.sync_token_file, &mut self.store.password_file] {
            optional.iter_mut().for_each(fix);
        }
        self.models.paths().for_each(fix);
        self.repositories.iter_mut().flat_map(|r| &mut r.secret_files).for_each(fix);
    }
}
