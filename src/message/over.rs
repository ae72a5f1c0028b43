//! Answers about a task that has ended, or that a text came too early for.

use super::about::About;
use crate::text::code;
use domain::Task;

/// A command for a task that is at work; `name` without its slash.
pub fn over_for(login: &str, name: &str, about: &About<'_>) -> String {
    format!(
        "{}: task {} is {}, so {} has nothing to act on. Nothing was changed. {}",
        code(login),
        about.task.id,
        about.state_words(),
        code(&format!("/{name}")),
        next(about)
    )
}

/// A command that begins a task, and was written before the one that began this task, or that ended it, or before a later `/stop`; `name`
/// without its slash.
pub fn overtaken(login: &str, name: &str, about: &About<'_>) -> String {
    format!(
        "{}: {} was written before task {} began or was ended, or before a later `/stop`, and I could not carry it out in time, so nothing was started. {}",
        code(login),
        code(&format!("/{name}")),
        about.task.id,
        next(about)
    )
}

/// A `/retry` from before the attempt that another one by `asker` began could be seen, or had taken an action.
pub fn begun_already(login: &str, task: &Task, asker: &str) -> String {
    let again = match task.state.ended() {
        true => "To begin again, write `/retry` once more.",
        false => "To begin again, write `/retry` once more after it took an action, or `/stop` it first.",
    };
    format!(
        "{}: task {} is the new attempt that {} asked for, and this `/retry` came before it had done anything that you could see, so nothing was ended or begun. {again}",
        code(login),
        task.id,
        code(asker)
    )
}

/// What begins a new task.
fn next(about: &About<'_>) -> String {
    let again = about.again();
    match &about.task.request {
        Some(request) if about.task.of_a_pull() => {
            format!("`/retry` begins a new attempt at it, {again} reads pull request #{} as it is now.", request.issue)
        }
        Some(request) => {
            format!("`/retry` begins a new attempt at it, {again} on issue #{} a new task.", request.issue)
        }
        None => format!("{again} starts a new one."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::tests::task;
    use domain::{End, State, TaskKind};

    #[test]
    fn a_task_that_has_ended_says_what_begins_another() {
        let texts = |kind| {
            let task = task(kind, State::Ended { end: End::Cancelled { by: "bob".into(), number: 0 } });
            let about = About { task: &task, pull_url: None, scripted: false, line: None };
            [over_for("b`ob", "approve", &about), overtaken("b`ob", "retry", &about)].join("\n---\n")
        };
        insta::assert_snapshot!("over", [texts(TaskKind::Fix), texts(TaskKind::Review)].join("\n---\n"));
    }

    #[test]
    fn a_retry_that_came_too_early_says_when_another_one_counts() {
        let over = State::Ended { end: End::Cancelled { by: "bob".into(), number: 0 } };
        let texts = [State::Preparing, over].map(|state| begun_already("b`ob", &task(TaskKind::Fix, state), "al`ice"));
        insta::assert_snapshot!("begun_already", texts.join("\n---\n"));
    }
}
