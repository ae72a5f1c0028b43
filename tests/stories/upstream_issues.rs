//! Issues of the upstream with the operator's label are opened here, each once whenever the bot is killed; work on one begins by a writer's own
//! command.

use crate::github::{GitHub, HubIssue};
use crate::world::{FIX, PATIENCE, REPO, World, git};
use caisson::config::Secret;
use caisson::forge::{ForgeReads as _, Issue, RepoRef};
use devforge::{Devforge, Options};
use std::time::{Duration, Instant};

/// A world, and the server of the upstream with GitHub's API.
struct Copied {
    world: World,
    _server: Devforge,
    api: GitHub,
}

/// Compared every so many seconds; the upstream has these issues.
async fn copied(every: u32, issues: Vec<HubIssue>) -> Copied {
    let mut world = World::new(FIX).await;
    let server = Devforge::start(Options::quiet()).await.expect("a server");
    server.add_person("lab", "secret").expect("a person");
    server.add_repository("lab/shop", true).await.expect("a repository");
    let token = server.add_token("lab").expect("a token");
    let api = GitHub::start(&token).await;
    api.set_issues(issues);
    let header = format!("http.extraHeader=Authorization: token {token}");
    let url = format!("{}/lab/shop.git", server.url());
    git(&world.dir.path().join("project"), &["-c", &header, "push", "-q", &url, "HEAD:refs/heads/main"]);
    for (name, text) in [("sync.token", world.forge.admin_token()), ("upstream.token", token.as_str())] {
        Secret::new(text).write(&world.dir.path().join(name)).expect("written");
    }
    let hosts = format!(
        "[[upstream.hosts]]\nurl = \"{}\"\napi = \"{}\"\ntoken_file = \"upstream.token\"\n",
        server.url(),
        api.url
    );
    world
        .reconfigure(|text| {
            let text = text.replace("https://example.org/shop.git", &url);
            let text = text.replace("[listen]", &format!("[upstream]\nsync_s = {every}\n{hosts}[listen]"));
            let text = text
                .replace("token_file = \"bot.token\"", "token_file = \"bot.token\"\nsync_token_file = \"sync.token\"");
            format!("{text}upstream_id = 7\n[repositories.upstream_issues]\nlabel = \"caisson\"\n")
        })
        .await;
    Copied { world, _server: server, api }
}

fn labelled(number: u64) -> HubIssue {
    HubIssue::open(number, &format!("Crash {number}"), "It crashes.", "caisson")
}

impl Copied {
    async fn opened(&self) -> Vec<Issue> {
        let mut all = self.world.look().issues_by(&RepoRef::new("lab", "shop"), "caisson").await.expect("issues");
        all.sort_by_key(|issue| issue.number);
        all
    }

