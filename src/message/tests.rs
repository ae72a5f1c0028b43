use super::*;
use crate::config::own_commands::{CommandFile, Content, OwnCommands};
use domain::{
    Account, Bar, Budget, BudgetBar, Commit, Ending, Event, Grant, GuardLack, MergeBar, Merged, Notice, OwnCommand,
    PauseReason, RebaseBar, Request, Resource, Source, State, Task, TaskId, TaskKind, Trigger, Verdict, VerdictKind,
};

const COMMIT: &str = "f26af04e7f0123456789012345678901234567ab";

pub(super) fn task(kind: TaskKind, state: State) -> Task {
    let person = Account { id: 2, login: "alice".into() };
    let request = Request {
        kind,
        repository: "semver".into(),
        issue: 1,
        title: "Compare versions by number".into(),
        body: String::new(),
        words: String::new(),
        asker: person.clone(),
        place: None,
        right: None,
        listed: Vec::new(),
        issue_author: person,
        edited: false,
        source: Source::Issue(1),
        number: 1,
        branch: "agent/1-compare-versions".into(),
        base_branch: "main".into(),
        budget: Budget { micro_usd: 2_000_000, tokens: 1_000_000, actions: 100, work_ms: 3_600_000 },
        every: 5,
        has_upstream: false,
        hosts: Vec::new(),
        terms: Default::default(),
        earlier: None,
        own: None,
        trigger: None,
        pull: None,
    };
    let mut task = Task::fold(TaskId(1), &[Event::Requested { request: Box::new(request) }]);
    task.state = state;
    task.pushed = Some(commit());
    task.spent.tokens = 12_400;
    task.spent.micro_usd = 31_000;
    task.spent.actions = 7;
    task.spent.work_ms = 112_000;
    task
}

pub(super) fn commit() -> Commit {
    Commit::parse(COMMIT).unwrap()
}

fn verdict(kind: VerdictKind) -> Verdict {
    let exit_code = Some(0);
    Verdict {
        kind,
        command: None,
        origin: None,
        exit_code,
        base_exit_code: None,
        tail: String::new(),
        duration_ms: 1,
        ..Verdict::default()
    }
}

fn said(given: Notice, task: &Task) -> String {
    notice(
        &given,
        &About { task, pull_url: Some("http://forge.example/lab/semver/pulls/2"), scripted: false, line: None },
    )
}

fn pauses() -> Vec<Notice> {
    let reasons = [
        PauseReason::Budget { what: "money".into() },
        PauseReason::Stuck { sentence: "five turns in a row held no call that does something".into() },
        PauseReason::ContextFull { context_tokens: None },
        PauseReason::ContextFull { context_tokens: Some(32_768) },
        PauseReason::Asked { login: "bob".into() },
        PauseReason::Exhausted { what: Resource::Memory, sentence: domain::Loss::Memory.to_string() },
        PauseReason::Exhausted { what: Resource::Disk, sentence: "its workspace grew by 5.0 GB".into() },
        PauseReason::Blocked { sentence: branch_moved("agent/1-x", None, Some(&commit())) },
    ];
    reasons.into_iter().map(|reason| Notice::Paused { reason }).collect()
}

