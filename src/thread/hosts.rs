//! Hosts that a text allows or denies besides its strongest command; and what the configuration and the store say about what is asked for.

use super::{Feed, Threads, decision_key, words};
use crate::config::process::Repository;
use crate::egress::overruled;
use crate::trouble::Trouble;
use domain::{Bar, Decision, Input, Source, Task, TaskId, Verb};
use protocol::router::Rule;

/// The forge's number of the text that began the task.
pub(super) fn began(task: &Task) -> i64 {
    task.request.as_ref().map_or(0, |request| request.number)
}

/// The key under which the further host with this number of a text is taken up by a task; `key` is the text's.
pub fn host_key(key: &str, at: usize) -> String {
    format!("{key}+{at}")
}

/// The key under which the hosts of a text are answered where none of them is its command; `key` is the text's.
pub fn hosts_key(key: &str) -> String {
    format!("{key}~hosts")
}

impl Threads {
    /// Feeds the further hosts of a text, each as a decision of its own. `key` is the text's. Of a text from before the task, only what it denies:
    /// what it allows was for no task, unless hosts of it were answered already.
    pub(super) async fn feed_hosts(
        &self,
        entry: &Repository,
        id: TaskId,
        key: &str,
        (text, strongest, task): (&str, &Decision, Option<&Task>),
        feed: &dyn Feed,
    ) -> Result<(), Trouble> {
        let is_older = task.is_some_and(|task| began(task) >= strongest.number);
        if is_older && self.store.knows_input(&hosts_key(key)).await? {
            return Ok(());
        }
        for (at, input) in self.hosts(entry, text, (strongest, task)).await?.into_iter().enumerate() {
            let allows = matches!(&input, Input::Decided { decision } if matches!(decision.verb, Verb::Allow { .. }));
            if is_older && allows {
                continue;
            }
            feed.feed(id, &host_key(key, at), input).await?;
        }
        Ok(())
    }

    /// The further hosts of a text, each as a decision of its own; `task` is the one that they are for, if it has begun.
    pub async fn hosts(
        &self,
        entry: &Repository,
        text: &str,
        (strongest, task): (&Decision, Option<&Task>),
    ) -> Result<Vec<Input>, Trouble> {
        let mut inputs = Vec::new();
        for mut verb in words::hosts(text, &strongest.verb) {
            self.look_up(entry, &strongest.source, &mut verb).await?;
            let admission = self.admits(entry, (&verb, &strongest.poster, strongest.right), task).await?;
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
                let denied = self.config.egress.denied();
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
            if taken.iter().any(|grant| names(host, grant)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a denial of this host takes back the grant of that name.
pub fn names(host: &str, grant: &str) -> bool {
    grant.strip_prefix(host).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// The key under which hosts are taken back without a task by what the text with this key denies.
pub fn taken_key(key: &str) -> String {
    format!("{key}~taken")
}
