//! The agent's tools: files, search, pages.

mod common;

use std::os::unix::fs::symlink;

use axum::Router;
use axum::response::{Html, Redirect};
use axum::routing::get;
use common::{Requests, Runner};
use protocol::edit::Edit;
use protocol::runner::{MAX_FILE, Op, Status};

fn read(path: &str) -> Op {
    Op::ReadFile { path: path.to_owned(), from: 1, lines: 0 }
}

fn write(path: &str, content: &str) -> Op {
    Op::WriteFile { path: path.to_owned(), content: content.to_owned() }
}

fn edit(path: &str, old: &str, new: &str, all: bool) -> Op {
    let edits = vec![Edit { old: old.to_owned(), new: new.to_owned(), all }];
    Op::EditFile { path: path.to_owned(), edits }
}

fn list(path: &str, glob: Option<&str>, depth: u32) -> Op {
    Op::ListFiles { path: path.to_owned(), glob: glob.map(str::to_owned), depth }
}

fn search(pattern: &str, path: &str, glob: Option<&str>) -> Op {
    Op::Search { pattern: pattern.to_owned(), path: path.to_owned(), glob: glob.map(str::to_owned) }
}

#[tokio::test]
async fn files_are_written_read_and_edited() {
    let runner = Runner::start();
    let tools = Requests::of(&runner).await;
    assert_eq!(tools.text(write("a/b/c.txt", "one\ntwo\nthree\n")).await, "made a/b/c.txt: 3 lines, 14 bytes");
    assert_eq!(tools.text(read("a/b/c.txt")).await, "     1\tone\n     2\ttwo\n     3\tthree\n");
    let part = Op::ReadFile { path: "a/b/c.txt".to_owned(), from: 2, lines: 1 };
    assert_eq!(tools.text(part).await, "     2\ttwo\n[lines 2-2 of 3; read on with from=3]");
    let edited = tools.text(edit("a/b/c.txt", "two\n", "zwei\n", false)).await;
    assert!(edited.starts_with("a/b/c.txt: replaced once\n") && edited.contains("     2\tzwei\n"), "{edited}");
    assert_eq!(runner.read("a/b/c.txt"), "one\nzwei\nthree\n");
    runner.write("crlf.txt", "one\r\ntwo\r\nthree");
    assert_eq!(tools.text(read("crlf.txt")).await, "     1\tone\r\n     2\ttwo\r\n     3\tthree\n", "as they end");
    assert!(tools.text(edit("a/b/c.txt", "e", "E", false)).await.contains("`old` occurs 4 times (lines 1, 2, 3, 3)"));
    assert!(tools.text(edit("a/b/c.txt", "four", "4", false)).await.contains("`old` occurs 0 times"));
    let near = tools.outcome(edit("a/b/c.txt", "zwei\ntree\n", "4", false)).await;
    assert!(
        matches!(&near.status, Status::Failed { reason } if reason.contains("nearest is lines 2 to 3")),
        "{near:?}"
    );
    assert_eq!(near.text, "     2\tzwei\n     3\tthree\n");
    assert!(tools.text(edit("a/b/c.txt", "e", "E", true)).await.contains("replaced 4 times"));
    assert!(tools.text(read("a/c.txt")).await.contains("no such file: a/c.txt; did you mean a/b/c.txt?"));
    assert!(tools.text(read("a")).await.contains("is a directory"));
}

