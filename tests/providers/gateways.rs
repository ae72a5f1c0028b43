//! Servers that speak OpenAI's wire with something of their own: what they send beside it is kept, and sent back where they want it.

use caisson::config::process::ModelKind;
use caisson::llm::{Silent, Usage};
use domain::Event;
use serde_json::{Value, json};

use crate::kept::{converse, turn};
use crate::recordings::began;
use crate::vendor::{Reply, Vendor, anything};
use crate::{KEY, client, conversation, opened, strict, strict_gateways};

/// OpenRouter's reasoning, byte for byte as it has to come back.
const DETAILS: &str = r#"[{"type":"reasoning.text", "text":"hm, süß","signature":"EqQB/+==","id":null,"format":"anthropic-claude-v1","index":0},{"type":"reasoning.encrypted","data":"gAAA/+==","index":1}]"#;

/// A whole answer with one call; `beside` stands in its message.
fn called(id: &str, beside: &str) -> Reply {
    let text = format!(
        r#"{{"id":"gen-1","model":"test-model","choices":[{{"index":0,"finish_reason":"tool_calls","message":{{"role":"assistant","content":"I look.",
        "tool_calls":[{{"id":"{id}","index":0,"type":"function","function":{{"name":"bash","arguments":"{{\"command\":\"ls\"}}"}}}}]{beside}}}}}],
        "usage":{{"prompt_tokens":90,"completion_tokens":9,"completion_tokens_details":{{"reasoning_tokens":7}}}}}}"#
    );
    Reply::Text(200, "application/json", text)
}

fn began_here() -> Vec<Event> {
    began("Sums are wrong", "`add(1, 2)` gives -1.")
}

