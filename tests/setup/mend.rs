//! `caisson repo check --fix`: each thing that somebody may change on the forge is named, set again, said, and then left alone.

use super::{Home, project};
use caisson::forge::gitea::keep::HOOK_EVENTS;
use caisson::forge::{Access, ForgeReads, Gitea, RepoRef};
use caisson::secret::Secret;
use devforge::{Devforge, Fault, Options};
use serde_json::{Value, json};

const REPO: &str = "/repos/caisson-projects/my_shop";
const HOOK: &str = "http://127.0.0.1:9/webhooks/gitea/my-shop";

/// A repository that was added, and the forge's administrator, who changes what stands there.
struct Shop {
    home: Home,
    forge: Devforge,
    bot: Gitea,
    at: RepoRef,
    http: reqwest::Client,
}

impl Shop {
    async fn added() -> Self {
        let forge = Devforge::start(Options::quiet()).await.unwrap();
        let home = Home::set_up(forge.url(), forge.admin_token()).await;
        let source = project(home.dir.path(), "test = \"true\"\n").display().to_string();
        home.good(&["repo", "add", &source, "--writer", "dev"]);
        let token = std::fs::read_to_string(home.dir.path().join("secrets/forge-token")).unwrap();
        let bot = Gitea::new(&forge.url().parse().unwrap(), Secret::new(token.trim()), "test").unwrap();
        let at = RepoRef::new("caisson-projects", "my_shop");
        Self { home, forge, bot, at, http: reqwest::Client::new() }
    }

    async fn call(&self, method: &str, path: &str, body: Value) -> Value {
        let request = self.http.request(method.parse().unwrap(), format!("{}/api/v1{path}", self.forge.url()));
        let request = request.header("Authorization", format!("token {}", self.forge.admin_token())).json(&body);
        let answer = request.send().await.unwrap();
        let status = answer.status();
        assert!(status.is_success(), "{method} {path}: {status}");
        answer.json().await.unwrap_or_default()
    }

    /// What is named as wrong, and what is said to be changed; after that nothing is wrong, and nothing is changed again.
    fn mended(&self, wrong: &str, changed: &str) {
        let text = self.home.bad(&["repo", "check", "my-shop"]);
        assert!(text.contains(wrong) && !text.contains("changed:"), "{wrong}: {text}");
        let text = self.home.good(&["repo", "check", "my-shop", "--fix"]);
        assert_eq!(text.matches("changed:").count(), 1, "{text}");
        assert!(text.contains(&format!("my-shop: changed: {changed}")), "{changed}: {text}");
        self.home.good(&["repo", "check", "my-shop"]);
        assert!(!self.home.good(&["repo", "check", "my-shop", "--fix"]).contains("changed"));
    }

