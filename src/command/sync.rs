//! `/sync`: the repository is brought in step with its upstream now.

use super::spec::{Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "sync",
    syntax: "/sync",
    who: Who::Writer,
    effect: "brings what is new in the repository that this one was copied from, and says what that is",
    strength: Strength::Work,
    options: &[],
    read: |argument| argument.alone(Verb::Sync),
};
