//! Teams: created, filled and added to repositories by the organisation's owners; listed for everybody who sees the repository.

use super::{App, Caller, ListQuery, created, no_content, text};
use crate::teams::{Team, access_of};
use crate::world::{Access, Result, World, refuse};
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde_json::{Value, json};
use std::collections::BTreeMap;

type TeamPath = Path<i64>;

/// The members of a team; the owners' team has the organisation's id and is only for site admins.
fn members<'a>(world: &'a mut World, caller: &Caller, id: i64) -> Result<&'a mut Vec<String>> {
    if world.accounts.iter().any(|a| a.id == id && a.owners.is_some()) {
        caller.admin(world)?;
        let owners = world.accounts.iter_mut().find(|a| a.id == id).and_then(|a| a.owners.as_mut());
        return owners.map_or_else(|| refuse(404, ""), Ok);
    }
    shown(world, caller, id)?;
    Ok(&mut world.team_mut(id)?.members)
}

/// The team for a site admin or an owner of its organisation; others get Gitea's refusal: 404, or 403 for members of another team.
fn shown<'a>(world: &'a World, caller: &Caller, id: i64) -> Result<&'a Team> {
    let (_, login) = caller.signed_in(world)?;
    let team = world.team(id)?;
    let Some(org) = world.accounts.iter().find(|a| a.teams.iter().any(|t| t.id == id)) else { return refuse(404, "") };
    let owner = org.owners.iter().flatten().any(|o| o.eq_ignore_ascii_case(&login));
    if owner || team.has(&login) || world.account(&login)?.admin {
        return Ok(team);
    }
    match org.teams.iter().any(|t| t.has(&login)) {
        true => refuse(403, "Must be a team member"),
        false => refuse(404, "The target couldn't be found."),
    }
}

pub(crate) async fn create(
    State(app): App,
    caller: Caller,
    Path(org): Path<String>,
    Json(body): Json<Value>,
) -> Result<Response> {
    let mut world = app.world();
    super::accounts::owns(&world, &caller, &org)?;
    let general = match text(&body, "permission") {
        "admin" => Access::Admin,
        _ => Access::None,
    };
    let mut units = BTreeMap::new();
    for (unit, word) in body.get("units_map").and_then(Value::as_object).into_iter().flatten() {
        units.insert(unit.clone(), access_of(word.as_str().unwrap_or_default()));
    }
    if units.is_empty() {
        let right = access_of(text(&body, "permission")).clamp(Access::Read, Access::Write);
        let named = body.get("units").and_then(Value::as_array).cloned().unwrap_or_default();
        units.extend(named.iter().filter_map(|u| Some((u.as_str()?.to_owned(), right))));
    }
    if units.is_empty() && general < Access::Admin {
        return refuse(500, "units permission should not be empty");
    }
    let id = world.add_team(&org, text(&body, "name"), general, units)?;
    Ok(created(world.team_json(world.team(id)?)))
}

/// Every team of an organisation, the owners' first, for its members and site admins.
pub(crate) async fn list(
    State(app): App,
    caller: Caller,
    Path(org): Path<String>,
    Query(query): Query<ListQuery>,
) -> Result<Response> {
    let world = app.world();
    let (_, login) = caller.signed_in(&world)?;
    let found = world.account(&org)?;
    let Some(owners) = &found.owners else { return refuse(404, "The target couldn't be found.") };
    let is_in = owners.iter().any(|o| o.eq_ignore_ascii_case(&login)) || found.teams.iter().any(|t| t.has(&login));
    if !is_in && !world.account(&login)?.admin {
        return refuse(403, "Must be an organization member");
    }
    let teams = found.teams.iter().map(|team| world.team_json(team));
    Ok(query.page(std::iter::once(owners_json(found.id)).chain(teams).collect()))
}

pub(crate) async fn get(State(app): App, caller: Caller, Path(id): TeamPath) -> Result<Json<Value>> {
    let world = app.world();
    Ok(Json(world.team_json(shown(&world, &caller, id)?)))
}

pub(crate) async fn member(
    State(app): App,
    caller: Caller,
    Path((id, login)): Path<(i64, String)>,
) -> Result<Json<Value>> {
    let world = app.world();
    let team = shown(&world, &caller, id)?;
    let account = world.account(&login)?;
    if team.has(&account.login) { Ok(Json(world.account_json(account))) } else { refuse(404, "") }
}

pub(crate) async fn add_member(
    State(app): App,
    caller: Caller,
    Path((id, login)): Path<(i64, String)>,
) -> Result<Response> {
    let mut world = app.world();
    let login = world.account(&login)?.login.clone();
    members(&mut world, &caller, id)?.push(login);
    Ok(no_content())
}

pub(crate) async fn remove_member(
    State(app): App,
    caller: Caller,
    Path((id, login)): Path<(i64, String)>,
) -> Result<Response> {
    let mut world = app.world();
    members(&mut world, &caller, id)?.retain(|m| !m.eq_ignore_ascii_case(&login));
    Ok(no_content())
}

pub(crate) async fn add_repository(
    State(app): App,
    caller: Caller,
    Path((id, org, name)): Path<(i64, String, String)>,
) -> Result<Response> {
    let mut world = app.world();
    shown(&world, &caller, id)?;
    let (at, _) = caller.at(&world, &org, &name, Access::Admin)?;
    let repo = world.repos[at].id;
    world.team_mut(id)?.repos.push(repo);
    Ok(no_content())
}

/// Every team with access to the repository, the owners' first; 405 without an organisation.
pub(crate) async fn of_repository(
    State(app): App,
    caller: Caller,
    Path((o, r)): Path<(String, String)>,
) -> Result<Json<Value>> {
    let world = app.world();
    caller.signed_in(&world)?;
    let (at, _) = caller.at(&world, &o, &r, Access::Read)?;
    let (repo, owner) = (&world.repos[at], world.account(&o)?);
    if owner.owners.is_none() {
        return refuse(405, "repo is not owned by an organization");
    }
    let owners = owners_json(owner.id);
    let teams = owner.teams.iter().filter(|team| team.repos.contains(&repo.id)).map(|team| world.team_json(team));
    Ok(Json(std::iter::once(owners).chain(teams).collect()))
}

fn owners_json(id: i64) -> Value {
    let units = json!({ "repo.code": "owner", "repo.issues": "owner", "repo.pulls": "owner" });
    json!({ "id": id, "name": "Owners", "permission": "owner", "units_map": units })
}
