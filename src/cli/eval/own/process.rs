//! Child processes: run to their end, or killed when dropped.

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Runs a program and returns its stdout; a failure includes its stderr.
pub fn run(command: &mut Command) -> Result<String> {
    let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
    let shown = words.join(std::ffi::OsStr::new(" ")).to_string_lossy().into_owned();
    let out = command.stdin(Stdio::null()).output().with_context(|| format!("{shown} cannot be started"))?;
    if !out.status.success() {
        let said = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        bail!("{shown} ended with {}:\n{}", out.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Runs git on the sample repository of a demo or a bench, independently of this machine's configuration.
pub fn git(dir: &Path, words: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    command.current_dir(dir).args([
        "-c",
        "user.name=Sample",
        "-c",
        "user.email=sample@localhost",
        "-c",
        "commit.gpgsign=false",
    ]);
    run(command.env("GIT_CONFIG_NOSYSTEM", "1").args(words))
}

/// A program in the background, with its output in a file.
pub struct BackgroundProgram {
    name: &'static str,
    child: Child,
    log: PathBuf,
    patience: Duration,
}

impl BackgroundProgram {
    /// Starts it in a process group of its own, so that Ctrl-C reaches only us and we end programs in order.
    pub fn start(
        name: &'static str,
        command: &mut Command,
        log: &Path,
        patience: Duration,
    ) -> Result<BackgroundProgram> {
        let file = File::create(log)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).process_group(0);
        let child = command.spawn().with_context(|| format!("{name} cannot be started"))?;
        Ok(BackgroundProgram { name, child, log: log.to_owned(), patience })
    }

    /// An error with the end of its log if it has ended.
    pub fn alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("{} ended with {status}:\n{}", self.name, self.tail()),
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it at once.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The last 25 lines of its log; empty if the log cannot be read.
    pub fn tail(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(25)..].join("\n")
    }
}

impl Drop for BackgroundProgram {
    fn drop(&mut self) {
        let pid = Pid::from_raw(self.child.id() as i32);
        let _ = kill(pid, Signal::SIGTERM);
        let end = Instant::now() + self.patience;
        while Instant::now() < end {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
