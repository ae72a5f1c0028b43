//! Restarts the process's long-running works, and knows what is wrong with them.
//!
//! Owns the restart of a work after a panic or an early end (with back-off), what `/readyz` reports meanwhile, and the end of the process
//! for a work that cannot restart. Must not know what a work does. Tests: below.

use futures_util::FutureExt;
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Time after a failure for which a work has to run to count as healthy.
const STEADY: Duration = Duration::from_secs(60);

/// The message of a panic.
pub fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without words".to_owned())
}

/// Runs a future to its end; a panic is logged and counted under this name.
///
/// # Errors
/// The message of the panic.
pub async fn caught<T>(work: &'static str, future: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(future).catch_unwind().await.map_err(|panic| {
        let text = message(&*panic);
        tracing::error!(work, panic = text, "a panic");
        metrics::counter!("caisson_panics_total", "work" => work).increment(1);
        text
    })
}

/// Problems by the name of the work, and whether the process has to end; clones share them.
#[derive(Clone)]
pub struct Works {
    wrong: Arc<Mutex<BTreeMap<String, String>>>,
    fatal: watch::Sender<Option<String>>,
    steady: Duration,
}

impl Default for Works {
    fn default() -> Self {
        Self { wrong: Arc::default(), fatal: watch::channel(None).0, steady: STEADY }
    }
}

impl Works {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The present problems, one line each.
    pub fn wrong(&self) -> Vec<String> {
        self.lock().iter().map(|(work, why)| format!("{work}: {why}")).collect()
    }

    /// Sets the problem of a work, replacing the earlier one.
    pub fn set_wrong(&self, work: &str, why: impl Into<String>) {
        self.lock().insert(work.to_owned(), why.into());
    }

    /// Clears the problem of a work.
    pub fn well(&self, work: &str) {
        self.lock().remove(work);
    }

    /// Returns when the process has to end, with the work that cannot continue and the reason.
    pub async fn fatal(&self) -> String {
        let mut fatal = self.fatal.subscribe();
        match fatal.wait_for(Option::is_some).await.map(|why| why.clone().unwrap_or_default()) {
            Ok(why) => why,
            // `self` has the sender.
            Err(_) => std::future::pending().await,
        }
    }

    /// Runs a work until `stopping`; `begin` starts it, and again after it ended or panicked.
    pub fn stay<F>(
        &self,
        work: &'static str,
        stopping: CancellationToken,
        mut begin: impl FnMut() -> F + Send + 'static,
    ) -> JoinHandle<()>
    where
        F: Future<Output = ()> + Send,
    {
        let works = self.clone();
        tokio::spawn(async move {
            let mut wait = FIRST_WAIT;
            loop {
                let began = Instant::now();
                let why = works.until_failed(work, Box::pin(begin())).await;
                if stopping.is_cancelled() {
                    return;
                }
                wait = if began.elapsed() >= works.steady { FIRST_WAIT } else { wait };
                works.set_wrong(work, format!("{why}; it begins anew by itself"));
                tracing::error!(work, why, wait_ms = wait.as_millis() as u64, "a work failed; it begins anew");
                if stopping.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                    return;
                }
                wait = (wait * 2).min(LONGEST_WAIT);
            }
        })
    }

    /// Runs it until it fails and gives the reason; its problem is cleared once it has run long enough.
    async fn until_failed(&self, work: &'static str, future: impl Future<Output = ()> + Unpin) -> String {
        let mut running = std::pin::pin!(caught(work, future));
        let ended = match tokio::time::timeout(self.steady, &mut running).await {
            Ok(ended) => ended,
            Err(_) => {
                self.well(work);
                running.await
            }
        };
        ended.map_or_else(|panic| format!("it panicked: {panic}"), |()| "it ended".to_owned())
    }

    /// Runs a work that cannot restart; if it ends before `stopping` the process has to end.
    pub fn once(
        &self,
        work: &'static str,
        stopping: CancellationToken,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        let works = self.clone();
        tokio::spawn(async move {
            let why = works.until_failed(work, Box::pin(future)).await;
            if !stopping.is_cancelled() {
                let why = format!("{work}: {why}, and cannot begin anew");
                works.set_wrong(work, why.clone());
                works.fatal.send_replace(Some(why.clone()));
                tracing::error!(why, "the process has to end");
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use tokio::sync::mpsc;

    #[tokio::test]
    async fn a_work_that_panics_or_ends_begins_anew_is_seen_and_is_well_when_it_stays() {
        let works = Works { steady: Duration::from_millis(100), ..Works::default() };
        let stopping = CancellationToken::new();
        let (begun, mut begins) = mpsc::unbounded_channel();
        let (count, enough) = (AtomicU32::new(0), Arc::new(tokio::sync::Notify::new()));
        let end = enough.clone();
        let work = works.stay("a work", stopping.clone(), move || {
            let (n, begun, end) = (count.fetch_add(1, Ordering::Relaxed), begun.clone(), end.clone());
            async move {
                begun.send(n).expect("heard");
                match n {
                    0 => panic!("broken {}", "pipe"),
                    1 => end.notified().await,
                    _ => std::future::pending().await,
                }
            }
        });
        assert!(works.wrong().is_empty());
        begins.recv().await.expect("begun");
        begins.recv().await.expect("begun again");
        assert_eq!(works.wrong(), ["a work: it panicked: broken pipe; it begins anew by itself"]);
        enough.notify_one();
        begins.recv().await.expect("and again");
        assert_eq!(works.wrong(), ["a work: it ended; it begins anew by itself"]);
        let well = async {
            while !works.wrong().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), well).await.expect("it has stayed");
        stopping.cancel();
        work.abort();
    }

    #[tokio::test]
    async fn what_failed_is_known_even_if_it_cannot_be_logged() {
        let broken = tracing_subscriber::fmt().with_writer(|| -> std::io::Stderr { panic!("no log") }).finish();
        let _broken = tracing::subscriber::set_default(broken);
        let works = Works::default();
        let work = works.stay("a work", CancellationToken::new(), || async {});
        assert!(work.await.is_err(), "the log panics");
        assert_eq!(works.wrong(), ["a work: it ended; it begins anew by itself"]);
    }

    #[tokio::test]
    async fn what_cannot_begin_anew_ends_the_process_and_an_ordered_end_does_not() {
        let (works, stopping) = (Works::default(), CancellationToken::new());
        works.once("a listener", stopping.clone(), async { panic!("no more") });
        assert_eq!(works.fatal().await, "a listener: it panicked: no more, and cannot begin anew");
        let works = Works::default();
        stopping.cancel();
        works.once("a listener", stopping, async {}).await.expect("joined");
        assert!(works.wrong().is_empty() && works.fatal().now_or_never().is_none());
    }
}
