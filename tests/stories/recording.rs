//! An exported task as a recording: the same answers are given again in a fresh world, and the same decisions.

use crate::orders::{caisson, said};
use crate::pictures::png;
use crate::world::{FIX, REPO, World};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::{Event, Request, Verb};
use serde_json::{Value, json};
use std::path::Path;

/// What an exported file holds.
pub struct Exported {
    pub events: Vec<Event>,
    /// The bytes of each picture, by its digest.
    pub pictures: Vec<(String, Vec<u8>)>,
}

impl Exported {
    pub fn load(file: &Path) -> Exported {
        let text = std::fs::read_to_string(file).expect("an exported file");
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let head = lines.next().expect("a first line");
        let (mut events, mut pictures) = (Vec::new(), Vec::new());
        for line in lines {
            match line.get("event") {
                Some(event) => events.push(serde_json::from_value(event.clone()).expect("an event")),
                None => {
                    let data = STANDARD.decode(line["data"].as_str().expect("bytes")).expect("base64");
                    pictures.push((line["picture"].as_str().expect("a digest").to_owned(), data));
                }
            }
        }
        assert_eq!(
            (head["events"].as_u64(), head["pictures"].as_u64()),
            (Some(events.len() as u64), Some(pictures.len() as u64))
        );
        Exported { events, pictures }
    }

    pub fn request(&self) -> &Request {
        let request = self.events.iter().find_map(|event| match event {
            Event::Requested { request } => Some(&**request),
            _ => None,
        });
        request.expect("the first event of every log")
    }

    /// The models' answers as a recording in JSON; what the host answered in their place it says again by itself.
    pub fn script(&self) -> String {
        let turns = self.events.iter().filter_map(|event| match event {
            Event::TurnCompleted { text, calls, model, .. } if model != "the host" => {
                let call = |it: &domain::CallRequest| json!({ "name": it.name, "arguments": it.arguments });
                Some(json!({ "text": text, "call": calls.iter().map(call).collect::<Vec<_>>() }))
            }
            _ => None,
        });
        json!({ "name": "again", "turn": turns.collect::<Vec<_>>() }).to_string()
    }

    /// How many approvals were used.
    pub fn approvals(&self) -> usize {
        let approves = |event: &&Event| matches!(event, Event::DecisionUsed { decision, .. } if matches!(decision.verb, Verb::Approve { .. }));
        self.events.iter().filter(approves).count()
    }
}

/// What a task did, without times, ids and commits: its actions with their ends, its plans, its checkpoints.
fn course(log: &[Event]) -> Vec<String> {
    let told = |event: &Event| match event {
        Event::TurnCompleted { turn, calls, .. } => {
            let actions: Vec<_> = calls.iter().filter_map(|made| made.call.action()).collect();
            Some(format!("turn {turn}: {}", serde_json::to_string(&actions).expect("JSON")))
        }
        Event::ActionFinished { number, outcome } => Some(format!("action {number}: {:?}", outcome.status)),
        Event::PlanUpdated { plan, .. } => Some(format!("plan: {plan}")),
        Event::TreeCaptured { n, tree } => {
            let files: Vec<_> = tree.files.iter().map(|file| (&file.path, file.added, file.removed)).collect();
            Some(format!("tree {n}: {files:?}"))
        }
        Event::Verified { n, verdict, .. } => Some(format!("verified {n}: {:?}", verdict.kind)),
        Event::CheckpointPosted { n, last, .. } => Some(format!("checkpoint {n}, last: {last}")),
        _ => None,
    };
    log.iter().filter_map(told).collect()
}

async fn export(world: &World) -> Exported {
    let file = world.dir.path().join("task.jsonl");
    let out = caisson(world, &["task", "export", "1", "--into", &file.display().to_string()]).await;
    assert!(out.status.success(), "{}", said(&out));
    Exported::load(&file)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exported_task_is_played_again_in_a_fresh_world_to_the_same_end() {
    let first = World::new(FIX).await;
    first.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    for (state, next) in [("awaiting-review", "final-review"), ("final-review", "approved")] {
        first.until_state(state).await;
        first.approve().await;
        first.until_state(next).await;
    }
    let exported = export(&first).await;
    assert_eq!(exported.approvals(), 2);

    let dir = tempfile::tempdir().expect("a directory");
    let script = dir.path().join("again.json");
    std::fs::write(&script, exported.script()).expect("written");
    let model = format!("[model]\nkind = \"scripted\"\nscript = \"{}\"\nstyle = \"tools\"\n", script.display());
    let again = World::of_models("", &model).await;
    let request = exported.request();
    let words = format!("/{} {}", request.kind.name(), request.words);
    again.alice().open_issue(REPO, &request.title, words.trim()).expect("issue");
    for n in 1..=exported.approvals() {
        again.until("the next checkpoint", |task| task.checkpoint().is_some_and(|it| it.n as usize == n)).await;
        again.approve().await;
    }
    let (before, after) = (first.task().await, again.until_state("approved").await);
    assert_eq!(course(&again.log().await), course(&exported.events));
    assert!(course(&exported.events).len() > 10, "{:?}", course(&exported.events));
    assert_eq!(
        (after.state.name(), after.actions, after.checkpoints.len()),
        ("approved", before.actions, before.checkpoints.len())
    );
}

const LOOKS: &str = r#"
name = "draws and looks"
[[turn]]
text = "I draw one."
call = [
  { name = "bash", arguments = { command = "python3 -c \"open('a.png','wb').write(bytes.fromhex('HEX'))\"" } },
  { name = "read_file", arguments = { path = "a.png" } },
]
[[turn]]
text = "It is done."
call = [ { name = "done", arguments = { summary = "A picture." } } ]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_exported_file_holds_the_pictures_of_its_task() {
    let world = World::new(&LOOKS.replace("HEX", &hex::encode(png()))).await;
    world.push(&[(".caisson.toml", "test = \"true\"\n")]);
    let alice = world.alice();
    let issue = alice.open_issue(REPO, "Draw one", "See the picture.").expect("issue");
    let hung = [png(), b"\0".to_vec()].concat();
    alice.attach(REPO, issue, "shot.png", &hung).expect("attached");
    alice.comment(REPO, issue, "/fix").expect("said");
    world.until("both pictures", |task| task.actions == 2 && task.running.is_none()).await;
    world.until("a checkpoint", |task| task.checkpoint().is_some()).await;
    let exported = export(&world).await;
    let bytes: Vec<_> = exported.pictures.iter().map(|(_, bytes)| bytes.clone()).collect();
    assert_eq!(bytes, [hung, png()]);
    let file = world.dir.path().join("task.jsonl");
    let path = file.display().to_string();
    let replayed = said(&caisson(&world, &["task", "replay", "--file", &path]).await);
    assert!(replayed.contains("since the last decision"), "{replayed}");
    let text = std::fs::read_to_string(&file).expect("read");
    std::fs::write(&file, text.replacen("\"data\":\"iVBO", "\"data\":\"iVBP", 1)).expect("written");
    let broken = said(&caisson(&world, &["task", "replay", "--file", &path]).await);
    assert!(broken.contains("has other bytes"), "{broken}");
}
