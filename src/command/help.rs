//! `/help`: lists the commands.

use super::spec::{Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "help",
    syntax: "/help",
    who: Who::Reader,
    effect: "shows this table",
    strength: Strength::Question,
    options: &[],
    read: |argument| argument.alone(Verb::Help),
};
