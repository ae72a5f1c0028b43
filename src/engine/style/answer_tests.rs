//! Answers in the forms that small models give.

use super::super::{EXAMPLE, EarlierTries, Reader, shown};
use super::*;
use crate::llm::ModelResponse;

fn given(text: &str, look: &Look) -> Vec<(String, String)> {
    files(text, false, look, "").into_iter().map(|file| (file.path, file.content)).collect()
}

const CALC: &str = "def add(a, b):\n    return a - b\n";
const FIXED: &str = "def add(a, b):\n    return a + b\n";

#[test]
fn a_block_finds_its_file() {
    let look = shown(&[("lib/calc.py", CALC), ("lib/text.py", "x = 1\n")]);
    let fixed = vec![("lib/calc.py".to_owned(), FIXED.to_owned())];
    for head in
        ["lib/calc.py\n", "**lib/calc.py**\n\n", "`calc.py`:\n", "./lib/calc.py\n", "### File: path/lib/calc.py\n"]
    {
        assert_eq!(given(&format!("Fixed.\n\n{head}```python\n{FIXED}```\n"), &look), fixed, "{head}");
    }
    assert_eq!(given(&format!("```python lib/calc.py\n{FIXED}```"), &look), fixed);
    let comment = format!("# lib/calc.py\n{FIXED}");
    assert_eq!(given(&format!("Here:\n```\n{comment}```"), &look), fixed, "the comment is no part of the file");
    let prose = format!("In calc.py the sign was wrong.\nI mended it.\n\nThe result is this.\n```python\n{FIXED}```");
    assert_eq!(given(&prose, &look), fixed);
    assert_eq!(given(&format!("```python\n{FIXED}```"), &look), [], "nothing says which of the two");
}

#[test]
fn the_only_file_needs_no_name_and_the_example_is_never_written() {
    let look = shown(&[("lib/calc.py", CALC)]);
    assert_eq!(given(&format!("```python\n{FIXED}```"), &look)[0].0, "lib/calc.py");
    assert_eq!(given(&format!("{EXAMPLE}\n```python\n{FIXED}```"), &look), [], "the example's own path");
    assert_eq!(given(&format!("path/of/file.py\n```python\n{FIXED}```"), &look), [], "a folder that is not there");
    assert_eq!(given("../evil.py\n```python\nx\n```", &look), []);
    assert_eq!(given("lib/new.py\n```python\nx = 2\n```", &look), [("lib/new.py".into(), "x = 2\n".into())]);
    assert_eq!(given("lib/other.py\n```python\nx = 2\n```", &look), [], "there, and was not shown");
}

#[test]
fn a_path_above_a_block_is_its_heading() {
    let look = shown(&[("lib/calc.py", CALC), ("lib/text.py", "x = 1\n")]);
    let answer = "This helps lib/calc.py:\n\nlib/new.py\n```python\nx = 2\n```";
    assert_eq!(given(answer, &look), [("lib/new.py".into(), "x = 2\n".into())]);
    let answer = format!("lib/new.py uses it.\n\nlib/calc.py\n```python\n{FIXED}```");
    assert_eq!(given(&answer, &look), [("lib/calc.py".into(), FIXED.into())]);
}

#[test]
fn a_new_file_in_a_folder_is_no_known_one_of_its_name() {
    let look = shown(&[("main.py", CALC), ("app/run.py", "x = 1\n")]);
    let answer = format!("app/main.py\n```python\n{FIXED}```");
    assert_eq!(given(&answer, &look), [("app/main.py".into(), FIXED.into())]);
    let answer = format!("path/of/main.py\n```python\n{FIXED}```");
    assert_eq!(given(&answer, &look), [("main.py".into(), FIXED.into())], "a placeholder in front of it");
    let answer = "In app/run.py:\n\nDone.\n```python\nx = 2\n```";
    assert_eq!(given(answer, &look), [("app/run.py".into(), "x = 2\n".into())], "a sentence of one word is no path");
}

#[test]
fn what_is_no_file_is_not_taken_for_one() {
    let look = shown(&[("lib/calc.py", CALC)]);
    assert_eq!(given("Run this:\n```bash\npytest\n```", &look), []);
    assert_eq!(files(&format!("lib/calc.py\n```python\n{FIXED}"), true, &look, ""), [], "cut off");
    assert_eq!(given(&format!("lib/calc.py\n```python\n{CALC}```"), &look), [], "unchanged");
    assert_eq!(given("lib/calc.py\n```python\n# ... existing code ...\nx = 1\n```", &look), []);
}

#[test]
fn existing_tests_stand_unless_they_were_asked_for() {
    let look = shown(&[("tests/test_calc.py", "assert 1\n")]);
    let answer = "tests/test_calc.py\n```python\nassert 2\n```";
    assert_eq!(given(answer, &look), []);
    assert_eq!(files(answer, false, &look, "extend test_calc.py please").len(), 1);
}

