//! One forge, built in or real, set up in the same way through the API: accounts, an organisation, repositories with a commit. Needs
//! tokio's multi-threaded flavour. `Hand` makes the calls that only people make.

use super::gitea::{self, RealGitea};
use caisson::forge::gitea::admin::{Admin, BOT_SCOPES};
use caisson::forge::{Access, Account, ForgeReads, Gitea, RepoRef};
use caisson::secret::Secret;
use devforge::{Devforge, Options};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use url::Url;

pub const ORGANISATION: &str = "lab";
pub const AGENT: &str = "caisson-test";

pub enum Kept {
    Builtin(Devforge),
    Real(RealGitea),
}

/// A forge with the accounts `caisson` (owner of the organisation), `caisson-sync`, `alice` (writer), `bob` (reader), `carol` (nobody).
pub struct Lab {
    pub url: Url,
    pub kept: Kept,
    pub bot: Gitea,
    tokens: HashMap<String, Secret>,
    dir: tempfile::TempDir,
}

/// A repository of the lab, as a test uses it.
#[derive(Clone)]
pub struct LabRepository {
    pub repo: RepoRef,
    pub main: String,
    clone: PathBuf,
}

pub async fn builtin(options: Options) -> Lab {
    let forge = Devforge::start(options).await.expect("the built-in forge starts");
    let (url, token) = (forge.url().to_owned(), forge.admin_token().to_owned());
    furnish(Kept::Builtin(forge), &url, &token).await
}

/// `None`, with a printed message, where there is no Gitea.
pub async fn real() -> Option<Lab> {
    Some(started(gitea::start()?).await)
}

/// Of this program.
pub async fn of(binary: &Path) -> Lab {
    started(gitea::start_binary(binary)).await
}

async fn started(forge: RealGitea) -> Lab {
    let (url, token) = (forge.url.clone(), forge.admin_token.clone());
    furnish(Kept::Real(forge), &url, &token).await
}

async fn furnish(kept: Kept, url: &str, admin_token: &str) -> Lab {
    let url: Url = format!("{url}/").parse().expect("an address");
    let admin = Admin::new(&url, Secret::new(admin_token), AGENT).expect("a client");
    let mut tokens = HashMap::new();
    for login in ["caisson", "caisson-sync", "alice", "bob", "carol"] {
        let password = Secret::random().expect("random bytes");
        admin.create_account(login, &format!("{login}@lab.test"), &password).await.expect("an account");
        tokens.insert(
            login.to_owned(),
            admin.create_token(login, &password, "test", &BOT_SCOPES).await.expect("a token"),
        );
    }
    tokens.insert("root".into(), Secret::new(admin_token));
    admin.ensure_organisation(ORGANISATION, "caisson").await.expect("an organisation");
    let bot = Gitea::new(&url, tokens["caisson"].clone(), AGENT).expect("a client");
    Lab { url, kept, bot, tokens, dir: tempfile::tempdir().expect("a directory") }
}

impl Lab {
    pub fn token(&self, login: &str) -> Secret {
        self.tokens[login].clone()
    }

    /// The forge as another account sees it.
    pub fn as_account(&self, login: &str) -> Gitea {
        Gitea::new(&self.url, self.token(login), AGENT).expect("a client")
    }

    /// Creates an account.
    pub async fn newcomer(&self, login: &str) -> Account {
        let admin = Admin::new(&self.url, self.token("root"), AGENT).expect("a client");
        let password = Secret::random().expect("random bytes");
        admin.create_account(login, &format!("{login}@lab.test"), &password).await.expect("an account")
    }

    pub fn hand(&self, login: &str) -> Hand {
        Hand { http: reqwest::Client::new(), base: self.url.clone(), token: self.token(login) }
    }

    pub fn devforge(&self) -> Option<&Devforge> {
        match &self.kept {
            Kept::Builtin(forge) => Some(forge),
            Kept::Real(_) => None,
        }
    }

