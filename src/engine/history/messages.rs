//! What people and the host tell the model in a conversation.
//!
//! Owns: the prompt of each event, and its values. Must not: decide the order of turns. Tests: `history_tests.rs`.

use domain::{
    Commit, Decision, Difference, FileChange, Item, Loss, Picture, Rebased, Request, Rules, TaskKind, Verb, Verdict,
    VerdictCase, VerdictKind,
};
use minijinja::context;

use super::{MOST_FILES, Replay, TAIL};
use crate::engine::failing::{self, EarlierRuns, Ran};
use crate::engine::fence::{Trust, seen};
use crate::engine::nudge::Form;
use crate::engine::numbered::lines_within;
use crate::engine::{feedback, issue, outcome, prompt};
use crate::sandbox::VERDICT_TAIL;
use crate::text;

/// Told to a model in the style *tools* after its sandbox was stopped while a person was awaited.
const PUT_AWAY: &str = "The sandbox was put away meanwhile: the next command begins in `/workspace`, without the directory and the variables of earlier ones, and `/tmp` is empty.";
/// Told after a move onto a base that removed the rules of the one before.
const NO_RULES: &str =
    "The newer base has no rules of this repository's own any more: those that you were given before no longer hold.";

impl<'a> Replay<'a> {
    pub(super) fn say(&mut self, file: &'static str, values: minijinja::Value) {
        self.notes.push(self.rendered(file, values));
    }

    pub(super) fn rendered(&self, file: &'static str, values: minijinja::Value) -> String {
        let file = match (self.form, file) {
            (Form::Text, "approved") => "text_approved",
            (Form::Text, "verified") => "text_verified",
            (Form::Text, "ci") => "text_ci",
            (Form::Text | Form::Tools, file) => file,
        };
        prompt::render(file, values)
    }

    pub(super) fn refused(&mut self, reasons: &[String]) {
        self.say("refused", self.refused_values(reasons, usize::MAX));
    }

    /// With at most `most` characters of the reasons.
    pub(super) fn refused_values(&self, reasons: &[String], most: usize) -> minijinja::Value {
        let reasons: String = reasons.iter().map(|reason| format!("- {}\n", text::one_line(reason))).collect();
        context! { reasons => self.fence.wrap("what is wrong with it", Trust::None, text::cut(&reasons, most).0) }
    }

    pub(super) fn lost(&mut self, loss: Loss) {
        // No note: the agent had not worked in that sandbox.
        if self.turns.is_empty() && self.open.is_none() {
            return;
        }
        let commit = self.head.map_or("the base", Commit::short);
        self.say("lost", context! { commit, replaced => loss == Loss::Outdated });
        self.say_rebased();
    }

    /// The work was merged onto a newer base.
    pub(super) fn rebased(&mut self, rebased: &'a Rebased) {
        self.head = Some(&rebased.onto);
        self.rebased = Some(rebased);
        if let Some(summary) = &mut self.folding {
            return summary.happened(format!("the work was merged onto the newer base {}", rebased.onto.short()));
        }
        self.say_rebased();
    }

    /// Says on which newer base the work stands, and what conflicts, until a commit holds it.
    pub(super) fn say_rebased(&mut self) {
        let Some(rebased) = self.rebased else { return };
        let base_branch = self.request.map(|request| self.fence.inline(&request.base_branch)).unwrap_or_default();
        let names: Vec<String> = rebased.conflicts.iter().map(|path| text::one_line(path)).collect();
        let files = self.paths(&names.join("\n"));
        self.say("rebased", context! { commit => rebased.onto.short(), base_branch, files });
    }

