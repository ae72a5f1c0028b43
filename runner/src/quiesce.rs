//! Stops everything: after success no process but the runner is left and no request runs.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use protocol::runner::Limits;
use tokio::time::{Instant, sleep};

use crate::done::Done;
use crate::handle::Handle;
use crate::kill::kill_all;
use crate::session::Session;

const STEP: Duration = Duration::from_millis(5);

pub async fn run(session: &Arc<Session>, own: &Handle, limits: Limits) -> Done {
    if session.quiescing.swap(true, Ordering::SeqCst) {
        return Done::failed("everything is being stopped already");
    }
    session.background().stop();
    let deadline = Instant::now() + Duration::from_millis(limits.wall_ms.max(1000));
    let mut seen = HashSet::new();
    let (left, busy) = loop {
        for handle in session.table().running(false) {
            if handle.id != own.id {
                handle.cancel.cancel();
            }
        }
        let left = kill_all(&mut seen);
        session.children.reap_dead();
        let busy = session.table().running(false).iter().any(|handle| handle.id != own.id);
        if (left == 0 && !busy) || Instant::now() > deadline {
            break (left, busy);
        }
        sleep(STEP).await;
    };
    session.quiescing.store(false, Ordering::SeqCst);
    if left > 0 {
        return Done::failed(format!("{left} processes of the sandbox don't end"));
    }
    if busy {
        return Done::failed("an operation of the runner does not end");
    }
    Done::ok(format!("{} processes ended", seen.len()))
}
