//! Accounts, tokens and organisations.

use super::parts::{hook_json, new_hook, new_label};
use super::{App, Caller, created, no_content, text};
use crate::world::{Result, World, refuse};
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) async fn version() -> Json<Value> {
    Json(json!({ "version": "1.25.4+devforge" }))
}

pub(crate) async fn me(State(app): App, caller: Caller) -> Result<Json<Value>> {
    let world = app.world();
    let (id, _) = caller.signed_in(&world)?;
    Ok(Json(world.user_json(id)))
}

pub(crate) async fn user(State(app): App, Path(login): Path<String>) -> Result<Json<Value>> {
    let world = app.world();
    Ok(Json(world.account_json(world.account(&login)?)))
}

#[derive(Deserialize)]
pub(crate) struct UserSearch {
    uid: i64,
}

/// The account with this id, which is all that is searched for here.
pub(crate) async fn search(State(app): App, caller: Caller, Query(asked): Query<UserSearch>) -> Result<Json<Value>> {
    let world = app.world();
    caller.signed_in(&world)?;
    let found = world.accounts.iter().filter(|account| account.id == asked.uid && account.owners.is_none());
    let data: Vec<Value> = found.map(|account| world.account_json(account)).collect();
    Ok(Json(json!({ "ok": true, "data": data })))
}

pub(crate) async fn create_user(State(app): App, caller: Caller, Json(body): Json<Value>) -> Result<Response> {
    let mut world = app.world();
    caller.admin(&world)?;
    let id = world.add_account(text(&body, "username"), text(&body, "password"), false)?;
    Ok(created(world.user_json(id)))
}

pub(crate) async fn edit_user(
    State(app): App,
    caller: Caller,
    Path(login): Path<String>,
    Json(body): Json<Value>,
) -> Result<Json<Value>> {
    let mut world = app.world();
    caller.admin(&world)?;
    let account = world.account_mut(&login)?;
    if !text(&body, "password").is_empty() {
        text(&body, "password").clone_into(&mut account.password);
    }
    let id = account.id;
    Ok(Json(world.user_json(id)))
}

pub(crate) async fn rename_user(
    State(app): App,
    caller: Caller,
    Path(login): Path<String>,
    Json(body): Json<Value>,
) -> Result<Response> {
    let mut world = app.world();
    caller.admin(&world)?;
    world.rename_account(&login, text(&body, "new_username"))?;
    Ok(no_content())
}

/// The account whose tokens are managed, which requires the account's own password, as on a real Gitea.
fn token_owner(world: &World, caller: &Caller, login: &str) -> Result<String> {
    let (_, own) = caller.signed_in(world)?;
    if !caller.by_password || !own.eq_ignore_ascii_case(login) {
        return refuse(401, "auth method not allowed");
    }
    Ok(own)
}

pub(crate) async fn create_token(
    State(app): App,
    caller: Caller,
    Path(login): Path<String>,
    Json(body): Json<Value>,
) -> Result<Response> {
    let mut world = app.world();
    let own = token_owner(&world, &caller, &login)?;
    let scopes: Vec<String> =
        body.get("scopes").and_then(|s| serde_json::from_value(s.clone()).ok()).unwrap_or_default();
    if scopes.is_empty() {
        return refuse(400, "access token must have a scope");
    }
    let token = world.add_token(&own, text(&body, "name"), scopes)?;
    Ok(created(json!({
        "id": token.id, "name": token.name, "sha1": token.value, "token_last_eight": &token.value[32..], "scopes": token.scopes,
    })))
}

pub(crate) async fn tokens(State(app): App, caller: Caller, Path(login): Path<String>) -> Result<Json<Value>> {
    let world = app.world();
    let own = token_owner(&world, &caller, &login)?;
    let list = world.account(&own)?.tokens.iter();
    Ok(Json(list.map(|t| json!({ "id": t.id, "name": t.name, "sha1": "", "scopes": t.scopes })).collect()))
}

pub(crate) async fn delete_token(
    State(app): App,
    caller: Caller,
    Path((login, name)): Path<(String, String)>,
) -> Result<Response> {
    let mut world = app.world();
    let own = token_owner(&world, &caller, &login)?;
    let tokens = &mut world.account_mut(&own)?.tokens;
    let Some(at) = tokens.iter().position(|t| t.name == name || t.id.to_string() == name) else {
        return refuse(404, "token does not exist");
    };
    tokens.remove(at);
    Ok(no_content())
}

fn org_json(world: &World, login: &str) -> Result<Value> {
    let org = world.account(login)?;
    if org.owners.is_none() {
        return refuse(404, "organization does not exist");
    }
    Ok(json!({
        "id": org.id, "name": org.login, "username": org.login, "full_name": "", "email": "", "avatar_url": "",
        "description": "", "website": "", "location": "", "visibility": "private", "repo_admin_change_team_access": true,
    }))
}

