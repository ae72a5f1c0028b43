//! Google's wire: `POST /v1beta/models/<model>:streamGenerateContent?alt=sse` (or `:generateContent`) with function calls.
//!
//! Owns: the JSON of this wire in both directions and the part of JSON Schema that it takes. The key goes in a header, never into the
//! address. Must not: talk HTTP itself (`http`), retry, put a stream's chunks together (`gemini_stream`).
//! Shapes: ai.google.dev/api/generate-content, ai.google.dev/api/caching (Content, Part, Schema, FunctionDeclaration), for signatures
//! ai.google.dev/gemini-api/docs/thought-signatures. Tests: below, `tests/providers.rs`.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};

use super::deltas::{Deltas, Silent};
use super::gemini_stream::Chunks;
use super::http::{Endpoint, Whole, join, sensitive};
use super::settings::Settings;
use super::{
    Model, ModelError, ModelRequest, ModelResponse, Presence, Price, ToolCall, ToolResult, ToolSpec, Turn, Usage,
    presence, wire,
};

const DEFAULT_BASE: &str = "https://generativelanguage.googleapis.com/v1beta";
/// Stands for a signature that the model never gave, where a server wants one: its own word for that.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// A model behind the Gemini API.
pub struct Gemini {
    endpoint: Endpoint,
    name: String,
    price: Price,
    context: u64,
    stream: bool,
    /// Set once its server has said that a call without a signature is none.
    wants_signatures: AtomicBool,
}

impl Gemini {
    /// The error is a sentence for the operator.
    pub fn new(settings: Settings) -> Result<Self, String> {
        let base = settings.base_url.as_deref().unwrap_or(DEFAULT_BASE);
        let name = settings.name.trim_start_matches("models/");
        let at = |method: &str| join(base, &["v1beta", "models", &format!("{name}:{method}")]);
        let (url, mut stream_url) = (at("generateContent")?, at("streamGenerateContent")?);
        stream_url.set_query(Some("alt=sse"));
        let mut headers = HeaderMap::new();
        if let Some(key) = &settings.key {
            headers.insert("x-goog-api-key", sensitive(key.expose())?);
        }
        let endpoint = Endpoint::new(url, headers, &settings)?.streaming_at(stream_url);
        Ok(Self {
            endpoint,
            name: settings.name,
            price: settings.price,
            context: settings.context_tokens,
            stream: settings.stream,
            wants_signatures: AtomicBool::new(false),
        })
    }

    async fn send(&self, request: &ModelRequest, deltas: &dyn Deltas) -> Result<Whole, ModelError> {
        let signed = self.wants_signatures.load(Ordering::Relaxed);
        match self.once(request, signed, deltas).await {
            Err(ModelError::BadRequest(text)) if !signed && text.to_lowercase().contains("thought_signature") => {
                self.wants_signatures.store(true, Ordering::Relaxed);
                self.once(request, true, deltas).await
            }
            other => other,
        }
    }

    async fn once(&self, request: &ModelRequest, signed: bool, deltas: &dyn Deltas) -> Result<Whole, ModelError> {
        let stream = self.stream.then(Chunks::default);
        self.endpoint.ask(&body(request, signed), request.max_output_tokens, stream, deltas).await
    }
}

#[async_trait]
impl Model for Gemini {
    fn label(&self) -> String {
        format!("{} (Gemini)", self.name)
    }

    fn scripted(&self) -> bool {
        false
    }

    fn price(&self) -> Price {
        self.price
    }

    fn context_tokens(&self) -> u64 {
        self.context
    }

    async fn presence(&self) -> Result<Presence, ModelError> {
        let answer = self.send(&presence::question(), &Silent).await?.value;
        let answered = answer.get("modelVersion").and_then(Value::as_str).map(str::to_owned);
        Ok(Presence { answered, ..Presence::default() })
    }

    async fn respond(&self, request: &ModelRequest, deltas: &dyn Deltas) -> Result<ModelResponse, ModelError> {
        let answer = self.send(request, deltas).await?;
        parse(&answer.value, request.assistant_turns())
    }
}

/// The request's JSON. `signed`: each step's first call carries a signature, for servers that refuse one without.
fn body(request: &ModelRequest, signed: bool) -> Value {
    let mut generation = json!({ "maxOutputTokens": request.max_output_tokens });
    if let Some(temperature) = request.temperature {
        generation["temperature"] = json!(temperature);
    }
    if let Some(seed) = request.seed {
        // A 32-bit number on this wire.
        generation["seed"] = json!(seed & 0x7FFF_FFFF);
    }
    let mut body = json!({ "contents": contents(&request.turns, signed), "generationConfig": generation });
    if !request.system.is_empty() {
        body["systemInstruction"] = json!({ "parts": [{ "text": request.system }] });
    }
    if !request.tools.is_empty() {
        let declarations: Vec<Value> = request.tools.iter().map(declaration).collect();
        body["tools"] = json!([{ "functionDeclarations": declarations }]);
    }
    body
}

/// Results have a turn of their own, directly behind the calls: as many as there were calls, and nothing else.
fn contents(turns: &[Turn], signed: bool) -> Vec<Value> {
    let content = |role: &str, parts: Vec<Value>| json!({ "role": role, "parts": parts });
    wire::merged(turns)
        .iter()
        .map(|turn| match turn {
            Turn::User { text } => content("user", vec![json!({ "text": wire::spoken(text) })]),
            Turn::Assistant { text, calls } => content("model", spoken(text, calls, signed)),
            Turn::Results(results) => content("user", results.iter().map(result).collect()),
        })
        .collect()
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

/// Calls and results belong together by their order.
fn result(result: &ToolResult) -> Value {
    let key = if result.error { "error" } else { "output" };
    json!({ "functionResponse": { "name": wire::token(&result.name), "response": { key: result.text } } })
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
fn parse(answer: &Value, turn: usize) -> Result<ModelResponse, ModelError> {
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
        let gap = if response.text.is_empty() { "" } else { "\n" };
        response.text.push_str(&format!("{gap}[the server ended this answer: {finish}] {message}"));
        response.text.truncate(response.text.trim_end().len());
    }
    wire::unique_ids(&mut response.calls, turn);
    response.usage = usage(answer);
    Ok(response)
}

/// `promptTokenCount` holds what came from the cache as well, and `candidatesTokenCount` nothing of the thoughts; ours don't overlap.
fn usage(answer: &Value) -> Usage {
    let number = |name: &str| wire::count(answer.pointer(&format!("/usageMetadata/{name}")));
    let prompt = number("promptTokenCount").saturating_add(number("toolUsePromptTokenCount"));
    let cache_read = number("cachedContentTokenCount").min(prompt);
    let thoughts = number("thoughtsTokenCount");
    let output = number("candidatesTokenCount").saturating_add(thoughts);
    Usage { input: prompt - cache_read, output, cache_read, cache_write: 0 }
}

#[cfg(test)]
#[path = "gemini_tests.rs"]
mod tests;
