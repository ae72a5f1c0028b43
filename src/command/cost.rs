//! `/cost`: says what the task used, and what is left.

use super::spec::{Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "cost",
    syntax: "/cost",
    who: Who::Reader,
    effect: "says what the task has used, for which model, and what is left",
    strength: Strength::Question,
    options: &[],
    read: |argument| argument.alone(Verb::Cost),
};