#[test]
fn every_notice() {
    let login = || "bob".to_owned();
    let review = State::AwaitingReview { n: 2, commit: Some(commit()) };
    let all = [
        Notice::Accepted,
        Notice::Refused { login: login(), verb: "fix".into() },
        Notice::NotAmong { login: login(), verb: "fix".into(), whom: "administrators of the repository, alice".into() },
        Notice::AlreadyLive,
        Notice::NotReviewed { login: login(), own: true },
        Notice::NotReviewed { login: login(), own: false },
        Notice::Edited { login: login(), pushed: false },
        Notice::Edited { login: login(), pushed: true },
        Notice::Stale { login: login(), reason: "the branch no longer ends at f26af04e7f".into() },
        Notice::Unapprovable {
            login: login(),
            reason: "the branch changes more than tests, which `/test` may not".into(),
        },
        Notice::OthersAwaited { login: login(), n: 2, left: 1 },
        Notice::OthersAwaited { login: login(), n: 2, left: 3 },
        Notice::Doubtful { login: login(), n: 2 },
        Notice::NameTheCommit { login: login(), commit: commit() },
        Notice::Status,
        Notice::Reply { login: login(), number: 7, question: "why?".into() },
        Notice::Cost,
        Notice::Help,
        Notice::UnknownCommand { word: "aprove".into(), why: None },
        Notice::UnknownCommand { word: "allow".into(), why: None },
        Notice::UnknownCommand { word: "approve".into(), why: None },
        Notice::UnknownCommand { word: "deploy".into(), why: None },
        Notice::RemarksKept { login: login(), n: 2 },
        Notice::NothingToApprove { login: login() },
        Notice::NoChangesAnyMore { login: login() },
        Notice::NotPaused { login: login() },
        Notice::NothingToPause { login: login() },
        Notice::Retried { login: login() },
        Notice::TermsTooLate { login: login() },
        Notice::ModelChosen { login: login(), id: "local".into() },
        Notice::NoSuchModel { login: login(), id: "gpt".into(), among: vec!["local".into(), "big".into()] },
        Notice::NoSuchModel { login: login(), id: "gpt".into(), among: Vec::new() },
        Notice::Resumed,
        Notice::Approved { commit: commit() },
        Notice::Voided { n: 2 },
        Notice::Cancelled { login: login() },
        Notice::Declined,
        Notice::Failed { why: "the image has no git".into() },
        Notice::Delivered,
        Notice::Expired,
        Notice::LeftUndone { sentence: "the sandbox could not be put away".into() },
    ];
    let task = task(TaskKind::Fix, review);
    let texts: Vec<_> = all
        .into_iter()
        .chain(troubles())
        .chain(rebases())
        .chain(merges())
        .chain(pauses())
        .map(|n| format!("--- {n:?}\n{}\n", said(n.clone(), &task)))
        .collect();
    insta::assert_snapshot!("notices", texts.join("\n"));
}

fn troubles() -> [Notice; 2] {
    let full = "the disk is full: nothing was stored; free some space, the bot goes on by itself";
    ["the model answers 529", full].map(|sentence| Notice::Trouble { sentence: sentence.into() })
}

/// `/rebase`, followed and not.
fn rebases() -> Vec<Notice> {
    let bars = [
        RebaseBar::NoWork,
        RebaseBar::Later,
        RebaseBar::Paused,
        RebaseBar::Approved,
        RebaseBar::Early { n: 2 },
        RebaseBar::Uncommitted,
        RebaseBar::NotMoved,
        RebaseBar::NoBranch,
    ];
    let not = bars.into_iter().map(|why| Notice::NotRebased { login: "bob".into(), why });
    std::iter::once(Notice::Rebasing { login: "bob".into() }).chain(not).collect()
}

/// A merge, done and not.
fn merges() -> Vec<Notice> {
    let bars = [
        MergeBar::Off { repository: "shop".into() },
        MergeBar::Copied,
        MergeBar::NotApproved,
        MergeBar::Moved { commit: commit() },
        MergeBar::NoRight { login: "carol".into() },
        MergeBar::Unguarded { lack: GuardLack::Rule, branch: "main".into() },
        MergeBar::Unguarded { lack: GuardLack::Approvals, branch: "main".into() },
        MergeBar::Unguarded { lack: GuardLack::PushBar, branch: "main".into() },
        MergeBar::Unguarded { lack: GuardLack::MergeRight, branch: "main".into() },
        MergeBar::NotReviewed,
        MergeBar::Undecided,
        MergeBar::Forge { refusal: "POST /merge: 405 Does not have enough approvals @alice".into() },
    ];
    let not = bars.into_iter().map(|why| Notice::NotMerged { login: "bob".into(), why });
    let done = |by: &str, asked: Option<&str>| Notice::Merged {
        how: Merged { commit: commit(), by: by.into(), asked: asked.map(Into::into) },
    };
    not.chain([done("caisson", Some("bob")), done("alice", None)]).collect()
}

