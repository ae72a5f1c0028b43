//! Measures a try from the task's own log in the store.
//!
//! Owns sums over events, and the formula that makes results of different machines comparable. Tests: below.

use super::results::Measured;
use domain::{CallAnswer, CallPurpose, Event, Usage};

/// Tokens per second in the formula: uncached ones read, and ones written.
const READ: f64 = 120.0;
const WRITTEN: f64 = 25.0;

/// Sums over the log; waiting times are measured in `drive.rs`.
pub fn measure(log: &[(i64, Event)]) -> Measured {
    let mut found = Measured::default();
    let mut uncached = 0;
    let (mut micro_usd, mut model_ms) = (0, 0);
    for (_, event) in log {
        if let Some(CallAnswer { purpose, model, usage, micro_usd: cost, duration_ms }) = event.call_answer() {
            let Usage { input, output, cache_read, cache_write, .. } = usage;
            let is_turn = matches!(purpose, CallPurpose::Turn(_));
            found.turns += u32::from(is_turn);
            found.tokens_read += input + cache_read + cache_write;
            found.tokens_cached += cache_read;
            found.tokens_written += output;
            found.unpriced += usage.unpriced;
            uncached += input + cache_write;
            micro_usd += cost;
            model_ms += duration_ms.unwrap_or_default();
            // A second look that no model made is the host's own words, with the name of the model that did not answer.
            if (is_turn || usage.total() > 0) && !found.models.iter().any(|known| known == model) {
                found.models.push(model.to_owned());
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

    /// A reviewer and a summarizer are paid like the worker; what the host said in their place costs nothing and is no model's.
    #[test]
    fn calls_beside_the_conversation_are_summed_too() {
        let looked = |usage: Usage, micro_usd: u64, model: &str| {
            let (n, text, model) = (1, String::new(), model.to_owned());
            (0, Event::SecondLooked { n, text, usage, micro_usd, duration_ms: 500, model })
        };
        let usage = |input: u64, output: u64| Usage { input, output, ..Usage::default() };
        let log = [
            turn(usage(1200, 50), "m"),
            looked(Usage { unpriced: 265, ..usage(240, 25) }, 500, "strict"),
            looked(Usage::default(), 0, "away"),
        ];
        let found = measure(&log);
        assert_eq!((found.turns, found.tokens_read, found.tokens_written, found.unpriced), (1, 1440, 75, 265));
        assert!((found.dollars - 0.002).abs() < 1e-9 && (found.model_seconds - 3.0).abs() < 1e-9);
        assert!((found.model_seconds_by_formula - (1440.0 / 120.0 + 3.0)).abs() < 1e-9);
        assert_eq!(found.models, ["m", "strict"]);
    }
}
