//! Terms of a task and its control: options, another model, a pause, what it cost.

use crate::world::{FIX, REPO, World, held};
use domain::{Event, PauseReason, State};

const NAMED: &str = r#"
name = "the named one"
[[turn]]
expects = ["Versions compare as text"]
call = [
  { name = "edit_file", arguments = { path = "semver.py", old = "    return a > b\n", new = "    return parse(a) > parse(b)\n\n\ndef parse(text):\n    return [int(part) for part in text.split('.')]\n" } },
  { name = "done", arguments = { summary = "worked" } },
]
usage = { input = 300, output = 20 }
[[turn]]
call = [{ name = "done", arguments = { summary = "worked on" } }]
usage = { input = 300, output = 20 }
[[turn]]
call = [{ name = "bash", arguments = { command = "true" } }, { name = "done", arguments = { summary = "worked on" } }]
usage = { input = 300, output = 20 }
"#;

/// The worker, a model that people may name, one that they may not; and a toolchain besides the base.
pub fn tables(dir: &std::path::Path) -> String {
    let named = dir.join("named.toml");
    std::fs::write(&named, NAMED).expect("written");
    let of = |id: &str, more: &str| {
        format!(
            "[[model]]\nid = \"{id}\"\nkind = \"scripted\"\nstyle = \"tools\"\nscript = \"{}\"\n{more}\n",
            named.display()
        )
    };
    let worker = "[[model]]\nid = \"small\"\nkind = \"scripted\"\nscript = \"script.toml\"\nroles = [\"worker\"]\nstyle = \"tools\"\n";
    format!(
        "{worker}{}{}[sandbox.toolchains]\nrust = \"built:rust\"\ngo = \"missing\"\n",
        of("local", "by_name = true"),
        of("vendor", "")
    )
}

