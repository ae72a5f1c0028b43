//! `caisson repo sync` and `caisson repo status`: a repository beside what it was copied from. Works in a temporary local repository that
//! borrows objects from the bot's own, so that a running bot is not disturbed.

use super::kept::protect;
use super::scratch::Scratch;
use super::set_aside::{keep, put_back};
use super::{Accounts, store_entry};
use crate::bot::sealed;
use crate::cli::entries::{self, Entries};
use crate::cli::printer::{Complaint, Printer};
use crate::cli::{lock, running};
use crate::config::Process;
use crate::config::process::{Repository as Entry, Upstream};
use crate::forge::RepoRef;
use crate::forge::gitea::keep::Unlocked;
use crate::git::{Auth, Branch, FetchLimits, Listing, RemoteUrl, Repos};
use crate::message::plain_lines;
use crate::text::one_line;
use crate::upstream::{
    Answers, BranchRelation, Copy, GitHub, Looked, Moved, SourceNow, Synced, credential, followed, look, name_in,
    on_forge,
};
use anyhow::{Context, Result};
use clap::Args;
use domain::Commit;
use std::path::Path;
use std::sync::Arc;
use tokio::signal::unix::{Signal, SignalKind, signal};

#[derive(Debug, Args)]
#[command(
    after_help = "Branches are only moved forward, and tags are only added. A running `caisson serve` does the same by itself every \
    `upstream.sync_s` seconds, but for entries of the store that were copied from a path. What people push to the forge is sent nowhere."
)]
pub struct Sync {
    /// Only this one (`caisson repo list`).
    key: Option<String>,
    /// Where the upstream's history was rewritten: the commit there, in full, that takes the place of what the branch has here.
    #[arg(long, value_name = "COMMIT", requires = "key")]
    rewritten: Option<String>,
}

#[derive(Debug, Args)]
pub struct Status {
    /// Only this one (`caisson repo list`).
    key: Option<String>,
}

impl Sync {
    pub(super) async fn run(self, config: &Process, printer: &Printer) -> Result<()> {
        let entries = entries::look(config).await?;
        let commit = self.rewritten.as_deref().map(Commit::parse).transpose();
        let commit = commit.map_err(|_| {
            Complaint::new("--rewritten takes a whole commit of 40 digits").hint("caisson repo status shows it")
        })?;
        let mut failed = 0;
        for entry in chosen(config, self.key.as_deref())? {
            if self.key.is_none() && elsewhere(&entry) {
                printer.say(&format!("{}: {} is on another machine", entry.key, entry.origin()));
                continue;
            }
            printer.step(&format!("{}: asking {}", entry.key, entry.origin()));
            let done = async {
                let synced = sync_one(config, &entry, commit.as_ref(), printer).await?;
                tell(&entry, &synced, printer);
                note_source(config, &entries, &entry, synced.source.as_ref(), printer).await
            };
            match done.await {
                Ok(()) => ask_for_issues(config, &entry, printer).await,
                Err(error) if self.key.is_none() => {
                    printer.bad(&format!("{}: {error:#}", entry.key));
                    failed += 1;
                }
                Err(error) => return Err(error),
            }
        }
        match failed {
            0 => Ok(()),
            failed => Err(Complaint::new(format!("{failed} of the repositories could not be brought in step")).into()),
        }
    }
}

impl Status {
    pub(super) async fn run(self, config: &Process, printer: &Printer) -> Result<()> {
        entries::look(config).await?;
        let accounts = Accounts::open(config).await?;
        for entry in chosen(config, self.key.as_deref())? {
            let compared = compare_one(config, &accounts, &entry).await;
            printer.heading(&format!("{} ({})", entry.key, entry.origin()));
            match compared {
                Ok(synced) => tell(&entry, &synced, printer),
                Err(error) => printer.bad(&format!("{error:#}")),
            }
            on_github(config, &entry, printer).await;
        }
        Ok(())
    }
}

/// The repositories that have an upstream; the one of this key has to.
fn chosen(config: &Process, key: Option<&str>) -> Result<Vec<Arc<Entry>>> {
    let all = config.repositories();
    if let Some(key) = key {
        let found = all.iter().find(|entry| entry.key == key);
        let found = found
            .ok_or_else(|| Complaint::new(format!("no repository has the key {key}")).hint("caisson repo list"))?;
        if found.origin().is_empty() {
            return Err(
                Complaint::new(format!("{key} was copied from nowhere: its own branches are all there is")).into()
            );
        }
        return Ok(vec![found.clone()]);
    }
    Ok(all.iter().filter(|entry| !entry.origin().is_empty()).cloned().collect())
}

