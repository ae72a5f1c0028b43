//! The named boundaries of an effect, where a test can break it off. `serve` has nobody who does.

use crate::store::EffectRow;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

/// How far an effect has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Boundary {
    /// Its row says started, nothing of it is done.
    Begun,
    /// It waits for something outside, for the n-th time (counted from 1).
    Under(u32),
    /// It is done, and its result is known to nobody else.
    Done,
    /// Its row is closed together with what follows from it.
    Closed,
}

/// Asked at each boundary; where it says true, the effect never goes on. It may panic instead.
pub type Cut = Arc<dyn Fn(&EffectRow, Boundary) -> bool + Send + Sync>;

/// Stands still for ever where the effect is cut.
pub(super) async fn at(cut: Option<&Cut>, row: &EffectRow, boundary: Boundary) {
    if cut.is_some_and(|cut| cut(row, boundary)) {
        std::future::pending().await
    }
}

/// Performs between two boundaries, and asks at each wait in between.
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
