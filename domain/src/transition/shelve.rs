//! The sandbox of a task that waits is put away: by age, or because another task needs its place.

use super::Draft;
use crate::{Commit, Effect, Event, Shelf, State};

/// Nothing is lost by it: what is in no commit is taken into one before the sandbox is removed.
pub(super) fn idled(draft: &mut Draft, shelf: Shelf) {
    let task = &draft.task;
    let further = task.shelf.is_none_or(|now| now < shelf);
    if !waits(draft) || !further || task.keeping {
        return;
    }
    if shelf == Shelf::Stopped || task.all_committed() {
        put_away(draft, shelf);
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
        put_away(draft, Shelf::Evicted);
    }
}

pub(super) fn not_kept(draft: &mut Draft, reasons: Vec<String>) {
    if !draft.task.keeping {
        return;
    }
    draft.emit(Event::WorkNotKept { reasons });
    // It was woken to be looked at.
    match draft.task.shelf {
        _ if !waits(draft) => {}
        Some(shelf) => draft.want(Effect::Shelve { serial: draft.task.seq, shelf }),
        None => draft.rest(),
    }
}

fn put_away(draft: &mut Draft, shelf: Shelf) {
    draft.emit(Event::SandboxShelved { shelf });
    draft.want(Effect::Shelve { serial: draft.task.seq, shelf });
}

/// A person or a place is awaited, and no action is under way. Who is in line may have to give way to who has the place already.
fn waits(draft: &Draft) -> bool {
    let task = &draft.task;
    let begun = task.state != State::Queued || task.next.is_some();
    begun && !task.state.busy() && !task.state.ended() && task.running.is_none()
}
