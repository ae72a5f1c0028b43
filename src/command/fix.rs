//! `/fix`: starts a task that changes code.

use super::options::OF_A_START;
use super::spec::{Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "fix",
    syntax: "/fix [options] [what to do]",
    who: Who::Writer,
    effect: "starts work on this issue; after a `/plan` it continues from there, or by a list of steps that you wrote",
    strength: Strength::Work,
    options: &OF_A_START,
    read: |argument| {
        let (terms, words) = argument.terms(&OF_A_START)?;
        Ok(Verb::Fix { words, terms })
    },
};
