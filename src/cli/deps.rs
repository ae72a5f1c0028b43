//! `caisson deps newest`: asks registries for the newest versions of what repositories depend on, and writes them where `/deps` reads them. A person runs it;
//! the bot itself asks no registry.
//!
//! Owns the command and its files, one for each repository, which are replaced as a whole once everything was asked. Registries are in `deps/registry.rs`,
//! asking in `deps/ask.rs`. Tests: `deps/tests.rs`.

mod ask;
mod registry;

use super::entries;
use super::interruption::interrupted;
use super::printer::{Complaint, Printer};
use crate::config::{Process, replace_whole, web_address};
use crate::git::{Branch, Repos};
use crate::scan::{NewestLine, NewestVersions, PackageName, look_for_dependencies, of_registries};
use crate::text::count;
use anyhow::{Context, Result};
use ask::{AnswerLimits, Asker, RegistryReply};
use clap::{Args, Subcommand};
use registry::{REGISTRIES, Registry};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use url::Url;

/// Packages that are named of those without an answer.
const NAMED: usize = 20;

/// What repositories depend on.
#[derive(Debug, Subcommand)]
pub enum DepsCommand {
    /// Ask registries for the newest versions of what repositories depend on, for `/deps`.
    Newest(Newest),
}

impl DepsCommand {
    /// Runs the subcommand.
    ///
    /// # Errors
    /// A [`Complaint`].
    pub async fn run(self, file: &Path) -> Result<()> {
        let DepsCommand::Newest(newest) = self;
        let (config, printer) = (Process::load(file)?, Printer::terminal());
        let work = newest.run(&config, AnswerLimits::default(), &printer);
        tokio::select! {
            done = work => done,
            stopped = interrupted() => {
                stopped?;
                Err(Complaint::new("stopped; every file is as it was").into())
            }
        }
    }
}

