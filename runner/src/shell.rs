//! The agent's commands: each runs in a shell of its own, which begins where the last one ended.
//!
//! Owns the code that a shell runs before its command: at its end, however it comes, it reports its directory and exported variables
//! (`shell_state.rs`) and ends with its pipe's status (`job.rs`). bash reads it from a separate file (`BASH_ENV`), so that the command, its line
//! numbers and its messages are the agent's alone; for a plain `sh` it precedes the command. A shell that is killed, calls `exec` or sets
//! its own EXIT trap reports nothing, and the state before stays. The exit code is always the process's. Must not be used for operations of
//! the host. Tests: `tests/shell.rs`.

use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use nix::sys::signal::Signal;
use nix::unistd::{AccessFlags, access};
use protocol::runner::{Limits, Status};

use crate::done::Done;
use crate::handle::Handle;
use crate::job::{Job, NO_PIPES, SAVED, STAGES, bash, pipes};
use crate::session::Session;
use crate::shell_state::{ShellState, StateFile, bash_begins, bashs_words, text};

/// Variable with the path of a file that bash reads before a command.
const BASH_ENV: &str = "BASH_ENV";
/// Note for a shell that ended by itself and reported nothing.
const UNTOLD: &str = "the directory and the variables it left are not known (exec, or an EXIT trap of its own): the next command begins where this one began";
/// Note for a bash that ended before it came to its command.
const NOT_STARTED: &str = "bash did not start with the variables that earlier commands exported, as LD_LIBRARY_PATH or LD_PRELOAD: the next command begins without any of them";

/// Runs a command to its end.
pub async fn run(session: &Arc<Session>, handle: &Arc<Handle>, command: String, limits: Limits) -> Done {
    let (mut job, gone) = begin(session, handle, command);
    let root = session.workspace.root();
    let state_file = StateFile::new().ok();
    // Without it the command runs all the same, and its final state is unknown.
    let asked = |file: &StateFile| own().and_then(|program| asks(&mut job, file, &program)).is_ok();
    let is_asked = state_file.as_ref().is_some_and(asked) && job.path != Some("/bin/sh");
    let done = job.run(session, handle, limits).await;
    let mut done = gone.into_iter().fold(done, Done::also);
    // Who is killed may have had no time to start.
    let by_itself = match done.status {
        Status::Exited { .. } => true,
        Status::Signaled { signal } => signal != Signal::SIGKILL as i32,
        _ => false,
    };
    if is_asked && by_itself && state_file.as_ref().is_some_and(|file| !file.has_begun()) {
        let mut state = session.shell_state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.set.is_empty() || !state.unset.is_empty() {
            state.set.clear();
            state.unset.clear();
            return done.also(NOT_STARTED);
        }
    }
    if !matches!(
        done.status,
        Status::Ok | Status::Exited { .. } | Status::OutOfMemory | Status::OutOfPids | Status::DiskFull
    ) {
        return done;
    }
    let told = state_file.and_then(|state_file| state_file.read(root));
    let mut state = session.shell_state.lock().unwrap_or_else(PoisonError::into_inner);
    match told {
        Some((next, without)) => {
            *state = next;
            done = without.into_iter().fold(done, Done::also);
        }
        None => done = done.also(UNTOLD),
    }
    match &state.cwd {
        Some(cwd) => done.also(format!("in {}", cwd.display())),
        None => done,
    }
}

/// Starts a background command; it begins where the last one ended, and its state is not carried over.
pub fn start(session: &Arc<Session>, handle: &Arc<Handle>, command: String, limits: Limits) -> Done {
    let (job, gone) = begin(session, handle, command);
    if !job.cwd.is_dir() {
        return Done::failed(format!("no such directory: {}", job.cwd.display()));
    }
    let of = Arc::clone(session);
    match job.go_on(session, handle, limits, move |number| of.background().ended(number)) {
        Ok((number, path)) => {
            session.background().began(number);
            let told = format!(
                "process {number} runs in the background, at most until the next checkpoint. Its output: read_file {path}. \
                 To end it: kill -- -{number}\n"
            );
            gone.into_iter().fold(Done { whole: Some(path), ..Done::ok(told) }, Done::also)
        }
        Err(done) => *done,
    }
}

/// The shell with the last one's state, and a sentence if its directory is gone.
fn begin(session: &Session, handle: &Handle, command: String) -> (Job, Option<String>) {
    let state = session.shell_state.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (path, name) = match bash() {
        Some(path) => (path, "bash"),
        None => ("/bin/sh", "sh"),
    };
    let note = (name == "sh" && pipes(&command)).then(|| NO_PIPES.to_owned());
    let job = Job::captured(vec![name.to_owned(), "-c".to_owned(), command], &session.workspace);
    let ShellState { cwd, set, unset } = state;
    let (env, unset) = (set.into_iter().collect(), unset.into_iter().collect());
    let log = Some(session.logs.of(handle.id));
    let job = Job { path: Some(path), env, unset, log, note, ..job };
    match cwd {
        Some(cwd) if cwd.is_dir() && access(&cwd, AccessFlags::X_OK).is_ok() => (Job { cwd, ..job }, None),
        Some(cwd) => {
            (job, Some(format!("{} is gone: it began in {}", cwd.display(), session.workspace.root().display())))
        }
        None => (job, None),
    }
}

