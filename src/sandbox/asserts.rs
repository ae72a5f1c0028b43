//! Whether a file of tests asserts less than it did: what of it is an assertion, counted by lines.
//!
//! Pure, and no proof: a test can be hollowed out without losing a line. It points a person to where to look. Tests: below.

/// What an assertion is called, at the beginning of a word.
const WORDS: [&str; 8] = ["assert", "expect", "should", "require", "verify", "check", "raises", "fail"];

/// How many lines of a file of tests hold an assertion; comments do not count.
pub fn count(text: &str) -> u32 {
    let found = text.lines().filter(|line| asserts(line.trim())).count();
    u32::try_from(found).unwrap_or(u32::MAX)
}

fn asserts(line: &str) -> bool {
    if ["#", "//", "*", "/*", "--"].iter().any(|comment| line.starts_with(comment)) && !line.starts_with("#[") {
        return false;
    }
    let imported = ["import ", "from ", "use ", "def ", "fn "].iter().any(|start| line.starts_with(start));
    let lower = line.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    !imported && words.any(|word| WORDS.iter().any(|begin| word.starts_with(begin)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assertions_of_many_frameworks_are_counted_and_words_about_them_are_not() {
        for line in [
            "assert newer(a, b)",
            "        self.assertTrue(newer('1.10', '1.9'))",
            "assert_eq!(a, b);",
            "expect(sum(1, 2)).toBe(3);",
            "with pytest.raises(ValueError):",
            "t.Fatalf(\"no\"); require.Equal(t, 1, 2)",
            "EXPECT_EQ(1, f());",
            "#[should_panic]",
        ] {
            assert_eq!(count(line), 1, "{line}");
        }
        for line in
            ["# assert it later", "// expect nothing", "import assert from 'assert'", "def check_it():", "x = 1", ""]
        {
            assert_eq!(count(line), 0, "{line}");
        }
        assert_eq!(count("assert a\nassert b\n\nx = 1"), 2);
    }
}
