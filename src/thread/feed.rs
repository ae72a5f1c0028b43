//! How what was read in a thread, or came of an effect half-way, reaches its task: the driver's part.

use crate::store::StoreError;
use domain::{Input, Task, TaskId};

/// Looks at tasks, and takes inputs to them.
#[async_trait::async_trait]
pub trait Feed: Send + Sync {
    /// The task as it is now.
    async fn look(&self, id: TaskId) -> Result<Task, StoreError>;
    /// The task as it then is; none when the key had been used before.
    async fn feed(&self, id: TaskId, key: &str, input: Input) -> Result<Option<Task>, StoreError>;
}
