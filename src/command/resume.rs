//! `/resume`: goes on after a pause.

use super::spec::{Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "resume",
    syntax: "/resume",
    who: Who::Writer,
    effect: "goes on after a pause",
    strength: Strength::Work,
    options: &[],
    read: |argument| argument.alone(Verb::Resume),
};
