//! What ends a running bot: a signal, a work that gave up, or a configuration that is to be read again. For the last the same process begins
//! anew, from its own beginning; before it ends, everything outside that the next life needs is tried.

use super::outside::Outside;
use super::printer::{Complaint, Printer};
use super::store::location;
use crate::bot::Patience;
use crate::config::Process;
use crate::egress;
use crate::server::Reload;
use crate::store::{Store, StoreError};
use anyhow::{Context, Result};
use std::ffi::CString;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// Work under way ends within this when the bot is told to stop; what is left is done by the next life.
const STOPS_WITHIN: Duration = Duration::from_secs(20);
/// Nobody waits for a reload: a model's answer that is under way is not asked for, and paid, twice. Everything else is taken up again.
const RELOADS_WITHIN: Duration = Duration::from_secs(300);
/// Less than whoever asks for a reload waits for the answer.
const TRIED_WITHIN: Duration = Duration::from_secs(8);

/// Why the bot ends.
pub(super) enum Ended {
    Asked,
    Fatal(String),
    Reload,
}

impl Ended {
    /// How long work under way may take.
    pub(super) fn patience(&self) -> Patience {
        let paid = match self {
            Self::Asked | Self::Fatal(_) => STOPS_WITHIN,
            Self::Reload => RELOADS_WITHIN,
        };
        Patience { all: STOPS_WITHIN, paid }
    }
}

/// The signals that end a program. Made once, for all of its life: between two streams one would be lost.
pub(super) struct Ends {
    terminate: Signal,
    interrupt: Signal,
}

impl Ends {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next of them.
    pub(super) async fn one(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Until the configuration is to be read again and can be used: SIGHUP, or a word at the operations' listener. From a terminal the signal
/// means that the terminal is gone.
pub(super) async fn wait_for_reload(
    config: &Process,
    hangup: &mut Signal,
    asked: &mut mpsc::Receiver<Reload>,
    in_terminal: bool,
    printer: &Printer,
) -> Ended {
    loop {
        tokio::select! {
            Some(answer) = asked.recv() => {
                let usable = usable(config).await;
                let begins = usable.is_ok();
                // Who asked may have gone away.
                let _ = answer.send(usable);
                if begins {
                    return Ended::Reload;
                }
            }
            _ = hangup.recv() => {
                if in_terminal {
                    return Ended::Asked;
                }
                match usable(config).await {
                    Ok(()) => return Ended::Reload,
                    Err(why) => printer.warn(&format!("the configuration cannot be used, so the one in use stays:\n{why}")),
                }
            }
        }
    }
}

/// Whether another life could begin with the configuration as its file is now.
async fn usable(config: &Process) -> Result<(), String> {
    let now = config.again()?;
    let tried = async {
        Outside::reach(&now).await?;
        match Store::look(location(&now)?).await {
            // A start brings an older one to the newest shape.
            Err(StoreError::Shape { found, known }) if found < known => {}
            looked => drop(looked?),
        }
        egress::policy(&now.egress)?;
        // Ports that this bot has are free when the next life begins.
        let own = [config.listen.webhooks.port(), config.listen.ops.port()];
        for at in [now.listen.webhooks, now.listen.ops].into_iter().filter(|at| !own.contains(&at.port())) {
            TcpListener::bind(at).await.with_context(|| format!("cannot listen on {at}"))?;
        }
        anyhow::Ok(())
    };
    match tokio::time::timeout(TRIED_WITHIN, tried).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(format!("{error:#}")),
        Err(_) => Err(format!("forge and database did not answer within {} s", TRIED_WITHIN.as_secs())),
    }
}

/// The signals that a bot understands: heard by this thread, or kept for later. What is kept outlives the beginning anew.
pub(super) fn hear(now: bool) -> nix::Result<()> {
    use nix::sys::signal::{
        SigSet,
        Signal::{SIGHUP, SIGINT, SIGTERM},
    };
    let words: SigSet = [SIGHUP, SIGINT, SIGTERM].into_iter().collect();
    if now { words.thread_unblock() } else { words.thread_block() }
}

/// The same process with the same arguments, from its beginning: this one has let go of everything. Answers only when that failed.
pub(super) fn begin_anew() -> Complaint {
    let program = std::env::current_exe().unwrap_or_default();
    // After an upgrade the program has another file; the kernel shows the old one's name with this behind it.
    let program = program.to_string_lossy().trim_end_matches(" (deleted)").to_owned();
    let words = std::env::args_os().skip(1).map(|word| word.into_encoded_bytes());
    let words = std::iter::once(program.into_bytes()).chain(words).map(CString::new);
    let why = match words.collect::<Result<Vec<_>, _>>() {
        Err(error) => error.to_string(),
        // Not by the standard library, which would forget what is kept.
        Ok(words) => match hear(false).and_then(|()| nix::unistd::execv(&words[0], &words)) {
            Err(error) => error.to_string(),
            Ok(never) => match never {},
        },
    };
    Complaint::new("the bot could not begin anew").because(why).attempt("caisson serve")
}
