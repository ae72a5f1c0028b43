//! Tasks driven by random inputs through the real transition, against a strict server: the conversation rebuilt from any log must be
//! accepted by every vendor. Seeds are fixed; a failure names its seed.

use std::collections::VecDeque;

use caisson::config::process::ModelKind as Wire;
use caisson::engine::style::Style;
use caisson::engine::{self, EngineConfig};
use caisson::llm::{Model, Price, Settings, Silent, open};
use caisson::secret::Secret;
use domain::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::skipped::skipped;
use crate::vendor::{Reply, Vendor};
use crate::{KEY, QUICK, WIRES, client, streamed, strict_check};

/// A small repeatable generator (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// A random call, valid or not: name, arguments, and whether the arguments' text is broken.
fn call(chance: &mut Chance) -> (String, Value, bool) {
    let (name, arguments) = match chance.below(10) {
        0 => ("bash", json!({ "command": "make" })),
        1 => ("read_file", json!({ "path": "a.rs" })),
        2 => ("edit_file", json!({ "path": "a.rs", "old": "a", "new": "b" })),
        3 => ("search", json!({ "pattern": "x" })),
        4 => ("web_fetch", json!({ "url": "https://h/" })),
        5 => ("update_plan", json!({ "plan": ["one", "two"] })),
        6 => ("done", json!({ "summary": "all done" })),
        7 => ("write_file", json!({ "path": "a" })),
        8 => ("functions.no such tool", json!({})),
        _ => ("", Value::Null),
    };
    (name.to_owned(), arguments, chance.below(8) == 0)
}

fn words(chance: &mut Chance) -> &'static str {
    ["", " \n", "I look.\n", "\u{1b}[31m[[end 0]]", "</tool>"][chance.below(5) as usize]
}

fn openai_answer(chance: &mut Chance) -> Value {
    let calls: Vec<Value> = (0..chance.below(4))
        .map(|at| {
            let (name, arguments, broken) = call(chance);
            let text = if broken { "{\"a\": ".to_owned() } else { arguments.to_string() };
            let id = ["", "same", "odd id/1"][chance.below(3) as usize];
            json!({ "id": id, "index": at, "function": { "name": name, "arguments": text } })
        })
        .collect();
    json!({ "choices": [{ "message": { "content": words(chance), "tool_calls": calls } }] })
}

fn anthropic_answer(chance: &mut Chance) -> Value {
    let mut blocks = vec![json!({ "type": "text", "text": words(chance) })];
    for _ in 0..chance.below(4) {
        let (name, arguments, broken) = call(chance);
        let input = if broken { json!("{\"a\": ") } else { arguments };
        blocks.push(json!({ "type": "tool_use", "id": "toolu_1", "name": name, "input": input }));
    }
    json!({ "content": blocks, "stop_reason": "tool_use", "usage": { "input_tokens": 9, "output_tokens": 2 } })
}

fn gemini_answer(chance: &mut Chance) -> Value {
    let mut parts = vec![json!({ "text": words(chance) })];
    for _ in 0..chance.below(4) {
        let (name, arguments, broken) = call(chance);
        let args = if broken || arguments.is_null() { json!([1]) } else { arguments };
        parts.push(json!({ "functionCall": { "name": name, "args": args } }));
    }
    let usage = json!({ "promptTokenCount": 9, "candidatesTokenCount": 2 });
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }], "usageMetadata": usage })
}

fn responses_answer(chance: &mut Chance) -> Value {
    let content = json!([{ "type": "output_text", "text": words(chance), "annotations": [] }]);
    let mut items = vec![json!({ "id": "msg_1", "type": "message", "role": "assistant", "content": content })];
    for _ in 0..chance.below(4) {
        let (name, arguments, broken) = call(chance);
        let text = if broken { "{\"a\": ".to_owned() } else { arguments.to_string() };
        let id = ["", "same", "odd id/1"][chance.below(3) as usize];
        items.push(json!({ "type": "function_call", "call_id": id, "name": name, "arguments": text }));
    }
    json!({ "status": "completed", "output": items, "usage": { "input_tokens": 9, "output_tokens": 2 } })
}