#[tokio::test]
async fn openrouters_reasoning_goes_back_as_it_came() {
    let vendor = Vendor::start(strict_gateways::openrouter, vec![]).await;
    let model = client(ModelKind::Openai, &format!("{}/api/v1", vendor.url), KEY);
    let mut log = began_here();
    vendor.answer(called("call_1", &format!(r#","reasoning":"hm, süß","reasoning_details":{DETAILS}"#)));
    assert!(turn(model.as_ref(), &mut log).await.vendor.is_some());
    for id in ["call_2", "call_3"] {
        vendor.answer(called(id, ""));
        assert_eq!(turn(model.as_ref(), &mut log).await.vendor, None, "there is nothing more to keep");
    }
    assert_eq!(vendor.refused(), Vec::<Value>::new());
    let held: Vec<usize> = vendor.raw().iter().map(|raw| raw.matches(DETAILS).count()).collect();
    assert_eq!(held, [0, 1, 1], "with each later request: {:?}", vendor.raw());
    let answers = vendor.seen()[2]["messages"].as_array().cloned().unwrap_or_default();
    let first = answers.iter().find(|message| message["role"] == "assistant").cloned().unwrap_or_default();
    assert_eq!((&first["content"], &first["tool_calls"][0]["id"]), (&json!("I look."), &json!("call_1")));
    assert_eq!(first.get("reasoning"), None);
}

/// The stream in pieces of a token each, as OpenRouter sends it.
fn streamed() -> String {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish, "native_finish_reason": finish });
        format!(
            "data: {}\n\n",
            json!({ "id": "gen-1", "provider": "Anthropic", "model": "test-model", "choices": [choice] })
        )
    };
    let thought = |more: Value| {
        let mut detail = json!({ "type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0 });
        for (name, value) in more.as_object().into_iter().flatten() {
            detail[name] = value.clone();
        }
        chunk(json!({ "role": "assistant", "content": "", "reasoning_details": [detail] }), Value::Null)
    };
    let function = json!({ "name": "bash", "arguments": "{\"command\":\"ls\"}" });
    let call = json!({ "tool_calls": [{ "id": "call_1", "index": 0, "type": "function", "function": function }] });
    [
        ": OPENROUTER PROCESSING\n\n".to_owned(),
        thought(json!({ "text": "hm, " })),
        thought(json!({ "text": "süß" })),
        thought(json!({ "signature": "EqQB/+==" })),
        chunk(call, Value::Null),
        chunk(json!({ "role": "assistant", "content": "" }), json!("tool_calls")),
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":90,\"completion_tokens\":9}}\n\ndata: [DONE]\n\n"
            .to_owned(),
    ]
    .concat()
}

#[tokio::test]
async fn reasoning_that_came_in_pieces_goes_back_joined() {
    let vendor = Vendor::start(strict_gateways::openrouter, vec![Reply::events(&streamed())]).await;
    let model = client(ModelKind::Openai, &format!("{}/api/v1", vendor.url), KEY);
    let mut log = began_here();
    turn(model.as_ref(), &mut log).await;
    vendor.answer(called("call_2", ""));
    turn(model.as_ref(), &mut log).await;
    assert_eq!(vendor.refused(), Vec::<Value>::new());
    let sent = vendor.seen().remove(1);
    let answer = sent["messages"].as_array().into_iter().flatten().find(|it| it["role"] == "assistant").cloned();
    let wanted = json!([{ "type": "reasoning.text", "text": "hm, süß", "signature": "EqQB/+==", "format": "anthropic-claude-v1", "index": 0 }]);
    assert_eq!(answer.unwrap_or_default()["reasoning_details"], wanted);
}

/// As signed parts of every other wire: for nobody but the model that thought so, and not with a call that had to be mended.
#[tokio::test]
async fn reasoning_is_for_the_same_conversation_alone() {
    let details = format!(r#","reasoning_details":{DETAILS}"#);
    let vendor = Vendor::start(strict_gateways::openrouter, vec![called("call_1", &details)]).await;
    let url = format!("{}/api/v1", vendor.url);
    let mut log = began_here();
    turn(client(ModelKind::Openai, &url, KEY).as_ref(), &mut log).await;
    vendor.answer(called("call_2", ""));
    converse(crate::named(ModelKind::Openai, &url, "another-model").as_ref(), &log).await;
    log.push(Event::ConversationRestarted);
    vendor.answer(called("call_2", ""));
    converse(client(ModelKind::Openai, &url, KEY).as_ref(), &log).await;
    assert!(vendor.raw()[1..].iter().all(|raw| !raw.contains("reasoning_details")), "{:?}", vendor.raw());
    vendor.answer(called("odd id/1", &details));
    assert_eq!(converse(client(ModelKind::Openai, &url, KEY).as_ref(), &began_here()).await.vendor, None);
    assert_eq!(vendor.refused(), Vec::<Value>::new());
}

#[tokio::test]
async fn a_server_that_takes_no_reasoning_back_is_asked_without_it_from_then_on() {
    fn forgetful(path: &str, headers: &axum::http::HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
        let holds = body.to_string().contains("reasoning_details");
        let refused = json!({ "error": { "message": "messages.2: property 'reasoning_details' is unsupported" } });
        if holds { Err((400, refused)) } else { strict::openai(path, headers, body) }
    }
    let vendor = Vendor::start(forgetful, vec![called("call_1", &format!(r#","reasoning_details":{DETAILS}"#))]).await;
    let model = client(ModelKind::Openai, &vendor.url, KEY);
    let mut log = began_here();
    turn(model.as_ref(), &mut log).await;
    for id in ["call_2", "call_3"] {
        vendor.answer(called(id, ""));
        turn(model.as_ref(), &mut log).await;
    }
    assert_eq!((vendor.seen().len(), vendor.refused().len()), (3, 1), "refused once only");
}

/// DeepSeek's words are kept and sent only once its server has asked for them: others refuse them, or count them for nothing.
#[tokio::test]
async fn deepseeks_reasoning_goes_back_once_its_server_has_asked_for_it() {
    let vendor = Vendor::start(strict_gateways::deepseek, vec![]).await;
    let model = client(ModelKind::Openai, &vendor.url, KEY);
    let mut log = began_here();
    for (id, thought) in [("call_1", "one"), ("call_2", "two"), ("call_3", "three")] {
        vendor.answer(called(id, &format!(r#","reasoning_content":"thought {thought}""#)));
        turn(model.as_ref(), &mut log).await;
    }
    assert_eq!(vendor.refused().len(), 1, "{:?}", vendor.refused());
    let last = vendor.seen().pop().unwrap_or_default();
    let answers = last["messages"].as_array().into_iter().flatten().filter(|message| message["role"] == "assistant");
    let thoughts: Vec<&Value> = answers.map(|message| &message["reasoning_content"]).collect();
    assert_eq!(thoughts, ["", "thought two"], "that of the first answer was not wanted yet");
    // A new process learns it again, and has what the log holds.
    vendor.answer(called("call_4", ""));
    converse(client(ModelKind::Openai, &vendor.url, KEY).as_ref(), &log).await;
    let raw = vendor.raw().pop().unwrap_or_default();
    assert!(raw.contains("thought two") && raw.contains("thought three"), "{raw}");
    assert_eq!(vendor.refused().len(), 2);
}

#[tokio::test]
async fn reasoning_in_words_is_neither_kept_nor_sent_where_nobody_asks_for_it() {
    let vendor = Vendor::start(strict::openai, vec![]).await;
    let model = client(ModelKind::Openai, &vendor.url, KEY);
    let mut log = began_here();
    for id in ["call_1", "call_2"] {
        vendor.answer(called(id, r#","reasoning_content":"hm""#));
        assert_eq!(turn(model.as_ref(), &mut log).await.vendor, None);
    }
    assert_eq!(vendor.refused(), Vec::<Value>::new());
}

/// An answer with one call and its signature.
fn signed(id: &str) -> Value {
    let function = json!({ "name": "bash", "arguments": "{\"command\":\"ls\"}" });
    let extra = json!({ "google": { "thought_signature": "EqQB/+==" } });
    let call = json!({ "id": id, "index": 0, "type": "function", "function": function, "extra_content": extra });
    json!({ "role": "assistant", "content": null, "tool_calls": [call] })
}

#[tokio::test]
async fn geminis_signatures_go_back_with_their_calls_and_a_call_without_one_says_so() {
    let usage = json!({ "prompt_tokens": 90, "completion_tokens": 9, "total_tokens": 99 });
    let choice = |of: &str, id: &str| json!([{ "index": 0, "finish_reason": "tool_calls", of: signed(id) }]);
    let body = |choices: Value| json!({ "model": "test-model", "choices": choices, "usage": usage });
    let whole = |id: &str| Reply::ok(body(choice("message", id)));
    let chunk = body(choice("delta", "call_2"));
    let vendor = Vendor::start(strict_gateways::gemini, vec![]).await;
    let model = client(ModelKind::Openai, &vendor.url, KEY);
    let mut log = began_here();
    for reply in [whole("call_1"), Reply::events(&format!("data: {chunk}\n\ndata: [DONE]\n\n")), whole("call_3")] {
        vendor.answer(reply);
        assert!(turn(model.as_ref(), &mut log).await.vendor.is_some());
    }
    assert_eq!(vendor.refused(), Vec::<Value>::new());
    // Another model has no signatures of its own for what this one did.
    vendor.answer(whole("call_4"));
    converse(crate::named(ModelKind::Openai, &vendor.url, "another-model").as_ref(), &log).await;
    let last = vendor.raw().pop().unwrap_or_default();
    assert_eq!((vendor.refused().len(), last.matches("skip_thought_signature_validator").count()), (1, 3), "{last}");
}

/// Mistral's server takes ids of nine letters and digits alone, also those of calls that another model made.
#[tokio::test]
async fn ids_of_another_server_become_those_that_mistrals_takes() {
    fn mistral(path: &str, headers: &axum::http::HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
        let ids = body["messages"].as_array().into_iter().flatten().flat_map(|message| {
            let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| &call["id"]);
            calls.chain(message.get("tool_call_id"))
        });
        let fits = |id: &&str| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match ids.filter_map(Value::as_str).find(|id| !fits(id)) {
            Some(id) => {
                let text = format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.");
                Err((400, json!({ "object": "error", "message": text, "type": "invalid_function_call" })))
            }
            None => strict::openai(path, headers, body),
        }
    }
    let vendor = Vendor::start(mistral, vec![called("aB3xK9mP2", ""), called("bB3xK9mP2", "")]).await;
    let model = client(ModelKind::Openai, &vendor.url, KEY);
    for own in ["aB3xK9mP2", "bB3xK9mP2"] {
        assert_eq!(model.respond(&conversation(), &Silent).await.unwrap().calls[0].id, own, "it stays as it came");
    }
    assert_eq!((vendor.seen().len(), vendor.refused().len()), (2, 1), "refused once only");
}

/// A stream of Ollama's: reasoning under its own name, each call whole in one chunk with its ids in the order of its server, and an end of its own.
fn ollamas() -> String {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let chunk = json!({ "id": "chatcmpl-554", "object": "chat.completion.chunk", "created": 1, "model": "test-model",
            "system_fingerprint": "fp_ollama", "choices": [choice] });
        format!("data: {chunk}\n\n")
    };
    let call = |index: u32, name: &str, arguments: &str| {
        let function = json!({ "name": name, "arguments": arguments });
        let call = json!({ "id": format!("call_{index}x"), "index": index, "type": "function", "function": function });
        chunk(json!({ "role": "assistant", "content": "", "tool_calls": [call] }), Value::Null)
    };
    let usage = json!({ "id": "chatcmpl-554", "object": "chat.completion.chunk", "choices": [],
        "usage": { "prompt_tokens": 90, "completion_tokens": 9, "total_tokens": 99 } });
    [
        chunk(json!({ "role": "assistant", "content": "", "reasoning": "hm" }), Value::Null),
        chunk(json!({ "role": "assistant", "content": "I look." }), Value::Null),
        call(0, "bash", "{\"command\":\"ls\"}"),
        call(1, "read_file", "{\"path\":\"calc.py\"}"),
        chunk(json!({ "role": "assistant", "content": "" }), json!("tool_calls")),
        format!("data: {usage}\n\ndata: [DONE]\n\n"),
    ]
    .concat()
}

#[tokio::test]
async fn ollama_is_understood_and_takes_every_turn() {
    let model = |vendor: &Vendor, stream| opened(ModelKind::Openai, &vendor.url, "ollama", stream);
    let vendor = Vendor::start(strict_gateways::ollama, vec![Reply::events(&ollamas())]).await;
    let response = model(&vendor, true).respond(&conversation(), &Silent).await.unwrap();
    let calls: Vec<_> = response.calls.iter().map(|call| (call.id.as_str(), call.name.as_str())).collect();
    assert_eq!(calls, [("call_0x", "bash"), ("call_1x", "read_file")]);
    assert_eq!((response.text.as_str(), response.vendor), ("I look.", None));
    assert_eq!(response.usage, Usage { input: 90, output: 9, ..Usage::default() });
    let mut log = began_here();
    for id in ["call_1", "call_2"] {
        vendor.answer(called(id, r#","reasoning":"hm""#));
        turn(model(&vendor, false).as_ref(), &mut log).await;
    }
    assert_eq!(vendor.refused(), Vec::<Value>::new());
    assert!(!vendor.raw()[2].contains("reasoning"), "{}", vendor.raw()[2]);
    // As Ollama refuses a model that it does not have, and one that knows no tools.
    let missing = json!({ "error": { "message": "model \"x\" not found, try pulling it first", "type": "api_error", "param": null, "code": null } });
    let no_tools = json!({ "error": { "message": "registry.ollama.ai/library/x does not support tools", "type": "invalid_request_error" } });
    for (status, body, words) in [(404, missing, "try pulling it first"), (400, no_tools, "does not support tools")] {
        let vendor = Vendor::start(anything, vec![Reply::status(status, body)]).await;
        let error = model(&vendor, true).respond(&conversation(), &Silent).await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
