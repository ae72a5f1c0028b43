//! The trial: the image, the checks without changes, then setups that may make the checks run.
//!
//! Owns the order of the steps and what is printed about each. Every command is the repository's own and only runs in a sandbox; its output
//! is escaped. The search ends with the first setup that makes the checks run, and run better than before.

use super::Target;
use super::environment::Environment;
use crate::cli::printer::Printer;
use crate::config::process::Sandbox;
use crate::config::project::{self, Project};
use crate::config::project::{Granted, Network};
use crate::config::proposal::Proposal;
use crate::effect::{Choice, Chosen};
use crate::egress::overruled;
use crate::sandbox::checks::{ChecksResult, standing};
use crate::sandbox::commands::{self, Commands, ProjectCommand, Setup};
use crate::sandbox::items;
use crate::sandbox::lacks::{Lack, lacks};
use crate::sandbox::project_files::ProjectFiles;
use crate::sandbox::{PrepareSpec, SetupSpec, Tried, VerifySpec};
use crate::text::{cut, one_line};
use anyhow::{Context, Result};
use protocol::router::Rule;

/// The most setups, and the most test commands, that are tried.
const WAYS: usize = 3;
/// The most failures shown of one run, and characters of each.
const SHOWN: usize = 3;
const LENGTH: usize = 160;
/// The only task number of a trial.
const TASK: i64 = 1;

/// Result of a trial.
pub(super) struct TrialResult {
    /// Whether its checks run without changes.
    pub works: bool,
    /// The project file that makes them run, if it has to change.
    pub file: Option<String>,
    /// One line for each observation, for a pull request.
    pub summary: Vec<String>,
}

/// A tried combination of setup and test command.
struct Attempt {
    setup: Option<Setup>,
    test: ProjectCommand,
    standing: ChecksResult,
}

pub(super) struct Look<'a> {
    environment: &'a mut Environment,
    target: &'a Target<'a>,
    printer: &'a Printer,
    attempts: u32,
    /// Hosts that were refused in all tries.
    hosts: Vec<String>,
}

/// What the repository's files say.
struct Read {
    project: Project,
    /// What its own commands wish to reach.
    networks: Vec<Network>,
    text: Option<String>,
    found: Commands,
    image: String,
    chosen: Chosen,
    rules: Vec<Rule>,
}

impl<'a> Look<'a> {
    pub fn new(environment: &'a mut Environment, target: &'a Target<'a>, printer: &'a Printer) -> Self {
        Self { environment, target, printer, attempts: 0, hosts: Vec::new() }
    }

    /// The settings of its sandboxes.
    fn sandbox(&self) -> &Sandbox {
        self.environment.config.sandbox_of(self.target.key)
    }

    pub async fn all(mut self) -> Result<TrialResult> {
        let Some(read) = self.read().await? else {
            return Ok(TrialResult { works: false, file: None, summary: Vec::new() });
        };
        if !self.sandbox().networked() {
            self.printer.warn("sandbox.network = \"none\": setup has no network either");
        }
        let before = self.as_it_is(&read).await?;
        let mut best = None;
        if !matches!(&before, Some(Attempt { standing: ChecksResult::Pass { .. }, .. })) {
            best = self.ways(&read, before.as_ref()).await?;
        }
        let setup = best.as_ref().or(before.as_ref()).and_then(|way| way.setup.clone());
        if best.as_ref().or(before.as_ref()).is_some_and(|way| way.standing.run()) {
            self.others(&read, setup.as_ref()).await?;
        }
        self.conclude(&read, before, best)
    }

