//! Files that an action touched, as reported by the built runner.

mod common;

use common::{Requests, Runner, exec};
use protocol::runner::{Op, Status};
use protocol::touched::Touched;

async fn touched(tools: &Requests, op: Op) -> Touched {
    let outcome = tools.outcome(op).await;
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.text);
    outcome.touched.expect("looked at")
}

fn shell(command: &str) -> Op {
    Op::Shell { command: command.to_owned(), background: false }
}

#[tokio::test]
async fn a_command_s_files_are_told_and_the_host_s_are_not() {
    let runner = Runner::start();
    runner.write("a.py", "one");
    runner.write("b/old.py", "two");
    let tools = Requests::of(&runner).await;
    let one = touched(&tools, shell("echo x > new.py; echo y >> a.py; mv b c; cat c/old.py >/dev/null")).await;
    assert_eq!(
        (one.created, one.changed, one.deleted),
        (vec!["c/old.py".into(), "new.py".into()], vec!["a.py".into()], vec!["b/old.py".into()])
    );
    let read = Op::ReadFile { path: "a.py".to_owned(), from: 1, lines: 0 };
    let two = touched(&tools, read).await;
    assert_eq!((two.changes(), two.read, two.unseen), (0, vec!["a.py".into()], None));
    let own = tools.outcome(exec(&["sh", "-c", "echo z > of-the-host"], false, false)).await;
    assert_eq!((own.status, own.touched), (Status::Ok, None));
    let write = Op::WriteFile { path: "deep/er.txt".to_owned(), content: "x".to_owned() };
    assert_eq!(touched(&tools, write).await.created, ["deep/er.txt"]);
}

#[tokio::test]
async fn a_command_that_floods_the_tree_is_told_whole_and_short() {
    let runner = Runner::start();
    runner.write(".gitignore", "target\n");
    let tools = Requests::of(&runner).await;
    let flood = "mkdir -p target/a src; for i in $(seq 10000); do : > target/a/$i; done; for i in $(seq 300); do : > src/$i; done";
    let all = touched(&tools, shell(flood)).await;
    assert_eq!((all.created.len(), all.unnamed, all.ignored), (200, 100, 10_000));
    let gone = touched(&tools, shell("rm -r target src")).await;
    assert_eq!((gone.deleted.len(), gone.changes()), (200, 10_300));
}

#[tokio::test]
async fn what_goes_on_in_the_background_belongs_to_the_action_that_ends_next() {
    let runner = Runner::start();
    let tools = Requests::of(&runner).await;
    let started = tools.start("while [ ! -e go ]; do sleep 0.01; done; echo x > made; echo done > over").await;
    assert_eq!(started.status, Status::Ok);
    let waits = touched(&tools, shell("touch go; while [ ! -e over ]; do sleep 0.01; done")).await;
    assert_eq!(waits.created, ["go", "made", "over"]);
}
