//! A bot beside a real Gitea, woken by its hooks alone. Without a Gitea it says so and passes (`CAISSON_REQUIRE=gitea` forbids that).

use crate::cuts::Cuts;
use crate::forges::{self, Lab, LabRepository};
use crate::ground::free_port;
use crate::local_broker::LocalBroker;
use crate::world::{FIX, PATIENCE, World, end, single};
use caisson::bot::Bot;
use caisson::cli::store::location;
use caisson::config::{Process, Secret};
use caisson::forge::ForgeReads;
use caisson::store::Store;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

pub async fn configured(lab: &Lab, place: &LabRepository, dir: &Path, start: &str) -> Process {
    let id = lab.bot.repository(&place.repo).await.expect("the repository").id;
    for (name, text) in [("bot.token", lab.token("caisson").expose()), ("shop.secret", "sekret")] {
        Secret::new(text).write(&dir.join(name)).expect("written");
    }
    std::fs::write(dir.join("script.toml"), FIX).expect("written");
    let text = format!(
        "state_dir = \"state\"\n[forge]\nurl = \"{}\"\ntoken_file = \"bot.token\"\nsettle_ms = 300\npoll_s = 3600\n\
         [listen]\nwebhooks = \"127.0.0.1:{}\"\nops = \"127.0.0.1:0\"\n{}\
         [sandbox]\nnetwork = \"none\"\nimage = \"local\"\ndisk_floor_mib = 0\n\
         [[repositories]]\nkey = \"shop\"\nowner = \"{}\"\nname = \"{}\"\nid = {id}\nsecret_files = [\"shop.secret\"]\n\
         [repositories.start]\n{start}\n",
        lab.url,
        free_port(),
        single("tools"),
        place.repo.owner,
        place.repo.name,
    );
    std::fs::write(dir.join("caisson.toml"), text).expect("written");
    Process::load(&dir.join("caisson.toml")).expect("a configuration")
}

/// A bot at work, with its store to look into.
pub struct Begun {
    pub store: Store,
    runtime: Runtime,
    bot: Bot,
    _world: World,
}

impl Begun {
    /// As `kill -9` would.
    pub fn end(self) {
        drop(self.bot);
        end(self.runtime);
    }
}

/// A bot of this configuration, after its first round.
pub async fn begin(config: Arc<Process>) -> Begun {
    // Its parts beside a forge and a broker are those of every story.
    let mut world = World::new(FIX).await;
    world.kill();
    let (runtime, bot) = world.begin(config.clone(), LocalBroker::new(), &Cuts::default()).await;
    let store = Store::look(location(&config).expect("a place")).await.expect("the store").expect("there");
    let limit = Instant::now() + PATIENCE;
    while store.watermark("shop").await.expect("read").is_none() {
        assert!(Instant::now() < limit, "the first round never ended");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Begun { store, runtime, bot, _world: world }
}

async fn until_said(lab: &Lab, place: &LabRepository, number: u64, words: &str) {
    let limit = Instant::now() + PATIENCE;
    loop {
        let said = lab.bot.comments(&place.repo, number).await.expect("comments");
        if said.iter().any(|comment| comment.author.login == "caisson" && comment.body.contains(words)) {
            return;
        }
        assert!(Instant::now() < limit, "waited for {words:?}: {said:#?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assignment_and_a_label_begin_tasks_on_a_real_gitea() {
    let Some(lab) = forges::real().await else { return };
    let (place, dir) = (lab.place("shop").await, tempfile::tempdir().expect("a directory"));
    let repo = &place.repo;
    lab.bot.ensure_label(repo, "agent", "#00aabb", "").await.expect("a label");
    let config = Arc::new(configured(&lab, &place, dir.path(), "by = [\"assigned\", \"label:agent\"]").await);
    lab.bot.replace_hook(repo, &config.hook_url("shop"), &Secret::new("sekret")).await.expect("a hook");
    let begun = begin(config).await;
    let (alice, bob) = (lab.hand("alice"), lab.hand("bob"));
    let (assigned, labelled) = (bob.open_issue(repo, "One", "b").await, bob.open_issue(repo, "Two", "b").await);
    let path = |number: u64| format!("/repos/{repo}/issues/{number}");
    let assigns = json!({ "assignees": ["caisson"] });
    assert_eq!(bob.call("PATCH", &path(assigned), assigns.clone()).await.0, 201, "ignored");
    assert_eq!(alice.call("PATCH", &path(assigned), assigns.clone()).await.0, 201);
    until_said(&lab, &place, assigned, "because `alice` assigned this issue to me").await;
    let labels = json!({ "labels": ["agent"] });
    assert_eq!(alice.call("POST", &format!("{}/labels", path(labelled)), labels).await.0, 200);
    until_said(&lab, &place, labelled, "because `alice` put the label `agent` on this issue").await;
    // Who writes issues and not the code may assign, and not give the command.
    let team = json!({ "name": "triage", "permission": "write", "units_map": { "repo.issues": "write", "repo.code": "read" } });
    let root = lab.hand("root");
    let (status, made) = root.call("POST", "/orgs/lab/teams", team).await;
    assert_eq!(status, 201, "{made}");
    for path in [format!("/teams/{}/repos/{repo}", made["id"]), format!("/teams/{}/members/carol", made["id"])] {
        assert_eq!(root.call("PUT", &path, json!({})).await.0, 204, "{path}");
    }
    let third = bob.open_issue(repo, "Three", "b").await;
    assert_eq!(lab.hand("carol").call("PATCH", &path(third), assigns).await.0, 201);
    until_said(&lab, &place, third, "`carol`: `/fix` is for").await;
    let mut issues: Vec<i64> = begun.store.tasks(9).await.expect("read").iter().map(|row| row.issue).collect();
    issues.sort_unstable();
    assert_eq!(issues, [assigned as i64, labelled as i64]);
    begun.end();
}