    /// Reads the files and chooses the image. None without an available image, after printing that.
    async fn read(&mut self) -> Result<Option<Read>> {
        let (repos, key, commit) = (&self.environment.repos, self.target.key, self.target.commit);
        let files = ProjectFiles::with_commands(repos, key, commit).await?;
        let file = repos.project_file(key, commit).await?;
        let text = file.text.with_context(|| format!("{} is no UTF-8", project::FILE))?;
        let project = file.project?;
        let networks = repos.own_commands(key, commit).await?.networks();
        let project = project.with_networks(networks.clone());
        let grants = Granted::of(&self.environment.config, key);
        let accepted = Some(self.target.accepted).filter(|hash| !hash.is_empty());
        let effective = project.within(&grants, accepted);
        let found = commands::commands(&files.names, &|name| files.text(name), project.toolchain.as_deref());
        let choice =
            Choice { sandboxes: &self.environment.sandboxes, repos, sandbox: self.sandbox(), files: Some(&files) };
        let chosen = match choice.of(key, commit, &effective.image, effective.test.as_deref()).await {
            Ok(chosen) => chosen,
            Err(trouble) => {
                self.printer.bad(&trouble.to_string());
                return Ok(None);
            }
        };
        let why = match &chosen.by_file {
            Some((name, by)) => format!(": its {by} tells the toolchain {name}"),
            None => String::new(),
        };
        self.printer.good(&format!("its tasks run in {}{why}", chosen.image));
        if let Some(note) = &chosen.note {
            self.printer.warn(note);
        }
        let denied = self.environment.config.denied_of(key);
        let mut rules = grants.egress;
        rules.extend(effective.egress);
        rules.retain(|rule| overruled(&denied, rule).is_none());
        rules.extend(self.environment.config.refusals_of(key));
        Ok(Some(Read { project, networks, text, found, image: chosen.image.clone(), chosen, rules }))
    }

    /// Runs the checks as a task would at present.
    async fn as_it_is(&mut self, read: &Read) -> Result<Option<Attempt>> {
        let accepted = read.project.is_accepted(Some(self.target.accepted));
        let own = (!read.project.setup.is_empty())
            .then(|| Setup { commands: read.project.setup.clone(), by: project::FILE.to_owned() });
        if own.is_some() && !accepted {
            self.printer.warn(&format!(
                "the setup of its {} is not accepted (caisson repo add {}): tasks start without it",
                project::FILE,
                self.target.source
            ));
        }
        let setup = own.filter(|_| accepted);
        let Some(test) = self.known_test(read) else {
            self.printer.bad("no test command: nothing that a task does would be tested");
            return Ok(None);
        };
        if let Some(setup) = &setup
            && !self.set_up(read, setup).await?
        {
            return Ok(Some(Attempt { setup: Some(setup.clone()), test, standing: ChecksResult::Nothing }));
        }
        let standing = self.check(read, &test, "as it is").await?;
        Ok(Some(Attempt { setup, test, standing }))
    }

    fn known_test(&self, read: &Read) -> Option<ProjectCommand> {
        let named = read.project.test.clone().map(|command| ProjectCommand { command, by: project::FILE.to_owned() });
        named.or_else(|| read.found.tests.first().cloned())
    }

    /// Tries setups and commands that the files indicate, until checks run.
    async fn ways(&mut self, read: &Read, before: Option<&Attempt>) -> Result<Option<Attempt>> {
        let mut best: Option<Attempt> = None;
        let own = Setup { commands: read.project.setup.clone(), by: project::FILE.to_owned() };
        let own = (!own.commands.is_empty() && before.is_none_or(|way| way.setup.is_none())).then_some(own);
        let setups: Vec<Option<Setup>> = own.into_iter().chain(read.found.setups.iter().cloned()).map(Some).collect();
        // Last, other commands on the unchanged commit.
        for setup in setups.into_iter().take(WAYS).chain([None]) {
            let plain = setup.is_none();
            match &setup {
                Some(setup) if !self.set_up(read, setup).await? => continue,
                Some(_) => {}
                None => self.environment.sandboxes.trials.without_setup(TASK)?,
            }
            // Commands that were already run on the unchanged commit are skipped.
            let known = self.known_test(read);
            let mut tests: Vec<ProjectCommand> =
                read.found.tests.iter().filter(|it| known.as_ref() != Some(it)).cloned().collect();
            if !(plain && before.is_some()) {
                tests.splice(0..0, known);
            }
            for test in tests.into_iter().take(WAYS) {
                let standing = self.check(read, &test, setup.as_ref().map_or("without setup", |it| &it.by)).await?;
                let way = Attempt { setup: setup.clone(), test, standing };
                let runs = way.standing.run();
                let better = before.is_none_or(|before| way.standing.rank() > before.standing.rank());
                if best.as_ref().is_none_or(|best| way.standing.rank() > best.standing.rank()) {
                    best = Some(way);
                }
                if runs && better {
                    return Ok(best);
                }
                // It runs, so other commands would add nothing.
                if runs {
                    break;
                }
            }
        }
        Ok(best.filter(|way| before.is_none_or(|before| way.standing.rank() > before.standing.rank())))
    }

