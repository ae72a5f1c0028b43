//! Readings of real outputs. Each snapshot is of one tool's directory of `tests/fixtures/checks`; read them beside the outputs.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/checks")
}

fn output(tool: &str, case: &str) -> String {
    let path = folder().join(tool).join(format!("{case}.txt"));
    fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// One directory per tool; clang's reports are read as gcc's.
const FOLDERS: [&str; 20] = [
    "unittest", "pytest", "mypy", "ruff", "cargo", "rustc", "clippy", "node", "jest", "vitest", "tsc", "eslint", "go",
    "gcc", "clang", "javac", "maven", "tap", "junit", "sarif",
];

fn cases(tool: &str) -> Vec<String> {
    let mut cases: Vec<String> = fs::read_dir(folder().join(tool))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().trim_end_matches(".txt").to_owned())
        .collect();
    cases.sort();
    cases
}

fn shown(items: &[Item]) -> String {
    let one = |item: &Item| {
        let line = item.line.map_or_else(|| "-".to_owned(), |line| line.to_string());
        let (file, test) = (item.file.as_deref().unwrap_or("-"), item.test.as_deref().unwrap_or("-"));
        let words: String = item.message.lines().map(|line| format!("    {line}\n")).collect();
        let severity = match item.severity {
            Severity::Error => "",
            Severity::Warning => " (warning)",
            Severity::Note => " (note)",
        };
        format!("{:?} {file}:{line} [{test}]{severity}\n{words}", item.tool)
    };
    items.iter().map(one).collect()
}

fn read_case(tool: &str, case: &str) -> Vec<Item> {
    read(&output(tool, case))
}

#[test]
fn each_tools_reports_are_read() {
    for tool in FOLDERS {
        let mut text = String::new();
        for case in cases(tool) {
            let items = read_case(tool, &case);
            text.push_str(&format!("===== {case}\n{}", shown(&items)));
        }
        insta::assert_snapshot!(tool, text);
        for case in cases(tool) {
            let items = read_case(tool, &case);
            // A passing run has no items, any other has some, and none are attributed to another tool.
            assert_eq!(items.is_empty(), case.contains("passing"), "{tool}/{case}");
            let reader = if tool == "clang" { "gcc" } else { tool };
            assert!(items.iter().all(|item| item.tool.name() == reader), "{tool}/{case}: {items:?}");
        }
    }
}

#[test]
fn the_innermost_place_in_the_workspace_and_what_was_compared() {
    let find = |items: &[Item], test: &str| {
        items.iter().find(|item| item.test.as_deref().is_some_and(|name| name.contains(test))).cloned().expect(test)
    };
    let garbage = find(&read_case("unittest", "failing"), "test_garbage");
    assert_eq!((garbage.file.as_deref(), garbage.line), (Some("shop/price.py"), Some(8)));
    assert_eq!(garbage.test.as_deref(), Some("tests.test_price.Parse.test_garbage"));
    let cents = find(&read_case("cargo", "backtrace"), "cents");
    assert_eq!((cents.file.as_deref(), cents.line), (Some("src/lib.rs"), Some(25)));
    assert!(cents.message.contains("left: 105") && cents.message.contains("right: 150"), "{}", cents.message);
    let empty = find(&read_case("jest", "failing"), "empty");
    assert_eq!((empty.file.as_deref(), empty.line), (Some("src/price.js"), Some(5)));
    let first = find(&read_case("go", "panic"), "TestFirst");
    assert_eq!((first.file.as_deref(), first.line), (Some("sum/sum.go"), Some(22)));
}

