//! Sixty tasks at work at the same time: how much longer the slowest takes than the median, and the bot's memory meanwhile. On real parts.

use crate::line::{Line, ms, quantile, ratio};
use crate::stage::{Stage, missing};
use anyhow::{Context, Result};
use caisson::store::Store;
use domain::{Event, TaskId};
use std::time::{Duration, Instant};

const TASKS: usize = 60;
/// Subnets: the most that an installation may have; one for each task.
const SUBNETS: usize = 62;
const PATIENCE: Duration = Duration::from_secs(900);

pub async fn measure() -> Vec<Line> {
    if let Some(why) = missing() {
        eprintln!("skipped: {TASKS} tasks at once: {why}");
        return Vec::new();
    }
    let (mut times, at_once, peak) = run().await.expect("tasks on real parts");
    let (median, slowest) = (quantile(&mut times, 0.5), times.iter().copied().max().unwrap_or_default());
    let more = ratio(slowest, median);
    vec![
        Line::promise(
            &format!(
                "{TASKS} tasks at once ({at_once} at work at the same moment), from `/fix` to the first review: slowest against median"
            ),
            format!("{} against {}: {more:.2} ×", ms(slowest), ms(median)),
            "≤ 2 ×",
            more <= 2.0,
        ),
        Line::promise(
            "… memory of the bot meanwhile, RSS, at most",
            format!("{:.1} MB", peak as f64 * 1024.0 / 1e6),
            "≤ 150 MB",
            peak * 1024 <= 150_000_000,
        ),
    ]
}

/// Each task's time to its first review, the most that were at work at one moment, and the bot's peak in KiB.
async fn run() -> Result<(Vec<Duration>, usize, u64)> {
    let more = [("CAISSON_MAX_TASKS", TASKS), ("CAISSON_ROUTER_BERTHS", SUBNETS)];
    let mut stage = Stage::with(more.map(|(name, number)| (name.to_owned(), number.to_string())).to_vec()).await?;
    let store = stage.store().await?;
    for asked in futures_util::future::join_all((0..TASKS).map(|_| stage.ask())).await {
        asked?;
    }
    let (end, mut at_once) = (Instant::now() + PATIENCE, 0);
    loop {
        let tasks = store.tasks(1000).await?;
        let reviewed = tasks.iter().filter(|row| row.state == "awaiting-review").count();
        let working = tasks.iter().filter(|row| matches!(row.state.as_str(), "preparing" | "running" | "publishing"));
        at_once = working.count().max(at_once);
        if reviewed == TASKS {
            break;
        }
        let states: Vec<&str> = tasks.iter().map(|row| row.state.as_str()).collect();
        anyhow::ensure!(Instant::now() < end, "{reviewed} of {TASKS} have a review: {states:?}");
        stage.bot.alive()?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let peak = peak_memory(stage.bot.process().context("the bot runs")?)?;
    let mut times = Vec::new();
    for row in store.tasks(1000).await? {
        times.push(time(&store, TaskId(row.id)).await?);
    }
    stage.bot.end()?;
    Ok((times, at_once, peak))
}

/// From the request of the task to its first review.
async fn time(store: &Store, task: TaskId) -> Result<Duration> {
    let log = store.log(task).await?;
    let began = log.first().context("a log")?.0;
    let posted = log.iter().find(|(_, event)| matches!(event, Event::CheckpointPosted { .. }));
    Ok(Duration::from_millis(u64::try_from(posted.context("a review")?.0 - began)?))
}

/// The most resident memory that a process had, in KiB.
fn peak_memory(process: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM in its status")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