pub(crate) async fn create_org_for(
    State(app): App,
    caller: Caller,
    Path(owner): Path<String>,
    Json(body): Json<Value>,
) -> Result<Response> {
    let mut world = app.world();
    caller.admin(&world)?;
    world.add_organisation(text(&body, "username"), &owner)?;
    Ok(created(org_json(&world, text(&body, "username"))?))
}

pub(crate) async fn org(State(app): App, Path(login): Path<String>) -> Result<Json<Value>> {
    Ok(Json(org_json(&app.world(), &login)?))
}

/// 204 for a member, 404 for anybody else.
pub(crate) async fn org_member(State(app): App, Path((login, member)): Path<(String, String)>) -> Result<Response> {
    let world = app.world();
    let owners = world.account(&login)?.owners.clone().unwrap_or_default();
    if owners.iter().any(|o| o.eq_ignore_ascii_case(&member)) { Ok(no_content()) } else { refuse(404, "") }
}

pub(crate) fn owns(world: &World, caller: &Caller, org: &str) -> Result<()> {
    let (_, login) = caller.signed_in(world)?;
    let owners = world.account(org)?.owners.clone().unwrap_or_default();
    if owners.contains(&login) || world.account(&login)?.admin {
        Ok(())
    } else {
        refuse(403, "must be an organization owner")
    }
}

pub(crate) async fn org_labels(
    State(app): App,
    Path(login): Path<String>,
    Query(query): Query<super::ListQuery>,
) -> Result<Response> {
    let world = app.world();
    org_json(&world, &login)?;
    Ok(query.page(world.account(&login)?.labels.iter().map(|l| world.label_json(l)).collect()))
}

pub(crate) async fn create_org_label(
    State(app): App,
    caller: Caller,
    Path(login): Path<String>,
    Json(body): Json<Value>,
) -> Result<Response> {
    let mut world = app.world();
    owns(&world, &caller, &login)?;
    let label = new_label(&mut world, &body)?;
    let value = world.label_json(&label);
    world.account_mut(&login)?.labels.push(label);
    Ok(created(value))
}

pub(crate) async fn org_hooks(
    State(app): App,
    caller: Caller,
    Path(org): Path<String>,
    Query(query): Query<super::ListQuery>,
) -> Result<Response> {
    let world = app.world();
    org_json(&world, &org)?;
    owns(&world, &caller, &org)?;
    Ok(query.page(world.account(&org)?.hooks.iter().map(hook_json).collect()))
}

/// Hooks of the caller's account; those of others are shown to nobody.
pub(crate) async fn own_hooks(
    State(app): App,
    caller: Caller,
    Query(query): Query<super::ListQuery>,
) -> Result<Response> {
    let world = app.world();
    let (_, login) = caller.signed_in(&world)?;
    Ok(query.page(world.account(&login)?.hooks.iter().map(hook_json).collect()))
}

pub(crate) async fn create_org_hook(
    State(app): App,
    caller: Caller,
    Path(org): Path<String>,
    Json(body): Json<Value>,
) -> Result<Response> {
    let mut world = app.world();
    owns(&world, &caller, &org)?;
    let hook = new_hook(&mut world, &body)?;
    let value = hook_json(&hook);
    world.account_mut(&org)?.hooks.push(hook);
    Ok(created(value))
}

pub(crate) async fn delete_org_hook(
    State(app): App,
    caller: Caller,
    Path((org, id)): Path<(String, i64)>,
) -> Result<Response> {
    let mut world = app.world();
    owns(&world, &caller, &org)?;
    world.account_mut(&org)?.hooks.retain(|hook| hook.id != id);
    Ok(no_content())
}

pub(crate) async fn create_org_repo(
    State(app): App,
    caller: Caller,
    Path(org): Path<String>,
    Json(body): Json<Value>,
) -> Result<Response> {
    let (name, default) = (text(&body, "name").to_owned(), text(&body, "default_branch").to_owned());
    let default = if default.is_empty() { "main".to_owned() } else { default };
    let (id, dir) = {
        let mut world = app.world();
        owns(&world, &caller, &org)?;
        let private = body.get("private").and_then(Value::as_bool).unwrap_or(false);
        let id = world.add_repo(&org, &name, private, &default)?;
        (id, crate::git::path(&app.root, &org, &name))
    };
    if let Err(e) = crate::git::init(&dir, &default).await {
        app.world().repos.retain(|r| r.id != id);
        return refuse(500, format!("{e:#}"));
    }
    let world = app.world();
    match world.repos.iter().find(|r| r.id == id) {
        Some(repo) => Ok(created(world.repo_json(repo, caller.login.as_deref())).into_response()),
        None => refuse(404, "The target couldn't be found."),
    }
}
