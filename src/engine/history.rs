//! The conversation, rebuilt from a task's log.
//!
//! Owns: which event becomes which text, and their order. Pure and append-only: a longer log gives a request that begins with the turns of
//! the shorter one (so that a vendor's cache still matches), until the conversation is shortened (`compact`) or restarted. The same log
//! gives the same bytes.
//! Must not: keep the count of actions (the fold of the log does; here it is only shown), leave a call without a result, or put foreign
//! text outside of a fence. Tests: `history_tests.rs`.

mod calls;
mod ci;
mod cut;
mod folded;
mod messages;
mod omitted;
mod pictures;
mod reminders;
mod request;
mod rules;
mod scanned;
mod signs;

use domain::{
    CallRequest, Commit, Event, Item, ModelSummary, Outcome, Question, Rebased, Recall, Remarks, Request, Rules,
    TaskKind,
};
use minijinja::context;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use self::calls::{as_made, in_words};
pub(super) use self::cut::{Cut, counted_since, written};
use self::folded::Runs;
use self::pictures::ShownPictures;
pub use self::pictures::Vision;
use self::reminders::Reminders;
pub use self::request::request;
pub(super) use self::request::request_with;
use self::signs::Signs;
use super::failing::{EarlierRuns, Ran};
use super::fence::{Fence, Trust, spelled};
use super::nudge::{self, Form, Progress};
use super::style::text as blocks;
use super::summary::Summary;
use super::{outcome, prompt, recall};
use crate::llm::{ToolResult, Turn};
use crate::policy::folders::Folders;

const NO_RESULT: &str = "interrupted: nothing is known of this call; it may have run. Look before you repeat it";
const NOTED_DONE: &str = "noted: the host takes the work from here";
const NOTED_ANSWER: &str = "noted: the answer is posted";
/// The most characters sent of a failed verification's output.
const TAIL: usize = 8_000;
/// The most characters sent of one result in the form of blocks.
const TEXT_RESULT: usize = 4_000;
/// The most characters sent of an older result, if results are shortened.
const SHRUNK: usize = 400;
/// The most changed files that a restarted conversation lists.
const MOST_FILES: usize = 50;

/// State of the replay: the turns so far, and what will become the next one.
struct Replay<'a> {
    fence: &'a Fence,
    form: Form,
    cap: usize,
    cut: Cut,
    /// The first turn whose vendor's own form may be sent back.
    kept_since: u32,
    summary_chars: usize,
    rules_chars: usize,
    /// Characters of rules that may still be shown.
    rules_left: usize,
    difference_chars: usize,
    /// How the model takes pictures; none if it is shown none.
    vision: Option<Vision>,
    shown_pictures: ShownPictures<'a>,
    /// The log before the current event.
    past: &'a [Event],
    /// The summary that replaces the turns so far; none once turns are sent.
    folding: Option<Summary<'a>>,
    /// A model's summary and the last turn that it covers, until it is in `folding`.
    written: Option<(u32, &'a ModelSummary)>,
    /// Whether the bot's own instructions for the kind do not hold now, because the repository's stand in their place.
    unbriefed: bool,
    /// Runs of checks in summarized turns.
    runs: Runs<'a>,
    /// What the host told once and still holds.
    reminders: Reminders<'a>,
    turns: Vec<Turn>,
    open: Option<Open<'a>>,
    /// Texts for the model since its last answer; they follow that answer's results.
    notes: Vec<String>,
    /// What people asked for; a restarted conversation begins with it too.
    asked: Vec<String>,
    /// How many of `asked` were sent before the newest summarized turn.
    heard: usize,
    /// The conversation was restarted, and the model has not been told yet.
    anew: bool,
    /// What showed that there was no progress, if it was restarted for that.
    tried: &'a [String],
    changed: BTreeSet<&'a str>,
    plan: Option<&'a String>,
    /// Remarks without a decision, with their numbers; they come with the next decision.
    remarks: Vec<(Option<u32>, Item)>,
    numbered: Remarks,
    /// The newest question of the agent to a person.
    question: Option<&'a Question>,
    /// A call is under way whose request later events must not change: hosts allowed meanwhile are mentioned after its answer.
    calling: bool,
    unheard: Vec<&'a String>,
    request: Option<&'a Request>,
    /// Whether the conversation began with the repository's own rules.
    rules: bool,
    /// The rules at the present base; none before the sandbox was prepared.
    of_base: Option<&'a Rules>,
    folders: Folders<'a>,
    /// The move onto a newer base that no commit holds yet.
    rebased: Option<&'a Rebased>,
    kind: TaskKind,
    used: u8,
    /// The most actions between two checkpoints, as the repository's base has it; the request may have fewer.
    most_used: u8,
    head: Option<&'a Commit>,
    /// The last report of each command in this conversation; then that of the host's own checks.
    ran: BTreeMap<&'a str, Rc<Ran>>,
    checked: Option<Ran>,
    /// The checks' run on the present base, if it reported failures in time.
    on_base: Option<Ran>,
    /// Consecutive answers without a call; then what was done before.
    nudges: u8,
    /// Those before the newest answer with calls, which goes on with them where it only notes something.
    nudges_before: u8,
    progress: Progress,
    signs: Signs<'a>,
}

