//! Builds a view from a task's log. Pure; data outside of the log is in [`ViewContext`].

use super::view::{
    ActionLine, ActionResult, BaseMoved, BlockedLine, CheckpointView, EvidenceLine, HostChange, HostLine, Overlap,
    Spent, UploadLine, VerdictView,
};
use super::{evidence, touched};
use crate::redact;
use crate::sandbox::failures::failure;
use crate::sandbox::mistakes;
use crate::text::cut;
use domain::{
    Action, Call, Event, Outcome, OutcomeStatus, PlanStep, Risk, Shown, StepState, Task, Usage, Verdict, Why,
};
use std::collections::BTreeMap;

/// The most characters of a mistake, so that with the number of further ones it fits into a cell.
const MAX_MISTAKE: usize = 130;

/// Data for a view that is not in the task's log.
#[derive(Clone, Debug, Default)]
pub struct ViewContext {
    /// Address for people of the comparison between base branch and task branch; none where it cannot be made.
    pub compare_url: Option<String>,
    /// Address for people of the repository's commits, which ends with `/commit/`; none where it cannot be made.
    pub commits_url: Option<String>,
    /// What the router refused since the last checkpoint.
    pub blocked: Vec<BlockedLine>,
    /// Hosts to which much was sent since then.
    pub uploads: Vec<UploadLine>,
    /// Entries of the router's log since then that were lost.
    pub lost_entries: u64,
    /// Other live tasks that change files of this one.
    pub overlaps: Vec<Overlap>,
    /// How far the base branch is ahead of this task's base.
    pub base_moved: Option<BaseMoved>,
    /// Whether the model is a recording.
    pub scripted: bool,
    /// How many people have to approve it; 0 and 1 = one.
    pub approvals: u8,
    /// Whether it is the final review.
    pub last: bool,
    /// What the forge's CI says so far.
    pub ci: Vec<domain::CiCheck>,
}

/// The view of checkpoint `n` while it is being published: everything since the one before.
pub fn gather(task: &Task, log: &[Event], n: u32, around: ViewContext) -> CheckpointView {
    let window = &log[start(log, n)..];
    let of_done = done_window(log, window);
    let request = task.request.as_ref();
    let mut view = CheckpointView {
        task: task.id.0,
        n,
        since: before(log, n).map(|(_, n)| n),
        summary: summary(of_done),
        next: next_step(&task.steps),
        branch: request.map(|r| r.branch.clone()).unwrap_or_default(),
        base_branch: request.map(|r| r.base_branch.clone()).unwrap_or_default(),
        begins_at: request.and_then(|r| Some((r.earlier.as_ref()?.task.0, r.start()?.n))),
        asked: request.map(|r| r.asker.login.clone()),
        commit: task.captured.as_ref().map(|commit| commit.as_str().to_owned()),
        refused: task.refusal.clone(),
        spent: Spent {
            tokens: task.spent.tokens,
            reasoning: thought(log),
            cost_micros: task.spent.micro_usd,
            unpriced: task.spent.unpriced,
            granted_micros: Some(task.granted.micro_usd).filter(|micros| *micros > 0),
            duration_ms: task.spent.work_ms,
        },
        verdict: task.verdict.as_ref().map(verdict),
        compare_url: around.compare_url,
        blocked: around.blocked,
        uploads: around.uploads,
        lost_entries: around.lost_entries,
        overlaps: around.overlaps,
        base_moved: around.base_moved,
        scripted: around.scripted,
        approvals: around.approvals,
        advance: task.advance.as_ref().map(|given| (given.poster.login.clone(), given.left)),
        ..CheckpointView::default()
    };
    super::ci::gather(&mut view, task, (log, start(log, n)), around.ci, around.commits_url.as_deref());
    actions(&mut view, log, window);
    second_look(&mut view, window, n);
    view.claims =
        super::claims::gather(of_done, || lines(log, log, &view.blocked).into_iter().map(|(line, _)| line).collect());
    view.remarks = super::remarks::gather(log, start(log, n));
    view.conflict_items = super::conflict_items::gather(log, start(log, n));
    (view.looked, view.breach, view.artifacts) = (looked(window), breach(task, log), task.artifacts.clone());
    view.candidates = super::candidates::gather(log, window);
    view.waiting = waiting(task);
    view.note = window.iter().rev().find_map(|event| match event {
        Event::Prepared { note, .. } => note.clone(),
        _ => None,
    });
    (view.happened, view.hosts) = (super::happened::gather(task, log, window), window.iter().flat_map(hosts).collect());
    super::trees::gather(&mut view, (log, start(log, n)), around.commits_url.as_deref());
    let blocked = (!view.blocked.is_empty()).then_some(Risk::Blocked);
    let upload = (!view.uploads.is_empty() || view.lost_entries > 0).then_some(Risk::Upload);
    let unseen = view.unseen.then_some(Risk::Unseen);
    view.risk = task.risk(around.last).or(blocked).or(upload).or(unseen);
    view
}

