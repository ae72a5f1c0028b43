//! The turn loop: model answers, actions, counting, budgets.

use super::unrun::{answer, believe_no_end, leave, made_anew};
use super::{Draft, ask, rebase, remark};
use crate::{
    ACTIONS_PER_CHECKPOINT, Action, ActionKind, Call, CallRequest, Effect, Event, FailedEffect, Input, Loss,
    MALFORMED_LIMIT, Outcome, OutcomeStatus, PauseReason, READ_ONLY_ACTIONS, RECALL_LIMIT, RemarkAnswer, Resource,
    State, Task, TaskKind, Why,
};

const AFTER_DONE: &str = "not run: done was said in the same turn";
const ENOUGH_RECALLED: &str = "not run: enough was recalled; act on it, or read the file itself";
const MUST_ANSWER: &str = "not run: no actions are left; call done with the answer";

/// Ignores inputs that do not fit the state.
#[expect(clippy::wildcard_enum_match_arm, reason = "ignores what does not fit the state; `take` names all")]
pub(super) fn worked(draft: &mut Draft, input: &Input) {
    match input {
        Input::Prepared { .. } if draft.task.state == State::Preparing => prepared(draft, input.clone()),
        Input::Looked { turn, look } if draft.task.state == State::Running && *turn == draft.task.turn + 1 => {
            draft.emit(Event::Looked { turn: *turn, look: look.clone() });
        }
        Input::Compacted { turn, shrunk, folded, rate }
            if draft.task.state == State::Running
                && *turn == draft.task.turn + 1
                && (folded <= shrunk && *shrunk <= draft.task.turn) =>
        {
            draft.emit(Event::Compacted { turn: *turn, shrunk: *shrunk, folded: *folded, rate: *rate });
        }
        Input::AnotherWay { turn, tried } if draft.task.state == State::Running && *turn == draft.task.turn + 1 => {
            draft.emit(Event::AnotherWay { tried: tried.clone() });
            draft.emit(Event::ConversationRestarted);
        }
        Input::ModelCallStarting { turn, worst_micro_usd }
            if draft.task.state == State::Running && *turn == draft.task.turn + 1 =>
        {
            starting(draft, *turn, *worst_micro_usd);
        }
        Input::ModelCallRefused { turn, fallback } if charged(&draft.task) && *turn == draft.task.turn + 1 => {
            draft.emit(Event::ModelCallUncharged { turn: *turn, fallback: fallback.clone() });
        }
        Input::PicturesRefused { turn } if working(&draft.task) && *turn == draft.task.turn + 1 => {
            if charged(&draft.task) {
                draft.emit(Event::ModelCallUncharged { turn: *turn, fallback: None });
            }
            draft.emit(Event::PicturesRefused { turn: *turn });
        }
        Input::ModelAnswered { turn, text, calls, usage, micro_usd, duration_ms, model, vendor }
            if working(&draft.task) && *turn == draft.task.turn + 1 =>
        {
            // A plan by itself may begin the work; noted once more before anything was done, it is none.
            let idle = draft.task.noted && draft.task.only_notes(calls);
            draft.emit(Event::TurnCompleted {
                turn: *turn,
                text: text.clone(),
                calls: calls.clone(),
                usage: *usage,
                micro_usd: *micro_usd,
                duration_ms: *duration_ms,
                model: model.clone(),
                vendor: vendor.clone(),
            });
            if calls.is_empty() || idle {
                draft.emit(Event::Nudged { turn: *turn });
            }
            proceed(draft);
        }
        Input::ActionEnded { number, outcome } if working(&draft.task) && draft.task.running == Some(*number) => {
            ended(draft, *number, outcome);
        }
        Input::Opened { fresh } => opened(draft, *fresh),
        _ => {}
    }
}

