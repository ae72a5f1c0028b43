//! Who answers on the other side: the name a server answers with, the models it lists, the window it was started with.
//!
//! A name in the configuration proves nothing: a server with one model answers for any name, and one behind a gateway may change. Owns
//! how that is read and compared. Must not decide what follows (`caisson eval`, `caisson model` and the doctor do). Tests: below.

use reqwest::Url;
use serde_json::Value;

use super::{ModelRequest, Turn};

/// What a server told about itself; whatever it did not tell is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Presence {
    /// The model's name in an answer.
    pub answered: Option<String>,
    /// Names of the models it has.
    pub listed: Vec<String>,
    /// Tokens that prompt and answer may hold together.
    pub window: Option<u64>,
    /// Its chat template takes no system text: that is put before the first words of the user.
    pub refuses_system: bool,
}

/// The one question: as short as a question can be.
pub(super) fn question() -> ModelRequest {
    let turns = vec![Turn::User { text: "Say ok.".to_owned() }];
    ModelRequest {
        system: "Answer with one word.".to_owned(),
        turns,
        tools: Vec::new(),
        max_output_tokens: 16,
        temperature: None,
        seed: None,
        cache_key: None,
        must_call: false,
    }
}

/// The list of models beside `…/chat/completions`, and llama.cpp's `/props`.
pub(super) fn beside(completions: &Url) -> [Url; 2] {
    let with = |path: &str| {
        let mut url = completions.clone();
        url.set_path(path);
        url
    };
    let above = completions.path().trim_end_matches("/chat/completions").to_owned();
    [with(&format!("{above}/models")), with(&format!("{}/props", above.trim_end_matches("/v1")))]
}

/// A server that was given a file names it with its whole path, which is nobody's business.
fn short(name: &str) -> String {
    let file = name.starts_with('/').then(|| name.rsplit('/').next()).flatten();
    file.unwrap_or(name).to_owned()
}

impl Presence {
    /// From an answer, OpenAI's list of models (with vLLM's `max_model_len`) and llama.cpp's `/props`.
    pub(super) fn read(answer: &Value, models: Option<&Value>, props: Option<&Value>) -> Presence {
        let answered = answer.get("model").and_then(Value::as_str).filter(|name| !name.is_empty()).map(short);
        let list = models.and_then(|it| it.get("data")).and_then(Value::as_array).cloned().unwrap_or_default();
        let id = |it: &Value| it.get("id").and_then(Value::as_str).map(short);
        let own = list.iter().find(|it| id(it) == answered).or_else(|| list.first().filter(|_| list.len() == 1));
        let started = props.and_then(|it| it.pointer("/default_generation_settings/n_ctx")).and_then(Value::as_u64);
        let window = started.or_else(|| own.and_then(|it| it.get("max_model_len")).and_then(Value::as_u64));
        Presence { answered, listed: list.iter().filter_map(id).collect(), window, refuses_system: false }
    }

    /// Why what it says is not about the model that was asked for, or would be lost: with what to do. `window` is the one that is
    /// configured, in tokens.
    pub fn fault(&self, asked: &str, window: u64) -> Option<String> {
        if let Some(other) = self.other_than(asked) {
            return Some(format!("another model answers: {asked} was asked for, {other} answered"));
        }
        let told = self.window.filter(|told| *told < window)?;
        Some(format!(
            "its window is {told} tokens, and context_tokens says {window}: set it to {told} or start the server with more"
        ))
    }

    /// The name of another model that answers than the one that was asked for. A dated or longer form of the same name is no other
    /// model, and neither is the only model of a server that answers for every name.
    pub fn other_than(&self, asked: &str) -> Option<&str> {
        let answered = self.answered.as_deref()?;
        let plain = |name: &str| name.rsplit('/').next().unwrap_or(name).to_lowercase();
        let (a, b) = (plain(answered), plain(asked));
        let only = self.listed.len() == 1 && self.listed[0] == answered;
        (!a.starts_with(&b) && !b.starts_with(&a) && !only).then_some(answered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_servers_tell_is_read() {
        let llama = Presence::read(
            &json!({ "model": "/models/qwen.gguf" }),
            Some(&json!({ "data": [{ "id": "/models/qwen.gguf", "meta": { "n_ctx_train": 32768 } }] })),
            Some(&json!({ "default_generation_settings": { "n_ctx": 16384 } })),
        );
        assert_eq!(
            (llama.window, llama.other_than("local")),
            (Some(16384), None),
            "it has one model, by whatever name"
        );
        assert_eq!(llama.answered.as_deref(), Some("qwen.gguf"));
        let vllm = Presence::read(
            &json!({ "model": "org/coder-7b" }),
            Some(&json!({ "data": [{ "id": "x" }, { "id": "org/coder-7b", "max_model_len": 8192 }] })),
            None,
        );
        assert_eq!((vllm.window, vllm.other_than("coder-7b")), (Some(8192), None));
        assert_eq!(vllm.other_than("x"), Some("org/coder-7b"));
        assert_eq!(Presence::read(&json!({}), None, None), Presence::default());
    }

    #[test]
    fn a_dated_name_is_the_same_model_and_another_is_not() {
        let answered = |name: &str| Presence { answered: Some(name.to_owned()), ..Presence::default() };
        assert_eq!(answered("gpt-4o-2024-08-06").other_than("gpt-4o"), None);
        assert_eq!(answered("small").other_than("large"), Some("small"));
        assert_eq!(Presence::default().other_than("large"), None, "a server that names none proves nothing");
    }

    #[test]
    fn another_model_and_a_smaller_window_are_named() {
        let presence =
            |answered: &str, window| Presence { answered: Some(answered.into()), window, ..Presence::default() };
        assert_eq!(presence("coder", None).fault("coder", 32_768), None);
        assert_eq!(presence("coder", Some(32_768)).fault("coder", 32_768), None);
        assert!(presence("tiny", None).fault("coder", 1).expect("named").contains("tiny answered"));
        assert!(presence("coder", Some(4096)).fault("coder", 16_384).expect("named").contains("4096"));
    }

    #[test]
    fn the_addresses_stand_beside_the_call() {
        let urls = |text: &str| beside(&Url::parse(text).expect("an address")).map(|url| url.to_string());
        assert_eq!(urls("http://h:1/v1/chat/completions"), ["http://h:1/v1/models", "http://h:1/props"]);
        assert_eq!(urls("http://h:1/api/v1/chat/completions"), ["http://h:1/api/v1/models", "http://h:1/api/props"]);
    }
}