/// Index in the log where checkpoint `n` begins: after the last valid one before it.
pub fn start(log: &[Event], n: u32) -> usize {
    before(log, n).map_or(0, |(at, _)| at + 1)
}

/// Place in the log and number of the last valid checkpoint before `n`, because a voided one does not count as seen.
fn before(log: &[Event], n: u32) -> Option<(usize, u32)> {
    let void = |n: u32| log.iter().any(|event| matches!(event, Event::CheckpointVoided { n: at } if *at == n));
    let stands = |(at, event): (usize, &Event)| match event {
        Event::CheckpointPosted { n: posted, .. } | Event::Answered { n: posted, .. } => {
            (*posted < n && !void(*posted)).then_some((at, *posted))
        }
        _ => None,
    };
    log.iter().enumerate().rev().find_map(stands)
}

/// Where the agent's summary and claims stand: in the window, but for finished work that was merged onto a newer base without the agent
/// those of the `done` before.
fn done_window<'a>(log: &'a [Event], window: &'a [Event]) -> &'a [Event] {
    let moved = window.iter().rposition(|event| matches!(event, Event::Rebased(_)));
    let Some(since) = moved.map(|at| &window[at..]) else { return window };
    let finished = since.iter().any(|event| matches!(event, Event::PublishStarted { why: Why::Done, .. }));
    if !finished || since.iter().any(|event| matches!(event, Event::TurnCompleted { .. })) {
        return window;
    }
    let done = log.iter().rev().find_map(|event| match event {
        Event::DoneSaid { turn, .. } => Some(*turn),
        _ => None,
    });
    let from = done.and_then(|done| {
        log.iter().rposition(|event| matches!(event, Event::TurnCompleted { turn, .. } if *turn == done))
    });
    from.map_or(window, |from| &log[from..])
}

/// Tokens of hidden reasoning in the whole task.
fn thought(log: &[Event]) -> u64 {
    let of = |event: &Event| match event {
        Event::TurnCompleted { usage, .. } => usage.reasoning,
        _ => 0,
    };
    log.iter().map(of).sum()
}

/// The agent's summary at `done`, or else its last text.
fn summary(window: &[Event]) -> String {
    let done = window.iter().rev().find_map(|event| match event {
        Event::DoneSaid { summary, .. } => Some(summary.clone()),
        _ => None,
    });
    let said = || {
        window.iter().rev().find_map(|event| match event {
            Event::TurnCompleted { text, .. } if !text.trim().is_empty() => Some(text.clone()),
            _ => None,
        })
    };
    // Redacted before anything is cut: of half a credential the pattern would not be recognised.
    redact::in_words(&done.filter(|text| !text.trim().is_empty()).or_else(said).unwrap_or_default())
}

fn looked(window: &[Event]) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for event in window {
        let Event::Looked { look, .. } = event else { continue };
        for file in &look.files {
            if !out.iter().any(|(path, _)| *path == file.path) {
                out.push((file.path.clone(), file.because.clone()));
            }
        }
    }
    out
}

fn waiting(task: &Task) -> Vec<(String, String)> {
    let actions = task.waiting.iter().filter_map(|(_, request)| request.call.action());
    actions.map(|action| (action.kind().to_owned(), action.object().into_owned())).collect()
}

/// The step under way, or else the first open one.
fn next_step(steps: &[PlanStep]) -> String {
    let at = |state: StepState| steps.iter().find(|step| step.state == state);
    at(StepState::Doing).or_else(|| at(StepState::Open)).map(|step| step.text.clone()).unwrap_or_default()
}

