//! Measures a try from the task's own log in the store.
//!
//! Owns sums over events, and the formula that makes results of different machines comparable. Tests: below.

use super::results::Measured;
use domain::{Event, Usage};

/// Tokens per second in the formula: uncached ones read, and ones written.
const READ: f64 = 120.0;
const WRITTEN: f64 = 25.0;

/// Sums over the log; waiting times are measured in `drive.rs`.
pub fn measure(log: &[(i64, Event)]) -> Measured {
    let mut found = Measured::default();
    let mut uncached = 0;
    let (mut micro_usd, mut model_ms) = (0, 0);
    for (_, event) in log {
        if let Event::TurnCompleted { usage, micro_usd: cost, duration_ms, model, .. } = event {
            let Usage { input, output, cache_read, cache_write, .. } = *usage;
            found.turns += 1;
            found.tokens_read += input + cache_read + cache_write;
            found.tokens_cached += cache_read;
            found.tokens_written += output;
            uncached += input + cache_write;
            micro_usd += cost;
            model_ms += duration_ms;
            if !found.models.contains(model) {
                found.models.push(model.clone());
            }
        } else if let Event::ActionStarted { number, .. } = event {
            found.actions = found.actions.max(*number);
        } else if let Event::CheckpointPosted { .. } = event {
            found.reviews += 1;
        }
    }
    found.dollars = micro_usd as f64 / 1e6;
    found.model_seconds = model_ms as f64 / 1e3;
    found.model_seconds_by_formula = uncached as f64 / READ + found.tokens_written as f64 / WRITTEN;
    found
}

/// Whether a final review was requested, which is the agent's claim to be done.
pub fn said_done(log: &[(i64, Event)]) -> bool {
    log.iter().any(|(_, event)| matches!(event, Event::CheckpointPosted { last: true, .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(usage: Usage, model: &str) -> (i64, Event) {
        let (text, calls) = (String::new(), Vec::new());
        (
            0,
            Event::TurnCompleted {
                turn: 1,
                text,
                calls,
                usage,
                micro_usd: 1500,
                duration_ms: 2000,
                model: model.into(),
                vendor: None,
            },
        )
    }

    #[test]
    fn tokens_seconds_and_money_are_summed() {
        let log = [
            turn(Usage { input: 1200, output: 50, cache_read: 0, cache_write: 0, reasoning: 0, unpriced: 0 }, "m"),
            turn(Usage { input: 100, output: 200, cache_read: 1100, cache_write: 20, reasoning: 0, unpriced: 0 }, "m"),
            (0, Event::ActionStarted { number: 1, turn: 1, index: 0 }),
            (0, Event::ActionStarted { number: 2, turn: 2, index: 0 }),
        ];
        let found = measure(&log);
        assert_eq!(
            (found.turns, found.actions, found.tokens_read, found.tokens_cached, found.tokens_written),
            (2, 2, 2420, 1100, 250)
        );
        assert!((found.model_seconds_by_formula - (1320.0 / 120.0 + 10.0)).abs() < 1e-9);
        assert!((found.model_seconds - 4.0).abs() < 1e-9 && (found.dollars - 0.003).abs() < 1e-9);
        assert!(found.models == ["m"] && !said_done(&log));
    }
}
