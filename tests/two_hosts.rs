//! Two hosts on real parts: the program twice, each with its own broker, router and containers, on one PostgreSQL server. Either is killed
//! at random moments; the task continues, and nothing is posted twice. Without an engine or PostgreSQL it prints that and passes.

#[path = "support/postgres.rs"]
mod server;
mod support;

use caisson::store::{Location, Store};
use devforge::Access;
use domain::{Event, Task, TaskId};
use std::process::Command;
use std::time::{Duration, Instant};
use support::dice::{Dice, number};
use support::home::{Home, Serve, term};
use support::skipped;

const SCRIPT: &str = r#"
name = "compare versions as numbers"
[[turn]]
call = [
  { name = "list_files", arguments = { path = "." } },
  { name = "read_file", arguments = { path = "semver.py" } },
  { name = "write_file", arguments = { path = "semver.py", content = "def newer(a, b):\n    return [int(x) for x in a.split('.')] > [int(x) for x in b.split('.')]\n" } },
]
[[turn]]
call = [
  { name = "bash", arguments = { command = "sleep 1; python3 -m unittest -q" } },
  { name = "bash", arguments = { command = "sleep 1; cat semver.py" } },
]
[[turn]]
call = [
  { name = "bash", arguments = { command = "sleep 1; git status --short || true" } },
  { name = "done", arguments = { summary = "newer() compares the parsed numbers." } },
]
# Asked for where a kill took what no commit had yet.
[[turn]]
call = [
  { name = "write_file", arguments = { path = "semver.py", content = "def newer(a, b):\n    return [int(x) for x in a.split('.')] > [int(x) for x in b.split('.')]\n" } },
  { name = "done", arguments = { summary = "newer() compares the parsed numbers." } },
]
[[turn]]
call = [
  { name = "write_file", arguments = { path = "semver.py", content = "def newer(a, b):\n    return [int(x) for x in a.split('.')] > [int(x) for x in b.split('.')]\n" } },
  { name = "done", arguments = { summary = "newer() compares the parsed numbers." } },
]
"#;

/// A repository with a failing test, added by the first host.
async fn add_project(home: &Home) -> (String, String) {
    let project = home.dir.path().join("my-shop");
    std::fs::create_dir(&project).unwrap();
    let test = "import unittest\nfrom semver import newer\n\n\nclass Newer(unittest.TestCase):\n    def test_ten(self):\n        self.assertTrue(newer('1.10.0', '1.9.0'))\n";
    std::fs::write(project.join("semver.py"), "def newer(a, b):\n    return a > b\n").unwrap();
    std::fs::write(project.join("test_semver.py"), test).unwrap();
    for args in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-q", "-m", "A shop"]] {
        let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        assert!(Command::new("git").current_dir(&project).args(who).args(args).status().unwrap().success(), "{args:?}");
    }
    let added = home.run(&["repo", "add", &project.display().to_string(), "--no-try"]);
    assert!(added.status.success(), "{added:?}");
    let (entry, _) = home.entry("my-shop").await;
    (entry.key, format!("{}/{}", entry.owner, entry.name))
}

/// A person who watches the task and approves.
struct Looking {
    store: Store,
    repository: String,
    home: std::sync::Arc<devforge::Devforge>,
    /// The task and its issue.
    task: (TaskId, u64),
    approved: usize,
}

impl Looking {
    async fn task(&self) -> Task {
        self.store.task(self.task.0).await.unwrap()
    }

    async fn log(&self) -> Vec<Event> {
        self.store.log(self.task.0).await.unwrap().into_iter().map(|(_, event)| event).collect()
    }

    /// Requests another task.
    fn ask(&mut self) {
        let person = self.home.as_person("alice");
        let issue = person.open_issue(&self.repository, "Versions compare as text", "/fix").unwrap();
        self.task = (TaskId(self.task.0.0 + 1), issue);
        self.approved = 0;
    }

