//! What a test, an assertion and a mark that keeps tests from running look like in each language, as patterns over its code.
//!
//! A pattern names what testing tools of the language define; a word of a project's own is counted only where it begins like theirs.

use std::sync::LazyLock;

use domain::TestCount;
use regex::Regex;

use super::code::{C, HASH, Style, code_alone};

/// A language with its patterns.
pub(super) struct Language {
    style: Style,
    cases: Regex,
    assertions: Regex,
    /// What the other pattern takes for an assertion and is none: one that holds whatever the code does, and a function's declaration.
    hollow: Regex,
    skips: Regex,
    /// Marks in comments that keep a whole file from running.
    directives: Option<Regex>,
}

impl Language {
    pub(super) fn count(&self, text: &str) -> TestCount {
        // A line may end with a carriage return, which no pattern has to know.
        let text = &text.replace("\r\n", "\n");
        let code = code_alone(text, &self.style);
        let of = |pattern: &Regex, text: &str| u32::try_from(pattern.find_iter(text).count()).unwrap_or(u32::MAX);
        let directives = self.directives.as_ref().map_or(0, |pattern| of(pattern, text));
        TestCount {
            cases: of(&self.cases, &code),
            assertions: of(&self.assertions, &code).saturating_sub(of(&self.hollow, &code)),
            skipped: of(&self.skips, &code).saturating_add(directives),
        }
    }
}

/// The language of a file, by the ending of its name.
pub(super) fn of(path: &str) -> Option<&'static Language> {
    let (_, ending) = path.rsplit_once('.')?;
    let ending = ending.to_ascii_lowercase();
    LANGUAGES.iter().find(|(endings, _)| endings.contains(&ending.as_str())).map(|(_, language)| language)
}

/// A language of [`LANGUAGES`] as it is written down.
struct Written {
    endings: &'static [&'static str],
    style: Style,
    /// In the order of [`Language`]'s fields.
    patterns: [&'static str; 4],
    directives: Option<&'static str>,
}

const PYTHON: Written = Written {
    endings: &["py", "pyi"],
    style: Style { long: &["\"\"\"", "'''"], ..HASH },
    patterns: [
        r"(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*[ \t]*\(",
        r"\bassert\b|\bassert\w+\s*\(|\bpytest\.(?:raises|warns|deprecated_call|fail)\s*\(|\bself\.fail\s*\(",
        r#"(?m)\bassert\s+(?:True|1|""|'')[ \t]*(?:$|[,;])|\bdef[ \t]+assert\w+\s*\(|\bassertTrue\s*\(\s*True\s*[,)]"#,
        r"(?:\bpytest\.|@\s*)mark\.(?:skip|skipif|xfail)\b|@\s*(?:unittest\.)?(?:skip|skipIf|skipUnless|expectedFailure)\b|\bpytest\.(?:skip|xfail|importorskip)\s*\(|\.skipTest\s*\(|\braise\s+(?:unittest\.)?SkipTest\b|\b__test__\s*=\s*False\b|\bcollect_ignore",
    ],
    directives: None,
};

pub(super) const RUST_STYLE: Style = Style { nested: true, lines: true, lifetimes: true, ..C };

const RUST: Written = Written {
    endings: &["rs"],
    style: RUST_STYLE,
    patterns: [
        r"#\[\s*(?:\w+::)*(?:test|rstest|test_case|quickcheck)\b",
        r"\b(?:prop_|debug_)?assert\w*!|#\[\s*should_panic\b",
        r"\bassert!\s*[(\[{]\s*true\s*[,)\]}]",
        r"#\[\s*ignore\b|#\[\s*cfg_attr\s*\([^\]]*\bignore\b|#!?\[\s*cfg\s*\(\s*(?:any\s*\(\s*\)|FALSE|false)\s*\)",
    ],
    directives: None,
};

const SCRIPT: Written = Written {
    endings: &["js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte"],
    style: Style { backtick: Some(true), ..C },
    patterns: [
        r"(?m)(?:^|[^.\w$])(?:it|test|specify)(?:\.\w+)*\s*(?:<[^<>\n]*>)?\s*\(",
        r"\bexpect(?:\.(?:soft|poll|assertions|hasAssertions))?\s*(?:<[^<>\n]*>)?\s*\(|\bassert(?:\.\w+)*\s*\(|\.should\b|\bshould\.\w+|(?m:^|[^.\w$])t\.(?:is|not|ok|notOk|equal|notEqual|same|deepEqual|notDeepEqual|strictEqual|deepStrictEqual|like|true|false|truthy|falsy|throws|throwsAsync|notThrows|rejects|regex|match|pass|fail|snapshot)\s*\(",
        r"\bexpect\s*\(\s*true\s*\)\s*\.\s*(?:toBe|toEqual|toStrictEqual)\s*\(\s*true\s*\)|\bexpect\s*\(\s*true\s*\)\s*\.\s*toBeTruthy\b|\bassert(?:\.ok)?\s*\(\s*true\s*[,)]|\bfunction\s+(?:assert|expect)\s*\(",
        r#"\b(?:it|test|describe|context|suite|specify)(?:\.\w+)*\.(?:skip|skipIf|todo|failing|fails|fixme|only)\b|\b(?:xit|xtest|xdescribe|xcontext|xspecify|fit|fdescribe)(?:\.each)?\s*[(`]|\b(?:this|t)\.skip\s*\(|\bskip\s*:\s*(?:true\b|["'`])|\bonly\s*:\s*true\b"#,
    ],
    directives: None,
};

