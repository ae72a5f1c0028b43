//! Feeds a task with inputs and keeps its whole log.

use caisson_domain::*;

pub const BASE: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
pub const ONE: &str = "1111111111111111111111111111111111111111";

pub fn commit(text: &str) -> Commit {
    Commit::parse(text).expect("a commit")
}

pub fn person(id: i64) -> Account {
    Account { id, login: format!("p{id}") }
}

pub fn request(kind: TaskKind) -> Request {
    Request {
        kind,
        repository: "shop".into(),
        issue: 1,
        title: "t".into(),
        body: String::new(),
        words: String::new(),
        asker: person(7),
        place: None,
        right: None,
        listed: Vec::new(),
        issue_author: person(7),
        edited: false,
        source: Source::Issue(1),
        number: 0,
        branch: "agent/1-t".into(),
        base_branch: "main".into(),
        budget: Budget::default(),
        every: 5,
        has_upstream: true,
        hosts: Vec::new(),
        terms: Default::default(),
        earlier: None,
        own: None,
        trigger: None,
        pull: None,
    }
}

pub fn call(call: Call) -> CallRequest {
    CallRequest { id: "c".into(), name: "n".into(), arguments: serde_json::Value::Null, call }
}

pub fn bash() -> CallRequest {
    call(Call::Action { action: Action::Bash { command: "true".into() } })
}

pub fn done() -> CallRequest {
    call(Call::Done { summary: "did it".into(), claims: Vec::new() })
}

pub fn ask() -> CallRequest {
    call(Call::Ask { question: Question { text: "which?".into(), options: vec!["this".into()] } })
}

pub fn prepared() -> Input {
    Input::Prepared {
        base: commit(BASE),
        boot: "b".into(),
        image: "i".into(),
        every: 5,
        note: None,
        budget: None,
        rules: Rules::default(),
        pictures: Vec::new(),
        difference: None,
        scan: None,
        on_base: None,
        conflicts: Vec::new(),
    }
}

pub fn ok() -> Outcome {
    Outcome { duration_ms: 1, ..Outcome::new(OutcomeStatus::Exited { code: 0 }, "") }
}

pub fn approval(number: i64) -> Decision {
    Decision {
        at: 1_000_000,
        commit: Some(commit(ONE)),
        head: Some(commit(ONE)),
        base: Some("main".into()),
        ..Decision::new(Source::Review(number), number, (person(7), Access::Write), Verb::approve())
    }
}

/// By the same person, in a comment with this number.
pub fn said(number: i64, verb: Verb) -> Decision {
    Decision { source: Source::Comment(number), commit: None, verb, ..approval(number) }
}

/// `/budget 10 actions`, with unlimited grants by writers.
pub fn more_actions() -> Verb {
    let more = Budget { actions: 10, ..Budget::default() };
    Verb::Budget { more, ceiling: Budget::default(), who: Granters::Writers }
}

/// `/approve next …` in a comment.
pub fn in_advance(number: i64, next: u8) -> Decision {
    let verb = Verb::Approve { checkpoint: None, commit: None, next };
    Decision { source: Source::Comment(number), commit: None, verb, ..approval(number) }
}

pub fn remark(text: &str) -> Item {
    Item { path: None, line: None, old: None, text: text.into(), author: "p7".into(), comment: None }
}

/// An effect that somebody has to help with.
pub fn blocked(effect: &str) -> Input {
    Input::EffectFailed { effect: effect.into(), failure: Failure::Blocked { sentence: "the key is wrong".into() } }
}

/// Why the newest refused decision was refused.
pub fn reason(walk: &Walk) -> Option<&str> {
    walk.log.iter().rev().find_map(|event| match event {
        Event::DecisionRefused { reason, .. } => Some(reason.as_str()),
        _ => None,
    })
}

pub fn captured_tree(commit: Commit) -> CapturedTree {
    CapturedTree {
        outside: Vec::new(),
        marked: Vec::new(),
        facts: Vec::new(),
        commit,
        files: Vec::new(),
        diff: String::new(),
        steering: Vec::new(),
        diff_cut: 0,
        left_out: Vec::new(),
    }
}

/// A file that was taken beside this commit, at checkpoint `n`.
pub fn artifacts(n: u32, commit: Commit) -> Artifacts {
    let file = Artifact { path: "dist/a.whl".into(), bytes: 3, sha256: "ab".repeat(32) };
    let (left, unmatched) = (Vec::new(), Vec::new());
    Artifacts { n, commit, files: vec![file], left, more: 0, unmatched, trouble: None, hang: None }
}

pub fn attached(commit: Commit) -> Input {
    let hang = ArtifactsHang::Under { name: "a.zip".into() };
    Input::Artifacts { step: Box::new(ArtifactStep::Attached { commit, hang }) }
}

pub struct Walk {
    pub task: Task,
    pub log: Vec<Event>,
    /// Without the status comment, which nearly every step wants.
    pub last: Step,
    /// Whether the last step wants it.
    pub shows: bool,
    /// Whether all slots are taken, so that tasks in line wait.
    pub crowded: bool,
    at: i64,
}