#[test]
fn a_definition_alone_replaces_that_one() {
    let long = format!("{CALC}\n\ndef sub(a, b):\n    return a - b\n\n\ndef mul(a, b):\n    return a * b\n");
    let look = shown(&[("lib/calc.py", &long)]);
    let out = given(&format!("lib/calc.py\n```python\n{FIXED}```"), &look);
    assert_eq!(out, [("lib/calc.py".into(), long.replacen("a - b", "a + b", 1))]);
}

#[test]
fn the_files_and_their_check_are_two_calls_and_a_try_is_one() {
    let look = shown(&[("lib/calc.py", CALC)]);
    let files = || files(&format!("```python\n{FIXED}```"), false, &look, "");
    let names =
        |calls: &[CallRequest]| calls.iter().map(|call| format!("{} {}", call.id, call.name)).collect::<Vec<_>>();
    let check = Some("make test");
    let tried = First::Tried { words: String::new() };
    assert_eq!(names(&calls(files(), check, &First::Written, &look, 4)), ["call_4_0 write_files", "call_4_1 bash"]);
    assert_eq!(names(&calls(files(), check, &tried, &look, 4)), ["call_4_0 try"]);
    assert_eq!(names(&calls(files(), None, &tried, &look, 4)), ["call_4_0 write_files"], "nothing to try it with");
    assert!(calls(super::files("I can't.", false, &look, ""), check, &tried, &look, 4).is_empty());
}

#[test]
fn of_an_answer_that_was_cut_off_the_complete_files_are_tried_and_never_written() {
    let look = Box::new(shown(&[("lib/calc.py", CALC)]));
    let text = format!("lib/calc.py\n```python\n{FIXED}```\n\nlib/new.py\n```python\ndef half(");
    let response = ModelResponse { text, truncated: true, ..ModelResponse::default() };
    let paths = |command: Option<&str>, first: First| -> Vec<String> {
        let command = command.map(str::to_owned);
        let (look, earlier) = (look.clone(), EarlierTries::default());
        let reader = Reader::Files { look, command, asked: String::new(), first, written: Vec::new(), earlier };
        let calls = reader.calls(&response, 1);
        calls.iter().map(|call| format!("{} {}", call.name, call.arguments["paths"])).collect()
    };
    let tried = || First::Tried { words: String::new() };
    assert_eq!(paths(Some("make test"), tried()), ["try [\"lib/calc.py\"]"]);
    assert_eq!(paths(Some("make test"), First::Written), [""; 0]);
    assert_eq!(paths(None, tried()), [""; 0], "nothing to try it with");
}

#[test]
fn a_last_block_that_was_merely_not_closed_is_a_file() {
    let look = shown(&[("lib/calc.py", CALC)]);
    let fixed = [("lib/calc.py".to_owned(), FIXED.to_owned())];
    assert_eq!(given(&format!("lib/calc.py\n```python\n{FIXED}"), &look), fixed);
}

#[test]
fn a_difference_is_no_file() {
    let look = shown(&[("lib/calc.py", CALC)]);
    let hunk = "@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n";
    for block in [format!("```diff\n{hunk}```"), format!("```\n{hunk}```"), "```patch\n-a\n+b\n```".to_owned()] {
        assert_eq!(given(&format!("lib/calc.py\n{block}"), &look), [], "{block}");
    }
    let headed = format!("lib/calc.py\n```python\n--- a/lib/calc.py\n+++ b/lib/calc.py\n{hunk}```");
    assert_eq!(given(&headed, &look), []);
    let both = format!("{headed}\n\nThe whole file:\n\nlib/calc.py\n```python\n{FIXED}```");
    assert_eq!(given(&both, &look), [("lib/calc.py".to_owned(), FIXED.to_owned())]);
}

#[test]
fn what_most_of_a_file_leaves_out_is_kept() {
    let both = format!("import re\n\n{CALC}\n\ndef sub(a, b):\n    return a - b\n");
    let look = shown(&[("lib/calc.py", &both)]);
    let out = given(&format!("```python\nimport re\n\n{FIXED}    # Adds both.\n    # Returns the sum.\n```"), &look);
    assert!(out[0].1.contains("def sub(a, b)") && out[0].1.contains("return a + b"), "{out:?}");
    let tests = "\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n}\n";
    let sources = "use std::fmt;\n\npub const ONE: u8 = 1;\n\npub fn add(a: u8) -> u8 {\n    a - ONE\n}\n";
    let look = shown(&[("src/lib.rs", &format!("{sources}{tests}"))]);
    let out = given(&format!("```rust\n{}\n```", sources.replace("a - ONE", "a + ONE")), &look);
    assert_eq!(out, [("src/lib.rs".into(), format!("{}{tests}", sources.replace("a - ONE", "a + ONE")))]);
    let longer = format!("{sources}{}", "\npub const TWO: u8 = 2;\n".repeat(3));
    let look = shown(&[("src/lib.rs", &format!("{longer}{tests}"))]);
    assert_eq!(given(&format!("```rust\n{longer}```"), &look), [], "nothing of it is new");
    let look = shown(&[("lib/calc.py", &both)]);
    assert_eq!(given(&format!("```python\nimport re\n\n{CALC}\n\n\n```"), &look), [], "and what it lacks stays");
}

