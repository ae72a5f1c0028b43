//! Puts away the sandbox of a task that waits, because of its age or because another task needs its subnet.

use super::Draft;
use crate::{Commit, Effect, Event, State, Suspension};

/// Puts the sandbox away; uncommitted work is committed before a sandbox is removed.
pub(super) fn idled(draft: &mut Draft, suspension: Suspension) {
    let task = &draft.task;
    let further = task.suspension.is_none_or(|now| now < suspension);
    if !waits(draft) || !further || task.keeping {
        return;
    }
    if suspension == Suspension::Stopped || task.all_committed() {
        put_away(draft, suspension);
    } else if !task.not_kept {
        draft.emit(Event::WorkKeeping);
        draft.want(Effect::Keep { serial: draft.task.seq });
    }
}

pub(super) fn kept(draft: &mut Draft, commit: &Commit) {
    if !draft.task.keeping {
        return;
    }
    draft.emit(Event::WorkKept { commit: commit.clone() });
    // A decision may have come while the commit was made.
    if waits(draft) {
        put_away(draft, Suspension::Evicted);
    }
}

pub(super) fn not_kept(draft: &mut Draft, reasons: Vec<String>) {
    if !draft.task.keeping {
        return;
    }
    draft.emit(Event::WorkNotKept { reasons });
    // The sandbox was started to read its tree, so it is put away again.
    match draft.task.suspension {
        _ if !waits(draft) => {}
        Some(suspension) => draft.want(Effect::Suspend { serial: draft.task.seq, suspension }),
        None => draft.rest(),
    }
}

fn put_away(draft: &mut Draft, suspension: Suspension) {
    draft.emit(Event::SandboxSuspended { suspension });
    draft.want(Effect::Suspend { serial: draft.task.seq, suspension });
}

/// Whether the task waits for a person or a slot and no action is under way; a queued task may have to give up its sandbox too.
fn waits(draft: &Draft) -> bool {
    let task = &draft.task;
    let begun = task.state != State::Queued || task.next.is_some();
    begun && !task.state.busy() && !task.state.ended() && task.running.is_none()
}
