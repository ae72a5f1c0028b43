//! Candidates that were tried on copies of the last commit: their number, results, and changes.
//!
//! Owns collecting them from the log and showing them folded; both pure. Their content is untrusted. Tests: below.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::view::{ActionLine, Candidate, CheckpointView};
use crate::text::{self, count};
use domain::{Action, Call, Event, Example};
use similar::TextDiff;

/// The most bytes of all candidates' diffs that are shown.
const MAX_SHOWN: usize = 12 * 1024;
/// Time after which a diff is only approximate.
const PATIENCE: Duration = Duration::from_millis(200);

/// The changes of each try in `window`. `log` is the whole log, because files for comparison may have been read before.
pub(super) fn gather(log: &[Event], window: &[Event]) -> Vec<Candidate> {
    let mut out = Vec::new();
    for event in window {
        let Event::ActionStarted { number, turn, index } = event else { continue };
        let asked = log.iter().find_map(|event| match event {
            Event::TurnCompleted { turn: of, calls, .. } if of == turn => calls.get(*index as usize),
            _ => None,
        });
        let Some(Call::Action { action: Action::Try { files, .. } }) = asked.map(|request| &request.call) else {
            continue;
        };
        let before = shown(log, *turn);
        let diffs = files.iter().map(|file| {
            let old = before.get(file.path.as_str()).copied().unwrap_or_default();
            let path = text::one_line(&file.path);
            let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, file.content.as_str());
            diff.unified_diff().header(&path, &path).to_string()
        });
        let ended = window.iter().find_map(|event| match event {
            Event::ActionFinished { number: of, outcome } if of == number => Some(outcome.examples.as_slice()),
            _ => None,
        });
        let check = ended.unwrap_or_default().iter().map(line).collect();
        out.push(Candidate { n: *number, diff: diffs.collect(), check });
    }
    out
}

fn line(example: &Example) -> String {
    let holds = if example.holds { "holds" } else { "fails" };
    let seen = if example.seen.is_empty() { String::new() } else { format!(", and it gives {}", example.seen) };
    format!("{holds}: {}{seen}\n", example.says)
}

/// The workspace's files as read for the round of this turn: its first look since anything was written.
fn shown(log: &[Event], turn: u32) -> BTreeMap<&str, &str> {
    let mut known = BTreeMap::new();
    for event in log {
        match event {
            Event::Looked { turn: of, look } if *of <= turn => {
                for file in &look.files {
                    known.entry(file.path.as_str()).or_insert(file.text.as_str());
                }
            }
            Event::TurnCompleted { turn: of, calls, .. }
                if *of < turn && calls.iter().any(|request| request.call.may_change_the_tree()) =>
            {
                known.clear();
            }
            _ => {}
        }
    }
    known
}

