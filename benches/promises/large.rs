//! A large repository: 50,000 files and about 500 MB that no packing makes smaller, 100 commits. How soon a sandbox has its tree, and what a
//! checkpoint of 50 files costs against a push of the same.
//!
//! Workspaces are on disk, where a large one is a layer over the tree in its mirror. Pushes go to the forge of the demo, a real Gitea where there
//! is one. The container that verifies a tree is made while the agent works, as in production, so it is ready before a checkpoint is timed.

use crate::container::{IMAGE, docker, runner, with_broker};
use crate::demo::forge::{AGENT, DemoForge};
use crate::demo::process::git;
use crate::line::{Line, ms, quantile};
use crate::stage::header;
use anyhow::{Context, Result};
use broker::Settings as BrokerSettings;
use caisson::forge::gitea::admin::Admin;
use caisson::forge::{Gitea, RepoRef};
use caisson::git::{Auth, Branch, PushSpec, Pushed, RemoteUrl, Repos};
use caisson::sandbox::broker::SocketBroker;
use caisson::sandbox::{CaptureSpec, Captured, PrepareSpec, Sandboxes, Segment, Settings};
use caisson::secret::Secret;
use domain::{Action, Commit};
use protocol::broker::ContainerLimits;
use protocol::runner::{Limits, Status};
use std::io::{BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const FILES: usize = 50_000;
const BYTES: usize = 10_000;
const FOLDERS: usize = 250;
const COMMITS: usize = 100;
/// Files of one checkpoint.
const CHANGED: usize = 50;
const ROUNDS: i64 = 4;
/// More than two: after the first push of everything, the forge is busy for some seconds and slows both sides.
const CHECKPOINTS: i64 = 11;
const LARGE: &str = "large";
const SMALL: &str = "small";
const HUMAN: &str = "dev";
/// Longer than the verification container takes to start.
const MEANWHILE: Duration = Duration::from_secs(2);

pub async fn measure() -> Vec<Line> {
    let Some(runner) = runner().filter(|_| docker(&["image", "inspect", IMAGE])) else {
        eprintln!(
            "skipped: large repositories need CAISSON_RUNNER (make bench sets it), Docker and the image {IMAGE} (make images)"
        );
        return Vec::new();
    };
    let mut settings = BrokerSettings::new("", "bench", &runner);
    settings.images = vec![IMAGE.to_owned()];
    settings.plain_workspaces = true;
    with_broker(settings, async |broker| measured(broker).await.expect("a large repository")).await
}

struct Bench {
    sandboxes: Arc<Sandboxes>,
    repos: Repos,
    dir: tempfile::TempDir,
}

async fn measured(broker: SocketBroker) -> Result<Vec<Line>> {
    let dir = tempfile::tempdir()?;
    let repos = Repos::new(dir.path().join("repos"));
    for (key, files) in [(LARGE, FILES), (SMALL, 10)] {
        let at = upstream(dir.path(), key, files)?;
        repos.fetch(key, &RemoteUrl::parse(&at.display().to_string())?, None).await?;
    }
    let settings = Settings::new(dir.path().join("state"), IMAGE);
    let sandboxes = Arc::new(Sandboxes::new(Arc::new(broker), None, repos.clone(), settings, 1)?);
    let bench = Bench { sandboxes, repos, dir };
    let cold = bench.ready(LARGE, 1).await?;
    let (mut warm, mut small) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        bench.sandboxes.of_tasks.remove(1).await?;
        warm.push(bench.ready(LARGE, 1).await?);
        small.push(bench.ready(SMALL, 2).await?);
        bench.sandboxes.of_tasks.remove(2).await?;
        eprintln!("  round {round}: {} against {}", ms(warm[warm.len() - 1]), ms(small[small.len() - 1]));
    }
    let (warm, small) = (quantile(&mut warm, 0.5), quantile(&mut small, 0.5));
    let tree = warm.saturating_sub(small);
    let limit = Duration::from_millis(300);
    let place = DemoForge::open().await?;
    let (ours, push) = bench.checkpoints(&place).await?;
    bench.sandboxes.of_tasks.remove(1).await?;
    bench.sandboxes.leave().await;
    Ok(vec![
        Line::promise(
            "50,000 files, 500 MB: usable tree, its mirror warm, p50",
            format!(
                "{} beyond the {} of a sandbox with ten files; the first, which made the mirror: {}",
                ms(tree),
                ms(small),
                ms(cold)
            ),
            "≤ 300 ms",
            tree <= limit,
        ),
        Line::at_most(
            &format!(
                "… a checkpoint of 50 files taken out, checked and pushed, against one `git push` of the same, p50 ({})",
                place.what
            ),
            ours,
            push,
            1.6,
        ),
    ])
}

impl Bench {
    /// Time from the request until an action has read a file.
    async fn ready(&self, key: &str, task: i64) -> Result<Duration> {
        let base = self.base(key).await?;
        let spec = PrepareSpec {
            task,
            attempt: 1,
            repo_key: key.to_owned(),
            trunk: Some(base.clone()),
            base,
            image: IMAGE.to_owned(),
            limits: ContainerLimits {
                workspace_bytes: 0,
                disk_bytes: 8 << 30,
                disk_floor_bytes: 1 << 30,
                ..ContainerLimits::default()
            },
            network: false,
            egress: Vec::new(),
            setup: None,
            anew: None,
            merge: None,
            afresh: false,
        };
        let began = Instant::now();
        self.sandboxes.of_tasks.prepare(&spec).await?;
        let text = self.bash(task, 1, "head -c 4 d000/f00000 | wc -c").await?;
        let took = began.elapsed();
        anyhow::ensure!(text.trim() == "4", "{text}");
        Ok(took)
    }

