//! From the sandbox's tree to a branch and a pull request on the forge.

use super::facts::{facts, through, weaker};
use super::lifecycle::Lifecycle;
use super::listeners::Listeners;
use super::repository::{Repositories, Repository, branch, request};
use crate::config::Process;
use crate::forge::{Account, Forge, ForgeError, NewPull, PullEdit, PullRequest};
use crate::git::{Meaning, PushSpec, Pushed};
use crate::message;
use crate::redact::{redacted_diff, without};
use crate::sandbox::{CaptureSpec, Captured, SandboxError, Sandboxes};
use crate::store::Store;
use crate::text::code;
use crate::thread::{Feed, Threads};
use crate::trouble::Trouble;
use domain::{CapturedTree, Commit, Input, Task, Why};
use std::sync::Arc;
use std::time::Duration;

/// The forge's API may see a new branch only after a delay.
const PULL_TRIES: u32 = 50;
const PULL_WAIT: Duration = Duration::from_millis(200);
/// Numbers of captures of suspended sandboxes begin here, above those of checkpoints.
const KEPT_FROM: u32 = 1_000_000;

/// Captures trees from sandboxes, and pushes them to the forge.
pub(super) struct Publisher {
    pub config: Arc<Process>,
    pub forge: Arc<dyn Forge>,
    /// The bot's own account.
    pub me: Account,
    pub store: Store,
    pub threads: Arc<Threads>,
    pub sandboxes: Arc<Sandboxes>,
    pub repositories: Arc<Repositories>,
    pub lifecycle: Arc<Lifecycle>,
    /// Looks for others that would receive a push.
    pub listeners: Arc<Listeners>,
}

impl Publisher {
    pub(super) async fn capture(&self, task: &Task, n: u32, why: Why, feed: &dyn Feed) -> Result<Input, Trouble> {
        let repository = self.repositories.of(task)?;
        let message = message::commit(request(task)?.issue, n, why == Why::Done);
        let spec = self.capture_spec(task, n, message, self.started_at(task, n).await?).await?;
        let parent = spec.segment.parent.clone();
        let (captured, ()) =
            tokio::join!(self.sandboxes.captures.capture(&spec), self.listeners.look_ahead(&repository));
        let captured = match captured {
            // The sandbox was suspended or lost, and everything done in it is in commits.
            Err(SandboxError::Gone(_)) if task.can_be_remade() => {
                self.lifecycle.make_anew(task).await?;
                self.sandboxes.captures.capture(&spec).await
            }
            captured => captured,
        };
        let captured = captured?;
        if let Some(commit) = finished(&captured, why, &parent) {
            self.take_artifacts(task, n, commit, feed).await?;
        }
        Ok(match captured {
            Captured::Commit { commit, files, diff, diff_cut, mut steering, left_out } => {
                self.repositories.lend(task, &commit).await?;
                let key = &spec.segment.repo_key;
                let repos = &self.repositories.repos;
                let changes = Arc::new(repos.changes(key, &parent, &commit).await?);
                let through = through(repos, key, &commit, &changes).await?;
                let facts = facts(repos, key, (&parent, &commit), &changes, &through).await?;
                // Tests may also stand in a source file, whose path does not tell.
                let unknown = |path: &&str| !steering.iter().any(|known| known == path);
                let within: Vec<String> = weaker(&facts).filter(unknown).map(str::to_owned).collect();
                steering.extend(within);
                let (diff, outside) = (redacted_diff(&diff), self.repositories.outside(task, &commit).await?);
                let marked = self.repositories.marked(task, &commit).await?;
                let tree = CapturedTree { commit, files, diff, diff_cut, steering, left_out, outside, marked, facts };
                Input::TreeCaptured { n, tree }
            }
            Captured::Unchanged { left_out } => Input::TreeUnchanged { n, commit: parent, left_out },
            Captured::Refused { reasons } => {
                Input::TreeRefused { n, reasons: reasons.into_iter().map(without).collect() }
            }
        })
    }

