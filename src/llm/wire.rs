//! What both vendors' wires need: turns that alternate, names and ids that every server takes, arguments of any quality.
//!
//! Owns: these repairs, and nothing that only one vendor asks for. Tests: below.

use serde_json::{Value, json};

use super::{ShownPicture, ToolCall, ToolResult, Turn, VendorParts};

/// One turn, as every wire sends it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum WireTurn<'a> {
    /// Of the user; never empty.
    User(Vec<Part<'a>>),
    Assistant {
        text: &'a str,
        calls: &'a [ToolCall],
        vendor: Option<&'a VendorParts>,
    },
    Results(&'a [ToolResult]),
}

/// What the user's turn holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part<'a> {
    Text(String),
    /// A picture and its bytes in base64.
    Picture(&'a ShownPicture, &'a str),
}

/// Neighbouring words and pictures of the user become one turn: Anthropic and most chat templates want strict alternation.
pub(super) fn merged(turns: &[Turn]) -> Vec<WireTurn<'_>> {
    let mut list: Vec<WireTurn<'_>> = Vec::with_capacity(turns.len());
    for turn in turns {
        match turn {
            Turn::User { text } => add(users(&mut list), text),
            Turn::Pictures(pictures) => pictures.iter().for_each(|picture| {
                let parts = users(&mut list);
                match &picture.data {
                    Some(data) => {
                        add(parts, &picture.label);
                        parts.push(Part::Picture(picture, data));
                    }
                    None => add(parts, &format!("{}\n(The picture itself is not kept any more.)", picture.label)),
                }
            }),
            Turn::Assistant { text, calls, vendor } => {
                list.push(WireTurn::Assistant { text, calls, vendor: vendor.as_ref() });
            }
            Turn::Results(results) => list.push(WireTurn::Results(results)),
        }
    }
    list
}

/// The user's turn at the end, begun where another one stands there.
fn users<'l, 'a>(list: &'l mut Vec<WireTurn<'a>>) -> &'l mut Vec<Part<'a>> {
    if !matches!(list.last(), Some(WireTurn::User(_))) {
        list.push(WireTurn::User(Vec::new()));
    }
    match list.last_mut() {
        Some(WireTurn::User(parts)) => parts,
        _ => unreachable!("it was just put there"),
    }
}

fn add(parts: &mut Vec<Part<'_>>, more: &str) {
    match parts.last_mut() {
        Some(Part::Text(text)) => {
            text.push_str("\n\n");
            text.push_str(more);
        }
        _ => parts.push(Part::Text(more.to_owned())),
    }
}

/// The words of a turn of words alone; none where it has a picture.
pub(super) fn words<'p>(parts: &'p [Part<'_>]) -> Option<&'p str> {
    match parts {
        [Part::Text(text)] => Some(text),
        _ => None,
    }
}

/// Words of an answer that had neither words nor calls: both wires refuse an empty one when it is sent back.
pub(super) fn spoken(text: &str) -> &str {
    if text.trim().is_empty() { "(no answer)" } else { text }
}

/// Says in an answer without a call that its server ended it: otherwise it would read as one that the model ended by itself.
pub(super) fn ended_by_server(text: &mut String, reason: &str) {
    let gap = if text.is_empty() { "" } else { "\n" };
    text.push_str(&format!("{gap}[the server ended this answer: {reason}]"));
}

/// A name or id as both vendors accept it (`^[a-zA-Z0-9_-]{1,64}$`): a model's invention must not make every later request fail.
pub(super) fn token(text: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let token: String = text.chars().take(64).map(keep).collect();
    if token.is_empty() { "unknown".to_owned() } else { token }
}

/// Arguments as an object, and the raw text when they weren't one. Absent, `null` and empty text mean "none".
pub(super) fn arguments(raw: Option<&Value>) -> (Value, Option<String>) {
    match raw {
        None | Some(Value::Null) => (json!({}), None),
        Some(Value::Object(map)) => (Value::Object(map.clone()), None),
        Some(Value::String(text)) if text.trim().is_empty() => (json!({}), None),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            // Some servers encode twice.
            Ok(Value::String(inner)) => object(&inner).map_or((json!({}), Some(text.clone())), |map| (map, None)),
            Ok(Value::Null) => (json!({}), None),
            _ => object(text).map_or((json!({}), Some(text.clone())), |map| (map, None)),
        },
        Some(other) => (json!({}), Some(other.to_string())),
    }
}

/// The object that a text begins with, if nothing but words follows: models add "Done." behind their arguments. More JSON behind it may belong
/// to it, so that is not guessed at.
fn object(text: &str) -> Option<Value> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let first = values.next()?.ok().filter(Value::is_object)?;
    let rest = &text[values.byte_offset()..];
    (!rest.contains(['{', '}', '[', ']', '"'])).then_some(first)
}

/// Whether arguments are an object as they were sent: what had to be mended is no vendor's own any more.
pub(super) fn is_unmended(arguments: Option<&Value>) -> bool {
    match arguments {
        Some(Value::String(text)) => serde_json::from_str::<serde_json::Map<String, Value>>(text).is_ok(),
        arguments => arguments.is_some_and(Value::is_object),
    }
}

/// The ids of calls as their server gave them.
pub(super) fn ids(calls: &[ToolCall]) -> Vec<String> {
    calls.iter().map(|call| call.id.clone()).collect()
}

