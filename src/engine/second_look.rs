//! The call to a second model about the changes of a checkpoint. The model has no tools and takes no part in the work: its answer is shown
//! in the review and decides nothing. Pure.

use domain::Task;
use minijinja::context;

use super::budget::TooMuch;
use super::fence::{Fence, Trust, seen, spelled};
use super::style::Reader;
use super::turn::Ready;
use super::{EngineConfig, budget, context as sizes, issue, prompt};
use crate::llm::{Model, ModelRequest};
use crate::text;

/// The most characters of a change that are sent: about 12,000 tokens.
const MOST_DIFF: usize = 48_000;
/// The longest answer, in tokens, beside what a model thinks before it: five findings.
const MOST_OUTPUT: u64 = 800;

/// A change as its review shows it. Both texts are foreign.
pub struct Change<'a> {
    /// The agent's summary.
    pub summary: &'a str,
    /// A difference in git's format.
    pub diff: &'a str,
}

/// The call; the error says why there is none: it does not fit into the model, or into what the task may still spend.
pub fn second_look(
    task: &Task,
    change: &Change<'_>,
    config: &EngineConfig,
    model: &dyn Model,
) -> Result<Ready, String> {
    // Half of the window, at three characters per token, because differences are dense.
    let room = usize::try_from(model.context_tokens() * 3 / 2).unwrap_or(MOST_DIFF).min(MOST_DIFF);
    let mut request = asked(task, change, room, config).ok_or("the task has no request")?;
    let prompt_tokens = sizes::estimate(&request, &[]);
    let left = budget::left(&task.granted, &task.spent);
    let wanted = config.max_output_tokens.min(budget::with_thoughts(MOST_OUTPUT, model.context_tokens()));
    let allowed = budget::allow(&left, &model.price(), prompt_tokens, wanted, model.context_tokens()).map_err(
        |why| match why {
            TooMuch::Context => {
                format!("the changes do not fit into the {} tokens of its model", text::grouped(model.context_tokens()))
            }
            TooMuch::Budget(what) => format!("the task's budget leaves too little for it ({what})"),
        },
    )?;
    request.max_output_tokens = allowed.max_output_tokens;
    let (reader, worst_micro_usd) = (Reader::Tools { spoken: false }, allowed.worst_micro_usd);
    Ok(Ready { turn: task.turn, request, reader, prompt_tokens, worst_micro_usd })
}

fn asked(task: &Task, change: &Change<'_>, room: usize, config: &EngineConfig) -> Option<ModelRequest> {
    let asked = task.request.as_ref()?;
    let fence = Fence::new(&config.secret, task.id);
    let (issue, _) = issue::shown(asked);
    let (command, _) = seen(&asked.words);
    let mut words = fence.wrap("the issue", Trust::None, text::cut(&issue, room / 4).0);
    if !command.is_empty() {
        words = format!("{}\n{words}", fence.wrap("the task", Trust::Write, text::cut(&command, room / 4).0));
    }
    let diff = spelled(change.diff);
    let (diff, hidden) = text::cut(&diff, room);
    let body = match change.summary.trim() {
        "" => String::new(),
        summary => fence.wrap("the agent", Trust::None, text::cut(&spelled(summary), room / 8).0),
    };
    let values = context! { words, body, hidden, text => fence.wrap("the change", Trust::None, diff) };
    let text = prompt::render("review_change", values);
    let system = prompt::render(
        "review_system",
        context! { repository => fence.inline(&asked.repository), nonce => fence.nonce() },
    );
    Some(ModelRequest::question(system, text, MOST_OUTPUT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::requested;
    use crate::llm::Scripted;
    use crate::secret::Secret;
    use domain::{Budget, TaskId, TaskKind};

    #[test]
    fn what_does_not_fit_the_model_or_the_budget_is_told() {
        let change = Change { summary: "It compares numbers.", diff: "+x\n" };
        let config = EngineConfig::new(Secret::new("k"), 1_000);
        let mut task = Task::fold(TaskId(1), &[requested(TaskKind::Fix, "b")]);
        task.granted = Budget::default();
        let asked = |task: &Task, window| {
            let model = Scripted::from_toml("name = 't'\n[[turn]]\ntext = 'x'", window).unwrap();
            second_look(task, &change, &config, &model).map(drop)
        };
        assert_eq!(asked(&task, 100_000), Ok(()));
        assert_eq!(asked(&task, 200), Err("the changes do not fit into the 200 tokens of its model".to_owned()));
        task.granted = Budget { tokens: 10, ..Budget::default() };
        assert_eq!(asked(&task, 100_000), Err("the task's budget leaves too little for it (tokens)".to_owned()));
    }
}
