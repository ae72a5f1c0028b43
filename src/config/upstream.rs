//! `[upstream]`: how repositories are kept in step with what they were copied from, and what reads private ones.

use super::fields::{address, is_on_this_machine, path};
use crate::secret::Secret;
use serde::Deserialize;
use std::path::PathBuf;
use url::Url;

/// GitHub, where nothing else is said of it.
const GITHUB: (&str, &str) = ("https://github.com", "https://api.github.com");

/// `[upstream]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    /// How often each repository is compared with its upstream, in seconds; 0 = only when somebody asks.
    pub sync_s: u64,
    /// `[[upstream.hosts]]`: GitHub, GitHub Enterprise and other git servers that need a token.
    #[serde(default)]
    pub hosts: Vec<UpstreamHost>,
}

/// One `[[upstream.hosts]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamHost {
    /// The server's address, without a path; the token goes to it alone.
    #[serde(deserialize_with = "address")]
    pub url: Option<Url>,
    /// The address of its GitHub API; none where it has none.
    #[serde(default, deserialize_with = "address")]
    pub api: Option<Url>,
    /// The user that git names with the token.
    #[serde(default = "token_user")]
    pub user: String,
    /// A file with a token that may read; none = public repositories alone.
    #[serde(default, deserialize_with = "path")]
    pub token_file: Option<PathBuf>,
}

/// `[repositories.upstream_issues]`: which issues of the upstream, on GitHub, are opened on the forge. None where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamIssues {
    /// The label that they have there.
    pub label: Option<String>,
}

impl UpstreamIssues {
    /// What is wrong with it: its key, and what to do.
    pub(super) fn problem(&self) -> Option<(&'static str, &'static str)> {
        let label = self.label.as_ref()?;
        // GitHub reads a comma as the end of a label, and takes 50 characters.
        let odd = label.trim() != label || label.contains(',') || label.chars().any(char::is_control);
        let fit = (1..=50).contains(&label.chars().count()) && !odd;
        (!fit).then_some((
            "label",
            "name one label of the upstream, 1 to 50 characters without a comma; leave it out for no issue",
        ))
    }
}

/// What GitHub, GitLab and Gitea take with a token.
fn token_user() -> String {
    "x-access-token".to_owned()
}

impl UpstreamHost {
    /// GitHub, without a token.
    fn github() -> Self {
        let (url, api) = (Url::parse(GITHUB.0).ok(), Url::parse(GITHUB.1).ok());
        Self { url, api, user: token_user(), token_file: None }
    }

    /// Its token; none where no file is named.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn token(&self) -> Result<Option<Secret>, String> {
        self.token_file.as_deref().map(Secret::read).transpose().map_err(|error| error.to_string())
    }

    /// The address of its GitHub API, which GitHub itself has without a line; none where it has none.
    pub fn api_url(&self) -> Option<Url> {
        let github =
            self.url.as_ref().is_some_and(|url| url.scheme() == "https" && url.host_str() == Some("github.com"));
        self.api.clone().or_else(|| github.then(|| Url::parse(GITHUB.1).ok()).flatten())
    }

    /// What is wrong with it: its key, and what to do; a token in the clear among it.
    pub fn problem(&self) -> Option<(&'static str, &'static str)> {
        let Some(url) = &self.url else {
            return Some(("url", "name the server, such as https://git.example.com"));
        };
        if !matches!(url.path(), "" | "/") {
            return Some(("url", "name the server alone, without a path"));
        }
        if self.token_file.is_some() && [Some(url), self.api.as_ref()].into_iter().flatten().any(open) {
            return Some(("token_file", "a token goes over https alone, or to this machine"));
        }
        None
    }
}

/// Whether others could read along.
fn open(url: &Url) -> bool {
    url.scheme() != "https" && !is_on_this_machine(url)
}

impl Upstream {
    /// The server of a git address, by scheme, host and port.
    pub fn host_of(&self, address: &str) -> Option<&UpstreamHost> {
        let url = Url::parse(address).ok()?;
        let at =
            |url: &Url| (url.scheme().to_owned(), url.host_str().map(str::to_lowercase), url.port_or_known_default());
        self.hosts.iter().find(|host| host.url.as_ref().is_some_and(|own| at(own) == at(&url)))
    }

