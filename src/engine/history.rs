//! The conversation, rebuilt from a task's log.
//!
//! Owns: which event becomes which words, and their order. Pure, and append-only: a longer log gives a request that begins with
//! the shorter one's turns (so a vendor's cache keeps serving the beginning) until the conversation begins anew, and the same log gives
//! the same bytes.
//! Must not: count for real (the fold does; here it is only told), leave a call without a result, or put a stranger's words
//! outside a fence. Tests: `history_tests.rs`.

use domain::{
    Call, CallRequest, Commit, Decision, Event, Item, Loss, Outcome, Request, Task, TaskKind, Verb, Verdict,
    VerdictKind,
};
use minijinja::context;
use std::collections::{BTreeMap, BTreeSet};

use super::failing::{self, Ran};
use super::fence::{Fence, Trust, seen};
use super::nudge::{self, Form, Progress};
use super::style::text as blocks;
use super::{EngineConfig, feedback, outcome, prompt, tools};
use crate::llm::{ModelRequest, ToolCall, ToolResult, Turn};
use crate::sandbox::VERDICT_TAIL;
use crate::text;

const NO_RESULT: &str = "interrupted: nothing is known of this call; it may have run. Look before you repeat it";
const NOTED_DONE: &str = "noted: the host takes the work from here";
const NOTED_ANSWER: &str = "noted: the answer is posted";
/// The most of a failed verification's output that is sent, in characters.
const TAIL: usize = 8_000;
/// The most of one result that is sent in the form of blocks, in characters.
const TEXT_RESULT: usize = 4_000;
/// The most changed files that a new conversation begins with.
const MOST_FILES: usize = 50;

/// The next request of a task whose log is `log` and whose fold is `task`, to a model that works by itself.
pub fn request(task: &Task, log: &[Event], form: Form, config: &EngineConfig) -> ModelRequest {
    let fence = Fence::new(&config.secret, task.id);
    let cap = match form {
        Form::Tools => config.result_chars,
        Form::Text => config.result_chars.min(TEXT_RESULT),
    };
    let mut replay = Replay::new(&fence, form, cap);
    for event in log {
        replay.take(event);
    }
    replay.flush();
    let (template, tools) = match (form, task.kind, config.brief) {
        (Form::Text, _, _) => ("text_system", Vec::new()),
        (Form::Tools, kind, true) => {
            (if kind == TaskKind::Fix { "short_system" } else { "short_plan" }, tools::brief(kind))
        }
        (Form::Tools, kind, false) => (if kind == TaskKind::Fix { "system" } else { "plan" }, tools::specs(kind)),
    };
    let repository = task.request.as_ref().map(|r| fence.inline(&r.repository)).unwrap_or_default();
    let values =
        context! { repository, every => task.every(), nonce => fence.nonce(), example => super::style::EXAMPLE };
    ModelRequest {
        system: prompt::render(template, values),
        turns: replay.turns,
        tools,
        max_output_tokens: config.max_output_tokens,
        temperature: nudge::temperature(replay.nudges),
        seed: None,
    }
}

/// The turns so far, and what waits to become one.
struct Replay<'a> {
    fence: &'a Fence,
    form: Form,
    cap: usize,
    turns: Vec<Turn>,
    open: Option<Open<'a>>,
    /// Words for the model since its last answer; they follow that answer's results.
    notes: Vec<String>,
    /// What people asked for: it begins a new conversation too.
    asked: Vec<String>,
    /// The conversation began anew, and the model was not told yet.
    anew: bool,
    changed: BTreeSet<&'a str>,
    plan: Option<&'a String>,
    /// Remarks that decided nothing: they come with the next decision.
    remarks: Vec<Item>,
    /// A call is out whose request no later word may change: hosts that were allowed meanwhile are told after its answer.
    calling: bool,
    unheard: Vec<&'a String>,
    request: Option<&'a Request>,
    kind: TaskKind,
    used: u8,
    head: Option<&'a Commit>,
    /// What each command last reported in this conversation, and the host's own checks.
    ran: BTreeMap<&'a str, Ran>,
    checked: Option<Ran>,
    /// Answers in a row that did nothing, and what was done before.
    nudges: u8,
    progress: Progress,
}

/// An answer whose calls get their results.
struct Open<'a> {
    text: &'a str,
    calls: &'a [CallRequest],
    results: Vec<Option<(String, bool)>>,
    /// Number, index and place of the actions taken up.
    actions: Vec<(u32, usize, String)>,
}

