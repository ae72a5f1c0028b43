//! Finds syntax mistakes in files that were just written, in a child process `caisson-runner mistakes`.
//!
//! Owns that child and the presentation of its findings. Its parsers (C code on the agent's text) never run in PID 1; if the child crashes,
//! hangs or prints too much, there are no findings, and the write succeeds all the same. It reads no file: old and new text come on
//! standard input. The mistakes themselves are defined by the crate `locate`. Tests: below and `tests/tools.rs`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::ensure;
use locate::Language;
use protocol::mistakes::{HEAD, MOST};
use protocol::runner::{Limits, Status};

use crate::done::Done;
use crate::handle::Handle;
use crate::job::Job;
use crate::session::Session;
use crate::written::{LONGEST, Written};

/// Milliseconds after which the child is killed.
const WALL_MS: u64 = 2_000;
/// The most bytes that the child reads, and that it may answer.
const MAX_QUESTION: u64 = 16 << 20;
const MAX_ANSWER: usize = 8 << 10;
/// The most characters shown of a line.
const LINE: usize = 160;

/// Adds the mistakes that a write introduced to its result.
pub async fn with_mistakes(
    session: &Arc<Session>,
    handle: &Arc<Handle>,
    done: Done,
    mut written: Vec<Written>,
    limits: Limits,
) -> Done {
    let mut room = 4 * LONGEST;
    written.retain(|file| {
        let size = file.after.len() + file.before.as_ref().map_or(0, String::len);
        let fits = size <= room;
        room -= if fits { size } else { 0 };
        fits
    });
    if done.status != Status::Ok || written.is_empty() {
        return done;
    }
    let Ok(question) = serde_json::to_vec(&written) else { return done };
    let bound = Limits { wall_ms: WALL_MS.min(limits.wall_ms), output_bytes: MAX_ANSWER as u64 };
    let looked = Job::mistakes(question, &session.workspace).run(session, handle, bound).await;
    if looked.status != Status::Ok || looked.dropped > 0 || looked.text.is_empty() {
        return done;
    }
    Done { text: format!("{}\n{HEAD}\n{}", done.text.trim_end(), looked.text), ..done }
}

/// The child process: a list of [`Written`] as JSON on standard input, the findings on standard output.
pub fn main(mut args: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    ensure!(args.next().is_none(), "mistakes takes nothing but the files on its standard input");
    let mut text = Vec::new();
    std::io::stdin().lock().take(MAX_QUESTION + 1).read_to_end(&mut text)?;
    ensure!(text.len() as u64 <= MAX_QUESTION, "the files are longer than {MAX_QUESTION} bytes");
    let written: Vec<Written> = serde_json::from_slice(&text)?;
    let mut out = std::io::stdout().lock();
    out.write_all(findings(&written).as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The first mistakes, each with the lines around it.
fn findings(written: &[Written]) -> String {
    let all = written.iter().flat_map(|file| {
        let found =
            Language::of(&file.path).map(|language| locate::mistakes(language, file.before.as_deref(), &file.after));
        found.unwrap_or_default().into_iter().map(move |mistake| (file, mistake))
    });
    let mut out = String::new();
    for (file, mistake) in all.take(MOST) {
        let path: String = file.path.chars().filter(|c| !c.is_control()).collect();
        // Writing to a string can't fail.
        let _ = writeln!(out, "{path}:{}: {}", mistake.line, mistake.what);
        let first = mistake.line.saturating_sub(2);
        for (at, line) in file.after.lines().enumerate().skip(first).take(mistake.line + 1 - first) {
            let mark = if at + 1 == mistake.line { '>' } else { ' ' };
            let shown: String = line.chars().take(LINE).collect();
            let _ = writeln!(out, "{mark}{:>5}\t{shown}", at + 1);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(path: &str, before: Option<&str>, after: &str) -> Option<Written> {
        Written::new(path.to_owned(), before.map(|text| text.as_bytes().to_vec()), after)
    }

    #[test]
    fn a_mistake_stands_between_the_lines_around_it() {
        let one = written("a.py", None, "def f(x):\n    return x)\n\ny = 1\n").expect("Python");
        let two = written("b.py", Some("import os\n"), "import os\nprint(os, nowhere)").expect("Python");
        assert_eq!(
            findings(&[one, two]),
            "a.py:2: syntax error near `)`\n     1\tdef f(x):\n>    2\t    return x)\n     3\t\n\
             b.py:2: undefined name `nowhere`\n     1\timport os\n>    2\tprint(os, nowhere)\n"
        );
    }

    #[test]
    fn what_is_told_is_bounded() {
        let long = "x".repeat(1 << 16);
        let names: String = (0..50).map(|n| format!("print(name_{n}, '{long}')\n")).collect();
        let with_mistakes = findings(&[Written {
            path: "a\nb.py".into(),
            before: None,
            after: names[..400_000].rsplit_once('\n').expect("lines").0.to_owned(),
        }]);
        assert_eq!(with_mistakes.matches("undefined name").count(), MOST);
        assert!(with_mistakes.len() < MAX_ANSWER && with_mistakes.starts_with("ab.py:1: "), "{}", with_mistakes.len());
    }

    #[test]
    fn other_languages_long_texts_and_bytes_are_not_looked_at() {
        assert!(written("a.py", None, "x").is_some());
        assert!(written("a.txt", None, "x").is_none());
        assert!(written("a.py", None, &"x".repeat(LONGEST + 1)).is_none());
        assert!(written("a.py", Some(&"x".repeat(LONGEST + 1)), "x").is_none());
        assert!(Written::new("a.py".into(), Some(vec![0xff]), "x").is_none());
    }
}
