//! Applies rules about single actions to a task: the built-in ones, the operator's, and those of the project file at its base.

use super::policy::RepositoryPolicy;
use super::repository::{ProjectWithRules, Repositories, base, request};
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
        let project = self.repositories.project(&request(task)?.repository, &base(task)?).await?;
        let action = Arc::new(action.clone());
        let least = ActionContext { stranger: request(task)?.of_stranger(), ..ActionContext::default() };
        let without = judged(&project, &action, least).await?;
        // The log is read only if it makes a difference.
        let most = ActionContext { stranger: least.stranger, ..ActionContext::ALL };
        if matches!(without, Ruling::Deny(_)) || judged(&project, &action, most).await? == without {
            return Ok(without);
        }
        let web = self.read_a_page(task).await?;
        let ruled = |repeated| judged(&project, &action, ActionContext { web, repeated, ..least });
        // The whole log is read only if how often matters.
        match (ruled(0).await?, ruled(u32::MAX).await?) {
            (never, often) if never == often => Ok(never),
            _ => ruled(self.repeated(task, number).await?).await,
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

/// What the rules say of an action. A repository's pattern on an agent's command of nearly a megabyte may take minutes, in which nothing else
/// would be done on a thread of the runtime.
async fn judged(project: &Arc<ProjectWithRules>, action: &Arc<Action>, seen: ActionContext) -> Result<Ruling, Trouble> {
    let (project, action) = (Arc::clone(project), Arc::clone(action));
    let judging = tokio::task::spawn_blocking(move || project.rules.judge(&action, seen));
    judging.await.map_err(|error| Trouble::later(format!("the rules about actions could not be applied: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::project::Project;
    use crate::policy::{Rules, Written};

    #[tokio::test]
    async fn while_a_long_command_is_matched_the_runtime_goes_on() {
        let text = r#"
name = "a"
then = "deny"
because = "b"
command = '\b[a-z]{3} [a-z]{7}\b'
hits = ["npm publish"]
"#;
        let rules = Rules::read(&[toml::from_str::<Written>(text).unwrap()]).unwrap();
        let project = Arc::new(ProjectWithRules { project: Project::default(), rules, mistake: None });
        // One character beyond ASCII has it matched by the slowest of the engines.
        let command = format!("\u{e9}{}; npm publish", " npm".repeat(200_000));
        let action = Arc::new(Action::Bash { command });
        let mut judging = std::pin::pin!(judged(&project, &action, ActionContext::default()));
        let ended = tokio::select! {
            biased;
            _ = &mut judging => true,
            () = std::future::ready(()) => false,
        };
        assert!(!ended, "it was matched on the runtime's own thread");
        assert!(matches!(judging.await, Ok(Ruling::Deny(_))));
    }
}
