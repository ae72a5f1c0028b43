//! What only a site admin may do: make accounts, their tokens and an organisation. Used by `caisson setup` and by tests, never by `serve`.
//! Owns no credential beyond the call; passwords made here are thrown away by the caller. Tests: the contract suite, `tests/setup.rs`.

use super::raw::{self, Credential, Raw, RequestKind, seg};
use super::wire;
use crate::forge::{Account, ForgeError, Result};
use crate::secret::Secret;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use url::Url;

/// What the working account's token may: issues, pull requests, statuses, hooks and protection of its own repositories.
/// Scopes are no wall (a token with less still pushes over git); the account's rights are.
pub const BOT_SCOPES: [&str; 4] = ["write:repository", "write:issue", "write:organization", "read:user"];
/// The account that keeps the default branch in step only pushes.
pub const SYNC_SCOPES: [&str; 2] = ["write:repository", "read:user"];

/// A site admin's client.
#[derive(Debug, Clone)]
pub struct Admin {
    raw: Raw,
    base: Url,
    http: reqwest::Client,
}

/// Whether something was made now or was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// It was made now.
    New,
    /// It was there before.
    Before,
}

impl Admin {
    /// `base` is the forge's address, `token` a site admin's.
    ///
    /// # Errors
    /// When an HTTP client cannot be made.
    pub fn new(base: &Url, token: Secret, user_agent: &str) -> Result<Self> {
        let http = raw::http_client(user_agent)?;
        let raw = Raw::new(http.clone(), base, Credential::Token(token));
        Ok(Self { raw, base: base.clone(), http })
    }

    /// The account by its name.
    pub async fn account(&self, login: &str) -> Result<Option<Account>> {
        let found: Option<wire::User> = self.raw.find(&format!("/users/{}", seg(login))).await?;
        Ok(found.map(|u| Account { id: u.id, login: u.login }))
    }

    /// Whether there is nobody but the admin and no organisation: a forge that nobody uses yet.
    pub async fn is_fresh(&self) -> Result<bool> {
        let users: Option<Vec<wire::User>> = self.raw.find("/admin/users?limit=2").await?;
        let organisations: Option<Vec<serde_json::Value>> = self.raw.find("/admin/orgs?limit=1").await?;
        Ok(users.is_some_and(|users| users.len() < 2) && organisations.is_some_and(|all| all.is_empty()))
    }

    /// Makes an account that can work at once: without `must_change_password: false` every call of it would be refused.
    /// A name that is taken is [`ForgeError::Invalid`].
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

    /// A token of an account, made with its password (Gitea knows no other way). One of the same name is replaced.
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
