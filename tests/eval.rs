//! `caisson eval` through the whole product, with a recording in place of a model: a right answer, a wrong one, a task whose tests cannot
//! tell them apart, and a run ended by Ctrl-C that leaves nothing behind. Needs Docker, the images and the static runner (`make test`).

#[path = "support/engine.rs"]
mod engine;
#[path = "support/skipped.rs"]
mod skipped;

use engine::{ROUTER, SANDBOX, docker, missing};
use serde_json::{Value, json};
use skipped::skipped;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A run takes 30 s on two idle cores.
const PATIENCE: Duration = Duration::from_secs(420);
/// The built-in forge's program; `cargo test` of this package builds only its library.
fn forge() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_caisson")).with_file_name("caisson-devforge");
    if !program.is_file() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo).args(["build", "--quiet", "-p", "caisson-devforge"]).status();
        assert!(built.is_ok_and(|status| status.success()), "cargo build -p caisson-devforge");
    }
    program
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, text).expect("written");
}

const REFERENCE: &str = "--- a/sums.py\n+++ b/sums.py\n@@ -1,5 +1,5 @@\n def total(values):\n     out = 0\n\
-    for value in values[1:]:\n+    for value in values:\n         out += value\n     return out\n";

/// Three tasks over one repository: hidden tests call `total` with these values and want 6.
fn folder(at: &Path) {
    let repository = at.join("repositories/sums");
    let source =
        "def total(values):\n    out = 0\n    for value in values[1:]:\n        out += value\n    return out\n";
    write(&repository.join("sums.py"), source);
    let suite = "import unittest\nfrom sums import total\n\n\nclass Sums(unittest.TestCase):\n    def test_none(self):\n        self.assertEqual(total([]), 0)\n";
    write(&repository.join("test_sums.py"), suite);
    write(&repository.join(".caisson.toml"), "test = \"python3 -m unittest -q\"\n");
    let tasks = [
        ("right", "Total loses the first value", "[1, 2, 3]"),
        ("wrong", "Total is a sum", "[1, 2, 3]"),
        ("blind", "Total is always green", "[0, 1, 2, 3]"),
    ];
    for (name, title, values) in tasks {
        let dir = at.join("tasks").join(name);
        let toml = format!(
            "name = \"{name}\"\nfamily = \"fix\"\nlanguage = \"python\"\nrepository = \"sums\"\nset = \"held-out\"\nnames_file = true\n\
             large = false\nchecks = [\"python3 -m unittest -q\"]\nhidden = \"python3 -m unittest -q test_hidden\"\n"
        );
        write(&dir.join("task.toml"), &toml);
        write(&dir.join("issue.md"), &format!("{title}\n\n`total` of sums.py is wrong.\n"));
        write(&dir.join("reference.patch"), REFERENCE);
        let hidden = format!(
            "import unittest\nfrom sums import total\n\n\nclass Hidden(unittest.TestCase):\n    def test_all(self):\n        \
             self.assertEqual(total({values}), 6)\n"
        );
        write(&dir.join("hidden/test_hidden.py"), &hidden);
    }
}

/// The right answer, one that changes nothing relevant, and one that takes longer than any time limit.
const RECORDING: &str = r#"
name = "three tasks"
[[conversation]]
when = "Total loses the first value"
[[conversation.turn]]
call = [{ name = "edit_file", arguments = { path = "sums.py", old = "values[1:]", new = "values" } }]
[[conversation.turn]]
call = [{ name = "done", arguments = { summary = "Every value counts." } }]
[[conversation]]
when = "Total is a sum"
[[conversation.turn]]
call = [{ name = "edit_file", arguments = { path = "sums.py", old = "out = 0", new = "out = 0  # begin" } }]
[[conversation.turn]]
call = [{ name = "done", arguments = { summary = "Done." } }]
"#;

struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    fn new(recording: &str) -> Home {
        forge();
        let dir = tempfile::tempdir().expect("a directory");
        folder(&dir.path().join("tasks"));
        write(&dir.path().join("recording.toml"), recording);
        let config = format!(
            "[model]\nkind = \"scripted\"\nscript = \"recording.toml\"\n[sandbox]\nimage = \"{SANDBOX}\"\n[router]\nimage = \"{ROUTER}\"\n"
        );
        write(&dir.path().join("caisson.toml"), &config);
        Home { dir }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_caisson"));
        command.arg("--config").arg(self.dir.path().join("caisson.toml")).args(["eval", "--tasks"]);
        command.arg(self.dir.path().join("tasks")).args(words).current_dir(self.dir.path());
        command.env("NO_COLOR", "1").env("TMPDIR", self.scratch()).stdin(Stdio::null());
        command
    }

    /// The directory of a run's temporary files.
    fn scratch(&self) -> PathBuf {
        let scratch = self.dir.path().join("scratch");
        std::fs::create_dir_all(&scratch).expect("made");
        scratch
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("caisson starts")
    }

    fn results(&self, file: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.dir.path().join(file)).expect("results");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

fn said(out: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

#[test]
fn right_wrong_and_blind_are_told_apart() {
    if let Some(why) = missing(&[SANDBOX, ROUTER]) {
        return skipped("docker", &why);
    }
    let home = Home::new(RECORDING);
    let checked = home.run(&["--check-tasks"]);
    let text = said(&checked);
    assert!(
        !checked.status.success() && text.contains("✓ right") && text.contains("✗ blind: its hidden tests pass"),
        "{text}"
    );
    assert!(home.run(&["--freeze"]).status.success());
    let done = home.run(&["--out", "first.jsonl"]);
    assert!(done.status.success(), "{}", said(&done));
    let lines = home.results("first.jsonl");
    let header = &lines[0];
    assert!(header["recording"] == true && header["frozen"]["state"] == "unchanged", "{header}");
    let of = |name: &str| lines.iter().find(|line| line["task"] == name).expect("a row").clone();
    let (right, wrong, blind) = (of("right"), of("wrong"), of("blind"));
    assert!(right["outcome"] == "solved" && right["recording"] == true && right["end"] == "approved", "{right}");
    assert!(right["measured"]["actions"] == 1 && right["measured"]["reviews"] == 1, "{right}");
    assert!(right["measured"]["model_seconds_by_formula"].as_f64().is_some_and(|seconds| seconds > 1.0), "{right}");
    assert!(wrong["outcome"] == "unsolved" && wrong["false_done"] == true, "{wrong}");
    assert!(wrong["judged"]["hidden"] == false && wrong["judged"]["suite"] == true, "{wrong}");
    assert!(
        blind["outcome"] == "not-run" && blind["reason"].as_str().is_some_and(|it| it.contains("pass on the base")),
        "{blind}"
    );
    assert_eq!(lines.last().map(|line| line["solved"].clone()), Some(Value::from(1)));
    let table = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        table.contains("RECORDING, no model") && table.contains("solved 1 of 2") && table.contains("not run: 1"),
        "{table}"
    );
    let looks =
        std::fs::read_to_string(home.dir.path().join("tasks/looks.log")).expect("held-out tasks were looked at");
    assert!(looks.contains("3 held-out tasks") && looks.contains("first.jsonl"), "{looks}");
    assert!(said(&home.run(&["--out", "first.jsonl"])).contains("is there already"));
    refused_against_a_model(&home);
    assert_eq!(std::fs::read_dir(home.scratch()).expect("read").count(), 0, "temporary folders are left behind");
}

