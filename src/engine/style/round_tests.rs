//! Rounds of candidates, from their logs.

use super::*;
use crate::engine::style::files::tests::{
    acted, answered, asked as request_of, changes, looked, question, requested, unittest,
};
use domain::{Example, TaskId, Usage};

const GREEN: &str = "Ran 4 tests in 0.001s\n\nOK\n";

fn file(content: &str) -> Vec<NewFile> {
    vec![NewFile::new("calc.py", content)]
}

/// An answer that was tried, and the outcome of its checks.
fn tried(turn: u32, content: &str, code: i32, output: &str) -> Vec<Event> {
    let action = Action::Try { files: file(content), command: "make test".into(), check: None };
    let status = if code == 0 { OutcomeStatus::Ok } else { OutcomeStatus::Exited { code } };
    let mut log = vec![looked(turn, None), answered(turn, vec![action])];
    log.extend(acted(turn, turn, 0, status, output));
    log
}

/// A base whose checks end with `code` and these failing tests.
fn begun(code: i32, failing: &[&str]) -> Vec<Event> {
    vec![requested(), looked(1, Some((code, &unittest(failing))))]
}

fn step(log: &[Event]) -> Step {
    next(&Task::fold(TaskId(1), log), log)
}

fn said(log: &[Event]) -> TurnAnswer {
    match step(log) {
        Step::Say(answer) => *answer,
        other => panic!("{other:?}"),
    }
}

/// An answer of the host in the log, with its write carried out.
fn spoken(answer: TurnAnswer, number: u32) -> Vec<Event> {
    let TurnAnswer { turn, text, calls, model, .. } = answer;
    let usage = Usage::default();
    let mut log =
        vec![Event::TurnCompleted { turn, text, calls, usage, micro_usd: 0, duration_ms: 0, model, vendor: None }];
    log.extend(acted(number, turn, 0, OutcomeStatus::Ok, ""));
    log
}

/// An answer with the files of an earlier candidate, and its call as it was answered.
fn repeated(log: &[Event], turn: u32, content: &str) -> Vec<Event> {
    let call = earlier_tries(log, &Look::default(), "").repeated(&file(content), turn).expect("it was tried");
    let Call::Malformed { reason } = &call.call else { panic!("{call:?}") };
    let unrun = Event::CallAnswered { turn, index: 0, answer: reason.clone(), malformed: true };
    let mut answer = answered(turn, Vec::new());
    if let Event::TurnCompleted { calls, .. } = &mut answer {
        calls.push(call);
    }
    vec![answer, unrun]
}

/// The workspace was committed.
fn captured() -> Event {
    let commit = domain::Commit::parse(&"a".repeat(40)).expect("a commit");
    Event::TreeUnchanged { n: 1, commit, left_out: vec![] }
}

fn chosen(answer: &TurnAnswer) -> (&str, bool) {
    let Call::Action { action: Action::WriteFiles { files } } = &answer.calls[0].call else { panic!("{answer:?}") };
    (files[0].content.as_str(), answer.calls.len() == 2)
}

#[test]
fn what_passes_is_written_and_done_in_one_answer_without_a_model() {
    let mut log = begun(1, &["test_add"]);
    assert_eq!(step(&log), Step::Ask);
    log.extend(tried(1, "good", 0, GREEN));
    let answer = said(&log);
    assert_eq!((chosen(&answer), answer.turn, answer.usage.total()), (("good", true), 2, 0));
    let Call::Done { summary, .. } = &answer.calls[1].call else { panic!("{answer:?}") };
    assert!(summary.ends_with("Written: calc.py. `make test` passes with it."), "{summary}");
}

#[test]
fn a_try_leaves_the_workspace_in_its_commit_and_counts() {
    let mut log = begun(0, &[]);
    log.extend(tried(1, "bad", 1, &unittest(&["test_add"])));
    let task = Task::fold(TaskId(1), &log);
    assert_eq!((task.used, task.uncommitted, tries(&task, &log)), (1, false, true));
    log.push(answered(2, vec![Action::Bash { command: "make".into() }]));
    log.extend(acted(2, 2, 0, OutcomeStatus::Ok, ""));
    let task = Task::fold(TaskId(1), &log);
    assert!(task.uncommitted && !tries(&task, &log), "a copy of the commit is not what the workspace holds");
}

