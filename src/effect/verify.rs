//! The bot's own run of the project's checks, on the exact commit, in a fresh sandbox. Rerun freely: the stored verdict wins.

use super::{Performer, Trouble};
use crate::sandbox::{SandboxError, VerifySpec};
use domain::{Commit, Input, Task};

impl Performer {
    pub(super) async fn verify(&self, task: &Task, n: u32, commit: &Commit, tries: i64) -> Result<Input, Trouble> {
        let repository = self.repository(task)?;
        let base = self.base(task)?;
        let (_, effective) = self.effective(&repository, &base).await?;
        let image = self.image_of(task, &base).await?;
        let spec = VerifySpec {
            task: task.id.0,
            commit: commit.clone(),
            base,
            tries: tries as u32,
            repo_key: repository.key,
            image,
            command: effective.test,
            limits: self.chamber_limits(),
            wall_ms: self.config.sandbox.verify_wall_s * 1000,
        };
        match self.sandboxes.verify(&spec).await {
            Ok(verdict) => Ok(Input::Verified { n, verdict }),
            // Not the task's own: it is made once more.
            Err(SandboxError::Gone(loss)) => Err(Trouble::later(format!("the checks were cut off: {loss}"))),
            Err(other) => Err(other.into()),
        }
    }
}