#[test]
fn budgets() {
    let login = || "bob".to_owned();
    let all = [
        Notice::BudgetGranted {
            login: login(),
            more: Budget { micro_usd: 2_000_000, tokens: 100_000, ..Budget::default() },
            lacks: None,
        },
        Notice::BudgetGranted {
            login: login(),
            more: Budget { actions: 1, work_ms: 1_200_000, ..Budget::default() },
            lacks: Some("money".into()),
        },
        Notice::BudgetRefused { login: login(), why: BudgetBar::Who { admins: true } },
        Notice::BudgetRefused { login: login(), why: BudgetBar::Who { admins: false } },
        Notice::BudgetRefused { login: login(), why: BudgetBar::Unlimited { what: "money".into() } },
        Notice::BudgetRefused {
            login: login(),
            why: BudgetBar::Ceiling { what: "actions".into(), left: 10, most: 400 },
        },
        Notice::BudgetRefused {
            login: login(),
            why: BudgetBar::Ceiling { what: "money".into(), left: 0, most: 20_000_000 },
        },
        Notice::BudgetNeeded { login: login(), what: "tokens".into() },
    ];
    let task = task(TaskKind::Fix, State::Running);
    let texts: Vec<_> = all.into_iter().map(|n| format!("--- {n:?}\n{}\n", said(n.clone(), &task))).collect();
    insta::assert_snapshot!("budgets", texts.join("\n"));
}

#[test]
fn hosts_and_approvals_in_advance() {
    let login = || "bob".to_owned();
    let all = [
        Notice::Status,
        Notice::UnknownCommand {
            word: "allow".into(),
            why: Some("`https://a.test/x`@all is a URL; write the host alone".into()),
        },
        Notice::HostAllowed { login: login(), host: "cdn.xn--bcher-kva.example:8443".into(), repo: false },
        Notice::HostAllowed { login: login(), host: "*.example.org".into(), repo: true },
        Notice::HostDenied { login: login(), host: "semver.org".into() },
        Notice::HostBarred {
            login: login(),
            host: "x.evil.example".into(),
            bar: Bar::Operator { rule: "*.evil.example".into() },
        },
        Notice::HostBarred { login: login(), host: "semver.org".into(), bar: Bar::NoNetwork },
        Notice::NothingToDeny { login: login(), host: "semver.org".into() },
        Notice::InAdvance { login: login(), next: 1 },
        Notice::InAdvance { login: login(), next: 3 },
        Notice::AdvanceEnded { login: login(), left: 2, why: Ending::Overtaken { login: "alice".into() } },
        Notice::AdvanceEnded { login: login(), left: 1, why: Ending::Moved { commit: commit() } },
    ];
    let mut task = task(TaskKind::Fix, State::AwaitingReview { n: 2, commit: Some(commit()) });
    let by = Account { id: 2, login: "alice".into() };
    task.hosts = vec![Grant { host: "*.semver.org".into(), repo: false, by }];
    let texts: Vec<_> = all.into_iter().map(|n| format!("--- {n:?}\n{}\n", said(n.clone(), &task))).collect();
    insta::assert_snapshot!("hosts_and_advance", texts.join("\n"));
    let grants = ["*.semver.org".to_owned(), "cdn.xn--bcher-kva.example:8443".to_owned()];
    let apart = [
        taken_back("bob", "semver.org", &grants),
        taken_back("b`ob", "semver.org", &[]),
        allowed_nowhere("bob", "cdn.xn--bcher-kva.example"),
    ];
    insta::assert_snapshot!("hosts_without_a_task", apart.join("\n\n"));
    task.state = State::Running;
    let now = said(Notice::HostAllowed { login: login(), host: "a.test".into(), repo: false }, &task);
    assert!(now.contains("It can be reached now."), "{now}");
}

