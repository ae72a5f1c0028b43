//! One HTTP client for all requests to the forge, and the calls for which the SDK is unsuitable.
//! Owns the token, timeouts, size limit, paging, and the conversion of failures to a [`ForgeError`].
//! Must not know what an answer means. Tests: below, and the contract suite.

use crate::config::is_on_this_machine;
use crate::forge::{ForgeError, Result};
use crate::secret::Secret;
use crate::text::root_cause;
use reqwest::{Method, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;
use url::Url;

/// The most bytes of an answer; a page of fifty objects is far smaller.
const MAX_ANSWER: usize = 32 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(30);
/// Gitea's default page limit; a server with a lower one is noticed by its total.
const PAGE: usize = 50;
const MAX_PAGES: usize = 400;

/// Whether the request changes something, which decides what a lost answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestKind {
    Read,
    Write,
}

/// Authentication. Basic is only for creating tokens, which Gitea allows in no other way.
#[derive(Debug, Clone)]
pub(super) enum Credential {
    Token(Secret),
    Basic { user: String, password: Secret },
}

#[derive(Debug, Clone)]
pub(super) struct Raw {
    http: reqwest::Client,
    base: String,
    credential: Credential,
}

/// A successful answer: its status (200, 201, 204 …), body, `X-Total-Count`, and `Date` (Unix milliseconds).
pub(super) struct RawResponse {
    pub status: StatusCode,
    pub body: Vec<u8>,
    pub total: Option<usize>,
    pub date: Option<i64>,
}

/// The client of the forge at `base`, also used by the SDK: no redirects (a redirected POST would silently become a GET), limited waits; no
/// proxy is told the tokens of a forge on this machine.
pub(super) fn http_client(base: &Url, user_agent: &str) -> Result<reqwest::Client> {
    let builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TIMEOUT)
        .user_agent(user_agent);
    let builder = if is_on_this_machine(base) { builder.no_proxy() } else { builder };
    builder.build().map_err(|e| ForgeError::Protocol(format!("the HTTP client cannot be built: {}", e.without_url())))
}

impl Raw {
    pub fn new(http: reqwest::Client, base: &Url, credential: Credential) -> Self {
        Self { http, base: base.as_str().trim_end_matches('/').to_owned(), credential }
    }

