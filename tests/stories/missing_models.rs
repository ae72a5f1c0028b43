//! A model that its server does not have, that takes no tools, or whose window is smaller than configured: the task pauses after one
//! request and names the model, its entry and what to type; once the server has it, `/resume` goes on. With a
//! `fallback` the next model answers instead. The servers speak the vendors' wires.

use crate::world::{FIX, REPO, World};
use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use domain::{Event, FallbackReason};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// What a server refuses with until it is mended, and every request that it got.
struct Server {
    refusal: Mutex<Option<(u16, Value)>>,
    asked: Mutex<Vec<Value>>,
}

impl Server {
    /// Begins to listen; its address comes with it.
    async fn refusing(status: u16, body: Value) -> (Arc<Self>, String) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let here = format!("http://{}", listener.local_addr().expect("an address"));
        let server = Arc::new(Self { refusal: Mutex::new(Some((status, body))), asked: Mutex::default() });
        let app = Router::new().fallback(answer).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        (server, here)
    }

    fn mend(&self) {
        *self.refusal.lock().expect("whole") = None;
    }

    fn asked(&self) -> Vec<Value> {
        self.asked.lock().expect("whole").clone()
    }
}

async fn answer(State(server): State<Arc<Server>>, uri: Uri, Json(body): Json<Value>) -> (StatusCode, Json<Value>) {
    server.asked.lock().expect("whole").push(body);
    if let Some((status, body)) = server.refusal.lock().expect("whole").clone() {
        return (StatusCode::from_u16(status).expect("a status"), Json(body));
    }
    let (change, done) = (json!({ "command": "echo '# parsed' >> semver.py" }), json!({ "summary": "worked" }));
    let body = if uri.path() == "/v1/messages" {
        json!({
            "content": [
                { "type": "tool_use", "id": "a", "name": "bash", "input": change },
                { "type": "tool_use", "id": "b", "name": "done", "input": done },
            ],
            "stop_reason": "tool_use",
            "usage": { "input_tokens": 90, "output_tokens": 9 },
        })
    } else {
        let call = |id: &str, name: &str, arguments: &Value| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments.to_string() } });
        let calls = [call("a", "bash", &change), call("b", "done", &done)];
        json!({
            "model": "gone",
            "choices": [{ "message": { "role": "assistant", "content": null, "tool_calls": calls }, "finish_reason": "tool_calls" }],
            "usage": { "prompt_tokens": 90, "completion_tokens": 9 },
        })
    };
    (StatusCode::OK, Json(body))
}

fn entry(kind: &str, url: &str, style: &str) -> String {
    format!(
        "[[model]]\nid = \"far\"\nroles = [\"worker\"]\nkind = \"{kind}\"\nbase_url = \"{url}\"\nname = \"gone\"\nstyle = \"{style}\"\n\
         context_tokens = 32768\nmax_output_tokens = 1000\nprice_input = 0\nprice_output = 0\n"
    )
}

/// The models that answered, in order.
async fn answering_models(world: &World) -> Vec<String> {
    let named = |event| if let Event::TurnCompleted { model, .. } = event { Some(model) } else { None };
    world.log().await.into_iter().filter_map(named).collect()
}

/// A task whose model's server refuses each request so: it pauses with these words, asks no more, and goes on once the server is mended.
async fn pauses_until_mended(kind: &str, label: &str, refusal: (u16, Value), words: &[&str]) {
    let (server, url) = Server::refusing(refusal.0, refusal.1).await;
    let world = World::of_models(FIX, &entry(kind, &url, "tools")).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("paused").await;
    assert_eq!((task.turn, task.spent.micro_usd, task.model_worst), (0, 0, 0));
    let shown = world.until_said(issue, "The task is paused. Something has to be done first: the model ").await;
    let of_each = [
        format!("the model `{kind} gone`, entry `far` of the configuration, does not work"),
        "`caisson model check far`".to_owned(),
        "restart the bot. Then write `/resume`; or end the task with `/stop`".to_owned(),
    ];
    for words in of_each.iter().map(String::as_str).chain(words.iter().copied()) {
        assert!(shown.contains(words), "{words} is missing:\n{shown}");
    }
    assert!(!shown.contains("/model"), "there is no other to name:\n{shown}");
    world.clock_moves_on(600_000);
    world.heard(issue).await;
    let asked = server.asked();
    assert_eq!((asked.len(), &asked[0]["model"]), (1, &json!("gone")), "a refusal that lasts is not asked again");
    server.mend();
    world.alice().comment(REPO, issue, "/resume").expect("said");
    world.until("an answer", |task| task.turn >= 1).await;
    assert_eq!(answering_models(&world).await.first(), Some(&format!("gone ({label})")));
}

