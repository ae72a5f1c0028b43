//! The OpenAI-compatible wire: `POST …/chat/completions` with tools.
//!
//! Owns: the JSON of this wire in both directions, and its servers' quirks: no ids, `null` content, arguments that are no
//! JSON, no usage, `max_tokens` refused in favour of `max_completion_tokens`, no system text, no temperature, no streams, no counts in
//! streams, reasoning that is to be sent back, calls of one form alone (`openai_calls`). Must not: talk HTTP itself (`http`), retry, put a stream's chunks together (`openai_stream`).
//! Shapes: platform.openai.com/docs/api-reference/chat/create; for reasoning openrouter.ai/docs/use-cases/reasoning-tokens and
//! api-docs.deepseek.com/guides/thinking_mode, for pictures developers.openai.com/api/docs/guides/images-vision. Tests: below, `tests/providers.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::deltas::{Deltas, Silent};
use super::http::{Endpoint, Whole, join, sensitive};
use super::openai_calls::{self, CallForm, EXTRA, asks_for_nine, id};
use super::openai_reasoning::{DETAILS, THOUGHTS, is_thought_away, thought_away};
use super::openai_stream::{Chunks, unbroken};
use super::picture::{Counting, OWN, parts};
use super::provider::Provider;
use super::raw::{self, Json};
use super::settings::Settings;
use super::vendor::{Asker, CHAT};
use super::wire::{Part, WireTurn};
use super::{
    Facts, Model, ModelError, ModelRequest, ModelResponse, Presence, ToolCall, Usage, VendorParts, presence, wire,
};

const DEFAULT_BASE: &str = "https://api.openai.com/v1";

/// The vendor's way of counting pictures where `detail` is `high`: the most that tiles come to, and patches at the dearest factor.
pub(super) const PICTURES: Counting = Counting {
    gif: true,
    most: |width, height| (parts(32, width, height).min(2500) * 246).div_ceil(100).max(85 + 8 * 170),
};

/// This wire, for `open`.
pub(super) const PROVIDER: Provider = Provider {
    vendor: Some("OpenAI"),
    open: |settings, _| Ok(Arc::new(OpenAi::new(settings)?)),
    counting: PICTURES,
    counting_elsewhere: OWN,
};

/// A model behind an OpenAI-compatible server: the vendor itself, OpenRouter, llama.cpp, Ollama, vLLM, ….
pub struct OpenAi {
    endpoint: Endpoint,
    /// Where it tells which models it has, and how it runs them.
    beside: [Url; 4],
    facts: Facts,
    name: String,
    quirks: ServerQuirks,
}

/// What its server turned out to want, remembered for the life of this process.
#[derive(Default)]
struct ServerQuirks {
    /// It only takes the newer name of the output limit.
    newer_limit: AtomicBool,
    /// Its chat template takes no system text: that goes before the user's first words.
    folded_system: AtomicBool,
    /// It takes no temperature but its own, as it said or the operator.
    own_temperature: AtomicBool,
    /// It sends no streams, or the operator wants none.
    unstreamed: AtomicBool,
    /// It does not know `stream_options`, by which a stream is asked for its counts.
    uncounted: AtomicBool,
    /// It takes back no reasoning.
    forgetful: AtomicBool,
    /// It wants the words of its reasoning back with each answer that has calls.
    wants_thoughts: AtomicBool,
    /// It takes ids of nine letters and digits alone.
    nine: AtomicBool,
    /// It is Gemini's, for which a call without a signature is none.
    signed: AtomicBool,
    /// It is the vendor's own, which is told how closely to look at a picture.
    detailed: bool,
}

/// The quirks that one request follows.
#[derive(Clone, Copy, Default)]
struct Form {
    newer_limit: bool,
    folded_system: bool,
    own_temperature: bool,
    unstreamed: bool,
    uncounted: bool,
    forgetful: bool,
    wants_thoughts: bool,
    calls: CallForm,
    detailed: bool,
}

