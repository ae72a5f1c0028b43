//! Trouble that a test draws up: faults of single requests, deliveries that are lost, doubled or late, a clock that differs from the
//! machine's, and a pause in which no request is answered. Owns how a test sets them; `plans` says what they
//! are, and `api::outage` and `hooks` act on them.

use crate::Devforge;
use crate::plans::{Fault, Faults, Route, Routes};
use crate::traps::Switches;
use std::sync::atomic::Ordering;
use tokio::sync::OwnedRwLockWriteGuard;

impl Devforge {
    /// Asks this for a fault of each request to API and git from now on.
    pub fn set_faults(&self, faults: impl FnMut(&str, &str) -> Option<Fault> + Send + 'static) {
        self.shared.switches.set_faults(Box::new(faults));
    }

    /// Asks this for the way of each delivery from now on.
    pub fn set_routes(&self, routes: impl FnMut(&str) -> Route + Send + 'static) {
        self.shared.switches.set_routes(Box::new(routes));
    }

    /// Sends the deliveries that wait for later ones.
    pub fn release_hooks(&self) {
        self.shared.switches.release();
    }

    /// Number of deliveries that were neither sent, lost, nor put behind later ones yet.
    pub fn hooks_underway(&self) -> usize {
        self.shared.world().underway.load(Ordering::SeqCst)
    }

    /// Sets the forge's clock so many seconds ahead of the machine's, or behind it.
    pub fn set_clock_ahead(&self, seconds: i64) {
        self.shared.world().ahead = seconds;
    }

    /// Moves the forge's clock on by so many seconds.
    pub fn clock_moves_on(&self, seconds: i64) {
        self.shared.world().ahead += seconds;
    }

    /// Waits for requests that are being answered, and answers no others until the result is dropped: what people do meanwhile is seen whole
    /// or not at all.
    pub async fn hold(&self) -> OwnedRwLockWriteGuard<()> {
        self.shared.switches.answering.clone().write_owned().await
    }
}

impl Switches {
    fn set_faults(&self, faults: Faults) {
        *self.plans.faults() = Some(faults);
    }

    fn set_routes(&self, routes: Routes) {
        *self.plans.routes() = Some(routes);
    }

    fn release(&self) {
        self.released.notify_one();
    }

    /// The fault of a request.
    pub fn fault(&self, method: &str, path: &str) -> Option<Fault> {
        self.plans.faults().as_mut().and_then(|plan| plan(method, path))
    }

    /// The way of a delivery.
    pub fn route(&self, event_type: &str) -> Route {
        self.plans.routes().as_mut().map_or(Route::STRAIGHT, |plan| plan(event_type))
    }
}
