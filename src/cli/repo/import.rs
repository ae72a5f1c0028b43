//! `caisson repo import`: moves entries of `caisson.toml` into the store, where every host reads them. The operator's own tables stay.

use super::Entry;
use crate::bot::{Content, sealed};
use crate::cli::entries::{self, Entries};
use crate::cli::printer::{Complaint, Printer};
use crate::cli::running::{self, Reload};
use crate::config::Process;
use crate::config::write::take_out_repository;
use crate::secret::Secret;
use anyhow::Result;
use clap::Args;
use std::path::Path;

#[derive(Debug, Args)]
#[command(
    after_help = "Each entry is written into the store with its hook's secrets, sealed, and then taken out of caisson.toml; models, merge and the \
    tables such as [repositories.sandbox] stay there. Where several hosts have the entry in their files, say this on each. \
    A running `caisson serve` begins anew with the file as it then is."
)]
pub struct Import {
    /// Which ones (default: all that stand in caisson.toml).
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    /// Where the store has another entry of the same key, put this one in its place.
    #[arg(long)]
    over: bool,
}

impl Import {
    pub(super) async fn run(self, config: &Process, file: &Path, printer: &Printer) -> Result<()> {
        let chosen: Vec<&Entry> =
            config.in_file().filter(|entry| self.keys.is_empty() || self.keys.contains(&entry.key)).collect();
        if let Some(unknown) = self.keys.iter().find(|key| !chosen.iter().any(|entry| entry.key == **key)) {
            let complaint = Complaint::new(format!("no entry in {} has the key {unknown}", file.display()));
            return Err(complaint.hint("caisson repo list").into());
        }
        if chosen.is_empty() {
            printer.hint(&format!("no entry stands in {}", file.display()));
            return Ok(());
        }
        let entries = entries::ready(config).await?;
        // Everything that can be refused is checked first.
        let to_write: Vec<(&Entry, Vec<Secret>, bool)> =
            chosen.into_iter().map(|entry| self.to_write(&entries, entry)).collect::<Result<_>>()?;
        let mut moved = Ok(());
        for (entry, secrets, write) in &to_write {
            moved = self.one(config, file, &entries, (entry, secrets, *write), printer).await;
            if moved.is_err() {
                break;
            }
        }
        // Entries moved so far take effect even if a later one fails.
        match running::reload(config).await {
            Reload::Begun => printer.good("the running `caisson serve` begins anew without the entries of the file"),
            Reload::NotRunning => {}
            Reload::Refused(why) => printer
                .warn(&format!("the running `caisson serve` goes on with the file's entries ({why}): restart it")),
        }
        moved
    }

    /// Moves one entry.
    async fn one(
        &self,
        config: &Process,
        file: &Path,
        entries: &Entries,
        (entry, secrets, write): (&Entry, &[Secret], bool),
        printer: &Printer,
    ) -> Result<()> {
        if write {
            let generation = entries.next(&entry.key);
            entries::put(config, |key, by| sealed(key, entry, secrets, (generation, by))).await?;
        }
        take_out_repository(file, &entry.key)?;
        let tables = if entry.has_settings { "; its tables stay in the file" } else { "" };
        printer.good(&format!("{} stands in the store{tables}", entry.key));
        for path in &entry.secret_files {
            printer.hint(&format!("{} is read no more once every host has moved it: remove it then", path.display()));
        }
        Ok(())
    }

    /// The entry with its secrets, and whether it has to be written.
    fn to_write<'a>(&self, entries: &Entries, entry: &'a Entry) -> Result<(&'a Entry, Vec<Secret>, bool)> {
        let secrets = entries.secrets(entry)?;
        let differs = match (entries.differences(entry)?, entries.of(&entry.key).map(|stored| &stored.content)) {
            (Some(differs), _) => differs,
            (None, Some(Content::Refused { why, .. })) => vec![format!("the store's is refused: {why}")],
            (None, _) => return Ok((entry, secrets, true)),
        };
        if differs.is_empty() || self.over {
            return Ok((entry, secrets, !differs.is_empty()));
        }
        Err(Complaint::new(format!("the store has another entry of {}", entry.key))
            .because(format!("they differ: {}", differs.join(", ")))
            .hint(format!(
                "take the entry out of the file to have the store's; or `caisson repo import {} --over` puts this one in its place, for every host",
                entry.key
            ))
            .into())
    }
}
