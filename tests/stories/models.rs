//! Several models, each for its role; and one that knows no tools.

use crate::world::{REPO, World, single};
use domain::{Event, VerdictKind};

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

/// Who answered, in order.
async fn speakers(world: &World) -> Vec<String> {
    let named = |event: &Event| match event {
        Event::TurnCompleted { model, .. } => Some(model.clone()),
        _ => None,
    };
    world.log().await.iter().filter_map(named).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_the_planners_and_its_fix_the_workers() {
    let dir = tempfile::tempdir().expect("a directory");
    let planner = dir.path().join("planner.toml");
    std::fs::write(&planner, PLANS).expect("written");
    let tables = format!(
        "[[model]]\nid = \"small\"\nkind = \"scripted\"\nscript = \"script.toml\"\nroles = [\"worker\"]\n\
         [[model]]\nid = \"big\"\nkind = \"scripted\"\nscript = \"{}\"\nroles = [\"planner\"]\n",
        planner.display()
    );
    let world = World::of_models(WORKS, &tables).await;
    let issue = world.alice().open_issue(REPO, "How would you compare?", "/plan").expect("issue");
    world.until_said(issue, "Compare parsed numbers").await;
    world.until_state("awaiting-review").await;
    assert_eq!(speakers(&world).await, ["scripted: the planner"]);
    world.alice().comment(REPO, issue, "/fix").expect("said");
    world.until("a pull request", |task| task.pull.is_some()).await;
    assert_eq!(speakers(&world).await[..2], ["scripted: the planner", "scripted: the worker"]);
}

/// Looks only when it was shown how, says that it is done before it is, and then does it.
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
