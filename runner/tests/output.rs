//! A command's whole output, stored beside the workspace; and commands in the background.

mod common;

use std::os::unix::fs::{PermissionsExt, symlink};

use common::{Requests, Runner, bash, eventually, exec};
use protocol::edit::Edit;
use protocol::runner::{MAX_TEXT, Op, Status};

fn read(path: &str, from: u64, lines: u64) -> Op {
    Op::ReadFile { path: path.to_owned(), from, lines }
}

fn search(pattern: &str, path: &str) -> Op {
    Op::Search { pattern: pattern.to_owned(), path: path.to_owned(), glob: None }
}

#[tokio::test]
async fn a_long_output_is_kept_whole_and_read_by_range() {
    let runner = Runner::start();
    let shell = Requests::of(&runner).await;
    let long = shell.run("seq 1 50000; echo end >&2").await;
    assert!(long.dropped_bytes > 0 && long.text.ends_with("\n50000\nend\n"), "{}", long.dropped_bytes);
    let path = long.whole.expect("kept");
    let kept = std::fs::read_to_string(&path).expect("a file");
    assert!(kept.lines().count() == 50_001 && kept.ends_with("\n50000\nend\n"));
    assert_eq!(std::fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o400);
    assert!(
        shell.text(read(&path, 30_000, 2)).await.starts_with(" 30000\t30000\n 30001\t30001\n[lines 30000-30001 of")
    );
    assert!(shell.text(search("^4999[89]$", &path)).await.contains(":49998: 49998\n"));
    let folder = path.rsplit_once('/').expect("a folder").0;
    assert!(shell.text(search("^end$", folder)).await.contains(".log:50001: end\n"));
    assert!(!shell.text(Op::ListFiles { path: ".".into(), glob: None, depth: 0 }).await.contains("log"));
    // It is not stored if it fits into every result, nor for the host's commands.
    assert_eq!(shell.run("seq 1 100").await.whole, None);
    assert_eq!(shell.outcome(bash("seq 1 50000")).await.whole, None);
    assert_eq!(shell.outcome(exec(&["seq", "1", "50000"], false, false)).await.whole, None);
    // It is stored although a result of the usual length is not cut, because a small model is shown less.
    assert!(shell.run("seq 1 2000").await.whole.is_some());
}

#[tokio::test]
async fn that_folder_is_for_reading_and_leads_nowhere() {
    let runner = Runner::start();
    std::fs::write(runner.outside().join("secret"), "secret words\n").expect("a file");
    let shell = Requests::of(&runner).await;
    let path = shell.run("seq 1 5000").await.whole.expect("kept");
    let folder = path.rsplit_once('/').expect("a folder").0.to_owned();
    let write = Op::WriteFile { path: path.clone(), content: "x".into() };
    assert!(shell.text(write).await.contains("outside the workspace"));
    let edit = Op::EditFile { path: path.clone(), edits: vec![Edit { old: "1".into(), new: "2".into(), all: true }] };
    assert!(shell.text(edit).await.contains("outside the workspace"));
    let (from, to) = (path.clone(), "got.log".to_owned());
    assert!(shell.text(Op::MoveFile { from, to }).await.contains("outside the workspace"));
    let delete = Op::DeleteFile { path: folder.clone(), recursive: true };
    assert!(shell.text(delete).await.contains("outside the workspace"));
    symlink(runner.outside().join("secret"), format!("{folder}/a.log")).expect("a link");
    symlink("../secret", format!("{folder}/b.log")).expect("a link");
    symlink("/proc/self/environ", format!("{folder}/c.log")).expect("a link");
    for name in ["a.log", "b.log", "c.log", "../secret", "../workspace/../secret"] {
        let parts = Op::ReadRanges { path: format!("{folder}/{name}"), ranges: vec![(1, 1)] };
        for op in [read(&format!("{folder}/{name}"), 1, 0), parts, search("secret", &format!("{folder}/{name}"))] {
            let said = shell.text(op).await;
            assert!(said.starts_with("failed: ") && !said.contains("words"), "{name}: {said}");
        }
    }
    assert!(!shell.text(search("secret", &folder)).await.contains("words"));
    // If the folder is a link, nothing is read or written through it.
    std::fs::remove_dir_all(&folder).expect("removed");
    symlink(runner.outside(), &folder).expect("a link");
    assert!(shell.text(read(&format!("{folder}/secret"), 1, 0)).await.starts_with("failed: "));
    let long = shell.run("seq 1 5000").await;
    assert_eq!((long.status, long.whole), (Status::Ok, None));
}

