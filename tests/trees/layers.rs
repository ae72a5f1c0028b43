//! Workspaces on disk of a large repository: its files are checked out once, in the mirror, and sandboxes are layers over them.

use std::sync::Arc;

use caisson::sandbox::broker::SocketBroker;
use caisson::sandbox::{CaptureSpec, Captured, PrepareSpec, Sandboxes, Settings};
use domain::{Action, Commit};
use protocol::runner::Limits;

use crate::docker::{IMAGE, in_containers};
use crate::mirror::{MANY, in_memory, many_files, of_many_files, spec};
use crate::world::{World, commit};

/// The bot's side of a real engine, with a mirror of every repository.
pub fn sandboxes_on(world: &World, broker: SocketBroker) -> Arc<Sandboxes> {
    let settings = Settings { mirror_from_bytes: 0, ..Settings::new(world.dir.path().join("real"), IMAGE) };
    Arc::new(Sandboxes::new(Arc::new(broker), None, world.repos.clone(), settings, 1).expect("sandboxes"))
}

/// A task's workspace on disk, of the upstream's current commit, in a container without a network.
pub async fn in_container(world: &World, task: i64) -> PrepareSpec {
    let spec = spec(world, task).await;
    PrepareSpec { image: IMAGE.to_owned(), network: false, egress: Vec::new(), ..spec }
}

async fn begun(world: &World, task: i64) -> Commit {
    let spec = spec(world, task).await;
    world.sandboxes.of_tasks.prepare(&spec).await.expect("prepared");
    spec.base
}

/// The commit whose files are in the mirror, as recorded.
fn tree(world: &World) -> Option<String> {
    let text = std::fs::read(world.dir.path().join("state/mirrors.json")).expect("remembered");
    let all: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    all["demo"]["tree"].as_str().map(str::to_owned)
}

fn index(world: &World, owner: impl std::fmt::Display) -> Option<Vec<u8>> {
    std::fs::read(world.dir.path().join(format!("state/index/{owner}"))).ok()
}

