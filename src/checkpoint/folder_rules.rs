//! Which rules of single folders an agent was told of, for the next review. Pure, from the log alone.
//!
//! Must not: choose them (`policy::folders`, which the conversation follows too). Tests: below and `tests/stories/rules.rs`.

use domain::{Action, CallRequest, Event};

use crate::policy::folders::Folders;

/// Paths of the files whose rules were told at or after this place of the log, in this order. Where the host leads the work, none is shown any rules.
pub(super) fn newly_given(log: &[Event], from: usize) -> Vec<String> {
    if log.iter().any(|event| matches!(event, Event::Looked { .. })) {
        return Vec::new();
    }
    let (mut folders, mut told) = (Folders::default(), Vec::new());
    let (mut calls, mut running): (&[CallRequest], Option<&Action>) = (&[], None);
    for (at, event) in log.iter().enumerate() {
        match event {
            Event::Prepared { rules, .. } => folders.prepared(rules),
            Event::TurnCompleted { calls: made, .. } => calls = made,
            Event::ActionStarted { index, .. } => {
                running = calls.get(*index as usize).and_then(|request| request.call.action());
            }
            Event::ActionFinished { outcome, .. } => {
                let entered = running.take().map(|action| folders.entered(action, outcome)).unwrap_or_default();
                told.extend(entered.into_iter().filter(|_| at >= from).map(|file| file.path.clone()));
            }
            _ => {}
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Call, Look, Outcome, OutcomeStatus, Rules, RulesFile, Usage};

    fn read(turn: u32, path: &str) -> Vec<Event> {
        let action = Action::ReadFile { path: path.into(), from: 1, lines: 0 };
        let (id, name, arguments) = ("c".into(), action.kind().into(), serde_json::json!({}));
        let calls = vec![CallRequest { id, name, arguments, call: Call::Action { action } }];
        let said = Event::TurnCompleted {
            turn,
            text: String::new(),
            calls,
            usage: Usage::default(),
            micro_usd: 0,
            duration_ms: 0,
            model: "m".into(),
            vendor: None,
        };
        let started = Event::ActionStarted { number: turn, turn, index: 0 };
        vec![said, started, Event::ActionFinished { number: turn, outcome: Outcome::new(OutcomeStatus::Ok, "x") }]
    }

    fn prepared() -> Event {
        let file = |path: &str| RulesFile { path: path.into(), text: "x".into(), cut: 0 };
        let rules = Rules { folders: vec![file("web/AGENTS.md"), file("tests/AGENTS.md")], ..Rules::default() };
        Event::Prepared {
            base: domain::Commit::parse(&"a".repeat(40)).expect("a commit"),
            boot: "b".into(),
            image: "i".into(),
            every: 5,
            note: None,
            budget: None,
            rules,
            pictures: Vec::new(),
            difference: None,
            scan: None,
            on_base: None,
        }
    }

    #[test]
    fn each_review_names_those_that_were_told_since_the_one_before() {
        let first = [vec![prepared()], read(1, "web/a.ts"), read(2, "a.py")].concat();
        let all = [first.clone(), read(3, "web/b.ts"), read(4, "tests/a.py")].concat();
        assert_eq!(newly_given(&first, 0), ["web/AGENTS.md"]);
        assert_eq!(newly_given(&all, first.len()), ["tests/AGENTS.md"]);
        let look = Box::new(Look::default());
        let led = [vec![Event::Looked { turn: 1, look }], all].concat();
        assert!(newly_given(&led, 0).is_empty(), "the host leads, and shows no rules");
    }
}