    /// Runs setup commands; returns whether all succeeded.
    async fn set_up(&mut self, read: &Read, setup: &Setup) -> Result<bool> {
        self.printer.step(&format!("setup ({})", setup.by));
        self.attempts += 1;
        let spec = PrepareSpec {
            task: TASK,
            attempt: self.attempts,
            repo_key: self.target.key.to_owned(),
            base: self.target.commit.clone(),
            trunk: None,
            image: read.image.clone(),
            limits: self.sandbox().limits(),
            network: self.sandbox().networked(),
            egress: read.rules.clone(),
            setup: Some(SetupSpec {
                commands: setup.commands.clone(),
                commit: self.target.commit.clone(),
                wall_ms: self.sandbox().setup_wall_s * 1000,
            }),
            anew: None,
            merge: None,
            afresh: false,
        };
        let tried = self.environment.sandboxes.trials.try_setup(&spec).await;
        let refused = self.environment.refused().await;
        let tried = match tried {
            Ok(tried) => tried,
            Err(why) => {
                self.printer.bad(&format!("setup ({}): {why}", setup.by));
                return Ok(false);
            }
        };
        for it in &tried {
            let text = format!("setup: {} ({}, {})", shown(&it.command), setup.by, seconds(it));
            if it.worked() { self.printer.good(&text) } else { self.printer.bad(&text) }
        }
        let failed = tried.last().filter(|it| !it.worked());
        if let Some(failed) = failed {
            self.explain(&failed.outcome.text, Some(&refused));
        } else if !refused.is_empty() {
            let hosts: Vec<_> = refused.iter().map(|(host, _)| host.as_str()).collect();
            self.printer
                .warn(&format!("it asked for hosts that are not allowed, and did without: {}", hosts.join(", ")));
        }
        Ok(failed.is_none())
    }

    /// Runs checks, and prints a sentence that fits their result.
    async fn check(&mut self, read: &Read, test: &ProjectCommand, how: &str) -> Result<ChecksResult> {
        self.printer.step(&format!("checks: {}", shown(&test.command)));
        let tried = self.run(read, &test.command, "checks").await?;
        let stands = standing(&tried.outcome);
        let text = format!("checks, {how}: {} ({}, {})", shown(&test.command), test.by, seconds(&tried));
        match &stands {
            ChecksResult::Pass { .. } => self.printer.good(&format!("{text}: {}", words(&stands))),
            ChecksResult::Fail { .. } => {
                self.printer.warn(&format!("{text}: {}", words(&stands)));
                let _ = self.failures(&tried.outcome.text);
            }
            ChecksResult::Nothing | ChecksResult::Stopped(_) => {
                self.printer.bad(&format!("{text}: {}", words(&stands)));
                self.explain(&tried.outcome.text, None);
            }
        }
        Ok(stands)
    }

