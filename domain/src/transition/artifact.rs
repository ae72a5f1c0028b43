//! Files of finished work: what was taken is recorded, and what became of their archive. Nothing waits for them but the final review,
//! which comes after the effect that attaches them however that ends. Tests: `tests/machine/artifacts.rs`.

use super::Draft;
use crate::{ArtifactStep, Commit, Effect, Event};

/// Records a step that fits.
pub(super) fn happened(draft: &mut Draft, step: &ArtifactStep) {
    let fits = match step {
        ArtifactStep::Taken(taken) => draft.task.underneath().publishes(taken.n),
        ArtifactStep::Attached { commit, .. } => waits(draft, commit),
    };
    if fits {
        draft.emit(Event::Artifacts(Box::new(step.clone())));
    }
}

/// Wants the files attached that were taken beside this commit, before its final review tells of them.
pub(super) fn attach(draft: &mut Draft, n: u32, commit: &Commit) {
    if draft.task.pull.is_some() && waits(draft, commit) {
        draft.want(Effect::Attach { n });
    }
}

fn waits(draft: &Draft, commit: &Commit) -> bool {
    draft.task.artifacts.as_ref().is_some_and(|held| held.wait_for(commit))
}
