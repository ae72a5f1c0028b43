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
use crate::forge::{asks_for_changes_since, review_hash, text_hash};
use crate::git::{Auth, Branch, RemoteUrl};
use crate::server::{FetchedReport, UpstreamCiReport};
use crate::store::Store;
use crate::upstream::on_forge;
use anyhow::{Context, Result};
use async_trait::async_trait;
use domain::{Commit, Decision, End, Event, Input, MergeStep, Source, State, Task, TaskId, UpstreamChecks, Verb};
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

    /// The configured repository of a task, its pull request's number, and the decisions that approved `commit`, the newest first.
    async fn evidence(&self, offer: &Offer, commit: &Commit) -> Result<(RepoRef, u64, Vec<Decision>), String> {
        let id = TaskId(offer.task);
        let task = self.store.task(id).await.map_err(|e| e.to_string())?;
        let request = task.request.as_ref().ok_or("the task has no request")?;
        let entry = self.config.repository(&request.repository).ok_or("its repository is not configured any more")?;
        let at = self.at(&entry).await?;
        let log = self.store.log(id).await.map_err(|e| e.to_string())?;
        let used: Vec<Decision> =
            approvals_of(log.iter().map(|(_, event)| event), commit).into_iter().cloned().collect();
        let pull = task.pull.ok_or("the task has no pull request")?;
        Ok((at, pull, used))
    }

    /// What the newest task of a branch offers in this repository; none where no task there made it, or nothing was pushed yet.
    async fn offer_of(&self, entry: &Repository, branch: &Branch) -> Result<Option<Offer>, String> {
        let row = self.store.task_of_branch(&entry.key, branch.as_str()).await.map_err(|e| e.to_string())?;
        let Some(row) = row else { return Ok(None) };
        let task = self.store.task(TaskId(row.id)).await.map_err(|e| e.to_string())?;
        let (Some(base), Some(newest)) = (task.base.clone(), task.pushed.clone()) else { return Ok(None) };
        let log = self.store.log(task.id).await.map_err(|e| e.to_string())?;
        let (approved, unapproved) = approved(&task.state, &log, &newest);
        let url = on_forge(&self.config, &self.at(entry).await?).map_err(|e| e.to_string())?;
        Ok(Some(Offer {
            task: row.id,
            repository: entry.key.clone(),
            title: row.title,
            branch: branch.clone(),
            url,
            auth: Some(self.auth.clone()),
            base,
            newest,
            approved,
            unapproved,
            verdict: task.verdict.clone(),
            upstream: self.source(entry, &task).await?,
        }))
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
        let (id, branch) = (entry.upstream_id, request.base_branch.clone());
        Ok(Some(fetch::Source { address, id, github, branch, issue }))
    }

    /// The repository's present place, by its id.
    async fn at(&self, entry: &Repository) -> Result<RepoRef, String> {
        let found = self.forge.locate(entry.id).await.map_err(|e| format!("{}: {e}", entry.key))?;
        Ok(RepoRef::new(found.owner, found.name))
    }

    async fn review_stands(
        &self,
        (at, pull): (&RepoRef, u64),
        (reviews, id): (&[Review], i64),
        used: &Decision,
    ) -> Result<Option<String>, ForgeError> {
        let Some(review) = reviews.iter().find(|review| review.id == id) else {
            return Ok(Some("the approving review was deleted".to_owned()));
        };
        let inline = match review.comments {
            0 => Vec::new(),
            _ => self.forge.review_comments(at, pull, id).await?,
        };
        Ok(withdrawn(review, &inline, used))
    }

    /// Why this is no valid approval of the commit, or no longer; none if it is.
    async fn why_not(
        &self,
        (at, pull): (&RepoRef, u64),
        used: &Decision,
        commit: &Commit,
    ) -> Result<Option<String>, String> {
        if let Some(why) = of_another(used, commit) {
            return Ok(Some(why));
        }
        let reviews = self.forge.reviews(at, pull).await.map_err(|e| e.to_string())?;
        let withdrawn = match used.source {
            Source::Review(id) => self.review_stands((at, pull), (&reviews, id), used).await,
            Source::Comment(id) => self.comment_stands(at, id, used).await,
            Source::Issue(_) => Ok(Some("an issue's text approves nothing".to_owned())),
            Source::Reply { .. } => Ok(Some("a reply on a line approves nothing".to_owned())),
            Source::Change(_) => Ok(Some("neither an assignment nor a label approves anything".to_owned())),
        };
        if let Some(why) = withdrawn.map_err(|e| e.to_string())? {
            return Ok(Some(why));
        }
        if asks_for_changes_since(&reviews, used.poster.id, used.number) {
            return Ok(Some(format!("{} asked for changes after approving it", used.poster.login)));
        }
        let poster = Account { id: used.poster.id, login: used.poster.login.clone() };
        let right = self.forge.permission(at, &poster).await.map_err(|e| e.to_string())?;
        Ok((right < Access::Write).then(|| format!("{} may not write to {at} any more", poster.login)))
    }

    /// As [`StoreSource::why_not`], where others may have had to approve it too.
    async fn why_not_with_others(
        &self,
        (at, pull): (&RepoRef, u64),
        used: &Decision,
        commit: &Commit,
    ) -> Result<Option<String>, String> {
        if let Some(why) = self.why_not((at, pull), used, commit).await? {
            return Ok(Some(why));
        }
        let Some(others) = &used.others else { return Ok(None) };
        let (mut people, mut why) = (BTreeSet::new(), None);
        for other in others.approvals.iter().filter(|other| other.poster.id != used.poster.id) {
            match self.why_not((at, pull), other, commit).await? {
                None => drop(people.insert(other.poster.id)),
                not => why = not,
            }
        }
        let enough = people.len() >= usize::from(others.needed);
        Ok((!enough).then(|| why.unwrap_or_else(|| "too few people approved it".to_owned())))
    }

    async fn comment_stands(&self, at: &RepoRef, id: i64, used: &Decision) -> Result<Option<String>, ForgeError> {
        Ok(match self.forge.comment(at, id).await? {
            None => Some("the approving comment was deleted".to_owned()),
            Some(comment) => changed(&comment, used).then(|| "the approving comment was edited".to_owned()),
        })
    }
}

