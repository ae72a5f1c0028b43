//! Runs one process with its limits and determines its status.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use protocol::runner::{Limits, Status};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::children::{Child, Exit};
use crate::done::Done;
use crate::files::Workspace;
use crate::handle::Handle;
use crate::log::Log;
use crate::output::{Capture, cap};
use crate::pressure::Pressure;
use crate::session::Session;
use crate::streams;

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(700);
/// How long a killed process may take to disappear, unless it is stuck in the kernel.
const STUCK: Duration = Duration::from_secs(5);
/// Time between two looks at a group that is to end.
const STEP: Duration = Duration::from_millis(5);
/// How long output is read after the process ended, because a background process may hold the pipe for ever.
const LINGER: Duration = Duration::from_millis(150);

/// Shell code at the end of a command with a pipe, so that it ends with the status of the last stage that failed, instead of the last
/// stage's. A stage ended by SIGPIPE (141) did not fail. `pipefail` counts that as a failure, also in conditions, and would change what
/// runs. A command that calls `exit` or sets its own EXIT trap ends as it says. `SAVED` comes first in the trap.
pub const SAVED: &str = "caisson_ended=($? \"${PIPESTATUS[@]}\")";
/// See [`SAVED`].
pub const STAGES: &str = "if [[ ${caisson_ended[0]} == 0 && ${caisson_ended[-1]} == 0 && $BASH_COMMAND != exit* ]]; then \
    for s in \"${caisson_ended[@]}\"; do [[ $s == 0 || $s == 141 ]] || caisson_ended[0]=$s; done; \
    [[ ${caisson_ended[0]} == 0 ]] || exit \"${caisson_ended[0]}\"; fi";
/// Note for a command with a pipe where there is no bash.
pub const NO_PIPES: &str = "there is no bash here: of commands joined by a pipe only the last one's exit code is seen";
/// Note for a command whose pipe another process still has.
const LEFT: &str = "it left processes in the background; they run until the next checkpoint";

pub struct Job {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Path of the program, if it is not looked up in `PATH`.
    pub path: Option<&'static str>,
    /// Variables on top of the runner's own, and those of the runner's that are removed.
    pub env: Vec<(String, String)>,
    pub unset: Vec<String>,
    pub cwd: PathBuf,
    pub input: bool,
    pub output: bool,
    /// Bytes of the runner for its stdin, instead of the host's.
    pub given: Option<Vec<u8>>,
    /// Descriptors that it inherits besides the standard ones.
    pub kept: Vec<OwnedFd>,
    /// File for its whole output.
    pub log: Option<Log>,
    /// Note for the result, unless something worse happened.
    pub note: Option<String>,
}

/// The shell of this sandbox: bash, if there is one.
pub fn bash() -> Option<&'static str> {
    ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).exists())
}

/// Whether a command contains a pipe, as far as the text shows.
pub fn pipes(command: &str) -> bool {
    command.replace("||", "").contains('|')
}

/// A process and the tasks that move its bytes.
struct Running {
    child: Child,
    text: Arc<Mutex<Capture>>,
    captured: JoinHandle<()>,
    sent: Option<JoinHandle<()>>,
    fed: Option<JoinHandle<()>>,
}

enum End {
    Exit(Exit),
    TimedOut,
    Cancelled,
}

impl Job {
    /// A program that prints text, in the workspace.
    pub fn captured(argv: Vec<String>, workspace: &Workspace) -> Self {
        let (env, unset, cwd) = (Vec::new(), Vec::new(), workspace.root().to_owned());
        let kept = Vec::new();
        Self {
            argv,
            path: None,
            env,
            unset,
            cwd,
            input: false,
            output: false,
            given: None,
            kept,
            log: None,
            note: None,
        }
    }

    pub fn bash(command: String, workspace: &Workspace) -> Self {
        Self::shell(bash().is_some(), command, workspace)
    }

    fn shell(bash: bool, command: String, workspace: &Workspace) -> Self {
        let pipes = pipes(&command);
        let (shell, command) = match (bash, pipes) {
            (true, true) => ("bash", format!("trap '{{ {SAVED}; {STAGES}; }} 2>/dev/null' EXIT; {command}")),
            (true, false) => ("bash", command),
            (false, _) => ("sh", command),
        };
        let job = Self::captured(vec![shell.to_owned(), "-c".to_owned(), command], workspace);
        Self { note: (pipes && !bash).then(|| NO_PIPES.to_owned()), ..job }
    }

    /// A page is fetched by a child process, so that a page that exhausts memory or stack does not end PID 1.
    pub fn web_fetch(url: String, workspace: &Workspace) -> Self {
        Self::captured(vec!["/proc/self/exe".to_owned(), "web-fetch".to_owned(), url], workspace)
    }

    /// Parsers run in a child process, so that a text that crashes them does not end PID 1.
    pub fn mistakes(files: Vec<u8>, workspace: &Workspace) -> Self {
        let argv = vec!["/proc/self/exe".to_owned(), "mistakes".to_owned()];
        Self { given: Some(files), ..Self::captured(argv, workspace) }
    }

