//! A simulated year of 200 tasks a day: how large the store grows, and what a poll round costs in it at the start and at the end. Takes
//! minutes, so it runs only if named (`make bench ARGS=year`). CAISSON_YEAR_DAYS shortens it.

use crate::fold::request;
use crate::line::{Line, ms, quantile, ratio};
use caisson::store::{Append, Before, Delivery, NewTask, Store};
use domain::*;
use std::path::Path;
use std::time::{Duration, Instant};

const TASKS: i64 = 200;
const DAY: i64 = 24 * 3600 * 1000;
/// As in the configuration's defaults.
const KEEP: (i64, i64, i64) = (7, 30, 90);

fn append(task: &Task, step: Step, key: String, now: i64) -> Append {
    let mut after = task.clone();
    step.events.iter().for_each(|event| after.apply(event));
    Append { task: after, expected_seq: task.seq, input_key: key, now, step, close: None, epoch: 1, host: "".into() }
}

/// One task of a usual size, from its issue to its end.
async fn live(store: &Store, n: i64, now: i64) {
    for hook in 0..10 {
        let (uuid, body) = (format!("{n}-{hook}"), vec![b'{'; 4000]);
        let arrival = Delivery {
            uuid: uuid.clone(),
            repository: "shop".into(),
            event_type: "issues".into(),
            body,
            received_at: now,
            about: None,
        };
        store.deliver(arrival).await.expect("stored");
        store.delivered(vec![uuid], now).await.expect("marked");
    }
    let mut asked = request();
    asked.issue = n as u64;
    let key = format!("opened:{n}");
    let input = Input::Requested { request: Box::new(asked) };
    let (task, step) = transition(&Task::new(TaskId(0)), &Envelope { key: key.clone(), now, input });
    let id = store
        .create(NewTask { task, input_key: key, now, step, epoch: 1, host: "".into() })
        .await
        .expect("stored")
        .expect("new");
    let mut task = store.task(id).await.expect("folded");
    for turn in 0..3_u32 {
        let output = |bytes: usize, number: u32| Event::ActionFinished {
            number,
            outcome: Outcome {
                duration_ms: 12,
                ..Outcome::new(OutcomeStatus::Exited { code: 0 }, format!("{n} {turn} ").repeat(bytes / 8))
            },
        };
        let events = (0..6).map(|i| output(2_000, i)).chain([output(20_000, 6)]).collect();
        let act = |number: u32| Effect::Act {
            number: turn * 6 + number,
            action: Action::Bash { command: "make".into() },
            permitted: false,
        };
        let step = Step { events, effects: (0..6).map(act).collect() };
        let one = append(&task, step, format!("effect:{id}:{turn}"), now);
        task = one.task.clone();
        store.append(one).await.expect("stored");
        store.note_input(&format!("comment:{}#0", n * 3 + i64::from(turn)), now).await.expect("noted");
        let lines = (0..10).map(|i| (now * 64 + i64::from(turn) * 16 + i, now, "{\"host\":\"a.example\"}".to_owned()));
        store.keep_egress(id, lines.collect()).await.expect("kept");
    }
    let (_, step) = transition(&task, &Envelope { key: "closed".into(), now, input: Input::IssueClosed });
    store.append(append(&task, step, format!("issue-closed:{id}"), now)).await.expect("stored");
}

async fn delete_what_is_old(store: &Store, now: i64) {
    let before = |days: i64| Some(now - days * DAY);
    let all = Before { deliveries: before(KEEP.0), details: before(KEEP.1), tasks: before(KEEP.2) };
    while store.prune(all).await.expect("pruned") {}
    loop {
        let overdue = store.overdue_tasks(now - KEEP.2 * DAY, 0).await.expect("read");
        if overdue.is_empty() {
            return;
        }
        for (task, _) in overdue {
            store.delete_task(task).await.expect("deleted");
        }
    }
}

/// The queries of a poll round, with twenty texts to look up.
async fn round(store: &Store) -> Duration {
    let mut samples = Vec::new();
    for _ in 0..40 {
        let began = Instant::now();
        store.live_tasks().await.expect("read");
        store.watermark("shop").await.expect("read");
        store.live_task_of("shop", 1).await.expect("read");
        store.open_deliveries(200, &[]).await.expect("read");
        for id in 0..20 {
            store.knows_input(&format!("comment:{id}#0")).await.expect("read");
        }
        samples.push(began.elapsed());
    }
    quantile(&mut samples, 0.5)
}

fn mib(dir: &Path) -> f64 {
    std::fs::metadata(dir.join("caisson.db")).map_or(0.0, |file| file.len() as f64 / f64::from(1 << 20))
}

pub async fn measure() -> Vec<Line> {
    let days = std::env::var("CAISSON_YEAR_DAYS").ok().and_then(|text| text.parse().ok()).unwrap_or(365);
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::open(dir.path()).await.expect("a store");
    let (mut early, mut full, mut rows) = (Duration::ZERO, 0.0, Vec::new());
    let mut retention = Vec::new();
    for day in 0..days {
        let now = day * DAY;
        let tasks = (0..TASKS).map(|task| live(&store, day * TASKS + task + 1, now + task));
        futures_util::future::join_all(tasks).await;
        let began = Instant::now();
        delete_what_is_old(&store, now).await;
        retention.push(began.elapsed());
        if day == 1 {
            early = round(&store).await;
        }
        if day == KEEP.2 + 10 {
            full = mib(dir.path());
        }
        if (day + 1) % 30 == 0 {
            rows.push(format!("day {}: {:.0} MiB", day + 1, mib(dir.path())));
            eprintln!("{}", rows.last().map_or("", String::as_str));
        }
    }
    let (late, end) = (round(&store).await, mib(dir.path()));
    let grown = if full > 0.0 { end / full } else { 1.0 };
    vec![
        Line::shown("the store over a year of 200 tasks a day", rows.join(", ")),
        Line::promise(
            "the store at the year's end, against the day on which the first tasks were deleted",
            format!("{end:.0} MiB against {full:.0} MiB: {grown:.2} ×"),
            "≤ 1.1 ×",
            grown <= 1.1,
        ),
        Line::promise(
            "what a round asks of the store, at the year's end against its second day",
            format!("{} against {}: {:.2} ×", ms(late), ms(early), ratio(late, early)),
            "≤ 3 ×",
            ratio(late, early) <= 3.0,
        ),
        Line::shown("deleting what is old, each day (median)", ms(quantile(&mut retention, 0.5))),
    ]
}