/// The decisions about the last checkpoint that was decided, the newest first, as far as they approve exactly this commit: one about an earlier
/// checkpoint is no approval of what came after.
fn approvals_of<'a>(log: impl DoubleEndedIterator<Item = &'a Event>, commit: &Commit) -> Vec<&'a Decision> {
    let mut last = None;
    let used = log.rev().filter_map(|event| match event {
        Event::DecisionUsed { decision, n } => Some((&**decision, *n)),
        _ => None,
    });
    used.take_while(|(decision, n)| {
        matches!(decision.verb, Verb::Approve { .. })
            && of_another(decision, commit).is_none()
            && *last.get_or_insert(*n) == *n
    })
    .map(|(decision, _)| decision)
    .collect()
}

/// That an approval is about another commit than this one; none if it is about this one.
fn of_another(used: &Decision, commit: &Commit) -> Option<String> {
    let other = match &used.head {
        Some(head) if head == commit => return None,
        Some(head) => head.short(),
        None => "no commit",
    };
    Some(format!("{} approved {other}, not {}", used.poster.login, commit.short()))
}

/// The approval of the commit that a task in this state offers; where it is delivered without one, why there is none.
fn approved(state: &State, log: &[(i64, Event)], newest: &Commit) -> (Option<Approved>, Option<String>) {
    let events = || log.iter().map(|(_, event)| event);
    let (commit, is_delivered) = match state {
        State::Approved { commit, .. } => (commit, false),
        State::Ended { end: End::Delivered } => (newest, true),
        _ => return (None, None),
    };
    match approvals_of(events(), commit).first() {
        Some(used) => (Some(Approved { commit: commit.clone(), by: used.poster.login.clone() }), None),
        None => (None, is_delivered.then(|| unapproved(events(), commit))),
    }
}

