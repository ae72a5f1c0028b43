//! Reads from the running bot's counters how a hook's test delivery arrived, for `caisson doctor` and `caisson repo check`.
//! Tests: below, `tests/setup/secret.rs`, `tests/serve.rs`.

use crate::config::Process;
use std::time::{Duration, Instant};

/// The forge queues deliveries, so a busy one takes seconds.
pub(super) const WAIT: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(200);

/// Result of a test delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    Taken,
    /// It arrived without a valid signature by this repository's secret.
    Unsigned,
    /// The bot read none of it, because too many wrong signatures came from the forge's address within a minute.
    TurnedAway,
    Never,
}

/// Whether a `caisson serve` with this configuration answers.
pub(super) async fn serve_answers(config: &Process) -> bool {
    ask(config, "healthz").await.is_some_and(|text| text == "ok")
}

async fn ask(config: &Process, path: &str) -> Option<String> {
    let client = reqwest::Client::builder().timeout(Duration::from_secs(3)).no_proxy().build().ok()?;
    let answer = client.get(format!("http://{}/{path}", config.listen.ops)).send().await.ok()?;
    answer.error_for_status().ok()?.text().await.ok()
}

/// Has the forge send the test delivery of this repository's hook, and waits until the running bot has counted it.
pub(super) async fn at_the_bot(
    config: &Process,
    key: &str,
    fire: impl AsyncFn() -> Result<(), String>,
) -> Result<Arrival, String> {
    let no_counters = || format!("`caisson serve` shows no metrics on {}", config.listen.ops);
    let before = Counts::read(&ask(config, "metrics").await.ok_or_else(no_counters)?, key);
    fire().await?;
    let end = Instant::now() + WAIT;
    while Instant::now() < end {
        tokio::time::sleep(LOOK).await;
        let Some(metrics) = ask(config, "metrics").await else { continue };
        if let Some(arrival) = Counts::read(&metrics, key).since(before) {
            return Ok(arrival);
        }
    }
    Ok(Arrival::Never)
}

/// Numbers of hooks that arrived, from the bot's metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Of one repository.
    taken: u64,
    /// Of one repository.
    unsigned: u64,
    /// Of all repositories, because the bot reads nothing of them.
    turned_away: u64,
}

impl Counts {
    fn read(metrics: &str, key: &str) -> Self {
        let sum = |labels: &[&str]| {
            let lines = metrics.lines().filter(|line| line.starts_with("caisson_hooks_total{"));
            let lines = lines.filter(|line| labels.iter().all(|label| line.contains(label)));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() as u64
        };
        let own = format!("repository=\"{key}\"");
        let of = |result: &str| sum(&[result, &own]);
        Self {
            taken: of("result=\"stored\"") + of("result=\"known\""),
            unsigned: of("result=\"unsigned\""),
            turned_away: sum(&["result=\"guessing\""]),
        }
    }

    /// What arrived after `before`; a valid signature counts before a wrong one, which anybody can send.
    fn since(self, before: Self) -> Option<Arrival> {
        if self.taken > before.taken {
            Some(Arrival::Taken)
        } else if self.unsigned > before.unsigned {
            Some(Arrival::Unsigned)
        } else if self.turned_away > before.turned_away {
            Some(Arrival::TurnedAway)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bots_counters_tell_taken_from_refused_for_each_repository() {
        let text = "# HELP caisson_hooks_total …\ncaisson_hooks_total{repository=\"shop\",result=\"stored\"} 3\n\
                    caisson_hooks_total{repository=\"shop\",result=\"known\"} 1\n\
                    caisson_hooks_total{repository=\"shop\",result=\"unsigned\"} 2\n\
                    caisson_hooks_total{repository=\"my-shop\",result=\"stored\"} 50\n\
                    caisson_hooks_total{repository=\"my-shop\",result=\"unsigned\"} 60\n\
                    caisson_hooks_total{repository=\"\",result=\"unsigned\"} 70\ncaisson_hooks_total{result=\"guessing\"} 4\n";
        assert_eq!(Counts::read(text, "shop"), Counts { taken: 4, unsigned: 2, turned_away: 4 });
        assert_eq!(Counts::read("", "shop"), Counts::default());
    }

    #[test]
    fn only_what_rose_has_arrived() {
        let before = Counts { taken: 4, unsigned: 2, turned_away: 4 };
        assert_eq!(before.since(before), None);
        assert_eq!(Counts { taken: 5, unsigned: 3, ..before }.since(before), Some(Arrival::Taken));
        assert_eq!(Counts { unsigned: 3, ..before }.since(before), Some(Arrival::Unsigned));
        assert_eq!(Counts { turned_away: 5, ..before }.since(before), Some(Arrival::TurnedAway));
        // A bot that began anew counts from 0.
        assert_eq!(Counts { unsigned: 1, ..Counts::default() }.since(before), None);
    }
}