/// Another agent's answers are judged like the bot's own, and one that cannot be judged is named; no model is asked.
#[test]
fn answers_made_elsewhere_are_judged() {
    if let Some(why) = missing(&[SANDBOX, ROUTER]) {
        return skipped("docker", &why);
    }
    let home = Home::new(RECORDING);
    let tree = home.dir.path().join("tree");
    write(&tree.join("sums.py"), "def total(values):\n    return sum(values)\n");
    // Ends the test program with status 0, before it reports how many tests ran.
    let ended = REFERENCE.replace("+1,5", "+1,6").replace("+    for", "+    __import__('os')._exit(0)\n+    for");
    let answers = [
        json!({ "task": "right", "label": "a", "patch": REFERENCE }),
        json!({ "task": "nothing", "patch": REFERENCE }),
        json!({ "task": "right", "repeat": 2, "patch": REFERENCE.replace("out = 0", "out = 1") }),
        json!({ "task": "right", "repeat": 3, "patch": "" }),
        json!({ "task": "right", "repeat": 4, "patch": ended }),
        json!({ "task": "wrong", "tree": "tree" }),
        json!({ "task": "blind", "patch": REFERENCE }),
    ];
    let text: String = answers.iter().map(|answer| format!("{answer}\n")).collect();
    write(&home.dir.path().join("answers.jsonl"), &text);
    let done = home.run(&["--judge", "answers.jsonl", "--out", "judged.jsonl"]);
    assert!(done.status.success(), "{}", said(&done));
    let lines = home.results("judged.jsonl");
    let of = |task: &str, repeat: u32| {
        let found = lines.iter().find(|line| line["task"] == task && line["repeat"] == repeat).expect("a line");
        (found["outcome"].as_str().expect("text").to_owned(), found["why"].as_str().expect("text").to_owned())
    };
    assert_eq!(lines.len(), answers.len());
    assert!(lines[0]["solved"] == true && lines[0]["label"] == "a" && lines[0]["hidden"] == true, "{}", lines[0]);
    let expected = [
        (("nothing", 1), "not-run", "there is no task nothing"),
        (("right", 2), "unsolved", "does not apply"),
        (("right", 3), "unsolved", "nothing was changed"),
        (("right", 4), "unsolved", "hidden tests"),
        // The patch is the whole answer: it deletes the suite's file, and the base's own tests are restored.
        (("wrong", 1), "unsolved", "suite"),
        (("blind", 1), "not-run", "pass on the base"),
    ];
    for ((task, repeat), outcome, why) in expected {
        let found = of(task, repeat);
        assert!(found.0 == outcome && found.1.contains(why), "{task} #{repeat}: {found:?}");
    }
    assert!(said(&done).contains("7 answers: 1 solved, 2 not run"), "{}", said(&done));
    let looks =
        std::fs::read_to_string(home.dir.path().join("tasks/looks.log")).expect("held-out tasks were looked at");
    assert!(looks.contains("6 answers to held-out tasks") && looks.contains("judged.jsonl"), "{looks}");
    assert_eq!(std::fs::read_dir(home.scratch()).expect("read").count(), 0, "temporary folders are left behind");
}

/// Results of a model and of a recording are never compared; this is refused before anything is started.
fn refused_against_a_model(home: &Home) {
    let model = std::fs::read_to_string(home.dir.path().join("first.jsonl")).expect("results");
    write(&home.dir.path().join("model.jsonl"), &model.replace("\"recording\":true", "\"recording\":false"));
    let out = home.run(&["--against", "model.jsonl"]);
    assert!(!out.status.success() && said(&out).contains("they are not compared"), "{}", said(&out));
}

