//! `/budget`: the only command that grants a task more. Each grant is an event that names its author.

use super::{Draft, go_on};
use crate::{Budget, BudgetBar, Decision, Event, Granters, Notice, PauseReason, State};

pub(super) fn grant(draft: &mut Draft, decision: &Decision, more: &Budget, ceiling: &Budget, who: Granters) {
    let login = decision.poster.login.clone();
    let may = who.include(decision.right);
    let bar = match may {
        true => draft.task.granted.bar(more, ceiling),
        false => Some(BudgetBar::Who { admins: who == Granters::Admins }),
    };
    if let Some(why) = bar {
        return draft.refuse(decision, "no such grant", Notice::BudgetRefused { login, why });
    }
    draft.emit(Event::BudgetGranted { more: *more, decision: Some(Box::new(decision.clone())) });
    let lacks = draft.task.granted.exhausted(&draft.task.spent).map(str::to_owned);
    let paused = matches!(&draft.task.state, State::Paused { reason: PauseReason::Budget { .. }, .. });
    let goes_on = paused && lacks.is_none();
    draft.answer(decision, Notice::BudgetGranted { login, more: *more, lacks: lacks.filter(|_| paused) });
    if goes_on {
        go_on::leave_pause(draft);
    }
}
