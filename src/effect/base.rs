//! What a task's start knows of the checks on its base: a sentence for people where no verdict can be reached or nothing is known yet, and
//! the failures with which the agent's own runs are compared.
//!
//! The run is stored with the base, so that verification, repair and later tasks do not repeat it (`sandbox/verification/base_runs.rs`). A
//! base whose tests fail is not mentioned to people, because many tasks begin there. Tests: below and `tests/stories/base.rs`.

use super::checks::Checks;
use super::images::toolchain;
use super::policy::Policy;
use crate::redact;
use crate::sandbox::checks::{ChecksResult, standing};
use crate::sandbox::detect::Detected;
use crate::sandbox::lacks::lacks;
use crate::sandbox::{Ran, VerifySpec, failing_on_base};
use crate::text;
use domain::{BaseReport, Task};
use protocol::runner::Outcome;
use std::time::Duration;

/// How long a task's start waits for a run that is not stored yet; verification waits for the whole run.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most characters shown of the command.
const COMMAND: usize = 100;

/// What is known of the checks on a base.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BaseSeen {
    /// One sentence where they do not run, or where that is not known in time.
    pub note: Option<String>,
    /// What they report as failed.
    pub report: Option<BaseReport>,
}

impl Checks {
    /// Runs the checks of the base, unless that run is stored, and waits for it for a minute.
    pub(super) async fn base_seen(&self, task: &Task, policy: &Policy<'_>, image: &str) -> BaseSeen {
        let key = policy.repository.key.clone();
        let spec = VerifySpec {
            task: task.id.0,
            commit: policy.base.clone(),
            base: policy.base.clone(),
            tries: 0,
            repo_key: key.clone(),
            image: image.to_owned(),
            command: policy.effective.test.clone(),
            toolchain: toolchain(task, policy),
            limits: policy.operators.sandbox.limits(),
            wall_ms: policy.operators.sandbox.verify_wall_s * 1000,
            tests_may_move: false,
        };
        let ran = match tokio::time::timeout(PATIENCE, self.sandboxes.base_runs.checks_of_base(&spec)).await {
            Ok(Ok(Some(ran))) => ran,
            Ok(Ok(None)) => return noted(no_command(&key)),
            Err(_) => return noted(late()),
            Ok(Err(error)) => {
                tracing::warn!(task = task.id.0, %error, "the base's checks were not looked at");
                return BaseSeen::default();
            }
        };
        // Reading megabytes takes a tenth of a second.
        let read = tokio::task::spawn_blocking(move || seen(&key, &ran.0, ran.1)).await;
        read.unwrap_or_else(|error| {
            tracing::warn!(task = task.id.0, %error, "the base's checks were not read");
            BaseSeen::default()
        })
    }
}

fn noted(sentence: String) -> BaseSeen {
    BaseSeen { note: Some(sentence), report: None }
}

fn no_command(key: &str) -> String {
    format!(
        "No command is known that checks this project, so nothing of this task will be tested: `caisson repo try {key}` looks for one."
    )
}

/// The run took too long to be waited for.
fn late() -> String {
    format!(
        "The project's checks had not ended on the base after {} s, so it is not known yet whether they run there, and the agent is not told \
         which failures the base has too; the run that verifies the finished work is waited for.",
        PATIENCE.as_secs()
    )
}

/// What a run of these checks on the base says.
fn seen(key: &str, checks: &Detected, ran: Outcome) -> BaseSeen {
    // Before it is read, as results of actions are, so that both are read from the same text.
    let ran = Outcome { text: redact::without(ran.text), ..ran };
    let note = match standing(&ran) {
        ChecksResult::Nothing => Some(says_nothing(key, checks, &ran)),
        ChecksResult::Pass { .. } | ChecksResult::Fail { .. } | ChecksResult::Stopped(_) => None,
    };
    BaseSeen { note, report: failing_on_base(&ran) }
}

fn says_nothing(key: &str, checks: &Detected, outcome: &Outcome) -> String {
    let why = match lacks(&outcome.text).first() {
        Some(lack) => lack.sentence(),
        None => match Ran::code(outcome) {
            Some(code) => format!("not one test ran, exit code {code}"),
            None => "not one test ran".to_owned(),
        },
    };
    // A backtick would end the code in which it is shown.
    let command = text::one_line(&checks.command).replace('`', "'");
    let (command, missing) = text::cut(&command, COMMAND);
    let more = if missing > 0 { "…" } else { "" };
    format!(
        "The project's checks do not run on the base ({why}), so they say nothing about what is done here. The command is \
         `{command}{more}`, from `{}`: `caisson repo try {key}` says what it lacks and proposes a .caisson.toml.",
        checks.by
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::runner::Status;

    fn of(code: i32, text: &str) -> Outcome {
        Outcome { duration_ms: 1, ..Outcome::new(Status::Exited { code }, text) }
    }

    fn checks() -> Detected {
        Detected { command: "make `x`\ntest".to_owned(), by: "Makefile" }
    }

    #[test]
    fn the_sentence_names_what_is_missing_the_command_and_where_to_go() {
        let said = says_nothing("shop", &checks(), &of(4, "E   ModuleNotFoundError: No module named 'click'\n"));
        let command = "`make 'x'\\ntest`, from `Makefile`";
        for words in ["the Python package click is not installed", command, "caisson repo try shop"] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(says_nothing("shop", &checks(), &of(5, "?")).contains("not one test ran, exit code 5"));
        let program = says_nothing("shop", &checks(), &of(127, "sh: 1: mocha: not found\n"));
        assert!(program.contains("the image has no program mocha"), "{program}");
        assert!(late().contains("after 60 s"));
    }

    #[test]
    fn a_red_base_is_no_news_for_people_and_its_failures_are_kept_without_secrets() {
        let token = format!("gh{}_{}", "p", "a1B2".repeat(10));
        let text = format!(
            "=== short test summary info ===\nFAILED tests/test_a.py::test_x[{token}] - assert 1 == 2\n=== 1 failed, 3 passed in 0.01s ===\n"
        );
        let BaseSeen { note, report } = seen("shop", &checks(), of(1, &text));
        let report = report.expect("a failure");
        assert!(note.is_none() && report.failing.len() == 1 && !report.partial, "{note:?} {report:?}");
        assert!(!format!("{report:?}").contains(&token), "{report:?}");
        let green = Outcome { status: Status::Ok, ..of(0, "3 passed in 0.01s") };
        assert_eq!(seen("shop", &checks(), green), BaseSeen::default());
    }
}
