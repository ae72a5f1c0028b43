//! A real Gitea, whose deliveries pass a listener that loses, doubles and reorders them, and whose answers to the bot pass a proxy that fails; the bot
//! is killed once, and away while a fifth of it is said. Each text is answered as the log of texts says, once, and each task is done, approved, and told of once.
//! `CAISSON_DELIVERIES` says how many texts, reviews and edits; without a Gitea it says so and passes.

use super::failing::Failing;
use super::town::work;
use crate::cuts::Cuts;
use crate::dice::{Dice, number};
use crate::forges::{self, Hand, Lab, LabRepository};
use crate::local_broker::LocalBroker;
use crate::real_forge::configured;
use crate::world::{FIX, World, end};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use caisson::config::Secret;
use caisson::forge::{ForgeReads, RepoRef};
use caisson::store::Store;
use domain::TaskId;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

const PATIENCE: Duration = Duration::from_secs(300);
/// How long requests still fail after the last text was said.
const TROUBLE: Duration = Duration::from_secs(120);
const ISSUES: usize = 8;
/// Issues whose work is done beside them.
const TASKS: usize = 3;

/// Between the forge and the bot: what it was given and has not passed on, and what happened to deliveries.
struct Post {
    dice: Dice,
    to: String,
    http: reqwest::Client,
    held: Vec<(HeaderMap, Bytes)>,
    came: usize,
    lost: usize,
    doubled: usize,
    late: usize,
}

impl Post {
    async fn pass_on(&self, headers: &HeaderMap, body: &Bytes) {
        let mut request = self.http.post(&self.to).body(body.clone());
        for (name, value) in headers.iter().filter(|(name, _)| name.as_str().starts_with("x-")) {
            request = request.header(name, value);
        }
        request.send().await.map(drop).unwrap_or_else(|error| println!("not passed on: {error}"));
    }
}

async fn take(State(post): State<Arc<Mutex<Post>>>, headers: HeaderMap, body: Bytes) {
    let mut post = post.lock().await;
    post.came += 1;
    match post.dice.roll(10) {
        0..3 => post.lost += 1,
        3 | 4 => {
            post.doubled += 1;
            post.pass_on(&headers, &body).await;
            // Gitea numbers a repeated delivery anew.
            let mut again = headers;
            if let Ok(id) = uuid(&mut post.dice).parse() {
                again.insert("x-gitea-delivery", id);
            }
            post.pass_on(&again, &body).await;
        }
        5 | 6 => {
            post.late += 1;
            post.held.push((headers, body));
        }
        _ => post.pass_on(&headers, &body).await,
    }
    if post.held.len() > 3 {
        let count = post.held.len() as u64;
        let at = post.dice.roll(count) as usize;
        let (headers, body) = post.held.remove(at);
        post.pass_on(&headers, &body).await;
    }
}

fn uuid(dice: &mut Dice) -> String {
    format!("{:08x}-0000-4000-8000-{:012x}", dice.roll(1 << 31), dice.roll(1 << 31))
}

/// What the bot has to have said on a number: words, and how often.
type Expected = BTreeMap<u64, BTreeMap<&'static str, usize>>;

const HELP: &str = "A command stands at the beginning of a line";
const NO_TASK: &str = "no task belongs to this issue";
const UNKNOWN: &str = "`/frobnicate` is no command";
const REFUSED: &str = "`bob`: `/fix` is for";
const EDITED: &str = "nothing runs from a text that was changed";
const ELSEWHERE: &str = "`alice`: ";

struct People {
    alice: Hand,
    bob: Hand,
    repo: String,
    issues: Vec<u64>,
    pull: u64,
    head: String,
    wanted: Expected,
    /// Remarks that can still be edited, with their issue.
    remarks: Vec<(u64, u64)>,
}

impl People {
    fn wants(&mut self, on: u64, words: &'static str) {
        *self.wanted.entry(on).or_default().entry(words).or_default() += 1;
    }

    async fn say(&self, who: &Hand, on: u64, text: &str) -> u64 {
        let path = format!("/repos/{}/issues/{on}/comments", self.repo);
        let (status, made) = who.call("POST", &path, json!({ "body": text })).await;
        assert_eq!(status, 201, "{made}");
        made["id"].as_u64().expect("an id")
    }

