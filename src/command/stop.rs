//! `/stop`: ends the task, whatever follows the name.

use super::spec::{Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "stop",
    syntax: "/stop",
    who: Who::Writer,
    effect: "ends the task and closes its pull request; its branch stays",
    strength: Strength::Stop,
    options: &[],
    read: |_| Ok(Verb::Stop),
};
