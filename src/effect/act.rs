//! Carries out one action in the sandbox. Never repeated: the runner runs an id at most once, and after an interruption the action is
//! reported as interrupted. A candidate (`Action::Try`) gets a sandbox of its own, which is thrown away; a file to summarize is read by the
//! host (`file_summary.rs`).

use super::checks::{Checks, apart};
use super::egress::Egress;
use super::images::listed;
use super::lifecycle::Lifecycle;
use super::permission::Rulebook;
use super::pictures::Pictures;
use super::policy::RepositoryPolicy;
use super::repository::{Repositories, base, head};
use super::summarizer::Summarizer;
use crate::message::not_shown;
use crate::policy::{Ruling, secrets};
use crate::redact::{redacted, without};
use crate::sandbox::{SandboxError, Sandboxes};
use crate::store::Store;
use crate::text;
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{Action, Input, IssueCheck, NewFile, Outcome, OutcomeStatus, Task, Touched};
use protocol::runner::Status;
use protocol::touched::{MOST_BYTES, MOST_CHANGES, MOST_READ};
use std::sync::Arc;

/// How often a candidate whose run was cut off is run again.
const MOST_TRIES: i64 = 5;
/// The most characters kept of the runner's remark about what it could not observe.
const SENTENCE: usize = 300;

/// Checks and carries out single actions.
pub(super) struct Actions {
    pub store: Store,
    pub sandboxes: Arc<Sandboxes>,
    pub repositories: Arc<Repositories>,
    pub egress: Arc<Egress>,
    pub checks: Arc<Checks>,
    pub lifecycle: Arc<Lifecycle>,
    pub pictures: Arc<Pictures>,
    pub rulebook: Rulebook,
    pub summarizer: Arc<Summarizer>,
}

impl Actions {
    /// Checks and carries out an action. `permitted`: a person permitted it, so that no rule asks again.
    pub(super) async fn act(
        &self,
        task: &Task,
        number: u32,
        action: &Action,
        permitted: bool,
        (tries, feed): (i64, &dyn Feed),
    ) -> Result<Input, Trouble> {
        let operators = self.repositories.operators(task)?;
        listed(task, &operators)?;
        if let Action::Try { files, command, check } = action {
            // The copy is thrown away, so a person is asked only once one of its candidates is written.
            let written = Action::WriteFiles { files: files.clone() };
            if let Ruling::Deny(reason) = self.rulebook.ruled(task, &operators, number, &written).await? {
                return Ok(denied(number, reason));
            }
            return self.try_out(task, number, (files, command, check.as_deref()), tries).await;
        }
        // Not at the first action, because a task with one action may leave no tree to capture.
        if task.used > 1 {
            self.lifecycle.warm(task)?;
        }
        // What the runner has from an earlier try ran or runs, and may not be said to be denied by rules that are newer.
        let begun = tries > 0 && self.sandboxes.actions.has_begun(task.id.0, u64::from(number)).await?;
        if !begun && let Some(ended) = self.judged(task, &operators, (number, action), permitted).await? {
            return Ok(ended);
        }
        if let Action::Summarize { path, from } = action {
            return self.summarize(task, number, (path, *from), (tries, feed)).await;
        }
        if !operators.networked() {
            self.egress.cut_off(task.id).await?;
        } else if self.sandboxes.egress.is_cut_off(task.id.0) {
            // The rules could not be made at the process's start, so the sandbox was cut off then.
            self.egress.reach(task, &self.repositories.policy(task, &base(task)?).await?).await?;
            self.sandboxes.of_tasks.open(task.id.0).await?;
        }
        let limits = operators.action_limits();
        let acted = self.sandboxes.actions.act(task.id.0, u64::from(number), action, limits).await?;
        match acted.lost {
            Some(loss) => Err(SandboxError::Gone(loss).into()),
            None => {
                let looked_at = acted.outcome.picture.is_some();
                let mut outcome = outcome(acted.outcome);
                if looked_at {
                    self.pictures.keep_read(task, action, acted.picture, &mut outcome).await?;
                }
                Ok(Input::ActionEnded { number, outcome })
            }
        }
    }

    /// What becomes of an action that may not run as it is; none where it may.
    async fn judged(
        &self,
        task: &Task,
        operators: &RepositoryPolicy<'_>,
        (number, action): (u32, &Action),
        permitted: bool,
    ) -> Result<Option<Input>, Trouble> {
        let refused = match self.rulebook.ruled(task, operators, number, action).await? {
            Ruling::Deny(reason) => Some(reason),
            Ruling::Ask(reason) if !permitted => {
                let credential = matches!(secrets::judge(action, operators.networked()), Ruling::Ask(_));
                match not_shown(action, credential) {
                    Some(why) => Some(format!("{reason}: a person would have to permit it, and {why}")),
                    None => return Ok(Some(Input::PermissionAsked { number, reason })),
                }
            }
            Ruling::Ask(_) | Ruling::Allow => self.guarded(task, action).await?,
        };
        Ok(refused.map(|reason| denied(number, reason)))
    }