/// The actions of a segment of the log, each with its request.
pub fn lines<'a>(log: &'a [Event], window: &'a [Event], blocked: &[BlockedLine]) -> Vec<(ActionLine, &'a Action)> {
    let mut asked: BTreeMap<(u32, u32), &Action> = BTreeMap::new();
    for event in log {
        if let Event::TurnCompleted { turn, calls, .. } = event {
            for (index, call) in (0_u32..).zip(calls) {
                if let Call::Action { action } = &call.call {
                    asked.insert((*turn, index), action);
                }
            }
        }
    }
    let mut ended: BTreeMap<u32, &Outcome> = BTreeMap::new();
    for event in window {
        if let Event::ActionFinished { number, outcome } = event {
            ended.insert(*number, outcome);
        }
    }
    let line = |event: &Event| {
        let Event::ActionStarted { number, turn, index } = event else { return None };
        let action = *asked.get(&(*turn, *index))?;
        let outcome = ended.get(number).copied();
        let result = outcome.map_or(ActionResult::Interrupted, |outcome| result(action, outcome, blocked));
        let (kind, what) = (action.kind().to_owned(), redact::in_words(&action.object()));
        let mistake = outcome.and_then(|outcome| mistake(action, outcome));
        let by_command = touched::of(action, outcome);
        let mut wrote: Vec<String> = action.written().into_iter().map(str::to_owned).collect();
        wrote.extend(by_command.into_iter().flat_map(touched::written).cloned());
        let touched = by_command.and_then(touched::named).map(Box::new);
        Some((ActionLine { n: *number, kind, what, wrote, result, mistake, touched }, action))
    };
    window.iter().filter_map(line).collect()
}

fn actions(view: &mut CheckpointView, log: &[Event], window: &[Event]) {
    for (line, action) in lines(log, window, &view.blocked) {
        if let Action::Bash { command } = action
            && evidence::has_run(&line.result)
        {
            view.evidence.push(EvidenceLine { command: redact::in_words(command), result: line.result.clone() });
        }
        view.actions.push(line);
    }
    evidence::keep_telling(&mut view.evidence);
}

fn result(action: &Action, outcome: &Outcome, blocked: &[BlockedLine]) -> ActionResult {
    let ms = outcome.duration_ms;
    match &outcome.status {
        OutcomeStatus::Ok => succeeded(action, outcome),
        OutcomeStatus::Exited { code } => exited(*code, outcome),
        OutcomeStatus::Signaled { signal } => ActionResult::Signaled { signal: *signal, ms },
        OutcomeStatus::TimedOut => ActionResult::TimedOut { ms },
        OutcomeStatus::OutOfMemory => ActionResult::Exhausted("memory"),
        OutcomeStatus::OutOfPids => ActionResult::Exhausted("processes"),
        OutcomeStatus::DiskFull | OutcomeStatus::DiskSpent { .. } => ActionResult::Exhausted("disk space"),
        OutcomeStatus::Interrupted => ActionResult::Interrupted,
        OutcomeStatus::Denied { reason } => ActionResult::Denied(reason.clone()),
        OutcomeStatus::Failed { reason } => match action {
            Action::WebFetch { url } if is_blocked(url, blocked) => ActionResult::Blocked,
            _ => ActionResult::Failed(reason.clone()),
        },
    }
}

/// The first mistake that the sandbox found in what was written, and how many more there are.
fn mistake(action: &Action, outcome: &Outcome) -> Option<String> {
    let found = mistakes::of(action, outcome)?;
    let mut places = mistakes::places(found);
    let (first, missing) = cut(places.next()?, MAX_MISTAKE);
    let first = format!("{first}{}", if missing > 0 { "…" } else { "" });
    let more = places.count();
    Some(if more > 0 { format!("{first} (and {more} more)") } else { first })
}

/// A line that reports a failure has priority over any other.
fn exited(code: i32, outcome: &Outcome) -> ActionResult {
    let failure = failure(&outcome.text).map(|line| summary_line(&line));
    let failed = failure.is_some();
    ActionResult::Exited {
        code,
        note: failure.or_else(|| test_summary(&outcome.text)),
        failed,
        ms: outcome.duration_ms,
    }
}

