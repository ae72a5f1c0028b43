//! Programs that are run: to their end, or as long as a value lives. Nothing that was started outlives its value.

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Runs a program to its end and gives what it wrote to stdout; a failure carries what it wrote to stderr.
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

/// git on the sample repository of a demo or a bench, whatever this machine's configuration says.
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

/// A program that goes on beside us, its words in a file.
pub struct Beside {
    name: &'static str,
    child: Child,
    log: PathBuf,
    patience: Duration,
}

impl Beside {
    /// In a process group of its own: Ctrl-C is for us, who then stops things in their order.
    pub fn start(name: &'static str, command: &mut Command, log: &Path, patience: Duration) -> Result<Beside> {
        let file = File::create(log)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).process_group(0);
        let child = command.spawn().with_context(|| format!("{name} cannot be started"))?;
        Ok(Beside { name, child, log: log.to_owned(), patience })
    }

    /// An error with the end of its log when it has ended.
    pub fn alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("{} ended with {status}:\n{}", self.name, self.tail()),
        }
    }

    /// Ends it at once, without a word to it.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The last 25 lines of its log; empty when the log cannot be read.
    pub fn tail(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(25)..].join("\n")
    }
}

impl Drop for Beside {
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
