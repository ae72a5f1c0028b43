//! Setup of a repository by its owner: the repository, collaborators, labels, protection, the hook. Used only by `caisson repo add` and
//! `repo check`; each `ensure_*` reads first and reads back, because Gitea silently drops what it does not accept.
//! Tests: the contract suite, `tests/setup.rs`.

use super::admin::Made;
use super::raw::seg;
use super::reader::base;
use super::{Gitea, wire};
use crate::forge::{Access, ForgeError, RepoRef, Repository, Result};
use crate::secret::Secret;
use reqwest::Method;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::time::Duration;

/// The narrow names, because the wide ones would deliver everything twice. Plain comments of a pull request need `pull_request_comment`.
pub const HOOK_EVENTS: [&str; 12] = [
    "issues_only",
    "issue_assign",
    "issue_label",
    "issue_comment",
    "pull_request_only",
    "pull_request_comment",
    "pull_request_review",
    "pull_request_sync",
    "pull_request_review_request",
    "push",
    "create",
    "delete",
];

/// A hook without its secret, which the forge never reveals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookInfo {
    /// The hook's id on the forge.
    pub id: i64,
    /// Address it delivers to; empty where the forge gives none.
    pub url: String,
    /// Whether the forge delivers through it.
    pub active: bool,
    /// Names of the events it delivers.
    pub events: Vec<String>,
    /// How it writes a delivery; `json` is read here.
    pub content_type: String,
    /// Pattern of the branches that it delivers pushes of; empty or `*` for all.
    pub branch_filter: String,
}

impl HookInfo {
    /// What keeps deliveries from the bot, each as the end of "the hook"; its secret is not shown.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.active {
            faults.push("is not active".to_owned());
        }
        let lacks = self.lacks();
        if !lacks.is_empty() {
            faults.push(format!("does not deliver {}", lacks.join(", ")));
        }
        if self.content_type != "json" {
            faults.push(format!("writes {:?} and not json", self.content_type));
        }
        if !matches!(self.branch_filter.as_str(), "" | "*" | "**") {
            faults.push(format!("delivers pushes of {:?} alone", self.branch_filter));
        }
        faults
    }

    /// Those of [`HOOK_EVENTS`] that it does not deliver; what it delivers beyond them does no harm.
    pub fn lacks(&self) -> Vec<&'static str> {
        let has = |name: &str| self.events.iter().any(|event| event == name);
        let delivers = |wanted: &str| {
            // Gitea answers with the names that it keeps, which are not those that it takes.
            let kept: &[&str] = match wanted {
                "issues_only" => &["issues"],
                "pull_request_only" => &["pull_request"],
                "pull_request_review" => {
                    &["pull_request_review_approved", "pull_request_review_rejected", "pull_request_review_comment"]
                }
                _ => &[],
            };
            has(wanted) || !kept.is_empty() && kept.iter().all(|name| has(name))
        };
        HOOK_EVENTS.into_iter().filter(|wanted| !delivers(wanted)).collect()
    }
}

impl Gitea {
    /// Creates an empty, private repository without Actions in an organisation; `Conflict` if the name is taken.
    pub async fn create_repository(&self, repo: &RepoRef, default_branch: &str) -> Result<Repository> {
        let body = json!({
            "name": repo.name, "private": true, "auto_init": false, "default_branch": default_branch,
        });
        let path = format!("/orgs/{}/repos", seg(&repo.owner));
        let made: wire::Repo = self.raw.write(Method::POST, &path, &body).await?;
        if let Err(error) = self.disable_actions(repo).await {
            return Err(self.hidden_name(repo, made.id).await.map_or(error, ForgeError::Conflict));
        }
        super::convert::repository(made)
    }

    /// Switches Actions off, and verifies that.
    pub async fn disable_actions(&self, repo: &RepoRef) -> Result<()> {
        let now: wire::Repo = self.raw.write(Method::PATCH, &base(repo), &json!({ "has_actions": false })).await?;
        if now.has_actions {
            return Err(ForgeError::Conflict(format!("Actions of {repo} stay on; switch them off on the forge")));
        }
        Ok(())
    }

