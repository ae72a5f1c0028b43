//! Commands that are carried out beside whatever a task does: `/test-pr` and `/test-pr-bug` (`test_runs`), and `/sync`, here. Who: somebody
//! with write access to the code, looked at by the caller. Tests: `tests/stories/upstream.rs`.

use super::Threads;
use crate::config::process::Repository;
use crate::message::synced;
use crate::trouble::Trouble;
use crate::upstream::{SyncError, Synced};
use domain::Verb;
use std::time::Duration;

/// How long a reading waits for it; it goes on by itself.
const PATIENCE: Duration = Duration::from_secs(60);

impl Threads {
    /// Carries out what `login` asks for on this issue or pull request; `key` is the text's.
    pub async fn carry_out(
        &self,
        entry: &Repository,
        number: u64,
        key: &str,
        (login, verb): (&str, &Verb),
    ) -> Result<(), Trouble> {
        match verb {
            Verb::Sync => self.sync(entry, number, key, login).await,
            verb => self.test(entry, number, key, (login, verb)).await,
        }
    }

    /// Brings the repository in step, and answers what came of it. Cut before the
    /// answer is begun, it is done again, and finds what was brought already.
    async fn sync(&self, entry: &Repository, number: u64, key: &str, login: &str) -> Result<(), Trouble> {
        let done = self.brought(entry).await?;
        self.answer_once(entry, number, key, &synced(login, &entry.key, &done)).await
    }

    async fn brought(&self, entry: &Repository) -> Result<Result<Option<Synced>, String>, Trouble> {
        let Some(upstreams) = &self.upstreams else {
            return Ok(Err("the bot has no account of its own for that (forge.sync_token_file).".to_owned()));
        };
        let (upstreams, own, at) = (upstreams.clone(), entry.clone(), self.place(entry)?);
        let work = tokio::spawn(async move { upstreams.sync(&own, &at).await });
        Ok(match tokio::time::timeout(PATIENCE, work).await {
            Ok(Ok(done)) => done.map_err(|error| why(&error)),
            Ok(Err(panic)) => Err(format!("the bot itself failed: {panic}.")),
            Err(_) => {
                Err("it takes longer than a minute, and goes on; say `/sync` again to see what came of it.".to_owned())
            }
        })
    }
}

/// For whoever asked: a sentence.
fn why(error: &SyncError) -> String {
    format!("{}. Say `/sync` again once that is mended.", error.to_string().trim_end_matches('.'))
}
