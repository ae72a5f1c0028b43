//! Push with an explicit lease, and its result if the branch was changed meanwhile.

use caisson::git::{Branch, GitError, PushSpec, Pushed};
use domain::Commit;

use crate::world::{KEY, World, commit, git, url};

async fn push(world: &World, new: &Commit, old: Option<&Commit>) -> Result<Pushed, GitError> {
    let (url, branch) = (url(&world.dir.path().join("forge.git")), Branch::parse("agent/7-fix").unwrap());
    world.repos.push(KEY, PushSpec { url: &url, auth: None, branch: &branch, new, expected_old: old }).await
}

#[tokio::test]
async fn a_branch_moves_from_where_it_was_expected_or_not_at_all() {
    let world = World::new().await;
    let forge = world.dir.path().join("forge.git");
    git(world.dir.path(), &["init", "--quiet", "--bare", "forge.git"]);
    let next = commit(&world.upstream(), &[("a", "1\n")], "next");
    let other = commit(&world.upstream(), &[("a", "2\n")], "other");
    world.repos.fetch(KEY, &url(&world.upstream()), None).await.unwrap();
    assert_eq!(push(&world, &world.base, None).await.unwrap(), Pushed::Done);
    assert_eq!(push(&world, &world.base, None).await.unwrap(), Pushed::Done);
    assert_eq!(push(&world, &next, None).await.unwrap(), Pushed::Moved { found: Some(world.base.clone()) });
    assert_eq!(push(&world, &next, Some(&world.base)).await.unwrap(), Pushed::Done);
    assert_eq!(push(&world, &next, Some(&world.base)).await.unwrap(), Pushed::Done);
    // A person moved the branch back or deleted it: it is neither overwritten nor created again.
    git(&forge, &["update-ref", "refs/heads/agent/7-fix", world.base.as_str()]);
    assert_eq!(push(&world, &other, Some(&next)).await.unwrap(), Pushed::Moved { found: Some(world.base.clone()) });
    git(&forge, &["update-ref", "-d", "refs/heads/agent/7-fix"]);
    assert_eq!(push(&world, &other, Some(&next)).await.unwrap(), Pushed::Moved { found: None });
    assert_eq!(git(&forge, &["for-each-ref"]), "");
    let absent = Commit::parse(&"2".repeat(40)).unwrap();
    assert!(matches!(push(&world, &absent, None).await, Err(GitError::NotFound(_))));
}

#[tokio::test]
async fn a_refusing_hook_of_the_forge_is_an_error_and_hooks_of_ours_never_run() {
    let world = World::new().await;
    let forge = world.dir.path().join("forge.git");
    git(world.dir.path(), &["init", "--quiet", "--bare", "forge.git"]);
    let repo = world.repos.path(KEY).unwrap();
    for (dir, body) in
        [(&forge, "#!/bin/sh\necho not today >&2; exit 1\n"), (&repo, "#!/bin/sh\ntouch \"$GIT_DIR/ran\"\n")]
    {
        for name in ["pre-receive", "pre-push", "reference-transaction"] {
            let hook = dir.join("hooks").join(name);
            crate::world::write(dir, &format!("hooks/{name}"), body);
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&hook, mode).unwrap();
        }
    }
    let said = push(&world, &world.base, None).await.unwrap_err().to_string();
    assert!(said.contains("git push failed"), "{said}");
    assert!(!repo.join("ran").exists());
}

#[tokio::test]
async fn files_and_changes_are_read_without_attributes() {
    let world = World::new().await;
    let files = [(".gitattributes", "*.py -diff\n"), ("sum.py", "def add(a, b):\n    return a + b\n")];
    let next = commit(&world.upstream(), &files, "next");
    world.repos.fetch(KEY, &url(&world.upstream()), None).await.unwrap();
    assert_eq!(world.repos.resolve(KEY, &Branch::parse("main").unwrap()).await.unwrap(), next);
    let changes = world.repos.changes(KEY, &world.base, &next).await.unwrap();
    let changes: Vec<_> = changes.iter().map(|c| (c.status, String::from_utf8_lossy(&c.path))).collect();
    assert_eq!(changes, [('A', ".gitattributes".into()), ('M', "sum.py".into())]);
    assert_eq!(world.repos.show(KEY, &next, ".gitattributes", 100).await.unwrap().unwrap(), b"*.py -diff\n");
    assert_eq!(world.repos.show(KEY, &next, "docs", 100).await.unwrap(), None);
    assert_eq!(world.repos.show(KEY, &next, "nowhere", 100).await.unwrap(), None);
    assert!(matches!(world.repos.show(KEY, &next, "sum.py", 3).await, Err(GitError::TooLarge { .. })));
    assert!(matches!(world.repos.path("../x"), Err(GitError::Invalid(_))));
}
