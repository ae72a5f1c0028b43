//! One running bot: creates, starts and drains its parts. `cli::serve` provides the real parts, the stories provide theirs.
//!
//! Owns only the wiring and the order of starting and stopping.

mod addresses;
mod ci;
mod cleanup;
mod entries;
mod hosts;
mod idle;
mod log_sums;
mod prover;
mod registry;
mod rewritten;
mod slots;
mod test_runs;
mod upstreams;
mod way_out;

use crate::barrier::{BarrierState, Inspector};
use crate::bot::ci::CiWatch;
use crate::bot::cleanup::Cleanup;
use crate::bot::hosts::Hosts;
use crate::bot::idle::IdleSandboxes;
use crate::bot::registry::{Followers, Registry};
use crate::bot::rewritten::RewrittenIssues;
use crate::bot::test_runs::TestLine;
use crate::bot::upstreams::InStep;
use crate::clock::Clock;
use crate::config::{Process, Secret};
use crate::effect::{Dependencies, EffectRunner};
use crate::forge::{Account, Forge, RepositoryAddresses};
use crate::git::{Auth, Repos};
use crate::handler::{Intake, Reader};
use crate::llm::Models;
use crate::sandbox::broker::Broker;
use crate::sandbox::{SandboxEgress, Sandboxes};
use crate::server::{
    ClientLimits, Dashboard, EntryWish, Hooks, LimitedListener, Limits, OperatorAccess, Ops, Peer, Reload, hook_router,
    ops_router,
};
use crate::store::{Store, TaskRow};
use crate::supervise::Works;
pub use crate::task::Patience;
use crate::task::{Cut, Leases, Machine, Outbox};
use crate::thread::{self, IssueImports, Threads};
use crate::upstream::Upstreams;
use anyhow::{Context, Result};
use axum::serve::Listener;
use domain::{Input, TaskId};
use futures_util::future::join_all;
use metrics_exporter_prometheus::PrometheusHandle;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use addresses::OwnAddresses;
pub use entries::{Content, Entry, gone, known, sealed, sealing_key};
pub use hosts::host_address;
pub use prover::{Prover, barrier_key, proven_limits};
pub use slots::Slots;
pub use way_out::{LogInbox, keep_log, router_spec, way_out};

/// How long listeners may take to end.
const ANSWERED_WITHIN: Duration = Duration::from_millis(500);
/// How long dropping sandboxes may take.
const LEFT_WITHIN: Duration = Duration::from_secs(20);

/// Everything that a bot is made from.
pub struct Parts {
    /// The configuration of this process.
    pub config: Arc<Process>,
    /// The store of tasks, logs, deliveries and effects.
    pub store: Store,
    /// The number of this process's life, from [`Store::begin_epoch`].
    pub epoch: i64,
    /// Id of this state directory, which identifies this process among others with the same store.
    pub host: String,
    /// The forge, as the bot's own account sees it.
    pub forge: Arc<dyn Forge>,
    /// The bot's own account on the forge.
    pub me: Account,
    /// The account that synchronizes default branches; its posts never count. None where none is configured.
    pub sync: Option<Account>,
    /// That account's credential, for pushes to protected branches.
    pub sync_auth: Option<Auth>,
    /// The credential with which git fetches from and pushes to the forge.
    pub auth: Auth,
    /// Client of the container engine's broker.
    pub broker: Arc<dyn Broker>,
    /// The sandboxes of all tasks.
    pub sandboxes: Arc<Sandboxes>,
    /// Inspects a sandbox before an agent uses it.
    pub inspector: Arc<dyn Inspector>,
    /// The configured models, by role.
    pub models: Models,
    /// The bot's bare repositories in the state directory.
    pub repos: Repos,
    /// Key of the marks in the bot's posts and of each conversation's fence; kept for the life of the installation.
    pub mark_key: Secret,
    /// The token that `caisson fetch` and `caisson task` show to the operations listener.
    pub ops_token: Secret,
    /// Secrets of the hooks of the file's repositories by key, two while one is being rotated.
    pub hook_secrets: HashMap<String, Vec<Secret>>,
    /// Renders what `/metrics` answers.
    pub metrics: PrometheusHandle,
    /// State of the barrier; no task starts, and no untrusted code runs, before it is proven.
    pub barrier: watch::Receiver<BarrierState>,
    /// Problems of long-running works for `/readyz`, including works outside of the bot.
    pub works: Works,
    /// Interrupts effects in tests.
    pub cut: Option<Cut>,
}

