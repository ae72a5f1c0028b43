//! An ordinary checkpoint's review on a real Gitea: the names of its files lead to their part of the commit's page. Where `CAISSON_PICTURE`
//! names a file, a browser takes a picture of it (`tests/support/picture.sh`). Without a Gitea it says so and passes.

use crate::forges::{self, Lab, LabRepository};
use crate::real_forge::{begin, configured};
use crate::world::{PATIENCE, TEST};
use caisson::checkpoint::label::LABELS;
use caisson::config::Secret;
use caisson::forge::gitea::pages::file_of_commit;
use caisson::forge::{ForgeReads, Review};
use caisson::store::Store;
use domain::{Task, TaskId};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What one screen holds, in pixels; and the whole page, which is longer.
const SCREEN: &str = "1280,900";
const PAGE: &str = "1280,1800";
/// Pixels of the page above the review: a person scrolls there.
const ABOVE: u32 = 757;
/// The most bytes of the picture, so that nobody waits for it.
const LARGEST: u64 = 150 << 10;

/// Five actions, as in most checkpoints: read, change, add a test, run the tests.
const SCRIPT: &str = r#"
name = "compare versions as numbers"
[[turn]]
text = "I read the code and its test first."
call = [
  { name = "update_plan", arguments = { steps = [{ text = "compare numbers", state = "done" }, { text = "say what a suffix such as `-rc1` means", state = "open" }] } },
  { name = "read_file", arguments = { path = "semver.py" } },
  { name = "read_file", arguments = { path = "test_semver.py" } },
]
[[turn]]
text = "`newer()` compared version strings as text, so `1.10.0` sorted before `1.9.0`. It now compares the parsed numbers; one test was added."
call = [
  { name = "edit_file", arguments = { path = "semver.py", old = "    return a > b\n", new = "    return parse(a) > parse(b)\n\n\ndef parse(text):\n    return [int(part) for part in text.split('.')]\n" } },
  { name = "edit_file", arguments = { path = "test_semver.py", old = "        self.assertTrue(newer('1.10.0', '1.9.0'))\n", new = "        self.assertTrue(newer('1.10.0', '1.9.0'))\n\n    def test_equal(self):\n        self.assertFalse(newer('1.10.0', '1.10.0'))\n" } },
  { name = "bash", arguments = { command = "python3 -B -m unittest -q" } },
]
"#;

/// A repository that anybody can look at, and whose pushes nothing else reads.
async fn furnished(lab: &Lab) -> LabRepository {
    let place = lab.place("shop").await;
    lab.branch(&place, "main", &[("semver.py", "def newer(a, b):\n    return a > b\n"), ("test_semver.py", TEST)]);
    for label in LABELS {
        lab.bot
            .ensure_label(&place.repo, label.name, &format!("#{}", label.colour), label.description)
            .await
            .expect("a label");
    }
    let root = lab.hand("root");
    let settings = json!({ "private": false, "has_actions": false });
    assert_eq!(root.call("PATCH", &format!("/repos/{}", place.repo), settings).await.0, 200);
    let (status, _) = root.call("PATCH", "/orgs/lab", json!({ "visibility": "public" })).await;
    assert_eq!(status, 200, "a browser without an account is to see it");
    place
}

async fn at_a_checkpoint(store: &Store) -> Task {
    let limit = Instant::now() + PATIENCE;
    loop {
        let task = store.task(TaskId(1)).await;
        match task {
            Ok(task) if task.state.name() == "awaiting-review" => return task,
            // Before it began there is none.
            Ok(_) | Err(_) if Instant::now() < limit => tokio::time::sleep(Duration::from_millis(50)).await,
            other => panic!("no checkpoint: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ordinary_checkpoint_on_a_real_gitea_leads_to_each_file() {
    let Some(lab) = forges::real().await else { return };
    let (place, dir) = (furnished(&lab).await, tempfile::tempdir().expect("a directory"));
    let config = Arc::new(configured(&lab, &place, dir.path(), "by = []").await);
    std::fs::write(dir.path().join("script.toml"), SCRIPT).expect("written");
    lab.bot.replace_hook(&place.repo, &config.hook_url("shop"), &Secret::new("sekret")).await.expect("a hook");
    let begun = begin(config).await;
    let body = "`newer('1.10.0', '1.9.0')` says no.\n\n/fix\n";
    lab.hand("alice").open_issue(&place.repo, "Versions compare as text", body).await;
    let task = at_a_checkpoint(&begun.store).await;
    let commit = task.checkpoint().and_then(|at| at.commit.clone()).expect("a commit");
    let pull = task.pull.expect("a pull request");
    let reviews = lab.bot.reviews(&place.repo, pull).await.expect("reviews");
    let review = reviews.iter().find(|review| review.author.login == "caisson").expect("a review");
    let commits = format!("{}{}/commit/", lab.url, place.repo);
    let page = reqwest::get(format!("{commits}{commit}")).await.expect("an answer");
    assert_eq!(page.status(), 200);
    let page = page.text().await.expect("a page");
    for (path, why) in [("test_semver.py", " +3 · test, assertions 1 → 2\n"), ("semver.py", " +5 −1\n")] {
        let at = file_of_commit(&commits, commit.as_str(), path);
        assert!(review.body.contains(&format!("[`{path}`]({at}){why}")), "{}", review.body);
        let (_, part) = at.split_once('#').expect("a part");
        assert!(page.contains(&format!("id=\"{part}\"")), "the commit's page has no {part}");
    }
    if let Some(file) = std::env::var_os("CAISSON_PICTURE") {
        take(review, Path::new(&file), dir.path());
    }
    begun.end();
}

/// Has a browser show the page, and takes a picture of the screen that begins with the review. A browser without a window does not scroll, so
/// the whole page is taken first.
fn take(review: &Review, file: &Path, dir: &Path) {
    let (whole, page) = (dir.join("whole.png"), dir.join("screen.html"));
    let address = review.html_url.split('#').next().unwrap_or_default();
    browse(dir, PAGE, &whole, address);
    let style = format!("body{{margin:0;overflow:hidden}}img{{display:block;margin-top:-{ABOVE}px}}");
    std::fs::write(&page, format!("<!doctype html><style>{style}</style><img src=whole.png>")).expect("written");
    browse(dir, SCREEN, file, &format!("file://{}", page.display()));
    let bytes = std::fs::metadata(file).expect("a picture").len();
    assert!(bytes <= LARGEST, "{bytes} bytes are too many for a picture of text");
}

fn browse(dir: &Path, window: &str, into: &Path, address: &str) {
    let browser = std::env::var_os("CAISSON_CHROMIUM").map_or_else(|| PathBuf::from("chromium"), PathBuf::from);
    let mut command = Command::new(browser);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--hide-scrollbars",
    ]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.arg(format!("--user-data-dir={}", dir.join("browser").display()));
    command.arg(format!("--window-size={window}")).arg("--virtual-time-budget=8000");
    command.arg(format!("--screenshot={}", into.display())).arg(address);
    let mut taking =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a browser");
    let limit = Instant::now() + PATIENCE;
    while taking.try_wait().expect("asked").is_none() {
        if Instant::now() > limit {
            let _ = taking.kill();
            panic!("the browser takes too long");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
