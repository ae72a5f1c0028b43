//! Gitea's JSON, with fields as optional as in Gitea's own code. Unknown fields are ignored.
//! Source: `modules/structs` at v1.25.4, checked against recorded answers. No behaviour.

use serde::{Deserialize, Deserializer};

/// Reads `null` as the default, because Gitea writes `null` for empty lists.
pub(super) fn null_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(d: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(d)?.unwrap_or_default())
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct User {
    #[serde(default)]
    pub id: i64,
    #[serde(default)]
    pub login: String,
}

/// What a search for accounts finds.
#[derive(Debug, Deserialize)]
pub(super) struct Users {
    #[serde(default, deserialize_with = "null_default")]
    pub data: Vec<User>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Repo {
    pub id: i64,
    pub name: String,
    #[serde(default)]
    pub full_name: String,
    #[serde(default)]
    pub default_branch: String,
    #[serde(default)]
    pub empty: bool,
    #[serde(default)]
    pub private: bool,
    #[serde(default)]
    pub archived: bool,
    #[serde(default)]
    pub clone_url: String,
    #[serde(default)]
    pub html_url: String,
    #[serde(default)]
    pub has_actions: bool,
    #[serde(default)]
    pub allow_merge_commits: bool,
    #[serde(default)]
    pub allow_squash_merge: bool,
    #[serde(default)]
    pub allow_rebase_explicit: bool,
    #[serde(default)]
    pub allow_rebase: bool,
    #[serde(default)]
    pub allow_fast_forward_only_merge: bool,
    pub created_at: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Issue {
    pub id: i64,
    pub number: u64,
    #[serde(default)]
    pub title: String,
    #[serde(default, deserialize_with = "null_default")]
    pub body: String,
    pub user: Option<User>,
    /// Who wrote it elsewhere, where an import brought it; `user` is then who imported it.
    #[serde(default, deserialize_with = "null_default")]
    pub original_author: String,
    #[serde(default, deserialize_with = "null_default")]
    pub original_author_id: i64,
    #[serde(default)]
    pub state: String,
    pub created_at: Option<String>,
    pub updated_at: Option<String>,
    #[serde(default)]
    pub html_url: String,
    pub pull_request: Option<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Asset {
    pub uuid: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub size: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Label {
    pub id: i64,
    pub name: String,
    #[serde(default)]
    pub exclusive: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Comment {
    pub id: i64,
    #[serde(default)]
    pub html_url: String,
    #[serde(default)]
    pub issue_url: String,
    #[serde(default)]
    pub pull_request_url: String,
    pub user: Option<User>,
    /// As of an issue.
    #[serde(default, deserialize_with = "null_default")]
    pub original_author: String,
    #[serde(default, deserialize_with = "null_default")]
    pub original_author_id: i64,
    #[serde(default)]
    pub body: String,
    pub created_at: Option<String>,
    pub updated_at: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Pull {
    pub id: i64,
    pub number: u64,
    #[serde(default)]
    pub title: String,
    #[serde(default, deserialize_with = "null_default")]
    pub body: String,
    #[serde(default)]
    pub state: String,
    #[serde(default)]
    pub merged: bool,
    pub merged_by: Option<User>,
    #[serde(default)]
    pub draft: bool,
    pub user: Option<User>,
    #[serde(default)]
    pub html_url: String,
    pub head: Option<PullEnd>,
    pub base: Option<PullEnd>,
    pub created_at: Option<String>,
    pub updated_at: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PullEnd {
    /// The branch's name, even after the branch was deleted (when `ref` becomes `refs/pull/N/head`).
    #[serde(default)]
    pub label: String,
    #[serde(default, rename = "ref")]
    pub reference: String,
    #[serde(default)]
    pub sha: String,
    pub repo: Option<Repo>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Review {
    pub id: i64,
    pub user: Option<User>,
    #[serde(default)]
    pub state: String,
    #[serde(default)]
    pub dismissed: bool,
    #[serde(default)]
    pub body: String,
    #[serde(default)]
    pub commit_id: String,
    pub submitted_at: Option<String>,
    pub updated_at: Option<String>,
    #[serde(default)]
    pub comments_count: u32,
    #[serde(default)]
    pub html_url: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Status {
    #[serde(default)]
    pub id: i64,
    #[serde(default)]
    pub context: String,
    #[serde(default)]
    pub status: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub target_url: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Branch {
    pub commit: Option<BranchCommit>,
    #[serde(default)]
    pub protected: bool,
    #[serde(default)]
    pub required_approvals: u64,
    /// Without the field it counts as true, which a merge is refused for.
    #[serde(default = "may")]
    pub user_can_push: bool,
    #[serde(default)]
    pub user_can_merge: bool,
}

fn may() -> bool {
    true
}

#[derive(Debug, Deserialize)]
pub(super) struct BranchCommit {
    pub id: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Hook {
    pub id: i64,
    #[serde(default)]
    pub active: bool,
    #[serde(default, deserialize_with = "null_default")]
    pub config: std::collections::HashMap<String, String>,
    #[serde(default, deserialize_with = "null_default")]
    pub events: Vec<String>,
    #[serde(default)]
    pub branch_filter: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct DeployKey {
    #[serde(default)]
    pub id: i64,
    #[serde(default)]
    pub title: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct PushMirror {
    #[serde(default)]
    pub remote_address: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Permission {
    #[serde(default)]
    pub permission: String,
    pub user: Option<User>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Team {
    pub id: i64,
    #[serde(default)]
    pub name: String,
    /// The general mode: `none` below admin since 1.24, whatever the units are.
    #[serde(default)]
    pub permission: String,
    #[serde(default, deserialize_with = "null_default")]
    pub units_map: std::collections::HashMap<String, String>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct Protection {
    pub rule_name: String,
    pub enable_push: bool,
    pub enable_push_whitelist: bool,
    #[serde(deserialize_with = "null_default")]
    pub push_whitelist_usernames: Vec<String>,
    #[serde(deserialize_with = "null_default")]
    pub push_whitelist_teams: Vec<String>,
    pub push_whitelist_deploy_keys: bool,
    /// Files that whoever writes may push past the list, as patterns with semicolons.
    pub unprotected_file_patterns: String,
    /// Since 1.23; without the field nobody may.
    pub enable_force_push: Option<bool>,
    pub enable_force_push_allowlist: bool,
    #[serde(deserialize_with = "null_default")]
    pub force_push_allowlist_usernames: Vec<String>,
    pub force_push_allowlist_deploy_keys: bool,
    /// Of several rules that match a branch the one with the lowest number holds; since 1.23.
    pub priority: Option<i64>,
    /// As the forge writes a time.
    pub created_at: String,
    #[serde(default)]
    pub required_approvals: u64,
    /// Gitea's word, since 1.23.
    #[serde(default)]
    pub block_admin_merge_override: bool,
    /// Forgejo's word for it.
    #[serde(default)]
    pub apply_to_admins: bool,
}

impl Protection {
    /// Whether administrators may not merge past the rule either.
    pub fn binds_admins(&self) -> bool {
        self.block_admin_merge_override || self.apply_to_admins
    }
}

/// An entry of a timeline, with the fields needed for edited reviews, assignments and labels.
#[derive(Debug, Deserialize)]
pub(super) struct Shown {
    pub id: i64,
    #[serde(default, rename = "type")]
    pub kind: String,
    pub user: Option<User>,
    /// Of a label `1` where it was added, otherwise empty.
    #[serde(default, deserialize_with = "null_default")]
    pub body: String,
    pub label: Option<Label>,
    pub assignee: Option<User>,
    #[serde(default)]
    pub removed_assignee: bool,
    pub created_at: Option<String>,
    pub updated_at: Option<String>,
}
