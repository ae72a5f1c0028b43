//! What actions of an agent leave for each other: a directory, variables, moved files, a background process, a long output.

use crate::world::{REPO, World};
use domain::{Event, Outcome};

const SCRIPT: &str = r#"
name = "actions go on from each other"
[[turn]]
expects = ["Versions compare as text"]
text = "I look around."
call = [
  { name = "bash", arguments = { command = "mkdir -p notes/raw && cd notes/raw && export NAME=kept" } },
  { name = "bash", arguments = { command = "echo $NAME > here.txt; seq 1 20000" } },
  { name = "move_file", arguments = { from = "notes/raw/here.txt", to = "docs/deep/there.txt" } },
  { name = "delete_file", arguments = { path = "tests/test_semver.py" } },
  { name = "bash", arguments = { command = "exec sleep 1000", background = true } },
]
[[turn]]
expects = ["Note: whole output: read_file ", "existing tests stay as they are", "runs in the background, at most until the next checkpoint"]
text = "I mend it."
call = [
  { name = "edit_file", arguments = { path = "semver.py", old = "return a > b", new = "return parse(a) > parse(b)", edits = [
    { old = "def newer", new = "def parse(text):\n    return [int(part) for part in text.split('.')]\n\n\ndef newer" },
  ] } },
  { name = "bash", arguments = { command = "cat ../../docs/deep/there.txt; pwd" } },
]
[[turn]]
expects = ["a background process ended at the checkpoint", "kept"]
text = "It is done."
call = [ { name = "done", arguments = { summary = "newer() compares the parsed numbers." } } ]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn actions_go_on_from_each_other_and_the_review_tells_them() {
    let world = World::new(SCRIPT).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    let review = world.until_said(pull, "### Checkpoint 1 ").await;
    for told in [
        "notes/raw/here.txt → docs/deep/there.txt",
        "started in the background",
        "⛔ refused: ",
        "files: + ",
        "sandbox's own word",
        "What action 5 started in the background was ended at this checkpoint",
    ] {
        assert!(review.contains(told), "{told}: {review}");
    }
    assert!(!review.contains(".caisson"), "what is kept beside the workspace is in no commit: {review}");
    world.approve().await;
    world.until_state("final-review").await;
    let ended = world.log().await.into_iter().filter_map(|event| match event {
        Event::ActionFinished { outcome, .. } => Some(outcome),
        _ => None,
    });
    let ended: Vec<Outcome> = ended.collect();
    assert_eq!(ended.len(), 7);
    let notes: Vec<_> = ended.iter().map(|outcome| outcome.note.as_deref().unwrap_or_default()).collect();
    assert!(notes[0].starts_with("in ") && notes[0].ends_with("/notes/raw"), "{notes:?}");
    assert_eq!(notes[5], "a background process ended at the checkpoint");
    assert!(ended[1].whole.as_deref().is_some_and(|path| path.ends_with("/2.log")), "{:?}", ended[1].whole);
    let touched = |at: usize| ended[at].touched.clone().expect("looked at");
    assert_eq!(touched(1).created, ["notes/raw/here.txt"]);
    assert_eq!(
        (touched(2).created, touched(2).deleted),
        (touched_names("docs/deep/there.txt"), touched_names("notes/raw/here.txt"))
    );
    assert_eq!(ended[3].touched, None, "it was refused before it ran");
    assert_eq!((touched(5).changed, touched(5).unseen), (touched_names("semver.py"), None));
    assert_eq!(
        (touched(6).changes(), touched(6).read),
        (0, touched_names("docs/deep/there.txt")),
        "the checkpoint was the host's"
    );
    assert!(ended[6].text.starts_with("kept\n") && ended[6].text.ends_with("/notes/raw\n"), "{}", ended[6].text);
}

const FLOOD: &str = r#"
name = "prints 100 MB"
[[turn]]
expects = ["Versions compare as text"]
text = "I print."
call = [ { name = "bash", arguments = { command = "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo the end" } } ]
[[turn]]
expects = ["the end", "Note: whole output: read_file "]
text = "It is done."
call = [ { name = "done", arguments = { summary = "newer() compares the parsed numbers." } } ]
"#;

/// `protocol::runner::MAX_TEXT` limits every result that the host takes from a sandbox.
#[tokio::test(flavor = "multi_thread")]
async fn of_an_output_of_100_mb_the_host_keeps_little() {
    let world = World::new(FLOOD).await;
    let size = || -> u64 {
        let files = std::fs::read_dir(&world.config.state_dir).expect("the state directory").flatten();
        let store = files.filter(|file| file.file_name().to_string_lossy().starts_with("caisson.db"));
        store.filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum()
    };
    let before = size();
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until("its end", |task| task.turn >= 2).await;
    let outcome = world.log().await.into_iter().find_map(|event| match event {
        Event::ActionFinished { outcome, .. } => Some(outcome),
        _ => None,
    });
    let outcome = outcome.expect("an action");
    assert!(outcome.text.len() as u64 <= protocol::runner::MAX_TEXT, "{}", outcome.text.len());
    assert!(outcome.dropped_bytes > 99_000_000 && outcome.text.ends_with("the end\n"));
    assert!(size() < before + (8 << 20), "{} bytes more", size() - before);
}

fn touched_names(one: &str) -> Vec<String> {
    vec![one.to_owned()]
}