#[test]
fn the_same_is_asked_again_and_every_third_answer_mends_the_best() {
    let mut log = begun(0, &[]);
    log.extend(tried(1, "worse", 1, &unittest(&["test_add", "test_sub"])));
    log.push(Event::Looked { turn: 2, look: Box::new(again(&log, "").expect("a look")) });
    let first = question(&log);
    assert!(!first.contains("After the last change"), "{first}");
    assert_eq!(request_of(&log).temperature, Some(0.7));
    log.extend(tried(2, "better", 1, &unittest(&["test_add"])));
    assert_eq!(mended(&log, "").map(|one| one.files[0].content.as_str()), Some("better"));
    let look = again(&log, "").expect("a look");
    assert_eq!((look.files.len(), look.files[0].text.as_str()), (1, "better"));
    log.push(Event::Looked { turn: 3, look: Box::new(look) });
    let text = question(&log);
    assert!(text.contains("After the last change `make test` fails:") && text.contains("\nbetter\n"), "{text}");
    assert!(!text.contains("test_sub"), "that is of the other candidate");
}

#[test]
fn after_an_answer_that_brought_nothing_new_the_question_is_another_and_freer() {
    let mut log = begun(0, &[]);
    log.extend(tried(1, "bad", 1, &unittest(&["test_add"])));
    let asked = |log: &[Event]| {
        let look = Box::new(again(log, "").expect("a look"));
        let turn = Task::fold(TaskId(1), log).turn + 1;
        request_of(&[log, &[Event::Looked { turn, look }]].concat()).temperature.expect("one")
    };
    log.extend(repeated(&log, 2, "bad"));
    assert!((asked(&log) - 0.85).abs() < 1e-9, "the same once more");
    assert!(mended(&log, "").is_some(), "that was an answer, though it was not tried again");
    log.push(answered(3, vec![]));
    assert!(mended(&log, "").is_none(), "it gave back what it was to mend");
    assert!((asked(&log) - 1.0).abs() < 1e-9);
    log.extend([answered(4, vec![]), answered(5, vec![])]);
    assert!((asked(&log) - 1.0).abs() < 1e-9, "no further");
}

#[test]
fn the_fifth_action_writes_the_best_and_a_person_is_asked() {
    let mut log = begun(0, &[]);
    let red = |tests: &[&str]| unittest(tests);
    log.extend(tried(1, "two fail", 1, &red(&["test_add", "test_sub"])));
    log.extend(tried(2, "one fails", 1, &red(&["test_add"])));
    log.extend(tried(3, "nobody knows what fails", 1, "Segmentation fault"));
    assert_eq!(step(&log), Step::Ask);
    log.extend(tried(4, "three fail", 1, &red(&["test_add", "test_sub", "test_mul"])));
    let answer = said(&log);
    assert_eq!(chosen(&answer), ("one fails", false));
    log.extend(spoken(answer, 5));
    assert_eq!(applied(&log).map(|one| one.turn), Some(2));
    let task = Task::fold(TaskId(1), &log);
    assert_eq!(crate::engine::style::settled(&task, &log), None, "the host's own write is no end of the work");
    log.push(looked(6, None));
    let text = question(&log);
    assert!(text.contains("After the last change `make test` fails:") && text.contains("test_add"), "{text}");
}

#[test]
fn of_equally_good_ones_most_answers_decide_and_then_the_smaller() {
    let mut log = begun(1, &["test_net"]);
    let red = unittest(&["test_net"]);
    for (turn, content) in [(1, "a long one"), (2, "often  so"), (3, "often so"), (4, "short")] {
        log.extend(tried(turn, content, 1, &red));
    }
    let first = said(&log);
    assert_eq!(chosen(&first), ("often so", false), "what fails without it too may be the issue itself");
    log.extend(spoken(first, 5));
    for turn in 6..=9 {
        log.extend(tried(turn, "no better", 1, &red));
    }
    let answer = said(&log);
    let [CallRequest { call: Call::Done { summary, .. }, .. }] = answer.calls.as_slice() else { panic!("{answer:?}") };
    assert!(summary.contains("fails, as it does without it"), "a person sees it as done: {summary}");
}

