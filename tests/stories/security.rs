//! `/security`: static rules and a model, over the tree on an issue, and over what a person's pull request adds.

use crate::reviews::{answered, at, notes, open, push, say};
use crate::world::{PATIENCE, REPO, World};
use caisson::forge::ForgeReads as _;
use caisson::task::Boundary;
use domain::{Event, RuleScan, TaskKind};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// A token as GitHub writes them, put together here so that no file of this repository holds one.
fn token() -> String {
    format!("gh{}_{}", "p", "a1B2".repeat(10))
}

const WEB: &str = "import os\n\n\ndef show(request):\n    return eval(request.args['q'])\n";

/// Reads one file, tries to write it, then judges the two findings and names a place that is not there.
const SCRIPT: &str = r#"
name = "a look for weaknesses"
[[turn]]
expects = ["whether the code has weaknesses", "findings of static rules", "[high] web/a.py:5 python-eval", "eval(request.args['q'])", "[left out by caisson: a GitHub token]"]
call = [{ name = "read_file", arguments = { path = "web/a.py" } }, { name = "write_file", arguments = { path = "web/a.py", content = "" } }]
[[turn]]
expects = ["def show(request)", "read-only"]
call = [{ name = "done", arguments = { summary = "- [blocker] web/a.py:5 — real: the query is run, @all.\n- [note] web/a.py:99 — unlikely" } }]
"#;

