//! `/retry` where no task is at work: a new attempt at the request of the newest task of this issue or pull request. If the same text ended
//! a task before, its own key is used only here, so that a crash between the two loses nothing.
//! Who: somebody with write access to the code, asked again. Tests: `tests/stories/retry.rs`.

use super::joined;
use super::reader::Reader;
use super::start::Text;
use crate::checkpoint::tried;
use crate::config::process::Repository;
use crate::message;
use crate::thread::hosts_key;
use crate::thread::terms::Agreed;
use crate::thread::words;
use crate::trouble::Trouble;
use domain::{
    ACTIONS_PER_CHECKPOINT, Access, ApprovedStart, CiEnded, Decision, Earlier, Event, Grant, Input, Request, Task,
    TaskId, Verb,
};
use std::collections::HashMap;

impl Reader {
    /// Takes up a `/retry`; true when an attempt began.
    pub(super) async fn retry(
        &self,
        entry: &Repository,
        number: u64,
        (text, from): (&Text, Option<u32>),
        key: &str,
    ) -> Result<bool, Trouble> {
        let login = &text.author.login;
        if text.edited {
            self.threads.answers.answer_once(entry, number, key, &message::edited(login)).await?;
            return Ok(false);
        }
        let right = self.threads.accounts.right(entry, &text.author, &mut HashMap::new()).await?;
        if right < Access::Write {
            let refused = message::refused(login, "retry");
            self.threads.answers.refuse_once(entry, number, key, text.asks("retry"), &refused).await?;
            return Ok(false);
        }
        let Some(row) = self.store.newest_task_of(&entry.key, number).await? else {
            let (_, hosts) = self.hosts_of_retry(entry, number, (text, right), key, None).await?;
            self.threads.answers.answer_once(entry, number, key, &joined([message::no_task(login), hosts])).await?;
            return Ok(false);
        };
        let before = self.machine.look(TaskId(row.id)).await?;
        let log: Vec<Event> = self.store.log(before.id).await?.into_iter().map(|(_, event)| event).collect();
        let (begun, not_begun) = self.hosts_of_retry(entry, number, (text, right), key, Some(&before)).await?;
        // Before the refusal, which uses the text up.
        let who = words::account(&text.author);
        let given = (&text.verb, &who, right);
        if !not_begun.is_empty() && self.threads.groups.admits(entry, given, Some(&before)).await?.is_err() {
            self.answer_hosts(entry, number, key, &not_begun).await?;
        }
        let admitted = self.admitted(entry, (number, key), text, (&text.verb, right), Some(&before)).await?;
        let (Some(listed), Some(first)) = (admitted, before.request.clone()) else { return Ok(false) };
        let (agreed, start) =
            match self.may_begin_again(entry, (text, from), right, (&before, &log, first.issue)).await? {
                Ok(it) => it,
                Err(answer) => {
                    self.threads.answers.answer_once(entry, number, key, &joined([answer, not_begun])).await?;
                    return Ok(false);
                }
            };
        self.answer_hosts(entry, number, key, &begun).await?;
        let asking = Decision { listed, ..text.evidence(number, right) };
        self.begin_again(entry, (text, key), asking, (&before, &log, first), (agreed, start)).await
    }

    /// Answers the hosts of a text beside what is answered to itself, if there is anything to say.
    async fn answer_hosts(&self, entry: &Repository, number: u64, key: &str, answer: &str) -> Result<(), Trouble> {
        if answer.is_empty() {
            return Ok(());
        }
        self.threads.answers.answer_once(entry, number, &hosts_key(key), answer).await
    }

    /// What the attempt after `before` begins with; an error within is why none begins, as it is answered.
    async fn may_begin_again(
        &self,
        entry: &Repository,
        (text, from): (&Text, Option<u32>),
        right: Access,
        (before, log, issue): (&Task, &[Event], u64),
    ) -> Result<Result<(Agreed, Option<Box<ApprovedStart>>), String>, Trouble> {
        let login = &text.author.login;
        // At work under another pull request of the same issue.
        if let Some(live) = self.store.live_task_of(&entry.key, issue).await? {
            return Ok(Err(message::at_work(login, live.id)));
        }
        if !self.forge.issue(&self.addresses.at(entry)?, issue).await?.open {
            return Ok(Err(message::starts_elsewhere(login, false)));
        }
        let agreed = match self.threads.retries.attempt(entry, before, (&words::account(&text.author), right)).await? {
            Ok(agreed) => agreed,
            Err(answer) => return Ok(Err(answer)),
        };
        let Some(n) = from else { return Ok(Ok((agreed, None))) };
        let start = self.threads.retries.start(entry, (before, log), n, login).await?;
        Ok(start.map(|start| (agreed, Some(Box::new(start)))))
    }