fn succeeded(action: &Action, outcome: &Outcome) -> ActionResult {
    let lines = |text: &str| text.lines().count() as u64;
    match action.shown() {
        Shown::Ended => exited(0, outcome),
        Shown::Started => ActionResult::Started,
        Shown::Done => ActionResult::Done,
        Shown::Printed => ActionResult::Lines(lines(&outcome.text)),
        Shown::Wrote(texts) => ActionResult::Lines(texts.into_iter().map(lines).sum()),
        Shown::Replaced(edits) => {
            let changed = edits.into_iter().map(|(old, new)| changed_lines(old, new));
            let (added, removed) = changed.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
            ActionResult::Changed { added, removed }
        }
    }
}

fn is_blocked(url: &str, blocked: &[BlockedLine]) -> bool {
    let host = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.is_some_and(|host| blocked.iter().any(|line| line.host.eq_ignore_ascii_case(&host)))
}

/// Number of lines that differ between an edit's two texts, without common ones at both ends.
fn changed_lines(old: &str, new: &str) -> (u64, u64) {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    ((new.len() - head - tail) as u64, (old.len() - head - tail) as u64)
}

/// A test runner's summary line near the end, if there is one.
fn test_summary(text: &str) -> Option<String> {
    let sums_up = |line: &&str| {
        let counted = line.split_whitespace().zip(line.split_whitespace().skip(1)).any(|(number, word)| {
            let word = word.trim_end_matches([',', ';', '.']);
            number.chars().all(|c| c.is_ascii_digit()) && matches!(word, "passed" | "failed" | "passing" | "failing")
        });
        counted || line.starts_with("test result:") || line.starts_with("FAILED (") || line.starts_with("OK (")
    };
    let line = text.lines().rev().take(30).map(|line| line.trim().trim_matches('=').trim()).find(sums_up)?;
    Some(summary_line(line))
}

fn summary_line(line: &str) -> String {
    line.trim().trim_matches('=').trim().to_owned()
}

fn hosts(event: &Event) -> Vec<HostLine> {
    let line = |host: &str, by: &str, change| HostLine { host: host.to_owned(), by: by.to_owned(), change };
    match event {
        Event::Requested { request } => {
            request.hosts.iter().map(|known| line(&known.host, &known.by.login, HostChange::Before)).collect()
        }
        Event::HostAllowed { host, repo, decision } => {
            let change = if *repo { HostChange::Repository } else { HostChange::Task };
            vec![line(host, &decision.poster.login, change)]
        }
        Event::HostDenied { host, decision } => vec![line(host, &decision.poster.login, HostChange::TakenBack)],
        _ => Vec::new(),
    }
}

/// The newest tree of ours says what the whole branch changes against the base.
fn breach(task: &Task, log: &[Event]) -> Option<(&'static str, Vec<String>)> {
    let newest = log.iter().rev().find_map(|event| match event {
        Event::TreeCaptured { tree, .. } => Some(&tree.outside),
        _ => None,
    });
    let files = newest.filter(|files| !files.is_empty() && !task.kind.traits().breach.is_empty())?;
    Some((task.kind.traits().breach, files.clone()))
}

fn verdict(verdict: &Verdict) -> VerdictView {
    VerdictView {
        kind: verdict.case(),
        exit_code: verdict.exit_code,
        command: verdict.command.clone(),
        chosen_by: verdict.origin.clone().unwrap_or_default(),
        tail: verdict.tail.clone(),
        failure: failure(&verdict.tail).map(|line| summary_line(&line)),
        base_exit: verdict.base_exit_code,
        base_tests: verdict.base_tests,
        missing: verdict.missing.clone(),
        looked_for: verdict.looked_for,
        not_compared: verdict.not_compared,
        against_base: verdict.against_base.clone(),
    }
}

