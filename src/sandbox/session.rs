//! A container with the connection to its runner, for the host's own operations in it.
//!
//! Owns ids and acknowledgement of the host's own requests, and the translation of errors into [`SandboxError`]. Must not know what a
//! container is for. Tests: below and `tests/trees.rs`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::Loss;
use protocol::broker::{ContainerSpec, Problem, ProblemKind};
use protocol::runner::{Limits, Op, Outcome, Status, VERSION};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::task::TaskTracker;

use super::broker::Broker;
use super::container_end::closed;
use super::link::{HELLO, Link, LinkError, Welcome};
use super::record::Record;
use super::{Result, SandboxError};

/// Bit of the ids of the host's own requests; ids of a task's actions never have it.
pub(super) const HOST_IDS: u64 = 1 << 62;
/// Lower bits of a host's request ids, which count within one life of the process; its epoch is above them.
pub(super) const COUNT_BITS: u32 = 28;

/// Environment of every git that the host runs in a container, as fixed as that of git on the host.
const GIT_ENV: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("LC_ALL", "C"),
    ("GIT_CONFIG_COUNT", "9"),
    ("GIT_CONFIG_KEY_0", "core.hooksPath"),
    ("GIT_CONFIG_VALUE_0", "/dev/null"),
    ("GIT_CONFIG_KEY_1", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_1", "false"),
    ("GIT_CONFIG_KEY_2", "core.attributesFile"),
    ("GIT_CONFIG_VALUE_2", "/dev/null"),
    ("GIT_CONFIG_KEY_3", "core.excludesFile"),
    ("GIT_CONFIG_VALUE_3", "/dev/null"),
    ("GIT_CONFIG_KEY_4", "gc.auto"),
    ("GIT_CONFIG_VALUE_4", "0"),
    ("GIT_CONFIG_KEY_5", "pack.threads"),
    ("GIT_CONFIG_VALUE_5", "1"),
    ("GIT_CONFIG_KEY_6", "core.quotePath"),
    ("GIT_CONFIG_VALUE_6", "true"),
    ("GIT_CONFIG_KEY_7", "diff.external"),
    ("GIT_CONFIG_VALUE_7", ""),
    // The pack is unpacked immediately, so searching for deltas is not worthwhile.
    ("GIT_CONFIG_KEY_8", "pack.window"),
    ("GIT_CONFIG_VALUE_8", "0"),
];

