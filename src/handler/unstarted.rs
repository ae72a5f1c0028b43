//! Commands that begin nothing where no task is at work: on issues, closed or not, and on pull requests. Who: as where a task is at work.
//! Effect: one answer to each text of somebody who may, and one refusal for everybody else; of a task that has ended its log answers, and its
//! model what is asked about it (`asked_after.rs`).
//! Tests: `tests/stories/unstarted.rs`.

use super::joined;
use super::reader::Reader;
use super::start::Text;
use crate::clock::now;
use crate::command::{Who, spec};
use crate::config::process::Repository;
use crate::forge::Issue;
use crate::message::{self, About, NotReviewed};
use crate::thread::{SLACK_MS, beside_key, words};
use crate::trouble::Trouble;
use domain::{Access, End, Event, Task, TaskId, TaskKind, Verb};
use std::collections::HashMap;

/// How the names of these watermarks begin.
pub(super) const MARKS: &str = "answers:";

/// How the names of the watermarks begin that hold the number of an issue's newest `/stop` that found no task at work.
const STOPS: &str = "stop:";

impl Reader {
    /// Since when commands are answered that begin nothing, on pull requests without a task and on closed issues, by the forge's clock: an
    /// old thread that is read again is not answered as a whole.
    pub(super) async fn answers_since(&self, key: &str) -> Result<i64, Trouble> {
        Ok(self.first_look(&format!("{MARKS}{key}")).await? - SLACK_MS)
    }

    /// Answers a command that begins nothing here.
    pub(super) async fn answer_unstarted(
        &self,
        entry: &Repository,
        issue: &Issue,
        text: &Text,
        key: &str,
    ) -> Result<(), Trouble> {
        let always = issue.open && !issue.is_pull;
        if !always && text.created_at < self.answers_since(&entry.key).await? {
            // Noted, so that a command added later begins no task from this text.
            if text.may_be_own() {
                self.store.note_input_of(&entry.key, key, now()).await?;
            }
            return Ok(());
        }
        let (number, login) = (issue.number, text.author.login.as_str());
        let right = self.threads.accounts.right(entry, &text.author, &mut HashMap::new()).await?;
        if right < Access::Write && takes_write(&text.verb) {
            let refused = message::refused(login, name(text));
            return self.threads.answers.refuse_once(entry, number, key, text.asks(name(text)), &refused).await;
        }
        if let Verb::Ask { question } = &text.verb
            && let Some(task) = self.ended(entry, number).await?
        {
            return self.ask_about(&task, entry, number, (text, key, question), right).await;
        }
        if self.barred(entry, number, key, text, (&text.verb, right)).await? {
            return Ok(());
        }
        // Who may not write is told once that something is no command, not for every text; and everybody on pull requests, where other
        // programs have commands of their own.
        let once = match &text.verb {
            Verb::Unknown { why, .. } => right < Access::Write || issue.is_pull && why.is_none(),
            _ => false,
        };
        let answer = self.unstarted(entry, number, (text, key, !once), right).await?;
        if once {
            return self.threads.answers.tell_once(entry, number, key, (text.author.id, &answer)).await;
        }
        self.threads.answers.answer_once(entry, number, key, &answer).await
    }

