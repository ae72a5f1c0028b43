//! Rounds of candidates in the style *files*: answers that are each tried in a copy of the last commit, of which one is written.
//!
//! Owns: where a round begins, whether the next answer is asked the same question again or mends a candidate, and when to stop; `choice.rs`
//! chooses the candidate. Pure, from the log alone. A round ends with the chosen candidate written into the workspace, so at most four are
//! tried where five actions are allowed. Tests: `round_tests.rs`.

use domain::{
    Action, BaseRun, Call, CallRequest, Event, Example, Look, MALFORMED_LIMIT, NewFile, Outcome, OutcomeStatus,
    PauseReason, ShownFile, Task, Verb,
};

pub use super::choice::{Candidate, newly, unmet};
use super::choice::{IssueNames, PASSES, best, is_better, is_flawed, is_shown, nearest, verdict};
use super::earlier::{EarlierTries, repeated_turn};
use super::record::{self, asks_for_more, changes_something, passed};
use super::settled::{end, summary};
use super::view;
use crate::engine::answer::{HOST, TurnAnswer};
use crate::text;

/// The most candidates of one round.
const TRIES: usize = 4;
/// Unusable answers that a round may have in addition.
const UNUSABLE: usize = 2;
/// Consecutive rounds without a candidate that may end the work, before a person is asked.
const ROUNDS: usize = 2;

/// The next step, as far as candidates decide it.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Ask the model.
    Ask,
    /// An answer of the host that writes a candidate.
    Say(Box<TurnAnswer>),
    /// Ask a person, with this sentence.
    Stop(String),
}

/// Whether the coming answer is tried in a copy: the workspace equals the last commit, and an action is left to write the chosen candidate.
pub fn tries(task: &Task, log: &[Event]) -> bool {
    !task.uncommitted && task.to_merge().is_none() && task.used + 1 < task.every() && record::base(log).is_some()
}

/// Index in the log at which the present round begins. The loss of the sandbox does not begin one, because candidates have sandboxes of
/// their own.
pub fn start(log: &[Event]) -> usize {
    let begins = |at: usize| match &log[at] {
        Event::DecisionUsed { .. } => true,
        Event::Resumed => was_stuck(&log[..at]),
        Event::SandboxLost { .. } => false,
        event => match written(event) {
            // A refused write also ends its round.
            Some(write) => {
                outcome(&log[at..], write.turn, 0).is_none_or(|ended| ended.status != OutcomeStatus::Interrupted)
            }
            None => asks_for_more(event),
        },
    };
    (0..log.len()).rev().find(|at| begins(*at)).map_or(0, |at| at + 1)
}

/// Whether the last pause was for lack of progress, so that the resume begins a new round. Other pauses do not affect the round.
fn was_stuck(log: &[Event]) -> bool {
    let reason = log.iter().rev().find_map(|event| match event {
        Event::Paused { reason } => Some(reason),
        _ => None,
    });
    matches!(reason, None | Some(PauseReason::Stuck { .. }))
}

/// The present round's candidates, in order.
pub fn candidates(log: &[Event]) -> Vec<Candidate<'_>> {
    let round = &log[start(log)..];
    let mut out = Vec::new();
    for event in round {
        let Event::TurnCompleted { turn, text, calls, .. } = event else { continue };
        for (request, index) in calls.iter().zip(0_u32..) {
            let Call::Action { action: Action::Try { files, command, .. } } = &request.call else { continue };
            let ended = outcome(round, *turn, index).filter(|ended| ended.status != OutcomeStatus::Interrupted);
            let repeats = round.iter().filter(|event| repeated_turn(event) == Some(*turn)).count();
            out.extend(ended.map(|ended| Candidate { turn: *turn, text, files, command, ended, repeats }));
        }
    }
    out
}

fn outcome(log: &[Event], turn: u32, index: u32) -> Option<&Outcome> {
    let number = log.iter().find_map(|event| match event {
        Event::ActionStarted { number, turn: of, index: at } if (*of, *at) == (turn, index) => Some(*number),
        _ => None,
    })?;
    log.iter().find_map(|event| match event {
        Event::ActionFinished { number: of, outcome } if *of == number => Some(outcome),
        _ => None,
    })
}

