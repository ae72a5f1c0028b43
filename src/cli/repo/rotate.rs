//! `caisson repo rotate`: a new secret for a repository's hook, in two steps, so that no delivery is ever signed with a secret that the
//! running bot does not know. First the bot learns the new one beside the old; then the forge signs with it and the old one goes.

use super::{Accounts, take_up};
use crate::cli::printer::{Complaint, Printer};
use crate::config::Process;
use crate::config::process::Repository as Entry;
use crate::config::write::put_repository;
use crate::forge::RepoRef;
use crate::secret::Secret;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

pub(super) async fn run(config: &Process, file: &Path, key: &str, printer: &Printer) -> Result<()> {
    let entry = config.repository(key).ok_or_else(|| {
        Complaint::new(format!("no repository has the key {key}")).attempt("caisson repo list shows them")
    })?;
    match entry.secret_files.as_slice() {
        [newest, older @ ..] if !older.is_empty() => finish(config, file, entry, newest, older, printer).await,
        _ => begin(config, file, entry, printer).await,
    }
}

/// The bot learns the new secret.
async fn begin(config: &Process, file: &Path, entry: &Entry, printer: &Printer) -> Result<()> {
    let before = entry.secret_files.first().context("the repository has no hook secret: repeat `caisson repo add`")?;
    let newest = beside(before, &entry.key)?;
    Secret::random().map_err(anyhow::Error::msg)?.write(&newest)?;
    let mut files = vec![newest];
    files.extend(entry.secret_files.iter().cloned());
    put_repository(file, &Entry { secret_files: files, ..entry.clone() })?;
    printer.good("a second secret is configured; the forge still signs with the first");
    take_up(config, printer, &format!("repeat: caisson repo rotate {}", entry.key)).await;
    Ok(())
}

/// The forge signs with the new secret, and the older ones are forgotten.
async fn finish(
    config: &Process,
    file: &Path,
    entry: &Entry,
    newest: &Path,
    older: &[PathBuf],
    printer: &Printer,
) -> Result<()> {
    let accounts = Accounts::open(config).await?;
    let repo = RepoRef::new(&entry.owner, &entry.name);
    let url = config.hook_url(&entry.key);
    let hook = accounts.forge.replace_hook(&repo, &url, &Secret::read(newest)?).await?;
    put_repository(file, &Entry { secret_files: vec![newest.to_path_buf()], ..entry.clone() })?;
    for old in older {
        std::fs::remove_file(old).with_context(|| format!("cannot remove {}", old.display()))?;
    }
    printer.good(&format!("hook {} signs with the new secret; the old one is gone", hook.id));
    take_up(config, printer, "nothing more is to be done").await;
    Ok(())
}

/// `hook-<key>-<n>` in the folder of the secret before, with the first number that is free.
fn beside(before: &Path, key: &str) -> Result<PathBuf> {
    let folder = before.parent().context("the secret's file needs a folder")?;
    let free = (2..1000).map(|n| folder.join(format!("hook-{key}-{n}"))).find(|path| !path.exists());
    free.with_context(|| format!("{} is full of old secrets; remove some", folder.display()))
}