async fn changed(world: &World, task: i64, base: &Commit) -> Vec<String> {
    let mut spec = world.capture_spec(task, 1, base);
    spec.segment.base = base.clone();
    let captured = world.sandboxes.captures.capture(&spec).await.expect("captured");
    let Captured::Commit { files, .. } = captured else { panic!("{captured:?}") };
    files.into_iter().map(|file| file.path).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_tree_is_checked_out_once_and_a_later_commit_brings_what_differs() {
    let world = of_many_files().await;
    let base = begun(&world, 1).await;
    assert_eq!(tree(&world), Some(base.to_string()));
    let containers = || world.broker.created.lock().unwrap().iter().filter(|name| name.starts_with("tree-")).count();
    let before = containers();
    begun(&world, 2).await;
    assert_eq!(containers(), before, "made once");
    assert_eq!((index(&world, 1), index(&world, 2)), (None, None), "the tree's own is for all of them");
    let see = format!("git status --short; git log -1 --format=%s; cat {MANY}7/number-7.txt sum.py | head -2");
    for task in [1, 2] {
        assert_eq!(world.bash(task, &see).await.outcome.text, "many files\nsame size\ndef add(a, b):\n");
    }
    // Changes show only in the task's own layer and checkpoint.
    world.bash(1, &format!("printf 'SAME SIZE\\n' >{MANY}7/number-7.txt; rm README.md; echo new >new.txt")).await;
    assert_eq!(changed(&world, 1, &base).await, ["README.md", &format!("{MANY}7/number-7.txt"), "new.txt"]);
    assert_eq!(world.bash(2, &see).await.outcome.text, "many files\nsame size\ndef add(a, b):\n");

    let up = world.upstream();
    std::fs::remove_file(up.join("README.md")).expect("removed");
    commit(&up, &[("later.txt", "later\n"), ("sum.py", "def plus(a, b):\n")], "a later one");
    let later = begun(&world, 3).await;
    assert_eq!(
        (tree(&world), containers()),
        (Some(base.to_string()), before),
        "still the first, which others lie over"
    );
    let text = world.bash(3, &format!("{see}; cat later.txt; ls README.md 2>&1 | tail -c 10")).await.outcome.text;
    assert_eq!(text, "a later one\nsame size\ndef plus(a, b):\nlater\ndirectory\n");
    // The index file of a task that an earlier start of the bot left behind.
    let stray = world.dir.path().join("state/index/99");
    let living = stray.with_file_name("3");
    std::fs::create_dir_all(stray.parent().expect("a parent")).expect("made");
    for path in [&stray, &living] {
        std::fs::write(path, "DIRC").expect("written");
    }
    world.sandboxes.of_tasks.reap(&[1, 2, 3]).await.expect("reaped");
    assert!(!stray.exists() && living.exists());
    world.bash(3, &format!("echo more >>{MANY}0/number-0.txt")).await;
    assert_eq!(changed(&world, 3, &later).await, [format!("{MANY}0/number-0.txt")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_repository_has_no_tree_nor_does_one_whose_workspaces_are_in_memory() {
    let world = World::with(crate::world::FILES, |settings| settings.mirror_from_bytes = 0).await;
    begun(&world, 1).await;
    let world_of_many = of_many_files().await;
    world_of_many.sandboxes.of_tasks.prepare(&in_memory(&world_of_many, 1).await).await.expect("prepared");
    assert_eq!((tree(&world), tree(&world_of_many)), (None, None));
    // When disk is asked for later, the tree is made then.
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
    in_containers("layers", |_| {}, |world, broker, _| async move {
        many_files(&world);
        // Every `.txt` file is `text`; none has a carriage return yet.
        commit(&world.upstream(), &[(".gitattributes", "*.txt text\n")], "attributes");
        let sandboxes = sandboxes_on(&world, broker);
        let spec = in_container(&world, 1).await;
        sandboxes.of_tasks.prepare(&spec).await.expect("prepared");
        let limits = Limits { wall_ms: 30_000, output_bytes: 4000 };
        let bash = async |task, id, command: &str| {
            let action = Action::Bash { command: command.to_owned() };
            sandboxes.actions.act(task, id, &action, limits).await.expect("acted").outcome.text
        };
        let taken = async |task, n, parent: &Commit, base: &Commit| {
            let mut capture = CaptureSpec { protected: Vec::new(), ..world.capture_spec(task, n, parent) };
            capture.segment.base = base.clone();
            let captured = sandboxes.captures.capture(&capture).await.expect("captured");
            let Captured::Commit { commit, files, left_out, .. } = captured else { panic!("{captured:?}") };
            sandboxes.of_tasks.open(task).await.expect("opened");
            let shown = files.iter().map(|file| format!("{} {}", file.kind, file.path.replace(MANY, "")));
            let left_out = left_out.iter().map(|path| format!("left out {}", path.replace(MANY, "")));
            (commit, shown.chain(left_out).collect::<Vec<_>>())
        };
        // No new file, so git looks for no untracked ones: same size with the old modification time; deleted; executable; unchanged.
        let quiet = format!(
            "cd {MANY}1 && t=$(stat -c %y number-1.txt) && printf 'SAME SIZE\\n' >number-1.txt && touch -d \"$t\" number-1.txt && cd - >/dev/null
             rm {MANY}2/number-2.txt; rm -r {MANY}4; chmod +x {MANY}3/number-3.txt; cat sum.py >sum2 && cat sum2 >sum.py && rm sum2
             touch $CAISSON_LAYER/x 2>&1 | grep -o 'Read-only.*'; stat -f -c %T .; id -u"
        );
        assert_eq!(bash(1, 1, &quiet).await, "Read-only file system\noverlayfs\n10003\n");
        // The layer names every change: no file of the tree is read.
        let tell = "/opt/caisson/caisson-runner changed $CAISSON_LAYER $CAISSON_MIRROR/tree . 0 </dev/null | tail -1; echo ${PIPESTATUS[0]}";
        assert_eq!(bash(1, 2, tell).await, "done\n0\n");
        let (first, mut files) = taken(1, 1, &spec.base, &spec.base).await;
        let gone = files.iter().filter(|file| file.starts_with("deleted 4/")).count();
        files.retain(|file| !file.starts_with("deleted 4/"));
        let all = ["modified 1/number-1.txt", "deleted 2/number-2.txt", "mode 3/number-3.txt"];
        assert_eq!((files, gone), (all.map(str::to_owned).to_vec(), 150));
        // New; moved, also a whole directory; made anew; a file for a directory and the other way round; ignored; and what git itself
        // was told to overlook.
        let odd = format!(
            "echo new >{MANY}3/new.txt; mv {MANY}5/number-5.txt {MANY}6/; mv {MANY}9 {MANY}99; rm -r {MANY}8; mkdir {MANY}8; echo x >{MANY}8/number-8.txt
             rm -r {MANY}10; echo file >{MANY}10; rm {MANY}11/number-11.txt; mkdir {MANY}11/number-11.txt; echo in >{MANY}11/number-11.txt/it
             mkdir -p {MANY}3/__pycache__ target/debug && echo x | tee {MANY}3/__pycache__/x.pyc >target/debug/app
             echo 'secret*' >.gitignore; echo x >secret; ln -sf number-32.txt {MANY}12/number-12.txt
             git update-index --assume-unchanged {MANY}7/number-7.txt; echo x >{MANY}7/number-7.txt; rm .git/index"
        );
        assert_eq!(bash(1, 3, &odd).await, "");
        let (_, mut files) = taken(1, 2, &first, &spec.base).await;
        let mut many = |start: &str| {
            let before = files.len();
            files.retain(|file| !file.starts_with(start));
            before - files.len()
        };
        let whole = ["deleted 8/", "deleted 9/", "added 99/", "deleted 10/"].map(&mut many);
        assert_eq!(whole, [149, 150, 150, 150]);
        files.sort();
        let all = [
             "added 10", "added 11/number-11.txt/it", "added 3/new.txt", "added 6/number-5.txt",
            "deleted 11/number-11.txt", "deleted 5/number-5.txt",
            "left out 3/__pycache__/", "left out target/",
            "mode 12/number-12.txt",
            "modified .gitignore",  "modified 7/number-7.txt",
            "modified 8/number-8.txt",
        ];
        assert_eq!(files, all.map(str::to_owned));
        // A task from a later commit, over the tree of the earlier one.
        commit(&world.upstream(), &[("later.txt", "later\n"), ("sum.py", "def plus(a, b):\n")], "a later one");
        let spec = in_container(&world, 2).await;
        sandboxes.of_tasks.prepare(&spec).await.expect("prepared");
        assert_eq!(bash(2, 1, "git status --short; stat -f -c %T .; cat later.txt sum.py").await, "overlayfs\nlater\ndef plus(a, b):\n");
        bash(2, 2, &format!("echo more >>later.txt; echo new >new.txt; rm {MANY}4/number-4.txt; echo x >>{MANY}5/number-5.txt")).await;
        let (second, files) = taken(2, 1, &spec.base, &spec.base).await;
        assert_eq!(files, ["modified later.txt", "deleted 4/number-4.txt", "modified 5/number-5.txt", "added new.txt"]);
        // Deleting a file that the mirror's tree never had leaves no whiteout in the layer.
        bash(2, 3, "rm later.txt new.txt").await;
        let (again, files) = taken(2, 2, &second, &spec.base).await;
        assert_eq!(files, ["deleted later.txt", "deleted new.txt"]);
        // For files that git stores otherwise than they are on disk, git itself compares every file.
        bash(2, 4, &format!("printf 'a\\r\\n' >ends.txt; printf 'SAME SIZE\\r\\n' >{MANY}6/number-6.txt")).await;
        let told = bash(2, 5, &tell.replace("tail -1", "wc -l")).await;
        assert!(told.contains("ends of lines that git may turn") && told.ends_with("\n1\n"), "{told}");
        let (third, files) = taken(2, 3, &again, &spec.base).await;
        assert_eq!(files, ["added ends.txt", "modified 6/number-6.txt"]);
        let stored = world.repos.show("demo", &third, "ends.txt", 100).await.expect("read");
        assert_eq!(stored.as_deref(), Some(b"a\n".as_slice()));
        for task in [1, 2] {
            sandboxes.of_tasks.remove(task).await.expect("removed");
        }
        sandboxes.leave().await;
    })
    .await;
}
