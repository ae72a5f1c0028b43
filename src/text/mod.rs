//! Safe display of untrusted text.
//!
//! Owns the only functions by which untrusted text (the agent's words, names, commands, output, diffs, host names) gets into Markdown,
//! titles and terminals. Must not know tasks, forges or models. The results contain no link, image, HTML, mention or reference, and no
//! hidden character.
//! Tests: `src/text/tests.rs` (with a real Markdown parser, and property tests).

mod credentials;
mod document;
mod escape;
mod excerpt;
mod host;
mod markdown;
mod template;
#[cfg(test)]
mod tests;

pub use credentials::{
    PATTERNS as CREDENTIALS, PLACE as CREDENTIAL_PLACE, begins_private_key, redacted, redacted_diff, redacted_words,
    sent_credential,
};
pub use document::document;
pub use escape::{
    columns, cut, is_hidden, is_plain, json_line, one_line, plain_line, title_line, unreferring, visible,
};
pub use excerpt::covered;
pub use host::{HostName, host_name, rule_shown};
pub use markdown::{MAX_INLINE, MAX_LINE, code, fence, plain_cell, prose, prose_cell, ticks};
pub use template::{is_templated, untemplated};

/// The innermost cause of an error ("connection refused"), which a person can act on.
pub fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut at = error;
    while let Some(next) = at.source() {
        at = next;
    }
    at.to_string()
}

/// A number with groups of three digits: `12400` becomes `12 400`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// A duration in milliseconds for people: `0.4 s`, `52 s`, `1 m 52 s`, `2 h 5 m`.
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..=9 => format!("{}.{} s", seconds, ms % 1000 / 100),
        10..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} m {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A count with its noun: `1 file`, `2 files`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// A number of bytes for people: `812 B`, `3.2 MB`.
pub fn bytes(number: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", number / unit, number % unit / (unit / 10));
    match number {
        0..1_000 => format!("{number} B"),
        1_000..1_000_000 => format!("{} kB", tenths(1_000)),
        1_000_000..1_000_000_000 => format!("{} MB", tenths(1_000_000)),
        _ => format!("{} GB", tenths(1_000_000_000)),
    }
}

/// A word quoted for a shell, unless it is plain.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What calls cost: as [`dollars`], and said where the price of `unpriced` of their tokens is unknown, which is not free.
pub fn cost(micros: u64, unpriced: u64) -> String {
    match (micros, unpriced) {
        (_, 0) => dollars(micros),
        (0, _) => "price unknown".to_owned(),
        _ => format!("{} and more, price unknown", dollars(micros)),
    }
}

/// Micro-dollars as dollars: whole cents with two digits, others below ten dollars with three; never rounded to zero.
pub fn dollars(micros: u64) -> String {
    if micros > 0 && micros < 1000 {
        return "$0.001".to_owned();
    }
    if micros < 10_000_000 && !micros.is_multiple_of(10_000) {
        format!("${}.{:03}", micros / 1_000_000, micros % 1_000_000 / 1000)
    } else {
        format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)
    }
}
