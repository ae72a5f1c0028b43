//! `/refactor`: starts a task that changes code without changing what it does.

use super::options::OF_A_START;
use super::spec::{Spec, Strength, Who};
use domain::{TaskKind, Verb};

pub(super) const SPEC: Spec = Spec {
    name: "refactor",
    syntax: "/refactor [options] [goal]",
    who: Who::Writer,
    effect: "changes how the code is written and not what it does; existing tests stay and must pass",
    strength: Strength::Work,
    options: &OF_A_START,
    read: |argument| {
        let (terms, words) = argument.terms(&OF_A_START)?;
        Ok(Verb::begin(TaskKind::Refactor, words, terms))
    },
};
