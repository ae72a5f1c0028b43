//! A repository compared with an upstream that has nothing new, both over HTTP: what a bot with many repositories does again and again.

use crate::demo::process::git;
use crate::line::{Line, ms, quantile};
use anyhow::Result;
use caisson::git::{Auth, Branch, RemoteUrl, Repos};
use caisson::upstream::{Copy, Moved};
use devforge::{Devforge, Options};
use std::time::{Duration, Instant};

const ROUNDS: usize = 30;
const TAGS: usize = 200;
const NAME: &str = "shop";

pub async fn measure() -> Vec<Line> {
    let mut times = run().await.expect("two forges");
    let half = quantile(&mut times, 0.5);
    vec![Line::promise(
        &format!("a repository with {TAGS} tags compared with an unchanged upstream, p50 of {ROUNDS}"),
        ms(half),
        "≤ 300 ms",
        half <= Duration::from_millis(300),
    )]
}

async fn run() -> Result<Vec<Duration>> {
    let dir = tempfile::tempdir()?;
    let work = dir.path().join("work");
    std::fs::create_dir(&work)?;
    git(&work, &["init", "-q", "-b", "main"])?;
    git(&work, &["commit", "-q", "--allow-empty", "-m", "first"])?;
    for n in 0..TAGS {
        git(&work, &["tag", &format!("v{n}")])?;
    }
    let (upstream, ours) = (forge().await?, forge().await?);
    let header = format!("http.extraHeader=Authorization: token {}", upstream.0.admin_token());
    git(&work, &["-c", &header, "push", "-q", "--tags", upstream.1.as_str(), "main"])?;
    let branches = [Branch::parse("main")?];
    let copy =
        Copy { key: NAME, from: (&upstream.1, Some(&upstream.2)), to: (&ours.1, Some(&ours.2)), branches: &branches };
    let repos = Repos::new(dir.path().join("repos"));
    copy.sync_seen(&repos, &copy.look(&repos).await?, None).await?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let synced = copy.sync_seen(&repos, &copy.look(&repos).await?, None).await?;
        times.push(began.elapsed());
        let unchanged = |moved: &Moved| matches!(moved, Moved::Left(_));
        anyhow::ensure!(synced.tags.new == 0 && synced.branches.iter().all(|(_, it)| unchanged(it)), "{synced:?}");
    }
    Ok(times)
}

/// A forge with an empty repository: its address, and the credential of its admin.
async fn forge() -> Result<(Devforge, RemoteUrl, Auth)> {
    let forge = Devforge::start(Options::quiet()).await?;
    let refused = |why: devforge::Refusal| anyhow::anyhow!(why.message);
    forge.add_person("lab", "secret").map_err(refused)?;
    forge.add_repository("lab/shop", true).await?;
    let token = forge.add_token("lab").map_err(refused)?;
    let url = RemoteUrl::parse(&format!("{}/lab/{NAME}.git", forge.url()))?;
    Ok((forge, url, Auth::basic("lab", &token)))
}
