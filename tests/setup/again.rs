//! What was refused or cut off is done again with the right words: `caisson setup` makes nothing before it refuses an address, and `caisson
//! repo add` goes on with what an earlier run left.

use super::{Home, project};
use crate::support::gitea;
use caisson::forge::gitea::admin::Admin;
use caisson::forge::{ForgeReads, Gitea, RepoRef};
use caisson::secret::Secret;
use devforge::{Devforge, Options};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_the_configuration_refuses_is_refused_before_anything_is_made() {
    let forge = Devforge::start(Options::quiet()).await.unwrap();
    let home = Home { dir: tempfile::tempdir().unwrap(), url: forge.url().to_owned() };
    let file = home.dir.path().join("admin-token");
    Secret::new(forge.admin_token()).write(&file).unwrap();
    let file = file.display().to_string();
    let (url, file) = (forge.url(), file.as_str());
    let admin = Admin::new(&url.parse().unwrap(), Secret::new(forge.admin_token()), "test").unwrap();
    let setup = ["setup", "--forge-url", url, "--admin-token-file", file];
    for (more, key) in [
        (["--public-url", "localhost:3000"], "forge.public_url"),
        (["--bot-url", "caisson:8440"], "forge.bot_url"),
        (["--public-url", "ftp://localhost"], "forge.public_url"),
    ] {
        let text = home.bad(&[&setup[..], &more].concat());
        assert!(text.contains(&format!("{key}: an address is http:// or https://")), "{text}");
        assert!(admin.account("caisson").await.unwrap().is_none() && !home.config().exists(), "{text}");
    }
    let text = home.bad(&["setup", "--forge-url", "localhost:3000", "--admin-token-file", file]);
    assert!(text.contains("forge.url: an address is http:// or https://"), "{text}");
    home.good(&[&setup[..], &["--public-url", "http://localhost:3000"]].concat());
}

async fn organisation_hook(url: &str, admin_token: &str) {
    let hook = json!({ "type": "gitea", "active": true, "events": ["push"],
        "config": { "url": "http://127.0.0.1:9/else", "content_type": "json" } });
    let request = reqwest::Client::new().post(format!("{url}/api/v1/orgs/caisson-projects/hooks"));
    let request = request.header("Authorization", format!("token {admin_token}")).json(&hook);
    let status = request.send().await.unwrap().status();
    assert!(status.is_success(), "{status}");
}

async fn added_again(url: &str, admin_token: &str) {
    let home = Home::set_up(url, admin_token).await;
    let source = project(home.dir.path(), "test = \"true\"\n").display().to_string();
    let token = std::fs::read_to_string(home.dir.path().join("secrets/forge-token")).unwrap();
    let bot = Gitea::new(&url.parse().unwrap(), Secret::new(token.trim()), "test").unwrap();
    let at = RepoRef::new("caisson-projects", "my_shop");

    // A person's account owns no repository of the bot's, and no organisation has the other name.
    for owner in ["dev", "nobody-here"] {
        let text = home.bad(&["repo", "add", &source, "--owner", owner]);
        assert!(text.contains(&format!("caisson cannot make a repository in {owner}")), "{text}");
        assert!(text.contains("name an organisation with --owner"), "{text}");
    }

    // Nothing was pushed when a person's name or a foreign hook is refused, so the same is said again with the right words.
    let text = home.bad(&["repo", "add", &source, "--writer", "dve"]);
    assert!(text.contains("dve cannot be added") && bot.repository(&at).await.unwrap().empty, "{text}");
    organisation_hook(url, admin_token).await;
    let text = home.bad(&["repo", "add", &source, "--writer", "dev"]);
    let name = text.lines().find_map(|line| line.split("--accept-foreign '").nth(1)).unwrap().trim_end_matches('\'');
    assert!(name.starts_with("organisation hook ") && bot.repository(&at).await.unwrap().empty, "{text}");
    let left = home.dir.path().join("state/import-4711");
    std::fs::create_dir_all(left.join("my-shop.git")).unwrap();
    home.good(&["repo", "add", &source, "--writer", "dev", "--accept-foreign", name]);
    assert!(bot.collaborators(&at).await.unwrap().contains(&"dev".to_owned()));
    assert!(!left.exists(), "the copy of a run that was cut off is removed");
    home.good(&["repo", "check"]);

    // Without an entry, as after a run that was cut off behind its push, the operator says which repository it is.
    home.good(&["repo", "remove", "my-shop"]);
    let id = bot.repository(&at).await.unwrap().id;
    let text = home.bad(&["repo", "add", &source, "--accept-foreign", name]);
    assert!(text.contains("is not empty") && text.contains(&format!("repeat this with --on-forge {id}")), "{text}");
    let other = (id + 1).to_string();
    assert!(home.bad(&["repo", "add", &source, "--on-forge", &other]).contains("is not empty"));
    home.good(&["repo", "add", &source, "--accept-foreign", name, "--on-forge", &id.to_string()]);
    assert_eq!(home.entry().await.0.id, id);
    home.good(&["repo", "check"]);
    home.good(&["repo", "add", &source, "--accept-foreign", name]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_add_that_was_refused_or_cut_off_is_repeated_over_the_builtin_forge() {
    let forge = Devforge::start(Options::quiet()).await.unwrap();
    added_again(forge.url(), forge.admin_token()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_add_that_was_refused_or_cut_off_is_repeated_over_a_real_gitea() {
    if let Some(forge) = gitea::start() {
        added_again(&forge.url, &forge.admin_token).await;
    }
}
