//! The dashboard in use: the program itself with the built-in forge, and the page in a real browser (Chromium, driven by its debugging
//! protocol). Without an engine or a browser it prints that and passes.

mod support;

use base64::Engine as _;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use support::home::{Home, PATIENCE, Serve, term, until};
use support::skipped::skipped;

/// A title that contains markup.
const TITLE: &str = "<img src=x onerror=\"document.title='broken out'\"> is shown as text";
const SCRIPT: &str = r#"
name = "looked at"

[[turn]]
text = "I look with TOKEN."
call = [{ name = "bash", arguments = { command = "printf '<script>document.title=\"broken out\"</script>\\n'" } }]

[[turn]]
text = "Nothing to do."
call = [{ name = "done", arguments = { summary = "Looked." } }]
"#;

/// What looks like a credential, and stands in what the model says.
fn token() -> String {
    format!("gh{}_{}", "p", "a1B2".repeat(10))
}

/// A bot with one task, and the address of its page.
struct Looked {
    home: Home,
    serve: Serve,
    page: String,
}

async fn looked_at(name: &str) -> Option<Looked> {
    let mut home = Home::new(name).await?;
    let script = home.dir.path().join("script.toml");
    std::fs::write(&script, SCRIPT.replace("TOKEN", &token())).unwrap();
    home.set("CAISSON_MODEL_SCRIPT", script.display().to_string());
    home.set("CAISSON_FORGE_POLL_S", "1");
    let serve = home.serving();
    let project = home.dir.path().join("shop");
    std::fs::create_dir(&project).unwrap();
    for args in [&["init", "-q", "-b", "main"][..], &["commit", "-q", "--allow-empty", "-m", "x"]] {
        let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        assert!(Command::new("git").current_dir(&project).args(who).args(args).status().unwrap().success());
    }
    let added = home.run(&["repo", "add", &project.display().to_string(), "--no-try"]);
    assert!(added.status.success(), "{added:?}");
    let (entry, _) = home.entry("shop").await;
    let repository = format!("{}/{}", entry.owner, entry.name);
    home.forge.add_person("alice", "secret").unwrap();
    home.forge.add_collaborator(&repository, "alice", devforge::Access::Write).unwrap();
    home.forge.as_person("alice").open_issue(&repository, TITLE, "/fix").unwrap();
    let page = format!("http://127.0.0.1:{}/dashboard", home.ports[1]);
    Some(Looked { home, serve, page })
}

impl Looked {
    /// A login code, as `caisson dashboard` prints it.
    fn code(&self) -> String {
        let said = self.home.run(&["dashboard"]);
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(said.contains(&self.page), "{said}");
        let line = said.lines().find(|line| line.trim_start().starts_with("code")).expect("a code");
        line.split_whitespace().last().unwrap().to_owned()
    }
}