impl ServerQuirks {
    fn form(&self) -> Form {
        Form {
            newer_limit: self.newer_limit.load(Ordering::Relaxed),
            folded_system: self.folded_system.load(Ordering::Relaxed),
            own_temperature: self.own_temperature.load(Ordering::Relaxed),
            unstreamed: self.unstreamed.load(Ordering::Relaxed),
            uncounted: self.uncounted.load(Ordering::Relaxed),
            forgetful: self.forgetful.load(Ordering::Relaxed),
            wants_thoughts: self.wants_thoughts.load(Ordering::Relaxed),
            calls: CallForm { nine: self.nine.load(Ordering::Relaxed), signed: self.signed.load(Ordering::Relaxed) },
            detailed: self.detailed,
        }
    }

    /// Remembers what a refusal teaches about a request of this form; true where another form may be taken.
    fn learn(&self, text: &str, request: &ModelRequest, form: Form) -> bool {
        let lower = text.to_lowercase();
        let of_counts = lower.contains("stream_options") || lower.contains("include_usage");
        let habit = if !form.newer_limit && text.contains("max_completion_tokens") {
            &self.newer_limit
        } else if has_temperature(request, form) && text.contains("temperature") {
            &self.own_temperature
        } else if !form.forgetful && lower.contains(DETAILS) && !asks_for_it(&lower) {
            &self.forgetful
        } else if !form.wants_thoughts && lower.contains(THOUGHTS) && asks_for_it(&lower) {
            &self.wants_thoughts
        } else if !form.calls.nine && asks_for_nine(&lower) {
            &self.nine
        } else if !form.calls.signed && lower.contains("thought_signature") {
            &self.signed
        } else if !form.unstreamed && !form.uncounted && of_counts {
            &self.uncounted
        } else if !form.unstreamed && wire::speaks_of_streams(&lower) {
            &self.unstreamed
        } else {
            return false;
        };
        habit.store(true, Ordering::Relaxed);
        true
    }
}

impl OpenAi {
    /// The error is a sentence for the operator.
    pub fn new(settings: Settings) -> Result<Self, String> {
        let base = settings.base_url.as_deref().unwrap_or(DEFAULT_BASE);
        let bare = join(base, &[])?.path() == "/";
        let url = join(base, if bare { &["v1", "chat", "completions"] } else { &["chat", "completions"] })?;
        let beside = presence::beside(&url);
        let mut headers = HeaderMap::new();
        if let Some(key) = &settings.key {
            headers.insert(AUTHORIZATION, sensitive(&format!("Bearer {}", key.expose()))?);
        }
        let endpoint = Endpoint::new(url, headers, &settings)?;
        let (unstreamed, detailed) = (AtomicBool::new(!settings.stream), settings.base_url.is_none());
        let own_temperature = AtomicBool::new(!settings.temperature);
        let quirks = ServerQuirks { unstreamed, detailed, own_temperature, ..ServerQuirks::default() };
        Ok(Self { endpoint, beside, facts: settings.facts("OpenAI-compatible"), name: settings.name, quirks })
    }

    async fn send(&self, request: &ModelRequest, deltas: &dyn Deltas) -> Result<Whole, ModelError> {
        loop {
            let form = self.quirks.form();
            match self.once(request, form, deltas).await {
                Err(ModelError::BadRequest(text)) if is_thought_away(&text) => return Ok(thought_away()),
                Err(ModelError::BadRequest(text)) if self.quirks.learn(&text, request, form) => {}
                Err(refusal @ ModelError::Template(_)) if !form.folded_system => {
                    return self.folded(request, form, refusal, deltas).await;
                }
                other => return other,
            }
        }
    }

    async fn once(&self, request: &ModelRequest, form: Form, deltas: &dyn Deltas) -> Result<Whole, ModelError> {
        let stream = (!form.unstreamed).then(Chunks::default);
        let body = body(&self.asker(request), request, form);
        self.endpoint.ask(&body, request.max_output_tokens, stream, deltas).await
    }