    pub async fn run(mut self, session: &Arc<Session>, handle: &Arc<Handle>, limits: Limits) -> Done {
        let deadline = Instant::now() + Duration::from_millis(limits.wall_ms);
        let cap = cap(limits);
        let before = Pressure::now();
        if !self.cwd.is_dir() {
            return Done::failed(format!("no such directory: {}", self.cwd.display()));
        }
        let mut running = match self.start(session, handle, cap) {
            Ok(running) => running,
            Err(error) => return self.refused(&error),
        };
        let mut end = running.watch(handle, deadline).await;
        let background = running.settle(&mut end, handle, deadline).await;
        let (text, dropped, whole) = {
            let kept = running.text.lock().unwrap_or_else(PoisonError::into_inner);
            let (text, dropped) = kept.text(cap);
            (text, dropped, kept.whole())
        };
        let (status, mut note) = match end {
            End::Exit(exit) => before.judge(exit, &text, session.workspace.root()),
            End::TimedOut => {
                let left = if background { format!("; {LEFT}") } else { String::new() };
                (Status::TimedOut, Some(format!("ended after {} ms{left}", limits.wall_ms)))
            }
            End::Cancelled => (Status::Cancelled, None),
        };
        if background && note.is_none() {
            note = Some(LEFT.to_owned());
        }
        let note = note.or(self.note);
        Done { note, whole, dropped, text, ..Done::bare(status) }
    }

    /// Starts it as a background process and gives its process number and the file with its output. `ended` is called at its end.
    ///
    /// # Errors
    /// A sentence if it could not be started.
    pub fn go_on(
        mut self,
        session: &Arc<Session>,
        handle: &Arc<Handle>,
        limits: Limits,
        ended: impl FnOnce(i32) + Send + 'static,
    ) -> Result<(i32, String), Box<Done>> {
        let running = self.start(session, handle, cap(limits)).map_err(|error| Box::new(self.refused(&error)))?;
        let Running { mut child, text, captured, .. } = running;
        let locked = || text.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(path) = locked().keep() else {
            child.signal_group(Signal::SIGKILL);
            return Err(Box::new(Done::failed("its output can't be kept: is the disk full?")));
        };
        let group = child.group();
        let told = Arc::clone(&text);
        tokio::spawn(async move {
            let exit = (&mut child.exit).await.unwrap_or(Exit::Signal(0));
            ended(group);
            let _ = timeout(LINGER, captured).await;
            let how = match exit {
                Exit::Code(code) => format!("exit code {code}"),
                Exit::Signal(signal) => format!("signal {signal}"),
            };
            told.lock().unwrap_or_else(PoisonError::into_inner).push(format!("\n[ended: {how}]\n").as_bytes());
        });
        Ok((group, path))
    }

    fn start(&mut self, session: &Arc<Session>, handle: &Arc<Handle>, cap: usize) -> io::Result<Running> {
        let program = self.argv.first().ok_or_else(|| io::Error::from_raw_os_error(Errno::ENOENT as i32))?;
        let mut command = Command::new(self.path.unwrap_or(program));
        command.arg0(program);
        command.args(&self.argv[1..]).current_dir(&self.cwd).env("PWD", &self.cwd);
        for name in &self.unset {
            command.env_remove(name);
        }
        command.envs(self.env.iter().map(|(key, value)| (OsStr::new(key), OsStr::new(value))));
        let (text_from, text_to) = streams::pipe()?;
        let mut sends = None;
        let mut feeds = None;
        command.stdin(Stdio::null());
        if self.input {
            let (from, to) = streams::wide_pipe()?;
            command.stdin(from);
            feeds = Some(to);
        }
        let given = match self.given.take() {
            Some(bytes) => {
                let (from, to) = streams::wide_pipe()?;
                command.stdin(from);
                Some((to, bytes))
            }
            None => None,
        };
        if self.output {
            let (from, to) = streams::wide_pipe()?;
            command.stdout(to);
            sends = Some(from);
        } else {
            command.stdout(text_to.try_clone()?);
        }
        command.stderr(text_to);
        let child = session.children.spawn(&mut command, std::mem::take(&mut self.kept))?;
        // The parent's copies of the child's pipe ends must be closed for readers to see the end.
        drop(command);
        let text = Arc::new(Mutex::new(Capture::kept(cap, self.log.take())));
        let captured = tokio::spawn(streams::capture(text_from, Arc::clone(&text)));
        let sent = sends.map(|from| tokio::spawn(streams::send(from, Arc::clone(handle), Arc::clone(&session.sender))));
        let fed = feeds.map(|to| tokio::spawn(streams::receive(to, Arc::clone(handle), Arc::clone(&session.sender))));
        let fed = given.map(|(to, bytes)| tokio::spawn(streams::give(to, bytes))).or(fed);
        Ok(Running { child, text, captured, sent, fed })
    }