    async fn run(&mut self, read: &Read, command: &str, side: &str) -> Result<Tried> {
        self.attempts += 1;
        let spec = VerifySpec {
            task: TASK,
            commit: self.target.commit.clone(),
            base: self.target.commit.clone(),
            tries: self.attempts,
            repo_key: self.target.key.to_owned(),
            image: read.image.clone(),
            command: Some(command.to_owned()),
            toolchain: None,
            limits: self.sandbox().limits(),
            wall_ms: self.sandbox().verify_wall_s * 1000,
            tests_may_move: false,
        };
        Ok(self.environment.sandboxes.trials.try_checks(&spec, self.target.commit, command, side).await?)
    }

    /// Runs build and lint commands, if the files name any: they tell more about the project, although no key of a project file takes them.
    async fn others(&mut self, read: &Read, setup: Option<&Setup>) -> Result<()> {
        match setup {
            // The result was kept, so the setup does not run again.
            Some(setup) => drop(self.set_up(read, setup).await?),
            None => self.environment.sandboxes.trials.without_setup(TASK)?,
        }
        for (what, found) in [("build", read.found.builds.first()), ("lint", read.found.lints.first())] {
            let Some(found) = found else { continue };
            self.printer.step(&format!("{what}: {}", shown(&found.command)));
            let tried = self.run(read, &found.command, what).await?;
            let text = format!("{what}: {} ({}, {})", shown(&found.command), found.by, seconds(&tried));
            if tried.worked() {
                self.printer.good(&text);
            } else {
                self.printer.warn(&text);
                self.explain(&tried.outcome.text, None);
            }
        }
        Ok(())
    }

    /// Prints what a failed command lacked and what to do about it, otherwise the end of its output. `refused`: connections refused by the
    /// router, if there is a network.
    fn explain(&mut self, output: &str, refused: Option<&[(String, u16)]>) {
        let hosts = refused.unwrap_or_default().iter();
        let mut all: Vec<Lack> = hosts.map(|(host, port)| Lack::Host { host: host.clone(), port: *port }).collect();
        // Without its refused hosts, nothing else needs to be explained.
        if all.is_empty() {
            all = lacks(output);
        }
        for lack in &all {
            self.printer.say(&format!("    {}", one_line(&lack.sentence())));
            let cure = match lack {
                Lack::Host { .. } if refused.is_none() => {
                    "checks have no network: a setup command has to bring what lies there".to_owned()
                }
                Lack::Host { host, .. } => {
                    if !self.hosts.contains(host) {
                        self.hosts.push(host.clone());
                    }
                    lack.cure()
                }
                Lack::Toolchain { .. } | Lack::Program(_) | Lack::Package { .. } => lack.cure(),
            };
            self.printer.say(&format!("      {}", one_line(&cure)));
        }
        if all.is_empty() && !self.failures(output) {
            let lines: Vec<&str> = output.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
            for line in &lines[lines.len().saturating_sub(SHOWN)..] {
                self.printer.say(&format!("    {}", shown(line)));
            }
        }
    }

    /// Prints failures that a known tool reported; returns whether there were any.
    fn failures(&self, output: &str) -> bool {
        let items = items::failures(output);
        for item in items.iter().take(SHOWN) {
            let place = item.test.as_ref().or(item.file.as_ref()).map_or("", String::as_str);
            let first = item.message.lines().next().unwrap_or_default();
            self.printer.say(&format!("    {}", shown(&format!("{place}: {first}"))));
        }
        !items.is_empty()
    }