/// A bot that runs until [`Bot::stop`].
pub struct Bot {
    /// The driver of all tasks.
    pub machine: Arc<Machine>,
    /// Actual listening address of the hooks.
    pub hooks: SocketAddr,
    /// Actual listening address of operations: health, metrics, and requests of the operator's subcommands.
    pub ops: SocketAddr,
    /// Requests to reload the configuration, for the code that runs the process.
    pub reloads: mpsc::Receiver<Reload>,
    intake: Arc<Intake>,
    outbox: Arc<Outbox>,
    sandboxes: Arc<Sandboxes>,
    hosts: Option<Arc<Hosts>>,
    /// Cancelled when no new work may begin.
    stopping: CancellationToken,
    at_work: Vec<JoinHandle<()>>,
    listeners: Vec<JoinHandle<()>>,
}

impl Bot {
    /// Starts every part, and opens both listeners.
    ///
    /// # Errors
    /// When local files or the store cannot be read, or a listener's port cannot be opened.
    pub async fn start(parts: Parts) -> Result<Bot> {
        let stopping = CancellationToken::new();
        forget_locks(&parts)?;
        let leases = if parts.store.is_shared() { Leases::nothing() } else { Leases::everything() };
        let host = if parts.store.is_shared() { parts.host.as_str() } else { "" };
        let (machine, moved) = Machine::of(parts.store.clone(), parts.epoch, host, leases);
        let config = parts.config.clone();
        let registry = Registry::begin(&parts).await?;
        let addresses = Arc::new(RepositoryAddresses::new(parts.forge.clone()));
        let upstreams = upstreams(&parts);
        let threads = threads(&parts, addresses.clone(), machine.clock().clone(), upstreams.clone());
        let effects = Arc::new(effects(&parts, addresses.clone(), threads.clone()));
        effects.repositories.find_all().await;
        if let Err(trouble) = effects.egress.reach_all().await {
            tracing::warn!(?trouble, "the rules of a sandbox that stands could not be made anew");
        }
        let reader = reader(&parts, &machine, &addresses, &effects);
        let (barrier, works, bell) = (parts.barrier.clone(), parts.works.clone(), Arc::new(Notify::new()));
        let outbox =
            Outbox::new(machine.clone(), effects.clone(), barrier, works.clone(), parts.cut.clone(), stopping.clone());
        let intake = Arc::new(Intake::new(reader, bell.clone(), stopping.clone()));
        reap(&parts).await?;
        let hosts = || Hosts::of(&parts, &machine, effects.clone(), intake.clone(), registry.rung.clone(), &stopping);
        let hosts = parts.store.is_shared().then(hosts);
        let (for_hooks, for_ops) = ports(&config).await?;
        let mut at_work = at_work(&parts, &machine, moved, &outbox, intake.clone(), &stopping);
        at_work.extend([test_runs, ci].map(|begin| begin(&parts, &machine, &effects, &stopping)));
        let clients = clients(&config);
        let hooks = Hooks { secrets: registry.hooks.clone(), store: parts.store.clone(), bell, clients };
        let (wishes, reloads) = mpsc::channel(1);
        let followers = Followers { machine: machine.clone(), effects, intake: intake.clone(), hosts: hosts.clone() };
        let (entries, follow) = follow(registry, followers, &works, &stopping);
        let keep = |own| in_step(&parts, &machine, &addresses, (own, &entries, &threads), &stopping);
        at_work.extend(upstreams.clone().map(keep));
        let ops = Ops {
            machine: machine.clone(),
            repos: parts.repos,
            forge: parts.forge,
            broker: parts.broker,
            metrics: parts.metrics,
            access: OperatorAccess::new(parts.ops_token).map_err(anyhow::Error::msg)?,
            barrier: parts.barrier,
            works: works.clone(),
            reloads: wishes,
            entries,
            upstreams,
            dashboard: Dashboard::new(stopping.clone()),
        };
        let (listening, hooks) = serve_hooks(for_hooks, &config, hooks, &stopping)?;
        let (listener, ops) = serve_ops(for_ops, ops, &stopping)?;
        let listeners = vec![
            works.once("the hooks' listener", stopping.clone(), listening),
            works.once("the operations' listener", stopping.clone(), listener),
        ];
        at_work.push(follow);
        // Last, so that a failed start takes no leases from other hosts.
        at_work.extend(hosts.iter().flat_map(Hosts::begin));
        let sandboxes = parts.sandboxes;
        Ok(Bot { machine, hooks, ops, reloads, intake, outbox, sandboxes, hosts, stopping, at_work, listeners })
    }

