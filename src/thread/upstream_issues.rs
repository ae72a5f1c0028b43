//! Issues of an upstream on GitHub that have the operator's label there: each is opened here once, by the bot, and people are told once that it
//! is closed there. A row says which is which; the mark in the issue's text finds it again where the row was not written.
//!
//! Owns the order of these steps, each of which may be repeated. Opens work for nobody: that takes a writer's own command. Tests:
//! `tests/stories/upstream_issues.rs`.

use super::Threads;
use super::accounts::Accounts;
use super::answer::Answers;
use crate::checkpoint::mark;
use crate::config::Process;
use crate::config::process::Repository;
use crate::forge::{Forge, ForgeError, Issue, IssueEdit, IssueLocks, RepoRef, RepositoryAddresses};
use crate::message::{upstream_issue_body, upstream_issue_closed, upstream_issue_title};
use crate::secret::Secret;
use crate::store::{Store, UpstreamIssueRow};
use crate::trouble::Trouble;
use crate::upstream::{GitHub, IssueState, SourceNow, UpstreamIssue, Upstreams};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// Issues that are opened in one round, and those that are looked at because they are not listed any more.
const MOST_NEW: usize = 50;
const MOST_LOOKS: usize = 100;

/// An upstream as it is now, and the repository here.
struct Pair<'a> {
    entry: &'a Repository,
    at: RepoRef,
    github: GitHub,
    source: SourceNow,
}

/// Opens issues of an upstream here.
pub struct IssueImports {
    config: Arc<Process>,
    store: Store,
    forge: Arc<dyn Forge>,
    addresses: Arc<RepositoryAddresses>,
    accounts: Arc<Accounts>,
    answers: Arc<Answers>,
    /// What keeps repositories in step with their upstreams.
    upstreams: Arc<Upstreams>,
    /// Key of the marks by which its issues are found again.
    mark_key: Secret,
    /// One round of a repository at a time.
    rounds: IssueLocks,
}

impl IssueImports {
    /// `mark_key` is that of the marks in the bot's posts; what is closed upstream is told by the answers of `threads`.
    pub fn new(
        config: Arc<Process>,
        store: Store,
        addresses: Arc<RepositoryAddresses>,
        upstreams: Arc<Upstreams>,
        mark_key: Secret,
        threads: &Threads,
    ) -> Self {
        let forge = addresses.forge().clone();
        let (accounts, answers) = (threads.accounts.clone(), threads.answers.clone());
        let rounds = IssueLocks::default();
        Self { config, store, forge, addresses, accounts, answers, upstreams, mark_key, rounds }
    }

    /// Opens here what is new upstream, where the operator names a label, and says what was closed there. Gives how many were opened. One round
    /// of a repository at a time.
    ///
    /// # Errors
    /// When GitHub, the forge or the store cannot answer now, or it is not certain that the upstream is the one that was added; the next round
    /// goes on from there.
    pub async fn bring_upstream_issues(&self, entry: &Repository) -> Result<usize, Trouble> {
        let Some(label) = self.config.upstream_label_of(&entry.key) else { return Ok(0) };
        // Whoever has the name now may be somebody else: a comparison has to have noted the number first.
        if entry.upstream_id == 0 {
            tracing::debug!(
                repository = entry.key,
                "its upstream's issues are not read: its entry has no upstream_id yet"
            );
            return Ok(0);
        }
        let _round = self.rounds.enter(&entry.key, 0).await;
        let Some((github, source)) = self.upstreams.on_github(entry).await.map_err(later)? else {
            tracing::debug!(
                repository = entry.key,
                "its upstream's issues are not read: GitHub does not say which one it is"
            );
            return Ok(0);
        };
        let pair = Pair { entry, at: self.addresses.look(entry).await?, github, source };
        let open = pair.github.labelled(&pair.source.name, &label).await.map_err(later)?;
        let rows: HashMap<u64, UpstreamIssueRow> = self.rows(&pair).await?;
        let is_new = |issue: &&UpstreamIssue| rows.get(&issue.number).is_none_or(|row| row.issue == 0);
        let new: Vec<&UpstreamIssue> = open.iter().filter(is_new).take(MOST_NEW).collect();
        let opened = self.open_each(&pair, &new, &rows).await?;
        let listed: HashSet<u64> = open.iter().map(|issue| issue.number).collect();
        let mut unlisted: Vec<UpstreamIssueRow> =
            rows.into_values().filter(|row| !row.closed && !listed.contains(&row.number)).collect();
        unlisted.sort_by_key(|row| row.number);
        next_looks(&mut unlisted, crate::clock::now() / 60_000);
        let mut failed = None;
        for row in self.found_again(&pair, unlisted).await? {
            // What GitHub does not say of one it says of none now; a comment that is not taken here keeps no other back.
            let state = pair.github.issue_state(&pair.source.name, row.number).await.map_err(later)?;
            match self.tell_if_closed(&pair, row, state).await {
                Ok(()) => {}
                Err(moved @ Trouble::Moved { .. }) => return Err(moved),
                Err(trouble) => failed = failed.or(Some(trouble)),
            }
        }
        failed.map_or(Ok(opened), Err)
    }

