//! Operations of a site admin: creating accounts, their tokens and an organisation. Used by `caisson setup` and by tests, never by `serve`.
//! Owns no credential beyond the call; the caller discards passwords made here. Tests: the contract suite, `tests/setup.rs`.

use super::raw::{self, Credential, Raw, RequestKind, seg};
use super::wire;
use crate::forge::{Account, ForgeError, Result};
use crate::secret::Secret;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use url::Url;

/// Scopes of the working account's token: issues, pull requests, statuses, hooks and protection of its own repositories. They are no
/// security boundary (a token with fewer can still push over git); the account's rights are.
pub const BOT_SCOPES: [&str; 4] = ["write:repository", "write:issue", "write:organization", "read:user"];
/// Scopes of the account that synchronizes default branches, which only pushes.
pub const SYNC_SCOPES: [&str; 2] = ["write:repository", "read:user"];

/// A site admin's client.
#[derive(Debug, Clone)]
pub struct Admin {
    raw: Raw,
    base: Url,
    http: reqwest::Client,
}

/// Whether something was created now or existed before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// It was created now.
    New,
    /// It existed before.
    Before,
}

impl Admin {
    /// `base` is the forge's address, `token` a site admin's.
    ///
    /// # Errors
    /// When an HTTP client cannot be made.
    pub fn new(base: &Url, token: Secret, user_agent: &str) -> Result<Self> {
        let http = raw::http_client(base, user_agent)?;
        let raw = Raw::new(http.clone(), base, Credential::Token(token));
        Ok(Self { raw, base: base.clone(), http })
    }

    /// The account by its name.
    pub async fn account(&self, login: &str) -> Result<Option<Account>> {
        let found: Option<wire::User> = self.raw.find(&format!("/users/{}", seg(login))).await?;
        Ok(found.map(|u| Account { id: u.id, login: u.login }))
    }

    /// Whether the forge has no accounts but the admin's and no organisation.
    pub async fn is_fresh(&self) -> Result<bool> {
        let users: Option<Vec<wire::User>> = self.raw.find("/admin/users?limit=2").await?;
        let organisations: Option<Vec<serde_json::Value>> = self.raw.find("/admin/orgs?limit=1").await?;
        Ok(users.is_some_and(|users| users.len() < 2) && organisations.is_some_and(|all| all.is_empty()))
    }

    /// Creates an account that can be used at once: without `must_change_password: false` all of its calls are refused. A taken name is
    /// [`ForgeError::Invalid`].
    pub async fn create_account(&self, login: &str, email: &str, password: &Secret) -> Result<Account> {
        let body = json!({
            "username": login, "email": email, "password": password.expose(),
            "must_change_password": false, "send_notify": false,
        });
        let user: wire::User = self.raw.write(Method::POST, "/admin/users", &body).await?;
        Ok(Account { id: user.id, login: user.login })
    }

    /// Gives an account a new password, so that a token can be made for it.
    pub async fn set_password(&self, login: &str, password: &Secret) -> Result<()> {
        let body = json!({
            "login_name": login, "source_id": 0, "password": password.expose(), "must_change_password": false,
        });
        self.raw.put(Method::PATCH, &format!("/admin/users/{}", seg(login)), Some(&body)).await
    }

    /// Creates a token of an account with its password, as Gitea requires, replacing one of the same name.
    pub async fn create_token(&self, login: &str, password: &Secret, name: &str, scopes: &[&str]) -> Result<Secret> {
        #[derive(Deserialize)]
        struct Token {
            sha1: String,
        }
        let credential = Credential::Basic { user: login.to_owned(), password: password.clone() };
        let own = Raw::new(self.http.clone(), &self.base, credential);
        let path = format!("/users/{}/tokens", seg(login));
        own.delete(&format!("{path}/{}", seg(name))).await?;
        let token: Token = own.write(Method::POST, &path, &json!({ "name": name, "scopes": scopes })).await?;
        if token.sha1.is_empty() {
            return Err(ForgeError::Protocol(format!("the forge made a token for {login} and did not say it")));
        }
        Ok(Secret::new(token.sha1))
    }

    /// An organisation owned by `owner`, visible to its members only.
    pub async fn ensure_organisation(&self, name: &str, owner: &str) -> Result<Made> {
        if self.raw.find::<serde_json::Value>(&format!("/orgs/{}", seg(name))).await?.is_some() {
            return Ok(Made::Before);
        }
        let body = json!({ "username": name, "visibility": "private" });
        self.raw.put(Method::POST, &format!("/admin/users/{}/orgs", seg(owner)), Some(&body)).await?;
        Ok(Made::New)
    }

    /// Whether `login` belongs to the organisation.
    pub async fn is_member(&self, organisation: &str, login: &str) -> Result<bool> {
        let path = format!("/orgs/{}/members/{}", seg(organisation), seg(login));
        match self.raw.send(RequestKind::Read, Method::GET, &path, None).await {
            Ok(_) => Ok(true),
            Err(ForgeError::NotFound(_)) => Ok(false),
            Err(e) => Err(e),
        }
    }
}