    async fn hook(&self, events: &[&str], active: bool) {
        let config = json!({ "url": HOOK, "content_type": "json", "secret": "guessed" });
        let body = json!({ "type": "gitea", "active": active, "events": events, "config": config });
        self.call("POST", &format!("{REPO}/hooks"), body).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_lost_events_is_off_or_has_a_double_is_made_anew() {
    let shop = Shop::added().await;
    let own = shop.bot.hooks(&shop.at).await.unwrap();
    shop.bot.remove_hook(&shop.at, HOOK).await.unwrap();
    shop.mended(&format!("there is no hook to {HOOK}"), "hook ");
    let again = async |events: &[&str], active| {
        shop.bot.remove_hook(&shop.at, HOOK).await.unwrap();
        shop.hook(events, active).await;
    };
    again(&["issues_only", "issue_comment", "push"], true).await;
    shop.mended("does not deliver issue_assign, issue_label, pull_request_only", "hook ");
    again(&["push"], false).await;
    shop.mended(&format!("the hook to {HOOK} is not active"), "hook ");
    for (content_type, branch_filter, wrong) in
        [("form", "", "writes \"form\" and not json"), ("json", "main", "delivers pushes of \"main\" alone")]
    {
        shop.bot.remove_hook(&shop.at, HOOK).await.unwrap();
        let config = json!({ "url": HOOK, "content_type": content_type, "secret": "guessed" });
        let body = json!({
            "type": "gitea", "active": true, "events": HOOK_EVENTS, "config": config, "branch_filter": branch_filter,
        });
        shop.call("POST", &format!("{REPO}/hooks"), body).await;
        shop.mended(&format!("the hook to {HOOK} {wrong}"), "hook ");
    }
    shop.hook(&["push"], true).await;
    shop.mended(&format!("there is more than one hook to {HOOK}"), "hook ");
    let now = shop.bot.hooks(&shop.at).await.unwrap();
    assert!(now.len() == 1 && now[0].active && now[0].lacks().is_empty() && now[0].id != own[0].id, "{now:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_the_default_branch_the_other_accounts_right_and_actions_are_set_again() {
    let shop = Shop::added().await;
    // Nothing of it is read for this, so another machine may have it.
    std::fs::remove_dir_all(shop.home.dir.path().join("my_shop")).unwrap();
    let name = "caisson-projects/my_shop";
    shop.forge.rename_label(name, "caisson/paused", "ours").unwrap();
    shop.mended("the label caisson/paused is missing", "the label caisson/paused is as it was made");
    shop.forge.rename_label(name, "caisson/queued", "theirs").unwrap();
    let body = json!({ "name": "caisson/queued", "color": "#00aabb", "exclusive": false });
    shop.call("POST", &format!("{REPO}/labels"), body).await;
    shop.mended("or is not exclusive as it should be", "the label caisson/queued is as it was made");
    shop.call("PATCH", REPO, json!({ "default_branch": "other" })).await;
    shop.mended("its default branch is other instead of trunk", "its default branch is trunk again instead of other");
    assert_eq!(shop.bot.repository(&shop.at).await.unwrap().default_branch, "trunk");
    shop.call("PATCH", REPO, json!({ "has_actions": true })).await;
    shop.mended("would run or read each push: actions", "Actions are off again");
    let rule = format!("{REPO}/branch_protections/trunk");
    shop.call("PATCH", &rule, json!({ "enable_force_push": true })).await;
    shop.mended("trunk is not kept for caisson-sync", "trunk is kept for caisson-sync again");
    for more in [
        json!({ "push_whitelist_teams": ["Owners"] }),
        json!({ "unprotected_file_patterns": "docs/**" }),
        json!({ "push_whitelist_deploy_keys": true }),
    ] {
        shop.call("PATCH", &rule, more).await;
        shop.mended("trunk is not kept for caisson-sync", "trunk is kept for caisson-sync again");
    }
    shop.call("DELETE", &format!("{REPO}/collaborators/caisson-sync"), json!({})).await;
    shop.mended("caisson-sync may not write", "caisson-sync may write again");
    // What a person added is named and left to her.
    let body = json!({ "rule_name": "agent/1-x", "enable_push": true, "priority": -1 });
    shop.call("POST", &format!("{REPO}/branch_protections"), body).await;
    let text = shop.home.bad(&["repo", "check", "my-shop", "--fix"]);
    assert!(text.contains("the rule agent/1-x may hold in place of agent/**: remove it"), "{text}");
    assert!(!text.contains("changed:"), "{text}");
}

/// As an earlier version left it: then no work on a newer base takes the place of what its branch had.
#[tokio::test(flavor = "multi_thread")]
async fn the_bot_may_replace_what_stands_on_agents_branches_again() {
    let shop = Shop::added().await;
    let rule = format!("{REPO}/branch_protections/agent%2F%2A%2A");
    shop.call("PATCH", &rule, json!({ "enable_force_push": false })).await;
    shop.mended("agent/** is not kept for caisson", "agent/** is kept for caisson again");
    let now = shop.call("GET", &rule, Value::Null).await;
    assert_eq!(now["enable_force_push"], true, "{now}");
    assert_eq!(now["force_push_allowlist_usernames"], json!(["caisson"]), "{now}");
}

/// As `caisson repo sync --rewritten` leaves it that is killed between taking a rule away and putting it back, on a forge that wants it gone.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_was_taken_away_by_a_run_that_was_cut_off_stands_again_as_it_was() {
    let shop = Shop::added().await;
    let rule = format!("{REPO}/branch_protections/trunk");
    shop.call("PATCH", &rule, json!({ "required_approvals": 3, "block_on_outdated_branch": true })).await;
    let before = shop.call("GET", &rule, Value::Null).await;
    let state = caisson::config::Process::load(&shop.home.config()).unwrap().state_dir;
    std::fs::create_dir_all(state.join("rules")).unwrap();
    let kept = state.join("rules/my-shop.json");
    let (entry, _) = shop.home.entry().await;
    let of = |repository: i64| json!({ "repository": repository, "branch": "trunk", "rule": before }).to_string();
    std::fs::write(&kept, of(entry.id)).unwrap();
    shop.call("DELETE", &rule, Value::Null).await;
    shop.mended("trunk is not kept for caisson-sync", "the rule of trunk stands again as it was before");
    assert_eq!(shop.call("GET", &rule, Value::Null).await, before);
    assert!(!kept.exists());
    // What was kept of another repository under this key is not made.
    std::fs::write(&kept, of(entry.id + 1)).unwrap();
    shop.call("DELETE", &rule, Value::Null).await;
    shop.mended("trunk is not kept for caisson-sync", "trunk is kept for caisson-sync again");
    assert_ne!(shop.call("GET", &rule, Value::Null).await["required_approvals"], 3);
    assert!(!kept.exists());
    // Where another rule stands by now, the only copy of the one before is named and kept.
    std::fs::write(&kept, of(entry.id)).unwrap();
    shop.call("PATCH", &rule, json!({ "required_approvals": 1, "enable_push": false })).await;
    let text = shop.home.bad(&["repo", "check", "my-shop", "--fix"]);
    assert!(text.contains("another one stands by now") && text.contains("my-shop.refused.json"), "{text}");
    assert_eq!(std::fs::read_to_string(kept.with_extension("refused.json")).unwrap(), of(entry.id));
    shop.mended("trunk is not kept for caisson-sync", "trunk is kept for caisson-sync again");
    assert!(!kept.exists());
}

/// Where the bot merges, which it does only in a repository that is no copy of another one.
#[tokio::test(flavor = "multi_thread")]
async fn the_approval_that_a_merge_takes_is_required_again() {
    let shop = Shop::added().await;
    let (entry, secrets) = shop.home.entry().await;
    secrets[0].write(&shop.home.dir.path().join("own-secret")).unwrap();
    let text = std::fs::read_to_string(shop.home.config()).unwrap();
    let own = format!(
        "{text}\n[[repositories]]\nkey = \"my-shop\"\nowner = \"{}\"\nname = \"{}\"\nid = {}\nsecret_files = [\"own-secret\"]\n\
         default_branch = \"trunk\"\nmerge = \"command\"\n",
        entry.owner, entry.name, entry.id
    );
    std::fs::write(shop.home.config(), own).unwrap();
    let wrong = "trunk does not require an approval that binds administrators too";
    shop.mended(wrong, "a merge into trunk takes a person's approval");
    let rule = format!("{REPO}/branch_protections/trunk");
    shop.call("PATCH", &rule, json!({ "block_admin_merge_override": false, "apply_to_admins": false })).await;
    shop.mended(wrong, "a merge into trunk takes a person's approval");
    assert!(shop.bot.requires_approval(&shop.at, "trunk").await.unwrap());
}

/// The bot's own right is named first, because without it the rest is not shown; the other account gives it back where it may.
#[tokio::test(flavor = "multi_thread")]
async fn the_bots_own_lost_right_is_said_and_given_back_by_the_account_that_may() {
    let shop = Shop::added().await;
    let teams = shop.call("GET", &format!("{REPO}/teams"), Value::Null).await;
    let owners = teams.as_array().unwrap().iter().find(|team| team["name"] == "Owners").unwrap()["id"].clone();
    shop.call("PUT", &format!("/teams/{owners}/members/root"), Value::Null).await;
    shop.call("DELETE", &format!("/teams/{owners}/members/caisson"), Value::Null).await;
    for (right, words) in [
        ("write", "caisson may only read and write"),
        ("read", "caisson may only read"),
        ("", "caisson sees nothing of it"),
    ] {
        let place = format!("{REPO}/collaborators/caisson");
        match right {
            "" => shop.call("DELETE", &place, Value::Null).await,
            right => shop.call("PUT", &place, json!({ "permission": right })).await,
        };
        for args in [&["repo", "check", "my-shop"][..], &["repo", "check", "my-shop", "--fix"]] {
            let text = shop.home.bad(args);
            assert!(text.contains(words) && text.contains("make it an owner of caisson-projects"), "{text}");
            assert!(!text.contains("changed:"), "{text}");
        }
    }
    shop.call("PUT", &format!("{REPO}/collaborators/caisson-sync"), json!({ "permission": "admin" })).await;
    let wrong = "caisson sees nothing of it, and has to administer caisson-projects/my_shop";
    let text = shop.home.bad(&["repo", "check", "my-shop", "--fix"]);
    assert!(text.contains("my-shop: changed: caisson administers caisson-projects/my_shop again"), "{text}");
    assert!(
        text.contains("organisation hooks of caisson-projects: not shown to the bot") && !text.contains(wrong),
        "{text}"
    );
    shop.call("PUT", &format!("/teams/{owners}/members/caisson"), Value::Null).await;
    shop.home.good(&["repo", "check", "my-shop"]);
    let right = shop.bot.permission(&shop.at, &shop.bot.whoami().await.unwrap()).await.unwrap();
    assert!(right >= Access::Admin, "{right:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_repository_is_checked_where_it_is_and_its_new_name_is_written_down() {
    let shop = Shop::added().await;
    shop.forge.rename("caisson-projects/my_shop", "store").unwrap();
    shop.mended("caisson-projects/my_shop is called caisson-projects/store now", "its entry names");
    // What differs at the new address is named beside the name, and set again there.
    shop.forge.rename("caisson-projects/store", "market").unwrap();
    let market = RepoRef::new("caisson-projects", "market");
    shop.bot.remove_hook(&market, HOOK).await.unwrap();
    let text = shop.home.bad(&["repo", "check", "my-shop"]);
    assert!(text.contains("is called caisson-projects/market now") && text.contains("there is no hook"), "{text}");
    let text = shop.home.bad(&["doctor"]);
    assert!(text.contains("is called caisson-projects/market now") && !text.contains("try again when"), "{text}");
    let text = shop.home.good(&["repo", "check", "my-shop", "--fix"]);
    assert!(text.contains("its entry names caisson-projects/market now"), "{text}");
    assert_eq!(shop.bot.hooks(&market).await.unwrap().len(), 1);
    shop.home.good(&["repo", "check", "my-shop"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_not_given_to_another_repository_that_took_the_name() {
    let shop = Shop::added().await;
    shop.home.good(&["repo", "rotate", "my-shop"]);
    shop.forge.delete_repository("caisson-projects/my_shop").unwrap();
    shop.bot.create_repository(&shop.at, "trunk").await.unwrap();
    let text = shop.home.bad(&["repo", "rotate", "my-shop"]);
    assert!(text.contains("is not on the forge any more"), "{text}");
    assert!(shop.bot.hooks(&shop.at).await.unwrap().is_empty());
    assert_eq!(shop.home.entry().await.1.len(), 2, "both secrets stay");
}

/// As Gitea answers an account without a second factor where the site demands one.
fn hide_names(forge: &Devforge) {
    forge.set_faults(|_, path| path.contains("/repos/").then_some(Fault::Refused(404)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_second_factor_is_told_where_the_forge_hides_the_names_of_repositories() {
    const WHY: &str = "TWO_FACTOR_AUTH = enforced";
    let shop = Shop::added().await;
    hide_names(&shop.forge);
    let text = shop.home.bad(&["repo", "check", "my-shop"]);
    assert!(text.contains(WHY) && text.contains("by its number") && !text.contains("make it an owner"), "{text}");
    let forge = Devforge::start(Options::quiet()).await.unwrap();
    let home = Home::set_up(forge.url(), forge.admin_token()).await;
    let source = project(home.dir.path(), "test = \"true\"\n").display().to_string();
    hide_names(&forge);
    for why in ["by its number", "already exists"] {
        let text = home.bad(&["repo", "add", &source, "--writer", "dev"]);
        assert!(text.contains(why) && text.contains(WHY), "{text}");
    }
    forge.set_faults(|_, _| None);
    home.good(&["repo", "add", &source, "--writer", "dev"]);
}
