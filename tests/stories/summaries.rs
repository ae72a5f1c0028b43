//! Summaries by a model: of older turns of a long conversation, and of files that are too long to be shown; and a long task with and
//! without it.

use crate::world::{PATIENCE, REPO, World};
use caisson::store::CostBy;
use caisson::task::Boundary;
use domain::{Event, ModelSummary, OutcomeStatus, State, SummaryOf, Trust};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

const FOLDED: &str = "What you did there, in short";
const TELL: &str = "Tell all of it in short.";

/// One recording for both models: the summarizer's answers are those after [`TELL`].
pub fn models(window: u32) -> String {
    let entry = |id: &str, role: &str, window: u32| {
        format!(
            "[[model]]\nid = \"{id}\"\nroles = [\"{role}\"]\nkind = \"scripted\"\nscript = \"script.toml\"\nstyle = \"tools\"\n\
             context_tokens = {window}\nmax_output_tokens = 1000\n"
        )
    };
    format!("{}{}", entry("small", "worker", window), entry("short", "summarizer", 16_000))
}

fn bash(command: &str) -> Value {
    json!({ "name": "bash", "arguments": { "command": command } })
}

pub fn script(turns: &[Value], conversations: &[Value]) -> String {
    toml::to_string(&json!({ "name": "long", "turn": turns, "conversation": conversations })).expect("a recording")
}

/// Four long answers fill the window, and the fifth action happens in a conversation with a summary of them.
pub fn talks(summary: &Value) -> String {
    let words = "I think about it. ".repeat(900);
    let turn = |number: u32| json!({ "text": words, "call": [bash(&format!("echo {number} > notes.txt"))] });
    let rest = json!({ "text": "I go on.", "call": [bash("cat notes.txt"), bash("true"), bash("true"), bash("true")] });
    script(
        &(1..=4).map(turn).collect::<Vec<_>>(),
        &[json!({ "when": TELL, "turn": [summary] }), json!({ "when": FOLDED, "turn": vec![rest; 5] })],
    )
}

