//! `caisson fetch`: brings an approved branch into a developer's clone, judged before the first write.
//!
//! Owns the order of steps: ask the bot what was approved ([`ApprovedSource`]), check that the approval still holds on the forge, fetch
//! exactly that object, judge what it would write (`judge.rs`), check that no uncommitted change is in the way (`obstacles.rs`), and only
//! then write. A refusal leaves the clone unchanged. All git is in `git::Home`. Must not know the store or a forge. Tests: beside each
//! file, and `tests/trees.rs`.

pub mod judge;
mod obstacles;
mod propose;
mod upstream_ci;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use domain::{Commit, UpstreamChecks, Verdict, VerdictCase};

use crate::git::listing::Change;
use crate::git::{Auth, Branch, GitError, Home, Meaning, Merged, RemoteUrl, Tree, Uncommitted};
use crate::text::shell_word;
use crate::upstream::OpenPull;
use judge::Findings;
use propose::Proposal;
pub use propose::{Propose, Source};
pub use upstream_ci::{Pace, UpstreamCi};

/// The bot's information about a branch of one of its tasks.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The task's number.
    pub task: i64,
    /// Key of its repository.
    pub repository: String,
    /// The title of the task's issue. Untrusted.
    pub title: String,
    /// The task's own branch.
    pub branch: Branch,
    /// Address of the repository with the branch, as this machine reaches the forge.
    pub url: RemoteUrl,
    /// Credential for `url`; none = git connects without one.
    pub auth: Option<Auth>,
    /// The commit of the default branch the task started from.
    pub base: Commit,
    /// The newest commit the bot published.
    pub newest: Commit,
    /// The newest final approval, if one was given and used.
    pub approved: Option<Approved>,
    /// Why there is none although the task is over, as a sentence without its full stop; none where an approval can still be given.
    pub unapproved: Option<String>,
    /// The bot's own run of the tests on the approved commit (or, without one, on the newest).
    pub verdict: Option<Verdict>,
    /// Where its repository comes from; none where it was made on the forge.
    pub upstream: Option<Source>,
}

/// A final approval of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approved {
    /// The commit that was approved.
    pub commit: Commit,
    /// Login of who gave it.
    pub by: String,
}

/// Whether an approval still holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalState {
    /// One was read again on the forge and holds.
    Stands {
        /// Login of who gave it.
        by: String,
    },
    /// Each was dismissed, edited or deleted, or its author lost the right; with the newest one's reason for a person.
    Withdrawn(String),
}

/// The bot's store with its forge; errors are sentences for a person.
#[async_trait]
pub trait ApprovedSource: Send + Sync {
    /// The information about a branch from each repository with a task that made it, or from the one with this key alone.
    async fn offers(&self, branch: &Branch, repository: Option<&str>) -> Result<Vec<Offer>, String>;

    /// Reads the approvals of the approved commit again on the forge, the newest first, until one holds.
    async fn standing(&self, offer: &Offer) -> Result<ApprovalState, String>;

    /// Reports that the commit is in a clone, so that the task is delivered. Called once, after everything was written.
    async fn delivered(&self, offer: &Offer, commit: &Commit) -> Result<(), String>;

    /// Reports what the upstream's CI said of a commit that was delivered there.
    async fn upstream_ci(&self, offer: &Offer, checks: UpstreamChecks) -> Result<(), String>;
}

/// Options of a fetch.
#[derive(Debug, Clone, Default)]
pub struct FetchRequest {
    /// Any directory inside the clone.
    pub clone: PathBuf,
    /// The branch's name on the forge, without `refs/heads/`.
    pub branch: String,
    /// Key of the repository that is meant; the clone then need not share history with the task's base.
    pub repository: Option<String>,
    /// Whether to create a branch instead of changing the work tree.
    pub as_branch: bool,
    /// Paths that are accepted although they take effect by themselves.
    pub accept: Vec<String>,
    /// Whether to take the newest commit without a final approval.
    pub unreviewed: bool,
    /// Whether to take a commit whose tests failed or do not exist.
    pub unverified: bool,
    /// Whether to propose it on the upstream, instead of writing into the clone.
    pub propose: Option<Propose>,
}

impl FetchRequest {
    /// Whether the commit is taken as it is, instead of being merged into a work tree.
    fn whole(&self) -> bool {
        self.as_branch || self.propose.is_some()
    }
}

