//! `--judge FILE`: judges answers that were made elsewhere, exactly as the bot's own are. No model is asked.
//!
//! Owns the lines that are read and written. An answer that cannot become a commit is reported as not solved, and the others continue; each
//! task's base is made once. *Solved* is defined in `judge.rs`. Tests: below (the lines), `tests/eval.rs` (the judgement).

use super::judge::{Judge, Judged, Planted};
use super::results::{Out, Outcome, TryVerdict};
use super::tasks::{Folder, TaskDir, files};
use crate::cli::printer::{Complaint, Printer};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// One answer to one task, with exactly one of `patch` and `tree`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferedAnswer {
    pub task: String,
    #[serde(default = "first")]
    pub repeat: u32,
    /// Copied to the result; identifies the answer.
    #[serde(default)]
    pub label: String,
    /// A unified diff in git's format against the task's base; an empty one changes nothing.
    patch: Option<String>,
    /// A folder with the whole answer; relative to the input file.
    tree: Option<PathBuf>,
}

fn first() -> u32 {
    1
}

/// The judgement of one answer.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub kind: &'static str,
    pub task: String,
    pub repeat: u32,
    pub label: String,
    /// `not-run`: nothing is known about the answer, because the task or the engine failed.
    pub outcome: Outcome,
    pub solved: bool,
    #[serde(flatten)]
    pub found: TryVerdict,
    pub why: String,
}

/// # Errors
/// A [`Complaint`] that names the first invalid line, before anything is started.
pub fn read(path: &Path) -> Result<Vec<OfferedAnswer>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let beside = path.parent().unwrap_or(Path::new(""));
    let mut answers = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |why: String| {
            let complaint = Complaint::new(format!("{}:{} is no answer", path.display(), at + 1)).because(why);
            complaint.hint("a line is {\"task\": …, \"patch\": …} or {\"task\": …, \"tree\": …}; docs/evaluation.md")
        };
        let mut answer: OfferedAnswer = serde_json::from_str(line).map_err(|why| wrong(why.to_string()))?;
        if answer.patch.is_some() == answer.tree.is_some() {
            return Err(wrong("it holds neither or both of patch and tree".to_owned()).into());
        }
        answer.tree = answer.tree.map(|tree| beside.join(tree));
        answers.push(answer);
    }
    Ok(answers)
}

/// Judges all answers, task by task in the order in which the tasks first appear.
pub async fn judge(
    judge: &Judge,
    folder: &Folder,
    answers: &[OfferedAnswer],
    mut out: Out,
    printer: &Printer,
) -> Result<()> {
    let mut names: Vec<&str> = Vec::new();
    for answer in answers {
        if !names.contains(&answer.task.as_str()) {
            names.push(&answer.task);
        }
    }
    let (mut solved, mut not_run) = (0, 0);
    for (at, name) in names.iter().enumerate() {
        printer.step(&format!("{}/{} {name}: its hidden tests on the base", at + 1, names.len()));
        let ready = plant(judge, folder, &format!("t{at}"), name).await;
        for answer in answers.iter().filter(|answer| answer.task == **name) {
            let row = match &ready {
                Ok((planted, task)) => one(judge, planted, task, answer).await,
                Err(why) => row(answer, Outcome::NotRun, &Judged { why: format!("{why:#}"), ..Judged::default() }),
            };
            say(&row, printer);
            solved += usize::from(row.solved);
            not_run += usize::from(row.outcome == Outcome::NotRun);
            out.put(&row)?;
        }
    }
    printer.say(&format!("{} answers: {solved} solved, {not_run} not run", answers.len()));
    Ok(())
}

async fn plant<'a>(judge: &Judge, folder: &'a Folder, key: &str, name: &str) -> Result<(Planted, &'a TaskDir)> {
    if let Some((_, why)) = folder.broken.iter().find(|(broken, _)| broken == name) {
        anyhow::bail!("the task cannot be read: {why}");
    }
    let task = folder.tasks.iter().find(|task| task.spec.name == name);
    let task = task.with_context(|| format!("there is no task {name} in {}", folder.at.display()))?;
    Ok((judge.plant(key, task).await?, task))
}

