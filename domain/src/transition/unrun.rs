//! Calls that are answered and not carried out.

use super::Draft;
use crate::{Call, Event};

const NOT_DONE: &str = "not taken: what came before it in the same answer did not happen";
const OTHERWISE: &str = "not run: the person asked for something else; ask for it again if it is still wanted";
const NOT_TAKEN: &str = "not run: the tree was not taken as it is; ask for it again if it is still wanted";

pub(super) fn answer(draft: &mut Draft, index: u32, text: &str, malformed: bool) {
    let turn = draft.task.turn;
    draft.emit(Event::CallAnswered { turn, index, answer: text.to_owned(), malformed });
}

/// Answers every call that waits with the reason why it is not carried out.
pub(super) fn leave(draft: &mut Draft, why: &str) {
    while let Some((index, _)) = draft.task.waiting.first() {
        let index = *index;
        answer(draft, index, why, false);
    }
}

/// An end that was said in one answer with an action that did not happen, right behind it, is no end.
pub(super) fn believe_no_end(draft: &mut Draft) {
    if matches!(draft.task.waiting.first(), Some((_, next)) if matches!(next.call, Call::Done { .. })) {
        leave(draft, NOT_DONE);
    }
}

/// A person asked for changes: what the answer still held is not what is wanted now.
pub(super) fn asked_otherwise(draft: &mut Draft) {
    leave(draft, OTHERWISE);
}

/// The tree is to be mended first.
pub(super) fn tree_not_taken(draft: &mut Draft) {
    leave(draft, NOT_TAKEN);
}