    async fn step(&mut self, dice: &mut Dice) {
        let on = self.issues[dice.roll(ISSUES as u64) as usize];
        match dice.roll(10) {
            0 | 1 => {
                self.say(&self.alice, on, "/help").await;
                self.wants(on, HELP);
            }
            2 | 3 => {
                self.say(&self.alice, on, "/status").await;
                self.wants(on, NO_TASK);
            }
            4 => {
                self.say(&self.alice, on, "/frobnicate").await;
                self.wants(on, UNKNOWN);
            }
            5 => {
                self.say(&self.bob, on, "/fix").await;
                // A person is refused once on an issue.
                self.wanted.entry(on).or_default().insert(REFUSED, 1);
            }
            6 | 7 => {
                let id = self.say(&self.alice, on, "A remark.").await;
                self.remarks.push((on, id));
            }
            8 => {
                let path = format!("/repos/{}/pulls/{}/reviews", self.repo, self.pull);
                let review = json!({ "event": "COMMENT", "body": "/fix", "commit_id": self.head, "comments": [] });
                let (status, made) = self.alice.call("POST", &path, review).await;
                assert_eq!(status, 200, "{made}");
                self.wants(self.pull, ELSEWHERE);
            }
            _ => {
                self.say(&self.bob, self.pull, "I have read it.").await;
            }
        }
    }

    /// Turns a remark into a command, more than a second after it was posted.
    async fn edit(&mut self, dice: &mut Dice) {
        let (on, id) = self.remarks.swap_remove(dice.roll(self.remarks.len() as u64) as usize);
        let path = format!("/repos/{}/issues/comments/{id}", self.repo);
        let (status, made) = self.alice.call("PATCH", &path, json!({ "body": "/fix" })).await;
        assert_eq!(status, 200, "{made}");
        self.wants(on, EDITED);
    }
}

/// Issues that ask for work.
struct Work {
    alice: Hand,
    issues: Vec<u64>,
    /// How many checkpoints of each were approved.
    approved: BTreeMap<u64, usize>,
}

impl Work {
    async fn begin(lab: &Lab, place: &LabRepository) -> Self {
        let alice = lab.hand("alice");
        let mut issues = Vec::new();
        for n in 0..TASKS {
            issues.push(alice.open_issue(&place.repo, &format!("Work {n}"), "/fix").await);
        }
        Self { alice, issues, approved: BTreeMap::new() }
    }

    /// Approves what waits: a checkpoint by a comment, what is done by a review. Whether all is approved.
    async fn approve(&mut self, store: &Store, repo: &RepoRef) -> bool {
        let rows = store.tasks(100).await.expect("read");
        let mut done = 0;
        for row in rows {
            let (issue, task) = (row.issue.unsigned_abs(), store.task(TaskId(row.id)).await.expect("read"));
            let (checkpoints, given) = (task.checkpoints.len(), self.approved.entry(issue).or_default());
            let Some(pull) = task.pull.filter(|_| *given < checkpoints) else {
                done += usize::from(task.state.name() == "approved");
                continue;
            };
            match task.state.name() {
                "awaiting-review" => {
                    let path = format!("/repos/{repo}/issues/{pull}/comments");
                    let (status, made) = self.alice.call("POST", &path, json!({ "body": "/approve" })).await;
                    assert_eq!(status, 201, "{made}");
                    *given = checkpoints;
                }
                "final-review" => {
                    let head = task.pushed.as_ref().map(|commit| commit.as_str().to_owned()).unwrap_or_default();
                    let (status, made) = self.alice.review(repo, pull, "APPROVED", &head, "").await;
                    assert_eq!(status, 200, "{made}");
                    *given = checkpoints;
                }
                _ => {}
            }
        }
        done == self.issues.len()
    }

    /// What its tasks wait for.
    async fn states(store: &Store) -> Vec<domain::State> {
        let mut states = Vec::new();
        for row in store.tasks(100).await.expect("read") {
            states.push(store.task(TaskId(row.id)).await.expect("read").state);
        }
        states
    }

