//! Several models with different roles, and one that does not support tools.

use crate::stuck::small_and_big;
use crate::world::{REPO, World, next_second, single};
use caisson::forge::{ForgeReads, RepoRef};
use devforge::Access;
use domain::{Event, FallbackReason, VerdictKind};

const WORKS: &str = r#"
name = "the worker"
[[turn]]
forbids = ["read-only; you change nothing"]
call = [{ name = "bash", arguments = { command = "echo '# parsed' >> semver.py" } }]
[[turn]]
expects = ["Compare parsed numbers"]
call = [{ name = "bash", arguments = { command = "echo '# numbers' >> semver.py" } }, { name = "done", arguments = { summary = "worked" } }]
[[turn]]
call = [{ name = "done", arguments = { summary = "worked" } }]
"#;

const PLANS: &str = r#"
name = "the planner"
[[turn]]
expects = ["This task is read-only"]
call = [{ name = "done", arguments = { summary = "Compare parsed numbers instead of text." } }]
"#;

/// The models that answered, in order.
async fn answering_models(world: &World) -> Vec<String> {
    let named = |event: &Event| match event {
        Event::TurnCompleted { model, .. } => Some(model.clone()),
        _ => None,
    };
    world.log().await.iter().filter_map(named).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_the_planners_and_its_fix_the_workers() {
    let dir = tempfile::tempdir().expect("a directory");
    let world = World::of_models(WORKS, &small_and_big(dir.path(), PLANS)).await;
    let issue = world.alice().open_issue(REPO, "How would you compare?", "/plan").expect("issue");
    world.until_said(issue, "Compare parsed numbers").await;
    world.until_state("awaiting-review").await;
    assert_eq!(answering_models(&world).await, ["scripted: the planner"]);
    world.alice().comment(REPO, issue, "/fix").expect("said");
    world.until("a pull request", |task| task.pull.is_some()).await;
    assert_eq!(answering_models(&world).await[..2], ["scripted: the planner", "scripted: the worker"]);
}

const CARRIES_OUT: &str = r#"
name = "the worker"
[[turn]]
text = "never said: the planner answered first"
[[turn]]
expects = ["1. read both versions", "2. compare their numbers"]
forbids = ["read-only; you change nothing"]
call = [{ name = "bash", arguments = { command = "echo '# parsed' >> semver.py" } }, { name = "done", arguments = { summary = "worked" } }]
[[turn]]
call = [{ name = "done", arguments = { summary = "worked" } }]
"#;

/// A numbered list after `/fix` is the plan, in place of the planner's.
#[tokio::test(flavor = "multi_thread")]
async fn a_persons_own_list_is_the_plan_that_is_carried_out() {
    carries_out(&["/fix\n1. read both versions\n2. compare their numbers"]).await;
}

/// So is one in a comment of its own, before a bare `/fix`.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_in_a_comment_is_the_plan_that_a_bare_fix_carries_out() {
    carries_out(&["I would do it so:\n\n1. read both versions\n2. compare their numbers", "/fix"]).await;
}

/// One that was deleted before the `/fix`, and one of somebody else, are not carried out.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_stands_no_more_or_is_another_persons_is_not_carried_out() {
    let dir = tempfile::tempdir().expect("a directory");
    let world = World::of_models(CARRIES_OUT, &small_and_big(dir.path(), PLANS)).await;
    world.forge.add_collaborator(REPO, "bob", Access::Write).expect("a right");
    let issue = world.alice().open_issue(REPO, "How would you compare?", "/plan").expect("issue");
    world.until_state("awaiting-review").await;
    let list = world.alice().comment(REPO, issue, "1. read both versions\n2. delete everything").expect("said");
    world.bob().comment(REPO, issue, "1. something else\n2. altogether").expect("said");
    world.heard(issue).await;
    world.alice().delete_comment(REPO, list).expect("deleted");
    world.alice().comment(REPO, issue, "/fix").expect("said");
    let task = world.until("a plan that is carried out", |task| !task.kind.reads_only()).await;
    let steps: Vec<_> = task.steps.iter().map(|step| step.text.as_str()).collect();
    assert!(steps.iter().all(|step| !step.contains("else") && !step.contains("both")), "{steps:?}");
    let words = |event| if let Event::WidenedToFix { words } = event { Some(words) } else { None };
    assert_eq!(world.log().await.into_iter().find_map(words).as_deref(), Some(""), "the plan as it stands");
}

