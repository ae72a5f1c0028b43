//! The parts of `make demo` as a test bed: a forge (a real Gitea where there is one), `caisson serve` and its broker as processes,
//! the engine's containers, a person who approves by API. Needs Docker, the images, and what `make bench` sets.

use crate::demo::bot::{self, Bot, variable};
use crate::demo::forge::DemoForge;
use crate::demo::person::Person;
use crate::demo::process::git;
use anyhow::{Context, Result, bail};
use caisson::forge::ForgeWrites;
use caisson::forge::{NewPull, RepoRef, Review};
use caisson::store::{Store, TaskRow};
use domain::{Event, TaskId};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const HUMAN: &str = "dev";
pub const BOT: &str = "caisson";
const OWNER: &str = "caisson-projects";
const REPOSITORY: &str = "bench";
/// Actions of one task: six checkpoints, then done.
pub const ACTIONS: usize = 30;
/// Longer than any step of a task on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

pub struct Stage {
    pub place: DemoForge,
    pub bot: Bot,
    pub person: Person,
    pub token: String,
    pub repo: RepoRef,
    pub dir: tempfile::TempDir,
}

/// Why the test bed cannot be set up here.
pub fn missing() -> Option<String> {
    let needed = ["CAISSON_RUNNER", "CAISSON_DEMO_PROGRAM", "CAISSON_DEMO_INSTALLATION"];
    if let Some(name) = needed.into_iter().find(|name| variable(name).is_none()) {
        return Some(format!("{name} is not set (make bench sets it)"));
    }
    let images = ["caisson-sandbox:local", "caisson-router:local"];
    let absent = images.into_iter().find(|image| !crate::container::docker(&["image", "inspect", image]));
    absent.map(|image| format!("Docker does not answer, or has no image {image} (make images)"))
}

/// One action a turn, each of which appends a line: the file shows a lost or repeated action.
fn recording() -> String {
    let turn = |n: usize| {
        format!("[[turn]]\ncall = [{{ name = \"bash\", arguments = {{ command = \"echo {n} >> lines.txt\" }} }}]\n")
    };
    let turns: String = (1..=ACTIONS).map(turn).collect();
    format!(
        "name = \"the bench\"\n{turns}[[turn]]\ncall = [{{ name = \"done\", arguments = {{ summary = \"all lines\" }} }}]\n"
    )
}

fn project(dir: &Path) -> Result<PathBuf> {
    let origin = dir.join("origin");
    std::fs::create_dir(&origin)?;
    std::fs::write(origin.join("README.md"), "# Lines\n")?;
    std::fs::write(origin.join(".caisson.toml"), format!("test = \"test $(wc -l < lines.txt) -ge {ACTIONS}\"\n"))?;
    git(&origin, &["init", "-q", "-b", "main"])?;
    git(&origin, &["add", "-A"])?;
    git(&origin, &["commit", "-q", "-m", "Lines"])?;
    Ok(origin)
}

impl Stage {
    /// Opens a pull request of the branch `probe`, which was pushed before.
    pub async fn open_probe(&self) -> Result<()> {
        let new = NewPull { title: "probe".into(), body: String::new(), head: "probe".into(), base: "main".into() };
        until("the forge sees the branch", async || Ok(self.person.forge.open_pull(&self.repo, &new).await.ok()))
            .await?;
        Ok(())
    }

    pub async fn open() -> Result<Stage> {
        Stage::with(Vec::new()).await
    }

    /// As [`Stage::open`], with further variables for the bot's programs.
    pub async fn with(environment: Vec<(String, String)>) -> Result<Stage> {
        let dir = tempfile::Builder::new().prefix("caisson-bench-").tempdir()?;
        let place = DemoForge::open().await?;
        let (_, token) = place.person(HUMAN).await?;
        let origin = project(dir.path())?;
        let home = dir.path().join("bot");
        std::fs::create_dir(&home)?;
        let script = home.join("recording.toml");
        std::fs::write(&script, recording())?;
        let admin = home.join("admin.token");
        place.admin.write(&admin)?;
        let mut bot = bot::open(&home, Some(&script), environment)?;
        bot.say(&["setup", "--forge-url", place.url.as_str(), "--admin-token-file", &admin.display().to_string()])?;
        bot.say(&["repo", "add", &origin.display().to_string(), "--name", REPOSITORY, "--writer", HUMAN])?;
        bot.serve().await?;
        let repo = RepoRef::new(OWNER, REPOSITORY);
        let (person, token) = (Person::new(&place.url, &repo, token.clone())?, token.expose().to_owned());
        Ok(Stage { place, bot, person, token, repo, dir })
    }

    pub async fn store(&self) -> Result<Store> {
        Ok(Store::open(&self.bot.state()).await?)
    }

    /// Requests a task; returns its issue.
    pub async fn ask(&self) -> Result<u64> {
        Ok(self.person.open_issue("Thirty lines", "Please write them.\n\n/fix\n").await?.0)
    }

    /// The task of an issue, once there is one.
    pub async fn task(&self, store: &Store, issue: u64) -> Result<Option<TaskRow>> {
        Ok(store.tasks(1000).await?.into_iter().find(|row| row.issue as u64 == issue))
    }

    /// The newest review of a task that waits for an answer.
    pub async fn waiting(&self, store: &Store, row: &TaskRow) -> Result<Option<(u64, Review)>> {
        let task = store.task(TaskId(row.id)).await?;
        let (Some(pull), Some(checkpoint)) = (task.pull, task.checkpoint()) else { return Ok(None) };
        if !matches!(task.state.name(), "awaiting-review" | "final-review") {
            return Ok(None);
        }
        let reviews = self.person.reviews(&self.repo, pull, BOT).await?;
        Ok(reviews.into_iter().find(|review| review.id == checkpoint.review).map(|review| (pull, review)))
    }

    pub async fn log(&self, store: &Store, row: &TaskRow) -> Result<Vec<(i64, Event)>> {
        Ok(store.log(TaskId(row.id)).await?)
    }
}

/// Polls until there is an answer.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        if Instant::now() > end {
            bail!("waited in vain for {what}; `caisson task show` tells why");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The git setting that authenticates as this token's owner.
pub fn header(token: &str) -> String {
    format!("http.extraHeader=Authorization: token {token}")
}

/// Time of a `git push` of one small commit to the branch `probe`.
pub fn timed_push(stage: &Stage, clone: &Path, round: usize) -> Result<Duration> {
    std::fs::write(clone.join("probe.txt"), format!("{round}\n"))?;
    git(clone, &["add", "-A"])?;
    git(clone, &["commit", "-q", "-m", "probe"])?;
    let header = header(&stage.token);
    let began = Instant::now();
    git(clone, &["-c", &header, "push", "-q", "origin", "HEAD:refs/heads/probe"]).context("the probe's push")?;
    Ok(began.elapsed())
}

/// A clone of the stage's repository on the forge.
pub fn clone(stage: &Stage) -> Result<PathBuf> {
    let to = stage.dir.path().join("clone");
    let header = header(&stage.token);
    let url = format!("{}/{OWNER}/{REPOSITORY}.git", stage.place.url.as_str().trim_end_matches('/'));
    git(stage.dir.path(), &["-c", &header, "clone", "-q", &url, "clone"])?;
    Ok(to)
}
