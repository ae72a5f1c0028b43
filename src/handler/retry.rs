//! `/retry` where no task is at work: a new attempt at the request of the newest task of this issue or pull request. If the same text ended
//! a task before, its own key is used only here, so that a crash between the two loses nothing.
//! Who: somebody with write access to the code, asked again. Tests: `tests/stories/retry.rs`.

use super::reader::Reader;
use super::start::Text;
use crate::checkpoint::tried;
use crate::config::process::Repository;
use crate::message;
use crate::thread::terms::Agreed;
use crate::thread::words;
use crate::trouble::Trouble;
use domain::{
    ACTIONS_PER_CHECKPOINT, Access, ApprovedStart, CiEnded, Decision, Earlier, Event, Input, Request, Source, Task,
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
            self.threads.answer_once(entry, number, key, &message::edited(login)).await?;
            return Ok(false);
        }
        let right = self.threads.right(entry, &text.author, &mut HashMap::new()).await?;
        if right < Access::Write {
            self.threads.refuse_once(entry, number, key, text.author.id, &message::refused(login, "retry")).await?;
            return Ok(false);
        }
        let Some(row) = self.store.newest_task_of(&entry.key, number).await? else {
            let (_, hosts) = self.hosts_of_retry(entry, (text, right), key).await?;
            self.threads.answer_once(entry, number, key, &joined(message::no_task(login), hosts)).await?;
            return Ok(false);
        };
        let before = self.machine.look(TaskId(row.id)).await?;
        let admitted = self.admitted(entry, (number, key), text, (&text.verb, right), Some(&before)).await?;
        let Some(listed) = admitted else { return Ok(false) };
        let Some(first) = before.request.clone() else { return Ok(false) };
        let log: Vec<Event> = self.store.log(before.id).await?.into_iter().map(|(_, event)| event).collect();
        // The task that the same text ended has answered its hosts, and taken back what it denies.
        let (begun, not_begun) = match log.iter().any(|event| is_host_of(event, &text.source)) {
            true => (String::new(), String::new()),
            false => self.hosts_of_retry(entry, (text, right), key).await?,
        };
        let (agreed, start) =
            match self.may_begin_again(entry, (text, from), right, (&before, &log, first.issue)).await? {
                Ok(it) => it,
                Err(answer) => {
                    self.threads.answer_once(entry, number, key, &joined(answer, not_begun)).await?;
                    return Ok(false);
                }
            };
        if !begun.is_empty() {
            self.threads.answer_once(entry, number, &format!("{key}~hosts"), &begun).await?;
        }
        let asking = Decision { listed, ..text.evidence(number, right) };
        self.begin_again(entry, (text, key), asking, (&before, &log, first), (agreed, start)).await
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
        if !self.forge.issue(&self.threads.place(entry)?, issue).await?.open {
            return Ok(Err(message::starts_elsewhere(login, false)));
        }
        let agreed = match self.threads.attempt(entry, before, (&words::account(&text.author), right)).await? {
            Ok(agreed) => agreed,
            Err(answer) => return Ok(Err(answer)),
        };
        let Some(n) = from else { return Ok(Ok((agreed, None))) };
        Ok(self.threads.start(entry, (before, log), n, login).await?.map(|start| (agreed, Some(Box::new(start)))))
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
        let request = Request {
            kind: before.kind,
            words: widened(&first, log),
            asker: words::account(&text.author),
            right: Some(asking.right),
            listed: asking.listed.clone(),
            source: text.source.clone(),
            number: text.number,
            branch: self.branch(entry, first.issue, &first.title).await?,
            base_branch: entry.default_branch.clone(),
            budget: agreed.budget,
            every: first.own.as_ref().map_or(ACTIONS_PER_CHECKPOINT, |own| own.at_most(ACTIONS_PER_CHECKPOINT)),
            own: self.own_again(entry, (before.kind, first.own.clone())).await?,
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
        let asking = Decision { listed: Vec::new(), ..asking };
        let mut more = self.threads.hosts(entry, &text.body, (&asking, None)).await?;
        more.retain(allows);
        more.extend(agreed.more.map(|verb| Input::Decided { decision: Box::new(Decision { verb, ..asking }) }));
        Ok(self.machine.create(key, request, more).await?.is_some())
    }
}

fn joined(answer: String, hosts: String) -> String {
    if hosts.is_empty() { answer } else { format!("{answer}\n\n{hosts}") }
}

/// Whether it allows or denies a host, or refuses to, by this text.
fn is_host_of(event: &Event, source: &Source) -> bool {
    match event {
        Event::HostAllowed { decision, .. } | Event::HostDenied { decision, .. } => decision.source == *source,
        Event::DecisionRefused { source: of, .. } => of == source,
        _ => false,
    }
}

/// Whether it allows a host, by somebody who may.
fn allows(input: &Input) -> bool {
    matches!(input, Input::Decided { decision } if decision.barred.is_none() && matches!(decision.verb, Verb::Allow { .. }))
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
