//! One POST to a vendor, and its answer: whole, or as a stream of events that becomes whole.
//!
//! Owns: the HTTP client (time limits, no redirects), the bounds on what is read of an answer, and every way in which a connection can
//! fail as a [`ModelError`]. Must not: know a vendor's JSON: what a stream's events make is an [`Assembly`]'s, what a refusal means is
//! `refusal`'s. Tests: below, and over the wire in `tests/providers.rs`.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Response, Url};
use serde::Serialize;
use serde_json::Value;

use super::ModelError;
use super::deltas::{BoundedDeltas, Deltas};
use super::refusal::{classify, clean, status_inside};
use super::settings::Settings;
use super::sse;
use crate::config::is_on_this_machine;
use crate::secret::Secret;

/// A token is seldom more than 4 bytes of text, and JSON's escapes at most double them.
const BYTES_PER_TOKEN: u64 = 8;
/// What stands around the model's own words: names, counts, a vendor's metadata; and an error's whole body.
const ENVELOPE: u64 = 64 << 10;
/// What one event of a stream may hold beside the words of a whole answer: OpenAI's last one repeats instructions and tools.
const EVENT_ENVELOPE: u64 = 1 << 20;
/// A stream says each token in an event of its own, with names and counts around it.
const STREAM_BYTES_PER_TOKEN: u64 = 1024;
/// How many times the patience for a whole answer a stream may take that keeps coming.
const STREAM_PATIENCE: u32 = 6;
/// Characters of a key that are taken out also where the rest of it was cut off.
const LEAST_PART: usize = 8;
/// As many tokens as a server's description may be long, some 4 MiB: OpenRouter's list has every model.
const DESCRIPTION: u64 = (4 << 20) / BYTES_PER_TOKEN;
const CONNECT: Duration = Duration::from_secs(10);
/// For the end of a stream whose answer is whole already: the connection can be used again then.
const FAREWELL: Duration = Duration::from_millis(200);

/// A vendor's endpoint with everything that each call repeats.
pub(super) struct Endpoint {
    client: reqwest::Client,
    url: Url,
    /// Where a stream is asked for; the same address on most wires.
    stream_url: Url,
    key: Option<Secret>,
    timeout: Duration,
    idle: Duration,
}

/// A whole answer: its JSON as text, byte for byte where the vendor sent it so, and parsed.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) text: String,
    pub(super) value: Value,
}

/// What follows an event.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Further events.
    More,
    /// Nothing: the answer is whole.
    End,
    /// Nothing: the server gave up, with this error.
    Refused(Value),
}

/// Makes a whole answer, as the wire has it without streaming, of a stream's events.
pub(super) trait Assembly: Send {
    /// Takes the next event: parsed, and as it came.
    fn take(&mut self, event: &Value, raw: &str, deltas_out: &mut BoundedDeltas<'_>) -> Result<Step, ModelError>;
    /// The answer as JSON; none where the stream did not come to its proper end.
    fn whole(self) -> Option<String>;
}

impl Endpoint {
    /// `headers` are sent with each call; the one that carries the key must be marked sensitive.
    pub(super) fn new(url: Url, headers: HeaderMap, settings: &Settings) -> Result<Self, String> {
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("caisson/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .connect_timeout(CONNECT)
            .timeout(settings.timeout)
            // A redirect would carry the key and the conversation to another host.
            .redirect(reqwest::redirect::Policy::none());
        if is_on_this_machine(&url) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|e| format!("the HTTP client for the model can't be made: {e}"))?;
        let (key, timeout, idle) = (settings.key.clone(), settings.timeout, settings.idle);
        Ok(Self { client, stream_url: url.clone(), url, key, timeout, idle })
    }

    /// Asks for streams at an address of their own.
    pub(super) fn streaming_at(self, stream_url: Url) -> Self {
        Self { stream_url, ..self }
    }

    /// Sends one request and returns a successful answer, which may be as long as one of `max_output_tokens`. `stream` asks for events
    /// and makes the answer of them; a server that answers with whole JSON all the same is understood by its `Content-Type`.
    pub(super) async fn ask<A: Assembly>(
        &self,
        body: &(impl Serialize + Sync + ?Sized),
        max_output_tokens: u64,
        stream: Option<A>,
        deltas: &dyn Deltas,
    ) -> Result<Whole, ModelError> {
        self.asked(body, max_output_tokens, stream, deltas).await.map_err(|error| self.without_key(error))
    }