#[tokio::test]
async fn several_edits_are_made_or_none_and_several_parts_read() {
    let runner = Runner::start();
    let tools = Requests::of(&runner).await;
    let text: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    runner.write("a.txt", &text);
    let edits = |all: &[(&str, &str)]| Op::EditFile {
        path: "a.txt".to_owned(),
        edits: all.iter().map(|(old, new)| Edit { old: (*old).into(), new: (*new).into(), all: false }).collect(),
    };
    let failed = tools.text(edits(&[("line 2\n", "two\n"), ("line 99\n", "x\n")])).await;
    assert!(failed.contains("a.txt, edit 2 of 2 (none was made): `old` occurs 0 times"), "{failed}");
    assert_eq!(runner.read("a.txt"), text);
    // The second edit applies to the result of the first; places refer to the final text.
    let done = tools
        .text(edits(&[("line 19\n", "nineteen\n"), ("line 1\n", "one\nand a half\n"), ("one\nand", "1\nand")]))
        .await;
    assert!(done.starts_with("a.txt: replaced 3 times\n") && done.contains("    20\tnineteen\n"), "{done}");
    assert!(runner.read("a.txt").starts_with("1\nand a half\nline 2\n"));
    let ranges = Op::ReadRanges { path: "a.txt".to_owned(), ranges: vec![(20, 1), (1, 2)] };
    assert_eq!(
        tools.text(ranges).await,
        "    20\tnineteen\n[lines 20-20 of 21; read on with from=21]\n     1\t1\n     2\tand a half\n[lines 1-2 of 21; read on with from=3]"
    );
    let past = |ranges: &[(u64, u64)]| Op::ReadRanges { path: "a.txt".to_owned(), ranges: ranges.to_vec() };
    assert_eq!(
        tools.text(past(&[(22, 5), (21, 1)])).await,
        "[a.txt has 21 lines; line 22 does not exist]\n    21\tline 20\n[lines 21-21 of 21]"
    );
    assert_eq!(tools.text(past(&[(30, 1), (22, 5)])).await, "failed: a.txt has 21 lines; line 30 does not exist");
    // If a later edit replaces the same place, the first one's place is not in the middle of a character.
    runner.write("a.txt", "éABC");
    let done = tools.text(edits(&[("C", "D"), ("éABD", "éé")])).await;
    assert!(done.starts_with("a.txt: replaced 2 times") && runner.read("a.txt") == "éé", "{done}");
    runner.write("b.py", "def f():\n\treturn 1\n");
    let loose = tools.text(edit("b.py", "def f():\n    return 1", "def f():\n    return 2", false)).await;
    assert!(
        loose.contains("b.py: replaced once\n(`old` did not match exactly: white space differed at line 1;"),
        "{loose}"
    );
    assert_eq!(runner.read("b.py"), "def f():\n\treturn 2\n");
}

#[tokio::test]
async fn a_moved_file_is_a_rename_to_git_and_a_deleted_one_is_gone() {
    let runner = Runner::start();
    let tools = Requests::of(&runner).await;
    runner.write("a.txt", "one\ntwo\nthree\n");
    runner.write("dir/b.txt", "b\n");
    let git = |line: &str| {
        let mut command = std::process::Command::new("git");
        command
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(line.split(' '))
            .current_dir(runner.workspace());
        String::from_utf8(command.output().expect("git").stdout).expect("text")
    };
    for line in ["init -q", "add -A", "commit -qm one"] {
        git(line);
    }
    let move_file = |from: &str, to: &str| Op::MoveFile { from: from.to_owned(), to: to.to_owned() };
    let delete = |path: &str, recursive| Op::DeleteFile { path: path.to_owned(), recursive };
    assert_eq!(tools.text(move_file("a.txt", "new/deep/c.txt")).await, "moved a.txt to new/deep/c.txt");
    assert!(tools.text(move_file("dir/b.txt", "new/deep/c.txt")).await.contains("is there already"));
    git("add -A");
    assert_eq!(git("diff --cached --name-status -M"), "R100\ta.txt\tnew/deep/c.txt\n");
    assert!(tools.text(delete("dir", false)).await.contains("dir is a directory; set `recursive`"));
    assert!(tools.text(delete("nope", true)).await.contains("no such file: nope"));
    assert_eq!(tools.text(delete("dir/b.txt", false)).await, "deleted dir/b.txt");
    assert_eq!(tools.text(delete("new", true)).await, "deleted new with all that was in it");
    assert!(runner.workspace().join(".git").is_dir() && !runner.workspace().join("new").exists());
    assert!(tools.text(delete(".git", true)).await.contains("belongs to git itself"));
}

