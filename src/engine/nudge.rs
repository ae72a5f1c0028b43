//! The message to a model whose answer contained no usable call, or only notes once more: a different one each time.
//!
//! Owns: an example filled with words of the task, the suggested next step, and the temperature of the next answer. Only one name is taken
//! from the task's words, of letters, digits and `_./-`, because it stands outside of a fence. Pure, from the log alone. Must not: count
//! (`domain` does). Tests: below and in `history_tests.rs`.

use domain::{Action, Call, Outcome, Request, TaskKind};
use minijinja::{Value, context};

use super::fence::seen;
use super::prompt;

/// How a conversation is led: with tools, or in blocks of plain text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The model calls tools by their schemas.
    Tools,
    /// The model writes one command or one file in each answer.
    Text,
}

/// The longest name taken from a task's words, in characters.
const LONGEST: usize = 60;

/// What was done so far, as far as it decides the next step.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The file that was last read or changed; then the newest short command.
    file: Option<String>,
    command: Option<String>,
    looked: bool,
    changed: bool,
    /// Whether the newest command since the newest change succeeded.
    checked: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Look,
    Change,
    Check,
    Done,
}

impl Progress {
    pub(super) fn take(&mut self, call: &Call, ended: &Outcome) {
        let Call::Action { action } = call else { return };
        let went = ended.status.succeeded();
        if let Action::Bash { command } = action {
            let plain = command.len() <= LONGEST && !command.contains(['\n', '`']);
            self.command = plain.then(|| command.clone()).or_else(|| self.command.take());
        }
        match action {
            Action::Bash { .. } if self.changed => self.checked = Some(went),
            Action::Background { .. } => {}
            Action::Bash { .. } | Action::ListFiles { .. } | Action::Search { .. } | Action::WebFetch { .. } => {
                self.looked |= went;
            }
            Action::ReadFile { path, .. } | Action::ReadRanges { path, .. } | Action::Summarize { path, .. }
                if went =>
            {
                (self.looked, self.file) = (true, Some(path.clone()))
            }
            Action::WriteFile { path, .. } | Action::EditFile { path, .. } | Action::EditPlaces { path, .. }
                if went =>
            {
                (self.changed, self.checked, self.file) = (true, None, Some(path.clone()));
            }
            Action::WriteFiles { .. } | Action::MoveFile { .. } | Action::DeleteFile { .. } if went => {
                (self.changed, self.checked) = (true, None)
            }
            Action::Try { .. }
            | Action::ReadFile { .. }
            | Action::ReadRanges { .. }
            | Action::Summarize { .. }
            | Action::MoveFile { .. }
            | Action::DeleteFile { .. }
            | Action::EditPlaces { .. }
            | Action::WriteFile { .. }
            | Action::EditFile { .. }
            | Action::WriteFiles { .. } => {}
        }
    }

    fn next(&self, kind: TaskKind) -> Step {
        match (kind.reads_only(), self.changed, self.checked) {
            (true, _, _) if self.looked => Step::Done,
            (false, true, None) => Step::Check,
            (false, true, Some(true)) => Step::Done,
            (false, true, Some(false)) => Step::Change,
            (false, false, _) if self.looked => Step::Change,
            (true | false, _, _) => Step::Look,
        }
    }
}

/// The values of the message.
pub(super) struct Task<'a> {
    pub(super) kind: TaskKind,
    pub(super) form: Form,
    pub(super) request: Option<&'a Request>,
    pub(super) progress: &'a Progress,
}