async fn rules_of(world: &World) -> RuleScan {
    let scan = |event| match event {
        Event::Prepared { scan, .. } => scan,
        _ => None,
    };
    let found = world.log().await.into_iter().find_map(scan).expect("a scan");
    found.rules.expect("static rules")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tree_is_looked_through_and_the_table_stands_whatever_the_model_says() {
    let world = World::new(SCRIPT).await;
    world.push(&[("web/a.py", WEB), ("web/keys.txt", &format!("one\nkey {}\n", token())), ("other.py", "eval(x)\n")]);
    let issue = world.alice().open_issue(REPO, "Is it safe?", "/security web/ and who may do what").expect("issue");
    let said = world.until_said(issue, "### Answer 1").await;
    let base = world.task().await.base.expect("a base");
    let link = format!("(<{}/{REPO}/src/commit/{base}/web/a.py#L5>)", world.forge.url());
    for words in [
        "**What static rules found** in 2 files below `web` at `",
        &format!("| 🛑 high | [`web/a.py:5`]{link} | `python-eval` |"),
        "| `credential` |",
        "places that do not exist at `",
        "`web/a.py:99`",
        "real: the query is run, `@all`.",
        "lets it mend this",
    ] {
        assert!(said.contains(words), "{words} is missing:\n{said}");
    }
    let (table, answer) = said.split_once("The agent says:").expect("an answer");
    assert!(table.contains("python-eval") && !answer.contains("python-eval") && !said.contains(&token()), "{said}");
    assert!(!said.contains("other.py"), "it lies beside the path that was named: {said}");
    let rules = rules_of(&world).await;
    assert_eq!((rules.findings.len(), rules.below.as_deref(), rules.added_only), (2, Some("web"), false));
    let task = world.until_state("awaiting-review").await;
    assert!(task.kind == TaskKind::Security && task.pull.is_none() && task.pushed.is_none(), "{task:?}");
    let log = serde_json::to_string(&world.log().await).expect("written");
    assert!(!log.contains(&token()), "a credential is in the log");
}

/// Judges one finding on a line that the pull request adds.
const OF_A_PULL: &str = r#"
name = "a look at a pull request"
[[turn]]
expects = ["review of the security of a pull request", "the lines that the pull request adds", "[high] semver.py:6 python-eval"]
forbids = ["old.py"]
call = [{ name = "done", arguments = { summary = "- [blocker] semver.py:6 — real: a version is run.\n\nOne line, and it is bad." } }]
"#;

const ADDED: &str = "def newer(a, b):\n    return value(a) > value(b)\n\n\ndef value(text):\n    return eval(text)\n\n\ndef run(command):\n    import os\n    os.system(command)\n";

/// A pull request of Bob's fork, which adds two weaknesses beside one that was there before.
async fn weak(world: &World) -> (u64, String) {
    world.push(&[("old.py", "eval(x)\n")]);
    let fork = world.bob().fork(REPO).await.expect("a fork");
    let head = push(world, ("bob", &fork), "weak", &[("semver.py", ADDED)]);
    (open(world, "bob", "bob:weak").await, head)
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_fork_s_pull_request_only_added_lines_count_and_stand_on_their_lines() {
    let world = World::networked(OF_A_PULL, "egress.allow = [\"granted.example\"]").await;
    let (pull, head) = weak(&world).await;
    world.bob().comment(REPO, pull, "/security").expect("said");
    world.until_said(pull, "`bob`: `/security` is for").await;
    say(&world, pull, "/security");
    let said = world.until_said(pull, "### Security review of").await;
    let link = format!("(<{}/{REPO}/src/commit/{head}/semver.py#L6>)", world.forge.url());
    for words in [
        &format!("### Security review of `{}`", &head[..10]),
        "**What static rules found** in the added lines of 1 file at `",
        &format!("[`semver.py:6`]{link} | `python-eval` |"),
        "`semver.py:11`",
        "1 blocker: on their lines.",
        "One line, and it is bad.",
        "a model wrote all but the table",
        "`/security` reads the newest commit again",
    ] {
        assert!(said.contains(words), "{words} is missing:\n{said}");
    }
    assert!(!said.contains("old.py"), "{said}");
    let mut notes = notes(&world, pull).await;
    notes.sort_by_key(|(_, line, _)| *line);
    let [(_, 6, first), (_, 11, second)] = &notes[..] else { panic!("{notes:?}") };
    assert!(first.starts_with("🛑 **blocker** — the agent says"), "a finding of both stands once: {first}");
    assert!(second.starts_with("⚠️ **medium** — the static rule `python-os-system` says:"), "{second}");
    let task = answered(&world).await;
    assert!(task.kind == TaskKind::Security && task.pull.is_none(), "{task:?}");
    assert!(world.look().pull(&at(), pull).await.expect("the pull request").open, "it is the person's");
    assert!(rules_of(&world).await.added_only);
    let told = world.doors.as_ref().expect("a network").told.lock().expect("whole").clone();
    assert!(told.iter().filter(|word| word.starts_with("open ")).all(|word| word.ends_with(' ')), "no host: {told:?}");
    world.nothing_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_closed_pull_request_nothing_begins_and_what_is_for_issues_begins_on_none() {
    let world = World::new(OF_A_PULL).await;
    let (pull, _) = weak(&world).await;
    world.alice().close(REPO, pull).expect("closed");
    say(&world, pull, "/security");
    let said = world.until_said(pull, "this pull request is closed").await;
    assert!(said.contains("write `/security` again"), "{said}");
    say(&world, pull, "/explain what it does");
    world.until_said(pull, "`/explain` is for open pull requests of people").await;
    for command in ["/deps", "/search semver"] {
        say(&world, pull, command);
    }
    let end = Instant::now() + PATIENCE;
    while world.said(pull).await.iter().filter(|text| text.contains("tasks start in issues")).count() < 2 {
        assert!(Instant::now() < end, "{:#?}", world.said(pull).await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(world.store().tasks(5).await.expect("read").len(), 0);
}

/// Kills at this boundary of each kind of effect that makes an answer what it is; the pull request's review is posted once all the same.
async fn killed(moment: &'static str, is: fn(Boundary) -> bool) {
    let mut world = World::new(OF_A_PULL).await;
    let (pull, _) = weak(&world).await;
    let (met, reached) = channel();
    let mut left = vec!["prepare", "review"];
    world.cuts.set(move |row, boundary| {
        let kind = row.effect.kind();
        let here = is(boundary) && left.contains(&kind);
        left.retain(|other| !here || *other != kind);
        here && met.send(kind).is_ok()
    });
    say(&world, pull, "/security");
    let (end, mut kills) = (Instant::now() + Duration::from_secs(200), 0);
    loop {
        if reached.try_recv().is_ok() {
            kills += 1;
            world.kill();
            world.start().await;
        }
        let open = world.store().tasks_with_effects().await.expect("read");
        if world.task().await.state.name() == "answered" && open.is_empty() && kills == 2 {
            break;
        }
        assert!(Instant::now() < end, "{moment}: {kills} kills, {:?}", world.task().await.state);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let said = world.said(pull).await;
    assert_eq!(said.iter().filter(|text| text.contains("### Security review of")).count(), 1, "{moment}: {said:#?}");
    assert_eq!(notes(&world, pull).await.len(), 2, "{moment}");
    world.nothing_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_killed_where_its_effects_begin_or_are_done_is_posted_once() {
    killed("begun", |boundary| boundary == Boundary::Begun).await;
    killed("done", |boundary| boundary == Boundary::Done).await;
}
