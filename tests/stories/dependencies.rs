//! `/deps`: manifests and lock files of the base, held against the operator's advisories and newest versions.

use crate::world::{REPO, World};
use domain::TaskKind;

const MANIFEST: &str = "[package]\nname = \"shop\"\n\n[dependencies]\nsemver = \"1\"\nserde = \"1\"\n";
const LOCK: &str = "[[package]]\nname = \"semver\"\nversion = \"1.0.3\"\nsource = \"registry+https://h\"\n\n[[package]]\nname = \"serde\"\nversion = \"1.0.200\"\nsource = \"registry+https://h\"\n";
const ADVISORY: &str = r#"{ "id": "RUSTSEC-2026-0001", "modified": "2026-11-20T08:00:00Z", "summary": "A version that never ends is parsed for ever.", "affected": [{ "package": { "ecosystem": "crates.io", "name": "semver" }, "ranges": [{ "type": "SEMVER", "events": [{ "introduced": "0.0.0-0" }, { "fixed": "1.0.4" }] }] }] }"#;
const NEWEST: &str = "{\"ecosystem\":\"crates.io\",\"name\":\"semver\",\"version\":\"1.1.0\",\"published\":\"2026-10-02\",\"asked\":\"2026-11-21\"}\nnone\n";

const SCRIPT: &str = r#"
name = "dependencies"
[[turn]]
expects = ["asks about what the repository depends on", "RUSTSEC-2026-0001 crates.io semver 1.0.3 (direct)", "locked 1.0.3, newest 1.1.0 (of 2026-10-02), minor behind", "crates.io serde: asked for 1, locked 1.0.200 (app/Cargo.toml:6)", "not read: web/yarn.lock"]
call = [{ name = "read_file", arguments = { path = "app/Cargo.toml" } }, { name = "edit_file", arguments = { path = "app/Cargo.toml", old = "1", new = "2" } }]
[[turn]]
expects = ["read-only"]
call = [{ name = "done", arguments = { summary = "Move `semver` first: `app/Cargo.toml:5`, and `app/Cargo.toml:50` too." } }]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_locked_is_held_against_the_operators_advisories_and_the_tables_stand() {
    let data = tempfile::tempdir().expect("a folder");
    std::fs::write(data.path().join("RUSTSEC-2026-0001.json"), ADVISORY).expect("written");
    let newest = tempfile::tempdir().expect("a folder");
    std::fs::write(newest.path().join("shop.jsonl"), NEWEST).expect("written");
    let (data, newest) = (data.path().display(), newest.path().display());
    let folders = format!("advisories.dir = \"{data}\"\nadvisories.newest_dir = \"{newest}\"\n");
    let world = World::with(SCRIPT, &folders).await;
    world.push(&[("app/Cargo.toml", MANIFEST), ("app/Cargo.lock", LOCK), ("web/yarn.lock", "a@1:\n")]);
    let issue = world.alice().open_issue(REPO, "Are we up to date?", "/deps").expect("issue");
    let said = world.until_said(issue, "### Answer 1").await;
    let base = world.task().await.base.expect("a base");
    let link = format!("(<{}/{REPO}/src/commit/{base}/app/Cargo.toml#L5>)", world.forge.url());
    for words in [
        "**1 known advisory is about** what is locked (2 locked versions; data of 2026-11-20, 1 advisory)",
        "| `RUSTSEC-2026-0001` | `semver` | `1.0.3` | `1.0.4` | A version that never ends is parsed for ever. |",
        &format!("| `semver` | `1` | `1.0.3` | `1.1.0` (2026-10-02), minor behind | [`app/Cargo.toml:5`]{link} |"),
        "**1 behind** the newest version (data of 2026-11-21): 0 major, 1 minor, 0 patch; not in the data: 1 package.",
        "1 line of the data could not be read; the log names the first.",
        "**Not read**: `web/yarn.lock`",
        "places that do not exist at `",
        "`app/Cargo.toml:50`",
        "> Move `semver` first",
    ] {
        assert!(said.contains(words), "{words} is missing:\n{said}");
    }
    let task = world.until_state("awaiting-review").await;
    assert!(task.kind == TaskKind::Deps && task.pull.is_none() && task.pushed.is_none(), "{task:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_data_it_is_said_that_no_advisories_were_looked_at() {
    let script = r#"
name = "dependencies without data"
[[turn]]
expects = ["No advisories were looked at."]
call = [{ name = "done", arguments = { summary = "Nothing to move." } }]
"#;
    let world = World::new(script).await;
    world.push(&[("app/Cargo.toml", MANIFEST)]);
    let issue = world.alice().open_issue(REPO, "Are we up to date?", "/deps serde alone").expect("issue");
    let said = world.until_said(issue, "### Answer 1").await;
    assert!(said.contains("none were looked at") && said.contains("[advisories] dir"), "{said}");
    assert!(said.contains("**Newest versions** are not known"), "{said}");
    assert!(said.contains("| `serde` | `1` | — |"), "{said}");
    world.bob().comment(REPO, issue, "/deps").expect("said");
    world.until_said(issue, "`bob`: `/deps` is for").await;
}
