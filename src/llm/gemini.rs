//! Google's wire: `POST /v1beta/models/<model>:streamGenerateContent?alt=sse` (or `:generateContent`) with function calls.
//!
//! Owns: the JSON of this wire in both directions and the part of JSON Schema that it takes. The key goes in a header, never into the
//! address. Must not: talk HTTP itself (`http`), retry, put a stream's chunks together (`gemini_stream`).
//! Shapes: ai.google.dev/api/generate-content, ai.google.dev/api/caching (Content, Part, Schema, FunctionDeclaration), for signatures
//! ai.google.dev/gemini-api/docs/thought-signatures, for pictures ai.google.dev/gemini-api/docs/tokens and
//! docs.cloud.google.com. Tests: below, `tests/providers.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use reqwest::Url;
use reqwest::header::HeaderMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::deltas::{Deltas, Silent};
use super::gemini_stream::Chunks;
use super::http::{Endpoint, Whole, join, sensitive};
use super::picture::{Counting, parts};
use super::provider::Provider;
use super::raw::{self, Json};
use super::settings::Settings;
use super::vendor::{Asker, NO_SIGNATURE};
use super::wire::{Part, WireTurn};
use super::{
    Facts, Model, ModelError, ModelRequest, ModelResponse, Presence, ToolCall, ToolResult, ToolSpec, Turn, Usage,
    presence, wire,
};

const DEFAULT_BASE: &str = "https://generativelanguage.googleapis.com/v1beta";

/// Google's way of counting pictures: 258 for each tile of 768 pixels, 1,120 for Gemini 3; it takes no GIF.
const PICTURES: Counting = Counting { gif: false, most: |width, height| (parts(768, width, height) * 258).max(1120) };

/// This wire, for `open`.
pub(super) const PROVIDER: Provider = Provider {
    vendor: Some("Gemini"),
    open: |settings, _| Ok(Arc::new(Gemini::new(settings)?)),
    counting: PICTURES,
    counting_elsewhere: PICTURES,
};

/// A model behind the Gemini API.
pub struct Gemini {
    endpoint: Endpoint,
    /// Where its server describes the model.
    about: Url,
    facts: Facts,
    name: String,
    stream: bool,
    /// Set once its server has said that a call without a signature is none.
    wants_signatures: AtomicBool,
    /// Set once its server has said that the model takes no temperature but its own, or the operator has.
    own_temperature: AtomicBool,
}

/// What one request follows of what its server turned out to want.
#[derive(Clone, Copy, Default)]
struct Form {
    /// Each step's first call carries a signature.
    signed: bool,
    own_temperature: bool,
}

impl Gemini {
    /// The error is a sentence for the operator.
    pub fn new(settings: Settings) -> Result<Self, String> {
        let base = settings.base_url.as_deref().unwrap_or(DEFAULT_BASE);
        let name = settings.name.trim_start_matches("models/");
        let at = |method: &str| join(base, &["v1beta", "models", &format!("{name}{method}")]);
        let (url, mut stream_url, about) = (at(":generateContent")?, at(":streamGenerateContent")?, at("")?);
        stream_url.set_query(Some("alt=sse"));
        let mut headers = HeaderMap::new();
        if let Some(key) = &settings.key {
            headers.insert("x-goog-api-key", sensitive(key.expose())?);
        }
        let endpoint = Endpoint::new(url, headers, &settings)?.streaming_at(stream_url);
        Ok(Self {
            endpoint,
            about,
            facts: settings.facts("Gemini"),
            name: settings.name,
            stream: settings.stream,
            wants_signatures: AtomicBool::new(false),
            own_temperature: AtomicBool::new(!settings.temperature),
        })
    }

    async fn send(&self, request: &ModelRequest, deltas: &dyn Deltas) -> Result<Whole, ModelError> {
        loop {
            let form = Form {
                signed: self.wants_signatures.load(Ordering::Relaxed),
                own_temperature: self.own_temperature.load(Ordering::Relaxed),
            };
            match self.once(request, form, deltas).await {
                Err(ModelError::BadRequest(text)) if self.learn(&text, request, form) => {}
                other => return other,
            }
        }
    }

