//! `/test-pr --each-push`: a new head of a watched pull request is queued as a test run of whoever asked, while they may ask; and
//! `/test-pr --off`. Tests: `tests/stories/test_runs.rs`.

use super::Feed;
use super::test_runs::{TestRequests, meant};
use crate::clock::now;
use crate::config::process::Repository;
use crate::forge::{self, NewStatus, PullRequest, RepoRef, Status, StatusState};
use crate::message::{
    PushNotTested, is_test_status, is_test_waiting, push_not_tested, test_off, test_overtaken, test_waited, test_waits,
};
use crate::store::{Cause, WatchedPull};
use crate::trouble::Trouble;
use domain::{Access, Commit, TestRun};
use std::collections::HashMap;

/// How the names of the watermarks begin of commits whose statuses say that a run waits for room: since when, until they don't.
const WAITING: &str = "test-waits:";

/// How their names begin for one pull request and command.
fn waiting(key: &str, number: u64, run: &TestRun) -> String {
    format!("{WAITING}{key}:{number}:{}:", run.bug)
}

/// The name for the present head.
fn waiting_head(key: &str, pull: &PullRequest, run: &TestRun) -> String {
    format!("{}{}", waiting(key, pull.number, run), pull.head_sha)
}

impl TestRequests {
    /// `/test-pr --off` of `login`; `key` is the text's.
    pub(super) async fn test_off(
        &self,
        entry: &Repository,
        number: u64,
        key: &str,
        login: &str,
    ) -> Result<(), Trouble> {
        let watched = self.store.watched_pull(&entry.key, number).await?;
        if !watched.is_empty() {
            let at = self.addresses.at(entry)?;
            let pull = self.forge.pull(&at, number).await?;
            for one in &watched {
                self.end_earlier(&at, &entry.key, &pull, &one.run).await?;
                self.end_head(&at, &entry.key, &pull, &one.run).await?;
            }
        }
        self.store.unwatch_pull(&entry.key, number, &format!("{key}~off"), now()).await?;
        self.answers.answer_once(entry, number, key, &test_off(login)).await
    }

    /// Runs again what somebody asked for at each push, where this is a pull request that was pushed to since, and they may still ask. True
    /// where a run waits for room in the hour.
    ///
    /// # Errors
    /// Those of the forge and of the store; it is then tried again with the next reading.
    pub async fn test_push(&self, entry: &Repository, number: u64, feed: &dyn Feed) -> Result<bool, Trouble> {
        let watched = self.store.watched_pull(&entry.key, number).await?;
        if watched.is_empty() {
            return Ok(false);
        }
        let at = self.addresses.at(entry)?;
        let pull = self.forge.pull(&at, number).await?;
        self.moves.was_at(entry, &at, feed).await?;
        let mut waits = false;
        for one in &watched {
            waits |= self.test_head(entry, (&pull, &at), one).await?;
        }
        Ok(waits)
    }