#[tokio::test]
async fn a_mistake_in_what_was_written_is_told_with_the_result() {
    let runner = Runner::start();
    let tools = Requests::of(&runner).await;
    let told = |text: String| protocol::mistakes::findings(&text).unwrap_or_default().to_owned();
    let broken = tools.outcome(write("a.py", "def f(x):\n    return x)\n")).await;
    assert_eq!(broken.status, Status::Ok);
    assert_eq!(
        broken.text,
        "made a.py: 2 lines, 24 bytes\nmistakes in what was written (nothing has run yet):\n\
         a.py:2: syntax error near `)`\n     1\tdef f(x):\n>    2\t    return x)\n"
    );
    let again = tools.text(edit("a.py", "def f", "def g", false)).await;
    assert_eq!(told(again), "", "it was there before");
    assert_eq!(told(tools.text(edit("a.py", "x)\n", "x\n", false)).await), "", "mended");
    let name = told(tools.text(edit("a.py", "return x", "return helper(x)", false)).await);
    assert_eq!(name, "a.py:2: undefined name `helper`\n     1\tdef g(x):\n>    2\t    return helper(x)");
    let several = Op::WriteFiles {
        files: [("a.py", "print(other)\n"), ("b.js", "const a = 1;\na = 2;\n"), ("c.txt", "def (\n")]
            .map(|(path, text)| (path.to_owned(), text.to_owned()))
            .to_vec(),
        create: Vec::new(),
    };
    let several = told(tools.text(several).await);
    let places: Vec<&str> = protocol::mistakes::places(&several).collect();
    assert_eq!(places, ["a.py:1: undefined name `other`", "b.js:2: assignment to the constant `a`"]);
}

#[tokio::test]
async fn what_may_only_be_made_is_refused_where_anything_is_there_and_then_no_file_is_written() {
    let runner = Runner::start();
    let tools = Requests::of(&runner).await;
    runner.write("src/utils.py", "kept = 1\n");
    runner.write("main.py", "main = 1\n");
    std::fs::create_dir(runner.workspace().join("taken")).expect("a directory");
    symlink("nowhere", runner.workspace().join("dangling")).expect("a link");
    let file = |path: &&str| ((*path).to_owned(), "x = 1\n".to_owned());
    let write = |create: &[&str]| Op::WriteFiles {
        files: ["main.py", "new/one.py"].iter().chain(create).map(file).collect(),
        create: create.iter().map(|path| (*path).to_owned()).collect(),
    };
    for (create, shown) in [
        (&["src/utils.py"][..], "src/utils.py is"),
        (&["./src//utils.py"], "src/utils.py is"),
        (&["taken"], "taken is"),
        (&["dangling"], "dangling is"),
        (&["other.py", "taken", "src/utils.py"], "taken, src/utils.py are"),
    ] {
        let reason = format!("failed: {shown} there already and may only be made new; nothing was written");
        assert_eq!(tools.text(write(create)).await, reason);
    }
    assert!(tools.text(write(&["main.py/below"])).await.contains("a part of main.py/below is a file"));
    assert_eq!((runner.read("src/utils.py"), runner.read("main.py")), ("kept = 1\n".into(), "main = 1\n".into()));
    for path in ["new", "other.py", "nowhere"] {
        assert!(!runner.workspace().join(path).exists(), "{path}");
    }
    let link = std::fs::symlink_metadata(runner.workspace().join("dangling")).expect("there");
    assert!(link.is_symlink() && runner.workspace().join("taken").is_dir());
    let made = "replaced main.py: 1 lines\nmade new/one.py: 1 lines\nmade src/other.py: 1 lines";
    assert_eq!(tools.text(write(&["src/other.py"])).await, made);
    // What has the very text already is done: a repetition after a crash finds its own file.
    let again = "replaced main.py: 1 lines\nreplaced new/one.py: 1 lines\nreplaced src/other.py: 1 lines";
    assert_eq!(tools.text(write(&["src/other.py"])).await, again);
    runner.write("src/other.py", "x = 2\n");
    assert!(tools.text(write(&["src/other.py"])).await.contains("src/other.py is there already"));
    assert_eq!(runner.read("src/other.py"), "x = 2\n");
}

/// A text that is nested too deeply, one that is not valid text, and one that is extremely long.
#[tokio::test]
async fn what_breaks_a_parser_leaves_the_write_as_it_is() {
    let runner = Runner::start();
    let tools = Requests::of(&runner).await;
    for (path, text) in [
        ("deep.py", format!("x = {}\n", "(".repeat(300_000))),
        ("deep.js", "[".repeat(300_000)),
        ("long.rs", "fn f() {\n".repeat(50_000)),
        ("odd.go", "\u{0}\u{1}\u{feff}package a".to_owned()),
    ] {
        let done = tools.outcome(write(path, &text)).await;
        assert_eq!(done.status, Status::Ok, "{path}");
        assert!(done.duration_ms < 10_000, "{path}: {} ms", done.duration_ms);
        assert!(done.text.starts_with("made ") && done.text.len() < 12_000, "{path}: {}", done.text.len());
    }
    assert_eq!(tools.outcome(common::bash("echo alive")).await.text, "alive\n");
}

