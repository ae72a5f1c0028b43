//! `caisson setup` and `caisson repo …` as an operator runs them, with the built-in forge and with a real Gitea.

mod support;

#[path = "setup/again.rs"]
mod again;
#[allow(dead_code, reason = "tests of `caisson fetch` use the rest")]
#[path = "setup/github.rs"]
mod github;
#[path = "setup/here.rs"]
mod here;
#[path = "setup/mend.rs"]
mod mend;
#[path = "setup/own_commands.rs"]
mod own_commands;
#[path = "setup/secret.rs"]
mod secret;
#[path = "setup/upstream.rs"]
mod upstream;

use caisson::config::Process;
use caisson::config::process::Repository;
use caisson::forge::gitea::admin::Admin;
use caisson::forge::{ForgeReads, Gitea, RepoRef};
use caisson::secret::Secret;
use caisson::store::Store;
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
    /// One on which `caisson setup` ran; the forge has a person `dev`, too.
    async fn set_up(url: &str, admin_token: &str) -> Self {
        let home = Self { dir: tempfile::tempdir().unwrap(), url: url.to_owned() };
        let admin_file = home.dir.path().join("admin-token");
        Secret::new(admin_token).write(&admin_file).unwrap();
        let admin = Admin::new(&url.parse().unwrap(), Secret::new(admin_token), "test").unwrap();
        admin.create_account("dev", "dev@lab.test", &Secret::random().unwrap()).await.unwrap();
        let admin_file = admin_file.display().to_string();
        let words = |arg| if arg == "admin-token" { admin_file.as_str() } else { arg };
        home.good(&home.setup().into_iter().map(words).collect::<Vec<&str>>());
        home
    }

    fn config(&self) -> PathBuf {
        self.dir.path().join("caisson.toml")
    }

    /// Runs the program on a thread that may block, because the forge may run in this process.
    fn caisson(&self, args: &[&str]) -> Output {
        // Whether checks run is tested in `try_out.rs`.
        let more: &[&str] = if args.starts_with(&["repo", "add"]) { &["--no-try"] } else { &[] };
        tokio::task::block_in_place(|| {
            Command::new(env!("CARGO_BIN_EXE_caisson"))
                .arg("--config")
                .arg(self.config())
                .args(args)
                .args(more)
                .env("HOME", self.dir.path())
                .env("NO_COLOR", "1")
                // Nobody answers there: a forge on this machine is not asked through a proxy.
                .envs(["http_proxy", "HTTP_PROXY"].map(|name| (name, "http://127.0.0.1:9")))
                .env_remove("no_proxy")
                .env_remove("NO_PROXY")
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

    /// The repository's entry in the store, and its webhook secrets.
    async fn entry(&self) -> (Repository, Vec<Secret>) {
        let config = Process::load(&self.config()).unwrap();
        let store = Store::look(caisson::cli::store::location(&config).unwrap()).await.unwrap().expect("a store");
        let (entries, _) = caisson::bot::known(&config, &store).await.unwrap();
        let (entry, secrets) = entries[0].whole().expect("whole");
        (entry.clone(), secrets.to_vec())
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

/// A project with a tag and a `.caisson.toml`.
fn project(dir: &Path, wishes: &str) -> PathBuf {
    let project = dir.join("my_shop");
    std::fs::create_dir_all(&project).unwrap();
    git(&project, &["init", "-q", "--initial-branch=trunk"]);
    std::fs::write(project.join(".caisson.toml"), wishes).unwrap();
    // Only in the history: the next commit removes it.
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
    let text = home.bad(&["repo", "add", &source, "--name", &"a".repeat(41)]);
    assert!(text.contains("entry.key: take up to 40") && !text.contains("pushed"), "{text}");
    let text = home.good(&["repo", "add", &source, "--writer", "dev"]);
    assert!(text.contains("crates.example") && text.contains("--accept "), "{text}");
    assert!(text.contains("notes.txt holds what looks like a GitHub token"), "{text}");
    assert!(!text.contains("a1B2"), "the secret itself was printed: {text}");
    let hash = text.split("--accept ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    assert_eq!(home.entry().await.0.accepted, "");
    assert!(home.bad(&["repo", "add", &source, "--accept", "0000"]).contains(&hash));
    home.good(&["repo", "add", &source, "--accept", &hash]);
    assert_eq!(home.entry().await.0.accepted, hash);
    home.good(&["repo", "add", &source]);
    assert_eq!(home.entry().await.0.accepted, hash, "what was accepted stays so while the text is the same");

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
    assert!(!secrets.join("hook-my-shop").exists() && mode(&home.dir.path().join("state/mark.key")) == 0o600);
    assert!(
        !std::fs::read_to_string(home.config()).unwrap().contains("[[repositories]]"),
        "the file is the operator's"
    );
    let listed = home.good(&["repo", "list"]);
    assert!(listed.contains("caisson-projects/my_shop") && listed.contains("store, written by"), "{listed}");
    home.good(&["repo", "check"]);
    rotate(&home, &bot, &repo).await;
    spoil(&home, &bot, &repo, &source).await;
    mended(&home, &bot, &repo).await;
    teams(&home, url, admin_token, &source).await;
    import(&home, &bot, &repo, &source).await;
    lost_key(&home, &bot, &repo, &source).await;
    remove(&home, &bot, &repo).await;
}

/// An entry in the configuration file counts on this host until it is moved to the store; the operator's tables stay in the file.
async fn import(home: &Home, bot: &Gitea, repo: &RepoRef, source: &str) {
    let ((entry, secrets), text) = (home.entry().await, std::fs::read_to_string(home.config()).unwrap());
    let file = home.dir.path().join("own-secret");
    secrets[0].write(&file).unwrap();
    let own = |accepted: &str| {
        let (key, id) = (&entry.key, entry.id);
        let foreign = format!("{:?}", entry.accepted_foreign);
        format!(
            "{text}\n[[repositories]]\nkey = \"{key}\"\nowner = \"{}\"\nname = \"{}\"\nid = {id}\nsecret_files = [\"own-secret\"]\n\
             default_branch = \"trunk\"\nupstream = \"{}\"\naccepted = \"{accepted}\"\naccepted_foreign = {foreign}\n\
             [repositories.budget]\ndollars = 9.5 # ours\n",
            entry.owner,
            entry.name,
            entry.origin()
        )
    };
    std::fs::write(home.config(), own("another")).unwrap();
    assert!(home.good(&["repo", "list"]).contains("caisson.toml"));
    assert!(said(&home.caisson(&["doctor"])).contains("the store's is another one for the other hosts (accepted)"));
    for args in [&["repo", "add", source][..], &["repo", "rotate", "my-shop"], &["repo", "remove", "my-shop"]] {
        assert!(home.bad(args).contains("caisson repo import my-shop"), "{args:?}");
    }
    assert!(home.bad(&["repo", "import"]).contains("they differ: accepted"));
    assert!(home.bad(&["repo", "import", "nothing"]).contains("no entry"));
    assert_eq!(std::fs::read_to_string(home.config()).unwrap(), own("another"), "nothing was moved");
    // An entry equal to the store's is only removed from the file.
    std::fs::write(home.config(), own(&entry.accepted)).unwrap();
    let hooks = bot.hooks(repo).await.unwrap();
    home.good(&["repo", "import"]);
    let left = std::fs::read_to_string(home.config()).unwrap();
    assert!(left.contains("dollars = 9.5 # ours") && !left.contains("own-secret"), "{left}");
    assert_eq!((home.entry().await.0, bot.hooks(repo).await.unwrap()[0].id), (entry.clone(), hooks[0].id));
    assert_eq!(caisson::config::Process::load(&home.config()).unwrap().budget_of("my-shop").dollars, 9.5);
    // A different one replaces the store's only if the operator says so.
    std::fs::write(home.config(), own(&"0".repeat(64))).unwrap();
    home.good(&["repo", "import", "my-shop", "--over"]);
    assert_eq!(home.entry().await.0.accepted, "0".repeat(64));
    assert_eq!(home.entry().await.1, secrets);
    std::fs::write(home.config(), text).unwrap();
}

/// With another key no stored entry is used, and `repo add` starts anew: nothing that was accepted before still counts.
async fn lost_key(home: &Home, bot: &Gitea, repo: &RepoRef, source: &str) {
    let ours = async || {
        let hooks = bot.hooks(repo).await.unwrap();
        hooks.into_iter().find(|hook| hook.url.ends_with("/webhooks/gitea/my-shop")).unwrap().id
    };
    let (before, hook) = (home.entry().await.1, ours().await);
    std::fs::remove_file(home.dir.path().join("state/mark.key")).unwrap();
    let text = home.good(&["repo", "list"]);
    assert!(text.contains("no mark.key"), "{text}");
    assert!(said(&home.caisson(&["repo", "add", source])).contains("store accept-key"));
    home.good(&["store", "accept-key"]);
    let text = home.good(&["repo", "list"]);
    assert!(text.contains("sealed with another key") && !text.contains(before[0].expose()), "{text}");
    // A refused entry cannot be trusted, so the operator names the repository.
    let id = bot.repository(repo).await.unwrap().id.to_string();
    let text = home.bad(&["repo", "add", source]);
    assert!(text.contains("is not empty") && text.contains(&format!("--on-forge {id}")), "{text}");
    assert!(home.bad(&["repo", "add", source, "--on-forge", "999999"]).contains("is not empty"));
    let mut accept = vec!["repo".to_owned(), "add".to_owned(), source.to_owned(), "--on-forge".to_owned(), id];
    let text = loop {
        let args: Vec<&str> = accept.iter().map(String::as_str).collect();
        let text = said(&home.caisson(&args));
        // One at a time, each by its name.
        let wanted = "accept each by name: --accept-foreign '";
        let Some(name) = text.lines().find_map(|line| line.split(wanted).nth(1)) else { break text };
        accept.extend(["--accept-foreign".to_owned(), name.trim_end_matches('\'').to_owned()]);
        assert!(accept.len() < 22, "{text}");
    };
    assert!(text.contains("none of this has an effect until you accept it"), "{text}");
    let (entry, after) = home.entry().await;
    assert!(entry.accepted.is_empty() && after != before && ours().await != hook);
}

/// Everything on the forge stays except the webhook.
async fn remove(home: &Home, bot: &Gitea, repo: &RepoRef) {
    assert!(home.bad(&["repo", "remove", "nothing"]).contains("no repository"));
    let text = home.good(&["repo", "remove", "my-shop"]);
    assert!(text.contains("stays on the forge"), "{text}");
    let left = bot.hooks(repo).await.unwrap();
    assert!(!left.iter().any(|hook| hook.url.ends_with("/webhooks/gitea/my-shop")), "{left:?}");
    assert!(bot.repository(repo).await.is_ok() && home.good(&["repo", "list"]).contains("no repository yet"));
    assert!(home.bad(&["repo", "check", "my-shop"]).contains("no repository"));
}

/// A team with write access is named; so is one whose members the bot cannot see, with the remedy.
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
    // The organisation gets another owner, and the bot keeps only its right to the repository.
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

/// The store has both secrets before the forge signs with the new one.
async fn rotate(home: &Home, bot: &Gitea, repo: &RepoRef) {
    let (before, old) = (bot.hooks(repo).await.unwrap(), home.entry().await.1);
    assert!(home.good(&["repo", "rotate", "my-shop"]).contains("start `caisson serve`, then repeat"));
    let both = home.entry().await.1;
    assert!(both.len() == 2 && both[1] == old[0] && both[0] != old[0], "the newest comes first");
    assert_eq!(bot.hooks(repo).await.unwrap()[0].id, before[0].id, "the forge still signs with the old one");
    home.good(&["repo", "rotate", "my-shop"]);
    let after = bot.hooks(repo).await.unwrap();
    assert!(after.len() == 1 && after[0].id != before[0].id, "{after:?}");
    assert_eq!(home.entry().await.1, both[..1]);
    home.good(&["repo", "check"]);
}

/// Changes made on the forge are named by `check` and repaired by `add`; new readers of pushes are refused.
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

/// `check` names each difference, `check --fix` repairs it and says so, and nothing is changed twice.
async fn mended(home: &Home, bot: &Gitea, repo: &RepoRef) {
    let url = "http://127.0.0.1:9/webhooks/gitea/my-shop";
    bot.remove_hook(repo, url).await.unwrap();
    bot.ensure_protection(repo, "trunk", &["caisson"]).await.unwrap();
    let text = home.bad(&["repo", "check", "my-shop"]);
    assert!(text.contains("there is no hook to") && text.contains("repo check --fix"), "{text}");
    let text = home.good(&["repo", "check", "my-shop", "--fix"]);
    assert!(text.contains("changed: hook ") && text.contains("changed: trunk is kept for "), "{text}");
    assert!(bot.hooks(repo).await.unwrap().iter().any(|hook| hook.url == url && hook.lacks().is_empty()));
    home.good(&["repo", "check", "my-shop"]);
    assert!(!home.good(&["repo", "check", "my-shop", "--fix"]).contains("changed"));
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
