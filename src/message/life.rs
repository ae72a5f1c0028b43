//! Messages about a task's progress, posted where it was asked for.

use super::about::About;
use super::own::{own_because, own_cut, own_lacks};
use crate::line::Why;
use crate::text::{code, document, plain_cell, prose};
use domain::{PauseReason, Question, Resource, Task, TaskKind, Trigger, Verdict, VerdictCase};

/// The most characters shown of a read-only task's answer.
const MAX_ANSWER: usize = 24_000;
/// The same where the host has found much by itself.
const LEAST_ANSWER: usize = 12_000;
pub(super) const MAX_REASON: usize = 600;
/// The most characters shown of what has to be done first: a server's own words and what to do about them.
const MAX_BLOCKED: usize = 1_500;
/// The most characters shown of the agent's plan in a pause.
const MAX_PLAN: usize = 4_000;

/// A task was accepted: what happens next.
pub fn accepted(about: &About<'_>) -> String {
    let earlier = about.task.request.as_ref().and_then(|request| request.earlier.as_ref());
    let again = earlier
        .map(|earlier| format!(" It is a new attempt after task {} and knows what that one tried.", earlier.task));
    let of_own = about.task.request.as_ref().and_then(|request| {
        let own = request.own.as_deref()?;
        Some(own_cut(own, &request.budget) + &own_lacks(own))
    });
    format!("{}{}{}", accepted_first(about), again.unwrap_or_default(), of_own.unwrap_or_default())
}

fn accepted_first(about: &About<'_>) -> String {
    let id = about.task.id;
    let because = because(about.task);
    let waits = match about.line {
        Some(line) if line.why != Why::Soon => format!(" It stands in line first, {}.", super::waits::words(line)),
        _ => String::new(),
    };
    let kind = about.task.kind;
    let what = match kind {
        TaskKind::Explain | TaskKind::Deps | TaskKind::Search => "answer",
        TaskKind::Review => "review",
        TaskKind::Security if about.task.of_a_pull() => "review",
        TaskKind::Security => "answer",
        TaskKind::Fix | TaskKind::Plan | TaskKind::Test | TaskKind::Refactor => "plan",
    };
    let pull = about.task.request.as_ref().and_then(|request| request.pull.as_ref());
    let at = pull.map(|pull| format!(" (of `{}`, as it stands now)", pull.head.short())).unwrap_or_default();
    let only = match kind {
        TaskKind::Fix
        | TaskKind::Plan
        | TaskKind::Explain
        | TaskKind::Review
        | TaskKind::Security
        | TaskKind::Deps
        | TaskKind::Search => "",
        TaskKind::Test => " It writes tests and changes nothing else.",
        TaskKind::Refactor => " What the code does stays as it is: existing tests are not changed, and they must pass.",
    };
    match kind {
        TaskKind::Fix | TaskKind::Test | TaskKind::Refactor => {
            let branch = about.task.request.as_ref().map(|r| code(&r.branch)).unwrap_or_default();
            format!(
                "Task {id} is on it{because}. What happens next: an agent works in a sealed container; after at most {} actions its work appears on {branch} as a review on a draft pull request, and nothing goes on until somebody who may write to the repository approves. `/status` says where it stands, `/stop` ends it.{only}{waits}",
                about.task.every()
            )
        }
        TaskKind::Plan
        | TaskKind::Explain
        | TaskKind::Review
        | TaskKind::Security
        | TaskKind::Deps
        | TaskKind::Search => format!(
            "Task {id} is on it{because}. It only reads: after at most {} actions its {what}{at} is posted here. Nothing is changed and no branch is made. `/stop` ends it.{waits}",
            about.task.every()
        ),
    }
}

/// Behind the acceptance of a `/search` that can reach no host; `networked` says whether sandboxes have a network that could be opened.
pub fn nowhere_to_look(networked: bool) -> &'static str {
    if !networked {
        return " Sandboxes have no network here (`[sandbox] network = \"none\"` in `caisson.toml`), so it can look in the files of this repository alone.";
    }
    " No host may be reached from its sandbox, so it can look in the files of this repository alone. A person who may do that widens it with `/allow host` here; whoever runs me, with `[egress] allow = [\"host\"]` in `caisson.toml`."
}

