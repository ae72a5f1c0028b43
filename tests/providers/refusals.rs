//! Servers that differ from the configuration: another model, a smaller window, a template that refuses a role. `caisson model list`,
//! `caisson model check` and `caisson doctor` name each with its remedy; a refused system message is sent in another form.

use axum::http::HeaderMap;
use caisson::config::process::ModelKind;
use caisson::engine::probe;
use caisson::engine::style::Style;
use caisson::llm::retry::{self, RetryError};
use caisson::llm::{ModelError, ModelRequest, Settings, Silent, Turn, open};
use serde_json::{Value, json};
use std::path::Path;
use tokio_util::sync::CancellationToken;

use crate::vendor::{Reply, Vendor, anything};
use crate::{KEY, QUICK, WIRES, client, conversation};

pub fn said(model: &str, text: &str) -> Value {
    json!({ "model": model, "choices": [{ "message": { "role": "assistant", "content": text } }] })
}

fn raised(message: &str) -> (u16, Value) {
    // As llama.cpp's server reports an exception of a template.
    let message = format!("Jinja Exception: {message}");
    (500, json!({ "error": { "code": 500, "message": message, "type": "server_error" } }))
}

fn roles(body: &Value) -> Vec<&str> {
    body["messages"].as_array().into_iter().flatten().filter_map(|message| message["role"].as_str()).collect()
}

/// Gemma's template has no system role.
fn no_system(_: &str, _: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
    if roles(body).contains(&"system") { Err(raised("System role not supported")) } else { Ok(()) }
}

/// Mistral's first template has no tools.
fn no_tools(_: &str, _: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
    let refused = raised(
        "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
    );
    if roles(body).contains(&"tool") { Err(refused) } else { Ok(()) }
}

fn own_temperature(_: &str, _: &HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
    let text = "Unsupported value: 'temperature' does not support 0.4 with this model. Only the default (1) value is supported.";
    let refused = (400, json!({ "error": { "message": text, "code": "unsupported_value" } }));
    let given = body.get("temperature").or(body.pointer("/generationConfig/temperature"));
    if given.is_some() { Err(refused) } else { Ok(()) }
}

fn plain() -> ModelRequest {
    ModelRequest { turns: vec![Turn::User { text: "fix it".into() }], ..conversation() }
}

#[tokio::test]
async fn a_refused_system_text_goes_before_the_first_words_and_the_process_remembers_it() {
    let replies = vec![Reply::ok(said("m", "one")), Reply::ok(said("m", "two"))];
    let vendor = Vendor::start(no_system, replies).await;
    let model = client(ModelKind::Openai, &vendor.url, KEY);
    for wanted in ["one", "two"] {
        assert_eq!(model.respond(&conversation(), &Silent).await.unwrap().text, wanted);
    }
    assert_eq!(vendor.refused().len(), 1, "refused once only");
    for body in vendor.seen() {
        assert_eq!(roles(&body)[..2], ["user", "assistant"]);
        assert_eq!(body["messages"][0]["content"], "You are a test.\n\nfix it");
    }
}

#[tokio::test]
async fn a_template_that_takes_no_results_is_named_and_not_asked_again() {
    let vendor = Vendor::start(no_tools, vec![]).await;
    let model = client(ModelKind::Openai, &vendor.url, KEY);
    let error =
        retry::respond(model.as_ref(), &conversation(), &Silent, &QUICK, &CancellationToken::new()).await.unwrap_err();
    let RetryError::Failed { error: ModelError::Template(text), tries: 1 } = error else { panic!("{error:?}") };
    assert!(text.contains("roles must alternate"), "{text}");
    assert_eq!(vendor.refused().len(), 2, "with the system text and without");
    vendor.answer(Reply::ok(said("m", "ok")));
    model.respond(&plain(), &Silent).await.unwrap();
    assert_eq!(roles(&vendor.seen()[0]), ["system", "user"], "that it helped nothing is no reason to go on with it");
}

#[tokio::test]
async fn a_model_that_takes_no_results_of_tools_works_with_files() {
    let function = json!({ "name": "read_file", "arguments": "{\"path\": \"calc.py\"}" });
    let reads = json!({ "choices": [{ "message": { "tool_calls": [{ "id": "c", "type": "function", "function": function }] } }] });
    let vendor = Vendor::start(no_tools, vec![Reply::ok(reads)]).await;
    let tries = probe::probe(client(ModelKind::Openai, &vendor.url, KEY).as_ref(), true, &Silent).await.unwrap();
    assert_eq!((tries.read, tries.edit, tries.style()), (true, false, Style::Files));
}