/// Reads the manifests of each repository's default branch as the bot fetched it last, as `/deps` does, and asks registries for the packages that
/// they ask for by name, without a credential. What is found goes into the folder that `[advisories] newest_dir` names, one file for each repository.
#[derive(Debug, Args)]
#[command(
    after_help = "Registries: crates.io, PyPI, npm, Go, Packagist, Maven. A registry of your own has to answer as the public one does.\n\
    Examples:\n  caisson deps newest\n  caisson deps newest shop\n  \
    caisson deps newest shop --registry npm=https://npm.example.org --registry PyPI=https://pypi.example.org"
)]
pub struct Newest {
    /// Which repositories (`caisson repo list`); all of them if none is named.
    #[arg(value_name = "NAME")]
    keys: Vec<String>,
    /// Another address for an ecosystem's packages, such as a company's mirror. Repeat for more.
    #[arg(long, value_name = "ECOSYSTEM=URL", value_parser = address)]
    registry: Vec<(&'static str, Url)>,
    /// The most packages that are asked for, those that were asked for longest ago first; of the others, what was known stays.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    most: u32,
}

/// `ECOSYSTEM=URL`, without a credential.
fn address(text: &str) -> Result<(&'static str, Url), String> {
    let (ecosystem, url) = text.split_once('=').ok_or("write ECOSYSTEM=URL")?;
    let registry = Registry::of(ecosystem).ok_or_else(|| {
        let known: Vec<&str> = REGISTRIES.iter().map(|it| it.ecosystem).collect();
        format!("there is no ecosystem `{ecosystem}`; take one of: {}", known.join(", "))
    })?;
    let url = web_address(url)?;
    if url.fragment().is_some() {
        return Err("an address of a registry has no fragment".to_owned());
    }
    Ok((registry.ecosystem, url))
}

impl Newest {
    async fn run(self, config: &Process, limits: AnswerLimits, printer: &Printer) -> Result<()> {
        let dir = config.advisories.newest_dir.as_deref().ok_or_else(|| {
            let hint = "make one, and name it in caisson.toml: newest_dir = \"…\" below [advisories]";
            Complaint::new("no folder of newest versions is configured").hint(hint)
        })?;
        entries::look(config).await?;
        let wanted = packages_of(config, &self.keys, printer).await?;
        let all: HashSet<PackageName> = wanted.values().flatten().cloned().collect();
        let older = NewestVersions::new(Some(dir.to_owned())).lines(&all);
        let older = older.with_context(|| format!("cannot read {}", dir.display()))?;
        let asked = longest_unasked(&all, &older, self.most as usize);
        if asked.len() < all.len() {
            let rest = count((all.len() - asked.len()) as u64, "package");
            printer.warn(&format!("not asked for, because of --most: {rest}; repeat this for them"));
        }
        let asker = Asker::new(self.registry.into_iter().collect(), limits)?;
        let replies = asker.all(asked, printer).await;
        report(&replies, printer)?;
        let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
        for (key, packages) in &wanted {
            let lines: Vec<NewestLine> =
                packages.iter().filter_map(|package| line(package, replies.get(package), &older, &today)).collect();
            let name = format!("{key}.jsonl");
            write(dir, &name, &lines).with_context(|| format!("cannot write {name} in {}", dir.display()))?;
            printer.good(&format!("{name} has the newest versions of {}", count(lines.len() as u64, "package")));
        }
        Ok(())
    }
}

/// So many of these packages: those of which nothing is known, then those that were asked for longest ago.
fn longest_unasked(
    all: &HashSet<PackageName>,
    older: &HashMap<PackageName, NewestLine>,
    most: usize,
) -> BTreeSet<PackageName> {
    let mut packages: Vec<_> =
        all.iter().map(|it| (older.get(it).map_or("", |line| line.asked.as_str()), it)).collect();
    packages.sort_unstable();
    packages.into_iter().take(most).map(|(_, package)| package.clone()).collect()
}

/// What the manifests of these repositories ask registries for; of all that the bot has fetched, if none is named.
async fn packages_of(
    config: &Process,
    keys: &[String],
    printer: &Printer,
) -> Result<BTreeMap<String, BTreeSet<PackageName>>> {
    let repos = Repos::new(config.state_dir.join("repos"));
    let every = keys.is_empty();
    let mut found = BTreeMap::new();
    for key in if every { config.keys() } else { keys.to_vec() } {
        match packages(config, &repos, &key, printer).await {
            Ok(packages) => drop(found.insert(key, packages)),
            Err(complaint) if every => {
                printer.warn(&[vec![complaint.what], complaint.why].concat().join(": "));
                printer.hint(&complaint.hint);
            }
            Err(complaint) => return Err(complaint.into()),
        }
    }
    if found.is_empty() {
        return Err(Complaint::new("no repository's manifests can be read here").hint("caisson repo list").into());
    }
    Ok(found)
}

/// Those of one repository.
async fn packages(
    config: &Process,
    repos: &Repos,
    key: &str,
    printer: &Printer,
) -> Result<BTreeSet<PackageName>, Complaint> {
    let entry = config
        .repository(key)
        .ok_or_else(|| Complaint::new(format!("no repository has the key {key}")).hint("caisson repo list"))?;
    let read = async {
        let commit = repos.resolve(key, &Branch::parse(&entry.default_branch)?).await?;
        let (scan, _) = look_for_dependencies(repos, key, &commit).await?;
        Ok::<_, crate::git::GitError>((commit, scan))
    };
    let (commit, scan) = read.await.map_err(|error| {
        let hint = "the bot fetches it with its first task on this host: begin one there (/explain on an issue), then repeat this";
        Complaint::new(format!("the manifests of {key} cannot be read here")).because(error.to_string()).hint(hint)
    })?;
    let packages: BTreeSet<PackageName> = of_registries(&scan.direct).collect();
    let number = count(packages.len() as u64, "package");
    printer.step(&format!("{key}: {number} at {} of {}", commit.short(), entry.default_branch));
    if scan.more > 0 {
        printer.warn(&format!("{key}: {} more dependencies are not looked at, by /deps neither", scan.more));
    }
    Ok(packages)
}

/// Prints what came of asking.
///
/// # Errors
/// When nothing could be asked, so that nothing new is known.
fn report(replies: &HashMap<PackageName, RegistryReply>, printer: &Printer) -> Result<()> {
    let mut without: Vec<(bool, String)> = Vec::new();
    for ((ecosystem, name), reply) in replies {
        match reply {
            RegistryReply::Release(_) => {}
            RegistryReply::Nothing(why) => without.push((true, format!("{ecosystem} {name}: {why}"))),
            RegistryReply::Failed(why) => without.push((false, format!("{ecosystem} {name}: {why}"))),
        }
    }
    without.sort_unstable();
    let failed = without.iter().filter(|(answered, _)| !answered).count();
    if failed > 0 && failed == replies.len() {
        let why = without.into_iter().next().map(|(_, why)| why).unwrap_or_default();
        let hint = "look at this machine's network, or name a mirror: --registry ECOSYSTEM=URL";
        return Err(Complaint::new("no registry answered; every file is as it was").because(why).hint(hint).into());
    }
    for (_, why) in without.iter().take(NAMED) {
        printer.warn(why);
    }
    if without.len() > NAMED {
        printer.warn(&format!("{} more without an answer", without.len() - NAMED));
    }
    if failed > 0 {
        printer.hint(&format!("of {}, what was known stays; repeat this later", count(failed as u64, "package")));
    }
    Ok(())
}

/// The line of a package: what was just answered, or what was known before, where nothing was.
fn line(
    (ecosystem, name): &PackageName,
    reply: Option<&RegistryReply>,
    older: &HashMap<PackageName, NewestLine>,
    today: &str,
) -> Option<NewestLine> {
    match reply {
        Some(RegistryReply::Release(release)) => Some(NewestLine {
            ecosystem: ecosystem.clone(),
            name: name.clone(),
            version: release.version.clone(),
            published: release.published.clone(),
            asked: today.to_owned(),
        }),
        Some(RegistryReply::Nothing(_)) => None,
        Some(RegistryReply::Failed(_)) | None => older.get(&(ecosystem.clone(), name.clone())).cloned(),
    }
}

/// Puts a file in the place of an older one as a whole. Everybody on this machine may read it: the bot may be another user.
fn write(dir: &Path, name: &str, lines: &[NewestLine]) -> std::io::Result<()> {
    replace_whole(&dir.join(name), |file| {
        // Whatever the mask of whoever runs the command is.
        file.set_permissions(Permissions::from_mode(0o644))?;
        for line in lines {
            serde_json::to_writer(&mut *file, line)?;
            file.write_all(b"\n")?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
