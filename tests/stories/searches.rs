//! `/search`: looked up in the code and at the hosts that may be reached, with each source held against what was fetched.

use crate::injections::pages;
use crate::world::{REPO, World};
use domain::{Event, TaskKind};

/// Fetches one page, then names it, one that it did not fetch, and a place in the code.
fn script(page: &str) -> String {
    format!(
        r#"
name = "a search"
[[turn]]
expects = ["asks you to look something up", "how do versions compare"]
call = [{{ name = "web_fetch", arguments = {{ url = "{page}" }} }}, {{ name = "search", arguments = {{ pattern = "newer" }} }}]
[[turn]]
expects = ["How versions compare"]
call = [{{ name = "done", arguments = {{ summary = "By number ({page}), says https://semver.example/spec too; here as text (`semver.py:2`, `semver.py:77`)." }} }}]
"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_was_not_fetched_is_named_and_so_is_a_place_that_is_not_there() {
    let page = pages::address("compare");
    let world = World::networked(&script(&page), "egress.allow = [\"docs.example\"]").await;
    let issue = world.alice().open_issue(REPO, "A question", "/search how do versions compare").expect("issue");
    let said = world.until_said(issue, "### Answer 1").await;
    for words in [
        &format!("- ✅ `{page}` — fetched by action 1"),
        "- ⚠️ `https://semver.example/spec` — *not looked at by the bot*",
        "At its start it could reach `docs.example`.",
        "`semver.py:77`",
        "`/revise …` asks again",
    ] {
        assert!(said.contains(words), "{words} is missing:\n{said}");
    }
    let task = world.until_state("awaiting-review").await;
    assert!(task.kind == TaskKind::Search && task.pull.is_none() && task.pushed.is_none(), "{task:?}");
    let hosts = world.log().await.into_iter().find_map(|event| match event {
        Event::Prepared { scan, .. } => scan.and_then(|scan| scan.hosts),
        _ => None,
    });
    assert_eq!(hosts, Some(vec!["docs.example".to_owned()]));
    assert!(!world.said(issue).await.iter().any(|text| text.contains("No host may be reached")), "one may");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_host_it_is_said_at_once_and_the_code_is_searched_all_the_same() {
    let script = r#"
name = "a search at home"
[[turn]]
expects = ["No host can be reached from here"]
call = [{ name = "search", arguments = { pattern = "newer" } }]
[[turn]]
expects = ["semver.py"]
call = [{ name = "done", arguments = { summary = "As text (`semver.py:2`)." } }]
"#;
    let world = World::networked(script, "").await;
    let issue = world.alice().open_issue(REPO, "A question", "/search how do versions compare").expect("issue");
    let taken_up = world.until_said(issue, "is on it").await;
    assert!(taken_up.contains("No host may be reached") && taken_up.contains("[egress] allow"), "{taken_up}");
    let said = world.until_said(issue, "### Answer 1").await;
    assert!(said.contains("it looked in this repository's files alone") && !said.contains("do not exist"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_without_words_begins_nothing_and_a_reader_is_refused() {
    let world = World::new(&script("https://a.example/")).await;
    let issue = world.alice().open_issue(REPO, "A question", "/search").expect("issue");
    world.until_said(issue, "say what to look up after it").await;
    world.bob().comment(REPO, issue, "/search semver").expect("said");
    world.until_said(issue, "`bob`: `/search` is for").await;
    assert_eq!(world.store().tasks(5).await.expect("read").len(), 0);
    // Where sandboxes have no network, nobody can allow a host.
    world.alice().comment(REPO, issue, "/search semver").expect("said");
    let taken_up = world.until_said(issue, "is on it").await;
    assert!(taken_up.contains("Sandboxes have no network here") && !taken_up.contains("/allow"), "{taken_up}");
}
