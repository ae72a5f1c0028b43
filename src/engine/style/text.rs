//! The style *text*: the conversation in plain words, for models that can write one command and know no tools.
//!
//! Owns: how an answer is read. One sentence, then one block: a shell's is a command, one under a path is a whole file; a line that begins
//! with `DONE:` ends the work. Only the first block of an answer counts: what stands after it was written without knowing what came of
//! it. The conversation itself is `engine::history`'s, in the form of blocks, and only grows. Must not: carry anything out. Tests:
//! `text_tests.rs`.

use serde_json::{Value, json};

use super::answer::{self, EXAMPLE};
use super::blocks::{Piece, pieces};
use crate::llm::{ModelResponse, ToolCall};

const SHELLS: [&str; 5] = ["bash", "sh", "shell", "zsh", "console"];
const SURPLUS: &str =
    "Note: only the first block of your answer was taken. Send one block in each answer, and look at what came of it.";
const EARLY: &str = "Note: DONE was not taken, since it stood beside a block. Say it in an answer of its own, once you have seen that all is well.";

/// What one answer holds.
#[derive(Debug, Default, PartialEq)]
struct Read {
    /// Blocks that could be carried out, in order.
    blocks: Vec<Block>,
    done: Option<String>,
}

#[derive(Debug, PartialEq)]
enum Block {
    Run(String),
    Write { path: String, content: String },
}

/// The answer's one call; none where it holds nothing that could be carried out.
pub(super) fn calls(response: &ModelResponse, turn: u32) -> Vec<ToolCall> {
    let read = read(&response.text, response.truncated);
    let call = match (read.blocks.into_iter().next(), read.done) {
        (Some(Block::Run(command)), _) => ("bash", json!({ "command": command })),
        (Some(Block::Write { path, content }), _) => ("write_file", json!({ "path": path, "content": content })),
        (None, Some(summary)) => ("done", json!({ "summary": summary })),
        (None, None) => return Vec::new(),
    };
    let (name, arguments): (&str, Value) = call;
    vec![ToolCall { id: format!("call_{turn}_0"), name: name.to_owned(), arguments, malformed: None }]
}

/// What is said of the rest of a stored answer, with its result.
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
                before = if line.trim().is_empty() { before } else { line };
            }
            Piece::Block { info, text, closed } => {
                // One that was cut off is half a command; one that was only left open is a whole one.
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

/// What stands before the line that said DONE, where that line says nothing itself.
fn head(text: &str) -> String {
    let words = text.lines().take_while(|line| done(line).is_none()).collect::<Vec<_>>().join("\n");
    if words.trim().is_empty() { "The work is done.".to_owned() } else { words.trim().to_owned() }
}

/// The words behind `DONE:`.
fn done(line: &str) -> Option<&str> {
    let bare = line.trim_start_matches(|c: char| c.is_whitespace() || "*#>`_-".contains(c));
    let rest = bare.strip_prefix("DONE").or_else(|| bare.strip_prefix("Done"))?;
    let rest = rest.trim_start_matches(['*', '`', '_']);
    let ended = rest.strip_prefix(':').or_else(|| rest.trim_matches(['.', '!', ' ']).is_empty().then_some(""))?;
    Some(ended.trim_matches(|c: char| c.is_whitespace() || "*`".contains(c)))
}

fn block(info: &str, before: &str, body: &str) -> Option<Block> {
    let language = info.split_whitespace().next().unwrap_or_default().to_lowercase();
    let shell = SHELLS.contains(&language.as_str());
    let named = info.split_whitespace().chain([before.trim()]).find_map(answer::looks_like_a_path);
    let heading = named.map(|path| path.trim_start_matches("./").trim_start_matches("/workspace/"));
    // A script is a file; any other shell's block under a path speaks about that file.
    let path = heading.filter(|path| !shell || path.ends_with(".sh"));
    // Models copy what they see: the example's file is nobody's.
    match path {
        Some(EXAMPLE) => None,
        Some(path) => Some(Block::Write { path: path.to_owned(), content: body.to_owned() }),
        None if !shell && !language.is_empty() => None,
        None => command(body).filter(|command| !command.contains(EXAMPLE)).map(Block::Run),
    }
}

/// A block's command, without the prompts of a console.
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