/// The sandbox is open, or a new one where there is a loss.
fn opened(draft: &mut Draft, fresh: Option<Loss>) {
    if let Some(loss) = fresh.filter(|_| !draft.task.lost) {
        // An action that is under way has not begun: its effect comes after this one, or it waited for a permission.
        match draft.task.running {
            Some(number) if draft.task.permitted => ask::made_anew(draft, number),
            Some(_) => made_anew(draft),
            None => {}
        }
        lose(draft, loss);
    }
    match (draft.task.permitted, draft.task.running, draft.task.action.clone()) {
        (true, Some(number), Some(action)) if draft.task.state == State::Running => {
            draft.want(Effect::Act { number, action, permitted: true });
        }
        _ => proceed(draft),
    }
}

/// The sandbox is made: work begins, or goes on where it stood.
fn prepared(draft: &mut Draft, input: Input) {
    let Input::Prepared {
        base,
        boot,
        image,
        every,
        note,
        budget,
        rules,
        pictures,
        difference,
        scan,
        on_base,
        conflicts,
    } = input
    else {
        return;
    };
    let onto = base.clone();
    draft.emit(Event::Prepared { base, boot, image, every, note, budget, rules, pictures, difference, scan, on_base });
    match draft.task.rebase_wanted().cloned() {
        Some(wanted) => rebase::prepared(draft, wanted, &onto, &conflicts),
        None => proceed(draft),
    }
}

/// Whether work is under way or interrupted by a pause or the queue; its results are recorded in all these cases.
fn working(task: &Task) -> bool {
    *task.underneath() == State::Running
}

/// Whether a call for the coming turn is charged; a resume begins their count anew, and takes no charge back.
fn charged(task: &Task) -> bool {
    task.charged || task.model_starts > 0
}

fn starting(draft: &mut Draft, turn: u32, worst_micro_usd: u64) {
    if draft.task.model_starts >= 3 {
        let sentence =
            "the model was called three times for one turn without an answer that could be stored".to_owned();
        draft.pause(PauseReason::Stuck { sentence });
    } else {
        draft.emit(Event::ModelCallStarted { turn, worst_micro_usd });
    }
}

fn ended(draft: &mut Draft, number: u32, outcome: &Outcome) {
    draft.emit(Event::ActionFinished { number, outcome: outcome.clone() });
    if matches!(outcome.status, OutcomeStatus::Failed { .. } | OutcomeStatus::Denied { .. }) {
        believe_no_end(draft);
    }
    if draft.task.state != State::Running {
        return;
    }
    match &outcome.status {
        OutcomeStatus::Interrupted => draft.open(),
        // Another action would use up the rest of the disk.
        OutcomeStatus::DiskSpent { what } => {
            draft.pause(PauseReason::Exhausted { what: Resource::Disk, sentence: what.clone() });
        }
        OutcomeStatus::Ok
        | OutcomeStatus::Exited { .. }
        | OutcomeStatus::Signaled { .. }
        | OutcomeStatus::TimedOut
        | OutcomeStatus::OutOfMemory
        | OutcomeStatus::OutOfPids
        | OutcomeStatus::DiskFull
        | OutcomeStatus::Failed { .. }
        | OutcomeStatus::Denied { .. } => proceed(draft),
    }
}