#[test]
fn colours_change_nothing() {
    let same = |tool: &str, plain: &str, coloured: &str| {
        // Files are run in any order.
        let sorted = |case: &str| {
            let mut items = read_case(tool, case);
            items.sort_by_key(|item| item.file.clone());
            items
        };
        let (plain, coloured) = (sorted(plain), sorted(coloured));
        assert_eq!(plain, coloured, "{tool}");
    };
    same("pytest", "failing", "coloured");
    same("cargo", "failing", "coloured");
    same("rustc", "build", "coloured");
    same("jest", "failing", "coloured");
    let node = |case: &str| {
        read_case("node", case).into_iter().map(|item| (item.test, item.file, item.line)).collect::<Vec<_>>()
    };
    assert_eq!(node("spec"), node("coloured"));
    assert_eq!(node("spec"), node("tap"), "both forms of report say the same");
    let tsc = |case: &str| {
        read_case("tsc", case).into_iter().map(|item| (item.message, item.file, item.line)).collect::<Vec<_>>()
    };
    assert_eq!(tsc("failing"), tsc("pretty"));
}

#[test]
fn a_message_keeps_what_was_compared() {
    let long = "x".repeat(5_000);
    let middle = "nothing of interest\n".repeat(100);
    let output = format!(
        "---- tests::big stdout ----\nthread 'tests::big' panicked at src/lib.rs:3:9:\nassertion `left == right` failed: {long}\n{middle}  left: \"{long}\"\n right: \"{long}\"\n\nfailures:\n"
    );
    let [item] = &read(&output)[..] else { panic!("one item") };
    assert!(item.message.chars().count() <= lines::MESSAGE);
    assert!(
        item.message.contains("assertion") && item.message.contains("left: \"x") && item.message.contains("right: \"x"),
        "{}",
        item.message
    );
    assert!(item.message.contains("\n…\n"), "a gap is shown: {}", item.message);
}

#[test]
fn places_outside_the_workspace_are_none() {
    for odd in [
        "/etc/passwd",
        "../up.py",
        "a/../../b",
        "<frozen importlib>",
        "/workspace/",
        "node:fs",
        "x\u{202e}y.py",
        "node_modules/a/b.js",
        "/workspace/.venv/lib/a.py",
    ] {
        assert_eq!(lines::place(odd), None, "{odd}");
    }
    for (given, path) in [
        ("/workspace/a b/c.py", "a b/c.py"),
        ("./c.go", "c.go"),
        ("file:///workspace/é.mjs", "é.mjs"),
        ("src/lib.rs", "src/lib.rs"),
    ] {
        assert_eq!(lines::place(given).as_deref(), Some(path));
    }
}

#[test]
fn a_run_is_held_against_the_one_before() {
    let before = read_case("unittest", "failing");
    let mut now = before.clone();
    // Moved and with another message, it is still the same test.
    now[1].line = Some(99);
    now[1].message = "ValueError: another".into();
    let fixed = now.remove(2);
    let fresh = Item { test: Some("tests.test_price.Parse.test_new".into()), ..now[1].clone() };
    now.push(fresh.clone());
    let found = difference(&before, &now);
    assert_eq!((found.new, found.gone), (vec![&fresh], vec![&fixed]));
    assert_eq!(found.still.len(), before.len() - 1);
    // Without a test, the first line of the message in the file identifies it, each occurrence separately.
    let built = read_case("rustc", "build");
    let twice = [built.clone(), vec![Item { line: Some(1), ..built[0].clone() }]].concat();
    assert_eq!(difference(&built, &twice).new.len(), 1);
    assert_eq!(difference(&twice, &built).gone.len(), 1);
    assert_eq!(difference(&[], &[]), Difference::default());
}

#[test]
fn an_output_that_lost_its_beginning_or_end_is_read_as_far_as_it_goes() {
    for tool in FOLDERS {
        for case in cases(tool) {
            let text = output(tool, &case);
            for part in 1..20 {
                let at = text.floor_char_boundary(text.len() * part / 20);
                let half = text.floor_char_boundary(at / 2);
                for items in
                    [read(&text[at..]), read(&text[..at]), read(&format!("{}\n[…]\n{}", &text[..half], &text[at..]))]
                {
                    held(&items);
                    assert!(!case.contains("passing") || items.is_empty(), "{tool}/{case}: {items:?}");
                }
            }
        }
    }
}

