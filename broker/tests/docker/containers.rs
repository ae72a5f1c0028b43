//! Life of a container, and what is refused and reaped.

use protocol::broker::{
    ContainerInfo, ContainerState, End, EngineInfo, ImageInfo, ProblemKind, Purpose, Request, VERSION,
};

use crate::lab::{IMAGE, absent, run, runner, spec};
use crate::skipped::skipped;

#[tokio::test(flavor = "multi_thread")]
async fn a_container_lives_and_every_step_may_be_repeated() {
    if absent(IMAGE) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            let info: EngineInfo = lab.ask(&Request::Hello { version: VERSION }).await.unwrap();
            assert_eq!(info.installation, lab.installation);
            let spec = spec("life");
            let inspect = Request::Inspect { name: "life".into() };
            assert_eq!(lab.ask::<Option<ContainerInfo>>(&inspect).await.unwrap(), None);
            for _ in 0..2 {
                lab.done(Request::Create(spec.clone())).await;
            }
            let created = lab.ask::<Option<ContainerInfo>>(&inspect).await.unwrap().unwrap();
            assert_eq!((created.state, created.boot, created.task), (ContainerState::Created, None, Some(7)));
            for _ in 0..2 {
                lab.done(Request::Start { name: "life".into() }).await;
            }
            let running = lab.ask::<Option<ContainerInfo>>(&inspect).await.unwrap().unwrap();
            assert_eq!((running.state, running.purpose), (ContainerState::Running, Purpose::Probe));
            assert_eq!(lab.attach("life").await.sh("echo $GREETING").await, "hello");
            for _ in 0..2 {
                lab.done(Request::Pause { name: "life".into() }).await;
            }
            let problem = lab.ask::<()>(&Request::Attach { name: "life".into() }).await.unwrap_err();
            assert_eq!(problem.kind, ProblemKind::Conflict, "{problem}");
            for _ in 0..2 {
                lab.done(Request::Unpause { name: "life".into() }).await;
            }
            for _ in 0..2 {
                lab.done(Request::Stop { name: "life".into() }).await;
            }
            let stopped = lab.ask::<Option<ContainerInfo>>(&inspect).await.unwrap().unwrap();
            assert!(matches!(stopped.state, ContainerState::Exited { end: End::Stopped, .. }), "{stopped:?}");
            lab.done(Request::Start { name: "life".into() }).await;
            let again = lab.ask::<Option<ContainerInfo>>(&inspect).await.unwrap().unwrap();
            assert_ne!(again.boot, running.boot, "another start is another boot");
            for _ in 0..2 {
                lab.done(Request::Remove { name: "life".into() }).await;
            }
            assert_eq!(lab.ask::<Option<ContainerInfo>>(&inspect).await.unwrap(), None);
            let problem = lab.ask::<()>(&Request::Start { name: "life".into() }).await.unwrap_err();
            assert_eq!(problem.kind, ProblemKind::NotFound);
            let left = lab.docker(&["volume", "ls", "-q", "-f", &format!("name=caisson-{}-work", lab.installation)]);
            assert_eq!(left, "");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_client_takes_the_stream_and_nothing_is_lost_by_it() {
    if absent(IMAGE) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            let mut first = lab.inside(&spec("two")).await;
            assert_eq!(first.sh("echo one > /workspace/kept; cat /workspace/kept").await, "one");
            let mut second = lab.attach("two").await;
            assert!(first.ended().await, "the older stream is cut off");
            assert_eq!(second.sh("cat /workspace/kept").await, "one");
            drop(second);
            // A client went away and another comes later, which the runner does not notice.
            assert_eq!(lab.attach("two").await.sh("cat /workspace/kept; echo $$").await, "one\n1");
            let mut long = lab.attach("two").await;
            let said = long.sh("head -c 3000000 /dev/zero | tr '\\0' x | fold -w 1000; echo; echo to-stderr >&2").await;
            assert_eq!(said.matches('x').count(), 3_000_000);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_listed_or_not_well_formed_is_refused() {
    if absent(IMAGE) {
        return;
    }
    let listed = |settings: &mut caisson_broker::Settings| {
        settings.images.push("caisson-no-such-image:local".into());
        settings.plain_workspaces = false;
    };
    run(listed, async |lab| {
        let refused = async |change: fn(&mut protocol::broker::ContainerSpec)| {
            let mut spec = spec("no");
            change(&mut spec);
            lab.ask::<()>(&Request::Create(spec)).await.unwrap_err()
        };
        for change in [
            (|spec| spec.image = "debian:latest".into()) as fn(&mut protocol::broker::ContainerSpec),
            |spec| spec.name = "../../etc".into(),
            |spec| spec.profile = "unconfined".into(),
            |spec| spec.limits.pids = 0,
            |spec| spec.limits.workspace_bytes = 0,
            |spec| spec.env.push(("LD_PRELOAD".into(), "/workspace/x.so".into())),
        ] {
            let problem = refused(change).await;
            assert_eq!(problem.kind, ProblemKind::Refused, "{problem}");
        }
        let problem = refused(|spec| spec.image = "caisson-no-such-image:local".into()).await;
        assert!(problem.kind == ProblemKind::NotFound && problem.text.contains("caisson-no-such-image"), "{problem}");
        assert_eq!(
            refused(|spec| spec.subnet = Some(0)).await.kind,
            ProblemKind::NotFound,
            "no subnet without a router"
        );
        let image = Request::Image { reference: IMAGE.into() };
        assert!(lab.ask::<Option<ImageInfo>>(&image).await.unwrap().unwrap().id.starts_with("sha256:"));
        let image = Request::Image { reference: "caisson-no-such-image:local".into() };
        assert_eq!(lab.ask::<Option<ImageInfo>>(&image).await.unwrap(), None);
        let image = Request::Image { reference: "debian:latest".into() };
        assert_eq!(lab.ask::<Option<ImageInfo>>(&image).await.unwrap_err().kind, ProblemKind::Refused);

        lab.done(Request::Create(spec("no"))).await;
        let mut other = spec("no");
        other.limits.pids += 1;
        let problem = lab.ask::<()>(&Request::Create(other)).await.unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Conflict, "{problem}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_without_our_label_is_never_touched() {
    if absent(IMAGE) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            let name = lab.box_name("foreign");
            lab.docker(&["create", "--name", &name, "--network", "none", IMAGE, "true"]);
            let requests = [
                Request::Create(spec("foreign")),
                Request::Start { name: "foreign".into() },
                Request::Stop { name: "foreign".into() },
                Request::Remove { name: "foreign".into() },
                Request::Attach { name: "foreign".into() },
            ];
            let mut problems = Vec::new();
            for request in requests {
                problems.push(lab.ask::<()>(&request).await);
            }
            lab.ask::<Vec<String>>(&Request::Reap { keep: vec![], mirrors: vec![] }).await.unwrap();
            let state = lab.docker(&["inspect", "-f", "{{.State.Status}}", &name]);
            lab.docker(&["rm", "-f", &name]);
            assert_eq!(state, "created");
            for problem in problems {
                assert!(problem.unwrap_err().text.contains("installation's label"));
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_without_git_or_with_a_volume_is_refused_by_name() {
    if absent(IMAGE) {
        return;
    }
    let bare = format!("caisson-test-bare-{}:local", std::process::id());
    let wide = format!("caisson-test-wide-{}:local", std::process::id());
    let build = |tag: &str, text: &str| {
        let script = format!("printf '{text}' | docker build -q -t {tag} -");
        let out = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    };
    build(&bare, &format!("FROM {IMAGE}\\nRUN rm -f /usr/bin/git\\n"));
    build(&wide, &format!("FROM {IMAGE}\\nVOLUME /data\\n"));
    let both = vec![bare.clone(), wide.clone()];
    let listed = both.clone();
    run(
        move |settings| settings.images = listed,
        async move |lab| {
            let create = |image: &str| {
                let mut spec = spec("bare");
                spec.image = image.into();
                Request::Create(spec)
            };
            let lacks = lab.ask::<()>(&create(&bare)).await;
            let volume = lab.ask::<()>(&create(&wide)).await;
            for image in &both {
                lab.docker(&["rmi", "-f", image]);
            }
            let (lacks, volume) = (lacks.unwrap_err(), volume.unwrap_err());
            assert!(lacks.text.contains(&bare) && lacks.text.contains("lacks git"), "{lacks}");
            assert!(volume.text.contains(&wide) && volume.text.contains("VOLUME /data"), "{volume}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reaping_takes_our_orphans_and_leaves_what_is_kept() {
    if absent(IMAGE) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            for name in ["keep", "drop"] {
                lab.inside(&spec(name)).await;
            }
            // A crash between two steps leaves a workspace without its container.
            lab.docker(&["rm", "-f", &lab.box_name("drop")]);
            lab.done(Request::Create(spec("late"))).await;
            let removed: Vec<String> =
                lab.ask(&Request::Reap { keep: vec!["keep".into()], mirrors: vec![] }).await.unwrap();
            assert_eq!(removed, ["late".to_owned(), format!("caisson-{}-work-drop", lab.installation)]);
            let left: Vec<ContainerInfo> = lab.ask(&Request::List).await.unwrap();
            assert_eq!(left.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["keep"]);
            assert_eq!(lab.attach("keep").await.sh("echo alive").await, "alive");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_whose_volume_was_removed_is_supplied_again() {
    if absent(IMAGE) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            lab.inside(&spec("one")).await;
            lab.done(Request::Remove { name: "one".into() }).await;
            let name = format!("name=caisson-{}-runner", lab.installation);
            let volume = lab.docker(&["volume", "ls", "-q", "-f", &name]);
            lab.docker(&["volume", "rm", &volume]);
            assert_eq!(lab.inside(&spec("two")).await.sh("echo alive").await, "alive");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_runner_answers() {
    use protocol::frame::{Decoder, Message};
    use protocol::runner::{FromRunner, MAX_PAYLOAD, Order, ToRunner};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    if absent(IMAGE) {
        return;
    }
    let Some(runner) = runner() else {
        skipped("docker", "the static caisson-runner is not built (CAISSON_RUNNER names it)");
        return;
    };
    run(
        |settings| settings.runner = runner,
        async |lab| {
            let mut inside = lab.inside(&spec("hello")).await;
            let hello = Order { epoch: 1, say: ToRunner::Hello { version: protocol::runner::VERSION } };
            let frame = Message { head: hello, body: Default::default() }.to_frame(MAX_PAYLOAD).unwrap();
            inside.stream.write_all(&frame).await.unwrap();
            let mut decoder = Decoder::new(MAX_PAYLOAD);
            let mut bytes = [0; 4096];
            let answer = async {
                loop {
                    let length = inside.stream.read(&mut bytes).await.unwrap();
                    assert_ne!(length, 0, "the runner ended");
                    if let Some(payload) = decoder.push(&bytes[..length]).into_iter().flatten().next() {
                        return Message::<FromRunner>::from_payload(payload).unwrap().head;
                    }
                }
            };
            let answer = tokio::time::timeout(std::time::Duration::from_secs(120), answer).await.unwrap();
            let info: EngineInfo = lab.ask(&Request::Hello { version: VERSION }).await.unwrap();
            match answer {
                FromRunner::Hello { runner, requests, .. } => {
                    assert_eq!(runner, info.runner, "what runs is what was given");
                    assert!(requests.is_empty());
                }
                other => panic!("{other:?}"),
            }
        },
    )
    .await;
}