const MISSING: &str = "set `name` in its entry to one that the server has";

#[tokio::test(flavor = "multi_thread")]
async fn openais_unknown_model_is_named_until_it_exists() {
    let text = "The model `gone` does not exist or you do not have access to it.";
    let error = json!({ "message": text, "type": "invalid_request_error", "param": null, "code": "model_not_found" });
    let words = ["has no such model", "The model `gone` does not exist or you", MISSING];
    pauses_until_mended("openai", "OpenAI-compatible", (404, json!({ "error": error })), &words).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn anthropics_unknown_model_is_named_until_it_exists() {
    let body = json!({ "type": "error", "error": { "type": "not_found_error", "message": "model: gone" } });
    pauses_until_mended("anthropic", "Anthropic", (404, body), &["has no such model", "model: gone", MISSING]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_ollama_has_not_pulled_is_named_until_it_is_there() {
    let body = json!({ "error": "model \"gone\" not found, try pulling it first" });
    let words = ["has no such model", "try pulling it first", MISSING];
    pauses_until_mended("openai", "OpenAI-compatible", (404, body), &words).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_without_tools_is_named_with_the_style_that_needs_none() {
    let error =
        json!({ "message": "registry.ollama.ai/library/gone does not support tools", "type": "invalid_request_error" });
    let words = ["takes no tools", "does not support tools", "`style = \"files\"` for tasks that change files"];
    pauses_until_mended("openai", "OpenAI-compatible", (400, json!({ "error": error })), &words).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_below_the_configured_one_is_named_with_both_ways_out() {
    let llama = json!({ "code": 400, "message": "the request exceeds the available context size, try increasing it",
        "type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 4096 });
    let openai = json!({ "message": "This model's maximum context length is 4096 tokens.", "type": "invalid_request_error",
        "code": "context_length_exceeded" });
    let words = [
        "refuses the first request of this task as too long, and `context_tokens` in its entry says 32768",
        "Start the server with a window of so many tokens",
        "`caisson model check --window`",
    ];
    for error in [llama, openai] {
        pauses_until_mended("openai", "OpenAI-compatible", (400, json!({ "error": error })), &words).await;
    }
}

/// With `auto` the trial calls are what is refused, also once another model was named.
#[tokio::test(flavor = "multi_thread")]
async fn another_model_that_people_may_name_goes_on_in_place_of_a_missing_one() {
    let missing = json!({ "error": "model \"gone\" not found, try pulling it first" });
    for style in ["auto", "tools"] {
        let (_server, url) = Server::refusing(404, missing.clone()).await;
        let spare = "[[model]]\nid = \"spare\"\nkind = \"scripted\"\nscript = \"script.toml\"\nby_name = true\n";
        let world = World::of_models(FIX, &format!("{}{spare}", entry("openai", &url, style))).await;
        let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
        world.until_state("paused").await;
        let shown = world.until_said(issue, "or let another model answer: `/model spare`. Then write `/resume`").await;
        assert!(shown.contains("entry `far` of the configuration") && shown.contains(MISSING), "{shown}");
        world.alice().comment(REPO, issue, "/model spare").expect("said");
        world.until_said(issue, "`alice` named the model `spare`").await;
        world.alice().comment(REPO, issue, "/resume").expect("said");
        world.until("an answer", |task| task.turn >= 1).await;
        let named = answering_models(&world).await;
        assert_eq!(named.first().map(String::as_str), Some("scripted: compare versions as numbers"), "{style}");
    }
}

/// A trial call that does not fit into the window is not made for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_holds_no_trial_call_pauses_the_task() {
    let error =
        json!({ "message": "the request exceeds the available context size", "type": "exceed_context_size_error" });
    let (server, url) = Server::refusing(400, json!({ "error": error })).await;
    let world = World::of_models(FIX, &entry("openai", &url, "auto")).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("paused").await;
    let shown = world.until_said(issue, "Start its server with a larger window. Then write `/resume`").await;
    assert!(shown.contains("the model could not be tried out"), "{shown}");
    assert_eq!(server.asked().len(), 1);
}

/// A task whose first model's server refuses each request so is worked on by its fallback, and the log and the review say why, with these
/// words; the first one gets this many requests, and answers again after the checkpoint once its server is mended.
async fn falls_back(style: &str, refusal: (u16, Value), words: (FallbackReason, &str), requests: usize) {
    let (server, url) = Server::refusing(refusal.0, refusal.1).await;
    let spare = "[[model]]\nid = \"spare\"\nkind = \"scripted\"\nscript = \"script.toml\"\n";
    let first = format!("{}fallback = [\"spare\"]\n", entry("openai", &url, style));
    let world = World::of_models(FIX, &format!("{first}{spare}")).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    assert_eq!(
        (task.answering, task.model_worst, task.model_starts),
        (None, 0, 0),
        "the next one is the first's again"
    );
    assert_eq!(answering_models(&world).await, ["scripted: compare versions as numbers"; 2]);
    assert_eq!(switches(&world).await, [("far".to_owned(), "spare".to_owned(), words.0)]);
    assert_eq!(server.asked().len(), requests, "{style}: not at each turn");
    let pull = task.pull.expect("a pull request");
    let shown = format!("the model far {}: spare is asked from then on", words.1);
    world.until_said(pull, &shown).await;
    if style == "tools" {
        server.mend();
        world.alice().comment(REPO, pull, "/revise once more, please").expect("said");
        world.until("an answer of the first", |now| now.turn > task.turn).await;
        assert_eq!(answering_models(&world).await[2], "gone (OpenAI-compatible)");
    }
}

/// The switches from one model to another, in order.
pub async fn switches(world: &World) -> Vec<(String, String, FallbackReason)> {
    let switched = |event| match event {
        Event::ModelCallUncharged { fallback: Some(it), .. } => Some((it.from, it.to, it.why)),
        _ => None,
    };
    world.log().await.into_iter().filter_map(switched).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fallback_answers_in_place_of_a_model_that_its_server_no_longer_has() {
    let missing = json!({ "error": "model \"gone\" not found, try pulling it first" });
    let words = (FallbackReason::Missing, "is missing on its server");
    falls_back("tools", (404, missing.clone()), words, 1).await;
    // The trial call is refused too, and is made once.
    falls_back("auto", (404, missing), words, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fallback_answers_in_place_of_a_model_without_tools() {
    let error = json!({ "message": "gone does not support tools", "type": "invalid_request_error" });
    let words = (FallbackReason::NoTools, "takes no tools on its server");
    falls_back("tools", (400, json!({ "error": error })), words, 1).await;
}

/// Another refusal is the request's, which each model would be sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_refused_otherwise_goes_to_no_fallback() {
    let refusal = json!({ "error": { "message": "the request is odd", "type": "invalid_request_error" } });
    let (server, url) = Server::refusing(400, refusal).await;
    let spare = "[[model]]\nid = \"spare\"\nkind = \"scripted\"\nscript = \"script.toml\"\n";
    let first = format!("{}fallback = [\"spare\"]\n", entry("openai", &url, "tools"));
    let world = World::of_models(FIX, &format!("{first}{spare}")).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("paused").await;
    assert_eq!((switches(&world).await, answering_models(&world).await), (Vec::new(), Vec::new()));
    assert!(!server.asked().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn where_every_model_of_a_list_is_missing_the_first_is_named_until_one_is_there() {
    let missing = json!({ "error": "model \"gone\" not found, try pulling it first" });
    let (server, url) = Server::refusing(404, missing).await;
    let first = entry("openai", &url, "tools");
    let spare = first.replace("\"far\"\nroles = [\"worker\"]", "\"spare\"");
    let world = World::of_models(FIX, &format!("{first}fallback = [\"spare\"]\n{spare}")).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("paused").await;
    assert_eq!((task.turn, task.spent.micro_usd, task.model_worst), (0, 0, 0));
    let shown = world.until_said(issue, "the model `openai gone`, entry `far` of the configuration").await;
    assert!(shown.contains("has no such model") && shown.contains(MISSING), "{shown}");
    let why = FallbackReason::Missing;
    let (far, spare) = ("far".to_owned(), "spare".to_owned());
    assert_eq!(switches(&world).await, [(far.clone(), spare.clone(), why), (spare, far, why)]);
    assert_eq!(server.asked().len(), 2, "each once");
    server.mend();
    world.alice().comment(REPO, issue, "/resume").expect("said");
    world.until("an answer", |task| task.turn >= 1).await;
}