/// Invariants of the items of any output.
fn held(items: &[Item]) {
    assert!(items.len() <= MOST);
    for item in items {
        assert!(item.message.chars().count() <= lines::MESSAGE, "{item:?}");
        assert!(!item.message.contains('\u{1b}'));
        assert!(item.file.as_deref().is_none_or(|file| lines::place(file).as_deref() == Some(file)), "{item:?}");
        assert!(item.line.is_none() || item.file.is_some(), "{item:?}");
    }
}

/// Malformed reports: numbers, paths, documents and lines that do not end as they should.
#[test]
fn what_is_malformed_is_left_out_and_harms_nothing() {
    let numbers = "a.c:99999999999999999999:1: error: far\na.c:0:0: error: nowhere\n";
    assert!(read(numbers).iter().all(|item| item.file.as_deref() == Some("a.c") && item.line.is_none()));
    let outside = "/etc/passwd.c:1:1: error: a\n../../up.c:1:1: error: b\n/workspace/../x.py:3: error: c  [d]\n";
    assert_eq!(read(outside).len(), 3);
    assert!(read(outside).iter().all(|item| item.file.is_none() && item.line.is_none()));
    let bar = "10%\r50%\ra.c:3:1: error: after a bar\r\nb.c:4:1: error: plain\r\n";
    assert_eq!(read(bar).iter().map(|item| item.line).collect::<Vec<_>>(), [Some(3), Some(4)]);
    for broken in [
        "<testsuite><testcase name='a'><failure message='b",
        "<testsuite><testcase name='a'><failure>x<![CDATA[y",
        "<testsuite><testcase name=a b><failure/></testcase>",
        "<testsuite><!-- <testcase name='a'><failure/></testcase>",
        "{\"runs\": [{\"results\": [{\"message\": {\"text\": \"cut",
        "{\"runs\": [{\"results\": 7}]}",
    ] {
        held(&read(broken));
    }
    let entities =
        "<testsuite><testcase name='a&lt;&#x41;&#1114112;&nbsp;&'><failure message='b&amp;c'/></testcase></testsuite>";
    let [item] = &read(entities)[..] else { panic!("one item") };
    assert_eq!((item.test.as_deref(), item.message.as_str()), (Some("a<A&#1114112;&nbsp;&"), "b&c"));
    let deep = format!("{{\"runs\": {}", "[".repeat(100_000));
    assert_eq!(read(&deep), []);
}

#[test]
fn a_document_stands_among_other_lines() {
    let result = |level: &str| {
        format!(
            "{{\"ruleId\": \"r\", {level} \"message\": {{\"text\": \"words\"}}, \"locations\": [{{\"physicalLocation\": {{\"artifactLocation\": {{\"uri\": \"file:///workspace/a%20b.c\"}}, \"region\": {{\"startLine\": 99999999999}}}}}}]}}"
        )
    };
    let all =
        [result("\"level\": \"note\","), result(""), result("\"suppressions\": [{}],"), result("\"kind\": \"pass\",")];
    let text = format!(
        "make lint\n{{ not json\n{{\"runs\": [{{\"results\": [{}]}}]}}\nmake: *** [lint] Error 1\n",
        all.join(",")
    );
    let found = read(&text);
    let told: Vec<_> = found.iter().map(|item| (item.severity, item.file.as_deref(), item.line)).collect();
    // Without a level it is a warning; suppressed and passed results are none.
    assert_eq!(told, [(Severity::Warning, Some("a b.c"), None), (Severity::Note, Some("a b.c"), None)]);
}

#[test]
fn errors_come_before_warnings_however_many_there_are() {
    let mut text: String = (1..1_000).map(|n| format!("a.c:{n}:1: warning: number {n} [-Wx]\n")).collect();
    text.push_str("a.c:7:1: error: the one that matters\n");
    let items = read(&text);
    assert_eq!((items.len(), items[0].severity, items[1].severity), (MOST, Severity::Error, Severity::Warning));
    let (failed, beside) = failed_by(items);
    assert_eq!((failed.len(), beside.len()), (1, MOST - 1));
}

