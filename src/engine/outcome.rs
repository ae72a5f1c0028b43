//! The outcome of one action, as the model reads it.
//!
//! Owns: the sentence for each way in which an action can end, the failures listed before its output (`failing.rs`), and the cap on both.
//! Must not: judge it. Tests: below and in `history_tests.rs`.

use domain::{Action, Call, CallRequest, Outcome, OutcomeStatus, ResultText};

use super::failing::{self, EarlierRuns, Ran};
use super::fence::{Fence, Trust, spelled};
use super::numbered;
use crate::sandbox::failures::failure;
use crate::sandbox::mistakes;
use crate::text;

/// Said where a file is too long to be shown.
const TELLS: &str = " `read_file` with `summary` true tells all of it in short.";

/// The report of a command's run, and those that it is compared with.
#[derive(Default)]
pub(super) struct Runs<'a> {
    pub(super) now: Option<&'a Ran>,
    pub(super) earlier: EarlierRuns<'a>,
}

/// The command of a call, if it is one.
pub(super) fn command(call: &CallRequest) -> Option<&str> {
    match &call.call {
        Call::Action { action: Action::Bash { command } } => Some(command),
        Call::Action { .. }
        | Call::Done { .. }
        | Call::UpdatePlan { .. }
        | Call::Recall { .. }
        | Call::AnswerRemark { .. }
        | Call::Ask { .. }
        | Call::Malformed { .. } => None,
    }
}

/// The report of a command that ended by itself, for comparison with its next run; none if a failure could not be parsed.
pub(super) fn ran(outcome: &Outcome) -> Option<Ran> {
    let succeeded = outcome.status.succeeded();
    if succeeded && failure(&outcome.text).is_none() {
        return Some(Ran::clean());
    }
    let ended = succeeded || matches!(outcome.status, OutcomeStatus::Exited { .. });
    // All that the host keeps, which is bounded: a run whose beginning is not read can't be compared with the next.
    let ran = Ran::of(&outcome.text, ended && outcome.dropped_bytes == 0);
    (!ran.is_empty()).then_some(ran)
}

/// The text of the call's result, and whether the tool failed. `place` is the action's position in its round.
pub(super) fn render(
    fence: &Fence,
    call: &CallRequest,
    outcome: &Outcome,
    place: &str,
    runs: &Runs<'_>,
    cap: usize,
) -> (String, bool) {
    let (sentence, error) = sentence(fence, outcome);
    let mut text = format!("{sentence} [{place}]");
    text.push_str(&notes(fence, call, outcome));
    if outcome.text.is_empty() {
        if outcome.status.succeeded() {
            text.push_str("\n(no output)");
        }
        return (text, error);
    }
    let failing = runs.now.and_then(|now| failing::list(fence, now, runs.earlier, cap / 3));
    let taken = failing.as_ref().map_or(0, |list| list.chars().count());
    let room = cap - taken.min(cap / 2);
    let reads = matches!(call.call, Call::Action { action: Action::ReadFile { .. } });
    let begun = if reads { numbered::beginning(&outcome.text, room) } else { None };
    let (body, missing) = match begun {
        Some((lines, last)) => {
            let next = last + 1;
            text.push_str(&format!("\nNote: no more fits here than up to line {last}: read on with `from` {next}."));
            text.push_str(TELLS);
            (lines, 0)
        }
        None => shortened(&outcome.text, room),
    };
    if missing > 0 {
        text.push_str(&format!("\nNote: {missing} characters in the middle are left out here."));
        text.push_str(if reads { TELLS } else { "" });
    }
    if let Some(whole) = outcome.whole.as_ref().filter(|_| missing > 0 || outcome.dropped_bytes > 0) {
        text.push_str(&format!("\nNote: whole output: read_file {}", fence.inline(whole)));
    } else if outcome.dropped_bytes > 0 {
        text.push_str(&format!("\nNote: it printed {} bytes more in the middle than is kept.", outcome.dropped_bytes));
    }
    if let Some(failing) = failing {
        text.push('\n');
        text.push_str(&failing);
    }
    text.push('\n');
    text.push_str(&fence.wrap(&source(call), Trust::None, &body));
    (text, error)
}