    /// Makes `branch` (a name without `refs/heads/`) the repository's default branch. A forge that is still busy with a push may fail, so this is
    /// tried three times.
    pub async fn set_default_branch(&self, repo: &RepoRef, branch: &str) -> Result<()> {
        let body = json!({ "default_branch": branch });
        for pause in [200, 1_000].map(Duration::from_millis) {
            match self.raw.put(Method::PATCH, &base(repo), Some(&body)).await {
                Err(ForgeError::Ambiguous(_)) => tokio::time::sleep(pause).await,
                answer => return answer,
            }
        }
        self.raw.put(Method::PATCH, &base(repo), Some(&body)).await
    }

    /// Gives `login` at least `access` (read, write or admin), without reducing a higher right.
    pub async fn ensure_collaborator(&self, repo: &RepoRef, login: &str, access: Access) -> Result<Made> {
        let path = format!("{}/collaborators/{}", base(repo), seg(login));
        let has = self.raw.find::<wire::Permission>(&format!("{path}/permission")).await?;
        if has.is_some_and(|p| super::convert::access(&p.permission) >= access) {
            return Ok(Made::Before);
        }
        let word = match access {
            Access::Admin | Access::Owner => "admin",
            Access::Write => "write",
            Access::Read | Access::None => "read",
        };
        self.raw.put(Method::PUT, &path, Some(&json!({ "permission": word }))).await?;
        Ok(Made::New)
    }

    /// Whether there is an account of this name: of any other the forge tells no right.
    pub async fn knows_login(&self, repo: &RepoRef, login: &str) -> Result<bool> {
        let path = format!("{}/collaborators/{}/permission", base(repo), seg(login));
        Ok(self.raw.find::<wire::Permission>(&path).await?.is_some())
    }

    /// Everybody who was added to the repository by name.
    pub async fn collaborators(&self, repo: &RepoRef) -> Result<Vec<String>> {
        let found: Vec<wire::User> = self.raw.pages(&format!("{}/collaborators", base(repo))).await?;
        Ok(found.into_iter().map(|u| u.login).collect())
    }

    /// Ensures a label of the repository without duplicates; `scope/name` ones are exclusive within their scope.
    pub async fn ensure_label(&self, repo: &RepoRef, name: &str, color: &str, description: &str) -> Result<Made> {
        let path = format!("{}/labels", base(repo));
        let there: Vec<wire::Label> = self.raw.pages(&path).await?;
        let exclusive = name.contains('/');
        if let Some(label) = there.iter().find(|l| l.name == name) {
            if label.exclusive != exclusive {
                let at = format!("{path}/{}", label.id);
                self.raw.put(Method::PATCH, &at, Some(&json!({ "exclusive": exclusive }))).await?;
            }
            return Ok(Made::Before);
        }
        let body = json!({ "name": name, "color": color, "description": description, "exclusive": exclusive });
        let made: wire::Label = self.raw.write(Method::POST, &path, &body).await?;
        if made.exclusive != exclusive {
            return Err(ForgeError::Protocol(format!("label {name} was not made exclusive")));
        }
        Ok(Made::New)
    }

