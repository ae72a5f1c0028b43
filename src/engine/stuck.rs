//! Whether the agent makes progress: repeated actions, edits that are undone, a check that fails the same way after every change, answers
//! without a call that can be carried out.
//!
//! Owns: what counts as evidence, and how much is enough. First the agent is told beside the result of an action
//! that repeats or takes back another, or of a check that fails as before (`history::signs`); then the conversation is restarted, once; then
//! a person is asked. Pure, from the log alone. Must not: judge what is right. Tests: below, `stuck_tests.rs`, `tests/stories/stuck.rs`.

use std::rc::Rc;

use domain::{Action, CallRequest, Event, Input, Outcome, PauseReason, Task};

use super::failing::Ran;
use super::outcome;
use super::repeats::{Repeats, ended, tells};
use crate::text;

/// Number of pieces of evidence that are enough.
const ENOUGH: usize = 3;
/// From this many runs on, a check that fails the same way after each change is evidence.
const RUNS: u32 = 3;
/// The newest actions that are considered, and those among which a piece of evidence counts: what happens once in a while in long work is none.
const ACTIONS: usize = 60;
const RECENT: u32 = 20;
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
    let from = log.iter().rposition(tells).map_or(0, |at| at + 1);
    &log[from..]
}

/// One sentence for each turn in a row in which nothing was done, from the second on: the first is answered by a question.
fn without_actions(log: &[Event]) -> Vec<String> {
    let (mut idle, mut acted, mut called) = (Vec::new(), 0, false);
    for event in log {
        let (turn, held) = match event {
            Event::TurnCompleted { calls, .. } => {
                called = !calls.is_empty();
                continue;
            }
            Event::Nudged { turn } if called => (*turn, "notes and no action"),
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
    let base = log.iter().rev().find_map(|event| match event {
        Event::Prepared { on_base, .. } => Some(on_base.as_deref().map(Ran::on_base)),
        _ => None,
    });
    let asked = log.iter().find_map(|event| match event {
        Event::Requested { request } => Some(vec![&*request.title, &*request.body, &*request.words]),
        _ => None,
    });
    let log = since_told(log);
    let ended = ended(log, 0);
    let last = ended.last().map_or(0, |(number, ..)| *number);
    let mut newest = ended[ended.len().saturating_sub(ACTIONS)..].iter().peekable();
    let (base, asked) = (base.flatten(), asked.unwrap_or_default());
    let mut seen = ActionHistory { base, asked, ..ActionHistory::default() };
    for event in log {
        seen.repeats.hear(event);
        if let Event::ActionFinished { number: of, .. } = event
            && let Some((number, call, outcome)) = newest.next_if(|(number, ..)| number == of)
        {
            seen.take(*number, call, outcome);
        }
    }
    seen.evidence.into_iter().filter(|(number, _)| number + RECENT > last).map(|(_, said)| said).collect()
}

/// The actions so far, and what of them is evidence.
#[derive(Default)]
struct ActionHistory<'a> {
    /// Each piece with the number of its action.
    evidence: Vec<(u32, String)>,
    /// The checks' run on the task's base, and whether a check was named that fails as there.
    base: Option<Ran>,
    of_base: bool,
    /// The texts of the request.
    asked: Vec<&'a str>,
    repeats: Repeats<'a>,
    written: Written<'a>,
    checks: Checks<'a>,
}

/// What actions wrote into files.
#[derive(Default)]
pub(super) struct Written<'a> {
    /// Successful replacements: path, old text, new text, and number of the action.
    edits: Vec<(&'a str, &'a str, &'a str, u32)>,
    /// Whole files that were written: path, content, and number of the action.
    contents: Vec<(&'a str, &'a str, u32)>,
}

/// Runs of checks, and whether something changed between them.
#[derive(Default)]
pub(super) struct Checks<'a> {
    all: Vec<Check<'a>>,
}

/// Runs that reported the same failures.
struct Check<'a> {
    /// The forms in which its command was given.
    commands: Vec<&'a str>,
    ran: Rc<Ran>,
    /// How many runs reported these failures, each after a change.
    runs: u32,
    /// Whether something changed since the last one.
    changed: bool,
}

/// The first words of commands that put files back to a commit's content.
const PUT_BACK: [&str; 2] = ["git checkout ", "git restore "];

impl<'a> Written<'a> {
    /// Adds an action; returns a sentence if it took back what an earlier one had written.
    pub(super) fn take(&mut self, number: u32, call: &'a CallRequest, ended: &Outcome) -> Option<String> {
        let action = call.call.action().filter(|_| ended.status.succeeded())?;
        let (path, before) = match action {
            Action::EditFile { path, old, new, .. } => self.edited(number, path, &[(old, new)]),
            Action::EditPlaces { path, edits } => {
                let edits: Vec<_> = edits.iter().map(|edit| (edit.old.as_str(), edit.new.as_str())).collect();
                self.edited(number, path, &edits)
            }
            Action::WriteFile { path, content } => self.written(number, path, content),
            Action::Bash { command } => self.put_back(command, ended),
            _ => None,
        }?;
        Some(format!("action {number} took back what action {before} had written into {}", short(path)))
    }