/// What began a task that no command of the bot began, as the end of a sentence.
fn because(task: &Task) -> String {
    let Some(request) = &task.request else { return String::new() };
    let who = code(&request.asker.login);
    match &request.trigger {
        None => request.own.as_deref().map(own_because).unwrap_or_default(),
        Some(Trigger::Assigned) => format!(", because {who} assigned this issue to me"),
        Some(Trigger::Label { name }) => format!(", because {who} put the label {} on this issue", code(name)),
        Some(Trigger::Writer) => format!(", because {who}, who may write to the repository, opened this issue"),
    }
}

/// What began the task, for a cell of a table.
pub(super) fn asked_by(task: &Task) -> String {
    let Some(request) = &task.request else { return String::new() };
    let who = plain_cell(&request.asker.login);
    match (&request.trigger, &request.own) {
        (Some(_), _) => format!("by {who}, without a command"),
        (None, Some(own)) => format!("{} by {who}", plain_cell(&format!("/{}", own.name))),
        (None, None) => format!("`/{}` by {who}", request.kind.name()),
    }
}

/// What the host adds to the answer of a read-only task.
#[derive(Debug, Default)]
pub struct AnswerParts {
    /// Places that it names and the base does not have. Foreign.
    pub not_there: Vec<String>,
    /// What stands before the agent's words, as Markdown of ours; empty where nothing does.
    pub before: String,
    /// What stands behind them.
    pub after: String,
}

/// The answer of a read-only task; its summary is foreign.
pub fn plan_answer(task: &Task, n: u32, scripted: bool, parts: &AnswerParts) -> String {
    let said = match task.summary.as_deref().unwrap_or_default().trim() {
        "" => "The agent ended without an answer.\n".to_owned(),
        text => {
            let room = MAX_ANSWER.saturating_sub(parts.before.len() + parts.after.len()).max(LEAST_ANSWER);
            format!("The agent says:\n\n{}", document(text, room))
        }
    };
    // Left out of a second answer in the same thread.
    let note =
        task.note.as_deref().filter(|_| n == 1).map(|note| format!("\n> [!NOTE]\n> {}\n", prose(note, MAX_REASON)));
    let note = note.unwrap_or_default();
    let recording = if scripted { "\n<sub>the model was a recording</sub>\n" } else { "" };
    let now = match task.kind {
        TaskKind::Explain => "`/fix what to do` (or `/approve`) lets it change this · `/revise …` asks again",
        TaskKind::Security | TaskKind::Deps => {
            "`/fix what to do` (or `/approve`) lets it mend this · `/revise …` asks again"
        }
        TaskKind::Search => "`/revise …` asks again · `/fix what to do` lets it go on with what it found",
        TaskKind::Plan | TaskKind::Fix | TaskKind::Test | TaskKind::Refactor | TaskKind::Review => {
            "`/fix` (or `/approve`) lets it do this; after a comment with your own list of steps, `/fix` lets it do that · `/revise …` asks for another plan"
        }
    };
    let wrong = wrong_places(task, &parts.not_there);
    let apart = |part: &str, before: &str, after: &str| match part {
        "" => String::new(),
        part => format!("{before}{part}{after}"),
    };
    let (before, after) = (apart(&parts.before, "", "\n"), apart(&parts.after, "\n", ""));
    format!(
        "### Answer {n}\n\n{before}{wrong}{said}{after}{note}\n**What now**: {now} · `/stop` ends the task\n{recording}"
    )
}

/// A warning before the answer about places that do not exist. They are foreign.
fn wrong_places(task: &Task, not_there: &[String]) -> String {
    if not_there.is_empty() {
        return String::new();
    }
    let base = task.base.as_ref().map(|base| format!(" at `{}`", base.short())).unwrap_or_default();
    let named: Vec<String> = not_there.iter().map(|place| code(place)).collect();
    format!("> [!WARNING]\n> ⚠️ The answer names places that do not exist{base}: {}.\n\n", named.join(", "))
}