    /// What is answered; the further commands of a text about an ended task are answered beside it, if each text is answered.
    async fn unstarted(
        &self,
        entry: &Repository,
        number: u64,
        (text, key, each): (&Text, &str, bool),
        right: Access,
    ) -> Result<String, Trouble> {
        let login = text.author.login.as_str();
        if let Some(name) = words::beside_a_start(&text.body, &text.names) {
            return Ok(message::begins_nothing(login, &name));
        }
        // Its log is for those who may read the code.
        let ended = match right >= Access::Read {
            true => self.ended(entry, number).await?,
            false => None,
        };
        // Those on a line are named as left.
        if each && ended.is_some() && !text.is_reply() {
            let account = words::account(&text.author);
            let said = (&account, text.body.as_str(), &text.verb);
            self.threads.further.answer_beside(entry, number, key, (said, &text.names), right).await?;
        }
        let help = matches!(text.verb, Verb::Help) || ended.is_none() && words::asks_for_help(&text.body);
        match (&text.verb, ended) {
            (Verb::Unknown { word, why }, _) => {
                Ok(self.threads.own.unknown_to(entry, &text.author, (word, why.as_deref())).await)
            }
            _ if help => Ok(self.threads.own.help_to(entry, &text.author).await),
            (_, None) => Ok(message::no_task(login)),
            (Verb::Stop, Some(task)) => {
                self.remember_stop(entry, &task, text.number).await?;
                self.about_ended(&task, login, &text.verb).await
            }
            (verb, Some(task)) => self.about_ended(&task, login, verb).await,
        }
    }

    /// The newest task of this issue or pull request, which has ended.
    async fn ended(&self, entry: &Repository, number: u64) -> Result<Option<Task>, Trouble> {
        let Some(row) = self.store.newest_task_of(&entry.key, number).await? else { return Ok(None) };
        let task = self.machine.look(TaskId(row.id)).await?;
        Ok(Some(task).filter(|task| task.state.ended() && task.request.is_some()))
    }

    async fn about_ended(&self, task: &Task, login: &str, verb: &Verb) -> Result<String, Trouble> {
        let about = About { task, pull_url: None, scripted: false, line: None };
        Ok(match verb {
            Verb::Status => message::status(&about),
            Verb::Cost => {
                let log: Vec<Event> = self.store.log(task.id).await?.into_iter().map(|(_, event)| event).collect();
                message::cost(&about, &message::sums(&log))
            }
            other => message::over_for(login, other.command().unwrap_or_default(), &about),
        })
    }

    /// Stores the number of a `/stop` that ended nothing, so that no older text begins a task behind it ([`Reader::overtaken`]).
    async fn remember_stop(&self, entry: &Repository, task: &Task, number: i64) -> Result<(), Trouble> {
        let name = stops(entry, task);
        if self.store.watermark(&name).await?.is_none_or(|newest| newest < number) {
            self.store.set_watermark_of(&entry.key, &name, number).await?;
        }
        Ok(())
    }

    /// Tells who may write which commands of a review's inline comments are not carried out.
    pub(super) async fn answer_lines(
        &self,
        entry: &Repository,
        number: u64,
        text: &Text,
        key: &str,
    ) -> Result<(), Trouble> {
        // Told by a task that has ended since, before it took up the text itself.
        if self.store.knows_input(&beside_key(key)).await? {
            return Ok(());
        }
        // The key of the text itself belongs to its own command.
        let own = if matches!(text.verb, Verb::Say { .. }) { key.to_owned() } else { format!("{key}~lines") };
        let answer = message::left_in_lines(&text.author.login, &text.left);
        let first = text.left.first().map_or("", String::as_str);
        self.answer_or_refuse(entry, number, (text, first), (&own, &answer)).await
    }

    /// Answers somebody who may write; others are refused the command of this name, once on an issue or pull request.
    pub(super) async fn answer_or_refuse(
        &self,
        entry: &Repository,
        number: u64,
        (text, name): (&Text, &str),
        (key, answer): (&str, &str),
    ) -> Result<(), Trouble> {
        if self.threads.accounts.right(entry, &text.author, &mut HashMap::new()).await? >= Access::Write {
            return self.threads.answers.answer_once(entry, number, key, answer).await;
        }
        let refused = message::refused(&text.author.login, name);
        self.threads.answers.refuse_once(entry, number, key, text.asks(name), &refused).await
    }

