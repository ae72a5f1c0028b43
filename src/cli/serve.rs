//! `caisson serve`: reads the configuration, takes the state directory's lock, reaches forge, broker and router, runs the bot until
//! SIGTERM or Ctrl-C, then drains.

use super::broker_child::Started;
use super::printer::{Complaint, Printer};
use super::store::location;
use super::{broker_child, image, lock};
use crate::barrier::FromInside;
use crate::bot::{Bot, LogInbox, Parts, Prover, keep_log, way_out};
use crate::config::process::Network;
use crate::config::{Process, Secret};
use crate::forge::{Account, ForgeReads, Gitea};
use crate::git::{Auth, Repos};
use crate::llm;
use crate::sandbox::broker::{Broker, SocketBroker};
use crate::sandbox::{Gate, Sandboxes, Settings};
use crate::store::Store;
use crate::supervise::Works;
use crate::{task, telemetry};
use anyhow::{Context, Result};
use clap::Args;
use std::collections::HashMap;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, Notify};
use tokio_util::sync::CancellationToken;

pub const USER_AGENT: &str = concat!("caisson/", env!("CARGO_PKG_VERSION"));

/// Runs in the foreground; SIGTERM or Ctrl-C lets work under way end, a second Ctrl-C does not wait. SIGHUP (or `caisson repo add`) reads the
/// configuration again; one that was started in a terminal ends with it.
#[derive(Debug, Args)]
pub struct Serve {
    /// Tasks that work at the same time (instead of max_tasks of the configuration).
    #[arg(long, value_name = "N")]
    max_tasks: Option<usize>,
}

impl Serve {
    pub async fn run(self, config: &Path) -> Result<()> {
        telemetry::start()?;
        // Asked now: of a terminal that is gone nobody can tell that it was one.
        let in_terminal = std::io::stdin().is_terminal();
        let mut config = Process::load(config)?;
        config.max_tasks = self.max_tasks.unwrap_or(config.max_tasks);
        let _lock = lock::take(&config.state_dir)?;
        let config = Arc::new(config);
        let (parts, prover, own_broker) = assemble(&config).await?;
        let missing = image::missing(&config, parts.broker.as_ref()).await;
        let (works, stopping) = (parts.works.clone(), CancellationToken::new());
        let bot = Bot::start(parts).await?;
        let prover = Arc::new(prover);
        works.stay("the barrier's proof", stopping.clone(), move || {
            let prover = prover.clone();
            async move { prover.stay().await }
        });
        let printer = Printer::terminal();
        printer.good(&format!("hooks on http://{}, health and metrics on http://{}", bot.hooks, bot.ops));
        for entry in &config.repositories {
            printer.say(&format!("  {}/{} → {}", entry.owner, entry.name, config.hook_url(&entry.key)));
        }
        if config.repositories.is_empty() {
            printer.hint("no repository yet: `caisson repo add <git-url>`");
        }
        if let Some(text) = image::unbuilt(&missing) {
            printer.hint(&format!("toolchains {text}"));
        }
        let ended = tokio::select! {
            end = wait_for_end() => end.map(|()| Ended::Asked)?,
            why = works.fatal() => Ended::Fatal(why),
            ended = wait_for_reload(&config, &bot.anew, in_terminal, &printer) => ended,
        };
        stopping.cancel();
        printer.step("stopping: work under way may end; Ctrl-C again does not wait");
        end(bot, own_broker, &printer).await?;
        match ended {
            Ended::Asked => Ok(()),
            Ended::Fatal(why) => {
                Err(Complaint::new("the bot had to stop").because(why).attempt("caisson serve").into())
            }
            Ended::Reload => Err(begin_anew().into()),
        }
    }
}

enum Ended {
    Asked,
    Fatal(String),
    Reload,
}

/// Until the configuration is to be read again and is one that could be used: SIGHUP, or a word at the operations' listener.
/// From a terminal the signal means that the terminal is gone.
async fn wait_for_reload(config: &Process, asked: &Notify, in_terminal: bool, printer: &Printer) -> Ended {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else {
        asked.notified().await;
        return Ended::Reload;
    };
    loop {
        tokio::select! {
            () = asked.notified() => return Ended::Reload,
            _ = hangup.recv() => match config.again() {
                _ if in_terminal => return Ended::Asked,
                Ok(_) => return Ended::Reload,
                Err(why) => printer.warn(&format!("the configuration cannot be used, so the one in use stays:\n{why}")),
            },
        }
    }
}

/// The same process with the same arguments, from its beginning: a restart loses nothing, and this one has let go of everything. Answers only
/// when that failed.
fn begin_anew() -> Complaint {
    let program = std::env::current_exe().unwrap_or_default();
    // After an upgrade the program has another file; the kernel shows the old one's name with this behind it.
    let program = program.to_string_lossy().trim_end_matches(" (deleted)").to_owned();
    let why = std::process::Command::new(program).args(std::env::args_os().skip(1)).exec();
    Complaint::new("the bot could not begin anew").because(why.to_string()).attempt("caisson serve")
}

