//! The vendors' wire formats against local servers: strict ones, which refuse any wrong shape as the vendors do and record what they
//! received, and lenient ones, which answer as real servers do when something is wrong. Nothing leaves loopback.

#[path = "providers/anthropic.rs"]
mod anthropic;
#[path = "providers/asked.rs"]
mod asked;
#[path = "providers/cache.rs"]
mod cache;
#[path = "providers/gateways.rs"]
mod gateways;
#[path = "providers/kept.rs"]
mod kept;
#[path = "providers/machine.rs"]
mod machine;
#[path = "providers/marks.rs"]
mod marks;
#[path = "providers/measured.rs"]
mod measured;
#[path = "providers/newer.rs"]
mod newer;
#[path = "providers/odd.rs"]
mod odd;
#[path = "providers/openai.rs"]
mod openai;
#[path = "providers/pictures.rs"]
mod pictures;
#[path = "providers/recordings.rs"]
mod recordings;
#[path = "providers/refusals.rs"]
mod refusals;
#[path = "support/skipped.rs"]
mod skipped;
#[path = "providers/streamed.rs"]
mod streamed;
#[path = "providers/streams.rs"]
mod streams;
#[path = "providers/strict.rs"]
mod strict;
#[path = "providers/strict_gateways.rs"]
mod strict_gateways;
#[path = "providers/strict_gemini.rs"]
mod strict_gemini;
#[path = "providers/strict_responses.rs"]
mod strict_responses;
#[path = "providers/vendor.rs"]
mod vendor;

use std::sync::Arc;
use std::time::Duration;

use caisson::config::process::ModelKind;
use caisson::llm::retry::Patience;
use caisson::llm::{Model, ModelRequest, Price, Settings, ToolCall, ToolResult, Turn, open};
use caisson::secret::Secret;
use serde_json::{Value, json};

/// The key that the strict servers accept.
pub const KEY: &str = "sk-test-0123456789";

/// Short enough for tests, with retries for two refusals.
pub const QUICK: Patience =
    Patience { tries: 3, first: Duration::from_millis(5), longest: Duration::from_millis(500), until: None };

/// The longest time without an event of a stream.
pub const IDLE: Duration = Duration::from_millis(400);

/// Every wire format.
pub const WIRES: [ModelKind; 4] =
    [ModelKind::Openai, ModelKind::Anthropic, ModelKind::Gemini, ModelKind::OpenaiResponses];

/// The checks that the vendor itself makes.
pub fn strict_check(kind: ModelKind) -> vendor::Check {
    match kind {
        ModelKind::Openai => strict::openai,
        ModelKind::Anthropic => strict::anthropic,
        ModelKind::Gemini => strict_gemini::check,
        ModelKind::OpenaiResponses => strict_responses::check,
        ModelKind::Scripted => panic!("a recording has no wire"),
    }
}

/// A client that asks for streams.
pub fn client(kind: ModelKind, base_url: &str, key: &str) -> Arc<dyn Model> {
    opened(kind, base_url, key, true)
}

/// A client that asks for streams or for whole answers.
pub fn opened(kind: ModelKind, base_url: &str, key: &str, stream: bool) -> Arc<dyn Model> {
    open(kind, None, Settings { stream, ..settings(base_url, "test-model", key) }).unwrap()
}

/// A client for another model.
pub fn named(kind: ModelKind, base_url: &str, name: &str) -> Arc<dyn Model> {
    open(kind, None, settings(base_url, name, KEY)).unwrap()
}

fn settings(base_url: &str, name: &str, key: &str) -> Settings {
    Settings {
        base_url: Some(base_url.to_owned()),
        name: name.into(),
        key: Some(Secret::new(key)),
        price: Price::from_dollars(3.0, 15.0, None, None).unwrap(),
        context_tokens: 100_000,
        timeout: Duration::from_secs(2),
        idle: IDLE,
        stream: true,
        temperature: true,
    }
}

/// A conversation with every irregularity: a call whose arguments are not JSON, an unknown tool, an id that no vendor accepts, an answer
/// without text, and two user messages in a row.
pub fn conversation() -> ModelRequest {
    let call = |id: &str, name: &str, arguments: Value, malformed: Option<&str>| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments,
        malformed: malformed.map(str::to_owned),
    };
    let result =
        |id: &str, text: &str, error| ToolResult { call_id: id.into(), name: "bash".into(), text: text.into(), error };
    let user = |text: &str| Turn::User { text: text.into() };
    let assistant = |text: &str, calls| Turn::Assistant { text: text.into(), calls, vendor: None };
    ModelRequest {
        system: "You are a test.".into(),
        turns: vec![
            user("fix it"),
            assistant("", vec![]),
            user("call a tool"),
            assistant(
                "I look. \n",
                vec![
                    call("functions.bash:0", "functions.bash", json!({"command": "ls"}), None),
                    call("call_1_1", "", json!({}), Some("{oops")),
                ],
            ),
            Turn::Results(vec![result("functions.bash:0", "", false), result("call_1_1", "no JSON", true)]),
            user("checkpoint 1 was approved"),
            user("mind the README"),
        ],
        tools: caisson::engine::tools::specs(domain::TaskKind::Fix),
        max_output_tokens: 500,
        temperature: None,
        seed: None,
        cache_key: None,
        must_call: false,
    }
}

/// Whether the request contains these words, in any wire format.
pub fn holds(body: &Value, words: &str) -> bool {
    body.to_string().contains(words)
}
