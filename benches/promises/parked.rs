//! Ten thousand tasks that wait for a person: the additional memory of the bot, and the number of requests to the forge in a round.

use crate::fold::request;
use crate::line::Line;
use anyhow::{Context, Result};
use caisson::barrier::{BarrierState, Inspector};
use caisson::bot::{Bot, Parts};
use caisson::config::{Process, Secret};
use caisson::forge::{ForgeReads, Gitea, RepoRef};
use caisson::git::{Auth, Repos};
use caisson::sandbox::broker::SocketBroker;
use caisson::sandbox::{SandboxError, Sandboxes, Settings};
use caisson::store::{NewTask, Store};
use caisson::supervise::Works;
use devforge::{Access, Devforge, Options};
use domain::*;
use metrics_exporter_prometheus::PrometheusBuilder;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The argument that makes this program act as the bot.
pub const WORD: &str = "parked-bot";
const TASKS: u64 = 10_000;
const REPO: &str = "lab/shop";
/// Seconds between two rounds.
const POLL_S: u64 = 2;
const WATCHED_S: u64 = 60;

/// What a bot used: its memory at the end and at most (KiB), rounds, and requests besides those that each round makes anyway.
struct Used {
    rss: u64,
    peak: u64,
    rounds: u64,
    own: u64,
}

pub async fn measure() -> Vec<Line> {
    let none = watched(0).await.expect("a bot without a task");
    let many = watched(TASKS).await.expect("a bot with parked tasks");
    let mib = |kib: u64| kib as f64 / 1024.0;
    let more = many.rss.saturating_sub(none.rss);
    // Each issue is also read once an hour.
    let readings = many.own as f64 / 3.0;
    let hourly = (TASKS * WATCHED_S) as f64 / 3600.0;
    vec![
        Line::promise(
            "memory of a bot with 10,000 parked tasks beyond that of one without a task, RSS",
            format!(
                "{:.1} MiB ({:.1} against {:.1}; peak {:.1})",
                mib(more),
                mib(many.rss),
                mib(none.rss),
                mib(many.peak)
            ),
            "≤ 40 MB",
            more * 1024 <= 40_000_000,
        ),
        Line::promise(
            "… requests for single ones of them in a minute, beside the two lists of each round",
            format!(
                "{} in {} rounds, {readings:.0} readings (an hourly one of each: {hourly:.0}); without a task {}",
                many.own, many.rounds, none.own
            ),
            "≤ 1.5 × the hourly readings",
            readings <= 1.5 * hourly,
        ),
    ]
}

async fn watched(tasks: u64) -> Result<Used> {
    let dir = tempfile::tempdir()?;
    let forge = Devforge::start(Options::quiet()).await?;
    configured(&forge, dir.path(), &[REPO.to_owned()], POLL_S).await?;
    let alice = forge.as_person("alice");
    for n in 0..tasks {
        alice.open_issue(REPO, &format!("Issue {n}"), "Please.").map_err(|why| anyhow::anyhow!(why.message))?;
    }
    // Made older, so that no issue looks new.
    forge.age(REPO, 600).map_err(|why| anyhow::anyhow!(why.message))?;
    park(&dir.path().join("state"), tasks).await?;
    let mut bot = Command::new(std::env::current_exe()?).arg(WORD).arg(dir.path()).spawn()?;
    let used = watch_it(&forge, &mut bot).await;
    bot.kill()?;
    bot.wait()?;
    used
}

async fn watch_it(forge: &Devforge, bot: &mut Child) -> Result<Used> {
    let rounds = || forge.requests(|path| path.ends_with("/issues/comments"));
    let own = || forge.requests(|path| path.contains("/issues/") && !path.ends_with("/issues/comments"));
    let end = Instant::now() + Duration::from_secs(60);
    while rounds() < 3 {
        anyhow::ensure!(Instant::now() < end && bot.try_wait()?.is_none(), "the bot does not read");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let before = (rounds(), own());
    tokio::time::sleep(Duration::from_secs(WATCHED_S)).await;
    let status = std::fs::read_to_string(format!("/proc/{}/status", bot.id()))?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse::<u64>().with_context(|| format!("no {name} in its status"))
    };
    let (rounds, own) = (rounds() - before.0, own() - before.1);
    Ok(Used { rss: field("VmRSS:")?, peak: field("VmHWM:")?, rounds, own })
}

