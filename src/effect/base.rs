//! Tells a person at a task's start if the checks do not run on its base, because no verdict can then be reached.
//!
//! The run is stored with the base, so that verification, repair and later tasks do not repeat it (`sandbox/verification/base_runs.rs`). A
//! base whose tests fail is not mentioned, because many tasks begin there. Tests: below and `tests/stories/base.rs`.

use super::checks::Checks;
use super::policy::Policy;
use crate::sandbox::checks::{Standing, standing};
use crate::sandbox::lacks::lacks;
use crate::sandbox::{Ran, VerifySpec};
use domain::Task;
use std::time::Duration;

/// How long a task's start waits for a run that is not stored yet; verification waits for the whole run.
const PATIENCE: Duration = Duration::from_secs(60);

impl Checks {
    /// One sentence if the checks of the base do not run; none if they do, or if that is not known in time.
    pub(super) async fn base_note(&self, task: &Task, policy: &Policy<'_>, image: &str) -> Option<String> {
        let key = &policy.repository.key;
        let spec = VerifySpec {
            task: task.id.0,
            commit: policy.base.clone(),
            base: policy.base.clone(),
            tries: 0,
            repo_key: key.clone(),
            image: image.to_owned(),
            command: policy.effective.test.clone(),
            limits: policy.sandbox.limits(),
            wall_ms: policy.sandbox.verify_wall_s * 1000,
        };
        match tokio::time::timeout(PATIENCE, self.sandboxes.base_runs.checks_of_base(&spec)).await {
            Ok(Ok(None)) => Some(format!(
                "No command is known that checks this project, so nothing of this task will be tested: `caisson repo try {}` looks for one.",
                key
            )),
            Ok(Ok(Some((_, outcome)))) => match standing(&outcome) {
                Standing::Nothing => Some(says_nothing(key, &outcome)),
                Standing::Pass { .. } | Standing::Fail { .. } | Standing::Stopped(_) => None,
            },
            Ok(Err(error)) => {
                tracing::warn!(task = task.id.0, %error, "the base's checks were not looked at");
                None
            }
            Err(_) => None,
        }
    }
}

fn says_nothing(key: &str, outcome: &protocol::runner::Outcome) -> String {
    let why = match lacks(&outcome.text).first() {
        Some(lack) => lack.sentence(),
        None => match Ran::code(outcome) {
            Some(code) => format!("not one test ran, exit code {code}"),
            None => "not one test ran".to_owned(),
        },
    };
    format!(
        "The project's checks do not run on the base ({why}), so they say nothing about what is done here: `caisson repo try {key}` \
         says what they lack and proposes a .caisson.toml."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::runner::{Outcome, Status};

    #[test]
    fn the_sentence_names_what_is_missing_and_where_to_go() {
        let of = |code, text: &str| Outcome { duration_ms: 1, ..Outcome::new(Status::Exited { code }, text) };
        let said = says_nothing("shop", &of(4, "E   ModuleNotFoundError: No module named 'click'\n"));
        assert!(
            said.contains("the Python package click is not installed") && said.contains("caisson repo try shop"),
            "{said}"
        );
        assert!(says_nothing("shop", &of(5, "?")).contains("not one test ran, exit code 5"));
    }
}
