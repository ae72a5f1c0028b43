//! What is kept of a decision where no task is at work: who asked for what, by which text, and what was decided. A task's own are in its log.
//!
//! A row stands before the answer is posted, and once however often the text is read. Tests: `tests/stories/audit.rs`.

use crate::clock::now;
use crate::config::process::Repository;
use crate::redact;
use crate::store::{AuditOutcome, NewAudit, RequestText, Store};
use crate::text::{code, cut};
use crate::trouble::Trouble;
use domain::{Account, Source};

/// The most characters that are kept beside a decision.
const MOST: usize = 200;

/// Who asks for something, by which text, and by which command.
#[derive(Debug, Clone, Copy)]
pub struct Asking<'a> {
    /// The forge's id of the text's author.
    pub id: i64,
    /// The author's login.
    pub login: &'a str,
    /// Where the text stands.
    pub source: &'a Source,
    /// The command that it gives, or stands for, without its slash.
    pub command: &'a str,
}

impl Asking<'_> {
    /// As it is kept of the text with this key, on this issue or pull request.
    pub fn on(&self, entry: &Repository, number: u64, key: &str) -> RequestText {
        RequestText {
            repository: entry.key.clone(),
            key: key.to_owned(),
            number,
            source: self.source.clone(),
            author: Account { id: self.id, login: self.login.to_owned() },
            command: self.command.to_owned(),
        }
    }
}

/// Keeps what was decided.
pub struct Audit {
    pub(super) store: Store,
}

impl Audit {
    /// Keeps what was decided about a text.
    ///
    /// # Errors
    /// When the store cannot be written, or another host works for the repository.
    pub(super) async fn note_decided(
        &self,
        asked: RequestText,
        outcome: AuditOutcome,
        detail: &str,
    ) -> Result<(), Trouble> {
        let detail = redact::in_words(detail);
        let detail = cut(&detail, MOST).0.to_owned();
        Ok(self.store.note_decided(NewAudit { asked, outcome, detail, now: now() }).await?)
    }

    /// Keeps that the text with this key is refused, with the reason out of what is answered.
    ///
    /// # Errors
    /// When the store cannot be written, or another host works for the repository.
    pub async fn note_refused(
        &self,
        entry: &Repository,
        number: u64,
        key: &str,
        asking: Asking<'_>,
        answer: &str,
    ) -> Result<(), Trouble> {
        let why = reason(answer, asking.login);
        self.note_decided(asking.on(entry, number, key), AuditOutcome::Refused, why).await
    }
}

/// Why something is refused: the first sentence of the answer, without the name that it begins with.
fn reason<'a>(answer: &'a str, login: &str) -> &'a str {
    let name = format!("{}: ", code(login));
    let rest = answer.strip_prefix(name.as_str()).unwrap_or(answer);
    let line = rest.lines().next().unwrap_or_default();
    line.split(". ").next().unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::reason;
    use crate::message::{not_among, refused};

    #[test]
    fn a_reason_is_one_sentence_without_a_name() {
        assert_eq!(reason(&refused("bob", "fix"), "bob"), "`/fix` is for those who may write to the repository");
        let listed = reason(&not_among("bob", "fix", "alice"), "bob").to_owned();
        assert_eq!(listed, "`/fix` is for alice here, as the operator of this bot set it (`who.fix`)");
        assert_eq!(reason("No.\n\nAnd no. Never.", "bob"), "No.");
        assert_eq!(reason("", "bob"), "");
    }
}