pub fn summaries(log: &[Event]) -> Vec<ModelSummary> {
    log.iter()
        .filter_map(|event| if let Event::Summarised { summary } = event { Some((**summary).clone()) } else { None })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn older_turns_are_told_by_the_summarizer_and_charged() {
    let told = json!({ "text": "Notes were written thrice.", "usage": { "input": 700, "output": 30 } });
    let world = World::of_models(&talks(&told), &models(12_000)).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix keep the old name").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let said = summaries(&world.log().await);
    assert!(!said.is_empty() && said.iter().all(|one| one.text == "Notes were written thrice."), "{said:?}");
    let last = &said[said.len() - 1];
    let SummaryOf::Turns { from, to, .. } = last.of else { panic!("of turns") };
    assert!(from == 1 && to >= from && last.trust == Trust::None, "{said:?}");
    let requests = world.model.asked();
    let newest = format!("{:?}", requests.last().expect("a request").turns);
    let source = format!("actions 1 to {to}, told in short by the model scripted: long");
    assert!(newest.contains(&source) && newest.contains("Notes were written thrice."), "{newest}");
    assert!(newest.contains("keep the old name") && !newest.contains("action 1: bash echo 1"), "{newest}");
    let costs = world.store().costs(CostBy::Task, 0).await.expect("read");
    assert_eq!(task.spent.tokens as i64, costs[0].input + costs[0].output, "the task is charged with it");
    let review = world.until_said(task.pull.expect("a pull request"), "Checkpoint").await;
    assert!(review.contains("told in short by the model"), "{review}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summarizer_that_does_not_answer_delays_nothing_and_the_hosts_lines_stand_there() {
    let away = json!({ "error": "unauthorized" });
    let world = World::of_models(&talks(&away), &models(12_000)).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let said = summaries(&world.log().await);
    assert!(!said.is_empty() && said.iter().all(|one| one.text.is_empty() && one.micro_usd == 0), "{said:?}");
    let newest = format!("{:?}", world.model.asked().last().expect("a request").turns);
    assert!(newest.contains("action 1: bash echo 1 > notes.txt: ok"), "{newest}");
    assert_eq!(task.model_worst, 0);
}

/// As where a model spends its whole limit on what it thinks.
#[tokio::test(flavor = "multi_thread")]
async fn a_summarizer_that_is_cut_off_before_its_first_word_is_no_summary() {
    let thought = json!({ "text": "", "truncated": true, "usage": { "input": 700, "output": 1000 } });
    let world = World::of_models(&talks(&thought), &models(12_000)).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    let said = summaries(&world.log().await);
    assert!(!said.is_empty() && said.iter().all(|one| one.text.is_empty() && one.usage.output == 1000), "{said:?}");
    let newest = format!("{:?}", world.model.asked().last().expect("a request").turns);
    assert!(newest.contains("action 1: bash echo 1 > notes.txt: ok") && !newest.contains("cut off"), "{newest}");
}

/// Summaries of parts of the file, then one of all of them.
fn reads(window: u32) -> (String, String) {
    reads_but(&[], window)
}

/// As [`reads`], but for parts that these conversations are about.
fn reads_but(others: &[Value], window: u32) -> (String, String) {
    let lines = json!({ "text": "Names and numbers, nothing else.", "usage": { "input": 400, "output": 20 } });
    let parts = json!({ "text": "A list from top to bottom." });
    let read = json!({ "name": "read_file", "arguments": { "path": "big.txt", "summary": true } });
    let all = [
        json!({ "when": "Tell in short what these lines hold.", "turn": [lines] }),
        json!({ "when": "Tell in short what all of these lines", "turn": [parts] }),
    ];
    let text = script(
        &[
            json!({ "text": "I read the list.", "call": [read] }),
            json!({ "expects": ["told in short by the model", "A list from top to bottom.", "Names and numbers"], "text": "Done.", "call": [bash("echo x > notes.txt"), bash("true"), bash("ls"), bash("pwd")] }),
        ],
        &[others, &all].concat(),
    );
    let model = format!(
        "[model]\nkind = \"scripted\"\nscript = \"script.toml\"\nstyle = \"tools\"\ncontext_tokens = {window}\nmax_output_tokens = 1000\n"
    );
    (text, model)
}

pub fn big() -> String {
    (1..=3000).map(|line| format!("line {line} of a long list\n")).collect()
}

/// The lines that each call summarized.
fn spans(said: &[ModelSummary]) -> Vec<(u32, u64, u64)> {
    let span = |one: &ModelSummary| match one.of {
        SummaryOf::Lines { level, from, to, .. } => (level, from, to),
        SummaryOf::Turns { .. } => panic!("{one:?}"),
    };
    said.iter().map(span).collect()
}

/// Every line is summarized once, and all of them once more together.
pub fn whole(said: &[ModelSummary]) {
    let spans = spans(said);
    let parts: Vec<_> = spans.iter().filter(|(level, ..)| *level == 0).collect();
    assert!(parts.len() > 3 && parts[0].1 == 1 && parts[parts.len() - 1].2 == 3000, "{spans:?}");
    assert!(parts.windows(2).all(|two| two[0].2 + 1 == two[1].1), "no line is left out or told twice: {spans:?}");
    assert_eq!(spans.iter().filter(|span| **span == (1, 1, 3000)).count(), 1, "{spans:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_too_long_is_told_in_short_from_its_parts_upwards_in_one_action() {
    let (script, model) = reads(12_000);
    let world = World::of_models(&script, &model).await;
    world.push(&[("big.txt", &big())]);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let log = world.log().await;
    whole(&summaries(&log));
    assert_eq!(task.actions, 5, "one action for all of its parts");
    let shown: String = world.model.asked().iter().map(|request| format!("{:?}", request.turns)).collect();
    assert!(shown.contains("line 1 of a long list") && shown.contains("line 3000 of a long list"));
    assert!(world.model.asked().iter().all(|request| request.chars() < 12_000 * 3), "each within the window");
    let costs = world.store().costs(CostBy::Task, 0).await.expect("read");
    assert_eq!(task.spent.tokens as i64, costs[0].input + costs[0].output, "the task is charged with all of them");
}

/// The first part's answer is cut at its limit, as where a model repeats itself; and nothing is said about one in the middle.
#[tokio::test(flavor = "multi_thread")]
async fn a_part_whose_summary_is_cut_or_missing_is_followed_by_the_next() {
    let cut = json!({ "text": "Lists, lists, lists", "truncated": true, "usage": { "input": 400, "output": 350 } });
    let others = [
        json!({ "when": "Lines 1 to", "turn": [cut] }),
        json!({ "when": "line 1500 of a long list", "turn": [{ "text": "" }] }),
    ];
    let (script, model) = reads_but(&others, 12_000);
    let world = World::of_models(&script, &model).await;
    world.push(&[("big.txt", &big())]);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    let log = world.log().await;
    whole(&summaries(&log));
    let result = log.iter().find_map(|event| match event {
        Event::ActionFinished { outcome, .. } => Some(outcome.text.as_str()),
        _ => None,
    });
    let result = result.expect("the action's result");
    let cut = "Lists, lists, lists\n[cut off: the answer reached its limit of 1000 tokens]";
    for words in [cut, "the model said nothing about these lines"] {
        assert_eq!(result.matches(words).count(), 1, "{result}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reading_that_is_killed_pays_for_no_part_again() {
    let mut killed_inside = 0;
    for under in [8, 18] {
        let (script, model) = reads(12_000);
        let mut world = World::of_models(&script, &model).await;
        world.push(&[("big.txt", &big())]);
        let (met, mut meets) = tokio::sync::mpsc::unbounded_channel();
        let (done, met) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(met)));
        world.cuts.set(move |row, at| {
            let here = row.effect.kind() == "act" && at == Boundary::Under(under) && !done.swap(true, Ordering::SeqCst);
            here && met.lock().expect("whole").send(()).is_ok()
        });
        world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
        let stands = tokio::time::timeout(PATIENCE, meets.recv()).await;
        assert_eq!(stands, Ok(Some(())), "it never stood still there");
        world.kill();
        world.cuts.clear();
        world.start().await;
        world.until_state("awaiting-review").await;
        let log = world.log().await;
        let said = summaries(&log);
        whole(&said);
        let started = log.iter().filter(|event| matches!(event, Event::SummaryStarted { .. })).count();
        assert!(started <= said.len() + 1, "{started} calls for {} summaries", said.len());
        killed_inside += usize::from(started > 0);
    }
    assert_eq!(killed_inside, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_nobody_can_tell_is_an_action_that_failed_and_says_why() {
    let read = |path: &str| json!({ "name": "read_file", "arguments": { "path": path, "summary": true } });
    let gone = json!({ "expects": ["could not be told in short", "no such"], "text": "Then not.", "call": [bash("true"), bash("true"), bash("true")] });
    let text = script(
        &[json!({ "text": "I read.", "call": [read("big.txt"), read("nowhere.txt")] }), gone],
        &[json!({ "when": "Tell in short what", "turn": [{ "error": "unauthorized" }] })],
    );
    let world = World::of_models(&text, &reads(12_000).1).await;
    world.push(&[("big.txt", &big())]);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("a stop", |task| matches!(task.state, State::AwaitingReview { .. } | State::Paused { .. })).await;
    let log = world.log().await;
    let ends: Vec<_> = log
        .iter()
        .filter_map(
            |event| if let Event::ActionFinished { outcome, .. } = event { Some(&outcome.status) } else { None },
        )
        .collect();
    assert!(ends.len() == 5 && ends[..2].iter().all(|end| matches!(end, OutcomeStatus::Failed { .. })), "{ends:?}");
}
