//! All secrets of this process, and removing them from texts.
//!
//! Owns their list: code that reads or makes a secret adds it, and it stays until the process ends, so that a rotated one is still removed.
//! No secret is ever in a sandbox; this is a second line of defence. Must not tell which secret was found, or keep ones too short to be
//! distinguished from words. Tests: below.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};

use super::Secret;

/// Replacement for a secret.
pub const PLACE: &str = "[left out by caisson: a secret of this machine]";
/// Length in bytes of the shortest secret that is searched for, because a shorter one may be a word.
pub const SHORTEST: usize = 12;

/// Bytes of a form that are used for look-up.
const HEAD: usize = 8;

static KNOWN: LazyLock<RwLock<SecretForms>> = LazyLock::new(RwLock::default);

impl Secret {
    /// Adds it to the secrets that are removed from texts.
    pub fn known(self) -> Self {
        KNOWN.write().unwrap_or_else(PoisonError::into_inner).add(self.expose());
        self
    }
}

/// The text without this process's secrets, whether plain or in base64, hexadecimal, URL or JSON encoding; and how many there were.
pub fn hidden(text: &str) -> (Cow<'_, str>, usize) {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).hidden(text)
}

/// As [`hidden`], without the count.
pub fn without(text: &str) -> String {
    hidden(text).0.into_owned()
}

/// Encoded secrets by their first bytes.
#[derive(Default)]
struct SecretForms {
    forms: HashMap<[u8; HEAD], Vec<Box<[u8]>>>,
    /// Whether a form begins with these two bytes, so that most positions need one look-up. Empty before the first secret.
    begins: Vec<bool>,
}

impl SecretForms {
    fn add(&mut self, secret: &str) {
        if secret.len() < SHORTEST {
            return;
        }
        self.begins.resize(1 << 16, false);
        for form in forms(secret) {
            let form = form.into_bytes().into_boxed_slice();
            let (Some(head), Some(begin)) = (form.first_chunk(), form.first_chunk()) else { continue };
            self.begins[usize::from(u16::from_be_bytes(*begin))] = true;
            let same = self.forms.entry(*head).or_default();
            if !same.contains(&form) {
                same.push(form);
                // The longest first, because a form may begin with another one.
                same.sort_by_key(|form| std::cmp::Reverse(form.len()));
            }
        }
    }

    fn hidden<'a>(&self, text: &'a str) -> (Cow<'a, str>, usize) {
        if self.begins.is_empty() {
            return (Cow::Borrowed(text), 0);
        }
        let bytes = text.as_bytes();
        let (mut out, mut from, mut at, mut count) = (String::new(), 0, 0, 0);
        while let Some(head) = bytes[at..].first_chunk::<HEAD>() {
            match self.at(head, &bytes[at..]) {
                // A form is ASCII or a whole text, so its ends are character boundaries.
                Some(length) if text.is_char_boundary(at) && text.is_char_boundary(at + length) => {
                    out.push_str(&text[from..at]);
                    out.push_str(PLACE);
                    count += 1;
                    at += length;
                    from = at;
                }
                Some(_) | None => at += 1,
            }
        }
        if count == 0 {
            return (Cow::Borrowed(text), 0);
        }
        out.push_str(&text[from..]);
        (Cow::Owned(out), count)
    }

    /// Length of the form at this position.
    fn at(&self, head: &[u8; HEAD], rest: &[u8]) -> Option<usize> {
        if !self.begins[usize::from(u16::from_be_bytes([head[0], head[1]]))] {
            return None;
        }
        self.forms.get(head)?.iter().find(|form| rest.starts_with(form)).map(|form| form.len())
    }
}

/// The possible encodings of a secret.
fn forms(secret: &str) -> Vec<String> {
    let bytes = secret.as_bytes();
    let hex = hex::encode(bytes);
    let json = serde_json::to_string(secret).unwrap_or_default();
    let json = json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned();
    let mut forms = vec![secret.to_owned(), hex.to_uppercase(), hex, json];
    forms.extend([escaped(secret, true), escaped(secret, false)]);
    for alphabet in [&alphabet::STANDARD, &alphabet::URL_SAFE] {
        forms.extend((0..3).map(|before| inside_base64(bytes, before, alphabet)));
    }
    if secret.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        forms.extend([secret.to_uppercase(), secret.to_lowercase()]);
    }
    forms
}

/// URL-encoded: everything but letters, digits and `-._~`.
fn escaped(secret: &str, upper: bool) -> String {
    let one = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if upper => format!("%{byte:02X}"),
        _ => format!("%{byte:02x}"),
    };
    secret.bytes().map(one).collect()
}

/// The base64 digits that do not depend on surrounding text, with `before` bytes (of every three) in front.
fn inside_base64(bytes: &[u8], before: usize, alphabet: &alphabet::Alphabet) -> String {
    let padded = [&[0; 2][..before], bytes].concat();
    let text = GeneralPurpose::new(alphabet, NO_PAD).encode(&padded);
    let (from, to) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
    text[from..to].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "s3cret/Token+of \"ours\"";

    fn known() -> SecretForms {
        let mut known = SecretForms::default();
        known.add(TOKEN);
        known
    }

    #[test]
    fn it_is_left_out_in_each_of_its_forms() {
        let known = known();
        let standard = base64::engine::general_purpose::STANDARD;
        let url_safe = base64::engine::general_purpose::URL_SAFE_NO_PAD;
        let mut texts = vec![
            format!("a {TOKEN}b"),
            hex::encode(TOKEN),
            hex::encode_upper(TOKEN),
            serde_json::json!({ "token": TOKEN }).to_string(),
            "https://h.example/?t=s3cret%2FToken%2Bof%20%22ours%22&x=1".to_owned(),
            "s3cret%2fToken%2bof%20%22ours%22".to_owned(),
        ];
        for before in ["", "u", "us", "user:", "someone:"] {
            texts.push(standard.encode(format!("{before}{TOKEN} and more")));
            texts.push(url_safe.encode(format!("{before}{TOKEN}")));
        }
        for text in texts {
            let (shown, count) = known.hidden(&text);
            assert!(count == 1 && shown.contains(PLACE), "{text}: {shown}");
            assert!(!shown.contains("Token") && !shown.contains("ours"), "{shown}");
        }
    }

    #[test]
    fn what_stands_around_it_stays_and_other_texts_are_as_they_were() {
        let known = known();
        let (shown, count) = known.hidden("ä s3cret/Token+of \"ours\"ß s3cret/Token+of \"ours\"");
        assert_eq!((shown.as_ref(), count), (format!("ä {PLACE}ß {PLACE}").as_str(), 2));
        for text in ["", "s3cret", "s3cret/Token+of", "ß s3cret/Token+of 'ours'", "日本語"] {
            assert!(matches!(known.hidden(text), (Cow::Borrowed(same), 0) if same == text));
        }
    }

    #[test]
    fn a_short_one_may_be_a_word() {
        let mut known = SecretForms::default();
        known.add("password");
        assert_eq!(known.hidden("the password is").1, 0);
    }

    #[test]
    fn one_that_was_told_of_is_left_out_everywhere() {
        let secret = Secret::random().unwrap().known();
        let text = format!("x {}", secret.expose());
        assert_eq!(hidden(&text).0, format!("x {PLACE}"));
    }
}