/// The candidates within `room` bytes: each with its result, and its diff folded while there is room. What is left out is named.
pub(super) fn section(view: &CheckpointView, room: usize, result: impl Fn(&ActionLine) -> String) -> String {
    if view.candidates.is_empty() {
        return String::new();
    }
    let tried = count(view.candidates.len() as u64, "candidate");
    let mut out = format!("**Tried apart** — {tried}, each in a copy of the last commit that was thrown away\n\n");
    let mut left = room.min(MAX_SHOWN).saturating_sub(out.len());
    for one in &view.candidates {
        let line = view.actions.iter().find(|action| action.n == one.n);
        let ended = line.map(|line| format!(" · {}", result(line))).unwrap_or_default();
        // Output of an action is outside of HTML elements, inside of which nothing is escaped.
        let mut shown = format!("Action {}{ended}\n\n", one.n);
        let check = text::fence(one.check.trim_end(), "");
        if !one.check.is_empty() && shown.len() + check.len() + 80 <= left {
            let _ = write!(shown, "The issue's own examples, as code under review printed it:\n\n{check}\n\n");
        } else if !one.check.is_empty() {
            shown.push_str("What the issue's own examples say of it is not shown.\n\n");
        }
        let diff = text::fence(one.diff.trim_end(), "diff");
        if shown.len() + diff.len() + 80 <= left {
            let _ = writeln!(shown, "<details><summary>What it would have changed</summary>\n\n{diff}\n</details>\n");
        } else {
            let _ =
                writeln!(shown, "What it would have changed is not shown: {}.\n", text::bytes(one.diff.len() as u64));
        }
        left = left.saturating_sub(shown.len());
        out.push_str(&shown);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{CallRequest, Look, NewFile, ShownFile, Usage};

    fn looked(turn: u32, text: &str) -> Event {
        let file = ShownFile::whole("a.py", text, "");
        Event::Looked { turn, look: Box::new(Look { files: vec![file], ..Look::default() }) }
    }

    fn turn(turn: u32, action: Action) -> Event {
        let arguments = serde_json::Value::Null;
        let call = CallRequest { id: "c".into(), name: action.kind().into(), arguments, call: Call::Action { action } };
        let (text, model) = (String::new(), String::new());
        Event::TurnCompleted {
            turn,
            text,
            calls: vec![call],
            usage: Usage::default(),
            micro_usd: 0,
            duration_ms: 0,
            model,
            vendor: None,
        }
    }

    fn files(content: &str) -> Vec<NewFile> {
        vec![NewFile::new("a.py", content)]
    }

    fn tried(at: u32, content: &str) -> [Event; 2] {
        let action = Action::Try { files: files(content), command: "make test".into(), check: None };
        [turn(at, action), Event::ActionStarted { number: at, turn: at, index: 0 }]
    }

    #[test]
    fn what_was_printed_stands_outside_of_html_and_what_finds_no_room_is_named() {
        use crate::checkpoint::view::ActionResult;
        let note = Some("1 passed <img src=//evil.example/x></summary>".to_owned());
        let result = ActionResult::Exited { code: 0, note, failed: false, ms: 1 };
        let action = ActionLine { n: 1, kind: "try".into(), what: "a.py".into(), result, ..ActionLine::default() };
        let check = "fails: `f(1)` should give `2`, and it gives @everyone <b>\n".repeat(8);
        let one = |n, size: usize| Candidate { n, diff: "+\u{200b}x\n".repeat(size), check: check.clone() };
        let view = CheckpointView {
            actions: vec![action],
            candidates: vec![one(1, 3), one(2, 5_000), one(3, 5_000)],
            ..CheckpointView::default()
        };
        let shown = section(&view, 60 << 10, |_| "`1 passed <img src=//evil.example/x></summary>`".to_owned());
        for line in shown.lines().filter(|line| line.starts_with('<')) {
            assert!(!line.contains("img"), "{line}");
        }
        assert_eq!(shown.matches("<details>").count(), 1, "{shown}");
        assert_eq!(shown.matches("is not shown: ").count(), 2, "{shown}");
        assert!(shown.len() <= MAX_SHOWN + 400 && section(&view, 0, |_| String::new()).len() < 600);
    }

    #[test]
    fn each_candidate_is_held_against_the_workspace() {
        let mut log = vec![looked(1, "x = 1\n")];
        log.extend(tried(1, "x = 2\n"));
        // The second answer was shown the first candidate and corrected it.
        log.push(looked(2, "x = 2\n"));
        log.extend(tried(2, "x = 3\n"));
        log.push(turn(3, Action::WriteFiles { files: files("x = 3\n") }));
        log.push(looked(4, "x = 3\n"));
        log.extend(tried(4, "x = 4\n"));
        let found = gather(&log, &log[2..]);
        let changes: Vec<(u32, String)> = found
            .iter()
            .map(|one| {
                (one.n, one.diff.lines().filter(|line| line.ends_with(char::is_numeric)).collect::<Vec<_>>().join(" "))
            })
            .collect();
        let of = |n: u32, old: &str, new: &str| (n, format!("-x = {old} +x = {new}"));
        assert_eq!(changes, [of(1, "1", "2"), of(2, "1", "3"), of(4, "3", "4")]);
    }
}
