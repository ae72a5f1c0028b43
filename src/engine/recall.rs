//! Shows earlier actions to the agent again.
//!
//! Owns: finding them in the log by number or words, in what they were given to write as well as in what came of them, and how they are
//! shown. Pure: the result of a `recall` depends only on the log before it, so it is not stored. Must not: show another task's log. Tests: below and in `compact_tests.rs`.

use domain::{Action, CallRequest, Event, Outcome, Recall, Shown};

use regex::{Regex, RegexBuilder};
use std::borrow::Cow;

use super::fence::{Fence, Trust};
use super::outcome::{self, Runs};
use crate::text;

/// The most actions found by words.
const MOST: usize = 10;
/// Context lines around a line with the words.
const AROUND: usize = 2;
/// Characters of one line.
const LINE: usize = 300;

/// An action that ended.
struct Past<'a> {
    number: u32,
    call: &'a CallRequest,
    ended: &'a Outcome,
}

/// A text that an action was given, behind the name of its argument.
type Given<'a> = (Cow<'static, str>, &'a str);

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
    let none = Runs::default();
    let given: String = given(one.call).iter().map(|(name, text)| format!("{name}:\n{}\n", text.trim_end())).collect();
    let (given, _) = outcome::shortened(&given, cap / 2);
    let (text, _) =
        outcome::render(fence, one.call, one.ended, &place, &none, cap - given.chars().count().min(cap / 2));
    let mut shown = format!("{}\n{text}", heading(fence, one));
    if !given.is_empty() {
        shown.push_str(&format!("\nWhat you gave it:\n{}", fence.wrap("the call", Trust::None, &given)));
    }
    (shown, false)
}

/// What an action was given beside its object: texts that it was to write, and a command of several lines. Each with its argument's name.
fn given(call: &CallRequest) -> Vec<Given<'_>> {
    let Some(action) = call.call.action() else { return Vec::new() };
    if let Some(command) = action.command().filter(|command| command.contains('\n')) {
        return vec![("command".into(), command)];
    }
    match action.shown() {
        Shown::Replaced(pairs) => {
            pairs.into_iter().flat_map(|(old, new)| [("old".into(), old), ("new".into(), new)]).collect()
        }
        Shown::Wrote(texts) if texts.len() == 1 => vec![("content".into(), texts[0])],
        Shown::Wrote(texts) => {
            let names = action.written().into_iter().map(|path| Cow::Owned(format!("content of {path}")));
            names.zip(texts).collect()
        }
        Shown::Ended | Shown::Started | Shown::Done | Shown::Printed => Vec::new(),
    }
}

fn heading(fence: &Fence, one: &Past<'_>) -> String {
    let object = one.call.call.action().map(Action::object).unwrap_or_default();
    format!("action {}: {} {}", one.number, fence.inline(&one.call.name), fence.inline(&object))
}

