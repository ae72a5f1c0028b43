//! The one comment that shows a task's present state, edited in place.
//!
//! Owns its layout and limits. It names nobody by `@`: who has to act is notified by a comment of its own. No time stands in it, because
//! each edit costs requests. Tests: `status_comment_tests.rs`.

use super::about::About;
use super::action_log::clean;
use super::life::{accepted, asked_by, pause_reason, trouble};
use super::pull::plan_line;
use crate::checkpoint::gather::lines;
use crate::checkpoint::render::result_in_text;
use crate::text::{code, cost, dollars, grouped, plain_cell, prose};
use domain::{Checkpoint, Event, PlanStep, State, StepState, Task};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The most steps shown of a plan, and the most actions.
const MOST_STEPS: usize = 8;
const MOST_ACTIONS: usize = 5;
/// The most characters shown of what the first review says about the sandbox and the repository's own rules.
const MAX_NOTE: usize = 1_500;

/// Where people find what belongs to a task. The addresses are ours.
#[derive(Debug, Clone, Default)]
pub struct StatusPlaces {
    /// Address of the repository, without a slash at its end; none where the forge's is not known, and then nothing is linked.
    pub repository: Option<String>,
    /// Address of the attached log of actions; none before there is one.
    pub action_log: Option<String>,
    /// What is said behind the acceptance while the task goes on, with a space before it; in words of ours.
    pub note: Option<&'static str>,
}

/// The text of the status comment, without its mark. `log` is the task's whole log; `waits_for` is what a step waits for that was tried
/// several times. Foreign text of both is shown as such.
pub fn status_comment(about: &About<'_>, log: &[Event], places: &StatusPlaces, waits_for: Option<&str>) -> String {
    let task = about.task;
    let over = matches!(task.state, State::Approved { .. } | State::Ended { .. });
    let note = places.note.filter(|_| !over).unwrap_or_default();
    let mut out = format!("### Task {}: {}\n\n{}{note}\n", task.id, now_words(about), next_words(about));
    if let State::Paused { reason, .. } = &task.state {
        let _ = write!(out, "\n{}\n", pause_reason(reason));
    }
    if let Some(sentence) = waits_for.filter(|_| !task.state.ended()) {
        let _ = write!(out, "\n{}\n", trouble(sentence));
    }
    if let Some(note) = task.note.as_deref().filter(|_| !task.state.ended()) {
        let _ = write!(out, "\n**Beforehand**: {}\n", prose(note, MAX_NOTE));
    }
    table(&mut out, about, places);
    plan(&mut out, &task.steps);
    actions(&mut out, task, log, places);
    out.push_str("\n<sub>This comment is edited in place, and nobody is notified of that. What somebody has to answer is posted anew.</sub>\n");
    out
}

/// The state, as the rest of the heading.
fn now_words(about: &About<'_>) -> String {
    let task = about.task;
    match &task.state {
        State::Running => {
            let begun = task.used + u8::from(task.running.is_none());
            let (at, every) = (begun.clamp(1, task.every()), task.every());
            match task.kind.reads_only() {
                true => format!("working, action {at} of {every} before its answer"),
                false => format!("working, action {at} of {every} of checkpoint {}", task.next_n()),
            }
        }
        State::Ended { .. } => format!("over, {}", task.state.name()),
        State::Queued
        | State::Preparing
        | State::Publishing { .. }
        | State::AwaitingReview { .. }
        | State::Asking { .. }
        | State::Verifying { .. }
        | State::AwaitingCi { .. }
        | State::FinalReview { .. }
        | State::Approved { .. }
        | State::Paused { .. } => about.state_words(),
    }
}

/// What happens next: at work as it was said at the beginning, otherwise what a person can do.
fn next_words(about: &About<'_>) -> String {
    let said = || accepted(about);
    match &about.task.state {
        State::Queued
        | State::Preparing
        | State::Running
        | State::Publishing { .. }
        | State::Verifying { .. }
        | State::AwaitingCi { .. } => said(),
        // What pauses it says what to do.
        State::Paused { .. } => said(),
        State::AwaitingReview { .. } | State::Asking { .. } | State::FinalReview { .. } => {
            format!("{}\n\n**What now**: {}", said(), about.next_words())
        }
        State::Approved { .. } | State::Ended { .. } => about.next_words(),
    }
}

