//! Reads the host's orders, starts requests, and keeps their results until they are acknowledged.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use protocol::frame::{Decoder, Message};
use protocol::runner::{FromRunner, LATER_EPOCH, Limits, MAX_PAYLOAD, Op, Order, Outcome, Status, ToRunner, VERSION};
use ring::digest::{Context, SHA256};
use tokio::signal::unix::{SignalKind, signal};

use crate::changes::Changes;
use crate::children::Children;
use crate::disk::Disk;
use crate::done::Done;
use crate::files::{self, Workspace};
use crate::handle::Handle;
use crate::host::Host;
use crate::job::Job;
use crate::log::Logs;
use crate::mistakes;
use crate::output::{cap, fit};
use crate::quiesce;
use crate::session::Session;
use crate::shell;
use crate::table::Admission;

/// Serves until the host closes stdin for good or SIGTERM arrives.
pub async fn serve(mut host: Host, workspace: Workspace, disk: Disk, logs: Arc<Logs>) -> anyhow::Result<()> {
    let children = Arc::new(Children::default());
    let session = Arc::new(Session {
        children: Arc::clone(&children),
        changes: Changes::of(workspace.root()),
        workspace: Arc::new(workspace),
        disk,
        sender: Arc::clone(&host.sender),
        shell_state: Mutex::default(),
        logs,
        background: Mutex::default(),
        requests: Mutex::default(),
        quiescing: AtomicBool::new(false),
        boot: random()?,
        binary: own_hash()?,
    });
    let terminated = terminated()?;
    let mut decoder = Decoder::new(MAX_PAYLOAD);
    let mut epoch = None;
    let listen = async {
        while let Some(piece) = host.pieces.recv().await {
            // An unreadable frame is the incomplete write of another host and is skipped.
            for payload in decoder.push(&piece).into_iter().flatten() {
                if let Ok(message) = Message::from_payload(payload) {
                    session.obey(&mut epoch, message);
                }
            }
        }
    };
    tokio::select! {
        () = terminated => Ok(()),
        never = children.reap() => never,
        () = listen => Ok(()),
        never = session.changes.listen() => match never {},
    }
}

/// Resolves when the process is asked to end. PID 1 gets no signal without a handler; the handlers are installed when this returns.
pub fn terminated() -> anyhow::Result<impl Future<Output = ()>> {
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
    })
}

fn random() -> anyhow::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?;
    Ok(hex::encode(bytes))
}

/// Hash that the host compares with the binary that it put into the sandbox.
fn own_hash() -> anyhow::Result<String> {
    let mut file = std::fs::File::open("/proc/self/exe")?;
    let mut hash = Context::new(&SHA256);
    let mut buffer = vec![0; 64 << 10];
    loop {
        match std::io::Read::read(&mut file, &mut buffer)? {
            0 => return Ok(hex::encode(hash.finish())),
            count => hash.update(&buffer[..count]),
        }
    }
}

impl Session {
    fn obey(self: &Arc<Self>, highest: &mut Option<u64>, message: Message<Order>) {
        let Message { head: Order { epoch, say }, body } = message;
        if let ToRunner::Hello { version } = say {
            return self.greet(highest, epoch, version);
        }
        if *highest != Some(epoch) {
            let reason = format!("epoch {epoch} is not the one that said hello last");
            self.sender.send(FromRunner::Refused { epoch, reason });
            return;
        }
        match say {
            ToRunner::Hello { .. } => {}
            ToRunner::Run { id, op, limits } => self.run(id, op, limits),
            ToRunner::Input { id, offset, last } => self.with(id, |handle| handle.feed(offset, last, &body)),
            ToRunner::Taken { id, bytes } => self.with(id, |handle| handle.open_window(bytes)),
            ToRunner::Cancel { id } => self.with(id, |handle| handle.cancel.cancel()),
            ToRunner::Ack { id } => self.table().acknowledge(id),
        }
    }

    fn greet(&self, highest: &mut Option<u64>, epoch: u64, version: u32) {
        let reason = match *highest {
            Some(highest) if epoch < highest => format!("{LATER_EPOCH}{highest} is in charge, {epoch} is older"),
            _ if version != VERSION => format!("this runner speaks version {VERSION}, the host {version}"),
            _ => String::new(),
        };
        if !reason.is_empty() {
            self.sender.send(FromRunner::Refused { epoch, reason });
            return;
        }
        *highest = Some(epoch);
        let table = self.table();
        table.running(true).iter().for_each(|handle| handle.detach());
        let (boot, runner) = (self.boot.clone(), self.binary.clone());
        let (requests, lacks) = (table.known(), self.disk.lacks());
        self.sender.send(FromRunner::Hello { version: VERSION, epoch, boot, runner, requests, lacks });
        for (id, outcome) in table.results() {
            self.sender.send(FromRunner::Finished { id, outcome });
        }
    }

    /// Messages for a request that is over came too late and are ignored.
    fn with(&self, id: u64, act: impl FnOnce(&Handle)) {
        let handle = self.table().handle(id);
        if let Some(handle) = handle {
            act(&handle);
        }
    }

