//! `caisson serve`: reads the configuration, locks the state directory, connects to forge, broker and router, runs the bot until SIGTERM or
//! Ctrl-C, and then drains.

use super::broker_child::Started;
use super::model::look;
use super::outside::Outside;
use super::printer::{Complaint, Printer};
use super::reload::{Ended, Ends, begin_anew, hear, wait_for_reload};
use super::store::{host_id, location, mark_key};
use super::{broker_child, image, lock};
use crate::barrier::FromInside;
use crate::bot::{Bot, LogInbox, OwnAddresses, Parts, Patience, Prover, keep_log, way_out};
use crate::config::{Process, Secret};
use crate::git::{Auth, FetchLimits, Repos};
use crate::sandbox::broker::{Broker, SocketBroker};
use crate::sandbox::{EgressControl, SandboxEgress, Sandboxes, Settings, any_networked};
use crate::store::Store;
use crate::supervise::Works;
use crate::{clock, telemetry};
use anyhow::{Context, Result};
use clap::Args;
use clap::builder::RangedU64ValueParser;
use futures_util::FutureExt;
use metrics_exporter_prometheus::PrometheusHandle;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// How often the metrics' durations are counted into their buckets.
const UPKEEP: Duration = Duration::from_secs(5);

/// Runs in the foreground; SIGTERM or Ctrl-C lets work under way end, a second Ctrl-C does not wait. SIGHUP reads the
/// configuration again; one that was started in a terminal ends with it.
#[derive(Debug, Args)]
pub struct Serve {
    /// Tasks that work at the same time (instead of max_tasks of the configuration).
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    max_tasks: Option<usize>,
}

impl Serve {
    pub async fn run(self, file: &Path) -> Result<()> {
        telemetry::start()?;
        // Asked now, because it cannot be told later if the terminal is gone.
        let in_terminal = std::io::stdin().is_terminal();
        // First of all, so that signals during the start are handled and do not kill the process.
        let (mut ends, mut hangup) = (Ends::new()?, signal(SignalKind::hangup())?);
        hear(true)?;
        let (_lock, mut config) = locked(file).await?;
        config.max_tasks = self.max_tasks.unwrap_or(config.max_tasks);
        let config = Arc::new(config);
        let started = async {
            let (parts, prover, own_broker) = assemble(&config).await?;
            let missing = image::missing(&config, parts.broker.as_ref()).await;
            let works = parts.works.clone();
            anyhow::Ok((Bot::start(parts).await?, works, prover, own_broker, missing))
        };
        let (mut bot, works, prover, own_broker, missing) = tokio::select! {
            started = started => started?,
            () = ends.one() => return Ok(()),
        };
        let stopping = CancellationToken::new();
        let prover = Arc::new(prover);
        works.stay("the barrier's proof", stopping.clone(), move || {
            let prover = prover.clone();
            async move { prover.stay().await }
        });
        let printer = Printer::terminal();
        greet(&printer, &bot, &config, &missing);
        let ended = tokio::select! {
            () = ends.one() => Ended::Asked,
            why = works.fatal() => Ended::Fatal(why),
            ended = wait_for_reload(&config, &mut hangup, &mut bot.reloads, in_terminal, &printer) => ended,
        };
        stopping.cancel();
        printer.step("stopping: work under way may end; Ctrl-C again does not wait");
        let terminal = in_terminal.then_some(&mut hangup);
        let interrupted = end(bot, own_broker, ended.patience(), (&mut ends, terminal), &printer).await;
        match ended {
            Ended::Fatal(why) => Err(Complaint::new("the bot had to stop").because(why).hint("caisson serve").into()),
            // A termination signal that came meanwhile has precedence.
            Ended::Reload if !interrupted => {
                // The file may have changed since it was checked: it must not be used with another store or state directory.
                let refused =
                    |why| Complaint::new("the configuration cannot be used").because(why).hint("caisson serve");
                config.again().map_err(refused)?;
                Err(begin_anew().into())
            }
            Ended::Asked | Ended::Reload => Ok(()),
        }
    }
}

