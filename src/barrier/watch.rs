//! Part of check 2: one sandbox takes every inotify instance of its user, and another of another repository still gets one. The kernel
//! counts them by user, so sandboxes of one user would compete for them.

use protocol::probe::{Finding, OPEN};

use super::Untested;
use super::inside::Inside;

pub const TAKEN: &str = "inotify instances another sandbox took";
/// Also accepted where its limits end before the kernel's, because it cannot take more from others then.
pub const ALL: [&str; 2] = ["all", "as many as it could"];
pub const MEANWHILE: &str = "an inotify instance meanwhile";
pub const GIVEN: &str = OPEN;

pub(super) async fn tried(first: &Inside, second: &Inside) -> Result<[Finding; 2], Untested> {
    let (taken, left) = second.crowding(async || Ok(first.probe(&["take-watcher"]).await?.text)).await?;
    Ok([Finding::new(2, TAKEN, taken), Finding::new(2, MEANWHILE, left.trim_end())])
}
