//! Makes the models that the configuration names, and gives the one for a role.
//!
//! Owns: which file describes which kind, the settings that every kind shares, their refusals, and the reading of the key. Must not: read
//! the configuration file (that is `config`). Tests: below.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::picture::Counting;
use super::provider::Provider;
use super::settings::Settings;
use super::{Model, Price, anthropic, gemini, openai, responses, scripted};
use crate::config::process::{Model as Configured, ModelKind, Models as Entries, Role};
use crate::secret::Secret;

/// Below this no prompt of ours fits, whatever the task.
const MIN_CONTEXT: u64 = 2048;
/// From sending a request to the last byte of its answer, or the first of a stream: a thinking model takes minutes.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Between two bytes of a stream: a model that thinks and shows nothing of it is silent for minutes, too.
const IDLE: Duration = Duration::from_secs(300);

/// The description of each kind.
fn provider(kind: ModelKind) -> Provider {
    match kind {
        ModelKind::Anthropic => anthropic::PROVIDER,
        ModelKind::Openai => openai::PROVIDER,
        ModelKind::OpenaiResponses => responses::PROVIDER,
        ModelKind::Gemini => gemini::PROVIDER,
        ModelKind::Scripted => scripted::PROVIDER,
    }
}

/// How this kind counts pictures; `elsewhere`: its entry names an address, in place of the vendor's own.
pub fn counting(kind: ModelKind, elsewhere: bool) -> Counting {
    let kind = provider(kind);
    if elsewhere { kind.counting_elsewhere } else { kind.counting }
}

/// One model of this kind; `script` is the recording to replay (`scripted`'s module text describes the file), which the others have not. The
/// error is a sentence for the operator that says what to change.
pub fn open(kind: ModelKind, script: Option<&Path>, settings: Settings) -> Result<Arc<dyn Model>, String> {
    if settings.context_tokens < MIN_CONTEXT {
        return Err(format!(
            "the model's context_tokens is {}; set what the model takes, at least {MIN_CONTEXT}",
            settings.context_tokens
        ));
    }
    let kind = provider(kind);
    if let Some(vendor) = kind.vendor {
        if settings.name.trim().is_empty() {
            return Err(format!("the model has no name; set model.name to what the {vendor} server calls it"));
        }
        if settings.key.is_none() && settings.base_url.is_none() {
            return Err(format!("{vendor} wants a key; write it to a file and set model.key_file"));
        }
    }
    (kind.open)(settings, script)
}

/// The models of a configuration, opened; those that nobody asks stay closed.
#[derive(Clone)]
pub struct Models {
    /// Each with its role: a role that has no model of its own holds the worker's.
    roles: Vec<(Role, Arc<dyn Model>)>,
    /// Each that may be asked, by its entry's id.
    entries: Vec<(String, Arc<dyn Model>)>,
}

impl Models {
    /// The error is a sentence for the operator that names the entry.
    pub fn open(entries: &Entries) -> Result<Self, String> {
        let (mut roles, mut opened) = (Vec::new(), Vec::new());
        for entry in entries.used() {
            let named = |why| if entries.all().len() > 1 { format!("model `{}`: {why}", entry.id) } else { why };
            let model = configured(entry).map_err(named)?;
            roles.extend(entries.roles(entry).into_iter().map(|role| (role, model.clone())));
            opened.push((entry.id.clone(), model));
        }
        Ok(Self { roles, entries: opened })
    }

    /// The model for a role: its own, or the worker's where it has none.
    pub fn of(&self, role: Role) -> Arc<dyn Model> {
        let found = self.roles.iter().find(|(known, _)| *known == role);
        found.map(|(_, model)| model.clone()).expect("every role has a model: the configuration's worker has the rest")
    }

    /// One that may be asked, by its entry's id.
    pub fn by_id(&self, id: &str) -> Option<Arc<dyn Model>> {
        self.entries.iter().find(|(known, _)| known == id).map(|(_, model)| model.clone())
    }

    /// The same set with something before the model of each role: a test's.
    pub fn behind(self, put: impl Fn(Role, Arc<dyn Model>) -> Arc<dyn Model>) -> Self {
        let roles = self.roles.into_iter().map(|(role, model)| (role, put(role, model))).collect();
        Self { roles, ..self }
    }
}