/// Result of a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    /// The task's number.
    pub task: i64,
    /// The commit that was brought.
    pub commit: Commit,
    /// Status letter and path of each file.
    pub files: Vec<(char, String)>,
    /// Whether a three-way merge was made, because the clone is not at the task's base.
    pub merged: bool,
    /// The branch that was made, if one was asked for.
    pub branch: Option<Branch>,
    /// The pull request on the upstream, if one was asked for; the clone is then unchanged.
    pub pull: Option<OpenPull>,
    /// What the upstream's CI said of it; none where it was not waited for.
    pub ci: Option<UpstreamCi>,
    /// Warnings: checks that the caller skipped, and failures to notify the bot.
    pub warnings: Vec<String>,
    /// Files that run when the project is built or tested, to be looked at first.
    pub notes: Vec<String>,
}

/// Why nothing was brought; the clone is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Refusal {
    /// The obstacle, in one sentence.
    pub what: String,
    /// Details, one line each.
    pub reasons: Vec<String>,
    /// What to do about it.
    pub hint: String,
}

impl Refusal {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), reasons: Vec::new(), hint: hint.into() }
    }

    fn because<I: IntoIterator<Item = String>>(mut self, reasons: I) -> Self {
        self.reasons.extend(reasons);
        self
    }
}

impl From<GitError> for Refusal {
    fn from(e: GitError) -> Self {
        let hint = if e.meaning() == Meaning::Away { "try again when the forge answers" } else { "" };
        Self::new(e.to_string(), hint)
    }
}

/// Brings a branch into the clone.
///
/// # Errors
/// [`Refusal`], with the clone untouched.
pub async fn fetch(request: &FetchRequest, source: &dyn ApprovedSource) -> Result<Brought, Refusal> {
    prepare(request, source).await?.bring(source).await
}

/// All steps before the first write.
///
/// # Errors
/// [`Refusal`], with the clone untouched.
pub async fn prepare(request: &FetchRequest, source: &dyn ApprovedSource) -> Result<Ready, Refusal> {
    let name = Branch::parse(&request.branch)?;
    let offers = source.offers(&name, request.repository.as_deref()).await;
    let mut offer = the_only(offers.map_err(|e| Refusal::new(e, "caisson doctor"))?, request)?;
    let mut warnings = Vec::new();
    let (commit, by) = reviewed(request, source, &offer, &mut warnings).await?;
    let stands = by.is_some();
    if let (Some(approved), Some(by)) = (&mut offer.approved, by) {
        approved.by = by;
    }
    verified(request, &offer, &commit, &mut warnings)?;
    let mut proposal = request.propose.as_ref().map(|wanted| Proposal::check(&offer, wanted)).transpose()?;
    let home = Home::open(&request.clone).await?;
    get(request, &home, &offer, &commit).await?;
    if let Some(proposal) = &mut proposal {
        proposal.begins_there(&home, &offer).await?;
    }
    let plan = Plan::make(request, &home, &offer, &commit).await?;
    let notes = plan.judge(&home, request).await?.notes;
    let left_out = if request.whole() { HashSet::new() } else { clear(&home, &plan).await? };
    Ok(Ready { home, plan, offer, commit, stands, as_branch: request.as_branch, proposal, left_out, warnings, notes })
}

/// The offer that is meant. A branch is named after an issue's number and title, so repositories may have the same one.
fn the_only(mut offers: Vec<Offer>, request: &FetchRequest) -> Result<Offer, Refusal> {
    if offers.len() > 1 {
        let said = format!("tasks of {} repositories made a branch {}", offers.len(), request.branch);
        let keys = offers.into_iter().map(|offer| offer.repository);
        return Err(Refusal::new(said, "repeat with --repository KEY, the one that your clone is of").because(keys));
    }
    offers.pop().ok_or_else(|| {
        let within = request.repository.as_ref().map(|key| format!(" in the repository {key}")).unwrap_or_default();
        Refusal::new(format!("no task of this bot made the branch {}{within}", request.branch), "caisson task list")
    })
}

/// Fetches the commit, and checks that it is behind the task's base, and that the clone is one of the task's repository: it has that base, or
/// history in common with it. What was squashed or cut by hand may have neither, and is taken where the repository was named.
async fn get(request: &FetchRequest, home: &Home, offer: &Offer, commit: &Commit) -> Result<(), Refusal> {
    let has_base = home.has(&offer.base).await?;
    home.fetch(&offer.url, offer.auth.as_ref(), commit).await?;
    if !home.is_ancestor(&offer.base, commit).await? {
        let (commit, base) = (commit.short(), offer.base.short());
        let said = format!("the commit {commit} does not descend from the task's base {base}");
        return Err(unless_shallow(home, Refusal::new(said, "look at the branch on the forge: somebody rewrote it")));
    }
    if has_base || request.repository.is_some() || home.shares_history(&offer.base).await? {
        return Ok(());
    }
    let Offer { repository, branch, .. } = offer;
    let said = format!("your clone has no history in common with {repository}, the repository of the branch {branch}");
    let hint = format!("name a clone of it; if this is one, repeat with --repository {repository}");
    Err(unless_shallow(home, Refusal::new(said, hint)))
}

