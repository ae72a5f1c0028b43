//! A workspace as a layer over a mirror's tree: each begins with the tree, and none sees another's changes.

use protocol::broker::{ContainerSpec, ProblemKind, Purpose, Request};

use crate::lab::{IMAGE, Lab, absent, run, spec};

fn over(name: &str, mirror: &str) -> ContainerSpec {
    let mut spec = ContainerSpec {
        purpose: Purpose::Task,
        user: 10_003,
        mirror: Some(mirror.into()),
        layered: true,
        ..spec(name)
    };
    spec.limits.workspace_bytes = 0;
    spec
}

/// Fills a mirror by these commands.
async fn filled(lab: &Lab, mirror: &str, commands: &str) {
    let mut spec = ContainerSpec {
        purpose: Purpose::Mirror,
        user: 10_003,
        env: Vec::new(),
        mirror: Some(mirror.into()),
        ..spec("fill")
    };
    spec.limits.workspace_bytes = 0;
    assert_eq!(lab.inside(&spec).await.sh(commands).await, "");
    lab.done(Request::Remove { name: "fill".into() }).await;
}

const TREE: &str = "mkdir -p tree/deep; echo one > tree/kept; echo two > tree/deep/changed; echo three > tree/gone";

#[tokio::test(flavor = "multi_thread")]
async fn everybody_begins_with_the_tree_and_has_a_layer_of_its_own() {
    if absent(IMAGE) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            filled(&lab, "m", TREE).await;
            let mut one = lab.inside(&over("one", "m")).await;
            let own = "stat -c '%u %g %a' .; cat kept deep/changed; stat -f -c %T .; findmnt -no OPTIONS /workspace | grep -o 'nosuid,nodev'";
            assert_eq!(one.sh(own).await, "10003 10003 755\none\ntwo\noverlayfs\nnosuid,nodev");
            let edit = "echo new > top; echo more >> deep/changed; rm gone; mkdir -p a/b; mv kept a/b/; ls -R . | tr '\\n' ' '; echo";
            assert_eq!(one.sh(edit).await, ".: a deep top  ./a: b  ./a/b: kept  ./deep: changed");
            let mut two = lab.inside(&over("two", "m")).await;
            assert_eq!(two.sh("ls; cat deep/changed").await, "deep\ngone\nkept\ntwo");
            assert_eq!(two.sh("ls /mirror/tree; (echo x > /mirror/tree/kept) 2>&1 | grep -o 'Read-only.*'").await, "deep\ngone\nkept\nRead-only file system");
            // Its changes survive a stop, as on any disk.
            lab.done(Request::Stop { name: "one".into() }).await;
            lab.done(Request::Start { name: "one".into() }).await;
            let mut again = lab.attach("one").await;
            assert_eq!(again.sh("cat top deep/changed; ls gone 2>&1 | tail -c 10").await, "new\ntwo\nmore\ndirectory");
            assert!(!lab.ask::<bool>(&Request::RemoveMirror { name: "m".into() }).await.unwrap(), "containers have it");
            for name in ["one", "two"] {
                lab.done(Request::Remove { name: name.into() }).await;
            }
            let left = lab.docker(&["volume", "ls", "-q", "-f", &format!("name=caisson-{}-", lab.installation)]);
            assert!(!left.contains("-layer-") && !left.contains("-work-"), "{left}");
            // A new one with the same name begins with the tree again.
            assert_eq!(lab.inside(&over("one", "m")).await.sh("cat kept gone; ls top 2>&1 | tail -c 10").await, "one\nthree\ndirectory");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_tasks_workspace_on_disk_can_be_one_and_a_mirror_without_a_tree_is_said() {
    if absent(IMAGE) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            filled(&lab, "bare", "echo x > objects").await;
            let in_memory = ContainerSpec { limits: spec("a").limits, ..over("a", "bare") };
            let verify = ContainerSpec { purpose: Purpose::Verify, ..over("a", "bare") };
            let nowhere = ContainerSpec { mirror: None, ..over("a", "bare") };
            for wrong in [in_memory, verify, nowhere] {
                let problem = lab.ask::<()>(&Request::Create(wrong)).await.unwrap_err();
                assert_eq!(problem.kind, ProblemKind::Refused, "{problem}");
            }
            lab.done(Request::Create(over("a", "bare"))).await;
            let problem = lab.ask::<()>(&Request::Start { name: "a".into() }).await.unwrap_err();
            assert_eq!(problem.kind, ProblemKind::Refused, "{problem}");
            assert!(problem.text.contains("does not mount its workspace"), "{problem}");
            let lost = lab.ask::<Vec<String>>(&Request::Reap { keep: vec![], mirrors: vec![] }).await.unwrap();
            assert_eq!(lost, ["a".to_owned(), format!("caisson-{}-mirror-bare", lab.installation)]);
            let left = lab.docker(&["volume", "ls", "-q", "-f", &format!("name=caisson-{}-", lab.installation)]);
            assert!(!left.contains("-layer-") && !left.contains("-work-"), "{left}");
        },
    )
    .await;
    run(
        |settings| settings.plain_workspaces = false,
        async |lab| {
            let problem = lab.ask::<()>(&Request::Create(over("a", "m"))).await.unwrap_err();
            assert_eq!(problem.kind, ProblemKind::Refused, "a broker whose operator allowed no disk");
        },
    )
    .await;
}
