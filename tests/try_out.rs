//! `caisson repo try`, and the trial at the end of `caisson repo add`, as an operator runs them with the built-in forge: a Python project
//! with its sources in `src`, whose checks fail at first and pass with the proposed settings. Needs Docker, the images and the static
//! runner (`make test`), except for the cases without an engine.

mod support;

use caisson::config::project::{FILE, Project};
use caisson::forge::gitea::admin::Admin;
use caisson::forge::{ForgeReads, Gitea, RepoRef};
use caisson::secret::Secret;
use devforge::{Devforge, Options};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::engine::{ROUTER, SANDBOX, docker, missing};
use support::forges::git;
use support::skipped::skipped;

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, text).expect("written");
}

/// The image has no pip, and no package index is reachable: the make target `init` puts the sources where Python looks, `deps` asks for a
/// host.
fn project(at: &Path) -> PathBuf {
    let dir = at.join("shop");
    write(&dir.join("pyproject.toml"), "[project]\nname = \"shop\"\nversion = \"1\"\n[build-system]\nrequires = []\n");
    write(&dir.join("src/shop/__init__.py"), "def total(values):\n    return sum(values)\n");
    let test = "import unittest\n\nfrom shop import total\n\n\nclass Total(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(total([1, 2]), 3)\n";
    write(&dir.join("tests/test_total.py"), test);
    let init = "import pathlib, site; d = pathlib.Path(site.getusersitepackages()); d.mkdir(parents=True, exist_ok=True); (d / 'shop.pth').write_text('/workspace/src')";
    let deps = "import urllib.request; urllib.request.urlopen('https://packages.example.org/x', timeout=20)";
    let make = format!(
        "deps:\n\tpython3 -c \"{deps}\"\n\ninit:\n\tpython3 -c \"{init}\"\n\nlint:\n\tpython3 -m compileall -q src\n"
    );
    write(&dir.join("Makefile"), &make);
    git(&dir, &["init", "-q", "--initial-branch=trunk"]);
    git(&dir, &["add", "-A"]);
    git(&dir, &["commit", "-q", "-m", "first"]);
    dir
}

struct Home {
    dir: tempfile::TempDir,
    forge: Devforge,
}

impl Home {
    /// A prepared forge, and a configuration with the images that `make images` makes.
    async fn new() -> Home {
        let forge = Devforge::start(Options::default()).await.expect("a forge");
        let home = Home { dir: tempfile::tempdir().expect("a directory"), forge };
        let token_file = home.dir.path().join("admin-token");
        Secret::new(home.forge.admin_token()).write(&token_file).expect("written");
        let admin =
            Admin::new(&home.forge.url().parse().expect("a URL"), Secret::new(home.forge.admin_token()), "test");
        admin
            .expect("an admin")
            .create_account("dev", "dev@lab.test", &Secret::random().expect("random"))
            .await
            .expect("dev");
        let (url, file) = (home.forge.url().to_owned(), token_file.display().to_string());
        let setup = ["setup", "--forge-url", &url, "--admin-token-file", &file, "--bot-url", "http://127.0.0.1:9"];
        assert!(home.caisson(&setup, &[]).status.success());
        let config = home.dir.path().join("caisson.toml");
        let text = std::fs::read_to_string(&config).expect("read");
        let sandbox = format!("[sandbox]\nimage = \"{SANDBOX}\"\n[sandbox.toolchains]\npython = \"{SANDBOX}\"\n");
        assert!(!text.contains("\n[sandbox"), "{text}");
        std::fs::write(&config, format!("{text}\n{sandbox}\n[router]\nimage = \"{ROUTER}\"\n")).expect("written");
        home
    }

    fn caisson(&self, args: &[&str], variables: &[(&str, &str)]) -> Output {
        let scratch = self.dir.path().join("scratch");
        std::fs::create_dir_all(&scratch).expect("made");
        tokio::task::block_in_place(|| {
            Command::new(env!("CARGO_BIN_EXE_caisson"))
                .arg("--config")
                .arg(self.dir.path().join("caisson.toml"))
                .args(args)
                .env("HOME", self.dir.path())
                .env("NO_COLOR", "1")
                .env("TMPDIR", scratch)
                .envs(variables.iter().copied())
                .output()
                .expect("caisson starts")
        })
    }

    fn bot(&self) -> Gitea {
        let token = std::fs::read_to_string(self.dir.path().join("secrets/forge-token")).expect("a token");
        Gitea::new(&self.forge.url().parse().expect("a URL"), Secret::new(token.trim()), "test").expect("a forge")
    }

