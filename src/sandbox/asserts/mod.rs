//! Whether a file of tests asserts less than it did: its tests, assertions and marks that keep tests from running, counted in its text.
//!
//! Owns what counts as one, by language (`languages.rs`), after comments and strings were taken out (`code.rs`). Pure, and no proof: a
//! test can be hollowed out without losing an assertion. It points a person to where to look. Tests: below.

mod code;
mod languages;
pub mod within;

use domain::TestCount;

/// What an assertion is called in languages that have no rules of their own, at the beginning of a word.
const WORDS: [&str; 8] = ["assert", "expect", "should", "require", "verify", "check", "raises", "fail"];

/// The tests in the text of a file with this path.
pub fn count(path: &str, text: &str) -> TestCount {
    match languages::of(path) {
        Some(language) => language.count(text),
        None => {
            let assertions = text.lines().filter(|line| asserts(line.trim())).count();
            TestCount { assertions: u32::try_from(assertions).unwrap_or(u32::MAX), ..TestCount::default() }
        }
    }
}

/// Whether there are rules for the language of a file of this path, so that tests are found in it whatever it is called.
pub fn is_known(path: &str) -> bool {
    languages::of(path).is_some()
}

/// Whether a file of this path may hold tests beside what they test, so that its path does not tell.
pub fn may_stand_within(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".rs")
}

