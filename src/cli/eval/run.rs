//! A whole run: puts the tasks on the forge, tries and judges each, prints progress, and sums up.
//!
//! Owns the order and what counts as not run. A failure of one task does not stop the others.

use super::drive::{LIMIT, Policy, TryResult};
use super::environment::Environment;
use super::frozen::{self, Frozen};
use super::judge::{From, Judge, Judged, Planted};
use super::measure::{measure, said_done};
use super::model::{EvalModel, NO_ANSWER, config_hash};
use super::results::{About, Header, Line, Measured, ModelSeen, Out, Outcome, Results, Row, TryVerdict};
use super::tasks::{Folder, Set, TaskDir};
use super::{EvalArgs, against, installation, limit, own_dir, table, under};
use crate::cli::printer::{Complaint, Printer};
use crate::config::Process;
use anyhow::{Context, Result};

pub struct Run<'a> {
    pub args: &'a EvalArgs,
    pub process: &'a Process,
    pub folder: &'a Folder,
    /// Tasks that cannot be read, with the reason.
    pub broken: Vec<(String, String)>,
    /// The chosen tasks, in words.
    pub words: String,
    pub baseline: Option<Results>,
    pub printer: &'a Printer,
}

/// A task that can be tried: its base, and the names of the repositories of its tries.
struct Ready<'a> {
    task: &'a TaskDir,
    planted: Planted,
    names: Vec<String>,
}

