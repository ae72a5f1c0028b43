//! `/explain`: starts a task that answers a question about the code, or about a person's pull request, and only reads.

use super::options::OF_A_START;
use super::spec::{Spec, Strength, Who};
use domain::{TaskKind, Verb};

pub(super) const SPEC: Spec = Spec {
    name: "explain",
    syntax: "/explain [options] [question]",
    who: Who::Writer,
    effect: "reads the code, on a person's pull request its head, and answers the question with files and lines; changes nothing",
    strength: Strength::Work,
    options: &OF_A_START,
    read: |argument| {
        let (terms, words) = argument.terms(&OF_A_START)?;
        Ok(Verb::begin(TaskKind::Explain, words, terms))
    },
};
