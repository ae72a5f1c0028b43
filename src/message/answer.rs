//! Answers to people's commands: what was not done, why, and what to write instead.

use super::about::About;
use super::own::own_help;
use crate::command::{COMMANDS, MAX_WORDS, Opt, answer_line, spec};
use crate::config::own_commands::OwnCommands;
use crate::text::{code, cost, count, dollars, duration, grouped, prose};
use domain::{Ending, Remark, Source, State};
use std::fmt::Write as _;

/// The most characters shown of a command's error.
const MAX_WHY: usize = 300;
/// The most characters of a list of remarks' names.
const MOST_NAMES: usize = 200;
/// What a text that only holds a malformed command leads to.
const NO_EFFECT: &str = "Nothing was changed.";

/// Refusal for lack of rights.
pub fn refused(login: &str, verb: &str) -> String {
    format!(
        "{}: {} is for {}. Nothing was changed. Ask somebody who may to write it; their own comment counts, not yours edited. \
         (What a team gives you counts if I may see who is in the team: `caisson doctor` says what whoever runs me can do about it.)",
        code(login),
        code(&format!("/{verb}")),
        spec(verb).map_or("those who may write to the repository", |s| s.who.words()),
    )
}

/// Refusal because the operator restricts the command to others.
pub fn not_among(login: &str, verb: &str, whom: &str) -> String {
    format!(
        "{}: {} is for {} here, as the operator of this bot set it (`who.{verb}`). Nothing was changed. Ask one of them to write it; their own comment counts, not yours edited.",
        code(login),
        code(&format!("/{verb}")),
        prose(whom, MAX_WHY)
    )
}

/// A command that begins work, on a task at work.
pub fn already_live(about: &About<'_>) -> String {
    let task = about.task;
    if task.of_a_pull() {
        return format!(
            "Task {} is already reading this pull request ({}). I didn't start another. {}",
            task.id,
            about.state_words(),
            about.next_words()
        );
    }
    format!(
        "Task {} is already at work on this issue ({}). I didn't start another: two would overwrite each other. {}",
        task.id,
        about.state_words(),
        about.next_words()
    )
}

/// A command in a comment that was edited, or a `/fix` below such a list of steps.
pub fn edited(login: &str) -> String {
    format!(
        "{}: nothing runs from a text that was changed after it was posted, or from a list of steps that was, because I can't tell who changed what. Please post it again as a new comment, a changed list too.",
        code(login)
    )
}

/// As [`edited`], of a review that a push overtook.
pub fn edited_or_pushed(login: &str) -> String {
    format!(
        "{}: nothing was taken from your review: it or one of its remarks was edited after it was posted, or a push changed a line that it comments on, which looks the same here. Please look at the newest commit and post it again.",
        code(login)
    )
}

/// An approval that does not apply to the present state; `reason` is a half-sentence beginning with "it" or "the".
pub fn stale(login: &str, reason: &str) -> String {
    format!(
        "{}: this approval doesn't count, because {reason}. Look at the newest checkpoint, then approve that one.",
        code(login)
    )
}

/// An approval that needs further ones.
pub fn others_awaited(login: &str, n: u32, left: u8) -> String {
    let people = if left == 1 { "one more person".to_owned() } else { format!("{left} more people") };
    format!(
        "{}: your approval of checkpoint {n} counts. In this repository {people} who may write must approve it too, before the work goes on. It stops counting if it is edited or taken back, or if you lose the right to write.",
        code(login)
    )
}

/// A final review that nobody can approve; `reason` is a half-sentence beginning with "the".
pub fn unapprovable(login: &str, reason: &str) -> String {
    format!(
        "{}: this can't be approved, because {reason}. Ask for changes with `/revise …`, or end the task with `/stop`; other work than this is `/fix`.",
        code(login)
    )
}

/// A bare `/approve` shortly after somebody else's decision.
pub fn doubtful(login: &str, n: u32) -> String {
    format!(
        "{}: checkpoint {n} appeared just before you wrote this, after somebody else's decision. Do you mean `/approve c{n}`? If so, please write that.",
        code(login)
    )
}