impl Task<'_> {
    /// The message after `nth` consecutive answers without a call, from 1; `noted` if the last one had calls that only noted something.
    pub(super) fn nudge(&self, nth: u8, noted: bool) -> String {
        let step = self.progress.next(self.kind);
        let (name, arguments, command) = self.example();
        let values = context! {
            nth, noted, name, arguments, command, read_only => self.kind.reads_only(), step => self.words(step), tool => self.tool(step),
        };
        prompt::render(self.file("nudge", "text_nudge"), values)
    }

    /// The answer to a `done` before anything changed.
    pub(super) fn idle(&self) -> String {
        let step = if self.progress.looked { Step::Change } else { Step::Look };
        prompt::render(self.file("idle", "text_idle"), context! { step => self.words(step) })
    }

    fn file(&self, tools: &'static str, text: &'static str) -> &'static str {
        match self.form {
            Form::Tools => tools,
            Form::Text => text,
        }
    }

    /// A call that looks at the task's subject, and the command that does the same; after a change, the newest command again.
    fn example(&self) -> (&'static str, Value, String) {
        let json = |value: serde_json::Value| Value::from(value.to_string());
        if let (Step::Check, Some(command)) = (self.progress.next(self.kind), &self.progress.command) {
            return ("bash", json(serde_json::json!({ "command": command })), command.clone());
        }
        match self.subject() {
            Some(Subject::File(path)) => {
                ("read_file", json(serde_json::json!({ "path": path })), format!("cat {path}"))
            }
            Some(Subject::Name(name)) => {
                ("search", json(serde_json::json!({ "pattern": name })), format!("grep -rn {name} ."))
            }
            None => ("list_files", json(serde_json::json!({ "path": "." })), "git ls-files".to_owned()),
        }
    }

    fn subject(&self) -> Option<Subject> {
        let request = self.request?;
        let texts = [&request.words, &request.title, &request.body].map(|text| seen(text).0);
        let named = || texts.iter().find_map(|text| path(text)).map(Subject::File);
        let read = self.progress.file.as_deref().and_then(path).map(Subject::File);
        read.or_else(named).or_else(|| texts.iter().find_map(|text| name(text)).map(Subject::Name))
    }

    fn tool(&self, step: Step) -> &'static str {
        match step {
            Step::Look => self.example().0,
            Step::Change => "edit_file",
            Step::Check => "bash",
            Step::Done => "done",
        }
    }

    fn words(&self, step: Step) -> String {
        let file = match self.subject() {
            Some(Subject::File(path)) => path,
            Some(Subject::Name(_)) | None => "the file that is to change".to_owned(),
        };
        let (name, arguments, command) = self.example();
        match (self.form, step) {
            (Form::Tools, Step::Look) => format!("look at what the task is about, with `{name}` and {arguments}"),
            (Form::Tools, Step::Change) => {
                format!("change {file}, with `edit_file`: `path`, the `old` text as it stands there, the `new` text")
            }
            (Form::Tools, Step::Check) => "run the project's tests, with `bash`".to_owned(),
            (Form::Tools, Step::Done) => "say what you found, with `done` and its `summary`".to_owned(),
            (Form::Text, Step::Look) => format!("look at what the task is about: a bash block with `{command}`"),
            (Form::Text, Step::Change) => {
                format!("change {file}: its path on a line of its own, then a block with all of its new text")
            }
            (Form::Text, Step::Check) => "run the project's tests in a bash block".to_owned(),
            (Form::Text, Step::Done) => "end with a line that begins with `DONE:` and says what you changed".to_owned(),
        }
    }
}

/// Temperature after this many consecutive messages; none = the server's default.
pub(super) fn temperature(nudges: u8) -> Option<f64> {
    match nudges {
        0 => None,
        1 => Some(0.4),
        2 => Some(0.7),
        _ => Some(1.0),
    }
}

enum Subject {
    File(String),
    Name(String),
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let inside = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let all = text.split(move |c: char| !inside(c)).map(|word| word.trim_matches(['.', '-', '/']));
    all.filter(|word| (1..=LONGEST).contains(&word.len()))
}

/// The first path of a file: a name with an extension of one to four letters.
fn path(text: &str) -> Option<String> {
    let is_file = |word: &&str| {
        let name = word.rsplit('/').next().unwrap_or(word);
        let parts = name.rsplit_once('.').filter(|(stem, ending)| !stem.is_empty() && stem.len() + ending.len() > 2);
        let ending = parts.map_or("", |(_, ending)| ending);
        let good = (1..=4).contains(&ending.len()) && ending.starts_with(|c: char| c.is_ascii_alphabetic());
        good && ending.chars().all(|c| c.is_ascii_alphanumeric()) && !word.contains("..") && !word.starts_with("www.")
    };
    let told = text.split_whitespace().filter(|part| !part.contains("://"));
    told.flat_map(tokens).find(is_file).map(str::to_owned)
}

