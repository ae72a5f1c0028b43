//! Claims of the agent, compared with the log. Pure.

use super::view::{ActionLine, CheckpointView, ClaimLine, Shown};
use crate::redact;
use crate::text::plain_cell;
use domain::{Call, Claim, Event, VerdictCase};

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
    let text = |claim: &Claim| redact::in_words(&claim.text);
    claims.iter().map(|claim| ClaimLine { text: text(claim), shown: shown(claim.action) }).collect()
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

/// The row of a `done` that claims nothing.
const NO_CLAIMS: &str = "| *it made no claims* | **no evidence**: it names no action that shows what it says |\n";

/// Rows of a table with the agent's claims beside the log; `result` formats an action's result.
pub(super) fn rows(view: &CheckpointView, result: fn(&ActionLine) -> String) -> String {
    if view.claims.is_empty() {
        return NO_CLAIMS.to_owned();
    }
    let row = |claim: &ClaimLine| {
        let (text, shown) = (plain_cell(&claim.text), shown(&claim.shown, view, result));
        format!("| {text} | {shown} |\n")
    };
    view.claims.iter().map(row).collect()
}

fn shown(shown: &Shown, view: &CheckpointView, result: fn(&ActionLine) -> String) -> String {
    match shown {
        Shown::Action(line) => {
            let ActionLine { n, kind, what, .. } = line;
            let what = plain_cell(format!("{kind} {what}").trim());
            format!("action {n}: {what} · {}", result(line))
        }
        Shown::Checks => match view.verdict.as_ref().map(|verdict| verdict.kind) {
            Some(VerdictCase::Passed) => "✅ the bot's own run of the checks".to_owned(),
            Some(VerdictCase::Failed) => "❌ the bot's own run of the checks failed".to_owned(),
            Some(VerdictCase::NoTest) => "**no evidence**: the bot's own run of the checks ran no test".to_owned(),
            Some(VerdictCase::None) | None => "**no evidence**: the bot found no checks to run".to_owned(),
        },
        Shown::Missing(number) => format!("**no evidence**: there was no action {number}"),
        Shown::Nothing => "**no evidence**: it names no action".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::render;
    use domain::{CallRequest, Usage};

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

    #[test]
    fn a_done_without_claims_has_a_row_that_says_so() {
        let mut view = CheckpointView::default();
        assert_eq!(rows(&view, render::result), NO_CLAIMS);
        view.claims = vec![ClaimLine { text: "a".into(), shown: Shown::Nothing }];
        let row = rows(&view, render::result);
        assert!(row.ends_with(" | **no evidence**: it names no action |\n") && row.lines().count() == 1, "{row}");
        view.claims[0].text = "a".repeat(1000);
        let row = rows(&view, render::result);
        assert!(row.contains("(840 more characters)"), "{row}");
    }
}
