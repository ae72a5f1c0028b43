//! An issue on the forge for each branch that diverged from its upstream, as one does whose upstream was rewritten: one for each branch for
//! ever, found again by its mark, opened again when that happens again, and closed by the bot once that is over, the upstream has no such
//! branch any more, or it is not kept in step.
//!
//! Owns when it is looked for: where a comparison gives other texts than the last one that was told, and once in the life of the process.
//! Tests: `tests/stories/upstream.rs`.

use crate::checkpoint::mark;
use crate::config::Secret;
use crate::forge::{Account, Forge, ForgeError, Issue, IssueEdit, RepoRef};
use crate::git::Branch;
use crate::message::{rewritten_body, rewritten_gone, rewritten_over, rewritten_title, rewritten_unfollowed};
use crate::upstream::{BranchRelation, Moved, Synced};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What the issue about a branch says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct IssueText {
    body: String,
    /// Whether it is open with that; one that is not is never opened for it.
    open: bool,
}

/// What is said of each branch that is kept in step; none where another comparison knows more.
type BranchTexts = Vec<(Branch, Option<IssueText>)>;

/// Tells people on the forge of branches that diverged from their upstreams.
pub struct RewrittenIssues {
    forge: Arc<dyn Forge>,
    /// The bot's own account.
    me: Account,
    /// Key of the marks by which its own issues are found again.
    key: Secret,
    /// What was told last of each repository in this life.
    known_texts: Mutex<HashMap<String, BranchTexts>>,
}

impl RewrittenIssues {
    pub fn new(forge: Arc<dyn Forge>, me: Account, key: Secret) -> Self {
        Self { forge, me, key, known_texts: Mutex::default() }
    }

    /// Brings the issues of a repository to what a comparison found.
    ///
    /// # Errors
    /// Those of the forge; the next comparison tries again.
    pub async fn tell(&self, at: &RepoRef, key: &str, synced: &Synced) -> Result<(), ForgeError> {
        let texts: BranchTexts = synced
            .branches
            .iter()
            .map(|(branch, moved)| (branch.clone(), issue_text(key, branch.as_str(), moved)))
            .collect();
        if self.known_texts.lock().unwrap_or_else(PoisonError::into_inner).get(key) == Some(&texts) {
            return Ok(());
        }
        let mut ours = self.forge.issues_by(at, &self.me.login).await?;
        ours.retain(|issue| issue.author.id == self.me.id);
        ours.sort_by_key(|issue| issue.number);
        // One that is opened while pages are read shifts another onto the next page too.
        ours.dedup_by_key(|issue| issue.number);
        for (branch, text) in &texts {
            if let Some(text) = text {
                self.one(at, (key, branch), text, &ours).await?;
            }
        }
        self.leave_others(at, (key, &texts), &ours).await?;
        self.known_texts.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), texts);
        Ok(())
    }

    async fn one(
        &self,
        at: &RepoRef,
        (key, branch): (&str, &Branch),
        text: &IssueText,
        issues: &[Issue],
    ) -> Result<(), ForgeError> {
        let name = mark_name(key, branch);
        let body = || self.marked(&text.body, &name);
        let mut all = issues.iter().filter(|issue| mark::is_of(self.key.bytes(), &name, &issue.body));
        let known = all.next();
        // Of two that crossed, the older one stays.
        for twin in all.filter(|issue| issue.open) {
            self.edit(at, twin.number, None, false).await?;
        }
        match known {
            None if text.open => {
                let issue = self.forge.open_issue(at, &rewritten_title(branch.as_str()), &body()).await?;
                tracing::info!(
                    repository = key,
                    issue = issue.number,
                    "people are told that a branch has diverged from the upstream's"
                );
            }
            // One that a person closed stays closed until there is something new to say.
            Some(issue) if text.open && issue.body.trim_end() == body().trim_end() => {}
            Some(issue) if text.open || issue.open => {
                self.edit(at, issue.number, Some(body()), text.open).await?;
            }
            None | Some(_) => {}
        }
        Ok(())
    }

    /// Closes the issues about branches that are not kept in step any more.
    async fn leave_others(
        &self,
        at: &RepoRef,
        (key, texts): (&str, &BranchTexts),
        issues: &[Issue],
    ) -> Result<(), ForgeError> {
        let secret = self.key.bytes();
        for issue in issues.iter().filter(|issue| issue.open) {
            let Some(name) = mark::find_below(secret, &mark_prefix(key), &issue.body) else { continue };
            let kept = texts.iter().any(|(branch, _)| mark::is_of(secret, &mark_name(key, branch), &issue.body));
            if !kept {
                let body = self.marked(&rewritten_unfollowed(), &name);
                self.edit(at, issue.number, Some(body), false).await?;
            }
        }
        Ok(())
    }

    fn marked(&self, text: &str, name: &str) -> String {
        format!("{text}\n\n{}", mark::mark(self.key.bytes(), name))
    }

    async fn edit(&self, at: &RepoRef, number: u64, body: Option<String>, open: bool) -> Result<(), ForgeError> {
        self.forge.edit_issue(at, number, &IssueEdit { body, open: Some(open) }).await
    }
}

fn mark_prefix(key: &str) -> String {
    format!("rewritten:{key}:")
}

fn mark_name(key: &str, branch: &Branch) -> String {
    format!("{}{branch}", mark_prefix(key))
}

fn issue_text(key: &str, branch: &str, moved: &Moved) -> Option<IssueText> {
    let (body, open) = match moved {
        // Another comparison knows more.
        Moved::Raced => return None,
        Moved::Left(BranchRelation::Rewritten { ours, theirs, .. }) => {
            (rewritten_body(key, branch, ours, theirs), true)
        }
        Moved::Left(BranchRelation::Gone) => (rewritten_gone(branch), false),
        Moved::Left(
            BranchRelation::Same(_)
            | BranchRelation::New(_)
            | BranchRelation::Behind { .. }
            | BranchRelation::Ahead { .. },
        )
        | Moved::Brought(_) => (rewritten_over(branch), false),
    };
    Some(IssueText { body, open })
}
