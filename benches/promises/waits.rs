//! What a person waits for: from the fifth action's end to the posted review, from an approval to the next action, and from a comment to its
//! answer. All on real parts.

use crate::doorbell::Doorbell;
use crate::line::{Line, ms, quantile, ratio};
use crate::stage::{BOT, Stage, clone, missing, timed_push, until};
use anyhow::Result;
use caisson::forge::{ForgeReads, ForgeWrites, NewReview};
use caisson::store::Store;
use domain::{Event, Why};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Five checkpoints each, so that the median has enough samples.
const TASKS: usize = 2;
/// Questions, each on an issue of its own.
const QUESTIONS: usize = 15;

#[derive(Default)]
struct Samples {
    review: Vec<Duration>,
    baseline: Vec<Duration>,
    resume: Vec<Duration>,
    hook: Vec<Duration>,
    answer: Vec<Duration>,
    /// A hook's delay and one posted comment.
    posted: Vec<Duration>,
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

fn between(from: i64, to: i64) -> Duration {
    Duration::from_millis(u64::try_from(to - from).unwrap_or(0))
}

pub async fn measure() -> Vec<Line> {
    if let Some(why) = missing() {
        eprintln!("skipped: what a person waits for: {why}");
        return Vec::new();
    }
    let (mut samples, what) = run().await.expect("a task on real parts");
    let (review, baseline) = (quantile(&mut samples.review, 0.5), quantile(&mut samples.baseline, 0.5));
    let (resume, hook) = (quantile(&mut samples.resume, 0.5), quantile(&mut samples.hook, 0.5));
    let (late, slow) = (ratio(review, baseline), ratio(resume, hook));
    let (answer, posted) = (quantile(&mut samples.answer, 0.5), quantile(&mut samples.posted, 0.5));
    let answered = ratio(answer, posted);
    vec![
        Line::promise(
            "five actions done → review stands, against one `git push` and one review posted, p50",
            format!("{} against {}: {late:.1} × ({what})", ms(review), ms(baseline)),
            "≤ 1.5 ×",
            late <= 1.5,
        ),
        Line::promise(
            "approval posted → next action starts, against the hook's own delay, p50",
            format!("{} against {}: {slow:.1} × ({what})", ms(resume), ms(hook)),
            "≤ 2.5 ×",
            slow <= 2.5,
        ),
        Line::promise(
            "comment posted → first visible answer, against the hook's own delay and one comment posted, p50",
            format!("{} against {}: {answered:.1} × ({what})", ms(answer), ms(posted)),
            "≤ 1.6 ×",
            answered <= 1.6,
        ),
    ]
}

async fn run() -> Result<(Samples, String)> {
    let mut stage = Stage::open().await?;
    let clone = clone(&stage)?;
    // The pushed branch has an open pull request, as the bot's has, so that the forge does the same work on both sides.
    timed_push(&stage, &clone, 0)?;
    stage.open_probe().await?;
    let hooks = Doorbell::open(&stage).await?;
    let store = stage.store().await?;
    let (mut samples, mut round) = (Samples::default(), 0);
    for _ in 0..QUESTIONS {
        question(&stage, &hooks, &mut samples).await?;
    }
    for _ in 0..TASKS {
        task(&stage, &store, &hooks, &clone, &mut round, &mut samples).await?;
    }
    let what = stage.place.what.clone();
    stage.bot.end()?;
    Ok((samples, what))
}

/// One `/help` on an issue of its own, until a person's look shows the answer; beside it, what a program without a bot would need.
async fn question(stage: &Stage, hooks: &Doorbell, samples: &mut Samples) -> Result<()> {
    let (issue, _) = stage.person.open_issue("A question", "How does this work?").await?;
    let forge = &stage.person.forge;
    let delay = hooks.delay().await?;
    let began = Instant::now();
    forge.post_comment(&stage.repo, issue, "A remark.").await?;
    samples.posted.push(delay + began.elapsed());
    forge.post_comment(&stage.repo, issue, "/help").await?;
    let posted = Instant::now();
    until("an answer", async || {
        let comments = forge.comments(&stage.repo, issue).await?;
        Ok(comments.iter().any(|comment| comment.author.login == BOT).then_some(()))
    })
    .await?;
    samples.answer.push(posted.elapsed());
    Ok(())
}

/// One task from its issue to its last action; `round` numbers the pushes made for comparison.
async fn task(
    stage: &Stage,
    store: &Store,
    hooks: &Doorbell,
    clone: &Path,
    round: &mut usize,
    samples: &mut Samples,
) -> Result<()> {
    let issue = stage.ask().await?;
    let row = until("a task", async || stage.task(store, issue).await).await?;
    let mut approved: Option<i64> = None;
    loop {
        *round += 1;
        let (pull, review) = until("a checkpoint", async || {
            let waiting = stage.waiting(store, &row).await?;
            Ok(waiting.filter(|(_, review)| Some(review.number) != approved))
        })
        .await?;
        let probe = NewReview { commit: review.commit.clone(), body: review.body.clone(), notes: Vec::new() };
        let pushed = timed_push(stage, clone, *round)?;
        let began = Instant::now();
        stage.person.forge.post_review(&stage.repo, pull, &probe).await?;
        samples.baseline.push(pushed + began.elapsed());
        samples.hook.push(hooks.delay().await?);
        approved = Some(review.number);
        let known = stage.log(store, &row).await?.len();
        stage.person.approve(pull, &review).await?;
        let given = now_ms();
        let next = until("what follows the approval", async || {
            let log = stage.log(store, &row).await?;
            let started = log.iter().skip(known).find(|(_, event)| matches!(event, Event::ActionStarted { .. }));
            let ended = log.iter().any(|(_, event)| matches!(event, Event::PublishStarted { why: Why::Done, .. }));
            Ok(started.map(|(at, _)| Some(*at)).or(ended.then_some(None)))
        })
        .await?;
        match next {
            Some(at) => samples.resume.push(between(given, at)),
            None => break,
        }
    }
    samples.review.extend(reviews(&stage.log(store, &row).await?));
    Ok(())
}

/// From the fifth action's end to the review, for each checkpoint but the first, which also opens the pull request.
fn reviews(log: &[(i64, Event)]) -> Vec<Duration> {
    let (mut last, mut found) = (0, Vec::new());
    for (at, event) in log {
        match event {
            Event::ActionFinished { .. } => last = *at,
            Event::CheckpointPosted { last: false, .. } => found.push(between(last, *at)),
            _ => {}
        }
    }
    found.split_off(1.min(found.len()))
}