    /// Captures what no checkpoint contains into a commit that stays on this host, so that the sandbox can be made anew from it.
    pub(super) async fn keep(&self, task: &Task, serial: u32) -> Result<Input, Trouble> {
        if task.state.busy() {
            return Ok(Input::WorkNotKept { reasons: Vec::new() });
        }
        // The serial is the number of the event that asked for this, so that a repeated try makes the same commit.
        let log = self.store.log(task.id).await?;
        let at = log.get((serial as usize).saturating_sub(1)).map_or(0, |(at, _)| *at);
        let message = message::kept(request(task)?.issue);
        let spec = self.capture_spec(task, KEPT_FROM.saturating_add(serial), message, at).await?;
        let parent = spec.segment.parent.clone();
        Ok(match self.sandboxes.captures.capture(&spec).await? {
            Captured::Commit { commit, .. } => {
                self.repositories.lend(task, &commit).await?;
                Input::WorkKept { commit }
            }
            Captured::Unchanged { .. } => Input::WorkKept { commit: parent },
            Captured::Refused { reasons } => Input::WorkNotKept { reasons: reasons.into_iter().map(without).collect() },
        })
    }

    async fn capture_spec(&self, task: &Task, n: u32, message: String, date_ms: i64) -> Result<CaptureSpec, Trouble> {
        let segment = self.lifecycle.segment(task, n)?;
        let policy = self.repositories.policy(task, &segment.base).await?;
        Ok(CaptureSpec { segment, message, date_ms, protected: policy.effective.protected })
    }

    /// Unix milliseconds at which publishing began, from the log, so that a repeated capture makes the same commit.
    async fn started_at(&self, task: &Task, n: u32) -> Result<i64, Trouble> {
        let log = self.store.log(task.id).await?;
        let began = |event: &domain::Event| matches!(event, domain::Event::PublishStarted { n: at, .. } if *at == n);
        let at = log.iter().rev().find(|(_, event)| began(event)).map_or(0, |(at, _)| *at);
        Ok(at)
    }

