//! What a world consists of before its bot starts: the repository on the forge with its labels, a configuration, and optionally a database.

use crate::server;
use caisson::config::{Process, Secret};
use caisson::forge::{Account, ForgeReads, Gitea};
use caisson::git::Auth;
use devforge::Devforge;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};

pub const REPO: &str = "lab/shop";

const BROKEN: &str = "def newer(a, b):\n    return a > b\n";
pub const TEST: &str = "import unittest\nfrom semver import newer\n\n\nclass Newer(unittest.TestCase):\n    def test_ten(self):\n        self.assertTrue(newer('1.10.0', '1.9.0'))\n";

/// A port below the range from which the kernel assigns ports, so that it is still free after a restart of the bot.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + (std::process::id() % 1_000) as u16 * 10;
    let ports = (0..1_000).map(|_| first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % 10_000 + 20_000);
    ports.into_iter().find(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a port")
}

pub fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(dir).args(["-c", "user.name=Alice", "-c", "user.email=alice@example.org"]).args(args);
    let out = command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git");
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

/// Configuration of a store in a new database; none, with a message, if PostgreSQL is not installed.
pub fn postgres() -> Option<String> {
    Some(format!("store.url = \"{}\"", server::Server::of_this_process()?.database()))
}

pub async fn configure(
    forge: &Devforge,
    dir: &Path,
    more: &str,
    sandbox: &str,
    network: bool,
    poll_s: u32,
    models: &str,
) -> Process {
    let token = forge.add_token("caisson").expect("a token");
    let id = {
        let client =
            Gitea::new(&forge.url().parse().expect("url"), Secret::new(token.clone()), "test").expect("client");
        client.repository(&caisson::forge::RepoRef::new("lab", "shop")).await.expect("the repository").id
    };
    for (name, text) in [("bot.token", token.as_str()), ("shop.secret", "sekret")] {
        Secret::new(text).write(&dir.join(name)).expect("written");
    }
    let more = match std::env::var("CAISSON_STORE").is_ok_and(|word| word == "postgres") {
        true if !more.contains("store.url") => format!("{}\n{more}", postgres().expect("CAISSON_STORE says postgres")),
        _ => more.to_owned(),
    };
    let text = format!(
        "state_dir = \"state\"\n{more}\n[forge]\nurl = \"{}\"\ntoken_file = \"bot.token\"\nsettle_ms = 300\npoll_s = {poll_s}\nwaiting_s = 1\n\
         [listen]\nwebhooks = \"127.0.0.1:{}\"\nops = \"127.0.0.1:0\"\n{models}\
         [sandbox]\nnetwork = \"{}\"\n{sandbox}\n\
         [[repositories]]\nkey = \"shop\"\nowner = \"lab\"\nname = \"shop\"\nid = {id}\nsecret_files = [\"shop.secret\"]\n\
         default_branch = \"main\"\nupstream = \"https://example.org/shop.git\"\n",
        forge.url(),
        free_port(),
        if network { "router" } else { "none" }
    );
    let path = dir.join("caisson.toml");
    std::fs::write(&path, text).expect("written");
    Process::load(&path).expect("a configuration")
}

/// The part of `caisson repo add` that a world needs: labels, and no other listener of pushes.
pub async fn add_labels(forge: &Devforge) {
    let client = reqwest::Client::new();
    switch_actions_off(forge, REPO).await;
    // Without the label of a newer version, as in a repository that was added earlier: nothing may depend on it.
    for label in caisson::checkpoint::label::LABELS.iter().filter(|label| label.state != "asking") {
        let body = serde_json::json!({ "name": label.name, "color": label.colour, "exclusive": true });
        let url = format!("{}/api/v1/repos/{REPO}/labels", forge.url());
        let post = client.post(url).header("Authorization", format!("token {}", forge.admin_token())).json(&body);
        let answer = post.send().await.expect("answered");
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap_or_default());
    }
}

/// The account that keeps default branches in step and its credential, where the configuration names a token.
pub async fn keeps_in_step(config: &Process) -> Option<(Account, Auth)> {
    let token = Secret::read(config.forge.sync_token_file.as_deref()?).expect("a token");
    let client = Gitea::new(config.forge.url.as_ref()?, token.clone(), "test").expect("a client");
    let account = client.whoami().await.expect("an account");
    let auth = Auth::basic(&account.login, token.expose());
    Some((account, auth))
}

/// Leaves no other reader of a push.
pub async fn switch_actions_off(forge: &Devforge, repo: &str) {
    let off = reqwest::Client::new().patch(format!("{}/api/v1/repos/{repo}", forge.url()));
    let off = off.header("Authorization", format!("token {}", forge.admin_token()));
    let answer = off.json(&serde_json::json!({ "has_actions": false })).send().await.expect("answered");
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap_or_default());
}

/// One more label of a repository.
pub async fn add_label(forge: &Devforge, repo: &str, name: &str) {
    let url = format!("{}/api/v1/repos/{repo}/labels", forge.url());
    let post = reqwest::Client::new().post(url).header("Authorization", format!("token {}", forge.admin_token()));
    let answer = post.json(&serde_json::json!({ "name": name, "color": "#00aabb" })).send().await.expect("answered");
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap_or_default());
}

/// Pushes the first commit as the admin.
pub fn push_project(forge: &Devforge, dir: &Path) {
    let work = dir.join("project");
    std::fs::create_dir_all(work.join("tests")).expect("made");
    for (name, text) in [("semver.py", BROKEN), ("tests/__init__.py", ""), ("tests/test_semver.py", TEST)] {
        std::fs::write(work.join(name), text).expect("written");
    }
    git(&work, &["init", "-q", "-b", "main"]);
    git(&work, &["add", "."]);
    git(&work, &["commit", "-q", "-m", "A shop that compares versions as text"]);
    let header = format!("http.extraHeader=Authorization: token {}", forge.admin_token());
    let url = format!("{}/{REPO}.git", forge.url());
    git(&work, &["-c", &header, "push", "-q", &url, "main"]);
}
