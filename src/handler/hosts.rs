//! `/allow` and `/deny` in a text where no task is at work.
//! Who: somebody with write access to the code, as for every decision. Effect: `/deny` takes back what was allowed for the repository;
//! `/allow` is answered with where it counts.

use super::reader::Reader;
use super::start::Text;
use crate::clock::now;
use crate::config::process::Repository;
use crate::forge::ForgeError;
use crate::message;
use crate::store::TakeBack;
use crate::supervise::caught;
use crate::thread::words;
use crate::trouble::Trouble;
use domain::{Access, Verb};
use std::collections::HashMap;
use std::time::Duration;

/// Time until a router or forge that is unavailable is tried again.
const AGAIN: Duration = Duration::from_secs(2);

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
        // Before what else is answered, which the forge may not take. The text's own key is noted once that stands.
        self.take_back(entry, number, text, &verbs, key).await?;
        let author = words::account(&text.author);
        let said = (&author, text.body.as_str(), first);
        self.threads.answer_beside(entry, number, key, (said, &text.names), right).await?;
        self.store.note_input_of(&entry.key, key, now()).await?;
        Ok(true)
    }

    /// Takes back what the text denies, once, and answers.
    async fn take_back(
        &self,
        entry: &Repository,
        number: u64,
        text: &Text,
        verbs: &[Verb],
        key: &str,
    ) -> Result<(), Trouble> {
        let login = &text.author.login;
        let hosts: Vec<String> = verbs.iter().filter_map(denied).cloned().collect();
        let wish = TakeBack { input_key: format!("{key}~taken"), repository: entry.key.clone(), hosts, now: now() };
        let Some(taken) = self.store.take_back(wish).await? else {
            // An earlier attempt that was cut off, or another host, took them back: the sandboxes that stand here still have to follow.
            self.egress.reach_repository(&entry.key, None).await?;
            return Ok(());
        };
        tracing::info!(repository = entry.key, number, source = %text.source, login, ?taken, "hosts, without a task");
        let any = taken.iter().any(|grants| !grants.is_empty());
        let mut taken = taken.into_iter();
        let answers = verbs.iter().map(|verb| match verb {
            Verb::Allow { host, .. } => message::allowed_nowhere(login, host),
            verb => {
                let host = denied(verb).map_or("", String::as_str);
                message::taken_back(login, host, &taken.next().unwrap_or_default())
            }
        });
        self.answer_once_obeyed(entry, number, answers.collect::<Vec<_>>().join("\n\n"), any);
        Ok(())
    }

    /// Brings the repository's running sandboxes to what is allowed now, then answers. Runs in the background, because the router may be
    /// unavailable for long. After a restart the sandboxes are brought there at the start.
    fn answer_once_obeyed(&self, entry: &Repository, number: u64, answer: String, changed: bool) {
        let (egress, forge, key) = (self.egress.clone(), self.forge.clone(), entry.key.clone());
        let entry = entry.clone();
        tokio::spawn(caught("hosts taken back", async move {
            while changed && let Err(trouble) = egress.reach_repository(&key, None).await {
                tracing::warn!(?trouble, key, "running sandboxes still have hosts that were taken back; tried again");
                tokio::time::sleep(AGAIN).await;
            }
            loop {
                let posted = match egress.repositories.addresses.at(&entry) {
                    Ok(at) => forge.post_comment(&at, number, &answer).await,
                    Err(error) => Err(error),
                };
                match posted {
                    // Only an unavailable forge is retried; after other errors the comment may exist.
                    Err(ForgeError::Unavailable { .. }) => tokio::time::sleep(AGAIN).await,
                    Err(error) => break tracing::warn!(%error, key, number, "hosts were taken up, but not answered"),
                    Ok(_) => break,
                }
            }
        }));
    }
}

fn denied(verb: &Verb) -> Option<&String> {
    match verb {
        Verb::Deny { host, .. } => Some(host),
        _ => None,
    }
}
