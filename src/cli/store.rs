//! `caisson store copy|hosts|accept-key`: copies the store between SQLite and PostgreSQL, lists the hosts that share it, and accepts
//! another key of marks. Also resolves the configured store for every subcommand.

use super::lock;
use super::printer::{Complaint, Printer};
use crate::bot::known;
use crate::config::{Process, Secret, database_address, put_whole, unprotected};
use crate::store::{Copied, Location, Store};
use crate::text::one_line;
use anyhow::{Context, Result};
use clap::Subcommand;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Bring the store to another place, or see who shares it.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Copy the configured store into an empty database or directory, and compare every row. The bot must be stopped; the old store stays
    /// as it is.
    Copy {
        /// postgres://… (no password in it), or a directory for a file of SQLite.
        to: String,
        /// A file with the password of that database, mode 0600.
        #[arg(long, value_name = "FILE")]
        password_file: Option<PathBuf>,
    },
    /// List the hosts that share the store, and what each works for.
    Hosts,
    /// From now on mark.key of this state directory marks the bot's posts. Those that were marked with another key are not known again: the
    /// bot may post them twice. The bot must be stopped.
    AcceptKey,
}

impl StoreCommand {
    /// Runs the subcommand and prints the result.
    ///
    /// # Errors
    /// When there is no store to copy, another process works with the state directory, or the copy fails.
    pub async fn run(self, config: &Path) -> Result<()> {
        let config = Process::load(config)?;
        let (to, password_file) = match self {
            StoreCommand::Copy { to, password_file } => (to, password_file),
            StoreCommand::Hosts => return hosts(&config).await,
            StoreCommand::AcceptKey => return accept_key(&config).await,
        };
        let target = place(&to, password_file.as_deref())?;
        let _lock = lock::take(&config.state_dir)?;
        let from = location(&config)?;
        let _other = match &target {
            // Already locked if the store is copied back into the state directory.
            Location::Directory(directory) if same(directory, &config.state_dir) => None,
            Location::Directory(directory) => Some(lock::take(directory)?),
            Location::Postgres(_) => None,
        };
        let printer = Printer::terminal();
        printer.hint(&format!("from {from} to {target}"));
        let told = |Copied { table, rows }| printer.good(&format!("{table}: {rows} rows, the same on both sides"));
        Store::copy(&from, &target, told).await?;
        let (url, file) = match &target {
            Location::Directory(_) => (String::new(), None),
            Location::Postgres(_) => (to, password_file),
        };
        printer.hint("now say so in caisson.toml, and start `caisson serve`; the old store is no longer written to:");
        printer.hint(&format!("[store]\nurl = \"{url}\""));
        if let Some(file) = file {
            printer.hint(&format!("password_file = \"{}\"", std::path::absolute(file)?.display()));
        }
        if let Location::Directory(directory) = &target
            && !same(directory, &config.state_dir)
        {
            let (file, state) = (directory.join("caisson.db"), config.state_dir.join("caisson.db"));
            printer.hint(&format!("and put the file in its place: mv {} {}", file.display(), state.display()));
        }
        Ok(())
    }
}

async fn hosts(config: &Process) -> Result<()> {
    let printer = Printer::terminal();
    let Some(store) = Store::look(location(config)?).await? else {
        return Err(Complaint::new("there is no store yet").hint("caisson serve").into());
    };
    if !store.is_shared() {
        printer.say("the store is a file of this machine: one `caisson serve` works on it");
        printer.hint("several hosts can share a PostgreSQL database: docs/hosts.md");
        return Ok(());
    }
    let own = known_host_id(&config.state_dir)?;
    for host in store.hosts().await? {
        let here = if Some(&host.id) == own.as_ref() { ", this one" } else { "" };
        let line = format!("{} {}{here}: {}", host.id, host.address, host.repositories.join(", "));
        match host.left_ms {
            0.. => printer.good(&line),
            silent => printer.warn(&format!("{line} (silent for {} s)", -silent / 1000)),
        }
    }
    Ok(())
}