    async fn asked<A: Assembly>(
        &self,
        body: &(impl Serialize + Sync + ?Sized),
        max_output_tokens: u64,
        stream: Option<A>,
        deltas: &dyn Deltas,
    ) -> Result<Whole, ModelError> {
        let url = if stream.is_some() { &self.stream_url } else { &self.url };
        let mut request = self.client.post(url.clone()).json(body);
        if stream.is_some() {
            request = request.timeout(self.timeout * STREAM_PATIENCE);
        }
        let response = self.within(self.timeout, request.send()).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        match stream {
            Some(assembly) if status.is_success() && is_stream(&headers) => {
                self.events(response, max_output_tokens, assembly, deltas).await
            }
            assembly => {
                let bytes = self.read(response, max_output_tokens).await;
                if !status.is_success() {
                    // The status alone says enough when the error's body was cut.
                    let text = bytes.map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default();
                    return Err(classify(status, &headers, &self.redact(&text)));
                }
                let bytes = bytes?;
                match assembly.filter(|_| looks_like_events(&bytes)) {
                    Some(assembly) => self.unlabelled(&bytes, &headers, max_output_tokens, assembly, deltas),
                    None => self.whole(String::from_utf8_lossy(&bytes).into_owned(), &headers),
                }
            }
        }
    }

    /// What a GET of another address on the same host answers: JSON of at most 4 MiB within ten seconds, or nothing.
    pub(super) async fn get(&self, url: &Url) -> Option<Value> {
        self.description(url, self.client.get(url.clone())).await
    }

    /// As [`Endpoint::get`], with a POST.
    pub(super) async fn post(&self, url: &Url, body: &Value) -> Option<Value> {
        self.description(url, self.client.post(url.clone()).json(body)).await
    }

    async fn description(&self, url: &Url, request: reqwest::RequestBuilder) -> Option<Value> {
        if url.origin() != self.url.origin() {
            return None;
        }
        let response = request.timeout(CONNECT).send().await.ok()?.error_for_status().ok()?;
        serde_json::from_slice(&self.read(response, DESCRIPTION).await.ok()?).ok()
    }

    fn whole(&self, text: String, headers: &HeaderMap) -> Result<Whole, ModelError> {
        let value: Value = serde_json::from_str(&text).map_err(|e| {
            let start: String = text.chars().take(200).collect();
            ModelError::Malformed(format!("no JSON ({e}): {}", clean(&self.redact(&start))))
        })?;
        match value.get("error").filter(|e| !e.is_null()) {
            // Proxies put a vendor's refusal into a 200; the code inside stands for the status.
            Some(error) => Err(self.refusal(error, headers)),
            None => Ok(Whole { text, value }),
        }
    }

    fn refusal(&self, error: &Value, headers: &HeaderMap) -> ModelError {
        let body = serde_json::json!({ "error": error }).to_string();
        classify(status_inside(error), headers, &self.redact(&body))
    }

    /// Reads events until the answer is whole. What breaks after that takes nothing back.
    async fn events<A: Assembly>(
        &self,
        mut response: Response,
        max_output_tokens: u64,
        assembly: A,
        deltas: &dyn Deltas,
    ) -> Result<Whole, ModelError> {
        let headers = response.headers().clone();
        let most = max_output_tokens.saturating_mul(STREAM_BYTES_PER_TOKEN).saturating_add(EVENT_ENVELOPE);
        let mut reading = Reading::new(self, &headers, max_output_tokens, assembly, deltas);
        let (mut seen, mut wait) = (0, self.timeout);
        loop {
            match self.within(wait, response.chunk()).await {
                Ok(Some(bytes)) => {
                    seen += bytes.len() as u64;
                    if seen > most {
                        return Err(ModelError::TooLong { limit: most });
                    }
                    let whole = reading.push(&bytes)?;
                    // Until its first word a model may read or reason as long as for a whole answer, whatever was sent to say that it does.
                    wait = if reading.deltas_out.began() { self.idle } else { self.timeout };
                    if whole {
                        // An error here, or none in time, is the connection's matter alone.
                        let _closed = tokio::time::timeout(FAREWELL, response.chunk()).await;
                        return reading.finish(None);
                    }
                }
                Ok(None) => return reading.end(None),
                Err(broken) => return reading.end(Some(broken)),
            }
        }
    }

    /// Events that came under another name, read at once.
    fn unlabelled<A: Assembly>(
        &self,
        bytes: &[u8],
        headers: &HeaderMap,
        max_output_tokens: u64,
        assembly: A,
        deltas: &dyn Deltas,
    ) -> Result<Whole, ModelError> {
        let mut reading = Reading::new(self, headers, max_output_tokens, assembly, deltas);
        match reading.push(bytes)? {
            true => reading.finish(None),
            false => reading.end(None),
        }
    }

