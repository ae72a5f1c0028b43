//! Splits what the model is sent: its texts, the task's mark, and the text inside and outside of fences.

use caisson::llm::{ModelRequest, Turn};

/// Tokens with which templates of known models begin and end a turn or a call.
pub const TEMPLATES: [&str; 14] = [
    "<|im_start|>",
    "<|im_end|>",
    "<|start_header_id|>",
    "<|eot_id|>",
    "<|endoftext|>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<tool_call>",
    "</tool_call>",
];

/// What the model reads of a request, without its own answers.
pub fn read(request: &ModelRequest) -> Vec<String> {
    let read = request.turns.iter().flat_map(|turn| match turn {
        Turn::User { text } => vec![text.clone()],
        Turn::Results(results) => results.iter().map(|result| result.text.clone()).collect(),
        Turn::Pictures(pictures) => pictures.iter().map(|picture| picture.label.clone()).collect(),
        Turn::Assistant { .. } => Vec::new(),
    });
    read.collect()
}

/// The task's mark, as stated in its prompt.
pub fn mark(request: &ModelRequest) -> String {
    let (_, rest) = request.system.split_once("[[data ").expect("the prompt explains the fence");
    rest.chars().take_while(char::is_ascii_hexdigit).collect()
}

/// The lines outside of all fences, and each fence's trust and text.
pub fn fences(text: &str, mark: &str) -> (Vec<String>, Vec<(String, String)>) {
    let (begin, end) = (format!("[[data {mark} source=\""), format!("[[end {mark}]]"));
    let (mut outside, mut inside) = (Vec::new(), Vec::<(String, String)>::new());
    let mut open = false;
    for line in text.lines() {
        if !open && line.starts_with(&begin) {
            let trust = line.rsplit_once(" trust=\"").and_then(|(_, rest)| rest.strip_suffix("\"]]"));
            inside.push((trust.expect("a trust").to_owned(), format!("{line}\n")));
            open = true;
        } else if open && line == end {
            open = false;
        } else if let (true, Some((_, body))) = (open, inside.last_mut()) {
            body.push_str(&format!("{line}\n"));
        } else {
            outside.push(line.to_owned());
        }
    }
    assert!(!open, "a fence is not closed: {text}");
    (outside, inside)
}