    async fn rows(&self, pair: &Pair<'_>) -> Result<HashMap<u64, UpstreamIssueRow>, Trouble> {
        let rows = self.store.upstream_issues((&pair.entry.key, pair.entry.id), pair.source.id).await?;
        Ok(rows.into_iter().map(|row| (row.number, row)).collect())
    }

    /// These rows with the issue of each that was being opened when the bot was killed; those that were never opened are left out from now on.
    async fn found_again(
        &self,
        pair: &Pair<'_>,
        rows: Vec<UpstreamIssueRow>,
    ) -> Result<Vec<UpstreamIssueRow>, Trouble> {
        if rows.iter().all(|row| row.issue != 0) {
            return Ok(rows);
        }
        // A request that was cut may still arrive.
        tokio::time::sleep(Duration::from_millis(self.config.forge.settle_ms)).await;
        let ours = self.own_marked(pair).await?;
        let mut stand = Vec::new();
        for row in rows {
            let found = Some(row.issue).filter(|issue| *issue != 0);
            let found = found.or_else(|| ours.get(&sign(pair, row.number)).copied());
            let now = UpstreamIssueRow { issue: found.unwrap_or(0), closed: found.is_none(), ..row };
            if now != row {
                self.store.keep_upstream_issue(&pair.entry.key, now).await?;
            }
            stand.extend(found.map(|_| now));
        }
        Ok(stand)
    }

    async fn open_each(
        &self,
        pair: &Pair<'_>,
        new: &[&UpstreamIssue],
        rows: &HashMap<u64, UpstreamIssueRow>,
    ) -> Result<usize, Trouble> {
        if new.is_empty() {
            return Ok(0);
        }
        if new.iter().any(|issue| rows.contains_key(&issue.number)) {
            // A request that was cut may still arrive.
            tokio::time::sleep(Duration::from_millis(self.config.forge.settle_ms)).await;
        }
        let ours = self.own_marked(pair).await?;
        // The younger of two is closed: the older one is named from now on.
        for row in rows.values().filter(|row| row.issue != 0) {
            if let Some(issue) = ours.get(&sign(pair, row.number)).copied().filter(|older| *older < row.issue) {
                self.store.keep_upstream_issue(&pair.entry.key, UpstreamIssueRow { issue, ..*row }).await?;
            }
        }
        let mut opened = 0;
        for issue in new {
            let (forge_id, upstream, number) = (pair.entry.id, pair.source.id, issue.number);
            let row = UpstreamIssueRow { forge_id, upstream, number, issue: 0, closed: false };
            let issue = match ours.get(&sign(pair, issue.number)) {
                Some(number) => *number,
                None => {
                    self.store.keep_upstream_issue(&pair.entry.key, row).await?;
                    let Some(number) = self.open(pair, issue).await? else { continue };
                    opened += 1;
                    number
                }
            };
            self.store.keep_upstream_issue(&pair.entry.key, UpstreamIssueRow { issue, ..row }).await?;
        }
        if opened > 0 {
            tracing::info!(repository = pair.entry.key, opened, "issues of the upstream were opened here");
        }
        Ok(opened)
    }

    /// The bot's own issues with a mark, by what it says; of two with the same one the younger is closed.
    async fn own_marked(&self, pair: &Pair<'_>) -> Result<HashMap<String, u64>, Trouble> {
        let mut ours: Vec<Issue> = self.forge.issues_by(&pair.at, &self.accounts.me.login).await?;
        ours.retain(|issue| issue.author.id == self.accounts.me.id);
        ours.sort_by_key(|issue| issue.number);
        // One that is opened while pages are read shifts another onto the next page too.
        ours.dedup_by_key(|issue| issue.number);
        let mut found = HashMap::new();
        for issue in ours {
            let Some(key) = mark::find(self.mark_key.bytes(), &issue.body) else { continue };
            let is_ours = key.starts_with(&sign_prefix(pair));
            match found.get(&key) {
                None => {
                    found.insert(key, issue.number);
                }
                Some(_) if is_ours && issue.open => {
                    let close = IssueEdit { body: None, open: Some(false) };
                    self.forge.edit_issue(&pair.at, issue.number, &close).await?;
                }
                Some(_) => {}
            }
        }
        Ok(found)
    }