#[tokio::test]
async fn an_edited_script_stays_executable() {
    use std::os::unix::fs::PermissionsExt;
    let runner = Runner::start();
    let tools = Requests::of(&runner).await;
    runner.write("run.sh", "echo a\n");
    let path = runner.workspace().join("run.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    tools.text(edit("run.sh", "a", "b", false)).await;
    assert_eq!(std::fs::metadata(&path).expect("metadata").permissions().mode() & 0o777, 0o755);
}

#[tokio::test]
async fn no_path_and_no_link_leads_out_of_the_workspace() {
    let runner = Runner::start();
    std::fs::write(runner.outside().join("secret"), "secret words").expect("a file");
    symlink(runner.outside(), runner.workspace().join("out")).expect("a link");
    symlink("../secret", runner.workspace().join("near")).expect("a link");
    symlink("/proc/self/environ", runner.workspace().join("environ")).expect("a link");
    let tools = Requests::of(&runner).await;
    let outside = runner.outside().join("secret").display().to_string();
    for path in ["../secret", "out/secret", "near", "environ", outside.as_str(), "/proc/self/environ"] {
        for op in [read(path), write(path, "x"), edit(path, "secret", "x", false), search("secret", path, None)] {
            let said = tools.text(op).await;
            assert!(said.starts_with("failed: "), "{path}: {said}");
        }
    }
    for op in [list("out", None, 0), list("..", None, 0), search("secret", "..", None)] {
        assert!(tools.text(op).await.starts_with("failed: "));
    }
    assert!(!tools.text(search("secret", ".", None)).await.contains("words"));
    assert_eq!(std::fs::read_to_string(runner.outside().join("secret")).expect("a file"), "secret words");
}

/// A walk that opened a pipe would take one of the few threads for ever.
#[tokio::test]
async fn a_pipe_in_place_of_rules_holds_up_no_walk() {
    let runner = Runner::start();
    runner.write("src/main.rs", "needle\n");
    let pipe = |path: &str| {
        let path = runner.workspace().join(path);
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        path
    };
    let below = pipe("src/.gitignore");
    let tools = Requests::of(&runner).await;
    for _ in 0..6 {
        assert_eq!(tools.text(list("", None, 0)).await, "[no files in .; what .gitignore names is left out]");
        assert!(tools.text(search("needle", "src", None)).await.contains("no regular file"));
        assert!(tools.text(read("main.rs")).await.contains("no such file"));
    }
    std::fs::remove_file(below).expect("removed");
    let above = pipe(".ignore");
    assert!(tools.text(list("src", None, 0)).await.contains("no regular file"));
    assert!(tools.text(read("main.rs")).await.contains("no such file"));
    std::fs::remove_file(above).expect("removed");
    runner.write(".git/info/x", "");
    pipe(".git/info/exclude");
    symlink("/dev/null", runner.workspace().join(".ignore")).expect("a link");
    for _ in 0..6 {
        assert!(tools.text(read("main.rs")).await.contains("no such file"));
    }
    assert_eq!(tools.text(list("", None, 0)).await, ".ignore\nsrc/\nsrc/main.rs\n");
}

/// A walk reads a line of rules of any length into the memory of PID 1.
#[tokio::test]
async fn rules_without_end_are_not_read() {
    let runner = Runner::start();
    runner.write("src/main.rs", "needle\n");
    runner.write("deep/main.rs", "needle\n");
    let long = |path: &str| {
        let file = std::fs::File::create(runner.workspace().join(path)).expect("a file");
        file.set_len(1 << 30).expect("a length");
    };
    long("deep/.gitignore");
    let tools = Requests::of(&runner).await;
    assert_eq!(tools.text(list("", None, 0)).await, "src/\nsrc/main.rs\n");
    assert!(tools.text(search("needle", "deep", None)).await.contains("longer than 256 KiB"));
    long(".ignore");
    assert!(tools.text(list("src", None, 0)).await.contains("longer than 256 KiB"));
    assert_eq!(tools.text(read("main.rs")).await, "failed: no such file: main.rs (list_files shows what is there)");
}

#[tokio::test]
async fn listing_and_searching_honour_gitignore() {
    let runner = Runner::start();
    runner.write(".gitignore", "target/\n*.log\n");
    runner.write("src/main.rs", "fn main() {\n    needle();\n}\n");
    runner.write("src/deep/lib.rs", "// a needle too\n");
    runner.write("target/out.rs", "needle\n");
    runner.write("build.log", "needle\n");
    runner.write(".git/config", "needle\n");
    runner.write("binary", "needle\0\n");
    let tools = Requests::of(&runner).await;
    let all = tools.text(list("", None, 0)).await;
    assert_eq!(all, ".gitignore\nbinary\nsrc/\nsrc/deep/\nsrc/deep/lib.rs\nsrc/main.rs\n");
    assert_eq!(tools.text(list(".", None, 1)).await, ".gitignore\nbinary\nsrc/\n");
    assert_eq!(tools.text(list("src", Some("*.rs"), 0)).await, "src/deep/lib.rs\nsrc/main.rs\n");
    assert_eq!(tools.text(list("", Some("src/*.rs"), 0)).await, "src/main.rs\n");
    for glob in ["*.rs", "src/*.rs"] {
        assert_eq!(tools.text(list("src/main.rs", Some(glob), 0)).await, "src/main.rs\n", "{glob}");
        let found = tools.text(search("needle", "src/main.rs", Some(glob))).await;
        assert_eq!(found, "src/main.rs:2:     needle();\n", "{glob}");
    }
    let found = tools.text(search("need.e", "", None)).await;
    assert_eq!(found, "src/deep/lib.rs:1: // a needle too\nsrc/main.rs:2:     needle();\n");
    assert_eq!(tools.text(search("needle", "src/main.rs", None)).await, "src/main.rs:2:     needle();\n");
    assert!(tools.text(search("needle", "", Some("*.toml"))).await.starts_with("[no match in 0 files"));
    assert!(tools.text(search("(", "", None)).await.contains("no regular expression"));
}

#[tokio::test]
async fn a_search_says_that_it_did_not_read_a_file() {
    let runner = Runner::start();
    runner.write("a.txt", "needle\n");
    let long = std::fs::File::create(runner.workspace().join("long.txt")).expect("a file");
    long.set_len(MAX_FILE + 1).expect("a length");
    let tools = Requests::of(&runner).await;
    let unread = "1 files were not searched: they can't be read or are longer than 16 MiB";
    assert_eq!(tools.text(search("needle", "", None)).await, format!("a.txt:1: needle\n[{unread}]\n"));
    let none = format!("[no match in 1 files below .; {unread}; what .gitignore names is left out]");
    assert_eq!(tools.text(search("nail", "", None)).await, none);
}

async fn site() -> String {
    let deep = "<div>".repeat(4_000);
    let site = Router::new()
        .route("/", get(|| async { Html("<h1>Title</h1><p>a <a href='/x'>link</a></p><script>no</script>") }))
        .route("/moved", get(|| async { Redirect::temporary("/") }))
        .route("/round", get(|| async { Redirect::temporary("/round") }))
        .route("/away", get(|| async { Redirect::temporary("file:///etc/passwd") }))
        .route("/json", get(|| async { ([("content-type", "application/json")], "{\"a\": 1}") }))
        .route("/zipped", get(|| async { ([("content-encoding", "gzip")], "\u{1f}\u{8b}") }))
        .route("/misnamed", get(|| async { ([("content-encoding", "utf-8")], "as it is") }))
        .route("/slow", get(std::future::pending::<&'static str>))
        .route("/huge", get(|| async { "x".repeat(6 << 20) }))
        .route("/deep", get(move || async move { Html(deep) }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, site).await });
    format!("http://{address}")
}

fn fetch(url: &str) -> Op {
    Op::WebFetch { url: url.to_owned() }
}

#[tokio::test]
async fn a_page_comes_as_markdown_and_is_labelled() {
    let runner = Runner::start();
    let tools = Requests::of(&runner).await;
    let site = site().await;
    let text = tools.text(fetch(&format!("{site}/"))).await;
    assert!(text.starts_with(&format!("[untrusted text from {site}/: HTTP 200, text/html")), "{text}");
    assert!(text.contains("# Title\n\na [link](/x)") && !text.contains("no</script"));
    let moved = tools.text(fetch(&format!("{site}/moved"))).await;
    assert!(moved.starts_with(&format!("[untrusted text from {site}/ (asked for {site}/moved): HTTP 200")), "{moved}");
    assert!(tools.text(fetch(&format!("{site}/json"))).await.contains("{\"a\": 1}"));
    assert!(tools.text(fetch(&format!("{site}/misnamed"))).await.contains("as it is"), "no coding that compresses");
    assert!(tools.text(fetch(&format!("{site}/gone"))).await.contains("HTTP 404"));
    let huge = tools.outcome(fetch(&format!("{site}/huge"))).await;
    assert!(huge.text.contains("only the first 4 MiB were read") && huge.dropped_bytes > 4_000_000);
    let whole = huge.whole.expect("a page that is not shown whole is kept");
    let end = tools.text(search("^.only the first 4 MiB were read", &whole, None)).await;
    assert!(end.ends_with(":5: [only the first 4 MiB were read]\n"), "{end}");
    assert_eq!(tools.outcome(fetch(&format!("{site}/json"))).await.whole, None, "a short one is shown whole");
    let deep = tools.outcome(fetch(&format!("{site}/deep"))).await;
    assert!(matches!(deep.status, Status::Ok | Status::Failed { .. }), "{deep:?}");
    let name = site.replace("127.0.0.1", "localhost");
    assert!(tools.text(fetch(&format!("{name}/json"))).await.contains("{\"a\": 1}"));
}

#[tokio::test]
async fn what_can_not_be_fetched_says_why() {
    let runner = Runner::start();
    let tools = Requests::of(&runner).await;
    let site = site().await;
    assert!(tools.text(fetch("ftp://example.org/")).await.contains("only http and https"));
    assert!(tools.text(fetch("nonsense")).await.contains("is no URL"));
    assert!(tools.text(fetch(&format!("{site}/round"))).await.contains("redirects"));
    let away = tools.text(fetch(&format!("{site}/away"))).await;
    assert!(away.starts_with("failed: "), "{away}");
    let zipped = tools.text(fetch(&format!("{site}/zipped"))).await;
    assert!(zipped.contains("comes compressed (gzip)"), "{zipped}");
    let closed = tools.text(fetch("http://127.0.0.1:9/")).await;
    assert!(closed.contains("blocked or down: no connection to 127.0.0.1:9"), "{closed}");
    let slow = tools.link.run(900, fetch(&format!("{site}/slow")), common::limits(400, 0)).await.expect("an outcome");
    assert_eq!(slow.status, Status::TimedOut);
}

/// A PNG header, followed by this many bytes.
fn png(width: u32, more: usize) -> Vec<u8> {
    let head = [b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".as_slice(), &width.to_be_bytes(), &2_u32.to_be_bytes()].concat();
    [head, vec![7; more]].concat()
}

#[tokio::test]
async fn a_picture_is_told_by_its_bytes_and_named_by_its_digest() {
    let runner = Runner::start();
    let tools = Requests::of(&runner).await;
    let write = |path: &str, bytes: &[u8]| std::fs::write(runner.workspace().join(path), bytes).expect("written");
    let read = |path: &str| Op::ReadFile { path: path.to_owned(), from: 1, lines: 0 };
    write("a.txt", &png(3, 100));
    let told = tools.outcome(read("a.txt")).await;
    assert_eq!(told.text, "[a.txt is a picture: PNG, 3×2 pixels, 124 bytes]");
    let picture = told.picture.expect("a picture");
    assert_eq!((picture.bytes, picture.digest.len()), (124, 64));
    let same = tools.outcome(read("a.txt")).await.picture.expect("a picture");
    assert_eq!(same, picture);
    write("a.txt", &png(3, 101));
    assert_ne!(tools.outcome(read("a.txt")).await.picture.expect("a picture").digest, picture.digest);
    for (name, bytes) in [("long", png(3, 3 << 20)), ("wide", png(8001, 10))] {
        write(name, &bytes);
        let told = tools.outcome(read(name)).await;
        assert!(told.picture.is_none() && told.text.contains("it is not shown"), "{told:?}");
    }
    write("b.png", b"text\n");
    let told = tools.outcome(read("b.png")).await;
    assert_eq!((told.text.as_str(), told.picture), ("     1\ttext\n", None));
    // A link out of the workspace cannot be read, like any other such file.
    std::fs::write(runner.outside().join("c.png"), png(3, 0)).expect("written");
    std::os::unix::fs::symlink(runner.outside().join("c.png"), runner.workspace().join("c.png")).expect("a link");
    let told = tools.outcome(read("c.png")).await;
    assert!(told.picture.is_none() && matches!(told.status, Status::Failed { .. }), "{told:?}");
}
