//! What the dashboard shows of texts that are not ours: without credentials, because a model's words are stored as it said them (decision 58),
//! and with hidden characters escaped. Must not decide which texts are sent. Tests: below, `tests/dashboard.rs`.

use crate::redact::in_words;
use crate::text::visible;
use serde_json::Value;

/// A value with each of its texts as it is shown; names of fields too, because a model gives those of its calls.
pub(super) fn shown(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(shown_text(&text)),
        Value::Array(all) => Value::Array(all.into_iter().map(shown).collect()),
        Value::Object(all) => {
            Value::Object(all.into_iter().map(|(name, value)| (shown_text(&name), shown(value))).collect())
        }
        same @ (Value::Null | Value::Bool(_) | Value::Number(_)) => same,
    }
}

/// As [`shown`], of a text that is JSON itself; any other is shown as it is.
pub(super) fn shown_json(text: &str) -> String {
    serde_json::from_str::<Value>(text).map_or_else(|_| shown_text(text), |value| shown(value).to_string())
}

fn shown_text(text: &str) -> String {
    visible(&in_words(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Action, Call, CallRequest, Event, Usage};
    use serde_json::json;

    #[test]
    fn what_a_model_said_is_shown_without_credentials_and_with_hidden_characters() {
        let token = format!("gh{}_{}", "p", "a1B2".repeat(10));
        let action = Action::Bash { command: format!("cat <<E\n{token}\nE\n# \u{202e}") };
        let arguments = json!({ "command": format!("echo\n{token}"), token.clone(): ["x", 1, null, true] });
        let (id, name, call) = ("c".into(), "bash".into(), Call::Action { action: action.clone() });
        let said = Event::TurnCompleted {
            turn: 1,
            text: format!("It is {token}."),
            calls: vec![CallRequest { id, name, arguments, call }],
            usage: Usage::default(),
            micro_usd: 0,
            duration_ms: 1,
            model: "m".into(),
            vendor: None,
        };
        let event = shown(serde_json::to_value(&said).expect("a value"));
        let input = shown_json(&serde_json::to_string(&action).expect("text"));
        let command = serde_json::from_str::<Value>(&input).expect("still JSON")["command"].clone();
        let place = "[left out by caisson: a GitHub token]";
        assert_eq!(command, format!("cat <<E\n{place}\nE\n# \\u{{202e}}"));
        assert_eq!((&event["event"], &event["text"]), (&json!("turn_completed"), &json!(format!("It is {place}."))));
        assert_eq!(event["calls"][0]["arguments"][place], json!(["x", 1, null, true]));
        assert!(!event.to_string().contains(&token) && !event.to_string().contains('\u{202e}'), "{event}");
        assert_eq!(shown_json(&format!("no JSON: {token}")), format!("no JSON: {place}"));
    }
}
