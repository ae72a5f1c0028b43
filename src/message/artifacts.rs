//! The name of the archive with the files of finished work.

use domain::{Artifact, Commit};
use sha2::{Digest, Sha256};

/// One for each commit and content, so that it is found again, and none of another run of the same build is taken for it. Its ending is one
/// that forges take by default.
pub fn artifacts_name(task: i64, commit: &Commit, files: &[Artifact]) -> String {
    let mut all = Sha256::new();
    for Artifact { path, sha256, .. } in files {
        // No path holds a NUL.
        all.update([path.as_bytes(), b"\0", sha256.as_bytes(), b"\0"].concat());
    }
    let content = hex::encode(all.finalize());
    format!("task-{task}-artifacts-{}-{}.zip", commit.short(), &content[..10])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_task_commit_and_content() {
        let commit = Commit::parse(&"0123456789".repeat(4)).expect("a commit");
        let file = |path: &str, sum: &str| Artifact { path: path.into(), bytes: 1, sha256: sum.into() };
        let name = |files: &[Artifact]| artifacts_name(7, &commit, files);
        let one = name(&[file("a", "s1"), file("b", "s2")]);
        assert!(one.starts_with("task-7-artifacts-0123456789-") && one.ends_with(".zip"), "{one}");
        assert_eq!(one, name(&[file("a", "s1"), file("b", "s2")]));
        for other in
            [vec![file("a", "s1"), file("b", "s3")], vec![file("a", "s1")], vec![file("b", "s1"), file("a", "s2")]]
        {
            assert_ne!(one, name(&other));
        }
    }
}
