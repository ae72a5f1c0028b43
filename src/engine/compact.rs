//! Shortens a conversation before it no longer fits into the model.
//!
//! Owns: when, and how much. Preferably at a checkpoint, because a vendor's cache has expired by then anyway; first long results of older
//! turns, then older turns as a whole for a summary; down to half of the room where so much can go, so that the prefix stays cached for a
//! while. At a checkpoint at least a fifth has to go. What people asked for, the plan and the list of changed files stay verbatim. Pure: the
//! result is stored as an event, which `history` follows. Must not: call a model.
//! Why by rules: docs/decisions/0029-older-turns-are-told-by-rules.md. Tests: `compact_tests.rs`.

use domain::{Event, Input, Task};

use super::history::{self, Cut};
use super::nudge::Form;
use super::style::Style;
use super::{EngineConfig, context};

/// Turns at the end of a conversation that stay unchanged if they fit.
const WHOLE: u32 = 2;

/// The event to record before the next request, which has `tokens` tokens, if that is or will soon be too long. `context_tokens` is the
/// model's window, its answer included.
pub fn due(
    task: &Task,
    log: &[Event],
    style: Style,
    config: &EngineConfig,
    (tokens, context_tokens): (u64, u64),
) -> Option<Input> {
    let form = match style {
        Style::Tools => Form::Tools,
        Style::Text => Form::Text,
        // Each request of this style is a conversation of its own.
        Style::Files => return None,
    };
    let most = most(config, context_tokens);
    let limit = if decided_since_the_last_answer(log) { most / 5 * 3 } else { most };
    if tokens <= limit {
        return None;
    }
    let now = Cut::of(log);
    let rate = context::rate(&history::request_with(task, log, form, config, now), log);
    let size = |cut: Cut| {
        let request = history::request_with(task, log, form, config, cut);
        context::at_rate(request.bytes(), rate).saturating_add(request.picture_tokens())
    };
    let cut = smallest(task.turn, now, most / 2, size)?;
    let left = size(cut);
    let enough = if tokens > most { left <= most } else { left <= tokens / 5 * 4 };
    enough.then(|| Input::Compacted { turn: task.turn + 1, shrunk: cut.shrunk, folded: cut.folded, rate })
}

/// The longest prompt, in tokens, that leaves room for the longest answer, but at most for a quarter of the window.
pub(super) fn most(config: &EngineConfig, context_tokens: u64) -> u64 {
    context_tokens.saturating_sub(config.max_output_tokens.min(context_tokens / 4))
}

/// The cut that removes least and leaves at most `target` tokens; otherwise the one that removes most. None if nothing can be removed.
fn smallest(last: u32, now: Cut, target: u64, size: impl Fn(Cut) -> u64) -> Option<Cut> {
    let (before, since) = (last.saturating_sub(WHOLE), last + 1);
    let shrunk = |shrunk: u32| Cut { shrunk: shrunk.max(now.shrunk), folded: now.folded, since };
    if size(shrunk(before)) <= target {
        return Some(shrunk(first(now.shrunk, before, |at| size(shrunk(at)) <= target)));
    }
    let folded = |folded: u32| Cut { shrunk: before.max(now.shrunk), folded: folded.max(now.folded), since };
    if size(folded(before)) <= target {
        return Some(folded(first(now.folded, before, |at| size(folded(at)) <= target)));
    }
    let all = Cut { shrunk: last, folded: before.max(now.folded), since };
    ((all.shrunk, all.folded) != (now.shrunk, now.folded)).then_some(all)
}

/// The first number after `from`, up to `to`, for which `holds` is true, by binary search: it must be true for `to` and stay true.
fn first(from: u32, to: u32, holds: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (from, to);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    high
}

fn decided_since_the_last_answer(log: &[Event]) -> bool {
    let newest = log.iter().rev().find_map(|event| match event {
        Event::DecisionUsed { .. } => Some(true),
        Event::TurnCompleted { .. } => Some(false),
        _ => None,
    });
    newest.unwrap_or(false)
}

#[cfg(test)]
#[path = "compact_properties.rs"]
mod properties;
#[cfg(test)]
#[path = "compact_tests.rs"]
mod tests;