    async fn base(&self, key: &str) -> Result<Commit> {
        Ok(self.repos.resolve(key, &Branch::parse("main")?).await?)
    }

    async fn bash(&self, task: i64, id: u64, command: &str) -> Result<String> {
        let action = Action::Bash { command: command.to_owned() };
        let limits = Limits { wall_ms: 60_000, output_bytes: 4096 };
        let outcome = self.sandboxes.actions.act(task, id, &action, limits).await?.outcome;
        anyhow::ensure!(outcome.status == Status::Ok, "{outcome:?}");
        Ok(outcome.text)
    }

    /// Creates an empty repository on the forge; returns its address and the token of a person who may write to it.
    async fn bring_to(&self, place: &DemoForge) -> Result<(RemoteUrl, Secret)> {
        let (_, token) = place.person(HUMAN).await?;
        let repo = RepoRef::new("bench", LARGE);
        Admin::new(&place.url, place.admin.clone(), AGENT)?.ensure_organisation(&repo.owner, HUMAN).await?;
        let made = Gitea::new(&place.url, place.admin.clone(), AGENT)?.create_repository(&repo, "main").await?;
        Ok((RemoteUrl::parse(&made.clone_url)?, token))
    }

    /// A checkpoint with its push, and the same push with git alone, in turn: both medians.
    async fn checkpoints(&self, place: &DemoForge) -> Result<(Duration, Duration)> {
        let (url, token) = self.bring_to(place).await?;
        let auth = Auth::basic(HUMAN, token.expose());
        let header = header(token.expose());
        let (origin, clone) = (self.dir.path().join(format!("{LARGE}.git")), self.dir.path().join("clone"));
        git(self.dir.path(), &["clone", "-q", "--shared", &origin.display().to_string(), "clone"])?;
        git(&clone, &["remote", "set-url", "origin", url.as_str()])?;
        git(&clone, &["-c", &header, "push", "-q", "origin", "main"])?;
        let base = self.base(LARGE).await?;
        let (mut parent, mut ours, mut pushes) = (base.clone(), Vec::new(), Vec::new());
        for round in 1..=CHECKPOINTS {
            let n = u32::try_from(round)?;
            let segment =
                Segment { task: 1, n, repo_key: LARGE.to_owned(), parent: parent.clone(), base: base.clone() };
            self.sandboxes.quarantines.warm(&segment);
            let edit = format!("for i in $(seq -w 0 {}); do echo {round} >> d0$i/f000$i; done", CHANGED - 1);
            self.bash(1, 10 + u64::from(n), &edit).await?;
            tokio::time::sleep(MEANWHILE).await;
            let spec =
                CaptureSpec { segment, message: "fifty".into(), date_ms: 1_763_000_000_000, protected: Vec::new() };
            let began = Instant::now();
            let (commit, files) = match self.sandboxes.captures.capture(&spec).await? {
                Captured::Commit { commit, files, .. } => (commit, files),
                other => anyhow::bail!("{other:?}"),
            };
            let branch = Branch::parse("agent/1-large")?;
            let old = Some(&parent).filter(|_| round > 1);
            let push = PushSpec { url: &url, auth: Some(&auth), branch: &branch, new: &commit, expected_old: old };
            anyhow::ensure!(self.repos.push(LARGE, push).await? == Pushed::Done && files.len() == CHANGED);
            ours.push(began.elapsed());
            parent = commit;
            self.sandboxes.of_tasks.open(1).await?;
            pushes.push(by_hand(&clone, &header, round)?);
            eprintln!("  checkpoint {round}: {} against {}", ms(ours[ours.len() - 1]), ms(pushes[pushes.len() - 1]));
        }
        Ok((quantile(&mut ours, 0.5), quantile(&mut pushes, 0.5)))
    }
}

fn by_hand(clone: &Path, header: &str, round: i64) -> Result<Duration> {
    for at in 0..CHANGED {
        let path = clone.join(format!("d{at:03}/f{at:05}"));
        let mut file =
            std::fs::OpenOptions::new().append(true).open(&path).with_context(|| path.display().to_string())?;
        writeln!(file, "{round}")?;
    }
    git(clone, &["commit", "-q", "-a", "-m", "fifty"])?;
    let began = Instant::now();
    git(clone, &["-c", header, "push", "-q", "origin", "HEAD:refs/heads/by-hand"])?;
    Ok(began.elapsed())
}

/// A bare repository whose first commit has all files, and each later one changes one.
fn upstream(dir: &Path, key: &str, files: usize) -> Result<PathBuf> {
    let at = dir.join(format!("{key}.git"));
    git(dir, &["init", "-q", "--bare", "-b", "main", &at.display().to_string()])?;
    let mut import = Command::new("git");
    import.current_dir(&at).args(["fast-import", "--quiet", "--depth=0"]).stdin(Stdio::piped());
    let mut child = import.spawn()?;
    let mut to = BufWriter::new(child.stdin.take().context("piped")?);
    let mut random = std::fs::File::open("/dev/urandom")?;
    let mut bytes = vec![0; BYTES];
    for number in 0..COMMITS {
        write!(
            to,
            "commit refs/heads/main\ncommitter Dev <dev@example.org> {} +0000\ndata 1\nx\n",
            1_700_000_000 + number
        )?;
        let changed = if number == 0 { 0..files } else { number % files..number % files + 1 };
        for file in changed {
            random.read_exact(&mut bytes)?;
            write!(to, "M 644 inline d{:03}/f{file:05}\ndata {BYTES}\n", file % FOLDERS)?;
            to.write_all(&bytes)?;
            to.write_all(b"\n")?;
        }
    }
    to.flush()?;
    drop(to);
    anyhow::ensure!(child.wait()?.success(), "git fast-import");
    Ok(at)
}
