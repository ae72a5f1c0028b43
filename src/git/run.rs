//! One invocation of git: fixed environment, time-out, limited output, and the whole process group killed at its end.
//!
//! Owns every environment variable and configuration value of git (of proxies: `proxies.rs`). Must not know what a repository is for.
//! Tests: at the end of this file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};

use super::{Auth, GitError, RemoteUrl, locks, proxies, spawn};

/// Configuration for every call, which overrides the repository's own (command scope).
const PINS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.pager", "cat"),
    ("core.quotePath", "true"),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    // Without it, a machine that loses its power may come back with empty objects and refs, which no command gets past.
    ("core.fsync", "committed"),
    ("credential.helper", ""),
    ("fetch.fsckObjects", "true"),
    ("transfer.fsckObjects", "true"),
    // What older programs wrote into histories that nobody can change any more. Forges take it, and it deceives no one.
    ("fetch.fsck.badTimezone", "ignore"),
    ("fetch.fsck.missingSpaceBeforeDate", "ignore"),
    ("fetch.fsck.zeroPaddedFilemode", "ignore"),
    ("fetch.recurseSubmodules", "false"),
    ("submodule.recurse", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("http.followRedirects", "false"),
    ("push.followTags", "false"),
    ("push.gpgSign", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("diff.external", ""),
    ("log.showSignature", "false"),
];

/// Variables of our environment that git may see: locations of its parts, and certificates of forges.
const INHERITED: &[&str] = &["PATH", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"];

/// Variables by which git finds the configuration of the machine and of the person.
const PERSONS: &[&str] = &["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"];

/// Default limit of stdout in bytes; more is an error.
const DEFAULT_CAP: u64 = 4 << 20;
const STDERR_CAP: usize = 16 << 10;

/// Input of git's stdin.
#[derive(Default)]
pub(crate) enum Input<'a> {
    #[default]
    Nothing,
    Bytes(Vec<u8>),
    Stream(&'a mut (dyn AsyncRead + Send + Unpin)),
}

/// Result of one invocation.
pub(crate) struct Output {
    /// Exit code; 128 + n for a signal.
    pub code: i32,
    pub stdout: Vec<u8>,
    /// At most 16 KiB, lossy UTF-8.
    pub stderr: String,
}

/// A git command that is being built.
pub(crate) struct Git<'a> {
    verb: &'static str,
    args: Vec<OsString>,
    git_dir: Option<PathBuf>,
    work_tree: Option<PathBuf>,
    start: Option<PathBuf>,
    env: Vec<(String, OsString)>,
    config: Vec<(String, String)>,
    protocols: &'static str,
    ssh: bool,
    own_configuration: bool,
    input: Input<'a>,
    timeout: Duration,
    limits: spawn::ChildLimits,
    cap: u64,
}

impl<'a> Git<'a> {
    pub(crate) fn new(verb: &'static str) -> Self {
        Self {
            verb,
            args: Vec::new(),
            git_dir: None,
            work_tree: None,
            start: None,
            env: Vec::new(),
            config: Vec::new(),
            // No transport unless a call names a remote; this also prevents lazy fetches of partial clones.
            protocols: "none",
            ssh: false,
            own_configuration: false,
            input: Input::Nothing,
            timeout: Duration::from_secs(60),
            limits: spawn::ChildLimits::default(),
            cap: DEFAULT_CAP,
        }
    }

    pub(crate) fn at(mut self, git_dir: &Path) -> Self {
        self.git_dir = Some(git_dir.to_owned());
        self
    }

    /// Lets git find the repository around a directory.
    pub(crate) fn inside(mut self, dir: &Path) -> Self {
        self.start = Some(dir.to_owned());
        self
    }

    pub(crate) fn over(mut self, work_tree: &Path) -> Self {
        self.work_tree = Some(work_tree.to_owned());
        self
    }

    pub(crate) fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub(crate) fn args<I: IntoIterator<Item = S>, S: Into<OsString>>(mut self, args: I) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn config(mut self, key: &str, value: &str) -> Self {
        self.config.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Lets git read the configuration of the machine and of the person who runs this program: only to ask for a value of it.
    pub(super) fn with_own_configuration(mut self) -> Self {
        self.own_configuration = true;
        self
    }

    /// Allows the transport of `url` only; the credential is sent only to that URL.
    pub(crate) fn remote(mut self, url: &RemoteUrl, auth: Option<&Auth>) -> Self {
        self.protocols = url.protocol();
        self.ssh = url.protocol() == "ssh";
        if let Some(auth) = auth {
            self.config.push((format!("http.{}.extraHeader", url.as_str()), auth.header()));
        }
        self
    }

    pub(crate) fn input(mut self, input: Input<'a>) -> Self {
        self.input = input;
        self
    }

    pub(crate) fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    pub(crate) fn cpu(mut self, limit: Duration) -> Self {
        self.limits.cpu = Some(limit);
        self
    }

    /// The largest file that git may write, in bytes.
    pub(super) fn file_limit(mut self, bytes: u64) -> Self {
        self.limits.file_bytes = Some(bytes);
        self
    }

    /// The most memory that git may take, in bytes. Packs are mapped in small pieces then, because these count.
    pub(super) fn memory(mut self, bytes: u64) -> Self {
        self.limits.memory = Some(bytes);
        self.config("core.packedGitWindowSize", "16m").config("core.packedGitLimit", "128m")
    }

    pub(crate) fn cap(mut self, bytes: u64) -> Self {
        self.cap = bytes;
        self
    }

    /// What git is told of proxies: nothing where it may ask no other machine, because a password may stand in them.
    fn proxies(&self) -> Vec<(&'static str, OsString)> {
        match self.protocols {
            "none" => Vec::new(),
            _ => proxies::passed_on(&|name: &str| std::env::var_os(name).filter(|value| !value.is_empty())),
        }
    }

    fn command(&self) -> std::io::Result<Command> {
        let mut command = spawn::command("git", self.limits)?;
        command.env_clear();
        for name in INHERITED {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(self.proxies());
        if self.ssh {
            for name in ["HOME", "SSH_AUTH_SOCK"] {
                if let Some(value) = std::env::var_os(name) {
                    command.env(name, value);
                }
            }
            command.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
        } else {
            command.env("HOME", "/nonexistent");
        }
        command.envs([
            ("LC_ALL", "C"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            // What libgit2 reads, whatever a version of git makes by itself.
            ("GIT_DEFAULT_HASH", "sha1"),
            ("GIT_DEFAULT_REF_FORMAT", "files"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_LITERAL_PATHSPECS", "1"),
            ("GIT_PROTOCOL_FROM_USER", "0"),
            ("GIT_ALLOW_PROTOCOL", self.protocols),
        ]);
        if self.own_configuration {
            person(&mut command);
        }
        let pins = PINS.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let all: Vec<(String, String)> = pins.chain(self.config.iter().cloned()).collect();
        command.env("GIT_CONFIG_COUNT", all.len().to_string());
        for (at, (key, value)) in all.into_iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{at}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        command.envs(self.env.iter().map(|(k, v)| (k, v)));
        if let Some(dir) = &self.git_dir {
            command.env("GIT_DIR", dir);
        }
        if let Some(tree) = &self.work_tree {
            command.env("GIT_WORK_TREE", tree).current_dir(tree);
        } else if let Some(start) = &self.start {
            command.current_dir(start);
        } else {
            command.current_dir(self.git_dir.as_deref().filter(|dir| dir.is_dir()).unwrap_or(Path::new("/")));
        }
        command.arg(self.verb).args(&self.args);
        Ok(command)
    }

    /// Runs git and keeps stdout in memory, up to the limit.
    ///
    /// # Errors
    /// [`GitError::TimedOut`], [`GitError::TooLarge`] (the process is killed in both cases), [`GitError::Missing`]
    /// when git is not installed. A non-zero exit is no error here.
    pub(crate) async fn run(self) -> Result<Output, GitError> {
        let mut kept = Vec::new();
        let (code, stderr) = self.run_into(&mut kept).await?;
        Ok(Output { code, stdout: kept, stderr })
    }

    /// As [`Git::run`], but a non-zero exit is [`GitError::Failed`].
    pub(crate) async fn ok(self) -> Result<Vec<u8>, GitError> {
        let verb = self.verb;
        let done = self.run().await?;
        match done.code {
            0 => Ok(done.stdout),
            code => Err(GitError::failed(verb, code, &done.stderr)),
        }
    }

    /// As [`Git::ok`], but exit code 1 is a result too (`merge-tree`: conflicts).
    pub(crate) async fn ok_or_one(self) -> Result<Output, GitError> {
        let verb = self.verb;
        let done = self.run().await?;
        if done.code > 1 { Err(GitError::failed(verb, done.code, &done.stderr)) } else { Ok(done) }
    }

    /// The first line of stdout, trimmed.
    pub(crate) async fn line(self) -> Result<String, GitError> {
        let out = self.ok().await?;
        Ok(String::from_utf8_lossy(&out).lines().next().unwrap_or_default().trim().to_owned())
    }

    /// Runs git and streams stdout into `sink`; returns exit code and stderr.
    pub(crate) async fn run_into<W>(mut self, sink: &mut W) -> Result<(i32, String), GitError>
    where
        W: tokio::io::AsyncWrite + Unpin + Send + ?Sized,
    {
        let mut command = self.command().map_err(|e| GitError::spawn(&e))?;
        command.stdin(if matches!(self.input, Input::Nothing) { Stdio::null() } else { Stdio::piped() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // Declared before git begins, so that it is dropped after git was killed.
        let running = locks::Running::begin(self.git_dir.as_deref());
        let mut child = spawn::spawn(command).await.map_err(|e| GitError::spawn(&e))?;
        let group = Group(child.id());
        let input = std::mem::take(&mut self.input);
        let talk = tokio::time::timeout(self.timeout, converse(&mut child, input, sink, self.cap));
        let result = match talk.await {
            Err(_) => Err(GitError::TimedOut { verb: self.verb, seconds: self.timeout.as_secs() }),
            Ok(Err(Talk::TooLarge)) => Err(GitError::TooLarge { verb: self.verb, cap: self.cap }),
            Ok(Err(Talk::Io(e))) => Err(GitError::Io(format!("git {}: {e}", self.verb))),
            Ok(Ok((code, said))) if spawn::NOT_STARTED.contains(&code) => {
                Err(GitError::Io(format!("git cannot be started (code {code}): {}", said.trim())))
            }
            Ok(Ok(done)) => Ok(done),
        };
        drop(group);
        if result.is_err() {
            // Reaps the child; its group was killed above.
            drop(child.kill().await);
        }
        // Above these are signals.
        if matches!(result, Ok((..=128, _))) {
            running.ended();
        }
        result
    }
}

enum Talk {
    TooLarge,
    Io(std::io::Error),
}

async fn converse<W>(child: &mut Child, input: Input<'_>, sink: &mut W, cap: u64) -> Result<(i32, String), Talk>
where
    W: tokio::io::AsyncWrite + Unpin + Send + ?Sized,
{
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feed = feed(stdin, input);
    let copy = async {
        let Some(stdout) = stdout else { return Ok(()) };
        let mut limited = stdout.take(cap + 1);
        let copied = tokio::io::copy(&mut limited, sink).await.map_err(Talk::Io)?;
        if copied > cap {
            return Err(Talk::TooLarge);
        }
        sink.flush().await.map_err(Talk::Io)
    };
    let complaints = async {
        let Some(stderr) = stderr else { return Ok(String::new()) };
        collect_tail(stderr).await.map_err(Talk::Io)
    };
    let ((), (), said) = tokio::try_join!(feed, copy, complaints)?;
    let status = child.wait().await.map_err(Talk::Io)?;
    let code = status.code().or_else(|| std::os::unix::process::ExitStatusExt::signal(&status).map(|s| 128 + s));
    Ok((code.unwrap_or(-1), said))
}

/// A child that closes its stdin early explains itself by its exit code, so a broken pipe is no error.
async fn feed(stdin: Option<ChildStdin>, input: Input<'_>) -> Result<(), Talk> {
    let Some(mut stdin) = stdin else { return Ok(()) };
    let fed = match input {
        Input::Nothing => Ok(()),
        Input::Bytes(bytes) => stdin.write_all(&bytes).await,
        Input::Stream(stream) => tokio::io::copy(stream, &mut stdin).await.map(|_| ()),
    };
    match fed {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Talk::Io(e)),
        _ => Ok(()),
    }
}

/// Reads to the end and keeps the last [`STDERR_CAP`] bytes.
async fn collect_tail(mut from: impl AsyncRead + Unpin) -> std::io::Result<String> {
    let mut kept: Vec<u8> = Vec::new();
    let mut chunk = [0_u8; 4096];
    loop {
        let read = from.read(&mut chunk).await?;
        if read == 0 {
            return Ok(String::from_utf8_lossy(&kept).into_owned());
        }
        kept.extend_from_slice(&chunk[..read]);
        if kept.len() > 2 * STDERR_CAP {
            kept.drain(..kept.len() - STDERR_CAP);
        }
    }
}

/// Leads git to the configuration of the machine and of the person, as if that person had called it.
fn person(command: &mut Command) {
    for name in PERSONS {
        match std::env::var_os(name) {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// Kills the process group when dropped, even if the caller's future is dropped early.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0.and_then(|id| i32::try_from(id).ok()) {
            // ESRCH is usual, because everything has ended.
            let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_of_the_users_configuration_is_seen() {
        let out = Git::new("config").args(["--list", "--show-scope"]).ok().await.unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.starts_with("command\t")), "{text}");
        assert!(text.contains("core.hookspath=/dev/null"));
    }

    #[test]
    fn a_repository_is_made_with_sha1_and_refs_in_files_by_every_version_of_git() {
        let command = Git::new("init").command().unwrap();
        let of = |name: &str| {
            let (_, value) = command.as_std().get_envs().find(|(key, _)| *key == std::ffi::OsStr::new(name))?;
            value?.to_str()
        };
        assert_eq!([of("GIT_DEFAULT_HASH"), of("GIT_DEFAULT_REF_FORMAT")], [Some("sha1"), Some("files")]);
    }

    #[tokio::test]
    async fn an_object_and_a_ref_are_on_the_disk_when_git_ends() {
        let dir = tempfile::tempdir().unwrap();
        let (at, trace) = (dir.path().join("shop.git"), dir.path().join("trace"));
        Git::new("init").args(["--bare", "--quiet", "--template="]).at(&at).ok().await.unwrap();
        let traced = |verb: &'static str| Git::new(verb).at(&at).env("GIT_TRACE2_EVENT", trace.as_os_str());
        let id = traced("hash-object").args(["-w", "--stdin"]).input(Input::Bytes(b"x".to_vec())).line().await.unwrap();
        traced("update-ref").args(["refs/tags/x", &id]).ok().await.unwrap();
        let events = std::fs::read_to_string(&trace).unwrap();
        assert_eq!(events.matches("\"key\":\"fsync/hardware-flush\"").count(), 2, "one of each: {events}");
    }

    #[tokio::test]
    async fn a_call_that_hangs_ends_with_its_group() {
        let (mut never, _keep) = tokio::io::duplex(8);
        let call = Git::new("hash-object").arg("--stdin").input(Input::Stream(&mut never));
        let end = call.timeout(Duration::from_millis(200)).run().await;
        assert!(matches!(end, Err(GitError::TimedOut { .. })));
    }

    #[tokio::test]
    async fn output_past_the_cap_is_refused() {
        let end = Git::new("help").arg("-a").cap(10).run().await;
        assert!(matches!(end, Err(GitError::TooLarge { cap: 10, .. })));
    }

    #[tokio::test]
    async fn no_transport_is_open_by_default() {
        let end = Git::new("ls-remote").args(["--end-of-options", "file:///"]).run().await.unwrap();
        assert_ne!(end.code, 0);
        assert!(end.stderr.contains("not allowed"), "{}", end.stderr);
    }
}
