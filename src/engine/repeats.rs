//! Recognises an action that repeats an earlier one with the same result. The model is told, because small ones otherwise repeat it until
//! their budget is used up; and a rule about actions may count it (`policy`).
//!
//! Owns: what counts as the same, how often it was done, and what begins the count anew. Different numbers in an output (times, process
//! ids) are ignored. Which files an action touched is its sandbox's word. Pure, from the log alone, in one pass and bounded memory. Must
//! not: stop anything. Tests: below and in `history_tests.rs`.

use domain::{Action, Call, CallRequest, Event, Outcome, OutcomeStatus, Verb};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The most actions that are remembered.
const MOST: u32 = 512;

/// How often action `number` was carried out before it, each time with the same input and the same result, since something else may last
/// have changed the tree and since the agent was last told something new. None where the log does not hold its call.
pub fn repeated(log: &[Event], number: u32) -> Option<u32> {
    let (mut started, mut repeats) = (Started::default(), Repeats::default());
    for event in log {
        started.take(event);
        // Who refused an action is asked again before it runs.
        if renews(event) || tells(event) && !matches!(event, Event::PermissionRefused { .. }) {
            repeats = Repeats::default();
        }
        if let Event::ActionFinished { number, outcome } = event
            && let Some(call) = started.call(*number)
        {
            repeats.take(*number, call, outcome);
        }
    }
    started.call(number).map(|call| repeats.times(call))
}

/// Whether the agent is told something new by it, so that what came before is no evidence any more.
pub(super) fn tells(event: &Event) -> bool {
    match event {
        Event::DecisionUsed { decision, .. } => matches!(decision.verb, Verb::Changes { .. }),
        Event::AnotherWay { .. }
        | Event::Resumed
        | Event::QuestionAnswered { .. }
        | Event::PermissionGiven { .. }
        | Event::PermissionRefused { .. } => true,
        _ => false,
    }
}

/// Whether the agent works in another tree from here on, so that a result from before says nothing about it.
fn renews(event: &Event) -> bool {
    matches!(event, Event::Prepared { .. } | Event::Rebased(_) | Event::SandboxLost { .. })
}

/// The calls of the actions that began.
#[derive(Debug, Default)]
struct Started<'a> {
    made: HashMap<(u32, u32), &'a CallRequest>,
    began: HashMap<u32, (u32, u32)>,
}

impl<'a> Started<'a> {
    /// Adds what an event says of a call.
    fn take(&mut self, event: &'a Event) {
        match event {
            Event::TurnCompleted { turn, calls, .. } => {
                self.made.extend((0u32..).zip(calls).map(|(index, call)| ((*turn, index), call)));
            }
            Event::ActionStarted { number, turn, index } => {
                self.began.insert(*number, (*turn, *index));
            }
            _ => {}
        }
    }

    /// The call that asked for an action.
    fn call(&self, number: u32) -> Option<&'a CallRequest> {
        self.began.get(&number).and_then(|at| self.made.get(at)).copied()
    }
}

/// The actions that have ended from the event at `since` on, in order: number, call and outcome.
pub(super) fn ended(log: &[Event], since: usize) -> Vec<(u32, &CallRequest, &Outcome)> {
    let (mut started, mut ended) = (Started::default(), Vec::new());
    for (at, event) in log.iter().enumerate() {
        started.take(event);
        if at >= since
            && let Event::ActionFinished { number, outcome } = event
        {
            ended.extend(started.call(*number).map(|call| (*number, call, outcome)));
        }
    }
    ended
}

/// Actions since something else may last have changed the tree.
#[derive(Debug, Default)]
pub(super) struct Repeats<'a> {
    done: HashMap<String, Done<'a>>,
    /// Whether a command of the agent's may run in the background, for which it waits by the same call again.
    waits: bool,
    /// The turn of the newest action.
    turn: u32,
}

/// The last action with a call.
#[derive(Debug)]
struct Done<'a> {
    number: u32,
    turn: u32,
    ended: &'a Outcome,
    /// How often it was carried out with this result, and with no other one in between. One that was denied did not run, and leaves the
    /// count as it was.
    times: u32,
}

