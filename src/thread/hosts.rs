//! Hosts that a text allows or denies besides its strongest command; and what the configuration and the store say about what is asked for.

use super::answer::Answers;
use super::groups::Groups;
use super::keys::decision_key;
use super::{Asking, Feed, words};
use crate::clock::now;
use crate::config::Process;
use crate::config::process::Repository;
use crate::egress::overruled;
use crate::message;
use crate::store::{Store, TakeBack};
use crate::trouble::Trouble;
use domain::{Bar, Decision, Input, Source, Task, TaskId, Verb, names_grant};
use protocol::router::Rule;
use std::sync::Arc;

/// The forge's number of the text that began the task.
pub(super) fn began(task: &Task) -> i64 {
    task.request.as_ref().map_or(0, |request| request.number)
}

/// Whether the text of this decision was written before the task began: an issue's, a comment's, or a review's of a person's pull request.
pub(super) fn is_older(decision: &Decision, task: &Task) -> bool {
    let may_be = match decision.source {
        Source::Issue(_) | Source::Comment(_) => true,
        Source::Review(_) => task.persons_pull().is_some(),
        Source::Reply { .. } | Source::Change(_) => false,
    };
    may_be && decision.number <= began(task)
}

fn decided(input: &Input) -> Option<&Decision> {
    if let Input::Decided { decision } = input { Some(decision) } else { None }
}

/// The decision, if it denies a host.
fn denied(input: &Input) -> Option<&Decision> {
    decided(input).filter(|decision| matches!(decision.verb, Verb::Deny { .. }))
}

fn host(decision: &Decision) -> Option<String> {
    decision.verb.host().map(str::to_owned)
}

/// The key under which the further host with this number of a text is taken up by a task; `key` is the text's.
pub fn host_key(key: &str, at: usize) -> String {
    format!("{key}+{at}")
}

/// The key of what stands on a text's lines; `key` is the text's.
fn lines_key(key: &str) -> String {
    format!("{key}~lines")
}

/// The key under which the hosts of a text are answered where none of them is its command; `key` is the text's.
pub fn hosts_key(key: &str) -> String {
    format!("{key}~hosts")
}

/// Judges the hosts of a text, and looks up what its command is judged by.
pub struct HostCommands {
    pub(super) config: Arc<Process>,
    pub(super) store: Store,
    pub(super) groups: Arc<Groups>,
    pub(super) answers: Arc<Answers>,
}

impl HostCommands {
    /// Feeds the further hosts of a text, each as a decision of its own. `key` is the text's. One from before the task is carried out beside it,
    /// and its hosts with it, where they were not answered before: only what it denies, because what it allows was for no task;
    /// as of one that is `too_long`, of which nothing else is taken.
    pub(super) async fn feed_hosts(
        &self,
        entry: &Repository,
        id: TaskId,
        key: &str,
        (text, strongest, task, too_long): (&str, &Decision, Option<&Task>, bool),
        feed: &dyn Feed,
    ) -> Result<(), Trouble> {
        let is_older = task.is_some_and(|task| is_older(strongest, task));
        if is_older && self.store.knows_input(&hosts_key(key)).await? {
            return Ok(());
        }
        for (at, input) in self.hosts(entry, text, (strongest, task)).await?.into_iter().enumerate() {
            if !(is_older || too_long) || denied(&input).is_some() {
                feed.feed(id, &host_key(key, at), input).await?;
            }
        }
        Ok(())
    }

    /// Feeds what stands on lines and takes a host back, each as a decision of its own. `key` is the key of their text.
    pub(super) async fn feed_denials(
        &self,
        entry: &Repository,
        (id, task): (TaskId, &Task),
        key: &str,
        (denied, decision): (Vec<Verb>, &Decision),
        feed: &dyn Feed,
    ) -> Result<(), Trouble> {
        let key = lines_key(key);
        for (at, input) in self.judged(entry, denied, (decision, Some(task))).await?.into_iter().enumerate() {
            feed.feed(id, &host_key(&key, at), input).await?;
        }
        Ok(())
    }

