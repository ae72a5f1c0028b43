//! What waits for a person's words between two checkpoints: a question of the agent's, or an action that a rule puts before a person. The
//! task rests until somebody who may write answers.

use super::unrun::{answer, believe_no_end, leave};
use super::{DOUBT_MS, Draft};
use crate::{
    ASK_LIMIT, Asked, DOUBTFUL, Decision, Effect, Event, Item, Notice, Outcome, OutcomeStatus, Question, Source, State,
    Verb,
};

const FIRST_THE_ANSWER: &str =
    "not run: the question before it waited for an answer; ask for it again if it is still wanted";
const ENOUGH_ASKED: &str =
    "not asked: three questions in a row are enough; decide by yourself, and say in your summary what you assumed";
const PAUSED: &str = "the task was paused before a person could be asked; ask for it again if it is still wanted";
/// Characters of a refusal's words that the agent's result holds.
const MOST_WORDS: usize = 300;

/// Takes a question up; true when the loop has to wait for the answer.
pub(super) fn ask(draft: &mut Draft, index: u32, question: Question) -> bool {
    if draft.task.questions >= ASK_LIMIT {
        answer(draft, index, ENOUGH_ASKED, true);
        return false;
    }
    let turn = draft.task.turn;
    draft.emit(Event::Asked { turn, index, question });
    // What else was asked for did not know the answer.
    leave(draft, FIRST_THE_ANSWER);
    // A forge that is away keeps nothing running.
    draft.rest();
    stand_again(draft);
    true
}

/// A rule wants an action put before a person. It was taken up and counted, and has not run.
pub(super) fn permission(draft: &mut Draft, number: u32, reason: &str) {
    if draft.task.running != Some(number) || draft.task.permitted {
        return;
    }
    if draft.task.state != State::Running {
        // Paused meanwhile: nothing is asked beside a pause.
        return refuse(draft, number, PAUSED.to_owned());
    }
    draft.emit(Event::PermissionAsked { number, reason: reason.to_owned() });
    draft.rest();
    stand_again(draft);
}

/// The question is posted, unless it stands.
pub(super) fn stand_again(draft: &mut Draft) {
    if let State::Asking { about, number: None } = draft.task.state {
        draft.want(Effect::Ask { about, serial: draft.task.seq });
    }
}

pub(super) fn posted(draft: &mut Draft, asked: Asked, number: i64) {
    if matches!(draft.task.underneath(), State::Asking { about, number: None } if *about == asked) {
        draft.emit(Event::QuestionPosted { number, at: draft.now });
        let sources = draft.task.unjudged.clone();
        if !sources.is_empty() {
            draft.want(Effect::Recheck { n: draft.task.published_n, sources });
        }
    }
}

/// Said while the question may stand and its number is not known yet: judged once it is.
pub(super) fn keep_for_later(draft: &mut Draft, decision: &Decision) -> bool {
    let waits = matches!(draft.task.underneath(), State::Asking { number: None, .. });
    let may = matches!(decision.verb, Verb::Say { .. } | Verb::Changes { .. } | Verb::Approve { .. });
    if waits && may {
        draft.emit(Event::DecisionHeld { source: decision.source.clone(), number: decision.number });
    }
    waits && may
}

/// Whether these words answer the question that stands: said after it, in whatever thread.
pub(super) fn answers(draft: &Draft, decision: &Decision) -> bool {
    matches!(draft.task.underneath(), State::Asking { number: Some(asked), .. } if decision.number > *asked)
}

/// Whether this permits the action that waits: `/approve` in a comment, and nothing beside it. A review approves what it shows.
pub(super) fn permits(draft: &Draft, decision: &Decision) -> bool {
    let plain = decision.verb == Verb::approve() && matches!(decision.source, Source::Comment(_));
    let waits = matches!(draft.task.underneath(), State::Asking { about: Asked::Permission { .. }, .. });
    plain && waits && answers(draft, decision)
}

pub(super) fn permitted(draft: &mut Draft, decision: &Decision) {
    let State::Asking { about: Asked::Permission { number }, .. } = *draft.task.underneath() else { return };
    let other = draft.task.last_decider.as_ref().is_some_and(|before| before.id != decision.poster.id);
    if other && decision.at - draft.task.asked_at < DOUBT_MS {
        let login = decision.poster.login.clone();
        return draft.refuse(decision, DOUBTFUL, Notice::DoubtfulPermission { login, number });
    }
    draft.emit(Event::PermissionGiven { number, decision: Box::new(decision.clone()) });
    go_on(draft);
}

/// Work goes on as after any other word that was waited for, with the count of actions as it was; a paused task keeps the answer.
pub(super) fn answered(draft: &mut Draft, decision: &Decision) {
    let State::Asking { about, .. } = *draft.task.underneath() else { return };
    let decision = Box::new(decision.clone());
    match about {
        Asked::Question { turn, index } => draft.emit(Event::QuestionAnswered { turn, index, decision }),
        Asked::Permission { number } => {
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

/// The action ends without having run.
fn refuse(draft: &mut Draft, number: u32, reason: String) {
    let outcome = Outcome::new(OutcomeStatus::Denied { reason }, "");
    draft.emit(Event::ActionFinished { number, outcome });
    believe_no_end(draft);
}

/// Who refused it, with their words as far as the agent's result has room for them.
fn refusal(decision: &Decision) -> String {
    let items: &[Item] = if let Verb::Say { items } | Verb::Changes { items } = &decision.verb { items } else { &[] };
    let words: Vec<&str> = items.iter().map(|item| item.text.trim()).collect();
    let words: String = words.join(" ").chars().take(MOST_WORDS).collect();
    format!("{} did not permit it, and says: {words}", decision.poster.login)
}