/// Handles a lost sandbox: it is made anew from the last commit, or a person is asked if it was lost too often.
pub(super) fn sandbox_gone(draft: &mut Draft, effect: FailedEffect, loss: Loss) {
    match draft.task.state.clone() {
        State::Running => {
            interrupt(draft, &loss.to_string());
            lose(draft, loss);
            if !worn_out(draft, loss) {
                draft.open();
            }
        }
        // The sandbox is made anew when the task continues.
        State::Paused { .. } | State::Queued if working(&draft.task) && draft.task.running.is_some() => {
            interrupt(draft, &loss.to_string());
            lose(draft, loss);
        }
        _ if effect == FailedEffect::Keep => lose(draft, loss),
        State::Publishing { n, why } if effect == FailedEffect::Capture => {
            lose(draft, loss);
            if draft.task.kept.is_some() || draft.task.to_merge().is_some() {
                // The number may stand for a commit of the lost tree already, and the new sandbox may hold another one.
                let n = draft.task.published_n + 1;
                draft.emit(Event::PublishStarted { n, why });
                if !worn_out(draft, loss) {
                    draft.want(Effect::Capture { n, why });
                }
            } else if let Some(head) = draft.task.head.clone() {
                super::publish::unchanged(draft, n, &head, &[]);
            }
        }
        State::Preparing => {
            lose(draft, loss);
            if !worn_out(draft, loss) {
                draft.want(Effect::Prepare { serial: draft.task.seq });
            }
        }
        // No effect of these states needs the task's sandbox, so a person is asked.
        State::Publishing { .. } | State::Verifying { .. } => {
            draft.pause(PauseReason::Blocked { sentence: loss.to_string() });
        }
        State::Asking { .. } if effect == FailedEffect::Ask => {
            draft.pause(PauseReason::Blocked { sentence: loss.to_string() });
        }
        State::Queued
        | State::Paused { .. }
        | State::AwaitingReview { .. }
        | State::Asking { .. }
        | State::AwaitingCi { .. }
        | State::FinalReview { .. }
        | State::Approved { .. }
        | State::Ended { .. } => {}
    }
}

fn lose(draft: &mut Draft, loss: Loss) {
    draft.emit(Event::SandboxLost { sentence: loss.to_string(), loss });
}

/// Records the action that was under way as interrupted: it may have run, and an end that was said behind it is none. `why` is a sentence
/// without a full stop.
pub(super) fn interrupt(draft: &mut Draft, why: &str) {
    if let Some(number) = draft.task.running {
        let outcome = Outcome {
            note: Some(format!("{why}; this action may have run, wholly or in part")),
            ..Outcome::new(OutcomeStatus::Interrupted, "")
        };
        draft.emit(Event::ActionFinished { number, outcome });
        believe_no_end(draft);
    }
}

/// Handles a conversation that no longer fits into the model: uncommitted work becomes a checkpoint first, and the conversation restarts
/// once a person has seen it.
pub(super) fn window_full(draft: &mut Draft, context_tokens: Option<u64>) {
    if draft.task.state != State::Running || draft.task.running.is_some() {
        return;
    }
    if draft.task.turn == 0 || draft.task.restarted {
        let sentence = "not even the beginning of a conversation about this task fits into the model; let the operator choose one that holds more, or end this task and ask for less at once".to_owned();
        draft.pause(PauseReason::Blocked { sentence });
    } else if !draft.task.kind.reads_only() && draft.task.uncommitted {
        draft.emit(Event::ConversationRestarted);
        checkpoint(draft);
    } else {
        draft.pause(PauseReason::ContextFull { context_tokens });
    }
}

fn worn_out(draft: &mut Draft, loss: Loss) -> bool {
    let often = draft.task.loses_too_often(loss);
    if often && loss == Loss::Memory {
        let sentence = format!("{loss}; it was made anew once, and it happened again");
        draft.pause(PauseReason::Exhausted { what: Resource::Memory, sentence });
    } else if often {
        let times = draft.task.losses;
        let sentence = format!("its sandbox was lost {times} times since the last decision, at last because {loss}");
        draft.pause(PauseReason::Stuck { sentence });
    }
    often
}

