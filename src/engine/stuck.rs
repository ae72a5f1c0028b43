//! Whether the agent makes progress: repeated actions, edits that are undone, a check that fails the same way after every change, answers
//! without a call that can be carried out.
//!
//! Owns: what counts as evidence, and how much is enough. First the conversation is restarted, once; then a person is asked. Pure, from the
//! log alone. Must not: judge what is right. Tests: below, and `tests/stories/stuck.rs`.

use domain::{Action, Call, CallRequest, Event, Input, Outcome, PauseReason, Task, Verb};
use std::collections::HashMap;

use super::failing::Ran;
use super::outcome;
use super::repeats::Repeats;
use crate::text;

/// Number of pieces of evidence that are enough.
const ENOUGH: usize = 3;
/// From this many runs on, a check that fails the same way after each change is evidence.
const RUNS: u32 = 3;
/// The newest actions that are considered.
const ACTIONS: usize = 60;
/// Characters of a command or path.
const NAME: usize = 80;

/// What to do before the next request: restart, or ask a person; none without enough evidence.
pub fn way_out(task: &Task, log: &[Event]) -> Option<Input> {
    let mut tried = evidence(log);
    // A conversation that begins anew has to look again, which a task without actions can't.
    if !(task.kind.reads_only() && task.used >= task.every()) {
        tried.extend(without_actions(since_told(log)));
    }
    if tried.len() < ENOUGH {
        return None;
    }
    if task.other_ways == 0 {
        return Some(Input::AnotherWay { turn: task.turn + 1, tried });
    }
    let shown = tried[tried.len() - ENOUGH..].join("; ");
    let sentence = format!("it gets nowhere, also after it began anew: {shown}");
    Some(Input::PauseAsked { reason: PauseReason::Stuck { sentence } })
}

/// What happened since the agent was last told something new.
fn since_told(log: &[Event]) -> &[Event] {
    let told = |event: &Event| match event {
        Event::DecisionUsed { decision, .. } => matches!(decision.verb, Verb::Changes { .. }),
        Event::AnotherWay { .. }
        | Event::Resumed
        | Event::QuestionAnswered { .. }
        | Event::PermissionGiven { .. }
        | Event::PermissionRefused { .. } => true,
        _ => false,
    };
    let from = log.iter().rposition(told).map_or(0, |at| at + 1);
    &log[from..]
}

/// One sentence for each turn in a row in which nothing was done, from the second on: the first is answered by a question.
fn without_actions(log: &[Event]) -> Vec<String> {
    let (mut idle, mut acted) = (Vec::new(), 0);
    for event in log {
        let (turn, held) = match event {
            Event::Nudged { turn } => (*turn, "words and no action"),
            Event::CallAnswered { turn, answer, malformed: true, .. } if !answer.starts_with("not run") => {
                (*turn, "a call that could not be carried out")
            }
            Event::ActionStarted { turn, .. } => {
                acted = *turn;
                idle.clear();
                continue;
            }
            Event::Asked { .. } | Event::DoneSaid { .. } | Event::DecisionUsed { .. } => {
                idle.clear();
                continue;
            }
            _ => continue,
        };
        if turn != acted && idle.last().is_none_or(|(before, _)| *before != turn) {
            idle.push((turn, held));
        }
    }
    idle.iter().skip(1).map(|(turn, held)| format!("turn {turn} held {held}")).collect()
}

/// One sentence for each action that is evidence.
fn evidence(log: &[Event]) -> Vec<String> {
    let ended: Vec<_> = actions(since_told(log));
    let mut seen = Seen::default();
    for (number, call, outcome) in &ended[ended.len().saturating_sub(ACTIONS)..] {
        seen.take(*number, call, outcome);
    }
    seen.evidence
}

fn actions(log: &[Event]) -> Vec<(u32, &CallRequest, &Outcome)> {
    let (mut calls, mut started, mut ended) = (HashMap::new(), HashMap::new(), Vec::new());
    for event in log {
        match event {
            Event::TurnCompleted { turn, calls: made, .. } => {
                calls.extend((0u32..).zip(made).map(|(index, call)| ((*turn, index), call)));
            }
            Event::ActionStarted { number, turn, index } => {
                started.insert(*number, (*turn, *index));
            }
            Event::ActionFinished { number, outcome } => {
                let call = started.get(number).and_then(|at| calls.get(at));
                ended.extend(call.map(|call| (*number, *call, outcome)));
            }
            _ => {}
        }
    }
    ended
}