/// An answer whose calls are getting their results.
struct Open<'a> {
    turn: u32,
    text: &'a str,
    calls: &'a [CallRequest],
    results: Vec<Option<(String, bool)>>,
    /// Number, index and displayed place of the actions taken up.
    actions: Vec<(u32, usize, String)>,
}

impl<'a> Replay<'a> {
    fn new(fence: &'a Fence, form: Form, cap: usize, cut: Cut) -> Self {
        Replay {
            fence,
            form,
            cap,
            cut,
            kept_since: 0,
            summary_chars: 0,
            rules_chars: 0,
            rules_left: 0,
            difference_chars: 0,
            vision: None,
            shown_pictures: ShownPictures::default(),
            past: &[],
            folding: (cut.folded > 0).then(Summary::default),
            written: None,
            unbriefed: false,
            runs: Runs::default(),
            reminders: Reminders::default(),
            turns: Vec::new(),
            open: None,
            notes: Vec::new(),
            asked: Vec::new(),
            heard: 0,
            anew: false,
            tried: &[],
            changed: BTreeSet::new(),
            plan: None,
            remarks: Vec::new(),
            numbered: Remarks::default(),
            question: None,
            calling: false,
            unheard: Vec::new(),
            request: None,
            rules: false,
            of_base: None,
            folders: Folders::default(),
            rebased: None,
            kind: TaskKind::Fix,
            used: 0,
            most_used: domain::ACTIONS_PER_CHECKPOINT,
            head: None,
            ran: BTreeMap::new(),
            checked: None,
            on_base: None,
            nudges: 0,
            nudges_before: 0,
            progress: Progress::default(),
            signs: Signs::default(),
        }
    }

    fn take(&mut self, event: &'a Event) {
        self.numbered.apply(event);
        self.signs.renew(event);
        match event {
            Event::Requested { request } => self.requested(request),
            Event::Prepared { base, every, rules, pictures, difference, scan, on_base, .. } => {
                self.most_used = self.most_used.min(*every).max(1);
                self.on_base = on_base.as_deref().map(Ran::on_base);
                self.prepared(base, rules, pictures, difference.as_deref());
                if let Some(scan) = scan {
                    self.scanned(scan);
                }
            }
            Event::TurnCompleted { turn, text, calls, vendor, .. } => {
                self.answered(*turn, text, calls, vendor.as_deref());
            }
            Event::Recalled { index, what, .. } => self.recalled(*index, what),
            Event::Asked { question, .. } => self.question = Some(question),
            Event::QuestionAnswered { index, decision, .. } => self.question_answered(*index, decision),
            Event::CallAnswered { index, answer, malformed, .. } => self.answer_call(*index, answer, *malformed),
            Event::ActionStarted { number, index, .. } => self.started(*number, *index),
            Event::ActionFinished { number, outcome } => {
                let call = self.finished(*number, outcome);
                self.enters(call, outcome);
            }
            Event::DoneSaid { index, .. } => self.ended(*index),
            Event::Nudged { .. } => self.nudged(),
            Event::DoneReturned { .. } => self.notes.push(self.asked_for().idle()),
            Event::Rebased(rebased) => self.rebased(rebased),
            Event::TreeUnchanged { .. } => self.rebased = None,
            Event::TreeCaptured { tree, .. } => {
                self.rebased = None;
                self.head = Some(&tree.commit);
                self.changed.extend(tree.files.iter().map(|file| file.path.as_str()));
            }
            Event::WorkKept { commit } => self.head = Some(commit),
            Event::PlanUpdated { plan, .. } => self.plan = Some(plan),
            Event::AnotherWay { tried } => (self.tried, self.nudges, self.nudges_before) = (tried, 0, 0),
            Event::ConversationRestarted => self.restart(),
            _ => self.heard(event),
        }
        self.reminders.take(event, self.calling);
    }