    /// Remembers what a refusal teaches about a request of this form; true where another form may be taken.
    fn learn(&self, text: &str, request: &ModelRequest, form: Form) -> bool {
        let lower = text.to_lowercase();
        let habit = if !form.signed && lower.contains("thought_signature") {
            &self.wants_signatures
        } else if !form.own_temperature && request.temperature.is_some() && lower.contains("temperature") {
            &self.own_temperature
        } else {
            return false;
        };
        habit.store(true, Ordering::Relaxed);
        true
    }

    fn asker(&self, request: &ModelRequest) -> Asker<'_> {
        Asker::new("gemini", &self.name, request)
    }

    async fn once(&self, request: &ModelRequest, form: Form, deltas: &dyn Deltas) -> Result<Whole, ModelError> {
        let stream = self.stream.then(Chunks::default);
        self.endpoint.ask(&body(&self.asker(request), request, form), request.max_output_tokens, stream, deltas).await
    }
}

#[async_trait]
impl Model for Gemini {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    async fn presence(&self) -> Result<Presence, ModelError> {
        let answer = self.send(&presence::question(), &Silent).await?.value;
        // "…-latest" is answered by the model that it stands for.
        let answered = answer.get("modelVersion").and_then(Value::as_str).filter(|_| !self.name.ends_with("-latest"));
        let answered = answered.map(str::to_owned);
        let about = self.endpoint.get(&self.about).await;
        let window = about.as_ref().and_then(|about| about.get("inputTokenLimit")).and_then(Value::as_u64);
        Ok(Presence { answered, window, ..Presence::default() })
    }

    async fn respond(&self, request: &ModelRequest, deltas: &dyn Deltas) -> Result<ModelResponse, ModelError> {
        let answer = self.send(request, deltas).await?;
        parse(&answer, request.assistant_turns(), &self.asker(request))
            .map_err(|error| self.endpoint.without_key(error))
    }
}

/// The request's JSON.
fn body(asker: &Asker<'_>, request: &ModelRequest, form: Form) -> Json {
    let mut generation = json!({ "maxOutputTokens": request.max_output_tokens });
    if let Some(temperature) = request.temperature.filter(|_| !form.own_temperature) {
        generation["temperature"] = json!(temperature);
    }
    if let Some(seed) = request.seed {
        // A 32-bit number on this wire.
        generation["seed"] = json!(seed & 0x7FFF_FFFF);
    }
    let contents = contents(asker, &request.turns, form.signed);
    let mut body = BTreeMap::from([("contents", Json::List(contents)), ("generationConfig", generation.into())]);
    if !request.system.is_empty() {
        body.insert("systemInstruction", json!({ "parts": [{ "text": request.system }] }).into());
    }
    if !request.tools.is_empty() {
        let declarations: Vec<Value> = request.tools.iter().map(declaration).collect();
        body.insert("tools", json!([{ "functionDeclarations": declarations }]).into());
    }
    if request.is_forced() {
        body.insert("toolConfig", json!({ "functionCallingConfig": { "mode": "ANY" } }).into());
    }
    Json::Object(body)
}

