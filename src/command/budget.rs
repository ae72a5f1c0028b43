//! `/budget`: grants the task more than it may use.

use super::spec::{Argument, Spec, Strength, Who};
use domain::{Budget, Granters, Verb};

pub(super) const SPEC: Spec = Spec {
    name: "budget",
    syntax: "/budget 2 usd (or 30 actions, 20 min, 100k tokens)",
    who: Who::Writer,
    effect: "grants the task more, within what the operator allows; one that had paused for it goes on",
    strength: Strength::Work,
    read,
};

/// No grant is larger, in the unit of its kind: a slip of the finger, and safe to add.
const MOST_GRANTED: u64 = 1_000_000_000_000;

fn read(argument: &Argument<'_>) -> Result<Verb, String> {
    let why = "after it stands how much of what: `2 usd`, `30 actions`, `20 min` or `100k tokens`, or several of them";
    let more = amounts(argument.line()).ok_or(why)?;
    // What the operator allows is filled in when it is used.
    Ok(Verb::Budget { more, ceiling: Budget::default(), who: Granters::Nobody })
}

/// Amounts with their kinds; `and` and commas between them.
fn amounts(line: &str) -> Option<Budget> {
    let line = line.replace(',', " ");
    let mut words = line.split_whitespace().filter(|word| *word != "and").peekable();
    let mut more = Budget::default();
    while let Some(amount) = words.next() {
        let (amount, kind) = match amount.strip_prefix('$') {
            Some(amount) => (amount, "usd"),
            None => (amount, words.next()?),
        };
        let (field, unit) = match kind.to_ascii_lowercase().as_str() {
            "usd" | "dollar" | "dollars" => (&mut more.micro_usd, 1_000_000),
            "action" | "actions" => (&mut more.actions, 1),
            "min" | "minute" | "minutes" => (&mut more.work_ms, 60_000),
            "token" | "tokens" => (&mut more.tokens, 1),
            _ => return None,
        };
        // Each kind once.
        *field = Some(scaled(amount, unit)?).filter(|_| *field == 0)?;
    }
    (more != Budget::default()).then_some(more)
}

/// `1.5`, `100k`, `2m` of a unit; above zero, at most three digits behind the point.
fn scaled(text: &str, unit: u64) -> Option<u64> {
    let (digits, times) = match text.strip_suffix(['k', 'K', 'm', 'M']) {
        Some(digits) => (digits, if text.ends_with(['k', 'K']) { 1_000 } else { 1_000_000 }),
        None => (text, 1),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let plain = |text: &str, most: usize| (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if !plain(whole, 9) || !plain(part, 3) {
        return None;
    }
    let thousandths: u64 = format!("{whole}{part:0<3}").parse().ok()?;
    let amount = u128::from(thousandths) * u128::from(times * unit) / 1_000;
    u64::try_from(amount).ok().filter(|amount| (1..=MOST_GRANTED).contains(amount))
}
