//! Reads the log of a task in the style *files*. Pure. Tests: below, and in the files that use it.

use domain::{Action, BaseRun, Call, CallRequest, Event, Look, Outcome, Request, Task, Verb};

use crate::command;
use crate::engine::fence::seen;
use crate::engine::issue::shortened;
use crate::sandbox::failures::failure;
use crate::sandbox::test_counts;
use crate::text;

/// The issue's title, its text, and the words of the command.
pub fn words(task: &Task) -> String {
    let request = task.request.as_ref();
    let parts = request.map(|it| {
        let (body, words) = issue_text(it);
        [text::one_line(&it.title), body, words]
    });
    parts.unwrap_or_default().join("\n")
}

/// The issue's text without the command's name, and the words of the command if they are not part of it.
pub(super) fn issue_text(request: &Request) -> (String, String) {
    let body = command::without_names(&request.body);
    let (shown, words) = (shortened(seen(&body).0), seen(&request.words).0);
    let in_the_body = body != request.body && shown.contains(&words);
    (shown, if in_the_body { String::new() } else { words })
}

/// The look that the host took for this turn.
pub fn look(log: &[Event], turn: u32) -> Option<&Look> {
    log.iter().rev().find_map(|event| match event {
        Event::Looked { turn: of, look } if *of == turn => Some(&**look),
        _ => None,
    })
}

/// The result of the checks on the task's present base; none without a known command, or before the first look.
pub fn base(log: &[Event]) -> Option<&BaseRun> {
    let since = log.iter().rposition(|event| matches!(event, Event::Rebased(_))).map_or(0, |at| at + 1);
    log[since..].iter().find_map(|event| match event {
        Event::Looked { look, .. } => look.base.as_ref(),
        _ => None,
    })
}

/// Words of a `/fix` on a plan.
pub fn widened(log: &[Event]) -> impl Iterator<Item = &str> {
    log.iter().filter_map(|event| match event {
        Event::WidenedToFix { words } => Some(words.as_str()),
        _ => None,
    })
}

/// Whether the event asks for another answer of the model: something from a person, the forge, or the loss of a sandbox.
pub(super) fn asks_for_more(event: &Event) -> bool {
    match event {
        Event::CiEnded(ended) => ended.returned,
        Event::DecisionUsed { decision, .. } => matches!(decision.verb, Verb::Changes { .. }),
        Event::VerdictReturned { .. }
        | Event::DoneReturned { .. }
        | Event::TreeRefused { .. }
        | Event::WidenedToFix { .. }
        | Event::DoneSaid { .. }
        | Event::FeedbackGiven { .. }
        | Event::QuestionAnswered { .. }
        | Event::Rebased(_)
        | Event::SandboxLost { .. } => true,
        _ => false,
    }
}

/// Whether the event asks for something that changes the workspace.
pub(super) fn changes_something(event: &Event) -> bool {
    let changes = |request: &CallRequest| request.call.may_change_the_tree();
    matches!(event, Event::TurnCompleted { calls, .. } if calls.iter().any(changes))
}

/// The ended actions of the answer at `last`, with their outcomes.
pub(super) fn outcomes(log: &[Event], last: usize) -> impl Iterator<Item = (&Action, &Outcome)> {
    let calls: &[CallRequest] = match &log[last] {
        Event::TurnCompleted { calls, .. } => calls,
        _ => &[],
    };
    log[last..].iter().filter_map(move |event| {
        let Event::ActionStarted { number, index, .. } = event else { return None };
        let Call::Action { action } = &calls.get(*index as usize)?.call else { return None };
        let ended = log[last..].iter().find_map(|event| match event {
            Event::ActionFinished { number: ended, outcome } if ended == number => Some(outcome),
            _ => None,
        })?;
        Some((action, ended))
    })
}

/// Whether the checks pass, and no fewer tests ran than on the base.
pub(super) fn passed(ended: &Outcome, base: Option<&BaseRun>) -> bool {
    ended.status.succeeded() && failure(&ended.text).is_none() && fewer_tests(ended, base).is_none()
}

/// A sentence where fewer tests ran than on the base, as far as both outputs count them.
pub(super) fn fewer_tests(ended: &Outcome, base: Option<&BaseRun>) -> Option<String> {
    let (now, before) = test_counts::fewer(&ended.text, &base?.tail)?;
    Some(format!("only {now} tests ran, and {before} ran before"))
}

#[cfg(test)]
mod tests {
    use super::super::choice::{Candidate, verdict};
    use super::super::files::tests::{acted, answered, looked, question, requested, unittest};
    use super::super::round::{self, Step};
    use super::*;
    use domain::{NewFile, OutcomeStatus, TaskId};

    fn ran(tests: u32) -> String {
        format!("Ran {tests} tests in 0.001s\n\nOK\n")
    }

    /// A candidate under which so many tests run and pass.
    fn tried(turn: u32, tests: u32) -> Vec<Event> {
        let files = vec![NewFile::new("calc.py", format!("x = {turn}\n"))];
        let action = Action::Try { files, command: "make test".into(), check: None };
        let mut log = vec![looked(turn, None), answered(turn, vec![action])];
        log.extend(acted(turn, turn, 0, OutcomeStatus::Ok, &ran(tests)));
        log
    }

    #[test]
    fn words_behind_the_cut_of_a_long_text_are_given_by_themselves() {
        let Event::Requested { request } = requested() else { panic!("a request") };
        let text = |log: &str| {
            let (body, words) = (format!("{log}\n\n/fix use a set"), "use a set".to_owned());
            issue_text(&Request { body, words, ..(*request).clone() })
        };
        assert_eq!(text("a log"), ("a log\n\n use a set".to_owned(), String::new()));
        let (body, words) = text(&"a log ".repeat(command::MAX_WORDS));
        assert!(body.ends_with("more characters are left out …]"), "{}", body.len());
        assert_eq!(words, "use a set");
    }

    #[test]
    fn a_candidate_under_which_fewer_tests_run_than_on_the_base_does_not_pass_and_the_model_is_told() {
        let begun = vec![requested(), looked(1, Some((0, &ran(4))))];
        let step = |log: &[Event]| round::next(&Task::fold(TaskId(1), log), log);
        for tests in [4, 5] {
            assert!(matches!(step(&[begun.clone(), tried(1, tests)].concat()), Step::Say(_)), "{tests}");
        }
        let mut log = [begun, tried(1, 3), tried(2, 3)].concat();
        assert_eq!(step(&log), Step::Ask);
        log.push(looked(3, None));
        let text = question(&log);
        assert!(text.contains("`make test` fails:\n\n```\nonly 3 tests ran, and 4 ran before"), "{text}");
    }

    #[test]
    fn a_red_base_is_no_excuse_where_fewer_tests_run() {
        let red = unittest(&["test_net"]);
        let base = BaseRun { command: "make test".into(), exit_code: Some(1), tail: red.clone() };
        for (output, excused) in [(red.replace("Ran 4", "Ran 3"), false), (red, true)] {
            let ended = Outcome::new(OutcomeStatus::Exited { code: 1 }, output);
            let one = Candidate { turn: 1, text: "", files: &[], command: "make test", ended: &ended, repeats: 0 };
            assert_eq!(verdict(&one, Some(&base)).is_some(), excused);
        }
    }
}