/// Results have a turn of their own, directly behind the calls: as many as there were calls, under their names, and nothing else. They name
/// an id where their calls do, which only a vendor's own parts have.
fn contents(asker: &Asker<'_>, turns: &[Turn], signed: bool) -> Vec<Json> {
    let content = |role: &str, parts: Vec<Json>| Json::object([("role", json!(role).into()), ("parts", parts.into())]);
    let ours = |parts: Vec<Value>| parts.into_iter().map(Json::Value).collect::<Vec<_>>();
    let (mut list, mut asked, mut named) = (Vec::new(), &[][..], Vec::new());
    for turn in wire::merged(turns) {
        list.push(match turn {
            WireTurn::User(parts) => content("user", ours(parts.iter().map(part).collect())),
            WireTurn::Assistant { text, calls, vendor } => {
                let own = asker.own(vendor);
                named = own.iter().flatten().filter_map(Json::as_value).filter_map(id_of_call).collect();
                let parts = own.unwrap_or_else(|| ours(spoken(text, calls, signed)));
                asked = calls;
                content("model", parts)
            }
            WireTurn::Results(results) => {
                content("user", ours(results.iter().map(|it| result(it, asked, named.contains(&it.call_id))).collect()))
            }
        });
    }
    list
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({ "text": wire::spoken(text) }),
        Part::Picture(picture, data) => json!({ "inlineData": { "mimeType": picture.media, "data": data } }),
    }
}

fn id_of_call(part: Value) -> Option<String> {
    part.pointer("/functionCall/id")?.as_str().map(str::to_owned)
}

fn spoken(text: &str, calls: &[ToolCall], signed: bool) -> Vec<Value> {
    let mut parts = Vec::new();
    if calls.is_empty() || !text.trim().is_empty() {
        parts.push(json!({ "text": wire::spoken(text) }));
    }
    for (place, call) in calls.iter().enumerate() {
        let mut part = json!({ "functionCall": { "name": wire::token(&call.name), "args": call.arguments } });
        if signed && place == 0 {
            part["thoughtSignature"] = json!(NO_SIGNATURE);
        }
        parts.push(part);
    }
    parts
}

/// Without ids calls and results belong together by their order.
fn result(result: &ToolResult, asked: &[ToolCall], named: bool) -> Value {
    let call = asked.iter().find(|call| call.id == result.call_id);
    let name = wire::token(call.map_or(&result.name, |call| &call.name));
    let key = if result.error { "error" } else { "output" };
    let mut response = json!({ "name": name, "response": { key: result.text } });
    if named {
        response["id"] = json!(result.call_id);
    }
    json!({ "functionResponse": response })
}

fn declaration(tool: &ToolSpec) -> Value {
    let mut declaration = json!({ "name": tool.name, "description": tool.description });
    // An object without properties is refused; a function without arguments has no parameters.
    let some = tool.parameters.get("properties").and_then(Value::as_object).is_some_and(|it| !it.is_empty());
    if some {
        declaration["parameters"] = schema(&tool.parameters);
    }
    declaration
}

/// The part of a JSON Schema that this wire takes: a select subset of OpenAPI 3.0's, without `additionalProperties` and `$schema`.
fn schema(of: &Value) -> Value {
    const TAKEN: [&str; 16] = [
        "title",
        "description",
        "nullable",
        "default",
        "example",
        "required",
        "enum",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "minProperties",
        "maxProperties",
        "pattern",
    ];
    let mut taken = Map::new();
    for (key, value) in of.as_object().into_iter().flatten() {
        match key.as_str() {
            "properties" => {
                let inner = value.as_object().into_iter().flatten().map(|(name, of)| (name.clone(), schema(of)));
                taken.insert(key.clone(), Value::Object(inner.collect()));
            }
            "items" => drop(taken.insert(key.clone(), schema(value))),
            "anyOf" | "oneOf" => {
                let list = value.as_array().into_iter().flatten().map(schema).collect();
                taken.insert("anyOf".to_owned(), Value::Array(list));
            }
            "const" => drop(taken.insert("enum".to_owned(), json!([value]))),
            "type" => match value {
                // `["string", "null"]`: one type, and whether it may be null.
                Value::Array(types) => {
                    let own = types.iter().find(|it| *it != "null").cloned().unwrap_or(json!("string"));
                    taken.insert(key.clone(), own);
                    if types.iter().any(|it| it == "null") {
                        taken.insert("nullable".to_owned(), json!(true));
                    }
                }
                one => drop(taken.insert(key.clone(), one.clone())),
            },
            key if TAKEN.contains(&key) => drop(taken.insert(key.to_owned(), value.clone())),
            _ => {}
        }
    }
    Value::Object(taken)
}

