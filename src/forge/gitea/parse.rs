//! A stored delivery to a [`Wake`]: pure, total, tolerant of unknown fields and types.
//! Dispatch is on `X-Gitea-Event-Type` (`X-Gitea-Event` is lossy: a comment *review* arrives there as `pull_request_comment`).
//! The type must agree with the body, because headers aren't signed. Tests: `tests/fixtures.rs`, over every recorded delivery.

use crate::forge::event::{Wake, WakeKind};
use serde::Deserialize;
use thiserror::Error;

#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParseError {
    #[error("the body is not the JSON of a delivery: {0}")]
    Json(String),
    #[error("the body names no repository")]
    NoRepository,
    #[error("the body does not fit the event type {event_type:?}: {missing} is missing")]
    Disagrees { event_type: String, missing: &'static str },
}

#[derive(Deserialize)]
struct Body {
    repository: Option<Id>,
    issue: Option<Numbered>,
    pull_request: Option<Numbered>,
    comment: Option<Id>,
    review: Option<serde_json::Value>,
    sender: Option<Id>,
    before: Option<String>,
    after: Option<String>,
}

#[derive(Deserialize)]
struct Id {
    id: i64,
}

#[derive(Deserialize)]
struct Numbered {
    number: u64,
}

/// What to look at again because of this delivery. Unknown types are [`WakeKind::Ignored`], so that a newer forge is no error.
pub fn parse_delivery(event_type: &str, body: &[u8]) -> Result<Wake, ParseError> {
    let body: Body = serde_json::from_slice(body).map_err(|e| ParseError::Json(e.to_string()))?;
    let repo_id = body.repository.as_ref().map(|r| r.id);
    let need = |what: Option<u64>, missing: &'static str| {
        what.map(Some).ok_or_else(|| ParseError::Disagrees { event_type: event_type.to_owned(), missing })
    };
    let issue = body.issue.as_ref().map(|i| i.number);
    let pull = body.pull_request.as_ref().map(|p| p.number);
    let (kind, number) = match event_type {
        "issues" | "issue_assign" | "issue_label" | "issue_milestone" => (WakeKind::Issue, need(issue, "issue")?),
        "issue_comment" | "pull_request_comment" => {
            need(body.comment.as_ref().map(|_| 0), "comment")?;
            (WakeKind::Comment, need(issue, "issue")?)
        }
        "pull_request_review_approved" | "pull_request_review_rejected" | "pull_request_review_comment" => {
            need(body.review.as_ref().map(|_| 0), "review")?;
            (WakeKind::Review, need(pull, "pull_request")?)
        }
        "pull_request"
        | "pull_request_sync"
        | "pull_request_assign"
        | "pull_request_label"
        | "pull_request_milestone"
        | "pull_request_review_request" => (WakeKind::Pull, need(pull, "pull_request")?),
        "push" => {
            let after = need(body.after.as_ref().map(|_| 0), "after").map(|_| body.after.as_deref())?;
            // The forge's test is a push from a commit to itself, which no real one is.
            (if after == body.before.as_deref() { WakeKind::Test } else { WakeKind::Push }, None)
        }
        _ => (WakeKind::Ignored, None),
    };
    // What is ignored needs no repository (some organisation events have none).
    let repo_id = match (repo_id, kind) {
        (Some(id), _) => id,
        (None, WakeKind::Ignored) => 0,
        (None, _) => return Err(ParseError::NoRepository),
    };
    Ok(Wake { repo_id, number, kind, by: body.sender.map(|account| account.id) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_disagrees_with_the_body_is_refused() {
        let push = br#"{"repository":{"id":1},"before":"a","after":"b"}"#;
        assert!(matches!(parse_delivery("issue_comment", push), Err(ParseError::Disagrees { missing: "comment", .. })));
        let comment = br#"{"repository":{"id":1},"issue":{"number":2},"comment":{"id":3}}"#;
        assert!(matches!(parse_delivery("pull_request_review_approved", comment), Err(ParseError::Disagrees { .. })));
        assert!(matches!(parse_delivery("push", comment), Err(ParseError::Disagrees { .. })));
    }

    #[test]
    fn the_test_delivery_and_unknown_types_are_told_apart() {
        let test = br#"{"repository":{"id":1},"before":"a","after":"a","sender":{"id":4}}"#;
        assert_eq!(
            parse_delivery("push", test),
            Ok(Wake { repo_id: 1, number: None, kind: WakeKind::Test, by: Some(4) })
        );
        assert_eq!(
            parse_delivery("from_the_future", b"{}"),
            Ok(Wake { repo_id: 0, number: None, kind: WakeKind::Ignored, by: None })
        );
        assert_eq!(parse_delivery("issues", br#"{"issue":{"number":1}}"#), Err(ParseError::NoRepository));
        assert!(matches!(parse_delivery("push", b"{"), Err(ParseError::Json(_))));
    }
}
