//! Answers to `/budget`.

use crate::text::{code, count, dollars, duration, grouped};
use domain::{Budget, BudgetBar};

/// A grant; `lacks` is the resource that is still used up, so that the task stays paused.
pub fn granted(login: &str, more: &Budget, lacks: Option<&str>) -> String {
    let kinds = more.kinds().into_iter().filter(|(_, amount)| *amount > 0);
    let more: Vec<String> = kinds.map(|(what, amount)| amount_of(what, amount)).collect();
    let rest = match lacks {
        Some(what) => format!(" The task stays paused: it has used up its {what}, too."),
        None => String::new(),
    };
    format!("{} granted this task {} more.{rest}", code(login), more.join(" and "))
}

/// A refused grant.
pub fn refused(login: &str, bar: &BudgetBar) -> String {
    format!("{}: nothing was granted, because {}.", code(login), why(bar))
}

/// Why a grant is refused, as the end of a sentence.
pub(super) fn why(bar: &BudgetBar) -> String {
    match bar {
        BudgetBar::Who { admins: true } => {
            "the operator lets only administrators of the repository grant more (`budget.granted_by`)".to_owned()
        }
        BudgetBar::Who { admins: false } => "the operator lets nobody grant more (`budget.granted_by`)".to_owned(),
        BudgetBar::Unlimited { what } => format!("nothing limits this task's {what}"),
        BudgetBar::Ceiling { what, left, most } => format!(
            "the operator allows one task {} in all, and {} of it may still be granted",
            amount_of(what, *most),
            if *left == 0 { "nothing".to_owned() } else { amount_of(what, *left) }
        ),
    }
}

/// `/resume` on a task that needs a grant.
pub fn needed(login: &str, what: &str) -> String {
    format!(
        "{}: the task has used what it was granted ({what}), so it would pause again at once. `/budget 2 usd` (or `30 actions`, `20 min`, `100k tokens`) grants more and lets it go on.",
        code(login)
    )
}

/// What this asks for above what a task has as usual, and what there is of that; none where it gets all that it asks for.
pub fn cut_down(asked: &Budget, usual: &Budget) -> Option<(String, String)> {
    let above = asked.above(usual);
    let (asked, there_is): (Vec<String>, Vec<String>) =
        above.into_iter().map(|(what, asked, most)| (amount_of(what, asked), amount_of(what, most))).unzip();
    (!asked.is_empty()).then(|| (asked.join(" and "), there_is.join(" and ")))
}

fn amount_of(what: &str, amount: u64) -> String {
    match what {
        "money" => dollars(amount),
        "time" => duration(amount),
        "tokens" => format!("{} tokens", grouped(amount)),
        _ => count(amount, "action"),
    }
}
