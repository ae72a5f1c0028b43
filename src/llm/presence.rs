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
    /// The most that the model itself can hold, where its server does not tell with how much it runs.
    pub most: Option<u64>,
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

/// Where servers describe themselves, beside `…/chat/completions`: the list of models, llama.cpp's `/props`, and Ollama's lists of loaded
/// models and description of one.
pub(super) fn beside(completions: &Url) -> [Url; 4] {
    let with = |path: &str| {
        let mut url = completions.clone();
        url.set_path(path);
        url
    };
    let above = completions.path().trim_end_matches("/chat/completions").to_owned();
    let root = above.trim_end_matches("/v1");
    let own = ["props", "api/ps", "api/show"].map(|name| with(&format!("{root}/{name}")));
    let [props, loaded, show] = own;
    [with(&format!("{above}/models")), props, loaded, show]
}

/// With how much Ollama has loaded the model of this name, by its `/api/ps`.
pub(super) fn loaded(list: &Value, name: &str) -> Option<u64> {
    let whole = |name: &str| name.strip_suffix(":latest").unwrap_or(name).to_owned();
    let is_it = |it: &&Value| it.get("name").and_then(Value::as_str).is_some_and(|other| whole(other) == whole(name));
    list.get("models")?.as_array()?.iter().find(is_it)?.get("context_length")?.as_u64()
}

/// The most that a model can hold, by Ollama's `/api/show`: the name of the number begins with the model's architecture.
pub(super) fn trained(shown: &Value) -> Option<u64> {
    let facts = shown.get("model_info")?.as_object()?;
    facts.iter().find(|(name, _)| name.ends_with(".context_length")).and_then(|(_, number)| number.as_u64())
}

/// A server that was given a file names it with its whole path, which is nobody's business.
fn short(name: &str) -> String {
    let file = name.starts_with('/').then(|| name.rsplit('/').next()).flatten();
    file.unwrap_or(name).to_owned()
}

/// Whether a name that leaves the version open (Anthropic's `claude-3-7-sonnet-latest`, `claude-sonnet-4-0`) is answered by a dated one of it.
/// A single digit is no day: `claude-sonnet-4-5-…` is another model than `claude-sonnet-4-0`.
fn is_newest_of(alias: &str, answered: &str) -> bool {
    let number = |part: &str| part.len() > 1 && part.bytes().all(|byte| byte.is_ascii_digit());
    let dated = |rest: &str| rest.strip_prefix('-').is_some_and(|rest| rest.split('-').all(number));
    let stems = ["-latest", "-0"].into_iter().filter_map(|end| alias.strip_suffix(end));
    stems.filter_map(|stem| answered.strip_prefix(stem)).any(dated)
}

impl Presence {
    /// From an answer to a question for the model `asked`, OpenAI's list of models (with vLLM's `max_model_len` or OpenRouter's
    /// `context_length`) and llama.cpp's `/props`.
    pub(super) fn read(answer: &Value, asked: &str, models: Option<&Value>, props: Option<&Value>) -> Presence {
        let answered = answer.get("model").and_then(Value::as_str).filter(|name| !name.is_empty()).map(short);
        let list = models.and_then(|it| it.get("data")).and_then(Value::as_array).cloned().unwrap_or_default();
        let id = |it: &Value| it.get("id").and_then(Value::as_str).map(short);
        let of_name = |name: &str| list.iter().find(|it| id(it).as_deref() == Some(name));
        let only = list.first().filter(|_| list.len() == 1);
        // OpenRouter answers with a dated name that its list does not have.
        let own = answered.as_deref().and_then(of_name).or_else(|| of_name(asked)).or(only);
        let started = props.and_then(|it| it.pointer("/default_generation_settings/n_ctx")).and_then(Value::as_u64);
        let listed = || ["max_model_len", "context_length"].into_iter().find_map(|key| own?.get(key)?.as_u64());
        let window = started.or_else(listed).filter(|tokens| *tokens > 0);
        Presence { answered, listed: list.iter().filter_map(id).collect(), window, ..Presence::default() }
    }

