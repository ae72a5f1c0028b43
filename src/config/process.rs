//! The process's own configuration, typed. `defaults.toml` describes each key.

pub use super::artifacts::Artifacts;
pub use super::ci::Ci;
pub use super::egress::Egress;
use super::fields::{address, database, path};
pub use super::limits::{Advisories, GitLimits, Keep, Tests};
pub use super::model::{Commands, Model, ModelKind, ModelStyle, Models, PromptLength, Role};
pub use super::origin::{Origin, Origins};
pub use super::own_egress::OwnEgress;
pub use super::own_tests::OwnTests;
use super::shared::Shared;
pub use super::slots::{Checkpoint, OwnSlots, Slots, Start};
pub use super::upstream::{Upstream, UpstreamHost, UpstreamIssues};
pub use super::who::Who;
use domain::Merging;
use protocol::broker::ContainerLimits;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use url::Url;

/// Everything in `caisson.toml`; only [`Process::load`] makes one, so that it is always validated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Folder of the store, the local repositories and this installation's keys; made with mode 0700.
    pub state_dir: PathBuf,
    /// Short name in every container, network and volume of this installation; unique among those of one engine.
    pub installation: String,
    /// Tasks that work at the same time, at least 1; a task that waits for a person does not count.
    pub max_tasks: usize,
    /// `[slots]`: how many of them may be one repository's, and one person's.
    pub slots: Slots,
    /// Logins whose words never count, besides the bot's own two accounts; compared without regard to case.
    pub automation_accounts: Vec<String>,
    /// `[store]`: the database.
    pub store: Store,
    /// `[forge]`: the forge, and the bot's accounts there.
    pub forge: Forge,
    /// `[upstream]`: what repositories were copied from.
    pub upstream: Upstream,
    /// `[git]`: what is fetched.
    pub git: GitLimits,
    /// `[listen]`: the HTTP listeners.
    pub listen: Listen,
    /// `[model]`, or one `[[model]]` for each.
    #[serde(rename = "model")]
    pub models: Models,
    /// `[commands.<name>]`: a model for one command.
    pub commands: Commands,
    /// `[who]`: who may give which command.
    pub who: Who,
    /// `[prices]`: what models cost where their entries do not say it.
    pub prices: Prices,
    /// `[sandbox]`: what sandboxes are made with where a repository has no table of its own.
    pub sandbox: Sandbox,
    /// `[tests]`: runs that somebody asks for with `/test-pr`.
    pub tests: Tests,
    /// `[advisories]`: what is known of packages.
    pub advisories: Advisories,
    /// `[router]`: the router of sandboxes.
    pub router: Router,
    /// `[egress]`: what sandboxes may reach.
    pub egress: Egress,
    /// `[[policy]]`: rules about single actions, for every repository.
    #[serde(default)]
    pub policy: Vec<crate::policy::Written>,
    /// `[budget]`: what a task may use where its repository has no table of its own.
    pub budget: Budget,
    /// `[keep]`: how long old data is kept.
    pub keep: Keep,
    /// `[broker]`: the broker to the container engine.
    pub broker: Broker,
    /// One `[[repositories]]` each: whole entries, and the operator's tables for entries of the store. All of them:
    /// [`Process::repositories`].
    #[serde(default)]
    pub(super) repositories: Vec<Repository>,
    /// The whole entries of the file and those of the store; every copy of this configuration sees the same.
    #[serde(skip)]
    pub(super) shared: Shared<Repository>,
    /// The file this came from; relative paths have been made absolute against its folder.
    #[serde(skip)]
    pub file: PathBuf,
}

/// `[prices]`: the operator's own file of prices and windows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// A file in the format of `prices.toml`, which has priority over it; none = only that one.
    #[serde(deserialize_with = "path")]
    pub file: Option<PathBuf>,
}

/// `[store]`: the database with tasks, logs and deliveries.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// A PostgreSQL database's address, without a password; none = SQLite in the state directory.
    #[serde(deserialize_with = "database")]
    pub url: Option<Url>,
    /// File with the password of the PostgreSQL user; none = connect without one.
    #[serde(deserialize_with = "path")]
    pub password_file: Option<PathBuf>,
}