/// Gives each call an id of its own: missing and doubled ones are replaced by `call_<turn>_<place>`, the same on each replay.
pub(super) fn unique_ids(calls: &mut [ToolCall], turn: usize) {
    let mut seen = std::collections::HashSet::new();
    for (place, call) in calls.iter_mut().enumerate() {
        call.id = token_or_empty(&call.id);
        if call.id.is_empty() || seen.contains(&call.id) {
            call.id = format!("call_{turn}_{place}");
        }
        while seen.contains(&call.id) {
            call.id.push('_');
        }
        seen.insert(call.id.clone());
    }
}

fn token_or_empty(id: &str) -> String {
    if id.trim().is_empty() { String::new() } else { token(id) }
}

/// Whether a refusal, in lower case, is about the answer being asked for as a stream. "Upstream" is a proxy's word for its own server.
pub(super) fn speaks_of_streams(text: &str) -> bool {
    text.replace("upstream", "").contains("stream")
}

/// A count of tokens, whatever kind of number it is written as; 0 where there is none.
pub(super) fn count(value: Option<&Value>) -> u64 {
    let value = match value {
        Some(value) => value,
        None => return 0,
    };
    let float = || value.as_f64().filter(|f| f.is_finite() && *f >= 0.0).map(|f| f as u64);
    value.as_u64().or_else(float).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_any_quality() {
        let good = json!({"path": "a"});
        assert_eq!(arguments(Some(&json!("{\"path\":\"a\"}"))), (good.clone(), None));
        assert_eq!(arguments(Some(&json!("\"{\\\"path\\\":\\\"a\\\"}\""))), (good.clone(), None));
        assert_eq!(arguments(Some(&good)), (good, None));
        for none in [None, Some(&Value::Null), Some(&json!("  "))] {
            assert_eq!(arguments(none), (json!({}), None));
        }
        assert_eq!(arguments(Some(&json!("{\"path\": \"a"))), (json!({}), Some("{\"path\": \"a".into())));
        assert_eq!(arguments(Some(&json!([1]))), (json!({}), Some("[1]".into())));
    }

    #[test]
    fn words_behind_arguments_are_left_out_and_anything_else_is_not_guessed_at() {
        let read = |text: &str| arguments(Some(&json!(text)));
        let good = (json!({"command": "echo \"{}\""}), None);
        for behind in ["", " Done.", "\n```\nI ran it, and it's well.", "</tool_call>"] {
            let text = format!("{{\"command\":\"echo \\\"{{}}\\\"\"}}{behind}");
            assert_eq!(read(&text), good, "{text}");
            assert_eq!(read(&json!(text).to_string()), good, "encoded twice: {text}");
        }
        for text in [
            "{\"path\":\"a\"} {\"path\":\"b\"}",
            "{\"path\":\"a\"}, \"content\": \"x\"}",
            "{\"path\":\"a\"}}",
            "{\"path\":\"a\"} [1]",
            "Done. {\"path\":\"a\"}",
            "{\"path\":\"a\" Done.",
            "[1] Done.",
        ] {
            assert_eq!(read(text), (json!({}), Some(text.into())));
        }
    }

    #[test]
    fn what_was_mended_is_told_from_what_was_sent_so() {
        assert!(is_unmended(Some(&json!({}))) && is_unmended(Some(&json!("{\"a\": 1}"))));
        for mended in [None, Some(json!("")), Some(json!("{} Done.")), Some(json!("\"{}\"")), Some(Value::Null)] {
            assert!(!is_unmended(mended.as_ref()), "{mended:?}");
        }
    }

    #[test]
    fn ids_are_made_unique_and_stay_the_same_on_replay() {
        let call = |id: &str| ToolCall { id: id.into(), name: "bash".into(), arguments: json!({}), malformed: None };
        let mut calls = vec![call(""), call("x"), call("x"), call("call_3_0"), call("a b")];
        unique_ids(&mut calls, 3);
        let ids: Vec<_> = calls.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(ids, ["call_3_0", "x", "call_3_2", "call_3_3", "a_b"]);
    }

    #[test]
    fn inventions_become_names_that_servers_take() {
        assert_eq!(token("functions.bash:0"), "functions_bash_0");
        assert_eq!(token(""), "unknown");
        assert_eq!(token(&"ü".repeat(100)).len(), 64);
    }

    #[test]
    fn neighbouring_words_of_the_user_are_joined() {
        let user = |text: &str| Turn::User { text: text.into() };
        let (turns, shown) = ([user("a"), user("b")], Part::Text("a\n\nb".into()));
        assert_eq!(merged(&turns), [WireTurn::User(vec![shown.clone()])]);
        assert_eq!(words(&[shown]), Some("a\n\nb"));
    }

    #[test]
    fn a_picture_stands_behind_its_label_in_the_turn_of_the_words_around_it() {
        let picture = |data: Option<&str>| ShownPicture {
            label: "a picture".into(),
            digest: "d".into(),
            media: "image/png".into(),
            tokens: 1,
            data: data.map(Into::into),
        };
        let user = |text: &str| Turn::User { text: text.into() };
        let turns = [user("a"), Turn::Pictures(vec![picture(Some("AAAA")), picture(None)]), user("b")];
        let gone = "a picture\n(The picture itself is not kept any more.)\n\nb";
        let said = merged(&turns);
        let [WireTurn::User(parts)] = said.as_slice() else { panic!("{said:?}") };
        let [Part::Text(before), Part::Picture(_, "AAAA"), Part::Text(after)] = parts.as_slice() else {
            panic!("{parts:?}")
        };
        assert_eq!((before.as_str(), after.as_str()), ("a\n\na picture", gone));
    }
}
