//! `kill -9` at each boundary of each kind of effect: begun, in the middle, done, closed. After each restart the task continues as if
//! nothing had happened: nothing is posted twice or lost, no action is lost or repeated without a note.

use crate::dice::{Dice, number};
use crate::merge::merging;
use crate::world::{FIX, REPO, World};
use caisson::forge::{ForgeReads as _, RepoRef};
use caisson::task::Boundary;
use domain::{Event, OutcomeStatus, State, Task};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A course of events, and the kinds of effects at which the bot is killed.
#[derive(Clone, Copy, Debug)]
enum Story {
    /// From `/fix` to the final approval.
    Fix,
    /// An approval while the checkpoint is still being published.
    Early,
    /// `/approve next 3`.
    Advance,
    /// `/allow` during an action.
    Hosts,
    /// A task that waits until its sandbox is evicted.
    Suspended,
    /// A pause in the middle of a segment until its sandbox is evicted.
    Kept,
    /// A question before the work, with its answer.
    Ask,
    /// `/rebase` at a checkpoint, killed only after it.
    Rebase,
    /// `/merge` after the final approval.
    Merge,
    /// Its issue is closed.
    Closed,
}

const STORIES: [(Story, &[&str]); 10] = [
    (
        Story::Fix,
        &[
            "prepare",
            "converse",
            "act",
            "seal",
            "push",
            "open_pull",
            "attach",
            "review",
            "rest",
            "open",
            "verify",
            "teardown",
            "ready_pull",
            "show_plan",
            "comment",
            "status_comment",
            "label",
            "commit_status",
        ],
    ),
    (Story::Early, &["recheck"]),
    (Story::Advance, &["advance"]),
    (Story::Hosts, &["egress"]),
    (Story::Suspended, &["shelve"]),
    (Story::Kept, &["keep"]),
    (Story::Ask, &["ask"]),
    (Story::Rebase, &["prepare", "seal", "push", "review"]),
    (Story::Merge, &["merge"]),
    (Story::Closed, &["close_pull", "attach_log"]),
];

