//! Work on an earlier base that is merged into a new sandbox, and what a checkpoint makes of it.

use std::sync::Arc;

use caisson::sandbox::{Captured, Merge, PrepareSpec, SandboxError, Sandboxes, Settings};
use domain::Commit;

use crate::docker::{IMAGE, in_containers};
use crate::world::{KEY, World, commit, git, head, url};

/// Drivers that would run a program if anybody had configured them, also by name of a program.
const DRIVERS: &str = "*.py merge=evil filter=evil diff=evil\n";
const EVIL: &str = "#!/bin/sh\ntouch /tmp/caisson-merge-ran\n";

/// The work on the base and a newer base, both known to the bot.
async fn both(world: &World, newer: impl FnOnce(&std::path::Path) -> Commit) -> (Merge, Commit) {
    let upstream = world.dir.path().join("upstream");
    git(&upstream, &["checkout", "--quiet", "-b", "agent/1"]);
    for gone in ["README.md", "docs/link-target.md"] {
        std::fs::remove_file(upstream.join(gone)).expect("removed");
    }
    let program = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(upstream.join("test_sum.py"), program).expect("changed");
    let work = [("sum.py", "def add(a, b):\n    return a + b\n"), ("new.txt", "new\n")];
    let work = commit(&upstream, &work, "the work");
    git(&upstream, &["checkout", "--quiet", "--force", "main"]);
    let onto = newer(&upstream);
    world.repos.fetch(KEY, &url(&upstream), None).await.expect("fetched");
    (Merge { from: world.base.clone(), head: work }, onto)
}

fn moved_on(upstream: &std::path::Path) -> Commit {
    commit(upstream, &[("NEWS.md", "news\n"), ("sum.py", "def add(a, b):\n    return int(a) - b\n")], "news")
}

fn spec(world: &World, merge: &Merge, onto: &Commit) -> PrepareSpec {
    PrepareSpec { base: onto.clone(), trunk: None, merge: Some(merge.clone()), afresh: true, ..world.spec(1) }
}

#[tokio::test]
async fn both_sides_are_in_the_tree_and_what_conflicts_is_named_also_by_a_repeated_try() {
    let world = World::new().await;
    let (merge, onto) = both(&world, moved_on).await;
    let spec = spec(&world, &merge, &onto);
    let first = world.sandboxes.of_tasks.prepare(&spec).await.expect("prepared");
    assert_eq!(first.conflicts, ["sum.py"]);
    assert_eq!(world.sandboxes.of_tasks.prepare(&spec).await.expect("found"), first, "the same sandbox");
    world.sandboxes.of_tasks.open(1).await.expect("opened");
    let look = "git status --short; git log --format=%s | head -1; ls .git/MERGE_MSG .git/in-conflict 2>&1 | wc -l; grep -c '^<<<<<<< ' sum.py; cat NEWS.md";
    let seen = world.bash(1, look).await.outcome.text;
    let status = "D  README.md\nD  docs/link-target.md\nA  new.txt\nUU sum.py\nM  test_sum.py\n";
    assert!(seen.starts_with(status) && seen.ends_with("news\n2\n1\nnews\n"), "{seen}");
    world.bash(1, "printf 'def add(a, b):\\n    return int(a) + b\\n' > sum.py").await;
    let mut capture = world.capture_spec(1, 2, &onto);
    capture.segment.base = onto.clone();
    let Captured::Commit { commit, files, .. } = world.sandboxes.captures.capture(&capture).await.expect("captured")
    else {
        panic!("a commit")
    };
    let files: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["README.md", "docs/link-target.md", "new.txt", "sum.py", "test_sum.py"]);
    let text = world.repos.commit_text(KEY, &commit).await.expect("read");
    assert!(text.contains(&format!("\nparent {onto}\n")), "{text}");
}

#[tokio::test]
async fn a_base_with_another_history_and_files_that_name_drivers_of_git_change_nothing_about_it() {
    let world = World::new().await;
    let ran = std::path::Path::new("/tmp/caisson-merge-ran");
    let (merge, onto) = both(&world, |upstream| {
        git(upstream, &["checkout", "--quiet", "--orphan", "rewritten"]);
        commit(upstream, &[(".gitattributes", DRIVERS), ("evil", EVIL), ("README.md", "# Other\n")], "rewritten");
        git(upstream, &["branch", "--quiet", "--force", "main", "rewritten"]);
        head(upstream)
    })
    .await;
    let prepared = world.sandboxes.of_tasks.prepare(&spec(&world, &merge, &onto)).await.expect("prepared");
    assert_eq!(prepared.conflicts, ["README.md"], "one side deleted it, the other changed it");
    world.sandboxes.of_tasks.open(1).await.expect("opened");
    let seen = world.bash(1, "cat README.md sum.py new.txt; git log --oneline | wc -l").await.outcome.text;
    assert_eq!(seen, "# Other\ndef add(a, b):\n    return a + b\nnew\n1\n");
    assert!(!ran.exists(), "nothing of the repository ran");
}

#[tokio::test]
async fn work_that_changed_nothing_conflicts_with_nothing() {
    let world = World::new().await;
    let (merge, onto) = both(&world, moved_on).await;
    let nothing = Merge { head: merge.from.clone(), ..merge.clone() };
    let prepared = world.sandboxes.of_tasks.prepare(&spec(&world, &nothing, &onto)).await.expect("prepared");
    assert!(prepared.conflicts.is_empty());
    // Another merge is another sandbox, also on the same base.
    let other = world.sandboxes.of_tasks.prepare(&spec(&world, &merge, &onto)).await.expect("prepared");
    assert!(other.boot != prepared.boot && other.conflicts == ["sum.py"]);
    let unknown = Merge { head: Commit::parse(&"9".repeat(40)).expect("a commit"), ..merge };
    let failed = world.sandboxes.of_tasks.prepare(&spec(&world, &unknown, &onto)).await;
    assert!(matches!(failed, Err(SandboxError::Refused(_))), "{failed:?}");
}

/// With the sandbox image's own git, in a workspace that is a layer over the mirror's tree.
#[tokio::test(flavor = "multi_thread")]
async fn in_a_container_it_is_the_same() {
    in_containers(
        "merge",
        |_| {},
        |world, broker, _| async move {
            let (merge, onto) = both(&world, moved_on).await;
            let settings = Settings { mirror_from_bytes: 0, ..Settings::new(world.dir.path().join("docker"), IMAGE) };
            let sandboxes =
                Sandboxes::new(Arc::new(broker), None, world.repos.clone(), settings, 1).expect("sandboxes");
            let spec = PrepareSpec {
                image: IMAGE.to_owned(),
                network: false,
                egress: Vec::new(),
                trunk: Some(onto.clone()),
                ..spec(&world, &merge, &onto)
            };
            let prepared = sandboxes.of_tasks.prepare(&spec).await.expect("prepared");
            assert_eq!(prepared.conflicts, ["sum.py"]);
            let mut capture = world.capture_spec(1, 2, &onto);
            capture.segment.base = onto.clone();
            let captured = sandboxes.captures.capture(&capture).await.expect("captured");
            let Captured::Commit { files, diff, .. } = captured else { panic!("{captured:?}") };
            assert_eq!(files.len(), 5, "{files:?}");
            assert!(diff.contains("+<<<<<<< HEAD") && !diff.contains("NEWS.md"), "{diff}");
            sandboxes.of_tasks.remove(1).await.expect("removed");
        },
    )
    .await;
}
