//! One process with its limits: started, watched, ended, judged.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use protocol::runner::{Limits, Status};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use crate::children::{Child, Exit};
use crate::files::Workspace;
use crate::lane::Lane;
use crate::output::{Capture, cap};
use crate::pressure::Pressure;
use crate::session::{Done, Session};
use crate::streams;

/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(700);
/// How long a killed process may take to be gone; only one stuck in the kernel does.
const STUCK: Duration = Duration::from_secs(5);
/// How long output may still come after the process ended. What it left in the background may hold the pipe for ever.
const LINGER: Duration = Duration::from_millis(150);

pub struct Job {
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    pub input: bool,
    pub output: bool,
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
    fn captured(argv: Vec<String>, workspace: &Workspace) -> Self {
        Self { argv, env: Vec::new(), cwd: workspace.root().to_owned(), input: false, output: false }
    }

    pub fn bash(command: String, workspace: &Workspace) -> Self {
        let shell = if Path::new("/bin/bash").exists() || Path::new("/usr/bin/bash").exists() { "bash" } else { "sh" };
        Self::captured(vec![shell.to_owned(), "-c".to_owned(), command], workspace)
    }

    /// A page is fetched by a child: what a page can break (memory, stack) is then not PID 1.
    pub fn web_fetch(url: String, workspace: &Workspace) -> Self {
        Self::captured(vec!["/proc/self/exe".to_owned(), "web-fetch".to_owned(), url], workspace)
    }

    pub async fn run(self, session: &Arc<Session>, lane: &Arc<Lane>, limits: Limits) -> Done {
        let deadline = Instant::now() + Duration::from_millis(limits.wall_ms);
        let cap = cap(limits);
        let before = Pressure::now();
        if !self.cwd.is_dir() {
            return Done::failed(format!("no such directory: {}", self.cwd.display()));
        }
        let mut running = match self.start(session, lane, cap) {
            Ok(running) => running,
            Err(error) => return self.refused(&error),
        };
        let mut end = running.watch(lane, deadline).await;
        let background = running.settle(&mut end, lane, deadline).await;
        let (text, dropped) = running.text.lock().unwrap_or_else(PoisonError::into_inner).text(cap);
        let (status, mut note) = match end {
            End::Exit(exit) => before.judge(exit, &text, session.workspace.root()),
            End::TimedOut => (Status::TimedOut, Some(format!("ended after {} ms", limits.wall_ms))),
            End::Cancelled => (Status::Cancelled, None),
        };
        if background && note.is_none() {
            note = Some("it left processes in the background; they run until the next checkpoint".to_owned());
        }
        Done { status, text, dropped, note }
    }

    fn start(&self, session: &Arc<Session>, lane: &Arc<Lane>, cap: usize) -> io::Result<Running> {
        let program = self.argv.first().ok_or_else(|| io::Error::from_raw_os_error(Errno::ENOENT as i32))?;
        let mut command = Command::new(program);
        command.args(&self.argv[1..]).current_dir(&self.cwd).env("PWD", &self.cwd);
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
        if self.output {
            let (from, to) = streams::wide_pipe()?;
            command.stdout(to);
            sends = Some(from);
        } else {
            command.stdout(text_to.try_clone()?);
        }
        command.stderr(text_to);
        let child = session.children.spawn(&mut command)?;
        // Our copies of the child's ends: as long as they live no reader sees the end.
        drop(command);
        let text = Arc::new(Mutex::new(Capture::new(cap)));
        let captured = tokio::spawn(streams::capture(text_from, Arc::clone(&text)));
        let sent = sends.map(|from| tokio::spawn(streams::send(from, Arc::clone(lane), Arc::clone(&session.teller))));
        let fed = feeds.map(|to| tokio::spawn(streams::receive(to, Arc::clone(lane), Arc::clone(&session.teller))));
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
    /// Until the process ends, its time is over, or somebody cancels. Then it is gone, or stuck in the kernel.
    async fn watch(&mut self, lane: &Lane, deadline: Instant) -> End {
        let end = tokio::select! {
            biased;
            exit = &mut self.child.exit => {
                let exit = exit.unwrap_or(Exit::Signal(0));
                // Quiesce cancels and kills in one breath: the signal was ours.
                let ours = matches!(exit, Exit::Signal(_)) && lane.cancel.is_cancelled();
                return if ours { End::Cancelled } else { End::Exit(exit) };
            }
            () = lane.cancel.cancelled() => End::Cancelled,
            () = sleep_until(deadline) => End::TimedOut,
        };
        self.child.signal_group(Signal::SIGTERM);
        if timeout(GRACE, &mut self.child.exit).await.is_err() {
            self.child.signal_group(Signal::SIGKILL);
            let _ = timeout(STUCK, &mut self.child.exit).await;
        }
        end
    }

    /// Waits for the rest of the output. True if something still holds it.
    async fn settle(&mut self, end: &mut End, lane: &Lane, deadline: Instant) -> bool {
        if let Some(fed) = self.fed.take() {
            fed.abort();
        }
        if let Some(mut sent) = self.sent.take() {
            if matches!(end, End::Exit(_)) {
                tokio::select! {
                    _ = &mut sent => {}
                    () = lane.cancel.cancelled() => *end = End::Cancelled,
                    () = sleep_until(deadline) => *end = End::TimedOut,
                }
            }
            sent.abort();
        }
        timeout(LINGER, &mut self.captured).await.is_err()
    }
}
