//! `/revise`: sends the work back with instructions.

use super::spec::{Argument, Spec, Strength, Who};
use domain::{Item, Verb};

pub(super) const SPEC: Spec = Spec {
    name: "revise",
    syntax: "/revise what to change",
    who: Who::Writer,
    effect: "sends the work back with your words",
    strength: Strength::Changes,
    options: &[],
    read,
};

fn read(argument: &Argument<'_>) -> Result<Verb, String> {
    let text = argument.words()?;
    if text.is_empty() {
        return Err("say what to change after it".to_owned());
    }
    Ok(Verb::Changes { items: vec![Item::on_the_whole(&text, argument.author)] })
}
