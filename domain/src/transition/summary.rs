//! Summaries by a model: charged when they are asked for, stored when they are answered. They decide nothing.

use super::Draft;
use crate::{Event, Input, State, SummaryOf, Task};

#[expect(clippy::wildcard_enum_match_arm, reason = "the others are not for here; `take` names every input")]
pub(super) fn summarised(draft: &mut Draft, input: &Input) {
    match input {
        Input::SummaryStarting { of, worst_micro_usd }
            if draft.task.state == State::Running && is_wanted(&draft.task, of) =>
        {
            draft.emit(Event::SummaryStarted { of: *of, worst_micro_usd: *worst_micro_usd });
        }
        // An answer that was paid for is stored even while the task is paused or queued.
        Input::Summarised { summary }
            if *draft.task.underneath() == State::Running && is_wanted(&draft.task, &summary.of) =>
        {
            draft.emit(Event::Summarised { summary: summary.clone() });
        }
        _ => {}
    }
}

/// Whether the summary fits: turns are summarized between two answers, a file while the action that asked for it is under way.
fn is_wanted(task: &Task, of: &SummaryOf) -> bool {
    match of {
        SummaryOf::Turns { upto, from, to } => task.running.is_none() && *upto <= task.turn && from <= to,
        SummaryOf::Lines { number, from, to, total, .. } => task.running == Some(*number) && from <= to && to <= total,
    }
}