async fn text(answer: reqwest::Response) -> (u16, String) {
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_session_that_a_code_opened_is_shown_tasks() {
    let Some(mut looked) = looked_at("looked").await else { return };
    let (client, page) = (reqwest::Client::new(), looked.page.clone());
    let front = client.get(&page).send().await.unwrap();
    let policy = front.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(!front.text().await.unwrap().contains(TITLE), "nothing of a task is in the page itself");
    let api = |path: &str| client.get(format!("{page}/api{path}"));
    for path in ["/tasks", "/tasks/1", "/tasks/1/events"] {
        assert_eq!(api(path).send().await.unwrap().status(), 401, "{path}");
        let token = std::fs::read_to_string(looked.home.dir.path().join("state/ops.token")).unwrap();
        assert_eq!(api(path).bearer_auth(token.trim()).send().await.unwrap().status(), 401, "orders are no session");
    }
    assert_eq!(client.post(format!("{page}/code")).send().await.unwrap().status(), 401, "no code without the token");
    let open = |code: String| client.post(format!("{page}/session")).json(&json!({ "code": code }));
    let (status, said) = text(open("22222-22222".into()).send().await.unwrap()).await;
    assert!(status == 401 && said.contains("caisson dashboard"), "{status} {said}");
    let other = client.get(&page).header("host", "caisson.example:8441").send().await.unwrap();
    assert_eq!(other.status(), 421, "a name of somebody else's is no way here");
    let code = looked.code();
    let (status, said) = text(open(code.clone()).send().await.unwrap()).await;
    assert_eq!(status, 200, "{said}");
    let session = serde_json::from_str::<Value>(&said).unwrap()["session"].as_str().unwrap().to_owned();
    assert_eq!(open(code).send().await.unwrap().status(), 401, "a code is good once");
    let order = client.post(format!("http://127.0.0.1:{}/tasks/1/stop", looked.home.ports[1]));
    assert_eq!(order.bearer_auth(&session).send().await.unwrap().status(), 401, "a session orders nothing");
    let end = Instant::now() + PATIENCE;
    loop {
        let (_, tasks) = text(api("/tasks").bearer_auth(&session).send().await.unwrap()).await;
        if tasks.contains("is shown as text") {
            break;
        }
        assert!(Instant::now() < end, "{tasks}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(api("/tasks/7").bearer_auth(&session).send().await.unwrap().status(), 404);
    // All events from the first on, then new ones as they happen.
    let mut stream = api("/tasks/1/events").bearer_auth(&session).send().await.unwrap();
    let (end, mut heard) = (Instant::now() + PATIENCE, String::new());
    while !heard.contains("\"action_finished\"") {
        assert!(Instant::now() < end, "{heard}");
        let chunk = tokio::time::timeout(PATIENCE, stream.chunk()).await.expect("in time").unwrap();
        heard.push_str(&String::from_utf8_lossy(&chunk.expect("it goes on")));
    }
    assert!(heard.starts_with("id: 1\ndata: ") && heard.contains("\"requested\""), "{heard}");
    let said = "I look with [left out by caisson: a GitHub token].";
    assert!(heard.contains(said) && !heard.contains(&token()), "{heard}");
    let mut behind = api("/tasks/1/events?after=2").bearer_auth(&session).send().await.unwrap();
    let first = behind.chunk().await.unwrap().unwrap();
    assert!(first.starts_with(b"id: 3\n"), "{first:?}");
    term(&mut looked.serve);
}

/// Chromium over its debugging pipe: JSON messages that end with a zero byte.
struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    last: u64,
}

impl Browser {
    fn start(profile: &std::path::Path) -> Option<Browser> {
        let name = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
        })?;
        // The pipe is the browser's descriptors 3 and 4; its sandbox does not start as root.
        let script = format!(
            "exec {name} --headless=new --no-sandbox --disable-gpu --no-proxy-server --user-data-dir=\"$1\" --remote-debugging-pipe 3<&0 4>&1"
        );
        let mut command = Command::new("sh");
        command
            .args(["-c", &script, "sh"])
            .arg(profile)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut browser = Browser { child, to, from, session: None, last: 0 };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        Some(browser)
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("the browser takes it");
        loop {
            let mut answer = Vec::new();
            assert!(self.from.read_until(0, &mut answer).unwrap() > 0, "the browser ended");
            answer.pop();
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            if answer["id"] == self.last {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    fn value(&mut self, expression: &str) -> Value {
        let done = self.call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }));
        assert!(done.get("exceptionDetails").is_none(), "{expression}: {done}");
        done["result"]["value"].clone()
    }

    fn shows(&mut self, expression: &str) {
        until(expression, || self.value(expression) == json!(true));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        term(&mut self.child);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_shows_a_task_as_it_works_and_markup_as_text() {
    let Some(mut looked) = looked_at("page").await else { return };
    let profile = tempfile::tempdir().unwrap();
    let Some(mut browser) = tokio::task::block_in_place(|| Browser::start(profile.path())) else {
        return skipped("browser", "no Chromium (Debian's package chromium)");
    };
    let code = looked.code();
    tokio::task::block_in_place(|| {
        browser.call("Page.navigate", json!({ "url": looked.page }));
        browser.shows("document.readyState === 'complete' && !document.getElementById('sign-in').hidden");
        let sign_in = |code: &str| {
            format!(
                "document.getElementById('code').value = '{code}'; document.querySelector('#sign-in button').click()"
            )
        };
        browser.value(&sign_in("22222-22222"));
        browser.shows("document.getElementById('refused').textContent.includes('caisson dashboard')");
        browser.value(&sign_in(&code));
        browser.shows("document.querySelectorAll('#list tr').length === 1");
        browser.shows("document.getElementById('list').textContent.includes('is shown as text')");
        browser.value("document.querySelector('#list button').click()");
        // The page updates without user input.
        browser.shows("document.getElementById('events').textContent.includes('action_finished')");
        browser.shows("document.getElementById('actions').textContent.includes('exit 0')");
        browser.shows("document.getElementById('facts').textContent.includes('paused') || document.getElementById('facts').textContent.includes('review')");
        // Who uses the keyboard stays where they are when the list is read again.
        browser.value("document.querySelector('#list button').focus(); performance.clearResourceTimings()");
        browser.shows(
            "performance.getEntriesByType('resource').filter((it) => it.name.endsWith('/api/tasks')).length > 2",
        );
        let focused = "document.activeElement === document.querySelector('#list button')";
        assert_eq!(browser.value(focused), json!(true));
        // What was not answered is asked for again, because no further event may come.
        browser.value(
            "window.given = window.fetch; \
             window.fetch = (path, ...rest) => { \
                 if (!/tasks.[0-9]+$/.test(path)) return window.given(path, ...rest); \
                 window.fetch = window.given; \
                 return Promise.reject(new Error('no answer')); \
             }; \
             document.getElementById('facts').replaceChildren(); \
             renewDetails(); \
             null",
        );
        browser.shows("window.fetch === window.given && document.getElementById('facts').children.length > 0");
        let output = "document.getElementById('actions').textContent.includes('<script>document.title')";
        browser.shows(output);
        assert_eq!(browser.value("document.querySelectorAll('img, #tasks script').length"), json!(0));
        assert_eq!(browser.value("document.title"), json!("Caisson"));
        // After the end of a session what was open is followed by the next one.
        browser.value("sessionStorage.setItem('session', 'over')");
        browser.shows("!document.getElementById('sign-in').hidden");
        browser.value("document.getElementById('events').replaceChildren()");
        browser.value(&sign_in(&looked.code()));
        browser.shows("document.getElementById('events').textContent.includes('action_finished')");
        browser.shows("document.getElementById('actions').textContent.includes('exit 0')");
        // A screenshot for inspection by hand.
        if let Some(file) = std::env::var_os("CAISSON_PICTURE") {
            browser.value("document.querySelector('#actions details').open = true");
            let picture = browser.call("Page.captureScreenshot", json!({ "format": "png" }));
            let bytes = base64::engine::general_purpose::STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
            std::fs::write(file, bytes).unwrap();
        }
    });
    drop(browser);
    term(&mut looked.serve);
}
