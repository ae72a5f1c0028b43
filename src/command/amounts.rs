//! Amounts of money, tokens, actions and time as people write them. Pure.

use domain::Budget;

/// The largest single grant, in the unit of its kind: anything above is a typing error, and sums of grants cannot overflow.
const MOST_GRANTED: u64 = 1_000_000_000_000;
/// Names of the units; a name that ends in another one (`dollars`) stands before it.
const KINDS: [&str; 10] =
    ["dollars", "dollar", "usd", "actions", "action", "minutes", "minute", "min", "tokens", "token"];

/// Parses amounts with their units (`2 usd` or `2usd`), separated by white space, `and` or commas. None if any part is unclear or a unit is
/// given twice.
pub fn amounts(line: &str) -> Option<Budget> {
    let line = line.replace(',', " ").to_ascii_lowercase();
    let mut words = line.split_whitespace().filter(|word| *word != "and");
    let mut more = Budget::default();
    while let Some(word) = words.next() {
        let (amount, kind) = match (word.strip_prefix('$'), glued(word)) {
            (Some(amount), _) => (amount, "usd"),
            (None, Some(both)) => both,
            (None, None) => (word, words.next()?),
        };
        let (field, unit) = match kind {
            "usd" | "dollar" | "dollars" => (&mut more.micro_usd, 1_000_000),
            "action" | "actions" => (&mut more.actions, 1),
            "min" | "minute" | "minutes" => (&mut more.work_ms, 60_000),
            "token" | "tokens" => (&mut more.tokens, 1),
            _ => return None,
        };
        *field = Some(scaled(amount, unit)?).filter(|_| *field == 0)?;
    }
    (more != Budget::default()).then_some(more)
}

/// Splits a word such as `2usd` into amount and unit.
fn glued(word: &str) -> Option<(&str, &'static str)> {
    let found = KINDS.iter().find_map(|kind| Some((word.strip_suffix(kind)?, *kind)));
    found.filter(|(amount, _)| !amount.is_empty())
}

/// Parses `1.5`, `100k` or `2m` and multiplies it by the unit; above zero, at most three decimal places.
fn scaled(text: &str, unit: u64) -> Option<u64> {
    let (digits, times) = match text.strip_suffix(['k', 'm']) {
        Some(digits) => (digits, if text.ends_with('k') { 1_000 } else { 1_000_000 }),
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
