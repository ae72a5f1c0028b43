//! What can happen to a request and to a delivery, and the plans that decide it. Owns no more than that; `trouble` sets them.

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is answered with this status and not carried out.
    Refused(u16),
    /// Its connection ends without an answer, and it is not carried out.
    Cut,
    /// It is carried out, and its connection ends without an answer, as after a time-out.
    Unanswered,
}

/// The way of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// How often it is sent; 0 = lost.
    pub copies: u8,
    /// How many later deliveries are sent before it; it waits for [`crate::Devforge::release_hooks`] if there are fewer.
    pub behind: u8,
}

impl Route {
    /// Sent once, in its turn.
    pub const STRAIGHT: Route = Route { copies: 1, behind: 0 };
}

/// Decides a request's fault, from its method and its path.
pub(crate) type Faults = Box<dyn FnMut(&str, &str) -> Option<Fault> + Send>;
/// Decides a delivery's way, from its event type.
pub(crate) type Routes = Box<dyn FnMut(&str) -> Route + Send>;

/// The plans that are set.
#[derive(Default)]
pub(crate) struct Plans {
    faults: std::sync::Mutex<Option<Faults>>,
    routes: std::sync::Mutex<Option<Routes>>,
}

impl std::fmt::Debug for Plans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Plans")
    }
}

impl Plans {
    pub fn faults(&self) -> std::sync::MutexGuard<'_, Option<Faults>> {
        self.faults.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub fn routes(&self) -> std::sync::MutexGuard<'_, Option<Routes>> {
        self.routes.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
