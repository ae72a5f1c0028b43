//! The common environment of these tests: a project at an upstream, the bot's repository of it, and sandboxes with the local broker.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use caisson::git::{RemoteUrl, Repos};
use caisson::sandbox::{
    Acted, CaptureSpec, EgressControl, PrepareSpec, SandboxError, Sandboxes, Segment, Settings, VerifySpec,
};
use domain::{Action, Commit};
use protocol::broker::ContainerLimits;
use protocol::router::Rule;
use protocol::runner::{Limits, Outcome, Status};

use crate::doors::Doors;
use crate::local_broker::LocalBroker;

pub const KEY: &str = "demo";

/// git as a developer would run it, independent of this machine's configuration.
pub fn git(dir: &Path, args: &[&str]) -> String {
    let out = git_command(dir).args(args).output().expect("git runs");
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).trim_end().to_owned()
}

pub fn git_command(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(dir).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", dir);
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Dev").env(format!("GIT_{role}_EMAIL"), "dev@example.org");
        command.env(format!("GIT_{role}_DATE"), "1700000000 +0000");
    }
    command
}

pub fn git_in(dir: &Path, args: &[&str], input: &[u8]) -> String {
    use std::io::Write as _;
    let mut child = git_command(dir).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("git runs");
    child.stdin.take().expect("piped").write_all(input).expect("git reads");
    let out = child.wait_with_output().expect("git ends");
    assert!(out.status.success(), "git {args:?}");
    String::from_utf8_lossy(&out.stdout).trim_end().to_owned()
}

pub fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    std::fs::write(path, text).expect("a file");
}

/// Creates a repository with these files in one commit.
pub fn project(dir: &Path, files: &[(&str, &str)]) -> Commit {
    std::fs::create_dir_all(dir).expect("a directory");
    git(dir, &["init", "--quiet", "-b", "main"]);
    commit(dir, files, "first")
}

pub fn commit(dir: &Path, files: &[(&str, &str)], message: &str) -> Commit {
    for (path, text) in files {
        write(dir, path, text);
    }
    git(dir, &["add", "-A", "-f"]);
    git(dir, &["commit", "--quiet", "--allow-empty", "-m", message]);
    head(dir)
}

pub fn head(dir: &Path) -> Commit {
    Commit::parse(&git(dir, &["rev-parse", "HEAD"])).expect("a commit")
}

pub struct World {
    pub dir: tempfile::TempDir,
    pub broker: Arc<LocalBroker>,
    pub doors: Arc<Doors>,
    pub repos: Repos,
    pub sandboxes: Arc<Sandboxes>,
    pub base: Commit,
    ids: Mutex<u64>,
}

pub const FILES: &[(&str, &str)] = &[
    ("README.md", "# Demo\n"),
    ("sum.py", "def add(a, b):\n    return a - b\n"),
    (
        "test_sum.py",
        "import unittest\nfrom sum import add\n\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 2), 4)\n",
    ),
    (".gitignore", "build/\n*.log\n"),
    ("build/kept.txt", "tracked although ignored\n"),
    ("docs/link-target.md", "x\n"),
];

impl World {
    pub async fn new() -> Self {
        Self::with(FILES, |_| {}).await
    }

    pub async fn with(files: &[(&str, &str)], settle: impl FnOnce(&mut Settings)) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let base = project(&dir.path().join("upstream"), files);
        let repos = Repos::new(dir.path().join("repos"));
        repos.fetch(KEY, &url(&dir.path().join("upstream")), None).await.expect("fetched");
        let broker = LocalBroker::new();
        let doors = Arc::new(Doors::default());
        let mut settings = Settings::new(dir.path().join("state"), "local");
        settle(&mut settings);
        let control: Arc<dyn EgressControl> = Arc::clone(&doors) as Arc<dyn EgressControl>;
        let sandboxes =
            Sandboxes::new(Arc::clone(&broker) as _, Some(control), repos.clone(), settings, 1).expect("sandboxes");
        Self { dir, broker, doors, repos, sandboxes: Arc::new(sandboxes), base, ids: Mutex::new(0) }
    }

    pub fn upstream(&self) -> PathBuf {
        self.dir.path().join("upstream")
    }

    pub fn spec(&self, task: i64) -> PrepareSpec {
        PrepareSpec {
            task,
            attempt: 1,
            repo_key: KEY.to_owned(),
            base: self.base.clone(),
            trunk: Some(self.base.clone()),
            image: "local".to_owned(),
            limits: ContainerLimits::default(),
            network: true,
            egress: vec![Rule::parse("docs.example.org").expect("a rule")],
            setup: None,
            anew: None,
            merge: None,
            afresh: false,
        }
    }

    /// The verification of `commit` for the first task, against the base.
    pub fn checks(&self, commit: &Commit, command: Option<&str>) -> VerifySpec {
        VerifySpec {
            task: 1,
            commit: commit.clone(),
            base: self.base.clone(),
            tries: 1,
            repo_key: KEY.to_owned(),
            image: "local".to_owned(),
            command: command.map(str::to_owned),
            toolchain: None,
            limits: ContainerLimits::default(),
            wall_ms: 60_000,
            tests_may_move: false,
        }
    }

    pub fn workspace(&self, task: i64) -> PathBuf {
        self.broker.workspace(&format!("task-{task}-1"))
    }

    /// Names of the containers that are left once all removals have finished.
    pub async fn left(&self) -> Vec<String> {
        use caisson::sandbox::broker::Broker as _;
        self.sandboxes.leave().await;
        self.broker.list().await.expect("listed").into_iter().map(|container| container.name).collect()
    }

    pub async fn bash(&self, task: i64, command: &str) -> Acted {
        let id = {
            let mut ids = self.ids.lock().unwrap();
            *ids += 1;
            *ids
        };
        let action = Action::Bash { command: command.to_owned() };
        let limits = Limits { wall_ms: 20_000, output_bytes: 10_000 };
        acted(self.sandboxes.actions.act(task, id, &action, limits).await)
    }

    pub fn capture_spec(&self, task: i64, n: u32, parent: &Commit) -> CaptureSpec {
        CaptureSpec {
            segment: Segment { task, n, repo_key: KEY.to_owned(), parent: parent.clone(), base: self.base.clone() },
            message: format!("Checkpoint {n}\n\nFor issue 7."),
            date_ms: 1_763_000_000_123,
            protected: vec!["deploy/**".to_owned()],
        }
    }
}

/// A loss is noticed before an action is sent or while it runs, which is a matter of timing.
pub fn acted(acted: caisson::sandbox::Result<Acted>) -> Acted {
    match acted {
        Err(SandboxError::Gone(loss)) => {
            let outcome = Outcome::new(Status::Failed { reason: loss.to_string() }, "");
            Acted { outcome, picture: None, lost: Some(loss) }
        }
        acted => acted.expect("acted"),
    }
}

pub fn url(path: &Path) -> RemoteUrl {
    RemoteUrl::parse(path.to_str().expect("UTF-8")).expect("a path")
}