async fn one(judge: &Judge, planted: &Planted, task: &TaskDir, answer: &OfferedAnswer) -> Row {
    let unsolved = |why: String| row(answer, Outcome::Unsolved, &Judged { why, ..Judged::default() });
    let commit = match (&answer.patch, &answer.tree) {
        (Some(patch), _) if patch.trim().is_empty() => return unsolved("nothing was changed".to_owned()),
        (Some(patch), _) => {
            let made = judge.patched(planted, patch.clone().into_bytes()).await;
            made.context("the patch does not apply to the task's base")
        }
        (None, Some(tree)) => match files(tree) {
            Ok(plain) => judge.replaced(planted, &plain).await.context("the tree can be no commit"),
            Err(why) => Err(why.context(format!("the tree {} cannot be read", tree.display()))),
        },
        (None, None) => return unsolved("it holds no answer".to_owned()),
    };
    let commit = match commit {
        Ok(commit) => commit,
        Err(why) => return unsolved(format!("{why:#}")),
    };
    match judge.judge_commit(planted, task, &commit).await {
        Ok(judged) if judged.solved() => row(answer, Outcome::Solved, &judged),
        Ok(judged) => row(answer, Outcome::Unsolved, &judged),
        Err(why) => {
            let why = format!("it could not be judged: {why:#}");
            row(answer, Outcome::NotRun, &Judged { why, ..Judged::default() })
        }
    }
}

fn row(answer: &OfferedAnswer, outcome: Outcome, judged: &Judged) -> Row {
    Row {
        kind: "judged",
        task: answer.task.clone(),
        repeat: answer.repeat,
        label: answer.label.clone(),
        outcome,
        solved: outcome == Outcome::Solved,
        found: TryVerdict { hidden: judged.hidden, suite: judged.suite, base_tests: judged.base_tests },
        why: judged.why.clone(),
    }
}

fn say(row: &Row, printer: &Printer) {
    let whose = if row.label.is_empty() { String::new() } else { format!(" {}", row.label) };
    let name = format!("{}{whose} #{}", row.task, row.repeat);
    printer.step(&match row.outcome {
        Outcome::Solved => format!("{name}: solved"),
        Outcome::Unsolved => format!("{name}: not solved: {}", row.why),
        Outcome::NotRun => format!("{name}: NOT RUN: {}", row.why),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Result<Vec<OfferedAnswer>> {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("answers.jsonl");
        std::fs::write(&path, text).expect("written");
        read(&path)
    }

    #[test]
    fn a_line_holds_one_answer() {
        let text = "{\"task\":\"a\",\"patch\":\"\"}\n\n{\"task\":\"b\",\"repeat\":2,\"label\":\"x\",\"tree\":\"t\"}\n";
        let read = written(text).expect("two answers");
        assert_eq!((read.len(), read[0].repeat, read[1].repeat, read[1].label.as_str()), (2, 1, 2, "x"));
        assert!(read[1].tree.as_ref().is_some_and(|tree| tree.is_absolute()), "beside the file");
        for bad in
            ["{\"task\":\"a\"}", "{\"task\":\"a\",\"patch\":\"\",\"tree\":\"\"}", "{\"task\":\"a\",\"diff\":\"\"}", "x"]
        {
            let why = written(&format!("{{\"task\":\"a\",\"patch\":\"\"}}\n{bad}\n")).expect_err("no answer");
            assert!(why.to_string().contains(":2 is no answer"), "{bad}: {why:#}");
        }
    }

    #[test]
    fn a_row_says_what_held() {
        let answer = written("{\"task\":\"a\",\"label\":\"x\",\"patch\":\"p\"}").expect("an answer").remove(0);
        let judged = Judged { hidden: false, suite: true, base_tests: true, why: "hidden tests: exit 1".into() };
        let line = serde_json::to_value(row(&answer, Outcome::Unsolved, &judged)).expect("JSON");
        assert!(line["outcome"] == "unsolved" && line["solved"] == false && line["suite"] == true, "{line}");
        assert!(line["label"] == "x" && line["hidden"] == false && line["why"] == "hidden tests: exit 1", "{line}");
    }
}
