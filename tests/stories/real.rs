//! A real model reads more than fits into its window: as the worker, page by page, and as the summarizer of one long file. Named by `CAISSON_MODEL_URL` (an OpenAI-compatible server with a window of at least
//! `CAISSON_MODEL_WINDOW`, by default 4096). The first is only run by name, because it takes many minutes.

use crate::skipped::skipped;
use crate::world::{REPO, World};
use domain::{Event, SummaryOf};
use std::time::{Duration, Instant};

/// Prints the next page at each run.
const NEXT: &str = "n=$(cat place 2>/dev/null || echo 0)\nn=$((n + 1))\nif [ ! -f \"pages/$n.txt\" ]; then echo THE END; exit 0; fi\necho $n > place\ncat \"pages/$n.txt\"\n\
    echo\nif [ -f \"pages/$((n + 1)).txt\" ]; then echo 'There is more: run sh next.sh again.'; else echo 'THE END. Call done now.'; fi\n";
const WORDS: [&str; 8] = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath"];
const PATIENCE: Duration = Duration::from_secs(50 * 60);

/// About 1,100 tokens, with the page's word in the first, the middle and the last line.
fn page(word: &str) -> String {
    let line = |at: usize| match at {
        0 | 20 => format!("The word of this page is {word}, and here it stands once more.\n"),
        40 => format!("The word of this page is {word}, and here the page ends.\n"),
        _ => "The keeper of the house walks along the river and counts the boats that come home before the evening.\n"
            .to_owned(),
    };
    (0..41).map(line).collect()
}

fn models(url: &str, window: u64) -> String {
    // Without a forced call, models of this size write about the command in place of running it.
    let worker = format!("{}force_tools = true\n", entry(url, window, "small", "worker"));
    format!("{worker}{}", entry(url, window, "short", "summarizer"))
}

fn entry(url: &str, window: u64, id: &str, role: &str) -> String {
    format!(
        "[[model]]\nid = \"{id}\"\nroles = [\"{role}\"]\nkind = \"openai\"\nbase_url = \"{url}\"\nname = \"local\"\nstyle = \"tools\"\n\
         context_tokens = {window}\nmax_output_tokens = 400\nprice_input = 0\nprice_output = 0\n"
    )
}