/// Reads an answer. What the server withheld is said in its place; a prompt that it refuses needs a person.
fn parse(whole: &Whole, turn: usize, asker: &Asker<'_>) -> Result<ModelResponse, ModelError> {
    let answer = &whole.value;
    let Some(candidate) = answer.pointer("/candidates/0") else {
        return Err(match answer.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            Some(reason) => ModelError::BadRequest(format!("the server blocks what was sent ({reason})")),
            None => {
                let start: String = answer.to_string().chars().take(200).collect();
                ModelError::Malformed(format!("it has no candidates: {start}"))
            }
        });
    };
    let finish = candidate.get("finishReason").and_then(Value::as_str).unwrap_or_default();
    let mut response = ModelResponse { truncated: finish == "MAX_TOKENS", ..ModelResponse::default() };
    for part in candidate.pointer("/content/parts").and_then(Value::as_array).into_iter().flatten() {
        if let Some(call) = part.get("functionCall").filter(|call| call.is_object()) {
            let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (arguments, malformed) = wire::arguments(call.get("args"));
            response.calls.push(ToolCall { id: text("id"), name: text("name"), arguments, malformed });
        } else if part.get("thought") != Some(&json!(true)) {
            response.text.push_str(part.get("text").and_then(Value::as_str).unwrap_or_default());
        }
    }
    if !matches!(finish, "" | "STOP" | "MAX_TOKENS" | "FINISH_REASON_UNSPECIFIED") && response.calls.is_empty() {
        let message = candidate.get("finishMessage").and_then(Value::as_str).unwrap_or_default();
        let message: String = message.chars().take(400).collect();
        wire::ended_by_server(&mut response.text, finish);
        response.text.push_str(&format!(" {message}"));
        response.text.truncate(response.text.trim_end().len());
    }
    let given = wire::ids(&response.calls);
    wire::unique_ids(&mut response.calls, turn);
    response.vendor = signed_parts(whole).and_then(|parts| asker.keep(&parts, &response.calls, &given));
    response.usage = usage(answer);
    Ok(response)
}

/// The parts of an answer that holds signatures, as they came. A part must hold something: empty text without a signature is left out.
fn signed_parts(whole: &Whole) -> Option<Vec<Box<RawValue>>> {
    let parts = raw::elements(&whole.text, &["candidates", "0", "content", "parts"])?;
    let read = |part: &RawValue| serde_json::from_str::<Value>(part.get()).unwrap_or_default();
    let signed = |part: &Value| part.get("thoughtSignature").is_some_and(Value::is_string);
    let any = parts.iter().any(|part| signed(&read(part)));
    // Arguments that came as a text are no call of this wire.
    let whole = parts.iter().all(|part| read(part).pointer("/functionCall/args").is_none_or(Value::is_object));
    let holds = |part: &Value| signed(part) || part["text"].as_str() != Some("");
    (any && whole).then(|| parts.into_iter().filter(|part| holds(&read(part))).collect())
}

/// `promptTokenCount` holds what came from the cache as well, and `candidatesTokenCount` nothing of the thoughts; ours don't overlap.
fn usage(answer: &Value) -> Usage {
    let number = |name: &str| wire::count(answer.pointer(&format!("/usageMetadata/{name}")));
    let prompt = number("promptTokenCount").saturating_add(number("toolUsePromptTokenCount"));
    let cache_read = number("cachedContentTokenCount").min(prompt);
    let thoughts = number("thoughtsTokenCount");
    let output = number("candidatesTokenCount").saturating_add(thoughts);
    Usage { input: prompt - cache_read, output, cache_read, cache_write: 0, reasoning: thoughts }
}

#[cfg(test)]
#[path = "gemini_tests.rs"]
mod tests;
