//! What `caisson serve` passes to the broker it starts, and what it leaves behind however it ends: the program itself with the built-in
//! forge, a container engine and the router's image. Without an engine or the image it prints that and passes.

mod support;

use caisson::forge::{Gitea, RepoRef};
use caisson::sandbox::broker::{Broker, SocketBroker};
use caisson::secret::Secret;
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use support::home::{Home, PATIENCE, Serve, docker, term, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_fails_late_leaves_no_broker_and_no_router() {
    let Some(home) = Home::new("late").await else { return };
    let _taken = TcpListener::bind(("127.0.0.1", home.ports[0])).unwrap();
    let failed = home.run(&["serve"]);
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success() && said.contains("cannot listen on"), "{said}");
    let log = std::fs::read_to_string(home.dir.path().join("state/broker.log")).unwrap();
    assert!(log.contains("router ensure"), "there was something to leave behind: {log}");
    assert!(!home.broker_lives());
    assert_eq!(home.standing(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn however_serve_ends_its_broker_ends_too() {
    let Some(home) = Home::new("ends").await else { return };
    let mut serve = home.serving();
    assert!(home.broker_lives() && !home.standing().is_empty());
    serve.kill().unwrap();
    serve.wait().unwrap();
    // Immediately afterwards, to test that the next start does not take the ending broker for its own.
    let mut serve = home.serving();
    assert!(home.broker_lives() && !home.standing().is_empty());
    term(&mut serve);
    assert!(!home.broker_lives());
    assert_eq!(home.standing(), "");
    let mut serve = home.serving();
    serve.kill().unwrap();
    serve.wait().unwrap();
    tokio::task::block_in_place(|| until("nothing is left", || !home.broker_lives() && home.standing().is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_somebody_else_started_stays() {
    let Some(home) = Home::new("other").await else { return };
    std::fs::create_dir(home.dir.path().join("state")).unwrap();
    std::fs::set_permissions(home.dir.path().join("state"), std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .unwrap();
    let mut broker = home.broker(&[]).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let kept = tokio::task::block_in_place(|| {
        until("the broker listens", || home.socket().exists());
        let taken = TcpListener::bind(("127.0.0.1", home.ports[0])).unwrap();
        let failed = home.run(&["serve"]);
        drop(taken);
        term(&mut home.serving());
        let kept = (failed.status.success(), home.broker_lives(), home.standing().is_empty());
        term(&mut broker);
        kept
    });
    assert_eq!(kept, (false, true, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn workspaces_on_disk_are_a_setting_that_serve_hands_on_and_doctor_tells() {
    let Some(mut home) = Home::new("plain").await else { return };
    home.set("CAISSON_BROKER_PLAIN_WORKSPACES", "false");
    let refused = home.run(&["serve"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("broker.plain_workspaces"), "{said}");
    home.set("CAISSON_BROKER_PLAIN_WORKSPACES", "true");
    let mut serve = home.serving();
    let broker = SocketBroker::new(home.socket());
    let info = broker.hello().await.unwrap();
    let told = home.run(&["doctor", "--json"]);
    term(&mut serve);
    let told = String::from_utf8_lossy(&told.stdout);
    assert!(info.plain_workspaces && told.contains("on the engine's disk: each sandbox at most 8192 MiB"), "{told}");
    assert!(!told.contains("not as [broker]"), "{told}");
    // A broker that was started by hand with another configuration is refused by name, and reported by `caisson doctor`.
    let mut other =
        home.broker(&["--plain-workspaces=false"]).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    tokio::task::block_in_place(|| until("the broker listens", || home.socket().exists()));
    let (refused, told) = (home.run(&["serve"]), home.run(&["doctor", "--json"]));
    term(&mut other);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("--plain-workspaces"), "{said}");
    let told = String::from_utf8_lossy(&told.stdout);
    assert!(told.contains("plain_workspaces = false, not as [broker]"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outdated_runner_is_named_by_every_command_that_would_use_it() {
    let Some(mut home) = Home::new("old").await else { return };
    let old = home.dir.path().join("old-runner");
    // Any program that is not a runner of this build.
    std::fs::copy("/bin/sh", &old).unwrap();
    home.set("CAISSON_RUNNER", old.display().to_string());
    let said = |output: Output| {
        assert!(!output.status.success(), "{output:?}");
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat()
    };
    let named = format!("the static runner {} is of another build", old.display());
    for command in ["doctor", "barrier"] {
        let text = said(home.run(&[command]));
        assert!(text.contains(&named) && text.contains("make build"), "{command}: {text}");
    }
    assert_eq!(home.standing(), "");
    let mut serve = home.serving();
    let readyz = format!("http://127.0.0.1:{}/readyz", home.ports[1]);
    let end = Instant::now() + PATIENCE;
    loop {
        let text = reqwest::get(&readyz).await.unwrap().text().await.unwrap();
        if text.contains(&named) {
            break;
        }
        assert!(Instant::now() < end, "{text}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    term(&mut serve);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_of_the_barrier_that_is_interrupted_leaves_nothing() {
    let Some(home) = Home::new("stop").await else { return };
    let mut command = home.command(&["barrier"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut test = Serve(child);
    let name: String = home.installation.chars().take(12).collect();
    let filter = format!("name=caisson-{name}-barrier{}-", test.id() % 1000);
    let list = |words: &[&str]| docker(&[words, &["-q", "--filter", &filter]].concat()).expect("listed");
    let ended = tokio::task::block_in_place(|| {
        until("the runner's volume is there", || {
            assert!(test.try_wait().unwrap().is_none(), "the test ended early");
            !list(&["volume", "ls"]).is_empty()
        });
        assert!(Command::new("kill").args(["-INT", &test.id().to_string()]).status().unwrap().success());
        until("it ends", || test.try_wait().unwrap().is_some());
        test.wait().unwrap()
    });
    assert!(!ended.success(), "a test that was stopped does not say that the barrier holds");
    assert_eq!([list(&["ps", "-a"]), list(&["network", "ls"]), list(&["volume", "ls"])].concat(), "");
}

/// The HTTP status of a delivery signed with this secret; 0 if nobody listens.
fn status(port: u16, path: &str, secret: &Secret) -> u16 {
    use hmac::{Hmac, KeyInit, Mac};
    use std::io::{Read, Write};
    let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else { return 0 };
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.expose().as_bytes()).unwrap();
    mac.update(b"{}");
    let signature = hex::encode(mac.finalize().into_bytes());
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nx-gitea-delivery: 1\r\nx-gitea-event-type: issues\r\n\
         x-hub-signature-256: sha256={signature}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}"
    );
    let mut answer = String::new();
    let done = stream.write_all(head.as_bytes()).and_then(|()| stream.read_to_string(&mut answer));
    done.ok().and_then(|_| answer.split(' ').nth(1)?.parse().ok()).unwrap_or_default()
}

/// The output of `caisson repo add` for a project with one commit.
fn add_shop(home: &Home) -> String {
    let project = home.dir.path().join("my-shop");
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        assert!(Command::new("git").current_dir(&project).args(who).args(args).status().unwrap().success(), "{args:?}");
    };
    std::fs::create_dir(&project).unwrap();
    git(&["init", "-q", "-b", "main"]);
    git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    let added = home.run(&["repo", "add", &project.display().to_string(), "--no-try"]);
    let said = String::from_utf8_lossy(&added.stdout).into_owned() + &String::from_utf8_lossy(&added.stderr);
    assert!(added.status.success(), "{said}");
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_with_a_live_task_is_taken_out_only_when_that_is_said() {
    let Some(mut home) = Home::new("remove").await else { return };
    home.set("CAISSON_FORGE_POLL_S", "1");
    let mut serve = home.serving();
    add_shop(&home);
    let (entry, secrets) = home.entry("my-shop").await;
    let repository = format!("{}/{}", entry.owner, entry.name);
    home.forge.add_person("alice", "secret").unwrap();
    home.forge.add_collaborator(&repository, "alice", devforge::Access::Write).unwrap();
    home.forge.as_person("alice").open_issue(&repository, "Versions compare as text", "/fix").unwrap();
    let listed = || String::from_utf8_lossy(&home.run(&["task", "list"]).stdout).contains("my-shop");
    until("a task", listed);
    let remove = |more: &[&str]| {
        let done = home.run(&[&["repo", "remove", "my-shop"], more].concat());
        let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        (done.status.success(), said)
    };
    let (done, said) = remove(&[]);
    assert!(!done && said.contains("tasks that have not ended: 1") && said.contains("--end-tasks"), "{said}");
    let hook = "/webhooks/gitea/my-shop";
    assert_eq!(status(home.ports[0], hook, &secrets[0]), 202, "nothing was changed");
    let (done, said) = remove(&["--end-tasks"]);
    assert!(done && said.contains("task 1 is cancelled") && said.contains("stays on the forge"), "{said}");
    assert_eq!(status(home.ports[0], hook, &secrets[0]), 401);
    let shown = home.run(&["task", "show", "1"]);
    assert!(shown.status.success(), "its record stays: {shown:?}");
    term(&mut serve);
    assert_eq!(home.standing(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_added_is_taken_up_by_the_running_bot() {
    let Some(home) = Home::new("reload").await else { return };
    let mut serve = home.serving();
    let (hook, file) = ("/webhooks/gitea/my-shop", home.dir.path().join("caisson.toml"));
    let wrong = Secret::new("x");
    assert_eq!(status(home.ports[0], hook, &wrong), 401, "nobody knows it yet");
    assert_eq!(status(home.ports[1], "/reload", &wrong), 401, "not without the token of the state directory");
    // An invalid configuration changes nothing.
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("nonsense = 1\n{text}")).unwrap();
    let pid = serve.id().to_string();
    let hang_up = || assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    hang_up();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(status(home.ports[0], hook, &wrong), 401, "it goes on");
    std::fs::write(&file, text).unwrap();
    let said = add_shop(&home);
    assert!(said.contains("takes it up"), "{said}");
    assert!(!std::fs::read_to_string(&file).unwrap().contains("my-shop"), "the file is the operator's");
    let (entry, secrets) = home.entry("my-shop").await;
    let secret = secrets[0].clone();
    let answers = |wanted: u16| until("the hooks' listener", || status(home.ports[0], hook, &secret) == wanted);
    assert_eq!(status(home.ports[0], hook, &secret), 202, "once it is said, it is so");
    let metrics =
        reqwest::get(format!("http://127.0.0.1:{}/metrics", home.ports[1])).await.unwrap().text().await.unwrap();
    assert!(metrics.contains("result=\"unsigned\"} 2"), "it did not begin anew: {metrics}");
    let listed = home.run(&["repo", "list"]);
    let said = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(said.contains("store, written by") && said.contains(&entry.origin().to_owned()), "{said}");
    assert!(serve.try_wait().unwrap().is_none() && home.broker_lives(), "the same process");
    // A second time, to test that the replaced process still handles the signal.
    hang_up();
    tokio::task::block_in_place(|| answers(0));
    tokio::task::block_in_place(|| answers(202));
    term(&mut serve);
    assert!(!home.broker_lives());
    assert_eq!(home.standing(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_running_bot_tells_check_and_doctor_that_a_hooks_secret_was_changed() {
    let Some(home) = Home::new("secret").await else { return };
    let mut serve = home.serving();
    add_shop(&home);
    let (entry, _) = home.entry("my-shop").await;
    let token = Secret::read(&home.dir.path().join("secrets/forge-token")).unwrap();
    let bot = Gitea::new(&home.forge.url().parse().unwrap(), token, "test").unwrap();
    let repo = RepoRef::new(&entry.owner, &entry.name);
    let url = format!("http://127.0.0.1:{}/webhooks/gitea/my-shop", home.ports[0]);
    bot.replace_hook(&repo, &url, &Secret::new("guessed")).await.unwrap();
    let run = |args: &[&str]| {
        let done = home.run(args);
        let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        (done.status.success(), text)
    };
    let (_, doctor) = run(&["doctor"]);
    let (checked, check) = run(&["repo", "check"]);
    let (mended, fix) = run(&["repo", "check", "my-shop", "--fix"]);
    let (again, after) = run(&["repo", "check", "my-shop", "--fix"]);
    term(&mut serve);
    assert!(doctor.contains("wrong signature") && doctor.contains("repo check my-shop --fix"), "{doctor}");
    assert!(!checked && check.contains("signs with another secret"), "{check}");
    assert!(mended && fix.contains("was written anew"), "{fix}");
    assert!(again && !after.contains("changed:") && !after.contains("not examined"), "{after}");
    assert_eq!(home.standing(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_an_end_while_it_reloads_is_obeyed() {
    let Some(home) = Home::new("obeyed").await else { return };
    let mut serve = home.serving();
    let kill = |signal: &str| {
        let sent = Command::new("kill").args([signal, &serve.id().to_string()]).status().unwrap();
        assert!(sent.success());
    };
    // A reload first tries the forge; deliveries that arrive meanwhile are never lost.
    kill("-HUP");
    kill("-HUP");
    kill("-TERM");
    tokio::task::block_in_place(|| until("serve ends", || serve.try_wait().unwrap().is_some()));
    assert!(serve.wait().unwrap().success(), "by itself, and not by a signal");
    tokio::task::block_in_place(|| until("nothing is left", || !home.broker_lives() && home.standing().is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_life_could_not_begin_with_ends_no_running_bot() {
    let Some(home) = Home::new("unusable").await else { return };
    let mut serve = home.serving();
    let file = home.dir.path().join("caisson.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let token = Secret::read(&home.dir.path().join("state/ops.token")).unwrap();
    let reload = async |text: &str| {
        std::fs::write(&file, text).unwrap();
        let url = format!("http://127.0.0.1:{}/reload", home.ports[1]);
        let answer = reqwest::Client::new().post(url).bearer_auth(token.expose()).json(&()).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let gone = "[[repositories]]\nkey = \"x\"\nowner = \"o\"\nname = \"x\"\nid = 9\nsecret_files = [\"gone\"]\n";
    let elsewhere = "store.url = \"postgres:///caisson?host=/nowhere\"\n";
    for (changed, words) in [
        (format!("{text}\n{gone}"), "can't read this secret"),
        (format!("{elsewhere}{text}"), "store.url is another one"),
        (format!("nonsense = 1\n{text}"), "no such key"),
        (text.replace("\ntoken_file", "\n#token_file"), "token_file is not configured"),
    ] {
        let (status, said) = reload(&changed).await;
        assert!(status == 422 && said.contains(words), "{words}: {status} {said}");
    }
    assert!(serve.try_wait().unwrap().is_none(), "it goes on");
    std::fs::write(&file, text).unwrap();
    term(&mut serve);
    assert_eq!(home.standing(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_store_beside_sandboxes_that_stand_is_refused_and_they_stay() {
    let Some(home) = Home::new("newstore").await else { return };
    let dir = home.dir.path().join("state/sandboxes");
    std::os::unix::fs::DirBuilderExt::mode(std::fs::DirBuilder::new().recursive(true), 0o700).create(&dir).unwrap();
    let record =
        r#"{"task":1,"attempt":1,"name":"task-1-1","base":"b","image":"i","berth":null,"egress":[],"boot":"b"}"#;
    std::fs::write(dir.join("1.json"), record).unwrap();
    let refused = home.run(&["serve"]);
    let said = String::from_utf8_lossy(&refused.stdout).into_owned() + &String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("is it another one than before"), "{said}");
    assert!(dir.join("1.json").exists() && !home.broker_lives());
    assert_eq!(home.standing(), "");
}

/// With another key the bot would not recognise its own posts, and would post everything twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_with_another_mark_key_is_refused() {
    let Some(home) = Home::new("markkey").await else { return };
    let mut serve = home.serving();
    term(&mut serve);
    let key = home.dir.path().join("state/mark.key");
    std::fs::remove_file(&key).unwrap();
    let refused = home.run(&["serve"]);
    let said = String::from_utf8_lossy(&refused.stdout).into_owned() + &String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("marked with another key"), "{said}");
    assert!(home.run(&["store", "accept-key"]).status.success());
    let mut serve = home.serving();
    term(&mut serve);
    assert_eq!(home.standing(), "");
}