/// A refusal because of what was not found in the history; of a shallow clone it says that instead, because there it may only be cut off.
fn unless_shallow(home: &Home, refusal: Refusal) -> Refusal {
    if !home.is_shallow() {
        return refusal;
    }
    let said = "your clone is shallow, so its history does not say where the work began";
    Refusal::new(said, "git fetch --unshallow, and repeat").because([refusal.what])
}

/// A branch that passed all checks.
pub struct Ready {
    home: Home,
    plan: Plan,
    offer: Offer,
    commit: Commit,
    /// Whether its approval was read again and holds.
    stands: bool,
    as_branch: bool,
    proposal: Option<Proposal>,
    /// Tracked files that a sparse clone leaves out.
    left_out: HashSet<Vec<u8>>,
    warnings: Vec<String>,
    notes: Vec<String>,
}

impl Ready {
    /// Writes the changes and notifies the bot, unless the clone changed since it was checked.
    ///
    /// # Errors
    /// [`Refusal`], with the clone as it was found.
    pub async fn bring(self, source: &dyn ApprovedSource) -> Result<Brought, Refusal> {
        let Self { home, plan, offer, commit, stands, as_branch, proposal, left_out, mut warnings, notes } = self;
        let (mut pull, mut pushed) = (None, None);
        if let Some(proposal) = &proposal {
            let (opened, at) = proposal.make(&home, &offer, (&commit, stands)).await?;
            (pull, pushed) = (Some(opened), Some(at));
        } else if as_branch {
            home.branch(&offer.branch, &commit).await?;
        } else {
            let hint = "save and close what you are editing, and repeat; or repeat with --as-branch";
            home.apply(&plan.to, &plan.changes, &left_out).await.map_err(|e| Refusal::new(e.to_string(), hint))?;
        }
        // Without an approval that holds, the task is not over.
        if stands && let Err(e) = source.delivered(&offer, &commit).await {
            let where_it_is = if pull.is_some() { "the pull request is open" } else { "the files are here" };
            warnings.push(format!("{where_it_is}, but the bot could not be told so: {e}"));
        }
        // Last, so that whoever breaks off the wait loses nothing.
        let ci = match proposal.as_ref().zip(pushed.as_ref()) {
            Some((proposal, pushed)) => proposal.ci(pushed).await,
            None => None,
        };
        let report = ci.as_ref().filter(|_| stands).and_then(|ci| ci.report(&commit));
        if let Some(report) = report
            && let Err(e) = source.upstream_ci(&offer, report).await
        {
            warnings
                .push(format!("the bot could not be told what the upstream's CI said, so it stands here alone: {e}"));
        }
        Ok(Brought {
            task: offer.task,
            commit,
            files: plan.changes.iter().map(|c| (c.status, String::from_utf8_lossy(&c.path).into_owned())).collect(),
            merged: plan.merged,
            branch: as_branch.then_some(offer.branch),
            pull,
            ci,
            warnings,
            notes,
        })
    }
}

/// What to do where the final approval is missing, by why it is.
const NOT_YET: &str = "approve it on the forge; or, at your own risk, repeat with --unreviewed";
const OVER: &str = "the task is over, so no review of it counts any more: read the commit on the forge; then pull what was merged from there, \
                    or, at your own risk, repeat with --unreviewed";
const WITHDRAWN: &str = "approve that commit once more, by a review that approves its pull request, or there by a comment `/approve` with the commit, while it is \
                         open and ends at that commit; or, at your own risk, repeat with --unreviewed";
const UNASKED: &str = "try again when the forge answers; or, at your own risk, repeat with --unreviewed";

/// The commit to bring: the approved one, if an approval of it holds; the second part is who gave that.
async fn reviewed(
    request: &FetchRequest,
    source: &dyn ApprovedSource,
    offer: &Offer,
    warnings: &mut Vec<String>,
) -> Result<(Commit, Option<String>), Refusal> {
    let (why, hint) = match (&offer.approved, &offer.unapproved) {
        (None, None) => ("nobody has given the final approval for it".to_owned(), NOT_YET),
        (None, Some(why)) => (why.clone(), OVER),
        (Some(approved), _) => match source.standing(offer).await {
            Ok(ApprovalState::Stands { by }) => return Ok((approved.commit.clone(), Some(by))),
            Ok(ApprovalState::Withdrawn(why)) => {
                (format!("the approval by {} no longer stands: {why}", approved.by), WITHDRAWN)
            }
            Err(e) => (format!("whether the approval by {} still stands cannot be asked: {e}", approved.by), UNASKED),
        },
    };
    if request.unreviewed {
        let newest = offer.newest.clone();
        warnings.push(format!("NOT REVIEWED: {why}; taking the newest commit {}", newest.short()));
        return Ok((newest, None));
    }
    Err(Refusal::new(format!("the branch {} is not approved", offer.branch), hint).because([why]))
}

