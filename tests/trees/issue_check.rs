//! The check made from an issue's own examples, run by real interpreters before and after an answer.

use caisson::engine::style::check;
use domain::{IssueCheck, Look, NewFile, ShownFile};

use crate::skipped::skipped;
use crate::world::World;

type Files<'a> = [(&'a str, &'a str)];

fn made(words: &str, files: &Files<'_>) -> IssueCheck {
    let files = files.iter().map(|(path, text)| ShownFile::whole(*path, *text, "")).collect();
    check::of(words, &Look { files, ..Look::default() }, &[]).expect("an example")
}

/// How many of the check's examples hold with an answer, which fail, and the command's own output.
async fn tried(world: &World, check: &IssueCheck, answer: &Files<'_>, command: &str) -> (usize, Vec<String>, String) {
    let spec = world.checks(&world.base, Some(command));
    let new = |(path, text): &(&str, &str)| NewFile::new(*path, *text);
    let files: Vec<NewFile> = answer.iter().map(new).collect();
    let (ran, examples) = world.sandboxes.candidates.try_out(&spec, &files, Some(check), 1).await.unwrap();
    assert!(world.left().await.is_empty(), "a container is left");
    let fails = examples.iter().filter(|one| !one.holds).map(|one| format!("{}: {}", one.says, one.seen));
    let fails: Vec<String> = fails.collect();
    (examples.len() - fails.len(), fails, ran.text)
}

#[tokio::test]
async fn python_examples_tell_a_right_answer_from_a_wrong_one_and_the_command_does_not_meet_them() {
    let base = [("durations/parse.py", "def parse(text):\n    return int(text)\n")];
    let world = World::with(&base, |_| {}).await;
    let words = "- `parse(\"2:05\")` gives 125\n- `parse(\"90\")` gives 90\n- `parse(\"x\")` raises `KeyError`\n\n\
        ```python\ntwo = parse(\"2\")\nparse(\"0:59\") + two  # 61\nparse(\"0:5\" + \"9\")  # 59\n```\n";
    let check = made(words, &base);
    assert_eq!(check.says.len(), 4, "{:?}", check.says);
    let right = "def parse(text):\n    parts = text.split(':')\n    if not parts[-1].isdigit():\n        raise KeyError(text)\n    \
        return int(parts[0]) * (60 if len(parts) > 1 else 1) + (int(parts[1]) if len(parts) > 1 else 0)\n";
    let command = "git status --porcelain";
    let (holds, fails, printed) = tried(&world, &check, &[("durations/parse.py", right)], command).await;
    assert_eq!((holds, fails), (3, vec![]), "what held before is no part of it");
    assert_eq!(printed.trim(), "M durations/parse.py", "the command meets the answer alone");
    let wrong = [("durations/parse.py", "def parse(text):\n    return 130\n")];
    let (holds, fails, _) = tried(&world, &check, &wrong, "true").await;
    assert_eq!((holds, fails.len()), (0, 3), "{fails:?}");
    assert_eq!(fails[0], "`parse(\"2:05\")` should give `125`: 130");
    let (holds, fails, _) = tried(&world, &check, &[("durations/parse.py", "def parse(\n")], "true").await;
    assert_eq!((holds, fails.len()), (0, 2), "what its setup does not reach is no part of it: {fails:?}");
}

