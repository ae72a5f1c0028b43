//! Repositories, permissions, labels, hooks, keys, protection, branches and statuses.

use super::parts::{hook_json, new_hook, new_label};
use super::{App, Caller, ListQuery, created, no_content, text};
use crate::git;
use crate::teams::access_word;
use crate::world::{Access, Result, Status, World, refuse};
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

type RepoPath = Path<(String, String)>;

pub(crate) async fn get(State(app): App, caller: Caller, Path((o, r)): RepoPath) -> Result<Json<Value>> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    Ok(Json(world.repo_json(&world.repos[at], caller.login.as_deref())))
}

pub(crate) async fn edit(
    State(app): App,
    caller: Caller,
    Path((o, r)): RepoPath,
    Json(body): Json<Value>,
) -> Result<Json<Value>> {
    let mut world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Admin)?;
    let repo = &mut world.repos[at];
    let new_name = text(&body, "name").to_owned();
    let renamed = !new_name.is_empty() && new_name != repo.name;
    let flag = |name: &str| body.get(name).and_then(Value::as_bool);
    repo.has_actions = flag("has_actions").unwrap_or(repo.has_actions);
    repo.has_issues = flag("has_issues").unwrap_or(repo.has_issues);
    repo.has_pulls = flag("has_pull_requests").unwrap_or(repo.has_pulls);
    repo.private = flag("private").unwrap_or(repo.private);
    if !text(&body, "default_branch").is_empty() {
        text(&body, "default_branch").clone_into(&mut repo.default_branch);
    }
    if renamed {
        let owner = world.repos[at].owner.clone();
        crate::faults::move_to(&app, &mut world, at, (&owner, &new_name))?;
    }
    Ok(Json(world.repo_json(&world.repos[at], caller.login.as_deref())))
}

pub(crate) async fn delete(State(app): App, caller: Caller, Path((o, r)): RepoPath) -> Result<Response> {
    let mut world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Owner)?;
    world.repos.remove(at);
    Ok(no_content())
}

pub(crate) async fn collaborators(
    State(app): App,
    caller: Caller,
    Path((o, r)): RepoPath,
    Query(query): Query<ListQuery>,
) -> Result<Response> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    let logins = world.repos[at].collaborators.keys();
    Ok(query.page(logins.filter_map(|l| world.find_account(l)).map(|a| world.account_json(a)).collect()))
}

pub(crate) async fn add_collaborator(
    State(app): App,
    caller: Caller,
    Path((o, r, login)): Path<(String, String, String)>,
    Json(body): Json<Value>,
) -> Result<Response> {
    let mut world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Admin)?;
    let login = world.account(&login)?.login.clone();
    let access = match text(&body, "permission") {
        "read" => Access::Read,
        "admin" => Access::Admin,
        _ => Access::Write,
    };
    world.repos[at].collaborators.insert(login, access);
    Ok(no_content())
}

pub(crate) async fn remove_collaborator(
    State(app): App,
    caller: Caller,
    Path((o, r, login)): Path<(String, String, String)>,
) -> Result<Response> {
    let mut world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Admin)?;
    world.repos[at].collaborators.remove(&login);
    Ok(no_content())
}

/// Permission of oneself, or of others for a repository's admin; only the coarse mode, as in Gitea.
pub(crate) async fn permission(
    State(app): App,
    caller: Caller,
    Path((o, r, login)): Path<(String, String, String)>,
) -> Result<Json<Value>> {
    let world = app.world();
    let (_, own) = caller.signed_in(&world)?;
    let need = if own.eq_ignore_ascii_case(&login) { Access::Read } else { Access::Admin };
    let (at, _) = caller.at(&world, &o, &r, need)?;
    let account = world.account(&login)?;
    let word = access_word(world.told_access(&world.repos[at], Some(&account.login)));
    Ok(Json(json!({ "permission": word, "role_name": word, "user": world.account_json(account) })))
}

pub(crate) async fn labels(
    State(app): App,
    caller: Caller,
    Path((o, r)): RepoPath,
    Query(query): Query<ListQuery>,
) -> Result<Response> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    Ok(query.page(world.repos[at].labels.iter().map(|l| world.label_json(l)).collect()))
}

pub(crate) async fn create_label(
    State(app): App,
    caller: Caller,
    Path((o, r)): RepoPath,
    Json(body): Json<Value>,
) -> Result<Response> {
    let mut world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Write)?;
    let label = new_label(&mut world, &body)?;
    let value = world.label_json(&label);
    world.repos[at].labels.push(label);
    Ok(created(value))
}

