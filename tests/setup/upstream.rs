//! `caisson repo add owner/name`, `sync`, `status` and `set-branch`: a private repository on a server that requires a token, with GitHub's
//! API, copied to a forge and kept in step.

use super::github::GitHub;
use super::{Home, said};
use crate::support::forges::git;
use caisson::forge::gitea::admin::Admin;
use caisson::forge::{ForgeReads, Gitea, RepoRef};
use caisson::secret::Secret;
use devforge::{Devforge, Options};
use std::path::{Path, PathBuf};

/// The upstream's server: git over HTTP with a token, and GitHub's API.
struct Upstream {
    server: Devforge,
    api: GitHub,
    token: String,
    /// A clone from which commits are pushed to the server.
    clone: PathBuf,
}

impl Upstream {
    async fn start(dir: &Path) -> Self {
        let server = Devforge::start(Options::quiet()).await.unwrap();
        server.add_person("lab", "secret").unwrap();
        server.add_repository("lab/shop", true).await.unwrap();
        let token = server.add_token("lab").unwrap();
        let api = GitHub::start(&token).await;
        let clone = dir.join("clone");
        std::fs::create_dir_all(&clone).unwrap();
        git(&clone, &["init", "-q", "--initial-branch=main"]);
        let upstream = Self { server, api, token, clone };
        upstream.commit("main", "first");
        upstream
    }

    /// One more commit on a branch, pushed; a new branch starts from `main`.
    fn commit(&self, branch: &str, what: &str) -> String {
        if git(&self.clone, &["branch", "--list", branch]).trim().is_empty() && what != "first" {
            git(&self.clone, &["branch", branch, "main"]);
        }
        if what != "first" {
            git(&self.clone, &["checkout", "-q", branch]);
        }
        git(&self.clone, &["commit", "-q", "--allow-empty", "-m", what]);
        self.push(branch);
        git(&self.clone, &["rev-parse", branch]).trim().to_owned()
    }

    fn push(&self, what: &str) {
        let header = format!("http.extraHeader=Authorization: token {}", self.server.admin_token());
        let url = format!("{}/lab/shop.git", self.server.url());
        git(&self.clone, &["-c", &header, "push", "-q", "--force", &url, what]);
    }

    /// Lines for the configuration.
    fn table(&self, file: Option<&Path>) -> String {
        let file = file.map(|file| format!("token_file = \"{}\"\n", file.display())).unwrap_or_default();
        format!("\n[[upstream.hosts]]\nurl = \"{}\"\napi = \"{}\"\n{file}", self.server.url(), self.api.url)
    }
}

async fn trip(url: &str, admin_token: &str) {
    let home = Home { dir: tempfile::tempdir().unwrap(), url: url.to_owned() };
    let upstream = Upstream::start(home.dir.path()).await;
    let token_file = home.dir.path().join("upstream-token");
    Secret::new(&upstream.token).write(&token_file).unwrap();
    let admin_file = home.dir.path().join("admin-token");
    Secret::new(admin_token).write(&admin_file).unwrap();
    let admin = Admin::new(&url.parse().unwrap(), Secret::new(admin_token), "test").unwrap();
    admin.create_account("dev", "dev@lab.test", &Secret::random().unwrap()).await.unwrap();
    let admin_file = admin_file.display().to_string();
    let setup: Vec<&str> =
        home.setup().into_iter().map(|a| if a == "admin-token" { admin_file.as_str() } else { a }).collect();
    home.good(&setup);
    let plain = std::fs::read_to_string(home.config()).unwrap();
    let configure = |more: &str| std::fs::write(home.config(), format!("{plain}{more}")).unwrap();
    let bot_token = std::fs::read_to_string(home.dir.path().join("secrets/forge-token")).unwrap();
    let bot = Gitea::new(&url.parse().unwrap(), Secret::new(bot_token.trim()), "test").unwrap();

    configure(&upstream.table(None));
    refusals(&home, &upstream);
    configure(&upstream.table(Some(&token_file)));
    let text = home.good(&["repo", "add", "old/shop", "--writer", "dev"]);
    assert!(text.contains("old/shop is called lab/shop now") && text.contains("private"), "{text}");
    assert!(!text.contains(&upstream.token), "the token was printed");
    assert_eq!(upstream.api.asked().last().map(String::as_str), Some("/repositories/7"));
    let (entry, _) = home.entry().await;
    assert_eq!(entry.upstream, format!("{}/lab/shop.git", upstream.server.url()), "no address that the API names");
    follows(&home, &upstream, &bot).await;
    rewritten(&home, &upstream, &bot).await;
    branches(&home, &upstream, &bot).await;
    // Without the API, git alone is used.
    upstream.api.limit(true);
    let text = home.good(&["repo", "add", "lab/shop"]);
    assert!(text.contains("takes no more requests for 17 minutes") && text.contains("git is tried"), "{text}");
    upstream.api.limit(false);
    std::fs::write(&token_file, "an0therTok3n").unwrap();
    let text = home.bad(&["repo", "add", "lab/shop"]);
    assert!(text.contains("refuses the token (401): Bad credentials") && !text.contains("an0therTok3n"), "{text}");
    let text = home.bad(&["repo", "sync", "shop"]);
    assert!(text.contains("the upstream cannot be read") && text.contains("[[upstream.hosts]]"), "{text}");
}