    fn asker(&self, request: &ModelRequest) -> Asker<'_> {
        Asker::new(CHAT, &self.name, request).at(self.beside[0].as_str())
    }

    /// The request without the role that its template refuses. Where that helps nothing, the first refusal stands.
    async fn folded(
        &self,
        request: &ModelRequest,
        form: Form,
        refusal: ModelError,
        deltas: &dyn Deltas,
    ) -> Result<Whole, ModelError> {
        let form = Form { folded_system: true, ..form };
        match self.once(request, form, deltas).await {
            Err(ModelError::Template(_)) => Err(refusal),
            Ok(answer) => {
                tracing::warn!(model = self.name, %refusal, "the system text is put before the user's first words from now on");
                self.quirks.folded_system.store(true, Ordering::Relaxed);
                Ok(answer)
            }
            other => other,
        }
    }
}

#[async_trait]
impl Model for OpenAi {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    async fn presence(&self) -> Result<Presence, ModelError> {
        let answer = self.send(&presence::question(), &Silent).await?.value;
        let [models, props, loaded, show] = &self.beside;
        let (models, props) = (self.endpoint.get(models).await, self.endpoint.get(props).await);
        let told = Presence::read(&answer, &self.name, models.as_ref(), props.as_ref());
        let mut presence = Presence { refuses_system: self.quirks.form().folded_system, ..told };
        if presence.window.is_none() && !self.quirks.detailed {
            let list = self.endpoint.get(loaded).await;
            presence.window = list.and_then(|list| presence::loaded(&list, &self.name));
        }
        if presence.window.is_none() && !self.quirks.detailed {
            let shown = self.endpoint.post(show, &json!({ "model": self.name })).await;
            presence.most = shown.as_ref().and_then(presence::trained);
        }
        Ok(presence)
    }

    async fn respond(&self, request: &ModelRequest, deltas: &dyn Deltas) -> Result<ModelResponse, ModelError> {
        let answer = self.send(request, deltas).await?;
        let mut response =
            parse(&answer.value, request.assistant_turns()).map_err(|error| self.endpoint.without_key(error))?;
        response.vendor = kept(&answer, &response.calls, self.quirks.form(), &self.asker(request));
        Ok(response)
    }
}

/// Whether a refusal, in lower case, is about a field that is missing.
fn asks_for_it(text: &str) -> bool {
    ["must be passed", "missing", "required"].iter().any(|words| text.contains(words))
}

fn has_temperature(request: &ModelRequest, form: Form) -> bool {
    request.temperature.is_some() && !form.own_temperature
}

