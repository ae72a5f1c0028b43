//! The style *text*: the conversation in plain text, for models that can write a command but do not support tools.
//!
//! Owns: how an answer is read. One sentence, then one block: that of a shell is a command, one under a path is a whole file; a line that
//! begins with `DONE:` ends the work; lines such as `ADDRESSED r1:` say what became of a remark, and a line such as
//! `RECALL 6` shows an earlier action again. Only the first block of an answer counts, because later ones were written without knowing its
//! result.
//! `engine::history` builds the conversation. Must not: carry anything out. Tests: `text_tests.rs`.

use serde_json::{Value, json};

use super::blocks::{Piece, pieces};
use super::paths::{self, EXAMPLE};
use crate::llm::{ModelResponse, ToolCall};

const SHELLS: [&str; 5] = ["bash", "sh", "shell", "zsh", "console"];
const SURPLUS: &str =
    "Note: only the first block of your answer was taken. Send one block in each answer, and look at what came of it.";
const EARLY: &str = "Note: DONE was not taken, since it stood beside a block. Say it in an answer of its own, once you have seen that all is well.";

/// The contents of one answer.
#[derive(Debug, Default, PartialEq)]
struct Read {
    /// Usable blocks, in order.
    blocks: Vec<Block>,
    done: Option<String>,
    /// What is said of remarks: number, whether it is dealt with, words.
    remarks: Vec<(u32, bool, String)>,
    /// Arguments of `recall`, for each line that asks for earlier actions.
    recalls: Vec<Value>,
}

#[derive(Debug, PartialEq)]
enum Block {
    Run(String),
    Write { path: String, content: String },
}

/// What the answer says of remarks, what it recalls, then its one other call; none if it has nothing usable.
pub(super) fn calls(response: &ModelResponse, turn: u32) -> Vec<ToolCall> {
    let read = read(&response.text, response.truncated);
    let said = |(remark, addressed, text): &(u32, bool, String)| {
        ("answer_remark", json!({ "remark": remark, "addressed": addressed, "text": text }))
    };
    let mut calls: Vec<(&str, Value)> = read.remarks.iter().map(said).collect();
    calls.extend(read.recalls.into_iter().map(|what| ("recall", what)));
    calls.extend(match (read.blocks.into_iter().next(), read.done) {
        (Some(Block::Run(command)), _) => Some(("bash", json!({ "command": command }))),
        (Some(Block::Write { path, content }), _) => Some(("write_file", json!({ "path": path, "content": content }))),
        (None, Some(summary)) => Some(("done", json!({ "summary": summary }))),
        (None, None) => None,
    });
    let call = |(at, (name, arguments)): (usize, (&str, Value))| {
        let name = name.to_owned();
        ToolCall { id: format!("call_{turn}_{at}"), name, arguments, malformed: None }
    };
    calls.into_iter().enumerate().map(call).collect()
}

/// A note about the ignored rest of a stored answer, to be sent with its result.
pub(crate) fn surplus(text: &str) -> Option<&'static str> {
    let read = read(text, false);
    match (read.blocks.len(), read.done) {
        (2.., _) => Some(SURPLUS),
        (1, Some(_)) => Some(EARLY),
        (0 | 1, _) => None,
    }
}

fn read(text: &str, truncated: bool) -> Read {
    let mut out = Read::default();
    let mut before = "";
    let pieces = pieces(text);
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Line(line) => {
                if let (Some(first), None) = (done(line), &out.done) {
                    let summary = format!("{first}\n{}", lines(&pieces[at + 1..])).trim().to_owned();
                    out.done = Some(if summary.is_empty() { head(text) } else { summary });
                }
                out.remarks.extend(remark(line));
                out.recalls.extend(recall(line));
                before = if line.trim().is_empty() { before } else { line };
            }
            Piece::Block { info, text, closed } => {
                // A block that the length limit cut off is incomplete; one that was merely not closed is complete.
                if *closed || !truncated {
                    out.blocks.extend(block(info, before, text));
                }
                before = "";
            }
        }
    }
    out
}