/// The home is the agent's: a walk that opened a pipe there would take one of the few threads for ever.
#[tokio::test]
async fn rules_beside_the_outputs_neither_hold_up_nor_hide_anything() {
    let runner = Runner::start();
    let shell = Requests::of(&runner).await;
    let path = shell.run("seq 1 5000").await.whole.expect("kept");
    let folder = path.rsplit_once('/').expect("a folder").0.to_owned();
    let rules = [".gitignore", ".ignore"].map(|name| runner.outside().join(name));
    let within = std::path::Path::new(&folder).join(".ignore");
    for pipe in rules.iter().chain([&within]) {
        nix::unistd::mkfifo(pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    }
    for _ in 0..6 {
        assert!(shell.text(search("^4999$", &folder)).await.contains(".log:4999: 4999\n"));
        assert!(shell.text(read(&format!("{folder}/0.log"), 1, 0)).await.contains("no such file"));
        // The workspace lies below them as well.
        assert!(shell.text(search("x", ".")).await.contains("no regular file"));
        assert!(shell.text(read("nowhere", 1, 0)).await.contains("no such file"));
    }
    for rule in &rules {
        std::fs::remove_file(rule).expect("removed");
        std::fs::write(rule, "*.log\n").expect("a file");
    }
    assert!(shell.text(search("^4999$", &folder)).await.contains(".log:4999: 4999\n"));
}

#[tokio::test]
async fn a_command_in_the_background_is_read_and_ended_and_ends_at_the_checkpoint() {
    let runner = Runner::start();
    let shell = Requests::of(&runner).await;
    shell.run("mkdir sub; cd sub; export A=carried").await;
    let began = shell.start("echo $A ${PWD##*/}; echo err >&2; exec sleep 1000").await;
    assert!(began.status == Status::Ok && began.duration_ms < 5_000, "{began:?}");
    let word =
        |text: &str, at: usize| text.split_whitespace().nth(at).expect("a word").trim_end_matches('.').to_owned();
    let number = word(&began.text, 1);
    let path = began.whole.clone().expect("a log");
    assert!(began.text.contains(&format!("read_file {path}.")), "{}", began.text);
    eventually("its output", || std::fs::read_to_string(&path).is_ok_and(|text| text == "carried sub\nerr\n"));
    assert_eq!(shell.text(read(&path, 1, 0)).await, "     1\tcarried sub\n     2\terr\n");
    // It does not affect the next command, and is ended as its result says.
    assert_eq!(
        shell.run(&format!("kill -- -{number}; pwd")).await.text,
        format!("{}/sub\n", runner.workspace().display())
    );
    eventually("its end", || std::fs::read_to_string(&path).is_ok_and(|text| text.ends_with("\n[ended: signal 15]\n")));
    let failed = shell.start("exit 3").await.whole.expect("a log");
    eventually("its end", || std::fs::read_to_string(&failed).is_ok_and(|text| text == "\n[ended: exit code 3]\n"));
    for _ in 0..2 {
        shell.start("sleep 1000").await;
    }
    assert_eq!(shell.outcome(Op::Quiesce).await.status, Status::Ok);
    assert_eq!(shell.outcome(bash("true")).await.note, None, "the host's own are told nothing");
    let first = shell.outcome(read("nowhere", 1, 0)).await;
    assert_eq!(first.note.as_deref(), Some("2 background processes ended at the checkpoint"));
    assert_eq!(shell.run("cd ..").await.note, None, "once");
}

/// What the runner holds meanwhile, what it sends, and what it stores in the sandbox are each limited.
#[tokio::test]
async fn an_output_of_100_mb_is_bounded_wherever_it_lies() {
    let runner = Runner::start();
    let shell = Requests::of(&runner).await;
    let flood = shell.run("head -c 100000000 /dev/zero | tr '\\0' x; echo; echo the end").await;
    assert_eq!(flood.status, Status::Ok);
    assert!(flood.text.len() as u64 <= MAX_TEXT && flood.text.ends_with("x\nthe end\n"), "{}", flood.text.len());
    assert!(flood.dropped_bytes > 99_000_000, "{}", flood.dropped_bytes);
    let path = flood.whole.expect("kept");
    let kept = std::fs::metadata(&path).expect("a file").len();
    assert!((1 << 20..=17 << 20).contains(&kept), "{kept}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", runner.pid())).expect("its memory");
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    assert!(peak.is_some_and(|peak| peak < 64 << 10), "{peak:?} KiB");
    // The file that the result names can be read and searched, with the line that says it was cut.
    let cut = shell.text(read(&path, 2, 1)).await;
    assert_eq!(cut, "     2\t[the rest is not kept]\n[lines 2-2 of 2]");
    assert!(shell.text(search("rest is not", &path)).await.ends_with(".log:2: [the rest is not kept]\n"));
}