    /// Approves a new checkpoint; true once nothing is left to do.
    async fn act(&mut self) -> bool {
        let (task, person) = (self.task().await, self.home.as_person("alice"));
        let state = task.state.name();
        if matches!(state, "awaiting-review" | "final-review") && task.checkpoints.len() > self.approved {
            self.approved = task.checkpoints.len();
            match task.checkpoint().and_then(|it| it.commit.clone()).zip(task.pull) {
                Some((commit, pull)) => {
                    person.approve(&self.repository, pull, commit.as_str()).expect("approved");
                }
                // The hosts lost the sandbox before anything was pushed: there is no commit to review on the page.
                None => {
                    assert!(task.pushed.is_none(), "{:?}", task.state);
                    let number = task.pull.unwrap_or(self.task.1);
                    person.comment(&self.repository, number, "/approve").expect("said");
                }
            }
        }
        if state == "paused" {
            person.comment(&self.repository, self.task.1, "/resume").expect("said");
            tokio::time::sleep(Duration::from_secs(3)).await;
        }
        state == "approved" && self.store.tasks_with_effects().await.unwrap().is_empty()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_programs_that_are_killed_at_random_finish_the_task() {
    let Some(mut one) = Home::new("host1").await else { return };
    let Some(server) = server::Server::of_this_process() else { return };
    let url = server.database();
    let script = one.dir.path().join("script.toml");
    std::fs::write(&script, SCRIPT).unwrap();
    one.set("CAISSON_STORE_URL", url.clone());
    one.set("CAISSON_MODEL_SCRIPT", script.display().to_string());
    one.set("CAISSON_FORGE_BOT_URL", format!("http://127.0.0.1:{}", one.ports[0]));
    let (_, repository) = add_project(&one).await;
    one.forge.add_person("alice", "secret").unwrap();
    one.forge.add_collaborator(&repository, "alice", Access::Write).unwrap();
    // The first start creates the store and the key that marks posts.
    let mut serving: [Option<Serve>; 2] = [Some(one.serving()), None];
    let two = one.beside("host2");
    let homes = [one, two];
    serving[1] = Some(homes[1].serving());
    let location = Location::postgres(url.parse().unwrap(), None);
    let store = Store::look(location).await.unwrap().expect("made");
    let mut looking = Looking { store, repository, home: homes[0].forge.clone(), task: (TaskId(0), 0), approved: 0 };
    looking.ask();
    let wanted = number("CAISSON_KILLS").unwrap_or(3);
    let ((mut dice, seed), mut kills) = (Dice::cast(), 0);
    let mut back = [Instant::now(); 2];
    let (mut next, limit) =
        (Instant::now() + Duration::from_secs(4), Instant::now() + Duration::from_secs(300 + 40 * wanted));
    loop {
        if looking.act().await {
            judge(&looking).await;
            if kills >= wanted {
                break;
            }
            looking.ask();
        }
        let now = Instant::now();
        assert!(now < limit, "CAISSON_SEED={seed}: {:?}", looking.task().await.state);
        let running: Vec<usize> = (0..2).filter(|&at| serving[at].is_some()).collect();
        if now >= next && kills < wanted && !running.is_empty() {
            let at = running[dice.roll(running.len() as u64) as usize];
            // Kills it with SIGKILL and waits for it.
            drop(serving[at].take());
            kills += 1;
            back[at] = now + Duration::from_millis(dice.roll(12_000));
            next = now + Duration::from_millis(3_000 + dice.roll(8_000));
        }
        for at in 0..2 {
            if serving[at].is_none() && now >= back[at] {
                serving[at] = Some(homes[at].serving());
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // The broker of a killed host may still be removing its containers: each host starts once more and is stopped in order.
    for at in 0..2 {
        let serve = serving[at].get_or_insert_with(|| homes[at].serving());
        tokio::task::block_in_place(|| term(serve));
    }
    for home in &homes {
        assert_eq!(home.standing(), "", "{}", home.installation);
    }
}

/// `caisson repo add` on one host while both run without any repository: the other one then works for it by itself, without a restart or a
/// file.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_one_host_adds_is_worked_for_by_the_other() {
    let Some(mut one) = Home::new("adds1").await else { return };
    let Some(server) = server::Server::of_this_process() else { return };
    let url = server.database();
    let script = one.dir.path().join("script.toml");
    std::fs::write(&script, SCRIPT).unwrap();
    one.set("CAISSON_STORE_URL", url.clone());
    one.set("CAISSON_MODEL_SCRIPT", script.display().to_string());
    one.set("CAISSON_FORGE_BOT_URL", format!("http://127.0.0.1:{}", one.ports[0]));
    one.set("CAISSON_FORGE_POLL_S", "2");
    let mut first = one.serving();
    let two = one.beside("adds2");
    let mut second = two.serving();
    let (_, repository) = add_project(&one).await;
    tokio::task::block_in_place(|| term(&mut first));
    one.forge.add_person("alice", "secret").unwrap();
    one.forge.add_collaborator(&repository, "alice", Access::Write).unwrap();
    let text = std::fs::read_to_string(one.dir.path().join("caisson.toml")).unwrap();
    assert!(!text.contains("repositories") && !one.dir.path().join("secrets/hook-my-shop").exists(), "{text}");
    let location = Location::postgres(url.parse().unwrap(), None);
    let store = Store::look(location).await.unwrap().expect("made");
    let mut looking = Looking { store, repository, home: one.forge.clone(), task: (TaskId(0), 0), approved: 0 };
    looking.ask();
    let limit = Instant::now() + Duration::from_secs(240);
    while looking.store.task_row(looking.task.0).await.unwrap().is_none() || !looking.act().await {
        assert!(Instant::now() < limit, "{:?}", looking.store.task_row(looking.task.0).await.unwrap());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    judge(&looking).await;
    tokio::task::block_in_place(|| term(&mut second));
    for home in [&one, &two] {
        assert_eq!(home.standing(), "", "{}", home.installation);
    }
}

/// Each started action ended once, each decision was used once, and nothing was posted twice.
async fn judge(looking: &Looking) {
    let (task, log) = (looking.task().await, looking.log().await);
    let numbers = |which: fn(&Event) -> Option<u32>| log.iter().filter_map(which).collect::<Vec<u32>>();
    let started = numbers(|it| if let Event::ActionStarted { number, .. } = it { Some(*number) } else { None });
    let ended = numbers(|it| if let Event::ActionFinished { number, .. } = it { Some(*number) } else { None });
    assert_eq!(started, ended);
    let used = numbers(|it| if let Event::DecisionUsed { n, .. } = it { Some(*n) } else { None });
    assert!(used.windows(2).all(|pair| pair[0] < pair[1]), "{used:?}");
    let url = looking.home.url().parse().unwrap();
    let token = caisson::secret::Secret::new(looking.home.add_token("alice").unwrap());
    let forge = caisson::forge::Gitea::new(&url, token, "test").unwrap();
    let (owner, name) = looking.repository.split_once('/').unwrap();
    let at = caisson::forge::RepoRef::new(owner, name);
    let mut marks = Vec::new();
    for place in [looking.task.1, task.pull.unwrap()] {
        let comments = caisson::forge::ForgeReads::comments(&forge, &at, place).await.unwrap();
        let mut texts: Vec<String> = comments.into_iter().map(|it| it.body).collect();
        if let Ok(reviews) = caisson::forge::ForgeReads::reviews(&forge, &at, place).await {
            texts.extend(reviews.into_iter().map(|it| it.body));
        }
        let start = format!("caisson:{}:", looking.task.0);
        let mark = |text: &String| Some(text.split(&start).nth(1)?.split(' ').next()?.to_owned());
        marks.extend(texts.iter().filter_map(mark));
    }
    let all = marks.len();
    marks.sort();
    marks.dedup();
    assert!(all >= 4 && marks.len() == all, "{marks:?}");
}
