//! `/security`: starts a task that judges what static rules find, in the tree or in what a person's pull request adds, and only reads.

use super::options::OF_A_REVIEW;
use super::spec::{Spec, Strength, Who};
use domain::{TaskKind, Verb};

pub(super) const SPEC: Spec = Spec {
    name: "security",
    syntax: "/security [options] [path or words]",
    who: Who::Writer,
    effect: "looks for weaknesses by static rules and a model: on an issue in the code, or below the path; on a person's pull request in what it adds, as a review; changes nothing",
    strength: Strength::Work,
    options: &OF_A_REVIEW,
    read: |argument| {
        let (terms, words) = argument.terms(&OF_A_REVIEW)?;
        Ok(Verb::begin(TaskKind::Security, words, terms))
    },
};