    /// Why a task of this kind does not begin on this issue or pull request, as it is answered; none where it may.
    pub(super) fn begins_elsewhere(&self, (kind, text): (TaskKind, &Text), issue: &Issue) -> Option<String> {
        let login = text.author.login.as_str();
        let barred = |why| Some(message::not_reviewed(login, kind.name(), why));
        match (kind.begins_on(issue.is_pull), issue.is_pull) {
            (_, true) if text.own.is_some() => Some(message::starts_elsewhere(login, true)),
            (false, false) => barred(NotReviewed::NoPull),
            // A question has its place in an issue, too.
            (true, true) if kind == TaskKind::Explain && (issue.author.id == self.me || !issue.open) => {
                barred(NotReviewed::InAnIssue)
            }
            (true, true) if issue.author.id == self.me => barred(NotReviewed::Own),
            (true, true) if !issue.open => barred(NotReviewed::Closed),
            (false, true) => Some(message::starts_elsewhere(login, true)),
            (true, false) if !issue.open => Some(message::starts_elsewhere(login, false)),
            (true, true) | (true, false) => None,
        }
    }

    /// As it is answered, why a text begins no task that was written before the newest task of its issue began, or was ended, or before a
    /// `/stop` that found no task at work: read in time, it would have begun before that one, or been ended as well; or that is a `/retry` from
    /// before the newest attempt could be seen. The pages of an issue's attempts are read each by itself.
    pub(super) async fn overtaken(
        &self,
        entry: &Repository,
        number: u64,
        text: &Text,
    ) -> Result<Option<String>, Trouble> {
        if !text.may_begin() || text.edited {
            return Ok(None);
        }
        let Some(here) = self.store.newest_task_of(&entry.key, number).await? else { return Ok(None) };
        let Some(task) = self.ended(entry, here.issue.unsigned_abs()).await? else { return Ok(None) };
        let began = task.request.as_ref().map_or(0, |request| request.number);
        let ended = if let Some(End::Cancelled { number, .. }) = task.end() { *number } else { 0 };
        let stop = self.store.watermark(&stops(entry, &task)).await?.unwrap_or(0);
        if text.number < began.max(ended).max(stop) {
            let about = About { task: &task, pull_url: None, scripted: false, line: None };
            return Ok(Some(message::overtaken(&text.author.login, text.command_name(), &about)));
        }
        if !matches!(text.verb, Verb::Retry { .. }) {
            return Ok(None);
        }
        self.threads.retries.just_begun(&task, text.number, &text.author.login).await
    }

    /// On the pull request of an ended task while another attempt is at work: tells an author with write access where that is.
    pub(super) async fn works_elsewhere(
        &self,
        entry: &Repository,
        number: u64,
        text: &Text,
        key: &str,
    ) -> Result<bool, Trouble> {
        let Some(ended) = self.store.newest_task_of(&entry.key, number).await? else { return Ok(false) };
        let issue = ended.issue.unsigned_abs();
        let Some(live) = self.store.live_task_of(&entry.key, issue).await? else { return Ok(false) };
        if self.threads.accounts.right(entry, &text.author, &mut HashMap::new()).await? < Access::Write {
            return Ok(false);
        }
        let denied = self.deny_at_once(entry, number, text, key).await?;
        let answer = message::at_work_elsewhere(&text.author.login, live.id, issue);
        let answer = joined([answer].into_iter().chain(denied));
        self.threads.answers.answer_once(entry, number, key, &answer).await?;
        Ok(true)
    }
}

/// The name of the watermark with the newest `/stop` about a task's issue.
fn stops(entry: &Repository, task: &Task) -> String {
    format!("{STOPS}{}#{}", entry.key, task.request.as_ref().map_or(0, |request| request.issue))
}

/// The command that a text gives, without its slash.
fn name(text: &Text) -> &str {
    match &text.verb {
        Verb::Unknown { word, .. } => word,
        _ => text.command_name(),
    }
}

/// Whether it takes the right to write. A command that is written wrongly takes the right that it takes otherwise.
fn takes_write(verb: &Verb) -> bool {
    match verb {
        Verb::Unknown { word, .. } => spec(word).is_some_and(|spec| spec.who == Who::Writer),
        verb => verb.least() >= Access::Write,
    }
}