/// The text of a second model at checkpoint `n`; otherwise why there is none, if one was to be asked.
fn second_look(view: &mut CheckpointView, window: &[Event], n: u32) {
    let of_this = |event: &&Event| matches!(event, Event::SecondLooked { n: of, .. } | Event::SecondLookStarted { n: of, .. } if *of == n);
    let Some(newest) = window.iter().rev().find(of_this) else { return };
    if matches!(newest, Event::SecondLookStarted { .. }) {
        view.no_second_look = Some(("its answer was lost, or took too long".to_owned(), String::new()));
        return;
    }
    let answers = window.iter().filter_map(|event| match event {
        Event::SecondLooked { n: of, text, usage, model, .. } if *of == n => Some((text, usage, model)),
        _ => None,
    });
    let answers: Vec<(&String, &Usage, &String)> = answers.collect();
    // Where no model of the list answered, the first one is named.
    let newest = answers.last().filter(|(_, usage, _)| usage.total() > 0);
    let Some(&(text, usage, model)) = newest.or(answers.first()) else { return };
    // The host's own words have no tokens; earlier versions stored none of them.
    let why = match (text.trim(), usage.total()) {
        ("", 0) => "it could not be asked",
        ("", 1..) => "its answer was empty",
        (why, 0) => why,
        (_, 1..) => {
            view.second_look = Some((text.clone(), model.clone()));
            return;
        }
    };
    view.no_second_look = Some((why.to_owned(), model.clone()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_in_the_background_is_no_evidence() {
        let action = Action::Background { command: "make serve".into() };
        let outcome = Outcome::new(OutcomeStatus::Ok, "process 7 runs in the background");
        assert_eq!(result(&action, &outcome, &[]), ActionResult::Started);
        assert_eq!((action.kind(), action.object().as_ref()), ("bash", "make serve"));
    }

    #[test]
    fn a_line_that_sums_up_is_kept_whole() {
        let line = format!("FAILED ({}=1)", "failures".repeat(20));
        let ended = exited(1, &Outcome::new(OutcomeStatus::Exited { code: 1 }, format!("..\n{line}\n")));
        assert!(matches!(&ended, ActionResult::Exited { note: Some(note), .. } if *note == line), "{ended:?}");
    }

    #[test]
    fn what_a_new_kind_of_change_did_is_told() {
        let done = |action: &Action| result(action, &Outcome::new(OutcomeStatus::Ok, "x\n"), &[]);
        let edit = |old: &str, new: &str| domain::TextEdit { old: old.into(), new: new.into(), all: false };
        let edits = vec![edit("a\nb\n", "a\nc\nd\n"), edit("x\n", "")];
        let several = Action::EditPlaces { path: "a.py".into(), edits };
        assert_eq!(done(&several), ActionResult::Changed { added: 2, removed: 2 });
        assert_eq!((several.kind(), several.object().as_ref()), ("edit_file", "a.py"));
        let moved = Action::MoveFile { from: "a".into(), to: "b/c".into() };
        assert_eq!((moved.kind(), moved.object().as_ref(), done(&moved)), ("move_file", "a → b/c", ActionResult::Done));
        let gone = Action::DeleteFile { path: "d".into(), recursive: true };
        assert_eq!((gone.kind(), gone.object().as_ref(), done(&gone)), ("delete_file", "d", ActionResult::Done));
    }

    #[test]
    fn the_first_mistake_of_a_write_stands_beside_its_action() {
        let action = Action::EditFile { path: "a.py".into(), old: "a".into(), new: "x".into(), all: false };
        let found = "a.py:3: undefined name `x`\n>    3\tx\nb.py:1: syntax error near `)`\n>    1\t)";
        let text = format!("a.py: replaced once\n     3\tx\n{}\n{found}\n", protocol::mistakes::HEAD);
        let outcome = Outcome { duration_ms: 1, ..Outcome::new(OutcomeStatus::Ok, text) };
        assert_eq!(mistake(&action, &outcome).as_deref(), Some("a.py:3: undefined name `x` (and 1 more)"));
        let long = outcome.text.replace("undefined name `x`", &"x".repeat(200));
        let long = mistake(&action, &Outcome { text: long, ..outcome.clone() }).expect("a mistake");
        assert!(long.starts_with("a.py:3: xxx") && long.ends_with("x… (and 1 more)"), "{long}");
        let fine = Outcome { text: "a.py: replaced once\n".into(), ..outcome };
        assert_eq!(mistake(&action, &fine), None);
    }
}
