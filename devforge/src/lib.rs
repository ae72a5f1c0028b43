//! A small forge that behaves like Gitea 1.25.4, for tests in the process and for the demo without a Gitea. Owns the part of Gitea's API
//! that Caisson, its setup and the contract suite call; signed hooks; git over HTTP by git's own `http-backend`; plain pages for people;
//! and Gitea's traps as switches. State is in memory, repositories in a directory. Must never be linked into the bot itself nor be
//! reachable from a network, because it has no limits against misuse. Tests: in each file, and `tests/contract.rs` of the root package,
//! which runs one suite against this and a real Gitea.

#![recursion_limit = "256"]

mod api;
mod attachments;
mod changes;
mod closing;
mod dependencies;
mod faults;
mod forks;
mod git;
mod hooks;
mod issues;
mod json;
mod markdown;
mod names;
mod pages;
mod person;
mod plans;
mod posting;
mod reviews;
mod routes;
mod smart_http;
mod team;
mod teams;
mod traps;
mod trouble;
mod world;

pub use person::Person;
pub use plans::{Fault, Route};
pub use reviews::{NewNote, NewReview};
pub use traps::Traps;
pub use world::{Access, Refusal, ReviewState};

use anyhow::Context;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Options of a forge. The default is a free loopback port, a temporary directory, and the harmless traps.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which habits of a real Gitea are imitated.
    pub traps: Traps,
    /// Listening address; port 0 = any free one. Another address than loopback is only for closed networks of the machine (containers).
    pub listen: SocketAddr,
    /// Directory of the repositories; none = a temporary one.
    pub dir: Option<PathBuf>,
    /// The forge's own base URL; none = its listening address.
    pub url: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { traps: Traps::default(), listen: (Ipv4Addr::LOCALHOST, 0).into(), dir: None, url: None }
    }
}

impl Options {
    /// Options without traps, for tests of other things.
    pub fn quiet() -> Self {
        Self { traps: Traps::none(), ..Self::default() }
    }
}

/// A running forge, which ends when it is dropped; its site admin is `root`.
pub struct Devforge {
    shared: Arc<api::Shared>,
    url: String,
    admin_token: String,
    tasks: Vec<tokio::task::JoinHandle<()>>,
    _dir: Option<tempfile::TempDir>,
}

impl Drop for Devforge {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Devforge {
    /// Starts a forge on the current tokio runtime; fails if its directory can't be made or its address can't be
    /// listened on.
    pub async fn start(options: Options) -> anyhow::Result<Self> {
        let temporary = if options.dir.is_none() { Some(tempfile::tempdir()?) } else { None };
        let root = match (&options.dir, &temporary) {
            (Some(dir), _) => dir.clone(),
            (None, Some(dir)) => dir.path().to_owned(),
            (None, None) => anyhow::bail!("no directory for the repositories"),
        };
        std::fs::create_dir_all(&root).with_context(|| format!("cannot make {}", root.display()))?;
        let listener = tokio::net::TcpListener::bind(options.listen)
            .await
            .with_context(|| format!("cannot listen on {}; is the port taken?", options.listen))?;
        let url = options.url.unwrap_or(format!("http://{}", listener.local_addr()?));
        let (postings, queue) = tokio::sync::mpsc::unbounded_channel();
        let mut world = world::World::new(url.clone(), postings);
        world.add_account("root", "", true).map_err(|e| anyhow::anyhow!(e.message))?;
        let admin_token =
            world.add_token("root", "start", vec!["all".into()]).map_err(|e| anyhow::anyhow!(e.message))?.value;
        let switches = Arc::new(traps::Switches::new(options.traps));
        let shared = Arc::new(api::Shared { world: Mutex::new(world), switches: Arc::clone(&switches), root });
        let app = routes::router(Arc::clone(&shared));
        let serve = async move {
            if let Err(e) = axum::serve(listener, app).await {
                tracing::error!("devforge ended: {e}");
            }
        };
        let tasks = vec![tokio::spawn(serve), tokio::spawn(hooks::deliver(queue, switches))];
        Ok(Self { shared, url, admin_token, tasks, _dir: temporary })
    }

    /// Base URL without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The site admin's token, with every scope.
    pub fn admin_token(&self) -> &str {
        &self.admin_token
    }

    /// Adds an account with a password.
    pub fn add_person(&self, login: &str, password: &str) -> Result<Person, Refusal> {
        self.shared.world().add_account(login, password, false)?;
        Ok(self.as_person(login))
    }

    /// Acts as an existing account.
    pub fn as_person(&self, login: &str) -> Person {
        Person { shared: Arc::clone(&self.shared), login: login.to_owned() }
    }

    /// Adds a token of an account.
    pub fn add_token(&self, login: &str) -> Result<String, Refusal> {
        let name = uuid::Uuid::new_v4().to_string();
        Ok(self.shared.world().add_token(login, &name, vec!["all".into()])?.value)
    }

    /// Adds an organisation whose owner is the account `owner`; 404 if there is no such account, 422 if `login` is
    /// taken.
    pub fn add_organisation(&self, login: &str, owner: &str) -> Result<(), Refusal> {
        self.shared.world().add_organisation(login, owner).map(drop)
    }

    /// Adds an empty repository `owner/name` with the default branch `main`.
    pub async fn add_repository(&self, repo: &str, private: bool) -> anyhow::Result<()> {
        let (owner, name) = names::split(repo).map_err(|e| anyhow::anyhow!(e.message))?;
        git::init(&self.repository_dir(repo), "main").await?;
        self.shared.world().add_repo(owner, name, private, "main").map_err(|e| anyhow::anyhow!(e.message))?;
        Ok(())
    }

