//! What is left out of a text that is not ours before it is stored, sent to a model or posted.
//!
//! Owns the order: first the secrets that this process holds (`secret`), then what looks like a credential of anybody (`text`). Must not decide
//! which texts: a model's answer is kept as it was said, and redacted where it is shown (decision 58). Tests: below.

use crate::secret;
use crate::text;
use std::borrow::Cow;

/// How a place begins where something was left out: a text that is written with it would destroy what stands there.
pub const PLACE: &str = text::CREDENTIAL_PLACE;

/// The text with a word in each place, and how many there were. What stands around it stays.
pub fn redacted(text: &str) -> (Cow<'_, str>, usize) {
    let (shown, ours) = secret::hidden(text);
    let (all, theirs) = match &shown {
        Cow::Borrowed(same) => text::redacted(same),
        Cow::Owned(owned) => {
            let (all, theirs) = text::redacted(owned);
            (Cow::Owned(all.into_owned()), theirs)
        }
    };
    (all, ours + theirs)
}

/// As [`redacted`], of a text that is taken over.
pub fn without(text: String) -> String {
    match redacted(&text) {
        (Cow::Borrowed(_), _) => text,
        (Cow::Owned(shown), _) => shown,
    }
}

/// As [`redacted`], of what a person wrote, and of what is posted: no command or mark behind a line that only looks like the beginning of a key is lost.
pub fn in_words(text: &str) -> String {
    text::redacted_words(&secret::hidden(text).0).into_owned()
}

/// As [`in_words`], of a comment that is posted, with its beginning covered where that is needed: only now, because what is left out may bring what
/// stood behind it to the beginning.
pub fn in_comment(text: &str) -> String {
    text::covered(&in_words(text)).into_owned()
}

/// A difference with a word in each place. It has as many lines as before, each with its sign.
pub fn redacted_diff(diff: &str) -> String {
    text::redacted_diff(&secret::hidden(diff).0).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    #[test]
    fn what_we_hold_and_what_anybody_s_looks_like_go_both() {
        let ours = Secret::random().unwrap().known();
        let theirs = format!("gh{}_{}", "p", "a1B2".repeat(10));
        let text = format!("+A={}\n+B={theirs}\n", ours.expose());
        let shown = "+A=[left out by caisson: a secret of this machine]\n+B=[left out by caisson: a GitHub token]\n";
        assert_eq!(redacted(&text), (Cow::Borrowed(shown), 2));
        assert_eq!((without(text.clone()).as_str(), redacted_diff(&text).as_str()), (shown, shown));
        assert!(secret::PLACE.starts_with(PLACE), "the guard knows one by how it begins");
        assert_eq!(in_words(&text), shown);
    }

    #[test]
    fn what_comes_to_the_beginning_of_a_comment_by_what_is_left_out_is_covered() {
        let token = format!("gh{}_{}", "p", "a1B2".repeat(36));
        let words = format!("`{token}` {}\n\n`![x](http://evil.example)`", "and so on ".repeat(6));
        assert!(matches!(text::covered(&words), Cow::Borrowed(_)), "it stands far enough behind");
        let posted = in_comment(&words);
        assert!(posted.starts_with("<!--") && !posted.contains(&token), "{posted}");
        assert_eq!(in_words(&posted), posted, "it is posted as it is");
    }
}