    fn edited(&mut self, number: u32, path: &'a str, edits: &[(&'a str, &'a str)]) -> Option<(&'a str, u32)> {
        let of_these = |(at, was, is, _): &&(&str, &str, &str, u32)| *at == path && edits.contains(&(*is, *was));
        let undone = self.edits.iter().find(of_these).map(|(_, _, _, before)| (path, *before));
        self.edits.extend(edits.iter().map(|(old, new)| (path, *old, *new, number)));
        undone
    }

    /// A whole file counts if it is as an earlier action wrote it, and another content was written in between.
    fn written(&mut self, number: u32, path: &'a str, content: &'a str) -> Option<(&'a str, u32)> {
        let mut earlier = self.contents.iter().rev().filter(|(at, _, _)| *at == path);
        let last = earlier.next().filter(|(_, last, _)| *last != content);
        let undone = last.filter(|_| earlier.any(|(_, was, _)| *was == content)).map(|(_, _, before)| (path, *before));
        self.contents.push((path, content, number));
        undone
    }

    /// A file that a commit's content replaced, as the command names it, and the last action that had written into it.
    fn put_back(&self, command: &str, ended: &Outcome) -> Option<(&'a str, u32)> {
        let parts = command.split(['\n', ';', '&', '|']).map(str::trim);
        let words: Vec<&str> = parts
            .filter(|part| PUT_BACK.iter().any(|words| part.starts_with(words)))
            .flat_map(str::split_whitespace)
            .map(|word| word.trim_matches(['"', '\'']).trim_start_matches("./"))
            .collect();
        let touched = ended.touched.as_deref().filter(|_| !words.is_empty())?;
        let edits = self.edits.iter().map(|(path, _, _, number)| (*path, *number));
        let all = edits.chain(self.contents.iter().map(|(path, _, number)| (*path, *number)));
        let gone = |path: &str| {
            let path = path.trim_start_matches("./");
            words.contains(&path) && touched.changed.iter().chain(&touched.deleted).any(|it| it == path)
        };
        all.filter(|(path, _)| gone(path)).max_by_key(|(_, number)| *number)
    }
}

impl<'a> ActionHistory<'a> {
    fn take(&mut self, number: u32, call: &'a CallRequest, ended: &'a Outcome) {
        let before = self.repeats.take(number, call, ended);
        if let Some(before) = before.filter(|_| !has_effect(ended)) {
            let what = call.call.action().map(|action| format!("{} {}", action.kind(), action.object()));
            let what = short(&what.unwrap_or_default());
            let said = format!("action {number} was action {before} again and gave the same: {what}");
            return self.evidence.push((number, said));
        }
        self.evidence.extend(self.written.take(number, call, ended).map(|said| (number, said)));
        let report = outcome::command(call).and_then(|_| outcome::ran(ended)).map(Rc::new);
        // A failure that the base has too may be nobody's task: however often it is reported, it is one piece, unless it is asked for.
        let is_old = |now: &Ran| self.base.as_ref().is_some_and(|base| now.is_within(base));
        let of_base = report.as_deref().is_some_and(|now| is_old(now) && !self.is_asked_for(now, call));
        if let Some(changes) = self.checks.take(call, ended, report).filter(|_| !(of_base && self.of_base)) {
            self.of_base |= of_base;
            let command = short(outcome::command(call).unwrap_or_default());
            self.evidence.push((number, format!("action {number}: {command} fails as it did {changes} changes ago")));
        }
    }

    /// Whether the request or the command names what fails.
    fn is_asked_for(&self, now: &Ran, call: &CallRequest) -> bool {
        outcome::command(call).is_some_and(|it| now.is_named_in(it)) || self.asked.iter().any(|it| now.is_named_in(it))
    }
}

/// Whether an action that gave the same as before may have done something all the same: a successful one without output, as appending a
/// line is.
pub(super) fn has_effect(ended: &Outcome) -> bool {
    ended.text.is_empty() && ended.status.succeeded()
}

impl<'a> Checks<'a> {
    /// Adds an action, with the report of its command's run; returns how many changes ago that failed as it does now, if it is evidence.
    pub(super) fn take(&mut self, call: &'a CallRequest, ended: &Outcome, report: Option<Rc<Ran>>) -> Option<u32> {
        let Some((command, ran)) = outcome::command(call).zip(report) else {
            if call.call.may_change_the_tree() {
                self.all.iter_mut().for_each(|check| check.changed = true);
            }
            return None;
        };
        let runs = self.ran(command, ran);
        // A command may also edit; its outcome lists the files that it touched.
        if ended.touched.as_ref().is_some_and(|touched| touched.changed_work()) {
            let others = self.all.iter_mut().filter(|other| !other.commands.contains(&command));
            others.for_each(|other| other.changed = true);
        }
        (runs >= RUNS).then(|| runs - 1)
    }