/// One model of the configuration, with its key read. The error is a sentence for the operator.
pub fn configured(model: &Configured) -> Result<Arc<dyn Model>, String> {
    // The file's 0 for a cache price means "not given": a cache that costs nothing beside tokens that cost something isn't sold.
    let given = |price: f64| (price > 0.0).then_some(price);
    let price = Price::from_dollars(
        model.price_input.unwrap_or_default(),
        model.price_output.unwrap_or_default(),
        given(model.price_cache_read),
        given(model.price_cache_write),
    )?;
    let price = Price { unknown: model.is_unpriced(), ..price };
    let settings = Settings {
        base_url: model.base_url.as_ref().map(ToString::to_string),
        name: model.name.clone(),
        key: model.key_file.as_deref().map(Secret::read).transpose().map_err(|why| why.to_string())?,
        price,
        context_tokens: model.context_tokens,
        timeout: TIMEOUT,
        idle: IDLE,
        stream: model.stream,
        temperature: model.temperature,
    };
    open(model.kind, model.script.as_deref(), settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            base_url: None,
            name: "m".into(),
            key: Some(Secret::new("k")),
            price: Price::default(),
            context_tokens: 8192,
            timeout: Duration::from_secs(1),
            idle: Duration::from_secs(1),
            stream: true,
            temperature: true,
        }
    }

    fn refusal(kind: ModelKind, settings: Settings) -> String {
        open(kind, Some(Path::new("/nowhere.toml")), settings).err().unwrap()
    }

    #[test]
    fn what_is_missing_is_named() {
        assert!(refusal(ModelKind::Openai, Settings { key: None, ..settings() }).contains("model.key_file"));
        assert!(refusal(ModelKind::Gemini, Settings { key: None, ..settings() }).contains("model.key_file"));
        assert!(refusal(ModelKind::Openai, Settings { name: " ".into(), ..settings() }).contains("model.name"));
        assert!(refusal(ModelKind::Anthropic, Settings { context_tokens: 0, ..settings() }).contains("context_tokens"));
        assert!(
            refusal(ModelKind::Anthropic, Settings { key: Some(Secret::new("a\nb")), ..settings() })
                .contains("key file")
        );
        assert!(refusal(ModelKind::Scripted, settings()).contains("/nowhere.toml"));
    }

    #[test]
    fn the_configuration_is_followed_and_its_refusals_name_the_setting() {
        let mut model = Configured {
            id: "main".into(),
            roles: Vec::new(),
            fallback: Vec::new(),
            by_name: false,
            kind: ModelKind::Openai,
            base_url: Some("http://localhost:11434/v1".parse().unwrap()),
            name: "qwen".into(),
            key_file: None,
            script: None,
            context_tokens: 32_768,
            max_output_tokens: 4096,
            stream: true,
            temperature: true,
            force_tools: false,
            vision: Some(false),
            style: crate::config::process::ModelStyle::Auto,
            prompt: crate::config::process::PromptLength::Auto,
            price_input: Some(2.0),
            price_output: Some(8.0),
            price_cache_read: 0.0,
            price_cache_write: 0.0,
            origins: Default::default(),
        };
        let opened = configured(&model).unwrap();
        assert_eq!((opened.price().cache_read, opened.context_tokens()), (2_000_000, 32_768));
        assert!(!opened.price().unknown);
        model.price_output = None;
        assert!(configured(&model).unwrap().price().unknown, "half a price is none");
        model.key_file = Some("/nowhere/key".into());
        assert!(configured(&model).err().unwrap().contains("/nowhere/key"));
        let open = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(open.path(), "k").unwrap();
        std::fs::set_permissions(open.path(), std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
        model.key_file = Some(open.path().to_owned());
        let why = configured(&model).err().unwrap();
        assert!(why.ends_with(&format!("run: chmod 600 {}", open.path().display())), "{why}");
        model.kind = ModelKind::Scripted;
        model.key_file = None;
        assert!(configured(&model).err().unwrap().contains("model.script"));
    }

    #[test]
    fn each_role_has_a_model_of_its_own_or_the_workers() {
        let entry = |id: &str, roles: &str| {
            format!(
                "[[model]]\nid = \"{id}\"\nname = \"{id}\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1\"\nroles = [{roles}]\n"
            )
        };
        let text = [entry("small", "\"worker\""), entry("strict", "\"reviewer\", \"summarizer\""), entry("spare", "")]
            .concat();
        let config = crate::config::Process::from_layers(Path::new("/x/c.toml"), &text, &|_| None).unwrap();
        let models = Models::open(&config.models).unwrap();
        let asked = Role::ALL.map(|role| models.of(role).label());
        let label = |id: &str| format!("{id} (OpenAI-compatible)");
        assert_eq!(asked, [label("small"), label("small"), label("strict"), label("strict")]);
    }

    #[test]
    fn labels_say_which_wire() {
        assert_eq!(open(ModelKind::Openai, None, settings()).unwrap().label(), "m (OpenAI-compatible)");
        assert_eq!(open(ModelKind::Anthropic, None, settings()).unwrap().label(), "m (Anthropic)");
        assert_eq!(open(ModelKind::Gemini, None, settings()).unwrap().label(), "m (Gemini)");
        assert_eq!(open(ModelKind::OpenaiResponses, None, settings()).unwrap().label(), "m (OpenAI Responses)");
    }
}
