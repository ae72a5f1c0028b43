//! Calls that are answered without being carried out.

use super::Draft;
use crate::{Call, Event};

const NOT_DONE: &str = "not taken: what came before it in the same answer did not happen";
const MADE_ANEW: &str = "not taken: the sandbox was made anew meanwhile; say it again if it still holds";
const OTHERWISE: &str = "not run: the person asked for something else; ask for it again if it is still wanted";
const MOVED: &str = "not run: the work was moved onto a newer base; ask for it again if it is still wanted";
const NOT_TAKEN: &str = "not run: the tree was not taken as it is; ask for it again if it is still wanted";

pub(super) fn answer(draft: &mut Draft, index: u32, text: &str, malformed: bool) {
    let turn = draft.task.turn;
    draft.emit(Event::CallAnswered { turn, index, answer: text.to_owned(), malformed });
}

/// Answers every waiting call with the reason why it is not carried out.
pub(super) fn leave(draft: &mut Draft, why: &str) {
    while let Some((index, _)) = draft.task.waiting.first() {
        let index = *index;
        answer(draft, index, why, false);
    }
}

/// Drops a `done` that directly follows an action of the same answer that did not run, or only with a plan in between.
pub(super) fn believe_no_end(draft: &mut Draft) {
    drop_end(draft, NOT_DONE);
}

/// Drops such a `done` because the sandbox was made anew before that action runs.
pub(super) fn made_anew(draft: &mut Draft) {
    drop_end(draft, MADE_ANEW);
}

fn drop_end(draft: &mut Draft, why: &str) {
    let next = draft.task.waiting.iter().find(|(_, next)| !matches!(next.call, Call::UpdatePlan { .. }));
    if next.is_some_and(|(_, next)| matches!(next.call, Call::Done { .. })) {
        leave(draft, why);
    }
}

/// Drops the remaining calls because a person asked for changes.
pub(super) fn asked_otherwise(draft: &mut Draft) {
    leave(draft, OTHERWISE);
}

/// Drops the remaining calls because the work stands on another base now.
pub(super) fn moved(draft: &mut Draft) {
    leave(draft, MOVED);
}

/// Drops the remaining calls because the tree has to be corrected first.
pub(super) fn tree_not_taken(draft: &mut Draft) {
    leave(draft, NOT_TAKEN);
}