/// The final approval by a comment without the commit, or in a review that only comments.
pub fn name_the_commit(login: &str, commit: &str) -> String {
    let short = commit.get(..10).unwrap_or(commit);
    format!(
        "{}: this is the final review, so the approval must say what it approves. Submit a review as Approve, or write a comment of its own with `/approve {short}`.",
        code(login)
    )
}

/// A request for changes that came before the checkpoint.
pub fn remarks_kept(login: &str, n: u32) -> String {
    format!(
        "{}: you asked for these changes before checkpoint {n} stood, so they decide nothing about it. Your words are kept: the agent gets them with the next decision. Look at checkpoint {n}, then request changes or `/revise …` to send the work back now, or approve it.",
        code(login)
    )
}

/// Changes were asked for after the final approval.
pub fn no_changes_any_more(login: &str) -> String {
    format!(
        "{}: this work is approved, so nothing goes back to the agent any more, and nothing was changed. `/retry` does the same task anew, `/retry --from N` from checkpoint N; `/revise <what to change>` at its first checkpoint then says what to change. Or close the pull request and open an issue.",
        code(login)
    )
}

/// A decision while nothing is waiting for one.
pub fn nothing_to_approve(login: &str, about: &About<'_>) -> String {
    if matches!(about.task.state, State::Approved { .. }) {
        return format!(
            "{}: this work is approved already, and nothing was changed. If `/merge` waits for a review on the pull request's page, yours stands there all the same: `/merge` tries again.",
            code(login)
        );
    }
    format!(
        "{}: no checkpoint waits for an approval right now (the task is {}). Nothing was changed. `/approve next 3` on one that waits approves the three after it too.",
        code(login),
        about.state_words()
    )
}

/// `/approve next 3` was used: what it covers and what it does not.
pub fn in_advance(login: &str, next: u8) -> String {
    let checkpoints = if next == 1 { "the next checkpoint".to_owned() } else { format!("the next {next} checkpoints") };
    format!(
        "{} approved this checkpoint and, in advance, {checkpoints}. Each is posted all the same; before it is used, their right and the branch are looked at again. It never covers the final review, a checkpoint without a commit, one in which hosts were blocked or before which hosts were allowed, one that changes files that steer tests, or one that can't be shown whole. Any other word of somebody who may write ends it, and so does a pause.",
        code(login)
    )
}

/// An approval in advance that ended early.
pub fn advance_ended(login: &str, left: u8, why: &Ending) -> String {
    let why = match why {
        Ending::Overtaken { login } => format!("{} wrote something else", code(login)),
        Ending::Paused => "the task is paused".to_owned(),
        Ending::Voided => "a checkpoint's review was edited or deleted".to_owned(),
        Ending::Withdrawn => "it was edited, dismissed or deleted".to_owned(),
        Ending::NoRight => {
            "they may not approve it any more, or not alone: that takes the right to write to the repository, and what \
             whoever runs me set for it (`who.approve`, `approvals`)"
                .to_owned()
        }
        Ending::Moved { commit } => format!("the branch no longer ends at {}", commit.short()),
        Ending::Retargeted => "the pull request now aims at another branch".to_owned(),
    };
    let left = count(u64::from(left), "checkpoint");
    format!(
        "What {} approved in advance ({left} left) has ended, because {why}. Every checkpoint waits for an answer again.",
        code(login)
    )
}

/// `/resume` on a task that is not paused.
pub fn not_paused(login: &str, about: &About<'_>) -> String {
    format!("{}: the task isn't paused; it is {}. {}", code(login), about.state_words(), about.next_words())
}

/// `/pause` while nothing is at work, or on a paused task.
pub fn nothing_to_pause(login: &str, about: &About<'_>) -> String {
    format!("{}: there is nothing to pause; the task is {}. {}", code(login), about.state_words(), about.next_words())
}

