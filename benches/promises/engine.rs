//! The engine's own work: the request of a long task, and what an action costs between its result and the stored step.

use crate::fold::request;
use crate::line::{Line, ms, quantile};
use caisson::engine::style::Style;
use caisson::engine::{EngineConfig, compaction_due, prepare, prompt_tokens, way_out};
use caisson::llm::Scripted;
use caisson::secret::Secret;
use caisson::store::{Append, Appended, Store};
use caisson::task::{FeedResult, Machine};
use domain::*;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ACTIONS: u32 = 500;
const ROUNDS: usize = 40;
/// Number of tasks; each side stores three steps of each.
const TASKS: u64 = 60;
const WINDOW: u64 = 10_000_000;

fn call(number: u32) -> CallRequest {
    let action = match number % 3 {
        0 => Action::Bash { command: format!("python3 -m pytest -q tests/test_{number}.py") },
        1 => Action::ReadFile { path: format!("src/part_{number}.py"), from: 1, lines: 0 },
        _ => Action::EditFile {
            path: format!("src/part_{number}.py"),
            old: format!("old {number}"),
            new: format!("new {number}"),
            all: false,
        },
    };
    let arguments = serde_json::to_value(&action).expect("arguments");
    CallRequest {
        id: format!("call_{number}"),
        name: action.kind().to_owned(),
        arguments,
        call: Call::Action { action },
    }
}

fn answered(turn: u32, calls: Vec<CallRequest>) -> Input {
    Input::ModelAnswered {
        turn,
        text: "I look at the next part, and mend what is wrong there.".into(),
        calls,
        usage: Usage { input: 900, output: 50, ..Usage::default() },
        micro_usd: 10,
        duration_ms: 5,
        model: "m".into(),
        vendor: None,
    }
}

fn outcome(number: u32) -> Outcome {
    let text = format!("{number}: a line of output as a tool prints it, with a path and a word or two\n").repeat(40);
    Outcome { duration_ms: 12, ..Outcome::new(OutcomeStatus::Ok, text) }
}

fn prepared() -> Input {
    Input::Prepared {
        base: Commit::parse(&"a".repeat(40)).expect("a commit"),
        boot: "b".into(),
        image: "i".into(),
        every: 5,
        note: None,
        budget: None,
        rules: Rules::default(),
        pictures: Vec::new(),
        difference: None,
        scan: None,
        on_base: None,
        conflicts: Vec::new(),
    }
}

/// The log of a task with this many actions, one in each turn, of about three kilobytes each.
fn log(actions: u32) -> Vec<Event> {
    let mut log = vec![Event::Requested { request: Box::new(request()) }];
    if let Input::Prepared { base, boot, image, every, note, budget, rules, pictures, .. } = prepared() {
        let (difference, scan, on_base) = (None, None, None);
        log.push(Event::Prepared {
            base,
            boot,
            image,
            every,
            note,
            budget,
            rules,
            pictures,
            difference,
            scan,
            on_base,
        });
    }
    for number in 1..=actions {
        if let Input::ModelAnswered { turn, text, calls, usage, micro_usd, duration_ms, model, vendor } =
            answered(number, vec![call(number)])
        {
            log.push(Event::TurnCompleted { turn, text, calls, usage, micro_usd, duration_ms, model, vendor });
        }
        log.push(Event::ActionStarted { number, turn: number, index: 0 });
        log.push(Event::ActionFinished { number, outcome: outcome(number) });
    }
    log
}

