//! `caisson eval`: solves tasks through the whole product and judges the results, with their cost.
//!
//! Owns flags and their refusals. Tasks on disk (`tasks.rs`, `frozen.rs`), the environment of a run (`environment.rs`, `own/`), tries (`run.rs`,
//! `drive.rs`), judgement (`judge.rs`, `check.rs`, `answers.rs`), the model (`model.rs`), numbers and their comparison (`measure.rs`,
//! `results.rs`, `table.rs`, `against.rs`). A running installation is never touched. Tests: in each file, and `tests/eval.rs`.

mod against;
mod answers;
mod check;
mod drive;
mod environment;
mod frozen;
mod judge;
mod measure;
mod model;
pub mod own;
mod results;
mod run;
mod table;
mod tasks;

use super::interruption::interrupted;
use super::printer::{Complaint, Printer};
use crate::config::Process;
use anyhow::{Context, Result};
use clap::Args;
use own::forge::Named;
use results::{Out, Results};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tasks::{Folder, Set, TaskDir};
use url::Url;

/// Solve tasks through the whole product, and judge each answer with tests that the bot never saw.
///
/// Starts a forge and an installation of its own with the model of your configuration, opens each task's issue with /fix, approves what is
/// asked, and judges the last commit in a fresh sandbox. Three tasks unless told otherwise. docs/evaluation.md says what counts.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  caisson eval\n  caisson eval --quick --out results.jsonl\n  \
    caisson eval --quick --against results.jsonl\n  caisson eval --tasks my-tasks --only off-by-one\n  caisson eval --check-tasks\n  \
    caisson eval --judge answers.jsonl --out judged.jsonl")]
pub struct EvalArgs {
    /// The 24 tasks to tune on, in place of three.
    #[arg(long, conflicts_with = "set")]
    quick: bool,
    /// All tasks of a set. Each look at held-out is written down in looks.log beside the tasks.
    #[arg(long, value_enum)]
    set: Option<Chosen>,
    /// Only this task. Repeat for more.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// The folder with `tasks` and `repositories`; one of your own is run whole unless --set chooses.
    #[arg(long, value_name = "DIR")]
    tasks: Option<PathBuf>,
    /// How often each task is tried.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    seeds: u32,
    /// Seconds of its own that one try may take; waiting for a review is not counted.
    #[arg(long, value_name = "SECONDS", default_value_t = 180)]
    limit: u64,
    /// Reviews that are approved in one try; it ends when one more is asked for.
    #[arg(long, value_name = "N", default_value_t = 8)]
    reviews: u32,
    /// A forge to throw away (a fresh Gitea) in place of the built-in one. Accounts and repositories of the run stay there.
    #[arg(long, value_name = "URL", requires = "forge_admin")]
    forge: Option<Url>,
    /// A file with a token of that forge's site admin (scopes: admin, organization, user).
    #[arg(long, value_name = "FILE", requires = "forge")]
    forge_admin: Option<PathBuf>,
    /// Write JSON lines there. A file that exists is never overwritten.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Compare with the results of an earlier run.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// No model: try whether each task tells its base from its reference solution.
    #[arg(long, conflicts_with_all = ["out", "against", "freeze"])]
    check_tasks: bool,
    /// No model: judge the answers in FILE, JSON lines of a task with a patch or a tree that others made.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "set", "only", "against", "check_tasks", "freeze", "forge"])]
    judge: Option<PathBuf>,
    /// Write down what the tasks are now; every run says when they differ from it.
    #[arg(long)]
    freeze: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Chosen {
    Quick,
    Tune,
    HeldOut,
    All,
}

/// The project's own tasks, relative to its folder.
const OWN_TASKS: &str = "eval";

impl EvalArgs {
    /// # Errors
    /// A [`Complaint`] when nothing can be run, or the run was interrupted; everything that was started is removed first.
    pub async fn run(self, config: &Path) -> Result<()> {
        let printer = Printer::terminal();
        let folder = Folder::read(self.tasks.as_deref().unwrap_or(Path::new(OWN_TASKS)))?;
        if self.freeze {
            for (set, hash) in frozen::freeze(&folder)? {
                printer.good(&format!("{set} is frozen as {hash}"));
            }
            return Ok(());
        }
        let process = self.process(config)?;
        self.is_another_forge(&process)?;
        if let Some(path) = &self.judge {
            return stopped_by_ctrl_c(self.judge_answers(path, &folder, &process, &printer)).await;
        }
        let chosen = self.chosen(&folder)?;
        // Everything that can be refused is refused before the long work.
        let baseline = self.against.as_deref().map(Results::read).transpose()?;
        let out = Out::create(self.out.as_deref())?;
        let broken = if self.only.is_empty() { folder.broken.clone() } else { Vec::new() };
        let work = async {
            if self.check_tasks {
                let dir = own_dir()?;
                let judge = judge::Judge::start(under(&process, "c"), dir.path()).await?;
                return check::check(&judge, &chosen, &broken, &printer).await;
            }
            let words = self.words();
            let run = run::Run {
                args: &self,
                process: &process,
                folder: &folder,
                broken,
                words,
                baseline,
                printer: &printer,
            };
            Box::pin(run.all(&chosen, out)).await
        };
        stopped_by_ctrl_c(work).await
    }