#[test]
fn two_rounds_without_a_good_candidate_ask_a_person() {
    let mut log = begun(0, &[]);
    let red = unittest(&["test_add"]);
    for turn in 1..=4 {
        log.extend(tried(turn, "first", 1, &red));
    }
    log.extend(spoken(said(&log), 5));
    let mut approved = changes();
    if let Event::DecisionUsed { decision, .. } = &mut approved {
        decision.verb = Verb::Approve { checkpoint: None, commit: None, next: 0 };
    }
    log.push(captured());
    log.push(approved);
    assert_eq!(step(&log), Step::Ask);
    for turn in 6..=9 {
        log.extend(tried(turn, "second", 1, &red));
    }
    let Step::Stop(sentence) = step(&log) else { panic!("{:?}", step(&log)) };
    assert!(sentence.starts_with("8 candidates were tried"), "{sentence}");
    log.push(Event::Resumed);
    assert_eq!(step(&log), Step::Ask, "who resumes wants more");
}

#[test]
fn answers_without_anything_usable_do_not_keep_a_round_open_for_ever() {
    let mut log = begun(0, &[]);
    log.extend(tried(1, "first", 1, &unittest(&["test_add"])));
    for turn in 2..=5 {
        log.push(answered(turn, Vec::new()));
        assert_eq!(step(&log), Step::Ask);
    }
    log.push(answered(6, Vec::new()));
    assert_eq!(chosen(&said(&log)), ("first", false));
}

#[test]
fn an_answer_that_was_tried_before_takes_no_try_and_keeps_its_vote() {
    let mut log = begun(0, &[]);
    let red = unittest(&["test_add"]);
    log.extend(tried(1, "a long one", 1, &red));
    log.extend(tried(2, "short", 1, &red));
    log.extend(repeated(&log, 3, "a long one"));
    let task = Task::fold(TaskId(1), &log);
    assert_eq!((task.used, step(&log)), (2, Step::Ask));
    assert!(!wide(&[log.as_slice(), &repeated(&log, 4, "short")].concat()), "neither was unusable");
    log.extend(tried(4, "other", 1, &red));
    log.extend(tried(5, "another", 1, &red));
    assert_eq!(chosen(&said(&log)).0, "a long one", "two answers gave it");
}

#[test]
fn a_model_that_repeats_itself_ends_the_round_before_the_task_is_paused() {
    let mut log = begun(0, &[]);
    log.extend(tried(1, "bad", 1, &unittest(&["test_add"])));
    for turn in 2..=5 {
        assert_eq!(step(&log), Step::Ask);
        log.extend(repeated(&log, turn, "bad"));
    }
    assert!(Task::fold(TaskId(1), &log).malformed < MALFORMED_LIMIT);
    assert_eq!(chosen(&said(&log)), ("bad", false));
}

#[test]
fn a_pause_for_the_budget_or_a_lost_sandbox_ends_no_round() {
    let mut log = begun(0, &[]);
    log.extend(tried(1, "good", 0, GREEN));
    let budget = domain::PauseReason::Budget { what: "tokens".into() };
    log.extend([Event::Paused { reason: budget }, Event::Resumed]);
    let loss = domain::Loss::EngineRestarted;
    log.push(Event::SandboxLost { sentence: loss.to_string(), loss });
    assert_eq!(chosen(&said(&log)), ("good", true), "what passed is written after all");
    log.extend([Event::Paused { reason: domain::PauseReason::Stuck { sentence: String::new() } }, Event::Resumed]);
    assert_eq!(step(&log), Step::Ask);
}

#[test]
fn a_write_of_the_host_that_did_not_happen_ends_no_round() {
    let mut log = begun(0, &[]);
    log.extend(tried(1, "good", 0, GREEN));
    let mut host = spoken(said(&log), 2);
    if let Some(Event::ActionFinished { outcome, .. }) = host.last_mut() {
        outcome.status = OutcomeStatus::Interrupted;
    }
    log.extend(host);
    assert_eq!(chosen(&said(&log)), ("good", true), "it is written once more");
}