    /// Reads what changed on the forge, as the periodic rounds do, and returns when that was read.
    ///
    /// # Errors
    /// When forge or store do not answer. What cannot be read of a single repository or thread is no error: it is read again later.
    pub fn read_now(&self) -> impl Future<Output = Result<()>> + Send + use<> {
        let intake = self.intake.clone();
        async move { intake.round().await.map_err(|trouble| anyhow::anyhow!("{trouble}")) }
    }

    /// Begins nothing new, waits for work under way within `patience`, and returns; false when something was left to the next life.
    pub async fn stop(self, patience: Patience) -> bool {
        self.stopping.cancel();
        let settled = self.outbox.settle(patience).await;
        // Pending requests get their answers.
        let _ = tokio::time::timeout(ANSWERED_WITHIN, join_all(self.listeners)).await;
        for work in self.at_work {
            work.abort();
        }
        // What stays is reaped at the next start.
        let _ = tokio::time::timeout(LEFT_WITHIN, self.sandboxes.leave()).await;
        // Last, because after this its leases are no longer prolonged.
        if let Some(hosts) = &self.hosts {
            let _ = tokio::time::timeout(LEFT_WITHIN, hosts.leave()).await;
        }
        settled
    }
}

/// Follows the store's entries; those that are sent are written there.
fn follow(
    registry: Arc<Registry>,
    followers: Followers,
    works: &Works,
    stopping: &CancellationToken,
) -> (mpsc::Sender<EntryWish>, JoinHandle<()>) {
    let (wishes, wished) = mpsc::channel(1);
    let (wished, followers) = (Arc::new(tokio::sync::Mutex::new(wished)), Arc::new(followers));
    let run = move || registry.clone().run(wished.clone(), followers.clone());
    (wishes, works.stay("the store's repositories", stopping.clone(), run))
}

fn reader(
    parts: &Parts,
    machine: &Arc<Machine>,
    addresses: &Arc<RepositoryAddresses>,
    effects: &EffectRunner,
) -> Arc<Reader> {
    let (config, machine, addresses) = (parts.config.clone(), machine.clone(), addresses.clone());
    let (threads, egress) = (effects.threads.clone(), effects.egress.clone());
    Arc::new(Reader::new(config, machine, addresses, threads, egress, parts.me.id))
}

fn clients(config: &Process) -> Arc<ClientLimits> {
    ClientLimits::new(Limits {
        connections: config.listen.connections_per_address,
        bad_signatures: config.listen.bad_signatures_per_minute,
        ..Limits::default()
    })
}

/// Starts every work that can be restarted; what they own beyond one run is passed from here.
fn at_work(
    parts: &Parts,
    machine: &Arc<Machine>,
    moved: UnboundedReceiver<TaskId>,
    outbox: &Arc<Outbox>,
    intake: Arc<Intake>,
    stopping: &CancellationToken,
) -> Vec<JoinHandle<()>> {
    let (config, works, sandboxes) = (parts.config.clone(), &parts.works, parts.sandboxes.clone());
    let (outbox, moved) = (outbox.clone(), Arc::new(tokio::sync::Mutex::new(moved)));
    let drain = move || {
        let (outbox, moved) = (outbox.clone(), moved.clone());
        async move { outbox.run(&mut *moved.lock().await).await }
    };
    let (line, barrier, known, end) = (machine.clone(), parts.barrier.clone(), config.clone(), stopping.clone());
    let slots = move || Slots::new(line.clone(), barrier.clone(), known.clone(), end.clone()).run();
    let (idle, containers, limits, end) =
        (machine.clone(), sandboxes.clone(), config.sandbox.clone(), stopping.clone());
    let idle = move || {
        let (machine, sandboxes) = (idle.clone(), containers.clone());
        IdleSandboxes { machine, sandboxes, limits: limits.clone(), stopping: end.clone() }.run()
    };
    let (ended, repos, keep, end) = (machine.clone(), parts.repos.clone(), config.keep, stopping.clone());
    let known = config.clone();
    let repositories: cleanup::Keys = Arc::new(move || known.keys());
    let cleanup = move || {
        let (machine, repos, repositories) = (ended.clone(), repos.clone(), repositories.clone());
        Cleanup { machine, repos, keep, repositories, stopping: end.clone() }.run()
    };
    let (told, egress) = (machine.clone(), sandboxes.egress.clone());
    let routers = move || note_routers(told.clone(), egress.clone());
    let (every, reader) = (Duration::from_secs(config.forge.poll_s.max(1)), intake.clone());
    let rounds = move || {
        let reader = reader.clone();
        async move { reader.reconcile(every).await }
    };
    let hooks = move || {
        let intake = intake.clone();
        async move { intake.run().await }
    };
    vec![
        works.stay("the outbox", stopping.clone(), drain),
        works.stay("the line of tasks", stopping.clone(), slots),
        works.stay("the shelves", stopping.clone(), idle),
        works.stay("retention", stopping.clone(), cleanup),
        works.stay("the router's lives", stopping.clone(), routers),
        works.stay("reading again", stopping.clone(), rounds),
        works.stay("the hooks' intake", stopping.clone(), hooks),
    ]
}