    /// A private repository with one commit on `main`, alice as writer, bob as reader and the state labels.
    pub async fn place(&self, name: &str) -> LabRepository {
        let repo = RepoRef::new(ORGANISATION, name);
        self.bot.create_repository(&repo, "main").await.expect("a repository");
        self.bot.ensure_collaborator(&repo, "alice", Access::Write).await.expect("a writer");
        self.bot.ensure_collaborator(&repo, "caisson-sync", Access::Write).await.expect("a second writer");
        self.bot.ensure_collaborator(&repo, "bob", Access::Read).await.expect("a reader");
        let clone = self.dir.path().join(name);
        std::fs::create_dir_all(&clone).expect("a directory");
        git(&clone, &["init", "-q", "--initial-branch=main"]);
        let mut place = LabRepository { repo, main: String::new(), clone };
        place.main = place.commit(&[("calc.txt", "one\ntwo\nthree\n")], "first");
        self.push(&place, "caisson-sync", "main").expect("the first push");
        let end = Instant::now() + Duration::from_secs(300);
        // A forge notices the first push with a delay; until then it calls the repository empty.
        while self.bot.repository(&place.repo).await.expect("the repository").empty {
            assert!(Instant::now() < end, "{} stays empty", place.repo);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        place
    }

    /// Pushes a local branch over HTTP as `login`, the token in a header.
    pub fn push(&self, place: &LabRepository, login: &str, branch: &str) -> Result<(), String> {
        let url = self.url.join(&format!("{}.git", place.repo)).expect("an address");
        let header = format!("http.extraHeader=Authorization: token {}", self.token(login).expose());
        let spec = format!("+refs/heads/{branch}:refs/heads/{branch}");
        try_git(&place.clone, &["-c", &header, "push", "-q", url.as_str(), &spec]).map(drop)
    }

    /// A commit that only its pull request has: pushed for review to this base (AGit), which takes no right to write.
    pub fn push_for_review(&self, place: &LabRepository, login: &str, base: &str, topic: &str) -> String {
        git(&place.clone, &["checkout", "-q", "-b", topic, base]);
        let commit = place.commit(&[(&format!("{topic}.txt"), "for review\n")], topic);
        git(&place.clone, &["checkout", "-q", "main"]);
        let url = self.url.join(&format!("{}.git", place.repo)).expect("an address");
        let header = format!("http.extraHeader=Authorization: token {}", self.token(login).expose());
        let (spec, topic) = (format!("{topic}:refs/for/{base}"), format!("topic={topic}"));
        git(&place.clone, &["-c", &header, "push", "-q", "-o", &topic, url.as_str(), &spec]);
        commit
    }

    /// Deletes a branch on the forge.
    pub fn push_deletion(&self, place: &LabRepository, login: &str, branch: &str) -> Result<(), String> {
        let url = self.url.join(&format!("{}.git", place.repo)).expect("an address");
        let header = format!("http.extraHeader=Authorization: token {}", self.token(login).expose());
        try_git(&place.clone, &["-c", &header, "push", "-q", url.as_str(), &format!(":refs/heads/{branch}")]).map(drop)
    }

    /// One more commit on the local `main`, not pushed.
    pub fn next_on_main(&self, place: &LabRepository) {
        self.commit_on_main(place, "next");
    }

    /// The same with this message.
    pub fn commit_on_main(&self, place: &LabRepository, message: &str) {
        git(&place.clone, &["checkout", "-q", "main"]);
        place.commit(&[("next.txt", message)], message);
    }

    /// A local branch, made from `main` if it isn't there, with one more commit.
    pub fn local_branch(&self, place: &LabRepository, branch: &str) {
        if try_git(&place.clone, &["checkout", "-q", branch]).is_err() {
            git(&place.clone, &["checkout", "-q", "-b", branch]);
        }
        place.commit(&[], "again");
        git(&place.clone, &["checkout", "-q", "main"]);
    }

    /// Puts another commit in the place of a local branch's last one, not pushed.
    pub fn rewrite(&self, place: &LabRepository, branch: &str) {
        git(&place.clone, &["checkout", "-q", branch]);
        git(&place.clone, &["commit", "-q", "--amend", "--allow-empty", "-m", "another"]);
        git(&place.clone, &["checkout", "-q", "main"]);
    }

    /// A fork of an account's own, over the same local clone.
    pub async fn fork(&self, place: &LabRepository, login: &str) -> LabRepository {
        let made = self.hand(login).must("POST", &format!("/repos/{}/forks", place.repo), json!({})).await;
        assert_eq!(made["fork"], json!(true), "{made}");
        LabRepository { repo: RepoRef::new(login, &place.repo.name), ..place.clone() }
    }

    /// A branch with one more commit, pushed as the bot. Returns the commit.
    pub fn branch(&self, place: &LabRepository, branch: &str, files: &[(&str, &str)]) -> String {
        self.branch_by("caisson", place, branch, files)
    }

    /// As [`Lab::branch`], pushed by somebody else.
    pub fn branch_by(&self, login: &str, place: &LabRepository, branch: &str, files: &[(&str, &str)]) -> String {
        let there = try_git(&place.clone, &["checkout", "-q", branch]);
        if there.is_err() {
            git(&place.clone, &["checkout", "-q", "-b", branch, "main"]);
        }
        let commit = place.commit(files, "change");
        git(&place.clone, &["checkout", "-q", "main"]);
        self.push(place, login, branch).expect("the branch can be pushed");
        commit
    }
}

impl LabRepository {
    fn commit(&self, files: &[(&str, &str)], message: &str) -> String {
        for (path, text) in files {
            let file = self.clone.join(path);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(file, text).expect("a file");
        }
        git(&self.clone, &["add", "-A"]);
        git(&self.clone, &["commit", "-q", "--allow-empty", "-m", message]);
        git(&self.clone, &["rev-parse", "HEAD"]).trim().to_owned()
    }
}

fn try_git(dir: &Path, args: &[&str]) -> Result<String, String> {
    // The built-in forge runs in this process: a blocked worker thread could keep it from answering git.
    tokio::task::block_in_place(|| run_git(dir, args))
}

fn run_git(dir: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(["-c", "user.name=lab", "-c", "user.email=lab@lab.test", "-c", "credential.helper="])
        .args(args)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git starts");
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

pub fn git(dir: &Path, args: &[&str]) -> String {
    try_git(dir, args).unwrap_or_else(|e| panic!("git {args:?}: {e}"))
}

/// A person: API calls that the bot itself never makes.
pub struct Hand {
    http: reqwest::Client,
    base: Url,
    token: Secret,
}

impl Hand {
    /// Makes an API call; returns the status and the JSON answer.
    pub async fn call(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let url = self.base.join(&format!("api/v1{path}")).expect("an address");
        let method = method.parse().expect("a method");
        let request = self.http.request(method, url).header("Authorization", format!("token {}", self.token.expose()));
        let answer = request.json(&body).send().await.expect("an answer");
        let status = answer.status().as_u16();
        (status, answer.json().await.unwrap_or(Value::Null))
    }

    async fn must(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, answer) = self.call(method, path, body).await;
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer
    }

    pub async fn open_issue(&self, repo: &RepoRef, title: &str, body: &str) -> u64 {
        let made = self.must("POST", &format!("/repos/{repo}/issues"), json!({ "title": title, "body": body })).await;
        made["number"].as_u64().expect("a number")
    }

    /// Attaches a file to an issue, as a form does.
    pub async fn attach(&self, repo: &RepoRef, number: u64, name: &str, bytes: &[u8]) {
        let url = self.base.join(&format!("api/v1/repos/{repo}/issues/{number}/assets")).expect("an address");
        let head = format!(
            "--edge\r\nContent-Disposition: form-data; name=\"attachment\"; filename=\"{name}\"\r\nContent-Type: application/octet-stream\r\n\r\n"
        );
        let body = [head.as_bytes(), bytes, b"\r\n--edge--\r\n"].concat();
        let request = self.http.post(url).header("Authorization", format!("token {}", self.token.expose()));
        let request = request.header("Content-Type", "multipart/form-data; boundary=edge").body(body);
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status().as_u16(), 201, "{}", answer.text().await.unwrap_or_default());
    }

    pub async fn set_open(&self, repo: &RepoRef, number: u64, open: bool) {
        let state = if open { "open" } else { "closed" };
        self.must("PATCH", &format!("/repos/{repo}/issues/{number}"), json!({ "state": state })).await;
    }

    /// A review of any kind; an empty `commit` means the head.
    pub async fn review(&self, repo: &RepoRef, pull: u64, event: &str, commit: &str, body: &str) -> (u16, Value) {
        let path = format!("/repos/{repo}/pulls/{pull}/reviews");
        self.call("POST", &path, json!({ "event": event, "body": body, "commit_id": commit, "comments": [] })).await
    }

    pub async fn review_with_note(&self, repo: &RepoRef, pull: u64, commit: &str, path: &str, line: u64, text: &str) {
        let note = json!({ "path": path, "body": text, "new_position": line, "old_position": 0 });
        let body = json!({ "event": "REQUEST_CHANGES", "body": "not yet", "commit_id": commit, "comments": [note] });
        self.must("POST", &format!("/repos/{repo}/pulls/{pull}/reviews"), body).await;
    }
}