    /// Events from people and about the surroundings of the work.
    fn heard(&mut self, event: &'a Event) {
        match event {
            Event::TreeRefused { reasons, .. } => self.refused(reasons),
            Event::Verified { commit, verdict, .. } => self.verified(commit, verdict),
            Event::CiEnded(ended) => self.ci_ended(ended),
            Event::DecisionUsed { decision, n } => self.decided(decision, *n),
            Event::PermissionRefused { decision, .. } => self.permission_refused(decision),
            Event::FeedbackGiven { items, asks, .. } => self.remarked(items, *asks),
            Event::WidenedToFix { words } => self.widened(words),
            Event::Resumed => self.say("resumed", context! {}),
            Event::SandboxLost { loss, .. } => self.lost(*loss),
            Event::SandboxSuspended { .. } => self.put_away(),
            Event::ModelCallStarted { .. } => self.calling = true,
            Event::HostAllowed { host, .. } if self.calling => self.unheard.push(host),
            Event::HostAllowed { host, .. } => self.say("allowed", context! { host }),
            _ => omitted::omitted(event),
        }
    }

    fn recalled(&mut self, index: u32, what: &Recall) {
        if self.folding.is_some() {
            return;
        }
        let (text, error) = recall::show(self.fence, self.past, what, self.cap_of_result());
        self.result(index, text, error);
    }

    fn ended(&mut self, index: u32) {
        let noted = if self.kind.reads_only() { NOTED_ANSWER } else { NOTED_DONE };
        self.result(index, noted.to_owned(), false);
    }

    fn answer_call(&mut self, index: u32, answer: &str, malformed: bool) {
        let error = malformed || answer.starts_with("not run");
        self.result(index, self.fence.inline_long(answer), error);
    }

