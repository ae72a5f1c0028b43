//! The forge's own CI as the bot reads it: a job of Gitea's Actions from the push to its result and its log. The test is the runner itself
//! and runs nothing: it speaks the runner's protocol (Connect with JSON bodies; Gitea 1.25: `routers/api/actions/runner/runner.go`, with the
//! two headers of `interceptor.go` beside it, and the messages of `code.gitea.io/actions-proto-go`, `runner/v1`). The commit status is
//! Gitea's: `services/actions/commit_status.go`.

use crate::support::forges::Lab;
use crate::support::skipped::skipped;
use caisson::forge::{ForgeReads, RepoRef, Status, StatusState};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use url::Url;

/// For how long one answer is waited for: a slow machine is no failure.
const PATIENCE: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(100);
/// Bytes of a log, as many as the product reads.
const MOST: usize = 256 << 10;
const LABEL: &str = "ubuntu-latest";
const WORKFLOW: &str =
    "name: ci\non: push\njobs:\n  unit:\n    runs-on: ubuntu-latest\n    steps:\n      - run: make test\n";
/// Workflow, job and event, as Gitea puts them together.
const CONTEXT: &str = "ci / unit (push)";

pub async fn a_job_of_the_forges_own_ci_is_waited_for_and_its_log_is_read(lab: Arc<Lab>) {
    if lab.devforge().is_some() {
        return skipped("builtin-actions", "the built-in forge has no Actions; a job of its own CI needs a real forge");
    }
    let version = lab.bot.version().await.expect("a version");
    let place = lab.place("ci").await;
    let repo = &place.repo;
    let Some(runner) = Runner::register(&lab, repo).await else {
        return skipped("actions", &format!("the forge {version} gives no token for a runner through its API"));
    };
    let failing = lab.branch(&place, "agent/1-ci", &[(".gitea/workflows/test.yml", WORKFLOW)]);
    let queued = status(&lab, repo, &failing, StatusState::Pending).await;
    assert_eq!(log(&lab, repo, &failing, &queued, MOST).await, None, "nobody has begun the job");
    let task = runner.fetch().await;
    status(&lab, repo, &failing, StatusState::Pending).await;
    let output = ["Run make test", "FAIL: test_total", "exit code 2"];
    runner.end(&task, "RESULT_FAILURE", &output).await;
    let failed = status(&lab, repo, &failing, StatusState::Failure).await;

    let passing = lab.branch(&place, "agent/1-ci", &[("calc.txt", "1\n2\n3\n")]);
    status(&lab, repo, &passing, StatusState::Pending).await;
    let task = runner.fetch().await;
    runner.end(&task, "RESULT_SUCCESS", &["Run make test", "ok: test_total"]).await;
    let passed = status(&lab, repo, &passing, StatusState::Success).await;
    // The later push says nothing of the earlier commit.
    assert_eq!(status(&lab, repo, &failing, StatusState::Failure).await, failed);
    assert_ne!(passed.target_url, failed.target_url, "each job has a page of its own");

    if !has_logs(&lab).await {
        assert_eq!(log(&lab, repo, &failing, &failed, MOST).await, None);
        return skipped("actions", &format!("the forge {version} has no API for the logs of jobs"));
    }
    let whole = log(&lab, repo, &failing, &failed, MOST).await.expect("the log of the failed job");
    assert_eq!(without_times(&whole), output);
    let end = log(&lab, repo, &failing, &failed, 16).await.expect("its end");
    assert_eq!((end.len(), whole.ends_with(&end)), (16, true), "{end}");
    let other = log(&lab, repo, &passing, &passed, MOST).await.expect("the log of the other job");
    assert_eq!(without_times(&other), ["Run make test", "ok: test_total"]);
    assert_eq!(log(&lab, repo, &passing, &failed, MOST).await, None, "a job of another commit");
}