/// The candidate that the coming answer mends, at every third answer of a round: the one that lacks least. Other answers are asked for
/// anew, because small models find a solution more often in another sample than in their own mistake; so is the one after an unusable
/// answer. Answers that repeat a candidate count, and unusable ones do not. `words` are the issue's.
pub fn mended<'a>(log: &'a [Event], words: &str) -> Option<Candidate<'a>> {
    let (all, base, asked) = (candidates(log), record::base(log), issue_names(log, words));
    let usable: usize = all.iter().map(|one| 1 + one.repeats).sum();
    (usable % 3 == 2 && unusable(log, &all) == 0).then(|| nearest(&all, base, &asked)).flatten()
}

/// The round's candidates, with which the coming answer is compared; `look` is what its question shows, `words` are the issue's.
pub fn earlier_tries(log: &[Event], look: &Look, words: &str) -> EarlierTries {
    let is_shown = |file: &NewFile| look.files.iter().any(|it| it.path == file.path && it.text == file.content);
    let mended = mended(log, words).map(|one| one.files).filter(|files| files.iter().all(is_shown));
    EarlierTries {
        tried: candidates(log).iter().map(|one| (one.turn, one.files.to_vec())).collect(),
        mended: mended.unwrap_or_default().to_vec(),
    }
}

/// Answers of the round that brought nothing new: unusable, or equal to an earlier one.
pub fn repeats(log: &[Event]) -> usize {
    let all = candidates(log);
    let same = all.iter().enumerate().filter(|(at, one)| all[..*at].iter().any(|before| before.files == one.files));
    let brought_nothing = |event: &&Event| is_unusable(event) || repeated_turn(event).is_some();
    same.count() + log[start(log)..].iter().filter(brought_nothing).count()
}

