//! `/retry`: ends the task and begins a new attempt at the same request from the base branch.

use super::spec::{Argument, Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "retry",
    syntax: "/retry",
    who: Who::Writer,
    effect: "begins a new attempt at the same words from the base branch, which knows what the one before tried; that one ends, its branch stays",
    strength: Strength::Work,
    options: &[],
    read,
};

fn read(argument: &Argument<'_>) -> Result<Verb, String> {
    let word = argument.line().split_whitespace().next().unwrap_or_default();
    let digits = word.strip_prefix(['c', 'C']).unwrap_or(word);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err("a new attempt begins from the base branch, not from a checkpoint; `/revise` works on from there"
            .to_owned());
    }
    argument.alone(Verb::Retry)
}
