//! Requests of other subcommands to a running `serve`: on its second listener, authenticated by the token in the state directory, which
//! itself is not sent. Tests: below, `tests/stories/orders.rs`.

use super::lock;
use super::printer::Complaint;
use crate::config::{Process, Secret};
use crate::server::{BotProof, nonce};
use anyhow::{Context, Result};
use reqwest::{Client, StatusCode, redirect};
use serde::Serialize;
use std::net::SocketAddr;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

/// Posts to the running bot; returns status and text of its answer.
pub async fn tell(config: &Process, path: &str, body: &impl Serialize) -> Result<(u16, String)> {
    let token = Secret::read(&config.state_dir.join("ops.token"))?;
    let at = config.listen.ops;
    let client = Client::builder().timeout(PATIENCE).no_proxy().redirect(redirect::Policy::none()).build()?;
    let pass = pass(&client, at, &token).await?;
    let unanswered = |error: reqwest::Error| {
        let what = if error.is_connect() { silent(at) } else { broken_off(at) };
        anyhow::Error::new(error.without_url()).context(what)
    };
    let post = client.post(format!("http://{at}{path}")).bearer_auth(pass.expose()).json(body);
    let answer = post.send().await.map_err(unanswered)?;
    Ok((answer.status().as_u16(), answer.text().await.map_err(unanswered)?))
}

/// What the running bot accepts in place of the token; only of one that proves that it has the token, because while the bot is away anybody
/// on this machine may listen there.
async fn pass(client: &Client, at: SocketAddr, token: &Secret) -> Result<Secret> {
    let nonce = nonce().map_err(anyhow::Error::msg)?;
    let answer = client.get(format!("http://{at}/proof?nonce={nonce}")).send().await;
    let answer = answer.map_err(reqwest::Error::without_url).with_context(|| silent(at))?;
    if answer.status() == StatusCode::NOT_FOUND {
        let what = format!("the `caisson serve` on {at} is of an older version, which does not prove that it is yours");
        return Err(Complaint::new(what).hint("restart `caisson serve`, then repeat this").into());
    }
    let proof = answer.json::<BotProof>().await.ok();
    proof.and_then(|proof| proof.pass(token, at, &nonce)).ok_or_else(|| {
        let what = format!("what answers on {at} is not the `caisson serve` of this state directory");
        let hint = format!("`ss -ltnp` shows who has port {}; end it, then restart `caisson serve`", at.port());
        Complaint::new(what).because("it does not prove that it has ops.token, which it was not sent").hint(hint).into()
    })
}

/// Of a bot that was there, and may have done what it was told.
fn broken_off(at: SocketAddr) -> String {
    format!(
        "the `caisson serve` on {at} took this and gave no answer: it may carry it out all the same, so look what came of it before you \
         repeat it"
    )
}

fn silent(at: SocketAddr) -> String {
    format!(
        "another caisson works with this state directory, and no `caisson serve` answers on {at}: repeat this in \
         a moment; where listen.ops was changed since `caisson serve` started, restart that first"
    )
}

/// The result of a request to reload the configuration.
pub enum Reload {
    /// The bot restarts with it.
    Begun,
    /// No bot runs with this state directory.
    NotRunning,
    /// The bot keeps its configuration, for this reason.
    Refused(String),
}

