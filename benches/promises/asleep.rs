//! A sandbox whose task waited: frozen, stopped, removed, and how soon an action runs in it again.

use crate::container::{IMAGE, docker, runner, with_broker};
use crate::demo::process::git;
use crate::line::{Line, ms, quantile};
use anyhow::Result;
use broker::Settings as BrokerSettings;
use caisson::git::{Branch, RemoteUrl, Repos};
use caisson::sandbox::broker::SocketBroker;
use caisson::sandbox::{PrepareSpec, Sandboxes, Settings};
use domain::Action;
use protocol::broker::ContainerLimits;
use protocol::runner::Limits;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUNDS: u64 = 8;
const TASK: i64 = 1;
const KEY: &str = "demo";
/// Files of 50 KB that no packing makes smaller: 5 MB.
const FILES: usize = 100;

pub async fn measure() -> Vec<Line> {
    let Some(runner) = runner().filter(|_| docker(&["image", "inspect", IMAGE])) else {
        eprintln!(
            "skipped: waking needs CAISSON_RUNNER (make bench sets it), Docker and the image {IMAGE} (make images)"
        );
        return Vec::new();
    };
    let mut settings = BrokerSettings::new("", "bench", &runner);
    settings.images = vec![IMAGE.to_owned()];
    // Only a workspace on disk outlives its container's stop.
    settings.plain_workspaces = true;
    with_broker(settings, async |broker| woken(broker).await.expect("a sandbox that sleeps and wakes")).await
}

async fn woken(broker: SocketBroker) -> Result<Vec<Line>> {
    let dir = tempfile::tempdir()?;
    let upstream = dir.path().join("upstream");
    repository(&upstream)?;
    let repos = Repos::new(dir.path().join("repos"));
    repos.fetch(KEY, &RemoteUrl::parse(&upstream.display().to_string())?, None).await?;
    let base = repos.resolve(KEY, &Branch::parse("main")?).await?;
    let spec = PrepareSpec {
        task: TASK,
        attempt: 1,
        repo_key: KEY.to_owned(),
        trunk: Some(base.clone()),
        base,
        image: IMAGE.to_owned(),
        limits: ContainerLimits { memory_bytes: 512 << 20, workspace_bytes: 0, ..ContainerLimits::default() },
        network: false,
        egress: Vec::new(),
        setup: None,
        anew: None,
        merge: None,
        afresh: false,
    };
    let sandboxes = Sandboxes::new(Arc::new(broker), None, repos, Settings::new(dir.path().join("state"), IMAGE), 1)?;
    sandboxes.of_tasks.prepare(&spec).await?;
    let (mut frozen, mut stopped, mut evicted) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        sandboxes.of_tasks.rest(TASK).await?;
        frozen.push(
            first_action(&sandboxes, 10 * round + 1, async || sandboxes.of_tasks.open(TASK).await.map(drop)).await?,
        );
        sandboxes.of_tasks.stop(TASK).await?;
        stopped.push(
            first_action(&sandboxes, 10 * round + 2, async || sandboxes.of_tasks.open(TASK).await.map(drop)).await?,
        );
        sandboxes.of_tasks.remove(TASK).await?;
        let again = async || sandboxes.of_tasks.prepare(&spec).await.map(drop);
        evicted.push(first_action(&sandboxes, 10 * round + 3, again).await?);
    }
    sandboxes.of_tasks.remove(TASK).await?;
    sandboxes.leave().await;
    let line = |name: &str, samples: &mut Vec<Duration>, most: u64| {
        let half = quantile(samples, 0.5);
        Line::promise(name, ms(half), &format!("≤ {most} ms"), half <= Duration::from_millis(most))
    };
    Ok(vec![
        line("a frozen sandbox → first action's output, p50", &mut frozen, 50),
        line("a stopped sandbox → first action's output, p50", &mut stopped, 500),
        line("a removed sandbox → first action's output, repository of 5 MB, p50", &mut evicted, 1500),
    ])
}

/// Time from the decision to the output of an action.
async fn first_action(
    sandboxes: &Sandboxes,
    id: u64,
    wake: impl AsyncFnOnce() -> caisson::sandbox::Result<()>,
) -> Result<Duration> {
    let began = Instant::now();
    wake().await?;
    let action = Action::ReadFile { path: "0.bin.txt".to_owned(), from: 1, lines: 1 };
    let limits = Limits { wall_ms: 30_000, output_bytes: 4096 };
    let acted = sandboxes.actions.act(TASK, id, &action, limits).await?;
    let took = began.elapsed();
    anyhow::ensure!(acted.lost.is_none() && acted.outcome.text.contains("one"), "{:?}", acted.outcome);
    Ok(took)
}

fn repository(at: &Path) -> Result<()> {
    std::fs::create_dir_all(at)?;
    let mut random = std::fs::File::open("/dev/urandom")?;
    for number in 0..FILES {
        let mut bytes = vec![0; 50_000];
        random.read_exact(&mut bytes)?;
        std::fs::write(at.join(format!("{number}.bin")), bytes)?;
    }
    std::fs::write(at.join("0.bin.txt"), "one\n")?;
    git(at, &["init", "-q", "-b", "main"])?;
    git(at, &["add", "-A"])?;
    git(at, &["commit", "-q", "-m", "five megabytes"])?;
    Ok(())
}
