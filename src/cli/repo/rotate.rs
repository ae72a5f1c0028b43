//! `caisson repo rotate`: replaces a hook's secret in two steps, so that a running bot knows the secret of every delivery. First the bots
//! accept the new one beside the old; then the forge signs with it, and the old one is removed.

use super::{Accounts, report, store_entry};
use crate::bot::sealed;
use crate::cli::entries;
use crate::cli::printer::Printer;
use crate::config::Process;
use crate::secret::Secret;
use anyhow::{Context, Result};

pub(super) async fn run(config: &Process, key: &str, printer: &Printer) -> Result<()> {
    let entries = entries::ready(config).await?;
    let (entry, secrets) = store_entry(config, &entries, key)?;
    let write = async |secrets: &[Secret]| {
        let generation = entries.next(key);
        entries::put(config, |sealing, by| sealed(sealing, entry, secrets, (generation, by))).await
    };
    let [newest, older @ ..] = secrets else {
        anyhow::bail!("the repository has no hook secret: repeat `caisson repo add`")
    };
    if older.is_empty() {
        let fresh = Secret::random().map_err(anyhow::Error::msg)?;
        let taken = write(&[fresh, newest.clone()]).await?;
        printer.good("the store has a second secret; the forge still signs with the first");
        report(printer, taken, &format!("repeat, when every host has had some seconds: caisson repo rotate {key}"));
        return Ok(());
    }
    let accounts = Accounts::open(config).await?;
    let repo = accounts.found(entry).await?;
    let hook = accounts.forge.replace_hook(&repo, &config.hook_url(key), newest).await?;
    let taken = write(std::slice::from_ref(newest)).await.context("the forge signs with the new secret already")?;
    printer.good(&format!("hook {} signs with the new secret; the old one is gone", hook.id));
    report(printer, taken, "nothing more is to be done");
    Ok(())
}