#[test]
fn a_plan_is_quoted_and_leads_on() {
    let mut task = task(TaskKind::Plan, State::Running);
    insta::assert_snapshot!("plan_accepted", said(Notice::Accepted, &task));
    task.summary = Some("# Plan\n\n1. change `newer` (see #3, @bob)\n2. add a test\n".into());
    insta::assert_snapshot!("plan_answer", plan_answer(&task, 1, false, &AnswerParts::default()));
}

#[test]
fn a_review_is_taken_up_at_a_commit_and_begun_again_by_its_own_command() {
    let mut task = task(TaskKind::Review, State::Running);
    if let Some(request) = &mut task.request {
        request.pull = Some(domain::PullHead { head: commit(), target: "main".into() });
    }
    let taken_up = said(Notice::Accepted, &task);
    assert!(taken_up.contains("its review (of `f26af04e7f`, as it stands now) is posted here"), "{taken_up}");
    assert!(said(Notice::AlreadyLive, &task).contains("already reading this pull request"));
    assert!(said(Notice::Failed { why: "it is gone".into() }, &task).ends_with("`/review` starts a new one."));
}

#[test]
fn what_the_host_found_stands_before_the_agents_words_and_sources_behind_them() {
    let mut texts = Vec::new();
    for kind in [TaskKind::Security, TaskKind::Deps, TaskKind::Search] {
        let mut task = task(kind, State::Running);
        texts.push(said(Notice::Accepted, &task));
        task.summary = Some("One is **real** (`a.py:3`), @bob.".into());
        let not_there = vec!["a.py:99".to_owned()];
        let parts = AnswerParts { not_there, before: "A table.\n".into(), after: "A list.\n".into() };
        texts.push(plan_answer(&task, 1, false, &parts));
    }
    texts.extend([true, false].map(|networked| nowhere_to_look(networked).trim().to_owned()));
    texts.push(not_reviewed("bob", "security", NotReviewed::Closed));
    texts.push(not_reviewed("bob", "explain", NotReviewed::InAnIssue));
    insta::assert_snapshot!("found_by_the_host", texts.join("\n----\n"));
    let mut task = task(TaskKind::Security, State::Running);
    if let Some(request) = &mut task.request {
        request.pull = Some(domain::PullHead { head: commit(), target: "main".into() });
    }
    assert!(said(Notice::Accepted, &task).contains("its review (of `f26af04e7f`, as it stands now) is posted here"));
    assert!(said(Notice::Failed { why: "it is gone".into() }, &task).ends_with("`/security` starts a new one."));
}

#[test]
fn a_question_says_who_may_answer_and_that_it_approves_nothing() {
    let text = "Which of the two, @bob?\n</details>\n### Checkpoint 9".to_owned();
    let options = vec!["the **first**".to_owned(), "both\n/approve".to_owned()];
    let task = task(TaskKind::Fix, State::Running);
    insta::assert_snapshot!("question", question(&domain::Question { text, options }, &task, false));
}

#[test]
fn an_action_that_waits_for_permission_is_shown_as_it_would_run() {
    let task = task(TaskKind::Fix, State::Running);
    let run = domain::Action::Bash { command: "npm publish\n```\n/approve".into() };
    let what = whole(&run).expect("short enough");
    insta::assert_snapshot!(
        "permission",
        permission(7, &what, "nothing is published from here, @bob (publishing)", &task, false)
    );
}

#[test]
fn an_approval_says_what_was_checked() {
    let state = |kind| State::Approved { commit: commit(), verdict: verdict(kind) };
    let mut task = task(TaskKind::Fix, state(VerdictKind::Passed));
    let mut texts = Vec::new();
    for kind in [VerdictKind::Passed, VerdictKind::Failed, VerdictKind::None] {
        task.verdict = Some(verdict(kind));
        texts.push(said(Notice::Approved { commit: commit() }, &task));
    }
    insta::assert_snapshot!("approved", texts.join("\n"));
    task.verdict = Some(Verdict { command: Some("npm test".into()), ..verdict(VerdictKind::None) });
    assert!(said(Notice::Approved { commit: commit() }, &task).contains("the checks ran no test on it"));
}