impl Walk {
    pub fn new(kind: TaskKind) -> Self {
        Walk::asked(request(kind))
    }

    pub fn asked(request: Request) -> Self {
        let mut walk = Walk {
            task: Task::new(TaskId(1)),
            log: Vec::new(),
            last: Step::default(),
            shows: false,
            crowded: true,
            at: 0,
        };
        walk.feed(Input::Requested { request: Box::new(request) });
        walk.crowded = false;
        walk
    }

    /// Feeds an input; a task in line gets a slot at once, unless `crowded`.
    pub fn feed(&mut self, input: Input) -> &mut Self {
        self.take(input);
        if !self.crowded && self.last.events.contains(&Event::SlotAwaited) {
            let first = std::mem::take(&mut self.last);
            self.take(Input::SlotFree);
            self.last.events.splice(0..0, first.events);
            self.last.effects.splice(0..0, first.effects);
        }
        self
    }

    fn take(&mut self, input: Input) {
        self.at += 1;
        let envelope = Envelope { key: self.at.to_string(), now: self.at, input };
        (self.task, self.last) = transition(&self.task, &envelope);
        let wanted = self.last.effects.len();
        self.last.effects.retain(|effect| *effect != Effect::StatusComment);
        self.shows = self.last.effects.len() < wanted;
        self.log.extend(self.last.events.iter().cloned());
    }

    /// Feeds an input that does not fit: no event, no effect, and the task stays as it is.
    pub fn ignores(&mut self, input: Input) -> &mut Self {
        let (shown, before) = (format!("{input:?}"), self.task.clone());
        self.feed(input);
        assert_eq!(self.task, before, "{shown}");
        assert!(self.last == Step::default() && !self.shows, "{shown}: {:?}", self.last);
        self
    }

    pub fn running(kind: TaskKind) -> Self {
        let mut walk = Walk::new(kind);
        walk.feed(Input::SlotFree);
        walk.feed(prepared());
        walk
    }

    pub fn answer(&mut self, calls: Vec<CallRequest>) -> &mut Self {
        let turn = self.task.turn + 1;
        self.feed(Input::ModelCallStarting { turn, worst_micro_usd: 10 });
        self.feed(Input::ModelAnswered {
            turn,
            text: "words".into(),
            calls,
            usage: Usage { input: 10, output: 5, ..Usage::default() },
            micro_usd: 3,
            duration_ms: 2,
            model: "m".into(),
            vendor: None,
        })
    }

    pub fn acts(&mut self, n: u32) -> &mut Self {
        for _ in 0..n {
            let number = self.task.running.expect("an action runs");
            self.feed(Input::ActionEnded { number, outcome: ok() });
        }
        self
    }

    pub fn captured(&mut self, n: u32) -> &mut Self {
        let tree = captured_tree(commit(ONE));
        self.feed(Input::TreeCaptured { n, tree }).feed(Input::Pushed { n, commit: commit(ONE) });
        if self.task.pull.is_none() {
            self.feed(Input::PullOpened { number: 2, url: String::new() });
        }
        self
    }

    /// At checkpoint 1, posted with the forge's number 100.
    pub fn at_checkpoint() -> Self {
        let mut walk = Walk::running(TaskKind::Fix);
        walk.answer(vec![bash(); 5]).acts(5).captured(1);
        walk.feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
        walk
    }

    /// Approves and continues to checkpoint `n`, posted with the forge's number `100 * n`.
    pub fn on_to_checkpoint(&mut self, n: u32) -> &mut Self {
        self.feed(Input::Opened { fresh: None }).answer(vec![bash(); 5]).acts(5).captured(n);
        let (review, number) = (i64::from(50 + n), i64::from(100 * n));
        self.feed(Input::ReviewPosted { n, review, number, risk: None })
    }

    pub fn verdict(&mut self, n: u32, kind: VerdictKind) -> &mut Self {
        let verdict = Verdict {
            kind,
            command: Some("test".into()),
            origin: None,
            exit_code: Some(0),
            base_exit_code: None,
            tail: String::new(),
            duration_ms: 1,
            ..Verdict::default()
        };
        self.feed(Input::Verified { n, verdict, ci: None })
    }

    pub fn at_final() -> Self {
        let mut walk = Walk::running(TaskKind::Fix);
        walk.answer(vec![bash(), done()]).acts(1).captured(1).verdict(1, VerdictKind::Passed);
        walk.feed(Input::ReviewPosted { n: 1, review: 50, number: 100, risk: None });
        walk
    }

    pub fn decide(&mut self, decision: Decision) -> &mut Self {
        self.feed(Input::Decided { decision: Box::new(decision) })
    }

    pub fn wants(&self, kind: &str) -> bool {
        self.last.effects.iter().any(|e| e.kind() == kind)
    }

    pub fn notice(&self) -> Option<&Notice> {
        self.last.effects.iter().find_map(|e| match e {
            Effect::Comment { notice, .. } => Some(notice),
            _ => None,
        })
    }
}