    /// Which of these labels the repository lacks, or has with another exclusiveness than [`Gitea::ensure_label`] makes.
    pub async fn labels_amiss<'a>(&self, repo: &RepoRef, names: &[&'a str]) -> Result<Vec<&'a str>> {
        let there: Vec<wire::Label> = self.raw.pages(&format!("{}/labels", base(repo))).await?;
        let stands = |name: &str| there.iter().any(|label| label.name == name && label.exclusive == name.contains('/'));
        Ok(names.iter().copied().filter(|name| !stands(name)).collect())
    }

    /// Ensures a branch rule (name or pattern) by which only `pushers` may push, and verifies it, because accounts without write access are
    /// dropped silently. Of a rule that is there already everything else stays as a person set it.
    pub async fn ensure_protection(&self, repo: &RepoRef, rule: &str, pushers: &[&str]) -> Result<Made> {
        self.ensure_rule(repo, rule, pushers, false).await
    }

    /// As [`Gitea::ensure_protection`], for branches of this account alone, whose history it may replace: work that is brought onto a newer
    /// base takes the place of what was there. A forge that lets nobody do that (Gitea before 1.23, Forgejo) has the rule without it.
    pub async fn ensure_own_branches(&self, repo: &RepoRef, rule: &str, login: &str) -> Result<Made> {
        self.ensure_rule(repo, rule, &[login], true).await
    }

    async fn ensure_rule(&self, repo: &RepoRef, rule: &str, pushers: &[&str], replace: bool) -> Result<Made> {
        let path = format!("{}/branch_protections", base(repo));
        // What `guards` checks, and nothing else.
        let mut body = json!({
            "rule_name": rule, "enable_push": true, "enable_push_whitelist": true,
            "push_whitelist_usernames": pushers, "push_whitelist_teams": [], "push_whitelist_deploy_keys": false,
            "unprotected_file_patterns": "", "enable_force_push": replace,
        });
        if replace {
            // Without a list of their own, keys that may write could replace it, too.
            body["enable_force_push_allowlist"] = Value::Bool(true);
            body["force_push_allowlist_usernames"] = json!(pushers);
            body["force_push_allowlist_deploy_keys"] = Value::Bool(false);
        }
        let there: Option<Vec<wire::Protection>> = self.raw.get(&path).await?;
        let found = there.unwrap_or_default().into_iter().find(|p| p.rule_name == rule);
        let made = match found {
            Some(rule) if guards(&rule, pushers, replace) => return Ok(Made::Before),
            Some(_) => {
                self.raw.put(Method::PATCH, &format!("{path}/{}", seg(rule)), Some(&body)).await?;
                Made::Before
            }
            None => {
                body["block_admin_merge_override"] = Value::Bool(false);
                self.raw.put(Method::POST, &path, Some(&body)).await?;
                Made::New
            }
        };
        let now: wire::Protection = self.raw.get(&format!("{path}/{}", seg(rule))).await?;
        if guards(&now, pushers, replace) {
            return Ok(made);
        }
        let names = [now.push_whitelist_usernames, now.push_whitelist_teams].concat().join(", ");
        Err(ForgeError::Conflict(format!("the rule {rule} lets [{names}] push instead of [{}]", pushers.join(", "))))
    }

    /// Names of the other rules that match branches of this one and may hold in its place.
    pub async fn rules_before(&self, repo: &RepoRef, rule: &str) -> Result<Vec<String>> {
        let all: Vec<wire::Protection> =
            self.raw.get::<Option<_>>(&format!("{}/branch_protections", base(repo))).await?.unwrap_or_default();
        // A new one comes behind all others; forges before Gitea 1.23 know no order but the rules' age and kind.
        let (priority, created_at) = (all.iter().find_map(|it| it.priority).map(|_| i64::MAX), "9999".to_owned());
        let new =
            || wire::Protection { rule_name: rule.to_owned(), priority, created_at, ..wire::Protection::default() };
        let own = all.iter().find(|it| it.rule_name == rule).cloned().unwrap_or_else(new);
        let before = |other: &&wire::Protection| other.rule_name != rule && comes_before(other, &own);
        Ok(all.iter().filter(before).map(|other| other.rule_name.clone()).collect())
    }

    /// Has a merge into the branch of this rule take a person's official approval, also for administrators. A higher number stays. The rule
    /// must exist.
    pub async fn ensure_approval(&self, repo: &RepoRef, rule: &str) -> Result<Made> {
        if self.requires_approval(repo, rule).await? {
            return Ok(Made::Before);
        }
        let path = format!("{}/branch_protections/{}", base(repo), seg(rule));
        let now: wire::Protection = self.raw.get(&path).await?;
        let least = now.required_approvals.max(1);
        let body = json!({
            "required_approvals": least, "block_admin_merge_override": true, "apply_to_admins": true,
            "ignore_stale_approvals": true, "block_on_rejected_reviews": true,
        });
        self.raw.put(Method::PATCH, &path, Some(&body)).await?;
        let now: wire::Protection = self.raw.get(&path).await?;
        match (now.required_approvals > 0, now.binds_admins()) {
            (true, true) => Ok(Made::New),
            (false, _) => Err(ForgeError::Conflict(format!("the rule {rule} still requires no approval"))),
            (true, false) => Err(ForgeError::Conflict(format!(
                "the rule {rule} requires an approval, and this version of the forge cannot hold administrators to it"
            ))),
        }
    }

    /// Whether the rule exists and is as `ensure_approval` makes it.
    pub async fn requires_approval(&self, repo: &RepoRef, rule: &str) -> Result<bool> {
        let path = format!("{}/branch_protections/{}", base(repo), seg(rule));
        let found = self.raw.find::<wire::Protection>(&path).await?;
        Ok(found.is_some_and(|rule| rule.required_approvals > 0 && rule.binds_admins()))
    }

    /// Lets one account replace the branch's history until [`Gitea::ensure_protection`] is said again. The rule must exist. A forge that lets
    /// nobody past a rule (Gitea before 1.23, Forgejo) keeps it as it is: it has to be taken away meanwhile.
    pub async fn allow_force(&self, repo: &RepoRef, rule: &str, login: &str) -> Result<Unlocked> {
        let path = format!("{}/branch_protections/{}", base(repo), seg(rule));
        let body = json!({
            "enable_force_push": true, "enable_force_push_allowlist": true, "force_push_allowlist_usernames": [login],
            "force_push_allowlist_deploy_keys": false,
        });
        self.raw.put(Method::PATCH, &path, Some(&body)).await?;
        let now: Value = self.raw.get(&path).await?;
        if now["enable_force_push"] == true {
            return Ok(Unlocked::ByRule);
        }
        Ok(Unlocked::WithoutRule(now))
    }

    /// Takes this rule away, until [`Gitea::make_rule`] is said. A request that failed may have been carried out, so it is made again in either
    /// case.
    pub async fn take_rule_away(&self, repo: &RepoRef, rule: &str) {
        if let Err(error) = self.raw.delete(&format!("{}/branch_protections/{}", base(repo), seg(rule))).await {
            tracing::warn!(%error, rule, "whether the rule was taken away is not known");
        }
    }

    /// Makes the rule of this name again as the forge wrote it, where there is none now.
    pub async fn make_rule(&self, repo: &RepoRef, name: &str, rule: &Value) -> Result<RuleMade> {
        let path = format!("{}/branch_protections", base(repo));
        if let Some(now) = self.raw.find::<Value>(&format!("{path}/{}", seg(name))).await? {
            return Ok(RuleMade::Stands(now));
        }
        match self.raw.put(Method::POST, &path, Some(rule)).await {
            Ok(()) => Ok(RuleMade::New),
            Err(ForgeError::Invalid(why)) => Ok(RuleMade::Refused(why)),
            Err(error) => Err(error),
        }
    }

    /// Whether the rule exists as `ensure_protection` makes it.
    pub async fn is_protected(&self, repo: &RepoRef, rule: &str, pushers: &[&str]) -> Result<bool> {
        self.stands(repo, rule, pushers, false).await
    }

    /// Whether the rule exists as `ensure_own_branches` makes it.
    pub async fn are_own_branches(&self, repo: &RepoRef, rule: &str, login: &str) -> Result<bool> {
        self.stands(repo, rule, &[login], true).await
    }

    async fn stands(&self, repo: &RepoRef, rule: &str, pushers: &[&str], replace: bool) -> Result<bool> {
        let path = format!("{}/branch_protections/{}", base(repo), seg(rule));
        Ok(self.raw.find::<wire::Protection>(&path).await?.is_some_and(|p| guards(&p, pushers, replace)))
    }

    /// All hooks of the repository, without those of its organisation.
    pub async fn hooks(&self, repo: &RepoRef) -> Result<Vec<HookInfo>> {
        let found: Vec<wire::Hook> = self.raw.pages(&format!("{}/hooks", base(repo))).await?;
        let info = |h: wire::Hook| HookInfo {
            id: h.id,
            url: h.config.get("url").cloned().unwrap_or_default(),
            active: h.active,
            events: h.events,
            content_type: h.config.get("content_type").cloned().unwrap_or_default(),
            branch_filter: h.branch_filter,
        };
        Ok(found.into_iter().map(info).collect())
    }

    /// Sets one hook to `url`. Gitea cannot change a hook's secret, so an earlier one with the address is removed after the new one exists.
    pub async fn replace_hook(&self, repo: &RepoRef, url: &str, secret: &Secret) -> Result<HookInfo> {
        if secret.is_empty() {
            return Err(ForgeError::Invalid("a hook without a secret proves nothing".into()));
        }
        let before = self.hooks(repo).await?;
        let body = json!({
            "type": "gitea", "active": true, "events": HOOK_EVENTS, "branch_filter": "",
            "config": { "url": url, "content_type": "json", "secret": secret.expose() },
        });
        let made: wire::Hook = self.raw.write(Method::POST, &format!("{}/hooks", base(repo)), &body).await?;
        for old in before.iter().filter(|h| h.url == url) {
            self.raw.delete(&format!("{}/hooks/{}", base(repo), old.id)).await?;
        }
        let now = self.hooks(repo).await?;
        let found = now.into_iter().find(|h| h.id == made.id && h.active && h.url == url);
        found.ok_or_else(|| ForgeError::Protocol(format!("the hook of {repo} is not there, or not active")))
    }

    /// Removes every hook to `url`; no error if there is none.
    pub async fn remove_hook(&self, repo: &RepoRef, url: &str) -> Result<()> {
        for old in self.hooks(repo).await?.iter().filter(|h| h.url == url) {
            self.raw.delete(&format!("{}/hooks/{}", base(repo), old.id)).await?;
        }
        Ok(())
    }

    /// Asks the forge to send its test delivery through a hook.
    pub async fn test_hook(&self, repo: &RepoRef, id: i64) -> Result<()> {
        self.raw.put(Method::POST, &format!("{}/hooks/{id}/tests", base(repo)), None).await
    }
}

