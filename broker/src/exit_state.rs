//! How a stopped container ended, from what the engine remembers.
//!
//! The engine's out-of-memory flag may stand for any process of the container and stays set, so it is considered last; a kill order in the
//! engine's events, or an engine started after the container, decides first. Tests: below and `tests/trees/fates.rs` of the root package.

use std::time::Duration;

use bollard::models::{ContainerInspectResponse, EventMessage};
use jiff::Timestamp;
use protocol::broker::{ContainerState, End};

use crate::engine::Engine;

/// The network that the engine recreates at each start, unless containers outlive it (and then nothing ended).
const MADE_AT_START: &str = "bridge";
/// The engine remembers few events, which are read at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// The state with the most precise reason for the end.
pub async fn exit_state(
    engine: &dyn Engine,
    found: &ContainerInspectResponse,
    state: ContainerState,
) -> ContainerState {
    let ContainerState::Exited { code, end } = state else { return state };
    let id = found.id.as_deref().unwrap_or_default();
    if ordered(engine, id).await {
        return ContainerState::Exited { code, end: End::Stopped };
    }
    let started = found.state.as_ref().and_then(|state| state.started_at.as_deref()).unwrap_or_default();
    let end = if engine_started_after(engine, started).await { End::EngineRestarted } else { end };
    ContainerState::Exited { code, end }
}

/// Whether the engine's events contain an order to end it.
async fn ordered(engine: &dyn Engine, id: &str) -> bool {
    let orders = tokio::time::timeout(PATIENCE, engine.orders(id)).await;
    orders.is_ok_and(|orders| orders.is_ok_and(|events| killed(&events)))
}

async fn engine_started_after(engine: &dyn Engine, started: &str) -> bool {
    let network = engine.network(MADE_AT_START).await.ok().flatten();
    network.and_then(|network| network.created).is_some_and(|made| later(&made, started))
}

/// Whether the newest event is an order to kill.
fn killed(events: &[EventMessage]) -> bool {
    events.last().is_some_and(|event| event.action.as_deref() == Some("kill"))
}

/// Whether one timestamp is after another; false if either is unreadable.
fn later(one: &str, other: &str) -> bool {
    match (one.parse::<Timestamp>(), other.parse::<Timestamp>()) {
        (Ok(one), Ok(other)) => one > other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(actions: &[&str]) -> Vec<EventMessage> {
        let event = |&action: &&str| EventMessage { action: Some(action.to_owned()), ..EventMessage::default() };
        actions.iter().map(event).collect()
    }

    #[test]
    fn an_order_to_kill_counts_for_the_boot_it_was_given_in() {
        assert!(killed(&events(&["start", "kill"])) && killed(&events(&["kill"])));
        assert!(!killed(&events(&["start", "kill", "start"])) && !killed(&[]));
    }

    #[test]
    fn moments_are_compared_whatever_their_zone() {
        let utc = "2026-11-22T19:56:37.247521916Z";
        assert!(later("2026-11-22T21:56:38+02:00", utc) && !later("2026-11-22T20:56:37+02:00", utc));
        assert!(!later("", utc) && !later(utc, "0001"));
    }
}