    fn run(self: &Arc<Self>, id: u64, op: Op, limits: Limits) {
        let admission = self.table().admit(id, op.streams());
        match admission {
            Admission::Running => {}
            Admission::Finished(outcome) => {
                self.sender.send(FromRunner::Finished { id, outcome: *outcome });
            }
            Admission::Refused(reason) => {
                let outcome = settle(Done::failed(reason), limits, Duration::ZERO);
                self.sender.send(FromRunner::Finished { id, outcome });
            }
            Admission::New(handle) => {
                let session = Arc::clone(self);
                tokio::spawn(async move { session.carry_through(&handle, op, limits).await });
            }
        }
    }

    /// Runs an admitted request to its result, even if carrying it out panics.
    async fn carry_through(self: Arc<Self>, handle: &Arc<Handle>, op: Op, limits: Limits) {
        let agents = op.is_agents();
        if agents {
            self.changes.begin().await;
        }
        let start = Instant::now();
        let work = tokio::spawn(carry_out(Arc::clone(&self), Arc::clone(handle), op, limits));
        let mut done = work.await.unwrap_or_else(|_| Done::failed("the runner failed while it carried this out"));
        if agents && let Some(said) = self.background().stop_note() {
            done = done.also(said);
        }
        if let Some(reason) = handle.fault() {
            done.status = Status::Failed { reason };
        }
        let took = start.elapsed();
        if agents {
            done.touched = Some(self.changes.end().await);
        } else {
            self.changes.pass_over();
        }
        let outcome = settle(done, limits, took);
        self.table().finish(handle.id, outcome.clone());
        self.sender.send(FromRunner::Finished { id: handle.id, outcome });
    }
}

/// Cuts the outcome to its limits, whatever the operation returned.
fn settle(done: Done, limits: Limits, took: Duration) -> Outcome {
    const SENTENCE: usize = 8 << 10;
    let (text, dropped) = fit(done.text, cap(limits));
    let status = match done.status {
        Status::Failed { reason } => Status::Failed { reason: fit(reason, SENTENCE).0 },
        Status::DiskSpent { what } => Status::DiskSpent { what: fit(what, SENTENCE).0 },
        status => status,
    };
    Outcome {
        status,
        text,
        dropped_bytes: done.dropped + dropped,
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        note: done.note.map(|note| fit(note, SENTENCE).0),
        whole: done.whole,
        picture: done.picture,
        touched: done.touched,
    }
}

async fn carry_out(session: Arc<Session>, handle: Arc<Handle>, op: Op, limits: Limits) -> Done {
    if session.quiescing.load(Ordering::SeqCst) {
        return Done::failed("everything in the sandbox is being stopped; nothing new may start");
    }
    match op {
        Op::Bash { command, whole } => match session.disk.begin().await {
            Ok(watched) => {
                let log = whole.then(|| session.logs.of(handle.id));
                let job = Job { log, ..Job::bash(command, &session.workspace) };
                let done = job.run(&session, &handle, limits).await;
                done.unless_disk(watched.end().await)
            }
            Err(what) => Done::bare(Status::DiskSpent { what }),
        },
        Op::Shell { command, background } => match session.disk.begin().await {
            Ok(watched) => {
                let done = match background {
                    true => shell::start(&session, &handle, command, limits),
                    false => shell::run(&session, &handle, command, limits).await,
                };
                done.unless_disk(watched.end().await)
            }
            Err(what) => Done::bare(Status::DiskSpent { what }),
        },
        op @ (Op::WriteFile { .. }
        | Op::WriteFiles { .. }
        | Op::EditFile { .. }
        | Op::MoveFile { .. }
        | Op::DeleteFile { .. }) => match session.disk.begin().await {
            Ok(watched) => {
                let (done, written) = files::run(Arc::clone(&session.workspace), &handle, op, limits).await;
                let done = done.unless_disk(watched.end().await);
                mistakes::with_mistakes(&session, &handle, done, written, limits).await
            }
            Err(what) => Done::bare(Status::DiskSpent { what }),
        },
        Op::Exec { argv, env, cwd, input, output } => {
            let cwd = session.workspace.root().join(cwd);
            let job = Job { env, cwd, input, output, ..Job::captured(argv, &session.workspace) };
            job.run(&session, &handle, limits).await
        }
        Op::WebFetch { url } => {
            let log = Some(session.logs.of(handle.id));
            let job = Job { log, ..Job::web_fetch(url, &session.workspace) };
            job.run(&session, &handle, limits).await.or_reason()
        }
        Op::Quiesce => quiesce::run(&session, &handle, limits).await,
        op @ (Op::ReadFile { .. } | Op::ReadRanges { .. } | Op::ListFiles { .. } | Op::Search { .. }) => {
            let place = files::place(&session.workspace, &session.logs.directory(), &op);
            files::run(place, &handle, op, limits).await.0
        }
    }
}