/// One that was edited is asked for again, and the planner's is not carried out in its place; a host of the `/fix` itself is judged by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_was_edited_lets_nothing_begin() {
    let dir = tempfile::tempdir().expect("a directory");
    let world = World::of_models(CARRIES_OUT, &small_and_big(dir.path(), PLANS)).await;
    let issue = world.alice().open_issue(REPO, "How would you compare?", "/plan").expect("issue");
    world.until_state("awaiting-review").await;
    let list = world.alice().comment(REPO, issue, "1. read bth versions\n2. compare their numbers").expect("said");
    next_second().await;
    let mended = "1. read both versions\n2. compare their numbers";
    world.alice().edit_comment(REPO, list, mended).expect("edited");
    world.alice().comment(REPO, issue, "/fix\n/deny nobody.example").expect("said");
    world.until_said(issue, "or from a list of steps that was").await;
    world.until_said(issue, "nobody allowed `nobody.example`").await;
    assert!(world.task().await.kind.reads_only(), "nothing began");
    for words in [mended, "/fix"] {
        world.alice().comment(REPO, issue, words).expect("said");
    }
    let task = world.until("a plan that is carried out", |task| !task.kind.reads_only()).await;
    let steps: Vec<_> = task.steps.iter().map(|step| step.text.as_str()).collect();
    assert_eq!(steps, ["read both versions", "compare their numbers"]);
}

async fn carries_out(comments: &[&str]) {
    let dir = tempfile::tempdir().expect("a directory");
    let world = World::of_models(CARRIES_OUT, &small_and_big(dir.path(), PLANS)).await;
    world.push(&[(".caisson.toml", "test = \"true\"\n")]);
    let issue = world.alice().open_issue(REPO, "How would you compare?", "/plan").expect("issue");
    world.until_state("awaiting-review").await;
    for words in comments {
        world.alice().comment(REPO, issue, words).expect("said");
    }
    let task = world.until_state("final-review").await;
    let steps: Vec<_> = task.steps.iter().map(|step| step.text.as_str()).collect();
    assert_eq!(steps, ["read both versions", "compare their numbers"]);
    let list = world.log().await.into_iter().find_map(|event| match event {
        Event::PlanUpdated { by, .. } => by.map(|by| by.login),
        _ => None,
    });
    assert_eq!(list.as_deref(), Some("alice"));
    let pull = task.pull.expect("a pull request");
    let body = world.look().pull(&RepoRef::new("lab", "shop"), pull).await.expect("the pull request").body;
    assert!(body.contains("- [ ] read both versions\n- [ ] compare their numbers"), "{body}");
    assert!(!body.contains("Compare parsed numbers"), "{body}");
}

/// A command with a model of its own is answered by it, and others of its kind by their role's.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_has_a_model_of_its_own() {
    let dir = tempfile::tempdir().expect("a directory");
    let (planner, explainer) = (dir.path().join("planner.toml"), dir.path().join("explainer.toml"));
    std::fs::write(&planner, PLANS).expect("written");
    std::fs::write(&explainer, PLANS.replace("the planner", "the explainer")).expect("written");
    let own = format!(
        "{}[[model]]\nid = \"own\"\nkind = \"scripted\"\nscript = \"{}\"\n[commands.explain]\nmodel = \"own\"\n",
        small_and_big(dir.path(), PLANS),
        explainer.display()
    );
    let world = World::of_models(WORKS, &own).await;
    let issue = world.alice().open_issue(REPO, "How does it compare?", "/explain why?").expect("issue");
    world.until_said(issue, "Compare parsed numbers").await;
    assert_eq!(answering_models(&world).await, ["scripted: the explainer"]);
    let listed = crate::orders::said(&crate::orders::caisson(&world, &["model", "list"]).await);
    assert!(listed.contains("/explain"), "{listed}");
}

