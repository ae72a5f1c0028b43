//! A local server with the part of GitHub's REST API that the bot uses (docs.github.com/rest/repos/repos#get-a-repository, version
//! 2022-11-28): strict about headers, with repositories that are renamed, private, archived or put in the place of another one, the answers at
//! a rate limit, and 304 to who has an answer already.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

/// Records requests, and holds what is answered.
pub struct GitHub {
    pub url: String,
    state: Arc<Mutex<Shown>>,
}

#[derive(Default)]
struct Shown {
    token: String,
    limited: bool,
    /// Too many at once: the secondary limit, which says how long to wait.
    too_fast: bool,
    /// Only requests about checks are refused.
    limited_checks: bool,
    asked: Vec<String>,
    /// How many answers were 304.
    unchanged: usize,
    repositories: Vec<Hosted>,
    /// Former names, with the number of the repository that had each.
    former: HashMap<String, u64>,
    issues: Vec<HubIssue>,
    /// Issues of `lab/shop` that are in another repository now.
    transferred: Vec<u64>,
    /// Where the branches of pull requests are; none = in `lab/shop` itself.
    fork: Option<String>,
    /// What each open pull request was made of.
    pulls: Vec<Value>,
    /// What each look at a commit's checks finds, the last one for good.
    checks: Vec<Checks>,
    looks: usize,
}

/// A repository; a private one is seen with the token alone.
struct Hosted {
    id: u64,
    name: String,
    private: bool,
    archived: bool,
    /// The number of the repository that it is a fork of.
    parent: Option<u64>,
}

/// An issue of `lab/shop`, or a pull request, which GitHub lists among them.
#[derive(Clone)]
pub struct HubIssue {
    pub number: u64,
    pub title: String,
    pub body: Option<String>,
    pub label: &'static str,
    pub open: bool,
    pub is_pull: bool,
}

impl HubIssue {
    /// An open issue with this label.
    pub fn open(number: u64, title: &str, body: &str, label: &'static str) -> Self {
        Self { number, title: title.to_owned(), body: Some(body.to_owned()), label, open: true, is_pull: false }
    }
}

/// The checks of every commit: commit statuses by context and state, check runs by name, status and conclusion.
#[derive(Clone, Default)]
pub struct Checks {
    pub statuses: Vec<(String, String)>,
    pub runs: Vec<(String, String, Option<String>)>,
}

impl GitHub {
    /// Knows `lab/shop` (private, formerly `old/shop`), `lab/attic` (archived), and `evil/shop`, which redirects to another server.
    pub async fn start(token: &str) -> Self {
        let hosted =
            |id, name: &str, private, archived| Hosted { id, name: name.to_owned(), private, archived, parent: None };
        let repositories = vec![hosted(7, "lab/shop", true, false), hosted(8, "lab/attic", false, true)];
        let former = HashMap::from([("old/shop".to_owned(), 7)]);
        let shown = Shown { token: token.to_owned(), repositories, former, ..Shown::default() };
        let state = Arc::new(Mutex::new(shown));
        let app = Router::new()
            .route("/repos/{owner}/{name}", get(repository))
            .route("/repos/{owner}/{name}/pulls", get(open_ones).post(open_pull))
            .route("/repos/{owner}/{name}/issues", get(issues))
            .route("/repos/{owner}/{name}/issues/{number}", get(issue))
            .route("/repos/{owner}/{name}/commits/{sha}/status", get(combined))
            .route("/repos/{owner}/{name}/commits/{sha}/check-runs", get(check_runs))
            .route("/repositories/{id}", get(by_id))
            .route("/repositories/{id}/issues/{number}", get(transferred))
            .with_state(state.clone());
        // As GitHub Enterprise has it.
        let app = Router::new().nest("/api/v3", app);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api/v3", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, state }
    }

    /// Whether requests are refused because of the rate limit.
    pub fn limit(&self, limited: bool) {
        self.state.lock().unwrap().limited = limited;
    }

    /// Whether requests are refused because there were too many at once (docs.github.com: *secondary rate limits*).
    pub fn limit_too_fast(&self, limited: bool) {
        self.state.lock().unwrap().too_fast = limited;
    }

    /// Whether requests about checks are refused because of the rate limit.
    pub fn limit_checks(&self, limited: bool) {
        self.state.lock().unwrap().limited_checks = limited;
    }

