//! OpenAI's Responses wire: `POST …/responses` with tools, where nothing is kept on the vendor's side (`store: false`).
//!
//! Owns: the JSON of this wire in both directions, and what its servers turn out to want. Must not: talk HTTP itself (`http`), retry,
//! put a stream's events together (`responses_stream`). Shapes: platform.openai.com/docs/api-reference/responses/create, and for reasoning
//! that is sent back platform.openai.com/docs/guides/reasoning. Tests: below, `tests/providers.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::deltas::{Deltas, Silent};
use super::http::{Endpoint, Whole, join, sensitive};
use super::openai::PICTURES;
use super::picture::OWN;
use super::provider::Provider;
use super::raw::{self, Json};
use super::responses_stream::Items;
use super::settings::Settings;
use super::vendor::Asker;
use super::wire::{Part, WireTurn};
use super::{Facts, Model, ModelError, ModelRequest, ModelResponse, Presence, ToolCall, Turn, Usage, presence, wire};

const DEFAULT_BASE: &str = "https://api.openai.com/v1";

/// This wire, for `open`.
pub(super) const PROVIDER: Provider = Provider {
    vendor: Some("OpenAI"),
    open: |settings, _| Ok(Arc::new(Responses::new(settings)?)),
    counting: PICTURES,
    counting_elsewhere: OWN,
};

/// A model behind OpenAI's Responses API.
pub struct Responses {
    endpoint: Endpoint,
    facts: Facts,
    /// Where its server lists its models.
    models: Url,
    name: String,
    /// Set once its server has said that the model takes no temperature but its own, or the operator has.
    own_temperature: AtomicBool,
    /// The same for reasoning: a model that does not reason has none to be encrypted.
    unreasoning: AtomicBool,
    /// The operator wants no streams, or the server has said that it sends none.
    unstreamed: AtomicBool,
}

/// What one request follows of what its server turned out to want.
#[derive(Clone, Copy, Default)]
struct Form {
    own_temperature: bool,
    unreasoning: bool,
    streamed: bool,
}

impl Responses {
    /// The error is a sentence for the operator.
    pub fn new(settings: Settings) -> Result<Self, String> {
        let base = settings.base_url.as_deref().unwrap_or(DEFAULT_BASE);
        let bare = join(base, &[])?.path() == "/";
        let url = join(base, if bare { &["v1", "responses"] } else { &["responses"] })?;
        let mut headers = HeaderMap::new();
        if let Some(key) = &settings.key {
            headers.insert(AUTHORIZATION, sensitive(&format!("Bearer {}", key.expose()))?);
        }
        let models = join(base, if bare { &["v1", "models"] } else { &["models"] })?;
        let endpoint = Endpoint::new(url, headers, &settings)?;
        Ok(Self {
            endpoint,
            models,
            facts: settings.facts("OpenAI Responses"),
            name: settings.name,
            own_temperature: AtomicBool::new(!settings.temperature),
            unreasoning: AtomicBool::new(false),
            unstreamed: AtomicBool::new(!settings.stream),
        })
    }

    async fn send(&self, request: &ModelRequest, deltas: &dyn Deltas) -> Result<Whole, ModelError> {
        loop {
            let form = Form {
                own_temperature: self.own_temperature.load(Ordering::Relaxed),
                unreasoning: self.unreasoning.load(Ordering::Relaxed),
                streamed: !self.unstreamed.load(Ordering::Relaxed),
            };
            let stream = form.streamed.then(Items::default);
            let body = body(&self.asker(request), request, form);
            match self.endpoint.ask(&body, request.max_output_tokens, stream, deltas).await {
                Err(ModelError::BadRequest(text)) if self.learn(&text, request, form) => {}
                other => return other,
            }
        }
    }

