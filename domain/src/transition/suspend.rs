//! The sandbox of a task that waits is put away: by age, or because another task needs its subnet.

use super::Draft;
use crate::{Commit, Effect, Event, State, Suspension};

/// Nothing is lost by it: what is in no commit is taken into one before the sandbox is removed.
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
    // Somebody may have decided meanwhile.
    if waits(draft) {
        put_away(draft, Suspension::Evicted);
    }
}

pub(super) fn not_kept(draft: &mut Draft, reasons: Vec<String>) {
    if !draft.task.keeping {
        return;
    }
    draft.emit(Event::WorkNotKept { reasons });
    // It was woken to be looked at.
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

/// A person or a slot is awaited, and no action is under way. Who is in line may have to give way to who has the slot already.
fn waits(draft: &Draft) -> bool {
    let task = &draft.task;
    let begun = task.state != State::Queued || task.next.is_some();
    begun && !task.state.busy() && !task.state.ended() && task.running.is_none()
}
