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
    ACTIONS_PER_CHECKPOINT, Access, ApprovedStart, CiEnded, Decision, Earlier, Event, Input, Request, Task, TaskId,
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
            self.threads.answer_once(entry, number, key, &message::no_task(login)).await?;
            return Ok(false);
        };
        let before = self.machine.look(TaskId(row.id)).await?;
        let admitted = self.admitted(entry, (number, key), text, (&text.verb, right), Some(&before)).await?;
        let Some(listed) = admitted else { return Ok(false) };
        let Some(first) = before.request.clone() else { return Ok(false) };
        // At work under another pull request of the same issue.
        if let Some(live) = self.store.live_task_of(&entry.key, first.issue).await? {
            self.threads.answer_once(entry, number, key, &message::at_work(login, live.id)).await?;
            return Ok(false);
        }
        if !self.forge.issue(&self.threads.place(entry)?, first.issue).await?.open {
            self.threads.answer_once(entry, number, key, &message::starts_elsewhere(login, false)).await?;
            return Ok(false);
        }
        let agreed = match self.threads.attempt(entry, &before, (&words::account(&text.author), right)).await? {
            Ok(agreed) => agreed,
            Err(answer) => {
                self.threads.answer_once(entry, number, key, &answer).await?;
                return Ok(false);
            }
        };
        let log: Vec<Event> = self.store.log(before.id).await?.into_iter().map(|(_, event)| event).collect();
        let start = match from {
            Some(n) => self.threads.start(entry, (&before, &log), n, login).await?.map(|it| Some(Box::new(it))),
            None => Ok(None),
        };
        let start = match start {
            Ok(start) => start,
            Err(answer) => {
                self.threads.answer_once(entry, number, key, &answer).await?;
                return Ok(false);
            }
        };
        let asking = Decision { listed, ..text.evidence(number, right) };
        self.begin_again(entry, (text, key), asking, (&before, &log, first), (agreed, start)).await
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
        let more = agreed.more.map(|verb| Input::Decided { decision: Box::new(Decision { verb, ..asking }) });
        Ok(self.machine.create(key, request, more.into_iter().collect()).await?.is_some())
    }
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