/// All kinds of effects as named by `Effect::kind`, read from the source: its match has no `_`, so a new kind is included.
fn kinds() -> BTreeSet<String> {
    let source = include_str!("../../domain/src/effect.rs");
    let body = source.split("fn kind(").nth(1).and_then(|rest| rest.split("\n    }").next()).expect("Effect::kind");
    body.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_kind_of_effect_is_killed_in_a_story() {
    let killed: BTreeSet<String> =
        STORIES.iter().flat_map(|(_, kinds)| kinds.iter().map(|kind| (*kind).to_owned())).collect();
    assert_eq!(killed, kinds(), "give each kind a place in STORIES");
}

impl Story {
    /// Of the actions, one that writes its number; of a newer base, what brings the work onto it and shows it.
    fn is_killed_at(self, kind: &str, key: &str) -> bool {
        match self {
            Story::Rebase => key.ends_with(":2") || kind == "prepare" && key.len() > "prepare:1".len(),
            _ => kind != "act" || key == "act:5",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    Start,
    Middle,
    End,
    Acknowledged,
}

impl Moment {
    /// An effect that waits for nothing has no middle, and is killed at its end.
    fn is(self, at: Boundary) -> bool {
        match (self, at) {
            (Moment::Start, Boundary::Begun)
            | (Moment::Middle, Boundary::Under(3) | Boundary::Done)
            | (Moment::End, Boundary::Done)
            | (Moment::Acknowledged, Boundary::Closed) => true,
            (_, Boundary::Begun | Boundary::Under(_) | Boundary::Done | Boundary::Closed) => false,
        }
    }
}

/// Outside of every sandbox, a file to which actions write their numbers.
struct Ran {
    dir: tempfile::TempDir,
    /// The actions that write their number.
    actions: BTreeSet<u32>,
}

impl Ran {
    fn new(story: Story) -> Self {
        let actions = match story {
            Story::Advance => (1..=10).collect(),
            Story::Kept => BTreeSet::from([1]),
            Story::Rebase => BTreeSet::from([5]),
            Story::Fix | Story::Early | Story::Hosts | Story::Suspended | Story::Ask | Story::Merge | Story::Closed => {
                BTreeSet::from([5, 6])
            }
        };
        Self { dir: tempfile::tempdir().expect("a directory"), actions }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("ran")
    }

    fn times(&self, word: &str) -> usize {
        let text = std::fs::read_to_string(self.path()).unwrap_or_default();
        text.lines().filter(|line| *line == word).count()
    }
}

/// FIX, with its fifth and sixth action writing their numbers.
fn fix(ran: &Path) -> String {
    let note = |n: u32| format!("echo {n} >> {}", ran.display());
    let five = FIX.replace("python3 -m unittest -q", &format!("{}; python3 -m unittest -q", note(5)));
    five.replace("git diff --stat || true", &note(6))
}

async fn world(story: Story, ran: &Path) -> World {
    match story {
        Story::Suspended => {
            World::in_image(&fix(ran), "image = \"local\"\ndisk_floor_mib = 0\nevict_after_s = 1").await
        }
        Story::Kept => {
            let write = format!("echo 1 >> {}; echo 1 >> notes.txt", ran.display());
            let turn = format!("[[turn]]\ncall = [{{ name = \"bash\", arguments = {{ command = \"{write}\" }} }}]\n");
            let sandbox = "image = \"local\"\ndisk_floor_mib = 0\nevict_after_s = 1\n[budget]\nactions = 1";
            World::in_image(&format!("name = \"half a work\"\n{turn}{turn}"), sandbox).await
        }
        Story::Hosts => World::networked(&fix(ran), "").await,
        Story::Advance => {
            let note = |n: u32| {
                format!(
                    "  {{ name = \"bash\", arguments = {{ command = \"echo {n} >> {}; echo {n} >> notes.txt\" }} }},\n",
                    ran.display()
                )
            };
            let turn = |from: u32| format!("[[turn]]\ncall = [\n{}]\n", (from..from + 5).map(note).collect::<String>());
            let mend = r#"[[turn]]
call = [
  { name = "write_file", arguments = { path = "semver.py", content = "def newer(a, b):\n    return [int(x) for x in a.split('.')] > [int(x) for x in b.split('.')]\n" } },
  { name = "done", arguments = { summary = "It compares numbers." } },
]
"#;
            World::new(&format!("name = \"long work\"\n{}{}{mend}", turn(1), turn(6))).await
        }
        Story::Ask => {
            let ask = "[[turn]]\ncall = [{ name = \"ask\", arguments = { question = \"Which one?\" } }]\n[[turn]]";
            World::new(&fix(ran).replacen("[[turn]]", ask, 1)).await
        }
        Story::Merge => {
            let mut world = World::new(&fix(ran)).await;
            merging(&mut world, "command").await;
            world
        }
        Story::Fix => {
            let world = World::new(&fix(ran)).await;
            world.push(&[(".caisson.toml", "artifacts = [\"semver.py\"]\n")]);
            world
        }
        Story::Early | Story::Rebase | Story::Closed => World::new(&fix(ran)).await,
    }
}

/// What a person does, depending on the state; each thing once.
struct Person {
    did: BTreeSet<String>,
    /// Receives boundaries that were reached, to ask for a kill.
    met: UnboundedSender<String>,
    /// Whether pushes are held.
    hold: Arc<AtomicBool>,
}

impl Person {
    fn first(&mut self, what: impl Into<String>) -> bool {
        self.did.insert(what.into())
    }

    /// Does what is due; true when the story has ended.
    async fn act(&mut self, story: Story, world: &World, issue: u64, task: &Task) -> bool {
        let (state, n) = (task.state.name(), task.checkpoints.len());
        let waits = matches!(state, "awaiting-review" | "final-review");
        match story {
            Story::Kept => return state == "paused" && task.suspension == Some(domain::Suspension::Evicted),
            // For example a model call whose answer was lost three times.
            _ if state == "paused" && self.first(format!("resume {}", task.seq)) => {
                world.alice().comment(REPO, issue, "/resume").expect("said");
            }
            Story::Early if state == "publishing" && n == 0 && self.first("early") => {
                world.alice().comment(REPO, issue, "/approve").expect("said");
            }
            // The push is held until the approval was taken up.
            Story::Early if !task.unjudged.is_empty() && self.first("go on") => {
                self.hold.store(false, Ordering::SeqCst);
                self.met.send("go on".to_owned()).expect("heard");
            }
            // It was given before the checkpoint that it would approve, so it is refused when read again.
            Story::Early => return state == "awaiting-review",
            Story::Advance if state == "awaiting-review" && n == 1 && self.first("advance") => {
                world.alice().comment(REPO, issue, "/approve next 3").expect("said");
            }
            Story::Advance => return state == "final-review",
            Story::Hosts if waits && self.first("allow") => {
                world.alice().comment(REPO, issue, "/allow a.example").expect("said");
            }
            Story::Hosts => return !task.hosts.is_empty() && waits,
            Story::Suspended => {
                if state == "awaiting-review" && !world.broker.created.lock().expect("created").is_empty() {
                    return world.store().next_effect(task.id, domain::Queue::Work).await.expect("read").is_none()
                        && !world.broker.workspace("task-1-1").exists();
                }
            }
            Story::Ask if matches!(task.state, State::Asking { number: Some(_), .. }) && self.first("answer") => {
                world.alice().comment(REPO, issue, "The one in semver.py.").expect("said");
            }
            Story::Ask => return state == "awaiting-review",
            Story::Rebase if waits && n == 1 && self.first("rebase") => {
                world.push(&[("NEWS.md", "news\n")]);
                world.alice().comment(REPO, issue, "/rebase").expect("said");
            }
            Story::Rebase => return waits && n == 2 && task.pushed == task.head,
            Story::Closed if state == "awaiting-review" && self.first("close") => {
                world.alice().close(REPO, issue).expect("closed");
            }
            Story::Fix | Story::Merge if waits && self.first(format!("approve {n}")) => world.approve().await,
            Story::Merge if state == "approved" && self.first("merge") => {
                world.alice().comment(REPO, issue, "/merge").expect("said");
            }
            Story::Fix => return state == "approved",
            Story::Closed | Story::Merge => return task.end().is_some(),
        }
        false
    }
}

/// Sender and receiver of reached boundaries, and whether pushes are held.
type Met = (UnboundedSender<String>, UnboundedReceiver<String>, Arc<AtomicBool>);

fn meeting(hold: bool) -> Met {
    let (met, reached) = unbounded_channel();
    (met, reached, Arc::new(AtomicBool::new(hold)))
}

/// Runs the story until nothing is left to do, and kills and restarts the bot whenever `met` reports a boundary.
async fn through(story: Story, world: &mut World, met: Met) -> u64 {
    let (met, mut reached, hold) = met;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let (mut person, limit) = (Person { did: BTreeSet::new(), met, hold }, Instant::now() + Duration::from_secs(400));
    let mut over = false;
    loop {
        if reached.try_recv().is_ok() {
            world.kill();
            world.start().await;
        }
        let task = world.task().await;
        over = over || (task.seq > 0 && person.act(story, world, issue, &task).await);
        let open = world.store().tasks_with_effects().await.expect("read");
        if over && open.is_empty() && reached.is_empty() {
            return issue;
        }
        assert!(Instant::now() < limit, "{story:?} came no further than {:?}; open: {open:?}", task.state);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Nothing was posted twice or lost, no action was lost or repeated without a note.
async fn judge(what: &str, world: &World, issue: u64, ran: &Ran) {
    let (task, log) = (world.task().await, world.log().await);
    let mut ended = Vec::new();
    for event in &log {
        if let Event::ActionFinished { number, outcome } = event {
            ended.push(*number);
            let left = ran.times(&number.to_string());
            let marked = outcome.status == OutcomeStatus::Interrupted;
            assert!(left <= 1, "{what}: action {number} ran {left} times");
            let leaves = ran.actions.contains(number);
            assert!(!leaves || left == 1 || marked, "{what}: action {number} was lost");
        }
    }
    let started: Vec<u32> = log
        .iter()
        .filter_map(|e| if let Event::ActionStarted { number, .. } = e { Some(*number) } else { None })
        .collect();
    assert_eq!(
        (&started, started.len() as u64),
        (&ended, u64::from(task.actions)),
        "{what}: each begun action ended once"
    );
    let used: Vec<u32> =
        log.iter().filter_map(|e| if let Event::DecisionUsed { n, .. } = e { Some(*n) } else { None }).collect();
    assert_eq!(used.len(), used.iter().collect::<BTreeSet<_>>().len(), "{what}: a checkpoint was decided twice");
    let mut said = world.said(issue).await;
    if let Some(pull) = task.pull {
        said.extend(world.said(pull).await);
        let next = world.look().issue(&RepoRef::new("lab", "shop"), pull + 1).await;
        let files = world.look().attachments(&RepoRef::new("lab", "shop"), pull).await.expect("attachments");
        let over = matches!(task.state, State::Approved { .. } | State::Ended { .. });
        let zips = files.iter().filter(|file| file.name.ends_with(".zip")).count();
        assert_eq!(files.len() - zips, usize::from(over), "{what}: the log of actions hangs there once: {files:?}");
        let hang = task.artifacts.is_some_and(|held| held.hang.is_some());
        assert_eq!(zips, usize::from(hang), "{what}: what was taken hangs there once: {files:?}");
        assert!(next.is_err(), "{what}: a second pull request");
    }
    let store = world.by_hand().await;
    let sql = "SELECT key, state FROM effects WHERE kind IN ('comment', 'status_comment', 'review', 'ask')";
    let rows: Vec<(String, String)> = sqlx::query_as(sql).fetch_all(&store).await.expect("read");
    store.close().await;
    for (key, state) in rows {
        let times = said.iter().filter(|text| text.contains(&format!("caisson:1:{key} "))).count();
        let expected = usize::from(state == "done");
        assert_eq!(times, expected, "{what}: {key} is {state}: {said:#?}");
    }
}

/// Kills once at this moment of each of the story's kinds. A kill can also end another effect after the moment at which that one would have
/// been killed; such a kind is killed in a further run of the story.
async fn killed(story: Story, moment: Moment) {
    let kinds =
        STORIES.iter().find(|it| std::mem::discriminant(&it.0) == std::mem::discriminant(&story)).expect("listed").1;
    let mut left: BTreeSet<&str> = kinds.iter().copied().collect();
    for _ in 0..3 {
        left = killed_once(story, moment, left).await;
        if left.is_empty() {
            return;
        }
    }
    panic!("{story:?}, killed at {moment:?}: never reached {left:?}");
}

/// Runs the story once; returns the kinds that were not killed.
async fn killed_once(story: Story, moment: Moment, kinds: BTreeSet<&'static str>) -> BTreeSet<&'static str> {
    let ran = Ran::new(story);
    let mut world = world(story, &ran.path()).await;
    let met = meeting(matches!(story, Story::Early));
    let (say, hold) = (met.0.clone(), met.2.clone());
    let left = Arc::new(Mutex::new(kinds));
    let to_kill = left.clone();
    world.cuts.set(move |row, at| {
        let kind = row.effect.kind();
        if kind == "push" && hold.load(Ordering::SeqCst) {
            return true;
        }
        let here = moment.is(at) && story.is_killed_at(kind, &row.key);
        here && to_kill.lock().expect("whole").remove(kind) && say.send(row.key.clone()).is_ok()
    });
    let issue = through(story, &mut world, met).await;
    let what = format!("{story:?}, killed at {moment:?}");
    judge(&what, &world, issue, &ran).await;
    let left = left.lock().expect("whole");
    left.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fix_that_is_killed_where_each_effect_begins() {
    killed(Story::Fix, Moment::Start).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fix_that_is_killed_in_the_middle_of_each_effect() {
    killed(Story::Fix, Moment::Middle).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fix_that_is_killed_where_each_effect_is_done() {
    killed(Story::Fix, Moment::End).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fix_that_is_killed_where_each_effect_is_acknowledged() {
    killed(Story::Fix, Moment::Acknowledged).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_came_early_is_read_again_through_kills() {
    for moment in [Moment::Start, Moment::Middle, Moment::End, Moment::Acknowledged] {
        killed(Story::Early, moment).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_in_advance_is_used_through_kills() {
    for moment in [Moment::Start, Moment::Middle, Moment::End, Moment::Acknowledged] {
        killed(Story::Advance, moment).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_allowed_through_kills() {
    for moment in [Moment::Start, Moment::Middle, Moment::End, Moment::Acknowledged] {
        killed(Story::Hosts, moment).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_is_put_away_through_kills() {
    for moment in [Moment::Start, Moment::Middle, Moment::End, Moment::Acknowledged] {
        killed(Story::Suspended, moment).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn uncommitted_work_is_taken_into_a_commit_through_kills() {
    for moment in [Moment::Start, Moment::Middle, Moment::End, Moment::Acknowledged] {
        killed(Story::Kept, moment).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_put_once_through_kills() {
    for moment in [Moment::Start, Moment::Middle, Moment::End, Moment::Acknowledged] {
        killed(Story::Ask, moment).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn work_is_brought_onto_a_newer_base_through_kills() {
    for moment in [Moment::Start, Moment::Middle, Moment::End, Moment::Acknowledged] {
        killed(Story::Rebase, moment).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_is_closed_through_kills() {
    for moment in [Moment::Start, Moment::Middle, Moment::End, Moment::Acknowledged] {
        killed(Story::Closed, moment).await;
    }
}

/// Kills at random, in as many tasks as it takes. `make soak` asks for more kills (CAISSON_KILLS); CAISSON_SEED repeats a run.
#[tokio::test(flavor = "multi_thread")]
async fn killed_wherever_the_dice_fall_the_task_goes_on() {
    let wanted = number("CAISSON_KILLS").unwrap_or(20);
    let (dice, seed) = Dice::cast();
    let dice = Arc::new(Mutex::new(dice));
    let mut kills = 0;
    while kills < wanted {
        let ran = Ran::new(Story::Fix);
        let mut world = world(Story::Fix, &ran.path()).await;
        let met = meeting(false);
        let say = met.0.clone();
        let count = Arc::new(AtomicU64::new(0));
        let (counted, rolled, most) = (count.clone(), dice.clone(), wanted - kills);
        let mut left = rolled.lock().expect("whole").roll(60);
        world.cuts.set(move |row, _| {
            if counted.load(Ordering::SeqCst) >= most {
                return false;
            }
            if left > 0 {
                left -= 1;
                return false;
            }
            left = rolled.lock().expect("whole").roll(60);
            counted.fetch_add(1, Ordering::SeqCst);
            say.send(row.key.clone()).is_ok()
        });
        let issue = through(Story::Fix, &mut world, met).await;
        judge(&format!("CAISSON_SEED={seed}"), &world, issue, &ran).await;
        kills += count.load(Ordering::SeqCst);
    }
}