    fn asked_for(&self) -> nudge::Task<'_> {
        nudge::Task { kind: self.kind, form: self.form, request: self.request, progress: &self.progress }
    }

    fn nudged(&mut self) {
        let noted = self.open.as_ref().is_some_and(|open| !open.calls.is_empty());
        if noted {
            self.nudges = self.nudges_before;
        }
        self.nudges = self.nudges.saturating_add(1);
        self.notes.push(self.asked_for().nudge(self.nudges, noted));
    }

    fn every(&self) -> u8 {
        match self.kind.reads_only() {
            true => domain::READ_ONLY_ACTIONS,
            false => self.request.map_or(self.most_used, |request| request.every.clamp(1, self.most_used)),
        }
    }

    /// Adds a person's text, which every conversation of this task contains.
    fn ask(&mut self, words: String) {
        self.asked.push(words.clone());
        self.notes.push(words);
    }

    /// Restarts the conversation: of what was sent only people's requests are sent again; the state of the work is described in the next
    /// request.
    fn restart(&mut self) {
        self.turns.clear();
        self.folding = self.folding.take().map(|_| Summary::default());
        self.heard = 0;
        self.runs = Runs::default();
        self.reminders.leave_out();
        self.open = None;
        self.ran.clear();
        self.checked = None;
        self.notes = self.asked.clone();
        self.shown_pictures.anew();
        self.anew = true;
    }

    fn told_anew(&self) -> String {
        if self.tried.is_empty() {
            return prompt::render("restarted", self.stand());
        }
        let tried = self.tried.iter().map(|line| format!("- {line}\n")).collect::<String>();
        let tried = self.fence.wrap("what was tried", Trust::None, &tried);
        prompt::render("another_way", context! { tried, ..self.stand() })
    }

    fn answered(&mut self, turn: u32, text: &'a str, calls: &'a [CallRequest], vendor: Option<&str>) {
        self.replaced(turn);
        if turn > self.cut.folded {
            self.fold();
        }
        self.flush();
        match &mut self.folding {
            Some(summary) => summary.note(text),
            // A vendor's own form is only valid after the same prefix.
            None => self.speak(text, calls, vendor.filter(|_| turn >= self.kept_since)),
        }
        self.calling = false;
        if !calls.is_empty() {
            self.nudges_before = std::mem::take(&mut self.nudges);
        }
        for host in std::mem::take(&mut self.unheard) {
            self.say("allowed", context! { host });
        }
        self.open = Some(Open { turn, text, calls, results: vec![None; calls.len()], actions: Vec::new() });
    }

    fn speak(&mut self, text: &str, calls: &[CallRequest], vendor: Option<&str>) {
        let turn = match self.form {
            Form::Tools => Turn::Assistant {
                text: text.to_owned(),
                calls: calls.iter().map(as_made).collect(),
                // If it was written in a different form by another version, it is left out: text and calls are enough.
                vendor: vendor.and_then(|kept| serde_json::from_str(kept).ok()),
            },
            // The turn was made with tools, by another model.
            Form::Text if text.is_empty() && !calls.is_empty() => {
                let text = calls.iter().map(in_words).collect::<Vec<_>>().join("\n");
                Turn::Assistant { text, calls: Vec::new(), vendor: None }
            }
            Form::Text => Turn::Assistant { text: text.to_owned(), calls: Vec::new(), vendor: None },
        };
        self.turns.push(turn);
    }

    /// The most characters sent of a result of the open answer.
    fn cap_of_result(&self) -> usize {
        let old = self.open.as_ref().is_some_and(|open| open.turn <= self.cut.shrunk);
        if old { self.cap.min(SHRUNK) } else { self.cap }
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
        // The number within the whole task, because `recall` and claims refer to it.
        let which = if number == u32::from(used) { String::new() } else { format!("{number}, ") };
        let place = match (self.kind.reads_only(), used >= every) {
            (_, false) => format!("action {which}{used} of {every}"),
            (false, true) => format!("action {which}{used} of {every}: a checkpoint comes next"),
            (true, true) => format!("action {which}{used} of {every}: answer with done now"),
        };
        if let Some(open) = &mut self.open {
            open.actions.push((number, index as usize, place));
        }
    }

    /// Gives the result of an action; returns its call.
    fn finished(&mut self, number: u32, ended: &'a Outcome) -> Option<&'a CallRequest> {
        let cap = self.cap_of_result();
        let old = cap < self.cap;
        let open = self.open.as_ref()?;
        let (_, index, place) = open.actions.iter().find(|(n, _, _)| *n == number)?;
        let call = open.calls.get(*index)?;
        self.progress.take(&call.call, ended);
        if let Some(summary) = &mut self.folding {
            self.signs.take(number, call, ended, None);
            self.runs.ran(number, call, ended);
            summary.did(number, call, ended);
            return Some(call);
        }
        let command = outcome::command(call);
        let now = command.and_then(|_| outcome::ran(ended)).map(Rc::new);
        let before = command.and_then(|command| self.ran.get(command)).map(Rc::as_ref);
        let runs = outcome::Runs { now: now.as_deref(), earlier: EarlierRuns { before, base: self.on_base.as_ref() } };
        let (mut text, error) = outcome::render(self.fence, call, ended, place, &runs, cap);
        if old && spelled(&ended.text).chars().count() > cap {
            let again = match self.form {
                Form::Tools => format!("`recall` with number {number}"),
                Form::Text => format!("a line `RECALL {number}`"),
            };
            text.push_str(&format!("\nNote: {again} shows the whole again."));
        }
        text.push_str(&self.signs.take(number, call, ended, now.clone()));
        if let (Some(command), Some(now)) = (command, now) {
            self.ran.insert(command, now);
        }
        let index = *index;
        if let Some(picture) = &ended.picture {
            text.push_str(&self.pictured(picture, old));
        }
        self.result(u32::try_from(index).unwrap_or(u32::MAX), text, error);
        Some(call)
    }

    /// Completes what is open: first the results of the last answer, then the texts that came since.
    fn flush(&mut self) {
        if self.folding.is_some() {
            self.open = None;
            self.notes.clear();
            self.shown_pictures.untold();
            self.anew = false;
            self.heard = self.asked.len();
            self.reminders.leave_out();
            return;
        }
        if let Some(open) = self.open.take().filter(|open| !open.calls.is_empty()) {
            let results = open.calls.iter().zip(open.results).map(|(call, result)| {
                let (text, error) = result.unwrap_or_else(|| (NO_RESULT.to_owned(), true));
                ToolResult { call_id: call.id.clone(), name: call.name.clone(), text, error }
            });
            match self.form {
                Form::Tools => {
                    self.turns.push(Turn::Results(results.collect()));
                    self.show_read();
                }
                Form::Text => {
                    let answer_call =
                        results.map(|result| result.text).chain(blocks::surplus(open.text).map(str::to_owned));
                    self.notes.insert(0, answer_call.collect::<Vec<_>>().join("\n\n"));
                }
            }
        }
        if std::mem::take(&mut self.anew) {
            self.notes.push(self.told_anew());
            self.say_rebased();
            self.tried = &[];
        }
        self.show_of_issue();
        if !self.notes.is_empty() {
            self.turns.push(Turn::User { text: std::mem::take(&mut self.notes).join("\n\n") });
        }
        self.show_read();
    }
}

#[cfg(test)]
mod base_tests;
#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