/// A question of the agent, whose text is foreign.
pub fn question(question: &Question, task: &Task, scripted: bool) -> String {
    let options: String = question
        .options
        .iter()
        .enumerate()
        .map(|(at, option)| format!("{}. {}\n", at + 1, prose(&crate::text::one_line(option), MAX_REASON)))
        .collect();
    let options = if options.is_empty() { options } else { format!("\nIt proposes:\n\n{options}") };
    let recording = if scripted { "\n<sub>the model was a recording</sub>\n" } else { "" };
    format!(
        "### The agent asks\n\n{}{options}\n**What now**: answer with a comment here, in your own words; the first one of somebody who may write to the repository counts. Nothing goes on until then. \
         It approves nothing: {} of {} actions are used before the next review. `/stop` ends the task.\n{recording}",
        document(&question.text, MAX_ANSWER),
        task.used,
        task.every(),
    )
}

/// A pause, with what a person can do.
pub fn paused(reason: &PauseReason) -> String {
    format!("The task is paused. {}", pause_reason(reason))
}

/// As [`paused`], with the present limits if money is needed.
pub(super) fn paused_now(reason: &PauseReason, about: &About<'_>) -> String {
    let mut text = paused(reason);
    let of_money =
        matches!(reason, PauseReason::Budget { .. } | PauseReason::DaySpent { .. } | PauseReason::MonthSpent { .. });
    if let Some(plan) = about.task.plan.as_deref().filter(|_| of_money) {
        text.push_str("\n\nWhat it planned, as it noted last:\n\n");
        text.push_str(&document(plan, MAX_PLAN));
    }
    text
}

pub(super) fn pause_reason(reason: &PauseReason) -> String {
    match reason {
        PauseReason::Budget { what } => format!(
            "It has used what it was granted: {}. What it did so far is kept. `/budget 2 usd` (or `30 actions`, `20 min`, `100k tokens`) grants more and lets it go on; `/stop` ends it.",
            prose(what, MAX_REASON)
        ),
        PauseReason::DaySpent { sentence } => money_spent("day", sentence),
        PauseReason::MonthSpent { sentence } => money_spent("month", sentence),
        PauseReason::Stuck { sentence } => format!(
            "It got stuck: {}. Tell it how to go on with `/revise …` once a checkpoint stands, try again with `/resume`, or end it with `/stop`.",
            prose(sentence, MAX_REASON)
        ),
        PauseReason::ContextFull { context_tokens } => {
            let (window, less) = match context_tokens {
                Some(tokens) => (format!(", whose window is set to {tokens} tokens"), "less than that"),
                None => (String::new(), "less than its `context_tokens`"),
            };
            format!(
                "The conversation no longer fits into the model{window}. No work is lost by it. `/resume` begins a new conversation with what people asked for and where the work stands; `/stop` ends the task. If the model's server holds {less}, let the operator set `context_tokens` in the model's entry to what it holds (`caisson model check --window` measures it) and restart `caisson serve` first."
            )
        }
        PauseReason::Exhausted { what, sentence } => {
            let (what, change) = match what {
                Resource::Memory => (
                    "memory",
                    "Let the operator give sandboxes more memory (`sandbox.memory_mib`, and restart `caisson serve`), then write `/resume`",
                ),
                // The sandbox still exists, and its limits were fixed when it was made.
                Resource::Disk => (
                    "disk space",
                    "If the engine's disk is full, let the operator make room there. Then write `/resume`: actions that only delete files go on, and all others once enough is gone. This sandbox keeps its budget (another `sandbox.disk_mib` is for those made later)",
                ),
            };
            format!(
                "It ran out of {what}: {}. {change}; or end the task with `/stop` and ask for smaller steps with a new `/fix …`.",
                prose(sentence, MAX_REASON).trim_end_matches('.')
            )
        }
        PauseReason::Asked { login } => format!(
            "{} asked for it. What was under way is still taken in, and nothing else begins. `/resume` goes on where it stopped; `/stop` ends it.",
            code(login)
        ),
        PauseReason::Blocked { sentence } => format!(
            "Something has to be done first: {}. Then write `/resume`; or end the task with `/stop`.",
            prose(sentence, MAX_BLOCKED).trim_end_matches('.')
        ),
    }
}

fn money_spent(period: &str, sentence: &str) -> String {
    format!(
        "The {period}'s money is used up: {}. What it did so far is kept. Write `/resume` when there is more; `/stop` ends it.",
        prose(sentence, MAX_REASON).trim_end_matches('.')
    )
}