/// Lets work under way end, then the broker that this process started; a second Ctrl-C waits for neither.
async fn end(bot: Bot, mut own_broker: Option<Started>, printer: &Printer) -> Result<()> {
    let orderly = async {
        if !bot.stop().await {
            printer.step("some work was left to the next start; nothing is lost");
        }
        if let Some(broker) = &mut own_broker {
            broker.end().await;
        }
    };
    let result = tokio::select! {
        () = orderly => return Ok(()),
        result = wait_for_end() => result,
    };
    own_broker.into_iter().for_each(Started::let_go);
    result
}

async fn wait_for_end() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => {}
        result = tokio::signal::ctrl_c() => result?,
    }
    Ok(())
}

/// Reaches everything a bot needs; what is missing is named with what to do. With it comes a broker that had to be started: it ends
/// when it is dropped, so on every way out of here, too.
async fn assemble(config: &Arc<Process>) -> Result<(Parts, Prover, Option<Started>)> {
    let url = config.forge.url.clone().ok_or_else(|| {
        Complaint::new("no forge is configured").attempt("caisson setup --forge-url … --admin-token-file …")
    })?;
    // First what costs nothing to look at: whatever fails below takes a broker and its networks down again.
    let models = llm::Models::open(&config.models).map_err(|why| {
        let attempt = "fill in [model] of the configuration (docs/models.md); `caisson doctor` looks at it";
        Complaint::new("the model cannot be used").because(why).attempt(attempt)
    })?;
    let token = secret(config.forge.token_file.as_deref(), "forge.token_file")?;
    let forge = Gitea::new(&url, token.clone(), USER_AGENT)?;
    let me = forge.whoami().await.with_context(|| format!("the forge at {url} does not answer the bot's token"))?;
    let sync = sync_account(config, &url).await?;
    let store = Store::open(location(config)?).await?;
    let epoch = store.begin_epoch(task::now()).await?;
    let broker: Arc<dyn Broker> = Arc::new(SocketBroker::new(&config.broker.socket));
    let own_broker = broker_child::ensure(config, broker.as_ref()).await?;
    let (egress, log) = match config.sandbox.network {
        Network::Router => way_out(config, &broker).await.map(|(egress, log)| (Some(egress), Some(log)))?,
        Network::None => (None, None),
    };
    let gate = egress.clone().map(|egress| egress as Arc<dyn Gate>);
    let repos = Repos::new(config.state_dir.join("repos"));
    let sandboxes = Sandboxes::new(broker.clone(), gate, repos.clone(), settings(config), epoch as u64)?;
    let sandboxes = Arc::new(sandboxes);
    let works = Works::default();
    if let Some(log) = log {
        keep_router_log(&works, log, &store, &sandboxes);
    }
    let (prover, barrier) = Prover::new(config.clone(), broker.clone(), egress, &sandboxes);
    let parts = Parts {
        models,
        hook_secrets: hook_secrets(config)?,
        mark_key: Secret::read_or_make(&config.mark_key_file())?,
        ops_token: Secret::read_or_make(&config.state_dir.join("ops.token"))?,
        auth: Auth::basic(&me.login, token.expose()),
        metrics: telemetry::recorder()?,
        inspector: Arc::new(FromInside {
            sandboxes: sandboxes.clone(),
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
        me,
        sync,
        broker,
        repos,
    };
    Ok((parts, prover, own_broker))
}

/// It ends with the process: what the router said until then is kept.
fn keep_router_log(works: &Works, log: LogInbox, store: &Store, sandboxes: &Arc<Sandboxes>) {
    let (log, store, sandboxes) = (Arc::new(Mutex::new(log)), store.clone(), sandboxes.clone());
    works.stay("the router's log", CancellationToken::new(), move || {
        let (log, store, sandboxes) = (log.clone(), store.clone(), sandboxes.clone());
        async move { keep_log(&mut *log.lock().await, &store, &sandboxes).await }
    });
}

fn secret(path: Option<&Path>, key: &str) -> Result<Secret> {
    let path = path.ok_or_else(|| Complaint::new(format!("{key} is not configured")).attempt("caisson setup"))?;
    Ok(Secret::read(path)?)
}

async fn sync_account(config: &Process, url: &url::Url) -> Result<Option<Account>> {
    let Some(path) = &config.forge.sync_token_file else { return Ok(None) };
    let forge = Gitea::new(url, Secret::read(path)?, USER_AGENT)?;
    Ok(Some(forge.whoami().await.context("the forge does not answer the token in forge.sync_token_file")?))
}

fn hook_secrets(config: &Process) -> Result<HashMap<String, Vec<Secret>>> {
    let mut secrets = HashMap::new();
    for entry in &config.repositories {
        let read: Result<Vec<Secret>, _> = entry.secret_files.iter().map(|path| Secret::read(path)).collect();
        secrets.insert(entry.key.clone(), read?);
    }
    Ok(secrets)
}

/// What holds for sandboxes under this configuration.
pub(super) fn settings(config: &Process) -> Settings {
    let mut settings = Settings::new(&config.state_dir, &config.sandbox.image);
    settings.berths = config.router.berths;
    settings.profile = config.sandbox.hardening.word().to_owned();
    settings.mirror_from_bytes = config.sandbox.mirror_from_mib << 20;
    settings.disk_floor_bytes = config.sandbox.disk_floor_mib << 20;
    settings.setup_wall_ms = config.sandbox.setup_wall_s * 1000;
    settings.setup_bytes = config.sandbox.setup_mib << 20;
    settings.setup_total_bytes = config.sandbox.setup_total_mib << 20;
    settings
}
