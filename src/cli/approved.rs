//! What `caisson fetch` is told about a branch: from the bot's store, with the approvals of its last commit read again from the forge.

use super::order_machine::OrderMachine;
use super::outside::USER_AGENT;
use super::store::location;
use super::{lock, running};
use crate::bot::known;
use crate::clock::now;
use crate::config::process::Repository;
use crate::config::{Process, Secret};
use crate::fetch::{self, ApprovalState, Approved, ApprovedSource, Offer};
use crate::forge::{
    Access, Account, Comment, ForgeError, ForgeReads, Gitea, RepoRef, Review, ReviewComment, ReviewState,
};
use crate::forge::{review_hash, text_hash};
use crate::git::{Auth, Branch, RemoteUrl};
use crate::server::{FetchedReport, UpstreamCiReport};
use crate::store::Store;
use anyhow::{Context, Result};
use async_trait::async_trait;
use domain::{Commit, Decision, Event, Input, Source, State, Task, TaskId, UpstreamChecks, Verb};
use serde::Serialize;
use std::collections::BTreeSet;

pub struct StoreSource {
    config: Process,
    store: Store,
    forge: Gitea,
    auth: Auth,
}

impl StoreSource {
    pub async fn open(config: Process) -> Result<Self> {
        let url = config.forge.url.clone().context("forge.url is not configured; run `caisson setup`")?;
        let file =
            config.forge.token_file.as_deref().context("forge.token_file is not configured; run `caisson setup`")?;
        let token = Secret::read(file)?;
        let forge = Gitea::new(&url, token.clone(), USER_AGENT)?;
        let me = forge.whoami().await.context("the forge does not answer")?;
        let store = Store::look(location(&config)?).await?;
        let store = store.context("there is no store yet, so no task either")?;
        known(&config, &store).await?;
        Ok(Self { auth: Auth::basic(&me.login, token.expose()), config, store, forge })
    }

    /// The configured repository of a task, its pull request's number, and the decision that approved its final checkpoint.
    async fn evidence(&self, offer: &Offer) -> Result<(RepoRef, u64, Decision), String> {
        let id = TaskId(offer.task);
        let task = self.store.task(id).await.map_err(|e| e.to_string())?;
        let request = task.request.as_ref().ok_or("the task has no request")?;
        let entry = self.config.repository(&request.repository).ok_or("its repository is not configured any more")?;
        let at = self.at(&entry).await?;
        let log = self.store.log(id).await.map_err(|e| e.to_string())?;
        let used = log.into_iter().rev().find_map(|(_, event)| match event {
            Event::DecisionUsed { decision, .. } if matches!(decision.verb, Verb::Approve { .. }) => Some(*decision),
            _ => None,
        });
        let pull = task.pull.ok_or("the task has no pull request")?;
        Ok((at, pull, used.ok_or("no approval was used")?))
    }

    /// Where a task's repository comes from, the branch that it began from, and the upstream's issue that it is for.
    async fn source(&self, entry: &Repository, task: &Task) -> Result<Option<fetch::Source>, String> {
        let Some(request) = task.request.as_ref().filter(|_| !entry.upstream.is_empty()) else { return Ok(None) };
        let address = RemoteUrl::parse(&entry.upstream).map_err(|e| e.to_string())?;
        let github = self.config.upstream.github_of(&entry.upstream);
        let row =
            self.store.upstream_of_issue((&entry.key, entry.id), request.issue).await.map_err(|e| e.to_string())?;
        // One of an upstream that this one took the place of is no issue there.
        let row = row.filter(|row| entry.upstream_id == 0 || row.upstream == entry.upstream_id);
        let issue = row.map(|row| row.number);
        Ok(Some(fetch::Source { address, github, branch: request.base_branch.clone(), issue }))
    }

    /// The repository's present place, by its id.
    async fn at(&self, entry: &Repository) -> Result<RepoRef, String> {
        let found = self.forge.locate(entry.id).await.map_err(|e| format!("{}: {e}", entry.key))?;
        Ok(RepoRef::new(found.owner, found.name))
    }

    async fn review_stands(
        &self,
        at: &RepoRef,
        pull: u64,
        id: i64,
        used: &Decision,
    ) -> Result<Option<String>, ForgeError> {
        let reviews = self.forge.reviews(at, pull).await?;
        let Some(review) = reviews.iter().find(|review| review.id == id) else {
            return Ok(Some("the approving review was deleted".to_owned()));
        };
        let inline = match review.comments {
            0 => Vec::new(),
            _ => self.forge.review_comments(at, pull, id).await?,
        };
        Ok(withdrawn(review, &inline, used))
    }

