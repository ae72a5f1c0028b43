//! Names for git: branches, object ids, addresses, credentials; each is validated here.
//!
//! Owns their grammar; no other code puts a name on git's command line. Tests: below.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::{Host, Url};

use super::GitError;

/// A branch's short name (`agent/7-fix`), valid by git's rules and stricter: it never starts with `-`, has no control or invisible
/// character, and is no pseudo ref.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Branch(String);

impl Branch {
    /// # Errors
    /// Which rule the name breaks.
    pub fn parse(name: &str) -> Result<Self, GitError> {
        let wrong = |why: &str| Err(GitError::Invalid(format!("{name:?} is no usable branch name: {why}")));
        if name.is_empty() || name.len() > 200 {
            return wrong("it must have 1 to 200 bytes");
        }
        if name.starts_with('-') || name == "HEAD" || name == "@" || name.starts_with("refs/") {
            return wrong("it reads as an option or as a full ref");
        }
        if name.chars().any(|c| c.is_whitespace() || crate::text::is_hidden(c) || " ~^:?*[\\".contains(c)) {
            return wrong("it holds a space, a hidden character or one of ~ ^ : ? * [ \\");
        }
        if name.contains("..") || name.contains("@{") || name.contains("//") {
            return wrong("it holds `..`, `@{` or `//`");
        }
        let bad =
            |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with('.') || part.ends_with(".lock");
        if name.split('/').any(bad) {
            return wrong("a part of it is empty, starts or ends with a dot, or ends with `.lock`");
        }
        Ok(Self(name.to_owned()))
    }

    /// The name without `refs/heads/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `refs/heads/<name>`
    pub fn full(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A full object id of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tree(String);

impl Tree {
    /// # Errors
    /// Anything but 40 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, GitError> {
        match domain::Commit::parse(text) {
            Ok(id) => Ok(Self(id.as_str().to_owned())),
            Err(_) => Err(GitError::Invalid(format!("{text:?} is no tree id (40 lower-case hexadecimal digits)"))),
        }
    }

    /// The id: 40 lower-case hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// # Errors
/// Where this id of a commit, which `repository` named, has the 64 digits of SHA-256.
pub(super) fn no_sha256(id: &str, repository: &str) -> Result<(), GitError> {
    if id.len() != 64 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(());
    }
    Err(GitError::Invalid(format!("{repository} names its commits by SHA-256, which is not supported")))
}

/// Address of a repository: `https://`, `http://`, `ssh://`, `user@host:path`, or a path on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteUrl {
    text: String,
    protocol: &'static str,
}

impl RemoteUrl {
    /// # Errors
    /// An unknown transport (`ext::`, `git://`, …), a password in the address, or a name that looks like an option.
    pub fn parse(text: &str) -> Result<Self, GitError> {
        let wrong = |why: &str| GitError::Invalid(format!("{} is no usable git address: {why}", masked(text)));
        if text.is_empty() || text.starts_with('-') || text.chars().any(|c| c.is_control()) {
            return Err(wrong("it is empty, starts with `-`, or holds a control character"));
        }
        if text.starts_with('/') {
            return Ok(Self { text: text.to_owned(), protocol: "file" });
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Self::parse_scp(text).ok_or_else(|| wrong("write https://…, ssh://…, user@host:path or /path"));
        };
        let protocol = match scheme {
            "https" => "https",
            "http" => "http",
            "ssh" => "ssh",
            "file" if rest.starts_with('/') => "file",
            _ => return Err(wrong("only https, http, ssh and file are spoken")),
        };
        let authority = rest.split('/').next().unwrap_or_default();
        if authority.starts_with('-') || authority.rsplit('@').next().is_some_and(|host| host.starts_with('-')) {
            return Err(wrong("its host starts with `-`"));
        }
        if authority.contains('@')
            && (protocol != "ssh" || authority.contains(':') && authority.find(':') < authority.find('@'))
        {
            return Err(wrong("it carries a user or password; put the token into a file and name that instead"));
        }
        Ok(Self { text: text.to_owned(), protocol })
    }