/// Time from a log that was read to a request that can be sent.
fn prompt(log: &[Event], config: &EngineConfig, model: &Scripted) -> Duration {
    let mut task = Task::fold(TaskId(1), log);
    task.granted = Budget { micro_usd: 0, tokens: 0, actions: 0, work_ms: 0 };
    let once = || {
        let began = Instant::now();
        assert!(std::hint::black_box(way_out(&task, log)).is_none(), "it gets somewhere");
        let ready = prepare(&task, log, Style::Tools, config, model);
        let tokens = prompt_tokens(&ready).expect("a prompt");
        assert!(compaction_due(&task, log, Style::Tools, config, (tokens, WINDOW)).is_none(), "it fits");
        std::hint::black_box(ready.expect("a request"));
        began.elapsed()
    };
    let mut samples: Vec<Duration> = (0..ROUNDS).map(|_| once()).collect();
    quantile(&mut samples, 0.5)
}

pub async fn measure() -> Vec<Line> {
    let config = EngineConfig::new(Secret::new("k"), 4_000);
    let model = Scripted::from_toml("name = \"m\"\n[[turn]]\ntext = \"x\"\n", WINDOW).expect("a recording");
    let whole = prompt(&log(ACTIONS), &config, &model);
    let (one, two) = (prompt(&log(1), &config, &model), prompt(&log(ACTIONS + 1), &config, &model));
    let (own, commit) = own_time().await;
    vec![
        Line::promise(
            &format!("a request made from {ACTIONS} actions, median of {ROUNDS}"),
            format!("{} (from one action {})", ms(whole), ms(one)),
            "≤ 10 ms",
            whole <= Duration::from_millis(10),
        ),
        Line::shown("… one action later, made anew as each is", ms(two)),
        Line::promise(
            "an action's result taken up, beyond the one commit of it, p50",
            format!("{} beyond {}", ms(own), ms(commit)),
            "≤ 0.3 ms",
            own <= Duration::from_micros(300),
        ),
    ]
}

/// Time of the machine beyond the store's commit of the same step: both sides in turn, on identical tasks.
async fn own_time() -> (Duration, Duration) {
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::open(dir.path()).await.expect("a store");
    let epoch = store.begin_epoch(1).await.expect("an epoch");
    let (machine, _moved) = Machine::new(store.clone(), epoch);
    let (mut whole, mut bare) = (Vec::new(), Vec::new());
    for n in 0..TASKS {
        let (ours, theirs) = (at_work(&machine, n * 2).await, at_work(&machine, n * 2 + 1).await);
        for number in 1..=3 {
            let input = Input::ActionEnded { number, outcome: outcome(number) };
            let key = format!("act:{n}:{number}");
            let began = Instant::now();
            let fed = machine.feed(ours, &format!("{key}:ours"), input.clone(), None).await.expect("fed");
            whole.push(began.elapsed());
            assert!(matches!(fed, FeedResult::Taken(_)));
            let before = store.task(theirs).await.expect("folded");
            let key = format!("{key}:theirs");
            let (task, step) = transition(&before, &Envelope { key: key.clone(), now: 1, input });
            let append = Append {
                task,
                expected_seq: before.seq,
                input_key: key,
                now: 1,
                step,
                close: None,
                epoch,
                host: "".into(),
            };
            let began = Instant::now();
            let appended = store.append(append).await.expect("stored");
            bare.push(began.elapsed());
            assert_eq!(appended, Appended::Done);
        }
    }
    let (whole, bare) = (quantile(&mut whole, 0.5), quantile(&mut bare, 0.5));
    (whole.saturating_sub(bare), bare)
}

/// A task whose first of five actions is running.
async fn at_work(machine: &Arc<Machine>, n: u64) -> TaskId {
    let mut asked = request();
    asked.issue = n + 1;
    let id = machine.create(&format!("opened:{n}"), asked, Vec::new()).await.expect("stored").expect("new");
    let calls = (1..=5).map(call).collect();
    let starting = Input::ModelCallStarting { turn: 1, worst_micro_usd: 1 };
    for (at, input) in [Input::SlotFree, prepared(), starting, answered(1, calls)].into_iter().enumerate() {
        machine.feed(id, &format!("before:{n}:{at}"), input, None).await.expect("fed");
    }
    assert_eq!(machine.look(id).await.expect("folded").running, Some(1));
    id
}
