//! The checks in each task's sandbox: no finding for one as tasks get it, and the right check's name for a weakened one.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use caisson::barrier::{FromInside, Inspector};
use caisson::git::{Branch, RemoteUrl, Repos};
use caisson::sandbox::broker::Broker;
use caisson::sandbox::{EgressControl, PrepareSpec, Sandboxes, Settings};
use serde_json::json;

use crate::lab::{Change, IMAGE, Lab, ROUTER, Weak, lenient, run, runner};

fn git(dir: &Path, words: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b.invalid"];
    let done = Command::new("git").arg("-C").arg(dir).args(identity).args(words).status();
    assert!(done.is_ok_and(|status| status.success()), "git {words:?}");
}

/// The inspector's findings for a task's sandbox made by this broker.
async fn said(lab: &Lab, broker: Arc<dyn Broker>, control: Option<Arc<dyn EgressControl>>) -> Vec<String> {
    let origin = lab.dir.path().join("origin");
    if !origin.exists() {
        std::fs::create_dir(&origin).expect("a directory");
        std::fs::write(origin.join("a"), "a\n").expect("a file");
        git(&origin, &["init", "-q", "-b", "main"]);
        git(&origin, &["add", "-A"]);
        git(&origin, &["commit", "-q", "-m", "a"]);
    }
    let repos = Repos::new(lab.dir.path().join("repos"));
    let url = RemoteUrl::parse(origin.to_str().expect("UTF-8")).expect("a path");
    repos.fetch("a", &url, None).await.expect("fetched");
    let base = repos.resolve("a", &Branch::parse("main").expect("a branch")).await.expect("a commit");
    let settings = Settings::new(lab.dir.path().join("state"), IMAGE);
    let network = control.is_some();
    let sandboxes = Arc::new(Sandboxes::new(broker.clone(), control, repos, settings, 1).expect("sandboxes"));
    let limits = lab.config("").sandbox.limits();
    let (image, repo_key, egress) = (IMAGE.to_owned(), "a".to_owned(), Vec::new());
    let (task, attempt, trunk, setup, anew, merge, afresh) = (1, 1, None, None, None, None, false);
    let spec = PrepareSpec {
        task,
        attempt,
        repo_key,
        base,
        trunk,
        image,
        limits,
        network,
        egress,
        setup,
        anew,
        merge,
        afresh,
    };
    sandboxes.of_tasks.prepare(&spec).await.expect("prepared");
    sandboxes.of_tasks.open(1).await.expect("opened");
    let inspector = FromInside { looks: sandboxes.looks.clone(), broker, router_image: ROUTER.to_owned() };
    let said = inspector.mismatches(1).await.expect("tried");
    sandboxes.of_tasks.remove(1).await.expect("removed");
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tasks_own_sandbox_is_looked_at_and_a_weak_one_is_refused_by_its_check() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| async move {
        assert_eq!(said(&lab, lab.broker.clone(), None).await, [] as [String; 0], "without a network");
        let way = lab.networked(lab.broker.clone(), "").await.router.expect("a router");
        let control = || Some(way.egress.clone() as Arc<dyn EgressControl>);
        assert_eq!(said(&lab, lab.broker.clone(), control()).await, [] as [String; 0], "in a subnet");

        let weak = |change: Change, joined| Arc::new(Weak { victim: "task-1-1", joined, ..Weak::new(&lab, change) });
        let joined = said(&lab, weak(|_, _| {}, true), control()).await;
        assert!(joined[0].starts_with("check 8 (interfaces)") && joined[0].contains("eth1"), "{joined:?}");
        assert!(joined[1].starts_with("check 9 (routes)"), "{joined:?}");
        if lenient(&lab).await {
            let open = Arc::new(Weak { unfenced: true, ..Weak::new(&lab, |_, _| {}) });
            let heard = said(&lab, open, control()).await;
            assert!(heard.len() == 1 && heard[0].starts_with("check 11 "), "{heard:?}");
        }
        // The machine's own network instead of the subnet's, so that it can reach what a subnet cannot.
        let host: Change = |body, _| {
            body["HostConfig"]["NetworkMode"] = json!("bridge");
            body["NetworkingConfig"] = json!({});
        };
        let bridged = said(&lab, weak(host, false), control()).await.join("\n");
        for check in ["check 9 (routes)", "check 11 (a listener of this machine)"] {
            assert!(bridged.contains(check), "{bridged}");
        }
    })
    .await;
}
