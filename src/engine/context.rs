//! Estimates the size of a request in tokens before it is sent.
//!
//! Owns: the estimate. At first a quarter of the bytes; after the first answer, the server's count for the part that it has seen, and
//! its rate for what was added. Must not: shorten anything. Tests: below.

use domain::{Event, SummaryOf};

use super::history::counted_since;
use crate::llm::{ModelRequest, Turn};

/// Tokens per 1,000 bytes, until the model's own rate is known.
const USUAL_RATE: u32 = 250;

/// The estimated tokens of the request's prompt.
pub fn estimate(request: &ModelRequest, log: &[Event]) -> u64 {
    let (all, pictures) = (request.bytes(), request.picture_tokens());
    match last_count(request, log) {
        Some(Counted { bytes: seen, pictures: counted, tokens }) if seen > 0 && tokens > 0 => {
            let pictures = pictures.saturating_sub(counted);
            // Never below a quarter, so that an odd first count (from a server that does not count the tools) cannot hide the growth.
            let new = all.saturating_sub(seen);
            let rate = new.saturating_mul(tokens).div_ceil(seen);
            tokens.saturating_add(rate.max(new.div_ceil(4))).saturating_add(pictures)
        }
        _ => at_rate(all, last_rate(log)).saturating_add(pictures),
    }
}

/// Tokens per 1,000 bytes by the server's last count, at least a quarter.
pub(super) fn rate(request: &ModelRequest, log: &[Event]) -> u32 {
    match last_count(request, log) {
        Some(Counted { bytes: seen, tokens, .. }) if seen > 0 => {
            let rate = tokens.saturating_mul(1000).div_ceil(seen);
            u32::try_from(rate).unwrap_or(u32::MAX).max(USUAL_RATE)
        }
        _ => last_rate(log),
    }
}

/// Tokens of this many bytes.
pub(super) fn at_rate(bytes: u64, rate: u32) -> u64 {
    bytes.saturating_mul(u64::from(rate)).div_ceil(1000)
}

/// The rate at which the conversation was last shortened.
fn last_rate(log: &[Event]) -> u32 {
    let newest = log.iter().rev().find_map(|event| match event {
        Event::Compacted { rate, .. } => Some(*rate),
        _ => None,
    });
    newest.unwrap_or(USUAL_RATE)
}

/// A prompt that was sent, and the server's count.
struct Counted {
    bytes: u64,
    /// The upper limit of the tokens of its pictures.
    pictures: u64,
    tokens: u64,
}

/// The newest prompt that the server counted. Only prompts of the present model since the conversation was last shortened count; the answers
/// since then are the last ones in the request.
fn last_count(request: &ModelRequest, log: &[Event]) -> Option<Counted> {
    let told = |of: SummaryOf| matches!(of, SummaryOf::Turns { .. });
    let shapes = |event: &Event| match event {
        Event::ConversationRestarted | Event::Compacted { .. } => true,
        Event::Summarised { summary } => told(summary.of),
        _ => false,
    };
    let begins = log.iter().rposition(shapes).unwrap_or(0);
    let since = counted_since(log);
    let counts: Vec<u64> = log[begins..].iter().filter_map(|event| prompt_tokens(event, since)).collect();
    let newest = counts.iter().rposition(|tokens| *tokens > 0)?;
    let mut answers = counts.len().saturating_sub(newest);
    let before = request.turns.iter().rposition(|turn| {
        answers -= usize::from(matches!(turn, Turn::Assistant { .. }));
        answers == 0
    })?;
    let (bytes, pictures) = (request.bytes_of_first(before), request.picture_tokens_of_first(before));
    Some(Counted { bytes, pictures, tokens: counts[newest] })
}

/// The count of an answered prompt; 0 if it was counted for a turn before `since`.
fn prompt_tokens(event: &Event, since: u32) -> Option<u64> {
    match event {
        Event::TurnCompleted { turn, .. } if *turn < since => Some(0),
        Event::TurnCompleted { usage, .. } => Some(usage.input + usage.cache_read + usage.cache_write),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Fallback, FallbackReason, Usage};

    fn request(turns: Vec<Turn>) -> ModelRequest {
        ModelRequest {
            system: "s".repeat(400),
            turns,
            tools: Vec::new(),
            max_output_tokens: 10,
            temperature: None,
            seed: None,
            cache_key: None,
            must_call: false,
        }
    }

    fn user(chars: usize) -> Turn {
        Turn::User { text: "u".repeat(chars) }
    }

    fn answer(chars: usize) -> Turn {
        Turn::Assistant { text: "a".repeat(chars), calls: Vec::new(), vendor: None }
    }

    fn counted(input: u64) -> Event {
        counted_at(1, input)
    }

    fn counted_at(turn: u32, input: u64) -> Event {
        let usage = Usage { input, ..Usage::default() };
        Event::TurnCompleted {
            turn,
            text: String::new(),
            calls: vec![],
            usage,
            micro_usd: 0,
            duration_ms: 0,
            model: String::new(),
            vendor: None,
        }
    }

    #[test]
    fn a_quarter_of_the_bytes_at_first_of_which_other_scripts_have_more() {
        assert_eq!(estimate(&request(vec![user(600)]), &[]), 250);
        let of = |letter: &str| estimate(&request(vec![Turn::User { text: letter.repeat(600) }]), &[]);
        assert_eq!((of("u"), of("ж"), of("語")), (250, 400, 550));
    }

    #[test]
    fn then_what_the_server_counted_and_its_rate() {
        let request = request(vec![user(600), answer(100), user(100)]);
        assert_eq!(estimate(&request, &[counted(500)]), 500 + 100, "half a token for each character");
        assert_eq!(estimate(&request, &[counted(100)]), 100 + 50, "never below a quarter");
        assert_eq!(estimate(&request, &[counted(0)]), 300, "a server that counts nothing");
    }

    #[test]
    fn the_newest_count_is_used() {
        let request = request(vec![user(600), answer(100), user(100), answer(0), user(40)]);
        assert_eq!(estimate(&request, &[counted(500), counted(1200)]), 1200 + 40);
        assert_eq!(estimate(&request, &[counted(500), counted(0)]), 500 + 120);
    }

    #[test]
    fn what_another_models_server_counted_is_not_used() {
        let sent = request(vec![user(600), answer(100), user(100)]);
        let fallback = Some(Fallback { from: "a".into(), to: "b".into(), why: FallbackReason::Away });
        let fallen = Event::ModelCallUncharged { turn: 2, fallback };
        for switch in [fallen.clone(), Event::WidenedToFix { words: String::new() }] {
            assert_eq!(estimate(&sent, &[counted(5000), switch]), 300);
        }
        let anew = Event::AnotherWay { tried: Vec::new() };
        assert_eq!(estimate(&sent, &[anew, counted(5000)]), 300, "the planner takes the first step");
        let longer = request(vec![user(600), answer(100), user(100), answer(0), user(40)]);
        assert_eq!(estimate(&longer, &[counted(5000), fallen, counted_at(2, 1200)]), 1200 + 40, "its own count is");
    }
}
