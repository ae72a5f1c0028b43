//! Anthropic's wire: `POST /v1/messages` with tools.
//!
//! Owns: the JSON of this wire in both directions and where its prompt cache is asked for. Must not: talk HTTP itself
//! (`http`), retry, put a stream's events together (`anthropic_stream`). Shapes: the vendor's API reference, version 2023-06-01
//! (docs.anthropic.com/en/api/messages; the window: docs.anthropic.com/en/api/models), for pictures
//! platform.claude.com/docs/en/build-with-claude/vision. Tests: below, `tests/providers.rs`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::anthropic_stream::Blocks;
use super::deltas::{Deltas, Silent};
use super::http::{Endpoint, Whole, join, sensitive};
use super::picture::{Counting, OWN, parts};
use super::provider::Provider;
use super::raw::{self, Json};
use super::settings::Settings;
use super::vendor::Asker;
use super::wire::{Part, WireTurn};
use super::{
    Facts, Model, ModelError, ModelRequest, ModelResponse, Presence, ToolCall, ToolResult, Turn, Usage, presence, wire,
};

const DEFAULT_BASE: &str = "https://api.anthropic.com";
const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// The kinds of blocks that hold thinking.
const THINKING: [&str; 2] = ["thinking", "redacted_thinking"];

/// The vendor's way of counting pictures: patches of 28 pixels, at most 4,784.
const PICTURES: Counting = Counting {
    gif: true,
    most: |width, height| parts(28, width, height).max((u64::from(width) * u64::from(height)).div_ceil(750)).min(4784),
};

/// This wire, for `open`.
pub(super) const PROVIDER: Provider = Provider {
    vendor: Some("Anthropic"),
    open: |settings, _| Ok(Arc::new(Anthropic::new(settings)?)),
    counting: PICTURES,
    counting_elsewhere: OWN,
};

/// A model behind Anthropic's Messages API.
pub struct Anthropic {
    endpoint: Endpoint,
    /// Where its server describes the model.
    about: Url,
    facts: Facts,
    name: String,
    /// Set once its server has said that the model takes no temperature but its own, or the operator has.
    own_temperature: AtomicBool,
    /// The operator wants no streams, or a gateway has said that it sends none.
    unstreamed: AtomicBool,
}

impl Anthropic {
    /// The error is a sentence for the operator.
    pub fn new(settings: Settings) -> Result<Self, String> {
        let base = settings.base_url.as_deref().unwrap_or(DEFAULT_BASE);
        let url = join(base, &["v1", "messages"])?;
        let mut headers = HeaderMap::new();
        headers.insert("anthropic-version", VERSION);
        if let Some(key) = &settings.key {
            headers.insert("x-api-key", sensitive(key.expose())?);
        }
        let about = join(base, &["v1", "models", &settings.name])?;
        let endpoint = Endpoint::new(url, headers, &settings)?;
        Ok(Self {
            endpoint,
            about,
            facts: settings.facts("Anthropic"),
            name: settings.name,
            own_temperature: AtomicBool::new(!settings.temperature),
            unstreamed: AtomicBool::new(!settings.stream),
        })
    }

    async fn send(&self, request: &ModelRequest, deltas: &dyn Deltas) -> Result<Whole, ModelError> {
        loop {
            let form = Form {
                own_temperature: self.own_temperature.load(Ordering::Relaxed),
                streamed: !self.unstreamed.load(Ordering::Relaxed),
            };
            let stream = form.streamed.then(Blocks::default);
            let body = body(&self.asker(request), request, form);
            match self.endpoint.ask(&body, request.max_output_tokens, stream, deltas).await {
                Err(ModelError::BadRequest(text)) if self.learn(&text, request, form) => {}
                other => return other,
            }
        }
    }

    fn asker(&self, request: &ModelRequest) -> Asker<'_> {
        Asker::new("anthropic", &self.name, request)
    }

    /// Remembers what a refusal teaches about a request of this form; true where another form may be taken.
    fn learn(&self, text: &str, request: &ModelRequest, form: Form) -> bool {
        let habit = if !form.own_temperature && request.temperature.is_some() && text.contains("temperature") {
            &self.own_temperature
        } else if form.streamed && wire::speaks_of_streams(&text.to_lowercase()) {
            &self.unstreamed
        } else {
            return false;
        };
        habit.store(true, Ordering::Relaxed);
        true
    }
}

/// What one request follows of what its server turned out to want.
#[derive(Clone, Copy, Default)]
struct Form {
    own_temperature: bool,
    streamed: bool,
}

#[async_trait]
impl Model for Anthropic {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    async fn presence(&self) -> Result<Presence, ModelError> {
        let answer = self.send(&presence::question(), &Silent).await?.value;
        let about = self.endpoint.get(&self.about).await;
        let window = about.as_ref().and_then(|about| about.get("max_input_tokens")).and_then(Value::as_u64);
        Ok(Presence { window, ..Presence::read(&answer, &self.name, None, None) })
    }

