//! `caisson setup` and `caisson repo add|list|check` as a person runs them, over the built-in forge and over a real Gitea.

mod support;

use caisson::forge::gitea::admin::Admin;
use caisson::forge::{ForgeReads, Gitea, RepoRef};
use caisson::secret::Secret;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::forges::git;
use support::gitea;

struct Home {
    dir: tempfile::TempDir,
    url: String,
}

impl Home {
    fn config(&self) -> PathBuf {
        self.dir.path().join("caisson.toml")
    }

    /// The program itself, on a thread that may block: a forge may live in this process.
    fn caisson(&self, args: &[&str]) -> Output {
        // Whether checks run is tried in `try_out.rs`.
        let more: &[&str] = if args.starts_with(&["repo", "add"]) { &["--no-try"] } else { &[] };
        tokio::task::block_in_place(|| {
            Command::new(env!("CARGO_BIN_EXE_caisson"))
                .arg("--config")
                .arg(self.config())
                .args(args)
                .args(more)
                .env("HOME", self.dir.path())
                .env("NO_COLOR", "1")
                .output()
                .expect("caisson starts")
        })
    }

    fn good(&self, args: &[&str]) -> String {
        let output = self.caisson(args);
        let text = said(&output);
        assert!(output.status.success(), "caisson {args:?}: {text}");
        text
    }

    fn bad(&self, args: &[&str]) -> String {
        let output = self.caisson(args);
        let text = said(&output);
        assert!(!output.status.success(), "caisson {args:?} should fail: {text}");
        text
    }

    fn setup(&self) -> Vec<&str> {
        vec!["setup", "--forge-url", &self.url, "--admin-token-file", "admin-token", "--bot-url", "http://127.0.0.1:9"]
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// A project of its own, with a tag and wishes.
fn project(dir: &Path, wishes: &str) -> PathBuf {
    let project = dir.join("my_shop");
    std::fs::create_dir_all(&project).unwrap();
    git(&project, &["init", "-q", "--initial-branch=trunk"]);
    std::fs::write(project.join(".caisson.toml"), wishes).unwrap();
    // In the history alone: the next commit takes it away again.
    std::fs::write(project.join("notes.txt"), format!("token: gh{}_{}\n", "p", "a1B2".repeat(10))).unwrap();
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "a mistake"]);
    git(&project, &["rm", "-q", "notes.txt"]);
    git(&project, &["commit", "-q", "-m", "first"]);
    git(&project, &["tag", "v1"]);
    project
}