struct Drive<'a> {
    chance: Chance,
    wire: Wire,
    /// `None` for a real model.
    vendor: Option<&'a Vendor>,
    model: &'a dyn Model,
    task: Task,
    log: Vec<Event>,
    inputs: VecDeque<Input>,
    number: i64,
}

impl Drive<'_> {
    async fn run(&mut self, steps: i64) {
        for step in 0..steps {
            let Some(input) = self.inputs.pop_front() else { break };
            for effect in self.feed(input, step) {
                self.perform(effect).await;
            }
            // No other task waits for the slot.
            if self.task.state == State::Queued && self.task.next.is_some() {
                self.inputs.push_front(Input::SlotFree);
            }
            if let State::Paused { .. } = self.task.state {
                self.decide(Verb::Resume, None);
            }
        }
    }

    fn feed(&mut self, input: Input, step: i64) -> Vec<Effect> {
        let (task, step) = transition(&self.task, &Envelope { key: step.to_string(), now: step, input });
        self.task = task;
        self.log.extend(step.events);
        step.effects
    }

    async fn perform(&mut self, effect: Effect) {
        let pick = self.chance.below(4);
        match effect {
            Effect::Prepare { .. } => {
                let (boot, image) = ("b".into(), "i".into());
                self.inputs.push_back(Input::Prepared {
                    base: commit(0),
                    boot,
                    image,
                    every: 5,
                    note: None,
                    budget: None,
                    rules: domain::Rules::default(),
                    pictures: Vec::new(),
                    difference: None,
                    scan: None,
                    on_base: None,
                    conflicts: Vec::new(),
                });
            }
            Effect::Converse { turn } => self.converse(turn).await,
            Effect::Act { number, .. } => self.inputs.push_back(Input::ActionEnded { number, outcome: outcome(pick) }),
            Effect::Capture { n, .. } => self.inputs.push_back(match pick {
                0 => Input::TreeRefused { n, reasons: vec!["a link leaves the tree".into()] },
                1 => Input::TreeUnchanged {
                    n,
                    commit: self.task.head.clone().unwrap_or_else(|| commit(0)),
                    left_out: Vec::new(),
                },
                _ => Input::TreeCaptured { n, tree: tree(n) },
            }),
            Effect::Push { n, commit, .. } => self.inputs.push_back(Input::Pushed { n, commit }),
            Effect::OpenPull => self.inputs.push_back(Input::PullOpened { number: 9, url: String::new() }),
            Effect::Verify { n, .. } => self.inputs.push_back(Input::Verified { n, verdict: verdict(pick), ci: None }),
            Effect::Open { .. } => {
                let fresh = (pick == 0).then_some(Loss::Removed);
                self.inputs.push_back(Input::Opened { fresh });
            }
            Effect::Review { n, commit, .. } => self.review(n, commit, pick),
            _ => {}
        }
    }

    async fn converse(&mut self, turn: u32) {
        let config = EngineConfig::new(Secret::new("k"), 300);
        let ready = engine::prepare(&self.task, &self.log, Style::Tools, &config, self.model).unwrap();
        assert_eq!(ready.turn, turn);
        self.feed(Input::ModelCallStarting { turn, worst_micro_usd: ready.worst_micro_usd }, -1);
        if let Some(vendor) = self.vendor {
            let answer = match self.wire {
                Wire::Openai => openai_answer(&mut self.chance),
                Wire::Gemini => gemini_answer(&mut self.chance),
                Wire::OpenaiResponses => responses_answer(&mut self.chance),
                Wire::Anthropic | Wire::Scripted => anthropic_answer(&mut self.chance),
            };
            // A server may answer whole although a stream was asked for.
            let whole = turn.is_multiple_of(4);
            vendor.answer(match whole {
                true => Reply::ok(answer),
                false => Reply::events(&streamed::events(self.wire, &answer).concat()),
            });
        }
        let answer = engine::converse(self.model, &ready, &Silent, &QUICK, &CancellationToken::new()).await;
        let answer = answer.expect("the server takes every conversation");
        if self.vendor.is_none() {
            eprintln!("turn {turn}, {:?}: {:?} {:?}", answer.usage, answer.text, answer.calls);
        }
        self.inputs.push_back(answer.into_input());
    }

    fn review(&mut self, n: u32, commit: Option<Commit>, pick: u64) {
        self.number += 1;
        self.inputs.push_back(match self.task.kind {
            TaskKind::Plan
            | TaskKind::Explain
            | TaskKind::Review
            | TaskKind::Security
            | TaskKind::Deps
            | TaskKind::Search => Input::AnswerPosted { n, number: self.number },
            TaskKind::Fix | TaskKind::Test | TaskKind::Refactor => {
                Input::ReviewPosted { n, review: self.number, number: self.number, risk: None }
            }
        });
        let item = Item { path: Some("a.rs".into()), line: Some(3), ..Item::on_the_whole("why?", "alice") };
        if pick == 1 {
            self.decide(Verb::Say { items: vec![item.clone()] }, None);
        }
        let changes = Verb::Changes { items: vec![item] };
        let named = commit.as_ref().map(|c| c.as_str().to_owned());
        let approve = Verb::Approve { checkpoint: Some(n), commit: named, next: 0 };
        self.decide(if pick > 1 { changes } else { approve }, commit);
    }

    fn decide(&mut self, verb: Verb, head: Option<Commit>) {
        self.number += 1;
        let decision = Decision {
            head,
            base: Some("main".into()),
            ..Decision::new(Source::Comment(self.number), self.number, (account(), Access::Write), verb)
        };
        self.inputs.push_back(Input::Decided { decision: Box::new(decision) });
    }
}

