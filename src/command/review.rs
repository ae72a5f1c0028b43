//! `/review`: on a person's pull request, starts a task that reads what it changes and answers with a review.

use super::options::OF_A_REVIEW;
use super::spec::{Spec, Strength, Who};
use domain::{TaskKind, Verb};

pub(super) const SPEC: Spec = Spec {
    name: "review",
    syntax: "/review [options] [what to look at]",
    who: Who::Writer,
    effect: "on a person's pull request, a fork's too: reads what it changes and posts a review with findings on their lines; changes and approves nothing",
    strength: Strength::Work,
    options: &OF_A_REVIEW,
    read: |argument| {
        let (terms, words) = argument.terms(&OF_A_REVIEW)?;
        Ok(Verb::begin(TaskKind::Review, words, terms))
    },
};
