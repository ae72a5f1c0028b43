//! One model or several: defaults of each entry, roles, and refused configurations.

use crate::config::process::{ModelStyle, Process, Role};
use std::path::Path;

fn load(text: &str) -> Process {
    Process::from_layers(Path::new("/x/caisson.toml"), text, &|_| None).unwrap()
}

fn refused(text: &str) -> String {
    Process::from_layers(Path::new("/x/caisson.toml"), text, &|_| None).unwrap_err().to_string()
}

const TWO: &str = "[[model]]\nid = \"small\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1\"\nname = \"qwen\"\n\
    context_tokens = 16384\nstyle = \"files\"\nroles = [\"worker\"]\n\n\
    [[model]]\nid = \"big\"\nname = \"claude\"\nkey_file = \"big.key\"\nroles = [\"planner\", \"reviewer\"]\n";

#[test]
fn a_single_table_is_one_model_with_every_role() {
    let models = load("[model]\nname = \"m\"\n").models;
    assert_eq!((models.all().len(), models.worker().id.as_str()), (1, "main"));
    for role in [Role::Worker, Role::Planner, Role::Summarizer, Role::Reviewer] {
        assert_eq!(models.of(role).name, "m");
    }
    assert_eq!(models.roles(models.worker()).len(), 4);
    let one = load("[[model]]\nname = \"m\"\n").models;
    assert_eq!(one.roles(one.worker()).len(), 4, "a list of one as well");
}

#[test]
fn each_entry_of_a_list_begins_from_the_defaults_and_a_role_that_none_names_is_the_workers() {
    let models = load(TWO).models;
    assert_eq!((models.worker().id.as_str(), models.of(Role::Planner).id.as_str()), ("small", "big"));
    assert_eq!((models.of(Role::Reviewer).id.as_str(), models.of(Role::Summarizer).id.as_str()), ("big", "small"));
    let big = models.by_id("big").unwrap();
    assert_eq!((big.context_tokens, big.style), (200_000, ModelStyle::Auto));
    assert_eq!(big.key_file.as_deref(), Some(Path::new("/x/big.key")));
    assert!(models.worker().is_told_briefly() && !big.is_told_briefly());
    assert_eq!((models.worker().shown(), big.shown()), ("openai qwen".to_owned(), "anthropic claude".to_owned()));
}

#[test]
fn an_offered_key_goes_to_the_worker_only_where_the_file_names_none() {
    let offered = |name: &str| (name == "CAISSON_DEFAULT_MODEL_KEY_FILE").then(|| "/run/key".to_owned());
    let models = |text: &str| Process::from_layers(Path::new("/x/caisson.toml"), text, &offered).unwrap().models;
    let key = Some(Path::new("/run/key"));
    for none in ["", "[model]\nname = \"m\"\nkey_file = \"\"\n", &TWO.replace("key_file = \"big.key\"\n", "")] {
        assert_eq!(models(none).worker().key_file.as_deref(), key, "{none}");
    }
    let own = models("[model]\nkey_file = \"own.key\"\n");
    assert_eq!(own.worker().key_file.as_deref(), Some(Path::new("/x/own.key")));
    let two = models(TWO);
    assert_eq!(two.worker().key_file, None, "another vendor's key is not sent to this server");
    assert_eq!(two.by_id("big").unwrap().key_file.as_deref(), Some(Path::new("/x/big.key")));
}

#[test]
fn an_entry_may_take_no_temperature() {
    let models = load(&format!("{TWO}temperature = false\n")).models;
    assert!(models.worker().temperature && !models.by_id("big").unwrap().temperature);
}

#[test]
fn a_command_may_name_a_model_of_its_own() {
    let config = load(&format!("{TWO}[[model]]\nid = \"spare\"\nname = \"m\"\n[commands.plan]\nmodel = \"spare\"\n"));
    let models = &config.models;
    assert_eq!((models.of(Role::Planner).id.as_str(), models.worker().id.as_str()), ("spare", "small"));
    assert_eq!(models.roles(models.by_id("spare").unwrap()), [Role::Planner]);
    assert_eq!(models.roles(models.by_id("big").unwrap()), [Role::Reviewer]);
    let own = load(&format!(
        "{TWO}[[model]]\nid = \"spare\"\nname = \"m\"\n[commands.explain]\nmodel = \"spare\"\n[commands.test]\nmodel = \"big\"\n\
         [[repositories]]\nkey = \"a\"\nmodels = [\"small\", \"big\"]\n"
    ));
    let of = |models: &crate::config::process::Models| {
        models.of_commands().map(|(kind, entry)| format!("{} {}", kind.name(), entry.id)).collect::<Vec<_>>()
    };
    assert_eq!(of(&own.models), ["explain spare", "test big"]);
    assert_eq!((own.models.of(Role::Planner).id.as_str(), own.models.worker().id.as_str()), ("big", "small"));
    assert!(own.models.used().iter().any(|entry| entry.id == "spare"), "it is opened");
    assert_eq!(of(&own.models_of("a")), ["test big"], "a repository's list goes before its commands");
    let unknown = refused(&format!("{TWO}[commands.fix]\nmodel = \"huge\"\n"));
    assert!(unknown.contains("commands.fix.model: there is no model `huge`"), "{unknown}");
    let stranger = refused(&format!("{TWO}[commands.dance]\nmodel = \"big\"\n"));
    assert!(stranger.contains("commands.dance: no such key"), "{stranger}");
}