/// How a branch's history may be replaced.
#[derive(Debug, Clone, PartialEq)]
pub enum Unlocked {
    /// Its rule lets one account do it.
    ByRule,
    /// Once its rule is taken away ([`Gitea::take_rule_away`]); as the forge wrote it, for [`Gitea::make_rule`].
    WithoutRule(Value),
}

/// What became of a rule that was to be made again.
#[derive(Debug, Clone, PartialEq)]
pub enum RuleMade {
    /// There is this one of its name, as it was or another.
    Stands(Value),
    /// It stands again.
    New,
    /// The forge does not take what it wrote itself, for this reason.
    Refused(String),
}

/// Whether a rule may hold for a branch of another one: of equal priority the name of a branch comes before a pattern, and of two patterns the
/// older one. Two are taken to meet unless what they begin with tells them apart.
fn comes_before(other: &wire::Protection, own: &wire::Protection) -> bool {
    let special = ['*', '?', '[', '{', '\\'];
    let begins = |rule: &wire::Protection| {
        let plain = rule.rule_name.split(special).next().unwrap_or_default().to_lowercase();
        (plain, rule.rule_name.contains(special))
    };
    let ((one, is_pattern), (two, own_is_pattern)) = (begins(other), begins(own));
    let meet = match (is_pattern, own_is_pattern) {
        (false, false) => one == two,
        (true, false) => two.starts_with(&one),
        (false, true) => one.starts_with(&two),
        (true, true) => one.starts_with(&two) || two.starts_with(&one),
    };
    let is_older = other.created_at.is_empty() || other.created_at <= own.created_at;
    let order = |rule: &wire::Protection| rule.priority.unwrap_or_default();
    let first = match order(other).cmp(&order(own)) {
        Ordering::Less => true,
        Ordering::Greater => false,
        Ordering::Equal => match (is_pattern, own_is_pattern) {
            (false, true) => true,
            (true, false) => false,
            (false, false) | (true, true) => is_older,
        },
    };
    meet && first
}