/// `/resume` was carried out.
pub fn resumed(about: &About<'_>) -> String {
    format!(
        "The task goes on where it stopped: it is {}. A pause never resets the count of actions.",
        about.state_words()
    )
}

/// The final approval was used.
pub fn approved(commit: &str, about: &About<'_>) -> String {
    let short = commit.get(..10).unwrap_or(commit);
    let branch = about.task.request.as_ref().map(|r| r.branch.clone()).unwrap_or_default();
    let verdict = match about.task.verdict.as_ref().map(Verdict::case) {
        Some(VerdictCase::Passed) => "The bot's own run of the checks passed on it.",
        Some(VerdictCase::Failed) => "**The checks failed on it**: `fetch` will ask for `--unverified`.",
        Some(VerdictCase::NoTest) => {
            "The bot's own run of the checks ran no test on it: `fetch` will ask for `--unverified`."
        }
        Some(VerdictCase::None) | None => "No checks were found to run on it: `fetch` will ask for `--unverified`.",
    };
    format!(
        "Approved at `{short}`. {verdict} Bring it into your clone:\n\n{}",
        crate::text::fence(&format!("caisson fetch path/to/your/clone {branch}"), "sh")
    )
}

/// A checkpoint whose review was edited or deleted.
pub fn voided(n: u32) -> String {
    format!(
        "The review of checkpoint {n} was edited or deleted, so it can't be approved any more. It is posted again as it was."
    )
}

/// `/stop` was carried out.
pub fn cancelled(login: &str, about: &About<'_>) -> String {
    format!("Stopped by {}. {}", code(login), leftovers(about))
}

/// `/retry` was carried out: the new attempt is a task of its own.
pub fn retried(login: &str, about: &About<'_>) -> String {
    format!("Ended by {} for a new attempt at the same words. {}", code(login), leftovers(about))
}

/// The issue or pull request was closed without a merge.
pub fn declined(about: &About<'_>) -> String {
    format!("Closed, so the task ends here. {}", leftovers(about))
}

/// The task failed. `why` may contain foreign text.
pub fn failed(why: &str, about: &About<'_>) -> String {
    format!(
        "The task failed and can't go on: {}. {} {} starts a new one.",
        prose(why, MAX_REASON).trim_end_matches('.'),
        leftovers(about),
        about.again()
    )
}

/// The approved work was fetched.
pub fn delivered() -> String {
    "Delivered: the approved commit was fetched, sent to the upstream as a pull request, or merged. The sandbox is gone, this task is done.".to_owned()
}

/// The task expired.
pub fn expired(about: &About<'_>) -> String {
    format!("Nobody answered for 30 days, so the task ends. {}", leftovers(about))
}

/// What an ended task left on the forge.
fn leftovers(about: &About<'_>) -> String {
    match (&about.task.pushed, &about.task.request) {
        (Some(commit), Some(request)) => format!(
            "Its work up to the last checkpoint was pushed to {} (`{}`); the sandbox is removed.",
            code(&request.branch),
            commit.as_str().get(..10).unwrap_or_default()
        ),
        _ => "It had published nothing; the sandbox is removed.".to_owned(),
    }
}

/// Something outside is unavailable; the task tries again by itself.
pub fn trouble(sentence: &str) -> String {
    format!(
        "The task waits: {}. It tries again by itself; nothing is lost, and nobody needs to do anything here.",
        prose(sentence, MAX_REASON).trim_end_matches('.')
    )
}

/// A step after the final approval that could not be done.
pub fn left_undone(sentence: &str) -> String {
    format!(
        "One step after the approval could not be done and is not tried again: {}. The approved work stands as it is: `caisson fetch` \
         brings it home.",
        prose(sentence, MAX_REASON).trim_end_matches('.')
    )
}

/// The repository was renamed or moved on the forge.
pub fn moved(from: &str, to: &str) -> String {
    format!(
        "This repository was {} and is {} now. The task goes on here: the bot knows the repository by its id. Everything it keeps goes by the name of its configuration, which can stay as it is.",
        code(from),
        code(to)
    )
}
