//! `/test-pr` and `/test-pr-bug` where no task is at work: on any issue or pull request, open or not. Who: somebody with write access to the
//! code. `thread` resolves what is run. Tests: `tests/stories/test_runs.rs`.

use super::reader::Reader;
use super::start::Text;
use crate::config::process::Repository;
use crate::message;
use crate::trouble::Trouble;
use domain::Access;
use std::collections::HashMap;

impl Reader {
    /// Takes up a text that asks for a test run.
    pub(super) async fn test(&self, entry: &Repository, number: u64, text: &Text, key: &str) -> Result<(), Trouble> {
        let login = &text.author.login;
        if text.edited {
            return self.threads.answer_once(entry, number, key, &message::edited(login)).await;
        }
        let right = self.threads.right(entry, &text.author, &mut HashMap::new()).await?;
        if right < Access::Write {
            let refused = message::refused(login, text.verb.command().unwrap_or_default());
            return self.refuse_once(entry, number, key, &text.author, &refused).await;
        }
        if self.barred(entry, number, key, text, (&text.verb, right)).await? {
            return Ok(());
        }
        let said = (login.as_str(), text.body.as_str(), &text.verb);
        self.threads.answer_beside(entry, number, key, said, right, None).await?;
        self.threads.test(entry, number, key, (login, &text.verb)).await
    }
}
