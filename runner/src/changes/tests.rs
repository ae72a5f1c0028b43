//! Observing a workspace with many changes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use super::tree::Tree;
use super::*;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    fs::write(path, text).expect("a file");
}

async fn seen(changes: &Changes, act: impl FnOnce()) -> Touched {
    changes.begin().await;
    act();
    changes.end().await
}

fn names(of: &[String]) -> Vec<&str> {
    of.iter().map(String::as_str).collect()
}

fn all(touched: &Touched) -> (Vec<&str>, Vec<&str>, Vec<&str>) {
    (names(&touched.created), names(&touched.changed), names(&touched.deleted))
}

/// Runs a test with inotify, and without it, where everything is read each time.
async fn with_each(test: AsyncTest) {
    for observes in [true, false] {
        let dir = tempfile::tempdir().expect("a directory");
        let mut changes = Changes::of(dir.path());
        if !observes {
            changes.watcher = None;
            changes.tree = Arc::new(Mutex::new(Tree::new(dir.path(), None, MOST)));
        }
        test(dir.path().to_owned(), changes).await;
    }
}

type AsyncTest = fn(PathBuf, Changes) -> std::pin::Pin<Box<dyn Future<Output = ()>>>;

#[test]
fn rules_are_left_when_their_time_is_over() {
    let dir = tempfile::tempdir().expect("a directory");
    write(dir.path(), ".gitignore", "*.log\n");
    write(dir.path(), "a.log", "x");
    let mut tree = Tree::new(dir.path(), None, MOST);
    drop(tree.refresh(&Observed::default()));
    let mut ignored = Ignored::new(dir.path(), &tree);
    assert!(ignored.holds(Path::new("a.log")) && !ignored.is_late());
    let mut late = Ignored::until(dir.path(), &tree, Instant::now());
    assert!(!late.holds(Path::new("a.log")) && late.is_late());
}

#[tokio::test]
async fn files_links_and_moves_are_told() {
    with_each(|root, changes| Box::pin(files(root, changes))).await;
}

async fn files(root: PathBuf, changes: Changes) {
    let root = root.as_path();
    write(root, "a.txt", "one");
    write(root, "b/c.txt", "two");
    write(root, "b/d/e.txt", "three");
    let none = seen(&changes, || ()).await;
    assert_eq!(none.changes(), 0, "what was there before is nobody's: {none:?}");
    let one = seen(&changes, || {
        write(root, "a.txt", "ONE");
        write(root, "new/deep/f.txt", "four");
        fs::remove_file(root.join("b/c.txt")).expect("gone");
        symlink("/etc/passwd", root.join("link")).expect("a link");
    })
    .await;
    assert_eq!(all(&one), (vec!["link", "new/deep/f.txt"], vec!["a.txt"], vec!["b/c.txt"]));
    let moved = seen(&changes, || {
        fs::rename(root.join("b"), root.join("z")).expect("moved");
        write(root, "z/d/e.txt", "THREE");
        write(root, "new/deep/f.txt", "FOUR");
    })
    .await;
    assert_eq!(all(&moved), (vec!["z/d/e.txt"], vec!["new/deep/f.txt"], vec!["b/d/e.txt"]));
    let again = seen(&changes, || write(root, "z/d/e.txt", "six")).await;
    assert_eq!(all(&again), (vec![], vec!["z/d/e.txt"], vec![]), "it is heard by its new name");
    let linked = seen(&changes, || {
        fs::hard_link(root.join("a.txt"), root.join("z/twin")).expect("a link");
        write(root, ".git/objects/x", "not the work");
        write(root, "gone", "and");
        fs::remove_file(root.join("gone")).expect("gone");
    })
    .await;
    assert_eq!(all(&linked), (vec!["z/twin"], vec!["a.txt"], vec![]));
}

#[tokio::test]
async fn a_time_that_was_set_back_hides_nothing() {
    with_each(|root, changes| Box::pin(set_back(root, changes))).await;
}

async fn set_back(root: PathBuf, changes: Changes) {
    write(&root, "a.txt", "one");
    let then = fs::metadata(root.join("a.txt")).and_then(|of| of.modified()).expect("a time");
    let touched = seen(&changes, || {
        write(&root, "a.txt", "two");
        let file = fs::File::options().write(true).open(root.join("a.txt")).expect("a file");
        file.set_modified(then).expect("set");
    })
    .await;
    assert_eq!(touched.changed, ["a.txt"]);
}

#[tokio::test]
async fn by_products_are_counted_and_the_list_ends() {
    with_each(|root, changes| Box::pin(many(root, changes))).await;
}

async fn many(root: PathBuf, changes: Changes) {
    write(&root, ".gitignore", "target/\n*.log\n!keep.log\n");
    write(&root, "sub/.gitignore", "local\n");
    let touched = seen(&changes, || {
        (0..1000).for_each(|n| write(&root, &format!("target/{}/{n}", n % 10), "x"));
        (0..300).for_each(|n| write(&root, &format!("src/{n:03}"), "x"));
        write(&root, "a.log", "x");
        write(&root, "keep.log", "x");
        write(&root, "sub/local", "x");
    })
    .await;
    assert_eq!((touched.created.len(), touched.unnamed, touched.ignored), (200, 101, 1002));
    assert_eq!((touched.created[0].as_str(), touched.changes()), ("keep.log", 1303));
    let long = seen(&changes, || (0..150).for_each(|n| write(&root, &format!("{n:0200}"), "x"))).await;
    let bytes: usize = long.created.iter().map(String::len).sum();
    assert!(bytes <= MOST_BYTES && long.created.len() as u64 + long.unnamed == 150, "{bytes}");
}

