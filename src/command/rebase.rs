//! `/rebase`: the work goes on on the base branch's newest commit.

use super::spec::{Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "rebase",
    syntax: "/rebase",
    who: Who::Writer,
    effect: "brings the work at a checkpoint onto the newest commit of its base branch; a new checkpoint shows it, or the agent resolves conflicts first",
    strength: Strength::Changes,
    options: &[],
    // Where the base branch stands is looked up when the text is taken up.
    read: |argument| argument.alone(Verb::Rebase { tip: None }),
};
