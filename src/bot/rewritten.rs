//! An issue on the forge for each branch whose upstream was rewritten: one for each branch for ever, found again by its mark, opened again when
//! that happens again, and closed by the bot once the branch is in step.
//!
//! Owns when it is looked for: where a comparison found something else than the last one that was told, and once in the life of the process.
//! Tests: `tests/stories/upstream.rs`.

use crate::checkpoint::mark;
use crate::config::Secret;
use crate::forge::{Account, Forge, ForgeError, Issue, IssueEdit, RepoRef};
use crate::git::Branch;
use crate::message::{rewritten_body, rewritten_over, rewritten_title};
use crate::upstream::{Moved, Synced};
use domain::Commit;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The branches that are rewritten: the forge's commit and the upstream's.
type BranchRewrites = Vec<(Branch, Commit, Commit)>;

/// Tells people on the forge of rewritten upstreams.
pub struct RewrittenIssues {
    forge: Arc<dyn Forge>,
    /// The bot's own account.
    me: Account,
    /// Key of the marks by which its own issues are found again.
    key: Secret,
    /// What was told last of each repository in this life.
    known_rewrites: Mutex<HashMap<String, BranchRewrites>>,
}

impl RewrittenIssues {
    pub fn new(forge: Arc<dyn Forge>, me: Account, key: Secret) -> Self {
        Self { forge, me, key, known_rewrites: Mutex::default() }
    }

    /// Brings the issues of a repository to what a comparison found.
    ///
    /// # Errors
    /// Those of the forge; the next comparison tries again.
    pub async fn tell(&self, at: &RepoRef, key: &str, synced: &Synced) -> Result<(), ForgeError> {
        let found: BranchRewrites =
            synced.rewritten().map(|(branch, ours, theirs)| (branch.clone(), ours.clone(), theirs.clone())).collect();
        if self.known_rewrites.lock().unwrap_or_else(PoisonError::into_inner).get(key) == Some(&found) {
            return Ok(());
        }
        let mut ours = self.forge.issues_by(at, &self.me.login).await?;
        ours.retain(|issue| issue.author.id == self.me.id);
        ours.sort_by_key(|issue| issue.number);
        for (branch, moved) in &synced.branches {
            // Another comparison knows more.
            if *moved != Moved::Raced {
                let commits = found.iter().find(|(rewritten, ..)| rewritten == branch);
                self.one(at, (key, branch), commits.map(|(_, ours, theirs)| (ours, theirs)), &ours).await?;
            }
        }
        self.known_rewrites.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), found);
        Ok(())
    }

    async fn one(
        &self,
        at: &RepoRef,
        (key, branch): (&str, &Branch),
        commits: Option<(&Commit, &Commit)>,
        issues: &[Issue],
    ) -> Result<(), ForgeError> {
        let name = format!("rewritten:{key}:{branch}");
        let marked = |text: String| format!("{text}\n\n{}", mark::mark(self.key.bytes(), &name));
        let mut all = issues.iter().filter(|issue| mark::is_of(self.key.bytes(), &name, &issue.body));
        let known = all.next();
        // Of two that crossed, the older one stays.
        for twin in all.filter(|issue| issue.open) {
            self.edit(at, twin.number, None, false).await?;
        }
        match (known, commits) {
            (None, None) => {}
            (None, Some((ours, theirs))) => {
                let body = marked(rewritten_body(key, branch.as_str(), ours, theirs));
                let issue = self.forge.open_issue(at, &rewritten_title(branch.as_str()), &body).await?;
                tracing::info!(
                    repository = key,
                    issue = issue.number,
                    "people are told that the upstream was rewritten"
                );
            }
            // One that a person closed stays closed until there is something new to say.
            (Some(issue), Some((ours, theirs))) => {
                let body = marked(rewritten_body(key, branch.as_str(), ours, theirs));
                if issue.body.trim_end() != body.trim_end() {
                    self.edit(at, issue.number, Some(body), true).await?;
                }
            }
            (Some(issue), None) if issue.open => {
                self.edit(at, issue.number, Some(marked(rewritten_over(branch.as_str()))), false).await?;
            }
            (Some(_), None) => {}
        }
        Ok(())
    }

    async fn edit(&self, at: &RepoRef, number: u64, body: Option<String>, open: bool) -> Result<(), ForgeError> {
        self.forge.edit_issue(at, number, &IssueEdit { body, open: Some(open) }).await
    }
}