    async fn respond(&self, request: &ModelRequest, deltas: &dyn Deltas) -> Result<ModelResponse, ModelError> {
        let answer = self.send(request, deltas).await?;
        parse(&answer, request.assistant_turns(), &self.asker(request))
            .map_err(|error| self.endpoint.without_key(error))
    }
}

/// The request's JSON. Three cache marks: behind the system text (which covers the tools as well), behind the newest turn, so that the
/// next request, which only appends, reads everything before it at a tenth of the price, and where the request before had that mark: the
/// vendor looks for it only twenty blocks back, and ten calls at once are more.
fn body(asker: &Asker<'_>, request: &ModelRequest, form: Form) -> Json {
    let mut messages = messages(asker, &request.turns);
    for (_, blocks) in messages.iter_mut().rev().step_by(2).take(2) {
        // Only the user's own turns are ever marked: a vendor's part stays as it is.
        if let Some(Json::Value(last)) = blocks.last_mut() {
            last["cache_control"] = json!({ "type": "ephemeral" });
        }
    }
    let messages = messages
        .into_iter()
        .map(|(role, blocks)| Json::object([("role", json!(role).into()), ("content", blocks.into())]));
    let system = json!([{ "type": "text", "text": request.system, "cache_control": { "type": "ephemeral" } }]);
    let mut body = BTreeMap::from([
        ("model", json!(asker.model()).into()),
        ("max_tokens", json!(request.max_output_tokens).into()),
        ("system", system.into()),
        ("messages", Json::List(messages.collect())),
    ]);
    if form.streamed {
        body.insert("stream", json!(true).into());
    }
    if let Some(temperature) = request.temperature.filter(|_| !form.own_temperature) {
        // This wire knows 0 to 1.
        body.insert("temperature", json!(temperature.min(1.0)).into());
    }
    if !request.tools.is_empty() {
        let tools = request
            .tools
            .iter()
            .map(|t| json!({ "name": t.name, "description": t.description, "input_schema": t.parameters }));
        body.insert("tools", Value::Array(tools.collect()).into());
    }
    if request.is_forced() {
        body.insert("tool_choice", json!({ "type": "any" }).into());
    }
    Json::Object(body)
}

/// Roles must alternate, and results are the first blocks of the user's message that follows the calls.
fn messages(asker: &Asker<'_>, turns: &[Turn]) -> Vec<(&'static str, Vec<Json>)> {
    let mut list: Vec<(&'static str, Vec<Json>)> = Vec::new();
    let mut ids = CallIds::default();
    let ours = |blocks: Vec<Value>| blocks.into_iter().map(Json::Value).collect::<Vec<_>>();
    for turn in &wire::merged(turns) {
        let (role, blocks) = match turn {
            WireTurn::User(parts) => ("user", ours(parts.iter().map(part).collect())),
            WireTurn::Assistant { text, calls, vendor } => {
                let own = asker.own(*vendor).filter(|blocks| !ends_in_thinking(blocks));
                ids.begin(calls, own.is_some());
                ("assistant", own.unwrap_or_else(|| ours(assistant(text, calls, &ids))))
            }
            WireTurn::Results(results) => ("user", ours(results.iter().map(|it| result(it, &ids)).collect())),
        };
        match list.last_mut() {
            Some((last, existing)) if *last == role => existing.extend(blocks),
            _ => list.push((role, blocks)),
        }
    }
    list
}

/// Whether the last block is thinking, with which an assistant's message may not end: the answer had neither text nor calls.
fn ends_in_thinking(blocks: &[Json]) -> bool {
    let last = blocks.last().and_then(Json::as_value).unwrap_or_default();
    is(&last, &THINKING)
}

/// Ids of calls as they are sent: each may stand once in the whole conversation, and other servers count theirs anew in each answer.
#[derive(Default)]
struct CallIds {
    sent: HashSet<String>,
    /// Of the newest answer, by the ids that it has in the log.
    newest: HashMap<String, String>,
}

impl CallIds {
    /// Begins an answer; with `kept` it is sent as the vendor wrote it.
    fn begin(&mut self, calls: &[ToolCall], kept: bool) {
        self.newest.clear();
        for call in calls {
            let mut id = wire::token(&call.id);
            let mut n = 2;
            while !kept && self.sent.contains(&id) {
                id = wire::token(&format!("{n}_{}", call.id));
                n += 1;
            }
            self.sent.insert(id.clone());
            self.newest.insert(call.id.clone(), id);
        }
    }

    fn of(&self, id: &str) -> String {
        self.newest.get(id).cloned().unwrap_or_else(|| wire::token(id))
    }
}

/// A picture stands as a block of its own behind the results, whose words say what it is.
fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "text", "text": wire::spoken(text) }),
        Part::Picture(picture, data) => {
            json!({ "type": "image", "source": { "type": "base64", "media_type": picture.media, "data": data } })
        }
    }
}

