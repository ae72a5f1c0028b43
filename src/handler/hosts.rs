//! `/allow` and `/deny` in a text where no task is at work.
//! Who: somebody with write access to the code, as for every decision. Effect: `/deny` takes back what was allowed for the repository;
//! `/allow` is answered with where it counts.

use super::joined;
use super::left::SoFar;
use super::reader::Reader;
use super::start::Text;
use crate::clock::now;
use crate::config::process::Repository;
use crate::message;
use crate::store::TakeBack;
use crate::thread::words;
use crate::thread::{host_key, hosts_key, taken_key};
use crate::trouble::Trouble;
use domain::{Access, Task, Verb, names_grant};
use std::collections::HashMap;

impl Reader {
    /// Takes up the hosts of a text where no task is at work; false when it names none. As for every decision, it is taken up once, with
    /// the right that its author has now, and not at all if the text was edited.
    pub(super) async fn take_hosts(
        &self,
        entry: &Repository,
        number: u64,
        text: &Text,
        key: &str,
    ) -> Result<bool, Trouble> {
        let (login, verbs) = (&text.author.login, words::every_host(&text.body));
        let Some(first) = verbs.first() else { return Ok(false) };
        // Beside a command that is carried out whatever a task does, that one answers the rest.
        let apart = text.verb.is_apart();
        if text.edited {
            if !apart {
                self.threads.answers.answer_once(entry, number, key, &message::edited(login)).await?;
            }
            return Ok(true);
        }
        let right = self.threads.accounts.right(entry, &text.author, &mut HashMap::new()).await?;
        if right < Access::Write {
            let verb = if matches!(first, Verb::Allow { .. }) { "allow" } else { "deny" };
            let refused = message::refused(login, verb);
            self.threads.answers.refuse_once(entry, number, key, text.asks(verb), &refused).await?;
            return Ok(true);
        }
        let about = (text, key, right);
        let JudgedHosts { given, refused } = self.judged_hosts(entry, number, about, verbs.clone(), None).await?;
        if given.is_empty() {
            self.threads.answers.refuse_once(entry, number, key, text.asks_for(first), &refused.join("\n\n")).await?;
            return Ok(true);
        }
        // Before what is answered, which the forge may not take.
        let done = self.take_back(entry, number, (text, key), &given).await?;
        let answer = joined([done].into_iter().chain(refused));
        if !apart {
            let author = words::account(&text.author);
            let said = (&author, text.body.as_str(), given.first().unwrap_or(first));
            self.threads.further.answer_beside(entry, number, key, (said, &text.names), right).await?;
        }
        self.threads.answers.answer_once(entry, number, key, &answer).await?;
        Ok(true)
    }

    /// Judges each of these hosts of the text by itself: who may allow none may take one back. `key` is what the hosts are taken up by.
    async fn judged_hosts(
        &self,
        entry: &Repository,
        number: u64,
        (text, key, right): (&Text, &str, Access),
        hosts: Vec<Verb>,
        task: Option<&Task>,
    ) -> Result<JudgedHosts, Trouble> {
        let (author, mut judged) = (words::account(&text.author), JudgedHosts::default());
        for verb in hosts {
            match self.threads.groups.admits(entry, (&verb, &author, right), task).await? {
                Ok(_) => judged.given.push(verb),
                Err(whom) => {
                    let refused = message::not_among(&author.login, verb.command().unwrap_or_default(), &whom);
                    if !judged.refused.contains(&refused) {
                        let asking = text.asks_for(&verb);
                        self.threads.answers.audit.note_refused(entry, number, key, asking, &refused).await?;
                        judged.refused.push(refused);
                    }
                }
            }
        }
        Ok(judged)
    }

    /// Leaves a text for the thread's next reading. What it takes back from the repository waits for nobody.
    pub(super) async fn leave(
        &self,
        entry: &Repository,
        number: u64,
        (text, key): (&Text, &str),
        so_far: &mut SoFar,
    ) -> Result<(), Trouble> {
        so_far.begins |= text.may_begin();
        match self.deny_at_once(entry, number, text, key).await {
            Ok(_) => {}
            Err(moved @ Trouble::Moved { .. }) => return Err(moved),
            Err(trouble) => {
                so_far.takes_back = true;
                so_far.fails(trouble);
            }
        }
        Ok(())
    }