/// A plain answer of each wire.
fn plainly(kind: ModelKind) -> Value {
    let text = json!([{ "type": "output_text", "text": "ok", "annotations": [] }]);
    match kind {
        ModelKind::Openai => said("m", "ok"),
        ModelKind::Anthropic => json!({ "content": [{ "type": "text", "text": "ok" }] }),
        ModelKind::Gemini => {
            json!({ "candidates": [{ "content": { "parts": [{ "text": "ok" }] }, "finishReason": "STOP" }] })
        }
        ModelKind::OpenaiResponses => {
            json!({ "status": "completed", "output": [{ "type": "message", "role": "assistant", "content": text }] })
        }
        ModelKind::Scripted => panic!("a recording has no wire"),
    }
}

#[tokio::test]
async fn a_model_with_a_temperature_of_its_own_is_not_given_another() {
    let request = ModelRequest { temperature: Some(0.4), ..plain() };
    for kind in WIRES {
        let vendor = Vendor::start(own_temperature, vec![Reply::ok(plainly(kind)), Reply::ok(plainly(kind))]).await;
        let model = client(kind, &vendor.url, KEY);
        for _ in 0..2 {
            assert_eq!(model.respond(&request, &Silent).await.unwrap().text, "ok");
        }
        assert_eq!((vendor.seen().len(), vendor.refused().len()), (2, 1), "{kind:?}");
    }
}

#[tokio::test]
async fn an_entry_that_takes_no_temperature_is_sent_none_from_the_first_request_on() {
    let request = ModelRequest { temperature: Some(0.4), ..plain() };
    for kind in WIRES {
        for temperature in [true, false] {
            let vendor = Vendor::start(anything, vec![Reply::ok(plainly(kind))]).await;
            let settings = Settings { temperature, ..crate::settings(&vendor.url, "test-model", KEY) };
            open(kind, None, settings).unwrap().respond(&request, &Silent).await.unwrap();
            let sent = vendor.seen().remove(0);
            let given = [sent.get("temperature"), sent.pointer("/generationConfig/temperature")];
            assert_eq!(given.into_iter().flatten().count(), usize::from(temperature), "{kind:?}: {sent}");
        }
    }
}

/// The output of `caisson`, both streams together, and whether it exited successfully.
pub async fn caisson(dir: &Path, words: &[&str]) -> (String, bool) {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_caisson"));
    command.arg("--config").arg(dir.join("caisson.toml")).args(words).current_dir(dir).env_remove("CAISSON_MODEL_URL");
    let out = command.output().await.expect("run");
    let text = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    // Tables and sentences are wrapped to the terminal's width.
    (text.split_whitespace().collect::<Vec<_>>().join(" "), out.status.success())
}

pub fn configured(url: &str, more: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let small = format!(
        "[[model]]\nid = \"small\"\nkind = \"openai\"\nbase_url = \"{url}\"\nname = \"coder\"\nroles = [\"worker\"]\n"
    );
    let window = "context_tokens = 32768\nmax_output_tokens = 1000\n";
    std::fs::write(dir.path().join("caisson.toml"), format!("{small}{window}{more}")).unwrap();
    dir
}

/// The answers to a check of one model: a first answer, the model list, its window, and an answer after a tool's result.
pub fn told(name: &str, window: u64) -> Vec<Reply> {
    let props = json!({ "default_generation_settings": { "n_ctx": window } });
    let list = json!({ "data": [{ "id": name }, { "id": "another" }] });
    [said(name, "ok"), list, props, said(name, "ok")].map(Reply::ok).into()
}