    pub(super) async fn push(&self, task: &Task, n: u32, new: &Commit, old: Option<&Commit>) -> Result<Input, Trouble> {
        let repository = self.repositories.of(task)?;
        self.listeners.nobody_now(&repository).await?;
        let branch = branch(task)?;
        let spec = PushSpec {
            url: &repository.url,
            auth: Some(&self.repositories.auth),
            branch: &branch,
            new,
            expected_old: old,
        };
        match self.repositories.repos.push(&repository.key, spec).await {
            Ok(Pushed::Done) => Ok(Input::Pushed { n, commit: new.clone() }),
            Ok(Pushed::Moved { found }) => {
                Err(Trouble::blocked(message::branch_moved(branch.as_str(), found.as_ref(), old)))
            }
            // The forge's words may not be among git's last ones.
            Err(error) if task.replaces && error.meaning() == Meaning::Lasting => {
                Err(Trouble::blocked(message::not_replaced(&error.to_string(), &repository.key)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// An error for a person if somebody deleted or moved the branch since the last push, because waiting does not bring it back.
    async fn branch_stands(&self, task: &Task) -> Result<(), Trouble> {
        let Some(pushed) = &task.pushed else { return Ok(()) };
        // What is there already is not pushed again, and where it is not, the lease refuses.
        self.push(task, 0, pushed, Some(pushed)).await.map(drop)
    }

    /// Opens the draft pull request, or finds the one an earlier try opened.
    pub(super) async fn open_pull(&self, task: &Task, ambiguous: bool) -> Result<Input, Trouble> {
        let repository = self.repositories.of(task)?;
        let request = request(task)?;
        if ambiguous && let Some(found) = self.own_pull(&repository.at, task).await? {
            return opened(&found);
        }
        let new = NewPull {
            title: message::pull_title(&request.title),
            body: message::pull_body(request.issue, task.id.0, &task.steps, request.earlier.as_ref()),
            head: request.branch.clone(),
            base: request.base_branch.clone(),
        };
        for _ in 0..PULL_TRIES {
            match self.forge.open_pull(&repository.at, &new).await {
                Ok(pull) => {
                    self.ask_for_review(&repository.at, pull.number, &request.asker.login).await;
                    return opened(&pull);
                }
                // Right after the push the API may not see the branch yet.
                Err(ForgeError::NotFound(_)) => tokio::time::sleep(PULL_WAIT).await,
                Err(refused @ ForgeError::Conflict(_)) => {
                    let found = self.own_pull(&repository.at, task).await?;
                    return found.map_or_else(|| Err(refused.into()), |pull| opened(&pull));
                }
                Err(other) => return Err(other.into()),
            }
        }
        self.branch_stands(task).await?;
        self.takes_pulls(&repository, &request.base_branch).await?;
        Err(Trouble::later("the forge does not see the pushed branch yet"))
    }

    /// An error for a person where something else is missing than the branch, of which the forge says no more: waiting does not bring it.
    async fn takes_pulls(&self, repository: &Repository, base: &str) -> Result<(), Trouble> {
        let key = &repository.key;
        match self.forge.lists(&repository.at, true).await {
            Ok(()) => {}
            Err(ForgeError::NotFound(_) | ForgeError::Forbidden(_)) => {
                return Err(Trouble::blocked(format!(
                    "no pull request can be opened: those of {key} are switched off, or the bot may not read them. Switch them on in its settings on the forge, and say `/resume`"
                )));
            }
            Err(other) => return Err(other.into()),
        }
        if self.forge.branch(&repository.at, base).await?.is_none() {
            return Err(Trouble::blocked(format!(
                "no pull request can be opened: {key} has no branch {} any more, to which it would go. Put it back, and say `/resume`",
                code(base)
            )));
        }
        Ok(())
    }

    /// The pull request of our own account from this repository, not one of a fork with the same branch name.
    async fn own_pull(&self, at: &crate::forge::RepoRef, task: &Task) -> Result<Option<PullRequest>, Trouble> {
        let branch = &request(task)?.branch;
        let ours = |pull: &PullRequest| {
            pull.author.id == self.me.id && pull.head_repo.as_deref().is_none_or(|name| name == at.to_string())
        };
        Ok(self.forge.pulls_of_branch(at, branch).await?.into_iter().find(ours))
    }

    /// Asks the task's requester for review. Failing to do so does not stop the task.
    async fn ask_for_review(&self, at: &crate::forge::RepoRef, number: u64, login: &str) {
        if let Err(error) = self.forge.request_review(at, number, login).await {
            tracing::warn!(%error, number, login, "the asker could not be asked for review");
        }
    }

    pub(super) async fn close_pull(&self, task: &Task) -> Result<Input, Trouble> {
        let repository = self.repositories.of(task)?;
        let pull = match task.pull {
            Some(number) => Some(self.forge.pull(&repository.at, number).await?),
            // The task may have ended before the number of one that was being opened could be recorded.
            None => self.own_pull(&repository.at, task).await?,
        };
        if let Some(pull) = pull.filter(|pull| pull.open) {
            let edit = PullEdit { open: Some(false), ..PullEdit::default() };
            self.forge.edit_pull(&repository.at, pull.number, &edit).await?;
        }
        Ok(Input::Settled)
    }

    /// Removes the draft prefix from the title, unless somebody changed it.
    pub(super) async fn ready_pull(&self, task: &Task) -> Result<Input, Trouble> {
        let repository = self.repositories.of(task)?;
        if let Some(number) = task.pull {
            let pull = self.forge.pull(&repository.at, number).await?;
            if let Some(title) = pull.title.strip_prefix(message::DRAFT).filter(|_| pull.open) {
                let edit = PullEdit { title: Some(title.to_owned()), ..PullEdit::default() };
                self.forge.edit_pull(&repository.at, number, &edit).await?;
            }
        }
        Ok(Input::Settled)
    }

    /// Updates the check list in the pull request's text. The rest of the text belongs to people and stays; without the list's marks
    /// nothing is written.
    pub(super) async fn show_plan(&self, task: &Task) -> Result<Input, Trouble> {
        let repository = self.repositories.of(task)?;
        if let Some(number) = task.pull {
            let pull = self.forge.pull(&repository.at, number).await?;
            if let Some(body) = message::with_plan(&pull.body, &task.steps).filter(|_| pull.open) {
                let edit = PullEdit { body: Some(body), ..PullEdit::default() };
                self.forge.edit_pull(&repository.at, number, &edit).await?;
            }
        }
        Ok(Input::Settled)
    }
}

/// The commit of finished work; none at another checkpoint, or where there is none.
fn finished<'a>(captured: &'a Captured, why: Why, parent: &'a Commit) -> Option<&'a Commit> {
    match captured {
        Captured::Commit { commit, .. } => Some(commit),
        Captured::Unchanged { .. } => Some(parent),
        Captured::Refused { .. } => None,
    }
    .filter(|_| why == Why::Done)
}

fn opened(pull: &PullRequest) -> Result<Input, Trouble> {
    if !pull.open {
        return Err(Trouble::blocked(format!("pull request {} was closed; reopen it and say `/resume`", pull.number)));
    }
    Ok(Input::PullOpened { number: pull.number, url: pull.html_url.clone() })
}