    /// Prints the conclusion, with the proposed file.
    fn conclude(&self, read: &Read, before: Option<Attempt>, best: Option<Attempt>) -> Result<TrialResult> {
        let nothing = |works| Ok(TrialResult { works, file: None, summary: Vec::new() });
        let works = before.as_ref().is_some_and(|way| way.standing.run());
        let Some(best) = best.filter(|way| way.standing.run()) else {
            match &before {
                Some(way) if works => {
                    self.printer.good(&format!("its checks run by themselves: {}", words(&way.standing)))
                }
                _ => self.printer.bad("its checks do not run in a sandbox, with anything that its files name"),
            }
            if !works && !self.hosts.is_empty() {
                let hosts: Vec<String> = self.hosts.iter().map(|host| format!("\"{}\"", one_line(host))).collect();
                self.printer.hint(&format!(
                    "allow what sandboxes may reach, [egress] allow = [{}], and try again: what lies behind them shows then",
                    hosts.join(", ")
                ));
            }
            return nothing(works);
        };
        let known = self.known_test(read);
        let proposal = Proposal {
            toolchain: read.chosen.by_file.as_ref().map(|(name, by)| (name.clone(), format!("its {by} tells of it"))),
            setup: best.setup.as_ref().filter(|setup| setup.commands != read.project.setup).map(|setup| {
                (
                    setup.commands.clone(),
                    format!("from {}; runs before the agent enters, and needs your acceptance", setup.by),
                )
            }),
            test: (known.as_ref() != Some(&best.test) || read.project.test.is_none())
                .then(|| (best.test.command.clone(), format!("from {}; without a network", best.test.by))),
        };
        let text = proposal.over(read.text.as_deref())?;
        let summary = summary(before.as_ref(), &best);
        if Some(&text) == read.text.as_ref() {
            self.printer.hint(&format!(
                "accept it: caisson repo add {} --accept {}",
                self.target.source,
                read.project.hash()
            ));
            return nothing(false);
        }
        self.printer.good(&format!("its checks run with this {}: {}", project::FILE, words(&best.standing)));
        for line in text.lines() {
            self.printer.say(&format!("    {line}"));
        }
        self.wishes(&text, &read.networks)?;
        Ok(TrialResult { works, file: Some(text), summary })
    }

    /// Prints what in the proposal has no effect until the operator accepts it.
    fn wishes(&self, text: &str, networks: &[Network]) -> Result<()> {
        let asked = Project::parse(project::FILE, text)?.with_networks(networks.to_vec());
        let wishes = asked.wishes(&Granted::of(&self.environment.config, self.target.key));
        if wishes.is_empty() {
            return Ok(());
        }
        self.printer.say("once it stands on the default branch, this in it has no effect until you accept it:");
        for wish in wishes {
            self.printer.say(&format!("    {wish}"));
        }
        self.printer.hint(&format!("then: caisson repo add {} --accept {}", self.target.source, asked.hash()));
        Ok(())
    }
}

fn summary(before: Option<&Attempt>, best: &Attempt) -> Vec<String> {
    let mut lines = Vec::new();
    lines.push(match before {
        Some(way) => format!("Without it: `{}`: {}.", shown(&way.test.command), words(&way.standing)),
        None => "Without it no test command is known.".to_owned(),
    });
    for command in best.setup.iter().flat_map(|setup| &setup.commands) {
        lines.push(format!("Setup worked: `{}`.", shown(command)));
    }
    lines.push(format!("Then `{}`: {}.", shown(&best.test.command), words(&best.standing)));
    lines
}

fn words(standing: &ChecksResult) -> String {
    let tests = |count: u64| crate::text::count(count, "test");
    match standing {
        ChecksResult::Pass { tests: Some(count) } => format!("they pass, {}", tests(*count)),
        ChecksResult::Pass { tests: None } => "they pass".to_owned(),
        ChecksResult::Fail { tests: count } => format!("they run, {}, and do not pass", tests(*count)),
        ChecksResult::Nothing => "not one test ran".to_owned(),
        ChecksResult::Stopped(why) => (*why).to_owned(),
    }
}

fn shown(command: &str) -> String {
    let line = one_line(command);
    let (head, more) = cut(&line, LENGTH);
    if more > 0 { format!("{head}…") } else { head.to_owned() }
}

fn seconds(tried: &Tried) -> String {
    format!("{:.1} s", tried.outcome.duration_ms as f64 / 1000.0)
}