/// The only status of this commit, once it has this state. Its address is a path of the forge, or a whole address.
async fn status(lab: &Lab, repo: &RepoRef, commit: &str, state: StatusState) -> Status {
    let end = Instant::now() + PATIENCE;
    loop {
        let found = lab.bot.few_statuses(repo, commit).await.unwrap();
        if let [status] = found.as_slice()
            && status.state == state
        {
            assert_eq!(status.context, CONTEXT);
            let page = page(lab, status);
            assert!(page.path().starts_with(&format!("/{repo}/actions/runs/")), "{status:?}");
            assert!(page.path().contains("/jobs/"), "{status:?}");
            return status.clone();
        }
        assert!(Instant::now() < end, "no {state:?} at {commit}: {found:?}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// The page that a status names, made whole as `src/effect/ci.rs` does it.
fn page(lab: &Lab, status: &Status) -> Url {
    lab.url.join(&status.target_url).expect("an address")
}

async fn log(lab: &Lab, repo: &RepoRef, commit: &str, status: &Status, most: usize) -> Option<String> {
    lab.bot.job_log(repo, commit, page(lab, status).as_str(), most).await.unwrap()
}

/// The lines of a log. Before each stands a time of the shape that `src/effect/ci.rs` takes away (Gitea: `FormatLog` in
/// `modules/actions/log.go`).
fn without_times(log: &str) -> Vec<&str> {
    let mut texts = Vec::new();
    for line in log.lines() {
        let (time, text) = line.split_once(' ').expect("a time and a text");
        assert!(time.parse::<jiff::Timestamp>().is_ok(), "{line}");
        assert!(time.len() >= 20 && time.ends_with('Z') && time.get(10..11) == Some("T"), "{line}");
        texts.push(text);
    }
    texts
}

/// Whether the forge's description of its own API has what `src/forge/gitea/jobs.rs` asks: Gitea 1.25 has, 1.24 lists no runs.
async fn has_logs(lab: &Lab) -> bool {
    let url = lab.url.join("swagger.v1.json").expect("an address");
    let answer = reqwest::get(url).await.expect("an answer");
    assert_eq!(answer.status().as_u16(), 200, "the description of the API");
    let described = answer.text().await.expect("a text");
    let names = |rest: &str| described.contains(&format!("\"/repos/{{owner}}/{{repo}}/actions/{rest}\""));
    names("runs") && names("jobs/{job_id}/logs")
}

/// A runner of one repository.
struct Runner {
    http: reqwest::Client,
    base: Url,
    uuid: String,
    token: String,
}

impl Runner {
    /// Switches the repository's Actions on and registers a runner for it; `None` where the API has no token for that.
    async fn register(lab: &Lab, repo: &RepoRef) -> Option<Self> {
        let root = lab.hand("root");
        let (status, said) = root.call("PATCH", &format!("/repos/{repo}"), json!({ "has_actions": true })).await;
        assert_eq!(status, 200, "{said}");
        let path = format!("/repos/{repo}/actions/runners/registration-token");
        let (status, said) = root.call("GET", &path, json!({})).await;
        if status == 404 {
            return None;
        }
        let token = said["token"].as_str().unwrap_or_else(|| panic!("no token: {status} {said}"));
        let base = lab.url.join("api/actions/runner.v1.RunnerService/").expect("an address");
        let mut runner = Self { http: reqwest::Client::new(), base, uuid: String::new(), token: String::new() };
        let about = json!({ "name": "contract", "token": token, "version": "0", "labels": [LABEL] });
        let made = runner.call("Register", &about).await;
        let field = |name: &str| made["runner"][name].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
        (runner.uuid, runner.token) = (field("uuid"), field("token"));
        runner.call("Declare", &json!({ "version": "0", "labels": [LABEL] })).await;
        Some(runner)
    }

    /// One call of the protocol. It is repeated where the forge refuses, as every runner does, because a database may be busy.
    async fn call(&self, name: &str, body: &Value) -> Value {
        let url = self.base.join(name).expect("an address");
        let end = Instant::now() + PATIENCE;
        loop {
            let request = self.http.post(url.clone()).header("x-runner-uuid", &self.uuid);
            let answer = request.header("x-runner-token", &self.token).json(body).send().await.expect("an answer");
            let (status, said) = (answer.status(), answer.text().await.expect("a text"));
            if status.is_success() {
                return serde_json::from_str(&said).unwrap_or_else(|why| panic!("{name}: {why}: {said}"));
            }
            assert!(Instant::now() < end, "{name}: {status} {said}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Takes the next job, once there is one. The number of the task, which is text in JSON as every 64-bit number of the protocol.
    async fn fetch(&self) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            // A version that is not the forge's newest one means: look for a job.
            let found = self.call("FetchTask", &json!({ "tasksVersion": 0 })).await;
            if let Some(id) = found["task"]["id"].as_str() {
                return id.to_owned();
            }
            assert!(Instant::now() < end, "there is no job: {found}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Ends a job: its whole log, then its result.
    async fn end(&self, task: &str, result: &str, log: &[&str]) {
        let now = jiff::Timestamp::now().to_string();
        let rows: Vec<Value> = log.iter().map(|line| json!({ "time": now, "content": line })).collect();
        let taken = self.call("UpdateLog", &json!({ "taskId": task, "index": 0, "rows": rows, "noMore": true })).await;
        assert_eq!(taken["ackIndex"], json!(log.len().to_string()), "{taken}");
        let lasted = json!({ "result": result, "startedAt": now, "stoppedAt": now });
        let (mut step, mut state) = (lasted.clone(), lasted);
        (step["id"], step["logIndex"], step["logLength"]) = (json!(0), json!(0), json!(log.len()));
        (state["id"], state["steps"]) = (json!(task), json!([step]));
        let told = self.call("UpdateTask", &json!({ "state": state })).await;
        assert_eq!(told["state"]["result"], json!(result), "{told}");
    }
}
