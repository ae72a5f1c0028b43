//! `kill -9` of `caisson serve` at random moments of running tasks, fifty times, each followed by a restart: every task ends as if nothing
//! had happened.

use crate::demo::process::git;
use crate::line::Line;
use crate::stage::{ACTIONS, BOT, Stage, header, missing};
use anyhow::{Context, Result};
use caisson::forge::ForgeReads;
use caisson::store::TaskRow;
use domain::{Event, OutcomeStatus, TaskId};
use std::collections::BTreeMap;
use std::time::Duration;

const KILLS: usize = 50;

pub async fn measure() -> Vec<Line> {
    if let Some(why) = missing() {
        eprintln!("skipped: kill -9: {why}");
        return Vec::new();
    }
    let (tasks, interrupted, faults) = run().await.expect("tasks on real parts");
    let measured = match faults.is_empty() {
        true => format!("{KILLS} kills over {tasks} tasks; {interrupted} actions marked as interrupted, nothing else"),
        false => faults.join("; "),
    };
    let name = "`kill -9` of `serve` at random moments: no decision twice, no action lost or repeated unmarked, exactly one of each \
                review, comment and push";
    vec![Line::promise(name, measured, "no fault", faults.is_empty())]
}

async fn run() -> Result<(usize, usize, Vec<String>)> {
    let mut stage = Stage::open().await?;
    let store = stage.store().await?;
    let (mut kills, mut tasks, mut faults, mut interrupted) = (0, 0, Vec::new(), 0);
    while kills < KILLS {
        let issue = stage.ask().await?;
        tasks += 1;
        let mut approvals = 0;
        loop {
            let row = stage.task(&store, issue).await?;
            if let Some(row) = &row {
                approvals += usize::from(approve(&stage, &store, row, approvals).await?);
                if row.state == "approved" {
                    let found = judge(&stage, &store, row, approvals).await?;
                    interrupted += found.0;
                    faults.extend(found.1);
                    break;
                }
            }
            if kills < KILLS {
                let wait = 100 + u64::from(getrandom::u32().unwrap_or(700) % 2400);
                tokio::time::sleep(Duration::from_millis(wait)).await;
                stage.bot.kill();
                stage.bot.start()?;
                kills += 1;
            } else {
                stage.bot.alive()?;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    stage.bot.end()?;
    Ok((tasks, interrupted, faults))
}

/// Approves the waiting review, once for each checkpoint; false when there is none.
async fn approve(stage: &Stage, store: &caisson::store::Store, row: &TaskRow, given: usize) -> Result<bool> {
    let task = store.task(TaskId(row.id)).await?;
    if task.checkpoints.iter().filter(|checkpoint| !checkpoint.void).count() <= given {
        return Ok(false);
    }
    let Some((pull, review)) = stage.waiting(store, row).await? else { return Ok(false) };
    stage.person.approve(pull, &review).await?;
    Ok(true)
}

/// Checks an ended task; returns how many actions were marked as interrupted.
async fn judge(
    stage: &Stage,
    store: &caisson::store::Store,
    row: &TaskRow,
    approvals: usize,
) -> Result<(usize, Vec<String>)> {
    let log: Vec<Event> = stage.log(store, row).await?.into_iter().map(|(_, event)| event).collect();
    let count = |kind: &dyn Fn(&Event) -> bool| log.iter().filter(|event| kind(event)).count();
    let mut faults = Vec::new();
    let mut expect = |what: &str, found: usize, wanted: usize| {
        if found != wanted {
            faults.push(format!("task {}: {found} {what} instead of {wanted}", row.id));
        }
    };
    expect("decisions", count(&|e| matches!(e, Event::DecisionUsed { .. })), approvals);
    expect("actions begun", count(&|e| matches!(e, Event::ActionStarted { .. })), ACTIONS);
    expect("actions ended", count(&|e| matches!(e, Event::ActionFinished { .. })), ACTIONS);
    let broken =
        |e: &Event| matches!(e, Event::ActionFinished { outcome, .. } if outcome.status == OutcomeStatus::Interrupted);
    let interrupted = count(&broken);
    let task = store.task(TaskId(row.id)).await?;
    let pull = task.pull.context("no pull request")?;
    let lines = lines(stage, &row.branch)?;
    if !(ACTIONS - interrupted..=ACTIONS).contains(&lines) {
        expect("lines that stand once in the file", lines, ACTIONS - interrupted);
    }
    let captures = count(&|e| matches!(e, Event::TreeCaptured { .. }));
    expect("commits on the branch", commits(stage, &row.branch)?, captures);
    for (mark, times) in posts(stage, row, pull).await? {
        expect(&format!("posts {mark}"), times, 1);
    }
    let reviews = stage.person.reviews(&stage.repo, pull, BOT).await?.len();
    expect("reviews", reviews, count(&|e| matches!(e, Event::CheckpointPosted { .. })));
    Ok((interrupted, faults))
}

/// The bot's posts on the issue and the pull request, counted by the key in their last line.
async fn posts(stage: &Stage, row: &TaskRow, pull: u64) -> Result<BTreeMap<String, usize>> {
    let forge = &stage.person.forge;
    let mut texts = Vec::new();
    for number in [row.issue as u64, pull] {
        let comments = forge.comments(&stage.repo, number).await?;
        texts.extend(comments.into_iter().filter(|c| c.author.login == BOT).map(|c| c.body));
    }
    texts.extend(stage.person.reviews(&stage.repo, pull, BOT).await?.into_iter().map(|review| review.body));
    let mut counts = BTreeMap::new();
    for text in texts {
        let line = text.trim_end().lines().next_back().unwrap_or_default().to_owned();
        *counts.entry(line).or_default() += 1;
    }
    Ok(counts)
}

/// Number of lines of `lines.txt` on the branch that occur exactly once.
fn lines(stage: &Stage, branch: &str) -> Result<usize> {
    let text = git(&fetched(stage, branch)?, &["show", &format!("refs/remotes/bench/{branch}:lines.txt")])?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    text.lines().for_each(|line| *counts.entry(line).or_default() += 1);
    Ok(counts.values().filter(|times| **times == 1).count())
}

fn commits(stage: &Stage, branch: &str) -> Result<usize> {
    let clone = fetched(stage, branch)?;
    let range = format!("refs/remotes/bench/main..refs/remotes/bench/{branch}");
    Ok(git(&clone, &["rev-list", "--count", &range])?.trim().parse()?)
}

/// A bare clone of the forge's repository with the branch.
fn fetched(stage: &Stage, branch: &str) -> Result<std::path::PathBuf> {
    let copy = stage.dir.path().join("copy.git");
    if !copy.exists() {
        git(stage.dir.path(), &["init", "-q", "--bare", "copy.git"])?;
    }
    let header = header(&stage.token);
    let url = format!("{}/{}.git", stage.place.url.as_str().trim_end_matches('/'), stage.repo);
    let spec = |name: &str| format!("+refs/heads/{name}:refs/remotes/bench/{name}");
    git(&copy, &["-c", &header, "fetch", "-q", &url, &spec("main"), &spec(branch)])?;
    Ok(copy)
}
