//! Many repositories of one bot: a round in which nothing is new, and stored deliveries that are worked off.

use crate::line::Line;
use crate::parked::{configured, parts};
use anyhow::{Context, Result};
use axum::extract::connect_info::IntoMakeServiceWithConnectInfo;
use caisson::bot::{Bot, Patience};
use caisson::config::Secret;
use caisson::server::{ClientLimits, Hooks, LimitedListener, Limits, Peer, hook_router};
use caisson::store::Store;
use devforge::{Devforge, Options};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const QUIET: usize = 200;
const ROUNDS: usize = 5;
const BUSY: usize = 50;
const ISSUES: usize = 4;
const COMMENTS: usize = 5;
/// Longer than any step on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

pub async fn measure() -> Vec<Line> {
    let (time, most) = quiet().await.expect("a round over all repositories");
    let rate = backlog().await.expect("deliveries worked off");
    vec![
        Line::promise(
            &format!("{QUIET} repositories with nothing new, one round, the slowest of {ROUNDS}"),
            format!("{:.2} s, at most {most} requests for each", time.as_secs_f64()),
            "≤ 3 s, ≤ 2 requests each",
            time <= Duration::from_secs(3) && most <= 2,
        ),
        Line::promise(
            &format!("{} stored deliveries for {BUSY} repositories worked off", BUSY * ISSUES * COMMENTS),
            format!("{rate:.0}/s"),
            "≥ 300/s",
            rate >= 300.0,
        ),
    ]
}

fn name(n: usize) -> String {
    format!("lab/r{n}")
}

async fn forge_with(repositories: usize, dir: &Path) -> Result<Devforge> {
    let forge = Devforge::start(Options::quiet()).await?;
    let names: Vec<String> = (0..repositories).map(name).collect();
    configured(&forge, dir, &names, 3600).await?;
    Ok(forge)
}

/// The slowest round, and the most requests that one repository took in one.
async fn quiet() -> Result<(Duration, u64)> {
    let dir = tempfile::tempdir()?;
    let forge = forge_with(QUIET, dir.path()).await?;
    let bot = Bot::start(parts(dir.path()).await?).await?;
    // The first one sets the watermarks.
    bot.read_now().await?;
    let asked = || -> Vec<u64> {
        let of = |n: usize| {
            let place = format!("/repos/{}/", name(n));
            forge.requests(|path| path.contains(&place) || path.ends_with(place.trim_end_matches('/')))
        };
        (0..QUIET).map(of).collect()
    };
    let (mut slowest, mut most) = (Duration::ZERO, 0);
    for _ in 0..ROUNDS {
        let (before, began) = (asked(), Instant::now());
        bot.read_now().await?;
        slowest = slowest.max(began.elapsed());
        most = asked().iter().zip(before).map(|(now, before)| now - before).max().unwrap_or_default().max(most);
    }
    anyhow::ensure!(most > 0, "no repository was asked for");
    bot.stop(Patience { all: PATIENCE, paid: PATIENCE }).await;
    Ok((slowest, most))
}

/// A webhook listener that stores what comes while no bot runs.
async fn listener(store: Store) -> Result<std::net::SocketAddr> {
    let secrets: HashMap<_, _> = (0..BUSY).map(|n| (format!("r{n}"), vec![Secret::new("sekret")])).collect();
    let clients = ClientLimits::new(Limits { connections: 256, bad_signatures: 1, ..Limits::default() });
    let hooks = Hooks { secrets: Arc::new(secrets.into()), store, bell: Arc::default(), clients: clients.clone() };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let app: IntoMakeServiceWithConnectInfo<_, Peer> =
        hook_router(Arc::new(hooks), 1 << 20).into_make_service_with_connect_info();
    tokio::spawn(async move { axum::serve(LimitedListener { listener, clients }, app).await });
    Ok(address)
}

/// Deliveries a second, from the bot's start to the last one that was read with what it is about.
async fn backlog() -> Result<f64> {
    let refused = |why: devforge::Refusal| anyhow::anyhow!(why.message);
    let dir = tempfile::tempdir()?;
    let forge = forge_with(BUSY, dir.path()).await?;
    let alice = forge.as_person("alice");
    for n in 0..BUSY {
        for issue in 0..ISSUES {
            alice.open_issue(&name(n), &format!("Issue {issue}"), "Please.").map_err(refused)?;
        }
    }
    let parts = parts(dir.path()).await?;
    let store = parts.store.clone();
    let at = listener(store.clone()).await?;
    for n in 0..BUSY {
        forge.add_hook(&name(n), &format!("http://{at}/webhooks/gitea/r{n}"), "sekret").map_err(refused)?;
        for issue in 1..=ISSUES {
            for comment in 0..COMMENTS {
                alice.comment(&name(n), issue as u64, &format!("Remark {comment}.")).map_err(refused)?;
            }
        }
    }
    until("the deliveries", async || forge.hooks_underway() == 0).await?;
    let stored = store.open_deliveries(5_000, &[]).await?.len();
    anyhow::ensure!(stored == BUSY * ISSUES * COMMENTS, "{stored} deliveries are stored");
    let began = Instant::now();
    let bot = Bot::start(parts).await?;
    until("their end", async || store.open_deliveries(1, &[]).await.is_ok_and(|open| open.is_empty())).await?;
    let rate = stored as f64 / began.elapsed().as_secs_f64();
    bot.stop(Patience { all: PATIENCE, paid: PATIENCE }).await;
    Ok(rate)
}

async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) -> Result<()> {
    let ended = async {
        while !done().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.with_context(|| format!("waited in vain for {what}"))
}
