//! The fallbacks of models that are asked beside the work: a person's question, a second look, summaries. The server of the first model
//! refuses its key; what it was charged is taken back, and the next one's answer is charged by the next one's price. Also fallbacks of the work
//! whose window is too small.

use crate::missing_models::switches;
use crate::second::{LOOKS, WORKS};
use crate::summaries::{big, models, script, summaries, talks, whole};
use crate::world::{FIX, REPO, World};
use caisson::store::CostBy;
use domain::{Event, FallbackReason};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

const REFUSES: &str = "error = \"unauthorized\"\n";

/// An entry without a role that follows this recording.
fn spare(dir: &Path, recording: &str) -> String {
    let path = dir.join("spare.toml");
    std::fs::write(&path, recording).expect("written");
    format!(
        "[[model]]\nid = \"spare\"\nkind = \"scripted\"\nscript = \"{}\"\nstyle = \"tools\"\n\
         context_tokens = 16000\nmax_output_tokens = 1000\n",
        path.display()
    )
}

/// Answers one question.
const ANSWERS: &str = "name = \"the spare\"\n[[turn]]\nexpects = [\"alice asks:\"]\ntext = \"It compares numbers.\"\n\
                       usage = { input = 500, output = 40 }\n";

/// A worker whose questions are refused, with a fallback that follows this recording.
async fn asked_of(dir: &Path, recording: &str) -> (World, u64) {
    asked_of_all("\"spare\"", &spare(dir, recording)).await
}

/// As [`asked_of`], with these fallbacks and their entries.
async fn asked_of_all(fallback: &str, tables: &str) -> (World, u64) {
    let (world, pull) = at_review(fallback, tables).await;
    world.alice().comment(REPO, pull, "/ask what does semver.py do now?").expect("said");
    (world, pull)
}

/// As [`asked_of_all`], before the question.
async fn at_review(fallback: &str, tables: &str) -> (World, u64) {
    let first = format!(
        "[[model]]\nid = \"small\"\nkind = \"scripted\"\nscript = \"script.toml\"\nroles = [\"worker\"]\nstyle = \"tools\"\n\
         fallback = [{fallback}]\n"
    );
    let works = format!("{FIX}\n[[conversation]]\nwhen = \"alice asks:\"\n[[conversation.turn]]\n{REFUSES}");
    let world = World::of_models(&works, &format!("{first}{tables}")).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let pull = world.until_state("awaiting-review").await.pull.expect("a pull request");
    world.model.set_price(3_000_000, 15_000_000);
    (world, pull)
}

