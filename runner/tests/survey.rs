//! `caisson-runner survey`: the built program as a process.

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{LIMITS, Runner, exec};
use protocol::runner::Status;
use protocol::survey::{MAX_ANSWER, MAX_TEXTS, Question, Reason, SurveyAnswer};

const PROGRAM: &str = env!("CARGO_BIN_EXE_caisson-runner");

fn survey(root: &Path, question: &[u8]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("survey").arg(root).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    // If the question is refused, the rest of it is not read.
    let _ = child.stdin.take().expect("piped").write_all(question);
    child.wait_with_output().expect("it ends")
}

fn answer(root: &Path, question: &Question) -> SurveyAnswer {
    let out = survey(root, &serde_json::to_vec(question).expect("JSON"));
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(out.stdout.len() as u64 <= MAX_ANSWER);
    serde_json::from_slice(&out.stdout).expect("an answer")
}

fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    fs::write(path, text).expect("a file");
}

#[test]
fn it_answers_with_the_file_that_the_words_mean() {
    let dir = tempfile::tempdir().expect("a folder");
    write(dir.path(), "src/header.py", "def parse_header(line):\n    return line.split(':')\n");
    write(dir.path(), "src/body.py", "def read_body(stream):\n    return stream.read()\n");
    let words = "`parse_header` drops what stands after a second colon".to_owned();
    let told = answer(dir.path(), &Question { words, most: 1, texts: MAX_TEXTS, ..Question::default() });
    assert_eq!((told.files.len(), told.seen, told.whole), (1, 2, false));
    let first = &told.files[0];
    assert_eq!(first.path, "src/header.py");
    assert_eq!(first.because[0], Reason::Defines("parse_header".to_owned()));
    assert!(first.text.as_ref().is_some_and(|text| text.starts_with("def parse_header")));
}

#[test]
fn a_tree_made_to_hurt_ends_in_a_bounded_answer() {
    let dir = tempfile::tempdir().expect("a folder");
    write(dir.path(), "deep.py", "(".repeat(200_000));
    write(dir.path(), "deep.js", "[{a:".repeat(100_000));
    write(dir.path(), "control.rs", "// word \u{1}\u{2}\n".repeat(20_000));
    write(dir.path(), "binary.py", b"word\0word");
    write(dir.path(), "long.py", "word = 1\n".repeat(100_000));
    write(dir.path(), "many.go", format!("package a\n{}", "func word() {}\n".repeat(20_000)));
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("word.py")).expect("a link");
    std::os::unix::fs::symlink(".", dir.path().join("around")).expect("a link");
    let words = "word ".repeat(50_000);
    let question = Question { words, most: 500, whole: u64::MAX, texts: u64::MAX, ..Question::default() };
    let told = answer(dir.path(), &question);
    let mut paths: Vec<_> = told.files.iter().map(|file| file.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["control.rs", "deep.js", "deep.py", "many.go"]);
    assert_eq!(told.passed_over, 2, "the binary and the long one");
}

#[test]
fn what_is_no_question_is_refused_in_words() {
    let dir = tempfile::tempdir().expect("a folder");
    let long = vec![b' '; (1 << 20) + 1];
    for (root, question, said) in [
        (dir.path(), b"{}".as_slice(), "the question"),
        (dir.path(), b"{\"words\":\"\",\"most\":1,\"run\":\"x\"}", "the question"),
        (dir.path(), &long, "longer than"),
        (Path::new("/nowhere/at/all"), b"{}", "no folder"),
    ] {
        let out = survey(root, question);
        let error = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(1) && error.contains(said), "{error}");
        assert!(out.stdout.is_empty());
    }
}

#[tokio::test]
async fn process_1_starts_it_as_a_child_and_survives_its_end() {
    let runner = Runner::start();
    runner.write("a.py", "def one(): pass\n");
    let (link, welcome) = runner.attach(1).await;
    let question = br#"{"words":"one","most":3}"#;
    let mut out = Vec::new();
    let work = exec(&[PROGRAM, "survey", "."], true, true);
    let done = link.stream(1, work, LIMITS, Some(&mut &question[..]), Some(&mut out), MAX_ANSWER).await;
    assert_eq!(done.expect("an outcome").status, Status::Ok);
    let told: SurveyAnswer = serde_json::from_slice(&out).expect("an answer");
    assert_eq!(told.files[0].path, "a.py");
    let killed = exec(&["sh", "-c", &format!("{PROGRAM} survey . & kill -9 $!; wait $!")], false, false);
    let done = link.run(2, killed, LIMITS).await.expect("an outcome");
    assert_eq!(done.status, Status::Exited { code: 137 });
    let (_, again) = runner.attach(2).await;
    assert_eq!(again.boot, welcome.boot);
}
