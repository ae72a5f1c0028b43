//! Shows earlier actions to the agent again.
//!
//! Owns: finding them in the log by number or words, and how they are shown. Pure: the result of a `recall` depends only on the log before
//! it, so it is not stored. Must not: show another task's log. Tests: below and in `compact_tests.rs`.

use domain::{Action, CallRequest, Event, Outcome, Recall};

use regex::RegexBuilder;

use super::fence::{Fence, Trust};
use super::outcome::{self, Runs};
use crate::text;

/// The most actions found by words.
const MOST: usize = 10;
/// Context lines around a line with the words.
const AROUND: usize = 2;
/// Bytes of outputs that are searched, the newest first, because the search is repeated for each request.
const MOST_READ: usize = 4 << 20;
/// Characters of one line.
const LINE: usize = 300;

/// An action that ended.
struct Past<'a> {
    number: u32,
    call: &'a CallRequest,
    ended: &'a Outcome,
}

/// The text to show, of about `cap` characters at most, and whether nothing was found.
pub(super) fn show(fence: &Fence, log: &[Event], what: &Recall, cap: usize) -> (String, bool) {
    let past = past(log);
    let words = what.words.trim();
    match what.number {
        Some(number) => match past.iter().find(|one| one.number == number) {
            Some(one) if words.is_empty() => whole(fence, one, cap),
            Some(one) => lines(fence, std::slice::from_ref(&one), words, cap),
            None => (unknown(number, past.last()), true),
        },
        None if words.is_empty() => ("recall: give the `number` of an action, or `words` to look for".to_owned(), true),
        None => lines(fence, &past.iter().rev().collect::<Vec<_>>(), words, cap),
    }
}

fn past(log: &[Event]) -> Vec<Past<'_>> {
    let mut calls: &[CallRequest] = &[];
    let mut started: Vec<(u32, &CallRequest)> = Vec::new();
    let mut out = Vec::new();
    for event in log {
        match event {
            Event::TurnCompleted { calls: made, .. } => calls = made,
            Event::ActionStarted { number, index, .. } => {
                started.extend(calls.get(*index as usize).map(|call| (*number, call)));
            }
            Event::ActionFinished { number, outcome } => {
                let call = started.iter().rev().find(|(known, _)| known == number);
                out.extend(call.map(|(number, call)| Past { number: *number, call, ended: outcome }));
            }
            _ => {}
        }
    }
    out
}

fn unknown(number: u32, last: Option<&Past<'_>>) -> String {
    match last {
        Some(last) => format!("there is no action {number} that ended; the last one is {}", last.number),
        None => "no action has ended yet".to_owned(),
    }
}

fn whole(fence: &Fence, one: &Past<'_>, cap: usize) -> (String, bool) {
    let place = format!("action {}, as it was", one.number);
    let none = Runs { now: None, before: None };
    let (text, _) = outcome::render(fence, one.call, one.ended, &place, &none, cap);
    (format!("{}\n{text}", heading(fence, one)), false)
}

fn heading(fence: &Fence, one: &Past<'_>) -> String {
    let object = one.call.call.action().map(Action::object).unwrap_or_default();
    format!("action {}: {} {}", one.number, fence.inline(&one.call.name), fence.inline(&object))
}

/// Lines of these actions that contain the words, with their context.
fn lines(fence: &Fence, among: &[&Past<'_>], words: &str, cap: usize) -> (String, bool) {
    let Ok(words) = RegexBuilder::new(&regex::escape(words)).case_insensitive(true).build() else {
        return ("these words are too long to look for".to_owned(), true);
    };
    let (mut body, mut found, mut read) = (String::new(), 0, 0);
    for one in among {
        read += one.ended.text.len();
        if read > MOST_READ {
            break;
        }
        let head = heading(fence, one);
        // Skips the split into lines for most outputs, which do not contain them.
        let lines: Vec<&str> =
            if words.is_match(&one.ended.text) { one.ended.text.lines().collect() } else { Vec::new() };
        let hits: Vec<usize> = (0..lines.len()).filter(|at| words.is_match(lines[*at])).collect();
        if hits.is_empty() && !words.is_match(&head) {
            continue;
        }
        found += 1;
        if found > MOST || body.chars().count() >= cap {
            body.push_str("… and more: recall one of them by its number\n");
            break;
        }
        body.push_str(&format!("{head}\n"));
        let mut next = 0;
        for hit in hits {
            let from = hit.saturating_sub(AROUND).max(next);
            for (at, line) in lines.iter().enumerate().take(hit + AROUND + 1).skip(from) {
                body.push_str(&format!("  {}: {}\n", at + 1, text::cut(line, LINE).0));
                next = at + 1;
            }
        }
    }
    if found == 0 {
        return ("nothing that was done so far holds these words".to_owned(), true);
    }
    let (body, _) = outcome::shortened(&body, cap);
    (fence.wrap("earlier actions, from the host's log", Trust::None, &body), false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::{acted, answer, call};
    use crate::secret::Secret;
    use domain::{OutcomeStatus, TaskId};

    fn log() -> Vec<Event> {
        let ran = |turn: u32, command: &str, text: &str| {
            let run = call("c", "bash", serde_json::json!({ "command": command }));
            let [started, ended] = acted(turn, turn, 0, OutcomeStatus::Ok, text);
            [answer(turn, "", vec![run]), started, ended]
        };
        [ran(1, "cat a.py", "one\ntwo\nthree Needle\nfour\nfive\nsix"), ran(2, "make", "all is well")].concat()
    }

    fn shown(number: Option<u32>, words: &str) -> (String, bool) {
        let fence = Fence::new(&Secret::new("k"), TaskId(1));
        show(&fence, &log(), &Recall { number, words: words.into() }, 1000)
    }

    #[test]
    fn an_action_is_found_by_its_number_or_by_words() {
        let (text, error) = shown(Some(1), "");
        assert!(!error && text.starts_with("action 1: bash cat a.py\nok") && text.contains("\nsix\n"), "{text}");
        let (text, error) = shown(None, "needle");
        assert!(!error && text.contains("action 1: bash cat a.py\n  1: one\n  2: two\n  3: three Needle\n"), "{text}");
        assert!(!text.contains("six") && !text.contains("action 2"), "{text}");
        assert!(shown(Some(2), "well").0.contains("  1: all is well"));
        assert!(shown(None, "MAKE").0.contains("action 2: bash make"), "a command is found too");
    }

    #[test]
    fn what_is_not_there_is_said() {
        assert_eq!(shown(Some(9), ""), ("there is no action 9 that ended; the last one is 2".into(), true));
        assert!(shown(None, "").1 && shown(None, "nowhere").1 && shown(Some(2), "needle").1);
    }
}