/// An answer that passes the project's checks, with the results of the issue's own check.
fn shown(turn: u32, content: &str, met: &[&str], unmet: &[&str]) -> Vec<Event> {
    let mut log = tried(turn, content, 0, GREEN);
    let one = |holds: bool, says: &&str| {
        let seen = if holds { "" } else { "3" };
        Example { says: (*says).into(), holds, seen: seen.into() }
    };
    let examples = met.iter().map(|it| one(true, it)).chain(unmet.iter().map(|it| one(false, it))).collect();
    if let Some(Event::ActionFinished { outcome, .. }) = log.last_mut() {
        outcome.examples = examples;
    }
    log
}

#[test]
fn what_the_issue_gives_as_examples_decides_between_answers_that_pass() {
    let mut log = begun(0, &[]);
    log.extend(shown(1, "none", &[], &["`f(1)` should give `2`", "`f(9)` should give `9`"]));
    assert_eq!(step(&log), Step::Ask, "it passes the project's checks, and is not taken at once");
    log.extend(shown(2, "one of them, longer", &["`f(1)` should give `2`"], &["`f(9)` should give `9`"]));
    log.push(looked(3, None));
    let text = question(&log);
    assert!(text.contains("this is still wrong:\n\n```\n`f(9)` should give `9`, and it gives 3"), "{text}");
    assert!(!text.contains("fails:"), "the command passes: {text}");
    log.extend(tried(3, "worse", 1, &unittest(&["test_add"])));
    log.extend(shown(4, "none again", &[], &["`f(1)` should give `2`", "`f(9)` should give `9`"]));
    let answer = said(&log);
    assert_eq!(chosen(&answer), ("one of them, longer", false), "another round tries for the rest");
    log.extend(spoken(answer, 5));
    log.push(looked(6, None));
    assert!(question(&log).contains("`f(9)` should give `9`, and it gives 3"));
    for turn in 6..=8 {
        log.extend(shown(turn, "again", &["`f(1)` should give `2`"], &["`f(9)` should give `9`"]));
    }
    log.extend(shown(9, "all", &["`f(1)` should give `2`", "`f(9)` should give `9`"], &[]));
    assert_eq!(chosen(&said(&log)), ("all", true));
}

#[test]
fn an_example_that_no_answer_meets_is_told_to_the_person() {
    let mut log = begun(0, &[]);
    for turn in 1..=4 {
        log.extend(shown(turn, "good", &[], &["`f(1)` should give `2`"]));
    }
    let first = said(&log);
    assert_eq!(chosen(&first), ("good", false));
    log.extend(spoken(first, 5));
    for turn in 6..=9 {
        log.extend(shown(turn, "other", &[], &["`f(1)` should give `2`"]));
    }
    let answer = said(&log);
    let [CallRequest { call: Call::Done { summary, .. }, .. }] = answer.calls.as_slice() else { panic!("{answer:?}") };
    assert!(
        summary.contains("passes with it. Not met, as it was read out of the issue: `f(1)` should give `2`"),
        "{summary}"
    );
}

#[test]
fn an_answer_that_leaves_out_what_the_issue_names_is_not_taken_at_once() {
    let asks = super::super::files::tests::asking("Give it a function `halve(n)`.");
    let mut log = vec![asks, looked(1, Some((0, GREEN)))];
    log.extend(tried(1, "x", 0, GREEN));
    assert_eq!(step(&log), Step::Ask);
    log.extend(tried(2, "y", 0, GREEN));
    log.push(looked(3, None));
    let text = question(&log);
    assert!(text.contains("nothing is named `halve` yet"), "{text}");
    log.extend(tried(3, "def halve(n): …", 0, GREEN));
    assert_eq!(chosen(&said(&log)), ("def halve(n): …", true));
    log.truncate(log.len() - 3);
    log.extend(tried(3, "z", 0, GREEN));
    log.extend(tried(4, "w", 0, GREEN));
    assert!(chosen(&said(&log)).1, "names alone prove nothing: what passes is done");
}

