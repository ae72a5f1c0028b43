//! `/plan`: starts a task that only reads.

use super::spec::{Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "plan",
    syntax: "/plan [what to look at]",
    who: Who::Writer,
    effect: "reads the code and answers with a plan; changes nothing",
    strength: Strength::Work,
    read: |argument| Ok(Verb::Plan { words: argument.words() }),
};