    /// A trial leaves no folder, and nothing in the engine.
    fn assert_nothing_is_left(&self) {
        let left = std::fs::read_dir(self.dir.path().join("scratch")).expect("read").count();
        assert_eq!(left, 0, "temporary folders are left behind");
        let filter = "name=-try";
        for list in [vec!["ps", "-aq"], vec!["network", "ls", "-q"], vec!["volume", "ls", "-q"]] {
            assert_eq!(docker(&[&list[..], &["--filter", filter]].concat()).as_deref(), Some(""), "{list:?}");
        }
    }
}

fn said(out: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_engine_a_repository_is_added_all_the_same() {
    let home = Home::new().await;
    let source = project(home.dir.path()).display().to_string();
    let nowhere = [("CAISSON_ENGINE_SOCKET", "nowhere/docker.sock")];
    let out = home.caisson(&["repo", "add", &source, "--writer", "dev"], &nowhere);
    let text = said(&out);
    assert!(
        out.status.success() && text.contains("not looked at: ") && text.contains("caisson repo try shop looks later"),
        "{text}"
    );
    let quiet = said(&home.caisson(&["repo", "add", &source, "--no-try"], &nowhere));
    assert!(!quiet.contains("not looked at") && quiet.contains("is ready"), "{quiet}");
    let unknown = home.caisson(&["repo", "try", "nothing"], &nowhere);
    assert!(!unknown.status.success() && said(&unknown).contains("no repository has the key nothing"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_as_it_is_passes_with_the_proposal() {
    if let Some(why) = missing(&[SANDBOX, ROUTER]) {
        return skipped("docker", &why);
    }
    let home = Home::new().await;
    let source = project(home.dir.path());
    let address = source.display().to_string();
    let out = home.caisson(&["repo", "add", &address, "--writer", "dev"], &[]);
    let text = said(&out);
    assert!(out.status.success(), "{text}");
    for part in [
        "its tasks run in caisson-sandbox:local: its pyproject.toml tells the toolchain python",
        "the Python package shop is not installed",
        "caisson image build python",
        "if sandboxes may reach it: [egress] allow = [\"packages.example.org\"] in caisson.toml",
        "✓ setup: make init (Makefile, init",
        "its checks run with this .caisson.toml: they pass, 1 test",
        "lint: make lint",
    ] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
    home.assert_nothing_is_left();

    let repo = RepoRef::new("caisson-projects", "shop");
    let bot = home.bot();
    let before = bot.branch(&repo, "trunk").await.expect("read");
    let out = home.caisson(&["repo", "try", "shop", "--propose"], &[]);
    let text = said(&out);
    assert!(out.status.success() && text.contains("pull request "), "{text}");
    let again = said(&home.caisson(&["repo", "try", "shop", "--propose"], &[]));
    let pull_of = |text: &str| text.lines().find(|line| line.contains("pull request ")).map(str::to_owned);
    assert_eq!(pull_of(&again), pull_of(&text), "the same proposal is the same pull request: {again}");
    assert_eq!(bot.branch(&repo, "trunk").await.expect("read"), before, "the default branch is as it was");
    home.assert_nothing_is_left();
    let number = text.split("pull request ").nth(1).and_then(|rest| rest.split(':').next()).expect("a number");
    let pull = bot.pull(&repo, number.parse().expect("a number")).await.expect("the pull request");
    assert!(pull.open && pull.base_ref == "trunk" && pull.head_ref.starts_with("agent/caisson-toml-"), "{pull:?}");
    taken_over(&home, &source, &pull.head_ref);
}

/// Somebody commits the proposed file, and the operator accepts it: then the checks run without further options.
fn taken_over(home: &Home, source: &Path, branch: &str) {
    let url = format!("{}/caisson-projects/shop.git", home.forge.url().trim_end_matches('/'));
    let token = format!("http.extraHeader=Authorization: token {}", home.forge.admin_token());
    tokio::task::block_in_place(|| git(source, &["-c", &token, "fetch", "-q", &url, branch]));
    git(source, &["merge", "-q", "--ff-only", "FETCH_HEAD"]);
    let file = std::fs::read_to_string(source.join(FILE)).expect("the file");
    let project = Project::parse(FILE, &file).expect("a project file");
    assert_eq!(
        (project.setup.as_slice(), project.toolchain.as_deref()),
        (&["make init".to_owned()][..], Some("python")),
        "{file}"
    );
    assert_eq!(project.test.as_deref(), Some("python3 -m unittest discover -v -s tests"));
    let address = source.display().to_string();
    let unaccepted = said(&home.caisson(&["repo", "add", &address, "--name", "shop2"], &[]));
    assert!(unaccepted.contains("is not accepted") && unaccepted.contains(&project.hash()), "{unaccepted}");
    let accepted = said(&home.caisson(&["repo", "add", &address, "--name", "shop2", "--accept", &project.hash()], &[]));
    assert!(accepted.contains("its checks run by themselves: they pass, 1 test"), "{accepted}");
}