/// `[forge]`: where the forge is, and the bot's two accounts there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forge {
    /// The forge's address as the bot reaches it; none before `caisson setup`.
    #[serde(deserialize_with = "address")]
    pub url: Option<Url>,
    /// The forge's address in people's browsers; none = `url`.
    #[serde(deserialize_with = "address")]
    pub public_url: Option<Url>,
    /// Address of the webhook listener as the forge reaches it, without a path; none = `http://<listen.webhooks>`.
    #[serde(deserialize_with = "address")]
    pub bot_url: Option<Url>,
    /// File with the token of the account that works; none = not set.
    #[serde(deserialize_with = "path")]
    pub token_file: Option<PathBuf>,
    /// File with the token of the account that keeps the default branch in step; none = not set.
    #[serde(deserialize_with = "path")]
    pub sync_token_file: Option<PathBuf>,
    /// How long an interrupted request may still take effect before its outcome is judged, in milliseconds.
    pub settle_ms: u64,
    /// Pause between two readings of the forge that no webhook asked for, in seconds; at least 1.
    pub poll_s: u64,
    /// The least time between two edits of the status comment of a task at work, in seconds; at least 1.
    pub status_edit_s: u64,
    /// How often a task that waits is read though nothing names it, in seconds; at least 1.
    pub waiting_s: u64,
}

/// `[listen]`: the two HTTP listeners and their limits.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// Address and port that take webhooks.
    pub webhooks: SocketAddr,
    /// Address and port of `/healthz`, `/readyz` and `/metrics`; meant for loopback.
    pub ops: SocketAddr,
    /// Largest webhook body that is taken, in bytes; at least 4096.
    pub max_body_bytes: usize,
    /// Connections that one client address may hold at once on the webhook listener.
    pub connections_per_address: u32,
    /// Webhooks with a wrong signature from one client address in a minute, before it is turned away.
    pub bad_signatures_per_minute: u32,
}

/// Network of a task's sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Through the router, to allowed names only.
    Router,
    /// No network at all.
    None,
}

/// Hardening of a task's sandbox; each value is a profile of the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Hardening {
    /// The strictest.
    Sealed,
    /// With ptrace inside the sandbox, for debuggers.
    Debug,
}

impl Hardening {
    /// Its spelling in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sealed => "sealed",
            Self::Debug => "debug",
        }
    }
}

/// `[sandbox]`, or one repository's over it: what sandboxes are made from, and what each may use.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sandbox {
    /// Reference of the image for a task whose repository picks none.
    pub image: String,
    /// References of further images that a repository may pick.
    pub images: Vec<String>,
    /// Images by the toolchain's name; an empty one is not offered.
    pub toolchains: BTreeMap<String, String>,
    /// Whether sandboxes have a network.
    pub network: Network,
    /// Profile of the broker for tasks' sandboxes; what tests and checks run in is always sealed.
    pub hardening: Hardening,
    /// Memory, in MiB; at least 64.
    pub memory_mib: u64,
    /// Processes and threads at once; at least 16.
    pub pids: u32,
    /// Processor cores, above 0; `1.5` is one and a half.
    pub cpus: f64,
    /// Size of the workspace in memory, in MiB; 0 = workspace and home on the engine's disk.
    pub workspace_mib: u64,
    /// Most that workspace and home on disk may take together, in MiB; 0 = no limit.
    pub disk_mib: u64,
    /// Free space that a disk with workspaces must keep, at least a fiftieth of it, in MiB; 0 = not checked.
    pub disk_floor_mib: u64,
    /// Size of `/tmp`, which is in memory, in MiB; also of the home where the workspace is in memory.
    pub tmp_mib: u64,
    /// Open files of one process.
    pub nofile: u64,
    /// Longest run of one action, in seconds; at least 1.
    pub action_wall_s: u64,
    /// Longest output of one action, in KiB, 1 to 768; the middle of a longer one is left out.
    pub action_output_kib: u64,
    /// Longest run of one verification, in seconds; at least 1.
    pub verify_wall_s: u64,
    /// Size from which a repository is kept in an engine volume and not sent into each sandbox, in MiB; 0 = always.
    pub mirror_from_mib: u64,
    /// Longest run of one setup command, in seconds; at least 1.
    pub setup_wall_s: u64,
    /// Largest size of each of the two archives with what setup left for one state of a repository, in MiB; at least 1.
    pub setup_mib: u64,
    /// Most that the results of setup take in all, in MiB; beyond it the longest unused one is deleted.
    pub setup_total_mib: u64,
    /// How long a task waits before its sandbox with a workspace on disk is stopped, in seconds; 0 = never.
    pub stop_after_s: u64,
    /// How long a task waits before its sandbox is removed, in seconds; 0 = never.
    pub evict_after_s: u64,
    /// Age from which the sandbox of a waiting task is removed, in seconds; 0 = never.
    pub max_age_s: u64,
}