/// Continues until an effect is needed: answers calls that need no sandbox, then wants one action, one model call or a checkpoint.
pub(super) fn proceed(draft: &mut Draft) {
    while draft.task.state == State::Running && draft.task.running.is_none() {
        if draft.task.malformed >= MALFORMED_LIMIT {
            let sentence = "five turns in a row held no call that does something".to_owned();
            return draft.pause(PauseReason::Stuck { sentence });
        }
        // Words about remarks are taken up wherever they stand in an answer: the review of its last action shows them.
        let known = |waiting: &(u32, CallRequest)| {
            about_remark(waiting).filter(|(_, said)| draft.task.numbered.known(said.remark).is_some())
        };
        if let Some((index, said)) = draft.task.waiting.iter().find_map(known) {
            remark::answered(draft, index, &said);
            continue;
        }
        let full = draft.task.used >= draft.task.every();
        let next = draft.task.waiting.first().map(|(index, request)| (*index, request.call.clone()));
        match next {
            Some((index, Call::Done { summary, .. })) => return done(draft, index, summary),
            // Also behind the last action: its checkpoint shows the plan.
            Some((index, Call::UpdatePlan { plan })) => {
                draft.plan(&plan, None);
                answer(draft, index, "noted", false);
            }
            _ if full && !draft.task.kind.reads_only() => return checkpoint(draft),
            None => return converse(draft),
            Some((index, Call::Malformed { reason })) => answer(draft, index, &reason, true),
            Some((index, Call::Recall { .. })) if draft.task.recalls >= RECALL_LIMIT => {
                answer(draft, index, ENOUGH_RECALLED, true);
            }
            Some((index, Call::Recall { what })) => {
                let turn = draft.task.turn;
                draft.emit(Event::Recalled { turn, index, what });
            }
            Some((index, Call::AnswerRemark { answer })) => remark::answered(draft, index, &answer),
            Some((index, Call::Ask { question })) => {
                if ask::ask(draft, index, question) {
                    return;
                }
            }
            Some((index, Call::Action { action })) => {
                if act(draft, index, action, full) {
                    return;
                }
            }
        }
    }
}

fn about_remark((index, request): &(u32, CallRequest)) -> Option<(u32, RemarkAnswer)> {
    if let Call::AnswerRemark { answer } = &request.call { Some((*index, answer.clone())) } else { None }
}

/// Why an action that may change something is not run in a read-only task, with the tools that may be used.
fn read_only() -> String {
    let names: Vec<&str> = ActionKind::ALL.into_iter().filter(|kind| !kind.writes()).map(ActionKind::name).collect();
    format!("not run: this task is read-only; use {}, then call done with the answer", names.join(", "))
}

/// Starts an action; true when the loop has to wait for an effect.
fn act(draft: &mut Draft, index: u32, action: Action, full: bool) -> bool {
    if draft.task.kind.reads_only() && (action.writes() || full) {
        let why = if full { MUST_ANSWER.to_owned() } else { read_only() };
        answer(draft, index, &why, true);
        return false;
    }
    if over_budget(draft) {
        return true;
    }
    debug_assert!(draft.task.used < ACTIONS_PER_CHECKPOINT.max(READ_ONLY_ACTIONS));
    let number = draft.task.actions + 1;
    let turn = draft.task.turn;
    draft.emit(Event::ActionStarted { number, turn, index });
    draft.want(Effect::Act { number, action, permitted: false });
    true
}

fn converse(draft: &mut Draft) {
    if !over_budget(draft) {
        draft.want(Effect::Converse { turn: draft.task.turn + 1 });
    }
}

fn over_budget(draft: &mut Draft) -> bool {
    match draft.task.granted.exhausted(&draft.task.spent) {
        Some(what) => {
            draft.pause(PauseReason::Budget { what: what.to_owned() });
            true
        }
        None => false,
    }
}

/// Publishes a checkpoint; the remaining calls of the answer are carried out first once a person approved.
fn checkpoint(draft: &mut Draft) {
    let n = draft.task.next_n();
    draft.emit(Event::PublishStarted { n, why: Why::Checkpoint });
    draft.want(Effect::Capture { n, why: Why::Checkpoint });
}

fn done(draft: &mut Draft, index: u32, summary: String) {
    let turn = draft.task.turn;
    // A read-only task's answer is its plan if the agent noted none since the last decision.
    if draft.task.kind == TaskKind::Plan && !draft.task.plan_noted {
        draft.plan_of(&summary, None);
    }
    draft.emit(Event::DoneSaid { turn, index, summary });
    leave(draft, AFTER_DONE);
    let n = draft.task.next_n();
    draft.emit(Event::PublishStarted { n, why: Why::Done });
    match draft.task.kind.reads_only() {
        false => draft.want(Effect::Capture { n, why: Why::Done }),
        true => draft.want(Effect::Review { n, commit: None, last: false }),
    }
}
