//! What GitHub, or GitHub Enterprise, says about one of its repositories, through octocrab. Answers are GitHub's REST API of 2022-11-28
//! (docs.github.com/rest/repos/repos: 200; 301 with a `location` for a renamed one; 403 or 429 with `x-ratelimit-reset` or `retry-after` at a
//! limit, or with words alone; 404 for what does not exist and for what the token may not see).

use super::answers::Answers;
use crate::config::process::UpstreamHost;
use crate::git::{GitError, RemoteUrl};
use crate::text::{one_line, root_cause};
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderName, header};
use octocrab::Octocrab;
use serde::Deserialize;
use std::time::Duration;
use url::Url;

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Seconds to wait at a limit of which no header says how long it lasts (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api:
/// *at least one minute*).
const UNNAMED_WAIT: u64 = 60;
/// The most bytes of an answer; a page of a hundred issues, each as long as GitHub takes one, has fewer.
const MOST_BODY: usize = 64 << 20;
/// The version of the API that is asked for.
const VERSION: &str = "2022-11-28";

/// Status, seconds until more requests are taken (none where there is no such limit now), and body.
type Reply = (u16, Option<u64>, String);

/// A GitHub server.
pub struct GitHub {
    client: Octocrab,
    web: Url,
    api: Url,
    /// Whether a token is sent.
    token: bool,
    /// What it answered before.
    answers: Answers,
}

/// A repository on GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnGitHub {
    /// GitHub's number of it, which stays when it is renamed; above 0.
    pub id: u64,
    /// Its owner and name as they are now: another than was asked for where it was renamed.
    pub full_name: String,
    /// Whether only those with a right can read it.
    pub private: bool,
    /// Whether it takes no more changes.
    pub archived: bool,
    /// Numbers of the repository that it is a fork of, and of the one at the root of those forks; empty where it is none.
    pub forked_from: Vec<u64>,
}

impl OnGitHub {
    /// Whether the two are one repository, or belong to the forks of one: only between those GitHub takes a pull request.
    pub fn is_related_to(&self, other: &Self) -> bool {
        let family = |it: &Self| std::iter::once(it.id).chain(it.forked_from.clone()).collect::<Vec<_>>();
        let others = family(other);
        family(self).iter().any(|id| others.contains(id))
    }
}

/// Why GitHub does not say.
#[derive(Debug, thiserror::Error)]
pub enum GitHubError {
    /// It does not exist, or is private.
    #[error("{name} is not on {host}, or is private and {why}")]
    NotFound {
        /// The name that was asked for.
        name: String,
        /// The server.
        host: String,
        /// Why a private one would not be seen.
        why: &'static str,
    },
    /// It does not do what it was asked for.
    #[error("{host} refuses {what} ({status}): {message}")]
    Refused {
        /// The server.
        host: String,
        /// What it refuses: the token, or what was asked for.
        what: &'static str,
        /// HTTP status.
        status: u16,
        /// GitHub's words.
        message: String,
    },
    /// Too many requests were made.
    #[error("{host} takes no more requests for {minutes} minutes{hint}")]
    Limited {
        /// The server.
        host: String,
        /// Until it takes more, rounded up.
        minutes: u64,
        /// How to be allowed more.
        hint: &'static str,
    },
    /// It cannot be reached, or answers with what is none of its answers.
    #[error("{host} does not answer as GitHub does: {why}")]
    Away {
        /// The server.
        host: String,
        /// What happened.
        why: String,
    },
}

impl GitHub {
    /// A client for this server, which asks whether what it answered before is still so.
    ///
    /// # Errors
    /// When it has no API, or its token's file cannot be read.
    pub fn open(host: &UpstreamHost, answers: &Answers) -> Result<Self, String> {
        let (Some(web), Some(api)) = (&host.url, host.api_url()) else {
            return Err("the server has no GitHub API in [[upstream.hosts]]".to_owned());
        };
        let token = host.token()?;
        let (sent, wrong) = (token.is_some(), |error: octocrab::Error| error.to_string());
        let builder = Octocrab::builder()
            .base_uri(api.as_str())
            .map_err(wrong)?
            .set_connect_timeout(Some(PATIENCE))
            .set_read_timeout(Some(PATIENCE))
            .add_header(HeaderName::from_static("x-github-api-version"), VERSION.to_owned());
        let builder = match token {
            Some(token) => builder.personal_token(token.expose().to_owned()),
            None => builder,
        };
        let client = builder.build().map_err(wrong)?;
        Ok(Self { client, web: web.clone(), api, token: sent, answers: answers.clone() })
    }