    /// The server that `owner/name` is looked up at: the first with a GitHub API, otherwise GitHub without a token.
    pub fn github(&self) -> UpstreamHost {
        self.hosts.iter().find(|host| host.api_url().is_some()).cloned().unwrap_or_else(UpstreamHost::github)
    }

    /// The server of a git address where that has a GitHub API; GitHub itself always has one.
    pub fn github_of(&self, address: &str) -> Option<UpstreamHost> {
        if let Some(host) = self.host_of(address) {
            return host.api_url().is_some().then(|| host.clone());
        }
        let url = Url::parse(address).ok()?;
        // By ssh it is the keys of whoever asks that decide, not a token.
        let web = url.scheme() == "https" && url.host_str() == Some("github.com");
        web.then(UpstreamHost::github)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Upstream {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_token_goes_to_the_server_it_is_for() {
        let upstream = read(
            "sync_s = 1\n[[hosts]]\nurl = \"https://git.example\"\ntoken_file = \"x\"\n[[hosts]]\nurl = \"http://127.0.0.1:3000\"\n",
        );
        let at = |address: &str| upstream.host_of(address).and_then(|host| host.url.clone()).map(String::from);
        assert_eq!(at("https://git.example/lab/shop.git").as_deref(), Some("https://git.example/"));
        assert_eq!(at("https://GIT.example:443/lab/shop").as_deref(), Some("https://git.example/"));
        assert_eq!(at("http://127.0.0.1:3000/lab/shop").as_deref(), Some("http://127.0.0.1:3000/"));
        for other in [
            "http://git.example/lab/shop",
            "https://git.example:8443/lab/shop",
            "https://git.example.evil/lab/shop",
            "https://evil/git.example",
            "git@git.example:lab/shop",
            "/srv/git.example",
        ] {
            assert_eq!(at(other), None, "{other}");
        }
    }

    #[test]
    fn a_label_is_one_label() {
        let problem = |label: &str| UpstreamIssues { label: Some(label.to_owned()) }.problem();
        assert_eq!((problem("good first issue"), UpstreamIssues::default().problem()), (None, None));
        for label in ["", " caisson", "a,b", "a\nb", &"x".repeat(51)] {
            assert_eq!(problem(label).map(|(key, _)| key), Some("label"), "{label}");
        }
    }

    #[test]
    fn a_token_is_not_sent_in_the_clear() {
        let problem = |text: &str| read(&format!("sync_s = 1\n[[hosts]]\n{text}")).hosts[0].problem();
        assert_eq!(problem("url = \"https://a\"\ntoken_file = \"x\""), None);
        assert_eq!(problem("url = \"http://127.0.0.1:1\"\ntoken_file = \"x\""), None);
        assert_eq!(problem("url = \"http://git.example\""), None);
        for (text, key) in [
            ("url = \"http://git.example\"\ntoken_file = \"x\"", "token_file"),
            ("url = \"https://a\"\napi = \"http://api.a\"\ntoken_file = \"x\"", "token_file"),
            ("url = \"http://localhost.evil\"\ntoken_file = \"x\"", "token_file"),
            ("url = \"https://a/b\"", "url"),
            ("url = \"\"", "url"),
        ] {
            assert_eq!(problem(text).map(|(key, _)| key), Some(key), "{text}");
        }
    }

    #[test]
    fn github_is_known_without_a_line() {
        let none = read("sync_s = 1");
        assert_eq!(none.github().api.unwrap().as_str(), "https://api.github.com/");
        assert!(
            none.github_of("https://github.com/a/b").is_some() && none.github_of("https://gitlab.com/a/b").is_none()
        );
        assert!(none.github_of("ssh://git@github.com/a/b").is_none() && none.github_of("git@github.com:a/b").is_none());
        let token = read("sync_s = 1\n[[hosts]]\nurl = \"https://github.com\"\ntoken_file = \"x\"\n").github();
        assert!(token.token_file.is_some() && token.api_url().is_some(), "its API needs no line");
        let own = read("sync_s = 1\n[[hosts]]\nurl = \"https://ghe.example\"\napi = \"https://ghe.example/api/v3\"\n");
        assert_eq!(own.github().url.unwrap().as_str(), "https://ghe.example/");
    }
}