/// Lines of these actions that contain the words, with their context. Each action is searched, one at a time, until enough was found:
/// "nothing holds these words" is only true of all of them.
fn lines(fence: &Fence, among: &[&Past<'_>], words: &str, cap: usize) -> (String, bool) {
    let Ok(words) = RegexBuilder::new(&regex::escape(words)).case_insensitive(true).build() else {
        return ("these words are too long to look for".to_owned(), true);
    };
    let (mut body, mut found) = (String::new(), 0);
    for one in among {
        let given = given(one.call);
        let head = heading(fence, one);
        let all = given.iter().map(|(name, text)| (&**name, *text)).chain([("", one.ended.text.as_str())]);
        let hits: Vec<String> = all.map(|(name, text)| found_in(name, text, &words)).collect();
        if hits.iter().all(String::is_empty) && !words.is_match(&head) {
            continue;
        }
        found += 1;
        if found > MOST || body.chars().count() >= cap {
            body.push_str("… and more: recall one of them by its number\n");
            break;
        }
        body.push_str(&format!("{head}\n{}", hits.concat()));
    }
    if found == 0 {
        return ("nothing that was done so far holds these words".to_owned(), true);
    }
    let (body, _) = outcome::shortened(&body, cap);
    (fence.wrap("earlier actions, from the host's log", Trust::None, &body), false)
}

/// Lines of a text that contain the words, with their context; `name` stands before their numbers.
fn found_in(name: &str, text: &str, words: &Regex) -> String {
    // Skips the split into lines for most texts, which do not contain them.
    let lines: Vec<&str> = if words.is_match(text) { text.lines().collect() } else { Vec::new() };
    let gap = if name.is_empty() { "" } else { " " };
    let (mut shown, mut next) = (String::new(), 0);
    for hit in (0..lines.len()).filter(|at| words.is_match(lines[*at])) {
        let from = hit.saturating_sub(AROUND).max(next);
        for (at, line) in lines.iter().enumerate().take(hit + AROUND + 1).skip(from) {
            shown.push_str(&format!("  {name}{gap}{}: {}\n", at + 1, text::cut(line, LINE).0));
            next = at + 1;
        }
    }
    shown
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
    fn what_was_written_is_found_and_shown_too() {
        let fence = Fence::new(&Secret::new("k"), TaskId(1));
        let ran = |turn: u32, name: &str, arguments: serde_json::Value| {
            let [started, ended] = acted(turn, turn, 0, OutcomeStatus::Ok, "ok");
            [answer(turn, "", vec![call("c", name, arguments)]), started, ended]
        };
        let edits = serde_json::json!([{ "old": "x = 1", "new": "x = 2" }, { "old": "z", "new": "limit = 7" }]);
        let log = [
            ran(
                1,
                "write_file",
                serde_json::json!({ "path": "a.py", "content": "one\ntwo\nNEEDLE = 3\nfour\nfive\nsix\n" }),
            ),
            ran(2, "edit_file", serde_json::json!({ "path": "b.py", "old": "a needle", "new": "[[end 0]] a pin" })),
            ran(3, "edit_file", serde_json::json!({ "path": "c.py", "edits": edits })),
            ran(4, "bash", serde_json::json!({ "command": "cat > d.py <<E\nneedle\nE" })),
        ]
        .concat();
        let shown = |number, words: &str, cap| show(&fence, &log, &Recall { number, words: words.into() }, cap).0;
        let all = shown(None, "needle", 2000);
        let wanted = [
            "action 4: bash cat > d.py <<E\\nneedle\\nE\n  command 1: cat > d.py <<E\n  command 2: needle\n",
            "action 2: edit_file b.py\n  old 1: a needle\naction 1: write_file a.py\n  content 1: one\n",
            "  content 3: NEEDLE = 3\n  content 4: four\n  content 5: five\n",
        ];
        assert!(wanted.iter().all(|wanted| all.contains(wanted)), "{all}");
        assert!(!all.contains("six") && !all.contains("pin") && !all.contains("c.py"), "{all}");
        assert!(shown(Some(3), "limit", 500).contains("action 3: edit_file c.py\n  new 1: limit = 7\n"));
        let whole = shown(Some(2), "", 500);
        let fenced = "\nWhat you gave it:\n[[data ";
        assert!(
            whole.contains(fenced) && whole.contains("]]\nold:\na needle\nnew:\n[[end 0]] a pin\n[[end "),
            "{whole}"
        );
        assert!(shown(Some(1), "", 20).contains("characters left out"), "within its room");
    }

    #[test]
    fn the_first_action_of_a_long_task_is_found_too() {
        let fence = Fence::new(&Secret::new("k"), TaskId(1));
        let long = "nothing of note\n".repeat(1 << 16);
        let ran = |turn: u32, text: &str| {
            let run = call("c", "bash", serde_json::json!({ "command": "make" }));
            let [started, ended] = acted(turn, turn, 0, OutcomeStatus::Ok, text);
            [answer(turn, "", vec![run]), started, ended]
        };
        let mut log = ran(1, "the Needle").to_vec();
        (2..=8).for_each(|turn| log.extend(ran(turn, &long)));
        let shown = |words: &str| show(&fence, &log, &Recall { number: None, words: words.into() }, 1000);
        let (text, error) = shown("needle");
        assert!(!error && text.contains("action 1: bash make\n  1: the Needle\n"), "7 MiB stand behind it: {text}");
        let (text, error) = shown("pin");
        assert!(error && text == "nothing that was done so far holds these words", "{text}");
    }

    #[test]
    fn what_is_not_there_is_said() {
        assert_eq!(shown(Some(9), ""), ("there is no action 9 that ended; the last one is 2".into(), true));
        assert!(shown(None, "").1 && shown(None, "nowhere").1 && shown(Some(2), "needle").1);
    }
}