    /// Why this approval is no longer valid; none if it is.
    async fn why_not(&self, at: &RepoRef, pull: u64, used: &Decision) -> Result<Option<String>, String> {
        let withdrawn = match used.source {
            Source::Review(id) => self.review_stands(at, pull, id, used).await,
            Source::Comment(id) => self.comment_stands(at, id, used).await,
            Source::Issue(_) => Ok(Some("an issue's text approves nothing".to_owned())),
            Source::Reply { .. } => Ok(Some("a reply on a line approves nothing".to_owned())),
            Source::Change(_) => Ok(Some("neither an assignment nor a label approves anything".to_owned())),
        };
        if let Some(why) = withdrawn.map_err(|e| e.to_string())? {
            return Ok(Some(why));
        }
        let poster = Account { id: used.poster.id, login: used.poster.login.clone() };
        let right = self.forge.permission(at, &poster).await.map_err(|e| e.to_string())?;
        Ok((right < Access::Write).then(|| format!("{} may not write to {at} any more", poster.login)))
    }

    async fn comment_stands(&self, at: &RepoRef, id: i64, used: &Decision) -> Result<Option<String>, ForgeError> {
        Ok(match self.forge.comment(at, id).await? {
            None => Some("the approving comment was deleted".to_owned()),
            Some(comment) => changed(&comment, used).then(|| "the approving comment was edited".to_owned()),
        })
    }
}

/// Why a review is no longer an approval. All of it counts: state, text, remarks, and the time of the last change.
fn withdrawn(review: &Review, inline: &[ReviewComment], used: &Decision) -> Option<String> {
    if review.state != ReviewState::Approved {
        return Some("the approval was dismissed".to_owned());
    }
    let edited = review.updated_at > review.submitted_at || review_hash(review, inline) != used.text_hash;
    edited.then(|| "the approving review or a remark of it was edited".to_owned())
}

fn changed(comment: &Comment, used: &Decision) -> bool {
    comment.updated_at != comment.created_at || text_hash(&comment.body) != used.text_hash
}

#[async_trait]
impl ApprovedSource for StoreSource {
    async fn offer(&self, branch: &Branch) -> Result<Option<Offer>, String> {
        for entry in self.config.repositories().iter() {
            let row = self.store.task_of_branch(&entry.key, branch.as_str()).await.map_err(|e| e.to_string())?;
            let Some(row) = row else { continue };
            let task = self.store.task(TaskId(row.id)).await.map_err(|e| e.to_string())?;
            let (Some(base), Some(newest)) = (task.base.clone(), task.pushed.clone()) else { continue };
            let log = self.store.log(task.id).await.map_err(|e| e.to_string())?;
            let by = log.iter().rev().find_map(|(_, event)| match event {
                Event::DecisionUsed { decision, .. } => Some(decision.poster.login.clone()),
                _ => None,
            });
            let approved = match (&task.state, by) {
                (State::Approved { commit, .. }, Some(by)) => Some(Approved { commit: commit.clone(), by }),
                (State::Ended { end: domain::End::Delivered }, Some(by)) => {
                    Some(Approved { commit: newest.clone(), by })
                }
                _ => None,
            };
            let base_url = self.config.forge.url.as_ref().map(|u| u.as_str().trim_end_matches('/').to_owned());
            let url = format!("{}/{}.git", base_url.unwrap_or_default(), self.at(entry).await?);
            return Ok(Some(Offer {
                task: row.id,
                title: row.title,
                branch: branch.clone(),
                url: RemoteUrl::parse(&url).map_err(|e| e.to_string())?,
                auth: Some(self.auth.clone()),
                base,
                newest,
                approved,
                verdict: task.verdict.clone(),
                upstream: self.source(entry, &task).await?,
            }));
        }
        Ok(None)
    }

    async fn standing(&self, offer: &Offer) -> Result<ApprovalState, String> {
        let (at, pull, used) = self.evidence(offer).await?;
        if let Some(why) = self.why_not(&at, pull, &used).await? {
            return Ok(ApprovalState::Withdrawn(why));
        }
        let Some(others) = &used.others else { return Ok(ApprovalState::Stands) };
        let (mut people, mut why) = (BTreeSet::new(), None);
        for other in others.approvals.iter().filter(|other| other.poster.id != used.poster.id) {
            match self.why_not(&at, pull, other).await? {
                None => drop(people.insert(other.poster.id)),
                not => why = not,
            }
        }
        Ok(match people.len() >= usize::from(others.needed) {
            true => ApprovalState::Stands,
            false => ApprovalState::Withdrawn(why.unwrap_or_else(|| "too few people approved it".to_owned())),
        })
    }

