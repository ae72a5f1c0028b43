//! The name of the archive with the files of finished work.

use domain::Commit;

/// One for each commit that they were taken beside, so that it is found again. Its ending is one that forges take by default.
pub fn artifacts_name(task: i64, commit: &Commit) -> String {
    format!("task-{task}-artifacts-{}.zip", commit.short())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_task_and_commit() {
        let commit = Commit::parse(&"0123456789".repeat(4)).expect("a commit");
        assert_eq!(artifacts_name(7, &commit), "task-7-artifacts-0123456789.zip");
    }
}
