//! `/ask`: a question about the task, answered from its log and tree; it changes nothing.

use super::spec::{Argument, Spec, Strength, Who};
use domain::Verb;

/// Longest accepted question, in characters.
const LONGEST: usize = 2_000;

pub(super) const SPEC: Spec = Spec {
    name: "ask",
    syntax: "/ask question",
    who: Who::Writer,
    effect: "answers a question about the task from its log and files; changes nothing and counts no action, but costs a model call",
    strength: Strength::Question,
    options: &[],
    read,
};

fn read(argument: &Argument<'_>) -> Result<Verb, String> {
    let question = argument.words()?;
    match question.chars().count() {
        0 => Err("say what you ask after it".to_owned()),
        1..=LONGEST => Ok(Verb::Ask { question }),
        _ => Err("a question has at most 2,000 characters".to_owned()),
    }
}