/// Shell lines that fail where git would open a pipe, and wait without end for a writer: a file of rules, or one of a repository within the
/// tree, wherever its `.git` leads; or where that cannot be known, because links there have paths without end. Of a layered workspace only
/// its layer can have one.
pub(super) const NO_PIPES: &str = r#"
pipe=$(cd "${CAISSON_LAYER:-.}" && find . -path ./.git -prune -o -name .git -prune -exec sh -c '
    dir=$1
    if [ -f "$1" ]; then
        dir=$(head -c 4096 "$1" | sed -n "s/^gitdir: //p" | head -n 1)
        case $dir in /*) ;; *) dir=${1%/*}/$dir ;; esac
    fi
    limit=
    command -v timeout >/dev/null && limit="timeout 15"
    code=0
    $limit find -L "$dir" -type p -print || code=$?
    [ "$code" != 124 ] || { echo "?$1"; kill "$PPID"; }' nested {} \; -o -name '.git*' -type p -print 2>/dev/null | head -n 1) || :
case $pipe in
'') ;;
'?'*) echo "${pipe#?} leads to more paths than are looked through for a pipe: delete it, or the links in it" >&2; exit 1 ;;
*) echo "$pipe is a pipe, and git would wait for it without end: delete it" >&2; exit 1 ;;
esac
"#;

/// A running container, attached.
pub(super) struct Session {
    pub boot: String,
    pub link: Link,
    /// Requests whose results are not acknowledged yet: the last action, and what earlier connections left.
    unacked: Mutex<BTreeSet<u64>>,
    ids: Arc<AtomicU64>,
}

/// One command of the host in a container.
pub(super) struct Work<'a> {
    argv: Vec<String>,
    env: Vec<(String, String)>,
    wall_ms: u64,
    input: Option<&'a mut (dyn AsyncRead + Send + Unpin)>,
}

impl<'a> Work<'a> {
    pub(super) fn new<I: IntoIterator<Item = S>, S: Into<String>>(argv: I) -> Self {
        let env = GIT_ENV.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Self { argv: argv.into_iter().map(Into::into).collect(), env, wall_ms: 60_000, input: None }
    }

    /// `git <args…>` on the repository at `dir` (relative to the workspace, or absolute).
    pub(super) fn git<I: IntoIterator<Item = S>, S: Into<String>>(dir: &str, args: I) -> Self {
        let head = ["git".to_owned(), format!("--git-dir={dir}")];
        Self::new(head.into_iter().chain(args.into_iter().map(Into::into)))
    }

    pub(super) fn wall(mut self, ms: u64) -> Self {
        self.wall_ms = ms;
        self
    }

    pub(super) fn input(mut self, input: &'a mut (dyn AsyncRead + Send + Unpin)) -> Self {
        self.input = Some(input);
        self
    }
}

impl Session {
    /// Creates, starts and attaches a container, after removing any of this name.
    pub(super) async fn make(
        broker: &dyn Broker,
        spec: &ContainerSpec,
        epoch: u64,
        ids: Arc<AtomicU64>,
    ) -> Result<Self> {
        broker.remove(&spec.name).await.map_err(from_broker)?;
        broker.create(spec).await.map_err(|e| match e.kind {
            // Its image or subnet is missing; the message says what to do.
            ProblemKind::NotFound => SandboxError::Refused(e.text),
            _ => from_broker(e),
        })?;
        broker.start(&spec.name).await.map_err(from_broker)?;
        let attached = Self::attach_as(broker, &spec.name, VERSION, epoch, ids, HELLO).await?;
        let (session, welcome) = attached.map_err(|e| from_link(&e))?;
        enough(welcome.lacks)?;
        Ok(session)
    }

    /// A session over an existing connection.
    pub(super) fn over(link: Link, ids: Arc<AtomicU64>) -> Self {
        Self { boot: String::new(), link, unacked: Mutex::default(), ids }
    }

    /// Attaches to a task's container, in the version that its runner speaks, which has to answer the greeting within `patience`; the inner
    /// error is one of the connection.
    pub(super) async fn attach(
        broker: &dyn Broker,
        record: &Record,
        epoch: u64,
        ids: Arc<AtomicU64>,
        patience: Duration,
    ) -> Result<std::result::Result<(Self, Welcome), LinkError>> {
        Self::attach_as(broker, &record.name, record.runner, epoch, ids, patience).await
    }

    async fn attach_as(
        broker: &dyn Broker,
        name: &str,
        version: u32,
        epoch: u64,
        ids: Arc<AtomicU64>,
        patience: Duration,
    ) -> Result<std::result::Result<(Self, Welcome), LinkError>> {
        let stream = broker.attach(name).await.map_err(from_broker)?;
        let epoch = connection_epoch(epoch, &ids);
        let attached = Link::attach_as(Box::new(stream), epoch, version, patience).await;
        Ok(attached.map(|(link, welcome)| {
            let boot = welcome.boot.clone();
            let unacked = Mutex::new(welcome.known.iter().map(|known| known.id).collect());
            (Self { boot, link, unacked, ids }, welcome)
        }))
    }

    /// Remembers a request whose result its caller has yet to store.
    pub(super) fn remember(&self, id: u64) {
        if let Ok(mut unacked) = self.unacked.lock() {
            unacked.insert(id);
        }
    }

    /// Acknowledges the results that nobody asks for any more, so that the runner's memory does not fill up. Best effort: a request that
    /// still runs stays for the next time.
    pub(super) async fn settle(&self, is_over: impl Fn(u64) -> bool) {
        let over: Vec<u64> = match self.unacked.lock() {
            Ok(unacked) => unacked.iter().copied().filter(|id| is_over(*id)).collect(),
            Err(_) => return,
        };
        for id in over {
            match self.link.ack(id).await {
                Ok(()) => drop(self.unacked.lock().map(|mut unacked| unacked.remove(&id))),
                Err(LinkError::Refused(_)) => {}
                // The next connection learns what is left.
                Err(_) => return,
            }
        }
    }

    fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Runs an operation of the host and acknowledges it.
    pub(super) async fn run(&self, op: Op, wall_ms: u64) -> Result<Outcome> {
        self.capped(op, wall_ms, 64 << 10).await
    }

    /// As [`Session::run`], with a limit of output bytes.
    pub(super) async fn capped(&self, op: Op, wall_ms: u64, output_bytes: u64) -> Result<Outcome> {
        let id = self.next_id();
        let done = self.link.run(id, op, Limits { wall_ms, output_bytes }).await.map_err(|e| from_link(&e))?;
        self.link.ack(id).await.map_err(|e| from_link(&e))?;
        Ok(done)
    }

    /// Runs the command; the outcome has its output, or the end of it.
    pub(super) async fn outcome(&self, work: Work<'_>) -> Result<Outcome> {
        let Work { argv, env, wall_ms, input } = work;
        let op = Op::Exec { argv, env, cwd: ".".to_owned(), input: input.is_some(), output: false };
        if input.is_none() {
            return self.run(op, wall_ms).await;
        }
        self.stream(op, wall_ms, input, None, 0).await
    }

    /// Runs the command and copies its stdout into `sink`; more than `cap` bytes are [`SandboxError::Limit`].
    pub(super) async fn spool(
        &self,
        work: Work<'_>,
        sink: &mut (dyn AsyncWrite + Send + Unpin),
        cap: u64,
    ) -> Result<Outcome> {
        let Work { argv, env, wall_ms, input } = work;
        let op = Op::Exec { argv, env, cwd: ".".to_owned(), input: input.is_some(), output: true };
        self.stream(op, wall_ms, input, Some(sink), cap).await
    }

    async fn stream(
        &self,
        op: Op,
        wall_ms: u64,
        input: Option<&mut (dyn AsyncRead + Send + Unpin)>,
        output: Option<&mut (dyn AsyncWrite + Send + Unpin)>,
        cap: u64,
    ) -> Result<Outcome> {
        let (id, limits) = (self.next_id(), Limits { wall_ms, output_bytes: 64 << 10 });
        let done = self.link.stream(id, op, limits, input, output, cap).await;
        // Even after an error, because a finished request must not stay in the runner's memory.
        let acked = self.link.ack(id).await;
        let done = done.map_err(|e| from_link(&e))?;
        acked.map_err(|e| from_link(&e))?;
        Ok(done)
    }

    /// The whole stdout of a command that must succeed; `what` names it in the error.
    pub(super) async fn read(&self, work: Work<'_>, cap: u64, what: &str) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let done = self.spool(work, &mut out, cap).await?;
        succeeded(&done, what)?;
        Ok(out)
    }

    /// Runs a command that must succeed, ignoring its output.
    pub(super) async fn must(&self, work: Work<'_>, what: &str) -> Result<()> {
        succeeded(&self.outcome(work).await?, what)
    }
}

/// Epoch of a new connection in this life of the process, higher than those of all connections before it: a runner that was slow may also
/// answer the Hello of one that was given up.
fn connection_epoch(life: u64, ids: &AtomicU64) -> u64 {
    let count = ids.fetch_add(1, Ordering::Relaxed) & ((1 << COUNT_BITS) - 1);
    (life << COUNT_BITS) | count
}

/// Turns an unsuccessful outcome into the error that says what was exceeded or failed.
pub(super) fn succeeded(outcome: &Outcome, what: &str) -> Result<()> {
    let said = last_lines(&outcome.text);
    match &outcome.status {
        Status::Ok | Status::Exited { code: 0 } => Ok(()),
        Status::TimedOut => Err(SandboxError::Limit(format!("{what} took too long and was stopped"))),
        Status::OutOfMemory => Err(SandboxError::Limit(format!("{what} ran out of memory"))),
        Status::OutOfPids => Err(SandboxError::Limit(format!("{what} could not start another process"))),
        Status::DiskFull => Err(SandboxError::Limit(format!("{what} ran out of space"))),
        Status::DiskSpent { what: took } => {
            let took = crate::text::one_line(crate::text::cut(took, 600).0);
            Err(SandboxError::Limit(format!("{what} took too much of the disk: {took}")))
        }
        // 128 + SIGXCPU, as a shell reports it.
        Status::Exited { code: 152 } | Status::Signaled { signal: 24 } => {
            Err(SandboxError::Limit(format!("{what} used more processor time than it may")))
        }
        Status::Exited { code } => Err(SandboxError::Refused(format!("{what} failed with exit code {code}: {said}"))),
        Status::Signaled { signal } => Err(SandboxError::Limit(format!("{what} was ended by signal {signal}: {said}"))),
        Status::Failed { reason } => Err(SandboxError::Refused(format!("{what} failed: {reason}"))),
        Status::Cancelled => Err(SandboxError::Unavailable(format!("{what} was cancelled"))),
    }
}

/// The end of a program's error output on one line, with control characters escaped, without git's progress and ids.
pub(super) fn last_lines(text: &str) -> String {
    let noise = |line: &&str| line.is_empty() || line.starts_with("pack\t") || line.starts_with("keep\t");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !noise(line)).collect();
    let tail = lines[lines.len().saturating_sub(3)..].join("; ");
    crate::text::one_line(crate::text::cut(&tail, 600).0)
}

pub(super) fn from_broker(e: Problem) -> SandboxError {
    match e.kind {
        ProblemKind::Unavailable | ProblemKind::Engine => SandboxError::Unavailable(e.text),
        ProblemKind::NotFound => SandboxError::Gone(Loss::Removed),
        ProblemKind::Refused => SandboxError::Refused(e.text),
        // An earlier removal has not finished, or the container is not running.
        ProblemKind::Conflict => SandboxError::Unavailable(e.text),
    }
}

pub(super) fn from_link(e: &LinkError) -> SandboxError {
    match e {
        LinkError::Closed | LinkError::Timeout | LinkError::Silent => SandboxError::Unavailable(e.to_string()),
        LinkError::Refused(_) => SandboxError::Refused(e.to_string()),
        LinkError::Protocol(why) => {
            tracing::warn!(why, "a sandbox broke the protocol and is removed");
            SandboxError::Gone(Loss::Untrusted)
        }
        LinkError::TooLarge { .. } => SandboxError::Limit(e.to_string()),
    }
}

/// Refuses a container without enough disk space. No agent has used it yet, so the runner's words are its own.
pub(super) fn enough(lacks: Option<String>) -> Result<()> {
    let Some(lacks) = lacks else { return Ok(()) };
    Err(SandboxError::Unavailable(crate::text::one_line(crate::text::cut(&lacks, 600).0)))
}

/// Names of containers, shared by the parts of the sandboxes.
pub(super) type ContainerNames = Arc<Mutex<HashSet<String>>>;
/// Names of containers in use, with how often.
pub(super) type UsedNames = Arc<Mutex<HashMap<String, usize>>>;

/// A container for one operation, removed when this is dropped.
pub(super) struct Passing {
    broker: Arc<dyn Broker>,
    busy: UsedNames,
    /// Those that could not be removed, which is tried again with the next one that is.
    left: ContainerNames,
    leaving: TaskTracker,
    name: String,
}

impl Passing {
    pub(super) fn new(
        broker: Arc<dyn Broker>,
        (busy, left): (UsedNames, ContainerNames),
        leaving: TaskTracker,
        name: &str,
    ) -> Self {
        if let Ok(mut busy) = busy.lock() {
            *busy.entry(name.to_owned()).or_default() += 1;
        }
        // Whoever makes one of this name removes the one before.
        if let Ok(mut left) = left.lock() {
            left.remove(name);
        }
        Self { broker, busy, left, leaving, name: name.to_owned() }
    }

    /// As [`closed`], for a connection to its runner.
    pub(super) async fn closed(&self) -> SandboxError {
        closed(self.broker.as_ref(), &self.name).await
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        let (broker, busy, left) = (Arc::clone(&self.broker), Arc::clone(&self.busy), Arc::clone(&self.left));
        let name = std::mem::take(&mut self.name);
        let remove = async move {
            let mut names = vec![name];
            names.extend(left.lock().map(|mut left| std::mem::take(&mut *left)).unwrap_or_default());
            for (at, name) in names.into_iter().enumerate() {
                let own = usize::from(at == 0);
                let is_used = || busy.lock().is_ok_and(|busy| busy.get(&name).is_some_and(|uses| *uses > own));
                // Whoever uses the name by now removes the one before.
                if !is_used()
                    && let Err(e) = broker.remove(&name).await
                {
                    tracing::warn!(container = name, error = %e, "a container was not removed; tried with the next");
                    if !is_used() {
                        drop(left.lock().map(|mut left| left.insert(name.clone())));
                    }
                }
                if let Ok(mut busy) = busy.lock() {
                    let others = busy.remove(&name).unwrap_or_default().saturating_sub(own);
                    if others > 0 {
                        busy.insert(name, others);
                    }
                }
            }
        };
        // Without a runtime this process is ending, and the next one reaps.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            self.leaving.spawn_on(remove, &runtime);
        }
    }
}

/// Refuses an image without git or sh, with its name.
pub(super) async fn require_git(session: &Session, image: &str) -> Result<()> {
    let outcome = session.outcome(Work::new(["sh", "-c", "exec git --version"])).await?;
    let program = if matches!(outcome.status, Status::Failed { .. }) { "sh" } else { "git" };
    match succeeded(&outcome, program) {
        Err(SandboxError::Refused(why)) => {
            let said = format!("the image {image} has no working `{program}` ({why}); install it in the image");
            Err(SandboxError::Refused(said))
        }
        result => result,
    }
}

/// The result of the first step in a container; if it failed in an image without git or sh, that is the error.
pub(super) async fn git_or<T>(session: &Session, image: &str, done: Result<T>) -> Result<T> {
    if let Err(SandboxError::Refused(_)) = &done {
        require_git(session, image).await?;
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::broker::SocketBroker;

    #[tokio::test]
    async fn a_removal_that_fails_late_takes_nothing_from_the_next_one_of_that_name() {
        let nobody = tempfile::tempdir().unwrap();
        let broker: Arc<dyn Broker> = Arc::new(SocketBroker::new(nobody.path().join("none.sock")));
        let (busy, left) = (UsedNames::default(), ContainerNames::default());
        let leaving = TaskTracker::new();
        leaving.close();
        let passing =
            || Passing::new(Arc::clone(&broker), (Arc::clone(&busy), Arc::clone(&left)), leaving.clone(), "a");
        let is = || (busy.lock().unwrap().get("a").copied(), left.lock().unwrap().contains("a"));
        drop(passing());
        // Made before the removal of the one before was tried.
        let next = passing();
        leaving.wait().await;
        assert_eq!(is(), (Some(1), false), "or others would remove it");
        drop(next);
        leaving.wait().await;
        assert_eq!(is(), (None, true));
    }

    #[test]
    fn each_connection_has_a_higher_epoch_than_all_before_it() {
        let ids = AtomicU64::new(HOST_IDS | (5 << COUNT_BITS));
        let epochs: Vec<u64> = [5, 5, 6].map(|life| connection_epoch(life, &ids)).to_vec();
        assert!(epochs.is_sorted_by(|before, after| before < after), "{epochs:?}");
        assert!(epochs[0] > 5, "higher than one of a process whose connections all had its own");
    }
}
