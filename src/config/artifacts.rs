//! `[repositories.artifacts]`, and `artifacts` of a `.caisson.toml`: which files are taken beside finished work, and how much of them.

use super::protected;
use serde::Deserialize;

/// The most files, and MiB of one and of all, where the operator says nothing; he can only say less.
const FILES: u32 = 10;
const FILE_MIB: u64 = 8;
const TOTAL_MIB: u64 = 16;
/// Most patterns, and the most bytes of one.
const MOST_PATTERNS: usize = 10;
const LONGEST_PATTERN: usize = 200;

/// How much the operator lets a repository have. A field that says nothing is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Artifacts {
    /// The most files, 0 to 10; 0 = none are taken.
    pub files: Option<u32>,
    /// The most MiB of one, 1 to 8.
    pub file_mib: Option<u64>,
    /// The most MiB of all together, 1 to 16.
    pub total_mib: Option<u64>,
}

/// What is taken beside finished work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactRules {
    /// Glob patterns, relative to the root, of which none is empty; `*` does not match a slash.
    pub patterns: Vec<String>,
    /// The most files, at least 1.
    pub files: u32,
    /// The most bytes of one.
    pub file_bytes: u64,
    /// The most bytes of all together.
    pub total_bytes: u64,
}

impl Artifacts {
    /// What is taken where a project file lists these patterns; none where it lists none, or the operator switched it off.
    pub fn with(&self, patterns: &[String]) -> Option<ArtifactRules> {
        let files = self.files.unwrap_or(FILES);
        (files > 0 && !patterns.is_empty()).then(|| ArtifactRules {
            patterns: patterns.to_vec(),
            files,
            file_bytes: self.file_mib.unwrap_or(FILE_MIB) << 20,
            total_bytes: self.total_mib.unwrap_or(TOTAL_MIB) << 20,
        })
    }

    /// What is wrong with it: the key, and why.
    pub(super) fn problem(&self) -> Option<(&'static str, String)> {
        if self.files.is_some_and(|files| files > FILES) {
            return Some(("files", format!("set 0 to {FILES}; 0 takes none")));
        }
        let fits = |mib: Option<u64>, most: u64| mib.is_none_or(|mib| (1..=most).contains(&mib));
        if !fits(self.file_mib, FILE_MIB) {
            return Some(("file_mib", format!("set 1 to {FILE_MIB}; `files = 0` takes none")));
        }
        (!fits(self.total_mib, TOTAL_MIB))
            .then(|| ("total_mib", format!("set 1 to {TOTAL_MIB}; `files = 0` takes none")))
    }
}

/// What is wrong with the patterns of a project file.
pub(super) fn problem_of(patterns: &[String]) -> Option<String> {
    if patterns.len() > MOST_PATTERNS {
        return Some(format!("{} patterns; at most {MOST_PATTERNS} are taken", patterns.len()));
    }
    patterns.iter().find_map(|pattern| {
        if pattern.is_empty() || pattern.len() > LONGEST_PATTERN {
            return Some(format!("a pattern has 1 to {LONGEST_PATTERN} bytes"));
        }
        let idle = pattern.contains('\0') || pattern.split('/').any(|part| matches!(part, "" | "." | ".." | ".git"));
        let words = || format!("{pattern:?} has a part that names no file of the work: empty, `.`, `..` or `.git`");
        protected::problem_of_one(pattern).or_else(|| idle.then(words))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operator_lowers_the_limits_or_takes_none() {
        let patterns = ["dist/*.whl".to_owned()];
        let rules = Artifacts::default().with(&patterns).expect("taken");
        assert_eq!((rules.files, rules.file_bytes, rules.total_bytes), (10, 8 << 20, 16 << 20));
        let lower: Artifacts = toml::from_str("files = 2\nfile_mib = 1\ntotal_mib = 1").expect("a table");
        let rules = lower.with(&patterns).expect("taken");
        assert_eq!((rules.files, rules.file_bytes, rules.total_bytes), (2, 1 << 20, 1 << 20));
        assert_eq!(Artifacts { files: Some(0), ..lower }.with(&patterns), None);
        assert_eq!(Artifacts::default().with(&[]), None);
        for (wrong, key) in [("files = 11", "files"), ("file_mib = 0", "file_mib"), ("total_mib = 17", "total_mib")] {
            let table: Artifacts = toml::from_str(wrong).expect("a table");
            assert_eq!(table.problem().map(|(key, _)| key), Some(key), "{wrong}");
        }
        assert_eq!(lower.problem(), None);
    }

    #[test]
    fn a_pattern_that_names_no_file_of_the_work_is_refused() {
        let of = |pattern: &str| problem_of(&[pattern.to_owned()]);
        for fine in ["report.html", "dist/*.whl", "**/coverage.xml", "out/{a,b}.bin", ".cache/x", "a.git"] {
            assert_eq!(of(fine), None, "{fine}");
        }
        for (wrong, why) in [
            ("", "1 to 200 bytes"),
            ("/etc/passwd", "relative to the root"),
            ("../x", "names no file of the work"),
            ("a//b", "names no file of the work"),
            ("./a", "names no file of the work"),
            ("dist/", "names no file of the work"),
            (".git/config", "names no file of the work"),
            ("[", "is no pattern"),
        ] {
            assert!(of(wrong).is_some_and(|said| said.contains(why)), "{wrong}: {:?}", of(wrong));
        }
        assert!(of(&"x".repeat(201)).is_some());
        assert!(problem_of(&vec!["a".to_owned(); 11]).is_some_and(|said| said.contains("at most 10")));
    }
}
