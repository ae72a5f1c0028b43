//! `/merge`: merges the pull request of approved work, where the operator lets the bot do that.

use super::spec::{Spec, Strength, Who};
use domain::{MergeBar, Verb};

pub(super) const SPEC: Spec = Spec {
    name: "merge",
    syntax: "/merge",
    who: Who::Writer,
    effect: "merges the finally approved work into its base branch on the forge, where the operator set `merge` for a repository that is no copy of another one",
    strength: Strength::Work,
    options: &[],
    // Until the operator's setting is looked up, nothing is merged.
    read: |argument| argument.alone(Verb::Merge { bar: Some(MergeBar::Off { repository: String::new() }) }),
};