    fn parse_scp(text: &str) -> Option<Self> {
        let (user, rest) = text.split_once('@')?;
        let (host, path) = rest.split_once(':')?;
        let word = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        (word(user) && word(host) && !host.starts_with('-') && !path.is_empty() && !path.starts_with('-'))
            .then(|| Self { text: text.to_owned(), protocol: "ssh" })
    }

    /// The address as given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is certainly on this machine or nearby: a path, a loopback address, or a name without a dot (as of services of a
    /// composition).
    pub(super) fn is_near(&self) -> bool {
        match Url::parse(&self.text).as_ref().ok().and_then(Url::host) {
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            Some(Host::Domain(name)) => !name.contains('.'),
            None => self.protocol == "file",
        }
    }

    /// Git's name of the one transport that may be used for it.
    pub(super) fn protocol(&self) -> &'static str {
        self.protocol
    }
}

/// An address without a possible password.
fn masked(text: &str) -> String {
    match (text.split_once("://"), text.rfind('@')) {
        (Some((scheme, rest)), Some(at)) if at > scheme.len() => {
            format!("\"{scheme}://…@{}\"", rest.rsplit('@').next().unwrap_or_default())
        }
        _ => format!("{text:?}"),
    }
}

/// A credential for HTTP, never shown; git gets it only through its environment.
#[derive(Clone)]
pub struct Auth(String);

impl Auth {
    /// An account and its token or password.
    pub fn basic(user: &str, token: &str) -> Self {
        Self(STANDARD.encode(format!("{user}:{token}")))
    }

    /// The whole header line, only for `http.<url>.extraHeader`.
    pub(super) fn header(&self) -> String {
        format!("Authorization: Basic {}", self.0)
    }
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Auth(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches() {
        for good in ["main", "agent/7-fix-the-sum", "release/1.2", "héllo"] {
            assert_eq!(Branch::parse(good).unwrap().full(), format!("refs/heads/{good}"));
        }
        let long = "x".repeat(201);
        for bad in [
            "",
            "-x",
            "--upload-pack=x",
            "a b",
            "a..b",
            "a//b",
            "/a",
            "a/",
            ".a",
            "a/.b",
            "a.lock",
            "a.lock/b",
            "a:b",
            "a^",
            "HEAD",
            "@",
            "refs/heads/x",
            "a\u{202e}b",
            "a\nb",
            "a@{1}",
            "a.",
            "*",
            &long,
        ] {
            assert!(Branch::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn addresses() {
        for (good, protocol) in [
            ("https://forge.example/o/r.git", "https"),
            ("http://127.0.0.1:3000/o/r.git", "http"),
            ("ssh://git@forge.example:22/o/r.git", "ssh"),
            ("git@forge.example:o/r.git", "ssh"),
            ("/srv/r.git", "file"),
            ("file:///srv/r.git", "file"),
        ] {
            assert_eq!(RemoteUrl::parse(good).unwrap().protocol(), protocol);
        }
        for bad in [
            "",
            "-oProxyCommand=x",
            "ext::sh -c id",
            "git://h/r",
            "https://u:p@h/r",
            "ssh://-oX/r",
            "a@-b:c",
            "relative",
            "file://x",
        ] {
            assert!(RemoteUrl::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_is_surely_near() {
        let near = |text: &str| RemoteUrl::parse(text).unwrap().is_near();
        for text in [
            "/srv/x.git",
            "file:///srv/x",
            "http://127.0.0.1:3000/a/b",
            "http://localhost/a",
            "http://[::1]:3/a",
            "ssh://git@gitea:22/a",
        ] {
            assert!(near(text), "{text}");
        }
        for text in [
            "https://example.org/a/b",
            "http://192.168.1.2/a",
            "git@example.org:a/b",
            "git@nas:a/b",
            "http://[fd00::1]/a",
        ] {
            assert!(!near(text), "{text}");
        }
    }

    #[test]
    fn no_password_in_a_message() {
        let said = RemoteUrl::parse("https://me:hunter2@h/r").unwrap_err().to_string();
        assert!(!said.contains("hunter2"), "{said}");
        assert_eq!(format!("{:?}", Auth::basic("me", "hunter2")), "Auth(…)");
    }
}
