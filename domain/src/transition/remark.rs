//! What the agent says about people's remarks, and what their authors took back.

use super::Draft;
use super::unrun::answer;
use crate::{Event, RemarkAnswer, RemarkState, RemarkWithdrawn};

const CHANGED: &str = "noted: it counts as addressed once a checkpoint's commit changes its file";
const WORDS: &str = "noted: the person reads it with the next checkpoint";
const WITHDRAWN: &str = "not needed: its author took this remark back";

/// Takes up an answer to a remark that the agent knows; it does not count as an action.
pub(super) fn answered(draft: &mut Draft, index: u32, said: &RemarkAnswer) {
    let known = draft.task.numbered.known(said.remark).map(|remark| remark.state.clone());
    match known {
        None => {
            let open = draft.task.numbered.open_names();
            let open = if open.is_empty() { "none is open".to_owned() } else { format!("open are {open}") };
            answer(draft, index, &format!("there is no remark r{}: {open}", said.remark), true);
        }
        Some(RemarkState::Withdrawn { .. }) => answer(draft, index, WITHDRAWN, false),
        Some(RemarkState::Open | RemarkState::Answered | RemarkState::Addressed { .. }) => {
            draft.emit(Event::RemarkAnswered(said.clone()));
            answer(draft, index, if said.addressed { CHANGED } else { WORDS }, false);
        }
    }
}

/// Records which open remarks their authors took back.
pub(super) fn withdrawn(draft: &mut Draft, seen: &[RemarkWithdrawn]) {
    for one in seen {
        if draft.task.numbered.open().any(|remark| remark.number == one.remark) {
            draft.emit(Event::RemarkWithdrawn(one.clone()));
        }
    }
}