    fn refused(&self, error: &io::Error) -> Done {
        let program = self.argv.first().map_or("", String::as_str);
        match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::EAGAIN) => Done {
                note: Some("the sandbox may not start more processes; end some that run in the background".to_owned()),
                ..Done::bare(Status::OutOfPids)
            },
            Some(Errno::ENOMEM) => Done::bare(Status::OutOfMemory),
            Some(Errno::E2BIG) => Done::failed("the command is too long; write it to a file and run that"),
            Some(Errno::ENOENT) => Done::failed(format!("no such program: {program}")),
            _ => Done::failed(format!("{program} could not be started: {error}")),
        }
    }
}

impl Running {
    /// Waits until the process ends, its time is over, or it is cancelled; then kills it.
    async fn watch(&mut self, handle: &Handle, deadline: Instant) -> End {
        let end = tokio::select! {
            biased;
            exit = &mut self.child.exit => {
                let exit = exit.unwrap_or(Exit::Signal(0));
                // Quiesce cancels and kills at once, so this signal came from the runner.
                let ours = matches!(exit, Exit::Signal(_)) && handle.cancel.is_cancelled();
                return if ours { End::Cancelled } else { End::Exit(exit) };
            }
            () = handle.cancel.cancelled() => End::Cancelled,
            () = sleep_until(deadline) => End::TimedOut,
        };
        self.end_group().await;
        end
    }

    /// SIGTERM to the group, then SIGKILL to what is left of it after the grace; its leader may end before the others.
    async fn end_group(&self) {
        for (signal, patience) in [(Signal::SIGTERM, GRACE), (Signal::SIGKILL, STUCK)] {
            self.child.signal_group(signal);
            let late = Instant::now() + patience;
            loop {
                if !self.child.has_members() {
                    return;
                }
                if Instant::now() > late {
                    break;
                }
                sleep(STEP).await;
            }
        }
    }

    /// Waits for the rest of the output; true if another process still holds the pipe.
    async fn settle(&mut self, end: &mut End, handle: &Handle, deadline: Instant) -> bool {
        if let Some(fed) = self.fed.take() {
            fed.abort();
        }
        if let Some(mut sent) = self.sent.take() {
            if matches!(end, End::Exit(_)) {
                tokio::select! {
                    _ = &mut sent => {}
                    () = handle.cancel.cancelled() => *end = End::Cancelled,
                    () = sleep_until(deadline) => *end = End::TimedOut,
                }
            }
            sent.abort();
        }
        timeout(LINGER, &mut self.captured).await.is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exit code (128 + n for a signal), output and note.
    fn ran(bash: bool, command: &str) -> (i32, String, Option<String>) {
        let dir = tempfile::tempdir().expect("a directory");
        let workspace = Workspace::open(dir.path()).expect("a workspace");
        let job = Job::shell(bash, command.to_owned(), &workspace);
        let done = Command::new(&job.argv[0]).args(&job.argv[1..]).stdin(Stdio::null()).output().expect("a shell");
        let signal = std::os::unix::process::ExitStatusExt::signal(&done.status).map(|signal| 128 + signal);
        let text = [done.stdout, done.stderr].concat();
        (done.status.code().or(signal).expect("ended"), String::from_utf8_lossy(&text).into_owned(), job.note)
    }

    #[test]
    fn a_pipe_ends_as_the_last_of_its_stages_that_failed() {
        for (command, code) in [
            ("false | true", 1),
            ("(exit 3) | (exit 4) | true", 4),
            ("(exit 5) | (exit 7)", 7),
            ("cd / && false | cat", 1),
            ("for i in 1 2; do false | cat; done", 1),
            ("cat <<E | false | true\nx\nE", 1),
            ("true | true", 0),
            // Output that is not read to its end.
            ("yes | head -1 >/dev/null", 0),
            ("false | yes | head -1 >/dev/null", 1),
            ("yes | head -1 >/dev/null && (exit 6)", 6),
            ("if yes | grep -q y; then true; else (exit 9); fi", 0),
            ("true | (kill -13 $BASHPID)", 141),
            // A status that the command sets itself.
            ("false | true; true", 0),
            ("false | true; exit 0", 0),
            ("! false | true", 1),
            ("trap 'exit 8' EXIT; false | true", 8),
            ("kill -9 $$; true | true", 137),
            ("kill $$; true | true", 143),
            ("false || true", 0),
        ] {
            assert_eq!(ran(true, command), (code, String::new(), None), "{command}");
        }
        // The runner's shell code must not show in the trace; the two stages trace at the same time.
        let (code, text, _) = ran(true, "set -x; false | true");
        assert!(code == 1 && ["+ false\n+ true\n", "+ true\n+ false\n"].contains(&text.as_str()), "{code} {text}");
    }

    #[test]
    fn where_there_is_no_bash_it_is_said_of_pipes_alone() {
        assert_eq!(ran(false, "false | true"), (0, String::new(), Some(NO_PIPES.to_owned())));
        assert_eq!(ran(false, "false || true"), (0, String::new(), None));
    }
}
