//! The call that has a model summarize older turns, when a conversation is shortened.
//!
//! Owns: when that is due, what the model is shown, and that its summary leaves enough room in the request. Pure. Must not: make the call,
//! or trust the summary (`history` puts it into a fence). Without an answer the host's own lines are used
//! (docs/decisions/0034-a-model-may-tell-older-turns.md). Tests: `summarize_tests.rs`.

use domain::{Action, CallRequest, Event, ModelSummary, Outcome, SummaryOf, Task, Verb, VerdictCase};
use minijinja::context;

use super::fence::{Fence, Trust, seen, spelled};
use super::history::{self, written};
use super::nudge::Form;
use super::style::{Reader, Style};
use super::tries::{CallStep, Tries};
use super::turn::Ready;
use super::{EngineConfig, budget, compact, context as sizes, issue, outcome, prompt, summary};
use crate::llm::{Model, ModelRequest};
use crate::text;

/// The most calls for one summary.
const MOST_CALLS: usize = 2;
/// The most characters of the turns that are shown: about 12,000 tokens.
const MOST: usize = 48_000;
/// The longest answer, in tokens, beside what a model thinks before it.
const MOST_OUTPUT: u64 = 1_500;
/// The shortest limit of an answer, in tokens, with which a call is made.
const LEAST_OUTPUT: u64 = 200;
/// Limits of each text in characters, tried in order until all fit.
const CAPS: [usize; 7] = [6_000, 3_000, 1_500, 700, 300, 120, 0];

/// The turns to summarize before the coming request, if some were just left out and are not summarized yet, and where a list of models with
/// these labels begins to be asked.
pub fn due(task: &Task, log: &[Event], labels: &[String]) -> Option<(SummaryOf, usize)> {
    let at = log.iter().rposition(|it| matches!(it, Event::Compacted { .. } | Event::ConversationRestarted))?;
    let Event::Compacted { turn, folded: upto @ 1.., .. } = log[at] else { return None };
    if turn != task.turn + 1 || written(log, upto).is_some_and(|(told, _)| told == upto) {
        return None;
    }
    let mut calls = Vec::new();
    for event in &log[at..] {
        match event {
            // The request was already sent, so it must not change.
            Event::ModelCallStarted { .. } => return None,
            Event::Summarised { summary } if matches!(summary.of, SummaryOf::Turns { .. }) => {
                calls.push(CallStep::stored(&summary.model, summary.usage.total()));
            }
            Event::SummaryStarted { of: SummaryOf::Turns { .. }, .. } => calls.push(CallStep::Begun),
            _ => {}
        }
    }
    let tries = Tries::of(calls);
    let next = tries.next(labels);
    if tries.is_over() && next.is_none() || tries.lost() >= MOST_CALLS {
        return None;
    }
    let (from, to) = Material::of(log, 0, upto).actions.unwrap_or_default();
    Some((SummaryOf::Turns { upto, from, to }, next.unwrap_or(0)))
}

/// The lowest trust of what the call for these turns shows.
pub fn trust(log: &[Event], upto: u32) -> Trust {
    SummarySources::of(log, upto).trust()
}

/// What the call for some turns shows: an earlier summary, and what happened since.
struct SummarySources<'a> {
    before: Option<&'a ModelSummary>,
    material: Material<'a>,
}

impl<'a> SummarySources<'a> {
    fn of(log: &'a [Event], upto: u32) -> Self {
        let before = written(log, upto);
        let material = Material::of(log, before.map_or(0, |(told, _)| told), upto);
        Self { before: before.map(|(_, summary)| summary), material }
    }

    /// The lowest of both.
    fn trust(&self) -> Trust {
        self.before.map_or(self.material.trust, |summary| self.material.trust.min(summary.trust))
    }
}