pub(crate) async fn edit_label(
    State(app): App,
    caller: Caller,
    Path((o, r, id)): Path<(String, String, i64)>,
    Json(body): Json<Value>,
) -> Result<Json<Value>> {
    let mut world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Write)?;
    let Some(label) = world.repos[at].labels.iter_mut().find(|label| label.id == id) else {
        return refuse(404, "The target couldn't be found.");
    };
    label.exclusive = body.get("exclusive").and_then(Value::as_bool).unwrap_or(label.exclusive);
    let label = label.clone();
    Ok(Json(world.label_json(&label)))
}

pub(crate) async fn hooks(
    State(app): App,
    caller: Caller,
    Path((o, r)): RepoPath,
    Query(query): Query<ListQuery>,
) -> Result<Response> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Admin)?;
    Ok(query.page(world.repos[at].hooks.iter().map(hook_json).collect()))
}

pub(crate) async fn create_hook(
    State(app): App,
    caller: Caller,
    Path((o, r)): RepoPath,
    Json(body): Json<Value>,
) -> Result<Response> {
    let mut world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Admin)?;
    let hook = new_hook(&mut world, &body)?;
    let value = hook_json(&hook);
    world.repos[at].hooks.push(hook);
    Ok(created(value))
}

pub(crate) async fn delete_hook(
    State(app): App,
    caller: Caller,
    Path((o, r, id)): Path<(String, String, i64)>,
) -> Result<Response> {
    let mut world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Admin)?;
    let before = world.repos[at].hooks.len();
    world.repos[at].hooks.retain(|h| h.id != id);
    if world.repos[at].hooks.len() == before { refuse(404, "hook does not exist") } else { Ok(no_content()) }
}

pub(crate) async fn test_hook(
    State(app): App,
    caller: Caller,
    Path((o, r, id)): Path<(String, String, i64)>,
) -> Result<Response> {
    let world = app.world();
    let (at, actor) = caller.at(&world, &o, &r, Access::Admin)?;
    if world.repos[at].is_empty() {
        return refuse(404, "repository is empty");
    }
    match world.repos[at].hooks.iter().find(|h| h.id == id) {
        Some(hook) => world.emit_test(at, hook, actor),
        None => return refuse(404, "hook does not exist"),
    }
    Ok(no_content())
}

pub(crate) async fn keys(
    State(app): App,
    caller: Caller,
    Path((o, r)): RepoPath,
    Query(q): Query<ListQuery>,
) -> Result<Response> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Admin)?;
    Ok(q.page(
        world.repos[at].keys.iter().map(|(id, title)| json!({ "id": id, "title": title, "read_only": true })).collect(),
    ))
}

pub(crate) async fn create_key(
    State(app): App,
    caller: Caller,
    Path((o, r)): RepoPath,
    Json(body): Json<Value>,
) -> Result<Response> {
    let mut world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Admin)?;
    let id = world.id();
    let title = text(&body, "title").to_owned();
    world.repos[at].keys.push((id, title.clone()));
    Ok(created(json!({ "id": id, "title": title, "read_only": true })))
}

pub(crate) async fn push_mirrors(State(app): App, caller: Caller, Path((o, r)): RepoPath) -> Result<Json<Value>> {
    caller.at(&app.world(), &o, &r, Access::Admin)?;
    Ok(Json(json!([])))
}

pub(crate) async fn protections(State(app): App, caller: Caller, Path((o, r)): RepoPath) -> Result<Json<Value>> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Admin)?;
    Ok(Json(world.repos[at].protections.iter().cloned().map(Value::Object).collect()))
}

pub(crate) async fn create_protection(
    State(app): App,
    caller: Caller,
    Path((o, r)): RepoPath,
    Json(mut body): Json<Map<String, Value>>,
) -> Result<Response> {
    let mut world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Admin)?;
    let name = body.get("rule_name").and_then(Value::as_str).unwrap_or_default().to_owned();
    if name.is_empty() {
        return refuse(422, "rule_name is required");
    }
    if world.repos[at].protections.iter().any(|p| rule_name(p) == name) {
        return refuse(403, "Branch protection already exist");
    }
    drop_powerless(&world, at, &mut body)?;
    for switch in ["enable_push", "enable_push_whitelist", "enable_force_push", "enable_force_push_allowlist"] {
        body.entry(switch).or_insert(Value::Bool(false));
    }
    // As Gitea does since 1.23 (`models/git/protected_branch.go`): behind all others, unless it says where.
    if body.get("priority").and_then(Value::as_i64).unwrap_or_default() == 0 {
        let last = world.repos[at].protections.iter().map(priority).max().unwrap_or_default();
        body.insert("priority".to_owned(), json!(last + 1));
    }
    world.repos[at].protections.push(body.clone());
    Ok(created(Value::Object(body)))
}

