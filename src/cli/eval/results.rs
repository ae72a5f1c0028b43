//! The results of a run as JSON lines: a header, a line for each try at a task, and one at the end.
//!
//! Owns the format and the file, which is never overwritten. Each line is on disk before the next task begins, so that an interrupted run
//! keeps its results. Tests: below.

use super::frozen::Frozen;
use super::tasks::{Family, Language, Set};
use crate::cli::printer::Complaint;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Line {
    Header(Box<Header>),
    Task(Box<Row>),
    /// Only at the end of a complete run.
    End {
        tries: usize,
        solved: usize,
        not_run: usize,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Header {
    pub version: String,
    /// Commit of the repository that contains the tasks, if there is one.
    pub commit: Option<String>,
    /// Whether the model was a recording.
    pub recording: bool,
    pub model: ModelSeen,
    /// Hash of everything that decides how a model is asked: model, sandbox and budget of the configuration, without the key.
    pub config: String,
    pub frozen: Frozen,
    /// The chosen tasks, in words.
    pub chosen: String,
    pub limit_s: u64,
    pub reviews: u32,
    pub repeats: u32,
    /// RFC 3339.
    pub started: String,
}

/// The model as asked for and as it answered.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ModelSeen {
    pub label: String,
    pub asked: String,
    pub answered: Option<String>,
    pub window_configured: u64,
    pub window_told: Option<u64>,
    /// Why the run is rejected; empty if it is not.
    pub fault: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Solved,
    Unsolved,
    /// Nothing is known about the model: a broken task, no answer, an engine that is unavailable.
    NotRun,
}

/// One try at one task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub task: String,
    pub repeat: u32,
    /// None for a task that could not be read.
    pub about: Option<About>,
    pub outcome: Outcome,
    pub recording: bool,
    /// Whether the bot asked for a final review although the work was wrong.
    pub false_done: bool,
    /// `approved`, `paused`, … as in `caisson task list`; `limit` or `reviews` if the run stopped it.
    pub end: String,
    /// Why it was not solved or not run.
    pub reason: String,
    pub judged: Option<TryVerdict>,
    pub measured: Measured,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct About {
    pub set: Set,
    pub family: Family,
    pub language: Language,
    pub names_file: bool,
    pub large: bool,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct TryVerdict {
    pub hidden: bool,
    pub suite: bool,
    pub base_tests: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Measured {
    /// Number of requested reviews.
    pub reviews: u32,
    /// Number of the model's answers.
    pub turns: u32,
    pub actions: u32,
    pub tokens_read: u64,
    pub tokens_cached: u64,
    pub tokens_written: u64,
    /// Sum of the times from a request to the end of its answer.
    pub model_seconds: f64,
    /// Uncached tokens / 120 + written tokens / 25, which is independent of the machine.
    pub model_seconds_by_formula: f64,
    /// From the issue to the end, without waiting for reviews.
    pub own_seconds: f64,
    pub waiting_seconds: f64,
    pub dollars: f64,
    /// Tokens whose price no configuration says, so that `dollars` has nothing of them.
    #[serde(default)]
    pub unpriced: u64,
    /// Labels of the models that answered.
    pub models: Vec<String>,
}

/// The output file.
pub struct Out(Option<File>);

impl Out {
    /// # Errors
    /// A [`Complaint`] when the file exists.
    pub fn create(path: Option<&Path>) -> Result<Out> {
        let Some(path) = path else { return Ok(Out(None)) };
        match File::options().write(true).create_new(true).open(path) {
            Ok(file) => Ok(Out(Some(file))),
            Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => {
                let complaint = Complaint::new(format!("{} is there already", path.display()));
                Err(complaint.hint("results are never overwritten: name another file with --out").into())
            }
            Err(why) => Err(why).with_context(|| format!("{} cannot be written", path.display())),
        }
    }

    /// Writes one line; nothing without a file.
    pub fn put(&mut self, line: &impl Serialize) -> Result<()> {
        let Some(file) = &mut self.0 else { return Ok(()) };
        let text = format!("{}\n", serde_json::to_string(line)?);
        file.write_all(text.as_bytes()).and_then(|()| file.sync_data()).context("the results cannot be written")
    }
}

/// A file of an earlier run.
pub struct Results {
    pub header: Header,
    pub rows: Vec<Row>,
    /// Whether the run was complete.
    pub whole: bool,
}

impl Results {
    pub fn read(path: &Path) -> Result<Results> {
        let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let wrong = |at: usize| format!("{}:{} is no line of results", path.display(), at + 1);
        let (mut header, mut rows, mut whole) = (None, Vec::new(), false);
        for (at, line) in text.lines().enumerate() {
            match serde_json::from_str(line).with_context(|| wrong(at))? {
                Line::Header(it) => header = Some(*it),
                Line::Task(row) => rows.push(*row),
                Line::End { .. } => whole = true,
            }
        }
        let header = header.with_context(|| format!("{} has no header", path.display()))?;
        Ok(Results { header, rows, whole })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn header(recording: bool) -> Header {
        Header {
            version: "0".into(),
            commit: None,
            recording,
            model: ModelSeen::default(),
            config: String::new(),
            frozen: Frozen::Never,
            chosen: "quick".into(),
            limit_s: 180,
            reviews: 8,
            repeats: 1,
            started: String::new(),
        }
    }

    pub fn row(task: &str, repeat: u32, outcome: Outcome) -> Row {
        Row {
            task: task.into(),
            repeat,
            about: None,
            outcome,
            recording: false,
            false_done: false,
            end: "approved".into(),
            reason: String::new(),
            judged: None,
            measured: Measured::default(),
        }
    }

    #[test]
    fn what_is_written_is_read_and_never_overwritten() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("r.jsonl");
        let mut out = Out::create(Some(&path)).expect("made");
        out.put(&Line::Header(Box::new(header(true)))).expect("put");
        out.put(&Line::Task(Box::new(row("a", 1, Outcome::Solved)))).expect("put");
        let read = Results::read(&path).expect("read");
        assert!(read.header.recording && read.rows.len() == 1 && !read.whole, "it was stopped before its end");
        out.put(&Line::End { tries: 1, solved: 1, not_run: 0 }).expect("put");
        assert!(Results::read(&path).expect("read").whole);
        assert!(Out::create(Some(&path)).is_err_and(|why| why.to_string().contains("there already")));
    }
}