    pub(super) fn prepared(
        &mut self,
        base: &'a Commit,
        rules: &'a Rules,
        pictures: &'a [Picture],
        difference: Option<&Difference>,
    ) {
        self.head = Some(self.head.unwrap_or(base));
        let before = self.of_base.replace(rules);
        self.folders.prepared(rules);
        if before.is_none() {
            self.shown_pictures.add_of_issue(pictures);
            self.rules = !rules.is_empty();
        }
        // What the conversation began with stays as it is: only rules of a newer base that are others are told behind it.
        let had = before.is_some_and(Rules::has_files);
        if !rules.has_files() && had {
            self.ask(NO_RULES.to_owned());
        } else if rules.has_files() && before.is_none_or(|before| !before.same_files(rules)) {
            self.given(rules, before.is_some());
        }
        let (had, own) = (before.and_then(|before| before.prompt_of(self.kind)), rules.prompt_of(self.kind));
        if had != own {
            self.instructed(own, had.is_some());
        }
        if let Some(difference) = difference {
            self.under_review(difference);
        }
    }

    /// What a pull request changes, as far as there is room: its files in any case.
    fn under_review(&mut self, difference: &Difference) {
        let Some(pull) = self.request.and_then(|request| request.pull.as_ref()) else { return };
        let file = |file: &FileChange| {
            format!("{} ({}, +{} -{})\n", text::one_line(&file.path), file.kind, file.added, file.removed)
        };
        let files: String = difference.files.iter().map(file).collect();
        let (files, unnamed) = lines_within(&files, self.difference_chars / 4);
        // As it will be sent: hidden characters are spelled out.
        let all = text::visible(&difference.text);
        let (shown, hidden) = lines_within(&all, self.difference_chars - files.chars().count());
        let text = match shown {
            "" => String::new(),
            shown => self.fence.wrap("the difference", Trust::None, shown),
        };
        let values = context! {
            text, files => self.paths(files),
            target => self.fence.inline(&pull.target),
            head => pull.head.short(),
            from => difference.from.short(),
            more_files => difference.more_files + unnamed as u64,
            partial => difference.partial || hidden > 0,
            nothing => difference.files.is_empty(),
        };
        self.ask(prompt::render("difference", values));
    }

    /// Foreign names in a fence; empty if there are none.
    pub(super) fn paths(&self, lines: &str) -> String {
        if lines.is_empty() { String::new() } else { self.fence.wrap("paths", Trust::None, lines) }
    }

    /// After a suspension: the shell of earlier commands is gone.
    pub(super) fn put_away(&mut self) {
        let said = self.notes.iter().any(|note| note == PUT_AWAY);
        if self.form == Form::Tools && !said && (self.open.is_some() || !self.turns.is_empty()) {
            self.notes.push(PUT_AWAY.to_owned());
        }
    }

    pub(super) fn requested(&mut self, request: &'a Request) {
        self.request = Some(request);
        self.kind = request.kind;
        self.head = request.pull.as_ref().map(|pull| &pull.head);
        let thread = if request.pull.is_some() { "pull request" } else { "issue" };
        let asker = self.fence.inline(&request.asker.login);
        let author = self.fence.inline(&request.issue_author.login);
        let (command, hidden) = seen(&request.words);
        let (issue, more) = issue::shown(request);
        let trust = if request.of_stranger() { Trust::None } else { Trust::Write };
        let words = match command.is_empty() {
            true => String::new(),
            false => {
                let own = request.own.as_ref().map(|own| format!(", as this repository's command /{} asks", own.name));
                self.fence.wrap(&format!("the task, by {asker}{}", own.unwrap_or_default()), Trust::Write, &command)
            }
        };
        let place = request.place.as_ref().map(|place| {
            let line = place.line.map_or_else(String::new, |line| format!(", line {line}"));
            self.fence.wrap("the place", Trust::None, &format!("{}{line}", place.path))
        });
        let tried = request
            .earlier
            .as_ref()
            .map(|earlier| earlier.tried.iter().map(|line| format!("- {line}\n")).collect::<String>());
        let earlier = tried.map(|lines| self.fence.wrap("what an earlier attempt came to", Trust::None, &lines));
        let values = context! {
            asker, words,
            place => place.unwrap_or_default(),
            earlier => earlier.unwrap_or_default(),
            start => request.start().map(|start| start.n),
            read_only => request.kind.reads_only(),
            brief => if self.unbriefed { String::new() } else { prompt::brief(request.kind, request.pull.is_some()) },
            issue => request.issue,
            pull => request.pull.is_some(),
            repository => self.fence.inline(&request.repository),
            base_branch => self.fence.inline(&request.base_branch),
            text => self.fence.wrap(&format!("{thread} {} by {author}", request.issue), trust, &issue),
            hidden => hidden + more,
        };
        self.ask(prompt::render("task", values));
    }

