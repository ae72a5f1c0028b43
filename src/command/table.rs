//! The list of commands, each in its own file. Parser, help, refusals and the "Answer" line of a review are made from it.

use super::spec::Spec;
use super::{
    allow, approve, ask, budget, cost, deny, deps, explain, fix, help, merge, model, pause, plan, rebase, refactor,
    resume, retry, review, revise, search, security, status, stop, sync, test, test_pr, test_pr_bug,
};

/// Every command, in the order of the help.
pub const COMMANDS: [&Spec; 28] = [
    &fix::SPEC,
    &plan::SPEC,
    &explain::SPEC,
    &test::SPEC,
    &refactor::SPEC,
    &review::SPEC,
    &security::SPEC,
    &deps::SPEC,
    &search::SPEC,
    &approve::SPEC,
    &revise::SPEC,
    &allow::SPEC,
    &deny::SPEC,
    &budget::SPEC,
    &model::SPEC,
    &pause::SPEC,
    &resume::SPEC,
    &rebase::SPEC,
    &merge::SPEC,
    &retry::SPEC,
    &stop::SPEC,
    &status::SPEC,
    &cost::SPEC,
    &ask::SPEC,
    &sync::SPEC,
    &test_pr::SPEC,
    &test_pr_bug::SPEC,
    &help::SPEC,
];

/// The command of this name.
pub fn spec(name: &str) -> Option<&'static Spec> {
    COMMANDS.into_iter().find(|spec| spec.name == name)
}

/// `` `/revise …` `` for a command of the table; none otherwise.
fn short(name: &str) -> Option<String> {
    let spec = spec(name)?;
    let needs_words = spec.syntax.contains(' ') && !spec.syntax.contains('[');
    Some(if needs_words { format!("`/{name} …`") } else { format!("`/{name}`") })
}

/// The line of a review that says how to answer, made from the table. `bind` is what `/approve` should name (`c3`, or a commit).
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
