//! `/model`: another model answers from the next turn on.

use super::options::named;
use super::spec::{Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "model",
    syntax: "/model name",
    who: Who::Writer,
    effect: "lets another model answer from the next turn on, one of those that the operator lets people name",
    strength: Strength::Work,
    options: &[],
    read: |argument| {
        let id = argument.line().trim_matches('`');
        let id = named(id, "-").map_err(|_| "after it stands the name of one model".to_owned())?;
        // The caller fills in which models the operator lets people name.
        Ok(Verb::Model { id, among: Vec::new() })
    },
};
