//! `/budget`: grants the task more than it may use.

use super::amounts::amounts;
use super::spec::{Argument, Spec, Strength, Who};
use domain::{Budget, Granters, Verb};

pub(super) const SPEC: Spec = Spec {
    name: "budget",
    syntax: "/budget 2 usd (or 30 actions, 20 min, 100k tokens)",
    who: Who::Writer,
    effect: "grants the task more, within what the operator allows; one that had paused for it goes on",
    strength: Strength::Work,
    options: &[],
    read,
};

fn read(argument: &Argument<'_>) -> Result<Verb, String> {
    let why = "after it stands how much of what: `2 usd`, `30 actions`, `20 min` or `100k tokens`, or several of them";
    let more = amounts(argument.line()).ok_or(why)?;
    // The caller fills in the operator's limits when the command is used.
    Ok(Verb::Budget { more, ceiling: Budget::default(), who: Granters::Nobody })
}