    /// Runs a candidate in a copy of the last commit that is thrown away; unlike other actions this may be repeated.
    async fn try_out(
        &self,
        task: &Task,
        number: u32,
        (files, command, check): (&[NewFile], &str, Option<&IssueCheck>),
        tries: i64,
    ) -> Result<Input, Trouble> {
        let commit = head(task)?;
        let mut spec = self.checks.spec(task, &commit, tries).await?;
        spec.command = Some(command.to_owned());
        match self.sandboxes.candidates.try_out(&spec, files, check, number).await {
            Ok((ran, mut examples)) => {
                examples.iter_mut().for_each(|example| example.seen = without(std::mem::take(&mut example.seen)));
                Ok(Input::ActionEnded { number, outcome: Outcome { examples, ..outcome(ran) } })
            }
            // A candidate that takes its sandbox down every time has failed.
            Err(SandboxError::Unavailable(reason)) if tries >= MOST_TRIES => {
                let status = OutcomeStatus::Failed { reason };
                let outcome = Outcome::new(status, "");
                Ok(Input::ActionEnded { number, outcome })
            }
            Err(error) => Err(apart(error)),
        }
    }
}

fn denied(number: u32, reason: String) -> Input {
    Input::ActionEnded { number, outcome: Outcome::new(OutcomeStatus::Denied { reason }, "") }
}

fn places(count: usize) -> String {
    if count == 1 { "1 place is".to_owned() } else { format!("{count} places are") }
}

pub(super) fn outcome(from: protocol::runner::Outcome) -> Outcome {
    let status = match from.status {
        Status::Ok => OutcomeStatus::Ok,
        Status::Exited { code } => OutcomeStatus::Exited { code },
        Status::Signaled { signal } => OutcomeStatus::Signaled { signal },
        Status::TimedOut => OutcomeStatus::TimedOut,
        Status::OutOfMemory => OutcomeStatus::OutOfMemory,
        Status::OutOfPids => OutcomeStatus::OutOfPids,
        Status::DiskFull => OutcomeStatus::DiskFull,
        Status::DiskSpent { what } => OutcomeStatus::DiskSpent { what: without(what) },
        Status::Failed { reason } => OutcomeStatus::Failed { reason: without(reason) },
        Status::Cancelled => OutcomeStatus::Interrupted,
    };
    // Secrets are removed before the text reaches log, model or forge.
    let (text, left_out) = redacted(&from.text);
    let hidden = (left_out > 0).then(|| {
        format!("{} left out of this, for they look like credentials; the files hold them themselves", places(left_out))
    });
    let notes: Vec<String> = from.note.map(without).into_iter().chain(hidden).collect();
    Outcome {
        dropped_bytes: from.dropped_bytes,
        duration_ms: from.duration_ms,
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        whole: from.whole.map(without),
        touched: from.touched.map(|all| Box::new(touched(all))),
        ..Outcome::new(status, text.into_owned())
    }
}

/// Limits the lists to the runner's own bounds, because a compromised sandbox does not keep to them.
fn touched(all: protocol::touched::Touched) -> Touched {
    let mut room = MOST_BYTES;
    let mut names = |list: Vec<String>, most: usize| {
        let fits = |name: &String| {
            let fits = name.len() <= room;
            room -= if fits { name.len() } else { 0 };
            fits
        };
        let of = list.len();
        let kept: Vec<String> = list.into_iter().take(most).filter(fits).map(without).collect();
        let cut = (of - kept.len()) as u64;
        (kept, cut)
    };
    let (created, cut) = names(all.created, MOST_CHANGES);
    let mut unnamed = all.unnamed.saturating_add(cut);
    let (changed, cut) = names(all.changed, MOST_CHANGES);
    unnamed = unnamed.saturating_add(cut);
    let (deleted, cut) = names(all.deleted, MOST_CHANGES);
    unnamed = unnamed.saturating_add(cut);
    let (read, cut) = names(all.read, MOST_READ);
    let unseen = all.unseen.map(|said| text::cut(&without(said), SENTENCE).0.to_owned());
    let read_unnamed = all.read_unnamed.saturating_add(cut);
    Touched { created, changed, deleted, unnamed, ignored: all.ignored, read, read_unnamed, unseen }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;
    use protocol::runner::Outcome as Ran;

    #[test]
    fn what_the_host_holds_is_left_out_of_everything_that_a_sandbox_says() {
        let secret = Secret::random().unwrap().known();
        let (word, hex) = (secret.expose(), hex::encode(secret.expose()));
        let said = |what: &str| format!("{what} {word} {hex}");
        let ran = Ran {
            note: Some(said("note")),
            whole: Some(said("whole")),
            touched: Some(protocol::touched::Touched { created: vec![said("a")], ..Default::default() }),
            ..Ran::new(Status::Failed { reason: said("reason") }, said("text"))
        };
        let stored = serde_json::to_string(&outcome(ran)).unwrap();
        assert!(!stored.contains(word) && !stored.contains(&hex), "{stored}");
        assert_eq!(stored.matches(crate::secret::PLACE).count(), 10, "{stored}");
    }

    #[test]
    fn a_list_of_files_stays_within_its_bounds_whoever_made_it() {
        let many: Vec<String> = (0..5_000).map(|n| format!("{n:0100}")).collect();
        let all =
            protocol::touched::Touched { created: many.clone(), read: many, unnamed: u64::MAX, ..Default::default() };
        let kept = touched(all);
        let bytes: usize = kept.created.iter().chain(&kept.read).map(String::len).sum();
        assert!(bytes <= MOST_BYTES && kept.created.len() <= MOST_CHANGES, "{bytes}");
        assert_eq!((kept.unnamed, kept.changes()), (u64::MAX, u64::MAX));
    }
}
