//! A review and an inline comment of it, by one author, for the tests of what is read in them.

use crate::forge::{Account, Review, ReviewComment, ReviewState};

fn author() -> Account {
    Account { id: 7, login: "alice".into() }
}

pub(super) fn review(state: ReviewState, body: &str) -> Review {
    Review {
        id: 1,
        number: 20,
        author: author(),
        state,
        body: body.into(),
        commit: String::new(),
        submitted_at: 0,
        updated_at: 0,
        comments: 0,
        html_url: String::new(),
    }
}

/// On a line of a file.
pub(super) fn note(body: &str) -> ReviewComment {
    ReviewComment {
        id: 9,
        review: 1,
        author: author(),
        path: "a.py".into(),
        line: Some(3),
        old: None,
        body: body.into(),
        resolved: false,
        created_at: 0,
        updated_at: 0,
    }
}
