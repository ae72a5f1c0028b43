//! Anthropic's prompt cache, simulated: a request finds what an earlier one wrote at a mark only within some blocks before its own marks
//! (docs.anthropic.com/en/docs/build-with-claude/prompt-caching). The next turn has to read nearly all of the prompt before it.

use caisson::config::process::ModelKind;
use domain::Event;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::recordings::{acted, answer, began, long, sent, several_at_once};

/// How many blocks are looked at from a mark backwards, the marked one included.
const LOOK_BACK: usize = 20;
/// Part of the prompt before that each request reads, in percent.
const ENOUGH: usize = 90;

/// A request in the order of its prefix: tools, system text, messages.
#[derive(Default)]
struct Prompt {
    /// Behind each block: a hash of everything up to there, and its length.
    ends: Vec<(u64, usize)>,
    /// The marked blocks.
    marks: Vec<usize>,
}

impl Prompt {
    fn of(body: &Value) -> Self {
        let mut prompt = Prompt::default();
        let (mut hasher, mut length) = (DefaultHasher::new(), 0);
        let mut add = |role: &str, block: &Value| {
            let mut block = block.clone();
            if block.as_object_mut().is_some_and(|fields| fields.remove("cache_control").is_some()) {
                prompt.marks.push(prompt.ends.len());
            }
            let text = format!("{role} {block}");
            text.hash(&mut hasher);
            length += text.len();
            prompt.ends.push((hasher.finish(), length));
        };
        add("tools", &body["tools"]);
        body["system"].as_array().expect("blocks").iter().for_each(|block| add("system", block));
        for message in body["messages"].as_array().expect("messages") {
            let role = message["role"].as_str().expect("a role");
            message["content"].as_array().expect("blocks").iter().for_each(|block| add(role, block));
        }
        prompt
    }

    fn length(&self) -> usize {
        self.ends.last().map_or(0, |(_, length)| *length)
    }

    /// The length of the longest part that the cache has.
    fn read(&self, cache: &HashSet<u64>) -> usize {
        let near = self.marks.iter().flat_map(|mark| &self.ends[(mark + 1).saturating_sub(LOOK_BACK)..=*mark]);
        near.filter(|(hash, _)| cache.contains(hash)).map(|(_, length)| *length).max().unwrap_or(0)
    }

    /// What it adds to the cache.
    fn written(&self) -> impl Iterator<Item = u64> {
        self.marks.iter().map(|mark| self.ends[*mark].0)
    }
}

/// What each request but the first reads of the cache, in percent of the prompt before it.
fn shares(bodies: &[Value]) -> Vec<usize> {
    let (mut cache, mut before, mut shares) = (HashSet::new(), 0, Vec::new());
    for prompt in bodies.iter().map(Prompt::of) {
        shares.extend((prompt.read(&cache) * 100).checked_div(before));
        cache.extend(prompt.written());
        before = prompt.length();
    }
    shares
}

/// Turns with few calls and turns with fifteen, which with their results are more blocks than are looked back over.
fn with_long_turns() -> Vec<Event> {
    let mut log = began("Sums are wrong", "`add(1, 2)` gives -1.");
    let mut number = 0;
    for (turn, count) in (1..).zip([1, 2, 3, 15, 1, 15, 15, 2, 1]) {
        let read = |at: u32| ("read_file", json!({ "path": format!("src/part{turn}_{at}.py") }));
        let calls: Vec<(&str, Value)> = (0..count).map(read).collect();
        log.push(answer(turn, "I look further.", &calls));
        for index in 0..count {
            number += 1;
            log.extend(acted(number, turn, index, 0, &format!("{turn} {index}\n").repeat(300)));
        }
    }
    log
}

#[tokio::test]
async fn each_request_reads_nearly_all_of_the_one_before_from_the_cache() {
    for log in [with_long_turns(), several_at_once(), long()] {
        let bodies = sent(ModelKind::Anthropic, &log).await.seen();
        assert!(bodies.iter().all(|body| Prompt::of(body).marks.len() <= 4), "the vendor takes four");
        let shares = shares(&bodies);
        assert!(shares.len() >= 4 && shares.iter().all(|share| *share >= ENOUGH), "{shares:?}");
    }
}

#[tokio::test]
async fn without_the_mark_of_the_request_before_a_long_turn_would_read_next_to_nothing() {
    let mut bodies = sent(ModelKind::Anthropic, &with_long_turns()).await.seen();
    for body in &mut bodies {
        let Some((_newest, older)) = body["messages"].as_array_mut().expect("messages").split_last_mut() else {
            panic!("no messages")
        };
        for block in older.iter_mut().flat_map(|message| message["content"].as_array_mut().expect("blocks")) {
            block.as_object_mut().expect("a block").remove("cache_control");
        }
    }
    let shares = shares(&bodies);
    let is_long = |turn: usize| [4, 6, 7].contains(&turn);
    for (turn, share) in (1..).zip(&shares) {
        assert_eq!(*share < ENOUGH, is_long(turn), "turn {turn}: {shares:?}");
    }
}