    /// Opens one; none where the forge refuses its text for good, which keeps no other back.
    async fn open(&self, pair: &Pair<'_>, issue: &UpstreamIssue) -> Result<Option<u64>, Trouble> {
        let page = pair.github.issue_page(&pair.source.name, issue.number);
        let text = upstream_issue_body(&pair.source.name, &page, issue);
        let body = format!("{text}\n\n{}", mark::mark(self.mark_key.bytes(), &sign(pair, issue.number)));
        match self.forge.open_issue(&pair.at, &upstream_issue_title(issue), &body).await {
            Ok(opened) => Ok(Some(opened.number)),
            Err(error @ (ForgeError::Invalid(_) | ForgeError::TooLarge(_))) => {
                let (repository, number) = (&pair.entry.key, issue.number);
                tracing::warn!(repository, number, %error, "an issue of the upstream is not opened here: the forge refuses it");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn tell_if_closed(&self, pair: &Pair<'_>, row: UpstreamIssueRow, state: IssueState) -> Result<(), Trouble> {
        let gone = match state {
            // Only the label was taken away.
            IssueState::Open => return Ok(()),
            IssueState::Closed => false,
            IssueState::Gone => true,
        };
        let page = pair.github.issue_page(&pair.source.name, row.number);
        let text = upstream_issue_closed(&pair.source.name, &page, row.number, gone);
        let key = format!("upstream-closed:{}:{}:{}:{}", pair.entry.key, row.forge_id, row.upstream, row.number);
        match self.answers.answer_once(pair.entry, row.issue, &key, &text).await {
            // It was deleted here: nobody is left to be told.
            Err(Trouble::Later { .. } | Trouble::Doubtful { .. }) if self.is_gone(pair, row.issue).await => {}
            told => told?,
        }
        self.store.keep_upstream_issue(&pair.entry.key, UpstreamIssueRow { closed: true, ..row }).await?;
        Ok(())
    }

    async fn is_gone(&self, pair: &Pair<'_>, issue: u64) -> bool {
        matches!(self.forge.issue(&pair.at, issue).await, Err(ForgeError::NotFound(_)))
            && self.accounts.forge_answers().await
    }
}

/// Leaves those that are looked at in this minute. Each round begins somewhere else, however long it is, so that each has its turn, also where
/// there are too many for a round, or GitHub never answers for one.
fn next_looks(unlisted: &mut Vec<UpstreamIssueRow>, minute: i64) {
    if unlisted.len() > 1 {
        let spread = minute.unsigned_abs().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        let first = usize::try_from(spread).unwrap_or_default() % unlisted.len();
        unlisted.rotate_left(first);
        unlisted.truncate(MOST_LOOKS);
    }
}

/// What the mark of an issue says; the installation's key signs it.
fn sign(pair: &Pair<'_>, number: u64) -> String {
    format!("{}{number}", sign_prefix(pair))
}

fn sign_prefix(pair: &Pair<'_>) -> String {
    format!("upstream-issue:{}:{}:", pair.entry.key, pair.source.id)
}

/// What passes, or takes an operator: a later round asks again.
fn later(error: impl std::fmt::Display) -> Trouble {
    Trouble::later(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_that_are_not_listed_each_has_its_turn() {
        let rows = |count: u64| -> Vec<UpstreamIssueRow> {
            let row = |number| UpstreamIssueRow { forge_id: 1, upstream: 2, number, issue: number, closed: false };
            (1..=count).map(row).collect()
        };
        for count in [3, 100, 101, 250, 300] {
            for round in [1, 10, 60] {
                let mut seen = HashSet::new();
                for minute in (29_000_000..).step_by(round).take(200) {
                    let mut looked = rows(count);
                    next_looks(&mut looked, minute);
                    assert!(looked.len() <= MOST_LOOKS);
                    seen.extend(looked.into_iter().map(|row| row.number));
                }
                assert_eq!(seen.len() as u64, count, "{count}, each {round} minutes");
            }
        }
    }
}