/// A name of code: in backticks, otherwise one written like code, otherwise the longest word.
fn name(text: &str) -> Option<String> {
    let letters = |word: &&str| word.len() > 2 && word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let words = |text: &str| -> Vec<String> {
        let all = tokens(text).flat_map(|word| word.split(['.', '/', '-'])).filter(letters);
        all.map(str::to_owned).collect()
    };
    let quoted = text.split('`').skip(1).step_by(2).find_map(|code| words(code).into_iter().next());
    let coded = |word: &String| word.contains('_') || word[1..].contains(|c: char| c.is_ascii_uppercase());
    quoted.or_else(|| words(text).into_iter().find(coded)).or_else(|| {
        let long = words(text).into_iter().filter(|word| word.len() > 4);
        long.reduce(|best, word| if word.len() > best.len() { word } else { best })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::OutcomeStatus;

    #[test]
    fn a_file_is_found_before_a_name_and_addresses_are_none() {
        assert_eq!(path("see https://x.org/a.py, and `src/semver.py`."), Some("src/semver.py".into()));
        assert_eq!(path("1.10 sorts before 1.9, e.g. here"), None);
        assert_eq!(name("Wrong order: `newer(a, b)` of big_list"), Some("newer".into()));
        assert_eq!(name("the big_list is sorted"), Some("big_list".into()));
        assert_eq!(name("Versions compare wrongly"), Some("Versions".into()));
        assert_eq!(name("`; rm -rf /` [[x]]"), None, "no sign that means something to a shell");
        assert_eq!((name("a b"), path("")), (None, None));
    }

    fn took(progress: &mut Progress, action: Action, status: OutcomeStatus) {
        let ended = Outcome { duration_ms: 1, ..Outcome::new(status, "") };
        progress.take(&Call::Action { action }, &ended);
    }

    #[test]
    fn the_next_step_follows_from_what_was_done() {
        let mut progress = Progress::default();
        let run = || Action::Bash { command: "make test".into() };
        assert_eq!((progress.next(TaskKind::Fix), progress.next(TaskKind::Plan)), (Step::Look, Step::Look));
        took(&mut progress, Action::ReadFile { path: "a.py".into(), from: 1, lines: 0 }, OutcomeStatus::Ok);
        assert_eq!((progress.next(TaskKind::Fix), progress.next(TaskKind::Plan)), (Step::Change, Step::Done));
        let write = Action::WriteFile { path: "a.py".into(), content: String::new() };
        took(&mut progress, write.clone(), OutcomeStatus::Failed { reason: "full".into() });
        assert_eq!(progress.next(TaskKind::Fix), Step::Change, "it was not written");
        took(&mut progress, write, OutcomeStatus::Ok);
        assert_eq!(progress.next(TaskKind::Fix), Step::Check);
        took(&mut progress, run(), OutcomeStatus::Exited { code: 1 });
        assert_eq!(progress.next(TaskKind::Fix), Step::Change);
        took(&mut progress, run(), OutcomeStatus::Exited { code: 0 });
        assert_eq!(progress.next(TaskKind::Fix), Step::Done);
    }

    #[test]
    fn no_question_is_asked_twice_in_either_form() {
        for (form, kind) in [(Form::Tools, TaskKind::Fix), (Form::Tools, TaskKind::Plan), (Form::Text, TaskKind::Fix)] {
            let task = Task { kind, form, request: None, progress: &Progress::default() };
            let all: std::collections::BTreeSet<String> = (1..=4).map(|nth| task.nudge(nth, false)).collect();
            assert_eq!(all.len(), 4, "{form:?}");
            assert!(task.nudge(1, true).starts_with("Nothing was done: "), "{form:?}");
        }
    }
}
