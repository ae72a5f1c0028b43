//! One POST to a vendor, and what its refusal means.
//!
//! Owns: the HTTP client (time limits, no redirects, a cap on the answer's size) and the classification of every way in which
//! a call can fail into a [`ModelError`]. Must not: know either vendor's JSON beyond where an error's text and code stand.
//! Tests: below, and over the wire in `tests/providers.rs`.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{StatusCode, Url};
use serde_json::Value;

use super::ModelError;
use crate::secret::Secret;

/// A token is seldom more than 4 bytes of text, and JSON's escapes at most double them.
const BYTES_PER_TOKEN: u64 = 8;
/// What stands around the model's own words: names, counts, a vendor's metadata; and an error's whole body.
const ENVELOPE: u64 = 64 << 10;
const CONNECT: Duration = Duration::from_secs(10);
/// How much of a server's error text is kept, in characters.
const MAX_TEXT: usize = 400;

/// A vendor's endpoint with everything that each call repeats.
pub(super) struct Endpoint {
    client: reqwest::Client,
    url: Url,
    key: Option<Secret>,
    timeout: Duration,
}

impl Endpoint {
    /// `headers` are sent with each call; the one that carries the key must be marked sensitive.
    pub(super) fn new(url: Url, key: Option<Secret>, headers: HeaderMap, timeout: Duration) -> Result<Self, String> {
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("caisson/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .connect_timeout(CONNECT)
            .timeout(timeout)
            // A redirect would carry the key and the conversation to another host.
            .redirect(reqwest::redirect::Policy::none());
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|e| format!("the HTTP client for the model can't be made: {e}"))?;
        Ok(Self { client, url, key, timeout })
    }

