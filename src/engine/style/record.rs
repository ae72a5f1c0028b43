//! Reads the log of a task in the style *files*. Pure.

use domain::{Action, BaseRun, Call, CallRequest, Event, Look, Outcome, Request, Task, Verb};

use crate::command;
use crate::engine::fence::seen;
use crate::sandbox::failures::failure;
use crate::text;

/// The issue's title, its text, and the words of the command.
pub fn words(task: &Task) -> String {
    let request = task.request.as_ref();
    let parts = request.map(|it| {
        let (body, words) = issue_text(it);
        [text::one_line(&it.title), body, words]
    });
    parts.unwrap_or_default().join("\n")
}

/// The issue's text without the command's name, and the words of the command if they are not part of it.
pub(super) fn issue_text(request: &Request) -> (String, String) {
    let body = command::without_names(&request.body);
    let in_the_body = body != request.body && body.contains(request.words.trim());
    let words = if in_the_body { String::new() } else { seen(&request.words).0.trim().to_owned() };
    (seen(&body).0.trim().to_owned(), words)
}

/// The look that the host took for this turn.
pub fn look(log: &[Event], turn: u32) -> Option<&Look> {
    log.iter().rev().find_map(|event| match event {
        Event::Looked { turn: of, look } if *of == turn => Some(&**look),
        _ => None,
    })
}

/// The result of the checks on the task's present base; none without a known command, or before the first look.
pub fn base(log: &[Event]) -> Option<&BaseRun> {
    let since = log.iter().rposition(|event| matches!(event, Event::Rebased(_))).map_or(0, |at| at + 1);
    log[since..].iter().find_map(|event| match event {
        Event::Looked { look, .. } => look.base.as_ref(),
        _ => None,
    })
}

/// Words of a `/fix` on a plan.
pub fn widened(log: &[Event]) -> impl Iterator<Item = &str> {
    log.iter().filter_map(|event| match event {
        Event::WidenedToFix { words } => Some(words.as_str()),
        _ => None,
    })
}

/// Whether the event asks for another answer of the model: something from a person, the forge, or the loss of a sandbox.
pub(super) fn asks_for_more(event: &Event) -> bool {
    match event {
        Event::CiEnded(ended) => ended.returned,
        Event::DecisionUsed { decision, .. } => matches!(decision.verb, Verb::Changes { .. }),
        Event::VerdictReturned { .. }
        | Event::DoneReturned { .. }
        | Event::TreeRefused { .. }
        | Event::WidenedToFix { .. }
        | Event::DoneSaid { .. }
        | Event::FeedbackGiven { .. }
        | Event::QuestionAnswered { .. }
        | Event::Rebased(_)
        | Event::SandboxLost { .. } => true,
        _ => false,
    }
}

/// Whether the event asks for something that changes the workspace.
pub(super) fn changes_something(event: &Event) -> bool {
    let changes = |request: &CallRequest| request.call.may_change_the_tree();
    matches!(event, Event::TurnCompleted { calls, .. } if calls.iter().any(changes))
}

/// The ended actions of the answer at `last`, with their outcomes.
pub(super) fn outcomes(log: &[Event], last: usize) -> impl Iterator<Item = (&Action, &Outcome)> {
    let calls: &[CallRequest] = match &log[last] {
        Event::TurnCompleted { calls, .. } => calls,
        _ => &[],
    };
    log[last..].iter().filter_map(move |event| {
        let Event::ActionStarted { number, index, .. } = event else { return None };
        let Call::Action { action } = &calls.get(*index as usize)?.call else { return None };
        let ended = log[last..].iter().find_map(|event| match event {
            Event::ActionFinished { number: ended, outcome } if ended == number => Some(outcome),
            _ => None,
        })?;
        Some((action, ended))
    })
}

pub(super) fn passed(ended: &Outcome) -> bool {
    ended.status.succeeded() && failure(&ended.text).is_none()
}
