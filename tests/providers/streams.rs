//! Streamed answers: each equals the same answer sent whole, wherever the stream is split, and an incomplete stream is an error.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use caisson::config::process::ModelKind;
use caisson::llm::retry::{self, RetryError};
use caisson::llm::{Delta, Deltas, ModelError, ModelResponse, Silent};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::streamed;
use crate::vendor::{Check, End, Reply, Vendor, anything};
use crate::{KEY, QUICK, WIRES, client, conversation, strict_check};

/// An answer with non-ASCII text and two calls, as the vendor sends it whole.
pub fn answer(kind: ModelKind) -> Value {
    let arguments = json!({ "command": "echo 'süß 🦀'" });
    match kind {
        ModelKind::Openai => json!({
            "id": "chatcmpl-1", "object": "chat.completion", "model": "test-model", "choices": [{ "index": 0, "finish_reason": "tool_calls",
                "message": { "role": "assistant", "content": "Ich prüfe 🦀.", "tool_calls": [
                    { "id": "call_a", "type": "function", "function": { "name": "bash", "arguments": arguments.to_string() } },
                    { "id": "call_b", "type": "function", "function": { "name": "done", "arguments": "{\"summary\":\"ok\"}" } }] } }],
            "usage": { "prompt_tokens": 120, "completion_tokens": 8, "total_tokens": 128, "prompt_tokens_details": { "cached_tokens": 100 } },
        }),
        ModelKind::Anthropic => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "test-model", "stop_reason": "tool_use", "content": [
                { "type": "thinking", "thinking": "hm, süß", "signature": "EqQB" },
                { "type": "text", "text": "Ich prüfe 🦀." },
                { "type": "tool_use", "id": "call_a", "name": "bash", "input": arguments },
                { "type": "tool_use", "id": "call_b", "name": "done", "input": { "summary": "ok" } }],
            "usage": { "input_tokens": 20, "output_tokens": 8, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 0 },
        }),
        ModelKind::Gemini => json!({
            "candidates": [{ "index": 0, "finishReason": "STOP", "content": { "role": "model", "parts": [
                { "text": "hm", "thought": true },
                { "text": "Ich prüfe 🦀." },
                { "functionCall": { "id": "call_a", "name": "bash", "args": arguments }, "thoughtSignature": "EqQB" },
                { "functionCall": { "id": "call_b", "name": "done", "args": { "summary": "ok" } } }] } }],
            "usageMetadata": { "promptTokenCount": 120, "cachedContentTokenCount": 100, "candidatesTokenCount": 3, "thoughtsTokenCount": 5 },
            "modelVersion": "test-model",
        }),
        ModelKind::OpenaiResponses => json!({
            "id": "resp_1", "object": "response", "status": "completed", "error": null, "incomplete_details": null, "model": "test-model",
            "output": [
                { "id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAB" },
                { "id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
                    "content": [{ "type": "output_text", "text": "Ich prüfe 🦀.", "annotations": [] }] },
                { "id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_a", "name": "bash", "arguments": arguments.to_string() },
                { "id": "fc_2", "type": "function_call", "status": "completed", "call_id": "call_b", "name": "done", "arguments": "{\"summary\":\"ok\"}" }],
            "usage": { "input_tokens": 120, "input_tokens_details": { "cached_tokens": 100 }, "output_tokens": 8,
                "output_tokens_details": { "reasoning_tokens": 5 }, "total_tokens": 128 },
        }),
        ModelKind::Scripted => panic!("a recording has no wire"),
    }
}

/// What a client makes of this reply.
pub async fn asked(kind: ModelKind, check: Check, reply: Reply) -> Result<ModelResponse, ModelError> {
    let vendor = Vendor::start(check, vec![reply]).await;
    let response = client(kind, &vendor.url, KEY).respond(&conversation(), &Silent).await;
    assert_eq!(vendor.refused(), Vec::<Value>::new());
    response
}

/// The parsed answer of a whole response.
async fn whole(kind: ModelKind) -> ModelResponse {
    asked(kind, strict_check(kind), Reply::ok(answer(kind))).await.expect("an answer")
}