    /// Why what it says is not about the model that was asked for, or would be lost: with what to do. `window` is the one that is
    /// configured, in tokens.
    pub fn fault(&self, asked: &str, window: u64) -> Option<String> {
        if let Some(other) = self.other_than(asked) {
            return Some(format!("another model answers: {asked} was asked for, {other} answered"));
        }
        let less = |tokens: Option<u64>| tokens.filter(|tokens| *tokens < window);
        if let Some(most) = less(self.most) {
            return Some(format!(
                "the model holds at most {most} tokens, and context_tokens says {window}: set it to {most} or less"
            ));
        }
        let told = less(self.window)?;
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
        (!a.starts_with(&b) && !b.starts_with(&a) && !is_newest_of(&b, &a) && !only).then_some(answered)
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
            "local",
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
            "coder-7b",
            Some(&json!({ "data": [{ "id": "x" }, { "id": "org/coder-7b", "max_model_len": 8192 }] })),
            None,
        );
        assert_eq!((vllm.window, vllm.other_than("coder-7b")), (Some(8192), None));
        assert_eq!(vllm.other_than("x"), Some("org/coder-7b"));
        assert_eq!(Presence::read(&json!({}), "x", None, None), Presence::default());
    }

    #[test]
    fn a_gateways_list_and_ollamas_own_addresses_tell_the_window() {
        let models =
            json!({ "data": [{ "id": "a/x", "context_length": 1 }, { "id": "a/coder", "context_length": 131_072 }] });
        let gateway = Presence::read(&json!({ "model": "a/coder-20260101" }), "a/coder", Some(&models), None);
        assert_eq!((gateway.window, gateway.other_than("a/coder")), (Some(131_072), None));
        let unknown = json!({ "data": [{ "id": "x", "context_length": 0 }] });
        assert_eq!(Presence::read(&json!({ "model": "x" }), "x", Some(&unknown), None).window, None);
        let list = json!({ "models": [{ "name": "x:7b", "context_length": 1 }, { "name": "coder:latest", "context_length": 4096 }] });
        assert_eq!(["coder", "coder:latest", "x"].map(|name| loaded(&list, name)), [Some(4096), Some(4096), None]);
        assert_eq!(
            loaded(&json!({ "models": [{ "name": "coder" }] }), "coder"),
            None,
            "an older Ollama does not tell it"
        );
        let shown = json!({ "model_info": { "general.architecture": "qwen2", "qwen2.context_length": 32_768 } });
        assert_eq!((trained(&shown), trained(&json!({ "error": "not found" }))), (Some(32_768), None));
    }

    #[test]
    fn a_dated_name_is_the_same_model_and_another_is_not() {
        let answered = |name: &str| Presence { answered: Some(name.to_owned()), ..Presence::default() };
        assert_eq!(answered("gpt-4o-2024-08-06").other_than("gpt-4o"), None);
        for (asked, name) in [
            ("claude-3-7-sonnet-latest", "claude-3-7-sonnet-20250219"),
            ("anthropic/claude-sonnet-4-0", "claude-sonnet-4-20250514"),
        ] {
            assert_eq!(answered(name).other_than(asked), None, "{asked} stands for it");
        }
        assert_eq!(answered("small").other_than("large-latest"), Some("small"));
        assert_eq!(answered("large-mini").other_than("large-latest"), Some("large-mini"));
        let (name, asked) = ("claude-sonnet-4-5-20250929", "claude-sonnet-4-0");
        assert_eq!(answered(name).other_than(asked), Some(name), "a later model");
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
        let most = Presence { most: Some(8192), ..Presence::default() };
        assert_eq!(most.fault("coder", 8192), None);
        assert!(most.fault("coder", 16_384).expect("named").contains("at most 8192 tokens"));
    }

    #[test]
    fn the_addresses_stand_beside_the_call() {
        let urls = |text: &str| beside(&Url::parse(text).expect("an address")).map(|url| url.to_string());
        let plain = ["http://h:1/v1/models", "http://h:1/props", "http://h:1/api/ps", "http://h:1/api/show"];
        assert_eq!(urls("http://h:1/v1/chat/completions"), plain);
        assert_eq!(
            urls("http://h:1/api/v1/chat/completions")[..2],
            ["http://h:1/api/v1/models", "http://h:1/api/props"]
        );
    }
}