/// A private, missing or empty repository is refused with the remedy.
fn refusals(home: &Home, upstream: &Upstream) {
    let text = home.bad(&["repo", "add", "lab/shop"]);
    assert!(text.contains("is private and no token is configured") && text.contains("token_file"), "{text}");
    let text = home.bad(&["repo", "add", &format!("{}/lab/shop.git", upstream.server.url())]);
    assert!(text.contains("is private and no token"), "{text}");
    let text = home.bad(&["repo", "add", "evil/shop"]);
    assert!(text.contains("it sends on to another server, localhost; git is tried"), "{text}");
    let text = home.bad(&["repo", "add", "lab/attic"]);
    assert!(text.contains("archived: nothing new will come") && text.contains("cannot be read"), "{text}");
    assert!(!home.bad(&["repo", "add", "lab/.."]).contains("panicked"));
}

async fn stands(bot: &Gitea, branch: &str) -> Option<String> {
    bot.branch(&RepoRef::new("caisson-projects", "shop"), branch).await.unwrap()
}

/// New commits are shown by `status`, brought by `sync`, and not brought twice.
async fn follows(home: &Home, upstream: &Upstream, bot: &Gitea) {
    let first = stands(bot, "main").await.unwrap();
    assert!(home.good(&["repo", "status"]).contains("main is in step"));
    let second = upstream.commit("main", "second");
    git(&upstream.clone, &["tag", "v1"]);
    upstream.push("v1");
    let text = home.good(&["repo", "status", "shop"]);
    assert!(text.contains("main is 1 commit behind") && text.contains("1 tag"), "{text}");
    assert_eq!(stands(bot, "main").await.unwrap(), first, "a look changes nothing");
    let text = home.good(&["repo", "sync"]);
    assert!(text.contains("main: 1 commit brought"), "{text}");
    assert_eq!(stands(bot, "main").await.unwrap(), second);
    let text = home.good(&["repo", "sync", "shop"]);
    assert!(text.contains("main is in step") && !text.contains("brought"), "{text}");
    assert!(home.bad(&["repo", "sync", "nothing"]).contains("no repository"));
    home.good(&["repo", "check"]);
}

/// A rewritten upstream is left alone until the operator names its commit; afterwards the branch is protected as before.
async fn rewritten(home: &Home, upstream: &Upstream, bot: &Gitea) {
    let before = stands(bot, "main").await.unwrap();
    git(&upstream.clone, &["checkout", "-q", "main"]);
    git(&upstream.clone, &["reset", "-q", "--hard", "HEAD~1"]);
    let other = upstream.commit("main", "another second");
    let text = home.good(&["repo", "sync", "shop"]);
    assert!(text.contains("rewritten upstream") && text.contains(&format!("--rewritten {other}")), "{text}");
    assert_eq!(stands(bot, "main").await.unwrap(), before);
    assert!(home.bad(&["repo", "sync", "shop", "--rewritten", &before]).contains("no branch's upstream was rewritten"));
    assert!(home.bad(&["repo", "sync", "shop", "--rewritten", "abc"]).contains("40 digits"));
    let text = home.good(&["repo", "sync", "shop", "--rewritten", &other]);
    assert!(text.contains(&format!("main stands at {} in the place of {}", &other[..10], &before[..10])), "{text}");
    assert_eq!(stands(bot, "main").await.unwrap(), other);
    home.good(&["repo", "check"]);
}

