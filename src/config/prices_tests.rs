//! Which line of the file is used for an entry, and what has priority over it.

use super::{BUILT_IN, Origin, lines, names};
use crate::config::Process;
use crate::config::process::Model;
use std::path::Path;

fn load(file: &Path, text: &str) -> Process {
    Process::from_layers(file, text, &|_| None).unwrap()
}

fn one(text: &str) -> Model {
    load(Path::new("/x/caisson.toml"), &format!("[model]\n{text}")).models.worker().clone()
}

fn prices(model: &Model) -> (Option<f64>, Option<f64>, f64, f64) {
    (model.price_input, model.price_output, model.price_cache_read, model.price_cache_write)
}

#[test]
fn each_line_that_is_compiled_in_names_its_page_and_its_day() {
    for line in lines(BUILT_IN).unwrap() {
        assert!(line.page.starts_with("https://"), "{}", line.name);
        let date: Vec<_> = line.date.split('-').map(str::len).collect();
        assert_eq!(date, [4, 2, 2], "{}", line.name);
        assert!(line.input.is_some() && line.output.is_some() && !line.wires.is_empty(), "{}", line.name);
    }
}

#[test]
fn a_dated_name_is_the_same_model_and_a_longer_one_another() {
    assert!(names("claude-opus-4-5", "claude-opus-4-5") && names("claude-opus-4-5", "claude-opus-4-5-20251101"));
    assert!(names("gpt-5-mini", "gpt-5-mini-2025-08-07"));
    for (line, name) in
        [("claude-opus-5", "claude-opus-5-5"), ("gpt-5", "gpt-5-mini"), ("gpt-5", "gpt-5.4"), ("a", "b")]
    {
        assert!(!names(line, name), "{line} {name}");
    }
}

#[test]
fn an_entry_that_says_nothing_is_filled_and_one_that_says_something_is_left() {
    let filled = one("name = \"claude-opus-5\"\n");
    assert_eq!(prices(&filled), (Some(5.0), Some(25.0), 0.5, 6.25));
    assert!(!filled.is_unpriced());
    assert_eq!(filled.context_tokens, 1_000_000);
    assert!(matches!(&filled.origins.price, Origin::File { page, .. } if page.contains("whats-new-opus-5")));
    assert_eq!(filled.origins.price, filled.origins.window);
    let own = one("name = \"claude-opus-5\"\nprice_input = 1\nprice_output = 2\ncontext_tokens = 50000\n");
    assert_eq!((prices(&own), own.context_tokens), ((Some(1.0), Some(2.0), 0.0, 0.0), 50_000));
    assert_eq!((&own.origins.price, &own.origins.window), (&Origin::Entry, &Origin::Entry));
    let google = one("kind = \"gemini\"\nname = \"gemini-4-hydrogen\"\n");
    assert_eq!((prices(&google), google.context_tokens), ((Some(1.5), Some(7.5), 0.075, 0.0), 1_048_576));
    let half = one("name = \"claude-opus-5\"\nprice_input = 1\n");
    assert!(half.is_unpriced(), "what an operator began to say is not made up from elsewhere");
}

#[test]
fn what_no_line_is_about_stays_unknown() {
    for text in [
        "name = \"a-model-of-mine\"\n",
        "kind = \"openai\"\nname = \"gpt-5-mini\"\nbase_url = \"https://gateway.example/v1\"\n",
        "kind = \"gemini\"\nname = \"claude-opus-5\"\n",
    ] {
        let model = one(text);
        assert!(model.is_unpriced(), "{text}");
        assert_eq!((model.context_tokens, &model.origins.window), (200_000, &Origin::Unknown), "{text}");
    }
    let unnamed = one("name = \"claude-opus-4-5\"\n");
    assert_eq!((unnamed.is_unpriced(), unnamed.context_tokens), (false, 200_000), "a price without a window");
}

#[test]
fn the_operators_file_goes_before_and_holds_at_any_address() {
    let dir = tempfile::tempdir().unwrap();
    let line = |name: &str| {
        format!(
            "[[model]]\nname = \"{name}\"\nwires = [\"anthropic\", \"openai\"]\nwindow = 64000\ninput = 0.5\noutput = 1.5\ndate = \"2026-12-01\"\npage = \"our contract\"\n"
        )
    };
    let own = dir.path().join("ours.toml");
    std::fs::write(&own, line("claude-opus-5") + &line("org/coder")).unwrap();
    let models = "[prices]\nfile = \"ours.toml\"\n[[model]]\nname = \"claude-opus-5\"\nroles = [\"worker\"]\n\
        [[model]]\nid = \"gate\"\nkind = \"openai\"\nname = \"org/coder\"\nbase_url = \"https://gateway.example/v1\"\n\
        [[model]]\nid = \"other\"\nname = \"claude-sonnet-5\"\n";
    let file = dir.path().join("caisson.toml");
    let config = load(&file, models);
    for id in ["main", "gate"] {
        let model = config.models.by_id(id).unwrap();
        assert_eq!((prices(model), model.context_tokens), ((Some(0.5), Some(1.5), 0.0, 0.0), 64_000), "{id}");
    }
    assert_eq!(config.models.by_id("other").unwrap().price_input, Some(2.0));
    std::fs::write(&own, "[[model]]\nname = \"x\"\n").unwrap();
    let refused = |text: &str| Process::from_layers(&file, text, &|_| None).unwrap_err().to_string();
    assert!(refused(models).contains("ours.toml: missing field `wires`"), "{}", refused(models));
    assert!(
        refused(&models.replace("ours", "none")).contains(":2: prices.file: "),
        "{}",
        refused(&models.replace("ours", "none"))
    );
}

#[test]
fn whether_a_model_takes_pictures_is_its_entrys_then_the_files_then_its_wires() {
    let sees = |text: &str| {
        let model = one(&format!("key_file = \"/x/key\"\n{text}"));
        (model.sees(), model.origins.vision)
    };
    assert_eq!(sees("name = \"claude-of-tomorrow\"\n"), (true, Origin::Unknown));
    assert_eq!(sees("name = \"claude-opus-5\"\nvision = false\n"), (false, Origin::Entry));
    assert_eq!(sees("kind = \"openai\"\nname = \"unheard-of\"\n"), (false, Origin::Unknown));
    assert!(matches!(sees("kind = \"openai\"\nname = \"gpt-5.4\"\n"), (true, Origin::File { .. })));
    let own = "kind = \"openai\"\nname = \"gpt-5.4\"\nbase_url = \"http://127.0.0.1:1\"\n";
    assert_eq!(sees(own), (false, Origin::Unknown), "what the file says holds at the vendor's own address");
    assert!(sees(&format!("{own}vision = true\n")).0 && sees("kind = \"gemini\"\nname = \"g\"\n").0);
    assert!(!sees("name = \"g\"\nbase_url = \"http://127.0.0.1:1\"\n").0, "a gateway has models of others, too");
}