#[test]
fn the_final_review_names_its_commit_everywhere() {
    let state = State::FinalReview { n: 3, commit: commit(), verdict: verdict(VerdictKind::Passed) };
    assert!(said(Notice::Status, &task(TaskKind::Fix, state)).contains("`/approve f26af04e7f`"));
}

#[test]
fn a_plan_stands_as_a_check_list_in_the_pull_request_and_the_rest_of_the_text_is_peoples() {
    use domain::{PlanStep, StepState};
    let step = |text: &str, state| PlanStep::new(text, state).unwrap();
    let first = pull_body(1, 7, &[step("find it", StepState::Doing), step("mend @bob's <b>", StepState::Open)], None);
    assert!(first.contains("- [ ] find it (under way)\n- [ ] mend `@bob's <b>`\n"), "{first}");
    let edited = format!("My words.\n\n{first}\nMore of mine.");
    let later = [step("find it", StepState::Done), step("<!-- caisson:plan-end -->", StepState::Dropped)];
    let shown = with_plan(&edited, &later).expect("another text");
    assert!(shown.starts_with("My words.") && shown.ends_with("More of mine."), "{shown}");
    assert!(shown.contains("- [x] find it\n") && shown.contains("(dropped)") && !shown.contains("mend"), "{shown}");
    assert_eq!(with_plan(&shown, &later), None, "nothing changes");
    let joined = [step("<`!--` caisson:plan-end --> <a/href=https://evil.test>Approve</a> @alice", StepState::Open)];
    let shown = with_plan(&edited, &joined).expect("another text");
    assert_eq!((shown.matches("<!--").count(), with_plan(&shown, &joined)), (2, None), "{shown}");
    assert_eq!(with_plan("somebody took it out", &later), None);
}

#[test]
fn who_stands_in_line_is_told_its_number_and_why() {
    use crate::line::{LinePosition, Why};
    let queued = task(TaskKind::Fix, State::Queued);
    let told = |why, given| {
        let line = LinePosition { number: 2, of: 1_005, why };
        notice(&given, &About { task: &queued, pull_url: None, scripted: false, line: Some(&line) })
    };
    let mut texts: Vec<String> = [Why::Full { most: 1 }, Why::Full { most: 4 }, Why::Repository { most: 2 }, Why::Soon]
        .into_iter()
        .chain([Why::Person { login: "@a`ll".into(), most: 1 }])
        .map(|why| told(why, Notice::AlreadyLive))
        .collect();
    texts.push(told(Why::Full { most: 4 }, Notice::Accepted));
    assert!(!told(Why::Soon, Notice::Accepted).contains("in line"), "nothing worth a word");
    insta::assert_snapshot!("line", texts.join("\n---\n"));
}

#[test]
fn the_pull_request_and_its_commits() {
    let texts = [
        pull_title("Fix @bob's `newer` — closes #12"),
        pull_title("@#!"),
        pull_body(1, 7, &[], None),
        self::commit_text(),
        branch_moved("agent/1-x", Some(&commit()), None),
        no_task("bob"),
        starts_elsewhere("bob", true),
        starts_elsewhere("bob", false),
        left_undone("b`ob", "`/stop`", &["approve".into(), "fix".into()], &["budget".into()]),
        approval_left("b`ob"),
        left_inline("b`ob", &["approve".into(), "frobnicate".into(), "allow".into()]),
        left_in_lines("b`ob", &["review".into(), "test-pr".into()]),
        remarks_to_nobody("b`ob"),
        remarks_too_early("b`ob"),
        remarks_edited("b`ob"),
        malformed("revise", "say what to change after it"),
        status_line("pending", 3, Some(&verdict(VerdictKind::Passed))),
        trouble("the sandbox cannot be reached: the broker's socket is closed."),
    ];
    insta::assert_snapshot!("pull", texts.join("\n---\n"));
}

