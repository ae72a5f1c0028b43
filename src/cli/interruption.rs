//! What ends a command that runs for long: Ctrl-C, a termination signal, or the end of its terminal. Tests: below.

use anyhow::Result;
use tokio::signal::unix::{SignalKind, signal};

/// Waits for Ctrl-C, a termination signal or the end of the terminal: what was started has process groups of its own, and would go on.
pub(super) async fn interrupted() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = if ignores_hangup() { None } else { Some(signal(SignalKind::hangup())?) };
    let hung_up = async {
        match &mut hangup {
            Some(hangup) => hangup.recv().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = hung_up => {}
        outcome = tokio::signal::ctrl_c() => outcome?,
    }
    Ok(())
}

/// Whether this program was started to outlive its terminal, as `nohup` does.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The first bit is SIGHUP's.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection that breaks would leave a bot behind that goes on asking the model.
    #[tokio::test]
    async fn the_end_of_the_terminal_is_an_interruption() {
        if ignores_hangup() {
            return;
        }
        let waiting = interrupted();
        tokio::pin!(waiting);
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("nothing has happened yet"),
            () = std::future::ready(()) => {}
        }
        nix::sys::signal::raise(nix::sys::signal::Signal::SIGHUP).expect("raised");
        waiting.await.expect("an interruption");
    }
}
