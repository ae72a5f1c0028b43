//! `caisson fetch --open-pr`: an approved commit becomes a pull request on the upstream, with a person's own token; her clone is only read.

use caisson::fetch::{
    ApprovalState, Approved, Brought, FetchRequest, Pace, Propose, Refusal, Source, UpstreamCi, fetch,
};
use caisson::git::RemoteUrl;
use caisson::secret::Secret;
use devforge::{Devforge, Options};
use domain::UpstreamChecks;

use crate::fetch::{Home, fixed};
use crate::github::{Checks, GitHub};
use crate::world::{commit, git, head};

struct Upstream {
    server: Devforge,
    api: GitHub,
    token: String,
}

impl Upstream {
    async fn start() -> Self {
        let server = Devforge::start(Options::quiet()).await.unwrap();
        server.add_person("lab", "secret").unwrap();
        server.add_repository("lab/shop", true).await.unwrap();
        let token = server.add_token("lab").unwrap();
        let api = GitHub::start(&token).await;
        Self { server, api, token }
    }

    /// An approved branch whose repository comes from here, and the request to propose it.
    fn home(&self) -> (Home, FetchRequest) {
        let mut home = Home::new(&fixed());
        let address = format!("{}/lab/shop.git", self.server.url());
        let table = format!("sync_s = 0\n[[hosts]]\nurl = \"{}\"\napi = \"{}\"\n", self.server.url(), self.api.url);
        let config: caisson::config::process::Upstream = toml::from_str(&table).unwrap();
        home.offer.title = "Fix the sum GH-12 @everybody #1 <b>".to_owned();
        home.offer.upstream = Some(Source {
            address: RemoteUrl::parse(&address).unwrap(),
            id: 7,
            github: config.github_of(&address),
            branch: "main".to_owned(),
            issue: None,
        });
        // What the work began from is on the upstream, as after a comparison.
        self.push(&home, "HEAD:refs/heads/main");
        let token_file = home.dir.path().join("token");
        Secret::new(&self.token).write(&token_file).unwrap();
        let request =
            FetchRequest { propose: Some(Propose { token_file, fork: None, wait_ci: None }), ..home.request() };
        (home, request)
    }

    fn as_admin(&self, dir: &std::path::Path, words: &[&str]) -> String {
        let header = format!("http.extraHeader=Authorization: token {}", self.server.admin_token());
        git(dir, &[&["-c", &header], words].concat())
    }

    fn push(&self, home: &Home, what: &str) {
        let url = format!("{}/lab/shop.git", self.server.url());
        self.as_admin(&home.clone_dir(), &["push", "-q", "--force", &url, what]);
    }

    fn branch(&self) -> String {
        let url = format!("{}/lab/shop.git", self.server.url());
        let dir = tempfile::tempdir().unwrap();
        self.as_admin(dir.path(), &["ls-remote", &url, "refs/heads/agent/7-fix"])
    }

