//! `/allow` and `/deny` in a text where no task is at work.
//! Who: somebody with write access to the code, as for every decision. Effect: `/deny` takes back what was allowed for the repository;
//! `/allow` is answered with where it counts.

use super::reader::Reader;
use super::start::Text;
use crate::clock::now;
use crate::config::process::Repository;
use crate::message;
use crate::store::TakeBack;
use crate::thread::words;
use crate::trouble::Trouble;
use domain::{Access, Verb};
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
        if text.edited {
            self.threads.answer_once(entry, number, key, &message::edited(login)).await?;
            return Ok(true);
        }
        let right = self.threads.right(entry, &text.author, &mut HashMap::new()).await?;
        if right < Access::Write {
            let verb = if matches!(first, Verb::Allow { .. }) { "allow" } else { "deny" };
            self.threads.refuse_once(entry, number, key, text.author.id, &message::refused(login, verb)).await?;
            return Ok(true);
        }
        let JudgedHosts { given, refused } = self.judged_hosts(entry, text, right).await?;
        if given.is_empty() {
            self.threads.refuse_once(entry, number, key, text.author.id, &refused.join("\n\n")).await?;
            return Ok(true);
        }
        // Before what is answered, which the forge may not take.
        let done = self.take_back(entry, text, &given, key).await?;
        let answer = [done].into_iter().chain(refused).collect::<Vec<_>>().join("\n\n");
        let author = words::account(&text.author);
        let said = (&author, text.body.as_str(), first);
        self.threads.answer_beside(entry, number, key, (said, &text.names), right).await?;
        self.threads.answer_once(entry, number, key, &answer).await?;
        Ok(true)
    }

    /// Judges each host of the text by itself: who may allow none may take one back.
    async fn judged_hosts(&self, entry: &Repository, text: &Text, right: Access) -> Result<JudgedHosts, Trouble> {
        let (author, mut judged) = (words::account(&text.author), JudgedHosts::default());
        for verb in words::every_host(&text.body) {
            match self.threads.admits(entry, (&verb, &author, right), None).await? {
                Ok(_) => judged.given.push(verb),
                Err(whom) => {
                    let name = verb.command().unwrap_or_default();
                    judged.refused.push(message::not_among(&author.login, name, &whom));
                }
            }
        }
        judged.refused.dedup();
        Ok(judged)
    }

    /// Takes up the hosts of a `/retry` for which no attempt has begun yet: what it denies is taken back, whether one begins or not. Returns
    /// what is answered if one begins, and if none does, where what it allows would count nowhere.
    pub(super) async fn hosts_of_retry(
        &self,
        entry: &Repository,
        (text, right): (&Text, Access),
        key: &str,
    ) -> Result<(String, String), Trouble> {
        let JudgedHosts { given, refused } = self.judged_hosts(entry, text, right).await?;
        let (denied, allowed): (Vec<Verb>, Vec<Verb>) = given.into_iter().partition(|verb| denied(verb).is_some());
        let mut parts = refused;
        if !denied.is_empty() {
            parts.insert(0, self.take_back(entry, text, &denied, key).await?);
        }
        let begun = parts.join("\n\n");
        parts.extend(allowed.iter().filter_map(|verb| match verb {
            Verb::Allow { host, .. } => Some(message::allowed_nowhere(&text.author.login, host)),
            _ => None,
        }));
        Ok((begun, parts.join("\n\n")))
    }

    /// Takes back what the text denies, once, and brings the repository's running sandboxes to what is allowed now; the answer to it.
    ///
    /// # Errors
    /// While a router is unavailable: the answer says that nothing is reached any more.
    async fn take_back(&self, entry: &Repository, text: &Text, verbs: &[Verb], key: &str) -> Result<String, Trouble> {
        let login = &text.author.login;
        let hosts: Vec<String> = verbs.iter().filter_map(denied).cloned().collect();
        let wish = TakeBack { input_key: format!("{key}~taken"), repository: entry.key.clone(), hosts, now: now() };
        let taken = self.store.take_back(wish).await?;
        tracing::info!(repository = entry.key, source = %text.source, login, ?taken, "hosts, without a task");
        if !taken.is_empty() {
            self.egress.reach_repository(&entry.key, None).await?;
        }
        let of = |host: &String| -> Vec<String> {
            let with_port = format!("{host}:");
            taken.iter().filter(|grant| *grant == host || grant.starts_with(&with_port)).cloned().collect()
        };
        let answers = verbs.iter().map(|verb| match verb {
            Verb::Allow { host, .. } => message::allowed_nowhere(login, host),
            verb => denied(verb).map_or_else(String::new, |host| message::taken_back(login, host, &of(host))),
        });
        Ok(answers.collect::<Vec<_>>().join("\n\n"))
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