#[test]
fn of_a_long_output_the_ends_are_read() {
    let middle = "nothing at all happens here\n".repeat(400_000);
    let text = format!("a.c:1:1: error: first\n{middle}a.c:2:1: error: lost\n{middle}a.c:3:1: error: last\n");
    assert!(text.len() > 10 << 20);
    let lines: Vec<_> = read(&text).iter().filter_map(|item| item.line).collect();
    assert_eq!(lines, [1, 3]);
    held(&read(&"a.c:1:1: error: x ".repeat(500_000)));
}

#[test]
fn a_test_without_a_block_gets_its_own_panic() {
    let output = "thread 'a' panicked at src/a.rs:1:1:\nfirst\nthread 'b' panicked at /rustc/b.rs:2:1:\nsecond\n\nstack backtrace:\n   0: x\n             at ./src/b.rs:3:1\n\nfailures:\n    b\n    a - should panic\n    c\n\ntest result: FAILED.\n";
    let items = read(output);
    let told: Vec<_> = items
        .iter()
        .map(|item| (item.test.as_deref().unwrap(), item.file.as_deref(), item.line, item.message.as_str()))
        .collect();
    let (a, b) = (Some("src/a.rs"), Some("src/b.rs"));
    assert_eq!(told, [("b", b, Some(3), "second"), ("a - should panic", a, Some(1), "first"), ("c", None, None, "")]);
}

/// Each known line repeated, and pairs of lines that a reader compares, as many as an outcome keeps.
#[test]
fn an_output_made_to_cost_much_costs_little() {
    let most = protocol::runner::MAX_TEXT as usize;
    let numbered = |line: &str| {
        let mut text = String::new();
        for n in 0.. {
            if text.len() > most / 2 {
                return text;
            }
            text.push_str(&line.replace('#', &n.to_string()));
        }
        text
    };
    let pair = |first: &str, second: &str| numbered(first) + &numbered(second);
    let mut hostile: Vec<String> =
        KNOWN.iter().map(|line| format!("{line}\n").repeat(most / (line.len() + 1))).collect();
    hostile.push(pair("thread 'x#' panicked at a.rs:1:1:\n", "failures:\n    #\n"));
    hostile.push(format!(
        "=== FAILURES ===\n{}",
        pair("__ # __\nE   x\n", "=== short test summary info ===\nFAILED a.py::b#\n")
    ));
    hostile.push(numbered("--- FAIL: Test# (0s)\n"));
    hostile.push(format!(
        "{}\n{}",
        "=".repeat(70),
        pair("FAIL: a (b.C)\n", &format!("{}\nFAIL: a (b.C)\n", "=".repeat(70)))
    ));
    hostile.push(numbered("Error: x\nNode.js v#\n"));
    hostile.push("<testsuite>".to_owned() + &numbered("<testcase name='#'><failure>"));
    hostile.push("<testsuite>".to_owned() + &numbered("<testcase name='a'><failure message='"));
    hostile.push("\"runs\"\n".to_owned() + &numbered("{\"runs\": [\n"));
    hostile.push(numbered("make: Entering directory '/workspace/#'\na.c:1:1: error: x\n"));
    hostile.push("1..9\n".to_owned() + &numbered("not ok # - a\n#   Failed test 'a'\n"));
    hostile.push(numbered(" FAIL  a.js > #\n"));
    let nested: String = (0..300).map(|k| format!("{0}not ok 1 - a\n{0} ---\n", " ".repeat(k))).collect();
    hostile.push(format!("TAP version 13\n{nested}{}", "\n".repeat(most - nested.len())));
    hostile.push(format!("# Subtest: a\n{nested}{}", "\n".repeat(most - nested.len())));
    // Many names of one panic outside the workspace, whose backtrace might be anywhere in the longest output that is read.
    let names: String = (0..MOST).map(|n| format!("    a - {n}\n")).collect();
    hostile.push(format!("thread 'a' panicked at /a.rs:1:1:\n{}failures:\n{names}", "\n".repeat(4_000_000)));
    let began = std::time::Instant::now();
    hostile.iter().for_each(|text| held(&read(text)));
    let each = began.elapsed() / u32::try_from(hostile.len()).unwrap();
    // Generous, for an unoptimised build on a busy machine.
    assert!(each < std::time::Duration::from_secs(2), "{each:?} for each of {}", hostile.len());
}