    async fn read(&self, mut response: Response, max_output_tokens: u64) -> Result<Vec<u8>, ModelError> {
        let limit = words(max_output_tokens).saturating_add(ENVELOPE);
        let mut bytes = Vec::new();
        while let Some(chunk) = self.within(self.timeout, response.chunk()).await? {
            if (bytes.len() + chunk.len()) as u64 > limit {
                return Err(ModelError::TooLong { limit });
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    /// What `of` gives in time.
    async fn within<T>(
        &self,
        wait: Duration,
        of: impl Future<Output = Result<T, reqwest::Error>>,
    ) -> Result<T, ModelError> {
        match tokio::time::timeout(wait, of).await {
            Ok(result) => result.map_err(|error| self.transport(&error, wait)),
            Err(_) => Err(self.silent(wait)),
        }
    }

    fn transport(&self, error: &reqwest::Error, wait: Duration) -> ModelError {
        let host = self.host();
        if error.is_connect() {
            return ModelError::Unavailable(format!("no connection to {host}{}", deepest(error)));
        }
        if error.is_timeout() {
            return self.silent(wait);
        }
        ModelError::Lost(format!("the connection broke with {host}{}", deepest(error)))
    }

    fn silent(&self, wait: Duration) -> ModelError {
        ModelError::Lost(format!("{} gave no answer within {} s", self.host(), wait.as_secs_f64()))
    }

    fn host(&self) -> String {
        let port = self.url.port_or_known_default().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}{port}", self.url.host_str().unwrap_or("?"))
    }

    /// An error that quotes what a server said, without the key: a server may repeat that anywhere. Answers themselves stay as they are, for a
    /// key of a local server may be any word.
    pub(super) fn without_key(&self, error: ModelError) -> ModelError {
        let deltas_out = |text: String| {
            let text = self.redact(&text);
            // What was cut may end in the middle of it.
            let key = self.key.as_ref().map(Secret::expose).unwrap_or_default();
            let part = |end: &usize| key.is_char_boundary(*end) && text.ends_with(&key[..*end]);
            let tail = (LEAST_PART..key.len()).rev().find(part).unwrap_or(0);
            match tail {
                0 => text,
                _ => format!("{}…", &text[..text.len() - tail]),
            }
        };
        match error {
            ModelError::Unavailable(text) => ModelError::Unavailable(deltas_out(text)),
            ModelError::Lost(text) => ModelError::Lost(deltas_out(text)),
            ModelError::Unauthorized(text) => ModelError::Unauthorized(deltas_out(text)),
            ModelError::Template(text) => ModelError::Template(deltas_out(text)),
            ModelError::NoModel(text) => ModelError::NoModel(deltas_out(text)),
            ModelError::NoTools(text) => ModelError::NoTools(deltas_out(text)),
            ModelError::BadRequest(text) => ModelError::BadRequest(deltas_out(text)),
            ModelError::Malformed(text) => ModelError::Malformed(deltas_out(text)),
            other @ (ModelError::RateLimited { .. } | ModelError::ContextFull | ModelError::TooLong { .. }) => other,
        }
    }

    /// Servers quote a wrong key in their error.
    fn redact(&self, text: &str) -> String {
        match &self.key {
            Some(key) if !key.is_empty() => text.replace(key.expose(), "…"),
            _ => text.to_owned(),
        }
    }
}

/// A stream on its way to an answer.
struct Reading<'a, A> {
    endpoint: &'a Endpoint,
    headers: &'a HeaderMap,
    parser: sse::Parser,
    deltas_out: BoundedDeltas<'a>,
    limit: u64,
    assembly: A,
}

impl<'a, A: Assembly> Reading<'a, A> {
    fn new(
        endpoint: &'a Endpoint,
        headers: &'a HeaderMap,
        max_output_tokens: u64,
        assembly: A,
        deltas: &'a dyn Deltas,
    ) -> Self {
        let limit = words(max_output_tokens).saturating_add(ENVELOPE);
        let event = usize::try_from(limit.saturating_add(EVENT_ENVELOPE)).unwrap_or(usize::MAX);
        Self {
            endpoint,
            headers,
            parser: sse::Parser::new(event),
            deltas_out: BoundedDeltas::new(deltas, limit),
            limit,
            assembly,
        }
    }

