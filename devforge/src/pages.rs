//! Plain pages for people: lists, an issue, a pull request with its reviews and a form to answer. The form has the commit that the page
//! showed, so that an approval is about what was seen, even after a push. A signed-in person answers by that session; a page of another
//! site can't, because the browser sends the form's origin.

use crate::api::{App, Shared, caller};
use crate::markdown::{diff, escape, render};
use crate::person::Person;
use crate::world::{Access, Issue, Repo, Result, ReviewState, World, refuse};
use axum::extract::{Form, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Deserialize;
use std::sync::Arc;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}\
pre{background:#f4f4f2;padding:.7rem;overflow:auto;font-size:13px}code{background:#f4f4f2}table{border-collapse:collapse}\
td{border:1px solid #ccc;padding:.2rem .5rem}article{border:1px solid #ccc;border-radius:6px;margin:1rem 0;padding:0 1rem}\
article>header{color:#555;border-bottom:1px solid #ddd;padding:.4rem 0}textarea{width:100%;height:6rem}small,sub{color:#666}\
sub{vertical-align:baseline;font-size:small}table{margin:1rem 0}thead td{font-weight:600;background:#f4f4f2}\
blockquote{border-left:3px solid #888;margin:1rem 0;padding:0 1rem}pre ins,pre del{text-decoration:none}\
pre ins{background:#d9f5df}pre del{background:#fbe0de}";

fn page(title: &str, body: &str) -> Response {
    let policy =
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
    let html = format!(
        "<!doctype html><meta charset=utf-8><meta name=viewport content=\"width=device-width\"><title>{0}</title>\
         <style>{STYLE}</style><h1>{0}</h1>{body}",
        escape(title)
    );
    ([(header::CONTENT_SECURITY_POLICY, policy), (header::REFERRER_POLICY, "no-referrer")], Html(html)).into_response()
}

/// Links to the pages above.
fn above(owner: &str, name: &str) -> String {
    format!("<nav><a href=\"/\">devforge</a> / <a href=\"/{0}/{1}\">{0}/{1}</a></nav>", escape(owner), escape(name))
}

fn diff_html(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<h2>Changes</h2><pre>{}</pre>", diff(text)) }
}

/// A refusal for browsers: asks for a sign-in where an account is needed.
fn refused(refusal: crate::world::Refusal, known: bool) -> Response {
    if !known && matches!(refusal.status, 401 | 404) {
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Basic realm=\"devforge\"")]).into_response();
    }
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
    let text = format!("<p>{} {}</p>", refusal.status, escape(&refusal.message));
    (status, page("That did not work", &text)).into_response()
}

pub(crate) async fn home(State(app): App, headers: HeaderMap) -> Response {
    let world = app.world();
    let login = caller(&world, &headers).ok().and_then(|c| c.login);
    let seen: Vec<&Repo> = world.repos.iter().filter(|r| world.sees(r, login.as_deref())).collect();
    if seen.is_empty() && login.is_none() {
        return refused(crate::world::Refusal { status: 401, message: String::new() }, false);
    }
    let line = |r: &&Repo| format!("<li><a href=\"/{0}/{1}\">{0}/{1}</a></li>", escape(&r.owner), escape(&r.name));
    page("devforge", &format!("<ul>{}</ul>", seen.iter().map(line).collect::<String>()))
}

pub(crate) async fn repo(State(app): App, Path((o, r)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let world = app.world();
    let login = caller(&world, &headers).ok().and_then(|c| c.login);
    let at = match world.repo(&o, &r, login.as_deref(), Access::Read) {
        Ok(at) => at,
        Err(e) => return refused(e, login.is_some()),
    };
    let repo = &world.repos[at];
    let line = |i: &Issue| {
        let kind = if i.pull.is_some() { "pulls" } else { "issues" };
        let state = if i.open { "open" } else { "closed" };
        let place = format!("/{}/{}/{kind}/{}", escape(&repo.owner), escape(&repo.name), i.number);
        format!("<li><a href=\"{place}\">#{} {}</a> <small>{state}</small></li>", i.number, escape(&i.title))
    };
    let list: String = repo.issues.values().rev().map(line).collect();
    let nav = above(&repo.owner, &repo.name);
    page(&format!("{}/{}", repo.owner, repo.name), &format!("{nav}<ul>{list}</ul>"))
}

/// The answer to somebody who may not read this repository; none for who may.
fn unreadable(app: &Shared, (owner, name): (&str, &str), headers: &HeaderMap) -> Option<Response> {
    let world = app.world();
    let login = caller(&world, headers).ok().and_then(|c| c.login);
    let found = world.repo(owner, name, login.as_deref(), Access::Read);
    found.err().map(|refusal| refused(refusal, login.is_some()))
}

/// The page behind a review's link to the diff.
pub(crate) async fn compare(
    State(app): App,
    Path((o, r, range)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Response {
    if let Some(refusal) = unreadable(&app, (&o, &r), &headers) {
        return refusal;
    }
    let changes = match range.split_once("...") {
        Some((base, head)) => crate::git::diff(&crate::git::path(&app.root, &o, &r), base, head).await.ok(),
        None => None,
    };
    match changes {
        Some(text) => page(&range, &format!("{}{}", above(&o, &r), diff_html(&text))),
        None => refused(crate::world::Refusal { status: 404, message: format!("there is no {range}") }, true),
    }
}

/// The page of a commit: what it changes against its parent.
pub(crate) async fn commit(
    State(app): App,
    Path((o, r, id)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Response {
    if let Some(refusal) = unreadable(&app, (&o, &r), &headers) {
        return refusal;
    }
    let changes = match id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => crate::git::diff(&crate::git::path(&app.root, &o, &r), &format!("{id}^"), &id).await.ok(),
        false => None,
    };
    match changes {
        Some(text) => page(&id, &format!("{}{}", above(&o, &r), diff_html(&text))),
        None => refused(crate::world::Refusal { status: 404, message: format!("there is no commit {id}") }, true),
    }
}

type NumberPath = Path<(String, String, String, u64)>;

pub(crate) async fn thread(State(app): App, Path((o, r, kind, n)): NumberPath, headers: HeaderMap) -> Response {
    if kind != "issues" && kind != "pulls" {
        return StatusCode::NOT_FOUND.into_response();
    }
    let (title, body, range) = {
        let world = app.world();
        let login = caller(&world, &headers).ok().and_then(|c| c.login);
        let found = world.repo(&o, &r, login.as_deref(), Access::Read).and_then(|at| Ok((at, world.issue(at, n)?)));
        let (at, issue) = match found {
            Ok(found) => found,
            Err(e) => return refused(e, login.is_some()),
        };
        let repo = &world.repos[at];
        let range = issue.pull.as_ref().map(|p| (p.base.clone(), p.head_sha.clone()));
        let body = format!("{}{}", thread_html(&world, repo, issue), form(issue, login.as_deref()));
        (format!("{} #{n}", issue.title), body, range)
    };
    let changes = match range {
        Some((base, head)) => {
            crate::git::diff(&crate::git::path(&app.root, &o, &r), &base, &head).await.unwrap_or_default()
        }
        None => String::new(),
    };
    page(&title, &format!("{}{body}{}", above(&o, &r), diff_html(&changes)))
}

fn entry(anchor: i64, who: &str, what: &str, text: &str) -> String {
    let (who, what) = (escape(who), escape(what));
    format!("<article id=\"issuecomment-{anchor}\"><header><b>{who}</b> {what}</header>{}</article>", render(text))
}

fn thread_html(world: &World, repo: &Repo, issue: &Issue) -> String {
    let mut entries: Vec<(i64, String)> = vec![(0, entry(0, world.login_of(issue.author), "opened", &issue.body))];
    entries.extend(issue.comments.iter().map(|c| (c.id, entry(c.id, world.login_of(c.author), "said", &c.body))));
    for review in issue.pull.iter().flat_map(|p| &p.reviews) {
        let what = match review.state {
            ReviewState::Pending | ReviewState::RequestReview => continue,
            ReviewState::Approved => "approved",
            ReviewState::RequestChanges => "asked for changes at",
            ReviewState::Comment => "reviewed",
        };
        let commit = review.commit.get(..10).unwrap_or_default();
        let mut html = entry(review.number, world.login_of(review.author), &format!("{what} {commit}"), &review.body);
        for note in &review.notes {
            let place = format!("on {}:{}", note.path, note.new_line.max(note.old_line));
            html.push_str(&entry(note.id, world.login_of(note.author), &place, &note.body));
        }
        entries.push((review.number, html));
    }
    entries.sort_by_key(|(number, _)| *number);
    let labels: Vec<String> =
        world.labels_json(repo, issue).iter().filter_map(|l| l["name"].as_str()).map(escape).collect();
    let state = if issue.pull.as_ref().is_some_and(|p| p.merged.is_some()) {
        "merged"
    } else if issue.open {
        "open"
    } else {
        "closed"
    };
    let body: String = entries.into_iter().map(|(_, html)| html).collect();
    format!("<p><small>{state} {}</small></p>{body}", labels.join(" "))
}

fn form(issue: &Issue, login: Option<&str>) -> String {
    let commit = issue.pull.as_ref().map_or("", |p| p.head_sha.as_str());
    let review = if issue.pull.is_some() {
        "<button name=act value=approve>Approve</button> <button name=act value=changes>Request changes</button>"
    } else {
        ""
    };
    let who = match login {
        Some(login) => format!("<p>You are <b>{}</b>.</p>", escape(login)),
        None => "<p>Name <input name=login required autocomplete=username> Password or token \
                 <input name=password type=password required autocomplete=current-password></p>"
            .to_owned(),
    };
    format!(
        "<h2>Answer</h2><form method=post><input type=hidden name=commit value=\"{}\"><textarea name=text></textarea>{who}\
         <p><button name=act value=comment>Comment</button> {review} <button name=act value=close>Close</button></p></form>",
        escape(commit)
    )
}

#[derive(Deserialize)]
pub(crate) struct LoginForm {
    #[serde(default)]
    login: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    commit: String,
    act: String,
}

/// The account that a form acts for: by name and password in it, or by the session of a browser that got the form from here.
fn acting_account(world: &World, headers: &HeaderMap, said: &LoginForm) -> Option<String> {
    if said.password.is_empty() {
        let own = headers.get("sec-fetch-site").is_some_and(|from| from == "same-origin");
        return caller(world, headers).ok().and_then(|c| c.login).filter(|_| own);
    }
    let by_token = || world.by_token(&said.password).filter(|a| a.login.eq_ignore_ascii_case(&said.login));
    world.by_password(&said.login, &said.password).or_else(by_token).map(|a| a.login.clone())
}

pub(crate) async fn say(
    State(app): App,
    Path((o, r, kind, n)): NumberPath,
    headers: HeaderMap,
    Form(said): Form<LoginForm>,
) -> Response {
    if kind != "issues" && kind != "pulls" {
        return StatusCode::NOT_FOUND.into_response();
    }
    let login = acting_account(&app.world(), &headers, &said);
    let Some(login) = login else {
        let refusal = refuse::<()>(403, "name and password do not fit").unwrap_err();
        return refused(refusal, true);
    };
    let person = Person { shared: Arc::clone(&app), login };
    let repo = format!("{o}/{r}");
    match act(&person, &repo, n, &said) {
        Ok(()) => Redirect::to(&format!("/{repo}/{kind}/{n}")).into_response(),
        Err(e) => refused(e, true),
    }
}

fn act(person: &Person, repo: &str, n: u64, said: &LoginForm) -> Result<()> {
    match said.act.as_str() {
        "comment" => person.comment(repo, n, &said.text).map(drop),
        "approve" => person.review(repo, n, ReviewState::Approved, &said.commit, &said.text, &[]).map(drop),
        "changes" => person.review(repo, n, ReviewState::RequestChanges, &said.commit, &said.text, &[]).map(drop),
        "close" => person.close(repo, n),
        other => refuse(422, format!("{other} is no answer")),
    }
}