fn forget_locks(parts: &Parts) -> Result<()> {
    let locks = parts.repos.forget_locks().context("the local repositories cannot be read")?;
    if locks > 0 {
        tracing::info!(locks, "removed locks and incomplete packs that killed git processes left");
    }
    Ok(())
}

/// Begins the line of test runs.
fn test_runs(
    parts: &Parts,
    machine: &Arc<Machine>,
    effects: &EffectRunner,
    stopping: &CancellationToken,
) -> JoinHandle<()> {
    let (machine, barrier, limits) = (machine.clone(), parts.barrier.clone(), parts.config.tests);
    let (runs, bell, end) = (effects.test_runs.clone(), effects.threads.apart.tests.bell.clone(), stopping.clone());
    let line = move || {
        let (machine, barrier, runs) = (machine.clone(), barrier.clone(), runs.clone());
        TestLine { machine, runs, barrier, limits, bell: bell.clone(), stopping: end.clone() }.run()
    };
    parts.works.stay("the line of test runs", stopping.clone(), line)
}

/// Begins to look at the forge's CI for tasks that wait for it.
fn ci(parts: &Parts, machine: &Arc<Machine>, effects: &EffectRunner, stopping: &CancellationToken) -> JoinHandle<()> {
    let (machine, reader, end) = (machine.clone(), effects.ci.clone(), stopping.clone());
    let every = Duration::from_secs(parts.config.forge.poll_s.max(1));
    let watch =
        move || CiWatch { machine: machine.clone(), reader: reader.clone(), every, stopping: end.clone() }.run();
    parts.works.stay("the forge's CI", stopping.clone(), watch)
}

/// Removes leftovers of ended tasks; if the engine is unreachable, at the next start.
async fn reap(parts: &Parts) -> Result<()> {
    // A task that another host continued is no longer this one's.
    let alone = !parts.store.is_shared();
    let own = |row: &&TaskRow| alone || row.owner.is_empty() || row.owner == parts.host;
    let live: Vec<i64> = parts.store.live_tasks().await?.iter().filter(own).map(|row| row.id).collect();
    parts.sandboxes.mirrors.keep_mirrors_of(&parts.config.keys())?;
    match parts.sandboxes.of_tasks.reap(&live).await {
        Ok(gone) if !gone.is_empty() => tracing::info!(?gone, "removed what tasks that have ended left behind"),
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "orphans could not be looked for"),
    }
    Ok(())
}

/// Records for each affected task that the router was replaced; the new one already has its rules.
async fn note_routers(machine: Arc<Machine>, egress: Arc<SandboxEgress>) {
    loop {
        let (boot, tasks) = egress.router_replaced().await;
        tracing::warn!(?tasks, "the router was gone and is there again; open connections were cut");
        for task in tasks {
            let (id, key) = (TaskId(task), format!("router:{task}:{boot}"));
            if let Err(error) = machine.feed(id, &key, Input::RouterReplaced, None).await {
                tracing::warn!(%error, task, "that the router was replaced could not be noted");
            }
        }
    }
}

/// What keeps repositories in step, where an account may.
fn upstreams(parts: &Parts) -> Option<Arc<Upstreams>> {
    let auth = parts.sync_auth.clone()?;
    Some(Upstreams::new(parts.config.clone(), parts.repos.clone(), auth))
}

