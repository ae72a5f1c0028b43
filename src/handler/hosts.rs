//! `/allow` and `/deny` in a text: what this installation knows of the host, and further hosts beside the text's strongest word.
//! Who: somebody with write access to the code, as for every decision. Effect: rules of the router, once the task machine has taken it up.
//! Where no task is at work, `/deny` takes back what was allowed for the repository; `/allow` is told where it counts.

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

/// How long until a router or a forge that is away is asked again.
const AGAIN: Duration = Duration::from_secs(2);

impl Reader {
    /// Takes up the hosts of a text where no task is at work; false when it names none. It is taken up once, the right is that of
    /// the moment, and nothing counts of a text that was edited: as for every decision.
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
            self.refuse_once(entry, number, key, &text.author, &message::refused(login, verb)).await?;
            return Ok(true);
        }
        for verb in &verbs {
            if self.barred(entry, number, key, text, (verb, right)).await? {
                return Ok(true);
            }
        }
        self.threads.answer_beside(entry, number, key, (login, &text.body, first), right, None).await?;
        let hosts: Vec<String> = verbs.iter().filter_map(denied).cloned().collect();
        let wish = TakeBack { input_key: key.to_owned(), repository: entry.key.clone(), hosts, now: now() };
        let Some(taken) = self.store.take_back(wish).await? else {
            // A try that was cut off, or another host, took them back: those that stand here follow.
            self.egress.reach_repository(&entry.key, None).await?;
            return Ok(true);
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
        Ok(true)
    }

    /// Brings the repository's running sandboxes to what is allowed now, then answers. Nobody waits for it: the router may be away
    /// for long. A life that is cut off before brings them there when the next one begins.
    fn answer_once_obeyed(&self, entry: &Repository, number: u64, answer: String, changed: bool) {
        let (egress, forge, key) = (self.egress.clone(), self.forge.clone(), entry.key.clone());
        let entry = entry.clone();
        tokio::spawn(caught("hosts taken back", async move {
            while changed && let Err(trouble) = egress.reach_repository(&key, None).await {
                tracing::warn!(?trouble, key, "running sandboxes still have hosts that were taken back; tried again");
                tokio::time::sleep(AGAIN).await;
            }
            loop {
                let posted = match egress.repositories.whereabouts.at(&entry) {
                    Ok(at) => forge.post_comment(&at, number, &answer).await,
                    Err(error) => Err(error),
                };
                match posted {
                    // Nothing was posted: again. Whatever else it is, twice would be worse than not at all.
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
