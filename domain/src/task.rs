//! A task as the fold of its log of events.

mod attempt;
mod decided;
mod work;

use crate::{
    Account, Action, Advance, Artifacts, Budget, CallRequest, Checkpoint, CiAwaited, CiEnded, Commit, End, Event,
    Grant, Item, Loss, Millis, PlanStep, Question, Rebase, Remarks, Request, Source, Spent, State, Suspension, TaskId,
    TaskKind, Verdict, VerdictKind,
};
use std::collections::BTreeSet;

/// A task as its log describes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Task {
    /// Number of the task; 0 before the store has given one.
    pub id: TaskId,
    /// Its state.
    pub state: State,
    /// What was asked for; none before [`Event::Requested`].
    pub request: Option<Request>,
    /// Whether it may write now; `/fix` under its answer turns a read-only task into one that may.
    pub kind: TaskKind,
    /// The commit that the work stands on; none before the first [`Event::Prepared`]. A review's rules come from it, and what is read is `head`.
    pub base: Option<Commit>,
    /// The commit that a reviewed pull request is compared with; none before the first [`Event::Prepared`], and for other tasks.
    pub compared_with: Option<Commit>,
    /// The image of its sandbox, which later containers of the task use too.
    pub image: Option<String>,
    /// Remarks for a person about that sandbox.
    pub note: Option<String>,
    /// Last commit on the agent's branch; the base before the first. For a review the pull request's head.
    pub head: Option<Commit>,
    /// Last commit that stands on the forge.
    pub pushed: Option<Commit>,
    /// Number of the pull request in its repository; none before it is open.
    pub pull: Option<u64>,
    /// Number of the last completed turn; 0 before the first.
    pub turn: u32,
    /// Number of the last action that was taken up; 0 before the first.
    pub actions: u32,
    /// Actions since the last decision.
    pub used: u8,
    /// Turns with a malformed call, without a call or with notes once more, since the last action, `done`, decision or resume.
    pub malformed: u8,
    /// The last turn that was counted for a malformed call; 0 before the first.
    pub malformed_in: u32,
    /// Whether the calls of a turn since then only noted something: a plan, or another answer to a remark.
    pub noted: bool,
    /// Recalls since the last action.
    pub recalls: u8,
    /// The question that waits for an answer; none where none does.
    pub question: Option<Question>,
    /// The action that is under way, as it was asked for.
    pub action: Option<Action>,
    /// Why that action waits for a person's permission; none where it does not.
    pub permission: Option<String>,
    /// Unix milliseconds at which the waiting question was posted; 0 once somebody was asked which one they mean.
    pub asked_at: Millis,
    /// Whether a person permitted the action that has not run yet.
    pub permitted: bool,
    /// How often its conversation restarted for lack of progress since somebody asked for changes or resumed it.
    pub other_ways: u8,
    /// Questions since the last action.
    pub questions: u8,
    /// Failed verifications over the whole task.
    pub failures: u8,
    /// Calls of the present turn that have no answer yet, in order: (index, call).
    pub waiting: Vec<(u32, CallRequest)>,
    /// Number of the action that is under way; none between actions.
    pub running: Option<u32>,
    /// Calls for the coming turn that were sent.
    pub model_starts: u8,
    /// Whether the newest call for the coming turn is charged and may still turn out to cost nothing, also after a resume.
    pub charged: bool,
    /// Worst case that the newest of those calls is charged, in millionths of a US dollar; 0 while none is.
    pub model_worst: u64,
    /// Number of the checkpoint whose second look is charged with that and not answered; none where no second look is.
    pub looking: Option<u32>,
    /// Worst case that the newest answer to a person's question is charged, in millionths of a US dollar; 0 while none is.
    pub reply_worst: u64,
    /// Id of the model's entry that a person chose; none = the one of its role.
    pub model: Option<String>,
    /// Id of the model that answers in place of the first one until the next checkpoint; none = the first.
    pub answering: Option<String>,
    /// The newest plan that the agent noted, as Markdown. Untrusted.
    pub plan: Option<String>,
    /// The steps of that plan; empty where it holds no list.
    pub steps: Vec<PlanStep>,
    /// Whether the steps changed since the last checkpoint was posted.
    pub plan_changed: bool,
    /// Whether the agent noted the steps itself since the last decision.
    pub plan_noted: bool,
    /// What the agent said with its newest `done`; none before one, or after one that was returned. Untrusted.
    pub summary: Option<String>,
    /// Commit that was captured but not yet posted.
    pub captured: Option<Commit>,
    /// The newest verification's verdict; none while a new publication has none yet.
    pub verdict: Option<Verdict>,
    /// The wait for the forge's CI that is under way; none where nothing is waited for.
    pub ci_awaited: Option<CiAwaited>,
    /// What the forge's CI said of the newest finished commit; none before.
    pub ci: Option<CiEnded>,
    /// Files that were taken out of the sandbox beside the newest finished commit; none where no pattern asks for any.
    pub artifacts: Option<Artifacts>,
    /// Why the newest tree was refused, one sentence each; empty unless it was.
    pub refusal: Vec<String>,
    /// Whether a tree was refused since the last action or decision.
    pub refused: bool,
    /// Whether a `done` without changes was returned to the agent; the next one goes to a person.
    pub done_returned: bool,
    /// Checkpoints and answers that were posted, oldest first, voided ones included.
    pub checkpoints: Vec<Checkpoint>,
    /// Whether something was done in the sandbox that is in no commit of the bot.
    pub uncommitted: bool,
    /// Commit of work that no checkpoint has; the sandbox is made anew from it.
    pub kept: Option<Commit>,
    /// Whether that commit is being made.
    pub keeping: bool,
    /// Whether that commit could not be made, and nothing was done since.
    pub not_kept: bool,
    /// The move onto a newer base, until a commit on that base holds the work; none where there is none.
    pub rebase: Option<Rebase>,
    /// Whether the branch on the forge stands on an earlier base, and the next push replaces it.
    pub replaces: bool,
    /// Files that could not be merged onto the present base by themselves.
    pub conflicts: Vec<String>,
    /// Those in which the newest commit of the work has marks of the conflict, or only the base's version.
    pub marked: Vec<String>,
    /// State that a queued task returns to once it has its slot; none before its first.
    pub next: Option<Box<State>>,
    /// Whether the conversation restarted, and the model did not answer since.
    pub restarted: bool,
    /// The highest checkpoint number used so far; each is used for one tree only.
    pub published_n: u32,
    /// Decisions that came while a checkpoint was being published and are still to be judged.
    pub unjudged: Vec<Source>,
    /// Accounts that were told that they may not decide here, so that each is told once.
    pub told_no_right: BTreeSet<i64>,
    /// Accounts without write access that were told that something is no command, so that each is told once.
    pub told_no_command: BTreeSet<i64>,
    /// Remarks that wait for the next decision.
    pub remarks: Vec<Item>,
    /// Remarks with numbers and states, told or not.
    pub numbered: Remarks,
    /// The commit of the final review that was approved; none before that.
    pub approved: Option<Commit>,
    /// Account whose decision was used last; none before the first.
    pub last_decider: Option<Account>,
    /// The approval in advance that is in force; none where there is none.
    pub advance: Option<Advance>,
    /// Whether a tree that was captured since the last checkpoint changes files that steer tests.
    pub steering: bool,
    /// Hosts that people allowed.
    pub hosts: Vec<Grant>,
    /// Whether a host was allowed or denied since the last checkpoint stood.
    pub reach_changed: bool,
    /// What it may use in all: its first budget after narrowing, and every grant.
    pub granted: Budget,
    /// What it has used, including the worst case of a call that is under way.
    pub spent: Spent,
    /// How far its sandbox is put away.
    pub suspension: Option<Suspension>,
    /// How often since the last decision its sandbox was lost for lack of memory.
    pub starved: u8,
    /// Losses since the last decision or resume, other than for lack of memory, that [`Loss::tolerated`] limits.
    pub losses: u8,
    /// Whether the newest loss is in the log and nothing has run since, so that a second report of it is no second loss.
    pub lost: bool,
    /// Number of events so far, used in keys of effects that have no number of their own.
    pub seq: u32,
}