#[test]
fn a_name_of_the_issues_example_code_keeps_no_right_answer_back() {
    let body = "Sums are wrong:\n\n```python\napp = make_app()\napp.add(1, 2)\n```";
    let begun = vec![super::super::files::tests::asking(body), looked(1, Some((0, GREEN)))];
    let passes = [begun.clone(), tried(1, "good", 0, GREEN)].concat();
    assert_eq!(chosen(&said(&passes)), ("good", true), "another file defines that");
    let mut log = begun;
    for (turn, content) in [(1, "good one"), (2, "make_app"), (3, "good  one"), (4, "other")] {
        log.extend(tried(turn, content, 1, &unittest(&["test_add"])));
    }
    assert_eq!(chosen(&said(&log)).0, "good one", "what most answers gave counts more");
}

#[test]
fn a_write_that_did_not_happen_was_not_written() {
    let mut log = begun(0, &[]);
    for turn in 1..=4 {
        log.extend(shown(turn, "good", &[], &["`f(1)` should give `2`"]));
    }
    let mut host = spoken(said(&log), 5);
    if let Some(Event::ActionFinished { outcome, .. }) = host.last_mut() {
        outcome.status = OutcomeStatus::Interrupted;
    }
    log.extend(host);
    assert!(applied(&log).is_none());
    assert_eq!(chosen(&said(&log)), ("good", false), "it is written once more, and nothing is called done");
}

#[test]
fn what_passes_stays_where_another_round_brings_nothing_better() {
    let mut log = begun(0, &[]);
    for turn in 1..=4 {
        log.extend(shown(turn, "good", &[], &["`f(1)` should give `2`"]));
    }
    log.extend(spoken(said(&log), 5));
    let budget = domain::PauseReason::Budget { what: "tokens".into() };
    log.extend([Event::Paused { reason: budget }, Event::Resumed]);
    let mut silent = log.clone();
    for turn in 6..=9 {
        log.extend(tried(turn, "broken", 1, &unittest(&["test_add"])));
    }
    let [CallRequest { call: Call::Done { .. }, .. }] = said(&log).calls.as_slice() else { panic!("{:?}", said(&log)) };
    for turn in 6..=11 {
        assert_eq!(step(&silent), Step::Ask);
        silent.push(answered(turn, Vec::new()));
    }
    let [CallRequest { call: Call::Done { .. }, .. }] = said(&silent).calls.as_slice() else { panic!("{silent:?}") };
}

#[test]
fn checks_that_failed_before_prove_the_first_work_and_no_later_one() {
    let asks = super::super::files::tests::asking("Give it a function `halve(n)`.");
    let mut log = vec![asks, looked(1, Some((1, &unittest(&["test_add"]))))];
    log.extend(tried(1, "good", 0, GREEN));
    let first = said(&log);
    assert_eq!(chosen(&first), ("good", true), "what failed and passes now says more than a name");
    log.extend(spoken(first, 2));
    log.push(captured());
    log.push(changes());
    log.extend(tried(3, "as it was", 0, GREEN));
    assert_eq!(step(&log), Step::Ask, "that it stays green is no answer to what was asked since");
}

#[test]
fn a_write_that_was_refused_ends_its_round_and_a_person_is_asked_after_two() {
    let mut log = begun(0, &[]);
    for round in [1, 4] {
        log.extend(tried(round, "good", 0, GREEN));
        let mut host = spoken(said(&log), round + 1);
        if let Some(Event::ActionFinished { outcome, .. }) = host.last_mut() {
            outcome.status = OutcomeStatus::Denied { reason: "a test".into() };
        }
        log.extend(host);
    }
    assert!(applied(&log).is_none() && matches!(step(&log), Step::Stop(_)), "{:?}", step(&log));
}

