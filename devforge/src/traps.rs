//! Irregular behaviour of a real Gitea as switches; each was seen on 1.25.4. Owns only the settings and one-shot faults; `hooks`, `reviews`
//! and `api` act on them.

use crate::plans::Plans;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The lasting habits. `Default` enables those that a correct client handles without help; `none()` disables all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traps {
    /// `POST /pulls` answers 404 for this long after its head branch was first pushed (seen: 0.6 s).
    pub branch_lag: Duration,
    /// `stale` of older approvals turns true this long after a push (seen: more than 2 s).
    pub stale_lag: Duration,
    /// Whether inline comments of reviews posted at the same time by one account are mixed up.
    pub mix_reviews: bool,
    /// Every n-th delivery is lost (0 = none); Gitea tries each once.
    pub hook_lose_every: u32,
    /// Every n-th delivery comes twice, as if two hooks were set: same body, other UUID (0 = none).
    pub hook_double_every: u32,
    /// Delay of deliveries.
    pub hook_delay: Duration,
    /// Delay of every answer of the API.
    pub answer_delay: Duration,
}

impl Default for Traps {
    fn default() -> Self {
        Self {
            branch_lag: Duration::from_millis(600),
            stale_lag: Duration::from_secs(2),
            mix_reviews: true,
            hook_lose_every: 0,
            hook_double_every: 2,
            hook_delay: Duration::from_millis(50),
            answer_delay: Duration::ZERO,
        }
    }
}

impl Traps {
    /// A fast and regular forge; only times in whole seconds and the shared numbering remain.
    pub fn none() -> Self {
        Self {
            branch_lag: Duration::ZERO,
            stale_lag: Duration::ZERO,
            mix_reviews: false,
            hook_lose_every: 0,
            hook_double_every: 0,
            hook_delay: Duration::ZERO,
            answer_delay: Duration::ZERO,
        }
    }
}

/// One-shot faults, each for the next matching call.
#[derive(Debug, Default)]
pub(crate) struct Cuts {
    review_after: Option<usize>,
    comment_lands_after: Option<Option<Duration>>,
    edit_lands_after: Option<Option<Duration>>,
    outage: Option<u16>,
    /// Number of calls that met an outage.
    outage_met: u32,
    lose_hooks: u32,
    /// Whether merges are answered as while the forge looks for conflicts.
    looks_for_conflicts: bool,
    /// Ends of addresses, each with the status it is answered with.
    refused: Vec<(String, u16)>,
    times_refused: u64,
    /// Number of requests per address, over API and git.
    requests: std::collections::HashMap<String, u64>,
}

/// The switches while the forge runs.
#[derive(Debug)]
pub(crate) struct Switches {
    traps: Mutex<Traps>,
    cuts: Mutex<Cuts>,
    /// Faults and ways that a test draws up.
    pub plans: Plans,
    /// Notified when deliveries that wait for later ones are to be sent.
    pub released: tokio::sync::Notify,
    /// Held for reading by each request that is being answered.
    pub answering: Arc<tokio::sync::RwLock<()>>,
}

/// Closes the connection without an answer; `resume_unwind` ends its task without a panic message.
pub(crate) fn hang_up() -> ! {
    std::panic::resume_unwind(Box::new("devforge: connection cut on purpose"))
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Switches {
    pub fn new(traps: Traps) -> Self {
        Self {
            traps: Mutex::new(traps),
            cuts: Mutex::default(),
            plans: Plans::default(),
            released: tokio::sync::Notify::new(),
            answering: Arc::default(),
        }
    }

    pub fn traps(&self) -> Traps {
        *locked(&self.traps)
    }

    pub fn set_traps(&self, traps: Traps) {
        *locked(&self.traps) = traps;
    }

    pub fn cut_review(&self, after_notes: usize) {
        locked(&self.cuts).review_after = Some(after_notes);
    }

    pub fn take_review_cut(&self) -> Option<usize> {
        locked(&self.cuts).review_after.take()
    }

    pub fn cut_comment(&self, lands_after: Option<Duration>) {
        locked(&self.cuts).comment_lands_after = Some(lands_after);
    }

    pub fn take_comment_cut(&self) -> Option<Option<Duration>> {
        locked(&self.cuts).comment_lands_after.take()
    }

    pub fn cut_edit(&self, lands_after: Option<Duration>) {
        locked(&self.cuts).edit_lands_after = Some(lands_after);
    }

    pub fn take_edit_cut(&self) -> Option<Option<Duration>> {
        locked(&self.cuts).edit_lands_after.take()
    }

    pub fn set_outage(&self, status: Option<u16>) {
        locked(&self.cuts).outage = status;
    }

    /// The outage status for a call that comes now; counts the call.
    pub fn outage(&self) -> Option<u16> {
        let mut cuts = locked(&self.cuts);
        cuts.outage_met += u32::from(cuts.outage.is_some());
        cuts.outage
    }

    pub fn outage_met(&self) -> u32 {
        locked(&self.cuts).outage_met
    }

    pub fn refuse(&self, addresses: Vec<(String, u16)>) {
        locked(&self.cuts).refused = addresses;
    }

    pub fn refused(&self, method: &str, path: &str) -> Option<u16> {
        let fits = |end: &str| match end.split_once(' ') {
            Some((only, end)) => only == method && path.ends_with(end),
            None => path.ends_with(end),
        };
        let mut cuts = locked(&self.cuts);
        let status = cuts.refused.iter().find(|(end, _)| fits(end)).map(|(_, status)| *status);
        cuts.times_refused += u64::from(status.is_some());
        status
    }

    pub fn count(&self, path: &str) {
        *locked(&self.cuts).requests.entry(path.to_owned()).or_default() += 1;
    }

    pub fn requests(&self, about: impl Fn(&str) -> bool) -> u64 {
        locked(&self.cuts).requests.iter().filter(|(path, _)| about(path)).map(|(_, times)| times).sum()
    }

    pub fn times_refused(&self) -> u64 {
        locked(&self.cuts).times_refused
    }

    pub fn lose_hooks(&self, count: u32) {
        locked(&self.cuts).lose_hooks = count;
    }

    pub fn look_for_conflicts(&self, looks: bool) {
        locked(&self.cuts).looks_for_conflicts = looks;
    }

    pub fn looks_for_conflicts(&self) -> bool {
        locked(&self.cuts).looks_for_conflicts
    }

    /// Number of deliveries that are to be lost yet.
    pub fn hooks_to_lose(&self) -> u32 {
        locked(&self.cuts).lose_hooks
    }

    /// True if this delivery is one of those to be lost.
    pub fn take_lost_hook(&self) -> bool {
        let mut cuts = locked(&self.cuts);
        let lost = cuts.lose_hooks > 0;
        cuts.lose_hooks = cuts.lose_hooks.saturating_sub(1);
        lost
    }
}
