//! Claims of the agent and requests of people, compared with the log. Pure.

use super::view::{ActionLine, CheckpointView, ClaimLine, Shown, VerdictKind};
use crate::text::{code, count, plain_cell, prose};
use domain::{Call, Claim, Event, Item};
use std::fmt::Write as _;

/// The most requests that are named; further ones are counted.
const MAX_NAMED: usize = 8;
/// The most characters of a request or claim.
const MAX_WORDS: usize = 300;

/// The claims of the newest `done`, each with the evidence it names. `all` gives every action of the task.
pub(super) fn gather(window: &[Event], all: impl FnOnce() -> Vec<ActionLine>) -> Vec<ClaimLine> {
    let claims = claims(window);
    if claims.is_empty() {
        return Vec::new();
    }
    let all = all();
    let shown = |action: Option<u32>| match action {
        None => Shown::Nothing,
        Some(0) => Shown::Checks,
        Some(number) => match all.iter().find(|line| line.n == number) {
            Some(line) => Shown::Action(line.clone()),
            None => Shown::Missing(number),
        },
    };
    claims.iter().map(|claim| ClaimLine { text: claim.text.clone(), shown: shown(claim.action) }).collect()
}

fn claims(window: &[Event]) -> &[Claim] {
    let said = window.iter().rev().find_map(|event| match event {
        Event::DoneSaid { turn, index, .. } => Some((*turn, *index as usize)),
        _ => None,
    });
    let Some((at, index)) = said else { return &[] };
    let calls = window.iter().rev().find_map(|event| match event {
        Event::TurnCompleted { turn, calls, .. } if *turn == at => Some(calls),
        _ => None,
    });
    match calls.and_then(|calls| calls.get(index)).map(|request| &request.call) {
        Some(Call::Done { claims, .. }) => claims,
        _ => &[],
    }
}

/// Rows of a table with the agent's claims beside the log; `result` formats an action's result.
pub(super) fn rows(view: &CheckpointView, result: fn(&ActionLine) -> String) -> String {
    let row = |claim: &ClaimLine| {
        let text = plain_cell(crate::text::cut(&claim.text, MAX_WORDS).0);
        format!("| {text} | {} |\n", shown(&claim.shown, view, result))
    };
    view.claims.iter().map(row).collect()
}

fn shown(shown: &Shown, view: &CheckpointView, result: fn(&ActionLine) -> String) -> String {
    match shown {
        Shown::Action(line) => {
            let ActionLine { n, kind, what, .. } = line;
            let what = plain_cell(crate::text::cut(format!("{kind} {what}").trim(), MAX_WORDS).0);
            format!("action {n}: {what} · {}", result(line))
        }
        Shown::Checks => match view.verdict.as_ref().map(|verdict| verdict.kind) {
            Some(VerdictKind::Passed) => "✅ the bot's own run of the checks".to_owned(),
            Some(VerdictKind::Failed) => "❌ the bot's own run of the checks failed".to_owned(),
            Some(VerdictKind::None) | None => "**no evidence**: the bot found no checks to run".to_owned(),
        },
        Shown::Missing(number) => format!("**no evidence**: there was no action {number}"),
        Shown::Nothing => "**no evidence**: it names no action".to_owned(),
    }
}

/// Requests in the decision before this segment of the log that its changes do not touch: a remark about an unchanged file, or about the
/// whole where no file changed.
pub(super) fn unanswered(log: &[Event], from: usize) -> Vec<Item> {
    let (mut waiting, mut asked): (Vec<&Item>, Vec<&Item>) = (Vec::new(), Vec::new());
    let mut touched: Vec<&str> = Vec::new();
    for (at, event) in log.iter().enumerate() {
        match event {
            Event::FeedbackGiven { items, .. } => waiting.extend(items),
            Event::DecisionUsed { decision, .. } => {
                let reached = waiting.drain(..);
                if at >= from {
                    asked.extend(reached);
                    if let domain::Verb::Changes { items } = &decision.verb {
                        asked.extend(items);
                    }
                }
            }
            Event::TreeCaptured { tree, .. } if at >= from => {
                touched.extend(tree.files.iter().map(|file| file.path.as_str()));
            }
            _ => {}
        }
    }
    let answered = |item: &&Item| match &item.path {
        Some(path) => touched.contains(&path.as_str()),
        None => !touched.is_empty(),
    };
    asked.into_iter().filter(|item| !answered(item)).cloned().collect()
}

