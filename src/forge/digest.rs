//! Digests by which texts are recognised in a log. Pure; must not judge. Tests: below.

use super::{Review, ReviewComment};
use sha2::{Digest, Sha256};

/// SHA-256 of a text, in hexadecimal.
pub fn text_hash(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

/// A review's own remarks: the reviewer's, submitted with it; replies are in the same list. The review gets its number once they are there, so
/// theirs are lower; the times tell that only to the second.
pub fn own_remarks<'a>(review: &Review, inline: &'a [ReviewComment]) -> Vec<&'a ReviewComment> {
    let before = |c: &ReviewComment| review.number == 0 || c.id < review.number;
    let own = |c: &&ReviewComment| c.author.id == review.author.id && c.created_at <= review.submitted_at && before(c);
    inline.iter().filter(own).collect()
}

/// Hash of a review's text with its own remarks; without remarks that of the text alone, as in earlier versions.
pub fn review_hash(review: &Review, inline: &[ReviewComment]) -> String {
    let own = own_remarks(review, inline);
    if own.is_empty() {
        return text_hash(&review.body);
    }
    let mut whole = Sha256::new();
    let parts = own.iter().flat_map(|c| [c.id.to_string(), c.path.clone(), c.body.clone()]);
    for part in std::iter::once(review.body.clone()).chain(parts) {
        whole.update((part.len() as u64).to_be_bytes());
        whole.update(part);
    }
    hex::encode(whole.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::{Account, ReviewState};

    fn remark(id: i64, author: i64, created_at: i64, body: &str) -> ReviewComment {
        let author = Account { id: author, login: "u".into() };
        let path = "a.py".to_owned();
        ReviewComment {
            id,
            review: 1,
            author,
            path,
            line: None,
            old: None,
            body: body.into(),
            resolved: false,
            created_at,
            updated_at: created_at,
        }
    }

    #[test]
    fn every_part_of_a_review_counts_and_replies_do_not() {
        let review = Review {
            id: 1,
            number: 9,
            author: Account { id: 7, login: "u".into() },
            state: ReviewState::Approved,
            body: "fine".into(),
            commit: String::new(),
            submitted_at: 5_000,
            updated_at: 5_000,
            comments: 1,
            html_url: String::new(),
        };
        let whole = review_hash(&review, &[remark(3, 7, 4_000, "mind this")]);
        assert_ne!(whole, review_hash(&review, &[remark(3, 7, 4_000, "never mind")]), "a remark was changed");
        assert_ne!(whole, review_hash(&review, &[]), "or taken away");
        let replies = [
            remark(3, 7, 4_000, "mind this"),
            remark(4, 8, 4_000, "why?"),
            remark(5, 7, 6_000, "because"),
            remark(10, 7, 5_000, "in the second in which it was submitted"),
        ];
        assert_eq!(whole, review_hash(&review, &replies));
        assert_eq!(review_hash(&review, &[]), text_hash("fine"));
    }
}
