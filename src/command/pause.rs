//! `/pause`: stops the task until somebody resumes it.

use super::spec::{Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "pause",
    syntax: "/pause",
    who: Who::Writer,
    effect: "lets the task stand still after what it is doing at the moment, until `/resume`",
    strength: Strength::Pause,
    options: &[],
    read: |argument| argument.alone(Verb::Pause),
};
