//! When work in the style *files* is done if answers are written without being tried first (`round.rs`): the host decides it by its checks.
//!
//! Owns: that judgement over the log. Tests: `files_tests.rs`.

use domain::{Action, Call, CallRequest, Event, NewFile, Outcome, Task};

use super::choice;
use super::record::{asks_for_more, base, outcomes, passed};
use crate::engine::answer::{HOST, TurnAnswer};
use crate::text;

/// Number of answers after which the person is shown the result, if the base's own checks fail and no answer made them pass.
const TRIES: usize = 3;

/// The end of the work, if the newest answer was written, nothing was asked since, and the checks allow it.
pub fn settled(task: &Task, log: &[Event]) -> Option<TurnAnswer> {
    let last = log.iter().rposition(|event| matches!(event, Event::TurnCompleted { .. }))?;
    let Event::TurnCompleted { text, calls, model, .. } = &log[last] else { return None };
    // What the host wrote was judged in `round.rs`.
    if model == HOST || log[last..].iter().any(asks_for_more) {
        return None;
    }
    let written = outcomes(log, last).find(|(action, _)| matches!(action, Action::WriteFiles { .. }));
    let (Action::WriteFiles { files }, true) = written.map(|(action, ended)| (action, ended.status.succeeded()))?
    else {
        return None;
    };
    let run = outcomes(log, last).find(|(action, _)| matches!(action, Action::Bash { .. }));
    let (command, ended) = match run {
        Some((Action::Bash { command }, ended)) => (Some(command), Some(ended)),
        // Without a check there is nothing to wait for; a requested check that did not run is waited for.
        _ if calls.len() == 1 => (None, None),
        _ => return None,
    };
    let verdict = match (command, ended) {
        (Some(command), Some(ended)) if passed(ended, base(log)) => format!("`{command}` passes with it."),
        (Some(command), Some(ended)) if excused(log, ended) => {
            format!("`{command}` fails, as it does without it, and nothing fails that did not.")
        }
        (Some(_), _) => return None,
        (None, _) => "No command is known that checks this project.".to_owned(),
    };
    let turn = task.turn + 1;
    Some(TurnAnswer::of_the_host(turn, vec![end(format!("host_{turn}"), summary(text, files, &verdict))]))
}

/// The answer's summary: what the model said, what was written, and the result of the checks.
pub(super) fn summary(said: &str, files: &[NewFile], verdict: &str) -> String {
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let said = text::cut(said.split("```").next().unwrap_or_default().trim(), 600).0.to_owned();
    format!("{said}\n\nWritten: {}. {verdict}", paths.join(", ")).trim().to_owned()
}

/// The call that ends the work.
pub(super) fn end(id: String, summary: String) -> CallRequest {
    let arguments = serde_json::json!({ "summary": summary });
    CallRequest { id, name: "done".to_owned(), arguments, call: Call::Done { summary, claims: Vec::new() } }
}

/// Whether the checks fail on the base too, nothing else fails now, and the model had its tries.
fn excused(log: &[Event], ended: &Outcome) -> bool {
    let tries = log.iter().rev().take_while(|event| !asks_for_more(event)).filter(|event| answered(event)).count();
    tries >= TRIES && choice::excused(ended, base(log))
}

fn answered(event: &Event) -> bool {
    matches!(event, Event::TurnCompleted { calls, .. } if !calls.is_empty())
}