#[test]
fn an_entry_that_stands_in_for_another_is_used_without_a_role() {
    let text = TWO.replacen("name = \"claude\"", "name = \"claude\"\nfallback = [\"spare\", \"small\"]", 1);
    let models =
        load(&format!("{text}[[model]]\nid = \"spare\"\nname = \"m\"\n[[model]]\nid = \"idle\"\nname = \"n\"\n"))
            .models;
    let ids = |all: Vec<&crate::config::process::Model>| all.iter().map(|it| it.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(models.used()), ["small", "big", "spare"]);
    assert_eq!(ids(models.fallbacks(models.of(Role::Planner))), ["spare", "small"]);
}

#[test]
fn what_is_meant_for_a_local_server_goes_to_no_other_unless_the_repository_lists_both() {
    let text = TWO.replacen("roles = [\"worker\"]", "roles = [\"worker\"]\nfallback = [\"near\", \"big\"]", 1);
    let near = "[[model]]\nid = \"near\"\nkind = \"openai\"\nname = \"m\"\nbase_url = \"http://gpu.lan/v1\"\nfallback = [\"big\"]\n";
    let both = "[[repositories]]\nkey = \"both\"\nmodels = [\"small\", \"big\"]\n[[repositories]]\nkey = \"one\"\nmodels = [\"near\"]\n";
    let config = load(&format!("{text}{near}{both}"));
    let ids = |all: Vec<&crate::config::process::Model>| all.iter().map(|it| it.id.clone()).collect::<Vec<_>>();
    let asked = |key: &str| {
        let models = config.models_of(key).into_owned();
        (ids(models.fallbacks(models.worker())), Role::ALL.map(|role| models.of(role).id.clone()))
    };
    let everywhere = asked("another");
    assert_eq!(
        (everywhere.0, &everywhere.1[..2]),
        (vec!["near".to_owned()], &["small".to_owned(), "big".to_owned()][..])
    );
    assert_eq!(asked("both").0, ["big"]);
    assert_eq!(asked("one"), (Vec::new(), ["near"; 4].map(str::to_owned)), "no other is asked, in no role");
    assert_eq!(config.models.kept_back(config.models.worker()).collect::<Vec<_>>(), ["big"]);
    let unknown = refused(&format!("{TWO}[[repositories]]\nkey = \"a\"\nmodels = [\"huge\"]\n"));
    assert!(unknown.contains("repositories.0.models: there is no model `huge`"), "{unknown}");
}

#[test]
fn a_server_in_a_network_of_the_operators_own_is_local_however_its_address_is_written() {
    let is_local = |host: &str| {
        let text = format!("[model]\nkind = \"openai\"\nname = \"m\"\nbase_url = \"http://{host}/v1\"\n");
        load(&text).models.worker().is_local()
    };
    let own = ["127.0.0.1", "192.168.1.5", "[::1]", "[fd00::5]", "gpu", "gpu.lan", "gpu.lan."];
    let shared = ["100.64.0.1", "100.127.255.254", "gpu.tail1234.ts.net"];
    let mapped = ["[::ffff:127.0.0.1]", "[::ffff:10.1.2.3]", "[::ffff:100.101.102.103]"];
    for host in own.into_iter().chain(shared).chain(mapped) {
        assert!(is_local(host), "{host}");
    }
    let public =
        ["8.8.8.8", "100.63.255.255", "100.128.0.1", "[::ffff:8.8.8.8]", "[2001:db8::1]", "nuts.net", "a.test"];
    for host in public {
        assert!(!is_local(host), "{host}");
    }
}

#[test]
fn a_gateway_is_no_server_of_the_operators_own_and_its_models_are_tried_all_the_same() {
    let of = |kind: &str, address: &str| {
        let text = format!("[model]\nkind = \"{kind}\"\nname = \"m\"\nkey_file = \"k\"\nbase_url = \"{address}\"\n");
        let models = load(&text).models;
        (models.worker().is_own_server(), models.worker().needs_trials())
    };
    for kind in ["openai", "openai-responses"] {
        for own in ["http://127.0.0.1:8080", "http://gpu.lan/v1", "http://vllm:8000"] {
            assert_eq!(of(kind, own), (true, true), "{kind} {own}");
        }
        for elsewhere in ["https://openrouter.ai/api/v1", "https://llm.example.org/v1", "https://8.8.8.8/v1"] {
            assert_eq!(of(kind, elsewhere), (false, true), "{kind} {elsewhere}");
        }
        assert_eq!(of(kind, ""), (false, false), "{kind}");
    }
    assert_eq!(of("anthropic", "http://127.0.0.1:8080"), (false, false));
    assert_eq!(of("gemini", "http://127.0.0.1:8080"), (false, false));
}