    /// The repository `owner/name`, also where it was renamed.
    ///
    /// # Errors
    /// [`GitHubError`], in words for a person.
    pub async fn repository(&self, name: &str) -> Result<OnGitHub, GitHubError> {
        let (status, wait, body) = self.ask(&format!("/repos/{name}"), None).await?;
        match status {
            200 => found(&body).map_err(|why| GitHubError::Away { host: self.host(), why }),
            _ => Err(self.refusal(name, status, wait, &body)),
        }
    }

    /// What an answer other than the wanted one means, to a request about the repository `name`.
    pub(super) fn refusal(&self, name: &str, status: u16, wait: Option<u64>, body: &str) -> GitHubError {
        let host = self.host();
        match (status, wait.or_else(|| is_limit(status, body).then_some(UNNAMED_WAIT))) {
            (404, _) => GitHubError::NotFound {
                name: name.to_owned(),
                host,
                why: match self.token {
                    true => "the token may not read it",
                    false => "no token is configured ([[upstream.hosts]] token_file)",
                },
            },
            (403 | 429, Some(seconds)) => GitHubError::Limited {
                host,
                minutes: seconds.div_ceil(60),
                hint: if self.token { "" } else { "; with a token it takes more" },
            },
            (401 | 403, _) => {
                let what = match (self.token, status) {
                    (false, _) => "a request without a token",
                    (true, 401) => "the token",
                    (true, _) => "the request",
                };
                GitHubError::Refused { host, what, status, message: message(body) }
            }
            (status, _) => GitHubError::Away { host, why: format!("status {status}: {}", message(body)) },
        }
    }

    /// A request (one that makes something, where it has a body) within [`PATIENCE`]. Where a repository was renamed, it is looked up where the
    /// answer says, once, and on the same server alone; what makes something is sent nowhere else.
    pub(super) async fn ask(&self, path: &str, body: Option<&serde_json::Value>) -> Result<Reply, GitHubError> {
        let away = |why: String| GitHubError::Away { host: self.host(), why };
        let asked = tokio::time::timeout(PATIENCE, self.send(path, body)).await;
        asked.map_err(|_| away("it took too long".to_owned()))?.map_err(away)
    }

    async fn send(&self, path: &str, body: Option<&serde_json::Value>) -> Result<Reply, String> {
        let Some(body) = body else { return self.look(path).await };
        let answer = self.client._post(path, Some(body)).await.map_err(|error| cause(&error))?;
        let (status, wait) = (answer.status().as_u16(), wait(answer.headers()));
        Ok((status, wait, text(Body::new(answer.into_body()), MOST_BODY).await?))
    }

    async fn look(&self, path: &str) -> Result<Reply, String> {
        let (reply, to) = self.get(path).await?;
        if !matches!(reply.0, 301 | 302 | 307 | 308) {
            return Ok(reply);
        }
        let to = self.api.join(&to).map_err(|_| "it sends on to no address".to_owned())?;
        if to.origin() != self.api.origin() {
            return Err(format!("it sends on to another server, {}", to.host_str().unwrap_or_default()));
        }
        Ok(self.get(to.as_str()).await?.0)
    }