/// Brings one in step; with `rewritten`, the branch whose upstream stands at that commit is moved to it. What protects the branches is set
/// anew first: an earlier run may have been cut off.
pub(super) async fn sync_one(
    config: &Process,
    entry: &Entry,
    rewritten: Option<&Commit>,
    printer: &Printer,
) -> Result<Synced> {
    let accounts = Accounts::open(config).await?;
    let copy = UpstreamCopy::open(config, &accounts, entry).await?;
    protect(config, &accounts, &copy.at, entry).await?;
    let Some(commit) = rewritten else { return copy.sync(None).await };
    let before = copy.compare().await?;
    let Some((branch, _, _)) = before.rewritten().find(|(_, _, theirs)| *theirs == commit) else {
        let complaint = Complaint::new(format!("no branch's upstream was rewritten to {commit}"));
        return Err(complaint.hint(format!("caisson repo status {}", entry.key)).into());
    };
    let (repo, sync) = (&copy.at, accounts.sync.login.as_str());
    // From here to the end nothing breaks it off by a signal: the branch would stay open.
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let _caught: Vec<Signal> = kinds.into_iter().map(signal).collect::<std::io::Result<_>>()?;
    let done = match unlock(config, &accounts, (repo, entry), branch, printer).await {
        Ok(()) => copy.sync(Some((branch, commit))).await,
        // The failed request may have been carried out.
        Err(error) => Err(error),
    };
    if let Err(error) = put_back(&config.state_dir, &accounts.forge, repo, entry).await {
        printer.warn(&format!("the rule of {branch} is made anew, without what else was set in it: {error:#}"));
    }
    // Restores the protection, whatever the result.
    let closed = accounts.forge.ensure_protection(repo, branch.as_str(), &[sync]).await;
    closed.with_context(|| {
        format!("{sync} may still force {branch}: `caisson repo check {} --fix` takes that back", entry.key)
    })?;
    if done.is_ok() {
        printer.warn("tasks that began from the old history keep their base; `/rebase` brings their work onto the new one, `/retry` begins them anew");
    }
    done
}

/// Lets the account that keeps in step replace this branch's history. A rule that has to go for that is kept before it goes.
async fn unlock(
    config: &Process,
    accounts: &Accounts,
    (repo, entry): (&RepoRef, &Entry),
    branch: &Branch,
    printer: &Printer,
) -> Result<()> {
    match accounts.forge.allow_force(repo, branch.as_str(), &accounts.sync.login).await? {
        Unlocked::ByRule => {}
        Unlocked::WithoutRule(rule) => {
            printer.warn(&format!("this version of the forge lets nobody replace a protected branch's history: {branch} is not protected until it was moved"));
            keep(&config.state_dir, entry, branch.as_str(), &rule)?;
            accounts.forge.take_rule_away(repo, branch.as_str()).await;
        }
    }
    Ok(())
}

/// Writes where the upstream is now into the store's entry, where that says something else. An entry of the file is its operator's.
async fn note_source(
    config: &Process,
    entries: &Entries,
    entry: &Entry,
    source: Option<&SourceNow>,
    printer: &Printer,
) -> Result<()> {
    let Some((source, wanted)) = source.and_then(|source| Some((source, source.entry(entry)?))) else { return Ok(()) };
    if !entry.from_store {
        if source.renamed {
            printer.hint(&format!("write upstream = \"{}\" into its entry of caisson.toml", wanted.upstream));
        }
        return Ok(());
    }
    let (_, secrets) = store_entry(config, entries, &entry.key)?;
    entries::put(config, |key, by| sealed(key, &wanted, secrets, (entries.next(&entry.key), by))).await?;
    if source.renamed {
        printer.good(&format!("its entry names {} now", source.name));
    }
    Ok(())
}

/// Has the running bot open the upstream's labelled issues: only it writes which issue is which.
async fn ask_for_issues(config: &Process, entry: &Entry, printer: &Printer) {
    let Some(label) = config.upstream_label_of(&entry.key).map(|label| one_line(&label)) else { return };
    if !matches!(lock::unless_in_use(&config.state_dir), Ok(None)) {
        printer.hint(&format!("its open issues with the label {label} are opened here once `caisson serve` runs"));
        return;
    }
    let answer = running::tell(config, &format!("/repositories/{}/round", entry.key), &()).await;
    let why = match answer {
        Ok((202, _)) => {
            let what = format!("its open issues with the label {label}, where they are not here yet");
            return printer.good(&format!("the running `caisson serve` opens {what}"));
        }
        Ok((status, why)) => format!("{status} {why}"),
        Err(error) => format!("{error:#}"),
    };
    printer.warn(&format!("its open issues with the label {label} come with the next round of `caisson serve`: {why}"));
}

fn tell(entry: &Entry, synced: &Synced, printer: &Printer) {
    let mut branches = synced.branches.iter();
    for line in plain_lines(synced) {
        match branches.next().map(|(_, moved)| moved) {
            Some(Moved::Left(BranchRelation::Rewritten { .. } | BranchRelation::Gone) | Moved::Raced) => {
                printer.bad(&line)
            }
            Some(Moved::Left(BranchRelation::Ahead { .. })) => printer.warn(&line),
            Some(
                Moved::Left(BranchRelation::Same(_) | BranchRelation::New(_) | BranchRelation::Behind { .. })
                | Moved::Brought(_),
            ) => {
                printer.good(&line);
            }
            None => printer.say(&line),
        }
    }
    for (_, _, theirs) in synced.rewritten() {
        printer.hint(&format!(
            "bring what is only here to the upstream, or ask whoever rewrote it why; then, to take its history: caisson repo sync {} --rewritten {theirs}",
            entry.key
        ));
    }
}

