//! The bot's own run of the project's checks, on the exact commit, in a fresh sandbox. Rerun freely: the stored verdict wins.

use super::EffectRunner;
use crate::sandbox::SandboxError;
use crate::text::redacted;
use crate::trouble::Trouble;
use domain::{Commit, Input, Task};

impl EffectRunner {
    pub(super) async fn verify(&self, task: &Task, n: u32, commit: &Commit, tries: i64) -> Result<Input, Trouble> {
        let spec = self.verification(task, commit, tries).await?;
        match self.sandboxes.verification.verify(&spec).await {
            Ok(mut verdict) => {
                verdict.tail = redacted(&verdict.tail).0.into_owned();
                Ok(Input::Verified { n, verdict })
            }
            // Not the task's own: it is made once more.
            Err(SandboxError::Gone(loss)) => Err(Trouble::later(format!("the checks were cut off: {loss}"))),
            Err(other) => Err(other.into()),
        }
    }
}
