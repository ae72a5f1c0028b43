//! What a refusal means.
//!
//! Owns: the classification of a server's error, by its status, headers and body, into a [`ModelError`], and how a server's text is shown.
//! Must not: know a vendor's JSON beyond where an error's text, code and time to wait stand.
//! Shapes: OpenAI (platform.openai.com/docs/guides/error-codes), Anthropic (docs.anthropic.com/en/api/errors), Google
//! (ai.google.dev/gemini-api/docs/troubleshooting; google.rpc.Status with ErrorInfo and RetryInfo). Tests: beside this file, and over the
//! wire in `tests/providers.rs`.

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::ModelError;

/// How much of a server's error text is kept, in characters.
const MAX_TEXT: usize = 400;

/// The meaning of a refusal. `body` is whatever came: a vendor's JSON, a proxy's HTML, nothing.
pub(super) fn classify(status: StatusCode, headers: &HeaderMap, body: &str) -> ModelError {
    let json: Option<Value> = serde_json::from_str(body).ok();
    let code = json.as_ref().map(error_code).unwrap_or_default();
    let text = json.as_ref().and_then(error_text).unwrap_or_else(|| plain(body));
    let shown = match text.is_empty() {
        true => format!("HTTP {}", status.as_u16()),
        false => format!("HTTP {}, {}", status.as_u16(), clean(&text)),
    };
    let retry_after_ms = retry_after(headers).or_else(|| json.as_ref().and_then(retry_info));
    // Anthropic gives both the type of any malformed request; the second is the limit that its customer set.
    let spent = ["credit balance is too low", "reached your specified api usage limits"];
    let is_spent = spent.iter().any(|words| text.to_lowercase().contains(words));
    if is_spent
        || code.contains("insufficient_quota")
        || code.contains("billing")
        || status == StatusCode::PAYMENT_REQUIRED
    {
        return ModelError::Unauthorized(format!("{shown} (no credit is left for this key)"));
    }
    match status.as_u16() {
        // Larger than the limit of a whole minute: waiting does not make it fit.
        429 if is_over_a_whole_minute(&text) => ModelError::ContextFull,
        429 | 529 => ModelError::RateLimited { retry_after_ms },
        413 => ModelError::ContextFull,
        _ if is_overflow(&code, &text) => ModelError::ContextFull,
        400 | 422 | 500 if is_of_the_template(&text) => ModelError::Template(shown),
        400 | 404 | 422 if is_of_tools(&text) => ModelError::NoTools(shown),
        401 | 403 => ModelError::Unauthorized(shown),
        400 if code.contains("api_key_invalid") => ModelError::Unauthorized(shown),
        400 | 404 | 422 if is_of_the_name(status, &code, &text) => ModelError::NoModel(shown),
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
/// vLLM, Ollama, OpenRouter, Gemini, xAI, Moonshot, LM Studio, MiniMax, Qwen (each from its documentation, its source's error strings, or a report).
fn is_overflow(code: &str, text: &str) -> bool {
    const CODES: [&str; 3] = ["context_length_exceeded", "exceed_context_size", "request_too_large"];
    const WORDS: [&str; 18] = [
        "maximum context length",
        "context length is only",
        "prompt is too long",
        "exceeds the available context",
        "exceed context window",
        "exceeds the context window",
        "exceed context limit",
        "context length exceeded",
        "input is too long",
        "longer than the context",
        "exceeds the maximum number of tokens",
        "maximum prompt length is",
        "exceeded model token limit",
        "context length of only",
        "greater than the context length",
        "context window exceeds limit",
        "range of input length should be",
        "prompt too long; exceeded",
    ];
    let text = text.to_lowercase();
    CODES.iter().any(|c| code.contains(c)) || WORDS.iter().any(|w| text.contains(w))
}

/// The words by which OpenAI and Groq say that one request takes more tokens than a minute's limit. Where the limit is only used up, they say
/// "Rate limit reached".
fn is_over_a_whole_minute(text: &str) -> bool {
    let text = text.to_lowercase();
    text.contains("request too large") && (text.contains("tokens per min") || text.contains("must be reduced"))
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

/// The words by which servers say that a model knows no tools: Ollama, OpenRouter, vLLM, Groq, DeepSeek. One that speaks of streams may take
/// tools without.
fn is_of_tools(text: &str) -> bool {
    const WORDS: [&str; 6] = [
        "does not support tools",
        "support tool use",
        "requires --enable-auto-tool-choice",
        "tool calling` is not supported",
        "tool calling is not supported",
        "does not support function calling",
    ];
    let text = text.to_lowercase();
    WORDS.iter().any(|word| text.contains(word)) && !text.contains("stream")
}

/// Whether a refusal is about the model's name: by OpenAI's and Groq's codes, by the words of OpenRouter, DeepSeek and LiteLLM, and of any
/// other server where it finds something missing that is a model. One that speaks of the address, of another one that the model has, or of
/// a policy that leaves no server of it (OpenRouter's "No endpoints found matching your data policy"), means that.
fn is_of_the_name(status: StatusCode, code: &str, text: &str) -> bool {
    const CODES: [&str; 2] = ["model_not_found", "model_decommissioned"];
    const WORDS: [&str; 5] =
        ["not a valid model", "model not exist", "invalid model name", "model not found", "no endpoints found for "];
    let text = text.to_lowercase();
    let missing = status == StatusCode::NOT_FOUND || code.contains("not_found_error");
    CODES.iter().any(|known| code.contains(known))
        || WORDS.iter().any(|word| text.contains(word))
        || missing
            && text.contains("model")
            && !["url", "supported in", "no endpoints found matching"].iter().any(|word| text.contains(word))
}

/// An error's machine-readable names, joined: `error.code`, `error.type`, `error.status`, `code`, `type`, and Google's reasons.
fn error_code(body: &Value) -> String {
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
    let error = body.get("error").unwrap_or(body);
    let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    let reasons = details.filter_map(|detail| detail.get("reason"));
    let fields = [error.get("code"), error.get("type"), error.get("status"), body.get("code")];
    let fields = fields.into_iter().flatten().chain(reasons);
    let names = fields.map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
    names.collect::<Vec<_>>().join(" ").to_lowercase()
}

fn error_text(body: &Value) -> Option<String> {
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
    let error = body.get("error").unwrap_or(body);
    let candidates = [error.get("message"), Some(error), body.get("message"), body.get("detail")];
    let found = candidates.into_iter().flatten().find_map(|v| v.as_str().filter(|s| !s.is_empty()).map(str::to_owned));
    let found = found.or_else(|| body.get("detail").map(Value::to_string));
    // OpenRouter says that its provider refused, and puts the provider's own words beside that.
    let raw = error.pointer("/metadata/raw").filter(|raw| !raw.is_null());
    let raw = raw.map(|raw| raw.as_str().map_or_else(|| raw.to_string(), str::to_owned)).filter(|raw| !raw.is_empty());
    match (found, raw) {
        (Some(found), Some(raw)) => Some(format!("{found}: {raw}")),
        (found, raw) => found.or(raw),
    }
}

/// The status that an error object inside a 200 stands for.
pub(super) fn status_inside(error: &Value) -> StatusCode {
    let number = [error.get("code"), error.get("status")].into_iter().flatten().find_map(|v| {
        let number = v.as_u64().or_else(|| v.as_str()?.parse().ok())?;
        StatusCode::from_u16(u16::try_from(number).ok()?).ok().filter(|s| s.as_u16() >= 400)
    });
    let names = [error.get("type"), error.get("code"), error.get("status")].into_iter().flatten();
    let kind = names.filter_map(Value::as_str).collect::<Vec<_>>().join(" ").to_lowercase();
    number.unwrap_or(match kind.as_str() {
        k if k.contains("rate_limit") || k.contains("resource_exhausted") => StatusCode::TOO_MANY_REQUESTS,
        k if k.contains("overloaded") || k.contains("server_error") || k.contains("unavailable") => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        k if k == "api_error" || k.contains("timeout") => StatusCode::SERVICE_UNAVAILABLE,
        k if k.contains("authentication") || k.contains("permission") || k.contains("api_key") => {
            StatusCode::UNAUTHORIZED
        }
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

/// Google's `RetryInfo`, as `"34s"` or `"34.07s"`, in milliseconds.
fn retry_info(body: &Value) -> Option<u64> {
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
    let details = body.pointer("/error/details").and_then(Value::as_array)?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    (seconds >= 0.0).then_some((seconds * 1000.0).ceil() as u64)
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
pub(super) fn clean(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
