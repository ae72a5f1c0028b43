//! Workspaces on disk of a large repository: its files are checked out once, in the mirror, and sandboxes are layers over them.

use std::sync::Arc;

use caisson::sandbox::{PrepareSpec, Sandboxes, SealSpec, Sealed, Settings};
use domain::{Action, Commit};
use protocol::broker::ChamberLimits;
use protocol::runner::Limits;

use crate::docker::{IMAGE, in_containers};
use crate::mirror::{MANY, many_files, of_many_files, spec};
use crate::world::{World, commit};

fn on_disk(spec: PrepareSpec) -> PrepareSpec {
    PrepareSpec { limits: ChamberLimits { workspace_bytes: 0, ..spec.limits }, ..spec }
}

async fn begun(world: &World, task: i64) -> Commit {
    let spec = on_disk(spec(world, task).await);
    world.sandboxes.prepare(&spec).await.expect("prepared");
    spec.base
}

/// The commit whose files lie in the mirror, as it is remembered.
fn tree(world: &World) -> Option<String> {
    let text = std::fs::read(world.dir.path().join("state/mirrors.json")).expect("remembered");
    let all: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    all["demo"]["tree"].as_str().map(str::to_owned)
}

fn index(world: &World, owner: impl std::fmt::Display) -> Option<Vec<u8>> {
    std::fs::read(world.dir.path().join(format!("state/index/{owner}"))).ok()
}

