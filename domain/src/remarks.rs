//! Remarks of people about a task's changes: their numbers and states, as a pure fold over the task's log.
//!
//! Owns: which remark gets a number, and what changes its state. Must not: judge who may remark (the log holds what was taken up), or
//! show anything. Tests: `tests/machine/remarks.rs`.

use crate::{Action, Call, CallRequest, CapturedTree, Commit, Event, Item, RemarkAnswer, Source, Verb, Withdrawal};

/// Where a remark stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RemarkState {
    /// Nothing settled it yet.
    #[default]
    Open,
    /// A commit changes its file, and the agent says that this deals with it.
    Addressed {
        /// The newest such commit.
        commit: Commit,
        /// Nobody said so, because this way of working has no answers: only the file changed.
        unasked: bool,
    },
    /// The agent answered in words, without a change.
    Answered,
    /// Its author took it back.
    Withdrawn {
        /// How.
        why: Withdrawal,
    },
}

/// One remark with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Its number in the task, from 1, in the order of the log.
    pub number: u32,
    /// What was said, and where.
    pub item: Item,
    /// The text that carries it.
    pub from: Source,
    /// The checkpoint that stood when it was taken up; 0 before the first.
    pub since: u32,
    /// Whether it has reached the agent; a remark outside of a decision waits for the next one.
    pub delivered: bool,
    /// Where it stands.
    pub state: RemarkState,
    /// The agent's newest words about it.
    pub answer: Option<RemarkAnswer>,
    /// The newest commit since it was told that changes its file.
    changed: Option<Commit>,
}

impl Remark {
    /// Whether nothing settled it yet.
    pub fn is_open(&self) -> bool {
        self.state == RemarkState::Open
    }

    /// Its name for people and for the agent.
    pub fn name(&self) -> String {
        format!("r{}", self.number)
    }

    /// Whether these changes touch what it is about: its file, or anything where it is about the whole.
    fn is_about(&self, tree: &CapturedTree) -> bool {
        match &self.item.path {
            Some(path) => tree.files.iter().any(|file| file.path == *path),
            None => !tree.files.is_empty(),
        }
    }

    fn settle(&mut self, unasked: bool) {
        if !matches!(self.state, RemarkState::Open | RemarkState::Answered) {
            return;
        }
        let claimed = self.answer.as_ref().is_some_and(|answer| answer.addressed);
        if let Some(commit) = self.changed.clone().filter(|_| claimed || (unasked && self.is_open())) {
            self.state = RemarkState::Addressed { commit, unasked: !claimed };
        }
    }
}

/// Which of these items get a number: those about a file, and the text of a request for changes that names no file. The text above remarks
/// on files only introduces them.
fn counts(items: &[Item], asks: bool) -> impl Fn(&Item) -> bool {
    let whole = asks && items.iter().all(|item| item.path.is_none());
    move |item| item.path.is_some() || whole
}

/// The remarks of a task, in the order of their numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Remarks {
    list: Vec<Remark>,
    /// Whether the task only answers: what is said about an answer is about its next version, which is read as a whole.
    reads_only: bool,
    /// The newest checkpoint that was posted.
    posted: u32,
    /// Whether the work was brought onto a newer base, and no answer came since.
    moved: bool,
    /// Whether the newest calls were made in a way of working in which the model is asked for files alone.
    in_files: bool,
}