#[tokio::test]
async fn another_model_and_a_smaller_window_are_named_by_list_check_and_doctor() {
    let vendor = Vendor::start(anything, vec![]).await;
    let recording = "[[model]]\nid = \"big\"\nkind = \"scripted\"\nscript = \"r.toml\"\nroles = [\"planner\"]\n";
    let dir = configured(&vendor.url, recording);
    std::fs::write(dir.path().join("r.toml"), "name = \"r\"\n[[turn]]\ntext = \"x\"\n").unwrap();
    told("coder", 16_384).into_iter().for_each(|reply| vendor.answer(reply));
    let (list, fine) = caisson(dir.path(), &["model", "list"]).await;
    assert!(
        fine && list.contains("small openai coder worker summarizer reviewer auto 32768 (entry) unknown yes, in"),
        "{list}"
    );
    assert!(list.contains("its window is 16384 tokens, and context_tokens says 32768"), "{list}");
    assert!(list.contains("big scripted r.toml planner auto 200000 (assumed) none a recording"), "{list}");
    told("tiny", 32_768).into_iter().for_each(|reply| vendor.answer(reply));
    // The tool trial, and the measurements.
    ["I would read calc.py.", "1", "1", "1"].into_iter().for_each(|text| vendor.answer(Reply::ok(said("tiny", text))));
    let (check, fine) = caisson(dir.path(), &["model", "check", "small"]).await;
    assert!(!fine && check.contains("another model answers: coder was asked for, tiny answered"), "{check}");
    assert!(check.contains("read not passed") && check.contains("style files"), "{check}");
    told("tiny", 32_768).into_iter().for_each(|reply| vendor.answer(reply));
    let (doctor, _) = caisson(dir.path(), &["doctor", "--model"]).await;
    assert!(doctor.contains("model small") && doctor.contains("another model answers"), "{doctor}");
    assert!(doctor.contains("model big") && doctor.contains("a recording, no model is behind it"), "{doctor}");
}

#[tokio::test]
async fn a_template_that_refuses_a_role_is_named_with_what_to_do() {
    let vendor = Vendor::start(no_tools, told("coder", 32_768)).await;
    let dir = configured(&vendor.url, "style = \"tools\"\n");
    let (list, _) = caisson(dir.path(), &["model", "list"]).await;
    assert!(list.contains("FAULT: the model's chat template refuses the conversation: HTTP 500"), "{list}");
    told("coder", 32_768).into_iter().skip(1).for_each(|reply| vendor.answer(reply));
    let (check, fine) = caisson(dir.path(), &["model", "check"]).await;
    assert!(!fine && check.contains("roles must alternate") && check.contains("--chat-template-file"), "{check}");
}

#[tokio::test]
async fn a_template_without_a_system_text_is_told_and_no_fault() {
    let vendor = Vendor::start(no_system, told("coder", 32_768)).await;
    let (list, fine) = caisson(configured(&vendor.url, "style = \"files\"\n").path(), &["model", "list"]).await;
    assert!(fine && list.contains("its chat template takes no system text") && !list.contains("FAULT"), "{list}");
}

/// Without a configured price the cost is unknown; a model is free only if its entry says so.
#[tokio::test]
async fn an_unknown_price_is_told_and_that_no_limit_in_dollars_holds() {
    let (unknown, free) = ("style = \"files\"\n", "style = \"files\"\nprice_input = 0\nprice_output = 0\n");
    let vendor = Vendor::start(no_system, vec![]).await;
    for (prices, is_unknown) in [(unknown, true), (free, false)] {
        for day in ["", "day_dollars = 3.0\n"] {
            told("coder", 32_768).into_iter().take(3).for_each(|reply| vendor.answer(reply));
            let dir = configured(&vendor.url, &format!("{prices}[budget]\n{day}"));
            let (list, fine) = caisson(dir.path(), &["model", "list"]).await;
            assert!(fine && list.contains("price unknown: set price_input") == is_unknown, "{list}");
            let (doctor, _) = caisson(dir.path(), &["doctor"]).await;
            let limits =
                if day.is_empty() { "budget.dollars limits" } else { "budget.dollars and budget.day_dollars limit" };
            let said = doctor.contains(&format!("{limits} nothing: the price of openai coder is unknown"));
            assert_eq!((said, doctor.contains("price unknown")), (is_unknown, is_unknown), "{doctor}");
        }
    }
}

/// A key is redacted in every form in which an answer may repeat it: within an error message, and where a quoted text is cut; a key that is
/// an ordinary word is not redacted everywhere.
#[tokio::test]
async fn a_key_that_a_server_repeats_is_in_no_error_and_an_answer_stays_as_it_was_said() {
    for kind in WIRES {
        for filling in [0, 170, 178] {
            let odd = json!({ "code": 401, "message": format!("{}{KEY} is wrong", "x".repeat(filling)) });
            let vendor = Vendor::start(anything, vec![Reply::ok(odd)]).await;
            let error = client(kind, &vendor.url, KEY).respond(&conversation(), &Silent).await.unwrap_err();
            let told = format!("{error} {error:?}");
            assert!(matches!(error, ModelError::Malformed(_)) && !told.contains(&KEY[..10]), "{kind:?}: {told}");
        }
    }
    let vendor = Vendor::start(anything, vec![Reply::ok(said("m", "there is none left"))]).await;
    let answer = client(ModelKind::Openai, &vendor.url, "none").respond(&conversation(), &Silent).await.unwrap();
    assert_eq!(answer.text, "there is none left");
}
