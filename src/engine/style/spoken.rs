//! Calls that a model wrote into its text instead of the protocol's field for them.
//!
//! Owns: the three usual forms: a fenced JSON object, `<tool_call>` (templates of Qwen and Hermes), and `<function=…>`. Only used for
//! answers of a server of the operator's own (`engine::turn`) without calls in that field. Tests: below.

use serde_json::Value;

use crate::engine::tools;
use crate::llm::ToolCall;

/// The most calls read from one answer.
const MOST: usize = 8;

/// `truncated`: whether the answer was cut off.
pub(super) fn calls(text: &str, turn: u32, truncated: bool) -> Vec<ToolCall> {
    let mut found: Vec<(String, Value)> = Vec::new();
    for piece in tagged(text, "<tool_call>", "</tool_call>").chain(fenced(text)) {
        let known = call(piece.trim());
        found.extend(known.into_iter().filter(|call| !found.contains(call)).collect::<Vec<_>>());
    }
    if found.is_empty() {
        found.extend(functions(text, truncated));
    }
    if found.is_empty() {
        found.extend(call(text.trim()));
    }
    let calls = found.into_iter().take(MOST).enumerate();
    calls
        .map(|(at, (name, arguments))| ToolCall { id: format!("spoken_{turn}_{at}"), name, arguments, malformed: None })
        .collect()
}

/// `{"name": …, "arguments": {…}}`, several of them in a list, or one after the other.
fn call(json: &str) -> Vec<(String, Value)> {
    let values = serde_json::Deserializer::from_str(json).into_iter::<Value>().map_while(Result::ok);
    let all = values.flat_map(|value| match value {
        Value::Array(list) => list,
        one => vec![one],
    });
    all.filter_map(|mut value| {
        let name = value.get("name")?.as_str()?.to_owned();
        let arguments = ["arguments", "parameters"].iter().find_map(|key| value.get_mut(*key).map(Value::take))?;
        let arguments = match arguments {
            Value::String(text) => serde_json::from_str(&text).ok()?,
            other => other,
        };
        (arguments.is_object() && tools::is_known(&name)).then_some((name, arguments))
    })
    .collect()
}

fn tagged<'a>(text: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(open).skip(1).map(move |rest| rest.split(close).next().unwrap_or(rest))
}

/// Contents of code fences marked as JSON or not at all.
fn fenced(text: &str) -> impl Iterator<Item = &str> {
    text.split("```").skip(1).step_by(2).filter_map(|block| {
        let (info, body) = block.split_once('\n')?;
        matches!(info.trim(), "" | "json" | "tool_call" | "xml").then_some(body)
    })
}

/// `<function=name><parameter=key>value</parameter></function>`. Of a text that was cut off, the last one may lack its other half.
fn functions(text: &str, truncated: bool) -> Vec<(String, Value)> {
    const CLOSE: &str = "</function>";
    let whole = if truncated { text.rfind(CLOSE).map_or("", |last| &text[..last]) } else { text };
    let all = tagged(whole, "<function=", CLOSE).filter_map(|piece| {
        let (name, rest) = piece.split_once('>')?;
        let pairs = tagged(rest, "<parameter=", "</parameter>").filter_map(|pair| {
            let (key, value) = pair.split_once('>')?;
            Some((key.trim().to_owned(), Value::String(value.trim_matches('\n').to_owned())))
        });
        Some((name.trim().to_owned(), Value::Object(pairs.collect())))
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        calls(text, 1, false).into_iter().map(|call| format!("{} {}", call.name, call.arguments)).collect()
    }

    #[test]
    fn three_forms_are_read() {
        let wanted = [r#"read_file {"path":"a.py"}"#];
        let json = r#"{"name": "read_file", "arguments": {"path": "a.py"}}"#;
        assert_eq!(read(&format!("I look.\n```json\n{json}\n```")), wanted);
        assert_eq!(read(&format!("<tool_call>\n{json}\n</tool_call>")), wanted);
        assert_eq!(read(&format!("<tool_call>{json}")), wanted, "never closed");
        assert_eq!(read("<function=read_file>\n<parameter=path>a.py</parameter>\n</function>"), wanted);
        assert_eq!(read(json), wanted);
        assert_eq!(read(&format!("```json\n[{json}, {json}]\n```")).len(), 2);
        assert_eq!(read(r#"{"name": "done", "arguments": "{\"summary\": \"x\"}"}"#), [r#"done {"summary":"x"}"#]);
    }

    #[test]
    fn half_a_call_of_an_answer_that_was_cut_off_is_none() {
        let call =
            |path: &str| format!("<function=write_file>\n<parameter=path>{path}</parameter>\n<parameter=content>x");
        let closed = |path: &str| call(path) + "</parameter>\n</function>\n";
        assert_eq!(calls(&call("a.py"), 1, true), []);
        let both = calls(&(closed("a.py") + &call("b.py")), 1, true);
        assert_eq!(both.iter().map(|call| &call.arguments["path"]).collect::<Vec<_>>(), ["a.py"]);
        assert_eq!(calls(&(closed("a.py") + &call("b.py")), 1, false).len(), 2);
        let json = r#"<tool_call>{"name": "read_file", "arguments": {"path": "a.py"}}</tool_call> and so on"#;
        assert_eq!(calls(json, 1, true).len(), 1);
    }

    #[test]
    fn other_text_is_no_call() {
        for text in ["", "plain words", "```python\nprint(1)\n```", "```json\n{\"name\": \"x\"}\n```", "{\"a\": 1}"] {
            assert_eq!(read(text), [""; 0], "{text}");
        }
    }
}
