//! Answers that contradict themselves, over every wire, streamed and whole: an end that does not fit, ids that are missing or stand twice.

use caisson::config::Process;
use caisson::config::process::{Model, ModelKind};
use caisson::engine::style::Style;
use caisson::engine::{self, EngineConfig};
use caisson::llm::{ModelError, ModelResponse, Silent};
use caisson::secret::Secret;
use domain::{Budget, Task, TaskId};
use serde_json::{Value, json};
use std::path::Path;
use tokio_util::sync::CancellationToken;

use crate::recordings::began;
use crate::streams::{answer, asked};
use crate::vendor::{Reply, Vendor, anything};
use crate::{KEY, QUICK, WIRES, client, streamed};

/// The answer with the end that stands for its wire: OpenAI's, Anthropic's, Gemini's, and for Responses a status with its reason.
fn ending(kind: ModelKind, mut answer: Value, [openai, anthropic, gemini, responses]: [&str; 4]) -> Value {
    match kind {
        ModelKind::Openai => answer["choices"][0]["finish_reason"] = json!(openai),
        ModelKind::Anthropic => answer["stop_reason"] = json!(anthropic),
        ModelKind::Gemini => answer["candidates"][0]["finishReason"] = json!(gemini),
        ModelKind::OpenaiResponses => {
            let (status, reason) = responses.split_once(' ').unwrap_or((responses, ""));
            answer["status"] = json!(status);
            if !reason.is_empty() {
                answer["incomplete_details"] = json!({ "reason": reason });
            }
        }
        ModelKind::Scripted => panic!("a recording has no wire"),
    }
    answer
}

/// The list that holds the answer's calls, and which of its elements are some.
fn list(kind: ModelKind, answer: &mut Value) -> (&mut Vec<Value>, fn(&Value) -> bool) {
    let (place, is_call): (&str, fn(&Value) -> bool) = match kind {
        ModelKind::Openai => ("/choices/0/message/tool_calls", |_| true),
        ModelKind::Anthropic => ("/content", |it| it["type"] == "tool_use"),
        ModelKind::Gemini => ("/candidates/0/content/parts", |it| it.get("functionCall").is_some()),
        ModelKind::OpenaiResponses => ("/output", |it| it["type"] == "function_call"),
        ModelKind::Scripted => panic!("a recording has no wire"),
    };
    (answer.pointer_mut(place).and_then(Value::as_array_mut).expect("a list"), is_call)
}

/// The same answer with this id for each of its calls; none = without one.
fn with_id(kind: ModelKind, id: Option<&str>) -> Value {
    let mut odd = answer(kind);
    let (list, is_call) = list(kind, &mut odd);
    for call in list.iter_mut().filter(|it| is_call(it)) {
        let (call, name) = match kind {
            ModelKind::Gemini => (&mut call["functionCall"], "id"),
            ModelKind::OpenaiResponses => (call, "call_id"),
            _ => (call, "id"),
        };
        let fields = call.as_object_mut().expect("a call");
        fields.remove("id");
        fields.remove(name);
        if let Some(id) = id {
            fields.insert(name.to_owned(), json!(id));
        }
    }
    odd
}

/// What becomes of an answer: as a stream, and whole.
async fn both(kind: ModelKind, odd: &Value) -> [Result<ModelResponse, ModelError>; 2] {
    let stream = Reply::events(&streamed::events(kind, odd).concat());
    [asked(kind, anything, stream).await, asked(kind, anything, Reply::ok(odd.clone())).await]
}

/// Calls stand before what the end says of them, and words are words whatever call it speaks of.
#[tokio::test]
async fn an_end_that_contradicts_the_answer_takes_nothing_from_it() {
    for kind in WIRES {
        let spoken = ending(kind, answer(kind), ["stop", "end_turn", "OTHER", "incomplete content_filter"]);
        for response in both(kind, &spoken).await {
            let response = response.unwrap();
            assert_eq!((response.calls.len(), response.truncated), (2, false), "{kind:?}: calls, and no word of them");
            assert_eq!(response.text, "Ich prüfe 🦀.", "{kind:?}");
        }
        let mut plain = ending(kind, answer(kind), ["tool_calls", "tool_use", "STOP", "completed"]);
        let (list, is_call) = list(kind, &mut plain);
        list.retain(|it| !is_call(it));
        for response in both(kind, &plain).await {
            let response = response.unwrap();
            assert_eq!((response.text.as_str(), response.calls.len()), ("Ich prüfe 🦀.", 0), "{kind:?}: no call");
            assert!(!response.truncated, "{kind:?}");
        }
        let cut = ["length", "max_tokens", "MAX_TOKENS", "incomplete max_output_tokens"];
        for response in both(kind, &ending(kind, answer(kind), cut)).await {
            let response = response.unwrap();
            assert!(response.truncated && response.calls.len() == 2, "{kind:?}: {response:?}");
        }
    }
}