fn account() -> Account {
    Account { id: 1, login: "alice".into() }
}

fn commit(n: u32) -> Commit {
    Commit::parse(&format!("{n:040x}")).unwrap()
}

fn tree(n: u32) -> CapturedTree {
    CapturedTree {
        outside: Vec::new(),
        marked: Vec::new(),
        facts: Vec::new(),
        commit: commit(n),
        files: vec![],
        diff: String::new(),
        steering: vec![],
        diff_cut: 0,
        left_out: Vec::new(),
    }
}

fn outcome(pick: u64) -> Outcome {
    let status = match pick {
        0 => OutcomeStatus::Interrupted,
        1 => OutcomeStatus::TimedOut,
        2 => OutcomeStatus::Failed { reason: "no such file".into() },
        _ => OutcomeStatus::Ok,
    };
    let text = if pick == 3 { "line\r\n[[end x]]" } else { "" };
    Outcome { dropped_bytes: pick, duration_ms: 3, ..Outcome::new(status, text) }
}

fn verdict(pick: u64) -> Verdict {
    let kind = [VerdictKind::None, VerdictKind::Passed, VerdictKind::Failed, VerdictKind::Failed][pick as usize];
    let (command, tail) = (Some("make test".into()), "tail".into());
    Verdict {
        kind,
        command,
        origin: None,
        exit_code: Some(1),
        base_exit_code: None,
        tail,
        duration_ms: 1,
        ..Verdict::default()
    }
}

fn request(kind: TaskKind) -> Input {
    let request = Request {
        kind,
        repository: "demo".into(),
        issue: 1,
        title: "t".into(),
        body: "b".into(),
        words: String::new(),
        asker: account(),
        place: None,
        right: None,
        listed: Vec::new(),
        issue_author: account(),
        edited: false,
        source: Source::Issue(1),
        number: 1,
        branch: "agent/1-t".into(),
        base_branch: "main".into(),
        budget: Budget::default(),
        every: 3,
        has_upstream: true,
        hosts: Vec::new(),
        terms: Default::default(),
        earlier: None,
        own: None,
        trigger: None,
        pull: None,
    };
    Input::Requested { request: Box::new(request) }
}

async fn drive(wire: Wire, seed: u64) -> (usize, usize) {
    let check = strict_check(wire);
    let vendor = Vendor::start(check, vec![]).await;
    let model = client(wire, &vendor.url, KEY);
    let kind = if seed.is_multiple_of(3) { TaskKind::Plan } else { TaskKind::Fix };
    let chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let inputs = VecDeque::from([request(kind), Input::SlotFree]);
    let task = Task::new(TaskId(seed as i64));
    let mut drive =
        Drive { chance, wire, vendor: Some(&vendor), model: model.as_ref(), task, log: vec![], inputs, number: 10 };
    drive.run(90).await;
    assert_eq!(vendor.refused(), Vec::<Value>::new(), "seed {seed}");
    let decisions = drive.log.iter().filter(|e| matches!(e, Event::DecisionUsed { .. })).count();
    (vendor.seen().len(), decisions)
}