/// Who delivered a commit that nobody approved, and that nobody did.
fn unapproved<'a>(log: impl DoubleEndedIterator<Item = &'a Event>, newest: &Commit) -> String {
    let merged = log.rev().find_map(|event| match event {
        Event::Merge(MergeStep::Done(how)) => Some(how),
        _ => None,
    });
    let merged = match merged {
        Some(how) => format!("{} merged the pull request at {} on the forge", how.by, how.commit.short()),
        None => "the pull request was merged on the forge".to_owned(),
    };
    format!("{merged}, and nobody approved {} in a review", newest.short())
}

/// Why a review is no longer an approval. All of it counts: state, text, remarks, and the time of the last change.
fn withdrawn(review: &Review, inline: &[ReviewComment], used: &Decision) -> Option<String> {
    match review.state {
        ReviewState::Approved => {}
        ReviewState::Comment => {
            let why = "its review only comments: it has to approve, or `/approve` with the commit has to be a comment of its own";
            return Some(why.to_owned());
        }
        ReviewState::RequestChanges
        | ReviewState::Pending
        | ReviewState::RequestReview
        | ReviewState::Dismissed
        | ReviewState::DismissedApproval => {
            return Some("the approval was dismissed".to_owned());
        }
    }
    let differs = review.is_changed() || review_hash(review, inline) != used.text_hash;
    differs.then(|| "the approving review or a remark of it was edited or deleted".to_owned())
}

fn changed(comment: &Comment, used: &Decision) -> bool {
    comment.updated_at != comment.created_at || text_hash(&comment.body) != used.text_hash
}

#[async_trait]
impl ApprovedSource for StoreSource {
    async fn offers(&self, branch: &Branch, repository: Option<&str>) -> Result<Vec<Offer>, String> {
        let mut offers = Vec::new();
        let mut failed = None;
        for entry in self.config.repositories().iter().filter(|entry| repository.is_none_or(|key| key == entry.key)) {
            match self.offer_of(entry, branch).await {
                Ok(offer) => offers.extend(offer),
                Err(why) => failed = Some(format!("{}: {why}", entry.key)),
            }
        }
        match failed {
            // Which one is meant cannot be known without it.
            Some(why) if offers.is_empty() || repository.is_some() => Err(why),
            Some(why) => Err(format!("{why}; --repository {} takes the other one", offers[0].repository)),
            None => Ok(offers),
        }
    }

