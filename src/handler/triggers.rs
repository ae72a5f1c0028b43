//! What begins a task without a command, where the operator set it so (`[repositories.start]`): an assignment to the bot's account, a label, an
//! issue of a writer. Who: whoever did that, with the right that the command takes, asked when it is taken up. Effect: a task begins, once for
//! each such thing. What is seen and begins nothing is noted, so that it begins nothing later either. Tests: `tests/stories/triggers.rs`.

use super::reader::Reader;
use super::start::Text;
use crate::clock::now;
use crate::config::process::Repository;
use crate::forge::{Change, Changed, Issue, RepoRef};
use crate::message;
use crate::thread::decision_key;
use crate::thread::words::account;
use crate::trouble::Trouble;
use domain::{Access, Request, Source, TaskKind, Terms, Trigger, Verb};
use std::collections::HashMap;
use std::sync::Arc;

/// The time of a trigger that was seen, and is not set any more.
const NOT_SET: i64 = -1;

/// Before the names of the watermarks from which on triggers count.
const MARKS: &str = "start:";

fn mark(key: &str, trigger: &Trigger) -> String {
    format!("{MARKS}{key}:{trigger}")
}

impl Reader {
    /// Remembers since when each trigger is set, by the forge's clock, and forgets those that are not set any more: what was done before begins
    /// nothing.
    pub(super) async fn see_triggers(&self, repositories: &[&Arc<Repository>], clock: i64) -> Result<(), Trouble> {
        let marks: HashMap<String, i64> = self.store.watermarks(MARKS).await?.into_iter().collect();
        // Removes marks of repositories that are no longer configured, so that one added again under the key begins anew. A shared store keeps them: another host may have the entry.
        for (name, _) in marks.iter().filter(|(_, at)| **at != NOT_SET && !self.store.is_shared()) {
            let key = name.strip_prefix(MARKS).and_then(|rest| rest.split(':').next()).unwrap_or_default();
            if self.config.repository(key).is_none() {
                self.store.set_watermark(name, NOT_SET).await?;
            }
        }
        for entry in repositories {
            let set: Vec<String> =
                self.config.start_of(&entry.key).triggers().iter().map(|trigger| mark(&entry.key, trigger)).collect();
            for name in &set {
                // A mark later than the forge's clock was written before that clock was set back.
                if !marks.get(name).is_some_and(|at| (0..=clock).contains(at)) {
                    self.store.set_watermark(name, clock).await?;
                }
            }
            let of_this = format!("{MARKS}{}:", entry.key);
            let old = marks.iter().filter(|(name, at)| **at != NOT_SET && name.starts_with(&of_this));
            for (name, _) in old.filter(|(name, _)| !set.contains(name)) {
                self.store.set_watermark(name, NOT_SET).await?;
            }
        }
        Ok(())
    }

    /// Since when this trigger is set; from now on where no round has seen it yet.
    async fn set_since(&self, entry: &Repository, trigger: &Trigger) -> Result<i64, Trouble> {
        let name = mark(&entry.key, trigger);
        if let Some(at) = self.store.watermark(&name).await?.filter(|at| *at != NOT_SET) {
            return Ok(at);
        }
        let at = self.forge.clock().await?;
        self.store.set_watermark(&name, at).await?;
        Ok(at)
    }

    /// Puts what begins a task without a command among the texts of an issue, in the forge's order.
    pub(super) async fn add_triggers(
        &self,
        entry: &Repository,
        at: &RepoRef,
        issue: &Issue,
        texts: &mut Vec<Text>,
    ) -> Result<(), Trouble> {
        let start = self.config.start_of(&entry.key);
        let triggers = start.triggers();
        if triggers.is_empty() || issue.is_pull {
            return Ok(());
        }
        let verb = Verb::begin(start.kind(), String::new(), Terms::default());
        let plain = texts.first_mut().filter(|text| matches!(text.verb, Verb::Say { .. }));
        if let Some(opened) = plain.filter(|_| triggers.contains(&Trigger::Writer))
            && issue.created_at >= self.set_since(entry, &Trigger::Writer).await?
        {
            if issue.open && self.threads.accounts.counts(&issue.author) {
                (opened.verb, opened.trigger) = (verb.clone(), Some(Trigger::Writer));
            } else {
                self.note_seen(entry, &opened.source).await?;
            }
        }
        for (change, trigger) in self.new_changes(entry, at, issue, &triggers).await? {
            let source = Source::Change(change.id);
            match trigger.filter(|_| issue.open && self.threads.accounts.counts(&change.by)) {
                Some(trigger) => texts.push(Text {
                    created_at: change.at,
                    trigger: Some(trigger),
                    change: Some(change.clone()),
                    ..Text::new(source, change.id, (change.by, String::new()), verb.clone())
                }),
                None => self.note_seen(entry, &source).await?,
            }
        }
        texts.sort_by_key(|text| text.number);
        Ok(())
    }

    /// Notes assignments and labels of an issue that a task is at work on: they begin nothing, nor do they once it has ended.
    pub(super) async fn note_changes(&self, entry: &Repository, number: u64) -> Result<(), Trouble> {
        let triggers = self.config.start_of(&entry.key).triggers();
        if triggers.iter().all(|trigger| *trigger == Trigger::Writer) {
            return Ok(());
        }
        let changes = match self.forge.changes(&self.addresses.at(entry)?, number).await {
            Ok(changes) => changes,
            // Ignored, because the next reading looks again, and what people said to the task must not wait for it.
            Err(error) => {
                tracing::warn!(repository = entry.key, issue = number, %error, "assignments and labels could not be read");
                return Ok(());
            }
        };
        for change in changes {
            self.note_seen(entry, &Source::Change(change.id)).await?;
        }
        Ok(())
    }