#[derive(Default)]
struct Seen<'a> {
    evidence: Vec<String>,
    repeats: Repeats<'a>,
    /// Successful replacements: path, old text, new text, and number of the action.
    edits: Vec<(&'a str, &'a str, &'a str, u32)>,
    /// For each check: its last failures, how many runs reported these, and whether something changed since.
    checks: HashMap<&'a str, (Ran, u32, bool)>,
}

impl<'a> Seen<'a> {
    fn take(&mut self, number: u32, call: &'a CallRequest, ended: &'a Outcome) {
        let before = self.repeats.take(number, call, ended);
        // A successful action without output may do something each time, as appending a line does.
        if let Some(before) = before.filter(|_| !ended.text.is_empty() || !ended.status.succeeded()) {
            let what = call.call.action().map(|action| format!("{} {}", action.kind(), action.object()));
            let what = short(&what.unwrap_or_default());
            return self.evidence.push(format!("action {number} was action {before} again and gave the same: {what}"));
        }
        if let Call::Action { action: Action::EditFile { path, old, new, .. } } = &call.call
            && ended.status.succeeded()
        {
            self.edited(number, path, old, new);
        }
        match outcome::command(call).zip(outcome::ran(ended)) {
            Some((command, ran)) => {
                self.ran(number, command, ran);
                // A command may also edit; its outcome lists the files that it touched.
                if ended.touched.as_ref().is_some_and(|touched| touched.changed_work()) {
                    let others = self.checks.iter_mut().filter(|(other, _)| **other != command);
                    others.for_each(|(_, (_, _, changed))| *changed = true);
                }
            }
            None if call.call.may_change_the_tree() => {
                self.checks.values_mut().for_each(|(_, _, changed)| *changed = true);
            }
            None => {}
        }
    }

    fn edited(&mut self, number: u32, path: &'a str, old: &'a str, new: &'a str) {
        let undone = self.edits.iter().find(|(at, was, is, _)| (*at, *was, *is) == (path, new, old));
        if let Some((_, _, _, before)) = undone {
            let path = short(path);
            self.evidence.push(format!("action {number} took back what action {before} had written into {path}"));
        }
        self.edits.push((path, old, new, number));
    }

    /// Adds a run with failures. It counts if something changed since the last one and it reports the same.
    fn ran(&mut self, number: u32, command: &'a str, now: Ran) {
        let before = self.checks.remove(command);
        let runs = match before {
            Some((ran, runs, changed)) if !now.is_empty() && now.is_same(&ran) => runs + u32::from(changed),
            _ => 1,
        };
        if runs >= RUNS {
            let command = short(command);
            self.evidence.push(format!("action {number}: {command} fails as it did {} changes ago", runs - 1));
        }
        self.checks.insert(command, (now, runs, false));
    }
}

