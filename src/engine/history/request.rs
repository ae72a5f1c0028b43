//! The request that a replayed log ends in.

use super::cut::switched;
use super::{Cut, Replay, TEXT_RESULT, written};
use crate::engine::fence::Fence;
use crate::engine::nudge::{self, Form};
use crate::engine::{EngineConfig, prompt, style, tools};
use crate::llm::ModelRequest;
use domain::{Event, Task, TaskKind};
use minijinja::context;

/// The next request of a task with the log `log` and the fold `task`, to a model that works by itself.
pub fn request(task: &Task, log: &[Event], form: Form, config: &EngineConfig) -> ModelRequest {
    request_with(task, log, form, config, Cut::of(log))
}

/// As [`request`], with another cut than that of the log.
pub(in crate::engine) fn request_with(
    task: &Task,
    log: &[Event],
    form: Form,
    config: &EngineConfig,
    cut: Cut,
) -> ModelRequest {
    let fence = Fence::new(&config.secret, task.id);
    let cap = match form {
        Form::Tools => config.result_chars,
        Form::Text => config.result_chars.min(TEXT_RESULT),
    };
    let mut replay = Replay::new(&fence, form, cap, cut);
    replay.kept_since = cut.since.max(switched(log));
    replay.written = written(log, cut.folded);
    (replay.summary_chars, replay.rules_chars) = (config.summary_chars, config.rules_chars);
    replay.difference_chars = config.difference_chars;
    replay.unbriefed = replaced(log);
    // What one server refused is not sent again, to any model.
    let refused = log.iter().any(|event| matches!(event, Event::PicturesRefused { .. }));
    let vision = config.vision.filter(|_| !refused);
    replay.vision = vision;
    for (at, event) in log.iter().enumerate() {
        replay.past = &log[..at];
        replay.take(event);
    }
    replay.fold();
    replay.flush();
    let (template, tools) = match (form, task.kind, config.brief) {
        (Form::Text, _, _) => ("text_system", Vec::new()),
        (Form::Tools, kind, true) => {
            (if kind.reads_only() { "short_plan" } else { "short_system" }, tools::brief(kind))
        }
        (Form::Tools, kind, false) => (if kind.reads_only() { "plan" } else { "system" }, tools::specs(kind)),
    };
    let tools = if vision.is_some() { tools::seeing(tools) } else { tools };
    let repository = task.request.as_ref().map(|r| fence.inline(&r.repository)).unwrap_or_default();
    let values = context! { repository, every => task.every(), nonce => fence.nonce(), proposes => task.kind == TaskKind::Plan, rules => replay.rules, example => style::EXAMPLE };
    ModelRequest {
        system: prompt::render(template, values),
        turns: replay.turns,
        tools,
        max_output_tokens: config.max_output_tokens,
        temperature: nudge::temperature(replay.nudges),
        seed: None,
        cache_key: None,
        must_call: false,
    }
}

/// Whether the conversation begins with the repository's own instructions for the task's kind in place of the bot's.
fn replaced(log: &[Event]) -> bool {
    let kind = log.iter().find_map(|event| match event {
        Event::Requested { request } => Some(request.kind),
        _ => None,
    });
    let first = log.iter().find_map(|event| match event {
        Event::Prepared { rules, .. } => Some(rules),
        _ => None,
    });
    let own = kind.zip(first).and_then(|(kind, rules)| rules.prompt_of(kind));
    own.is_some_and(|own| own.replaces)
}