async fn accept_key(config: &Process) -> Result<()> {
    let _lock = lock::take(&config.state_dir)?;
    let key = Secret::read_or_make(&config.mark_key_file())?;
    let store = Store::open(location(config)?).await?;
    if let Some(other) = store.hosts().await?.into_iter().find(|host| host.left_ms > 0) {
        let what = format!("{} works on this store, with the key that it knows", other.address);
        return Err(Complaint::new(what).hint("stop every host first").into());
    }
    store.mark_anew_with(&fingerprint(&key)).await?;
    let printer = Printer::terminal();
    printer.good("posts are marked with the key of this state directory from now on");
    for (key, why) in known(config, &store).await?.1 {
        printer.warn(&format!("the entry of {} cannot be used: {why}", one_line(&key)));
    }
    Ok(())
}

/// The key of this state directory, created together with a new store. With another key than before, the bot would not recognise its own
/// posts and post them again.
///
/// # Errors
/// When the store's posts are marked with another key.
pub async fn mark_key(store: &Store, config: &Process) -> Result<Secret> {
    let file = config.mark_key_file();
    // No key is created for a store with tasks, whose posts are already marked.
    if file.exists() || store.is_new().await? {
        let key = Secret::read_or_make(&file)?;
        let own = fingerprint(&key);
        if store.marked_with(&own).await? == own {
            return Ok(key);
        }
    }
    let what = format!("the posts of this store's tasks are marked with another key than {}", file.display());
    let hint = "name the store that belongs to this state directory ([store]); for one more host of an installation, copy mark.key from \
                the first into its state directory; where the key is lost for good: `caisson store accept-key`";
    Err(Complaint::new(what).hint(hint).into())
}

/// Identifies a key without revealing it.
pub fn fingerprint(key: &Secret) -> String {
    let digest = Sha256::new().chain_update("caisson marks\n").chain_update(key.bytes()).finalize();
    hex::encode(&digest[..16])
}

/// The id of a state directory, created at first use: it identifies a process among others that share its store.
///
/// # Errors
/// When the file cannot be read or created.
pub fn host_id(state_dir: &Path) -> Result<String> {
    if let Some(id) = known_host_id(state_dir)? {
        return Ok(id);
    }
    let (path, id) = (state_dir.join("host.id"), Secret::random().map_err(anyhow::Error::msg)?);
    match put_whole(&path, |file| writeln!(file, "{}", &id.expose()[..12])) {
        // By a concurrent process, whose id is read then.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        made => made.with_context(|| format!("cannot make {}", path.display()))?,
    }
    known_host_id(state_dir)?.with_context(|| format!("{} is empty: remove it", path.display()))
}

fn known_host_id(state_dir: &Path) -> Result<Option<String>> {
    let path = state_dir.join("host.id");
    match std::fs::read_to_string(&path) {
        Ok(id) => Ok(Some(id.trim().to_owned()).filter(|id| !id.is_empty())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// The location of the configured store.
///
/// # Errors
/// When the password's file cannot be read.
pub fn location(config: &Process) -> Result<Location> {
    let Some(url) = &config.store.url else { return Ok(Location::from(&config.state_dir)) };
    let password = config.store.password_file.as_deref().map(Secret::read).transpose()?;
    Ok(Location::postgres(url.clone(), password.as_ref()))
}

fn same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn place(to: &str, password_file: Option<&Path>) -> Result<Location> {
    if !to.contains("://") {
        return Ok(Location::from(to));
    }
    let refused = |why: String| Complaint::new("this store cannot be reached").because(why);
    let url = database_address(to).map_err(refused)?;
    if let Some(why) = unprotected(&url, password_file.is_some()) {
        return Err(refused(why.to_owned()).into());
    }
    let password = password_file.map(Secret::read).transpose()?;
    Ok(Location::postgres(url, password.as_ref()))
}