async fn trip(url: &str, admin_token: &str) {
    let home = Home { dir: tempfile::tempdir().unwrap(), url: url.to_owned() };
    let token_file = home.dir.path().join("admin-token");
    Secret::new(admin_token).write(&token_file).unwrap();
    let admin = Admin::new(&url.parse().unwrap(), Secret::new(admin_token), "test").unwrap();
    admin.create_account("dev", "dev@lab.test", &Secret::random().unwrap()).await.unwrap();
    let token_file = token_file.display().to_string();
    let setup: Vec<&str> =
        home.setup().into_iter().map(|a| if a == "admin-token" { token_file.as_str() } else { a }).collect();
    let text = home.good(&setup);
    for part in ["ALLOWED_HOST_LIST = 127.0.0.1", "ALLOW_LOCALNETWORKS = false", "DISABLE_REGISTRATION = true"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let secrets = home.dir.path().join("secrets");
    let bot_token = std::fs::read_to_string(secrets.join("forge-token")).unwrap();
    assert!(!text.contains(bot_token.trim()) && !text.contains(admin_token), "a token was printed");
    for file in [home.config(), secrets.join("forge-token"), secrets.join("forge-sync-token")] {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    assert!(!std::fs::read_to_string(home.config()).unwrap().contains(admin_token));
    assert!(home.bad(&setup).contains("already"));

    let source = project(home.dir.path(), "test = \"true\"\negress = [\"crates.example\"]\n");
    let source = source.display().to_string();
    let text = home.good(&["repo", "add", &source, "--writer", "dev"]);
    assert!(text.contains("crates.example") && text.contains("--accept "), "{text}");
    assert!(text.contains("notes.txt holds what looks like a GitHub token"), "{text}");
    assert!(!text.contains("a1B2"), "the secret itself was printed: {text}");
    let hash = text.split("--accept ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    assert!(std::fs::read_to_string(home.config()).unwrap().contains("accepted = \"\""));
    assert!(home.bad(&["repo", "add", &source, "--accept", "0000"]).contains(&hash));
    home.good(&["repo", "add", &source, "--accept", &hash]);
    assert!(std::fs::read_to_string(home.config()).unwrap().contains(&hash));

    let bot = Gitea::new(&url.parse().unwrap(), Secret::new(bot_token.trim()), "test").unwrap();
    let repo = RepoRef::new("caisson-projects", "my_shop");
    let made = bot.repository(&repo).await.unwrap();
    assert!(made.private && made.default_branch == "trunk" && !made.empty, "{made:?}");
    assert_eq!(
        bot.branch(&repo, "trunk").await.unwrap().unwrap(),
        git(Path::new(&source), &["rev-parse", "v1"]).trim()
    );
    assert!(bot.collaborators(&repo).await.unwrap().contains(&"dev".to_owned()));
    let hooks = bot.hooks(&repo).await.unwrap();
    assert_eq!(hooks.len(), 1, "{hooks:?}");
    assert_eq!(hooks[0].url, "http://127.0.0.1:9/webhooks/gitea/my-shop");
    assert_eq!(mode(&secrets.join("hook-my-shop")), 0o600);
    assert!(home.good(&["repo", "list"]).contains("caisson-projects/my_shop"));
    home.good(&["repo", "check"]);
    rotate(&home, &bot, &repo).await;
    spoil(&home, &bot, &repo, &source).await;
    teams(&home, url, admin_token, &source).await;
}

/// A team that may write is named; one whose members the bot may not see, with what to do about it.
async fn teams(home: &Home, url: &str, admin_token: &str, source: &str) {
    let http = reqwest::Client::new();
    let call = async |method: &str, path: &str, body: serde_json::Value| {
        let request = http.request(method.parse().unwrap(), format!("{url}/api/v1{path}"));
        let answer = request.header("Authorization", format!("token {admin_token}")).json(&body).send().await.unwrap();
        let status = answer.status();
        assert!(status.is_success(), "{method} {path}: {status}");
        answer.json::<serde_json::Value>().await.unwrap_or_default()
    };
    let units = serde_json::json!({ "name": "makers", "permission": "write", "units_map": { "repo.code": "write" } });
    let made = call("POST", "/orgs/caisson-projects/teams", units).await;
    call("PUT", &format!("/teams/{}/repos/caisson-projects/my_shop", made["id"]), serde_json::Value::Null).await;
    let text = said(&home.caisson(&["repo", "add", source]));
    assert!(text.contains("people: dev, team makers") && !text.contains("counts for nobody"), "{text}");
    // The organisation gets another owner, and the bot keeps the right to the repository alone.
    let bot = "caisson";
    let found = call("GET", "/repos/caisson-projects/my_shop/teams", serde_json::Value::Null).await;
    let owners = found.as_array().unwrap().iter().find(|t| t["name"] == "Owners").unwrap()["id"].clone();
    let admin = serde_json::json!({ "permission": "admin" });
    call("PUT", &format!("/repos/caisson-projects/my_shop/collaborators/{bot}"), admin).await;
    call("PUT", &format!("/teams/{owners}/members/root"), serde_json::Value::Null).await;
    call("DELETE", &format!("/teams/{owners}/members/{bot}"), serde_json::Value::Null).await;
    let text = said(&home.caisson(&["doctor"]));
    assert!(text.contains("makers") && text.contains("an owner of the organisation caisson-projects"), "{text}");
    let text = said(&home.caisson(&["repo", "check"]));
    assert!(text.contains("counts for nobody") && text.contains("an owner of the organisation"), "{text}");
}

/// Both secrets are configured before the forge signs with the new one.
async fn rotate(home: &Home, bot: &Gitea, repo: &RepoRef) {
    let secrets = home.dir.path().join("secrets");
    let (old, new) = (secrets.join("hook-my-shop"), secrets.join("hook-my-shop-2"));
    let before = bot.hooks(repo).await.unwrap();
    assert!(home.good(&["repo", "rotate", "my-shop"]).contains("start `caisson serve`, then repeat"));
    let configured = std::fs::read_to_string(home.config()).unwrap();
    let (first, second) = (configured.find("hook-my-shop-2\"").unwrap(), configured.find("hook-my-shop\"").unwrap());
    assert!(first < second, "the newest comes first: {configured}");
    assert_ne!(std::fs::read_to_string(&old).unwrap(), std::fs::read_to_string(&new).unwrap());
    assert_eq!(bot.hooks(repo).await.unwrap()[0].id, before[0].id, "the forge still signs with the old one");
    home.good(&["repo", "rotate", "my-shop"]);
    let after = bot.hooks(repo).await.unwrap();
    assert!(after.len() == 1 && after[0].id != before[0].id, "{after:?}");
    assert!(!old.exists() && mode(&new) == 0o600);
    assert!(!std::fs::read_to_string(home.config()).unwrap().contains("hook-my-shop\""));
    home.good(&["repo", "check"]);
}

/// What somebody changes on the forge is named by `check` and repaired by `add`; what reads pushes is refused.
async fn spoil(home: &Home, bot: &Gitea, repo: &RepoRef, source: &str) {
    let ours = bot.hooks(repo).await.unwrap().remove(0);
    bot.replace_hook(repo, "http://127.0.0.1:9/ci?token=s3cret", &Secret::new("x")).await.unwrap();
    let text = home.bad(&["repo", "check", "my-shop"]);
    assert!(text.contains(" to 127.0.0.1") && !text.contains("s3cret"), "{text}");
    let text = home.bad(&["repo", "add", source]);
    let name =
        text.lines().find_map(|l| l.split("--accept-foreign '").nth(1)).unwrap().trim_end_matches('\'').to_owned();
    home.good(&["repo", "add", source, "--accept-foreign", &name]);
    home.good(&["repo", "check"]);
    assert_ne!(bot.hooks(repo).await.unwrap().into_iter().find(|h| h.url == ours.url).unwrap().id, ours.id);
    assert!(home.bad(&["repo", "check", "nothing"]).contains("no repository"));
    let taken = home.bad(&["repo", "add", source, "--name", "My_Shop", "--owner", "nobody-here"]);
    assert!(!taken.contains("panicked"), "{taken}");
}

#[tokio::test(flavor = "multi_thread")]
async fn over_the_builtin_forge() {
    let forge = devforge::Devforge::start(devforge::Options::default()).await.unwrap();
    trip(forge.url(), forge.admin_token()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_a_real_gitea() {
    if let Some(forge) = gitea::start() {
        let admin = Admin::new(&forge.url.parse().unwrap(), Secret::new(&forge.admin_token), "test").unwrap();
        assert!(admin.is_fresh().await.unwrap(), "nobody but the admin");
        trip(&forge.url, &forge.admin_token).await;
        assert!(!admin.is_fresh().await.unwrap(), "`caisson eval --forge` does not touch it any more");
    }
}