fn commit_text() -> String {
    super::commit(1, 2, false)
}

#[test]
fn a_login_mentions_nobody() {
    let review = State::AwaitingReview { n: 2, commit: None };
    for given in [
        Notice::Refused { login: "@all".into(), verb: "fix`@x".into() },
        Notice::Cancelled { login: "`@all".into() },
        Notice::UnknownCommand { word: "x`@all".into(), why: None },
        Notice::Failed { why: "@all see #1".into() },
    ] {
        let text = said(given, &task(TaskKind::Fix, review.clone()));
        for event in pulldown_cmark::Parser::new(&text) {
            if let pulldown_cmark::Event::Text(words) = event {
                assert!(!words.contains(['@', '#']), "{text}");
            }
        }
    }
}

#[test]
fn what_begins_without_a_command_is_named() {
    let label = Trigger::Label { name: "agent `x`".into() };
    let mut texts = Vec::new();
    for (trigger, kind) in
        [(Trigger::Assigned, TaskKind::Fix), (label.clone(), TaskKind::Plan), (Trigger::Writer, TaskKind::Plan)]
    {
        let mut task = task(kind, State::Queued);
        let request = task.request.as_mut().expect("asked");
        request.trigger = Some(trigger.clone());
        texts.push(said(Notice::Accepted, &task));
        texts.push(trigger_edited("alice", &trigger, kind));
    }
    texts.push(trigger_refused("eve", &Trigger::Assigned, TaskKind::Fix, None));
    texts.push(trigger_refused("eve", &label, TaskKind::Plan, Some("administrators of the repository")));
    insta::assert_snapshot!("triggers", texts.join("\n\n---\n\n"));
}

#[test]
fn a_repositorys_own_commands_are_listed_named_and_refused() {
    let file = |name: &str, text: &str| CommandFile {
        name: format!("{name}.md"),
        blob: String::new(),
        content: Content::Bytes(format!("+++\ndescription = \"{text}\"\n+++\nDo it.").into_bytes()),
    };
    let who = "d\"\nkind = \"plan\"\nwho = [\"admins\", \"@b`ob\"]\nmodel = \"x";
    let commands = OwnCommands::read(&[
        file("notes", "Writes | the [notes](http://evil.test) of @alice's #1"),
        file("look", who),
        file("fix", "Never"),
        file("broken", "\nkind"),
    ]);
    let table = help(&commands);
    let table = table.split_once("To answer a checkpoint").expect("the rest").1;
    let own = OwnCommand {
        name: "notes".into(),
        commit: commit(),
        blob: String::new(),
        who: Vec::new(),
        every: None,
        budget: Budget { micro_usd: 50_000_000, tokens: 0, actions: 101, work_ms: 60_000 },
        network: vec!["a.test".into(), "b.test:8443".into(), "c.test".into()],
        lacks: vec!["b.test:8443".into()],
        closed: vec!["c.test".into()],
        model: None,
        role: None,
    };
    let mut begun = task(TaskKind::Plan, State::Queued);
    begun.request.as_mut().expect("asked").own = Some(Box::new(own));
    let texts = [
        table.to_owned(),
        said(Notice::Accepted, &begun),
        unknown_here("note", None, &["look", "notes"]),
        unknown_here("notes", None, &["look", "notes"]),
        unknown_here("aprove", None, &["look", "notes"]),
        unknown_here("notes", Some(OWN_WHILE_AT_WORK), &[]),
        unknown_beside("revise", Some("say what to change after it"), &[]),
        own_not_among("ev`e", "look", "administrators of the repository, b`ob"),
        own_barred("eve", "look", TaskKind::Plan, "administrators of the repository"),
        own_model_refused("eve", "look", "x", &["local".to_owned()]),
        own_model_refused("eve", "look", "x", &[]),
    ];
    insta::assert_snapshot!("own_commands", texts.join("\n---\n"));
    assert!(!help(&OwnCommands::default()).contains("own commands"));
}