/// In each role, the repository's content is only shown to the models that it lists.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_lists_models_is_shown_to_no_other() {
    let dir = tempfile::tempdir().expect("a directory");
    let near = dir.path().join("near.toml");
    let works = WORKS.replace("the worker", "the near one");
    std::fs::write(
        &near,
        format!("{works}[[turn]]\ncall = [{{ name = \"done\", arguments = {{ summary = \"worked\" }} }}]\n"),
    )
    .expect("written");
    let tables = format!(
        "[[model]]\nid = \"far\"\nkind = \"scripted\"\nscript = \"script.toml\"\nroles = [\"worker\", \"reviewer\"]\nby_name = true\n\
         [[model]]\nid = \"near\"\nkind = \"scripted\"\nscript = \"{}\"\n",
        near.display()
    );
    let mut world = World::of_models("name = \"the far one\"\n[[turn]]\ntext = \"never asked\"\n", &tables).await;
    world.reconfigure(|text| text.replacen("key = \"shop\"", "key = \"shop\"\nmodels = [\"near\"]", 1)).await;
    let refused = world.alice().open_issue(REPO, "Compare parsed numbers", "/fix --model far").expect("issue");
    world.until_said(refused, "--model far").await;
    let issue = world.alice().open_issue(REPO, "Compare parsed numbers", "/fix").expect("issue");
    world.until("a pull request", |task| task.pull.is_some()).await;
    world.alice().comment(REPO, issue, "/model far").expect("said");
    world.until_said(issue, "people name none").await;
    let asked = answering_models(&world).await;
    assert!(!asked.is_empty() && asked.iter().all(|name| name == "scripted: the near one"), "{asked:?}");
}