/// Lines that the readers look for.
const KNOWN: &[&str] = &[
    "======================================================================",
    "----------------------------------------------------------------------",
    "FAIL: test_a (t.T.test_a)",
    "Traceback (most recent call last):",
    "  File \"/workspace/é.py\", line 4294967296, in x",
    "AssertionError: é != 1",
    "=== FAILURES ===",
    "___ test_a ___",
    "E   assert 1 == 2",
    "t.py:1: E",
    "=== short test summary info ===",
    "FAILED t.py::a[ - ] - é",
    "--- Captured é ---",
    "---- a stdout ----",
    "thread 'a' panicked at src/é.rs:1:1:",
    "failures:",
    "    a",
    "error[E1]: é",
    "  --> src/é.rs:1:1",
    "é.rs:1:2: error: é",
    "TAP version 13",
    "not ok 1 - é",
    "  ---",
    "  error: |-",
    "    é",
    "  ...",
    "✖ failing tests:",
    "✖ é (1ms)",
    "    at x (/workspace/é.js:1:1)",
    "Node.js v20",
    "Error: é",
    "FAIL é.js",
    "  ● é",
    "    > 1 | é",
    "é.ts(1,1): error TS1: é",
    "  é",
    "--- FAIL: TestÉ (0.00s)",
    "    é.go:1: é",
    "FAIL\té",
    "# é",
    "é.go:1:1: é",
    "panic: é",
    "\t/workspace/é.go:1",
    "é.c:1:1: error: é",
    "é.c:1:1: note: é",
    "   ^",
    "make: Entering directory '/workspace/é'",
    "é.c:(.text+0x1): undefined reference to `é'",
    "é.py:1: error: é  [a]",
    "F401 é",
    " --> é.py:1:1",
    "é.py:",
    "  1:1  F401 é",
    "/workspace/é.js",
    "  1:1  error  é  no-é",
    " FAIL  é.js > é",
    " ❯ é.js:1:1",
    "É.java:1: error: é",
    "[ERROR] /workspace/É.java:[1,1] é",
    "[ERROR] a.É.é -- Time elapsed: 0.1 s <<< FAILURE!",
    "\tat a.É.é(É.java:1)",
    "<testsuite name=\"é\">",
    "<testcase name=\"é\" line=\"1\">",
    "<failure message=\"é\">",
    "</failure></testcase>",
    "<![CDATA[",
    "{\"runs\": [{\"results\": [{}]}]}",
    "{",
    "#   Failed test 'é'",
    "#   at é.t line 1.",
    "\u{1b}[31m",
    "\u{1b}]",
    "",
];

/// Known and unknown lines, in any order.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![proptest::sample::select(KNOWN).prop_map(str::to_owned), "\\PC{0,40}"]
}

proptest! {
    #[test]
    fn any_text_is_read_without_harm(text in any::<String>()) {
        held(&read(&text));
    }

    #[test]
    fn any_order_of_known_lines_is_read_without_harm(pieces in proptest::collection::vec(piece(), 0..60)) {
        let items = read(&pieces.join("\n"));
        held(&items);
        let none = difference(&items, &items);
        prop_assert!(none.new.is_empty() && none.gone.is_empty());
    }
}