/// `[router]`: the only connection of sandboxes to other networks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// Reference of the router's image.
    pub image: String,
    /// How many sandboxes can have a network at the same time, 1 to 62; the barrier's self-test takes two more.
    pub subnets: u32,
    /// Range of addresses that the networks of sandboxes are cut from, such as `10.213.0.0/20`.
    pub pool: String,
    /// Resolver for allowed names, as an address with or without a port; empty = the machine's own.
    pub upstream: String,
}

/// `[budget]`, or one repository's over it: what a task may use, and how much more it may be granted.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// US dollars before a task pauses; 0 = no limit.
    pub dollars: f64,
    /// Tokens of all model calls before a task pauses; above 0.
    pub tokens: u64,
    /// Actions before a task pauses; above 0.
    pub actions: u32,
    /// Minutes of work (model calls and actions, not waiting) before a task pauses; above 0.
    pub minutes: u32,
    /// US dollars that all tasks may use in a day (UTC): those of the repository, or, in `[budget]`, of all repositories; 0 = no limit.
    pub day_dollars: f64,
    /// As `day_dollars`, in a calendar month (UTC).
    pub month_dollars: f64,
    /// Who may grant more.
    pub granted_by: GrantedBy,
    /// Most US dollars that one task may be granted in all, `dollars` included; 0 = no ceiling.
    pub most_dollars: f64,
    /// As `most_dollars`, in tokens.
    pub most_tokens: u64,
    /// As `most_dollars`, in actions.
    pub most_actions: u32,
    /// As `most_dollars`, in minutes of work.
    pub most_minutes: u32,
}

/// Who may grant a task more with `/budget`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GrantedBy {
    /// Accounts with at least write access to the repository's code.
    Writers,
    /// Accounts with at least admin access to the repository.
    Admins,
    /// No account.
    Nobody,
}

/// `[broker]`: access to the container engine; all but the socket is for the broker that `caisson serve` starts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Broker {
    /// Path of the broker's Unix socket; a relative one is below `state_dir`.
    pub socket: PathBuf,
    /// Whether `serve` starts one where none answers; otherwise it is somebody else's.
    pub start: bool,
    /// Runtime of the engine; empty = the engine's default.
    pub runtime: String,
    /// Graphics processors: `none`, `all`, or ids, validated by the broker.
    pub gpus: String,
    /// Whether sandboxes may have workspace and home on the engine's disk, which has no quota for them.
    pub plain_workspaces: bool,
}