    /// One request for what may be known already, which is the answer where nothing changed since. Also where it sends on to.
    async fn get(&self, at: &str) -> Result<(Reply, String), String> {
        let known = self.answers.of(&self.api, at);
        let unless = known.as_ref().map(|known| HeaderMap::from_iter([(header::IF_NONE_MATCH, known.tag.clone())]));
        let answer = self.client._get_with_headers(at, unless).await.map_err(|error| cause(&error))?;
        let status = answer.status().as_u16();
        if let (304, Some(known)) = (status, known) {
            return Ok(((200, None, known.body.to_string()), String::new()));
        }
        let (wait, tag) = (wait(answer.headers()), answer.headers().get(header::ETAG).cloned());
        let to = answer.headers().get(header::LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default().to_owned();
        let body = text(Body::new(answer.into_body()), MOST_BODY).await?;
        if let (200, Some(tag)) = (status, tag) {
            self.answers.keep(&self.api, at, tag, &body);
        }
        Ok(((status, wait, body), to))
    }

    /// The page of a pull request, made from the server's own address.
    pub(super) fn page(&self, name: &str, number: u64) -> String {
        format!("{}/pull/{number}", self.home(name))
    }

    /// The page of a repository, made from the server's own address.
    pub(super) fn home(&self, name: &str) -> String {
        format!("{}/{name}", self.web.as_str().trim_end_matches('/'))
    }

    /// The address that git reads a repository from.
    ///
    /// # Errors
    /// When the name makes none.
    pub fn address(&self, full_name: &str) -> Result<RemoteUrl, GitError> {
        RemoteUrl::parse(&format!("{}.git", self.home(full_name)))
    }

    pub(super) fn host(&self) -> String {
        self.web.host_str().unwrap_or_default().to_owned()
    }
}

/// `owner/name` of GitHub, if the text is one: letters, digits, hyphens and underscores (which the logins of managed users have); then dots, too.
pub fn name_of(text: &str) -> Option<(&str, &str)> {
    let (owner, name) = text.split_once('/')?;
    let fit = |part: &str, more: &str| {
        !part.is_empty() && part.len() <= 100 && part.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    let name_fits = fit(name, "-_.") && name != "." && name != "..";
    (fit(owner, "-_") && !owner.starts_with('-') && name_fits).then_some((owner, name))
}

/// `owner/name` that an address of such a server leads to, with or without `.git`.
pub fn name_in(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    let path = url.path().trim_matches('/');
    let name = path.strip_suffix(".git").unwrap_or(path);
    name_of(name).map(|_| name.to_owned())
}

/// Seconds until more requests are taken, where an answer says that there were too many.
fn wait(headers: &HeaderMap) -> Option<u64> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
    if let Some(seconds) = number("retry-after") {
        return Some(seconds);
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    (number("x-ratelimit-remaining") == Some(0)).then(|| number("x-ratelimit-reset").unwrap_or(now).saturating_sub(now))
}

/// Whether an answer says that there were too many requests. Of a secondary limit it may be the words alone that do, with requests left.
fn is_limit(status: u16, body: &str) -> bool {
    let words = message(body).to_lowercase();
    status == 429 || status == 403 && ["rate limit", "abuse detection"].iter().any(|sign| words.contains(sign))
}

/// What is read of a repository's description. Others of its fields may be null, or missing on a GitHub Enterprise of another version.
#[derive(Deserialize)]
struct Described {
    id: u64,
    full_name: String,
    private: Option<bool>,
    archived: Option<bool>,
    parent: Option<Forked>,
    source: Option<Forked>,
}

/// What a fork comes from.
#[derive(Deserialize)]
struct Forked {
    id: u64,
}

fn found(body: &str) -> Result<OnGitHub, String> {
    let Described { id, full_name, private, archived, parent, source } =
        serde_json::from_str(body).map_err(|error| format!("its answer cannot be read: {error}"))?;
    if name_of(&full_name).is_none() {
        return Err("its answer names no repository".to_owned());
    }
    let forked_from = parent.into_iter().chain(source).map(|it| it.id).collect();
    let (private, archived) = (private.unwrap_or(true), archived.unwrap_or(false));
    Ok(OnGitHub { id, full_name, private, archived, forked_from })
}

/// GitHub's words in an error's body.
pub(super) fn message(body: &str) -> String {
    let read: Option<String> = serde_json::from_str::<serde_json::Value>(body)
        .ok()
        .and_then(|value| value.get("message").and_then(|it| it.as_str()).map(str::to_owned));
    one_line(&read.unwrap_or_else(|| "no words".to_owned()))
}

/// The body of an answer, which is not read on where it is longer than so many bytes.
async fn text(body: Body, most: usize) -> Result<String, String> {
    let bytes = to_bytes(body, most).await.map_err(|error| cause(&error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What an error of octocrab's, or of a body, comes from, which alone says what happened.
fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    one_line(&root_cause(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What GitHub's answer means, to a request without a token or with one.
    fn refusal(token: bool, status: u16, words: &str) -> String {
        let config: crate::config::process::Upstream = toml::from_str("sync_s = 1").unwrap();
        let github = GitHub { token, ..GitHub::open(&config.github(), &Answers::default()).unwrap() };
        let body = serde_json::json!({ "message": words }).to_string();
        github.refusal("lab/shop", status, None, &body).to_string()
    }

    #[tokio::test]
    async fn an_answer_without_an_end_is_given_up() {
        assert_eq!(text(Body::from("{}"), 2).await, Ok("{}".to_owned()));
        let endless = futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>("x".repeat(1_000)));
        let given_up = text(Body::from_stream(endless), 10_000).await;
        assert!(given_up.as_ref().is_err_and(|why| why.contains("limit")), "{given_up:?}");
    }

    #[tokio::test]
    async fn a_token_is_blamed_where_there_is_one_and_it_is_that_which_is_refused() {
        let blocked = "Repository access blocked";
        assert_eq!(refusal(true, 401, "Bad credentials"), "github.com refuses the token (401): Bad credentials");
        assert_eq!(refusal(true, 403, blocked), format!("github.com refuses the request (403): {blocked}"));
        let without = format!("github.com refuses a request without a token (403): {blocked}");
        assert_eq!(refusal(false, 403, blocked), without);
    }

    #[tokio::test]
    async fn a_limit_that_no_header_names_is_no_refusal() {
        let limited = "github.com takes no more requests for 1 minutes";
        for (status, words) in [
            (403, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."),
            (403, "You have triggered an abuse detection mechanism. Please wait a few minutes before you try again."),
            (429, "Too many requests"),
        ] {
            assert_eq!(refusal(true, status, words), limited, "{words}");
        }
        let other = refusal(true, 403, "Resource not accessible by personal access token");
        assert!(other.contains("refuses the request (403)"), "{other}");
    }

    /// GitHub's own schema lets these be null.
    #[test]
    fn of_a_repository_nothing_is_read_that_may_be_null() {
        let body = serde_json::json!({
            "id": 7, "name": "shop", "full_name": "lab/shop", "private": false, "archived": true, "mirror_url": null,
            "url": "https://api.github.com/repos/lab/shop", "owner": { "login": "lab", "id": 3, "gravatar_id": null },
            "license": { "key": "other", "name": "Other", "spdx_id": null, "url": null, "node_id": "x" }
        });
        let full_name = "lab/shop".to_owned();
        let expected = OnGitHub { id: 7, full_name, private: false, archived: true, forked_from: Vec::new() };
        assert_eq!(found(&body.to_string()), Ok(expected));
        assert!(found(r#"{ "id": 7, "full_name": "lab/../x" }"#).unwrap_err().contains("names no repository"));
        assert!(found(r#"{ "id": 7 }"#).unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn forks_of_one_repository_are_related_and_no_others() {
        let repository = |id: u64, parent: Option<u64>, root: Option<u64>| {
            let of = |id: Option<u64>| id.map(|id| serde_json::json!({ "id": id, "full_name": "x/y" }));
            let (parent, root) = (of(parent), of(root));
            let body = serde_json::json!({ "id": id, "full_name": "lab/shop", "parent": parent, "source": root });
            found(&body.to_string()).unwrap()
        };
        let root = repository(1, None, None);
        let (one, other) = (repository(2, Some(1), Some(1)), repository(3, Some(1), Some(1)));
        let (below, stranger) = (repository(4, Some(2), Some(1)), repository(5, Some(6), Some(6)));
        for (left, right) in [(&one, &root), (&one, &other), (&below, &other), (&root, &root)] {
            assert!(left.is_related_to(right) && right.is_related_to(left), "{left:?} {right:?}");
        }
        for it in [&root, &one, &below] {
            assert!(!it.is_related_to(&stranger) && !stranger.is_related_to(it), "{it:?}");
        }
    }

    #[test]
    fn an_owner_and_a_name_are_read_and_nothing_else() {
        for text in ["lab/shop", "octo-cat_acme/My_Shop.rs", "o/.github"] {
            assert_eq!(name_of(text), text.split_once('/'), "{text}");
        }
        for text in ["lab", "lab/", "-lab/shop", "lab/..", "la.b/shop", "lab/shop/x", "lab/sh op"] {
            assert_eq!(name_of(text), None, "{text}");
        }
    }
}
