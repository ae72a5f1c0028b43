//! The call that answers a person's question about a task. The model has no tools and takes no part in the work: its answer is posted and
//! decides nothing. Pure.

use domain::{End, Event, OutcomeStatus, State, Task, VerdictCase};
use minijinja::context;

use super::fence::{Fence, Trust, seen, spelled};
use super::style::Reader;
use super::turn::Ready;
use super::{EngineConfig, budget, context as sizes, prompt};
use crate::llm::{Model, ModelRequest};
use crate::text::{cut, one_line};

/// The most characters of material that are sent: about 12,000 tokens.
const MOST: usize = 48_000;
/// The longest answer, in tokens, beside what a model thinks before it.
const MOST_OUTPUT: u64 = 900;
/// Characters of one line of the log.
const LINE: usize = 400;

/// A question, and the files that it names at the last commit. All foreign.
pub struct Question<'a> {
    /// Login of the person who asks.
    pub login: &'a str,
    /// The question.
    pub words: &'a str,
    /// Path and text.
    pub files: &'a [(String, String)],
    /// Paths of all files of that commit, in order; empty where they cannot be read.
    pub paths: &'a [String],
}

/// The call; none if it does not fit into the model, or into what the task may still spend. It counts no action.
pub fn reply(
    task: &Task,
    log: &[Event],
    question: &Question<'_>,
    config: &EngineConfig,
    model: &dyn Model,
) -> Option<Ready> {
    // Half of the window, at three characters per token.
    let room = usize::try_from(model.context_tokens() * 3 / 2).unwrap_or(MOST).min(MOST);
    let mut request = asked(task, log, question, room, config)?;
    let prompt_tokens = sizes::estimate(&request, &[]);
    let left = budget::Left { actions: None, work_ms: None, ..budget::left(&task.granted, &task.spent) };
    let wanted = config.max_output_tokens.min(budget::with_thoughts(MOST_OUTPUT, model.context_tokens()));
    let allowed = budget::allow(&left, &model.price(), prompt_tokens, wanted, model.context_tokens()).ok()?;
    request.max_output_tokens = allowed.max_output_tokens;
    let (reader, worst_micro_usd) = (Reader::Tools { spoken: false }, allowed.worst_micro_usd);
    Some(Ready { turn: task.turn, request, reader, prompt_tokens, worst_micro_usd })
}

fn asked(
    task: &Task,
    log: &[Event],
    question: &Question<'_>,
    room: usize,
    config: &EngineConfig,
) -> Option<ModelRequest> {
    let request = task.request.as_ref()?;
    let fence = Fence::new(&config.secret, task.id);
    let foreign = |source: &str, text: &str, most: usize| fence.wrap(source, Trust::None, cut(&spelled(text), most).0);
    let (words, _) = seen(&format!("Title: {}\n\n{}\n\n{}", request.title, request.body, request.words));
    let lines = newest(&lines_of(log), room / 3);
    let diff: String = log.iter().rev().find_map(changes).unwrap_or_default();
    let files: Vec<String> =
        question.files.iter().map(|(path, text)| foreign(path, text, room / 6 / question.files.len())).collect();
    let values = context! {
        task => foreign("the issue and the task", &words, room / 6),
        log => foreign("the log", &lines, room / 3),
        plan => task.plan.as_deref().map(|plan| foreign("the plan", plan, room / 12)).unwrap_or_default(),
        diff => if diff.is_empty() { String::new() } else { foreign("the changes", &diff, room / 4) },
        named => files,
        paths => if question.paths.is_empty() { String::new() } else { foreign("the files", &paths(question.paths, room / 16), room / 16) },
        asker => fence.inline(question.login),
        question => fence.wrap("the question", Trust::Write, cut(&seen(question.words).0, room / 12).0),
    };
    let text = prompt::render("reply_question", values);
    let system = prompt::render(
        "reply_system",
        context! {
            repository => fence.inline(&request.repository),
            nonce => fence.nonce(),
            over => task.state.ended(),
        },
    );
    Some(ModelRequest::question(system, text, MOST_OUTPUT))
}

/// As many paths as fit, one on a line, those nearest to the root first; the rest is counted.
fn paths(all: &[String], room: usize) -> String {
    let mut near: Vec<&String> = all.iter().collect();
    near.sort_by_key(|path| path.matches('/').count());
    let (mut text, mut shown) = (String::new(), 0);
    for path in near {
        let line = one_line(path);
        if text.len() + line.len() + 40 > room {
            break;
        }
        text.push_str(&line);
        text.push('\n');
        shown += 1;
    }
    if shown < all.len() {
        text.push_str(&format!("and {} more", all.len() - shown));
    }
    text
}

fn changes(event: &Event) -> Option<String> {
    match event {
        Event::TreeCaptured { tree, .. } if !tree.diff.is_empty() => Some(tree.diff.clone()),
        _ => None,
    }
}

/// The last lines, as many as fit.
fn newest(lines: &[String], room: usize) -> String {
    let mut left = room;
    let kept = lines.iter().rev().take_while(|line| {
        let chars = line.chars().count() + 1;
        let fits = chars <= left;
        left = left.saturating_sub(chars);
        fits
    });
    let mut kept: Vec<&str> = kept.map(String::as_str).collect();
    kept.reverse();
    kept.join("\n")
}

/// The log as lines of text.
fn lines_of(log: &[Event]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut calls = Vec::new();
    let mut put = |line: String| lines.push(cut(&one_line(&line), LINE).0.to_owned());
    for event in log {
        match event {
            Event::TurnCompleted { text, calls: made, .. } => {
                calls.clone_from(made);
                if !text.trim().is_empty() {
                    put(format!("the agent said: {text}"));
                }
            }
            Event::ActionStarted { number, index, .. } => {
                if let Some(call) = calls.get(*index as usize) {
                    put(format!("action {number}: {} {}", call.name, call.arguments));
                }
            }
            Event::ActionFinished { number, outcome } => {
                put(format!("result of action {number}: {}: {}", ended(&outcome.status), outcome.text));
            }
            Event::DoneSaid { summary, .. } => put(format!("the agent said that it is done: {summary}")),
            Event::CheckpointPosted { n, .. } => put(format!("checkpoint {n} was posted for review")),
            Event::DecisionUsed { decision, n } => {
                let changes = matches!(decision.verb, domain::Verb::Changes { .. });
                let what = if changes { "asked for changes to" } else { "approved" };
                put(format!("{} {what} checkpoint {n}", decision.poster.login));
            }
            Event::Verified { verdict, .. } => {
                let kind = match verdict.case() {
                    VerdictCase::Passed => "passed",
                    VerdictCase::Failed => "failed",
                    VerdictCase::NoTest => "ran no test",
                    VerdictCase::None => "were not found",
                };
                put(format!("the checks {kind}: {}", verdict.tail));
            }
            Event::CiEnded(ended) => put(format!("{} on the finished work: {:?}", ended.whose(), ended.outcome)),
            Event::Paused { .. } => put("the task was paused".to_owned()),
            Event::Resumed => put("the task was resumed".to_owned()),
            Event::Ended { end: End::Failed { why } } => put(format!("the task failed: {why}")),
            Event::Ended { end } => put(format!("the task ended: {}", State::Ended { end: end.clone() }.name())),
            _ => {}
        }
    }
    lines
}

fn ended(status: &OutcomeStatus) -> String {
    match status {
        OutcomeStatus::Exited { code } => format!("exit code {code}"),
        OutcomeStatus::Ok => "done".to_owned(),
        _ => "it did not end by itself, or was not run".to_owned(),
    }
}