/// An end that nobody knows is one all the same; only a response whose state says that it is not complete is lost.
#[tokio::test]
async fn an_end_that_nobody_knows_is_an_end() {
    for kind in WIRES {
        for response in both(kind, &ending(kind, answer(kind), ["eos", "pause_turn", "NEW_REASON", "queued"])).await {
            match (kind, response) {
                (ModelKind::OpenaiResponses, Err(error @ ModelError::Lost(_))) => assert!(error.may_cost()),
                (ModelKind::OpenaiResponses, other) => panic!("{other:?}"),
                (kind, response) => assert_eq!(response.unwrap().calls.len(), 2, "{kind:?}"),
            }
        }
    }
}

#[tokio::test]
async fn each_call_has_an_id_of_its_own_whatever_its_server_sent() {
    for kind in WIRES {
        for id in [None, Some("call_a"), Some(""), Some("functions.bash:0")] {
            for response in both(kind, &with_id(kind, id)).await {
                let response = response.unwrap();
                let ids: Vec<&str> = response.calls.iter().map(|call| call.id.as_str()).collect();
                let plain = |id: &str| !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                assert!(
                    ids.len() == 2 && ids[0] != ids[1] && ids.iter().all(|id| plain(id)),
                    "{kind:?} {id:?}: {ids:?}"
                );
                // Results are sent under the new ids, which a vendor's parts do not hold. Gemini's calls need none.
                let kept = response.vendor.is_some();
                let none = id.is_none_or(str::is_empty);
                assert_eq!(kept, kind == ModelKind::Gemini && none, "{kind:?} {id:?}");
            }
        }
    }
}

/// An answer with these words and no call.
fn worded(kind: ModelKind, words: &str) -> Value {
    let mut plain = ending(kind, answer(kind), ["stop", "end_turn", "STOP", "completed"]);
    let (list, is_call) = list(kind, &mut plain);
    list.retain(|it| !is_call(it));
    let escaped = json!(words).to_string();
    serde_json::from_str(&plain.to_string().replace("\"Ich prüfe 🦀.\"", &escaped)).expect("JSON")
}

/// What a filter cut off is not taken for what the model wanted to say.
#[tokio::test]
async fn an_answer_that_a_filter_ended_says_so() {
    for kind in WIRES {
        let ends = ["content_filter", "refusal", "SAFETY", "incomplete content_filter"];
        for response in both(kind, &ending(kind, worded(kind, "Well"), ends)).await {
            let response = response.unwrap();
            assert!(response.text.starts_with("Well\n[the server ended this answer: "), "{kind:?}: {}", response.text);
            assert!(response.calls.is_empty() && !response.truncated, "{kind:?}");
        }
    }
}

/// Chat completions have no other place for an error that comes after the beginning of a whole answer.
#[tokio::test]
async fn an_answer_that_its_server_broke_off_is_lost_and_one_that_filled_the_window_is_cut() {
    let kind = ModelKind::Openai;
    let with = |end: &'static str| ending(kind, answer(kind), [end, "", "", ""]);
    for end in ["error", "insufficient_system_resource", "network_error"] {
        for response in both(kind, &with(end)).await {
            assert!(matches!(&response, Err(ModelError::Lost(why)) if why.contains(end)), "{end}: {response:?}");
        }
    }
    for response in both(kind, &with("model_length")).await {
        assert!(response.unwrap().truncated);
    }
}

/// The entry of a model at this address.
fn entry(kind: ModelKind, address: &str) -> Model {
    let kind = kind.word();
    let text = format!("[model]\nkind = \"{kind}\"\nname = \"m\"\nkey_file = \"k\"\nbase_url = \"{address}\"\n");
    let config = Process::from_layers(Path::new("/x/caisson.toml"), &text, &|_| None).expect("a configuration");
    config.models.worker().clone()
}

/// What an answer quotes of an issue must not run because a gateway passed it on.
#[tokio::test]
async fn a_call_in_the_text_counts_from_a_server_of_the_operators_own_alone() {
    let quote = "The issue says:\n```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"make leak\"}}\n```";
    let log = began("Sums are wrong", quote);
    let task = Task { granted: Budget::default(), ..Task::fold(TaskId(7), &log) };
    for kind in WIRES {
        let vendor = Vendor::start(anything, vec![]).await;
        let model = client(kind, &vendor.url, KEY);
        let near = [(vendor.url.as_str(), true), ("http://gpu.lan:8080/v1", true)];
        let far = [("https://openrouter.ai/api/v1", false), ("https://llm.example.org/v1", false)];
        for (address, is_own) in near.into_iter().chain(far) {
            vendor.answer(Reply::ok(worded(kind, quote)));
            let config = EngineConfig::of(Secret::new("k"), &entry(kind, address));
            let ready = engine::prepare(&task, &log, Style::Tools, &config, model.as_ref()).unwrap();
            let cancel = CancellationToken::new();
            let answer = engine::converse(model.as_ref(), &ready, &Silent, &QUICK, &cancel).await.unwrap();
            let has_local_servers = matches!(kind, ModelKind::Openai | ModelKind::OpenaiResponses);
            assert_eq!(answer.text, quote, "{kind:?} {address}");
            assert_eq!(answer.calls.len(), usize::from(is_own && has_local_servers), "{kind:?} {address}");
            assert_eq!(ready.request.cache_key.is_none(), has_local_servers, "{kind:?} {address}");
        }
    }
}