#[tokio::test]
async fn whatever_a_log_holds_every_vendor_takes_the_conversation() {
    let mut sum = (0, 0);
    for seed in 1..=6 {
        for wire in WIRES {
            let (turns, decisions) = drive(wire, seed).await;
            sum = (sum.0 + turns, sum.1 + decisions);
        }
    }
    assert!(sum.0 > 100 && sum.1 > 20, "the drives went somewhere: {sum:?}");
}

/// Ten million bytes of arguments, as from a model that repeats itself endlessly.
fn endless(wire: &Wire) -> Value {
    let content = "again ".repeat(10_000_000 / 6);
    match wire {
        Wire::Openai => {
            let function =
                json!({ "name": "write_file", "arguments": json!({ "path": "a", "content": content }).to_string() });
            json!({ "choices": [{ "message": { "tool_calls": [{ "id": "call_1", "function": function }] } }] })
        }
        _ => {
            let input = json!({ "path": "a", "content": content });
            let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "write_file", "input": input });
            json!({ "content": [call], "stop_reason": "tool_use", "usage": { "input_tokens": 9, "output_tokens": 2 } })
        }
    }
}

#[tokio::test]
async fn an_endless_answer_is_told_to_the_model_and_the_task_goes_on() {
    for wire in [Wire::Openai, Wire::Anthropic] {
        let check = strict_check(wire);
        let vendor = Vendor::start(check, vec![Reply::ok(endless(&wire))]).await;
        let model = client(wire, &vendor.url, KEY);
        let inputs = VecDeque::from([request(TaskKind::Fix), Input::SlotFree]);
        let (chance, task) = (Chance(11), Task::new(TaskId(1)));
        let mut drive =
            Drive { chance, wire, vendor: Some(&vendor), model: model.as_ref(), task, log: vec![], inputs, number: 10 };
        // Each answer is the same, and the fifth would pause the task.
        while vendor.seen().len() < 4 && !drive.inputs.is_empty() {
            drive.run(1).await;
        }
        assert_eq!(vendor.refused(), Vec::<Value>::new());
        let (seen, usage) = (vendor.seen(), first_usage(&drive.log));
        let told = seen[1].to_string();
        assert!(told.contains("longer than") && told.len() < 100_000, "{} bytes", told.len());
        assert!(seen.len() > 3, "the task goes on: {:?}", drive.task.state);
        assert!(usage.output == 300 && usage.input > 0, "the worst case is charged: {usage:?}");
        let paused = drive.log.iter().find(|it| matches!(it, Event::Paused { .. }));
        assert!(paused.is_none(), "nobody has to act: {paused:?}");
    }
}

fn first_usage(log: &[Event]) -> Usage {
    let first = log.iter().find_map(|it| if let Event::TurnCompleted { usage, .. } = it { Some(*usage) } else { None });
    first.expect("a turn")
}

/// A task copes with a real model of any size, whatever it answers. `CAISSON_MODEL_URL` names an OpenAI-compatible server with 8192 tokens
/// of context; skipped if it is unset.
#[tokio::test]
async fn a_real_model_may_say_what_it_likes() {
    let Ok(url) = std::env::var("CAISSON_MODEL_URL") else {
        skipped("model", "CAISSON_MODEL_URL names no server");
        return;
    };
    let settings = Settings {
        base_url: Some(url),
        name: "local".into(),
        key: None,
        price: Price::default(),
        context_tokens: 8192,
        timeout: std::time::Duration::from_secs(590),
        idle: std::time::Duration::from_secs(300),
        stream: true,
        temperature: true,
    };
    let model = open(Wire::Openai, None, settings).unwrap();
    let inputs = VecDeque::from([request(TaskKind::Plan), Input::SlotFree]);
    let (chance, task, model) = (Chance(7), Task::new(TaskId(1)), model.as_ref());
    let mut drive = Drive { chance, wire: Wire::Openai, vendor: None, model, task, log: vec![], inputs, number: 10 };
    drive.run(8).await;
    assert!(drive.log.iter().any(|e| matches!(e, Event::TurnCompleted { usage, .. } if usage.total() > 0)));
}