fn verified(request: &FetchRequest, offer: &Offer, commit: &Commit, warnings: &mut Vec<String>) -> Result<(), Refusal> {
    let verdict = offer.verdict.as_ref();
    let why = match verdict.map(Verdict::case) {
        Some(VerdictCase::Passed) => return Ok(()),
        Some(VerdictCase::Failed) if verdict.is_some_and(Verdict::only_lacks_tests) => {
            "in the bot's own run tests of the base did not run"
        }
        Some(VerdictCase::Failed) => "the bot's own run of the tests failed",
        Some(VerdictCase::NoTest) => "the bot's own run of the checks ran no test",
        Some(VerdictCase::None) => "the project has no test command, so nothing was run",
        None => "the bot has not run the tests on it",
    };
    if request.unverified {
        warnings.push(format!("NOT VERIFIED: {why} ({})", commit.short()));
        return Ok(());
    }
    let hint = "look at the final review; or, at your own risk, repeat with --unverified";
    Err(Refusal::new(format!("the commit {} is not verified", commit.short()), hint).because([why.to_owned()]))
}

/// The changes to write.
struct Plan {
    to: Tree,
    changes: Vec<Change>,
    merged: bool,
}

impl Plan {
    async fn make(request: &FetchRequest, home: &Home, offer: &Offer, commit: &Commit) -> Result<Self, Refusal> {
        if request.whole() {
            let (from, to) = (home.tree(&offer.base).await?, home.tree(commit).await?);
            return Ok(Self { changes: home.changes(&from, &to).await?, to, merged: false });
        }
        let to = match home.merged(&offer.base, commit).await? {
            Merged::Tree(tree) => tree,
            Merged::Conflict(paths) => {
                let said = "your clone and the branch changed the same places";
                let hint = format!(
                    "check {} out and repeat, or repeat with --as-branch and merge by hand",
                    offer.base.short()
                );
                return Err(Refusal::new(said, hint).because(paths.iter().map(|p| judge::shown(p.as_bytes()))));
            }
        };
        let from = home.tree(home.head()).await?;
        let changes = home.changes(&from, &to).await?;
        Ok(Self { changes, to, merged: *home.head() != offer.base })
    }

    async fn judge(&self, home: &Home, request: &FetchRequest) -> Result<Findings, Refusal> {
        let entries = home.entries(&self.to).await?;
        let links = home.links(&entries).await?;
        let findings = judge::judge(&self.changes, &entries, &links);
        if !findings.never.is_empty() {
            let hint = "request changes on the forge: this must not come into a clone";
            return Err(Refusal::new("the branch holds what no clone should take", hint).because(findings.never));
        }
        let open: Vec<&judge::Finding> = findings.ask.iter().filter(|f| !request.accept.contains(&f.path)).collect();
        if open.is_empty() {
            return Ok(findings);
        }
        let reasons = open.iter().map(|f| format!("{}: {}", judge::shown(f.path.as_bytes()), f.why));
        let hint = format!("look at each; what you want, repeat with --accept {}", shell_word(&open[0].path));
        Err(Refusal::new("the branch holds files that act by themselves", hint).because(reasons.collect::<Vec<_>>()))
    }
}

/// Checks that no uncommitted change is in the way; gives the tracked files that a sparse clone leaves out.
async fn clear(home: &Home, plan: &Plan) -> Result<HashSet<Vec<u8>>, Refusal> {
    let Uncommitted { paths, left_out } = home.uncommitted().await?;
    if !paths.is_empty() {
        let cut_off = home.cut_off().into_iter();
        let cut_off =
            cut_off.map(|dir| format!("an earlier fetch was cut off: what stood here before is in {}", dir.display()));
        let reasons = paths.iter().take(20).map(|path| judge::shown(path.as_bytes())).chain(cut_off);
        let hint = "commit or stash them first, or repeat with --as-branch";
        return Err(Refusal::new("your clone has uncommitted changes", hint).because(reasons));
    }
    let blocked = obstacles::find(home.root(), &plan.changes);
    if blocked.is_empty() {
        return Ok(left_out);
    }
    let hint = "move them away first (they are not in git: untracked or ignored), or repeat with --as-branch";
    Err(Refusal::new("files that git does not know stand where the branch would write", hint).because(blocked))
}

/// Path of the clone, for messages.
pub fn place(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string()
}
