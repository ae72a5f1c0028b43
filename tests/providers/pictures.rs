//! Pictures in every wire format, as each vendor documents them.

use caisson::config::process::ModelKind;
use caisson::llm::{ModelRequest, ShownPicture, Silent, Turn};
use serde_json::{Value, json};

use crate::vendor::{Reply, Vendor};
use crate::{KEY, WIRES, client, conversation, strict_check};

/// A PNG of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn picture(label: &str, data: Option<&str>) -> ShownPicture {
    ShownPicture {
        label: label.into(),
        digest: "d".into(),
        media: "image/png".into(),
        tokens: 10,
        data: data.map(Into::into),
    }
}

/// A picture after the first message, one from a tool's result, and one whose bytes are no longer stored.
fn pictured() -> ModelRequest {
    let mut request = conversation();
    let results = request.turns.iter().position(|turn| matches!(turn, Turn::Results(_))).expect("results");
    let read = vec![picture("what was read", Some(PNG)), picture("what is gone", None)];
    request.turns.insert(results + 1, Turn::Pictures(read));
    request.turns.insert(1, Turn::Pictures(vec![picture("of the issue", Some(PNG))]));
    request
}

/// The body of this request as the vendor received it.
async fn sent(kind: ModelKind, request: &ModelRequest) -> Value {
    let vendor = Vendor::start(strict_check(kind), vec![Reply::status(500, json!({}))]).await;
    client(kind, &vendor.url, KEY).respond(request, &Silent).await.unwrap_err();
    assert!(vendor.refused().is_empty(), "{kind:?}: {:?}", vendor.refused());
    vendor.seen().remove(0)
}

/// A picture in this wire format.
fn held(kind: ModelKind) -> Value {
    let address = format!("data:image/png;base64,{PNG}");
    match kind {
        ModelKind::Openai => json!({ "type": "image_url", "image_url": { "url": address } }),
        ModelKind::OpenaiResponses => json!({ "type": "input_image", "image_url": address, "detail": "high" }),
        ModelKind::Anthropic => {
            json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": PNG } })
        }
        ModelKind::Gemini => json!({ "inlineData": { "mimeType": "image/png", "data": PNG } }),
        ModelKind::Scripted => panic!("a recording has no wire"),
    }
}

#[tokio::test]
async fn a_picture_goes_over_each_wire_in_the_users_turn_behind_its_label() {
    for kind in WIRES {
        let body = sent(kind, &pictured()).await;
        let turns = ["messages", "input", "contents"].iter().find_map(|name| body.get(*name)?.as_array());
        let parts: Vec<&Value> = turns
            .expect("turns")
            .iter()
            .filter(|turn| turn["role"] == "user")
            .flat_map(|turn| turn["content"].as_array().or_else(|| turn["parts"].as_array()).into_iter().flatten())
            .collect();
        let places: Vec<usize> = (0..parts.len()).filter(|at| *parts[*at] == held(kind)).collect();
        assert_eq!(places.len(), 2, "{kind:?}: {body}");
        for (place, label) in places.iter().zip(["of the issue", "what was read"]) {
            let before = parts[place - 1]["text"].as_str().expect("words");
            assert!(before.ends_with(label), "{kind:?}: {before}");
        }
        let behind = parts[places[1] + 1]["text"].as_str().expect("words");
        assert!(behind.starts_with("what is gone\n(The picture itself is not kept any more.)"), "{kind:?}: {behind}");
        assert!(behind.ends_with("mind the README"), "one turn: {kind:?}: {behind}");
    }
}