/// Has a running bot reload the configuration that was just written.
pub async fn reload(config: &Process) -> Reload {
    match lock::unless_in_use(&config.state_dir) {
        Ok(Some(_)) => return Reload::NotRunning,
        Ok(None) => {}
        Err(error) => return Reload::Refused(format!("{error:#}")),
    }
    match tell(config, "/reload", &()).await {
        Ok((202, _)) => Reload::Begun,
        Ok((status, text)) => Reload::Refused(format!("{status}: {text}")),
        Err(error) => Reload::Refused(format!("{error:#}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::OperatorAccess;
    use std::sync::{Arc, Mutex};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Answers every request with this, on a port of its own; the text is what it received.
    async fn impostor(status: &'static str, body: &'static str) -> (SocketAddr, Arc<Mutex<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (at, received) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(String::new())));
        let text = received.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut bytes = [0; 4096];
                let read = stream.read(&mut bytes).await.unwrap_or(0);
                text.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..read]));
                let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                let _ = stream.write_all((head + body).as_bytes()).await;
            }
        });
        (at, received)
    }

    /// Whoever changed the address would repeat it in vain.
    #[tokio::test]
    async fn where_no_bot_listens_its_address_is_named_as_a_cause() {
        let dir = tempfile::tempdir().unwrap();
        let text = format!("state_dir = \"{}\"\n[listen]\nops = \"127.0.0.1:9\"\n", dir.path().display());
        let config = Process::from_layers(&dir.path().join("caisson.toml"), &text, &|_| None).unwrap();
        Secret::read_or_make(&dir.path().join("ops.token")).unwrap();
        let why = tell(&config, "/tasks/7/stop", &()).await.expect_err("no bot").to_string();
        assert!(why.contains("127.0.0.1:9") && why.contains("listen.ops was changed"), "{why}");
    }

    /// Whoever believed that would give an order again that is being carried out.
    #[tokio::test]
    async fn a_bot_that_took_an_order_and_does_not_answer_is_not_called_absent() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let text = format!("state_dir = \"{}\"\n[listen]\nops = \"{at}\"\n", dir.path().display());
        let config = Process::from_layers(&dir.path().join("caisson.toml"), &text, &|_| None).unwrap();
        let bot = OperatorAccess::new(Secret::read_or_make(&dir.path().join("ops.token")).unwrap()).unwrap();
        let ended = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).await.unwrap();
            let request = String::from_utf8_lossy(&bytes[..read]);
            let nonce = request.split("nonce=").nth(1).unwrap().split(' ').next().unwrap();
            let body = serde_json::to_string(&bot.proof(at, nonce).unwrap()).unwrap();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            stream.write_all((head + &body).as_bytes()).await.unwrap();
            let (mut order, _) = listener.accept().await.unwrap();
            order.read(&mut [0; 64]).await.unwrap()
        });
        let why = tell(&config, "/tasks/7/delete", &()).await.expect_err("no answer").to_string();
        assert!(why.contains("may carry it out all the same") && !why.contains("another caisson"), "{why}");
        assert!(ended.await.unwrap() > 0, "it was told");
    }

    #[tokio::test]
    async fn whoever_has_nothing_but_the_port_is_sent_nothing_but_a_nonce() {
        for (status, body, words) in [
            ("200 OK", r#"{"run":"7","proof":"7"}"#, "is not the `caisson serve`"),
            ("200 OK", "ok", "is not the `caisson serve`"),
            ("307 Temporary Redirect\r\nlocation: http://127.0.0.1:9/", "", "is not the `caisson serve`"),
            ("404 Not Found", "", "older version"),
        ] {
            let (at, received) = impostor(status, body).await;
            let dir = tempfile::tempdir().unwrap();
            let text = format!("state_dir = \"{}\"\n[listen]\nops = \"{at}\"\n", dir.path().display());
            let config = Process::from_layers(&dir.path().join("caisson.toml"), &text, &|_| None).unwrap();
            let token = Secret::read_or_make(&dir.path().join("ops.token")).unwrap();
            let refused = tell(&config, "/tasks/7/delete", &()).await.expect_err("no bot");
            assert!(refused.to_string().contains(words), "{refused}");
            let received = received.lock().unwrap().to_ascii_lowercase();
            assert!(received.starts_with("get /proof?nonce="), "{received}");
            assert_eq!(received.matches(" http/1.1").count(), 1, "{received}");
            assert!(!received.contains(token.expose()) && !received.contains("authorization"), "{received}");
        }
    }
}
