//! A question about a task that has ended: answered as beside the work, by the task's model from its log and its last commit, and charged to it.
//! Who: as where a task is at work. Effect: the task's outbox posts the answer. Tests: `tests/stories/asked_after.rs`.

use super::reader::Reader;
use super::start::Text;
use crate::config::process::Repository;
use crate::message;
use crate::thread::{asked_on_line, words};
use crate::trouble::Trouble;
use domain::{Access, Decision, Input, Task, Verb};

impl Reader {
    /// Hands a question to the ended task that it is about, under the key of its text. `right` is that of its author, who may write.
    pub(super) async fn ask_about(
        &self,
        task: &Task,
        entry: &Repository,
        number: u64,
        (text, key, question): (&Text, &str, &str),
        right: Access,
    ) -> Result<(), Trouble> {
        if self.admitted(entry, (number, key), text, (&text.verb, right), Some(task)).await?.is_none() {
            return Ok(());
        }
        if text.edited {
            return self.threads.answers.answer_once(entry, number, key, &message::edited(&text.author.login)).await;
        }
        // Those on a line are named as left.
        if !text.is_reply() {
            let account = words::account(&text.author);
            let said = (&account, text.body.as_str(), &text.verb);
            self.threads.further.answer_beside(entry, number, key, (said, &text.names), right).await?;
        }
        let question = match &text.note {
            Some(note) => asked_on_line(note, question),
            None => question.to_owned(),
        };
        let decision = Decision { verb: Verb::Ask { question }, ..text.evidence(number, right) };
        self.machine.feed(task.id, key, Input::Decided { decision: Box::new(decision) }, None).await?;
        Ok(())
    }
}