impl<'a> Replay<'a> {
    fn new(fence: &'a Fence, form: Form, cap: usize) -> Self {
        Replay {
            fence,
            form,
            cap,
            turns: Vec::new(),
            open: None,
            notes: Vec::new(),
            asked: Vec::new(),
            anew: false,
            changed: BTreeSet::new(),
            plan: None,
            remarks: Vec::new(),
            calling: false,
            unheard: Vec::new(),
            request: None,
            kind: TaskKind::Fix,
            used: 0,
            head: None,
            ran: BTreeMap::new(),
            checked: None,
            nudges: 0,
            progress: Progress::default(),
        }
    }

    fn take(&mut self, event: &'a Event) {
        match event {
            Event::Requested { request } => self.requested(request),
            Event::Prepared { base, .. } => self.head = Some(self.head.unwrap_or(base)),
            Event::TurnCompleted { text, calls, vendor, .. } => self.answered(text, calls, vendor.as_deref()),
            Event::CallAnswered { index, answer, malformed, .. } => self.told(*index, answer, *malformed),
            Event::ActionStarted { number, index, .. } => self.started(*number, *index),
            Event::ActionFinished { number, outcome } => self.finished(*number, outcome),
            Event::DoneSaid { index, .. } => {
                let noted = if self.kind == TaskKind::Plan { NOTED_ANSWER } else { NOTED_DONE };
                self.result(*index, noted.to_owned(), false);
            }
            Event::Nudged { .. } => self.nudged(),
            Event::DoneReturned { .. } => self.notes.push(self.asked_for().idle()),
            Event::TreeCaptured { tree, .. } => {
                self.head = Some(&tree.commit);
                self.changed.extend(tree.files.iter().map(|file| file.path.as_str()));
            }
            Event::WorkKept { commit } => self.head = Some(commit),
            Event::PlanUpdated { plan } => self.plan = Some(plan),
            Event::ConversationRestarted => self.restart(),
            Event::TreeRefused { reasons, .. } => self.refused(reasons),
            Event::Verified { commit, verdict, .. } => self.verified(commit, verdict),
            Event::DecisionUsed { decision, n } => self.decided(decision, *n),
            Event::FeedbackGiven { items, .. } => self.remarks.extend(items.iter().cloned()),
            Event::WidenedToFix { words } => self.widened(words),
            Event::Resumed => self.say("resumed", context! {}),
            // One that was lost while it was made had nothing of the agent's in it.
            Event::SandboxLost { .. } if self.turns.is_empty() => {}
            Event::SandboxLost { loss, .. } => self.lost(*loss),
            Event::ModelCallStarted { .. } => self.calling = true,
            Event::HostAllowed { host, .. } if self.calling => self.unheard.push(host),
            Event::HostAllowed { host, .. } => self.say("allowed", context! { host }),
            // What the model needn't know, or learns by another event.
            Event::SlotGranted
            | Event::Looked { .. }
            | Event::SlotAwaited
            | Event::ModelCallUncharged { .. }
            | Event::PublishStarted { .. }
            | Event::TreeUnchanged { .. }
            | Event::Pushed { .. }
            | Event::PullOpened { .. }
            | Event::VerifyStarted { .. }
            | Event::VerdictReturned { .. }
            | Event::CheckpointPosted { .. }
            | Event::Answered { .. }
            | Event::CheckpointVoided { .. }
            | Event::DecisionHeld { .. }
            | Event::DecisionRefused { .. }
            | Event::AdvanceEnded { .. }
            | Event::HostDenied { .. }
            | Event::SandboxSuspended { .. }
            | Event::WorkKeeping
            | Event::WorkNotKept { .. }
            | Event::RouterReplaced
            | Event::BudgetGranted { .. }
            | Event::Paused { .. }
            | Event::Ended { .. } => {}
        }
    }

    fn told(&mut self, index: u32, answer: &str, malformed: bool) {
        let error = malformed || answer.starts_with("not run");
        self.result(index, self.fence.inline_long(answer), error);
    }

    fn refused(&mut self, reasons: &[String]) {
        let reasons: Vec<String> = reasons.iter().map(|reason| self.fence.inline(reason)).collect();
        self.say("refused", context! { reasons });
    }

    fn lost(&mut self, loss: Loss) {
        let commit = self.head.map_or("the base", Commit::short);
        self.say("lost", context! { commit, replaced => loss == Loss::Outdated });
    }

    fn say(&mut self, file: &'static str, values: minijinja::Value) {
        let file = match (self.form, file) {
            (Form::Text, "approved") => "text_approved",
            (Form::Text, "verified") => "text_verified",
            (Form::Text | Form::Tools, file) => file,
        };
        self.notes.push(prompt::render(file, values));
    }

