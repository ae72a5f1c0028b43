//! Applies rules about single actions to a task: the built-in ones, the operator's, and those of the project file at its base.

use super::policy::RepositoryPolicy;
use super::repository::{Repositories, base, request};
use crate::engine::repeated;
use crate::policy::{ActionContext, Ruling, secrets};
use crate::store::Store;
use crate::trouble::Trouble;
use domain::{Action, ActionKind, Event, Task};
use std::sync::Arc;

/// Judges single actions by the rules.
pub(super) struct Rulebook {
    pub store: Store,
    pub repositories: Arc<Repositories>,
}

impl Rulebook {
    /// The ruling on an action with this number.
    pub(super) async fn ruled(
        &self,
        task: &Task,
        operators: &RepositoryPolicy<'_>,
        number: u32,
        action: &Action,
    ) -> Result<Ruling, Trouble> {
        match secrets::judge(action, operators.networked()) {
            denied @ Ruling::Deny(_) => Ok(denied),
            built_in @ (Ruling::Ask(_) | Ruling::Allow) => Ok(built_in.and(self.by_rules(task, number, action).await?)),
        }
    }

    async fn by_rules(&self, task: &Task, number: u32, action: &Action) -> Result<Ruling, Trouble> {
        // Not the whole policy: that needs the repository's place on the forge, which an action does not wait for.
        let rules = &self.repositories.project(&request(task)?.repository, &base(task)?).await?.rules;
        let least = ActionContext { stranger: request(task)?.of_stranger(), ..ActionContext::default() };
        let without = rules.judge(action, least);
        // The log is read only if it makes a difference.
        let most = ActionContext { stranger: least.stranger, ..ActionContext::ALL };
        if matches!(without, Ruling::Deny(_)) || rules.judge(action, most) == without {
            return Ok(without);
        }
        let web = self.read_a_page(task).await?;
        let ruled = |repeated| rules.judge(action, ActionContext { web, repeated, ..least });
        // The whole log is read only if how often matters.
        match (ruled(0), ruled(u32::MAX)) {
            (never, often) if never == often => Ok(never),
            _ => Ok(ruled(self.repeated(task, number).await?)),
        }
    }

    /// How often the same was done before with the same result; an action whose call the log does not hold counts as done often.
    async fn repeated(&self, task: &Task, number: u32) -> Result<u32, Trouble> {
        let log: Vec<Event> = self.store.log(task.id).await?.into_iter().map(|(_, event)| event).collect();
        Ok(repeated(&log, number).unwrap_or(u32::MAX))
    }

    /// Whether the content of a web page is in this task's conversation: read by it, or by an attempt before it, of which it is told.
    async fn read_a_page(&self, task: &Task) -> Result<bool, Trouble> {
        let mut next = Some(task.id);
        while let Some(id) = next {
            let log = self.store.log(id).await?;
            // The log of a deleted attempt is gone, so it may have read a page.
            if log.is_empty() {
                return Ok(true);
            }
            let fetches = |event: &Event| match event {
                Event::TurnCompleted { calls, .. } => {
                    calls.iter().any(|made| made.call.action().is_some_and(|it| it.what() == ActionKind::WebFetch))
                }
                _ => false,
            };
            if log.iter().any(|(_, event)| fetches(event)) {
                return Ok(true);
            }
            next = log.iter().find_map(|(_, event)| match event {
                Event::Requested { request } => request.earlier.as_ref().map(|earlier| earlier.task),
                _ => None,
            });
        }
        Ok(false)
    }
}
