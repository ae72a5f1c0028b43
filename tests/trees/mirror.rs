//! The mirror of a repository: made once, read by every sandbox, and holding only what tasks may read.

use std::collections::BTreeSet;
use std::path::PathBuf;

use caisson::git::{Branch, Tree};
use caisson::sandbox::broker::Broker as _;
use caisson::sandbox::{Captured, PrepareSpec, VerifySpec};
use domain::{Commit, VerdictKind};
use protocol::broker::ContainerLimits;

use crate::world::{FILES, KEY, World, commit, git, head, url};

async fn mirrored() -> World {
    World::with(FILES, |settings| settings.mirror_from_bytes = 0).await
}

/// A task that starts now, from the default branch's current commit.
pub async fn spec(world: &World, task: i64) -> PrepareSpec {
    world.repos.fetch(KEY, &url(&world.upstream()), None).await.expect("fetched");
    let base = head(&world.upstream());
    PrepareSpec { base: base.clone(), trunk: Some(base), ..world.spec(task) }
}

/// With a workspace in memory, which is no layer, whatever the repository.
pub async fn in_memory(world: &World, task: i64) -> PrepareSpec {
    let spec = spec(world, task).await;
    PrepareSpec { limits: ContainerLimits { workspace_bytes: 1 << 30, ..spec.limits }, ..spec }
}

async fn begun(world: &World, task: i64) -> Commit {
    let spec = in_memory(world, task).await;
    world.sandboxes.of_tasks.prepare(&spec).await.expect("prepared");
    spec.base
}

fn mirrors(world: &World) -> Vec<PathBuf> {
    let parent = world.broker.mirror("x").parent().expect("a parent").to_owned();
    let mut all: Vec<PathBuf> = std::fs::read_dir(parent).into_iter().flatten().flatten().map(|it| it.path()).collect();
    all.sort();
    all
}

/// Every object that git finds inside the sandbox.
async fn objects(world: &World, task: i64) -> BTreeSet<String> {
    let done = world.bash(task, "git cat-file --batch-all-objects --batch-check='%(objectname)'").await;
    done.outcome.text.lines().map(str::to_owned).collect()
}

/// The objects that these revisions reach at the upstream.
fn reached(world: &World, words: &[&str]) -> BTreeSet<String> {
    let words: Vec<&str> = ["rev-list", "--objects", "--no-object-names"].iter().chain(words).copied().collect();
    git(&world.upstream(), &words).lines().map(str::to_owned).collect()
}