    /// Begins the attempt after `before`, whose log and request come with it.
    async fn begin_again(
        &self,
        entry: &Repository,
        (text, key): (&Text, &str),
        asking: Decision,
        (before, log, first): (&Task, &[Event], Request),
        (agreed, from): (Agreed, Option<Box<ApprovedStart>>),
    ) -> Result<bool, Trouble> {
        let (listed, right) = (asking.listed.clone(), asking.right);
        let asking = Decision { listed: Vec::new(), ..asking };
        let hosts = self.threads.hosts.hosts(entry, &text.body, (&asking, Some(before))).await?;
        let mut more = allowed_at_last(hosts, log);
        let request = Request {
            kind: before.kind,
            words: widened(&first, log),
            asker: words::account(&text.author),
            right: Some(right),
            listed,
            edited: self.edited_before(entry, &first, text.author.id).await?,
            source: text.source.clone(),
            number: text.number,
            branch: self.branch(entry, first.issue, &first.title).await?,
            base_branch: entry.default_branch.clone(),
            budget: agreed.budget,
            every: first.own.as_ref().map_or(ACTIONS_PER_CHECKPOINT, |own| own.at_most(ACTIONS_PER_CHECKPOINT)),
            own: self.own_again(entry, (before.kind, first.own.clone()), &more).await?,
            has_upstream: !entry.upstream.is_empty(),
            hosts: self.hosts_of(entry, before.of_a_pull()).await?,
            pull: self.reviewed(entry, first.issue, before.of_a_pull()).await?,
            trigger: None,
            earlier: Some(Earlier {
                task: before.id,
                tried: tried(before, log),
                from,
                upstream_ci: upstream_ci(&first, log),
            }),
            ..first
        };
        more.extend(agreed.more.map(|verb| Input::Decided { decision: Box::new(Decision { verb, ..asking }) }));
        Ok(self.machine.create(key, request, more).await?.is_some())
    }

    /// Whether somebody may have edited the issue before an attempt of the account `who`. Where another person asked for the attempt before,
    /// that was not looked at, because the issue was a stranger's then; an edit since that attempt counts, too.
    async fn edited_before(&self, entry: &Repository, first: &Request, who: i64) -> Result<bool, Trouble> {
        if first.edited || who != first.issue_author.id || who == first.asker.id {
            return Ok(first.edited);
        }
        let issue = self.forge.issue(&self.addresses.at(entry)?, first.issue).await?;
        self.threads.edits.issue_edited(entry, &issue).await
    }
}

/// Of a text's hosts those that it allows and does not deny behind that, each as an input. What it allowed for the repository by the attempt
/// before, whose log this is, is a grant by now, or was taken back since.
fn allowed_at_last(hosts: Vec<Input>, log: &[Event]) -> Vec<Input> {
    let mut allowed: Vec<(Grant, Input)> = Vec::new();
    for input in hosts {
        let Input::Decided { decision } = &input else { continue };
        if decision.barred.is_some() {
            continue;
        }
        let granted = |event: &Event| match event {
            Event::HostAllowed { host, repo: true, decision: by } => {
                by.source == decision.source && decision.verb.host() == Some(host)
            }
            _ => false,
        };
        match &decision.verb {
            Verb::Allow { host, repo, .. } if !log.iter().any(granted) => {
                let grant = Grant { host: host.clone(), repo: *repo, by: decision.poster.clone() };
                allowed.push((grant, input));
            }
            Verb::Deny { host, .. } => allowed.retain(|(grant, _)| !grant.is_named_by(host)),
            _ => {}
        }
    }
    allowed.into_iter().map(|(_, input)| input).collect()
}

/// What the upstream's CI said last of this attempt's work, or of that of an attempt before it, if something failed.
fn upstream_ci(first: &Request, log: &[Event]) -> Option<Box<CiEnded>> {
    let last = log.iter().rev().find_map(|event| match event {
        Event::UpstreamCiEnded(ended) => Some(ended.clone()),
        _ => None,
    });
    last.or_else(|| first.earlier.as_ref()?.upstream_ci.clone()).filter(|ended| ended.failed())
}

/// The words of the first command, and of those that widened a plan.
fn widened(first: &Request, log: &[Event]) -> String {
    let more = log.iter().filter_map(|event| match event {
        Event::WidenedToFix { words } if !words.is_empty() => Some(words.as_str()),
        _ => None,
    });
    let all: Vec<&str> = std::iter::once(first.words.as_str()).filter(|words| !words.is_empty()).chain(more).collect();
    all.join("\n\n")
}
