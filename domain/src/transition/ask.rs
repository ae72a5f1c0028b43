//! Waits for a person between two checkpoints: for the answer to a question of the agent, or for permission of an action. Work rests until
//! somebody with write access answers.

use super::unrun::{answer, believe_no_end, leave};
use super::{DOUBT_MS, Draft};
use crate::{
    ASK_LIMIT, DOUBTFUL, Decision, Effect, Event, Item, Notice, Outcome, OutcomeStatus, Question, QuestionPosted,
    QuestionSubject, Source, State, Verb,
};

const FIRST_THE_ANSWER: &str =
    "not run: the question before it waited for an answer; ask for it again if it is still wanted";
const ENOUGH_ASKED: &str =
    "not asked: three questions in a row are enough; decide by yourself, and say in your summary what you assumed";
const PAUSED: &str = "the task was paused before a person could be asked; ask for it again if it is still wanted";
const MADE_ANEW: &str = "the sandbox was made anew before it ran; ask for it again if it is still wanted";
/// The most characters of a refusal's text that the agent's result holds.
const MOST_WORDS: usize = 300;

/// Handles a question; true when work has to wait for the answer.
pub(super) fn ask(draft: &mut Draft, index: u32, question: Question) -> bool {
    if draft.task.questions >= ASK_LIMIT {
        answer(draft, index, ENOUGH_ASKED, true);
        return false;
    }
    let turn = draft.task.turn;
    draft.emit(Event::Asked { turn, index, question });
    // The other calls of this turn were made without knowing the answer.
    leave(draft, FIRST_THE_ANSWER);
    // The sandbox rests before the question is posted, so that it does not run on while the forge is unreachable.
    draft.rest();
    stand_again(draft);
    true
}

/// Asks a person to permit an action, which was started and counted, but has not run.
pub(super) fn permission(draft: &mut Draft, number: u32, reason: &str) {
    if draft.task.running != Some(number) || draft.task.permitted {
        return;
    }
    if draft.task.state != State::Running {
        // The task was paused meanwhile: no question is asked during a pause.
        return refuse(draft, number, PAUSED.to_owned());
    }
    draft.emit(Event::PermissionAsked { number, reason: reason.to_owned() });
    draft.rest();
    stand_again(draft);
}

/// Wants the question posted, unless it already is.
pub(super) fn stand_again(draft: &mut Draft) {
    if let State::Asking { about, number: None } = draft.task.state {
        draft.want(Effect::Ask { about, serial: draft.task.seq });
    }
}

pub(super) fn posted(draft: &mut Draft, asked: QuestionSubject, number: i64) {
    if matches!(draft.task.underneath(), State::Asking { about, number: None } if *about == asked) {
        draft.emit(Event::QuestionPosted(QuestionPosted { number, at: draft.now }));
        let sources = draft.task.unjudged.clone();
        if !sources.is_empty() {
            draft.want(Effect::Recheck { n: draft.task.published_n, sources });
        }
    }
}

/// Keeps a text that came while the question's number is not known yet; it is judged once the number is.
pub(super) fn keep_for_later(draft: &mut Draft, decision: &Decision) -> bool {
    let waits = matches!(draft.task.underneath(), State::Asking { number: None, .. });
    let may = matches!(decision.verb, Verb::Say { .. } | Verb::Changes { .. } | Verb::Approve { .. });
    if waits && may {
        draft.emit(Event::DecisionHeld { source: decision.source.clone(), number: decision.number });
    }
    waits && may
}

/// Whether this text came after the question was posted, in any thread. What somebody only says in a conversation on a line belongs there.
pub(super) fn answers(draft: &Draft, decision: &Decision) -> bool {
    let elsewhere = matches!((&decision.source, &decision.verb), (Source::Reply { .. }, Verb::Say { .. }));
    let asked =
        matches!(draft.task.underneath(), State::Asking { number: Some(asked), .. } if decision.number > *asked);
    asked && !elsewhere
}

/// Whether this text permits the waiting action: a comment with a bare `/approve`. A review's approval is about the commit it shows.
pub(super) fn permits(draft: &Draft, decision: &Decision) -> bool {
    let plain = decision.verb == Verb::approve() && matches!(decision.source, Source::Comment(_));
    let waits = matches!(draft.task.underneath(), State::Asking { about: QuestionSubject::Permission { .. }, .. });
    plain && waits && answers(draft, decision)
}

pub(super) fn permitted(draft: &mut Draft, decision: &Decision) {
    let State::Asking { about: QuestionSubject::Permission { number }, .. } = *draft.task.underneath() else { return };
    let other = draft.task.last_decider.as_ref().is_some_and(|before| before.id != decision.poster.id);
    if other && decision.at - draft.task.asked_at < DOUBT_MS {
        let login = decision.poster.login.clone();
        return draft.refuse(decision, DOUBTFUL, Notice::DoubtfulPermission { login, number });
    }
    draft.emit(Event::PermissionGiven { number, decision: Box::new(decision.clone()) });
    go_on(draft);
}

/// Takes the answer; work then goes on with the same count of actions, or after the pause.
pub(super) fn answered(draft: &mut Draft, decision: &Decision) {
    let State::Asking { about, .. } = *draft.task.underneath() else { return };
    let decision = Box::new(decision.clone());
    match about {
        QuestionSubject::Question { turn, index } => draft.emit(Event::QuestionAnswered { turn, index, decision }),
        QuestionSubject::Permission { number } => {
            let reason = refusal(&decision);
            draft.emit(Event::PermissionRefused { number, decision });
            refuse(draft, number, reason);
        }
    }
    go_on(draft);
}

fn go_on(draft: &mut Draft) {
    if draft.task.state == State::Running {
        draft.line_up();
    }
}

/// Ends a permitted action: what it was permitted for is not in the new sandbox.
pub(super) fn made_anew(draft: &mut Draft, number: u32) {
    refuse(draft, number, MADE_ANEW.to_owned());
}

/// Ends the action as denied without running it.
fn refuse(draft: &mut Draft, number: u32, reason: String) {
    let outcome = Outcome::new(OutcomeStatus::Denied { reason }, "");
    draft.emit(Event::ActionFinished { number, outcome });
    believe_no_end(draft);
}

/// Who refused the action, with the beginning of their words.
fn refusal(decision: &Decision) -> String {
    let items: &[Item] = if let Verb::Say { items } | Verb::Changes { items } = &decision.verb { items } else { &[] };
    let words: Vec<&str> = items.iter().map(|item| item.text.trim()).collect();
    let words: String = words.join(" ").chars().take(MOST_WORDS).collect();
    format!("{} did not permit it, and says: {words}", decision.poster.login)
}