/// A new attempt while a task is at work.
pub fn at_work(login: &str, task: i64) -> String {
    format!(
        "{}: task {task} is at work on this issue. I didn't start another: two would overwrite each other. `/stop` it first, or `/retry` it.",
        code(login)
    )
}

/// A command on an ended task whose work continues in another task.
pub fn at_work_elsewhere(login: &str, task: i64, issue: u64) -> String {
    format!(
        "{}: nothing was done: the task of this pull request has ended, and task {task} is at work in its place. Write it on issue #{issue}.",
        code(login)
    )
}

/// A command on an issue or pull request without a task.
pub fn no_task(login: &str) -> String {
    format!(
        "{}: no task belongs to this issue or pull request yet. On an open issue `/fix` starts one and `/plan` starts with a plan, on a person's pull request `/review` has it read; `/help` shows the rest.",
        code(login)
    )
}

/// Further commands of a text that were not followed: `against` contradict the one that was, then the others.
pub fn left_undone(login: &str, carried_out: &str, against: &[String], others: &[String]) -> String {
    let listed = |names: &[String]| names.iter().map(|name| code(&format!("/{name}"))).collect::<Vec<_>>().join(", ");
    let mut out = format!("{}: a text is one decision.", code(login));
    if !against.is_empty() {
        let _ = write!(
            out,
            " {carried_out} contradicts {}; of such the careful one counts (stop before changes before a pause before approval), so that one was taken up and the rest was not.",
            listed(against)
        );
    }
    if !others.is_empty() {
        let _ = write!(
            out,
            " Not carried out: {}, because {carried_out} counted. If you still mean it, write it in a comment of its own.",
            listed(others)
        );
    }
    out
}

/// A review that approves, in which a command of more care was taken up.
pub fn approval_left(login: &str) -> String {
    format!(
        "{}: your review approves, and a command in it contradicts that. Of such the careful one counts (stop before changes before a pause before approval), so that one was taken up, and nothing was approved.",
        code(login)
    )
}

/// Commands in a review's inline comments that were not carried out.
pub fn left_inline(login: &str, names: &[String]) -> String {
    let shown = |name: &String| {
        let word = name.split(' ').next().unwrap_or_default();
        let unknown = if spec(word).is_none() { " (no command here)" } else { "" };
        format!("{}{unknown}", code(&format!("/{name}")))
    };
    let listed = names.iter().map(shown).collect::<Vec<_>>().join(", ");
    format!(
        "{}: in the inline comments of a review, not carried out: {listed}. There `/revise what to change` and `/ask question` are about that line, and `/deny`, `/pause` and `/stop` about the task; of several the careful one counts. Write anything else in the review's own text or in a comment.",
        code(login)
    )
}

/// A remark, or a text of a review, with so many characters that nothing of it is taken.
pub fn too_long(login: &str, characters: usize, source: &Source) -> String {
    let (what, nothing) = match source {
        Source::Review(_) => {
            ("a text of your review", "Neither its words nor its verdict are taken. Give it again in fewer words")
        }
        Source::Issue(_) | Source::Comment(_) | Source::Reply { .. } | Source::Change(_) => {
            ("your text", "The agent is told nothing of it. Write what matters")
        }
    };
    format!(
        "{}: {what} has {} characters, and at most {} are taken. {nothing}, and put the rest into a file of the repository.",
        code(login),
        grouped(characters as u64),
        grouped(MAX_WORDS as u64),
    )
}

/// Commands in a review's inline comments, where no task is at work.
pub fn left_in_lines(login: &str, names: &[String]) -> String {
    let listed = names.iter().map(|name| code(&format!("/{name}"))).collect::<Vec<_>>().join(", ");
    format!(
        "{}: this was not carried out: {listed}. On lines one command of a review counts, of those that only read or answer. Write the others in comments of the conversation, one in each; work that changes files begins in an issue.",
        code(login)
    )
}