const FIRST: &str = r#"
name = "the first"
[[turn]]
text = "never said: it is away"
[[turn]]
text = "never said: it is away"
[[turn]]
expects = ["once more, please"]
call = [
  { name = "bash", arguments = { command = "echo '# once more' >> semver.py" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
]
"#;

const SPARE: &str = r#"
name = "the spare"
[[turn]]
call = [{ name = "bash", arguments = { command = "echo '# by the spare' >> semver.py" } }]
[[turn]]
call = [
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
  { name = "bash", arguments = { command = "true" } },
]
"#;

/// The worker and its fallback.
fn with_spare(dir: &std::path::Path) -> String {
    let spare = dir.join("spare.toml");
    std::fs::write(&spare, SPARE).expect("written");
    format!(
        "[[model]]\nid = \"big\"\nkind = \"scripted\"\nscript = \"script.toml\"\nroles = [\"worker\"]\nfallback = [\"spare\"]\n\
         [[model]]\nid = \"spare\"\nkind = \"scripted\"\nscript = \"{}\"\n",
        spare.display()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_answers_while_the_first_is_away_and_the_next_checkpoint_goes_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut world = World::of_models(FIRST, &with_spare(dir.path())).await;
    world.model.set_away(true);
    world.model.set_price(3_000_000, 15_000_000);
    world.alice().open_issue(REPO, "Say something", "/fix").expect("issue");
    world.until("an answer of the spare", |task| task.turn >= 1).await;
    // The log says which model answers now, so after a restart the same one is asked, and not the unavailable one.
    world.kill();
    world.start().await;
    let task = world.until("a checkpoint", |task| !task.checkpoints.is_empty()).await;
    assert_eq!(answering_models(&world).await, ["scripted: the spare", "scripted: the spare"]);
    let switches = |log: &[Event]| {
        let to = |event: &Event| match event {
            Event::ModelCallUncharged { fallback: Some(it), .. } => Some((it.from.clone(), it.to.clone(), it.why)),
            _ => None,
        };
        log.iter().filter_map(to).collect::<Vec<_>>()
    };
    assert_eq!(switches(&world.log().await), [("big".to_owned(), "spare".to_owned(), FallbackReason::Away)]);
    assert_eq!(
        (task.answering, task.model_worst, task.model_starts),
        (None, 0, 0),
        "the next one is the first's again"
    );
    assert_eq!(task.spent.micro_usd, 0, "the one that answered costs nothing");
    let pull = task.pull.expect("a pull request");
    world.until_said(pull, "the model big could not be reached: spare is asked from then on").await;
    world.model.set_away(false);
    world.alice().comment(REPO, pull, "/revise once more, please").expect("said");
    let task = world.until("an answer of the first", |task| task.turn >= 3).await;
    assert_eq!(answering_models(&world).await[2..], ["scripted: the first"]);
    assert!(task.spent.micro_usd > 0, "and this one has a price");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_every_model_of_a_list_refuses_its_key_the_task_waits_for_a_person_and_pays_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let refused = "name = \"r\"\n[[turn]]\nerror = \"unauthorized\"\n";
    let tables = with_spare(dir.path());
    std::fs::write(dir.path().join("spare.toml"), refused).expect("written");
    let world = World::of_models(refused, &tables).await;
    world.alice().open_issue(REPO, "Say something", "/fix").expect("issue");
    let task = world.until_state("paused").await;
    assert_eq!((task.spent.micro_usd, task.turn, task.answering.as_deref()), (0, 0, Some("big")));
    assert_eq!(
        world.log().await.iter().filter_map(told).collect::<Vec<_>>(),
        [
            "the model big refused the key, or has no credit left: spare is asked from then on, until the next checkpoint",
            "the model spare refused the key, or has no credit left: big is asked from then on, until the next checkpoint",
        ]
    );
}

/// A change of model, in the words of a review.
fn told(event: &Event) -> Option<String> {
    caisson::checkpoint::happened::sentence(event).filter(|said| said.starts_with("the model "))
}

/// Looks only after an example, says that it is done before it is, and then does the work.
const BLOCKS: &str = r##"
name = "one block in each answer"
[[turn]]
expects = ["Versions compare as text", "```bash"]
forbids = ["[tool "]
text = "I would look at the code first."
[[turn]]
expects = ["your last answer holds no block", "```bash\ngrep -rn Versions ."]
text = """
I look.

```bash
cat semver.py
```
"""
[[turn]]
expects = ["return a > b"]
text = "DONE: it compares as it should."
[[turn]]
expects = ["nothing in the tree differs from where you began"]
text = """
Numbers, not text.

semver.py
```python
def newer(a, b):
    return parse(a) > parse(b)


def parse(text):
    return [int(part) for part in text.split(".")]
```

```bash
rm -rf tests
```
"""
[[turn]]
expects = ["only the first block"]
text = """
I run the tests.

```bash
python3 -m unittest -q tests.test_semver
```
"""
[[turn]]
expects = ["action 3 of 5"]
text = "DONE: newer() compares the parsed numbers."
"##;

#[tokio::test(flavor = "multi_thread")]
async fn a_model_without_tools_works_in_blocks_of_text() {
    let world = World::of_models(BLOCKS, &single("text")).await;
    world.alice().open_issue(REPO, "Versions compare as text", "`1.10` sorts before `1.9`.\n\n/fix").expect("issue");
    let task = world.until_state("final-review").await;
    assert_eq!((task.actions, task.verdict.as_ref().map(|v| v.kind)), (3, Some(VerdictKind::Passed)));
    let review = world.until_said(task.pull.expect("a pull request"), "Final review").await;
    for words in ["write_file semver.py", "python3 -m unittest -q tests.test_semver", "compares the parsed numbers"] {
        assert!(review.contains(words), "{words} is missing:\n{review}");
    }
    let returned = |event: &&Event| matches!(event, Event::DoneReturned { .. });
    assert_eq!(world.log().await.iter().filter(returned).count(), 1, "a done over nothing was asked about");
}
