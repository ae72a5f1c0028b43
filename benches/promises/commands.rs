//! How fast texts are read for commands.

use crate::line::Line;
use caisson::command;
use std::hint::black_box;
use std::time::Instant;

/// Bytes of one round.
const TOTAL: usize = 32 << 20;
const ROUNDS: usize = 5;

/// Comments as people write them: a sentence, a report with code and a quoted text, commands with options, and a long log.
fn texts() -> Vec<String> {
    let report = "The total is wrong when a version has two digits, see below.\n\n```text\n/fix is no command here\nassertion failed: left == right\n```\n\
                  > /approve\n> is what the review said.\n\nCould somebody look at `versions.py`, line 12?\n";
    let log = format!(
        "Full output:\n\n```\n{}```\n",
        "test versions::compares_two_digits ... FAILED (0.02 s) /usr/lib\n".repeat(400)
    );
    let commands = "/fix --budget 2usd --toolchain rust\n\nPlease keep the names.\n/allow example.org\n/status\n";
    vec!["Looks good to me, thank you.\n".into(), report.repeat(4), commands.into(), log, report.into()]
}

pub fn measure() -> Line {
    let texts = texts();
    let size: usize = texts.iter().map(String::len).sum();
    let mut best = 0.0_f64;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for _ in 0..TOTAL / size {
            for text in &texts {
                black_box(command::parse(black_box(text), "alice"));
            }
        }
        best = best.max((TOTAL / size * size) as f64 / began.elapsed().as_secs_f64());
    }
    let rate = best / 1e6;
    Line::promise("texts read for commands", format!("{rate:.0} MB/s"), "≥ 50 MB/s", rate >= 50.0)
}
