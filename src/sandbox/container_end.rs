//! How a container ended, as the broker tells it, and what that makes of a connection to its runner. Tests: `tests/trees/`.

use std::time::Duration;

use domain::Loss;
use protocol::broker::{ContainerState, End};

use super::SandboxError;
use super::broker::Broker;
use super::link::LinkError;

/// How often a container is looked at whose connection has ended, and the time between: an engine may report its end later.
const LOOKS: usize = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The loss for the end of a container that the broker reports.
pub(super) fn ended(end: End) -> Loss {
    match end {
        End::Memory => Loss::Memory,
        End::Stopped => Loss::Stopped,
        End::EngineRestarted => Loss::EngineRestarted,
        End::Itself => Loss::Ended,
    }
}

/// The error for a connection to a container's runner that has ended. Only an end of the container that what runs in it can have caused is a
/// loss; otherwise it is tried again.
pub(super) async fn closed(broker: &dyn Broker, name: &str) -> SandboxError {
    for _ in 0..LOOKS {
        let found = broker.inspect(name).await.ok().flatten();
        match found.map(|container| container.state) {
            Some(ContainerState::Exited { end: end @ (End::Itself | End::Memory), .. }) => {
                return SandboxError::Gone(ended(end));
            }
            Some(ContainerState::Running) => tokio::time::sleep(BETWEEN_LOOKS).await,
            Some(
                ContainerState::Exited { end: End::Stopped | End::EngineRestarted, .. }
                | ContainerState::Created
                | ContainerState::Paused
                | ContainerState::Gone,
            )
            | None => break,
        }
    }
    SandboxError::Unavailable(LinkError::Closed.to_string())
}
