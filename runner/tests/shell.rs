//! The agent's commands: the state in which the next one begins, and what no command can do to another or to the host's.

mod common;

use common::{Requests, Runner, bash, exec, limits};
use protocol::runner::{Op, Status};

#[tokio::test]
async fn a_command_begins_where_the_last_one_ended() {
    let runner = Runner::start();
    let shell = Requests::of(&runner).await;
    let root = runner.workspace().display().to_string();
    let first = shell.run("mkdir -p 'a b/c'; cd 'a b/c'; export A=$'1\\n\"$x\\'' EMPTY=; B=2; unset LANG").await;
    assert_eq!((first.status, first.note), (Status::Ok, Some(format!("in {root}/a b/c"))));
    let second = shell.printed("pwd; printf '%s-%s-%s-%s\\n' \"$A\" \"${EMPTY-none}\" \"${B-none}\" \"$OLDPWD\"").await;
    assert_eq!(second, format!("{root}/a b/c\n1\n\"$x'--none-{root}\n"));
    // An unset variable of the runner stays unset until it is set again.
    assert_eq!(shell.printed("unset HOME; cd ../..").await, "");
    assert_eq!(shell.run("echo ${HOME-none}; export HOME=/h").await.note, None, "in the workspace nothing is said");
    assert_eq!(shell.printed("echo $HOME; unset A").await, "/h\n");
    assert_eq!(shell.printed("echo ${A-none}; env | grep -c -e BASH_ENV -e caisson_ended || :").await, "none\n0\n");
    let other = Runner::start();
    let other = Requests::of(&other).await;
    assert_eq!(other.printed("echo ${EMPTY-none}").await, "none\n", "another runner knows nothing of it");
}

/// Ways to end, each with the value it leaves in `A`; none if it cannot be told.
const ENDINGS: [(&str, Option<&str>); 19] = [
    ("export A=exit; exit 3", Some("exit")),
    ("export A=last; (exit 4)", Some("last")),
    ("set -e; export A=errexit; false; export A=no", Some("errexit")),
    ("set -e; export A=fine", Some("fine")),
    ("set -u; export A=unset; echo \"$nowhere\"; export A=no", Some("unset")),
    ("export A=pipe; false | true", Some("pipe")),
    ("export A=yes; yes | head -1", Some("yes")),
    ("set -eo pipefail; export A=piped; false | cat", Some("piped")),
    ("set -x; export A=traced; (exit 3)", Some("traced")),
    ("export A=missing; no-such-program", Some("missing")),
    ("export A=sub; (export A=no; exit 1)", Some("sub")),
    ("export A=function; f() { return 7; }; f", Some("function")),
    ("trap 'echo caught' ERR; export A=err; false", Some("err")),
    ("export A=syntax; echo )", None),
    ("export A=exec; exec false", None),
    ("export A=replaced; exec 3>&1; exec sh -c 'echo sh >&3; exit 9'", None),
    ("export A=trap; trap 'echo mine' EXIT; exit 5", None),
    ("export A=killed; kill -KILL $$", None),
    ("export A=terminated; kill $$; sleep 5", None),
];

#[tokio::test]
async fn however_it_ends_it_ends_as_it_would_without_us() {
    let runner = Runner::start();
    let shell = Requests::of(&runner).await;
    for (command, leaves) in ENDINGS {
        shell.printed("export A=before").await;
        let plain = shell.outcome(bash(command)).await;
        let own = shell.run(command).await;
        assert_eq!((&own.status, &own.text), (&plain.status, &plain.text), "{command}");
        let told = own.note.is_none_or(|note| !note.contains("not known"));
        assert!(told || leaves.is_none(), "{command}");
        assert_eq!(shell.printed("printf %s \"$A\"").await, leaves.unwrap_or("before"), "{command}");
    }
}

#[tokio::test]
async fn one_that_is_ended_leaves_nothing() {
    let runner = Runner::start();
    let shell = Requests::of(&runner).await;
    shell.printed("export A=before").await;
    let slow = Op::Shell { command: "cd /; export A=slow; sleep 30".to_owned(), background: false };
    let slow = shell.link.run(900, slow, limits(300, 0)).await.expect("an outcome");
    assert_eq!(slow.status, Status::TimedOut);
    assert_eq!(shell.printed("echo $A; pwd").await, format!("before\n{}\n", runner.workspace().display()));
}