    /// Gives a branch another name, as a person does on the forge's page, protected or not. Open pull requests and rules keep the old name.
    pub async fn rename_branch(&self, repo: &str, from: &str, to: &str) -> anyhow::Result<()> {
        let refused = |refusal: Refusal| anyhow::anyhow!(refusal.message);
        let (owner, name) = names::split(repo).map_err(refused)?;
        let at = self.shared.world().repo(owner, name, Some("root"), Access::Read).map_err(refused)?;
        let dir = git::path(&self.shared.root, owner, name);
        git::rename_branch(&dir, from, to).await?;
        let refs = git::refs(&dir).await?;
        let repo = &mut self.shared.world().repos[at];
        repo.refs = refs;
        if repo.default_branch == from {
            to.clone_into(&mut repo.default_branch);
        }
        Ok(())
    }

    /// Gives an account this right to a repository `owner/name` in place of its former one; 404 if either does not exist.
    pub fn add_collaborator(&self, repo: &str, login: &str, access: Access) -> Result<(), Refusal> {
        let (owner, name) = names::split(repo)?;
        let mut world = self.shared.world();
        let at = world.repo(owner, name, Some("root"), Access::Read)?;
        let login = world.account(login)?.login.clone();
        world.repos[at].collaborators.insert(login, access);
        Ok(())
    }

    /// Takes a collaborator's rights away.
    pub fn remove_collaborator(&self, repo: &str, login: &str) -> Result<(), Refusal> {
        let (owner, name) = names::split(repo)?;
        let mut world = self.shared.world();
        let at = world.repo(owner, name, Some("root"), Access::Read)?;
        world.repos[at].collaborators.remove(login);
        Ok(())
    }

    /// Adds a team with access to the repository: its general right (none, as Gitea 1.25 stores it, unless an older version created it),
    /// and those by unit (`repo.code`, `repo.issues`, `repo.pulls`).
    pub fn add_team(
        &self,
        repo: &str,
        name: &str,
        general: Access,
        units: &[(&str, Access)],
        members: &[&str],
    ) -> Result<(), Refusal> {
        let (owner, repository) = names::split(repo)?;
        let mut world = self.shared.world();
        let at = world.repo(owner, repository, Some("root"), Access::Read)?;
        let id = world.repos[at].id;
        let units = units.iter().map(|(unit, access)| ((*unit).to_owned(), *access)).collect();
        let team = world.add_team(owner, name, general, units)?;
        let team = world.team_mut(team)?;
        team.repos.push(id);
        team.members.extend(members.iter().map(|login| (*login).to_owned()));
        Ok(())
    }

    /// Sets a hook for every event that the bot asks for; it is active at once.
    pub fn add_hook(&self, repo: &str, url: &str, secret: &str) -> Result<(), Refusal> {
        let (owner, name) = names::split(repo)?;
        let mut world = self.shared.world();
        let at = world.repo(owner, name, Some("root"), Access::Read)?;
        let id = world.id();
        let events = ["issues", "pull_request", "push", "create", "delete", "status"].map(str::to_owned).to_vec();
        let (url, secret) = (url.to_owned(), secret.to_owned());
        world.repos[at].hooks.push(world::Hook {
            id,
            url,
            secret,
            events,
            active: true,
            content_type: "json".into(),
            branch_filter: String::new(),
        });
        Ok(())
    }

    /// The bare repository on disk, for tests to read. Pushes must use HTTP, or the forge does not notice them.
    pub fn repository_dir(&self, repo: &str) -> PathBuf {
        let (owner, name) = repo.split_once('/').unwrap_or((repo, ""));
        git::path(&self.shared.root, owner, name)
    }

    /// Directory of the repositories.
    pub fn dir(&self) -> &Path {
        &self.shared.root
    }

    /// Replaces the traps that [`Options::traps`] set at the start.
    pub fn set_traps(&self, traps: Traps) {
        self.shared.switches.set_traps(traps);
    }

    /// Interrupts the next review after so many of its notes were stored, leaving it pending.
    pub fn cut_next_review(&self, after_notes: usize) {
        self.shared.switches.cut_review(after_notes);
    }

    /// Cuts the connection of the next comment; the comment is created after the delay, or never.
    pub fn cut_next_comment(&self, lands_after: Option<Duration>) {
        self.shared.switches.cut_comment(lands_after);
    }

    /// Cuts the connection of the next edit of a comment; the edit is made after the delay, or never.
    pub fn cut_next_edit(&self, lands_after: Option<Duration>) {
        self.shared.switches.cut_edit(lands_after);
    }

    /// Answers every call of API and git with this status until `None`; 0 closes the connection without an answer.
    pub fn set_outage(&self, status: Option<u16>) {
        self.shared.switches.set_outage(status);
    }

    /// Number of calls that met an outage so far.
    pub fn outage_met(&self) -> u32 {
        self.shared.switches.outage_met()
    }

    /// Answers merges as while the forge looks for conflicts, until this is taken back.
    pub fn look_for_conflicts(&self, looks: bool) {
        self.shared.switches.look_for_conflicts(looks);
    }

    /// Loses the next `count` deliveries.
    pub fn lose_hooks(&self, count: u32) {
        self.shared.switches.lose_hooks(count);
    }

    /// Number of deliveries that are to be lost yet.
    pub fn hooks_to_lose(&self) -> u32 {
        self.shared.switches.hooks_to_lose()
    }
}
