//! After any failures, a task ends once its surroundings work and people answer.

use crate::common::*;
use caisson_domain::*;
use proptest::prelude::*;

/// How one effect ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Luck {
    Good,
    Blocked,
    Gone,
    Odd,
}

#[derive(Debug, Clone)]
enum Move {
    /// The first effect of a queue ends.
    End(Luck),
    Say(Verb),
    Idle(Suspension),
    Void,
    Slot,
    /// The router's rules cannot be set while work continues.
    RouterFails,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let luck =
        prop_oneof![8 => Just(Luck::Good), 1 => Just(Luck::Blocked), 1 => Just(Luck::Gone), 2 => Just(Luck::Odd)];
    let verb = prop_oneof![
        6 => Just(Verb::approve()),
        3 => Just(Verb::Changes { items: Vec::new() }),
        3 => Just(Verb::Resume),
        1 => Just(Verb::Pause),
        1 => Just(more_actions()),
        1 => Just(Verb::Say { items: Vec::new() }),
    ];
    let one = prop_oneof![
        20 => luck.prop_map(Move::End),
        6 => verb.prop_map(Move::Say),
        2 => prop_oneof![Just(Suspension::Stopped), Just(Suspension::Evicted)].prop_map(Move::Idle),
        1 => Just(Move::Void),
        3 => Just(Move::Slot),
        1 => Just(Move::RouterFails),
    ];
    prop::collection::vec(one, 0..150)
}

/// The surroundings of the machine: wanted effects in order, and what people said.
struct Shell {
    walk: Walk,
    open: Vec<Effect>,
    said: Vec<Decision>,
    number: i64,
    commits: u32,
}

impl Shell {
    fn new(budget: u64) -> Shell {
        let asked = Request { budget: Budget { actions: budget, ..Budget::default() }, ..request(TaskKind::Fix) };
        let mut walk = Walk::asked(asked);
        walk.crowded = true;
        Shell { walk, open: Vec::new(), said: Vec::new(), number: 100, commits: 0 }
    }

    fn feed(&mut self, input: Input) {
        self.walk.feed(input);
        for effect in &self.walk.last.effects {
            if effect.queue() == Queue::Work && !self.open.iter().any(|open| open.key() == effect.key()) {
                self.open.push(effect.clone());
            }
        }
    }

    fn say(&mut self, verb: Verb) {
        self.number += 1;
        let commit = self.walk.task.checkpoint().and_then(|at| at.commit.clone());
        let decision = Decision { head: commit.clone(), commit, verb, ..approval(self.number) };
        self.said.push(decision.clone());
        self.feed(Input::Decided { decision: Box::new(decision) });
    }

    fn new_commit(&mut self) -> Commit {
        self.commits += 1;
        commit(&format!("{:040x}", 0xc0_0000 + self.commits))
    }

    fn end(&mut self, luck: Luck) {
        if self.open.is_empty() {
            return;
        }
        let effect = self.open.remove(0);
        let failure = match luck {
            Luck::Blocked => Some(Failure::Blocked { sentence: "s".into() }),
            Luck::Gone => Some(Failure::SandboxGone { loss: Loss::EngineRestarted }),
            Luck::Good | Luck::Odd => None,
        };
        match failure {
            Some(failure) => self.feed(Input::EffectFailed { effect: effect.key(), failure }),
            None => self.ended(effect, luck == Luck::Odd),
        }
    }

    fn ended(&mut self, effect: Effect, odd: bool) {
        match effect {
            Effect::Prepare { .. } => self.feed(prepared()),
            Effect::Converse { .. } if odd => {
                self.feed(Input::PauseAsked { reason: PauseReason::ContextFull { context_tokens: None } })
            }
            Effect::Converse { turn } => {
                self.feed(Input::ModelCallStarting { turn, worst_micro_usd: 1 });
                let (text, model, usage) = (String::new(), String::new(), Usage::default());
                let calls = if turn % 3 == 1 { vec![bash(), ask(), bash()] } else { vec![bash(), bash(), done()] };
                self.feed(Input::ModelAnswered {
                    turn,
                    text,
                    calls,
                    usage,
                    micro_usd: 1,
                    duration_ms: 1,
                    model,
                    vendor: None,
                });
            }
            Effect::Act { number, permitted: false, .. } if odd && number % 2 == 1 => {
                self.feed(Input::PermissionAsked { number, reason: "r".into() });
            }
            Effect::Act { number, .. } => {
                let status = if odd { OutcomeStatus::DiskSpent { what: "w".into() } } else { ok().status };
                self.feed(Input::ActionEnded { number, outcome: Outcome { status, ..ok() } });
            }
            Effect::Capture { n, .. } if odd => self.feed(Input::TreeRefused { n, reasons: vec!["r".into()] }),
            Effect::Capture { n, .. } => {
                let tree = captured_tree(self.new_commit());
                let taken = ArtifactStep::Taken(artifacts(n, tree.commit.clone()));
                self.feed(Input::Artifacts { step: Box::new(taken) });
                self.feed(Input::TreeCaptured { n, tree });
            }
            Effect::Push { n, commit, .. } => self.feed(Input::Pushed { n, commit }),
            Effect::Attach { .. } if odd => self.feed(Input::Settled),
            Effect::Attach { .. } => {
                let commit = self.walk.task.artifacts.as_ref().map(|held| held.commit.clone());
                self.feed(commit.map_or(Input::Settled, attached));
            }
            Effect::OpenPull => self.feed(Input::PullOpened { number: 2, url: String::new() }),
            Effect::Review { n, .. } => {
                self.number += 1;
                let number = self.number;
                match self.walk.task.pull {
                    Some(_) => self.feed(Input::ReviewPosted { n, review: number, number, risk: None }),
                    None => self.feed(Input::AnswerPosted { n, number }),
                }
            }
            Effect::Ask { about, .. } => {
                self.number += 1;
                self.feed(Input::QuestionPosted { about, number: self.number });
            }
            Effect::Verify { n, .. } => {
                let kind = if odd { VerdictKind::Failed } else { VerdictKind::Passed };
                let (verdict, ci) = (Verdict { kind, ..Verdict::default() }, (n % 2 == 0).then(CiWait::default));
                self.feed(Input::Verified { n, verdict, ci });
            }
            Effect::Open { .. } => self.feed(Input::Opened { fresh: odd.then_some(Loss::EngineRestarted) }),
            Effect::Keep { .. } if odd => self.feed(Input::WorkNotKept { reasons: vec!["r".into()] }),
            Effect::Keep { .. } => {
                let commit = self.new_commit();
                self.feed(Input::WorkKept { commit });
            }
            Effect::Recheck { sources, .. } => {
                let again: Vec<Decision> =
                    self.said.iter().filter(|said| sources.contains(&said.source)).cloned().collect();
                for decision in again {
                    self.feed(Input::Decided { decision: Box::new(decision) });
                }
                self.feed(Input::Settled);
            }
            Effect::Merge { asker, to, .. } => {
                let why = MergeBar::Forge { refusal: "not now".into() };
                self.feed(Input::NotMerged { why, login: asker.login, to });
            }
            Effect::Advance { n, .. } => self.feed(Input::AdvanceRead { n, decision: None }),
            Effect::AttachLog => self.feed(Input::LogAttached),
            Effect::Rest { .. }
            | Effect::Suspend { .. }
            | Effect::Teardown
            | Effect::ClosePull
            | Effect::ReadyPull
            | Effect::ShowPlan { .. }
            | Effect::Egress { .. }
            | Effect::Comment { .. }
            | Effect::StatusComment
            | Effect::Label { .. }
            | Effect::CommitStatus { .. } => self.feed(Input::Settled),
        }
    }