/// One repository the bot works on: an entry of the file, or of the store with the operator's tables of the file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repository {
    /// Lower-case letters, digits and hyphens, used for the hook's path and the local repository's directory.
    pub key: String,
    /// Account or organisation that owns it on the forge, as written when it was added.
    #[serde(default)]
    pub owner: String,
    /// Its name on the forge, without the owner, as written when it was added.
    #[serde(default)]
    pub name: String,
    /// The forge's number of it, above 0, which stays when it is renamed; every webhook is matched against it.
    #[serde(default)]
    pub id: i64,
    /// Files with the webhook's secret, the newest first; two while it is being changed, otherwise one. None for an entry of the store.
    #[serde(default)]
    pub secret_files: Vec<PathBuf>,
    /// Branch that tasks begin from and pull requests aim at.
    #[serde(default = "main_branch")]
    pub default_branch: String,
    /// Path or URL of the repository that this one was copied from; empty = none. Of an entry of the store never a path.
    #[serde(default)]
    pub upstream: String,
    /// GitHub's number of that repository, which stays when it is renamed; 0 = not known, or not on GitHub.
    #[serde(default)]
    pub upstream_id: u64,
    /// Branches that are kept in step with the upstream besides `default_branch`.
    #[serde(default)]
    pub branches: Vec<String>,
    /// Where an entry of the store was copied from, when that is a path of the host where it was added: shown, and never opened.
    #[serde(skip)]
    pub copied_from: String,
    /// Whether it is an entry of the store and not of the file.
    #[serde(skip)]
    pub from_store: bool,
    /// The hashes of the wishes that the operator accepted ([`super::project::Project::hash`]); empty = none.
    #[serde(default)]
    pub accepted: String,
    /// Webhooks, deploy keys and the like on the forge that are not the bot's, each accepted by name.
    #[serde(default)]
    pub accepted_foreign: Vec<String>,
    /// Ids of the models that may be shown what it holds; empty = all: [`Process::models_of`].
    #[serde(default)]
    pub models: Vec<String>,
    /// `[repositories.sandbox]`, filled from `[sandbox]`: [`Process::sandbox_of`].
    #[serde(default)]
    pub sandbox: Option<Sandbox>,
    /// `[repositories.budget]`, filled from `[budget]`: [`Process::budget_of`].
    #[serde(default)]
    pub budget: Option<Budget>,
    /// `[repositories.checkpoint]`: when a person is asked.
    #[serde(default)]
    pub checkpoint: Checkpoint,
    /// `[repositories.slots]`: how many of its tasks may work at the same time.
    #[serde(default)]
    pub slots: OwnSlots,
    /// `[repositories.start]`: what begins work without a command.
    #[serde(default)]
    pub start: Start,
    /// `[repositories.ci]`: whether the forge's CI is waited for before finished work is shown.
    #[serde(default)]
    pub ci: Ci,
    /// `[repositories.artifacts]`: how much is taken beside finished work.
    #[serde(default)]
    pub artifacts: Artifacts,
    /// `[repositories.upstream_issues]`: which issues of the upstream are opened on the forge.
    #[serde(default)]
    pub upstream_issues: UpstreamIssues,
    /// `[repositories.who]`: who may give which command here, each in place of `[who]`'s.
    #[serde(default)]
    pub who: Who,
    /// `[repositories.egress]`: what its sandboxes may reach besides `[egress]`, and what not: [`Process::denied_of`].
    #[serde(default)]
    pub egress: OwnEgress,
    /// `[repositories.tests]`: what its test runs may reach.
    #[serde(default)]
    pub tests: OwnTests,
    /// Whether the bot merges finally approved work on the forge, where the repository is no copy of another one.
    #[serde(default)]
    pub merge: Merging,
    /// Whether the file has settings of it, even if each is as it would be without a word.
    #[serde(skip)]
    pub has_settings: bool,
}

fn main_branch() -> String {
    "main".to_owned()
}

impl Sandbox {
    /// Whether sandboxes have a network, even one without allowed hosts.
    pub fn networked(&self) -> bool {
        self.network == Network::Router
    }

    /// Limits of one task's sandbox.
    pub fn limits(&self) -> ContainerLimits {
        ContainerLimits {
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

pub(super) fn each_once(images: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for image in images {
        if !all.contains(&image) {
            all.push(image);
        }
    }
    all
}

impl Process {
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
        // Relative to the state directory, where it is by default.
        self.broker.socket = self.state_dir.join(&self.broker.socket);
        let Self { forge, store, prices, .. } = self;
        for file in [&mut forge.token_file, &mut forge.sync_token_file, &mut store.password_file, &mut prices.file] {
            file.iter_mut().for_each(fix);
        }
        self.upstream.hosts.iter_mut().filter_map(|host| host.token_file.as_mut()).for_each(fix);
        let data = self.advisories.dir.iter_mut().chain(&mut self.advisories.newest_dir);
        data.chain(self.models.paths()).for_each(fix);
        self.repositories.iter_mut().flat_map(|r| &mut r.secret_files).for_each(fix);
    }
}