async fn answering_models(world: &World) -> Vec<String> {
    let named = |event: &Event| match event {
        Event::TurnCompleted { model, .. } => Some(model.clone()),
        _ => None,
    };
    world.log().await.iter().filter_map(named).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn options_of_a_command_hold_for_its_task() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut world = World::of_models(FIX, &tables(dir.path())).await;
    let asked = "/fix --model local --toolchain rust --budget 30actions,7usd --branch main compare numbers";
    let issue = world.alice().open_issue(REPO, "Versions compare as text", asked).expect("issue");
    let task = world.until_state("final-review").await;
    let request = task.request.as_ref().expect("asked");
    assert_eq!((request.words.as_str(), request.base_branch.as_str()), ("compare numbers", "main"));
    assert_eq!((task.image.as_deref(), task.model.as_deref()), (Some("built:rust"), Some("local")));
    assert_eq!((task.granted.actions, task.granted.micro_usd), (30, 7_000_000), "five are usual, two were granted");
    assert_eq!(answering_models(&world).await, ["scripted: the named one"]);
    world.until_said(issue, "`alice` granted this task $2.00 more").await;
    // If the operator no longer lets people name the model, it is not replaced by another.
    world.reconfigure(|text| text.replace("by_name = true", "")).await;
    let pull = task.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/revise once more").expect("said");
    let task = world.until_state("paused").await;
    let State::Paused { reason: PauseReason::Blocked { sentence }, .. } = task.state else { panic!("blocked") };
    assert!(sentence.contains("`local`") && sentence.contains("/model"), "{sentence}");
    assert_eq!(task.turn, 1, "nobody else was asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_to_be_had_is_answered_and_nothing_begins() {
    let dir = tempfile::tempdir().expect("a directory");
    let world = World::of_models(FIX, &tables(dir.path())).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text \u{202e}🦀", "It does.").expect("issue");
    let long = format!("/fix {}", "x".repeat(1 << 20));
    for (text, answer) in [
        ("/fix --branch dev it", "`--branch dev` is not to be had"),
        ("/fix --model vendor it", "people may name `local`"),
        ("/fix --toolchain cobol it", "what is offered here"),
        ("/fix --budget 500usd it", "can't begin with that `--budget`"),
        ("/fix --frob 1 it", "there is no option"),
        (long.as_str(), "behind it stand more than"),
        ("/stop\n\n/fix it", "nothing was started"),
    ] {
        world.alice().comment(REPO, issue, text).expect("said");
        world.until_said(issue, answer).await;
    }
    assert!(world.store().tasks(5).await.expect("read").is_empty(), "no task was half begun");
    assert!(world.broker.created.lock().expect("listed").is_empty());
    world.alice().comment(REPO, issue, "/plan --frob\n\n/fix --budget 20min").expect("said");
    world.until_said(issue, "`/plan` could not be followed").await;
    let task = world.until_state("awaiting-review").await;
    assert_eq!(task.granted.work_ms, 20 * 60_000, "the one that can be followed is");
    let pull = task.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/fix --model local it").expect("said");
    world.until_said(pull, "options such as `--budget` are for a task that begins").await;
    world.alice().comment(REPO, pull, "/approve\n\n/revise use a set").expect("said");
    world.until_said(pull, "`/revise` contradicts `/approve`").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_toolchain_that_is_not_built_stops_before_the_first_action() {
    let dir = tempfile::tempdir().expect("a directory");
    let world = World::of_models(FIX, &tables(dir.path())).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix --toolchain go").expect("issue");
    let task = world.until_state("paused").await;
    let said = world.until_said(issue, "bring the image missing").await;
    assert!(said.contains("toolchain go") && task.actions == 0, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_is_a_persons_and_outlives_a_kill() {
    let mut world = World::new(&held()).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("an action", |task| task.running == Some(1)).await;
    world.bob().comment(REPO, issue, "/pause").expect("said");
    world.until_said(issue, "`bob`: `/pause` is for").await;
    world.alice().comment(REPO, issue, "/pause").expect("said");
    let said = world.until_said(issue, "The task is paused").await;
    assert!(said.contains("`alice` asked for it"), "{said}");
    world.alice().comment(REPO, issue, "/pause").expect("said");
    world.until_said(issue, "there is nothing to pause").await;
    world.kill();
    world.start().await;
    world.heard(issue).await;
    assert_eq!(world.task().await.state.name(), "paused");
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
    world.alice().comment(REPO, issue, "/resume").expect("said");
    world.until("work again", |task| task.running.is_none() && task.actions >= 1).await;
    let task = world.until_state("awaiting-review").await;
    assert_eq!(task.used, 5, "a pause resets nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_goes_on_from_the_next_turn_and_its_cost_is_told() {
    let dir = tempfile::tempdir().expect("a directory");
    let world = World::of_models(FIX, &tables(dir.path())).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/model vendor").expect("said");
    world.until_said(pull, "`vendor` is no model that can be named here; people may name `local`").await;
    world.alice().comment(REPO, pull, "/model local").expect("said");
    world.until_said(pull, "`alice` named the model `local`").await;
    world.approve().await;
    world.until_state("final-review").await;
    assert_eq!(answering_models(&world).await.last().map(String::as_str), Some("scripted: the named one"));
    world.until_said(pull, "alice named the model local").await;
    world.bob().comment(REPO, pull, "/cost").expect("said");
    let said = world.until_said(pull, "has used so far").await;
    assert!(said.contains("| `scripted: the named one` | 1 | 320 |"), "{said}");
    assert!(said.contains("| actions | ") && said.contains("| left |"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_says_who_may_give_a_command_and_the_rest_is_told_once() {
    let who = "who.fix = [\"@alice\"]\nwho.approve = [\"admins\"]\nwho.stop = [\"nobody\"]\nwho.cost = [\"writers\"]\nwho.budget = [\"admins\"]";
    let world = World::with(FIX, who).await;
    world.forge.add_collaborator(REPO, "bob", devforge::Access::Write).expect("a right");
    let issue = world.bob().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_said(issue, "`/fix` is for alice here").await;
    world.bob().comment(REPO, issue, "/fix it all the same").expect("said");
    // An option needs the same right as the command.
    world.alice().comment(REPO, issue, "/fix --budget 7usd").expect("said");
    world.until_said(issue, "`/budget` is for administrators of the repository here").await;
    world.alice().comment(REPO, issue, "/fix").expect("said");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    let told = world.said(issue).await.iter().filter(|text| text.contains("is for alice here")).count();
    assert_eq!(told, 1, "once is enough");
    // A review is an approval too.
    world.approve().await;
    world.until_said(pull, "`/approve` is for administrators of the repository here").await;
    world.bob().comment(REPO, pull, "/stop").expect("said");
    world.until_said(pull, "`/stop` is for nobody here").await;
    world.heard(pull).await;
    assert_eq!(world.task().await.state.name(), "awaiting-review");
    let refused =
        |event: &&Event| matches!(event, Event::DecisionRefused { reason, .. } if reason == domain::NOT_AMONG);
    assert_eq!(world.log().await.iter().filter(refused).count(), 2, "both tries are in the log");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_files_budget_above_the_usual_is_cut_and_that_is_told() {
    let world = World::new(FIX).await;
    let head = "+++\ndescription = \"Compares\"\nbudget = \"500usd,30actions\"\n+++\n";
    let file = format!("{head}\nCompare versions as numbers in {{words}}.\n");
    world.push(&[(".caisson/commands/compare.md", file.as_str())]);
    let issue = world.bob().open_issue(REPO, "Versions compare as text", "It does.").expect("issue");
    world.alice().comment(REPO, issue, "/compare semver.py").expect("said");
    let first = world.until_said(issue, "is on it").await;
    assert!(first.contains("`/compare` asks for a budget of $500.00, which is cut to the usual $5.00."), "{first}");
    let task = world.until_state("awaiting-review").await;
    assert_eq!((task.granted.micro_usd, task.granted.actions), (5_000_000, 30));
}
