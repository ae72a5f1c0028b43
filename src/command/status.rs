//! `/status`: says where the task stands.

use super::spec::{Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "status",
    syntax: "/status",
    who: Who::Reader,
    effect: "says where the task stands",
    strength: Strength::Question,
    options: &[],
    read: |argument| argument.alone(Verb::Status),
};