    fn play(&mut self, step: Move) {
        match step {
            Move::End(luck) => self.end(luck),
            Move::Say(verb) => self.say(verb),
            Move::Idle(suspension) => self.feed(Input::Idled { suspension }),
            Move::Void => {
                let n = self.walk.task.checkpoints.last().map_or(1, |at| at.n);
                self.feed(Input::CheckpointVoided { n });
            }
            Move::Slot => self.feed(Input::SlotFree),
            Move::RouterFails => {
                let failure = Failure::Blocked { sentence: "s".into() };
                self.feed(Input::EffectFailed { effect: "egress:1".into(), failure });
            }
        }
    }

    /// What people who want the work would do in this state.
    fn help(&mut self) {
        if !self.open.is_empty() {
            return self.end(Luck::Good);
        }
        match self.walk.task.state.clone() {
            State::Queued => self.feed(Input::SlotFree),
            State::AwaitingReview { .. } | State::FinalReview { .. } => self.say(Verb::approve()),
            State::Asking { about: QuestionSubject::Permission { .. }, .. } => {
                self.number += 1;
                let decision = Decision { source: Source::Comment(self.number), ..approval(self.number) };
                self.feed(Input::Decided { decision: Box::new(decision) });
            }
            State::Asking { .. } => self.say(Verb::Say { items: vec![Item::on_the_whole("this one", "p7")] }),
            State::Paused { reason: PauseReason::Budget { .. }, .. } => self.say(more_actions()),
            State::Paused { .. } => self.say(Verb::Resume),
            State::Approved { commit, .. } => self.feed(Input::Fetched { commit }),
            State::AwaitingCi { n, .. } => {
                let outcome = if n % 4 == 0 { CiOutcome::Failed } else { CiOutcome::Passed };
                self.feed(Input::CiEnded { n, outcome, checks: Vec::new(), more: 0 });
            }
            State::Preparing
            | State::Running
            | State::Publishing { .. }
            | State::Verifying { .. }
            | State::Ended { .. } => {}
        }
    }

    /// Whether a task at work has an effect that will continue it.
    fn moves(&self) -> bool {
        !self.walk.task.state.busy() || !self.open.is_empty()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_task_that_is_helped_comes_to_its_end_whatever_went_wrong(steps in moves(), budget in 0u64..12) {
        let mut shell = Shell::new(budget);
        for step in steps {
            shell.play(step.clone());
            prop_assert!(shell.moves(), "{:?} stands still after {step:?}: {:?}", shell.walk.task.state, shell.walk.last);
        }
        for _ in 0..400 {
            shell.help();
            prop_assert!(shell.moves(), "{:?} stands still: {:?}", shell.walk.task.state, shell.walk.last);
        }
        prop_assert_eq!(shell.walk.task.end(), Some(&End::Delivered), "{:?}", shell.walk.task);
    }

    /// A checkpoint to approve contains all actions: none is left out of its commit.
    #[test]
    fn a_checkpoint_to_approve_holds_everything_that_was_done(steps in moves()) {
        let mut shell = Shell::new(0);
        for step in steps {
            shell.play(step);
            let task = &shell.walk.task;
            if let State::AwaitingReview { commit: Some(commit), .. } | State::FinalReview { commit, .. } = &task.state {
                prop_assert!(!task.uncommitted, "{:?}", task);
                prop_assert_eq!(Some(commit), task.head.as_ref());
            }
            if task.suspension == Some(Suspension::Evicted) {
                prop_assert!(!task.uncommitted || task.kept.is_some(), "{:?}", task);
            }
        }
    }
}
