//! Recordings that several stories share.

/// Five actions, a checkpoint, one more action, done.
pub const FIX: &str = r#"
name = "compare versions as numbers"
[[turn]]
expects = ["Versions compare as text"]
text = "I look at the code and its test."
call = [
  { name = "update_plan", arguments = { steps = [{ text = "compare numbers", state = "doing" }, { text = "run the tests", state = "open" }] } },
  { name = "list_files", arguments = { path = "." } },
  { name = "read_file", arguments = { path = "semver.py" } },
  { name = "read_file", arguments = { path = "tests/test_semver.py" } },
]
[[turn]]
text = "It compares text; I compare numbers."
call = [
  { name = "edit_file", arguments = { path = "semver.py", old = "    return a > b\n", new = "    return parse(a) > parse(b)\n\n\ndef parse(text):\n    return [int(part) for part in text.split('.')]\n" } },
  { name = "bash", arguments = { command = "python3 -m unittest -q tests.test_semver" } },
]
[[turn]]
expects = ["approved"]
text = "One more look."
call = [
  { name = "update_plan", arguments = { steps = [{ text = "compare numbers", state = "done" }, { text = "run the tests", state = "doing" }] } },
  { name = "bash", arguments = { command = "git diff --stat || true" } },
  { name = "done", arguments = { summary = "newer() compares the parsed numbers." } },
]
"#;