    /// Sends one request and returns the JSON of a successful answer, which may be as long as one of `max_output_tokens`.
    pub(super) async fn post(&self, body: &Value, max_output_tokens: u64) -> Result<Value, ModelError> {
        let sent = self.client.post(self.url.clone()).json(body).send().await;
        let response = sent.map_err(|e| self.transport(&e))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = self.read(response, max_output_tokens).await;
        if !status.is_success() {
            // The status alone says enough when the error's body was cut.
            let text = bytes.map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default();
            return Err(classify(status, &headers, &self.redact(&text)));
        }
        let bytes = bytes?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|e| {
            let start = self.redact(&String::from_utf8_lossy(&bytes[..bytes.len().min(200)]));
            ModelError::Malformed(format!("no JSON ({e}): {}", clean(&start)))
        })?;
        if let Some(error) = value.get("error").filter(|e| !e.is_null()) {
            // Proxies put a vendor's refusal into a 200; the code inside stands for the status.
            let status = status_inside(error);
            return Err(classify(status, &headers, &self.redact(&value.to_string())));
        }
        Ok(value)
    }

    /// What a GET of another address on the same host answers: JSON of at most 64 KiB within ten seconds, or nothing.
    pub(super) async fn get(&self, url: &Url) -> Option<Value> {
        if url.origin() != self.url.origin() {
            return None;
        }
        let sent = self.client.get(url.clone()).timeout(CONNECT).send().await.ok()?;
        let response = sent.error_for_status().ok()?;
        serde_json::from_slice(&self.read(response, 0).await.ok()?).ok()
    }

    async fn read(&self, mut response: reqwest::Response, max_output_tokens: u64) -> Result<Vec<u8>, ModelError> {
        let limit = max_output_tokens.saturating_mul(BYTES_PER_TOKEN).saturating_add(ENVELOPE);
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| self.transport(&e))? {
            if (bytes.len() + chunk.len()) as u64 > limit {
                return Err(ModelError::TooLong { limit });
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    fn transport(&self, error: &reqwest::Error) -> ModelError {
        let host = self.url.host_str().unwrap_or("?");
        let port = self.url.port_or_known_default().map(|p| format!(":{p}")).unwrap_or_default();
        if error.is_connect() {
            return ModelError::Unavailable(format!("no connection to {host}{port}{}", deepest(error)));
        }
        if error.is_timeout() {
            return ModelError::Lost(format!("{host}{port} gave no answer within {} s", self.timeout.as_secs()));
        }
        ModelError::Lost(format!("the connection broke with {host}{port}{}", deepest(error)))
    }

    /// Servers quote a wrong key in their error.
    fn redact(&self, text: &str) -> String {
        match &self.key {
            Some(key) if !key.is_empty() => text.replace(key.expose(), "…"),
            _ => text.to_owned(),
        }
    }
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

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
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

/// The meaning of a refusal. `body` is whatever came: a vendor's JSON, a proxy's HTML, nothing.
pub(super) fn classify(status: StatusCode, headers: &HeaderMap, body: &str) -> ModelError {
    let json: Option<Value> = serde_json::from_str(body).ok();
    let code = json.as_ref().map(error_code).unwrap_or_default();
    let text = json.as_ref().and_then(error_text).unwrap_or_else(|| plain(body));
    let shown = match text.is_empty() {
        true => format!("HTTP {}", status.as_u16()),
        false => format!("HTTP {}, {}", status.as_u16(), clean(&text)),
    };
    let retry_after_ms = retry_after(headers);
    if code.contains("insufficient_quota") || code.contains("billing") || status == StatusCode::PAYMENT_REQUIRED {
        return ModelError::Unauthorized(format!("{shown} (no credit is left for this key)"));
    }
    match status.as_u16() {
        429 | 529 => ModelError::RateLimited { retry_after_ms },
        413 => ModelError::ContextFull,
        _ if is_overflow(&code, &text) => ModelError::ContextFull,
        400 | 422 | 500 if is_of_the_template(&text) => ModelError::Template(shown),
        401 | 403 => ModelError::Unauthorized(shown),
        503 if retry_after_ms.is_some() => ModelError::RateLimited { retry_after_ms },
        408 | 409 | 425 | 500..=599 => ModelError::Unavailable(shown),
        300..=399 => {
            ModelError::BadRequest(format!("{shown}: it redirects, and redirects aren't followed; check base_url"))
        }
        404 | 405 => ModelError::BadRequest(format!("{shown}; check base_url and the model's name")),
        _ => ModelError::BadRequest(shown),
    }
}

/// The words by which servers say that the conversation is too long: OpenAI, Anthropic, llama.cpp and its Python server,
/// vLLM, Ollama, OpenRouter (each from its documentation or its source's error strings).
fn is_overflow(code: &str, text: &str) -> bool {
    const CODES: [&str; 3] = ["context_length_exceeded", "exceed_context_size", "request_too_large"];
    const WORDS: [&str; 9] = [
        "maximum context length",
        "prompt is too long",
        "exceeds the available context",
        "exceed context window",
        "exceeds the context window",
        "exceed context limit",
        "context length exceeded",
        "input is too long",
        "longer than the context",
    ];
    let text = text.to_lowercase();
    CODES.iter().any(|c| code.contains(c)) || WORDS.iter().any(|w| text.contains(w))
}

/// The words by which a chat template refuses a conversation, from the templates that ship with models; llama.cpp answers 500 with them
/// ("Jinja Exception: …"), vLLM 400.
fn is_of_the_template(text: &str) -> bool {
    const WORDS: [&str; 8] = [
        "jinja exception",
        "requires --jinja",
        "system role not supported",
        "roles must alternate",
        "roles are supported",
        "message role",
        "chat template",
        "tool role",
    ];
    let text = text.to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// An error's machine-readable names, joined: `error.code`, `error.type`, `code`, `type`.
fn error_code(body: &Value) -> String {
    let error = body.get("error").unwrap_or(body);
    let fields = [error.get("code"), error.get("type"), body.get("code")];
    let names = fields.into_iter().flatten().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
    names.collect::<Vec<_>>().join(" ").to_lowercase()
}

fn error_text(body: &Value) -> Option<String> {
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
    let error = body.get("error").unwrap_or(body);
    let candidates = [error.get("message"), Some(error), body.get("message"), body.get("detail")];
    let found = candidates.into_iter().flatten().find_map(|v| v.as_str().filter(|s| !s.is_empty()).map(str::to_owned));
    found.or_else(|| body.get("detail").map(Value::to_string))
}

/// The status that an error object inside a 200 stands for.
fn status_inside(error: &Value) -> StatusCode {
    let number = [error.get("code"), error.get("status")].into_iter().flatten().find_map(|v| {
        let number = v.as_u64().or_else(|| v.as_str()?.parse().ok())?;
        StatusCode::from_u16(u16::try_from(number).ok()?).ok().filter(|s| s.as_u16() >= 400)
    });
    let kind = error.get("type").and_then(Value::as_str).unwrap_or_default();
    number.unwrap_or(match kind {
        k if k.contains("rate_limit") => StatusCode::TOO_MANY_REQUESTS,
        k if k.contains("overloaded") || k.contains("server") || k.contains("api_error") => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        k if k.contains("authentication") || k.contains("permission") => StatusCode::UNAUTHORIZED,
        _ => StatusCode::BAD_REQUEST,
    })
}

/// `retry-after-ms` (OpenAI), or `Retry-After` in seconds or as a date (RFC 9110, 10.2.3).
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|t| t.parse::<f64>().ok()).filter(|ms| *ms >= 0.0) {
        return Some(ms.ceil() as u64);
    }
    let value = text("retry-after")?;
    if let Ok(seconds) = value.parse::<f64>() {
        return (seconds >= 0.0).then_some((seconds * 1000.0).ceil() as u64);
    }
    let at = jiff::fmt::rfc2822::parse(value).ok()?.timestamp().as_millisecond();
    u64::try_from(at.saturating_sub(jiff::Timestamp::now().as_millisecond()).max(0)).ok()
}

/// A body that isn't JSON, without its mark-up.
fn plain(body: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for c in body.chars().take(4096) {
        match c {
            '<' => inside = true,
            '>' => inside = false,
            c if !inside => text.push(c),
            _ => {}
        }
    }
    text
}

/// One line without control characters, of bounded length: a server's text ends in logs and in comments.
fn clean(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