    async fn note_seen(&self, entry: &Repository, source: &Source) -> Result<(), Trouble> {
        let key = decision_key(source);
        if !self.store.knows_input(&key).await? {
            self.store.note_input_of(&entry.key, &key, now()).await?;
        }
        Ok(())
    }

    /// Assignments and labels that nobody has taken up or noted, since one of these triggers was set; each with the trigger that it is, if it may
    /// begin a task: it was not taken back or repeated, and no task was at work then.
    async fn new_changes(
        &self,
        entry: &Repository,
        at: &RepoRef,
        issue: &Issue,
        triggers: &[Trigger],
    ) -> Result<Vec<(Change, Option<Trigger>)>, Trouble> {
        let mut since = Vec::new();
        for trigger in triggers.iter().filter(|trigger| **trigger != Trigger::Writer) {
            since.push((trigger, self.set_since(entry, trigger).await?));
        }
        let Some(first) = since.iter().map(|(_, at)| *at).min() else { return Ok(Vec::new()) };
        let changes = match self.forge.changes(at, issue.number).await {
            Ok(changes) => changes,
            // Commands are followed all the same.
            Err(error) => {
                tracing::warn!(repository = entry.key, issue = issue.number, %error, "assignments and labels could not be read");
                return Ok(Vec::new());
            }
        };
        let busy = self.store.newest_task_of(&entry.key, issue.number).await?.map_or(0, |row| row.updated_at);
        let mut found = Vec::new();
        for (place, change) in changes.iter().enumerate().filter(|(_, change)| change.at >= first) {
            if self.store.knows_input(&decision_key(&Source::Change(change.id))).await? {
                continue;
            }
            let later = &changes[place + 1..];
            let trigger = since.iter().find(|(trigger, since)| change.at >= *since && self.is_trigger(change, trigger));
            let newest = trigger.is_some_and(|(trigger, _)| !later.iter().any(|other| self.is_about(other, trigger)));
            // Our time of the task's end, by the forge's clock, which is known to a second.
            let begins = newest && change.at > busy - self.machine.clock().ahead() + 1000;
            found.push((change.clone(), trigger.filter(|_| begins).map(|(trigger, _)| (*trigger).clone())));
        }
        Ok(found)
    }

    fn is_trigger(&self, change: &Change, trigger: &Trigger) -> bool {
        let added = match change.what {
            Changed::Assignee { added, .. } | Changed::Label { added, .. } => added,
        };
        added && self.is_about(change, trigger)
    }

    fn is_about(&self, change: &Change, trigger: &Trigger) -> bool {
        match (&change.what, trigger) {
            (Changed::Assignee { account, .. }, Trigger::Assigned) => account.id == self.me,
            (Changed::Label { name, .. }, Trigger::Label { name: wanted }) => name == wanted,
            (
                Changed::Assignee { .. } | Changed::Label { .. },
                Trigger::Assigned | Trigger::Label { .. } | Trigger::Writer,
            ) => false,
        }
    }

    /// Takes up what stands for a command; true when a task began.
    pub(super) async fn take_trigger(
        &self,
        entry: &Repository,
        issue: &Issue,
        text: &Text,
        (trigger, kind): (&Trigger, TaskKind),
        key: &str,
    ) -> Result<bool, Trouble> {
        let (who, login) = (&text.author, &text.author.login);
        let right = self.threads.accounts.right(entry, who, &mut HashMap::new()).await?;
        let admission = self.threads.groups.admits(entry, (&text.verb, &account(who), right), None).await?;
        if right < Access::Write || admission.is_err() {
            let bar = admission.err();
            tracing::info!(repository = entry.key, issue = issue.number, source = %text.source, login, %trigger, "begins nothing: no right");
            // Opening an issue is no request, so nobody is answered.
            match trigger {
                Trigger::Writer => self.note_seen(entry, &text.source).await?,
                Trigger::Assigned | Trigger::Label { .. } => {
                    let answer = message::trigger_refused(login, trigger, kind, bar.as_deref());
                    self.threads.answers.refuse_once(entry, issue.number, key, text.asks(kind.name()), &answer).await?;
                }
            }
            return Ok(false);
        }
        if text.edited {
            match trigger {
                // Opening an issue is no request, so nobody is answered.
                Trigger::Writer => self.note_seen(entry, &text.source).await?,
                Trigger::Assigned | Trigger::Label { .. } => {
                    let answer = message::trigger_edited(login, trigger, kind);
                    self.threads.answers.answer_once(entry, issue.number, key, &answer).await?;
                }
            }
            return Ok(false);
        }
        let request = self.request(entry, issue, (text, right), kind, Terms::default()).await?;
        let listed = admission.unwrap_or_default();
        let request = Request { trigger: Some(trigger.clone()), listed, ..request };
        let began = self.machine.create(key, request, Vec::new()).await?.is_some();
        if began {
            tracing::info!(repository = entry.key, issue = issue.number, source = %text.source, login, %trigger, "a task began");
        }
        Ok(began)
    }
}