/// What GitHub says of an upstream there.
async fn on_github(config: &Process, entry: &Entry, printer: &Printer) {
    let Some(host) = config.upstream.github_of(entry.origin()) else { return };
    let Some(name) = name_in(entry.origin()) else { return };
    let found = match GitHub::open(&host, &Answers::default()) {
        Ok(github) => github.repository(&name).await.map_err(|error| error.to_string()),
        Err(why) => Err(why),
    };
    match found {
        Err(why) => printer.warn(&why),
        Ok(found) => {
            let known = entry.upstream_id;
            if known != 0 && known != found.id {
                printer.bad(&format!("{name} is another repository on GitHub now (number {}, not {known})", found.id));
                printer
                    .hint(&format!("look at it; to follow it: caisson repo add {name} --name {} --moved", entry.key));
            } else if !found.full_name.eq_ignore_ascii_case(&name) && known != 0 {
                printer.warn(&format!("it is called {} now; the next comparison follows it there", found.full_name));
            } else if !found.full_name.eq_ignore_ascii_case(&name) {
                printer.warn(&format!("it is called {} now; git follows no redirection", found.full_name));
                printer.hint(&format!("caisson repo add {} --name {} --moved", found.full_name, entry.key));
            }
            if found.archived {
                printer.warn("it is archived: nothing new will come");
            }
        }
    }
}

/// How one stands beside its upstream; nothing is changed.
pub(super) async fn compare_one(config: &Process, accounts: &Accounts, entry: &Entry) -> Result<Synced> {
    UpstreamCopy::open(config, accounts, entry).await?.compare().await
}

/// What the upstream of an entry has.
pub(super) async fn upstream_listing(config: &Process, entry: &Entry) -> Result<Listing> {
    let from = RemoteUrl::parse(entry.origin())?;
    let credential = credential(&config.upstream, &from)?;
    Ok(Repos::new(&config.state_dir).listing(&from, credential.as_ref()).await?)
}

/// Whether it was copied from a path that this machine does not have.
fn elsewhere(entry: &Entry) -> bool {
    let path = Path::new(entry.origin());
    path.is_absolute() && !path.exists()
}

/// A repository of the forge, and what it was copied from.
pub(super) struct UpstreamCopy {
    entry: Entry,
    upstream: Upstream,
    from: RemoteUrl,
    credential: Option<Auth>,
    to: RemoteUrl,
    auth: Auth,
    at: RepoRef,
    branches: Vec<Branch>,
    repos: Repos,
    /// Where the temporary repository lies; removed with this.
    _dir: Scratch,
}

impl UpstreamCopy {
    pub(super) async fn open(config: &Process, accounts: &Accounts, entry: &Entry) -> Result<Self> {
        let from = RemoteUrl::parse(entry.origin())?;
        if elsewhere(entry) {
            let complaint = Complaint::new(format!("{} is not on this machine", entry.origin()));
            return Err(complaint.hint("say this on the host where it was added (`caisson repo list`)").into());
        }
        let at = accounts.found(entry).await?;
        let dir = Scratch::new(&config.state_dir, "sync-")?;
        let repos = Repos::new(dir.path()).with_limits(FetchLimits::of(config));
        repos.borrow_from(&entry.key, &Repos::new(config.state_dir.join("repos")).path(&entry.key)?).await?;
        Ok(Self {
            entry: entry.clone(),
            upstream: config.upstream.clone(),
            credential: credential(&config.upstream, &from)?,
            to: on_forge(config, &at)?,
            auth: Auth::basic(&accounts.sync.login, accounts.sync_token.expose()),
            branches: followed(entry)?,
            from,
            at,
            repos,
            _dir: dir,
        })
    }

    async fn look(&self) -> Result<Looked> {
        let copy = self.copy(&self.from);
        Ok(look((&self.upstream, &Answers::default()), &self.repos, &copy, &self.entry).await?)
    }

    fn copy<'a>(&'a self, from: &'a RemoteUrl) -> Copy<'a> {
        Copy {
            key: &self.entry.key,
            from: (from, self.credential.as_ref()),
            to: (&self.to, Some(&self.auth)),
            branches: &self.branches,
        }
    }

    async fn compare(&self) -> Result<Synced> {
        let Looked { from, seen, source } = self.look().await?;
        let compared = self.copy(&from).compare_seen(&self.repos, &seen).await?;
        Ok(Synced { source, ..compared })
    }

    pub(super) async fn sync(&self, rewritten: Option<(&Branch, &Commit)>) -> Result<Synced> {
        let Looked { from, seen, source } = self.look().await?;
        let synced = self.copy(&from).sync_seen(&self.repos, &seen, rewritten).await?;
        Ok(Synced { source, ..synced })
    }
}
