//! Recordings: which answer is chosen, and what they say about what they were sent.

use super::*;
use crate::llm::Silent;

const SCRIPT: &str = r#"
name = "demo"
[[turn]]
expects = ["fix the bug", "[tool bash]"]
forbids = ["token-1"]
text = "first"
call = [{ name = "bash", arguments = { command = "ls" } }, { name = "bash", raw = "{oops" }]
[[turn]]
expects = ["a file"]
text = "second"
usage = { input = 7, output = 3 }
[[turn]]
error = "context_full"
[[conversation]]
when = "only look"
[[conversation.turn]]
text = "a plan"
"#;

fn model() -> Scripted {
    Scripted::from_toml(SCRIPT, 8192).unwrap()
}

fn request(words: &str) -> ModelRequest {
    let tool = crate::llm::ToolSpec { name: "bash".into(), description: String::new(), parameters: json!({}) };
    let turns = vec![Turn::User { text: words.into() }];
    ModelRequest {
        system: "system".into(),
        turns,
        tools: vec![tool],
        max_output_tokens: 100,
        temperature: None,
        seed: None,
        cache_key: None,
        must_call: false,
    }
}

fn answered(request: &mut ModelRequest, response: ModelResponse, result: &str) {
    let call_id = response.calls[0].id.clone();
    request.turns.push(Turn::Assistant { text: response.text, calls: response.calls, vendor: None });
    let result = super::super::ToolResult { call_id, name: "bash".into(), text: result.into(), error: false };
    request.turns.push(Turn::Results(vec![result]));
}

#[tokio::test]
async fn the_answer_is_chosen_by_the_turns_in_the_request() {
    let mut request = request("please fix the bug");
    let first = model().respond(&request, &Silent).await.unwrap();
    assert_eq!(first, model().respond(&request, &Silent).await.unwrap(), "asked again, it answers the same");
    assert_eq!(first.calls[0].id, "call_0_0");
    assert_eq!(first.calls[1].malformed.as_deref(), Some("{oops"));
    assert!(first.usage.input > 0);
    answered(&mut request, first, "a file");
    let second = model().respond(&request, &Silent).await.unwrap();
    assert_eq!((second.text.as_str(), second.usage.total()), ("second", 10));
}

#[tokio::test]
async fn missing_and_forbidden_words_are_named() {
    let missing = model().respond(&request("hello"), &Silent).await.unwrap_err().to_string();
    assert!(missing.contains("answer 1") && missing.contains("lacks \"fix the bug\""), "{missing}");
    let held = model().respond(&request("fix the bug token-1"), &Silent).await.unwrap_err().to_string();
    assert!(held.contains("holds \"token-1\""), "{held}");
}

#[tokio::test]
async fn words_choose_a_conversation_and_its_end_is_an_error() {
    let mut request = request("only look");
    let plan = model().respond(&request, &Silent).await.unwrap();
    assert_eq!(plan.text, "a plan");
    request.turns.push(Turn::Assistant { text: plan.text, calls: vec![], vendor: None });
    let error = model().respond(&request, &Silent).await.unwrap_err();
    assert!(matches!(error, ModelError::BadRequest(t) if t.contains("has 1 answers") && t.contains("number 2")));
}

#[tokio::test]
async fn errors_can_be_recorded() {
    let mut request = request("x");
    let said = Turn::Assistant { text: "x".into(), calls: vec![], vendor: None };
    request.turns.extend([said.clone(), said]);
    assert_eq!(model().respond(&request, &Silent).await.unwrap_err(), ModelError::ContextFull);
}

#[test]
fn a_wrong_file_is_refused_with_its_place() {
    let unknown = Scripted::from_toml("name = 'x'\n[[turn]]\ntxt = 'a'", 8192).unwrap_err();
    assert!(unknown.contains("txt") && unknown.contains("line 3"), "{unknown}");
    assert!(Scripted::from_toml("name = 'x'", 8192).unwrap_err().contains("no [[turn]]"));
}

#[test]
fn json_is_the_same_shape_and_the_label_says_scripted() {
    let model = Scripted::parse(r#"{"name":"j","turn":[{"text":"a"}]}"#, true, 8192).unwrap();
    assert!(model.label().contains("scripted") && model.scripted());
}