    /// `path` is below `/api/v1` and already escaped (see [`seg`]).
    pub async fn send(
        &self,
        kind: RequestKind,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<RawResponse> {
        let request = self.http.request(method.clone(), format!("{}/api/v1{path}", self.base));
        let mut request = self.proven(request.header(header::ACCEPT, "application/json"))?;
        if let Some(body) = body {
            request = request.json(body);
        }
        let what = format!("{method} {}", path.split('?').next().unwrap_or(path));
        let response = request.send().await.map_err(|e| from_transport(kind, &what, e))?;
        take(kind, &what, response, MAX_ANSWER).await
    }

    /// Adds the credential.
    fn proven(&self, request: reqwest::RequestBuilder) -> Result<reqwest::RequestBuilder> {
        Ok(match &self.credential {
            Credential::Token(token) => {
                let mut value = header::HeaderValue::from_str(&format!("token {}", token.expose()))
                    .map_err(|_| ForgeError::Forbidden("the token holds characters that no token has".into()))?;
                value.set_sensitive(true);
                request.header(header::AUTHORIZATION, value)
            }
            Credential::Basic { user, password } => request.basic_auth(user, Some(password.expose())),
        })
    }

    /// Fetches a file below the forge's own address, and never from elsewhere: a forge with external storage answers with a redirect, which
    /// is "not found".
    pub async fn file(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        let request = self.proven(self.http.get(format!("{}{path}", self.base)))?;
        let what = format!("GET {path}");
        let response = request.send().await.map_err(|e| from_transport(RequestKind::Read, &what, e))?;
        if response.status().is_redirection() {
            return Err(ForgeError::NotFound(format!("{what}: the forge keeps it elsewhere")));
        }
        let most = usize::try_from(most).unwrap_or(MAX_ANSWER).min(MAX_ANSWER);
        Ok(take(RequestKind::Read, &what, response, most).await?.body)
    }

    /// The last `most` bytes of a file below `/api/v1`; what is before them is read and dropped.
    pub async fn tail(&self, path: &str, most: usize) -> Result<Vec<u8>> {
        let request = self.proven(self.http.get(format!("{}/api/v1{path}", self.base)))?;
        let what = format!("GET {path}");
        let mut response = request.send().await.map_err(|e| from_transport(RequestKind::Read, &what, e))?;
        if !response.status().is_success() {
            return take(RequestKind::Read, &what, response, MAX_ANSWER).await.map(|answer| answer.body);
        }
        let (mut end, mut all) = (Vec::new(), 0);
        while let Some(chunk) = response.chunk().await.map_err(|e| from_transport(RequestKind::Read, &what, e))? {
            all += chunk.len();
            if all > MAX_ANSWER {
                return Err(ForgeError::TooLarge(format!("{what} is over {} MiB", MAX_ANSWER >> 20)));
            }
            end.extend_from_slice(&chunk);
            // Cut rarely, so that a long file is not moved for each of its pieces.
            if end.len() > 2 * most {
                end.drain(..end.len() - most);
            }
        }
        end.drain(..end.len().saturating_sub(most));
        Ok(end)
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let answer = self.send(RequestKind::Read, Method::GET, path, None).await?;
        decode(RequestKind::Read, path, &answer.body)
    }

    /// As `get`, with `None` if it does not exist.
    pub async fn find<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>> {
        match self.get(path).await {
            Ok(found) => Ok(Some(found)),
            Err(ForgeError::NotFound(_)) => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub async fn write<T: DeserializeOwned>(&self, method: Method, path: &str, body: &Value) -> Result<T> {
        let answer = self.send(RequestKind::Write, method, path, Some(body)).await?;
        decode(RequestKind::Write, path, &answer.body)
    }

    /// A write whose answer's body is ignored.
    pub async fn put(&self, method: Method, path: &str, body: Option<&Value>) -> Result<()> {
        self.send(RequestKind::Write, method, path, body).await.map(drop)
    }

    /// As `put`, where "not found" is success.
    pub async fn delete(&self, path: &str) -> Result<()> {
        match self.put(Method::DELETE, path, None).await {
            Err(ForgeError::NotFound(_)) => Ok(()),
            other => other,
        }
    }

    /// All pages of a list; `null` counts as empty. `path` may have a query.
    pub async fn pages<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>> {
        self.few_pages(path, MAX_PAGES).await
    }

    /// The same with at most so many requests; a longer list is too large.
    pub async fn few_pages<T: DeserializeOwned>(&self, path: &str, most: usize) -> Result<Vec<T>> {
        let joint = if path.contains('?') { '&' } else { '?' };
        let (mut all, mut page, mut limit) = (Vec::new(), 1, PAGE);
        for _ in 0..most {
            let at = format!("{path}{joint}page={page}&limit={limit}");
            let answer = match self.send(RequestKind::Read, Method::GET, &at, None).await {
                // The entries are long, so fewer are requested at a time, from the start of the next page.
                Err(ForgeError::TooLarge(_)) if limit > 1 => {
                    limit = shorter(limit, all.len());
                    page = all.len() / limit + 1;
                    continue;
                }
                answer => answer?,
            };
            page += 1;
            let items: Option<Vec<T>> = decode(RequestKind::Read, path, &answer.body)?;
            let items = items.unwrap_or_default();
            let got = items.len();
            all.extend(items);
            let complete = answer.total.map_or(got < limit, |total| all.len() >= total);
            if got == 0 || complete {
                return Ok(all);
            }
        }
        let path = path.split('?').next().unwrap_or(path);
        Err(ForgeError::TooLarge(format!("GET {path} has over {} entries", most * PAGE)))
    }
}

/// The next smaller page size by which `taken` entries can be divided.
fn shorter(limit: usize, taken: usize) -> usize {
    [25, 10, 5].into_iter().find(|size| *size < limit && taken.is_multiple_of(*size)).unwrap_or(1)
}

/// One path segment, escaped.
pub(super) fn seg(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, b| {
        if b.is_ascii_alphanumeric()
            || matches!(b, b'-' | b'_' | b'~')
            || (b == b'.' && !text.trim_matches('.').is_empty())
        {
            out.push(char::from(b));
        } else {
            out.push_str(&format!("%{b:02X}"));
        }
        out
    })
}

fn decode<T: DeserializeOwned>(kind: RequestKind, path: &str, body: &[u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|e| {
        let text = format!("{}: {e}", path.split('?').next().unwrap_or(path));
        // An answered write was done, but its answer is unusable, so it has to be read back.
        if kind == RequestKind::Write { ForgeError::Ambiguous(text) } else { ForgeError::Protocol(text) }
    })
}

pub(super) fn from_transport(kind: RequestKind, what: &str, error: reqwest::Error) -> ForgeError {
    let never_sent = error.is_connect() || error.is_builder();
    let timeout = error.is_timeout();
    let text =
        format!("{what}: {}{}", if timeout { "no answer in time: " } else { "" }, root_cause(&error.without_url()));
    if kind == RequestKind::Write && !never_sent {
        return ForgeError::Ambiguous(text);
    }
    ForgeError::Unavailable { text, retry_after_ms: None }
}

async fn take(kind: RequestKind, what: &str, mut response: reqwest::Response, most: usize) -> Result<RawResponse> {
    let status = response.status();
    let header = |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok()?.trim().parse::<u64>().ok());
    let total = header("x-total-count").and_then(|n| usize::try_from(n).ok());
    let retry_after_ms = header("retry-after").map(|s| s.saturating_mul(1000));
    let date = response.headers().get(header::DATE).and_then(|v| v.to_str().ok());
    let date = date.and_then(|text| jiff::fmt::rfc2822::parse(text).ok()).map(|at| at.timestamp().as_millisecond());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|e| from_transport(kind, what, e))? {
        if body.len() + chunk.len() > most {
            return Err(ForgeError::TooLarge(format!("{what} is over {} MiB", most >> 20)));
        }
        body.extend_from_slice(&chunk);
    }
    if status.is_success() {
        return Ok(RawResponse { status, body, total, date });
    }
    Err(from_status(kind, what, status.as_u16(), &message(&body), retry_after_ms))
}

