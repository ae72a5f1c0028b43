//! Parses a stored delivery to a [`Wake`] and a [`DeliveredText`]: pure, total, tolerant of unknown fields and types.
//! Uses `X-Gitea-Event-Type`, because `X-Gitea-Event` is ambiguous: a comment *review* arrives as `pull_request_comment`.
//! The type must agree with the body, because headers aren't signed. Tests: `tests/fixtures.rs`, over every recorded delivery.

use crate::forge::event::{Wake, WakeKind};
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// Why a delivery can't be parsed.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParseError {
    /// The body is no JSON, or a field has an unexpected type.
    #[error("the body is not the JSON of a delivery: {0}")]
    Json(String),
    /// The body names no repository, which its event type requires.
    #[error("the body names no repository")]
    NoRepository,
    /// The body lacks a field that its event type requires.
    #[error("the body does not fit the event type {event_type:?}: {missing} is missing")]
    Disagrees {
        /// The delivery's event type, as its header gives it.
        event_type: String,
        /// The field that is missing.
        missing: &'static str,
    },
}

#[derive(Deserialize)]
struct Body {
    repository: Option<Id>,
    issue: Option<Numbered>,
    pull_request: Option<Numbered>,
    comment: Option<Id>,
    review: Option<Value>,
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

/// What to read again because of this delivery; unknown types are [`WakeKind::Ignored`], so that a newer forge is no error.
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
            // The forge's test delivery is a push from a commit to itself.
            (if after == body.before.as_deref() { WakeKind::Test } else { WakeKind::Push }, None)
        }
        _ => (WakeKind::Ignored, None),
    };
    // Ignored types need no repository (some organisation events have none).
    let repo_id = match (repo_id, kind) {
        (Some(id), _) => id,
        (None, WakeKind::Ignored) => 0,
        (None, _) => return Err(ParseError::NoRepository),
    };
    Ok(Wake { repo_id, number, kind, by: body.sender.map(|account| account.id) })
}

/// What a delivery says about one text: evidence of what was written, never a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveredText {
    /// What was done to the text.
    pub act: Act,
    /// The issue's title; empty for a comment.
    pub title: String,
    /// The text itself, of the issue or comment; empty where the delivery has none.
    pub body: String,
}

/// What happened to a text according to a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// It was posted with this content.
    Posted,
    /// Somebody changed it.
    Edited,
    /// Anything else, such as a deletion, or an edit that left it as it was.
    Other,
}

#[derive(Deserialize)]
struct Spoken {
    action: Option<String>,
    issue: Option<Words>,
    comment: Option<Words>,
    #[serde(default)]
    changes: Value,
}

#[derive(Default, Deserialize)]
struct Words {
    #[serde(default)]
    title: String,
    #[serde(default)]
    body: Option<String>,
}

impl Words {
    /// Whether an edit with these changes left the text as it was: a file that is attached to it is delivered as an edit.
    fn stay(&self, changes: &Value) -> bool {
        let before = changes["body"]["from"].as_str();
        changes["title"].is_null() && before == Some(self.body.as_deref().unwrap_or_default())
    }
}

/// The text that a delivery is about, `comment:17` or `issue:5`, or the issue that was assigned or labelled, `signs:5`; none for anything else.
/// An error only for a body that is no JSON.
pub fn subject(event_type: &str, body: &[u8]) -> Result<Option<String>, ParseError> {
    #[derive(Deserialize)]
    struct Body {
        issue: Option<Id>,
        comment: Option<Id>,
    }
    let (kind, of): (_, fn(Body) -> Option<Id>) = match event_type {
        "issue_comment" | "pull_request_comment" => ("comment", |body| body.comment),
        "issues" => ("issue", |body| body.issue),
        "issue_assign" | "issue_label" => ("signs", |body| body.issue),
        _ => ("", |_| None),
    };
    match serde_json::from_slice::<Body>(body) {
        Ok(body) => Ok(of(body).map(|id| format!("{kind}:{}", id.id))),
        // JSON of another form is about no known text.
        Err(_) => match serde_json::from_slice::<serde::de::IgnoredAny>(body) {
            Ok(_) => Ok(None),
            Err(e) => Err(ParseError::Json(e.to_string())),
        },
    }
}

/// What a delivery with a [`subject`] says about it.
pub fn delivered_text(event_type: &str, body: &[u8]) -> Result<DeliveredText, ParseError> {
    let spoken: Spoken = serde_json::from_slice(body).map_err(|e| ParseError::Json(e.to_string()))?;
    let words = if event_type == "issues" { spoken.issue } else { spoken.comment };
    let words = words.unwrap_or_default();
    let act = match spoken.action.as_deref() {
        Some("created" | "opened") => Act::Posted,
        Some("edited") if !words.stay(&spoken.changes) => Act::Edited,
        _ => Act::Other,
    };
    Ok(DeliveredText { act, title: words.title, body: words.body.unwrap_or_default() })
}