    /// True when the answer is whole.
    fn push(&mut self, bytes: &[u8]) -> Result<bool, ModelError> {
        let events = self.parser.push(bytes).map_err(|_| ModelError::TooLong { limit: self.limit })?;
        for event in events {
            if self.event(&event)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn event(&mut self, event: &sse::Event) -> Result<bool, ModelError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return Ok(true);
        }
        if data.is_empty() {
            return Ok(false);
        }
        let value: Value = serde_json::from_str(data).map_err(|e| {
            let start: String = data.chars().take(200).collect();
            ModelError::Malformed(format!("an event is no JSON ({e}): {}", clean(&self.endpoint.redact(&start))))
        })?;
        let error = value.get("error").filter(|error| !error.is_null());
        let is_error = event.name == "error" || value.get("type").is_some_and(|it| it == "error");
        if let Some(error) = error.or(is_error.then_some(&value)) {
            return Err(self.refused(error));
        }
        match self.assembly.take(&value, data, &mut self.deltas_out)? {
            Step::More => Ok(false),
            Step::End => Ok(true),
            Step::Refused(error) => Err(self.refused(&error)),
        }
    }

    /// What is turned away costs nothing. What was begun may have been charged and was no bad request, whatever the error says: it is lost,
    /// unless a person must act or the conversation is too long.
    fn refused(&self, error: &Value) -> ModelError {
        let refusal = self.endpoint.refusal(error, self.headers);
        let lasting = matches!(refusal, ModelError::Unauthorized(_) | ModelError::ContextFull);
        match self.deltas_out.began() && !lasting {
            true => ModelError::Lost(format!("it ended in the middle: {refusal}")),
            false => refusal,
        }
    }

    /// The stream is over, by itself or `broken`.
    fn end(mut self, broken: Option<ModelError>) -> Result<Whole, ModelError> {
        let parser = std::mem::replace(&mut self.parser, sse::Parser::new(0));
        // An event that the end cut off says nothing; one that lacks its empty line does.
        if let Some(event) = parser.rest().filter(|event| serde_json::from_str::<Value>(event.data.trim()).is_ok()) {
            self.event(&event)?;
        }
        self.finish(broken)
    }

    fn finish(self, broken: Option<ModelError>) -> Result<Whole, ModelError> {
        let cut = || ModelError::Lost(format!("{} ended the stream before the answer's end", self.endpoint.host()));
        match (self.assembly.whole(), broken) {
            (Some(text), _) => self.endpoint.whole(text, self.headers),
            (None, Some(broken)) => Err(broken),
            (None, None) => Err(cut()),
        }
    }
}

/// The most that the model's own words can be, in bytes.
fn words(max_output_tokens: u64) -> u64 {
    max_output_tokens.saturating_mul(BYTES_PER_TOKEN)
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}

/// For servers that send events and name them something else.
fn looks_like_events(bytes: &[u8]) -> bool {
    [&b"data:"[..], b"event:", b":"].iter().any(|start| bytes.trim_ascii_start().starts_with(start))
}

/// A header value that neither `Debug` nor HTTP/2's table may keep.
pub(super) fn sensitive(text: &str) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| "the model's key holds characters that no HTTP header can carry; check the key file".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

/// The address of a call: `base` with `path` behind it, where a base that already ends in a part of it is taken as meant.
pub(super) fn join(base: &str, path: &[&str]) -> Result<Url, String> {
    let mut url = Url::parse(base).map_err(|e| format!("the model's base_url {base:?} is no address: {e}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("the model's base_url {base:?} must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the model's base_url must not hold a name or password; use key_file".to_owned());
    }
    let mut parts: Vec<String> = url.path().split('/').filter(|p| !p.is_empty()).map(str::to_owned).collect();
    let overlap = (0..=path.len().min(parts.len()))
        .rev()
        .find(|&n| parts[parts.len() - n..].iter().map(String::as_str).eq(path[..n].iter().copied()))
        .unwrap_or(0);
    parts.extend(path[overlap..].iter().map(|p| (*p).to_owned()));
    url.set_path(&parts.join("/"));
    Ok(url)
}

/// The innermost cause: reqwest's own sentence repeats the address and says little.
fn deepest(error: &reqwest::Error) -> String {
    let mut source = std::error::Error::source(error);
    let mut text = String::new();
    while let Some(inner) = source {
        text = format!(": {}", clean(&inner.to_string()));
        source = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_joined_as_people_mean_them() {
        let chat = ["v1", "chat", "completions"];
        let joined = |base: &str| join(base, &chat).unwrap().to_string();
        assert_eq!(joined("http://h:1"), "http://h:1/v1/chat/completions");
        assert_eq!(joined("http://h:1/v1/"), "http://h:1/v1/chat/completions");
        assert_eq!(joined("https://h/api/v1/chat/completions"), "https://h/api/v1/chat/completions");
        assert!(join("ftp://h", &chat).is_err());
        assert!(join("h:1", &chat).is_err());
        assert!(join("https://me:pw@h", &chat).unwrap_err().contains("key_file"));
    }
}