/// The server, and the window of its model in tokens; none where no server is named.
fn server() -> Option<(String, u64)> {
    let Ok(url) = std::env::var("CAISSON_MODEL_URL") else {
        skipped("model", "CAISSON_MODEL_URL names no server");
        return None;
    };
    Some((url, std::env::var("CAISSON_MODEL_WINDOW").ok().and_then(|text| text.parse().ok()).unwrap_or(4096)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_model_tells_a_file_of_twice_its_window_in_short() {
    let Some((url, window)) = server() else { return };
    let scripted = "[[model]]\nid = \"script\"\nroles = [\"worker\"]\nkind = \"scripted\"\nscript = \"script.toml\"\nstyle = \"tools\"\n\
                    context_tokens = 30000\nmax_output_tokens = 1000\n";
    let script = r#"name = "a worker that is a recording"
[[turn]]
call = [{ name = "read_file", arguments = { path = "book.txt", summary = true } }]
[[turn]]
call = [{ name = "write_file", arguments = { path = "notes.txt", content = "read\n" } }]
[[turn]]
call = [{ name = "done", arguments = { summary = "It is read." } }]
"#;
    let world = World::of_models(script, &format!("{scripted}{}", entry(&url, window, "short", "summarizer"))).await;
    world.push(&[("book.txt", &WORDS.map(page).concat()), (".caisson.toml", "test = \"true\"\n")]);
    world.alice().open_issue(REPO, "Read the book", "/fix").expect("issue");
    let end = Instant::now() + PATIENCE;
    while world.task().await.checkpoint().is_none() {
        assert!(Instant::now() < end, "it takes too long: {:?}", world.task().await.state);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let (mut lines, mut tokens, mut at_most, mut total) = (0, 0, 0, 0);
    for event in world.log().await {
        let Event::Summarised { summary } = event else { continue };
        assert!(!summary.text.trim().is_empty() && !summary.model.contains("script"), "{summary:?}");
        let SummaryOf::Lines { level, from, to, total: all, .. } = summary.of else { panic!("{summary:?}") };
        (tokens, at_most, total) = (tokens + summary.usage.input, at_most.max(summary.usage.total()), all);
        if level == 0 {
            assert_eq!(from, lines + 1, "no line is left out or told twice");
            lines = to;
        }
    }
    eprintln!("{lines} lines in {tokens} tokens of prompts, the largest call {at_most} of {window}");
    let notes: Vec<_> = world
        .log()
        .await
        .into_iter()
        .filter_map(|event| match event {
            Event::ActionFinished { outcome, .. } => outcome.note,
            _ => None,
        })
        .collect();
    assert!(total > 0 && lines == total, "read to line {lines} of {total}: {notes:?}");
    assert!(tokens >= 2 * window && at_most <= window, "{tokens} tokens, at most {at_most}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "many minutes; with CAISSON_MODEL_URL, by name"]
async fn a_real_model_finishes_a_reading_of_twice_its_window() {
    let Some((url, window)) = server() else { return };
    let world = World::of_models("name = \"none\"\n[[turn]]\ntext = \"\"\n", &models(&url, window)).await;
    let pages: Vec<(String, String)> =
        (1..).zip(WORDS).map(|(at, word)| (format!("pages/{at}.txt"), page(word))).collect();
    std::fs::create_dir_all(world.dir.path().join("project/pages")).expect("a folder");
    let mut files: Vec<(&str, &str)> = pages.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.push(("next.sh", NEXT));
    world.push(&files);
    let words = "/fix Run the command `sh next.sh` with the tool bash, once in each answer, until it prints THE END. Change no file. Then call done with one sentence.";
    world.alice().open_issue(REPO, "Read all pages", words).expect("issue");
    let (end, begun) = (Instant::now() + PATIENCE, Instant::now());
    let task = loop {
        let stops = |task: &domain::Task| ["awaiting-review", "final-review", "paused"].contains(&task.state.name());
        let task = world.task().await;
        if task.state.name() == "awaiting-review" && task.checkpoint().is_some_and(|at| at.commit.is_some()) {
            world.approve().await;
            while stops(&world.task().await) && world.task().await.seq == task.seq {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        } else if stops(&task) {
            break task;
        }
        assert!(Instant::now() < end, "it takes too long: {:?} at turn {}", task.state, task.turn);
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    let (log, requests) = (world.log().await, world.model.asked());
    let sent: Vec<String> = requests.iter().map(|request| format!("{:?}", request.turns)).collect();
    let mut told = (0, 0, 0, 0_u64);
    for (at, event) in log.iter().enumerate() {
        match event {
            Event::TurnCompleted { usage, .. } => {
                told.0 += 1;
                told.3 = told.3.max(usage.total());
            }
            Event::Compacted { .. } => told.1 += 1,
            Event::Summarised { summary } => {
                assert!(matches!(summary.of, SummaryOf::Turns { .. }), "{summary:?}");
                told.2 += usize::from(!summary.text.is_empty());
                told.3 = told.3.max(summary.usage.total());
            }
            // A model that answered with words alone is asked in another way, which begins anew.
            Event::ConversationRestarted if matches!(log[at - 1], Event::AnotherWay { .. }) => {}
            Event::ConversationRestarted => panic!("the conversation did not fit: {log:#?}"),
            _ => {}
        }
    }
    eprintln!(
        "{} answers, shortened {} times, {} summaries, largest call {} of {window} tokens, {} tokens in all, {} actions, ended {} in {} s",
        told.0,
        told.1,
        told.2,
        told.3,
        task.spent.tokens,
        task.actions,
        task.state.name(),
        begun.elapsed().as_secs()
    );
    for word in WORDS {
        let end = format!("The word of this page is {word}, and here the page ends.");
        assert!(
            // In a window of this size a result is shown with its beginning and its end.
            sent.iter().any(|text| text.contains(&end)),
            "the page of {word} was not read to its end: {:?}",
            task.state
        );
    }
    assert!(told.3 <= window, "a call of {} tokens", told.3);
    assert!(told.1 > 0 && task.spent.tokens > 2 * window);
    assert!(!format!("{:?}", task.state).contains("ContextFull"), "{:?}", task.state);
}