impl Run<'_> {
    pub async fn all(self, chosen: &[&TaskDir], mut out: Out) -> Result<()> {
        let asked = EvalModel::of(self.process)?;
        if let Some(baseline) = &self.baseline {
            against::comparable(&baseline.header, asked.recording)?;
        }
        let header = self.header(&asked, asked.look().await)?;
        self.announce(&header, chosen)?;
        out.put(&Line::Header(Box::new(header.clone())))?;
        let mut rows = Vec::new();
        let mut add = |row: Row| {
            self.say(&row);
            out.put(&Line::Task(Box::new(row.clone())))?;
            rows.push(row);
            anyhow::Ok(())
        };
        for (name, why) in &self.broken {
            add(not_run(name, 1, None, asked.recording, format!("it cannot be read: {why}")))?;
        }
        if header.model.fault.is_empty() {
            self.tries(chosen, asked.recording, &mut add).await?;
        } else {
            for task in chosen {
                add(not_run(&task.spec.name, 1, Some(task), asked.recording, header.model.fault.clone()))?;
            }
        }
        self.same_model(&asked, &header.model).await?;
        let count = |outcome| rows.iter().filter(|row| row.outcome == outcome).count();
        let (solved, not_run) = (count(Outcome::Solved), count(Outcome::NotRun));
        out.put(&Line::End { tries: rows.len(), solved, not_run })?;
        self.sum_up(header, rows)
    }

    fn header(&self, asked: &EvalModel, model: ModelSeen) -> Result<Header> {
        Ok(Header {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: crate::git::head_around(&self.folder.at),
            recording: asked.recording,
            model,
            config: config_hash(self.process),
            frozen: Frozen::look(self.folder)?,
            chosen: self.words.clone(),
            limit_s: self.args.limit,
            reviews: self.args.reviews,
            repeats: self.args.seeds,
            started: jiff::Timestamp::now().to_string(),
        })
    }

    /// Prints warnings first, and records a use of held-out tasks.
    fn announce(&self, header: &Header, chosen: &[&TaskDir]) -> Result<()> {
        let seen = &header.model;
        let name = seen.answered.as_deref().unwrap_or(&seen.label);
        self.printer.step(&format!("{}: {name}", if header.recording { "recording" } else { "model" }));
        if !seen.fault.is_empty() {
            self.printer.warn(&format!("THE MODEL CANNOT BE MEASURED: {}", seen.fault));
        }
        if let Some(warning) = header.frozen.warning() {
            self.printer.warn(&warning);
        }
        let held = chosen.iter().filter(|task| task.spec.set == Set::HeldOut).count();
        if held > 0 && seen.fault.is_empty() {
            let what = format!("{held} held-out tasks");
            frozen::look_at(self.folder, &header.started, name, &what, self.args.out.as_deref(), self.printer)?;
        }
        Ok(())
    }

    async fn tries(&self, chosen: &[&TaskDir], recording: bool, add: &mut impl FnMut(Row) -> Result<()>) -> Result<()> {
        let dir = own_dir()?;
        self.printer.step(match self.args.forge {
            Some(_) => "starting a broker and an installation of its own, over the forge that was named",
            None => "starting a forge, a broker and an installation of its own",
        });
        let judge = Judge::start(under(self.process, "j"), dir.path()).await?;
        let mut environment =
            Environment::lay(self.process, &installation("b"), dir.path(), self.args.forge().as_ref()).await?;
        let mut ready = Vec::new();
        for (at, task) in chosen.iter().enumerate() {
            self.printer.step(&format!("{}: its hidden tests on the base", task.spec.name));
            match self.plant(&judge, &environment, at, task).await {
                Ok(planted) => ready.push(planted),
                Err(why) => add(not_run(&task.spec.name, 1, Some(task), recording, format!("{why:#}")))?,
            }
        }
        if ready.is_empty() {
            return Ok(());
        }
        self.printer.step("starting the bot; it proves the barrier first");
        environment.serve().await.context("caisson serve")?;
        for repeat in 1..=self.args.seeds {
            for it in &ready {
                self.printer.step(&format!("{}: begins", it.task.spec.name));
                let mut row = not_run(&it.task.spec.name, repeat, Some(it.task), recording, String::new());
                match self.one(&judge, &mut environment, it, repeat, &mut row).await {
                    Ok(()) => {}
                    Err(why) => (row.outcome, row.reason) = (Outcome::NotRun, format!("{why:#}")),
                }
                add(row)?;
            }
        }
        Ok(())
    }

    /// Puts the base on the forge once for each try, so that no try sees another's branch.
    async fn plant<'a>(
        &self,
        judge: &Judge,
        environment: &Environment,
        at: usize,
        task: &'a TaskDir,
    ) -> Result<Ready<'a>> {
        let key = format!("t{at}");
        let planted = judge.plant(&key, task).await?;
        let plain: String = task.spec.repository.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let names: Vec<String> = (1..=self.args.seeds).map(|repeat| format!("{plain}-{}-{repeat}", at + 1)).collect();
        for name in &names {
            environment.add(&judge.place(&key), name)?;
        }
        Ok(Ready { task, planted, names })
    }

    async fn one(
        &self,
        judge: &Judge,
        environment: &mut Environment,
        it: &Ready<'_>,
        repeat: u32,
        row: &mut Row,
    ) -> Result<()> {
        environment.serve().await?;
        let name = &it.names[repeat as usize - 1];
        let person = environment.person(name)?;
        let policy = Policy { reviews: self.args.reviews, limit: limit(self.args) };
        let driven = environment.place(&person, name).drive(&it.task.title, &it.task.body, policy).await?;
        row.measured = measured(&driven);
        (row.end, row.reason) = (driven.end.clone(), driven.reason.clone());
        if let Some(why) = unanswered(&driven).filter(|_| row.measured.turns == 0) {
            anyhow::bail!("the model gave no answer: {why}");
        }
        row.outcome = Outcome::Unsolved;
        let Some(commit) = &driven.commit else {
            row.false_done = said_done(&driven.log);
            row.reason = one_of(&driven.reason, "nothing was changed");
            return Ok(());
        };
        let (url, auth) = environment.remote(name)?;
        let judged = judge.judge(&it.planted, it.task, &From { url: &url, auth: &auth }, commit).await;
        let judged = judged.context("its last commit could not be judged")?;
        settle(row, &judged, said_done(&driven.log));
        Ok(())
    }

    fn say(&self, row: &Row) {
        let m = &row.measured;
        let numbers = format!("{:.0} s, {} actions, {} reviews", m.own_seconds, m.actions, m.reviews);
        let text = match row.outcome {
            Outcome::Solved => format!("{}: solved ({numbers})", row.task),
            Outcome::Unsolved => format!("{}: not solved, {} ({numbers}): {}", row.task, row.end, row.reason),
            Outcome::NotRun => format!("{}: NOT RUN: {}", row.task, row.reason),
        };
        self.printer.step(&text);
    }

    /// # Errors
    /// A [`Complaint`] if the server changed its model meanwhile, because the results may be of two models.
    async fn same_model(&self, asked: &EvalModel, before: &ModelSeen) -> Result<()> {
        if !before.fault.is_empty() {
            return Ok(());
        }
        if let Some(warning) = same_model(before, &asked.look().await)? {
            self.printer.warn(&warning);
        }
        Ok(())
    }

    fn sum_up(&self, header: Header, rows: Vec<Row>) -> Result<()> {
        self.printer.say(&table::report(&header, &rows));
        if let Some(warning) = header.frozen.warning() {
            self.printer.warn(&warning);
        }
        let fault = header.model.fault.clone();
        let now = Results { header, rows, whole: true };
        if let Some(then) = &self.baseline {
            against::warnings(then, &now.header).iter().for_each(|warning| self.printer.warn(warning));
            self.printer.say(&table::compared(&against::compare(then, &now)?));
        }
        match fault.is_empty() {
            true => Ok(()),
            false => Err(Complaint::new("the model cannot be measured").because(fault).into()),
        }
    }
}

