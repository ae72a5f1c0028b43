//! Files that are taken out of a stopped sandbox beside its commit.

use caisson::config::ArtifactRules;
use caisson::sandbox::FoundArtifacts;
use domain::{ArtifactBar, ArtifactLeft};

use crate::world::World;

pub fn rules(patterns: &[&str]) -> ArtifactRules {
    let patterns = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
    ArtifactRules { patterns, files: 3, file_bytes: 10, total_bytes: 16 }
}

async fn found(world: &World, patterns: &[&str]) -> FoundArtifacts {
    world.sandboxes.captures.artifacts(1, &rules(patterns)).await.expect("found")
}

fn names(found: &FoundArtifacts) -> Vec<&str> {
    found.files.iter().map(|(path, _)| path.as_str()).collect()
}

fn left(path: &str, bar: ArtifactBar) -> ArtifactLeft {
    ArtifactLeft { path: path.to_owned(), bar }
}

#[tokio::test]
async fn ignored_and_tracked_files_are_taken_as_they_are_whatever_git_would_make_of_them() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    world.bash(1, "mkdir -p build/deep && printf '\\0\\r\\n\\377' > build/a.bin && echo x > build/deep/b.bin").await;
    // Of what git in the sandbox would read, nothing counts.
    world.bash(1, "git config core.excludesFile /dev/null; git update-index --assume-unchanged README.md").await;
    let found = found(&world, &["build/*.bin", "README.md", "none/*.whl"]).await;
    let bytes: Vec<(&str, &[u8])> = found.files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
    assert_eq!(bytes, [("README.md", b"# Demo\n".as_slice()), ("build/a.bin", b"\0\r\n\xff")]);
    assert_eq!((found.left, found.unmatched), (Vec::new(), vec!["none/*.whl".to_owned()]));
}

#[tokio::test]
async fn no_link_is_followed_and_only_regular_files_are_read() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    let outside = world.dir.path().join("outside");
    std::fs::create_dir(&outside).expect("made");
    std::fs::write(outside.join("s.txt"), "secret").expect("written");
    let outside = outside.display();
    world
        .bash(1, &format!("mkdir d && ln -s {outside}/s.txt d/link.txt && ln -s {outside} far && mkfifo d/pipe.txt"))
        .await;
    world.bash(1, "echo ok > d/fine.txt; git init -q d/inner; echo x > d/inner/own.txt; echo y > .git/z.txt").await;
    let found = found(&world, &["d/*.txt", "far/s.txt", "d/inner/*.txt", "**/z.txt"]).await;
    assert_eq!(names(&found), ["d/fine.txt"]);
    // Git names what is below a link to a directory where it is asked for by name; the reading refuses it.
    let below = found.left.iter().all(|it| it.bar == ArtifactBar::Link);
    assert!(below && found.left.contains(&left("d/link.txt", ArtifactBar::Link)), "{:?}", found.left);
    assert!(!found.files.iter().any(|(_, bytes)| bytes == b"secret"));
    assert!(found.unmatched.contains(&"d/inner/*.txt".to_owned()), "{:?}", found.unmatched);
}

#[tokio::test]
async fn what_is_over_a_limit_is_named_and_not_taken() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    let write =
        "for n in 1 2 3 4 5; do printf 1234 > $n.out; done; printf 12345678901 > 0.out; printf 1234567890 > 1a.out";
    world.bash(1, &format!("{write}; printf x > \"$(printf '1\\033b.out')\"; printf x > -n.out")).await;
    let taken = found(&world, &["*.out"]).await;
    assert_eq!(names(&taken), ["1.out", "1a.out"]);
    let together = ArtifactBar::Together { most: 16 };
    assert_eq!(
        taken.left,
        [
            left("-n.out", ArtifactBar::Name),
            left("0.out", ArtifactBar::TooLarge { most: 10 }),
            left("1\u{1b}b.out", ArtifactBar::Name),
            left("2.out", together),
            left("3.out", together),
            left("4.out", together),
            left("5.out", together),
        ]
    );
    let some = found(&world, &["[1-5].out"]).await;
    assert_eq!(names(&some), ["1.out", "2.out", "3.out"]);
    let many = ArtifactBar::TooMany { most: 3 };
    assert_eq!(some.left, [left("4.out", many), left("5.out", many)]);
}

#[tokio::test]
async fn everything_that_runs_is_ended_before_anything_is_read() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    let loops = "(setsid sh -c 'while :; do date +%N > a.out; done' >/dev/null 2>&1 &); sleep 0.3";
    world.bash(1, loops).await;
    let first = found(&world, &["a.out"]).await;
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert_eq!(found(&world, &["a.out"]).await, first);
    assert_eq!(first.files.len(), 1);
}