    fn asker(&self, request: &ModelRequest) -> Asker<'_> {
        Asker::new("openai-responses", &self.name, request)
    }

    /// Remembers what a refusal teaches about a request of this form; true where another form may be taken.
    fn learn(&self, text: &str, request: &ModelRequest, form: Form) -> bool {
        let lower = text.to_lowercase();
        let of_reasoning = lower.contains("encrypted content") || lower.contains("encrypted_content");
        let habit = if !form.own_temperature && request.temperature.is_some() && lower.contains("temperature") {
            &self.own_temperature
        } else if !form.unreasoning && of_reasoning {
            &self.unreasoning
        } else if form.streamed && wire::speaks_of_streams(&lower) {
            &self.unstreamed
        } else {
            return false;
        };
        habit.store(true, Ordering::Relaxed);
        true
    }
}

#[async_trait]
impl Model for Responses {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    async fn presence(&self) -> Result<Presence, ModelError> {
        let answer = self.send(&presence::question(), &Silent).await?.value;
        let models = self.endpoint.get(&self.models).await;
        Ok(Presence::read(&answer, &self.name, models.as_ref(), None))
    }

    async fn respond(&self, request: &ModelRequest, deltas: &dyn Deltas) -> Result<ModelResponse, ModelError> {
        let answer = self.send(request, deltas).await?;
        parse(&answer, request.assistant_turns(), &self.asker(request))
            .map_err(|error| self.endpoint.without_key(error))
    }
}

/// The request's JSON. This wire knows no seed.
fn body(asker: &Asker<'_>, request: &ModelRequest, form: Form) -> Json {
    let mut body: BTreeMap<&'static str, Json> = BTreeMap::from([
        ("model", json!(asker.model()).into()),
        ("instructions", json!(request.system).into()),
        ("input", Json::List(items(asker, &request.turns, form))),
        // The vendor's least is 16.
        ("max_output_tokens", json!(request.max_output_tokens.max(16)).into()),
        ("store", json!(false).into()),
        ("stream", json!(form.streamed).into()),
    ]);
    if !form.unreasoning {
        body.insert("include", json!(["reasoning.encrypted_content"]).into());
    }
    if let Some(temperature) = request.temperature.filter(|_| !form.own_temperature) {
        body.insert("temperature", json!(temperature).into());
    }
    if !request.tools.is_empty() {
        // Strict schemas must name every property as required, and ours have some that may be left out.
        let tools = request.tools.iter().map(|tool| {
            json!({ "type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters, "strict": false })
        });
        body.insert("tools", Value::Array(tools.collect()).into());
    }
    if request.is_forced() {
        body.insert("tool_choice", json!("required").into());
    }
    if let Some(key) = &request.cache_key {
        body.insert("prompt_cache_key", json!(key).into());
    }
    Json::Object(body)
}

fn items(asker: &Asker<'_>, turns: &[Turn], form: Form) -> Vec<Json> {
    let message = |role: &str, text: &str| json!({ "type": "message", "role": role, "content": text });
    let mut list = Vec::new();
    for turn in &wire::merged(turns) {
        match turn {
            WireTurn::User(parts) => {
                let content = match wire::words(parts) {
                    Some(words) => json!(wire::spoken(words)),
                    None => parts.iter().map(part).collect(),
                };
                list.push(json!({ "type": "message", "role": "user", "content": content }).into());
            }
            WireTurn::Assistant { text, calls, vendor } => {
                // Reasoning that nothing of its response follows is refused.
                let leads = |own: &Vec<Json>| {
                    own.last().and_then(Json::as_value).is_none_or(|last| last["type"] != "reasoning")
                };
                match asker.own(*vendor).filter(|own| !form.unreasoning && leads(own)) {
                    Some(own) => list.extend(own),
                    None => {
                        if calls.is_empty() || !text.trim().is_empty() {
                            list.push(message("assistant", wire::spoken(text)).into());
                        }
                        list.extend(calls.iter().map(called).map(Json::Value));
                    }
                }
            }
            WireTurn::Results(results) => list.extend(results.iter().map(|result| {
                json!({ "type": "function_call_output", "call_id": wire::token(&result.call_id), "output": result.text }).into()
            })),
        }
    }
    list
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "input_text", "text": text }),
        Part::Picture(picture, data) => {
            json!({ "type": "input_image", "image_url": picture.address(data), "detail": "high" })
        }
    }
}