/// A server of the OpenAI API that answers under one name, lists two models, and was started with a small context window.
async fn server() -> String {
    use axum::{Json, Router, routing};
    let message = json!({ "role": "assistant", "content": "ok" });
    let answer = json!({ "model": "coder-7b", "choices": [{ "message": message, "finish_reason": "stop" }] });
    let models = json!({ "data": [{ "id": "coder-7b" }, { "id": "tiny" }] });
    let props = json!({ "default_generation_settings": { "n_ctx": 4096 } });
    let app = Router::new()
        .route("/v1/chat/completions", routing::post(async move || Json(answer)))
        .route("/v1/models", routing::get(async move || Json(models)))
        .route("/props", routing::get(async move || Json(props)));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

/// Needs no container engine, because nothing is started.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_cannot_be_measured_is_named_and_nothing_counts() {
    let url = server().await;
    let home = Home::new(RECORDING);
    let nobody = "http://127.0.0.1:9/v1".to_owned();
    let faults = [
        ("tiny", 2048, &url, "another model answers: tiny was asked for, coder-7b answered"),
        ("coder-7b", 32_768, &url, "its window is 4096 tokens, and context_tokens says 32768"),
        ("coder-7b", 4096, &nobody, "it gives no answer"),
    ];
    for (at, (name, window, url, fault)) in faults.into_iter().enumerate() {
        let model = format!(
            "[model]\nkind = \"openai\"\nname = \"{name}\"\nbase_url = \"{url}\"\ncontext_tokens = {window}\nmax_output_tokens = 512\n"
        );
        write(&home.dir.path().join("caisson.toml"), &model);
        let file = format!("{at}.jsonl");
        let out = tokio::task::block_in_place(|| home.run(&["--out", &file]));
        let text = said(&out);
        assert!(
            !out.status.success() && text.contains("THE MODEL CANNOT BE MEASURED") && text.contains(fault),
            "{text}"
        );
        let lines = home.results(&file);
        assert!(
            lines[0]["recording"] == false && lines[0]["model"]["fault"].as_str().is_some_and(|it| it.contains(fault))
        );
        let rows: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "task").collect();
        assert!(rows.len() == 3 && rows.iter().all(|row| row["outcome"] == "not-run"), "{rows:?}");
        assert!(!home.dir.path().join("tasks/looks.log").exists(), "nothing was seen of the held-out tasks");
    }
}

/// Kills the program when the test ends, also when it fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // After the program was reaped, its process id may belong to another one.
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = Command::new("kill").arg(self.0.id().to_string()).status();
            let _ = self.0.wait();
        }
    }
}

/// Processes that this run started, recognised by its scratch folder or installation in their arguments.
fn processes(scratch: &Path, installation: &str) -> Vec<String> {
    let marks = [scratch.display().to_string(), installation.to_owned()];
    let entries = std::fs::read_dir("/proc").expect("/proc");
    let lines = entries.flatten().filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let text = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    text.filter(|line| marks.iter().any(|mark| line.contains(mark.as_str()))).collect()
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    if let Some(why) = missing(&[SANDBOX, ROUTER]) {
        return skipped("docker", &why);
    }
    // The task's only answer is a command that outlasts every wait of this test.
    let slow = RECORDING.replacen(
        "call = [{ name = \"edit_file\", arguments = { path = \"sums.py\", old = \"values[1:]\", new = \"values\" } }]",
        "call = [{ name = \"bash\", arguments = { command = \"sleep 250\" } }]",
        1,
    );
    let home = Home::new(&slow);
    let mut command = home.command(&["--only", "right", "--out", "r.jsonl"]);
    let mut run = Running(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("caisson starts"));
    let installation = format!("eval-{}-", run.0.id());
    let lines = BufReader::new(run.0.stderr.take().expect("piped")).lines();
    let begun = lines.map_while(Result::ok).find(|line| line.contains("right: begins"));
    assert!(begun.is_some(), "the task never began");
    let filter = format!("name=caisson-{installation}");
    let standing = || {
        let list = |words: &[&str]| docker(&[words, &["-q", "--filter", &filter]].concat()).expect("listed");
        [list(&["ps", "-a"]), list(&["network", "ls"]), list(&["volume", "ls"])].concat()
    };
    assert!(
        !standing().is_empty() && !processes(&home.scratch(), &installation).is_empty(),
        "nothing that could be left"
    );
    let kill = Command::new("kill").args(["-INT", &run.0.id().to_string()]).status().expect("kill");
    assert!(kill.success());
    let end = Instant::now() + PATIENCE;
    let status = loop {
        match run.0.try_wait().expect("asked") {
            Some(status) => break status,
            None => assert!(Instant::now() < end, "it does not end within {} s", PATIENCE.as_secs()),
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    assert!(!status.success(), "a run that was stopped is no success");
    assert_eq!(standing(), "", "left in the container engine");
    assert_eq!(processes(&home.scratch(), &installation), Vec::<String>::new(), "left running");
    assert_eq!(std::fs::read_dir(home.scratch()).expect("read").count(), 0, "temporary folders are left behind");
    let lines = home.results("r.jsonl");
    assert!(lines.iter().all(|line| line["kind"] != "end"), "results that were stopped do not say that they are whole");
}