fn table(out: &mut String, about: &About<'_>, places: &StatusPlaces) {
    let task = about.task;
    let of = |used: String, granted: u64, shown: String| if granted == 0 { used } else { format!("{used} of {shown}") };
    let (spent, granted) = (&task.spent, &task.granted);
    out.push_str("\n| | |\n|---|---|\n");
    let mut row = |name: &str, value: String| {
        let _ = writeln!(out, "| {name} | {value} |");
    };
    row("asked for", asked_by(task));
    row("actions", of(grouped(spent.actions), granted.actions, grouped(granted.actions)));
    row("checkpoints", grouped(task.checkpoints.len() as u64));
    row("tokens", of(grouped(spent.tokens), granted.tokens, grouped(granted.tokens)));
    row("money", of(cost(spent.micro_usd, spent.unpriced), granted.micro_usd, dollars(granted.micro_usd)));
    if let (Some(number), Some(url)) = (task.pull, about.pull_url) {
        row("pull request", format!("[{number}]({url})"));
    }
    if let Some(request) = task.request.as_ref().filter(|_| !task.kind.reads_only()) {
        row("branch", plain_cell(&request.branch));
    }
    if let Some(commit) = &task.pushed {
        let link = places.repository.as_ref().map(|page| format!("{page}/commit/{commit}"));
        row("newest commit", linked(&format!("`{}`", commit.short()), link));
    }
    if let Some(newest) = task.checkpoints.iter().rev().find(|checkpoint| !checkpoint.void) {
        row("newest review", linked(&format!("checkpoint {}", newest.n), review_link(task, newest, places)));
    }
    if let Some(url) = &places.action_log {
        row("all actions", format!("[their log]({url})"));
    }
}

/// Words with a link of ours; without an address the words alone.
fn linked(words: &str, url: Option<String>) -> String {
    url.map_or_else(|| words.to_owned(), |url| format!("[{words}]({url})"))
}

/// Where the review or answer of a checkpoint stands; none where its text was edited or deleted.
fn review_link(task: &Task, checkpoint: &Checkpoint, places: &StatusPlaces) -> Option<String> {
    let (page, request) = (places.repository.as_ref()?, task.request.as_ref()?);
    let thread = match task.pull.filter(|_| checkpoint.review != 0) {
        Some(pull) => format!("pulls/{pull}"),
        None if task.of_a_pull() => format!("pulls/{}", request.issue),
        None => format!("issues/{}", request.issue),
    };
    (!checkpoint.void).then(|| format!("{page}/{thread}#issuecomment-{}", checkpoint.number))
}

/// The steps around the first one that is not done. They are foreign.
fn plan(out: &mut String, steps: &[PlanStep]) {
    if steps.is_empty() {
        return;
    }
    let open = |step: &PlanStep| matches!(step.state, StepState::Open | StepState::Doing);
    let first = steps.iter().position(open).unwrap_or(steps.len()).saturating_sub(2);
    let first = first.min(steps.len().saturating_sub(MOST_STEPS));
    let shown = &steps[first..(first + MOST_STEPS).min(steps.len())];
    let more = steps.len() - shown.len();
    let left_out = if more == 0 { String::new() } else { format!(", {} of {} steps", shown.len(), steps.len()) };
    let _ = write!(out, "\n**The plan**{left_out}:\n\n");
    out.extend(shown.iter().map(plan_line));
}

/// The last actions, each with the review that shows it whole. What they did is foreign.
fn actions(out: &mut String, task: &Task, log: &[Event], places: &StatusPlaces) {
    let shown_in = shown_in(log);
    let all = lines(log, log, &[]);
    let last = &all[all.len().saturating_sub(MOST_ACTIONS)..];
    if last.is_empty() {
        return;
    }
    out.push_str("\n**The last actions**:\n\n");
    for (line, _) in last {
        let line = clean(line.clone());
        let gave = if task.running == Some(line.n) { "under way".to_owned() } else { result_in_text(&line) };
        let checkpoint = shown_in.get(&line.n).and_then(|n| task.checkpoints.iter().find(|it| it.n == *n));
        let place = match checkpoint {
            Some(at) => linked(&format!("checkpoint {}", at.n), review_link(task, at, places)),
            None => "in the next review".to_owned(),
        };
        let head = format!("{} {}", line.kind, line.what);
        let _ = writeln!(out, "- {}: {} · {gave} · {place}", line.n, code(head.trim()));
    }
}

/// The checkpoint whose review shows each action, by the action's number.
fn shown_in(log: &[Event]) -> BTreeMap<u32, u32> {
    let (mut shown, mut since) = (BTreeMap::new(), Vec::new());
    for event in log {
        if let Event::ActionStarted { number, .. } = event {
            since.push(*number);
        } else if let Event::CheckpointPosted { n, .. } | Event::Answered { n, .. } = event {
            shown.extend(since.drain(..).map(|number| (number, *n)));
        }
    }
    shown
}

#[cfg(test)]
#[path = "status_comment_tests.rs"]
mod tests;