impl<'a> Repeats<'a> {
    /// Takes an event before the actions behind it: a result in another tree is no repetition, nor is one that the conversation no longer holds.
    pub(super) fn hear(&mut self, event: &Event) {
        match event {
            _ if renews(event) => *self = Self::default(),
            Event::ActionStarted { turn, .. } => self.turn = *turn,
            // Results of later turns are sent as before.
            Event::Compacted { shrunk, .. } => self.done.retain(|_, done| done.turn > *shrunk),
            Event::ConversationRestarted => self.done.clear(),
            // Everything that runs ends with a checkpoint.
            Event::PublishStarted { .. } => self.waits = false,
            _ => {}
        }
    }

    /// Adds an action; returns the number of an earlier one with the same call and result, unless the agent may wait for something with it.
    pub(super) fn take(&mut self, number: u32, call: &CallRequest, ended: &'a Outcome) -> Option<u32> {
        let key = key(call);
        let begins = matches!(&call.call, Call::Action { action: Action::Background { .. } });
        self.waits |= begins && ended.status.succeeded();
        let own = self.done.remove(&key);
        if may_have_changed(call, ended, own.as_ref()) {
            self.done.clear();
        }
        self.forget(number);
        let before = own.map(|done| (done.number, done.times, is_same(done.ended, ended)));
        let ran = !matches!(ended.status, OutcomeStatus::Denied { .. });
        let counted = before.map_or(0, |(_, times, same)| if same || !ran { times } else { 0 });
        let times = counted.saturating_add(u32::from(ran));
        self.done.insert(key, Done { number, turn: self.turn, ended, times });
        before.filter(|(_, _, same)| *same && !self.waits).map(|(number, _, _)| number)
    }

    /// Makes room for one more: of too many, the older ones are forgotten.
    fn forget(&mut self, number: u32) {
        if self.done.len() >= MOST as usize {
            let oldest = number.saturating_sub(MOST / 2);
            self.done.retain(|_, done| done.number >= oldest);
        }
    }

    /// How often this call was carried out with one and the same result.
    fn times(&self, call: &CallRequest) -> u32 {
        self.done.get(&key(call)).map_or(0, |done| done.times)
    }
}

/// Whether other actions may give another result after this one, which ended so. `before` is the last action with the same call. Where nobody
/// observed which files were touched, whatever may write counts, but for its own repetition.
fn may_have_changed(call: &CallRequest, ended: &Outcome, before: Option<&Done<'_>>) -> bool {
    if matches!(ended.status, OutcomeStatus::Denied { .. }) {
        return false;
    }
    match ended.touched.as_deref() {
        // What git ignores, as dependencies and settings, decides about results as well.
        Some(touched) if touched.changes() > 0 => true,
        Some(touched) if touched.unseen.is_none() => false,
        Some(_) => call.call.may_change_the_tree(),
        None => {
            let again = before.is_some_and(|done| done.times > 0 && done.ended.touched.is_none());
            call.call.may_change_the_tree() && !again
        }
    }
}

/// What a call does: the arguments of one that writes whole files name only the files.
fn key(call: &CallRequest) -> String {
    match &call.call {
        Call::Action { action: Action::WriteFiles { files } | Action::Try { files, .. } } => {
            let mut written = DefaultHasher::new();
            files.iter().for_each(|file| (&file.path, &file.content).hash(&mut written));
            format!("{} {} {:x}", call.name, call.arguments, written.finish())
        }
        _ => format!("{} {}", call.name, call.arguments),
    }
}

/// Compared only where a call repeats, because this runs over a long conversation before each call.
fn is_same(one: &Outcome, other: &Outcome) -> bool {
    let status = |outcome: &Outcome| without_numbers(&format!("{:?}", outcome.status)).collect::<Vec<_>>();
    status(one) == status(other) && without_numbers(&one.text).eq(without_numbers(&other.text))
}