    pub(super) fn verified(&mut self, commit: &Commit, verdict: &Verdict) {
        if let Some(summary) = &mut self.folding {
            self.runs.checked(verdict);
            let what = format!("the host ran the checks on commit {}: {}", commit.short(), kind(verdict));
            return summary.happened(what);
        }
        // A tail that fills its limit may have lost its beginning.
        let now = Ran::of(&verdict.tail, verdict.tail.len() + 4 < VERDICT_TAIL);
        self.say("verified", self.verdict_values(commit, verdict, (&now, self.checked.as_ref()), TAIL));
        self.checked = match verdict.kind {
            VerdictKind::Passed => Some(Ran::clean()),
            VerdictKind::Failed if !now.is_empty() => Some(now),
            VerdictKind::Failed | VerdictKind::None => self.checked.take(),
        };
    }

    /// `now` is what the verdict's run reports, `before` that of the run before, and `most` the most characters of the output.
    pub(super) fn verdict_values(
        &self,
        commit: &Commit,
        verdict: &Verdict,
        (now, before): (&Ran, Option<&Ran>),
        most: usize,
    ) -> minijinja::Value {
        let (tail, _) = outcome::shortened(&verdict.tail, most);
        let earlier = EarlierRuns { before, base: self.on_base.as_ref() };
        let failing = failing::list(self.fence, now, earlier, most / 2);
        let first = before.is_none().then_some(&verdict.against_base);
        let base = first.and_then(|found| failing::new_since_base(self.fence, &found.new, found.new_errors));
        let failing = base.or(failing);
        let code = |code: i32| if code == 0 { "it passed there".to_owned() } else { format!("exit code {code}") };
        context! {
            kind => kind(verdict),
            commit => commit.short(),
            command => self.fence.inline(verdict.command.as_deref().unwrap_or_default()),
            exit => verdict.exit_code,
            base => verdict.base_exit_code.map(code),
            missing => self.fence.inline(&verdict.missing.join(", ")),
            outside => self.fence.inline(&verdict.outside.join(", ")),
            breach => self.kind.traits().breach,
            tail => self.fence.wrap("output of the checks", Trust::None, &tail), failing,
        }
    }

    pub(super) fn decided(&mut self, decision: &Decision, n: u32) {
        self.used = 0;
        if let Some(summary) = &mut self.folding {
            let what = match decision.verb {
                Verb::Changes { .. } => "changes were asked for",
                Verb::Rebase { .. } => "a newer base was asked for",
                _ => "it was approved",
            };
            summary.happened(format!("checkpoint {n}: {what}, by {}", decision.poster.login));
        }
        if let Verb::Changes { items } = &decision.verb {
            self.remarked(items, true);
        }
        // A newer base is no answer to remarks: they come with the next decision.
        let items = match decision.verb {
            Verb::Rebase { .. } => Vec::new(),
            _ => {
                let mut kept = std::mem::take(&mut self.remarks);
                // Skips remarks withdrawn before the agent saw them.
                kept.retain(|(_, item)| !self.numbered.is_withdrawn(item));
                kept
            }
        };
        let values = context! {
            n, login => self.fence.inline(&decision.poster.login), every => self.every(), read_only => self.kind.reads_only(),
            numbered => items.iter().any(|(number, _)| number.is_some()), text => self.form == Form::Text,
            open => self.numbered.open_names(),
        };
        match &decision.verb {
            Verb::Changes { .. } => self.say("revise", values),
            // The event of the merge tells the model about it.
            Verb::Rebase { .. } => {}
            // The event that widens a plan's task tells the model about the approval.
            _ if self.kind.reads_only() => {}
            _ => self.say("approved", values),
        }
        if !items.is_empty() {
            self.ask(feedback::render(self.fence, items.iter().map(|(number, item)| (*number, item))));
        }
    }