/// Unusable answers since the newest candidate.
fn unusable(log: &[Event], all: &[Candidate<'_>]) -> usize {
    let newest = all.last().map_or(0, |one| one.turn);
    let since = |event: &&Event| matches!(event, Event::TurnCompleted { turn, .. } if *turn > newest);
    log[start(log)..].iter().filter(since).filter(|event| is_unusable(event)).count()
}

fn is_unusable(event: &Event) -> bool {
    let is_action = |request: &CallRequest| matches!(request.call, Call::Action { .. });
    let has_none =
        matches!(event, Event::TurnCompleted { model, calls, .. } if model != HOST && !calls.iter().any(is_action));
    has_none && repeated_turn(event).is_none()
}

/// Whether more of long files is shown than the definitions that the issue names: a written change was not good enough, or answers were
/// unusable.
pub fn wide(log: &[Event]) -> bool {
    log.iter().any(changes_something) || log.iter().filter(|event| is_unusable(event)).count() >= UNUSABLE
}

fn spoken(example: &Example) -> String {
    match example.seen.is_empty() {
        true => format!("{}, and it could not be run", example.says),
        false => format!("{}, and it gives {}", example.says, example.seen),
    }
}

/// What is wrong with a candidate besides the checks: examples of the issue that do not hold, and what it lacks.
pub fn lacking(log: &[Event], one: &Candidate<'_>, words: &str) -> Vec<String> {
    let met = unmet(one).into_iter().map(|example| text::visible(&spoken(example)));
    met.chain(issue_names(log, words).missing(one)).collect()
}

fn issue_names(log: &[Event], words: &str) -> IssueNames {
    IssueNames::of(words, read_so_far(log).unwrap_or_default())
}

/// What was read of the workspace for this round: its first look, and files that later ones read because they stood in an answer's way.
fn read_so_far(log: &[Event]) -> Option<Look> {
    let mut looks = log[start(log)..].iter().filter_map(|event| match event {
        Event::Looked { look, .. } => Some(&**look),
        _ => None,
    });
    let mut read = Look { base: None, ..looks.next()?.clone() };
    for file in looks.flat_map(|look| &look.files).filter(|file| !file.made) {
        if !read.files.iter().any(|known| known.path == file.path) {
            read.files.push(file.clone());
        }
    }
    Some(read)
}

/// The look for the next answer of a round: what was read for the earlier ones, because the workspace is unchanged; with the files of the
/// candidate to mend. None before the round's first look. `words` are the issue's, to choose the parts of long files.
pub fn again(log: &[Event], words: &str) -> Option<Look> {
    let mut look = read_so_far(log)?;
    // The parts that a round begins with are kept, unless its answers were unusable.
    let widened = wide(log) && !wide(&log[..start(log)]);
    for shown in look.files.iter_mut().filter(|shown| widened && !shown.lines.is_empty()) {
        shown.lines = view::lines(&shown.text, words, true);
    }
    for file in mended(log, words).map(|one| one.files).unwrap_or_default() {
        match look.files.iter_mut().find(|shown| shown.path == file.path) {
            Some(shown) => {
                let before = std::mem::replace(&mut shown.text, file.content.clone());
                shown.lines = view::lines(&shown.text, words, wide(log));
                if !shown.lines.is_empty() {
                    let new = view::changed(&before, &shown.text);
                    shown.lines.extend(new.into_iter().filter(|part| !shown.lines.contains(part)).collect::<Vec<_>>());
                    shown.lines.sort_unstable();
                }
            }
            None => {
                let made = ShownFile::whole(&file.path, &file.content, "an earlier answer made it");
                look.files.push(ShownFile { made: true, ..made });
            }
        }
    }
    Some(look)
}

/// The next step after the candidates so far.
pub fn next(task: &Task, log: &[Event]) -> Step {
    let all = candidates(log);
    let base = record::base(log);
    let before = applied(log).filter(|_| fruitless(log) > 0);
    // What was written in the previous round stays if nothing better is found.
    let stays = before.filter(|before| verdict(before, base).is_some());
    let most = TRIES.min(usize::from(task.every()).saturating_sub(1));
    // One more answer without an action would pause the task, whatever the round has found.
    let idle = task.malformed.saturating_add(1) >= MALFORMED_LIMIT;
    let spent = idle || asked(log) >= most + UNUSABLE;
    let Some(last) = all.last() else {
        return match stays.filter(|_| spent) {
            Some(before) => Step::Say(Box::new(kept(task, &before, base))),
            None if fruitless(log) >= ROUNDS || idle && before.is_some() => Step::Stop(nothing_found(log)),
            None => Step::Ask,
        };
    };
    let issue_names = issue_names(log, &record::words(task));
    // Checks that failed on the base and pass now count more than names.
    let red = base.is_some_and(|base| base.exit_code.is_some_and(|code| code != 0));
    let turned_green = red && !log.iter().any(changes_something);
    let proven = unmet(last).is_empty() && (turned_green || issue_names.missing(last).is_empty());
    if passed(last.ended, base) && !is_flawed(last.ended) && proven {
        return Step::Say(Box::new(taken(task, last, Some(PASSES))));
    }
    if all.len() < most && !spent && tries(task, log) {
        return Step::Ask;
    }
    let Some(best) = best(&all, base, &issue_names) else { return Step::Ask };
    // If the base fails too, the failures may be the issue itself, so another round tries to fix them.
    let ends = passed(best.ended, base) || before.is_some() || is_shown(&best);
    match (verdict(&best, base).filter(|_| ends), stays) {
        (verdict, Some(before)) if verdict.is_none() || !is_better(&best, &before, base) => {
            Step::Say(Box::new(kept(task, &before, base)))
        }
        (Some(verdict), _) if before.is_some() || unmet(&best).is_empty() => {
            Step::Say(Box::new(taken(task, &best, Some(verdict))))
        }
        (None, _) if before.is_some_and(|before| newly(before.ended, base) <= newly(best.ended, base)) => {
            Step::Stop(nothing_found(log))
        }
        (Some(_) | None, _) => Step::Say(Box::new(taken(task, &best, None))),
    }
}

/// Number of answers in this round.
fn asked(log: &[Event]) -> usize {
    log[start(log)..].iter().filter(|event| matches!(event, Event::TurnCompleted { .. })).count()
}

/// The host's answer that writes the chosen candidate, and ends the work if there is a verdict.
fn taken(task: &Task, one: &Candidate<'_>, verdict: Option<&str>) -> TurnAnswer {
    let turn = task.turn + 1;
    let paths: Vec<&str> = one.files.iter().map(|file| file.path.as_str()).collect();
    let write = CallRequest {
        id: format!("host_{turn}_0"),
        name: "write_files".to_owned(),
        arguments: serde_json::json!({ "paths": paths }),
        call: Call::Action { action: Action::WriteFiles { files: one.files.to_vec() } },
    };
    let done = verdict.map(|verdict| end(format!("host_{turn}_1"), verdict_line(one, verdict)));
    TurnAnswer::of_the_host(turn, std::iter::once(write).chain(done).collect())
}

/// The host's answer that ends the work with what the previous round wrote.
fn kept(task: &Task, one: &Candidate<'_>, base: Option<&BaseRun>) -> TurnAnswer {
    let turn = task.turn + 1;
    let said = verdict_line(one, verdict(one, base).unwrap_or(PASSES));
    TurnAnswer::of_the_host(turn, vec![end(format!("host_{turn}_0"), said)])
}

fn verdict_line(one: &Candidate<'_>, verdict: &str) -> String {
    let unmet: Vec<&str> = unmet(one).into_iter().map(|example| example.says.as_str()).collect();
    let missing = match unmet.is_empty() {
        true => String::new(),
        false => format!(" Not met, as it was read out of the issue: {}.", unmet.join("; ")),
    };
    summary(one.text, one.files, &format!("`{}` {verdict}.{missing}", one.command))
}

/// A candidate that the host wrote.
struct Written<'a> {
    turn: u32,
    files: &'a [NewFile],
    /// Whether the same answer ended the work.
    ends: bool,
}