    /// Waits until all that is wanted was said and all is approved. Of what takes a dozen requests most tries fail, so the forge is well again
    /// after a while.
    async fn settled(
        &mut self,
        (lab, place, store): (&Lab, &LabRepository, &Store),
        wanted: &Expected,
        failing: &Failing,
    ) {
        let began = Instant::now();
        loop {
            let (found, _) = said(lab, place, wanted).await;
            if self.approve(store, &place.repo).await && found == *wanted {
                break;
            }
            failing.armed.store(began.elapsed() < TROUBLE, Ordering::SeqCst);
            if began.elapsed() > PATIENCE {
                panic!("said {found:#?}\nwanted {wanted:#?}\ntasks {:#?}", Self::states(store).await);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        failing.armed.store(false, Ordering::SeqCst);
    }

    /// Each issue has one task, its pull request one review of each checkpoint, and nothing that the bot said was said twice.
    async fn hold(&self, lab: &Lab, place: &LabRepository, store: &Store) {
        let rows = store.tasks(100).await.expect("read");
        assert_eq!(rows.len(), TASKS, "{rows:#?}");
        let mut marks = BTreeSet::new();
        for row in rows {
            let task = store.task(TaskId(row.id)).await.expect("read");
            let pull = task.pull.expect("a pull request");
            let reviews = lab.bot.reviews(&place.repo, pull).await.expect("reviews");
            let mine: Vec<_> = reviews.iter().filter(|review| review.author.login == "caisson").collect();
            let of = |words: &str| mine.iter().filter(|review| review.body.starts_with(words)).count();
            assert_eq!((of("### Checkpoint 1 "), of("### Final review")), (1, 1), "{mine:#?}");
            let mut texts: Vec<String> = mine.into_iter().map(|review| review.body.clone()).collect();
            for number in [row.issue.unsigned_abs(), pull] {
                let comments = lab.bot.comments(&place.repo, number).await.expect("comments");
                texts.extend(comments.into_iter().filter(|it| it.author.login == "caisson").map(|it| it.body));
            }
            for text in texts {
                let mark = text.lines().next_back().filter(|line| line.starts_with("<!-- caisson:"));
                let mark = mark.unwrap_or_else(|| panic!("without a mark: {text}"));
                assert!(marks.insert(mark.to_owned()), "said twice: {text}");
            }
        }
    }
}

/// How often the bot said each of the wanted words, and how much it said in all.
async fn said(lab: &Lab, place: &LabRepository, wanted: &Expected) -> (Expected, usize) {
    let (mut found, mut all) = (Expected::new(), 0);
    for (number, words) in wanted {
        let mut texts = lab.bot.comments(&place.repo, *number).await.expect("comments");
        texts.retain(|text| text.author.login == "caisson");
        all += texts.len();
        let of = |words: &str| texts.iter().filter(|text| text.body.contains(words)).count();
        found.insert(*number, words.keys().map(|words| (*words, of(words))).collect());
    }
    (found, all)
}

async fn people(lab: &Lab, place: &LabRepository) -> People {
    let (alice, bob) = (lab.hand("alice"), lab.hand("bob"));
    let mut issues = Vec::new();
    for n in 0..ISSUES {
        issues.push(bob.open_issue(&place.repo, &format!("Issue {n}"), "Please have a look.").await);
    }
    let head = lab.branch_by("alice", place, "by-hand", &[("calc.txt", "one\n")]);
    let path = format!("/repos/{}/pulls", place.repo);
    let new = json!({ "title": "By hand", "body": "", "head": "by-hand", "base": "main" });
    let limit = Instant::now() + PATIENCE;
    let pull = loop {
        // The forge does not see a new branch at once.
        let (status, made): (u16, Value) = alice.call("POST", &path, new.clone()).await;
        if status == 201 {
            break made["number"].as_u64().expect("a number");
        }
        assert!(Instant::now() < limit, "{status}: {made}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let (repo, wanted, remarks) = (place.repo.to_string(), Expected::new(), Vec::new());
    People { alice, bob, repo, issues, pull, head, wanted, remarks }
}

/// The listener that the repository's deliveries go to, its service, and its address, which the bot has to know as its own.
async fn between(
    lab: &Lab,
    place: &LabRepository,
    to: String,
    seed: u64,
) -> (Arc<Mutex<Post>>, JoinHandle<()>, String) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let here = format!("http://{}", listener.local_addr().expect("an address"));
    let (dice, http) = (Dice::of(seed), reqwest::Client::new());
    let between =
        Arc::new(Mutex::new(Post { dice, to, http, held: Vec::new(), came: 0, lost: 0, doubled: 0, late: 0 }));
    let app = Router::new().fallback(post(take)).with_state(between.clone());
    let serving = tokio::spawn(async move { axum::serve(listener, app).await.expect("served") });
    let address = format!("{here}/webhooks/gitea/shop");
    lab.bot.replace_hook(&place.repo, &address, &Secret::new("sekret")).await.expect("a hook");
    (between, serving, here)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_text_on_a_real_gitea_is_answered_once_whatever_becomes_of_its_delivery() {
    let Some(lab) = forges::real().await else { return };
    // A fixed seed, except in long runs.
    let (mut dice, seed) = match number("CAISSON_DELIVERIES").or(number("CAISSON_SEED")) {
        Some(_) => Dice::cast(),
        None => (Dice::of(1), 1),
    };
    let count = number("CAISSON_DELIVERIES").unwrap_or(150) as usize;
    let (place, dir) = (lab.place("shop").await, tempfile::tempdir().expect("a directory"));
    let to = configured(&lab, &place, dir.path(), "by = []").await.hook_url("shop");
    let (failing, front) = Failing::before(lab.url.clone(), seed).await;
    let file = dir.path().join("caisson.toml");
    let text = std::fs::read_to_string(&file).expect("read").replace("poll_s = 3600", "poll_s = 2");
    let (between, serving, here) = between(&lab, &place, to, seed).await;
    let direct = format!("url = \"{}\"", lab.url);
    let failed = format!("url = \"{front}\"\nbot_url = \"{here}\"");
    assert!(text.contains(&direct), "{text}");
    std::fs::write(&file, text.replace(&direct, &failed)).expect("written");
    std::fs::write(dir.path().join("script.toml"), work()).expect("written");
    let config = Arc::new(caisson::config::Process::load(&file).expect("a configuration"));
    // Its parts beside a forge and a broker are those of every story.
    let mut world = World::new(FIX).await;
    world.kill();
    let broker = LocalBroker::new();
    let (mut runtime, mut bot) = world.begin(config.clone(), broker.clone(), &Cuts::default()).await;
    let store =
        Store::look(caisson::cli::store::location(&config).expect("a place")).await.expect("a store").expect("there");
    let limit = Instant::now() + PATIENCE;
    while store.watermark("shop").await.expect("read").is_none() {
        assert!(Instant::now() < limit, "the first round never ended");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    failing.armed.store(true, Ordering::SeqCst);
    let mut work = Work::begin(&lab, &place).await;
    let (mut people, began) = (people(&lab, &place).await, Instant::now());
    let edits = count / 10;
    let away = count / 5;
    for at in 0..count - edits - away {
        people.step(&mut dice).await;
        work.approve(&store, &place.repo).await;
        if at == count / 2 {
            drop(bot);
            end(runtime);
            // Nobody takes what is delivered meanwhile.
            for _ in 0..away {
                people.step(&mut dice).await;
            }
            failing.armed.store(false, Ordering::SeqCst);
            (runtime, bot) = world.begin(config.clone(), broker.clone(), &Cuts::default()).await;
            failing.armed.store(true, Ordering::SeqCst);
        }
    }
    crate::world::next_second().await;
    crate::world::next_second().await;
    for _ in 0..edits.min(people.remarks.len()) {
        people.edit(&mut dice).await;
    }
    let posted = began.elapsed();
    let all: usize = people.wanted.values().flat_map(BTreeMap::values).sum();
    let limit = Instant::now() + PATIENCE;
    println!("CAISSON_SEED={seed}");
    work.settled((&lab, &place, &store), &people.wanted, &failing).await;
    // What was held back comes now, and two more rounds: nothing is said again.
    let mut post = between.lock().await;
    for (headers, body) in std::mem::take(&mut post.held) {
        post.pass_on(&headers, &body).await;
    }
    println!(
        "{count} things said in {:.1} s, answered after {:.1} s: {} deliveries, {} lost, {} doubled, {} late; {} requests refused, {} unanswered",
        posted.as_secs_f64(),
        began.elapsed().as_secs_f64(),
        post.came,
        post.lost,
        post.doubled,
        post.late,
        failing.refused.load(Ordering::SeqCst),
        failing.unanswered.load(Ordering::SeqCst),
    );
    drop(post);
    while !store.open_deliveries(1, &[]).await.expect("read").is_empty() {
        assert!(Instant::now() < limit, "deliveries stay open");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for _ in 0..2 {
        runtime.spawn(bot.read_now()).await.expect("joined").expect("read");
    }
    assert_eq!(said(&lab, &place, &people.wanted).await, (people.wanted.clone(), all), "CAISSON_SEED={seed}");
    work.hold(&lab, &place, &store).await;
    serving.abort();
    drop(bot);
    end(runtime);
}