/// Prints where the bot listens, and what is still missing.
fn greet(printer: &Printer, bot: &Bot, config: &Process, missing: &[(&str, &str)]) {
    printer.good(&format!("hooks on http://{}, health and metrics on http://{}", bot.hooks, bot.ops));
    let repositories = config.repositories();
    for entry in repositories.iter() {
        printer.say(&format!("  {}/{} → {}", entry.owner, entry.name, config.hook_url(&entry.key)));
    }
    if repositories.is_empty() {
        printer.hint("no repository yet: `caisson repo add <git-url>`");
    }
    if let Some(unlimited) = look::unlimited(config) {
        printer.hint(&unlimited);
    }
    if let Some(text) = image::unbuilt(missing) {
        printer.hint(&format!("toolchains {text}"));
    }
}

/// Drains work under way, then ends the broker that this process started. A second signal cuts both short; true if one came.
async fn end(
    bot: Bot,
    mut own_broker: Option<Started>,
    patience: Patience,
    (ends, mut terminal): (&mut Ends, Option<&mut Signal>),
    printer: &Printer,
) -> bool {
    let reloads = patience.paid > patience.all;
    let orderly = async {
        if !bot.stop(patience).await {
            printer.step("some work was left to the next start; nothing is lost");
        }
        if let Some(broker) = &mut own_broker {
            broker.end().await;
        }
    };
    let mut orderly = Box::pin(orderly);
    let mut word = async || match &mut terminal {
        // The end of the terminal also ends a bot that was started in it.
        Some(gone) => tokio::select! { () = ends.one() => {}, _ = gone.recv() => {} },
        None => ends.one().await,
    };
    tokio::select! {
        biased;
        () = word() => {}
        // A signal that came at the very end counts too.
        () = &mut orderly => return word().now_or_never().is_some(),
    }
    // The first signal during a reload is not a second one during a shutdown.
    if reloads {
        tokio::select! {
            () = word() => {}
            () = tokio::time::sleep(patience.all) => {}
            () = &mut orderly => return true,
        }
    }
    drop(orderly);
    own_broker.into_iter().for_each(Started::let_go);
    true
}

/// The lock of the configuration's state directory, and the configuration read again under that lock, because the last holder may have
/// changed it.
async fn locked(file: &Path) -> Result<(lock::StateLock, Process)> {
    loop {
        let state_dir = Process::load(file)?.state_dir;
        let lock = lock::wait(&state_dir).await?;
        let config = Process::load(file)?;
        if config.state_dir == state_dir {
            return Ok((lock, config));
        }
    }
}

/// Connects to everything that a bot needs; an error says what is missing and what to do. Includes the broker if one was started: it ends
/// when dropped, so also on every error below.
async fn assemble(config: &Arc<Process>) -> Result<(Parts, Prover, Option<Started>)> {
    // Cheap checks first, because a later failure takes a broker and its networks down again.
    let Outside { models, forge, token, me, sync, hook_secrets } = Outside::reach(config).await?;
    let store = Store::open(location(config)?).await?;
    let mark_key = mark_key(&store, config).await?;
    let epoch = store.begin_epoch(clock::now()).await?;
    let broker: Arc<dyn Broker> = Arc::new(SocketBroker::new(&config.broker.socket));
    let own_broker = broker_child::ensure(config, broker.as_ref()).await?;
    // Also if only sandboxes of an earlier configuration have a network, because connecting to the router closes these.
    let (egress, log) = match config.sandbox.networked() || any_networked(&config.state_dir)? {
        true => {
            let left = "sandboxes that stand have a network, from when one was configured: without the router nobody can close it";
            let reached = way_out(config, &broker).await;
            let reached = if config.sandbox.networked() { reached } else { reached.context(left) };
            reached.map(|(egress, log)| (Some(egress), Some(log)))?
        }
        false => (None, None),
    };
    let control = egress.clone().map(|egress| egress as Arc<dyn EgressControl>);
    let repos = Repos::new(config.state_dir.join("repos")).with_limits(FetchLimits::of(config));
    let sandboxes = Sandboxes::new(broker.clone(), control, repos.clone(), settings(config), epoch as u64)?;
    let sandboxes = Arc::new(sandboxes);
    knows_its_sandboxes(&store, &sandboxes).await?;
    let works = Works::default();
    if let (Some(log), Some(egress)) = (log, &egress) {
        keep_router_log(&works, log, &store, &sandboxes.egress);
        follow_addresses(&works, OwnAddresses::new(config, broker.clone(), egress.clone())?);
    }
    let proven = egress.filter(|_| config.sandbox.networked());
    let (prover, barrier) = Prover::new(config.clone(), broker.clone(), proven, &sandboxes);
    let parts = Parts {
        models,
        hook_secrets,
        mark_key,
        ops_token: Secret::read_or_make(&config.state_dir.join("ops.token"))?,
        auth: Auth::basic(&me.login, token.expose()),
        metrics: metrics(&works)?,
        inspector: Arc::new(FromInside {
            looks: sandboxes.looks.clone(),
            broker: broker.clone(),
            router_image: config.router.image.clone(),
        }),
        barrier,
        works,
        cut: None,
        config: config.clone(),
        forge: Arc::new(forge),
        sandboxes,
        store,
        epoch,
        host: host_id(&config.state_dir)?,
        me,
        sync_auth: sync.as_ref().map(|(account, token)| Auth::basic(&account.login, token.expose())),
        sync: sync.map(|(account, _)| account),
        broker,
        repos,
    };
    Ok((parts, prover, own_broker))
}