impl Task {
    /// A task without any event: queued, without a request.
    pub fn new(id: TaskId) -> Self {
        Task { id, ..Task::default() }
    }

    /// Folds a whole log.
    pub fn fold<'a>(id: TaskId, log: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut task = Task::new(id);
        for event in log {
            task.apply(event);
        }
        task
    }

    /// The newest checkpoint that was posted; none where its review was voided.
    pub fn checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoints.last().filter(|c| !c.void)
    }

    /// Whether a pause, or the queue for a slot, interrupts the wait for a decision about a checkpoint.
    pub fn review_is_interrupted(&self) -> bool {
        let under = self.underneath();
        *under != self.state && matches!(under, State::AwaitingReview { .. } | State::FinalReview { .. })
    }

    /// The state that a pause or the queue for a slot interrupts; otherwise the state itself.
    pub fn underneath(&self) -> &State {
        match (&self.state, &self.next) {
            (State::Paused { from, .. }, Some(next)) if **from == State::Queued => next,
            (State::Paused { from, .. }, _) => from,
            (State::Queued, Some(next)) => next,
            (state, _) => state,
        }
    }

    /// Number of the checkpoint that is being published, otherwise of the next one.
    pub fn next_n(&self) -> u32 {
        if let State::Publishing { n, .. } | State::Verifying { n, .. } | State::AwaitingCi { n, .. } = &self.state {
            *n
        } else {
            self.published_n + 1
        }
    }

    /// Whether it reads a person's pull request, and is over with its answer.
    pub fn of_a_pull(&self) -> bool {
        self.kind.of_a_pull() || self.persons_pull().is_some()
    }

    /// The number of the person's pull request that it reads, where it was asked for.
    pub fn persons_pull(&self) -> Option<u64> {
        self.request.as_ref().filter(|request| request.pull.is_some()).map(|request| request.issue)
    }

    /// Actions that it may take until the next checkpoint, or until a read-only task must answer.
    pub fn every(&self) -> u8 {
        if self.kind.reads_only() {
            return crate::READ_ONLY_ACTIONS;
        }
        let every = |request: &Request| request.every.clamp(1, crate::ACTIONS_PER_CHECKPOINT);
        self.request.as_ref().map_or(crate::ACTIONS_PER_CHECKPOINT, every)
    }

    /// Applies one event. Total: an event that does not fit leaves the state as it is. The parts are tried in order, each passing on events
    /// of others; the last one names every event.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the next part takes the others; `taken_before` names all")]
    pub fn apply(&mut self, event: &Event) {
        self.seq += 1;
        self.numbered.apply(event);
        match event {
            Event::Requested { request } => self.begin(request),
            Event::RemarkWithdrawn(_) => self.remarks.retain(|item| !self.numbered.is_withdrawn(item)),
            Event::SlotAwaited => self.next = Some(Box::new(std::mem::replace(&mut self.state, State::Queued))),
            Event::SlotGranted => self.state = self.next.take().map_or(State::Preparing, |next| *next),
            Event::Prepared { base, image, every, note, budget, difference, .. } => {
                self.narrow(*every, budget.as_ref());
                self.head.get_or_insert_with(|| base.clone());
                self.base.get_or_insert_with(|| base.clone());
                self.image = Some(image.clone());
                self.compared_with = difference.as_ref().map(|difference| difference.from.clone());
                self.note.clone_from(note);
                self.state = State::Running;
            }
            Event::Rebased(rebased) => self.rebased(rebased),
            Event::PublishStarted { n, why } => {
                self.lost = false;
                // Under its number once more, a refused tree goes to a person, who sees why.
                if *n > self.published_n {
                    self.refusal.clear();
                }
                self.published_n = self.published_n.max(*n);
                self.state = State::Publishing { n: *n, why: *why };
                (self.verdict, self.ci, self.captured, self.artifacts) = (None, None, None, None);
            }
            Event::VerifyStarted { n, commit } => {
                self.published_n = self.published_n.max(*n);
                self.state = State::Verifying { n: *n, commit: commit.clone() };
            }
            Event::Paused { reason } => {
                let from = Box::new(std::mem::replace(&mut self.state, State::Queued));
                self.state = State::Paused { reason: reason.clone(), from };
            }
            Event::Resumed => {
                if let State::Paused { from, .. } = &self.state {
                    self.state = (**from).clone();
                    (self.malformed, self.noted, self.model_starts, self.other_ways) = (0, false, 0, 0);
                    (self.starved, self.losses) = (0, 0);
                }
            }
            Event::Ended { end } => self.state = State::Ended { end: end.clone() },
            Event::BudgetGranted { more, .. } => self.granted.add(more),
            Event::SandboxLost { loss, .. } => self.lose(*loss),
            Event::SandboxSuspended { suspension } => self.suspension = Some(*suspension),
            Event::WorkKeeping => self.keeping = true,
            Event::WorkKept { commit } => {
                self.kept = Some(commit.clone());
                (self.uncommitted, self.keeping) = (false, false);
            }
            Event::WorkNotKept { .. } => (self.keeping, self.not_kept) = (false, true),
            _ => self.apply_work(event),
        }
        if self.state.busy() {
            self.suspension = None;
        }
    }

    fn begin(&mut self, request: &Request) {
        self.kind = request.kind;
        self.granted = request.budget;
        self.hosts = request.hosts.clone();
        self.model.clone_from(&request.terms.model);
        let start = request.start().map(|start| start.commit.clone());
        self.head = request.pull.as_ref().map(|pull| pull.head.clone()).or(start);
        self.request = Some(request.clone());
        self.state = State::Queued;
    }

    /// Narrows the request to what the project file at the base asks for; later versions of the file change nothing.
    fn narrow(&mut self, every: u8, budget: Option<&Budget>) {
        if let Some(request) = &mut self.request {
            request.every = request.every.min(every).max(1);
        }
        if let (Some(narrower), None) = (budget, &self.base) {
            let began = self.request.as_ref().map(|request| request.budget).unwrap_or_default();
            let since = self.granted.beyond(&began);
            self.granted = began.narrowed(narrower);
            self.granted.add(&since);
        }
    }

    /// Forgets the action that was under way.
    fn no_action(&mut self) {
        (self.running, self.action, self.permission, self.permitted) = (None, None, None, false);
    }

    fn lose(&mut self, loss: Loss) {
        self.lost = true;
        // An action that has not begun runs in the new sandbox.
        let coming = self.action.as_ref().is_some_and(|action| action.writes() && !action.is_apart());
        // Work taken out of a sandbox with an outdated runner is in the new sandbox, but in no commit.
        self.uncommitted &= coming || loss == Loss::Outdated;
        (self.keeping, self.not_kept) = (false, false);
        if loss == Loss::Memory {
            self.starved = self.starved.saturating_add(1);
        } else if loss.tolerated().is_some() {
            self.losses = self.losses.saturating_add(1);
        }
    }

    /// Whether the sandbox was lost for this reason more often than [`Loss::tolerated`] allows.
    pub fn loses_too_often(&self, loss: Loss) -> bool {
        let seen = if loss == Loss::Memory { self.starved } else { self.losses };
        loss.tolerated().is_some_and(|most| seen > most)
    }

    /// Whether all files in the sandbox that git does not ignore are in a commit of the bot, or are not to be kept.
    pub fn all_committed(&self) -> bool {
        self.kind.reads_only() || !self.uncommitted
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the next part takes the others; `taken_before` names all")]
    fn apply_checkpoint(&mut self, event: &Event) {
        match event {
            Event::TreeCaptured { tree, .. } => {
                self.captured = Some(tree.commit.clone());
                self.head = Some(tree.commit.clone());
                self.steering |= !tree.steering.is_empty() || !tree.outside.is_empty();
                self.marked.clone_from(&tree.marked);
                self.committed();
            }
            Event::TreeUnchanged { commit, .. } => self.unchanged(commit),
            Event::TreeRefused { reasons, .. } => {
                self.captured = None;
                (self.refusal, self.refused) = (reasons.clone(), true);
                if self.used < self.every() {
                    self.state = State::Running;
                }
            }
            Event::Pushed { commit, .. } => (self.pushed, self.replaces) = (Some(commit.clone()), false),
            Event::PullOpened { number, .. } => self.pull = Some(*number),
            Event::Verified { verdict, .. } => {
                self.verdict = Some(verdict.clone());
                if verdict.kind == VerdictKind::Failed {
                    self.failures += 1;
                }
            }
            Event::Artifacts(step) => self.artifacts = Artifacts::after(self.artifacts.take(), step),
            Event::CiAwaited(it) => self.await_ci(it),
            Event::CiEnded(it) => self.end_ci(it),
            Event::VerdictReturned { .. } => self.state = State::Running,
            Event::DoneReturned { .. } => {
                self.state = State::Running;
                self.done_returned = true;
                self.summary = None;
            }
            Event::CheckpointPosted { n, review, number, at, commit, last, verdict } => {
                // A second look whose answer was lost stays charged.
                (self.model_worst, self.looking) = (0, None);
                self.push_checkpoint(*n, *review, *number, *at, commit.clone(), *last);
                self.answering = None;
                self.plan_changed = false;
                self.state = match (last, commit, verdict) {
                    (true, Some(commit), Some(verdict)) => {
                        State::FinalReview { n: *n, commit: commit.clone(), verdict: verdict.clone() }
                    }
                    _ => State::AwaitingReview { n: *n, commit: commit.clone() },
                };
            }
            Event::Answered { n, number, at } => {
                (self.model_worst, self.looking) = (0, None);
                self.push_checkpoint(*n, 0, *number, *at, None, false);
                self.answering = None;
                self.state = State::AwaitingReview { n: *n, commit: None };
            }
            Event::CheckpointVoided { n } => {
                self.checkpoints.iter_mut().filter(|c| c.n == *n).for_each(|c| c.void = true);
            }
            _ => self.apply_decision(event),
        }
    }

    fn unchanged(&mut self, commit: &Commit) {
        // The branch does not end at a base that already has all of the work.
        self.captured = Some(commit.clone()).filter(|_| !self.replaces);
        // Nothing of the work is in a tree that equals the newer base, although some of it was in conflict there.
        let bare = self.rebase.is_some() && self.base.as_ref() == Some(commit);
        if bare {
            self.marked.clone_from(&self.conflicts);
        }
        self.committed();
    }

    /// A commit on the present base holds all of the work.
    fn committed(&mut self) {
        self.refusal.clear();
        (self.uncommitted, self.kept, self.rebase) = (false, None, None);
    }

    fn push_checkpoint(&mut self, n: u32, review: i64, number: i64, at: Millis, commit: Option<Commit>, last: bool) {
        let coverable = commit.is_some() && self.risk(last).is_none();
        self.checkpoints.push(Checkpoint { n, commit, review, number, at, last, void: false, used: false, coverable });
        self.captured = None;
        self.steering = false;
        self.reach_changed = false;
    }

    /// Why nobody can approve the final review that stands, as a half-sentence; none where somebody may.
    pub fn unapprovable(&self) -> Option<String> {
        let (verdict, traits) = (self.verdict.as_ref()?, self.kind.traits());
        let failed = verdict.kind == VerdictKind::Failed;
        if !verdict.outside.is_empty() {
            Some(format!("the branch {}, which `/{}` may not", traits.breach, traits.name))
        } else {
            (failed && traits.checks_must_hold).then(|| format!("the checks fail, and `/{}` keeps them", traits.name))
        }
    }

    /// Whether its final review was approved, for the commit that its branch ends at, and no work follows: then that commit can be approved again.
    pub fn is_finished(&self) -> bool {
        let over = matches!(&self.state, State::Approved { .. } | State::Ended { end: End::Delivered });
        let stands = self.checkpoint().is_some_and(|at| at.last && at.commit == self.approved);
        over && stands && self.approved.is_some() && self.approved == self.pushed
    }

    /// The end, once there is one.
    pub fn end(&self) -> Option<&End> {
        if let State::Ended { end } = &self.state { Some(end) } else { None }
    }
}