/// The call; none if it does not fit into the model, or into what the task may still spend. `worker` is the configuration of the shortened
/// conversation, `config` and `model` those of the summarizer.
pub fn turns(
    task: &Task,
    log: &[Event],
    upto: u32,
    worker: &EngineConfig,
    config: &EngineConfig,
    model: &dyn Model,
) -> Option<Ready> {
    let fence = Fence::new(&config.secret, task.id);
    let room = room(model);
    let all = SummarySources::of(log, upto);
    let told = all.before.map(|summary| spelled(&summary.text)).unwrap_or_default();
    let told = text::cut(&told, room / 3).0;
    let trust = all.trust();
    let shown = all.material.shown(room - told.chars().count());
    let values = context! {
        words => asked_for(task, &fence, room / 8),
        before => if told.is_empty() { String::new() } else { fence.wrap("an earlier summary", trust, told) },
        text => fence.wrap("older turns", trust, &shown),
    };
    let length = u64::try_from(worker.summary_chars / 4).unwrap_or(MOST_OUTPUT).clamp(LEAST_OUTPUT, MOST_OUTPUT);
    call(task, "summary_turns", values, length, config, model)
}

/// The summary; its text is removed if the request would not have enough room with it.
pub fn fitting(
    task: &Task,
    log: &[Event],
    style: Style,
    config: &EngineConfig,
    context_tokens: u64,
    mut summary: ModelSummary,
) -> ModelSummary {
    let form = if style == Style::Text { Form::Text } else { Form::Tools };
    let mut with = log.to_vec();
    with.push(Event::Summarised { summary: Box::new(summary.clone()) });
    let request = history::request(task, &with, form, config);
    if sizes::estimate(&request, &with) > compact::most(config, context_tokens) {
        summary.text.clear();
    }
    summary
}

/// Characters that a model may be shown at once: half of its window, at three characters per token, because code is dense.
pub(super) fn room(model: &dyn Model) -> usize {
    usize::try_from(model.context_tokens() * 3 / 2).unwrap_or(MOST).min(MOST)
}

/// What was asked for, in fences.
pub(super) fn asked_for(task: &Task, fence: &Fence, most: usize) -> String {
    let Some(request) = &task.request else { return String::new() };
    let (issue, _) = issue::shown(request);
    let (command, _) = seen(&request.words);
    let issue = fence.wrap("the issue", Trust::None, text::cut(&issue, most / 2).0);
    match command.is_empty() {
        true => issue,
        false => format!("{}\n{issue}", fence.wrap("the task", Trust::Write, text::cut(&command, most / 2).0)),
    }
}

/// A call for an answer of at most this many tokens, beside what a model thinks before it; none if it does not fit.
pub(super) fn call(
    task: &Task,
    template: &str,
    values: minijinja::Value,
    length: u64,
    config: &EngineConfig,
    model: &dyn Model,
) -> Option<Ready> {
    let fence = Fence::new(&config.secret, task.id);
    let repository = fence.inline(&task.request.as_ref()?.repository);
    let system = context! { repository, nonce => fence.nonce(), words => length / 2 };
    let (system, text) = (prompt::render("summary_system", system), prompt::render(template, values));
    let mut request = ModelRequest::question(system, text, length);
    let prompt_tokens = sizes::estimate(&request, &[]);
    // The action that it belongs to is already counted.
    let left = budget::Left { actions: None, ..budget::left(&task.granted, &task.spent) };
    let wanted = config.max_output_tokens.min(budget::with_thoughts(length, model.context_tokens()));
    let allowed = budget::allow(&left, &model.price(), prompt_tokens, wanted, model.context_tokens()).ok()?;
    request.max_output_tokens = allowed.max_output_tokens;
    let (reader, worst_micro_usd) = (Reader::Tools { spoken: false }, allowed.worst_micro_usd);
    Some(Ready { turn: task.turn, request, reader, prompt_tokens, worst_micro_usd })
}

/// What happened in some turns, in order.
struct Material<'a> {
    pieces: Vec<(String, &'a str)>,
    /// Numbers of the first and last action.
    actions: Option<(u32, u32)>,
    /// The lowest trust of all its sources: at most that of the issue, which is shown beside it.
    trust: Trust,
}

