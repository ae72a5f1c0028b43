//! The pages in a browser: hidden from strangers, agent's text harmless, an approval of exactly what was shown.

use caisson_devforge::{Access, Devforge, Options};
use std::path::Path;
use std::process::Command;

fn git(dir: &Path, args: &[&str]) -> String {
    let run = || Command::new("git").arg("-C").arg(dir).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").output();
    // The forge runs in this process: its worker threads must stay free to answer git.
    let output = tokio::task::block_in_place(run).expect("git starts");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Pushes one more commit to the branch and returns it.
fn push(forge: &Devforge, dir: &Path, token: &str, branch: &str, text: &str) -> String {
    std::fs::write(dir.join("f.txt"), text).unwrap();
    git(dir, &["checkout", "-q", "-B", branch]);
    git(dir, &["add", "-A"]);
    git(dir, &["-c", "user.name=t", "-c", "user.email=t@t.test", "commit", "-q", "-m", text]);
    let header = format!("http.extraHeader=Authorization: token {token}");
    git(dir, &["-c", &header, "push", "-q", &format!("{}/dev/shop.git", forge.url()), branch]);
    git(dir, &["rev-parse", "HEAD"])
}

/// The private repository `dev/shop` with a commit on `main`, a clone of it, and the token of its account `bot`.
async fn shop(forge: &Devforge) -> (tempfile::TempDir, String) {
    forge.add_person("dev", "pass word").unwrap();
    forge.add_person("bot", "bot").unwrap();
    forge.add_repository("dev/shop", true).await.unwrap();
    forge.add_collaborator("dev/shop", "bot", Access::Write).unwrap();
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q", "--initial-branch=main"]);
    let token = forge.add_token("bot").unwrap();
    push(forge, dir.path(), &token, "main", "one\n");
    (dir, token)
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_signed_in_is_not_asked_again_and_no_other_page_speaks_for_them() {
    let forge = Devforge::start(Options::quiet()).await.unwrap();
    let (dir, token) = shop(&forge).await;
    push(&forge, dir.path(), &token, "agent/1-x", "one\ntwo\n");
    let dev = forge.as_person("dev");
    dev.open_issue("dev/shop", "x", "y").unwrap();
    let http = reqwest::Client::new();
    let get = |path: &str| http.get(format!("{}{path}", forge.url()));
    for path in ["/", "/dev/shop", "/dev/shop/compare/main...agent/1-x"] {
        assert_eq!(get(path).send().await.unwrap().status(), 401, "{path} asks who is there");
    }
    let signed = async |path: &str| get(path).basic_auth("dev", Some("pass word")).send().await.unwrap();
    assert!(!signed("/dev/shop/issues/1").await.text().await.unwrap().contains("name=password"));
    assert!(signed("/dev/shop/compare/main...agent/1-x").await.text().await.unwrap().contains("<ins>+two"));
    assert_eq!(signed("/dev/shop/compare/main...gone").await.status(), 404);
    let head = git(dir.path(), &["rev-parse", "HEAD"]);
    let head = format!("/dev/shop/commit/{}", head.trim());
    assert_eq!(get(&head).send().await.unwrap().status(), 401);
    assert!(signed(&head).await.text().await.unwrap().contains("<ins>+two"));
    for none in ["/dev/shop/commit/--all", "/dev/shop/commit/0000000000"] {
        assert_eq!(signed(none).await.status(), 404, "{none}");
    }

    let said = [("act", "comment"), ("text", "hello")];
    for (from, status) in [("cross-site", 403), ("none", 403), ("same-origin", 200)] {
        let post = http.post(format!("{}/dev/shop/issues/1", forge.url())).basic_auth("dev", Some("pass word"));
        let answer = post.header("Sec-Fetch-Site", from).form(&said).send().await.unwrap();
        assert_eq!(answer.status(), status, "{from}");
    }
    let page = signed("/dev/shop/issues/1").await.text().await.unwrap();
    assert_eq!(page.matches("hello").count(), 1, "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_of_what_the_page_showed() {
    let forge = Devforge::start(Options::quiet()).await.unwrap();
    let (dir, token) = shop(&forge).await;
    let bot = forge.as_person("bot");
    let shown = push(&forge, dir.path(), &token, "agent/1-x", "one\n<script>two</script>\n");
    let http = reqwest::Client::new();
    let api = |path: &str| format!("{}/api/v1/repos/dev/shop/pulls{path}", forge.url());
    let new = serde_json::json!({ "title": "WIP: x", "body": "<img src=x>", "head": "agent/1-x", "base": "main" });
    let opened = http.post(api("")).header("Authorization", format!("token {token}")).json(&new).send().await.unwrap();
    assert_eq!(opened.status(), 201);
    bot.review_comment("dev/shop", 1, &shown, "### Checkpoint\n\n<script>x</script>").unwrap();

    let url = format!("{}/dev/shop/pulls/1", forge.url());
    assert_eq!(http.get(&url).send().await.unwrap().status(), 401, "a private page asks who is there");
    let answer = http.get(&url).basic_auth("dev", Some("pass word")).send().await.unwrap();
    assert!(answer.headers()["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
    let page = answer.text().await.unwrap();
    assert!(page.contains("<h3>Checkpoint</h3>") && page.contains(&format!("value=\"{shown}\"")), "{page}");
    assert!(!page.contains("<script") && !page.contains("<img"), "{page}");

    // Somebody pushes while the person reads: the approval is of the commit that was shown.
    let later = push(&forge, dir.path(), &token, "agent/1-x", "three\n");
    assert_ne!(later, shown);
    let form =
        |password: &'static str| [("login", "dev"), ("password", password), ("commit", &shown), ("act", "approve")];
    assert_eq!(http.post(&url).form(&form("wrong")).send().await.unwrap().status(), 403);
    let done = http.post(&url).basic_auth("dev", Some("pass word")).form(&form("pass word")).send().await.unwrap();
    assert_eq!(done.status(), 200);
    let reviews = http.get(api("/1/reviews")).header("Authorization", format!("token {token}")).send().await.unwrap();
    let reviews: serde_json::Value = reviews.json().await.unwrap();
    assert_eq!((&reviews[1]["state"], &reviews[1]["commit_id"]), (&"APPROVED".into(), &shown.into()));
}