    async fn test_head(
        &self,
        entry: &Repository,
        (pull, at): (&PullRequest, &RepoRef),
        seen: &WatchedPull,
    ) -> Result<bool, Trouble> {
        let (key, number) = (&entry.key, pull.number);
        self.end_earlier(at, key, pull, &seen.run).await?;
        if !pull.open {
            tracing::info!(repository = key, number, "closed, so nothing is run at its pushes any more");
            self.end_head(at, key, pull, &seen.run).await?;
            self.store.unwatch_seen(key, number, seen).await?;
            return Ok(false);
        }
        let Ok(commit) = Commit::parse(&pull.head_sha) else { return Ok(false) };
        if commit == seen.run.commit {
            return Ok(false);
        }
        let said = |why| push_not_tested(&seen.poster.login, &commit, why);
        let name = |what| format!("push:{key}:{number}:{}:{commit}~{what}", seen.run.bug);
        if let Some(why) = self.bars_push(entry, seen, (pull, at)).await? {
            self.answers.answer_once(entry, number, &name("ended"), &said(why)).await?;
            self.end_head(at, key, pull, &seen.run).await?;
            self.store.unwatch_seen(key, number, seen).await?;
            return Ok(false);
        }
        let (branch, base_branch) = (pull.head_ref.clone(), pull.base_ref.clone());
        let run = TestRun { branch, base_branch, commit: commit.clone(), ..seen.run.clone() };
        match self.queue(entry, number, Cause::Push(seen.clone()), &seen.poster, run).await? {
            Some(minutes) => {
                let why = PushNotTested::Full(self.config.tests.per_hour, minutes);
                self.answers.answer_once(entry, number, &name("full"), &said(why)).await?;
                self.show_waiting(at, key, pull, &seen.run).await?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Has the head's status say that its run waits for room, unless it has a status of such a run.
    async fn show_waiting(&self, at: &RepoRef, key: &str, pull: &PullRequest, run: &TestRun) -> Result<(), Trouble> {
        let (state, description) = (StatusState::Pending, test_waits(self.config.tests.per_hour));
        let (context, target_url) = (run.context().to_owned(), String::new());
        let newest = self.forge.statuses(at, &pull.head_sha).await?;
        let stands = |it: &Status| it.state == state || is_test_status(&it.description, run);
        if newest.iter().any(|it| it.context == context && stands(it)) {
            return Ok(());
        }
        // Noted first, so that a status which stands is known.
        self.store.set_watermark_of(key, &waiting_head(key, pull, run), now()).await?;
        let new = NewStatus { context, state, description, target_url };
        Ok(self.forge.post_status(at, &pull.head_sha, &new).await?)
    }

    /// Has the statuses of commits that the head was pushed over say that their runs, which waited for room, are not made. What the forge does not
    /// take now is tried again with the next reading, and keeps nothing back.
    async fn end_earlier(&self, at: &RepoRef, key: &str, pull: &PullRequest, run: &TestRun) -> Result<(), Trouble> {
        let begins = waiting(key, pull.number, run);
        for (name, since) in self.store.watermarks(&begins).await? {
            // Earlier versions left a 0 where it is over.
            let earlier = name.strip_prefix(&begins).filter(|it| since > 0 && *it != pull.head_sha);
            let Some(commit) = earlier else { continue };
            match self.show_waited(at, commit, run, test_overtaken()).await {
                Ok(()) => self.store.set_watermark_of(key, &name, 0).await?,
                Err(trouble) => tracing::warn!(%at, commit, %trouble, "its status still says that a run waits"),
            }
        }
        Ok(())
    }

    /// Has the head's status say that no run waits for room, because nothing is run at pushes any more, and forgets that one did.
    async fn end_head(&self, at: &RepoRef, key: &str, pull: &PullRequest, run: &TestRun) -> Result<(), Trouble> {
        self.show_waited(at, &pull.head_sha, run, test_waited()).await?;
        Ok(self.store.set_watermark_of(key, &waiting_head(key, pull, run), 0).await?)
    }

    /// Has a status of this commit that says that its run waits for room say with these words that it is not made: nobody makes it once another
    /// commit is the head, or nothing is run at pushes any more. A forge that refuses that keeps nothing from ending.
    async fn show_waited(&self, at: &RepoRef, commit: &str, run: &TestRun, words: &str) -> Result<(), Trouble> {
        match self.end_waiting(at, commit, run, words).await.map_err(Trouble::from) {
            Err(refused @ (Trouble::Doubtful { .. } | Trouble::Failed(_))) => {
                tracing::warn!(%at, commit, %refused, "the status of a run that waited could not be set");
                Ok(())
            }
            done => done,
        }
    }

    async fn end_waiting(&self, at: &RepoRef, commit: &str, run: &TestRun, words: &str) -> forge::Result<()> {
        let (context, state, target_url) = (run.context().to_owned(), StatusState::Error, String::new());
        let newest = self.forge.statuses(at, commit).await?;
        let waits = |it: &Status| it.state == StatusState::Pending && is_test_waiting(&it.description);
        if !newest.iter().any(|it| it.context == context && waits(it)) {
            return Ok(());
        }
        let new = NewStatus { context, state, description: words.to_owned(), target_url };
        self.forge.post_status(at, commit, &new).await
    }

    /// Why nothing is run at pushes to this pull request any more; none where it is.
    async fn bars_push(
        &self,
        entry: &Repository,
        seen: &WatchedPull,
        (pull, at): (&PullRequest, &RepoRef),
    ) -> Result<Option<PushNotTested>, Trouble> {
        if self.config.tests.per_hour == 0 {
            return Ok(Some(PushNotTested::Off));
        }
        if meant(None, Some(pull), at, &entry.default_branch).is_err() {
            return Ok(Some(PushNotTested::Gone));
        }
        let account = forge::Account { id: seen.poster.id, login: seen.poster.login.clone() };
        let right = self.accounts.right(entry, &account, &mut HashMap::new()).await?;
        let command = if seen.run.bug { "test-pr-bug" } else { "test-pr" };
        let barred =
            right < Access::Write || self.groups.admits_to(entry, (command, &seen.poster, right), None).await?.is_err();
        Ok(barred.then_some(PushNotTested::NoRight))
    }
}
