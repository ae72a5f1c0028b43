//! `/approve`: goes on past a checkpoint, the one named or the newest; `next` further ones are approved in advance.

use super::spec::{Argument, Spec, Strength, Who};
use domain::{ADVANCE_LIMIT, Verb};

pub(super) const SPEC: Spec = Spec {
    name: "approve",
    syntax: "/approve [c3, commit, or next 3]",
    who: Who::Writer,
    effect: "approves the newest checkpoint, or the one named; with `next 3` (at most 20) also the three after it, until somebody says anything else, and never the final or a risky one",
    strength: Strength::Approval,
    options: &[],
    read,
};

fn read(argument: &Argument<'_>) -> Result<Verb, String> {
    let line = argument.line();
    if line.is_empty() {
        return Ok(Verb::approve());
    }
    if let Some(amount) = line.strip_prefix("next ") {
        return in_advance(amount.trim());
    }
    let digits = line.strip_prefix(['c', 'C']).unwrap_or(line);
    if digits.len() <= 5
        && let Ok(number) = digits.parse::<u32>()
        && number > 0
    {
        return Ok(Verb::Approve { checkpoint: Some(number), commit: None, next: 0 });
    }
    let sha = line.trim_matches('`');
    if (7..=64).contains(&sha.len()) && sha.chars().all(|c| c.is_ascii_hexdigit()) {
        return Ok(Verb::Approve { checkpoint: None, commit: Some(sha.to_ascii_lowercase()), next: 0 });
    }
    Err("after it may stand a checkpoint (`c3`), a commit of at least seven digits, or `next` and a number".to_owned())
}

fn in_advance(amount: &str) -> Result<Verb, String> {
    let digits = amount.bytes().all(|b| b.is_ascii_digit());
    match amount.parse::<u8>().ok().filter(|next| digits && (1..=ADVANCE_LIMIT).contains(next)) {
        Some(next) => Ok(Verb::Approve { checkpoint: None, commit: None, next }),
        None => Err("after `next` stands how many checkpoints, from 1 to 20".to_owned()),
    }
}