    /// The request bodies of the pull requests, in their order.
    pub fn pulls(&self) -> Vec<Value> {
        self.state.lock().unwrap().pulls.clone()
    }

    /// The branches of pull requests are in this repository of `lab`'s, a fork of `lab/shop`.
    pub fn fork(&self, name: &str) {
        let (mut shown, name) = (self.state.lock().unwrap(), name.to_owned());
        shown.fork = Some(name.clone());
        shown.repositories.push(Hosted { id: 20, name, private: true, archived: false, parent: Some(7) });
    }

    /// What the following looks at a commit's checks find, one after the other; the last one for good.
    pub fn set_checks(&self, checks: Vec<Checks>) {
        let mut shown = self.state.lock().unwrap();
        (shown.checks, shown.looks) = (checks, 0);
    }

    /// A repository gets another name, and its former one leads to it.
    pub fn rename(&self, name: &str, to: &str) {
        let mut shown = self.state.lock().unwrap();
        let one = shown.repositories.iter_mut().find(|it| it.name == name).expect("it is there");
        one.name = to.to_owned();
        let id = one.id;
        shown.former.insert(name.to_owned(), id);
    }

    /// The repository of this name is deleted, and somebody else makes another one of the same name.
    pub fn replace(&self, name: &str, id: u64) {
        let mut shown = self.state.lock().unwrap();
        shown.repositories.iter_mut().find(|it| it.name == name).expect("it is there").id = id;
    }

    /// The issues of `lab/shop` are these now.
    pub fn set_issues(&self, issues: Vec<HubIssue>) {
        self.state.lock().unwrap().issues = issues;
    }

    /// Changes an issue, as somebody does there.
    pub fn change_issue(&self, number: u64, change: impl FnOnce(&mut HubIssue)) {
        let mut shown = self.state.lock().unwrap();
        change(shown.issues.iter_mut().find(|it| it.number == number).expect("it is there"));
    }

    /// An issue is transferred to another repository, where it has the same number and is open.
    pub fn transfer_issue(&self, number: u64) {
        let mut shown = self.state.lock().unwrap();
        shown.issues.retain(|it| it.number != number);
        shown.transferred.push(number);
    }

    /// How many answers said that nothing changed.
    pub fn unchanged(&self) -> usize {
        self.state.lock().unwrap().unchanged
    }

    /// Requested paths.
    pub fn asked(&self) -> Vec<String> {
        self.state.lock().unwrap().asked.clone()
    }
}

type Shared = State<Arc<Mutex<Shown>>>;

fn refuse(status: u16, message: &str) -> Response {
    let body = json!({ "message": message, "documentation_url": "https://docs.github.com/rest", "status": status.to_string() });
    (StatusCode::from_u16(status).unwrap(), axum::Json(body)).into_response()
}