#[tokio::test]
async fn what_was_only_read_is_told_as_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path();
    write(root, "a.txt", "one");
    write(root, "b/c.txt", "two");
    let changes = Changes::of(root);
    let touched = seen(&changes, || {
        drop(fs::read(root.join("b/c.txt")));
        drop(fs::read(root.join("a.txt")));
        write(root, "a.txt", "two");
    })
    .await;
    assert_eq!((touched.read, touched.changed, touched.unseen), (vec!["b/c.txt".into()], vec!["a.txt".into()], None));
    let deaf = Changes { watcher: None, tree: Arc::new(Mutex::new(Tree::new(root, None, MOST))), ..Changes::of(root) };
    let touched = seen(&deaf, || drop(fs::read(root.join("a.txt")))).await;
    assert!(touched.unseen.is_some_and(|said| said.contains("what was read is not known")));
}

#[tokio::test]
async fn what_the_host_does_is_no_action_s_and_what_went_on_behind_is_the_next_one_s() {
    with_each(|root, changes| Box::pin(whose(root, changes))).await;
}

async fn whose(root: PathBuf, changes: Changes) {
    assert_eq!(seen(&changes, || ()).await.changes(), 0);
    write(&root, "behind", "x");
    let next = seen(&changes, || ()).await;
    assert_eq!(next.created, ["behind"]);
    write(&root, "of the host", "x");
    changes.pass_over();
    assert_eq!(seen(&changes, || ()).await.changes(), 0);
}

#[tokio::test]
async fn more_than_is_remembered_is_said() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut changes = Changes::of(dir.path());
    changes.tree = Arc::new(Mutex::new(Tree::new(dir.path(), changes.watcher.clone(), 10)));
    let few = seen(&changes, || write(dir.path(), "a", "x")).await;
    assert_eq!(few.created, ["a"]);
    let many = seen(&changes, || (0..20).for_each(|n| write(dir.path(), &format!("d/{n}"), "x"))).await;
    assert!(many.changes() == 0 && many.unseen.is_some_and(|said| said.contains("not looked at")));
}

#[tokio::test]
async fn a_queue_that_ran_over_loses_no_change() {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path();
    write(root, "last", "x");
    let most: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events")
        .ok()
        .and_then(|n| n.trim().parse().ok())
        .unwrap_or(16384);
    let changes = Changes::of(root);
    let deadline = Instant::now() + Duration::from_secs(60);
    let touched = seen(&changes, || {
        // Nobody reads the queue meanwhile; the kernel merges two equal successive events.
        for n in 0..=most / 2 {
            let name = root.join(format!("f{}", n % 100));
            fs::write(name, "x").expect("a file");
            assert!(Instant::now() < deadline);
        }
        write(root, "deep/last", "y");
    })
    .await;
    assert_eq!(touched.created.len(), 101, "{touched:?}");
    assert!(touched.unseen.is_some_and(|said| said.contains("known in part")));
}

#[tokio::test]
async fn more_events_than_are_read_at_once_lose_no_change() {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path();
    let long = |n: usize| root.join(format!("{n:0200}"));
    (0..100).for_each(|n| fs::write(long(n), "x").expect("a file"));
    let changes = Changes::of(root);
    // Fewer than the kernel's queue takes, and more bytes than are read at once.
    let touched = seen(&changes, || {
        (0..6000).for_each(|n| drop(fs::read(long(n % 100))));
        write(root, "last", "y");
        write(root, "deep/last", "y");
    })
    .await;
    assert_eq!(touched.created, ["deep/last", "last"], "{touched:?}");
    assert!(touched.unseen.is_some_and(|said| said.contains("known in part")));
    let next = seen(&changes, || write(root, "last", "zz")).await;
    assert_eq!(
        (next.changed, next.unseen),
        (vec!["last".to_owned()], None),
        "what was left is none of the next action's"
    );
    assert_eq!(next.read, [""; 0]);
}

#[tokio::test]
async fn a_flood_of_events_that_goes_on_leaves_the_thread_to_others() {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path();
    let changes = Changes::of(root);
    (0..8).for_each(|n| write(root, &n.to_string(), "x"));
    changes.begin().await;
    let (stop, opened) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let flood = |n: usize| {
        // Two files by turns, because the kernel merges two equal successive events.
        let files = [root.join(n.to_string()), root.join((n + 4).to_string())];
        let (stop, opened) = (Arc::clone(&stop), Arc::clone(&opened));
        std::thread::spawn(move || {
            (0..2_000_000_usize).any(|at| {
                drop(fs::File::open(&files[at % 2]).expect("a file"));
                opened.fetch_add(1, Ordering::Relaxed);
                stop.load(Ordering::Relaxed)
            })
        })
    };
    let floods: Vec<_> = (0..4).map(flood).collect();
    let other = async {
        while opened.load(Ordering::Relaxed) < 50_000 {
            tokio::task::yield_now().await;
        }
        stop.store(true, Ordering::Relaxed);
    };
    tokio::select! {
        never = changes.listen() => match never {},
        () = other => {}
    }
    assert!(floods.into_iter().all(|flood| flood.join().expect("it ended")), "each was stopped before its own end");
    let after = seen(&changes, || write(root, "last", "y")).await;
    assert_eq!(after.created, ["last"], "{after:?}");
}
