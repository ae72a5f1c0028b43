//! `caisson repo add owner/name`, `sync`, `status` and `set-branch`: a private repository on a server that requires a token, with GitHub's
//! API, copied to a forge and kept in step.

use super::github::{Checks, GitHub};
use super::{Home, said};
use crate::support::forges::git;
use caisson::forge::{ForgeReads, Gitea, RepoRef};
use caisson::secret::Secret;
use caisson::upstream::{Answers, GitHub as Client};
use devforge::{Devforge, Options};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// The upstream's server: git over HTTP with a token, and GitHub's API.
struct Upstream {
    server: Devforge,
    api: GitHub,
    token: String,
    /// Its owner and name there.
    name: RefCell<String>,
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
        let upstream = Self { server, api, token, name: RefCell::new("lab/shop".to_owned()), clone };
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
        let url = format!("{}/{}.git", self.server.url(), self.name.borrow());
        git(&self.clone, &["-c", &header, "push", "-q", "--force", &url, what]);
    }

    /// Lines for the configuration.
    fn table(&self, file: Option<&Path>) -> String {
        let file = file.map(|file| format!("token_file = \"{}\"\n", file.display())).unwrap_or_default();
        format!("\n[[upstream.hosts]]\nurl = \"{}\"\napi = \"{}\"\n{file}", self.server.url(), self.api.url)
    }
}

async fn trip(url: &str, admin_token: &str) {
    let home = Home::set_up(url, admin_token).await;
    let upstream = Upstream::start(home.dir.path()).await;
    let token_file = home.dir.path().join("upstream-token");
    Secret::new(&upstream.token).write(&token_file).unwrap();
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
    assert_eq!(entry.upstream_id, 7);
    follows(&home, &upstream, &bot).await;
    rewritten(&home, &upstream, &bot).await;
    branches(&home, &upstream, &bot).await;
    // Without the API, git alone is used.
    upstream.api.limit(true);
    let text = home.good(&["repo", "add", "lab/shop"]);
    assert!(text.contains("takes no more requests for 17 minutes") && text.contains("git is tried"), "{text}");
    upstream.api.limit(false);
    upstream.api.limit_too_fast(true);
    let text = home.good(&["repo", "add", "lab/shop"]);
    assert!(text.contains("takes no more requests for 2 minutes") && text.contains("git is tried"), "{text}");
    upstream.api.limit_too_fast(false);
    std::fs::write(&token_file, "an0therTok3n").unwrap();
    let text = home.bad(&["repo", "add", "lab/shop"]);
    assert!(text.contains("refuses the token (401): Bad credentials") && !text.contains("an0therTok3n"), "{text}");
    let text = home.bad(&["repo", "sync", "shop"]);
    assert!(text.contains("the upstream cannot be read") && text.contains("[[upstream.hosts]]"), "{text}");
    std::fs::write(&token_file, &upstream.token).unwrap();
    renamed(&home, &upstream, &bot).await;
    replaced(&home, &upstream, &bot).await;
}

/// A rename is followed by GitHub's number of the repository, and the entry says the new name.
async fn renamed(home: &Home, upstream: &Upstream, bot: &Gitea) {
    upstream.server.rename("lab/shop", "store").unwrap();
    upstream.api.rename("lab/shop", "lab/store");
    *upstream.name.borrow_mut() = "lab/store".to_owned();
    let new = upstream.commit("main", "of the store");
    // An entry that cannot be written now is that repository's failure, among all, and what was brought stays.
    let lock = caisson::config::Process::load(&home.config()).unwrap().state_dir.join("lock");
    let _ = std::fs::remove_file(&lock);
    std::fs::create_dir(&lock).unwrap();
    let text = home.bad(&["repo", "sync"]);
    assert!(text.contains("1 of the repositories could not be brought in step"), "{text}");
    std::fs::remove_dir(&lock).unwrap();
    let text = home.good(&["repo", "sync", "shop"]);
    assert!(text.contains("called lab/store now") && text.contains("its entry names lab/store now"), "{text}");
    assert_eq!(stands(bot, "main").await.unwrap(), new);
    let (entry, _) = home.entry().await;
    assert_eq!(entry.upstream, format!("{}/lab/store.git", upstream.server.url()));
    assert_eq!((entry.upstream_id, entry.default_branch.as_str()), (7, "dev"));
    let text = home.good(&["repo", "sync", "shop"]);
    assert!(text.contains("main is in step") && !text.contains("called"), "{text}");
    home.good(&["repo", "check"]);
}

/// Of another repository that took the name nothing is brought before the operator says so, nor while GitHub does not say which one it is.
async fn replaced(home: &Home, upstream: &Upstream, bot: &Gitea) {
    let before = stands(bot, "main").await;
    let new = upstream.commit("main", "of somebody else");
    upstream.api.limit(true);
    let text = home.bad(&["repo", "sync", "shop"]);
    assert!(text.contains("until GitHub says that the upstream is still") && text.contains("17 minutes"), "{text}");
    upstream.api.limit(false);
    upstream.api.replace("lab/store", 9);
    let text = home.bad(&["repo", "sync", "shop"]);
    assert!(text.contains("lab/store is another repository on GitHub now (number 9, and 7 was added)"), "{text}");
    assert!(text.contains("caisson repo add lab/store --name shop --moved"), "{text}");
    assert!(home.good(&["repo", "status", "shop"]).contains("another repository on GitHub now"));
    let text = home.bad(&["repo", "add", "lab/store", "--name", "shop"]);
    assert!(text.contains("another repository on GitHub now") && text.contains("--moved"), "{text}");
    assert_eq!((stands(bot, "main").await, home.entry().await.0.upstream_id), (before, 7));
    home.good(&["repo", "add", "lab/store", "--name", "shop", "--moved"]);
    assert_eq!((stands(bot, "main").await, home.entry().await.0.upstream_id), (Some(new), 9));
}

/// What did not change is not sent again, for a whole answer and for each list of a commit's checks.
#[tokio::test]
async fn github_is_asked_whether_something_changed() {
    let api = GitHub::start("t0ken").await;
    let dir = tempfile::tempdir().unwrap();
    Secret::new("t0ken").write(&dir.path().join("token")).unwrap();
    let table = format!(
        "sync_s = 0\n[[hosts]]\nurl = \"{}\"\napi = \"{}\"\ntoken_file = \"{}\"\n",
        api.url,
        api.url,
        dir.path().join("token").display()
    );
    let config: caisson::config::process::Upstream = toml::from_str(&table).unwrap();
    let (host, answers) = (config.github(), Answers::default());
    let ask = async |name: &str| Client::open(&host, &answers).unwrap().repository(name).await.unwrap();
    let first = ask("old/shop").await;
    assert_eq!((first.full_name.as_str(), first.id, api.unchanged()), ("lab/shop", 7, 0));
    assert_eq!((ask("old/shop").await, api.unchanged()), (first, 1));
    api.rename("lab/shop", "lab/store");
    assert_eq!((ask("old/shop").await.full_name.as_str(), api.unchanged()), ("lab/store", 1));
    api.set_checks(vec![Checks { statuses: vec![("build".into(), "success".into())], runs: Vec::new() }]);
    let commit = domain::Commit::parse(&"a".repeat(40)).unwrap();
    let github = Client::open(&host, &answers).unwrap();
    let checks = github.checks("lab/store", &commit).await.unwrap();
    assert_eq!((github.checks("lab/store", &commit).await.unwrap(), api.unchanged()), (checks, 3));
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
    assert!(text.contains("main has diverged") && text.contains(&format!("--rewritten {other}")), "{text}");
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