/// Whether the request may see what is private; otherwise the error answer.
fn greeted(state: &Mutex<Shown>, headers: &HeaderMap, path: String) -> Result<bool, Box<Response>> {
    let mut shown = state.lock().unwrap();
    let limited = shown.limited || shown.limited_checks && path.contains("/commits/");
    shown.asked.push(path);
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if header("user-agent").is_empty() {
        return Err(Box::new(refuse(
            403,
            "Request forbidden by administrative rules. Please make sure your request has a User-Agent header",
        )));
    }
    if header("x-github-api-version") != "2022-11-28" {
        return Err(Box::new(refuse(400, "the version of the API is missing")));
    }
    if limited {
        let mut answer = refuse(403, "API rate limit exceeded for 198.51.100.7.");
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        for (name, value) in
            [("x-ratelimit-remaining", 0), ("x-ratelimit-limit", 60), ("x-ratelimit-reset", now + 1_000)]
        {
            answer.headers_mut().insert(name, value.into());
        }
        return Err(Box::new(answer));
    }
    if shown.too_fast {
        let mut answer =
            refuse(429, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.");
        answer.headers_mut().insert("retry-after", 120.into());
        return Err(Box::new(answer));
    }
    match header("authorization") {
        "" => Ok(false),
        given if given == format!("Bearer {}", shown.token) => Ok(true),
        _ => Err(Box::new(refuse(401, "Bad credentials"))),
    }
}

async fn repository(State(state): Shared, Path((owner, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let may = match greeted(&state, &headers, format!("/repos/{owner}/{name}")) {
        Ok(may) => may,
        Err(refusal) => return *refusal,
    };
    let asked = format!("{owner}/{name}");
    // The repository's old name, now redirected to another server.
    if asked == "evil/shop" {
        let location = [("location", "http://localhost:9/repositories/7")];
        let body = axum::Json(json!({ "message": "Moved Permanently" }));
        return (StatusCode::MOVED_PERMANENTLY, location, body).into_response();
    }
    let found = {
        let shown = state.lock().unwrap();
        if let Some(id) = shown.former.get(&asked).filter(|_| may) {
            let to = format!("/repositories/{id}");
            let body = json!({ "message": "Moved Permanently", "url": to });
            return (StatusCode::MOVED_PERMANENTLY, [("location", to)], axum::Json(body)).into_response();
        }
        shown.repositories.iter().find(|it| it.name == asked && (may || !it.private)).map(shape)
    };
    match found {
        Some(body) => tagged(&state, &headers, &body),
        None => refuse(404, "Not Found"),
    }
}

/// An answer with its entity tag, or 304 to who names that (docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api).
fn tagged(state: &Mutex<Shown>, headers: &HeaderMap, body: &Value) -> Response {
    let mut hasher = DefaultHasher::new();
    body.to_string().hash(&mut hasher);
    let tag = format!("W/\"{:x}\"", hasher.finish());
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        state.lock().unwrap().unchanged += 1;
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response();
    }
    ([(header::ETAG, tag)], axum::Json(body)).into_response()
}

/// Opens one (docs.github.com/rest/pulls/pulls#create-a-pull-request): with a token alone, from a branch named `owner:branch`, once. Of two
/// repositories of one owner `head_repo` names the one with the branch.
async fn open_pull(
    State(state): Shared,
    Path((owner, name)): Path<(String, String)>,
    headers: HeaderMap,
    axum::Json(wanted): axum::Json<Value>,
) -> Response {
    match greeted(&state, &headers, format!("POST /repos/{owner}/{name}/pulls")) {
        Ok(true) if (owner.as_str(), name.as_str()) == ("lab", "shop") => {}
        Ok(_) => return refuse(404, "Not Found"),
        Err(refusal) => return *refusal,
    }
    let refused = |error: Value| {
        let body = json!({ "message": "Validation Failed", "errors": [error], "status": "422" });
        (StatusCode::UNPROCESSABLE_ENTITY, axum::Json(body)).into_response()
    };
    let invalid = |message: String| refused(json!({ "resource": "PullRequest", "code": "custom", "message": message }));
    let mut shown = state.lock().unwrap();
    let text = |key: &str| wanted[key].as_str().unwrap_or_default().to_owned();
    if text("title").is_empty() || !text("head").contains(':') || text("base") != "main" {
        return invalid(format!("head, base or title is invalid: {wanted}"));
    }
    let named = wanted["head_repo"].as_str().unwrap_or("lab/shop");
    if text("head").starts_with("lab:") && named != shown.fork.as_deref().unwrap_or("lab/shop") {
        return refused(json!({ "resource": "PullRequest", "field": "head", "code": "invalid" }));
    }
    if shown.pulls.iter().any(|pull| pull["head"] == wanted["head"]) {
        return invalid(format!("A pull request already exists for {}.", text("head")));
    }
    shown.pulls.push(wanted);
    (StatusCode::CREATED, axum::Json(pull_shape(shown.pulls.len()))).into_response()
}

async fn open_ones(
    State(state): Shared,
    Path((owner, name)): Path<(String, String)>,
    axum::extract::Query(query): Paging,
    headers: HeaderMap,
) -> Response {
    if let Err(refusal) = greeted(&state, &headers, format!("/repos/{owner}/{name}/pulls")) {
        return *refusal;
    }
    let shown = state.lock().unwrap();
    let of = |pull: &Value| query.get("head").is_some_and(|head| pull["head"] == head.as_str());
    let found: Vec<Value> = (1..).zip(&shown.pulls).filter(|(_, it)| of(it)).map(|(at, _)| pull_shape(at)).collect();
    axum::Json(found).into_response()
}

type Paging = axum::extract::Query<HashMap<String, String>>;

/// The part of a list on the asked page; a page has 30 entries unless up to 100 are asked for.
fn page<T: Clone>(all: &[T], query: &HashMap<String, String>) -> Vec<T> {
    let number = |name: &str, other: usize| query.get(name).and_then(|text| text.parse().ok()).unwrap_or(other);
    let size = number("per_page", 30).clamp(1, 100);
    all.chunks(size).nth(number("page", 1).max(1) - 1).unwrap_or_default().to_vec()
}

/// docs.github.com/rest/issues/issues#list-repository-issues: with every key that the bot names, and no other.
async fn issues(
    State(state): Shared,
    Path((owner, name)): Path<(String, String)>,
    query: Paging,
    headers: HeaderMap,
) -> Response {
    match greeted(&state, &headers, format!("/repos/{owner}/{name}/issues")) {
        Ok(true) if (owner.as_str(), name.as_str()) == ("lab", "shop") => {}
        Ok(_) => return refuse(404, "Not Found"),
        Err(refusal) => return *refusal,
    }
    let given = |name: &str| query.get(name).map(String::as_str).unwrap_or_default();
    if (given("state"), given("sort"), given("direction")) != ("open", "created", "asc") {
        return refuse(422, "Validation Failed");
    }
    let all: Vec<Value> = {
        let shown = state.lock().unwrap();
        shown.issues.iter().filter(|it| it.open && it.label == given("labels")).map(issue_shape).collect()
    };
    tagged(&state, &headers, &Value::Array(page(&all, &query)))
}

/// docs.github.com/rest/issues/issues#get-an-issue.
async fn issue(
    State(state): Shared,
    Path((owner, name, number)): Path<(String, String, u64)>,
    headers: HeaderMap,
) -> Response {
    match greeted(&state, &headers, format!("/repos/{owner}/{name}/issues/{number}")) {
        Ok(true) if (owner.as_str(), name.as_str()) == ("lab", "shop") => {}
        Ok(_) => return refuse(404, "Not Found"),
        Err(refusal) => return *refusal,
    }
    if state.lock().unwrap().transferred.contains(&number) {
        let location = [("location", format!("/repositories/9/issues/{number}"))];
        let body = axum::Json(json!({ "message": "Moved Permanently" }));
        return (StatusCode::MOVED_PERMANENTLY, location, body).into_response();
    }
    let found = state.lock().unwrap().issues.iter().find(|it| it.number == number).map(issue_shape);
    found.map_or_else(|| refuse(410, "This issue was deleted"), |body| tagged(&state, &headers, &body))
}

/// An issue that was transferred to this repository.
async fn transferred(State(state): Shared, Path((id, number)): Path<(u64, u64)>, headers: HeaderMap) -> Response {
    if let Err(refusal) = greeted(&state, &headers, format!("/repositories/{id}/issues/{number}")) {
        return *refusal;
    }
    let mut shape = issue_shape(&HubIssue::open(number, "Elsewhere", "", "caisson"));
    shape["repository_url"] = json!("https://api.github.com/repos/lab/elsewhere");
    tagged(&state, &headers, &shape)
}

/// One of the answers that octocrab's own tests hold (`tests/fixtures/github`), with these values in place of its own.
fn with(recorded: &str, values: &Value) -> Value {
    let mut shape: serde_json::Map<String, Value> = serde_json::from_str(recorded).unwrap();
    shape.extend(values.as_object().unwrap().clone());
    Value::Object(shape)
}

fn issue_shape(issue: &HubIssue) -> Value {
    let HubIssue { number, title, body, label, open, is_pull } = issue;
    let mut shape = with(
        include_str!("../fixtures/github/issue.json"),
        &json!({
            "id": 2000 + number, "html_url": "https://evil.example/issue", "number": number,
            "repository_url": "https://api.github.com/repos/lab/shop",
            "state": if *open { "open" } else { "closed" }, "title": title, "body": body,
            "labels": [{ "id": 3, "node_id": "LA_kw", "url": "https://api.github.com/repos/lab/shop/labels/x", "name": label,
                "color": "f29513", "default": false, "description": null }],
        }),
    );
    shape["user"]["login"] = json!("octocat");
    if *is_pull {
        shape["pull_request"] = json!({ "url": format!("https://api.github.com/repos/lab/shop/pulls/{number}") });
    }
    shape
}

/// Whether the commit's checks may be seen; the first list of a look, the statuses, goes on to the next.
fn looked(state: &Mutex<Shown>, headers: &HeaderMap, path: String, next: bool) -> Result<Checks, Box<Response>> {
    if !greeted(state, headers, path)? {
        return Err(Box::new(refuse(404, "Not Found")));
    }
    let mut shown = state.lock().unwrap();
    shown.looks += usize::from(next);
    let at = shown.looks.saturating_sub(1).min(shown.checks.len().saturating_sub(1));
    Ok(shown.checks.get(at).cloned().unwrap_or_default())
}

/// docs.github.com/rest/commits/statuses#get-the-combined-status-for-a-specific-reference.
async fn combined(
    State(state): Shared,
    Path((owner, name, sha)): Path<(String, String, String)>,
    query: Paging,
    headers: HeaderMap,
) -> Response {
    let path = format!("/repos/{owner}/{name}/commits/{sha}/status");
    let first = query.get("page").is_none_or(|page| page == "1");
    let checks = match looked(&state, &headers, path, first) {
        Ok(checks) => checks,
        Err(refusal) => return *refusal,
    };
    let one = |(context, state): (String, String)| {
        json!({
            "url": format!("https://api.github.com/repos/lab/shop/statuses/{sha}"), "id": 1, "node_id": "SC_kw", "state": state,
            "description": null, "target_url": "https://ci.example.com/1", "context": context,
            "created_at": "2012-07-20T01:19:13Z", "updated_at": "2012-07-20T01:19:13Z"
        })
    };
    let statuses: Vec<Value> = page(&checks.statuses, &query).into_iter().map(one).collect();
    let body = json!({ "state": "pending", "statuses": statuses, "sha": sha, "total_count": checks.statuses.len() });
    tagged(&state, &headers, &body)
}

/// docs.github.com/rest/checks/runs#list-check-runs-for-a-git-reference.
async fn check_runs(
    State(state): Shared,
    Path((owner, name, sha)): Path<(String, String, String)>,
    query: Paging,
    headers: HeaderMap,
) -> Response {
    let checks = match looked(&state, &headers, format!("/repos/{owner}/{name}/commits/{sha}/check-runs"), false) {
        Ok(checks) => checks,
        Err(refusal) => return *refusal,
    };
    let one = |(name, status, conclusion): (String, String, Option<String>)| {
        let values = json!({ "head_sha": sha, "name": name, "status": status, "conclusion": conclusion });
        with(include_str!("../fixtures/github/check_run.json"), &values)
    };
    let runs: Vec<Value> = page(&checks.runs, &query).into_iter().map(one).collect();
    tagged(&state, &headers, &json!({ "total_count": checks.runs.len(), "check_runs": runs }))
}

fn pull_shape(number: usize) -> Value {
    with(
        include_str!("../fixtures/github/pull.json"),
        &json!({ "id": 1000 + number, "html_url": "https://evil.example/pull", "number": number, "state": "open" }),
    )
}

async fn by_id(State(state): Shared, Path(id): Path<u64>, headers: HeaderMap) -> Response {
    match greeted(&state, &headers, format!("/repositories/{id}")) {
        Ok(true) => {
            let found = state.lock().unwrap().repositories.iter().find(|it| it.id == id).map(shape);
            found.map_or_else(|| refuse(404, "Not Found"), |body| tagged(&state, &headers, &body))
        }
        Ok(false) => refuse(404, "Not Found"),
        Err(refusal) => *refusal,
    }
}

/// A repository; its addresses are another one's, and none of them is to be used.
fn shape(Hosted { id, name: full_name, private, archived, parent }: &Hosted) -> Value {
    let name = full_name.rsplit('/').next().unwrap_or_default();
    let of = parent.map(|id| json!({ "id": id, "full_name": "lab/shop" }));
    with(
        include_str!("../fixtures/github/repository.json"),
        &json!({
            "id": id, "name": name, "full_name": full_name, "private": private, "archived": archived,
            "clone_url": "https://evil.example/lab/shop.git", "default_branch": "main",
            "visibility": if *private { "private" } else { "public" }, "fork": of.is_some(), "parent": of, "source": of,
        }),
    )
}
