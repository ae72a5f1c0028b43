//! `caisson-runner survey <root>`: the files of a tree that are relevant to an issue, as in `protocol::survey`.
//!
//! A process of its own that ends with its answer: its parsers (C code on committed text) never run in PID 1. It reads only below its root
//! and does not use git. Tests: `tests/survey.rs`.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use protocol::survey::{MAX_ANSWER, Question, SurveyAnswer};

/// Longest question, in bytes of JSON.
const MAX_QUESTION: u64 = 1 << 20;

pub fn main(mut args: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let root = PathBuf::from(args.next().context("survey needs the folder to look at")?);
    ensure!(args.next().is_none(), "survey takes one folder, and the question on its standard input");
    ensure!(root.is_dir(), "{} is no folder", root.display());
    let mut text = Vec::new();
    std::io::stdin().lock().take(MAX_QUESTION + 1).read_to_end(&mut text).context("reading the question")?;
    ensure!(text.len() as u64 <= MAX_QUESTION, "the question is longer than {MAX_QUESTION} bytes");
    let question: Question = serde_json::from_slice(&text).context("the question")?;
    let answer = fit(locate::survey(&root, &question))?;
    let mut out = std::io::stdout().lock();
    out.write_all(&answer)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The answer as JSON within its limit: the last files lose their texts first, then their parts, then are left out.
fn fit(mut answer: SurveyAnswer) -> anyhow::Result<Vec<u8>> {
    loop {
        let text = serde_json::to_vec(&answer)?;
        if text.len() as u64 <= MAX_ANSWER {
            return Ok(text);
        }
        if let Some(file) = answer.files.iter_mut().rev().find(|file| file.text.is_some()) {
            file.text = None;
        } else if let Some(file) = answer.files.iter_mut().rev().find(|file| !file.parts.is_empty()) {
            file.parts.clear();
        } else if answer.files.pop().is_some() {
            // The answer no longer has all files.
            answer.whole = false;
        } else {
            anyhow::bail!("the answer does not fit");
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::survey::{MAX_TEXTS, Part, RankedFile};

    use super::*;

    fn found(path: String, text: Option<String>) -> RankedFile {
        let (bytes, tokens) = (MAX_TEXTS, MAX_TEXTS / 4);
        let parts = vec![Part { name: "one".to_owned(), first: 1, last: 2 }];
        RankedFile { path, bytes, tokens, lines: 200, score: 1.0, because: vec![], defines: vec![], parts, text }
    }

    #[test]
    fn an_answer_loses_texts_before_files() {
        // Each of these bytes takes six in JSON.
        let text = "\u{1}".repeat(100 << 10);
        let files = (0..3).map(|at| found(format!("{at}.rs"), Some(text.clone()))).collect();
        let answer = SurveyAnswer { whole: true, files, ..SurveyAnswer::default() };
        let told: SurveyAnswer = serde_json::from_slice(&fit(answer).unwrap()).unwrap();
        let texts: Vec<bool> = told.files.iter().map(|file| file.text.is_some()).collect();
        assert_eq!((texts, told.whole), (vec![true, false, false], true));
        assert!(told.files.iter().all(|file| file.parts.len() == 1));
        let files = (0..3).map(|at| found(format!("{at}{}", "x".repeat(400 << 10)), None)).collect();
        let told: SurveyAnswer =
            serde_json::from_slice(&fit(SurveyAnswer { whole: true, files, ..SurveyAnswer::default() }).unwrap())
                .unwrap();
        assert_eq!((told.files.len(), told.whole), (2, false));
    }
}