/// What a delivery says about an issue's text at the time of an event: evidence, never a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveredIssue {
    /// Whether the text was edited by this event.
    pub edited: bool,
    /// Id of the account that assigned or labelled the issue, where that is what happened.
    pub signed_by: Option<i64>,
    /// The issue's title then.
    pub title: String,
    /// Its text then; empty where there was none.
    pub body: String,
    /// When the issue had changed last then, in Unix milliseconds.
    pub at: i64,
}

/// What a delivery about an issue says of the issue; none where it holds no issue with a time.
pub fn delivered_issue(body: &[u8]) -> Option<DeliveredIssue> {
    #[derive(Deserialize)]
    struct Document {
        action: Option<String>,
        sender: Option<Sender>,
        issue: Timed,
        #[serde(default)]
        changes: Value,
    }
    #[derive(Deserialize)]
    struct Sender {
        id: i64,
    }
    #[derive(Deserialize)]
    struct Timed {
        #[serde(flatten)]
        words: Words,
        updated_at: jiff::Timestamp,
    }
    let Document { action, sender, issue: Timed { words, updated_at }, changes } = serde_json::from_slice(body).ok()?;
    let edited = action.as_deref() == Some("edited") && !words.stay(&changes);
    let signed = matches!(action.as_deref(), Some("assigned" | "label_updated"));
    Some(DeliveredIssue {
        edited,
        signed_by: sender.map(|sender| sender.id).filter(|_| signed),
        title: words.title,
        body: words.body.unwrap_or_default(),
        at: updated_at.as_millisecond(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_says_which_text_it_is_about() {
        let comment =
            br#"{"action":"edited","issue":{"id":5,"title":"t","body":"b"},"comment":{"id":17,"body":"new"}}"#;
        assert_eq!(subject("issue_comment", comment), Ok(Some("comment:17".into())));
        assert_eq!(subject("pull_request_comment", comment), Ok(Some("comment:17".into())));
        let told_of = DeliveredText { act: Act::Edited, title: String::new(), body: "new".into() };
        assert_eq!(delivered_text("issue_comment", comment), Ok(told_of));
        let opened = br#"{"action":"opened","issue":{"id":5,"title":"t","body":"b"}}"#;
        assert_eq!(subject("issues", opened), Ok(Some("issue:5".into())));
        assert_eq!(
            delivered_text("issues", opened),
            Ok(DeliveredText { act: Act::Posted, title: "t".into(), body: "b".into() })
        );
        assert_eq!(subject("issue_label", opened), Ok(Some("signs:5".into())));
        assert_eq!(subject("issue_assign", opened), Ok(Some("signs:5".into())));
        assert_eq!(subject("push", b"{}"), Ok(None));
        assert!(subject("push", b"{").is_err() && subject("issues", b"{").is_err());
        for strange in [&b"{}"[..], br#"{"issue":{"number":1}}"#, br#"{"issue":"x"}"#, b"[]"] {
            assert_eq!(subject("issues", strange), Ok(None), "not as it should be, and still JSON");
        }
    }

    #[test]
    fn an_edit_that_leaves_the_text_as_it_was_is_none() {
        for (changes, act) in [
            (r#"{"body":{"from":"b"},"added_labels":null}"#, Act::Other),
            (r#"{"body":{"from":"a"}}"#, Act::Edited),
            (r#"{"body":{"from":"b"},"title":{"from":"s"}}"#, Act::Edited),
            (r#"{"title":{"from":"s"}}"#, Act::Edited),
            ("null", Act::Edited),
        ] {
            let text = r#"{"id":5,"title":"t","body":"b","updated_at":"2026-11-26T13:00:02Z"}"#;
            let body = format!(r#"{{"action":"edited","changes":{changes},"issue":{text},"comment":{text}}}"#);
            for event_type in ["issues", "issue_comment"] {
                assert_eq!(delivered_text(event_type, body.as_bytes()).unwrap().act, act, "{event_type} {changes}");
            }
            assert_eq!(delivered_issue(body.as_bytes()).unwrap().edited, act == Act::Edited, "{changes}");
        }
        let empty = br#"{"action":"edited","changes":{"body":{"from":""}},"issue":{"id":5,"title":"t","body":null}}"#;
        assert_eq!(delivered_text("issues", empty).unwrap().act, Act::Other);
    }

    #[test]
    fn a_delivery_says_how_an_issue_read_and_when() {
        let body = br#"{"action":"assigned","sender":{"id":9},"issue":{"id":5,"title":"t","body":null,"updated_at":"2026-11-26T13:00:02+01:00"}}"#;
        let told = delivered_issue(body).unwrap();
        assert_eq!((told.edited, told.title.as_str(), told.body.as_str()), (false, "t", ""));
        assert_eq!((told.at, told.signed_by), (1_795_694_402_000, Some(9)));
        let closed = String::from_utf8_lossy(body).replace("assigned", "closed").into_bytes();
        assert_eq!(delivered_issue(&closed).unwrap().signed_by, None);
        assert!(
            delivered_issue(&String::from_utf8_lossy(body).replace("assigned", "edited").into_bytes()).unwrap().edited
        );
        for strange in [&b"{}"[..], br#"{"issue":{"title":"t"}}"#, b"[]", b"{"] {
            assert_eq!(delivered_issue(strange), None);
        }
    }

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