    /// Takes back at once what a text denies that waits, or that begins a task or not; the answer to it, none where its author may take nothing
    /// back. `key` is the text's.
    pub(super) async fn deny_at_once(
        &self,
        entry: &Repository,
        number: u64,
        text: &Text,
        key: &str,
    ) -> Result<Option<String>, Trouble> {
        // A line takes nothing back.
        let on_a_line = text.is_reply() || text.note.is_some();
        let mut verbs = words::every_host(&text.body);
        verbs.retain(|verb| denied(verb).is_some());
        if on_a_line || text.edited || verbs.is_empty() {
            return Ok(None);
        }
        let right = self.threads.accounts.right(entry, &text.author, &mut HashMap::new()).await?;
        if right < Access::Write {
            return Ok(None);
        }
        // As where the text itself is carried out, so that it is then answered with what was taken back here.
        let key = if text.verb.is_apart() { hosts_key(key) } else { key.to_owned() };
        let verbs = self.judged_hosts(entry, number, (text, &key, right), verbs, None).await?.given;
        if verbs.is_empty() {
            return Ok(None);
        }
        self.take_back(entry, number, (text, &key), &verbs).await.map(Some)
    }

    /// Answers what a text denies that is about to be refused. Before the refusal, which uses the text up and may be no answer to this text.
    pub(super) async fn answer_denied(
        &self,
        entry: &Repository,
        number: u64,
        text: &Text,
        key: &str,
    ) -> Result<(), Trouble> {
        match &text.denied {
            Some(answer) => self.threads.answers.answer_once(entry, number, &hosts_key(key), answer).await,
            None => Ok(()),
        }
    }

    /// Takes up the hosts of a `/retry` without a task at work: what it denies is taken back, whether an attempt begins or not. Returns what is
    /// answered if one begins; and if none does, where what it allows counts nowhere. What the task before took up of this text, which ended
    /// it, was answered there.
    pub(super) async fn hosts_of_retry(
        &self,
        entry: &Repository,
        number: u64,
        (text, right): (&Text, Access),
        key: &str,
        before: Option<&Task>,
    ) -> Result<(String, String), Trouble> {
        // Also what that task has taken up: it may have ended before.
        self.deny_at_once(entry, number, text, key).await?;
        let mut open = Vec::new();
        for (at, verb) in words::every_host(&text.body).into_iter().enumerate() {
            if !self.store.knows_input(&host_key(key, at)).await? {
                open.push(verb);
            }
        }
        let about = (text, key, right);
        let JudgedHosts { given, refused } = self.judged_hosts(entry, number, about, open, before).await?;
        let (denied, allowed): (Vec<Verb>, Vec<Verb>) = given.into_iter().partition(|verb| denied(verb).is_some());
        let mut parts = refused;
        if !denied.is_empty() {
            parts.insert(0, self.take_back(entry, number, (text, key), &denied).await?);
        }
        let begun = joined(parts.iter().cloned());
        let nowhere = |verb: &Verb| verb.host().map(|host| message::allowed_nowhere(&text.author.login, host));
        parts.extend(allowed.iter().filter_map(nowhere));
        Ok((begun, joined(parts)))
    }

    /// Takes back what the text denies, once, and brings the repository's running sandboxes to what is allowed now; the answer to it.
    ///
    /// # Errors
    /// While a router is unavailable: the answer says that nothing is reached any more.
    async fn take_back(
        &self,
        entry: &Repository,
        number: u64,
        (text, key): (&Text, &str),
        verbs: &[Verb],
    ) -> Result<String, Trouble> {
        let login = &text.author.login;
        let hosts: Vec<String> = verbs.iter().filter_map(denied).cloned().collect();
        let asked = text.asks("deny").on(entry, number, key);
        let wish = TakeBack { asked, input_key: taken_key(key), hosts, now: now() };
        // Of none nothing is noted: where somebody was refused by mistake, a second try may have more.
        let taken = if wish.hosts.is_empty() { Vec::new() } else { self.store.take_back(wish).await? };
        tracing::info!(repository = entry.key, source = %text.source, login, ?taken, "hosts, without a task");
        if !taken.is_empty() {
            self.egress.reach_repository(&entry.key, None).await?;
        }
        let of =
            |host: &String| -> Vec<String> { taken.iter().filter(|grant| names_grant(host, grant)).cloned().collect() };
        let answers = verbs.iter().map(|verb| match verb {
            Verb::Allow { host, .. } => message::allowed_nowhere(login, host),
            verb => denied(verb).map_or_else(String::new, |host| message::taken_back(login, host, &of(host))),
        });
        Ok(answers.collect::<Vec<_>>().join("\n\n"))
    }
}

impl Text {
    /// Why it begins nothing, with the answer to what it denies: one comment, because the first of two would use the text up.
    pub(super) fn with_denied(&self, answer: String) -> String {
        joined([answer].into_iter().chain(self.denied.clone()))
    }
}

/// The hosts of a text, each by itself.
#[derive(Default)]
struct JudgedHosts {
    /// Those that its author may allow or deny, in order.
    given: Vec<Verb>,
    /// What is answered to the others.
    refused: Vec<String>,
}

fn denied(verb: &Verb) -> Option<&String> {
    match verb {
        Verb::Deny { host, .. } => Some(host),
        _ => None,
    }
}