    async fn standing(&self, offer: &Offer) -> Result<ApprovalState, String> {
        let commit = &offer.approved.as_ref().ok_or("nobody approved it")?.commit;
        let (at, pull, all) = self.evidence(offer, commit).await?;
        let mut why = None;
        for used in &all {
            match self.why_not_with_others((&at, pull), used, commit).await? {
                None => return Ok(ApprovalState::Stands { by: used.poster.login.clone() }),
                Some(not) => why = why.or(Some(not)),
            }
        }
        Ok(ApprovalState::Withdrawn(why.unwrap_or_else(|| format!("no approval of {} was used", commit.short()))))
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
        match lock::unless_in_use(&self.config.state_dir).map_err(|e| format!("{e:#}"))? {
            Some(_lock) => {
                let orders = OrderMachine::of(&self.config, id).await.map_err(|e| format!("{e:#}"))?;
                let fed = orders.machine.feed(id, &key, input, None).await;
                orders.over(&self.config).await.map_err(|e| format!("{e:#}"))?;
                fed.map(drop).map_err(|e| e.to_string())
            }
            None => self.tell(path, report).await.map_err(|e| format!("the running bot could not be told: {e:#}")),
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
            old: None,
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
        let spoils: [(&str, Spoil); 7] = [
            ("dismissed", |review, _| review.state = ReviewState::DismissedApproval),
            ("only comments", |review, _| review.state = ReviewState::Comment),
            ("its text", |review, _| review.body = "not fine".into()),
            ("what the page shows", |review, _| review.updated_at = 9_000),
            ("it is off the page", |review, _| review.number = 0),
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

    fn commit(digit: &str) -> Commit {
        Commit::parse(&digit.repeat(40)).unwrap()
    }

    /// The use of a decision by Alice, made at this head of the pull request.
    fn decided(verb: Verb, head: &str) -> (i64, Event) {
        let decision = Decision { verb, head: Some(commit(head)), ..used(String::new()) };
        (1, Event::DecisionUsed { decision: Box::new(decision), n: 1 })
    }

    fn merged(head: &str) -> (i64, Event) {
        let how = domain::Merged { commit: commit(head), by: "bob".into(), asked: None };
        (2, Event::Merge(MergeStep::Done(how)))
    }

    #[test]
    fn only_the_commit_that_an_approval_is_about_is_approved() {
        let delivered = State::Ended { end: End::Delivered };
        let (one, two) = (commit("1"), commit("2"));
        let by_alice = |commit: &Commit| -> (Option<Approved>, Option<String>) {
            (Some(Approved { commit: commit.clone(), by: "alice".into() }), None)
        };
        let log = [decided(Verb::approve(), "1"), merged("1")];
        assert_eq!(approved(&delivered, &log, &one), by_alice(&one));
        let log = [decided(Verb::approve(), "1"), decided(Verb::approve(), "2"), merged("2")];
        assert_eq!(approved(&delivered, &log, &two), by_alice(&two));
        let log = [decided(Verb::approve(), "1"), merged("2")];
        let (none, why) = approved(&delivered, &log, &two);
        assert_eq!(none, None, "the approval is of an earlier checkpoint");
        let why = why.unwrap();
        assert!(why.starts_with("bob merged the pull request at 2222222222"), "{why}");
        assert!(why.ends_with("nobody approved 2222222222 in a review"), "{why}");
        let log = [decided(Verb::approve(), "1"), decided(Verb::Changes { items: Vec::new() }, "1"), merged("1")];
        assert_eq!(approved(&delivered, &log, &one).0, None, "changes were asked for after it");
        let (none, why) = approved(&delivered, &[], &one);
        assert!(none.is_none() && why.unwrap().starts_with("the pull request was merged"));
    }

    #[test]
    fn each_approval_of_the_last_checkpoint_may_stand_for_it() {
        let approved = |n: u32, id: i64| {
            let poster = domain::Account { id, login: format!("p{id}") };
            let decision = Decision { poster, head: Some(commit("1")), ..used(String::new()) };
            Event::DecisionUsed { decision: Box::new(decision), n }
        };
        let posters = |log: &[Event]| -> Vec<i64> {
            approvals_of(log.iter(), &commit("1")).into_iter().map(|it| it.poster.id).collect()
        };
        let log = [approved(1, 7), approved(2, 8), approved(2, 9)];
        assert_eq!(posters(&log), [9, 8], "none of the checkpoint before, which had the same commit");
        assert!(posters(&[]).is_empty());
        assert!(approvals_of(log.iter(), &commit("2")).is_empty());
    }

    #[test]
    fn approved_work_names_its_approval_and_unfinished_work_has_none() {
        let (one, two) = (commit("1"), commit("2"));
        let verdict = domain::Verdict::default();
        let log = [decided(Verb::approve(), "1")];
        let state = State::Approved { commit: one.clone(), verdict: verdict.clone() };
        assert_eq!(approved(&state, &log, &one).0.map(|it| it.commit), Some(one));
        let state = State::Approved { commit: two.clone(), verdict };
        assert_eq!(approved(&state, &log, &two), (None, None), "of another commit");
        assert_eq!(approved(&State::Running, &log, &two), (None, None));
    }

    #[test]
    fn an_approval_of_another_commit_does_not_stand() {
        let approval = Decision { head: Some(commit("1")), ..used(String::new()) };
        assert_eq!(of_another(&approval, &commit("1")), None);
        let why = of_another(&approval, &commit("2")).unwrap();
        assert_eq!(why, "alice approved 1111111111, not 2222222222");
        assert!(of_another(&Decision { head: None, ..approval }, &commit("1")).is_some(), "one without a head");
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
