//! One turn against recordings: its charge, its refusals, and what an error means for the task.

use super::*;
use crate::llm::{Scripted, Silent};
use crate::secret::Secret;
use domain::{Budget, Call, Input, TaskId};

fn model(script: &str, context: u64) -> Scripted {
    Scripted::from_toml(&format!("name = 't'\n{script}"), context).unwrap()
}

fn config() -> EngineConfig {
    EngineConfig::new(Secret::new("k"), 1000)
}

fn task(granted: Budget) -> Task {
    Task { granted, ..Task::new(TaskId(1)) }
}

async fn ask(script: &str) -> Result<TurnAnswer, TurnError> {
    let model = model(script, 100_000);
    let ready = prepare(&task(Budget::default()), &[], Style::Tools, &config(), &model).unwrap();
    let once = Patience { tries: 1, ..Patience::default() };
    converse(&model, &ready, &Silent, &once, &CancellationToken::new()).await
}

#[tokio::test]
async fn an_answer_becomes_typed_calls() {
    let answer = ask("[[turn]]\ntext = 'hi'\ncall = [{ name = 'bash', arguments = { command = 'ls' } }, { name = 'oops' }]\nusage = { input = 5, output = 6 }").await.unwrap();
    assert_eq!((answer.turn, answer.text.as_str(), answer.usage.total(), answer.micro_usd), (1, "hi", 11, 0));
    assert!(matches!(&answer.calls[0].call, Call::Action { .. }));
    assert!(matches!(&answer.calls[1].call, Call::Malformed { .. }));
    assert!(answer.model.contains("scripted"));
    assert!(matches!(answer.into_input(), Input::ModelAnswered { turn: 1, .. }));
}

#[tokio::test]
async fn an_answer_that_was_cut_says_so_and_a_silent_server_is_not_free() {
    let answer =
        ask("[[turn]]\ntext = 'half a sen'\ntruncated = true\nusage = { input = 0, output = 0 }").await.unwrap();
    assert!(answer.text.contains("cut off") && answer.text.contains("1000 tokens"));
    assert!(answer.usage.input > 500 && answer.usage.output == 3, "{:?}", answer.usage);
    let thought = ask("[[turn]]\ntext = ''\ntruncated = true\nusage = { input = 0, output = 0 }").await.unwrap();
    assert!(is_wordless(&thought.text) && thought.usage.output == 1000, "{:?}", thought.usage);
}

#[tokio::test]
async fn a_call_that_was_cut_says_so_and_one_before_it_is_carried_out() {
    let written = r#"{ name = "write_file", raw = '{"path": "a.py", "content": "x' }"#;
    let cut = |calls: &str, truncated: bool| format!("[[turn]]\ntext = ''\ntruncated = {truncated}\ncall = [{calls}]");
    let both = format!("{{ name = 'bash', arguments = {{ command = 'ls' }} }}, {written}");
    let answer = ask(&cut(&both, true)).await.unwrap();
    assert!(matches!(&answer.calls[0].call, Call::Action { .. }));
    let Call::Malformed { reason } = &answer.calls[1].call else { panic!("{:?}", answer.calls[1]) };
    assert!(reason.starts_with("write_file: your answer reached its limit of 1000 tokens"), "{reason}");
    let whole = ask(&cut(written, false)).await.unwrap();
    let Call::Malformed { reason } = &whole.calls[0].call else { panic!("{:?}", whole.calls[0]) };
    assert!(reason.contains("not one JSON object") && !reason.contains("limit"), "{reason}");
}

/// What a server writes whose counter ran below 0 is charged by our own estimate.
#[tokio::test]
async fn a_count_that_cannot_be_is_none() {
    for usage in
        ["input = 5, output = 9223372036854775807", "input = 9223372036854775807, output = 9223372036854775807"]
    {
        let answer = ask(&format!("[[turn]]\ntext = 'half a sen'\nusage = {{ {usage} }}")).await.unwrap();
        let counts = (answer.usage.input < 100_000, answer.usage.input > 500, answer.usage.output);
        assert_eq!(counts, (true, true, 3), "{usage}: {:?}", answer.usage);
    }
}

#[tokio::test]
async fn errors_say_who_must_act() {
    let error = async |kind: &str| ask(&format!("[[turn]]\nerror = '{kind}'")).await.unwrap_err();
    assert_eq!(error("context_full").await, TurnError::Failed(Failure::ContextFull { context_tokens: Some(100_000) }));
    assert!(matches!(
        error("rate_limited").await,
        TurnError::Later { after_ms: None, fallback: Some(FallbackReason::Limited), .. }
    ));
    assert!(
        matches!(error("unavailable").await, TurnError::Later { sentence, fallback: Some(FallbackReason::Away), .. } if sentence.contains("can't be reached"))
    );
    assert!(
        matches!(error("unauthorized").await, TurnError::Refused { failure: Failure::Blocked { sentence }, fallback: FallbackReason::Refused } if sentence.contains("key file"))
    );
    let short = ask("[[conversation]]\nwhen = 'never'\nturn = []").await.unwrap_err();
    assert!(matches!(short, TurnError::Failed(Failure::Blocked { sentence }) if sentence.contains("has 0 answers")));
}

#[test]
fn a_refusal_that_lasts_says_what_to_do() {
    let (missing, no_tools) = (Some(FallbackReason::Missing), Some(FallbackReason::NoTools));
    for (error, act, instead) in [
        (ModelError::NoModel("HTTP 404, gone".into()), "set `name` in its entry to one that the server has", missing),
        (ModelError::NoTools("HTTP 400, no tools".into()), "to a model that knows tools", no_tools),
        (ModelError::BadRequest("HTTP 404".into()), "Check `name`, `base_url` and the key", None),
        (ModelError::Template("HTTP 500".into()), "`--chat-template-file`", None),
    ] {
        let words = format!("{error}. ");
        let failed = failed(RetryError::Failed { error, tries: 1 }, false, 1000);
        assert_eq!((failed.fallback(), failed.may_cost()), (instead, false), "{words}");
        let (TurnError::Failed(Failure::Blocked { sentence })
        | TurnError::Refused { failure: Failure::Blocked { sentence }, .. }) = failed
        else {
            panic!("{words}")
        };
        assert!(sentence.starts_with(&words) && sentence.contains(act), "{sentence}");
        assert!(sentence.contains("restart the bot"), "{sentence}");
    }
    let passes = advice(&ModelError::Unavailable("away".into())).or(advice(&ModelError::ContextFull));
    assert_eq!(passes, None);
}

#[test]
fn a_full_context_and_an_empty_budget_are_seen_before_sending() {
    let script = "[[turn]]\ntext = 'x'";
    let full = prepare(&task(Budget::default()), &[], Style::Tools, &config(), &model(script, 1000)).unwrap_err();
    assert_eq!(full.reason(), PauseReason::ContextFull { context_tokens: Some(1000) });
    assert!(full.to_string().contains("the model holds 1000"));
    let few = Budget { tokens: 300, ..Budget::default() };
    let refusal = prepare(&task(few), &[], Style::Tools, &config(), &model(script, 100_000)).unwrap_err();
    assert_eq!(refusal.reason(), PauseReason::Budget { what: "tokens".into() });
}