/// Whether a line of another language holds an assertion; comments do not.
fn asserts(line: &str) -> bool {
    if ["#", "//", "*", "/*", "--"].iter().any(|comment| line.starts_with(comment)) {
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
    use proptest::prelude::*;

    /// Tests, assertions, skipped.
    fn counts(path: &str, text: &str) -> (u32, u32, u32) {
        let found = count(path, text);
        (found.cases, found.assertions, found.skipped)
    }

    #[test]
    fn assertions_of_each_language_are_counted() {
        for (path, text) in [
            ("a.py", "assert newer(a, b)"),
            ("a.py", "        self.assertTrue(newer('1.10', '1.9'))"),
            ("a.py", "with pytest.raises(ValueError):"),
            ("a.py", "np.testing.assert_allclose(a, b)"),
            ("a.rs", "assert!(a);"),
            ("a.rs", "prop_assert_eq!(a, b, \"no\");"),
            ("a.rs", "#[should_panic(expected = \"no\")]"),
            ("a.rs", "insta::assert_snapshot!(text);"),
            ("a.ts", "expect(sum(1, 2)).toBe(3);"),
            ("a.ts", "expect<number>(sum(1, 2)).toBe(3);"),
            ("a.js", "await expect.soft(page).toHaveTitle('x');"),
            ("a.mjs", "assert.strictEqual(a, b);"),
            ("a.mjs", "t.deepEqual(a, b);"),
            ("a.js", "a.should.equal(b);"),
            ("a.go", "t.Fatalf(\"no %v\", err)"),
            ("a.go", "require.Equal(t, 1, 2)"),
            ("a.go", "s.NoError(err)"),
            ("A.java", "assertEquals(1, f());"),
            ("A.java", "Assert.assertEquals(1, f());"),
            ("A.java", "verify(mock).close();"),
            ("A.kt", "assert(a == b)"),
            ("A.java", "@Test(expected = IOException.class)"),
            ("A.java", "return assertOk(a);"),
            ("A.cs", "Assert.Equal(1, f());"),
            ("a.cpp", "EXPECT_EQ(1, f());"),
            ("a.c", "assert(f() == 1);"),
            ("a_spec.rb", "    expect(sum).to eq 3"),
        ] {
            assert_eq!(count(path, text).assertions, 1, "{path}: {text}");
        }
        assert_eq!(count("a.py", "assert a; assert b\n\nx = 1").assertions, 2);
        assert_eq!(count("a.go", "require.NoError(t, err); assert.True(t, ok)").assertions, 2);
    }

    #[test]
    fn what_only_looks_like_an_assertion_is_none() {
        for (path, text) in [
            ("a.py", "# assert it later"),
            ("a.py", "\"\"\"\nassert a\n\"\"\""),
            ("a.py", "print('assert a')"),
            ("a.py", "assert True"),
            ("a.py", "assert 1, 'no'"),
            ("a.py", "assert True\r\n"),
            ("a.py", "assert 'x'\n"),
            ("a.py", "def assert_valid(a):"),
            ("a.py", "self.assertTrue(True)"),
            ("a.rs", "/* /* assert!(a) */ assert!(b) */"),
            ("a.rs", "let c = '\"'; // assert!(a)"),
            ("a.rs", "let s = r#\"assert!(a) \" assert!(b)\"#;"),
            ("a.rs", "assert!(true);"),
            ("a.rs", "let x = y.expect(\"one\");"),
            ("a.ts", "// expect nothing"),
            ("a.ts", "const s = `expect(${x})`;"),
            ("a.js", "import assert from 'assert';"),
            ("a.js", "expect(true).toBe(true);"),
            ("a.go", "return err.Error()"),
            ("a.go", "s := `t.Fatal(x)`"),
            ("A.java", "import static org.junit.Assert.assertEquals;"),
            ("A.java", "assertTrue(true);"),
            ("A.java", "int expected = 5;"),
            ("A.java", "void shouldAdd() {"),
            ("A.kt", "fun assertValid(a: Int) {"),
            ("a.js", "function assert(a) {"),
            ("A.java", "String s = \"\"\"\nassertEquals(1, 2)\n\"\"\";"),
            ("a.c", "assert(1);"),
            ("a_spec.rb", "# expect it"),
            ("", ""),
        ] {
            assert_eq!(count(path, text).assertions, 0, "{path}: {text}");
        }
    }

    #[test]
    fn tests_and_what_keeps_them_from_running_are_counted() {
        let python = "@pytest.mark.skip(reason='x')\ndef test_a():\n    assert a\n\nasync def test_b(self):\n    pytest.skip('x')\n";
        assert_eq!(counts("a.py", python), (2, 1, 2));
        let rust = "#[test]\n#[ignore = \"slow\"]\nfn a() { assert_eq!(1, 1); }\n#[tokio::test]\nasync fn b<'a>() {}\n";
        assert_eq!(counts("a.rs", rust), (2, 1, 1));
        let script = "describe('x', () => { it('a', () => { expect(1).toBe(1); }); it.skip('b', f); xit('c', f); });\nif (/a/.test(s)) {}\ntest.only('d', f)\n";
        assert_eq!(counts("a.test.ts", script), (3, 1, 3));
        assert_eq!(counts("a.test.js", "test('a', { skip: true }, (t) => { t.ok(a); });"), (1, 1, 1));
        let go = "//go:build ignore\n\npackage a\n\nfunc TestA(t *testing.T) {\n\tt.Skip(\"x\")\n\tt.Error(1)\n}\n";
        assert_eq!(counts("a_test.go", go), (1, 1, 2));
        let java =
            "@Test @Disabled(\"x\")\nvoid a() { assertThat(a).isTrue(); }\n@ParameterizedTest\nvoid b() { fail(); }\n";
        assert_eq!(counts("A.java", java), (2, 2, 1));
        assert_eq!(counts("a.py", "@mark.skip\ndef test_a():\n    assert a\n"), (1, 1, 1));
        assert_eq!(counts("A.java", "@Test(enabled = false)\nvoid a() { fail(); }\n"), (1, 1, 1));
        let each = "xit.each([1])('a', f); xdescribe.each`x`('b', g);";
        assert_eq!(counts("a.test.js", each).2, 2);
        assert_eq!(counts("a.py", "def _test_a():\n    assert a\n"), (0, 1, 0), "not collected any more");
    }

    proptest! {
        /// Whatever stands in a file, it is counted, and neither comments nor strings add anything.
        #[test]
        fn any_text_is_counted(text in "(assert |expect\\(|[\"'`/*#\\\\ (){}a-c\n\u{e9}]|r#|true){0,40}", words in "[a-z (]{0,20}") {
            for path in ["a.py", "a.rs", "a.ts", "a.go", "A.java", "a.c", "a.rb", "a.txt"] {
                let before = count(path, &text);
                let comment = if path.ends_with(".py") || path.ends_with(".rb") { "#" } else { "//" };
                let more = count(path, &format!("{comment} assert {words}\n{text}"));
                prop_assert_eq!(more, before, "{}", path);
            }
        }

        /// A line of code in front of the others is counted whatever they are.
        #[test]
        fn one_assertion_more_is_one_more(text in "(assert |[\"'`/*#\\\\ (){}a-c\n]){0,30}") {
            for (path, line) in [
                ("a.py", "assert a\n"), ("a.rs", "assert!(a);\n"), ("a.ts", "expect(a).toBe(b);\n"), ("a.go", "t.Fatal(a)\n"),
                ("A.java", "assertEquals(a, b);\n"),
            ] {
                let (before, after) = (count(path, &text).assertions, count(path, &format!("{line}{text}")).assertions);
                prop_assert_eq!(after, before + 1, "{}", path);
            }
        }
    }
}