impl Remarks {
    /// Those of a whole log.
    pub fn of<'a>(log: impl IntoIterator<Item = &'a Event>) -> Remarks {
        let mut all = Remarks::default();
        for event in log {
            all.apply(event);
        }
        all
    }

    /// All of them.
    pub fn all(&self) -> &[Remark] {
        &self.list
    }

    /// Those that nothing settled yet.
    pub fn open(&self) -> impl Iterator<Item = &Remark> {
        self.list.iter().filter(|remark| remark.is_open())
    }

    /// Names of those that are open and known to the agent, as in `r1, r3`; empty where there are none.
    pub fn open_names(&self) -> String {
        self.open().filter(|remark| remark.delivered).map(Remark::name).collect::<Vec<_>>().join(", ")
    }

    /// The remark with this number, if the agent knows it.
    pub fn known(&self, number: u32) -> Option<&Remark> {
        self.list.iter().find(|remark| remark.number == number && remark.delivered)
    }

    /// Whether its author took this item back.
    pub fn is_withdrawn(&self, item: &Item) -> bool {
        let gone = |remark: &Remark| matches!(remark.state, RemarkState::Withdrawn { .. });
        self.list.iter().any(|remark| gone(remark) && remark.item == *item)
    }

    /// The numbers of these items, right after the event that holds them was applied; none for items without one. `asks` says whether it
    /// asks for changes.
    pub fn numbers(&self, items: &[Item], asks: bool) -> Vec<Option<u32>> {
        let counts = counts(items, asks && !self.reads_only);
        let counted = items.iter().filter(|item| !self.reads_only && counts(item)).count();
        let mut next = (self.list.len() - counted.min(self.list.len()))..;
        let number = |item: &Item| {
            let at = if !self.reads_only && counts(item) { next.next() } else { None };
            at.and_then(|at| self.list.get(at)).map(|remark| remark.number)
        };
        items.iter().map(number).collect()
    }

    /// Applies one event.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other events say nothing of a remark")]
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Requested { request } => self.reads_only = request.kind.reads_only(),
            Event::WidenedToFix { .. } => self.reads_only = false,
            Event::CheckpointPosted { n, .. } => self.posted = *n,
            Event::Rebased(_) => self.moved = true,
            // The whole work on the newer base, as it was: no change for any remark.
            Event::TreeCaptured { .. } if std::mem::take(&mut self.moved) => {}
            Event::TurnCompleted { calls, .. } => {
                self.moved = false;
                if let Some(in_files) = calls.iter().find_map(asked_for_files) {
                    self.in_files = in_files;
                }
            }
            Event::FeedbackGiven { items, from, asks } => self.take(items, from, *asks, false),
            Event::DecisionUsed { decision, .. } => {
                // A newer base tells the agent no remarks.
                if !matches!(decision.verb, Verb::Rebase { .. }) {
                    self.list.iter_mut().for_each(|remark| remark.delivered = true);
                }
                if let Verb::Changes { items } = &decision.verb {
                    self.take(items, &decision.source, true, true);
                }
            }
            Event::QuestionAnswered { decision, .. } | Event::PermissionRefused { decision, .. } => {
                if let Some((items, asks)) = items_of(&decision.verb) {
                    self.take(items, &decision.source, asks, true);
                }
            }
            Event::RemarkAnswered(answer) => self.answered(answer),
            Event::RemarkWithdrawn(withdrawn) => {
                let found = self.list.iter_mut().find(|remark| remark.number == withdrawn.remark);
                if let Some(remark) = found.filter(|remark| remark.is_open()) {
                    remark.state = RemarkState::Withdrawn { why: withdrawn.why };
                }
            }
            Event::TreeCaptured { tree, .. } => {
                for remark in self.list.iter_mut().filter(|remark| remark.delivered && remark.is_about(tree)) {
                    remark.changed = Some(tree.commit.clone());
                }
                self.settle();
            }
            // Changes of an earlier commit count too: the agent may say only afterwards what they were for.
            Event::TreeUnchanged { .. } => self.settle(),
            _ => {}
        }
    }

    fn settle(&mut self) {
        let unasked = self.in_files;
        self.list.iter_mut().filter(|remark| remark.delivered).for_each(|remark| remark.settle(unasked));
    }

    fn take(&mut self, items: &[Item], from: &Source, asks: bool, delivered: bool) {
        if self.reads_only {
            return;
        }
        let counts = counts(items, asks);
        for item in items.iter().filter(|item| counts(item)) {
            let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX).saturating_add(1);
            let (item, from, since) = (item.clone(), from.clone(), self.posted);
            let (state, answer, changed) = (RemarkState::Open, None, None);
            self.list.push(Remark { number, item, from, since, delivered, state, answer, changed });
        }
    }

    fn answered(&mut self, answer: &RemarkAnswer) {
        let known = self.list.iter_mut().find(|remark| remark.number == answer.remark && remark.delivered);
        if let Some(remark) = known.filter(|remark| !matches!(remark.state, RemarkState::Withdrawn { .. })) {
            match remark.state {
                RemarkState::Open if !answer.addressed => remark.state = RemarkState::Answered,
                // What is now said to be a change has to show as one.
                RemarkState::Answered if answer.addressed => remark.state = RemarkState::Open,
                RemarkState::Open
                | RemarkState::Answered
                | RemarkState::Addressed { .. }
                | RemarkState::Withdrawn { .. } => {}
            }
            remark.answer = Some(answer.clone());
        }
    }
}

/// The items of a text that answers a question, and whether it asks for changes.
fn items_of(verb: &Verb) -> Option<(&[Item], bool)> {
    if let Verb::Changes { items } = verb {
        return Some((items, true));
    }
    if let Verb::Say { items } = verb { Some((items, false)) } else { None }
}

/// Whether a call was made for a model that is asked for files alone; none for calls that every way of working makes.
fn asked_for_files(request: &CallRequest) -> Option<bool> {
    match &request.call {
        Call::Action { action: Action::WriteFiles { .. } | Action::Try { .. } } => Some(true),
        Call::Action { action } if action.command().is_some() => None,
        Call::Action { .. } | Call::UpdatePlan { .. } | Call::Recall { .. } | Call::AnswerRemark { .. } => Some(false),
        Call::Ask { .. } | Call::Done { .. } | Call::Malformed { .. } => None,
    }
}