    /// Carries out what a text from before the task takes back. Its own commands are left for when the task has ended; of one that holds
    /// nothing but hosts, what it allows is answered. `key` is the text's, `number` that of its issue or pull request.
    pub(super) async fn take_denials(
        &self,
        entry: &Repository,
        (id, task, number): (TaskId, &Task, u64),
        (key, text): (&str, &str),
        decision: &Decision,
        feed: &dyn Feed,
    ) -> Result<(), Trouble> {
        let inputs = self.hosts(entry, text, (decision, Some(task))).await?;
        let hosts: Vec<String> =
            inputs.iter().filter_map(denied).filter(|by| by.barred.is_none()).filter_map(host).collect();
        if !hosts.is_empty() {
            let (id, login, source) = (decision.poster.id, decision.poster.login.as_str(), &decision.source);
            let asked = Asking { id, login, source, command: "deny" }.on(entry, number, key);
            self.store.take_back(TakeBack { asked, input_key: taken_key(key), hosts, now: now() }).await?;
        }
        let allowed = inputs.iter().filter(|input| denied(input).is_none()).filter_map(decided).filter_map(host);
        let nowhere: Vec<String> =
            allowed.map(|host| message::allowed_nowhere(&decision.poster.login, &host)).collect();
        for (at, input) in inputs.into_iter().enumerate().filter(|(_, input)| denied(input).is_some()) {
            feed.feed(id, &host_key(key, at), input).await?;
        }
        match words::commands(text).iter().all(|verb| verb.host().is_some()) {
            true if nowhere.is_empty() => {
                self.store.note_input_of(&entry.key, key, now()).await.map(drop).map_err(Trouble::from)
            }
            true => self.answers.answer_once(entry, number, key, &nowhere.join("\n\n")).await,
            false => Ok(()),
        }
    }

    /// The further hosts of a text, each as a decision of its own; `task` is the one that they are for, if it has begun.
    pub async fn hosts(
        &self,
        entry: &Repository,
        text: &str,
        (strongest, task): (&Decision, Option<&Task>),
    ) -> Result<Vec<Input>, Trouble> {
        self.judged(entry, words::hosts(text, &strongest.verb), (strongest, task)).await
    }

    /// Each of these hosts as a decision of its own, with what the configuration and the store say about it.
    async fn judged(
        &self,
        entry: &Repository,
        hosts: Vec<Verb>,
        (strongest, task): (&Decision, Option<&Task>),
    ) -> Result<Vec<Input>, Trouble> {
        let mut inputs = Vec::new();
        for mut verb in hosts {
            self.look_up(entry, &strongest.source, &mut verb).await?;
            let admission = self.groups.admits(entry, (&verb, &strongest.poster, strongest.right), task).await?;
            let (listed, barred) = admission.map_or_else(|whom| (Vec::new(), Some(whom)), |listed| (listed, None));
            let decision = Decision { barred, listed, verb, ..strongest.clone() };
            inputs.push(Input::Decided { decision: Box::new(decision) });
        }
        Ok(inputs)
    }

    /// Fills in what the configuration and the store say about what the text of this source asks for: the operator's rules and limits, and
    /// the repository's grants.
    pub async fn look_up(&self, entry: &Repository, source: &Source, verb: &mut Verb) -> Result<(), Trouble> {
        match verb {
            Verb::Allow { bar, .. } if !self.config.sandbox_of(&entry.key).networked() => *bar = Some(Bar::NoNetwork),
            Verb::Allow { host, bar, .. } => {
                let denied = self.config.denied_of(&entry.key);
                let over = Rule::parse(host).ok().and_then(|rule| overruled(&denied, &rule).map(Rule::to_string));
                *bar = over.map(|rule| Bar::Operator { rule });
            }
            Verb::Deny { host, kept } => {
                *kept = self.store.grants(&entry.key).await?.iter().any(|grant| grant.is_named_by(host))
                    || self.was_taken_back(source, host).await?;
            }
            Verb::Budget { ceiling, who, .. } => {
                let budget = self.config.budget_of(&entry.key);
                (*ceiling, *who) = (budget.ceiling(), budget.granters());
            }
            Verb::Model { among, .. } => {
                *among = self.config.models_of(&entry.key).nameable().map(|entry| entry.id.clone()).collect();
            }
            Verb::Merge { bar } => *bar = self.config.merge_bar(entry),
            _ => {}
        }
        Ok(())
    }

    /// Whether this text took the host back from the repository before a task took it up.
    async fn was_taken_back(&self, source: &Source, host: &str) -> Result<bool, Trouble> {
        let key = decision_key(source);
        for key in [hosts_key(&key), key] {
            let taken = self.store.taken_back(&taken_key(&key)).await?;
            if taken.iter().any(|grant| names_grant(host, grant)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The key under which hosts are taken back without a task by what the text with this key denies.
pub fn taken_key(key: &str) -> String {
    format!("{key}~taken")
}