#[test]
fn what_a_rule_refused_is_written_only_where_nothing_else_was_tried() {
    let refused = |turn: u32| {
        let mut log = tried(turn, "refused", 1, "");
        if let Some(Event::ActionFinished { outcome, .. }) = log.last_mut() {
            outcome.status = OutcomeStatus::Denied { reason: "a test".into() };
        }
        log
    };
    let mut log = begun(0, &[]);
    (1..=3).for_each(|turn| log.extend(refused(turn)));
    let flawed = format!("{}\n\ncalc.py:1: invalid syntax", protocol::mistakes::HEAD);
    log.extend(tried(4, "flawed", 1, &flawed));
    assert_eq!(chosen(&said(&log)).0, "flawed");
    let mut log = begun(0, &[]);
    (1..=4).for_each(|turn| log.extend(refused(turn)));
    assert_eq!(chosen(&said(&log)).0, "refused", "and its write is refused with the reason");
}

#[test]
fn what_was_written_and_lost_or_written_over_is_not_called_done() {
    let mut log = begun(0, &[]);
    for turn in 1..=4 {
        log.extend(shown(turn, "good", &[], &["`f(1)` should give `2`"]));
    }
    log.extend(spoken(said(&log), 5));
    assert!(applied(&log).is_some());
    let loss = domain::Loss::EngineRestarted;
    let lost = [log.as_slice(), &[Event::SandboxLost { sentence: loss.to_string(), loss }]].concat();
    assert!(applied(&lost).is_none());
    let over = [log.as_slice(), &[answered(6, vec![Action::WriteFiles { files: file("other") }])]].concat();
    assert!(applied(&over).is_none());
}

/// A try that was to make a file at this path, refused because one is there.
fn in_the_way(turn: u32, path: &str) -> Vec<Event> {
    let files = vec![NewFile { create: true, ..NewFile::new(path, "short") }];
    let action = Action::Try { files, command: "make test".into(), check: None };
    let mut log = vec![answered(turn, vec![action])];
    let reason = format!("{path} is there already and may only be made new; nothing was written");
    log.extend(acted(turn, turn, 0, OutcomeStatus::Failed { reason }, ""));
    log
}

#[test]
fn what_would_be_written_over_unseen_is_shown_from_then_on_and_not_mended() {
    let mut log = begun(0, &[]);
    log.extend(in_the_way(1, "utils.py"));
    assert_eq!(step(&log), Step::Ask);
    let mut look = again(&log, "").expect("a look");
    look.files.push(ShownFile::whole("utils.py", "long", "it stood in the way"));
    log.push(Event::Looked { turn: 2, look: Box::new(look) });
    let mut both = file("bad");
    both.extend([NewFile::new("utils.py", "longer"), NewFile { create: true, ..NewFile::new("new.py", "new") }]);
    log.push(answered(2, vec![Action::Try { files: both, command: "make test".into(), check: None }]));
    log.extend(acted(2, 2, 0, OutcomeStatus::Exited { code: 1 }, &unittest(&["test_add"])));
    assert_eq!(mended(&log, "").map(|one| one.turn), Some(2), "the other one was not tried");
    let look = again(&log, "").expect("a look");
    let files: Vec<_> = look.files.iter().map(|one| (one.path.as_str(), one.text.as_str(), one.made)).collect();
    assert_eq!(files, [("calc.py", "bad", false), ("utils.py", "longer", false), ("new.py", "new", true)]);
    log.push(answered(3, Vec::new()));
    let look = again(&log, "").expect("a look");
    let files: Vec<_> = look.files.iter().map(|one| (one.path.as_str(), one.text.as_str())).collect();
    assert_eq!(files, [("calc.py", "def add(a, b):\n    return a - b\n"), ("utils.py", "long")], "as they are");
}

#[test]
fn of_candidates_a_refused_one_is_written_only_where_there_is_no_other_and_may_still_only_be_made() {
    let mut log = begun(0, &[]);
    (1..=2).for_each(|turn| log.extend(in_the_way(turn, "utils.py")));
    assert!(mended(&log, "").is_none(), "neither was tried");
    log.extend(in_the_way(3, "utils.py"));
    let mut other = log.clone();
    other.extend(tried(4, "bad", 1, "Segmentation fault"));
    assert_eq!(chosen(&said(&other)).0, "bad");
    log.extend(in_the_way(4, "utils.py"));
    let answer = said(&log);
    let Some(Action::WriteFiles { files }) = answer.calls[0].call.action() else { panic!("{answer:?}") };
    assert!(files[0].create, "the write is refused as its try was");
}
