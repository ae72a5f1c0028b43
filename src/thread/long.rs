//! Remarks and reviews with more characters than a person's words may have. Nothing of them is taken, as of too many words behind a command:
//! an agent that sees half of what was asked does half of it.
//! Tests: below, `tests/stories/bad_input.rs`.

use super::inline;
use super::words::{self, too_long};
use crate::forge::{Review, ReviewComment, ReviewState};
use crate::redact;
use domain::Verb;

/// As [`too_long`], of the longest text of a review that would be taken as words: its own, or a remark among its `own` inline comments.
pub(super) fn of_review(review: &Review, own: &[&ReviewComment]) -> Option<usize> {
    let login = &review.author.login;
    // As in a comment, the words around a command are nobody's.
    let of_command = review.state == ReviewState::Comment && !words::parsed(&review.body, login).plain;
    let body = too_long(&review.body).filter(|_| !of_command);
    let notes = own.iter().filter_map(|note| {
        let count = too_long(&note.body)?;
        inline::remark(note, redact::in_words(&note.body), login).map(|_| count)
    });
    body.into_iter().chain(notes).max()
}

/// What is carried out of a review or reply whose words are not taken: only what holds back.
pub(super) fn careful(verb: Verb) -> Verb {
    match verb {
        Verb::Stop | Verb::Pause => verb,
        _ => Verb::Say { items: Vec::new() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::MAX_WORDS;
    use crate::thread::fixtures;

    /// The count of a review with this text and this inline comment.
    fn count(state: ReviewState, body: &str, note: &str) -> Option<usize> {
        of_review(&fixtures::review(state, body), &[&fixtures::note(note)])
    }

    #[test]
    fn the_words_of_a_review_are_its_own_and_those_on_its_lines() {
        let long = "x".repeat(MAX_WORDS + 1);
        let of_length = Some(long.len());
        for state in [ReviewState::Approved, ReviewState::RequestChanges, ReviewState::Comment] {
            assert_eq!(count(state, &long, "rename it"), of_length, "{state:?}");
            assert_eq!(count(state, "Nearly.", &long), of_length, "{state:?}");
            assert_eq!(count(state, "Nearly.", "rename it"), None, "{state:?}");
        }
        let command = format!("/approve\n\n{long}");
        assert_eq!(count(ReviewState::Comment, &command, "rename it"), None, "as of a comment");
        assert_eq!(count(ReviewState::RequestChanges, &command, "rename it"), Some(command.len()));
        assert!(count(ReviewState::Comment, "", &format!("/revise {long}")).is_some());
    }

    #[test]
    fn only_what_holds_back_is_left_of_it() {
        let nothing = Verb::Say { items: Vec::new() };
        assert_eq!([Verb::Stop, Verb::Pause].map(careful), [Verb::Stop, Verb::Pause]);
        assert_eq!([Verb::approve(), Verb::Changes { items: Vec::new() }].map(careful), [nothing.clone(), nothing]);
    }
}
