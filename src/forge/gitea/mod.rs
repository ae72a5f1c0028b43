//! The Gitea client (also good for Forgejo): one HTTP client, shared by the SDK and by raw calls.
//! Raw calls wherever the SDK loses data, text or headers that we need (edits, lists that may be `null`, pull requests with deleted
//! reviewers, labels by name, review times); behaviour as seen on Gitea 1.25.4. Must not decide or retry. Tests: `tests/contract.rs`.

pub mod admin;
mod convert;
mod jobs;
pub mod keep;
pub mod pages;
pub mod parse;
mod raw;
mod reader;
pub mod rights;
mod sdk;
mod second_factor;
mod wire;
mod writer;

use super::*;
use crate::secret::Secret;
use raw::{Credential, Raw};
use url::Url;

/// The version given to the SDK, so that it does not query it first. All calls used here exist in older versions too.
const SDK_VERSION: &str = "1.25.4";

/// One account's client. Cloning is cheap and shares connections.
#[derive(Clone)]
pub struct Gitea {
    raw: Raw,
    sdk: gitea_sdk_rs::Client,
}

impl std::fmt::Debug for Gitea {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gitea").finish_non_exhaustive()
    }
}

impl Gitea {
    /// `base` is the forge's root (`http://127.0.0.1:3000/`, or below a path); credentials in it are refused, because addresses end up in
    /// logs. Sends nothing.
    pub fn new(base: &Url, token: Secret, user_agent: &str) -> Result<Self> {
        if !base.username().is_empty() || base.password().is_some() {
            return Err(ForgeError::Invalid("the forge's address must not hold a user name or password".into()));
        }
        if !matches!(base.scheme(), "http" | "https") {
            return Err(ForgeError::Invalid("the forge's address must begin with http:// or https://".into()));
        }
        let http = raw::http_client(base, user_agent)?;
        let sdk = gitea_sdk_rs::Client::builder(base.as_str().trim_end_matches('/'))
            .token(token.expose())
            .user_agent(user_agent)
            .gitea_version(SDK_VERSION)
            .http_client(http.clone())
            .build()
            .map_err(|_| ForgeError::Invalid("the forge's address is not usable".into()))?;
        Ok(Self { raw: Raw::new(http, base, Credential::Token(token)), sdk })
    }
}