/// Refuses a new store if there are sandboxes of tasks: they would be removed together with their work, because it does not know the tasks.
async fn knows_its_sandboxes(store: &Store, sandboxes: &Sandboxes) -> Result<()> {
    let known = sandboxes.of_tasks.tasks();
    if known.is_empty() || !store.is_new().await? {
        return Ok(());
    }
    let what =
        format!("the store is new, and sandboxes of {} task(s) stand: is it another one than before?", known.len());
    let hint = "name the store they belong to ([store]), or bring it over with `caisson store copy`; to give them up, remove \
                `sandboxes` from the state directory";
    Err(Complaint::new(what).hint(hint).into())
}

/// Stores what the router logs until the process ends.
fn keep_router_log(works: &Works, log: LogInbox, store: &Store, egress: &Arc<SandboxEgress>) {
    let (log, store, egress) = (Arc::new(Mutex::new(log)), store.clone(), egress.clone());
    works.stay("the router's log", CancellationToken::new(), move || {
        let (log, store, egress) = (log.clone(), store.clone(), egress.clone());
        async move { keep_log(&mut *log.lock().await, &store, &egress).await }
    });
}

/// The process's metrics, in bounded memory until the process ends.
fn metrics(works: &Works) -> Result<PrometheusHandle> {
    let metrics = telemetry::recorder()?;
    let handle = metrics.clone();
    works.stay("the metrics", CancellationToken::new(), move || telemetry::upkeep(handle.clone(), UPKEEP));
    Ok(metrics)
}

/// Keeps the machine's public addresses refused, and the router asking its present name server, until the process ends.
fn follow_addresses(works: &Works, addresses: OwnAddresses) {
    let addresses = Arc::new(addresses);
    works.stay("the machine's addresses", CancellationToken::new(), move || {
        let addresses = addresses.clone();
        async move { addresses.stay().await }
    });
}

/// Settings of sandboxes under this configuration.
pub(super) fn settings(config: &Process) -> Settings {
    let mut settings = Settings::new(&config.state_dir, &config.sandbox.image);
    settings.subnets = config.router.subnets;
    settings.profile = config.sandbox.hardening.word().to_owned();
    settings.mirror_from_bytes = config.sandbox.mirror_from_mib << 20;
    settings.disk_floor_bytes = config.sandbox.disk_floor_mib << 20;
    settings.setup_bytes = config.sandbox.setup_mib << 20;
    settings.setup_total_bytes = config.sandbox.setup_total_mib << 20;
    settings
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        serve: Serve,
    }

    #[test]
    fn no_bot_starts_that_would_never_run_a_task() {
        let most = |n: &str| Line::try_parse_from(["serve", "--max-tasks", n]).map(|line| line.serve.max_tasks);
        assert_eq!(most("1").expect("one task"), Some(1));
        assert!(most("0").is_err());
    }
}