fn assistant(text: &str, calls: &[ToolCall], ids: &CallIds) -> Vec<Value> {
    let mut blocks = Vec::new();
    if calls.is_empty() || !text.trim().is_empty() {
        // Trailing white space at the end of an assistant's message is refused.
        blocks.push(json!({ "type": "text", "text": wire::spoken(text).trim_end() }));
    }
    blocks.extend(calls.iter().map(|call| {
        json!({ "type": "tool_use", "id": ids.of(&call.id), "name": wire::token(&call.name), "input": call.arguments })
    }));
    blocks
}

fn result(result: &ToolResult, ids: &CallIds) -> Value {
    let text = if result.text.is_empty() { "(no output)" } else { &result.text };
    let mut block = json!({ "type": "tool_result", "tool_use_id": ids.of(&result.call_id), "content": text });
    if result.error {
        block["is_error"] = json!(true);
    }
    block
}

/// Reads an answer; blocks of unknown kinds (thinking, …) are passed over, and kept where they have to be given back.
fn parse(whole: &Whole, turn: usize, asker: &Asker<'_>) -> Result<ModelResponse, ModelError> {
    let answer = &whole.value;
    let stop = answer.get("stop_reason").and_then(Value::as_str).unwrap_or_default();
    let blocks = match answer.get("content") {
        Some(Value::Array(blocks)) => blocks.clone(),
        Some(Value::String(text)) => vec![json!({ "type": "text", "text": text })],
        Some(Value::Null) if !stop.is_empty() => Vec::new(),
        _ => {
            let start: String = answer.to_string().chars().take(200).collect();
            return Err(ModelError::Malformed(format!("it has no content: {start}")));
        }
    };
    // A full window ends an answer too, which is charged.
    let truncated = matches!(stop, "max_tokens" | "model_context_window_exceeded");
    let mut response = ModelResponse { truncated, ..ModelResponse::default() };
    for block in &blocks {
        match block.get("type").and_then(Value::as_str) {
            Some("text") => response.text.push_str(block.get("text").and_then(Value::as_str).unwrap_or_default()),
            Some("tool_use") => response.calls.push(call(block)),
            _ => {}
        }
    }
    if stop == "refusal" && response.calls.is_empty() {
        wire::ended_by_server(&mut response.text, stop);
    }
    let given = wire::ids(&response.calls);
    wire::unique_ids(&mut response.calls, turn);
    let has_ids = given.iter().all(|id| !id.is_empty());
    response.vendor = thinking(whole).filter(|_| has_ids).and_then(|it| asker.keep(&it, &response.calls, &given));
    response.usage = usage(answer);
    Ok(response)
}

/// The blocks of an answer that holds thinking, as they came: it has to come back with the calls that it led to
/// (docs.anthropic.com/en/docs/build-with-claude/extended-thinking). Text that says nothing is refused when it is sent.
fn thinking(whole: &Whole) -> Option<Vec<Box<RawValue>>> {
    let blocks = raw::elements(&whole.text, &["content"])?;
    let read = |block: &RawValue| serde_json::from_str::<Value>(block.get()).unwrap_or_default();
    let thinks = blocks.iter().any(|block| is(&read(block), &THINKING));
    let whole = blocks.iter().map(|block| read(block)).all(|block| {
        // Arguments that came as a text are no call of this wire.
        !is(&block, &["tool_use"]) || block["input"].is_object()
    });
    let empty = |block: &Value| is(block, &["text"]) && block["text"].as_str().unwrap_or_default().trim().is_empty();
    (thinks && whole).then(|| blocks.into_iter().filter(|block| !empty(&read(block))).collect())
}

fn is(block: &Value, kinds: &[&str]) -> bool {
    block["type"].as_str().is_some_and(|kind| kinds.contains(&kind))
}

fn call(block: &Value) -> ToolCall {
    let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (arguments, malformed) = wire::arguments(block.get("input"));
    ToolCall { id: text("id"), name: text("name"), arguments, malformed }
}

/// `input_tokens` is already without what the cache read or wrote.
fn usage(answer: &Value) -> Usage {
    let number = |name: &str| wire::count(answer.pointer(&format!("/usage/{name}")));
    Usage {
        input: number("input_tokens"),
        output: number("output_tokens"),
        cache_read: number("cache_read_input_tokens"),
        cache_write: number("cache_creation_input_tokens"),
        reasoning: number("output_tokens_details/thinking_tokens"),
    }
}

#[cfg(test)]
#[path = "anthropic_tests.rs"]
mod tests;
