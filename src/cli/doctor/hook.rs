//! Triggers a hook's test delivery and waits for it: with a running bot by its counters, otherwise with a listener of our own that checks
//! the signature as the bot would. Tests: below.

use super::report::Report;
use crate::cli::entries::Entries;
use crate::cli::repo::Accounts;
use crate::config::Process;
use crate::config::process::Repository as Entry;
use crate::forge::{RepoRef, verify};
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// The forge queues deliveries, so a busy one takes seconds.
const WAIT: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(200);

/// Whether a `caisson serve` with this configuration answers.
pub(super) async fn serve_answers(config: &Process) -> bool {
    ask(config, "healthz").await.is_some_and(|said| said == "ok")
}

async fn ask(config: &Process, path: &str) -> Option<String> {
    let client = reqwest::Client::builder().timeout(Duration::from_secs(3)).no_proxy().build().ok()?;
    let answer = client.get(format!("http://{}/{path}", config.listen.ops)).send().await.ok()?;
    answer.error_for_status().ok()?.text().await.ok()
}

/// Result of a test delivery.
#[derive(Debug, PartialEq, Eq)]
enum Arrival {
    Taken,
    /// It arrived without a valid signature by this repository's secret.
    Unsigned,
    Never,
}

pub(super) async fn fire(
    report: &mut Report,
    config: &Process,
    accounts: &Accounts,
    (entry, hook): (&Entry, i64),
    entries: &Entries,
    running: bool,
) {
    let part = format!("repository {}", entry.key);
    let at = RepoRef::new(&entry.owner, &entry.name);
    let began = Instant::now();
    let fire = async || accounts.forge.test_hook(&at, hook).await.map_err(|error| error.to_string());
    let arrival = match running {
        true => at_the_bot(config, fire).await,
        false => at_our_own(config, entry, entries, fire).await,
    };
    let url = config.hook_url(&entry.key);
    match arrival {
        Ok(Arrival::Taken) => {
            report.good(&part, format!("the hook's test arrived, signed, after {} ms", began.elapsed().as_millis()));
        }
        Ok(Arrival::Unsigned) => {
            let attempt = format!("`caisson repo rotate {}`, twice, gives it a new secret", entry.key);
            report.fault(&part, "the hook's test arrived with a wrong signature", attempt);
        }
        Ok(Arrival::Never) => {
            let attempt = format!(
                "the forge must reach {url}: set forge.bot_url, and allow its host in the forge's [webhook] ALLOWED_HOST_LIST; \
                 the forge's own log of the hook says why it failed"
            );
            report.fault(&part, format!("the hook's test did not arrive within {} s", WAIT.as_secs()), attempt);
        }
        Err(error) => report.fault(
            &part,
            format!("the hook's test could not be fired: {error}"),
            "look at the repository's hooks",
        ),
    }
}

async fn at_the_bot(config: &Process, fire: impl AsyncFn() -> Result<(), String>) -> Result<Arrival, String> {
    let before = counts(&ask(config, "metrics").await.unwrap_or_default());
    fire().await?;
    let end = Instant::now() + WAIT;
    while Instant::now() < end {
        tokio::time::sleep(LOOK).await;
        let now = counts(&ask(config, "metrics").await.unwrap_or_default());
        if now.0 > before.0 {
            return Ok(Arrival::Taken);
        }
        if now.1 > before.1 {
            return Ok(Arrival::Unsigned);
        }
    }
    Ok(Arrival::Never)
}

/// Numbers of accepted and refused hooks, from the bot's metrics.
fn counts(metrics: &str) -> (u64, u64) {
    let of = |result: &str| {
        let lines = metrics.lines().filter(|line| line.starts_with("caisson_hooks_total{"));
        let lines = lines.filter(|line| line.contains(&format!("result=\"{result}\"")));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() as u64
    };
    (of("stored") + of("known"), of("unsigned"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bots_counters_tell_taken_from_refused() {
        let text = "# HELP caisson_hooks_total …\ncaisson_hooks_total{result=\"stored\"} 3\n\
                    caisson_hooks_total{result=\"known\"} 1\ncaisson_hooks_total{result=\"unsigned\"} 2\n";
        assert_eq!(counts(text), (4, 2));
        assert_eq!(counts(""), (0, 0));
    }
}