    /// Keeps these remarks, with their numbers, for the next decision.
    pub(super) fn remarked(&mut self, items: &[Item], asks: bool) {
        self.remarks.extend(self.numbered.numbers(items, asks).into_iter().zip(items.iter().cloned()));
    }

    /// Remarks of the event that was just taken, each with its number.
    fn with_numbers(&self, verb: &Verb) -> String {
        let items: &[Item] = match verb {
            Verb::Say { items } | Verb::Changes { items } => items,
            _ => &[],
        };
        let numbers = self.numbered.numbers(items, matches!(verb, Verb::Changes { .. }));
        feedback::render(self.fence, numbers.into_iter().zip(items))
    }

    /// The answer is the call's result, and a person's words, which every later conversation of this task contains.
    pub(super) fn question_answered(&mut self, index: u32, decision: &Decision) {
        let login = self.fence.inline(&decision.poster.login);
        let answer = self.with_numbers(&decision.verb);
        if let Some(summary) = &mut self.folding {
            summary.happened(format!("a question was put to a person, and {login} answered"));
        }
        if let Some(question) = self.question.take() {
            let question = self.fence.wrap("your question", Trust::None, &question.text);
            let words = format!("You asked:\n{question}\n{login} answered:\n{answer}");
            // The result of a summarized turn is not sent.
            if self.folding.is_some() {
                self.notes.push(words.clone());
            }
            self.asked.push(words);
        }
        self.result(index, format!("{login} answered:\n{answer}"), false);
    }

    /// Adds what somebody said instead of giving permission, with its places; the action's result only has the beginning.
    pub(super) fn permission_refused(&mut self, decision: &Decision) {
        if let Verb::Say { items } | Verb::Changes { items } = &decision.verb
            && !items.is_empty()
        {
            self.ask(self.with_numbers(&decision.verb));
        }
    }

    pub(super) fn widened(&mut self, words: &str) {
        (self.kind, self.unbriefed) = (TaskKind::Fix, false);
        let file = if self.form == Form::Text { "text_widened" } else { "widened" };
        self.ask(prompt::render(file, context! { every => self.every() }));
        let (words, _) = seen(words);
        if !words.is_empty() {
            self.ask(self.fence.wrap("the task, by the person who approved", Trust::Write, &words));
        }
        if let Some(own) = self.of_base.and_then(|rules| rules.prompt_of(TaskKind::Fix)) {
            self.instructed(Some(own), false);
        }
    }

    /// The state of the work: commit, changed files, plan, and what the host told of it.
    pub(super) fn stand(&self) -> minijinja::Value {
        let name = |path: &&str| text::cut(&text::one_line(path), 200).0.to_owned();
        let files = self.changed.iter().take(MOST_FILES).map(name).collect::<Vec<_>>().join("\n");
        let files = self.paths(&files);
        let plan = self.plan.map(|plan| self.fence.wrap("your plan, as you last noted it", Trust::None, plan));
        context! {
            commit => self.head.map(Commit::short), files, plan => plan.unwrap_or_default(),
            open => self.numbered.open_names(), notes => self.reminded(),
        }
    }
}

fn kind(verdict: &Verdict) -> &'static str {
    match verdict.case() {
        VerdictCase::Passed => "passed",
        VerdictCase::Failed => "failed",
        VerdictCase::NoTest => "no test ran",
        VerdictCase::None => "none",
    }
}

#[cfg(test)]
#[path = "remarks_tests.rs"]
mod tests;
