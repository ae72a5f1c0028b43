//! The labels that show a task's state, and the texts of the commit status.

use domain::VerdictCase;

/// One exclusive label of the scope `caisson/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The state's name, as `domain::State::name` has it.
    pub state: &'static str,
    /// The label's name on the forge: `caisson/` and the state's name.
    pub name: &'static str,
    /// Six hexadecimal digits without `#`.
    pub colour: &'static str,
    /// What the state means, as the forge shows it beside the label.
    pub description: &'static str,
}

const fn label(state: &'static str, name: &'static str, colour: &'static str, description: &'static str) -> Label {
    Label { state, name, colour, description }
}

const GREY: &str = "7a8391";
const BLUE: &str = "2b6cb0";
const AMBER: &str = "b7791f";
const GREEN: &str = "2f855a";
const RED: &str = "c53030";

/// One label per state. Blue: at work; amber: waits for a person; green: good; red: failed; grey: over or queued.
pub const LABELS: [Label; 17] = [
    label("queued", "caisson/queued", GREY, "in line for a place"),
    label("preparing", "caisson/preparing", BLUE, "a sandbox is being made"),
    label("running", "caisson/running", BLUE, "the agent works"),
    label("publishing", "caisson/publishing", BLUE, "the work is taken out and pushed"),
    label("awaiting-review", "caisson/awaiting-review", AMBER, "a checkpoint waits for a person"),
    label("asking", "caisson/asking", AMBER, "a question waits for a person"),
    label("verifying", "caisson/verifying", BLUE, "the bot runs the project's checks"),
    label("awaiting-ci", "caisson/awaiting-ci", BLUE, "the forge's CI is waited for"),
    label("final-review", "caisson/final-review", AMBER, "finished work waits for the last approval"),
    label("approved", "caisson/approved", GREEN, "approved; `caisson fetch` brings it home"),
    label("paused", "caisson/paused", AMBER, "waits for a person to say how to go on"),
    label("delivered", "caisson/delivered", GREEN, "at home"),
    label("answered", "caisson/answered", GREY, "its review is posted"),
    label("declined", "caisson/declined", GREY, "closed without being taken"),
    label("cancelled", "caisson/cancelled", GREY, "ended by a person"),
    label("failed", "caisson/failed", RED, "could not go on"),
    label("expired", "caisson/expired", GREY, "nobody answered for 30 days"),
];

/// States that often end within a second, so their labels are set with a delay.
pub const PASSING: [&str; 2] = ["running", "publishing"];

/// The label of a state; none for an unknown name.
pub fn of_state(state: &str) -> Option<&'static Label> {
    LABELS.iter().find(|label| label.state == state)
}

/// Name of the label of a state.
pub fn name(state: &str) -> String {
    format!("caisson/{state}")
}

/// Whether a label belongs to the bot, whatever its state.
pub fn is_ours(name: &str) -> bool {
    name.starts_with("caisson/")
}

/// The context under which commit statuses are posted.
pub const STATUS_CONTEXT: &str = "caisson";

/// Description of the commit status, from our words and numbers only. `state` is the forge's: pending, success, failure.
pub fn status_text(state: &str, n: u32, verdict: Option<VerdictCase>, exit_code: Option<i32>) -> String {
    // Checks may pass, and the verdict be a failure for what the branch changes or lacks.
    let telling = exit_code.filter(|code| *code != 0 || verdict != Some(VerdictCase::Failed));
    let exit = telling.map(|code| format!(" (exit {code})")).unwrap_or_default();
    match (state, verdict) {
        ("success", Some(VerdictCase::Passed)) => format!("approved; the bot's own run of the checks passed{exit}"),
        ("success", Some(VerdictCase::Failed)) => format!("approved although the checks failed{exit}"),
        ("success", Some(VerdictCase::NoTest)) => format!("approved; the checks ran no test{exit}"),
        ("success", Some(VerdictCase::None)) => "approved; no checks were found to run".to_owned(),
        ("success", None) => "approved".to_owned(),
        ("failure", _) => format!("checkpoint {n}: the checks failed{exit}"),
        (_, Some(VerdictCase::Passed)) => format!("checkpoint {n}: checks passed{exit}; waits for the last approval"),
        (_, Some(VerdictCase::NoTest)) => {
            format!("checkpoint {n}: the checks ran no test{exit}; waits for the last approval")
        }
        (_, Some(VerdictCase::None)) => format!("checkpoint {n}: no checks found; waits for the last approval"),
        (_, Some(VerdictCase::Failed)) => format!("checkpoint {n}: the checks failed{exit}; waits for a person"),
        (_, None) => format!("checkpoint {n} waits for a person"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_is_exclusive_and_named_after_its_state() {
        for label in LABELS {
            assert_eq!(label.name, format!("caisson/{}", label.state));
            assert!(is_ours(label.name));
            assert_eq!(of_state(label.state), Some(&label));
            assert_eq!(label.colour.len(), 6);
        }
        assert_eq!(of_state("resting"), None);
    }

    #[test]
    fn statuses_say_what_was_measured() {
        let text = status_text("pending", 4, Some(VerdictCase::Passed), Some(0));
        assert_eq!(text, "checkpoint 4: checks passed (exit 0); waits for the last approval");
        let text = status_text("pending", 4, Some(VerdictCase::NoTest), Some(0));
        assert_eq!(text, "checkpoint 4: the checks ran no test (exit 0); waits for the last approval");
        assert_eq!(status_text("pending", 1, None, None), "checkpoint 1 waits for a person");
        assert_eq!(
            status_text("failure", 4, Some(VerdictCase::Failed), Some(1)),
            "checkpoint 4: the checks failed (exit 1)"
        );
        assert_eq!(status_text("failure", 4, Some(VerdictCase::Failed), Some(0)), "checkpoint 4: the checks failed");
    }
}
