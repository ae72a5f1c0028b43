//! Answers to options of a command that begins a task, and to a model that is named.

use super::budget;
use crate::text::code;
use domain::BudgetBar;

/// An option with an unavailable value. `why` is ours: what is available instead, without a full stop.
pub fn term_refused(login: &str, option: &str, value: &str, why: &str) -> String {
    format!(
        "{}: {} is not to be had; {why}. Nothing was started. Post the command again in a new comment.",
        code(login),
        code(&format!("--{option} {value}"))
    )
}

/// A budget that this person may not give a task.
pub fn budget_of_a_start(login: &str, bar: &BudgetBar) -> String {
    format!(
        "{}: a task can't begin with that `--budget`, because {}. Nothing was started. Post the command again with less, or without it.",
        code(login),
        budget::why(bar)
    )
}

/// The models that people may name, as the end of a sentence.
pub fn nameable(all: &[String]) -> String {
    match all {
        [] => "the operator lets people name none (`by_name` of a `[[model]]`)".to_owned(),
        all => format!("people may name {}", all.iter().map(|id| code(id)).collect::<Vec<_>>().join(", ")),
    }
}

/// Options on a task that is already at work.
pub(super) fn too_late(login: &str) -> String {
    format!(
        "{}: options such as `--budget` are for a task that begins, and one is at work here. Nothing was changed. `/budget …` grants this one more, `/model …` lets another model go on; for the rest `/stop` it first.",
        code(login)
    )
}

/// The model was changed.
pub(super) fn chosen(login: &str, id: &str) -> String {
    format!(
        "{} named the model {}: it answers from the next turn on, with the whole conversation before it. What was asked of another one already is still taken up.",
        code(login),
        code(id)
    )
}

/// A model that nobody may name.
pub(super) fn no_such_model(login: &str, id: &str, among: &[String]) -> String {
    format!(
        "{}: {} is no model that can be named here; {}. Nothing was changed.",
        code(login),
        code(id),
        nameable(among)
    )
}