/// A text of this many bytes that no packing makes smaller.
fn noise(seed: u64, bytes: usize) -> String {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'!' + u8::try_from(state % 90).expect("small"))
    };
    (0..bytes).map(|_| next()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_made_once_and_every_sandbox_reads_from_it() {
    let world = mirrored().await;
    let (one, two) = (spec(&world, 1).await, spec(&world, 2).await);
    let (one, two) = tokio::join!(world.sandboxes.of_tasks.prepare(&one), world.sandboxes.of_tasks.prepare(&two));
    one.expect("prepared");
    two.expect("prepared");
    let created = world.broker.created.lock().unwrap().clone();
    assert_eq!(created.iter().filter(|name| name.starts_with("mirror-")).count(), 1, "{created:?}");
    for task in [1, 2] {
        let seen = world.bash(task, "git status --short; git log --oneline; ls .git/objects/pack; cat README.md").await;
        assert!(seen.outcome.text.ends_with("first\n# Demo\n"), "{}", seen.outcome.text);
    }
    assert_eq!(mirrors(&world).len(), 1);
    assert_eq!(world.left().await, ["task-1-1", "task-2-1"], "who filled it is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_it_is_what_the_default_branch_reaches_and_nothing_else() {
    let world = World::with(FILES, |settings| (settings.mirror_from_bytes, settings.history_depth) = (0, 2)).await;
    let up = world.upstream();
    git(&up, &["checkout", "-q", "-b", "other"]);
    commit(&up, &[("secret.txt", "of another branch\n")], "secret");
    git(&up, &["checkout", "-q", "main"]);
    commit(&up, &[("README.md", "# Two\n")], "second");
    commit(&up, &[("README.md", "# Three\n")], "third");
    let base = begun(&world, 1).await;
    let allowed = reached(&world, &["HEAD", "^HEAD~2"]);
    let tree = reached(&world, &["HEAD~1^{tree}", "HEAD^{tree}"]);
    let allowed: BTreeSet<String> = allowed.union(&tree).cloned().collect();
    assert_eq!(objects(&world, 1).await, allowed, "two commits and their trees");
    // A task's commits are in no object store that another task reads.
    world.bash(1, "echo mine > mine.txt").await;
    let capture = |n, parent: &Commit| {
        let mut spec = world.capture_spec(1, n, parent);
        spec.segment.base = base.clone();
        spec
    };
    let captured = world.sandboxes.captures.capture(&capture(1, &base)).await.expect("captured");
    let Captured::Commit { commit: mine, .. } = captured else { panic!("{captured:?}") };
    begun(&world, 2).await;
    assert_eq!(objects(&world, 2).await, allowed);
    // Another sandbox of the same task has the commit, on top of the mirror.
    let again = PrepareSpec { attempt: 2, base: mine.clone(), ..spec(&world, 1).await };
    world.sandboxes.of_tasks.prepare(&again).await.expect("prepared");
    let own = objects(&world, 1).await;
    assert!(own.is_superset(&allowed) && own.contains(mine.as_str()), "{own:?}");
    assert_eq!(own.len(), allowed.len() + 3, "a commit, its tree, a file");
    assert_eq!(world.bash(1, "git status --short; cat mine.txt").await.outcome.text, "mine\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_from_it_is_the_same_commit_whatever_became_of_the_agents_git() {
    let world = mirrored().await;
    let base = begun(&world, 1).await;
    world.bash(1, "sed -i 's/a - b/a + b/' sum.py; rm -rf .git/objects; echo x > .git/HEAD").await;
    let captured = world.sandboxes.captures.capture(&world.capture_spec(1, 1, &base)).await.expect("captured");
    let Captured::Commit { commit: first, files, .. } = captured else { panic!("{captured:?}") };
    assert_eq!(files.len(), 1, "{files:?}");
    world.sandboxes.of_tasks.open(1).await.expect("open");
    world.bash(1, "rm -rf .git; echo two > two.txt").await;
    let captured = world.sandboxes.captures.capture(&world.capture_spec(1, 2, &first)).await.expect("captured");
    let Captured::Commit { commit: second, files, .. } = captured else { panic!("{captured:?}") };
    assert_eq!(files.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["two.txt"]);
    let plain = World::new().await;
    begun(&plain, 1).await;
    plain.bash(1, "sed -i 's/a - b/a + b/' sum.py").await;
    let captured = plain.sandboxes.captures.capture(&plain.capture_spec(1, 1, &base)).await.expect("captured");
    assert!(matches!(captured, Captured::Commit { commit, .. } if commit == first), "as without a mirror");
    let verify = VerifySpec {
        base,
        wall_ms: 30_000,
        ..world.checks(&second, Some("grep -q 'a + b' sum.py && test -f two.txt"))
    };
    let verdict = world.sandboxes.verification.verify(&verify).await.expect("verified");
    assert_eq!((verdict.kind, verdict.base_exit_code), (VerdictKind::Passed, Some(1)), "{verdict:?}");
}

/// Enough files that the index of their checkout is kept: `<MANY><0 to 19>/number-<0 to 2999>.txt`.
pub async fn of_many_files() -> World {
    let world = mirrored().await;
    many_files(&world);
    world
}

pub fn many_files(world: &World) {
    for number in 0..3000 {
        let name = format!("{MANY}{}/number-{number}.txt", number % 20);
        crate::world::write(&world.upstream(), &name, "same size\n");
    }
    commit(&world.upstream(), &[], "many files");
}

pub const MANY: &str = "many/a-file-with-a-rather-long-name-";

#[tokio::test(flavor = "multi_thread")]
async fn in_a_large_tree_a_checkpoint_has_every_change() {
    let world = of_many_files().await;
    let base = begun(&world, 1).await;
    let index = world.dir.path().join("state/index/1");
    assert!(index.is_file(), "kept before the agent entered");
    let at = MANY.trim_end_matches('-');
    // Of the same size and with the old time of change; gone; new; another mode; and what git itself was told to overlook.
    let odd = format!(
        "cd {at}-1 && t=$(stat -c %y number-1.txt) && printf 'SAME SIZE\\n' >number-1.txt && touch -d \"$t\" number-1.txt && cd - >/dev/null
         rm {at}-2/number-2.txt; echo new >{at}-3/new.txt; chmod +x {at}-4/number-4.txt; mv {at}-5/number-5.txt {at}-6/
         git update-index --assume-unchanged {at}-7/number-7.txt; echo x >{at}-7/number-7.txt; rm .git/index"
    );
    world.bash(1, &odd).await;
    let mut spec = world.capture_spec(1, 1, &base);
    spec.segment.base = base.clone();
    let Captured::Commit { files, .. } = world.sandboxes.captures.capture(&spec).await.expect("captured") else {
        panic!("no commit")
    };
    let changed: Vec<String> = files.iter().map(|file| file.path.replace(at, "")).collect();
    let all = [
        "many/-1/number-1.txt",
        "many/-2/number-2.txt",
        "many/-3/new.txt",
        "many/-4/number-4.txt",
        "many/-5/number-5.txt",
        "many/-6/number-5.txt",
        "many/-7/number-7.txt",
    ];
    assert_eq!(changed, all.map(|path| path.replace("many/", "")), "{files:?}");
    world.sandboxes.of_tasks.remove(1).await.expect("removed");
    assert!(!index.exists());
}

/// git may compare whole seconds: a file changed at once looks unchanged, unless its time is not trusted.
#[tokio::test(flavor = "multi_thread")]
async fn in_a_large_tree_a_change_within_the_second_of_the_check_out_is_seen() {
    let world = of_many_files().await;
    let at = format!("{MANY}1");
    // Most often the first one is changed within that second.
    for task in 1..=4 {
        let base = begun(&world, task).await;
        assert!(world.dir.path().join(format!("state/index/{task}")).is_file(), "kept");
        // The tree is taken in a later second.
        world.bash(task, &format!("printf 'SAME SIZE\\n' >{at}/number-2981.txt; sleep 1.1")).await;
        let mut spec = world.capture_spec(task, 1, &base);
        spec.segment.base = base.clone();
        let captured = world.sandboxes.captures.capture(&spec).await.expect("captured");
        let Captured::Commit { files, .. } = captured else { panic!("the change was not seen: {captured:?}") };
        assert_eq!(files.len(), 1, "{files:?}");
        world.sandboxes.of_tasks.remove(task).await.expect("removed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_branch_gains_is_sent_on_top_or_added() {
    let world = mirrored().await;
    let up = world.upstream();
    begun(&world, 1).await;
    let generation = mirrors(&world);
    let filled = || world.broker.created.lock().unwrap().iter().filter(|it| it.starts_with("mirror-")).count();
    commit(&up, &[("small.txt", "a little\n")], "a little more");
    begun(&world, 2).await;
    assert_eq!((mirrors(&world), filled()), (generation.clone(), 1), "a little is sent");
    assert_eq!(world.bash(2, "cat small.txt; git log --oneline | wc -l").await.outcome.text, "a little\n2\n");
    commit(&up, &[("large.txt", &noise(7, 2 << 20))], "much more");
    begun(&world, 3).await;
    assert_eq!((mirrors(&world), filled()), (generation, 2), "much is added where it was");
    assert_eq!(
        world.bash(3, "git log --oneline | wc -l; ls .git/objects/pack; git status --short").await.outcome.text,
        "3\n"
    );
    assert_eq!(objects(&world, 3).await, reached(&world, &["HEAD"]));
    // A task that began before still works.
    assert_eq!(world.bash(1, "git fsck --no-dangling 2>&1; git log --oneline | wc -l").await.outcome.text, "1\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rewritten_branch_gets_another_one_without_what_was_taken_out() {
    let world = mirrored().await;
    let up = world.upstream();
    commit(&up, &[("leak.txt", "a password\n")], "a mistake");
    let secret = git(&up, &["rev-parse", "HEAD:leak.txt"]);
    begun(&world, 1).await;
    assert!(objects(&world, 1).await.contains(&secret));
    let old = mirrors(&world);
    git(&up, &["reset", "-q", "--hard", "HEAD~1"]);
    begun(&world, 2).await;
    assert_eq!(objects(&world, 2).await, reached(&world, &["HEAD"]), "the secret is gone with its commit");
    assert_eq!(mirrors(&world).len(), 2, "the first task still reads the old one");
    world.sandboxes.of_tasks.remove(1).await.expect("removed");
    world.sandboxes.leave().await;
    world.sandboxes.of_tasks.remove(2).await.expect("removed");
    let left = mirrors(&world);
    assert!(left.len() == 1 && left != old, "{left:?}");
    // The mirror is unused: the repository is not configured now.
    world.sandboxes.mirrors.keep_mirrors_of(&["another".to_owned()]).expect("written");
    world.sandboxes.of_tasks.reap(&[]).await.expect("reaped");
    assert_eq!(mirrors(&world), Vec::<PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_gone_or_broken_fails_no_task_and_is_made_anew() {
    let world = mirrored().await;
    let base = begun(&world, 1).await;
    let pack = mirrors(&world)[0].join("objects/pack");
    for entry in std::fs::read_dir(&pack).expect("a directory").flatten() {
        std::fs::write(entry.path(), "broken").expect("written");
    }
    begun(&world, 2).await;
    assert_eq!(
        world
            .bash(2, "git status --short; cat .git/objects/info/alternates; cat README.md")
            .await
            .outcome
            .text
            .lines()
            .last(),
        Some("# Demo")
    );
    assert!(!world.bash(2, "test -f .git/objects/info/alternates && echo there").await.outcome.text.contains("there"));
    begun(&world, 3).await;
    assert_eq!(objects(&world, 3).await, reached(&world, &["HEAD"]), "made anew");
    // The work of a task whose mirror is damaged is not lost.
    world.bash(1, "echo work > work.txt").await;
    let captured = world.sandboxes.captures.capture(&world.capture_spec(1, 1, &base)).await.expect("captured");
    assert!(matches!(captured, Captured::Commit { .. }), "{captured:?}");
    for mirror in mirrors(&world) {
        std::fs::remove_dir_all(mirror).expect("removed behind our back");
    }
    begun(&world, 4).await;
    assert_eq!(world.bash(4, "git status --short; cat README.md").await.outcome.text, "# Demo\n");
    world.sandboxes.of_tasks.remove(4).await.expect("removed");
    let names: Vec<_> = world.broker.list().await.unwrap().into_iter().map(|it| it.name).collect();
    assert!(!names.contains(&"task-4-1".to_owned()), "{names:?}");
}

/// Removes one object from every mirror, as a disk error may; packed objects are loose afterwards.
fn lose(world: &World, object: &str) {
    for mirror in mirrors(world) {
        let packs: Vec<PathBuf> = std::fs::read_dir(mirror.join("objects/pack"))
            .expect("a directory")
            .flatten()
            .map(|it| it.path())
            .collect();
        for pack in packs {
            let bytes = std::fs::read(&pack).expect("read");
            std::fs::remove_file(&pack).expect("removed");
            if pack.extension().is_some_and(|it| it == "pack") {
                crate::world::git_in(&mirror, &["--git-dir=.", "unpack-objects", "-q"], &bytes);
            }
        }
        let (head, tail) = object.split_at(2);
        std::fs::remove_file(mirror.join("objects").join(head).join(tail)).expect("it was in there");
    }
}

fn quarantines(world: &World) -> usize {
    world.broker.created.lock().unwrap().iter().filter(|name| name.starts_with("quarantine-")).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_lost_something_below_the_root_is_to_blame_and_not_the_tree() {
    for lost in ["HEAD:docs", "HEAD:sum.py"] {
        let world = mirrored().await;
        let base = begun(&world, 1).await;
        let damaged = mirrors(&world);
        lose(&world, &git(&world.upstream(), &["rev-parse", lost]));
        world.bash(1, "echo y > docs/link-target.md; sed -i 's/a - b/a + b/' sum.py").await;
        let captured = world.sandboxes.captures.capture(&world.capture_spec(1, 1, &base)).await.expect("captured");
        let Captured::Commit { files, diff, .. } = captured else { panic!("{lost}: {captured:?}") };
        let changed: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.added, file.removed)).collect();
        assert_eq!(changed, [("docs/link-target.md", 1, 1), ("sum.py", 1, 1)], "{lost}");
        assert!(diff.contains("-    return a - b"), "{lost}: {diff}");
        assert_eq!(quarantines(&world), 2, "{lost}: with the mirror, and without");
        begun(&world, 2).await;
        assert_ne!(mirrors(&world), damaged, "{lost}: made anew");
        assert_eq!(objects(&world, 2).await, reached(&world, &["HEAD"]), "{lost}");
        assert_eq!(world.left().await, ["task-1-1", "task-2-1"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tree_is_refused_for_is_not_blamed_on_the_mirror() {
    let world = mirrored().await;
    let base = begun(&world, 1).await;
    let whole = mirrors(&world);
    // A rule of Caisson: reported once.
    world.bash(1, "ln -s /etc/passwd out").await;
    let captured = world.sandboxes.captures.capture(&world.capture_spec(1, 1, &base)).await.expect("captured");
    assert!(matches!(captured, Captured::Refused { .. }), "{captured:?}");
    assert_eq!(quarantines(&world), 1);
    // What git itself cannot read is refused with the mirror and without.
    let mut pack = tokio::fs::File::from_std(tempfile::tempfile().expect("a file"));
    tokio::io::AsyncWriteExt::write_all(&mut pack, b"PACK and no more").await.expect("written");
    let (spec, tree) = (world.capture_spec(1, 2, &base), Tree::parse(&"a".repeat(40)).expect("an id"));
    let quarantine = world.sandboxes.quarantines.quarantine(&spec.segment).await.expect("made");
    let captured = world.sandboxes.quarantines.examine(quarantine, &spec, &tree, &mut pack).await.expect("judged");
    assert!(matches!(captured, Captured::Refused { .. }), "{captured:?}");
    assert_eq!(quarantines(&world), 3);
    begun(&world, 2).await;
    assert_eq!((mirrors(&world), world.left().await.len()), (whole, 2), "kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_gone_when_it_is_to_be_added_to_is_made_anew() {
    let world = mirrored().await;
    let up = world.upstream();
    let large = noise(7, 1 << 20);
    commit(&up, &[("large.txt", &large)], "large");
    begun(&world, 1).await;
    for mirror in mirrors(&world) {
        std::fs::remove_dir_all(mirror).expect("removed behind our back");
    }
    // Enough to be added, and a part of it a difference from what was in there.
    commit(&up, &[("large.txt", &format!("{large}{}", noise(9, 2 << 20)))], "larger");
    begun(&world, 2).await;
    assert_eq!(world.bash(2, "git status --short; git log --oneline | wc -l").await.outcome.text, "3\n");
    begun(&world, 3).await;
    assert_eq!(world.bash(3, "ls .git/objects/pack; test -s .git/objects/info/alternates").await.outcome.text, "");
    assert_eq!(objects(&world, 3).await, reached(&world, &["HEAD"]), "made anew");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_too_large_to_keep_costs_time_and_no_task() {
    let world = World::new().await;
    // Few files with long paths: an index holds each path in full.
    let deep = ["a-directory-of-a-rather-long-name".repeat(7).as_str(); 16].join("/");
    let mut stream = "blob\nmark :1\ndata 2\nx\n\ncommit refs/remotes/origin/deep\n\
                      committer Caisson <caisson@localhost> 1700000000 +0000\ndata 4\ndeep\n"
        .to_owned();
    for number in 0..18_000 {
        stream += &format!("M 644 :1 {deep}/{number}\n");
    }
    world.repos.fast_import(KEY, stream).await.expect("imported");
    let base = world.repos.resolve(KEY, &Branch::parse("deep").expect("a name")).await.expect("there");
    let spec = PrepareSpec { base, trunk: None, ..world.spec(1) };
    world.sandboxes.of_tasks.prepare(&spec).await.expect("prepared");
    assert!(!world.dir.path().join("state/index/1").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn none_is_begun_on_a_disk_that_is_about_to_be_full() {
    let world = World::with(FILES, |settings| {
        (settings.mirror_from_bytes, settings.disk_floor_bytes) = (0, u64::MAX >> 8);
    })
    .await;
    begun(&world, 1).await;
    let seen = world.bash(1, "git status --short; cat .git/objects/info/alternates 2>/dev/null; cat README.md").await;
    assert_eq!(seen.outcome.text, "# Demo\n", "the repository was sent");
    let packs = |mirror: &PathBuf| mirror.join("objects").exists();
    assert!(!mirrors(&world).iter().any(packs), "nothing was put into one");
}