fn short(words: &str) -> String {
    let line = text::one_line(words);
    let (head, missing) = text::cut(&line, NAME);
    if missing > 0 { format!("{head}…") } else { head.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::{acted, answer};
    use domain::{OutcomeStatus, TaskId, Touched};

    fn log(done: &[(Action, &str)]) -> Vec<Event> {
        let mut log = Vec::new();
        for (number, (action, said)) in (1u32..).zip(done) {
            let call = CallRequest {
                id: number.to_string(),
                name: action.kind().to_owned(),
                arguments: serde_json::to_value(action).unwrap(),
                call: Call::Action { action: action.clone() },
            };
            let status = OutcomeStatus::Exited { code: i32::from(said.contains("FAILED")) };
            log.push(answer(number, "", vec![call]));
            log.extend(acted(number, number, 0, status, said));
        }
        log
    }

    fn run(command: &str) -> Action {
        Action::Bash { command: command.into() }
    }

    fn edit(old: &str, new: &str) -> Action {
        Action::EditFile { path: "a.py".into(), old: old.into(), new: new.into(), all: false }
    }

    const FAILS: &str = "=========================== short test summary info ============================\nFAILED tests/test_a.py::test_cents - assert 105 == 150\n============================== 1 failed in 0.01s ===============================\n";

    #[test]
    fn an_edit_that_is_taken_back_and_a_check_that_fails_as_before_are_evidence() {
        let done = [
            (run("pytest -q"), FAILS),
            (edit("x", "y"), ""),
            (run("pytest -q"), FAILS),
            (edit("y", "x"), ""),
            (run("pytest -q"), FAILS),
            (edit("q", "z"), ""),
            (run("pytest -q"), FAILS),
        ];
        let all = evidence(&log(&done));
        let expected = [
            "action 4 took back what action 2 had written into a.py",
            "action 5: pytest -q fails as it did 2 changes ago",
            "action 7: pytest -q fails as it did 3 changes ago",
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_command_that_edits_is_a_change() {
        let sed = |n: u32| (run(&format!("sed -i s/{n}/x/ a.py")), "");
        let done = [(run("pytest -q"), FAILS), sed(1), (run("pytest -q"), FAILS), sed(2), (run("pytest -q"), FAILS)];
        let mut log = log(&done);
        assert!(evidence(&log).iter().all(|said| !said.contains("changes ago")), "nobody looked at what it did");
        for event in &mut log {
            if let Event::ActionFinished { number: 2 | 4, outcome } = event {
                outcome.touched = Some(Box::new(Touched { changed: vec!["a.py".into()], ..Touched::default() }));
            }
        }
        assert!(evidence(&log).contains(&"action 5: pytest -q fails as it did 2 changes ago".to_owned()));
    }

    #[test]
    fn work_that_gets_somewhere_is_left_alone() {
        let other = FAILS.replace("test_cents", "test_more");
        let done = [
            (run("pytest -q"), FAILS),
            (edit("x", "y"), ""),
            (run("pytest -q"), other.as_str()),
            (edit("y", "z"), ""),
            (run("pytest -q"), "1 passed"),
            (run("ls"), "a"),
        ];
        assert!(evidence(&log(&done)).is_empty());
    }

    #[test]
    fn words_instead_of_actions_are_evidence_from_the_second_turn_on() {
        let task = Task::new(TaskId(1));
        let mut log = log(&[(run("ls"), "a")]);
        let words = |turn: u32| [answer(turn, "I would look at it.", Vec::new()), Event::Nudged { turn }];
        (2..=4).for_each(|turn| log.extend(words(turn)));
        assert_eq!(without_actions(&log), ["turn 3 held words and no action", "turn 4 held words and no action"]);
        assert!(way_out(&task, &log).is_none());
        let reason = "`command` must be a string".to_owned();
        log.push(answer(5, "", Vec::new()));
        log.push(Event::CallAnswered { turn: 5, index: 0, answer: reason, malformed: true });
        let Some(Input::AnotherWay { tried, .. }) = way_out(&task, &log) else { panic!("before the fifth") };
        assert_eq!(tried.last().map(String::as_str), Some("turn 5 held a call that could not be carried out"));
        let restarted = [Event::AnotherWay { tried }, Event::ConversationRestarted];
        assert!(way_out(&task, &[&log[..], &restarted].concat()).is_none(), "it begins anew");
        let acted = acted(2, 6, 0, OutcomeStatus::Ok, "b");
        assert!(without_actions(&[&log[..], &acted].concat()).is_empty(), "an action ends the row");
    }

    #[test]
    fn a_reader_without_actions_left_is_asked_for_its_answer_and_keeps_what_it_read() {
        let mut log = vec![crate::engine::fixtures::requested(domain::TaskKind::Plan, "Look."), Event::SlotGranted];
        log.push(crate::engine::fixtures::prepared());
        (1..=4).for_each(|turn| log.extend([answer(turn, "It is so.", Vec::new()), Event::Nudged { turn }]));
        let mut task = Task::fold(TaskId(1), &log);
        assert!(matches!(way_out(&task, &log), Some(Input::AnotherWay { .. })));
        task.used = task.every();
        assert!(way_out(&task, &log).is_none());
    }

    #[test]
    fn another_way_comes_first_and_a_person_second() {
        let mut task = Task::new(TaskId(1));
        let same = [(run("ls"), "a"), (run("ls"), "a"), (run("ls"), "a"), (run("ls"), "a")];
        let log = log(&same);
        assert!(way_out(&task, &log[..9]).is_none());
        let Some(Input::AnotherWay { tried, .. }) = way_out(&task, &log) else { panic!("another way") };
        assert_eq!(tried[0], "action 2 was action 1 again and gave the same: bash ls");
        task.other_ways = 1;
        let Some(Input::PauseAsked { reason: PauseReason::Stuck { sentence } }) = way_out(&task, &log) else {
            panic!()
        };
        assert!(sentence.starts_with("it gets nowhere, also after it began anew: action 2"), "{sentence}");
        let again: Vec<Event> = log.iter().cloned().chain([Event::Resumed]).collect();
        assert!(way_out(&task, &again).is_none(), "somebody looked");
    }
}
