//! What ends a running bot: a signal, a failed part, or a request to reload the configuration. On a reload the same process executes itself
//! again; before it does, everything that the next start needs from outside is checked.

use super::broker_child;
use super::outside::Outside;
use super::printer::{Complaint, Printer};
use super::store::location;
use crate::bot::Patience;
use crate::config::Process;
use crate::config::process::Listen;
use crate::egress;
use crate::sandbox::any_networked;
use crate::server::Reload;
use crate::store::{Store, StoreError};
use anyhow::{Context, Result, bail, ensure};
use std::ffi::{CString, OsStr, OsString};
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// Time limit for work under way at shutdown; the rest is done after the next start.
const STOPS_WITHIN: Duration = Duration::from_secs(20);
/// Time limit at a reload, for which nobody waits: it lets a model's answer arrive that would have to be paid for twice. Everything else is
/// resumed.
const RELOADS_WITHIN: Duration = Duration::from_secs(300);
/// Less than the time for which a reload's requester waits for the answer.
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

/// Termination signals. Created once for the process, because a signal between two streams would be lost.
pub(super) struct Ends {
    terminate: Signal,
    interrupt: Signal,
}

impl Ends {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next signal.
    pub(super) async fn one(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Waits until a reload is requested, by SIGHUP or at the operations' listener, and the configuration is usable. For a bot started in a
/// terminal SIGHUP means that the terminal is gone.
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
                // The requester may be gone.
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

/// Whether a bot could start with the present configuration file.
async fn usable(config: &Process) -> Result<(), String> {
    let now = config.again()?;
    let tried = async {
        program()?;
        stays_on_its_networks(config, &now)?;
        broker_child::answers_elsewhere(&now).await?;
        Outside::reach(&now).await?;
        match Store::look(location(&now)?).await {
            // A start migrates an older store.
            Err(StoreError::Shape { found, known }) if found < known => {}
            looked => drop(looked?),
        }
        egress::policy(&now.egress)?;
        can_listen(&now.listen, &config.listen).await
    };
    match tokio::time::timeout(TRIED_WITHIN, tried).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(format!("{error:#}")),
        Err(_) => Err(format!("broker, forge and database did not answer within {} s", TRIED_WITHIN.as_secs())),
    }
}

/// Networks that stand keep the pool that they were cut from, and with another one no router starts. They stand while a sandbox has one, and
/// always with a broker that is started elsewhere.
fn stays_on_its_networks(own: &Process, next: &Process) -> Result<()> {
    if next.router.pool == own.router.pool {
        return Ok(());
    }
    let always = next.sandbox.networked() && !next.broker.start;
    if always || any_networked(&own.state_dir)? {
        bail!(
            "router.pool is another one, and the networks of sandboxes stand on {}: end the tasks that have one, stop `caisson serve`, \
             and remove the networks with `caisson broker --teardown`",
            own.router.pool
        );
    }
    Ok(())
}

/// Tries the addresses of the next start. Ports that this bot has will be free then, so of these the address alone is tried: it may be none of
/// this machine.
async fn can_listen(next: &Listen, own: &Listen) -> Result<()> {
    let ports = [own.webhooks.port(), own.ops.port()];
    for at in [next.webhooks, next.ops] {
        let tried = if ports.contains(&at.port()) { SocketAddr::new(at.ip(), 0) } else { at };
        TcpListener::bind(tried).await.with_context(|| format!("cannot listen on {at}"))?;
    }
    Ok(())
}

/// Handles the bot's signals in this thread, or blocks them so that they stay pending, also over `exec`.
pub(super) fn hear(now: bool) -> nix::Result<()> {
    use nix::sys::signal::{
        SigSet,
        Signal::{SIGHUP, SIGINT, SIGTERM},
    };
    let words: SigSet = [SIGHUP, SIGINT, SIGTERM].into_iter().collect();
    if now { words.thread_unblock() } else { words.thread_block() }
}

/// This program, for the next start.
fn program() -> Result<PathBuf> {
    present(&std::env::current_exe().context("this program does not know where it lies")?)
}

/// What lies where a running program was started from. After an upgrade the kernel shows the old file's path with a suffix.
fn present(started: &Path) -> Result<PathBuf> {
    let path = started.as_os_str().as_bytes();
    let path = Path::new(OsStr::from_bytes(path.strip_suffix(b" (deleted)").unwrap_or(path)));
    let runs = path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    ensure!(runs, "there is no program {} any more: put it back first", path.display());
    Ok(path.to_owned())
}

/// The program and the arguments of the next start.
fn words() -> Result<Vec<CString>> {
    let given = std::env::args_os().skip(1).map(OsString::into_encoded_bytes);
    let words = std::iter::once(program()?.into_os_string().into_encoded_bytes()).chain(given);
    Ok(words.map(CString::new).collect::<Result<_, _>>()?)
}

/// Executes the same program with the same arguments, after this one has released everything. Returns only on failure.
pub(super) fn begin_anew() -> Complaint {
    let why = match words() {
        Err(error) => format!("{error:#}"),
        // Not with the standard library, which would unblock the pending signals.
        Ok(words) => match hear(false).and_then(|()| nix::unistd::execv(&words[0], &words)) {
            Err(error) => error.to_string(),
            Ok(never) => match never {},
        },
    };
    Complaint::new("the bot could not begin anew").because(why).hint("caisson serve")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_life_begins_with_another_pool_while_networks_stand_on_the_one_before() {
        let dir = tempfile::tempdir().expect("a directory");
        let config = |more: &str| {
            let text = format!("state_dir = \"{}\"\n{more}", dir.path().display());
            Process::from_layers(Path::new("x"), &text, &|_| None).expect("usable")
        };
        let refused = |next: &str| stays_on_its_networks(&config(""), &config(next)).err().map(|why| why.to_string());
        let other = "[router]\npool = \"10.90.0.0/20\"\n";
        let elsewhere = format!("{other}[broker]\nstart = false\n");
        assert_eq!(refused(other), None, "the broker of a bot removes networks that no task needs");
        assert!(refused(&elsewhere).is_some_and(|why| why.contains("stand on 10.213.0.0/20")));
        let record =
            r#"{"task":1,"attempt":1,"name":"task-1-1","base":"a","image":"b","berth":0,"egress":[],"boot":null}"#;
        std::fs::write(dir.path().join("sandboxes/1.json"), record).expect("written");
        assert!(refused(other).is_some_and(|why| why.contains("router.pool is another one")));
        assert_eq!(refused("[router]\nsubnets = 9\n"), None);
    }

    #[test]
    fn no_life_begins_without_its_program() {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, replaced) = (dir.path().join("caisson"), dir.path().join("caisson (deleted)"));
        std::fs::write(&path, "").expect("written");
        for (mode, runs) in [(0o755, true), (0o644, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set");
            for started in [&path, &replaced] {
                assert_eq!(present(started).ok(), runs.then(|| path.clone()), "{started:?} {mode:o}");
            }
        }
        std::fs::remove_file(&path).expect("removed");
        let why = present(&replaced).expect_err("it is gone").to_string();
        assert!(why.contains("there is no program") && !why.contains("(deleted)"), "{why}");
    }

    #[tokio::test]
    async fn no_life_begins_with_an_address_of_another_machine_at_the_same_port() {
        let listen = |webhooks: &str| {
            let text = format!("[listen]\nwebhooks = \"{webhooks}\"\n");
            Process::from_layers(Path::new("x"), &text, &|_| None).expect("usable").listen
        };
        let own = listen("127.0.0.1:8440");
        can_listen(&listen("0.0.0.0:8440"), &own).await.expect("its own port");
        // RFC 5737: the address of no machine.
        let error = can_listen(&listen("198.51.100.1:8440"), &own).await.expect_err("refused");
        assert!(error.to_string().contains("cannot listen on 198.51.100.1:8440"), "{error:#}");
    }
}
