//! What the upstream's CI said of delivered work, told where it was reviewed. Every name in it is untrusted.

use crate::text::{code, count};
use domain::{CiCheck, CiEnded, CiOutcome, CiState};
use std::fmt::Write as _;

/// Failures that are named; further ones are counted.
const NAMED: usize = 20;

/// The comment, with what begins the next attempt where something failed.
pub(super) fn ended(ended: &CiEnded) -> String {
    let all = count(ended.checks.len() as u64 + u64::from(ended.more), "check");
    let commit = code(ended.commit.short());
    match ended.outcome {
        CiOutcome::Passed => format!("✅ The upstream's CI passed on what was brought there of {commit}: {all}."),
        CiOutcome::Failed => failed(ended, &all, &commit),
        CiOutcome::Late => {
            format!(
                "⚠️ The upstream's CI did not end in time on what was brought there of {commit}: {all} so far, none failed."
            )
        }
        CiOutcome::Nothing => format!("⚠️ The upstream has no check of what was brought there of {commit}."),
        CiOutcome::Unread => format!("⚠️ What the upstream's CI says of {commit} is not known: it could not be read."),
    }
}

fn failed(ended: &CiEnded, all: &str, commit: &str) -> String {
    let failures: Vec<&CiCheck> = ended.checks.iter().filter(|check| check.state == CiState::Failed).collect();
    let mut out = format!(
        "❌ **The upstream's CI failed** on what was brought there of {commit}: {} of {all}.\n\n",
        failures.len()
    );
    for check in failures.iter().take(NAMED) {
        let said =
            if check.description.is_empty() { String::new() } else { format!(" ({})", code(&check.description)) };
        let at = if check.url.is_empty() { String::new() } else { format!(" at {}", code(&check.url)) };
        let _ = writeln!(out, "- {}{said}{at}", code(&check.context));
    }
    if failures.len() > NAMED {
        let _ = writeln!(out, "- and {} more", failures.len() - NAMED);
    }
    let _ = write!(
        out,
        "\n`/retry --from {n}` begins another attempt at checkpoint {n}, `/retry` one at the base; each is told of these, and its reviews list them.",
        n = ended.n
    );
    out
}