fn written(event: &Event) -> Option<Written<'_>> {
    let Event::TurnCompleted { turn, model, calls, .. } = event else { return None };
    let files = calls.iter().find_map(|request| match &request.call {
        Call::Action { action: Action::WriteFiles { files } } => Some(files.as_slice()),
        _ => None,
    });
    let ends = calls.iter().any(|request| matches!(request.call, Call::Done { .. }));
    files.filter(|_| model == HOST).map(|files| Written { turn: *turn, files, ends })
}

/// The host's writes, with their index in the log and whether they succeeded. Interrupted ones are left out.
fn writes(log: &[Event]) -> impl DoubleEndedIterator<Item = (usize, Written<'_>, bool)> {
    log.iter().enumerate().filter_map(|(at, event)| {
        let write = written(event)?;
        let ended = outcome(&log[at..], write.turn, 0).filter(|ended| ended.status != OutcomeStatus::Interrupted)?;
        Some((at, write, ended.status.succeeded()))
    })
}

/// The last written candidate if it did not end the work, while the workspace still contains it.
pub fn applied(log: &[Event]) -> Option<Candidate<'_>> {
    let (at, last, is_written) = writes(log).next_back()?;
    if !is_written || last.ends || !is_there(&log[at + 1..]) {
        return None;
    }
    candidates(&log[..at]).into_iter().rev().find(|one| one.files == last.files)
}

/// Whether the workspace still contains what was written before these events.
fn is_there(since: &[Event]) -> bool {
    let captured = since.iter().position(|event| matches!(event, Event::TreeCaptured { .. })).unwrap_or(since.len());
    let lost = |(at, event): (usize, &Event)| match event {
        Event::SandboxLost { .. } => at < captured,
        Event::TreeRefused { .. } | Event::Rebased(_) => true,
        other => changes_something(other),
    };
    !since.iter().enumerate().any(lost)
}

/// Rounds since a person's last instruction that ended without a candidate to end the work, or with a refused write.
fn fruitless(log: &[Event]) -> usize {
    let since = (0..log.len()).rev().find(|at| says_more(log, *at)).map_or(0, |at| at + 1);
    writes(log).filter(|(at, write, is_written)| *at >= since && !(write.ends && *is_written)).count()
}

fn says_more(log: &[Event], at: usize) -> bool {
    match &log[at] {
        Event::CiEnded(ended) => ended.returned,
        Event::DecisionUsed { decision, .. } => matches!(decision.verb, Verb::Changes { .. }),
        // Other pauses do not affect the round.
        Event::Resumed => was_stuck(&log[..at]),
        Event::FeedbackGiven { .. }
        | Event::WidenedToFix { .. }
        | Event::VerdictReturned { .. }
        | Event::Rebased(_) => true,
        _ => false,
    }
}

fn nothing_found(log: &[Event]) -> String {
    let tried = log
        .iter()
        .filter(
            |event| matches!(event, Event::TurnCompleted { calls, .. } if calls.iter().any(|it| it.call.is_apart())),
        )
        .count();
    format!(
        "{tried} candidates were tried and the project's checks refuse each; say in a comment what is missing, or which file to change"
    )
}

#[cfg(test)]
#[path = "round_tests.rs"]
mod tests;