/// What stands between the sentence about a result and its output.
fn notes(fence: &Fence, call: &CallRequest, outcome: &Outcome) -> String {
    let mut text = String::new();
    // The reason may contain a name, an address or a server's text.
    if let OutcomeStatus::Failed { reason } = &outcome.status {
        text.push_str(&format!("\n{}", fence.wrap("why it failed", Trust::None, reason)));
    }
    if let Some(note) = &outcome.note {
        text.push_str(&format!("\nNote: {}", fence.inline(note)));
    }
    if outcome.status.succeeded()
        && matches!(call.call, Call::Action { action: Action::Bash { .. } })
        && let Some(line) = failure(&outcome.text)
    {
        let line = fence.wrap("a line of the output", Trust::None, text::cut(&line, 200).0);
        text.push_str(&format!("\nNote: the exit code is 0, but the output says that something failed:\n{line}"));
    }
    if let Call::Action { action } = &call.call
        && mistakes::of(action, outcome).is_some()
    {
        text.push_str("\nNote: it was written, and what was written has a mistake; the place is below.");
    }
    let plain = text::is_plain(&outcome.text);
    if !plain && outcome.text.contains("\r\n") {
        text.push_str("\nNote: lines end with CR LF.");
    }
    if !plain && outcome.text.chars().any(|c| text::is_hidden(c) && !matches!(c, '\n' | '\t' | '\r' | '\u{1b}')) {
        text.push_str(
            "\nNote: characters that nobody sees are shown as \\u{…}; the file holds the characters themselves.",
        );
    }
    if text::is_templated(&outcome.text) {
        text.push_str(
            "\nNote: what a chat template would read begins with \\u{3c} or \\u{5b} here; the file holds `<` or `[` itself.",
        );
    }
    text
}

/// Tool and object of a call, as the label of its block.
fn source(call: &CallRequest) -> String {
    let Call::Action { action } = &call.call else { return call.name.clone() };
    let object = action.object();
    let (object, missing) = text::cut(&object, 80);
    let more = if missing > 0 { "…" } else { "" };
    match action.what().result() {
        ResultText::Output => format!("output of {}", action.kind()),
        ResultText::File => format!("file {object}{more}"),
        ResultText::Page => format!("page {object}{more}"),
        ResultText::Named => format!("{} {object}{more}", action.kind()),
    }
}

fn sentence(fence: &Fence, outcome: &Outcome) -> (String, bool) {
    let after = text::duration(outcome.duration_ms);
    match &outcome.status {
        OutcomeStatus::Ok => (format!("ok, {after}"), false),
        OutcomeStatus::Exited { code } => (format!("exit code {code}, {after}"), false),
        OutcomeStatus::Signaled { signal } => (format!("killed by signal {signal} after {after}"), true),
        OutcomeStatus::TimedOut => {
            (format!("timed out: it was killed after {after}. What it did until then stays done"), true)
        }
        OutcomeStatus::OutOfMemory => (format!("killed after {after}: the container's memory was used up"), true),
        OutcomeStatus::OutOfPids => {
            (format!("failed after {after}: the container's limit of processes is reached"), true)
        }
        OutcomeStatus::DiskFull => (format!("failed after {after}: the disk of the container is full"), true),
        OutcomeStatus::DiskSpent { what } => (
            format!(
                "killed after {after}, with everything else that ran: {}; delete what is not needed",
                fence.inline(what)
            ),
            true,
        ),
        OutcomeStatus::Failed { .. } => ("failed".to_owned(), true),
        OutcomeStatus::Interrupted => {
            let what =
                "interrupted: the sandbox went away. It may have run, wholly or in part; look before you repeat it";
            (what.to_owned(), true)
        }
        OutcomeStatus::Denied { reason } => {
            (format!("not run, it is denied: {}", fence.inline_long(&text::one_line(reason))), true)
        }
    }
}

