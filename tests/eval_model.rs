//! The evaluation's three default tasks with a real model, on the OpenAI-compatible server that `CAISSON_MODEL_URL` names; skipped with a
//! message if it is unset. Checks that a model can be measured, not how good it is. Needs what `tests/eval.rs` needs, and the images of the
//! tasks' toolchains.

#[path = "support/engine.rs"]
mod engine;
#[path = "support/skipped.rs"]
mod skipped;

use engine::{ROUTER, SANDBOX, missing};
use serde_json::Value;
use skipped::skipped;
use std::process::Command;

#[test]
fn the_three_defaults_are_measured() {
    let Ok(url) = std::env::var("CAISSON_MODEL_URL") else {
        return skipped("model", "CAISSON_MODEL_URL names no server");
    };
    if let Some(why) =
        missing(&[SANDBOX, ROUTER, "caisson-sandbox:python", "caisson-sandbox:node", "caisson-sandbox:rust"])
    {
        return skipped("docker", &why);
    }
    let dir = tempfile::tempdir().expect("a directory");
    let config = format!(
        "[model]\nkind = \"openai\"\nname = \"any\"\nbase_url = \"{url}\"\n\
         context_tokens = 4096\nmax_output_tokens = 1024\n[router]\nimage = \"caisson-router:local\"\n"
    );
    std::fs::write(dir.path().join("caisson.toml"), config).expect("written");
    let (config, out) = (dir.path().join("caisson.toml"), dir.path().join("results.jsonl"));
    let mut eval = Command::new(env!("CARGO_BIN_EXE_caisson"));
    eval.arg("--config").arg(config).arg("eval").arg("--out").arg(&out).current_dir(env!("CARGO_MANIFEST_DIR"));
    let ended = eval.output().expect("caisson eval");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{said}");
    println!("{}", String::from_utf8_lossy(&ended.stdout));
    let lines = std::fs::read_to_string(out).expect("results");
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let rows: Vec<&Value> = rows.iter().filter(|row| row["kind"] == "task").collect();
    assert_eq!(rows.len(), 3, "{said}");
    for row in rows {
        assert_ne!(row["outcome"], "not-run", "{row}");
        assert_eq!(row["recording"], false, "{row}");
        assert!(row["measured"]["tokens_written"].as_u64() > Some(0), "{row}");
    }
}