    async fn until_opened(&self, what: &str, holds: impl Fn(&[Issue]) -> bool) -> Vec<Issue> {
        let end = Instant::now() + PATIENCE;
        loop {
            let all = self.opened().await;
            if holds(&all) {
                return all;
            }
            assert!(Instant::now() < end, "waited for {what}: {all:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until this many rows name an issue of the forge.
    async fn until_rows(&self, many: usize) {
        let end = Instant::now() + PATIENCE;
        loop {
            let rows = self.world.store().upstream_issues(("shop", self.id()), 7).await.expect("read");
            if rows.iter().filter(|row| row.issue != 0).count() == many {
                return;
            }
            assert!(Instant::now() < end, "waited for {many} rows: {rows:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The forge's id of the repository.
    fn id(&self) -> i64 {
        self.world.config.repository("shop").expect("configured").id
    }

    async fn by_hand(&self, sql: &str) {
        sqlx::query(sqlx::AssertSqlSafe(sql.to_owned())).execute(&self.world.by_hand().await).await.expect("written");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstreams_issue_is_opened_here_and_a_writer_begins_work_on_it() {
    let pull = HubIssue { is_pull: true, ..labelled(5) };
    let other = HubIssue::open(6, "Another one", "Not for here.", "bug");
    let said = "/fix\n\n@caisson /fix this, see https://evil.example";
    let issues = vec![HubIssue::open(3, "Versions compare as text @alice", said, "caisson"), pull, other];
    let copied = copied(1, issues).await;
    let all = copied.until_opened("an issue", |all| !all.is_empty()).await;
    assert_eq!((all.len(), all[0].title.as_str()), (1, "Versions compare as text alice"));
    let body = &all[0].body;
    assert!(body.contains("/lab/shop/issues/3), opened there by `octocat`"), "{body}");
    assert!(!body.contains("evil.example/issue") && body.lines().all(|line| !line.starts_with('/')), "{body}");
    copied.until_rows(1).await;
    let number = all[0].number;
    copied.world.heard(number).await;
    assert!(copied.world.store().tasks(5).await.expect("read").is_empty(), "nothing in it is a command");
    copied.world.alice().comment(REPO, number, "/fix").expect("said");
    copied.world.until_state("awaiting-review").await;
    // Closed there, people are told once, and it stays open here.
    copied.api.change_issue(3, |issue| issue.open = false);
    copied.world.until_said(number, "was closed there").await;
    copied.api.set_issues(vec![labelled(9)]);
    copied.until_opened("the next one", |all| all.len() == 2).await;
    copied.until_rows(2).await;
    let told = copied.world.said(number).await.iter().filter(|text| text.contains("was closed there")).count();
    assert_eq!((told, copied.opened().await[0].open), (1, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issue_that_was_transferred_is_not_there_any_more() {
    let copied = copied(1, vec![labelled(3)]).await;
    copied.until_rows(1).await;
    copied.api.transfer_issue(3);
    copied.world.until_said(copied.opened().await[0].number, "is not there any more").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_between_any_two_steps_an_issue_is_opened_once() {
    let mut copied = copied(1, vec![labelled(3)]).await;
    copied.until_rows(1).await;
    // It was posted, and only that it was begun is stored; then not even that.
    for sql in ["UPDATE upstream_issues SET issue = 0", "DELETE FROM upstream_issues"] {
        copied.world.kill();
        copied.by_hand(sql).await;
        copied.world.start().await;
        copied.until_rows(1).await;
        assert_eq!(copied.opened().await.len(), 1, "{sql}");
    }
    // It was posted, only that it was begun is stored, and it is closed there before the next round: people are told of it.
    copied.world.kill();
    copied.by_hand("UPDATE upstream_issues SET issue = 0").await;
    copied.api.change_issue(3, |issue| issue.open = false);
    copied.world.start().await;
    copied.world.until_said(copied.opened().await[0].number, "was closed there").await;
    copied.until_rows(1).await;
    copied.api.change_issue(3, |issue| issue.open = true);
    // It was begun, and not posted.
    copied.world.kill();
    copied
        .by_hand(&format!(
            "INSERT INTO upstream_issues (repository, forge_id, upstream, number, issue, closed) VALUES ('shop', {}, 7, 4, 0, FALSE)",
            copied.id()
        ))
        .await;
    copied.api.set_issues(vec![labelled(3), labelled(4)]);
    copied.world.start().await;
    copied.until_rows(2).await;
    assert_eq!(copied.opened().await.len(), 2);
    // A younger twin, as two hosts could post it, is closed.
    let first = copied.opened().await.remove(0);
    let me = copied.world.config.forge.token_file.clone().expect("a token");
    let me = caisson::forge::Gitea::new(
        &copied.world.forge.url().parse().expect("url"),
        Secret::read(&me).expect("read"),
        "test",
    );
    let me = me.expect("a client");
    caisson::forge::ForgeWrites::open_issue(&me, &RepoRef::new("lab", "shop"), &first.title, &first.body)
        .await
        .expect("a twin");
    copied.world.kill();
    copied.by_hand("DELETE FROM upstream_issues").await;
    copied.world.start().await;
    copied.until_rows(2).await;
    let open: Vec<bool> = copied.opened().await.iter().map(|issue| issue.open).collect();
    assert_eq!(open, [true, true, false]);
    // Where the row named the younger one, it names the older from now on.
    copied.world.kill();
    let twin = copied.opened().await[2].number;
    copied.by_hand(&format!("UPDATE upstream_issues SET issue = {twin} WHERE number = 3")).await;
    copied.api.set_issues(vec![labelled(3), labelled(4), labelled(5)]);
    copied.world.start().await;
    copied.until_rows(3).await;
    let rows = copied.world.store().upstream_issues(("shop", copied.id()), 7).await.expect("read");
    assert_eq!(rows.iter().find(|row| row.number == 3).map(|row| row.issue), Some(first.number));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_issues_come_in_rounds_oldest_first_however_often_the_bot_is_killed() {
    let mut copied = copied(1, (1..=120).map(labelled).collect()).await;
    for pause in [150, 400, 700, 1_000] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        copied.world.kill();
        copied.world.start().await;
    }
    copied.until_rows(120).await;
    let titles: Vec<String> = copied.opened().await.into_iter().map(|issue| issue.title).collect();
    assert_eq!(titles, (1..=120).map(|number| format!("Crash {number}")).collect::<Vec<_>>());
    // What did not change is not sent again: of this list, one page is full and one is not.
    let before = copied.api.unchanged();
    let end = Instant::now() + PATIENCE;
    while copied.api.unchanged() < before + 6 {
        assert!(Instant::now() < end, "{} answers were 304", copied.api.unchanged());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(copied.opened().await.len(), 120);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_github_does_not_say_now_comes_later_and_by_sync() {
    let copied = copied(0, vec![labelled(3)]).await;
    copied.api.limit(true);
    let issue = copied.world.alice().open_issue(REPO, "About the copy", "Is it new?").expect("issue");
    copied.world.alice().comment(REPO, issue, "/sync").expect("said");
    let said = copied.world.until_said(issue, "`/sync` of").await;
    assert!(said.contains("open issues of the upstream with the label `caisson`"), "{said}");
    copied.world.heard(issue).await;
    assert_eq!(copied.opened().await, []);
    copied.api.limit(false);
    // Another repository that took the name gives no issues.
    copied.api.replace("lab/shop", 9);
    copied.world.alice().comment(REPO, issue, "/sync").expect("said");
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(copied.opened().await, []);
    copied.api.replace("lab/shop", 7);
    copied.world.alice().comment(REPO, issue, "/sync").expect("said");
    copied.until_opened("the issue", |all| all.len() == 1).await;
}