/// Head and tail of a long text, as a fence shows it, with a line between them, and the number of characters left out. The tail gets two
/// thirds, because errors are at the end.
pub(super) fn shortened(text: &str, cap: usize) -> (String, usize) {
    let text = spelled(text);
    let total = text.chars().count();
    if total <= cap {
        return (text.into_owned(), 0);
    }
    let head: String = text.chars().take(cap / 3).collect();
    let tail: String = text.chars().skip(total - (cap - cap / 3)).collect();
    let missing = total - cap;
    (format!("{head}\n[… {missing} characters left out …]\n{tail}"), missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;
    use domain::TaskId;

    fn rendered(status: OutcomeStatus, text: &str) -> (String, bool) {
        let fence = Fence::new(&Secret::new("k"), TaskId(1));
        let action = Action::Bash { command: "make".into() };
        let call = CallRequest {
            id: "c".into(),
            name: "bash".into(),
            arguments: serde_json::json!({}),
            call: Call::Action { action },
        };
        let outcome = Outcome { duration_ms: 1500, ..Outcome::new(status, text) };
        let now = ran(&outcome);
        render(&fence, &call, &outcome, "action 1 of 5", &Runs { now: now.as_ref(), ..Runs::default() }, 100)
    }

    #[test]
    fn each_end_has_its_sentence() {
        let failed = OutcomeStatus::Failed { reason: "no such\nfile".into() };
        assert_eq!(rendered(OutcomeStatus::Ok, ""), ("ok, 1.5 s [action 1 of 5]\n(no output)".into(), false));
        assert!(rendered(OutcomeStatus::Exited { code: 2 }, "x").0.starts_with("exit code 2, 1.5 s ["));
        let (why, error) = rendered(failed, "");
        let fenced = "source=\"why it failed\" trust=\"none\"]]\nno such\nfile\n[[end ";
        assert!(error && why.starts_with("failed [action 1 of 5]\n[[data ") && why.contains(fenced), "{why}");
        assert!(rendered(OutcomeStatus::TimedOut, "half").0.contains("timed out"));
        assert!(rendered(OutcomeStatus::Interrupted, "").0.contains("may have run"));
        assert!(rendered(OutcomeStatus::Denied { reason: "protected".into() }, "").1);
    }

    #[test]
    fn long_output_loses_its_middle_and_says_so() {
        let long = format!("head{}é tail", "x".repeat(500));
        let (text, _) = rendered(OutcomeStatus::Ok, &long);
        assert!(text.contains("410 characters in the middle are left out"), "{text}");
        assert!(text.contains("headx") && text.contains("é tail"), "{text}");
        assert_eq!(shortened("short", 5), ("short".into(), 0));
    }

    #[test]
    fn a_limit_counts_hidden_characters_as_they_are_spelled_out() {
        let (tags, colours) = ("\u{e0041}".repeat(100), "\u{1b}[31m".repeat(100));
        let (text, _) = rendered(OutcomeStatus::Ok, &tags);
        assert!(text.contains("800 characters in the middle are left out"), "{text}");
        assert!(text.chars().count() < 500 && text.contains("\\u{e0041}"), "{text}");
        assert!(!rendered(OutcomeStatus::Ok, &format!("{colours}red")).0.contains("left out"), "colours take no room");
        assert_eq!(shortened(&"<|im_end|>".repeat(10), 90).1, 60);
    }

    #[test]
    fn a_result_that_was_cut_names_the_file_with_all_of_it() {
        let fence = Fence::new(&Secret::new("k"), TaskId(1));
        let action = Action::Bash { command: "make".into() };
        let (id, name, arguments) = ("c".into(), "bash".into(), serde_json::json!({}));
        let call = CallRequest { id, name, arguments, call: Call::Action { action } };
        let told = |text: &str, dropped_bytes: u64, whole: Option<&str>| {
            let whole = whole.map(str::to_owned);
            let outcome = Outcome { dropped_bytes, whole, ..Outcome::new(OutcomeStatus::Ok, text) };
            render(&fence, &call, &outcome, "action 1 of 5", &Runs::default(), 100).0
        };
        let (long, log) = ("x".repeat(500), Some("/home/agent/.caisson/4.log"));
        let note = "\nNote: whole output: read_file /home/agent/.caisson/4.log\n";
        assert!(told(&long, 0, log).contains(note) && told("x", 9, log).contains(note));
        assert!(!told("x", 0, log).contains("whole output"), "nothing is left out");
        let old = told(&long, 9, None);
        assert!(old.contains("it printed 9 bytes more in the middle than is kept.") && !old.contains("whole"), "{old}");
    }

    #[test]
    fn a_file_that_is_too_long_is_shown_from_its_beginning_and_says_where_to_read_on() {
        let fence = Fence::new(&Secret::new("k"), TaskId(1));
        let action = Action::ReadFile { path: "a.py".into(), from: 7, lines: 0 };
        let (id, name, arguments) = ("c".into(), "read_file".into(), serde_json::json!({}));
        let call = CallRequest { id, name, arguments, call: Call::Action { action } };
        let lines: String = (7..=40).map(|n| format!("{n:>6}\tline of a file\n")).collect();
        let whole = format!("{lines}[lines 7-40 of 90; read on with from=41]");
        let shown = |cap: usize| {
            let outcome = Outcome::new(OutcomeStatus::Ok, whole.as_str());
            render(&fence, &call, &outcome, "action 1 of 5", &Runs::default(), cap).0
        };
        let cut = shown(400);
        assert!(cut.contains("    19\tline of a file\n[lines 7-19 of 90; read on with from=20]\n[[end "), "{cut}");
        assert!(cut.contains("\nNote: no more fits here than up to line 19: read on with `from` 20. "), "{cut}");
        assert!(!cut.contains("in the middle") && !cut.contains("from=41"), "{cut}");
        assert!(shown(4_000).contains("    40\tline of a file\n[lines 7-40 of 90; read on with from=41]\n[[end "));
        assert!(shown(60).contains("in the middle are left out"), "not even one line fits");
    }

    #[test]
    fn a_good_end_beside_a_summary_of_a_failure_is_named() {
        let failed = "FAILED (failures=1)";
        let told = rendered(OutcomeStatus::Ok, &format!("{failed} EVIL")).0;
        let fenced = "source=\"a line of the output\" trust=\"none\"]]\nFAILED (failures=1) EVIL\n[[end ";
        assert!(
            told.contains("but the output says that something failed:\n[[data ") && told.contains(fenced),
            "{told}"
        );
        assert!(!rendered(OutcomeStatus::Exited { code: 1 }, failed).0.contains("but the output"));
        assert!(!rendered(OutcomeStatus::Ok, "OK (skipped=1)").0.contains("but the output"));
    }

    #[test]
    fn what_failed_stands_before_the_output_also_when_the_exit_code_was_swallowed() {
        let report =
            "a.py:1: x\n--- FAIL: TestA (0.00s)\n    a_test.go:7: got 1, want 2\nFAIL\nFAIL\texample.com/a\t0.01s\n";
        for status in [OutcomeStatus::Exited { code: 1 }, OutcomeStatus::Ok, OutcomeStatus::TimedOut] {
            let text = rendered(status, report).0;
            let list = text.find("failing (1):\n- a_test.go:7 example.com/a.TestA — got 1, want 2\n").expect(&text);
            assert!(list < text.find("output of bash").expect(&text), "{text}");
        }
        assert!(!rendered(OutcomeStatus::Exited { code: 2 }, "no such file").0.contains("failing"));
        assert!(ran(&Outcome::new(OutcomeStatus::Ok, "fine")).is_some());
    }

    #[test]
    fn a_long_run_is_compared_with_the_one_before_and_one_that_was_cut_is_not() {
        let run = |names: &[&str], dropped_bytes: u64| {
            let failed = |name: &&str| format!("--- FAIL: {name} (0.00s)\n    a_test.go:7: got 1, want 2\n");
            let noise = "a line of a log that says nothing\n".repeat(1_800);
            let text = names.iter().map(failed).collect::<String>() + &noise + "FAIL\nFAIL\texample.com/a\t0.01s\n";
            ran(&Outcome { dropped_bytes, ..Outcome::new(OutcomeStatus::Exited { code: 1 }, text) }).expect("a report")
        };
        let fence = Fence::new(&Secret::new("k"), TaskId(1));
        let told = |before: &Ran| {
            let earlier = EarlierRuns { before: Some(before), base: None };
            failing::list(&fence, &run(&["TestA", "TestB"], 0), earlier, 4_000).expect("a list")
        };
        let list = told(&run(&["TestA", "TestC"], 0));
        for words in
            ["new since the last run of this command (1):\n- a_test.go:7 example.com/a.TestB", "still failing (1)"]
        {
            assert!(list.contains(words), "{list}");
        }
        assert!(
            list.contains("not reported any more: passes, or did not run (1):\n- a_test.go:7 example.com/a.TestC"),
            "{list}"
        );
        assert!(!told(&run(&["TestA"], 9)).contains("since the last run"), "what was cut is no report to compare with");
    }

    #[test]
    fn a_mistake_in_what_was_written_is_pointed_at() {
        let fence = Fence::new(&Secret::new("k"), TaskId(1));
        let action = Action::WriteFile { path: "a.py".into(), content: "f)".into() };
        let (id, name, arguments) = ("c".into(), "write_file".into(), serde_json::json!({}));
        let call = CallRequest { id, name, arguments, call: Call::Action { action } };
        let text =
            format!("made a.py: 1 lines\n{}\na.py:1: syntax error near `)`\n>    1\tf)\n", protocol::mistakes::HEAD);
        let outcome = Outcome { duration_ms: 1, ..Outcome::new(OutcomeStatus::Ok, text) };
        let runs = Runs::default();
        let (told, error) = render(&fence, &call, &outcome, "action 1 of 5", &runs, 1000);
        assert!(!error && told.contains("\nNote: it was written, and what was written has a mistake;"), "{told}");
        let (data, place) = (told.find("trust=\"none\""), told.find("a.py:1: syntax error near `)`"));
        assert!(data.is_some() && data < place, "the sandbox's words stand in the fence: {told}");
    }

    #[test]
    fn a_denial_is_read_whole() {
        let reason = format!("{} the end", "x".repeat(350));
        assert!(rendered(OutcomeStatus::Denied { reason }, "").0.contains(" the end ["));
    }

    #[test]
    fn what_the_fence_shows_otherwise_is_named() {
        assert!(rendered(OutcomeStatus::Ok, "a\r\nb").0.contains("CR LF"));
        let hidden = rendered(OutcomeStatus::Ok, "a\u{200b}b").0;
        assert!(hidden.contains("a\\u{200b}b") && hidden.contains("nobody sees"), "{hidden}");
        let token = rendered(OutcomeStatus::Ok, "<|im_end|>").0;
        assert!(token.contains("\n\\u{3c}|im_end|>\n") && token.contains("chat template"), "{token}");
    }
}
