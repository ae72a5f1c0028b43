//! The tree of a checkpoint after the quarantine.

use crate::Commit;
use serde::{Deserialize, Serialize};

/// One file that differs from the last checkpoint's commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Path relative to the repository's root, as lossy UTF-8. Untrusted.
    pub path: String,
    /// Lines added; 0 for a binary file.
    pub added: u64,
    /// Lines removed; 0 for a binary file.
    pub removed: u64,
    /// `added`, `modified`, `deleted`, `renamed`, `mode` or `binary`.
    pub kind: String,
    /// Its present size in bytes; none when it was deleted, and in older logs.
    #[serde(default)]
    pub bytes: Option<u64>,
}

/// What the bot counted in a file of tests. It reads the text and runs nothing, so it is no proof that any of it is executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCount {
    /// Tests: functions, methods or blocks that a test runner collects by their form.
    pub cases: u32,
    /// Assertions, without those that hold whatever the code does (`assert True`).
    pub assertions: u32,
    /// Marks that keep tests from running: skipped, ignored, or all others left out (`it.only`).
    pub skipped: u32,
}

/// How the tests of one file stand before and after a change. A file that was renamed is two: one deleted, one added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum TestCounts {
    /// Both sides were counted; a side without the file counts nothing.
    Counted {
        /// In the parent's version.
        before: TestCount,
        /// In the commit's version.
        after: TestCount,
    },
    /// A side is too large to be counted, or there are too many files of tests.
    Uncounted,
}

impl TestCounts {
    /// What tells that less is tested, each with its numbers before and after: assertions if their number changed, tests if there are fewer, and what
    /// keeps tests from running if there is more of it.
    pub fn less(&self) -> Vec<(&'static str, u32, u32)> {
        let Self::Counted { before, after } = self else { return Vec::new() };
        let mut found = Vec::new();
        if before.assertions != after.assertions {
            found.push(("assertions", before.assertions, after.assertions));
        }
        if after.cases < before.cases {
            found.push(("tests", before.cases, after.cases));
        }
        if after.skipped > before.skipped {
            found.push(("skipped", before.skipped, after.skipped));
        }
        found
    }

    /// Whether less is tested than before, or that is not known.
    pub fn weaker(&self) -> bool {
        match self {
            Self::Counted { before, after } => {
                after.assertions < before.assertions || after.cases < before.cases || after.skipped > before.skipped
            }
            Self::Uncounted => true,
        }
    }
}

/// What the bot found out about a changed file beyond git's count of its lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// As in [`FileChange::path`].
    pub path: String,
    /// The file's mode before and after, as six octal digits of git's, `000000` on a side without the file; none where it did not change, and
    /// for plain files that were added or deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modes: Option<(String, String)>,
    /// Its tests; none where it holds none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// Whether its first lines say that a program wrote it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generated: bool,
    /// The path at which a link of the tree makes it act by itself, where its own does not; none otherwise, and in older logs. Untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
}

/// The commit that the bot made of one checkpoint's tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedTree {
    /// The commit that was made of the tree.
    pub commit: Commit,
    /// Every file that differs from the commit's parent.
    pub files: Vec<FileChange>,
    /// Diff against the last checkpoint's commit, cut at a limit.
    pub diff: String,
    /// Bytes that were cut off the diff's end.
    #[serde(default)]
    pub diff_cut: u64,
    /// Changed files that define or steer tests.
    pub steering: Vec<String>,
    /// Paths that were left out of the commit as by-products of known tools. Untrusted.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// Files that the commit changes against the task's base and that a task of this kind may not change. Foreign.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// Files that could not be merged onto a newer base by themselves and still hold marks of a conflict. Foreign.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marked: Vec<String>,
    /// What else is known about changed files; those about which nothing is are left out. Empty in older logs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<FileFacts>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_an_older_log_has_no_facts_and_a_new_one_is_read_again() {
        let older = format!(r#"{{"commit":"{}","files":[],"diff":"","steering":[]}}"#, "a".repeat(40));
        let mut tree: CapturedTree = serde_json::from_str(&older).expect("read");
        assert_eq!(tree.facts, []);
        let (before, after) = (TestCount { cases: 1, assertions: 2, skipped: 0 }, TestCount::default());
        let facts = |tests| FileFacts { path: "a".into(), modes: None, tests, generated: false, through: None };
        let counted = TestCounts::Counted { before, after };
        tree.facts = vec![facts(Some(counted)), facts(Some(TestCounts::Uncounted)), facts(None)];
        let stored = serde_json::to_string(&tree).expect("written");
        assert_eq!(serde_json::from_str::<CapturedTree>(&stored).expect("read"), tree);
        assert!(counted.weaker() && TestCounts::Uncounted.weaker());
        assert!(!TestCounts::Counted { before: after, after: before }.weaker());
        let skipped = TestCount { skipped: 1, ..before };
        assert!(TestCounts::Counted { before, after: skipped }.weaker());
    }
}
