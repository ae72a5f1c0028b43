//! Measures a model's server: reading and writing speed, use of its cache, several calls in one answer, and on request a prompt of nearly
//! the whole window. By the server's counts and this machine's clock.
//!
//! Owns the questions and the wording of the results. Must not print. Tests: `tests/providers/measured.rs`.

use super::look::Finding;
use crate::config::process::Model as Entry;
use crate::engine::probe;
use crate::llm::deltas::Tally;
use crate::llm::{Model, ModelError, ModelRequest, Turn, Usage};
use std::time::{Duration, Instant};

/// Tokens of the prompt that is sent twice; no vendor caches much shorter ones.
const PROMPT: u64 = 5_000;
/// Tokens of the answer.
const ANSWER: u64 = 200;
/// Time limit of each answer.
const WAIT: Duration = Duration::from_secs(300);
/// Size of the longest prompt in percent of the window.
const FULL: u64 = 92;
const FILLING: &str = "The river runs past the mill, and the miller counts the sacks that stand before the door. ";

/// The measurements and findings.
#[derive(Debug, Default)]
pub struct Measured {
    /// A short name and a text for each measurement.
    pub fields: Vec<(&'static str, String)>,
    /// Faults and notes.
    pub findings: Vec<Finding>,
}

/// One answer with its counts and times.
struct Timed {
    usage: Usage,
    first: Option<Duration>,
    took: Duration,
    text: String,
}

/// Asks three questions, with `window` a fourth whose prompt fills the window; an error ends it with the results so far.
pub async fn measure(entry: &Entry, model: &dyn Model, window: bool) -> Measured {
    let mut measured = Measured::default();
    if let Err(error) = questions(entry, model, window, &mut measured).await {
        measured.findings.push(Finding::Note(format!("no more was measured: {error}")));
    }
    measured
}

async fn questions(entry: &Entry, model: &dyn Model, window: bool, found: &mut Measured) -> Result<(), ModelError> {
    let size = PROMPT.min(entry.context_tokens / 4);
    // A different beginning each time, so that nothing of it is in a cache yet.
    let request = count_to_forty(&mark(), size * 4);
    let first = timed(model, &request).await?;
    found.fields.extend([("reads", reads(&first)), ("writes", writes(&first))]);
    let again = timed(model, &request).await?;
    found.fields.push(("cache", cached(&again.usage)));
    let calls = probe::calls_at_once(model, entry.is_own_server()).await?;
    let calls = match calls {
        0 => "no call came when two were asked for".to_owned(),
        1 => "one at a time: one came when two were asked for".to_owned(),
        many => format!("yes: {many} calls in one answer"),
    };
    found.fields.push(("several calls", calls));
    if window {
        let chars = request.chars().max(1);
        let rate = if first.usage.prompt() > 0 { first.usage.prompt() as f64 / chars as f64 } else { 0.25 };
        filled(entry, model, rate, found).await?;
    }
    Ok(())
}

/// Sends a prompt of nearly the window. `rate`: tokens per character, by the server's count.
async fn filled(entry: &Entry, model: &dyn Model, rate: f64, found: &mut Measured) -> Result<(), ModelError> {
    let wanted = entry.context_tokens.saturating_sub(ANSWER) * FULL / 100;
    let word = mark();
    let mut request = count_to_forty(&word, (wanted as f64 / rate.max(0.01)) as u64);
    request.turns = vec![Turn::User { text: "Which number stands at the very beginning? Say it alone.".to_owned() }];
    let hint = || "set context_tokens to what the server has, or start it with more".to_owned();
    let asked = entry.context_tokens;
    let answer = match timed(model, &request).await {
        Err(ModelError::ContextFull) => {
            let fault = format!(
                "its window is smaller than configured: a prompt of about {wanted} tokens was refused, and context_tokens says {asked}"
            );
            found.findings.push(Finding::Fault { found: fault, hint: hint() });
            return Ok(());
        }
        other => other?,
    };
    let counted = answer.usage.prompt();
    if counted > 0 && counted.saturating_mul(4) < wanted.saturating_mul(3) {
        let fault = format!(
            "it read {counted} tokens of a prompt of about {wanted}, and left the rest out: its window is smaller than the {asked} of context_tokens"
        );
        found.findings.push(Finding::Fault { found: fault, hint: hint() });
        return Ok(());
    }
    let taken =
        if counted > 0 { format!("{counted} tokens") } else { format!("about {wanted} tokens, not counted by it,") };
    let beginning = match answer.text.contains(&word) {
        true => "and its beginning was read",
        false => "but what stands at its beginning was not said when asked",
    };
    found.fields.push(("window", format!("a prompt of {taken} of {asked} was taken, {beginning}")));
    Ok(())
}

/// Six random digits, so that no earlier prompt had the same beginning.
fn mark() -> String {
    let number = getrandom::u32().unwrap_or_else(|_| std::process::id());
    format!("{:06}", number % 1_000_000)
}

fn count_to_forty(mark: &str, chars: u64) -> ModelRequest {
    let times = usize::try_from(chars).unwrap_or(usize::MAX) / FILLING.len();
    ModelRequest {
        system: format!("Number {mark}. What follows is only there to be read. {}", FILLING.repeat(times)),
        turns: vec![Turn::User { text: "Count from 1 to 40, with a space between two numbers.".to_owned() }],
        tools: Vec::new(),
        max_output_tokens: ANSWER,
        temperature: Some(0.0),
        seed: None,
        cache_key: None,
        must_call: false,
    }
}

async fn timed(model: &dyn Model, request: &ModelRequest) -> Result<Timed, ModelError> {
    let (began, tally) = (Instant::now(), Tally::default());
    let silent = |_| ModelError::Lost(format!("it did not answer within {} s", WAIT.as_secs()));
    let response = tokio::time::timeout(WAIT, model.respond(request, &tally)).await.map_err(silent)??;
    Ok(Timed { usage: response.usage, first: tally.first(), took: began.elapsed(), text: response.text })
}

fn reads(answer: &Timed) -> String {
    let tokens = answer.usage.prompt();
    match (tokens, answer.first) {
        (0, _) => "not known: its server counts no tokens".to_owned(),
        (_, Some(first)) => format!("{} tokens/s: {tokens} before the first piece of its answer", pace(tokens, first)),
        (_, None) => {
            format!(
                "{tokens} tokens, not told apart from writing: the answer came whole after {} ms",
                answer.took.as_millis()
            )
        }
    }
}

fn writes(answer: &Timed) -> String {
    let tokens = answer.usage.output;
    match (tokens, answer.first) {
        (0, _) => "not known: its server counts no tokens".to_owned(),
        (_, Some(first)) => {
            format!("{} tokens/s: {tokens} behind the first piece", pace(tokens, answer.took.saturating_sub(first)))
        }
        (_, None) => format!("{} tokens/s at least: {tokens} in all", pace(tokens, answer.took)),
    }
}

/// Tokens per second, at least one.
fn pace(tokens: u64, within: Duration) -> u64 {
    let seconds = within.as_secs_f64().max(0.001);
    (tokens as f64 / seconds).round().max(1.0) as u64
}

fn cached(again: &Usage) -> String {
    match (again.prompt(), again.cache_read) {
        (0, _) => "not known: its server counts no tokens".to_owned(),
        (all, 0) => format!("nothing: of the same {all} tokens sent again none counts as read from a cache"),
        (all, read) => format!("yes: {read} of the same {all} tokens sent again came from it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(prompt: u64, output: u64, first: Option<u64>, took: u64) -> Timed {
        let usage = Usage { input: prompt, output, ..Usage::default() };
        let (first, took) = (first.map(Duration::from_millis), Duration::from_millis(took));
        Timed { usage, first, took, text: String::new() }
    }

    #[test]
    fn pace_is_told_by_what_was_counted_and_when_it_came() {
        let streamed = answer(5000, 100, Some(500), 2500);
        assert_eq!(reads(&streamed), "10000 tokens/s: 5000 before the first piece of its answer");
        assert_eq!(writes(&streamed), "50 tokens/s: 100 behind the first piece");
        let whole = answer(5000, 100, None, 2000);
        assert!(reads(&whole).contains("not told apart") && writes(&whole).starts_with("50 tokens/s at least"));
        let uncounted = answer(0, 0, Some(1), 2);
        assert!([reads(&uncounted), writes(&uncounted)].iter().all(|it| it.starts_with("not known")));
    }

    #[test]
    fn a_cache_is_told_by_the_second_time() {
        let usage = |input, cache_read| Usage { input, cache_read, ..Usage::default() };
        assert_eq!(cached(&usage(100, 4900)), "yes: 4900 of the same 5000 tokens sent again came from it");
        assert!(cached(&usage(5000, 0)).starts_with("nothing: of the same 5000"));
        assert!(cached(&usage(0, 0)).starts_with("not known"));
    }

    #[test]
    fn a_prompt_is_about_as_long_as_it_is_wanted() {
        let request = count_to_forty("123456", 20_000);
        assert!((19_500..21_000).contains(&request.chars()), "{}", request.chars());
        assert!(request.system.starts_with("Number 123456."));
    }
}
