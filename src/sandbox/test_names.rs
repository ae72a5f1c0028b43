//! Names by which a file is told to be a test.
//!
//! Owns what `kept.rs` (which files are tests) and `detect.rs` (which also steer tests) have in common, over names in lower case. Must not
//! know the rest of either. Tests: below and there.

/// Directories whose files are tests or their data.
const FOLDERS: [&str; 6] = ["test", "tests", "__tests__", "testdata", "fixtures", "snapshots"];
/// Endings of scripts that the test runners of JavaScript run.
const SCRIPTS: [&str; 8] = [".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"];

/// Whether a directory of this name holds tests or their data.
pub fn holds_tests(folder: &str) -> bool {
    FOLDERS.contains(&folder)
}

/// A file's name without its endings: `sum` of `sum.test.js`.
pub fn stem(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

/// Whether a file of this name is a test in whatever language: `test_sum.py`, `sum_test.go`, `sum.spec.ts`, `tests.rs`.
pub fn names_a_test(name: &str) -> bool {
    let stem = stem(name);
    stem.starts_with("test_")
        || ["_test", "_tests"].iter().any(|end| stem.ends_with(end))
        || stem == "tests"
        || [".test.", ".spec."].iter().any(|mark| name.contains(mark))
        || (name.starts_with("test") && name.ends_with(".py"))
}

/// Whether it is named as test runners of JavaScript name tests: `test.js`, `test-x.js`, `x-test.js`. In other languages that is no test by
/// itself.
pub fn is_hyphened(name: &str) -> bool {
    let stem = stem(name);
    stem == "test" || stem.starts_with("test-") || stem.ends_with("-test")
}

/// Whether it is a script of JavaScript or TypeScript.
pub fn is_script(name: &str) -> bool {
    SCRIPTS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_a_test_alone_or_with_its_ending() {
        for name in ["test_sum.py", "sum_test.go", "sum_tests.rs", "tests.rs", "x.spec.ts", "testing.py"] {
            assert!(names_a_test(name) && !is_hyphened(name), "{name}");
        }
        for name in ["test.js", "test-sum.mjs", "sum-test.tsx"] {
            assert!(!names_a_test(name) && is_hyphened(name) && is_script(name), "{name}");
        }
        for name in ["sum.py", "latest.rs", "contest.c", "js"] {
            assert!(!names_a_test(name) && !is_hyphened(name) && !is_script(name), "{name}");
        }
    }
}