#[tokio::test]
async fn a_stream_becomes_what_the_whole_answer_is_wherever_its_chunks_end() {
    for kind in WIRES {
        let wanted = whole(kind).await;
        assert_eq!(
            (wanted.text.as_str(), wanted.calls.len(), wanted.usage.prompt()),
            ("Ich prüfe 🦀.", 2, 120),
            "{kind:?}"
        );
        let text = streamed::events(kind, &answer(kind)).concat();
        for text in [
            text.clone(),
            text.replace('\n', "\r\n"),
            format!(": comment\n\n{}", text.replace("\n\n", "\n\n: ping\n\n")),
        ] {
            for size in [1, 2, 3, 5, 64, text.len()] {
                let pieces = text.as_bytes().chunks(size).map(<[u8]>::to_vec).collect();
                let response = asked(kind, strict_check(kind), Reply::Stream(pieces, End::Closed)).await;
                assert_eq!(response, Ok(wanted.clone()), "{kind:?} by {size}");
            }
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_at_any_event_is_lost() {
    for kind in WIRES {
        let events = streamed::events(kind, &answer(kind));
        let wanted = whole(kind).await;
        for cut in 0..events.len() {
            for end in [End::Closed, End::Broken] {
                let pieces = events[..cut].iter().map(|event| event.clone().into_bytes()).collect();
                match asked(kind, anything, Reply::Stream(pieces, end)).await {
                    Err(error @ ModelError::Lost(_)) => assert!(error.may_cost()),
                    // After OpenAI's `finish_reason` only the token counts are missing.
                    Ok(response) if kind == ModelKind::Openai && cut + 2 >= events.len() => {
                        assert_eq!((&response.text, &response.calls), (&wanted.text, &wanted.calls));
                    }
                    other => panic!("{kind:?}, {cut} of {} events, {end:?}: {other:?}", events.len()),
                }
            }
        }
        // Cut within an event, and within a character.
        let text = events.concat().into_bytes();
        let crab = text.windows(4).position(|bytes| bytes == "🦀".as_bytes()).unwrap_or(text.len() / 2);
        let cut = Reply::Stream(vec![text[..crab + 2].to_vec()], End::Closed);
        assert!(matches!(asked(kind, anything, cut).await, Err(ModelError::Lost(_))), "{kind:?}");
    }
}

#[tokio::test]
async fn a_whole_answer_does_not_wait_for_the_connection_and_silence_ends_a_half_one() {
    for kind in WIRES {
        let text = streamed::events(kind, &answer(kind)).concat().into_bytes();
        let began = Instant::now();
        let open = Reply::Stream(vec![text.clone()], End::Open);
        // The server ends neither the stream nor the connection. Gemini's streams have no other end than the connection's.
        let response = asked(kind, anything, open).await;
        assert_eq!(response.unwrap(), whole(kind).await, "{kind:?}");
        assert!(began.elapsed() < Duration::from_secs(2));
        let half = Reply::Stream(vec![text[..text.len() / 2].to_vec()], End::Open);
        let error = asked(kind, anything, half).await.unwrap_err();
        assert!(matches!(&error, ModelError::Lost(why) if why.contains("no answer within 0.4 s")), "{kind:?}: {error}");
    }
}

/// The deltas that a listener receives, as one line each.
#[derive(Default)]
struct DeltaRecorder(Mutex<Vec<String>>);

impl Deltas for DeltaRecorder {
    fn take(&self, delta: Delta<'_>) {
        let mut seen = self.0.lock().unwrap();
        let line = match delta {
            Delta::Text(piece) => format!("text {piece}"),
            Delta::Call { place, name } => format!("call {place} {name}"),
            Delta::Arguments { place, piece } => format!("arguments {place} {piece}"),
            Delta::Reasoning { .. } => "reasoning".to_owned(),
        };
        // Consecutive deltas of text are one line.
        let words = line.strip_prefix("text ");
        match (words, seen.last_mut().filter(|last| last.starts_with("text "))) {
            (Some(more), Some(last)) => last.push_str(more),
            _ => seen.push(line),
        }
    }

    fn begin_again(&self) {
        self.0.lock().unwrap().push("again".to_owned());
    }
}

#[tokio::test]
async fn pieces_are_told_as_they_come() {
    for kind in WIRES {
        let reply = Reply::events(&streamed::events(kind, &answer(kind)).concat());
        let vendor = Vendor::start(strict_check(kind), vec![reply]).await;
        let seen = DeltaRecorder::default();
        client(kind, &vendor.url, KEY).respond(&conversation(), &seen).await.unwrap();
        let lines = seen.0.into_inner().unwrap();
        let has = |wanted: &str| assert!(lines.iter().any(|line| line == wanted), "{kind:?}: {wanted} in {lines:?}");
        has("text Ich prüfe 🦀.");
        has("call 0 bash");
        has("call 1 done");
        let arguments = |place: u8| {
            let start = format!("arguments {place} ");
            lines.iter().filter_map(|line| line.strip_prefix(&start)).collect::<String>()
        };
        let read: Value = serde_json::from_str(&arguments(0)).unwrap();
        assert_eq!(read["command"], "echo 'süß 🦀'", "{kind:?}");
        assert_eq!(lines.iter().any(|line| line == "reasoning"), kind != ModelKind::Openai, "{kind:?}: {lines:?}");
    }
}

/// An error event in the vendor's format.
fn overloaded(kind: ModelKind) -> String {
    match kind {
        ModelKind::Openai => {
            "data: {\"error\":{\"message\":\"busy\",\"type\":\"server_error\",\"code\":503}}\n\n".to_owned()
        }
        ModelKind::Anthropic => {
            let error = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy" } });
            format!("event: error\ndata: {error}\n\n")
        }
        ModelKind::Gemini => {
            let error = json!({ "error": { "code": 503, "message": "The model is busy.", "status": "UNAVAILABLE" } });
            format!("data: {error}\n\n")
        }
        ModelKind::OpenaiResponses => {
            let error = json!({ "type": "error", "code": "server_error", "message": "busy", "param": null, "sequence_number": 1 });
            format!("event: error\ndata: {error}\n\n")
        }
        ModelKind::Scripted => panic!("a recording has no wire"),
    }
}

#[tokio::test]
async fn an_error_before_the_first_word_is_turned_away_and_one_after_it_is_lost() {
    for kind in WIRES {
        let events = streamed::events(kind, &answer(kind));
        let first = Reply::events(&overloaded(kind));
        assert!(matches!(asked(kind, anything, first).await, Err(ModelError::Unavailable(_))), "{kind:?}");
        let half = events.len() / 2;
        let middle =
            Reply::events(&format!("{}{}{}", events[..half].concat(), overloaded(kind), events[half..].concat()));
        let error = asked(kind, anything, middle).await.unwrap_err();
        assert!(matches!(&error, ModelError::Lost(why) if why.contains("busy")), "{kind:?}: {error}");
        // Retried, because nothing was charged; deltas received before are discarded.
        let replies = vec![Reply::events(&overloaded(kind)), Reply::events(&events.concat())];
        let vendor = Vendor::start(strict_check(kind), replies).await;
        let (model, seen) = (client(kind, &vendor.url, KEY), DeltaRecorder::default());
        let response = retry::respond(model.as_ref(), &conversation(), &seen, &QUICK, &CancellationToken::new()).await;
        assert_eq!(response.unwrap(), whole(kind).await);
        assert_eq!(seen.0.into_inner().unwrap()[0], "again");
    }
}

#[tokio::test]
async fn refusals_in_a_stream_keep_their_meaning() {
    let error = |body: Value| format!("data: {}\n\n", json!({ "error": body }));
    for (body, wanted) in [
        (json!({ "code": 429, "message": "slow down" }), ModelError::RateLimited { retry_after_ms: None }),
        (json!({ "code": "context_length_exceeded", "message": "x" }), ModelError::ContextFull),
    ] {
        let reply = Reply::events(&error(body));
        assert_eq!(asked(ModelKind::Openai, anything, reply).await, Err(wanted));
    }
    let key = error(json!({ "type": "authentication_error", "message": format!("wrong key {KEY}") }));
    let refused = asked(ModelKind::Openai, anything, Reply::events(&key)).await.unwrap_err();
    assert!(matches!(&refused, ModelError::Unauthorized(why) if !why.contains(KEY)), "{refused}");
    // An error event without a type, after the first delta.
    let said = "data: {\"choices\":[{\"delta\":{\"content\":\"well\"}}]}\n\n";
    let vague = Reply::events(&format!("{said}{}", error(json!({ "message": "upstream failed" }))));
    assert!(matches!(asked(ModelKind::Openai, anything, vague).await, Err(ModelError::Lost(_))));
    let odd = Reply::events("data: {\"choices\":[\n\n");
    assert!(matches!(asked(ModelKind::Openai, anything, odd).await, Err(ModelError::Malformed(_))));
    let page = Reply::Text(200, "text/html", "<html>sign in</html>".into());
    assert!(matches!(asked(ModelKind::Openai, anything, page).await, Err(ModelError::Malformed(_))));
}

#[tokio::test]
async fn an_answer_of_ten_million_bytes_is_not_read_to_its_end() {
    for kind in WIRES {
        let events = streamed::events(kind, &answer(kind));
        let spot = events.iter().position(|event| event.contains("Ich")).expect("a text");
        let mut pieces: Vec<Vec<u8>> = events[..=spot].iter().map(|event| event.clone().into_bytes()).collect();
        pieces.extend(std::iter::repeat_n(events[spot].clone().into_bytes(), 10_000_000 / events[spot].len()));
        let long = asked(kind, anything, Reply::Stream(pieces, End::Open)).await;
        assert!(matches!(long, Err(ModelError::TooLong { .. })), "{kind:?}: {long:?}");
        // An event that never ends, and endless comments.
        let endless = Reply::Stream(vec![b"data: \"".to_vec(), vec![b'x'; 10_000_000]], End::Open);
        assert!(matches!(asked(kind, anything, endless).await, Err(ModelError::TooLong { .. })), "{kind:?}");
        let comments = vec![b": ping\n\n".repeat(1000); 1250];
        let comments = asked(kind, anything, Reply::Stream(comments, End::Open)).await;
        assert!(matches!(comments, Err(ModelError::TooLong { .. })), "{kind:?}: {comments:?}");
    }
}

#[tokio::test]
async fn events_under_another_name_are_read_too() {
    for kind in WIRES {
        let text = streamed::events(kind, &answer(kind)).concat();
        let plain = Reply::Text(200, "text/plain", text);
        assert_eq!(asked(kind, anything, plain).await.unwrap(), whole(kind).await);
    }
}

/// What a client learns about a server: each unsupported field is refused only once.
#[tokio::test]
async fn servers_without_streams_or_without_counts_are_remembered() {
    fn uncounted(_: &str, _: &axum::http::HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
        let detail = json!([{ "type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted" }]);
        if body.get("stream_options").is_some() { Err((422, json!({ "detail": detail }))) } else { Ok(()) }
    }
    fn unstreamed(_: &str, _: &axum::http::HeaderMap, body: &Value) -> Result<(), (u16, Value)> {
        let text = "Your organization must be verified to stream this model.";
        let refused = (400, json!({ "error": { "message": text, "param": "stream", "code": "unsupported_value" } }));
        if body["stream"] == true { Err(refused) } else { Ok(()) }
    }
    let kind = ModelKind::Openai;
    let events = || Reply::events(&streamed::events(kind, &answer(kind)).concat());
    let vendor = Vendor::start(uncounted, vec![events(), events()]).await;
    let model = client(kind, &vendor.url, KEY);
    for _ in 0..2 {
        model.respond(&conversation(), &Silent).await.unwrap();
    }
    assert_eq!((vendor.refused().len(), &vendor.seen()[1]["stream"]), (1, &json!(true)));
    for kind in [ModelKind::Openai, ModelKind::Anthropic, ModelKind::OpenaiResponses] {
        let vendor = Vendor::start(unstreamed, vec![Reply::ok(answer(kind)), Reply::ok(answer(kind))]).await;
        let model = client(kind, &vendor.url, KEY);
        for _ in 0..2 {
            assert_eq!(model.respond(&conversation(), &Silent).await.unwrap(), whole(kind).await);
        }
        assert_eq!(vendor.refused().len(), 1, "{kind:?}");
    }
}

#[tokio::test]
async fn an_entry_may_want_no_streams() {
    for kind in WIRES {
        let vendor = Vendor::start(strict_check(kind), vec![Reply::ok(answer(kind))]).await;
        let model = crate::opened(kind, &vendor.url, KEY, false);
        assert_eq!(model.respond(&conversation(), &Silent).await.unwrap(), whole(kind).await);
        assert_eq!(vendor.refused(), Vec::<Value>::new());
        assert_ne!(vendor.seen()[0].get("stream"), Some(&json!(true)), "{kind:?}");
    }
}

/// An end that is an error, or that only a proxy wrote, completes nothing, and a cancelled call ends at once.
#[tokio::test]
async fn odd_ends_are_borne() {
    let mut odd = answer(ModelKind::Openai);
    odd["choices"][0]["finish_reason"] = json!("stop");
    let text = streamed::events(ModelKind::Openai, &odd).concat();
    let error = text.replace("\"finish_reason\":\"stop\"", "\"finish_reason\":\"error\"");
    assert!(matches!(asked(ModelKind::Openai, anything, Reply::events(&error)).await, Err(ModelError::Lost(_))));
    let early: String = text.lines().filter(|line| !line.contains("stop")).map(|line| format!("{line}\n")).collect();
    assert!(early.contains("[DONE]"));
    assert!(matches!(asked(ModelKind::Openai, anything, Reply::events(&early)).await, Err(ModelError::Lost(_))));
    let vendor = Vendor::start(anything, vec![Reply::Stream(vec![b"data: {}\n\n".to_vec()], End::Open)]).await;
    let (model, cancel, request) =
        (client(ModelKind::Openai, &vendor.url, KEY), CancellationToken::new(), conversation());
    let call = retry::respond(model.as_ref(), &request, &Silent, &QUICK, &cancel);
    let stop = async {
        while vendor.seen().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    assert_eq!(tokio::join!(call, stop).0.unwrap_err(), RetryError::Cancelled);
}