/// Silently drops listed users without write access, as Gitea does; one that does not exist is refused.
fn drop_powerless(world: &World, at: usize, body: &mut Map<String, Value>) -> Result<()> {
    for list in ["push_whitelist_usernames", "force_push_allowlist_usernames"] {
        let Some(Value::Array(names)) = body.get_mut(list) else { continue };
        let mut logins = names.iter().filter_map(Value::as_str);
        if let Some(unknown) = logins.find(|login| world.find_account(login).is_none()) {
            return refuse(422, format!("user does not exist [uid: 0, name: {unknown}]"));
        }
        names.retain(|n| n.as_str().is_some_and(|login| world.access(&world.repos[at], Some(login)) >= Access::Write));
    }
    Ok(())
}

/// Of several rules that match a branch the one with the lowest number holds.
fn priority(rule: &Map<String, Value>) -> i64 {
    rule.get("priority").and_then(Value::as_i64).unwrap_or_default()
}

fn rule_name(rule: &Map<String, Value>) -> &str {
    rule.get("rule_name").and_then(Value::as_str).unwrap_or_default()
}

pub(crate) async fn protection(
    State(app): App,
    caller: Caller,
    Path((o, r, name)): Path<(String, String, String)>,
) -> Result<Json<Value>> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Admin)?;
    match world.repos[at].protections.iter().find(|p| rule_name(p) == name) {
        Some(rule) => Ok(Json(Value::Object(rule.clone()))),
        None => refuse(404, "The target couldn't be found."),
    }
}

pub(crate) async fn edit_protection(
    State(app): App,
    caller: Caller,
    Path((o, r, name)): Path<(String, String, String)>,
    Json(mut body): Json<Map<String, Value>>,
) -> Result<Json<Value>> {
    let mut world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Admin)?;
    drop_powerless(&world, at, &mut body)?;
    let Some(rule) = world.repos[at].protections.iter_mut().find(|p| rule_name(p) == name) else {
        return refuse(404, "The target couldn't be found.");
    };
    rule.extend(body);
    Ok(Json(Value::Object(rule.clone())))
}

pub(crate) async fn delete_protection(
    State(app): App,
    caller: Caller,
    Path((o, r, name)): Path<(String, String, String)>,
) -> Result<Response> {
    let mut world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Admin)?;
    let before = world.repos[at].protections.len();
    world.repos[at].protections.retain(|rule| rule_name(rule) != name);
    if world.repos[at].protections.len() == before {
        return refuse(404, "The target couldn't be found.");
    }
    Ok(no_content())
}

/// Whether the branch rules keep `login` from writing `reference`.
pub(crate) fn is_denied(world: &World, at: usize, login: &str, reference: &str) -> bool {
    let Some(branch) = reference.strip_prefix("refs/heads/") else { return false };
    let Some(rule) = rule_of(&world.repos[at].protections, branch) else { return false };
    let named = is_listed(rule, "push_whitelist_usernames", login);
    let teams = rule.get("push_whitelist_teams").and_then(Value::as_array);
    let by_team =
        teams.is_some_and(|teams| teams.iter().filter_map(Value::as_str).any(|team| world.is_in_team(at, team, login)));
    !flag(rule, "enable_push") || (flag(rule, "enable_push_whitelist") && !named && !by_team)
}

/// Whether the branch rules let `login` move `reference` forward alone, as Gitea does: without a switch for it nobody replaces what is there.
pub(crate) fn only_forward(world: &World, at: usize, login: &str, reference: &str) -> bool {
    let Some(branch) = reference.strip_prefix("refs/heads/") else { return false };
    let Some(rule) = rule_of(&world.repos[at].protections, branch) else { return false };
    let listed = is_listed(rule, "force_push_allowlist_usernames", login);
    !flag(rule, "enable_force_push") || flag(rule, "enable_force_push_allowlist") && !listed
}

/// Whether nobody may delete `reference`: the default branch, or one that a rule is about, whoever may push to it.
pub(crate) fn is_kept(world: &World, at: usize, _: &str, reference: &str) -> bool {
    let Some(branch) = reference.strip_prefix("refs/heads/") else { return false };
    let repo = &world.repos[at];
    branch == repo.default_branch || rule_of(&repo.protections, branch).is_some()
}

