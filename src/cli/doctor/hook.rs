//! Triggers a hook's test delivery and waits for it: with a running bot by its counters, otherwise with a listener of our own that checks
//! the signature as the bot would. Tests: `src/cli/test_delivery.rs`.

use super::report::Report;
use crate::cli::entries::Entries;
use crate::cli::repo::Accounts;
use crate::cli::test_delivery::{Arrival, WAIT, at_the_bot};
use crate::config::Process;
use crate::config::process::Repository as Entry;
use crate::forge::{RepoRef, verify};
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use std::time::Instant;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

pub(super) async fn fire(
    report: &mut Report,
    config: &Process,
    accounts: &Accounts,
    (entry, (repo, hook)): (&Entry, &(RepoRef, i64)),
    entries: &Entries,
    running: bool,
) {
    let part = format!("repository {}", entry.key);
    let began = Instant::now();
    let fire = async || accounts.forge.test_hook(repo, *hook).await.map_err(|error| error.to_string());
    let arrival = match running {
        true => at_the_bot(config, &entry.key, fire).await,
        false => at_our_own(config, entry, entries, fire).await,
    };
    let url = config.hook_url(&entry.key);
    match arrival {
        Ok(Arrival::Taken) => {
            report.good(&part, format!("the hook's test arrived, signed, after {} ms", began.elapsed().as_millis()));
        }
        Ok(Arrival::Unsigned) => {
            let hint =
                format!("`caisson repo check {} --fix`, while `caisson serve` runs, writes its secret anew", entry.key);
            report.fault(&part, "the hook's test arrived with a wrong signature", hint);
        }
        Ok(Arrival::TurnedAway) => {
            let found = "the hook's test was turned away: too many wrong signatures came from the forge's address";
            report.fault(&part, found, "repeat this in a minute");
        }
        Ok(Arrival::Never) => {
            let hint = format!(
                "the forge must reach {url}: set forge.bot_url, and allow its host in the forge's [webhook] ALLOWED_HOST_LIST; \
                 the forge's own log of the hook says why it failed"
            );
            report.fault(&part, format!("the hook's test did not arrive within {} s", WAIT.as_secs()), hint);
        }
        Err(error) => report.fault(
            &part,
            format!("the hook's test could not be fired: {error}"),
            "look at the repository's hooks",
        ),
    }
}

async fn at_our_own(
    config: &Process,
    entry: &Entry,
    entries: &Entries,
    fire: impl AsyncFn() -> Result<(), String>,
) -> Result<Arrival, String> {
    let secrets = entries.secrets(entry).map_err(|error| format!("{error:#}"))?;
    let listener = TcpListener::bind(config.listen.webhooks).await.map_err(|error| error.to_string())?;
    let (arrived, mut arrivals) = mpsc::channel(8);
    let take = async move |headers: HeaderMap, body: Bytes| {
        let signature = headers.get("x-hub-signature-256").and_then(|value| value.to_str().ok());
        let arrival = match verify(&secrets, signature, &body) {
            Ok(()) => Arrival::Taken,
            Err(_) => Arrival::Unsigned,
        };
        let _ = arrived.send(arrival).await;
        StatusCode::ACCEPTED
    };
    let path = format!("/webhooks/gitea/{}", entry.key);
    let router = Router::new().route(&path, post(take));
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });
    let outcome = match fire().await {
        Ok(()) => Ok(tokio::time::timeout(WAIT, arrivals.recv()).await.ok().flatten().unwrap_or(Arrival::Never)),
        Err(error) => Err(error),
    };
    serving.abort();
    // Wait until the port is free again.
    let _ = serving.await;
    outcome
}
