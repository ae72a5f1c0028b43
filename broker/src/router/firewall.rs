//! Starts the firewall's container and waits until it reports that rules and gateways are in place; only then may a router start.
//! Tests: `tests/docker/`.

use std::time::Duration;

use futures_util::{Stream, StreamExt};
use protocol::broker::{Problem, ProblemKind};

use crate::engine::{Engine, Output};

/// Line that it then writes to stdout.
const READY: &str = "walls ready";
/// Loading rules takes 0.1 s; the rest is for a machine under load.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of its output that are kept for an error.
const KEPT: usize = 4096;

/// Attaches before the start, so that no output is lost.
pub async fn start(engine: &dyn Engine, id: &str) -> Result<(), Problem> {
    let mut attached = engine.attach(id, false).await?;
    engine.start(id).await?;
    match tokio::time::timeout(PATIENCE, listen(&mut attached.output)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(said)) => Err(Problem::new(
            ProblemKind::Engine,
            format!("the router's firewall could not be raised, so no subnet is opened: {}", said.trim()),
        )),
        Err(_) => {
            Err(Problem::unavailable(format!("the router's firewall was not ready within {} s", PATIENCE.as_secs())))
        }
    }
}

/// Waits for the ready line; an error has what was written instead.
async fn listen(output: &mut (impl Stream<Item = Output> + Unpin)) -> Result<(), String> {
    let (mut words, mut complaints) = (String::new(), String::new());
    while let Some(piece) = output.next().await {
        match piece {
            Output::Stderr(message) if complaints.len() < KEPT => {
                complaints.push_str(&String::from_utf8_lossy(&message))
            }
            Output::Stdout(message) if words.len() < KEPT => words.push_str(&String::from_utf8_lossy(&message)),
            Output::Stdout(_) | Output::Stderr(_) => {}
        }
        if words.lines().any(|line| line == READY) {
            return Ok(());
        }
    }
    Err(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn heard(pieces: Vec<Output>) -> Result<(), String> {
        listen(&mut futures_util::stream::iter(pieces)).await
    }

    #[tokio::test]
    async fn the_word_may_come_in_pieces_but_only_on_stdout() {
        let out = |text: &'static str| Output::Stdout(text.into());
        let err = |text: &'static str| Output::Stderr(text.into());
        assert_eq!(heard(vec![err("no limits\n"), out("walls "), out("ready\n")]).await, Ok(()));
        assert_eq!(heard(vec![err("walls ready\n")]).await, Err("walls ready\n".into()));
        assert_eq!(heard(vec![out("not walls ready\n"), err("broken\n")]).await, Err("broken\n".into()));
    }
}
