//! Commands that are carried out beside whatever a task does: `/test-pr` and `/test-pr-bug` (`test_runs`), and `/sync`, here. Who: somebody
//! with write access to the code, looked at by the caller. Tests: `tests/stories/upstream.rs`.

use super::answer::Answers;
use super::audit::{Asking, Audit};
use super::test_runs::TestRequests;
use crate::config::Process;
use crate::config::process::Repository;
use crate::forge::RepositoryAddresses;
use crate::message::synced;
use crate::store::AuditOutcome;
use crate::trouble::Trouble;
use crate::upstream::{Synced, Upstreams};
use domain::{Account, Source, Verb};
use std::sync::Arc;
use std::time::Duration;

/// How long a reading waits for it: what else is said there waits as long. It goes on by itself.
const PATIENCE: Duration = Duration::from_secs(3);
/// Said then.
const UNDER_WAY: &str = "it is under way, and takes longer; `/sync` in a while says what came of it";

/// Carries them out.
pub struct CommandsApart {
    pub(super) config: Arc<Process>,
    pub(super) addresses: Arc<RepositoryAddresses>,
    /// What keeps repositories in step with their upstreams; none without an account for that.
    pub(super) upstreams: Option<Arc<Upstreams>>,
    pub(super) audit: Arc<Audit>,
    pub(super) answers: Arc<Answers>,
    /// Test runs that people ask for.
    pub tests: TestRequests,
}

impl CommandsApart {
    /// Carries out what `poster` asks for on this issue or pull request; `key` and `source` are the text's.
    pub async fn carry_out(
        &self,
        entry: &Repository,
        number: u64,
        key: &str,
        (poster, verb): (&Account, &Verb),
        source: &Source,
    ) -> Result<(), Trouble> {
        let command = verb.command().unwrap_or_default();
        let asking = Asking { id: poster.id, login: &poster.login, source, command };
        // Before it is carried out, also where a task is at work: no log has it.
        self.audit.note_decided(asking.on(entry, number, key), AuditOutcome::TakenUp, asked_for(verb)).await?;
        match verb {
            Verb::Sync => {
                tracing::info!(repository = entry.key, number, key, login = poster.login, id = poster.id, "/sync");
                self.sync(entry, number, key, &poster.login).await
            }
            Verb::TestOff => self.tests.test_off(entry, number, key, &poster.login).await,
            verb => self.tests.test(entry, number, key, (poster, verb)).await,
        }
    }

    /// Brings the repository in step, and answers what came of it. Cut before the answer is begun, it is done again, and finds what was
    /// brought already.
    async fn sync(&self, entry: &Repository, number: u64, key: &str, login: &str) -> Result<(), Trouble> {
        let done = self.brought(entry).await?;
        let label = self.config.upstream_label_of(&entry.key).filter(|_| matches!(done, Ok(Some(_))));
        if let Some(upstreams) = self.upstreams.as_ref().filter(|_| label.is_some()) {
            upstreams.ask_for_round(&entry.key);
        }
        self.answers.answer_once(entry, number, key, &synced(login, &entry.key, &done, label.as_deref())).await
    }

    async fn brought(&self, entry: &Repository) -> Result<Result<Option<Synced>, &'static str>, Trouble> {
        let Some(upstreams) = &self.upstreams else {
            return Ok(Err("the bot has no account for that (forge.sync_token_file)"));
        };
        // Another repository may have taken the name since the last round.
        let (at, entry) = (self.addresses.look(entry).await?, Arc::new(entry.clone()));
        Ok(match tokio::time::timeout(PATIENCE, upstreams.sync(&entry, at)).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                tracing::warn!(repository = entry.key, %error, "/sync could not be carried out");
                Err(error.brief())
            }
            Err(_) => Err(UNDER_WAY),
        })
    }
}

/// What is kept of it beside its name.
fn asked_for(verb: &Verb) -> &str {
    match verb {
        Verb::Test { command, .. } => command.as_str(),
        Verb::TestOff => "--off",
        _ => "",
    }
}
