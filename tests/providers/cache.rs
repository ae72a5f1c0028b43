//! How much of a conversation a real server reads from its cache, by its own counts. Needs a server that reports cached tokens (llama.cpp's
//! does), named by `CAISSON_MODEL_URL`; skipped with a message if it is unset.

use caisson::config::process::ModelKind as Wire;
use caisson::engine::style::Style;
use caisson::engine::{self, EngineConfig, TurnAnswer};
use caisson::llm::retry::Patience;
use caisson::llm::{Model, Price, Settings, Silent, Turn, open};
use caisson::secret::Secret;
use domain::*;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::recordings::began;
use crate::skipped::skipped;

/// Percent of the previous prompt and answer that must come from the cache.
const WANTED: u64 = 95;
const TURNS: u32 = 4;

const FILE: &str = "def add(a, b):\n    return a - b\n\n\ndef half(a):\n    return a / 2\n";
const RUN: &str = "F.\nFAIL: test_add (test_calc.Sums.test_add)\nAssertionError: -1 != 3\n\nFAILED (failures=1)\n";

/// The result of an action, whoever asks for it.
fn outcome(action: &Action) -> Outcome {
    let (status, text) = match action {
        Action::ReadFile { .. } | Action::ReadRanges { .. } | Action::Summarize { .. } | Action::Search { .. } => {
            (OutcomeStatus::Ok, FILE)
        }
        Action::Bash { command } if command.contains("test") => (OutcomeStatus::Exited { code: 1 }, RUN),
        Action::Bash { .. } => (OutcomeStatus::Exited { code: 0 }, FILE),
        Action::ListFiles { .. } => (OutcomeStatus::Ok, "calc.py\ntest_calc.py\n"),
        Action::Background { .. }
        | Action::WriteFile { .. }
        | Action::WriteFiles { .. }
        | Action::EditFile { .. }
        | Action::EditPlaces { .. }
        | Action::MoveFile { .. }
        | Action::DeleteFile { .. }
        | Action::WebFetch { .. }
        | Action::Try { .. } => (OutcomeStatus::Ok, ""),
    };
    Outcome { duration_ms: 30, ..Outcome::new(status, text) }
}

/// Appends the answer and its results to the log as the machine would. An empty answer does not end the conversation here.
fn record(log: &mut Vec<Event>, number: &mut u32, answer: TurnAnswer) {
    let TurnAnswer { turn, text, calls, usage, micro_usd, duration_ms, model, vendor } = answer;
    let stored = calls.clone();
    log.push(Event::TurnCompleted { turn, text, calls: stored, usage, micro_usd, duration_ms, model, vendor });
    if calls.is_empty() {
        log.push(Event::Nudged { turn });
    }
    for (index, request) in (0..).zip(calls) {
        let answered = |answer: &str, malformed| Event::CallAnswered { turn, index, answer: answer.into(), malformed };
        match request.call {
            Call::Action { action } => {
                *number += 1;
                log.push(Event::ActionStarted { number: *number, turn, index });
                log.push(Event::ActionFinished { number: *number, outcome: outcome(&action) });
            }
            Call::Malformed { reason } => log.push(answered(&reason, true)),
            Call::UpdatePlan { .. } | Call::Ask { .. } | Call::Recall { .. } | Call::AnswerRemark { .. } => {
                log.push(answered("noted", false));
            }
            Call::Done { .. } => log.push(answered("not run: go on", false)),
        }
    }
}

/// For each turn but the first: tokens of the previous prompt and answer, and how many of them came from the cache.
async fn measure(model: &dyn Model, style: Style, brief: bool) -> Vec<(u64, u64)> {
    let config = EngineConfig { spoken: true, brief, ..EngineConfig::new(Secret::new("k"), 160) };
    let mut log = began("Sums are wrong", "`add(1, 2)` of calc.py gives -1, and should give 3.");
    let (mut counts, mut number, mut before) = (Vec::new(), 0, None);
    for _ in 0..TURNS {
        let task = Task { granted: Budget::default(), ..Task::fold(TaskId(7), &log) };
        let ready = engine::prepare(&task, &log, style, &config, model).unwrap();
        let answer =
            engine::converse(model, &ready, &Silent, &Patience::default(), &CancellationToken::new()).await.unwrap();
        let usage = answer.usage;
        eprintln!("{style:?}: {usage:?}, {} calls: {:?}", answer.calls.len(), answer.text);
        if let Some(before) = before {
            counts.push((before, usage.cache_read));
        }
        before = Some(usage.input + usage.cache_read + usage.output);
        record(&mut log, &mut number, answer);
    }
    counts
}

/// The model of the server that is configured, if any.
fn local() -> Option<Arc<dyn Model>> {
    let settings = Settings {
        base_url: Some(std::env::var("CAISSON_MODEL_URL").ok()?),
        name: "local".into(),
        key: None,
        price: Price::default(),
        context_tokens: 16_384,
        timeout: std::time::Duration::from_secs(590),
        idle: std::time::Duration::from_secs(300),
        stream: true,
        temperature: true,
    };
    Some(open(Wire::Openai, None, settings).unwrap())
}

/// The prompt sizes in docs/models.md, counted with the model's own tokenizer and template.
#[tokio::test]
async fn the_short_system_text_is_below_1000_tokens_with_its_tools() {
    let Some(model) = local() else { return skipped("model", "CAISSON_MODEL_URL names no server") };
    let log = began("t", "b");
    let task = Task { granted: Budget::default(), ..Task::fold(TaskId(7), &log) };
    for (style, brief) in [(Style::Tools, false), (Style::Tools, true), (Style::Text, false)] {
        let config = EngineConfig { brief, ..EngineConfig::new(Secret::new("k"), 300) };
        let mut request = engine::prepare(&task, &log, style, &config, model.as_ref()).unwrap().request;
        request.turns = vec![Turn::User { text: "x".into() }];
        request.max_output_tokens = 1;
        let with_tools = model.respond(&request, &Silent).await.unwrap().usage.prompt();
        request.tools.clear();
        let without = model.respond(&request, &Silent).await.unwrap().usage.prompt();
        eprintln!("{style:?}, brief {brief}: {without} tokens, {with_tools} with its tools");
        assert!(!brief || with_tools < 1000, "{with_tools} tokens");
    }
}

#[tokio::test]
async fn the_next_turn_reads_what_came_before_from_the_cache() {
    let Some(model) = local() else { return skipped("model", "CAISSON_MODEL_URL names no server") };
    for (style, brief) in [(Style::Text, false), (Style::Tools, true), (Style::Tools, false)] {
        let counts = measure(model.as_ref(), style, brief).await;
        let (all, cached) = counts.iter().fold((0, 0), |(all, cached), (a, c)| (all + a, cached + c));
        eprintln!("{style:?}, brief {brief}: {cached} of {all} tokens from the cache; by turn {counts:?}");
        for (all, cached) in counts {
            assert!(cached * 100 >= all * WANTED, "{style:?}, brief {brief}: {cached} of {all} tokens were cached");
        }
    }
}