    /// Adds a run; returns how many reported these failures. It counts if something changed since the last one and it reports the same,
    /// whatever the form of its command.
    fn ran(&mut self, command: &'a str, now: Rc<Ran>) -> u32 {
        let same = self.all.iter().position(|check| !now.is_empty() && now.is_same(&check.ran));
        let (mut commands, mut runs) = (Vec::new(), 1);
        if let Some(at) = same {
            let check = self.all.remove(at);
            (commands, runs) = (check.commands, check.runs + u32::from(check.changed));
        }
        for check in &mut self.all {
            check.commands.retain(|other| *other != command);
        }
        self.all.retain(|check| !check.commands.is_empty());
        if !commands.contains(&command) {
            commands.push(command);
        }
        // A long conversation compares with the newest ones.
        if self.all.len() >= ACTIONS {
            self.all.remove(0);
        }
        self.all.push(Check { commands, ran: now, runs, changed: false });
        runs
    }
}

fn short(words: &str) -> String {
    let line = text::one_line(words);
    let (head, missing) = text::cut(&line, NAME);
    if missing > 0 { format!("{head}…") } else { head.to_owned() }
}

#[cfg(test)]
#[path = "stuck_tests.rs"]
mod long;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::{acted, answer};
    use domain::{Call, OutcomeStatus, TaskId, Touched};

    pub(super) fn log(done: &[(Action, &str)]) -> Vec<Event> {
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

    pub(super) fn run(command: &str) -> Action {
        Action::Bash { command: command.into() }
    }

    pub(super) fn edit(old: &str, new: &str) -> Action {
        Action::EditFile { path: "a.py".into(), old: old.into(), new: new.into(), all: false }
    }

    pub(super) const FAILS: &str = "=========================== short test summary info ============================\nFAILED tests/test_a.py::test_cents - assert 105 == 150\n============================== 1 failed in 0.01s ===============================\n";

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
    fn several_edits_a_whole_file_and_git_take_back_as_one_edit_does() {
        let places = |edits: &[(&str, &str)]| Action::EditPlaces {
            path: "a.py".into(),
            edits: edits
                .iter()
                .map(|(old, new)| domain::TextEdit { old: (*old).into(), new: (*new).into(), all: false })
                .collect(),
        };
        let whole = |content: &str| Action::WriteFile { path: "b.py".into(), content: content.into() };
        let done = [
            (places(&[("x", "y"), ("1", "2")]), ""),
            (places(&[("2", "1")]), ""),
            (whole("one"), ""),
            (whole("two"), ""),
            (whole("two"), ""),
            (whole("one"), ""),
            (run("git checkout -- b.py"), ""),
            (run("git restore c.py"), ""),
            (run("git stash; pytest; git stash pop; grep 'git checkout b.py' README"), ""),
        ];
        let mut log = log(&done);
        for event in &mut log {
            let path = match event {
                Event::ActionFinished { number: 7 | 9, .. } => "b.py",
                Event::ActionFinished { number: 8, .. } => "c.py",
                _ => continue,
            };
            if let Event::ActionFinished { outcome, .. } = event {
                outcome.touched = Some(Box::new(Touched { changed: vec![path.into()], ..Touched::default() }));
            }
        }
        let expected = [
            "action 2 took back what action 1 had written into a.py",
            "action 6 took back what action 5 had written into b.py",
            "action 7 took back what action 6 had written into b.py",
        ];
        assert_eq!(evidence(&log), expected, "c.py was nobody's work");
    }

    #[test]
    fn a_check_in_another_form_that_fails_the_same_way_is_the_same_check() {
        let done = [
            (run("pytest -q"), FAILS),
            (edit("x", "y"), ""),
            (run("pytest -q tests/test_a.py"), FAILS),
            (edit("q", "z"), ""),
            (run("python3 -m pytest -q"), FAILS),
        ];
        assert_eq!(evidence(&log(&done)), ["action 5: python3 -m pytest -q fails as it did 2 changes ago"]);
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
    fn commands_that_take_turns_and_change_nothing_are_evidence_while_the_workspace_is_the_same() {
        let done = [(run("ls"), "a"), (run("cat a"), "x"), (run("ls"), "a"), (run("cat a"), "x")];
        let mut log = log(&done);
        assert!(evidence(&log).is_empty(), "nobody observed what they touched");
        for event in &mut log {
            if let Event::ActionFinished { outcome, .. } = event {
                outcome.touched = Some(Box::new(Touched::default()));
            }
        }
        let expected = [
            "action 3 was action 1 again and gave the same: bash ls",
            "action 4 was action 2 again and gave the same: bash cat a",
        ];
        assert_eq!(evidence(&log), expected);
        // Behind the second action.
        log.insert(6, crate::engine::fixtures::prepared());
        assert!(evidence(&log).is_empty());
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
    fn notes_instead_of_actions_are_evidence_as_words_are() {
        let plan = || crate::engine::fixtures::call("p", "update_plan", serde_json::json!({ "plan": "- mend" }));
        let mut log = log(&[(run("ls"), "a")]);
        log.push(answer(2, "", vec![plan()]));
        (3..=4).for_each(|turn| log.extend([answer(turn, "", vec![plan()]), Event::Nudged { turn }]));
        assert_eq!(without_actions(&log), ["turn 4 held notes and no action"]);
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