/// The further commands of a text that has more of them than are answered, and the hosts beyond those that are carried out.
pub fn no_room(login: &str, commands: usize, hosts: usize) -> String {
    let parts = [(commands, "command"), (hosts, "host")].into_iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts.map(|(number, what)| count(number as u64, what)).collect();
    format!(
        "{}: this text holds more than is carried out of one: its last {} count for nothing. Write them in another comment.",
        code(login),
        parts.join(" and ")
    )
}

/// A host that one text allows and denies; `allowed` is the last word of it.
pub fn both_ways(login: &str, host: &str, allowed: bool) -> String {
    let last = if allowed { "`/allow`" } else { "`/deny`" };
    let host = code(host);
    format!(
        "{}: this text allows {host} and denies it. Each was carried out in its turn, so the last one, {last}, holds if it may.",
        code(login)
    )
}

/// A command that begins a task, in the same text as a stronger one that has no task to act on.
pub fn begins_nothing(login: &str, name: &str) -> String {
    format!(
        "{}: {} stands in the same text as a command that begins a task, and no task is at work here. A text is one decision, so nothing was started. Write the one that you mean in a comment of its own.",
        code(login),
        code(&format!("/{name}"))
    )
}

/// A command that begins work where none can begin.
pub fn starts_elsewhere(login: &str, pull: bool) -> String {
    let what = match pull {
        true => {
            "tasks start in issues, not in pull requests, but for `/review`, `/security` and `/explain`. Open an issue that begins with your command, and name this pull request in it"
        }
        false => "this issue is closed. Reopen it and write the command again, or open another one",
    };
    format!("{}: {what}. Nothing was started.", code(login))
}

/// Why a command for a person's pull request begins nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotReviewed {
    /// It stands on an issue.
    NoPull,
    /// The pull request is the bot's.
    Own,
    /// The pull request is closed or merged.
    Closed,
    /// It is the bot's, closed or merged, and the command only asks, for which there is another place.
    InAnIssue,
}

/// `/review`, `/security` or `/explain`, `name` without its slash, where nothing is reviewed.
pub fn not_reviewed(login: &str, name: &str, why: NotReviewed) -> String {
    let what = match why {
        NotReviewed::NoPull => format!(
            "`/{name}` is for a pull request. Write `/{name}` in a comment on the pull request that is to be read; a question about the code is `/explain question`"
        ),
        NotReviewed::Own => format!(
            "this pull request is my own work, and its checkpoints are its reviews. While its task is at work, answer the newest one; `/{name}` is for pull requests of people"
        ),
        NotReviewed::Closed => format!(
            "this pull request is closed or merged, so there is nothing left to review. If it was only closed, reopen it and write `/{name}` again"
        ),
        NotReviewed::InAnIssue => format!(
            "`/{name}` is for open pull requests of people. Open an issue that begins with `/{name}`, and name this pull request in it"
        ),
    };
    format!("{}: {what}. Nothing was started.", code(login))
}

/// A slash with an unknown word, or a malformed command (`why` may quote what was written), in a repository that has commands of its own with
/// these names.
pub fn unknown_here(word: &str, why: Option<&str>, own: &[&str]) -> String {
    unknown(word, why, own, NO_EFFECT)
}

/// As [`unknown_here`], where the same text or review asks for something else.
pub fn unknown_beside(word: &str, why: Option<&str>, own: &[&str]) -> String {
    unknown(word, why, own, "It alone is left out; the rest of what you wrote there is judged without it.")
}

fn unknown(word: &str, why: Option<&str>, own: &[&str], effect: &str) -> String {
    let word = word.to_ascii_lowercase();
    let slashed = code(&format!("/{word}"));
    // The command exists, but its arguments were not understood.
    if let Some(spec) = spec(&word) {
        let why = why.map(|why| format!("; {}", prose(why, MAX_WHY))).unwrap_or_default();
        return not_followed(spec.name, &format!("it is written {}{why}", code(spec.syntax)), effect);
    }
    if let Some(why) = why {
        return not_followed(&word, &prose(why, MAX_WHY), effect);
    }
    let names = COMMANDS.iter().map(|spec| spec.name).chain(own.iter().copied());
    match names.map(|name| (distance(name, &word), name)).min().filter(|(steps, _)| *steps <= 2) {
        Some((0, name)) => {
            format!("`/{name}` is a command of this repository: it counts only as the first word of a text.")
        }
        Some((_, name)) => format!("{slashed} is no command. Did you mean `/{name}`? `/help` shows them all."),
        None => format!("{slashed} is no command. `/help` shows them all."),
    }
}

