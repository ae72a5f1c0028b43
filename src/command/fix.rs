//! `/fix`: starts a task that changes code.

use super::spec::{Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "fix",
    syntax: "/fix [what to do]",
    who: Who::Writer,
    effect: "starts work on this issue; after a `/plan` it continues from there",
    strength: Strength::Work,
    read: |argument| Ok(Verb::Fix { words: argument.words() }),
};
