//! How large a request is, in tokens, before it is sent.
//!
//! Owns: the estimate. A quarter of the characters to begin with; from the first answer on, what the server counted for the part
//! it has seen, and its own rate for what came since. Must not: shorten anything. Tests: below.

use domain::Event;

use crate::llm::{ModelRequest, Turn};

/// Tokens that the request's prompt will be counted as.
pub fn estimate(request: &ModelRequest, log: &[Event]) -> u64 {
    let all = request.chars();
    match last_count(request, log) {
        Some((seen, tokens)) if seen > 0 && tokens > 0 => {
            // Never below a quarter, so that an odd first count (a server that leaves out the tools) can't hide what grows.
            let new = all.saturating_sub(seen);
            let rate = new.saturating_mul(tokens).div_ceil(seen);
            tokens.saturating_add(rate.max(new.div_ceil(4)))
        }
        _ => all.div_ceil(4),
    }
}

/// The newest prompt that the server counted: its characters and its tokens. The n-th answer of the conversation in the log is the
/// n-th in the request.
fn last_count(request: &ModelRequest, log: &[Event]) -> Option<(u64, u64)> {
    let begins = log.iter().rposition(|event| matches!(event, Event::ConversationRestarted)).unwrap_or(0);
    let counts: Vec<u64> = log[begins..].iter().filter_map(prompt_tokens).collect();
    let newest = counts.iter().rposition(|tokens| *tokens > 0)?;
    let mut answers = 0;
    let mut before = ModelRequest { turns: Vec::new(), ..request.clone() };
    for turn in &request.turns {
        if matches!(turn, Turn::Assistant { .. }) {
            if answers == newest {
                return Some((before.chars(), counts[newest]));
            }
            answers += 1;
        }
        before.turns.push(turn.clone());
    }
    None
}

fn prompt_tokens(event: &Event) -> Option<u64> {
    match event {
        Event::TurnCompleted { usage, .. } => Some(usage.input + usage.cache_read + usage.cache_write),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Usage;

    fn request(turns: Vec<Turn>) -> ModelRequest {
        ModelRequest {
            system: "s".repeat(400),
            turns,
            tools: Vec::new(),
            max_output_tokens: 10,
            temperature: None,
            seed: None,
        }
    }

    fn user(chars: usize) -> Turn {
        Turn::User { text: "u".repeat(chars) }
    }

    fn answer(chars: usize) -> Turn {
        Turn::Assistant { text: "a".repeat(chars), calls: Vec::new(), vendor: None }
    }

    fn counted(input: u64) -> Event {
        let usage = Usage { input, ..Usage::default() };
        Event::TurnCompleted {
            turn: 1,
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
    fn a_quarter_of_the_characters_at_first() {
        assert_eq!(estimate(&request(vec![user(600)]), &[]), 250);
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
}