#[test]
fn an_example_or_a_test_behind_the_file_is_no_part_of_it() {
    let look = shown(&[("lib/calc.py", CALC)]);
    let fixed = [("lib/calc.py".to_owned(), FIXED.to_owned())];
    let answer = |block: &str| format!("lib/calc.py\n```python\n{FIXED}```\nYou can test it:\n```python\n{block}```");
    for block in [
        "from calc import add\nprint(add(1, 2))\n",
        "import lib.calc\n\nassert lib.calc.add(1, 2) == 3\n",
        "from lib.calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
        "import unittest\n\nclass TestAdd(unittest.TestCase):\n    def test_add(self):\n        pass\n",
    ] {
        assert_eq!(given(&answer(block), &look), fixed, "{block}");
        assert_eq!(given(&answer(block).replace("test it", "test `calc.py`"), &look), fixed, "{block}");
    }
    let both = format!("{FIXED}\n\ndef test_add():\n    assert add(1, 2) == 3\n");
    assert_eq!(given(&format!("```python\n{both}```"), &look), [("lib/calc.py".to_owned(), both)], "the file is in it");
    let look = shown(&[("lib/json.py", CALC)]);
    assert_eq!(given(&format!("```python\nimport json\n\n{FIXED}```"), &look).len(), 1, "a library of the file's name");
    let script = "function add(a, b) {\n  return a - b;\n}\n\nmodule.exports = { add };\n";
    let look = shown(&[("src/calc.js", script)]);
    for block in ["const { add } = require('./calc');\nadd(1, 2);\n", "describe('add', () => {\n  add(1, 2);\n});\n"] {
        assert_eq!(given(&format!("```js\n{block}```"), &look), [], "{block}");
    }
    let other = "const fs = require('fs');\n".to_owned() + &script.replace('-', "+");
    assert_eq!(given(&format!("```js\n{other}```"), &look), [("src/calc.js".to_owned(), other)]);
    let test = "import unittest\n\nclass TestAdd(unittest.TestCase):\n    pass\n";
    let look = shown(&[("lib/calc.py", CALC)]);
    let new = given(&format!("I create `lib/checks.py`:\n```python\n{test}```"), &look);
    assert_eq!(new, [("lib/checks.py".to_owned(), test.to_owned())], "a new file");
    let look = shown(&[("tests/test_calc.py", "import calc\n")]);
    assert_eq!(files(&format!("```python\n{test}```"), false, &look, "see test_calc.py").len(), 1, "a test's own text");
}

/// Answers as a small model writes them, each with the files that it was shown and what has to come of them (`tests/fixtures/answers`).
#[test]
fn answers_of_small_models_lose_nothing_and_bring_no_examples() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/answers");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let (shown_files, rest) = text.split_once("=ANSWER\n").unwrap();
        let (answer, results) = rest.split_once("=RESULT ").unwrap();
        let mut files = Vec::new();
        for part in shown_files.split("=FILE ").skip(1) {
            let (head, text) = part.split_once('\n').unwrap();
            let mut words = head.split(' ');
            let mut file = domain::ShownFile::whole(words.next().unwrap(), text, "");
            let lines = words.next().and_then(|lines| lines.split_once('-'));
            file.lines =
                lines.map(|(first, last)| (first.parse().unwrap(), last.parse().unwrap())).into_iter().collect();
            files.push(file);
        }
        let look = Look { files, ..shown(&[]) };
        let wanted: Vec<(&str, &str)> = results.split("=RESULT ").map(|it| it.split_once('\n').unwrap()).collect();
        let out = given(answer, &look);
        let out: Vec<(&str, &str)> = out.iter().map(|(path, text)| (path.as_str(), text.trim_end())).collect();
        let wanted: Vec<(&str, &str)> = wanted.into_iter().map(|(path, text)| (path, text.trim_end())).collect();
        assert_eq!(out, wanted, "{}", path.display());
        read += 1;
    }
    assert!(read > 20, "{read} answers were read");
}

#[test]
fn an_answer_of_one_block_again_and_again_costs_little() {
    let file: String = (0..1_000).map(|n| format!("def f{n}(x):\n    return x + {n}\n\n\n")).collect();
    let mut look = shown(&[("lib/big.py", &file)]);
    look.files[0].lines = vec![(1, 400)];
    let block = |n: u32| format!("lib/big.py\n```python\ndef f{n}(x):\n    return x\n```\n");
    let began = std::time::Instant::now();
    assert_eq!(given(&block(3).repeat(1_000), &look).len(), 1);
    let many: String = (0..100).map(block).collect();
    let out = given(&many, &look);
    assert_eq!(out[0].1.matches("    return x\n").count(), MOST_BLOCKS);
    // In an unoptimised build on a busy machine.
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
}
