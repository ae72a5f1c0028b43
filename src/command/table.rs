//! The commands that exist, a file for each. The parser, help, refusals and the "Answer" line of a review follow this list.

use super::spec::Spec;
use super::{
    allow, approve, ask, budget, cost, deny, explain, fix, help, model, pause, plan, refactor, resume, retry, review,
    revise, status, stop, test, test_pr, test_pr_bug,
};

/// Every command, in the order of the help.
pub const COMMANDS: [&Spec; 22] = [
    &fix::SPEC,
    &plan::SPEC,
    &explain::SPEC,
    &test::SPEC,
    &refactor::SPEC,
    &review::SPEC,
    &approve::SPEC,
    &revise::SPEC,
    &allow::SPEC,
    &deny::SPEC,
    &budget::SPEC,
    &model::SPEC,
    &pause::SPEC,
    &resume::SPEC,
    &retry::SPEC,
    &stop::SPEC,
    &status::SPEC,
    &cost::SPEC,
    &ask::SPEC,
    &test_pr::SPEC,
    &test_pr_bug::SPEC,
    &help::SPEC,
];

/// The command of this name.
pub fn spec(name: &str) -> Option<&'static Spec> {
    COMMANDS.into_iter().find(|spec| spec.name == name)
}

/// `` `/revise …` `` for a command that exists; nothing for one that doesn't.
fn short(name: &str) -> Option<String> {
    let spec = spec(name)?;
    let needs_words = spec.syntax.contains(' ') && !spec.syntax.contains('[');
    Some(if needs_words { format!("`/{name} …`") } else { format!("`/{name}`") })
}

/// How to answer a review, from the commands that exist. `bind` is what a careful `/approve` names (`c3`, or a commit).
pub fn answer_line(bind: Option<&str>) -> String {
    let approve = match (short("approve"), bind) {
        (Some(_), Some(bind)) => Some(format!("approve this review (or `/approve {bind}`)")),
        (Some(plain), None) => Some(format!("approve this review (or {plain})")),
        (None, _) => Some("approve this review".to_owned()),
    };
    let changes = Some("request changes with comments on lines".to_owned());
    let parts = [approve, changes, short("revise"), short("stop")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}