fn measured(driven: &TryResult) -> Measured {
    let mut found = measure(&driven.log);
    found.own_seconds = driven.own.as_secs_f64();
    found.waiting_seconds = driven.waiting.as_secs_f64();
    found
}

/// Why a try without an answer tells nothing of the model. None if it was still answering when its time was up: that counts.
fn unanswered(driven: &TryResult) -> Option<&str> {
    let asked = driven.log.iter().any(|(_, event)| event.call_start().is_some());
    match (driven.end == LIMIT, &driven.trouble) {
        (false, _) => Some(driven.reason.as_str()),
        (true, Some(trouble)) => Some(trouble.as_str()),
        (true, None) if asked => None,
        (true, None) => Some("it was not asked before its time was up"),
    }
}

/// A warning if the model did not answer after the last task: an hour's results are not thrown away because its server was busy for a moment.
fn same_model(before: &ModelSeen, after: &ModelSeen) -> Result<Option<String>> {
    if after.fault.starts_with(NO_ANSWER) {
        let why = &after.fault;
        return Ok(Some(format!("whether the same model answered to the end is not known: asked again, {why}")));
    }
    if after.answered == before.answered {
        return Ok(None);
    }
    let name = |seen: &ModelSeen| seen.answered.clone().unwrap_or_else(|| "nobody".to_owned());
    let what = format!("the server answered as {} before and as {} after", name(before), name(after));
    Err(Complaint::new(what).because("what was measured may be of two models; nothing of it counts").into())
}

fn settle(row: &mut Row, judged: &Judged, said_done: bool) {
    row.judged = Some(TryVerdict { hidden: judged.hidden, suite: judged.suite, base_tests: judged.base_tests });
    if judged.solved() {
        (row.outcome, row.reason) = (Outcome::Solved, String::new());
        return;
    }
    row.false_done = said_done;
    row.reason = if row.reason.is_empty() { judged.why.clone() } else { format!("{}; {}", row.reason, judged.why) };
}

fn one_of(first: &str, second: &str) -> String {
    if first.is_empty() { second.to_owned() } else { first.to_owned() }
}

fn not_run(name: &str, repeat: u32, task: Option<&TaskDir>, recording: bool, reason: String) -> Row {
    let about = task.map(|task| About {
        set: task.spec.set,
        family: task.spec.family,
        language: task.spec.language,
        names_file: task.spec.names_file,
        large: task.spec.large,
    });
    Row {
        task: name.to_owned(),
        repeat,
        about,
        outcome: Outcome::NotRun,
        recording,
        false_done: false,
        end: "not run".to_owned(),
        reason,
        judged: None,
        measured: Measured::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Event;
    use std::time::Duration;

    #[test]
    fn a_server_that_was_away_is_no_model_that_was_too_slow() {
        let driven = |end: &str, trouble: Option<&str>| TryResult {
            end: end.to_owned(),
            reason: "why it ended".to_owned(),
            trouble: trouble.map(str::to_owned),
            commit: None,
            log: vec![(1, Event::ModelCallStarted { turn: 1, worst_micro_usd: 0 })],
            own: Duration::ZERO,
            waiting: Duration::ZERO,
        };
        assert_eq!(unanswered(&driven(LIMIT, None)), None, "it was at its first answer");
        assert_eq!(unanswered(&driven(LIMIT, Some("the model can't be reached"))), Some("the model can't be reached"));
        assert_eq!(unanswered(&driven("paused", None)), Some("why it ended"));
        let waited = TryResult { log: Vec::new(), ..driven(LIMIT, None) };
        assert_eq!(unanswered(&waited), Some("it was not asked before its time was up"));
    }

    #[test]
    fn another_model_at_the_end_voids_a_run_and_silence_does_not() {
        let named = |name: &str| ModelSeen { answered: Some(name.to_owned()), ..ModelSeen::default() };
        let silent = ModelSeen { fault: format!("{NO_ANSWER}: HTTP 503"), ..ModelSeen::default() };
        assert!(same_model(&named("a"), &named("a")).expect("the same").is_none());
        let warning = same_model(&named("a"), &silent).expect("no other model").expect("a warning");
        assert!(warning.contains("is not known") && warning.ends_with("HTTP 503"), "{warning}");
        assert!(same_model(&named("a"), &named("b")).is_err());
        assert!(same_model(&named("a"), &ModelSeen::default()).is_err(), "it names itself no more");
    }
}