/// Whether a rule lets these accounts push and nobody else, and whether they, or nobody, may `replace` what is there.
fn guards(rule: &wire::Protection, pushers: &[&str], replace: bool) -> bool {
    let is_among = |names: &[String], login: &str| names.iter().any(|n| n.eq_ignore_ascii_case(login));
    let force = match (replace, rule.enable_force_push) {
        // This forge knows no such switch, and lets nobody.
        (_, None) => true,
        (false, Some(forced)) => !forced,
        // Only whoever may push may replace as well, whatever else that list names.
        (true, Some(forced)) => {
            forced
                && rule.enable_force_push_allowlist
                && !rule.force_push_allowlist_deploy_keys
                && pushers.iter().all(|p| is_among(&rule.force_push_allowlist_usernames, p))
        }
    };
    rule.enable_push
        && rule.enable_push_whitelist
        && force
        && rule.push_whitelist_teams.is_empty()
        && !rule.push_whitelist_deploy_keys
        && rule.unprotected_file_patterns.trim().is_empty()
        && rule.push_whitelist_usernames.len() == pushers.len()
        && pushers.iter().all(|p| is_among(&rule.push_whitelist_usernames, p))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_may_hold_in_anothers_place_is_known() {
        let rule = |name: &str, priority, day| wire::Protection {
            rule_name: name.to_owned(),
            priority: Some(priority),
            created_at: format!("2026-11-{day:02}T00:00:00Z"),
            ..wire::Protection::default()
        };
        for (other, own, before) in [
            (rule("agent**", 0, 1), "agent/**", true),
            (rule("*/*-fix", 0, 1), "agent/**", true),
            (rule("agent/1*", 0, 1), "agent/**", true),
            (rule("agent/1*", 0, 9), "agent/**", false),
            (rule("agent/1*", -1, 9), "agent/**", true),
            (rule("agent/1-x", 0, 9), "agent/**", true),
            (rule("release/*", 0, 1), "agent/**", false),
            (rule("main", 0, 1), "agent/**", false),
            (rule("m*", 0, 1), "main", false),
            (rule("m*", -1, 9), "main", true),
            (rule("Main", 0, 1), "main", true),
            (rule("agent/**", 0, 1), "main", false),
        ] {
            let name = other.rule_name.clone();
            assert_eq!(comes_before(&other, &rule(own, 0, 5)), before, "{name} before {own}");
        }
    }

    #[test]
    fn a_rule_lets_its_account_replace_history_or_nobody() {
        let rule = |force: serde_json::Value| -> wire::Protection {
            let mut rule = json!({
                "rule_name": "agent/**", "enable_push": true, "enable_push_whitelist": true,
                "push_whitelist_usernames": ["caisson"], "push_whitelist_teams": null,
            });
            rule.as_object_mut().unwrap().extend(force.as_object().unwrap().clone());
            serde_json::from_value(rule).unwrap()
        };
        let listed = |users: &[&str], keys: bool| {
            rule(json!({
                "enable_force_push": true, "enable_force_push_allowlist": true,
                "force_push_allowlist_usernames": users, "force_push_allowlist_deploy_keys": keys,
            }))
        };
        let of = |rule: &wire::Protection| [false, true].map(|replace| guards(rule, &["caisson"], replace));
        assert_eq!(of(&rule(json!({ "enable_force_push": false }))), [true, false]);
        assert_eq!(of(&listed(&["Caisson"], false)), [false, true]);
        assert_eq!(of(&listed(&["alice"], false)), [false, false]);
        assert_eq!(of(&listed(&["caisson"], true)), [false, false], "by a key");
        assert_eq!(of(&rule(json!({ "enable_force_push": true }))), [false, false], "by any key that may write");
        assert_eq!(of(&rule(json!({}))), [true, true], "a forge without the switch");
    }
}