    /// The commits of the branch that the base has not, and the paths that any of them changes.
    fn published(&self, base: &str) -> (usize, String) {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("{}/lab/shop.git", self.server.url());
        self.as_admin(dir.path(), &["clone", "-q", "--branch", "agent/7-fix", &url, "."]);
        let range = format!("{base}..HEAD");
        let count = git(dir.path(), &["rev-list", "--count", &range]).parse().unwrap();
        (count, git(dir.path(), &["log", "--format=", "--name-only", &range]))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_commit_becomes_one_pull_request_and_the_clone_stays_as_it_is() {
    let upstream = Upstream::start().await;
    let (mut home, request) = upstream.home();
    let forge = home.dir.path().join("forge");
    commit(&forge, &[("secret.txt", "of a checkpoint that was not approved\n")], "two");
    git(&forge, &["rm", "-q", "secret.txt"]);
    git(&forge, &["commit", "-q", "-m", "three"]);
    let tip = head(&forge);
    (home.offer.newest, home.offer.approved) = (tip.clone(), Some(Approved { commit: tip, by: "alice".to_owned() }));
    // It is for an issue that came from the upstream.
    home.offer.upstream.as_mut().unwrap().issue = Some(12);
    let before = home.look();
    let brought = fetch(&request, &home).await.unwrap_or_else(|e| panic!("{e:?}"));
    assert_eq!(home.look(), before, "the clone was touched");
    let pull = brought.pull.expect("a pull request");
    assert_eq!((pull.number, pull.known), (1, false));
    assert_eq!(pull.url, format!("{}/lab/shop/pull/1", upstream.server.url()), "no address that the API names");
    let (commits, paths) = upstream.published(home.offer.base.as_str());
    assert!(commits == 1 && paths.contains("sum.py") && !paths.contains("secret.txt"), "{commits}: {paths}");
    assert_eq!(home.delivered.lock().unwrap().len(), 1);
    let made = &upstream.api.pulls()[0];
    assert_eq!(made["head"], "lab:agent/7-fix");
    let title = made["title"].as_str().unwrap();
    assert!(title.starts_with("Fix the sum GH 12") && !title.contains(['@', '#', '<']), "{title}");
    let body = made["body"].as_str().unwrap();
    assert!(body.contains("at last by alice") && body.ends_with("\nFor lab/shop#12.\n"), "{made}");
    // Once more finds both.
    let again = fetch(&request, &home).await.unwrap_or_else(|e| panic!("{e:?}"));
    assert!(again.pull.is_some_and(|pull| pull.number == 1 && pull.known));
    assert_eq!(upstream.api.pulls().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_the_upstream_lacks_below_the_work_does_not_go_there_with_it() {
    let upstream = Upstream::start().await;
    let (mut home, request) = upstream.home();
    let forge = home.dir.path().join("forge");
    git(&forge, &["checkout", "-q", home.offer.base.as_str()]);
    commit(&forge, &[("internal.txt", "of the forge alone\n")], "internal");
    home.offer.base = head(&forge);
    commit(&forge, &fixed(), "work");
    let tip = head(&forge);
    (home.offer.newest, home.offer.approved) = (tip.clone(), Some(Approved { commit: tip, by: "alice".to_owned() }));
    let refusal = home.refused(&request).await;
    assert!(refusal.what.contains("which is not on main of") && refusal.hint.contains("--as-branch"), "{refusal:?}");
    assert!(upstream.branch().is_empty() && upstream.api.pulls().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_means_another_repository_gets_nothing_and_a_new_name_is_followed() {
    let upstream = Upstream::start().await;
    let (home, request) = upstream.home();
    upstream.api.replace("lab/shop", 9);
    let refusal = home.refused(&request).await;
    assert!(refusal.what.contains("lab/shop is another repository on GitHub now (number 9, and 7"), "{refusal:?}");
    assert!(refusal.hint.ends_with("caisson repo add lab/shop --name shop --moved"), "{refusal:?}");
    assert!(upstream.branch().is_empty() && upstream.api.pulls().is_empty(), "nothing was pushed");

    let upstream = Upstream::start().await;
    let (mut home, request) = upstream.home();
    let before = format!("{}/old/shop.git", upstream.server.url());
    home.offer.upstream.as_mut().unwrap().address = RemoteUrl::parse(&before).unwrap();
    let pull = home.brought(&request).await.pull.expect("a pull request");
    assert_eq!(pull.url, format!("{}/lab/shop/pull/1", upstream.server.url()));
    assert!(!upstream.branch().is_empty());
    assert_eq!(upstream.api.pulls()[0]["head"], "lab:agent/7-fix");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shallow_clone_is_named_as_one_and_the_whole_one_is_taken() {
    let upstream = Upstream::start().await;
    let (home, request) = upstream.home();
    let (forge, clone) = (home.dir.path().join("forge"), home.clone_dir());
    git(&forge, &["checkout", "-q", "main"]);
    commit(&forge, &[("more.txt", "behind the base\n")], "further");
    git(&clone, &["pull", "-q"]);
    upstream.push(&home, "HEAD:refs/heads/main");
    std::fs::remove_dir_all(&clone).unwrap();
    let whole = format!("file://{}", forge.display());
    git(home.dir.path(), &["clone", "-q", "--depth", "1", "--branch", "main", &whole, "clone"]);
    let named = FetchRequest { repository: Some("shop".to_owned()), ..request.clone() };
    for (request, why) in [(&request, "no history in common"), (&named, "which is not on main of")] {
        let refusal = home.refused(request).await;
        assert!(refusal.what.contains("is shallow") && refusal.reasons[0].contains(why), "{refusal:?}");
        assert_eq!(refusal.hint, "git fetch --unshallow, and repeat");
    }
    git(&clone, &["fetch", "-q", "--unshallow"]);
    assert!(home.brought(&request).await.pull.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_was_withdrawn_is_not_told_as_one() {
    let upstream = Upstream::start().await;
    let (mut home, request) = upstream.home();
    home.standing = ApprovalState::Withdrawn("the approval was dismissed".to_owned());
    let loud = FetchRequest { unreviewed: true, ..request };
    fetch(&loud, &home).await.unwrap_or_else(|e| panic!("{e:?}"));
    let body = upstream.api.pulls()[0]["body"].as_str().unwrap().to_owned();
    assert!(body.contains("without an approval that stands") && !body.contains("alice"), "{body}");
    assert!(!body.contains('#'), "it is for no issue of the upstream: {body}");
    assert!(home.delivered.lock().unwrap().is_empty(), "the task is not over by that");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_approvals_the_one_that_stands_is_told() {
    let upstream = Upstream::start().await;
    let (mut home, request) = upstream.home();
    home.standing = ApprovalState::Stands { by: "carol".to_owned() };
    fetch(&request, &home).await.unwrap_or_else(|e| panic!("{e:?}"));
    let body = upstream.api.pulls()[0]["body"].as_str().unwrap().to_owned();
    assert!(body.contains("at last by carol") && !body.contains("alice"), "{body}");
}

async fn refused(home: &Home, request: &FetchRequest) -> Refusal {
    home.refused(request).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_proposed_is_refused_with_what_to_do() {
    let upstream = Upstream::start().await;
    let (mut home, request) = upstream.home();
    home.offer.approved = None;
    assert!(refused(&home, &request).await.what.contains("is not approved"));
    let (mut home, request) = upstream.home();
    let file = request.propose.as_ref().unwrap().token_file.clone();
    std::fs::remove_file(&file).unwrap();
    assert!(refused(&home, &request).await.what.contains("the token cannot be read"));
    Secret::new("an0therTok3n").write(&file).unwrap();
    let words = format!("{:?}", refused(&home, &request).await);
    assert!(!words.contains("an0therTok3n"), "{words}");
    let fork = FetchRequest {
        propose: Some(Propose { token_file: file.clone(), fork: Some("../x".to_owned()), wait_ci: None }),
        ..request.clone()
    };
    assert!(refused(&home, &fork).await.what.contains("is no owner/name"));
    let open = "sync_s = 0\n[[hosts]]\nurl = \"http://git.example\"\napi = \"http://git.example/api/v3\"\n";
    let open: caisson::config::process::Upstream = toml::from_str(open).unwrap();
    let address = "http://git.example/lab/shop.git";
    home.offer.upstream = Some(Source {
        address: RemoteUrl::parse(address).unwrap(),
        id: 7,
        github: open.github_of(address),
        branch: "main".to_owned(),
        issue: None,
    });
    let words = format!("{:?}", refused(&home, &request).await);
    assert!(words.contains("does not go to http://git.example") && words.contains("over https alone"), "{words}");
    if let Some(source) = &mut home.offer.upstream {
        source.github = None;
    }
    assert!(refused(&home, &request).await.what.contains("was not added as `owner/name`"));
    home.offer.upstream = None;
    assert!(refused(&home, &request).await.what.contains("has no upstream"));
    assert!(upstream.api.pulls().is_empty() && upstream.branch().is_empty(), "nothing was pushed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_of_that_name_with_another_commit_is_never_moved() {
    let upstream = Upstream::start().await;
    let (home, request) = upstream.home();
    upstream.push(&home, "HEAD:refs/heads/agent/7-fix");
    let before = upstream.branch();
    let refusal = home.refused(&request).await;
    assert!(refusal.what.contains("which is another commit"), "{refusal:?}");
    assert_eq!(upstream.branch(), before);
    assert!(upstream.api.pulls().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_that_the_upstreams_owner_has_beside_it_is_named() {
    let upstream = Upstream::start().await;
    upstream.server.add_repository("lab/shop-fork", true).await.unwrap();
    upstream.api.fork("lab/shop-fork");
    let (home, request) = upstream.home();
    // GitHub looks for a branch of that owner's in the repository itself, and names the field alone.
    let refusal = home.refused(&request).await;
    assert!(refusal.what.contains("without a pull request"), "{refusal:?}");
    let why = &refusal.reasons[0];
    assert!(why.ends_with("refuses the pull request (422): Validation Failed; head is invalid"), "{why}");
    let propose = request.propose.clone().map(|it| Propose { fork: Some("lab/shop-fork".to_owned()), ..it });
    let brought = home.brought(&FetchRequest { propose, ..request }).await;
    assert!(brought.pull.is_some_and(|pull| !pull.known));
    let made = &upstream.api.pulls()[0];
    assert_eq!(made["head"], "lab:agent/7-fix");
    assert_eq!(made["head_repo"], "lab/shop-fork");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_no_fork_of_the_upstream_gets_nothing() {
    let upstream = Upstream::start().await;
    upstream.server.add_repository("lab/attic", true).await.unwrap();
    let (home, request) = upstream.home();
    let named = |name: &str| {
        let propose = request.propose.clone().map(|it| Propose { fork: Some(name.to_owned()), ..it });
        FetchRequest { propose, ..request.clone() }
    };
    let refusal = home.refused(&named("lab/attic")).await;
    assert_eq!(refusal.what, "lab/attic is no fork of lab/shop", "{refusal:?}");
    assert_eq!(upstream.api.asked(), ["/repos/lab/shop", "/repos/lab/attic"], "one request about each");
    let refusal = home.refused(&named("lab/missing")).await;
    assert!(refusal.what.contains("lab/missing is not on"), "{refusal:?}");
    let url = format!("{}/lab/attic.git", upstream.server.url());
    assert!(upstream.as_admin(home.dir.path(), &["ls-remote", &url, "refs/heads/agent/7-fix"]).is_empty());
    assert!(upstream.api.pulls().is_empty());
}

/// An approved branch is proposed and the upstream's CI waited for, which says this at each look.
async fn watched(checks: Vec<Checks>) -> (Upstream, Brought, Vec<UpstreamChecks>) {
    let upstream = Upstream::start().await;
    let (home, request) = upstream.home();
    upstream.api.set_checks(checks);
    let short = |ms| std::time::Duration::from_millis(ms);
    let pace = Pace { every: short(10), nothing: short(300), most: short(1_500) };
    let propose = request.propose.clone().map(|it| Propose { wait_ci: Some(pace), ..it });
    let brought = fetch(&FetchRequest { propose, ..request }, &home).await.unwrap_or_else(|e| panic!("{e:?}"));
    assert!(brought.pull.is_some());
    let told = std::mem::take(&mut *home.told.lock().unwrap());
    (upstream, brought, told)
}

fn checks(statuses: &[(&str, &str)], runs: &[(&str, &str, Option<&str>)]) -> Checks {
    let statuses = statuses.iter().map(|(context, state)| ((*context).into(), (*state).into())).collect();
    let run = |(name, status, conclusion): &(&str, &str, Option<&str>)| {
        ((*name).to_owned(), (*status).to_owned(), conclusion.map(str::to_owned))
    };
    Checks { statuses, runs: runs.iter().map(run).collect() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_upstreams_ci_is_waited_for_and_its_failures_come_first() {
    let under_way = checks(&[("legacy", "pending")], &[("build", "queued", None)]);
    let ended = checks(
        &[("legacy", "success")],
        &[("build", "completed", Some("skipped")), ("unit", "completed", Some("timed_out"))],
    );
    let (upstream, brought, reported) = watched(vec![checks(&[], &[]), under_way, ended]).await;
    let [said] = &reported[..] else { panic!("the bot is told once: {reported:?}") };
    assert_eq!((&said.commit, said.outcome, said.checks.len()), (&brought.commit, domain::CiOutcome::Failed, 3));
    let Some(UpstreamCi::Ended(all)) = brought.ci else { panic!("{:?}", brought.ci) };
    let told: Vec<_> = all.iter().map(|it| (it.context.as_str(), it.state)).collect();
    use domain::CiState::{Failed, Passed};
    assert_eq!(told, [("unit", Failed), ("legacy", Passed), ("build", Passed)]);
    let head = upstream.branch();
    let pushed = head.split_whitespace().next().expect("a commit");
    assert!(upstream.api.asked().iter().any(|path| path.contains(&format!("/commits/{pushed}/status"))));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_the_upstreams_checks_is_read_and_one_that_hangs_is_no_success() {
    let many: Vec<(String, String)> = (0..230).map(|n| (format!("c{n}"), "success".to_owned())).collect();
    let (_, brought, said) = watched(vec![Checks { statuses: many.clone(), runs: Vec::new() }]).await;
    assert_eq!((said[0].checks.len(), said[0].more, said[0].outcome), (50, 180, domain::CiOutcome::Passed));
    assert!(matches!(&brought.ci, Some(UpstreamCi::Ended(all)) if all.len() == 230), "{:?}", brought.ci);
    let hanging = checks(&[], &[("build", "in_progress", None)]);
    let (_, brought, said) = watched(vec![hanging]).await;
    assert_eq!(said[0].outcome, domain::CiOutcome::Late);
    assert!(matches!(&brought.ci, Some(UpstreamCi::Late(all)) if all.len() == 1), "{:?}", brought.ci);
    let (_, brought, said) = watched(Vec::new()).await;
    assert_eq!(said[0].outcome, domain::CiOutcome::Nothing);
    assert_eq!(brought.ci, Some(UpstreamCi::Nothing));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_at_its_limit_is_asked_again_until_the_time_is_over() {
    let upstream = Upstream::start().await;
    let (home, request) = upstream.home();
    let short = |ms| std::time::Duration::from_millis(ms);
    let pace = Pace { every: short(10), nothing: short(100), most: short(600) };
    upstream.api.limit_checks(true);
    let propose = request.propose.clone().map(|it| Propose { wait_ci: Some(pace), ..it });
    let brought = fetch(&FetchRequest { propose, ..request }, &home).await.unwrap_or_else(|e| panic!("{e:?}"));
    assert!(
        matches!(&brought.ci, Some(UpstreamCi::Unknown(why)) if why.contains("no more requests")),
        "{:?}",
        brought.ci
    );
    assert!(home.told.lock().unwrap().is_empty(), "nothing was read, so nothing is told");
}