    fn asked_for(&self) -> nudge::Task<'_> {
        nudge::Task { kind: self.kind, form: self.form, request: self.request, progress: &self.progress }
    }

    fn nudged(&mut self) {
        self.nudges = self.nudges.saturating_add(1);
        self.notes.push(self.asked_for().nudge(self.nudges));
    }

    fn every(&self) -> u8 {
        match self.kind {
            TaskKind::Plan => domain::READ_ONLY_ACTIONS,
            TaskKind::Fix => self.request.map_or(domain::ACTIONS_PER_CHECKPOINT, |r| r.every),
        }
    }

    fn requested(&mut self, request: &'a Request) {
        self.request = Some(request);
        self.kind = request.kind;
        let asker = self.fence.inline(&request.asker.login);
        let author = self.fence.inline(&request.issue_author.login);
        let (command, hidden) = seen(&request.words);
        let (issue, more) = seen(&format!("Title: {}\n\n{}", request.title, request.body));
        let trust = if request.issue_author == request.asker { Trust::Write } else { Trust::None };
        let words = match command.is_empty() {
            true => String::new(),
            false => self.fence.wrap(&format!("the task, by {asker}"), Trust::Write, &command),
        };
        let values = context! {
            asker, words,
            read_only => request.kind == TaskKind::Plan,
            issue => request.issue,
            repository => self.fence.inline(&request.repository),
            base_branch => self.fence.inline(&request.base_branch),
            text => self.fence.wrap(&format!("issue {} by {author}", request.issue), trust, &issue),
            hidden => hidden + more,
        };
        self.ask(prompt::render("task", values));
    }

    /// Words of a person, which every conversation about this task holds.
    fn ask(&mut self, words: String) {
        self.asked.push(words.clone());
        self.notes.push(words);
    }

    /// Nothing of the conversation so far is sent again but what people asked for; where the work stands is told with the next request.
    fn restart(&mut self) {
        self.turns.clear();
        self.open = None;
        self.ran.clear();
        self.checked = None;
        self.notes = self.asked.clone();
        self.anew = true;
    }

    fn told_anew(&self) -> String {
        let files = self.changed.iter().take(MOST_FILES).copied().collect::<Vec<_>>().join(", ");
        let plan = self.plan.map(|plan| self.fence.wrap("your plan, as you last noted it", Trust::None, plan));
        let values = context! {
            commit => self.head.map(Commit::short), files => self.fence.inline_long(&files), plan => plan.unwrap_or_default(),
        };
        prompt::render("restarted", values)
    }

    fn answered(&mut self, text: &'a str, calls: &'a [CallRequest], vendor: Option<&str>) {
        self.flush();
        let turn = match self.form {
            Form::Tools => Turn::Assistant {
                text: text.to_owned(),
                calls: calls.iter().map(as_made).collect(),
                // What an older or newer version wrote otherwise is left out: text and calls say enough.
                vendor: vendor.and_then(|kept| serde_json::from_str(kept).ok()),
            },
            // What was done with tools before, by another model.
            Form::Text if text.is_empty() && !calls.is_empty() => {
                let text = calls.iter().map(in_words).collect::<Vec<_>>().join("\n");
                Turn::Assistant { text, calls: Vec::new(), vendor: None }
            }
            Form::Text => Turn::Assistant { text: text.to_owned(), calls: Vec::new(), vendor: None },
        };
        self.turns.push(turn);
        self.calling = false;
        if !calls.is_empty() {
            self.nudges = 0;
        }
        for host in std::mem::take(&mut self.unheard) {
            self.say("allowed", context! { host });
        }
        self.open = Some(Open { text, calls, results: vec![None; calls.len()], actions: Vec::new() });
    }

    fn result(&mut self, index: u32, text: String, error: bool) {
        let slot = self.open.as_mut().and_then(|open| open.results.get_mut(index as usize));
        if let Some(slot) = slot {
            *slot = Some((text, error));
        }
    }

    fn started(&mut self, number: u32, index: u32) {
        self.used = self.used.saturating_add(1);
        let (used, every) = (self.used, self.every());
        let place = match (self.kind, used >= every) {
            (_, false) => format!("action {used} of {every}"),
            (TaskKind::Fix, true) => format!("action {used} of {every}: a checkpoint comes next"),
            (TaskKind::Plan, true) => format!("action {used} of {every}: answer with done now"),
        };
        if let Some(open) = &mut self.open {
            open.actions.push((number, index as usize, place));
        }
    }

    fn finished(&mut self, number: u32, ended: &Outcome) {
        let Some(open) = &mut self.open else { return };
        let Some((_, index, place)) = open.actions.iter().find(|(n, _, _)| *n == number) else { return };
        let (Some(call), Some(slot)) = (open.calls.get(*index), open.results.get_mut(*index)) else { return };
        self.progress.take(&call.call, ended);
        let command = outcome::command(call);
        let now = command.and_then(|_| outcome::ran(ended));
        let runs = outcome::Runs { now: now.as_ref(), before: command.and_then(|command| self.ran.get(command)) };
        *slot = Some(outcome::render(self.fence, call, ended, place, &runs, self.cap));
        if let (Some(command), Some(now)) = (command, now) {
            self.ran.insert(command, now);
        }
    }

    fn verified(&mut self, commit: &Commit, verdict: &Verdict) {
        let kind = match verdict.kind {
            VerdictKind::Passed => "passed",
            VerdictKind::Failed => "failed",
            VerdictKind::None => "none",
        };
        let (tail, _) = outcome::shortened(&verdict.tail, TAIL);
        // One that fills its room lost its beginning.
        let now = Ran::of(&verdict.tail, verdict.tail.len() + 4 < VERDICT_TAIL);
        let failing = failing::list(self.fence, &now, self.checked.as_ref(), TAIL / 2);
        let code = |code: i32| if code == 0 { "it passed there".to_owned() } else { format!("exit code {code}") };
        let values = context! {
            kind,
            commit => commit.short(),
            command => self.fence.inline(verdict.command.as_deref().unwrap_or_default()),
            exit => verdict.exit_code,
            base => verdict.base_exit_code.map(code),
            missing => self.fence.inline(&verdict.missing.join(", ")),
            tail => self.fence.wrap("output of the checks", Trust::None, &tail), failing,
        };
        self.say("verified", values);
        self.checked = match verdict.kind {
            VerdictKind::Passed => Some(Ran::clean()),
            VerdictKind::Failed if !now.is_empty() => Some(now),
            VerdictKind::Failed | VerdictKind::None => self.checked.take(),
        };
    }

    fn decided(&mut self, decision: &Decision, n: u32) {
        self.used = 0;
        let mut items = std::mem::take(&mut self.remarks);
        let values = context! {
            n, login => self.fence.inline(&decision.poster.login), every => self.every(), read_only => self.kind == TaskKind::Plan,
        };
        match &decision.verb {
            Verb::Changes { items: more } => {
                items.extend(more.iter().cloned());
                self.say("revise", values);
            }
            // A plan's approval is said by the event that widens the task.
            _ if self.kind == TaskKind::Plan => {}
            _ => self.say("approved", values),
        }
        if !items.is_empty() {
            self.ask(feedback::render(self.fence, &items));
        }
    }

    fn widened(&mut self, words: &str) {
        self.kind = TaskKind::Fix;
        let file = if self.form == Form::Text { "text_widened" } else { "widened" };
        self.ask(prompt::render(file, context! { every => self.every() }));
        let (words, _) = seen(words);
        if !words.is_empty() {
            self.ask(self.fence.wrap("the task, by the person who approved", Trust::Write, &words));
        }
    }

    /// Closes what is open: first the results of the last answer, then the words that came since.
    fn flush(&mut self) {
        if let Some(open) = self.open.take().filter(|open| !open.calls.is_empty()) {
            let results = open.calls.iter().zip(open.results).map(|(call, result)| {
                let (text, error) = result.unwrap_or_else(|| (NO_RESULT.to_owned(), true));
                ToolResult { call_id: call.id.clone(), name: call.name.clone(), text, error }
            });
            match self.form {
                Form::Tools => self.turns.push(Turn::Results(results.collect())),
                Form::Text => {
                    let told = results.map(|result| result.text).chain(blocks::surplus(open.text).map(str::to_owned));
                    self.notes.insert(0, told.collect::<Vec<_>>().join("\n\n"));
                }
            }
        }
        if std::mem::take(&mut self.anew) {
            self.notes.push(self.told_anew());
        }
        if !self.notes.is_empty() {
            self.turns.push(Turn::User { text: std::mem::take(&mut self.notes).join("\n\n") });
        }
    }
}

fn in_words(call: &CallRequest) -> String {
    format!("({} {})", call.name, call.arguments)
}

/// A stored call, as the model made it.
fn as_made(call: &CallRequest) -> ToolCall {
    let malformed = match &call.call {
        Call::Malformed { reason } => Some(text::cut(reason, 200).0.to_owned()),
        Call::Action { .. } | Call::Done { .. } | Call::UpdatePlan { .. } => None,
    };
    ToolCall { id: call.id.clone(), name: call.name.clone(), arguments: call.arguments.clone(), malformed }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
