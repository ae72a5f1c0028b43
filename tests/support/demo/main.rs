//! `make demo`: an issue with `/fix` becomes a reviewed branch in a clone whose tests then pass.
//!
//! `compose/demo.sh` prepares the machine and starts this. Everything started here is owned by a value that stops it when dropped: on
//! success, on an error and on Ctrl-C. Exits with 0 only if the tests of the clone, which failed before, pass.

mod bot;
mod forge;
#[path = "../gitea.rs"]
mod gitea;
#[path = "../skipped.rs"]
mod skipped;
mod stage;

use anyhow::{Context, Result, anyhow, bail};
use bot::{Bot, variable};
use caisson::cli::eval::own::person::Person;
use caisson::cli::eval::own::process::{git, run};
use caisson::forge::{RepoRef, Review};
use caisson::secret::Secret;
use forge::DemoForge;
use stage::Stage;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

const HUMAN: &str = "dev";
const BOT: &str = "caisson";
const OWNER: &str = "caisson-projects";
/// A repository whose tests fail, and the issue about it.
struct Sample {
    /// A folder beside this file.
    folder: &'static str,
    sources: [&'static str; 2],
    repository: &'static str,
    title: &'static str,
    body: &'static str,
}
const BILL: Sample = Sample {
    folder: "sample",
    sources: ["split.py", "test_split.py"],
    repository: "bill",
    title: "Splitting a bill loses a cent",
    body: "`split(1000, 3)` gives 333 three times: a cent is gone. `€12.3` is read wrongly as well. The tests say so.\n\n/fix\n",
};
/// A sample that a very small model solves too.
const SMALL: Sample = Sample {
    folder: "small",
    sources: ["average.py", "test_average.py"],
    repository: "statistics",
    title: "The average of an empty list divides by zero",
    body: "`average([])` raises `ZeroDivisionError`. It should return 0, as the docstring says.\n\n/fix\n",
};
/// With DEMO_AUTO=1 nothing waits for a person, so this is an error limit.
const LONGEST: Duration = Duration::from_secs(20 * 60);
/// `caisson fetch` notifies the bot; if that is lost, the bot polls.
const DELIVERY: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(250);

#[tokio::main]
async fn main() -> ExitCode {
    let stage = Stage::open();
    let outcome = tokio::select! {
        outcome = trip(&stage) => outcome,
        stopped = interrupted() => stopped.and_then(|()| Err(anyhow!("stopped; what was started is being ended"))),
    };
    // After the demo's end Ctrl-C is not a failure.
    let outcome = match outcome {
        Ok(there) => there.end(&stage).await,
        Err(error) => Err(error),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nthe demo ends without success after {:.1} s: {error:#}", stage.seconds());
            ExitCode::FAILURE
        }
    }
}

/// Waits for Ctrl-C or SIGTERM.
async fn interrupted() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => {}
        outcome = tokio::signal::ctrl_c() => outcome?,
    }
    Ok(())
}

/// Everything that runs during the demo, in the order in which it is stopped.
struct There {
    bot: Bot,
    place: DemoForge,
    password: Secret,
    _dir: tempfile::TempDir,
}

impl There {
    async fn end(mut self, stage: &Stage) -> Result<()> {
        if variable("DEMO_KEEP").is_some_and(|value| value != "0") {
            stage.say(&format!(
                "DEMO_KEEP: forge and bot stay until Ctrl-C. {} as {HUMAN}, password {}",
                self.place.url,
                self.password.expose()
            ));
            stage.say(&format!("More: {} task show 1", self.bot.shown()));
            interrupted().await?;
        }
        self.bot.end()?;
        stage.step("everything that was started has ended", "");
        Ok(())
    }
}

async fn trip(stage: &Stage) -> Result<There> {
    let dir = tempfile::Builder::new().prefix("caisson-demo-").tempdir()?;
    let place = DemoForge::open().await?;
    stage.step("forge", place.url.as_str());
    stage.say(&place.what);
    let (password, token) = place.person(HUMAN).await?;
    let about = if variable("CAISSON_DEMO_SMALL").is_some() { SMALL } else { BILL };
    let origin = sample(dir.path(), &about)?;
    let clone = dir.path().join("clone");
    git(dir.path(), &["clone", "-q", "origin", "clone"])?;
    if tests_pass(&clone).is_ok() {
        bail!("the sample's tests pass before anything was done");
    }
    stage.step("sample repository and a clone; its tests fail", &clone.display().to_string());
    let mut bot = prepare(stage, dir.path(), &place, (&origin, about.repository))?;
    bot.serve().await.context("caisson serve")?;
    stage.step("caisson serve is ready", "");
    let found = bot.say(&["doctor", "--json"])?;
    stage.step(&format!("caisson doctor: {} checks, no fault", found.lines().count()), "");
    let repo = RepoRef::new(OWNER, about.repository);
    let person = Person::new(&place.url, &repo, token)?;
    let (_, issue) = person.open_issue(about.title, about.body).await?;
    stage.step(&format!("{HUMAN} opens an issue with /fix"), &issue);
    let auto = variable("DEMO_AUTO").is_some_and(|value| value != "0");
    if !auto {
        stage.say(&format!("In a browser, sign in as {HUMAN} with the password {}", password.expose()));
    }
    let branch = follow(stage, &mut bot, &person, &repo, auto).await?;
    let fetched = bot.say(&["fetch", &clone.display().to_string(), &branch])?;
    stage.step("caisson fetch", &clone.display().to_string());
    stage.say(fetched.trim());
    tests_pass(&clone).context("the fetched branch does not pass the sample's tests")?;
    stage.step("the clone's tests pass", "");
    wait_for_state(&mut bot, "delivered").await?;
    stage.step("the task is delivered", "");
    Ok(There { bot, place, password, _dir: dir })
}

