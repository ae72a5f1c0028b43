//! Request settings beside the conversation: a required tool call, and the key by which OpenAI finds its cached prefix.

use caisson::config::process::ModelKind;
use caisson::llm::{ModelRequest, Silent};
use serde_json::{Value, json};

use crate::vendor::{Reply, Vendor};
use crate::{KEY, WIRES, client, conversation, strict_check};

/// The body of this request as the vendor received it.
async fn sent(kind: ModelKind, request: &ModelRequest) -> Value {
    // The answer does not matter here.
    let vendor = Vendor::start(strict_check(kind), vec![Reply::status(500, json!({}))]).await;
    client(kind, &vendor.url, KEY).respond(request, &Silent).await.unwrap_err();
    assert!(vendor.refused().is_empty(), "{kind:?}: {:?}", vendor.refused());
    vendor.seen().remove(0)
}

fn choice(kind: ModelKind, body: &Value) -> Option<&Value> {
    match kind {
        ModelKind::Gemini => body.pointer("/toolConfig/functionCallingConfig/mode"),
        ModelKind::Anthropic => body.pointer("/tool_choice/type"),
        ModelKind::Openai | ModelKind::OpenaiResponses => body.get("tool_choice"),
        ModelKind::Scripted => panic!("a recording has no wire"),
    }
}

#[tokio::test]
async fn a_call_is_forced_in_each_wires_own_word_and_only_where_it_is_asked_for() {
    for kind in WIRES {
        let plain = sent(kind, &conversation()).await;
        assert_eq!(choice(kind, &plain), None, "{kind:?}");
        let forced = sent(kind, &ModelRequest { must_call: true, ..conversation() }).await;
        let word = match kind {
            ModelKind::Gemini => "ANY",
            ModelKind::Anthropic => "any",
            _ => "required",
        };
        assert_eq!(choice(kind, &forced), Some(&json!(word)), "{kind:?}");
    }
}

#[tokio::test]
async fn the_key_of_the_cache_goes_to_openai_alone_and_as_it_is() {
    for kind in WIRES {
        assert_eq!(sent(kind, &conversation()).await.get("prompt_cache_key"), None, "{kind:?}");
        let body = sent(kind, &ModelRequest { cache_key: Some("0123abcd".into()), ..conversation() }).await;
        let openai = matches!(kind, ModelKind::Openai | ModelKind::OpenaiResponses);
        assert_eq!(body.get("prompt_cache_key"), openai.then(|| json!("0123abcd")).as_ref(), "{kind:?}");
    }
}
