//! Summaries of a model: charged when it is asked, kept when it answers. They decide nothing.

use super::Draft;
use crate::{Event, Input, State, SummaryOf, Task};

#[expect(clippy::wildcard_enum_match_arm)]
pub(super) fn summarised(draft: &mut Draft, input: &Input) {
    match input {
        Input::SummaryStarting { of, worst_micro_usd }
            if draft.task.state == State::Running && is_wanted(&draft.task, of) =>
        {
            draft.emit(Event::SummaryStarted { of: *of, worst_micro_usd: *worst_micro_usd });
        }
        // What was paid for is taken in while a task is paused or in line too.
        Input::Summarised { summary }
            if *draft.task.underneath() == State::Running && is_wanted(&draft.task, &summary.of) =>
        {
            draft.emit(Event::Summarised { summary: summary.clone() });
        }
        _ => {}
    }
}

/// Turns are told between two answers, a file while the action that asked for it is under way.
fn is_wanted(task: &Task, of: &SummaryOf) -> bool {
    match of {
        SummaryOf::Turns { upto, from, to } => task.running.is_none() && *upto <= task.turn && from <= to,
        SummaryOf::Lines { number, from, to, total, .. } => task.running == Some(*number) && from <= to && to <= total,
    }
}