#[tokio::test]
async fn a_directory_that_is_gone_is_told_and_the_workspace_is_taken() {
    let runner = Runner::start();
    let shell = Requests::of(&runner).await;
    let root = runner.workspace().display().to_string();
    shell.printed("mkdir sub; cd sub; export A=1").await;
    std::fs::remove_dir(runner.workspace().join("sub")).expect("removed");
    let next = shell.run("pwd; echo $A").await;
    assert_eq!(next.text, format!("{root}\n1\n"));
    assert_eq!(next.note, Some(format!("{root}/sub is gone: it began in {root}")));
    assert_eq!(shell.run("mkdir sub; cd sub; rmdir ../sub").await.note, Some(format!("in {root}/sub")));
    assert_eq!(shell.printed("pwd").await, format!("{root}\n"));
}

/// Exports and forged state files of an agent neither reach the host's commands nor stop the next shell.
#[tokio::test]
async fn what_is_forged_harms_nobody_else() {
    let runner = Runner::start();
    let shell = Requests::of(&runner).await;
    let root = runner.workspace().display().to_string();
    let forged = r#"for fd in /proc/self/fd/2??; do printf '%s\0' '{"cwd":"/","env":[["PATH","/nowhere"],["A","forged"],["B\u0000","1"],["LD_PRELOAD","/x.so"]],"cut":true}' 1<>$fd; done; exec 1>/dev/null; kill -0 $$; exit 6"#;
    // The shell's own end overwrites it; without one, the forged state is kept.
    assert_eq!(shell.run(forged).await.status, Status::Exited { code: 6 });
    assert_eq!(shell.printed("echo ${A-none}").await, "none\n");
    let last = shell.run(&forged.replace("exit 6", "exec false")).await;
    assert_eq!((last.status, last.text), (Status::Exited { code: 1 }, String::new()));
    let next = shell.run("echo $A; pwd").await;
    assert!(next.status == Status::Ok && next.text.ends_with("forged\n/\n"), "{next:?}");
    let host = shell.outcome(exec(&["sh", "-c", "echo ${A-none}; pwd -P"], false, false)).await;
    assert_eq!((host.status, host.text), (Status::Ok, format!("none\n{root}\n")));
    assert_eq!(shell.outcome(bash("echo ${A-none}; pwd")).await.text, format!("none\n{root}\n"));
}

#[tokio::test]
async fn scripts_see_nothing_of_ours_and_their_own_file_is_read() {
    let runner = Runner::start();
    let shell = Requests::of(&runner).await;
    runner.write("mine.sh", "echo read");
    let plain = shell.outcome(bash("bash -c 'echo ${BASH_ENV-none}; trap -p EXIT'")).await.text;
    assert_eq!(shell.printed("bash -c 'echo ${BASH_ENV-none}; trap -p EXIT'").await, plain);
    assert_eq!(shell.printed("export BASH_ENV=$PWD/mine.sh; bash -c 'echo child'").await, "read\nchild\n");
    let again = shell.printed("echo own; bash -c 'echo child'; echo ${BASH_ENV##*/}").await;
    assert_eq!(again, "read\nown\nread\nchild\nmine.sh\n");
    assert_eq!(shell.printed("unset BASH_ENV").await, "read\n");
    assert_eq!(shell.printed("bash -c 'echo ${BASH_ENV-none}'").await, "none\n");
}

#[tokio::test]
async fn variables_are_bounded() {
    let runner = Runner::start();
    let shell = Requests::of(&runner).await;
    let long = shell.run("export SHORT=1 LONG=$(head -c 70000 /dev/zero | tr '\\0' x)").await;
    assert_eq!(long.note.as_deref(), Some("variables beyond 64 KiB together are not carried over"));
    assert_eq!(shell.printed("echo $SHORT ${LONG-none}").await, "1 none\n");
    let many = "for n in {1..400}; do export V$n=$(head -c 1000 /dev/zero | tr '\\0' x); done; unset HOME";
    assert!(shell.run(many).await.note.is_some_and(|note| note.contains("64 KiB")));
    let left: u32 = shell.printed("compgen -A export V | wc -l").await.trim().parse().expect("a number");
    assert!((50..=66).contains(&left), "{left}");
}

/// An empty file in place of the C library, as a wrong one would be: no bash starts, so none could unset the variable again.
#[tokio::test]
async fn variables_with_which_no_bash_starts_are_given_up() {
    let runner = Runner::start();
    let shell = Requests::of(&runner).await;
    let root = runner.workspace().display().to_string();
    shell.printed("mkdir sub; cd sub; : > libc.so.6; export A=1 LD_LIBRARY_PATH=$PWD").await;
    let broken = shell.run("echo $A").await;
    assert_eq!(broken.status, Status::Exited { code: 127 }, "{broken:?}");
    assert!(broken.note.is_some_and(|note| note.contains("did not start")));
    assert_eq!(shell.printed("echo ${A-none}; pwd").await, format!("none\n{root}/sub\n"));
}
