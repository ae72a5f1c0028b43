//! Named points of an effect at which a test can interrupt it; never used by `serve`.

use crate::store::EffectRow;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

/// Progress of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Boundary {
    /// Its row says started, but nothing was done.
    Begun,
    /// It waits for something outside for the n-th time (counted from 1).
    Under(u32),
    /// It is done, but its result is not stored.
    Done,
    /// Its row was closed together with the following events and effects.
    Closed,
}

/// Called at each boundary; on true the effect never continues. It may panic instead.
pub type Cut = Arc<dyn Fn(&EffectRow, Boundary) -> bool + Send + Sync>;

/// Blocks for ever where the effect is cut.
pub(super) async fn at(cut: Option<&Cut>, row: &EffectRow, boundary: Boundary) {
    if cut.is_some_and(|cut| cut(row, boundary)) {
        std::future::pending().await
    }
}

/// Runs `work` between the first two boundaries, with a call at each wait.
pub(super) async fn within<T>(cut: Option<&Cut>, row: &EffectRow, work: impl Future<Output = T>) -> T {
    at(cut, row, Boundary::Begun).await;
    let (mut work, mut waits, mut still) = (pin!(work), 0, false);
    let done = std::future::poll_fn(|cx| {
        if still {
            return Poll::Pending;
        }
        let polled = work.as_mut().poll(cx);
        if let (Poll::Pending, Some(cut)) = (&polled, cut) {
            waits += 1;
            still = cut(row, Boundary::Under(waits));
        }
        polled
    });
    let done = done.await;
    at(cut, row, Boundary::Done).await;
    done
}
