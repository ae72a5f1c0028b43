//! Asks registries for packages, a few at a time, over the network of whoever runs the command. Nothing that proves who that is is sent.
//!
//! Owns the limits of an answer, and what counts as one. Tests: `src/cli/deps/tests.rs`.

use super::registry::{Registry, Release};
use crate::cli::outside::USER_AGENT;
use crate::cli::printer::Printer;
use crate::scan::PackageName;
use crate::text::{bytes, one_line, root_cause};
use futures_util::StreamExt;
use futures_util::stream;
use reqwest::{Client, header, redirect};
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;
use url::Url;

/// Requests under way at the same time, and after how many progress is printed.
const AT_ONCE: usize = 4;
const STEP: usize = 25;
const CONNECTING: Duration = Duration::from_secs(10);

/// Limits of one answer.
#[derive(Debug, Clone, Copy)]
pub struct AnswerLimits {
    pub bytes: usize,
    pub time: Duration,
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self { bytes: 32 << 20, time: Duration::from_secs(60) }
    }
}

/// What came of asking for one package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistryReply {
    Release(Release),
    /// The registry has no such package, or none can have this name, or it has no release.
    Nothing(&'static str),
    /// It could not be asked.
    Failed(String),
}

/// Asks registries.
pub struct Asker {
    client: Client,
    /// Addresses in place of the public ones, by ecosystem.
    addresses: HashMap<&'static str, Url>,
    limits: AnswerLimits,
}

impl Asker {
    pub fn new(addresses: HashMap<&'static str, Url>, limits: AnswerLimits) -> anyhow::Result<Self> {
        let client = Client::builder().user_agent(USER_AGENT).connect_timeout(CONNECTING);
        // What a registry names may lie anywhere, in this machine's own network too.
        let client = client.redirect(redirect::Policy::none()).build()?;
        Ok(Self { client, addresses, limits })
    }

    /// Asks for all of these, and prints how far it is.
    pub async fn all(&self, packages: BTreeSet<PackageName>, printer: &Printer) -> HashMap<PackageName, RegistryReply> {
        let (total, mut replies) = (packages.len(), HashMap::new());
        let each = packages.into_iter().map(move |package| async move {
            let reply = self.one(&package).await;
            (package, reply)
        });
        let mut each = stream::iter(each).buffer_unordered(AT_ONCE);
        while let Some((package, reply)) = each.next().await {
            replies.insert(package, reply);
            if replies.len().is_multiple_of(STEP) || replies.len() == total {
                printer.step(&format!("{} of {total} packages asked for", replies.len()));
            }
        }
        replies
    }

    async fn one(&self, (ecosystem, name): &PackageName) -> RegistryReply {
        let Some(registry) = Registry::of(ecosystem) else {
            return RegistryReply::Nothing("no registry is known");
        };
        let base = match self.addresses.get(registry.ecosystem) {
            Some(address) => Some(address.clone()),
            None => registry.address.parse().ok(),
        };
        let Some(url) = base.and_then(|base| registry.url(&base, name)) else {
            return RegistryReply::Nothing("no package can have this name");
        };
        match tokio::time::timeout(self.limits.time, self.body(url, registry.accept)).await {
            Err(_) => RegistryReply::Failed(format!("no answer within {} s", self.limits.time.as_secs())),
            Ok(Err(why)) => RegistryReply::Failed(why),
            Ok(Ok(None)) => RegistryReply::Nothing("its registry does not know it"),
            Ok(Ok(Some(body))) => match (registry.newest)(&body) {
                Ok(Some(release)) => RegistryReply::Release(release),
                Ok(None) => RegistryReply::Nothing("it has no release"),
                Err(why) => RegistryReply::Failed(why),
            },
        }
    }

    /// The body of an answer; none where there is no such page.
    async fn body(&self, url: Url, accept: &str) -> Result<Option<String>, String> {
        let without_url = |error: reqwest::Error| one_line(&root_cause(&error.without_url()));
        let request = self.client.get(url).header(header::ACCEPT, accept);
        let mut response = request.send().await.map_err(without_url)?;
        match response.status().as_u16() {
            200 => {}
            404 | 410 => return Ok(None),
            status => return Err(format!("it answered {status}")),
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(without_url)? {
            if body.len() + chunk.len() > self.limits.bytes {
                return Err(format!("its answer is larger than {}", bytes(self.limits.bytes as u64)));
            }
            body.extend_from_slice(&chunk);
        }
        String::from_utf8(body).map(Some).map_err(|_| "its answer is no UTF-8".to_owned())
    }
}