/// Other branches are kept in step and protected too; the default branch is the operator's choice.
async fn branches(home: &Home, upstream: &Upstream, bot: &Gitea) {
    let dev = upstream.commit("dev", "for dev");
    let repo = RepoRef::new("caisson-projects", "shop");
    assert!(home.bad(&["repo", "set-branch", "shop", "gone"]).contains("has no branch gone"));
    assert!(home.bad(&["repo", "set-branch", "shop", "agent/7"]).contains("in the way of agents' branches"));
    assert_eq!(bot.repository(&repo).await.unwrap().default_branch, "main");
    home.good(&["repo", "set-branch", "shop", "dev", "--also", "main"]);
    assert_eq!(bot.repository(&repo).await.unwrap().default_branch, "dev");
    assert_eq!(stands(bot, "dev").await.unwrap(), dev);
    let (entry, _) = home.entry().await;
    assert_eq!((entry.default_branch.as_str(), &entry.branches[..]), ("dev", &["main".to_owned()][..]));
    assert!(bot.is_protected(&repo, "dev", &["caisson-sync"]).await.unwrap());
    let (main, dev) = (upstream.commit("main", "third"), upstream.commit("dev", "more"));
    let text = home.good(&["repo", "sync", "shop"]);
    assert!(text.contains("the upstream's default branch is main"), "{text}");
    assert_eq!((stands(bot, "main").await.unwrap(), stands(bot, "dev").await.unwrap()), (main, dev));
    home.good(&["repo", "check"]);
    // The protection of each branch is checked, and what an interrupted run left open is closed by the next.
    bot.ensure_protection(&repo, "main", &["caisson"]).await.unwrap();
    assert!(home.bad(&["repo", "check"]).contains("main is not kept for caisson-sync"));
    home.good(&["repo", "check", "--fix"]);
    bot.allow_force(&repo, "main", "caisson-sync").await.unwrap();
    assert!(home.bad(&["repo", "check"]).contains("main is not kept for caisson-sync"));
    home.good(&["repo", "sync"]);
    home.good(&["repo", "check"]);
    other_sources(home, bot).await;
    // A repeated `add` keeps the earlier choices.
    home.good(&["repo", "add", "lab/shop"]);
    assert_eq!(home.entry().await.0, entry);
    assert!(said(&home.caisson(&["repo", "status"])).contains("dev is in step"));
}

/// Another source for a known key is refused, and so is a branch that does not exist, before anything is changed.
async fn other_sources(home: &Home, bot: &Gitea) {
    let before = (stands(bot, "main").await, stands(bot, "dev").await);
    let other = home.dir.path().join("other");
    std::fs::create_dir_all(&other).unwrap();
    git(&other, &["init", "-q", "--initial-branch=dev"]);
    git(&other, &["commit", "-q", "--allow-empty", "-m", "another project"]);
    let other = other.display().to_string();
    let text = home.bad(&["repo", "add", &other, "--name", "shop"]);
    assert!(text.contains("shop was copied from") && text.contains("--moved"), "{text}");
    let text = home.bad(&["repo", "add", &other, "--name", "shop", "--moved", "--also", "dev"]);
    assert!(text.contains("not in the history of the new source"), "{text}");
    assert_eq!((stands(bot, "main").await, stands(bot, "dev").await), before);
    assert!(home.bad(&["repo", "add", "lab/shop", "--name", "new", "--also", "typo"]).contains("has no branch typo"));
    assert!(home.bad(&["repo", "add", "lab/shop", "--name", "new", "--also", "agent"]).contains("agents' branches"));
    assert!(bot.repository(&RepoRef::new("caisson-projects", "new")).await.is_err(), "nothing was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_upstream_is_followed_over_the_builtin_forge() {
    let forge = Devforge::start(Options::default()).await.unwrap();
    trip(forge.url(), forge.admin_token()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_upstream_is_followed_over_a_real_gitea() {
    if let Some(forge) = crate::support::gitea::start() {
        trip(&forge.url, &forge.admin_token).await;
    }
}
