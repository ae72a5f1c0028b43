//! The style *files*: one short question, and changed files as the answer.
//!
//! Owns: the question (an example conversation, the issue, the result of the checks, the current files), and the temperature (0 first, then
//! higher for other samples). Nothing of a failed answer is sent again, because a small model repeats what it sees. Foreign text is in code
//! blocks or part of the issue's words; an answer can only write files that a person reviews, and the host chooses what is run. Tests:
//! `files_tests.rs`.

use domain::{Event, Look, Outcome, Remarks, ShownFile, Task, TaskKind, Verb};
use minijinja::context;

use super::record::{self, base, changes_something, fewer_tests, issue_text, outcomes, passed, widened};
use super::{EXAMPLE, EarlierTries, First, Reader, round, unseen};
use crate::engine::feedback::old_line;
use crate::engine::fence::seen;
use crate::engine::{EngineConfig, failing, prompt};
use crate::llm::{ModelRequest, Turn};
use crate::sandbox::{items, mistakes};
use crate::text;

/// Tokens of an answer, in addition to one and a half times what is shown.
const ANSWER: u64 = 300;
/// Temperature of the second answer.
const FREE: f64 = 0.7;
/// The least bytes that an answer about parts of files is given room for.
const PART: usize = 2_000;
/// Increase of the temperature with each answer that brought nothing new, and its maximum.
const FREER: f64 = 0.15;
const FREEST: f64 = 1.0;
/// The most failures that are shown.
const SHOWN: usize = 3;
/// The most files in conflict that are named; further ones are counted.
const CONFLICTS: usize = 20;
/// The most characters of failing checks that are sent.
const FAILING: usize = 1_500;

/// Whether this style supports tasks of this kind: questions need a model that can look around by itself.
pub fn fits(kind: TaskKind) -> bool {
    !kind.reads_only()
}

/// The request of the coming turn, and how its answer is read. `log` ends with the look of this turn.
pub fn request(task: &Task, log: &[Event], config: &EngineConfig) -> (ModelRequest, Reader) {
    let empty = Look::default();
    let look = record::look(log, task.turn + 1).unwrap_or(&empty);
    let tried = tried(log);
    let request = task.request.as_ref();
    let title = request.map(|request| text::one_line(&request.title)).unwrap_or_default();
    let (body, mut words) = request.map(issue_text).unwrap_or_default();
    for said in widened(log) {
        words = format!("{words}\n\n{}", seen(said).0).trim().to_owned();
    }
    let remarks = remarks(log);
    let shown: Vec<_> = look.files.iter().flat_map(blocks).collect();
    let issue = record::words(task);
    let Failing { command, text: failed, unmet, repair } = failures(log, &issue);
    let (earlier, first) = match round::tries(task, log) {
        true => (round::earlier_tries(log, look, &issue), First::Tried { words: issue }),
        false => (EarlierTries::default(), First::Written),
    };
    let conflicts = in_conflict(log);
    // A test in conflict may be written, as one that somebody names.
    let asked = format!("{title}\n{body}\n{words}\n{}\n{}", remarks.join("\n"), conflicts.join("\n"));
    let more_conflicts = conflicts.len().saturating_sub(CONFLICTS);
    let question = prompt::render(
        "files_question",
        context! {
            title => plain(&title), body => plain(body.trim()), words => plain(words.trim()), command, repair, shown,
            remarks => remarks.iter().map(|remark| plain(remark)).collect::<Vec<_>>(),
            conflicts => conflicts.iter().take(CONFLICTS).map(|path| plain(&text::code(path))).collect::<Vec<_>>(),
            more_conflicts,
            unmet => (!unmet.is_empty()).then(|| fenced(&plain(&unmet.join("\n")), "")),
            failing => failed.as_deref().map(|text| fenced(&plain(&text::visible(text)), "")),
        },
    );
    let size: usize = look.files.iter().flat_map(parts).map(|(text, _)| text.len()).sum();
    let in_parts = look.files.iter().any(|file| !file.lines.is_empty());
    let size = if in_parts { size.max(PART) } else { size };
    let request = ModelRequest {
        system: prompt::render("files_system", context! { brief => prompt::brief(task.kind, task.of_a_pull()) }),
        turns: vec![
            Turn::User { text: example() },
            Turn::Assistant {
                text: prompt::render("files_answer", context! { path => EXAMPLE }),
                calls: Vec::new(),
                vendor: None,
            },
            Turn::User { text: question },
        ],
        tools: Vec::new(),
        max_output_tokens: config.max_output_tokens.min(ANSWER + (size as u64) * 3 / 8),
        temperature: Some(if tried == 0 { 0.0 } else { (FREE + FREER * round::repeats(log) as f64).min(FREEST) }),
        // Differs by task and answer, so that a repeated task is another sample.
        seed: Some((task.id.0.unsigned_abs() << 16) | u64::from(task.turn & 0xffff)),
        cache_key: None,
        must_call: false,
    };
    let command = base(log).map(|base| base.command.clone());
    let (look, written) = (Box::new(look.clone()), unseen::written(log));
    (request, Reader::Files { look, command, asked, first, written, earlier })
}

