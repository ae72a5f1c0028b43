//! In check 2: one sandbox takes every inotify instance the kernel gives its user, and another one, of another repository, still gets
//! one. The kernel counts them by user, so that sandboxes of one user would take them from each other.

use protocol::probe::{Finding, OPEN};

use super::Untested;
use super::inside::Inside;

pub const TAKEN: &str = "inotify instances another sandbox took";
/// Also where its limits end before the kernel's count does: more it cannot take from anybody.
pub const ALL: [&str; 2] = ["all", "as many as it could"];
pub const MEANWHILE: &str = "an inotify instance meanwhile";
pub const GIVEN: &str = OPEN;

pub(super) async fn tried(first: &Inside, second: &Inside) -> Result<[Finding; 2], Untested> {
    let (taken, left) = second.crowding(async || Ok(first.probe(&["take-watcher"]).await?.text)).await?;
    Ok([Finding::new(2, TAKEN, taken), Finding::new(2, MEANWHILE, left.trim_end())])
}
