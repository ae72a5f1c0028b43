//! `caisson repo add --here`: a repository that lives on the forge alone.

use super::Home;
use crate::support::forges::git;
use caisson::forge::{ForgeReads, Gitea, RepoRef};
use caisson::secret::Secret;
use devforge::{Devforge, Options};
use serde_json::{Value, json};
use std::path::Path;

const REPO: &str = "/repos/team/alone";

/// The forge's administrator, who prepares what the bot is told of.
struct Owner {
    url: String,
    token: String,
    http: reqwest::Client,
}

impl Owner {
    async fn call(&self, method: &str, path: &str, body: Value) -> Value {
        let request = self.http.request(method.parse().unwrap(), format!("{}/api/v1{path}", self.url));
        let request = request.header("Authorization", format!("token {}", self.token)).json(&body);
        let answer = request.send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    fn push(&self, dir: &Path) -> String {
        let work = dir.join("alone");
        std::fs::create_dir_all(&work).unwrap();
        git(&work, &["init", "-q", "--initial-branch=main"]);
        std::fs::write(work.join(".caisson.toml"), "test = \"true\"\n").unwrap();
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-q", "-m", "first"]);
        let header = format!("http.extraHeader=Authorization: token {}", self.token);
        git(&work, &["-c", &header, "push", "-q", &format!("{}/team/alone.git", self.url), "main"]);
        git(&work, &["rev-parse", "main"]).trim().to_owned()
    }
}

/// What is not there is said before the first task meets it.
async fn is_refused_without_issues_or_pulls(home: &Home, owner: &Owner, add: &[&str]) {
    for (unit, what) in [("has_issues", "issues"), ("has_pull_requests", "pull requests")] {
        owner.call("PATCH", REPO, json!({ unit: false })).await;
        let text = home.bad(add);
        assert!(text.contains(&format!("team/alone has no {what}")), "{text}");
        owner.call("PATCH", REPO, json!({ unit: true })).await;
    }
}

async fn trip(url: &str, admin_token: &str) {
    let home = Home::set_up(url, admin_token).await;
    let owner = Owner { url: url.to_owned(), token: admin_token.to_owned(), http: reqwest::Client::new() };
    let plain = ["repo", "add", "team/alone", "--here"];
    // The hooks of an organisation are shown to its owners, and the bot's account administers one repository of it.
    let unseen = "organisation hooks of team: not shown to the bot";
    let add = ["repo", "add", "team/alone", "--here", "--accept-foreign", unseen];

    // Before anything is set up, each thing that is missing is named with what to do.
    owner.call("POST", "/admin/users/dev/orgs", json!({ "username": "team" })).await;
    owner.call("POST", "/orgs/team/repos", json!({ "name": "alone", "private": true })).await;
    owner.call("PATCH", REPO, json!({ "has_actions": false })).await;
    let text = home.bad(&add);
    assert!(text.contains("caisson sees no repository team/alone"), "{text}");
    assert!(text.contains("make caisson an administrator of team/alone"), "{text}");
    owner.call("PUT", &format!("{REPO}/collaborators/caisson"), json!({ "permission": "write" })).await;
    assert!(home.bad(&add).contains("caisson does not administer team/alone"));
    owner.call("PUT", &format!("{REPO}/collaborators/caisson"), json!({ "permission": "admin" })).await;
    assert!(home.bad(&add).contains("team/alone is empty"));
    let tip = owner.push(home.dir.path());
    // Gitea notices a first push a moment later.
    while owner.call("GET", REPO, Value::Null).await["empty"] == true {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    is_refused_without_issues_or_pulls(&home, &owner, &add).await;
    assert!(home.bad(&plain).contains(unseen));
    let hook = json!({ "type": "gitea", "active": true, "events": ["push"],
        "config": { "url": "http://127.0.0.1:9/else", "content_type": "json" } });
    let hook = owner.call("POST", &format!("{REPO}/hooks"), hook).await["id"].clone();
    let text = home.bad(&add);
    assert!(text.contains(&format!("hook {hook} to 127.0.0.1")) && text.contains("--accept-foreign"), "{text}");
    let rules = owner.call("GET", &format!("{REPO}/branch_protections"), Value::Null).await;
    assert_eq!(rules.as_array().map(Vec::len), Some(0), "nothing was changed by what was refused");
    owner.call("DELETE", &format!("{REPO}/hooks/{hook}"), Value::Null).await;
    // A rule of before would hold in place of ours; before Gitea 1.23 the name of a branch always comes before a pattern.
    let rule = json!({ "rule_name": "m*", "enable_push": true });
    let made = owner.call("POST", &format!("{REPO}/branch_protections"), rule).await;
    if made["priority"].is_number() {
        let text = home.bad(&add);
        assert!(text.contains("the protection of m* may hold in place of that of main"), "{text}");
    }
    owner.call("DELETE", &format!("{REPO}/branch_protections/m%2A"), Value::Null).await;

    let text = home.good(&add);
    assert!(text.contains("main takes pull requests alone from now on"), "{text}");
    let (entry, _) = home.entry().await;
    assert_eq!((entry.key.as_str(), entry.origin(), entry.owner.as_str()), ("alone", "", "team"));
    assert_eq!(entry.accepted_foreign, [unseen]);
    let bot_token = std::fs::read_to_string(home.dir.path().join("secrets/forge-token")).unwrap();
    let bot = Gitea::new(&url.parse().unwrap(), Secret::new(bot_token.trim()), "test").unwrap();
    let at = RepoRef::new("team", "alone");
    assert_eq!(bot.branch(&at, "main").await.unwrap().as_deref(), Some(tip.as_str()), "its branch is as it was");
    assert_eq!(bot.hooks(&at).await.unwrap().len(), 1);
    home.good(&["repo", "check"]);
    home.good(&add);

    // A copy does not take its place, nor it that of a copy.
    let copy = home.dir.path().join("alone").display().to_string();
    let text = home.bad(&["repo", "add", &copy]);
    assert!(text.contains("alone lives on the forge alone"), "{text}");
    home.good(&["repo", "add", &copy, "--name", "copy"]);
    let text = home.bad(&["repo", "add", "team/alone", "--here", "--name", "copy"]);
    assert!(text.contains("copy was copied from"), "{text}");
    home.good(&["repo", "remove", "copy"]);

    // There finished work may be merged, which a table in the file switches on.
    let plain = std::fs::read_to_string(home.config()).unwrap();
    std::fs::write(home.config(), format!("{plain}\n[[repositories]]\nkey = \"alone\"\nmerge = \"command\"\n"))
        .unwrap();
    let text = home.bad(&["repo", "check", "alone"]);
    assert!(text.contains("main does not require an approval that binds administrators too"), "{text}");
    let rule = owner.call("GET", &format!("{REPO}/branch_protections/main"), Value::Null).await;
    if rule["block_admin_merge_override"].is_null() && rule["apply_to_admins"].is_null() {
        // Gitea before 1.23.
        let text = home.bad(&["repo", "check", "alone", "--fix"]);
        assert!(text.contains("this version of the forge cannot hold administrators to it"), "{text}");
        return;
    }
    home.good(&["repo", "check", "alone", "--fix"]);
    assert!(bot.requires_approval(&at, "main").await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_of_the_forge_alone_is_set_up_over_the_builtin_forge() {
    let forge = Devforge::start(Options::quiet()).await.unwrap();
    trip(forge.url(), forge.admin_token()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_of_the_forge_alone_is_set_up_over_a_real_gitea() {
    if let Some(forge) = crate::support::gitea::start() {
        trip(&forge.url, &forge.admin_token).await;
    }
}