/// Escapes text that does not come back in answers. Files are shown unchanged, because their text does, even with tokens of chat templates.
fn plain(words: &str) -> String {
    text::untemplated(words).into_owned()
}

/// Number of answers since the task began or a person last asked for something.
fn tried(log: &[Event]) -> usize {
    let asks = |event: &&Event| match event {
        Event::DecisionUsed { decision, .. } => !matches!(decision.verb, Verb::Changes { .. }),
        Event::WidenedToFix { .. } | Event::Rebased(_) => false,
        _ => true,
    };
    log.iter().rev().take_while(asks).filter(|event| matches!(event, Event::TurnCompleted { .. })).count()
}

/// What people asked for in reviews and did not take back, the newest last.
fn remarks(log: &[Event]) -> Vec<String> {
    let items = log.iter().flat_map(|event| match event {
        Event::DecisionUsed { decision, .. } => match &decision.verb {
            Verb::Changes { items } => items.as_slice(),
            _ => &[],
        },
        Event::FeedbackGiven { items, .. } => items.as_slice(),
        _ => &[],
    });
    let numbered = Remarks::of(log);
    items
        .filter(|item| !numbered.is_withdrawn(item))
        .map(|item| {
            let place = match (&item.path, item.line, &item.old) {
                (Some(path), Some(line), _) => format!("{}, line {line}: ", text::one_line(path)),
                (Some(path), None, Some(old)) => {
                    format!("{}, {}: ", text::one_line(path), old_line(old, text::one_line))
                }
                (Some(path), None, None) => format!("{}: ", text::one_line(path)),
                (None, _, _) => String::new(),
            };
            format!("{place}{}", seen(&item.text).0)
        })
        .collect()
}

/// What could not be merged onto a newer base, while no commit holds the work there; as the sandbox named it.
fn in_conflict(log: &[Event]) -> &[String] {
    let since = log.iter().rev().take_while(|event| !matches!(event, Event::TreeCaptured { .. }));
    let conflicts = since.into_iter().find_map(|event| match event {
        Event::Rebased(rebased) => Some(rebased.conflicts.as_slice()),
        _ => None,
    });
    conflicts.unwrap_or_default()
}

/// What is wrong with the current files.
#[derive(Default)]
struct Failing {
    command: String,
    /// The command's first failures; none if nothing is known to fail.
    text: Option<String>,
    /// What the issue asks and an answer did not do.
    unmet: Vec<String>,
    /// Whether it is about an answer, and not about the base.
    repair: bool,
}

fn failures(log: &[Event], words: &str) -> Failing {
    let after = |command: &str, text: String| Failing {
        command: command.to_owned(),
        text: Some(text),
        repair: true,
        ..Failing::default()
    };
    // Of a round's candidates only the one to be mended is mentioned; otherwise the one that was written and is not good enough.
    let spoken_of = match round::candidates(log).is_empty() {
        true => round::applied(log),
        false => round::mended(log, words),
    };
    if let Some(one) = spoken_of {
        let unmet = round::lacking(log, &one, words);
        let flawed = protocol::mistakes::findings(&one.ended.text).is_some();
        let text = (flawed || !passed(one.ended, base(log))).then(|| failing_text(one.ended, log));
        return Failing { command: one.command.to_owned(), text, unmet, repair: true };
    }
    let (before, round) = log.split_at(round::start(log));
    let last = round.iter().rposition(|event| matches!(event, Event::TurnCompleted { calls, .. } if !calls.is_empty()));
    let run = last.and_then(|last| {
        outcomes(round, last).find_map(|(action, ended)| match action {
            domain::Action::Bash { command } if !passed(ended, base(log)) => Some((command, ended)),
            _ => None,
        })
    });
    if let Some((command, ended)) = run {
        let written =
            last.and_then(|last| outcomes(round, last).find_map(|(action, ended)| mistakes::of(action, ended)));
        let failing = failing_text(ended, log);
        return after(command, written.map_or(failing.clone(), |seen| format!("{seen}\n\n{failing}")));
    }
    let returned = before.iter().rev().find_map(|event| match event {
        Event::Verified { verdict, .. } if verdict.kind == domain::VerdictKind::Failed => {
            Some(Some((verdict.command.clone().unwrap_or_default(), verdict.tail.clone())))
        }
        Event::CiEnded(ended) if ended.failed() => Some(Some(("the forge's CI".to_owned(), ended.log()))),
        Event::TurnCompleted { .. } => Some(None),
        _ => None,
    });
    if let Some(Some((command, output))) = returned {
        return after(&command, shortened(&output));
    }
    let untouched = !log.iter().any(changes_something);
    match base(log).filter(|base| untouched && base.exit_code != Some(0)) {
        Some(base) => Failing { repair: false, ..after(&base.command, shortened(&base.tail)) },
        None => Failing::default(),
    }
}