    fn forge(&self) -> Option<Named> {
        Some(Named { url: self.forge.clone()?, admin: self.forge_admin.clone()? })
    }

    /// # Errors
    /// A [`Complaint`] when the named forge is the one of the configuration.
    fn is_another_forge(&self, process: &Process) -> Result<()> {
        let Some(named) = &self.forge else { return Ok(()) };
        if !named.username().is_empty() || named.password().is_some() || named.query().is_some() {
            let complaint = Complaint::new("--forge takes an address without a name, a password or a query");
            return Err(complaint.hint("the admin's token belongs into the file of --forge-admin").into());
        }
        let at = |url: &Url| (host(url), url.port_or_known_default());
        let ours = [&process.forge.url, &process.forge.public_url];
        if ours.into_iter().flatten().any(|url| at(url) == at(named)) {
            let what = format!("{named} is the forge of your configuration, and is not touched");
            return Err(Complaint::new(what).hint("name one that can be thrown away").into());
        }
        Ok(())
    }

    /// Judges answers made elsewhere: no model, no forge, no bot.
    async fn judge_answers(&self, path: &Path, folder: &Folder, process: &Process, printer: &Printer) -> Result<()> {
        let answers = answers::read(path)?;
        let out = Out::create(self.out.as_deref())?;
        let of = |answer: &answers::OfferedAnswer| folder.tasks.iter().find(|task| task.spec.name == answer.task);
        let held = answers.iter().filter(|it| of(it).is_some_and(|task| task.spec.set == Set::HeldOut)).count();
        if held > 0 {
            let what = format!("{held} answers to held-out tasks");
            frozen::look_at(
                folder,
                &jiff::Timestamp::now().to_string(),
                "--judge",
                &what,
                self.out.as_deref(),
                printer,
            )?;
        }
        let dir = own_dir()?;
        let judge = judge::Judge::start(under(process, "j"), dir.path()).await?;
        answers::judge(&judge, folder, &answers, out, printer).await
    }

