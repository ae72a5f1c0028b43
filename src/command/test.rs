//! `/test`: starts a task that writes only tests.

use super::options::OF_A_START;
use super::spec::{Spec, Strength, Who};
use domain::{TaskKind, Verb};

pub(super) const SPEC: Spec = Spec {
    name: "test",
    syntax: "/test [options] [what to test]",
    who: Who::Writer,
    effect: "writes missing tests, and changes nothing else",
    strength: Strength::Work,
    options: &OF_A_START,
    read: |argument| {
        let (terms, words) = argument.terms(&OF_A_START)?;
        Ok(Verb::begin(TaskKind::Test, words, terms))
    },
};
