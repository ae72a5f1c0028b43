//! Files that are taken beside finished work and hang on its pull request.

use crate::world::{FIX, PATIENCE, REPO, World};
use caisson::forge::{Attachment, ForgeReads, RepoRef};
use caisson::task::Boundary;
use devforge::Fault;
use domain::{ArtifactBar, ArtifactStep, Artifacts, ArtifactsHang, Event, Task};
use std::io::{Cursor, Read as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// Outputs of a build: two to take, one too large, one behind a link, one with a token.
const BUILD: &str = "mkdir -p dist; printf wheel > dist/shop.whl; printf '<p>ok</p>' > report.html; \
                     ln -s /etc/hostname dist/link.whl; head -c 1100000 /dev/zero > dist/large.whl; \
                     printf 'ghp_%s' $(printf 'a1B2%.0s' 1 2 3 4 5 6 7 8 9 10) > dist/token.whl";

/// A world whose base lists these artifacts and ignores them, with these tables of the operator's.
async fn world(patterns: &str, own: &str) -> World {
    world_of(&FIX.replace("git diff --stat || true", BUILD), patterns, own).await
}

async fn world_of(script: &str, patterns: &str, own: &str) -> World {
    let mut world = World::new(script).await;
    world.push(&[(".caisson.toml", &format!("artifacts = [{patterns}]\n")), (".gitignore", "dist/\nreport.html\n")]);
    world.reconfigure(|text| text + own).await;
    world
}

async fn finished(world: &World) -> Task {
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.approve().await;
    world.until_state("final-review").await
}

async fn hanging(world: &World, task: &Task) -> Vec<Attachment> {
    let pull = task.pull.expect("a pull request");
    world.look().attachments(&RepoRef::new("lab", "shop"), pull).await.expect("attachments")
}

fn held(task: &Task) -> &Artifacts {
    task.artifacts.as_ref().expect("artifacts")
}

fn archive_name(task: &Task) -> String {
    caisson::message::artifacts_name(1, &held(task).commit, &held(task).files)
}

async fn review(world: &World, task: &Task) -> String {
    world.until_said(task.pull.expect("a pull request"), "### Final review").await
}

const ALL: &str = "\"dist/*.whl\", \"report.html\", \"none/*.txt\"";

#[tokio::test(flavor = "multi_thread")]
async fn outputs_that_git_ignores_hang_on_the_pull_request_before_anybody_approves() {
    let world = world(ALL, "[repositories.artifacts]\nfile_mib = 1\n").await;
    let task = finished(&world).await;
    let files = hanging(&world, &task).await;
    assert_eq!(files.iter().map(|file| file.name.clone()).collect::<Vec<_>>(), [archive_name(&task)]);
    let bytes = world.look().attachment(&files[0], 1 << 20).await.expect("the archive");
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("read");
    let mut held_in = Vec::new();
    for at in 0..archive.len() {
        let mut file = archive.by_index(at).expect("in it");
        let mut text = String::new();
        file.read_to_string(&mut text).expect("text");
        held_in.push((file.name().to_owned(), text));
    }
    let expected = [("dist/shop.whl", "wheel"), ("report.html", "<p>ok</p>")];
    assert_eq!(held_in, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    let left: Vec<_> = held(&task).left.iter().map(|left| (left.path.as_str(), left.bar)).collect();
    let too_large = ArtifactBar::TooLarge { most: 1 << 20 };
    assert_eq!(
        left,
        [
            ("dist/large.whl", too_large),
            ("dist/link.whl", ArtifactBar::Link),
            ("dist/token.whl", ArtifactBar::Credential)
        ]
    );
    let said = review(&world, &task).await;
    for file in &held(&task).files {
        assert!(said.contains(&file.path) && said.contains(&file.sha256), "{said}");
    }
    for words in ["nobody looked into them", "larger than 1 MiB", "a symbolic link", "No file matches `none/*.txt`"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(task.head, Some(held(&task).commit.clone()), "the commit that is reviewed");
    world.approve().await;
    let task = world.until_state("approved").await;
    world.settled().await;
    assert_eq!(hanging(&world, &task).await.len(), 2, "with the log of actions");
}

/// What is built anew beside the same commit hangs there too, and the review names the newer one.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_built_anew_is_not_taken_for_what_hangs_there_already() {
    let anew = r#"
[[turn]]
text = "The wheel is built anew."
call = [
  { name = "bash", arguments = { command = "printf newer > dist/shop.whl" } },
  { name = "done", arguments = { summary = "The wheel is built anew." } },
]
"#;
    let script = FIX.replace("git diff --stat || true", BUILD) + anew;
    let world = world_of(&script, "\"dist/shop.whl\"", "").await;
    let first = finished(&world).await;
    let pull = first.pull.expect("a pull request");
    world.alice().comment(REPO, pull, "/revise build the wheel anew").expect("said");
    let second = world
        .until("the second final review", |task| {
            task.state.name() == "final-review" && task.artifacts.as_ref().is_some_and(|it| it.n > held(&first).n)
        })
        .await;
    assert_eq!(held(&second).commit, held(&first).commit, "only an ignored file changed");
    assert_eq!(held(&second).hang, Some(ArtifactsHang::Under { name: archive_name(&second) }));
    let files = hanging(&world, &second).await;
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, [archive_name(&first), archive_name(&second)]);
    let bytes = world.look().attachment(&files[1], 1 << 20).await.expect("the archive");
    let mut text = String::new();
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("read");
    archive.by_name("dist/shop.whl").expect("in it").read_to_string(&mut text).expect("text");
    assert_eq!(text, "newer");
    let (old, new) = (&held(&first).files[0].sha256, &held(&second).files[0].sha256);
    world.until_said(pull, new).await;
    let store = world.store();
    assert_eq!(store.kept_artifact(second.id, old).await.expect("read"), None, "it makes room");
    assert_eq!(store.kept_artifact(second.id, new).await.expect("read"), Some(b"newer".to_vec()));
}

/// A forge that answers as if the pull request did not let it be done now pauses nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_answers_a_conflict_at_every_upload_holds_nothing_up() {
    let world = world("\"report.html\"", "").await;
    world.forge.set_faults(|method, path| is_upload(method, path).then_some(Fault::Refused(409)));
    let task = finished(&world).await;
    assert_eq!(held(&task).hang, Some(ArtifactsHang::Failed));
    world.approve().await;
    world.until_state("approved").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_who_takes_none_has_none() {
    let world = world(ALL, "[repositories.artifacts]\nfiles = 0\n").await;
    let task = finished(&world).await;
    assert_eq!((&task.artifacts, hanging(&world, &task).await), (&None, Vec::new()));
    assert!(!review(&world, &task).await.contains("**Artifacts**"));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_forge_takes_no_files_the_review_says_so_and_work_goes_on() {
    let world = world("\"report.html\"", "").await;
    world.forge.refuse(&[("/assets", 404)]);
    let task = finished(&world).await;
    assert_eq!(held(&task).hang, Some(ArtifactsHang::Refused));
    let said = review(&world, &task).await;
    assert!(said.contains("this forge takes no such archive") && said.contains("report.html"), "{said}");
    world.approve().await;
    world.until_state("approved").await;
}

fn is_upload(method: &str, path: &str) -> bool {
    method == "POST" && path.ends_with("/assets")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_fails_at_every_upload_holds_nothing_up() {
    let world = world("\"report.html\"", "").await;
    world.forge.set_faults(|method, path| is_upload(method, path).then_some(Fault::Refused(503)));
    let task = finished(&world).await;
    assert_eq!(held(&task).hang, Some(ArtifactsHang::Failed));
    assert!(review(&world, &task).await.contains("the forge did not take the archive"));
    world.approve().await;
    world.until_state("approved").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_whose_answer_is_lost_hangs_there_once() {
    let world = world("\"report.html\"", "").await;
    let lost = AtomicBool::new(false);
    world.forge.set_faults(move |method, path| {
        (is_upload(method, path) && !lost.swap(true, Ordering::SeqCst)).then_some(Fault::Unanswered)
    });
    let task = finished(&world).await;
    assert_eq!(held(&task).hang, Some(ArtifactsHang::Under { name: archive_name(&task) }));
    assert_eq!(hanging(&world, &task).await.len(), 1);
}

/// Killed once where this effect reaches this boundary: taken, recorded and attached once all the same.
async fn killed(key: &'static str, moment: fn(Boundary) -> bool) {
    let mut world = world("\"report.html\"", "").await;
    let (met, mut reached) = tokio::sync::mpsc::unbounded_channel();
    let killed = AtomicBool::new(false);
    world.cuts.set(move |row, at| {
        row.key == key && moment(at) && !killed.swap(true, Ordering::SeqCst) && met.send(()).is_ok()
    });
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    world.until_state("awaiting-review").await;
    world.approve().await;
    tokio::time::timeout(PATIENCE, reached.recv()).await.expect("reached");
    world.kill();
    world.start().await;
    let task = world.until_state("final-review").await;
    let log = world.log().await;
    let steps: Vec<&ArtifactStep> =
        log.iter().filter_map(|event| if let Event::Artifacts(step) = event { Some(&**step) } else { None }).collect();
    assert!(matches!(steps[..], [ArtifactStep::Taken(_), ArtifactStep::Attached { .. }]), "{key}: {steps:?}");
    let names: Vec<String> = hanging(&world, &task).await.into_iter().map(|file| file.name).collect();
    assert_eq!(names, [archive_name(&task)], "{key}");
    let said = world.said(task.pull.expect("a pull request")).await;
    let finals: Vec<&String> = said.iter().filter(|text| text.contains("### Final review")).collect();
    assert!(finals.len() == 1 && finals[0].contains(&names[0]), "{key}: {finals:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_is_recorded_once_through_kills() {
    let moments: [fn(Boundary) -> bool; 4] = [
        |at| matches!(at, Boundary::Begun),
        |at| matches!(at, Boundary::Under(12) | Boundary::Done),
        |at| matches!(at, Boundary::Done),
        |at| matches!(at, Boundary::Closed),
    ];
    for moment in moments {
        killed("seal:2", moment).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_attached_once_through_kills() {
    let moments: [fn(Boundary) -> bool; 4] = [
        |at| matches!(at, Boundary::Begun),
        |at| matches!(at, Boundary::Under(3) | Boundary::Done),
        |at| matches!(at, Boundary::Done),
        |at| matches!(at, Boundary::Closed),
    ];
    for moment in moments {
        killed("attach:2", moment).await;
    }
}
