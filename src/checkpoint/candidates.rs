//! Candidates that were tried in copies of the last commit: how many there were, how each ended, and what each would have changed.
//!
//! Owns gathering them from the log and showing them folded; both pure. What they hold is foreign. Tests: below.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::view::{ActionLine, Candidate, CheckpointView};
use crate::text::{self, count};
use domain::{Action, Call, Event};
use similar::TextDiff;

/// Bytes of one candidate's diff that are kept.
const MAX_DIFF: usize = 3 * 1024;

/// What each try of `window` would have changed. `log` is the whole log: what a try is held against may have been read before.
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
            TextDiff::from_lines(old, &file.content).unified_diff().header(&path, &path).to_string()
        });
        out.push(Candidate { n: *number, diff: text::cut(&diffs.collect::<String>(), MAX_DIFF).0.to_owned() });
    }
    out
}

/// The workspace's files as they were read for the round in which this turn was asked: its first look since anything was written.
fn shown(log: &[Event], turn: u32) -> BTreeMap<&str, &str> {
    let mut known = BTreeMap::new();
    for event in log {
        match event {
            Event::Looked { turn: of, look } if *of <= turn => {
                for file in &look.files {
                    known.entry(file.path.as_str()).or_insert(file.text.as_str());
                }
            }
            Event::TurnCompleted { turn: of, calls, .. } if *of < turn => {
                let writes =
                    |call: &Call| matches!(call, Call::Action { action } if !action.is_apart() && action.writes());
                if calls.iter().any(|request| writes(&request.call)) {
                    known.clear();
                }
            }
            _ => {}
        }
    }
    known
}

pub(super) fn render(out: &mut String, view: &CheckpointView, result: impl Fn(&ActionLine) -> String) {
    if view.candidates.is_empty() {
        return;
    }
    let tried = count(view.candidates.len() as u64, "candidate");
    let _ = writeln!(out, "**Tried apart** — {tried}, each in a copy of the last commit that was thrown away\n");
    for one in &view.candidates {
        let line = view.actions.iter().find(|action| action.n == one.n);
        let ended = line.map(|line| format!(" · {}", result(line))).unwrap_or_default();
        let _ = writeln!(out, "<details><summary>Action {}{ended}</summary>\n", one.n);
        out.push_str(&text::fence(one.diff.trim_end(), "diff"));
        out.push_str("\n</details>\n\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{CallRequest, Look, NewFile, ShownFile, Usage};

    fn looked(turn: u32, text: &str) -> Event {
        let file = ShownFile { path: "a.py".into(), text: text.into(), because: String::new(), lines: Vec::new() };
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
        }
    }

    fn files(content: &str) -> Vec<NewFile> {
        vec![NewFile { path: "a.py".into(), content: content.into() }]
    }

    fn tried(at: u32, content: &str) -> [Event; 2] {
        let action = Action::Try { files: files(content), command: "make test".into() };
        [turn(at, action), Event::ActionStarted { number: at, turn: at, index: 0 }]
    }

    #[test]
    fn each_candidate_is_held_against_the_workspace() {
        let mut log = vec![looked(1, "x = 1\n")];
        log.extend(tried(1, "x = 2\n"));
        // The second answer was shown the first candidate, and mended that.
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