#[test]
fn an_entry_without_a_role_is_kept_and_has_none() {
    let models = load(&format!("{TWO}[[model]]\nid = \"spare\"\nname = \"m\"\n")).models;
    assert_eq!(models.roles(models.by_id("spare").unwrap()), []);
}

#[test]
fn the_environment_speaks_of_the_worker() {
    let environment = |name: &str| match name {
        "CAISSON_MODEL_NAME" => Some("other".to_owned()),
        "CAISSON_MODEL_CONTEXT_TOKENS" => Some("32768".to_owned()),
        _ => None,
    };
    for text in [TWO.to_owned(), "[model]\nname = \"m\"\n".to_owned(), String::new()] {
        let models = Process::from_layers(Path::new("/x/c.toml"), &text, &environment).unwrap().models;
        assert_eq!((models.worker().name.as_str(), models.worker().context_tokens), ("other", 32_768));
        assert!(models.by_id("big").is_none_or(|big| big.name == "claude"));
    }
    let bad = |name: &str| (name == "CAISSON_MODEL_CONTEXT_TOKENS").then(|| "many".to_owned());
    let said = Process::from_layers(Path::new("/x/c.toml"), TWO, &bad).unwrap_err().to_string();
    assert!(said.contains("CAISSON_MODEL_CONTEXT_TOKENS holds no integer"), "{said}");
}

#[test]
fn what_makes_no_sense_together_is_refused_at_its_line() {
    for (from, to, said) in [
        (
            "roles = [\"planner\", \"reviewer\"]",
            "roles = [\"worker\"]",
            ":14: model.1.roles: worker is the role of `small` already; one model has it",
        ),
        (
            "\"planner\", \"reviewer\"",
            "\"painter\"",
            ":14: model.1.roles: unknown variant `painter`, expected one of `worker`",
        ),
        (
            "roles = [\"worker\"]",
            "roles = [\"summarizer\"]",
            ":1: model: no model works on /fix; give one of them roles",
        ),
        (
            "name = \"claude\"",
            "name = \"claude\"\nfallback = [\"small\", \"big\"]",
            ":13: model.1.fallback: big is no other model",
        ),
        (
            "name = \"claude\"",
            "name = \"claude\"\nfallback = [\"small\", \"small\"]",
            ":13: model.1.fallback: small stands in it twice",
        ),
        ("name = \"claude\"", "name = \"claude\"\nfallback = [\"x\"]", ":13: model.1.fallback: x is no other model"),
        ("id = \"big\"", "id = \"small\"", ":11: model.1.id: another model has the same id"),
        ("id = \"big\"", "id = \"B G\"", ":11: model.1.id: take up to 40 lower-case"),
        ("name = \"claude\"", "nome = \"claude\"", ":12: model.1.nome: no such key"),
        ("base_url = \"http://127.0.0.1:1\"\n", "", ":1: model.0.key_file: set the file with the key"),
    ] {
        assert!(TWO.contains(from));
        let text = refused(&TWO.replacen(from, to, 1));
        assert!(text.contains(said), "{text}\n{said}");
    }
    assert!(refused("[model]\nroles = [\"planner\"]\n").contains(":2: model.roles: no model works on /fix"));
    assert!(refused("model = []\n").contains("no model is there"));
    assert!(refused("model = 7\n").contains("one [[model]] for each model"));
}

#[test]
fn a_list_is_taken_over_into_another_file_with_its_paths() {
    let dir = tempfile::tempdir().unwrap();
    let (theirs, ours) = (dir.path().join("theirs.toml"), dir.path().join("ours/caisson.toml"));
    std::fs::create_dir(dir.path().join("ours")).unwrap();
    std::fs::write(&theirs, TWO).unwrap();
    std::fs::write(&ours, "[forge]\nurl = \"http://ours\"\n\n[model]\nname = \"\"\n\n[sandbox]\nimage = \"i\"\n")
        .unwrap();
    crate::config::write::carry_over(&theirs, &ours, &["model"], &["key_file", "script"]).unwrap();
    let text = std::fs::read_to_string(&ours).unwrap();
    let config = Process::from_layers(&ours, &text, &|_| None).unwrap();
    assert_eq!(config.models.all().len(), 2, "{text}");
    assert_eq!(config.models.of(Role::Planner).key_file.as_deref(), Some(dir.path().join("big.key").as_path()));
    assert_eq!((config.sandbox.image.as_str(), config.models.worker().id.as_str()), ("i", "small"));
}
