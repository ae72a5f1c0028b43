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
        for verb in &verbs {
            if self.barred(entry, number, key, text, (verb, right)).await? {
                return Ok(true);
            }
        }
        // Before what is answered, which the forge may not take.
        let answer = self.take_back(entry, text, &verbs, key).await?;
        let author = words::account(&text.author);
        let said = (&author, text.body.as_str(), first);
        self.threads.answer_beside(entry, number, key, (said, &text.names), right).await?;
        self.threads.answer_once(entry, number, key, &answer).await?;
        Ok(true)
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

fn denied(verb: &Verb) -> Option<&String> {
    match verb {
        Verb::Deny { host, .. } => Some(host),
        _ => None,
    }
}