const GO: Written = Written {
    endings: &["go"],
    style: Style { backtick: Some(false), ..C },
    patterns: [
        r"(?m)^func\s+(?:\([^)\n]*\)\s*)?(?:Test|Fuzz|Example)\w*\s*\(",
        r"\b(?:t|b|f|tb)\.(?:Errorf?|Fatalf?|FailNow|Fail)\s*\(|\b(?:require|assert)\.\w+\s*\(|\bs(?:uite)?\.(?:(?:Require|Assert)\(\)\.)?(?:Equal|NotEqual|True|False|Nil|NotNil|NoError|Error|Len|Empty|NotEmpty|Contains|Panics|Eventually|ElementsMatch|JSONEq)\w*\s*\(|\bExpect\s*\(",
        r"\b(?:require|assert)\.True\s*\(\s*\w+\s*,\s*true\s*[,)]",
        r"\b(?:t|b|f|tb)\.Skip(?:f|Now)?\s*\(|\bs(?:uite)?\.T\(\)\.Skip\w*\s*\(",
    ],
    directives: Some(r"(?m)^//\s*(?:go:build|\+build)\s+ignore\b"),
};

const JAVA: Written = Written {
    endings: &["java", "kt", "kts", "groovy", "scala", "cs"],
    style: Style { long: &["\"\"\""], ..C },
    patterns: [
        r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property)\b|\[\s*(?:Fact|Theory|Test|TestCase|TestMethod|DataTestMethod)\b",
        r"\b(?:Assert|Assertions)\.\w+\s*\(|\bassert\b|\bassert\w+\s*\(|\bverify\w*\s*\(|\bfail\s*\(|\bshould\w*\s*\(|\bexpect\w*\s*\(|@Test\s*\([^)]*\bexpected\s*=",
        r"\bassert(?:True)?\s*\(\s*true\s*[,)]|\bAssert(?:ions)?\.(?:assertTrue|True|IsTrue)\s*\(\s*true\s*[,)]|\b(?:void|fun|def|boolean|bool|int|String|Task|Unit)\s+(?:assert\w+|verify\w*|fail|should\w*|expect\w*)\s*\(",
        r"@(?:\w+\.)*(?:Disabled|Ignore|EnabledIf)\w*|\bassume\w+\s*\(|\bAssum(?:e|ptions)\.\w+|@Test\s*\([^)]*\benabled\s*=\s*false\b|\bSkip\s*=|\[\s*Ignore\b|\bSkipException\b",
    ],
    directives: None,
};

const CPP: Written = Written {
    endings: &["c", "cc", "cpp", "cxx", "h", "hh", "hpp", "m", "mm", "swift"],
    style: C,
    patterns: [
        r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|TEST_CASE|SCENARIO|BOOST_AUTO_TEST_CASE)\s*\(|\bfunc\s+test\w*\s*\(",
        r"\b(?:EXPECT|ASSERT|CHECK|REQUIRE|BOOST_CHECK|BOOST_REQUIRE|TEST_ASSERT|XCTAssert)\w*\s*\(|\bassert\w*\s*\(|\bXCTFail\s*\(",
        r"\b(?:assert|ASSERT_TRUE|EXPECT_TRUE|CHECK|REQUIRE|XCTAssertTrue)\s*\(\s*(?:true|1)\s*\)|\b(?:void|bool|int|func)\s+assert\w*\s*\(",
        r"(?m)\bGTEST_SKIP\b|\bDISABLED_\w+|\bXCTSkip\w*|^\s*#\s*if\s+0\b",
    ],
    directives: None,
};

/// Each language with the endings of its files' names.
static LANGUAGES: LazyLock<Vec<(&[&str], Language)>> =
    LazyLock::new(|| [PYTHON, RUST, SCRIPT, GO, JAVA, CPP].into_iter().filter_map(compiled).collect());

/// The patterns are our own and a test compiles them; a malformed one would leave its language to be counted by lines.
fn compiled(of: Written) -> Option<(&'static [&'static str], Language)> {
    let [cases, assertions, hollow, skips] = of.patterns.map(Regex::new);
    let language = Language {
        style: of.style,
        cases: cases.ok()?,
        assertions: assertions.ok()?,
        hollow: hollow.ok()?,
        skips: skips.ok()?,
        directives: of.directives.map(Regex::new).transpose().ok()?,
    };
    Some((of.endings, language))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(LANGUAGES.len(), 6);
        for (path, known) in [("tests/A.PY", true), ("a.rs", true), ("a.rb", false), ("Makefile", false), ("a.", false)]
        {
            assert_eq!(of(path).is_some(), known, "{path}");
        }
    }
}