/// Names in failing checks, to find the files that matter.
pub fn failing(output: &str) -> Vec<String> {
    let named = items::failures(output).into_iter().flat_map(|item| item.file.into_iter().chain(item.test));
    named.collect()
}

/// Why a run did not pass: that fewer tests ran, if they did, and its output in short.
fn failing_text(ended: &Outcome, log: &[Event]) -> String {
    let output = shortened(&ended.text);
    fewer_tests(ended, base(log)).map_or(output.clone(), |fewer| format!("{fewer}\n\n{output}"))
}

/// Mistakes seen in the files themselves, then the first failures; if none can be parsed, the end of the output.
fn shortened(output: &str) -> String {
    let seen = protocol::mistakes::findings(output);
    let ran = seen.map_or(output, |seen| &output[..output.len() - seen.len()]);
    let ran = ran.trim_end().trim_end_matches(protocol::mistakes::HEAD).trim_end();
    let text = failing::first(ran, SHOWN).unwrap_or_else(|| ran.to_owned());
    let total = text.chars().count();
    let ran: String = text.chars().skip(total.saturating_sub(FAILING)).collect();
    seen.map_or_else(|| ran.clone(), |seen| format!("{}\n\n{ran}", text::cut(seen, FAILING).0))
}

fn example() -> String {
    let text =
        "def greet(name):\n    return \"Hello, world!\"\n\n\ndef part(name):\n    return \"Goodbye, \" + name + \"!\"";
    let file = context! { path => EXAMPLE, note => "", fence => "```", language => "python", text };
    let body = "`greet(\"Ada\")` returns `Hello, world!`. It should return `Hello, Ada!`.";
    prompt::render(
        "files_question",
        context! {
            title => "The greeting ignores the name", body, words => "", remarks => Vec::<String>::new(), conflicts => Vec::<String>::new(), command => "",
            unmet => None::<String>,
            repair => false, failing => None::<String>, shown => vec![file],
        },
    )
}

/// The code blocks of a file: one, or one per segment of lines.
fn blocks(file: &ShownFile) -> Vec<minijinja::Value> {
    let one = |(text, note): (String, String)| {
        let (path, text) = (text::one_line(&file.path), text::visible(&text));
        context! { path, note, fence => text::ticks(&text), language => language(&file.path), text }
    };
    parts(file).into_iter().map(one).collect()
}

/// The shown segments of a file, each with a note of its place; the whole file if all of it is shown.
fn parts(file: &ShownFile) -> Vec<(String, String)> {
    let all: Vec<&str> = file.text.lines().collect();
    if file.lines.is_empty() {
        return vec![(all.join("\n"), String::new())];
    }
    let segment = |(first, last): &(u32, u32)| {
        let part = all.get((*first as usize).saturating_sub(1)..(*last as usize).min(all.len())).unwrap_or_default();
        (part.join("\n"), format!("lines {first} to {last}"))
    };
    file.lines.iter().map(segment).collect()
}

fn fenced(text: &str, language: &str) -> String {
    let fence = text::ticks(text);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end())
}

fn language(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, kind)| kind) {
        Some("py") => "python",
        Some("rs") => "rust",
        Some("js" | "mjs" | "cjs" | "jsx") => "javascript",
        Some("ts" | "tsx") => "typescript",
        Some("go") => "go",
        Some("java") => "java",
        Some("toml") => "toml",
        _ => "",
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
pub(super) mod tests;