fn without_numbers(text: &str) -> impl Iterator<Item = u8> {
    text.bytes().filter(|byte| !byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::{account, acted, answer};
    use domain::{Access, Decision, Loss, NewFile, Source, Touched};

    fn run(command: &str) -> CallRequest {
        let arguments = serde_json::json!({ "command": command });
        let call = Call::Action { action: Action::Bash { command: command.into() } };
        CallRequest { id: "c".into(), name: "bash".into(), arguments, call }
    }

    fn read(path: &str) -> CallRequest {
        let action = Action::ReadFile { path: path.into(), from: 1, lines: 0 };
        let arguments = serde_json::json!({ "path": path });
        CallRequest { id: "c".into(), name: "read_file".into(), arguments, call: Call::Action { action } }
    }

    #[test]
    fn the_same_with_the_same_result_is_known_again_unless_something_else_may_have_changed_the_tree() {
        let failed = |text: &str| Outcome::new(OutcomeStatus::Exited { code: 1 }, text);
        let done = |text: &str| Outcome::new(OutcomeStatus::Ok, text);
        let (first, later, other) =
            (failed("1 failed in 0.3 s"), failed("1 failed in 0.4 s"), failed("2 failed and more"));
        let (content, edited) = (done("x"), done(""));
        let mut repeats = Repeats::default();
        assert_eq!(repeats.take(1, &run("make"), &first), None);
        assert_eq!(repeats.take(2, &read("a"), &content), None);
        assert_eq!(repeats.take(3, &run("make"), &later), Some(1));
        assert_eq!(repeats.take(4, &run("make"), &other), None, "another result");
        assert_eq!(repeats.take(5, &read("a"), &content), Some(2));
        assert_eq!(repeats.take(6, &run("sed -i s/a/b/ a"), &edited), None);
        assert_eq!(repeats.take(7, &run("make"), &other), None, "the tree may be another");
    }

    /// A log of one turn with these calls, each carried out with its output; the last one has only begun.
    fn log(done: &[(CallRequest, &str)]) -> Vec<Event> {
        let mut log = vec![answer(1, "", done.iter().map(|(call, _)| call.clone()).collect())];
        for ((number, index), (_, output)) in (1u32..).zip(0u32..).zip(done) {
            log.extend(acted(number, 1, index, OutcomeStatus::Exited { code: 1 }, output));
        }
        log.pop();
        log
    }

    fn decision(verb: Verb) -> Box<Decision> {
        Box::new(Decision::new(Source::Comment(12), 12, (account(1, "alice"), Access::Write), verb))
    }

    #[test]
    fn what_was_done_before_is_counted_while_the_result_is_the_same() {
        let make = || (run("make"), "1 failed in 0.3 s");
        assert_eq!(repeated(&log(&[make()]), 1), Some(0));
        assert_eq!(repeated(&log(&[make(), make(), (read("a"), "x"), make()]), 4), Some(2));
        assert_eq!(repeated(&log(&[make(), make(), (run("make"), "2 failed and more"), make()]), 4), Some(1));
        assert_eq!(repeated(&log(&[make(), make(), (run("sed -i s/a/b/ a"), ""), make()]), 4), Some(0));
        assert_eq!(repeated(&log(&[make(), make(), (run("make all"), "")]), 3), Some(0), "another command");
        assert_eq!(repeated(&log(&[make()]), 2), None, "nobody began it");
        assert_eq!(repeated(&[], 1), None);
    }

    /// The same log with other outcomes.
    fn with(log: &[Event], change: impl Fn(u32, &mut Outcome)) -> Vec<Event> {
        let mut log = log.to_vec();
        for event in &mut log {
            if let Event::ActionFinished { number, outcome } = event {
                change(*number, outcome);
            }
        }
        log
    }

    /// The same log with a report of the sandbox for each action: those in `edits` changed a file.
    fn reported(log: &[Event], edits: &[u32]) -> Vec<Event> {
        with(log, |number, outcome| {
            let changed = if edits.contains(&number) { vec!["a.py".to_owned()] } else { Vec::new() };
            outcome.touched = Some(Box::new(Touched { changed, ..Touched::default() }));
        })
    }

    /// The same log, where this is the report of one action.
    fn touching(log: &[Event], action: u32, touched: &Touched) -> Vec<Event> {
        with(log, |number, outcome| {
            if number == action {
                outcome.touched = Some(Box::new(touched.clone()));
            }
        })
    }

    #[test]
    fn commands_that_take_turns_are_each_counted_while_none_changes_a_file() {
        let (make, cat) = (|| (run("make"), "1 failed in 0.3 s"), || (run("cat a.py"), "x = y"));
        let turns = log(&[make(), cat(), make(), cat(), make(), make()]);
        assert_eq!(repeated(&reported(&turns, &[]), 6), Some(3));
        assert_eq!(repeated(&turns, 6), Some(1), "nobody observed what they touched");
        let cats = log(&[make(), cat(), make(), cat(), make(), cat()]);
        assert_eq!(repeated(&reported(&cats, &[]), 6), Some(2));
        assert_eq!(repeated(&reported(&cats, &[1, 3, 5]), 6), Some(0), "the other one changes a file each time");
        let polls = log(&[(run("poll"), "begun"), cat(), (run("poll"), "half"), cat(), (run("poll"), "done")]);
        assert_eq!(repeated(&reported(&polls, &[]), 5), Some(1), "another result each time");
        let unseen = Touched { unseen: Some("too many".into()), ..Touched::default() };
        assert_eq!(repeated(&touching(&reported(&turns, &[]), 4, &unseen), 6), Some(1));
    }

    #[test]
    fn what_changes_a_file_begins_the_count_of_everything_else_anew() {
        let (make, cat, sed) =
            (|| (run("make"), "1 failed"), || (run("cat a.py"), "x = y"), || (run("sed -i s/a/b/ a.py"), "done"));
        let done = log(&[make(), cat(), make(), sed(), make(), cat(), make()]);
        assert_eq!(repeated(&reported(&done, &[4]), 7), Some(1));
        assert_eq!(repeated(&reported(&done, &[]), 7), Some(3), "it found nothing to replace");
        assert_eq!(repeated(&reported(&done, &[3, 5]), 7), Some(3), "its own doing");
        let fourth = |touched| touching(&reported(&done, &[]), 4, &touched);
        assert_eq!(repeated(&fourth(Touched { ignored: 3, ..Touched::default() }), 7), Some(1));
        assert_eq!(repeated(&fourth(Touched { read: vec!["a.py".into()], ..Touched::default() }), 7), Some(3));
        let reads = log(&[make(), (read("b.py"), "z"), make()]);
        assert_eq!(repeated(&reported(&reads, &[2]), 3), Some(0), "something in the background wrote meanwhile");
    }

    #[test]
    fn a_denied_write_changes_nothing() {
        let make = || (run("make"), "1 failed");
        let log = with(&log(&[make(), (run("rm a.py"), ""), make(), make()]), |number, outcome| {
            if number == 2 {
                outcome.status = OutcomeStatus::Denied { reason: "a rule".into() };
            }
        });
        assert_eq!(repeated(&log, 4), Some(2));
    }

    #[test]
    fn another_workspace_begins_the_count_anew() {
        let make = || (run("make"), "1 failed");
        let log = log(&[make(), make(), make()]);
        assert_eq!(repeated(&log, 3), Some(2));
        let begun = log.len() - 1;
        for event in [
            crate::engine::fixtures::prepared(),
            Event::SandboxLost { sentence: "it was removed".into(), loss: Loss::Removed },
        ] {
            assert_eq!(repeated(&[&log[..begun], &[event], &log[begun..]].concat(), 3), Some(0));
        }
    }

    #[test]
    fn who_waits_for_a_command_in_the_background_repeats_nothing() {
        let began = CallRequest {
            call: Call::Action { action: Action::Background { command: "make all".into() } },
            ..run("make all")
        };
        let done = |text: &str| Outcome::new(OutcomeStatus::Ok, text);
        let (started, log) = (done("process 7 runs"), done("[ 45%]"));
        let poll = || run("sleep 60; tail -1 build.log");
        let mut repeats = Repeats::default();
        assert_eq!(repeats.take(1, &began, &started), None);
        assert_eq!((2..=4).map(|number| repeats.take(number, &poll(), &log)).collect::<Vec<_>>(), [None; 3]);
        assert_eq!(repeats.times(&poll()), 3, "a rule about actions counts them all the same");
        repeats.hear(&Event::PublishStarted { n: 1, why: domain::Why::Checkpoint });
        assert_eq!(repeats.take(5, &poll(), &log), Some(4), "it ended at the checkpoint");
    }

    #[test]
    fn what_the_conversation_no_longer_holds_may_be_looked_at_again() {
        let content = Outcome::new(OutcomeStatus::Ok, "x");
        for event in [Event::Compacted { turn: 3, shrunk: 2, folded: 0, rate: 250 }, Event::ConversationRestarted] {
            let mut repeats = Repeats::default();
            assert_eq!(repeats.take(1, &read("a"), &content), None);
            assert_eq!(repeats.take(2, &read("a"), &content), Some(1));
            repeats.hear(&event);
            assert_eq!(repeats.take(3, &read("a"), &content), None, "{event:?}");
            assert_eq!(repeats.take(4, &read("a"), &content), Some(3));
        }
    }

    /// A small model's conversation is shortened every few turns, and the newest stay.
    #[test]
    fn what_a_shortened_conversation_still_holds_is_a_repetition() {
        let content = Outcome::new(OutcomeStatus::Ok, "x");
        let mut repeats = Repeats::default();
        for (number, path) in [(1, "a"), (2, "b")] {
            repeats.hear(&Event::ActionStarted { number, turn: number, index: 0 });
            assert_eq!(repeats.take(number, &read(path), &content), None);
        }
        repeats.hear(&Event::Compacted { turn: 3, shrunk: 1, folded: 0, rate: 250 });
        assert_eq!(repeats.take(3, &read("b"), &content), Some(2));
        assert_eq!(repeats.take(4, &read("a"), &content), None, "it is no longer sent");
    }

    #[test]
    fn a_long_log_is_remembered_in_part() {
        let outcome = Outcome::new(OutcomeStatus::Ok, "x");
        let mut repeats = Repeats::default();
        for number in 1..=3 * MOST {
            assert_eq!(repeats.take(number, &read(&format!("a{number}")), &outcome), None);
            assert!(repeats.done.len() <= MOST as usize);
        }
        let newest = 3 * MOST;
        assert_eq!(repeats.take(newest + 1, &read(&format!("a{newest}")), &outcome), Some(newest));
        assert_eq!(repeats.take(newest + 2, &read("a1"), &outcome), None);
    }

    #[test]
    fn other_contents_of_the_same_files_are_no_repetition() {
        let write = |text: &str| CallRequest {
            call: Call::Action { action: Action::WriteFiles { files: vec![NewFile::new("a.py", text)] } },
            ..run("write")
        };
        let all =
            [(write("x = 1"), "made"), (write("x = 1"), "made"), (write("x = 2"), "made"), (write("x = 2"), "made")];
        assert_eq!(repeated(&log(&all[..2]), 2), Some(1));
        assert_eq!(repeated(&log(&all), 4), Some(1));
    }

    #[test]
    fn a_denied_action_adds_nothing_and_takes_nothing_away() {
        let make = || (run("make"), "1 failed");
        let mut log = log(&[make(), make(), make(), make()]);
        for event in &mut log {
            if let Event::ActionFinished { number: 3, outcome } = event {
                outcome.status = OutcomeStatus::Denied { reason: "it was done twice".into() };
            }
        }
        assert_eq!(repeated(&log, 4), Some(2));
    }

    #[test]
    fn a_permission_begins_the_count_anew_and_a_refusal_does_not() {
        let make = || (run("make"), "1 failed");
        let log = log(&[make(), make(), make(), make()]);
        let begun = log.len() - 3;
        assert!(matches!(log[begun], Event::ActionStarted { number: 3, .. }));
        let with = |event: Event| [&log[..=begun], &[event], &log[begun + 1..]].concat();
        let given = with(Event::PermissionGiven { number: 3, decision: decision(Verb::approve()) });
        assert_eq!(repeated(&given[..begun + 2], 3), Some(0), "the one that was permitted");
        assert_eq!(repeated(&given, 4), Some(1), "it counts itself");
        let refused = with(Event::PermissionRefused { number: 3, decision: decision(Verb::Say { items: Vec::new() }) });
        assert_eq!(repeated(&refused[..begun + 2], 3), Some(2));
        assert_eq!(repeated(&with(Event::Resumed), 4), Some(1));
    }
}