/// The lines up to the next block.
fn lines(pieces: &[Piece<'_>]) -> String {
    let until = pieces.iter().map_while(|piece| match piece {
        Piece::Line(line) => Some(*line),
        Piece::Block { .. } => None,
    });
    until.collect::<Vec<_>>().join("\n")
}

/// The text before the line with `DONE:`, if that line itself is empty.
fn head(text: &str) -> String {
    let words = text.lines().take_while(|line| done(line).is_none()).collect::<Vec<_>>().join("\n");
    if words.trim().is_empty() { "The work is done.".to_owned() } else { words.trim().to_owned() }
}

/// The text after `DONE:`.
fn done(line: &str) -> Option<&str> {
    let bare = line.trim_start_matches(|c: char| c.is_whitespace() || "*#>`_-".contains(c));
    let rest = bare.strip_prefix("DONE").or_else(|| bare.strip_prefix("Done"))?;
    let rest = rest.trim_start_matches(['*', '`', '_']);
    let ended = rest.strip_prefix(':').or_else(|| rest.trim_matches(['.', '!', ' ']).is_empty().then_some(""))?;
    Some(ended.trim_matches(|c: char| c.is_whitespace() || "*`".contains(c)))
}

/// What a line says of a remark: `ADDRESSED r1: …` or `ANSWER r1: …`.
fn remark(line: &str) -> Option<(u32, bool, String)> {
    let bare = line.trim_start_matches(|c: char| c.is_whitespace() || "*#>`_-".contains(c));
    let addressed = bare.starts_with("ADDRESSED ");
    let rest = bare.strip_prefix("ADDRESSED ").or_else(|| bare.strip_prefix("ANSWER "))?;
    let (number, words) = rest.split_once(':')?;
    let number = number.trim_matches([' ', '*', '`', '_']).strip_prefix(['r', 'R'])?.parse().ok()?;
    let words = words.trim_matches(|c: char| c.is_whitespace() || "*`".contains(c));
    (!words.is_empty()).then(|| (number, addressed, words.to_owned()))
}

/// What a line recalls: `RECALL 6`, or `RECALL` and words.
fn recall(line: &str) -> Option<Value> {
    let bare = line.trim_start_matches(|c: char| c.is_whitespace() || "*#>`_-".contains(c));
    let rest = bare.strip_prefix("RECALL")?.strip_prefix([' ', ':'])?;
    let what = rest.trim_matches(|c: char| c.is_whitespace() || "*`\"".contains(c));
    let number = what.strip_prefix("action ").unwrap_or(what).trim_end_matches('.').parse::<u32>();
    match number.ok().filter(|number| *number > 0) {
        Some(number) => Some(json!({ "number": number })),
        None => (!what.is_empty()).then(|| json!({ "words": what })),
    }
}

fn block(info: &str, before: &str, body: &str) -> Option<Block> {
    let language = info.split_whitespace().next().unwrap_or_default().to_lowercase();
    let shell = SHELLS.contains(&language.as_str());
    let named = info.split_whitespace().chain([before.trim()]).find_map(paths::looks_like_a_path);
    let heading = named.map(|path| path.trim_start_matches("./").trim_start_matches("/workspace/"));
    // A script is a file; a block of any other shell under a path is about that file.
    let path = heading.filter(|path| !shell || path.ends_with(".sh"));
    // The example's path is not a file of the project; models copy it.
    match path {
        Some(EXAMPLE) => None,
        Some(path) => Some(Block::Write { path: path.to_owned(), content: body.to_owned() }),
        None if !shell && !language.is_empty() => None,
        None => command(body).filter(|command| !command.contains(EXAMPLE)).map(Block::Run),
    }
}

/// A block's command, without console prompts.
fn command(body: &str) -> Option<String> {
    let prompted = body.lines().any(|line| line.starts_with("$ "));
    let lines: Vec<&str> = match prompted {
        true => body.lines().filter_map(|line| line.strip_prefix("$ ")).collect(),
        false => body.lines().collect(),
    };
    let command = lines.join("\n").trim().to_owned();
    (!command.is_empty()).then_some(command)
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