/// A command that exists, but is malformed. `why` is ours.
pub fn malformed(name: &str, why: &str) -> String {
    not_followed(name, why, NO_EFFECT)
}

fn not_followed(name: &str, why: &str, effect: &str) -> String {
    format!("{} could not be followed: {why}. {effect}", code(&format!("/{name}")))
}

fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let cost = before + usize::from(x != y);
            before = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(before + 1);
        }
    }
    row[b.len()]
}

/// The table of commands, and those of the repository's own.
pub fn help(own: &OwnCommands) -> String {
    let mut out = String::from("| command | who | what it does |\n|---|---|---|\n");
    for spec in COMMANDS {
        let _ = writeln!(out, "| `{}` | {} | {} |", spec.syntax, spec.who.words(), spec.effect);
    }
    let mut options: Vec<&Opt> = Vec::new();
    for option in COMMANDS.iter().flat_map(|spec| spec.options) {
        if options.iter().all(|known| known.name != option.name) {
            options.push(option);
        }
    }
    for option in options {
        let _ = write!(out, "\n- `--{} {}` — {}", option.name, option.example, option.effect);
    }
    out.push_str("\n\nOptions stand directly behind the command. A command stands at the beginning of a line, outside of quotes and code. To answer a checkpoint: ");
    out.push_str(&answer_line(None));
    out.push_str(".\n");
    out + &own_help(own)
}

/// The state of the task.
pub fn status(about: &About<'_>) -> String {
    let task = about.task;
    let spent = &task.spent;
    let granted = |amount: u64, shown: String| if amount == 0 { String::new() } else { format!(" of {shown}") };
    let mut out = format!("Task {} is {}. {}\n\n| | |\n|---|---|\n", task.id, about.state_words(), about.next_words());
    let mut row = |name: &str, value: String| {
        let _ = writeln!(out, "| {name} | {value} |");
    };
    if let Some(request) = &task.request {
        row("asked by", code(&request.asker.login));
        if !task.kind.reads_only() {
            row("branch", code(&request.branch));
        }
    }
    if let Some(head) = &task.pushed {
        row("last commit on the forge", format!("`{}`", head.as_str().get(..10).unwrap_or_default()));
    }
    if !task.hosts.is_empty() {
        row("hosts allowed by command", super::host::listed(task));
    }
    row("checkpoints", grouped(task.checkpoints.len() as u64));
    let actions = granted(task.granted.actions, grouped(task.granted.actions));
    row("actions", format!("{}{actions}; {} since the last decision", grouped(spent.actions), task.used));
    row("tokens", format!("{}{}", grouped(spent.tokens), granted(task.granted.tokens, grouped(task.granted.tokens))));
    row(
        "money",
        format!(
            "{}{}",
            cost(spent.micro_usd, spent.unpriced),
            granted(task.granted.micro_usd, dollars(task.granted.micro_usd))
        ),
    );
    row(
        "working time",
        format!("{}{}", duration(spent.work_ms), granted(task.granted.work_ms, duration(task.granted.work_ms))),
    );
    if !task.remarks.is_empty() {
        row("waiting for the agent", count(task.remarks.len() as u64, "remark"));
    }
    let open: Vec<String> = task.numbered.open().map(Remark::name).collect();
    if !open.is_empty() {
        row("open remarks", format!("{}: {}", open.len(), crate::text::cut(&open.join(", "), MOST_NAMES).0));
    }
    if let State::Paused { reason, .. } = &task.state {
        out.push('\n');
        out.push_str(&super::life::pause_reason(reason));
    }
    out
}