/// The request's JSON.
fn body(asker: &Asker<'_>, request: &ModelRequest, form: Form) -> Json {
    let streamed = !form.unstreamed;
    let limit = if form.newer_limit { "max_completion_tokens" } else { "max_tokens" };
    let mut body: BTreeMap<&'static str, Json> = BTreeMap::from([
        ("model", json!(asker.model()).into()),
        ("messages", Json::List(messages(asker, request, form))),
        ("stream", json!(streamed).into()),
        (limit, json!(request.max_output_tokens).into()),
    ]);
    if streamed && !form.uncounted {
        body.insert("stream_options", json!({ "include_usage": true }).into());
    }
    if has_temperature(request, form) {
        body.insert("temperature", json!(request.temperature).into());
    }
    if let Some(seed) = request.seed {
        body.insert("seed", json!(seed).into());
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({ "type": "function", "function": { "name": tool.name, "description": tool.description, "parameters": tool.parameters } })
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

fn messages(asker: &Asker<'_>, request: &ModelRequest, form: Form) -> Vec<Json> {
    let mut list: Vec<Json> = Vec::new();
    if !form.folded_system {
        list.push(json!({ "role": "system", "content": request.system }).into());
    }
    for turn in &wire::merged(&request.turns) {
        match turn {
            WireTurn::User(parts) => {
                let before = if list.is_empty() { request.system.as_str() } else { "" };
                list.push(json!({ "role": "user", "content": spoken(before, parts, form.detailed) }).into());
            }
            WireTurn::Assistant { text, calls, vendor } => {
                let own = asker.own(*vendor).and_then(|parts| parts.into_iter().next());
                let sent = openai_calls::sent(calls, &request.tools, own.as_ref(), form.calls);
                list.push(with_reasoning(assistant(text, sent), reasoning(own.as_ref(), !calls.is_empty(), form)));
            }
            WireTurn::Results(results) => list.extend(results.iter().map(|result| {
                let id = id(&result.call_id, form.calls.nine);
                json!({ "role": "tool", "tool_call_id": id, "content": result.text }).into()
            })),
        }
    }
    list
}

/// What an earlier answer's message holds of its reasoning.
fn reasoning(own: Option<&Json>, has_calls: bool, form: Form) -> Vec<(&'static str, Json)> {
    let field = |name: &str| own.and_then(Json::written).and_then(|part| raw::field(part, name)).map(Json::Raw);
    let mut fields = Vec::new();
    if !form.forgetful {
        fields.extend(field(DETAILS).map(|details| (DETAILS, details)));
    }
    // An answer from before that was known has none to send.
    if form.wants_thoughts && has_calls {
        fields.push((THOUGHTS, field(THOUGHTS).unwrap_or_else(|| json!("").into())));
    }
    fields
}

fn with_reasoning(message: Value, reasoning: Vec<(&'static str, Json)>) -> Json {
    if reasoning.is_empty() {
        return message.into();
    }
    let own = ["role", "content", "tool_calls"].into_iter();
    let own = own.filter_map(|name| message.get(name).map(|value| (name, Json::Value(value.clone()))));
    Json::Object(own.chain(reasoning).collect())
}

/// The reasoning of an answer, and what stands beside its calls, as they came, where its server takes them back.
fn kept(whole: &Whole, calls: &[ToolCall], form: Form, asker: &Asker<'_>) -> Option<VendorParts> {
    let message = raw::at(&whole.text, &["choices", "0", "message"])?;
    let names = [(DETAILS, !form.forgetful), (THOUGHTS, form.wants_thoughts)];
    let beside = openai_calls::extras(message.get()).map(|list| format!("{}:{list}", json!(EXTRA)));
    let fields: Vec<String> = names
        .into_iter()
        .filter(|(_, taken)| *taken)
        .filter_map(|(name, _)| raw::field(message.get(), name).map(|value| (name, value)))
        .filter(|(_, value)| !matches!(value.get(), "null" | "[]" | "\"\""))
        .map(|(name, value)| format!("{}:{}", json!(name), value.get()))
        .chain(beside)
        .collect();
    if fields.is_empty() {
        return None;
    }
    let sent = whole.value.pointer("/choices/0/message/tool_calls").and_then(Value::as_array);
    let sent: Vec<&Value> = sent.into_iter().flatten().collect();
    if !sent.iter().all(|call| wire::is_unmended(call.pointer("/function/arguments"))) {
        return None;
    }
    let given: Vec<String> = sent.iter().map(|call| call["id"].as_str().unwrap_or_default().to_owned()).collect();
    let part: Box<RawValue> = RawValue::from_string(format!("{{{}}}", fields.join(","))).ok()?;
    asker.keep(&[part], calls, &given)
}

/// Words as one text, since many servers take nothing else; parts only where there is a picture. `detailed`: the vendor's own server is told how
/// closely to look, which bounds what it counts.
fn spoken(before: &str, parts: &[Part<'_>], detailed: bool) -> Value {
    let gap = if before.is_empty() { "" } else { "\n\n" };
    if let Some(words) = wire::words(parts) {
        return json!(format!("{before}{gap}{words}"));
    }
    let part = |(place, part): (usize, &Part<'_>)| match part {
        Part::Text(text) if place == 0 => json!({ "type": "text", "text": format!("{before}{gap}{text}") }),
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Picture(picture, data) => {
            let mut image = json!({ "url": picture.address(data) });
            if detailed {
                image["detail"] = json!("high");
            }
            json!({ "type": "image_url", "image_url": image })
        }
    };
    parts.iter().enumerate().map(part).collect()
}

/// `calls` as they are sent.
fn assistant(text: &str, calls: Vec<Value>) -> Value {
    if calls.is_empty() {
        return json!({ "role": "assistant", "content": wire::spoken(text) });
    }
    let content = if text.is_empty() { Value::Null } else { json!(text) };
    json!({ "role": "assistant", "content": content, "tool_calls": calls })
}

/// Reads an answer. Only one without any message, or that its server broke off, is refused; everything else that servers leave out is made good.
fn parse(answer: &Value, turn: usize) -> Result<ModelResponse, ModelError> {
    let choice = answer.pointer("/choices/0").ok_or_else(|| malformed("it has no choices", answer))?;
    let finish = choice.get("finish_reason").and_then(Value::as_str).unwrap_or_default();
    unbroken(finish)?;
    let message = choice.get("message").and_then(Value::as_object);
    let message = message.ok_or_else(|| malformed("its choice has no message", answer))?;
    let usage = answer.get("usage").map(usage).unwrap_or_default();
    // Mistral has a name of its own for a window that is full.
    let truncated = matches!(finish, "length" | "model_length");
    let (mut text, calls) = (content(message), calls(message, turn));
    if matches!(finish, "content_filter" | "sensitive") && calls.is_empty() {
        wire::ended_by_server(&mut text, finish);
    }
    Ok(ModelResponse { text, calls, usage, truncated, vendor: None })
}

fn malformed(what: &str, answer: &Value) -> ModelError {
    ModelError::Malformed(format!("{what}: {}", answer.to_string().chars().take(200).collect::<String>()))
}

/// Text, `null`, or a list of parts; a refusal is text as well.
fn content(message: &Map<String, Value>) -> String {
    let content = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    };
    match message.get("refusal").and_then(Value::as_str) {
        Some(refusal) if content.is_empty() => refusal.to_owned(),
        _ => content,
    }
}

fn calls(message: &Map<String, Value>, turn: usize) -> Vec<ToolCall> {
    let mut raw: Vec<&Value> = match message.get("tool_calls") {
        Some(Value::Array(list)) => list.iter().collect(),
        Some(one @ Value::Object(_)) => vec![one],
        _ => Vec::new(),
    };
    if raw.is_empty() {
        // The wire's form before tools; some local servers still answer in it.
        raw.extend(message.get("function_call").filter(|call| call.is_object()));
    }
    let mut calls = raw.into_iter().map(call).collect::<Vec<_>>();
    wire::unique_ids(&mut calls, turn);
    calls
}

fn call(raw: &Value) -> ToolCall {
    let function = raw.get("function").filter(|f| f.is_object()).unwrap_or(raw);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let (arguments, malformed) = wire::arguments(function.get("arguments").or_else(|| function.get("parameters")));
    ToolCall { id: text(raw.get("id")), name: text(function.get("name")), arguments, malformed }
}

/// `prompt_tokens` counts what came from the cache as well; ours don't overlap.
fn usage(usage: &Value) -> Usage {
    let number = |pointer: &str| wire::count(usage.pointer(pointer));
    let prompt = number("/prompt_tokens");
    let cache_read = number("/prompt_tokens_details/cached_tokens").min(prompt);
    let reasoning = number("/completion_tokens_details/reasoning_tokens");
    // xAI counts reasoning in the total alone (docs.x.ai/docs/guides/reasoning).
    let output = number("/completion_tokens").max(number("/total_tokens").saturating_sub(prompt));
    Usage { input: prompt - cache_read, output, cache_read, cache_write: 0, reasoning }
}

#[cfg(test)]
#[path = "openai_tests.rs"]
mod tests;