/// Worst cases of the calls for questions, and the models of the stored answers with the lengths of these.
async fn replies(world: &World) -> (Vec<u64>, Vec<(String, usize)>) {
    let (mut worst, mut answers) = (Vec::new(), Vec::new());
    for event in world.log().await {
        match event {
            Event::ReplyStarted { worst_micro_usd, .. } => worst.push(worst_micro_usd),
            Event::Replied(reply) => answers.push((reply.model, reply.text.len())),
            _ => {}
        }
    }
    (worst, answers)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_by_the_fallback_and_charged_to_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let (world, pull) = asked_of(dir.path(), ANSWERS).await;
    let shown = world.until_said(pull, "from the task's log and files").await;
    assert!(shown.contains("scripted: the spare") && shown.contains("It compares numbers."), "{shown}");
    let (worst, answers) = replies(&world).await;
    assert!(worst.len() == 2 && worst[0] > 0 && worst[1] == 0, "each by its own price: {worst:?}");
    assert_eq!((answers.len(), answers[0].1, answers[1].0.as_str()), (2, 0, "scripted: the spare"), "{answers:?}");
    let task = world.task().await;
    assert_eq!((task.spent.micro_usd, task.reply_worst), (0, 0), "what the first was charged is taken back");
    let costs = world.store().costs(CostBy::Model, 0).await.expect("read");
    let of = costs.iter().find(|cost| cost.of == "scripted: the spare").expect("its own line");
    assert_eq!((of.calls, of.input, of.output), (1, 500, 40));
    let tokens: i64 = costs.iter().map(|cost| cost.input + cost.output).sum();
    assert_eq!(task.spent.tokens as i64, tokens, "the task is charged with it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_goes_past_a_fallback_whose_server_finds_it_too_long() {
    let dir = tempfile::tempdir().expect("a directory");
    let full = dir.path().join("full.toml");
    std::fs::write(&full, FULL.1).expect("written");
    let tables = format!(
        "[[model]]\nid = \"full\"\nkind = \"scripted\"\nscript = \"{}\"\nstyle = \"tools\"\n\
         context_tokens = {}\nmax_output_tokens = 1000\n{}",
        full.display(),
        FULL.0,
        spare(dir.path(), ANSWERS)
    );
    let (world, pull) = asked_of_all("\"full\", \"spare\"", &tables).await;
    world.until_said(pull, "It compares numbers.").await;
    let models: Vec<String> = replies(&world).await.1.into_iter().map(|(model, _)| model).collect();
    assert_eq!(models[1..], ["scripted: the tiny", "scripted: the spare"], "both that do not answer are in the log");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fallback_is_asked_though_the_task_ends_meanwhile() {
    let dir = tempfile::tempdir().expect("a directory");
    let (world, pull) = at_review("\"spare\"", &spare(dir.path(), ANSWERS)).await;
    let before = world.model.asked().len();
    world.model.set_thinks(Duration::from_secs(4));
    world.alice().comment(REPO, pull, "/ask what does semver.py do now?").expect("said");
    world.until("a question to the first", |_| world.model.asked().len() > before).await;
    world.alice().comment(REPO, pull, "/stop").expect("said");
    world.until("the end", |task| task.state.ended()).await;
    world.until_said(pull, "It compares numbers.").await;
    let (worst, answers) = replies(&world).await;
    assert!(worst.len() == 2 && worst[0] > 0, "{worst:?}");
    assert!(matches!(answers[..], [(_, 0), (_, 1..)]), "the refusal, and the answer: {answers:?}");
    let task = world.task().await;
    assert_eq!((task.spent.micro_usd, task.reply_worst), (0, 0), "what the first was charged is taken back");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_no_model_answers_is_told_so_once_and_costs_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let (world, pull) = asked_of(dir.path(), &format!("name = \"the spare\"\n[[turn]]\n{REFUSES}")).await;
    world.until_said(pull, "your question is not answered, because the model could not be asked").await;
    let (worst, answers) = replies(&world).await;
    assert_eq!((worst.len(), answers.len()), (2, 2), "each model once: {answers:?}");
    assert!(answers.iter().all(|(_, length)| *length == 0), "{answers:?}");
    let task = world.task().await;
    assert_eq!((task.spent.micro_usd, task.reply_worst), (0, 0));
}

/// The final review of a task whose reviewer refuses, with a fallback that follows this recording.
async fn looked_at_by(dir: &Path, recording: &str) -> (World, String) {
    let path = dir.join("reviewer.toml");
    std::fs::write(&path, format!("name = \"the reviewer\"\n[[turn]]\n{REFUSES}")).expect("written");
    let tables = format!(
        "[[model]]\nid = \"small\"\nkind = \"scripted\"\nscript = \"script.toml\"\nroles = [\"worker\"]\nstyle = \"tools\"\n\
         [[model]]\nid = \"strict\"\nkind = \"scripted\"\nscript = \"{}\"\nroles = [\"reviewer\"]\nfallback = [\"spare\"]\n{}",
        path.display(),
        spare(dir, recording)
    );
    let world = World::of_models(WORKS, &tables).await;
    world.model.set_price(3_000_000, 15_000_000);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("final-review").await;
    let review = world.until_said(task.pull.expect("a pull request"), "### Final review").await;
    let costs = world.store().costs(CostBy::Task, 0).await.expect("read");
    assert_eq!(task.spent.micro_usd as i64, costs[0].micro_usd, "the rows are what the task is charged");
    assert_eq!(task.model_worst, 0);
    (world, review)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_look_is_the_fallbacks_where_the_reviewer_refuses() {
    let dir = tempfile::tempdir().expect("a directory");
    let (world, review) = looked_at_by(dir.path(), &LOOKS.replace("the reviewer", "the spare")).await;
    let (_, look) = review.split_once("**A second look** — by `scripted: the spare`").expect("a second look");
    assert!(look.contains("fails on `1.0-rc1`") && !review.contains("No second look"), "{review}");
    let worst =
        |event| if let Event::SecondLookStarted { worst_micro_usd, .. } = event { Some(worst_micro_usd) } else { None };
    let worst: Vec<u64> = world.log().await.into_iter().filter_map(worst).collect();
    assert!(worst.len() == 2 && worst[0] > 0 && worst[1] == 0, "each by its own price: {worst:?}");
    let costs = world.store().costs(CostBy::Model, 0).await.expect("read");
    let of = |label: &str| costs.iter().find(|cost| cost.of == label).expect("its own line");
    assert_eq!((of("scripted: the spare").input, of("scripted: the spare").output), (700, 30));
    assert_eq!(of("scripted: the reviewer").micro_usd, 0, "what the first was charged is taken back");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_model_of_the_list_looks_again_the_review_names_the_first() {
    let dir = tempfile::tempdir().expect("a directory");
    let (_world, review) = looked_at_by(dir.path(), &format!("name = \"the spare\"\n[[turn]]\n{REFUSES}")).await;
    assert!(review.contains("**No second look** — by `scripted: the reviewer`: "), "{review}");
    assert!(!review.contains("by `scripted: the spare`"), "{review}");
}

#[tokio::test(flavor = "multi_thread")]
async fn older_turns_are_told_by_the_summarizers_fallback() {
    let dir = tempfile::tempdir().expect("a directory");
    let tells =
        "name = \"the spare\"\n[[turn]]\ntext = \"Notes were written thrice.\"\nusage = { input = 700, output = 30 }\n";
    let tables = format!("{}fallback = [\"spare\"]\n{}", models(12_000), spare(dir.path(), tells));
    let world = World::of_models(&talks(&json!({ "error": "unauthorized" })), &tables).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let stored = summaries(&world.log().await);
    assert!(!stored.is_empty() && stored.len().is_multiple_of(2), "{stored:?}");
    for two in stored.chunks(2) {
        assert_eq!((two[0].text.as_str(), two[0].model.as_str()), ("", "scripted: long"));
        assert_eq!(
            (two[1].text.as_str(), two[1].model.as_str()),
            ("Notes were written thrice.", "scripted: the spare")
        );
        assert_eq!(two[0].of, two[1].of);
    }
    let newest = format!("{:?}", world.model.asked().last().expect("a request").turns);
    assert!(newest.contains("told in short by the model scripted: the spare"), "{newest}");
    let costs = world.store().costs(CostBy::Task, 0).await.expect("read");
    assert_eq!(task.spent.tokens as i64, costs[0].input + costs[0].output, "the task is charged with it");
}

/// The parts of a file, then all of them.
const FILE: &str = r#"
name = "the spare"
[[conversation]]
when = "Tell in short what these lines hold."
[[conversation.turn]]
text = "Names and numbers, nothing else."
[[conversation]]
when = "Tell in short what all of these lines"
[[conversation.turn]]
text = "A list from top to bottom."
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_told_by_the_fallback_and_the_first_is_asked_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let read = json!({ "name": "read_file", "arguments": { "path": "big.txt", "summary": true } });
    let bash = |command: &str| json!({ "name": "bash", "arguments": { "command": command } });
    let expects = ["told in short by the model scripted: the spare", "A list from top to bottom.", "Names and numbers"];
    let rest = [bash("echo x > notes.txt"), bash("true"), bash("ls"), bash("pwd")];
    let works = script(
        &[
            json!({ "text": "I read the list.", "call": [read] }),
            json!({ "expects": expects, "text": "Done.", "call": rest }),
        ],
        &[json!({ "when": "Tell in short what", "turn": [{ "error": "unauthorized" }] })],
    );
    let tables = format!(
        "[[model]]\nid = \"small\"\nroles = [\"worker\"]\nkind = \"scripted\"\nscript = \"script.toml\"\nstyle = \"tools\"\n\
         context_tokens = 12000\nmax_output_tokens = 1000\nfallback = [\"spare\"]\n{}",
        spare(dir.path(), FILE)
    );
    let world = World::of_models(&works, &tables).await;
    world.push(&[("big.txt", &big())]);
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    let stored = summaries(&world.log().await);
    let (refused, told): (Vec<_>, Vec<_>) = stored.into_iter().partition(|one| one.text.is_empty());
    assert_eq!(refused.len(), 1, "the model that answered a part is asked for the next: {refused:?}");
    assert!(told.iter().all(|one| one.model == "scripted: the spare"), "{told:?}");
    whole(&told);
    assert_eq!((task.actions, task.model_worst), (5, 0));
}

/// The window and the recording of a model that does not hold the task's first request.
const TINY: (u32, &str) = (2048, "name = \"the tiny\"\n[[turn]]\ntext = \"never asked\"\n");
/// One that says so itself.
const FULL: (u32, &str) = (16_000, "name = \"the tiny\"\n[[turn]]\nerror = \"context_full\"\n");

/// A worker whose key is refused, with a fallback of this window and recording, and these after it.
fn with_tiny(dir: &Path, (window, recording): (u32, &str), others: &str, tables: &str) -> String {
    let tiny = dir.join("tiny.toml");
    std::fs::write(&tiny, recording).expect("written");
    format!(
        "[[model]]\nid = \"small\"\nkind = \"scripted\"\nscript = \"script.toml\"\nroles = [\"worker\"]\nstyle = \"tools\"\n\
         fallback = [\"tiny\"{others}]\n\
         [[model]]\nid = \"tiny\"\nkind = \"scripted\"\nscript = \"{}\"\nstyle = \"tools\"\n\
         prompt = \"long\"\ncontext_tokens = {window}\nmax_output_tokens = 1000\n{tables}",
        tiny.display()
    )
}

/// The work is done by the fallback behind the first one, which does not hold it.
async fn works_behind(tiny: (u32, &str)) {
    let dir = tempfile::tempdir().expect("a directory");
    let works = FIX.replacen("compare versions as numbers", "the spare", 1);
    // The sizes of both are estimated by the counts of the one that answers, so both are sent the same.
    let spare = format!("{}prompt = \"long\"\n", spare(dir.path(), &works));
    let tables = with_tiny(dir.path(), tiny, ", \"spare\"", &spare);
    let world = World::of_models(&format!("name = \"r\"\n[[turn]]\n{REFUSES}"), &tables).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    assert_eq!((task.turn, task.model_worst, task.model_starts), (2, 0, 0));
    let model = |event| if let Event::TurnCompleted { model, .. } = event { Some(model) } else { None };
    let answered: Vec<String> = world.log().await.into_iter().filter_map(model).collect();
    assert_eq!(answered, ["scripted: the spare"; 2]);
    let switch = |from: &str, to: &str, why| (from.to_owned(), to.to_owned(), why);
    let [refused, full] = [FallbackReason::Refused, FallbackReason::Full];
    assert_eq!(switches(&world).await, [switch("small", "tiny", refused), switch("tiny", "spare", full)]);
    let words = "the model tiny has too small a window for the conversation: spare is asked from then on";
    world.until_said(task.pull.expect("a pull request"), words).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fallback_that_does_not_hold_the_conversation_is_left_out_and_the_next_one_works() {
    works_behind(TINY).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fallback_whose_server_finds_the_conversation_too_long_is_left_out_as_well() {
    works_behind(FULL).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_fallback_holds_the_conversation_the_first_models_failure_is_told() {
    let dir = tempfile::tempdir().expect("a directory");
    let tables = with_tiny(dir.path(), TINY, "", "");
    let world = World::of_models(&format!("name = \"r\"\n[[turn]]\n{REFUSES}"), &tables).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("paused").await;
    let state = format!("{:?}", task.state);
    assert!(state.contains("refused the key") && task.spent.micro_usd == 0, "{state}");
}