/// The sample: a repository of one commit whose tests fail.
fn sample(dir: &Path, about: &Sample) -> Result<PathBuf> {
    let origin = dir.join("origin");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/demo").join(about.folder);
    std::fs::create_dir(&origin)?;
    let [source, test] = about.sources;
    for (file, name) in [(source, source), (test, test), ("README.md", "README.md"), ("caisson.toml", ".caisson.toml")]
    {
        std::fs::copy(from.join(file), origin.join(name)).with_context(|| format!("the sample's {file}"))?;
    }
    std::fs::write(origin.join(".gitignore"), "__pycache__/\n")?;
    git(&origin, &["init", "-q", "-b", "main"])?;
    git(&origin, &["add", "-A"])?;
    git(&origin, &["commit", "-q", "-m", "The project"])?;
    Ok(origin)
}

fn tests_pass(clone: &Path) -> Result<String> {
    let mut command = Command::new("python3");
    run(command.current_dir(clone).env("PYTHONDONTWRITEBYTECODE", "1").args(["-m", "unittest"]))
}

/// Runs `caisson setup` and `caisson repo add`.
fn prepare(stage: &Stage, dir: &Path, place: &DemoForge, (origin, name): (&Path, &str)) -> Result<Bot> {
    let home = dir.join("bot");
    std::fs::create_dir(&home)?;
    let admin = home.join("admin.token");
    place.admin.write(&admin)?;
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/demo/recording.toml");
    let real = variable("CAISSON_MODEL_KIND").or_else(|| variable("CAISSON_MODEL_BASE_URL"));
    let bot = bot::open(&home, real.is_none().then_some(recording.as_path()), Vec::new())?;
    match real {
        Some(_) => {
            let name = variable("CAISSON_MODEL_NAME").unwrap_or_default();
            stage.say(&format!("model: a real one, {name}, as CAISSON_MODEL_* names it"));
        }
        None => stage.say("model: a recording (CAISSON_MODEL_KIND, _NAME, _KEY_FILE, _BASE_URL name a real one)"),
    }
    let (url, file) = (place.url.as_str(), admin.display().to_string());
    bot.say(&["setup", "--forge-url", url, "--admin-token-file", &file])?;
    std::fs::remove_file(&admin)?;
    stage.step("caisson setup: two accounts, an organisation", &bot.config().display().to_string());
    let path = origin.display().to_string();
    bot.say(&["repo", "add", &path, "--name", name, "--writer", HUMAN, "--no-try"])?;
    stage.step("caisson repo add", &format!("{}{OWNER}/{name}", place.url));
    Ok(bot)
}

/// Prints each state and review and has each approved; returns the approved branch.
async fn follow(stage: &Stage, bot: &mut Bot, person: &Person, repo: &RepoRef, auto: bool) -> Result<String> {
    let (mut state, mut shown, mut answered) = (String::new(), 0, 0);
    let began = Instant::now();
    loop {
        bot.alive()?;
        let task = bot::task(bot)?.unwrap_or_default();
        let word = |key: &str| task[key].as_str().unwrap_or_default().to_owned();
        let pull = task["pull"].as_u64();
        let reviews = match pull {
            Some(pull) => person.reviews(repo, pull, BOT).await?,
            None => Vec::new(),
        };
        for review in reviews.iter().skip(shown) {
            stage.step("the bot posts a review", &review.html_url);
        }
        shown = shown.max(reviews.len());
        if word("state") != state {
            state = word("state");
            stage.step(&format!("task: {state}"), "");
        }
        match (state.as_str(), pull, reviews.last()) {
            ("approved", ..) => return Ok(word("branch")),
            ("awaiting-review" | "final-review", Some(pull), Some(review)) if reviews.len() > answered => {
                answered = reviews.len();
                answer(stage, person, pull, review, auto).await?;
            }
            ("paused" | "failed" | "declined" | "cancelled" | "expired", ..) => {
                let shown = bot.say(&["task", "show", &task["id"].to_string()]).unwrap_or_default();
                bail!("the task is {state}:\n{shown}\n{}", bot.tail());
            }
            _ => {}
        }
        if auto && began.elapsed() > LONGEST {
            bail!("no end after {LONGEST:?}, the task is {state}:\n{}", bot.tail());
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn answer(stage: &Stage, person: &Person, pull: u64, review: &Review, auto: bool) -> Result<()> {
    if auto {
        person.approve(pull, review).await?;
        stage.step(
            &format!("{HUMAN} approves {}", review.commit.get(..10).unwrap_or(&review.commit)),
            "by API (DEMO_AUTO)",
        );
    } else {
        stage.say(&format!(
            "Your turn: read the review at {} and approve it. Its last lines say how else to answer.",
            review.html_url
        ));
    }
    Ok(())
}

async fn wait_for_state(bot: &mut Bot, wanted: &str) -> Result<()> {
    let end = Instant::now() + DELIVERY;
    while Instant::now() < end {
        bot.alive()?;
        if bot::task(bot)?.is_some_and(|task| task["state"] == wanted) {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
    bail!("the task is not {wanted} after {DELIVERY:?}:\n{}", bot.tail())
}