/// Path of this program.
fn own() -> io::Result<String> {
    std::env::current_exe()?.into_os_string().into_string().map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Makes the shell report its state at its end; without bash, `program` (the runner) does it.
fn asks(job: &mut Job, state_file: &StateFile, program: &str) -> io::Result<()> {
    let (end, number) = state_file.end()?;
    let Some(command) = job.argv.last_mut() else { return Ok(()) };
    if job.path == Some("/bin/sh") {
        let say = format!("{} left {number} || :", quoted(program));
        *command = format!("trap {} EXIT; {command}", quoted(&silent(&say)));
    } else {
        let say = format!("{} || :", bashs_words(number));
        let say = if pipes(command) { format!("{SAVED}; {say}; {STAGES}") } else { say };
        let begins = bash_begins(number);
        let (prelude, number) = text(&format!("{begins}\n{}", prelude(job, &silent(&say))))?;
        job.env.push((BASH_ENV.to_owned(), format!("/proc/self/fd/{number}")));
        job.kept.push(prelude);
    }
    job.kept.push(end);
    Ok(())
}

/// What bash reads before the command: the trap, then the file it would have read otherwise.
fn prelude(job: &mut Job, trap: &str) -> String {
    let theirs = job.env.iter().rposition(|(name, _)| name == BASH_ENV).map(|at| job.env.remove(at).1);
    let own = || std::env::var(BASH_ENV).ok().filter(|_| !job.unset.iter().any(|name| name == BASH_ENV));
    let then = match theirs.or_else(own) {
        Some(path) if Path::new(&path).is_file() => format!("export {BASH_ENV}={0}\n. {0}", quoted(&path)),
        Some(path) => format!("export {BASH_ENV}={}", quoted(&path)),
        None => format!("unset {BASH_ENV}"),
    };
    format!("trap {} EXIT\n{then}\n", quoted(trap))
}

fn silent(words: &str) -> String {
    format!("{{ {words}; }} >/dev/null 2>&1")
}

/// The text quoted as one word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Stdio;

    use super::*;
    use crate::children::{Children, Exit};
    use crate::files::Workspace;

    /// Stand-in for the runner's program: it reports its directory and the variable `A`.
    const TELLS: &str = "#!/bin/sh\nprintf '{\"cwd\":\"%s\",\"env\":[[\"A\",\"%s\"]],\"cut\":false}' \"$PWD\" \"$A\" 1<>/proc/self/fd/$2\n";

    /// Exit code, and the value that a plain `sh` reported for `A`.
    async fn in_sh(command: &str) -> (Exit, Option<String>) {
        let dir = tempfile::tempdir().expect("a directory");
        let program = dir.path().join("it's me");
        std::fs::write(&program, TELLS).expect("a script");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        let workspace = Workspace::open(dir.path()).expect("a workspace");
        let job = Job::captured(["sh", "-c", command].map(str::to_owned).to_vec(), &workspace);
        let mut job = Job { path: Some("/bin/sh"), ..job };
        let state_file = StateFile::new().expect("a state file");
        asks(&mut job, &state_file, program.to_str().expect("a path")).expect("asked");
        assert!(job.kept.iter().all(|fd| fd.as_raw_fd() >= 200));
        let mut process = std::process::Command::new("/bin/sh");
        process.args(&job.argv[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let children = Children::default();
        let mut child = children.spawn(&mut process, std::mem::take(&mut job.kept)).expect("a shell");
        let exit = loop {
            children.reap_group(child.group());
            match child.exit.try_recv() {
                Ok(exit) => break exit,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        (exit, state_file.read(Path::new("/")).and_then(|(state, _)| state.set.get("A").cloned()))
    }

    #[tokio::test]
    async fn a_plain_sh_tells_it_too() {
        for (command, exit, told) in [
            ("export A=1", Exit::Code(0), Some("1")),
            ("export A=2; exit 3", Exit::Code(3), Some("2")),
            ("set -e; export A=3; false; A=no", Exit::Code(1), Some("3")),
            ("export A=4; (exit 5)", Exit::Code(5), Some("4")),
            ("export A=no; exec false", Exit::Code(1), None),
            ("export A=no; trap 'exit 6' EXIT", Exit::Code(6), None),
            ("export A=no; kill -9 $$", Exit::Signal(9), None),
            ("export A=no; (", Exit::Code(2), None),
        ] {
            assert_eq!(in_sh(command).await, (exit, told.map(str::to_owned)), "{command}");
        }
    }

    #[test]
    fn a_word_is_one_word() {
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