    async fn delivered(&self, offer: &Offer, commit: &Commit) -> Result<(), String> {
        let report = FetchedReport { task: offer.task, commit: commit.clone() };
        let key = format!("fetched:{}:{commit}", offer.task);
        let input = Input::Fetched { commit: commit.clone() };
        self.report("/fetched", &report, (TaskId(offer.task), key, input)).await
    }

    async fn upstream_ci(&self, offer: &Offer, checks: UpstreamChecks) -> Result<(), String> {
        let report = UpstreamCiReport { task: offer.task, at: now(), checks };
        self.report("/upstream-ci", &report, report.clone().input()).await
    }
}

impl StoreSource {
    /// Tells a running bot, or stores it if none is running.
    async fn report(
        &self,
        path: &str,
        report: &impl Serialize,
        (id, key, input): (TaskId, String, Input),
    ) -> Result<(), String> {
        match lock::take(&self.config.state_dir) {
            Ok(_lock) => {
                let orders = OrderMachine::of(&self.config, id).await.map_err(|e| format!("{e:#}"))?;
                let fed = orders.machine.feed(id, &key, input, None).await;
                orders.over(&self.config).await.map_err(|e| format!("{e:#}"))?;
                fed.map(drop).map_err(|e| e.to_string())
            }
            Err(_) => self.tell(path, report).await.map_err(|e| format!("the running bot could not be told: {e:#}")),
        }
    }

    async fn tell(&self, path: &str, report: &impl Serialize) -> Result<()> {
        let (status, said) = running::tell(&self.config, path, report).await?;
        anyhow::ensure!((200..300).contains(&status), "it answered {status} {said}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Verb;

    fn poster() -> Account {
        Account { id: 7, login: "alice".into() }
    }

    fn approval() -> (Review, Vec<ReviewComment>) {
        let review = Review {
            id: 1,
            number: 20,
            author: poster(),
            state: ReviewState::Approved,
            body: "fine".into(),
            commit: String::new(),
            submitted_at: 5_000,
            updated_at: 5_000,
            comments: 1,
            html_url: String::new(),
        };
        let remark = ReviewComment {
            id: 19,
            review: 1,
            author: poster(),
            path: "a.py".into(),
            line: Some(3),
            body: "a good name".into(),
            resolved: false,
            created_at: 4_000,
            updated_at: 4_000,
        };
        (review, vec![remark])
    }

    fn used(text_hash: String) -> Decision {
        Decision {
            at: 5_000,
            text_hash,
            ..Decision::new(
                Source::Review(1),
                20,
                (domain::Account { id: 7, login: "alice".into() }, domain::Access::Write),
                Verb::approve(),
            )
        }
    }

    #[test]
    fn the_whole_approval_counts() {
        let (review, inline) = approval();
        let used = used(review_hash(&review, &inline));
        assert_eq!(withdrawn(&review, &inline, &used), None);
        type Spoil = fn(&mut Review, &mut Vec<ReviewComment>);
        let spoils: [(&str, Spoil); 5] = [
            ("dismissed", |review, _| review.state = ReviewState::Dismissed),
            ("its text", |review, _| review.body = "not fine".into()),
            ("what the page shows", |review, _| review.updated_at = 9_000),
            ("a remark", |_, inline| inline[0].body = "a bad name".into()),
            ("a remark is gone", |_, inline| inline.clear()),
        ];
        for (what, spoil) in spoils {
            let (mut review, mut inline) = approval();
            spoil(&mut review, &mut inline);
            assert!(withdrawn(&review, &inline, &used).is_some(), "{what}");
        }
        // A later reply by somebody else changes nothing.
        let mut replied = inline.clone();
        replied.push(ReviewComment { id: 30, created_at: 8_000, body: "thanks".into(), ..inline[0].clone() });
        assert_eq!(withdrawn(&review, &replied, &used), None);
    }

    #[test]
    fn an_approving_comment_stands_as_it_was_posted() {
        let posted = Comment {
            id: 1,
            issue: 2,
            author: poster(),
            body: "/approve 0123456".into(),
            created_at: 5_000,
            updated_at: 5_000,
            html_url: String::new(),
        };
        let used = used(text_hash(&posted.body));
        assert!(!changed(&posted, &used));
        assert!(changed(&Comment { body: "/approve 7654321".into(), ..posted.clone() }, &used));
        assert!(changed(&Comment { updated_at: 6_000, ..posted }, &used), "edited there and back");
    }
}
