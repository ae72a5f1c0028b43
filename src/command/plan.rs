//! `/plan`: starts a task that only reads.

use super::options::OF_A_START;
use super::spec::{Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "plan",
    syntax: "/plan [options] [what to look at]",
    who: Who::Writer,
    effect: "reads the code and answers with a plan; changes nothing",
    strength: Strength::Work,
    options: &OF_A_START,
    read: |argument| {
        let (terms, words) = argument.terms(&OF_A_START)?;
        Ok(Verb::Plan { words, terms })
    },
};
