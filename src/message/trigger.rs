//! Answers to what stands for a command and begins nothing.

use super::answer::{not_among, refused};
use crate::text::code;
use domain::{TaskKind, Trigger};

/// What somebody did, after their name.
fn did(trigger: &Trigger) -> String {
    match trigger {
        Trigger::Assigned => "assigning this issue to me".to_owned(),
        Trigger::Label { name } => format!("the label {}", code(name)),
        Trigger::Writer => "opening an issue".to_owned(),
    }
}

/// Somebody without the right to the command did what stands for it; `whom` are those whom the operator lets give it, where that is why.
pub fn trigger_refused(login: &str, trigger: &Trigger, kind: TaskKind, whom: Option<&str>) -> String {
    let why = match whom {
        Some(whom) => not_among(login, kind.name(), whom),
        None => refused(login, kind.name()),
    };
    let command = code(&format!("/{}", kind.name()));
    format!("{why}\n\nHere {} stands for {command}, so it is for the same people. No task was started.", did(trigger))
}

/// The issue was changed after somebody did what stands for a command.
pub fn trigger_edited(login: &str, trigger: &Trigger, kind: TaskKind) -> String {
    let command = code(&format!("/{}", kind.name()));
    let again = match trigger {
        Trigger::Assigned => format!("assign it to me anew, or write {command}"),
        Trigger::Label { .. } => format!("take the label off and put it on again, or write {command}"),
        Trigger::Writer => format!("write {command}"),
    };
    let since = match trigger {
        Trigger::Assigned => "after it was assigned to me",
        Trigger::Label { .. } => "after it got its label",
        Trigger::Writer => "after it was opened",
    };
    format!(
        "{}: this issue was changed {since}, or nothing shows that it was not, so no task was started. If it says what you mean, {again}.",
        code(login)
    )
}
