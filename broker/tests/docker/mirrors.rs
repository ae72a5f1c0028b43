//! A repository's mirror: one container writes to it, all others read it, and it is removed when unused.

use protocol::broker::{ContainerSpec, ProblemKind, Purpose, Request};

use crate::lab::{IMAGE, absent, run, spec};

fn filling(name: &str, mirror: &str) -> ContainerSpec {
    let mut spec =
        ContainerSpec { purpose: Purpose::Mirror, env: Vec::new(), mirror: Some(mirror.into()), ..spec(name) };
    spec.limits.workspace_bytes = 0;
    spec
}

fn reading(name: &str, mirror: &str) -> ContainerSpec {
    ContainerSpec { mirror: Some(mirror.into()), ..spec(name) }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_read_only_for_all_but_the_container_that_fills_it() {
    if absent(IMAGE) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            let problem = lab.ask::<()>(&Request::Create(reading("early", "m"))).await.unwrap_err();
            assert_eq!((problem.kind, &problem.text[..]), (ProblemKind::NotFound, "there is no mirror m"));
            let mut fill = lab.inside(&filling("fill", "m")).await;
            assert_eq!(fill.sh("echo one > kept; cat /workspace/kept; ls -d /mirror 2>&1 | tail -c 10").await, "one\ndirectory");
            let mut read = lab.inside(&reading("read", "m")).await;
            let tried = "echo $CAISSON_MIRROR; cat /mirror/kept; for at in /mirror/new /mirror/kept; do (echo x > $at) 2>&1 | grep -o 'Read-only.*'; done";
            assert_eq!(read.sh(tried).await, "/mirror\none\nRead-only file system\nRead-only file system");
            // It may be filled while it is read; additions become visible.
            assert_eq!(fill.sh("echo two > added").await, "");
            assert_eq!(read.sh("cat /mirror/added; ls /workspace").await, "two");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_its_user_s_alone() {
    if absent(IMAGE) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            let of = |user, spec: ContainerSpec| ContainerSpec { user, ..spec };
            let task = |user, name: &str| of(user, ContainerSpec { purpose: Purpose::Task, ..reading(name, "m") });
            let mut fill = lab.inside(&of(10_005, filling("fill", "m"))).await;
            assert_eq!(fill.sh("stat -c '%u %g %a' /workspace; umask 077; echo one > kept").await, "10005 10005 755");
            lab.done(Request::Remove { name: "fill".into() }).await;
            let mut own = lab.inside(&task(10_005, "own")).await;
            assert_eq!(own.sh("cat /mirror/kept; id -un").await, "one\nagent-10005");
            for (user, name) in [(10_006, "other"), (10_001, "former"), (0, "root")] {
                for wanted in [task(user, name), of(user, filling(name, "m"))] {
                    let problem = lab.ask::<()>(&Request::Create(wanted)).await.unwrap_err();
                    assert_eq!(problem.kind, ProblemKind::Refused, "{problem}");
                }
            }
            // As made by an earlier release: with our labels, without a user.
            let (volume, ours) = (
                format!("caisson-{}-mirror-old", lab.installation),
                format!("caisson.installation={}", lab.installation),
            );
            lab.docker(&["volume", "create", "--label", &ours, "--label", "caisson.kind=mirror", &volume]);
            let problem = lab.ask::<()>(&Request::Create(of(10_005, filling("again", "old")))).await.unwrap_err();
            assert_eq!(
                (problem.kind, &problem.text[..]),
                (ProblemKind::Refused, "the mirror old is not user 10005's: it is nobody's")
            );
            // It can be filled repeatedly for its repository.
            let mut fill = lab.inside(&of(10_005, filling("fill", "m"))).await;
            assert_eq!(fill.sh("echo two > added; cat kept added").await, "one\ntwo");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_goes_when_nothing_has_it_and_a_foreign_volume_never() {
    if absent(IMAGE) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            let remove = |name: &str| Request::RemoveMirror { name: name.into() };
            for mirror in ["used", "kept", "lost"] {
                lab.inside(&filling("fill", mirror)).await;
                lab.done(Request::Remove { name: "fill".into() }).await;
            }
            lab.inside(&reading("read", "used")).await;
            assert!(!lab.ask::<bool>(&remove("used")).await.unwrap(), "a container has it");
            let reap = |keep: &[&str]| Request::Reap {
                keep: keep.iter().map(|&it| it.into()).collect(),
                mirrors: vec!["kept".into()],
            };
            let removed: Vec<String> = lab.ask(&reap(&["read"])).await.unwrap();
            assert_eq!(removed, [format!("caisson-{}-mirror-lost", lab.installation)]);
            lab.done(Request::Remove { name: "read".into() }).await;
            for _ in 0..2 {
                assert!(lab.ask::<bool>(&remove("used")).await.unwrap());
            }
            assert_eq!(lab.ask::<bool>(&remove("../x")).await.unwrap_err().kind, ProblemKind::Refused);

            let foreign = format!("caisson-{}-mirror-foreign", lab.installation);
            lab.docker(&["volume", "create", &foreign]);
            let mut problems = Vec::new();
            for request in
                [remove("foreign"), Request::Create(reading("a", "foreign")), Request::Create(filling("b", "foreign"))]
            {
                problems.push(lab.ask::<serde_json::Value>(&request).await);
            }
            lab.ask::<Vec<String>>(&reap(&[])).await.unwrap();
            let left = lab.docker(&["volume", "ls", "-q", "-f", &format!("name=caisson-{}-mirror", lab.installation)]);
            lab.docker(&["volume", "rm", &foreign]);
            assert!(left.contains("-foreign") && left.contains("-kept") && !left.contains("-used"), "{left}");
            for problem in problems {
                assert_eq!(problem.unwrap_err().kind, ProblemKind::Refused);
            }
        },
    )
    .await;
}
