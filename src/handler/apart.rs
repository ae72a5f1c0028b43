//! Commands that need no task (`/test-pr`, `/test-pr-bug`, `/sync`) where none is at work: on any issue or pull request, open or not. Who:
//! somebody with write access to the code. How they are carried out is `thread`'s part. Tests: `tests/stories/test_runs.rs`,
//! `tests/stories/upstream.rs`.

use super::reader::Reader;
use super::start::Text;
use crate::config::process::Repository;
use crate::message;
use crate::thread::words::account;
use crate::trouble::Trouble;
use domain::Access;
use std::collections::HashMap;

impl Reader {
    /// Takes up a text with such a command.
    pub(super) async fn apart(&self, entry: &Repository, number: u64, text: &Text, key: &str) -> Result<(), Trouble> {
        let login = &text.author.login;
        if text.edited {
            return self.threads.answers.answer_once(entry, number, key, &message::edited(login)).await;
        }
        let right = self.threads.accounts.right(entry, &text.author, &mut HashMap::new()).await?;
        if right < Access::Write {
            let refused = message::refused(login, text.verb.command().unwrap_or_default());
            return self.threads.answers.refuse_once(entry, number, key, text.asks_for(&text.verb), &refused).await;
        }
        if self.barred(entry, number, key, text, (&text.verb, right)).await? {
            return Ok(());
        }
        let author = account(&text.author);
        let said = (&author, text.body.as_str(), &text.verb);
        self.threads.further.answer_beside(entry, number, key, (said, &text.names), right).await?;
        self.threads.apart.carry_out(entry, number, key, (&account(&text.author), &text.verb), &text.source).await
    }
}