fn called(call: &ToolCall) -> Value {
    let (id, name) = (wire::token(&call.id), wire::token(&call.name));
    json!({ "type": "function_call", "call_id": id, "name": name, "arguments": call.arguments.to_string() })
}

/// Reads a response; items of unknown kinds (reasoning, …) are passed over.
fn parse(whole: &Whole, turn: usize, asker: &Asker<'_>) -> Result<ModelResponse, ModelError> {
    let answer = &whole.value;
    let items = answer.get("output").and_then(Value::as_array).ok_or_else(|| {
        let start: String = answer.to_string().chars().take(200).collect();
        ModelError::Malformed(format!("it has no output: {start}"))
    })?;
    let status = answer.get("status").and_then(Value::as_str).unwrap_or("completed");
    if !matches!(status, "completed" | "incomplete") {
        return Err(ModelError::Lost(format!("the response is {status}, and not completed")));
    }
    // Any reason but one cuts the answer short where it stands; a filter's is said in its place.
    let reason = answer.pointer("/incomplete_details/reason").and_then(Value::as_str).unwrap_or_default();
    let filtered = status == "incomplete" && reason == "content_filter";
    let mut response = ModelResponse { truncated: status == "incomplete" && !filtered, ..ModelResponse::default() };
    for item in items {
        match item.get("type").and_then(Value::as_str) {
            Some("message") => response.text.push_str(&words(item)),
            Some("function_call") => response.calls.push(call(item)),
            _ => {}
        }
    }
    if filtered && response.calls.is_empty() {
        wire::ended_by_server(&mut response.text, reason);
    }
    let given = wire::ids(&response.calls);
    wire::unique_ids(&mut response.calls, turn);
    let has_ids = given.iter().all(|id| !id.is_empty());
    response.vendor = reasoning(whole).filter(|_| has_ids).and_then(|it| asker.keep(&it, &response.calls, &given));
    response.usage = usage(answer);
    Ok(response)
}

/// The items of a response that holds reasoning which can be read back from the items alone: nothing is stored at the vendor's. None where a
/// call was mended, for its item would be refused.
fn reasoning(whole: &Whole) -> Option<Vec<Box<RawValue>>> {
    let items = raw::elements(&whole.text, &["output"])?;
    let read: Vec<Value> = items.iter().map(|item| serde_json::from_str(item.get()).unwrap_or_default()).collect();
    let mut thoughts = read.iter().filter(|item| item["type"] == "reasoning").peekable();
    let any = thoughts.peek().is_some();
    let mut calls = read.iter().filter(|item| item["type"] == "function_call");
    let whole = calls.all(|item| wire::is_unmended(item.get("arguments")));
    (any && whole && thoughts.all(|item| item["encrypted_content"].is_string())).then_some(items)
}

/// A refusal is text as well.
fn words(item: &Value) -> String {
    let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
    parts.filter_map(|part| part.get("text").or_else(|| part.get("refusal"))?.as_str()).collect()
}

fn call(item: &Value) -> ToolCall {
    let text = |name: &str| item.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (arguments, malformed) = wire::arguments(item.get("arguments"));
    let id = text("call_id").or_else(|| text("id")).unwrap_or_default().to_owned();
    ToolCall { id, name: text("name").unwrap_or_default().to_owned(), arguments, malformed }
}

/// `input_tokens` counts what came from the cache as well; ours don't overlap.
fn usage(answer: &Value) -> Usage {
    let number = |name: &str| wire::count(answer.pointer(&format!("/usage/{name}")));
    let input = number("input_tokens");
    let cache_read = number("input_tokens_details/cached_tokens").min(input);
    let reasoning = number("output_tokens_details/reasoning_tokens");
    Usage { input: input - cache_read, output: number("output_tokens"), cache_read, cache_write: 0, reasoning }
}

#[cfg(test)]
#[path = "responses_tests.rs"]
mod tests;
