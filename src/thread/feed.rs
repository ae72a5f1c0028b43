//! Interface to the driver, by which inputs from a thread or from an unfinished effect reach their task.

use crate::store::StoreError;
use domain::{Input, Task, TaskId};

/// Reads tasks and feeds inputs to them.
#[async_trait::async_trait]
pub trait Feed: Send + Sync {
    /// The current state of the task.
    async fn look(&self, id: TaskId) -> Result<Task, StoreError>;
    /// Feeds an input and returns the task after it; none if the key was used before.
    async fn feed(&self, id: TaskId, key: &str, input: Input) -> Result<Option<Task>, StoreError>;
}