/// The `message` of Gitea's error JSON; nothing of any other body (such as a proxy's HTML page).
pub(super) fn message(body: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct ErrorBody {
        message: Option<String>,
    }
    let said = serde_json::from_slice::<ErrorBody>(body).ok().and_then(|s| s.message).unwrap_or_default();
    said.chars().filter(|c| !c.is_control()).take(300).collect()
}

pub(super) fn from_status(
    kind: RequestKind,
    what: &str,
    status: u16,
    words: &str,
    retry_after_ms: Option<u64>,
) -> ForgeError {
    let text = if words.is_empty() { format!("{what}: {status}") } else { format!("{what}: {status} {words}") };
    match status {
        301 | 302 | 303 | 307 | 308 => ForgeError::Moved(text),
        401 | 403 => ForgeError::Forbidden(text),
        404 | 410 => ForgeError::NotFound(text),
        405 | 409 | 423 => ForgeError::Conflict(text),
        // Refused before anything was done, even for writes, because of overload.
        429 => ForgeError::Unavailable { text, retry_after_ms },
        400..=499 => ForgeError::Invalid(text),
        500..=599 if kind == RequestKind::Write => ForgeError::Ambiguous(text),
        500..=599 => ForgeError::Unavailable { text, retry_after_ms },
        _ => ForgeError::Protocol(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_cannot_leave_its_place() {
        assert_eq!(seg("agent/1-add"), "agent%2F1-add");
        assert_eq!(seg(".."), "%2E%2E");
        assert_eq!(seg("a.b?c#d e"), "a.b%3Fc%23d%20e");
    }

    #[test]
    fn a_shorter_page_begins_where_the_last_one_ended() {
        assert_eq!([shorter(50, 0), shorter(50, 50), shorter(25, 50), shorter(5, 50)], [25, 25, 10, 1]);
        assert_eq!([shorter(50, 30), shorter(10, 30), shorter(50, 31)], [10, 5, 1], "the server gave fewer");
    }

    #[test]
    fn a_lost_write_is_ambiguous_and_a_lost_read_is_not() {
        assert!(matches!(from_status(RequestKind::Write, "POST /x", 502, "", None), ForgeError::Ambiguous(_)));
        assert!(matches!(from_status(RequestKind::Read, "GET /x", 502, "", None), ForgeError::Unavailable { .. }));
        let busy = from_status(RequestKind::Write, "POST /x", 429, "", Some(3000));
        assert!(matches!(busy, ForgeError::Unavailable { retry_after_ms: Some(3000), .. }));
        assert!(matches!(from_status(RequestKind::Read, "GET /x", 301, "", None), ForgeError::Moved(_)));
    }

    #[test]
    fn an_html_page_is_not_repeated() {
        assert_eq!(message(b"<html>secret proxy page</html>"), "");
        assert_eq!(message(br#"{"message":"no such\nthing"}"#), "no suchthing");
    }

    #[test]
    fn debug_shows_no_token() {
        let url = Url::parse("http://127.0.0.1:1/").unwrap();
        let raw = Raw::new(http_client(&url, "t").unwrap(), &url, Credential::Token(Secret::new("verysecret")));
        assert!(!format!("{raw:?}").contains("verysecret"));
    }

    /// A server whose list has no end, and the requests that it got.
    fn endless() -> (Url, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let got = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = got.clone();
        std::thread::spawn(move || {
            let body = serde_json::to_string(&vec![1; PAGE]).unwrap();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]).unwrap();
                counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
            }
        });
        (url, got)
    }

    #[tokio::test]
    async fn a_list_that_is_read_often_takes_few_requests() {
        let (url, got) = endless();
        let raw = Raw::new(http_client(&url, "t").unwrap(), &url, Credential::Token(Secret::new("verysecret")));
        let read = raw.few_pages::<u32>("/endless", 3).await;
        assert!(matches!(read, Err(ForgeError::TooLarge(_))), "{read:?}");
        assert_eq!(got.load(std::sync::atomic::Ordering::SeqCst), 3);
    }
}