#[tokio::test]
async fn javascript_examples_of_a_function_that_is_yet_to_be_made() {
    if std::process::Command::new("node").arg("--version").output().is_err() {
        return skipped("node", "no node on the PATH; examples in JavaScript were not run");
    }
    let base =
        [("src/case.js", "function words(text) {\n  return text.split(' ');\n}\n\nmodule.exports = { words };\n")];
    let world = World::with(&base, |_| {}).await;
    let check =
        made("In `src/case.js`:\n- `capitalize('a b')` returns `'A b'`\n- `words('a b')` is `['a','b']`", &base);
    let made = |body: &str| {
        format!(
            "function capitalize(text) {{\n  return {body};\n}}\n\nmodule.exports = {{ capitalize, words: (t) => t.split(' ') }};\n"
        )
    };
    let right = made("text.charAt(0).toUpperCase() + text.slice(1)");
    let (holds, fails, _) = tried(&world, &check, &[("src/case.js", &right)], "true").await;
    assert_eq!((holds, fails), (1, vec![]));
    let wrong = made("text.toUpperCase()");
    let (holds, fails, _) = tried(&world, &check, &[("src/case.js", &wrong)], "true").await;
    assert_eq!((holds, fails), (0, vec!["`capitalize('a b')` should give `'A b'`: 'A B'".to_owned()]));
}

#[tokio::test]
async fn rust_examples_are_compared_by_their_debug_text() {
    // A toolchain chosen by rustup is not available with another home directory.
    let Ok(found) = std::process::Command::new("rustc").args(["--print", "sysroot"]).output() else {
        return skipped("cargo", "no rustc on the PATH; examples in Rust were not run");
    };
    let sysroot = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    let base = [
        ("Cargo.toml", "[package]\nname = \"two-words\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("src/lib.rs", "pub fn half(n: u32) -> Result<u32, String> {\n    Ok(n)\n}\n"),
    ];
    let world = World::with(&base, |_| {}).await;
    let mut check = made("`half(4)` should be 2, and `half(1)` is `Err(\"odd\")`; `half(0)` is 0", &base);
    check.command = format!("export PATH='{sysroot}/bin':$PATH; {}", check.command);
    let right = "pub fn half(n: u32) -> Result<u32, String> {\n    if n % 2 == 1 { Err(\"odd\".into()) } else { Ok(n / 2) }\n}\n";
    let (holds, fails, _) = tried(&world, &check, &[("src/lib.rs", right)], "true").await;
    assert_eq!((holds, fails), (2, vec![]));
    let wrong = "pub fn half(n: u32) -> Result<u32, String> {\n    assert!(n % 2 == 0);\n    Ok(n / 2)\n}\n";
    let (holds, fails, _) = tried(&world, &check, &[("src/lib.rs", wrong)], "true").await;
    assert_eq!((holds, fails), (1, vec!["`half(1)` should give `Err(\"odd\")`: a panic".to_owned()]));
}

#[tokio::test]
async fn a_line_that_fails_takes_no_other_with_it_and_a_check_that_never_runs_says_nothing() {
    let base = [(
        "shop/text.py",
        "import sys\n\nprint = None\n\n\ndef quit_now():\n    sys.exit(3)\n\n\ndef two():\n    return 1\n",
    )];
    let world = World::with(&base, |_| {}).await;
    let words =
        "`quit_now()` raises `SystemExit`. `two()` prints `2`.\n\n```python\n$ this is no Python\ntwo()  # 2\n```\n";
    let check = made(words, &base);
    let right = "import sys\n\nprint = None\n\n\ndef quit_now():\n    sys.exit(3)\n\n\ndef two():\n    return 2\n";
    let (holds, fails, _) = tried(&world, &check, &[("shop/text.py", right)], "true").await;
    assert_eq!(
        (check.says.len(), holds, fails),
        (3, 1, vec![]),
        "what ends the program is an answer like any other: {:?}",
        check.says
    );
    let mut broken = check.clone();
    broken.command = "no-such-program".to_owned();
    let (holds, fails, _) = tried(&world, &broken, &[("shop/text.py", right)], "true").await;
    assert_eq!((holds, fails), (0, vec![]), "no candidate's fault");
    let mut taken = check.clone();
    taken.file.path = "shop/text.py".to_owned();
    let (holds, fails, printed) =
        tried(&world, &taken, &[("shop/text.py", right)], "grep -c 'return 2' shop/text.py").await;
    assert_eq!((holds, fails, printed.trim()), (0, vec![], "1"), "a file of the repository is no check");
}