/// Appends the unanswered requests.
pub(super) fn asked(out: &mut String, view: &CheckpointView) {
    if view.unanswered.is_empty() {
        return;
    }
    out.push_str("**Asked for, and nothing of it in these changes**\n\n");
    for item in view.unanswered.iter().take(MAX_NAMED) {
        let place = match (&item.path, item.line) {
            (Some(path), Some(line)) => format!("{} line {line}: ", code(path)),
            (Some(path), None) => format!("{}: ", code(path)),
            (None, _) => String::new(),
        };
        let words = prose(&crate::text::one_line(&item.text), MAX_WORDS);
        let _ = writeln!(out, "- {place}{words} ({})", code(&item.author));
    }
    if view.unanswered.len() > MAX_NAMED {
        let _ = writeln!(out, "- and {} more", count((view.unanswered.len() - MAX_NAMED) as u64, "request"));
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Access, Account, CallRequest, CapturedTree, Commit, Decision, FileChange, Source, Usage, Verb};

    fn item(path: Option<&str>, text: &str) -> Item {
        Item { path: path.map(str::to_owned), line: path.map(|_| 3), text: text.into(), author: "p7".into() }
    }

    fn used(items: Vec<Item>) -> Event {
        let decision = Decision {
            source: Source::Comment(1),
            number: 1,
            thread: None,
            at: 0,
            poster: Account { id: 7, login: "p7".into() },
            right: Access::Write,
            commit: None,
            head: None,
            base: None,
            text_hash: String::new(),
            edited: false,
            in_advance: false,
            others: None,
            barred: None,
            verb: Verb::Changes { items },
        };
        Event::DecisionUsed { decision: Box::new(decision), n: 1 }
    }

    fn captured(path: &str) -> Event {
        let file = FileChange { path: path.into(), added: 1, removed: 0, kind: "modified".into(), bytes: None };
        let commit = Commit::parse(&"1".repeat(40)).unwrap();
        let (steering, left_out) = (Vec::new(), Vec::new());
        Event::TreeCaptured {
            n: 2,
            tree: CapturedTree {
                commit,
                files: vec![file],
                diff: String::new(),
                diff_cut: 0,
                steering,
                left_out,
                outside: Vec::new(),
                marked: Vec::new(),
            },
        }
    }

    #[test]
    fn what_was_asked_for_in_a_file_that_did_not_change_is_named() {
        let before = Event::FeedbackGiven { items: vec![item(Some("b.py"), "mind the gap")], from: Source::Comment(0) };
        let asked = vec![item(Some("a.py"), "rename"), item(Some("c.py"), "drop"), item(None, "shorter")];
        let log = [before, used(asked), captured("a.py")];
        let left: Vec<String> = unanswered(&log, 1).into_iter().map(|item| item.text).collect();
        assert_eq!(left, ["mind the gap", "drop"]);
        assert_eq!(unanswered(&log[..2], 1).len(), 4, "nothing changed at all");
        assert!(unanswered(&log, 2).is_empty(), "asked for before");
    }

    #[test]
    fn a_claim_stands_beside_what_it_names_or_beside_no_evidence() {
        let claim = |text: &str, action| Claim { text: text.into(), action };
        let claims = vec![claim("a", Some(7)), claim("b", Some(0)), claim("c", None)];
        let call = CallRequest {
            id: "1".into(),
            name: "done".into(),
            arguments: serde_json::Value::Null,
            call: Call::Done { summary: "s".into(), claims },
        };
        let said = Event::TurnCompleted {
            turn: 1,
            text: String::new(),
            calls: vec![call],
            usage: Usage::default(),
            micro_usd: 0,
            duration_ms: 0,
            model: "m".into(),
            vendor: None,
        };
        let log = [said, Event::DoneSaid { turn: 1, index: 0, summary: "s".into() }];
        let shown: Vec<Shown> = gather(&log, Vec::new).into_iter().map(|line| line.shown).collect();
        assert_eq!(shown, [Shown::Missing(7), Shown::Checks, Shown::Nothing]);
    }
}
