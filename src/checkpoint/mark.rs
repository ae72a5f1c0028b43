//! The keyed mark in the last line of every post of the bot, by which a retry finds the post.
//!
//! `<!-- caisson:<key> <mac> -->`. Anybody can write such a line, but only this installation can make one that verifies, so nobody can make
//! the bot take another text for its own; it counts only in posts of the bot's account (checked by the caller).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const PREFIX: &str = "<!-- caisson:";
const SUFFIX: &str = " -->";
/// Hexadecimal digits of the MAC in the mark: 128 bits.
const DIGITS: usize = 32;

/// The mark's line without a line feed. `key` is the effect's key: letters, digits and `:/#._=-`; other characters become `_`, so that a
/// key can never end the comment.
pub fn mark(secret: &[u8], key: &str) -> String {
    let key = safe(key);
    format!("{PREFIX}{key} {}{SUFFIX}", code(secret, &key))
}

/// Twelve hexadecimal digits that only this installation can make for a key.
pub fn digits(secret: &[u8], key: &str) -> String {
    code(secret, &safe(key)).chars().take(12).collect()
}

/// The key in the text's last line, if its mark verifies under `secret`.
pub fn find(secret: &[u8], text: &str) -> Option<String> {
    let line = text.trim_end().lines().next_back()?.trim();
    let (key, given) = line.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.split_once(' ')?;
    let expected = code(secret, key);
    let same: bool = subtle::ConstantTimeEq::ct_eq(expected.as_bytes(), given.as_bytes()).into();
    (same && key == safe(key)).then(|| key.to_owned())
}

/// As [`find`], where the key begins with `prefix`, which ends with `:` or `/`.
pub fn find_below(secret: &[u8], prefix: &str, text: &str) -> Option<String> {
    find(secret, text).filter(|key| key.starts_with(&safe(prefix)))
}

/// Whether the text's last line is this key's mark under `secret`.
pub fn is_of(secret: &[u8], key: &str, text: &str) -> bool {
    find(secret, text).is_some_and(|found| found == safe(key))
}

fn safe(key: &str) -> String {
    // `--` ends a comment in some parsers.
    let kept: String =
        key.chars().map(|c| if c.is_ascii_alphanumeric() || ":/#._=-".contains(c) { c } else { '_' }).collect();
    kept.replace("--", "-_")
}

fn code(secret: &[u8], key: &str) -> String {
    // An HMAC takes a key of any length, so this cannot fail.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { return String::new() };
    mac.update(b"caisson mark v1\n");
    mac.update(key.as_bytes());
    let mut digits = hex::encode(mac.finalize().into_bytes());
    digits.truncate(DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"0123456789abcdef";

    #[test]
    fn a_mark_is_found_again() {
        let text = format!("Hello\n\n{}\n", mark(SECRET, "task:1/checkpoint:2"));
        assert_eq!(find(SECRET, &text).as_deref(), Some("task:1/checkpoint:2"));
        assert_eq!(find(SECRET, &text.replace('\n', "\r\n")).as_deref(), Some("task:1/checkpoint:2"));
        assert!(is_of(SECRET, "task:1/checkpoint:2", &text) && !is_of(SECRET, "task:1/checkpoint:3", &text));
        for key in ["comment:7~lines", "comment:7?", "my--shop:comment:7"] {
            assert!(is_of(SECRET, key, &mark(SECRET, key)), "{key}");
        }
        let below = |prefix: &str| find_below(SECRET, prefix, &mark(SECRET, "rewritten:my--shop:a~b")).is_some();
        assert!(below("rewritten:my--shop:") && !below("rewritten:my:"));
    }

    #[test]
    fn a_planted_mark_is_not() {
        let real = mark(SECRET, "review:1");
        assert_eq!(find(b"another", &real), None);
        assert_eq!(find(SECRET, &real.replace("review:1", "review:2")), None);
        assert_eq!(find(SECRET, &format!("{real}\nmore text")), None);
        assert_eq!(find(SECRET, "<!-- caisson:review:1  -->"), None);
        assert_eq!(find(SECRET, "<!-- caisson:review:1 -->"), None);
        assert_eq!(find(SECRET, ""), None);
    }

    #[test]
    fn a_key_cannot_leave_the_comment() {
        let line = mark(SECRET, "x --> <img src=y>\n@all ----");
        assert_eq!(line.matches("-->").count(), 1);
        assert!(!line.contains('\n') && !line.contains('@'));
        assert!(find(SECRET, &line).is_some());
    }
}
