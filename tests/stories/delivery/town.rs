//! A forge with two repositories and a bot beside it, in which a script is played.

use super::moves::{Move, REPOS, Who};
use super::trouble::{Trouble, Weather};
use crate::dice::Dice;
use crate::ground::{add_label, free_port, git, switch_actions_off};
use crate::world::World;
use caisson::config::{Process, Secret};
use caisson::forge::{ForgeReads, ForgeWrites, Gitea, NewPull, RepoRef};
use caisson::store::TaskRow;
use devforge::{Access, Devforge, Options, Person};
use domain::{Queue, TaskId};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::task::block_in_place;

/// Longest wait for a state in which nothing is left to do: an effect that fails ten times in a row waits for four minutes in all.
const PATIENCE: Duration = Duration::from_secs(300);
/// Between two looks at what is left to do: often enough beside a play, and cheap.
const LOOK: Duration = Duration::from_millis(30);
/// A text whose delivery did not come is left to a reading that begins so many seconds later, by the forge's clock.
const LATER_S: i64 = 5;
/// Seconds between two moves, by the forge's clock, so that an edit shows.
const APART_S: i64 = 2;

pub struct Town {
    pub world: World,
    pub weather: Arc<Weather>,
    /// Repository and number of each issue, and who opened it.
    pub issues: Vec<(&'static str, u64, Who)>,
    /// The pull requests among them that a person opened, each with its head.
    persons: HashMap<usize, (u64, String)>,
    /// What people posted, by its kind and id on the forge, with the number of its move.
    pub posted: HashMap<(&'static str, i64), usize>,
    /// Pull request and id of the newest review with a remark on a line, for each issue.
    lines: HashMap<usize, (u64, i64)>,
    /// The newest comment of a person on each issue.
    newest: HashMap<usize, i64>,
    /// Whether somebody asked for a test at each push.
    watches: bool,
    troubled: bool,
}

/// Five actions and a checkpoint, twice; then done. Every turn after that is done at once, too.
pub fn work() -> String {
    let write =
        |n: u32| format!("{{ name = \"write_file\", arguments = {{ path = \"work-{n}.txt\", content = \"{n}\" }} }}");
    let read = |name: &str| format!("{{ name = \"read_file\", arguments = {{ path = \"{name}\" }} }}");
    let reads = [read("a.txt"), read("b.txt"), read("c.txt"), read("README.md")].join(", ");
    let mut script = "name = \"work\"\n".to_owned();
    for n in 1..=24 {
        let then = match n {
            1 | 2 => reads.clone(),
            n => format!("{{ name = \"done\", arguments = {{ summary = \"Step {n} is done.\" }} }}"),
        };
        // A question is a conversation of its own, so its answer is the first turn's text.
        let text = if n == 1 { "text = \"I have read it.\"\n" } else { "" };
        let _ = writeln!(script, "[[turn]]\n{text}call = [{}, {then}]", write(n));
    }
    script
}

fn plan() -> String {
    let turn = |n: u32| {
        format!("[[turn]]\ncall = [{{ name = \"done\", arguments = {{ summary = \"Plan {n}: write a file.\" }} }}]\n")
    };
    format!("name = \"plan\"\n{}", (1..=24).map(turn).collect::<String>())
}

fn is_of(row: &TaskRow, repo: &str, issue: u64) -> bool {
    repo.ends_with(&format!("/{}", row.repository)) && row.issue as u64 == issue
}

/// The repository's first commit, pushed by the admin.
fn push(forge: &Devforge, dir: &Path, repo: &str) {
    let work = dir.join("project");
    if !work.exists() {
        let own = work.join(".caisson/commands");
        std::fs::create_dir_all(&own).expect("made");
        std::fs::write(own.join("tidy.md"), "+++\ndescription = \"Tidies\"\n+++\nTidy {words}.\n").expect("written");
        for name in ["a.txt", "b.txt", "c.txt", "README.md"] {
            std::fs::write(work.join(name), format!("{name}\n")).expect("written");
        }
        git(&work, &["init", "-q", "-b", "main"]);
        git(&work, &["add", "."]);
        git(&work, &["commit", "-q", "-m", "first"]);
        git(&work, &["branch", "-q", "by-hand"]);
        git(&work, &["checkout", "-q", "by-hand"]);
        std::fs::write(work.join("a.txt"), "a.txt\nby hand\n").expect("written");
        git(&work, &["commit", "-q", "-a", "-m", "By hand"]);
    }
    let header = format!("http.extraHeader=Authorization: token {}", forge.admin_token());
    git(&work, &["-c", &header, "push", "-q", &format!("{}/{repo}.git", forge.url()), "main", "by-hand"]);
}

async fn configured(forge: &Devforge, dir: &Path) -> Process {
    let token = forge.add_token("caisson").expect("a token");
    let client = Gitea::new(&forge.url().parse().expect("url"), Secret::new(token.clone()), "test").expect("a client");
    for (name, text) in [("bot.token", token.as_str()), ("hook.secret", "sekret")] {
        Secret::new(text).write(&dir.join(name)).expect("written");
    }
    for (name, text) in [("work.toml", work()), ("plan.toml", plan())] {
        std::fs::write(dir.join(name), text).expect("written");
    }
    let model = |id: &str, role: &str| {
        format!("[[model]]\nid = \"{id}\"\nkind = \"scripted\"\nscript = \"{id}.toml\"\nroles = [\"{role}\"]\n")
    };
    let mut text = format!(
        "state_dir = \"state\"\nmax_tasks = 16\n[forge]\nurl = \"{}\"\ntoken_file = \"bot.token\"\nsettle_ms = 50\npoll_s = 3600\n\
         [listen]\nwebhooks = \"127.0.0.1:{}\"\nops = \"127.0.0.1:0\"\n{}{}\
         [sandbox]\nnetwork = \"none\"\nimage = \"local\"\ndisk_floor_mib = 0\n[tests]\nper_hour = 1000\n",
        forge.url(),
        free_port(),
        model("work", "worker"),
        model("plan", "planner"),
    );
    for repo in REPOS {
        let (owner, name) = repo.split_once('/').expect("owner and name");
        let id = client.repository(&RepoRef::new(owner, name)).await.expect("the repository").id;
        let _ = writeln!(
            text,
            "[[repositories]]\nkey = \"{name}\"\nowner = \"{owner}\"\nname = \"{name}\"\nid = {id}\nsecret_files = [\"hook.secret\"]\n\
             default_branch = \"main\"\n[repositories.start]\nby = [\"assigned\", \"label:agent\"]"
        );
    }
    let path = dir.join("caisson.toml");
    std::fs::write(&path, text).expect("written");
    Process::load(&path).expect("a configuration")
}

/// Opens Dave's pull request, whose branch was pushed with the repository.
async fn pull_request(world: &World, repo: &str) -> (u64, String) {
    let token = Secret::new(world.forge.add_token(Who::Dave.login()).expect("a token"));
    let dave = Gitea::new(&world.forge.url().parse().expect("url"), token, "test").expect("a client");
    let (owner, name) = repo.split_once('/').expect("owner and name");
    let new = NewPull { title: "By hand".into(), body: String::new(), head: "by-hand".into(), base: "main".into() };
    let opened = dave.open_pull(&RepoRef::new(owner, name), &new).await.expect("a pull request");
    (opened.number, opened.head_sha)
}

impl Town {
    /// With a bot that has read once. `ahead` is by how many seconds the forge's clock is ahead of ours; none without any trouble.
    pub async fn found(ahead: Option<i64>) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let forge = Devforge::start(Options::quiet()).await.expect("a forge");
        forge.set_clock_ahead(ahead.unwrap_or_default());
        for login in ["caisson", "alice", "dave", "bob"] {
            forge.add_person(login, "secret").expect("a person");
        }
        forge.add_organisation("lab", "caisson").expect("an organisation");
        for repo in REPOS {
            forge.add_repository(repo, false).await.expect("a repository");
            for (login, access) in
                [("caisson", Access::Admin), ("alice", Access::Write), ("dave", Access::Write), ("bob", Access::Read)]
            {
                forge.add_collaborator(repo, login, access).expect("a right");
            }
            switch_actions_off(&forge, repo).await;
            add_label(&forge, repo, "agent").await;
            block_in_place(|| push(&forge, dir.path(), repo));
        }
        let config = configured(&forge, dir.path()).await;
        for repo in REPOS {
            let key = repo.split_once('/').expect("owner and name").1;
            forge.add_hook(repo, &config.hook_url(key), "sekret").expect("a hook");
        }
        let weather = Weather::over(&forge);
        let mut world = World::asleep(forge, dir, config);
        world.start().await;
        let (mut issues, mut persons) = (Vec::new(), HashMap::new());
        for (place, repo) in REPOS.into_iter().enumerate() {
            let (number, head) = pull_request(&world, repo).await;
            issues.push((repo, number, Who::Dave));
            persons.insert(place, (number, head));
        }
        let (posted, lines, newest) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (watches, troubled) = (false, ahead.is_some());
        let mut town = Self { world, weather, issues, persons, posted, lines, newest, watches, troubled };
        let end = Instant::now() + PATIENCE;
        while town.world.store().watermark("mill").await.expect("read").is_none() {
            assert!(Instant::now() < end, "the first round never ended");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        town.weather.armed.store(town.troubled, Ordering::SeqCst);
        town.settle().await.expect("quiet before the first move");
        town
    }

    fn person(&self, who: Who) -> Person {
        self.world.forge.as_person(who.login())
    }

    async fn kill(&mut self) {
        self.weather.armed.store(false, Ordering::SeqCst);
        block_in_place(|| self.world.kill());
    }

    async fn start(&mut self) {
        self.world.start().await;
        self.weather.armed.store(self.troubled, Ordering::SeqCst);
    }

    /// Plays a move with its trouble, and waits until nothing is left to do. Errors: what is still left after a long time.
    pub async fn play(&mut self, at: usize, step: &Move, trouble: Trouble) -> Result<(), String> {
        if trouble.release {
            self.world.forge.release_hooks();
        }
        self.world.forge.clock_moves_on(APART_S + trouble.jump);
        if trouble.away {
            self.kill().await;
        }
        let away = trouble.away;
        if let Move::Label { issue } | Move::Assign { issue } = step {
            self.after_an_end(*issue).await;
        }
        // Pull requests are looked up before, because nothing is answered while people move.
        let pulls = self.pulls().await;
        let held = self.world.forge.hold().await;
        self.weather.set(trouble);
        self.act(at, step, &pulls);
        drop(held);
        if away {
            self.start().await;
        }
        self.settle().await
    }

    /// Sends what was held back, and plays nothing more.
    pub async fn end(&mut self) -> Result<(), String> {
        self.weather.armed.store(false, Ordering::SeqCst);
        self.world.forge.release_hooks();
        self.settle().await
    }

    /// Waits until the last task of an issue has been over for longer than the forge's clock leaps before the bot reads: a label sooner than
    /// that may have been meant for the task, whose end is known by our clock only.
    async fn after_an_end(&self, issue: usize) {
        let (repo, number, _) = self.issues[issue];
        let rows = self.world.store().tasks(500).await.expect("read");
        let Some(row) = rows.iter().filter(|row| is_of(row, repo, number)).max_by_key(|row| row.id) else { return };
        let over = u64::try_from(caisson::clock::now() - row.updated_at).unwrap_or_default();
        let least = (LATER_S as u64 + 2) * 1000;
        tokio::time::sleep(Duration::from_millis(least.saturating_sub(over))).await;
    }

    /// The newest pull request of each issue, with the commit at its head.
    async fn pulls(&self) -> HashMap<usize, (u64, String)> {
        let rows = self.world.store().tasks(500).await.expect("read");
        let mut pulls = self.persons.clone();
        for (place, (repo, number, _)) in self.issues.iter().enumerate() {
            let of = |row: &&TaskRow| is_of(row, repo, *number) && row.pull.is_some();
            let Some(row) = rows.iter().filter(of).max_by_key(|row| row.id) else { continue };
            let task = self.world.store().task(TaskId(row.id)).await.expect("read");
            if let (Some(pull), Some(head)) = (task.pull, task.pushed) {
                pulls.insert(place, (pull, head.as_str().to_owned()));
            }
        }
        pulls
    }

    fn act(&mut self, at: usize, step: &Move, pulls: &HashMap<usize, (u64, String)>) {
        let of = |issue: &usize| self.issues[*issue];
        // A person's refused move (a review of a closed pull request) is one in each play.
        match step {
            Move::Open { repo, who, body } => {
                let opened = self.person(*who).open_issue(REPOS[*repo], &format!("Issue of move {at}"), body);
                self.issues.push((REPOS[*repo], opened.expect("opened"), *who));
            }
            Move::Say { issue, on_pull, who, text } => {
                let (repo, number, _) = of(issue);
                let number = pulls.get(issue).filter(|_| *on_pull).map_or(number, |(pull, _)| *pull);
                self.watches |= text.contains("--each-push");
                if let Ok(id) = self.person(*who).comment(repo, number, text) {
                    self.posted.insert(("comment", id), at);
                    self.newest.insert(*issue, id);
                }
            }
            Move::Approve { issue, who }
            | Move::Changes { issue, who }
            | Move::Review { issue, who }
            | Move::OnLine { issue, who, .. } => {
                let (Some((pull, head)), repo, person) = (pulls.get(issue), of(issue).0, self.person(*who)) else {
                    return;
                };
                let notes = [("a.txt", 1, "Not like this.")];
                let given = match step {
                    Move::Approve { .. } => person.approve(repo, *pull, head),
                    Move::Changes { .. } => person.request_changes(repo, *pull, head, "Please change it.", &notes),
                    Move::OnLine { text, .. } => person.remark(repo, *pull, head, "", &[("a.txt", 1, text)]),
                    _ => person.review_comment(repo, *pull, head, "I have read it."),
                };
                if let Ok(id) = given {
                    self.posted.insert(("review", id), at);
                    if matches!(step, Move::Changes { .. } | Move::OnLine { .. }) {
                        self.lines.insert(*issue, (*pull, id));
                    }
                }
            }
            Move::Reply { issue, who, text } => {
                let Some((pull, review)) = self.lines.get(issue) else { return };
                if let Ok(id) = self.person(*who).reply(of(issue).0, *pull, *review, text) {
                    self.posted.insert(("comment", id), at);
                }
            }
            Move::Edit { issue, text } => {
                if let Some(id) = self.newest.get(issue) {
                    self.person(Who::Alice).edit_comment(of(issue).0, *id, text).expect("edited");
                }
            }
            Move::Delete { issue } => {
                if let Some(id) = self.newest.remove(issue) {
                    self.person(Who::Alice).delete_comment(of(issue).0, id).expect("deleted");
                }
            }
            // On a reader's issue a label counts only with its delivery: without one nobody knows whether the reader edited the text since.
            Move::Label { issue } if of(issue).2 != Who::Bob => {
                self.person(Who::Alice).label(of(issue).0, of(issue).1, "agent").expect("labelled");
            }
            Move::Assign { issue } if of(issue).2 != Who::Bob => {
                self.person(Who::Alice).assign(of(issue).0, of(issue).1, &["caisson"]).expect("assigned");
            }
            Move::Label { .. } | Move::Assign { .. } => {}
            // A pull request that was merged is closed, and stays so.
            Move::Close { issue } => drop(self.person(Who::Alice).close(of(issue).0, of(issue).1)),
            Move::Reopen { issue } => drop(self.person(Who::Alice).set_open(of(issue).0, of(issue).1, true)),
            Move::Right { issue, writes } => {
                let access = if *writes { Access::Write } else { Access::Read };
                self.world.forge.add_collaborator(of(issue).0, Who::Dave.login(), access).expect("a right");
            }
            Move::Merge { issue } => {
                if let Some((pull, _)) = pulls.get(issue) {
                    let (alice, repo) = (self.person(Who::Alice), of(issue).0);
                    let _ = block_in_place(|| Handle::current().block_on(alice.merge(repo, *pull)));
                }
            }
            Move::Burst(steps) => steps.iter().for_each(|step| self.act(at, step, pulls)),
        }
    }

    /// Waits until everything that was said is taken up, and nothing is left to do. Without trouble by deliveries alone, but for the bot's own
    /// pushes, which only rounds find; otherwise by rounds too.
    async fn settle(&mut self) -> Result<(), String> {
        let end = Instant::now() + PATIENCE;
        if self.troubled {
            // Once: what was said is then old enough to be read without its delivery, and a leap more would move ends by the forge's clock.
            self.world.forge.clock_moves_on(LATER_S);
        } else {
            self.until_quiet(end).await?;
            if self.untested().await.is_none() {
                return Ok(());
            }
        }
        loop {
            if self.weather.die.swap(false, Ordering::SeqCst) {
                self.kill().await;
                self.start().await;
            }
            let met = self.weather.met.load(Ordering::SeqCst);
            let read = self.world.read_now().await;
            let whole = read.is_ok() && self.weather.met.load(Ordering::SeqCst) == met;
            self.until_quiet(end).await?;
            if whole && !self.weather.die.load(Ordering::SeqCst) && self.left().await.is_none() {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("still left after {PATIENCE:?}: {:?}", self.left().await));
            }
        }
    }

    async fn until_quiet(&self, end: Instant) -> Result<(), String> {
        while let Some(left) = self.left().await {
            if self.weather.die.load(Ordering::SeqCst) {
                return Ok(());
            }
            // A thread that could not be read, and a push of the bot's own, wait for the next round.
            if self.troubled && left.starts_with("unread") || left.starts_with("untested") {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("still left after {PATIENCE:?}: {left}"));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// What is left to do: deliveries first, then what they wake.
    async fn left(&self) -> Option<String> {
        let store = self.world.store();
        let hooks = self.world.forge.hooks_underway();
        if hooks > 0 {
            return Some(format!("{hooks} deliveries under way"));
        }
        if let Some(id) = store.tasks_with_effects().await.expect("read").first() {
            return Some(self.effects(*id).await);
        }
        if let Some(open) = store.open_deliveries(1, &[]).await.expect("read").first() {
            return Some(format!("delivery {} of {:?}", open.event_type, open.about));
        }
        let busy = ["queued", "preparing", "running", "publishing", "verifying"];
        let rows = store.live_tasks().await.expect("read");
        if let Some(row) = rows.iter().find(|row| busy.contains(&row.state.as_str())) {
            return Some(format!("task {} is {}", row.id, row.state));
        }
        if let Some(id) = store.tasks_with_effects().await.expect("read").first() {
            return Some(self.effects(*id).await);
        }
        if let Some(run) = store.open_test_runs().await.expect("read").first() {
            return Some(format!("test run {run:?}"));
        }
        if let Some(thread) = store.unread().await.expect("read").first() {
            return Some(format!("unread: {thread:?}"));
        }
        self.untested().await
    }

    /// A pull request whose newest commit is not tested, though somebody asked for that at each push.
    async fn untested(&self) -> Option<String> {
        if !self.watches {
            return None;
        }
        for (place, (pull, head)) in self.pulls().await {
            let key = self.issues[place].0.split_once('/').expect("owner and name").1;
            let watched = self.world.store().watched_pull(key, pull).await.expect("read");
            if watched.iter().any(|seen| seen.run.commit.as_str() != head) {
                return Some(format!("untested: pull request {pull} of {key}"));
            }
        }
        None
    }

    /// The next effect of each queue of a task, with how often it failed.
    async fn effects(&self, id: TaskId) -> String {
        let mut rows = Vec::new();
        for queue in [Queue::Work, Queue::Egress, Queue::Talk] {
            let next = self.world.store().next_effect(id, queue).await.expect("read");
            rows.extend(next.map(|row| format!("{} failed {} times", row.key, row.failures)));
        }
        format!("effects of task {id}: {}", rows.join(", "))
    }

    /// A forge's clock that differs by minutes from ours.
    pub fn apart(dice: &mut Dice) -> i64 {
        dice.roll(80 * 60) as i64 - 40 * 60
    }
}