    /// The chosen tasks, in order.
    fn chosen<'a>(&self, folder: &'a Folder) -> Result<Vec<&'a TaskDir>> {
        let known = |name: &String| {
            folder.tasks.iter().any(|task| task.spec.name == *name) || folder.broken.iter().any(|(it, _)| it == name)
        };
        if let Some(name) = self.only.iter().find(|name| !known(name)) {
            return Err(Complaint::new(format!("there is no task {name} in {}", folder.at.display())).into());
        }
        if let Some((name, why)) = folder.broken.iter().find(|(name, _)| self.only.contains(name)) {
            return Err(Complaint::new(format!("the task {name} cannot be read")).because(why.clone()).into());
        }
        let wanted = |task: &TaskDir| match (self.only.is_empty(), self.set()) {
            (false, _) => self.only.contains(&task.spec.name),
            (true, None) => true,
            (true, Some(set)) => set.holds(task.spec.set),
        };
        let chosen: Vec<&TaskDir> = folder.tasks.iter().filter(|task| wanted(task)).collect();
        if chosen.is_empty() && folder.broken.is_empty() {
            return Err(Complaint::new(format!("{} holds no such task", folder.at.display())).into());
        }
        Ok(chosen)
    }

    /// The chosen set; none = all.
    fn set(&self) -> Option<Set> {
        match self.set {
            Some(Chosen::Quick) => Some(Set::Quick),
            Some(Chosen::Tune) => Some(Set::Tune),
            Some(Chosen::HeldOut) => Some(Set::HeldOut),
            Some(Chosen::All) => None,
            None if self.quick => Some(Set::Tune),
            None if self.check_tasks || self.tasks.is_some() => None,
            None => Some(Set::Quick),
        }
    }

    fn words(&self) -> String {
        match (self.only.is_empty(), self.set()) {
            (false, _) => format!("only {}", self.only.join(", ")),
            (true, Some(set)) => set.word().to_owned(),
            (true, None) => "all".to_owned(),
        }
    }

    /// Without a model no configuration is needed, so the defaults are used.
    fn process(&self, file: &Path) -> Result<Process> {
        if (self.check_tasks || self.judge.is_some()) && !file.exists() {
            return Ok(Process::from_layers(file, "", &|name| std::env::var(name).ok())?);
        }
        Ok(Process::load(file)?)
    }
}

/// A host for comparison; this machine has several names.
fn host(url: &Url) -> String {
    let name = url.host_str().unwrap_or_default().trim_end_matches('.').to_lowercase();
    match name.as_str() {
        "127.0.0.1" | "[::1]" => "localhost".to_owned(),
        _ => name,
    }
}

/// The configuration with an installation name of this process, without a network.
fn under(process: &Process, part: &str) -> Process {
    let mut own = process.clone();
    own.installation = installation(part);
    own.router.pool = String::new();
    own
}

/// The installation name that everything of this run has in the container engine.
fn installation(part: &str) -> String {
    format!("eval-{}-{part}", std::process::id())
}

fn own_dir() -> Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("caisson-eval-").tempdir().context("no temporary directory can be made")
}

/// Limit of a try's own time.
fn limit(args: &EvalArgs) -> Duration {
    Duration::from_secs(args.limit)
}

/// Runs `work` until it is interrupted, which drops everything that it holds and has started.
async fn stopped_by_ctrl_c(work: impl Future<Output = Result<()>>) -> Result<()> {
    tokio::select! {
        done = work => done,
        stopped = interrupted() => {
            stopped?;
            Err(Complaint::new("stopped; what was started has been ended").into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: EvalArgs,
    }

    fn refused(forge: &str) -> Option<String> {
        let text = "[forge]\nurl = \"http://localhost:3000/\"\npublic_url = \"https://git.example.org\"\n";
        let process = Process::from_layers(Path::new("/x/caisson.toml"), text, &|_| None).expect("a configuration");
        let line = Line::try_parse_from(["eval", "--forge", forge, "--forge-admin", "token"]).expect("flags");
        line.args.is_another_forge(&process).err().map(|error| error.to_string())
    }

    #[test]
    fn a_forge_to_throw_away_is_not_the_one_that_is_worked_with() {
        for ours in
            ["http://127.0.0.1:3000", "http://[::1]:3000/x", "http://LOCALHOST.:3000", "https://git.example.org:443"]
        {
            assert!(refused(ours).is_some_and(|said| said.contains("is not touched")), "{ours}");
        }
        let said = refused("http://root:s3cret@127.0.0.1:3001").expect("a password");
        assert!(said.contains("without a name, a password") && !said.contains("s3cret"), "{said}");
        assert_eq!(refused("http://127.0.0.1:3001"), None);
        assert!(
            Line::try_parse_from(["eval", "--forge", "http://127.0.0.1:3001"]).is_err(),
            "its admin's token is missing"
        );
    }
}
