//! Escapes tokens of chat templates in untrusted text.
//!
//! Some servers (llama.cpp) interpret such a token anywhere in a conversation, so a text could end its turn and begin another with any
//! role. Owns the list of forms. Must not know who reads the text. Tests: below.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Tokens of ChatML, Llama 2 to 4, Phi, GLM, Granite, Command, gpt-oss (`<|…|>`); DeepSeek (`<｜…｜>`); Mistral and Llama 2 (`[INST]`,
/// `<<SYS>>`, `<s>`); Gemma (`<start_of_turn>`); Qwen and others (`<tool_call>`, `<think>`).
static TOKENS: LazyLock<Regex> = LazyLock::new(|| {
    let framed = r"<[|｜][^<>|｜\s]{1,60}[|｜]>";
    let bracketed = r"\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|CALL_ID|ARGS|THINK)\]|\[gMASK\]";
    let named = "s|bos|eos|unk|pad|sop|start_of_turn|end_of_turn|start_of_image|end_of_image|tool_calls?|tool_response|tool_result|think|BOS_TOKEN|EOS_TOKEN";
    let all = format!(r"{framed}|{bracketed}|<</?SYS>>|</?(?:{named})>");
    Regex::new(&all).expect("the pattern is compiled in, and a test tries each form")
});

/// The text with the first character of each token as `\u{3c}` or `\u{5b}`; unchanged without tokens.
pub fn untemplated(text: &str) -> Cow<'_, str> {
    let spell = |found: &Captures<'_>| {
        let token = &found[0];
        let first = if token.starts_with('[') { "\\u{5b}" } else { "\\u{3c}" };
        format!("{first}{}", &token[1..])
    };
    TOKENS.replace_all(text, spell)
}

/// Whether [`untemplated`] would change it.
pub fn is_templated(text: &str) -> bool {
    TOKENS.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_token_of_a_template_stays_and_nothing_else_changes() {
        for token in [
            "<|im_start|>",
            "<|im_end|>",
            "<|start_header_id|>",
            "<|eot_id|>",
            "<|START_OF_TURN_TOKEN|>",
            "<｜User｜>",
            "<｜begin▁of▁sentence｜>",
            "[INST]",
            "[/INST]",
            "[TOOL_CALLS]",
            "<<SYS>>",
            "<</SYS>>",
            "<s>",
            "</s>",
            "<start_of_turn>",
            "<tool_call>",
            "</tool_call>",
            "</think>",
            "<bos>",
        ] {
            let shown = untemplated(token);
            assert!(is_templated(token) && !is_templated(&shown), "{token}: {shown}");
            let back = shown.replace("\\u{3c}", "<").replace("\\u{5b}", "[");
            assert_eq!(back, token);
        }
        let nested = "<|<|im_start|>im_end|>[[INST]INST]<<s>s>";
        assert!(!is_templated(&untemplated(nested)), "{}", untemplated(nested));
        let code = "a<b && c>d; x[i]; Vec<Option<u8>>; [ERROR] <summary> <span> <|> || [inst] <section> f(|x| x<|y|)";
        assert_eq!(untemplated(code), code);
    }
}