fn flag(rule: &Map<String, Value>, name: &str) -> bool {
    rule.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// Whether a list of the rule names this account.
fn is_listed(rule: &Map<String, Value>, list: &str, login: &str) -> bool {
    let names = rule.get(list).and_then(Value::as_array);
    names.is_some_and(|names| names.iter().any(|name| name.as_str() == Some(login)))
}

/// The rule of a branch: the first of those that match it; of the same priority an exact one takes precedence over a pattern.
fn rule_of<'a>(rules: &'a [Map<String, Value>], branch: &str) -> Option<&'a Map<String, Value>> {
    let matching = rules.iter().filter(|rule| rule_name(rule) == branch || pattern(rule_name(rule), branch));
    matching.min_by_key(|rule| (priority(rule), rule_name(rule) != branch))
}

/// How many official approvals a merge into the branch takes.
pub(crate) fn required_approvals(world: &World, at: usize, branch: &str) -> u64 {
    let rule = rule_of(&world.repos[at].protections, branch);
    rule.and_then(|rule| rule.get("required_approvals")?.as_u64()).unwrap_or(0)
}

/// Whether an official rejection holds a merge into the branch back.
pub(crate) fn blocks_on_rejection(world: &World, at: usize, branch: &str) -> bool {
    rule_of(&world.repos[at].protections, branch).is_some_and(|rule| flag(rule, "block_on_rejected_reviews"))
}

/// Whether each context that the branch's rule requires has `success` as its newest status at the commit.
pub(crate) fn required_statuses_pass(world: &World, at: usize, branch: &str, commit: &str) -> bool {
    let repo = &world.repos[at];
    let Some(rule) = rule_of(&repo.protections, branch) else { return true };
    if rule.get("enable_status_check").and_then(Value::as_bool) != Some(true) {
        return true;
    }
    let wanted = rule.get("status_check_contexts").and_then(Value::as_array).into_iter().flatten();
    wanted.filter_map(Value::as_str).all(|context| {
        let of = repo.statuses.iter().filter(|status| status.sha == commit && status.context == context);
        of.max_by_key(|status| status.id).is_some_and(|newest| newest.state == "success")
    })
}

/// `prefix/**` and `prefix/*`, the only patterns that our rules use.
fn pattern(rule: &str, branch: &str) -> bool {
    match rule.strip_suffix("**") {
        Some(prefix) => branch.starts_with(prefix),
        None => rule.strip_suffix('*').and_then(|p| branch.strip_prefix(p)).is_some_and(|rest| !rest.contains('/')),
    }
}

pub(crate) async fn branch(
    State(app): App,
    caller: Caller,
    Path((o, r, name)): Path<(String, String, String)>,
) -> Result<Json<Value>> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    match world.repos[at].refs.get(&format!("refs/heads/{name}")) {
        Some(sha) => {
            let login = caller.login.clone().unwrap_or_default();
            let writes = world.access(&world.repos[at], caller.login.as_deref()) >= Access::Write;
            Ok(Json(json!({
                "name": name, "commit": { "id": sha }, "user_can_merge": writes,
                "protected": rule_of(&world.repos[at].protections, &name).is_some(),
                "required_approvals": required_approvals(&world, at, &name),
                "user_can_push": writes && !is_denied(&world, at, &login, &format!("refs/heads/{name}")),
            })))
        }
        None => refuse(404, "The target couldn't be found."),
    }
}

pub(crate) async fn statuses(
    State(app): App,
    caller: Caller,
    Path((o, r, sha)): Path<(String, String, String)>,
    Query(query): Query<ListQuery>,
) -> Result<Response> {
    let world = app.world();
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    let repo = &world.repos[at];
    let mut found: Vec<&Status> = repo.statuses.iter().filter(|s| s.sha == sha).collect();
    // Newest second first; within a second in arbitrary order, as on a real forge.
    found.sort_by_key(|s| (std::cmp::Reverse(s.created), s.id));
    Ok(query.page(found.into_iter().map(|s| world.status_json(repo, s)).collect()))
}

pub(crate) async fn create_status(
    State(app): App,
    caller: Caller,
    Path((o, r, sha)): Path<(String, String, String)>,
    Json(body): Json<Value>,
) -> Result<Response> {
    caller.at(&app.world(), &o, &r, Access::Write)?;
    if !git::has_commit(&git::path(&app.root, &o, &r), &sha).await {
        // Gitea's answer for an unknown commit.
        return refuse(500, "");
    }
    let mut world = app.world();
    let (at, author) = caller.at(&world, &o, &r, Access::Write)?;
    let field = |name: &str| text(&body, name).to_owned();
    let status = Status {
        id: world.id(),
        sha,
        state: field("state"),
        context: field("context"),
        description: field("description"),
        target_url: field("target_url"),
        author,
        created: world.now(),
    };
    world.emit_status(at, &status);
    world.repos[at].statuses.push(status);
    let repo = &world.repos[at];
    Ok(created(repo.statuses.last().map_or(Value::Null, |s| world.status_json(repo, s))).into_response())
}