async fn changed(world: &World, task: i64, base: &Commit) -> Vec<String> {
    let mut spec = world.seal_spec(task, 1, base);
    spec.stretch.base = base.clone();
    let sealed = world.sandboxes.seal(&spec).await.expect("sealed");
    let Sealed::Commit { files, .. } = sealed else { panic!("{sealed:?}") };
    files.into_iter().map(|file| file.path).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_tree_is_checked_out_once_and_a_later_commit_brings_what_differs() {
    let world = of_many_files().await;
    let base = begun(&world, 1).await;
    assert_eq!(tree(&world), Some(base.to_string()));
    let chambers = || world.broker.created.lock().unwrap().iter().filter(|name| name.starts_with("tree-")).count();
    let before = chambers();
    begun(&world, 2).await;
    assert_eq!(chambers(), before, "made once");
    let kept = index(&world, 1).expect("kept without asking the sandbox");
    assert_eq!(Some(&kept), index(&world, 2).as_ref());
    let see = format!("git status --short; git log -1 --format=%s; cat {MANY}7/number-7.txt sum.py | head -2");
    for task in [1, 2] {
        assert_eq!(world.bash(task, &see).await.outcome.text, "many files\nsame size\ndef add(a, b):\n");
    }
    // What one does is in its own layer and its own checkpoint.
    world.bash(1, &format!("printf 'SAME SIZE\\n' >{MANY}7/number-7.txt; rm README.md; echo new >new.txt")).await;
    assert_eq!(changed(&world, 1, &base).await, ["README.md", &format!("{MANY}7/number-7.txt"), "new.txt"]);
    assert_eq!(world.bash(2, &see).await.outcome.text, "many files\nsame size\ndef add(a, b):\n");

    let up = world.upstream();
    std::fs::remove_file(up.join("README.md")).expect("removed");
    commit(&up, &[("later.txt", "later\n"), ("sum.py", "def plus(a, b):\n")], "a later one");
    let later = begun(&world, 3).await;
    assert_eq!((tree(&world), chambers()), (Some(base.to_string()), before), "still the first, which others lie over");
    let text = world.bash(3, &format!("{see}; cat later.txt; ls README.md 2>&1 | tail -c 10")).await.outcome.text;
    assert_eq!(text, "a later one\nsame size\ndef plus(a, b):\nlater\ndirectory\n");
    assert_ne!(index(&world, 3).expect("its own"), kept);
    // Of a mirror that an earlier life forgot.
    let stray = world.dir.path().join("state/index/0123-gone");
    std::fs::write(&stray, "DIRC").expect("written");
    world.sandboxes.reap(&[1, 2, 3]).await.expect("reaped");
    assert!(!stray.exists() && index(&world, 1).is_some() && index(&world, 3).is_some());
    world.bash(3, &format!("echo more >>{MANY}0/number-0.txt")).await;
    assert_eq!(changed(&world, 3, &later).await, [format!("{MANY}0/number-0.txt")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_repository_has_no_tree_nor_does_one_whose_workspaces_are_in_memory() {
    let world = World::with(crate::world::FILES, |settings| settings.mirror_from_bytes = 0).await;
    begun(&world, 1).await;
    let world_of_many = of_many_files().await;
    world_of_many.sandboxes.prepare(&spec(&world_of_many, 1).await).await.expect("prepared");
    assert_eq!((tree(&world), tree(&world_of_many)), (None, None));
    // Asked for on disk later, it is made then.
    let base = begun(&world_of_many, 2).await;
    assert_eq!(tree(&world_of_many), Some(base.to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_that_no_workspace_can_lie_over_fails_no_task_and_is_not_tried_again() {
    let world = of_many_files().await;
    let base = begun(&world, 1).await;
    let mirrors = world.broker.mirror("x").parent().expect("a parent").to_owned();
    let mirror = std::fs::read_dir(mirrors).expect("mirrors").next().expect("one").expect("read").path();
    std::fs::remove_dir_all(mirror.join("tree")).expect("removed");
    begun(&world, 2).await;
    assert_eq!(world.bash(2, "git status --short; cat sum.py | wc -l").await.outcome.text, "2\n");
    assert_eq!(tree(&world), None);
    begun(&world, 3).await;
    world.bash(3, "echo x >>sum.py").await;
    assert_eq!(changed(&world, 3, &base).await, ["sum.py"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_containers_a_checkpoint_of_a_layer_has_every_change() {
    in_containers("layers", |settings| settings.plain_workspaces = true, |world, broker, _| async move {
        many_files(&world);
        let settings = Settings { mirror_from_bytes: 0, ..Settings::new(world.dir.path().join("real"), IMAGE) };
        let sandboxes = Sandboxes::new(Arc::new(broker), None, world.repos.clone(), settings, 1).expect("sandboxes");
        let spec = on_disk(spec(&world, 1).await);
        let spec = PrepareSpec { image: IMAGE.to_owned(), network: false, egress: Vec::new(), ..spec };
        sandboxes.prepare(&spec).await.expect("prepared");
        // Of the same size, with the old time of change; gone; new; moved; and what git itself was told to overlook.
        let odd = format!(
            "stat -f -c %T . && cd {MANY}1 && t=$(stat -c %y number-1.txt) && printf 'SAME SIZE\\n' >number-1.txt && touch -d \"$t\" number-1.txt && cd - >/dev/null
             rm {MANY}2/number-2.txt; echo new >{MANY}3/new.txt; mv {MANY}5/number-5.txt {MANY}6/; rm -r {MANY}8; mkdir {MANY}8; echo x >{MANY}8/number-8.txt
             git update-index --assume-unchanged {MANY}7/number-7.txt; echo x >{MANY}7/number-7.txt; rm .git/index; id -u"
        );
        let limits = Limits { wall_ms: 30_000, output_bytes: 4000 };
        let done = sandboxes.act(1, 1, &Action::Bash { command: odd }, limits).await.expect("acted").outcome;
        assert_eq!(done.text, "overlayfs\n10001\n");
        let mut seal = SealSpec { protected: Vec::new(), ..world.seal_spec(1, 1, &spec.base) };
        seal.stretch.base = spec.base.clone();
        let Sealed::Commit { files, .. } = sandboxes.seal(&seal).await.expect("sealed") else { panic!("no commit") };
        let mut paths: Vec<String> = files.iter().map(|file| file.path.replace(MANY, "")).collect();
        let gone = paths.iter().filter(|path| path.starts_with("8/")).count();
        paths.retain(|path| !path.starts_with("8/"));
        let all = ["1/number-1.txt", "2/number-2.txt", "3/new.txt", "5/number-5.txt", "6/number-5.txt", "7/number-7.txt"];
        assert_eq!((paths, gone), (all.map(str::to_owned).to_vec(), 150), "149 are gone and one is another");
        // A task from a later commit, over the tree of the earlier one.
        commit(&world.upstream(), &[("later.txt", "later\n"), ("sum.py", "def plus(a, b):\n")], "a later one");
        let spec = on_disk(crate::mirror::spec(&world, 2).await);
        let spec = PrepareSpec { image: IMAGE.to_owned(), network: false, egress: Vec::new(), ..spec };
        sandboxes.prepare(&spec).await.expect("prepared");
        let see = "git status --short; stat -f -c %T .; cat later.txt sum.py".to_owned();
        let done = sandboxes.act(2, 1, &Action::Bash { command: see }, limits).await.expect("acted").outcome;
        assert_eq!(done.text, "overlayfs\nlater\ndef plus(a, b):\n");
        for task in [1, 2] {
            sandboxes.remove(task).await.expect("removed");
        }
        sandboxes.leave().await;
    })
    .await;
}