impl<'a> Material<'a> {
    /// The material of the turns after `before`, up to `upto`, since the conversation began.
    fn of(log: &'a [Event], before: u32, upto: u32) -> Self {
        let begins = log.iter().rposition(|it| matches!(it, Event::ConversationRestarted)).map_or(0, |at| at + 1);
        let mut all = Material { pieces: Vec::new(), actions: None, trust: Trust::None };
        let (mut now, mut calls, mut started): (u32, &[CallRequest], Vec<(u32, usize)>) = (0, &[], Vec::new());
        for event in &log[begins..] {
            match event {
                Event::TurnCompleted { turn, text, calls: made, .. } => {
                    (now, calls) = (*turn, made);
                    started.clear();
                    if now > before && now <= upto && !text.trim().is_empty() {
                        all.take("the agent".to_owned(), text.trim(), Trust::None);
                    }
                }
                _ if now <= before || now > upto => {}
                Event::ActionStarted { number, index, .. } => started.push((*number, *index as usize)),
                Event::ActionFinished { number, outcome } => {
                    let index = started.iter().find(|(known, _)| known == number).map(|(_, index)| *index);
                    if let Some(call) = index.and_then(|index| calls.get(index)) {
                        all.did(*number, call, outcome);
                    }
                }
                Event::Verified { commit, verdict, .. } => {
                    let how = match verdict.case() {
                        VerdictCase::Passed => "passed",
                        VerdictCase::NoTest => "ran no test",
                        VerdictCase::Failed | VerdictCase::None => "did not pass",
                    };
                    let head = format!("the host ran the checks on commit {}: {how}", commit.short());
                    all.take(head, &verdict.tail, Trust::None);
                }
                Event::CiEnded(ended) if ended.failed() => {
                    all.take(format!("the forge's CI failed on commit {}", ended.commit.short()), "", Trust::None);
                }
                Event::DecisionUsed { decision, n } => {
                    let changes = matches!(decision.verb, Verb::Changes { .. });
                    let what = if changes { "asked for changes" } else { "approved it" };
                    all.take(format!("checkpoint {n}: {} {what}", decision.poster.login), "", Trust::Write);
                }
                _ => {}
            }
        }
        all
    }

    fn take(&mut self, head: String, body: &'a str, trust: Trust) {
        self.pieces.push((head, body));
        self.trust = self.trust.min(trust);
    }

    fn did(&mut self, number: u32, call: &CallRequest, ended: &'a Outcome) {
        let object = call.call.action().map(Action::object).unwrap_or_default();
        let object = text::one_line(&object);
        let head =
            format!("action {number}: {} {}: {}", call.name, text::cut(&object, 200).0, summary::how(&ended.status));
        self.actions = Some((self.actions.map_or(number, |(first, _)| first), number));
        self.take(head, &ended.text, Trust::None);
    }

    /// All of it in about `most` characters at most: first long texts lose their middle, then the oldest entries are left out.
    fn shown(&self, most: usize) -> String {
        let shown = |cap: usize| {
            let piece = |(head, body): &(String, &str)| match body.is_empty() || cap == 0 {
                true => head.clone(),
                false => format!("{head}\n{}", outcome::shortened(body.trim_end(), cap).0),
            };
            self.pieces.iter().map(piece).collect::<Vec<_>>()
        };
        let size = |all: &[String]| all.iter().map(|piece| piece.chars().count() + 1).sum::<usize>();
        let all = CAPS.into_iter().map(shown).find(|all| size(all) <= most);
        if let Some(all) = all {
            return all.join("\n");
        }
        let heads = shown(0);
        let mut left = most;
        let fits = |piece: &&String| {
            let needed = piece.chars().count() + 1;
            let fits = needed <= left;
            left = left.saturating_sub(needed);
            fits
        };
        let kept = heads.iter().rev().take_while(fits).count();
        heads[heads.len() - kept..].join("\n")
    }
}

#[cfg(test)]
#[path = "summarize_tests.rs"]
mod tests;
