//! The moment at which another host's lease ends, because a host that died gives none back and so notifies nobody.

use super::{EVERY, Hosts};
use std::sync::Arc;
use std::time::Duration;

/// Time added to a lease's end, because it is still the other host's in its last millisecond.
const MARGIN: Duration = Duration::from_millis(20);

impl Hosts {
    /// Reports again when the first of the others' leases ends, counted from now, unless it is prolonged until then.
    pub(super) fn look_when_free(self: &Arc<Self>, free_in_ms: Option<i64>) {
        let Some(wait) = before_next_report(free_in_ms) else { return };
        let this = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            this.look.notify_one();
        });
    }
}

/// How long to wait for the end of a lease that lasts so many milliseconds yet; none where the next report comes first, which asks again.
fn before_next_report(free_in_ms: Option<i64>) -> Option<Duration> {
    let left = Duration::from_millis(u64::try_from(free_in_ms?).unwrap_or(0));
    Some(left + MARGIN).filter(|wait| *wait < EVERY)
}

#[cfg(test)]
mod tests {
    use super::super::LASTS;
    use super::*;

    #[test]
    fn a_host_looks_again_just_after_anothers_lease_ends() {
        let wait = |ms: i64| before_next_report(Some(ms)).map(|wait| wait.as_millis());
        assert_eq!((wait(0), wait(1_200)), (Some(20), Some(1_220)));
        assert_eq!(before_next_report(None), None, "no other host has a lease");
        // A host that lives prolongs its leases long before their end.
        let (lasts, every) = (LASTS.as_millis() as i64, EVERY.as_millis() as i64);
        assert_eq!((wait(lasts), wait(lasts - every), wait(every)), (None, None, None));
    }
}