/// Begins keeping repositories in step.
fn in_step(
    parts: &Parts,
    machine: &Arc<Machine>,
    addresses: &Arc<RepositoryAddresses>,
    (upstreams, entries, threads): (Arc<Upstreams>, &mpsc::Sender<EntryWish>, &Arc<Threads>),
    stopping: &CancellationToken,
) -> JoinHandle<()> {
    let (entries, mark_key) = (entries.clone(), parts.mark_key.clone());
    let (machine, config, addresses) = (machine.clone(), parts.config.clone(), addresses.clone());
    let end = stopping.clone();
    let issues = Arc::new(RewrittenIssues::new(parts.forge.clone(), parts.me.clone(), parts.mark_key.clone()));
    let (settings, store, at) = (config.clone(), parts.store.clone(), addresses.clone());
    let imports = IssueImports::new(settings, store, at, upstreams.clone(), mark_key.clone(), threads);
    let imports = Arc::new(imports);
    let run = move || {
        let (machine, config, upstreams) = (machine.clone(), config.clone(), upstreams.clone());
        let (addresses, issues, stopping) = (addresses.clone(), issues.clone(), end.clone());
        let (entries, mark_key, imports) = (entries.clone(), mark_key.clone(), imports.clone());
        InStep { machine, config, addresses, upstreams, issues, imports, entries, mark_key, stopping }.run()
    };
    parts.works.stay("keeping repositories in step", stopping.clone(), run)
}

fn threads(
    parts: &Parts,
    addresses: Arc<RepositoryAddresses>,
    clock: Arc<Clock>,
    upstreams: Option<Arc<Upstreams>>,
) -> Arc<Threads> {
    Arc::new(Threads::new(&thread::Dependencies {
        config: parts.config.clone(),
        store: parts.store.clone(),
        addresses,
        clock,
        me: parts.me.clone(),
        sync: parts.sync.as_ref(),
        mark_key: parts.mark_key.clone(),
        upstreams,
        repos: parts.repos.clone(),
        auth: parts.auth.clone(),
    }))
}

fn effects(parts: &Parts, addresses: Arc<RepositoryAddresses>, threads: Arc<Threads>) -> EffectRunner {
    EffectRunner::new(Dependencies {
        config: parts.config.clone(),
        store: parts.store.clone(),
        forge: parts.forge.clone(),
        addresses,
        threads,
        me: parts.me.clone(),
        auth: parts.auth.clone(),
        sandboxes: parts.sandboxes.clone(),
        inspector: parts.inspector.clone(),
        models: &parts.models,
        repos: parts.repos.clone(),
        mark_key: parts.mark_key.clone(),
        epoch: parts.epoch,
    })
}

async fn bind(at: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(at).await.with_context(|| {
        format!("cannot listen on {at}: another program has the port, or it is not ours; change [listen]")
    })
}

/// The ports of the hooks and of operations, opened before anything works: a start that fails must begin no effect, which may cost money.
async fn ports(config: &Process) -> Result<(TcpListener, TcpListener)> {
    Ok((bind(config.listen.webhooks).await?, bind(config.listen.ops).await?))
}

type Listening = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

fn serve_hooks(
    listener: TcpListener,
    config: &Process,
    hooks: Hooks,
    stopping: &CancellationToken,
) -> Result<(Listening, SocketAddr)> {
    let listener = LimitedListener { listener, clients: hooks.clients.clone() };
    let address = listener.local_addr()?;
    let router = hook_router(Arc::new(hooks), config.listen.max_body_bytes);
    let serve = axum::serve(listener, router.into_make_service_with_connect_info::<Peer>());
    Ok((Box::pin(ended(serve.with_graceful_shutdown(stop(stopping)), address)), address))
}

fn serve_ops(listener: TcpListener, ops: Ops, stopping: &CancellationToken) -> Result<(Listening, SocketAddr)> {
    let listener = LimitedListener { listener, clients: ClientLimits::of_operations() };
    let address = listener.local_addr()?;
    let serve = axum::serve(listener, ops_router(Arc::new(ops), address));
    Ok((Box::pin(ended(serve.with_graceful_shutdown(stop(stopping)), address)), address))
}

fn stop(stopping: &CancellationToken) -> impl Future<Output = ()> + Send + 'static {
    stopping.clone().cancelled_owned()
}

/// Runs a listener to its end.
async fn ended<S: IntoFuture<Output = std::io::Result<()>>>(serve: S, address: SocketAddr) {
    if let Err(error) = serve.await {
        tracing::error!(%error, %address, "a listener ended");
    }
}
