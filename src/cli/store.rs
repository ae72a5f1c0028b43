//! `caisson store copy`: from SQLite to PostgreSQL or back. And where the configured store is, for every subcommand.

use super::lock;
use super::printer::{Complaint, Printer};
use crate::config::{Process, Secret, database_address, unprotected};
use crate::store::{Copied, Location, Store};
use anyhow::Result;
use clap::Subcommand;
use std::path::{Path, PathBuf};

/// Bring the store to another place.
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
}

impl StoreCommand {
    /// Carries out the subcommand, and prints what was copied.
    ///
    /// # Errors
    /// When there is no store to copy, another process works with the state directory, or the copy fails.
    pub async fn run(self, config: &Path) -> Result<()> {
        let config = Process::load(config)?;
        let StoreCommand::Copy { to, password_file } = self;
        let target = place(&to, password_file.as_deref())?;
        let _lock = lock::take(&config.state_dir)?;
        let from = location(&config)?;
        let _other = match &target {
            // Held already where the store goes back into the state directory.
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

/// Where the configured store is.
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