/// The forge's people and these repositories, and the bot's configuration for them; keys are the repositories' names.
pub async fn configured(forge: &Devforge, dir: &Path, repositories: &[String], poll_s: u64) -> Result<()> {
    let refused = |why: devforge::Refusal| anyhow::anyhow!(why.message);
    for login in ["caisson", "alice"] {
        forge.add_person(login, "secret").map_err(refused)?;
    }
    forge.add_organisation("lab", "caisson").map_err(refused)?;
    let token = forge.add_token("caisson").map_err(refused)?;
    let client = Gitea::new(&forge.url().parse()?, Secret::new(token.clone()), "bench")?;
    let mut entries = String::new();
    for repo in repositories {
        forge.add_repository(repo, false).await?;
        forge.add_collaborator(repo, "caisson", Access::Admin).map_err(refused)?;
        forge.add_collaborator(repo, "alice", Access::Write).map_err(refused)?;
        let (owner, name) = repo.split_once('/').context("owner and name")?;
        let id = client.repository(&RepoRef::new(owner, name)).await?.id;
        entries += &format!(
            "[[repositories]]\nkey = \"{name}\"\nowner = \"{owner}\"\nname = \"{name}\"\nid = {id}\nsecret_files = [\"hook.secret\"]\n"
        );
    }
    for (name, text) in [("bot.token", token.as_str()), ("hook.secret", "sekret")] {
        Secret::new(text).write(&dir.join(name))?;
    }
    std::fs::write(dir.join("script.toml"), "name = \"nothing\"\n[[turn]]\ntext = \"nothing\"\n")?;
    let text = format!(
        "state_dir = \"state\"\n[forge]\nurl = \"{}\"\ntoken_file = \"bot.token\"\npoll_s = {poll_s}\n\
         [listen]\nwebhooks = \"127.0.0.1:0\"\nops = \"127.0.0.1:0\"\n\
         [model]\nkind = \"scripted\"\nscript = \"script.toml\"\nstyle = \"tools\"\n[sandbox]\nnetwork = \"none\"\n{entries}",
        forge.url()
    );
    Ok(std::fs::write(dir.join("caisson.toml"), text)?)
}

/// Stores tasks on the issues from 1 on, each paused until a person writes, with nothing left to post.
async fn park(state: &Path, tasks: u64) -> Result<()> {
    std::fs::create_dir_all(state)?;
    let store = Store::open(state).await?;
    let now = caisson::clock::now();
    let one = async |issue: u64| {
        let asked = Request { issue, body: "Please. ".repeat(250), ..request() };
        let reason = PauseReason::Blocked { sentence: "a person is asked".into() };
        let inputs = [Input::Requested { request: Box::new(asked) }, Input::PauseAsked { reason }];
        let (mut task, mut events) = (Task::new(TaskId(0)), Vec::new());
        for input in inputs {
            let (after, step) = transition(&task, &Envelope { key: format!("parked:{issue}"), now, input });
            task = after;
            events.extend(step.events);
        }
        let step = Step { events, effects: Vec::new() };
        let new = NewTask { task, input_key: format!("opened:{issue}"), now, step, epoch: 1, host: "".into() };
        store.create(new).await
    };
    for chunk in (1..=tasks).collect::<Vec<_>>().chunks(200) {
        for done in futures_util::future::join_all(chunk.iter().map(|issue| one(*issue))).await {
            done?;
        }
    }
    let parked = store.live().await?.iter().filter(|row| row.state == "paused").count();
    anyhow::ensure!(parked as u64 == tasks, "{parked} of {tasks} are parked");
    Ok(())
}

struct Nothing;

#[async_trait::async_trait]
impl Inspector for Nothing {
    async fn mismatches(&self, _: i64) -> std::result::Result<Vec<String>, SandboxError> {
        Ok(Vec::new())
    }
}

/// Runs the bot of a directory until it is killed. It has no engine, which a waiting task does not need.
pub fn run(dir: String) -> ! {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(async {
        let parts = parts(Path::new(&dir)).await.expect("its parts");
        let _bot = Bot::start(parts).await.expect("a bot");
        std::future::pending::<()>().await;
    });
    unreachable!("it waits for its end")
}

/// A bot's parts from the configuration in a directory, without an engine.
pub async fn parts(dir: &Path) -> Result<Parts> {
    let config = Arc::new(Process::load(&dir.join("caisson.toml"))?);
    let store = Store::open(config.state_dir.as_path()).await?;
    let epoch = store.begin_epoch(caisson::clock::now()).await?;
    let token = Secret::read(config.forge.token_file.as_deref().context("a token")?)?;
    let forge = Gitea::new(config.forge.url.as_ref().context("an address")?, token.clone(), "caisson-bench")?;
    let me = forge.whoami().await?;
    let repos = Repos::new(config.state_dir.join("repos"));
    let broker = Arc::new(SocketBroker::new(dir.join("nobody.sock")));
    let settings = Settings::new(&config.state_dir, "local");
    let sandboxes = Sandboxes::new(broker.clone(), None, repos.clone(), settings, epoch as u64)?;
    Ok(Parts {
        host: caisson::cli::store::host_id(&config.state_dir)?,
        models: caisson::llm::Models::open(&config.models).map_err(anyhow::Error::msg)?,
        hook_secrets: std::collections::HashMap::new(),
        mark_key: Secret::read_or_make(&config.mark_key_file())?,
        ops_token: Secret::read_or_make(&config.state_dir.join("ops.token"))?,
        auth: Auth::basic(&me.login, token.expose()),
        metrics: PrometheusBuilder::new().build_recorder().handle(),
        forge: Arc::new(forge),
        sandboxes: Arc::new(sandboxes),
        inspector: Arc::new(Nothing),
        sync: None,
        sync_auth: None,
        config,
        store,
        epoch,
        me,
        broker,
        repos,
        barrier: watch::channel(BarrierState::Proven).1,
        works: Works::default(),
        cut: None,
    })
}
